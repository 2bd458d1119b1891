"""The suite itself: it is run as any other."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ABOUT_TAGS = "tests/unit/test_tagged.py"  # the document's unit tests: keywords, tag index, matching


def test_the_tests_run_with_the_usual_runner():
    """`python -m pytest` on a file, without any set-up of ours; and it has tests (E17, E62)."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "REVERIE_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ABOUT_TAGS],
        cwd=ROOT,
        env={**env, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(".") >= 5
