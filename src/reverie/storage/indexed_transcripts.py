"""What the index of past conversations is asked for, and the values that it takes and gives.

`TranscriptIndex` is the port; `sqlite.transcript_index` is what stands behind it. All of it is
derived from the messages in the event log and can be built again at any time.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    import numpy as np


class TranscriptPassage(NamedTuple):
    """Some sentences of one message, to be indexed."""

    message: int  # its number in the conversation
    part: int  # which passage of the message, from 0
    role: str
    at: float
    text: str
    context: str = ""  # the beginning or the end of the message that it answers


class IndexedConversation(NamedTuple):
    """Passages of one conversation, in order, and the newest event that they were taken from."""

    space: str
    session: str
    event: int
    passages: Sequence[TranscriptPassage]


class PassageUse(NamedTuple):
    """A passage that was given to an agent whose words then held it."""

    key: int  # of the passage
    given: int  # the event that gave it
    event: int  # the event with those words


class FoundPassage(NamedTuple):
    """A passage that search found, and the conversation that holds it."""

    num: int  # in the index; another one when that is built anew
    key: int  # made of where it stands, so that it stays: 60 bits
    space: str
    session: str
    event: int
    uses: int  # how often an agent that was given it used it
    passage: TranscriptPassage

    @property
    def id(self) -> str:
        """The name by which it is asked for."""
        return key_to_id(self.key)


PREFIX = "said_"
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, as in the ids of memories
ID_DIGITS = 12


def make_passage_key(space: str, session: str, message: int, part: int) -> int:
    """The key of the passage that stands there: 60 bits."""
    place = "\0".join((space, session, str(message), str(part)))
    return int.from_bytes(fingerprint_text(place)[:8], "big") >> 4


def key_to_id(key: int) -> str:
    """The id of a passage with this key: "said_" and twelve letters or digits."""
    return PREFIX + "".join(_DIGITS[key >> shift & 31] for shift in range(55, -1, -5))


def id_to_key(id: str) -> int | None:
    """The key in a passage's id; None for any other text."""
    digits = id.removeprefix(PREFIX)
    if digits == id or len(digits) != ID_DIGITS or not set(digits) <= set(_DIGITS):
        return None
    key = 0
    for digit in digits:
        key = key << 5 | _DIGITS.index(digit)
    return key


class TranscriptCount(NamedTuple):
    """How much of past conversations is indexed."""

    conversations: int = 0
    passages: int = 0
    waiting: int = 0  # passages without a vector of the model that was asked for
    bytes: int = 0  # on disk


class TranscriptIndex(Protocol):
    """Past conversations in passages, with their words and vectors."""

    path: str  # of its database

    def obsolete_files(self) -> list[Path]:
        """Database files of earlier editions of the index, which nobody reads any more."""
        ...

    def cursor(self) -> tuple[int, str]:
        """(the last event that was read, the store's generation then); (0, "") at the start."""
        ...

    def replace(
        self,
        conversations: Sequence[IndexedConversation],
        events: tuple[int, int],
        generation: str,
        *,
        is_end: bool,
        uses: Sequence[PassageUse] = (),
        since: tuple[int, str] | None = None,
    ) -> int:
        """Make these the passages and uses of the events (after, last], and `last` the cursor.

        One transaction. Passages that are there already keep their numbers and vectors, others of
        these events go, and of all later ones too if the log ends there (`is_end`). Returns how
        many are new. With `since`, nothing happens if the cursor is another by now.
        """
        ...

    def start_over(self) -> None:
        """Have the log read again from the beginning; who reads it just now writes nothing more."""
        ...

    def drop(self, space: str, session: str) -> int:
        """Remove a conversation, and have the log read again from the beginning.

        Returns how many passages went.
        """
        ...

    def drop_before(self, at: float) -> int:
        """Remove the passages that were said before a moment. Returns how many."""
        ...

    def scrub(self) -> bool:
        """Erase removed passages for good: words and vectors, also in the journal.

        False if another process is reading just now, so that the journal may still hold something.
        """
        ...

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Every text in the index, as (space, session, text)."""
        ...

    def search_words(
        self, terms: Sequence[str], spaces: Sequence[str], limit: int
    ) -> list[tuple[int, float]]:
        """(passage number, BM25) of passages with any of the terms, best first, ties by number."""
        ...

    def nearest(
        self, model: str, vector: "np.ndarray", spaces: Sequence[str], limit: int
    ) -> list[tuple[int, float]]:
        """(passage number, cosine) of the nearest passages, best first."""
        ...

    def vectors(self, model: str, nums: Sequence[int]) -> dict[int, "np.ndarray"]:
        """The vectors of these passages by number: float32, of unit length."""
        ...

    def passages(self, nums: Sequence[int]) -> list[FoundPassage]:
        """Passages by number, in the order asked; unknown ones are left out."""
        ...

    def passages_by_key(self, keys: Sequence[int]) -> list[FoundPassage]:
        """Passages by key, in the order asked; unknown ones are left out."""
        ...

    def conversation(self, space: str, session: str, first: int, last: int) -> list[FoundPassage]:
        """The passages of messages `first` to `last` of a conversation, in order."""
        ...

    def unembedded_texts(self, limit: int, model: str) -> list[tuple[int, str]]:
        """(passage number, text) of passages without a vector of this model, newest first."""
        ...

    def put_vectors(self, model: str, vectors: Mapping[int, "np.ndarray"]) -> None:
        """Store vectors by passage number, of unit length; each number is kept in one byte."""
        ...

    def pack_vectors(self, model: str) -> bool:
        """Lay the vectors ready for search in other processes, if enough came or went since the
        last time. True if that was done; without it search is only slower.
        """
        ...

    def count(self, spaces: Sequence[str] | None, model: str | None = None) -> TranscriptCount:
        """How much is indexed of these spaces, or of all; `waiting` is 0 without a model."""
        ...

    def verify(self) -> str:
        """What is inconsistent, in words; empty if nothing is. `clear` mends it."""
        ...

    def clear(self) -> None:
        """Empty the index for all who have it open; delete the file if that is impossible."""
        ...

    def close(self) -> None:
        """Release the database."""
        ...
