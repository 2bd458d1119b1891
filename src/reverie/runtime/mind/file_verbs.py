"""Files: folders whose texts memory can search, and notes that it writes into them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from errno import EACCES, ENAMETOOLONG, EPERM, EROFS
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core import clock
from reverie.core.atomic_file import write_atomically
from reverie.core.authorship import apply_curate_setting
from reverie.core.errors import BadInput, Conflict, NotFound, StoreBusy
from reverie.core.model import Add, Event, Memory, visible_spaces
from reverie.memory.memory_validation import build_memory, validate_text
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.runtime.mind.session_verbs import SessionVerbs
from reverie.text.argument_checks import check_question, check_whole_number

if TYPE_CHECKING:
    from reverie.mirror.space_sync import MirrorReport
    from reverie.notes.file_versions import FileVersion
    from reverie.notes.note_indexing import IndexReport, Progress
    from reverie.notes.note_results import FileExcerpt, SavedNote, SearchedFolder, WrittenFile
    from reverie.notes.watched_roots import WatchedRoot
    from reverie.retrieval.note_search import Passage

# why a file may not be written, as the system says it
WRITE_DENIED = (
    EACCES,
    EPERM,
    EROFS,
    ENAMETOOLONG,
)
# characters of a text written to a file that its memory holds; the file has the rest
MAX_NOTE_CHARS = 4_000


class FileVerbs(RememberVerbs, SessionVerbs):
    """The verbs about files."""

    def add_folder(self, path: str | Path, *, space: str | None = None) -> SearchedFolder:
        """Let those who may see a space search the texts of a folder; `sync_files` indexes them.

        Markdown, plain text, reStructuredText and the like count; what is hidden, larger than 2 MB,
        or named by `.gitignore`, `.secretsignore` or `.reverieignore` does not. Raises BadInput for
        what is no folder, and for what holds Reverie's home or lies in it.
        """
        from reverie.notes import watched_roots

        home = self._writable_space(space)
        real = os.path.realpath(Path(path).expanduser())
        if not Path(real).is_dir():
            raise BadInput(f"{path} is no folder")
        if redact_short_text(real, self._policy) != real:
            raise BadInput(
                "That folder's name holds a secret. Paths are written down as they are; rename it first"
            )
        own = self.settings.home.resolve()
        if own.is_relative_to(real) or Path(real).is_relative_to(own):
            raise BadInput(
                f"{real} holds Reverie's own files. Choose a folder of notes beside {own}"
            )
        root = watched_roots.WatchedRoot(real, home)
        if root not in self._roots(home):
            self.store.append([watched_roots.build_watch_event(root, True, self._now())])
        return self._folder(root)

    def remove_folder(self, path: str | Path, *, space: str | None = None) -> SearchedFolder:
        """Do not search a folder any longer; what was indexed of it is erased, the files stay as
        they are.

        Raises NotFound if the space does not have it; a folder that is searched from a space above
        is removed there.
        """
        from reverie.notes import watched_roots

        home = self._writable_space(space)
        wanted = watched_roots.WatchedRoot(os.path.realpath(Path(path).expanduser()), home)
        if wanted not in self._roots(home):
            raise NotFound(
                f"{wanted.path} is not among the folders of {home}. `reverie files list` shows them"
            )
        self.store.append([watched_roots.build_watch_event(wanted, False, self._now())])
        if not any(
            event.payload.get("path") == wanted.path
            for event in watched_roots.list_watch_events(self.store)
        ):
            self.store.files.forget(wanted.path)
        return self._folder(wanted)

    def folders(self, *, space: str | None = None) -> list[SearchedFolder]:
        """The folders that can be searched from a space, in the order they were added; then
        mirrors.
        """
        return [self._folder(root) for root in self._roots(self._resolve_space(space))]

    def sync_files(
        self,
        *,
        space: str | None = None,
        within: float | None = None,
        afresh: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index what is new or changed in the folders of a space, drop what is gone; words can be
        found at once.

        Files are told apart by size, time and inode, then by their bytes; chunks whose text stays
        keep their vector, new ones get theirs in `settle`. `within` so many seconds: the next sync
        goes on there. `afresh` throws the whole index away first, that of other spaces too.
        `progress` is told (stage, bytes done, bytes in all). Another process that is at it is
        waited for.
        """
        from reverie.notes.note_indexing import IndexReport, sync_root
        from reverie.notes.note_vectors import PATIENCE, hold_index_lease

        roots = self._roots(self._writable_space(space))
        end = None if within is None else clock.ticks() + within
        done = IndexReport()
        with hold_index_lease(
            self.store, self._now, PATIENCE if within is None else within
        ) as ours:
            if afresh:
                self.store.files.clear()
            for root in {root.path: root for root in roots}.values():  # one of two spaces once
                done = done.plus(
                    sync_root(
                        self.store.files,
                        root,
                        clock.now,
                        progress or ignore_index_progress,
                        lambda: (end is None or clock.ticks() < end) and ours(),
                        self._policy,
                    )
                )
        return done

    def search_files(
        self, query: str, *, space: str | None = None, limit: int = 10, mode: str = "auto"
    ) -> list[Passage]:
        """The best passages of files for a question, best first: path, lines, what stands there,
        score, why.

        `mode`: "auto" (words and meaning), "dense" or "words", which needs no model. What has
        changed since it was indexed says so in `why`; files that are gone are left out.
        """
        from reverie.retrieval.note_search import NoteQuery, search_notes

        check_question(query, "query")
        home = self._resolve_space(space)
        paths = tuple(dict.fromkeys(root.path for root in self._roots(home)))
        if (
            not query.strip()
            or check_whole_number(limit) <= 0
            or not paths
            or self.settings.is_off(home)
        ):
            return []
        asked = NoteQuery(
            query, paths, limit, mode, **({} if mode == "words" else self._embed_query(query))
        )
        return [
            one
            for passage in search_notes(self.store.files, asked)
            if (one := compare_with_file(passage)) is not None
        ]

    def read_file(
        self,
        path: str | Path,
        *,
        start: int = 1,
        lines: int | None = None,
        space: str | None = None,
    ) -> FileExcerpt:
        """Lines of a file in a folder of the space, from line `start`; all of them without `lines`.
        No secrets.

        `path` is absolute, or from one of the folders. Raises BadInput for whatever lies outside
        them, is reached through a symbolic link, or is ignored; NotFound where there is no such
        file.
        """
        from reverie.notes.folder_walk import read_text_file
        from reverie.notes.note_results import FileExcerpt
        from reverie.notes.text_chunks import split_lines
        from reverie.privacy import redact

        if check_whole_number(start, "start") < 1 or (
            lines is not None and check_whole_number(lines, "lines") < 0
        ):
            raise BadInput(f"start={start}, lines={lines}: lines are counted from 1")
        _, place = self._place(path, space)
        try:
            content = read_text_file(place, clock.now(), self._policy)
        except FileNotFoundError as err:
            raise NotFound(f"There is no file {place}") from err
        except OSError as err:
            raise BadInput(
                f"{place} cannot be read: {err.strerror or err}. Check who may read it"
            ) from err
        every = (
            split_lines(redact(content.text, self._policy, keep_lines=True)[0])
            if content.text
            else []
        )
        some = every[start - 1 : None if lines is None else start - 1 + lines]
        return FileExcerpt(str(place), start, start + len(some) - 1, len(every), "\n".join(some))

    def save_note(self, text: str, *, space: str | None = None, **more: Any) -> SavedNote:
        """Keep what happened: an episode in memory, and an entry in today's log,
        `memory/YYYY-MM-DD.md` (UTC).

        Further names are those of `remember`; the kind is "event" unless told otherwise. The memory
        is kept even if the log cannot be written just now (it is somebody's own file, waits for an
        answer, is write-protected, or there is no mirror); the answer says why.
        """
        from reverie.notes.watched_roots import to_mirror_root

        home = self._writable_space(space)
        memory = self.remember(text, space=home, **{"kind": "event", **more})
        noted = self._noted(memory)
        if folder := self._mirror_of(home):
            self._index(to_mirror_root(folder, home))
        return noted

    def update_file(
        self,
        path: str | Path,
        text: str,
        mode: str = "append",
        *,
        space: str | None = None,
        **more: Any,
    ) -> WrittenFile:
        """Append to a file of a folder, or replace it, and remember what was written as a fact.

        What the file was is kept (`file_history`, `restore_file`). Secrets are taken out of the
        text. The file is written as a whole or not at all, and found by its new words at once.
        Further names are those of `remember`. Raises Conflict if somebody else wrote it in between.

        On a page of the mirror every bullet and paragraph is a memory of its own, of the kind that
        its heading says; what is replaced is forgotten, or revised where its id stands in the new
        text. `undo(version)` takes it back.
        """
        from reverie.notes.file_versions import check_update_mode, compose_file_update

        validate_text(text)
        check_update_mode(mode)
        root, place = self._place(path, space)
        home = self._writable_space(root.space)
        if root.own:
            return self._update_page(root, place, text, mode, more)
        now = self._now()
        told = (
            text
            if len(text) <= MAX_NOTE_CHARS
            else f"{text[:MAX_NOTE_CHARS]}\n… (the rest stands in {place.name})"
        )
        made = build_memory(
            clock.new_id(), now, told, space=home, files=[str(place)], **more, policy=self._policy
        )
        memory = apply_curate_setting(made, self.settings.curate)
        return self._write(
            root,
            place,
            lambda old: compose_file_update(old, text, mode, self._policy),
            mode,
            memory,
        )

    def file_history(self, path: str | Path, *, space: str | None = None) -> list[FileVersion]:
        """What a file was each time before Reverie wrote to it, the latest first."""
        from reverie.notes import file_versions

        _, place = self._place(path, space)
        events = self.store.events(
            verbs=(file_versions.VERB,), newest=True, limit=file_versions.MAX_EVENTS
        )
        return file_versions.list_versions(events, str(place))

    def restore_file(
        self, path: str | Path, version: int | None = None, *, space: str | None = None
    ) -> WrittenFile:
        """Put a file back as it was before an update: the last one, or the one of this number in
        `file_history`.

        What it is now is kept as a version too. A file that was not there before is emptied, not
        deleted.
        """
        from reverie.notes import file_versions

        known = self.file_history(path, space=space)
        wanted = [one for one in known if version in (None, one.number)]
        if not wanted:
            raise NotFound(
                f"There is no version {'' if version is None else version} of {path}".replace(
                    "  ", " "
                )
            )
        hash = wanted[0].hash
        data = (
            b""
            if hash == file_versions.NO_FILE
            else file_versions.read_version(self.settings.home, hash)
        )
        root, place = self._place(path, space)
        if root.own:
            return self._update_page(root, place, file_versions.decode_utf8(data), "restore", {})
        return self._write(root, place, lambda _: data, "restore", None)

    # How

    def _update_page(
        self, root: WatchedRoot, place: Path, text: str, mode: str, more: Mapping[str, Any]
    ) -> WrittenFile:
        """Write to a page of the mirror, after what people did there, and bring it in step."""
        from reverie.mirror.mirror_folder import MirrorFolder as Pages
        from reverie.mirror.mirror_sync import find_mirror_root
        from reverie.mirror.tool_page_edits import PageUpdate, update_page
        from reverie.notes.note_results import WrittenFile

        if (top := find_mirror_root(self.settings, self.store)) is None:
            raise BadInput(
                "The Markdown mirror is switched off, and that is a page of it. Set mirror in config.toml"
            )
        name, home = place.relative_to(root.path).as_posix(), self._writable_space(root.space)
        if (why := self._held(home, name)) and mode != "append":
            raise BadInput(f"{place} is not in step: {why}. Nothing was changed")
        update = PageUpdate(name, text, mode, {"provenance": "observed", **more})
        done = update_page(self.work, Pages(top, home), update, self._now)
        why = self._held(home, name)
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

    def _held(self, space: str, page: str) -> str:
        """Bring the mirror of a space in step; why a page is not, "" if it is."""
        done = self.mirror(space)
        return next(
            iter(
                (
                    *list_page_questions(done, page),
                    *(why for one in done for why in one.troubles if page in why),
                )
            ),
            "",
        )

    def _noted(self, memory: Memory) -> SavedNote:
        """Bring the mirror in step, and look whether a page tells of a memory now."""
        from reverie.mirror.file_exchange import read_bytes_if_present
        from reverie.mirror.page_placement import place_memory
        from reverie.notes.note_results import SavedNote

        folder, spot = self._mirror_of(memory.space), place_memory(memory)
        if folder is None or spot is None:
            return SavedNote(
                memory,
                None,
                "the Markdown mirror is switched off" if spot else "no page tells of its kind",
            )
        try:
            done = self.mirror(memory.space)
            if memory.id.encode() in (read_bytes_if_present(folder / spot.page) or b""):
                return SavedNote(memory, str(folder / spot.page))
        except (StoreBusy, OSError) as err:
            return SavedNote(memory, None, str(err))
        asked = list_page_questions(done, spot.page)
        troubles = [told for one in done for told in one.troubles]
        here = [told for told in troubles if spot.page in told]
        return SavedNote(
            memory, None, (*asked, *here, *troubles, "somebody is writing it just now")[0]
        )

    def _roots(self, space: str) -> list[WatchedRoot]:
        from reverie.notes.watched_roots import list_roots

        return list_roots(self.store, visible_spaces(space), self._mirror_of)

    def _mirror_of(self, space: str) -> Path | None:
        """The folder of a space's Markdown mirror; None where there is none."""
        from reverie.mirror.mirror_folder import MirrorFolder as Pages
        from reverie.mirror.mirror_sync import find_mirror_root

        root = find_mirror_root(self.settings, self.store)
        return Pages(root, space).path if root else None

    def _folder(self, root: WatchedRoot) -> SearchedFolder:
        from reverie.notes.note_results import SearchedFolder
        from reverie.pipeline.pending_vectors import embedding_model_of

        return SearchedFolder(
            *root,
            root.is_reachable,
            self.store.files.count([root.path], embedding_model_of(self.embedder)),
        )

    def _place(self, path: str | Path, space: str | None) -> tuple[WatchedRoot, Path]:
        """The root that a path lies in and the file's place. BadInput for what no file can be
        called, too.
        """
        try:
            return self._admitted(path, space)
        except BadInput:
            raise
        except (
            OSError,
            ValueError,
            RuntimeError,
        ) as err:  # too long, within a file, with a NUL, of no such user
            why = getattr(err, "strerror", None) or str(err)
            raise BadInput(
                f"{ascii(str(path))[:200]} is no file that could be read or written: {why}"
            ) from err

    def _admitted(self, path: str | Path, space: str | None) -> tuple[WatchedRoot, Path]:
        """The root that a path lies in and the file's place. An existing file wins; the nearest
        root does.
        """
        from reverie.notes.folder_walk import admit_path, relative_to_root
        from reverie.notes.watched_roots import MIRROR_FILES

        known = sorted(self._roots(self._resolve_space(space)), key=lambda root: -len(root.path))
        wanted = Path(path).expanduser()
        tried = [
            (root, name)
            for root in known
            if (
                name := relative_to_root(
                    root, wanted if wanted.is_absolute() else Path(root.path, wanted)
                )
            )
            is not None
            and (not root.own or MIRROR_FILES.fullmatch(name))
        ]
        if not tried:
            raise BadInput(
                f"{path} is not in a folder that memory may read or write. `reverie files list` shows them"
            )
        there = [
            (root, name) for root, name in tried if os.path.lexists(Path(root.path, name))
        ] or tried
        if not wanted.is_absolute() and len(there) > 1:
            raise BadInput(
                f"{path} could be in {' or '.join(root.path for root, _ in there)}: give the whole path"
            )
        root, name = there[0]
        return root, admit_path(root, name, policy=self._policy)

    def _write(
        self,
        root: WatchedRoot,
        place: Path,
        change: Callable[[bytes | None], bytes],
        why: str,
        memory: Memory | None,
    ) -> WrittenFile:
        """Write a file, with its version before and what is remembered: all of it or, but for that
        version, nothing.
        """
        from reverie.notes.note_results import WrittenFile

        if redact_short_text(str(place), self._policy) != str(place):
            raise BadInput(
                "That file's name holds a secret. Paths are written down as they are; rename it first"
            )
        if place.exists() and not os.access(place, os.W_OK):
            raise BadInput(f"{place} is write-protected: nothing was changed")
        try:
            seq = self._written(root, place, change, why, memory)
        except OSError as err:
            if err.errno not in WRITE_DENIED:
                raise
            raise BadInput(
                f"{place} cannot be written: {err.strerror}. Nothing was changed. Check who may write to it "
                "and to its folder"
            ) from err
        self._index(root, place)
        return WrittenFile(str(place), memory, seq)

    def _written(
        self,
        root: WatchedRoot,
        place: Path,
        change: Callable[[bytes | None], bytes],
        why: str,
        memory: Memory | None,
    ) -> int:
        """How `_write` does it; the number of the event."""
        from reverie.notes import file_versions

        with self.store.transaction():
            old = file_versions.read_if_present(place)
            new = change(old)
            before = (
                file_versions.NO_FILE
                if old is None
                else file_versions.keep_version(self.settings.home, old)
            )
            payload = {"path": str(place), "mode": why, "before": before, "size": len(old or b"")}
            seq = self.store.apply(
                [Add(memory=memory)] if memory else [],
                Event(file_versions.VERB, root.space, self._now(), payload=payload),
            )
            if file_versions.read_if_present(place) != old:
                raise Conflict(
                    f"{place} was changed by somebody else just now. Look at it again, then repeat"
                )
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, new, new_mode=0o644)
        return seq

    def _index(self, root: WatchedRoot, place: Path | None = None) -> None:
        """Bring the index of what was just written up to date; without a place, of the whole root.

        Stamps are of the file system's time, so they are compared with the real one.
        """
        from reverie.notes.note_indexing import reindex_file, sync_root

        if place is None:
            sync_root(
                self.store.files, root, clock.now, ignore_index_progress, lambda: True, self._policy
            )
        else:
            reindex_file(
                self.store.files,
                root,
                place.relative_to(root.path).as_posix(),
                clock.now,
                self._policy,
            )


def list_page_questions(done: Iterable[MirrorReport], page: str) -> list[str]:
    """What somebody has to answer before a page is followed again."""
    return [
        f"{gone:,} of {of:,} lines are gone from it: were they deleted? "
        "`reverie mirror --yes` forgets them, `--no` writes them anew"
        for one in done
        for name, gone, of in one.questions
        if name == page
    ]


def ignore_index_progress(_stage: str, _done: int, _total: int | None) -> None:
    """Nobody wants to know how far it is."""


def compare_with_file(passage: Passage) -> Passage | None:
    """A passage beside its file as it is now: None where the file is gone; it says so where it was
    changed.
    """
    from reverie.notes.folder_walk import to_stamp
    from reverie.storage.note_index_port import UNSURE_STAMP

    try:
        now = to_stamp(Path(passage.path).stat())
    except OSError:
        return None
    same = passage.stamp in (now, UNSURE_STAMP)
    return passage if same else passage._replace(why=(*passage.why, "changed since it was indexed"))
