"""What `mind.recording(…)` returns: a context manager and a decorator that record runs of a tool.

Always true: what the tool returns or raises goes on its way as it came, and a decorated function
keeps its shape: coroutine, generator, async generator, class or static method.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, Self, TypeVar

from reverie.core import clock

F = TypeVar("F", bound=Callable[..., Any])


class ToolRecording:
    """One run of a tool that is being recorded, or, as a decorator, all runs of a function."""

    def __init__(
        self,
        record_tool: Callable[..., None],
        tool: str,
        parameters: Any,
        task: str,
        session: str,
        space: str | None,
    ) -> None:
        self._record_tool, self.tool, self.parameters = record_tool, tool, parameters
        self._context: dict[str, Any] = {
            "task": task,
            "session": session,
            "space": space,
        }
        self.ok: bool | None = None
        self.result: Any = None
        self.error: Any = None
        self._began = clock.ticks()

    def __enter__(self) -> Self:
        # Made in one place, entered in another: only what runs within counts.
        self._began = clock.ticks()
        return self

    def __exit__(
        self,
        _kind: object,
        raised: BaseException | None,
        _trace: object,
    ) -> None:
        duration = clock.ticks() - self._began
        # What the caller has set is said in its own words, and wins.
        error = self.error
        # GeneratorExit means that nobody read a generator to its end, which is no failure.
        if raised is not None and not isinstance(raised, GeneratorExit):
            error = self.error or describe_exception(raised)
        self._record_tool(
            self.tool,
            self.parameters,
            self.result,
            ok=self.ok,
            error=error,
            duration=duration,
            **self._context,
        )

    def __call__(self, function: F) -> F:
        """The function, in the shape that it had, recorded each time that it runs."""
        import inspect

        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self(function.__func__))
        name = self.tool or getattr(function, "__name__", "tool")
        # An object whose `__call__` is a coroutine counts as one.
        call = getattr(function, "__call__", function)  # noqa: B004

        def record(
            args: tuple[Any, ...],
            kwargs: dict[str, Any],
        ) -> ToolRecording:
            parameters = {"args": args, **kwargs} if args else kwargs
            return ToolRecording(self._record_tool, name, parameters, **self._context)

        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
            wrapped = record_coroutine(function, record)
        elif inspect.isasyncgenfunction(function):
            wrapped = record_async_generator(function, record)
        elif inspect.isgeneratorfunction(function):
            wrapped = record_generator(function, record)
        else:
            wrapped = record_function(function, record)
        return wrapped  # type: ignore[return-value]


def record_function(
    function: Callable[..., Any],
    record: CallRecorder,
) -> Callable[..., Any]:
    """A plain function that records each call."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with record(args, kwargs) as run:
            run.result = result = function(*args, **kwargs)
        return result

    return call


def record_coroutine(
    function: Callable[..., Any],
    record: CallRecorder,
) -> Callable[..., Any]:
    """A coroutine function that records each call."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        with record(args, kwargs) as run:
            run.result = result = await function(*args, **kwargs)
        return result

    return call


def record_generator(
    function: Callable[..., Any],
    record: CallRecorder,
) -> Callable[..., Any]:
    """A generator function that records each call, with what the generator returns."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with record(args, kwargs) as run:
            run.result = result = yield from function(*args, **kwargs)
        return result

    return call


def record_async_generator(
    function: Callable[..., Any], record: CallRecorder
) -> Callable[..., Any]:
    """An async generator function that records each call."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        with record(args, kwargs), suppress(StopAsyncIteration):
            items = function(*args, **kwargs)
            item = await anext(items)
            # What `yield from` does, which async generators do not have.
            while True:
                try:
                    sent = yield item
                except GeneratorExit:
                    await items.aclose()
                    raise
                except BaseException as err:
                    item = await items.athrow(err)
                else:
                    item = await items.asend(sent)

    return call


def describe_exception(raised: BaseException) -> str:
    """An exception as text; only the name of its class if it cannot be formatted."""
    try:
        return f"{type(raised).__name__}: {raised}"
    except Exception:
        return type(raised).__name__


# (args, kwargs) of a call → the run that is recorded. Here, because it names the class.
CallRecorder = Callable[[tuple[Any, ...], dict[str, Any]], ToolRecording]
