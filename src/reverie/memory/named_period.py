"""What the present time is called: "release-week", "end-of-sprint". Nobody guesses it: somebody
says so.

A season belongs to a space and all below it, until it is ended or its time is over. What is kept
meanwhile carries its name in `details["season"]`; recall in a season of the same name favours that
by `rescoring.SAME_SEASON_FACTOR`, within the bounds of every prior, so that the checklist of the
last release week comes up in this one. It is no tag: a tag would tie all that was kept in one week
to each other.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.memory.memory_validation import redact_or_refuse
from reverie.storage import Store

LABEL = r"[a-z0-9][a-z0-9._-]{0,63}"  # compiled when first used: a cold recall names no season
FIELD = "season"  # in a memory's details


class Season(NamedTuple):
    """A name for a stretch of time. Empty where there is none; `until` None: until it is ended."""

    label: str = ""
    since: float = 0.0
    until: float | None = None

    def __bool__(self) -> bool:
        """True if there is one."""
        return bool(self.label)


def validate_season_label(label: object, policy: Policy = DEFAULT_POLICY) -> str:
    """A label as it is kept: a short lower-case word; "Release week" becomes "release-week"."""
    said = redact_or_refuse(label, policy) if isinstance(label, str) else ""
    plain = "-".join(said.lower().split())
    if not re.fullmatch(LABEL, plain):
        raise BadInput(
            f"{label!r} is not a name for a season; write a short one such as release-week"
        )
    return plain


def season_meta_name(space: str) -> str:
    """The name under which a space's season is kept in the store."""
    return f"season:{space}"


def find_season(
    store: Store,
    spaces: Sequence[str],
    now: float,
) -> Season:
    """The season of the nearest of these spaces that has one now; an empty one if none has."""
    for space in spaces:
        kept = store.meta(season_meta_name(space))
        if not kept:
            continue
        # A cold recall waits for no JSON where there is no season.
        from json import loads

        season = Season(*loads(kept))
        if season and (season.until is None or season.until > now):
            return season
    return Season()


def season_to_json(season: Season) -> str:
    """A season as it is kept in the store."""
    from json import dumps

    return dumps(list(season))


def stamp_season(memory: Memory, season: Season) -> Memory:
    """The memory with the season's name, unless it was given one or comes from before it."""
    # What was said before the season began is not of it, whenever it was written down.
    if not season or memory.at < season.since or memory.details.get(FIELD):
        return memory
    return memory._replace(details={**memory.details, FIELD: season.label})
