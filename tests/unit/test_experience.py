"""Experience, the pure parts: payloads are bounded, statistics are right."""

import math

from hypothesis import given
from hypothesis import strategies as st

from reverie.lifecycle.experience import deeds
from reverie.testing import NOON, an_event

ANYTHING = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
                        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


@given(ANYTHING)
def test_anything_can_be_bounded(value):
    """Whatever a tool is given or answers, a snapshot of it can be taken, twice the same (CC-75)."""
    once = deeds.bounded(value)
    assert repr(deeds.bounded(once)) == repr(once)


def test_a_snapshot_is_small_whatever_its_size():
    """Long texts keep both ends, long lists and deep values are cut (CC-75, D6)."""
    text = deeds.bounded("a" * 1_000_000 + "end")
    assert len(text) < deeds.MOST_VALUE + 100
    assert text.startswith("aaa") and text.endswith("end")
    assert len(deeds.bounded(list(range(10_000)))) == deeds.MOST_ITEMS
    deep: list[object] = []
    deep.append(deep)
    assert len(str(deeds.bounded(deep))) < 100


def run(tool="bash", at=NOON, **payload):
    return an_event("tool", at=at, payload={"tool": tool, **payload})


def test_statistics_of_tools():
    """Runs, success rate and percentiles by nearest rank; durations that are none do not count (X31)."""
    runs = [run(ok=n % 4 > 0, duration=float(n)) for n in range(1, 101)]
    bash, odd = deeds.practice([*runs, run("odd", duration=math.nan)]).tools
    assert (bash.tool, bash.runs, bash.failed, bash.success_rate, bash.p50, bash.p95) == ("bash", 100, 25, 0.75, 50, 95)
    assert (odd.runs, odd.success_rate, odd.p50) == (1, None, None)


def test_rereads_and_repeated_errors_are_counted():
    """A file that one task reads again, and an error that differs only in its numbers (D61, D62)."""
    read = [an_event("file", session=session, payload={"path": "a.py", "operation": "read"}) for session in "ssx"]
    failed = [run(ok=False, error=f"ValueError: bad row {n}") for n in (1, 2)]
    other = run(ok=False, error="ZeroDivisionError: division by zero")
    told = deeds.practice([*read, *failed, other])
    assert (told.reads, told.rereads, told.errors, told.repeated) == (3, 1, 3, 1)
