"""Commands about files: reverie files add, remove, list, sync, search, show, note, update, history,
restore.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie import Mind
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, Limit
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker
from reverie.interfaces.cli.terminal_output import (
    note_left_out,
    print_json,
    print_line,
    print_note,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin

if TYPE_CHECKING:
    from reverie.notes.note_indexing import IndexReport
    from reverie.notes.note_results import SearchedFolder, WrittenFile

commands = CommandTable()
DEBOUNCE_MS = 1_500  # of changes that are taken together

Place = Annotated[Path, "PATH", "A file: the whole path, or from one of the folders."]
Tree = Annotated[Path, "FOLDER", "A folder."]
Words = Annotated[list[str], "TEXT", "The text; “-” reads it from stdin."]


@commands.add("add")
def add_folder(
    cli: CliContext,
    folder: Tree,
    index: Annotated[bool, typer.Option("--sync/--no-sync", help="Index it now.")] = True,
) -> None:
    """Let memory search the texts of a folder."""
    with cli.open_mind() as mind:
        mind.files.add_folder(folder, space=cli.space)
        done = sync_with_progress(cli, mind) if index else None
        print_folders(cli, mind.files.folders(space=cli.space), done)


@commands.add("remove")
def remove_folder(cli: CliContext, folder: Tree) -> None:
    """Do not search a folder any longer.

    Its files stay as they are.
    """
    with cli.open_mind() as mind:
        gone = mind.files.remove_folder(folder, space=cli.space)
    cli.answer(
        {"removed": gone.path},
        f"{gone.path} is not searched any longer; what was indexed of it is erased.",
    )


@commands.add("list")
def list_folders(cli: CliContext) -> None:
    """The folders that are searched.

    And how much of them is indexed.
    """
    with cli.open_mind() as mind:
        print_folders(cli, mind.files.folders(space=cli.space), None)


@commands.add("sync")
def sync_folders(
    cli: CliContext,
    watch: Annotated[bool, "Go on: index whatever changes, until Ctrl-C."] = False,
    afresh: Annotated[bool, "Throw the index away first."] = False,
    within: Annotated[
        float | None,
        typer.Option(
            "--within",
            metavar="SECONDS",
            min=0,
            help="Stop then; the next sync goes on there.",
        ),
    ] = None,
) -> None:
    """Index what is new or changed, drop what is gone."""
    with cli.open_mind() as mind:
        print_sync_result(
            cli,
            sync_with_progress(
                cli,
                mind,
                afresh=afresh,
                within=within,
            ),
        )
        for _ in watch_folders(mind, cli.space) if watch else ():
            print_sync_result(cli, sync_with_progress(cli, mind))


@commands.add("search")
def search_folders(
    cli: CliContext,
    query: Annotated[list[str], "QUESTION", "What to look for."],
    limit: Limit = 5,
    mode: Annotated[str, "auto, dense or words."] = "auto",
) -> None:
    """Passages of files for a question.

    Path, lines, text, score, why.
    """
    question = read_text_or_stdin(query)
    if not question.strip():
        raise BadInput("The question is empty: say what to look for")
    with cli.open_mind() as mind:
        found = mind.files.search(
            question,
            space=cli.space,
            limit=limit,
            mode=mode,
        )
    view = (
        f"{passage.path}:{passage.first}-{passage.last}  {passage.score:.2f}  "
        f"{', '.join(passage.why)}\n    " + passage.text.strip("\n").replace("\n", "\n    ")
        for passage in found
    )
    nothing = "Nothing was found. reverie files list shows which folders are searched."
    cli.answer({"passages": found}, view if found else nothing)


@commands.add("show")
def show_file(
    cli: CliContext,
    path: Place,
    start: Annotated[
        int,
        typer.Option(
            "--start",
            min=1,
            help="The first line.",
        ),
    ] = 1,
    lines: Annotated[
        int | None,
        typer.Option(
            "--lines",
            "-n",
            min=0,
            help="How many lines (default: all).",
        ),
    ] = None,
) -> None:
    """Lines of a file, without secrets."""
    with cli.open_mind() as mind:
        excerpt = mind.files.read(
            path,
            start=start,
            lines=lines,
            space=cli.space,
        )
    cli.answer(excerpt, excerpt.text)


@commands.add("note")
def write_note(cli: CliContext, text: Words) -> None:
    """Write what happened into today's log.

    It is kept as an episode, too.
    """
    with cli.open_mind() as mind:
        noted = mind.files.save_note(
            read_text_or_stdin(text),
            space=cli.space,
            provenance="user_stated",
        )
        hand_to_worker(cli, mind)
    if noted.path:
        done = "written into today's log."
    else:
        done = f"remembered; the day's page was not written: {noted.why}"
    cli.answer(noted, f"{noted.memory.id}  {done}")


@commands.add("update")
def update_file(
    cli: CliContext,
    path: Place,
    text: Words,
    replace: Annotated[bool, "Put the text in the file's place."] = False,
) -> None:
    """Append to a file, or replace it.

    What was written is remembered; what it was before can be restored.
    """
    with cli.open_mind() as mind:
        written = mind.files.update(
            path,
            read_text_or_stdin(text),
            "replace" if replace else "append",
            space=cli.space,
            provenance="user_stated",
        )
        hand_to_worker(cli, mind)
    print_written_file(cli, written)


@commands.add("history")
def show_file_history(cli: CliContext, path: Place) -> None:
    """What a file was before Reverie wrote to it.

    Each time, the latest first.
    """
    from reverie.memory.history_text import format_moment

    with cli.open_mind() as mind:
        versions = mind.files.history(path, space=cli.space)
    view = (
        f"{version.number:>8}  {format_moment(version.at)}  {version.why:<8}  "
        + (f"{version.size:,} bytes" if version.hash else "there was no such file")
        for version in versions
    )
    cli.answer({"versions": versions}, view if versions else "Reverie has not written to it.")


@commands.add("restore")
def restore_file(
    cli: CliContext,
    path: Place,
    version: Annotated[
        int | None,
        "NUMBER",
        "Of history (default: the last).",
    ] = None,
) -> None:
    """Put a file back as it was before an update.

    What it is now is kept too.
    """
    with cli.open_mind() as mind:
        written = mind.files.restore(path, version, space=cli.space)
    print_written_file(cli, written)


def sync_with_progress(cli: CliContext, mind: Mind, **how: Any) -> "IndexReport":
    """Sync with a bar; vectors are left to the background."""
    done = mind.files.sync(
        space=cli.space,
        progress=cli.progress,
        **how,
    )
    cli.progress.clear()
    hand_to_worker(cli, mind)
    return done


def watch_folders(mind: Mind, space: str) -> Iterator[None]:
    """Each time that something has changed in a folder of the space; ends with Ctrl-C."""
    from watchfiles import watch

    folders = [folder.path for folder in mind.files.folders(space=space) if folder.there]
    if not folders:
        raise BadInput("There is no folder to watch. Add one: reverie files add FOLDER")
    print_note(f"Watching {', '.join(folders)}. Ctrl-C stops.")
    # A folder below that may not be read (another user's) must not end the watching.
    for _ in watch(
        *folders,
        debounce=DEBOUNCE_MS,
        raise_interrupt=True,
        ignore_permission_denied=True,
    ):
        yield


def print_folders(
    cli: CliContext,
    folders: "list[SearchedFolder]",
    done: "IndexReport | None",
) -> None:
    """Say which folders there are."""
    view = (line for folder in folders for line in describe_folder(folder))
    cli.answer(
        {"folders": folders, **({"synced": done} if done else {})},
        view if folders else "No folder is searched. Add one: reverie files add FOLDER",
    )
    if done and not cli.as_json:
        note_skipped_files(done)


def describe_folder(folder: "SearchedFolder") -> Iterator[str]:
    """Where it is, and how much of it is indexed."""
    state = "" if folder.there else "  (not there just now)"
    indexed = folder.indexed
    waiting = f", {indexed.waiting:,} without a vector yet" if indexed.waiting else ""
    yield f"{folder.path}  {folder.space}{'  mirror' if folder.own else ''}{state}"
    yield f"    {indexed.files:,} files, {indexed.chunks:,} chunks{waiting}"


def print_sync_result(cli: CliContext, done: "IndexReport") -> None:
    """Say what a sync did."""
    if cli.as_json:
        print_json(done, line=True)
        return
    print_line(
        f"{done.files:,} files: {done.indexed:,} indexed, {done.gone:,} gone; chunks: "
        f"{done.chunks.added:,} new, "
        f"{done.chunks.kept:,} kept, {done.chunks.dropped:,} dropped."
    )
    note_skipped_files(done)


def note_skipped_files(done: "IndexReport") -> None:
    """What a sync left out, and why."""
    note_left_out(done.skipped)
    for path in done.missing:
        print_note(f"{path} is not there just now; what is known of it is kept.")
    if done.stopped:
        print_note("There was no time for all of it; the next reverie files sync goes on there.")


def print_written_file(cli: CliContext, written: "WrittenFile") -> None:
    """Say which file was written, and how to take it back."""
    cli.answer(
        written,
        f"{len(written.memories)} remembered; {written.path} was not written: {written.why}"
        if written.why
        else f"{written.path} was written. Back: reverie files restore {written.path} "
        f"{written.version}",
    )
