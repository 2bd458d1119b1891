# mypy: no-check-untyped-defs
"""The nouns of the core: immutable, complete, and a space sees only its ancestors."""

import pytest

from reverie.core.model import (
    RELATIONS,
    TRUST_BY_PROVENANCE,
    Edge,
    Event,
    Hint,
    Memory,
    Reinforcement,
    visible_spaces,
    with_fields,
)
from reverie.testing import NOON, make_memory


@pytest.mark.proves("CC-1", "A26", "A33", "A34", "A36", "A37")
def test_a_new_memory_has_default_values():
    """Strength 1, access 0, active, trusted by its source, id mem_…."""
    memory = make_memory("text")

    assert (memory.strength, memory.access_count, memory.active, memory.superseded_by) == (
        1,
        0,
        True,
        None,
    )
    assert (memory.trust, memory.confidence) == (
        TRUST_BY_PROVENANCE["observed"],
        TRUST_BY_PROVENANCE["observed"],
    )
    assert memory.id.startswith("mem_")
    assert (memory.at, memory.created_at, memory.updated_at) == (NOON, NOON, NOON)


HOMES = {
    "A27": "text",
    "A28": "kind",
    "A29": "session",
    "A30": "messages",
    "A31": "files",
    "A32": "updated_at",
    "A33": "access_count",
    "A34": "strength",
    "A35": "reinforcements",
    "A36": "trust",
    "A38": "superseded_by",
    "A39": "conflicts_with",
    "B46": "kind",
    "B47": "space",
    "B49": "provenance",
    "B50": "last_accessed_at",
    "B51": "confidence",
    "B52": "trust",
    "B53": "strength",
}


@pytest.mark.parametrize("row", HOMES)
@pytest.mark.proves(
    "A26",
    "A27",
    "A28",
    "A29",
    "A30",
    "A31",
    "A32",
    "A33",
    "A34",
    "A35",
    "A36",
    "A37",
    "A38",
    "A39",
    "B46",
    "B47",
    "B48",
    "B49",
    "B50",
    "B51",
    "B52",
    "B53",
)
def test_every_required_field_exists(row):
    """Every field that the requirements ask of a memory exists."""
    assert HOMES[row] in Memory._fields


@pytest.mark.proves("E13")
def test_a_hint_is_a_memory_without_what_it_says():
    """Two classes of data, the light one made of fields of the whole one."""
    assert set(Hint._fields) < set(Memory._fields) and "text" not in Hint._fields


def test_nouns_are_values():
    """A change makes a new value; the old one stays what it was."""
    memory = make_memory("old")
    with pytest.raises(AttributeError):
        memory.text = "new"

    assert (with_fields(memory, {"text": "new"}).text, memory.text) == ("new", "old")


@pytest.mark.proves("A35")
def test_sources_are_each_conversation_once():
    """The sources of a memory are its conversations, in order, each once."""
    again = tuple(Reinforcement(session=s, at=NOON) for s in ("s2", "s1", "", "s3", "s2"))

    assert with_fields(make_memory("x", session="s1"), {"reinforcements": again}).sources == (
        "s1",
        "s2",
        "s3",
    )


@pytest.mark.proves("B85", "B86", "B87", "B88")
def test_a_space_sees_upward_only():
    """Itself, then its ancestors, nearest first."""
    assert visible_spaces("me/project/session") == ("me/project/session", "me/project", "me")
    assert visible_spaces("me") == ("me",)


@pytest.mark.proves("B49", "X49")
def test_defaults_are_plain():
    """An edge weighs 1, an event has no number yet, trust falls from correction to what others
    wrote.
    """
    assert Edge(src="a", rel="relates_to", dst="b").weight == 1.0
    assert Event(verb="turn", space="me", at=NOON).seq == 0
    assert (
        list(TRUST_BY_PROVENANCE.values())
        == sorted(TRUST_BY_PROVENANCE.values(), reverse=True)
        == [1.0, 0.95, 0.8, 0.7, 0.5, 0.3]
    )
    assert len(set(RELATIONS)) == len(RELATIONS) == 10
