"""The one client of all providers: pydantic-ai, which speaks to Anthropic and to whatever speaks
OpenAI's protocol.

One call is one try: no retries of the library's own, no redirect is followed (the key goes to the
configured host only), and a deadline holds for the whole answer however slowly it drips. The
library is asynchronous; it runs in a daemon thread of its own, so that the caller may itself run in
an event loop, or in none, and the end of the process waits for no model.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reverie.core.errors import ExtraMissing
from reverie.core.installation import advise_install
from reverie.llm.language_model import (
    BUSY,
    DOWN,
    MALFORMED,
    REFUSED,
    REJECTED,
    STOPPED,
    TIMEOUT,
    LlmAddress,
    LlmCallFailed,
    LlmReply,
    LlmRequest,
)

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

# Characters of an answer that are looked at; none that is wanted is a tenth as long.
MAX_ANSWER_CHARS = 200_000
MAX_RESPONSE_BYTES = 8_000_000  # of an answer on the wire
# Seconds beyond its deadline that a call may take to be broken off.
ABORT_GRACE_SECONDS = 5.0
NO_KEY = "none"  # the libraries insist on one; local servers do not look at it


class RemoteModel:
    """A model behind an address: the `LlmClient` of every provider."""

    def __init__(
        self,
        where: LlmAddress,
        key: str,
        price: tuple[float, float],
    ) -> None:
        self._where, self._key, self._price = where, key, price
        # Loop, thread and model are made at the first call: who asks nothing loads nothing.
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._model: Model | None = None

    def ask(self, request: LlmRequest) -> LlmReply:
        """One call, one try; raises LlmCallFailed. The deadline begins when the library is
        loaded.
        """
        try:
            return self._run(call_model(self._opened(), request), request.timeout_seconds)
        except LlmCallFailed as err:
            raise LlmCallFailed(err.outcome, self._without_key(err.why), err.retry_after) from None

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars, by the prices that were set or by the list that comes with the client; None if
        unknown.
        """
        if any(self._price):
            return (tokens_in * self._price[0] + tokens_out * self._price[1]) / 1e6
        # A server of one's own has no list price.
        if not self._where.is_default_url:
            return None
        try:
            from genai_prices import Usage, calc_price
        except ImportError:
            return None
        try:
            found = calc_price(
                Usage(input_tokens=tokens_in, output_tokens=tokens_out),
                self._where.model,
                provider_id=self._where.provider,
            )
        except LookupError:
            return None
        return float(found.total_price)

    def close(self) -> None:
        """Close connections and end the thread."""
        with self._guard:
            loop, thread, model = self._loop, self._thread, self._model
            self._loop = self._thread = self._model = None
        if loop is None or thread is None:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(close_provider_model(model), loop).result(
                ABORT_GRACE_SECONDS
            )
        loop.call_soon_threadsafe(loop.stop)
        thread.join(ABORT_GRACE_SECONDS)

    def _run(
        self,
        call: Coroutine[Any, Any, LlmReply],
        seconds: float,
    ) -> LlmReply:
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=run_event_loop,
                    args=(self._loop,),
                    name="reverie-llm",
                    daemon=True,
                )
                self._thread.start()
            loop = self._loop
        # The deadline holds within the loop; the wait outside is longer, so that it comes first.
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(call, seconds), loop)
        try:
            return future.result(seconds + ABORT_GRACE_SECONDS)
        except CancelledError:
            raise LlmCallFailed(STOPPED, "closed meanwhile") from None
        except TimeoutError:
            # The deadline within the loop, or a loop that hangs: nobody waits any longer.
            future.cancel()
            raise LlmCallFailed(TIMEOUT, f"no answer within {seconds:g} seconds") from None

    def _opened(self) -> Model:
        with self._guard:
            if self._model is None:
                try:
                    self._model = open_provider_model(self._where, self._key)
                except ImportError as err:
                    missing = f"{ExtraMissing.__doc__} Install it with: {advise_install('llm')}"
                    raise LlmCallFailed(REFUSED, f"{missing} ({err})") from err
            return self._model

    def _without_key(self, why: str) -> str:
        """A server's error text, without the API key that it may repeat."""
        return why.replace(self._key, "…") if self._key else why


def run_event_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Run an event loop until it is stopped: the whole life of the thread."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def call_model(model: Model, request: LlmRequest) -> LlmReply:
    """The call itself; whatever the library raises becomes one outcome."""
    from pydantic_ai.direct import model_request
    from pydantic_ai.exceptions import AgentRunError, UserError
    from pydantic_ai.messages import ModelRequest

    message = ModelRequest.user_text_prompt(request.data, instructions=request.instructions)
    try:
        response = await model_request(
            model,
            [message],
            model_settings={"max_tokens": request.max_tokens, "timeout": request.timeout_seconds},
        )
    except (AgentRunError, UserError) as err:
        raise failure_from_error(err) from err
    text = "\n".join(part.content for part in response.parts if part.part_kind == "text")
    # A server that counts nothing reports 0: then it is estimated from the characters.
    usage = response.usage
    known = usage.input_tokens > 0
    return LlmReply(
        text[:MAX_ANSWER_CHARS],
        usage.input_tokens if known else None,
        usage.output_tokens if known else None,
    )


def open_provider_model(where: LlmAddress, key: str) -> Model:
    """The library's model. What the environment says about keys, hosts or accounts is not used."""
    http = open_http_client()
    if where.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        anthropic = AsyncAnthropic(
            base_url=where.url,
            api_key=key or NO_KEY,
            max_retries=0,
            http_client=http,
        )
        return AnthropicModel(where.model, provider=AnthropicProvider(anthropic_client=anthropic))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # The empty values are not left out: the library would take both from the environment.
    openai = AsyncOpenAI(
        base_url=where.url,
        api_key=key or NO_KEY,
        organization="",
        project="",
        max_retries=0,
        http_client=http,
    )
    if where.is_default_url:
        return OpenAIChatModel(where.model, provider=OpenAIProvider(openai_client=openai))
    return OpenAIChatModel(
        where.model,
        provider=OpenAICompatibleProvider("compatible", openai_client=openai),
    )


def open_http_client() -> httpx2.AsyncClient:
    """An HTTP client that follows no redirect and reads no endless answer."""
    import httpx2

    # Within the function: the library is loaded with the first call.
    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self.stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            read = 0
            async for part in self.stream:
                read += len(part)
                if read > MAX_RESPONSE_BYTES:
                    raise httpx2.ReadError(f"an answer of more than {MAX_RESPONSE_BYTES:,} bytes")
                yield part

        async def aclose(self) -> None:
            await self.stream.aclose()

    async def bound(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = Bounded(response.stream)

    return httpx2.AsyncClient(follow_redirects=False, event_hooks={"response": [bound]})


async def close_provider_model(model: Any) -> None:
    """Cancel what is being asked, so that its caller gets an answer; then close the connections."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    if model is not None:
        await model.client.close()


def failure_from_error(err: Exception) -> LlmCallFailed:
    """One of the library's errors as one of our outcomes."""
    from pydantic_ai import exceptions as e

    outcomes: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
        (e.ModelTimeoutError, TIMEOUT),
        ((e.ModelAuthenticationError, e.ModelNotFoundError, e.ModelQuotaExceededError), REFUSED),
        ((e.ModelRateLimitError, e.ModelOverloadedError), BUSY),
        (e.ModelRequestRejectedError, REJECTED),
        ((e.ModelUnavailableError, e.ModelServerError, e.ModelConnectionError), DOWN),
    )
    outcome = next(
        (outcome for kind, outcome in outcomes if isinstance(err, kind)),
        "",
    )
    status = getattr(err, "status_code", None) or getattr(err.__cause__, "status_code", None)
    if not outcome:
        outcome = MALFORMED
        if status is not None:
            outcome = REFUSED if status < 500 else DOWN
    why = f"HTTP {status}: {read_server_error(err) or err}" if status else str(err)
    return LlmCallFailed(
        outcome,
        " ".join(why.split()),
        getattr(err, "retry_after", None),
    )


def read_server_error(err: Any) -> str:
    """The message in a server's error; empty if there is none."""
    body = getattr(err, "body", None)
    return str(body.get("message") or body) if isinstance(body, dict) else str(body or "")
