"""Erasing memories for good: words, vectors, edges, history, and wherever an event repeats them.

What is taken out is the same as in the embedded backend (`purge_texts`, `erased_texts`): the
passage that holds a text which a memory ever had becomes "[purged]"; a text of a word or two only
where it is a whole value; in the turn that a memory was learned from every sentence that says the
same. Memories that only record what was said and done are blanked as events are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from reverie.core.doubt import DOUBT
from reverie.core.kinds import RECORD_KINDS
from reverie.storage.erased_texts import TextPrefilter
from reverie.storage.postgres import text_scan
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.sealed_rows import seal_rows
from reverie.storage.postgres.write_changes import bump_generation, clean_json, delete_memories
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

MEMORY_TEXTS = """
    select id, num, text, title from memory where tenant = %(tenant)s and id = any(%(ids)s)
"""
PAST_TEXTS = """
    select before, after from change
    where tenant = %(tenant)s and memory = any(%(ids)s) and op <> 'link'
"""
OWN_EVENTS = """
    select seq, verb, payload from event
    where tenant = %(tenant)s and payload is not null
      and seq in (select seq from change where tenant = %(tenant)s and memory = any(%(ids)s))
"""
HOLDING_EVENTS = """
    select seq, payload from event
    where tenant = %(tenant)s and seq > %(after)s and payload is not null and {held}
"""
PAYLOAD = "select payload from event where tenant = %(tenant)s and seq = %(seq)s"
SET_PAYLOAD = """
    update event set payload = %(payload)s where tenant = %(tenant)s and seq = %(seq)s
"""
RECORDS = "select id from memory where tenant = %(tenant)s and kind = any(%(kinds)s)"
NAMING_MEMORIES = """
    select num, superseded_by, conflicts_with, details from memory
    where tenant = %(tenant)s
      and (superseded_by is not null or conflicts_with is not null
           or position(%(doubt)s in details) > 0)
"""
CHANGED_SINCE = """
      and id in (select memory from change where tenant = %(tenant)s and seq > %(after)s)
"""
NAMING_CHANGES = """
    select memory, seq, place from change
    where tenant = %(tenant)s and seq > %(after)s and {held}
"""
OF_CHANGE = (
    "where tenant = %(tenant)s and memory = %(memory)s and seq = %(seq)s and place = %(place)s"
)


def find_repeat_places(
    db: TenantConnection, ids: Collection[str], more: Collection[str] = ()
) -> RepeatPlaces:
    """Where these memories, their texts and those of `more` stand in the whole store."""
    _, texts = collect_texts(db, ids, more)
    last = "select coalesce(max(seq), 0) from event where tenant = %(tenant)s"
    return RepeatPlaces(
        db.fetch_value(last),
        frozenset(ids),
        frozenset(texts),
        tuple(list_holding_events(db, ids, texts)),
        tuple(list_naming_memories(db, ids)),
        tuple(list_naming_changes(db, ids)),
    )


def erase_memories(
    db: TenantConnection,
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
    if numbers:
        delete_memories(db, numbers)
        forget_ids(db, found, numbers.keys())
    bump_generation(db)
    return len(numbers)


def collect_texts(
    db: TenantConnection, ids: Iterable[str], more: Iterable[str]
) -> tuple[dict[str, int], set[str]]:
    """(the numbers of memories by id, every text that any of them ever had and those of `more`)."""
    numbers: dict[str, int] = {}
    texts = clean_texts(more)
    wanted = list(dict.fromkeys(ids))
    for id, num, *said in db.fetch_rows(MEMORY_TEXTS, ids=wanted):
        numbers[id] = num
        texts |= clean_texts(said)
    for versions in db.fetch_rows(PAST_TEXTS, ids=list(numbers)):
        for version in filter(None, versions):
            texts |= clean_texts(list_said(json.loads(version)))
    return numbers, texts


# Events


def list_holding_events(
    db: TenantConnection, ids: Collection[str], texts: Collection[str], after: int = 0
) -> Iterator[int]:
    """The numbers of events that may hold one of the ids or texts."""
    prefilter = build_prefilter(ids, texts)
    needles = prefilter.find_needles()
    sql = HOLDING_EVENTS.format(held=text_scan.sql_holds(["payload"], needles))
    rows = db.fetch_rows(sql, after=after, patterns=text_scan.to_patterns(needles))
    return select_holding_events(rows, prefilter)


def blank_events(
    db: TenantConnection,
    found: RepeatPlaces,
    ids: Collection[str],
    texts: Collection[str],
) -> None:
    """Blank texts and ids in all events that hold them."""
    clean = build_event_cleaner(ids, texts)
    for seq in (*found.events, *list_holding_events(db, ids, texts, found.seq)):
        payload = db.fetch_value(PAYLOAD, seq=seq)
        if payload is not None:
            rewrite_payload(db, seq, payload, clean)


def blank_sources(db: TenantConnection, ids: list[str], texts: Collection[str]) -> None:
    """Blank texts in the events that made the memories, and what says the same in their sources.

    The sources are the turns that the memories were learned from.
    """
    clean = build_source_cleaners(texts)
    sources = set()
    for seq, verb, payload in db.fetch_rows(OWN_EVENTS, ids=ids):
        if verb == "learn":
            sources.add(json.loads(payload).get("event"))
        rewrite_payload(db, seq, payload, clean.own)
    for source in sources - {None}:
        payload = db.fetch_value(PAYLOAD, seq=source)
        if payload:
            rewrite_payload(db, source, payload, clean.source)


def rewrite_payload(
    db: TenantConnection,
    seq: int,
    payload: str,
    clean: CleanValue,
) -> None:
    """Write a payload as `clean` makes it, if that differs. What is no JSON is emptied."""
    cleaned = clean_payload(payload, clean)
    if cleaned is None:
        return
    written = None if cleaned.written is None else clean_json(cleaned.written)
    db.run(SET_PAYLOAD, seq=seq, payload=written)
    seal_rows(db, EVENT, [seq])


# Records of what was said and done


def blank_records(db: TenantConnection, ids: Collection[str], texts: Collection[str]) -> None:
    """Blank texts in memories that only record what was said and done, and in notes in `meta`.

    What the user told us to remember elsewhere is another memory, and stays; so do the notes that
    only say where something is.
    """
    records = {id for (id,) in db.fetch_rows(RECORDS, kinds=list(RECORD_KINDS))}
    conditions = {
        "memory": f"kind in ({RECORD_KINDS_LISTED})",
        "change": "memory in (select id from memory "
        f"where tenant = %(tenant)s and kind in ({RECORD_KINDS_LISTED}))",
        "meta": "true",
    }
    read_rows = partial(text_scan.read_text_rows, db)
    rows = select_repeating_rows(read_rows, texts, conditions)
    for table, old, new in plan_blanked_records(rows, records - {*ids}, texts):
        text_scan.write_row(db, table, old, new)


def find_repeating_ids(db: TenantConnection, texts: Collection[str]) -> set[str]:
    """The ids of memories that hold one of the texts, or held it once, in any field."""
    erased = clean_texts(texts)
    read_rows = partial(text_scan.read_text_rows, db)
    rows = select_repeating_rows(read_rows, erased, {"memory": "true", "change": "true"})
    return collect_repeating_ids(rows, erased)


# Other memories


def list_naming_memories(
    db: TenantConnection, ids: Collection[str], after: int = 0
) -> Iterator[int]:
    """The numbers of memories that name one of the ids: what took their place, what contradicts
    them, what they are in doubt for.
    """
    erased = build_id_filter(ids)
    sql = NAMING_MEMORIES + (CHANGED_SINCE if after else "")
    for num, *named in db.fetch_rows(sql, doubt=f'"{DOUBT}"', after=after):
        if any(erased.may_match_json(one) for one in named if one):
            yield num


def list_naming_changes(
    db: TenantConnection, ids: Collection[str], after: int = 0
) -> Iterator[tuple[str, int, int]]:
    """The keys of changes that may name one of the ids."""
    needles = build_id_filter(ids).find_needles()
    sql = NAMING_CHANGES.format(held=text_scan.sql_holds(["before", "after"], needles))
    yield from db.fetch_rows(sql, after=after, patterns=text_scan.to_patterns(needles))


def forget_ids(db: TenantConnection, found: RepeatPlaces, ids: Collection[str]) -> None:
    """Take erased ids out of the other memories and their history, which can still be undone."""
    erased = build_id_filter(ids)
    for num in {*found.memories, *list_naming_memories(db, ids, found.seq)}:
        forget_in_memory(db, num, erased, ids)
    for memory, seq, place in {*found.changes, *list_naming_changes(db, ids, found.seq)}:
        key = {"memory": memory, "seq": seq, "place": place}
        row = db.run(f"select op, before, after from change {OF_CHANGE}", **key).fetchone()
        op, *versions = row or ("",)
        forgotten = plan_forgotten_change(op, versions, erased)
        if forgotten and forgotten.is_dropped:
            db.run(f"delete from change {OF_CHANGE}", **key)
        elif forgotten:
            db.run(
                f"update change set before = %(before)s, after = %(after)s {OF_CHANGE}",
                before=forgotten.before,
                after=forgotten.after,
                **key,
            )


def forget_in_memory(
    db: TenantConnection, num: int, erased: TextPrefilter, ids: Collection[str]
) -> None:
    """Take erased ids out of one memory; of its details what quotes one that it rested on."""
    where = "where tenant = %(tenant)s and num = %(num)s"
    sql = f"select superseded_by, conflicts_with, details from memory {where}"
    row = db.run(sql, num=num).fetchone()
    if row is None:
        return
    successor, others, written = row
    left = plan_forgotten_fields(successor, others, written, erased, ids)
    for name, value in left.items():
        db.run(f"update memory set {name} = %(value)s {where}", num=num, value=value)
    if left:
        seal_rows(db, MEMORY, [num])
