# mypy: no-check-untyped-defs
"""The merge guard checks a verdict: what is given up must be what the old memory says, and values
must be equal.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.model import Memory
from reverie.reconciliation.paraphrase.merge_guard import find_given_up, guard_verdict
from reverie.reconciliation.paraphrase.statement_comparison import (
    RELATIONS,
    Verdict,
    compare_memories,
)
from reverie.testing import make_memory


def said(text: str, **fields) -> Memory:
    """A memory with any text, however odd."""
    return make_memory("anything", **fields)._replace(text=text)


def looked(
    old: str,
    new: str,
    relation: str,
    confidence: float = 0.9,
    wordings: tuple[str, ...] = (),
    **fields,
) -> Verdict:
    """What is left of a verdict."""
    return guard_verdict(
        said(old), said(new, **fields), Verdict(relation, confidence, "as told"), wordings
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We use Python 3.11.", "We no longer use Python 3.10."),
        ("Server A is called heron.", "Server B is no longer called heron."),
        ("Tom owns the auth service.", "Tom no longer owns the billing service."),
        ("The EU region uses bucket alpha.", "The US region no longer uses bucket alpha."),
        ("Prices are stored in cents.", "Prices are no longer stored as floats."),
        ("I use zsh.", "I no longer use bash."),
    ],
)
@pytest.mark.proves("A87")
def test_an_update_of_something_else_is_rejected(old, new):
    """ "No longer" applies only to what its own clause names."""
    assert "apart" == looked(old, new, "updates").relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Deploy with make deploy.", "No longer deploy with make deploy on Fridays."),
        ("Feature X is enabled.", "Feature X is no longer enabled for free users."),
        ("Tests need Docker.", "Unit tests no longer need Docker."),
        ("Login uses JWT.", "Login uses sessions instead of JWT for admins."),
        ("The port is 8080.", "The metrics port is now 9090 instead of 8080."),
        ("The release is on Tuesday.", "The mobile release moved to Thursday."),
        ("Use uv to install packages.", "Use uv instead of pip to install packages"),
    ],
)
def test_a_partial_statement_supersedes_nothing(old, new):
    """A day, an audience or another part of the thing: both are kept, and nothing steps back for it
    unasked.
    """
    seen = looked(old, new, "updates")

    assert seen.relation in ("near", "contradicts")
    assert seen.confidence <= 0.5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tom owns the auth service.", "Tom no longer owns the auth service."),
        (
            "We squash-merge pull requests.",
            "We stopped squash-merging pull requests; merge commits are used now.",
        ),
        (
            "The test suite takes about ten minutes.",
            "The test suite takes only three minutes now, no longer ten.",
        ),
        ("Imports are sorted by isort.", "ruff sorts the imports now, isort is gone."),
        (
            "API requests time out after 30 seconds.",
            "The API timeout was raised from 30 to 90 seconds.",
        ),
        ("We use pnpm in this repo.", "Use bun instead of pnpm in this repo."),
    ],
)
def test_an_update_of_the_old_one_stands(old, new):
    """What is given up is what the old one says."""
    assert Verdict("updates", 0.9, "as told") == looked(old, new, "updates")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Release branch is develop.", "Forget develop, the release branch is main now."),
        ("The default model is alpha.", "Scrap alpha, the default model is beta now."),
        ("Tests live in test/.", "Tests now live in tests/, not test/."),
        ("Use the test env.", "Use the testing env, not test."),
        ("Deploys use blue-green.", "Deploys no longer use blue-green, they use canary."),
        ("The server is heron.", "Forget heron, the server is ibis now."),
    ],
)
@pytest.mark.proves("A83")
def test_who_names_the_old_value_as_given_up_replaces_it(old, new):
    """Taken for a repetition or for something else, it is an update, no surer than before."""
    assert {"updates"} == {
        looked(old, new, relation).relation for relation in ("same", "near", "contradicts", "apart")
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The server is heron.", "Forget osprey, the printer is ibis now."),
        ("The server is heron.", "Should we forget heron, is the server ibis now?"),
        ("The server is heron.", "Maybe forget heron, the server is ibis now."),
        ("Don't use npm, use pnpm.", "Use pnpm instead of npm."),
        ("Write the tests first, then the code.", "Write the tests first, not the code."),
    ],
)
def test_nothing_else_becomes_an_update(old, new):
    """Another value, a question, a guess, what the old one has given up itself, or no
    other value.
    """
    assert "updates" != looked(old, new, "near").relation


def test_another_day_or_speaker_is_unrelated():
    """Another day or another speaker means unrelated, whatever the words."""
    assert (
        "apart"
        == looked(
            "The server is heron.", "Forget heron, the server is ibis now.", "apart", 1.0
        ).relation
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tests live in test/.", "Tests live in tests/ now."),
        ("The table is called user.", "The table is called users."),
        ("Use `make test`.", "Use `make tests`."),
        ("Never run `rm -rf build`.", "Never run `rm -rf builds`."),
        ("Call me Ann.", "Call me Anne."),
        ("Env var is PATH_A", "Env var is path_a"),
        ("The key is 'Foo'.", "The key is 'foo'."),
        ("The flag is --cache.", "The flag is --caching."),
        ("The handler is parseInput.", "The handler is parseinput."),
    ],
)
@pytest.mark.proves("A82", "B105")
def test_values_are_compared_literally(old, new):
    """What is quoted, a path, an identifier or a name is not read by its stem."""
    assert "contradicts" == looked(old, new, "same").relation
    assert "contradicts" == looked(new, old, "same").relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use `make test`.", "Please use make test."),
        ("The tests are in tests/", "Tests live in tests/."),
        ("git push --force to main is forbidden.", "Never force-push to main."),
        ("Don't use npm, use pnpm.", "Use pnpm instead of npm."),
        ("We use postgres.", "We use PostgreSQL."),
    ],
)
@pytest.mark.proves("CC-54")
def test_a_repetition_with_its_values_stays_one(old, new):
    """Quotes, slashes and well-known spellings make no other value."""
    assert "same" == looked(old, new, "same").relation


@pytest.mark.proves("CC-56")
def test_one_wording_with_the_value_is_enough():
    """A memory is known by all its wordings."""
    assert (
        "same"
        == looked(
            "Run the tests.", "Run `make test`.", "same", wordings=("Use make test.",)
        ).relation
    )
    assert "near" == looked("Run the tests.", "Run `make test`.", "same").relation


def test_a_correction_in_other_words_is_never_merged_away():
    """Who corrects means something by it; only the same words are the same."""
    corrected = {"provenance": "user_corrected"}

    assert "near" == looked("Retry 3 times.", "Retry three times.", "same", **corrected).relation
    assert "same" == looked("Retry 3 times.", "retry 3 times", "same", **corrected).relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Timeout is 5s.", "Timeout is 5m."),
        ("Version 1.2 is deployed.", "Version 1.20 is deployed."),
    ],
)
def test_another_measure_is_another_value(old, new):
    """The same words with another number or unit contradict each other."""
    assert "contradicts" == looked(old, new, "near").relation
    compared = compare_memories(make_memory(old), make_memory(new), 0.8)
    assert compared.relation in ("contradicts", "updates")


def test_the_same_measure_and_lists_do_not_contradict():
    """5s is 5 s; and of what one can have many, two can be true."""
    assert "near" == looked("Server 1 is down.", "Server 2 is down.", "near").relation
    assert "apart" == looked("We support Node 18.", "We support Node 20.", "apart").relation


def test_what_a_text_gives_up_is_read_limb_by_limb():
    """Clauses that deny, names that are given up, and the rest."""
    seen = find_given_up(
        "Forget alpha, the model is beta; no longer use gamma, delta instead of zeta."
    )

    assert ("alpha", "zeta") == seen.names
    assert ("no longer use gamma",) == tuple(clause.strip() for clause in seen.clauses)
    assert ("the model is beta", "delta") == tuple(limb.strip() for limb in seen.rest)


WORDS = (
    "the server",
    "is",
    "heron",
    "no longer",
    "instead of",
    "forget",
    "`make test`",
    "tests/",
    "not",
    ",",
    ".",
    "3",
    "5s",
    "from",
    "to",
    "now",
    "PATH_A",
    "users",
    "raised",
    "on Fridays",
    "é",
    "'Foo'",
    "->",
    "we",
    "use",
    "?",
    "(",
)
TEXTS = st.one_of(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), st.text(max_size=60))


@given(
    TEXTS,
    TEXTS,
    st.sampled_from(RELATIONS),
    st.floats(0, 1),
    st.sampled_from(["observed", "user_corrected"]),
)
def test_the_guard_never_raises_or_adds_confidence(old, new, relation, confidence, provenance):
    """For any two texts: a known relation, no more confidence, and "same" comes from nothing but
    "same".
    """
    verdict = Verdict(relation, confidence, "as told")
    seen = guard_verdict(said(old), said(new, provenance=provenance), verdict)

    assert seen.relation in RELATIONS
    assert seen.confidence <= confidence
    assert relation == "same" or seen.relation != "same"


@given(TEXTS, st.sampled_from(RELATIONS), st.sampled_from(["observed", "user_corrected"]))
def test_what_is_equal_stays_what_it_was(text, relation, provenance):
    """Equal texts keep the verdict "same"."""
    verdict = Verdict(relation, 1.0, "the same words")

    assert verdict == guard_verdict(said(text), said(text, provenance=provenance), verdict)
