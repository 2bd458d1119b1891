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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from sqlite3 import Connection
from typing import Any

from reverie.core.doubt import DOUBT
from reverie.core.kinds import RECORD_KINDS
from reverie.storage.erased_texts import (
    PassageEraser,
    TextPrefilter,
    blank_sentences,
    is_distinctive,
    map_strings,
)
from reverie.storage.purge_texts import (
    NOTES_OF_PLACES,
    RepeatPlaces,
    blank_value,
    build_prefilter,
    clean_texts,
    drop_naming_values,
    list_said,
)
from reverie.storage.row_checksums import EVENT, MEMORY
from reverie.storage.row_codec import to_column, to_json
from reverie.storage.sqlite import database_library, text_scan
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.sealed_rows import seal_rows
from reverie.storage.sqlite.sql_conditions import split_batches, sql_placeholders
from reverie.storage.sqlite.write_changes import DELETE_PENDING, bump_generation
from reverie.storage.text_tables import TEXT_TABLES, TextTable, clean_row

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
    for seq, payload in db.execute(sql, (after, *patterns)):
        # Nearly every payload fails this test, and parsing them all would take far longer.
        if prefilter.may_match_json(payload):
            yield seq


def blank_events(
    db: Connection,
    found: RepeatPlaces,
    ids: Collection[str],
    texts: Collection[str],
) -> None:
    """Blank texts and ids in all events that hold them."""
    id_filter = TextPrefilter((id.lower(), id) for id in ids)
    clean = partial(
        blank_value,
        ids=id_filter,
        texts=PassageEraser(texts),
    )
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
    clean = PassageEraser(texts)
    records = {id for (id,) in db.execute(SELECT_RECORDS, RECORD_KINDS)}
    records -= set(ids)
    among = ", ".join(f"'{kind}'" for kind in sorted(RECORD_KINDS))
    tables = {
        "memory": f"kind in ({among})",
        "change": f"memory in (select id from memory where kind in ({among}))",
        "meta": "true",
    }
    for table, old in iter_repeating_rows(db, texts, tables):
        is_note = table.name == "meta" and old["name"] not in NOTES_OF_PLACES
        if old[table.named] not in records and not is_note:
            continue
        new, kinds = clean_row(table, old, clean)
        if is_note:
            new["name"] = old["name"]
        if kinds:
            text_scan.write_row(db, table, old, new)


def iter_repeating_rows(
    db: Connection,
    texts: Collection[str],
    tables: Mapping[str, str],
) -> Iterator[tuple[TextTable, dict[str, Any]]]:
    """The rows of these tables that meet their condition and may hold one of the texts."""
    prefilter = build_prefilter((), texts)
    needles = prefilter.find_needles()
    for table in TEXT_TABLES:
        if table.name not in tables:
            continue
        only = tables[table.name]
        for row in text_scan.read_text_rows(db, table, needles=needles, only=only):
            strings = (value for value in row.values() if isinstance(value, str))
            if any(map(prefilter.may_match_json, strings)):
                yield table, row


def find_repeating_ids(db: Connection, texts: Collection[str]) -> set[str]:
    """The ids of memories that hold one of the texts, or held it once, in any field.

    A short text counts only as their text or title: as a tag, say, it is there by chance.
    """
    erased = clean_texts(texts)
    # Two erasers: of a short text only what was said counts, of a long one every field.
    every = PassageEraser(erased)
    distinctive = PassageEraser([text for text in erased if is_distinctive(text)])
    found = set()
    for table, row in iter_repeating_rows(db, erased, {"memory": "true", "change": "true"}):
        if table.name == "memory":
            versions = [row]
        else:
            written = filter(None, (row["before"], row["after"]))
            versions = [json.loads(version) for version in written]
        said: list[str] = []
        for version in versions:
            said += list_said(version)
        says_it = any(every.scrub_text(text)[1] for text in said)
        if says_it or clean_row(table, row, distinctive)[1]:
            found.add(row[table.named])
    return found


def blank_sources(
    db: Connection,
    ids: Sequence[str],
    texts: Collection[str],
) -> None:
    """Blank texts in the events that made the memories, and what says the same in their sources.

    The sources are the turns that the memories were learned from.
    """
    clean = PassageEraser(texts)
    blank_texts = partial(map_strings, clean=clean.blank_passages)
    blank_statements = partial(map_strings, clean=partial(blank_sentences, clean, texts))
    sources = set()
    for batch in split_batches(ids):
        sql = OWN_EVENTS.format(ids=sql_placeholders(batch))
        for seq, verb, payload in db.execute(sql, batch).fetchall():
            if verb == "learn":
                sources.add(json.loads(payload).get("event"))
            rewrite_payload(db, seq, payload, blank_texts)
    for source in sources:
        payload = fetch_value(db, "select payload from event where seq = ?", source)
        if payload:
            rewrite_payload(db, source, payload, blank_statements)


def rewrite_payload(
    db: Connection,
    seq: int,
    payload: str,
    clean: Callable[[Any], Any],
) -> None:
    """Write a payload as `clean` makes it, if that differs. What is no JSON is emptied."""
    try:
        value = json.loads(payload)
    except ValueError:
        cleaned = None
    else:
        cleaned = clean(value)
        if cleaned == value:
            return
    written = None if cleaned is None else to_json(cleaned)
    db.execute("update event set payload = ? where seq = ?", (written, seq))
    seal_rows(db, EVENT, [seq])


# Other memories


def list_naming_memories(db: Connection, ids: Collection[str], after: int = 0) -> Iterator[int]:
    """The numbers of memories that name one of the ids: what took their place, what contradicts
    them, what they are in doubt for.
    """
    erased = TextPrefilter((id.lower(), id) for id in ids)
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
    erased = TextPrefilter((id.lower(), id) for id in ids)
    held, patterns = text_scan.sql_holds(["before", "after"], erased.find_needles())
    yield from db.execute(
        f"select memory, seq, place from change where seq > ? and {held}", (after, *patterns)
    )


def forget_ids(db: Connection, found: RepeatPlaces, ids: Collection[str]) -> None:
    """Take erased ids out of the other memories and their history, which can still be undone."""
    erased = TextPrefilter((id.lower(), id) for id in ids)
    for num in {*found.memories, *list_naming_memories(db, ids, found.seq)}:
        forget_in_memory(db, num, erased, ids)
    for key in {*found.changes, *list_naming_changes(db, ids, found.seq)}:
        where = "where memory = ? and seq = ? and place = ?"
        row = db.execute(f"select op, before, after from change {where}", key).fetchone()
        op, *versions = row or ("",)
        named: set[str] = set()
        for version in filter(None, versions):
            named.update(erased.find_candidates(version))
        # An edge to what is erased cannot come back, so there is nothing to undo.
        if named and op == "link":
            db.execute(f"delete from change {where}", key)
        elif named:
            left_values = [drop_naming_values(version, named) for version in versions]
            db.execute(FORGET_CHANGE, (*left_values, *key))


def forget_in_memory(db: Connection, num: int, erased: TextPrefilter, ids: Collection[str]) -> None:
    """Take erased ids out of one memory; of its details what quotes one that it rested on."""
    sql = "select superseded_by, conflicts_with, details from memory where num = ?"
    row = db.execute(sql, (num,)).fetchone()
    if row is None:
        return
    successor, others, written = row
    left: dict[str, Any] = {}
    if successor in ids:
        left["superseded_by"] = None
    if others and erased.may_match_json(others):
        kept = tuple(other for other in json.loads(others) if other not in ids)
        left["conflicts_with"] = to_column("conflicts_with", kept)
    details = json.loads(written or "{}")
    if DOUBT in details and set(erased.find_candidates(to_json(details[DOUBT]))):
        del details[DOUBT]
        left["details"] = to_column("details", details)
    for name, value in left.items():
        db.execute(f"update memory set {name} = ? where num = ?", (value, num))
    if left:
        seal_rows(db, MEMORY, [num])
