"""What a pass goes over: pairs, memories, tags, events, clusters, the log; space by space, a few at
a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile

from reverie.consolidation.batch_commit import commit_in_batches, commit_items
from reverie.consolidation.failed_event_retry import queue_missing_vectors, retry_failed_events
from reverie.consolidation.neighbour_index import Watermark, index_neighbours
from reverie.consolidation.sleep_passes import PASSES
from reverie.consolidation.sleep_run import RUN_EVENT_SPACE, SleepRun, iter_enabled_spaces
from reverie.core import clock
from reverie.core.kinds import CAPACITY
from reverie.core.model import RELATIONS, Edge, Event, Filter, Memory
from reverie.extraction.retrieval_feedback import CLUSTERS_CURSOR
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.reconciliation import pair_passes
from reverie.reconciliation.pass_view import ClosePair, PassStep, PassView, index_edges
from reverie.reconciliation.reconcile_reader import load_wordings
from reverie.storage.paging import iter_events_after, read_memory_pages

PAIRS_PER_VIEW, PAGE = 400, 500  # pairs, and memories, that a pass is shown at once
UNTAGGED_RELATIONS = tuple(rel for rel in RELATIONS if rel != "has_tag")


def load_view(
    run: SleepRun, ids: Iterable[str], rels: Sequence[str] = UNTAGGED_RELATIONS
) -> PassView:
    """Memories that count, where memory is on, with their edges, for a pass to see."""
    wanted = sorted(set(ids))
    there = {
        memory.id: memory
        for memory in run.work.store.get(wanted)
        if memory.active and not run.work.settings.is_off(memory.space)
    }
    return PassView(
        run.work.now,
        there,
        index_edges(run.work.store.edges(list(there), rels)),
        settled=run.settled_pairs,
    )


def run_pair_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over pairs that lie close, of which one at least is new to it."""
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    row, mark = PASSES[name], Watermark.read(run.work, name, run.wish.afresh)
    run.settled_pairs = load_settled_pairs(run.work.store)
    decide = choose_pair_decision(run, name)
    steps, newest = 0, dict(mark.newest)
    for space in iter_enabled_spaces(run, at[0]):
        ground = index_neighbours(run.work, space, mark, run.neighbour_indexes, run.may_continue)
        newest[space] = ground.newest
        rest = iter(ground.pairs(row.floor, at[1] if space == at[0] else ""))
        while run.may_continue() and (some := list(islice(rest, PAIRS_PER_VIEW))):
            steps += commit_items(run, name, space, some, load_pair_view, decide)
    if not run.wish.dry_run and not run.stopped:
        Watermark(run.work.embedding_model, run.work.now, newest).write(run.work, name)
    return steps, ""


def choose_pair_decision(run: SleepRun, name: str) -> Callable[[PassView], list[PassStep]]:
    """What a pass over pairs decides by, with what a model may be asked in it as long as the run
    may go on.
    """
    merge_text, relate = run.wish.merge_text, run.wish.relate
    match name:
        case "merge":
            write = (
                (lambda one, other: merge_text(one, other) if run.may_continue() else "")
                if merge_text
                else None
            )
            return lambda view: pair_passes.merge_duplicates(view, write, clock.new_id)
        case "relations" if relate:
            return lambda view: pair_passes.relate_memories(
                view, lambda one, other: relate(one, other) if run.may_continue() else None
            )
    decide = PASSES[name].decide
    assert decide is not None
    return decide


def load_pair_view(run: SleepRun, some: Sequence[ClosePair] | Sequence[str]) -> PassView:
    """Pairs with all that judging them takes."""
    close = [pair for pair in some if isinstance(pair, ClosePair)]
    view = load_view(run, (id for pair in close for id in (pair.one, pair.other)))
    return view._replace(pairs=close, wordings=load_wordings(run.work.store, set(view.memories)))


def run_memory_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over single memories, newest first."""
    steps, decide = 0, PASSES[name].decide
    assert decide is not None
    for space in iter_enabled_spaces(run, at[0]):
        for page in iter_space_pages(
            run, Filter(spaces=(space,), limit=PAGE, after=at[1] if space == at[0] else "")
        ):
            steps += commit_items(
                run, name, space, [memory.id for memory in page], load_memory_view, decide
            )
    return steps, ""


def run_capacity_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """What each space holds of each type, against its capacity."""
    from reverie.consolidation import archiving

    steps, counted = 0, run.work.store.stats().spaces
    for space in iter_enabled_spaces(run, at[0]):
        if counted[space] <= min(CAPACITY.values()):
            continue
        there = (
            memory
            for page in iter_space_pages(run, Filter(spaces=(space,), limit=PAGE))
            for memory in page
        )
        types = archiving.find_over_capacity(there, run.work.now, CAPACITY)
        ids = sorted(types)
        for start in range(0, len(ids), PAGE):
            if run.may_continue():
                steps += commit_items(
                    run,
                    name,
                    space,
                    ids[start : start + PAGE],
                    load_memory_view,
                    lambda view, types=types: archiving.archive_over_capacity(view, types),  # type: ignore[misc]
                )
    return steps, ""


def load_memory_view(run: SleepRun, some: Sequence[ClosePair] | Sequence[str]) -> PassView:
    """Memories without their edges: fading asks for none."""
    there = run.work.store.get([id for id in some if isinstance(id, str)])
    return PassView(run.work.now, {memory.id: memory for memory in there if memory.active})


def iter_space_pages(run: SleepRun, where: Filter) -> Iterator[list[Memory]]:
    """Everything that fits, page by page, as long as the run may go on."""
    return takewhile(lambda _: run.may_continue(), read_memory_pages(run.work.store, where))


def run_tag_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Tags of a space that mean the same; then edges of tags that nobody carries."""
    from reverie.consolidation import tag_tidying

    steps = 0
    for space in iter_enabled_spaces(run, at[0]):
        instead = tag_tidying.map_tag_variants(run.work.store.tag_counts((space,)))
        for tag in instead:
            for page in iter_space_pages(run, Filter(spaces=(space,), tags=(tag,), limit=PAGE)):
                steps += commit_items(
                    run,
                    name,
                    space,
                    [memory.id for memory in page],
                    load_tag_view,
                    lambda view, instead=instead: tag_tidying.retag_memories(view, instead),  # type: ignore[misc]
                )
    return steps + remove_orphan_edges(run, name), ""


def load_tag_view(run: SleepRun, some: Sequence[ClosePair] | Sequence[str]) -> PassView:
    """Memories with the edges of their tags."""
    return load_view(run, (id for id in some if isinstance(id, str)), ("has_tag",))


def remove_orphan_edges(run: SleepRun, name: str) -> int:
    """Edges of tags that no memory carries, whether it counts or not."""
    from reverie.consolidation import tag_tidying

    store, steps = run.work.store, 0
    for page in iter_edge_pages(run):
        edges = index_edges(
            edge
            for edge in page
            if any(end.startswith(tag_tidying.TAG_NODE_PREFIX) for end in (edge.src, edge.dst))
        )
        ids = sorted(
            {
                end
                for src, _, dst in edges
                for end in (src, dst)
                if not end.startswith(tag_tidying.TAG_NODE_PREFIX)
            }
        )
        there = {memory.id: memory for memory in store.get(ids)}
        dead = tag_tidying.drop_orphan_edges(
            there, edges, lambda node: bool(store.edges([node], ("has_tag",)))
        )
        steps += commit_in_batches(run, name, RUN_EVENT_SPACE, dead, PassView(run.work.now, there))
    return steps


def iter_edge_pages(run: SleepRun) -> Iterator[list[Edge]]:
    """All edges, page by page."""
    after = ("", "", "")
    while run.may_continue() and (page := run.work.store.scan_edges(after, PAGE)):
        yield page
        after = page[-1][:3]


def run_co_use_pass(run: SleepRun, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """What turns were given together since the last run."""
    from reverie.consolidation import co_use_links

    store, reader = run.work.store, "sleep.links"
    after = 0 if run.wish.afresh else store.cursor(reader)
    events = list(iter_given_turns(run, after))
    met = co_use_links.count_joint_sessions(events)
    view = load_view(
        run, (id for pair in met for id in pair), ("relates_to", "supersedes", "contradicts")
    )
    steps = commit_in_batches(
        run, name, RUN_EVENT_SPACE, co_use_links.strengthen_links(view, met), view
    )
    if events and not run.wish.dry_run and not run.stopped:
        store.advance(reader, events[-1].seq)
    return steps, ""


def iter_given_turns(run: SleepRun, after: int) -> Iterator[Event]:
    """Turns that were given something, without their messages."""
    for event in iter_events_after(run.work.store, after, ("turn",)):
        yield event._replace(payload={"given": event.payload.get("given", ())})


def run_cluster_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Clusters of each space: found anew, or the small ones joined to others."""
    from reverie.consolidation import clusters
    from reverie.consolidation.cluster_pass import recluster_space, tidy_small_clusters

    name_group = run.wish.name_group
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    if name == "recluster" and not clusters.is_clustering_available():
        return 0, "scikit-learn is not installed; get it with: pip install 'reverie[sleep]'"
    steps = 0
    for space in iter_enabled_spaces(run, at[0]):
        view, wanted = (
            recluster_space(run.work, space, run.may_continue, name_group)
            if name == "recluster"
            else tidy_small_clusters(run.work, space)
        )
        steps += commit_in_batches(run, name, space, wanted, view)
    if name == "recluster" and not (run.wish.dry_run or run.stopped):
        run.work.store.advance(CLUSTERS_CURSOR, run.work.store.last_event())
    return steps, ""


def run_code_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """What memories say of code, against the code."""
    from reverie.consolidation import fact_verification

    return fact_verification.verify_code_facts(run, name, at)


def run_log_pass(run: SleepRun, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """What was left undone: events that could not be learned from, texts without a vector."""
    if name == "retro":
        return retry_failed_events(run.work, run.queue.readers, run.wish.dry_run), ""
    return queue_missing_vectors(run.work, run.wish.dry_run), ""


PASS_RUNNERS: dict[str, Callable[[SleepRun, str, tuple[str, str]], tuple[int, str]]] = {
    "pairs": run_pair_pass,
    "memories": run_memory_pass,
    "types": run_capacity_pass,
    "tags": run_tag_pass,
    "events": run_co_use_pass,
    "clusters": run_cluster_pass,
    "code": run_code_pass,
    "log": run_log_pass,
}
