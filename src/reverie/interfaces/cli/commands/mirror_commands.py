"""The commands mirror and share: memories beside files, pages for people and lines of JSON for a
team, in step.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import Mind
from reverie.core import config
from reverie.core.atomic_file import make_private_folder
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker
from reverie.interfaces.cli.mirror_status import find_unsynced_shares, format_mirror_question
from reverie.interfaces.cli.terminal_output import print_json, print_line, print_note
from reverie.mirror.home_place import forget_original, is_originals_mirror, read_original

commands = CommandTable()

# How `share FILE` ends where the file is left alone: as for what somebody else changed meanwhile
EXIT_CONFLICT = 4
DEBOUNCE_MS = 1_500  # without a change before a page is read
MAX_DEBOUNCE_MS = 15_000  # after which it is read although somebody goes on writing
POLL_MS = 5_000  # between looks at what the program has altered


@commands.add("mirror")
def mirror_pages(
    cli: CliContext,
    forget: Annotated[
        bool | None,
        typer.Option(
            "--yes/--no", help="Many lines are gone from a page: forget them, or write them again."
        ),
    ] = None,
    watch: Annotated[bool, "Keep running, and do it whenever a page is saved."] = False,
    where: Annotated[bool, "Only say where the pages are."] = False,
    afresh: Annotated[bool, "Look at every memory and page."] = False,
    own: Annotated[
        bool, "A home that was copied goes on by itself, with pages of its own."
    ] = False,
) -> None:
    """Bring memories and their Markdown pages in step.

    MEMORY.md and memory/<day>.md are yours to edit.
    """
    if own:
        part_from_original(cli)
        if cli.settings.mirror_root is None:
            cli.answer({"spaces": []}, "This home goes on by itself. It has no pages.")
            return
    with cli.open_mind() as mind:
        root = require_mirror_root(mind)
        if where:
            print_page_paths(cli, mind, root)
            return
        reports = mind.data.mirror(
            cli.named_space,
            forget=forget,
            afresh=afresh,
        )
        may_ask = forget is None and not cli.as_json and sys.stdin.isatty()
        if may_ask and any(report.questions for report in reports):
            reports = ask_about_gone_lines(mind, cli, reports)
        # With --watch each change is a line of its own, so that a program can follow.
        if cli.as_json and not watch:
            print_json({"spaces": [mirror_to_json(report) for report in reports]})
            return
        print_mirror_report(reports, quiet=watch)
        if watch:
            watch_mirror(mind, cli, root)


def part_from_original(cli: CliContext) -> None:
    """Forget that a home is a copy; its pages are within it, if they were the original's."""
    with cli.open_mind() as mind:
        root = mind.settings.mirror_root
        if not read_original(mind.store):
            raise BadInput(f"{mind.settings.home} is no copy of another home")
        theirs = root is not None and is_originals_mirror(mind.store, mind.settings, root)
    if theirs:
        # Written first: killed in between, the original's pages are still left alone.
        config.save_settings(cli.settings, mirror=config.Settings(cli.settings.home).mirror)
        cli.settings = config.load_settings(cli.settings.home)
    with cli.open_mind() as mind:
        forget_original(mind.store)


@commands.add("share")
def share_file(
    cli: CliContext,
    file: Annotated[
        Path | None,
        "FILE",
        "Default: this project's .jaato/memories.jsonl.",
    ] = None,
    start: Annotated[bool, "Keep the file in step from now on."] = False,
    export: Annotated[bool, "Only write to the file, once."] = False,
    take: Annotated[
        bool, typer.Option("--import", help="Only take in what the file has, once.")
    ] = False,
    stop: Annotated[bool, "Keep the file in step no longer; it stays as it is."] = False,
    trusted: Annotated[
        bool | None,
        typer.Option(
            "--trusted/--untrusted",
            help="People review what is committed there: what lines say is believed "
            "as extracted. Remembered with the file.",
        ),
    ] = None,
) -> None:
    """Keep a file of JSON lines in step with a space.

    So that a team can commit it. Without any of it, list the files.
    """
    if sum((start, export, take, stop)) > 1:
        raise BadInput("One of --start, --export, --import and --stop at a time")
    with cli.open_mind() as mind:
        if stop or not (file or start or export or take or trusted is not None):
            if stop:
                mind.data.unshare(file, space=cli.space)
            list_shares(cli, mind)
            return
        done = mind.data.share(
            file,
            space=cli.space,
            once="export" if export else "import" if take else "",
            trusted=trusted,
        )
        hand_to_worker(cli, mind)
    for trouble in done.troubles:
        print_note(trouble)
    back = f" Back: reverie undo {done.event}" if done.event else ""
    written = " were written" if done.written else ""
    cli.answer(
        done,
        f"{done.share.path}: {done.lines:,} lines{written}; taken in: {done.new:,} new, "
        f"{done.revised:,} revised, {done.forgotten:,} forgotten.{back}",
    )
    if done.stuck:
        raise typer.Exit(EXIT_CONFLICT)


def list_shares(cli: CliContext, mind: Mind) -> None:
    """The files that are kept in step with a space, and which of them are not just now."""
    paths, firm = (
        mind.data.shares(space=cli.space),
        mind.data.shares(
            space=cli.space,
            trusted=True,
        ),
    )
    left_alone = find_unsynced_shares(mind, cli.space)
    view = (
        f"{path}{'  (trusted)' if path in firm else ''}"
        f"{'  (not in step)' if path in left_alone else ''}"
        for path in paths
    )
    cli.answer(
        {
            "space": cli.space,
            "files": paths,
            "trusted": firm,
            "troubles": left_alone,
        },
        view if paths else f"No file is shared from {cli.space}. Begin: reverie data share --start",
    )
    for why in left_alone.values():
        cli.note(why)


def require_mirror_root(mind: Mind) -> Path:
    """Where the mirror is; BadInput where there is none."""
    from reverie.mirror.mirror_sync import find_mirror_root

    root = find_mirror_root(mind.settings, mind.store)
    if root is None:
        raise BadInput(
            'There is no mirror: it is switched off (mirror = "off" in config.toml, or REVERIE_OFF)'
        )
    return root


def print_page_paths(
    cli: CliContext,
    mind: Mind,
    root: Path,
) -> None:
    """Tell where the pages of each space are."""
    from reverie.mirror.mirror_folder import MirrorFolder
    from reverie.mirror.mirror_sync import list_mirrored_spaces

    spaces = sorted(list_mirrored_spaces(mind.store)) if cli.named_space is None else [cli.space]
    paths = {space: str(MirrorFolder(root, space).path / "MEMORY.md") for space in spaces}
    nothing = f"No space has pages yet. They will be in {root}"
    cli.answer({"root": root, "pages": paths}, paths.values(), nothing)


def ask_about_gone_lines(
    mind: Mind,
    cli: CliContext,
    reports: Sequence[Any],
) -> list[Any]:
    """Ask about the pages of which many lines are gone, and go on as answered."""
    for report in reports:
        for name, gone, of in report.questions:
            print_note(f"{report.folder / name}: {gone:,} of {of:,} lines are gone.")
    forget = typer.confirm("Forget them? (No writes them to the page again.)", err=True)
    return mind.data.mirror(cli.named_space, forget=forget)


def print_mirror_report(reports: Sequence[Any], *, quiet: bool = False) -> None:
    """Tell what was done, one line for each space in which something was."""
    is_any_done = False
    for report in reports:
        pages = "page" if len(report.pages) == 1 else "pages"
        counts = {
            "remembered": report.new,
            "revised": report.revised,
            "forgotten": report.forgotten,
            f"{pages} written": len(report.pages),
        }
        parts = [f"{count:,} {what}" for what, count in counts.items() if count]
        if parts:
            undo = f". Undo: reverie undo {report.events[-1]}" if report.events else ""
            print_line(f"{report.space}: {', '.join(parts)}{undo}")
            is_any_done = True
        for id in report.clashes:
            print_note(
                f"{id} was changed or forgotten meanwhile: your line was taken; see: reverie "
                f"memory history {id}"
            )
        for trouble in report.troubles:
            print_note(trouble)
        for name, gone, of in report.questions:
            print_note(format_mirror_question(report.folder / name, gone, of))
    if not is_any_done and not quiet:
        print_line("Pages and memories are in step.")


def watch_mirror(
    mind: Mind,
    cli: CliContext,
    root: Path,
) -> None:
    """Whenever a page has been left alone for a moment after a change, and when memories have been
    altered.
    """
    from watchfiles import watch

    make_private_folder(root)
    print_note(
        f"Watching {root}. Ctrl-C ends it; what is saved later is taken in by the next one "
        "who looks."
    )
    # Looks every POLL_MS also without a change of a file: memories may have been altered by others.
    for _ in watch(
        root,
        watch_filter=lambda _, path: is_page_path(path),
        step=DEBOUNCE_MS,
        debounce=MAX_DEBOUNCE_MS,
        rust_timeout=POLL_MS,
        yield_on_timeout=True,
    ):
        reports = mind.data.mirror(cli.named_space)
        if cli.as_json:
            for report in reports:
                if report.taken or report.pages:
                    print_json(mirror_to_json(report), line=True)
        else:
            print_mirror_report(reports, quiet=True)


def is_page_path(path: str) -> bool:
    """True for a page, not for what an editor or the mirror itself keeps beside it."""
    return path.endswith(".md") and not any(part.startswith(".") for part in Path(path).parts[-3:])


def mirror_to_json(report: Any) -> dict[str, Any]:
    """What was done in one space, as JSON values."""
    return {
        **report._asdict(),
        "questions": [
            {
                "page": name,
                "gone": gone,
                "of": of,
            }
            for name, gone, of in report.questions
        ],
    }
