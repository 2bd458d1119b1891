"""`reverie data scrub`: secrets that were stored before they were known as such."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.errors import BadInput
from reverie.core.model import SAID
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.remember_commands import (
    MemoryIds,
    require_memory,
)
from reverie.interfaces.cli.terminal_output import (
    print_note,
    print_view,
)

if TYPE_CHECKING:
    from reverie.erasure.scrub import ScrubReport

commands = CommandTable()

MAX_NAMED_PLACES = 5  # places of one sort that are named
EXIT_FOUND = 1  # exit code: something holds a secret, still


@commands.add("scrub", spaced=False)
def scrub_secrets(
    cli: CliContext,
    text: Annotated[
        str | None,
        "Look for this text instead; - asks for it, or reads it from stdin.",
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take out what is found, without asking.")
    ] = False,
    copies: Annotated[
        bool,
        typer.Option(
            "--backups", help="Clean backups too; delete damaged files and versions that hold it."
        ),
    ] = False,
) -> None:
    """Find stored secrets, and take them out.

    Looks by today's rules, in everything; with --yes, takes them out for good.

    Says where, what kind and how many, never the secret. Exit code 1: something still holds
    one.
    """
    texts = () if text is None else (read_searched_text(text),)
    with cli.open_mind() as mind:
        # A look comes first, also with --yes: what it finds is what the question, or the report,
        # speaks of.
        done = mind.data.scrub(texts, on=cli.progress)
        _, busy = split_oversized(done.unreached)
        is_anything_to_do = done.finds or busy or (copies and done.copies)
        if is_anything_to_do and (yes or confirm_scrub(cli, done, copies)):
            try:
                done = mind.data.scrub(
                    texts,
                    write=True,
                    copies=copies,
                    on=cli.progress,
                )
            except KeyboardInterrupt:
                cli.progress.clear()
                print_note(
                    "Stopped. What was taken out stays out; run the same command again to go on."
                )
                raise
    cli.progress.clear()
    cli.answer(scrub_to_json(done), describe_scrub(done, copies))
    if done.holds:
        raise typer.Exit(EXIT_FOUND)


def read_searched_text(text: str) -> str:
    """The text to look for: as given, or typed unseen, or the first line of stdin, so that no shell
    remembers it.
    """
    if text != "-":
        return text
    if sys.stdin.isatty():
        return str(
            typer.prompt(
                "The text to scrub",
                hide_input=True,
                err=True,
            )
        )
    line = sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise BadInput("Nothing came on stdin. Try: reverie data scrub --text - < file")
    return line


def confirm_scrub(
    cli: CliContext,
    done: "ScrubReport",
    copies: bool,
) -> bool:
    """True if somebody at a terminal says yes, having seen what there is; elsewhere a look stays a
    look.
    """
    # The question is asked on stderr: stdout may be redirected, and holds the report alone.
    if cli.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    cli.progress.clear()
    print_view(describe_scrub(done, copies))
    also = f", clean or delete {len(done.copies)} copies" if copies and done.copies else ""
    return typer.confirm(f"Take it out for good{also}? This cannot be undone.", err=True)


def describe_scrub(done: "ScrubReport", copies: bool) -> Iterator[str]:
    """What was found, by kind and by place; what still holds it, and what to do about that."""
    if not done.finds:
        yield ("Nothing found." if not done.holds else "Nothing found in the memory itself.")
    for what, kinds, names in group_finds(done):
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        more = (
            f" and {len(names) - MAX_NAMED_PLACES:,} more" if len(names) > MAX_NAMED_PLACES else ""
        )
        yield (f"{what}: {counts}  ({', '.join(names[:MAX_NAMED_PLACES])}{more})")
    if done.finds and done.written:
        yield (
            "Taken out for good. Vectors and indexes follow by themselves. Change what has "
            "leaked all the same."
        )
    elif done.finds:
        yield ("Nothing was changed. Take it out for good with: reverie data scrub --yes")
    print_paths(
        "Copies that hold it" + ("" if copies else "; --backups cleans or deletes them"),
        done.copies,
    )
    print_paths("Your own files that hold it; Reverie leaves them alone", done.yours)
    oversized, busy = split_oversized(done.unreached)
    print_paths(
        "Being read or written by another process just now; run the same again when it is done",
        busy,
    )
    print_paths("Too large to be read, so nobody knows whether they hold it", oversized)


def split_oversized(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """(those that are too large to be read, the others)."""
    from reverie.erasure.own_files import is_oversized

    rows = list(paths)
    oversized = [path for path in rows if is_oversized(path)]
    return oversized, [path for path in rows if path not in oversized]


def group_finds(done: "ScrubReport") -> Iterable[tuple[str, dict[str, int], list[str]]]:
    """What was found, by sort of place: kinds with their number, and the names of the places."""
    for what in dict.fromkeys(find.what for find in done.finds):
        finds = [find for find in done.finds if find.what == what]
        kinds = Counter[str]()
        for find in finds:
            kinds[find.kind] += find.times
        yield what, dict(sorted(kinds.items())), list(dict.fromkeys(find.name for find in finds))


def print_paths(why: str, paths: Iterable[Path]) -> None:
    """Paths under a line that says what they are."""
    rows = list(paths)
    if rows:
        print_note(f"{why}:")
    for path in rows:
        print_note(f"  {path}")


def scrub_to_json(done: "ScrubReport") -> dict[str, object]:
    """The same as JSON values."""
    return {
        "found": done.finds,
        "kinds": done.kinds,
        "written": done.written,
        "copies": done.copies,
        "yours": done.yours,
        "unreached": done.unreached,
    }


@commands.add("purge", spaced=False)
def erase_memories(
    cli: CliContext,
    ids: MemoryIds,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase memories, or what was said, for good.

    Text, vectors, history, also in the backups. Cannot be undone.
    """
    with cli.open_mind() as mind:
        there = [
            one for id in dict.fromkeys(ids) for one in mind.get(id) or [require_memory(mind, id)]
        ]
        more = len(mind.data.wordings([one.id for one in there if one.provenance != SAID]))
        if not yes and not typer.confirm(
            f"Erase {len(there)}{format_wordings(more)} for good? This cannot be undone.", err=True
        ):
            raise typer.Abort
        done = mind.data.purge([memory.id for memory in there])
    cli.answer(
        {
            "purged": done.erased,
            "unreached": done.unreached,
            "repeated": done.repeated,
        },
        f"Erased {done.erased} for good.",
    )
    if done.repeated:
        print_note(
            "Other memories say the same. To erase them as well: "
            f"reverie data purge {' '.join(done.repeated)}"
        )
    for left in done.unreached:
        print_note(describe_unreached(left, cli.settings.url))


def describe_unreached(left: Path, url: str) -> str:
    """What to do about a file that may still hold what was erased."""
    if url.endswith(str(left)):
        return (
            f"{left} is being read by another process, so its journal still holds it. Once "
            "that is done the worker "
            "clears it by itself, and so does: reverie data scrub --yes"
        )
    if split_oversized([left])[0]:
        return f"{left} is too large to be read and may still hold it. Delete it if so."
    return f"{left} could not be reached and may still hold it. Delete it if so."


def format_wordings(count: int) -> str:
    """What goes with what was named; nothing where nothing was merged into it."""
    what = "wording that was" if count == 1 else "wordings that were"
    return f" and {count:,} {what} merged into it" if count else ""
