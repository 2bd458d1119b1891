"""What a purge takes out of events, records and other memories: decided here, the same for every
backend, and written by each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from reverie.storage.erased_texts import (
    PURGED,
    PassageEraser,
    TextPrefilter,
    first_whole_words,
    is_kept_field,
    list_written_forms,
    longest_word,
    strip_sentence_end,
)
from reverie.storage.row_codec import to_json

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
