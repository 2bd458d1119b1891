# mypy: no-check-untyped-defs
"""Validation: from what a caller passes to a memory."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from reverie.core.errors import BadInput
from reverie.core.model import TRUST_BY_PROVENANCE
from reverie.core.privacy_policy import DEFAULT_POLICY
from reverie.memory.memory_validation import (
    build_memory,
    parse_moment,
    to_clean_json,
    validate_kind,
    validate_space,
    validate_tags,
)
from reverie.testing import NOON, make_memory
from reverie.text.text_cleaning import clean_text

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
KEY = "AKIA" + "IOSFODNN7EXAMPLF"


@pytest.mark.proves("CC-89", "A106")
def test_no_field_keeps_a_secret():
    """Text, title, tags, session, speaker, files, triggers and details are redacted, and it is
    said.
    """
    memory = make_memory(
        f"the token is {SECRET}",
        title=SECRET,
        tags=[KEY, "ok"],
        session=SECRET,
        speaker=SECRET,
        files=[SECRET],
        triggers=[SECRET],
        details={"a": [SECRET], SECRET: 1},
    )

    assert SECRET not in repr(memory)
    assert KEY.lower() not in repr(memory).lower()
    assert "ok" in memory.tags
    assert memory.details["redacted"]
    assert memory.text.startswith("the token is ")


@pytest.mark.proves("A110")
def test_clean_text_comes_back_untouched():
    """What has nothing to hide is the same text."""
    memory = make_memory("The token bucket refills at 5 per second.", details={"n": 1})

    assert (memory.text, memory.details) == ("The token bucket refills at 5 per second.", {"n": 1})


def test_halves_of_characters_and_nul_are_replaced():
    """Everything else stays: emoji, right-to-left, control characters."""
    assert clean_text("a\x00b\ud83dc") == "a␀b\ufffdc"
    assert clean_text("👩‍👧 \u202e\x1b é") == "👩‍👧 \u202e\x1b é"


@pytest.mark.proves("CC-3", "CC-84")
def test_tags_are_trimmed_lowered_and_unique():
    """In the order given, without the mark of a hashtag."""
    assert validate_tags([" Rust", "#async", "rust", "", "# #x", "É"], DEFAULT_POLICY) == (
        "rust",
        "async",
        "x",
        "é",
    )


@pytest.mark.parametrize(
    "space", ["me", "me/project", "me/my-project_1.2/ses:1", "ünï/日本", "a/" * 15 + "a"]
)
@pytest.mark.proves("B47")
def test_a_space_is_a_clean_path(space):
    """Names without spaces or slashes between slashes."""
    assert validate_space(space) == space


@pytest.mark.parametrize("kind", ["fact", "my-kind", "my_kind2"])
@pytest.mark.proves("B46")
def test_kinds_of_ones_own_are_welcome(kind):
    """A short lower-case word."""
    assert validate_kind(kind) == kind


def test_times_come_in_every_usual_form():
    """Numbers, datetimes with and without a zone, dates, ISO 8601; nothing means none."""
    noon = datetime(2025, 1, 2, 12, tzinfo=UTC)
    same = [
        noon,
        noon.timestamp(),
        "2025-01-02T12:00:00Z",
        "2025-01-02T13:00+01:00",
        datetime(2025, 1, 2, 12),
        noon.astimezone(timezone(timedelta(hours=-5))),
    ]

    assert {parse_moment(value) for value in same} == {noon.timestamp()}
    assert parse_moment(date(2025, 1, 2)) == parse_moment("2025-01-02") == noon.timestamp() - 43_200
    assert (parse_moment(None), parse_moment(""), parse_moment(0)) == (None, None, 0.0)


@pytest.mark.parametrize("value", ["tomorrow", float("inf"), True, [], object(), "2025-13-01"])
def test_what_is_no_time_is_refused(value):
    """An invalid time is refused with the accepted forms."""
    with pytest.raises(BadInput, match="time"):
        parse_moment(value)


@pytest.mark.proves("A36", "B49", "B52")
def test_trust_follows_provenance():
    """Corrected 1.0, stated 0.95, observed 0.8, extracted 0.7, inferred 0.5; confidence too."""
    for provenance, trust in TRUST_BY_PROVENANCE.items():
        memory = make_memory("x", provenance=provenance)
        assert (memory.trust, memory.confidence) == (trust, trust)
    assert make_memory("x", provenance="inferred", trust=0.9).trust == 0.9


@pytest.mark.proves("A32", "B48")
def test_when_it_happened_and_when_it_was_written():
    """`at` is the caller's, the rest is the clock's."""
    memory = build_memory(
        "mem_x", NOON, "x", space="me", at="2001-01-01", messages=[3, 5], policy=DEFAULT_POLICY
    )

    assert (memory.at, memory.created_at, memory.updated_at, memory.messages) == (
        978_307_200.0,
        NOON,
        NOON,
        (3, 5),
    )


def test_any_value_becomes_json():
    """What JSON does not know becomes its text."""
    assert to_clean_json({1: {2}, "b": b"x", "n": float("nan"), "d": date(2025, 1, 1)}) == {
        "1": [2],
        "b": "b'x'",
        "n": "nan",
        "d": "2025-01-01",
    }
