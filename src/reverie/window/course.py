"""The course of one conversation, as its window needs to know it: when each message came, for which task, its number.

A message is known again by what it says: a host may pass the whole conversation each time or go on with what it was
given back. Only what is in the present list, or in what was given back, is remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from reverie.messages import named
from reverie.window.fitting import NOTHING, Before, Fitted, print_of_all
from reverie.window.shapes import Known


class Place(NamedTuple):
    """Where a message stands in its conversation."""

    number: int
    known: Known


@dataclass(slots=True)
class Course:
    """What was seen of a conversation so far."""

    before: Before = NOTHING
    end: int = 0                                          # number of the next message
    seen: dict[int, Place] = field(default_factory=dict)  # by the print of the message

    def places(self, messages: Sequence[Any], now: float, task: str) -> list[Place]:
        """Where each message stands; one that was not there before came just now, unless it says when (`at`)."""
        found = []
        for message in messages:
            mark = print_of_all(message)
            if mark not in self.seen:
                at = named(message, "at")
                came = float(at) if isinstance(at, (int, float)) and isfinite(at) else now
                self.seen[mark] = Place(self.end, Known(came, task))
                self.end += 1
            found.append(self.seen[mark])
        return found

    def went_on(self, messages: Sequence[Any], places: Sequence[Place], fitted: Fitted) -> None:
        """Remember what a host may pass the next time: what it passed now, or what it was given."""
        self.before = fitted.before
        kept = [place for index, place in enumerate(places) if index not in fitted.before.gone]
        self.seen = {print_of_all(message): place for message, place in
                     [*zip(messages, places, strict=True), *zip(fitted.messages, kept, strict=True)]}
