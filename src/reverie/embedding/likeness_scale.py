"""The cosines of any model on the scale of the default's, by which every threshold here was set.

Models differ in what their cosines mean: of one, two texts that have nothing in common have 0.05,
of another 0.7. Triples that come with this package (a question, a memory that answers it, the same
in other words) tell how one differs. What all its texts have in common is taken out, as much of it
as brings the triples' mean cosines nearest to those of the default; where its texts have less in
common than the default's, a last component that is the same in all puts that in. A model whose
cosines are the default's stays as it is.

So the vectors themselves are on the scale, and nobody who compares two of them has to know of it:
the relevance gate, near-duplicates, clusters, floors in SQL. The default's own vectors are left as
they are. The identity of a scaled model holds a digest of the triples: with other ones it is
another model.

A scale that is wrong would show in `python -m bench.gate.models`, and in the mean cosines that
tests/embedding/test_likeness_scale.py measures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.atomic_file import make_private_folder, write_atomically
from reverie.embedding import embed_query, prepare_embedder

if TYPE_CHECKING:
    from reverie.embedding import Embedder, Vectors

TRIPLES = Path(__file__).with_name("likeness_triples.json")
# With more in common, cosines would differ by less than halfvec and int8 keep.
MAX_COMMON = 0.9
# Shares of the common part that are tried. With more than all of it texts would begin to differ in
# what they have in common.
MAX_SHARE, STEPS = 1.0, 51
MIN_SPREAD = 1e-9
# A text that is nothing but the common part has no direction left, and keeps its own.
MIN_LENGTH = 1e-4
# Numbers of one text that differ by no more are the same.
SAME_NUMBERS = 1e-3


class LikenessTriples(NamedTuple):
    """What a model is measured with, and what the default's cosines of it are."""

    triples: tuple[tuple[str, str, str], ...]
    default: tuple[float, float, float, float]  # in the order of `mean_cosines`
    digest: str


class LikenessScale(NamedTuple):
    """How a model's vectors come onto the default's scale."""

    question_offset: Vectors  # (dims,), what is taken out of a question's vector
    text_offset: Vectors  # (dims,), what is taken out of another text's
    common: float  # the part of each cosine that a last component puts in, 0..1

    def scale_questions(self, rows: Vectors) -> Vectors:
        """The scaled vectors of questions: (n, dims + 1), of unit length."""
        return scale_rows(rows, self.question_offset, self.common)

    def scale_texts(self, rows: Vectors) -> Vectors:
        """The scaled vectors of texts: (n, dims + 1), of unit length."""
        return scale_rows(rows, self.text_offset, self.common)


class ScaledEmbedder:
    """An embedder whose cosines mean what the default's mean. Thread-safe.

    The first text measures the model with some 150 short ones, a second or two; what was found is
    kept in `folder` and is no more than a saving of time.
    """

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self.inner, self._folder = inner, folder
        self._lock = Lock()
        self._scale: LikenessScale | None = None

    @property
    def model(self) -> str:
        """The identity of the model inside, and of what it was measured with."""
        return f"{self.inner.model}/{load_triples().digest}"

    @property
    def dims(self) -> int:
        """The length of a vector: one more than the model's."""
        return self.inner.dims + 1

    def prepare(self) -> None:
        """Have the model on this machine."""
        prepare_embedder(self.inner)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit-length row per text, in the order of the texts."""
        return self.scale.scale_texts(self.inner.embed(texts))

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question: (dims,)."""
        row: Vectors = self.scale.scale_questions(embed_query(self.inner, text)[None])[0]
        return row

    @property
    def scale(self) -> LikenessScale:
        """The scale as it was kept, or as the model is measured now."""
        with self._lock:
            if self._scale is None:
                self._scale = self._read_or_measure()
            return self._scale

    def close(self) -> None:
        """Release the model. The scale stays."""
        self.inner.close()

    def _read_or_measure(self) -> LikenessScale:
        path = self._folder / f"{self.model.replace('/', '--')}.json"
        kept = read_scale(path, self.inner.dims)
        if kept is not None:
            return kept
        found = measure_scale(self.inner)
        # Where nothing can be written, the next process measures again.
        with suppress(OSError):
            make_private_folder(self._folder)
            write_atomically(path, format_scale(found), mode=0o600)
        return found


@lru_cache(maxsize=1)
def load_triples() -> LikenessTriples:
    """The triples that come with this package."""
    content = TRIPLES.read_bytes()
    data = json.loads(content)
    default = data["default"]
    return LikenessTriples(
        tuple((question, memory, again) for question, memory, again in data["triples"]),
        (
            default["unrelated question"],
            default["unrelated texts"],
            default["question and answer"],
            default["two wordings"],
        ),
        sha256(content).hexdigest()[:6],
    )


def measure_scale(embedder: Embedder) -> LikenessScale:
    """The scale of a model, by its vectors of the triples."""
    import numpy as np

    questions, memories, again = embed_triples(embedder)
    texts = np.concatenate([memories, again])
    as_text = embedder.embed([load_triples().triples[0][0]])[0]
    if np.allclose(questions[0], as_text, atol=SAME_NUMBERS):
        # A question is a text like others: one text asked and kept must stay the same.
        asked = kept = find_common_part(np.concatenate([questions, texts]))
    else:
        asked, kept = find_common_part(questions), find_common_part(texts)
    tried = []
    for share in np.linspace(0.0, MAX_SHARE, STEPS).tolist():
        taken = LikenessScale(share * asked, share * kept, 0.0)
        found = mean_cosines(
            taken.scale_questions(questions), taken.scale_texts(memories), taken.scale_texts(again)
        )
        common, error = fit_common(found, load_triples().default)
        tried.append((error, share, taken._replace(common=common)))
    return min(tried, key=lambda one: one[:2])[2]


def find_common_part(rows: Vectors) -> Vectors:
    """What all rows have in common, where they differ least from it: (dims,).

    Of a direction in which all are alike it is the mean. The mean vector itself would be too much:
    texts are more or less ordinary, the default's too, and gates and rankings count on that.
    """
    import numpy as np

    mean = rows.mean(axis=0)
    spread = np.cov(rows, rowvar=False)
    # Few rows say little of many dimensions: the usual spread is added to each.
    spread += np.eye(len(mean)) * max(float(np.trace(spread)) / len(mean), MIN_SPREAD)
    direction = np.linalg.solve(spread, mean)
    direction /= max(float(np.linalg.norm(direction)), MIN_SPREAD)
    common: Vectors = ((mean @ direction) * direction).astype(np.float32)
    return common


def embed_triples(embedder: Embedder) -> tuple[Vectors, Vectors, Vectors]:
    """The vectors of all questions, of their memories, and of these in other words."""
    import numpy as np

    questions, memories, again = zip(*load_triples().triples, strict=True)
    asked = np.stack([embed_query(embedder, text) for text in questions])
    return asked, embedder.embed(memories), embedder.embed(again)


def mean_cosines(
    questions: Vectors, memories: Vectors, again: Vectors
) -> tuple[float, float, float, float]:
    """The mean cosines of questions and memories of other triples, of memories of different
    triples, of questions and their memories, and of two wordings of one memory.
    """
    import numpy as np

    others = ~np.eye(len(memories), dtype=bool)
    return (
        float((questions @ memories.T)[others].mean()),
        float((memories @ memories.T)[others].mean()),
        float((questions * memories).sum(axis=1).mean()),
        float((memories * again).sum(axis=1).mean()),
    )


def fit_common(found: Sequence[float], wanted: Sequence[float]) -> tuple[float, float]:
    """The b of least squares in wanted ≈ b + (1 - b)·found, within 0..MAX_COMMON, and the sum of
    squares that is left.
    """
    pairs = list(zip(found, wanted, strict=True))
    room = sum([(1.0 - one) ** 2 for one, _ in pairs])
    gap = sum([(1.0 - one) * (other - one) for one, other in pairs])
    # A model that gives every text one vector leaves no room, and nothing can be told.
    common = min(max(gap / room, 0.0), MAX_COMMON) if room > MIN_LENGTH else 0.0
    left = sum([(common + (1.0 - common) * one - other) ** 2 for one, other in pairs])
    return common, left


def scale_rows(rows: Vectors, offset: Vectors, common: float) -> Vectors:
    """Rows without an offset, of unit length, with a last component that all have in common."""
    import numpy as np

    without = rows - offset
    lengths = np.linalg.norm(without, axis=1, keepdims=True)
    own = np.where(lengths > MIN_LENGTH, without / np.maximum(lengths, MIN_LENGTH), rows)
    constant = np.full((len(rows), 1), np.sqrt(common))
    scaled: Vectors = np.hstack([np.sqrt(1.0 - common) * own, constant]).astype(np.float32)
    return scaled


def format_scale(scale: LikenessScale) -> bytes:
    """A scale as it is kept."""
    kept = {
        "question_offset": scale.question_offset.tolist(),
        "text_offset": scale.text_offset.tolist(),
        "common": scale.common,
    }
    return json.dumps(kept).encode()


def read_scale(path: Path, dims: int) -> LikenessScale | None:
    """The scale that is kept in a file; None where there is none that can be used."""
    import numpy as np

    try:
        kept = json.loads(path.read_bytes())
        offsets = [np.array(kept[name], np.float32) for name in ("question_offset", "text_offset")]
        common = float(kept["common"])
    except (OSError, ValueError, TypeError, LookupError):
        return None
    is_whole = all(one.shape == (dims,) and np.isfinite(one).all() for one in offsets)
    return LikenessScale(offsets[0], offsets[1], common) if is_whole and 0 <= common <= 1 else None
