"""What becomes of facts about code when the code moves on: `python -m bench.anchors`.

Real code in two versions: packages from the index, and this repository's own history in steps. For
each function, class and method of the old version (a sample) there is a fact that names it; the
code is replaced by the new version under the same folder and indexed again. What each anchor says
then is held against what Python's own `ast` says:

- the same definition (equal `ast.dump`) in the same place: the anchor must hold, and must not be
  marked;
- another definition in the same place: it must be marked;
- nothing in that place, but an equal definition (its name aside) where there was none before: it
  should be followed;
- else it must be marked, as gone or as changed at a new place: one where nothing was before, and of
  the same qualified name or as much alike as ALIKE says, by `difflib` on `ast.unparse`.

Lost silently is an anchor that holds although `ast` says otherwise. Baselines on the same facts:
mark whatever lies in a file that changed (hash of the file), and mark nothing as long as file and
name are there (name).
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import reverie
from bench.code import taken
from bench.common import ROOT, save, table
from reverie.code.anchor_reader import READER
from reverie.core.code_anchors import CHANGED, GONE, CodeAnchor, anchors_of
from reverie.core.config import Settings, project_space_of
from reverie.pipeline.event_reader import run_reader

PACKAGES = (
    ("rich", "13.0.0", "13.9.4"),
    ("click", "8.0.4", "8.1.8"),
    ("httpx", "0.23.0", "0.28.1"),
    ("attrs", "21.4.0", "24.2.0"),
    ("jinja2", "3.0.0", "3.1.4"),
    ("flask", "1.1.4", "3.0.3"),
    ("werkzeug", "1.0.1", "3.0.6"),
)
STEPS = 8  # versions of this repository between the first that is looked at and now
MOST = 200  # facts about one package
ALIKE = 0.5  # of difflib, from which two definitions pass for the same one, altered

Definitions = dict[tuple[str, str], list[ast.AST]]  # (path, qualified name) → definitions of it


class Fact(NamedTuple):
    """A definition that something was said about."""

    path: str
    symbol: str
    id: str  # of the memory that was told which
    named: str  # of the one whose text names it


def definitions(root: Path) -> Definitions:
    """Every function, class and method of a tree; what stands in a function is left out."""
    found: Definitions = {}

    def within(node: ast.AST, path: str, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                own = (*names, child.name)
                found.setdefault((path, ".".join(own)), []).append(child)
                if isinstance(child, ast.ClassDef):
                    within(child, path, own)
            else:
                within(child, path, names)

    for place in sorted(root.rglob("*.py")):
        try:
            within(ast.parse(place.read_bytes()), place.relative_to(root).as_posix(), ())
        except SyntaxError:
            continue
    return found


def dumped(nodes: Sequence[ast.AST], *, nameless: bool = False) -> str:
    """What definitions say, without layout and comments; `nameless`, without what they
    are called.
    """
    parts = []
    for node in nodes:
        text = ast.dump(node)
        parts.append(text.replace(f"name='{node.name}'", "name=''", 1) if nameless else text)  # type: ignore[attr-defined]
    return "\n".join(parts)


class Truth(NamedTuple):
    """What `ast` says became of a definition."""

    what: str  # same, changed, moved, away (nothing like it is known)
    places: frozenset[tuple[str, str]]  # where it may be now


def truth_of(
    fact: Fact, old: Definitions, new: Definitions, by_text: dict[str, set[tuple[str, str]]]
) -> Truth:
    """What became of the definition that a fact is about."""
    key = (fact.path, fact.symbol)
    if key in new:
        return Truth(
            "same" if dumped(old[key]) == dumped(new[key]) else "changed", frozenset({key})
        )
    there = frozenset(by_text.get(dumped(old[key], nameless=True), set()) - old.keys())
    return Truth("moved" if there else "away", there)


def verdict_of(  # noqa: PLR0911 - a table in words
    anchor: CodeAnchor | None, fact: Fact, truth: Truth, old: Definitions, new: Definitions
) -> str:
    """One word for what an anchor says."""
    if anchor is None:
        return "silent"
    place = (anchor.path, anchor.symbol)
    here = place == (fact.path, fact.symbol)
    match truth.what:
        case "same":
            return (
                "held"
                if here and not anchor.state
                else "wrongly marked"
                if here
                else "wrongly followed"
            )
        case "changed":
            return (
                (
                    "marked"
                    if anchor.state == CHANGED
                    else "silent"
                    if not anchor.state
                    else "wrongly gone"
                )
                if here
                else "wrongly followed"
            )
    if anchor.state == GONE:
        return "not followed" if truth.what == "moved" else "gone"
    if here:  # what is called so is no function or class any more
        return "marked" if anchor.state else "silent"
    if place in truth.places:
        return "followed" if not anchor.state else "wrongly marked"
    return (
        "followed, marked" if anchor.state and passes(fact, place, old, new) else "wrongly followed"
    )


def passes(fact: Fact, place: tuple[str, str], old: Definitions, new: Definitions) -> bool:
    """Whether another definition passes for the one that a fact is about, moved and altered."""
    if place in old or place not in new:
        return False
    before, after = unparsed(old[fact.path, fact.symbol]), unparsed(new[place])
    return (
        place[1] == fact.symbol
        or SequenceMatcher(None, before, after, autojunk=False).ratio() >= ALIKE
    )


def unparsed(nodes: Sequence[ast.AST]) -> list[str]:
    """Definitions as words."""
    return " ".join(ast.unparse(node) for node in nodes).split()


def facts_about(mind: reverie.Mind, root: Path, old: Definitions, most: int) -> list[Fact]:
    """Facts about a sample of definitions: told which, and found by what the text names."""
    keys = sorted(key for key in old if not key[1].rpartition(".")[2].startswith("__"))
    some = sorted(random.Random(5).sample(keys, min(most, len(keys))))
    given = mind.remember_many(
        [
            {"text": f"Fact {n}: the scheduler calls it.", "about": [f"{root / path}:{name}"]}
            for n, (path, name) in enumerate(some)
        ],
        space=project_space_of(root),
    )
    named = mind.remember_many(
        [
            {"text": f"`{name}` in {path} is called by the scheduler, case {n}."}
            for n, (path, name) in enumerate(some)
        ],
        space=project_space_of(root),
    )
    while run_reader(mind.work, READER).events:  # of settling, only what makes anchors
        pass
    return [
        Fact(path, name, one.id, other.id)
        for (path, name), one, other in zip(some, given, named, strict=True)
    ]


def compared(versions: Sequence[Path], most: int, work: Path) -> dict[str, Any]:
    """Facts about the first version, held against the last one, by way of those between."""
    root = work / "tree"
    shutil.copytree(versions[0], root)
    old, bytes_then = (
        definitions(root),
        {path: (root / path).read_bytes() for path, _ in definitions(root)},
    )
    with reverie.open(settings=Settings(home=work / "home", embedder="none", sleep="off")) as mind:
        mind.code.index(root)
        facts = facts_about(mind, root, old, most)
        made = [anchors_of(memory) for memory in mind.get([fact.named for fact in facts])]
        naming = Counter(
            "none"
            if not some
            else "right"
            if [(one.path, one.symbol) for one in some] == [(fact.path, fact.symbol)]
            else "wrong"
            for some, fact in zip(made, facts, strict=True)
        )
        seconds = 0.0
        for version in versions[1:]:
            shutil.rmtree(root)
            shutil.copytree(version, root)
            _, _, used = taken(lambda: mind.code.index(root))
            seconds += used
        anchors = [
            next(iter(anchors_of(memory)), None) for memory in mind.get([fact.id for fact in facts])
        ]
    new = definitions(root)
    by_text: dict[str, set[tuple[str, str]]] = {}
    for key, nodes in new.items():
        by_text.setdefault(dumped(nodes, nameless=True), set()).add(key)
    tally, truths, file_hash, by_name = (
        Counter[str](),
        Counter[str](),
        Counter[str](),
        Counter[str](),
    )
    doubts = []
    for fact, anchor in zip(facts, anchors, strict=True):
        truth = truth_of(fact, old, new, by_text)
        verdict = verdict_of(anchor, fact, truth, old, new)
        truths[truth.what] += 1
        tally[verdict] += 1
        if verdict == "silent" or verdict.startswith("wrongly"):
            doubts.append(
                (
                    verdict,
                    truth.what,
                    f"{fact.path}:{fact.symbol}",
                    anchor.location if anchor else "",
                )
            )
        there = (root / fact.path).is_file() and (root / fact.path).read_bytes() == bytes_then[
            fact.path
        ]
        file_hash[baseline(truth, marked=not there)] += 1
        by_name[baseline(truth, marked=(fact.path, fact.symbol) not in new)] += 1
    return {
        "facts": len(facts),
        "ast_says": dict(truths),
        "anchors": dict(tally),
        "file_hash": dict(file_hash),
        "name": dict(by_name),
        "named_by_text": dict(naming),
        "index_and_check_cpu_s": seconds,
        "doubts": doubts,
    }


def baseline(truth: Truth, *, marked: bool) -> str:
    """One word for a method that only marks."""
    if truth.what == "same":
        return "wrongly marked" if marked else "held"
    return ("not followed" if truth.what == "moved" else "marked") if marked else "silent"


def downloaded(name: str, version: str, place: Path) -> Path:
    """A version of a package from the index, unpacked."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            str(place),
            f"{name}=={version}",
        ],
        check=True,
        capture_output=True,
    )
    wheel = next(place.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "tree")
    wheel.unlink()
    for folder in (place / "tree").glob("*.dist-info"):
        shutil.rmtree(folder)
    return place / "tree"


def history(place: Path, steps: int) -> Iterator[Path]:
    """This repository's package at some commits, oldest first."""

    def git(*words: str) -> bytes:
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], check=True, capture_output=True
        ).stdout

    commits = git("rev-list", "--first-parent", "--reverse", "HEAD", "--", "src").decode().split()
    first = len(commits) // 4
    chosen = [commits[first + (len(commits) - 1 - first) * n // steps] for n in range(steps + 1)]
    for number, commit in enumerate(chosen):
        folder = place / str(number)
        folder.mkdir(parents=True)
        archive = place / "archive.zip"
        archive.write_bytes(git("archive", "--format=zip", commit, "src"))
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
        yield folder / "src"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", nargs="*", default=[name for name, *_ in PACKAGES])
    parser.add_argument("--most", type=int, default=MOST, help="facts about one package")
    parser.add_argument("--show", type=int, default=0, help="doubtful anchors to print, of each")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, before, after in PACKAGES:
            if name in args.packages:
                work = Path(place, name)
                versions = [
                    downloaded(name, version, work / version) for version in (before, after)
                ]
                results[f"{name} {before} → {after}"] = compared(versions, args.most, work)
        own = Path(place, "own")
        results[f"this repository, {STEPS} steps"] = compared(
            list(history(own / "versions", STEPS)), args.most, own
        )
    for name, result in results.items():
        for doubt in result["doubts"][: args.show]:
            print(name, *doubt, sep="  ")
    total = {
        part: dict(sum((Counter(one[part]) for one in results.values()), Counter()))
        for part in ("ast_says", "anchors", "file_hash", "name", "named_by_text")
    }
    save("anchors", {"total": total, "of": results})
    words = (
        "held",
        "followed",
        "followed, marked",
        "marked",
        "gone",
        "not followed",
        "wrongly marked",
        "wrongly gone",
        "wrongly followed",
        "silent",
    )
    rows = [
        [name, *(result["anchors"].get(word, 0) for word in words)]
        for name, result in results.items()
    ]
    rows += [
        [f"all: {method}", *(total[part].get(word, 0) for word in words)]
        for method, part in (
            ("anchors", "anchors"),
            ("hash of the file", "file_hash"),
            ("name only", "name"),
        )
    ]
    table(rows, ("", *words))


if __name__ == "__main__":
    main()
