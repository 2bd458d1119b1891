"""How right the callers of the code map are, beside what jedi says, and how fast it is: `python -m
bench.code`.

Callers: of real packages from the index, installed here. For every call in them that has a name,
jedi infers what is called, and follows imports; the code map resolves the same call. Both answers
are (file, line of the definition) or nothing within the package. Only calls that jedi has an answer
for count. One that jedi leads into the package is right where the map leads it to the same place,
wrong at another place, missed where the map leads it nowhere. One that jedi leads out of the
package and the map into it has strayed. Where jedi knows nothing, the map's answers are only
counted. Jedi is not infallible: `--show` prints a sample of disagreements.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import reverie
from bench.common import RESULTS, save, table
from reverie.core.config import Settings

PACKAGES = ("click", "rich", "typer", "jedi", "pathspec", "h11")
Target = tuple[str, int]


class Site(NamedTuple):
    """A call: where its name stands."""

    path: str
    line: int
    column: int
    name: str


class Judged(NamedTuple):
    """What jedi says of a call: a definition in the package, or that it lies outside; None where it
    does not know.
    """

    inside: frozenset[Target]
    outside: bool


def folder_of(package: str) -> Path:
    """The folder of an installed package."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).resolve().parent


def sites(root: Path) -> Iterator[Site]:
    """Every call in a package that has a name."""
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                func = node.func
                name = func.id if isinstance(func, ast.Name) else func.attr
                line, column = func.end_lineno or 0, (func.end_col_offset or 0) - len(name.encode())
                text = (
                    path.read_text("utf-8")
                    .split("\n")[line - 1]
                    .encode()[:column]
                    .decode("utf-8", "replace")
                )
                yield Site(path.relative_to(root).as_posix(), line, len(text), name)


def judged(script: Any, site: Site, root: Path) -> Judged:
    """What jedi takes a call for."""
    try:
        names = script.goto(site.line, site.column, follow_imports=True)
        names = [
            one
            for name in names
            for one in (
                [name]
                if name.type in ("function", "class")
                else script.infer(site.line, site.column)
            )
        ]
    except Exception:  # jedi fails now and then on code of its own
        return Judged(frozenset(), False)
    inside, outside = set(), False
    for name in names:
        if name.type not in ("function", "class"):
            continue
        place = name.module_path
        if place is not None and Path(place).is_relative_to(root):
            inside.add((Path(place).relative_to(root).as_posix(), name.line))
        else:
            outside = True
    return Judged(frozenset(inside), outside)


def answers(mind: reverie.Mind, root: Path) -> dict[tuple[str, int, str], set[tuple[Target, str]]]:
    """The map's calls: (path, line, name) → definitions by line of their name, and how they are
    known.
    """
    index = mind.store.code
    places = {(one.path, one.num): one.symbol for one in index.symbols(str(root))}
    found: dict[tuple[str, int, str], set[tuple[Target, str]]] = {}
    for edge in index.edges(str(root)):
        symbol = places.get((edge.to, edge.symbol))
        if (
            edge.kind == "calls"
            and symbol is not None
            and symbol.kind in ("function", "method", "class")
        ):
            found.setdefault((edge.path, edge.line, edge.name), set()).add(
                ((edge.to, symbol.first), edge.how)
            )
    return found


def compared(package: str, most: int, show: int) -> dict[str, Any]:
    """Both on the same calls."""
    import jedi

    root = folder_of(package)
    with (
        tempfile.TemporaryDirectory() as home,
        reverie.open(settings=Settings(home=Path(home), embedder="none")) as mind,
    ):
        mind.code.index(root)
        mapped = answers(mind, root)
        skipped = {
            path
            for path in (p.relative_to(root).as_posix() for p in root.rglob("*.py"))
            if path not in mind.store.code.indexed_files(str(root))
        }
    calls = [site for site in sites(root) if site.path not in skipped]
    if len(calls) > most:
        calls = sorted(random.Random(1).sample(calls, most))
    tally, how, scripts, doubts = Counter[str](), Counter[str](), {}, []
    started = time.perf_counter()
    for site in calls:
        if site.path not in scripts:
            scripts[site.path] = jedi.Script(
                path=root / site.path, project=jedi.Project(root.parent)
            )
        said = judged(scripts[site.path], site, root)
        mine = mapped.get((site.path, site.line, site.name), set())
        verdict = verdict_of(said, {place for place, _ in mine})
        tally[verdict] += 1
        for _, way in mine:
            how[f"{way}: {verdict}"] += 1
        if verdict in ("wrong", "strayed", "missed"):
            doubts.append((verdict, site, sorted(said.inside), sorted(mine)))
    for doubt in random.Random(2).sample(doubts, min(show, len(doubts))):
        print(*doubt)
    right, wrong, missed, strayed = (
        tally[name] for name in ("right", "wrong", "missed", "strayed")
    )
    return {
        "calls": len(calls),
        **tally,
        "precision": right / max(1, right + wrong + strayed),
        "recall": right / max(1, right + missed + wrong),
        "how": dict(sorted(how.items())),
        "jedi_s": time.perf_counter() - started,
    }


def verdict_of(said: Judged, mine: set[Target]) -> str:
    """One word for a call."""
    if mine & said.inside:
        return "right"
    if said.inside:
        return "wrong" if mine else "missed"
    if mine:
        return "strayed" if said.outside else "only_map"
    return "neither"


def speed(megabytes: float) -> dict[str, float]:
    """Indexing copies of real packages, and indexing them once more without a change."""
    with tempfile.TemporaryDirectory() as place:
        root, size, number = Path(place, "tree"), 0, 0
        while size < megabytes * 1e6:
            for package in PACKAGES:
                source = folder_of(package)
                shutil.copytree(
                    source,
                    root / f"copy{number}" / package,
                    ignore=shutil.ignore_patterns("__pycache__", "third_party"),
                )
            number += 1
            size = sum(path.stat().st_size for path in root.rglob("*.py*") if path.is_file())
        time.sleep(2.5)  # what was written just now is read again: `files.walk.FRESH`
        with reverie.open(settings=Settings(home=Path(place, "home"), embedder="none")) as mind:
            first, took, used = taken(lambda: mind.code.index(root))
            _, _, again = taken(lambda: mind.code.index(root))
            changed = next(root.rglob("*/click/core.py"))
            changed.write_text(changed.read_text("utf-8") + "\n\ndef one_more(): pass\n", "utf-8")
            one, _, altered = taken(lambda: mind.code.index(root))
            _, _, overview = taken(lambda: mind.code.map(1_000, root=root))
            _, _, asked = taken(lambda: mind.code.callers("Console.print", root=root))
    assert one.parsed == 1
    return {
        "files": first.files,
        "mb": first.bytes / 1e6,
        "symbols": first.size.symbols,
        "edges": first.size.edges,
        "first_s": took,
        "first_cpu_s": used,
        "mb_per_cpu_s": first.bytes / 1e6 / used,
        "no_change_cpu_s": again,
        "no_change_times_faster": used / again,
        "one_file_cpu_s": altered,
        "map_cpu_s": overview,
        "callers_cpu_s": asked,
    }


T = TypeVar("T")


def taken(work: Callable[[], T]) -> tuple[T, float, float]:
    """What a call returns, and its seconds: by the clock, and of one core, which others at work do
    not lengthen.
    """
    start, cpu = time.perf_counter(), time.process_time()
    made = work()
    return made, time.perf_counter() - start, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", nargs="*", default=list(PACKAGES))
    parser.add_argument(
        "--most", type=int, default=3_000, help="calls of a package that jedi is asked about"
    )
    parser.add_argument("--mb", type=float, default=20.0)
    parser.add_argument("--show", type=int, default=0, help="disagreements to print")
    args = parser.parse_args()
    callers = {package: compared(package, args.most, args.show) for package in args.packages}
    table(
        [
            (
                name,
                *(
                    one.get(column, 0)
                    for column in (
                        "calls",
                        "right",
                        "wrong",
                        "strayed",
                        "missed",
                        "only_map",
                        "precision",
                        "recall",
                    )
                ),
            )
            for name, one in callers.items()
        ],
        (
            "package",
            "calls",
            "right",
            "wrong",
            "strayed",
            "missed",
            "only map",
            "precision",
            "recall",
        ),
    )
    before = RESULTS / "code.json"
    if not callers and before.exists():  # only the speed is asked for
        callers = json.loads(before.read_text("utf-8"))["callers"]
    result: dict[str, Any] = {"callers": callers}
    if args.mb:
        result["speed"] = speed(args.mb)
        table(list(result["speed"].items()), ("figure", "value"))
        print("target: 1 MB a second and core; nothing changed at least 20 times faster")
        save("code", result)


if __name__ == "__main__":
    main()
