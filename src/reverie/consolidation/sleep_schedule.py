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

NOTE = "sleep_unfinished"  # meta: where a run stopped
SLEPT_AT, SLEPT_COUNT = "slept_at", "slept_count"
MANY = 500  # new memories that do not wait for the interval (B132)
ACTIVE = ("turn", "remember", "revise", "feedback", "mirror")  # what somebody does who is at work
BREATH = 60.0  # seconds without a turn, then
WORTH = 20  # new memories below which a night is not worth it
ATTEMPT = 300.0  # seconds that a run by itself takes at most; the next one goes on there
RENEWAL = ("recluster",)  # the pass that finds clusters anew


class Outlook(NamedTuple):
    """What speaks for sleeping now."""

    quiet: float  # seconds since somebody was at work
    since: float  # seconds since the last run
    new: int  # memories since then
    unfinished: bool  # whether a run stopped half-way
    asked: bool = False  # whether so much was asked that clusters are due


def outlook(store: Store, now: float) -> Outlook:
    """How things stand."""
    from reverie.extraction.retrieval_feedback import clusters_due

    last = store.events(verbs=ACTIVE, newest=True, limit=1)
    stats = store.stats()
    count = stats.memories + stats.retired
    return Outlook(
        quiet=now - last[0].at if last else now,
        since=now - float(store.meta(SLEPT_AT) or 0.0),
        new=max(0, count - int(store.meta(SLEPT_COUNT) or 0)),
        unfinished=run_noted(store) > 0,
        asked=clusters_due(store),
    )


def due(settings: Settings, look: Outlook) -> bool:
    """Whether to sleep now."""
    if settings.sleep == "off" or not settings.enabled:
        return False
    rested = look.quiet >= settings.sleep_idle * 60
    if look.unfinished:
        return rested
    late = look.since >= settings.sleep_every * 3600 and look.new >= WORTH
    return (rested and late) or (look.quiet >= BREATH and look.new >= MANY)


def renewal_due(settings: Settings, look: Outlook) -> bool:
    """Whether to find clusters anew now, which is no night: so much was asked of them, and nobody
    asks just now.
    """
    if settings.sleep == "off" or not settings.enabled or not look.asked or look.quiet < BREATH:
        return False
    from reverie.consolidation.clusters import available

    return set(RENEWAL) <= set(passes_of(settings)) and available()


def coming(settings: Settings, look: Outlook) -> bool:
    """Whether it is only quiet that is wanting: then waiting for it is worth while."""
    rested = look._replace(quiet=settings.sleep_idle * 60)
    return due(settings, rested) or renewal_due(settings, rested)


def run_noted(store: Store) -> int:
    """The run that stopped half-way; 0 if there is none."""
    kept = json.loads(store.meta(NOTE) or "null")
    return int(kept["at"][0]) if kept else 0


def passes_of(settings: Settings) -> tuple[str, ...]:
    """The passes that sleep goes through by itself."""
    from reverie.consolidation.sleep_passes import PASSES, SAFE

    if settings.sleep == "safe":
        return SAFE
    if settings.sleep == "all":
        return tuple(PASSES)
    names = [name.strip() for name in settings.sleep.split(",")]
    if unknown := [name for name in names if name not in PASSES]:
        raise BadInput(
            f"sleep = {settings.sleep!r}: there is no pass {unknown[0]!r}; use off, safe, all, or some of "
            f"{', '.join(PASSES)}"
        )
    return tuple(name for name in PASSES if name in names)
