"""Health: whether memory works, how large it is, what it costs and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.activity.turn_cost import DayCost, TurnCost, list_daily_costs, sum_turn_costs
from reverie.activity.turn_feed import FedTurn
from reverie.core import config
from reverie.core.model import Event
from reverie.holdout.difference import Difference
from reverie.holdout.proof_report import Proof
from reverie.holdout.session_outcomes import MEASURES
from reverie.interfaces.install.settings_findings import DoctorFinding
from reverie.interfaces.web.page import Page, View, WebRequest
from reverie.llm.daily_spending import SpendingDay
from reverie.memory.growth import GrowthDay, KindDecay, list_decays
from reverie.storage import Stats

FAILURES = 10
SPENDING_DAYS = 30
GIVEN_DAYS = 7
MAX_GIVEN_DAYS = 366
TURNS_AT_ONCE = 500
MAX_COUNTED_TURNS = 5_000
SECONDS_PER_DAY = 86_400.0
# Of a home of many years: more points than a plot has pixels say nothing.
MAX_GROWTH_DAYS = 3_650
# Curves that can be told from each other, and how far they are drawn, in days.
MAX_DECAY_KINDS = 4
MAX_DECAY_DAYS, DECAY_STEP = 90, 10


class MeasuredDifference(NamedTuple):
    """A measure of the proof."""

    name: str
    found: Difference


class HealthPage(NamedTuple):
    """What is known at once."""

    home: str
    stats: Stats
    failures: Sequence[Event]
    spending: Sequence[SpendingDay]
    tokens_per_day: int
    dollars_per_day: float
    model: str
    proof: Proof
    differences: Sequence[MeasuredDifference]


class Findings(NamedTuple):
    """What the doctor finds, which takes a while."""

    findings: Sequence[DoctorFinding]


class GivenCost(NamedTuple):
    """What memory cost agents in the last days."""

    days: int
    whole: TurnCost
    daily: Sequence[DayCost]  # the newest first
    has_more: bool  # there were more turns than are counted


class Growth(NamedTuple):
    """How the number of memories went."""

    days: Sequence[GrowthDay]


def show_health(mind: Mind, _asked: WebRequest) -> HealthPage:
    """Sizes, failures, cost and worth."""
    settings, proof = mind.settings, mind.data.proof()
    return HealthPage(
        str(settings.home),
        mind.data.stats(),
        mind.data.failures(FAILURES),
        mind.data.spending(SPENDING_DAYS),
        settings.llm_tokens_per_day,
        settings.llm_dollars_per_day,
        mind.llm.name if mind.llm is not None else "",
        proof,
        [MeasuredDifference(MEASURES[name][0], one) for name, one in proof.differences.items()],
    )


def show_findings(mind: Mind, asked: WebRequest) -> Findings:
    """The same checks as `reverie doctor`."""
    # A tenth of a second to import.
    from reverie.interfaces.install.doctor import examine_installation

    project = config.working_directory()
    return Findings(examine_installation(mind.settings, asked.space, project))


def show_given(mind: Mind, asked: WebRequest) -> GivenCost:
    """What agents were given, and how long they waited for it."""
    days = max(1, asked.number("days", GIVEN_DAYS, most=MAX_GIVEN_DAYS))
    since = asked.now - days * SECONDS_PER_DAY
    turns: list[FedTurn] = []
    before: int | None = None
    has_more = False
    while not has_more:
        found = mind.activity.turns(limit=TURNS_AT_ONCE, before=before)
        recent = [turn for turn in found if turn.at >= since]
        turns += recent
        if len(found) < TURNS_AT_ONCE or not recent:
            break
        before, has_more = found[-1].event, len(turns) >= MAX_COUNTED_TURNS
    return GivenCost(days, sum_turn_costs(turns), list_daily_costs(turns), has_more)


def show_growth(mind: Mind, _asked: WebRequest) -> Growth:
    """Day by day."""
    return Growth(mind.data.growth()[-MAX_GROWTH_DAYS:])


class Decay(NamedTuple):
    """How much is left of what nobody uses."""

    days: Sequence[int]  # after so many days
    kinds: Sequence[KindDecay]
    left: Sequence[Sequence[float]]  # by kind, then by day: the share, 0 to 1


def show_decay(mind: Mind, asked: WebRequest) -> Decay:
    """The commonest kinds, with what is left after some days without use."""
    step = max(1, asked.number("step", DECAY_STEP, most=MAX_DECAY_DAYS))
    days = range(0, MAX_DECAY_DAYS + 1, step)
    kinds = list_decays(mind.data.stats().kinds, MAX_DECAY_KINDS)
    return Decay(days, kinds, [[one.left_after(day) for day in days] for one in kinds])


PAGE = Page(
    "health",
    "Health",
    (
        View("/health", show_health, "health.html"),
        View("/health/doctor", show_findings, "doctor.html", scripts=()),
        View("/health/given", show_given, "given.html", scripts=()),
        View("/health/growth", show_growth, "growth.html", scripts=()),
        View("/health/decay", show_decay, "decay.html", scripts=()),
    ),
    place=9,
    key="h",
    scripts=("htmx.min.js", "plots.js", "decay.js"),
    styles=("uplot.min.css",),
)
