"""The table of verbs that the server offers: one row a verb, and all else follows from it.

A row names the verb of `Mind`; the route is `POST /v1/<name>`, its body the verb's arguments by
name, its answer `{"result": …}`. Routes, checks and the OpenAPI document read the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

from reverie.access import Right
from reverie.interfaces.server.json_schemas import Schema, check_object
from reverie.interfaces.server.repeated_requests import NOTED_ANSWERS
from reverie.interfaces.server.verb_arguments import (
    describe_answer,
    describe_arguments,
    get_answer_type,
)
from reverie.memory.memory_validation import MemoryFields, PlacedFields
from reverie.runtime.mind import Mind
from reverie.runtime.mind.activity_verbs import ActivityVerbs
from reverie.runtime.mind.data_verbs import DataVerbs
from reverie.runtime.mind.reminder_verbs import ReminderVerbs
from reverie.runtime.mind.review_verbs import ReviewVerbs


class ReminderFields(PlacedFields, total=False):
    """Further arguments of `remind`."""

    zone: str  # IANA name of the time zone that is meant
    priority: float  # 0 to 1; 0.5


class RevisedFields(MemoryFields, total=False):
    """The fields that `revise` alters."""

    text: str
    space: str


@dataclass(frozen=True)
class VerbRoute:
    """A verb of `Mind` as a route."""

    name: str  # behind /v1/; "reminders/done" is the verb `done` of `mind.reminders`
    verb: Callable[..., Any]
    path: str  # of the verb, from a mind
    right: Right = Right.READ  # that a key needs at least
    more: type | None = None  # names that a verb takes which takes any
    without: tuple[str, ...] = ()  # arguments that mean something on the caller's machine only
    takes_steps: bool = False  # it is no single transaction; doing it again changes nothing more

    @cached_property
    def can_be_repeated(self) -> bool:
        """True of a verb that alters something, where a repeated request is known by its key.

        The others only read, or may be repeated as they are.
        """
        answers = get_answer_type(self.verb)
        return self.right >= Right.WRITE and answers in NOTED_ANSWERS

    @cached_property
    def components(self) -> dict[str, Schema]:
        """Schemas that arguments and answer refer to."""
        found: dict[str, Schema] = {}
        describe_answer(self.verb, found)
        describe_arguments(self.verb, found, more=self.more, without=self.without)
        return found

    @cached_property
    def arguments(self) -> Schema:
        """The schema of the request's body."""
        return describe_arguments(self.verb, {}, more=self.more, without=self.without)

    @cached_property
    def answer(self) -> Schema:
        """The schema of what stands under `result`."""
        return describe_answer(self.verb, {})

    @property
    def summary(self) -> str:
        """What the verb does, as its documentation says."""
        return " ".join((self.verb.__doc__ or "").split())

    def call(self, mind: Mind, arguments: dict[str, Any]) -> Any:
        """What the verb answers; BadArgument for arguments that it does not take."""
        check_object(arguments, self.arguments, "")
        return attrgetter(self.path)(mind)(**arguments)


def verb_row(name: str, verb: Callable[..., Any], path: str = "", **more: Any) -> VerbRoute:
    """A row of the table; `path` is where the verb stands, if not on the mind itself."""
    return VerbRoute(name, verb, path or name, **more)


WRITE = Right.WRITE

VERB_ROUTES: tuple[VerbRoute, ...] = (
    verb_row("remember", Mind.remember, right=WRITE, without=("about",)),
    verb_row("remember_many", Mind.remember_many, right=WRITE),
    verb_row("recall", Mind.recall),
    verb_row("hints", Mind.hints),
    verb_row("retrieve", Mind.retrieve),
    verb_row("warnings", Mind.warnings),
    verb_row("similar", Mind.similar),
    verb_row("neighbours", Mind.neighbours),
    verb_row("get", Mind.get),
    verb_row("browse", Mind.browse),
    verb_row("tags", Mind.tags),
    verb_row("meanings", Mind.meanings),
    verb_row("clusters", Mind.clusters),
    verb_row("history", Mind.history),
    verb_row("explain", Mind.explain),
    verb_row("revise", Mind.revise, right=WRITE, more=RevisedFields),
    verb_row("tag", Mind.tag, right=WRITE),
    verb_row("describe", Mind.describe, right=WRITE),
    verb_row("link", Mind.link, right=WRITE),
    verb_row("supersede", Mind.supersede, right=WRITE),
    verb_row("feedback", Mind.feedback, right=WRITE),
    verb_row("forget", Mind.forget, right=WRITE),
    verb_row("restore", Mind.restore, right=WRITE),
    verb_row("undo", Mind.undo, right=WRITE),
    verb_row("purge", DataVerbs.purge, "data.purge", right=WRITE, takes_steps=True),
    verb_row("remind", Mind.remind, right=WRITE, more=ReminderFields),
    verb_row("due", ReminderVerbs.due, "reminders.due"),
    verb_row("reminders", ReminderVerbs.browse, "reminders.browse"),
    verb_row("reminders/done", ReminderVerbs.done, "reminders.done", right=WRITE),
    verb_row("reminders/cancel", ReminderVerbs.cancel, "reminders.cancel", right=WRITE),
    verb_row("reminders/snooze", ReminderVerbs.snooze, "reminders.snooze", right=WRITE),
    verb_row("record", Mind.record, right=WRITE),
    verb_row("suggest_fix", ActivityVerbs.suggest_fix, "activity.suggest_fix"),
    verb_row("learn", Mind.learn, right=WRITE, without=("folder",)),
    verb_row("review/pending", ReviewVerbs.pending, "review.pending"),
    verb_row("review/curate", ReviewVerbs.curate, "review.curate", right=WRITE),
    verb_row("stats", DataVerbs.stats, "data.stats"),
)
