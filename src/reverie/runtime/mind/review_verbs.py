"""Verbs of review: pairs and single memories that wait for a person's decision.

Always true: what Reverie would not decide by itself is only shown here; the decision is remembered,
and the pair is not asked about again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.authorship import protect_revision
from reverie.core.clock import new_id
from reverie.core.code_anchors import anchors_of, outdated_notice
from reverie.core.doubt import DOUBT, is_in_doubt
from reverie.core.errors import BadInput, Conflict
from reverie.core.kinds import is_unverified
from reverie.core.model import (
    MIRRORED,
    PULLED,
    TRUST_BY_PROVENANCE,
    UNDECIDED_RELATIONS,
    Add,
    Change,
    Edge,
    Filter,
    Memory,
    Record,
    Revise,
    index_memories,
)
from reverie.memory.memory_validation import (
    build_memory,
    build_revision,
)
from reverie.runtime.mind.mind_context import VerbGroup, check_limit, run_exclusively
from reverie.text.argument_checks import (
    check_question,
    check_text_list,
)

if TYPE_CHECKING:
    from reverie.erasure.source_influence import Influence
    from reverie.extraction.knowledge_gaps import KnowledgeGap
    from reverie.extraction.provenance_check import Claim
    from reverie.reconciliation.review_questions import ReviewCase
    from reverie.retrieval.near_duplicates import NearDuplicate
    from reverie.runtime.both_sided_edits import BothSidedEdit
    from reverie.runtime.review_queue import ReviewCard
    from reverie.storage.arrays import Floats

# Newest memories among which those that wait are looked for.
MAX_PENDING_SCAN = 10_000
PENDING_BATCH = 1_000


class ReviewVerbs(VerbGroup):
    """`mind.review`: pairs that wait for a decision, and memories that wait for approval."""

    def cases(
        self,
        *,
        space: str | None = None,
        limit: int = 20,
        explained: bool = True,
    ) -> list[ReviewCase]:
        """Pairs that contradict each other or may say the same, newest question first. Changes
        nothing.

        Both memories of a pair count and can be seen from the space. Without `explained` nobody
        judges their texts, which takes longer than all else, and `why` is empty.
        """
        most = check_limit(limit)
        if not most:
            return []
        spaces = self._visible_from(space)
        edges = self._store.edges_between(UNDECIDED_RELATIONS, spaces, most)
        found = self._get_memories([id for edge in edges for id in (edge.src, edge.dst)])
        memories = index_memories(found)
        # Cached, because one memory may be part of many questions.
        history = cache(self._store.history)
        cases = [self._build_case(edge, memories, history) for edge in edges]
        if not explained:
            return cases
        vectors = self._read_vectors(list(memories))
        return [
            case._replace(why=self._explain_question(case.one, case.other, edge, vectors))
            for case, edge in zip(cases, edges, strict=True)
        ]

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

        first = self._get_memory(one)
        second = self._get_memory(other)
        now = self._now()
        if gone := [memory.id for memory in (first, second) if not memory.active]:
            raise BadInput(f"{', '.join(gone)} does not count any more: there is nothing to decide")
        # Merged into itself a memory would be gone.
        if first.id == second.id:
            raise BadInput("A pair is two memories")
        if (decision == "edit") != bool(text.strip()):
            raise BadInput('The decision "edit" goes with a new text, and only that')
        edited = first
        if decision == "edit":
            space, details = first.space, first.details
            built = build_memory(
                first.id, now, text, space=space, details=details, policy=self._policy
            )
            edited = first._replace(text=built.text, details=built.details)
            if is_unverified(first):
                # From now on these are the words of whoever decides.
                trust = TRUST_BY_PROVENANCE["user_stated"]
                edited = edited._replace(provenance="user_stated", trust=trust, confidence=trust)
        open_edges = self._store.edges([first.id], UNDECIDED_RELATIONS)
        changes = [
            *diff_memory(first, edited),
            *apply_decision(edited, second, decision, open_edges, now),
        ]
        # Stands in the event, by which the pair is not asked about again.
        settled = [sorted((first.id, second.id))]
        self._apply_changes(changes, "review", first.space, now, decision=decision, settled=settled)
        return self._get_memories([first.id, second.id])

    @run_exclusively
    def curate(
        self,
        id: str,
        state: str,
        *,
        by: str = "user",
        note: str = "",
    ) -> Memory:
        """Judge one memory: "validated" approves it, "escalated" passes it on to a person and keeps
        it from surfacing meanwhile, "dismissed" retires it (`restore` brings it back), "raw" takes
        the judgement back.

        What is approved holds for the code as it is now, as after `code.confirm`, and rests no
        longer on a reason that has changed. `by` says who, `note` why; both stay with the memory.
        """
        from reverie.code.anchor_reader import confirm_anchors, replace_anchors
        from reverie.memory.curation import curate_memory
        from reverie.reconciliation.doubts import settle_doubt
        from reverie.reconciliation.pass_view import apply_to_memory

        memory = self._get_memory(id)
        now = self._now()
        first: list[Change] = []
        if state == "validated" and outdated_notice(memory):
            confirmed = confirm_anchors(self._work, anchors_of(memory))
            first = replace_anchors(memory, confirmed, now)
        looked_at = apply_to_memory(memory, first)
        if state == "validated":
            looked_at, settled = settle_doubt(self._store, looked_at, now)
            first += settled
        judged = curate_memory(
            looked_at,
            state,
            now,
            by=self._redact(by),
            note=self._redact(note),
        )
        return self._change(
            memory,
            [*first, *judged],
            "curate",
            now,
            state=state,
        )

    @run_exclusively
    def promote(
        self,
        id: str,
        file: str | Path,
        *,
        by: str = "user",
        note: str = "",
    ) -> Memory:
        """Write a memory and its lineage to a new Markdown page, as a lasting reference.

        The memory is approved, as by `curate`, and names the page in `details["reference"]`. `undo`
        undoes that; the page is yours and stays. BadInput if the file is there already, or its
        folder is not.
        """
        from reverie.memory.reference_page import promote_memory, render_reference_page

        memory = self._get_memory(id)
        now = self._now()
        place = Path(file).expanduser().absolute()
        is_new_file = place.parent.is_dir() and not place.exists()
        if not is_new_file or self._redact(str(place)) != str(place):
            raise BadInput(
                f"{file} must be a new file, without a secret in its name, "
                "in a folder that is there"
            )
        judgement = {"by": self._redact(by), "note": self._redact(note)}
        changes = promote_memory(memory, str(place), now, **judgement)
        edges = self._store.edges([id], ("derived_from", "supersedes"))
        sources = self._store.get([edge.dst for edge in edges if edge.src == id])
        # "x": whoever was faster keeps their file.
        with place.open("x", encoding="utf-8") as page:
            page.write(render_reference_page(memory, sources, now, **judgement))
        return self._change(
            memory,
            changes,
            "curate",
            now,
            state="validated",
            page=str(place),
        )

    def pending(
        self,
        *,
        space: str | None = None,
        limit: int = 20,
    ) -> list[Memory]:
        """Memories in a space and above it that wait for approval, newest first.

        They were only concluded and not met again, or passed on to a person, speak of code that has
        changed, or rest on a reason that has (`doubts`). The newest 10,000 are looked at.
        """
        most = check_limit(limit)
        return self._scan_waiting(space, most)[0] if most else []

    def _scan_waiting(self, space: str | None, most: int) -> tuple[list[Memory], list[Memory]]:
        """(what waits for approval, what others wrote and nobody has vouched for), as many of each,
        found in one scan that ends where the first are full.
        """
        from reverie.memory.curation import is_awaiting_review

        spaces = self._visible_from(space)
        waiting: list[Memory] = []
        untrusted: list[Memory] = []
        after = ""
        for _ in range(MAX_PENDING_SCAN // PENDING_BATCH):
            batch = self._store.browse(Filter(spaces=spaces, limit=PENDING_BATCH, after=after))
            for memory in batch:
                if is_awaiting_review(memory):
                    waiting.append(memory)
                elif is_unverified(memory):
                    untrusted.append(memory)
            if len(waiting) >= most or len(batch) < PENDING_BATCH:
                break
            after = batch[-1].id
        return waiting[:most], untrusted[:most]

    def doubts(
        self,
        *,
        space: str | None = None,
        limit: int = 20,
    ) -> list[Memory]:
        """Memories in a space and above it whose reason has changed, newest first: still so, gone,
        or to be corrected?

        `curate(id, "validated")` keeps one, "dismissed" retires it, `revise` corrects it; and each
        is sound again by itself if its reason is. `reverie.core.doubt.describe_doubt(memory)` says
        what changed and when.
        """
        most = check_limit(limit)
        if not most:
            return []
        marked = Filter(spaces=self._visible_from(space), having=DOUBT, limit=MAX_PENDING_SCAN)
        return [memory for memory in self._store.browse(marked) if is_in_doubt(memory)][:most]

    def queue(
        self, *, space: str | None = None, limit: int = 20, explained: bool = True
    ) -> list[ReviewCard]:
        """All that waits for a person in a space and above it, as cards: both-sided edits, pairs,
        doubts, memories that nobody has approved, questions without an answer, what others wrote
        and nobody has vouched for. Changes nothing.

        Without `explained` the cards of pairs come without `why`, in a fraction of the time;
        `explain_card` says it of one.
        """
        from reverie.runtime.review_queue import build_queue

        most = check_limit(limit)
        edits = self.edits(space=space, limit=most)
        cases = self.cases(space=space, limit=most - len(edits), explained=explained)
        left = most - len(edits) - len(cases)
        pending, untrusted = self._scan_waiting(space, left) if left else ([], [])
        left -= len(pending)
        gaps = self._list_gaps(space, left) if left else []
        return [*build_queue(edits, cases, pending, gaps, untrusted)][:most]

    def explain_card(self, card: ReviewCard) -> ReviewCard:
        """A card of `queue` with `why` in words; as it is if that is there already, or if nothing
        ties the pair any more.
        """
        if card.why or len(card.memories) != 2:
            return card
        one, other = card.memories
        from reverie.reconciliation.review_questions import CASE_KINDS

        between = [
            edge
            for edge in self._store.edges([one.id], UNDECIDED_RELATIONS)
            if {edge.src, edge.dst} == {one.id, other.id} and CASE_KINDS[edge.rel] == card.kind
        ]
        if not between:
            return card
        vectors = self._read_vectors([one.id, other.id])
        return card._replace(why=self._explain_question(one, other, between[0], vectors))

    def edits(self, *, space: str | None = None, limit: int = 20) -> list[BothSidedEdit]:
        """Memories in a space and above it that were edited on both sides at once, the newest
        first: on a page of the mirror and here, or here and on another device of the team's server.

        One version holds, the other gave way; `answer` says which is right. The 200 newest saves of
        pages of the last 30 days are looked at, and the 50 newest that the server named.
        """
        most = check_limit(limit)
        # Most homes have none of these, and what tells more of them takes a tenth of a second to
        # load.
        if not most or not self._store.events(verbs=(MIRRORED, PULLED), newest=True, limit=1):
            return []
        from reverie.runtime.both_sided_edits import list_both_sided_edits

        return list_both_sided_edits(self._store, self._visible_from(space), self._now(), most)

    @run_exclusively
    def answer(
        self, key: str, answer: str, *, text: str = "", space: str | None = None
    ) -> list[int]:
        """Answer a card of `queue` by its key: "accept", "reject", "both", "merge", or "edit" with
        a new text. Of a both-sided edit "accept" keeps what holds, "reject" the other version.
        Returns the numbers of the events, which `undo` takes back, the last first.

        A question is answered by a text of yours, which is kept as a fact in the space.
        """
        from reverie.runtime.review_queue import (
            CURATED_AS,
            EDIT,
            EDITED,
            EDITED_DECISIONS,
            GAP,
            MEMORY,
            PAIR,
            PAIR_DECISIONS,
            REJECT,
        )

        before = self._store.last_event()
        sort, _, rest = key.partition(":")
        if (answer == EDIT) != bool(text.strip()):
            raise BadInput('The answer "edit" goes with a new text, and only that')
        if sort == PAIR:
            one, _, other = rest.partition(":")
            edges = self._store.edges([one], UNDECIDED_RELATIONS)
            rels = [edge.rel for edge in edges if {edge.src, edge.dst} == {one, other}]
            if not rels:
                raise Conflict("That pair was decided already")
            kind = "contradiction" if "contradicts" in rels else "near-duplicate"
            if answer not in PAIR_DECISIONS[kind]:
                raise BadInput(f"{answer!r} is no answer about a {kind}")
            self.resolve(one, other, PAIR_DECISIONS[kind][answer], text=text)
        elif sort == EDITED and answer in EDITED_DECISIONS:
            self._decide_edit(rest.rpartition(":")[0], EDITED_DECISIONS[answer], text)
        elif sort == MEMORY and (answer == EDIT or answer in CURATED_AS):
            if not self._get_memory(rest).active:
                raise Conflict("That memory counts no longer: there is nothing to decide")
            if answer == EDIT:
                self._reword(rest, text)
            self.curate(rest, CURATED_AS.get(answer, "validated"))
        elif sort == GAP and answer == EDIT:
            self._keep_answer(text, space)
        elif sort == GAP and answer == REJECT:
            self._close_gap(rest, space)
        else:
            raise BadInput(f"{answer!r} is no answer to {key!r}")
        return [event.seq for event in self._store.events(after=before)]

    def _decide_edit(self, id: str, decision: str, text: str) -> None:
        """Say which version of a memory is right."""
        from reverie.runtime.both_sided_edits import decide_both_sided_edit, find_both_sided_edit

        memory, now = self._get_memory(id), self._now()
        edit = find_both_sided_edit(self._store, id, now)
        if edit is None:
            raise Conflict("That edit was decided already, or both sides say the same by now")
        merged = self._to_own_words(memory, text) if text else None
        changes, settled = decide_both_sided_edit(self._store, edit, decision, merged, now)
        self._apply_changes(
            changes, "review", memory.space, now, decision=decision, settled=settled
        )

    def _reword(self, id: str, text: str) -> None:
        """Give a memory the words of whoever decides."""
        old = self._get_memory(id)
        self._change(old, [self._to_own_words(old, text)], "revise", self._now())

    def _to_own_words(self, old: Memory, text: str) -> Revise:
        """The revision of a memory that has the words of whoever decides."""
        now = self._now()
        given = protect_revision({"text": text}, old, self._settings.curate)
        revision = build_revision(old, now, given, self._context.time_zone, self._policy)
        if is_unverified(old):
            trust = TRUST_BY_PROVENANCE["user_stated"]
            own = {"provenance": "user_stated", "trust": trust, "confidence": trust}
            revision = revision._replace(fields={**revision.fields, **own})
        return revision

    def _keep_answer(self, text: str, space: str | None) -> None:
        """Keep what somebody wrote as the answer to a question."""
        home, now = self._writable_space(space), self._now()
        memory = build_memory(
            new_id(), now, text, space=home, provenance="user_stated", policy=self._policy
        )
        self._apply_changes([Add(memory)], "remember", home, now)

    def _close_gap(self, mark: str, space: str | None) -> None:
        """Have a question wait no longer: it wants no answer."""
        from reverie.extraction.knowledge_gaps import VERB as ASKED
        from reverie.extraction.knowledge_gaps import mark_question

        home = self._resolve_space(space)
        if all(mark_question(gap.asked) != mark for gap in self.gaps(space)):
            raise Conflict("That question waits no longer")
        self._apply_changes([], "review", home, self._now(), settled=[sorted((ASKED, mark))])

    def gaps(self, space: str | None = None) -> list[KnowledgeGap]:
        """Questions asked here that nothing in memory answered, newest first: what is worth writing
        down.

        The newest 500 of the last 90 days are looked at; what was kept since closes those that it
        answers.
        """
        from reverie.extraction.knowledge_gaps import MAX_GAPS

        return self._list_gaps(space, MAX_GAPS)

    def _list_gaps(self, space: str | None, most: int) -> list[KnowledgeGap]:
        from reverie.extraction.knowledge_gaps import list_knowledge_gaps

        return list_knowledge_gaps(self._store, self._resolve_space(space), self._now(), most)

    def near_duplicate(self, id: str) -> NearDuplicate | None:
        """The near-duplicate of a memory, with their similarity; None if it has none.

        For who has just kept something: it needs no model and finds what was kept a moment ago.
        Both stay; settling decides whether to merge them.
        """
        from reverie.retrieval.near_duplicates import find_near_duplicate

        return find_near_duplicate(self._store, self._get_memory(id), self._now())

    def vouch(
        self,
        text: str,
        kind: str = "fact",
        *,
        space: str | None = None,
        said: Iterable[str] = (),
        heard: Iterable[str] = (),
    ) -> Claim:
        """The provenance that a text may have which a model asks to keep, and why if that is lower.

        Its words are looked for in what the user said, and in what others wrote, in this space
        during the last day; `said` are further words of the user, `heard` further texts of others,
        such as files that were read. A model's own word is "observed" at most; hand the provenance
        to `remember`.
        """
        from reverie.extraction import provenance_check

        # What callers hand over may not be in the log yet; the rest of the evidence is read there.
        user_words = [("user", text) for text in check_text_list(said, "said")]
        foreign = [
            provenance_check.ForeignText(text, outside=False)
            for text in check_text_list(heard, "heard")
        ]
        evidence = provenance_check.to_evidence(user_words, foreign)
        recent = provenance_check.collect_recent_evidence(
            self._store, self._resolve_space(space), self._now()
        )
        return provenance_check.determine_provenance(
            check_question(text, "text"), kind, evidence.merged_with(recent)
        )

    def influence(self, source: str) -> Influence:
        """What came into memory by way of a source, in all spaces. Changes nothing.

        A source is a session, a person or an agent, the address of a page or the path of a file
        that a tool read, a program or file that was imported, or the number of an event.
        """
        from reverie.erasure.source_influence import find_influence

        return find_influence(self._store, check_question(source, "source"))

    @run_exclusively
    def blast(self, source: str) -> Influence:
        """Take back what came by way of a source, with all that grew from it, as one event that
        `undo` takes back; what had stepped back for any of it counts again.

        What was said elsewhere too stays. `event` is 0 where there was nothing to take back.
        """
        from reverie.erasure.source_influence import find_influence, plan_blast

        now = self._now()
        found = find_influence(self._store, check_question(source, "source"))
        changes = plan_blast(self._store, found, now)
        if not changes:
            return found
        space = (*found.roots, *found.grown)[0].space
        named = self._redact(found.source)
        event = self._apply_changes(changes, "forget", space, now, source=named)
        return found._replace(event=event)

    def _build_case(
        self,
        edge: Edge,
        memories: Mapping[str, Memory],
        history: Callable[[str], list[Record]],
    ) -> ReviewCase:
        """The question that an edge asks, with both memories, the older one first; not why."""
        from reverie.reconciliation.review_questions import CASE_KINDS, ReviewCase

        pair = (memories[edge.src], memories[edge.dst])
        one, other = sorted(
            pair,
            key=lambda memory: (memory.at, memory.id),
        )
        # The last time that the question was raised: it may have been answered and asked anew.
        links = [
            record
            for record in history(edge.src)
            if record.op == "link"
            and record.after.get("rel") == edge.rel
            and record.after.get("dst") == edge.dst
        ]
        event = links[-1].event if links else None
        return ReviewCase(
            CASE_KINDS[edge.rel],
            one,
            other,
            "",
            event.at if event else max(one.at, other.at),
            event.seq if event else 0,
        )

    def _read_vectors(self, ids: Sequence[str]) -> Mapping[str, Floats]:
        """Their vectors of the model that answers; nothing without one."""
        from reverie.pipeline.pending_vectors import embedding_model_of

        model = embedding_model_of(self._context.answering_embedder)
        return self._store.vectors(model, ids) if model else {}

    def _explain_question(
        self,
        one: Memory,
        other: Memory,
        edge: Edge,
        vectors: Mapping[str, Floats],
    ) -> str:
        """Why a pair is asked about, judged anew by its present texts."""
        from reverie.reconciliation.paraphrase.statement_comparison import compare_memories
        from reverie.sync.device_logs.folding import BESIDE

        if one.details.get(BESIDE) == other.id or other.details.get(BESIDE) == one.id:
            return "one text, revised on two machines"
        cosine = None
        if one.id in vectors and other.id in vectors:
            cosine = float(vectors[one.id] @ vectors[other.id])
        verdict = compare_memories(one, other, cosine)
        expected = ("contradicts", "updates") if edge.rel == "contradicts" else ("near", "same")
        if verdict.relation in expected:
            return verdict.why
        return f"tied as {edge.rel} ({edge.weight:.2f})"
