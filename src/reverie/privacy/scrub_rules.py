"""What a scrub takes out of what is stored: secrets by today's rules, or texts that somebody names.

A `Cleaner` gives every value back as it should stand, and the kinds of what it took out, once for
each time. It is pure: the same string becomes the same string wherever it stands, so that names
which point to each other still do. Cleaning twice changes nothing more.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any
from urllib.parse import quote

from reverie.core.errors import BadInput
from reverie.core.kinds import GROUPS
from reverie.core.model import OWN_VERBS, RELATIONS, TRUST, Event, Memory
from reverie.core.privacy_policy import USUAL, Policy
from reverie.privacy import JSON, redact, redact_value

GIVEN = "given"  # the kind of a text that somebody named
GONE = f"[REDACTED:{GIVEN}]"
NAME = re.compile(r"[a-z_]{1,24}")  # in written JSON, the name of a field of ours: it stays
SHORTEST = 6  # characters of such a text: a shorter one stands in unrelated words
OWN = frozenset(
    (
        *Memory._fields,
        *Event._fields,
        *OWN_VERBS,
        *RELATIONS,
        *TRUST,
        "messages",
        "message",
        "payload",
        "content",
        "assistant",
        "system",
        "redacted",
        GIVEN,
        "arguments",
        "output",
        "result",
        "sessions",
        "reverie mirror",
        "reverie-memory",
        "what reverie remembers in",
        "memory.md",
        *(group.lower() for group in GROUPS),
    )
)

Kinds = tuple[str, ...]


class Cleaner:
    """Takes out what today's rules and the policy know; with `texts`, these and nothing else, in
    any letter case.
    """

    def __init__(self, texts: tuple[str, ...] = (), policy: Policy = USUAL) -> None:
        self.policy = policy.masking
        self.texts = tuple(
            sorted({checked(text) for text in texts}, key=lambda text: (-len(text), text))
        )

    def text(self, text: str) -> tuple[str, Kinds]:
        """A text as it should stand; the same object where there is nothing to take out."""
        if not self.texts:
            clean, marks = redact(text, self.policy)
            return clean, tuple(mark.kind for mark in marks)
        clean, times = self._passage.subn(GONE, text)
        return (clean, (GIVEN,) * times) if times else (text, ())

    def value(self, value: JSON) -> tuple[JSON, Kinds]:
        """A value of JSON as it should stand, however deep."""
        if not self.texts:
            clean, marks = redact_value(value, self.policy)
            return clean, tuple(mark.kind for mark in marks)
        kinds: list[str] = []
        return self._within(value, kinds), tuple(kinds)

    @cached_property
    def _passage(self) -> re.Pattern[str]:
        """The texts as they are, as JSON writes them, and as an address does."""
        forms = {
            form
            for text in self.texts
            for form in (text, json.dumps(text)[1:-1], quote(text, safe=""))
        }
        return re.compile(
            "|".join(map(re.escape, sorted(forms, key=lambda form: (-len(form), form)))),
            re.IGNORECASE,
        )

    def _within(self, value: Any, kinds: list[str]) -> Any:
        if isinstance(value, dict):
            return {
                name if NAME.fullmatch(name) else self._within(name, kinds): self._within(
                    inner, kinds
                )
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._within(inner, kinds) for inner in value]
        written = value if isinstance(value, str) else str(value)
        if isinstance(value, bool) or value is None:
            return value
        clean, found = self.text(written)
        kinds += found
        return clean if found else value


def checked(text: str) -> str:
    """A text that can be looked for everywhere without tearing what is not meant. The message never
    repeats it.
    """
    text = text.strip()
    if len(text) < SHORTEST:
        raise BadInput(
            f"The text to scrub has fewer than {SHORTEST} characters, so it stands in unrelated words too. "
            "Use reverie revise on the memories that hold it"
        )
    if any(text.lower() in name for name in OWN) or text.lower() in GONE.lower():
        raise BadInput(
            "The text to scrub is a word that Reverie itself uses in what it stores, so it cannot be taken "
            "out everywhere. Use reverie revise on the memories that hold it"
        )
    return text
