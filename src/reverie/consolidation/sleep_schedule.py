"""When to sleep unasked, a short run when it is due, and the notes that a run leaves: light enough
to import for a process that only looks.

Sleep comes when nobody has taken a turn for a while and something is new: once the last run is long
enough ago, or earlier if a lot has come. What it does then is `settings.sleep`. In between, after
every fifty retrievals, clusters alone are found anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.errors import BadInput

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.storage import Store

# meta: where a run stopped
PROGRESS_KEY = "sleep_unfinished"
SLEPT_AT, SLEPT_COUNT = "slept_at", "slept_count"
# new memories that do not wait for the interval, and the quiet that is enough then
BACKLOG_MEMORIES = 500
# verbs of what somebody does who is at work
ACTIVITY_VERBS = ("turn", "remember", "revise", "feedback", "mirror")
MIN_QUIET_SECONDS = 60.0
# For fewer new memories a run is not worth it.
MIN_NEW_MEMORIES = 20
# the longest that an unasked run takes; the next one goes on there
MAX_RUN_SECONDS = 300.0
# the pass that finds clusters anew
RECLUSTER_PASSES = ("recluster",)


class SleepOutlook(NamedTuple):
    """What speaks for sleeping now."""

    quiet_seconds: float  # since somebody was at work
    seconds_since_run: float
    new_memories: int  # since that run
    unfinished: bool  # a run stopped half-way
    clusters_due: bool = False  # enough was retrieved since clusters were found


def assess_outlook(store: Store, now: float) -> SleepOutlook:
    """What the store says for sleeping now."""
    from reverie.extraction.retrieval_feedback import is_clustering_due

    last = store.events(
        verbs=ACTIVITY_VERBS,
        newest=True,
        limit=1,
    )
    stats = store.stats()
    count = stats.memories + stats.retired
    return SleepOutlook(
        quiet_seconds=now - last[0].at if last else now,
        seconds_since_run=now - float(store.meta(SLEPT_AT) or 0.0),
        new_memories=max(0, count - int(store.meta(SLEPT_COUNT) or 0)),
        unfinished=find_unfinished_run(store) > 0,
        clusters_due=is_clustering_due(store),
    )


def is_sleep_due(settings: Settings, outlook: SleepOutlook) -> bool:
    """True if an unasked run should begin now."""
    if settings.sleep == "off" or not settings.enabled:
        return False
    is_idle = outlook.quiet_seconds >= settings.sleep_idle * 60
    if outlook.unfinished:
        return is_idle
    interval_over = outlook.seconds_since_run >= settings.sleep_every * 3600
    if is_idle and interval_over and outlook.new_memories >= MIN_NEW_MEMORIES:
        return True
    return outlook.quiet_seconds >= MIN_QUIET_SECONDS and outlook.new_memories >= BACKLOG_MEMORIES


def is_reclustering_due(settings: Settings, outlook: SleepOutlook) -> bool:
    """True if clusters alone should be found anew now: many retrievals, and a quiet minute."""
    if settings.sleep == "off" or not settings.enabled:
        return False
    if not outlook.clusters_due or outlook.quiet_seconds < MIN_QUIET_SECONDS:
        return False
    return set(RECLUSTER_PASSES) <= set(parse_sleep_setting(settings))


def is_sleep_coming(settings: Settings, outlook: SleepOutlook) -> bool:
    """True if only quiet is wanting: then waiting for it is worth while."""
    idle = outlook._replace(quiet_seconds=settings.sleep_idle * 60)
    return is_sleep_due(settings, idle) or is_reclustering_due(settings, idle)


def find_unfinished_run(store: Store) -> int:
    """The number of the run that stopped half-way; 0 if there is none."""
    progress = json.loads(store.meta(PROGRESS_KEY) or "null")
    return int(progress["at"][0]) if progress else 0


def parse_sleep_setting(settings: Settings) -> tuple[str, ...]:
    """The passes of an unasked run, in their order. Raises BadInput for a name that is none."""
    from reverie.consolidation.sleep_passes import PASSES, SAFE_PASSES

    if settings.sleep == "safe":
        return SAFE_PASSES
    if settings.sleep == "all":
        return tuple(PASSES)
    names = [name.strip() for name in settings.sleep.split(",")]
    unknown = [name for name in names if name not in PASSES]
    if unknown:
        raise BadInput(
            f"sleep = {settings.sleep!r}: there is no pass {unknown[0]!r}; "
            f"use off, safe, all, or some of {', '.join(PASSES)}"
        )
    return tuple(name for name in PASSES if name in names)
