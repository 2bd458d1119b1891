"""A new kind of memory is one row: made-up rows go through all that a memory goes through, and no
other file is altered.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# An ordinary kind, and rows of every type that use every column.
ROWS = {
    "recipe": 'Kind("recipe", "semantic", 30, "how a dish is made")',
    "house-rule": (
        'Kind("house-rule", "procedural", 365, "what nobody here does", contradictable=False, '
        'group="House rules", place=1.5, voice=USER, bears_on=(MAKING, TROUBLE, QUESTION), urgency=3, '
        "merges_with=OWN_KIND, capped=False, extracted=True, shared=False)"
    ),
    "meeting": (
        'Kind("meeting", "episodic", 14, "who met whom", group="Meetings", journal="episodes", '
        "unchosen=OBSERVED)"
    ),
    "milestone": 'Kind("milestone", "prospective", FOREVER, "what is due when", group="To do")',
    "mood": 'Kind("mood", "emotional", 7, "how the day was", journal="feelings")',
    "draft": 'Kind("draft", "working", 1 / 24, "what is being written", group="Drafts")',
    "blob": (
        'Kind("blob", "semantic", FOREVER, "kept as it is", surfaces=False, on_pages=False, '
        "merges_with=NOTHING, shared=False)"
    ),
}

WALK = """
import sys
from pathlib import Path

from tests.support.kinds_with_rows import add_rows

add_rows(sys.argv[3])

from tests.support.new_kind_walk import walk_kind

walk_kind(Path(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.proves("C1")
@pytest.mark.parametrize("name", ROWS)
def test_a_new_kind_is_one_row(tmp_path, name):
    """Remembered, recalled, injected, mirrored, told, shared, slept over, exported, imported, purged:
    as its columns say, and under a heading of its own if it names one.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WALK, str(tmp_path), name, ROWS[name]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_row_that_is_not_there_is_custom():
    """What the walk tells apart from a row: the same name without one."""
    from reverie.core.kinds import CUSTOM_KIND, kind_of

    assert {CUSTOM_KIND} == {kind_of(name) for name in ROWS}
