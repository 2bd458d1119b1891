"""What memories say of code is held against the code: anchors are made, and looked after whenever
an index is renewed.

A reader makes anchors of what a new memory's text names, and of its `files`, in the indexed
repositories of its space: only of what goes out of date, and only where the file has not been
altered since it was said. Of two work trees of a project the file must look the same in both.

Looking after costs next to nothing for code that is what it was: the index says so. What has
altered becomes one event `anchor` a space, which can be taken back; what an anchor says of itself
decides, so a mark goes when the code comes back, and two processes at it do the same. The anchors
of a work tree that is not there any more pass on to the project.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core import clock, config
from reverie.core.code_anchors import (
    ANCHORS,
    MAX_ANCHORS,
    NAMED,
    CodeAnchor,
    about_edges,
    anchors_in,
    anchors_of,
    can_become_outdated,
    details_with_anchors,
)
from reverie.core.errors import BadInput, NotFound, ReverieError
from reverie.core.kinds import is_conversation_turn
from reverie.core.model import (
    EMPTY_MAPPING,
    Change,
    Edge,
    Event,
    Filter,
    Link,
    Memory,
    Revise,
    visible_spaces,
)
from reverie.pipeline.event_reader import MAX_ATTEMPTS, EventReader, ReaderDecision, WorkContext
from reverie.storage.paging import read_memory_pages

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import RepositoryView, RepositoryViews
    from reverie.code.code_mentions import CodeWords
    from reverie.storage import Store

ADDING_VERBS = ("remember", "learn", "gather", "extract", "answer", "revise", "mirror", "import")
LEASE = "code"  # of who parses: the work is done once
LEASE_SECONDS = 60.0
ROOTS_META = "anchored"  # meta: repositories that anchors are in
LAST_CHECK_META = "anchors_looked"  # meta: when they were looked at last, unasked
CHECK_INTERVAL = 60.0  # seconds between two such looks
PAGE_SIZE = 500
MAX_EVENT_PLACES = 20  # places that an event names


def replace_anchors(memory: Memory, anchors: Sequence[CodeAnchor], now: float) -> list[Change]:
    """What gives a memory these anchors instead of those it has."""
    details, kept = details_with_anchors(memory, anchors), anchors[:MAX_ANCHORS]
    if details == memory.details:
        return []
    old, new = about_edges(memory, anchors_of(memory)), about_edges(memory, kept)
    return [
        Revise(memory.id, {"details": details_with_anchors(memory, kept), "updated_at": now}),
        *(Link(edge._replace(weight=0.0)) for node, edge in old.items() if node not in new),
        *(Link(edge) for node, edge in new.items() if node not in old),
    ]


# Making


def anchor_named_code(work: WorkContext, event: Event) -> ReaderDecision:
    """The anchors of what an event's memories name."""
    roots = work.store.code.roots()
    if not roots:
        return ReaderDecision()
    records = work.store.changes_of(event.seq)
    ids = dict.fromkeys(one.memory_id for one in records if one.op == "add" or "text" in one.after)
    memories = [memory for memory in work.store.get(list(ids)) if can_have_anchors(work, memory)]
    eyes: RepositoryViews = {}
    changes = [
        change
        for memory in memories
        for change in replace_anchors(
            memory,
            find_text_anchors(
                work, memory, roots, eyes, event.at if event.verb == "revise" else memory.at
            ),
            work.now,
        )
    ]
    record_change_roots(work.store, changes)
    return ReaderDecision(changes, memories)


def can_have_anchors(work: WorkContext, memory: Memory) -> bool:
    """Whether anchors are to be looked for in what a memory says."""
    return (
        memory.active
        and can_become_outdated(memory)
        and not is_conversation_turn(memory)
        and not work.settings.is_off(memory.space)
    )


def find_text_anchors(
    work: WorkContext, memory: Memory, roots: Sequence[str], eyes: RepositoryViews, said: float
) -> list[CodeAnchor]:
    """A memory's anchors, with what its text, `said` at that moment, names in place of what it
    named before.
    """
    from reverie.code.code_mentions import find_code_words

    given = [anchor for anchor in anchors_of(memory) if anchor.by != NAMED]
    words = find_code_words(memory.text)
    words = words._replace(paths=tuple(dict.fromkeys((*words.paths, *memory.files))))
    if not words:
        return given
    found = [
        some
        for root in list_space_roots(memory.space, roots)
        if (some := find_anchors_in_root(work, root, words, eyes, said))
    ]
    agree = all(
        [(one.path, one.symbol, one.shape) for one in some]
        == [(one.path, one.symbol, one.shape) for one in found[0]]
        for some in found
    )
    there = {anchor.location for anchor in given}
    return given + [
        one for one in (found[0] if found and agree else ()) if one.location not in there
    ]


def list_space_roots(space: str, roots: Sequence[str]) -> list[str]:
    """The indexed repositories that a space belongs to, the project's own folder before its work
    trees.
    """
    mine = [root for root in roots if config.project_space_of(Path(root)) in visible_spaces(space)]
    return sorted(mine, key=lambda root: (config.find_project_root(Path(root)) != Path(root), root))


def find_anchors_in_root(
    work: WorkContext, root: str, words: CodeWords, eyes: RepositoryViews, said: float
) -> list[CodeAnchor]:
    """What words mean in one repository, as far as it looks as it did when they were said."""
    from reverie.code.anchor_tracking import observe_anchor, view_repository
    from reverie.code.code_mentions import resolve_code_words

    sights = view_repository(work.store.code, root, work.now, eyes, work.policy)
    found = resolve_code_words(work.store.code, root, words, sights.known)
    as_then = [one for one in found if (sight := sights.file(one.path)) and sight.mtime <= said]
    return [
        anchor for one in as_then if (anchor := observe_anchor(sights, one.path, one.symbol, NAMED))
    ]


def record_change_roots(store: Store, changes: Sequence[Change]) -> None:
    """Keep in which repositories there are anchors, now that these changes are made."""
    record_anchored_roots(
        store,
        {
            anchor.root
            for change in changes
            if isinstance(change, Revise)
            for anchor in anchors_in(change.fields.get("details", EMPTY_MAPPING))
        },
    )


def record_anchored_roots(store: Store, roots: set[str]) -> None:
    """Keep that there are anchors in these repositories."""
    if not roots <= (there := set(load_anchored_roots(store))):
        store.set_meta(ROOTS_META, json.dumps(sorted(there | roots)))


def load_anchored_roots(store: Store) -> list[str]:
    """The repositories that anchors are in."""
    return list(json.loads(store.meta(ROOTS_META) or "[]"))


def anchor_places(work: WorkContext, places: Sequence[str]) -> list[CodeAnchor]:
    """How these files and symbols look now: "path", "path:Symbol.name", from the working directory
    or whole.

    NotFound where there is no such file or symbol, or it is in no indexed repository; BadInput for
    more than MOST.
    """
    if len(places) > MAX_ANCHORS:
        raise BadInput(
            f"A memory is about {MAX_ANCHORS} files and symbols at most, not {len(places)}"
        )
    eyes: RepositoryViews = {}
    found = [anchor_place(work, place, eyes) for place in places]
    record_anchored_roots(work.store, {anchor.root for anchor in found})
    return found


def anchor_place(work: WorkContext, text: str, eyes: RepositoryViews) -> CodeAnchor:
    """How one file or symbol looks now."""
    from reverie.code.anchor_tracking import observe_anchor, view_repository
    from reverie.storage.code_index_port import find_indexed_root

    path, _, symbol = text.strip().replace("::", ":").partition(":")
    place = (config.working_directory() / Path(path).expanduser()).resolve()
    root = find_indexed_root(work.store.code, place)
    inside, name = place.relative_to(root).as_posix(), symbol.strip().removesuffix("()")
    sights = view_repository(work.store.code, root, work.now, eyes, work.policy)
    sight = sights.file(inside)
    if sight is None:
        raise NotFound(
            f"{place} is no file that memory may read. Name a file, or a symbol of it: path:Class.method"
        )
    names = sorted(
        {
            one.qual
            for one in sight.symbols
            if name in (one.qual, one.name) or one.qual.endswith(f".{name}")
        }
    )
    if name and name not in names and len(names) != 1:
        several = f"; it has {', '.join(names[:5])}" if names else ""
        raise NotFound(
            f"{inside} does not define {name}{several}. `reverie symbol {name}` tells where it is"
        )
    anchor = observe_anchor(sights, inside, name if not name or name in names else names[0])
    assert anchor is not None
    return anchor


# Looking after


def check_repository_anchors(work: WorkContext, root: str) -> None:
    """Hold every anchor of a repository against its index, which is up to date."""
    from reverie.code.anchor_tracking import RepositoryView

    sights = RepositoryView(work.store.code, root, work.now, work.policy)

    def decide(memories: Sequence[Memory]) -> list[Change]:
        tied = set(work.store.edges([memory.id for memory in memories], ("about",)))
        return [
            change
            for memory in memories
            for change in check_memory_anchors(sights, memory, tied, work.now)
        ]

    for page in find_anchored_memories(work, root):
        for space in sorted({memory.space for memory in page}):
            apply_when_unchanged(
                work, space, [memory.id for memory in page if memory.space == space], decide
            )


def find_anchored_memories(work: WorkContext, root: str) -> Iterator[list[Memory]]:
    """Memories that count and have anchors in a repository, page by page."""
    for page in read_memory_pages(work.store, Filter(having=ANCHORS, limit=PAGE_SIZE)):
        yield [
            memory
            for memory in page
            if any(is_anchor_in_root(anchor, memory, root) for anchor in anchors_of(memory))
            and not work.settings.is_off(memory.space)
        ]


def is_anchor_in_root(anchor: CodeAnchor, memory: Memory, root: str) -> bool:
    """Whether an anchor is one of this repository, or of a work tree of it that is not there any
    more.
    """
    return anchor.root == root or (
        not Path(anchor.root).is_dir()
        and config.project_space_of(Path(root)) in visible_spaces(memory.space)
    )


def apply_when_unchanged(
    work: WorkContext,
    space: str,
    ids: Sequence[str],
    decide: Callable[[Sequence[Memory]], list[Change]],
) -> None:
    """Make so what is decided of some memories of a space, in one transaction; anew where they were
    altered meanwhile.

    Those that somebody alters all the time are left as they are: the next look will see.
    """
    for _ in range(MAX_ATTEMPTS):
        memories = work.store.get(ids)
        changes = decide(memories)
        if not changes:
            return
        with work.store.transaction():
            if work.store.get(ids) == memories:
                record_change_roots(work.store, changes)
                work.store.apply(
                    changes,
                    Event(
                        "anchor",
                        space,
                        work.now,
                        payload={"code": describe_anchor_changes(changes)},
                    ),
                )
                return


def check_memory_anchors(
    sights: RepositoryView, memory: Memory, tied: set[Edge], now: float
) -> list[Change]:
    """What becomes of a memory whose code may have changed; `tied` are the `about` edges that there
    are.

    A memory that took in another one has its anchors, but perhaps not its edges.
    """
    anchors = refresh_anchors(sights, memory)
    changes = replace_anchors(memory, anchors, now)
    made = {change.edge for change in changes if isinstance(change, Link)}
    return changes + [
        Link(edge) for edge in about_edges(memory, anchors).values() if edge not in tied | made
    ]


def refresh_anchors(sights: RepositoryView, memory: Memory) -> list[CodeAnchor]:
    """A memory's anchors as they are to be kept now."""
    from reverie.code.anchor_tracking import track_anchor as after

    return [
        after(sights, anchor._replace(root=sights.root))
        if is_anchor_in_root(anchor, memory, sights.root)
        else anchor
        for anchor in anchors_of(memory)
    ]


def describe_anchor_changes(changes: Sequence[Change]) -> list[str]:
    """What happened to the code, in words, as an event keeps it."""
    found = [
        anchor
        for change in changes
        if isinstance(change, Revise)
        for anchor in anchors_in(change.fields["details"])
    ]
    return list(dict.fromkeys(f"{anchor.location} {anchor.state or 'holds'}" for anchor in found))[
        :MAX_EVENT_PLACES
    ]


def anchor_existing_memories(work: WorkContext, root: str) -> None:
    """A repository was indexed for the first time: memories of its space that name code of it get
    their anchors.
    """
    home = config.project_space_of(Path(root))
    eyes: RepositoryViews = {}

    def decide(memories: Sequence[Memory]) -> list[Change]:
        return [
            change
            for memory in memories
            if can_have_anchors(work, memory) and not anchors_of(memory)
            for change in replace_anchors(
                memory, find_text_anchors(work, memory, [root], eyes, memory.at), work.now
            )
        ]

    for space in sorted(one for one in work.store.stats().spaces if home in visible_spaces(one)):
        for page in read_memory_pages(work.store, Filter(spaces=(space,), limit=PAGE_SIZE)):
            apply_when_unchanged(work, space, [memory.id for memory in page], decide)


def confirm_anchors(work: WorkContext, anchors: Sequence[CodeAnchor]) -> list[CodeAnchor]:
    """Anchors at what the code is now: what they speak of was found to be so. What is gone is let
    go of.
    """
    from reverie.code.anchor_tracking import observe_anchor, view_repository

    eyes: RepositoryViews = {}
    found = [
        observe_anchor(
            view_repository(work.store.code, one.root, work.now, eyes, work.policy),
            one.path,
            one.symbol,
            one.by,
        )
        for one in anchors
    ]
    return [now for now in found if now is not None]


def renew_code_index(
    work: WorkContext, root: str, holder: str, going: Callable[[], object]
) -> bool:
    """Renew the index of a repository; False where it is not there, or somebody else is at it.

    `going` is called again and again meanwhile.
    """
    from reverie.code.code_indexing import update_code_index

    store = work.store

    def working(_stage: str, _done: int, _total: int | None) -> None:
        store.acquire(LEASE, holder, LEASE_SECONDS, clock.now())
        going()

    if not Path(root).is_dir() or not store.acquire(LEASE, holder, LEASE_SECONDS, clock.now()):
        return False
    try:
        update_code_index(store.code, root, clock.now, working, work.policy)
    finally:
        store.release(LEASE, holder)
    return True


def check_anchors_if_due(work: WorkContext, holder: str, going: Callable[[], object]) -> None:
    """Look after all anchors, if that was not done within the last minute."""
    roots = load_anchored_roots(work.store)
    if not roots or work.now - float(work.store.meta(LAST_CHECK_META) or 0.0) < CHECK_INTERVAL:
        return
    work.store.set_meta(LAST_CHECK_META, repr(work.now))
    for root in roots:
        try:
            if renew_code_index(work, root, holder, going):
                check_repository_anchors(work, root)
        except (
            ReverieError,
            OSError,
        ) as err:  # the grammars are gone, or the folder cannot be read
            work.store.append(
                [
                    Event(
                        "failed",
                        config.ME,
                        work.now,
                        payload={
                            "reader": READER.name,
                            "error": f"{type(err).__name__}: {err}"[:500],
                        },
                    )
                ]
            )


READER = EventReader(name="anchors", verbs=ADDING_VERBS, verb="anchor", decide=anchor_named_code)
