"""What a hook looks for itself, because nothing that was prepared can know it: it opens the store
at a prompt that says something of its own, when a known error may have come again, after a
compaction, and before a tool where the worker has prepared nothing yet.

Only words and triggers are asked, and that search is stopped after `settings.deadline`. Imports are
the lightest that can answer; reminders bring heavy ones and are looked for only where there are
any.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import config
from reverie.interfaces.hooks.hook_event import (
    NO_BLOCK,
    HookBlock,
    HookEvent,
    SessionNote,
    WarningTable,
)

if TYPE_CHECKING:
    from reverie.context_window import Block
    from reverie.core.config import Settings
    from reverie.core.model import Hit
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.storage import Store

# Characters of a prompt that are searched for, as many as the background embeds.
MAX_QUERY_CHARS = 1_200
# Memories that a session was given lately, or has taught, that are said again after a compaction.
MAX_REPEATED = 20
# Newest turns of a session that are looked at for those.
MAX_TURNS = 100
# Remedies that are named: more would be a list of guesses.
MAX_FIXES = 2
# Reminders that are read at once.
PAGE_SIZE = 1_000
# Newest lessons among which a remedy is looked for.
MAX_LESSONS = 2_000


class PromptLookup(NamedTuple):
    """What is looked for with a prompt."""

    session: str
    space: str
    text: str
    now: float
    is_first: bool = True  # prompt of its session
    ready: HookBlock = NO_BLOCK  # what was prepared for it
    given: Mapping[str, float] = {}  # what went with earlier prompts, and when


def make_session_note(event: HookEvent, home: str) -> SessionNote:
    """What holds for a session from its beginning: its space and folder, whether memory is off
    there.
    """
    settings = config.load_settings(Path(home))
    folder = Path(event.cwd) if event.cwd else config.working_directory()
    space = config.project_space_of(folder)
    policy = settings.policy.within(space)
    return SessionNote(
        space=space,
        root=str(config.find_work_tree(folder)),
        off=settings.is_off(space, event.session),
        held_out=settings.is_held_out(event.session),
        idle=settings.idle,
        notices=settings.notices,
        personal=policy.personal,
        contact=policy.contact,
        intimate=policy.intimate,
        sensitive=list(policy.sensitive),
    )


def look_up_prompt(asked: PromptLookup, home: str) -> HookBlock:
    """The block for a prompt: what words find, and what was prepared and still counts; with the
    first prompt also what is due.

    Nothing is said again that was given lately, though the worker may not have written that down
    yet.
    """
    with open_existing_store(home) as there:
        if there is None:
            return NO_BLOCK
        from reverie.context_window.injection_history import InjectionHistory, resume_history
        from reverie.injection.first_turn import InjectionTurn, prepare_by_words

        store, settings = there
        history = InjectionHistory(asked.session, (asked.space,))
        resume_history(store, history, asked.space, asked.now)
        # The log does not have these yet.
        for id, at in asked.given.items():
            history.mark_injected((id,), at)
        due = load_active_hits(store, asked.ready, asked.ready.due)
        if asked.is_first:
            due = [*claim_session_reminders(store, settings, asked), *due]
        left_out = history.list_blocked_ids(asked.now) | set(asked.ready.due)
        others = [id for id in asked.ready.ids if id not in left_out]
        besides = load_active_hits(store, asked.ready, others)
        if asked.is_first:
            besides = [*find_last_session(store, settings, asked), *besides]
        turn = InjectionTurn(history, asked.space, asked.now, due)
        query = asked.text[:MAX_QUERY_CHARS]
        block = prepare_by_words(store, settings, turn, query, asked.text, besides)
        return to_hook_block(block)._replace(withheld=block.withheld)


def prepare_warnings(space: str, files: HookFiles, now: float) -> WarningTable | None:
    """What to say and to stop before a tool, where the worker has not written that down yet; it is
    there for the next hooks then. None where there is no store.
    """
    with open_existing_store(files.home) as there:
        if there is None:
            return None
        from reverie.interfaces.hooks.warning_table import refresh_warning_tables

        store, settings = there
        refresh_warning_tables(store, settings, space, now)
    return files.read_warnings(space)


def load_active_hits(
    store: Store,
    ready: HookBlock,
    ids: Sequence[str],
) -> list[Hit]:
    """Those of a prepared block's memories that still count, with the reasons they came up for."""
    from reverie.core.model import Hit
    from reverie.transcripts.passage_hits import find_memories_or_passages

    if not ids:
        return []
    why = dict(zip(ready.ids, ready.why, strict=False))
    return [
        Hit(
            memory,
            0.0,
            tuple(why.get(memory.id) or ("prepared",)),
        )
        for memory in find_memories_or_passages(store, ids)
        if memory.active
    ]


def find_last_session(
    store: Store,
    settings: Settings,
    asked: PromptLookup,
) -> Sequence[Hit]:
    """The last session's summary, if the first prompt asks where they were."""
    from reverie.text.prompt_phrases import WHERE_WERE_WE, has_trait

    # Looked at first: what answers it takes longer to import than most hooks to answer.
    if not has_trait(asked.text, WHERE_WERE_WE):
        return ()
    from reverie.extraction.session_episodes import find_where_we_were

    return find_where_we_were(
        store, asked.text, asked.space, asked.session, asked.now, settings.policy
    )


def claim_session_reminders(
    store: Store,
    settings: Settings,
    asked: PromptLookup,
) -> Sequence[Hit]:
    """Reminders that are due, claimed for this session."""
    from reverie.core.kinds import INTENTION
    from reverie.core.model import Filter, visible_spaces
    from reverie.storage.paging import read_memory_pages

    where = Filter(
        spaces=visible_spaces(asked.space),
        kinds=(INTENTION,),
        limit=PAGE_SIZE,
    )
    whens = (
        memory.details.get("when") for page in read_memory_pages(store, where) for memory in page
    )
    # Without this look, every first prompt would pay for the imports below as long as a reminder
    # waits. What is not due by its time is not given before something was said.
    if not any(isinstance(when, (int, float)) and when <= asked.now for when in whens):
        return ()
    from reverie.injection.due_reminders import claim_at_start

    holder = reminder_holder(asked.session)
    return claim_at_start(store, settings, asked.space, holder, asked.now)


def are_all_active(ids: Sequence[str], home: str) -> bool:
    """True if all these memories are there and count."""
    from reverie.transcripts.passage_hits import find_memories_or_passages

    with open_existing_store(home) as there:
        found = find_memories_or_passages(there[0], ids) if there else ()
        return len(found) == len(ids) and all(memory.active for memory in found)


def repeat_after_compaction(
    session: str,
    space: str,
    home: str,
    now: float,
) -> HookBlock:
    """What a session was given lately and what it has taught: its context was shortened and holds
    that no longer.
    """
    with open_existing_store(home) as there:
        if there is None:
            return NO_BLOCK
        return to_hook_block(render_repeated_block(*there, session, space, now))


def render_repeated_block(
    store: Store,
    settings: Settings,
    session: str,
    space: str,
    now: float,
) -> Block:
    """The same as an injection block, twice as long as that of a turn may be."""
    from reverie.context_window import render_block
    from reverie.core.model import Filter, Hit, visible_spaces
    from reverie.retrieval.rescoring import can_surface
    from reverie.transcripts.passage_hits import find_memories_or_passages

    turns = store.events(
        session=session,
        space=space,
        verbs=("turn",),
        newest=True,
        limit=MAX_TURNS,
    )
    given: dict[str, None] = {}
    for turn in turns:
        given.update(dict.fromkeys(turn.payload.get("given", ())))
    there = find_memories_or_passages(store, list(given)[:MAX_REPEATED])
    known = [memory for memory in there if memory.active]
    taught = store.browse(
        Filter(
            spaces=visible_spaces(space),
            session=session,
            limit=MAX_REPEATED,
        )
    )
    hits = [
        Hit(memory, 0.0, ("said again",))
        for memory in (*known, *taught)
        if can_surface(memory, now)
    ]
    return render_block(
        hits,
        now,
        limit=2 * settings.limit,
        budget=2 * settings.budget,
    )


def look_up_fixes(
    error: str,
    space: str,
    home: str,
    shown: Container[str] = (),
) -> HookBlock:
    """What once made this error go away, but for what was shown; empty where nothing is known."""
    with open_existing_store(home) as there:
        if there is None:
            return NO_BLOCK
        from reverie.activity.remedies import find_fix_suggestions
        from reverie.context_window import HEAD
        from reverie.core.kinds import LEARNING, is_mature
        from reverie.core.model import Filter, visible_spaces
        from reverie.privacy import redact
        from reverie.text.escaping import escape_line
        from reverie.text.injection_fence import FENCE_END

        store, settings = there
        lessons = store.browse(
            Filter(
                spaces=visible_spaces(space),
                kinds=(LEARNING,),
                limit=MAX_LESSONS,
            )
        )
        # Lessons hold no secrets, so an error that quotes one must lose it to be alike.
        safe_error = redact(error, settings.policy.masking)[0]
        found = find_fix_suggestions(safe_error, filter(is_mature, lessons))[:MAX_FIXES]
        unsaid = [fix for fix in found if fix.memory.id not in shown]
        if not unsaid:
            return NO_BLOCK
        lines = [
            f"- {escape_line(fix.memory.text)} ({fix.why}) [{escape_line(fix.memory.id)}]"
            for fix in unsaid
        ]
        text = "\n".join((HEAD, "Known fixes:", *lines, FENCE_END))
        why = [(f"known fix: {fix.why}",) for fix in unsaid]
        return HookBlock(text, [fix.memory.id for fix in unsaid], why=why)


@contextmanager
def open_existing_store(home: str) -> Iterator[tuple[Store, Settings] | None]:
    """The store of a home and its settings; None where there is no store yet."""
    settings = config.load_settings(Path(home))
    # Opening would create it, and a hook that only looks must leave no trace.
    if not settings.store and not (Path(home) / "reverie.db").is_file():
        yield None
        return
    from reverie.storage import open_store

    store = open_store(settings.store or settings.url)
    try:
        yield store, settings
    finally:
        store.close()


def to_hook_block(
    block: Block,
    about: Sequence[str] = (),
    asked: float = 0.0,
) -> HookBlock:
    """A block as a hook takes it; NO_BLOCK for an empty one.

    `about` are its topic words (`prompt_topic`), `asked` is when the newest prompt came.
    """
    from reverie.context_window.injection_history import FRESH_SECONDS

    if not block:
        return NO_BLOCK
    return HookBlock(
        text=block.text,
        ids=list(block.ids),
        due=[memory.id for memory in block.due],
        until=block.prepared_at + FRESH_SECONDS,
        about=list(about),
        asked=asked if block.prepared_at >= asked else 0.0,
        why=block.why,
    )


def reminder_holder(session: str) -> str:
    """Who claims the reminders of a session: its hooks and the worker alike."""
    return f"hook:{session}"
