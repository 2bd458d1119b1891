"""What an agent concluded, where the user says that it is so or a command bears it out. Pure.

An agent says many things of which half are wrong. Kept is only a sentence that names a cause
without a doubt (`text.learned_phrases.is_conclusion`), and of a stretch only the last, for the ones
before it were given up; and only with evidence: the user says "yes, that was it" or "works now"
next, or a command that had failed goes well. A user who says anything else than to go on has not
confirmed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.activity.error_lessons import (
    MAX_COMMAND_CHARS,
    has_failure_text,
    is_read_command,
    parse_agent_calls,
)
from reverie.privacy.prompt_injection import find_prompt_injection
from reverie.text.learned_phrases import accepts_something, confirms_something, is_conclusion
from reverie.text.own_sentences import split_sentences, strip_markup
from reverie.transcripts.message_passages import iterate_sentences, read_spoken_text

# Messages within which a failure, a conclusion and what bears it out must lie.
MAX_SPAN = 80
# Sentences at the beginning of a message in which a user says that something is so.
CONFIRMING_SENTENCES = 2
MAX_EVIDENCE_CHARS = 160


class BorneConclusion(NamedTuple):
    """A conclusion, and what speaks for it; places in the list of messages."""

    text: str
    place: int
    evidence: str
    evidence_place: int


class _Stretch:
    """What is open while messages are read: what the agent said, failures, what went well."""

    def __init__(self) -> None:
        # Looked through only where something may bear it out: agents say much.
        self.said: list[tuple[str, int]] = []
        self.failed: dict[str, int] = {}  # command → place
        # A command, and where it failed and went well.
        self.overcome: tuple[str, int, int] | None = None
        self.calls: list[str] = []

    def read_agent(self, text: str, place: int) -> BorneConclusion | None:
        """Take in what the agent says; a cause that it names after the fix is borne out by it."""
        self.calls += [call.command for call in parse_agent_calls(text) if call.command]
        self.said.append((text, place))
        return self.settle_by_command()

    def read_answer(self, text: str, place: int) -> BorneConclusion | None:
        """Take in what tools answered."""
        calls, self.calls = self.calls, []
        has_failed = has_failure_text(text)
        for command in calls:
            if has_failed:
                self.failed[command] = place
            elif command in self.failed and not is_read_command(command):
                since = self.failed.pop(command)
                if place - since <= MAX_SPAN:
                    self.overcome = (command, since, place)
        return self.settle_by_command()

    def settle_by_command(self) -> BorneConclusion | None:
        """The conclusion, if a command that had failed has gone well in the same stretch."""
        if self.overcome is None:
            return None
        command, since, at = self.overcome
        conclusion = self.find_last_conclusion()
        # A failure that came later is another one.
        if conclusion is None or conclusion[1] < since:
            self.said = []
            return None
        self.said, self.overcome = [], None
        evidence = f"`{command[:MAX_COMMAND_CHARS]}` went well after it had failed"
        return BorneConclusion(*conclusion, evidence, max(conclusion[1], at))

    def read_user(self, text: str, place: int) -> BorneConclusion | None:
        """Take in what the user says: a confirmation, an order to go on, or anything else."""
        # A line of dashes says nothing either.
        if accepts_something(text) or not any(map(str.isalnum, text)):
            return None
        confirmed = find_confirmation(text)
        conclusion = self.find_last_conclusion() if confirmed else None
        self.said, self.overcome = [], None
        if conclusion is None or place - conclusion[1] > MAX_SPAN:
            return None
        evidence = f"the user: “{confirmed[:MAX_EVIDENCE_CHARS]}”"
        return BorneConclusion(*conclusion, evidence, place)

    def find_last_conclusion(self) -> tuple[str, int] | None:
        """(the last cause that the agent named in this stretch, its place); None without one."""
        return next(
            (
                (named, place)
                for text, place in reversed(self.said)
                if (named := find_conclusion(text))
            ),
            None,
        )


def find_borne_conclusions(
    messages: Sequence[tuple[str, str]],
) -> tuple[list[BorneConclusion], list[int]]:
    """(the conclusions of these messages (role, text) that are borne out, the place of one that
    waits for it).
    """
    stretch = _Stretch()
    found: list[BorneConclusion] = []
    for place, (role, text) in enumerate(messages):
        speaker, spoken = read_spoken_text(role, text)
        if role == "tool" and speaker != "user":
            borne = stretch.read_answer(text, place)
        elif role == "assistant":
            borne = stretch.read_agent(text, place)
        else:
            borne = stretch.read_user(spoken, place) if spoken.strip() else None
        if borne:
            found.append(borne)
    waiting = stretch.find_last_conclusion()
    is_open = waiting is not None and waiting[1] >= len(messages) - MAX_SPAN
    return found, [waiting[1]] if waiting and is_open else []


def find_conclusion(text: str) -> str:
    """The last sentence of an agent's message that names a cause; "" without one, and where the
    message addresses agents as a page might.
    """
    _, spoken = read_spoken_text("assistant", text)
    named = [
        sentence
        for line in iterate_sentences(spoken)
        for sentence in [strip_markup(line).replace("**", "").strip(" #>-*")]
        if is_conclusion(sentence) and is_whole(sentence)
    ]
    return "" if not named or find_prompt_injection(named[-1]) else named[-1]


def is_whole(sentence: str) -> bool:
    """True if nothing that is quoted or bracketed in a sentence was cut."""
    pairs = ("“”", "「」", "()", "（）", "[]", "{}")
    return sentence.count("`") % 2 == 0 == sentence.count('"') % 2 and all(
        sentence.count(pair[0]) == sentence.count(pair[1]) for pair in pairs
    )


def find_confirmation(text: str) -> str:
    """The sentence at the beginning of a message by which a user says that something is so."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    first = split_sentences(lines[0])[:CONFIRMING_SENTENCES] if lines else []
    return next((sentence for sentence in first if confirms_something(sentence)), "")
