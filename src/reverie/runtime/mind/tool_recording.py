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
        self._context: dict[str, Any] = {"task": task, "session": session, "space": space}
        self.ok: bool | None = None
        self.result: Any = None
        self.error: Any = None
        self._began = clock.ticks()

    def __enter__(self) -> Self:
        self._began = clock.ticks()
        return self

    def __exit__(self, _kind: object, raised: BaseException | None, _trace: object) -> None:
        duration = clock.ticks() - self._began
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
        call = getattr(function, "__call__", function)  # noqa: B004 - an object whose call is async

        def record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolRecording:
            parameters = {"args": args, **kwargs} if args else kwargs
            return ToolRecording(
                self._record_tool,
                name,
                parameters,
                **self._context,
            )

        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):

            @wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with record(args, kwargs) as run:
                    run.result = result = await function(*args, **kwargs)
                return result

            return awaited  # type: ignore[return-value]
        if inspect.isasyncgenfunction(function):

            @wraps(function)
            async def streamed(*args: Any, **kwargs: Any) -> Any:
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

            return streamed  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):

            @wraps(function)
            def yielded(*args: Any, **kwargs: Any) -> Any:
                with record(args, kwargs) as run:
                    run.result = result = yield from function(*args, **kwargs)
                return result

            return yielded  # type: ignore[return-value]

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with record(args, kwargs) as run:
                run.result = result = function(*args, **kwargs)
            return result

        return called  # type: ignore[return-value]


def describe_exception(raised: BaseException) -> str:
    """An exception as text; only the name of its class if it cannot be formatted."""
    try:
        return f"{type(raised).__name__}: {raised}"
    except Exception:
        return type(raised).__name__
