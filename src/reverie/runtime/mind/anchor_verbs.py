"""Anchors: of which code a memory speaks, whether that is still so, and what somebody says who has
looked.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.code_anchors import OUTDATED, CodeAnchor, anchors_of, outdated_notice
from reverie.core.errors import BadInput
from reverie.core.model import Filter, Memory, visible_spaces
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase, run_exclusively
from reverie.text.argument_checks import check_text_list, check_whole_number

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import RepositoryViews

MAX_OUTDATED_SCAN = 10_000  # memories that may be out of date


class AnchorView(NamedTuple):
    """What a memory speaks of, then and now."""

    path: str
    symbol: str  # empty: the file as a whole
    state: str  # "changed", "gone"; empty: as it was
    words: str  # the same for people; empty: as it was
    was: str  # where it was when it was said, if it has moved since
    at: float  # when it looked as the memory says
    then: str  # its text at that time, without secrets, cut; empty for a file
    now: str  # its text now


class AnchorVerbs(MindBase):
    """The verbs about code that memories speak of."""

    def about(self, id: str) -> list[AnchorView]:
        """The files and symbols that a memory speaks of, how they looked then, and how they look
        now.
        """
        eyes: RepositoryViews = {}
        return [self._spoken(anchor, eyes) for anchor in anchors_of(self._get_one(id))]

    @run_exclusively
    def anchor(self, id: str, about: Iterable[str] = (), *, off: Iterable[str] = ()) -> Memory:
        """Say which code a memory is about: "path" or "path:Class.method", from the working
        directory or whole.

        Files and symbols of an indexed repository, as they are now. They are followed when they
        move or are renamed; when they change or go, the memory says so wherever it is shown, and
        ranks lower. `off` takes some away, as `about` names them. What a text names itself gets
        anchors in `settle`, without this.
        """
        from reverie.code.anchor_reader import anchor_places, replace_anchors

        memory, now = self._get_one(id), self._now()
        new = anchor_places(
            self.work, check_text_list([about] if isinstance(about, str) else about, "about")
        )
        gone = {
            *check_text_list([off] if isinstance(off, str) else off, "off"),
            *(anchor.location for anchor in new),
        }
        old = anchors_of(memory)
        if unknown := gone - {anchor.location for anchor in (*old, *new)}:
            raise BadInput(
                f"{id} is not about {', '.join(sorted(unknown))}. `reverie about {id}` tells what it is"
            )
        changes = replace_anchors(
            memory, [*(one for one in old if one.location not in gone), *new], now
        )
        if changes:
            self._apply_changes(changes, "anchor", memory.space, now)
        return self._get_one(id)

    @run_exclusively
    def confirm(self, id: str, *, by: str = "user", note: str = "") -> Memory:
        """It is still true: its anchors are set to the code as it is now, and nothing is told of an
        older version.

        An anchor whose code is gone is let go of. `by` says who, `note` why.
        """
        memory, now = self._get_one(id), self._now()
        from reverie.code.anchor_reader import confirm_anchors, replace_anchors

        changes = replace_anchors(memory, confirm_anchors(self.work, anchors_of(memory)), now)
        if changes:
            self._apply_changes(
                changes,
                "anchor",
                memory.space,
                now,
                confirmed=redact_short_text(by, self._policy),
                note=redact_short_text(note, self._policy),
            )
        return self._get_one(id)

    def outdated(self, *, space: str | None = None, limit: int = 20) -> list[Memory]:
        """Memories in a space and above it that speak of code that has changed or gone since,
        newest first.

        `reverie.anchors.outdated(memory)` says what, in words; it stands in `why` of a hit as well.
        `index_code`, sleep, and settling in the background hold anchors against the code.
        """
        most = max(0, check_whole_number(limit))
        here = (
            self.store.browse(
                Filter(
                    spaces=visible_spaces(self._resolve_space(space)),
                    having=OUTDATED,
                    limit=MAX_OUTDATED_SCAN,
                )
            )
            if most
            else []
        )
        return [memory for memory in here if outdated_notice(memory)][:most]

    def _spoken(self, anchor: CodeAnchor, eyes: RepositoryViews) -> AnchorView:
        from reverie.code.anchor_tracking import observe_anchor, view_repository

        present = (
            observe_anchor(
                view_repository(self.store.code, anchor.root, self._now(), eyes, self._policy),
                anchor.path,
                anchor.symbol,
            )
            if Path(anchor.root).is_dir()
            else None
        )
        return AnchorView(
            anchor.path,
            anchor.symbol,
            anchor.state,
            anchor.notice,
            anchor.was,
            anchor.at,
            anchor.body,
            present.body if present else "",
        )
