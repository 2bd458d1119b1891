"""Random histories of three devices with partitions, wrong clocks, kills and a bad carrier."""

import pytest

from bench.device_sync.histories import run_histories


@pytest.mark.proves("X73")
def test_devices_agree_whatever_happens_and_lose_nothing():
    """After exchange all are equal, nothing acknowledged is missing, both texts of an edit on two
    devices are there. `python -m bench.device_sync` runs ten thousand.
    """
    done = run_histories(iter(range(20_000, 20_300)))
    assert done["histories"] == 300 and done["both_sided"] > 20
