"""Bundles: what `reverie data export` writes, a file for each format, and a row here.

Each is given the rows of an export (a header, memories, links, events, vectors) and yields text,
piece by piece. The formats are read back by importers of the same names (`porting.importers`). To
add one, write its file with a function `write(rows)` and add its row: see docs/why-bundle.md for
why there is no other yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from reverie.core.errors import BadInput


class BundleFormat(NamedTuple):
    """A format in which memories are given out."""

    name: str
    about: str  # what comes along, for people
    keeps_log: bool = False  # and what was done and said

    def write(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """The rows of an export in this format."""
        yield from import_module(f"{__name__}.{self.name}").write(rows)


BUNDLES = (
    BundleFormat("reverie", "everything, to the letter, as JSON Lines", keeps_log=True),
    BundleFormat("mif", "memories that count and their links, as Memory Interchange Format 2.0"),
)
BUNDLE_NAMES = tuple(row.name for row in BUNDLES)


def choose_bundle(name: str) -> BundleFormat:
    """The format of that name; BadInput for none."""
    if name not in BUNDLE_NAMES:
        raise BadInput(f"{name!r} is not one of {', '.join(BUNDLE_NAMES)}")
    return BUNDLES[BUNDLE_NAMES.index(name)]
