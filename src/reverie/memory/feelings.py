"""How something felt, and how strongly. Pure.

A feeling stands in the details of the memory that it is about, under `emotion`: so it follows its
parent whatever becomes of it, and one undo takes it off again. A feeling about nothing in
particular is a memory of kind `feeling`, and carries the same. It moves the rank of its own memory
alone, within bounds (`retrieval.rescoring.EMOTION_FACTORS`).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import Memory, Revise
from reverie.memory.detail_changes import drop_details, revise_details

KIND = "feeling"
FIELD = "emotion"
INTENSITIES = ("low", "medium", "high")  # weakest first
# Names of emotions are open: a list of ours would leave out what somebody feels.
EMOTION_NAME = r"[a-z][a-z -]{1,31}"


class Feeling(NamedTuple):
    """An emotion by its usual name (joy, frustration, relief …), how strong it is, and why it is
    thought so.
    """

    emotion: str
    intensity: str
    why: str = ""


def validate_feeling(
    emotion: object,
    intensity: object,
    why: object = "",
) -> Feeling:
    """A feeling that can be kept; BadInput if it has no name of an emotion or no intensity."""
    plain = emotion.strip().lower() if isinstance(emotion, str) else ""
    if not re.fullmatch(EMOTION_NAME, plain):
        raise BadInput(
            f"{emotion!r} is not an emotion; name it in a word, such as joy, relief or frustration"
        )
    if not isinstance(why, str):
        raise BadInput(f"why={why!r} must be a text")
    return Feeling(
        plain,
        validate_intensity(intensity),
        " ".join(why.split())[:300],
    )


def validate_intensity(intensity: object) -> str:
    """One of INTENSITIES, else BadInput."""
    if not isinstance(intensity, str) or intensity not in INTENSITIES:
        raise BadInput(f"{intensity!r} is not an intensity; there are {', '.join(INTENSITIES)}")
    return intensity


def feeling_to_details(feeling: Feeling) -> dict[str, str]:
    """A feeling as it stands in a memory's details."""
    details = {"name": feeling.emotion, "intensity": feeling.intensity}
    return {**details, "why": feeling.why} if feeling.why else details


def read_feeling(memory: Memory) -> Feeling | None:
    """What a memory is felt with, or None. Details are anybody's: what is no feeling counts as
    none.
    """
    tag = memory.details.get(FIELD)
    # Details are anybody's: hosts may keep something else under this name.
    if not isinstance(tag, Mapping) or tag.get("intensity") not in INTENSITIES:
        return None
    return Feeling(
        str(tag.get("name", "")),
        str(tag["intensity"]),
        str(tag.get("why", "")),
    )


def set_feeling(
    memory: Memory,
    feeling: Feeling | None,
    now: float,
) -> Revise:
    """The change that gives a memory this feeling instead of the one it has, or none."""
    details = drop_details(memory.details, FIELD)
    if feeling:
        details[FIELD] = feeling_to_details(feeling)
    return revise_details(memory, details, now)


def is_felt(
    memory: Memory,
    minimum: str,
    emotion: str = "",
) -> bool:
    """True if it is felt at least so strongly, and with this emotion if one is named."""
    feeling = read_feeling(memory)
    return (
        feeling is not None
        and INTENSITIES.index(feeling.intensity) >= INTENSITIES.index(minimum)
        and emotion in ("", feeling.emotion)
    )
