"""Spans of what hooks searched for and said, made by the worker from what they left in the spool.

A hook writes nothing for it. When it began stands in its event; when it ended is told by how long
the host waited, or, where it found nothing, by when its file got its name. Which gate held back
what was not said, the worker weighs afterwards, against what is known then.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.errors import ReverieError
from reverie.core.memory_spans import (
    HELD_OUT,
    SEARCH,
    CollectedSpan,
    SpanRecord,
    describe_block,
)
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.hook_event import SpooledEvent
from reverie.interfaces.hooks.spool import MAX_HELD_SECONDS
from reverie.interfaces.turn_gates import is_near
from reverie.runtime.mind.verb_spans import (
    captures_content,
    context_attributes,
    describe_content,
    list_records,
)

if TYPE_CHECKING:
    from reverie import Mind

# Candidates of a prompt that are weighed again.
MAX_WEIGHED = 10


class HookMoment(NamedTuple):
    """What a hook left, and when it had its answer."""

    spooled: SpooledEvent
    ended_at: float


def read_end(path: str, spooled: SpooledEvent) -> float:
    """When a hook had its answer: as it measured, or when it gave its file the name that it has.

    Where the system does not tell, the hook's beginning.
    """
    if spooled.waited:
        return spooled.at + spooled.waited
    try:
        named_at = os.stat(path).st_ctime
    except OSError:
        return spooled.at
    # A file that was copied, or a clock that was set, says nothing.
    return named_at if 0 <= named_at - spooled.at < MAX_HELD_SECONDS else spooled.at


def make_hook_span(mind: Mind, moment: HookMoment) -> SpanRecord | None:
    """The span of a hook; None for one that searched for nothing and said nothing."""
    spooled, event = moment.spooled, moment.spooled.event
    if event.kind != kinds.PROMPT and not (spooled.ids or spooled.withheld):
        return None
    span = CollectedSpan(
        {
            **context_attributes(mind.context),
            "reverie.surface": "hook",
            "reverie.hook.event": event.kind,
            "gen_ai.memory.store.id": spooled.space,
            "gen_ai.conversation.id": event.session,
        }
    )
    held = find_held_back(mind, spooled)
    describe_block(span, spooled.ids, held)
    if captures_content(mind.settings):
        describe_content(span, event.text, list_given(mind, spooled), mind.context)
    return SpanRecord(
        event.kind, SEARCH, spooled.at, max(spooled.at, moment.ended_at), span.attributes
    )


def find_held_back(mind: Mind, spooled: SpooledEvent) -> dict[str, str]:
    """The memories that fit what was said and were not given: id → the gate that stops it."""
    held = dict.fromkeys(spooled.withheld, HELD_OUT)
    event = spooled.event
    if event.kind != kinds.PROMPT or not event.text.strip():
        return held
    try:
        verdicts = mind.sessions.weigh(event.text, space=spooled.space, limit=MAX_WEIGHED)
    except ReverieError:  # a model that is not there: what the hook itself knows is told
        return held
    weighed = {one.hit.memory.id: one.gate for one in verdicts if one.gate and is_near(one)}
    return {id: gate for id, gate in (weighed | held).items() if id not in spooled.ids}


def list_given(mind: Mind, spooled: SpooledEvent) -> list[Any]:
    """What was given, as the convention writes memories."""
    return list_records(mind.get(list(spooled.ids))) if spooled.ids else []
