"""Which rows of a checklist the tests prove: `python -m tools.rows CHECKLIST.md [CONFORMANCE.md]`.

A test's docstring names the rows it proves: "A42, B5–B9", "CC-3, CC-16–CC-19". The checklist's own
rows begin with "| A42 | what is asked"; the cases of the conformance page with "42. what must
hold", and are called CC-42. Every row is printed once, with the tests that name it; those that no
test names come last, counted.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
ROW = re.compile(r"\b(CC-|[A-EX])(\d+)(?:[–-](?:\1)?(\d+))?\b")
LINE = re.compile(r"\| ([A-EX]\d+) \| ([^|]+)|(\d+)\. (.+)")


def rows(text: str) -> Iterator[str]:
    """The rows that a text names, each range as its members."""
    for prefix, first, last in ROW.findall(text):
        yield from (f"{prefix}{n}" for n in range(int(first), int(last or first) + 1))


def claims(folder: Path) -> dict[str, list[str]]:
    """For each row the tests whose docstring names it, as "file::test"."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for row in dict.fromkeys(rows(ast.get_docstring(node) or "")):
                    found.setdefault(row, []).append(f"{path.relative_to(folder)}::{node.name}")
    return found


def asked(page: str) -> dict[str, str]:
    """The rows that a checklist or a page of conformance cases asks for, with their first words."""
    found = (LINE.match(line) for line in page.splitlines())
    return {m[1] or f"CC-{m[3]}": (m[2] or m[4]).strip()[:60] for m in found if m}


def table(wanted: dict[str, str], proven: dict[str, list[str]]) -> Iterable[str]:
    """One line a row: its words, and the tests that name it; then the rows that none names."""
    missing = [row for row in wanted if row not in proven]
    yield from (
        f"| {row} | {words} | {', '.join(proven[row])} |"
        for row, words in wanted.items()
        if row in proven
    )
    yield f"\n{len(wanted) - len(missing)} of {len(wanted)} rows are named. {len(missing)} are not:"
    yield from (f"| {row} | {wanted[row]} |" for row in missing)


def main(pages: list[str]) -> None:
    """Print the table of each page."""
    if not pages:
        raise SystemExit(__doc__)
    proven = claims(TESTS)
    for page in pages:
        sys.stdout.writelines(
            f"{line}\n" for line in table(asked(Path(page).read_text("utf-8")), proven)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
