"""The command about: of which code a memory speaks, and what has become of that."""

from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.code_anchors import anchors_of, outdated
from reverie.core.errors import BadInput
from reverie.interfaces.cli import shell_completion, terminal_output
from reverie.interfaces.cli.cli_context import Desk, command

if TYPE_CHECKING:
    from reverie.core.model import Memory
    from reverie.runtime.mind.anchoring import Spoken

PANEL = "Code"

Id = Annotated[
    str | None,
    typer.Argument(
        metavar="ID", autocompletion=shell_completion.ids, help="The memory's id, mem_…."
    ),
]
Place = "PATH[:SYMBOL]"


def register(app: typer.Typer) -> None:
    """Put this command on the command line."""
    command(app, "about", panel=PANEL)(about)


def about(
    desk: Desk,
    id: Id = None,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar=Place, help="Code that it is about. Repeatable."),
    ] = None,
    off: Annotated[
        list[str] | None,
        typer.Option("--off", metavar=Place, help="Code that it is not about. Repeatable."),
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
            listed(desk, mind.outdated(space=desk.space, limit=limit))
            return
        if on or off:
            mind.anchor(id, on or (), off=off or ())
        if still_true:
            mind.confirm(id)
        memory, found = mind.get(id), mind.about(id)
    if desk.json:
        terminal_output.document({"memory": id, "about": [one._asdict() for one in found]})
        return
    for one in found:
        tell(one)
    if not found and memory:
        terminal_output.tell(
            "It is about no code. Say what it is about: reverie about ID --on PATH:SYMBOL"
        )


def listed(desk: Desk, found: "list[Memory]") -> None:
    """What is out of date."""
    if desk.json:
        terminal_output.document(
            {"memories": [terminal_output.as_json(memory) for memory in found]}
        )
        return
    for memory in found:
        terminal_output.tell(
            f"{memory.id}  {outdated(memory)}: {terminal_output.one_line(memory.text, 100)}"
        )
        for anchor in anchors_of(memory):
            if anchor.was:
                terminal_output.tell(f"    {anchor.was} is {anchor.place} now")
    if not found:
        terminal_output.tell("Nothing speaks of code that has changed.")
        return
    terminal_output.note(
        "See both versions: reverie about ID. It holds: reverie about ID --still-true. Else: reverie forget ID"
    )


def tell(one: "Spoken") -> None:
    """One file or symbol, and how it has changed."""
    place = f"{one.path}:{one.symbol}" if one.symbol else one.path
    moved = f" (was {one.was})" if one.was else ""
    terminal_output.tell(f"{place}{moved}: {one.words or 'as it was when it was said'}")
    if one.state and one.then != one.now:
        for line in unified_diff(
            one.then.splitlines(), one.now.splitlines(), "then", "now", lineterm="", n=2
        ):
            terminal_output.tell(f"    {line}")
