"""Audit: who changed and who read what, the latest first; of others for administrators alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.access import AuditEntry, AuditQuery
from reverie.core.errors import BadInput
from reverie.interfaces.server.space_names import to_server_space
from reverie.interfaces.server.team_pages.call import find_caller, find_control
from reverie.interfaces.web.page import View, WebRequest
from reverie.memory.memory_validation import parse_moment

PATH = "/team/audit"
PER_PAGE = 50
DAY = 86_400.0


class AuditPage(NamedTuple):
    """A page of lines, and what was asked for."""

    entries: Sequence[AuditEntry]
    is_admin: bool
    actor: str
    key: str
    verb: str
    of: str  # a space
    since: str
    until: str
    before: str  # the id that this page begins before
    next: str  # and the next one; empty if there is none


def show_audit(mind: Mind, asked: WebRequest) -> AuditPage:
    """The newest lines that fit."""
    caller = find_caller(mind)
    limit = asked.number("limit", PER_PAGE)
    actor, key, verb, of = (asked.text(name) for name in ("actor", "key", "verb", "of"))
    since, until, before = (asked.text(name) for name in ("since", "until", "before"))
    query = AuditQuery(
        actor=actor,
        key=key,
        verbs=tuple(verb.replace(",", " ").split()),
        space=to_server_space(of, caller.private_root),
        since=read_day(since, "since"),
        until=None if not until else (read_day(until, "until") or 0.0) + DAY,
        before=before,
        is_newest_first=True,
        limit=limit + 1,
    )
    found = find_control(mind).governance.audit(caller, query)
    return AuditPage(
        found[:limit],
        caller.is_admin,
        actor if caller.is_admin else caller.user,
        key,
        verb,
        of,
        since,
        until,
        before,
        found[limit - 1].id if 0 < limit < len(found) else "",
    )


def read_day(given: str, name: str) -> float | None:
    """The beginning of a day (UTC); None without one."""
    if not given:
        return None
    moment = parse_moment(given, name)
    if moment is None:
        raise BadInput(f"{name}={given!r} is not a day such as 2026-11-28")
    return moment


ROUTES = (View(PATH, show_audit, "team_audit.html"),)
