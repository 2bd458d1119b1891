"""The labelled sessions: `sessions/*.jsonl` (a message a line) and `labels.jsonl` (what is worth
keeping, and traps).

A label with a `kind` is a memory that a careful colleague would have written down: `quote` is where
it stands, `text` how it would be kept, `also` other kinds that are as good. A label with a `trap`
is something that must not be kept, and why. `passes.jsonl` has what each of two passes of
labelling, the second blind to the first and in another order, said about every message of a user
before they were resolved; both are by the same hand, which also wrote the sessions.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent


class Session(NamedTuple):
    """One session: its messages as (role, text), its gold memories and its traps."""

    name: str
    messages: tuple[tuple[str, str], ...]
    gold: tuple[dict[str, Any], ...]
    traps: tuple[dict[str, Any], ...]


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def sessions() -> list[Session]:
    """All of them, by name."""
    labels = rows(HERE / "labels.jsonl")
    found = []
    for path in sorted((HERE / "sessions").glob("*.jsonl")):
        mine = [label for label in labels if label["session"] == path.stem]
        found.append(
            Session(
                path.stem,
                tuple((m["role"], m["content"]) for m in rows(path)),
                tuple(m for m in mine if "kind" in m),
                tuple(m for m in mine if "trap" in m),
            )
        )
    return found


def halves() -> dict[str, list[Session]]:
    """Develop and held-out, by the hash of a session's name: every second one in that order."""
    ordered = sorted(sessions(), key=lambda s: sha256(s.name.encode()).hexdigest())
    return {"develop": ordered[::2], "held-out": ordered[1::2]}


def agreement() -> dict[str, float]:
    """How far the two passes of labelling agreed on the messages of users: keep anything or not,
    and the kinds.
    """
    said = rows(HERE / "passes.jsonl")
    same = sum(bool(row["first"]) == bool(row["second"]) for row in said) / len(said)
    yes = [sum(bool(row[name]) for row in said) / len(said) for name in ("first", "second")]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    both = [row for row in said if row["first"] and row["second"]]
    return {
        "messages": len(said),
        "same": same,
        "kappa": (same - chance) / (1 - chance),
        "same_kinds": sum(row["first"] == row["second"] for row in both) / len(both),
    }
