"""Erasing memories for good: with their words, vectors, edges and history, and wherever an event
repeats them.

An event is blanked, not emptied: the passage that holds a text that a memory ever had becomes
"[purged]", whatever its letter case and white space, and the rest of what was said stays to be
learned from. A text of a word or two stands in many a turn by chance, so it is only blanked where
it is the whole of a value. Of a long text an event may keep only the beginning, at the end of a
value: that goes too. The turn that a memory was learned from is known, so there every sentence that
says the same is blanked. Memories that only record what was said and done (episodes, the scratch
pad) are blanked as events are.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from reverie.core.kinds import RECORD_KINDS
from reverie.storage.erased_texts import (
    PURGED,
    PassageEraser,
    TextPrefilter,
    blank_sentences,
    first_whole_words,
    is_distinctive,
    is_kept_field,
    list_written_forms,
    longest_word,
    map_strings,
    strip_sentence_end,
)
from reverie.storage.sqlite import text_scan
from reverie.storage.sqlite.read_queries import split_batches, sql_placeholders
from reverie.storage.sqlite.row_codec import to_column, to_json
from reverie.storage.sqlite.write_changes import DELETE_PENDING, bump_generation

TEXT_FIELDS = ("text", "title")
OWN_EVENTS = """
    select e.seq, e.verb, e.payload from event e
    where e.payload is not null and e.seq in (select seq from change where memory in ({ids}))
"""
FORGET_CHANGE = "update change set before = ?, after = ? where memory = ? and seq = ? and place = ?"
SELECT_RECORDS = f"select id from memory where kind in ({sql_placeholders(RECORD_KINDS)})"
# notes that say where something is, no more
NOTES_OF_PLACES = (
    "anchored",
    "mirror_roots",
    "mirror_spaces",
    "shares",
)


def erase_memories(db: sqlite3.Connection, ids: Sequence[str], more: Collection[str] = ()) -> int:
    """Erase memories and everything that repeats their text, or one `more`. No history is kept:
    that is the point.
    """
    there = {id: num for id in dict.fromkeys(ids) if (num := find_row_number(db, id)) is not None}
    texts = {text for id in there for text in collect_past_texts(db, id)} | {
        text for one in more if (text := strip_sentence_end(one))
    }
    if not texts:
        return 0
    blank_sources(db, list(there), texts)
    blank_events(db, {*ids}, texts)
    blank_records(db, set(there), texts)
    for id, num in there.items():
        db.execute("delete from change where memory = ?", (id,))
        db.execute("delete from edge where src = ? or dst = ?", (id, id))
        for sql in (
            "delete from vector where memory = ?",
            DELETE_PENDING,
            "delete from words where rowid = ?",
            "delete from memory where num = ?",
        ):
            db.execute(sql, (num,))
    forget_ids(db, there.keys())
    # deleted words leave the index's segments
    db.execute("insert into words (words) values ('optimize')")
    bump_generation(db)
    return len(there)


def find_row_number(db: sqlite3.Connection, id: str) -> int | None:
    """The number of a memory's row."""
    row = db.execute("select num from memory where id = ?", (id,)).fetchone()
    return row[0] if row else None


def collect_past_texts(db: sqlite3.Connection, id: str) -> set[str]:
    """All texts and titles that a memory ever had."""
    found = set(db.execute("select text, title from memory where id = ?", (id,)).fetchone())
    for kept in db.execute(
        "select before, after from change where memory = ? and op <> 'link'", (id,)
    ):
        for values in (json.loads(text) for text in kept if text):
            found.update(
                value for name in TEXT_FIELDS if isinstance(value := values.get(name), str)
            )
    return {text for one in found if (text := strip_sentence_end(one))}


# Events


def blank_events(db: sqlite3.Connection, ids: Collection[str], texts: Collection[str]) -> None:
    """Take texts and ids out of all events that hold them."""
    holds = build_prefilter(ids, texts).holds
    clean = partial(
        blank_value, ids=TextPrefilter((id.lower(), id) for id in ids), texts=PassageEraser(texts)
    )
    for seq, payload in db.execute(
        "select seq, payload from event where payload is not null"
    ).fetchall():
        if holds(payload):
            rewrite_payload(db, seq, payload, clean)


def blank_records(db: sqlite3.Connection, ids: Collection[str], texts: Collection[str]) -> None:
    """Take texts out of memories that only record what was said and done, and out of notes in
    `meta`.

    What somebody else was told to remember is another memory, and stays.
    """
    clean = PassageEraser(texts)
    told = {id for (id,) in db.execute(SELECT_RECORDS, RECORD_KINDS)} - set(ids)
    for table, old in iter_repeating_rows(db, texts, ("memory", "change", "meta")):
        if old[table.named] in told or (
            table.name == "meta" and old["name"] not in NOTES_OF_PLACES
        ):
            new, kinds = text_scan.clean_row(table, old, clean)
            if kinds:
                text_scan.write_row(
                    db, table, old, {**new, "name": old["name"]} if table.name == "meta" else new
                )


def iter_repeating_rows(
    db: sqlite3.Connection, texts: Collection[str], tables: Collection[str]
) -> Iterator[tuple[text_scan.TextTable, dict[str, Any]]]:
    """The rows of these tables that may hold one of the texts."""
    holds = build_prefilter((), texts).holds
    for table in text_scan.TEXT_TABLES:
        if table.name in tables:
            yield from (
                (table, old)
                for old in text_scan.read_text_rows(db, table)
                if any(holds(value) for value in old.values() if isinstance(value, str))
            )


def find_repeating_ids(db: sqlite3.Connection, texts: Collection[str]) -> set[str]:
    """The ids of memories that hold one of the texts, or have held it, in whatever field.

    A short one is their text or their title: as a tag, say, it stands there by chance.
    """
    said = {text for one in texts if (text := strip_sentence_end(one))}
    every, long = (
        PassageEraser(said),
        PassageEraser([text for text in said if is_distinctive(text)]),
    )
    found = set()
    for table, row in iter_repeating_rows(db, said, ("memory", "change")):
        kept = (
            [row]
            if table.name == "memory"
            else [json.loads(row[when]) for when in ("before", "after") if row[when]]
        )
        if (
            any(
                every.scrub_text(value)[1]
                for values in kept
                for name in TEXT_FIELDS
                if isinstance(value := values.get(name), str)
            )
            or text_scan.clean_row(table, row, long)[1]
        ):
            found.add(row[table.named])
    return found


def build_prefilter(ids: Iterable[str], texts: Collection[str]) -> TextPrefilter:
    """What tells whether something written may hold one of the ids or texts."""
    written = {
        form for text in texts for form in (first_whole_words(text), *list_written_forms(text))
    }
    return TextPrefilter(
        [*((id.lower(), id) for id in ids), *((longest_word(form), form) for form in written)]
    )


def blank_sources(db: sqlite3.Connection, ids: Sequence[str], texts: Collection[str]) -> None:
    """Take what says the same out of the turns that the memories were learned from, and texts out
    of their causes.
    """
    clean = PassageEraser(texts)
    sources = set()
    for some in split_batches(ids):
        for seq, verb, payload in db.execute(
            OWN_EVENTS.format(ids=sql_placeholders(some)), some
        ).fetchall():
            if verb == "learn":
                sources.add(json.loads(payload).get("event"))
            rewrite_payload(db, seq, payload, lambda value: map_strings(value, clean.without))
    for source in sources:
        row = db.execute("select payload from event where seq = ?", (source,)).fetchone()
        if row and row[0]:
            rewrite_payload(
                db,
                source,
                row[0],
                lambda value: map_strings(value, partial(blank_sentences, clean, texts)),
            )


def rewrite_payload(
    db: sqlite3.Connection, seq: int, payload: str, clean: Callable[[Any], Any]
) -> None:
    """A payload as `clean` makes it, written if it is another one. What is no JSON is emptied."""
    try:
        value = json.loads(payload)
    except ValueError:
        db.execute("update event set payload = null where seq = ?", (seq,))
        return
    cleaned = clean(value)
    if cleaned != value:
        db.execute("update event set payload = ? where seq = ?", (to_json(cleaned), seq))


def blank_value(value: Any, *, ids: TextPrefilter, texts: PassageEraser) -> Any:
    """A value without ids and texts: in lists ids are left out, elsewhere they are blanked like
    texts.
    """
    again = partial(blank_value, ids=ids, texts=texts)
    if isinstance(value, dict):
        return {
            name: inner if is_kept_field(name, inner) else again(inner)
            for name, inner in value.items()
            if name not in ids.within(name)
        }
    if isinstance(value, list):
        return [
            again(inner)
            for inner in value
            if not (isinstance(inner, str) and inner in ids.within(inner))
        ]
    if not isinstance(value, str):
        return value
    for id in ids.within(value):
        value = value.replace(id, PURGED)
    return texts.scrub_text(value)[0]


# Other memories


def forget_ids(db: sqlite3.Connection, ids: Collection[str]) -> None:
    """Take ids that are purged out of the other memories and their history, which can still be
    undone.
    """
    db.executemany(
        "update memory set superseded_by = null where superseded_by = ?", [(id,) for id in ids]
    )
    gone = TextPrefilter((id.lower(), id) for id in ids)
    for num, others in db.execute(
        "select num, conflicts_with from memory where conflicts_with <> '[]'"
    ).fetchall():
        if gone.holds(others):
            left = tuple(other for other in json.loads(others) if other not in ids)
            db.execute(
                "update memory set conflicts_with = ? where num = ?",
                (to_column("conflicts_with", left), num),
            )
    for memory, seq, place, op, *texts in db.execute(
        "select memory, seq, place, op, before, after from change"
    ).fetchall():
        named = {id for text in texts if text for id in gone.within(text)}
        key = (memory, seq, place)
        if named and op == "link":
            db.execute("delete from change where memory = ? and seq = ? and place = ?", key)
        elif named:
            db.execute(FORGET_CHANGE, (*(drop_naming_values(text, named) for text in texts), *key))


def drop_naming_values(text: str | None, ids: Collection[str]) -> str | None:
    """Kept values without those that name one of these."""
    values = json.loads(text) if text else {}
    return (
        to_json(
            {
                name: value
                for name, value in values.items()
                if not any(id in to_json(value) for id in ids)
            }
        )
        if values
        else None
    )
