"""The replay runner, which is no part of this project."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def load_runner(folder: Path) -> Any | None:
    """The runner's package with its parts; None, and a word about it, if it is not there."""
    if not (folder / "replay").is_dir():
        print(
            f"The replay runner is not at {folder}; say where it is with --runner", file=sys.stderr
        )
        return None
    sys.path.insert(0, str(folder.resolve()))
    for part in ("agent", "evaluate", "extract", "run", "sources", "world"):
        import_module(f"replay.{part}")
    return import_module("replay")
