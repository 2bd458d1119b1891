"""The labelled pairs and restatements, in two halves that share no group.

`pairs.jsonl`: one pair a line, `old` was known when `new` came; all pairs of a group have the same
`old`. `fresh.jsonl`: the same, written last; used for nothing but a final look. `givenup.jsonl`:
the same, about what a new text gives up and about values that must be equal to the letter; about
half of what announces a change is about something else. Its two halves are measured apart from the
other pairs. `restatements.jsonl`: one text a line; the texts of a group say the same thing in
different words. `against.jsonl`: for the groups of fifty, ten texts each that contradict or only
resemble them. `last.jsonl`: two more groups of fifty, terse, chatty, asking, passive, giving
reasons; with contradictions and near misses. A group belongs to the half that the SHA-256 of its
name says: whoever adds a group cannot choose.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
HALVES = ("develop", "held out")
MANY = 50  # wordings of a group that is fed through the whole of settling


class Pair(NamedTuple):
    group: str
    kind: str
    label: str
    subtle: bool
    old: str
    new: str


class Said(NamedTuple):
    """One text of a subject: a wording of it ("same"), or what is "against" it, "near" it or
    "apart".
    """

    group: str
    kind: str
    label: str
    text: str


def half(group: str) -> str:
    """Which half a group belongs to."""
    return HALVES[sha256(group.encode()).digest()[0] % 2]


def pairs(of: str = "") -> list[Pair]:
    """The labelled pairs of one half, or all."""
    rows = [
        Pair(**json.loads(line)) for line in (HERE / "pairs.jsonl").read_text("utf-8").splitlines()
    ]
    return [row for row in rows if of in ("", half(row.group))]


def fresh() -> list[Pair]:
    """Pairs written after features and rules were settled and never used for either."""
    return [
        Pair(**json.loads(line)) for line in (HERE / "fresh.jsonl").read_text("utf-8").splitlines()
    ]


def givenup(of: str = "") -> list[Pair]:
    """The pairs of one half, or all, in which something is given up or spelt otherwise."""
    rows = [
        Pair(**json.loads(line))
        for line in (HERE / "givenup.jsonl").read_text("utf-8").splitlines()
    ]
    return [row for row in rows if of in ("", half(row.group))]


def restatements(of: str = "") -> dict[str, tuple[str, list[str]]]:
    """Group → (kind, texts), of one half, or all."""
    found: dict[str, tuple[str, list[str]]] = defaultdict(lambda: ("", []))
    for line in (HERE / "restatements.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if of in ("", half(row["group"])):
            found[row["group"]] = (row["kind"], [*found[row["group"]][1], row["text"]])
    return dict(found)


def fifties() -> dict[str, list[Said]]:
    """The groups of fifty with what speaks against them; "test-first" is of the half for
    developing.
    """
    found = {
        name: [Said(name, kind, "same", text) for text in members]
        for name, (kind, members) in restatements().items()
        if len(members) >= MANY
    }
    for one in subjects("against"):
        found[one.group].append(one)
    return found


def last() -> dict[str, list[Said]]:
    """Two further groups of fifty, in other manners of writing, with 35 others each; for a look at
    the very end.
    """
    found: dict[str, list[Said]] = defaultdict(list)
    for one in subjects("last"):
        found[one.group].append(one)
    return dict(found)


def subjects(name: str) -> list[Said]:
    """The texts of `against.jsonl` or `last.jsonl`."""
    return [
        Said(**json.loads(line))
        for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]


def texts(rows: Sequence[Pair], groups: dict[str, tuple[str, list[str]]]) -> list[str]:
    """Every text once, in order."""
    said = [text for row in rows for text in (row.old, row.new)]
    return sorted({*said, *(text for _, members in groups.values() for text in members)})
