"""Kills, crowds, damage, hostile texts and made-up input, again and again: `make torture`, or
`python -m bench.torture [--hours 2] [--seed 7]`.

The tests that are marked `torture`, and those of properties and state machines (`hypothesis`), run
in rounds with another seed each: one round, or as many as fit into the hours. What they count is
summed up in bench/results/torture.json; a failure ends it with the seed that repeats it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from bench.common import ROOT, save, table

KILLS = 25  # of each sort in a round; also damaged homes, and hostile texts
LARGEST = " (most)"  # ends the name of a figure of which the largest counts, not the sum
NUMBER = re.compile(r"[\d.]+")
EXAMPLES = re.compile(r"(\d+) passing(?: examples)?,")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*)", re.MULTILINE)


def run_marked(marked: str, seed: int, *more: str) -> tuple[dict[str, float], str]:
    """(what the tests with a marker counted, what they printed)."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", marked, "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", "--override-ini=junit_family=legacy", *more]
        env = {**os.environ, "REVERIE_TORTURE": str(KILLS), "REVERIE_SEED": str(seed)}
        env["REVERIE_HYPOTHESIS"] = "torture"
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        found: dict[str, float] = {}
        for one in ElementTree.parse(report).iter("property"):
            # Hypothesis keeps its statistics among them, in base64.
            if NUMBER.fullmatch(value := one.get("value", "")):
                add_figure(found, one.get("name", ""), float(value))
    return found, done.stdout


def add_figure(figures: dict[str, float], name: str, value: float) -> None:
    """Add a figure to those of its name, or keep the larger one."""
    before = figures.get(name, 0.0)
    figures[name] = max(before, value) if name.endswith(LARGEST) else before + value


def run_round(seed: int, figures: dict[str, float]) -> list[str]:
    """Everything once; the names of the tests that failed."""
    counted, printed = run_marked("torture and not hypothesis", seed)
    _, fuzzed = run_marked(
        "hypothesis", seed, f"--hypothesis-seed={seed}", "--hypothesis-show-statistics"
    )
    counted["made-up inputs"] = sum(map(int, EXAMPLES.findall(fuzzed)))
    for name, value in counted.items():
        add_figure(figures, name, value)
    return FAILED.findall(printed + fuzzed)


def main() -> int:
    """Go round, print and save; 1 if anything failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--hours", type=float, default=0.0, help="go on for so long; else one round"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    begun, rounds, figures, failed = time.monotonic(), 0, dict[str, float](), Counter[str]()
    while not rounds or time.monotonic() - begun < chosen.hours * 3_600:
        # Far apart, for a test adds its own small numbers.
        seed = chosen.seed + 100_000 * rounds
        for name in run_round(seed, figures):
            failed[name] += 1
            print(f"REVERIE_TORTURE={KILLS} REVERIE_SEED={seed} {name}", flush=True)
        rounds += 1
        minutes = round((time.monotonic() - begun) / 60, 1)
        counts = {name: round(value, 1) for name, value in figures.items()}
        result = {"seed": chosen.seed, "rounds": rounds, "minutes": minutes, "kills_each": KILLS}
        # After each round: a run of hours that is stopped has its counts.
        path = save("torture", {**result, "counts": counts, "failed": dict(failed)})
        print(f"round {rounds}, {minutes} minutes: {path}", flush=True)
    table(list(figures.items()), ("what", "count"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
