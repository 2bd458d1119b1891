"""Commands about files: reverie files add, remove, list, sync, search, show, note, update, history,
restore.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie import Mind
from reverie.core.errors import BadInput
from reverie.interfaces.cli import terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, Limit, command
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker

if TYPE_CHECKING:
    from reverie.notes.note_indexing import IndexReport
    from reverie.notes.note_results import SearchedFolder, WrittenFile

PANEL = "Files"
DEBOUNCE_MS = 1_500  # milliseconds of changes that are taken together (CONSTANTS: watch debounce)

Place = Annotated[
    Path, typer.Argument(metavar="PATH", help="A file: the whole path, or from one of the folders.")
]
Tree = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder.")]
Words = Annotated[
    list[str], typer.Argument(metavar="TEXT", help="The text; “-” reads it from stdin.")
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    group = typer.Typer(
        name="files", no_args_is_help=True, help="Search folders of notes, and write into them."
    )
    for name, function in (
        ("add", add_folder),
        ("remove", remove_folder),
        ("list", list_folders),
        ("sync", sync_folders),
        ("search", search_folders),
        ("show", show_file),
        ("note", write_note),
        ("update", update_file),
        ("history", show_file_history),
        ("restore", restore_file),
    ):
        command(group, name, panel=PANEL)(function)
    app.add_typer(group, rich_help_panel=PANEL)


def add_folder(
    desk: CliContext,
    folder: Tree,
    index: Annotated[bool, typer.Option("--sync/--no-sync", help="Index it now.")] = True,
) -> None:
    """Let memory search the texts of a folder."""
    with desk.mind() as mind:
        mind.add_folder(folder, space=desk.space)
        done = sync_with_progress(desk, mind) if index else None
        print_folders(desk, mind.folders(space=desk.space), done)


def remove_folder(desk: CliContext, folder: Tree) -> None:
    """Do not search a folder any longer. Its files stay as they are."""
    with desk.mind() as mind:
        gone = mind.remove_folder(folder, space=desk.space)
    if desk.json:
        terminal_output.print_json({"removed": gone.path})
    else:
        terminal_output.print_line(
            f"{gone.path} is not searched any longer; what was indexed of it is erased."
        )


def list_folders(desk: CliContext) -> None:
    """The folders that are searched, and how much of them is indexed."""
    with desk.mind() as mind:
        print_folders(desk, mind.folders(space=desk.space), None)


def sync_folders(
    desk: CliContext,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: index whatever changes, until Ctrl-C.")
    ] = False,
    afresh: Annotated[bool, typer.Option("--afresh", help="Throw the index away first.")] = False,
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
    with desk.mind() as mind:
        print_sync_result(desk, sync_with_progress(desk, mind, afresh=afresh, within=within))
        for _ in watch_folders(mind, desk.space) if watch else ():
            print_sync_result(desk, sync_with_progress(desk, mind))


def search_folders(
    desk: CliContext,
    query: Annotated[list[str], typer.Argument(metavar="QUESTION", help="What to look for.")],
    limit: Limit = 5,
    mode: Annotated[str, typer.Option("--mode", help="auto, dense or words.")] = "auto",
) -> None:
    """Passages of files for a question: path, lines, text, score, why."""
    with desk.mind() as mind:
        found = mind.search_files(
            user_input.read_text_or_stdin(query), space=desk.space, limit=limit, mode=mode
        )
    if desk.json:
        terminal_output.print_json(
            {"passages": [{**one._asdict(), "stamp": one.stamp._asdict()} for one in found]}
        )
        return
    for one in found:
        terminal_output.print_line(
            f"{one.path}:{one.first}-{one.last}  {one.score:.2f}  {', '.join(one.why)}"
        )
        terminal_output.print_line("    " + one.text.strip("\n").replace("\n", "\n    "))
    if not found:
        terminal_output.print_line(
            "Nothing was found. reverie files list shows which folders are searched."
        )


def show_file(
    desk: CliContext,
    path: Place,
    start: Annotated[int, typer.Option("--start", min=1, help="The first line.")] = 1,
    lines: Annotated[
        int | None, typer.Option("--lines", "-n", min=0, help="How many lines (default: all).")
    ] = None,
) -> None:
    """Lines of a file, without secrets."""
    with desk.mind() as mind:
        excerpt = mind.read_file(path, start=start, lines=lines, space=desk.space)
    if desk.json:
        terminal_output.print_json(excerpt._asdict())
    else:
        terminal_output.print_line(excerpt.text)


def write_note(desk: CliContext, text: Words) -> None:
    """Write what happened into today's log, and keep it as an episode."""
    with desk.mind() as mind:
        noted = mind.save_note(
            user_input.read_text_or_stdin(text), space=desk.space, provenance="user_stated"
        )
        hand_to_worker(desk, mind)
    if desk.json:
        terminal_output.print_json(
            {**noted._asdict(), "memory": terminal_output.memory_to_json(noted.memory)}
        )
    elif noted.path:
        terminal_output.print_line(f"{noted.memory.id}  written into today's log.")
    else:
        terminal_output.print_line(
            f"{noted.memory.id}  remembered; the day's page was not written: {noted.why}"
        )


def update_file(
    desk: CliContext,
    path: Place,
    text: Words,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put the text in the file's place.")
    ] = False,
) -> None:
    """Append to a file (or replace it) and remember what was written. What it was before can be
    restored.
    """
    with desk.mind() as mind:
        written = mind.update_file(
            path,
            user_input.read_text_or_stdin(text),
            "replace" if replace else "append",
            space=desk.space,
            provenance="user_stated",
        )
        hand_to_worker(desk, mind)
    print_written_file(desk, written)


def show_file_history(desk: CliContext, path: Place) -> None:
    """What a file was each time before Reverie wrote to it, the latest first."""
    from reverie.memory.history_text import format_moment

    with desk.mind() as mind:
        versions = mind.file_history(path, space=desk.space)
    if desk.json:
        terminal_output.print_json({"versions": [one._asdict() for one in versions]})
        return
    for one in versions:
        what = f"{one.size:,} bytes" if one.hash else "there was no such file"
        terminal_output.print_line(
            f"{one.number:>8}  {format_moment(one.at)}  {one.why:<8}  {what}"
        )
    if not versions:
        terminal_output.print_line("Reverie has not written to it.")


def restore_file(
    desk: CliContext,
    path: Place,
    version: Annotated[
        int | None,
        typer.Argument(metavar="NUMBER", help="Of history (default: the last)."),
    ] = None,
) -> None:
    """Put a file back as it was before an update. What it is now is kept too."""
    with desk.mind() as mind:
        written = mind.restore_file(path, version, space=desk.space)
    print_written_file(desk, written)


def sync_with_progress(desk: CliContext, mind: Mind, **how: Any) -> "IndexReport":
    """Sync with a bar; vectors are left to the background."""
    done = mind.sync_files(space=desk.space, progress=desk.telling, **how)
    desk.telling.rest()
    hand_to_worker(desk, mind)
    return done


def watch_folders(mind: Mind, space: str) -> Iterator[None]:
    """Each time that something has changed in a folder of the space; ends with Ctrl-C."""
    from watchfiles import watch

    folders = [folder.path for folder in mind.folders(space=space) if folder.there]
    if not folders:
        raise BadInput("There is no folder to watch. Add one: reverie files add FOLDER")
    terminal_output.print_note(f"Watching {', '.join(folders)}. Ctrl-C stops.")
    for _ in watch(
        *folders, debounce=DEBOUNCE_MS, raise_interrupt=True, ignore_permission_denied=True
    ):
        yield


def print_folders(
    desk: CliContext, folders: "list[SearchedFolder]", done: "IndexReport | None"
) -> None:
    """Say which folders there are."""
    if desk.json:
        terminal_output.print_json(
            {
                "folders": [{**one._asdict(), "indexed": one.indexed._asdict()} for one in folders],
                **({"synced": sync_to_json(done)} if done else {}),
            }
        )
        return
    for one in folders:
        state = "" if one.there else "  (not there just now)"
        waiting = f", {one.indexed.waiting:,} without a vector yet" if one.indexed.waiting else ""
        terminal_output.print_line(f"{one.path}  {one.space}{'  mirror' if one.own else ''}{state}")
        terminal_output.print_line(
            f"    {one.indexed.files:,} files, {one.indexed.chunks:,} chunks{waiting}"
        )
    if not folders:
        terminal_output.print_line("No folder is searched. Add one: reverie files add FOLDER")
    if done:
        note_skipped_files(done)


def print_sync_result(desk: CliContext, done: "IndexReport") -> None:
    """Say what a sync did."""
    if desk.json:
        terminal_output.print_json(sync_to_json(done), line=True)
        return
    terminal_output.print_line(
        f"{done.files:,} files: {done.indexed:,} indexed, {done.gone:,} gone; chunks: {done.chunks.added:,} new, "
        f"{done.chunks.kept:,} kept, {done.chunks.dropped:,} dropped."
    )
    note_skipped_files(done)


def note_skipped_files(done: "IndexReport") -> None:
    """What a sync left out, and why."""
    if done.skipped:
        terminal_output.print_note(
            "Left out: "
            + ", ".join(f"{count:,} {why}" for why, count in sorted(done.skipped.items()))
            + "."
        )
    for path in done.missing:
        terminal_output.print_note(f"{path} is not there just now; what is known of it is kept.")
    if done.stopped:
        terminal_output.print_note(
            "There was no time for all of it; the next reverie files sync goes on there."
        )


def sync_to_json(done: "IndexReport") -> dict[str, Any]:
    """What a sync did, as JSON values."""
    return {**done._asdict(), "chunks": done.chunks._asdict()}


def print_written_file(desk: CliContext, written: "WrittenFile") -> None:
    """Say which file was written, and how to take it back."""
    if desk.json:
        terminal_output.print_json(
            {
                **written._asdict(),
                "memory": terminal_output.memory_to_json(written.memory)
                if written.memory
                else None,
                "memories": [terminal_output.memory_to_json(one) for one in written.memories],
            }
        )
    elif written.why:
        terminal_output.print_line(
            f"{len(written.memories)} remembered; {written.path} was not written: {written.why}"
        )
    else:
        terminal_output.print_line(
            f"{written.path} was written. Back: reverie files restore {written.path} {written.version}"
        )
