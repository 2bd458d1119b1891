"""What leaves a conversation's context becomes memory, word for word: passages of kind "excerpt",
without secrets.

The turns themselves are in the log already, and what they teach is learned from there. A passage
names the messages it is taken from (`reverie show --source` leads there), teaches nothing a second
time, is not reconciled, and fades like any event; what a tool answered is `untrusted`. The same
passage is kept once, however often a host passes it. What Reverie put into the conversation, and
lines that stand for what has gone before, are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import clock
from reverie.core.kinds import EXCERPT
from reverie.core.model import UNTRUSTED, Add, Event, Filter
from reverie.core.privacy_policy import USUAL, Policy
from reverie.memory.memory_validation import MOST_TEXT, built
from reverie.privacy import only_private, redact
from reverie.privacy.redacted_text import private
from reverie.privacy.sensitive_calls import is_marked_within, touches
from reverie.privacy.untrusted_text import HEARD, RESULT
from reverie.text.injection_fence import without_injections
from reverie.text.text_cleaning import clean
from reverie.text.tokenization import fingerprint

if TYPE_CHECKING:
    from reverie.storage import Store

PIECE, OVERLAP = 1_600, 320  # characters: 400 and 80 tokens (CONSTANTS: chunk / overlap)
KNOWN = 5_000  # newest passages of a conversation among which the same one is looked for
TOOLS = ("tool", "function")  # roles that speak with words of others
HEADED = 200  # characters of a tool's call that stand above each passage of its result
PATH = re.compile(r"[\w.-]*(?:/[\w.-]+)+|\b[\w-]+\.[a-z]{1,5}\b")
MOST_FILES = 5


class Gone(NamedTuple):
    """A part of a conversation that left its context."""

    text: str
    role: str
    at: float
    messages: tuple[int, int]  # numbers of its first and last message
    tool: str = ""  # the call that was answered, on one line
    task: str = ""


class Home(NamedTuple):
    """Where passages are kept: the conversation's space and name, and what is taken out of a text
    there.
    """

    space: str
    session: str
    policy: Policy = USUAL


def keep(store: Store, gone: Sequence[Gone], home: Home, now: float) -> int:
    """Write down what left, as far as it is not known; how many passages that is. One
    transaction.
    """
    if not gone:
        return 0
    with store.alone():
        before = store.browse(
            Filter(
                spaces=(home.space,),
                kinds=(EXCERPT,),
                session=home.session,
                active=None,
                limit=KNOWN,
            )
        )
        known = {str(memory.details.get("print")) for memory in before}
        changes = [change for one in gone for change in passages(one, home, now, known)]
        if changes:
            places = sorted({place for one in gone for place in one.messages})
            store.apply(
                changes,
                Event(
                    verb="left",
                    space=home.space,
                    session=home.session,
                    at=now,
                    payload={"messages": places},
                ),
            )
    return len(changes)


def passages(one: Gone, home: Home, now: float, known: set[str]) -> Iterator[Add]:
    """The passages of one part that are not known yet; none of what is private as a whole, or of a
    sensitive file.
    """
    text = redact(clean(without_injections(one.text))[:MOST_TEXT], home.policy)[0].strip()
    if (
        only_private(text)
        or touches(one.text, home.policy)
        or (one.tool and is_marked_within(text))
    ):
        return
    tool = redact(one.tool, home.policy)[0][:HEADED]
    for piece in pieces(text):
        print_of = fingerprint(piece).hex()
        if print_of not in known:
            known.add(print_of)
            theirs = one.role in TOOLS
            details = {
                "print": print_of,
                **({"task": private(one.task, home.policy)} if one.task else {}),
                **({HEARD: RESULT} if theirs else {}),
            }
            yield Add(
                built(
                    clock.new_id(),
                    now,
                    f"{tool}\n{piece}" if tool else piece,
                    space=home.space,
                    kind=EXCERPT,
                    at=one.at,
                    session=home.session,
                    speaker=private(one.role, home.policy),
                    messages=one.messages,
                    files=files_of(tool),
                    details=details,
                    provenance=UNTRUSTED if theirs else "observed",
                    policy=home.policy,
                )
            )


def pieces(text: str) -> Iterable[str]:
    """A text in pieces that overlap, cut at the end of a line or a word where there is one."""
    start = 0
    while len(text) - start > PIECE:
        piece = text[start : start + PIECE]
        end = max(piece.rfind("\n", PIECE // 2), piece.rfind(" ", PIECE - 100), 0) or PIECE
        yield piece[:end].strip()
        start += max(end - OVERLAP, 1)
    if rest := text[start:].strip():
        yield rest


def files_of(tool: str) -> list[str]:
    """The files that a call names."""
    return list(dict.fromkeys(PATH.findall(tool)))[:MOST_FILES]
