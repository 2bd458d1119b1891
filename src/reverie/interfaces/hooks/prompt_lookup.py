"""What a hook looks for itself, because nothing that lies ready can know it: it opens the store at
a prompt that says something of its own, when a known error may have come again, and after a
compaction.

Only words are asked, within `settings.deadline`. Imports are the lightest that can answer;
reminders bring heavy ones and are looked for only where there are any.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core import config
from reverie.interfaces.hooks.hook_event import HookEvent

if TYPE_CHECKING:
    from reverie.context_window import Block
    from reverie.core.config import Settings
    from reverie.core.model import Hit
    from reverie.storage import Store

MAX_QUERY_CHARS = 1_200  # characters of a prompt that are searched for, as in `settle.preparing`
NOTHING: Mapping[str, Any] = {}
MAX_REPEATED = 20  # memories that a session was given lately, or has taught, that are said again
MAX_TURNS = 100  # its newest turns that are looked at for those
MAX_FIXES = 2  # remedies that are named
MAX_LESSONS = 2_000  # newest lessons among which a remedy is looked for


def make_session_note(happening: HookEvent, home: str) -> dict[str, Any]:
    """What holds for a session from its beginning: its space and folder, whether memory is off
    there.
    """
    settings = config.load_settings(Path(home))
    folder = Path(happening.cwd) if happening.cwd else config.working_directory()
    policy = settings.policy
    space = config.project_space_of(folder)
    return {
        "space": space,
        "root": str(config.find_work_tree(folder)),
        "off": settings.is_off(space, happening.session),
        "idle": settings.idle,
        "personal": policy.personal,
        "contact": policy.contact,
        "sensitive": list(policy.sensitive),
    }


def look_up_prompt(
    session: str,
    space: str,
    text: str,
    home: str,
    now: float,
    *,
    begins: bool = True,
    ready: Mapping[str, Any] = NOTHING,
    given: Mapping[str, float] = NOTHING,
) -> dict[str, Any]:
    """The block for a prompt: what words find, what lay ready and still counts; with the first also
    what is due.

    Nothing is said again that was `given` lately, though the desk may not have written that down
    yet.
    """
    with open_existing_store(home) as there:
        if there is None:
            return {}
        from reverie.context_window.injection_history import InjectionHistory, resume_history
        from reverie.injection.first_turn import InjectionTurn, prepare_by_words

        store, settings = there
        attention = InjectionHistory(session, (space,))
        resume_history(store, attention, space, now)
        for id, at in given.items():
            attention.mark_injected((id,), at)
        blocked, waited = attention.list_blocked_ids(now), ready.get("due", ())
        due = [
            *(claim_session_reminders(store, settings, session, space, now) if begins else ()),
            *load_active_hits(store, waited),
        ]
        besides = load_active_hits(
            store, [id for id in ready.get("ids", ()) if id not in blocked and id not in waited]
        )
        turn = InjectionTurn(attention, space, now, due)
        block = prepare_by_words(store, settings, turn, text[:MAX_QUERY_CHARS], text, besides)
        return to_hook_block(block) or {}


def load_active_hits(store: Store, ids: Sequence[str]) -> list[Hit]:
    """What lay ready, as far as it still counts."""
    from reverie.core.model import Hit

    return (
        [Hit(memory, 0.0, ("prepared",)) for memory in store.get(ids) if memory.active]
        if ids
        else []
    )


def claim_session_reminders(
    store: Store, settings: Settings, session: str, space: str, now: float
) -> Sequence[Hit]:
    """Reminders that are due, claimed for this session."""
    from reverie.core.kinds import INTENTION
    from reverie.core.model import Filter, visible_spaces

    if not store.browse(Filter(spaces=visible_spaces(space), kinds=(INTENTION,), limit=1)):
        return ()
    from reverie.injection.due_reminders import claim_at_start

    return claim_at_start(store, settings, space, reminder_holder(session), now)


def are_all_active(ids: Sequence[str], home: str) -> bool:
    """Whether all these memories are there and count."""
    with open_existing_store(home) as there:
        found = there[0].get(ids) if there else ()
        return len(found) == len(ids) and all(memory.active for memory in found)


def repeat_after_compaction(session: str, space: str, home: str, now: float) -> dict[str, Any]:
    """What a session was given lately and what it has taught: its context was shortened and holds
    that no longer.
    """
    with open_existing_store(home) as there:
        if there is None:
            return {}
        return to_hook_block(render_repeated_block(*there, session, space, now)) or {}


def render_repeated_block(
    store: Store, settings: Settings, session: str, space: str, now: float
) -> Block:
    """The same as a block."""
    from reverie.context_window import render_block
    from reverie.core.model import Filter, Hit, visible_spaces
    from reverie.retrieval.rescoring import can_surface

    turns = store.events(
        session=session, space=space, verbs=("turn",), newest=True, limit=MAX_TURNS
    )
    given = list(dict.fromkeys(id for turn in turns for id in turn.payload.get("given", ())))[
        :MAX_REPEATED
    ]
    known = [memory for memory in store.get(given) if memory.active]
    taught = store.browse(Filter(spaces=visible_spaces(space), session=session, limit=MAX_REPEATED))
    hits = [
        Hit(memory, 0.0, ("said again",))
        for memory in (*known, *taught)
        if can_surface(memory, now)
    ]
    return render_block(hits, now, limit=2 * settings.limit, budget=2 * settings.budget)


def look_up_fixes(error: str, space: str, home: str, shown: Container[str] = ()) -> dict[str, Any]:
    """What once made this error go away, but for what was shown; empty where nothing is known."""
    with open_existing_store(home) as there:
        if there is None:
            return {}
        from reverie.activity.remedies import find_fix_suggestions
        from reverie.context_window import FENCE_END, HEAD, escape_line
        from reverie.core.kinds import is_mature
        from reverie.core.model import Filter, visible_spaces
        from reverie.privacy import redact

        lessons = there[0].browse(
            Filter(spaces=visible_spaces(space), kinds=("learning",), limit=MAX_LESSONS)
        )
        found = find_fix_suggestions(
            redact(error, there[1].policy.masking)[0], filter(is_mature, lessons)
        )[:MAX_FIXES]
        known = [one for one in found if one.memory.id not in shown]
        lines = [
            f"- {escape_line(one.memory.text)} ({one.why}) [{escape_line(one.memory.id)}]"
            for one in known
        ]
        return (
            {
                "text": "\n".join((HEAD, "Known fixes:", *lines, FENCE_END)),
                "ids": [one.memory.id for one in known],
            }
            if lines
            else {}
        )


@contextmanager
def open_existing_store(home: str) -> Iterator[tuple[Store, Settings] | None]:
    """The store of a home and its settings; None where there is no store yet."""
    settings = config.load_settings(Path(home))
    if not settings.store and not (Path(home) / "reverie.db").is_file():
        yield None
        return
    from reverie.storage import open_store

    store = open_store(settings.url)
    try:
        yield store, settings
    finally:
        store.close()


def to_hook_block(
    block: Block, about: Sequence[str] = (), asked: float = 0.0
) -> dict[str, Any] | None:
    """A block as it is laid ready for a hook, what it is `about` (`topic.about`), and when the
    prompt was `asked` that it was prepared for; None for an empty one.
    """
    from reverie.context_window.injection_history import FRESH_SECONDS

    if not block:
        return None
    return {
        "text": block.text,
        "ids": list(block.ids),
        "due": [memory.id for memory in block.due],
        "until": block.prepared_at + FRESH_SECONDS,
        "about": list(about),
        "asked": asked if block.prepared_at >= asked else 0.0,
    }


def reminder_holder(session: str) -> str:
    """Who claims the reminders of a session: its hooks and the desk alike."""
    return f"hook:{session}"
