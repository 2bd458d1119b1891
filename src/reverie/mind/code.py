"""Code: what a repository defines, who uses it, and what of it matters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie import clock, config
from reverie.errors import BadInput, NotFound
from reverie.lifecycle.asked import question, whole
from reverie.mind.base import Base

if TYPE_CHECKING:
    from reverie.code.ask import Dependency, Found, Matching, Use
    from reverie.code.index import Mapped
    from reverie.code.map import Overview
    from reverie.files.index import Progress

PATIENCE = 600.0         # seconds that one waits for another one who is at it


class Coding(Base):
    """The verbs about code. `root` is a folder in an indexed repository: the working directory, unless told."""

    def index_code(self, path: str | Path | None = None, progress: Progress | None = None) -> Mapped:
        """Parse what is new or changed in a repository, and resolve who uses what. Needs the extra `code`.

        `path` is its folder; the repository that the working directory belongs to by default. What `.gitignore`,
        `.secretsignore` or `.reverieignore` name, vendored and generated files, and files of more than 2 MB are left
        out. What memories say of its code is held against it: see `outdated`.
        `progress` is told (stage, bytes done, bytes in all). Raises BadInput for what is no folder.
        """
        from reverie.code.index import mapped
        from reverie.mind.files import quiet
        from reverie.settle.anchoring import LEASE, LEASE_SECONDS, first_look, looked_at
        root = os.path.realpath(config.work_tree(config.here()) if path is None else Path(path).expanduser())
        if not Path(root).is_dir():
            raise BadInput(f"{path} is no folder. Give the folder of a repository")
        holder = clock.new_id("code")
        told = progress or quiet

        def working(stage: str, done: int, total: int | None) -> None:
            self.store.acquire(LEASE, holder, LEASE_SECONDS, self._now())
            told(stage, done, total)

        self._wait_for(LEASE, holder, LEASE_SECONDS, PATIENCE)
        try:
            new = root not in self.store.code.roots()
            done = mapped(self.store.code, root, clock.now, working)
            if new:
                first_look(self.work, root)
            looked_at(self.work, root)
            return done
        finally:
            self.store.release(LEASE, holder)

    def forget_code(self, path: str | Path) -> None:
        """Erase what was indexed of a repository; its files stay as they are."""
        self.store.code.forget(self._root(path))

    def find_symbol(self, name: str, *, root: str | Path | None = None, limit: int = 50) -> list[Found]:
        """Where a name is defined, alone or qualified (`Console.print`); else names that differ only in case."""
        from reverie.code.ask import symbols
        question(name, "name")
        return symbols(self.store.code, self._root(root), name, whole(limit))

    def callers(self, name: str, *, root: str | Path | None = None, unsure: bool = True) -> list[Use]:
        """Where a function, method or class is called, across files. `why` says how each is known.

        With `unsure`, calls follow that bear the name but could not be resolved (`sure` is False). Two definitions of
        one name are both meant: qualify it to mean one.
        """
        from reverie.code.ask import callers
        question(name, "name")
        return callers(self.store.code, self._root(root), name, unsure=unsure)

    def callees(self, name: str, *, root: str | Path | None = None) -> list[Use]:
        """What a function or method of the repository calls in it; of a class, what its methods do."""
        from reverie.code.ask import callees
        question(name, "name")
        return callees(self.store.code, self._root(root), name)

    def dependencies(self, file: str | Path) -> list[Dependency]:
        """What a file imports, line by line: from its repository (`to`), and from outside."""
        from reverie.code.ask import dependencies
        root, path = self._file(file)
        return dependencies(self.store.code, root, path)

    def contents(self, file: str | Path) -> list[Found]:
        """The classes, functions, methods and variables of a file, by line."""
        from reverie.code.ask import contents
        root, path = self._file(file)
        return contents(self.store.code, root, path)

    def structure(self, keywords: str, *, root: str | Path | None = None, limit: int = 10) -> list[Matching]:
        """The files that keywords lead to by their paths and names, best first, with the symbols that are meant."""
        from reverie.code.ask import structure
        question(keywords, "keywords")
        return structure(self.store.code, self._root(root), keywords, whole(limit))

    def map(self, budget: int = 1_000, focus: Sequence[str] = (), *, root: str | Path | None = None) -> Overview:
        """The most important functions and classes of a repository, within so many tokens.

        What is used most, and by what is itself used, comes first. `focus` names files (from the root) or symbols:
        then it is what they use, and what that uses.
        """
        from reverie.code.map import overview
        if whole(budget, "budget") < 1:
            raise BadInput(f"budget={budget}: a map takes at least one token")
        return overview(self.store.code, self._root(root), [focus] if isinstance(focus, str) else focus, budget)

    def _root(self, path: str | Path | None) -> str:
        """The innermost indexed repository that a folder lies in."""
        place = Path(os.path.realpath(config.here() if path is None else Path(path).expanduser()))
        known = [root for root in self.store.code.roots() if place.is_relative_to(root)]
        if not known:
            raise NotFound(f"{place} is in no repository that was indexed. Index it: reverie index PATH")
        return max(known, key=len)

    def _file(self, file: str | Path) -> tuple[str, str]:
        """The repository of a file and its path from there."""
        place = Path(os.path.realpath(Path(file).expanduser()))
        root = self._root(place)
        path = place.relative_to(root).as_posix()
        if path not in self.store.code.known(root):
            raise NotFound(f"{place} is not among the files that were indexed. Index it: reverie index {root}")
        return root, path
