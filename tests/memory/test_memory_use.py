# mypy: no-check-untyped-defs
"""Changes that follow from a retrieval, as pure functions: links and suggested tags."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.model import Edge, Link, Revise, with_fields
from reverie.memory.usage_signals import (
    MAX_LINKED_TOGETHER,
    MAX_SUGGESTIONS,
    MAX_USE_LINKS,
    SUGGESTED_FIELD,
    confirm_tags,
    link_used_together,
    suggest_tags,
)
from reverie.testing import NOON, make_memory


def edges_of(changes):
    return [change.edge for change in changes if isinstance(change, Link)]


@pytest.mark.proves("CC-58", "B74", "B75", "B84")
def test_memories_shown_together_are_linked():
    """0.6, then +0.05 up to 0.95, the same edge whichever way round it stands."""
    one, other = make_memory("one"), make_memory("other")
    edges = []
    weights = []
    for _ in range(10):
        if new := edges_of(link_used_together([other, one], edges)):
            edges = new
        weights.append(round(edges[0].weight, 2))
        assert len(edges) == 1

    assert weights == [0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.95, 0.95]
    there = Edge(src=other.id, rel="relates_to", dst=one.id, weight=0.3)
    assert edges_of(link_used_together([one, other], [there])) == [
        there._replace(weight=pytest.approx(0.35))
    ]


def test_links_from_one_answer_are_limited():
    """Three memories give three links; of a very long answer only the first are linked."""
    assert len(link_used_together([make_memory(str(n)) for n in range(3)], [])) == 3
    assert (
        len(link_used_together([make_memory(str(n)) for n in range(50)], []))
        == MAX_LINKED_TOGETHER * (MAX_LINKED_TOGETHER - 1) / 2
    )
    assert link_used_together([make_memory("alone")], []) == []


def test_links_of_one_memory_are_limited():
    """Links from use are bounded; those that are there still grow."""
    one, old, new = make_memory("one"), make_memory("old"), make_memory("new")
    links = [Edge(one.id, "relates_to", f"mem_{n}", 0.6) for n in range(MAX_USE_LINKS - 1)]
    links.append(Edge(one.id, "relates_to", old.id, 0.6))

    assert {(e.src, e.dst) for e in edges_of(link_used_together([one, old, new], links))} == {
        (one.id, old.id),
        (old.id, new.id),
    }


CONTEXT = "Does heron deploy? The heron box is stuck at 1234 1234 and a job a job."


@pytest.mark.proves("CC-60", "B18")
def test_a_word_in_common_becomes_a_suggested_tag():
    """Twice in the context, in two memories, no tag in common: it is added to both, as a
    suggestion.
    """
    one, two = (
        make_memory("The heron host is old.", tags=["infra"]),
        make_memory("Restart heron weekly."),
    )
    third = make_memory("Cats purr.")
    changes = suggest_tags([one, two, third], CONTEXT, NOON)

    assert {
        change.id: change.fields["tags"] for change in changes if isinstance(change, Revise)
    } == {one.id: ("infra", "heron"), two.id: ("heron",)}
    assert all(change.fields["details"][SUGGESTED_FIELD] == ["heron"] for change in changes)


@pytest.mark.parametrize(
    ("texts", "tags", "context"),
    [
        (["heron one", "crane two"], [(), ()], CONTEXT),  # only one has it
        (["heron one", "heron two"], [("x",), ("x", "y")], CONTEXT),  # a tag in common
        (["heron one", "heron two"], [(), ()], "The heron sleeps."),  # once in the context
        (["1234 one", "1234 two"], [(), ()], CONTEXT),  # a number
        (["job one", "job two"], [(), ()], CONTEXT),  # too short
        (["which one", "which two"], [(), ()], "which is which"),  # a stop word
        ([f"{'x' * 33} one", f"{'x' * 33} two"], [(), ()], f"{'x' * 33} {'x' * 33}"),
        (
            ["heron one", "heron two"],
            [(), ()],
            f"{'so ' * 80} heron heron",
        ),  # beyond the first 200 characters
    ],
)
@pytest.mark.proves("CC-60")
def test_some_words_are_never_suggested_as_tags(texts, tags, context):
    """Numbers, stop words, short and long words, what has a tag in common already."""
    memories = [make_memory(text, tags=some) for text, some in zip(texts, tags, strict=True)]

    assert suggest_tags(memories, context, NOON) == []


@pytest.mark.proves("B18")
def test_a_refused_suggestion_is_not_made_again():
    """Taken off, it stays off; given by somebody, it is a suggestion no longer."""
    pair = [make_memory("heron one"), make_memory("heron two")]
    tagged = [
        with_fields(m, c.fields)
        for m, c in zip(pair, suggest_tags(pair, CONTEXT, NOON), strict=True)
    ]
    refused = [m._replace(tags=()) for m in tagged]

    assert suggest_tags(refused, CONTEXT, NOON) == []
    assert confirm_tags(tagged[0].details, ["heron"]) == {}
    assert confirm_tags({**tagged[0].details, "a": 1}, ["x"]) == {
        SUGGESTED_FIELD: ["heron"],
        "a": 1,
    }


@given(
    st.lists(st.text("abcd ", min_size=1, max_size=40).filter(str.strip), min_size=2, max_size=6),
    st.text("abcd "),
)
def test_suggestions_converge(texts, context):
    """Made once, the same retrieval suggests nothing more, and no memory drowns in tags."""
    memories = [make_memory(text) for text in texts]
    rounds = [memories]
    for _ in range(3):
        changes = {change.id: change for change in suggest_tags(rounds[-1], context, NOON)}
        rounds.append(
            [with_fields(m, changes[m.id].fields) if m.id in changes else m for m in rounds[-1]]
        )

    assert all(len(m.tags) <= MAX_SUGGESTIONS for m in rounds[-1])
    assert all(
        set(a.tags) <= set(b.tags)
        for one, two in pairwise(rounds)
        for a, b in zip(one, two, strict=True)
    )
    assert rounds[-1] == rounds[-2]
