"""Plans: which files and symbols a task is about, and what is known of the like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.activity import COMMIT, FILE, TASK
from reverie.core.code_anchors import ANCHORS, anchors_of
from reverie.core.model import Event, Filter, Hit, Memory, visible_spaces
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.activity_verbs import MAX_ACTIVITY_EVENTS, ActivityVerbs
from reverie.runtime.mind.code_verbs import CodeVerbs
from reverie.runtime.mind.search_verbs import SearchVerbs
from reverie.storage import GENERATION
from reverie.text.argument_checks import check_question, check_whole_number

if TYPE_CHECKING:
    from reverie.activity.co_change import CoChange
    from reverie.code.planning import RankedFiles, TaskCosines
    from reverie.code.planning.file_candidates import FileTree
    from reverie.code.planning.past_tasks import TaskHistory
    from reverie.code.planning.plan_answer import FilePart, TaskPlan

TASK_EVENTS = (COMMIT, TASK, FILE)
MAX_CHUNKS = 2_000  # of code that meaning may bring up
MAX_PARTS = 3  # of a file that a plan names
MAX_MEMORIES = 5
MIN_MEMORY_SCORE = 0.5  # the score from which on a memory is told unasked
LEADERS = 3  # likeliest files whose companions are told
MAX_COCHANGES = 10  # companions of each that are looked at
MAX_ANCHOR_SCAN = 1_000  # memories about code that are looked through


class PlanVerbs(CodeVerbs, SearchVerbs, ActivityVerbs):
    """The verb that answers before a task begins."""

    def plan(
        self,
        task: str,
        *,
        root: str | Path | None = None,
        space: str | None = None,
        limit: int = 10,
        tokens: int = 1_000,
    ) -> TaskPlan:
        """What a task is about, before it begins: files and symbols, likeliest first and each with
        why.

        Then past tasks like it, files that change with the likeliest, fixes of an error that the
        task tells of, and memories about the task or those files; all within about so many
        `tokens`, the files last to be cut. Words of the task are weighed with what `learn_git` and
        recording have taught; with what code and past tasks mean, once `settle` has made their
        vectors. `root` is a folder in an indexed repository: the working directory, unless told.
        Raises NotFound where none was indexed, Disabled where memory is switched off.
        """
        from reverie.code.planning.plan_answer import TaskPlan, list_similar_tasks, suggest_files

        told = redact_short_text(check_question(task, "task"), self._policy.masking)
        home, spaces = self._root(root), self._writable_space(space)
        if not told.strip():
            return TaskPlan(told, home)
        meaning = self._embed_query(told)
        found = self._rank_files(told, home, spaces, meaning)
        files = suggest_files(
            found, self._best_parts(told, home, meaning), max(0, check_whole_number(limit))
        )
        paths = [look.path for look in files]
        return TaskPlan(
            told,
            home,
            len(found.past),
            files,
            list_similar_tasks(found),
            self._cochanged_files(paths, spaces),
            tuple(self.suggest_fix(told, space=spaces)),
            self._related_memories(told, home, paths, spaces),
        ).within(max(1, check_whole_number(tokens)))

    def _rank_files(self, task: str, root: str, space: str, meaning: dict[str, Any]) -> RankedFiles:
        """Every file of a repository with its likelihood."""
        from reverie.code.planning import rank_files
        from reverie.code.planning.task_query import parse_task

        past = self._past(root, space)
        return rank_files(
            past.tree, past, parse_task(task), self._embedding_matches(root, space, meaning)
        )

    def _tree(self, root: str) -> FileTree:
        """The files of a repository, made anew when its index has changed."""
        from reverie.code.planning.file_candidates import DEFINED_KINDS, FileTree

        state = self.store.code.state_digest(root)
        known = self._trees.get(root)
        if known is None or known[0] != state:
            index = self.store.code
            known = self._trees[root] = (
                state,
                FileTree(index.bags(root), index.symbol_names(root, DEFINED_KINDS)),
            )
        return known[1]

    def _past(self, root: str, space: str) -> TaskHistory:
        """The tasks that were done, in a repository's files; made anew when a deed was added or
        purged.
        """
        from reverie.activity.co_change import collect_renames
        from reverie.code.past_task_vectors import past_task_root, store_past_tasks
        from reverie.code.planning.past_task_log import list_past_tasks
        from reverie.code.planning.past_tasks import TaskHistory

        self._flush()
        tree, last, generation = (
            self._tree(root),
            self.store.last_event(),
            self.store.meta(GENERATION),
        )
        known = self._pasts.get((root, space))
        if (
            known is None
            or known[0][1] != generation
            or (
                known[0][0] != last
                and self.store.events(after=known[0][0], verbs=TASK_EVENTS, limit=1)
            )
        ):
            events = keep_repository_events(
                self.store.search_events(TASK_EVENTS, space=space, limit=MAX_ACTIVITY_EVENTS), root
            )
            past = TaskHistory(list_past_tasks(events, collect_renames(events)), tree)
            store_past_tasks(self.store.code_chunks, past_task_root(space, root), past.done)
        else:
            past = known[1] if known[1].tree is tree else TaskHistory(known[1].done, tree)
        self._pasts[root, space] = ((last, generation), past)
        return past

    def _embedding_matches(self, root: str, space: str, meaning: dict[str, Any]) -> TaskCosines:
        """What is near to a task by meaning."""
        from reverie.code.past_task_vectors import MAX_NEAREST, find_nearest_cosines, past_task_root
        from reverie.code.planning import TaskCosines

        if not meaning:
            return TaskCosines()
        chunks, model, vector = self.store.code_chunks, meaning["model"], meaning["vector"]
        tasks = find_nearest_cosines(
            chunks, past_task_root(space, root), model, vector, MAX_NEAREST
        )
        return (
            TaskCosines(
                {key: max(some) for key, some in tasks.items()},
                find_nearest_cosines(chunks, root, model, vector, MAX_CHUNKS),
            )
            if tasks is not None
            else TaskCosines()
        )

    def _best_parts(
        self, task: str, root: str, meaning: dict[str, Any]
    ) -> dict[str, tuple[FilePart, ...]]:
        """The parts of each file that answer a task best."""
        from reverie.code.code_chunks import read_heading_symbol
        from reverie.code.planning.plan_answer import FilePart
        from reverie.code.similar_code import rank_code_chunks
        from reverie.retrieval.note_search import NoteQuery

        found: dict[str, dict[str, FilePart]] = {}
        for _, one in rank_code_chunks(
            self.store.code_chunks, NoteQuery(task, (root,), 100, "auto", **meaning)
        ):
            chunk, symbol = one.found.chunk, read_heading_symbol(one.found.chunk.text)
            if symbol:
                found.setdefault(one.found.file.path, {}).setdefault(
                    symbol, FilePart(symbol, chunk.first, chunk.last)
                )
        return {path: tuple(parts.values())[:MAX_PARTS] for path, parts in found.items()}

    def _cochanged_files(self, paths: list[str], space: str) -> tuple[CoChange, ...]:
        """Files that change with the likeliest and are not told yet."""
        changed = self._changed_with(paths[:LEADERS], space)
        found = {other.path: other for some in reversed(changed) for other in some[:MAX_COCHANGES]}
        rest = (other for path, other in found.items() if path not in paths)
        return tuple(sorted(rest, key=lambda other: (-other.weight, other.path))[:LEADERS])

    def _related_memories(
        self, task: str, root: str, paths: list[str], space: str
    ) -> tuple[Hit, ...]:
        """Memories about a task, and about files."""
        hits = [
            hit
            for hit in self.recall(task, space=space, limit=MAX_MEMORIES)
            if hit.score >= MIN_MEMORY_SCORE
        ]
        place = {path: number for number, path in enumerate(paths)}
        told = {hit.memory.id for hit in hits}
        about: list[tuple[int, Memory]] = []
        for memory in self.store.browse(
            Filter(spaces=visible_spaces(space), having=ANCHORS, limit=MAX_ANCHOR_SCAN)
        ):
            places = [
                place[one.path]
                for one in anchors_of(memory)
                if one.root == root and one.path in place
            ]
            if places and memory.id not in told:
                about.append((min(places), memory))
        about.sort(key=lambda one: one[0])
        return (
            *hits,
            *(Hit(memory, 0.0, (f"about {paths[number]}",)) for number, memory in about),
        )[:MAX_MEMORIES]


def keep_repository_events(events: list[Event], root: str) -> list[Event]:
    """Deeds without the commits of other repositories, whose files may have the same names."""
    from reverie.activity.git_history import get_repository_id

    mine = get_repository_id(Path(root))
    return [
        event
        for event in events
        if event.verb != COMMIT or event.payload.get("repository") in (mine, root)
    ]
