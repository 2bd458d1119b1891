"""Code: what a repository defines, who uses it, what of it matters, which memories speak of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.activity import TOOL
from reverie.core import clock, config
from reverie.core.code_anchors import ANCHORS, OUTDATED, CodeAnchor, anchors_of, outdated_notice
from reverie.core.errors import BadInput, NotFound
from reverie.core.model import Filter, Memory
from reverie.runtime.mind.mind_context import VerbGroup, check_limit, run_exclusively
from reverie.text.argument_checks import check_question, check_texts, check_whole_number

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import RepositoryViews
    from reverie.code.code_indexing import CodeIndexReport
    from reverie.code.code_queries import FileDependency, FoundSymbol, MatchingFile, SymbolUse
    from reverie.code.remembered_files import AnchoredMemory, RememberedFile
    from reverie.code.repository_map import RepositoryMap
    from reverie.code.similar_code import SimilarChunk
    from reverie.notes.note_indexing import Progress

# Newest memories with a marked anchor that are looked at.
MAX_OUTDATED_SCAN = 10_000
# Newest runs of tools that are looked through for errors that name a file.
MAX_RECENT_RUNS = 1_000


class CodeVerbs(VerbGroup):
    """`mind.code`: repositories and code anchors.

    `root` is a folder in an indexed repository, by default the working directory.
    """

    def index(
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
            raise BadInput(f"{path} is not a folder. Give the folder of a repository")
        tell = progress or ignore_index_progress
        code, chunks, policy = self._store.code, self._store.code_chunks, self._policy
        # Said before waiting, or the command seems to hang.
        if self._store.holder(LEASE, self._now()):
            tell("waiting for another process that indexes", 0, None)
        with hold_index_lease(self._store, self._now, PATIENCE, LEASE) as renew_lease:
            # Indexing can outlast the lease, so each report of progress renews it.
            def report(stage: str, done: int, total: int | None) -> None:
                renew_lease()
                tell(stage, done, total)

            # A new repository may be what older memories speak of already.
            is_new = root not in code.roots()
            indexed = update_code_index(code, root, clock.now, report, policy)
            update_code_chunks(code, chunks, root, clock.now, report, policy)
            if is_new:
                anchor_existing_memories(self._work, root)
            check_repository_anchors(self._work, root)
            return indexed

    def forget(self, path: str | Path) -> None:
        """Erase the index of a repository; its files and all memories stay as they are."""
        from reverie.code.past_task_vectors import forget_past_tasks

        root = self.root_of(path)
        self._store.code.forget(root)
        self._store.code_chunks.forget(root)
        forget_past_tasks(self._store.code_chunks, root)

    def is_whole(self, root: str | Path | None = None) -> bool:
        """True if indexing is complete. Else another process is at it, or one was interrupted, and
        answers are incomplete.
        """
        return self._store.code.resolved(self.root_of(root))

    def find_symbol(
        self,
        name: str,
        *,
        root: str | Path | None = None,
        limit: int = 50,
    ) -> list[FoundSymbol]:
        """Definitions of a name, alone or qualified (`Console.print`); if there are none, of names
        that differ only in case.

        A path before it means those of one file: `pkg/util.py:helper`.
        """
        from reverie.code.code_queries import find_symbols

        check_question(name, "name")
        return find_symbols(
            self._store.code,
            self.root_of(root),
            name,
            check_whole_number(limit),
        )

    def callers(
        self,
        name: str,
        *,
        root: str | Path | None = None,
        unsure: bool = True,
    ) -> list[SymbolUse]:
        """Calls of a function, method or class, across files. `why` says how each is known.

        With `unsure`, calls follow that bear the name but could not be resolved (`sure` is False).
        Two definitions of one name are both meant, and `to` says which: qualify it, or put its file
        before it (`pkg/util.py:helper`).
        """
        from reverie.code.code_queries import find_callers

        check_question(name, "name")
        return find_callers(self._store.code, self.root_of(root), name, unsure=unsure)

    def callees(
        self,
        name: str,
        *,
        root: str | Path | None = None,
    ) -> list[SymbolUse]:
        """What a function or method of the repository calls in it; of a class, what
        its methods do.
        """
        from reverie.code.code_queries import find_callees

        check_question(name, "name")
        return find_callees(self._store.code, self.root_of(root), name)

    def dependencies(self, file: str | Path) -> list[FileDependency]:
        """What a file imports, line by line: from its repository (`to`), and from outside."""
        from reverie.code.code_queries import list_dependencies

        root, path = self._file(file)
        return list_dependencies(self._store.code, root, path)

    def contents(self, file: str | Path) -> list[FoundSymbol]:
        """The classes, functions, methods and variables of a file, by line."""
        from reverie.code.code_queries import list_file_contents

        root, path = self._file(file)
        return list_file_contents(self._store.code, root, path)

    def structure(
        self,
        keywords: str,
        *,
        root: str | Path | None = None,
        limit: int = 10,
    ) -> list[MatchingFile]:
        """Files whose paths and names match keywords, best first, with the symbols that match."""
        from reverie.code.code_queries import find_matching_files

        check_question(keywords, "keywords")
        most = check_whole_number(limit)
        return find_matching_files(self._store.code, self.root_of(root), keywords, most)

    def search_similar(
        self,
        text: str,
        *,
        root: str | Path | None = None,
        k: int = 10,
        mode: str = "auto",
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
        home = self.root_of(root)
        if not text.strip() or check_whole_number(k, "k") <= 0:
            return []
        # "words" needs no model, so none is loaded for it.
        meaning = {} if mode == "words" else self._embed_query(text)
        query = NoteQuery(text, (home,), k, mode, **meaning)
        return search_similar_code(self._store.code_chunks, query, clock.now(), self._policy)

    def map(
        self,
        budget: int = 1_000,
        focus: Sequence[str] = (),
        *,
        root: str | Path | None = None,
    ) -> RepositoryMap:
        """The most important functions and classes of a repository, within so many tokens.

        What is used most, and by what is itself used, comes first. `focus` names files (from the
        root) or symbols: then it is what they use, and what that uses.
        """
        from reverie.code.repository_map import map_repository

        if check_whole_number(budget, "budget") < 1:
            raise BadInput(f"budget={budget}: a map takes at least one token")
        # One name is a sequence of letters otherwise.
        wanted = [focus] if isinstance(focus, str) else focus
        return map_repository(self._store.code, self.root_of(root), wanted, budget)

    def anchors(self, id: str) -> list[AnchorView]:
        """The files and symbols that a memory speaks of, as they were then and as they are now."""
        views: RepositoryViews = {}
        return [self._view_anchor(anchor, views) for anchor in anchors_of(self._get_memory(id))]

    @run_exclusively
    def anchor(
        self,
        id: str,
        about: Iterable[str] = (),
        *,
        off: Iterable[str] = (),
    ) -> Memory:
        """Say which code a memory is about: "path" or "path:Class.method", from the working
        directory or whole.

        Files and symbols of an indexed repository, as they are now. They are followed when they
        move or are renamed; when they change or go, the memory says so wherever it is shown, and
        ranks lower. `off` takes some away, as `anchors` names them. What a text names itself gets
        anchors in `settle`, without this.
        """
        from reverie.code.anchor_reader import anchor_places, replace_anchors

        memory = self._get_memory(id)
        now = self._now()
        places = check_texts(about, "about")
        removed = check_texts(off, "off")
        new = anchor_places(self._work, places)
        old = anchors_of(memory)
        # An anchor that is set again replaces the one that was there.
        replaced = {*removed, *(anchor.location for anchor in new)}
        if unknown := replaced - {anchor.location for anchor in (*old, *new)}:
            raise BadInput(
                f"{id} is not about {', '.join(sorted(unknown))}. "
                f"`reverie code anchors {id}` tells what it is"
            )
        kept = [anchor for anchor in old if anchor.location not in replaced]
        changes = replace_anchors(memory, [*kept, *new], now)
        if changes:
            return self._change(memory, changes, "anchor", now)
        return memory

    @run_exclusively
    def confirm(
        self,
        id: str,
        *,
        by: str = "user",
        note: str = "",
    ) -> Memory:
        """Confirm that a memory is still true: its anchors are set to the code as it is now, and it
        is no longer shown as outdated.

        An anchor whose code is gone is removed. `by` says who, `note` why.
        """
        from reverie.code.anchor_reader import confirm_anchors, replace_anchors

        memory = self._get_memory(id)
        now = self._now()
        changes = replace_anchors(memory, confirm_anchors(self._work, anchors_of(memory)), now)
        if not changes:
            return memory
        confirmed, said = self._redact(by), self._redact(note)
        return self._change(
            memory,
            changes,
            "anchor",
            now,
            confirmed=confirmed,
            note=said,
        )

    def outdated(
        self,
        *,
        space: str | None = None,
        limit: int = 20,
    ) -> list[Memory]:
        """Memories in a space and above it that speak of code that has changed or gone since,
        newest first.

        `reverie.core.code_anchors.outdated_notice(memory)` says what, in words; it stands in `why`
        of a hit as well. `index`, sleep, and settling in the background compare anchors with
        the code.
        """
        most = check_limit(limit)
        if not most:
            return []
        spaces = self._visible_from(space)
        marked = Filter(
            spaces=spaces,
            having=OUTDATED,
            limit=MAX_OUTDATED_SCAN,
        )
        return [memory for memory in self._store.browse(marked) if outdated_notice(memory)][:most]

    def remembered(
        self, *, space: str | None = None, limit: int = 50, skip: int = 0
    ) -> list[RememberedFile]:
        """The files that memories of a space and above it speak of, with how many do, how many of
        them of code that has changed since, and how many recent runs failed there. Those with
        trouble come first; `skip` leaves so many out.
        """
        from reverie.code.remembered_files import rank_remembered_files

        most, passed = check_limit(limit), max(0, check_whole_number(skip, "skip"))
        runs = self._store.search_events(
            (TOOL,), space=self._resolve_space(space), limit=MAX_RECENT_RUNS
        )
        # Of thousands of memories no more is read than their anchors.
        written = self._store.read_details(self._anchored_from(space))
        return rank_remembered_files(written, runs)[passed : passed + most]

    def about(self, root: str, path: str, *, space: str | None = None) -> list[AnchoredMemory]:
        """The memories of a space and above it that speak of a file of a repository, each with its
        anchors there; those whose code has changed first.
        """
        from reverie.code.remembered_files import select_anchored

        naming = self._anchored_from(space)._replace(naming=path)
        return select_anchored(self._store.browse(naming), root, path)

    def _anchored_from(self, space: str | None) -> Filter:
        """The newest memories with anchors that can be seen from a space."""
        return Filter(spaces=self._visible_from(space), having=ANCHORS, limit=MAX_OUTDATED_SCAN)

    def root_of(self, path: str | Path | None) -> str:
        """The innermost indexed repository that a folder lies in."""
        from reverie.storage.indexed_code import find_indexed_root

        folder = config.working_directory() if path is None else Path(path).expanduser()
        return find_indexed_root(self._store.code, Path(os.path.realpath(folder)))

    def _file(self, file: str | Path) -> tuple[str, str]:
        """The repository of a file and its path from there."""
        # The index has real paths: a link into a repository names the same file.
        place = Path(os.path.realpath(Path(file).expanduser()))
        root = self.root_of(place)
        path = place.relative_to(root).as_posix()
        if path not in self._store.code.indexed_files(root):
            raise NotFound(
                f"{place} is not among the files that were indexed. "
                f"Index it: reverie code index {root}"
            )
        return root, path

    def _view_anchor(self, anchor: CodeAnchor, views: RepositoryViews) -> AnchorView:
        from reverie.code.anchor_tracking import observe_anchor, view_repository

        # The repository may have been moved or deleted; then only what was is known.
        present = None
        if Path(anchor.root).is_dir():
            view = view_repository(
                self._store.code,
                anchor.root,
                self._now(),
                views,
                self._policy,
            )
            present = observe_anchor(view, anchor.path, anchor.symbol)
        return AnchorView(
            anchor.path,
            anchor.symbol,
            anchor.state,
            anchor.notice,
            anchor.was,
            anchor.at,
            anchor.body,
            present.body if present else "",
        )


class AnchorView(NamedTuple):
    """One file or symbol that a memory speaks of, then and now."""

    path: str
    symbol: str  # empty: the file as a whole
    state: str  # "changed", "gone"; empty: unchanged
    words: str  # the state in words for people; empty: unchanged
    was: str  # where it stood when the memory was made, if it has moved since
    at: float  # when it looked as the memory says
    then: str  # its text at that time, redacted and cut; empty for a file
    now: str  # its text now
