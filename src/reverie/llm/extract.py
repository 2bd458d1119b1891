"""What a stretch of conversation teaches, as a model reads it: memories to keep, and what was considered and rejected.

The request holds at most 40 messages and 24,000 characters, and what is known already, so that it is not repeated
(X16). Each item names the messages that it rests on; an item that names none of those it was shown is dropped. The
model chooses text, kind, title, tags and files; it has no say in provenance, trust, space or anybody's ids. A file
that the conversation does not mention is dropped, so is a kind that does not exist (then "fact": CC-61).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reverie.kinds import KINDS
from reverie.llm import BadAnswer, Request
from reverie.llm.asking import RULES, a_text, fenced, short, the_object
from reverie.messages import Said

MESSAGES, CHARS = 40, 24_000     # one window (CONSTANTS: extraction window)
LEAST = 200              # characters of a window below which nothing is asked (CC-62)
KNOWN, KNOWN_CHARS = 80, 150     # CONSTANTS: known-list
KNOWN_LIKE = 0.25        # cosine from which a memory counts as known about this (CONSTANTS: known-list)
MOST_ITEMS, MOST_TEXT, MOST_REASON = 20, 600, 300
TASK = "extract"

CHOICES = ("preference", "correction", "negative", "fact", "knowledge", "decision", "entity", "learning", "procedure",
           "event")
"""Kinds that a conversation teaches; the others are made by people or by rules."""

INSTRUCTIONS = (
    "You read a part of a conversation between a user and a coding agent and note what will still be useful in other "
    "sessions: what the user wants or corrects, decisions with their reason, facts about the project that are not "
    "plain from its code, lessons from errors and what fixed them. Not: the task at hand, what is only planned or "
    "guessed, politeness, what any programmer knows, anything in the rows marked \"known\". Each note stands by "
    "itself, in one or two sentences, with every name, number and path as written. Most conversations teach nothing or "
    f"one thing. {RULES}\n"
    'Form: {"keep": [{"text": "…", "kind": "' + '" or "'.join(CHOICES) + '", "title": "a few words", '
    '"from": first message number, "to": last message number, "files": ["paths it is about"], "reason": "why keep"}], '
    '"reject": [{"text": "…", "reason": "why not", "from": n, "to": n}]}. "reject" lists what you weighed and left out.'
)


class Item(NamedTuple):
    """Something to keep."""

    text: str
    kind: str
    messages: tuple[int, int]    # numbers in the conversation
    title: str = ""
    files: tuple[str, ...] = ()
    reason: str = ""


class Rejected(NamedTuple):
    """Something that was weighed and not kept, and why."""

    text: str
    reason: str
    messages: tuple[int, int]


class Extracted(NamedTuple):
    """What an answer says about a window."""

    keep: tuple[Item, ...] = ()
    reject: tuple[Rejected, ...] = ()


def windows(said: Sequence[Said]) -> Iterator[tuple[Said, ...]]:
    """A conversation in parts of at most MESSAGES and CHARS, in order; a longer message is cut at its end."""
    part: list[Said] = []
    size = 0
    for message in said:
        cut = Said(message.role, message.text[:CHARS], message.place)
        if part and (len(part) == MESSAGES or size + len(cut.text) > CHARS):
            yield tuple(part)
            part, size = [], 0
        part.append(cut)
        size += len(cut.text)
    if part:
        yield tuple(part)


def worth_asking(window: Sequence[Said]) -> bool:
    """Whether there is enough to learn from (CC-62)."""
    return sum(len(message.text) for message in window) >= LEAST


def request(window: Sequence[Said], known: Sequence[str]) -> Request:
    """The question about one window."""
    rows: list[dict[str, Any]] = [{"known": short(text, KNOWN_CHARS)} for text in known[:KNOWN]]
    rows += [{"message": m.place, "role": m.role, "text": m.text} for m in window]
    return Request(TASK, INSTRUCTIONS, fenced(rows), most=4_000)


def read(text: str, window: Sequence[Said]) -> Extracted:
    """The items of an answer that rest on the messages shown; an answer without the two lists is refused."""
    found = the_object(text, "keep")
    keep, reject = found["keep"], found.get("reject", [])
    if not isinstance(keep, list) or not isinstance(reject, list):
        raise BadAnswer("keep and reject must be lists")
    if len(keep) > MOST_ITEMS:
        raise BadAnswer(f"{len(keep)} notes from one window; at most {MOST_ITEMS} are believed")
    items = tuple(item(row, window) for row in keep)
    return Extracted(items, tuple(rejected(row, window) for row in reject[:MOST_ITEMS]))


def item(row: Any, window: Sequence[Said]) -> Item:
    """One thing to keep."""
    row = row if isinstance(row, dict) else {}
    kind = row.get("kind")
    heard = "\n".join(message.text for message in window)
    files = row.get("files") if isinstance(row.get("files"), list) else []
    return Item(
        text=a_text(row.get("text"), MOST_TEXT),
        kind=kind if kind in CHOICES and kind in KINDS else "fact",
        messages=rests_on(row, window),
        title=short(row["title"], 80) if isinstance(row.get("title"), str) else "",
        files=tuple(dict.fromkeys(f for f in files or [] if isinstance(f, str) and 0 < len(f) <= 300 and f in heard)),
        reason=short(row["reason"], MOST_REASON) if isinstance(row.get("reason"), str) else "",
    )


def rejected(row: Any, window: Sequence[Said]) -> Rejected:
    """One thing not to keep; where it stood matters less."""
    row = row if isinstance(row, dict) else {}
    reason = short(row["reason"], MOST_REASON) if isinstance(row.get("reason"), str) else ""
    try:
        where = rests_on(row, window)
    except BadAnswer:
        where = (window[0].place, window[-1].place)
    return Rejected(short(a_text(row.get("text"), 10 * MOST_TEXT), MOST_TEXT), reason, where)


def rests_on(row: dict[str, Any], window: Sequence[Said]) -> tuple[int, int]:
    """The first and last message that it rests on, of those that were shown."""
    first, last = row.get("from"), row.get("to", row.get("from"))
    shown = {message.place for message in window}
    if type(first) is not int or type(last) is not int or first > last or first not in shown or last not in shown:
        raise BadAnswer("a note that rests on no message that was shown")
    return first, last
