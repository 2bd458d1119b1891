"""Commands about code: reverie index, map, callers, symbol, snippets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.terminal_output import one_line, print_json, print_line, print_note
from reverie.interfaces.cli.user_input import read_text_or_stdin

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.code.code_indexing import CodeIndexReport

commands = CommandTable("Code")

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A name: print, Console.print, or rich/console.py:print."),
]
Where = Annotated[
    Path | None,
    typer.Option("--in", metavar="FOLDER", help="A folder of the repository (default: this one)."),
]


def note_incomplete_index(mind: "Mind", root: Path | None) -> None:
    """Say that answers may lack, where indexing has not come to its end."""
    if not mind.code.is_whole(root):
        print_note(
            "The index is not whole: indexing is going on or was interrupted. Go on with: "
            "reverie index"
        )


@commands.add("index", spaced=False)
def index_folder_code(
    cli: CliContext,
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
    with cli.open_mind() as mind:
        if forget:
            mind.code.forget(path or Path())
            done = None
        else:
            done = mind.code.index(path, cli.progress)
            cli.progress.clear()
    if cli.as_json:
        print_json({**done._asdict(), "size": done.size._asdict()} if done else {"forgotten": True})
    elif done is None:
        print_line("What was indexed of it is erased.")
    else:
        print_index_result(done)


def print_index_result(done: "CodeIndexReport") -> None:
    """Say what indexing did."""
    print_line(
        f"{done.root}: {done.files:,} files, {done.parsed:,} parsed, {done.gone:,} gone; "
        f"{done.size.symbols:,} symbols, {done.size.edges:,} uses."
    )
    if done.skipped:
        print_note(
            "Left out: "
            + ", ".join(f"{count:,} {why}" for why, count in sorted(done.skipped.items()))
            + "."
        )


@commands.add("map", spaced=False)
def show_code_map(
    cli: CliContext,
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
    with cli.open_mind() as mind:
        made = mind.code.map(tokens, focus or (), root=root)
        note_incomplete_index(mind, root)
    if cli.as_json:
        print_json({**made._asdict(), "symbols": [symbol._asdict() for symbol in made.symbols]})
        return
    print_line(made.text)
    if made.left:
        print_note(f"{made.left:,} more have no room in {tokens:,} tokens.")


@commands.add("callers", spaced=False)
def list_callers(
    cli: CliContext,
    name: Name,
    sure: Annotated[
        bool, typer.Option("--sure", help="Only calls that are known to mean it.")
    ] = False,
    root: Where = None,
) -> None:
    """Where a function, method or class is called, across files."""
    with cli.open_mind() as mind:
        known = mind.code.find_symbol(name, root=root)
        found = mind.code.callers(name, root=root, unsure=not sure)
        note_incomplete_index(mind, root)
    if cli.as_json:
        print_json({"callers": [caller._asdict() for caller in found]})
        return
    # The name alone does not say which one is called.
    several = len({definition.path for definition in known}) > 1
    for caller in found:
        doubt = "" if caller.sure else "?  "
        where = f" of {caller.to}" if several and caller.to else ""
        print_line(
            f"{doubt}{one_line(caller.path)}:{caller.line}  "
            f"{caller.within or 'the file itself'}  → "
            f"{caller.name}{where}  "
            f"{', '.join(caller.why)}"
        )
    if not found:
        print_line(f"Nothing calls {name}." if known else f"Nothing is called {name} here.")


@commands.add("symbol", spaced=False)
def find_definitions(
    cli: CliContext,
    name: Name,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, at most.")] = 20,
    root: Where = None,
) -> None:
    """Where a name is defined."""
    with cli.open_mind() as mind:
        found = mind.code.find_symbol(name, root=root, limit=limit)
        note_incomplete_index(mind, root)
    if cli.as_json:
        print_json({"symbols": [symbol._asdict() for symbol in found]})
        return
    for symbol in found:
        print_line(
            f"{one_line(symbol.path)}:{symbol.first}-{symbol.last}  {symbol.kind}  "
            f"{symbol.name}  {symbol.head}"
        )
    if not found:
        print_line(f"Nothing is called {name} here.")


@commands.add("snippets", spaced=False)
def show_similar_code(
    cli: CliContext,
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
    with cli.open_mind() as mind:
        found = mind.code.search_similar(read_text_or_stdin(text), root=root, k=limit)
    if cli.as_json:
        print_json({"snippets": [snippet._asdict() for snippet in found]})
        return
    for snippet in found:
        name = snippet.symbol or "the file itself"
        print_line(
            f"{snippet.path}:{snippet.first}-{snippet.last}  {name}  {snippet.score:.2f}  "
            f"{', '.join(snippet.why)}"
        )
        shown = snippet.text.split("\n")
        for line in shown[:lines]:
            print_line(f"    {line}")
        if len(shown) > lines > 0:
            print_note(f"    ({len(shown) - lines:,} more lines)")
    if not found:
        print_line("No code is like that.")
