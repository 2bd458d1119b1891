"""Code: what a repository defines, who uses it, and what of it matters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core import clock, config
from reverie.core.errors import BadInput, NotFound
from reverie.runtime.mind.base import Base
from reverie.text.argument_checks import question, whole

if TYPE_CHECKING:
    from reverie.code.code_indexing import Mapped
    from reverie.code.code_queries import Dependency, Found, Matching, Use
    from reverie.code.repository_map import Overview
    from reverie.code.similar_code import Alike
    from reverie.notes.note_indexing import Progress


class Coding(Base):
    """The verbs about code. `root` is a folder in an indexed repository: the working directory,
    unless told.
    """

    def index_code(
        self, path: str | Path | None = None, progress: Progress | None = None
    ) -> Mapped:
        """Parse what is new or changed in a repository, and resolve who uses what. Needs the extra
        `code`.

        `path` is its folder; the repository that the working directory belongs to by default. What
        `.gitignore`, `.secretsignore` or `.reverieignore` name, vendored and generated files, and
        files of more than 2 MB are left out. What memories say of its code is held against it: see
        `outdated`. Each function and class is a chunk that `search_similar` finds: by words at
        once, by meaning once `settle` has made its vector. `progress` is told (stage, bytes done,
        bytes in all). Raises BadInput for what is no folder.
        """
        from reverie.code.anchor_reader import LEASE, first_look, looked_at
        from reverie.code.code_chunks import caught_up
        from reverie.code.code_indexing import mapped
        from reverie.notes.note_vectors import PATIENCE, indexing
        from reverie.runtime.mind.files import quiet

        root = os.path.realpath(
            config.work_tree(config.here()) if path is None else Path(path).expanduser()
        )
        if not Path(root).is_dir():
            raise BadInput(f"{path} is no folder. Give the folder of a repository")
        told = progress or quiet

        def working(stage: str, done: int, total: int | None) -> None:
            ours()
            told(stage, done, total)

        if self.store.holder(LEASE, self._now()):
            told("waiting for another process that indexes", 0, None)
        with indexing(self.store, self._now, PATIENCE, LEASE) as ours:
            new = root not in self.store.code.roots()
            done = mapped(self.store.code, root, clock.now, working, self._policy)
            caught_up(
                self.store.code, self.store.code_chunks, root, clock.now, working, self._policy
            )
            if new:
                first_look(self.work, root)
            looked_at(self.work, root)
            return done

    def forget_code(self, path: str | Path) -> None:
        """Erase what was indexed of a repository; its files stay as they are, and so does what is
        remembered.
        """
        from reverie.code.past_task_vectors import forgotten

        root = self._root(path)
        self.store.code.forget(root)
        self.store.code_chunks.forget(root)
        forgotten(self.store.code_chunks, root)

    def code_is_whole(self, root: str | Path | None = None) -> bool:
        """Whether indexing came to its end: else another process is at it, or one was interrupted,
        and answers lack.
        """
        return self.store.code.resolved(self._root(root))

    def find_symbol(
        self, name: str, *, root: str | Path | None = None, limit: int = 50
    ) -> list[Found]:
        """Where a name is defined, alone or qualified (`Console.print`); else names that differ
        only in case.

        A path before it means those of one file: `pkg/util.py:helper`.
        """
        from reverie.code.code_queries import symbols

        question(name, "name")
        return symbols(self.store.code, self._root(root), name, whole(limit))

    def callers(
        self, name: str, *, root: str | Path | None = None, unsure: bool = True
    ) -> list[Use]:
        """Where a function, method or class is called, across files. `why` says how each is known.

        With `unsure`, calls follow that bear the name but could not be resolved (`sure` is False).
        Two definitions of one name are both meant, and `to` says which: qualify it, or put its file
        before it (`pkg/util.py:helper`).
        """
        from reverie.code.code_queries import callers

        question(name, "name")
        return callers(self.store.code, self._root(root), name, unsure=unsure)

    def callees(self, name: str, *, root: str | Path | None = None) -> list[Use]:
        """What a function or method of the repository calls in it; of a class, what
        its methods do.
        """
        from reverie.code.code_queries import callees

        question(name, "name")
        return callees(self.store.code, self._root(root), name)

    def dependencies(self, file: str | Path) -> list[Dependency]:
        """What a file imports, line by line: from its repository (`to`), and from outside."""
        from reverie.code.code_queries import dependencies

        root, path = self._file(file)
        return dependencies(self.store.code, root, path)

    def contents(self, file: str | Path) -> list[Found]:
        """The classes, functions, methods and variables of a file, by line."""
        from reverie.code.code_queries import contents

        root, path = self._file(file)
        return contents(self.store.code, root, path)

    def structure(
        self, keywords: str, *, root: str | Path | None = None, limit: int = 10
    ) -> list[Matching]:
        """The files that keywords lead to by their paths and names, best first, with the symbols
        that are meant.
        """
        from reverie.code.code_queries import structure

        question(keywords, "keywords")
        return structure(self.store.code, self._root(root), keywords, whole(limit))

    def search_similar(
        self, text: str, *, root: str | Path | None = None, k: int = 10, mode: str = "auto"
    ) -> list[Alike]:
        """The code most like some code, or like a description in words, best first: path, lines,
        symbol, text as it is now, score, why.

        Each function, method and head of a class is one chunk; they get their vectors in `settle`,
        and words find them until then. `mode`: "auto" (words and meaning), "dense", or "words",
        which needs no model.
        """
        from reverie.code.similar_code import similar
        from reverie.retrieval.note_search import Asked

        question(text, "text")
        home = self._root(root)
        if not text.strip() or whole(k, "k") <= 0:
            return []
        meaning = {} if mode == "words" else self._meaning(text)
        return similar(
            self.store.code_chunks,
            Asked(text, (home,), k, mode, **meaning),
            clock.now(),
            self._policy,
        )

    def map(
        self, budget: int = 1_000, focus: Sequence[str] = (), *, root: str | Path | None = None
    ) -> Overview:
        """The most important functions and classes of a repository, within so many tokens.

        What is used most, and by what is itself used, comes first. `focus` names files (from the
        root) or symbols: then it is what they use, and what that uses.
        """
        from reverie.code.repository_map import overview

        if whole(budget, "budget") < 1:
            raise BadInput(f"budget={budget}: a map takes at least one token")
        return overview(
            self.store.code, self._root(root), [focus] if isinstance(focus, str) else focus, budget
        )

    def _root(self, path: str | Path | None) -> str:
        """The innermost indexed repository that a folder lies in."""
        from reverie.storage.code_index_port import root_of

        place = Path(os.path.realpath(config.here() if path is None else Path(path).expanduser()))
        return root_of(self.store.code, place)

    def _file(self, file: str | Path) -> tuple[str, str]:
        """The repository of a file and its path from there."""
        place = Path(os.path.realpath(Path(file).expanduser()))
        root = self._root(place)
        path = place.relative_to(root).as_posix()
        if path not in self.store.code.known(root):
            raise NotFound(
                f"{place} is not among the files that were indexed. Index it: reverie index {root}"
            )
        return root, path
