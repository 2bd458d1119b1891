"""Reverie as the replay runner sees a memory: a real store, a real index of a real folder, and
`mind`'s own verbs.

    cd ../shared/replay-bench && PYTHONPATH=$OLDPWD/src:$OLDPWD python -m replay.run adapter \
        --data ../bench-data/replay --adapter bench.replay.adapter:Reverie --out result.json

What was done is written as `learn_git` writes it. `Words` is the same without a model.
"""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import reverie
from reverie.activity import COMMIT
from reverie.activity.git_history import Commit, make_commit_payload
from reverie.code.planning import RankedFiles
from reverie.core.config import Settings
from reverie.core.model import Event
from reverie.embedding import open_embedder

SPACE = "project:replay"
CACHE = Path(__file__).parents[2] / ".cache" / "home" / "cache"


class Reverie:
    """A memory of one repository, with the meaning of code and past tasks."""

    meaning = True

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="replay-"))
        self.root = (self.home / "repository").resolve()
        self.root.mkdir()
        embedder = open_embedder("minilm", cache=CACHE) if self.meaning else None
        self.mind = reverie.open(
            self.home / "memory.db",
            embedder=embedder,
            settings=Settings(home=self.home, embedder="minilm" if self.meaning else "none"),
        )
        self.renames: list[tuple[str, str]] = []
        self.count = 0

    def rename(self, old: str, new: str) -> None:
        """A file has another name from the next task on."""
        self.renames.append((old, new))

    def observe_task(self, text: str, _reads: list[str], edits: list[str], time: int) -> None:
        """A task has ended."""
        self.count += 1
        rows = (*((path, 1, 1) for path in edits), *((new, 0, 0, old) for old, new in self.renames))
        told = make_commit_payload(
            Commit(str(self.count), float(time), text[:600], rows), str(self.root), text[:600]
        )
        self.mind.store.append([Event(verb=COMMIT, space=SPACE, at=float(time), payload=told)])
        self.renames = []

    def index_tree(self, files: dict[str, str]) -> None:
        """The whole tree, as the next task finds it."""
        self.update_tree(files, [path for path in self._paths() if path not in files])

    def update_tree(self, changed: dict[str, str], removed: Iterable[str]) -> None:
        """Some files have changed or gone."""
        for path in removed:
            (self.root / path).unlink(missing_ok=True)
        for path, text in changed.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, "utf-8")
        self.mind.code.index(self.root)

    def plan(self, task_text: str, k: int) -> list[str]:
        """Paths in the order in which to open them."""
        self.learn()
        return [
            look.path
            for look in self.mind.plan(
                task_text, root=self.root, space=SPACE, limit=k, tokens=100_000
            ).files
        ]

    def learn(self) -> None:
        """What the background would have done by now: texts have their vectors."""
        if self.meaning:
            self.mind.planner.task_history(str(self.root), SPACE)
            self.mind.settle()

    def ranked(self, text: str) -> RankedFiles:
        """What the plan goes by."""
        self.learn()
        return self.mind.planner.rank_files(
            text, str(self.root), SPACE, self.mind.context.embed_query(text)
        )

    def close(self) -> None:
        """Let go of everything."""
        self.mind.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def _paths(self) -> list[str]:
        return [str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()]


class Words(Reverie):
    """The same without a model."""

    meaning = False
