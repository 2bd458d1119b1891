"""The table of kinds, and retention."""

import pytest

from reverie.core.kinds import (
    AGENT,
    ANY_KIND,
    ANYBODY,
    DAY,
    EPISODE_KINDS,
    EXTRACTED_KINDS,
    FOREVER,
    GROUPS,
    JOURNAL_KINDS,
    JOURNAL_PARTS,
    KINDS,
    MAKING,
    MEMORY_TYPES,
    NOTHING,
    OBSERVED,
    OWN_KIND,
    QUESTION,
    SAID,
    TROUBLE,
    USER,
    WARNING_KINDS,
    half_life,
    kind_of,
    retention,
)
from reverie.retrieval.relevance_gate import NEEDED_BY
from reverie.testing import NOON, make_memory

NAMED = {
    "correction": 365,
    "preference": 90,
    "procedure": 60,
    "entity": 60,
    "fact": 30,
    "observation": 7,
    "event": 14,
    "negative": 365,
    "knowledge": 180,
    "intention": FOREVER,
    "note": 45,
    "scratch": 1 / 24,
}
# Those that there were when each trait was still a list of names.
FIRST_KINDS = (
    "preference correction negative fact knowledge profile environment decision entity learning "
    "capability note observation file procedure skill event excerpt task intention goal feeling "
    "scratch"
)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.proves("A28", "A41", "B46")
def test_every_row_is_complete(name):
    """A type of the six, a heading, a meaning, a half-life."""
    row = KINDS[name]

    assert (row.name, row.type in MEMORY_TYPES, row.group in GROUPS) == (name, True, True)
    assert row.half_life > 0 and row.meaning


@pytest.mark.parametrize("name", [*KINDS, "recipe"])
def test_every_column_holds_what_its_readers_know(name):
    """A word that nobody reads would be a trait that never shows."""
    row = kind_of(name)

    assert row.voice in (ANYBODY, AGENT, USER)
    assert set(row.bears_on) <= set(NEEDED_BY)
    assert row.journal in ("", *JOURNAL_PARTS)
    assert row.merges_with in (ANY_KIND, OWN_KIND, NOTHING)
    assert row.unchosen in ("", SAID, OBSERVED)


def test_a_kind_keeps_the_traits_that_it_had_before_the_columns_came():
    """Which kinds a model extracts, in the order of its instructions; which warn, the first first;
    of which the journal tells; which turns need which; which no team's file has. A row that came
    later may have any of them.
    """

    def first(names):
        return " ".join(name for name in names if name in FIRST_KINDS.split())

    told = "preference correction negative fact knowledge decision entity learning procedure event"
    makes = "preference correction negative decision procedure skill"
    answers = "fact knowledge decision entity procedure event task intention"
    urgent = sorted(WARNING_KINDS, key=lambda name: -KINDS[name].urgency)

    assert first(EXTRACTED_KINDS) == told
    assert first(urgent) == "negative correction"
    assert first(sorted(JOURNAL_KINDS)) == "decision event feeling task"
    assert first(EPISODE_KINDS) == "event task"
    assert {
        need: first(row.name for row in KINDS.values() if need in row.bears_on)
        for need in NEEDED_BY
    } == {MAKING: makes, TROUBLE: "correction negative learning", QUESTION: answers}
    assert first(row.name for row in KINDS.values() if not row.shared) == "preference file"


def test_headings_stand_where_their_rows_say():
    """By `place`, which one row of a heading says; after those a heading without one; what is
    anything else last.
    """
    placed = [row for row in KINDS.values() if row.place != FOREVER]
    ordered = [row.group for row in sorted(placed, key=lambda row: row.place)]

    assert len({row.place for row in placed}) == len(set(ordered)) == len(placed)
    assert list(GROUPS[: len(ordered)]) == ordered
    assert GROUPS[0] == "Corrections"
    assert GROUPS[-1] == kind_of("recipe").group


@pytest.mark.proves("C1", "C4", "C5")
def test_all_six_types_have_a_kind():
    """Working, episodic, semantic, procedural, prospective, emotional: rows of one table, one
    store.
    """
    assert {row.type for row in KINDS.values()} == set(MEMORY_TYPES)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.proves("CC-50", "A71", "A72", "A73", "A74")
def test_half_lives_are_true_half_lives(name):
    """At the age of its half-life a memory that nobody used is half as present."""
    memory = make_memory("x", kind=name)

    assert half_life(memory) == NAMED[name]
    if NAMED[name] != FOREVER:
        assert retention(memory, NOON + NAMED[name] * DAY) == pytest.approx(0.5)


@pytest.mark.proves("B58")
def test_an_inference_fades_within_days():
    """Whatever its kind says."""
    assert half_life(make_memory("x", kind="correction", provenance="inferred")) == 7
    assert half_life(make_memory("x", kind="scratch", provenance="inferred")) == 1 / 24


@pytest.mark.proves("CC-51", "B59")
def test_use_strengthens_up_to_one():
    """1 + 0.1·ln(n + 1), never above 1; age counts from the last use."""
    memory = make_memory("x", kind="fact")
    used = memory._replace(access_count=9)
    lately = memory._replace(last_accessed_at=NOON + 29 * DAY)

    assert retention(used, NOON + 30 * DAY) == pytest.approx(0.5 * (1 + 0.1 * 2.302585), rel=1e-6)
    assert retention(used, NOON) == 1.0
    assert retention(lately, NOON + 30 * DAY) > 0.97


def test_an_unknown_kind_behaves_like_custom():
    """An unknown kind fades in 45 days and is rendered last."""
    assert kind_of("recipe").half_life == 45
    assert kind_of("recipe").group == GROUPS[-1]
