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
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie.context_window.message_parts import TOOL_ROLES
from reverie.core import clock
from reverie.core.kinds import EXCERPT
from reverie.core.model import UNTRUSTED, Add, Event, Filter
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.memory.memory_validation import MAX_TEXT_CHARS, build_memory
from reverie.privacy import is_fully_redacted, redact
from reverie.privacy.redacted_text import redact_short_text
from reverie.privacy.sensitive_calls import has_marked_answer, has_sensitive_call
from reverie.privacy.untrusted_text import HEARD_FROM, TOOL_RESULT
from reverie.text.injection_fence import remove_injections
from reverie.text.text_cleaning import clean_text
from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    from reverie.storage import Store

# 400 and 80 tokens.
PASSAGE_CHARS, OVERLAP_CHARS = 1_600, 320
# Newest passages of a conversation among which the same one is looked for.
MAX_KNOWN_PASSAGES = 5_000
# Characters of a tool's call that stand above each passage of its result.
MAX_HEAD_CHARS = 200
PATH_PATTERN = re.compile(r"[\w.-]*(?:/[\w.-]+)+|\b[\w-]+\.[a-z]{1,5}\b")
MAX_FILES = 5


class EvictedPart(NamedTuple):
    """A part of a conversation that left its context."""

    text: str
    role: str
    at: float
    messages: tuple[int, int]  # numbers of its first and last message
    tool: str = ""  # the call that was answered, on one line
    task: str = ""


class ExcerptTarget(NamedTuple):
    """Where passages are kept: the conversation's space and name, and what is redacted there."""

    space: str
    session: str
    policy: Policy = DEFAULT_POLICY


def store_evicted_parts(
    store: Store,
    gone: Sequence[EvictedPart],
    home: ExcerptTarget,
    now: float,
) -> int:
    """Write down what left and is not known yet, in one transaction; the number of passages."""
    if not gone:
        return 0
    passages = Filter(
        spaces=(home.space,),
        kinds=(EXCERPT,),
        session=home.session,
        active=None,
        limit=MAX_KNOWN_PASSAGES,
    )
    with store.transaction():
        known = {str(memory.details.get("print")) for memory in store.browse(passages)}
        changes = [change for one in gone for change in make_passages(one, home, now, known)]
        if changes:
            places = sorted({place for one in gone for place in one.messages})
            store.apply(
                changes,
                Event("left", home.space, now, home.session, {"messages": places}),
            )
    return len(changes)


def make_passages(
    one: EvictedPart,
    home: ExcerptTarget,
    now: float,
    known: set[str],
) -> Iterator[Add]:
    """The passages of one part that are not known yet; none of what is private as a whole, or of a
    sensitive file.
    """
    # Secrets go out before passages are cut: half a secret would not be known for one.
    text = redact(clean_text(remove_injections(one.text))[:MAX_TEXT_CHARS], home.policy)[0].strip()
    if (
        is_fully_redacted(text)
        or has_sensitive_call(one.text, home.policy)
        or (one.tool and has_marked_answer(text))
    ):
        return
    tool = redact(one.tool, home.policy)[0][:MAX_HEAD_CHARS]
    # What tools answered are words of others.
    theirs = one.role in TOOL_ROLES
    details = (
        {
            "task": redact_short_text(
                one.task,
                home.policy,
            )
        }
        if one.task
        else {}
    )
    if theirs:
        details[HEARD_FROM] = TOOL_RESULT
    for piece in split_into_passages(text):
        print_of = fingerprint_text(piece).hex()
        if print_of in known:
            continue
        known.add(print_of)
        yield Add(
            build_memory(
                clock.new_id(),
                now,
                f"{tool}\n{piece}" if tool else piece,
                space=home.space,
                kind=EXCERPT,
                at=one.at,
                session=home.session,
                speaker=redact_short_text(one.role, home.policy),
                messages=one.messages,
                files=find_call_files(tool),
                details={"print": print_of, **details},
                provenance=UNTRUSTED if theirs else "observed",
                policy=home.policy,
            )
        )


def split_into_passages(text: str) -> Iterator[str]:
    """A text in pieces that overlap, cut at the end of a line or a word where there is one."""
    start = 0
    while len(text) - start > PASSAGE_CHARS:
        piece = text[start : start + PASSAGE_CHARS]
        line_end = piece.rfind("\n", PASSAGE_CHARS // 2)
        word_end = piece.rfind(" ", PASSAGE_CHARS - 100)
        # A passage ends where a line does, in its second half, or else where a word does.
        end = max(line_end, word_end, 0) or PASSAGE_CHARS
        yield piece[:end].strip()
        start += max(end - OVERLAP_CHARS, 1)
    rest = text[start:].strip()
    if rest:
        yield rest


def find_call_files(tool: str) -> list[str]:
    """The files that a call names."""
    return list(dict.fromkeys(PATH_PATTERN.findall(tool)))[:MAX_FILES]
