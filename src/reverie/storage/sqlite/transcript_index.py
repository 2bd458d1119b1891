"""The index of past conversations: passages, found by words and by vectors.

All of it is derived: the event log says everything again. It lives beside the store, in a database
of its own (`derived_database`), so that a million passages never slow down memory, and deleting it
loses nothing but time. Vectors are kept with one byte a number; for search they are packed into a
file beside the database (`passage_packing`), and what came since is read from the database.

Every writing method is one transaction. Any number of threads and processes may use one index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from reverie.storage import Names
from reverie.storage.indexed_transcripts import (
    FoundPassage,
    IndexedConversation,
    PassageUse,
    TranscriptCount,
    TranscriptPassage,
    make_passage_key,
)
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.derived_database import DerivedDatabase
from reverie.storage.sqlite.passage_words import search_plain_postings
from reverie.storage.sqlite.sql_conditions import split_batches, sql_placeholders
from reverie.storage.sqlite.word_search import (
    best_first,
    select_affordable_terms,
    to_match_expression,
)
from reverie.text.tokenization import to_index_text

if TYPE_CHECKING:
    import numpy as np

    from reverie.storage.sqlite.passage_packing import PackedVectors

# Up to so many passages FTS5 ranks them, beyond `passage_words` does.
MAX_RANKED_ROWS = 20_000
# The generation of an index that must read the log again; no store has it.
READ_AGAIN = "read again"
MAX_EVENT = 2**63 - 1
PASSAGES = """
    select p.num, p.key, c.space, c.session, p.event,
           (select count(*) from use where use.key = p.key),
           p.message, p.part, p.role, p.at, p.text, p.context
    from passage p join conversation c on c.num = p.conversation
"""
UPSERT_CONVERSATION = """
    insert into conversation (space, session) values (?, ?)
    on conflict (space, session) do update set space = excluded.space
    returning num
"""
SAME_PLACE = "conversation = ? and message = ? and part = ?"
INSERT_PASSAGE = """
    insert into passage (key, conversation, event, message, part, role, at, text, context)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)
    returning num
"""


WITHOUT_VECTOR = """
    select num from passage where num not in (select num from vector where model = ?)
"""
# What came or went matters only where a file of packed vectors is to be corrected.
NOTE_CHANGE = """
    insert into changed (num)
    select v.num from vector v, packing where v.num = ? and packing.snapshot <> ''
"""
DELETE_USES = "delete from use where key = (select key from passage where num = ?)"
INSERT_USE = """
    insert or replace into use (key, given, event)
    select distinct key, ?2, ?3 from passage where key = ?1
"""
FORGET_PACKED = "update packing set snapshot = '', rows = 0, version = random()"


class SqliteTranscriptIndex(DerivedDatabase):
    """Past conversations in passages, with their words and vectors."""

    schema = Path(__file__).with_suffix(".sql")
    edition = 3  # to be raised, too, when `to_index_text` or how messages are cut changes
    tables = ("vector", "waiting", "changed", "use", "passage", "conversation", "reading")
    worded = ("passage", "passages of conversations")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._vectors: PackedVectors | None = None

    def _drop_caches(self) -> None:
        self._vectors = None

    # Writing

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
        after, last = events
        added = 0
        with self._connections().writing() as db:
            if since is not None and since != read_cursor(db):
                return 0
            until = MAX_EVENT if is_end else last
            stale = select_passages(db, "p.event > ? and p.event <= ?", after, until)
            for one in conversations:
                added += put_passages(db, one, stale)
            delete_passages(db, list(stale.values()))
            db.execute("delete from use where event > ? and event <= ?", (after, until))
            db.executemany(INSERT_USE, uses)
            db.execute("delete from reading")
            db.execute("insert into reading values (?, ?)", (last, generation))
        return added

    def start_over(self) -> None:
        with self._connections().writing() as db:
            db.execute("delete from reading")
            db.execute("insert into reading values (0, ?)", (READ_AGAIN,))

    def drop(self, space: str, session: str) -> int:
        return self._drop_where("c.space = ? and c.session = ?", space, session, reread=True)

    def drop_before(self, at: float) -> int:
        return self._drop_where("p.at < ?", at)

    def _drop_where(self, condition: str, *args: object, reread: bool = False) -> int:
        if not self._exists():
            return 0
        with self._connections().writing() as db:
            gone = select_passages(db, condition, *args)
            if not gone:
                return 0
            delete_passages(db, list(gone.values()))
            db.execute(
                "delete from conversation where num not in (select conversation from passage)"
            )
            if reread:
                db.execute("update reading set generation = ?", (READ_AGAIN,))
        return len(gone)

    def scrub(self) -> bool:
        if not self._exists():
            return True
        with self._connections().writing() as db:
            db.execute("delete from vector where num not in (select num from passage)")
            # FTS5 keeps deleted words in its segments until they are merged.
            db.execute("insert into words (words) values ('optimize')")
        is_unpacked = self._unpack()
        return self._connections().compact() and is_unpacked

    def clear(self) -> None:
        super().clear()
        if self._exists():
            self._unpack()

    def _unpack(self) -> bool:
        """Remove the packed vectors, also those that another process is packing just now. False if
        a file is left.
        """
        from reverie.storage.sqlite.passage_packing import remove_snapshots

        with self._connections().writing() as db:
            db.execute(FORGET_PACKED)
            db.execute("update packing set epoch = random()")
            db.execute("delete from changed")
        with self._lock:
            self._vectors = None
        return self.path == ":memory:" or remove_snapshots(self.path)

    def put_vectors(self, model: str, vectors: Mapping[int, np.ndarray]) -> None:
        from reverie.storage.sqlite.passage_vectors import to_bytes

        rows = [(num, model, to_bytes(vector)) for num, vector in vectors.items()]
        nums = [(num,) for num in vectors]
        with self._connections().writing() as db:
            if fetch_value(db, "select model from packing") != model:
                adopt_model(db, model)
            # A passage may have gone while it was embedded.
            db.executemany(
                "insert or replace into vector (num, model, vec) "
                "select num, ?2, ?3 from passage where num = ?1",
                rows,
            )
            db.executemany("delete from waiting where num = ?", nums)
            note_changes(db, nums)

    def pack_vectors(self, model: str) -> bool:
        from reverie.storage.sqlite.passage_packing import needs_packing, pack_vectors

        if self.path == ":memory:" or not self._exists():
            return False
        with self._connections().reading() as db:
            if not needs_packing(db, self.path, model):
                return False
        # Erased meanwhile, or the disk is full: search goes on without.
        with suppress(OSError):
            return pack_vectors(self._connections(), self.path, model)
        return False

    # Reading

    def cursor(self) -> tuple[int, str]:
        rows = self._rows("select cursor, generation from reading")
        return rows[0] if rows else (0, "")

    def texts(self) -> Iterator[tuple[str, str, str]]:
        with self._reading() as db:
            if db is not None:
                sql = "from passage p join conversation c on c.num = p.conversation"
                yield from db.execute(f"select c.space, c.session, p.text {sql}")
                yield from db.execute(f"select c.space, c.session, p.context {sql}")

    def passages(self, nums: Sequence[int]) -> list[FoundPassage]:
        found: dict[int, FoundPassage] = {}
        for batch in split_batches(nums):
            rows = self._rows(f"{PASSAGES} where p.num in ({sql_placeholders(batch)})", *batch)
            found.update((row[0], to_found_passage(row)) for row in rows)
        return [found[num] for num in nums if num in found]

    def passages_by_key(self, keys: Sequence[int]) -> list[FoundPassage]:
        found: dict[int, FoundPassage] = {}
        for batch in split_batches(keys):
            rows = self._rows(f"{PASSAGES} where p.key in ({sql_placeholders(batch)})", *batch)
            found.update((row[1], to_found_passage(row)) for row in rows)
        return [found[key] for key in keys if key in found]

    def conversation(self, space: str, session: str, first: int, last: int) -> list[FoundPassage]:
        rows = self._rows(
            f"{PASSAGES} where c.space = ? and c.session = ? and p.message between ? and ? "
            "order by p.message, p.part",
            space,
            session,
            first,
            last,
        )
        return [to_found_passage(row) for row in rows]

    def unembedded_texts(self, limit: int, model: str) -> list[tuple[int, str]]:
        queued = self._rows("select 1 from packing where model = ?", model)
        waiting = "select num from waiting" if queued else WITHOUT_VECTOR
        sql = f"select num, text from passage where num in ({waiting}) order by num desc limit ?"
        return self._rows(sql, *(() if queued else (model,)), limit)

    def count(self, spaces: Names | None, model: str | None = None) -> TranscriptCount:
        if not self._exists():
            return TranscriptCount()
        args = spaces or ()
        inside = "1" if spaces is None else f"space in ({sql_placeholders(args)})"
        conversations = self._count(f"select count(*) from conversation where {inside}", *args)
        of_spaces = f"p.conversation in (select num from conversation where {inside})"
        passages = self._count(f"select count(*) from passage p where {of_spaces}", *args)
        waiting = 0
        if model is not None:
            queued = self._rows("select 1 from packing where model = ?", model)
            missing = "select num from waiting" if queued else WITHOUT_VECTOR
            sql = f"select count(*) from passage p where p.num in ({missing}) and {of_spaces}"
            waiting = self._count(sql, *(() if queued else (model,)), *args)
        size = self._count("select page_count * page_size from pragma_page_count, pragma_page_size")
        return TranscriptCount(conversations, passages, waiting, size)

    def verify(self) -> str:
        stray = (
            "select count(*) from passage where conversation not in (select num from conversation)"
        )
        if strays := self._count(stray):
            return f"{strays:,} passages belong to no conversation"
        unknown = "select count(*) from use where key not in (select key from passage)"
        if unknowns := self._count(unknown):
            return f"{unknowns:,} uses belong to no passage"
        return self._verify_words()

    # Finding

    def search_words(self, terms: Names, spaces: Names, limit: int) -> list[tuple[int, float]]:
        with self._reading() as db:
            if db is None or not terms or not spaces:
                return []
            last = fetch_value(db, "select seq from sqlite_sequence where name = 'passage'") or 0
            if last > MAX_RANKED_ROWS:
                return search_plain_postings(db, terms, spaces, last, limit)
            affordable = select_affordable_terms(db, terms, last)
            # FTS5 hands rows over best first, so the joins look only at those that are taken.
            sql = f"""
                select w.rowid, -w.rank
                from words w cross join passage p on p.num = w.rowid
                     cross join conversation c on c.num = p.conversation
                where w.words match ? and c.space in ({sql_placeholders(spaces)})
                order by w.rank
                limit ?
            """
            match = to_match_expression(affordable)
            found = db.execute(sql, (match, *spaces, limit)).fetchall()
        return sorted(found, key=best_first)

    def nearest(
        self, model: str, vector: np.ndarray, spaces: Names, limit: int
    ) -> list[tuple[int, float]]:
        with self._reading() as db:
            if db is None or not spaces:
                return []
            known = self._load_vectors(db, model)
        return known.nearest(vector, spaces, limit)

    def vectors(self, model: str, nums: Sequence[int]) -> dict[int, np.ndarray]:
        with self._reading() as db:
            if db is None:
                return {}
            known = self._load_vectors(db, model)
        return known.find(nums)

    def _load_vectors(self, db: Connection, model: str) -> PackedVectors:
        """The vectors of a model, with those that were written since the last time."""
        from reverie.storage.sqlite.passage_packing import load_vectors, read_packing_state

        with self._lock:
            known = self._vectors
            if (
                known is None
                or known.model != model
                or known.state.version != read_packing_state(db).version
            ):
                known = self._vectors = load_vectors(db, self.path, model)
            return known


PassageKey = tuple[str, str, int, int]
"""Space, session, message and part."""

PassageRow = tuple[int, str, str]
"""Number, text and context."""


def read_cursor(db: Connection) -> tuple[int, str]:
    """(the last event that was read, what it was read from); (0, "") at the start."""
    row = db.execute("select cursor, generation from reading").fetchone()
    return (row[0], row[1]) if row else (0, "")


def select_passages(db: Connection, condition: str, *args: object) -> dict[PassageKey, PassageRow]:
    """The passages that meet a condition."""
    sql = f"""
        select c.space, c.session, p.message, p.part, p.num, p.text, p.context
        from passage p join conversation c on c.num = p.conversation
        where {condition}
    """
    return {tuple(row[:4]): tuple(row[4:]) for row in db.execute(sql, args)}


def put_passages(
    db: Connection, one: IndexedConversation, stale: dict[PassageKey, PassageRow]
) -> int:
    """Add the passages of a conversation; those that are there are taken out of `stale`."""
    conversation: int = fetch_value(db, UPSERT_CONVERSATION, one.space, one.session)
    known = f"select num, text, context from passage where {SAME_PLACE}"
    added = 0
    for passage in one.passages:
        stale.pop((one.space, one.session, passage.message, passage.part), None)
        place = (conversation, passage.message, passage.part)
        before = db.execute(known, place).fetchone()
        if before is not None:
            if before[1:] == (passage.text, passage.context):
                continue
            delete_passages(db, [before])
        num = fetch_value(
            db,
            INSERT_PASSAGE,
            make_passage_key(one.space, one.session, passage.message, passage.part),
            conversation,
            one.event,
            passage.message,
            passage.part,
            passage.role,
            passage.at,
            passage.text,
            passage.context,
        )
        words = (num, to_index_text(passage.text), to_index_text(passage.context))
        db.execute("insert into words (rowid, body, context) values (?, ?, ?)", words)
        db.execute("insert into waiting values (?)", (num,))
        added += 1
    return added


def delete_passages(db: Connection, rows: Sequence[PassageRow]) -> None:
    """Delete passages, given as (number, text, context), with their words, vectors and
    uses.
    """
    for num, text, context in rows:
        # A row of a contentless FTS5 table is deleted by giving FTS5 its text again.
        db.execute(
            "insert into words (words, rowid, body, context) values ('delete', ?, ?, ?)",
            (num, to_index_text(text), to_index_text(context)),
        )
    nums = [(num,) for num, _, _ in rows]
    note_changes(db, nums)
    db.executemany("delete from waiting where num = ?", nums)
    db.executemany("delete from vector where num = ?", nums)
    db.executemany(DELETE_USES, nums)
    db.executemany("delete from passage where num = ?", nums)


def note_changes(db: Connection, nums: Sequence[tuple[int]]) -> None:
    """Note that the vectors of these passages came or are about to go."""
    db.executemany(NOTE_CHANGE, nums)
    db.execute("update packing set version = random()")


def adopt_model(db: Connection, model: str) -> None:
    """Have every passage wait that has no vector of this model."""
    db.execute(FORGET_PACKED)
    db.execute("delete from changed")
    db.execute("update packing set model = ?", (model,))
    db.execute("delete from waiting")
    db.execute(f"insert into waiting {WITHOUT_VECTOR}", (model,))


def to_found_passage(row: Sequence[Any]) -> FoundPassage:
    """The passage in a row of PASSAGES."""
    num, key, space, session, event, uses, *said = row
    return FoundPassage(num, key, space, session, event, uses, TranscriptPassage(*said))
