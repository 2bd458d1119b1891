"""The labelled sessions as values: fourteen stores of 15 to 40 memories, and what a developer types
beside each.

They are made by hand and lie readable in `sessions/*.jsonl`. A line is a memory (`memory`, `kind`,
`by` = provenance, `days` old, `everywhere` = about the user and not one project, `triggers`,
`text`) or a turn (`turn`, `session` = which of the store's conversations, `says`, `needs`, `votes`,
and what the agent `answer`ed where that matters).

A turn *needs* a memory if the agent's next step would be wrong, or a question would go unanswered,
without it. What always holds (short answers, no emojis) is needed by no turn in particular. Each
turn was labelled twice: when it was written, and again in another order, without sight of the first
label; `needs` is what was agreed on afterwards.

The five stores whose names have the lowest SHA-256 are held out: nothing is fitted on them.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).with_name("sessions")
HELD_OUT = 5
LOOKS = Path(__file__).with_name("looks.txt")
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Note:
    """A memory of a store."""

    key: str
    kind: str
    by: str
    days: int
    text: str
    everywhere: bool
    triggers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A turn: what the developer types, which memories it needs, and what the agent answers."""

    id: str
    session: int
    text: str
    needs: frozenset[str]
    votes: tuple[frozenset[str], ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Desk:
    """A developer's project: what is remembered, and what is said."""

    name: str
    notes: tuple[Note, ...]
    turns: tuple[Said, ...]


def read(path: Path) -> Desk:
    """One store with its turns."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return Desk(
        path.stem,
        tuple(note(row) for row in rows if "memory" in row),
        tuple(turn(row) for row in rows if "turn" in row),
    )


def note(row: dict[str, object]) -> Note:
    return Note(
        str(row["memory"]),
        str(row["kind"]),
        str(row["by"]),
        int(str(row["days"])),
        str(row["text"]),
        bool(row.get("everywhere")),
        tuple(map(str, row.get("triggers", ()))),  # type: ignore[call-overload]
    )


def turn(row: dict[str, object]) -> Said:
    votes = tuple(frozenset(map(str, vote)) for vote in row["votes"])  # type: ignore[attr-defined]
    return Said(
        str(row["turn"]),
        int(str(row["session"])),
        str(row["says"]),
        frozenset(map(str, row["needs"])),  # type: ignore[call-overload]
        votes,
        str(row.get("answer", "")),
    )


@lru_cache(maxsize=1)
def desks() -> tuple[Desk, ...]:
    """All stores, in order of name."""
    return tuple(read(path) for path in sorted(FOLDER.glob("*.jsonl")))


def held_out() -> frozenset[str]:
    """The names of the stores that nothing is fitted on."""
    return frozenset(
        sorted((desk.name for desk in desks()), key=lambda n: sha256(n.encode()).hexdigest())[
            :HELD_OUT
        ]
    )


def look(at: str) -> None:
    """Count one more look at the held-out part, with what was looked at."""
    before = len(LOOKS.read_text("utf-8").splitlines()) if LOOKS.exists() else 0
    with LOOKS.open("a", encoding="utf-8") as looks:
        looks.write(f"{before + 1}. {at}\n")


def agreement() -> dict[str, float]:
    """How far the two votes agree: the share of turns with equal labels, and Cohen's kappa on
    "needs something".
    """
    votes = [turn.votes for desk in desks() for turn in desk.turns]
    same = sum(a == b for a, b in votes) / len(votes)
    both = sum(bool(a) == bool(b) for a, b in votes) / len(votes)
    first, second = (sum(bool(vote[i]) for vote in votes) / len(votes) for i in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    return {"turns": len(votes), "equal": same, "kappa": (both - chance) / (1 - chance)}
