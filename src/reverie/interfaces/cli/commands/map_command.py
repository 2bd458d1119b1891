"""The command `memory map`: what is remembered, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reverie.core.atomic_file import write_atomically
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable

commands = CommandTable()
# Communities that are named.
MOST_NAMED = 20


@commands.add("map")
def show_memory_map(
    cli: CliContext,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw it there, for a README.")
    ] = None,
    force: Annotated[bool, "Overwrite the file."] = False,
) -> None:
    """What belongs together, or a picture of it.

    The picture names tags, groups and files, and shows no memory's text.
    """
    from reverie.interfaces.map_picture import picture_map, write_svg

    if svg is not None and svg.exists() and not force:
        raise BadInput(f"{svg} exists already. Choose another name, or use --force")
    with cli.open_mind() as mind:
        drawn = mind.data.map(space=cli.space)
    counts = f"{len(drawn.nodes):,} nodes, {len(drawn.links):,} ties"
    if svg is not None:
        write_atomically(svg, write_svg(picture_map(drawn)).encode(), new_mode=0o644)
        fields = {"file": str(svg), "nodes": len(drawn.nodes), "links": len(drawn.links)}
        cli.answer(fields, f"Drew {counts} in {svg}.")
        return
    named = drawn.communities[:MOST_NAMED]
    lines = [f"{one.size:>5}  {one.name}" for one in named]
    cli.answer(
        {"nodes": len(drawn.nodes), "links": len(drawn.links), "communities": named},
        "\n".join([f"{counts}. What hangs together:" if named else f"{counts}.", *lines]),
    )
