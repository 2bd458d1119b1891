"""Verbs about code: what a repository defines, who uses it, and what of it matters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core import clock, config
from reverie.core.errors import BadInput, NotFound
from reverie.runtime.mind.mind_base import MindBase
from reverie.text.argument_checks import check_question, check_whole_number

if TYPE_CHECKING:
    from reverie.code.code_indexing import CodeIndexReport
    from reverie.code.code_queries import FileDependency, FoundSymbol, MatchingFile, SymbolUse
    from reverie.code.repository_map import RepositoryMap
    from reverie.code.similar_code import SimilarChunk
    from reverie.notes.note_indexing import Progress


class CodeVerbs(MindBase):
    """The verbs about code. `root` is a folder in an indexed repository, by default the working
    directory.
    """

    def index_code(
        self, path: str | Path | None = None, progress: Progress | None = None
    ) -> CodeIndexReport:
        """Parse what is new or changed in a repository, and resolve its references. Needs the extra
        `code`.

        `path` is its folder; the repository that the working directory belongs to by default. What
        `.gitignore`, `.secretsignore` or `.reverieignore` name, vendored and generated files, and
        files of more than 2 MB are left out. The anchors of memories are compared with it: see
        `outdated`. Each function and class is a chunk that `search_similar` finds: by words at
        once, by meaning once `settle` has made its vector. `progress` is told (stage, bytes done,
        bytes in all). Raises BadInput for what is no folder.
        """
        from reverie.code.anchor_reader import (
            LEASE,
            anchor_existing_memories,
            check_repository_anchors,
        )
        from reverie.code.code_chunks import update_code_chunks
        from reverie.code.code_indexing import update_code_index
        from reverie.notes.note_vectors import PATIENCE, hold_index_lease
        from reverie.runtime.mind.file_access import ignore_index_progress

        folder = Path(path).expanduser() if path is not None else None
        root = os.path.realpath(folder or config.find_work_tree(config.working_directory()))
        if not Path(root).is_dir():
            raise BadInput(f"{path} is no folder. Give the folder of a repository")
        tell = progress or ignore_index_progress
        code, chunks, policy = self.store.code, self.store.code_chunks, self._policy
        if self.store.holder(LEASE, self._now()):
            tell("waiting for another process that indexes", 0, None)
        with hold_index_lease(self.store, self._now, PATIENCE, LEASE) as renew_lease:
            # Indexing can outlast the lease, so each report of progress renews it.
            def report(stage: str, done: int, total: int | None) -> None:
                renew_lease()
                tell(stage, done, total)

            # A new repository may be what older memories speak of already.
            is_new = root not in code.roots()
            indexed = update_code_index(code, root, clock.now, report, policy)
            update_code_chunks(code, chunks, root, clock.now, report, policy)
            if is_new:
                anchor_existing_memories(self.work, root)
            check_repository_anchors(self.work, root)
            return indexed

    def forget_code(self, path: str | Path) -> None:
        """Erase the index of a repository; its files and all memories stay as they are."""
        from reverie.code.past_task_vectors import forget_past_tasks

        root = self._root(path)
        self.store.code.forget(root)
        self.store.code_chunks.forget(root)
        forget_past_tasks(self.store.code_chunks, root)

    def code_is_whole(self, root: str | Path | None = None) -> bool:
        """True if indexing is complete. Else another process is at it, or one was interrupted, and
        answers are incomplete.
        """
        return self.store.code.resolved(self._root(root))

    def find_symbol(
        self, name: str, *, root: str | Path | None = None, limit: int = 50
    ) -> list[FoundSymbol]:
        """Definitions of a name, alone or qualified (`Console.print`); if there are none, of names
        that differ only in case.

        A path before it means those of one file: `pkg/util.py:helper`.
        """
        from reverie.code.code_queries import find_symbols

        check_question(name, "name")
        return find_symbols(self.store.code, self._root(root), name, check_whole_number(limit))

    def callers(
        self, name: str, *, root: str | Path | None = None, unsure: bool = True
    ) -> list[SymbolUse]:
        """Calls of a function, method or class, across files. `why` says how each is known.

        With `unsure`, calls follow that bear the name but could not be resolved (`sure` is False).
        Two definitions of one name are both meant, and `to` says which: qualify it, or put its file
        before it (`pkg/util.py:helper`).
        """
        from reverie.code.code_queries import find_callers

        check_question(name, "name")
        return find_callers(self.store.code, self._root(root), name, unsure=unsure)

    def callees(self, name: str, *, root: str | Path | None = None) -> list[SymbolUse]:
        """What a function or method of the repository calls in it; of a class, what
        its methods do.
        """
        from reverie.code.code_queries import find_callees

        check_question(name, "name")
        return find_callees(self.store.code, self._root(root), name)

    def dependencies(self, file: str | Path) -> list[FileDependency]:
        """What a file imports, line by line: from its repository (`to`), and from outside."""
        from reverie.code.code_queries import list_dependencies

        root, path = self._file(file)
        return list_dependencies(self.store.code, root, path)

    def contents(self, file: str | Path) -> list[FoundSymbol]:
        """The classes, functions, methods and variables of a file, by line."""
        from reverie.code.code_queries import list_file_contents

        root, path = self._file(file)
        return list_file_contents(self.store.code, root, path)

    def structure(
        self, keywords: str, *, root: str | Path | None = None, limit: int = 10
    ) -> list[MatchingFile]:
        """Files whose paths and names match keywords, best first, with the symbols that match."""
        from reverie.code.code_queries import find_matching_files

        check_question(keywords, "keywords")
        most = check_whole_number(limit)
        return find_matching_files(self.store.code, self._root(root), keywords, most)

    def search_similar(
        self, text: str, *, root: str | Path | None = None, k: int = 10, mode: str = "auto"
    ) -> list[SimilarChunk]:
        """The code most similar to some code, or to a description in words, best first: path,
        lines, symbol, text as it is now, score, why.

        Each function, method and head of a class is one chunk; they get their vectors in `settle`,
        and words find them until then. `mode`: "auto" (words and meaning), "dense", or "words",
        which needs no model.
        """
        from reverie.code.similar_code import search_similar_code
        from reverie.retrieval.note_search import NoteQuery

        check_question(text, "text")
        home = self._root(root)
        if not text.strip() or check_whole_number(k, "k") <= 0:
            return []
        meaning = {} if mode == "words" else self._embed_query(text)
        query = NoteQuery(text, (home,), k, mode, **meaning)
        return search_similar_code(self.store.code_chunks, query, clock.now(), self._policy)

    def map(
        self, budget: int = 1_000, focus: Sequence[str] = (), *, root: str | Path | None = None
    ) -> RepositoryMap:
        """The most important functions and classes of a repository, within so many tokens.

        What is used most, and by what is itself used, comes first. `focus` names files (from the
        root) or symbols: then it is what they use, and what that uses.
        """
        from reverie.code.repository_map import map_repository

        if check_whole_number(budget, "budget") < 1:
            raise BadInput(f"budget={budget}: a map takes at least one token")
        wanted = [focus] if isinstance(focus, str) else focus
        return map_repository(self.store.code, self._root(root), wanted, budget)

    def _root(self, path: str | Path | None) -> str:
        """The innermost indexed repository that a folder lies in."""
        from reverie.storage.indexed_code import find_indexed_root

        folder = config.working_directory() if path is None else Path(path).expanduser()
        return find_indexed_root(self.store.code, Path(os.path.realpath(folder)))

    def _file(self, file: str | Path) -> tuple[str, str]:
        """The repository of a file and its path from there."""
        place = Path(os.path.realpath(Path(file).expanduser()))
        root = self._root(place)
        path = place.relative_to(root).as_posix()
        if path not in self.store.code.indexed_files(root):
            raise NotFound(
                f"{place} is not among the files that were indexed. Index it: reverie index {root}"
            )
        return root, path
