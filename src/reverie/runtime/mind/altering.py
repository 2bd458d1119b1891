"""Altering: single memories are revised, tagged, tied together and judged; the history keeps what
was there before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reverie.core.authorship import rewritten_by
from reverie.core.errors import BadInput
from reverie.core.model import DESCRIBED, Change, Event, Link, Memory, Revise
from reverie.memory import memory_changes
from reverie.memory.memory_validation import FIELDS, accepted, checked_tags, rewritten
from reverie.privacy.redacted_text import private
from reverie.retrieval.graph_walk import strengthened
from reverie.runtime.mind.base import Base, alone


class Altering(Base):
    """The verbs that alter memories."""

    @alone
    def revise(self, id: str, **fields: Any) -> Memory:
        """Other values for some fields: text, title, kind, tags, files, triggers, details, at,
        expires_at, ….

        The fields are checked like those of `remember`; what was there before stays in the history.
        Only `curate` gives or takes an approval, but new words of an author (`reverie.authors`)
        have none.
        """
        old, now = self._one(id), self._now()
        if unknown := set(fields) - set(FIELDS):
            raise BadInput(
                f"{', '.join(sorted(unknown))} cannot be revised; {', '.join(sorted(FIELDS))} can"
            )
        self._writable(fields.get("space", old.space))
        given = rewritten_by(fields, old, self.settings.curate)
        self._apply(
            [rewritten(old, now, given, self._zone, self._policy)], "revise", old.space, now
        )
        return self._one(id)

    @alone
    def tag(self, id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Memory:
        """Put tags on a memory and take tags off it.

        A tag that Reverie had suggested is yours once you add it; taken off, it is not suggested
        here again.
        """
        from reverie.memory.usage_signals import confirmed

        old, now = self._one(id), self._now()
        gone = set(checked_tags(remove, self._policy.masking))
        new = checked_tags(add, self._policy)
        fields = {
            "tags": checked_tags(
                (t for t in (*old.tags, *new) if t not in gone), self._policy.masking
            ),
            "details": confirmed(old.details, new),
        }
        if any(getattr(old, name) != value for name, value in fields.items()):
            self._apply(
                [Revise(id=id, fields={**fields, "updated_at": now})], "tag", old.space, now
            )
        return self._one(id)

    def describe(self, tag: str, text: str, *, space: str | None = None) -> None:
        """Say what a tag means, in a space and below it; an empty text takes that back. `meanings`
        tells it.
        """
        home, names = self._writable(space), checked_tags([tag], self._policy)
        if not names:
            raise BadInput("There is no tag to describe")
        meaning = accepted(text, self._policy).strip()
        said = Event(DESCRIBED, home, self._now(), payload={"tag": names[0], "text": meaning})
        self.store.append([said])

    @alone
    def link(
        self, src: str, dst: str, rel: str = "relates_to", weight: float | None = None
    ) -> float:
        """Tie two memories together: thinking of one may bring up the other. Returns the weight of
        the link.

        Without a weight a new link has 0.5, and linking again strengthens it by 0.05, up to 0.95. A
        weight that is given is what it has then; 0 unties them. What supersedes or contradicts does
        so wholly, whatever the weight; what was superseded is brought back by `restore`.
        """
        one, other, now = self._one(src), self._one(dst), self._now()
        edges = self.store.edges([src], (rel,))
        old = memory_changes.tie(edges, src, dst, rel)
        weight = strengthened(old.weight) if weight is None else weight
        changes: list[Change] = [memory_changes.linked(old.src, old.dst, rel, weight)]
        if rel == "supersedes":
            if not weight:
                raise BadInput(f"{dst} has stepped back; bring it back with restore {dst}")
            changes = self._replacing(one, other, now)
        elif rel == "contradicts":
            from reverie.reconciliation.review_questions import untied

            changes = (
                memory_changes.contradicting(one, other, now)
                if weight
                else untied(one, other, edges)[2]
            )
        self._apply(changes, "link", one.space, now)
        return next((made.edge.weight for made in changes if isinstance(made, Link)), 0.0)

    def _replacing(self, new: Memory, old: Memory, now: float) -> list[Change]:
        """One memory in the place of another."""
        self._refuse_circle(old.id, new.id)
        return memory_changes.superseded(old, new, now)

    @alone
    def supersede(self, old: str, new: str) -> None:
        """A newer memory takes the place of an older one, which stays readable by id and can be
        restored.

        Raises Conflict if the newer one has stepped back for the older one itself, BadInput if
        either does not count.
        """
        before, after, now = self._one(old), self._one(new), self._now()
        self._apply(self._replacing(after, before, now), "supersede", before.space, now)

    @alone
    def feedback(self, id: str, helpful: bool, *, session: str = "", by: str = "user") -> Memory:
        """It was shown, and helped or did not: use strengthens, rejection weakens, neither deletes.

        `by`: "user" or "host" (the agent that was given it) move confidence by +0.05 or −0.10;
        "judge", a language model that only looked at it, by +0.02 or −0.01.
        """
        memory, now, session = self._one(id), self._now(), private(session, self._policy)
        self._apply(
            [memory_changes.used(memory, now, helpful=helpful, session=session, by=by)],
            "feedback",
            memory.space,
            now,
            session=session,
            helpful=helpful,
            by=by,
        )
        return self._one(id)

    @alone
    def outcome(self, id: str, worked: bool) -> Memory:
        """A procedure was followed and worked, or did not: its record follows, and with it its rank
        (CC-66).
        """
        from reverie.memory.procedure import tried

        memory, now = self._one(id), self._now()
        self._apply([tried(memory, worked, now)], "outcome", memory.space, now, worked=worked)
        return self._one(id)
