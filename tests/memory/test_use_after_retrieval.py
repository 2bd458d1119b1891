# mypy: no-check-untyped-defs
"""After a retrieval: links, confidence, suggested tags, gaps, clusters that are due. All of it
later, nothing lost.
"""

import pytest

from reverie.core.model import Event, visible_spaces
from reverie.extraction.knowledge_gaps import GAP_SECONDS, detect_knowledge_gap, is_question
from reverie.extraction.retrieval_feedback import CLUSTERS_CURSOR, CLUSTERS_EVERY, is_clustering_due
from reverie.memory.usage_signals import SUGGESTED_FIELD
from reverie.retrieval.search_query import SearchQuery
from reverie.testing import make_conversation
from reverie.text.host_messages import HostMessage
from tests.support.helpers import add_unrelated_memories

pytestmark = pytest.mark.words_only

SPACE = "me/demo"


@pytest.fixture
def mind(mind):
    add_unrelated_memories(mind, SPACE)
    return mind


def prepared(mind, *memories, session="s1", **payload):
    return mind.store.append(
        [
            Event(
                verb="prepared",
                space=f"{SPACE}/{session}",
                session=session,
                at=mind.context.now(),
                payload={"ids": [m.id for m in memories], **payload},
            )
        ]
    )[0]


def pair(mind):
    return [
        mind.remember(text, space=SPACE)
        for text in ("The heron host is old.", "Restart heron weekly.")
    ]


def links(mind, *memories):
    return [
        (e.src, e.dst, round(e.weight, 2))
        for e in mind.store.edges([m.id for m in memories], ("relates_to",))
    ]


@pytest.mark.proves("B73", "B74", "B75", "B84", "CC-58")
def test_memories_recalled_together_are_linked(mind):
    """A link of 0.6, stronger each time, one edge; recall then brings the other along."""
    one, two = pair(mind)
    cats = mind.remember("Cats purr.", space=SPACE)
    prepared(mind, cats, one)
    mind.settle()
    assert links(mind, one) == [(*sorted((one.id, cats.id)), 0.6)]

    prepared(mind, one, cats)
    mind.settle()
    assert links(mind, one) == [(*sorted((one.id, cats.id)), 0.65)] and links(mind, two) == []
    assert cats.id in {hit.memory.id for hit in mind.recall("heron host", space=SPACE)}


@pytest.mark.proves("B73", "B84", "B72")
def test_memories_in_one_block_are_linked(mind, clock):
    """From a conversation to a link: what one block holds, with the beginning of what was asked."""
    pair = [
        mind.remember(f"Deploys of zanzibar to staging need a {w}.", space=SPACE)
        for w in ("ticket", "badge")
    ]
    turns(
        mind, "good morning", "what do deploys of zanzibar to staging need", "thanks", clock=clock
    )
    mind.settle()

    (event,) = mind.store.events(verbs=["prepared"])
    assert event.payload["asked"] == "what do deploys of zanzibar to staging need"
    assert set(event.payload["ids"]) == {m.id for m in pair}
    assert [weight for *_, weight in links(mind, *pair)] == [0.6]


@pytest.mark.proves("A39")
def test_one_event_is_one_transaction_and_can_be_undone(mind):
    """All that one retrieval teaches hangs on one event."""
    one, two = pair(mind)
    bad = mind.remember("Nothing to do with it.", space=SPACE)
    prepared(mind, one, two, bad, asked="heron or heron?", verified=[one.id], rejected=[bad.id])
    mind.settle()
    (event,) = mind.store.events(verbs=["maintain"])
    assert mind.get(one.id)[0].tags == ("heron",)

    mind.undo(event.seq)
    assert mind.get([one.id, two.id, bad.id]) == [one, two, bad]
    assert mind.store.edges([one.id, two.id]) == [] == mind.data.verify()


@pytest.mark.proves("CC-52", "B78", "B79")
def test_a_judge_moves_confidence_and_nothing_else_does(mind):
    """Verified +0.02, rejected −0.01 and not tied to what was shown; without a judge none."""
    one, two = pair(mind)
    prepared(mind, one, two)
    mind.settle()
    assert [m.confidence for m in mind.get([one.id, two.id])] == [0.8, 0.8]

    bad = mind.remember("Nothing to do with it.", space=SPACE)
    prepared(mind, one, two, verified=[one.id, two.id], rejected=[bad.id])
    mind.settle()
    assert [m.confidence for m in mind.get([one.id, two.id, bad.id])] == [0.82, 0.82, 0.79]
    assert links(mind, bad) == []


@pytest.mark.proves("CC-60", "B18")
def test_a_suggested_tag_says_so_and_is_refused_once(mind):
    """It is a tag like others, explain says that nobody gave it, and taken off it does not come
    back.
    """
    one, two = pair(mind)
    prepared(mind, one, two, asked="is heron the heron host?")
    mind.settle()
    assert (mind.tags(SPACE), mind.get(one.id)[0].details[SUGGESTED_FIELD]) == (
        {"heron": 2},
        ["heron"],
    )
    assert any("Nobody gave it the tag heron" in line for line in mind.explain(one.id).story)

    mind.tag(one.id, add=["heron"])
    mind.tag(two.id, remove=["heron"])
    prepared(mind, one, two, asked="is heron the heron host?")
    mind.settle()
    assert [(m.tags, dict(m.details)) for m in mind.get([one.id, two.id])] == [
        (("heron",), {}),
        ((), {SUGGESTED_FIELD: ["heron"]}),
    ]


def test_memories_that_helped_in_one_conversation_are_linked(mind, clock):
    """Two good verdicts shortly after each other; not a bad one, not another conversation, not the
    next day.
    """
    one, two = pair(mind)
    cats, dogs, late = (
        mind.remember(text, space=SPACE) for text in ("Cats purr.", "Dogs bark.", "Late.")
    )
    mind.feedback(one.id, True, session="s1")
    mind.feedback(cats.id, False, session="s1")
    mind.feedback(dogs.id, True, session="s2")
    mind.feedback(two.id, True, session="s1")
    clock.tick(days=1)
    mind.feedback(late.id, True, session="s1")
    mind.settle()

    assert links(mind, one, cats, dogs, late) == [(*sorted((one.id, two.id)), 0.6)]


@pytest.mark.proves("CC-63")
def test_odd_events_are_tolerated(mind):
    """What a purge blanked, ids that are gone, what was let go of, odd payloads: nothing fails."""
    one, two = pair(mind)
    mind.forget(two.id)
    prepared(mind, one, two)
    mind.store.append(
        [
            Event(verb="prepared", space=SPACE, at=0.0, payload=payload)
            for payload in (
                {},
                {"ids": "mem"},
                {"ids": [None, 7, "mem_none"]},
                {"ids": [one.id, one.id], "asked": None, "verified": 3},
            )
        ]
    )
    done = mind.settle()

    assert (done.failed, links(mind, one)) == (0, [])
    assert mind.store.events(verbs=["maintain"]) == []


@pytest.mark.proves("B32")
def test_a_noticed_pair_is_left_alone_where_it_is_tied_or_decided(mind):
    """A link that is there keeps its weight, a pair that somebody decided is not asked about again,
    and ids that a purge has blanked are nobody's.
    """
    one, two = pair(mind)
    mind.link(one.id, two.id, weight=0.9)
    prepared(mind, related=[[one.id, two.id, "contradicts"], [None, two.id, "relates_to"], 7])
    mind.settle()
    assert links(mind, one) == [(one.id, two.id, 0.9)]
    assert mind.store.edges([one.id], ["contradicts"]) == []

    mind.link(one.id, two.id, weight=0)
    for asked in (True, False):
        prepared(mind, related=[[one.id, two.id, "contradicts"]])
        assert mind.settle().failed == 0
        assert bool(mind.store.edges([one.id], ["contradicts"])) is asked
        if asked:
            mind.review.resolve(one.id, two.id, "both")


@pytest.mark.proves("B83")
def test_clusters_are_due_every_fifty_retrievals(mind):
    """Counted in the log from where the last renewal stopped."""
    one, _ = pair(mind)
    assert not is_clustering_due(mind.store)
    last = [prepared(mind, one) for _ in range(CLUSTERS_EVERY)][-1]
    assert is_clustering_due(mind.store)

    mind.store.advance(CLUSTERS_CURSOR, last)
    assert not is_clustering_due(mind.store)


# Gaps


def turns(mind, *texts, session="s1", clock=None):
    with mind.companion(f"{SPACE}/{session}") as companion:
        for n, _ in enumerate(texts, start=1):
            companion.turn(make_conversation(*texts[:n]))
            assert companion.wait(120)
            if clock:
                clock.tick(60)


@pytest.mark.proves("B80", "B81", "CC-59")
def test_a_question_without_an_answer_is_a_gap(mind, clock):
    """Candidates were there, nothing was shown: what was asked, when, in which conversation."""
    turns(mind, "Which fertiliser do the garden gates in Kew need before winter?", clock=clock)
    (gap,) = mind.review.gaps(SPACE)

    assert gap.asked == "Which fertiliser do the garden gates in Kew need before winter?"
    assert (gap.at, gap.times, gap.space, gap.session) == (clock.at - 60, 1, f"{SPACE}/s1", "s1")
    assert mind.review.gaps("me/other") == [] and len(mind.review.gaps("me")) == 1


def test_the_same_gap_is_counted(mind, clock):
    """Once in a conversation, once more in the next."""
    ask = "Which fertiliser do the garden gates in Kew need before winter?"
    turns(mind, ask, "Fine.", ask, clock=clock)
    turns(mind, ask, session="s2", clock=clock)

    assert [(gap.times, gap.session) for gap in mind.review.gaps(SPACE)] == [(2, "s2")]


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.proves("B82")
def test_what_was_kept_since_closes_a_gap(mind, clock, learned):
    """Without a model too: by what somebody says later, learned by rules or kept on purpose, if
    memory gives it for the question; anything else leaves it open.
    """
    turns(mind, "Which fertiliser do the garden gates in Kew need before winter?", clock=clock)
    mind.remember("Garden plants in Kew are watered on Mondays.", space=SPACE)
    assert len(mind.review.gaps(SPACE)) == 1

    answer = "Remember that the garden gates in Kew need potash fertiliser before winter."
    if learned:
        mind.learn([{"role": "user", "content": answer}], space=SPACE)
    else:
        mind.remember(answer, space=SPACE)
    assert mind.review.gaps(SPACE) == []
    (kept,) = (m for m in mind.browse(space=SPACE) if "potash" in m.text)
    mind.forget(kept.id)
    assert len(mind.review.gaps(SPACE)) == 1


@pytest.mark.proves("B81")
def test_no_secret_in_a_gap(mind):
    """The question is kept without its secrets, and not longer than needed."""
    secret = f"sk-ant-api03-{'a1B2' * 24}AA"
    turns(
        mind, f"Which fertiliser, key {secret}, do gates in Kew need in the garden? {'xy ' * 300}"
    )
    (event,) = mind.store.events(verbs=["gap"])

    assert "a1B2a1B2" not in str(event.payload) and len(event.payload["asked"]) <= 200


@pytest.mark.parametrize(
    "text",
    [
        "Fix the garden.",  # no question
        "Which zzyzx qwxyz?",  # nothing in memory shares a word with it
        "Where do remarks about garden plants in row 3 stand, remark 3?",  # answered
    ],
)
def test_what_is_no_gap(mind, text):
    mind.remember(
        "Where do remarks about garden plants in row 3 stand, remark 3? On the shelf.", space=SPACE
    )
    turns(mind, text)

    assert mind.review.gaps(SPACE) == []


def test_an_answer_in_the_context_is_no_gap(mind, clock):
    """Shown before in this conversation: the answer stands in its context."""
    heron = "The staging server is called heron and its deploys need a ticket."
    mind.remember(heron, space=SPACE)
    ask = "which staging server do deploys go to"
    turns(mind, ask, f"{ask}?", f"so {ask}?", clock=clock)

    assert (
        any("given" in event.payload for event in mind.store.events(verbs=["turn"]))
        and mind.review.gaps(SPACE) == []
    )


@pytest.mark.proves("B80")
def test_an_unrelated_memory_in_the_context_hides_no_gap(mind, clock):
    """Only what would be shown may be the answer; what shares a few words with the question says
    nothing.
    """
    told = mind.remember(
        "The staging server is called heron and its deploys need a ticket.", space=SPACE
    )
    shed = mind.remember("Fertiliser for the gates in Kew stands in the shed.", space=SPACE)
    window = [HostMessage("user", "Which fertiliser do the gates in Kew need before a ticket?", 0)]
    noted = {}
    for one in (told, shed):
        query = SearchQuery(
            window[0].text,
            visible_spaces(SPACE),
            clock(),
            automatic=True,
            exclude=frozenset([one.id]),
        )
        noted[one.id] = detect_knowledge_gap(mind.store, mind.settings, "s1", SPACE, query, window)
    assert noted[told.id] and noted[shed.id] is None


def test_gaps_are_forgotten_after_ninety_days(mind, clock):
    """Gaps older than 90 days are not listed."""
    turns(mind, "Which fertiliser do the garden gates in Kew need before winter?")
    clock.tick(GAP_SECONDS + 120)

    assert mind.review.gaps(SPACE) == []


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("Where is it?", True),
        ("remind me of the port", True),
        ("do you know the port", True),
        ("How it works", True),
        ("ok\nwhat about the port", True),
        ("Fix it", False),
        ("a? b", False),
        ("", False),
        ("I wonder what", False),
        ("is it ok to deploy", True),
        ("should i add it", True),
        ("can you add it", False),
        ("do the same here", False),
    ],
)
def test_what_asks(text, does):
    assert is_question(text) is does
