"""The map as a picture (SVG), for a README or a page without scripts.

It names tags, clusters and files and shows no text of a memory. It follows the reader's light or
dark scheme, and is the same for the same map.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from reverie.consolidation.memory_map import MEMORY, MapNode, MemoryMap, size_of

WIDTH, HEIGHT, MARGIN = 1200, 800, 40
COLOURS = 8
MAX_NAMES = 16
PALETTE = (
    "#2f6f9f",
    "#b3662b",
    "#3f7f4f",
    "#9a4f86",
    "#7a6a1f",
    "#4f5fa8",
    "#a8474c",
    "#2f7f7f",
)
STYLE = (
    "text{font:600 13px system-ui,sans-serif;fill:#1d1c1a;text-anchor:middle;paint-order:stroke;"
    "stroke:#fbfaf8;stroke-width:4px}line{stroke:#8a867d;stroke-opacity:.25}"
    ".gone{fill-opacity:.2}.paper{fill:#fbfaf8}"
    + "".join(f".c{number}{{fill:{colour}}}" for number, colour in enumerate(PALETTE))
    + ".alone{fill:#a8a59d}"
    "@media(prefers-color-scheme:dark){.paper{fill:#151618}text{fill:#e9e7e2;stroke:#151618}"
    "line{stroke:#a8a59d}circle{filter:brightness(1.35)}}"
)


class PictureLine(NamedTuple):
    """A tie."""

    x1: float
    y1: float
    x2: float
    y2: float


class PictureDot(NamedTuple):
    """A node."""

    x: float
    y: float
    r: float
    style: str  # its classes


class PictureName(NamedTuple):
    """A name beside a node."""

    x: float
    y: float
    text: str


class MapPicture(NamedTuple):
    """What is drawn, from back to front."""

    lines: Sequence[PictureLine]
    dots: Sequence[PictureDot]
    names: Sequence[PictureName]
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def line_path(self) -> str:
        """All lines as one path: a template writes thousands of elements in no little time."""
        return "".join(f"M{x1} {y1}L{x2} {y2}" for x1, y1, x2, y2 in self.lines)


def picture_map(drawn: MemoryMap) -> MapPicture:
    """The map in the picture's units."""
    nodes = drawn.nodes
    if not nodes:
        return MapPicture((), (), ())
    xs, ys = [node.x for node in nodes], [node.y for node in nodes]
    wide, high = max(max(xs) - min(xs), 1.0), max(max(ys) - min(ys), 1.0)
    scale = min((WIDTH - 2 * MARGIN) / wide, (HEIGHT - 2 * MARGIN) / high)
    left = (WIDTH - scale * wide) / 2 - scale * min(xs)
    top = (HEIGHT - scale * high) / 2 - scale * min(ys)
    at = [(round(left + scale * node.x, 1), round(top + scale * node.y, 1)) for node in nodes]
    named = {community.number for community in drawn.communities}
    return MapPicture(
        [PictureLine(*at[link.one], *at[link.other]) for link in drawn.links],
        [
            PictureDot(x, y, round(size_of(node), 1), dot_style(node, named))
            for node, (x, y) in zip(nodes, at, strict=True)
        ],
        place_names(nodes, at),
    )


def dot_style(node: MapNode, named: set[int]) -> str:
    """The classes of a node: its community's colour, and whether it is no longer so."""
    colour = f"c{node.community % COLOURS}" if node.community in named else "alone"
    return f"{colour} gone" if node.ended else colour


def place_names(nodes: Sequence[MapNode], at: Sequence[tuple[float, float]]) -> list[PictureName]:
    """The names of tags, clusters and files with most ties, where one does not cover another."""
    places = [place for place, node in enumerate(nodes) if node.what != MEMORY]
    places.sort(key=lambda place: (-nodes[place].links, nodes[place].id))
    names: list[PictureName] = []
    for place in places:
        x, y = at[place]
        half = 4 * len(nodes[place].label)
        x, y = min(max(x, half), WIDTH - half), max(y - 10, 14)
        if all(abs(x - one.x) > half + 4 * len(one.text) or abs(y - one.y) > 16 for one in names):
            names.append(PictureName(x, y, nodes[place].label))
        if len(names) == MAX_NAMES:
            break
    return names


def printable(text: str) -> str:
    """A text without signs that XML does not allow, and without what turns lines around."""
    return "".join(sign for sign in text if sign.isprintable())


def write_svg(picture: MapPicture) -> str:
    """The picture as a file of its own."""
    size = f'width="{picture.width}" height="{picture.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {picture.width} {picture.height}" '
        f'{size} role="img"><title>A map of what is remembered</title><style>{STYLE}</style>'
        f'<rect class="paper" {size}/>'
    ]
    parts += [
        f'<line x1="{line.x1}" y1="{line.y1}" x2="{line.x2}" y2="{line.y2}"/>'
        for line in picture.lines
    ]
    parts += [
        f'<circle class="{dot.style}" cx="{dot.x}" cy="{dot.y}" r="{dot.r}"/>'
        for dot in picture.dots
    ]
    parts += [
        f'<text x="{name.x}" y="{name.y}">{escape(printable(name.text))}</text>'
        for name in picture.names
    ]
    return "\n".join([*parts, "</svg>", ""])
