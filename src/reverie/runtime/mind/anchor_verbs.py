"""Verbs about code anchors: which code a memory speaks of, and whether that is still so."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.code_anchors import OUTDATED, CodeAnchor, anchors_of, outdated_notice
from reverie.core.errors import BadInput
from reverie.core.model import Filter, Memory, visible_spaces
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase, check_limit, run_exclusively
from reverie.text.argument_checks import check_text_list

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import RepositoryViews

MAX_OUTDATED_SCAN = 10_000  # newest memories with a marked anchor that are looked at


class AnchorView(NamedTuple):
    """One file or symbol that a memory speaks of, then and now."""

    path: str
    symbol: str  # empty: the file as a whole
    state: str  # "changed", "gone"; empty: unchanged
    words: str  # the state in words for people; empty: unchanged
    was: str  # where it stood when the memory was made, if it has moved since
    at: float  # when it looked as the memory says
    then: str  # its text at that time, redacted and cut; empty for a file
    now: str  # its text now


class AnchorVerbs(MindBase):
    """The verbs about code that memories speak of."""

    def about(self, id: str) -> list[AnchorView]:
        """The files and symbols that a memory speaks of, as they were then and as they are now."""
        views: RepositoryViews = {}
        return [self._view_anchor(anchor, views) for anchor in anchors_of(self._get_one(id))]

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

        memory = self._get_one(id)
        now = self._now()
        places = check_text_list([about] if isinstance(about, str) else about, "about")
        removed = check_text_list([off] if isinstance(off, str) else off, "off")
        new = anchor_places(self.work, places)
        old = anchors_of(memory)
        # An anchor that is set again replaces the one that was there.
        replaced = {*removed, *(anchor.location for anchor in new)}
        if unknown := replaced - {anchor.location for anchor in (*old, *new)}:
            raise BadInput(
                f"{id} is not about {', '.join(sorted(unknown))}. "
                f"`reverie code anchors {id}` tells what it is"
            )
        kept = [anchor for anchor in old if anchor.location not in replaced]
        changes = replace_anchors(memory, [*kept, *new], now)
        if changes:
            self._apply_changes(changes, "anchor", memory.space, now)
        return self._get_one(id)

    @run_exclusively
    def confirm(self, id: str, *, by: str = "user", note: str = "") -> Memory:
        """Confirm that a memory is still true: its anchors are set to the code as it is now, and it
        is no longer shown as outdated.

        An anchor whose code is gone is removed. `by` says who, `note` why.
        """
        from reverie.code.anchor_reader import confirm_anchors, replace_anchors

        memory = self._get_one(id)
        now = self._now()
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

        `reverie.core.code_anchors.outdated_notice(memory)` says what, in words; it stands in `why`
        of a hit as well. `index_code`, sleep, and settling in the background compare anchors with
        the code.
        """
        most = check_limit(limit)
        if not most:
            return []
        spaces = visible_spaces(self._resolve_space(space))
        marked = Filter(spaces=spaces, having=OUTDATED, limit=MAX_OUTDATED_SCAN)
        return [memory for memory in self.store.browse(marked) if outdated_notice(memory)][:most]

    def _view_anchor(self, anchor: CodeAnchor, views: RepositoryViews) -> AnchorView:
        from reverie.code.anchor_tracking import observe_anchor, view_repository

        present = None
        if Path(anchor.root).is_dir():
            view = view_repository(self.store.code, anchor.root, self._now(), views, self._policy)
            present = observe_anchor(view, anchor.path, anchor.symbol)
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
