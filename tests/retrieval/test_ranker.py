"""The ranker: pure functions over candidates, and properties that hold for any learned
coefficients.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import reverie
from bench.retrieval.columns import build_feature_matrix
from reverie.core.config import Settings
from reverie.retrieval import ranker
from reverie.retrieval.hybrid_search import FUSIONS
from reverie.retrieval.ranker import find_months, load_ranker
from reverie.retrieval.search_query import SearchQuery
from reverie.storage.candidates import NEIGHBOUR_OFFSETS, CandidatePool
from reverie.text.tokenization import fingerprint_text


def pool(dense, words, **columns) -> CandidatePool:
    """Candidates without sessions, speakers or times unless given."""
    n = len(dense)
    zeros = np.zeros(n, np.int64)
    values = {
        "ids": [f"mem_{i:03}" for i in range(n)],
        "dense": np.array(dense, np.float32),
        "words": np.array(words, np.float32),
        "near_dense": np.full((n, len(NEIGHBOUR_OFFSETS)), np.nan, np.float32),
        "near_words": np.zeros((n, len(NEIGHBOUR_OFFSETS)), np.float32),
        "session": zeros,
        "speaker": zeros,
        "at": np.zeros(n),
        "length": np.full(n, 80),
        "asks": np.zeros(n, bool),
        "asked": np.zeros(n, bool),
        "named": np.zeros(n, np.float32),
        "excerpt": np.zeros(n, bool),
        "names": ["", "Ann", "Ben", "user", "assistant"],
        "mean": 0.1,
        "spread": 0.1,
        "typical": 80.0,
        "sessions": 0,
        "memories": n,
    }
    return CandidatePool(**{**values, **columns})


def scores(candidates: CandidatePool, text: str = "which server is staging") -> np.ndarray:
    return load_ranker().scores(text, candidates)


def query(text: str = "q", **fields) -> SearchQuery:
    return SearchQuery(text=text, spaces=("me",), now=0.0, **fields)


def test_coefficients_fit_the_columns():
    """Every column has a coefficient and every coefficient a column: the file belongs
    to this code.
    """
    _, names = build_feature_matrix("q", pool([0.5], [1.0]))
    kept = json.loads(Path(ranker.__file__).with_name("ranker.json").read_text("utf-8"))
    assert set(names) == set(kept["weights"])


@pytest.mark.parametrize("length", [60, 300, 2_000])
@pytest.mark.proves("CC-28")
def test_a_better_match_by_meaning_ranks_higher(length):
    """All else equal, the higher cosine wins."""
    found = scores(
        pool([0.3, 0.6, 0.45], [2.0, 2.0, 2.0], typical=float(length), length=np.full(3, length))
    )
    assert list(np.argsort(-found)) == [1, 2, 0]


@pytest.mark.parametrize("length", [60, 300])
@pytest.mark.proves("CC-28")
def test_a_better_match_by_words_ranks_higher(length):
    """All else equal, the better keyword match wins where texts are short."""
    found = scores(
        pool([0.4, 0.4, 0.4], [0.0, 8.0, 3.0], typical=float(length), length=np.full(3, length))
    )
    assert list(np.argsort(-found)) == [1, 2, 0]


@pytest.mark.proves("CC-28")
def test_found_by_both_is_not_below_found_by_one():
    """A memory that words and meaning find is at least as high as one that only meaning finds."""
    found = scores(pool([0.5, 0.5, 0.2], [5.0, 0.0, 0.0]))
    assert found[0] >= found[1] >= found[2]


def test_the_named_speaker_comes_first():
    """A question that names somebody prefers what they said."""
    found = scores(
        pool(
            [0.4, 0.4], [1.0, 1.0], speaker=np.array([1, 2]), session=np.array([1, 2]), sessions=2
        ),
        "What does Ben like?",
    )
    assert found[1] > found[0]


def test_a_named_month_prefers_that_month():
    """A date in the question is held against when a thing was said."""
    may, june = 1_683_000_000.0, 1_686_500_000.0
    found = scores(
        pool([0.4, 0.4], [1.0, 1.0], at=np.array([june, may])), "What happened in May 2023?"
    )
    assert found[1] > found[0]


def test_may_as_a_verb_is_no_month():
    """A sentence that begins with "May" asks for permission."""
    assert find_months("May I refactor this?") == []
    assert find_months("What was decided in May?") == [5]


def test_missing_features_give_finite_scores():
    """Without vectors, without words, with one candidate: every combination gives finite scores."""
    for candidates in (
        pool([np.nan, np.nan], [1.0, 0.0]),
        pool([0.1], [0.0]),
        pool([np.nan], [0.0]),
        pool([0.2, np.nan], [0.0, 5.0]),
    ):
        found = scores(candidates)
        likely = load_ranker().likelihoods(found, candidates)
        assert np.isfinite(found).all() and ((likely >= 0) & (likely <= 1)).all()


@pytest.mark.parametrize("mode", FUSIONS)
@pytest.mark.proves("CC-32")
def test_every_fusion_gives_scores_between_0_and_1(mode):
    """Scores of all modes share a scale and one list keeps its order."""
    candidates = pool([0.9, 0.5, 0.1], [9.0, 5.0, 1.0])
    found = FUSIONS[mode](query(mode=mode), candidates)
    assert ((found >= 0) & (found <= 1)).all()
    assert list(np.argsort(-found, kind="stable")) == [0, 1, 2]


def test_bests_takes_the_best_of_each_group():
    """The mean of the three best of a session, not of all."""
    values, group = np.array([1.0, 2.0, 3.0, 10.0, 5.0]), np.array([0, 0, 0, 0, 1])
    best, mean = ranker.summarize_groups(values, group)
    assert best.tolist() == [10.0, 10.0, 10.0, 10.0, 5.0]
    assert mean.tolist() == [5.0, 5.0, 5.0, 5.0, 5.0]


class Fixed:
    """An embedder whose vectors are given."""

    model, dims = "fixed/1", 8

    def __init__(self, known):
        self.known = known

    def embed(self, texts):
        return np.stack([self.known[text] for text in texts])

    def close(self):
        """Nothing to let go of."""


def unit(*values: float) -> np.ndarray:
    vector = np.array([*values, *[0.0] * (8 - len(values))], np.float32)
    return vector / np.linalg.norm(vector)


@pytest.mark.proves("CC-23")
def test_a_rare_identifier_beats_resemblance(tmp_path):
    """A memory that holds the identifier asked for is first, though others resemble the question
    more.
    """
    rng = np.random.default_rng(1)
    question = "why does XK-4471b fail in the worker?"
    known = {question: unit(1.0)}
    texts = [f"note {i} about the worker that may fail sometimes" for i in range(30)]
    known |= {text: unit(1.0, *(0.3 * rng.standard_normal(5))) for text in texts}
    rare = "Ticket XK-4471b was about a full disk."
    known[rare] = unit(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    with reverie.open(settings=Settings(home=tmp_path), embedder=Fixed(known)) as mind:
        mind.remember_many([{"text": text} for text in [*texts, rare]], space="me/x")
        mind.settle()
        assert mind.recall(question, space="me/x")[0].memory.text == rare


@pytest.mark.proves("CC-24")
def test_no_common_word_still_finds_by_meaning(tmp_path):
    """Without lexical overlap the closest vectors are returned."""
    known = {"abc def": unit(1.0), "uvw xyz": unit(0.9, 0.2), "rst opq": unit(0.0, 1.0)}
    with reverie.open(settings=Settings(home=tmp_path), embedder=Fixed(known)) as mind:
        mind.remember_many([{"text": "uvw xyz"}, {"text": "rst opq"}], space="me/x")
        mind.settle()
        assert [hit.memory.text for hit in mind.recall("abc def", space="me/x")] == [
            "uvw xyz",
            "rst opq",
        ]


@pytest.mark.proves("A14", "A100", "B40", "X1")
def test_only_dense_search_has_a_floor(tmp_path):
    """Vectors alone give ten with a cosine of 0.4 or more; words and meaning have no floor."""
    far, near = unit(0.39, 0.92), [unit(0.41 + n / 100, 0.9) for n in range(12)]
    known = {
        "abc def": unit(1.0),
        "rst far": far,
        **{f"uvw {n}": vector for n, vector in enumerate(near)},
    }
    with reverie.open(settings=Settings(home=tmp_path), embedder=Fixed(known)) as mind:
        mind.remember_many([{"text": text} for text in known if text != "abc def"], space="me/x")
        mind.settle()

        def found(**how):
            return {hit.memory.text for hit in mind.recall("abc def", space="me/x", **how)}

        assert len(found(mode="dense")) == 10
        assert found(mode="dense", limit=50) == known.keys() - {"abc def", "rst far"}
        assert all("rst far" in found(mode=mode, limit=50) for mode in ("auto", "convex", "rrf"))
        mind.context.settings = mind.settings._replace(floor=0.0)
        assert "rst far" in found(mode="dense", limit=50)


@pytest.mark.proves("X1")
def test_reciprocal_ranks_are_added():
    """1 / (60 + rank) by meaning and by words; what only one channel found counts there alone."""
    found = FUSIONS["rrf"](query(mode="rrf"), pool([0.9, 0.02, np.nan], [0.0, 5.0, 9.0]))
    assert found.tolist() == pytest.approx([61 / 61 / 2, 61 * (2 / 62) / 2, 61 / 61 / 2])


@pytest.mark.proves("CC-26", "A40")
def test_a_memory_without_a_vector_is_found_by_words(tmp_path):
    """What has no vector yet, or one of another model, is still found by its words."""
    known = {"abc def": unit(1.0), "uvw xyz": unit(0.9, 0.2)}
    with reverie.open(settings=Settings(home=tmp_path), embedder=Fixed(known)) as mind:
        mind.remember("uvw xyz", space="me/x")
        mind.settle()
        late = mind.remember("abc was decided later", space="me/x")
        other = mind.remember("abc by another model", space="me/x")
        mind.store.put_vectors(
            "other/1", {other.id: unit(1.0)}, {other.id: fingerprint_text(other.text)}
        )
        assert {late.id, other.id} <= {
            hit.memory.id for hit in mind.recall("abc def", space="me/x")
        }


def test_scoring_is_the_matrix_times_the_weights():
    """What runs is what was learned: the folded weights give the same scores as the columns in the
    file.
    """
    candidates = pool([0.3, 0.6, np.nan], [2.0, 0.0, 7.0], typical=400.0)
    table, names = build_feature_matrix("which server", candidates)
    plain = table @ np.array([load_ranker().weights[name] for name in names])
    features = ranker.compute_features("which server", candidates)
    assert np.allclose(plain, load_ranker().score_learned(features, candidates))


def test_the_fixed_part_has_half_a_say_in_what_stands_alone():
    """Where both parts agree nothing moves; where they do not, a turn of talk stays where it is and
    what stands alone meets halfway; the mean stays.
    """
    learned = np.linspace(-3.0, 3.0, 400)
    alike = ranker.join_scores(learned, learned / 4, np.ones(400))
    assert np.allclose(alike, learned, atol=0.05)
    turned = ranker.join_scores(learned, -learned / 4, np.repeat([0.0, 1.0], 200))
    assert (turned[:200] == learned[:200]).all()
    assert np.allclose(turned[200:], 0.0, atol=0.05)


def test_two_candidates_are_not_tied_by_a_correction():
    """The learned part says much and the fixed part little: in a pool of two, where both have the
    spread of a sign, the first still decides.
    """
    joined = ranker.join_scores(np.array([2.0, -2.0]), np.array([0.50, 0.52]), np.ones(2))
    assert joined[0] > joined[1] + 1.0


def test_no_candidates_have_no_scores():
    """An empty pool is no error."""
    assert len(scores(pool([], []))) == 0


def test_a_passage_that_left_a_context_is_no_turn_of_talk():
    """It is a piece of a file as often as of talk: two sessions that wrote passages down make none
    of them lose against what stands alone.
    """
    said = {
        "session": np.array([1, 1, 2, 2]),
        "speaker": np.ones(4, np.int64),
        "near_words": np.ones((4, len(NEIGHBOUR_OFFSETS)), np.float32),
        "sessions": 2,
    }
    excerpt = np.array([False, True, False, True])
    turns = ranker.mask_talk_turns(pool([0.1] * 4, [1.0] * 4, excerpt=excerpt, **said))
    assert turns.tolist() == [True, False, True, False]


def test_lengths_are_compared_among_what_was_not_cut():
    """A passage has no length of its own, and does not make what is beside it short."""
    lengths = np.array([80, 160, 1_600, 1_600, 1_600])
    excerpt = np.array([False, False, True, True, True])
    compared = ranker.compare_lengths(
        pool([0.1] * 5, [0.0] * 5, length=lengths, excerpt=excerpt, typical=1_600.0)
    )
    assert compared[2:].tolist() == [0.0, 0.0, 0.0]
    assert np.abs(compared[:2]).max() < 1.0
