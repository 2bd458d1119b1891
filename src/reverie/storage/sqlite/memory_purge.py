"""Erasing memories for good: words, vectors, edges, history, and wherever an event repeats them.

An event is blanked, not emptied: the passage that holds a text which a memory ever had becomes
"[purged]", whatever its letter case and white space, and the rest of what was said can still be
learned from. A text of a word or two occurs in many turns by chance, so it is blanked only where it
is a whole value. An event may have kept only the beginning of a long text, at the end of a value:
that goes too. The turn that a memory was learned from is known, so there every sentence that says
the same is blanked. Memories that only record what was said and done (episodes, the scratch pad)
are blanked as events are.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from sqlite3 import Connection

from reverie.core.doubt import DOUBT
from reverie.core.kinds import RECORD_KINDS
from reverie.storage.erased_texts import TextPrefilter
from reverie.storage.purge_texts import (
    RECORD_KINDS_LISTED,
    CleanValue,
    RepeatPlaces,
    build_event_cleaner,
    build_id_filter,
    build_prefilter,
    build_source_cleaners,
    clean_payload,
    clean_texts,
    collect_repeating_ids,
    list_said,
    plan_blanked_records,
    plan_forgotten_change,
    plan_forgotten_fields,
    select_holding_events,
    select_repeating_rows,
)
from reverie.storage.row_checksums import EVENT, MEMORY
from reverie.storage.sqlite import database_library, text_scan
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.sealed_rows import seal_rows
from reverie.storage.sqlite.sql_conditions import split_batches, sql_placeholders
from reverie.storage.sqlite.write_changes import DELETE_PENDING, bump_generation

OWN_EVENTS = """
    select e.seq, e.verb, e.payload from event e
    where e.payload is not null and e.seq in (select seq from change where memory in ({ids}))
"""
FORGET_CHANGE = "update change set before = ?, after = ? where memory = ? and seq = ? and place = ?"
SELECT_RECORDS = f"select id from memory where kind in ({sql_placeholders(RECORD_KINDS)})"


def find_repeat_places(
    db: Connection, ids: Collection[str], more: Collection[str] = ()
) -> RepeatPlaces:
    """Where these memories, their texts and those of `more` stand in the whole store."""
    _, texts = collect_texts(db, ids, more)
    return RepeatPlaces(
        fetch_value(db, "select max(seq) from event") or 0,
        frozenset(ids),
        frozenset(texts),
        tuple(list_holding_events(db, ids, texts)),
        tuple(list_naming_memories(db, ids)),
        tuple(list_naming_changes(db, ids)),
    )


def erase_memories(
    db: Connection,
    ids: Sequence[str],
    more: Collection[str] = (),
    found: RepeatPlaces | None = None,
) -> int:
    """Erase memories and everything that repeats their texts or those of `more`.

    No history is kept: that is the point. Returns how many memories there were. `found` is what was
    looked for before the transaction began.
    """
    numbers, texts = collect_texts(db, ids, more)
    if not texts:
        return 0
    # The sources are found through `change`, so before its rows go.
    blank_sources(db, list(numbers), texts)
    if found is None or not found.covers(ids, texts):
        found = find_repeat_places(db, ids, more)
    blank_events(db, found, {*ids}, texts)
    blank_records(db, set(numbers), texts)
    delete_words_for_good(db)
    for id, num in numbers.items():
        db.execute("delete from change where memory = ?", (id,))
        db.execute("delete from edge where src = ? or dst = ?", (id, id))
        for sql in (
            "delete from vector where memory = ?",
            DELETE_PENDING,
            "delete from words where rowid = ?",
            "delete from memory where num = ?",
        ):
            db.execute(sql, (num,))
    forget_ids(db, found, numbers.keys())
    bump_generation(db)
    return len(numbers)


def delete_words_for_good(db: Connection) -> None:
    """Have FTS5 take deleted words out of its segments at once, where this SQLite can; else they
    stay there until `compact` has merged the segments.
    """
    if database_library.library_version(db) >= text_scan.DELETES_WORDS:
        db.execute("insert into words (words, rank) values ('secure-delete', 1)")


def collect_texts(
    db: Connection, ids: Iterable[str], more: Iterable[str]
) -> tuple[dict[str, int], set[str]]:
    """(the numbers of memories by id, every text that any of them ever had and those of `more`)."""
    numbers: dict[str, int] = {}
    texts = clean_texts(more)
    for id in dict.fromkeys(ids):
        row = db.execute("select num, text, title from memory where id = ?", (id,)).fetchone()
        if row:
            numbers[id] = row[0]
            texts |= clean_texts({*row[1:], *collect_past_texts(db, id)})
    return numbers, texts


def collect_past_texts(db: Connection, id: str) -> set[str]:
    """All texts and titles that a memory had before the present ones."""
    found: set[str] = set()
    sql = "select before, after from change where memory = ? and op <> 'link'"
    for versions in db.execute(sql, (id,)):
        for version in filter(None, versions):
            found.update(list_said(json.loads(version)))
    return found


# Events


def list_holding_events(
    db: Connection, ids: Collection[str], texts: Collection[str], after: int = 0
) -> Iterator[int]:
    """The numbers of events that may hold one of the ids or texts."""
    prefilter = build_prefilter(ids, texts)
    held, patterns = text_scan.sql_holds(["payload"], prefilter.find_needles())
    sql = f"select seq, payload from event where seq > ? and payload is not null and {held}"
    return select_holding_events(db.execute(sql, (after, *patterns)), prefilter)


def blank_events(
    db: Connection,
    found: RepeatPlaces,
    ids: Collection[str],
    texts: Collection[str],
) -> None:
    """Blank texts and ids in all events that hold them."""
    clean = build_event_cleaner(ids, texts)
    for seq in (*found.events, *tuple(list_holding_events(db, ids, texts, found.seq))):
        payload = fetch_value(db, "select payload from event where seq = ?", seq)
        if payload is not None:
            rewrite_payload(db, seq, payload, clean)


def blank_records(
    db: Connection,
    ids: Collection[str],
    texts: Collection[str],
) -> None:
    """Blank texts in memories that only record what was said and done, and in notes in `meta`.

    What the user told us to remember elsewhere is another memory, and stays; so do the notes that
    only say where something is.
    """
    records = {id for (id,) in db.execute(SELECT_RECORDS, RECORD_KINDS)}
    conditions = {
        "memory": f"kind in ({RECORD_KINDS_LISTED})",
        "change": f"memory in (select id from memory where kind in ({RECORD_KINDS_LISTED}))",
        "meta": "true",
    }
    read_rows = partial(text_scan.read_text_rows, db)
    rows = select_repeating_rows(read_rows, texts, conditions)
    for table, old, new in plan_blanked_records(rows, records - {*ids}, texts):
        text_scan.write_row(db, table, old, new)


def find_repeating_ids(db: Connection, texts: Collection[str]) -> set[str]:
    """The ids of memories that hold one of the texts, or held it once, in any field."""
    erased = clean_texts(texts)
    read_rows = partial(text_scan.read_text_rows, db)
    rows = select_repeating_rows(read_rows, erased, {"memory": "true", "change": "true"})
    return collect_repeating_ids(rows, erased)


def blank_sources(
    db: Connection,
    ids: Sequence[str],
    texts: Collection[str],
) -> None:
    """Blank texts in the events that made the memories, and what says the same in their sources.

    The sources are the turns that the memories were learned from.
    """
    clean = build_source_cleaners(texts)
    sources = set()
    for batch in split_batches(ids):
        sql = OWN_EVENTS.format(ids=sql_placeholders(batch))
        for seq, verb, payload in db.execute(sql, batch).fetchall():
            if verb == "learn":
                sources.add(json.loads(payload).get("event"))
            rewrite_payload(db, seq, payload, clean.own)
    for source in sources:
        payload = fetch_value(db, "select payload from event where seq = ?", source)
        if payload:
            rewrite_payload(db, source, payload, clean.source)


def rewrite_payload(
    db: Connection,
    seq: int,
    payload: str,
    clean: CleanValue,
) -> None:
    """Write a payload as `clean` makes it, if that differs. What is no JSON is emptied."""
    cleaned = clean_payload(payload, clean)
    if cleaned is not None:
        db.execute("update event set payload = ? where seq = ?", (cleaned.written, seq))
        seal_rows(db, EVENT, [seq])


# Other memories


def list_naming_memories(db: Connection, ids: Collection[str], after: int = 0) -> Iterator[int]:
    """The numbers of memories that name one of the ids: what took their place, what contradicts
    them, what they are in doubt for.
    """
    erased = build_id_filter(ids)
    since = "id in (select memory from change where seq > ?)" if after else "?"
    sql = (
        f"select num, superseded_by, conflicts_with, details from memory where {since} and "
        "(superseded_by is not null or conflicts_with <> '[]' or instr(details, ?) > 0)"
    )
    for num, *named in db.execute(sql, (after or 1, f'"{DOUBT}"')):
        if any(erased.may_match_json(one) for one in named if one):
            yield num


def list_naming_changes(
    db: Connection, ids: Collection[str], after: int = 0
) -> Iterator[tuple[str, int, int]]:
    """The keys of changes that may name one of the ids."""
    erased = build_id_filter(ids)
    held, patterns = text_scan.sql_holds(["before", "after"], erased.find_needles())
    yield from db.execute(
        f"select memory, seq, place from change where seq > ? and {held}", (after, *patterns)
    )


def forget_ids(db: Connection, found: RepeatPlaces, ids: Collection[str]) -> None:
    """Take erased ids out of the other memories and their history, which can still be undone."""
    erased = build_id_filter(ids)
    for num in {*found.memories, *list_naming_memories(db, ids, found.seq)}:
        forget_in_memory(db, num, erased, ids)
    for key in {*found.changes, *list_naming_changes(db, ids, found.seq)}:
        where = "where memory = ? and seq = ? and place = ?"
        row = db.execute(f"select op, before, after from change {where}", key).fetchone()
        op, *versions = row or ("",)
        forgotten = plan_forgotten_change(op, versions, erased)
        if forgotten and forgotten.is_dropped:
            db.execute(f"delete from change {where}", key)
        elif forgotten:
            db.execute(FORGET_CHANGE, (forgotten.before, forgotten.after, *key))


def forget_in_memory(db: Connection, num: int, erased: TextPrefilter, ids: Collection[str]) -> None:
    """Take erased ids out of one memory; of its details what quotes one that it rested on."""
    sql = "select superseded_by, conflicts_with, details from memory where num = ?"
    row = db.execute(sql, (num,)).fetchone()
    if row is None:
        return
    successor, others, written = row
    left = plan_forgotten_fields(successor, others, written, erased, ids)
    for name, value in left.items():
        db.execute(f"update memory set {name} = ? where num = ?", (value, num))
    if left:
        seal_rows(db, MEMORY, [num])
