"""What a turn's words would bring up now and a gate keeps back: the same for the page and the
terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie import Mind
from reverie.activity.turn_feed import FedTurn
from reverie.injection.gate_report import GateVerdict

# What a gate of these stops, and is less likely needed than so, has nothing to do with the words.
UNLIKELY_GATES = ("not likely enough", "far behind the best")
MIN_NEAR_CHANCE = 0.05


def weigh_turn(mind: Mind, turn: FedTurn) -> Sequence[GateVerdict]:
    """All that fits the last words of a person in a turn, weighed against what is known now."""
    words = read_last_words(turn)
    return mind.sessions.weigh(words, space=turn.space) if words else []


def read_last_words(turn: FedTurn) -> str:
    """The last words of a person in a turn; "" if there are none."""
    words = [one.text for one in turn.said if one.role == "user" and one.text.strip()]
    return words[-1] if words else ""


def is_near(verdict: GateVerdict) -> bool:
    """True if what is withheld is likely enough to be worth a look, or a rule stops it."""
    return verdict.hit.score >= MIN_NEAR_CHANCE or verdict.gate not in UNLIKELY_GATES


def list_stopped(mind: Mind, turn: FedTurn) -> Sequence[GateVerdict]:
    """What a gate keeps back of it, without what the turn itself gave or withheld."""
    told = {one.id for one in (*turn.given, *turn.withheld)}
    return [one for one in weigh_turn(mind, turn) if one.gate and one.hit.memory.id not in told]
