"""Reminders: list what is due, and say that it is done, cancelled or snoozed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core.errors import BadInput
from reverie.core.model import Change, Hit, Memory
from reverie.core.trigger_patterns import context_of_conversation, context_of_tool_call
from reverie.runtime.mind.mind_context import VerbGroup, run_exclusively
from reverie.text.argument_checks import check_question, check_text_list

if TYPE_CHECKING:
    from reverie.memory.intention import When


class ReminderVerbs(VerbGroup):
    """`mind.reminders`: prospective memory; `mind.remind` keeps one."""

    def due(
        self,
        context: str = "",
        *,
        space: str | None = None,
        tool: str = "",
        arguments: Mapping[str, Any] | str = "",
        fire: bool = False,
    ) -> list[Hit]:
        """Reminders that are due now, or whose trigger matches a conversation or a tool about to
        run: by priority, then time.

        Looking does not fire. With `fire`, those returned count as given from now on, each to one
        caller only: for a host that shows them. What a companion is just about to give is left to
        it.
        """
        from reverie.injection import due_reminders
        from reverie.memory import intention

        home = self._resolve_space(space)
        if self._settings.is_off(home):
            return []
        # A trigger may meet what is said or the tool that is about to run.
        scenes = [context_of_conversation(check_question(context, "context"))] if context else []
        scenes += [context_of_tool_call(tool, arguments)] if tool else []
        waiting = due_reminders.load_waiting_reminders(self._store, self._visible_spaces(home))
        found = intention.find_due_reminders(waiting, self._now(), scenes)
        return self._fire(found) if fire and found else found

    @run_exclusively
    def _fire(self, found: list[Hit]) -> list[Hit]:
        """Those of the reminders that nobody has claimed, marked as given."""
        from reverie.injection import due_reminders

        now = self._now()
        # A companion holds a claim on what it is about to give.
        free = due_reminders.filter_unclaimed(self._store, found, now)
        memories = [hit.memory for hit in free]
        fired = {memory.id for memory in due_reminders.fire_reminders(self._store, memories, now)}
        return [hit for hit in free if hit.memory.id in fired]

    def browse(
        self, *, space: str | None = None, status: Iterable[str] = ("pending", "triggered")
    ) -> list[Memory]:
        """Reminders in a space and above it, the next due first, those without a time last.

        `status`: "pending", "triggered" (given, and not said to be done), "done", "cancelled".
        """
        from reverie.injection import due_reminders
        from reverie.memory import intention

        wanted = check_text_list(status, "status")
        if unknown := set(wanted) - set(intention.STATUSES):
            raise BadInput(
                f"{', '.join(sorted(unknown))} is not a status; "
                f"there are {', '.join(intention.STATUSES)}"
            )
        # Those that are over have been retired.
        with_retired = not {intention.DONE, intention.CANCELLED}.isdisjoint(wanted)
        found = due_reminders.iter_intentions(
            self._store, self._visible_from(space), active=None if with_retired else True
        )
        matching = [memory for memory in found if intention.reminder_status(memory) in wanted]
        return sorted(matching, key=intention.reminder_time_order)

    def done(self, id: str) -> Memory:
        """Mark a reminder as done. Of one that recurs only this occurrence; `cancel` ends it."""
        return self._end(id, "done")

    def cancel(self, id: str) -> Memory:
        """Cancel a reminder, all its occurrences. `restore` and `undo` bring it back."""
        return self._end(id, "cancel")

    def _end(self, id: str, how: str) -> Memory:
        from reverie.memory.intention import end_reminder

        return self._alter(
            id,
            how,
            lambda memory, now: end_reminder(memory, how, now),
        )

    def snooze(self, id: str, until: When) -> Memory:
        """Put a reminder off: "in 20 minutes", "tomorrow at 9". Of one that recurs, only the next
        occurrence.
        """
        from reverie.memory.intention import snooze_reminder

        return self._alter(
            id,
            "snooze",
            lambda memory, now: [snooze_reminder(memory, until, now)],
        )

    @run_exclusively
    def _alter(
        self,
        id: str,
        verb: str,
        decide: Callable[[Memory, float], Sequence[Change]],
    ) -> Memory:
        """A reminder as it is after the changes that are decided for it."""
        memory = self._get_memory(id)
        now = self._now()
        altered = self._change(memory, decide(memory, now), verb, now)
        # A block that waits may show it.
        self._context.no_longer_active.append(id)
        return altered
