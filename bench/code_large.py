"""The code map of a repository of 5,000 files: `python -m bench.code_large`.

Real packages from the index stand side by side in one folder: Django, SymPy, SQLAlchemy, openai,
huggingface_hub. They are indexed, indexed again without a change, and after edits of one file at a
time: a comment at the top of any file, a function at the end of any file, and of those that the
most files use. At the end the edges are compared with those of resolving everything from nothing:
they must be the same. Then questions are asked. Seconds are those of one core (`cpu`), which others
at work on the machine lengthen less; questions are timed by the clock.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import reverie
from bench.code import taken
from bench.common import percentile, save, table, timed
from reverie.code.parsed_facts import facts_from_json
from reverie.code.reference_resolution import resolve_repository
from reverie.core.config import Settings

WHEELS = (
    "Django==5.1.4",
    "sympy==1.13.3",
    "SQLAlchemy==2.0.36",
    "openai==2.8.1",
    "huggingface_hub==1.1.4",
)
EDITS = 25  # files of each kind of edit
ASKED = 200  # questions of each kind; a tenth of maps


def unpack(folder: Path, wheels: Path) -> None:
    """The packages' Python files, as a repository."""
    wheels.mkdir(parents=True, exist_ok=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]
    subprocess.run([*pip, "--dest", str(wheels), *WHEELS], check=True)
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder, [name for name in packed.namelist() if name.endswith(".py")])
    subprocess.run(["git", "init", "--quiet", folder], check=True)


def edited(
    mind: reverie.Mind, root: Path, paths: Sequence[str], change: Callable[[str, int], str]
) -> list[float]:
    """CPU seconds of indexing after each of these files was changed by itself."""
    spent = []
    for number, name in enumerate(paths):
        place = root / name
        place.write_text(change(place.read_text("utf-8"), number), "utf-8")
        done, _, used = taken(lambda: mind.code.index(root))
        assert done.parsed >= 1
        spent.append(used)
    return spent


def spread(name: str, seconds: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile."""
    return {f"{name}_p50_s": percentile(seconds, 0.5), f"{name}_p95_s": percentile(seconds, 0.95)}


def asked(mind: reverie.Mind, root: Path, rng: random.Random) -> dict[str, float]:
    """How long questions take, by the clock."""
    places = mind.store.code.symbols(str(root))
    names = [
        one.symbol.qual
        for one in rng.sample([one for one in places if one.symbol.kind != "variable"], ASKED)
    ]
    paths = rng.sample(sorted({one.path for one in places}), ASKED)
    return {
        **spread("callers", [timed(lambda: mind.code.callers(name, root=root)) for name in names]),
        **spread("callees", [timed(lambda: mind.code.callees(name, root=root)) for name in names]),
        **spread(
            "dependencies", [timed(lambda: mind.code.dependencies(root / path)) for path in paths]
        ),
        **spread(
            "find_symbol", [timed(lambda: mind.code.find_symbol(name, root=root)) for name in names]
        ),
        **spread(
            "similar_words",
            [
                timed(lambda: mind.code.search_similar(name, root=root, mode="words"))
                for name in names
            ],
        ),
        **spread(
            "map",
            [
                timed(lambda: mind.code.map(1_000, [path], root=root))
                for path in paths[: ASKED // 10]
            ],
        ),
    }


def whole(mind: reverie.Mind, root: Path) -> bool:
    """Whether the edges are those of resolving everything from nothing."""
    index = mind.store.code
    facts = {path: facts_from_json(text) for path, text in index.facts(str(root)).items()}
    return Counter(index.edges(str(root))) == Counter(
        {edge for edge in resolve_repository(root.name, facts) if edge.to}
    )


def peak() -> float:
    """The most memory that this process ever took, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(root: Path, home: Path) -> dict[str, Any]:
    """All figures."""
    rng = random.Random(1)
    with reverie.open(settings=Settings(home=home, embedder="none")) as mind:
        before = peak()
        first, took, used = taken(lambda: mind.code.index(root))
        after = peak()
        print(
            f"indexed {first.files:,} files, {first.bytes / 1e6:.0f} MB in {took:.0f} s", flush=True
        )
        again = [taken(lambda: mind.code.index(root))[2] for _ in range(5)]
        paths = rng.sample(sorted(mind.store.code.indexed_files(str(root))), 2 * EDITS)
        users = Counter(
            to for _, to in {(edge.path, edge.to) for edge in mind.store.code.edges(str(root))}
        )
        result = {
            "files": first.files,
            "mb": first.bytes / 1e6,
            "symbols": first.size.symbols,
            "edges": first.size.edges,
            "chunks": mind.store.code_chunks.count([str(root)]).chunks,
            "first_s": took,
            "first_cpu_s": used,
            "mb_per_cpu_s": first.bytes / 1e6 / used,
            "memory_before_mb": before,
            "memory_peak_mb": after,
            "disk_mb": sum(path.stat().st_size for path in (home / "cache").iterdir()) / 1e6,
            "unchanged_cpu_s": percentile(again, 0.5),
            "unchanged_times_faster": used / percentile(again, 0.5),
            **spread(
                "comment_cpu",
                edited(mind, root, paths[:EDITS], lambda text, _: "# edited\n" + text),
            ),
            **spread("function_cpu", edited(mind, root, paths[EDITS:], with_function)),
            "hub_users": [users[path] for path, _ in users.most_common(5)],
            **spread(
                "hub_cpu",
                edited(mind, root, [path for path, _ in users.most_common(5)], with_function),
            ),
            **asked(mind, root, rng),
        }
        return {**result, "same_as_resolving_all": whole(mind, root)}


def with_function(text: str, number: int) -> str:
    """One more function in a file."""
    return f"{text}\n\ndef one_more_{number}():\n    return {number}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--wheels", type=Path, default=Path(".cache/wheels"), help="where the packages are kept"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "tree").resolve()
        unpack(root, args.wheels)
        time.sleep(2.5)  # what was written just now is read again: `files.walk.FRESH`
        result = measured(root, Path(place, "home"))
    table(
        [
            (name, value if isinstance(value, float | int) else str(value))
            for name, value in result.items()
        ],
        ("figure", "value"),
    )
    print("target: 1 MB a second and core; nothing changed at least 20 times faster")
    save("code_large", result)


if __name__ == "__main__":
    main()
