"""Verbs about files: folders whose texts can be searched, and notes written into them.

Always true: only files in folders that somebody added, and pages of the mirror, are read or
written; a file is written as a whole or not at all, and what it was before is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from errno import EACCES, ENAMETOOLONG, EPERM, EROFS
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core import clock
from reverie.core.atomic_file import write_atomically
from reverie.core.authorship import apply_curate_setting
from reverie.core.errors import BadInput, Conflict, NotFound, StoreBusy
from reverie.core.model import Add, Event, Memory
from reverie.memory.memory_validation import build_memory, validate_text
from reverie.runtime.mind.data_verbs import DataVerbs
from reverie.runtime.mind.file_access import (
    compare_with_file,
    find_file,
    ignore_index_progress,
    list_page_questions,
    refuse_secret_path,
)
from reverie.runtime.mind.mind_context import MindContext, VerbGroup
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.text.argument_checks import check_question, check_whole_number

if TYPE_CHECKING:
    from reverie.notes.file_versions import FileVersion
    from reverie.notes.note_indexing import IndexReport, Progress
    from reverie.notes.note_results import FileExcerpt, SavedNote, SearchedFolder, WrittenFile
    from reverie.notes.watched_roots import WatchedRoot
    from reverie.retrieval.note_search import Passage

# Errors by which a system says that a file may not be written.
WRITE_DENIED = (EACCES, EPERM, EROFS, ENAMETOOLONG)
# Characters of a written text that its memory holds; the file has the rest.
MAX_NOTE_CHARS = 4_000


class FileVerbs(VerbGroup):
    """`mind.files`: folders that can be searched, and notes written into them."""

    def __init__(
        self,
        context: MindContext,
        keeping: RememberVerbs,
        data: DataVerbs,
    ) -> None:
        super().__init__(context)
        self._keeping = keeping
        self._data = data

    def add_folder(
        self,
        path: str | Path,
        *,
        space: str | None = None,
    ) -> SearchedFolder:
        """Let those who may see a space search the texts of a folder; `sync` indexes them.

        Markdown, plain text, reStructuredText and the like count; what is hidden, larger than 2 MB,
        or named by `.gitignore`, `.secretsignore` or `.reverieignore` does not. Raises BadInput for
        what is no folder, and for what holds Reverie's home or lies in it.
        """
        from reverie.notes import watched_roots

        home = self._writable_space(space)
        real = os.path.realpath(Path(path).expanduser())
        if not Path(real).is_dir():
            is_file = Path(real).exists()
            raise BadInput(f"{path} is not a folder" if is_file else f"There is no folder {path}")
        refuse_secret_path(real, "folder", self._policy)
        # Reverie's own files would be found as notes, and each sync would change them.
        own = self._settings.home.resolve()
        if own.is_relative_to(real) or Path(real).is_relative_to(own):
            raise BadInput(
                f"{real} holds Reverie's own files. Choose a folder of notes beside {own}"
            )
        root = watched_roots.WatchedRoot(real, home)
        if root not in self._roots(home):
            self._store.append([watched_roots.build_watch_event(root, True, self._now())])
        return self._folder(root)

    def remove_folder(
        self,
        path: str | Path,
        *,
        space: str | None = None,
    ) -> SearchedFolder:
        """Stop searching a folder: what was indexed of it is erased, its files stay as they are.

        Raises NotFound if the space does not have it; a folder that is searched from a space above
        is removed there.
        """
        from reverie.notes import watched_roots

        home = self._writable_space(space)
        wanted = watched_roots.WatchedRoot(
            os.path.realpath(Path(path).expanduser()),
            home,
        )
        if wanted not in self._roots(home):
            raise NotFound(
                f"{wanted.path} is not among the folders of {home}. `reverie files list` shows them"
            )
        self._store.append([watched_roots.build_watch_event(wanted, False, self._now())])
        watch_events = watched_roots.list_watch_events(self._store)
        # Another space may search the same folder, and the index is shared.
        if not any(event.payload.get("path") == wanted.path for event in watch_events):
            self._store.files.forget(wanted.path)
        return self._folder(wanted)

    def folders(self, *, space: str | None = None) -> list[SearchedFolder]:
        """The folders that can be searched from a space, in the order they were added, then
        mirrors.
        """
        return [self._folder(root) for root in self._roots(self._resolve_space(space))]

    def sync(
        self,
        *,
        space: str | None = None,
        within: float | None = None,
        afresh: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index what is new or changed in the folders of a space and drop what is gone; words are
        found at once.

        A change is seen by size, time and inode, then by the bytes; chunks whose text stays
        keep their vector, new ones get theirs in `settle`. `within` so many seconds: the next sync
        goes on there. `afresh` throws the whole index away first, that of other spaces too.
        `progress` is told (stage, bytes done, bytes in all). Waits for another
        process that indexes.
        """
        from reverie.notes.note_indexing import IndexReport, sync_root
        from reverie.notes.note_vectors import PATIENCE, hold_index_lease

        roots = self._roots(self._writable_space(space))
        # Waiting for another process counts as well, so the time begins here.
        end = None if within is None else clock.ticks() + within
        patience = PATIENCE if within is None else within
        done = IndexReport()
        with hold_index_lease(self._store, self._now, patience) as renew_lease:

            def may_continue() -> bool:
                return (end is None or clock.ticks() < end) and renew_lease()

            if afresh:
                self._store.files.clear()
            # Two spaces may have added the same folder: it is indexed once.
            for root in {root.path: root for root in roots}.values():
                done = done.plus(
                    sync_root(
                        self._store.files,
                        root,
                        clock.now,
                        progress or ignore_index_progress,
                        may_continue,
                        self._policy,
                    )
                )
        return done

    def search(
        self,
        query: str,
        *,
        space: str | None = None,
        limit: int = 10,
        mode: str = "auto",
    ) -> list[Passage]:
        """The best passages of files for a question, best first: path, lines, text, score, why.

        `mode`: "auto" (words and meaning), "dense" or "words", which needs no model. What has
        changed since it was indexed says so in `why`; files that are gone are left out.
        """
        from reverie.retrieval.note_search import NoteQuery, search_notes

        check_question(query, "query")
        home = self._resolve_space(space)
        paths = tuple(dict.fromkeys(root.path for root in self._roots(home)))
        if not query.strip() or check_whole_number(limit) <= 0:
            return []
        if not paths or self._settings.is_off(home):
            return []
        meaning = {} if mode == "words" else self._embed_query(query)
        passages = search_notes(
            self._store.files,
            NoteQuery(query, paths, limit, mode, **meaning),
        )
        compared = [compare_with_file(passage) for passage in passages]
        return [passage for passage in compared if passage is not None]

    def read(
        self,
        path: str | Path,
        *,
        start: int = 1,
        lines: int | None = None,
        space: str | None = None,
    ) -> FileExcerpt:
        """Lines of a file in a folder of the space, redacted: from line `start`, all of them
        without `lines`.

        `path` is absolute, or from one of the folders. Raises BadInput for whatever lies outside
        them, is reached through a symbolic link, or is ignored; NotFound where there is no such
        file.
        """
        from reverie.notes.folder_walk import read_text_file
        from reverie.notes.note_results import FileExcerpt
        from reverie.notes.text_chunks import split_lines
        from reverie.privacy import redact

        is_bad_count = lines is not None and check_whole_number(lines, "lines") < 0
        if check_whole_number(start, "start") < 1 or is_bad_count:
            raise BadInput(f"start={start}, lines={lines}: lines are counted from 1")
        _, place = self._find_file(path, space)
        try:
            content = read_text_file(place, clock.now(), self._policy)
        except FileNotFoundError as err:
            raise NotFound(f"There is no file {place}") from err
        except OSError as err:
            raise BadInput(
                f"{place} cannot be read: {err.strerror or err}. Check who may read it"
            ) from err
        all_lines = []
        if content.text:
            all_lines = split_lines(redact(content.text, self._policy, keep_lines=True)[0])
        shown = all_lines[start - 1 : None if lines is None else start - 1 + lines]
        last = start + len(shown) - 1
        return FileExcerpt(
            str(place),
            start,
            last,
            len(all_lines),
            "\n".join(shown),
        )

    def save_note(self, text: str, *, space: str | None = None, **more: Any) -> SavedNote:
        """Keep what happened as an episode, and as an entry in today's log,
        `memory/YYYY-MM-DD.md` (UTC).

        Further names are those of `remember`; the kind is "event" unless told otherwise. The memory
        is kept even if the log cannot be written just now (it is somebody's own file, waits for an
        answer, is write-protected, or there is no mirror); the answer says why.
        """
        from reverie.notes.watched_roots import to_mirror_root

        home = self._writable_space(space)
        memory = self._keeping.remember(
            text,
            space=home,
            **{"kind": "event", **more},
        )
        note = self._sync_note(memory)
        # So that the new entry is found at once, not only after the next sync.
        if folder := self._mirror_of(home):
            self._index(to_mirror_root(folder, home))
        return note

    def update(
        self,
        path: str | Path,
        text: str,
        mode: str = "append",
        *,
        space: str | None = None,
        **more: Any,
    ) -> WrittenFile:
        """Append to a file of a folder, or replace it; what was written is remembered.

        Every bullet and paragraph is a fact, without its marks, unless there are very
        many; what the file no longer says does not count any longer. What the file was is kept
        (`history`, `restore`). Secrets are taken out of the text. The file is written as a
        whole or not at all, and found by its new words at once. Further names are those of
        `remember`. Raises Conflict if somebody else wrote it in between.

        On a page of the mirror every bullet and paragraph is a memory of its own, of the kind that
        its heading says; what is replaced is forgotten, or revised where its id stands in the new
        text. `undo(version)` undoes it.
        """
        from reverie.notes.file_versions import check_update_mode, compose_file_update

        validate_text(text)
        check_update_mode(mode)
        root, place = self._find_file(path, space)
        # The memory goes where the folder belongs, which may be a space above the caller's.
        home = self._writable_space(root.space)
        if root.own:
            return self._update_page(root, place, text, mode, more)
        memories = self._build_written(text, place, {"space": home, **more})

        def compose(old: bytes | None) -> bytes:
            return compose_file_update(old, text, mode, self._policy)

        return self._write(root, place, compose, mode, memories)

    def _build_written(
        self, text: str, place: Path, fields: Mapping[str, Any]
    ) -> tuple[Memory, ...]:
        """The memories of a text that is written to a file: one for each thing that it says."""
        from reverie.mirror.written_facts import split_statements

        memories = []
        for statement in split_statements(text, place):
            remembered = statement.text
            if len(remembered) > MAX_NOTE_CHARS:
                remembered = f"{remembered[:MAX_NOTE_CHARS]}\n… (the rest stands in {place.name})"
            built = build_memory(
                clock.new_id(),
                self._now(),
                remembered,
                **{"files": [str(place)], "title": statement.title, **fields},
                policy=self._policy,
            )
            memories.append(apply_curate_setting(built, self._settings.curate))
        return tuple(memories)

    def history(
        self,
        path: str | Path,
        *,
        space: str | None = None,
    ) -> list[FileVersion]:
        """The versions of a file before each time that Reverie wrote to it, the latest first."""
        from reverie.notes import file_versions

        _, place = self._find_file(path, space)
        events = self._store.events(
            verbs=(file_versions.VERB,),
            newest=True,
            limit=file_versions.MAX_EVENTS,
        )
        return file_versions.list_versions(events, str(place))

    def restore(
        self,
        path: str | Path,
        version: int | None = None,
        *,
        space: str | None = None,
    ) -> WrittenFile:
        """Restore a file as it was before an update: the last one, or the one of this number in
        `history`.

        What it is now is kept as a version too. A file that was not there before is emptied, not
        deleted.
        """
        from reverie.notes import file_versions

        history = self.history(path, space=space)
        matching = [known for known in history if version in (None, known.number)]
        if not matching:
            number = "" if version is None else f"{version} "
            raise NotFound(f"There is no version {number}of {path}")
        # A file that was not there before is emptied, not deleted.
        hash = matching[0].hash
        data = b""
        if hash != file_versions.NO_FILE:
            data = file_versions.read_version(self._settings.home, hash)
        root, place = self._find_file(path, space)
        if root.own:
            return self._update_page(root, place, file_versions.decode_utf8(data), "restore", {})
        return self._write(root, place, lambda _: data, "restore", ())

    def _update_page(
        self,
        root: WatchedRoot,
        place: Path,
        text: str,
        mode: str,
        more: Mapping[str, Any],
    ) -> WrittenFile:
        """Write to a page of the mirror, after taking in what people did there, and sync it."""
        from reverie.mirror.mirror_folder import MirrorFolder
        from reverie.mirror.mirror_sync import find_mirror_root
        from reverie.mirror.tool_page_edits import PageUpdate, update_page
        from reverie.notes.note_results import WrittenFile

        mirror_root = find_mirror_root(self._settings, self._store)
        if mirror_root is None:
            raise BadInput(
                "The Markdown mirror is switched off, and that is a page of it. "
                "Set mirror in config.toml"
            )
        name = place.relative_to(root.path).as_posix()
        home = self._writable_space(root.space)
        # First what people wrote there: an update must not undo it.
        why = self._sync_page(home, name)
        if why and mode != "append":
            raise BadInput(f"{place} is not in step: {why}. Nothing was changed")
        update = PageUpdate(name, text, mode, {"provenance": "observed", **more})
        done = update_page(self._work, MirrorFolder(mirror_root, home), update, self._now)
        why = self._sync_page(home, name)
        self._index(root, place)
        return WrittenFile(
            str(place),
            next(iter(done.memories), None),
            done.version,
            done.memories,
            done.revised,
            done.forgotten,
            why,
        )

    def _sync_page(self, space: str, page: str) -> str:
        """Sync the mirror of a space; returns why a page of it is not in step, "" if it is."""
        reports = self._data.mirror(space)
        troubles = [trouble for report in reports for trouble in report.troubles]
        reasons = list_page_questions(reports, page)
        reasons += [trouble for trouble in troubles if page in trouble]
        return reasons[0] if reasons else ""

    def _sync_note(self, memory: Memory) -> SavedNote:
        """Sync the mirror, and look whether its page holds a memory now; if not, say why."""
        from reverie.mirror.file_exchange import read_bytes_if_present
        from reverie.mirror.page_placement import place_memory
        from reverie.notes.note_results import SavedNote

        folder = self._mirror_of(memory.space)
        place = place_memory(memory)
        if place is None:
            return SavedNote(memory, None, "no page tells of its kind")
        if folder is None:
            return SavedNote(memory, None, "the Markdown mirror is switched off")
        path = folder / place.page
        try:
            reports = self._data.mirror(memory.space)
            # The page itself is asked: syncing may have left it alone for several reasons.
            if memory.id.encode() in (read_bytes_if_present(path) or b""):
                return SavedNote(memory, str(path))
        except (StoreBusy, OSError) as err:
            return SavedNote(memory, None, str(err))
        troubles = [trouble for report in reports for trouble in report.troubles]
        # The likeliest reason first: a question about this page, trouble with it, any trouble.
        reasons = list_page_questions(reports, place.page)
        reasons += [trouble for trouble in troubles if place.page in trouble]
        reasons += [*troubles, "somebody is writing it just now"]
        return SavedNote(memory, None, reasons[0])

    def _roots(self, space: str) -> list[WatchedRoot]:
        from reverie.notes.watched_roots import list_roots

        return list_roots(self._store, self._visible_spaces(space), self._mirror_of)

    def _mirror_of(self, space: str) -> Path | None:
        """The folder of a space's Markdown mirror; None where there is none."""
        from reverie.mirror.mirror_folder import MirrorFolder
        from reverie.mirror.mirror_sync import find_mirror_root

        root = find_mirror_root(self._settings, self._store)
        return MirrorFolder(root, space).path if root else None

    def _folder(self, root: WatchedRoot) -> SearchedFolder:
        from reverie.notes.note_results import SearchedFolder
        from reverie.pipeline.pending_vectors import embedding_model_of

        count = self._store.files.count(
            [root.path],
            embedding_model_of(self._context.embedder),
        )
        return SearchedFolder(*root, root.is_reachable, count)

    def _find_file(
        self,
        path: str | Path,
        space: str | None,
    ) -> tuple[WatchedRoot, Path]:
        """The root that a path lies in, and the place of the file."""
        return find_file(self._roots(self._resolve_space(space)), path, self._policy)

    def _write(
        self,
        root: WatchedRoot,
        place: Path,
        change: Callable[[bytes | None], bytes],
        why: str,
        memories: tuple[Memory, ...],
    ) -> WrittenFile:
        """Write a file, its version before and its memories: all of these, or only the version."""
        from reverie.notes.note_results import WrittenFile

        refuse_secret_path(str(place), "file", self._policy)
        # Replacing a file needs only its folder's permission, but the mode says: leave it.
        if place.exists() and not os.access(place, os.W_OK):
            raise BadInput(f"{place} is write-protected: nothing was changed")
        try:
            seq = self._write_version(root, place, change, why, memories)
        except OSError as err:
            if err.errno not in WRITE_DENIED:
                raise
            raise BadInput(
                f"{place} cannot be written: {err.strerror}. Nothing was changed. "
                "Check who may write to it and to its folder"
            ) from err
        self._index(root, place)
        return WrittenFile(str(place), next(iter(memories), None), seq, memories)

    def _write_version(
        self,
        root: WatchedRoot,
        place: Path,
        change: Callable[[bytes | None], bytes],
        why: str,
        memories: tuple[Memory, ...],
    ) -> int:
        """Write the file in one transaction with its event; returns the number of that."""
        from reverie.mirror.written_facts import REMEMBERED, follow_file
        from reverie.notes import file_versions

        with self._store.transaction():
            old = file_versions.read_if_present(place)
            new = change(old)
            before = file_versions.NO_FILE
            if old is not None:
                before = file_versions.keep_version(self._settings.home, old)
            payload = {
                "path": str(place),
                "mode": why,
                "before": before,
                "size": len(old or b""),
                REMEMBERED: [memory.id for memory in memories],
            }
            followed = follow_file(self._store, place, new.decode(errors="replace"), self._now())
            event = Event(file_versions.VERB, root.space, self._now(), payload=payload)
            seq = self._store.apply(
                [*followed, *(Add(memory) for memory in memories)],
                event,
            )
            # Somebody may have written it since it was read. The check stands last before the
            # write, and raising rolls the memory and the event back.
            if file_versions.read_if_present(place) != old:
                raise Conflict(
                    f"{place} was changed by somebody else just now. Look at it again, then repeat"
                )
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, new, new_mode=0o644)
        return seq

    def _index(self, root: WatchedRoot, place: Path | None = None) -> None:
        """Index what was just written: one file, or without a place the whole root.

        With the real time, not that of the mind: file stamps are compared with it.
        """
        from reverie.notes.note_indexing import reindex_file, sync_root

        files, policy = self._store.files, self._policy
        if place is None:
            sync_root(files, root, clock.now, ignore_index_progress, lambda: True, policy)
        else:
            name = place.relative_to(root.path).as_posix()
            reindex_file(files, root, name, clock.now, policy)
