"""The `Store` protocol: everything that Reverie asks of a database, and what is atomic about it.

A backend is one module with `open(url)` that passes `tests/storage/test_store_contract.py`, and one
row in `OPENERS`. Memories, events and edges are canonical. The word index, the vectors and the
queue of texts without a vector are derived: `verify(repair=True)` rebuilds them.

A store may be used from many threads, and one database by many processes. Every writing method is
one transaction: all of it or none, and durable when it returns. Reads see whole transactions only.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from reverie.core.errors import UnknownScheme
from reverie.core.model import EMPTY_MAPPING, Change, Edge, Event, Filter, Memory, Record
from reverie.storage.scrub_scan import ScrubbableStore

if TYPE_CHECKING:
    import numpy as np

    from reverie.storage.candidates import (
        CandidatePool,
        CandidateRequest,
        NearMemory,
        NeighbourRequest,
    )
    from reverie.storage.indexed_code import CodeIndex
    from reverie.storage.indexed_files import FileIndex
    from reverie.storage.indexed_transcripts import TranscriptIndex


Names: TypeAlias = Sequence[str]  # ids, spaces, terms, verbs, …, in an order that may matter

# Names in `meta`. GENERATION changes when nothing that was read before holds any more; UNLOGGED is
# set when memories came or went (import, salvage) without an event that says so.
GENERATION = "generation"
UNLOGGED = "unlogged"


class Problem(NamedTuple):
    """Something wrong that `verify` found."""

    what: str  # "words", "vectors", "edges", "file", …
    message: str
    repaired: bool = False


class Stats(NamedTuple):
    """How much is in the store."""

    memories: int = 0  # not retired
    retired: int = 0
    events: int = 0
    edges: int = 0
    vectors: int = 0  # of all models
    waiting: int = 0  # texts that have no vector of the current model yet
    undecided: int = 0  # pairs that wait for a person: contradictions and possible duplicates
    bytes: int = 0  # on disk
    kinds: Mapping[str, int] = EMPTY_MAPPING
    spaces: Mapping[str, int] = EMPTY_MAPPING
    learned: int = 0  # candidates that extraction accepted
    # candidates that extraction rejected although a rule had found them, by reason
    rejected: Mapping[str, int] = EMPTY_MAPPING

    @property
    def junk(self) -> float | None:
        """The share of extraction's candidates that was rejected, 0..1; None if there were none."""
        rejected = sum(self.rejected.values())
        seen = rejected + self.learned
        return rejected / seen if seen else None


class DatedDetails(NamedTuple):
    """The details of a memory, and when it was written down."""

    created_at: float
    details: Mapping[str, Any]


class DayCount(NamedTuple):
    """How many memories came and went on a day."""

    day: int  # days since 1970
    came: int
    went: int


class SessionSpan(NamedTuple):
    """The part of a session that the log knows. `first` and `last` are event numbers."""

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

    # In what backends differ. Nothing else may: the contract suite asks these where it allows two
    # answers.

    has_file: ClassVar[bool]
    """True if `backup` writes one file that opens as a store and `restore_backup` reads it. False:
    both raise BadInput, and the database's own tools make copies."""

    keeps_indexes_beside: ClassVar[bool]
    """True if `files`, `code`, `code_chunks` and `transcripts` are databases of their own beside
    this one, and no transaction includes both. False: they are tables of the same database."""

    vector_precision: ClassVar[float]
    """How far a number of a vector that is read back, or a cosine, may differ from what it is in
    float32. 0.0: not at all."""

    @property
    def files(self) -> "FileIndex":
        """The index of watched files."""

    @property
    def code(self) -> "CodeIndex":
        """The index of code."""

    @property
    def code_chunks(self) -> "FileIndex":
        """The chunks of indexed code files, searched by words and by vectors as notes are."""

    @property
    def transcripts(self) -> "TranscriptIndex":
        """The index of past conversations."""

    # Writing. Each call is one transaction.

    def apply(
        self,
        changes: Sequence[Change],
        cause: Event,
        *,
        done: tuple[str, int] | None = None,
    ) -> int:
        """Make all `changes`, record `cause` and move the cursor `done`: all of it or none.

        `done` is (name, event number). Returns the event's number. The previous values are kept
        with the event, so that it can be undone. Changing or retiring an unknown memory raises
        NotFound. Adding an id twice raises Conflict, and so does a cursor that has already passed
        `done`: another process has dealt with that event.
        """

    def append(self, events: Sequence[Event]) -> list[int]:
        """Record events that change no memory, all or none. Returns their numbers."""

    def advance(self, cursor: str, seq: int) -> None:
        """Move a reader's cursor forward. Cursors never move back."""

    def find_repeats(self, ids: Names, more: Collection[str] = ()) -> Any:
        """Where these memories and texts stand, for a `purge` of them soon after: it takes as long
        as reading the whole store, and outside of a transaction nobody waits for it.
        """

    def purge(self, ids: Names, more: Collection[str] = (), found: Any = None) -> int:
        """Erase memories for good, with everything derived and their texts in events.

        Their words, vectors, edges and history go. Every text that a memory ever had is looked for
        in events, and every text of `more`; the rest of an event stays. `found` spares looking
        through what was there when it was looked for. This is the only operation
        that cannot be undone. Returns how many memories were erased.
        """

    def ids_repeating(self, texts: Collection[str]) -> set[str]:
        """The ids of memories that hold one of these texts or held it: a purge leaves them."""

    def put_vectors(
        self,
        model: str,
        vectors: Mapping[str, "np.ndarray"],
        hashes: Mapping[str, bytes],
    ) -> int:
        """Store a model's vectors by memory id, and take those memories out of its queue.

        Vectors of other models stay. An id that is gone, or whose text has another hash by now, is
        skipped. Returns how many were stored. A vector is deleted with its text, when the memory is
        revised or purged, and never because another model is in use.
        """

    def await_vectors(self, model: str, *, again: bool = False) -> int:
        """Make this the current model: every text without a vector of it is queued, now and later.

        A home may have several such models, each with its own queue. A model that is no longer used
        keeps its queue, a few bytes a text. Cheap when nothing changes; with `again`, texts are
        looked through though it is the current one already. Returns the length of the queue.
        """

    def set_meta(self, name: str, value: str) -> None:
        """Store a small named value."""

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """One exclusive transaction for reading, deciding and writing.

        Nobody else writes meanwhile. An error inside rolls everything back. The writing methods
        join it. Keep it short.

        What is committed survives the end of this process, however it ends; a power cut too, which
        waits for the disk. Without `durable` nobody waits: a power cut may cost it until the next
        durable commit has been made. For one of many that are done over if need be.
        """

    def reading(self) -> AbstractContextManager[None]:
        """What a thread reads within belongs together: a store on a server asks on one connection.

        Each read still sees what is committed by then. Nothing slow should happen in it, as calling
        a model: nobody else has the connection meanwhile.
        """

    # Coordination between processes.

    def acquire(
        self,
        lease: str,
        holder: str,
        seconds: float,
        now: float,
    ) -> bool:
        """Take or renew a lease for `seconds`. True for at most one holder at any moment."""

    def release(self, lease: str, holder: str) -> None:
        """Give the lease back, if `holder` still has it."""

    def holder(self, lease: str, now: float) -> str | None:
        """The holder of the lease at `now`, or None."""

    # Reading.

    def get(self, ids: Names) -> list[Memory]:
        """Memories by id, in the order asked, retired ones too; unknown ids are left out."""

    def match_ids(self, part: str, limit: int) -> list[str]:
        """Ids of memories, newest first, whose characters behind `mem_` begin or end with these."""

    def browse(self, where: Filter) -> list[Memory]:
        """Memories that match, newest first: by creation, or with `by_time` by when it happened."""

    def read_details(self, where: Filter) -> list[DatedDetails]:
        """The details of memories that match, in the order of `browse` and without the rest."""

    def browse_texts(self, where: Filter) -> list[tuple[str, str]]:
        """(id, text) of what `browse` gives, in its order: far cheaper than whole memories."""

    def with_triggers(
        self,
        spaces: Names,
        *,
        within: float | None = None,
    ) -> list[Memory]:
        """Active memories with trigger patterns, as many as can be read `within` seconds."""

    def tag_counts(self, spaces: Names) -> dict[str, int]:
        """How many active memories carry each tag."""

    def memories_by_day(self) -> "list[DayCount]":
        """On each day (UTC) on which memories came or went, how many did, the first day first.

        A memory comes on the day on which it was written down, and goes on that of its retirement.
        """

    def edges(self, ids: Names, rels: Names = ()) -> list[Edge]:
        """Edges from or to any of these ids."""

    def has_edges(self, rels: Names) -> bool:
        """True if there is any edge of these relations."""

    def edges_around(
        self,
        nodes: Names,
        spaces: Names,
        most: int,
    ) -> list[Edge]:
        """Edges from or to any of these nodes that a reader of `spaces` may see, each once.

        Nodes are memories, tags, clusters and files. A memory at the other end must lie in one of
        the spaces and be active (at the end of `supersedes` it may be retired). Of one tag or
        cluster only the `most` newest visible memories are given, searched among its newest
        thousand.
        """

    def scan_edges(
        self,
        after: tuple[str, str, str],
        limit: int,
    ) -> list[Edge]:
        """The next `limit` edges after this key, in the order of (src, rel, dst)."""

    def edges_between(
        self,
        rels: Names,
        spaces: Names = (),
        limit: int = 100,
    ) -> list[Edge]:
        """Edges of these relations whose two ends are active, most recently written first.

        With `spaces`, both ends lie in them. A pair that is linked in both directions is given
        once.
        """

    def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        verbs: Names = (),
        session: str | None = None,
        space: str | None = None,
        newest: bool = False,
        limit: int = 1000,
    ) -> list[Event]:
        """Events between two numbers, both exclusive, oldest first; with `newest`, newest first."""

    def search_events(
        self,
        verbs: Names,
        *,
        space: str = "",
        containing: Names = (),
        since: float | None = None,
        until: float | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """Events of these verbs in a space, its parents and its children, newest first by time.

        Every text of `containing` must occur in the payload (ASCII letters match in either case).
        `since` and `until` are inclusive.
        """

    def event_rows(
        self,
        verb: str,
        *,
        space: str = "",
        after: int,
        until: int,
        limit: int,
    ) -> list[tuple[int, float, str, str, str]]:
        """Raw events of a verb in a space, its parents and children: `after` < number <= `until`.

        Rows are (number, at, space, session, payload as JSON text), oldest first. For reading many
        at once: nothing is decoded.
        """

    def session_spans(
        self,
        verbs: Names,
        *,
        space: str = "",
        containing: Names = (),
        limit: int = 100,
    ) -> list[SessionSpan]:
        """Sessions with events of these verbs in a space or below it, the latest first.

        Every text of `containing` must occur in some payload of the session (ASCII letters match in
        either case).
        """

    def event(self, seq: int) -> Event | None:
        """One event by number."""

    def history(self, memory_id: str) -> list[Record]:
        """The changes of a memory, oldest first."""

    def changes_of(self, seq: int) -> list[Record]:
        """The changes that an event made, in order."""

    def changes_since(self, at: float, spaces: Names) -> list[Record]:
        """Revisions and retirements after a time, of memories now in these spaces, newest first.

        The records have `before` and the event without its payload; `after` is empty.
        """

    def changes_after(self, seq: int) -> list[Record]:
        """Additions, revisions and retirements after an event, oldest first; links are left out.

        The records have `before` and the event without its payload; `after` is empty.
        """

    def last_event(self) -> int:
        """The number of the newest event; 0 if there is none."""

    def cursor(self, name: str) -> int:
        """The last event number that this reader has finished with; 0 at the start."""

    def meta(self, name: str) -> str | None:
        """A small named value, or None.

        GENERATION changes whenever what was cached of the store in memory no longer holds, as after
        a purge or a restored backup.
        """

    # Finding.

    def search_words(
        self,
        terms: Names,
        spaces: Names,
        limit: int,
        *,
        within: float | None = None,
        where: Filter | None = None,
        now: float | None = None,
    ) -> list[tuple[str, float]]:
        """(id, BM25) of active memories that contain any of the terms, best first, ties by id.

        Of `where`, `kinds`, `without` and `tags` restrict; with `now`, memories that have expired
        by then are left out. A search that takes longer than `within` seconds is stopped and gives
        what it has found by then, perhaps nothing.

        Needs no vectors and no numpy: a cold process gets its first hit from here.
        """

    def must_load(self, spaces: Names) -> bool:
        """True if the next search for candidates in these spaces first loads so much into memory
        that somebody would notice.
        """

    def candidates(self, request: "CandidateRequest") -> "CandidatePool | None":
        """The memories that may answer a question, with all that ranking looks at, up to date.

        None if no memory in these spaces has a vector of this model and of this length: the caller
        then asks by words. Vectors of different models are never compared; a memory without one is
        found by its words. What the request does not allow never takes a candidate's place.
        Document frequencies are those of the spaces asked for, retired memories included, so that
        a memory's score does not depend on other spaces.
        """

    def nearest(self, request: "NeighbourRequest") -> dict[str, list["NearMemory"]]:
        """For each memory of the request its neighbours from the least cosine on, best first, ties
        by id; an empty list where there are none.
        """

    def speakers(self, names: Names, spaces: Names) -> set[str]:
        """Those of these names under which something was said in these spaces, to the letter;
        retired memories count.
        """

    def unembedded_texts(
        self,
        limit: int,
        model: str | None = None,
    ) -> list[tuple[str, str]]:
        """(id, text) of memories without a vector of this model, newest first.

        `model` None is the current one; before there was any, memories without a vector at all.
        """

    def known_vectors(
        self,
        model: str,
        hashes: Sequence[bytes],
    ) -> dict[bytes, "np.ndarray"]:
        """The embedding cache: vectors of texts that were embedded before, by the text's hash."""

    def vectors(
        self,
        model: str,
        ids: Names,
    ) -> dict[str, "np.ndarray"]:
        """A model's vectors of these memories, by id: float32, unit length, read-only.

        Unknown memories and those without a vector of this model are left out; retired ones are
        not.
        """

    # Trust.

    def verify(self, repair: bool = False, backups: Sequence[Path] = ()) -> list[Problem]:
        """Everything that is not as it should be.

        With `repair`, derived data is rebuilt, what is readable is kept, and rows that are not what
        was written come from the `backups`, the newest first.
        """

    def stats(self, model: str | None = None) -> Stats:
        """How much there is of everything; `waiting` is for `model`, as in `unembedded_texts`."""

    def copy(self) -> "Store":
        """The same content in memory, to try something out: what is done to it is gone with it.

        Its index of code is this one's, and only to be read; other indexes are empty.
        """

    def backup(self, target: Path) -> None:
        """Write a consistent copy while others go on writing. Refuses to overwrite.

        Only a store that `has_file`.
        """

    def restore_backup(self, source: Path, kept: Path) -> None:
        """Replace the content with that of a backup, all of it or none, while others go on.

        The present content is copied to `kept` first, and nobody writes in between. Raises BadInput
        for what is no backup and StoreDamaged for a damaged one; then nothing is changed or copied.
        Only a store that `has_file`, and none in memory.
        """

    def dump(self, log: bool = True) -> Iterator[dict[str, Any]]:
        """Everything canonical and the vectors as JSON-ready rows: {"type": "memory", …}.

        Without `log` only the state (memories, edges, vectors), in the order of their ids.
        """

    def load(
        self,
        rows: Iterable[dict[str, Any]],
    ) -> dict[str, int]:
        """Import rows of `dump`. Returns how many of each type are new.

        What is already there is left alone. A row that cannot be read is left out and counted as
        "refused"; the others are not affected.
        """

    def has_current_schema(self) -> bool:
        """True unless a newer Reverie has migrated the database since it was opened."""

    def close(self) -> None:
        """Release the database. The store cannot be used afterwards."""


# url scheme → module in this package
OPENERS = {"sqlite": "sqlite", "postgresql": "postgres", "postgres": "postgres"}


def open_store(url: str) -> Store:
    """Open `sqlite:///path/to/file.db`, `sqlite://:memory:` or `postgresql://host/database`."""
    scheme = url.partition(":")[0]
    if scheme not in OPENERS:
        raise UnknownScheme(f"{scheme!r} is not one of {', '.join(sorted(OPENERS))}")
    store: Store = import_module(f".{OPENERS[scheme]}", __name__).open(url)
    return store
