"""Procedures: keep how something is done, find it, and say how it went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reverie.core.model import Filter, Memory
from reverie.core.trigger_patterns import context_of_conversation
from reverie.retrieval import find_tool_warnings
from reverie.runtime.mind.mind_context import MindContext, VerbGroup, run_exclusively
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.text.argument_checks import (
    check_question,
    check_whole_number,
)

# Procedures of one space among which one of the same name is looked for.
MAX_PROCEDURES = 10_000


class ProcedureVerbs(VerbGroup):
    """`mind.procedures`: know-how with a record of how it went."""

    def __init__(self, context: MindContext, keeping: RememberVerbs) -> None:
        super().__init__(context)
        self._keeping = keeping

    @run_exclusively
    def teach(
        self,
        name: str,
        steps: Sequence[str],
        *,
        triggers: Iterable[str] = (),
        prerequisites: Sequence[str] = (),
        warnings: Sequence[str] = (),
        **more: Any,
    ) -> Memory:
        """Keep a procedure: its name, its steps in order, when it applies, its prerequisites and
        warnings.

        `triggers` are patterns as of `remember` (see `reverie.core.trigger_patterns`); further
        names are those of `remember`. Taught again under the same name in the same space, the new
        one supersedes the old. BadInput without a step.
        """
        from reverie.memory import procedure

        described = procedure.describe_procedure(name, steps, prerequisites, warnings)
        details = {**more.pop("details", {}), **described.pop("details")}
        home = self._writable_space(more.pop("space", None))
        # Of this space alone: one of the same name above it is another way to do it.
        known = self._store.browse(
            Filter(
                spaces=(home,),
                kinds=(procedure.KIND,),
                limit=MAX_PROCEDURES,
            )
        )
        return self._keeping.keep_new(
            described.pop("text"),
            home,
            lambda kept: procedure.supersede_same_name(known, kept),
            **described,
            **more,
            kind=procedure.KIND,
            triggers=triggers,
            details=details,
        )

    @run_exclusively
    def outcome(self, id: str, worked: bool) -> Memory:
        """Say that a procedure was followed and worked, or did not: its rank follows its record."""
        from reverie.memory.procedure import record_outcome

        memory = self._get_memory(id)
        now = self._now()
        change = record_outcome(memory, worked, now)
        return self._change(memory, [change], "outcome", now, worked=worked)

    def find(
        self,
        context: str,
        *,
        space: str | None = None,
        limit: int = 5,
    ) -> list[Memory]:
        """How to do something in this context: procedures with a trigger that matches it.

        Best first: by how well they lately worked, then by how often they were tried. `recall` with
        `types=["procedural"]` finds by meaning, without any trigger.
        """
        from reverie.memory.procedure import KIND, rank_procedures

        spaces = self._visible_from(space)
        if check_whole_number(limit) <= 0 or self._settings.is_off(spaces[0]):
            return []
        asked = context_of_conversation(check_question(context, "context"))
        hits = find_tool_warnings(self._store, asked, spaces, self._now())
        return rank_procedures(hit.memory for hit in hits if hit.memory.kind == KIND)[:limit]
