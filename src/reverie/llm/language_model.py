"""The optional language model: budget, rest after trouble, one event for each call.

`LanguageModel.ask` makes one call and returns an `LlmAnswer`: what was read from the reply, or one
of OUTCOMES and why. Every call is counted in the usage of the day and written down as an event, in
one transaction.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.llm import spending_limits
from reverie.llm.spending_limits import SpendingLimits, UsageDay
from reverie.storage import Store

T = TypeVar("T")


# The client speaks two protocols; whatever else speaks one of them is an address of it.
# Provider → its usual address.
PROVIDERS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
}
# The command lines of host agents (`command_line.FORMS`), which have no address.
PROGRAMS = ("claude-cli", "codex-cli")
OK, EMPTY, MALFORMED, REJECTED = "ok", "empty", "malformed", "rejected"
TIMEOUT, BUSY, DOWN, REFUSED = "timeout", "busy", "down", "refused"
RESTING, SPENT, STOPPED = "resting", "spent", "stopped"
OUTCOMES = {
    OK: "an answer that could be read",
    EMPTY: "an answer without text",
    MALFORMED: "an answer that is not what was asked for; nothing was changed",
    REJECTED: "this request was rejected, for instance as too long",
    TIMEOUT: "no answer in time",
    BUSY: "the server asked to wait (429, overloaded)",
    DOWN: "no connection, or an error of the server",
    REFUSED: "wrong key, no such model, no credit, or the extra is missing: not tried again for a "
    "while",
    RESTING: "not asked: the model rests after trouble",
    SPENT: "not asked: the day's budget is spent",
    STOPPED: "broken off, because whoever asked was closed",
}


UNAVAILABLE = frozenset({TIMEOUT, BUSY, DOWN, REFUSED, RESTING, SPENT, STOPPED})
"""Outcomes that are not the answer's fault: what was to be asked may be asked later."""

# Seconds without calls after a transient failure.
BREAK_SECONDS = 30.0
# However long a server asks to wait; and after a refusal, which waiting does not mend.
MAX_BREAK_SECONDS = 600.0
# Characters of a reason that are kept.
MAX_WHY_CHARS = 200
LLM_EVENT_VERB = "llm"  # of the event that every call leaves behind


class LlmRequest(NamedTuple):
    """One question to a model. `data` is fenced already (`prompt_format.fence_rows`)."""

    task: str  # "judge", "extract", …: what it is counted under
    instructions: str
    data: str
    max_tokens: int = 1_000  # tokens of an answer
    timeout_seconds: float = 60.0


class LlmReply(NamedTuple):
    """The text that a client brings back, and the tokens that the server counted."""

    text: str
    tokens_in: int | None  # None: the server did not say
    tokens_out: int | None


class LlmAnswer(NamedTuple, Generic[T]):
    """The result of a request: one of OUTCOMES, and the value if it is OK."""

    outcome: str
    value: T | None = None
    why: str = ""

    @property
    def unavailable(self) -> bool:
        """True if the model could not be asked or did not answer: it may be asked later."""
        return self.outcome in UNAVAILABLE


class LlmCallFailed(Exception):
    """A call without an answer: its outcome, why, and how long the server asks to wait."""

    def __init__(
        self,
        outcome: str,
        why: str,
        wait: float | None = None,
    ) -> None:
        super().__init__(why)
        self.outcome, self.why, self.retry_after = outcome, why, wait


class BadAnswer(Exception):
    """An answer that is not what was asked for."""


class LlmClient(Protocol):
    """One provider's side: sends a request and brings back the text, or raises LlmCallFailed."""

    def ask(self, request: LlmRequest) -> LlmReply:
        """One call, one try."""

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars for so many tokens; None where the price is not known."""

    def close(self) -> None:
        """Close the connections."""


class LlmAddress(NamedTuple):
    """Which model, where."""

    provider: str
    model: str
    url: str
    is_default_url: bool  # at the provider's own address

    @property
    def name(self) -> str:
        """The name under which the model is shown and its calls are counted."""
        parts = urlsplit(self.url)
        where = f"@{parts.hostname}" + (f":{parts.port}" if parts.port else "")
        return f"{self.provider}:{self.model}{'' if self.is_default_url else where}"


def parse_llm_address(setting: str) -> LlmAddress:
    """The address of the model that a setting names; BadInput if it names none.

    The forms are "anthropic:<model>", "openai:<model>" and "openai:<base url>#<model>", and
    "claude-cli:<model>" and "codex-cli:<model>" for programs on PATH.
    """
    # At the first colon: an address and the name of a model may hold further ones.
    provider, _, rest = setting.partition(":")
    if provider in PROGRAMS and rest.strip() and not rest.startswith("-"):
        return LlmAddress(provider, rest.strip(), "", is_default_url=True)
    url, hash, model = rest.rpartition("#")
    if provider not in PROVIDERS or not model.strip() or (hash and not is_server_url(url)):
        raise BadInput(
            f"llm = {setting!r} names no model. Use anthropic:<model>, openai:<model> or, for any "
            f"server "
            "that speaks the same protocol, openai:http://host:port/v1#<model>; or, for a command "
            "line that you have, claude-cli:<model> or codex-cli:<model>"
        )
    return LlmAddress(provider, model, url or PROVIDERS[provider], not url)


def is_server_url(url: str) -> bool:
    """True if it names a server: http or https, a host, and a valid port if any."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number or too large
        return False


class LanguageModel:
    """A language model with a budget. Any number of threads may ask; processes share one usage."""

    def __init__(
        self,
        where: LlmAddress,
        make: Callable[[], LlmClient],
        store: Store,
        limits: SpendingLimits,
        now: Callable[[], float],
        private: Callable[[str], str],
    ) -> None:
        self.address, self.limits = where, limits
        self._make, self._store, self._now, self._private = make, store, now, private
        self._client: LlmClient | None = None
        self._guard = Lock()

    @property
    def name(self) -> str:
        """The model, as it is shown and counted."""
        return self.address.name

    @property
    def is_quick(self) -> bool:
        """True if a turn may be held up for it: a program that has to start first is too slow."""
        return self.address.provider not in PROGRAMS

    def ask(
        self,
        request: LlmRequest,
        read: Callable[[str], T],
        *,
        space: str,
        session: str = "",
        about: int = 0,
        checking: bool = False,
    ) -> LlmAnswer[T]:
        """One call: what `read` makes of the reply's text, or nothing and the outcome.

        `about` is the number of the event that it concerns. `checking` asks a model that rests, for
        a person who wants to know.
        """
        # No secret leaves this machine, whichever task put it into the request.
        request = request._replace(data=self._private(request.data))
        obstacle = "" if checking else self.find_obstacle(request)
        if obstacle:
            self.count(request.task, obstacle)
            return LlmAnswer(obstacle, why=self.day().why if obstacle == RESTING else "")
        began = clock.ticks()
        wait = None
        try:
            reply = self._opened().ask(request)
        except LlmCallFailed as err:
            why = self._private(err.why)[:MAX_WHY_CHARS]
            answer: LlmAnswer[T] = LlmAnswer(err.outcome, why=why)
            reply, wait = estimate_lost_usage(request, err.outcome), err.retry_after
        else:
            answer = parse_answer(reply.text, read)
            reply = fill_missing_usage(request, reply)
        noted: dict[str, Any] = {"seconds": round(clock.ticks() - began, 3)}
        if answer.why:
            noted["why"] = answer.why
        if about:
            noted["event"] = about
        event = Event(LLM_EVENT_VERB, space, self._now(), session, noted)
        self._record(event, request.task, answer, reply, wait)
        return answer

    def find_obstacle(self, request: LlmRequest) -> str:
        """Why this cannot be asked now: RESTING, SPENT, or nothing."""
        day = self.day()
        if self._now() < day.rest_until:
            return RESTING
        needs = estimate_request_tokens(request)
        price = self._price(needs, request.max_tokens)
        return "" if self.limits.allows(day, needs + request.max_tokens, price) else SPENT

    def available(self, tokens: int = 0) -> bool:
        """True if a request that takes so many tokens would be made now: neither at rest nor beyond
        the budget.
        """
        return not self.find_obstacle(LlmRequest("", "", "", max_tokens=tokens))

    def day(self) -> UsageDay:
        """Today's usage."""
        return spending_limits.load_usage_day(
            self._store.meta(spending_limits.META_NAME),
            self.name,
            self._now(),
        )

    def count(self, task: str, outcome: str) -> None:
        """Count a turn or an event that ended in this outcome without a call."""
        with self._store.transaction():
            self._store.set_meta(
                spending_limits.META_NAME,
                self.day().with_outcome(task, outcome).to_json(),
            )

    def close(self) -> None:
        """Close the connections. A later `ask` opens them again."""
        # Out of reach first: who asks meanwhile opens another.
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> LlmClient:
        with self._guard:
            if self._client is None:
                self._client = self._make()
            return self._client

    def _price(self, tokens_in: int, tokens_out: int) -> float | None:
        """What a call would cost in dollars; None where the price is not known or nobody needs it.

        Without a limit in dollars nobody does, and a price list takes time to load.
        """
        if not self.limits.dollars:
            return None
        try:
            return self._opened().price(tokens_in, tokens_out)
        except LlmCallFailed:
            return None  # the call itself meets the same trouble and records it

    def _record(
        self,
        event: Event,
        task: str,
        answer: LlmAnswer[T],
        reply: LlmReply,
        wait: float | None,
    ) -> None:
        """Count the call in the usage and write its event to the log, in one transaction."""
        tokens_in, tokens_out = reply.tokens_in or 0, reply.tokens_out or 0
        cost: float | None = 0.0
        # Nobody was asked, or nothing was read: that costs nothing, known price or not.
        if self._client and tokens_in + tokens_out:
            cost = self._client.price(tokens_in, tokens_out)
        payload = {
            "task": task,
            "model": self.name,
            "outcome": answer.outcome,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cost": cost,
            **event.payload,
        }
        with self._store.transaction():
            # Read within the transaction: other processes share the usage.
            day = self.day().with_call(task, answer.outcome, tokens_in, tokens_out, cost)
            rested = day.with_rest(event.at, *rest_after_answer(answer, wait))
            self._store.set_meta(spending_limits.META_NAME, rested.to_json())
            self._store.append([event._replace(payload=payload)])


def rest_after_answer(
    answer: LlmAnswer[Any],
    wait: float | None,
) -> tuple[float, str]:
    """(seconds without calls after such an outcome, why). An answer, good or bad, ends a rest."""
    # Waiting does not mend a wrong key; somebody has to.
    if answer.outcome == REFUSED:
        return MAX_BREAK_SECONDS, answer.why
    if answer.outcome in (TIMEOUT, BUSY, DOWN):
        return min(max(BREAK_SECONDS, wait or 0.0), MAX_BREAK_SECONDS), answer.why
    return 0.0, ""


def parse_answer(
    text: str,
    read: Callable[[str], T],
) -> LlmAnswer[T]:
    """The reply's text as the value that was asked for, or EMPTY or MALFORMED."""
    if not text.strip():
        return LlmAnswer(EMPTY, why="the answer has no text")
    try:
        return LlmAnswer(OK, read(text))
    except BadAnswer as err:
        return LlmAnswer(MALFORMED, why=str(err)[:MAX_WHY_CHARS])


def estimate_lost_usage(request: LlmRequest, outcome: str) -> LlmReply:
    """What a call without an answer may have cost, as a reply without text.

    A server that was too slow has read the question all the same.
    """
    was_read = outcome in (TIMEOUT, STOPPED)
    return LlmReply("", estimate_request_tokens(request) if was_read else 0, 0)


def fill_missing_usage(request: LlmRequest, reply: LlmReply) -> LlmReply:
    """The reply with its tokens, estimated from the characters where the server does not say."""
    tokens_in, tokens_out = reply.tokens_in, reply.tokens_out
    if tokens_in is None:
        tokens_in = estimate_request_tokens(request)
    if tokens_out is None:
        tokens_out = spending_limits.estimate_prompt_tokens(reply.text)
    return reply._replace(
        tokens_in=max(0, tokens_in),
        tokens_out=max(0, tokens_out),
    )


def estimate_request_tokens(request: LlmRequest) -> int:
    """About how many tokens a question takes."""
    return spending_limits.estimate_prompt_tokens(request.instructions + request.data)
