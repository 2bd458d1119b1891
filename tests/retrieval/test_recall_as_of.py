"""Recall as of a past moment: the answer that would have been given then."""

from datetime import date, datetime

import pytest

from reverie.core.errors import BadInput
from reverie.testing import SPACE

DAY = 86_400.0


def told(mind, query, **more):
    return [hit.memory.text for hit in mind.recall(query, space=SPACE, **more)]


@pytest.mark.proves("A87", "A88")
def test_a_superseded_belief_answers_for_its_own_time(mind, clock):
    """Why did it think so? Because then, that was what it knew."""
    old = mind.remember("The staging server is heron", space=SPACE)
    before = clock() + DAY
    clock.tick(days=10)
    new = mind.remember("The staging server is egret", space=SPACE)
    mind.supersede(old.id, new.id)
    assert ["The staging server is egret"] == told(mind, "staging server")
    assert ["The staging server is heron"] == told(mind, "staging server", as_of=before)
    hit = mind.recall("staging server", space=SPACE, as_of=before)[0]
    assert hit.memory.active
    assert f"since then superseded by {new.id}" in hit.why


def test_a_revised_text_is_read_and_found_as_it_was(mind, clock):
    """History answers with the words of then, and the words of now do not find it then."""
    kept = mind.remember("Deploys run from Jenkins", space=SPACE)
    before = clock() + DAY
    clock.tick(days=5)
    mind.revise(kept.id, text="Deploys run from Buildkite")
    assert ["Deploys run from Jenkins"] == told(mind, "jenkins deploys", as_of=before)
    assert [] == told(mind, "buildkite", as_of=before, mode="words")
    assert ["Deploys run from Buildkite"] == told(mind, "buildkite")


def test_later_changes_do_not_count_as_of_then(mind, clock):
    """Nothing that came later is told; what was let go of later is."""
    gone = mind.remember("The canary is called kestrel", space=SPACE)
    before = clock() + DAY
    clock.tick(days=5)
    mind.forget(gone.id)
    mind.remember("The canary is called merlin", space=SPACE)
    assert ["The canary is called kestrel"] == told(mind, "canary", as_of=before)
    assert [] == told(mind, "canary", as_of=before - 30 * DAY)


def test_an_imported_conversation_counts_from_when_it_was_said(mind, clock):
    """A history that is written down today was said over years."""
    long_ago = clock() - 400 * DAY
    old = mind.remember("The database is MySQL", space=SPACE, at=long_ago)
    new = mind.remember("The database is Postgres", space=SPACE, at=long_ago + 200 * DAY)
    mind.supersede(old.id, new.id)
    assert ["The database is MySQL"] == told(mind, "database", as_of=long_ago + DAY)
    assert ["The database is Postgres"] == told(mind, "database", as_of=long_ago + 201 * DAY)


@pytest.mark.proves("X48")
def test_validity_in_the_world_is_obeyed(mind, clock):
    """`valid_from` and `valid_to` say when it was true, whenever it was said."""
    mind.remember(
        "The freeze is on", space=SPACE, valid_from=clock() + 5 * DAY, valid_to=clock() + 9 * DAY
    )
    at = clock()
    assert [] == told(mind, "freeze", as_of=at + DAY)
    assert ["The freeze is on"] == told(mind, "freeze", as_of=at + 6 * DAY)
    assert [] == told(mind, "freeze", as_of=at + 10 * DAY)


@pytest.mark.proves("B56")
def test_a_season_has_its_time_and_its_name(mind, clock):
    """What holds in the release week comes up by itself in it, and is found by its label at any
    time.
    """
    kept = mind.remember(
        "Only fixes are merged to release-main.",
        space=SPACE,
        tags=["season:release-week"],
        valid_from=clock() + 5 * DAY,
        valid_to=clock() + 10 * DAY,
    )
    surfacing = []
    for _ in range(3):
        surfacing.append(
            [hint.id for hint in mind.hints("what may we merge to release-main?", space=SPACE)]
        )
        assert [kept.id] == [
            hit.memory.id for hit in mind.recall("", space=SPACE, tags=["season:release-week"])
        ]
        clock.tick(days=6)

    assert [[], [kept.id], []] == surfacing


@pytest.mark.proves("B54")
def test_what_concerns_one_conversation_is_seen_there_only(mind):
    """A session sees its own and its project's memories; the project and the next session do not
    see the session's.
    """
    kept = mind.remember("Heron is down just now.", space=f"{SPACE}/s1")
    where = {
        space: [hit.memory.id for hit in mind.recall("heron", space=space)]
        for space in (f"{SPACE}/s1", SPACE, f"{SPACE}/s2")
    }
    assert where == {f"{SPACE}/s1": [kept.id], SPACE: [], f"{SPACE}/s2": []}


def test_meaning_is_compared_as_it_was(mind, clock):
    """With a model, a text that was altered since is compared by its old words."""
    kept = mind.remember("Deploys run from Jenkins", space=SPACE)
    mind.settle()
    before = clock() + DAY
    clock.tick(days=5)
    mind.revise(kept.id, text="Deploys run from Buildkite")
    mind.settle()
    hit = mind.recall("deploys from Jenkins", space=SPACE, as_of=before)[0]
    assert "Deploys run from Jenkins" == hit.memory.text
    assert any(why.startswith("meaning") for why in hit.why)


@pytest.mark.proves("A58")
def test_without_a_question_the_newest_of_that_time(mind, clock):
    """Without a question, recall of a past moment lists what was the newest then."""
    first = mind.remember("One", space=SPACE)
    before = clock() + DAY
    clock.tick(days=5)
    mind.remember("Two", space=SPACE)
    assert [first.id] == [hit.memory.id for hit in mind.recall("", space=SPACE, as_of=before)]


@pytest.mark.proves("CC-14")
def test_recall_as_of_writes_nothing(mind, clock):
    """Recall of a past moment writes no row."""
    mind.remember("One fact of many", space=SPACE)
    rows = list(mind.data.export())
    clock.tick(days=1)
    mind.recall("fact", space=SPACE, as_of=clock())
    assert rows[1:] == list(mind.data.export())[1:]


@pytest.mark.parametrize(
    ("as_of", "found"),
    [
        ("2025-06-01", True),
        ("20250601T150100", True),
        (date(2025, 6, 1), True),
        (datetime(2025, 6, 1, 15, 1), True),
        ("2025-05-31", False),
        (date(2025, 5, 31), False),
        (datetime(2025, 6, 1), False),
        ("2025-06-01T00:00", False),
    ],
)
def test_a_date_is_the_end_of_its_day(mind, as_of, found):
    """As of a day, all of that day has happened; a moment is taken exactly."""
    mind.remember("The staging server is heron", space=SPACE, at="2025-06-01T15:00")
    assert bool(told(mind, "staging server", as_of=as_of)) is found


def test_a_moment_that_is_none(mind):
    with pytest.raises(BadInput, match="as_of="):
        mind.recall("x", space=SPACE, as_of="yesterday-ish")
