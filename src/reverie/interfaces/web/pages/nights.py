"""Nights: what a sleep did, hunk by hunk, and taking it back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.consolidation.nights import Hunk, Night
from reverie.core.errors import BadInput, NotFound
from reverie.interfaces.web.page import (
    Action,
    Done,
    Page,
    View,
    WebRequest,
    changed_ids,
    quote,
)

PER_PAGE = 20
HUNKS_PER_PAGE = 40
PLACE = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")


class NightList(NamedTuple):
    """Runs of sleep, the newest first."""

    nights: Sequence[Night]
    next: int  # where the next page begins; 0: there is none


class NightPage(NamedTuple):
    """One run with what it did."""

    night: Night
    hunks: Sequence[Hunk]
    next: str  # where the next page begins
    only: str  # the pass that is shown alone


def list_nights(mind: Mind, asked: WebRequest) -> NightList:
    """A page of runs."""
    limit = asked.number("limit", PER_PAGE)
    before = asked.number("before", 0, most=10**18)
    nights = mind.nights.browse(limit=limit + 1, before=before or None)
    return NightList(nights[:limit], nights[limit - 1].run if 0 < limit < len(nights) else 0)


def show_night(mind: Mind, asked: WebRequest) -> NightPage:
    """A run's hunks."""
    run = asked.event_number("run")
    after = (0, -1)
    if given := asked.text("after"):
        found = PLACE.fullmatch(given)
        if not found:
            raise BadInput(f"after={given!r} is no place in a night")
        after = (int(found[1]), int(found[2]))
    nights = mind.nights.browse(limit=1, before=run + 1)
    if not nights or nights[0].run != run:
        raise NotFound(f"There was no run {run} of sleep")
    limit = asked.number("limit", HUNKS_PER_PAGE)
    hunks = mind.nights.read(run, limit=limit + 1, after=after)
    last = hunks[limit - 1] if 0 < limit < len(hunks) else None
    return NightPage(nights[0], hunks[:limit], f"{last.event}-{last.place}" if last else "", "")


def undo_hunk(mind: Mind, asked: WebRequest) -> Done:
    """Take one hunk back."""
    found = PLACE.fullmatch(asked.path["place"])
    if not found:
        raise BadInput(f"{asked.path['place']!r} is no place in a night")
    undo = mind.nights.undo_hunk(int(found[1]), int(found[2]))
    named = quote(mind, changed_ids(mind, [undo]))
    return Done(f"Took it back: {named}." if named else "Took it back.", undo)


def undo_night(mind: Mind, asked: WebRequest) -> Done:
    """Take a whole run back; what somebody has altered since stays."""
    run = asked.event_number("run")
    mind.undo(run)
    return Done(f"Took back all of night {run} that nobody has altered since.")


PAGE = Page(
    "nights",
    "Nights",
    (
        View("/nights", list_nights, "nights.html", scripts=()),
        View("/nights/{run}", show_night, "night.html"),
        Action("/nights/{run}/undo", undo_night),
        Action("/nights/hunk/{place}/undo", undo_hunk),
    ),
    place=4,
    key="k",
    scripts=("cards.js",),
    styles=("cards.css",),
)
