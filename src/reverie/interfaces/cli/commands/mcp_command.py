"""The command that serves agents: mcp."""

import sys
from typing import Annotated

import typer

from reverie.core.errors import ExtraMissing
from reverie.core.installation import advise_install
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.terminal_output import print_note

commands = CommandTable()
DEFAULT_PORT = 8377


@commands.add("mcp")
def serve_mcp(
    cli: CliContext,
    profile: Annotated[
        str,
        typer.Option(
            "--profile", "-p", help="Which tools: unified, jcode, files, tags, anthropic."
        ),
    ] = "unified",
    http: Annotated[bool, "Serve HTTP on 127.0.0.1 instead of stdin and stdout."] = False,
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help="Of --http; 0 takes a free one.",
        ),
    ] = DEFAULT_PORT,
    no_token: Annotated[
        bool, "With --http: answer every program on this machine, also those without the token."
    ] = False,
) -> None:
    """Serve memory to an agent by MCP.

    That is the Model Context Protocol, over stdin and stdout.
    """
    try:
        from reverie.interfaces.mcp import server
    except ModuleNotFoundError as err:
        raise ExtraMissing(
            f"The MCP server needs the package mcp. Install it with: {advise_install('mcp')}"
        ) from err
    from reverie.interfaces.mcp.tool_context import ToolContext

    room = ToolContext(cli.settings, cli.space)
    if http:
        token, place = ("", "") if no_token else server.load_http_token(room.settings)

        def say_address(address: str) -> None:
            print_note(f"Serving {room.space} at {address}. Ctrl-C stops.")
            if token:
                print_note(
                    "Clients need the header `Authorization: Bearer TOKEN`; the token stands in "
                    f"{place}. --no-token serves whoever asks."
                )

        server.serve_http(room, profile, port, say_address, token)
    else:
        if sys.stdin.isatty():
            print_note(
                "This speaks the Model Context Protocol on stdin and stdout: a host starts "
                "it. Ctrl-D ends it."
            )
        server.serve_stdio(room, profile)
