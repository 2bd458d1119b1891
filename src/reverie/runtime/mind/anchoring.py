"""Anchors: of which code a memory speaks, whether that is still so, and what somebody says who has
looked.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.code_anchors import OUTDATED, Anchor, anchors_of, outdated
from reverie.core.errors import BadInput
from reverie.core.model import Filter, Memory, lineage
from reverie.privacy.redacted_text import private
from reverie.runtime.mind.base import Base, alone
from reverie.text.argument_checks import texts, whole

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import Eyes

MOST_LOOKED_AT = 10_000  # memories that may be out of date


class Spoken(NamedTuple):
    """What a memory speaks of, then and now."""

    path: str
    symbol: str  # empty: the file as a whole
    state: str  # "changed", "gone"; empty: as it was
    words: str  # the same for people; empty: as it was
    was: str  # where it was when it was said, if it has moved since
    at: float  # when it looked as the memory says
    then: str  # its text at that time, without secrets, cut; empty for a file
    now: str  # its text now


class Anchoring(Base):
    """The verbs about code that memories speak of."""

    def about(self, id: str) -> list[Spoken]:
        """The files and symbols that a memory speaks of, how they looked then, and how they look
        now.
        """
        eyes: Eyes = {}
        return [self._spoken(anchor, eyes) for anchor in anchors_of(self._one(id))]

    @alone
    def anchor(self, id: str, about: Iterable[str] = (), *, off: Iterable[str] = ()) -> Memory:
        """Say which code a memory is about: "path" or "path:Class.method", from the working
        directory or whole.

        Files and symbols of an indexed repository, as they are now. They are followed when they
        move or are renamed; when they change or go, the memory says so wherever it is shown, and
        ranks lower. `off` takes some away, as `about` names them. What a text names itself gets
        anchors in `settle`, without this.
        """
        from reverie.code.anchor_reader import anchored, places_seen

        memory, now = self._one(id), self._now()
        new = places_seen(self.work, texts([about] if isinstance(about, str) else about, "about"))
        gone = {
            *texts([off] if isinstance(off, str) else off, "off"),
            *(anchor.place for anchor in new),
        }
        old = anchors_of(memory)
        if unknown := gone - {anchor.place for anchor in (*old, *new)}:
            raise BadInput(
                f"{id} is not about {', '.join(sorted(unknown))}. `reverie about {id}` tells what it is"
            )
        changes = anchored(memory, [*(one for one in old if one.place not in gone), *new], now)
        if changes:
            self._apply(changes, "anchor", memory.space, now)
        return self._one(id)

    @alone
    def confirm(self, id: str, *, by: str = "user", note: str = "") -> Memory:
        """It is still true: its anchors are set to the code as it is now, and nothing is told of an
        older version.

        An anchor whose code is gone is let go of. `by` says who, `note` why.
        """
        memory, now = self._one(id), self._now()
        from reverie.code.anchor_reader import anchored, confirmed

        changes = anchored(memory, confirmed(self.work, anchors_of(memory)), now)
        if changes:
            self._apply(
                changes,
                "anchor",
                memory.space,
                now,
                confirmed=private(by, self._policy),
                note=private(note, self._policy),
            )
        return self._one(id)

    def outdated(self, *, space: str | None = None, limit: int = 20) -> list[Memory]:
        """Memories in a space and above it that speak of code that has changed or gone since,
        newest first.

        `reverie.anchors.outdated(memory)` says what, in words; it stands in `why` of a hit as well.
        `index_code`, sleep, and settling in the background hold anchors against the code.
        """
        most = max(0, whole(limit))
        here = (
            self.store.browse(
                Filter(spaces=lineage(self._space(space)), having=OUTDATED, limit=MOST_LOOKED_AT)
            )
            if most
            else []
        )
        return [memory for memory in here if outdated(memory)][:most]

    def _spoken(self, anchor: Anchor, eyes: Eyes) -> Spoken:
        from reverie.code.anchor_tracking import eye, seen

        present = (
            seen(
                eye(self.store.code, anchor.root, self._now(), eyes, self._policy),
                anchor.path,
                anchor.symbol,
            )
            if Path(anchor.root).is_dir()
            else None
        )
        return Spoken(
            anchor.path,
            anchor.symbol,
            anchor.state,
            anchor.words,
            anchor.was,
            anchor.at,
            anchor.body,
            present.body if present else "",
        )
