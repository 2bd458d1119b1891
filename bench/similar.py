"""How often `search_similar` finds the function that words describe: `python -m bench.similar
--cache .cache/home`.

Two sets. CoSQA: questions that people typed into a search engine, each with the Python function
that answers it, one file a function (bench-data, not part of the project; left out where it is not
there). Docstrings: the functions of five real packages with their docstrings taken out; the
question is the first paragraph of a docstring, the answer the function that it stood in. All ways
of ranking see the same chunks: BM25 alone, meaning alone, reciprocal rank fusion of both, and
Reverie's own, with the model and (`words`) without it.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import reverie
from bench.code import folder_of
from bench.common import save, table
from bench.retrieval.data import default_root
from bench.retrieval.metrics import measure
from bench.retrieval.metrics import table as means
from reverie.code.code_chunks import read_heading_symbol
from reverie.code.similar_code import rank_code_chunks
from reverie.core.config import Settings
from reverie.retrieval.note_search import NoteQuery
from reverie.text.tokenization import tokenize_query

PACKAGES = ("click", "h11", "pathspec", "requests", "typer")
DEEP = 50  # answers that are looked at
RRF_K = 60


class Question(NamedTuple):
    """Words, and the function that they describe."""

    text: str
    path: str
    symbol: str


def docstrings(source: str) -> Iterator[tuple[ast.Expr, str, bool]]:
    """(statement, qualified name of what it documents, whether nothing else stands there), of a
    whole file.
    """

    def within(node: ast.AST, name: str) -> Iterator[tuple[ast.Expr, str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}".lstrip(".")
                if ast.get_docstring(child) and isinstance(child.body[0], ast.Expr):
                    yield (
                        child.body[0],
                        "" if isinstance(child, ast.ClassDef) else inner,
                        len(child.body) == 1,
                    )
                if isinstance(child, ast.ClassDef):
                    yield from within(child, inner)

    yield from within(ast.parse(source), "")


def stripped(source: str) -> tuple[str, list[tuple[str, str]]]:
    """A file without the docstrings of functions and classes, and (question, name) of those of
    functions.
    """
    lines, asked = source.split("\n"), []
    for node, name, alone in sorted(docstrings(source), key=lambda one: -one[0].lineno):
        assert isinstance(node.value, ast.Constant)
        first = " ".join(str(node.value.value).strip().split("\n\n")[0].split())
        if name and len(first.split()) >= 4:
            asked.append((first, name))
        own = lines[node.lineno - 1][: node.col_offset]
        lines[node.lineno - 1 : node.end_lineno] = [own + "pass"] if alone or own.strip() else []
    return "\n".join(lines), asked


def packages(folder: Path, most: int) -> list[Question]:
    """The packages without docstrings in a folder; so many questions of each."""
    found = []
    for package in PACKAGES:
        root, questions = folder_of(package), []
        for path in sorted(root.rglob("*.py")):
            text, asked = stripped(path.read_text("utf-8"))
            name = f"{package}/{path.relative_to(root).as_posix()}"
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
            questions += [Question(words, name, symbol) for words, symbol in asked]
        found += random.Random(1).sample(questions, min(most, len(questions)))
    return found


def cosqa(folder: Path, data: Path, most: int) -> list[Question]:
    """CoSQA's functions as files in a folder, and so many of its questions; none where it is not
    there.
    """
    if not (data / "cosqa").is_dir():
        return []
    names = {}
    for line in (
        (data / "cosqa" / "corpus" / "python-functions.jsonl").read_text("utf-8").splitlines()
    ):
        row = json.loads(line)
        place = folder / f"{row['id']}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(row["text"] + "\n", "utf-8")
        names[row["id"]] = place.name
    rows = map(json.loads, (data / "cosqa" / "queries.jsonl").read_text("utf-8").splitlines())
    return [Question(row["question"], names[row["gold_ids"][0]], "") for row in rows][:most]


Way = Callable[[reverie.Mind, str, str], list[str]]


def chunks(mind: reverie.Mind, nums: Sequence[int]) -> list[str]:
    """What chunks are of, each once."""
    return list(
        dict.fromkeys(
            named(one.file.path, read_heading_symbol(one.chunk.text))
            for one in mind.store.code_chunks.chunks(nums)
        )
    )


def named(path: str, symbol: str) -> str:
    """How an answer is told from others."""
    return f"{path}:{symbol}"


def by_words(mind: reverie.Mind, root: str, text: str) -> list[int]:
    """Chunks by BM25 alone."""
    return [
        num
        for num, _ in mind.store.code_chunks.search_words(tokenize_query(text), [root], 4 * DEEP)
    ]


def by_meaning(mind: reverie.Mind, root: str, text: str) -> list[int]:
    """Chunks by the cosine alone."""
    assert mind.embedder is not None
    vector = mind.embedder.embed([text])[0]
    return [
        num
        for num, _ in mind.store.code_chunks.nearest(
            mind.embedder.model, vector, [root], 4 * DEEP, -1.0
        )
    ]


def by_ranks(mind: reverie.Mind, root: str, text: str) -> list[int]:
    """Reciprocal rank fusion of both."""
    score: dict[int, float] = {}
    for ranking in (by_words(mind, root, text), by_meaning(mind, root, text)):
        for place, num in enumerate(ranking, start=1):
            score[num] = score.get(num, 0.0) + 1 / (RRF_K + place)
    return sorted(score, key=lambda num: (-score[num], num))


def ours(mode: str) -> Way:
    """Reverie's own ranking."""

    def way(mind: reverie.Mind, root: str, text: str) -> list[str]:
        meaning = {} if mode == "words" else mind.context.embed_query(text)
        found = rank_code_chunks(
            mind.store.code_chunks, NoteQuery(text, (root,), DEEP, mode, **meaning)
        )
        return list(
            dict.fromkeys(
                named(one.found.file.path, read_heading_symbol(one.found.chunk.text))
                for _, one in found
            )
        )

    return way


WAYS: dict[str, Way] = {
    "BM25": lambda mind, root, text: chunks(mind, by_words(mind, root, text)),
    "dense": lambda mind, root, text: chunks(mind, by_meaning(mind, root, text)),
    "rank fusion": lambda mind, root, text: chunks(mind, by_ranks(mind, root, text)),
    "reverie, words": ours("words"),
    "reverie": ours("auto"),
}


def measured(
    folder: Path, questions: Sequence[Question], cache: Path, home: Path
) -> dict[str, Any]:
    """All ways on one set."""
    root = str(folder.resolve())
    with reverie.open(settings=Settings(home=home, models=str(cache / "cache"))) as mind:
        mind.code.index(root)
        mind.settle()
        gold = {
            one: {named(one.path, one.symbol)}
            if one.symbol
            else {
                named(one.path, place.symbol.qual)
                for place in mind.store.code.symbols(root, [one.path])
            }
            | {named(one.path, "")}
            for one in questions
        }
        result: dict[str, Any] = {
            "chunks": mind.store.code_chunks.count([root]).chunks,
            "questions": len(questions),
            "ways": {},
        }
        for name, way in WAYS.items():
            every = [("all", first_of(way(mind, root, one.text), gold[one])) for one in questions]
            result["ways"][name] = means(every)["all"]
    return result


def first_of(answers: Sequence[str], gold: set[str]) -> dict[str, float]:
    """The measures of one question: its answer counts once, whichever of its names is found."""
    return measure(
        list(dict.fromkeys("gold" if one in gold else one for one in answers)), ("gold",)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path(".cache/home"))
    parser.add_argument(
        "--data",
        type=Path,
        default=None,
        help="folder of bench-data (default: beside the checkout)",
    )
    parser.add_argument(
        "--most", type=int, default=100, help="questions of a package; twice as many of CoSQA"
    )
    parser.add_argument(
        "--home",
        type=Path,
        default=None,
        help="a folder in which vectors are kept for the next run",
    )
    args = parser.parse_args()
    result = {}
    with tempfile.TemporaryDirectory() as place:
        sets = {
            "docstrings": packages(Path(place, "docstrings"), args.most),
            "cosqa": cosqa(Path(place, "cosqa"), args.data or default_root(), 2 * args.most),
        }
        for name, questions in sets.items():
            if questions:
                home = (args.home or Path(place, "homes")) / name
                result[name] = measured(Path(place, name), questions, args.cache, home)
    columns = ("recall@5", "recall@10", "mrr")
    table(
        [
            (name, way, *(found[column] for column in columns))
            for name, one in result.items()
            for way, found in one["ways"].items()
        ],
        ("set", "way", *columns),
    )
    save("similar", result)


if __name__ == "__main__":
    main()
