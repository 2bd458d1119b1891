"""The index of one conversation's messages: when each came, for which task, its number.

A message is known again by what it says: a host may pass the whole conversation each time or go on
with what it was given back. The last question and the last message may differ the next time, for a
host may put a block into them: they are known by what stands before them. Only what is in the
present list, or in what was given back, is remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reverie.context_window.message_parts import Messages
from reverie.context_window.provider_messages import MessageFacts
from reverie.context_window.window_fitting import (
    NO_PRIOR_FIT,
    FittedMessages,
    PriorFit,
    find_changing_places,
    fingerprint_with_calls,
    read_message_time,
)


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

    def locate_messages(
        self,
        messages: Messages,
        now: float,
        task: str,
    ) -> list[MessagePlace]:
        """Where each message stands; a new one came just now, unless it says when (`at`)."""
        places = []
        prints = [fingerprint_with_calls(message) for message in messages]
        there = set(prints)
        for message, mark, print_before in zip(
            messages,
            prints,
            [0, *prints],
            strict=False,
        ):
            if mark not in self.seen:
                # Not seen, and yet the message that stood here: the host put a block into it.
                changed = self.changing.get(print_before)
                if changed and changed.print not in there:
                    self.seen[mark] = changed.place
                else:
                    at = read_message_time(message)
                    self.seen[mark] = MessagePlace(
                        self.end, MessageFacts(now if at is None else at, task)
                    )
                    self.end += 1
            places.append(self.seen[mark])
        return places

    def remember_fit(
        self,
        messages: Messages,
        places: Sequence[MessagePlace],
        fitted: FittedMessages,
    ) -> None:
        """Remember what a host may pass the next time: what it passed now, or what it was given."""
        self.before = fitted.before
        kept = [index for index in range(len(places)) if index not in fitted.before.gone]
        self.remember_messages(messages, places, fitted.messages, kept)

    def remember_messages(
        self,
        messages: Messages,
        places: Sequence[MessagePlace],
        given: Messages,
        origin: Sequence[int],
    ) -> None:
        """Remember what the host passed and what it was given back.

        `places` say where `messages` stand, `origin` where in `messages` those `given` back stood.
        """
        back = [places[index] for index in origin]
        self.seen, self.changing = {}, {}
        for passed, stand in ((messages, places), (given, back)):
            prints = [fingerprint_with_calls(message) for message in passed]
            self.seen.update(zip(prints, stand, strict=True))
            for n in find_changing_places(passed):
                print_before = prints[n - 1] if n else 0
                self.changing[print_before] = ChangingMessage(prints[n], stand[n])
