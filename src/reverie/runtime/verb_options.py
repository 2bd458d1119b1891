"""Keyword arguments that several verbs take together, as types: what each is for, its default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from reverie.memory.memory_validation import Moment

if TYPE_CHECKING:
    from reverie.text.token_counts import Tokenizer


class MemoryFilter(TypedDict, total=False):
    """Which memories are asked for; without any of it, all but working memory."""

    kinds: Iterable[str]
    types: Iterable[str]  # working, episodic, semantic, procedural, prospective, emotional
    tags: Iterable[str]  # each of them must be there


class RunOutcome(TypedDict, total=False):
    """How a run of a tool came out."""

    ok: bool | None  # without it, the run went well unless there is an error
    error: Any
    duration: float | None  # seconds
    task: str


class FileTouchFields(TypedDict, total=False):
    """More about how a file was touched."""

    lines: Sequence[int] | None  # the first and the last line
    summary: str  # what changed, in words
    ok: bool
    context: str  # with what it was done
    task: str


class EventFilter(TypedDict, total=False):
    """Which recorded events are asked for."""

    tool: str
    file: str  # a part of the path will do
    task: str
    verbs: Iterable[str]
    since: Moment
    until: Moment


class WindowOptions(TypedDict, total=False):
    """How a context window is measured."""

    tokenizer: Tokenizer  # whatever counts tokens; a quarter of the characters by default
    sticky: Callable[[Any], bool] | None  # true of messages that must stay
