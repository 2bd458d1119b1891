"""Conversations with what is needed of them later, as the window sees them.

Chats are those of bench-data: what is needed is the evidence of each question, which the window
never sees. Agents' work is in `agents/*.json`, made by hand in the shapes of both providers (the
long files that they read are pieces of this repository), with what later steps needed: the words
that hold it, and the messages these stand in. Half of everything is for choosing constants
("chosen"), the other half for reporting ("held out").
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.retrieval import data

AGENTS = Path(__file__).with_name("agents")
CHOSEN = {
    "locomo": ("conv-26", "conv-41", "conv-43"),
    "beam-100k": tuple(f"100k-{n}" for n in range(1, 6)),
    "agents": ("retry-queue", "flaky-test", "csv-import"),
}


@dataclass(frozen=True, slots=True)
class Need:
    """Something asked later: the question, and the places of the messages that hold
    what it needs.
    """

    question: str
    places: frozenset[int]
    evidence: tuple[str, ...] = ()  # words that hold it; none: the messages as wholes


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation."""

    set: str
    name: str
    messages: tuple[dict[str, Any], ...]
    ids: tuple[str, ...]  # published ids of the messages, or their places
    needs: tuple[Need, ...]

    @property
    def held_out(self) -> bool:
        """Whether no constant was chosen on it."""
        return self.name not in CHOSEN[self.set]


def chats(root: Path | None, name: str) -> list[Talk]:
    """The conversations of a set; whoever speaks first is the user."""
    dataset = data.load(name, root)
    talks = []
    for corpus, rows in dataset.corpora.items():
        speakers = {rows[0].speaker: "user"}
        messages = tuple(
            {
                "role": speakers.setdefault(row.speaker, "assistant"),
                "content": row.text,
                "at": row.at,
            }
            for row in rows
        )
        place = {row.id: number for number, row in enumerate(rows)}
        needs = tuple(
            Need(q.text, found)
            for q in dataset.questions
            if q.corpus == corpus
            if (found := frozenset(place[id] for id in q.gold if id in place))
        )
        talks.append(Talk(name, corpus, messages, tuple(row.id for row in rows), needs))
    return talks


@lru_cache
def agents() -> list[Talk]:
    """The agents' work."""
    talks = []
    for path in sorted(AGENTS.glob("*.json")):
        one = json.loads(path.read_text("utf-8"))
        needs = tuple(
            Need(need["question"], frozenset(need["messages"]), tuple(need["evidence"]))
            for need in one["needs"]
        )
        messages = tuple(one["messages"])
        talks.append(
            Talk("agents", path.stem, messages, tuple(map(str, range(len(messages)))), needs)
        )
    return talks
