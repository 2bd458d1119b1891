"""The store as a whole: checks, statistics, export, import, sharing, backups, pages, erasing.

Always true: only `purge` and `scrub` are for good; everything else can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core import config
from reverie.core.atomic_file import make_private_folder
from reverie.core.errors import BadInput, NotFound
from reverie.core.kinds import is_conversation_turn
from reverie.core.model import Event, Filter, Memory
from reverie.runtime.mind.file_access import refuse_secret_path
from reverie.runtime.mind.mind_context import VerbGroup, check_limit
from reverie.runtime.mind.verb_spans import observed
from reverie.text.argument_checks import check_texts

if TYPE_CHECKING:
    from reverie.consolidation.memory_map import MemoryMap
    from reverie.erasure.scrub import ScrubReport
    from reverie.holdout.proof_report import Proof
    from reverie.llm.daily_spending import SpendingDay
    from reverie.memory.growth import GrowthDay
    from reverie.memory.usage_statistics import Usage
    from reverie.mirror.space_sync import MirrorReport
    from reverie.porting.export_validation import ImportReport
    from reverie.porting.import_run import ImportOutcome, NeighbourImport
    from reverie.porting.shared_files import ShareReport
    from reverie.porting.store_migration import MigrationReport
    from reverie.storage import Problem, Stats
    from reverie.storage.backups import PurgeResult

# Calls of the language model that are read first for its cost by day.
FIRST_CALLS = 1_000
# Newest memories whose use is counted.
MAX_USAGE_SCAN = 100_000


class DataVerbs(VerbGroup):
    """`mind.data`: maintenance, exchange and erasure."""

    def verify(self, repair: bool = False) -> list[Problem]:
        """Problems of store, indexes and mirror; with `repair`, what can be is rebuilt."""
        from reverie.erasure import unfinished
        from reverie.mirror.mirror_sync import find_mirror_problems
        from reverie.storage import Problem, backups

        stopped = [*unfinished.list_unfinished(self._work)]
        is_finished = bool(stopped) and repair and unfinished.finish_erasure(self._work)
        return [
            *(Problem("erasure", message, is_finished) for message in stopped),
            *self._store.verify(repair, backups.list_daily_backups(self._settings)),
            *self._check_indexes(repair),
            *find_mirror_problems(self._work, repair),
        ]

    def _check_indexes(self, repair: bool) -> Iterator[Problem]:
        """The problems of what is derived beside the store; to repair an index is to clear it."""
        from reverie.storage import Problem

        store = self._store
        for what, indexes, advice in (
            ("files", (store.files,), "`reverie files sync --afresh` indexes them again"),
            ("code", (store.code, store.code_chunks), "`reverie code index` makes it again"),
            ("conversations", (store.transcripts,), "the log is read again in the background"),
        ):
            broken = next(
                filter(None, (index.verify() for index in indexes)),
                "",
            )
            if broken:
                for index in indexes if repair else ():
                    index.clear()
                yield Problem(what, f"{broken}. {advice}", repair)

    def stats(self) -> Stats:
        """Counts of everything stored, and of what the last 10,000 extractions kept
        and rejected.
        """
        from reverie.extraction.turn_learning import (
            LEARNING_VERBS,
            MAX_TALLIED_EVENTS,
            tally_extraction,
        )

        events = self._store.events(
            verbs=LEARNING_VERBS,
            newest=True,
            limit=MAX_TALLIED_EVENTS,
        )
        learned, rejected = tally_extraction(events)
        return self._store.stats()._replace(learned=learned, rejected=rejected)

    def growth(self) -> list[GrowthDay]:
        """How many memories counted at the end of each day (UTC) on which some came or went."""
        from reverie.memory.growth import sum_growth

        return sum_growth(self._store.memories_by_day())

    def map(
        self, *, space: str | None = None, limit: int = 2_000, in_haste: bool = False
    ) -> MemoryMap:
        """A map of what is seen from a space: memories, tags, clusters and code with their places,
        ties and communities, and from when to when each was so. At most `limit` nodes (2,000), of
        the whole past.

        It looks the same on the next visit: places are kept in the home's cache folder. Laying out
        the first one takes a second; `in_haste` gives a draft of it at once (`is_draft`), or one
        that was kept and is old (`is_due`).
        """
        from reverie.consolidation.memory_map import MAX_NODES, MapRequest, cache_file, draw_map
        from reverie.pipeline.pending_vectors import embedding_model_of

        most = min(check_limit(limit), MAX_NODES)
        home = self._resolve_space(space)
        embedder, folder = self._context.answering_embedder, self._settings.home
        # A map of fewer nodes has other places; what is in memory alone leaves nothing on the disk.
        is_kept = folder.is_dir() and not self._store.url.endswith(":memory:")
        whole = is_kept and most == MAX_NODES
        cache = cache_file(folder / "cache", home) if whole else None
        model = embedding_model_of(embedder) or ""
        spaces, now = self._visible_from(space), self._now()
        # What is not kept is no better the next time.
        hasty = in_haste and whole
        asked = MapRequest(spaces, now, most, model, cache)
        return draw_map(self._store, asked, in_haste=hasty)

    def spending(self, days: int = 30) -> list[SpendingDay]:
        """What the language model took on each of the last days (UTC), the latest first; of the
        newest 10,000 calls.
        """
        from reverie.llm.daily_spending import MAX_CALLS, sum_spending
        from reverie.llm.language_model import LLM_EVENT_VERB

        most = check_limit(days)
        spent: list[SpendingDay] = []
        # A month is a few hundred calls as a rule: the years before it are read where it is not.
        for limit in (FIRST_CALLS, MAX_CALLS):
            calls = self._store.search_events((LLM_EVENT_VERB,), limit=limit)
            spent = sum_spending(calls)
            # The earliest day may be cut, so one more than was asked for is enough.
            if len(calls) < limit or len(spent) > most:
                break
        return spent[:most]

    def failures(self, limit: int = 20) -> list[Event]:
        """The newest events that could not be learned from, with the error in their payload."""
        return self._store.events(verbs=("failed",), newest=True, limit=check_limit(limit))

    def usage(
        self,
        *,
        space: str | None = None,
        limit: int = 10,
    ) -> Usage:
        """How memories visible from a space are used: how many, how often, and the most valuable.

        The value is how often one was used or said again, times its present confidence. The
        newest 100,000 are looked at, without the turns of conversations as they were said.
        """
        from reverie.memory.usage_statistics import summarize_usage

        most = check_limit(limit)
        spaces = self._visible_from(space)
        visible = self._store.browse(Filter(spaces=spaces, limit=MAX_USAGE_SCAN))
        memories = [memory for memory in visible if not is_conversation_turn(memory)]
        return summarize_usage(memories, self._now(), most)

    def proof(self) -> Proof:
        """What memory is worth, by comparison with the conversations in which it was silent.

        `settings.holdout` is their share, 0 by default: then nothing can be said. Of all spaces,
        from the log. Differences come with their intervals, and only once there are enough
        conversations on either side.
        """
        from reverie.holdout.proof_report import make_proof

        return make_proof(self._store, self._work.settings.holdout, self._now())

    def export(self, log: bool = True) -> Iterable[dict[str, Any]]:
        """Everything, as JSON-ready rows, a header first.

        Without `log` only the state: memories, links and vectors, sorted, and no time in the
        header. Two states are equal if these are, byte for byte.
        """
        yield {
            "type": "reverie",
            "version": 1,
            **({"at": self._now()} if log else {}),
        }
        yield from self._store.dump(log)

    def import_(
        self, rows: Iterable[dict[str, Any] | BadInput], *, skip_bad: bool = False
    ) -> ImportReport:
        """Import rows of your own `export`; what is already there stays, so importing twice adds
        nothing. Every row is believed: for a file of somebody else's there is `import_from`.

        A row that cannot be imported raises BadInput and nothing is kept of any; with `skip_bad` it
        is left out, counted, and the first twenty are named with their reason. All of it is one
        transaction.
        """
        from reverie.porting.export_validation import load_export
        from reverie.storage import UNLOGGED
        from reverie.sync.sync_state import restart

        report = load_export(
            self._store,
            rows,
            self._now(),
            skip_bad=skip_bad,
            policy=self._policy,
        )
        if report.new:
            # Rows need not come with the events that made them.
            self._store.set_meta(UNLOGGED, "yes")
            restart(self._store)
        return report

    def import_from(
        self,
        path: str | Path,
        system: str = "",
        *,
        space: str | None = None,
        trusted: bool = False,
        dry_run: bool = False,
        on_item: Callable[[int], object] | None = None,
    ) -> ImportOutcome:
        """Import what another program remembers: a file or folder of one of
        `reverie.porting.importers.FORMATS`.

        Without `system` its format is detected. With `dry_run` nothing is written. Twice adds
        nothing. A record that cannot be used is named in `bad` and loses no other. What is the
        user's own there comes into the user's own space, the rest into `space`; that, and who said
        what there, is believed with `trusted` alone. Without it every memory is `untrusted`, comes
        into `space`, waits for approval, and no run of a tool enters the log; once more with
        `trusted` lifts what still waits. `undo` of the `event` retires all memories again; runs of
        tools stay in the log. Conversations are learned from with `trusted` alone, one by one; they
        stay in the log too, and `undo` retires what they taught and withdraws their words from what
        is found. `on_item` hears how many records were read. BadInput for what is none of these.
        """
        from reverie.porting.import_run import ImportOptions, import_memories

        home = self._import_space(space, dry_run)
        return import_memories(
            self._work,
            Path(path).expanduser(),
            system,
            home,
            list_project_folders(),
            ImportOptions(trusted, dry_run, on_item),
        )

    def import_beside(
        self,
        *,
        space: str | None = None,
        trusted: bool = False,
        dry_run: bool = False,
    ) -> list[NeighbourImport]:
        """Import what other programs remember of this project and its user, from where they keep
        it, into spaces that are still empty.

        What would mix with memories that are there is `left`, for `import_from`. As there: the
        files are only read, twice adds nothing, `undo` retires it.
        """
        from reverie.porting.import_run import import_neighbours
        from reverie.porting.importers import find_program_folders

        home = self._import_space(space, dry_run)
        project = config.find_work_tree(config.working_directory())
        found = find_program_folders(config.user_home(), project)
        return import_neighbours(
            self._work,
            found,
            home,
            list_project_folders(),
            trusted=trusted,
            dry_run=dry_run,
        )

    def _import_space(self, space: str | None, dry_run: bool) -> str:
        """The space to import into; a dry run is allowed where memory is switched off."""
        return self._resolve_space(space) if dry_run else self._writable_space(space)

    def share(
        self,
        path: str | Path | None = None,
        *,
        space: str | None = None,
        once: str = "",
        trusted: bool | None = None,
    ) -> ShareReport:
        """Keep a file of JSON lines in sync with a space, so that a team can commit it; sync it
        now.

        Without a path it is `.jaato/memories.jsonl` in the project one stands in, and its folder is
        made. The file has jaato's format (`reverie.mirror.shared_lines`); facts, decisions,
        procedures and the like of the space are written, not the user's preferences and not what
        happened. What others alter there is taken in, at once or while settling. `once`: "export"
        only writes, "import" only takes in, and nothing is kept in sync.

        What others write there is `untrusted`. `trusted=True` says that people review what is
        committed: then lines come in as what they claim, at most "extracted", and so do those that
        came before. That is remembered with the file; False ends it for what comes from then on,
        None leaves it.
        """
        from reverie.porting import shared_files

        if once not in ("", "export", "import"):
            raise BadInput(f'once={once!r} is neither "export" nor "import"')
        home = self._writable_space(space)
        place = shared_files.to_real_path(path or default_share_path())
        # Only our own default is made; another folder that is not there is a slip of the pen.
        if path is None and once != "import":
            Path(place).parent.mkdir(exist_ok=True)
        if not Path(place).parent.is_dir() or Path(place).is_dir():
            raise BadInput(f"{path or place} cannot be a shared file: its folder does not exist")
        refuse_secret_path(place, "file", self._policy)
        if once == "import" and not Path(place).is_file():
            raise NotFound(f"There is no file {path or place}")
        share = shared_files.FileShare(home, place)
        if trusted is None:
            trusted = shared_files.is_trusted_share(self._store, share)
        share = share._replace(trusted=trusted)
        # Before it is kept in sync: if this fails, nothing goes on failing in the background.
        report = shared_files.sync_share(
            self._work,
            share,
            writes=once != "import",
            takes=once != "export",
        )
        if not once:
            shared_files.start_share(self._store, share)
        return report

    def unshare(
        self,
        path: str | Path | None = None,
        *,
        space: str | None = None,
    ) -> None:
        """Stop keeping a file in sync; it stays as it is. NotFound if it was not shared."""
        from reverie.porting import shared_files

        place = shared_files.to_real_path(path or default_share_path())
        share = shared_files.FileShare(self._resolve_space(space), place)
        if not shared_files.stop_share(self._store, share):
            raise NotFound(
                f"{share.path} is not shared from {share.space}. `reverie data share` lists what is"
            )

    def shares(
        self,
        *,
        space: str | None = None,
        trusted: bool | None = None,
    ) -> list[str]:
        """The files kept in sync with a space: all, or those that are trusted or not."""
        from reverie.porting import shared_files

        home = self._resolve_space(space)
        return [
            share.path
            for share in shared_files.load_shares(self._store)
            if share.space == home and trusted in (None, share.trusted)
        ]

    def migrate(
        self,
        to: str | Path,
        *,
        user: str = "",
        back: bool = False,
    ) -> MigrationReport:
        """Copy everything into another store: a folder, a `.db` file or "postgresql://…".

        Memories, links, history and vectors go; then both are compared, and `missing` counts what
        did not arrive. Done twice it adds nothing. `user`: the other is a tenant of a server, where
        `me` is that user's private root; `back`: this one is, and the other is a home.
        """
        from reverie.core.config import resolve_store_url
        from reverie.porting.store_migration import choose_root, migrate_store
        from reverie.storage import open_store

        address = str(to)
        if address.startswith(("https://", "http://")):
            raise BadInput(
                "A server is not opened as a store. `reverie login` keeps this memory in step with "
                "it; its operator moves history and vectors too, with --to postgresql://…"
            )
        if "://" not in address and not address.endswith(".db"):
            make_private_folder(Path(address).expanduser().absolute())
            address = str(Path(address).expanduser().absolute() / "reverie.db")
        self._flush()
        target = open_store(resolve_store_url(address, self._settings))
        try:
            return migrate_store(self._store, target, choose_root(user, is_back=back))
        finally:
            target.close()

    def backup(self, target: str | Path) -> Path:
        """A consistent copy of the database, while others go on writing."""
        path = Path(target)
        make_private_folder(path.parent)
        self._store.backup(path)
        return path

    def restore_backup(self, source: str | Path) -> Path:
        """Replace everything with what a backup holds. Returns a backup of what was here until now.

        Other processes see all of it or nothing. What was remembered since then is in that
        backup. The pages of the mirror are written anew; the indexes of files and of code stay as
        they are. BadInput for what is no backup.
        """
        from reverie.mirror.mirror_sync import find_mirror_problems
        from reverie.storage import backups

        path = Path(source).expanduser()
        if not path.is_file():
            raise NotFound(f"There is no file {source}")
        # What is recorded and not written yet would come after the backup, and belong to neither.
        self._flush()
        previous = backups.restore_from_backup(self._store, self._settings, path, self._now())
        # The pages tell of what was there before the backup was put back.
        find_mirror_problems(self._work, True)
        return previous

    def mirror(
        self,
        space: str | None = None,
        *,
        forget: bool | None = None,
        afresh: bool = False,
    ) -> list[MirrorReport]:
        """Sync the Markdown mirror now: take in what people wrote, write what is new. One report
        for each space.

        Settling and the companion do it by themselves. Without a space, all of them; a space that
        is named gets its `MEMORY.md` even if there is nothing in it yet. Where more than 10 lines
        of a page are gone, or 30 %, or all, nothing of that page is taken in and `questions` says
        so: `forget=True` forgets them, `forget=False` writes them anew. `afresh` looks at every
        memory and page, not only at what was altered. Each report names its events, which can
        be undone. An empty list where there is no mirror.
        """
        from reverie.mirror.mirror_sync import sync_mirror
        from reverie.mirror.space_sync import SyncRequest

        spaces = None if space is None else (self._writable_space(space),)
        request = SyncRequest(
            forget,
            afresh,
            retry=True,
            create_main_page=space is not None,
        )
        return sync_mirror(self._work, spaces, request, self._now)

    def wordings(self, ids: Sequence[str] | str) -> list[Memory]:
        """What was merged into these memories, directly or not: other wordings of the same, which
        count no longer.
        """
        from reverie.reconciliation.reconcile_reader import load_merged_memories

        kept_ids = {memory.id for memory in self._get_memories(ids)}
        groups = load_merged_memories(self._store, kept_ids).values()
        return [memory for group in groups for memory in group]

    @observed
    def purge(self, ids: Sequence[str] | str) -> PurgeResult:
        """Erase for good: text, words, vectors, history, events that repeat it, also in the mirror,
        in shared files and daily backups.

        What the index of files and the versions of the mirror's pages hold of it is erased too;
        your own files are not.

        The wordings that were merged into a memory say the same, so they go with it (`wordings`
        lists them), and `erased` counts them. Records of what was said and done (events, episodes,
        the scratch pad) keep the rest of what they say; other memories that repeat it, or ever did,
        stay and are named in `repeated`. What somebody wrote on pages and in shared files by then
        is taken in first. Cannot be undone. `unreached` names the files of the home that may still
        hold it; a purge that was stopped is finished by whoever opens the home next.

        The id of a passage of a past conversation ("said_…") stands for its words: they go from
        the log and from all that repeats it, and no import of that conversation brings them back.
        """
        from reverie.erasure.purge import purge_everywhere
        from reverie.transcripts.passage_hits import find_passages

        # What recorders still hold could repeat the erased text afterwards.
        self._flush()
        wanted = check_texts(ids, "ids")
        passages = find_passages(self._store.transcripts, wanted)
        named = {found.id for found in passages}
        kept = [id for id in wanted if id not in named]
        erased, result = purge_everywhere(
            self._work,
            lambda: (*self._get_memories(kept), *self.wordings(kept)),
            [found.passage.text for found in passages],
            self._now,
        )
        self._context.no_longer_active += erased.ids
        self._context.withdraw_inactive()
        self._drop_waiting_spans()
        return result

    def _drop_waiting_spans(self) -> None:
        """Spans that wait to be sent may hold texts, where their owner asks for that."""
        from reverie.runtime.span_spool import SpanSpool

        SpanSpool(self._settings.home).clear()

    def scrub(
        self,
        texts: Sequence[str] | str = (),
        *,
        write: bool = False,
        copies: bool = False,
        on: Callable[[str, int, int | None], None] | None = None,
    ) -> ScrubReport:
        """Look through everything that is stored for secrets that today's rules know; with `write`,
        take them out.

        For what was kept before a shape was known, by an older version or by another program.
        `texts` are looked for instead, in any letter case: a leaked password that has no shape.
        What is taken out is gone for good, from the history too; all else about a memory stays.
        `copies`: with `write`, backups are cleaned as well, and damaged files and versions of files
        that hold it are deleted; else they are only named. `on` is told (stage, done, total). The
        answer never holds a secret. A run that is interrupted or killed keeps what it did, and
        whoever opens the home next does the rest.
        """
        from reverie.erasure import scrub
        from reverie.privacy.scrub_rules import TextScrubber

        # A single text is a sequence of its letters, none of which is meant.
        sought = (texts,) if isinstance(texts, str) else tuple(texts)
        scrubber = TextScrubber(sought, self._policy)
        self._flush()
        tell = on or (lambda *_: None)
        report = scrub.scrub_everywhere(
            self._work, scrubber, self._now, tell, write=write, copies=copies
        )
        if write:
            # Their texts have changed, so blocks that wait must not show the old ones.
            scrubbed = [find.name for find in report.finds if find.what == "memory"]
            self._context.no_longer_active += scrubbed
            self._drop_waiting_spans()
        self._context.withdraw_inactive()
        return report


def default_share_path() -> Path:
    """The default file by which the team of the present project shares memories."""
    return config.find_work_tree(config.working_directory()) / ".jaato" / "memories.jsonl"


def list_project_folders() -> tuple[Path, ...]:
    """The folders by which another program may know the project of the working directory."""
    here = config.working_directory()
    return tuple(dict.fromkeys((here, config.find_work_tree(here), config.find_project_root(here))))
