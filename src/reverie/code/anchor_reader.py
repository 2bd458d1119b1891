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
    MOST,
    NAMED,
    Anchor,
    anchors_in,
    anchors_of,
    goes_out_of_date,
    ties,
    with_anchors,
)
from reverie.core.errors import BadInput, NotFound, ReverieError
from reverie.core.kinds import is_talk
from reverie.core.model import NOTHING, Change, Edge, Event, Filter, Link, Memory, Revise, lineage
from reverie.pipeline.event_reader import ANEW, Decision, Reader, Work
from reverie.storage.paging import pages

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import Eyes, Sights
    from reverie.code.code_mentions import Words
    from reverie.storage import Store

ADDING = ("remember", "learn", "gather", "extract", "answer", "revise", "mirror", "import")
LEASE = "code"  # of who parses: the work is done once
LEASE_SECONDS = 60.0
ROOTS = "anchored"  # meta: repositories that anchors are in
LOOKED = "anchors_looked"  # meta: when they were looked at last, unasked
EVERY = 60.0  # seconds between two such looks
PAGE = 500
MOST_TOLD = 20  # places that an event names


def anchored(memory: Memory, anchors: Sequence[Anchor], now: float) -> list[Change]:
    """What gives a memory these anchors instead of those it has."""
    details, kept = with_anchors(memory, anchors), anchors[:MOST]
    if details == memory.details:
        return []
    old, new = ties(memory, anchors_of(memory)), ties(memory, kept)
    return [
        Revise(memory.id, {"details": with_anchors(memory, kept), "updated_at": now}),
        *(Link(edge._replace(weight=0.0)) for node, edge in old.items() if node not in new),
        *(Link(edge) for node, edge in new.items() if node not in old),
    ]


# Making


def named(work: Work, event: Event) -> Decision:
    """The anchors of what an event's memories name."""
    roots = work.store.code.roots()
    if not roots:
        return Decision()
    records = work.store.changes_of(event.seq)
    ids = dict.fromkeys(one.memory_id for one in records if one.op == "add" or "text" in one.after)
    memories = [memory for memory in work.store.get(list(ids)) if speaks_of_code(work, memory)]
    eyes: Eyes = {}
    changes = [
        change
        for memory in memories
        for change in anchored(
            memory,
            by_its_words(
                work, memory, roots, eyes, event.at if event.verb == "revise" else memory.at
            ),
            work.now,
        )
    ]
    keep_roots(work.store, changes)
    return Decision(changes, memories)


def speaks_of_code(work: Work, memory: Memory) -> bool:
    """Whether anchors are to be looked for in what a memory says."""
    return (
        memory.active
        and goes_out_of_date(memory)
        and not is_talk(memory)
        and not work.settings.is_off(memory.space)
    )


def by_its_words(
    work: Work, memory: Memory, roots: Sequence[str], eyes: Eyes, said: float
) -> list[Anchor]:
    """A memory's anchors, with what its text, `said` at that moment, names in place of what it
    named before.
    """
    from reverie.code.code_mentions import words_of

    given = [anchor for anchor in anchors_of(memory) if anchor.by != NAMED]
    words = words_of(memory.text)
    words = words._replace(paths=tuple(dict.fromkeys((*words.paths, *memory.files))))
    if not words:
        return given
    found = [
        some
        for root in roots_of(memory.space, roots)
        if (some := found_in(work, root, words, eyes, said))
    ]
    agree = all(
        [(one.path, one.symbol, one.shape) for one in some]
        == [(one.path, one.symbol, one.shape) for one in found[0]]
        for some in found
    )
    there = {anchor.place for anchor in given}
    return given + [one for one in (found[0] if found and agree else ()) if one.place not in there]


def roots_of(space: str, roots: Sequence[str]) -> list[str]:
    """The indexed repositories that a space belongs to, the project's own folder before its work
    trees.
    """
    mine = [root for root in roots if config.space_of(Path(root)) in lineage(space)]
    return sorted(mine, key=lambda root: (config.project_root(Path(root)) != Path(root), root))


def found_in(work: Work, root: str, words: Words, eyes: Eyes, said: float) -> list[Anchor]:
    """What words mean in one repository, as far as it looks as it did when they were said."""
    from reverie.code.anchor_tracking import eye, seen
    from reverie.code.code_mentions import meant

    sights = eye(work.store.code, root, work.now, eyes, work.policy)
    found = meant(work.store.code, root, words, sights.known)
    as_then = [one for one in found if (sight := sights.file(one.path)) and sight.mtime <= said]
    return [anchor for one in as_then if (anchor := seen(sights, one.path, one.symbol, NAMED))]


def keep_roots(store: Store, changes: Sequence[Change]) -> None:
    """Keep in which repositories there are anchors, now that these changes are made."""
    keep_anchored(
        store,
        {
            anchor.root
            for change in changes
            if isinstance(change, Revise)
            for anchor in anchors_in(change.fields.get("details", NOTHING))
        },
    )


def keep_anchored(store: Store, roots: set[str]) -> None:
    """Keep that there are anchors in these repositories."""
    if not roots <= (there := set(anchored_roots(store))):
        store.set_meta(ROOTS, json.dumps(sorted(there | roots)))


def anchored_roots(store: Store) -> list[str]:
    """The repositories that anchors are in."""
    return list(json.loads(store.meta(ROOTS) or "[]"))


def places_seen(work: Work, places: Sequence[str]) -> list[Anchor]:
    """How these files and symbols look now: "path", "path:Symbol.name", from the working directory
    or whole.

    NotFound where there is no such file or symbol, or it is in no indexed repository; BadInput for
    more than MOST.
    """
    if len(places) > MOST:
        raise BadInput(f"A memory is about {MOST} files and symbols at most, not {len(places)}")
    eyes: Eyes = {}
    found = [place_seen(work, place, eyes) for place in places]
    keep_anchored(work.store, {anchor.root for anchor in found})
    return found


def place_seen(work: Work, text: str, eyes: Eyes) -> Anchor:
    """How one file or symbol looks now."""
    from reverie.code.anchor_tracking import eye, seen
    from reverie.storage.code_index_port import root_of

    path, _, symbol = text.strip().replace("::", ":").partition(":")
    place = (config.here() / Path(path).expanduser()).resolve()
    root = root_of(work.store.code, place)
    inside, name = place.relative_to(root).as_posix(), symbol.strip().removesuffix("()")
    sights = eye(work.store.code, root, work.now, eyes, work.policy)
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
    anchor = seen(sights, inside, name if not name or name in names else names[0])
    assert anchor is not None
    return anchor


# Looking after


def looked_at(work: Work, root: str) -> None:
    """Hold every anchor of a repository against its index, which is up to date."""
    from reverie.code.anchor_tracking import Sights

    sights = Sights(work.store.code, root, work.now, work.policy)

    def decide(memories: Sequence[Memory]) -> list[Change]:
        tied = set(work.store.edges([memory.id for memory in memories], ("about",)))
        return [
            change for memory in memories for change in looked_after(sights, memory, tied, work.now)
        ]

    for page in concerned(work, root):
        for space in sorted({memory.space for memory in page}):
            made_so(work, space, [memory.id for memory in page if memory.space == space], decide)


def concerned(work: Work, root: str) -> Iterator[list[Memory]]:
    """Memories that count and have anchors in a repository, page by page."""
    for page in pages(work.store, Filter(having=ANCHORS, limit=PAGE)):
        yield [
            memory
            for memory in page
            if any(belongs(anchor, memory, root) for anchor in anchors_of(memory))
            and not work.settings.is_off(memory.space)
        ]


def belongs(anchor: Anchor, memory: Memory, root: str) -> bool:
    """Whether an anchor is one of this repository, or of a work tree of it that is not there any
    more.
    """
    return anchor.root == root or (
        not Path(anchor.root).is_dir() and config.space_of(Path(root)) in lineage(memory.space)
    )


def made_so(
    work: Work, space: str, ids: Sequence[str], decide: Callable[[Sequence[Memory]], list[Change]]
) -> None:
    """Make so what is decided of some memories of a space, in one transaction; anew where they were
    altered meanwhile.

    Those that somebody alters all the time are left as they are: the next look will see.
    """
    for _ in range(ANEW):
        memories = work.store.get(ids)
        changes = decide(memories)
        if not changes:
            return
        with work.store.alone():
            if work.store.get(ids) == memories:
                keep_roots(work.store, changes)
                work.store.apply(
                    changes, Event("anchor", space, work.now, payload={"code": told(changes)})
                )
                return


def looked_after(sights: Sights, memory: Memory, tied: set[Edge], now: float) -> list[Change]:
    """What becomes of a memory whose code may have changed; `tied` are the `about` edges that there
    are.

    A memory that took in another one has its anchors, but perhaps not its edges.
    """
    anchors = present(sights, memory)
    changes = anchored(memory, anchors, now)
    made = {change.edge for change in changes if isinstance(change, Link)}
    return changes + [
        Link(edge) for edge in ties(memory, anchors).values() if edge not in tied | made
    ]


def present(sights: Sights, memory: Memory) -> list[Anchor]:
    """A memory's anchors as they are to be kept now."""
    from reverie.code.anchor_tracking import looked_after as after

    return [
        after(sights, anchor._replace(root=sights.root))
        if belongs(anchor, memory, sights.root)
        else anchor
        for anchor in anchors_of(memory)
    ]


def told(changes: Sequence[Change]) -> list[str]:
    """What happened to the code, in words, as an event keeps it."""
    found = [
        anchor
        for change in changes
        if isinstance(change, Revise)
        for anchor in anchors_in(change.fields["details"])
    ]
    return list(dict.fromkeys(f"{anchor.place} {anchor.state or 'holds'}" for anchor in found))[
        :MOST_TOLD
    ]


def first_look(work: Work, root: str) -> None:
    """A repository was indexed for the first time: memories of its space that name code of it get
    their anchors.
    """
    home = config.space_of(Path(root))
    eyes: Eyes = {}

    def decide(memories: Sequence[Memory]) -> list[Change]:
        return [
            change
            for memory in memories
            if speaks_of_code(work, memory) and not anchors_of(memory)
            for change in anchored(
                memory, by_its_words(work, memory, [root], eyes, memory.at), work.now
            )
        ]

    for space in sorted(one for one in work.store.stats().spaces if home in lineage(one)):
        for page in pages(work.store, Filter(spaces=(space,), limit=PAGE)):
            made_so(work, space, [memory.id for memory in page], decide)


def confirmed(work: Work, anchors: Sequence[Anchor]) -> list[Anchor]:
    """Anchors at what the code is now: what they speak of was found to be so. What is gone is let
    go of.
    """
    from reverie.code.anchor_tracking import eye, seen

    eyes: Eyes = {}
    found = [
        seen(
            eye(work.store.code, one.root, work.now, eyes, work.policy),
            one.path,
            one.symbol,
            one.by,
        )
        for one in anchors
    ]
    return [now for now in found if now is not None]


def brought_up(work: Work, root: str, holder: str, going: Callable[[], object]) -> bool:
    """Renew the index of a repository; False where it is not there, or somebody else is at it.

    `going` is called again and again meanwhile.
    """
    from reverie.code.code_indexing import mapped

    store = work.store

    def working(_stage: str, _done: int, _total: int | None) -> None:
        store.acquire(LEASE, holder, LEASE_SECONDS, clock.now())
        going()

    if not Path(root).is_dir() or not store.acquire(LEASE, holder, LEASE_SECONDS, clock.now()):
        return False
    try:
        mapped(store.code, root, clock.now, working, work.policy)
    finally:
        store.release(LEASE, holder)
    return True


def look_out(work: Work, holder: str, going: Callable[[], object]) -> None:
    """Look after all anchors, if that was not done within the last minute."""
    roots = anchored_roots(work.store)
    if not roots or work.now - float(work.store.meta(LOOKED) or 0.0) < EVERY:
        return
    work.store.set_meta(LOOKED, repr(work.now))
    for root in roots:
        try:
            if brought_up(work, root, holder, going):
                looked_at(work, root)
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


READER = Reader(name="anchors", verbs=ADDING, verb="anchor", decide=named)
