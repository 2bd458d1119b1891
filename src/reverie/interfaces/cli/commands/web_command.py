"""The commands that open the pages: web, open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.errors import ExtraMissing
from reverie.core.installation import advise_install
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, MemoryId
from reverie.interfaces.cli.terminal_output import print_note

if TYPE_CHECKING:
    from types import ModuleType

commands = CommandTable()
memory = CommandTable()
DEFAULT_PORT = 8379

Port = Annotated[
    int,
    typer.Option(
        min=0,
        max=65_535,
        help="0 takes a free one.",
    ),
]
NoOpen = Annotated[bool, "Only print the address, open no browser."]


@commands.add("web")
def serve_pages(cli: CliContext, port: Port = DEFAULT_PORT, no_open: NoOpen = False) -> None:
    """Open the pages: see, correct, decide, take back.

    On this machine alone, for you alone. Ctrl-C stops.
    """
    serve(cli, port, no_open, "/")


@memory.add("open")
@commands.add("open", hidden=True)
def open_memory_page(
    cli: CliContext, id: MemoryId, port: Port = DEFAULT_PORT, no_open: NoOpen = False
) -> None:
    """Open the page of a memory.

    In the pages that `reverie web` has open already, or in new ones.
    """
    from urllib.parse import quote

    from reverie.interfaces.cli.commands.remember_commands import require_memory

    with cli.open_mind(watched=False) as mind:
        require_memory(mind, id)
    path = f"/memory/{quote(id, safe='')}"
    local = require_extra()
    if address := local.find_running(cli.settings.home, path):
        local.show_address(cli, address, no_open)
        return
    serve(cli, port, no_open, path)


def serve(cli: CliContext, port: int, no_open: bool, path: str) -> None:
    """Serve until Ctrl-C, beginning with a page."""
    local = require_extra()
    with cli.open_mind() as mind:

        def started(address: str) -> None:
            local.show_address(cli, address, no_open)
            if not cli.as_json:
                print_note("Ctrl-C stops.")

        local.serve_locally(mind, cli.space, port, path, started)


def require_extra() -> ModuleType:
    """The module that serves; ExtraMissing without what it needs."""
    try:
        from reverie.interfaces.web import local_server
    except ModuleNotFoundError as err:
        raise ExtraMissing(
            "The pages need Starlette, Uvicorn and Jinja2. Install them with: "
            f"{advise_install('web')}"
        ) from err
    return local_server
