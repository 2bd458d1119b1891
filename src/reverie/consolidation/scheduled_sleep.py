"""Scheduled sleep: runs when it is due, and ends when a turn comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.consolidation.sleep_schedule import (
    MAX_RUN_SECONDS,
    RECLUSTER_PASSES,
    assess_outlook,
    is_reclustering_due,
    is_sleep_due,
    parse_sleep_setting,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reverie.consolidation.sleep_run import SleepReport
    from reverie.pipeline.event_reader import EventQueue, WorkContext


def sleep_if_due(
    work: WorkContext,
    holder: str,
    now: Callable[[], float],
    may_continue: Callable[[], bool],
    queue: EventQueue,
) -> SleepReport | None:
    """Sleep for a while if it is time; None if it is not.

    A model is asked if `work` has one and `llm_sleep` is set.
    """
    outlook = assess_outlook(work.store, now())
    night = is_sleep_due(work.settings, outlook)
    if not night and not is_reclustering_due(work.settings, outlook):
        return None
    from reverie.consolidation.model_advice import with_model_advice
    from reverie.consolidation.sleep_loop import SleepRequest, run_sleep_passes

    # A turn may come at any time, and whoever settles now is at work.
    request = SleepRequest(
        parse_sleep_setting(work.settings) if night else RECLUSTER_PASSES,
        night=night,
        max_seconds=MAX_RUN_SECONDS,
        stop_at_turn=True,
        patience=0.0,
        may_continue=may_continue,
    )
    if work.settings.llm_sleep:
        request = with_model_advice(work, request)
    return run_sleep_passes(work, request, holder, now, queue)
