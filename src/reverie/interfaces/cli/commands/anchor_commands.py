"""The command about: of which code a memory speaks, and what has become of that."""

from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.code_anchors import anchors_of, outdated_notice
from reverie.core.errors import BadInput
from reverie.interfaces.cli import shell_completion, terminal_output
from reverie.interfaces.cli.cli_context import CliContext, command

if TYPE_CHECKING:
    from reverie.core.model import Memory
    from reverie.runtime.mind.anchor_verbs import AnchorView

PANEL = "Code"

Id = Annotated[
    str | None,
    typer.Argument(
        metavar="ID", autocompletion=shell_completion.complete_ids, help="The memory's id, mem_…."
    ),
]
PLACE_FORMAT = "PATH[:SYMBOL]"


def register(app: typer.Typer) -> None:
    """Put this command on the command line."""
    command(app, "about", panel=PANEL)(show_code_anchors)


def show_code_anchors(
    desk: CliContext,
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
    with desk.mind() as mind:
        if not id:
            list_outdated(desk, mind.outdated(space=desk.space, limit=limit))
            return
        if on or off:
            mind.anchor(id, on or (), off=off or ())
        if still_true:
            mind.confirm(id)
        memory, found = mind.get(id), mind.about(id)
    if desk.json:
        terminal_output.print_json({"memory": id, "about": [one._asdict() for one in found]})
        return
    for one in found:
        print_anchor(one)
    if not found and memory:
        terminal_output.print_line(
            "It is about no code. Say what it is about: reverie about ID --on PATH:SYMBOL"
        )


def list_outdated(desk: CliContext, found: "list[Memory]") -> None:
    """What is out of date."""
    if desk.json:
        terminal_output.print_json(
            {"memories": [terminal_output.memory_to_json(memory) for memory in found]}
        )
        return
    for memory in found:
        terminal_output.print_line(
            f"{memory.id}  {outdated_notice(memory)}: {terminal_output.one_line(memory.text, 100)}"
        )
        for anchor in anchors_of(memory):
            if anchor.was:
                terminal_output.print_line(f"    {anchor.was} is {anchor.location} now")
    if not found:
        terminal_output.print_line("Nothing speaks of code that has changed.")
        return
    terminal_output.print_note(
        "See both versions: reverie about ID. It holds: reverie about ID --still-true. Else: reverie forget ID"
    )


def print_anchor(one: "AnchorView") -> None:
    """One file or symbol, and how it has changed."""
    place = f"{one.path}:{one.symbol}" if one.symbol else one.path
    moved = f" (was {one.was})" if one.was else ""
    terminal_output.print_line(f"{place}{moved}: {one.words or 'as it was when it was said'}")
    if one.state and one.then != one.now:
        for line in unified_diff(
            one.then.splitlines(), one.now.splitlines(), "then", "now", lineterm="", n=2
        ):
            terminal_output.print_line(f"    {line}")
