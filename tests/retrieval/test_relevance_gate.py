"""The relevance gate: pure functions over the signals of a search, and properties that hold for any
learned coefficients.
"""

import importlib
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.model import Hit
from reverie.retrieval import relevance_gate
from reverie.retrieval.relevance_gate import (
    GateSignals,
    judge_hits,
    load_gate_models,
    read_turn,
    turn_forms,
    weigh_stems,
)
from reverie.retrieval.rescoring import MIN_SHOWN_CHANCE
from reverie.testing import make_memory
from reverie.text.domain_stopwords import strip_ending

TEXTS = st.text(max_size=200) | st.sampled_from(
    ["run it again", "where is staging?", "ok", "\n\n", "which host?"]
)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
SEEN = st.builds(
    GateSignals, cosine=NUMBERS, z=NUMBERS, bm25=NUMBERS, likely=NUMBERS, few=st.floats(0, 1)
)
STAGING = "The staging server is called heron."


def hits(*texts, **fields):
    return [Hit(make_memory(text, **fields), 0.4, ("words 2.0",)) for text in texts]


def chance(text, seen, memory=STAGING, others=()):
    """The chance of the first of some memories."""
    found = hits(memory, *(f"note {n}" for n in range(len(others))))
    return {hit.memory.id: hit.score for hit in judge_hits(found, [seen, *others], text)}[
        found[0].memory.id
    ]


@pytest.mark.parametrize("path", ["with meaning", "by words"])
def test_coefficients_fit_the_signals(path):
    """Every signal has a coefficient and every coefficient a signal: the file belongs to this code."""
    kept = json.loads(
        Path(relevance_gate.__file__).with_name("relevance_gate.json").read_text("utf-8")
    )[path]
    turn, memory = read_turn("where is it?"), make_memory("x")
    assert set(kept["fits"]) == set(
        relevance_gate.compute_fit_signals(turn, [memory], [GateSignals()])[0]
    )
    assert set(kept["opens"]) == set(
        relevance_gate.compute_opening_signals(turn, [memory], [GateSignals()], [0.0])
    )


@given(st.lists(st.tuples(TEXTS, SEEN), max_size=5), TEXTS)
def test_chances_are_finite_and_bounded(rows, text):
    """Whatever is missing or odd: no vector, no words, one memory, none."""
    found = judge_hits(hits(*(f"a {said}" for said, _ in rows)), [seen for _, seen in rows], text)
    assert len(found) == len(rows)
    assert all(0.0 <= hit.score <= 1.0 for hit in found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


@given(st.floats(0, 1), st.floats(0, 1), st.lists(st.floats(0, 1), max_size=3), st.booleans())
@pytest.mark.proves("CC-28")
def test_a_higher_cosine_never_lowers_the_chance(one, other, rest, talk):
    """All else equal, in a store of one memory or of several, in talk or not."""
    low, high = sorted((one, other))
    text, memory = "which server is staging?", STAGING
    others = [GateSignals(cosine=value, z=10 * value - 1) for value in rest]
    fields = {"session": "s1", "speaker": "Ann"} if talk else {}
    found = [hits(memory, *(f"note {n}" for n in range(len(others))), **fields) for _ in range(2)]
    seen = [[GateSignals(cosine=value, z=10 * value - 1), *others] for value in (low, high)]
    scores = [
        {hit.memory.text: hit.score for hit in judge_hits(some, one, text)}
        for some, one in zip(found, seen, strict=True)
    ]
    assert scores[0][memory] <= scores[1][memory] + 1e-9


@given(st.floats(0, 30), st.floats(0, 30), st.lists(st.floats(0, 30), max_size=3))
@pytest.mark.proves("CC-28", "CC-30")
def test_a_better_match_by_words_never_lowers_the_chance(one, other, rest):
    """On the first turn, where there is no vector."""
    low, high = sorted((one, other))
    others = [GateSignals(bm25=value) for value in rest]
    text = "which server is staging?"
    assert (
        chance(text, GateSignals(bm25=low), others=others)
        <= chance(text, GateSignals(bm25=high), others=others) + 1e-9
    )


@pytest.mark.proves("CC-32")
def test_equal_chances_stand_in_order_of_id():
    """Ties break by id."""
    found = hits("the same", "the same", "the same")
    assert [h.memory.id for h in judge_hits(found[::-1], [GateSignals(0.4)] * 3, "which?")] == [
        h.memory.id for h in found
    ]


@pytest.mark.proves("A2")
def test_what_kind_of_turn_it_is_matters():
    """A question about this project opens, a word to go on does not, however alike."""
    seen = GateSignals(cosine=0.55, z=3.0, bm25=3.0, likely=0.5, few=0.5)
    assert chance("which server is staging?", seen) > MIN_SHOWN_CHANCE
    assert chance("ok, staging server looks good", seen) < MIN_SHOWN_CHANCE
    assert chance("explain what a staging server is", seen) < MIN_SHOWN_CHANCE


@pytest.mark.proves("A46")
def test_a_design_discussion_calls_for_decisions():
    """Who begins to build something is told what was decided about it; who renames something is
    not.
    """
    seen = GateSignals(cosine=0.5, z=2.5, bm25=2.0, likely=0.4, few=0.5)
    found = hits("Reports are rendered on the server, not in the browser.", kind="decision")
    plan, edit = (
        judge_hits(found, [seen], text)[0].score
        for text in (
            "let's design the architecture of the reports",
            "rename the architecture of the reports",
        )
    )
    assert plan > MIN_SHOWN_CHANCE > edit


@pytest.mark.proves("B91")
def test_a_hit_says_why_it_passed():
    """A hit's `why` has the chance that it is needed and the strongest signal."""
    found = judge_hits(hits(STAGING), [GateSignals(0.6, 3.0, 3.0, 1.0, 0.5)], "where is staging?")[
        0
    ]
    assert found.why[0] == "words 2.0"
    assert found.why[1].startswith(f"chance {found.score:.2f}: ")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("where do i push it", "asks here"),
        ("what does idempotent mean", "asks anybody"),
        ("rename it", "edits"),
        ("ok go on", "goes on"),
        ("let's add a screen", "plans"),
        ("add a flag", "makes"),
        ("the build hangs", "trouble"),
        ("TypeError: x\n    at f (a.js:1:2)\n", "pasted"),
        ("is it green?", "asks"),
    ],
)
def test_turns_are_classified_by_their_wording(text, kind):
    """The wording of a turn tells what kind of turn it is."""
    assert read_turn(text).kinds[kind] == 1.0


def test_everyday_words_say_little():
    """Words of every session, such as fix, run and test, weigh little; a rare word such as heron
    weighs much.
    """
    assert weigh_stems(frozenset({strip_ending("fixes"), strip_ending("tests")})) < weigh_stems(
        frozenset({"heron"})
    )
    assert strip_ending("tests") == strip_ending("test") == strip_ending("testing")


def test_an_unknown_number_counts_as_zero():
    """A number that is NaN is left out of the sum; the others count."""
    assert relevance_gate.sum_weighted({"a": 2.0, "b": 1.0}, {"a": math.nan, "b": 3.0}) == 3.0
    assert len(load_gate_models()) == 2


def test_turns_are_told_apart_without_compiling_what_cannot_fit():
    """Each way of a kind is among what is looked for first, so that none is passed over."""
    for kind, form in turn_forms().items():
        for text in ways_of(importlib.import_module("re._parser").parse(form.pattern)):
            assert form.fits(text) or not re.search(form.pattern, text), (kind, text)
    assert not any(
        form.begins and form.fits("zebra rename it, thanks") for form in turn_forms().values()
    )


def ways_of(parsed):
    """Texts of the ways into an expression: each choice once, each repetition as few and as many
    times as twice.
    """
    texts = [""]
    for op, value in parsed:
        name = str(op)
        if name == "LITERAL":
            more = [chr(value)]
        elif name == "BRANCH":
            more = [text for way in value[1] for text in ways_of(way)]
        elif name == "SUBPATTERN":
            more = ways_of(value[3])
        elif name == "MAX_REPEAT":
            once = ways_of(value[2])
            more = ["" if value[0] == 0 else once[0], *(text * min(value[1], 2) for text in once)]
        else:
            more = {"AT": [""], "ANY": ["x"], "NOT_LITERAL": ["x"]}.get(name, [" ", "x", "7", "{"])
        texts = [text + one for text in texts for one in more][:20_000]
    return texts
