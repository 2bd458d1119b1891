"""Who stands behind what a model asks to have remembered (X49).

A model that calls `remember` may have been told to by a page that it read. What it says of the source is therefore no
evidence; where its words stand is. They are looked for in what was said and read here during the last day:

- in the user's own sentences, what they pasted apart: then the user said so;
- in what others wrote, a paste, what a tool answered, a file that was read: then it is theirs, `untrusted`, if it would
  command (`kinds.Kind.voice`) or comes from outside, such as a web page. What an agent learns from its own commands it
  has seen itself, and may describe;
- in neither, though the user is known to have spoken: then a kind that is the user's alone (a preference, a correction,
  a prohibition) was concluded, and waits until it is met again or approved.

Where nobody tells us what the user says, as with an MCP client without hooks, nothing can be held against anything, and
what a model says is at most `observed`. Pure but for `lately`, which reads the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from reverie.kinds import ANYBODY, USER, kind_of
from reverie.lifecycle.experience import TOOL
from reverie.lifecycle.extract.words import parted, sentences, unquoted, words_of
from reverie.lifecycle.planted import planted
from reverie.lifecycle.untrusted import HEARD, PASTED
from reverie.model import UNTRUSTED, Event
from reverie.search.gate import stem
from reverie.store import Store
from reverie.words import query_terms

DAY = 86_400.0           # seconds that are looked back
EVENTS = 400             # newest turns and runs of tools
TEXT = 8_000             # characters of one answer
ENOUGH = 0.75            # share of a claim's words that a sentence, or two in a row, must hold to be where it stands
FEW = 3                  # words of which none may be missing

FRAME = frozenset(map(stem, (
    "user", "users", "prefer", "prefers", "preference", "want", "wants", "like", "likes", "ask", "asks", "asked",
    "said", "says", "should", "must", "always", "never", "remember", "please", "note", "don", "not", "stop", "avoid",
    "will", "told", "decided")))
"""What a model puts around somebody's words."""

_AGAINST = re.compile(r"\b(?:never|not|no|none|cannot|don'?t|doesn'?t|mustn'?t|shouldn'?t|isn'?t|stop|avoid|without|"
                      r"nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não|mai|никогда|не)\b|n't\b|不|别|勿|ない",
                      re.IGNORECASE)
_OUTSIDE = re.compile(r"web|fetch|search|browse|http|url|mcp__|mail|slack|issue|ticket|jira|notion|confluence",
                      re.IGNORECASE)
_REACHES = re.compile(r"\b(?:curl|wget|gh|glab|http|https|lynx|w3m)\b", re.IGNORECASE)


class Heard(NamedTuple):
    """Something that others wrote, and whether it came from outside of this machine's own work."""

    text: str
    outside: bool = True


class Lately(NamedTuple):
    """What was said and read here: each text as a list of sentences in a row."""

    said: tuple[Sequence[str], ...] = ()       # by the user, in their own words
    heard: tuple[tuple[Sequence[str], bool], ...] = ()     # by others, and whether from outside

    def __add__(self, other: tuple[Any, ...]) -> Lately:
        return Lately((*self.said, *other[0]), (*self.heard, *other[1]))


class Claim(NamedTuple):
    """As what something may be kept: its kind is asked for; `intake` decides what it becomes."""

    provenance: str
    why: str = ""            # for the model; "" where there is nothing to say

    @property
    def fields(self) -> dict[str, Any]:
        """What a memory that is kept on such a claim is given."""
        said = {"provenance": self.provenance}
        return {**said, "details": {HEARD: PASTED}} if self.provenance == UNTRUSTED else said


def lately(store: Store, space: str, now: float) -> Lately:
    """What was said and read in a space, above it and below it, during the last day."""
    events = store.happened(("turn", TOOL), space=space, since=now - DAY, until=now, limit=EVENTS)
    return told((message for event in events if event.verb == "turn" for message in spoken(event)),
                (heard for event in events if event.verb == TOOL for heard in answered(event)))


def told(said: Iterable[tuple[str, str]], heard: Iterable[Heard] = ()) -> Lately:
    """Messages (role, text) and answers of tools, by who wrote their sentences."""
    own: list[Sequence[str]] = []
    others: list[tuple[Sequence[str], bool]] = []
    for role, text in said:
        if role == "user":
            mine, theirs = parted(text)
            own.append(lines(unquoted(mine)))
            others.append((lines(f"{theirs}\n{' '.join(words_of(text).quoted)}"), True))
        elif role in ("tool", "function"):
            others.append((lines(text), True))
    others += [(lines(one.text), one.outside) for one in heard]
    return Lately(tuple(own), tuple(others))


def spoken(event: Event) -> Iterator[tuple[str, str]]:
    """The messages of a turn."""
    for message in event.payload.get("messages", ()):
        yield str(message.get("role", "")), str(message.get("text", ""))


def answered(event: Event) -> Iterator[Heard]:
    """What a run of a tool answered."""
    given = event.payload
    outside = bool(_OUTSIDE.search(str(given.get("tool", ""))) or _REACHES.search(str(given.get("command", ""))))
    for name in ("result", "error"):
        if given.get(name):
            yield Heard(str(given[name]), outside)


def lines(text: str) -> list[str]:
    """The sentences of a text, in order."""
    return [one for line in text[:TEXT].replace("\\n", "\n").splitlines() for one in sentences(line)]


def vouched(text: str, kind: str, known: Lately) -> Claim:
    """Who stands behind a text that a model asks to keep as a memory of this kind."""
    if any(stands(text, some, alike=True) for some in known.said):
        return Claim("user_stated")
    voice = kind_of(kind).voice
    if planted(text) or any(stands(text, some) for some, outside in known.heard if outside or voice != ANYBODY):
        return Claim(UNTRUSTED, "it stands in a text that others wrote, so it may describe and not command")
    if voice == USER and any(known.said):
        return Claim("inferred", "the user has not said it in these words, so it waits until it is met again or "
                                 "approved; keep it in the user's own words if they did")
    return Claim("observed")


def stands(text: str, some: Sequence[str], *, alike: bool = False) -> bool:
    """Whether a text stands in one of some sentences or in two in a row; `alike`: and neither denies what the other
    says.
    """
    wanted = content(text)
    if not wanted:
        return False
    least = len(wanted) if len(wanted) <= FEW else ENOUGH * len(wanted)
    against = _AGAINST.search(text) is not None
    for place, sentence in enumerate(some):
        both = f"{sentence} {some[place + 1]}" if place + 1 < len(some) else sentence
        for piece in dict.fromkeys((sentence, both)):
            if len(wanted & content(piece)) >= least and (
                    not alike or against == (_AGAINST.search(piece) is not None)):
                return True
    return False


def content(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, without their endings."""
    found = frozenset(map(stem, query_terms(text[:TEXT])))
    return found - FRAME or found
