"""When to sleep unasked, and the notes that a run leaves: light enough for a process that only
looks.

Sleep comes when nobody has taken a turn for a while and something is new: once the last one is long
enough ago, or earlier if a lot has come (B130–B132, B136). What it does then is `settings.sleep`.
In between, after every fifty retrievals, clusters alone are found anew (B83).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.errors import BadInput

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.storage import Store

PROGRESS_KEY = "sleep_unfinished"  # meta: where a run stopped
SLEPT_AT, SLEPT_COUNT = "slept_at", "slept_count"
BACKLOG_MEMORIES = 500  # new memories that do not wait for the interval (B132)
ACTIVITY_VERBS = (
    "turn",
    "remember",
    "revise",
    "feedback",
    "mirror",
)  # what somebody does who is at work
MIN_QUIET_SECONDS = 60.0  # seconds without a turn, then
MIN_NEW_MEMORIES = 20  # new memories below which a night is not worth it
MAX_RUN_SECONDS = 300.0  # seconds that a run by itself takes at most; the next one goes on there
RECLUSTER_PASSES = ("recluster",)  # the pass that finds clusters anew


class SleepOutlook(NamedTuple):
    """What speaks for sleeping now."""

    quiet_seconds: float  # seconds since somebody was at work
    seconds_since_run: float  # seconds since the last run
    new_memories: int  # memories since then
    unfinished: bool  # whether a run stopped half-way
    clusters_due: bool = False  # whether so much was asked that clusters are due


def assess_outlook(store: Store, now: float) -> SleepOutlook:
    """How things stand."""
    from reverie.extraction.retrieval_feedback import is_clustering_due

    last = store.events(verbs=ACTIVITY_VERBS, newest=True, limit=1)
    stats = store.stats()
    count = stats.memories + stats.retired
    return SleepOutlook(
        quiet_seconds=now - last[0].at if last else now,
        seconds_since_run=now - float(store.meta(SLEPT_AT) or 0.0),
        new_memories=max(0, count - int(store.meta(SLEPT_COUNT) or 0)),
        unfinished=find_unfinished_run(store) > 0,
        clusters_due=is_clustering_due(store),
    )


def is_sleep_due(settings: Settings, look: SleepOutlook) -> bool:
    """Whether to sleep now."""
    if settings.sleep == "off" or not settings.enabled:
        return False
    rested = look.quiet_seconds >= settings.sleep_idle * 60
    if look.unfinished:
        return rested
    late = (
        look.seconds_since_run >= settings.sleep_every * 3600
        and look.new_memories >= MIN_NEW_MEMORIES
    )
    return (rested and late) or (
        look.quiet_seconds >= MIN_QUIET_SECONDS and look.new_memories >= BACKLOG_MEMORIES
    )


def is_reclustering_due(settings: Settings, look: SleepOutlook) -> bool:
    """Whether to find clusters anew now, which is no night: so much was asked of them, and nobody
    asks just now.
    """
    if (
        settings.sleep == "off"
        or not settings.enabled
        or not look.clusters_due
        or look.quiet_seconds < MIN_QUIET_SECONDS
    ):
        return False
    from reverie.consolidation.clusters import is_clustering_available

    return set(RECLUSTER_PASSES) <= set(parse_sleep_setting(settings)) and is_clustering_available()


def is_sleep_coming(settings: Settings, look: SleepOutlook) -> bool:
    """Whether it is only quiet that is wanting: then waiting for it is worth while."""
    rested = look._replace(quiet_seconds=settings.sleep_idle * 60)
    return is_sleep_due(settings, rested) or is_reclustering_due(settings, rested)


def find_unfinished_run(store: Store) -> int:
    """The run that stopped half-way; 0 if there is none."""
    kept = json.loads(store.meta(PROGRESS_KEY) or "null")
    return int(kept["at"][0]) if kept else 0


def parse_sleep_setting(settings: Settings) -> tuple[str, ...]:
    """The passes that sleep goes through by itself."""
    from reverie.consolidation.sleep_passes import PASSES, SAFE_PASSES

    if settings.sleep == "safe":
        return SAFE_PASSES
    if settings.sleep == "all":
        return tuple(PASSES)
    names = [name.strip() for name in settings.sleep.split(",")]
    if unknown := [name for name in names if name not in PASSES]:
        raise BadInput(
            f"sleep = {settings.sleep!r}: there is no pass {unknown[0]!r}; use off, safe, all, or some of "
            f"{', '.join(PASSES)}"
        )
    return tuple(name for name in PASSES if name in names)
