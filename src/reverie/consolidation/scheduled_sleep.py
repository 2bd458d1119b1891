"""Sleep that nobody asked for: a short run, when it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.consolidation.sleep_schedule import (
    ATTEMPT,
    RENEWAL,
    due,
    outlook,
    passes_of,
    renewal_due,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reverie.consolidation.sleep_loop import Slept
    from reverie.pipeline.event_reader import EventQueue, Work


def nap(
    work: Work,
    holder: str,
    now: Callable[[], float],
    going: Callable[[], bool],
    queue: EventQueue,
) -> Slept | None:
    """Sleep for a while if it is time; None if it is not. A model is asked if `work` has one and
    `llm_sleep` is set.
    """
    look = outlook(work.store, now())
    night = due(work.settings, look)
    if not night and not renewal_due(work.settings, look):
        return None
    from reverie.consolidation.model_advice import advised
    from reverie.consolidation.sleep_loop import Wish, sleep

    wish = Wish(
        passes_of(work.settings) if night else RENEWAL,
        night=night,
        within=ATTEMPT,
        yielding=True,
        patience=0.0,
        going=going,
    )
    return sleep(work, advised(work, wish) if work.settings.llm_sleep else wish, holder, now, queue)
