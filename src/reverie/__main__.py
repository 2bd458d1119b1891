"""The program `reverie`, also as `python -m reverie`.

Ctrl-C while it is still importing ends it as quietly as later.
"""

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from reverie.interfaces.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
