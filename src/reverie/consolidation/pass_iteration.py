"""What a pass goes over: pairs, memories, tags, events, clusters, the log; space by space, a few at
a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile

from reverie.consolidation.batch_commit import commit, in_steps
from reverie.consolidation.failed_event_retry import backfill, retried
from reverie.consolidation.neighbour_index import Watermark, surveyed
from reverie.consolidation.sleep_passes import PASSES
from reverie.consolidation.sleep_run import SPACELESS, Run, spaces
from reverie.core import clock
from reverie.core.kinds import CAPACITY
from reverie.core.model import RELATIONS, Edge, Event, Filter, Memory
from reverie.extraction.retrieval_feedback import CLUSTERS
from reverie.pipeline.decided_pairs import settled_pairs
from reverie.reconciliation import pair_passes
from reverie.reconciliation.pass_view import Pair, Step, View, told
from reverie.reconciliation.reconcile_reader import wordings_of
from reverie.storage.paging import events_after, pages

PAIRS, PAGE = 400, 500  # pairs, and memories, that a pass is shown at once
OTHERS = tuple(rel for rel in RELATIONS if rel != "has_tag")


def view_of(run: Run, ids: Iterable[str], rels: Sequence[str] = OTHERS) -> View:
    """Memories that count, where memory is on, with their edges, for a pass to see."""
    wanted = sorted(set(ids))
    there = {
        memory.id: memory
        for memory in run.work.store.get(wanted)
        if memory.active and not run.work.settings.is_off(memory.space)
    }
    return View(
        run.work.now, there, told(run.work.store.edges(list(there), rels)), settled=run.settled
    )


def over_pairs(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over pairs that lie close, of which one at least is new to it."""
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    row, mark = PASSES[name], Watermark.read(run.work, name, run.wish.afresh)
    run.settled = settled_pairs(run.work.store)
    decide = deciding(run, name)
    steps, newest = 0, dict(mark.newest)
    for space in spaces(run, at[0]):
        ground = surveyed(run.work, space, mark, run.grounds, run.going)
        newest[space] = ground.newest
        rest = iter(ground.pairs(row.floor, at[1] if space == at[0] else ""))
        while run.going() and (some := list(islice(rest, PAIRS))):
            steps += commit(run, name, space, some, pair_view, decide)
    if not run.wish.dry and not run.stopped:
        Watermark(run.work.model, run.work.now, newest).write(run.work, name)
    return steps, ""


def deciding(run: Run, name: str) -> Callable[[View], list[Step]]:
    """What a pass over pairs decides by, with what a model may be asked in it as long as the run
    may go on.
    """
    merge_text, relate = run.wish.merge_text, run.wish.relate
    match name:
        case "merge":
            write = (
                (lambda one, other: merge_text(one, other) if run.going() else "")
                if merge_text
                else None
            )
            return lambda view: pair_passes.merge(view, write, clock.new_id)
        case "relations" if relate:
            return lambda view: pair_passes.relations(
                view, lambda one, other: relate(one, other) if run.going() else None
            )
    decide = PASSES[name].decide
    assert decide is not None
    return decide


def pair_view(run: Run, some: Sequence[Pair] | Sequence[str]) -> View:
    """Pairs with all that judging them takes."""
    close = [pair for pair in some if isinstance(pair, Pair)]
    view = view_of(run, (id for pair in close for id in (pair.one, pair.other)))
    return view._replace(pairs=close, wordings=wordings_of(run.work.store, set(view.memories)))


def over_memories(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over single memories, newest first."""
    steps, decide = 0, PASSES[name].decide
    assert decide is not None
    for space in spaces(run, at[0]):
        for page in going_through(
            run, Filter(spaces=(space,), limit=PAGE, after=at[1] if space == at[0] else "")
        ):
            steps += commit(run, name, space, [memory.id for memory in page], memory_view, decide)
    return steps, ""


def over_types(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """What each space holds of each type, against its capacity."""
    from reverie.consolidation import archiving

    steps, counted = 0, run.work.store.stats().spaces
    for space in spaces(run, at[0]):
        if counted[space] <= min(CAPACITY.values()):
            continue
        there = (
            memory
            for page in going_through(run, Filter(spaces=(space,), limit=PAGE))
            for memory in page
        )
        types = archiving.beyond(there, run.work.now, CAPACITY)
        ids = sorted(types)
        for start in range(0, len(ids), PAGE):
            if run.going():
                steps += commit(
                    run,
                    name,
                    space,
                    ids[start : start + PAGE],
                    memory_view,
                    lambda view, types=types: archiving.crowded(view, types),  # type: ignore[misc]
                )
    return steps, ""


def memory_view(run: Run, some: Sequence[Pair] | Sequence[str]) -> View:
    """Memories without their edges: fading asks for none."""
    there = run.work.store.get([id for id in some if isinstance(id, str)])
    return View(run.work.now, {memory.id: memory for memory in there if memory.active})


def going_through(run: Run, where: Filter) -> Iterator[list[Memory]]:
    """Everything that fits, page by page, as long as the run may go on."""
    return takewhile(lambda _: run.going(), pages(run.work.store, where))


def over_tags(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Tags of a space that mean the same; then edges of tags that nobody carries."""
    from reverie.consolidation import tag_tidying

    steps = 0
    for space in spaces(run, at[0]):
        instead = tag_tidying.variants(run.work.store.tags((space,)))
        for tag in instead:
            for page in going_through(run, Filter(spaces=(space,), tags=(tag,), limit=PAGE)):
                steps += commit(
                    run,
                    name,
                    space,
                    [memory.id for memory in page],
                    tag_view,
                    lambda view, instead=instead: tag_tidying.retagged(view, instead),  # type: ignore[misc]
                )
    return steps + orphans(run, name), ""


def tag_view(run: Run, some: Sequence[Pair] | Sequence[str]) -> View:
    """Memories with the edges of their tags."""
    return view_of(run, (id for id in some if isinstance(id, str)), ("has_tag",))


def orphans(run: Run, name: str) -> int:
    """Edges of tags that no memory carries, whether it counts or not."""
    from reverie.consolidation import tag_tidying

    store, steps = run.work.store, 0
    for page in every_edge(run):
        edges = told(
            edge
            for edge in page
            if any(end.startswith(tag_tidying.TAG) for end in (edge.src, edge.dst))
        )
        ids = sorted(
            {
                end
                for src, _, dst in edges
                for end in (src, dst)
                if not end.startswith(tag_tidying.TAG)
            }
        )
        there = {memory.id: memory for memory in store.get(ids)}
        dead = tag_tidying.orphans(
            there, edges, lambda node: bool(store.edges([node], ("has_tag",)))
        )
        steps += in_steps(run, name, SPACELESS, dead, View(run.work.now, there))
    return steps


def every_edge(run: Run) -> Iterator[list[Edge]]:
    """All edges, page by page."""
    after = ("", "", "")
    while run.going() and (page := run.work.store.every_edge(after, PAGE)):
        yield page
        after = page[-1][:3]


def over_events(run: Run, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """What turns were given together since the last run."""
    from reverie.consolidation import co_use_links

    store, reader = run.work.store, "sleep.links"
    after = 0 if run.wish.afresh else store.cursor(reader)
    events = list(turns(run, after))
    met = co_use_links.together(events)
    view = view_of(
        run, (id for pair in met for id in pair), ("relates_to", "supersedes", "contradicts")
    )
    steps = in_steps(run, name, SPACELESS, co_use_links.strengthened(view, met), view)
    if events and not run.wish.dry and not run.stopped:
        store.advance(reader, events[-1].seq)
    return steps, ""


def turns(run: Run, after: int) -> Iterator[Event]:
    """Turns that were given something, without their messages."""
    for event in events_after(run.work.store, after, ("turn",)):
        yield event._replace(payload={"given": event.payload.get("given", ())})


def over_clusters(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Clusters of each space: found anew, or the small ones joined to others."""
    from reverie.consolidation import clusters
    from reverie.consolidation.cluster_pass import regrouped, tidied

    name_group = run.wish.name_group
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    if name == "recluster" and not clusters.available():
        return 0, "scikit-learn is not installed; get it with: pip install 'reverie[sleep]'"
    steps = 0
    for space in spaces(run, at[0]):
        view, wanted = (
            regrouped(run.work, space, run.going, name_group)
            if name == "recluster"
            else tidied(run.work, space)
        )
        steps += in_steps(run, name, space, wanted, view)
    if name == "recluster" and not (run.wish.dry or run.stopped):
        run.work.store.advance(CLUSTERS, run.work.store.last_event())
    return steps, ""


def over_code(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """What memories say of code, against the code."""
    from reverie.consolidation import fact_verification

    return fact_verification.over_code(run, name, at)


def over_log(run: Run, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """What was left undone: events that could not be learned from, texts without a vector."""
    if name == "retro":
        return retried(run.work, run.queue.readers, run.wish.dry), ""
    return backfill(run.work, run.wish.dry), ""


OVER: dict[str, Callable[[Run, str, tuple[str, str]], tuple[int, str]]] = {
    "pairs": over_pairs,
    "memories": over_memories,
    "types": over_types,
    "tags": over_tags,
    "events": over_events,
    "clusters": over_clusters,
    "code": over_code,
    "log": over_log,
}
