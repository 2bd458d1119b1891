"""The group `code`: what a repository defines and who uses it; of which code memories speak."""

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.code_anchors import anchors_of, outdated_notice
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import (
    CliContext,
    CommandTable,
    Limit,
    LimitFromOne,
    OptionalMemoryId,
    RepositoryFolder,
)
from reverie.interfaces.cli.terminal_output import (
    note_left_out,
    one_line,
    print_note,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin
from reverie.memory.short_ids import shorten_id

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.code.code_indexing import CodeIndexReport
    from reverie.code.similar_code import SimilarChunk
    from reverie.core.model import Memory
    from reverie.runtime.mind.code_verbs import AnchorView

commands = CommandTable()

Name = Annotated[
    str,
    "NAME",
    "A name: print, Console.print, or rich/console.py:print.",
]


def note_incomplete_index(mind: "Mind", root: Path | None) -> None:
    """Say that answers may lack, where indexing has not come to its end."""
    if not mind.code.is_whole(root):
        print_note(
            "The index is not whole: indexing is going on or was interrupted. Go on with: "
            "reverie code index"
        )


@commands.add("index", spaced=False)
def index_folder_code(
    cli: CliContext,
    path: Annotated[
        Path | None,
        "PATH",
        "The folder (default: the repository of this one).",
    ] = None,
    forget: Annotated[bool, "Erase what was indexed of it instead."] = False,
) -> None:
    """Index the code of a repository.

    What it defines, and who uses what. Only what changed is parsed again.
    """
    with cli.open_mind() as mind:
        if forget:
            mind.code.forget(path or Path())
            done = None
        else:
            done = mind.code.index(path, cli.progress)
            cli.progress.clear()
    if done:
        cli.answer(done, describe_index_result(done))
    else:
        cli.answer({"forgotten": True}, "What was indexed of it is erased.")


def describe_index_result(done: "CodeIndexReport") -> Iterator[str]:
    """What indexing did."""
    yield (
        f"{done.root}: {done.files:,} files, {done.parsed:,} parsed, {done.gone:,} gone; "
        f"{done.size.symbols:,} symbols, {done.size.edges:,} uses."
    )
    note_left_out(done.skipped)


@commands.add("map", spaced=False)
def show_code_map(
    cli: CliContext,
    focus: Annotated[
        list[str] | None,
        typer.Option(
            "--focus",
            metavar="NAME",
            help="A file or symbol to look from. Repeatable.",
        ),
    ] = None,
    tokens: Annotated[
        int,
        typer.Option(
            "--tokens",
            "-t",
            min=1,
            help="How long it may be.",
        ),
    ] = 1_000,
    root: RepositoryFolder = None,
) -> None:
    """The most important functions and classes.

    Those of a repository, as many as there is room for.
    """
    with cli.open_mind() as mind:
        made = mind.code.map(tokens, focus or (), root=root)
        note_incomplete_index(mind, root)
    cli.answer(made, made.text)
    if made.left:
        cli.note(f"{made.left:,} more have no room in {tokens:,} tokens.")


@commands.add("callers", spaced=False)
def list_callers(
    cli: CliContext,
    name: Name,
    sure: Annotated[bool, "Only calls that are known to mean it."] = False,
    root: RepositoryFolder = None,
) -> None:
    """Where a function, method or class is called.

    Across files.
    """
    with cli.open_mind() as mind:
        known = mind.code.find_symbol(name, root=root)
        found = mind.code.callers(
            name,
            root=root,
            unsure=not sure,
        )
        note_incomplete_index(mind, root)
    # The name alone does not say which one is called.
    several = len({definition.path for definition in known}) > 1
    view = (
        f"{'' if caller.sure else '?  '}{one_line(caller.path)}:{caller.line}  "
        f"{caller.within or 'the file itself'}  → {caller.name}"
        f"{f' of {caller.to}' if several and caller.to else ''}  {', '.join(caller.why)}"
        for caller in found
    )
    nothing = f"Nothing calls {name}." if known else f"Nothing is called {name} here."
    cli.answer({"callers": found}, view if found else nothing)


@commands.add("symbol", spaced=False)
def find_definitions(
    cli: CliContext,
    name: Name,
    limit: LimitFromOne = 20,
    root: RepositoryFolder = None,
) -> None:
    """Where a name is defined."""
    with cli.open_mind() as mind:
        found = mind.code.find_symbol(
            name,
            root=root,
            limit=limit,
        )
        note_incomplete_index(mind, root)
    view = (
        f"{one_line(symbol.path)}:{symbol.first}-{symbol.last}  {symbol.kind}  "
        f"{symbol.name}  {symbol.head}"
        for symbol in found
    )
    cli.answer({"symbols": found}, view if found else f"Nothing is called {name} here.")


@commands.add("similar", spaced=False)
def show_similar_code(
    cli: CliContext,
    text: Annotated[
        list[str],
        "TEXT",
        "Code, or words for what it does; “-” reads it from stdin.",
    ],
    limit: LimitFromOne = 10,
    lines: Annotated[
        int,
        typer.Option(
            "--lines",
            min=0,
            help="Lines of each to show.",
        ),
    ] = 6,
    root: RepositoryFolder = None,
) -> None:
    """Code that is like some code, or does what words say."""
    with cli.open_mind() as mind:
        found = mind.code.search_similar(
            read_text_or_stdin(text),
            root=root,
            k=limit,
        )
    view = (line for snippet in found for line in describe_snippet(snippet, lines))
    cli.answer({"snippets": found}, view if found else "No code is like that.")


def describe_snippet(snippet: "SimilarChunk", lines: int) -> Iterator[str]:
    """Where it stands and why it was found, then its first lines."""
    name = snippet.symbol or "the file itself"
    why = ", ".join(snippet.why)
    yield f"{snippet.path}:{snippet.first}-{snippet.last}  {name}  {snippet.score:.2f}  {why}"
    shown = snippet.text.split("\n")
    for line in shown[:lines]:
        yield f"    {line}"
    if len(shown) > lines > 0:
        print_note(f"    ({len(shown) - lines:,} more lines)")


PLACE_FORMAT = "PATH[:SYMBOL]"
ABOUT_NO_CODE = (
    "It is about no code. Say what it is about: reverie code anchors ID --on PATH:SYMBOL"
)


@commands.add("anchors")
def show_code_anchors(
    cli: CliContext,
    id: OptionalMemoryId = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar=PLACE_FORMAT,
            help="Code that it is about. Repeatable.",
        ),
    ] = None,
    off: Annotated[
        list[str] | None,
        typer.Option(
            "--off",
            metavar=PLACE_FORMAT,
            help="Code that it is not about. Repeatable.",
        ),
    ] = None,
    still_true: Annotated[bool, "It holds for the code as it is now."] = False,
    limit: Limit = 20,
) -> None:
    """Of which code a memory speaks, then and now.

    Without an id, what speaks of code that has changed or gone.
    """
    if not id and (on or off or still_true):
        raise BadInput("Say which memory: reverie code anchors ID")
    with cli.open_mind() as mind:
        if not id:
            list_outdated(cli, mind.code.outdated(space=cli.space, limit=limit))
            return
        if on or off:
            mind.code.anchor(id, on or (), off=off or ())
        if still_true:
            mind.code.confirm(id)
        memory, found = mind.get(id), mind.code.anchors(id)
    view = (line for anchor in found for line in describe_anchor(anchor))
    cli.answer(
        {"memory": id, "about": found},
        view if found or not memory else ABOUT_NO_CODE,
    )


def list_outdated(cli: CliContext, found: "list[Memory]") -> None:
    """What is out of date."""
    if not found:
        cli.answer({"memories": found}, "Nothing speaks of code that has changed.")
        return
    cli.answer(
        {"memories": found}, (line for memory in found for line in describe_outdated(memory))
    )
    cli.note(
        "See both versions: reverie code anchors ID. "
        "It holds: reverie code anchors ID --still-true. Else: reverie forget ID"
    )


def describe_outdated(memory: "Memory") -> Iterator[str]:
    """A memory that speaks of code as it was, and where that code went."""
    yield f"{shorten_id(memory.id)}  {outdated_notice(memory)}: {one_line(memory.text, 100)}"
    for anchor in anchors_of(memory):
        if anchor.was:
            yield f"    {anchor.was} is {anchor.location} now"


def describe_anchor(anchor: "AnchorView") -> Iterator[str]:
    """One file or symbol, and how it has changed."""
    place = f"{anchor.path}:{anchor.symbol}" if anchor.symbol else anchor.path
    moved = f" (was {anchor.was})" if anchor.was else ""
    yield f"{place}{moved}: {anchor.words or 'as it was when it was said'}"
    if anchor.state and anchor.then != anchor.now:
        for line in unified_diff(
            anchor.then.splitlines(),
            anchor.now.splitlines(),
            "then",
            "now",
            lineterm="",
            n=2,
        ):
            yield f"    {line}"
