"""Labelled sessions of real coding agents, in a folder that is not part of this project.

`messages.jsonl`, `sessions.jsonl`, `labels.jsonl` and `queries.jsonl` in the form that their
README tells; REVERIE_SESSIONS or `--sessions` names the folder.
"""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from reverie import Mind


class Label(NamedTuple):
    """Something worth remembering: every pattern occurs in a text that carries it."""

    id: str
    session: str
    patterns: tuple[re.Pattern[str], ...]

    def is_met_by(self, text: str) -> bool:
        """True if a text carries it."""
        return all(pattern.search(text) for pattern in self.patterns)


class Prompt(NamedTuple):
    """A prompt of a week later; `needs` are lists of labels any of which will do."""

    text: str
    language: str
    project: str  # "" for one that belongs to none
    needs: tuple[tuple[str, ...], ...]


class LabelledSessions(NamedTuple):
    """Sessions in the order in which they happened, their labels and prompts."""

    sessions: list[tuple[str, str, list[dict[str, Any]]]]  # project, session, messages
    labels: dict[str, Label]
    prompts: list[Prompt]

    @property
    def projects(self) -> list[str]:
        """The projects, in order of their names."""
        return sorted({project for project, _, _ in self.sessions})

    def sessions_of(self, project: str) -> list[str]:
        """The sessions of a project, in order."""
        return [session for of, session, _ in self.sessions if of == project]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def load_sessions(folder: Path) -> LabelledSessions:
    """All of it."""
    messages = defaultdict(list)
    for message in read_lines(folder / "messages.jsonl"):
        said = {"role": message["role"], "content": message["content"]}
        if message.get("at"):
            said["at"] = message["at"]
        messages[message["session"]].append(said)
    rows = read_lines(folder / "sessions.jsonl")
    rows.sort(key=lambda row: (row["repo"], row.get("start") or 0, row["session"]))
    sessions = [(row["repo"], row["session"], messages[row["session"]]) for row in rows]
    labels = {
        row["id"]: Label(
            row["id"],
            row["session"],
            tuple(re.compile(pattern, re.IGNORECASE | re.ASCII) for pattern in row["all_of"]),
        )
        for row in read_lines(folder / "labels.jsonl")
    }
    prompts = [
        Prompt(row["q"], row["lang"], row["repo"] or "", tuple(map(tuple, row["gold"])))
        for row in read_lines(folder / "queries.jsonl")
    ]
    return LabelledSessions(sessions, labels, prompts)


def space_of(project: str) -> str:
    """The space of a project."""
    return "me/" + project.rpartition("/")[2].lower()


def learn_sessions(mind: Mind, data: LabelledSessions) -> None:
    """Have all sessions learned, each in the space of its project, and settled."""
    for project, session, messages in data.sessions:
        mind.learn(messages, space=space_of(project), session=session)
    mind.settle()
