"""SECURITY.md promises nothing that no test shows."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
PROMISES = PAGE.partition("## What is promised")[2].partition("\n## ")[0].split("\n\n")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@cache
def definitions_of(path: str) -> frozenset[str]:
    """The names that a file defines; none if it is not there."""
    file = ROOT / path
    body = ast.parse(file.read_text("utf-8")).body if file.exists() else []
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef))


@pytest.mark.parametrize(
    "promise", [one for one in PROMISES if one.startswith("**")], ids=lambda one: one[2:50]
)
def test_every_promise_names_a_test_that_exists(promise: str) -> None:
    """A promise stands in bold, and behind it the tests that fail without it."""
    named = NAMED.findall(promise)
    assert named
    assert [] == [f"{path}::{name}" for path, name in named if name not in definitions_of(path)]


def test_the_promises_are_found() -> None:
    """Nothing between the headings is passed over."""
    assert sum(one.startswith("**") for one in PROMISES) >= 20
    assert all(one.startswith(("**", "### ", ",", "Each promise")) for one in PROMISES if one)
