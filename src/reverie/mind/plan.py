"""Plans: which files and symbols a task is about, and what is known of the like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reverie.lifecycle.experience import COMMIT, FILE, TASK
from reverie.mind.code import Coding
from reverie.mind.experience import LOOKED_AT, Experiencing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reverie.plan import Ranked
    from reverie.plan.past import Done, Past
    from reverie.plan.task import Task
    from reverie.plan.tree import Tree


class Planning(Coding, Experiencing):
    """The verb that answers before a task begins."""

    def _likely(self, task: Task, root: str, space: str) -> tuple[Ranked, Tree, Past]:
        """Every file of a repository with its likelihood."""
        from reverie.plan import ranked
        from reverie.plan.past import Past
        files = self._tree(root)
        done = self._past(space)
        past = Past(done, files)
        return ranked(files, past, task, self._meant(task, done, space)), files, past

    def _tree(self, root: str) -> Tree:
        """The files of a repository, made anew when its index has changed."""
        from reverie.plan.tree import DEFINED, Tree
        state = self.store.code.state(root)
        known = self._trees.get(root)
        if known is None or known[0] != state:
            index = self.store.code
            names = [(path, name) for path, _, name, kind in index.tops(root) if kind in DEFINED]
            known = self._trees[root] = (state, Tree(index.bags(root), names, index.leads(root)))
        return known[1]

    def _past(self, space: str) -> list[Done]:
        """The tasks that were done, oldest first."""
        from reverie.lifecycle.experience.together import renames
        from reverie.plan.log import done
        self._flush()
        events = self.store.happened((COMMIT, TASK, FILE), space=space, limit=LOOKED_AT)
        return done(events, renames(events))

    def _meant(self, task: Task, done: list[Done], space: str) -> Mapping[str, float]:
        """The past tasks nearest by meaning; none while most of them wait for their vectors."""
        return {}
