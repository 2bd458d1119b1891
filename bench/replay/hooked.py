"""`python -m bench.replay.hooked`: what the plan that hooks give by itself is worth.

    python -m bench.replay.hooked [--runner PATH] [--data PATH] [--count N] [--keep DIR] [--write]
    python -m bench.replay.hooked --git PATH [--count N]

Each task of a repository is a first prompt; so is a task of another repository, and a prompt of a
labelled session about something else, of which nothing should be said. The files that were given
are held against those that the commit changed. The baselines open as many files in the same tasks:
the scripted agent's grep by the prompt's words, and its one ranked search.

The ranker is learned with the repository left out that it is asked about. The gate ("sure enough")
is learned on every other repository, and all figures are of the rest: it has not seen them.
`--write` ships the gate. With `--git` it is asked what is shipped of a repository of your own, with
its real text, that neither has seen; there the tokens are counted too. Without a model.
"""

import argparse
import json
import pickle
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from bench.common import save
from bench.replay.adapter import SPACE, Reverie, Words
from bench.replay.runner import load_runner
from bench.replay.train import SETS, Case, learned, recorded
from reverie.code.planning import file_ranker, sure_files
from reverie.code.planning.sure_files import Evidence, measure_evidence
from reverie.text.token_counts import estimate_tokens

PENALTY = 1e-3
BASELINES = ("grep", "search")
TARGET = Path(sure_files.__file__).with_suffix(".json")


class PromptCase(NamedTuple):
    """A prompt in a repository, with what speaks for each of its files."""

    repository: str
    kind: str  # "task", of this repository; "foreign", of another one; "talk"
    text: str
    paths: list[str]
    names: list[str]  # of the columns
    table: np.ndarray
    evidence: Evidence
    gold: np.ndarray
    record: dict[str, Any]  # as the runner plays it; empty for what is no task here
    shipped: np.ndarray  # how likely the shipped coefficients say that each file is


class Given(NamedTuple):
    """What was given with a prompt, and what was changed."""

    kind: str
    files: list[str]  # that were sure enough
    others: list[str]  # that were named after them
    changed: list[str]
    # what each scripted agent would do: calls spent on searching, and the file opened then
    moves: Mapping[str, list[tuple[int, str]]]
    tokens: int = 0


def gather_cases(
    source: Any, runner: Any, adapter: Reverie, others: Sequence[tuple[str, str]], count: int
) -> Iterator[PromptCase]:
    """The last `count` tasks of a repository, and with each a prompt that is none of it."""
    draw = random.Random(source.name)
    for world, task in play(source, runner, adapter, count):
        gold = [path for path in task.gold_src if path in world.blob]
        if gold:
            record = recorded(runner, world, task, gold, source.name)
            yield make_case(adapter, source.name, ("task", task.text), record)
            yield make_case(adapter, source.name, draw.choice(others), {})


def play(source: Any, runner: Any, adapter: Reverie, count: int) -> Iterator[tuple[Any, Any]]:
    """The past of a repository is told; each of its last tasks comes up at its time."""
    world = runner.world.World(source, runner.extract.is_src)
    wanted = set(runner.sources.select(source.tasks, count))
    shown: dict[str, str] = {}
    for place, task in enumerate(source.tasks):
        if place in wanted:
            world.checkout(task)
            changed = {p: source.content(p, b) for p, b in world.blob.items() if shown.get(p) != b}
            adapter.update_tree(changed, [path for path in shown if path not in world.blob])
            shown = dict(world.blob)
            yield world, task
        for old, new in task.renames:
            adapter.rename(old, new)
        adapter.observe_task(task.text, list(task.touched), list(task.edits), task.time)


def make_case(
    adapter: Reverie, repository: str, asked: tuple[str, str], record: dict[str, Any]
) -> PromptCase:
    """What speaks for each file at one prompt."""
    found = adapter.ranked(asked[1])
    return PromptCase(
        repository,
        *asked,
        list(found.tree.paths),
        list(found.columns),
        np.stack(list(found.columns.values()), 1).astype(np.float32),
        measure_evidence(found),
        np.isin(found.tree.paths, record.get("gold", [])),
        record,
        found.likely.astype(np.float32),
    )


def compute_left_out(cases: Sequence[PromptCase]) -> list[np.ndarray]:
    """The likelihoods at each prompt, by coefficients of the other repositories."""
    weights = {}
    for repository in {case.repository for case in cases}:
        others = [
            Case(case.repository, {}, case.paths, case.names, case.table, case.gold)
            for case in cases
            if case.kind == "task" and case.repository != repository
        ]
        weights[repository] = learned(others, SETS["words"])
    return [
        file_ranker.compute_likelihoods(
            dict(zip(case.names, case.table.T.astype(float), strict=True)),
            weights[case.repository],
            len(case.paths),
        )
        for case in cases
    ]


def learn_gate(cases: Sequence[PromptCase], likely: Sequence[np.ndarray]) -> dict[str, float]:
    """The coefficients of the chance that a file among the likeliest is changed."""
    rows, gold = [], []
    for case, one in zip(cases, likely, strict=True):
        places = [int(n) for n in np.argsort(-one, kind="stable")[: sure_files.MAX_LOOKED_AT]]
        signals = sure_files.list_gate_signals(one, case.evidence, places)
        rows.append(np.stack(list(signals.values()), 1))
        gold.append(case.gold[places].astype(float))
    table, changed = np.concatenate(rows), np.concatenate(gold)
    shrunk = np.array([name != "base" for name in signals], float)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        score = table @ weights
        slope = table.T @ (1 / (1 + np.exp(-score)) - changed) / len(changed)
        value = np.mean(np.logaddexp(0, score) - changed * score)
        return (
            float(value + PENALTY * (shrunk * weights**2).sum()),
            slope + 2 * PENALTY * shrunk * weights,
        )

    weights = minimize(loss, np.zeros(len(signals)), jac=True).x
    return {name: float(f"{one:.4g}") for name, one in zip(signals, weights, strict=True)}


def give(case: PromptCase, likely: np.ndarray, gate: Mapping[str, float]) -> Given:
    """What a hook would give at a prompt."""
    sure = sure_files.pick_sure_files(likely, case.evidence, gate)
    files = [case.paths[one.place] for one in sure]
    others = [case.paths[place] for place in sure_files.list_next_files(likely, sure)]
    changed, moves = case.record.get("gold", []), case.record.get("moves", {})
    return Given(case.kind, files, others, changed, moves)


def measure_saved(tasks: Sequence[Given], name: str, runner: Any) -> float:
    """The share of its calls that a scripted agent saves by what it was given, over all tasks."""
    alone = told = 0
    for one in tasks:
        plain = runner.agent.replay(one.changed, None, one.moves[name]).calls
        alone += plain
        if one.files:
            # The runner counts a call for the plan, and nobody made one.
            plan = [*one.files, *one.others]
            told += runner.agent.replay(one.changed, plan, one.moves[name]).calls - 1
        else:
            told += plain
    return 1 - told / max(1, alone)


def figures(some: Sequence[Given], runner: Any) -> dict[str, float]:
    """What was given at tasks, how much of it was changed later, and what was given elsewhere."""
    tasks = [one for one in some if one.kind == "task"]
    told = [one for one in tasks if one.files]
    named = sum(len(one.files) for one in told)

    def precision(files: Sequence[Sequence[str]]) -> float:
        right = sum(
            len(set(one.changed).intersection(chosen))
            for one, chosen in zip(told, files, strict=True)
        )
        return right / max(1, sum(map(len, files)))

    found = {
        "tasks": float(len(tasks)),
        "given at tasks": len(told) / max(1, len(tasks)),
        "files a plan": named / max(1, len(told)),
        "precision": precision([one.files for one in told]),
        "recall of all named": sum(
            len(set(one.changed).intersection((*one.files, *one.others))) / len(one.changed)
            for one in told
        )
        / max(1, len(told)),
        "one is right": sum(not set(o.files).isdisjoint(o.changed) for o in told)
        / max(1, len(told)),
    }
    for name in BASELINES:
        opened = [[path for _, path in one.moves[name][: len(one.files)]] for one in told]
        found[f"precision of {name}"] = precision(opened)
        # Who always speaks names one file at every task.
        found[f"precision of {name} at all tasks"] = sum(
            path in one.changed for one in tasks for _, path in one.moves[name][:1]
        ) / max(1, len(tasks))
        found[f"calls saved, {name} agent"] = measure_saved(tasks, name, runner)
    for kind in ("foreign", "talk"):
        others = [one for one in some if one.kind == kind]
        if others:
            found[f"given at {kind}"] = sum(bool(one.files) for one in others) / len(others)
    if told and told[0].tokens:
        found["tokens a plan"] = sum(one.tokens for one in told) / len(told)
        found["most tokens"] = float(max(one.tokens for one in told))
    return found


def ask_shipped(
    source: Any, runner: Any, prompts: Sequence[tuple[str, str]], count: int
) -> Iterator[Given]:
    """What the shipped plan gives in a repository with its real text."""
    draw = random.Random(source.name)
    with closing(Words()) as adapter:
        for world, task in play(source, runner, adapter, count):
            gold = [path for path in task.gold_src if path in world.blob]
            if not gold:
                continue
            record = recorded(runner, world, task, gold, source.name)
            for kind, text in (("task", task.text), draw.choice(prompts)):
                brief = adapter.mind.planner.brief(text, root=adapter.root, space=SPACE)
                files = [file.path for file in brief.files]
                is_task = kind == "task"
                moves = record["moves"] if is_task else {}
                tokens = estimate_tokens(brief.text)
                others = list(brief.others)
                yield Given(kind, files, others, gold if is_task else [], moves, tokens)


def list_other_prompts(runner: Any, data: Path, without: str) -> list[tuple[str, str]]:
    """Prompts that are no task of a repository: as many of others as of labelled sessions."""
    texts = []
    for file in sorted(data.glob("*.json.xz")):
        source = runner.sources.FactsSource(str(file))
        if source.name != without:
            texts += [("foreign", source.tasks[place].text) for place in source.selected]
    sessions = data.parent / "sessions" / "queries.jsonl"
    if sessions.exists():
        asked = [json.loads(line)["q"] for line in sessions.read_text("utf-8").splitlines()]
        texts += [("talk", text) for text in random.Random(1).choices(asked, k=len(texts))]
    return texts


def load_cases(file: Path, runner: Any, options: argparse.Namespace) -> list[PromptCase]:
    """The prompts in one repository, as they were kept or gathered now."""
    kept = options.keep / f"{file.name}.pickle" if options.keep else None
    if kept and kept.exists():
        cases: list[PromptCase] = pickle.loads(kept.read_bytes())
        return cases
    source = runner.sources.FactsSource(str(file))
    others = list_other_prompts(runner, options.data, source.name)
    with closing(Words()) as adapter:
        cases = list(gather_cases(source, runner, adapter, others, options.count))
    if kept:
        kept.write_bytes(pickle.dumps(cases))
    return cases


def tell(name: str, found: Mapping[str, float]) -> None:
    """Print some figures."""
    print(f"{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()), flush=True)


def main() -> int:
    """See the module."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--runner", type=Path, default=Path("../shared/replay-bench"))
    asked.add_argument("--data", type=Path, default=Path("../shared/bench-data/replay"))
    asked.add_argument("--count", type=int, default=100)
    asked.add_argument("--git", type=Path, help="a git repository of your own")
    asked.add_argument("--keep", type=Path, help="a folder for what was gathered")
    asked.add_argument("--write", action="store_true", help="ship the gate")
    options = asked.parse_args()
    runner = load_runner(options.runner)
    if runner is None:
        return 0
    if options.git:
        source = runner.sources.GitSource("own/repository", str(options.git.resolve()))
        others = list_other_prompts(runner, options.data, source.name)
        tell("shipped", figures(list(ask_shipped(source, runner, others, options.count)), runner))
        return 0
    files = sorted(options.data.glob("*.json.xz"))
    cases = [case for file in files for case in load_cases(file, runner, options)]
    likely = compute_left_out(cases)
    names = sorted({case.repository for case in cases})
    learned_on = set(names[::2])
    seen = [n for n, case in enumerate(cases) if case.repository in learned_on]
    gate = learn_gate([cases[n] for n in seen], [likely[n] for n in seen])
    result: dict[str, Any] = {"gate learned on": sorted(learned_on), "gate": gate}
    for name, which in (
        ("seen by the gate", seen),
        ("not seen", [n for n in range(len(cases)) if n not in set(seen)]),
    ):
        result[name] = figures([give(cases[n], likely[n], gate) for n in which], runner)
        tell(name, result[name])
    for name in sorted(set(names) - learned_on):
        own = [n for n, case in enumerate(cases) if case.repository == name]
        result[name] = figures([give(cases[n], likely[n], gate) for n in own], runner)
        tell(name, result[name])
    if options.write:
        TARGET.write_text(json.dumps(gate, indent=1) + "\n", "utf-8")
    save("replay-hooked", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
