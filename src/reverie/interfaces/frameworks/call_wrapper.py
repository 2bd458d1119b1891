"""A function that calls a model, wrapped with memory: what `@Beside(…)` makes of it.

The messages are found by name (MESSAGE_ARGUMENTS), or are the first argument that is neither `self`
nor `cls`. The function keeps its shape: a method, a coroutine, a generator, an async generator. A
stream is passed on piece by piece as it comes, and its text is learned from when it ends, also
where nobody reads it to its end.

Always true: a call that memory does not understand is made as it was written, and `trouble` says
that nothing was learned.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from functools import wraps
from inspect import (
    Parameter,
    Signature,
    isasyncgen,
    isasyncgenfunction,
    iscoroutine,
    iscoroutinefunction,
    isgenerator,
    isgeneratorfunction,
    signature,
)
from typing import TYPE_CHECKING, Any

from reverie.text.host_messages import get_field

if TYPE_CHECKING:
    from reverie.interfaces.frameworks.agent_loop import Beside

# Names of arguments that hold the messages, whatever their place: those that SDKs use.
MESSAGE_ARGUMENTS = ("messages", "input", "history", "conversation")
RECEIVER_ARGUMENTS = ("self", "cls")


def wrap_model_call(
    beside: Beside,
    model: Callable[..., Any],
) -> Callable[..., Any]:
    """The same function with memory, in the shape that it has."""
    try:
        call_signature = signature(model)
    # Some builtins have no signature.
    except (TypeError, ValueError):
        call_signature = Signature(
            [Parameter("given", Parameter.VAR_POSITIONAL), Parameter("more", Parameter.VAR_KEYWORD)]
        )
    for has_shape, wrap in (
        (iscoroutinefunction, wrap_coroutine),
        (isasyncgenfunction, wrap_async_generator),
        (isgeneratorfunction, wrap_generator),
    ):
        if has_shape(model):
            return wrap(beside, model, call_signature)
    return wrap_function(beside, model, call_signature)


def wrap_function(
    beside: Beside,
    model: Callable[..., Any],
    call_signature: Signature,
) -> Callable[..., Any]:
    """Wrap a plain function, which may return a coroutine or a stream all the same."""

    @wraps(model)
    def call(*given: Any, **more: Any) -> Any:
        messages, given, more = inject_into_call(beside, call_signature, given, more)
        answer = model(*given, **more)
        if messages is None:
            return answer
        if iscoroutine(answer):
            return await_and_learn(beside, messages, answer)
        stream = wrap_stream(beside, messages, answer)
        if stream is not None:
            return stream
        beside.after(messages, answer)
        return answer

    return call


def wrap_coroutine(
    beside: Beside,
    model: Callable[..., Any],
    call_signature: Signature,
) -> Callable[..., Any]:
    """Wrap a coroutine function."""

    @wraps(model)
    async def call(*given: Any, **more: Any) -> Any:
        # Taking the block is quick, but the first turn may search: not in the event loop.
        messages, given, more = await asyncio.to_thread(
            inject_into_call, beside, call_signature, given, more
        )
        answer = await model(*given, **more)
        return answer if messages is None else await learn_answer(beside, messages, answer)

    return call


def wrap_generator(
    beside: Beside,
    model: Callable[..., Any],
    call_signature: Signature,
) -> Callable[..., Any]:
    """Wrap a generator function."""

    @wraps(model)
    def call(*given: Any, **more: Any) -> Generator[Any, Any, Any]:
        messages, given, more = inject_into_call(beside, call_signature, given, more)
        return (yield from relay_stream(beside, messages, model(*given, **more)))

    return call


def wrap_async_generator(
    beside: Beside,
    model: Callable[..., Any],
    call_signature: Signature,
) -> Callable[..., Any]:
    """Wrap an async generator function."""

    @wraps(model)
    async def call(*given: Any, **more: Any) -> AsyncIterator[Any]:
        messages, given, more = await asyncio.to_thread(
            inject_into_call, beside, call_signature, given, more
        )
        stream = relay_async_stream(beside, messages, model(*given, **more))
        try:
            async for piece in stream:
                yield piece
        finally:
            await stream.aclose()

    return call


def inject_into_call(
    beside: Beside,
    call_signature: Signature,
    given: tuple[Any, ...],
    more: dict[str, Any],
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """(the messages or None, the positional arguments, the named arguments), with
    memory in them.
    """

    def inject() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        place = find_messages_argument(call_signature, given, more)
        if place is None:
            beside.report_unread("No argument of this call holds messages")
            return None, given, more
        if isinstance(place, str):
            messages = more[place]
            return messages, given, {**more, place: beside.before(messages)}
        messages = given[place]
        return messages, (*given[:place], beside.before(messages), *given[place + 1 :]), more

    return beside.guarded((None, given, more), inject)


def find_messages_argument(
    call_signature: Signature,
    given: Sequence[Any],
    more: Mapping[str, Any],
) -> str | int | None:
    """The argument of a call that holds the messages: its name, or its place among those without
    one.
    """
    # What the caller names is surer than a place.
    for name in MESSAGE_ARGUMENTS:
        if name in more:
            return name
    names = list(call_signature.parameters)
    for place, name in enumerate(names[: len(given)]):
        if name in MESSAGE_ARGUMENTS:
            return place
    first = next((name for name in names if name not in RECEIVER_ARGUMENTS), None)
    if first is None or first in more:
        return first
    place = names.index(first)
    return place if place < len(given) else None


async def learn_answer(
    beside: Beside,
    messages: Any,
    answer: Any,
) -> Any:
    """The answer, after it was handed over in a thread beside the event loop."""
    stream = wrap_stream(beside, messages, answer)
    if stream is not None:
        return stream
    await asyncio.to_thread(beside.after, messages, answer)
    return answer


async def await_and_learn(
    beside: Beside,
    messages: Any,
    answer: Coroutine[Any, Any, Any],
) -> Any:
    """The answer of a coroutine, after it was handed over."""
    return await learn_answer(beside, messages, await answer)


def wrap_stream(
    beside: Beside,
    messages: Any,
    answer: Any,
) -> Any:
    """A streamed answer as a stream that is learned from; None for one that does not stream."""
    if isasyncgen(answer):
        return relay_async_stream(beside, messages, answer)
    return relay_stream(beside, messages, answer) if isgenerator(answer) else None


def relay_stream(
    beside: Beside,
    messages: Any,
    stream: Generator[Any, Any, Any],
) -> Generator[Any, Any, Any]:
    """A generator passed on as it comes, with what it returns; its text is learned at its end."""
    pieces: list[Any] = []
    sent = None
    try:
        while True:
            try:
                piece = stream.send(sent)
            except StopIteration as end:
                return end.value
            pieces.append(piece)
            sent = yield piece
    # Also where the reader stops early: what was said so far was said.
    finally:
        stream.close()
        beside.learn_stream(messages, pieces)


async def relay_async_stream(
    beside: Beside,
    messages: Any,
    stream: Any,
) -> Any:
    """An async stream passed on as it comes; its text is learned at its end."""
    pieces: list[Any] = []
    try:
        async for piece in stream:
            pieces.append(piece)
            yield piece
    finally:
        # Closed first: a reader that stops early must not leave the model's stream open.
        await stream.aclose()
        await asyncio.to_thread(beside.learn_stream, messages, pieces)


def join_stream_text(pieces: Iterable[Any]) -> str:
    """The text of a stream: of texts, or events of OpenAI's (chat, responses) and
    Anthropic's SDK.
    """
    return "".join(map(read_piece_text, pieces))


def read_piece_text(piece: Any) -> str:
    """The text of one piece of a stream; "" where it has none."""
    if isinstance(piece, str):
        return piece
    choices: Sequence[Any] = get_field(piece, "choices") or ()
    delta = get_field(choices[0], "delta") if choices else get_field(piece, "delta")
    kind = get_field(piece, "type")
    if isinstance(delta, str):
        return delta if kind in (None, "response.output_text.delta") else ""
    text = get_field(delta, "content") if choices else get_field(delta, "text")
    return text if isinstance(text, str) else ""
