"""Query sets that come with the project: German, Chinese, and code.

German and Chinese are written by hand, for this and nothing else (`queries/*.txt`): a question, the
passage that answers it mostly in other words, and passages that share its words or its subject and
do not. Which answers was written down with the question, before any model saw them. Code is this
project's own: the first sentence of a function's docstring asks for the function without it.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from bench.retrieval.data import Dataset, Question, Row

FOLDER = Path(__file__).with_name("queries")
SOURCE = Path(__file__).resolve().parents[2] / "src" / "reverie"
OWN_SETS = ("german", "chinese", "own-code")
MARKS = {"?": "question", "=": "answer", "-": "other"}
# Of the functions with a docstring of so many words, in the order of their names' hashes.
FUNCTIONS, ASKED, MIN_WORDS = 400, 120, 5


@lru_cache
def load_own(name: str) -> Dataset:
    """One of OWN_SETS."""
    if name == "own-code":
        return from_functions(name)
    return read_groups(name, (FOLDER / f"{name}.txt").read_text("utf-8"))


def read_groups(name: str, text: str) -> Dataset:
    """The set that a file of groups holds; ValueError for a line without a mark, or an answer
    without a question.
    """
    rows: list[Row] = []
    asked: list[tuple[str, set[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        kind, passage = MARKS.get(line[0]), line[2:].strip()
        if kind is None or not passage or (kind != "question" and not asked):
            raise ValueError(f"{name}, line {number}: {line!r}")
        if kind == "question":
            asked.append((passage, set()))
            continue
        rows.append(as_row(f"{name}-{number}", passage))
        if kind == "answer":
            asked[-1][1].add(rows[-1].id)
    questions = [
        Question(f"{name}-q{number}", name, question, frozenset(gold), name)
        for number, (question, gold) in enumerate(asked, 1)
    ]
    return Dataset(name, {name: rows}, questions)


def from_functions(name: str) -> Dataset:
    """Functions of this project without their docstrings, and these as questions."""
    # Not by their lines: those shift with every change, and another function would be asked for.
    found = sorted(
        iter_functions(), key=lambda one: sha256(one[0].partition("@")[0].encode()).hexdigest()
    )
    chosen = found[:FUNCTIONS]
    return Dataset(
        name,
        {name: [as_row(id, code) for id, _, code in chosen]},
        [Question(f"{id}?", name, says, frozenset({id}), name) for id, says, _ in chosen[:ASKED]],
    )


def iter_functions() -> Iterator[tuple[str, str, str]]:
    """Place, docstring's first line and code of each function that is documented in a sentence."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            says = (ast.get_docstring(node) or "").partition("\n")[0]
            if len(says.split()) < MIN_WORDS or len(node.body) < 2:
                continue
            node.body = node.body[1:]
            place = f"{path.relative_to(SOURCE).as_posix()}:{node.name}@{node.lineno}"
            yield place, says, ast.unparse(node)


def as_row(id: str, text: str) -> Row:
    return Row(id, text, "", "", float("nan"))
