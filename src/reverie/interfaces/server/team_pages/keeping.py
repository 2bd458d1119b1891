"""Keeping: how long spaces keep what is of no use, and what the law forbids to erase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.access import Right
from reverie.core.errors import BadInput
from reverie.interfaces.server.space_names import to_server_space
from reverie.interfaces.server.team_pages.call import call_member, find_caller
from reverie.interfaces.web.page import Action, Done, View, WebRequest
from reverie.storage.access_records import LegalHold, RetentionRule

PATH = "/team/keeping"
MAX_DAYS = 36_500


class RuleRow(NamedTuple):
    """A rule, and whether the reader may change it."""

    rule: RetentionRule
    may_change: bool


class KeepingPage(NamedTuple):
    """Rules of spaces that one may read; holds, for administrators."""

    rules: Sequence[RuleRow]
    holds: Sequence[LegalHold]
    is_admin: bool


def show_keeping(mind: Mind, _asked: WebRequest) -> KeepingPage:
    """What is in force."""
    caller = find_caller(mind)
    rules: Sequence[RetentionRule] = call_member(mind, "retention")
    rows = [RuleRow(rule, caller.rights.may(Right.ADMINISTER, rule.space)) for rule in rules]
    holds = call_member(mind, "holds") if caller.is_admin else ()
    return KeepingPage(rows, holds, caller.is_admin)


def set_retention(mind: Mind, asked: WebRequest) -> Done:
    """Another number of days; without one what is there stays for good."""
    space, days = asked.text("of"), asked.number("days", 0, most=MAX_DAYS)
    rules: Sequence[RetentionRule] = call_member(mind, "retention")
    before = {rule.space: rule.days for rule in rules}.get(
        to_server_space(space, find_caller(mind).private_root), 0
    )
    call_member(mind, "retention/set", space=space, days=days or None)
    said = (
        f"What was of no use for {days} days in {space} is erased for good, once a day."
        if days
        else f"Nothing in {space} is erased by itself."
    )
    return Done(
        said,
        location=PATH,
        back_path=f"{PATH}/retention",
        back_fields={"of": space, "days": str(before)},
    )


def place_hold(mind: Mind, asked: WebRequest) -> Done:
    """Nothing of it can be erased until it is lifted."""
    kind, subject = asked.text("kind", "space"), asked.text("subject")
    if not subject:
        raise BadInput("Of which space or user?")
    hold: LegalHold = call_member(
        mind, "holds/place", kind=kind, subject=subject, reason=asked.text("reason")
    )
    return Done(
        f"Nothing of the {kind} {subject} can be erased until the hold is lifted.",
        location=PATH,
        back_path=f"{PATH}/lift",
        back_fields={"hold": hold.id},
    )


def lift_hold(mind: Mind, asked: WebRequest) -> Done:
    """What it kept may be erased again."""
    call_member(mind, "holds/lift", id=asked.text("hold"))
    return Done("The hold is lifted. What it kept may be erased again.", location=PATH)


ROUTES = (
    View(PATH, show_keeping, "team_keeping.html"),
    Action(f"{PATH}/retention", set_retention),
    Action(f"{PATH}/hold", place_hold),
    Action(f"{PATH}/lift", lift_hold),
)
