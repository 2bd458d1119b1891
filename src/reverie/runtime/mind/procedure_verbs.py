"""Procedures: keep how something is done, find it, and say how it went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core import config
from reverie.core.model import Change, Filter, Memory, Retire, Revise
from reverie.core.trigger_patterns import context_of_conversation
from reverie.memory.memory_validation import build_revision
from reverie.retrieval import find_tool_warnings
from reverie.runtime.mind.mind_context import MindContext, VerbGroup, run_exclusively
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.text.argument_checks import (
    check_question,
    check_whole_number,
)

if TYPE_CHECKING:
    from reverie.porting.skill_branch import SkillChange, SkillDraft

# why a procedure is archived whose page somebody took away
REMOVED_IN_REVIEW = "removed in review"
# Procedures of one space among which one of the same name is looked for.
MAX_PROCEDURES = 10_000


class SkillReport(NamedTuple):
    """What was written for review, or became of it there."""

    branch: str
    written: tuple[SkillDraft, ...] = ()
    changes: tuple[SkillChange, ...] = ()  # pages that were altered there
    commit: str = ""
    event: int = 0  # what `undo` takes; 0 where nothing changed here


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

    def publish(
        self,
        tree: str | Path | None = None,
        *,
        space: str | None = None,
        branch: str = "",
        folder: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> SkillReport:
        """Write procedures that have proved themselves as skills (`SKILL.md`) on a branch of git,
        for review.

        That is those of the space itself that worked three times at least, and at least three times
        in four as far as can be told. `tree` is a working tree (default: the one here); no file in
        it, no index and no branch that is checked out is touched. `branch` is made from HEAD if
        there is none (default: reverie/skills), `folder` is where skills lie (default:
        .claude/skills). A page that was altered in review is left, unless `force`; `adopt` reads it
        back. Twice writes nothing. BadInput where there is no repository.
        """
        from reverie.porting import skill_branch
        from reverie.porting.skill_pages import has_proved_itself

        home = self._resolve_space(space) if dry_run else self._writable_space(space)
        repository = skill_branch.SkillRepository(self._find_tree(tree))
        target = branch or skill_branch.BRANCH
        proved = [one for one in self._list_procedures(home) if has_proved_itself(one)]
        drafts, altered = skill_branch.draft_pages(
            repository, target, folder or skill_branch.FOLDER, proved, force=force
        )
        if dry_run or not drafts:
            return SkillReport(target, tuple(drafts), tuple(altered))
        pages = {one.path: one.text for one in drafts}
        message = skill_branch.describe_drafts(drafts)
        commit = repository.commit_pages(target, pages, message)
        event = self._note_pages(home, [(one.memory, one.path, one.text) for one in drafts])
        return SkillReport(target, tuple(drafts), tuple(altered), commit, event)

    def adopt(
        self,
        tree: str | Path | None = None,
        *,
        space: str | None = None,
        ref: str = "",
        reviewed: bool = False,
        force: bool = False,
    ) -> SkillReport:
        """Read back what became of skills in review: an edited page revises its procedure, one that
        was removed archives it, and one that was renamed is known by its new name.

        `ref` is the branch or commit to look at (default: reverie/skills). Only with `reviewed`,
        which says that somebody whom the user trusts looked at it, anything is changed; one event,
        which `undo` takes back. A page that was edited while the procedure changed here is told and
        left, unless `force` takes the page's words. Twice changes nothing.
        """
        from reverie.porting import skill_branch

        home = self._writable_space(space) if reviewed else self._resolve_space(space)
        repository = skill_branch.SkillRepository(self._find_tree(tree))
        target = ref or skill_branch.BRANCH
        changes = skill_branch.find_changes(repository, target, self._list_procedures(home))
        taken = [one for one in changes if one.what in ("edited", "removed", "renamed")]
        taken += [one for one in changes if one.what == "both" and force]
        if not reviewed or not taken:
            return SkillReport(target, changes=tuple(changes))
        event = self._apply_pages(home, target, taken)
        return SkillReport(target, changes=tuple(changes), event=event)

    @run_exclusively
    def _apply_pages(self, home: str, ref: str, taken: Sequence[SkillChange]) -> int:
        """Make procedures what their pages say, as one event."""
        from reverie.porting.skill_pages import build_adopted_fields, digest_page, parse_skill

        now = self._now()
        changes: list[Change] = []
        for one in taken:
            if one.what == "removed":
                changes.append(Retire(one.memory.id, now, why=REMOVED_IN_REVIEW))
                continue
            page = parse_skill(one.text)
            fields = build_adopted_fields(one.memory, page, one.path, digest_page(one.text))
            changes.append(
                build_revision(one.memory, now, fields, self._context.time_zone, self._policy)
            )
        paths = [one.path for one in taken]
        return self._apply_changes(changes, "mirror", home, now, skills=paths, ref=ref)

    @run_exclusively
    def _note_pages(self, home: str, pages: Sequence[tuple[Memory, str, str]]) -> int:
        """Keep with procedures which page they became."""
        from reverie.porting.skill_pages import SKILL_DETAIL, digest_page

        changes = [
            Revise(
                memory.id,
                {
                    "details": {
                        **memory.details,
                        SKILL_DETAIL: {"path": path, "digest": digest_page(text)},
                    }
                },
            )
            for memory, path, text in pages
        ]
        paths = [path for _, path, _ in pages]
        return self._apply_changes(changes, "mirror", home, self._now(), skills=paths)

    def _list_procedures(self, home: str) -> list[Memory]:
        """The procedures of a space itself that count."""
        from reverie.memory.procedure import KIND

        return self._store.browse(Filter(spaces=(home,), kinds=(KIND,), limit=MAX_PROCEDURES))

    def _find_tree(self, tree: str | Path | None) -> Path:
        """The working tree that is meant: the one here, if none is named."""
        here = config.working_directory()
        return config.find_work_tree(here / Path(tree).expanduser() if tree else here)

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
