"""What a purge takes out of events, records and other memories: decided here, the same for every
backend, and written by each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from reverie.core.doubt import DOUBT
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
from reverie.storage.row_codec import to_column, to_json
from reverie.storage.text_tables import TEXT_TABLES, TextTable, clean_row

TEXT_FIELDS = ("text", "title")
# Where an event names what it gave: in "turn", and in "prepared".
GIVEN_IDS = ("given", "ids")
# Values in `meta` that only say where something is.
NOTES_OF_PLACES = (
    "anchored",
    "home_copied",
    "home_place",
    "mirror_roots",
    "mirror_spaces",
    "shares",
)


# As a list in SQL.
RECORD_KINDS_LISTED = ", ".join(f"'{kind}'" for kind in sorted(RECORD_KINDS))

CleanValue = Callable[[Any], Any]
"""A JSON value as it is to be written."""
RepeatingRows = Iterable[tuple[TextTable, dict[str, Any]]]


class ReadRows(Protocol):
    """How a backend reads rows."""

    def __call__(
        self, table: TextTable, *, needles: Sequence[str] | None, only: str
    ) -> Iterable[dict[str, Any]]:
        """The rows of a table that hold one of the needles (any, without) and meet `only`, a
        condition in SQL.
        """


class SourceCleaners(NamedTuple):
    """How events are cleaned that memories came from."""

    own: CleanValue  # of those that made them
    source: CleanValue  # of the turns that they were learned from


class CleanedPayload(NamedTuple):
    """The payload of an event as it is to be written; None empties it."""

    written: str | None


class BlankedRow(NamedTuple):
    """A row as it is, and as it is to be written."""

    table: TextTable
    old: dict[str, Any]
    new: dict[str, Any]


class ForgottenChange(NamedTuple):
    """What becomes of a change that names what is erased: it goes, or keeps these values."""

    is_dropped: bool
    before: str | None = None
    after: str | None = None


class RepeatPlaces(NamedTuple):
    """Where ids and texts stand that are to be erased, as of the event `seq`.

    Finding them takes as long as reading the whole store, and needs no transaction: within one,
    only what was written since is looked through.
    """

    seq: int
    ids: frozenset[str]
    texts: frozenset[str]
    events: tuple[int, ...]
    memories: tuple[int, ...]  # that name one of the ids
    changes: tuple[tuple[str, int, int], ...]

    def covers(self, ids: Collection[str], texts: Collection[str]) -> bool:
        """True if all of these were looked for."""
        return self.ids.issuperset(ids) and self.texts.issuperset(texts)


def clean_texts(texts: Iterable[str]) -> set[str]:
    """The different texts without their closing punctuation; empty ones are left out."""
    return {strip_sentence_end(text) for text in texts} - {""}


def list_said(values: Mapping[str, Any]) -> list[str]:
    """The text and the title among a memory's values."""
    said = (values.get(name) for name in TEXT_FIELDS)
    return [text for text in said if isinstance(text, str)]


def build_prefilter(ids: Iterable[str], texts: Collection[str]) -> TextPrefilter:
    """A test whether something written may hold one of the ids or texts."""
    forms: set[str] = set()
    for text in texts:
        forms.update((first_whole_words(text), *list_written_forms(text)))
    words = [(id.lower(), id) for id in ids]
    words += [(longest_word(form), form) for form in forms]
    return TextPrefilter(words)


def blank_value(
    value: Any,
    *,
    ids: TextPrefilter,
    texts: PassageEraser,
) -> Any:
    """A JSON value without ids and texts.

    Ids are left out of lists and of the keys of mappings, and blanked within other strings.
    """
    blank_inner = partial(
        blank_value,
        ids=ids,
        texts=texts,
    )

    def is_id(text: Any) -> bool:
        return isinstance(text, str) and text in ids.find_candidates(text)

    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if not is_id(name)}
        kept |= keep_reasons(kept, is_id)
        for name, inner in kept.items():
            if not is_kept_field(name, inner):
                kept[name] = blank_inner(inner)
        return kept
    if isinstance(value, list):
        return [blank_inner(inner) for inner in value if not is_id(inner)]
    if not isinstance(value, str):
        return value
    for id in ids.find_candidates(value):
        value = value.replace(id, PURGED)
    return texts.scrub_text(value)[0]


def keep_reasons(payload: Mapping[str, Any], is_gone: Callable[[Any], bool]) -> dict[str, Any]:
    """The reasons of an event that gave memories, without those for what is erased: they stand in
    the order of its ids, and may quote a trigger.
    """
    why = payload.get("why")
    for name in GIVEN_IDS:
        ids = payload.get(name)
        if isinstance(ids, list) and isinstance(why, list) and len(ids) == len(why):
            return {"why": [one for id, one in zip(ids, why, strict=True) if not is_gone(id)]}
    return {}


def drop_naming_values(text: str | None, ids: Collection[str]) -> str | None:
    """Values of a change, as JSON, without those that contain one of these ids."""
    values = json.loads(text) if text else {}
    if not values:
        return None
    left = {}
    for name, value in values.items():
        written = to_json(value)
        if not any(id in written for id in ids):
            left[name] = value
    return to_json(left)


def build_id_filter(ids: Iterable[str]) -> TextPrefilter:
    """A test which of these ids something written names."""
    return TextPrefilter((id.lower(), id) for id in ids)


def build_event_cleaner(ids: Iterable[str], texts: Collection[str]) -> CleanValue:
    """How an event is cleaned that may hold one of these ids or texts."""
    return partial(blank_value, ids=build_id_filter(ids), texts=PassageEraser(texts))


def build_source_cleaners(texts: Collection[str]) -> SourceCleaners:
    """How the events are cleaned that memories with these texts came from: where it is known that
    a text stands, every sentence goes that says the same.
    """
    clean = PassageEraser(texts)
    return SourceCleaners(
        partial(map_strings, clean=clean.blank_passages),
        partial(map_strings, clean=partial(blank_sentences, clean, texts)),
    )


def clean_payload(payload: str, clean: CleanValue) -> CleanedPayload | None:
    """A payload as `clean` makes it; None if that is the same. What is no JSON is emptied."""
    try:
        value = json.loads(payload)
    except ValueError:
        return CleanedPayload(None)
    cleaned = clean(value)
    if cleaned == value:
        return None
    return CleanedPayload(None if cleaned is None else to_json(cleaned))


def select_holding_events(
    rows: Iterable[tuple[int, str]], prefilter: TextPrefilter
) -> Iterator[int]:
    """The numbers of those events, as (number, payload), that may hold what is looked for."""
    for seq, payload in rows:
        # Nearly every payload fails this test, and parsing them all would take far longer.
        if prefilter.may_match_json(payload):
            yield seq


def select_repeating_rows(
    read_rows: ReadRows, texts: Collection[str], conditions: Mapping[str, str]
) -> Iterator[tuple[TextTable, dict[str, Any]]]:
    """The rows that may hold one of the texts, of the tables that have a condition, and meet it."""
    prefilter = build_prefilter((), texts)
    needles = prefilter.find_needles()
    for table in TEXT_TABLES:
        if table.name not in conditions:
            continue
        for row in read_rows(table, needles=needles, only=conditions[table.name]):
            strings = (value for value in row.values() if isinstance(value, str))
            if any(map(prefilter.may_match_json, strings)):
                yield table, row


def plan_blanked_records(
    rows: RepeatingRows, records: Collection[str], texts: Collection[str]
) -> Iterator[BlankedRow]:
    """The rows of memories that only record what was said and done (`records`), and of notes in
    `meta`, without the texts.

    What the user told us to remember elsewhere is another memory, and stays; so do the notes that
    only say where something is.
    """
    clean = PassageEraser(texts)
    for table, old in rows:
        is_note = table.name == "meta" and old["name"] not in NOTES_OF_PLACES
        if old[table.named] not in records and not is_note:
            continue
        new, kinds = clean_row(table, old, clean)
        if is_note:
            new["name"] = old["name"]
        if kinds:
            yield BlankedRow(table, old, new)


def collect_repeating_ids(rows: RepeatingRows, texts: Collection[str]) -> set[str]:
    """The ids of memories of which one of these rows holds one of the texts, or held it once.

    A short text counts only as their text or title: as a tag, say, it is there by chance.
    """
    # Two erasers: of a short text only what was said counts, of a long one every field.
    every = PassageEraser(texts)
    distinctive = PassageEraser([text for text in texts if is_distinctive(text)])
    found = set()
    for table, row in rows:
        if table.name == "memory":
            versions = [row]
        else:
            written = filter(None, (row["before"], row["after"]))
            versions = [json.loads(version) for version in written]
        said = [text for version in versions for text in list_said(version)]
        says_it = any(every.scrub_text(text)[1] for text in said)
        if says_it or clean_row(table, row, distinctive)[1]:
            found.add(row[table.named])
    return found


def plan_forgotten_change(
    op: str, versions: Sequence[str | None], erased: TextPrefilter
) -> ForgottenChange | None:
    """What becomes of a change with the values before and after it; None if it names no id."""
    named: set[str] = set()
    for version in filter(None, versions):
        named.update(erased.find_candidates(version))
    if not named:
        return None
    # An edge to what is erased cannot come back, so there is nothing to undo.
    if op == "link":
        return ForgottenChange(is_dropped=True)
    before, after = (drop_naming_values(version, named) for version in versions)
    return ForgottenChange(False, before, after)


def plan_forgotten_fields(
    successor: str | None,
    others: str | None,
    written: str | None,
    erased: TextPrefilter,
    ids: Collection[str],
) -> dict[str, Any]:
    """The columns of a memory that are to be written so that it names no erased id: what took its
    place, what contradicts it, and of its details what quotes one that it rested on.
    """
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
    return left
