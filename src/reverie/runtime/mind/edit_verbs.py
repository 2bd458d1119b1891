"""Revise, tag, link, judge, forget and restore single memories; undo any change.

Always true: the history keeps what was before, and everything here can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reverie.core.authorship import protect_revision
from reverie.core.errors import BadInput, Conflict, NotFound
from reverie.core.model import (
    DESCRIBE_VERB,
    Change,
    Event,
    Link,
    Memory,
    Record,
    Retire,
    Revise,
    index_memories,
)
from reverie.memory import memory_changes
from reverie.memory.memory_validation import (
    MEMORY_FIELDS,
    build_revision,
    redact_or_refuse,
    validate_tags,
)
from reverie.retrieval.graph_walk import strengthen_weight
from reverie.runtime.mind.mind_context import VerbGroup, run_exclusively


class EditVerbs(VerbGroup):
    """The verbs of `Mind` that change single memories."""

    @run_exclusively
    def revise(self, /, id: str, **fields: Any) -> Memory:
        """Change some fields of a memory: text, title, kind, tags, files, triggers, details, at,
        expires_at, ….

        The fields are checked like those of `remember`; what was there before stays in the history.
        Only `review.curate` gives or takes an approval, but new words of an author
        (`reverie.core.authorship`) have none.
        """
        old = self._get_memory(id)
        now = self._now()
        if unknown := set(fields) - set(MEMORY_FIELDS):
            raise BadInput(
                f"{', '.join(sorted(unknown))} cannot be revised; "
                f"{', '.join(sorted(MEMORY_FIELDS))} can"
            )
        self._writable_space(fields.get("space", old.space))
        # Callers cannot give themselves an approval or another author.
        given = protect_revision(fields, old, self._settings.curate)
        revision = build_revision(old, now, given, self._context.time_zone, self._policy)
        return self._change(old, [revision], "revise", now)

    @run_exclusively
    def tag(
        self,
        id: str,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
    ) -> Memory:
        """Put tags on a memory and take tags off it.

        A tag that Reverie had suggested is yours once you add it; taken off, it is not suggested
        here again.
        """
        from reverie.memory.usage_signals import confirm_tags

        old = self._get_memory(id)
        now = self._now()
        removed = set(validate_tags(remove, self._policy.masking))
        new = validate_tags(add, self._policy)
        remaining = [tag for tag in (*old.tags, *new) if tag not in removed]
        fields = {
            "tags": validate_tags(remaining, self._policy.masking),
            "details": confirm_tags(old.details, new),
        }
        if any(getattr(old, name) != value for name, value in fields.items()):
            revision = Revise(id=id, fields={**fields, "updated_at": now})
            return self._change(old, [revision], "tag", now)
        return old

    def describe(
        self,
        tag: str,
        text: str,
        *,
        space: str | None = None,
    ) -> None:
        """Describe what a tag means, in a space and below it; an empty text takes that back.

        `meanings` lists the descriptions.
        """
        home = self._writable_space(space)
        # Spelled as tags are kept, so that the description is found by what is shown.
        names = validate_tags([tag], self._policy)
        if not names:
            raise BadInput("There is no tag to describe")
        meaning = redact_or_refuse(text, self._policy).strip()
        payload = {"tag": names[0], "text": meaning}
        self._store.append([Event(DESCRIBE_VERB, home, self._now(), payload=payload)])

    @run_exclusively
    def link(
        self,
        src: str,
        dst: str,
        rel: str = "relates_to",
        weight: float | None = None,
    ) -> float:
        """Link two memories, so that recalling one may bring up the other. Returns the weight of
        the link.

        Without a weight a new link has 0.5, and linking again strengthens it by 0.05, up to 0.95. A
        weight that is given is what it has then; 0 unties them. What supersedes or contradicts does
        so wholly, whatever the weight; what was superseded is brought back by `restore`.
        """
        one = self._get_memory(src)
        other = self._get_memory(dst)
        now = self._now()
        edges = self._store.edges([src], (rel,))
        old = memory_changes.find_link(edges, src, dst, rel)
        weight = strengthen_weight(old.weight) if weight is None else weight
        # Built first in every case: it checks the relation and the weight.
        changes: list[Change] = [
            memory_changes.link_memories(
                old.src,
                old.dst,
                rel,
                weight,
            )
        ]
        if rel == "supersedes":
            if not weight:
                raise BadInput(f"{dst} has stepped back; bring it back with restore {dst}")
            changes = self._supersede_changes(other, one, now)
        elif rel == "contradicts" and weight:
            changes = memory_changes.flag_contradiction(one, other, now)
        elif rel == "contradicts":
            from reverie.reconciliation.review_questions import clear_question

            changes = clear_question(one, other, edges)[2]
        self._apply_changes(changes, "link", one.space, now)
        weights = [change.edge.weight for change in changes if isinstance(change, Link)]
        return weights[0] if weights else 0.0

    def _supersede_changes(
        self,
        old: Memory,
        new: Memory,
        now: float,
    ) -> list[Change]:
        self._context.refuse_supersede_cycle(old.id, new.id)
        return memory_changes.supersede_memory(old, new, now)

    @run_exclusively
    def supersede(self, old: str, new: str) -> None:
        """Let a newer memory supersede an older one, which stays readable by id and can be
        restored.

        Raises Conflict if the newer one has stepped back for the older one itself, BadInput if
        either does not count.
        """
        before = self._get_memory(old)
        after = self._get_memory(new)
        now = self._now()
        changes = self._supersede_changes(before, after, now)
        self._apply_changes(changes, "supersede", before.space, now)

    @run_exclusively
    def feedback(
        self,
        id: str,
        helpful: bool,
        *,
        session: str = "",
        by: str = "user",
    ) -> Memory:
        """Say that a memory helped or did not: use strengthens, rejection weakens, neither deletes.

        `by`: "user" or "host" (the agent that was given it) move confidence by +0.05 or −0.10;
        "judge", a language model that only looked at it, by +0.02 or −0.01.
        """
        memory = self._get_memory(id)
        now = self._now()
        session = self._redact(session)
        use = memory_changes.record_use(
            memory,
            now,
            helpful=helpful,
            session=session,
            by=by,
        )
        return self._change(
            memory,
            [use],
            "feedback",
            now,
            session=session,
            helpful=helpful,
            by=by,
        )

    @run_exclusively
    def forget(
        self,
        ids: Sequence[str] | str,
        why: str = "forgotten",
    ) -> int:
        """Retire memories; `restore` brings them back. Returns how many counted until now."""
        now = self._now()
        # What has been retired before keeps its own time and reason.
        active = [memory for memory in self._get_memories(ids) if memory.active]
        if active:
            why = self._redact(why)
            changes = [
                Retire(
                    id=memory.id,
                    at=now,
                    why=why,
                )
                for memory in active
            ]
            self._apply_changes(changes, "forget", active[0].space, now)
        return len(active)

    @run_exclusively
    def restore(self, id: str) -> Memory:
        """Make a retired memory count again, also if it was superseded or merged: that is not done
        again unasked.
        """
        from reverie.reconciliation.memory_restore import plan_restore

        memory = self._get_memory(id)
        now = self._now()
        if not memory.active:
            changes, settled = plan_restore(self._store, memory, now)
            return self._change(memory, changes, "restore", now, settled=settled)
        return memory

    def undo(self, event: int, *, force: bool = False) -> int:
        """Undo everything an event changed. Returns the number of the event that did so, which can
        be undone too.

        The number of a run of sleep undoes the whole run, batch by batch, for good; what
        somebody has altered since stays as it is then. Otherwise raises Conflict if somebody has
        since changed the same fields; with `force` it is undone all the same. Raises NotFound
        for an event that changed nothing.
        """
        from reverie.consolidation.undo_sleep import find_run_of_event, undo_sleep_run

        # A run of sleep is many events, and half of it undone would make no sense.
        run = find_run_of_event(self._store, event)
        if run:
            return undo_sleep_run(self._store, run, self._now(), force=force)
        return self._undo_one(event, force=force)

    @run_exclusively
    def _undo_one(self, event: int, *, force: bool) -> int:
        from reverie.pipeline.decided_pairs import reverse_pair_decisions
        from reverie.porting import conversation_import

        cause = self._store.event(event)
        withdrawal = conversation_import.plan_withdrawal(cause)
        records = [
            *conversation_import.list_learned_records(self._store, cause),
            *self._store.changes_of(event),
        ]
        if cause is None:
            raise NotFound(f"There is no event {event}")
        # Where a question was settled and nothing else was done, it is open again.
        if not (records or withdrawal or reverse_pair_decisions(cause)):
            raise NotFound(f"Event {event} changed no memory")
        if not force:
            self._refuse_if_changed_since(records)
        conversation_import.withdraw_conversations(self._store, cause.space, withdrawal)
        now = self._now()
        return self._apply_changes(
            memory_changes.invert_records(records, now),
            "undo",
            cause.space,
            now,
            of=event,
            **withdrawal,
            **reverse_pair_decisions(cause),
        )

    def _refuse_if_changed_since(self, records: Sequence[Record]) -> None:
        """Raise Conflict if a field that the records changed has another value by now."""
        memories = self._store.get([record.memory_id for record in records])
        present = index_memories(memories)
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
                self._context.refuse_supersede_cycle(record.memory_id, successor)
