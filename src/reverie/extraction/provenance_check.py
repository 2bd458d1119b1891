"""Who stands behind what a model asks to have remembered (X49).

A model that calls `remember` may have been told to by a page that it read. What it says of the
source is therefore no evidence; where its words stand is. They are looked for in what was said and
read here during the last day:

- in the user's own sentences, what they pasted apart: then the user said so;
- in what others wrote, a paste, what a tool answered, a file that was read: then it is theirs,
  `untrusted`, if it would command (`kinds.Kind.voice`) or comes from outside, such as a web page.
  What an agent learns from its own commands it has seen itself, and may describe;
- in neither, though the user is known to have spoken: then a kind that is the user's alone (a
  preference, a correction, a prohibition) was concluded, and waits until it is met again or
  approved.

Where nobody tells us what the user says, as with an MCP client without hooks, nothing can be held
against anything, and what a model says is at most `observed`. Pure but for `lately`, which reads
the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from unicodedata import normalize

from reverie.activity import TOOL
from reverie.core.authorship import UNKNOWN_AUTHOR, Author
from reverie.core.kinds import ANYBODY, USER, kind_of
from reverie.core.model import UNTRUSTED, Event
from reverie.privacy.prompt_injection import find_prompt_injection
from reverie.privacy.untrusted_text import HEARD_FROM, PASTED_TEXT
from reverie.storage import Store
from reverie.text.domain_stopwords import domain_stop_stems, strip_ending
from reverie.text.own_sentences import (
    remove_quoted_speech,
    separate_lines,
    separate_sentences,
    split_sentences,
)
from reverie.text.tokenization import tokenize_query

LOOKBACK_SECONDS = 86_400.0  # seconds that are looked back
MAX_EVENTS = 400  # newest turns and runs of tools
MAX_TEXT_CHARS = 8_000  # characters of one answer
# share of a claim's words that a sentence, or two in a row, must hold to be where it stands
MIN_WORD_SHARE = 0.75
SHORT_CLAIM_WORDS = 3  # words of which none may be missing

FRAMING_STEMS = frozenset(
    map(
        strip_ending,
        (
            "user",
            "users",
            "prefer",
            "prefers",
            "preference",
            "want",
            "wants",
            "like",
            "likes",
            "ask",
            "asks",
            "asked",
            "said",
            "says",
            "should",
            "must",
            "always",
            "never",
            "remember",
            "please",
            "note",
            "don",
            "not",
            "stop",
            "avoid",
            "will",
            "told",
            "decided",
        ),
    )
)
"""What a model puts around somebody's words."""

_AGAINST = re.compile(
    r"\b(?:never|not|no|none|cannot|don'?t|doesn'?t|mustn'?t|shouldn'?t|isn'?t|stop|avoid|without|"
    r"nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não|mai|никогда|не)\b|n't\b|不|别|勿|ない",
    re.IGNORECASE,
)
_OUTSIDE = re.compile(
    r"web|fetch|search|browse|http|url|mcp__|mail|slack|issue|ticket|jira|notion|confluence",
    re.IGNORECASE,
)
_REACHES = re.compile(r"\b(?:curl|wget|gh|glab|http|https|lynx|w3m)\b", re.IGNORECASE)


class ForeignText(NamedTuple):
    """Something that others wrote, and whether it came from outside of this machine's own work."""

    text: str
    outside: bool = True


class RecentEvidence(NamedTuple):
    """What was said and read here, uncut: most of it has nothing to do with a claim and is never
    looked at closely.
    """

    user_messages: tuple[str, ...] = ()  # messages of the user, with what they pasted
    foreign_texts: tuple[ForeignText, ...] = ()  # texts of others

    def merged_with(self, other: RecentEvidence) -> RecentEvidence:
        """Both."""
        return RecentEvidence(
            (*self.user_messages, *other.user_messages), (*self.foreign_texts, *other.foreign_texts)
        )


class Claim(NamedTuple):
    """As what something may be kept: its kind is asked for; `intake` decides what it becomes."""

    provenance: str
    why: str = ""  # for the model; "" where there is nothing to say
    author: Author = UNKNOWN_AUTHOR

    @property
    def fields(self) -> dict[str, Any]:
        """What a memory that is kept on such a claim is given."""
        heard = {HEARD_FROM: PASTED_TEXT} if self.provenance == UNTRUSTED else {}
        details = {**self.author.details, **heard}
        return {"provenance": self.provenance, **({"details": details} if details else {})}


def collect_recent_evidence(store: Store, space: str, now: float) -> RecentEvidence:
    """What was said and read in a space, above it and below it, during the last day."""
    events = store.search_events(
        ("turn", TOOL), space=space, since=now - LOOKBACK_SECONDS, until=now, limit=MAX_EVENTS
    )
    return to_evidence(
        (
            message
            for event in events
            if event.verb == "turn"
            for message in iter_turn_messages(event)
        ),
        (heard for event in events if event.verb == TOOL for heard in iter_tool_answers(event)),
    )


def to_evidence(
    said: Iterable[tuple[str, str]], heard: Iterable[ForeignText] = ()
) -> RecentEvidence:
    """Messages (role, text) and answers of tools, by who wrote them."""
    messages = list(said)
    return RecentEvidence(
        tuple(text for role, text in messages if role == "user" and text.strip()),
        (*(ForeignText(text) for role, text in messages if role in ("tool", "function")), *heard),
    )


def iter_turn_messages(event: Event) -> Iterator[tuple[str, str]]:
    """The messages of a turn."""
    for message in event.payload.get("messages", ()):
        yield str(message.get("role", "")), str(message.get("text", ""))


def iter_tool_answers(event: Event) -> Iterator[ForeignText]:
    """What a run of a tool answered."""
    given = event.payload
    outside = bool(
        _OUTSIDE.search(str(given.get("tool", "")))
        or _REACHES.search(str(given.get("command", "")))
    )
    for name in ("result", "error"):
        if given.get(name):
            yield ForeignText(str(given[name]), outside)


def split_into_sentences(text: str) -> list[str]:
    """The sentences of a text, in order."""
    return [
        one
        for line in text[:MAX_TEXT_CHARS].replace("\\n", "\n").splitlines()
        for one in split_sentences(line)
    ]


def determine_provenance(text: str, kind: str, known: RecentEvidence) -> Claim:
    """Who stands behind a text that a model asks to keep as a memory of this kind."""
    wanted, voice = extract_content_stems(text), kind_of(kind).voice
    said = [
        split_own_and_foreign(one) for one in known.user_messages if may_contain_claim(one, wanted)
    ]
    if any(contains_claim(text, own, alike=True) for own, _ in said):
        return Claim("user_stated")
    heard = [
        *(ForeignText(theirs) for _, theirs in said),
        *(
            one
            for one in known.foreign_texts
            if (one.outside or voice != ANYBODY) and may_contain_claim(one.text, wanted)
        ),
    ]
    if find_prompt_injection(text) or any(contains_claim(text, one.text) for one in heard):
        return Claim(
            UNTRUSTED, "it stands in a text that others wrote, so it may describe and not command"
        )
    if voice == USER and known.user_messages:
        return Claim(
            "inferred",
            "the user has not said it in these words, so it waits until it is met again or "
            "approved; keep it in the user's own words if they did",
        )
    return Claim("observed")


def split_own_and_foreign(text: str) -> tuple[str, str]:
    """(the user's own words in a message, what others wrote in it)."""
    own, theirs = separate_lines(text)
    return remove_quoted_speech(own), "\n".join((theirs, *separate_sentences(text).quoted))


def required_word_count(wanted: frozenset[str]) -> float:
    """How many of some words must be there."""
    return len(wanted) if len(wanted) <= SHORT_CLAIM_WORDS else MIN_WORD_SHARE * len(wanted)


def may_contain_claim(text: str, wanted: frozenset[str]) -> bool:
    """Whether enough words occur anywhere in a text; quick, and never wrong about a text that does
    hold them.
    """
    plain = normalize("NFKC", text).lower() if not text.isascii() else text.lower()
    return bool(wanted) and sum(word in plain for word in wanted) >= required_word_count(wanted)


def contains_claim(text: str, other: str, *, alike: bool = False) -> bool:
    """Whether a text stands in one sentence of another or in two in a row; `alike`: neither denies
    what the other says, and only everyday words differ, so that nobody slips another name into the
    user's words.
    """
    wanted, some = extract_content_stems(text), split_into_sentences(other)
    against = _AGAINST.search(text) is not None
    for place, sentence in enumerate(some):
        for piece in (sentence, " ".join(some[place : place + 2])):
            there = extract_content_stems(piece)
            if len(wanted & there) >= required_word_count(wanted) and (
                not alike
                or (
                    wanted - there <= domain_stop_stems()
                    and against == (_AGAINST.search(piece) is not None)
                )
            ):
                return bool(wanted)
    return False


def extract_content_stems(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, without their endings."""
    found = frozenset(map(strip_ending, tokenize_query(text[:MAX_TEXT_CHARS])))
    return found - FRAMING_STEMS or found
