"""`python -m bench.errors`: precision and recall of error signatures over pairs of real outputs.

A pair is the same error if both come from one case. Baselines: the same text; `difflib`'s ratio
with whichever threshold does best on this very set. Tools that are not installed are left out and
named.
"""

import difflib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import save, table, timed
from bench.errors.cases import HELD_OUT, LATER, TUNED, Case
from reverie.activity.failure_signature import compare_signatures, compute_failure_signature

VARIANTS = (("app", 0, 3), ("service", 7, 17), ("tool2", 31, 211))  # stem, lines above, number
PADS = {
    ".py": "# line\n",
    ".c": "/* line */\n",
    "Makefile": "# line\n",
    ".sql": "-- line\n",
    ".js": "// line\n",
    ".rs": "// line\n",
    ".sh": "# line\n",
    ".pl": "# line\n",
    ".java": "// line\n",
    "CMakeLists.txt": "# line\n",
    ".ts": "// line\n",
    ".go": "// line\n",
}


class Output(NamedTuple):
    """What a case printed in one variant."""

    case: Case
    text: str


def installed(tool: str) -> bool:
    """Whether a tool can be run here."""
    programs = {
        "sqlite": "sqlite3",
        "pytest": "python",
        "mypy": "python",
        "ruff": "python",
        "pip": "python",
        "maven": "mvn",
    }
    return shutil.which(programs.get(tool, tool), path=search_path()) is not None


def search_path() -> str:
    """Where tools are looked for: beside this Python first."""
    return f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"


def run(case: Case, root: Path, variant: tuple[str, int, int]) -> Output:
    """Make the error once."""
    stem, above, n = variant
    folder = root / f"{stem}-{n}" / case.tool / case.name.replace(" ", "_")
    folder.mkdir(parents=True)
    for name, text in case.files:
        pad = next((line for ending, line in PADS.items() if name.endswith(ending)), "") * above
        (folder / name.format(stem=stem)).write_text(text.format(stem=stem, n=n, pad=pad))
    done = subprocess.run(
        ["bash", "-c", case.command.format(stem=stem, n=n)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
        errors="replace",
        env={**os.environ, "PATH": search_path(), "LC_ALL": "C.UTF-8", "PYTHONPATH": ""},
    )
    return Output(case, f"{done.stdout}\n{done.stderr}".strip() if done.returncode else "")


def outputs(cases: Sequence[Case], root: Path) -> list[Output]:
    """All of them; a case that did not fail three times is a mistake of ours and said."""
    made = [
        run(case, root, variant) for case in cases if installed(case.tool) for variant in VARIANTS
    ]
    for one in made:
        if not one.text:
            print(f"did not fail: {one.case.tool} {one.case.name}")
    return [one for one in made if one.text]


def figures(pairs: Sequence[tuple[bool, bool]]) -> dict[str, float]:
    """Precision and recall of (same, said to be the same)."""
    right = sum(same and said for same, said in pairs)
    said, same = sum(said for _, said in pairs), sum(same for same, _ in pairs)
    return {"precision": right / said if said else 1.0, "recall": right / same if same else 1.0}


def measured(found: Sequence[Output]) -> dict[str, Any]:
    """Ours and the baselines, and the pairs in which ours is wrong."""
    pairs = list(itertools.combinations(found, 2))
    same = [a.case == b.case for a, b in pairs]
    signed = {one.text: compute_failure_signature(one.text) for one in found}
    ours = [compare_signatures(signed[a.text], signed[b.text]) > 0.0 for a, b in pairs]
    ratios = [ratio(a.text, b.text) for a, b in pairs]
    best = max(
        (step / 50 for step in range(51)),
        key=lambda least: f1(same, [value >= least for value in ratios]),
    )
    wrong = [
        f"{'missed' if truth else 'confused'}: {a.case.tool} {a.case.name} | {b.case.tool} {b.case.name}"
        for truth, said, (a, b) in zip(same, ours, pairs, strict=True)
        if truth != said
    ]
    took = timed(lambda: [compute_failure_signature(one.text + " ") for one in found])
    return {
        "outputs": len(found),
        "errors": len({one.case for one in found}),
        "tools": sorted({one.case.tool for one in found}),
        "pairs": len(pairs),
        "signature": figures(list(zip(same, ours, strict=True))),
        "same text": figures(
            [(truth, a.text == b.text) for truth, (a, b) in zip(same, pairs, strict=True)]
        ),
        "ratio": {
            **figures([(truth, value >= best) for truth, value in zip(same, ratios, strict=True)]),
            "from": best,
        },
        "seconds_each": took / len(found),
        "wrong": sorted(set(wrong)),
    }


def f1(same: Sequence[bool], said: Sequence[bool]) -> float:
    """The harmonic mean of precision and recall."""
    both = figures(list(zip(same, said, strict=True)))
    total = both["precision"] + both["recall"]
    return 2 * both["precision"] * both["recall"] / total if total else 0.0


def ratio(one: str, other: str) -> float:
    """How alike two texts are, by their last 1,000 characters."""
    matcher = difflib.SequenceMatcher(None, one[-1_000:], other[-1_000:], autojunk=False)
    return (
        matcher.ratio() if matcher.real_quick_ratio() > 0.4 and matcher.quick_ratio() > 0.4 else 0.0
    )


def main() -> int:
    """Run both sets and write the figures."""
    sets: dict[str, Sequence[Case]] = {"tuned": TUNED, "held out": HELD_OUT, "later": LATER}
    missing = sorted(
        {case.tool for some in sets.values() for case in some if not installed(case.tool)}
    )
    results: dict[str, Any] = {"missing": missing}
    for name, cases in sets.items():
        with tempfile.TemporaryDirectory() as folder:
            results[name] = measured(outputs(cases, Path(folder)))
        for line in results[name]["wrong"]:
            print(f"{name}: {line}")
    table(
        [
            [name, way, results[name][way]["precision"], results[name][way]["recall"]]
            for name in sets
            for way in ("signature", "same text", "ratio")
        ],
        ["set", "way", "precision", "recall"],
    )
    save("errors", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
