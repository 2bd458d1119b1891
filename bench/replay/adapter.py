"""Reverie as the replay runner sees a memory: a real store, a real index of a real folder, and `mind`'s own verbs."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import reverie
from reverie.config import Settings
from reverie.lifecycle.experience import COMMIT
from reverie.model import Event

SPACE = "project:replay"


class Reverie:
    """A memory of one repository. With `meaning`, past tasks are compared by meaning too."""

    def __init__(self, meaning: bool = True) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="replay-"))
        self.root = self.home / "repository"
        self.root.mkdir()
        cache = os.environ.get("REVERIE_TEST_CACHE", "")
        self.mind = reverie.open(self.home / "memory.db", settings=Settings(space=SPACE), **(
            {"embedder": None} if not meaning else {"cache": cache} if cache else {}))
