# mypy: no-check-untyped-defs
"""New memories meet older ones: through remember, settle, review and undo, over real stores and
processes.
"""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from bench.reconcile.data import fifties, restatements
from bench.reconcile.through import passed
from reverie.core.errors import BadInput, Conflict
from reverie.extraction.rule_extraction import extract_lessons
from reverie.memory.short_ids import shorten_id
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.pipeline.leases import SETTLE_LEASE
from reverie.reconciliation.reconcile_reader import PATIENCE_SECONDS
from reverie.runtime.mind import Mind
from reverie.runtime.settle import READERS, has_work_left, run_settle_step
from reverie.testing import AbsentEmbedder, make_conversation, memory
from tests.support.helpers import run_in_threads, wait_until

SPACE = "me/demo"
TABS = "Use tabs for indentation in this project."


def keep(mind, text, **fields):
    return mind.remember(text, **{"space": SPACE, **fields})


def here(mind, space=SPACE):
    """What counts in the space, oldest first."""
    return sorted(
        (m for m in mind.browse(space=space, limit=1000) if m.space == space), key=lambda m: m.id
    )


def last(mind, verb="reconcile"):
    return mind.store.events(verbs=[verb], newest=True, limit=1)[0]


def copied(mind):
    """Everything canonical, as it is exported; what only says when does not count."""
    return sorted(
        json.dumps(row, sort_keys=True)
        for row in mind.store.dump()
        if row["type"] in ("memory", "edge")
    )


# The same again


@pytest.fixture(scope="module")
def real_model():
    """The real model; its files are fetched once."""
    from reverie.embedding import open_embedder

    kept = os.environ.get("REVERIE_TEST_CACHE")
    if not kept:
        pytest.skip("REVERIE_TEST_CACHE names no folder with the model's files")
    from pathlib import Path

    embedder = open_embedder("minilm", cache=Path(kept))
    yield embedder
    embedder.close()


@pytest.mark.parametrize("group", ["test-first", "tabs", "small-prs"])
@pytest.mark.proves("CC-56", "A81")
def test_many_restatements_are_one_strong_memory(real_model, clock, group):
    """Said in ever other words, a wish is one memory that grows; nothing is lost or taken for
    another.
    """
    kind, texts = restatements()[group]
    with memory(now=clock, embedder=real_model) as mind:
        for place, text in enumerate(texts):
            clock.tick()
            keep(mind, text, kind=kind, session=f"s{place}", provenance="user_stated")
            mind.settle()
        strongest, *rest = sorted(here(mind), key=lambda m: -m.strength)

        assert strongest.strength >= 0.94 * len(texts)
        assert strongest.strength + sum(m.strength for m in rest) == len(texts)
        assert len(strongest.sources) == strongest.strength
        assert {m.text for m in mind.browse(space=SPACE, active=None, limit=1000)} == set(texts)
        assert mind.data.verify() == []


@pytest.mark.proves("CC-56", "A86")
def test_what_contradicts_a_wish_is_not_merged_into_it(real_model):
    """Fifty wordings among ten texts against them, shuffled: no text of one side goes into the
    other.
    """
    passage = passed(fifties()["test-first"], real_model, 3)

    assert passage.settled.wrong == () and passage.slept.wrong == ()
    assert passage.settled.strongest >= 47


@pytest.mark.proves("A79")
def test_a_short_name_finds_its_long_one(real_model, clock):
    """Far apart by their vectors, near by their words: "PRs" are pull requests."""
    with memory(now=clock, embedder=real_model) as mind:
        for text in ("Keep pull requests small.", "PRs should be small."):
            clock.tick()
            keep(mind, text, kind="preference")
        mind.settle()
        assert [m.strength for m in here(mind)] == [2]


@pytest.mark.proves("CC-54", "CC-56", "B104")
def test_the_same_words_fifty_times(mind):
    """Fifty times the same: one memory of strength 50, of fifty sessions; every id is read."""
    ids = [keep(mind, TABS, session=f"s{n}").id for n in range(50)]
    mind.settle()
    (one,) = here(mind)
    assert (one.id, one.strength, len(one.sources)) == (ids[0], 50, 50)
    assert all(m.superseded_by == one.id and m.text == TABS for m in mind.get(ids[1:]))
    assert mind.data.verify() == []


def test_duplicates_within_one_bulk_write_merge(mind):
    """Duplicates within one bulk write are merged as well."""
    mind.remember_many(
        [{"text": TABS}, {"text": "Deploy on fridays only."}, {"text": TABS.upper()}], space=SPACE
    )
    mind.settle()
    assert [m.strength for m in here(mind)] == [2, 1]


@pytest.mark.proves("B106")
def test_remember_does_not_compare(mind):
    """`remember` compares nothing and returns at once; the duplicate is found by settling."""
    keep(mind, TABS)
    again = keep(mind, TABS)
    assert again.active and mind.get(again.id)[0].active
    mind.settle()
    assert mind.get(again.id)[0].retired_why == "merged"


@pytest.mark.proves("A80", "CC-54")
def test_the_story_tells_all_wordings(mind):
    """`explain` lists the merged wordings; no text is lost."""
    one = keep(mind, "Never push to main.", kind="preference")
    keep(mind, "Never push to MAIN!", kind="preference")
    mind.settle()
    assert any("Never push to MAIN!" in line for line in mind.explain(one.id).story)


def test_turns_of_talk_are_not_merged(mind):
    """Two people who say thanks are two events; an imported conversation stays as it was."""
    turns = [
        {"text": "Thanks a lot!", "session": "s1", "speaker": who} for who in ("Ann", "Bob", "Ann")
    ]
    mind.remember_many(turns, space=SPACE)
    mind.settle()
    assert (
        len(here(mind)) == 3
        and mind.data.stats().undecided == 0
        and not mind.store.events(verbs=["reconcile"])
    )


def test_what_a_conversation_teaches_twice_is_one_memory(clock):
    """A lesson that a later conversation repeats makes the first one stronger."""
    wish = "Remember that the staging server is called heron"
    assert extract_lessons([("user", wish)]).lessons
    with memory(now=clock) as mind:
        keep(mind, "The staging server is called heron.", provenance="user_stated", session="old")
        with mind.companion(f"{SPACE}/new") as companion:
            companion.turn(make_conversation(wish))
            assert companion.wait(120)
        mind.settle()
        assert [m.strength for m in here(mind)] == [2] and here(mind)[0].sources == ("old", "new")


def test_a_text_that_was_revised_is_held_against_the_others(mind):
    """A memory that is given the words of another one joins it."""
    keep(mind, TABS)
    other = keep(mind, "Deploy on fridays only.")
    mind.settle()
    mind.revise(other.id, text=TABS)
    mind.settle()
    assert [m.strength for m in here(mind)] == [2]


@pytest.mark.proves("CC-55", "X15")
def test_a_global_wish_survives_its_duplicate_in_a_project(mind):
    """A new wish of the user's own survives its duplicate in a project, which then strengthens it."""
    keep(mind, TABS)
    mind.settle()
    own = keep(mind, TABS, space="me")
    mind.settle()
    assert len(here(mind)) == 1 and len(here(mind, "me")) == 1
    keep(mind, TABS, space="me/other")
    mind.settle()
    assert here(mind, "me/other") == [] and mind.get(own.id)[0].strength == 2


@pytest.mark.proves("CC-55", "X15")
def test_a_projects_trigger_survives(mind):
    """A rule that a project ties to a pattern still warns there after the user's own rule met it."""
    rule = "Never use println in library code."
    keep(mind, rule, space="me", kind="negative")
    keep(mind, rule, space="me/z", kind="negative", triggers=["println!"])
    for _ in range(2):
        assert mind.warnings("Edit", {"new": "println!(1)"}, space="me/z")
        mind.settle()


# Undoing


@pytest.mark.proves("A89", "X22")
def test_undoing_brings_everything_back(mind):
    """Taking back what was done unasked leaves memories and edges as they were, and it is not done
    again.
    """
    keep(mind, TABS)
    before = keep(mind, TABS, tags=["style"])
    there = copied(mind)
    mind.settle()
    assert len(here(mind)) == 1
    mind.undo(last(mind).seq)
    assert copied(mind) == there
    mind.revise(before.id, text=TABS + " ")
    mind.settle()
    assert len(here(mind)) == 2
    mind.undo(last(mind, "undo").seq)  # the decision is taken back: the question is open again
    mind.undo(last(mind, "undo").seq)
    assert len(here(mind)) == 2


@pytest.mark.proves("A89")
def test_restoring_a_wording_takes_it_out_of_the_other(mind):
    """What was merged stands by itself again: strength and breadcrumbs are as without it, and it
    stays apart.
    """
    one = keep(mind, TABS, session="s1")
    two = keep(mind, TABS + "!", session="s2")
    three = keep(mind, TABS, session="s3")
    mind.settle()
    mind.restore(two.id)
    kept = mind.get(one.id)[0]
    assert (kept.strength, kept.sources) == (2, ("s1", "s3")) and mind.get(three.id)[
        0
    ].superseded_by == one.id
    mind.settle()
    assert [m.id for m in here(mind)] == [one.id, two.id]


# Contradictions


PORT, MOVED = (
    "The dev server runs on port 8080.",
    "The dev server no longer runs on port 8080, it is on 9090 now.",
)


@pytest.fixture
def real_mind(real_model, clock):
    with memory(now=clock, embedder=real_model) as mind:
        yield mind


@pytest.mark.proves("A85", "A87", "A88", "A89", "CC-5")
def test_an_explicit_change_supersedes(real_mind, clock):
    """An explicit change replaces what it changes; that stays readable and can be brought back."""
    old = keep(real_mind, PORT)
    clock.tick()
    new = keep(real_mind, MOVED)
    real_mind.settle()
    assert [m.id for m in here(real_mind)] == [new.id]
    assert real_mind.explain(old.id).superseded_by == new.id
    real_mind.restore(old.id)
    real_mind.settle()
    assert len(here(real_mind)) == 2


@pytest.mark.proves("A83", "CC-57")
def test_a_correction_wins(real_mind, clock):
    """What the user puts right replaces what was observed, with no sign but that it is a
    correction.
    """
    old = keep(real_mind, PORT)
    clock.tick()
    new = keep(
        real_mind,
        "The dev server runs on port 9090.",
        kind="correction",
        provenance="user_corrected",
    )
    real_mind.settle()
    assert real_mind.get(old.id)[0].superseded_by == new.id and here(real_mind) == real_mind.get(
        new.id
    )


@pytest.mark.parametrize(
    ("old", "new"), [("user_stated", "inferred"), ("user_corrected", "user_stated")]
)
@pytest.mark.proves("CC-57", "CC-6", "A86", "B124")
def test_a_weaker_source_is_flagged(real_mind, old, new):
    """Both stay and know of each other; the queue asks."""
    one = keep(real_mind, PORT, provenance=old)
    other = keep(real_mind, MOVED, provenance=new)
    real_mind.settle()
    assert [m.conflicts_with for m in here(real_mind)] == [(other.id,), (one.id,)]
    (case,) = real_mind.review.cases(space=SPACE)
    assert (case.kind, case.one.id, case.other.id, case.event) == (
        "contradiction",
        one.id,
        other.id,
        last(real_mind).seq,
    )
    assert real_mind.data.stats().undecided == 1


# The queue


@pytest.fixture
def conflicting_pair(mind):
    """A pair that waits for a decision, and a third memory."""
    one, other = (
        keep(mind, "Tabs are used.", tags=["a"]),
        keep(mind, "Spaces are used.", tags=["b"]),
    )
    keep(mind, "The heron is a bird.")
    mind.settle()
    mind.link(one.id, other.id, "contradicts")
    return one.id, other.id


@pytest.mark.parametrize(
    ("decision", "left"), [("one", [0]), ("other", [1]), ("both", [0, 1]), ("merge", [0])]
)
@pytest.mark.proves("B124", "B134")
def test_a_review_decision_holds_and_can_be_undone(mind, conflicting_pair, decision, left):
    """Keep either, both or one of both: the pair is not asked about again, and all of it can be
    undone.
    """
    before = copied(mind)
    mind.review.resolve(*conflicting_pair, decision)
    assert [m.id for m in here(mind) if m.id in conflicting_pair] == [
        conflicting_pair[n] for n in left
    ]
    assert mind.review.cases(space=SPACE) == [] and mind.data.stats().undecided == 0
    assert all(not m.conflicts_with for m in mind.get(list(conflicting_pair)))
    assert last(mind, "review").payload["decision"] == decision
    mind.undo(last(mind, "review").seq)
    assert copied(mind) == before and len(mind.review.cases(space=SPACE)) == 1


@pytest.mark.proves("B134")
def test_editing_makes_one_of_two(mind, conflicting_pair):
    """A new text for both: tags united, the old wordings readable, secrets taken out; one event."""
    mind.review.resolve(
        *conflicting_pair,
        "edit",
        text="Tabs, and spaces in YAML; the key is sk-ant-api03-" + "a1B2" * 24,
    )
    one, other = mind.get(list(conflicting_pair))
    assert one.text.startswith("Tabs, and spaces in YAML") and "a1B2a1B2" not in one.text
    assert (one.tags, other.text, other.superseded_by) == (("a", "b"), "Spaces are used.", one.id)
    mind.undo(last(mind, "review").seq)
    assert [m.text for m in mind.get(list(conflicting_pair))] == [
        "Tabs are used.",
        "Spaces are used.",
    ]


@pytest.mark.proves("CC-14")
def test_reading_the_review_queue_changes_nothing(mind, conflicting_pair):
    """Reading the queue leaves no trace."""
    before = list(mind.store.dump())
    mind.review.cases(space=SPACE)
    assert list(mind.store.dump()) == before


@pytest.mark.proves("X22")
def test_a_pair_that_was_kept_is_left_alone(mind):
    """Two that a person wants both are not merged later, whatever their words."""
    one, other = keep(mind, TABS), keep(mind, "Deploy on fridays only.")
    mind.settle()
    mind.review.resolve(one.id, other.id, "both")
    mind.revise(other.id, text=TABS)
    mind.settle()
    assert len(here(mind)) == 2 and mind.review.cases(space=SPACE) == []


@pytest.mark.proves("CC-87")
def test_the_queue_is_not_flooded(real_mind):
    """A list of much alike wishes asks about three a wish and seldom more, by day and by night."""
    real_mind.remember_many(
        [{"text": f"I prefer option {n} for case {n}."} for n in range(40)], space=SPACE
    )
    real_mind.settle()
    for _ in range(2):
        cases = real_mind.review.cases(space=SPACE, limit=1000)
        asked = Counter(memory.id for case in cases for memory in (case.one, case.other))
        assert cases and max(asked.values()) <= 5 and len(cases) <= 1.5 * 40 + 5
        real_mind.sleep()


@pytest.mark.proves("CC-11", "CC-55")
def test_a_successor_is_visible_where_the_memory_was(mind):
    """What takes a memory's place must be seen wherever that was: in its space or above it."""
    one, other = keep(mind, TABS, space="me/y1"), keep(mind, "Spaces!", space="me/y2")
    own = keep(mind, "Tabs.", space="me")
    for old, new in ((one, other), (own, one)):
        for act in (
            lambda a, b: mind.supersede(a, b),
            lambda a, b: mind.link(b, a, "supersedes"),
            lambda a, b: mind.review.resolve(b, a, "merge"),
            lambda a, b: mind.review.resolve(b, a, "one"),
            lambda a, b: mind.review.resolve(a, b, "other"),
            lambda a, b: mind.review.resolve(b, a, "edit", text="Tab."),
        ):
            with pytest.raises(BadInput, match="could not see"):
                act(old.id, new.id)
    assert all(memory.active for memory in mind.get([one.id, other.id, own.id]))
    mind.supersede(one.id, own.id)
    assert mind.review.resolve(own.id, other.id, "both")


@pytest.mark.proves("CC-14")
def test_the_queue_reads_a_history_once(mind, monkeypatch):
    """However many questions name a memory, what was done to it is read once."""
    one, *others = [
        keep(mind, text)
        for text in ("Tabs.", "Herons fly.", "Deploy on fridays.", "Cats like fish.")
    ]
    mind.settle()
    for other in others:
        mind.link(one.id, other.id, "contradicts")
    read, history = [], type(mind.store).history
    monkeypatch.setattr(
        type(mind.store), "history", lambda self, id: read.append(id) or history(self, id)
    )
    cases = mind.review.cases(space=SPACE)
    assert (
        len(cases) == 3 and all(case.event for case in cases) and len(read) == len(set(read)) == 1
    )


@pytest.mark.proves("X22")
def test_a_decision_is_read_once(mind, monkeypatch):
    """Who asks again what is decided reads only what came since; what is taken back is open again."""
    one, other = keep(mind, TABS), keep(mind, "Deploy on fridays only.")
    mind.settle()
    mind.review.resolve(one.id, other.id, "both")
    pair = frozenset((one.id, other.id))
    assert load_settled_pairs(mind.store) == {pair}
    read = []
    events = type(mind.store).events
    monkeypatch.setattr(
        type(mind.store), "events", lambda *a, **k: read.append(found := events(*a, **k)) or found
    )
    assert load_settled_pairs(mind.store) == {pair} and not any(read)
    mind.undo(last(mind, "review").seq)
    assert load_settled_pairs(mind.store) == set()
    mind.review.resolve(one.id, other.id, "both")
    assert load_settled_pairs(mind.store) == {pair}


@pytest.mark.parametrize(
    "wrong",
    [
        {"decision": "maybe"},
        {"decision": "edit"},
        {"decision": "one", "text": "x"},
    ],
)
def test_a_decision_must_be_one(mind, conflicting_pair, wrong):
    with pytest.raises(BadInput):
        mind.review.resolve(*conflicting_pair, **wrong)


@pytest.mark.proves("CC-13")
def test_a_decision_about_a_forgotten_memory_is_refused(mind, conflicting_pair):
    """A memory that was forgotten while somebody looked at the queue stays forgotten."""
    mind.forget(conflicting_pair[1])
    with pytest.raises(BadInput, match="does not count"):
        mind.review.resolve(*conflicting_pair, "merge")
    assert mind.review.cases(space=SPACE) == []


def test_another_space_is_not_asked_about(mind, conflicting_pair):
    """The queue of a project shows that project and what lies above it."""
    assert (
        mind.review.cases(space="me/else") == []
        and len(mind.review.cases(space=f"{SPACE}/session")) == 1
    )
    assert mind.review.cases(space=SPACE, limit=0) == []


# Others at the same time


@pytest.mark.proves("CC-13", "X45")
def test_forgetting_meanwhile_prevents_a_merge(clock, monkeypatch):
    """What a decision rests on is looked at again: a memory that was just forgotten takes nothing
    in.
    """
    from reverie.reconciliation import reconcile_reader

    with memory(now=clock) as mind:
        one = keep(mind, TABS)
        mind.settle()
        two = keep(mind, TABS)
        decide, times = reconcile_reader.reconcile_event, []

        def meanwhile(work, event):
            decision = decide(work, event)
            if not times:
                mind.forget(one.id)
            times.append(decision)
            return decision

        monkeypatch.setattr(
            "reverie.runtime.settle.READERS",
            tuple(
                reader._replace(decide=meanwhile) if reader.name == "reconcile" else reader
                for reader in READERS
            ),
        )
        mind.settle()
        assert [bool(decision.changes) for decision in times] == [True, False]
        assert [m.id for m in here(mind)] == [two.id] and mind.get(one.id)[
            0
        ].retired_why == "forgotten"


def test_two_settlers_count_a_repetition_once(tmp_path, clock):
    """Two settlers on one file, one of which slept through its lease: strength counts every
    repetition once.
    """
    with memory(tmp_path / "h", now=clock) as one, memory(tmp_path / "h", now=clock) as two:
        one.remember_many([{"text": TABS}] * 5, space=SPACE)
        for _ in range(5):
            keep(one, TABS)
        run_in_threads(
            *(lambda m=m: [run_settle_step(m.work) for _ in range(4)] for m in (one, two))
        )
        one.settle()
        assert [m.strength for m in here(one)] == [10] and not one.store.events(verbs=["failed"])


REMEMBER = """
import sys
from reverie.testing import memory
with memory(sys.argv[1]) as mind:
    for n in range(20):
        mind.remember("Use tabs for indentation in this project.", space="me/demo", session=f"{sys.argv[2]}-{n}")
        mind.settle()
"""


@pytest.mark.proves("CC-12", "CC-56")
def test_two_processes(tmp_path):
    """Two processes that write and settle the same words leave one memory that counts them all."""
    running = [
        subprocess.Popen([sys.executable, "-c", REMEMBER, str(tmp_path / "h"), name])
        for name in "ab"
    ]
    assert [process.wait(120) for process in running] == [0, 0]
    with memory(tmp_path / "h") as mind:
        mind.settle()
        (one,) = here(mind)
        assert (one.strength, len(one.sources)) == (40, 40) and mind.data.verify() == []


@pytest.mark.proves("A83", "CC-57")
def test_a_superseded_belief_is_not_injected(clock):
    """A block that was prepared before a belief was replaced does not bring it back."""
    with memory(now=clock, embedder="none") as mind:
        old = keep(mind, "The staging server is called heron and its deploys need a ticket.")
        mind.settle()
        clock.tick()
        assert mind.store.acquire(
            SETTLE_LEASE, "somebody else", 60, clock()
        )  # nobody settles for now
        with mind.companion(f"{SPACE}/s") as companion, mind.companion(f"{SPACE}/t") as another:
            companion.turn(make_conversation("good morning, lovely weather"))
            companion.turn(
                make_conversation(
                    "good morning, lovely weather", "which staging server do deploys go to"
                )
            )
            assert companion.wait(120) and waiting(companion) == [old.id]
            keep(
                mind,
                "The staging server is no longer called heron, it is called crane now.",
                provenance="user_corrected",
            )
            mind.store.release(SETTLE_LEASE, "somebody else")
            another.turn(make_conversation("Good morning."))
            wait_until(lambda: not mind.get(old.id)[0].active)
            wait_until(lambda: not waiting(companion))


def waiting(companion):
    """The memories in the block that waits for a conversation's next turn."""
    return [id for block in list(companion.conversation.slot) for id in block.ids]


# Without a model


@pytest.mark.proves("CC-86")
def test_words_decide_where_there_is_no_embedder(clock):
    """Nothing waits for vectors that will never come; near repetitions are reported by their words."""
    with memory(now=clock, embedder="none") as mind:
        one = keep(mind, "The staging server heron needs a ticket for every deploy.")
        other = keep(mind, "The staging server heron needs a ticket for each deploy.")
        keep(mind, "Cats like fish.")
        mind.settle()
        assert not has_work_left(mind.work)
        tied = mind.store.edges([one.id, other.id], ("resembles",))
        merged = mind.get(other.id)[0].superseded_by == one.id
        assert merged or [(e.src, e.dst) for e in tied] == [(other.id, one.id)]


@pytest.mark.proves("CC-87")
def test_a_runaway_loop_makes_one_memory(clock):
    """83 times nearly the same, in an empty store: everything from the second on is told or taken
    in.
    """
    with memory(now=clock, embedder="none") as mind:
        ids = [
            keep(mind, f"Still waiting for the build to finish, attempt {n}").id for n in range(83)
        ]
        mind.settle()
        tied = {
            end
            for e in mind.store.edges_between(("resembles", "contradicts"), limit=9999)
            for end in (e.src, e.dst)
        }
        merged = {m.id for m in mind.get(ids) if not m.active}
        assert set(ids[1:]) <= tied | merged
        assert mind.data.stats().undecided <= 3 * 83


@pytest.mark.proves("A98")
def test_an_embedder_that_does_not_answer_is_waited_for_and_then_not(clock):
    """An hour is given to a model that is not there; then words must do, and nothing waits for
    ever.
    """
    with memory(now=clock, embedder=AbsentEmbedder()) as mind:
        keep(mind, TABS), keep(mind, TABS)
        mind.settle()
        assert mind.store.cursor("reconcile") == 0 and len(here(mind)) == 2
        clock.tick(PATIENCE_SECONDS + 1)
        assert mind.settle().events >= 2 and [m.strength for m in here(mind)] == [2]
        assert mind.settle().events == 0


@pytest.mark.proves("A98")
def test_offline_without_a_model_words_decide_at_once(clock):
    """Nothing may be fetched, so nothing is to be waited for; a vector that can be had is still
    waited for.
    """
    with memory(now=clock, embedder=AbsentEmbedder()) as mind:
        keep(mind, TABS), keep(mind, TABS)
        off = Mind(mind.store, mind.embedder, mind.settings._replace(offline=True), clock)
        off.settle()
        assert off.store.cursor("reconcile") == 2 and [m.strength for m in here(mind)] == [2]


def test_memory_that_is_off_is_left_alone(clock):
    """Where memory is switched off nothing is merged."""
    with memory(now=clock) as mind:
        keep(mind, TABS), keep(mind, TABS)
        off = Mind(mind.store, mind.embedder, mind.settings._replace(off=(SPACE,)), clock)
        off.settle()
        assert len(here(mind)) == 2


# On the command line


@pytest.mark.proves("X43", "B124")
def test_review_on_the_command_line(tmp_path, monkeypatch):
    """List, decide by option, by key, and by a new text; --json everywhere; the count in status."""
    from typer.testing import CliRunner

    from reverie.interfaces.cli.app import app

    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('embedder = "toy"\nidle = 0\n')
    monkeypatch.setenv("REVERIE_HOME", str(home))

    def run(*words, code=0, **more):
        result = CliRunner().invoke(app, ["--space", SPACE, *words], **more)
        assert result.exit_code == code, (result.output, result.stderr)
        return result.stdout

    def kept(*texts):
        ids = [json.loads(run("remember", text, "--json"))["memory"]["id"] for text in texts]
        run("memory", "link", *ids, "--rel", "contradicts")
        return ids

    assert "Nothing waits" in run("review")
    one, other = kept("tabs it is", "spaces it is")
    assert (
        shorten_id(one) in run("review", "--list")
        and json.loads(run("status", "--json"))["to_decide"] == 1
    )
    assert json.loads(run("review", "--json"))["cases"][0]["other"]["id"] == other
    run("review", one, code=2)
    run("review", one, other, "--keep", "never", code=2)
    assert (
        json.loads(run("review", one, other, "--keep", "one", "--json"))["memories"][1][
            "superseded_by"
        ]
        == one
    )
    assert "undo" in run("review", *kept("a b c", "d e f"), "--text", "abcdef")
    kept("red", "green"), kept("yes", "no")
    assert "Decided 1 of 2" in run("review", "--ask", input="x\n2\nq\n")
    assert "Decided 1 of 1" in run("review", "--ask", input="e\nboth colours\n")
    assert json.loads(run("status", "--json"))["to_decide"] == 0


@pytest.mark.proves("CC-13")
def test_undo_refuses_one_of_many_repetitions(mind):
    """Undoing one of many repetitions would lose the others: restore does it."""
    for _ in range(3):
        keep(mind, TABS)
    mind.settle()
    first = mind.store.events(verbs=["reconcile"], limit=1)[0].seq
    with pytest.raises(Conflict):
        mind.undo(first)


@pytest.mark.proves("A87")
def test_two_memories_cannot_replace_each_other(mind):
    """Neither would count, and nobody would know which was meant: the one that stepped back is
    restored first.
    """
    one, two, three = (
        keep(mind, f"The server is called {name}.").id for name in ("heron", "crane", "stork")
    )
    mind.supersede(one, two)
    mind.supersede(two, three)
    with pytest.raises(Conflict, match=f"restore {one}"):
        mind.supersede(three, one)
    with pytest.raises(Conflict, match=f"restore {one}"):
        mind.link(one, three, "supersedes")
    assert [m.id for m in here(mind)] == [three]
    mind.restore(one)
    mind.supersede(three, one)
    assert [m.id for m in here(mind)] == [one]


@pytest.mark.proves("X21")
def test_undo_does_not_lead_two_memories_round_in_a_circle(mind):
    """One restored, the other merged into it, and then the restoring taken back: both would be out
    of sight.
    """
    old = keep(mind, TABS)
    new = keep(mind, TABS)
    mind.settle()
    mind.restore(new.id)
    restoring = last(mind, "restore").seq
    mind.review.resolve(new.id, old.id, "merge")
    with pytest.raises(Conflict, match="restore"):
        mind.undo(restoring)
    assert [m.id for m in here(mind)] == [new.id]
    mind.undo(last(mind, "review").seq)
    mind.undo(restoring)
    assert [m.id for m in here(mind)] == [old.id]
