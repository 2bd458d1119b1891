"""Two-phase retrieval: hints name what there may be, retrieve reads what somebody wants."""

import json
from typing import Any

import pytest

from reverie.core.errors import BadInput, ModelUnavailable, Refused, StoreReadOnly
from reverie.testing import SPACE
from tests.support.helpers import open_mind, run_command, toy_home

pytestmark = pytest.mark.words_only


def kept(mind, text, *tags, **more):
    return mind.remember(
        text,
        space=more.pop("space", SPACE),
        title=more.pop("title", text.split(",")[0]),
        tags=tags,
        **more,
    ).id


@pytest.mark.proves("E7", "E9", "E10", "E41", "E52", "CC-80")
def test_hints_hold_titles_and_no_text(mind):
    """Ids, titles, tags, at most five, newest first; nothing where nothing matches."""
    ids = []
    for n in range(7):
        ids.append(
            kept(
                mind,
                f"Part {n}, a secret recipe of {n} lines",
                "widget_cache",
                title=f"Widget note {n}",
            )
        )
        mind.context.now.tick(60)
    found = mind.hints("why is the widget cache stale?", space=SPACE)
    assert [hint.id for hint in found] == ids[:1:-1]
    assert not any("recipe" in str(hint) for hint in found)
    assert mind.hints("thank you, that was all", space=SPACE) == []


@pytest.mark.proves("E39", "E40", "E41")
def test_exact_before_partial_before_newest(mind):
    """Whole tags go before other forms, more tags before fewer, then the newest."""
    both = kept(mind, "One, about two things", "runtime", "session")
    one = kept(mind, "Two, about one thing", "session")
    mind.context.now.tick(60)
    partly = kept(mind, "Three, about another form", "sessions")
    found = [hint.id for hint in mind.hints("Does the runtime keep a session?", space=SPACE)]
    assert found[:3] == [both, one, partly]


@pytest.mark.proves("CC-80", "X8", "X40")
def test_hints_are_given_once_in_a_conversation(mind):
    """The same is not hinted twice in a session, but is in another and to who names none."""
    id = kept(mind, "Heron, the staging server", "staging")
    ask = "what about staging?"
    assert [hint.id for hint in mind.hints(ask, space=SPACE, session="one")] == [id]
    assert mind.hints(ask, space=SPACE, session="one") == []
    assert [hint.id for hint in mind.hints(ask, space=SPACE, session="two")] == [id]
    assert [hint.id for hint in mind.hints(ask, space="me/demo/deep", session="one")] == [
        id
    ]  # another's "one"


@pytest.mark.proves("X11", "CC-45")
def test_hints_stay_given_in_a_new_process(tmp_path):
    """What was hinted is known after a restart."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        kept(mind, "Heron, the staging server", "staging")
        assert len(mind.hints("what about staging?", space=SPACE, session="one", mode="words")) == 1
    with open_mind(home) as mind:
        assert mind.hints("what about staging?", space=SPACE, session="one", mode="words") == []


@pytest.mark.proves("CC-44", "X10")
def test_a_conversation_is_not_hinted_at_its_own_words(mind):
    """What a session kept itself is no news to it, but to others."""
    id = kept(mind, "Heron, the staging server", "staging", session="one")
    assert mind.hints("what about staging?", space=SPACE, session="one") == []
    assert [hint.id for hint in mind.hints("what about staging?", space=SPACE, session="two")] == [
        id
    ]


@pytest.mark.proves("CC-85", "CC-11")
def test_what_must_not_surface_is_not_hinted(mind):
    """Dismissed, passed on, only concluded, expired, of another project: none of it is hinted."""
    for state in ("dismissed", "escalated"):
        mind.review.curate(kept(mind, f"It is {state}, whatever", "staging"), state)
    kept(mind, "Concluded, by nobody", "staging", provenance="inferred")
    kept(mind, "Over, long since", "staging", expires_at=mind.context.now() - 1)
    kept(mind, "Elsewhere, in another project", "staging", space="me/other")
    assert mind.hints("what about staging?", space=SPACE) == []
    assert len(mind.review.pending(space=SPACE)) == 2


@pytest.mark.proves("CC-82", "E25", "X41")
def test_retrieve_by_tags(mind):
    """Most tags in common first, then the newest; letter case aside; three; matched and truncated."""
    one = kept(mind, "One, of two tags", "alpha", "beta")
    two = kept(mind, "Two, of one tag", "Alpha", space="me")
    mind.context.now.tick(60)
    three = kept(mind, "Three, of one tag", "beta")
    found = mind.retrieve(tags=["ALPHA", "beta"], space=SPACE)
    assert ([m.id for m in found.memories], found.matched, found.truncated) == (
        [one, three, two],
        3,
        False,
    )
    mind.context.now.tick(60)
    four = kept(mind, "Four, of another", "gamma")
    found = mind.retrieve(tags=["alpha", "beta", "gamma"], limit=2, space=SPACE)
    assert ([m.id for m in found.memories], found.matched, found.truncated) == (
        [one, four],
        4,
        True,
    )


@pytest.mark.proves("CC-83", "CC-11")
def test_retrieve_by_ids(mind):
    """In the order asked and without a limit; unknown ones and those of others are left out."""
    ids = [kept(mind, f"Number {n}, no more") for n in range(5)]
    hidden = kept(mind, "Theirs, of another project", space="me/other")
    found = mind.retrieve(
        [*ids[::-1], "mem_unknown", hidden], tags=["nothing"], limit=1, space=SPACE
    )
    assert ([m.id for m in found.memories], found.matched, found.truncated) == (ids[::-1], 5, False)
    assert mind.retrieve(["mem_unknown"], space=SPACE) == ([], 0)


@pytest.mark.proves("CC-84")
def test_nothing_to_retrieve(mind):
    """Tags of one letter are no tags, and without any there is nothing to ask."""
    for tags in ([], ["x", " "]):
        with pytest.raises(BadInput, match="two letters"):
            mind.retrieve(tags=tags, space=SPACE)


@pytest.mark.proves("E28", "X45", "CC-13")
def test_retrieving_counts_as_use(mind):
    """Usage count and last access rise, confidence and strength stay, what stepped back stays so."""
    id, gone = (
        kept(mind, "Heron, the staging server", "staging"),
        kept(mind, "Crane, the old one", "staging"),
    )
    mind.forget(gone)
    before = mind.get(id)[0]
    mind.context.now.tick(60)
    for count in (1, 2):
        one, other = mind.retrieve([id, gone], space=SPACE).memories
        assert (one.access_count, one.last_accessed_at) == (count, mind.context.now())
        assert (one.confidence, one.strength) == (before.confidence, before.strength)
        assert (other.access_count, other.active) == (0, False)


def test_retrieve_works_on_a_read_only_store(mind, monkeypatch):
    """Where nothing can be written, memories can still be read."""
    id = kept(mind, "Heron, the staging server", "staging")

    def refused(*_):
        raise StoreReadOnly

    monkeypatch.setattr(mind.store, "apply", refused)
    assert [memory.id for memory in mind.retrieve([id], space=SPACE).memories] == [id]


@pytest.mark.proves("CC-86", "CC-87", "X42")
def test_a_near_duplicate_is_reported(mind):
    """A near-duplicate is reported with the best match at once, and kept; a short text is none."""
    first = kept(mind, "The deploy of run 1 failed since the token of the registry had expired")
    assert mind.review.near_duplicate(first) is None
    for n in range(2, 84):
        again = kept(
            mind, f"The deploy of run {n} failed since the token of the registry had expired"
        )
        twin = mind.review.near_duplicate(again)
        assert twin is not None and twin.likeness > 0.8
    assert (
        mind.review.near_duplicate(kept(mind, "Tomatoes need much water in July and little shade"))
        is None
    )
    for _ in range(2):
        short = kept(mind, "registry token")
    assert mind.review.near_duplicate(short) is None
    exact = kept(
        mind,
        "The deploy of run 9 failed since the token of the registry had expired",
        space="me/other",
    )
    assert mind.review.near_duplicate(exact) is None


@pytest.mark.proves("X42")
def test_a_near_duplicate_can_be_refused(mind):
    """By a setting: what nearly says what is known is not kept, also among many; another value or
    a denial in the same words is.
    """
    kept(mind, "The staging database listens on port 5433.")
    said_again = "Again: the staging database listens on port 5433!"
    kept(mind, said_again)
    mind.context.settings = mind.settings._replace(duplicates="refuse")
    before = len(mind.browse(space=SPACE))
    with pytest.raises(Refused, match="known already, as mem_"):
        mind.remember(said_again, space=SPACE)
    with pytest.raises(Refused, match="known already"):
        mind.remember_many([{"text": "Cats purr."}, {"text": said_again}], space=SPACE)
    assert before == len(mind.browse(space=SPACE))
    for news in (
        "The staging database listens on port 6000.",
        "The staging database never listens on port 5433.",
        "The staging cache listens on a socket.",
    ):
        mind.remember(news, space=SPACE)


@pytest.mark.proves("A114")
def test_nothing_where_memory_is_off(mind):
    """Memory that is switched off hints at nothing and retrieves nothing."""
    id = kept(mind, "Heron, the staging server", "staging")
    mind.context.settings = mind.settings._replace(enabled=False)
    assert mind.hints("staging?", space=SPACE) == []
    assert mind.retrieve([id], space=SPACE) == ([], 0)


def test_hints_where_nothing_can_be_written(mind, monkeypatch):
    """On a store that is only read, hints are given as recall gives memories; they may
    come again.
    """
    id = kept(mind, "Heron, the staging server", "staging")

    def refused(*_):
        raise StoreReadOnly

    monkeypatch.setattr(mind.store, "append", refused)
    assert [hint.id for hint in mind.hints("what about staging?", space=SPACE, session="one")] == [
        id
    ]


@pytest.mark.proves("E10", "CC-80")
def test_an_untitled_memory_is_hinted_at_by_what_the_prompt_has(mind):
    """Its kind and the words of it that the prompt has too; where it has none, its day."""
    kept(mind, "The staging server is called heron.", "hosts", title="", kind="decision")
    [hint] = mind.hints("Which staging server is ours?", space=SPACE)
    assert hint.title == "decision on staging, server"
    [hint] = mind.hints("what of our hosts?", space=SPACE)
    assert hint.title.startswith("decision of 20") and "heron" not in hint.title


@pytest.mark.proves("E60", "E61")
def test_what_is_used_and_worth_most(mind, clock):
    """Counted is who was used or said again, and how often; first comes what was needed often and
    is believed.
    """
    often, once, doubted, never = (
        kept(mind, text) for text in ("Often", "Once", "Doubted", "Never")
    )
    for id, times in ((often, 4), (once, 1), (doubted, 4)):
        for _ in range(times):
            mind.retrieve([id], space=SPACE)
    for _ in range(5):
        mind.feedback(doubted, False)
    kept(mind, "Elsewhere", space="me/other")
    found = mind.data.usage(space=SPACE)
    assert (found.memories, found.used, found.uses, found.lately) == (4, 3, 9, 3)
    assert [memory.id for memory in found.best] == [
        often,
        doubted,
        once,
    ] and never not in found.best
    assert [memory.id for memory in mind.data.usage(space=SPACE, limit=1).best] == [often]
    clock.tick(days=60)
    assert mind.data.usage(space=SPACE).lately == 0


@pytest.mark.proves("E60", "E61")
def test_usage_on_the_command_line(tmp_path, monkeypatch):
    """`stats --used` tells which memories were used how often."""
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(tmp_path)))
    with open_mind(tmp_path / "home") as mind:
        mind.retrieve([kept(mind, "Staging is heron.")], space=SPACE)
    assert (
        "Of 1 memories 1 were used, 1 times in all"
        in run_command("data", "stats", "--used", "--space", SPACE).stdout
    )
    assert (
        json.loads(run_command("data", "stats", "--used", "--space", SPACE, "--json").stdout)[
            "best"
        ][0]["access_count"]
        == 1
    )


def test_an_empty_home_needs_no_model(tmp_path, monkeypatch):
    """A recall in an empty home answers at once, and nothing is fetched for it; once there is
    something, it is.
    """
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(tmp_path)))
    asked: list[Any] = []

    def refuse(_, texts):
        asked.append(texts)
        raise ModelUnavailable("There is no model")

    monkeypatch.setattr("reverie.embedding.toy.ToyEmbedder.embed", refuse)
    assert (
        "Words alone" not in run_command("recall", "heron", "--space", SPACE).stderr and asked == []
    )
    with open_mind(tmp_path / "home") as mind:
        kept(mind, "Staging is heron.")
    assert "Words alone" in run_command("recall", "heron", "--space", SPACE).stderr and asked
