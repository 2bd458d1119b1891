# mypy: no-check-untyped-defs
"""How two memories are compared without a language model."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.reconciliation.paraphrase import statement_comparison as module
from reverie.reconciliation.paraphrase import wording_vote
from reverie.reconciliation.paraphrase.concept_vocabulary import stem_concept_word
from reverie.reconciliation.paraphrase.similarity_features import compare_statements
from reverie.reconciliation.paraphrase.statement_comparison import (
    RELATIONS,
    compare_memories,
    load_scorer,
)
from reverie.reconciliation.paraphrase.statement_parser import MAX_TOKENS, read_statement
from reverie.testing import NOON, make_memory


def told(
    old: str, new: str, cosine: float | None = 0.9, wordings: tuple[str, ...] = (), **fields
) -> str:
    """The relation of two texts."""
    return compare_memories(
        make_memory(old), make_memory(new, **fields), cosine, wordings=wordings
    ).relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Never commit without running the tests.", "Always run the tests before committing."),
        ("Don't use npm, use pnpm.", "Use pnpm instead of npm."),
        ("Logs are kept for 14 days.", "We keep logs for two weeks."),
        ("Keep answers short.", "No long answers, please."),
        ("The dev server runs on port 8080.", "Dev server listens on 8080."),
        ("Never force-push to main.", "Force-pushing to main is forbidden."),
    ],
)
@pytest.mark.proves("A81", "CC-54")
def test_restatements_are_recognised(old, new):
    """A restatement is recognised across negation, units, synonyms and word order."""
    assert "same" == told(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I prefer tabs over spaces.", "I prefer spaces over tabs."),
        ("The dev server runs on port 8080.", "The dev server runs on port 9090."),
        ("The project targets Python 3.11.", "The project targets Python 3.12."),
        ("API requests time out after 30 seconds.", "API requests time out after 30 milliseconds."),
        ("Run the migrations before deploying.", "Run the migrations after deploying."),
        (
            "Reads go to the replica, writes go to the primary.",
            "Reads go to the primary, writes go to the replica.",
        ),
        (
            "The new parser is faster than the old one.",
            "The old parser is faster than the new one.",
        ),
        (
            "The web service calls the billing service.",
            "The web service does not call the billing service.",
        ),
    ],
)
@pytest.mark.proves("A82", "B105")
def test_contradictions_are_never_merged(old, new):
    """However near the vectors: another value, a negation or another order is no repetition."""
    assert "same" != told(old, new, 0.99)
    assert told(old, new, 0.97) in ("contradicts", "updates", "near")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We use pnpm in this repo.", "Use bun instead of pnpm in this repo."),
        (
            "The staging server is called heron.",
            "The staging server was renamed from heron to kestrel.",
        ),
        ("I prefer tabs over spaces.", "I no longer prefer tabs; use spaces instead."),
        ("My editor is vim.", "I switched from vim to helix."),
    ],
)
def test_an_announced_change_is_an_update(old, new):
    """The new one says by itself what is no more, and the old one is that."""
    assert "updates" == told(old, new, 0.8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The staging server is called heron.", "The database was renamed from apollo to zeus."),
        ("The dev server runs on port 8080.", "We moved the office from Berlin to Hamburg."),
        (
            "In staging the database is db2.internal.",
            "In production the database is db1.internal now, not db0.internal.",
        ),
        ("The upload limit is 10 MB.", "Should we raise the upload limit from 10 to 50 MB?"),
    ],
)
def test_a_change_of_something_else_replaces_nothing(old, new):
    """Announcing a change is not enough: it must be about the old memory."""
    assert told(old, new, 0.7) not in ("updates", "same")


@pytest.mark.proves("CC-56")
def test_all_wordings_of_a_memory_are_compared():
    """A merged memory is compared by all its wordings, not only by its first text."""
    new = "User prefers test-driven development."

    assert "same" == told(
        "Write the tests first, then the code.", new, 0.75, ("We work test-driven.",)
    )


@pytest.mark.proves("B124")
def test_a_verdict_says_why_in_words():
    """A person who decides sees what stands against what."""
    eight, nine = (
        make_memory("The dev server runs on port 8080."),
        make_memory("The dev server runs on port 9090."),
    )
    verdict = compare_memories(eight, nine, 0.97)

    assert ("updates", "one value at a time of the same thing: 8080 / 9090") == (
        verdict.relation,
        verdict.why,
    )


@pytest.mark.proves("CC-55")
def test_the_same_in_another_space_is_only_reported():
    """A wish for every project must not vanish into one project's duplicate."""
    text = "Always use tabs."
    here, everywhere = make_memory(text, space="me/demo"), make_memory(text, space="me")

    assert "near" == compare_memories(here, everywhere, 1.0).relation
    assert "same" == compare_memories(here, here._replace(id="mem_2"), 1.0).relation


def test_what_happened_twice_happened_twice():
    """Two events on different days are two memories although the words are the same."""
    first = make_memory("The build broke.", kind="event", at=NOON)

    assert (
        "apart"
        == compare_memories(first, first._replace(id="mem_2", at=NOON + 2 * 86_400), 1.0).relation
    )
    assert "same" == compare_memories(first, first._replace(id="mem_2", at=NOON + 60), 1.0).relation


def test_two_speakers_are_not_merged():
    """What Ann likes says nothing about what Ben likes."""
    ann, ben = (
        make_memory("I prefer tabs.", speaker="Ann"),
        make_memory("I prefer tabs.", speaker="Ben"),
    )

    assert "apart" == compare_memories(ann, ben, 1.0).relation
    assert "same" == compare_memories(ann, ben._replace(speaker="user"), 1.0).relation


def test_a_question_states_nothing():
    """A question neither repeats nor contradicts a statement."""
    assert "apart" == told("Use tabs in Go.", "Should I use tabs in Go?")


@pytest.mark.proves("CC-86")
def test_without_an_embedder_words_decide():
    """Without an embedder there is no cosine, and words decide."""
    assert "same" == told(
        "We use pnpm in this repo.", "pnpm is what we use in this repository.", None
    )
    assert "updates" == told("We use pnpm in this repo.", "We use npm in this repo.", None)
    assert "apart" == told("We use pnpm in this repo.", "Ann likes coffee.", None)


@pytest.mark.parametrize(
    ("denied", "said"),
    [
        ("I no longer live in Lisbon.", "I live in Lisbon."),
        ("I stopped drinking coffee.", "I drink coffee."),
        ("We no longer deploy from the laptop.", "We deploy from the laptop."),
    ],
)
@pytest.mark.proves("CC-57")
def test_what_is_no_more_is_not_what_is(denied, said):
    """What was given up and is said again later contradicts the giving up, also behind a
    preposition.
    """
    assert "contradicts" == told(denied, said, 0.9)
    assert "updates" == told(said, denied, 0.9)


def test_what_is_preferred_is_not_when_it_runs():
    """Each says something that the other does not, if only by what it likes less."""
    liked, runs = (
        "I prefer integration tests over unit tests.",
        "Integration tests run every night.",
    )
    assert "same" != told(liked, runs, 0.65)


@given(st.text(max_size=300), st.text(max_size=300), st.none() | st.floats(-1, 1))
def test_any_two_texts_have_a_verdict(old, new, cosine):
    """Odd texts never crash it, and it is as sure as a probability can be."""
    verdict = compare_memories(
        make_memory("x")._replace(text=old), make_memory("y")._replace(text=new), cosine
    )

    assert verdict.relation in RELATIONS and 0.0 <= verdict.confidence <= 1.0 and verdict.why


@given(st.text(max_size=300))
def test_a_text_is_the_same_as_itself(text):
    """Word for word is the same, whatever the words; a text without words too."""
    memory = make_memory("x")._replace(text=text)

    assert "same" == compare_memories(memory, memory._replace(id="mem_2"), None).relation


_WORDS = """use tabs spaces not in yaml python 3.11 3.12 port 8080 never always the server is heron instead of , .
before deploy test no longer"""
WORDS = st.lists(st.sampled_from(_WORDS.split()), min_size=1, max_size=12).map(" ".join)


@given(WORDS, WORDS)
def test_what_is_shared_is_shared_both_ways(old, new):
    """Overlap, turned words and opposites do not depend on which came first."""
    one, other = (
        compare_statements(read_statement(old), read_statement(new), 0.5),
        compare_statements(read_statement(new), read_statement(old), 0.5),
    )

    for name in (
        "jaccard",
        "any turned",
        "order crossed",
        "swap opposite",
        "swap value",
        "other place",
        "not all",
    ):
        assert one.features[name] == pytest.approx(other.features[name]), name


@given(WORDS, WORDS)
def test_only_an_announcement_updates(old, new):
    """Without a word that announces a change nothing is replaced."""
    verdict = compare_memories(make_memory(old), make_memory(new), 0.9)
    seen = read_statement(new)

    assert verdict.relation != "updates" or seen.changes or seen.soft


def test_a_long_text_is_cut():
    """Of a very long text the beginning counts: the reading stays small."""
    seen = read_statement("The server runs on port 8080. " * 4_000)

    assert len(seen.words) <= MAX_TOKENS
    assert "same" == told("word " * 20_000, "word " * 20_000)
    assert "near" == told("Use tabs. " * 10_000, "Use tabs. " * 10_000 + "But not in YAML.", 0.99)


def test_empty_texts_have_nothing_to_compare():
    """An empty text and any other are unrelated."""
    empty = make_memory("x")._replace(text="")

    assert "apart" == compare_memories(empty, make_memory("Use tabs."), 0.9).relation
    assert "apart" == compare_memories(make_memory("Use tabs."), empty, 0.9).relation


def test_stems_bring_forms_together():
    """One word in its forms; what is too short or no word is left alone."""
    assert {"commit"} == {
        stem_concept_word(word) for word in ("commit", "commits", "committing", "committed")
    }
    assert {"deploy"} == {
        stem_concept_word(word)
        for word in ("deploy", "deploys", "deployed", "deploying", "deployment")
    }
    assert ("api", "utf8", "process") == (
        stem_concept_word("api"),
        stem_concept_word("utf8"),
        stem_concept_word("process"),
    )


def test_the_scorer_fits_the_features():
    """Every coefficient in the file belongs to a feature that is computed, and every feature has
    one.
    """
    kept = json.loads((Path(module.__file__).parent / "comparer.json").read_text("utf-8"))
    made = compare_statements(
        read_statement("Use tabs."), read_statement("Use spaces."), 0.9
    ).features

    assert set(made) == set(kept["with cosine"]["features"])
    assert {name for name in made if "cosine" not in name} == set(kept["without"]["features"])
    assert 1.0 == pytest.approx(sum(load_scorer("without").estimate(made).values()))


def test_a_denial_of_the_merged_memory_is_no_repetition():
    """However many wordings a memory has, one that fits by chance does not make its opposite a
    repetition.
    """
    wordings = (
        "I like tabs better than spaces.",
        "My preference is tabs rather than spaces.",
        "Use tabs, not spaces.",
    )

    relation = told("I prefer tabs over spaces.", "I prefer spaces over tabs.", 0.97, wordings)
    assert relation in ("contradicts", "updates")


TESTS = (
    "Write tests before the code.",
    "Tests first, then code.",
    "I want tests written before the implementation.",
)


@pytest.mark.parametrize(
    ("new", "relation"),
    [
        ("No code without a test first.", "same"),
        ("Could you write the tests before the code?", "same"),
        ("Write the tests before the code, because it saves us hours.", "same"),
        ("Write the code first and the tests afterwards.", "contradicts"),
        ("Writing tests before the code is a waste of time.", "contradicts"),
        ("Run the tests before you push.", "near"),
    ],
)
@pytest.mark.proves("CC-56", "A81", "A86")
def test_wordings_vote_on_the_relation(new, relation):
    """One more wording is told from what denies most of them, or speaks of something else."""
    found = told(TESTS[0], new, 0.8, TESTS[1:])
    assert found == relation or (relation == "near" and found not in ("same", "updates"))


@pytest.mark.proves("A84", "A86")
def test_what_was_said_often_is_not_replaced_in_passing():
    """A memory of strength 3 steps back only for what names it as no longer so."""
    old = make_memory("The dev server runs on port 8080.")._replace(strength=3)
    passing = "The dev server port changed, it runs on port 9090."
    named = "The dev server no longer runs on port 8080, it is on 9090 now."

    assert (
        compare_memories(old._replace(strength=1), make_memory(passing), 0.9).relation == "updates"
    )
    assert compare_memories(old, make_memory(passing), 0.9).relation == "contradicts"
    assert compare_memories(old, make_memory(named), 0.9).relation == "updates"


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        (
            "Break large PRs up into smaller ones.",
            "Several small PRs are better than one large PR.",
            False,
        ),
        ("We always write our tests first.", "Write the code before the tests.", True),
        ("Stick to TDD.", "TDD is not for me.", True),
        ("Keep pull requests small.", "Small pull requests are a waste of time.", True),
    ],
)
@pytest.mark.proves("A86")
def test_what_stands_against_it_is_seen(old, new, relation):
    """Big ones refused and small ones wanted is one wish; who calls it a waste of time does not
    want it.
    """
    assert (told(old, new, 0.8) == "contradicts") is relation
    assert told(old, new, 0.8) != "updates"


@given(st.lists(st.sampled_from(RELATIONS), min_size=1, max_size=8), st.floats(0, 1))
@pytest.mark.proves("A86")
def test_votes_that_all_deny_never_merge(relations, likely):
    """However likely each wording finds it, what most of them deny is not the same."""
    looks = [
        wording_vote.WordingVote(
            r,
            0.9,
            dict.fromkeys(RELATIONS, 0.0) | {"same": 0.0, "contradicts": likely},
            True,
            False,
            0,
        )
        for r in relations
    ]
    assert wording_vote.decide_vote(looks)[0] in RELATIONS
    denied = [look._replace(relation="contradicts") for look in looks]
    assert wording_vote.decide_vote(denied)[0] == "contradicts"
