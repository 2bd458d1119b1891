"""The program `reverie-mcp`: `reverie mcp` under a name that `uvx` finds."""

import sys

from reverie.__main__ import main as run_reverie


def main() -> None:
    """Serve memory by MCP over stdin and stdout; takes the options of `reverie mcp`."""
    sys.argv[1:1] = ["mcp"]
    run_reverie()
