# mypy: no-check-untyped-defs
"""Changes to single memories as pure functions, and the story of one memory."""

import pytest

from reverie.core.errors import BadInput
from reverie.core.model import Edge, Event, Link, Retire, Revise, with_fields
from reverie.memory.explanation import explain_memory
from reverie.memory.memory_changes import (
    MAX_REINFORCEMENTS,
    flag_contradiction,
    link_memories,
    record_use,
    restore_memory,
    supersede_memory,
)
from reverie.testing import NOON, make_memory

SPACE = "me/demo"


@pytest.mark.proves("CC-52", "B70")
def test_helpful_use_strengthens():
    """Access and strength +1, confidence +0.05 up to 1, and where it was."""
    memory = make_memory("x", trust=0.97)
    after = with_fields(memory, record_use(memory, NOON + 5, helpful=True, session="s").fields)

    assert (after.access_count, after.strength, after.confidence, after.last_accessed_at) == (
        1,
        2,
        1.0,
        NOON + 5,
    )
    assert (after.trust, after.sources) == (0.97, ("s",))


@pytest.mark.proves("CC-52", "B71")
def test_unhelpful_use_weakens():
    """Confidence −0.1 down to 0; nothing else."""
    memory = make_memory("x", trust=0.05)
    after = with_fields(memory, record_use(memory, NOON + 5, helpful=False).fields)

    assert (after.confidence, after.strength, after.access_count, after.active) == (0.0, 1, 0, True)


@pytest.mark.parametrize(
    ("trust", "helpful", "confidence"),
    [(0.5, True, 0.52), (1.0, True, 1.0), (0.5, False, 0.49), (0.0, False, 0.0)],
)
@pytest.mark.proves("CC-52", "B78", "B79")
def test_a_judges_verdict_is_a_small_step(trust, helpful, confidence):
    """+0.02 verified, −0.01 rejected, within 0 and 1; used when it was looked at, said by nobody."""
    fields = record_use(
        make_memory("x", trust=trust), NOON, helpful=helpful, by="judge", at=NOON - 5
    ).fields

    assert fields == {"confidence": confidence, "updated_at": NOON} | (
        {"access_count": 1, "last_accessed_at": NOON - 5} if helpful else {}
    )


@pytest.mark.proves("A21")
def test_reinforcements_are_bounded():
    """Each use counts towards strength; the list of reinforcements keeps the last ones."""
    memory = make_memory("x")
    for n in range(MAX_REINFORCEMENTS + 5):
        memory = with_fields(memory, record_use(memory, NOON + n, helpful=True).fields)

    assert (memory.strength, len(memory.reinforcements)) == (
        MAX_REINFORCEMENTS + 6,
        MAX_REINFORCEMENTS,
    )
    assert memory.reinforcements[-1].at == NOON + MAX_REINFORCEMENTS + 4


@pytest.mark.proves("CC-5", "B12")
def test_superseding_retires_and_points():
    """The older is retired with its successor's id, the newer gets the edge."""
    old, new = make_memory("old"), make_memory("new")

    assert supersede_memory(old, new, NOON) == [
        Retire(id=old.id, at=NOON, why="superseded", superseded_by=new.id),
        Link(edge=Edge(src=new.id, rel="supersedes", dst=old.id)),
    ]
    with pytest.raises(BadInput):
        supersede_memory(old, old, NOON)


@pytest.mark.proves("CC-6", "A39", "B13")
def test_contradiction_flags_both():
    """An edge each way and each other's id, both still count."""
    one, other = make_memory("one"), make_memory("other")
    changes = flag_contradiction(one, other, NOON)

    edges = {(c.edge.src, c.edge.dst) for c in changes if isinstance(c, Link)}
    assert edges == {(one.id, other.id), (other.id, one.id)}
    assert [c.fields["conflicts_with"] for c in changes if isinstance(c, Revise)] == [
        (other.id,),
        (one.id,),
    ]


def test_restoring_removes_the_successor():
    """The memory counts again, and the edge to its successor is removed."""
    memory = make_memory("x")._replace(
        retired_at=NOON, retired_why="superseded", superseded_by="mem_n"
    )
    revise, unlink = restore_memory(
        memory, [Edge(src="mem_n", rel="supersedes", dst=memory.id)], NOON
    )

    assert with_fields(memory, revise.fields).active
    assert unlink.edge.weight == 0.0


@pytest.mark.parametrize(
    "bad",
    [
        ("a", "b", "likes", 0.5),
        ("a", "b", "relates_to", 1.5),
        ("a", "a", "relates_to", 0.5),
        ("a", "b", "relates_to", float("nan")),
    ],
)
@pytest.mark.proves("B11")
def test_odd_links_are_refused(bad):
    """An unknown relation, a weight beyond 0..1 and a link to itself are refused."""
    with pytest.raises(BadInput):
        link_memories(*bad)


@pytest.mark.proves("A104", "X25")
def test_the_story_of_a_memory(mind, clock):
    """Who said it and when, how far it is believed, what was done to it, what replaced it."""
    old = mind.remember(
        "vim is the editor",
        space="me/demo",
        session="s1",
        speaker="Ann",
        messages=(2, 3),
        provenance="user_stated",
        expires_at=clock() + 9e6,
    )
    clock.tick(days=30)
    mind.feedback(old.id, True, session="s2")
    mind.revise(old.id, text="vim is my editor")
    new = mind.remember("helix is the editor", space="me/demo")
    mind.supersede(old.id, new.id)
    told = mind.explain(old.id)
    story = "\n".join(told.story)

    assert told.superseded_by == new.id
    for part in (
        "by Ann",
        "session s1",
        "messages 2–3",
        "the user said so; raised to 100% by 1 use",
        "Used once",
        "No longer counts",
        "replaced by “helix is the editor”",
        new.id,
        "before it said “vim is the editor” (event 3)",
        "Expires on",
        "it helped (event 2)",
    ):
        assert part in story


def test_when_and_why_it_was_brought_up(mind):
    """The newest first, in the words of the hit; a turn of an earlier version has kept none."""
    one = mind.remember("The staging server is called heron.", space=SPACE)
    named = {"messages": [{"role": "user", "text": one.id}], "first": 0}  # named, not given
    old = {"messages": [], "first": 0, "given": ["mem_other", one.id]}
    new = {**old, "why": [["meaning 0.71"], ["words 4.3", "named"]]}
    mind.store.append(
        [
            Event("turn", SPACE, 60.0 * at, f"s{at}", told)
            for at, told in enumerate((named, old, new))
        ]
    )
    assert [given.sentence for given in mind.explain(one.id).brought_up] == [
        f"1970-01-01 00:02 in session s2 in {SPACE}: words 4.3; named",
        f"1970-01-01 00:01 in session s1 in {SPACE}: reason not recorded",
    ]
    story = mind.explain(one.id).story
    assert "Came up by itself twice in 2 conversations, last on 1970-01-01." in story
    assert "Never heard again and not used since." in story


def test_a_story_takes_odd_times_and_details():
    """A time beyond the calendar and somebody's own `redacted` break no story."""
    memory = make_memory("x", details={"redacted": 5})._replace(at=1e300)

    assert "second 1000000" in explain_memory(memory, [], [], NOON, {}).story[0]


@pytest.mark.proves("A80", "A104")
def test_a_long_story_is_short(mind, clock):
    """Sixty restatements are a few lines: how often, when, three wordings; the whole tells each."""
    one = mind.remember("I prefer tabs", space="me/demo", kind="preference", session="s0")
    for n in range(60):
        clock.tick(days=1)
        mind.remember(
            "I prefer tabs" + "!" * (n % 6), space="me/demo", kind="preference", session=f"s{n % 9}"
        )
        mind.settle()
    mind.feedback(one.id, False)
    story, whole = mind.explain(one.id).story, mind.explain(one.id, whole=True).story
    told = "\n".join(story)

    assert len(story) <= 12 and len(whole) > 60
    assert (
        "Heard again 60 times, first on 2025-10-10, last on 2025-12-08, in 9 conversations." in told
    )
    assert "“I prefer tabs!!!” and 2 more" in told and "heard again, 60 times (events" in told
    assert "and 1 rejection." in told and "not helpful 1." in told
    assert "“I prefer tabs!!!!!”" in "\n".join(whole) and told.count("“I prefer tabs!”") == 1


def test_a_story_of_many_different_events_is_elided(mind):
    """The first and the last are told, and how to see the others."""
    one = mind.remember("x is y", space="me/demo")
    for n in range(30):
        mind.revise(one.id, text=f"x is {n}")
    story = mind.explain(one.id).story

    assert len(story) <= 25 and "… 23 more steps" in "\n".join(story)
    assert "before it said “x is 28”" in story[-1]


@pytest.mark.proves("A86")
def test_a_conflict_is_quoted_and_says_where_to_decide(mind):
    """What contradicts it, in its words; once, not as a tie as well."""
    one = mind.remember("The API listens on port 8080", space="me/demo", provenance="user_stated")
    mind.remember("The API listens on port 9000", space="me/demo")
    mind.settle()
    told = [line for line in mind.explain(one.id).story if "9000" in line and "(event" not in line]

    assert len(told) == 1 and told[0].startswith("Contradicted by “The API listens on port 9000”")
    assert told[0].endswith("decide with `reverie review`.")


@pytest.mark.proves("CC-66")
def test_the_story_of_a_procedure(mind):
    """A procedure's story tells in words how often it worked."""
    one = mind.procedures.teach("Release", ["Run the tests", "Tag"], space="me/demo")
    for worked in (True, False, True):
        mind.procedures.outcome(one.id, worked)
    told = mind.explain(one.id).story

    assert (
        "Followed 3 times: it worked 2, it failed 1; the chance that it works is put at 60%."
        in told
    )
    assert [line.split(": ")[1] for line in told[-2:]] == [
        "followed, and it failed (event 3).",
        "followed, and it worked (event 4).",
    ]


@pytest.mark.proves("A104")
def test_no_story_shows_a_field_or_a_value_as_a_program_writes_it(mind, clock):
    """No story shows a field name or a value in Python's notation, whatever was done to the memory."""
    one = mind.remember("x is y", space="me/demo", tags=["a"], details={"steps": ["b"]})
    other = mind.remember("p is q", space="me/demo")
    mind.revise(one.id, title="t", details={"steps": ["c"]}, expires_at=clock() + 9e6, salience=0.9)
    mind.tag(one.id, add=["z"], remove=["a"])
    mind.link(one.id, other.id)
    mind.feedback(one.id, True, by="judge")
    mind.forget(one.id)
    mind.restore(one.id)
    mind.undo(mind.history(one.id)[2].event.seq)
    told = "\n".join(mind.explain(one.id, whole=True).story)

    for odd in ("_", "{", "[", "None", "nothing", " was 0", "1760"):
        assert odd not in told.replace(other.id, "").replace(one.id, ""), odd
    for part in (
        "tagged z; no longer tagged a",
        "forgotten on request",
        "brought back",
        "It goes with “p is q”",
        "was taken back",
    ):
        assert part in told
