"""Verbs that forget, restore, undo, purge and scrub.

Always true: `forget` can be taken back, and so can every other change; only `purge` and `scrub` are
for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reverie.core.errors import Conflict, NotFound
from reverie.core.model import Memory, Record, Retire
from reverie.memory import memory_changes
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase, run_exclusively

if TYPE_CHECKING:
    from reverie.erasure.scrub import ScrubReport
    from reverie.storage.backups import PurgeResult


class DeletionVerbs(MindBase):
    """The verbs of forgetting and erasing, and the way back."""

    @run_exclusively
    def forget(self, ids: Sequence[str] | str, why: str = "forgotten") -> int:
        """Retire memories; `restore` brings them back. Returns how many counted until now."""
        now = self._now()
        active = [memory for memory in self._get_all(ids) if memory.active]
        if active:
            why = redact_short_text(why, self._policy)
            changes = [Retire(id=memory.id, at=now, why=why) for memory in active]
            self._apply_changes(changes, "forget", active[0].space, now)
        return len(active)

    @run_exclusively
    def restore(self, id: str) -> Memory:
        """Make a retired memory count again, also if it was superseded or merged: that is not done
        again unasked.
        """
        from reverie.reconciliation.memory_restore import plan_restore

        memory = self._get_one(id)
        now = self._now()
        if not memory.active:
            changes, settled = plan_restore(self.store, memory, now)
            self._apply_changes(changes, "restore", memory.space, now, settled=settled)
        return self._get_one(id)

    def undo(self, event: int, *, force: bool = False) -> int:
        """Undo everything an event changed. Returns the number of the event that did so, which can
        be undone too.

        The number of a run of sleep undoes the whole run, batch by batch, for good; what
        somebody has altered since stays as it is then. Otherwise raises Conflict if somebody has
        since changed the same fields; with `force` it is undone all the same. Raises NotFound
        for an event that changed nothing.
        """
        from reverie.consolidation.undo_sleep import find_run_of_event, undo_sleep_run

        run = find_run_of_event(self.store, event)
        if run:
            return undo_sleep_run(self.store, run, self._now(), force=force)
        return self._undo_one(event, force=force)

    @run_exclusively
    def _undo_one(self, event: int, *, force: bool) -> int:
        records = self.store.changes_of(event)
        if not records:
            if self.store.event(event):
                raise NotFound(f"Event {event} changed no memory")
            raise NotFound(f"There is no event {event}")
        if not force:
            self._refuse_if_changed_since(records)
        from reverie.pipeline.decided_pairs import reverse_pair_decisions

        now = self._now()
        undone = records[0].event
        return self._apply_changes(
            memory_changes.invert_records(records, now),
            "undo",
            undone.space,
            now,
            of=event,
            **reverse_pair_decisions(undone),
        )

    def _refuse_if_changed_since(self, records: Sequence[Record]) -> None:
        """Raise Conflict if a field that the records changed has another value by now."""
        memories = self.store.get([record.memory_id for record in records])
        present = {memory.id: memory for memory in memories}
        # Within one event a field may change twice; only its last value must still stand.
        last_change = {
            (record.memory_id, name): record
            for record in records
            if record.op in ("revise", "retire")
            for name in record.after
        }
        for (id, name), record in last_change.items():
            if id not in present:
                continue
            if name in memory_changes.find_later_changes(record, present[id]):
                raise Conflict(
                    f"{name} of {id} was changed again since event {record.event.seq}. "
                    "Undo that first, or use force"
                )
        for record in records:
            if successor := record.before.get("superseded_by"):
                self._refuse_supersede_cycle(record.memory_id, successor)

    def wordings(self, ids: Sequence[str] | str) -> list[Memory]:
        """What was merged into these memories, directly or not: other wordings of the same, which
        count no longer.
        """
        from reverie.reconciliation.reconcile_reader import load_merged_memories

        kept_ids = {memory.id for memory in self._get_all(ids)}
        groups = load_merged_memories(self.store, kept_ids).values()
        return [memory for group in groups for memory in group]

    def purge(self, ids: Sequence[str] | str) -> PurgeResult:
        """Erase for good: text, words, vectors, history, events that repeat it, also in the mirror,
        in shared files and daily backups.

        What the index of files and the versions of the mirror's pages hold of it is erased too;
        your own files are not.

        The wordings that were merged into a memory say the same, so they go with it (`wordings`
        lists them), and `erased` counts them. Records of what was said and done (events, episodes,
        the scratch pad) keep the rest of what they say; other memories that repeat it, or ever did,
        stay and are named in `repeated`. What somebody wrote on pages and in shared files by then
        is taken in first. Cannot be undone. `unreached` names the files of the home that may still
        hold it; a purge that was stopped is finished by the worker or the next one.
        """
        from reverie.erasure.purge import purge_everywhere

        # What recorders still hold could repeat the erased text afterwards.
        self._flush()
        erased, result = purge_everywhere(
            self.work, lambda: (*self._get_all(ids), *self.wordings(ids)), self._now
        )
        self._no_longer_active += erased.ids
        self._withdraw_inactive()
        return result

    def scrub(
        self,
        texts: Sequence[str] | str = (),
        *,
        write: bool = False,
        copies: bool = False,
        on: Callable[[str, int, int | None], None] | None = None,
    ) -> ScrubReport:
        """Look through everything that is stored for secrets that today's rules know; with `write`,
        take them out.

        For what was kept before a shape was known, by an older version or by another program.
        `texts` are looked for instead, in any letter case: a leaked password that has no shape.
        What is taken out is gone for good, from the history too; all else about a memory stays.
        `copies`: with `write`, backups are cleaned as well, and damaged files and versions of files
        that hold it are deleted; else they are only named. `on` is told (stage, done, total). The
        answer never holds a secret. A run that is interrupted keeps what it did; the next one goes
        on.
        """
        from reverie.erasure import scrub
        from reverie.privacy.scrub_rules import TextScrubber
        from reverie.storage import backups

        sought = (texts,) if isinstance(texts, str) else tuple(texts)
        scrubber = TextScrubber(sought, self._policy)
        self._flush()
        tell = on or (lambda *_: None)
        report = scrub.run_scrub(self.work, scrubber, self._now, tell, write=write)
        if write:
            self._no_longer_active += [find.name for find in report.finds if find.what == "memory"]
        self._withdraw_inactive()
        tell("Looking through the copies", 0, None)
        copies_found = [
            *backups.find_copies_holding(self.settings, self.store, scrubber),
            *scrub.find_versions_holding(self.work, scrubber),
        ]
        if write and copies:
            copies_found = backups.scrub_copies(self.settings, copies_found, scrubber)
        return report._replace(copies=tuple(copies_found))
