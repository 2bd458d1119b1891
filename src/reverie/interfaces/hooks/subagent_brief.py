"""What a subagent is told when it begins. Its hook knows no prompt, so nothing is searched for:
what the user has forbidden, and what its session was given on the topic at hand, each once.
"""

from __future__ import annotations

from reverie.context_window import render_block
from reverie.core.kinds import INTENTION, NEGATIVE, is_unverified
from reverie.core.model import Filter, Hit, Memory, visible_spaces
from reverie.interfaces.hooks.hook_event import NO_BLOCK, HookBlock, HookEvent, SessionNote
from reverie.interfaces.hooks.prompt_lookup import open_existing_store, to_hook_block
from reverie.interfaces.hooks.spool import HookFiles
from reverie.memory.guards import STOPPING, decide_guard, may_stop
from reverie.retrieval import warning_order
from reverie.retrieval.rescoring import can_surface
from reverie.storage import Store

# Memories on the topic at hand for which room is kept.
MAX_TOPIC = 2
# It gets one of so many tokens of a turn's block: its prompt says what it needs.
TOKEN_SHARE = 2
# Newest prohibitions without a trigger among which the most urgent are looked for.
MAX_PROHIBITIONS = 200


def brief_subagent(event: HookEvent, note: SessionNote, files: HookFiles, now: float) -> HookBlock:
    """What a subagent is told, but for what it was shown, which it counts as from now on.

    Nothing by others, no reminder, and no passage: nobody has approved those, and here no prompt
    says that they belong.
    """
    if not event.agent:
        return NO_BLOCK
    with open_existing_store(files.home) as there:
        if there is None:
            return NO_BLOCK
        store, settings = there
        shown = files.shown_ids(event.session, event.agent)
        forbidden, known = (
            [one for one in those if can_surface(one, now) and one.id not in shown]
            for those in (
                find_prohibitions(store, note.space, settings.guards),
                [] if note.held_out else find_given_on_topic(store, event.session, note, files),
            )
        )
        first = settings.limit - min(len(known), MAX_TOPIC)
        hits = [Hit(one, 0.0, ("a subagent begins",)) for one in (*forbidden[:first], *known)]
        budget = settings.budget // TOKEN_SHARE
        block = to_hook_block(render_block(hits, now, limit=settings.limit, budget=budget))
    if block.ids:
        files.add_shown(event.session, block.ids, event.agent)
    return block


def find_prohibitions(store: Store, space: str, default: str) -> list[Memory]:
    """The user's own prohibitions, or those that they approved: what stops a tool first, then the
    most urgent. `default` is the setting `guards`.
    """
    visible = visible_spaces(space)
    guards = [one for one in store.with_triggers(visible) if decide_guard(one, default) in STOPPING]
    known = {one.id for one in guards}
    newest = store.browse(Filter(spaces=visible, kinds=(NEGATIVE,), limit=MAX_PROHIBITIONS))
    others = [one for one in newest if one.id not in known and may_stop(one)]
    return [*sorted(guards, key=warning_order), *sorted(others, key=warning_order)]


def find_given_on_topic(
    store: Store, session: str, note: SessionNote, files: HookFiles
) -> list[Memory]:
    """What a session was given since the newest prompt that said what it is about."""
    since = round(note.topic or note.asked, 3)  # as precise as the times of what was given
    given = [id for id, at in files.given_times(session).items() if at >= since]
    return [
        one
        for one in store.get(given)
        if one.active and one.kind != INTENTION and not is_unverified(one)
    ]
