"""The command about: of which code a memory speaks, and what has become of that."""

from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.anchors import anchors_of, outdated
from reverie.errors import BadInput
from reverie.surfaces import complete, say
from reverie.surfaces.desk import Desk, command

if TYPE_CHECKING:
    from reverie.mind.anchor import Spoken
    from reverie.model import Memory

PANEL = "Code"

Id = Annotated[
    str | None,
    typer.Argument(metavar="ID", autocompletion=complete.ids, help="The memory's id, mem_…."),
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
        say.document({"memory": id, "about": [one._asdict() for one in found]})
        return
    for one in found:
        tell(one)
    if not found and memory:
        say.tell("It is about no code. Say what it is about: reverie about ID --on PATH:SYMBOL")


def listed(desk: Desk, found: "list[Memory]") -> None:
    """What is out of date."""
    if desk.json:
        say.document({"memories": [say.as_json(memory) for memory in found]})
        return
    for memory in found:
        say.tell(f"{memory.id}  {outdated(memory)}: {say.one_line(memory.text, 100)}")
        for anchor in anchors_of(memory):
            if anchor.was:
                say.tell(f"    {anchor.was} is {anchor.place} now")
    if not found:
        say.tell("Nothing speaks of code that has changed.")
        return
    say.note(
        "See both versions: reverie about ID. It holds: reverie about ID --still-true. Else: reverie forget ID"
    )


def tell(one: "Spoken") -> None:
    """One file or symbol, and how it has changed."""
    place = f"{one.path}:{one.symbol}" if one.symbol else one.path
    moved = f" (was {one.was})" if one.was else ""
    say.tell(f"{place}{moved}: {one.words or 'as it was when it was said'}")
    if one.state and one.then != one.now:
        for line in unified_diff(
            one.then.splitlines(), one.now.splitlines(), "then", "now", lineterm="", n=2
        ):
            say.tell(f"    {line}")
