"""Sleep over a real store: batches, interruptions, concurrent writers, and an exact undo."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import numpy as np
import pytest

from bench.common import Given
from bench.sleep import DAY, NOW, filled, mixed
from reverie.consolidation import batch_commit, sleep_loop, undo_sleep
from reverie.consolidation.scheduled_sleep import sleep_if_due
from reverie.consolidation.sleep_passes import PASSES, SAFE_PASSES
from reverie.consolidation.sleep_run import SLEEP_LEASE
from reverie.consolidation.sleep_schedule import (
    PROGRESS_KEY,
    SLEPT_AT,
    SleepOutlook,
    assess_outlook,
    is_sleep_due,
    parse_sleep_setting,
)
from reverie.core.config import Settings
from reverie.core.errors import BadInput, NotFound
from reverie.core.model import Edge, Event, Filter, Link, Retire
from reverie.extraction.retrieval_feedback import CLUSTERS_CURSOR, CLUSTERS_EVERY
from reverie.pipeline.leases import SETTLE_LEASE
from reverie.pipeline.pending_vectors import embed_pending
from reverie.runtime.settle import build_event_queue
from reverie.testing import NOON, Clock, memory

SPACE = "me/demo"
HERON = "The staging server is called heron and listens on port 8080."
AGAIN = "The staging server is called heron, and listens on port 8080"


@pytest.fixture
def unsettled_mind():
    """A mind whose memories have vectors, though nobody has settled: nothing was reconciled yet."""
    clock = Clock(NOW - 90 * DAY)
    with memory(now=clock, embedder=Given()) as mind:
        yield mind


def clock_of(mind):
    assert isinstance(mind.context.now, Clock)
    return mind.context.now


def no_decision(*_):
    raise ZeroDivisionError("this reader is broken")


def state(mind):
    return "\n".join(json.dumps(row, sort_keys=True) for row in mind.data.export(log=False))


def filled_mind(mind, count=300):
    ids = filled(mind, mixed(count), SPACE)
    clock_of(mind).at = NOW
    return ids


def embedded(mind, *texts, **fields):
    """Memories with vectors, not reconciled."""
    kept = [mind.remember(text, space=SPACE, **fields) for text in texts]
    while embed_pending(mind.store, mind.embedder):
        pass
    return kept


# The way back


@pytest.mark.parametrize("count", [300, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.proves("B135")
def test_a_run_is_undone_exactly(unsettled_mind, count):
    """Every change of a run is undone by one command; the exported state is the same as before."""
    filled_mind(unsettled_mind, count)
    before = state(unsettled_mind)
    slept = unsettled_mind.sleep()
    assert slept.steps > count / 10
    assert {"merge", "redundancy", "contradictions", "prune", "tags", "links"} <= {
        done.name for done in slept.passes if done.steps
    }
    assert [] == unsettled_mind.data.verify()
    assert state(unsettled_mind) != before
    unsettled_mind.undo(slept.run)
    assert state(unsettled_mind) == before
    assert [] == unsettled_mind.data.verify()


@pytest.mark.proves("X21", "B135")
def test_an_interrupted_run_goes_on_and_is_taken_back_as_one(unsettled_mind, monkeypatch):
    """Stopped at any batch it goes on under its number, and one undo takes both halves back."""
    filled_mind(unsettled_mind)
    before, whole = state(unsettled_mind), batch_commit.apply_steps
    calls = iter(range(100))

    def dying(*args):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return whole(*args)

    monkeypatch.setattr(batch_commit, "apply_steps", dying)
    with pytest.raises(KeyboardInterrupt):
        unsettled_mind.sleep()
    monkeypatch.setattr(batch_commit, "apply_steps", whole)
    assert unsettled_mind.store.holder(SETTLE_LEASE, NOW) is None
    assert [] == unsettled_mind.data.verify()
    slept = unsettled_mind.sleep()
    assert 1 == len(unsettled_mind.store.events(verbs=("sleeping",)))
    unsettled_mind.undo(slept.run)
    assert state(unsettled_mind) == before


def test_undoing_along_a_chain_of_undos_never_forgets_the_batch(mind):
    """Each undo is an event that can be undone: after an odd number of them the batch is undone,
    after an even number it stands, however long the chain is.
    """
    embedded(mind, HERON, AGAIN)
    run = mind.sleep().run
    (batch, *rest) = undo_sleep.list_run_batches(mind.store, run)
    for event in reversed(rest):
        mind.undo(event.seq)
    last = batch.seq
    for undos in range(1, 6):
        last = mind.undo(last)
        is_undone = undos % 2 == 1
        assert (batch.seq in undo_sleep.list_undone_events(mind.store, run)) == is_undone
        assert undo_sleep.find_last_run(mind.store) == (0 if is_undone else run)
    with pytest.raises(NotFound, match="taken back already"):
        mind.undo(run)


@pytest.mark.proves("B135")
def test_undo_goes_on_where_it_was_interrupted(unsettled_mind, monkeypatch):
    """Half a way back is no harm; asked again, it goes on."""
    filled_mind(unsettled_mind)
    before = state(unsettled_mind)
    slept = unsettled_mind.sleep()
    whole, calls = undo_sleep.undo_batch, iter(range(100))

    def dying(*args, **more):
        if next(calls) == 3:
            raise KeyboardInterrupt
        whole(*args, **more)

    monkeypatch.setattr(undo_sleep, "undo_batch", dying)
    with pytest.raises(KeyboardInterrupt):
        unsettled_mind.undo(slept.run)
    monkeypatch.setattr(undo_sleep, "undo_batch", whole)
    unsettled_mind.undo(slept.run)
    assert state(unsettled_mind) == before
    with pytest.raises(NotFound, match="already"):
        unsettled_mind.undo(slept.run)


@pytest.mark.proves("CC-90")
def test_the_log_of_a_night_survives_an_export(mind):
    """No name in it reads like a secret's, whose value an import would take out."""
    embedded(mind, "Use tabs for indentation.", "Use tabs for indentation!")
    mind.sleep(SAFE_PASSES)
    with memory(now=clock_of(mind)) as other:
        other.data.import_(mind.data.export())
        assert list(other.data.export()) == list(mind.data.export())


@pytest.mark.proves("B135")
def test_later_changes_survive_the_undo_of_a_run(mind):
    """Undoing a night takes nothing back that somebody did the next day."""
    one, other = embedded(mind, HERON, AGAIN)
    slept = mind.sleep(["merge"])
    kept = next(m for m in mind.get([one.id, other.id]) if m.active)
    mind.feedback(kept.id, helpful=True)
    mind.undo(slept.run)
    now = mind.get([one.id, other.id])
    assert all(m.active for m in now)
    assert next(m for m in now if m.id == kept.id).access_count == 1


@pytest.mark.proves("X22", "CC-53")
def test_what_was_taken_back_is_not_done_again(mind):
    """A pair that somebody parted is not merged again, nor archived what somebody brought back."""
    embedded(mind, HERON, AGAIN)
    slept = mind.sleep(["merge"])
    assert slept.steps == 1
    mind.undo(slept.run)
    assert mind.sleep(["merge"], afresh=True).steps == 0


@pytest.mark.proves("A77", "CC-53", "B125")
def test_archived_memories_are_listed_and_can_be_restored(unsettled_mind):
    """What has faded is kept, listed, restored, and then stays."""
    kept = unsettled_mind.remember("Perhaps the cache is cold.", space=SPACE, provenance="inferred")
    clock_of(unsettled_mind).at = NOW
    assert unsettled_mind.sleep(["prune"]).retired == (kept.id,)
    assert ["faded"] == [m.retired_why for m in unsettled_mind.browse(space=SPACE, active=False)]
    assert unsettled_mind.restore(kept.id).active
    assert unsettled_mind.sleep(["prune"]).steps == 0


# Batches


@pytest.mark.proves("X21")
def test_no_transaction_is_large(unsettled_mind, monkeypatch):
    """What one transaction changes is bounded, whatever there is to do."""
    monkeypatch.setattr(batch_commit, "MAX_CHANGES", 20)
    filled_mind(unsettled_mind)
    unsettled_mind.sleep()
    for event in unsettled_mind.store.events(verbs=("sleep",), limit=10_000):
        assert len(unsettled_mind.store.changes_of(event.seq)) <= 20


def test_rows_behind_a_decision_are_read_again(unsettled_mind, monkeypatch):
    """A memory that somebody alters between the decision and the transaction is not overwritten."""
    filled_mind(unsettled_mind, 100)
    whole = batch_commit.exclude_restored
    altered: list[str] = []

    def meddling(run, steps):
        if steps and not altered:
            id = steps[0].rests_on[0]
            altered.append(id)
            unsettled_mind.feedback(id, helpful=True)
        return whole(run, steps)

    monkeypatch.setattr(batch_commit, "exclude_restored", meddling)
    unsettled_mind.sleep(["merge"])
    found = unsettled_mind.get(altered)[0]
    heir = found if found.active else unsettled_mind.get([found.superseded_by])[0]
    assert heir.access_count >= 1


def test_a_run_out_of_time_continues_the_next_time(unsettled_mind):
    """Bounded time: `within` ends a run between two batches; the next one goes on there until all
    is done.
    """
    filled_mind(unsettled_mind, 200)
    before = state(unsettled_mind)
    first = unsettled_mind.sleep(within=0)
    assert (first.stopped, first.steps) == ("its time was over", 0)
    runs = {first.run}
    for _ in range(3):
        runs.add(unsettled_mind.sleep(within=60).run)
    assert first.run in runs
    for run in sorted(runs, reverse=True):
        if any(
            event.payload["run"] == run
            for event in unsettled_mind.store.events(verbs=("sleep",), limit=10_000)
        ):
            unsettled_mind.undo(run)
    assert state(unsettled_mind) == before


def test_a_second_run_compares_only_what_is_new(unsettled_mind):
    """Growing near-linearly: only what is new is compared; what is new is found all the same, also
    in an old import.
    """
    filled_mind(unsettled_mind)
    unsettled_mind.sleep()
    clock_of(unsettled_mind).tick(days=1)
    assert unsettled_mind.sleep().steps == 0
    made = mixed(300)[0]
    ids = filled(unsettled_mind, [made, made], SPACE)
    merged = unsettled_mind.sleep(["merge"])
    assert merged.passes[0].steps >= 1
    assert set(merged.retired) & set(ids)


@pytest.mark.proves("CC-14")
def test_a_dry_run_writes_nothing(unsettled_mind):
    """The plan is told, and not a byte is written."""
    filled_mind(unsettled_mind)
    everything = [json.dumps(row, sort_keys=True) for row in unsettled_mind.store.dump()]
    slept = unsettled_mind.sleep(dry_run=True)
    assert slept.run == 0
    assert sum(done.steps for done in slept.passes) >= len(slept.plan) > 30
    assert everything == [json.dumps(row, sort_keys=True) for row in unsettled_mind.store.dump()]


@pytest.mark.parametrize("count", [40, 300])
def test_a_dry_run_says_what_the_night_does(unsettled_mind, count):
    """Each pass sees what those before it did: the same passes, as many steps, the same reasons."""
    filled_mind(unsettled_mind, count)
    ids = [memory.id for memory in unsettled_mind.browse(space=SPACE)][:12]
    for n in range(3):
        turn = Event("turn", SPACE, NOW, f"s{n}", {"messages": [], "given": ids})
        unsettled_mind.store.append([turn])
    planned = unsettled_mind.sleep(dry_run=True)
    done = unsettled_mind.sleep()
    assert [one[:2] for one in planned.passes] == [one[:2] for one in done.passes]
    assert done.steps > count / 10
    retired = {
        change.id for one in planned.plan for change in one.step.changes if is_retire(change)
    }
    assert retired == set(done.retired)


def is_retire(change):
    return isinstance(change, Retire)


def test_spaces_that_are_off_are_left_alone(unsettled_mind):
    """Where memory is switched off, nothing is touched."""
    filled_mind(unsettled_mind)
    unsettled_mind.context.settings = unsettled_mind.settings._replace(off=("me",))
    assert unsettled_mind.sleep().steps == 0


def test_unknown_passes_are_refused(mind):
    """The message names those that there are."""
    with pytest.raises(BadInput, match="merge"):
        mind.sleep(["merge", "dream"])
    with pytest.raises(BadInput, match="seconds"):
        mind.sleep(within=-1)


# Passes that read more than they are shown


@pytest.mark.proves("B24", "B25", "B26", "B94", "B114", "B126", "B10")
def test_clusters_become_nodes_with_stable_names(unsettled_mind):
    """Members get `in_cluster` edges to named nodes; a second night changes nothing."""
    filled_mind(unsettled_mind, 600)
    assert unsettled_mind.sleep(["recluster"]).steps > 0
    ids = [m.id for m in unsettled_mind.store.browse(Filter(spaces=(SPACE,), limit=1_000))]
    edges = unsettled_mind.store.edges(ids, ("in_cluster",))
    assert edges
    assert all(edge.dst.startswith(f"cluster:{SPACE}:") for edge in edges)
    assert unsettled_mind.sleep(["recluster", "small"]).steps == 0


@pytest.mark.proves("B8")
def test_clusters_are_listed_with_their_size(unsettled_mind):
    """Name, number of members that count, and those nearest to the centre; the largest first."""
    ids = filled_mind(unsettled_mind, 600)
    assert unsettled_mind.clusters(SPACE) == []
    unsettled_mind.sleep(["recluster"])
    found = unsettled_mind.clusters(SPACE, members=2)
    edges = unsettled_mind.store.edges(ids, ("in_cluster",))
    counts = Counter(edge.dst for edge in edges)
    assert {f"cluster:{SPACE}:{one.name}": one.size for one in found} == counts
    assert [one.size for one in found] == sorted(counts.values(), reverse=True)
    weight = {edge.src: edge.weight for edge in edges}
    for one in found:
        node = f"cluster:{one.space}:{one.name}"
        nearest = sorted((edge.weight for edge in edges if edge.dst == node), reverse=True)
        assert [weight[memory.id] for memory in one.members] == nearest[:2]

    first = found[0]
    unsettled_mind.forget(first.members[0].id)
    (same,) = (one for one in unsettled_mind.clusters(SPACE) if one.name == first.name)
    assert same.size == first.size - 1 and first.members[0] not in same.members
    assert unsettled_mind.clusters("me/other") == []


@pytest.mark.proves("B135")
def test_undo_restores_a_changed_tag_weight(mind):
    """The edge of a tag is derived from the memory's tags; its weight may be another, and undo
    knows.
    """
    one = mind.remember("one", space=SPACE, tags=["bugs"])
    mind.remember("two", space=SPACE, tags=["bug"])
    mind.remember("three", space=SPACE, tags=["bug"])
    mind.store.apply([Link(Edge(one.id, "has_tag", "tag:bugs", 0.4))], Event("link", SPACE, NOON))
    before = state(mind)
    slept = mind.sleep(["tags"])
    assert ("bug",) == mind.get(one.id)[0].tags
    mind.undo(slept.run)
    assert state(mind) == before


@pytest.mark.proves("B129")
def test_orphaned_tag_edges_are_removed(mind):
    """Edges of tags that nothing carries are removed, and undo brings them back."""
    one = mind.remember("one", space=SPACE, tags=["alive"])
    mind.store.apply(
        [Link(Edge(one.id, "relates_to", "tag:dead", 0.4))], Event("link", SPACE, NOON)
    )
    before = state(mind)
    slept = mind.sleep(["tags"])
    assert [] == mind.store.edges(["tag:dead"])
    mind.undo(slept.run)
    assert state(mind) == before


@pytest.mark.proves("B113")
def test_failed_events_are_tried_again(mind, monkeypatch):
    """What could not be learned from is learned from in sleep; not for ever."""
    from reverie.extraction import turn_learning

    mind.store.append(
        [
            Event(
                "turn",
                SPACE,
                NOON,
                "s1",
                {
                    "messages": [
                        {
                            "role": "user",
                            "text": "Remember that the staging server is called heron.",
                        }
                    ],
                    "first": 0,
                },
            )
        ]
    )
    reader = turn_learning.READER
    broken = reader._replace(decide=no_decision)
    monkeypatch.setattr("reverie.runtime.settle.READERS", (broken,))
    mind.settle()
    assert mind.sleep(["retro"]).steps == 0
    monkeypatch.setattr("reverie.runtime.settle.READERS", (reader,))
    assert mind.sleep(["retro"], dry_run=True).steps == 1
    assert mind.sleep(["retro"]).steps == 1
    assert ["the staging server is called heron"] == [
        m.text.rstrip(".").lower() for m in mind.browse(space=SPACE)
    ]
    assert mind.sleep(["retro"]).steps == 0


@pytest.mark.proves("B113")
def test_an_event_that_keeps_failing_is_given_up(mind, monkeypatch):
    """A failed event is tried in three runs of sleep and then no more."""
    from reverie.extraction import turn_learning

    mind.store.append([Event("turn", SPACE, NOON, "s1", {"messages": []})])
    broken = turn_learning.READER._replace(decide=no_decision)
    monkeypatch.setattr("reverie.runtime.settle.READERS", (broken,))
    mind.settle()
    for _ in range(6):
        mind.sleep(["retro"])
    assert 4 == len(mind.store.events(verbs=("failed",)))


@pytest.mark.proves("B117")
@pytest.mark.parametrize("is_known", [False, True])
def test_what_lacks_a_vector_is_queued(home, is_known):
    """Nothing stays without a vector because a process died, of a new model or of the one that has
    always been there.
    """
    (one,) = embedded(home, HERON)
    if is_known:
        home.store.await_vectors(home.embedder.model)
    with closing(sqlite3.connect(home.store.path)) as db, db:
        db.execute("delete from vector")
    assert home.sleep(["backfill"], dry_run=True).steps == 1
    assert home.sleep(["backfill"]).steps == 1
    assert home.sleep(["backfill"]).steps == 0
    assert [one.id] == [id for id, _ in home.store.unembedded_texts(10)]


# Others at work


@pytest.mark.proves("X21", "B131")
def test_sleep_gives_way_to_a_turn(unsettled_mind):
    """By itself it stops as soon as somebody takes a turn."""
    filled_mind(unsettled_mind)
    whole = unsettled_mind.work
    wish = sleep_loop.SleepRequest(
        SAFE_PASSES,
        stop_at_turn=True,
        may_continue=lambda: bool(
            unsettled_mind.store.append([Event("turn", SPACE, NOW, "s9")]) or True
        ),
    )
    slept = sleep_loop.run_sleep_passes(
        whole, wish, "sleeper", unsettled_mind.context.now, build_event_queue()
    )
    assert slept.stopped == "somebody is at work"
    assert unsettled_mind.store.holder(SETTLE_LEASE, NOW) is None


def test_two_runs_never_overlap(unsettled_mind):
    """Whoever settles and has work to do is not disturbed; who only waits for work gives way."""
    filled_mind(unsettled_mind, 50)
    unsettled_mind.store.acquire(SETTLE_LEASE, "worker", 60, NOW)
    wish = sleep_loop.SleepRequest(("prune",), patience=0.0)
    again = unsettled_mind.browse(space=SPACE, limit=1)[0].text
    unsettled_mind.remember(again, space=SPACE)  # waits to be compared
    assert (
        "somebody else is settling"
        == sleep_loop.run_sleep_passes(
            unsettled_mind.work, wish, "sleeper", unsettled_mind.context.now, build_event_queue()
        ).stopped
    )
    unsettled_mind.forget([m.id for m in unsettled_mind.browse(space=SPACE, limit=1)])
    unsettled_mind.store.release(SETTLE_LEASE, "worker")
    unsettled_mind.settle()
    unsettled_mind.store.acquire(SETTLE_LEASE, "worker", 60, NOW)
    assert (
        ""
        == sleep_loop.run_sleep_passes(
            unsettled_mind.work,
            sleep_loop.SleepRequest(("prune",), patience=1.0),
            "sleeper",
            unsettled_mind.context.now,
            build_event_queue(),
        ).stopped
    )


@pytest.mark.parametrize(
    ("other", "leases"),
    [
        ("sleeper_first", (SETTLE_LEASE,)),
        ("settler_napping", (SETTLE_LEASE, SLEEP_LEASE)),
    ],
)
def test_a_waiting_settler_does_not_take_the_lease_from_a_run(unsettled_mind, other, leases):
    """Nothing waits to be settled while somebody sleeps, and still it is somebody at work."""
    for lease in leases:
        unsettled_mind.store.acquire(lease, other, 60, unsettled_mind.context.now())
    wish = sleep_loop.SleepRequest(("prune",), patience=0.2)
    assert (
        "somebody else is settling"
        == sleep_loop.run_sleep_passes(
            unsettled_mind.work,
            wish,
            "sleeper_second",
            unsettled_mind.context.now,
            build_event_queue(),
        ).stopped
    )
    assert other == unsettled_mind.store.holder(SETTLE_LEASE, unsettled_mind.context.now())


def test_a_run_that_lost_its_lease_does_not_move_the_resume_point(unsettled_mind, monkeypatch):
    """Another one sleeps already: where the next run goes on is not for the first to
    say any more.
    """
    filled_mind(unsettled_mind)
    monkeypatch.setattr("reverie.consolidation.sleep_run.RENEW_SECONDS", 0.0)

    def taken_over():
        for lease in (SETTLE_LEASE, SLEEP_LEASE):
            unsettled_mind.store.release(lease, "sleeper_first")
            unsettled_mind.store.acquire(lease, "sleeper_second", 60, unsettled_mind.context.now())
        unsettled_mind.store.set_meta(PROGRESS_KEY, "")
        return True

    slept = sleep_loop.run_sleep_passes(
        unsettled_mind.work,
        sleep_loop.SleepRequest(SAFE_PASSES, may_continue=taken_over),
        "sleeper_first",
        unsettled_mind.context.now,
        build_event_queue(),
    )
    assert slept.stopped == "somebody else is settling" and not unsettled_mind.store.meta(
        PROGRESS_KEY
    )
    assert {"sleeper_second"} == {
        unsettled_mind.store.holder(lease, unsettled_mind.context.now())
        for lease in (SETTLE_LEASE, SLEEP_LEASE)
    }


@pytest.mark.proves("B83")
def test_clusters_are_found_anew_every_fifty_retrievals(unsettled_mind):
    """After fifty retrievals clusters are renewed once it is quiet; that does not count as a full
    run of sleep.
    """
    filled_mind(unsettled_mind)
    unsettled_mind.sleep()
    clock_of(unsettled_mind).at += 3_600.0
    slept, clusters = (
        unsettled_mind.store.meta(SLEPT_AT),
        unsettled_mind.store.cursor(CLUSTERS_CURSOR),
    )
    unsettled_mind.store.append(
        [
            Event(verb="prepared", space=SPACE, at=unsettled_mind.context.now())
            for _ in range(CLUSTERS_EVERY - 1)
        ]
    )
    assert (
        sleep_if_due(
            unsettled_mind.work,
            "worker",
            unsettled_mind.context.now,
            lambda: True,
            build_event_queue(),
        )
        is None
    )

    unsettled_mind.store.append(
        [Event(verb="prepared", space=SPACE, at=unsettled_mind.context.now())]
    )
    renewed = sleep_if_due(
        unsettled_mind.work, "worker", unsettled_mind.context.now, lambda: True, build_event_queue()
    )
    assert renewed and [one.name for one in renewed.passes] == ["recluster"]
    assert (
        unsettled_mind.store.meta(SLEPT_AT) == slept
        and unsettled_mind.store.cursor(CLUSTERS_CURSOR) > clusters
    )
    assert (
        sleep_if_due(
            unsettled_mind.work,
            "worker",
            unsettled_mind.context.now,
            lambda: True,
            build_event_queue(),
        )
        is None
    )


@pytest.mark.proves("B130", "B131", "B132", "B136")
def test_sleep_is_due_when_quiet_and_enough_is_new(tmp_path):
    """Quiet and late, or quiet and much that is new; never when switched off."""
    on = Settings(home=tmp_path)
    assert is_sleep_due(
        on,
        SleepOutlook(
            quiet_seconds=16 * 60, seconds_since_run=7 * 3600, new_memories=50, unfinished=False
        ),
    )
    assert not is_sleep_due(
        on,
        SleepOutlook(
            quiet_seconds=14 * 60, seconds_since_run=7 * 3600, new_memories=50, unfinished=False
        ),
    )
    assert not is_sleep_due(
        on,
        SleepOutlook(
            quiet_seconds=16 * 60, seconds_since_run=5 * 3600, new_memories=50, unfinished=False
        ),
    )
    assert not is_sleep_due(
        on,
        SleepOutlook(
            quiet_seconds=16 * 60, seconds_since_run=7 * 3600, new_memories=5, unfinished=False
        ),
    )
    assert is_sleep_due(
        on, SleepOutlook(quiet_seconds=90, seconds_since_run=60, new_memories=500, unfinished=False)
    )
    assert is_sleep_due(
        on,
        SleepOutlook(quiet_seconds=16 * 60, seconds_since_run=60, new_memories=0, unfinished=True),
    )
    assert not is_sleep_due(
        on._replace(sleep="off"),
        SleepOutlook(quiet_seconds=1e6, seconds_since_run=1e6, new_memories=1_000, unfinished=True),
    )
    assert (SAFE_PASSES, tuple(PASSES), ("merge", "tags")) == tuple(
        parse_sleep_setting(on._replace(sleep=what)) for what in ("safe", "all", "tags, merge")
    )
    with pytest.raises(BadInput, match="dream"):
        parse_sleep_setting(on._replace(sleep="dream"))


@pytest.mark.proves("B136")
def test_sleep_is_not_due_right_after_a_run(unsettled_mind):
    """A run notes when it was, and how much there was."""
    filled_mind(unsettled_mind, 100)
    unsettled_mind.sleep(["prune"])
    assert assess_outlook(unsettled_mind.store, NOW).new_memories == 100
    unsettled_mind.sleep()
    assert (0, 0.0) == assess_outlook(unsettled_mind.store, NOW)[2:0:-1]


@pytest.mark.proves("B131", "X21")
def test_a_companion_sleeps_when_it_is_quiet(clock, monkeypatch):
    """Beside a conversation the background thread tidies up once nobody has taken a turn for a
    while.
    """
    from reverie.runtime import background_thread

    monkeypatch.setattr(background_thread, "SETTLE_RETRY_SECONDS", 0.02)
    monkeypatch.setattr(background_thread, "MIN_QUIET_SECONDS", 0.0)
    with memory(now=clock) as mind:
        mind.context.settings = mind.settings._replace(sleep="prune, links")
        for i in range(30):
            mind.remember(f"Guess number {i}.", space=SPACE)
        with mind.companion(space=f"{SPACE}/session") as companion:
            companion.turn([{"role": "user", "content": "hello"}])
            assert companion.wait(120)
            time.sleep(0.2)
            assert mind.store.meta("slept_at") is None
            clock.tick(minutes=16)
            end = time.monotonic() + 120
            while mind.store.meta("slept_at") is None and time.monotonic() < end:
                time.sleep(0.01)
            assert (mind.store.meta("slept_at"), companion.trouble) == (repr(clock()), "")


SLEEPER = """
import sys
from bench.common import Given
import reverie
from reverie.core.config import Settings
from pathlib import Path
with reverie.open(settings=Settings(home=Path(sys.argv[1])), embedder=Given(), now=lambda: float(sys.argv[2])) as mind:
    print("begun", flush=True)
    mind.sleep()
"""


@pytest.mark.proves("X21")
def test_a_killed_run_can_continue_and_be_undone(tmp_path):
    """Kill -9 leaves a whole store; the run goes on, and all of it is taken back as one."""
    import reverie

    clock = Clock(NOW - 90 * DAY)
    with reverie.open(settings=Settings(home=tmp_path), embedder=Given(), now=clock) as mind:
        filled_mind(mind, 800)
        before = state(mind)
        for _ in range(2):
            child = subprocess.Popen(
                [sys.executable, "-c", SLEEPER, str(tmp_path), str(NOW)],
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            assert child.stdout
            child.stdout.readline()
            known = len(mind.store.events(verbs=("sleep",), limit=10_000))
            end = time.monotonic() + 120
            while child.poll() is None and time.monotonic() < end:
                if len(mind.store.events(verbs=("sleep",), limit=10_000)) > known:
                    break
                time.sleep(0.005)
            child.send_signal(signal.SIGKILL)
            child.wait()
            child.stdout.close()
            assert [] == mind.data.verify()
        clock.tick(120)  # its lease has run out
        slept = mind.sleep()
        mind.undo(slept.run)
        assert state(mind) == before


@pytest.fixture
def timeouts(unsettled_mind):
    """A mind with two memories that cannot both be so, close together, put down without a look at
    each other.
    """
    texts = [f"The API timeout is {seconds} seconds." for seconds in (30, 45)]
    unsettled_mind.embedder.known.update(
        dict.fromkeys(texts, np.eye(1, Given.dims, dtype=np.float32)[0])
    )
    unsettled_mind.remember_many([{"text": text, "space": SPACE} for text in texts])
    return unsettled_mind


def flagged(slept):
    return next(done.steps for done in slept.passes if done.name == "contradictions")


@pytest.mark.proves("B111")
def test_each_pass_keeps_its_own_progress(timeouts):
    """Each pass compares what is new to it: that one of them has been through takes nothing from
    the rest.
    """
    while embed_pending(timeouts.store, timeouts.embedder):
        pass
    timeouts.sleep(["merge"])
    assert 1 == flagged(timeouts.sleep())


@pytest.mark.proves("B111", "B124")
def test_late_vectors_are_compared_by_the_next_run(timeouts):
    """A night among memories without vectors does not count as having seen them."""
    timeouts.sleep(["contradictions"])
    while embed_pending(timeouts.store, timeouts.embedder):
        pass
    assert 1 == flagged(timeouts.sleep(["contradictions"]))
