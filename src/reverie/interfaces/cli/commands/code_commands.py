"""Commands about code: reverie index, map, callers, symbol, snippets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.interfaces.cli import terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, command

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.code.code_indexing import CodeIndexReport

PANEL = "Code"

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A name: print, Console.print, or rich/console.py:print."),
]
Where = Annotated[
    Path | None,
    typer.Option("--in", metavar="FOLDER", help="A folder of the repository (default: this one)."),
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (
        ("index", index_folder_code),
        ("map", show_code_map),
        ("callers", list_callers),
        ("symbol", find_definitions),
        ("snippets", show_similar_code),
    ):
        command(app, name, panel=PANEL, spaced=False)(function)


def note_incomplete_index(mind: "Mind", root: Path | None) -> None:
    """Say that answers may lack, where indexing has not come to its end."""
    if not mind.code_is_whole(root):
        terminal_output.print_note(
            "The index is not whole: indexing is going on or was interrupted. Go on with: reverie index"
        )


def index_folder_code(
    desk: CliContext,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="The folder (default: the repository of this one)."),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Erase what was indexed of it instead.")
    ] = False,
) -> None:
    """Read the code of a repository: what it defines, and who uses what. Only what changed is
    parsed again.
    """
    with desk.mind() as mind:
        if forget:
            mind.forget_code(path or Path())
            done = None
        else:
            done = mind.index_code(path, desk.telling)
            desk.telling.rest()
    if desk.json:
        terminal_output.print_json(
            {**done._asdict(), "size": done.size._asdict()} if done else {"forgotten": True}
        )
    elif done is None:
        terminal_output.print_line("What was indexed of it is erased.")
    else:
        print_index_result(done)


def print_index_result(done: "CodeIndexReport") -> None:
    """Say what indexing did."""
    terminal_output.print_line(
        f"{done.root}: {done.files:,} files, {done.parsed:,} parsed, {done.gone:,} gone; "
        f"{done.size.symbols:,} symbols, {done.size.edges:,} uses."
    )
    if done.skipped:
        terminal_output.print_note(
            "Left out: "
            + ", ".join(f"{count:,} {why}" for why, count in sorted(done.skipped.items()))
            + "."
        )


def show_code_map(
    desk: CliContext,
    focus: Annotated[
        list[str] | None,
        typer.Option("--focus", metavar="NAME", help="A file or symbol to look from. Repeatable."),
    ] = None,
    tokens: Annotated[
        int, typer.Option("--tokens", "-t", min=1, help="How long it may be.")
    ] = 1_000,
    root: Where = None,
) -> None:
    """The most important functions and classes of a repository."""
    with desk.mind() as mind:
        made = mind.map(tokens, focus or (), root=root)
        note_incomplete_index(mind, root)
    if desk.json:
        terminal_output.print_json(
            {**made._asdict(), "symbols": [one._asdict() for one in made.symbols]}
        )
        return
    terminal_output.print_line(made.text)
    if made.left:
        terminal_output.print_note(f"{made.left:,} more have no room in {tokens:,} tokens.")


def list_callers(
    desk: CliContext,
    name: Name,
    sure: Annotated[
        bool, typer.Option("--sure", help="Only calls that are known to mean it.")
    ] = False,
    root: Where = None,
) -> None:
    """Where a function, method or class is called, across files."""
    with desk.mind() as mind:
        known = mind.find_symbol(name, root=root)
        found = mind.callers(name, root=root, unsure=not sure)
        note_incomplete_index(mind, root)
    if desk.json:
        terminal_output.print_json({"callers": [one._asdict() for one in found]})
        return
    several = len({one.path for one in known}) > 1
    for one in found:
        doubt = "" if one.sure else "?  "
        where = f" of {one.to}" if several and one.to else ""
        terminal_output.print_line(
            f"{doubt}{terminal_output.one_line(one.path)}:{one.line}  {one.within or 'the file itself'}  → {one.name}{where}  "
            f"{', '.join(one.why)}"
        )
    if not found:
        terminal_output.print_line(
            f"Nothing calls {name}." if known else f"Nothing is called {name} here."
        )


def find_definitions(
    desk: CliContext,
    name: Name,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, at most.")] = 20,
    root: Where = None,
) -> None:
    """Where a name is defined."""
    with desk.mind() as mind:
        found = mind.find_symbol(name, root=root, limit=limit)
        note_incomplete_index(mind, root)
    if desk.json:
        terminal_output.print_json({"symbols": [one._asdict() for one in found]})
        return
    for one in found:
        terminal_output.print_line(
            f"{terminal_output.one_line(one.path)}:{one.first}-{one.last}  {one.kind}  {one.name}  {one.head}"
        )
    if not found:
        terminal_output.print_line(f"Nothing is called {name} here.")


def show_similar_code(
    desk: CliContext,
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT", help="Code, or words for what it does; “-” reads it from stdin."
        ),
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, at most.")] = 10,
    lines: Annotated[int, typer.Option("--lines", min=0, help="Lines of each to show.")] = 6,
    root: Where = None,
) -> None:
    """Code that is like some code, or that does what words say."""
    with desk.mind() as mind:
        found = mind.search_similar(user_input.read_text_or_stdin(text), root=root, k=limit)
    if desk.json:
        terminal_output.print_json({"snippets": [one._asdict() for one in found]})
        return
    for one in found:
        name = one.symbol or "the file itself"
        terminal_output.print_line(
            f"{one.path}:{one.first}-{one.last}  {name}  {one.score:.2f}  {', '.join(one.why)}"
        )
        shown = one.text.split("\n")
        for line in shown[:lines]:
            terminal_output.print_line(f"    {line}")
        if len(shown) > lines > 0:
            terminal_output.print_note(f"    ({len(shown) - lines:,} more lines)")
    if not found:
        terminal_output.print_line("No code is like that.")
