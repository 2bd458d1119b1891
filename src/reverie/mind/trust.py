"""Trust: is everything as it should be, how much is there, and copies of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.mind.base import Base

if TYPE_CHECKING:
    from reverie.store import Problem, Stats


class Trusting(Base):
    """The verbs for the owner."""

    def verify(self, repair: bool = False) -> list[Problem]:
        """What is not as it should be; with `repair`, what can be rebuilt is rebuilt."""
        return self.store.verify(repair)

    def stats(self) -> Stats:
        """How much there is of everything."""
        return self.store.stats()

    def export(self, log: bool = True) -> Iterable[dict[str, Any]]:
        """Everything, as JSON-ready rows, a header first.

        Without `log` only the state: memories, links and vectors, sorted, and no time in the header. Two states are
        equal if these are, byte for byte.
        """
        yield {"type": "reverie", "version": 1, **({"at": self._now()} if log else {})}
        yield from self.store.dump(log)

    def import_(self, rows: Iterable[dict[str, Any]]) -> dict[str, int]:
        """Take in rows of `export`: what is already there is left alone, so importing twice adds nothing."""
        from reverie.lifecycle.transfer import accepted
        return self.store.load(accepted(rows))

    def backup(self, target: str | Path) -> Path:
        """A consistent copy of the database, while others go on writing."""
        path = Path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.store.backup(path)
        return path
