"""Reminding: what is to be done later comes up when it is due, and is done, put off or
called off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reverie.core.errors import BadInput
from reverie.core.model import Hit, Memory
from reverie.core.trigger_patterns import context_of_conversation, context_of_tool_call
from reverie.runtime.mind.mind_base import MindBase, run_exclusively
from reverie.text.argument_checks import check_question, check_text_list

if TYPE_CHECKING:
    from reverie.memory.intention import When


class ReminderVerbs(MindBase):
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

        home = self._resolve_space(space)
        if self.settings.is_off(home):
            return []
        scenes = [context_of_conversation(check_question(context, "context"))] if context else []
        scenes += [context_of_tool_call(tool, arguments)] if tool else []
        found = intention.find_due_reminders(
            due_reminders.load_waiting_reminders(self.store, home), self._now(), scenes
        )
        return self._fired(found) if fire and found else found

    @run_exclusively
    def _fired(self, found: list[Hit]) -> list[Hit]:
        from reverie.injection import due_reminders

        now = self._now()
        free = due_reminders.filter_unclaimed(self.store, found, now)
        mine = {
            memory.id
            for memory in due_reminders.fire_reminders(
                self.store, [hit.memory for hit in free], now
            )
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

        wanted = check_text_list(status, "status")
        if unknown := set(wanted) - set(intention.STATUSES):
            raise BadInput(
                f"{', '.join(sorted(unknown))} is no status; there are {', '.join(intention.STATUSES)}"
            )
        over = {intention.DONE, intention.CANCELLED}.intersection(wanted)
        found = due_reminders.iter_intentions(
            self.store, self._resolve_space(space), active=None if over else True
        )
        return sorted(
            (one for one in found if intention.reminder_status(one) in wanted),
            key=intention.reminder_time_order,
        )

    def done(self, id: str) -> Memory:
        """It is done: it is due no longer. Of what recurs this occurrence is; `cancel` ends it."""
        return self._ended(id, "done")

    def cancel(self, id: str) -> Memory:
        """It need not be done: not now, not at its next time. `restore` and `undo`
        bring it back.
        """
        return self._ended(id, "cancel")

    @run_exclusively
    def _ended(self, id: str, how: str) -> Memory:
        from reverie.memory import intention

        memory, now = self._get_one(id), self._now()
        self._apply_changes(intention.end_reminder(memory, how, now), how, memory.space, now)
        self._no_longer_active.append(id)
        return self._get_one(id)

    @run_exclusively
    def snooze(self, id: str, until: When) -> Memory:
        """It is due later instead: "in 20 minutes", "tomorrow at 9". Of what recurs, the next time
        only.
        """
        from reverie.memory import intention

        memory, now = self._get_one(id), self._now()
        self._apply_changes(
            [intention.snooze_reminder(memory, until, now)], "snooze", memory.space, now
        )
        self._no_longer_active.append(id)
        return self._get_one(id)
