"""Trust: is everything as it should be, how much is there, and copies of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core import config
from reverie.core.errors import BadInput, NotFound
from reverie.core.kinds import is_conversation_turn
from reverie.core.model import Filter, visible_spaces
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase
from reverie.text.argument_checks import check_whole_number

if TYPE_CHECKING:
    from reverie.memory.usage_statistics import Usage
    from reverie.porting.export_validation import ImportReport
    from reverie.porting.import_run import ImportOutcome, NeighbourImport
    from reverie.porting.shared_files import ShareReport
    from reverie.storage import Problem, Stats

MAX_USAGE_SCAN = 100_000  # memories whose use is counted


class OwnerVerbs(MindBase):
    """The verbs for the owner."""

    def verify(self, repair: bool = False) -> list[Problem]:
        """What is not as it should be, in store, indexes and mirror; with `repair`, what can be is
        rebuilt.
        """
        from reverie.mirror.mirror_sync import find_mirror_problems

        return [
            *self.store.verify(repair),
            *self._files_broken(repair),
            *self._code_broken(repair),
            *find_mirror_problems(self.work, repair),
        ]

    def _files_broken(self, repair: bool) -> list[Problem]:
        """What is wrong with the index of files; to repair it is to begin anew."""
        broken = self.store.files.verify()
        if broken and repair:
            self.store.files.clear()
        from reverie.storage import Problem

        told = f"{broken}. `reverie files sync --afresh` indexes them again"
        return [Problem("files", told, repair)] if broken else []

    def _code_broken(self, repair: bool) -> list[Problem]:
        """The same of the index of code."""
        broken = self.store.code.verify() or self.store.code_chunks.verify()
        if broken and repair:
            self.store.code.clear()
            self.store.code_chunks.clear()
        from reverie.storage import Problem

        return (
            [Problem("code", f"{broken}. `reverie index` makes it again", repair)] if broken else []
        )

    def stats(self) -> Stats:
        """How much there is of everything, and what extraction kept and left lately (of the last
        10,000 times).
        """
        from reverie.extraction.turn_learning import (
            LEARNING_VERBS,
            MAX_TALLIED_EVENTS,
            tally_extraction,
        )

        kept, left = tally_extraction(
            self.store.events(verbs=LEARNING_VERBS, newest=True, limit=MAX_TALLIED_EVENTS)
        )
        return self.store.stats()._replace(learned=kept, rejected=left)

    def usage(self, *, space: str | None = None, limit: int = 10) -> Usage:
        """How the memories that can be seen from a space are used: how many, how often, and the
        most valuable.

        What counts is how often one was used or said again, times how far it is believed now. The
        newest 100,000 are looked at, without the turns of conversations as they were said.
        """
        from reverie.memory.usage_statistics import summarize_usage

        most = max(0, check_whole_number(limit))
        seen = self.store.browse(
            Filter(spaces=visible_spaces(self._resolve_space(space)), limit=MAX_USAGE_SCAN)
        )
        return summarize_usage(
            [memory for memory in seen if not is_conversation_turn(memory)], self._now(), most
        )

    def export(self, log: bool = True) -> Iterable[dict[str, Any]]:
        """Everything, as JSON-ready rows, a header first.

        Without `log` only the state: memories, links and vectors, sorted, and no time in the
        header. Two states are equal if these are, byte for byte.
        """
        yield {"type": "reverie", "version": 1, **({"at": self._now()} if log else {})}
        yield from self.store.dump(log)

    def import_(
        self, rows: Iterable[dict[str, Any] | BadInput], *, skip_bad: bool = False
    ) -> ImportReport:
        """Take in rows of `export`: what is already there is left alone, so importing twice adds
        nothing.

        A row that cannot be taken in raises BadInput and nothing is kept of any; with `skip_bad` it
        is left out, counted, and the first twenty are named with their reason. All of it is one
        transaction.
        """
        from reverie.porting.export_validation import load_export
        from reverie.storage import UNLOGGED

        taken = load_export(self.store, rows, self._now(), skip_bad=skip_bad, policy=self._policy)
        if taken.new:
            # rows need not come with the events that made them
            self.store.set_meta(UNLOGGED, "yes")
        return taken

    def import_from(
        self,
        path: str | Path,
        system: str = "",
        *,
        space: str | None = None,
        untrusted: bool = False,
        dry_run: bool = False,
    ) -> ImportOutcome:
        """Take along what another program remembers: a file or folder of one of
        `reverie.importing.FORMATS`.

        Without `system` it is found out whose it is. With `dry_run` nothing is written. Twice adds
        nothing. A record that cannot be used is named in `bad` and loses no other. What is the
        user's own there comes into the user's own space, the rest into `space`. `untrusted`:
        somebody else's file; its memories wait for approval. `undo` of the `event` takes all
        memories back; runs of tools stay in the log. BadInput for what is none of these.
        """
        from reverie.porting.import_run import import_memories

        home = self._resolve_space(space) if dry_run else self._writable_space(space)
        return import_memories(
            self.work,
            Path(path).expanduser(),
            system,
            home,
            list_project_folders(),
            untrusted=untrusted,
            dry_run=dry_run,
        )

    def import_beside(
        self,
        *,
        space: str | None = None,
        untrusted: bool = False,
        dry_run: bool = False,
    ) -> list[NeighbourImport]:
        """Take along what other programs remember of this project and its user, where they keep it,
        if nothing is

        remembered yet where it would go; what would mix with memories that are there is `left`, for
        `import_from`. As there: the files are only read, twice adds nothing, `undo` takes it back.
        """
        from reverie.porting.import_run import import_neighbours
        from reverie.porting.importers import find_program_folders

        home = self._resolve_space(space) if dry_run else self._writable_space(space)
        found = find_program_folders(
            config.user_home(), config.find_work_tree(config.working_directory())
        )
        return import_neighbours(
            self.work, found, home, list_project_folders(), untrusted=untrusted, dry_run=dry_run
        )

    def share(
        self,
        path: str | Path | None = None,
        *,
        space: str | None = None,
        once: str = "",
        trusted: bool | None = None,
    ) -> ShareReport:
        """Keep a file of JSON lines in step with a space, so that a team can commit it; bring it in
        step now.

        Without a path it is `.jaato/memories.jsonl` in the project one stands in, and its folder is
        made (E35). The file has the format of jaato's document (`reverie.mirror.jsonl`); facts,
        decisions, procedures and the like of the space are written, not the user's preferences and
        not what happened. What others alter there is taken in, at once or while settling. `once`:
        "export" only writes, "import" only takes in, and nothing is kept in step.

        What others write there is `untrusted`. `trusted=True` says that people review what is
        committed: then lines come in as what they claim, at most "extracted", and so do those that
        came before. It is remembered with the file; False takes it back for what comes from then
        on, None leaves it.
        """
        from reverie.porting import shared_files

        if once not in ("", "export", "import"):
            raise BadInput(f'once={once!r} is neither "export" nor "import"')
        home, place = (
            self._writable_space(space),
            shared_files.to_real_path(path or default_share_path()),
        )
        if path is None and once != "import":
            Path(place).parent.mkdir(exist_ok=True)
        if not Path(place).parent.is_dir() or Path(place).is_dir():
            raise BadInput(f"{path or place} is no file in a folder that is there")
        if redact_short_text(place, self._policy) != place:
            raise BadInput(
                "That file's name holds a secret. Paths are written down as they are; rename it first"
            )
        if once == "import" and not Path(place).is_file():
            raise NotFound(f"There is no file {path or place}")
        share = shared_files.FileShare(home, place)
        share = share._replace(
            trusted=shared_files.is_trusted_share(self.store, share) if trusted is None else trusted
        )
        done = shared_files.sync_share(
            self.work, share, writes=once != "import", takes=once != "export"
        )
        if not once:
            shared_files.start_share(self.store, share)
        return done

    def unshare(self, path: str | Path | None = None, *, space: str | None = None) -> None:
        """Keep a file in step no longer; it stays as it is. NotFound if it was not."""
        from reverie.porting import shared_files

        share = shared_files.FileShare(
            self._resolve_space(space), shared_files.to_real_path(path or default_share_path())
        )
        if not shared_files.stop_share(self.store, share):
            raise NotFound(
                f"{share.path} is not shared from {share.space}. `reverie share` lists what is"
            )

    def shares(self, *, space: str | None = None, trusted: bool | None = None) -> list[str]:
        """The files that are kept in step with a space: all, or those that are trusted or not."""
        from reverie.porting import shared_files

        return [
            share.path
            for share in shared_files.load_shares(self.store)
            if share.space == self._resolve_space(space) and trusted in (None, share.trusted)
        ]

    def backup(self, target: str | Path) -> Path:
        """A consistent copy of the database, while others go on writing."""
        path = Path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.store.backup(path)
        return path

    def restore_backup(self, source: str | Path) -> Path:
        """Go back to what a backup holds. Returns the copy of what was here until now, which leads
        forth again.

        Other processes see all of it or nothing. What is remembered only since then is in that
        copy. The pages of the mirror are written anew; the indexes of files and of code stay as
        they are. BadInput for what is no backup.
        """
        from reverie.mirror.mirror_sync import find_mirror_problems
        from reverie.storage import backups

        path = Path(source).expanduser()
        if not path.is_file():
            raise NotFound(f"There is no file {source}")
        self._flush()
        kept = backups.restore_from_backup(self.store, self.settings, path, self._now())
        find_mirror_problems(self.work, True)
        return kept


def default_share_path() -> Path:
    """The file of a project's memories that its team shares, where nobody says otherwise."""
    return config.find_work_tree(config.working_directory()) / ".jaato" / "memories.jsonl"


def list_project_folders() -> tuple[Path, ...]:
    """The folders by which another program may know the project one stands in."""
    here = config.working_directory()
    return tuple(dict.fromkeys((here, config.find_work_tree(here), config.find_project_root(here))))
