"""What a scrub takes out of what is stored: secrets by today's rules, or texts that somebody names.

A `TextScrubber` gives every value back as it should stand, and the kinds of what it took out, once
for each time. It is pure: the same string becomes the same string wherever it stands, so that names
which point to each other still do. Scrubbing twice changes nothing more.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any
from urllib.parse import quote

from reverie.core.errors import BadInput
from reverie.core.kinds import GROUPS
from reverie.core.model import OWN_VERBS, RELATIONS, TRUST_BY_PROVENANCE, Event, Memory
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.privacy import JSON, redact, redact_value

GIVEN_KIND = "given"  # the kind of a text that somebody named
GIVEN_MARK = f"[REDACTED:{GIVEN_KIND}]"
FIELD_NAME = re.compile(r"[a-z_]{1,24}")
MIN_TEXT_CHARS = 6  # a shorter text stands in unrelated words
_STORED_WORDS = """
messages message payload content assistant system redacted arguments output result sessions
reverie-memory memory.md
"""
# What Reverie itself writes into what it stores.
# Without them it could not read its own store any more.
RESERVED_WORDS = frozenset(
    (
        *Memory._fields,
        *Event._fields,
        *OWN_VERBS,
        *RELATIONS,
        *TRUST_BY_PROVENANCE,
        *_STORED_WORDS.split(),
        "reverie mirror",
        "what reverie remembers in",
        GIVEN_KIND,
        *(group.lower() for group in GROUPS),
    )
)

RedactedKinds = tuple[str, ...]


class TextScrubber:
    """Takes out what today's rules and the policy know; with `texts`, these and nothing else.

    The case of letters makes no difference.
    """

    def __init__(
        self,
        texts: tuple[str, ...] = (),
        policy: Policy = DEFAULT_POLICY,
    ) -> None:
        self.policy = policy.masking
        # The longest first: an expression takes the first alternative that matches.
        checked = set(map(check_scrub_text, texts))
        self.texts = tuple(sorted(checked, key=_longest_first))

    def scrub_text(self, text: str) -> tuple[str, RedactedKinds]:
        """A text as it should stand; the same object where there is nothing to take out."""
        if not self.texts:
            clean, marks = redact(text, self.policy)
            return clean, tuple(mark.kind for mark in marks)
        clean, times = self._passage.subn(GIVEN_MARK, text)
        return (clean, (GIVEN_KIND,) * times) if times else (text, ())

    def scrub_value(self, value: JSON) -> tuple[JSON, RedactedKinds]:
        """A JSON value as it should stand, however deep."""
        if not self.texts:
            clean, marks = redact_value(value, self.policy)
            return clean, tuple(mark.kind for mark in marks)
        kinds: list[str] = []
        return self._within(value, kinds), tuple(kinds)

    @cached_property
    def _passage(self) -> re.Pattern[str]:
        """The texts as they are, as JSON writes them, and as an address does."""
        forms: set[str] = set()
        for text in self.texts:
            in_json = json.dumps(text)[1:-1]
            forms |= {text, in_json, quote(text, safe="")}
        ordered = sorted(forms, key=_longest_first)
        return re.compile(
            "|".join(map(re.escape, ordered)),
            re.IGNORECASE,
        )

    def _within(self, value: Any, kinds: list[str]) -> Any:
        if isinstance(value, dict):
            cleaned = {}
            for name, inner in value.items():
                # In written JSON, the name of a field of ours stays.
                key = name if FIELD_NAME.fullmatch(name) else self._within(name, kinds)
                cleaned[key] = self._within(inner, kinds)
            return cleaned
        if isinstance(value, list):
            return [self._within(inner, kinds) for inner in value]
        if isinstance(value, bool) or value is None:
            return value
        # A number may be what was named: a customer's, say.
        clean, found = self.scrub_text(value if isinstance(value, str) else str(value))
        kinds += found
        return clean if found else value


def _longest_first(text: str) -> tuple[int, str]:
    return (-len(text), text)


def check_scrub_text(text: str) -> str:
    """The text without spaces around it; BadInput if it cannot be taken out everywhere.

    That is if it would tear what is not meant. The message never repeats the text.
    """
    text = text.strip()
    if len(text) < MIN_TEXT_CHARS:
        raise BadInput(
            f"The text to scrub has fewer than {MIN_TEXT_CHARS} characters, so it stands in "
            f"unrelated words too. "
            "Use reverie edit on the memories that hold it"
        )
    lower = text.lower()
    if any(lower in name for name in (*RESERVED_WORDS, GIVEN_MARK.lower())):
        raise BadInput(
            "The text to scrub is a word that Reverie itself uses in what it stores, so it cannot "
            "be taken "
            "out everywhere. Use reverie edit on the memories that hold it"
        )
    return text
