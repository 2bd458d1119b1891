"""The program `reverie`, also as `python -m reverie`.

Ctrl-C while it is still importing ends it as quietly as later.
"""

import sys


def main() -> None:
    """Load the command line and run it."""
    # A host asks for its status line at every turn, and waits.
    if sys.argv[1:] == ["statusline"]:
        from reverie.interfaces.hooks.status_line import main as say_status

        return say_status()
    # Nor does one wait for the SDK when it greets a server.
    if sys.argv[1:2] == ["mcp"]:
        from reverie.interfaces.mcp.early_answers import answer_early

        answer_early(sys.argv[2:], load_server)
    try:
        from reverie.interfaces.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    return run()


def load_server() -> None:
    """Import what an MCP server and its command need."""
    import reverie.interfaces.cli.app
    import reverie.interfaces.mcp.server  # noqa: F401 - so that the first tool need not wait


if __name__ == "__main__":
    main()
