"""Rules for the tests themselves, by reading them: they can be run, read and trusted by anybody."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"


@pytest.mark.proves("E62")
def test_tests_need_pytest_and_no_plugin_of_it():
    """`python -m pytest` is enough: no plugin is asked for, by the project or by a conftest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [need for needs in project["optional-dependencies"].values() for need in needs]
    assert [] == [need for need in extras if need.startswith("pytest-")]
    assert "pytest_plugins" not in (TESTS / "conftest.py").read_text("utf-8")
