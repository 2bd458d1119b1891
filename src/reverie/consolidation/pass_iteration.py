"""What each pass goes over: pairs, memories, tags, events, clusters, the log; space by space, a few
at a time.

A runner takes the run, which knows the pass at work, where to go on, and counts the steps; it
returns why it did nothing, "" if it could.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, filterfalse, takewhile

from reverie.consolidation import archiving, co_use_links, tag_tidying
from reverie.consolidation.batch_commit import commit_in_batches, commit_items
from reverie.consolidation.neighbour_index import Watermark, index_neighbours
from reverie.consolidation.sleep_passes import PASSES
from reverie.consolidation.sleep_run import RUN_EVENT_SPACE, SleepRun, iter_enabled_spaces
from reverie.core import clock
from reverie.core.errors import ModelAway
from reverie.core.kinds import CAPACITY
from reverie.core.model import RELATIONS, Edge, Event, Filter, Memory, index_memories
from reverie.extraction.retrieval_feedback import CLUSTERS_CURSOR
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.pipeline.event_reader import RETRY_CURSOR, EventReader, process_event
from reverie.reconciliation import pair_passes
from reverie.reconciliation.pass_view import ClosePair, PassStep, PassView, index_edges
from reverie.reconciliation.reconcile_reader import load_wordings
from reverie.storage.paging import iter_events_after, read_memory_pages

# pairs, and memories, that a pass is shown at once
PAIRS_PER_VIEW, PAGE = 400, 500
# times that sleep tries an event again that a reader failed on
MAX_TRIES = 3
UNTAGGED_RELATIONS = tuple(relation for relation in RELATIONS if relation != "has_tag")
NO_EMBEDDER = "there is no embedder, and so nothing lies close"


def load_view(
    run: SleepRun,
    ids: Iterable[str],
    rels: Sequence[str] = UNTAGGED_RELATIONS,
) -> PassView:
    """The active ones of these memories, where memory is on, with their edges."""
    memories = {
        memory.id: memory
        for memory in run.work.store.get(sorted(set(ids)))
        if memory.active and not run.work.settings.is_off(memory.space)
    }
    edges = index_edges(run.work.store.edges(list(memories), rels))
    return PassView(run.work.now, memories, edges, settled=run.settled_pairs)


def run_pair_pass(run: SleepRun) -> str:
    """A pass over pairs that lie close, of which one at least is new to it."""
    work, name = run.work, run.pass_name
    if not work.embedder:
        return NO_EMBEDDER
    mark = Watermark.read(work, name, run.request.afresh)
    run.settled_pairs = load_settled_pairs(work.store)
    decide = choose_pair_decision(run)
    newest = dict(mark.newest)
    for space in iter_enabled_spaces(run):
        index = index_neighbours(work, space, mark, run.neighbour_indexes, run.may_continue)
        newest[space] = index.newest
        pairs = index.pairs(PASSES[name].floor, resume_id(run, space))
        for batch in run.take_batches(pairs, PAIRS_PER_VIEW):
            commit_items(run, space, batch, load_pair_view, decide)
    if not run.stopped:
        Watermark(work.embedding_model, work.now, newest).write(work, name)
    return ""


def resume_id(run: SleepRun, space: str) -> str:
    """The id in a space to go on from; "" for its beginning."""
    at, id = run.resume_at
    return id if space == at else ""


def choose_pair_decision(run: SleepRun) -> Callable[[PassView], list[PassStep]]:
    """The function that a pair pass decides by; it asks a model only while the run may go on."""
    merge_text, relate = run.request.merge_text, run.request.relate
    if run.pass_name == "merge":
        write: pair_passes.MergeText | None = None
        if merge_text:

            def write(one: str, other: str) -> str:
                return merge_text(one, other) if run.may_continue() else ""

        return lambda view: pair_passes.merge_duplicates(view, write, clock.new_id)
    if run.pass_name == "relations" and relate:
        return lambda view: pair_passes.relate_memories(
            view, lambda one, other: relate(one, other) if run.may_continue() else None
        )
    decide = PASSES[run.pass_name].decide
    assert decide is not None
    return decide


def load_pair_view(run: SleepRun, pairs: Sequence[ClosePair]) -> PassView:
    """Pairs with all that judging them takes."""
    ids = [id for pair in pairs for id in (pair.one, pair.other)]
    view = load_view(run, ids)
    wordings = load_wordings(run.work.store, set(view.memories))
    return view._replace(pairs=pairs, wordings=wordings)


def run_memory_pass(run: SleepRun) -> str:
    """A pass over single memories, newest first."""
    decide = PASSES[run.pass_name].decide
    assert decide is not None
    for space in iter_enabled_spaces(run):
        where = Filter(
            spaces=(space,),
            limit=PAGE,
            after=resume_id(run, space),
        )
        commit_pages(run, where, load_memory_view, decide)
    return ""


def commit_pages(
    run: SleepRun,
    where: Filter,
    show: Callable[[SleepRun, Sequence[str]], PassView],
    decide: Callable[[PassView], list[PassStep]],
) -> None:
    """Let a pass decide about the memories of a space that fit, page by page."""
    for page in iter_memory_pages(run, where):
        commit_items(
            run,
            where.spaces[0],
            [memory.id for memory in page],
            show,
            decide,
        )


def iter_memory_pages(run: SleepRun, where: Filter) -> Iterator[list[Memory]]:
    """The memories that fit, page by page, as long as the run may go on."""
    return takewhile(
        lambda _: run.may_continue(),
        read_memory_pages(run.work.store, where),
    )


def load_memory_view(run: SleepRun, ids: Sequence[str]) -> PassView:
    """Active memories without their edges: fading asks for none."""
    there = run.work.store.get(ids)
    return PassView(
        run.work.now,
        {memory.id: memory for memory in there if memory.active},
    )


def run_capacity_pass(run: SleepRun) -> str:
    """The memories of each space by type, against the type's capacity."""
    counts = run.work.store.stats().spaces
    for space in iter_enabled_spaces(run):
        if counts[space] <= min(CAPACITY.values()):
            continue
        pages = iter_memory_pages(run, Filter(spaces=(space,), limit=PAGE))
        types = archiving.find_over_capacity(chain.from_iterable(pages), run.work.now, CAPACITY)
        decide = partial(archiving.archive_over_capacity, types=types)
        for ids in run.take_batches(sorted(types), PAGE):
            commit_items(run, space, ids, load_memory_view, decide)
    return ""


def run_tag_pass(run: SleepRun) -> str:
    """Variants of tags in each space; then edges of tags that nobody carries."""
    for space in iter_enabled_spaces(run):
        variants = tag_tidying.map_tag_variants(run.work.store.tag_counts((space,)))
        decide = partial(tag_tidying.retag_memories, instead=variants)
        for tag in variants:
            where = Filter(
                spaces=(space,),
                tags=(tag,),
                limit=PAGE,
            )
            commit_pages(run, where, partial(load_view, rels=("has_tag",)), decide)
    remove_orphan_edges(run)
    return ""


def remove_orphan_edges(run: SleepRun) -> None:
    """Remove edges of tags that no memory carries, active or retired."""
    store = run.work.store
    for page in iter_edge_pages(run):
        edges = index_edges(edge for edge in page if is_tag(edge.src) or is_tag(edge.dst))
        nodes = {end for src, _, dst in edges for end in (src, dst)}
        memories = index_memories(store.get(sorted(filterfalse(is_tag, nodes))))
        orphans = tag_tidying.drop_orphan_edges(
            memories, edges, lambda node: bool(store.edges([node], ("has_tag",)))
        )
        commit_in_batches(run, RUN_EVENT_SPACE, orphans, PassView(run.work.now, memories))


def is_tag(node: str) -> bool:
    """True for the node of a tag."""
    return node.startswith(tag_tidying.TAG_NODE_PREFIX)


def iter_edge_pages(run: SleepRun) -> Iterator[list[Edge]]:
    """All edges, page by page, as long as the run may go on."""
    after = ("", "", "")
    while run.may_continue():
        page = run.work.store.scan_edges(after, PAGE)
        if not page:
            break
        yield page
        after = page[-1][:3]


def run_co_use_pass(run: SleepRun) -> str:
    """Links between memories that turns were given together since the last run."""
    store, reader = run.work.store, "sleep.links"
    after = 0 if run.request.afresh else store.cursor(reader)
    # Without their messages: a year of turns must not lie in memory.
    turns = [
        turn._replace(payload={"given": turn.payload.get("given", ())})
        for turn in iter_events_after(store, after, ("turn",))
    ]
    pairs = co_use_links.count_joint_sessions(turns)
    ids = [id for pair in pairs for id in pair]
    view = load_view(run, ids, ("relates_to", "supersedes", "contradicts"))
    links = co_use_links.strengthen_links(view, pairs)
    commit_in_batches(run, RUN_EVENT_SPACE, links, view)
    if turns and not run.stopped:
        store.advance(reader, turns[-1].seq)
    return ""


def run_cluster_pass(run: SleepRun) -> str:
    """Clusters of each space: found anew, or the small ones joined to others."""
    from reverie.consolidation.cluster_pass import recluster_space, tidy_small_clusters

    work, anew = run.work, run.pass_name == "recluster"
    if not work.embedder:
        return NO_EMBEDDER
    for space in iter_enabled_spaces(run):
        if anew:
            view, wanted = recluster_space(work, space, run.may_continue, run.request.name_group)
        else:
            view, wanted = tidy_small_clusters(work, space)
        commit_in_batches(run, space, wanted, view)
    if anew and not run.stopped:
        work.store.advance(CLUSTERS_CURSOR, work.store.last_event())
    return ""


def run_code_pass(run: SleepRun) -> str:
    """Verify memories about code against the code."""
    from reverie.consolidation.fact_verification import verify_code_facts

    return verify_code_facts(run)


def run_log_pass(run: SleepRun) -> str:
    """Background work that was left undone: events that a reader failed on, texts without a vector.

    Undoing a run does not undo that. A turn that nobody has read yet is no matter of sleep: its
    reader's cursor stands before it.
    """
    work = run.work
    if run.pass_name == "retro":
        return retry_failed_events(run)
    if work.embedder is not None:
        before = work.store.stats(work.embedding_model).waiting
        run.steps += work.store.await_vectors(work.embedding_model, again=True) - before
    return ""


def retry_failed_events(run: SleepRun) -> str:
    """Try again what a reader failed on; why it stopped, if a language model is away.

    Then the next run goes on there: that is not the event's fault.
    """
    store = run.work.store
    readers = {reader.name: reader for reader in run.queue.readers}
    # What fails again now is for the next run.
    newest = store.last_event()
    for failed in iter_events_after(store, store.cursor(RETRY_CURSOR), ("failed",)):
        if failed.seq > newest:
            break
        try:
            run.steps += retry_failed_event(run, readers, failed)
        except ModelAway as err:
            return str(err)
    return ""


def retry_failed_event(
    run: SleepRun,
    readers: Mapping[str, EventReader],
    failed: Event,
) -> bool:
    """Try an event once more unless it was tried MAX_TRIES times; True if it went well."""
    store = run.work.store
    reader = readers.get(str(failed.payload.get("reader")))
    event = store.event(int(failed.payload.get("event", 0)))
    tries = int(failed.payload.get("tries", 0))
    if reader and event and tries < MAX_TRIES:
        return not process_event(run.work, reader, event, failed).failed
    store.advance(RETRY_CURSOR, failed.seq)
    return False


PASS_RUNNERS: dict[str, Callable[[SleepRun], str]] = {
    "pairs": run_pair_pass,
    "memories": run_memory_pass,
    "types": run_capacity_pass,
    "tags": run_tag_pass,
    "events": run_co_use_pass,
    "clusters": run_cluster_pass,
    "code": run_code_pass,
    "log": run_log_pass,
}
