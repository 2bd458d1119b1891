"""Anchors: which file or symbol a memory is about, how it looked then, and whether it still does.

A memory's anchors stand in `details["anchors"]`, and edges `about` lead to the same files and
symbols. What has become of them stands in `details["outdated"]`: nothing as long as the code is
what the memory speaks of, else a state and a notice for readers. Whoever shows or ranks a memory
reads that; `code.anchor_reader` writes it.

Always true: a memory whose anchor does not hold is shown with its notice. `python -m bench.anchors`
counts those that were lost silently.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.kinds import memory_type_of
from reverie.core.model import Edge, Memory

ANCHORS, OUTDATED = "anchors", "outdated"  # names in the details
CHANGED, GONE = "changed", "gone"  # states; empty: the code is what the memory speaks of
GIVEN, NAMED = "given", "named"  # who made it: whoever kept the memory, or the memory's own text
MAX_ANCHORS = 20  # of one memory
# Memory types that code can outdate; what happened or was felt stays true.
OUTDATABLE_TYPES = ("semantic", "procedural")


class CodeAnchor(NamedTuple):
    """A file or symbol as it was when something was said about it, and where it is now."""

    root: str  # the repository's folder
    path: str  # from there, with slashes
    symbol: str = ""  # qualified; empty: the file as a whole
    kind: str = ""  # class, function, method, variable, attribute; empty: a file
    digest: str = ""  # of its text, indentation aside
    shape: str = ""  # of its syntax: comments, layout and quotes aside
    body: str = ""  # its text then, without secrets, cut
    beside: str = ""  # digests of the names that the file defined, or of what the file consisted of
    namesakes: tuple[str, ...] = ()  # other files that defined a symbol of the same qualified name
    twins: bool = False  # whether the same text stood in another place, too
    at: float = 0.0  # when it looked like this
    by: str = GIVEN
    state: str = ""
    was: str = ""  # where it was said to be, once it has moved
    judged: str = ""  # the shape that a language model has looked at
    verdict: str = ""  # what it said of it

    @property
    def location(self) -> str:
        """For people: "path" or "path:symbol"."""
        return f"{self.path}:{self.symbol}" if self.symbol else self.path

    @property
    def edge_end(self) -> str:
        """The end of its `about` edge."""
        return f"symbol:{self.path}#{self.symbol}" if self.symbol else f"file:{self.path}"

    @property
    def notice(self) -> str:
        """What has become of it; empty while it holds."""
        whole = f"{self.symbol} in {self.path}" if self.symbol else self.path
        if self.state == GONE:
            return f"said about {whole}, which is not there any more"
        if self.state == CHANGED:
            verdict = f" (no longer so, says a model: {self.verdict})" if self.verdict else ""
            return f"said about an older version of {whole}{verdict}"
        return ""


def anchors_of(memory: Memory) -> list[CodeAnchor]:
    """A memory's anchors; what somebody else put under that name is passed over."""
    return anchors_in(memory.details)


def anchors_in(details: Mapping[str, Any]) -> list[CodeAnchor]:
    """The anchors that stand in some details."""
    rows = details.get(ANCHORS)
    if not isinstance(rows, (list, tuple)):
        return []
    return [anchor for row in rows if (anchor := parse_anchor(row))]


def parse_anchor(row: Any) -> CodeAnchor | None:
    """An anchor from its stored row; None if the row is none. Values of other types are dropped."""
    if not isinstance(row, Mapping):
        return None
    root, path = row.get("root"), row.get("path")
    if not isinstance(root, str) or not isinstance(path, str):
        return None
    values: dict[str, Any] = {}
    for name, default in CodeAnchor._field_defaults.items():
        if name in row and isinstance(
            row[name],
            _ROW_TYPES.get(name, type(default)),
        ):
            values[name] = row[name]
    values["namesakes"] = tuple(str(name) for name in values.get("namesakes", ()))
    return CodeAnchor(root, path, **values)


# Of fields that a row may hold in other types than the anchor does.
_ROW_TYPES: dict[str, tuple[type, ...]] = {"at": (int, float), "namesakes": (list, tuple)}


def anchor_to_row(anchor: CodeAnchor) -> dict[str, Any]:
    """An anchor as it is stored, without fields that have their default."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in anchor._asdict().items()
        if value != CodeAnchor._field_defaults.get(name)
    }


def details_with_anchors(memory: Memory, anchors: Sequence[CodeAnchor]) -> dict[str, Any]:
    """The memory's details with these anchors, and with the notice of what has become of them."""
    details = {
        name: value for name, value in memory.details.items() if name not in (ANCHORS, OUTDATED)
    }
    if not anchors:
        return details if anchors_of(memory) else dict(memory.details)
    details[ANCHORS] = [anchor_to_row(anchor) for anchor in anchors]
    state = combine_states(anchors)
    if state:
        notices = dict.fromkeys(anchor.notice for anchor in anchors if anchor.notice)
        details[OUTDATED] = {"state": state, "words": "; ".join(notices)}
    return details


def merge_anchor_details(memory: Memory, other: Memory) -> dict[str, Any]:
    """The details of a memory that takes in a duplicate: with the anchors of both.

    Of two at one place the later counts: who says a thing again says it of the code as it is then.
    """
    merged = memory._replace(details={**other.details, **memory.details})
    by_location: dict[str, CodeAnchor] = {}
    for anchor in sorted(
        (*anchors_of(memory), *anchors_of(other)),
        key=lambda anchor: anchor.at,
    ):
        by_location[anchor.location] = anchor
    return details_with_anchors(merged, list(by_location.values())[-MAX_ANCHORS:])


def combine_states(anchors: Iterable[CodeAnchor]) -> str:
    """The state of all anchors together: GONE only if all are, CHANGED if any is either."""
    states = {anchor.state for anchor in anchors}
    if states <= {""}:
        return ""
    return GONE if states == {GONE} else CHANGED


def outdated_notice(memory: Memory) -> str:
    """What to tell readers of a memory whose code has changed or gone; empty for others."""
    return _outdated_value(memory, "words")


def outdated_state(memory: Memory) -> str:
    """CHANGED or GONE for a memory whose code is; empty for others."""
    return _outdated_value(memory, "state")


def _outdated_value(memory: Memory, name: str) -> str:
    entry = memory.details.get(OUTDATED)
    return str(entry.get(name, "")) if isinstance(entry, Mapping) else ""


def about_edges(memory: Memory, anchors: Iterable[CodeAnchor]) -> dict[str, Edge]:
    """The `about` edges of anchors, by the node that each leads to."""
    return {
        anchor.edge_end: Edge(
            memory.id,
            "about",
            anchor.edge_end,
        )
        for anchor in anchors
    }


def can_become_outdated(memory: Memory) -> bool:
    """True if a change of code can make the memory wrong."""
    return memory_type_of(memory.kind) in OUTDATABLE_TYPES
