"""Guards: what prohibitions do when a tool is about to do what they forbid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.runtime.mind.mind_context import VerbGroup, run_exclusively


class Guard(NamedTuple):
    """A memory that something calls up at a tool, and what it does then."""

    memory: Memory
    decision: str  # ask, deny, tell or off
    trigger: str = ""  # the one that was met


class GuardVerbs(VerbGroup):
    """`mind.guards`: what stops a tool, what is told before it."""

    def browse(self, *, space: str | None = None) -> list[Guard]:
        """The memories with triggers that can be seen from a space, what stops most first."""
        from reverie.core.kinds import INTENTION
        from reverie.memory.guards import DECISIONS, DENY, decide_guard
        from reverie.retrieval.rescoring import can_surface

        now = self._now()
        found = [
            Guard(memory, decide_guard(memory, self._settings.guards))
            for memory in self._store.with_triggers(self._visible_from(space))
            if memory.kind != INTENTION and can_surface(memory, now)
        ]
        strength = {DENY: -1} | {name: place for place, name in enumerate(DECISIONS) if place != 1}
        return sorted(found, key=lambda guard: (strength[guard.decision], -guard.memory.at))

    def check(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str,
        *,
        space: str | None = None,
        root: str = "",
    ) -> list[Guard]:
        """The guards that such a call of a tool would meet, what stops most first; nothing is run
        or written down. `root` is the work tree, whose branch may matter.

        One that would stop the call names its trigger; others that are there only tell.
        """
        from reverie.core.forbidden_calls import is_forbidden_call, stopping_triggers
        from reverie.core.trigger_patterns import context_of_tool_call, matches_trigger
        from reverie.memory.guards import OFF, STOPPING, TELL

        scene = context_of_tool_call(tool, arguments, root)
        found: list[Guard] = []
        for guard in self.browse(space=space):
            if guard.decision == OFF:
                continue
            triggers = guard.memory.triggers
            met = [one for one in stopping_triggers(triggers) if is_forbidden_call(one, scene)]
            if met and guard.decision in STOPPING:
                found.append(guard._replace(trigger=met[0]))
            elif told := [one for one in triggers if matches_trigger(one, scene)]:
                found.append(guard._replace(trigger=told[0], decision=TELL))
        return sorted(found, key=lambda guard: guard.decision == TELL)

    def set_default(self, decision: str) -> None:
        """Have guards ask, deny or tell, or stay off, for which nothing else was chosen: the
        setting `guards`, written to the configuration.
        """
        from reverie.core.config import save_settings
        from reverie.memory.guards import DECISIONS

        if decision not in DECISIONS:
            raise BadInput(f"{decision!r}: give one of {', '.join(DECISIONS)}")
        save_settings(self._settings, guards=decision)
        self._context.settings = self._settings._replace(guards=decision)

    @run_exclusively
    def set(self, id: str, decision: str) -> Memory:
        """Have a memory ask, deny or tell when a tool meets its trigger, or stay off; "default"
        takes that back. `undo` does too.
        """
        from reverie.memory.guards import set_guard

        memory, now = self._get_memory(id), self._now()
        return self._change(memory, [set_guard(memory, decision, now)], "guard", now)
