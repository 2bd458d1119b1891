"""Links, superseding, undo and restore, and which events a host may not write."""

import pytest

from reverie.core.errors import BadInput
from reverie.testing import SPACE


@pytest.fixture
def two_memories(mind):
    """Two memories that count."""
    return tuple(
        mind.remember(text, space=SPACE) for text in ("Staging is heron.", "Production is crane.")
    )


def edges(mind, memory):
    return {edge[:3] for edge in mind.store.edges([memory.id])}


@pytest.mark.parametrize("how", ["link", "supersede"])
@pytest.mark.proves("A87")
def test_a_retired_memory_supersedes_nothing(mind, two_memories, how):
    """A retired memory cannot supersede another: then neither would count."""
    old, new = two_memories
    mind.forget(new.id)
    with pytest.raises(BadInput, match="restore it first"):
        mind.link(new.id, old.id, "supersedes") if how == "link" else mind.supersede(old.id, new.id)
    assert mind.get(old.id)[0].active


def test_what_was_forgotten_is_not_said_to_be_superseded(mind, two_memories):
    """Superseding a forgotten memory does not replace the reason why it was retired."""
    old, new = two_memories
    mind.forget(old.id, why="wrong")
    with pytest.raises(BadInput, match=r"does not count any more \(wrong\)"):
        mind.supersede(old.id, new.id)
    assert "wrong" == mind.get(old.id)[0].retired_why


def test_restoring_leaves_the_links_that_somebody_made(mind, two_memories):
    """Restoring removes only the link that came with superseding."""
    one, other = two_memories
    mind.link(one.id, other.id, "derived_from")
    mind.forget(other.id)
    mind.restore(other.id)
    assert (one.id, "derived_from", other.id) in edges(mind, other)


def test_unlinking_a_superseded_pair_is_refused(mind, two_memories):
    """Unlinking does not undo superseding: the error names `restore`."""
    old, new = two_memories
    mind.link(new.id, old.id, "supersedes")
    with pytest.raises(BadInput, match="restore"):
        mind.link(new.id, old.id, "supersedes", 0)
    assert not mind.get(old.id)[0].active


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.proves("A86", "CC-6")
def test_a_contradiction_is_untied_from_both_ends(mind, two_memories, turned):
    """Unlinking a contradiction removes both edges and both flags, and no review question is left."""
    one, other = two_memories
    mind.link(one.id, other.id, "contradicts")
    assert 1 == len(mind.review.cases(space=SPACE))
    mind.link(*((other.id, one.id) if turned else (one.id, other.id)), "contradicts", 0)
    assert set() == edges(mind, one)
    assert ((), ()) == tuple(memory.conflicts_with for memory in mind.get([one.id, other.id]))
    assert [] == mind.review.cases(space=SPACE) and [] == mind.data.verify()


@pytest.mark.parametrize("rel", ["has_tag", "in_cluster", "about"])
@pytest.mark.proves("B7", "B8")
def test_relations_of_tags_and_files_cannot_link_memories(mind, two_memories, rel):
    """A tag is put on with `tag`; an edge of that name between memories would be damage."""
    with pytest.raises(BadInput, match="does not tie memories"):
        mind.link(two_memories[0].id, two_memories[1].id, rel)


@pytest.mark.parametrize("verb", ["undo", "review", "sleep", "learn"])
def test_events_of_reverie_cannot_be_recorded_by_a_host(mind, verb):
    """What was decided and undone is read from the log: a host that wrote it there would decide."""
    with pytest.raises(BadInput, match="writes down itself"):
        mind.record(verb, {"of": "abc"}, space=SPACE)


@pytest.mark.proves("B63")
def test_a_procedure_taught_again_takes_the_place_of_the_old(mind):
    """Its name says which; nothing contradicts, and the old steps can be asked for."""
    old = mind.procedures.teach("release a version", ["bump", "tag"], space=SPACE)
    new = mind.procedures.teach("Release a version", ["bump", "tag", "push"], space=SPACE)
    mind.settle()
    was = mind.get(old.id)[0]
    assert (was.retired_why, was.superseded_by) == ("superseded", new.id)
    assert [] == mind.review.cases(space=SPACE)


def test_a_procedure_that_was_rewritten_has_no_other_steps(mind):
    """The text that somebody wrote is what holds; how it went so far stays."""
    kept = mind.procedures.teach("release", ["one", "two"], space=SPACE)
    mind.procedures.outcome(kept.id, True)
    after = mind.revise(kept.id, text="release: 1. three.")
    assert "steps" not in after.details and 1 == after.details["worked"]


@pytest.mark.proves("CC-63")
def test_two_files_of_one_name_are_two_conversations(mind):
    """Neither loses a message nor lends its own to the other; the same again adds nothing."""
    one = [{"role": "user", "content": "Remember that the build uses bazel."}]
    other = [{"role": "user", "content": "Remember that the deploy host is heron."}]
    first, second = (mind.learn(talk, space=SPACE, session="chat") for talk in (one, other))
    assert "chat" == first.session != second.session
    assert ["Remember that the deploy host is heron."] == [
        line.text for line in mind.sessions.read(second.session, space=SPACE).lines
    ]
    assert all(mind.learn(talk, space=SPACE, session="chat").known for talk in (one, other))
    grown = mind.learn(
        [*other, {"role": "user", "content": "Remember that its port is 8080."}],
        space=SPACE,
        session="chat",
    )
    assert second.session == grown.session and 2 == len(
        mind.sessions.read(grown.session, space=SPACE).lines
    )
