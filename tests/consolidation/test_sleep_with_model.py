# mypy: no-check-untyped-defs
"""Sleep with a language model: merged texts of two memories, names for clusters; a real server
plays the model.
"""

import json

import numpy as np
import pytest

from bench.common import Given
from reverie.consolidation import model_advice, sleep_schedule
from reverie.core.errors import BadInput
from reverie.core.model import EMPTY_MAPPING
from reverie.interfaces.worker import Worker
from reverie.pipeline.pending_vectors import embed_pending
from reverie.testing import SPACE, memory
from tests.support.scripted import Status, scripted

ONE, OTHER = (
    "The uploader retries 5 times on two hosts.",
    "The uploader retries five times on 2 hosts.",
)
BOTH = "The uploader retries 5 (five) times on 2 (two) hosts."
WRITTEN = json.dumps({"text": BOTH})


def near(seed, cosine=0.98):
    """A unit vector of this cosine to one direction."""
    noise = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
    noise[0] = 0.0
    noise *= np.sqrt(1 - cosine**2) / np.linalg.norm(noise)
    noise[0] = cosine
    return noise


@pytest.fixture
def night(clock):
    """A function that opens a mind with a scripted model and keeps texts that lie close, not
    reconciled.
    """
    minds = []

    def opening(script, *texts, settings=EMPTY_MAPPING, cosine=0.98, **fields):
        embedder = Given()
        embedder.known = {text: near(seed, cosine) for seed, text in enumerate((*texts, BOTH))}
        mind = memory(now=clock, embedder=embedder, llm=script.openai, **settings)
        minds.append(mind)
        for n, text in enumerate(texts):
            mind.remember(text, space=SPACE, **{"session": f"s{n}", **fields})
            clock.tick(60)
        embed(mind)
        return mind

    yield opening
    for mind in minds:
        mind.close()


def embed(mind):
    while embed_pending(mind.store, mind.embedder):
        pass


def texts(mind):
    return sorted(m.text for m in mind.browse(space=SPACE))


def state(mind, without="-"):
    """The exported state to the byte, but for rows about one memory."""
    rows = [json.dumps(row, sort_keys=True) for row in mind.data.export(log=False)]
    return "\n".join(row for row in rows if without not in row)


def nodes(mind):
    return {
        edge.dst
        for edge in mind.store.edges([m.id for m in mind.browse(space=SPACE)], ("in_cluster",))
    }


@pytest.mark.proves("A80")
def test_two_wordings_become_one_text(night):
    """A third memory that holds all; the wordings are kept, and it is believed no better than they
    were.
    """
    with scripted(WRITTEN) as script:
        mind = night(script, ONE, OTHER)
        slept = mind.sleep(["merge"])
        (third,) = mind.browse(space=SPACE)
        assert (BOTH, "observed", 0.8, 2) == (
            third.text,
            third.provenance,
            third.trust,
            third.strength,
        )
        assert {ONE, OTHER} == {m.text for m in mind.get(slept.retired)}
        assert [] == mind.data.verify()


@pytest.mark.parametrize("with_vector", [True, False])
@pytest.mark.proves("B135")
def test_the_night_is_taken_back_to_the_byte(night, with_vector):
    """Both wordings are as they were, vectors too; the text that was written in between is kept as
    undone.
    """
    with scripted(WRITTEN) as script:
        mind = night(script, ONE, OTHER)
        before = state(mind)
        slept = mind.sleep(["merge"])
        (third,) = mind.browse(space=SPACE)
        if with_vector:
            embed(mind)
        mind.undo(slept.run)
        assert before == state(mind, third.id)
        assert ("undone", [ONE, OTHER]) == (mind.get([third.id])[0].retired_why, texts(mind))
        mind.sleep(["merge"], afresh=True)
        assert [ONE, OTHER] == texts(mind), "what was taken back is not done again"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Sure!",
        "{}",
        '{"text": ""}',
        '{"text": "The uploader retries on two hosts."}',
        Status(500),
        Status(400),
        json.dumps({"text": BOTH.replace("5", "6")}),
        json.dumps({"text": BOTH + " Ask Ada at 10:30."}),
        json.dumps({"text": BOTH * 9}),
    ],
)
@pytest.mark.proves("CC-71")
def test_a_text_that_loses_or_adds_something_is_refused(night, answer):
    """Every number and name of both, nothing else; or both stay as they are."""
    with scripted(answer) as script:
        mind = night(script, ONE, OTHER)
        before = state(mind)
        assert 0 == mind.sleep(["merge"]).steps
        assert (before, 1) == (state(mind), len(script.asked))


@pytest.mark.parametrize("wish", [{"ask": False}, {"dry_run": True}, {"within": 0.0}])
def test_the_model_is_not_asked_when_off_or_in_a_dry_run(night, wish):
    """It can be switched off; a dry run writes nothing, and so it asks nothing; nor is anything
    asked out of time.
    """
    with scripted(WRITTEN) as script:
        mind = night(script, ONE, OTHER)
        mind.sleep(["merge"], **wish)
        assert ([], [ONE, OTHER]) == (script.asked, texts(mind))


def test_the_budget_holds_in_sleep(night):
    """What the day does not allow is not asked; the night goes on without."""
    with scripted(WRITTEN) as script:
        mind = night(script, ONE, OTHER)
        mind.llm.limits = mind.llm.limits._replace(tokens=500)
        mind.sleep(["merge"])
        assert ([], {"merge": {"spent": 1}}) == (
            script.asked,
            {k: dict(v) for k, v in mind.llm.day().outcomes.items()},
        )


def test_what_the_user_said_is_not_rewritten(night):
    """The user's words stay the user's words."""
    with scripted(WRITTEN) as script:
        mind = night(script, ONE, OTHER, provenance="user_stated")
        mind.sleep(["merge"])
        assert ([], [ONE, OTHER]) == (script.asked, texts(mind))


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ('{"name": "Release process"}', "release-process"),
        ('{"name": "heron secrets"}', "changelog-release"),
        ('{"name": "release 5"}', "changelog-release"),
        ("", "changelog-release"),
        (Status(500), "changelog-release"),
        ('{"name": "a name that is much too long for a group"}', "changelog-release"),
    ],
)
@pytest.mark.proves("B25")
def test_groups_are_named(night, answer, name):
    """In the model's words, unless these tell what one member alone says; else in words that
    members share.
    """
    kept = [
        f"The release needs the changelog {word}."
        for word in ("closed", "spelled", "heron", "signed", "sorted", "short")
    ]
    with scripted(answer) as script:
        mind = night(script, *kept)
        before = state(mind)
        slept = mind.sleep(["recluster"])
        (node,) = nodes(mind)
        assert (f"cluster:{SPACE}:", set(name.split("-"))) == (
            node[: len(SPACE) + 9],
            set(node.removeprefix(f"cluster:{SPACE}:").split("-")) - {"needs"},
        )
        assert 1 == len(script.asked)
        assert 0 == mind.sleep(["recluster"]).steps, "the name stays"
        assert 1 == len(script.asked)
        mind.undo(slept.run)
        assert before == state(mind)


TWO = ("Heron needs a ticket for each deploy.", "Releases go out on Tuesdays after approval.")


@pytest.mark.parametrize(
    ("answer", "tied"),
    [
        ({"relation": "relates_to", "confidence": 0.8}, ["relates_to"]),
        ({"relation": "contradicts", "confidence": 0.8}, ["contradicts", "contradicts"]),
        ({"relation": "relates_to", "confidence": 0.6}, []),
        ({"relation": "none", "confidence": 1}, []),
        ({"relation": "supersedes", "confidence": 1}, []),
        ("Sure!", []),
        (Status(500), []),
    ],
)
@pytest.mark.proves("B116", "CC-71")
def test_a_model_links_related_memories(night, answer, tied):
    """Where no word is in common, as the model says if it is sure; nobody loses, and all is taken
    back.
    """
    with scripted(json.dumps(answer) if isinstance(answer, dict) else answer) as script:
        mind = night(script, *TWO, cosine=0.85)
        before, ids = state(mind), [m.id for m in mind.browse(space=SPACE)]
        slept = mind.sleep(["relations"])
        assert (tied, 1) == ([edge.rel for edge in mind.store.edges(ids)], len(script.asked))
        assert (sorted(TWO), []) == (texts(mind), mind.data.verify())
        if tied:
            mind.undo(slept.run)
        assert before == state(mind)


def test_what_one_session_said_is_not_asked_about(night):
    """Only what several sessions say of one subject."""
    with scripted('{"relation": "relates_to", "confidence": 1}') as script:
        assert 0 == night(script, *TWO, cosine=0.85, session="s").sleep(["relations"]).steps
        assert [] == script.asked


def test_the_pairs_asked_about_in_one_run_are_limited(night, monkeypatch):
    """One run asks about a limited number of pairs; the next goes on with what is new."""
    monkeypatch.setattr(model_advice, "MAX_RELATED_PAIRS", 2)
    with scripted('{"relation": "relates_to", "confidence": 1}') as script:
        mind = night(script, *TWO, "Approval comes from the lead.", cosine=0.85)
        assert (2, 2) == (mind.sleep(["relations"]).steps, len(script.asked))


@pytest.mark.parametrize(("allowed", "kept"), [(True, [BOTH]), (False, [ONE, OTHER])])
@pytest.mark.proves("B131")
def test_the_worker_asks_the_model_unless_llm_sleep_is_off(night, monkeypatch, allowed, kept):
    """The worker sleeps by itself with the model's help, and without it where `llm_sleep` is off."""
    monkeypatch.setattr(sleep_schedule, "MIN_NEW_MEMORIES", 2)
    with scripted(WRITTEN) as script:
        mind = night(
            script, ONE, OTHER, settings={"sleep": "merge", "sleep_idle": 0.0, "llm_sleep": allowed}
        )
        worker = Worker(mind, "settler_of_this_test")
        assert worker.renew_lease()
        assert worker.sleep_if_due()
        assert (kept, int(allowed)) == (texts(mind), len(script.asked))


def test_sleep_without_a_model_is_unchanged(clock):
    """Without a model, `ask` changes nothing about sleep."""
    with memory(now=clock, embedder=Given()) as mind:
        mind.remember("one", space=SPACE)
        assert 0 == mind.sleep(["prune"], ask=True).steps
        with pytest.raises(BadInput):
            mind.sleep(["dream"])
