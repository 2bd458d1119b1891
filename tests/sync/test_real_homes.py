"""Three real homes with random edits, partitions, kills, wrong clocks and a bad carrier, against plain
dictionaries. `python -m bench.device_sync` runs as many as fit into five minutes.
"""

import pytest
from hypothesis import settings

from bench.device_sync.home_machine import HomesByFolder, HomesByGit, run_killed_processes
from bench.device_sync.real_homes import FOLDER

HomesByFolder.TestCase.settings = settings(
    max_examples=8, stateful_step_count=25, deadline=None, report_multiple_bugs=False
)
HomesByGit.TestCase.settings = settings(
    max_examples=1, stateful_step_count=12, deadline=None, report_multiple_bugs=False
)
TestHomesByFolder = HomesByFolder.TestCase
TestHomesByGit = HomesByGit.TestCase


@pytest.mark.proves("X73")
def test_homes_whose_processes_are_killed_are_equal_in_the_end():
    """Each home in turn is a process that keeps and syncs until `kill -9`; what it told is there."""
    assert run_killed_processes(FOLDER, 1) == 3
