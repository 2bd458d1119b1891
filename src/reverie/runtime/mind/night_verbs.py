"""What runs of sleep did, and taking back one thing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.runtime.mind.mind_context import VerbGroup, check_limit

if TYPE_CHECKING:
    from reverie.consolidation.nights import Hunk, Night


class NightVerbs(VerbGroup):
    """`mind.nights`: runs of sleep, hunk by hunk; `mind.undo(run)` takes back a whole one."""

    def browse(self, *, limit: int = 20, before: int | None = None) -> list[Night]:
        """Runs of sleep, the newest first; `before` is the run that the page before ended with."""
        from reverie.consolidation.nights import list_nights

        most = check_limit(limit)
        return list_nights(self._store, most, before) if most else []

    def read(self, run: int, *, limit: int = 50, after: tuple[int, int] = (0, -1)) -> list[Hunk]:
        """What a run did, in order, as hunks with their reasons; `after` is (event, place) of the
        last one of the page before. NotFound if there was no such run.
        """
        from reverie.consolidation.nights import read_hunks

        return read_hunks(self._store, run, check_limit(limit), after)

    def undo_hunk(self, event: int, place: int) -> int:
        """Take back one hunk, as far as nobody has altered it since. Returns the number of the
        event that did so, which `undo` takes back.

        Raises NotFound if there is none, Conflict if it is taken back already.
        """
        from reverie.consolidation.nights import undo_hunk

        return undo_hunk(self._store, event, place, self._now())
