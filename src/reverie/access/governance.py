"""Audit, retention, legal hold, erasure with its proof: for administrators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from reverie.access.actions import AccessActions, audit_entry
from reverie.access.callers import Caller
from reverie.access.device_files import erase_place
from reverie.access.retention import (
    ErasurePlan,
    ErasurePreview,
    hold_on_place,
    is_due,
    is_place_due,
    plan_erasure,
    preview_plan,
)
from reverie.access.rights import EVERYTHING, check_shared, covers, is_private, private_root
from reverie.core import clock
from reverie.core.errors import BadInput, HeldByLaw, NotFound, StoreError
from reverie.storage.access_records import (
    AuditEntry,
    AuditQuery,
    HoldKind,
    LegalHold,
    RetentionRule,
    Right,
    StoredMemory,
)

if TYPE_CHECKING:
    from reverie.storage import Store
    from reverie.storage.postgres.access_dump import Remains
    from reverie.storage.postgres.access_tables import AccessTables

PAGE = 1000
# Purges memories of a store for good: how many there were.
Purge = Callable[["Store", Sequence[str]], int]


def purge_here(store: Store, ids: Sequence[str]) -> int:
    """Purge from the store alone: for one that no device is in step with."""
    return store.purge(ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What was erased, and what a search of everything stored found of it afterwards."""

    erased: int
    texts: int  # how many texts were looked for
    remains: tuple[Remains, ...] = ()  # empty: nothing is left
    device_files: int = 0  # sealed files of the author's devices that were erased

    @property
    def is_proven(self) -> bool:
        """True if no row of the tenant holds an erased text any more."""
        return not self.remains


class Governance(AccessActions):
    """What an organisation must be able to show, keep and erase. `write_waiting` has lines of the
    audit written that wait in this process.
    """

    def __init__(
        self, tables: AccessTables, write_waiting: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(tables)
        self._write_waiting = write_waiting

    def audit(self, caller: Caller, query: AuditQuery) -> list[AuditEntry]:
        """Lines of the audit, oldest first: all for administrators, for others their own."""
        if not caller.is_admin:
            query = replace(query, actor=caller.user)
        self._write_waiting()
        with self.tables.transaction(caller.tenant) as rows:
            return rows.audit_entries(query)

    def export_audit(self, caller: Caller, query: AuditQuery) -> Iterator[AuditEntry]:
        """Every line that a query means, page by page."""
        after = query.after
        while True:
            page = self.audit(caller, replace(query, after=after, limit=PAGE))
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    # Retention.

    def set_retention(
        self, caller: Caller, space: str, days: int | None, now: float
    ) -> RetentionRule | None:
        """Memories of a space and below are purged so many days after they were last useful.

        None keeps them for good. For who administers the space, private or shared.
        """
        if not is_private(space):
            check_shared(space)
        caller.check(Right.ADMINISTER, space)
        if days is not None and days < 1:
            raise BadInput("Retention is in whole days, one at least; None keeps for good.")
        with self.tables.transaction(caller.tenant) as rows:
            rule = None
            if days is None:
                rows.delete_retention(space)
            else:
                rule = RetentionRule(space=space, days=days, set_by=caller.user, set_at=now)
                rows.put_retention(rule)
            rows.audit(audit_entry(caller, "retention", now, space=space, days=days))
        return rule

    def retention_rules(self, caller: Caller) -> list[RetentionRule]:
        """The rules of the spaces that the caller may read."""
        with self.tables.transaction(caller.tenant) as rows:
            rules = rows.retention_rules()
        return [rule for rule in rules if caller.rights.may(Right.READ, rule.space)]

    def plan_retention(self, tenant: str, now: float, *, limit: int = 10_000) -> ErasurePlan:
        """What is due to be purged in a tenant; what a hold keeps is left out. For the worker."""
        with self.tables.governing(tenant) as rows:
            rules, holds = rows.retention_rules(), rows.holds()
            if not rules:
                return ErasurePlan(what="retention")
            oldest = now - min(rule.days for rule in rules) * 86_400.0
            spaces = [rule.space for rule in rules]
            memories = rows.memories_unused_since(oldest, spaces, limit)
        return plan_erasure(
            "retention", [memory for memory in memories if is_due(memory, rules, now)], holds
        )

    def apply_retention(
        self, caller: Caller, store: Store, now: float, purge: Purge = purge_here
    ) -> int:
        """Purge what is due and not on hold. Returns how many memories were purged."""
        caller.check_admin()
        plan = self.plan_retention(caller.tenant, now)
        if not plan.ids:
            return 0
        count = purge(store, plan.ids)
        with self.tables.transaction(caller.tenant) as rows:
            rows.audit(audit_entry(caller, "retention-purge", now, count=count))
        return count

    def apply_file_retention(self, caller: Caller, now: float) -> int:
        """Erase the sealed files of devices that nobody has looked at for the retention of their
        user's private root, and those that a hold kept which is over. Returns how many.
        """
        caller.check_admin()
        count = 0
        with self.tables.keeping_files(
            caller.tenant, readable=EVERYTHING, writable=EVERYTHING
        ) as rows:
            rules, holds = rows.retention_rules(), rows.holds()
            for place in rows.device_places():
                if hold_on_place(place.space, holds):
                    continue
                if is_place_due(place, rules, now):
                    count += rows.erase_device_files(place.space)
                elif place.hidden:
                    count += rows.erase_device_files(place.space, only_hidden=True)
            if count:
                rows.audit(audit_entry(caller, "retention-purge-files", now, count=count))
        return count

    # Legal hold.

    def place_hold(
        self, caller: Caller, kind: HoldKind, subject: str, reason: str, now: float
    ) -> LegalHold:
        """Nothing in a space, or nothing of a user, may be erased until the hold is lifted."""
        caller.check_admin()
        if kind not in ("space", "user") or not subject or not reason.strip():
            raise BadInput("A hold is of a space or a user, and needs a reason.")
        hold = LegalHold(
            id=clock.new_id("hold"),
            kind=kind,
            subject=subject,
            reason=reason,
            placed_by=caller.user,
            placed_at=now,
        )
        with self.tables.transaction(caller.tenant) as rows:
            rows.add_hold(hold)
            rows.audit(audit_entry(caller, "hold-place", now, kind=kind, subject=subject))
        return hold

    def lift_hold(self, caller: Caller, hold_id: str, now: float) -> None:
        """What the hold kept may be erased again."""
        caller.check_admin()
        with self.tables.transaction(caller.tenant) as rows:
            if not rows.lift_hold(hold_id, caller.user, now):
                raise NotFound("There is no such hold in force.")
            rows.audit(audit_entry(caller, "hold-lift", now, hold=hold_id))

    def holds(self, caller: Caller) -> list[LegalHold]:
        """All holds, lifted ones too, the newest first."""
        caller.check_admin()
        with self.tables.transaction(caller.tenant) as rows:
            return rows.holds()

    def check_purge(self, caller: Caller, ids: list[str]) -> None:
        """HeldByLaw if a hold keeps any of these memories: before every purge by hand."""
        with self.tables.governing(caller.tenant) as rows:
            holds = [hold for hold in rows.holds() if hold.lifted_at is None]
            if not holds:
                return
            plan = plan_erasure("purge", rows.stored_memories(ids), holds)
        try:
            plan.check()
        except HeldByLaw:
            if caller.is_admin:
                raise
            # Why is between the administrators and the law.
            raise HeldByLaw from None

    # Erasure.

    def plan_erasure(self, caller: Caller, *, author: str = "", source: str = "") -> ErasurePlan:
        """What everything that a user wrote, or that came from a source, would be to erase.

        `source` is a session, or the name of a file or import that stands in the memory's details.
        """
        return self._find_erased(caller, author, source)[0]

    def preview_erasure(
        self,
        caller: Caller,
        *,
        author: str = "",
        source: str = "",
    ) -> ErasurePreview:
        """The same as an administrator may see it, who reads no private space of others."""
        plan, found = self._find_erased(caller, author, source)
        return preview_plan(plan, found, partial(is_seen_by, caller))

    def _find_erased(
        self,
        caller: Caller,
        author: str,
        source: str,
    ) -> tuple[ErasurePlan, list[StoredMemory]]:
        caller.check_admin()
        if bool(author) == bool(source):
            raise BadInput("Say an author or a source to erase.")
        with self.tables.governing(caller.tenant) as rows:
            found: list[StoredMemory] = rows.memories_of(author=author, source=source)
            holds = rows.holds()
            places = rows.device_places() if author else []
        what = f"author {author}" if author else f"source {source}"
        plan = plan_erasure(what, found, holds)
        files = sum(one.files for one in places if one.space == private_root(author))
        hold = hold_on_place(private_root(author), holds) if files else None
        if hold:
            kept = tuple(dict.fromkeys((*plan.holds, hold)))
            return replace(plan, holds=kept), found
        return replace(plan, device_files=files), found

    def erase(
        self,
        caller: Caller,
        plan: ErasurePlan,
        store: Store,
        now: float,
        purge: Purge = purge_here,
    ) -> ErasureReport:
        """Purge what the plan says, then search everything that is stored for the texts.

        HeldByLaw, and nothing is erased, if a hold keeps any of it. `store` reads and writes all
        spaces of the tenant. What was erased stays in dead rows until a vacuum, and in archived
        write-ahead log and backups until the operator's retention of those has passed.
        """
        caller.check_admin()
        plan.check()
        self.check_purge(caller, list(plan.ids))
        ids = list(plan.ids)
        there = {one.id for one in self._find(caller, ids)}
        if there != {memory.id for memory in store.get(ids)}:
            raise StoreError("Nothing was erased: that needs a store that reads every space.")
        texts = texts_of(store, plan.ids)
        erased = purge(store, ids)
        files = 0
        if plan.device_files:
            author = plan.what.partition(" ")[2]
            files = erase_place(self.tables, caller.tenant, private_root(author))
        left = self._find(caller, ids)
        if left:
            raise StoreError(f"{len(left)} memories are still there. Nothing else was done.")
        remains = self.tables.find_texts(caller.tenant, texts)
        with self.tables.transaction(caller.tenant) as rows:
            counts: dict[str, Any] = {"device_files": files} if files else {}
            rows.audit(
                audit_entry(caller, "erase", now, count=erased, is_proven=not remains, **counts)
            )
        return ErasureReport(
            erased=erased, texts=len(texts), remains=tuple(remains), device_files=files
        )

    def _find(self, caller: Caller, ids: list[str]) -> list[StoredMemory]:
        with self.tables.governing(caller.tenant) as rows:
            return rows.stored_memories(ids)


def is_seen_by(caller: Caller, space: str) -> bool:
    """True for shared spaces, and those that are somebody's own."""
    return not is_private(space) or covers(caller.private_root, space)


def texts_of(store: Store, ids: tuple[str, ...]) -> list[str]:
    """Every text and title that these memories have or had."""
    texts: dict[str, None] = {}
    for start in range(0, len(ids), PAGE):
        for memory in store.get(ids[start : start + PAGE]):
            found = [memory.text, memory.title]
            for record in store.history(memory.id):
                found += [values.get("text", "") for values in (record.before, record.after)]
            texts.update(dict.fromkeys(text for text in found if text))
    return list(texts)
