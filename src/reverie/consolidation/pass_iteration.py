"""What each pass goes over: pairs, memories, tags, events, clusters, the log; space by space, a few
at a time.

A runner takes the run, the pass's name and (space, id) to go on from; it returns the number of
steps, and why it did nothing if it could not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, filterfalse, islice, takewhile

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
from reverie.reconciliation.pair_passes import MergeText
from reverie.reconciliation.pass_view import ClosePair, PassStep, PassView, index_edges
from reverie.reconciliation.reconcile_reader import load_wordings
from reverie.storage.paging import iter_events_after, read_memory_pages

# pairs, and memories, that a pass is shown at once
PAIRS_PER_VIEW, PAGE = 400, 500
UNTAGGED_RELATIONS = tuple(relation for relation in RELATIONS if relation != "has_tag")


def load_view(
    run: SleepRun, ids: Iterable[str], rels: Sequence[str] = UNTAGGED_RELATIONS
) -> PassView:
    """The active ones of these memories, where memory is on, with their edges."""
    memories = {
        memory.id: memory
        for memory in run.work.store.get(sorted(set(ids)))
        if memory.active and not run.work.settings.is_off(memory.space)
    }
    edges = index_edges(run.work.store.edges(list(memories), rels))
    return PassView(run.work.now, memories, edges, settled=run.settled_pairs)


def run_pair_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over pairs that lie close, of which one at least is new to it."""
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    row, mark = PASSES[name], Watermark.read(run.work, name, run.request.afresh)
    run.settled_pairs = load_settled_pairs(run.work.store)
    decide = choose_pair_decision(run, name)
    steps, newest = 0, dict(mark.newest)
    for space in iter_enabled_spaces(run, at[0]):
        index = index_neighbours(run.work, space, mark, run.neighbour_indexes, run.may_continue)
        newest[space] = index.newest
        pairs = iter(index.pairs(row.floor, at[1] if space == at[0] else ""))
        while run.may_continue():
            batch = list(islice(pairs, PAIRS_PER_VIEW))
            if not batch:
                break
            steps += commit_items(run, name, space, batch, load_pair_view, decide)
    if not run.request.dry_run and not run.stopped:
        Watermark(run.work.embedding_model, run.work.now, newest).write(run.work, name)
    return steps, ""


def choose_pair_decision(run: SleepRun, name: str) -> Callable[[PassView], list[PassStep]]:
    """The function that a pair pass decides by; it asks a model only while the run may go on."""
    merge_text, relate = run.request.merge_text, run.request.relate
    if name == "merge":
        write: MergeText | None = None
        if merge_text:

            def write(one: str, other: str) -> str:
                return merge_text(one, other) if run.may_continue() else ""

        return lambda view: pair_passes.merge_duplicates(view, write, clock.new_id)
    if name == "relations" and relate:
        return lambda view: pair_passes.relate_memories(
            view, lambda one, other: relate(one, other) if run.may_continue() else None
        )
    decide = PASSES[name].decide
    assert decide is not None
    return decide


def load_pair_view(run: SleepRun, items: Sequence[ClosePair] | Sequence[str]) -> PassView:
    """Pairs with all that judging them takes."""
    pairs = [pair for pair in items if isinstance(pair, ClosePair)]
    view = load_view(run, (id for pair in pairs for id in (pair.one, pair.other)))
    return view._replace(pairs=pairs, wordings=load_wordings(run.work.store, set(view.memories)))


def run_memory_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over single memories, newest first."""
    steps, decide = 0, PASSES[name].decide
    assert decide is not None
    for space in iter_enabled_spaces(run, at[0]):
        where = Filter(spaces=(space,), limit=PAGE, after=at[1] if space == at[0] else "")
        for page in iter_space_pages(run, where):
            ids = [memory.id for memory in page]
            steps += commit_items(run, name, space, ids, load_memory_view, decide)
    return steps, ""


def run_capacity_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """The memories of each space by type, against the type's capacity."""
    from reverie.consolidation import archiving

    steps, counts = 0, run.work.store.stats().spaces
    for space in iter_enabled_spaces(run, at[0]):
        if counts[space] <= min(CAPACITY.values()):
            continue
        memories = chain.from_iterable(iter_space_pages(run, Filter(spaces=(space,), limit=PAGE)))
        types = archiving.find_over_capacity(memories, run.work.now, CAPACITY)
        decide = partial(archiving.archive_over_capacity, types=types)
        ids = sorted(types)
        for start in range(0, len(ids), PAGE):
            if run.may_continue():
                page = ids[start : start + PAGE]
                steps += commit_items(run, name, space, page, load_memory_view, decide)
    return steps, ""


def load_memory_view(run: SleepRun, items: Sequence[ClosePair] | Sequence[str]) -> PassView:
    """Active memories without their edges: fading asks for none."""
    there = run.work.store.get([id for id in items if isinstance(id, str)])
    return PassView(run.work.now, {memory.id: memory for memory in there if memory.active})


def iter_space_pages(run: SleepRun, where: Filter) -> Iterator[list[Memory]]:
    """The memories that fit, page by page, as long as the run may go on."""
    return takewhile(lambda _: run.may_continue(), read_memory_pages(run.work.store, where))


def run_tag_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Variants of tags in each space; then edges of tags that nobody carries."""
    from reverie.consolidation import tag_tidying

    steps = 0
    for space in iter_enabled_spaces(run, at[0]):
        variants = tag_tidying.map_tag_variants(run.work.store.tag_counts((space,)))
        decide = partial(tag_tidying.retag_memories, instead=variants)
        for tag in variants:
            for page in iter_space_pages(run, Filter(spaces=(space,), tags=(tag,), limit=PAGE)):
                ids = [memory.id for memory in page]
                steps += commit_items(run, name, space, ids, load_tag_view, decide)
    return steps + remove_orphan_edges(run, name), ""


def load_tag_view(run: SleepRun, items: Sequence[ClosePair] | Sequence[str]) -> PassView:
    """Memories with the edges of their tags."""
    return load_view(run, (id for id in items if isinstance(id, str)), ("has_tag",))


def remove_orphan_edges(run: SleepRun, name: str) -> int:
    """Remove edges of tags that no memory carries, active or retired; the number of steps."""
    from reverie.consolidation import tag_tidying

    def is_tag(node: str) -> bool:
        return node.startswith(tag_tidying.TAG_NODE_PREFIX)

    store, steps = run.work.store, 0
    for page in iter_edge_pages(run):
        edges = index_edges(edge for edge in page if is_tag(edge.src) or is_tag(edge.dst))
        nodes = {end for src, _, dst in edges for end in (src, dst)}
        memories = {memory.id: memory for memory in store.get(sorted(filterfalse(is_tag, nodes)))}
        orphans = tag_tidying.drop_orphan_edges(
            memories, edges, lambda node: bool(store.edges([node], ("has_tag",)))
        )
        view = PassView(run.work.now, memories)
        steps += commit_in_batches(run, name, RUN_EVENT_SPACE, orphans, view)
    return steps


def iter_edge_pages(run: SleepRun) -> Iterator[list[Edge]]:
    """All edges, page by page, as long as the run may go on."""
    after = ("", "", "")
    while run.may_continue():
        page = run.work.store.scan_edges(after, PAGE)
        if not page:
            break
        yield page
        after = page[-1][:3]


def run_co_use_pass(run: SleepRun, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """Links between memories that turns were given together since the last run."""
    from reverie.consolidation import co_use_links

    store, reader = run.work.store, "sleep.links"
    after = 0 if run.request.afresh else store.cursor(reader)
    turns = list(iter_given_turns(run, after))
    pairs = co_use_links.count_joint_sessions(turns)
    ids = [id for pair in pairs for id in pair]
    view = load_view(run, ids, ("relates_to", "supersedes", "contradicts"))
    links = co_use_links.strengthen_links(view, pairs)
    steps = commit_in_batches(run, name, RUN_EVENT_SPACE, links, view)
    if turns and not run.request.dry_run and not run.stopped:
        store.advance(reader, turns[-1].seq)
    return steps, ""


def iter_given_turns(run: SleepRun, after: int) -> Iterator[Event]:
    """Turns with the memories that they were given, without their messages."""
    for event in iter_events_after(run.work.store, after, ("turn",)):
        yield event._replace(payload={"given": event.payload.get("given", ())})


def run_cluster_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Clusters of each space: found anew, or the small ones joined to others."""
    from reverie.consolidation import clusters
    from reverie.consolidation.cluster_pass import recluster_space, tidy_small_clusters

    anew = name == "recluster"
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    if anew and not clusters.is_clustering_available():
        return 0, "scikit-learn is not installed; get it with: pip install 'reverie[sleep]'"
    steps = 0
    for space in iter_enabled_spaces(run, at[0]):
        if anew:
            view, wanted = recluster_space(
                run.work, space, run.may_continue, run.request.name_group
            )
        else:
            view, wanted = tidy_small_clusters(run.work, space)
        steps += commit_in_batches(run, name, space, wanted, view)
    if anew and not (run.request.dry_run or run.stopped):
        run.work.store.advance(CLUSTERS_CURSOR, run.work.store.last_event())
    return steps, ""


def run_code_pass(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """What memories say of code, held against the code."""
    from reverie.consolidation import fact_verification

    return fact_verification.verify_code_facts(run, name, at)


def run_log_pass(run: SleepRun, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """What was left undone: events that a reader failed on, texts without a vector."""
    if name == "retro":
        return retry_failed_events(run.work, run.queue.readers, run.request.dry_run)
    return queue_missing_vectors(run.work, run.request.dry_run), ""


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
