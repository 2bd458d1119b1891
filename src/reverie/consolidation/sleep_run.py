"""One run of sleep: what it is asked for, how far it has come, what it did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, TypeVar

from reverie.consolidation.neighbour_index import NeighbourIndex
from reverie.consolidation.sleep_schedule import PROGRESS_KEY
from reverie.core import clock
from reverie.core.model import Memory
from reverie.pipeline.event_reader import EventQueue, WorkContext
from reverie.pipeline.leases import SETTLE_LEASE
from reverie.reconciliation.pair_passes import MergeText, RelateMemories
from reverie.reconciliation.pass_view import PassStep

# the lease of who sleeps, beside that of who settles: it does not give way
SLEEP_LEASE = "sleep"
# A space's clusters are found without a look at the clock, so the lease is a long one.
LEASE_SECONDS = 60.0
# seconds after which the lease is renewed
RENEW_SECONDS = 5.0
# seconds that somebody else at work is waited for
PATIENCE_SECONDS = 30.0
# where a run's own events stand
RUN_EVENT_SPACE = "me"


# What a pass goes over.
Item = TypeVar("Item")
# A name for a group of memories with these texts, in a space; None where there is none to give.
NameGroup = Callable[[Sequence[str], str], str | None]
# Whether a memory holds, from the code as it was and as it is: ("yes", "no" or "unsure", why);
# None if it was not asked.
FactCheck = Callable[[Memory, str, str], tuple[str, str] | None]


class PassReport(NamedTuple):
    """What one pass did."""

    name: str
    steps: int = 0  # things that were changed, or would be
    seconds: float = 0.0
    skipped: str = ""  # why it did nothing, if it could not


class PlannedStep(NamedTuple):
    """One step of a plan, for a person to read."""

    name: str  # of the pass
    step: PassStep
    texts: Mapping[str, str]


class SleepReport(NamedTuple):
    """What one run of sleep did; of a dry run, what it would do."""

    run: int = 0  # number of the event that began it; 0: nothing was written
    passes: tuple[PassReport, ...] = ()
    stopped: str = ""  # why it ended early; the next run goes on there
    plan: tuple[PlannedStep, ...] = ()
    retired: tuple[str, ...] = ()  # memories that count no longer

    @property
    def steps(self) -> int:
        """How many things were changed, or would be."""
        return sum(done.steps for done in self.passes)


class RunProgress(NamedTuple):
    """Where an unfinished run stopped."""

    run: int = 0
    reached: str = ""  # the pass
    space: str = ""
    after: str = ""  # the last id


class SleepRequest(NamedTuple):
    """What a run is asked to do, and what it may ask a language model."""

    passes: tuple[str, ...]
    dry_run: bool = False
    max_seconds: float | None = None
    afresh: bool = False  # look at all pairs again, not only at what is new
    stop_at_turn: bool = False  # stop as soon as somebody takes a turn
    night: bool = False  # the next one is to wait for the interval, whatever was gone through
    patience: float = PATIENCE_SECONDS  # seconds that somebody else who settles is waited for
    merge_text: MergeText | None = None
    name_group: NameGroup | None = None
    relate: RelateMemories | None = None
    check_fact: FactCheck | None = None
    may_continue: Callable[[], bool] = lambda: True


@dataclass(slots=True)
class SleepRun:
    """A run at work."""

    work: WorkContext
    request: SleepRequest
    holder: str
    now: Callable[[], float]
    queue: EventQueue
    number: int = 0
    begun_ticks: float = field(default_factory=clock.ticks)
    renewed_ticks: float = field(default_factory=clock.ticks)
    stopped: str = ""
    lost: bool = False  # somebody else has the lease: how far we came is theirs to note
    resume_at: tuple[str, str] = ("", "")  # where the pass at work goes on: space, id
    reached: tuple[str, str, str] = ("", "", "")  # pass, space, id
    steps: int = 0  # of the pass at work
    plan: list[PlannedStep] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    neighbour_indexes: dict[tuple[str, str], NeighbourIndex] = field(default_factory=dict)
    given_at: dict[str, float] | None = None  # when memories were given last, once it was asked
    settled_pairs: frozenset[frozenset[str]] = frozenset()

    @property
    def pass_name(self) -> str:
        """The pass at work."""
        return self.reached[0]

    def may_continue(self) -> bool:
        """True if the run may go on; renews the lease. Once False, always False."""
        if not self.stopped:
            self.stopped = self.find_hindrance()
        return not self.stopped

    def take_batches(
        self,
        items: Iterable[Item],
        size: int,
    ) -> Iterator[list[Item]]:
        """The items, so many at a time, as long as the run may go on."""
        rest = iter(items)
        while self.may_continue() and (batch := list(islice(rest, size))):
            yield batch

    def find_hindrance(self) -> str:
        """Why the run must stop, "" if it need not. Renews the lease every RENEW_SECONDS."""
        store, request = self.work.store, self.request
        if not request.may_continue():
            return "it was told to stop"
        ticks = clock.ticks()
        if request.max_seconds is not None and ticks - self.begun_ticks > request.max_seconds:
            return "its time was over"
        if request.dry_run:
            return ""
        if request.stop_at_turn and store.events(
            after=self.number,
            verbs=("turn",),
            limit=1,
        ):
            return "somebody is at work"
        is_due = ticks - self.renewed_ticks >= RENEW_SECONDS
        return self.renew_lease(ticks) if is_due else ""

    def renew_lease(self, ticks: float) -> str:
        """Renew both leases and note the progress; what stands in the way, "" for nothing."""
        self.renewed_ticks = ticks
        for lease in (SETTLE_LEASE, SLEEP_LEASE):
            if not self.work.store.acquire(
                lease,
                self.holder,
                LEASE_SECONDS,
                self.now(),
            ):
                self.lost = True
                return "somebody else is settling"
        save_progress(self)
        return ""


def save_progress(run: SleepRun) -> None:
    """Note how far the run has come."""
    progress = {"passes": run.request.passes, "at": [run.number, *run.reached]}
    run.work.store.set_meta(PROGRESS_KEY, json.dumps(progress))


def iter_enabled_spaces(run: SleepRun) -> Iterator[str]:
    """The spaces in which memory is on, from `resume_at` on, as long as the run may go on."""
    for space in sorted(run.work.store.stats().spaces):
        if space < run.resume_at[0] or run.work.settings.is_off(space):
            continue
        if not run.may_continue():
            return
        yield space
