"""The waist: everything that Reverie asks of a database, and what is atomic about it.

`Store` is a Protocol; a backend is one module with `open(url)` that passes
`tests/contract/test_store.py`, and one row in `OPENERS`. Canonical are memories, events and edges.
The word index, the vectors and the queue of texts that wait for a vector are derived:
`verify(repair=True)` rebuilds them.

A store may be used from many threads, and one database by many processes. Every writing method is
one transaction: all of it or none, and durable when it returns. Reads see whole transactions only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from reverie.core.errors import UnknownScheme
from reverie.core.model import EMPTY_MAPPING, Change, Edge, Event, Filter, Memory, Record
from reverie.storage.scrub_scan import ScrubbableStore

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np

    from reverie.storage.code_index_port import CodeIndex
    from reverie.storage.column_cache import Corpus, Floats
    from reverie.storage.note_index_port import FileIndex


GENERATION = "generation"  # meta: another value once nothing that was read before holds any more
# meta: memories have come or gone, by import or salvage, without an event that says so
UNLOGGED = "unlogged"


class Problem(NamedTuple):
    """Something `verify` found that should not be so."""

    what: str  # "words", "vectors", "edges", "file", …
    message: str
    repaired: bool = False


class Stats(NamedTuple):
    """How much is in the store."""

    memories: int = 0  # that count
    retired: int = 0
    events: int = 0
    edges: int = 0
    vectors: int = 0  # of all models
    waiting: int = 0  # texts without a vector yet of the model that was awaited last
    undecided: int = 0  # pairs that wait for a person: they contradict or may repeat each other
    bytes: int = 0  # on disk
    kinds: Mapping[str, int] = EMPTY_MAPPING
    spaces: Mapping[str, int] = EMPTY_MAPPING
    learned: int = 0  # memories that extraction kept
    rejected: Mapping[str, int] = (
        EMPTY_MAPPING  # what it left although a rule asked for it, by reason
    )

    @property
    def junk(self) -> float | None:
        """The share of what extraction looked at that it left, 0..1; None where it has looked at
        nothing.
        """
        left = sum(self.rejected.values())
        return left / (left + self.learned) if left + self.learned else None


class SessionSpan(NamedTuple):
    """A conversation, as far as the log knows it. `first` and `last` are numbers of events."""

    session: str
    space: str
    first: int
    last: int
    began: float
    ended: float
    events: int


class Store(ScrubbableStore, Protocol):
    """Memories, events and edges, and the ways to find them."""

    url: str

    @property
    def files(self) -> FileIndex:
        """The index of watched files, which belongs to this store and lives in a database of its
        own.
        """
        ...

    @property
    def code(self) -> CodeIndex:
        """The index of code, likewise."""
        ...

    @property
    def code_chunks(self) -> FileIndex:
        """Chunks of the files in the index of code, likewise: found by words and by likeness, as
        those of notes are.
        """
        ...

    # Writing. Each call is one transaction.

    def apply(
        self, changes: Sequence[Change], cause: Event, *, done: tuple[str, int] | None = None
    ) -> int:
        """Make all `changes`, record `cause`, move the cursor `done` (name, seq): all of it or
        none.

        Returns the event's number. What was there before is kept with the event, so that it can be
        undone. Changing or retiring what does not exist raises NotFound; adding an id twice raises
        Conflict, and so does a cursor that has passed `done` already: somebody else has dealt with
        that event.
        """
        ...

    def append(self, events: Sequence[Event]) -> list[int]:
        """Record events that change no memory; all or none. Returns their numbers."""
        ...

    def advance(self, cursor: str, seq: int) -> None:
        """Move a reader's cursor. Cursors never move back."""
        ...

    def purge(self, ids: Sequence[str], more: Collection[str] = ()) -> int:
        """Erase these memories, their words, vectors, edges and history, and blank their texts and
        ids in events.

        Every text that a memory ever had is looked for, and `more`; the rest of an event stays, so
        that nothing else is lost. The only thing that cannot be undone. Returns how many memories
        were erased.
        """
        ...

    def ids_repeating(self, texts: Collection[str]) -> set[str]:
        """The ids of memories that hold one of these texts or have held it: a purge leaves them as
        they are.
        """
        ...

    def put_vectors(
        self, model: str, vectors: Mapping[str, np.ndarray], hashes: Mapping[str, bytes]
    ) -> int:
        """Keep a model's vectors of these memories, by id; they stop waiting for it. Those of other
        models stay.

        An id that is gone or whose text has changed meanwhile (its hash differs) is passed over.
        Returns how many were kept. A vector goes with its text: when the memory is revised or
        purged, never because another model is in use.
        """
        ...

    def await_vectors(self, model: str) -> int:
        """This model embeds here now: what has no vector of it waits for one, and so will every new
        text.

        A home may have several such models, each with its own queue; none gets in another's way.
        One that is not used any longer keeps its queue, some bytes a text. Costs little when
        nothing changes. Returns how many wait for this model.
        """
        ...

    def set_meta(self, name: str, value: str) -> None:
        """Keep a small named value."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Everything within is one transaction and nobody writes in between: for reading, deciding
        and writing.

        An error within leaves nothing behind. Calls of the writing methods join it. Keep it short.
        """
        ...

    # Coordination between processes.

    def acquire(self, lease: str, holder: str, seconds: float, now: float) -> bool:
        """Take or renew a lease for so long. True for at most one holder at any moment."""
        ...

    def release(self, lease: str, holder: str) -> None:
        """Give the lease back, if it is still ours."""
        ...

    def holder(self, lease: str, now: float) -> str | None:
        """Who holds the lease now."""
        ...

    # Reading.

    def get(self, ids: Sequence[str]) -> list[Memory]:
        """Memories by id, in the order asked, whatever their state; unknown ids are left out."""
        ...

    def browse(self, where: Filter) -> list[Memory]:
        """Memories that fit, newest first: by when they were written, or with `by_time` by when it
        happened.
        """
        ...

    def with_triggers(self, spaces: Sequence[str], *, within: float | None = None) -> list[Memory]:
        """Memories that count and carry trigger patterns; of many, those that were read `within` so
        many seconds.
        """
        ...

    def tagged_numbers(self, tags: Sequence[str], spaces: Sequence[str]) -> list[int]:
        """The numbers, as in `Shard.num`, of memories that count and carry all of the tags."""
        ...

    def tag_counts(self, spaces: Sequence[str]) -> dict[str, int]:
        """How many memories that count carry each tag."""
        ...

    def edges(self, ids: Sequence[str], rels: Sequence[str] = ()) -> list[Edge]:
        """Edges from or to any of these."""
        ...

    def edges_around(self, nodes: Sequence[str], spaces: Sequence[str], most: int) -> list[Edge]:
        """Edges from or to any of these memories, tags, clusters and files, each once, as somebody
        in these spaces

        may see them: a memory at an end lies in one of the spaces and counts (what is superseded
        may stand at the end of `supersedes`). Of one tag or cluster, only the `most` newest
        memories that may be seen, looked for among its newest thousand.
        """
        ...

    def scan_edges(self, after: tuple[str, str, str], limit: int) -> list[Edge]:
        """Edges in the order of (src, rel, dst), those after the given one."""
        ...

    def edges_between(
        self, rels: Sequence[str], spaces: Sequence[str] = (), limit: int = 100
    ) -> list[Edge]:
        """Edges of these relations whose ends both count, what was written last first; both ends in
        `spaces`, if given.

        Two memories that are tied both ways are given once.
        """
        ...

    def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        verbs: Sequence[str] = (),
        session: str | None = None,
        space: str | None = None,
        newest: bool = False,
        limit: int = 1000,
    ) -> list[Event]:
        """Events between two numbers, without these, oldest first; with `newest`, the last ones,
        newest first.
        """
        ...

    def search_events(
        self,
        verbs: Sequence[str],
        *,
        space: str = "",
        containing: Sequence[str] = (),
        since: float | None = None,
        until: float | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """Events of these verbs in a space, above it and below it, by when they happened, newest
        first.

        Every text of `containing` must occur in the payload; ASCII letters of either case. Both
        ends of the range from `since` to `until` belong to it.
        """
        ...

    def event_rows(
        self, verb: str, *, space: str = "", after: int, until: int, limit: int
    ) -> list[tuple[int, float, str, str, str]]:
        """Events of a verb in a space, above it and below it, as they are kept: (number, at, space,
        session, payload

        as JSON text), oldest first, of numbers above `after` up to `until`. For many at once:
        nothing is decoded.
        """
        ...

    def session_spans(
        self,
        verbs: Sequence[str],
        *,
        space: str = "",
        containing: Sequence[str] = (),
        limit: int = 100,
    ) -> list[SessionSpan]:
        """Conversations with events of these verbs in a space or below it, the latest first.

        Of `containing`, every text must occur in some payload of the conversation; ASCII letters of
        either case.
        """
        ...

    def event(self, seq: int) -> Event | None:
        """One event by number."""
        ...

    def history(self, memory_id: str) -> list[Record]:
        """What was done to a memory, oldest first."""
        ...

    def changes_of(self, seq: int) -> list[Record]:
        """What an event changed, in the order in which it was done."""
        ...

    def changes_since(self, at: float, spaces: Sequence[str]) -> list[Record]:
        """What was revised or retired after a moment of memories that are in these spaces now,
        newest first.

        The records have `before` and the event without its payload; `after` is empty.
        """
        ...

    def changes_after(self, seq: int) -> list[Record]:
        """What was added, revised or retired after an event, oldest first; ties are left out.

        The records have `before` and the event without its payload; `after` is empty.
        """
        ...

    def last_event(self) -> int:
        """The number of the newest event; 0 at the start."""
        ...

    def cursor(self, name: str) -> int:
        """The number of the last event this reader has finished with; 0 at the start."""
        ...

    def meta(self, name: str) -> str | None:
        """A small named value. GENERATION is another one whenever what was kept of the store in
        memory no longer holds,

        as after a purge or when a backup was put back.
        """
        ...

    # Finding.

    def search_words(
        self,
        terms: Sequence[str],
        spaces: Sequence[str],
        limit: int,
        *,
        within: float | None = None,
        where: Filter | None = None,
        now: float | None = None,
    ) -> list[tuple[str, float]]:
        """(id, BM25) of memories that count and contain any of the terms, best first, ties by id.

        Of `where`, kinds, those it is `without`, and tags restrict; with `now`, what has expired by
        then is left out. Needs no vectors and no numpy: the first hit of a cold process comes from
        here. A search that takes longer than `within` seconds is given up; it finds what it has
        found till then, which may be nothing.
        """
        ...

    def corpus(self, model: str, spaces: Sequence[str]) -> Corpus:
        """What ranking needs of all memories in these spaces, as columns in memory, up to date.

        Vectors of other models are left out: vectors of different models are never compared.
        """
        ...

    def scores(self, model: str, corpus: Corpus, terms: Sequence[str]) -> list[Floats]:
        """BM25 of every row of every shard of a corpus that this store gave; 0 where no term
        occurs.

        Frequencies are those of the corpus, so the score of a memory does not depend on spaces
        nobody asked about.
        """
        ...

    def unembedded_texts(self, limit: int, model: str | None = None) -> list[tuple[str, str]]:
        """(id, text) of memories that have no vector of this model yet, newest first.

        Without one, of the model that was awaited last; before any was, those that have no vector
        at all.
        """
        ...

    def known_vectors(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """Vectors of texts that were embedded before, by the hash of the text: the
        embedding cache.
        """
        ...

    def vectors(self, model: str, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors that a model gave these memories, by id: float32, unit length, not to be
        written to.

        A memory that is unknown or has no vector of this model is left out; whether it counts makes
        no difference.
        """
        ...

    # Trust.

    def verify(self, repair: bool = False) -> list[Problem]:
        """What is not as it should be; with `repair`, derived data is rebuilt and what is readable
        is kept.
        """
        ...

    def stats(self, model: str | None = None) -> Stats:
        """How much there is of everything; `waiting` is that of `model`, as in `waiting`."""
        ...

    def backup(self, target: Path) -> None:
        """A consistent copy while others go on writing. Refuses to overwrite."""
        ...

    def restore_backup(self, source: Path, kept: Path) -> None:
        """Hold what a backup held, all of it or none, while others go on.

        What was here until then is copied to `kept`, and nobody writes in between: nothing is in
        neither. Raises BadInput for what is no backup, StoreDamaged for a damaged one; then nothing
        is altered and nothing is copied.
        """
        ...

    def dump(self, log: bool = True) -> Iterator[dict[str, Any]]:
        """Everything canonical and the vectors, as JSON-ready rows: {"type": "memory" | "event" |
        …, …}.

        Without `log` only the state: memories, edges and vectors, in the order of their ids.
        """
        ...

    def load(self, rows: Iterable[dict[str, Any]]) -> dict[str, int]:
        """Take in rows of `dump`. What is already there is left alone. Returns how many of each
        were new.

        A row that cannot be taken in is left out and counted as "refused"; it never loses the
        others.
        """
        ...

    def has_current_schema(self) -> bool:
        """Whether the schema is still the one we know: a newer Reverie may have altered it since we
        opened the file.
        """
        ...

    def close(self) -> None:
        """Let go of the database. The store cannot be used afterwards."""
        ...


OPENERS = {"sqlite": "sqlite"}  # url scheme → module in this package


def open_store(url: str) -> Store:
    """Open `sqlite:///path/to/file.db` or `sqlite://:memory:`."""
    scheme = url.partition(":")[0]
    if scheme not in OPENERS:
        raise UnknownScheme(f"{scheme!r} is not one of {', '.join(sorted(OPENERS))}")
    store: Store = import_module(f".{OPENERS[scheme]}", __name__).open(url)
    return store
