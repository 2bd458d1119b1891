"""The verb `plan`: which files and symbols a task is about, and what is known of similar tasks."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.activity import COMMIT, FILE, TASK
from reverie.core import clock
from reverie.core.code_anchors import ANCHORS, anchors_of
from reverie.core.errors import BadInput
from reverie.core.model import SAID, Event, Filter, Hit, Memory
from reverie.privacy.redacted_text import redact_short_text
from reverie.retrieval.search_query import SearchQuery
from reverie.runtime.mind.activity_verbs import MAX_ACTIVITY_EVENTS, ActivityVerbs
from reverie.runtime.mind.code_verbs import CodeVerbs
from reverie.runtime.mind.mind_context import MindContext, VerbGroup, check_limit
from reverie.runtime.mind.search_verbs import SearchVerbs
from reverie.storage import GENERATION
from reverie.text.argument_checks import check_question, check_whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from reverie.activity.co_change import CoChange
    from reverie.code.planning import RankedFiles, TaskCosines
    from reverie.code.planning.file_candidates import FileTree
    from reverie.code.planning.past_tasks import TaskHistory
    from reverie.code.planning.plan_answer import FilePart, TaskPlan
    from reverie.code.planning.task_brief import TaskBrief

TASK_EVENTS = (COMMIT, TASK, FILE)
# Code chunks near to a task by embedding.
MAX_CHUNKS = 2_000
MAX_RANKED_CHUNKS = 100
# Parts of one file that a plan names.
MAX_PARTS = 3
MAX_MEMORIES = 5
# Passages of past conversations.
MAX_PASSAGES = 3
# The score is a probability, so a memory is named if it is likelier to help than not: nobody asked
# for it.
MIN_MEMORY_SCORE = 0.5
# Likeliest files whose co-changes are named: looking for those of one file reads its commits.
LEADERS = 3
# Co-changes of each that are looked at.
MAX_COCHANGES = 10
# Memories about code that are looked at.
MAX_ANCHOR_SCAN = 1_000


# Bytes of code, and commits, up to which a repository is taken in unasked: some minutes at most.
MAX_UNASKED_BYTES = 30_000_000
MAX_UNASKED_COMMITS = 20_000
# Between looks for new commits.
HISTORY_SECONDS = 600.0


class TooLarge(Exception):
    """There is more to read than is read unasked."""


class PlanVerbs(VerbGroup):
    """The verb of `Mind` to call before a task begins."""

    def __init__(
        self,
        context: MindContext,
        code: CodeVerbs,
        searching: SearchVerbs,
        activity: ActivityVerbs,
    ) -> None:
        super().__init__(context)
        self._code = code
        self._searching = searching
        self._activity = activity
        # root of a repository → when its history was read last
        self._read_at: dict[str, float] = {}
        # root of a repository → (state of its index, its files)
        self._trees: dict[str, tuple[bytes, FileTree]] = {}
        # (root, space) → ((last event, store generation), tasks done there)
        self._pasts: dict[tuple[str, str], tuple[tuple[int, str | None], TaskHistory]] = {}

    def plan(
        self,
        task: str,
        *,
        root: str | Path | None = None,
        space: str | None = None,
        limit: int = 10,
        tokens: int = 1_000,
    ) -> TaskPlan:
        """Files and symbols that a task is about, before it begins: likeliest first, each with why.

        Then past tasks like it, files that change with the likeliest, fixes of an error that the
        task tells of, memories about the task or those files, and what past conversations said of
        it, if it needs that; all within about so many `tokens`, the files last to be cut. Words of
        the task are weighed with what `activity.learn_git` and recording have taught, and, once
        `settle` has made their vectors, with embeddings of code and past tasks. `root` is a folder
        in an indexed repository: the working directory, unless told. Raises NotFound where none was
        indexed, Disabled where memory is switched off.
        """
        from reverie.code.planning.plan_answer import TaskPlan, list_similar_tasks, suggest_files

        redacted = redact_short_text(check_question(task, "task"), self._policy.masking)
        folder = self._code.root_of(root)
        home = self._writable_space(space)
        if not redacted.strip():
            return TaskPlan(redacted, folder)
        vector = self._embed_query(redacted)
        ranked = self.rank_files(redacted, folder, home, vector)
        parts = self._best_parts(redacted, folder, vector)
        files = suggest_files(ranked, parts, check_limit(limit))
        paths = [file.path for file in files]
        memories = self._related_memories(redacted, folder, paths, home)
        return TaskPlan(
            redacted,
            folder,
            len(ranked.past),
            files,
            list_similar_tasks(ranked),
            self._cochanged_files(paths, home),
            tuple(self._activity.suggest_fix(redacted, space=home)),
            memories,
            self._related_talk(redacted, home, vector, memories),
        ).within(max(1, check_whole_number(tokens)))

    def brief(
        self,
        task: str,
        *,
        root: str | Path | None = None,
        space: str | None = None,
    ) -> TaskBrief:
        """The few files that a task is surely about, with their tests and past tasks like it, in
        300 tokens; mostly nothing.

        What hooks give unasked. Arguments and errors are those of `plan`.
        """
        from reverie.code.planning.sure_files import choose_files
        from reverie.code.planning.task_brief import TaskBrief, make_task_brief

        redacted = redact_short_text(check_question(task, "task"), self._policy.masking)
        folder = self._code.root_of(root)
        home = self._writable_space(space)
        if not redacted.strip():
            return TaskBrief()
        vector = self._embed_query(redacted)
        ranked = self.rank_files(redacted, folder, home, vector)
        sure, others = choose_files(ranked)
        parts = self._best_parts(redacted, folder, vector) if sure else {}
        return make_task_brief(ranked, sure, others, parts)

    def refresh(
        self,
        root: str | Path,
        space: str,
        go_on: Callable[[], None] | None = None,
    ) -> bool:
        """Bring the index of a work tree and what is known of its history up to date, unasked.

        False if it is no git repository, without the extra `code`, and if it is new and too large
        to be read unasked. `go_on` is called meanwhile, and may raise.
        """
        folder = os.path.realpath(root)
        if not Path(folder, ".git").exists() or find_spec("tree_sitter") is None:
            return False
        is_known = folder in self._store.code.roots()

        def check(_stage: str, _done: int, total: int | None) -> None:
            if go_on is not None:
                go_on()
            if not is_known and (total or 0) > MAX_UNASKED_BYTES:
                raise TooLarge

        try:
            self._code.index(folder, check)
        except TooLarge:
            self._code.forget(folder)
            return False
        now = clock.ticks()
        if now - self._read_at.get(folder, -HISTORY_SECONDS) >= HISTORY_SECONDS:
            self._read_at[folder] = now
            # A repository without a commit, or without git, has no history.
            with suppress(BadInput):
                self._activity.learn_git(folder, space=space, most=MAX_UNASKED_COMMITS)
        return True

    def rank_files(
        self,
        task: str,
        root: str,
        space: str,
        vector: dict[str, Any],
    ) -> RankedFiles:
        """All files of a repository with their likelihoods."""
        from reverie.code.planning import rank_files
        from reverie.code.planning.task_query import parse_task

        past = self.task_history(root, space)
        cosines = self._embedding_matches(root, space, vector)
        return rank_files(past.tree, past, parse_task(task), cosines)

    def _tree(self, root: str) -> FileTree:
        """The files of a repository, cached until its index changes."""
        from reverie.code.planning.file_candidates import DEFINED_KINDS, FileTree

        # Reading all terms of a repository is slow, and an index seldom changes between two plans.
        state = self._store.code.state_digest(root)
        known = self._trees.get(root)
        if known is None or known[0] != state:
            index = self._store.code
            tree = FileTree(index.bags(root), index.symbol_names(root, DEFINED_KINDS))
            known = self._trees[root] = (state, tree)
        return known[1]

    def task_history(self, root: str, space: str) -> TaskHistory:
        """The tasks done in a repository, cached until one is recorded or anything is purged."""
        from reverie.activity.co_change import collect_renames
        from reverie.code.past_task_vectors import past_task_root, store_past_tasks
        from reverie.code.planning.past_task_log import list_past_tasks
        from reverie.code.planning.past_tasks import TaskHistory

        self._flush()
        tree = self._tree(root)
        last = self._store.last_event()
        generation = self._store.meta(GENERATION)
        cached = self._pasts.get((root, space))
        if cached is None or not self._is_past_current(cached[0], last, generation):
            found = self._store.search_events(
                TASK_EVENTS,
                space=space,
                limit=MAX_ACTIVITY_EVENTS,
            )
            events = keep_repository_events(found, root)
            past = TaskHistory(list_past_tasks(events, collect_renames(events)), tree)
            store_past_tasks(self._store.code_chunks, past_task_root(space, root), past.done)
        else:
            past = cached[1] if cached[1].tree is tree else TaskHistory(cached[1].done, tree)
        self._pasts[root, space] = ((last, generation), past)
        return past

    def _is_past_current(
        self,
        read_at: tuple[int, str | None],
        last: int,
        generation: str | None,
    ) -> bool:
        """True if no task event was added or purged since the history was read."""
        last_read, generation_read = read_at
        if generation_read != generation:
            return False
        return last_read == last or not self._store.events(
            after=last_read,
            verbs=TASK_EVENTS,
            limit=1,
        )

    def _embedding_matches(
        self,
        root: str,
        space: str,
        vector: dict[str, Any],
    ) -> TaskCosines:
        """Cosines of past tasks and code chunks with a task."""
        from reverie.code.past_task_vectors import MAX_NEAREST, find_nearest_cosines, past_task_root
        from reverie.code.planning import TaskCosines

        if not vector:
            return TaskCosines()
        chunks, query = self._store.code_chunks, (vector["model"], vector["vector"])
        tasks = find_nearest_cosines(chunks, past_task_root(space, root), *query, MAX_NEAREST)
        if tasks is None:
            return TaskCosines()
        best = {key: max(cosines) for key, cosines in tasks.items()}
        return TaskCosines(best, find_nearest_cosines(chunks, root, *query, MAX_CHUNKS))

    def _best_parts(
        self,
        task: str,
        root: str,
        vector: dict[str, Any],
    ) -> dict[str, tuple[FilePart, ...]]:
        """The parts of each file that match a task best."""
        from reverie.code.code_chunks import read_heading_symbol
        from reverie.code.planning.plan_answer import FilePart
        from reverie.code.similar_code import rank_code_chunks
        from reverie.retrieval.note_search import NoteQuery

        found: dict[str, dict[str, FilePart]] = {}
        query = NoteQuery(task, (root,), MAX_RANKED_CHUNKS, "auto", **vector)
        for _, candidate in rank_code_chunks(self._store.code_chunks, query):
            chunk, path = candidate.found.chunk, candidate.found.file.path
            symbol = read_heading_symbol(chunk.text)
            if symbol:
                parts = found.setdefault(path, {})
                parts.setdefault(symbol, FilePart(symbol, chunk.first, chunk.last))
        return {path: tuple(parts.values())[:MAX_PARTS] for path, parts in found.items()}

    def _cochanged_files(
        self,
        paths: list[str],
        space: str,
    ) -> tuple[CoChange, ...]:
        """Files that change with the likeliest ones and are not among them."""
        found: dict[str, CoChange] = {}
        # Backwards, so that the co-change with the likeliest file wins.
        for changes in reversed(self._activity.changed_with(paths[:LEADERS], space)):
            found.update((change.path, change) for change in changes[:MAX_COCHANGES])
        others = [change for path, change in found.items() if path not in paths]
        return tuple(sorted(others, key=lambda change: (-change.weight, change.path))[:LEADERS])

    def _related_memories(
        self,
        task: str,
        root: str,
        paths: list[str],
        space: str,
    ) -> tuple[Hit, ...]:
        """Memories about a task, then those about its files in the order of these."""
        recalled = self._searching.recall(
            task,
            space=space,
            limit=MAX_MEMORIES,
        )
        # Memories about the files follow, each once.
        hits = [
            hit
            for hit in recalled
            if hit.score >= MIN_MEMORY_SCORE and hit.memory.provenance != SAID
        ]
        named = {hit.memory.id for hit in hits}
        ranks = {path: rank for rank, path in enumerate(paths)}
        anchored = self._store.browse(
            Filter(
                spaces=self._visible_spaces(space),
                having=ANCHORS,
                limit=MAX_ANCHOR_SCAN,
            )
        )
        about: list[tuple[int, Memory]] = []
        for memory in anchored:
            found = [
                ranks[anchor.path]
                for anchor in anchors_of(memory)
                if anchor.root == root and anchor.path in ranks
            ]
            if found and memory.id not in named:
                about.append((min(found), memory))
        about.sort(key=lambda pair: pair[0])
        hits += [Hit(memory, 0.0, (f"about {paths[rank]}",)) for rank, memory in about]
        return tuple(hits[:MAX_MEMORIES])

    def _related_talk(
        self,
        task: str,
        space: str,
        vector: dict[str, Any],
        memories: tuple[Hit, ...],
    ) -> tuple[Hit, ...]:
        """What past conversations said about a task, if it needs that."""
        from reverie.transcripts.joint_search import surface_talk

        query = SearchQuery(task, self._visible_spaces(space), self._now(), context=task, **vector)
        return tuple(surface_talk(self._store, query, memories)[:MAX_PASSAGES])


def keep_repository_events(events: list[Event], root: str) -> list[Event]:
    """The events without commits of other repositories, whose files may have the same names."""
    from reverie.activity.git_history import get_repository_id

    own_id = get_repository_id(Path(root))
    return [
        event
        for event in events
        if event.verb != COMMIT or event.payload.get("repository") in (own_id, root)
    ]
