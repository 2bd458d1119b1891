"""What a memory says of code: which file or symbol, how that looked then, and whether it still
does.

A memory's anchors stand in `details["anchors"]`, and edges `about` lead to the same files and
symbols. What has become of them stands in `details["outdated"]`: nothing as long as the code is
what the memory speaks of; else a state and the words in which everybody is told. Whoever shows or
ranks a memory reads that; `settle.anchoring` writes it.

Always true: an anchor that does not hold is told wherever the memory is shown. We would notice
otherwise by `python -m bench.anchors`, which counts those that were lost silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.kinds import memory_type_of
from reverie.core.model import Edge, Memory

ANCHORS, OUTDATED = "anchors", "outdated"  # names in the details
CHANGED, GONE = "changed", "gone"  # states; empty: the code is what the memory speaks of
# who made it: somebody who keeps a memory, or the memory's own text
GIVEN, NAMED = (
    "given",
    "named",
)
MAX_ANCHORS = 20  # anchors of one memory
# types of memory that go out of date; what happened stays true
OUTDATABLE_TYPES = (
    "semantic",
    "procedural",
)


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
            told = f" (no longer so, says a model: {self.verdict})" if self.verdict else ""
            return f"said about an older version of {whole}{told}"
        return ""


def anchors_of(memory: Memory) -> list[CodeAnchor]:
    """A memory's anchors; what somebody else put under that name is none."""
    return anchors_in(memory.details)


def anchors_in(details: Mapping[str, Any]) -> list[CodeAnchor]:
    """The anchors that stand in some details."""
    rows = details.get(ANCHORS)
    return (
        [anchor for row in rows if (anchor := parse_anchor(row))]
        if isinstance(rows, (list, tuple))
        else []
    )


def parse_anchor(row: Any) -> CodeAnchor | None:
    """An anchor as it is kept; None where that is none."""
    if (
        not isinstance(row, Mapping)
        or not isinstance(row.get("root"), str)
        or not isinstance(row.get("path"), str)
    ):
        return None
    known = {
        name: row[name]
        for name, plain in CodeAnchor._field_defaults.items()
        if name in row
        and isinstance(
            row[name],
            (int, float) if name == "at" else (list, tuple) if name == "namesakes" else type(plain),
        )
    }
    known["namesakes"] = tuple(str(one) for one in known.get("namesakes", ()))
    return CodeAnchor(row["root"], row["path"], **known)


def anchor_to_row(anchor: CodeAnchor) -> dict[str, Any]:
    """An anchor as it is kept: what says nothing is left out."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in anchor._asdict().items()
        if value != CodeAnchor._field_defaults.get(name)
    }


def details_with_anchors(memory: Memory, anchors: Sequence[CodeAnchor]) -> dict[str, Any]:
    """The memory's details with these anchors, and what is to be told of them."""
    plain = {
        name: value for name, value in memory.details.items() if name not in (ANCHORS, OUTDATED)
    }
    if not anchors:
        return plain if anchors_of(memory) else dict(memory.details)
    told = (
        {
            OUTDATED: {
                "state": combine_states(anchors),
                "words": "; ".join(
                    dict.fromkeys(filter(None, (anchor.notice for anchor in anchors)))
                ),
            }
        }
        if combine_states(anchors)
        else {}
    )
    return {**plain, ANCHORS: [anchor_to_row(anchor) for anchor in anchors], **told}


def merge_anchor_details(memory: Memory, other: Memory) -> dict[str, Any]:
    """The details of a memory that takes in another one which says the same: the anchors of both.

    Of two at one place the later counts: who says a thing again says it about the code as it is
    then.
    """
    plain = memory._replace(details={**other.details, **memory.details})
    by_place: dict[str, CodeAnchor] = {}
    for anchor in sorted((*anchors_of(memory), *anchors_of(other)), key=lambda one: one.at):
        by_place[anchor.location] = anchor
    return details_with_anchors(plain, list(by_place.values())[-MAX_ANCHORS:])


def combine_states(anchors: Iterable[CodeAnchor]) -> str:
    """What has become of all of them together: gone once nothing is left of what was spoken of."""
    states = {anchor.state for anchor in anchors}
    return "" if states <= {""} else GONE if states == {GONE} else CHANGED


def outdated_notice(memory: Memory) -> str:
    """That a memory speaks of code that has changed or gone, in words; empty if it does not."""
    return (
        str(told.get("words", ""))
        if isinstance(told := memory.details.get(OUTDATED), Mapping)
        else ""
    )


def outdated_state(memory: Memory) -> str:
    """CHANGED or GONE for a memory whose code is; empty else."""
    return (
        str(told.get("state", ""))
        if isinstance(told := memory.details.get(OUTDATED), Mapping)
        else ""
    )


def about_edges(memory: Memory, anchors: Iterable[CodeAnchor]) -> dict[str, Edge]:
    """The `about` edges of anchors, by their ends."""
    return {anchor.edge_end: Edge(memory.id, "about", anchor.edge_end) for anchor in anchors}


def can_become_outdated(memory: Memory) -> bool:
    """Whether what it says can become wrong when code changes: what happened or was felt cannot."""
    return memory_type_of(memory.kind) in OUTDATABLE_TYPES
