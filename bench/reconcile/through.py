"""Groups of restatements through the whole of it: a real store, the real model, remember, settle,
sleep.

Each wording comes from a session of its own, in shuffled order, alone or among 200 memories about
other things and ten or more that say something else about the same subject. Counted: the memories
that hold wordings (target: 1), the strength of the largest (target: the size of the group), and
wrong moves: a wording that was merged into another subject's memory or into one that contradicts
it, one that was taken for a replacement, and the other way round.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.common import table
from bench.reconcile.data import Said, fifties, fresh, last, pairs
from reverie.core.model import Memory
from reverie.embedding import Embedder, open_embedder
from reverie.embedding.vector_cache import CachedEmbedder
from reverie.runtime.mind import Mind
from reverie.testing import Clock, memory

SPACE = "me/demo"
UNRELATED = 200
SUBJECTS = {
    "test-first": ("test", "tdd", "code first"),
    "small-prs": ("pull", "pr ", "prs", "review", "merge"),
    "run-tests": ("test", "commit"),
    "utc": ("utc", "timestamp", "time zone"),
}
"""What a memory about something else does not speak of."""
COLUMNS = (
    "left, mean",
    "left, worst",
    "strongest, mean",
    "strongest, worst",
    "left after sleep, worst",
    "wrong, mean",
    "wrong, worst",
)
ORDERS = 5  # shuffles; the first order is that of the file


class Outcome(NamedTuple):
    """What became of one group in one order."""

    left: int  # memories that count and hold wordings of the group
    strongest: int  # wordings in the largest
    wrong: tuple[str, ...]  # in words: what was merged or replaced and should not have been


class Passage(NamedTuple):
    """One group once through: after settling, and after a night's sleep."""

    settled: Outcome
    slept: Outcome


def unrelated(group: str, subject: Sequence[str]) -> list[Said]:
    """Memories about other things: texts of labelled pairs of groups that share no word with this
    one.
    """
    olds = {
        text: row
        for row in (*pairs(), *fresh())
        for text in (row.old, row.new)
        if row.label == "apart"
    }
    stems = set(group.split("-")) | set(subject)
    other = [
        (text, row)
        for text, row in olds.items()
        if not stems & set(row.group.split("-"))
        and not any(stem in text.lower() for stem in subject)
    ]
    return [
        Said(row.group, row.kind, "apart", text)
        for text, row in random.Random(7).sample(other, UNRELATED)
    ]


def passed(said: Sequence[Said], embedder: Embedder, seed: int) -> Passage:
    """Remember all in this order, each in a session of its own; settle; sleep."""
    order = list(said)
    if seed:
        random.Random(seed).shuffle(order)
    with TemporaryDirectory() as home:
        clock = Clock()
        with memory(home, now=clock, embedder=embedder) as mind:
            labels = {}
            for place, one in enumerate(order):
                clock.tick()
                kept = mind.remember(
                    one.text,
                    space=SPACE,
                    kind=one.kind,
                    session=f"s{place}",
                    provenance="user_stated",
                )
                labels[kept.id] = one.label
            mind.settle()
            settled = outcome(mind, labels)
            clock.tick()
            mind.sleep()
            return Passage(settled, outcome(mind, labels))


def outcome(mind: Mind, labels: dict[str, str]) -> Outcome:
    """Count what is there."""
    there = {m.id: m for m in mind.get(list(labels))}
    heads: dict[str, list[str]] = {}
    wrong = []
    for id, label in labels.items():
        end = stands_for(there, id)
        if label == "same" and end is not None:
            heads.setdefault(end.id, []).append(id)
        m = there[id]
        if m.retired_why == "superseded" and (
            label == "same" or labels.get(m.superseded_by or "") == "apart"
        ):
            wrong.append(f"replaced: {m.text} | {there[m.superseded_by or id].text}")
        if (
            m.retired_why == "merged"
            and end is not None
            and end.id in labels
            and ((label == "same") != (labels[end.id] == "same"))
        ):
            wrong.append(f"merged: {m.text} | {end.text}")
    return Outcome(len(heads), max(map(len, heads.values()), default=0), tuple(wrong))


def stands_for(there: dict[str, Memory], id: str) -> Memory | None:
    """The memory that stands for this one in the end."""
    memory = there.get(id)
    while memory and memory.retired_why == "merged":
        memory = there.get(memory.superseded_by or "")
    return memory if memory and memory.active else None


def report(cache: Path) -> dict[str, Any]:
    """Every group of fifty in ORDERS orders, alone and among others: mean and worst, on the
    terminal and as a value.
    """
    embedder = CachedEmbedder(
        open_embedder("minilm", cache=cache if (cache / "models").exists() else cache / "cache"), {}
    )
    found: dict[str, Any] = {}
    for which, groups in (("known", fifties()), ("last", last())):
        for group, said in groups.items():
            for among in (False, True):
                rows = [one for one in said if among or one.label == "same"]
                rows += unrelated(group, SUBJECTS[group]) if among else []
                name = f"{group}, {which}" + (", among others" if among else "")
                found[name] = summed([passed(rows, embedder, seed) for seed in range(ORDERS)])
    embedder.close()
    print()
    table(
        [[name, *(row[key] for key in COLUMNS)] for name, row in found.items()],
        ["50 wordings", *COLUMNS],
    )
    return found


def summed(passages: Sequence[Passage]) -> dict[str, Any]:
    """Mean and worst over the orders."""
    settled, slept = [one.settled for one in passages], [one.slept for one in passages]
    return {
        "left, mean": mean(one.left for one in settled),
        "left, worst": max(one.left for one in settled),
        "strongest, mean": mean(one.strongest for one in settled),
        "strongest, worst": min(one.strongest for one in settled),
        "left after sleep, worst": max(one.left for one in slept),
        "wrong, mean": mean(len(one.wrong) for one in slept),
        "wrong, worst": max(len(one.wrong) for one in slept),
        "what was wrong": sorted({line for one in slept for line in one.wrong}),
    }
