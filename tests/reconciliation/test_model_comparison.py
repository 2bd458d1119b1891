# mypy: no-check-untyped-defs
"""Where rules are unsure about a pair, a language model is asked; played by a real server on
loopback.
"""

import json

import numpy as np
import pytest

from reverie.core.model import UNDECIDED_RELATIONS
from reverie.embedding.toy import ToyEmbedder
from reverie.reconciliation import model_weighing
from reverie.testing import SPACE, memory
from tests.support.helpers import wait_until
from tests.support.scripted import Slow, Status, scripted

OLD, NEW = "Never push to main.", "Do not push directly to the main branch."
LATE = "Never push to main after 18:00."


class Alike(ToyEmbedder):
    """A toy to which all texts are much alike: cosines from 0.85 on, as a model gives to two about
    the same.
    """

    def embed(self, texts):
        found = super().embed(texts)
        found = 0.39 * found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6)
        found[:, 0] += 0.92
        return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def says(relation, confidence=0.9):
    return json.dumps({"relation": relation, "confidence": confidence, "why": "because"})


@pytest.fixture
def open_compared_mind(clock):
    """A function that opens a mind with a scripted model, keeps two memories and settles."""
    minds = []

    def opening(script, new=NEW, one=None, other=None, **settings):
        mind = memory(now=clock, llm=script.openai, embedder=Alike(), **settings)
        minds.append(mind)
        first = mind.remember(OLD, space=SPACE, **(one or {}))
        mind.settle()
        clock.tick(60)
        second = mind.remember(new, space=SPACE, **(other or {}))
        mind.settle()
        return mind, first.id, second.id

    yield opening
    for mind in minds:
        mind.close()


def texts(mind):
    return sorted(m.text for m in mind.browse(space=SPACE))


def open_ties(mind):
    return [edge.rel for edge in mind.store.edges_between(UNDECIDED_RELATIONS)]


def outcomes(mind):
    return [event.payload["outcomes"] for event in mind.store.events(verbs=["weigh"])]


def state(mind):
    """Memories and links, without vectors."""
    return sorted(
        json.dumps(row, sort_keys=True)
        for row in mind.data.export(log=False)
        if row["type"] != "vector"
    )


@pytest.mark.parametrize(
    ("answer", "outcome", "left", "ties"),
    [
        (says("same"), "merged", [OLD], []),
        (says("updates"), "superseded", [NEW], []),
        (says("contradicts"), "flagged", [NEW, OLD], ["contradicts"]),
        (says("apart"), "parted", [NEW, OLD], []),
        (says("near"), "left", [NEW, OLD], ["resembles"]),
        (says("same", 0.5), "left", [NEW, OLD], ["resembles"]),
        (says("apart", 0.5), "left", [NEW, OLD], ["resembles"]),
    ],
)
@pytest.mark.proves("A80", "A83", "A84", "A85", "A86", "CC-57", "CC-71")
def test_a_models_verdict_is_applied(open_compared_mind, answer, outcome, left, ties):
    """The question is answered, counted, and taken back by one undo."""
    with scripted(answer) as script:
        mind, old, new = open_compared_mind(script)
        assert (left, ties, [{outcome: 1}]) == (texts(mind), open_ties(mind), outcomes(mind))
        assert [("older", OLD), ("newer", NEW)] == [
            (row["which"], row["note"]) for row in script.rows()
        ]
        (event,) = mind.store.events(verbs=["weigh"])
        if outcome != "left":
            mind.undo(event.seq)
            assert ([NEW, OLD], ["resembles"]) == (texts(mind), open_ties(mind))
            assert [(), ()] == [m.conflicts_with for m in mind.get([old, new])]
        mind.settle()
        assert 1 == len(script.asked)
        assert [] == mind.data.verify()


@pytest.mark.proves("B135")
def test_taking_it_back_is_the_way_back(open_compared_mind, clock):
    """Undo leaves memories and links as they were before the model was asked."""
    with scripted(Status(500), says("updates")) as script:
        mind, _, _ = open_compared_mind(script)
        before = state(mind)
        clock.tick(600)
        mind.settle()
        assert before != state(mind)
        (event,) = mind.store.events(verbs=["weigh"])
        mind.undo(event.seq)
        plain = [
            {k: v for k, v in json.loads(row).items() if k != "updated_at"} for row in state(mind)
        ]
        assert [
            {k: v for k, v in json.loads(row).items() if k != "updated_at"} for row in before
        ] == plain


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Sure!",
        "[]",
        "{}",
        '{"relation": "delete"}',
        '{"relation": "same", "confidence": 99}',
        Status(400),
        '{"relation": "same"} {"relation": "apart"}',
        '{"relation": ["same"], "retire": ["mem_1"], "trust": 1}',
    ],
)
@pytest.mark.proves("CC-34", "CC-71")
def test_a_useless_answer_changes_nothing(open_compared_mind, answer):
    """Malformed, hostile, empty, rejected: counted, and the pair waits for a person as before."""
    with scripted(answer) as script:
        mind, _, _ = open_compared_mind(script)
        assert ([NEW, OLD], ["resembles"], [{"no answer": 1}]) == (
            texts(mind),
            open_ties(mind),
            outcomes(mind),
        )
        assert [] == mind.store.events(verbs=["failed"])
        mind.settle()
        assert 1 == len(script.asked)


SOURCES = ["user_corrected", "user_stated", "observed", "extracted", "inferred"]


@pytest.mark.parametrize("relation", ["same", "updates", "contradicts", "apart"])
@pytest.mark.parametrize("place", range(1, len(SOURCES)))
@pytest.mark.proves("CC-57", "CC-71")
def test_a_less_trusted_memory_never_supersedes(open_compared_mind, relation, place):
    """Whatever a model says, the better trusted memory goes on counting."""
    with scripted(says(relation, 1.0)) as script:
        mind, old, _ = open_compared_mind(
            script, one={"provenance": SOURCES[place - 1]}, other={"provenance": SOURCES[place]}
        )
        assert mind.get([old])[0].active
        assert script.asked


def test_the_better_source_stays_when_both_say_the_same(open_compared_mind):
    """Also where it came later: it is the other wording that steps back."""
    with scripted(says("same")) as script:
        mind, old, new = open_compared_mind(
            script, one={"provenance": "inferred"}, other={"provenance": "user_corrected"}
        )
        assert [NEW] == texts(mind)
        assert ("merged", new) == (mind.get([old])[0].retired_why, mind.get([old])[0].superseded_by)


@pytest.mark.proves("B109", "B122")
def test_a_merge_by_a_model_loses_no_number(open_compared_mind):
    """The memory that stays holds every number of the other, whatever the model says."""
    with scripted(says("same")) as script:
        mind, _, _ = open_compared_mind(script, new=LATE)
        assert [LATE] == texts(mind)
    with scripted(says("same")) as script:
        mind, _, _ = open_compared_mind(script, new=LATE, one={"provenance": "user_stated"})
        assert ([LATE, OLD], [{"left": 1}]) == (texts(mind), outcomes(mind))


def test_a_flag_that_was_wrong_is_taken_away(open_compared_mind):
    """A contradiction that rules were not sure of: neither memory is contradicted any more, and
    undo flags both.
    """
    with scripted(says("apart")) as script:
        mind, old, new = open_compared_mind(script, new="Push straight to main.")
        flagged = [m.conflicts_with for m in mind.get([old, new])]
        assert ([(), ()], []) == (flagged, open_ties(mind))
        mind.undo(mind.store.events(verbs=["weigh"])[0].seq)
        assert [(new,), (old,)] == [m.conflicts_with for m in mind.get([old, new])]


@pytest.mark.proves("X22")
def test_an_undone_pair_is_not_asked_again(open_compared_mind):
    """The pair is decided: neither sleep nor a review brings it up."""
    with scripted(says("apart")) as script:
        mind, _, _ = open_compared_mind(script)
        mind.sleep(["merge", "redundancy", "contradictions"], afresh=True)
        mind.settle()
        assert ([], [], 1) == (open_ties(mind), mind.review.cases(space=SPACE), len(script.asked))


def test_rules_that_are_sure_are_not_asked_about(open_compared_mind):
    """A plain contradiction is flagged for a person; no question, no cost."""
    with scripted(says("apart")) as script:
        mind, _, _ = open_compared_mind(script, new="Always push to main.")
        assert (["contradicts"], []) == (open_ties(mind), script.asked)


@pytest.mark.parametrize("answer", [Status(500), Status(429), Status(401)])
@pytest.mark.proves("CC-63")
def test_a_model_that_is_away_loses_nothing(open_compared_mind, clock, answer):
    """The cursor stays; when the model is back, the pair is asked about."""
    with scripted(answer, says("same")) as script:
        mind, _, _ = open_compared_mind(script)
        before = mind.store.cursor(model_weighing.NAME)
        mind.settle()
        assert (1, ["resembles"], []) == (len(script.asked), open_ties(mind), outcomes(mind))
        assert (
            before
            == mind.store.cursor(model_weighing.NAME)
            < mind.store.events(verbs=["reconcile"])[-1].seq
        )
        clock.tick(600)
        mind.settle()
        assert (2, [OLD]) == (len(script.asked), texts(mind))


TIMES_OUT = ("The API times out after 30 seconds.", "API calls are cut off after 30 seconds.")


def both_pairs(mind, clock):
    """Two pairs, tied in one event."""
    mind.remember_many([{"text": OLD}, {"text": TIMES_OUT[0]}], space=SPACE)
    mind.settle()
    clock.tick(60)
    mind.remember_many([{"text": NEW}, {"text": TIMES_OUT[1]}], space=SPACE)
    mind.settle()


def test_one_bad_answer_does_not_spoil_the_others(clock):
    """Each pair of an event is a question of its own; what follows is one event."""
    with (
        scripted("nonsense", says("same")) as script,
        memory(now=clock, llm=script.openai, embedder=Alike()) as mind,
    ):
        both_pairs(mind, clock)
        assert [{"no answer": 1, "merged": 1}] == outcomes(mind)
        assert (3, ["resembles"], 2) == (len(texts(mind)), open_ties(mind), len(script.asked))


def test_a_model_that_fails_half_way_changes_nothing(clock):
    """Half of the answers change nothing: the event is one transaction, and is read again."""
    with (
        scripted(says("same"), Status(500), says("same")) as script,
        memory(now=clock, llm=script.openai, embedder=Alike()) as mind,
    ):
        both_pairs(mind, clock)
        assert (4, 2, []) == (len(texts(mind)), len(script.asked), outcomes(mind))
        clock.tick(600)
        mind.settle()
        assert (2, [{"merged": 2}]) == (len(texts(mind)), outcomes(mind))


def test_many_pairs_are_not_all_asked_about(clock, monkeypatch):
    """At most MOST pairs of an event; the rest waits for a person."""
    monkeypatch.setattr(model_weighing, "MAX_PAIRS", 1)
    with (
        scripted(says("same")) as script,
        memory(now=clock, llm=script.openai, embedder=Alike()) as mind,
    ):
        both_pairs(mind, clock)
        mind.settle()
        assert (1, 3, ["resembles"]) == (len(script.asked), len(texts(mind)), open_ties(mind))


def test_an_empty_budget_waits(open_compared_mind, clock):
    """What does not fit into today's tokens is asked tomorrow."""
    with scripted(says("same")) as script:
        mind, _, _ = open_compared_mind(script, llm_tokens_per_day=1_000)
        assert [] == script.asked
        mind.llm.limits = mind.llm.limits._replace(tokens=100_000)
        clock.tick(days=1)
        mind.settle()
        assert [OLD] == texts(mind)


def test_three_times_too_slow_is_a_failure(open_compared_mind, clock, monkeypatch):
    """An event that the model never finishes must not hold up all others."""
    from reverie.llm import pair_task

    whole = pair_task.build_comparison_request
    monkeypatch.setattr(
        pair_task,
        "build_comparison_request",
        lambda *args: whole(*args)._replace(timeout_seconds=1.0),
    )
    with scripted(Slow("{}", 20.0)) as script:
        mind, _, _ = open_compared_mind(script)
        for _ in range(2):
            clock.tick(31)
            mind.settle()
        (failed,) = mind.store.events(verbs=["failed"])
        assert (model_weighing.NAME, ["resembles"]) == (failed.payload["reader"], open_ties(mind))
        wait_until(lambda: len(script.asked) == 3)  # what was sent may still be on its way


@pytest.mark.parametrize("meanwhile", ["resolve", "revise", "forget"])
def test_a_persons_decision_meanwhile_stands(open_compared_mind, clock, meanwhile):
    """What was decided or altered while the model thought stands (rests_on is read again)."""

    def late(_request):
        if meanwhile == "resolve":
            mind.review.resolve(old, new, "both")
        elif meanwhile == "revise":
            mind.revise(new, text="Do not push directly to the main branch, ask Ada.")
        else:
            mind.forget(old)
        return says("same")

    with scripted(Status(500), late, says("near")) as script:
        mind, old, new = open_compared_mind(script)
        clock.tick(600)
        mind.settle()
        assert {"too late": 1} == outcomes(mind)[0]
        assert mind.get([new])[0].active
        assert mind.get([old])[0].retired_why != "merged"


def test_links_behind_a_decision_are_read_again(open_compared_mind, clock, monkeypatch):
    """Somebody who only unties the pair, between the decision and the transaction, is not
    overruled.
    """
    whole = model_weighing.decide_answers

    def meddling(work, asked):
        decision = whole(work, asked)
        if mind.review.cases(space=SPACE):
            mind.review.resolve(old, new, "both")
        return decision

    with scripted(Status(500), says("same")) as script:
        mind, old, new = open_compared_mind(script)
        monkeypatch.setattr(model_weighing, "decide_answers", meddling)
        clock.tick(600)
        mind.settle()
        assert [NEW, OLD] == texts(mind)


def test_pairs_that_sleep_finds_are_asked_about(clock):
    """What sleep ties is weighed as well."""
    with (
        scripted(says("same")) as script,
        memory(now=clock, embedder="none", llm=script.openai) as bare,
    ):
        for text in (OLD, NEW):
            bare.remember(text, space=SPACE)
            clock.tick(60)
        old, new = sorted(bare.browse(space=SPACE), key=lambda m: m.at)
        from reverie.core.model import Edge, Event, Link

        bare.settle()
        bare.store.apply(
            [Link(Edge(new.id, "resembles", old.id))],
            Event(
                "sleep",
                SPACE,
                clock(),
                payload={"run": 1, "pass": "redundancy", "pairs": [[new.id, old.id, "near"]]},
            ),
        )
        bare.settle()
        assert [OLD] == texts(bare)


def test_where_memory_is_off_nothing_is_sent(open_compared_mind, clock):
    """Switched off after the pair was tied: the model is not told of it."""
    with scripted(Status(500), says("same")) as script:
        mind, _, _ = open_compared_mind(script)
        mind.context.settings = mind.settings._replace(off=(SPACE,))
        clock.tick(600)
        mind.settle()
        assert 1 == len(script.asked)


def test_a_superseded_memory_leaves_waiting_blocks(clock):
    """What a model retires while a companion is at work is not given from a block any more."""

    def either(request):
        return says("updates") if "older" in json.dumps(request["messages"][-1]) else '{"use": []}'

    with (
        scripted(Status(500), either) as script,
        memory(now=clock, llm=script.openai, embedder=Alike()) as mind,
    ):
        old = mind.remember(OLD, space=SPACE)
        mind.settle()
        clock.tick(60)
        mind.remember(NEW, space=SPACE)
        mind.settle()
        gone = []
        with mind.companion(SPACE, session="s1") as companion:
            companion.turn([])
            assert companion.wait(120)
            background = mind.context.background
            background.withdraw_retired = lambda: gone.append(mind.get([old.id])[0].active)
            clock.tick(600)
            companion.turn([{"role": "user", "content": "What about main?"}])
            assert companion.wait(120)
            wait_until(lambda: False in gone)


# Gaps


@pytest.mark.proves("B82")
def test_a_session_answers_its_own_question(clock):
    """At its end, what was asked without an answer and said later becomes a memory; once."""
    answer = '{"keep": [{"text": "Staging is called heron.", "kind": "entity", "from": 1, "reason": "its name"}]}'
    with scripted(answer) as script, memory(now=clock, llm=script.openai, embedder=Alike()) as mind:
        talk(mind)
        mind.record("session_end", space=SPACE, session="s1")
        mind.settle()
        (found,) = mind.browse(space=SPACE)
        assert ("Staging is called heron.", "extracted", 0.7, "s1", (1, 1), "answer") == (
            found.text,
            found.provenance,
            found.trust,
            found.session,
            found.messages,
            found.details["rule"],
        )
        assert [{"question": "where is staging?"}] == [
            row for row in script.rows() if "question" in row
        ]
        mind.record("session_end", space=SPACE, session="s1")
        mind.settle()
        assert 1 == len(script.asked)


@pytest.mark.parametrize(
    "answer", ["", "nonsense", '{"keep": [{"text": "made up", "from": 99}]}', Status(400)]
)
@pytest.mark.proves("CC-71")
def test_a_useless_answer_about_gaps_keeps_nothing(clock, answer):
    """The session is over, nothing is kept, nothing fails."""
    with scripted(answer) as script, memory(now=clock, llm=script.openai, embedder=Alike()) as mind:
        talk(mind)
        mind.record("session_end", space=SPACE, session="s1")
        mind.settle()
        assert ([], []) == (mind.browse(space=SPACE), mind.store.events(verbs=["failed"]))
        assert [(0, 1)] == [
            (e.payload["kept"], e.payload["questions"]) for e in mind.store.events(verbs=["answer"])
        ]


@pytest.mark.proves("CC-63")
def test_gaps_wait_for_a_model_that_is_away(clock):
    """While the model is away a question waits, and is answered when it is back."""
    answer = '{"keep": [{"text": "Staging is called heron.", "from": 1}]}'
    with (
        scripted(Status(500), answer) as script,
        memory(now=clock, llm=script.openai, embedder=Alike()) as mind,
    ):
        talk(mind)
        mind.record("session_end", space=SPACE, session="s1")
        mind.settle()
        assert [] == mind.browse(space=SPACE)
        clock.tick(600)
        mind.settle()
        assert ["Staging is called heron."] == texts(mind)


def test_a_session_without_questions_costs_nothing(clock):
    """No gap, no call."""
    with scripted("{}") as script, memory(now=clock, llm=script.openai, embedder=Alike()) as mind:
        talk(mind, gap=False)
        mind.record("session_end", space=SPACE, session="s1")
        mind.settle()
        assert ([], 0) == (script.asked, len(mind.store.events(verbs=["answer"])))


def talk(mind, gap=True):
    """A question that found nothing, and its answer some turns later; too short to be read for
    anything else.
    """
    messages = [
        {"role": "user", "text": "where is staging?"},
        {"role": "assistant", "text": "It is called heron."},
    ]
    mind.record("turn", {"messages": messages, "first": 0}, space=SPACE, session="s1")
    if gap:
        mind.record(
            "gap", {"asked": "where is staging?", "candidates": 2}, space=SPACE, session="s1"
        )
