"""The judge: which of the candidates help with what is being said just now. Usually none does.

The request shows the focused end of the conversation and up to MAX_CANDIDATES candidates, numbered;
the answer names numbers. What is not named is not shown; an answer that cannot be read names
nothing. Several ballots may be asked for, of which a candidate needs so many votes. The same answer
may name pairs that belong together or contradict each other: maintenance ties the first, and asks a
person about the others.

The judge runs on every third turn and whenever the topic has changed. A "forked" judge that reuses
the host's own prompt cache would need the host's model and context, which no host lends:
docs/why-language-model.md.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from reverie.core.model import Memory
from reverie.llm.language_model import BadAnswer, LlmRequest
from reverie.llm.prompt_format import FENCE_RULES, fence_rows, iter_json_values, require_numbers
from reverie.text.host_messages import HostMessage
from reverie.text.tokenization import shorten_line

MAX_CANDIDATES = 50
# The query's tail, a candidate's head.
MAX_QUERY_CHARS, MAX_CANDIDATE_CHARS = 4_000, 600
# Turns from one judgement to the next while the topic stays.
JUDGE_CADENCE = 3
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

# What hosts put around what people say, and what tools print: a judge would judge that.
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
    """The numbers of the candidates that help, best first, and pairs of numbers with their
    relation.
    """

    use: tuple[int, ...]
    related: tuple[tuple[int, int, str], ...] = ()


def focus_conversation(window: Sequence[HostMessage], most: int = MAX_QUERY_CHARS) -> str:
    """What the judge is shown of a conversation, at most `most` characters.

    The last user message comes first, then the newest before it. Reminders, tool lines and tool
    errors are left out; if nothing is left, the raw text stands in.
    """
    spoken = []
    for message in window:
        text = strip_host_markup(message.text)
        if text and message.role not in (*TOOL_ROLES, *SYSTEM_ROLES):
            spoken.append((message.role, text))
    if not spoken:
        raw = "\n".join(message.text for message in window if message.role not in SYSTEM_ROLES)
        return raw[-most:].strip()
    # First, so that it is whole however long the rest is.
    by_user = [place for place, (role, _) in enumerate(spoken) if role == "user"]
    role, text = spoken.pop(by_user[-1] if by_user else -1)
    first = f"{role}: {text[-(most - len(role) - 2) :]}"
    before = "\n".join(f"{role}: {text}" for role, text in spoken)
    left = most - len(first) - 1
    return f"{first}\n{before[-left:]}".strip() if left > 0 and before else first


def strip_host_markup(text: str) -> str:
    """A message without what hosts and tools put into it."""
    for pattern in (_REMINDER, _TOOL_ERROR, _TOOL_LINE):
        text = pattern.sub("", text)
    return re.sub(r"\n{2,}", "\n", text).strip()


def build_judge_request(
    query: str,
    candidates: Sequence[Memory],
    seconds: float,
) -> LlmRequest:
    """The question about these candidates; `query` is the conversation as `focus_conversation`
    shows it.
    """
    rows: list[dict[str, Any]] = [{"conversation": query}]
    rows += [
        {
            "n": n,
            "kind": m.kind,
            "note": shorten_line(m.text, MAX_CANDIDATE_CHARS),
        }
        for n, m in enumerate(candidates[:MAX_CANDIDATES], 1)
    ]
    return LlmRequest(
        TASK,
        INSTRUCTIONS,
        fence_rows(rows),
        max_tokens=1_000,
        timeout_seconds=seconds,
    )


def read_judgement(text: str, count: int) -> Judgement:
    """The judgement of an answer: {"use": [3, 1]} or just [3, 1], prose around it or not.

    `count` is how many candidates were shown. BadAnswer if there is no list of numbers, or if there
    are several different ones and none of them ends the answer.
    """
    # A model may think aloud in lists before it decides: the one that ends the answer counts.
    found: list[tuple[Judgement, bool]] = []
    for value, is_last in iter_json_values(text):
        with suppress(BadAnswer):
            found.append((judgement_from_json(value, count), is_last))
    if not found:
        raise BadAnswer("no list of numbers")
    judgement, is_last = found[-1]
    distinct = {one.use for one, _ in found}
    if len(distinct) > 1 and not is_last:
        raise BadAnswer("several lists of numbers, and none of them last")
    return judgement


def judgement_from_json(value: Any, count: int) -> Judgement:
    """The judgement in a list of numbers, or in an object that holds one."""
    if isinstance(value, dict):
        return Judgement(
            tuple(require_numbers(value.get("use"), count)),
            read_related_pairs(value.get("related"), count),
        )
    return Judgement(tuple(require_numbers(value, count)))


def read_related_pairs(
    value: Any,
    count: int,
) -> tuple[tuple[int, int, str], ...]:
    """The pairs that can be read, (number, number, relation); a bad suggestion spoils nothing."""
    pairs = []
    for row in (value if isinstance(value, list) else [])[:MAX_PAIRS]:
        if not isinstance(row, list) or len(row) != 3 or row[2] not in RELATED:
            continue
        a, b, relation = row
        # A bool is no number, though Python says so.
        if a != b and all(type(n) is int and 1 <= n <= count for n in (a, b)):
            pairs.append((a, b, relation))
    return tuple(pairs)


def count_ballots(ballots: Sequence[Judgement | None], agree: int) -> Judgement | None:
    """What several ballots say together: the most votes first, then the best place, then by number.

    A candidate needs `agree` votes. A failed ballot (None) is neutral: it neither votes nor lowers
    how many votes are needed. None if all of them failed.
    """
    cast = [ballot for ballot in ballots if ballot is not None]
    if not cast:
        return None
    places: dict[int, list[int]] = {}
    for ballot in cast:
        for place, number in enumerate(ballot.use):
            places.setdefault(number, []).append(place)
    chosen = [number for number, votes in places.items() if len(votes) >= agree]
    # Ties by number, which is the order in which search ranked them.
    chosen.sort(key=lambda number: (-len(places[number]), min(places[number]), number))
    pairs = dict.fromkeys(pair for ballot in cast for pair in ballot.related)
    return Judgement(tuple(chosen), tuple(pairs))


def is_judge_due(
    turn: int,
    last: int | None,
    *,
    changed: bool,
) -> bool:
    """True if the judge runs on this turn, having run on turn `last` (None: never)."""
    return last is None or changed or turn - last >= JUDGE_CADENCE
