"""Time, and ids that are unique."""

import time

import pytest

from reverie.core import clock
from tests.support.helpers import run_in_threads


@pytest.mark.proves("A26", "E33")
def test_ids_sort_by_the_moment_they_were_made():
    """Also within one millisecond, and it can be read off them."""
    before = time.time()
    ids = [clock.new_id() for _ in range(5_000)]

    assert ids == sorted(set(ids))
    assert {len(id) for id in ids} == {len("mem_") + 26}
    assert clock.new_id("ses").startswith("ses_")
    number = sum(
        clock.ALPHABET.index(digit) * 32**place for place, digit in enumerate(reversed(ids[-1][4:]))
    )
    assert before - 1 <= (number >> 80) / 1_000 <= time.time() + 1


@pytest.mark.proves("CC-12")
def test_threads_never_make_the_same_id():
    """Ids are unique across threads."""
    made = []

    def work():
        made.extend([clock.new_id() for _ in range(500)])

    run_in_threads(*8 * [work])
    assert len(set(made)) == 4_000


def test_ids_go_on_when_the_clock_jumps_back(monkeypatch):
    """When the clock jumps back, ids continue from the last moment seen in this process."""
    before = clock.new_id()
    monkeypatch.setattr("reverie.core.clock.time.time", lambda: 1.0)

    assert clock.new_id() > before


def test_ids_have_letters_that_cannot_be_confused():
    """Ids use Crockford's base 32."""
    assert not set("ilou") & set(clock.new_id("x")[2:])


def test_time_is_seconds():
    """`now` is UTC, `ticks` never goes back."""
    assert clock.now() > 1_700_000_000
    assert clock.ticks() <= clock.ticks()
