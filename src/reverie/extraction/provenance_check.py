"""Who stands behind what a model asks to have remembered.

A model that calls `remember` may have been told to by a page that it read. What it says of the
source is therefore no evidence; where its words stand is. They are looked for in what was said and
read here during the last day:

- in the user's own sentences, pastes apart: then the user said so;
- in what others wrote, a paste, what a tool answered, a file that was read: then it is theirs,
  `untrusted`, if it would command (`kinds.Kind.voice`) or comes from outside, such as a web page.
  What an agent learns from its own commands it has seen itself, and may describe;
- in neither, though the user is known to have spoken: then a kind that is the user's alone (a
  preference, a correction, a prohibition) was inferred, and waits until it is met again or
  approved.

Where nobody tells us what the user says, as with an MCP client without hooks, nothing can be held
against anything, and what a model says is at most `observed`. Only `collect_recent_evidence` reads
the log; all else is pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple
from unicodedata import normalize

from reverie.activity import TOOL
from reverie.core.authorship import UNKNOWN_AUTHOR, Author
from reverie.core.kinds import ANYBODY, USER, kind_of
from reverie.core.model import UNTRUSTED, Event
from reverie.extraction.user_words import separate_user_lines, separate_user_sentences
from reverie.privacy.prompt_injection import find_prompt_injection
from reverie.privacy.untrusted_text import CAME_FROM, HEARD_FROM, PASTED_TEXT
from reverie.storage import Store
from reverie.text.domain_stopwords import domain_stop_stems, strip_ending
from reverie.text.own_sentences import (
    remove_quoted_speech,
    split_sentences,
)
from reverie.text.tokenization import tokenize_query

# Words that a model puts around somebody's words ("the user prefers …").
_FRAMING_WORDS = """
user users prefer prefers preference want wants like likes ask asks asked said says should must
always never remember please note don not stop avoid will told decided
"""

LOOKBACK_SECONDS = 86_400.0
# newest turns and tool runs that are looked at
MAX_EVENTS = 400
# characters of one text that are looked at
MAX_TEXT_CHARS = 8_000
# Parameters that say what a tool reads, and characters of one that are kept.
SOURCE_PARAMETERS = ("url", "uri", "file_path", "path", "query")
MAX_SOURCE_CHARS = 300
# Part of a claim's words that one sentence, or two in a row, must hold to be where it stands.
MIN_WORD_SHARE = 0.75
# Of a claim of so few words none may be missing.
SHORT_CLAIM_WORDS = 3

# Stems that a model puts around somebody's words ("the user prefers …").
FRAMING_STEMS = frozenset(map(strip_ending, _FRAMING_WORDS.split()))

# Words of denial, in some of the languages that people write in.
_AGAINST = re.compile(
    r"\b(?:never|not|no|none|cannot|don'?t|doesn'?t|mustn'?t|shouldn'?t|isn'?t|stop|avoid|without|"
    r"nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não|mai|никогда|не)\b|n't\b|不|别|勿|ない",
    re.IGNORECASE,
)
# Parts of the names of tools whose answers come from beyond this machine.
_OUTSIDE = re.compile(
    r"web|fetch|search|browse|http|url|mcp__|mail|slack|issue|ticket|jira|notion|confluence",
    re.IGNORECASE,
)
# Commands that fetch what others wrote.
_REACHES = re.compile(r"\b(?:curl|wget|gh|glab|http|https|lynx|w3m)\b", re.IGNORECASE)


class ForeignText(NamedTuple):
    """A text of others; `outside` if it came from beyond this machine's own work."""

    text: str
    outside: bool = True
    source: str = ""  # the page, file or command that it came from


class RecentEvidence(NamedTuple):
    """What was said and read here, uncut: a claim concerns little of it, the rest stays unread."""

    # messages of the user, with what they pasted
    user_messages: tuple[str, ...]
    foreign_texts: tuple[ForeignText, ...]

    def merged_with(self, other: RecentEvidence) -> RecentEvidence:
        """The evidence of both."""
        return RecentEvidence(
            (*self.user_messages, *other.user_messages),
            (*self.foreign_texts, *other.foreign_texts),
        )


class Claim(NamedTuple):
    """The provenance a memory may be kept with; `memory_validation` decides what it becomes."""

    provenance: str
    why: str = ""  # for the model; "" where there is nothing to say
    author: Author = UNKNOWN_AUTHOR
    source: str = ""  # in whose answer it stands

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a memory that is kept on this claim."""
        details = dict(self.author.details)
        if self.provenance == UNTRUSTED:
            details[HEARD_FROM] = PASTED_TEXT
        if self.source:
            details[CAME_FROM] = self.source
        fields: dict[str, Any] = {"provenance": self.provenance}
        return {**fields, "details": details} if details else fields


def collect_recent_evidence(
    store: Store,
    space: str,
    now: float,
) -> RecentEvidence:
    """What was said and read in a space, above it and below it, during the last day."""
    events = store.search_events(
        ("turn", TOOL),
        space=space,
        since=now - LOOKBACK_SECONDS,
        until=now,
        limit=MAX_EVENTS,
    )
    turns = [event for event in events if event.verb == "turn"]
    runs = [event for event in events if event.verb == TOOL]
    return evidence_from_events(turns, runs)


def evidence_from_events(turns: Iterable[Event], runs: Iterable[Event]) -> RecentEvidence:
    """What was said in these turns, and what these tool runs answered."""
    return to_evidence(
        chain.from_iterable(map(iter_turn_messages, turns)),
        chain.from_iterable(map(iter_tool_answers, runs)),
    )


def to_evidence(
    said: Iterable[tuple[str, str]], heard: Iterable[ForeignText] = ()
) -> RecentEvidence:
    """Messages (role, text) and answers of tools as evidence, by who wrote them."""
    messages = list(said)
    answers = [ForeignText(text) for role, text in messages if role in ("tool", "function")]
    return RecentEvidence(
        tuple(text for role, text in messages if role == "user" and text.strip()),
        (*answers, *heard),
    )


def iter_turn_messages(event: Event) -> Iterator[tuple[str, str]]:
    """The messages of a turn as (role, text)."""
    for message in event.payload.get("messages", ()):
        yield str(message.get("role", "")), str(message.get("text", ""))


def iter_tool_answers(event: Event) -> Iterator[ForeignText]:
    """The result and the error of a tool run."""
    tool, command = str(event.payload.get("tool", "")), str(event.payload.get("command", ""))
    outside = bool(_OUTSIDE.search(tool) or _REACHES.search(command))
    source = name_tool_source(event)
    for name in ("result", "error"):
        if event.payload.get(name):
            yield ForeignText(str(event.payload[name]), outside, source)


def name_tool_source(event: Event) -> str:
    """The page or file that a tool was pointed at, else its command; "" where neither is known."""
    given = event.payload.get("parameters")
    values = given if isinstance(given, Mapping) else {}
    named = next((values[name] for name in SOURCE_PARAMETERS if values.get(name)), "")
    return str(named or event.payload.get("command", ""))[:MAX_SOURCE_CHARS]


def split_into_sentences(text: str) -> list[str]:
    """The sentences of a text's first MAX_TEXT_CHARS, in order; an escaped newline ends a line."""
    lines = text[:MAX_TEXT_CHARS].replace("\\n", "\n").splitlines()
    return list(chain.from_iterable(map(split_sentences, lines)))


def determine_provenance(
    text: str,
    kind: str,
    known: RecentEvidence,
) -> Claim:
    """The claim on which a text that a model asks to keep may be kept as this kind."""
    stems, voice = extract_content_stems(text), kind_of(kind).voice
    messages = [
        split_own_and_foreign(message)
        for message in known.user_messages
        if may_contain_claim(message, stems)
    ]
    if any(contains_claim(text, own, alike=True) for own, _ in messages):
        return Claim("user_stated")
    foreign = [ForeignText(theirs) for _, theirs in messages]
    # A kind in anybody's voice only describes: an agent may note what its own commands showed it.
    foreign += [
        other
        for other in known.foreign_texts
        if (other.outside or voice != ANYBODY) and may_contain_claim(other.text, stems)
    ]
    origin = next((other for other in foreign if contains_claim(text, other.text)), None)
    if origin is not None or find_prompt_injection(text):
        return Claim(
            UNTRUSTED,
            "it stands in a text that others wrote, so it may describe and not command",
            source=origin.source if origin else "",
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
    own, theirs = separate_user_lines(text)
    return remove_quoted_speech(own), "\n".join((theirs, *separate_user_sentences(text).quoted))


def required_word_count(wanted: frozenset[str]) -> float:
    """How many of a claim's words must be there."""
    return len(wanted) if len(wanted) <= SHORT_CLAIM_WORDS else MIN_WORD_SHARE * len(wanted)


def may_contain_claim(text: str, wanted: frozenset[str]) -> bool:
    """False only if too few of the words occur anywhere in a text: a quick first test."""
    plain = normalize("NFKC", text).lower() if not text.isascii() else text.lower()
    return bool(wanted) and sum(word in plain for word in wanted) >= required_word_count(wanted)


def contains_claim(
    text: str,
    other: str,
    *,
    alike: bool = False,
) -> bool:
    """True if a text stands in one sentence of another, or in two in a row.

    `alike`: also neither denies what the other says, and only everyday words differ, so that nobody
    slips another name into the user's words.
    """
    stems, sentences = extract_content_stems(text), split_into_sentences(other)
    if not stems:
        return False
    denies = _AGAINST.search(text) is not None
    for place, sentence in enumerate(sentences):
        for piece in (sentence, " ".join(sentences[place : place + 2])):
            there = extract_content_stems(piece)
            if len(stems & there) < required_word_count(stems):
                continue
            if not alike:
                return True
            piece_denies = _AGAINST.search(piece) is not None
            if stems - there <= domain_stop_stems() and denies == piece_denies:
                return True
    return False


def extract_content_stems(text: str) -> frozenset[str]:
    """The stems of a text that say what it is about; all of them if only framing is left."""
    found = frozenset(map(strip_ending, tokenize_query(text[:MAX_TEXT_CHARS])))
    return found - FRAMING_STEMS or found
