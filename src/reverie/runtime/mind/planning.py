"""Plans: which files and symbols a task is about, and what is known of the like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.activity import COMMIT, FILE, TASK
from reverie.core.code_anchors import ANCHORS, anchors_of
from reverie.core.model import Event, Filter, Hit, Memory, lineage
from reverie.privacy.redacted_text import private
from reverie.runtime.mind.activity import LOOKED_AT, Experiencing
from reverie.runtime.mind.code import Coding
from reverie.runtime.mind.finding import Finding
from reverie.storage import GENERATION
from reverie.text.argument_checks import question, whole

if TYPE_CHECKING:
    from reverie.activity.co_change import Together
    from reverie.code.planning import Meant, Ranked
    from reverie.code.planning.file_candidates import Tree
    from reverie.code.planning.past_tasks import Past
    from reverie.code.planning.plan_answer import Part, Plan

DEEDS = (COMMIT, TASK, FILE)
MOST_CHUNKS = 2_000  # of code that meaning may bring up
MOST_PARTS = 3  # of a file that a plan names
MOST_MEMORIES = 5
SURE = 0.5  # the score from which on a memory is told unasked
LEADERS = 3  # likeliest files whose companions are told
MOST_TOGETHER = 10  # companions of each that are looked at
MOST_ANCHORED = 1_000  # memories about code that are looked through


class Planning(Coding, Finding, Experiencing):
    """The verb that answers before a task begins."""

    def plan(
        self,
        task: str,
        *,
        root: str | Path | None = None,
        space: str | None = None,
        limit: int = 10,
        tokens: int = 1_000,
    ) -> Plan:
        """What a task is about, before it begins: files and symbols, likeliest first and each with
        why.

        Then past tasks like it, files that change with the likeliest, fixes of an error that the
        task tells of, and memories about the task or those files; all within about so many
        `tokens`, the files last to be cut. Words of the task are weighed with what `learn_git` and
        recording have taught; with what code and past tasks mean, once `settle` has made their
        vectors. `root` is a folder in an indexed repository: the working directory, unless told.
        Raises NotFound where none was indexed, Disabled where memory is switched off.
        """
        from reverie.code.planning.plan_answer import Plan, like, looks

        told = private(question(task, "task"), self._policy.masking)
        home, spaces = self._root(root), self._writable(space)
        if not told.strip():
            return Plan(told, home)
        meaning = self._meaning(told)
        found = self._ranked(told, home, spaces, meaning)
        files = looks(found, self._parts(told, home, meaning), max(0, whole(limit)))
        paths = [look.path for look in files]
        return Plan(
            told,
            home,
            len(found.past),
            files,
            like(found),
            self._companions(paths, spaces),
            tuple(self.suggest_fix(told, space=spaces)),
            self._remembered(told, home, paths, spaces),
        ).within(max(1, whole(tokens)))

    def _ranked(self, task: str, root: str, space: str, meaning: dict[str, Any]) -> Ranked:
        """Every file of a repository with its likelihood."""
        from reverie.code.planning import ranked
        from reverie.code.planning.task_query import task_of

        past = self._past(root, space)
        return ranked(past.tree, past, task_of(task), self._meant(root, space, meaning))

    def _tree(self, root: str) -> Tree:
        """The files of a repository, made anew when its index has changed."""
        from reverie.code.planning.file_candidates import DEFINED, Tree

        state = self.store.code.state(root)
        known = self._trees.get(root)
        if known is None or known[0] != state:
            index = self.store.code
            known = self._trees[root] = (state, Tree(index.bags(root), index.names(root, DEFINED)))
        return known[1]

    def _past(self, root: str, space: str) -> Past:
        """The tasks that were done, in a repository's files; made anew when a deed was added or
        purged.
        """
        from reverie.activity.co_change import renames
        from reverie.code.past_task_vectors import kept, root_of
        from reverie.code.planning.past_task_log import done
        from reverie.code.planning.past_tasks import Past

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
            or (known[0][0] != last and self.store.events(after=known[0][0], verbs=DEEDS, limit=1))
        ):
            events = of_repository(self.store.happened(DEEDS, space=space, limit=LOOKED_AT), root)
            past = Past(done(events, renames(events)), tree)
            kept(self.store.code_chunks, root_of(space, root), past.done)
        else:
            past = known[1] if known[1].tree is tree else Past(known[1].done, tree)
        self._pasts[root, space] = ((last, generation), past)
        return past

    def _meant(self, root: str, space: str, meaning: dict[str, Any]) -> Meant:
        """What is near to a task by meaning."""
        from reverie.code.past_task_vectors import NEAREST, cosines, root_of
        from reverie.code.planning import Meant

        if not meaning:
            return Meant()
        chunks, model, vector = self.store.code_chunks, meaning["model"], meaning["vector"]
        tasks = cosines(chunks, root_of(space, root), model, vector, NEAREST)
        return (
            Meant(
                {key: max(some) for key, some in tasks.items()},
                cosines(chunks, root, model, vector, MOST_CHUNKS),
            )
            if tasks is not None
            else Meant()
        )

    def _parts(self, task: str, root: str, meaning: dict[str, Any]) -> dict[str, tuple[Part, ...]]:
        """The parts of each file that answer a task best."""
        from reverie.code.code_chunks import symbol_of
        from reverie.code.planning.plan_answer import Part
        from reverie.code.similar_code import ranked
        from reverie.retrieval.note_search import Asked

        found: dict[str, dict[str, Part]] = {}
        for _, one in ranked(self.store.code_chunks, Asked(task, (root,), 100, "auto", **meaning)):
            chunk, symbol = one.found.chunk, symbol_of(one.found.chunk.text)
            if symbol:
                found.setdefault(one.found.file.path, {}).setdefault(
                    symbol, Part(symbol, chunk.first, chunk.last)
                )
        return {path: tuple(parts.values())[:MOST_PARTS] for path, parts in found.items()}

    def _companions(self, paths: list[str], space: str) -> tuple[Together, ...]:
        """Files that change with the likeliest and are not told yet."""
        changed = self._changed_with(paths[:LEADERS], space)
        found = {other.path: other for some in reversed(changed) for other in some[:MOST_TOGETHER]}
        rest = (other for path, other in found.items() if path not in paths)
        return tuple(sorted(rest, key=lambda other: (-other.weight, other.path))[:LEADERS])

    def _remembered(self, task: str, root: str, paths: list[str], space: str) -> tuple[Hit, ...]:
        """Memories about a task, and about files."""
        hits = [
            hit for hit in self.recall(task, space=space, limit=MOST_MEMORIES) if hit.score >= SURE
        ]
        place = {path: number for number, path in enumerate(paths)}
        told = {hit.memory.id for hit in hits}
        about: list[tuple[int, Memory]] = []
        for memory in self.store.browse(
            Filter(spaces=lineage(space), having=ANCHORS, limit=MOST_ANCHORED)
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
        )[:MOST_MEMORIES]


def of_repository(events: list[Event], root: str) -> list[Event]:
    """Deeds without the commits of other repositories, whose files may have the same names."""
    from reverie.activity.git_history import identity

    mine = identity(Path(root))
    return [
        event
        for event in events
        if event.verb != COMMIT or event.payload.get("repository") in (mine, root)
    ]
