"""Reviewing: what Reverie would not decide by itself is shown to a person, who decides; the
decision is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.code_anchors import anchors_of, outdated_notice
from reverie.core.errors import BadInput
from reverie.core.kinds import is_unverified
from reverie.core.model import (
    TRUST_BY_PROVENANCE,
    UNDECIDED_RELATIONS,
    Edge,
    Filter,
    Memory,
    Record,
    visible_spaces,
)
from reverie.memory.memory_validation import build_memory
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase, run_exclusively
from reverie.text.argument_checks import check_whole_number

if TYPE_CHECKING:
    from reverie.reconciliation.review_questions import ReviewCase
    from reverie.storage.column_cache import Floats


MAX_PENDING_SCAN = 10_000  # memories in which those that wait for a curator are looked for


class ReviewVerbs(MindBase):
    """The verbs about pairs that wait for a decision, and about single memories that wait for a
    look.
    """

    def review(self, *, space: str | None = None, limit: int = 20) -> list[ReviewCase]:
        """Pairs that contradict each other or may say the same, what came last first. Looking
        changes nothing (CC-14).

        Both memories of a pair count and can be seen from the space.
        """
        most = max(0, check_whole_number(limit))
        edges = (
            self.store.edges_between(
                UNDECIDED_RELATIONS, visible_spaces(self._resolve_space(space)), most
            )
            if most
            else []
        )
        there = {
            memory.id: memory
            for memory in self._get_all([id for edge in edges for id in (edge.src, edge.dst)])
        }
        vectors = self.store.vectors(self.embedder.model, list(there)) if self.embedder else {}
        history = cache(self.store.history)  # one memory may be named by many questions
        return [self._case(edge, there, vectors, history) for edge in edges]

    @run_exclusively
    def resolve(self, one: str, other: str, decision: str, *, text: str = "") -> list[Memory]:
        """Decide about a pair: keep "one", keep the "other", keep "both", "merge" the other into
        the one, or "edit".

        "edit" gives the one a new text and merges the other into it. What does not stay is kept,
        readable by id, and `restore` or `undo` brings it back. The pair is not asked about again.
        Returns both as they are now.
        """
        from reverie.reconciliation.merge_rules import diff_memory
        from reverie.reconciliation.review_questions import apply_decision

        first, second, now = self._get_one(one), self._get_one(other), self._now()
        if gone := [memory.id for memory in (first, second) if not memory.active]:
            raise BadInput(f"{', '.join(gone)} does not count any more: there is nothing to decide")
        if first.id == second.id:
            raise BadInput("A pair is two memories")
        if (decision == "edit") != bool(text.strip()):
            raise BadInput('The decision "edit" goes with a new text, and only that')
        told = (
            build_memory(
                first.id, now, text, space=first.space, details=first.details, policy=self._policy
            )
            if decision == "edit"
            else first
        )
        edited = first._replace(text=told.text, details=told.details)
        if decision == "edit" and is_unverified(
            first
        ):  # from now on these are the words of who decides
            edited = edited._replace(
                provenance="user_stated",
                trust=TRUST_BY_PROVENANCE["user_stated"],
                confidence=TRUST_BY_PROVENANCE["user_stated"],
            )
        changes = [
            *diff_memory(first, edited),
            *apply_decision(
                edited, second, decision, self.store.edges([first.id], UNDECIDED_RELATIONS), now
            ),
        ]
        self._apply_changes(
            changes,
            "review",
            first.space,
            now,
            decision=decision,
            settled=[sorted((first.id, second.id))],
        )
        return self._get_all([first.id, second.id])

    @run_exclusively
    def curate(self, id: str, state: str, *, by: str = "user", note: str = "") -> Memory:
        """Look at one memory: "validated" approves it, "escalated" passes it on to a person and
        keeps it from surfacing meanwhile, "dismissed" puts it away (`restore` brings it back),
        "raw" takes what was said back.

        What is approved holds for the code as it is now, as after `confirm`. `by` says who, `note`
        why; both stay with the memory.
        """
        from reverie.code.anchor_reader import confirm_anchors, replace_anchors
        from reverie.memory.curation import curate_memory
        from reverie.reconciliation.pass_view import apply_to_memory

        memory, now = self._get_one(id), self._now()
        current = (
            replace_anchors(memory, confirm_anchors(self.work, anchors_of(memory)), now)
            if (state == "validated" and outdated_notice(memory))
            else []
        )
        changes = [
            *current,
            *curate_memory(
                apply_to_memory(memory, current),
                state,
                now,
                by=redact_short_text(by, self._policy),
                note=redact_short_text(note, self._policy),
            ),
        ]
        self._apply_changes(changes, "curate", memory.space, now, state=state)
        return self._get_one(id)

    @run_exclusively
    def promote(self, id: str, file: str | Path, *, by: str = "user", note: str = "") -> Memory:
        """Make a lasting reference of a memory: a new page of Markdown with what it says and its
        lineage.

        The memory is approved, as by `curate`, and names the page in `details["reference"]`. `undo`
        takes that back; the page is yours and stays. BadInput if the file is there already, or its
        folder is not.
        """
        from reverie.memory.reference_page import promote_memory, render_reference_page

        memory, now, place = self._get_one(id), self._now(), Path(file).expanduser().absolute()
        if (
            place.exists()
            or not place.parent.is_dir()
            or redact_short_text(str(place), self._policy) != str(place)
        ):
            raise BadInput(
                f"{file} must be a new file, without a secret in its name, in a folder that is there"
            )
        told = {
            "by": redact_short_text(by, self._policy),
            "note": redact_short_text(note, self._policy),
        }
        changes = promote_memory(memory, str(place), now, **told)
        before = [
            edge.dst
            for edge in self.store.edges([id], ("derived_from", "supersedes"))
            if edge.src == id
        ]
        with place.open("x", encoding="utf-8") as opened:
            opened.write(render_reference_page(memory, self.store.get(before), now, **told))
        self._apply_changes(
            changes, "curate", memory.space, now, state="validated", page=str(place)
        )
        return self._get_one(id)

    def pending(self, *, space: str | None = None, limit: int = 20) -> list[Memory]:
        """Memories in a space and above it that wait for a curator, newest first: what was only
        concluded and not met

        again, what was passed on to a person, what speaks of code that has changed. The newest
        10,000 are looked at.
        """
        from reverie.memory.curation import is_awaiting_review

        most = max(0, check_whole_number(limit))
        here = (
            self.store.browse(
                Filter(spaces=visible_spaces(self._resolve_space(space)), limit=MAX_PENDING_SCAN)
            )
            if most
            else []
        )
        return [memory for memory in here if is_awaiting_review(memory)][:most]

    def _case(
        self,
        edge: Edge,
        there: Mapping[str, Memory],
        vectors: Mapping[str, Floats],
        history: Callable[[str], list[Record]],
    ) -> ReviewCase:
        """The question behind an edge."""
        from reverie.reconciliation.review_questions import CASE_KINDS, ReviewCase

        one, other = sorted(
            (there[edge.src], there[edge.dst]), key=lambda memory: (memory.at, memory.id)
        )
        tied = [
            record
            for record in history(edge.src)
            if record.op == "link"
            and record.after.get("rel") == edge.rel
            and record.after.get("dst") == edge.dst
        ]
        event = tied[-1].event if tied else None
        return ReviewCase(
            CASE_KINDS[edge.rel],
            one,
            other,
            self._why(one, other, edge, vectors),
            event.at if event else max(one.at, other.at),
            event.seq if event else 0,
        )

    def _why(self, one: Memory, other: Memory, edge: Edge, vectors: Mapping[str, Floats]) -> str:
        """Why it was asked, told anew from what the two say now."""
        from reverie.reconciliation.paraphrase.statement_comparison import compare_memories

        known = one.id in vectors and other.id in vectors
        cosine = float(vectors[one.id] @ vectors[other.id]) if known else None
        verdict = compare_memories(one, other, cosine)
        expected = ("contradicts", "updates") if edge.rel == "contradicts" else ("near", "same")
        return (
            verdict.why
            if verdict.relation in expected
            else f"tied as {edge.rel} ({edge.weight:.2f})"
        )
