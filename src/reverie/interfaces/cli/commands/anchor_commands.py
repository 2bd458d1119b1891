"""The command about: of which code a memory speaks, and what has become of that."""

from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.code_anchors import anchors_of, outdated_notice
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.shell_completion import complete_ids
from reverie.interfaces.cli.terminal_output import (
    memory_to_json,
    one_line,
    print_json,
    print_line,
    print_note,
)

if TYPE_CHECKING:
    from reverie.core.model import Memory
    from reverie.runtime.mind.code_verbs import AnchorView

commands = CommandTable("Code")

Id = Annotated[
    str | None,
    typer.Argument(metavar="ID", autocompletion=complete_ids, help="The memory's id, mem_…."),
]
PLACE_FORMAT = "PATH[:SYMBOL]"


@commands.add("about")
def show_code_anchors(
    cli: CliContext,
    id: Id = None,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar=PLACE_FORMAT, help="Code that it is about. Repeatable."),
    ] = None,
    off: Annotated[
        list[str] | None,
        typer.Option("--off", metavar=PLACE_FORMAT, help="Code that it is not about. Repeatable."),
    ] = None,
    still_true: Annotated[
        bool, typer.Option("--still-true", help="It holds for the code as it is now.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="How many are listed, at most.")
    ] = 20,
) -> None:
    """Of which code a memory speaks, then and now; without an id, what speaks of code that has
    changed or gone.
    """
    if not id and (on or off or still_true):
        raise BadInput("Say which memory: reverie about ID")
    with cli.open_mind() as mind:
        if not id:
            list_outdated(cli, mind.code.outdated(space=cli.space, limit=limit))
            return
        if on or off:
            mind.code.anchor(id, on or (), off=off or ())
        if still_true:
            mind.code.confirm(id)
        memory, found = mind.get(id), mind.code.anchors(id)
    if cli.as_json:
        print_json({"memory": id, "about": [anchor._asdict() for anchor in found]})
        return
    for anchor in found:
        print_anchor(anchor)
    if not found and memory:
        print_line("It is about no code. Say what it is about: reverie about ID --on PATH:SYMBOL")


def list_outdated(cli: CliContext, found: "list[Memory]") -> None:
    """What is out of date."""
    if cli.as_json:
        print_json({"memories": [memory_to_json(memory) for memory in found]})
        return
    for memory in found:
        print_line(f"{memory.id}  {outdated_notice(memory)}: {one_line(memory.text, 100)}")
        for anchor in anchors_of(memory):
            if anchor.was:
                print_line(f"    {anchor.was} is {anchor.location} now")
    if not found:
        print_line("Nothing speaks of code that has changed.")
        return
    print_note(
        "See both versions: reverie about ID. It holds: reverie about ID --still-true. Else: "
        "reverie forget ID"
    )


def print_anchor(anchor: "AnchorView") -> None:
    """One file or symbol, and how it has changed."""
    place = f"{anchor.path}:{anchor.symbol}" if anchor.symbol else anchor.path
    moved = f" (was {anchor.was})" if anchor.was else ""
    print_line(f"{place}{moved}: {anchor.words or 'as it was when it was said'}")
    if anchor.state and anchor.then != anchor.now:
        for line in unified_diff(
            anchor.then.splitlines(), anchor.now.splitlines(), "then", "now", lineterm="", n=2
        ):
            print_line(f"    {line}")
