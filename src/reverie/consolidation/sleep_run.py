"""One run of sleep: what it is asked for, how far it has come, whether it may go on,
what it did.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reverie.consolidation.neighbour_index import Ground
from reverie.consolidation.sleep_schedule import NOTE
from reverie.core import clock
from reverie.core.model import Memory
from reverie.pipeline.event_reader import EventQueue, Work
from reverie.pipeline.leases import LEASE
from reverie.reconciliation.pair_passes import MergeText, Relate
from reverie.reconciliation.pass_view import Step

ASLEEP = "sleep"  # the lease of who sleeps, beside that of who settles: it does not give way
LEASE_SECONDS = 60.0  # a space's clusters are found without a look at the clock
RENEW = 5.0  # seconds after which the lease is renewed
PATIENCE = 30.0  # seconds that somebody else at work is waited for
SPACELESS = "me"  # where a run's own events stand


NameGroup = Callable[[Sequence[str], str], str | None]
"""A name for a group of memories with these texts, in a space; None where it has none to give."""


Still = Callable[[Memory, str, str], tuple[str, str] | None]
"""Whether a memory holds, from the code as it was and as it is: ("yes", "no" or "unsure", why);
None: not asked.
"""


class Done(NamedTuple):
    """What one pass did."""

    name: str
    steps: int = 0  # things that were changed, or would be
    seconds: float = 0.0
    skipped: str = ""  # why it did nothing, if it could not


class Planned(NamedTuple):
    """One step of a plan, for a person to read."""

    name: str  # of the pass
    step: Step
    texts: Mapping[str, str]


class Slept(NamedTuple):
    """What one run of sleep did; of a dry run, what it would do."""

    run: int = 0  # number of the event that began it; 0: nothing was written
    passes: tuple[Done, ...] = ()
    stopped: str = ""  # why it ended early; the next run goes on there
    plan: tuple[Planned, ...] = ()
    retired: tuple[str, ...] = ()  # memories that count no longer

    @property
    def steps(self) -> int:
        """How many things were changed."""
        return sum(done.steps for done in self.passes)


class Note(NamedTuple):
    """Where an unfinished run stopped."""

    run: int = 0
    reached: str = ""  # the pass
    space: str = ""
    after: str = ""  # the last id


class Wish(NamedTuple):
    """What a run is asked to do."""

    passes: tuple[str, ...]
    dry: bool = False
    within: float | None = None  # seconds
    afresh: bool = False  # look at all pairs again, not only at what is new
    yielding: bool = False  # stop as soon as somebody takes a turn
    night: bool = False  # the next one is to wait for the interval, whatever was gone through
    patience: float = PATIENCE  # seconds that somebody else who settles is waited for
    merge_text: MergeText | None = None
    name_group: NameGroup | None = None
    relate: Relate | None = None
    still: Still | None = None
    going: Callable[[], bool] = lambda: True


@dataclass(slots=True)
class Run:
    """A run at work."""

    work: Work
    wish: Wish
    holder: str
    now: Callable[[], float]
    queue: EventQueue
    number: int = 0
    begun: float = field(default_factory=clock.ticks)
    renewed: float = field(default_factory=clock.ticks)
    stopped: str = ""
    lost: bool = False  # somebody else has the lease: how far we came is theirs to note
    reached: tuple[str, str, str] = ("", "", "")  # pass, space, id
    plan: list[Planned] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    grounds: dict[tuple[str, str], Ground] = field(default_factory=dict)
    settled: frozenset[frozenset[str]] = frozenset()

    def going(self) -> bool:
        """Whether to go on; keeps the lease."""
        if not self.stopped:
            self.stopped = self.hindrance()
        return not self.stopped

    def hindrance(self) -> str:
        """What forbids to go on, "" if nothing does."""
        if not self.wish.going():
            return "it was told to stop"
        ticks = clock.ticks()
        if self.wish.within is not None and ticks - self.begun > self.wish.within:
            return "its time was over"
        if self.wish.dry or (ticks - self.renewed < RENEW and not self.wish.yielding):
            return ""
        if self.wish.yielding and self.work.store.events(
            after=self.number, verbs=("turn",), limit=1
        ):
            return "somebody is at work"
        if ticks - self.renewed >= RENEW:
            self.renewed = ticks
            if not all(
                self.work.store.acquire(lease, self.holder, LEASE_SECONDS, self.now())
                for lease in (LEASE, ASLEEP)
            ):
                self.lost = True
                return "somebody else is settling"
            note(self)
        return ""


def note(run: Run) -> None:
    """Keep how far the run has come."""
    run.work.store.set_meta(
        NOTE, json.dumps({"passes": run.wish.passes, "at": [run.number, *run.reached]})
    )


def spaces(run: Run, since: str) -> Iterator[str]:
    """The spaces in which memory is on, from this one on."""
    for space in sorted(run.work.store.stats().spaces):
        if space >= since and not run.work.settings.is_off(space):
            if not run.going():
                return
            yield space
