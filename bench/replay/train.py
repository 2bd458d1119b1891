"""Learn the plan's coefficients, and say how well they do on repositories they have not seen.

    python -m bench.replay.train [--runner PATH] [--data PATH] [--words] [--write]

The signals come from the package itself, through a real store and a real index
(`bench.replay.adapter`), so what is learned is what runs. The loss sets each file that a task
changed against all that it did not (softmax), with an L2 penalty on standardised columns; every
task counts the same. The tasks between those that are evaluated are learned from, too, with the
tree of the one before. Folds leave whole repositories out, and all figures are of those.
"""

import argparse
import json
import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from bench.common import save
from bench.replay.adapter import Reverie, Words
from bench.replay.runner import load_runner
from reverie.code.planning import file_ranker
from reverie.code.planning.plan_reasons import REASON_KINDS, to_signal_name

PENALTY = 5e-3
STEPS = 150
SETS = {
    "code and tasks": (),
    "tasks": ("code", "code three"),
    "words": ("code", "code three", "meant", "meant best", "meant lately"),
}
LAYERS = {
    "code": [name for name, kind in REASON_KINDS.items() if kind == "says"]
    + ["size", "chunks", "entrance", "depth", "folder size"],
    "names and paths": [name for name, kind in REASON_KINDS.items() if kind == "called"],
    "past tasks": [name for name, kind in REASON_KINDS.items() if kind == "done"],
    "habit": [name for name, kind in REASON_KINDS.items() if kind == "busy"] + ["age", "alone"],
    "meaning": ["code", "code three", "meant", "meant best", "meant lately"],
}
TARGET = Path(file_ranker.__file__).with_name("file_ranker.json")


class Case(NamedTuple):
    """One task with its files as numbers."""

    repository: str
    record: dict[str, Any]  # as the runner evaluates it; empty for a task that is only learned from
    paths: list[str]
    names: list[str]  # of the columns
    table: np.ndarray
    gold: np.ndarray


def cases(file: str, runner: Any, adapter: Reverie) -> Iterator[Case]:
    """The tasks of a repository, from the first that is evaluated on."""
    source = runner.sources.FactsSource(file)
    world, wanted = runner.world.World(source, runner.extract.is_src), set(source.selected)
    shown: dict[str, str] = {}
    for place, task in enumerate(source.tasks):
        evaluated = place in wanted
        if evaluated:
            world.checkout(task)
            adapter.update_tree(
                {
                    path: source.content(path, blob)
                    for path, blob in world.blob.items()
                    if shown.get(path) != blob
                },
                [path for path in shown if path not in world.blob],
            )
            shown = dict(world.blob)
        gold = [path for path in task.gold_src if path in shown]
        if gold and (evaluated or task.eligible):
            found = adapter.ranked(task.text)
            record = recorded(runner, world, task, gold, source.name) if evaluated else {}
            yield Case(
                source.name,
                record,
                found.tree.paths,
                list(found.columns),
                np.stack(list(found.columns.values()), 1).astype(np.float32),
                np.isin(found.tree.paths, gold),
            )
        for old, new in task.renames:
            adapter.rename(old, new)
        adapter.observe_task(task.text, list(task.touched), list(task.edits), task.time)


def recorded(
    runner: Any, world: Any, task: Any, gold: list[str], repository: str
) -> dict[str, Any]:
    """What the runner needs to play a task."""
    hits = runner.agent.grep_hits(world, task.text)
    return {
        "repo": repository,
        "sha": task.sha,
        "gold": gold,
        "moves": {
            name: runner.agent.script(world, task.text, hits, name)
            for name in runner.agent.FALLBACKS
        },
    }


def learned(some: Sequence[Case], without: Sequence[str]) -> dict[str, float]:
    """The coefficients, by column."""
    kept = [place for place, name in enumerate(some[0].names) if not of(name, without)]
    table = np.concatenate([case.table[:, kept] for case in some])
    scale = table.std(0) + 1e-6
    table = (table - table.mean(0)) / scale
    sizes = np.array([len(case.paths) for case in some])
    starts, task = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(some)), sizes)
    gold = np.concatenate([case.gold for case in some]).astype(np.float32)
    share = gold / np.add.reduceat(gold, starts)[task] / len(some)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        score = table @ weights.astype(np.float32)
        score -= np.maximum.reduceat(score, starts)[task]
        odds = np.exp(score)
        others = np.add.reduceat(odds * (1 - gold), starts)[task]
        pull = share / (odds + others)
        slope = np.where(gold > 0, pull * odds - share, odds * np.add.reduceat(pull, starts)[task])
        return (
            float((share * (np.log(odds + others) - score)).sum() + PENALTY * (weights**2).sum()),
            (table.T @ slope).astype(float) + 2 * PENALTY * weights,
        )

    weights = (
        minimize(
            loss, np.zeros(len(kept)), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
        ).x
        / scale
    )
    return {
        some[0].names[place]: float(f"{weight:.4g}")
        for place, weight in zip(kept, weights, strict=True)
    }


def of(column: str, signals: Sequence[str]) -> bool:
    """Whether a column is a form of one of these signals, or of a variant of one."""
    plain = column.removesuffix(" place").removesuffix(" log")
    return plain in signals or to_signal_name(column) in signals


def held_out(some: Sequence[Case], without: Sequence[str]) -> dict[str, list[str]]:
    """For each evaluated task the files in order, by coefficients of the other repositories."""
    orders: dict[str, list[str]] = {}
    for repository in sorted({case.repository for case in some}):
        weights = learned([case for case in some if case.repository != repository], without)
        for case in some:
            if case.repository == repository and case.record:
                likely = file_ranker.compute_likelihoods(
                    dict(zip(case.names, case.table.T, strict=True)), weights, len(case.paths)
                )
                orders[case.record["sha"]] = [
                    case.paths[place] for place in np.argsort(-likely, kind="stable")[:20]
                ]
    return orders


def figures(some: Sequence[Case], orders: dict[str, list[str]], runner: Any) -> dict[str, float]:
    """What the runner says of these orders."""
    records = [case.record for case in some if case.record]
    found: dict[str, float] = {}
    for family in ("grep", "search"):
        row = runner.evaluate.table(
            records, {"plan": lambda record: orders[record["sha"]]}, family
        )["plan"]
        found |= {f"{family} reduction": row["reduction"], f"{family} calls": row["calls"]}
        found |= {name: row[name] for name in ("r1", "r5", "r10", "map")}
    return found


def main() -> int:
    """See the module."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--runner", type=Path, default=Path("../shared/replay-bench"))
    asked.add_argument("--data", type=Path, default=Path("../shared/bench-data/replay"))
    asked.add_argument(
        "--words", action="store_true", help="without a model: minutes instead of half an hour"
    )
    asked.add_argument(
        "--keep", type=Path, help="a file for the cases, so that learning again is quick"
    )
    asked.add_argument(
        "--write", action="store_true", help="ship what was learned from all repositories"
    )
    options = asked.parse_args()
    replay = load_runner(options.runner)
    if replay is None:
        return 2
    if options.keep and options.keep.exists():
        words, some = pickle.loads(options.keep.read_bytes())
        if words != options.words:
            print(
                f"{options.keep} was made {'without' if words else 'with'} a model: name another",
                file=sys.stderr,
            )
            return 2
    else:
        some = []
        for file in sorted(options.data.glob("*.json.xz")):
            with closing(Words() if options.words else Reverie()) as adapter:
                some += cases(str(file), replay, adapter)
        if options.keep:
            options.keep.write_bytes(pickle.dumps((options.words, some)))
    result: dict[str, Any] = {
        "tasks": sum(bool(case.record) for case in some),
        "learned from": len(some),
    }
    known = {"words": SETS["words"]} if options.words else SETS
    for name, without in known.items():
        result[name] = figures(some, held_out(some, without), replay)
        print(
            f"{name}: " + ", ".join(f"{key} {value:.3f}" for key, value in result[name].items()),
            flush=True,
        )
    name, whole = next(iter(known.items()))
    for layer, signals in LAYERS.items():
        result[f"{name} without {layer}"] = figures(
            some, held_out(some, (*whole, *signals)), replay
        )
        print(
            f"{name} without {layer}: grep {result[f'{name} without {layer}']['grep reduction']:.3f}",
            flush=True,
        )
    if options.write:
        weights = {
            **file_ranker.load_coefficients(),
            **{name: learned(some, without) for name, without in known.items()},
        }
        TARGET.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")
    save("replay", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
