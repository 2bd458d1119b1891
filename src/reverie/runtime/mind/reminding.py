"""Reminding: what is to be done later comes up when it is due, and is done, put off or
called off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reverie.core.errors import BadInput
from reverie.core.model import Hit, Memory
from reverie.core.trigger_patterns import about_to_run, spoken
from reverie.runtime.mind.base import Base, alone
from reverie.text.argument_checks import question, texts

if TYPE_CHECKING:
    from reverie.memory.intention import When


class Reminding(Base):
    """The verbs of prospective memory; `remind` is among those that keep."""

    def due(
        self,
        context: str = "",
        *,
        space: str | None = None,
        tool: str = "",
        arguments: Mapping[str, Any] | str = "",
        fire: bool = False,
    ) -> list[Hit]:
        """Reminders that are due now, or that a conversation or a tool about to run calls for: by
        priority, then time.

        Looking does not fire. With `fire`, those returned count as given from now on, each to one
        caller only: for a host that shows them. What a companion is just about to give is left to
        it.
        """
        from reverie.injection import due_reminders
        from reverie.memory import intention

        home = self._space(space)
        if self.settings.is_off(home):
            return []
        scenes = [spoken(question(context, "context"))] if context else []
        scenes += [about_to_run(tool, arguments)] if tool else []
        found = intention.due(due_reminders.waiting(self.store, home), self._now(), scenes)
        return self._fired(found) if fire and found else found

    @alone
    def _fired(self, found: list[Hit]) -> list[Hit]:
        from reverie.injection import due_reminders

        now = self._now()
        free = due_reminders.unclaimed(self.store, found, now)
        mine = {
            memory.id
            for memory in due_reminders.fire(self.store, [hit.memory for hit in free], now)
        }
        return [hit for hit in free if hit.memory.id in mine]

    def reminders(
        self, *, space: str | None = None, status: Iterable[str] = ("pending", "triggered")
    ) -> list[Memory]:
        """Reminders in a space and above it, those that are due next first, those without a time
        last.

        `status`: "pending", "triggered" (given, and not said to be done), "done", "cancelled".
        """
        from reverie.injection import due_reminders
        from reverie.memory import intention

        wanted = texts(status, "status")
        if unknown := set(wanted) - set(intention.STATUSES):
            raise BadInput(
                f"{', '.join(sorted(unknown))} is no status; there are {', '.join(intention.STATUSES)}"
            )
        over = {intention.DONE, intention.CANCELLED}.intersection(wanted)
        found = due_reminders.intentions(
            self.store, self._space(space), active=None if over else True
        )
        return sorted(
            (one for one in found if intention.status_of(one) in wanted), key=intention.coming
        )

    def done(self, id: str) -> Memory:
        """It is done: it is due no longer. Of what recurs this occurrence is; `cancel` ends it."""
        return self._ended(id, "done")

    def cancel(self, id: str) -> Memory:
        """It need not be done: not now, not at its next time. `restore` and `undo`
        bring it back.
        """
        return self._ended(id, "cancel")

    @alone
    def _ended(self, id: str, how: str) -> Memory:
        from reverie.memory import intention

        memory, now = self._one(id), self._now()
        self._apply(intention.ended(memory, how, now), how, memory.space, now)
        self._leaving.append(id)
        return self._one(id)

    @alone
    def snooze(self, id: str, until: When) -> Memory:
        """It is due later instead: "in 20 minutes", "tomorrow at 9". Of what recurs, the next time
        only.
        """
        from reverie.memory import intention

        memory, now = self._one(id), self._now()
        self._apply([intention.snoozed(memory, until, now)], "snooze", memory.space, now)
        self._leaving.append(id)
        return self._one(id)
