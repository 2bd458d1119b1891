"""The course of one conversation, as its window needs to know it: when each message came, for which
task, its number.

A message is known again by what it says: a host may pass the whole conversation each time or go on
with what it was given back. The last question and the last message may differ the next time, for a
host may put a block into them: they are known by what stands before them. Only what is in the
present list, or in what was given back, is remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from reverie.context_window.provider_messages import MessageFacts
from reverie.context_window.window_fitting import (
    NO_PRIOR_FIT,
    FittedMessages,
    PriorFit,
    find_changing_places,
    fingerprint_with_calls,
)
from reverie.text.host_messages import get_field


class MessagePlace(NamedTuple):
    """Where a message stands in its conversation."""

    number: int
    known: MessageFacts


class ChangingMessage(NamedTuple):
    """A message that may differ the next time."""

    print: int
    place: MessagePlace


@dataclass(slots=True)
class MessageIndex:
    """What was seen of a conversation so far."""

    before: PriorFit = NO_PRIOR_FIT
    end: int = 0  # number of the next message
    seen: dict[int, MessagePlace] = field(default_factory=dict)  # by the print of the message
    changing: dict[int, ChangingMessage] = field(
        default_factory=dict
    )  # by the print of the message before it

    def locate_messages(self, messages: Sequence[Any], now: float, task: str) -> list[MessagePlace]:
        """Where each message stands; one that was not there before came just now, unless it says
        when (`at`).
        """
        found = []
        marks = [fingerprint_with_calls(message) for message in messages]
        there = set(marks)
        for message, mark, ahead in zip(messages, marks, [0, *marks], strict=False):
            if (
                mark not in self.seen
                and (loose := self.changing.get(ahead))
                and loose.print not in there
            ):
                self.seen[mark] = loose.place
            elif mark not in self.seen:
                at = get_field(message, "at")
                came = float(at) if isinstance(at, (int, float)) and isfinite(at) else now
                self.seen[mark] = MessagePlace(self.end, MessageFacts(came, task))
                self.end += 1
            found.append(self.seen[mark])
        return found

    def remember_fit(
        self, messages: Sequence[Any], places: Sequence[MessagePlace], fitted: FittedMessages
    ) -> None:
        """Remember what a host may pass the next time: what it passed now, or what it was given."""
        self.before = fitted.before
        kept = [index for index in range(len(places)) if index not in fitted.before.gone]
        self.remember_messages(messages, places, fitted.messages, kept)

    def remember_messages(
        self,
        messages: Sequence[Any],
        places: Sequence[MessagePlace],
        given: Sequence[Any],
        origin: Sequence[int],
    ) -> None:
        """The host passed `messages` and was `given` others back; `origin` are the places of those
        in `messages`.
        """
        both = ((messages, places), (given, [places[index] for index in origin]))
        marks = [
            ([fingerprint_with_calls(message) for message in some], back) for some, back in both
        ]
        self.seen = {
            mark: place for some, back in marks for mark, place in zip(some, back, strict=True)
        }
        self.changing = {
            some[n - 1] if n else 0: ChangingMessage(some[n], back[n])
            for (some, back), (passed, _) in zip(marks, both, strict=True)
            for n in find_changing_places(passed)
        }
