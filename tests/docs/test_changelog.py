"""The changelog keeps to Keep a Changelog 1.1: https://keepachangelog.com/en/1.1.0/."""

import re
from itertools import pairwise
from pathlib import Path

LINES = (Path(__file__).parents[2] / "CHANGELOG.md").read_text("utf-8").splitlines()
GROUPS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
VERSION = re.compile(r"## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$")


def test_versions_are_dated_and_the_newest_comes_first():
    """`[Unreleased]` on top, then `[1.2.3] - 2026-01-31`, the newest first."""
    heads = [line for line in LINES if line.startswith("## ")]
    assert heads[0] == "## [Unreleased]"
    told = [VERSION.match(line) for line in heads[1:]]
    assert None not in told
    dates = [match[2] for match in told if match]
    assert all(newer >= older for newer, older in pairwise(dates))


def test_changes_are_grouped():
    """Groups have their names, each once in a version, and every change is in one."""
    seen: dict[str, list[str]] = {}
    version, group = "", ""
    for line in LINES[LINES.index("## [Unreleased]") :]:
        if line.startswith("## "):
            version, group = line, ""
        elif line.startswith("### "):
            group = line.removeprefix("### ")
            assert group in GROUPS and group not in seen.get(version, ()), line
            seen.setdefault(version, []).append(group)
        elif line.startswith("- "):
            assert group, line
