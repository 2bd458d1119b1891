"""What a session was about, taken from its own words: asked, done, decided, left open. Pure.

Sentences are quoted, not written: what was asked for are the first and the newest request of the
user, what was done is how the agent's last answer begins, decided is what the user chose in a few
words or what became a memory, open is what the agent's last answer says of it, or a request that
nobody answered. What addresses the agent like an instruction of a third party is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.memory.daily_journal import utc_date
from reverie.privacy.prompt_injection import find_prompt_injection
from reverie.text.prompt_phrases import DECIDES, LEFT_OPEN, has_trait
from reverie.text.tokenization import shorten_line
from reverie.transcripts.message_passages import (
    SpokenMessage,
    cut_passages,
    is_telling,
    iterate_sentences,
    join_lines,
)

# Characters that are shown of one request, answer, decision or open end; of the name of a file.
MAX_PART_CHARS, MAX_DONE_CHARS, MAX_FILE_CHARS = 140, 200, 60
# Decisions and open ends that are told, and files that are named.
MAX_DECISIONS, MAX_OPEN, MAX_FILES = 2, 2, 4
# Characters of the agent's words that a short decision of the user's answers.
ANSWERED_CHARS = 80
# Characters that are said in a session that is worth a summary.
MIN_SPOKEN_CHARS = 200


class SessionFacts(NamedTuple):
    """What is known of a session besides its messages."""

    decisions: Sequence[str] = ()  # what became a memory, as its text
    changed: Sequence[str] = ()  # paths, the newest last
    failing: str = ""  # the last command, if it failed


class SessionSummary(NamedTuple):
    """What a session was about; parts that nobody spoke of are empty."""

    asked: tuple[str, ...]
    done: str = ""
    decided: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()


def summarize_session(
    messages: Sequence[SpokenMessage],
    facts: SessionFacts,
) -> SessionSummary | None:
    """The summary of a session; None for one in which nothing was asked or hardly anything said."""
    said = [message for message in messages if not find_prompt_injection(message.text)]
    quotes = [quote_beginning(one.text, MAX_PART_CHARS) for one in said if one.role == "user"]
    asked = list(dict.fromkeys(quote for quote in quotes if is_telling(quote, "")))
    if not asked or sum(len(message.text) for message in said) < MIN_SPOKEN_CHARS:
        return None
    answer = find_last_answer(said)
    return SessionSummary(
        asked=tuple(dict.fromkeys(asked[:1] + asked[-1:])),
        done=quote_beginning(answer.text, MAX_DONE_CHARS) if answer else "",
        decided=find_decisions(said, facts.decisions),
        changed=tuple(facts.changed),
        left_open=find_open_ends(said, answer, facts.failing),
    )


def quote_beginning(text: str, most: int) -> str:
    """The first sentences of a text, without code and what programs wrote, on one line."""
    return shorten_line(next(iter(cut_passages(text)), ""), most)


def find_last_answer(said: Sequence[SpokenMessage]) -> SpokenMessage | None:
    """The agent's last message that says something; None if it said nothing."""
    return next(
        (
            message
            for message in reversed(said)
            if message.role == "assistant" and is_telling(message.text, "")
        ),
        None,
    )


def find_decisions(said: Sequence[SpokenMessage], kept: Sequence[str]) -> tuple[str, ...]:
    """What was decided, newest first: what became a memory, then what the user chose in passing.

    A choice of a few words is told with the end of what it answers.
    """
    found = [shorten_line(text, MAX_PART_CHARS) for text in kept]
    for place in range(len(said) - 1, -1, -1):
        message = said[place]
        if message.role != "user" or not has_trait(message.text, DECIDES):
            continue
        chosen = quote_beginning(message.text, MAX_PART_CHARS)
        before = said[place - 1] if place else None
        if before is not None and before.role == "assistant" and not is_telling(chosen, ""):
            question = join_lines(before.text)[-ANSWERED_CHARS:]
            chosen = f"{chosen} (to “…{question}”)"
        found.append(chosen)
    return tuple(dict.fromkeys(filter(None, found)))[:MAX_DECISIONS]


def find_open_ends(
    said: Sequence[SpokenMessage],
    answer: SpokenMessage | None,
    failing: str,
) -> tuple[str, ...]:
    """What is left to do or to answer, as far as the end of the session tells."""
    last = said[-1]
    if last.role == "user" and is_telling(last.text, ""):
        return (f"no answer yet to “{quote_beginning(last.text, MAX_PART_CHARS)}”",)
    found = [f"`{shorten_line(failing, MAX_PART_CHARS)}` failed last"] if failing else []
    sentences = list(iterate_sentences(answer.text)) if answer else []
    # From the end: what comes last is what the agent was left with.
    found += [
        shorten_line(sentence, MAX_PART_CHARS)
        for sentence in reversed(sentences)
        if has_trait(sentence, LEFT_OPEN)
    ]
    return tuple(dict.fromkeys(found))[:MAX_OPEN]


def render_summary(summary: SessionSummary, at: float) -> str:
    """A summary in words, on one line."""
    files = [shorten_line(path, MAX_FILE_CHARS) for path in summary.changed[-MAX_FILES:]]
    more = len(summary.changed) - len(files)
    changed = ", ".join(files) + (f" and {more} more" if more else "")
    parts = (
        ("Asked", "; later: ".join(summary.asked)),
        ("Done", summary.done),
        ("Decided", "; ".join(summary.decided)),
        ("Changed", changed),
        ("Left open", "; ".join(summary.left_open)),
    )
    told = " ".join(f"{name}: {end_sentence(text)}" for name, text in parts if text)
    return f"Session of {utc_date(at)}. {told}"


def end_sentence(text: str) -> str:
    """A text that ends as a sentence does."""
    return text if text[-1] in ".!?…。！？" else f"{text}."
