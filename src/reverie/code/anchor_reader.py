"""What memories say of code is held against the code: anchors are made, and kept up to date.

A reader makes anchors of what a new memory's text names, and of its `files`, in the indexed
repositories of its space: only of what goes out of date, and only where the file has not been
altered since it was said. Of two work trees of a project the file must look the same in both.

Checking costs next to nothing for code that is what it was: the index says so. What has altered
becomes one event `anchor` a space, which can be taken back; what an anchor says of itself decides,
so a mark goes when the code comes back, and two processes at it do the same. The anchors of a work
tree that is not there any more pass on to the project.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    Change,
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
    from reverie.storage.indexed_code import Symbol

_ADDING_VERBS = "remember learn gather extract answer revise mirror import depend"
ADDING_VERBS = tuple(_ADDING_VERBS.split())
# held by who parses: the work is done once
LEASE = "code"
LEASE_SECONDS = 60.0
# meta: repositories that anchors are in
ROOTS_META = "anchored"
# meta: when they were checked last, unasked
LAST_CHECK_META = "anchors_looked"
# seconds between two such checks
CHECK_INTERVAL = 60.0
PAGE_SIZE = 500
# places that an event names
MAX_EVENT_PLACES = 20


def replace_anchors(
    memory: Memory,
    anchors: Sequence[CodeAnchor],
    now: float,
) -> list[Change]:
    """The changes that give a memory these anchors instead of those it has."""
    if details_with_anchors(memory, anchors) == memory.details:
        return []
    kept = anchors[:MAX_ANCHORS]
    details = details_with_anchors(memory, kept)
    old = about_edges(memory, anchors_of(memory))
    new = about_edges(memory, kept)
    changes: list[Change] = [
        Revise(
            memory.id,
            {"details": details, "updated_at": now},
        )
    ]
    changes += (Link(old[node]._replace(weight=0.0)) for node in old if node not in new)
    changes += (Link(new[node]) for node in new if node not in old)
    return changes


# Making


def anchor_named_code(work: WorkContext, event: Event) -> ReaderDecision:
    """The anchors of what an event's new or reworded memories name."""
    roots = work.store.code.roots()
    if not roots:
        return ReaderDecision()
    records = work.store.changes_of(event.seq)
    ids = dict.fromkeys(one.memory_id for one in records if one.op == "add" or "text" in one.after)
    memories = [memory for memory in work.store.get(list(ids)) if can_have_anchors(work, memory)]
    views: RepositoryViews = {}
    changes: list[Change] = []
    for memory in memories:
        said_at = event.at if event.verb == "revise" else memory.at
        anchors = find_text_anchors(work, memory, roots, views, said_at)
        changes += replace_anchors(memory, anchors, work.now)
    record_anchored_roots(work.store, list_revised_anchors(changes))
    return ReaderDecision(changes, memories)


def can_have_anchors(work: WorkContext, memory: Memory) -> bool:
    """True if anchors are to be looked for in what a memory says."""
    return (
        memory.active
        and can_become_outdated(memory)
        and not is_conversation_turn(memory)
        and not work.settings.is_off(memory.space)
    )


def find_text_anchors(
    work: WorkContext,
    memory: Memory,
    roots: Sequence[str],
    views: RepositoryViews,
    said_at: float,
) -> list[CodeAnchor]:
    """A memory's anchors, with what its text names now in place of what it named before.

    The text was said at `said_at`: a file that was altered since gives no anchor.
    """
    from reverie.code.code_mentions import find_code_words

    others = [anchor for anchor in anchors_of(memory) if anchor.by != NAMED]
    words = find_code_words(memory.text)
    words = words._replace(paths=tuple(dict.fromkeys((*words.paths, *memory.files))))
    if not words:
        return others
    candidates: list[list[CodeAnchor]] = []
    for root in list_space_roots(memory.space, roots):
        anchors = find_anchors_in_root(work, root, words, views, said_at)
        if anchors:
            candidates.append(anchors)
    # work trees that differ would each say something else of the memory
    looks = {tuple((one.path, one.symbol, one.shape) for one in found) for found in candidates}
    if len(looks) != 1:
        return others
    known = {anchor.location for anchor in others}
    return others + [one for one in candidates[0] if one.location not in known]


def open_view(
    work: WorkContext,
    root: str,
    views: RepositoryViews,
) -> RepositoryView:
    """The view of one repository: the same for all who share `views`."""
    from reverie.code.anchor_tracking import view_repository

    return view_repository(work.store.code, root, work.now, views, work.policy)


def list_space_roots(space: str, roots: Sequence[str]) -> list[str]:
    """The indexed repositories that a space belongs to, the project's own before work trees."""
    spaces = visible_spaces(space)
    mine = [root for root in roots if config.project_space_of(Path(root)) in spaces]
    return sorted(
        mine,
        key=lambda root: (config.find_project_root(Path(root)) != Path(root), root),
    )


def find_anchors_in_root(
    work: WorkContext,
    root: str,
    words: CodeWords,
    views: RepositoryViews,
    said_at: float,
) -> list[CodeAnchor]:
    """What words mean in one repository, in files that have not been altered since `said_at`."""
    from reverie.code.anchor_tracking import observe_anchor
    from reverie.code.code_mentions import resolve_code_words

    view = open_view(work, root, views)
    anchors: list[CodeAnchor] = []
    for place in resolve_code_words(work.store.code, root, words, view.known):
        file = view.file(place.path)
        if file and file.mtime <= said_at:
            anchor = observe_anchor(view, place.path, place.symbol, NAMED)
            if anchor:
                anchors.append(anchor)
    return anchors


def list_revised_anchors(changes: Sequence[Change]) -> Iterator[CodeAnchor]:
    """The anchors that memories have once these changes are made."""
    for change in changes:
        if isinstance(change, Revise):
            yield from anchors_in(change.fields["details"])


def record_anchored_roots(store: Store, anchors: Iterable[CodeAnchor]) -> None:
    """Keep in which repositories these anchors are."""
    known = set(load_anchored_roots(store))
    roots = known.union(anchor.root for anchor in anchors)
    if roots != known:
        store.set_meta(ROOTS_META, json.dumps(sorted(roots)))


def load_anchored_roots(store: Store) -> list[str]:
    """The repositories that anchors are in."""
    return list(json.loads(store.meta(ROOTS_META) or "[]"))


def anchor_places(work: WorkContext, places: Sequence[str]) -> list[CodeAnchor]:
    """Anchors at files and symbols as they look now.

    A place is "path" or "path:Symbol.name", from the working directory or whole. NotFound if there
    is no such file or symbol, or it is in no indexed repository; BadInput for more than
    MAX_ANCHORS.
    """
    if len(places) > MAX_ANCHORS:
        raise BadInput(
            f"A memory is about {MAX_ANCHORS} files and symbols at most, not {len(places)}"
        )
    views: RepositoryViews = {}
    anchors = [anchor_place(work, place, views) for place in places]
    record_anchored_roots(work.store, anchors)
    return anchors


def anchor_place(
    work: WorkContext,
    text: str,
    views: RepositoryViews,
) -> CodeAnchor:
    """An anchor at one file or symbol as it looks now."""
    from reverie.code.anchor_tracking import observe_anchor
    from reverie.storage.indexed_code import find_indexed_root

    path, _, symbol = text.strip().replace("::", ":").partition(":")
    place = (config.working_directory() / Path(path).expanduser()).resolve()
    root = find_indexed_root(work.store.code, place)
    inside, name = place.relative_to(root).as_posix(), symbol.strip().removesuffix("()")
    view = open_view(work, root, views)
    file = view.file(inside)
    if file is None:
        raise NotFound(
            f"{place} is not a file that memory may read. "
            "Name a file, or a symbol of it: path:Class.method"
        )
    if name:
        name = find_symbol_name(inside, file.symbols, name)
    anchor = observe_anchor(view, inside, name)
    assert anchor is not None
    return anchor


def find_symbol_name(
    path: str,
    symbols: Sequence[Symbol],
    name: str,
) -> str:
    """The qualified name of the symbol of a file that a name means; NotFound if none or several.

    A qualified name means all that bear it; another one is looked for as the end of one.
    """
    ending = f".{name}"
    names = {one.qual for one in symbols if one.name == name or f".{one.qual}".endswith(ending)}
    if name in names:
        return name
    if len(names) == 1:
        return names.pop()
    several = f"; it has {', '.join(sorted(names)[:5])}" if names else ""
    raise NotFound(
        f"{path} does not define {name}{several}. `reverie code symbol {name}` tells where it is"
    )


# Checking


def check_repository_anchors(work: WorkContext, root: str) -> None:
    """Hold every anchor of a repository against its index, which must be up to date."""
    view = open_view(work, root, {})

    def decide(memories: Sequence[Memory]) -> list[Change]:
        edges = set(work.store.edges([memory.id for memory in memories], ("about",)))
        changes: list[Change] = []
        for memory in memories:
            anchors = refresh_anchors(view, memory)
            renewed = replace_anchors(memory, anchors, work.now)
            changes += renewed
            # A memory that took in another one has its anchors, but perhaps not its edges.
            known = edges.union(change.edge for change in renewed if isinstance(change, Link))
            wanted = about_edges(memory, anchors).values()
            changes += (Link(edge) for edge in wanted if edge not in known)
        return changes

    for page in find_anchored_memories(work, root):
        for space in sorted({memory.space for memory in page}):
            ids = [memory.id for memory in page if memory.space == space]
            apply_when_unchanged(work, space, ids, decide)


def find_anchored_memories(work: WorkContext, root: str) -> Iterator[list[Memory]]:
    """Memories that count and have anchors in a repository, page by page."""
    for page in read_memory_pages(work.store, Filter(having=ANCHORS, limit=PAGE_SIZE)):
        yield [
            memory
            for memory in page
            if any(is_anchor_in(anchor, memory, root) for anchor in anchors_of(memory))
            and not work.settings.is_off(memory.space)
        ]


def is_anchor_in(
    anchor: CodeAnchor,
    memory: Memory,
    root: str,
) -> bool:
    """True if an anchor is in this repository, or in a work tree of it that is gone."""
    if anchor.root == root:
        return True
    if Path(anchor.root).is_dir():
        return False
    return config.project_space_of(Path(root)) in visible_spaces(memory.space)


def apply_when_unchanged(
    work: WorkContext,
    space: str,
    ids: Sequence[str],
    decide: Callable[[Sequence[Memory]], list[Change]],
) -> None:
    """Make the changes that are decided for some memories of a space, in one transaction.

    If the memories were altered meanwhile it is decided anew. Those that somebody alters all the
    time are left as they are: the next check will see.
    """
    for _ in range(MAX_ATTEMPTS):
        memories = work.store.get(ids)
        changes = decide(memories)
        if not changes:
            return
        with work.store.transaction():
            if work.store.get(ids) == memories:
                record_anchored_roots(work.store, list_revised_anchors(changes))
                payload = {"code": describe_anchor_changes(changes)}
                work.store.apply(
                    changes,
                    Event("anchor", space, work.now, payload=payload),
                )
                return


def refresh_anchors(view: RepositoryView, memory: Memory) -> list[CodeAnchor]:
    """A memory's anchors as they are to be kept now."""
    from reverie.code.anchor_tracking import track_anchor

    return [
        track_anchor(view, anchor._replace(root=view.root))
        if is_anchor_in(anchor, memory, view.root)
        else anchor
        for anchor in anchors_of(memory)
    ]


def describe_anchor_changes(changes: Sequence[Change]) -> list[str]:
    """What happened to the code, in words, as an event keeps it."""
    anchors = list_revised_anchors(changes)
    lines = dict.fromkeys(f"{one.location} {one.state or 'holds'}" for one in anchors)
    return list(lines)[:MAX_EVENT_PLACES]


def anchor_existing_memories(work: WorkContext, root: str) -> None:
    """Give memories that name code of a repository their anchors, once it is first indexed."""
    home = config.project_space_of(Path(root))
    views: RepositoryViews = {}

    def decide(memories: Sequence[Memory]) -> list[Change]:
        changes: list[Change] = []
        for memory in memories:
            if can_have_anchors(work, memory) and not anchors_of(memory):
                anchors = find_text_anchors(work, memory, [root], views, memory.at)
                changes += replace_anchors(memory, anchors, work.now)
        return changes

    spaces = sorted(one for one in work.store.stats().spaces if home in visible_spaces(one))
    for space in spaces:
        for page in read_memory_pages(
            work.store,
            Filter(spaces=(space,), limit=PAGE_SIZE),
        ):
            apply_when_unchanged(work, space, [memory.id for memory in page], decide)


def confirm_anchors(
    work: WorkContext,
    anchors: Sequence[CodeAnchor],
) -> list[CodeAnchor]:
    """Anchors at what the code is now, for a memory found to be so; none at what is gone."""
    from reverie.code.anchor_tracking import observe_anchor

    views: RepositoryViews = {}
    confirmed: list[CodeAnchor] = []
    for one in anchors:
        view = open_view(work, one.root, views)
        anchor = observe_anchor(view, one.path, one.symbol, one.by)
        if anchor is not None:
            confirmed.append(anchor)
    return confirmed


def renew_code_index(
    work: WorkContext,
    root: str,
    holder: str,
    check_going: Callable[[], object],
) -> bool:
    """Renew the index of a repository; False if it is not there, or somebody else is at it.

    `check_going` is called again and again meanwhile.
    """
    from reverie.code.code_indexing import update_code_index

    store = work.store

    def acquire_lease() -> bool:
        return store.acquire(LEASE, holder, LEASE_SECONDS, clock.now())

    def report_progress(
        _stage: str,
        _done: int,
        _total: int | None,
    ) -> None:
        acquire_lease()
        check_going()

    if not Path(root).is_dir() or not acquire_lease():
        return False
    try:
        update_code_index(store.code, root, clock.now, report_progress, work.policy)
    finally:
        store.release(LEASE, holder)
    return True


def check_anchors_if_due(
    work: WorkContext,
    holder: str,
    check_going: Callable[[], object],
) -> None:
    """Check the anchors of all repositories, unless that was done within the last minute."""
    roots = load_anchored_roots(work.store)
    if not roots or work.now - float(work.store.meta(LAST_CHECK_META) or 0.0) < CHECK_INTERVAL:
        return
    work.store.set_meta(LAST_CHECK_META, repr(work.now))
    for root in roots:
        try:
            if renew_code_index(work, root, holder, check_going):
                check_repository_anchors(work, root)
        except (ReverieError, OSError) as err:
            # the grammars are gone, or the folder cannot be read
            error = f"{type(err).__name__}: {err}"[:500]
            payload = {"reader": READER.name, "error": error}
            work.store.append([Event("failed", config.ME, work.now, payload=payload)])


READER = EventReader(
    name="anchors",
    verbs=ADDING_VERBS,
    verb="anchor",
    decide=anchor_named_code,
)
