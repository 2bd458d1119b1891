"""Erasing memories for good: with their words, vectors, edges and history, and wherever an event repeats them.

An event is blanked, not emptied: the passage that holds a text that a memory ever had becomes "[purged]", whatever its
letter case and white space, and the rest of what was said stays to be learned from. A text of a word or two stands
in many a turn by chance, so it is only blanked where it is the whole of a value. Of a long text an event may keep only
the beginning, at the end of a value: that goes too. The turn that a memory was learned
from is known, so there every sentence that says the same is blanked.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

from reverie.store.sqlite.read import BATCH, marks
from reverie.store.sqlite.rows import to_column, to_json
from reverie.store.sqlite.write import DELETE_PENDING, bump
from reverie.words import folded

PURGED = "[purged]"
CHANCE = 20          # characters; a shorter text may stand in an unrelated event by chance
SAME = 0.7           # of a text's words in a sentence of its source: it says the same
SPOKEN = ("text", "title")
KEPT = ("role",)     # without it a turn could not be learned from

Beginning = tuple[re.Pattern[str], str]    # finds how a text begins; the whole text, folded

OWN_EVENTS = """
    select e.seq, e.verb, e.payload from event e
    where e.payload is not null and e.seq in (select seq from change where memory in ({ids}))
"""
NAMING = """
    select memory, seq, place, op, before, after from change
    where instr(before, :id) > 0 or instr(after, :id) > 0
"""
FORGET_CHANGE = "update change set before = ?, after = ? where memory = ? and seq = ? and place = ?"




def purge(db: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Erase memories and everything that repeats their text. No history is kept: that is the point."""
    there = {id: num for id in dict.fromkeys(ids)
             if (num := number(db, id)) is not None}
    if not there:
        return 0
    texts = {text for id in there for text in ever(db, id)}
    blank_sources(db, list(there), texts)
    blank_events(db, set(there), texts)
    for id, num in there.items():
        db.execute("delete from change where memory = ?", (id,))
        unname(db, id)
        db.execute("delete from edge where src = ? or dst = ?", (id, id))
        for sql in ("delete from vector where memory = ?", DELETE_PENDING, "delete from words where rowid = ?",
                    "delete from memory where num = ?"):
            db.execute(sql, (num,))
    db.execute("insert into words (words) values ('optimize')")    # deleted words leave the index's segments
    bump(db)
    return len(there)


def number(db: sqlite3.Connection, id: str) -> int | None:
    """The number of a memory's row."""
    row = db.execute("select num from memory where id = ?", (id,)).fetchone()
    return row[0] if row else None


def ever(db: sqlite3.Connection, id: str) -> set[str]:
    """All texts and titles that a memory ever had."""
    found = set(db.execute("select text, title from memory where id = ?", (id,)).fetchone())
    for kept in db.execute("select before, after from change where memory = ? and op <> 'link'", (id,)):
        for values in (json.loads(text) for text in kept if text):
            found.update(value for name in SPOKEN if isinstance(value := values.get(name), str))
    return {bare for text in found if (bare := text.strip().rstrip(".!?…。"))}


# Events


def blank_events(db: sqlite3.Connection, ids: Collection[str], texts: Collection[str]) -> None:
    """Take texts and ids out of all events that hold them."""
    begun = [text for text in texts if len(text) > CHANCE]
    marks_of = [*ids, *filter(None, map(telling, (*texts, *(text[:CHANCE] for text in begun))))]
    odd = any(not telling(text) for text in texts)
    clean = partial(blanked, ids=ids, whole={folded(text) for text in texts},
                    passage=passages(text for text in texts if len(text) >= CHANCE), begun=beginnings(begun))
    for seq, payload in db.execute("select seq, payload from event where payload is not null").fetchall():
        lower = payload.lower()
        if odd or any(mark in lower for mark in marks_of):
            rewrite(db, seq, payload, clean)


def blank_sources(db: sqlite3.Connection, ids: Sequence[str], texts: Collection[str]) -> None:
    """Take what says the same out of the turns that the memories were learned from, and texts out of their causes."""
    passage = passages(texts)
    sources = set()
    for start in range(0, len(ids), BATCH):
        some = ids[start:start + BATCH]
        for seq, verb, payload in db.execute(OWN_EVENTS.format(ids=marks(some)), tuple(some)).fetchall():
            if verb == "learn":
                sources.add(json.loads(payload).get("event"))
            rewrite(db, seq, payload, lambda value: in_strings(value, partial(without_passage, passage)))
    for source in sources:
        row = db.execute("select payload from event where seq = ?", (source,)).fetchone()
        if row and row[0]:
            rewrite(db, source, row[0], lambda value: in_strings(value, partial(without_sentences, passage, texts)))


def rewrite(db: sqlite3.Connection, seq: int, payload: str, clean: Callable[[Any], Any]) -> None:
    """A payload as `clean` makes it, written if it is another one. What is no JSON is emptied."""
    try:
        value = json.loads(payload)
    except ValueError:
        db.execute("update event set payload = null where seq = ?", (seq,))
        return
    cleaned = clean(value)
    if cleaned != value:
        db.execute("update event set payload = ? where seq = ?", (to_json(cleaned), seq))


def blanked(value: Any, *, ids: Collection[str], whole: Collection[str], passage: re.Pattern[str] | None,
            begun: Sequence[Beginning]) -> Any:
    """A value without ids and texts: in lists ids are left out, elsewhere they are blanked like texts."""
    again = partial(blanked, ids=ids, whole=whole, passage=passage, begun=begun)
    if isinstance(value, dict):
        return {name: inner if name in KEPT else again(inner) for name, inner in value.items() if name not in ids}
    if isinstance(value, list):
        return [again(inner) for inner in value if not (isinstance(inner, str) and inner in ids)]
    if not isinstance(value, str):
        return value
    if folded(value.strip().rstrip(".!?…。")) in whole:
        return PURGED
    for id in ids:
        value = value.replace(id, PURGED)
    return without_beginning(begun, without_passage(passage, value))


def in_strings(value: Any, clean: Callable[[str], str]) -> Any:
    """A value with every string in it as `clean` makes it; names of fields stay."""
    if isinstance(value, dict):
        return {name: inner if name in KEPT else in_strings(inner, clean) for name, inner in value.items()}
    if isinstance(value, list):
        return [in_strings(inner, clean) for inner in value]
    return clean(value) if isinstance(value, str) else value


# Texts


def telling(text: str) -> str:
    """The longest word of a text, which every payload that repeats it holds; empty if it has none."""
    return max(re.findall(r"\w+", text.lower()), key=len, default="")


def passages(texts: Iterable[str]) -> re.Pattern[str] | None:
    """An expression for any of the texts, the longest first; None for no text."""
    forms = [r"\s+".join(map(re.escape, text.split())) for text in sorted(texts, key=lambda t: (-len(t), t))]
    # Whole words: "role" is not in "parole".
    return re.compile("|".join(rf"(?<!\w){form}(?!\w)" for form in forms), re.IGNORECASE) if forms else None


def without_passage(passage: re.Pattern[str] | None, text: str) -> str:
    """A text with the passages blanked."""
    return passage.sub(PURGED, text) if passage else text


def beginnings(texts: Iterable[str]) -> list[Beginning]:
    """How texts begin, and the whole of them."""
    return [(re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, text[:CHANCE].split())), re.IGNORECASE), folded(text))
            for text in texts]


def without_beginning(begun: Sequence[Beginning], text: str) -> str:
    """A text without the part at its end that begins one of the texts: it was cut there."""
    for start, whole in begun:
        for found in start.finditer(text):
            if whole.startswith(folded(text[found.start():]).rstrip("…. ")):
                return text[:found.start()] + PURGED
    return text


def without_sentences(passage: re.Pattern[str] | None, texts: Collection[str], said: str) -> str:
    """What was said without the passages and the sentences that say the same as one of the texts."""
    meant = [words for text in texts if len(words := set(re.findall(r"\w+", text.lower()))) > 2]
    parts = re.split(r"((?<=[.!?。！？])\s+|\n+)", without_passage(passage, said))
    return "".join(PURGED if any(same(words, part) for words in meant) else part for part in parts)


def same(words: set[str], sentence: str) -> bool:
    """Whether a sentence holds most of the words of a text."""
    return len(words & set(re.findall(r"\w+", sentence.lower()))) >= SAME * len(words)


# Other memories


def unname(db: sqlite3.Connection, id: str) -> None:
    """Take an id that is purged out of the other memories and their history, which can still be undone."""
    db.execute("update memory set superseded_by = null where superseded_by = ?", (id,))
    for num, others in db.execute("select num, conflicts_with from memory where instr(conflicts_with, ?) > 0",
                                  (id,)).fetchall():
        left = tuple(other for other in json.loads(others) if other != id)
        db.execute("update memory set conflicts_with = ? where num = ?", (to_column("conflicts_with", left), num))
    for memory, seq, place, op, *texts in db.execute(NAMING, {"id": id}).fetchall():
        key = (memory, seq, place)
        if op == "link":
            db.execute("delete from change where memory = ? and seq = ? and place = ?", key)
        else:
            db.execute(FORGET_CHANGE, (*(without(text, id) for text in texts), *key))


def without(text: str | None, id: str) -> str | None:
    """Kept values without those that name an id."""
    values = json.loads(text) if text else {}
    return to_json({name: value for name, value in values.items() if id not in to_json(value)}) if values else None
