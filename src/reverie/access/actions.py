"""What every part of `AccessControl` stands on: the tables, and audit lines about a caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reverie.access.callers import Caller
from reverie.core import clock
from reverie.storage.access_records import AuditEntry

if TYPE_CHECKING:
    from reverie.storage.postgres.access_tables import AccessTables


class AccessActions:
    """Verbs about one topic. Each is one transaction, with its line of the audit in it."""

    def __init__(self, tables: AccessTables) -> None:
        self.tables = tables


def audit_entry(
    caller: Caller,
    verb: str,
    now: float,
    *,
    space: str = "",
    count: int = 0,
    **details: Any,
) -> AuditEntry:
    """A line of the audit. Give names and numbers, never texts of memories."""
    return AuditEntry(
        id=clock.new_id("aud"),
        at=now,
        actor=caller.user,
        key=caller.key_id,
        verb=verb,
        space=space,
        count=count,
        details=details,
    )
