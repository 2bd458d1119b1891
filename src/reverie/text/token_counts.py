"""How many tokens a text takes: a guess without a vocabulary, or a count by one that is at hand.

The guess is a quarter of the characters. Providers do not publish all of their vocabularies, and a
library that fetches one at run time does not work offline; so a caller who knows the vocabulary
passes a `Tokenizer` of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reverie.core.lazy_patterns import compile_once

if TYPE_CHECKING:
    from reverie.text.vocabulary import Vocabulary


class Tokenizer(Protocol):
    """Whatever counts tokens."""

    def count(self, text: str) -> int:
        """The tokens of a text."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text takes.

    A quarter of its characters; one each in scripts without spaces.
    """
    # From the first radical of CJK on. The positive class takes 2 ms to compile.
    if text.isascii() or max(text) < "\u2e80":
        return -(-len(text) // 4)
    wide = sum(map(len, compile_once(r"[^\x00-\u2e7f]+").findall(text)))
    return -(-(len(text) - wide) // 4) + wide


class QuarterEstimate:
    """The guess as a `Tokenizer`: a fraction of a microsecond a text."""

    def count(self, text: str) -> int:
        """A quarter of the characters."""
        return estimate_tokens(text)


class VocabularyTokenizer:
    """Counts by a `tokenizer.json` on disk, such as the embedding model's.

    Exact for that vocabulary, a few microseconds a word. The file is read when the first text is
    counted.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._vocabulary: Vocabulary | None = None

    def count(self, text: str) -> int:
        """The tokens of a text, without those that a model puts around it; BadInput if the file is
        no tokenizer.json.
        """
        if self._vocabulary is None:
            from reverie.text.vocabulary import Vocabulary

            self._vocabulary = Vocabulary(self.path)
        return self._vocabulary.count(text)
