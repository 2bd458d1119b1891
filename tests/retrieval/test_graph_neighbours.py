# mypy: no-check-untyped-defs
"""Neighbours in the graph that come with an answer, in real stores: tags, links, contradictions;
and what never comes.
"""

import pytest

from reverie.core.errors import BadInput
from reverie.core.model import Edge, Link
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.testing import make_event, memory

pytestmark = pytest.mark.words_only

SPACE = "me/demo"
HERON = "The staging server is called heron."
ASK = "which staging server"


@pytest.fixture
def mind(mind):
    """Knows only words: whatever shares none with the question came by the graph."""
    mind.heron = mind.remember(HERON, space=SPACE, tags=["infra"])
    return mind


def found(mind, question=ASK, **how):
    return {hit.memory.text: hit for hit in mind.recall(question, space=SPACE, **how)}


@pytest.mark.proves("CC-16", "CC-20", "B3", "B45")
def test_a_shared_tag_comes_along_below(mind):
    """The hit, then what shares its tag, and why."""
    mind.remember("Backups run at night.", space=SPACE, tags=["infra"])
    hits = mind.recall(ASK, space=SPACE)

    assert [hit.memory.text for hit in hits] == [HERON, "Backups run at night."]
    assert hits[1].why == (f"shares tag:infra with {mind.heron.id}",)
    assert hits[1].score < hits[0].score


@pytest.mark.proves("CC-21")
def test_links_are_usable_from_both_ends(mind):
    """Linked to or from the hit."""
    to, by = mind.remember("Cats purr.", space=SPACE), mind.remember("Dogs bark.", space=SPACE)
    mind.link(mind.heron.id, to.id)
    mind.link(by.id, mind.heron.id, "derived_from")

    assert found(mind)["Cats purr."].why == (f"linked to {mind.heron.id} by relates_to",)
    assert found(mind)["Dogs bark."].why == (f"linked to {mind.heron.id} by derived_from",)


@pytest.mark.proves("CC-21", "B4", "B36", "B2", "B10")
def test_clusters_are_nodes_like_tags(mind):
    """Members of a cluster bring each other along, and so do memories about one file."""
    cluster, file = (
        mind.remember("Cats purr.", space=SPACE),
        mind.remember("Dogs bark.", space=SPACE),
    )
    ties = [
        Edge(src=id, rel=rel, dst=node)
        for other, rel, node in (
            (cluster, "in_cluster", "cluster:7"),
            (file, "about", "file:deploy.py"),
        )
        for id in (mind.heron.id, other.id)
    ]
    mind.store.apply([Link(edge=edge) for edge in ties], make_event("sleep"))
    hits = found(mind)

    assert list(hits) == [HERON, "Cats purr.", "Dogs bark."]
    assert hits["Cats purr."].why == (f"shares cluster:7 with {mind.heron.id}",)
    assert [hit.memory.id for hit in mind.similar(cluster.id)] == [
        mind.heron.id
    ] and mind.data.verify() == []


@pytest.mark.proves("CC-18", "B35", "B42")
def test_depth_is_an_argument_and_a_setting(mind, clock):
    """0, 1, 2 hops; two by default, or what the settings say."""
    near, far = mind.remember("Cats purr.", space=SPACE), mind.remember("Dogs bark.", space=SPACE)
    mind.link(mind.heron.id, near.id)
    mind.link(near.id, far.id)

    assert [len(found(mind, depth=n)) for n in (0, 1, 2, None)] == [1, 2, 3, 3]
    mind.context.settings = mind.settings._replace(depth=1)
    assert len(found(mind)) == 2
    for odd in (-1, 99, 1.5):
        with pytest.raises(BadInput):
            found(mind, depth=odd)


@pytest.mark.proves("B34", "B41", "B43")
def test_the_ten_best_bring_others_along(mind):
    """Ten answers unless more are asked for; the ten best lead on to their neighbours."""
    for n in range(15):
        rule = mind.remember(f"The staging server has rule {n}.", space=SPACE)
        mind.link(rule.id, mind.remember(f"Cat {n} purrs.", space=SPACE).id)
    mind.link(mind.heron.id, mind.remember("Cat 99 purrs.", space=SPACE).id)

    assert len(found(mind)) == 10
    assert sum(text.startswith("Cat") for text in found(mind, limit=99, depth=1)) == 10


@pytest.mark.proves("B14")
def test_a_procedure_comes_along_with_the_fact_it_is_made_of(mind):
    """A `derived_from` edge leads from what one knows to what one does."""
    done = mind.procedures.teach("Restart", ["log in", "run bin/up"], space=SPACE)
    mind.link(done.id, mind.heron.id, "derived_from")

    assert [hit.why for hit in mind.recall(ASK, space=SPACE) if hit.memory.id == done.id] == [
        (f"linked to {mind.heron.id} by derived_from",)
    ]


@pytest.mark.proves("B44")
def test_decay_is_a_setting(mind):
    """The share of a score that each hop keeps is a setting."""
    other = mind.remember("Cats purr.", space=SPACE)
    mind.link(mind.heron.id, other.id, weight=1.0)
    for decay in (0.7, 0.35):
        mind.context.settings = mind.settings._replace(decay=decay)
        hits = found(mind)
        assert hits["Cats purr."].score == pytest.approx(decay * hits[HERON].score)
    mind.context.settings = mind.settings._replace(decay=1.5)
    with pytest.raises(BadInput):
        found(mind)


@pytest.mark.proves("CC-19")
def test_what_does_not_count_never_comes_along(mind, clock):
    """Forgotten, superseded, expired, a sibling's, outside the filters: whatever edge leads there."""
    texts = {
        name: mind.remember(f"{name} purrs.", space=SPACE, tags=["infra"], kind="note").id
        for name in ("forgotten", "superseded", "expired", "other kind", "seen")
    }
    sibling = mind.remember("sibling purrs.", space="me/other", tags=["infra"]).id
    for id in (*texts.values(), sibling):
        mind.link(mind.heron.id, id)
    mind.forget(texts["forgotten"])
    mind.supersede(texts["superseded"], texts["seen"])
    mind.revise(texts["expired"], expires_at=clock.at + 5)
    mind.revise(texts["other kind"], kind="event")
    mind.revise(mind.heron.id, kind="note")
    clock.tick(10)

    assert set(found(mind, kinds=["note"])) == {HERON, "seen purrs."}
    assert set(found(mind)) == {HERON, "seen purrs.", "other kind purrs."}
    assert set(found(mind, tags=["infra"], kinds=["event"])) == set()


def test_walks_do_not_pass_through_invisible_memories(mind):
    """What lies behind a sibling's memory, or behind one that was let go of, is out of reach."""
    sibling = mind.remember("Secret.", space="me/other")
    gone, far = mind.remember("Gone.", space=SPACE), mind.remember("Far.", space=SPACE)
    for between in (sibling, gone):
        mind.link(mind.heron.id, between.id)
        mind.link(between.id, far.id)
    mind.forget(gone.id)

    assert set(found(mind)) == {HERON}
    assert not any(sibling.id in reason for reason in found(mind)[HERON].why)


@pytest.mark.proves("B64", "B66")
def test_a_disputed_belief_says_so(mind):
    """What contradicts an answer has a place in it, flagged on both sides, also behind better
    answers.
    """
    against = mind.remember("No, it is named crane.", space=SPACE)
    mind.link(against.id, mind.heron.id, "contradicts")
    mind.remember_many(
        [{"text": f"The staging area has rule {n}."} for n in range(20)], space=SPACE
    )
    hits = found(mind, limit=5)

    assert f"contradicts {against.id}" in hits[HERON].why
    assert hits["No, it is named crane."].why == (f"contradicts {mind.heron.id}",)
    assert len(hits) == 5
    assert list(found(mind, limit=1)) == [HERON]


@pytest.mark.proves("CC-5", "CC-25")
def test_a_replacement_says_what_it_replaced(mind):
    """The newer one names the older; the older does not come along."""
    new = mind.remember("The staging server is called crane now.", space=SPACE)
    mind.supersede(mind.heron.id, new.id)

    hits = found(mind)
    assert list(hits) == ["The staging server is called crane now."]
    assert f"supersedes {mind.heron.id}" in hits["The staging server is called crane now."].why


def test_injection_follows_no_links(mind):
    """Unasked, the graph adds nothing: it gains nothing there (docs/why-ranking.md)."""
    other = mind.remember("Cats purr.", space=SPACE)
    mind.link(mind.heron.id, other.id, weight=1.0)

    assert [hint.id for hint in mind.hints("staging server called heron", space=SPACE)] == [
        mind.heron.id
    ]


def test_without_edges_nothing_is_walked(mind, monkeypatch):
    """One look at the edges of what was found; the rest of the stage is not even
    imported for it.
    """
    asked = []
    around = mind.store.edges_around
    monkeypatch.setattr(
        mind.store, "edges_around", lambda *args: asked.append(args) or around(*args)
    )
    mind.tag(mind.heron.id, remove=["infra"])

    assert list(found(mind)) == [HERON] and len(asked) == 1
    found(mind, depth=0)
    search_memories(mind.store, SearchQuery(text=ASK, spaces=(SPACE,), now=0.0))
    assert len(asked) == 1


@pytest.mark.proves("B30")
def test_similar_by_meaning_and_by_ties(clock):
    """More like this: close in meaning, or sharing a tag; never itself, best first."""
    with memory(now=clock) as mind:
        one = mind.remember("The staging server is called heron.", space=SPACE, tags=["infra"])
        alike = mind.remember("The staging server was called stork.", space=SPACE)
        tagged = mind.remember("Zebras graze.", space=SPACE, tags=["infra"])
        mind.settle()
        hits = mind.similar(one.id)

        assert {hits[0].memory.id, hits[1].memory.id} == {alike.id, tagged.id}
        why = {hit.memory.id: " ".join(hit.why) for hit in hits}
        assert "meaning" in why[alike.id] and f"shares tag:infra with {one.id}" in why[tagged.id]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert len(mind.similar(one.id, limit=1)) == 1 and mind.similar(one.id, limit=0) == []
        assert mind.similar(one.id, space="me/other") == []


def test_similar_without_a_model(mind):
    """Without a model `similar` goes by words and links."""
    other = mind.remember("The staging server reboots on Mondays.", space=SPACE)

    assert [hit.memory.id for hit in mind.similar(mind.heron.id)] == [other.id]


def test_neighbours_whatever_is_asked(mind):
    """The neighbourhood of one memory, nearest first, with the way to each."""
    near, far = mind.remember("Cats purr.", space=SPACE), mind.remember("Dogs bark.", space=SPACE)
    mind.link(mind.heron.id, near.id)
    mind.link(near.id, far.id)

    assert [hit.memory.id for hit in mind.neighbours(mind.heron.id)] == [near.id, far.id]
    assert [hit.memory.id for hit in mind.neighbours(far.id, depth=1)] == [near.id]
    assert mind.neighbours(far.id)[1].why == (f"linked to {near.id} by relates_to",)
    assert mind.neighbours(mind.remember("Alone.", space=SPACE).id) == []


# Tags and links as nodes


@pytest.mark.proves("CC-2", "CC-3", "CC-4", "B9")
def test_tags_are_counted_nodes(mind):
    """`rust` on two, `async` on one; tagging twice counts once, untagging and forgetting lower it."""
    one = mind.remember("one", space=SPACE, tags=["rust", "async"])
    two = mind.remember("two", space=SPACE, tags=["rust"])
    mind.tag(one.id, add=["rust"])
    assert mind.tags(SPACE) == {"async": 1, "infra": 1, "rust": 2}
    assert len(mind.store.edges([one.id, two.id], ("has_tag",))) == 3

    assert mind.tag(one.id, remove=["rust"]).tags == ("async",)
    assert mind.tags(SPACE) == {"async": 1, "infra": 1, "rust": 1}
    mind.forget(two.id)
    assert mind.tags(SPACE) == {"async": 1, "infra": 1}
    mind.data.purge([one.id, two.id])
    assert mind.store.edges([one.id, two.id]) == [] and mind.tags(SPACE) == {"infra": 1}


@pytest.mark.proves("B23")
def test_a_category_is_a_kind_and_may_be_a_tag(mind):
    """What is a preference is listed as such; a leading # belongs to no tag."""
    one = mind.remember("Tabs, please.", space=SPACE, kind="preference", tags=["#Preference"])
    mind.remember("Not so.", space=SPACE, kind="correction")

    assert (
        [one]
        == mind.browse(space=SPACE, kinds=["preference"])
        == mind.browse(space=SPACE, tags=["preference"])
    )
    assert [one] == mind.browse(space=SPACE, tags=["#preference"])


@pytest.mark.proves("CC-58", "B75", "B127", "B11")
def test_linking_again_strengthens(mind):
    """0.5, then +0.05 from either end up to 0.95, one edge; a weight that is given holds."""
    a, b = mind.heron.id, mind.remember("Cats purr.", space=SPACE).id

    assert [mind.link(a, b), mind.link(b, a)] == [0.5, pytest.approx(0.55)]
    for _ in range(20):
        last = mind.link(a, b)
    assert (last, len(mind.store.edges([a]))) == (0.95, 2)  # with its tag
    assert mind.link(a, b, weight=0.2) == 0.2
    assert mind.link(a, b, weight=0.0) == 0.0 and len(mind.store.edges([b])) == 0
    mind.link(a, b, "derived_from")
    assert mind.link(b, a, "derived_from") == 0.5 and len(mind.store.edges([b])) == 2
