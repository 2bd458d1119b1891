"""The judge: which of the candidates help with what is being said just now. Usually none does
(A51–A56, X2–X5, B45).

The request shows the focused end of the conversation and up to 50 candidates, numbered; the answer
names numbers. What is not named is not shown; an answer that cannot be read names nothing. Several
ballots may be asked for: a candidate needs the votes of `agree` of them. The same answer may name
pairs that belong together or contradict each other (B32): suggestions for maintenance, never more.

The judge runs on every third turn and whenever the topic has changed (CC-38). A "forked" judge that
reuses the host's own prompt cache (X26) would need the host's model and context, which no host
lends: docs/why-language-model.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from reverie.core.model import Memory
from reverie.llm.language_model import BadAnswer, LlmRequest
from reverie.llm.prompt_format import FENCE_RULES, fence_rows, iter_json_values, require_numbers
from reverie.text.host_messages import HostMessage
from reverie.text.tokenization import shorten_line

MAX_CANDIDATES = 50  # candidates (CONSTANTS: initial hits)
# characters: the query's tail, a candidate's head (CONSTANTS: judge caps)
MAX_QUERY_CHARS, MAX_CANDIDATE_CHARS = (
    4_000,
    600,
)
JUDGE_CADENCE = 3  # turns (CONSTANTS: judge cadence)
MAX_PAIRS = 10
RELATED = ("relates_to", "contradicts")
TASK = "judge"

INSTRUCTIONS = (
    "You decide which remembered notes a coding agent should see before its next reply. The first "
    "row is the end of the conversation, its last user message first; each further row is a note "
    "with a number. Name a note only if knowing it would change what the agent does or says now: "
    "it is about this very task, and can be acted upon. Being about the same topic is not enough; "
    "trivia, and what the conversation says already, is not. Most of the "
    f"time no note qualifies. {FENCE_RULES}\n"
    'Form: {"use": [numbers, most useful first, or nothing], "related": [[number, number, '
    '"relates_to" or "contradicts"], …]}. "related" may be left out.'
)

_REMINDER = re.compile(
    r"<(system-reminder|reverie-memory|command-[a-z]+|local-command-[a-z]+)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TOOL_LINE = re.compile(
    r"^\s*(?:\[?tool(?:[ _-]?(?:use|call|result|output))?\b[^\n]{0,40}[:\]]|<function_|</function_"
    r"|⏺|⎿).*$",
    re.MULTILINE | re.IGNORECASE,
)
_TOOL_ERROR = re.compile(
    r"^(?:Traceback \(most recent call last\):|\[?tool error\b[^\n]*|error: tool\b[^\n]*)\n"
    r"(?:[ \t]+[^\n]*\n?|\w*(?:Error|Exception)\b[^\n]*\n?)*",
    re.MULTILINE | re.IGNORECASE,
)
TOOL_ROLES = ("tool", "function")
SYSTEM_ROLES = ("system", "developer")


class Judgement(NamedTuple):
    """Numbers of the candidates that help, best first, and pairs of numbers with their relation."""

    use: tuple[int, ...]
    related: tuple[tuple[int, int, str], ...] = ()


def focus_conversation(window: Sequence[HostMessage], most: int = MAX_QUERY_CHARS) -> str:
    """What the judge is shown of a conversation: the last user message first, then the newest
    before it (CC-39).

    Reminders, tool lines and tool errors are left out; if nothing is left, the raw text stands in.
    """
    spoken = [
        (m.role, strip_host_markup(m.text))
        for m in window
        if m.role not in (*TOOL_ROLES, *SYSTEM_ROLES)
    ]
    spoken = [(role, text) for role, text in spoken if text]
    if not spoken:
        return "\n".join(m.text for m in window if m.role not in SYSTEM_ROLES)[-most:].strip()
    last = next(
        (place for place in range(len(spoken) - 1, -1, -1) if spoken[place][0] == "user"),
        len(spoken) - 1,
    )
    role, text = spoken[last]
    first = f"{role}: {text[-(most - len(role) - 2) :]}"
    before = "\n".join(
        f"{who}: {what}" for place, (who, what) in enumerate(spoken) if place != last
    )
    left = most - len(first) - 1
    return f"{first}\n{before[-left:]}".strip() if left > 0 and before else first


def strip_host_markup(text: str) -> str:
    """A message without what others put into it."""
    for pattern in (_REMINDER, _TOOL_ERROR, _TOOL_LINE):
        text = pattern.sub("", text)
    return re.sub(r"\n{2,}", "\n", text).strip()


def build_judge_request(query: str, candidates: Sequence[Memory], seconds: float) -> LlmRequest:
    """The question about these candidates."""
    rows: list[dict[str, Any]] = [{"conversation": query}]
    rows += [
        {"n": n, "kind": m.kind, "note": shorten_line(m.text, MAX_CANDIDATE_CHARS)}
        for n, m in enumerate(candidates[:MAX_CANDIDATES], 1)
    ]
    return LlmRequest(
        TASK, INSTRUCTIONS, fence_rows(rows), max_tokens=1_000, timeout_seconds=seconds
    )


def read_judgement(text: str, count: int) -> Judgement:
    """The judgement of an answer: {"use": [3, 1]} or just [3, 1], prose around it or
    not (CC-33).
    """
    found: list[tuple[Judgement, bool]] = []
    for value, ends in iter_json_values(text):
        try:
            found.append((judgement_from_json(value, count), ends))
        except BadAnswer:
            continue
    if not found:
        raise BadAnswer("no list of numbers")
    distinct = {one.use for one, _ in found}
    if len(distinct) > 1 and not found[-1][1]:
        raise BadAnswer("several lists of numbers, and none of them last")
    return found[-1][0]


def judgement_from_json(value: Any, count: int) -> Judgement:
    """A list of numbers, or an object that holds one."""
    if isinstance(value, dict):
        return Judgement(
            tuple(require_numbers(value.get("use"), count)),
            read_related_pairs(value.get("related"), count),
        )
    return Judgement(tuple(require_numbers(value, count)))


def read_related_pairs(value: Any, count: int) -> tuple[tuple[int, int, str], ...]:
    """The pairs that can be read; a suggestion that cannot spoils nothing."""
    rows = [
        row
        for row in (value if isinstance(value, list) else [])[:MAX_PAIRS]
        if isinstance(row, list) and len(row) == 3 and row[2] in RELATED
    ]
    return tuple(
        (a, b, relation)
        for a, b, relation in rows
        if all(type(n) is int and 1 <= n <= count for n in (a, b)) and a != b
    )


def count_ballots(ballots: Sequence[Judgement | None], agree: int) -> Judgement | None:
    """What several ballots say together: by votes, then by the best place (CC-35). None if all of
    them failed.

    A failed ballot is neutral: it neither votes nor lowers how many votes are needed.
    """
    cast = [ballot for ballot in ballots if ballot is not None]
    if not cast:
        return None
    votes: dict[int, list[int]] = {}
    for ballot in cast:
        for place, number in enumerate(ballot.use):
            votes.setdefault(number, []).append(place)
    kept = [n for n, places in votes.items() if len(places) >= agree]
    kept.sort(key=lambda n: (-len(votes[n]), min(votes[n]), n))
    return Judgement(
        tuple(kept), tuple(dict.fromkeys(pair for ballot in cast for pair in ballot.related))
    )


def is_judge_due(
    turn: int, last: int | None, *, changed: bool, cadence: int = JUDGE_CADENCE
) -> bool:
    """Whether the judge runs on this turn, having run on turn `last` (CC-38)."""
    return last is None or changed or cadence <= 1 or turn - last >= cadence
