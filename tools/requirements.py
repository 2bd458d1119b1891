"""Write docs/requirements.md: every promise, and the tests that prove it.

The promises stand in docs/requirements.toml, one line each under an id; a test names what it proves
by `@pytest.mark.proves("A17", "CC-46")`, and a file of tests by `pytestmark`.

- `python -m tools.requirements` writes the page; it is part of `make docs`.
- `python -m tools.requirements --check` ends with 1 and says what is wrong: a promise without a
  test, a marker with an unknown id, an id in a docstring, a comment or another page, a page that
  is out of date.

Tests are read, not imported.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs" / "requirements.toml"
PAGE = ROOT / "docs" / "requirements.md"
NOT_PROMISED, NOT_YET = "Not promised", "Does not hold yet"
ID = re.compile(r"(?<![\w/`'\"-])(?:CC-|[A-EX])\d{1,3}\b(?![\w-])")
MOST_LINKS = 6  # of one promise; `grep '"X20"' -r tests` finds all of them
WORDS_LIKE_IDS = {"C1"}  # the C1 control characters of Unicode

HEAD = """<!-- Made by `python -m tools.requirements`. Edit requirements.toml or the tests. -->

# Requirements

What Reverie promises, and the tests that prove it. Each promise has an id, and a test names the ids
that it proves: `@pytest.mark.proves("A17")`. A promise without a test does not pass `make check`.

⚠ marks what somebody tried by hand, with cases of their own, and found wanting. The tests beside it
pass, and prove less than the promise says; what was seen stands in italics.
"""


class Proof(NamedTuple):
    """A test, or a whole file of tests where `test` is empty; `path` is relative to the root."""

    path: str
    test: str


class Promises(NamedTuple):
    """The sections of docs/requirements.toml, each as id → sentence."""

    sections: dict[str, dict[str, str]]
    not_yet: dict[str, str]
    not_promised: dict[str, str]

    @property
    def sentences(self) -> dict[str, str]:
        """Every promise by its id, in the order of the file."""
        return {id: text for section in self.sections.values() for id, text in section.items()}


def load_promises(text: str) -> Promises:
    """Read the TOML; raise ValueError where one id stands in two sections."""
    sections = tomllib.loads(text)
    not_yet, not_promised = sections.pop(NOT_YET, {}), sections.pop(NOT_PROMISED, {})
    ids = [id for section in (*sections.values(), not_promised) for id in section]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise ValueError(f"ids in two sections: {', '.join(twice)}")
    return Promises(sections, not_yet, not_promised)


def find_proofs(folder: Path, root: Path = ROOT) -> dict[str, list[Proof]]:
    """For each id the tests in `folder` whose `proves` marker names it."""
    found: dict[str, list[Proof]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for test, id in marked_ids(ast.parse(path.read_text("utf-8"))):
            found.setdefault(id, []).append(Proof(str(path.relative_to(root)), test))
    return found


def marked_ids(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Test and id of each marker; the test is empty for the `pytestmark` of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from ((node.name, id) for deco in node.decorator_list for id in ids_of(deco))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            yield from (("" if name == "pytestmark" else name, id) for id in ids_of(node.value))


def ids_of(expression: ast.expr) -> Iterator[str]:
    """The texts given to every `….proves(…)` within an expression."""
    for call in ast.walk(expression):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "proves"
        ):
            for argument in call.args:
                yield from (
                    part.value
                    for part in ast.walk(argument)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )


def ids_in_page(text: str, known: Iterable[str]) -> list[str]:
    """The known ids that a text names, in order."""
    wanted = set(known) - WORDS_LIKE_IDS
    return [id for id in ID.findall(text) if id in wanted]


def ids_in_prose(text: str, known: Iterable[str]) -> list[str]:
    """The known ids that docstrings and comments of a program name."""
    if not ids_in_page(text, known):
        return []  # nearly every file: reading its tokens would take most of the time
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose = [
        ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)
    ]
    prose += [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and "noqa" not in token.string
    ]
    return [id for part in prose for id in ids_in_page(part, known)]


def render_page(promises: Promises, proofs: dict[str, list[Proof]]) -> str:
    """The whole page."""
    parts = [HEAD]
    for title, section in promises.sections.items():
        parts.append(f"\n## {title}\n\n| | Promise | Tests |\n|---|---|---|\n")
        parts += [
            f"| {id} | {render_sentence(sentence, promises.not_yet.get(id))} |"
            f" {render_links(proofs.get(id, []))} |\n"
            for id, sentence in section.items()
        ]
    parts.append(f"\n## {NOT_PROMISED}\n\n| | What, and why not |\n|---|---|\n")
    parts += [f"| {id} | {reason} |\n" for id, reason in promises.not_promised.items()]
    return "".join(parts)


def render_sentence(sentence: str, seen: str | None) -> str:
    """A promise, with what was seen where it does not hold yet."""
    return f"{sentence} ⚠ *{seen}*" if seen else sentence


def render_links(proofs: list[Proof]) -> str:
    """The first tests as links, and how many more there are."""
    links = ", ".join(map(render_link, proofs[:MOST_LINKS]))
    more = len(proofs) - MOST_LINKS
    return f"{links} and {more} more" if more > 0 else links


def render_link(proof: Proof) -> str:
    """A test as a link to its file."""
    name = proof.test.removeprefix("test_").replace("_", " ") or "the whole file"
    return f"[{name}](../{proof.path})"


def find_faults() -> Iterator[str]:
    """What is wrong with promises, markers, prose and page, one line each."""
    promises = load_promises(SOURCE.read_text("utf-8"))
    proofs = find_proofs(ROOT / "tests")
    sentences = promises.sentences
    yield from (f"{id}: no test proves it" for id in sentences if id not in proofs)
    for id, tests in proofs.items():
        if id not in sentences:
            why = "is not promised" if id in promises.not_promised else "is unknown"
            yield from (f"{test.path}: {test.test}: {id} {why}" for test in tests)
    yield from (
        f"{id}: marked as not holding, and unknown" for id in promises.not_yet.keys() - sentences
    )
    yield from find_ids_in_prose({*sentences, *promises.not_promised})
    if PAGE.read_text("utf-8") != render_page(promises, proofs):
        yield "docs/requirements.md is out of date: run `make docs`"


def find_ids_in_prose(known: Iterable[str]) -> Iterator[str]:
    """Docstrings, comments and pages that name an id, one line each: an id says nothing to a reader
    who does not have docs/requirements.md open.
    """
    for folder in ("bench", "src", "tests"):
        for path in sorted(ROOT.glob(f"{folder}/**/*.py")):
            for id in ids_in_prose(path.read_text("utf-8"), known):
                yield f"{path.relative_to(ROOT)}: {id} in a docstring or comment: use the marker"
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        if path != PAGE:
            for id in ids_in_page(path.read_text("utf-8"), known):
                yield f"{path.relative_to(ROOT)}: {id}: say in words what is promised"


def main(arguments: list[str]) -> None:
    """Write the page, or check everything."""
    if arguments == ["--check"]:
        if faults := list(find_faults()):
            raise SystemExit("\n".join(faults))
    elif arguments:
        raise SystemExit(__doc__)
    else:
        promises = load_promises(SOURCE.read_text("utf-8"))
        PAGE.write_text(render_page(promises, find_proofs(ROOT / "tests")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
