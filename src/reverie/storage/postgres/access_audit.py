"""Rows of the audit, what a tenant uses, and what is known of its memories for governance, within
one transaction of a tenant.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from reverie.storage.access_records import (
    AuditEntry,
    AuditQuery,
    StoredAmounts,
    StoredMemory,
)
from reverie.storage.postgres.connection import TenantConnection

# The server's stamp in a memory's details (`access.authorship`).
WRITER = "writer"
MEMORY_COLUMNS = "id, space, session, details, greatest(updated_at, last_accessed_at, created_at)"


class AuditRows:
    """The audit, amounts, and which memories there are."""

    db: TenantConnection

    def audit(self, *entries: AuditEntry) -> None:
        """Add lines."""
        sql = """
            insert into audit (tenant, id, at, actor, key, verb, space, count, details)
            values (
                %(tenant)s, %(id)s, %(at)s, %(actor)s, %(key)s, %(verb)s, %(space)s,
                %(count)s, %(details)s
            )
        """
        rows = [
            {
                "id": entry.id,
                "at": entry.at,
                "actor": entry.actor,
                "key": entry.key,
                "verb": entry.verb,
                "space": entry.space,
                "count": entry.count,
                "details": Jsonb(dict(entry.details)),
            }
            for entry in entries
        ]
        self.db.run_many(sql, rows)

    def audit_entries(self, query: AuditQuery) -> list[AuditEntry]:
        """Lines that a query means, in the order that it says."""
        order = "id desc" if query.is_newest_first else "id"
        rows = self.db.fetch_rows(
            f"""
            select id, at, actor, key, verb, space, count, details
            from audit
            where tenant = %(tenant)s
                and id > %(after)s
                and (%(before)s = '' or id < %(before)s)
                and (%(actor)s = '' or actor = %(actor)s)
                and (%(key)s = '' or key = %(key)s)
                and (%(verbs)s::text[] = '{{}}' or verb = any(%(verbs)s::text[]))
                and (
                    %(space)s = '' or space = %(space)s
                    or starts_with(space, %(space)s || '/')
                )
                and (%(since)s::float8 is null or at >= %(since)s)
                and (%(until)s::float8 is null or at < %(until)s)
            order by {order}
            limit %(limit)s
            """,
            after=query.after,
            before=query.before,
            actor=query.actor,
            key=query.key,
            verbs=list(query.verbs),
            space=query.space,
            since=query.since,
            until=query.until,
            limit=query.limit,
        )
        return [
            AuditEntry(
                id=row[0],
                at=row[1],
                actor=row[2],
                key=row[3],
                verb=row[4],
                space=row[5],
                count=row[6],
                details=row[7],
            )
            for row in rows
        ]

    def stored_amounts(self) -> StoredAmounts:
        """How much the tenant keeps, in memories and in files of devices; needs `governing`."""
        memories, size = self.db.fetch_rows(
            """
            select count(*), coalesce(sum(octet_length(text)), 0)::bigint
            from memory where tenant = %(tenant)s
            """
        )[0]
        files = self.db.fetch_value(
            """
            select coalesce(sum(octet_length(data)), 0)::bigint
            from device_file where tenant = %(tenant)s
            """
        )
        return StoredAmounts(memories=memories, bytes=size + files)

    def stored_memories(self, ids: Sequence[str]) -> list[StoredMemory]:
        """What governance knows of these memories; needs `governing`."""
        rows = self.db.fetch_rows(
            f"""
            select {MEMORY_COLUMNS} from memory
            where tenant = %(tenant)s and id = any(%(ids)s)
            """,
            ids=list(ids),
        )
        return [read_stored(row) for row in rows]

    def has_memories(self, space: str) -> bool:
        """True if any memory lies in a space or below; needs `governing`."""
        found = self.db.fetch_rows(
            """
            select 1 from memory
            where tenant = %(tenant)s
                and (space = %(space)s or starts_with(space, %(space)s || '/'))
            limit 1
            """,
            space=space,
        )
        return bool(found)

    def memories_of(self, *, author: str = "", source: str = "") -> list[StoredMemory]:
        """Memories that a user wrote, all in their private spaces included, or that came from a
        source: a session, or a name in the memory's details; needs `governing`.
        """
        name = author or source
        rows = self.db.fetch_rows(
            f"""
            select {MEMORY_COLUMNS} from memory
            where tenant = %(tenant)s
                and (
                    session = %(name)s or space = %(root)s or starts_with(space, %(root)s || '/')
                    or strpos(details, %(plain)s) > 0 or strpos(details, %(escaped)s) > 0
                )
            order by id
            """,
            name=name,
            root=f"~{author}" if author else "",
            plain=json.dumps(name, ensure_ascii=False),
            escaped=json.dumps(name),
        )
        if author:
            return [one for row in rows if is_written_by(one := read_stored(row), author)]
        return [
            read_stored(row)
            for row in rows
            if row[2] == source or holds_text(json.loads(row[3] or "{}"), source)
        ]

    def memories_unused_since(
        self, moment: float, spaces: Sequence[str], limit: int
    ) -> list[StoredMemory]:
        """Memories in these spaces or below that were not used since, the oldest first; "*" means
        every shared space; needs `governing`.
        """
        rows = self.db.fetch_rows(
            f"""
            select {MEMORY_COLUMNS} from memory
            where tenant = %(tenant)s
                and greatest(updated_at, last_accessed_at, created_at) <= %(moment)s
                and exists (
                    select 1 from unnest(%(spaces)s::text[]) as wanted (root)
                    where space = root or starts_with(space, root || '/')
                        or (root = '*' and not starts_with(space, '~'))
                )
            order by num
            limit %(limit)s
            """,
            moment=moment,
            spaces=list(spaces),
            limit=limit,
        )
        return [read_stored(row) for row in rows]


def read_stored(row: tuple[Any, ...]) -> StoredMemory:
    """A memory of MEMORY_COLUMNS."""
    memory_id, space, session, details, used_at = row
    stamp = json.loads(details).get(WRITER) if details else None
    writer = stamp.get("user") if isinstance(stamp, dict) else ""
    return StoredMemory(
        id=memory_id, space=space, writer=writer or "", source=session, used_at=used_at
    )


def is_written_by(memory: StoredMemory, author: str) -> bool:
    """True if the server stamped it so, or it lies in the author's private spaces."""
    root = f"~{author}"
    is_own = memory.space == root or memory.space.startswith(root + "/")
    return is_own or memory.writer == author


def holds_text(value: Any, wanted: str) -> bool:
    """True if a JSON value is this text or holds it somewhere."""
    if isinstance(value, dict):
        return any(holds_text(one, wanted) for one in value.values())
    if isinstance(value, list):
        return any(holds_text(one, wanted) for one in value)
    return bool(value == wanted)
