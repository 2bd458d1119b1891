"""What was last written on a page, and the states before: the hidden copy that a person's edits are
seen by.

Only memories' lines are kept, no prose. A page names the state it was made from in its first line;
an editor may save one that was loaded several states ago, so the last MAX_STATES can be told: each
as what differs from the one after it.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from reverie.core.model import EMPTY_MAPPING
from reverie.mirror.page_blocks import compute_page_stamp
from reverie.mirror.page_placement import PageLine
from reverie.mirror.three_way_merge import PageLines

# States of a page; of older ones it is not known what stood there. Each costs only what differs,
# and an editor may be open for days.
MAX_STATES = 100


class BaseCopy(NamedTuple):
    """The lines as they were written last, and the way back to states before, newest first."""

    stamp: str = ""
    lines: PageLines = EMPTY_MAPPING
    # stamp, what else its lines were; None: not there
    before: tuple[tuple[str, dict[str, PageLine | None]], ...] = ()
    # fingerprints of the ids of purged memories that stood here
    erased: frozenset[str] = frozenset()

    def lines_at(self, stamp: str) -> PageLines:
        """The lines of a state; those of the oldest one that is left if it is not known."""
        lines = dict(self.lines)
        if stamp == self.stamp:
            return lines
        for older, delta in self.before:
            for id, line in delta.items():
                if line is None:
                    lines.pop(id, None)
                else:
                    lines[id] = line
            if older == stamp:
                return lines
        return lines

    def has_state(self, stamp: str) -> bool:
        """True if that former state is known; an empty copy counts as knowing all."""
        if not self.stamp or stamp == self.stamp:
            return True
        return any(older == stamp for older, _ in self.before)

    def with_lines(self, lines: PageLines) -> "BaseCopy":
        """The copy once these lines are written."""
        stamp = compute_page_stamp(lines.items())
        if stamp == self.stamp:
            return self._replace(lines=lines)
        before: tuple[tuple[str, dict[str, PageLine | None]], ...] = ()
        if self.stamp:
            ids = (*self.lines, *lines)
            delta = {id: self.lines.get(id) for id in ids if self.lines.get(id) != lines.get(id)}
            before = ((self.stamp, delta), *self.before)[:MAX_STATES]
        return BaseCopy(stamp, lines, before, self.erased)

    def without_memories(self, ids: Iterable[str]) -> "BaseCopy":
        """The copy without these memories, but for the fingerprints of those that stood here."""
        gone, known = set(ids), set(self.lines)
        for _, delta in self.before:
            known |= delta.keys()
        before = []
        for stamp, delta in self.before:
            left = {id: line for id, line in delta.items() if id not in gone}
            before.append((stamp, left))
        return BaseCopy(
            self.stamp,
            {id: line for id, line in self.lines.items() if id not in gone},
            tuple(before),
            self.erased | {_fingerprint_id(id) for id in gone & known},
        )

    def filter_purged(self, ids: Iterable[str]) -> set[str]:
        """Those of these memories that stood here and were purged.

        An old editor buffer must not bring them back.
        """
        return {id for id in ids if _fingerprint_id(id) in self.erased} if self.erased else set()


def dump_base_copy(copy: BaseCopy) -> str:
    """A copy as JSON."""
    return json.dumps(
        {
            "stamp": copy.stamp,
            "lines": dict(copy.lines),
            "before": copy.before,
            "erased": sorted(copy.erased),
        },
        ensure_ascii=True,
    )


def parse_base_copy(text: str) -> BaseCopy:
    """A copy from its JSON; an empty one if unreadable: then the store's history has to do."""
    try:
        value = json.loads(text)
        return BaseCopy(
            str(value["stamp"]),
            _parse_lines(value["lines"]),
            tuple(
                (str(stamp), {id: line and PageLine(*line) for id, line in delta.items()})
                for stamp, delta in value["before"]
            ),
            frozenset(map(str, value.get("erased", ()))),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return BaseCopy()


def _fingerprint_id(id: str) -> str:
    from reverie.text.tokenization import fingerprint_text

    return fingerprint_text(id).hex()[:16]


def _parse_lines(value: dict[str, Any]) -> dict[str, PageLine]:
    return {id: PageLine(*line) for id, line in value.items()}
