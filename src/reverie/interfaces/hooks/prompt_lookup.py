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
from reverie.interfaces.hooks.hook_event import Happening

if TYPE_CHECKING:
    from reverie.context_window import Block
    from reverie.core.config import Settings
    from reverie.core.model import Hit
    from reverie.storage import Store

ASKED = 1_200  # characters of a prompt that are searched for, as in `settle.preparing`
NOTHING: Mapping[str, Any] = {}
AGAIN = 20  # memories that a session was given lately, or has taught, that are said again
TURNS = 100  # its newest turns that are looked at for those
FIXES = 2  # remedies that are named
MOST_LEARNED = 2_000  # newest lessons among which a remedy is looked for


def begun(happening: Happening, home: str) -> dict[str, Any]:
    """What holds for a session from its beginning: its space and folder, whether memory is off
    there.
    """
    settings = config.load(Path(home))
    folder = Path(happening.cwd) if happening.cwd else config.here()
    policy = settings.policy
    space = config.space_of(folder)
    return {
        "space": space,
        "root": str(config.work_tree(folder)),
        "off": settings.is_off(space, happening.session),
        "idle": settings.idle,
        "personal": policy.personal,
        "contact": policy.contact,
        "sensitive": list(policy.sensitive),
    }


def by_words(
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
    with opened(home) as there:
        if there is None:
            return {}
        from reverie.context_window.injection_history import Attention, resume
        from reverie.injection.first_turn import opening

        store, settings = there
        attention = Attention(session, (space,))
        resume(store, attention, space, now)
        for id, at in given.items():
            attention.given((id,), at)
        blocked, waited = attention.blocked(now), ready.get("due", ())
        due = [
            *(due_for(store, settings, session, space, now) if begins else ()),
            *still(store, waited),
        ]
        besides = still(
            store, [id for id in ready.get("ids", ()) if id not in blocked and id not in waited]
        )
        return (
            laid(opening(store, settings, attention, space, text[:ASKED], text, now, due, besides))
            or {}
        )


def still(store: Store, ids: Sequence[str]) -> list[Hit]:
    """What lay ready, as far as it still counts."""
    from reverie.core.model import Hit

    return (
        [Hit(memory, 0.0, ("prepared",)) for memory in store.get(ids) if memory.active]
        if ids
        else []
    )


def due_for(
    store: Store, settings: Settings, session: str, space: str, now: float
) -> Sequence[Hit]:
    """Reminders that are due, claimed for this session."""
    from reverie.core.kinds import INTENTION
    from reverie.core.model import Filter, lineage

    if not store.browse(Filter(spaces=lineage(space), kinds=(INTENTION,), limit=1)):
        return ()
    from reverie.injection.due_reminders import at_start

    return at_start(store, settings, space, holder_of(session), now)


def all_count(ids: Sequence[str], home: str) -> bool:
    """Whether all these memories are there and count."""
    with opened(home) as there:
        found = there[0].get(ids) if there else ()
        return len(found) == len(ids) and all(memory.active for memory in found)


def again(session: str, space: str, home: str, now: float) -> dict[str, Any]:
    """What a session was given lately and what it has taught: its context was shortened and holds
    that no longer.
    """
    with opened(home) as there:
        if there is None:
            return {}
        return laid(said_again(*there, session, space, now)) or {}


def said_again(store: Store, settings: Settings, session: str, space: str, now: float) -> Block:
    """The same as a block."""
    from reverie.context_window import render
    from reverie.core.model import Filter, Hit, lineage
    from reverie.retrieval.rescoring import surfaces

    turns = store.events(session=session, space=space, verbs=("turn",), newest=True, limit=TURNS)
    given = list(dict.fromkeys(id for turn in turns for id in turn.payload.get("given", ())))[
        :AGAIN
    ]
    known = [memory for memory in store.get(given) if memory.active]
    taught = store.browse(Filter(spaces=lineage(space), session=session, limit=AGAIN))
    hits = [
        Hit(memory, 0.0, ("said again",)) for memory in (*known, *taught) if surfaces(memory, now)
    ]
    return render(hits, now, limit=2 * settings.limit, budget=2 * settings.budget)


def fixes(error: str, space: str, home: str, shown: Container[str] = ()) -> dict[str, Any]:
    """What once made this error go away, but for what was shown; empty where nothing is known."""
    with opened(home) as there:
        if there is None:
            return {}
        from reverie.activity.remedies import suggestions
        from reverie.context_window import FOOT, HEAD, escaped
        from reverie.core.kinds import is_ripe
        from reverie.core.model import Filter, lineage
        from reverie.privacy import redact

        lessons = there[0].browse(
            Filter(spaces=lineage(space), kinds=("learning",), limit=MOST_LEARNED)
        )
        found = suggestions(redact(error, there[1].policy.masking)[0], filter(is_ripe, lessons))[
            :FIXES
        ]
        known = [one for one in found if one.memory.id not in shown]
        lines = [
            f"- {escaped(one.memory.text)} ({one.why}) [{escaped(one.memory.id)}]" for one in known
        ]
        return (
            {
                "text": "\n".join((HEAD, "Known fixes:", *lines, FOOT)),
                "ids": [one.memory.id for one in known],
            }
            if lines
            else {}
        )


@contextmanager
def opened(home: str) -> Iterator[tuple[Store, Settings] | None]:
    """The store of a home and its settings; None where there is no store yet."""
    settings = config.load(Path(home))
    if not settings.store and not (Path(home) / "reverie.db").is_file():
        yield None
        return
    from reverie.storage import open_store

    store = open_store(settings.url)
    try:
        yield store, settings
    finally:
        store.close()


def laid(block: Block, about: Sequence[str] = (), asked: float = 0.0) -> dict[str, Any] | None:
    """A block as it is laid ready for a hook, what it is `about` (`topic.about`), and when the
    prompt was `asked` that it was prepared for; None for an empty one.
    """
    from reverie.context_window.injection_history import FRESH_FOR

    if not block:
        return None
    return {
        "text": block.text,
        "ids": list(block.ids),
        "due": [memory.id for memory in block.due],
        "until": block.prepared_at + FRESH_FOR,
        "about": list(about),
        "asked": asked if block.prepared_at >= asked else 0.0,
    }


def holder_of(session: str) -> str:
    """Who claims the reminders of a session: its hooks and the desk alike."""
    return f"hook:{session}"
