"""Curves over time, drawn with braille characters or as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import floor, log10
from typing import NamedTuple

from reverie.core.clock import format_day
from reverie.memory.growth import KindDecay

DAY = 86_400.0
# The bit of each dot of a braille character, row by row: it has four rows of two (Unicode 28xx).
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BRAILLE = 0x2800
LEAST_HEIGHT = 1e-300
SVG_SIZE = (640, 220)
SVG_MARGIN = (52, 12, 12, 26)  # left, top, right, bottom
SVG_COLOURS = ("#2563eb", "#b45309", "#15803d", "#9333ea")


class Curve(NamedTuple):
    """Points (x, y), by rising x."""

    name: str
    points: Sequence[tuple[float, float]]


class Chart(NamedTuple):
    """Curves in one frame. `labels` are what stands at the left and the right end of the x axis."""

    title: str
    curves: Sequence[Curve]
    labels: tuple[str, str]
    unit: str = ""


def find_frame(chart: Chart) -> tuple[float, float, float, float]:
    """(least x, greatest x, 0, a round number not below any y)."""
    xs = [x for curve in chart.curves for x, _ in curve.points]
    top = max((y for curve in chart.curves for _, y in curve.points), default=0.0)
    first, last = min(xs, default=0.0), max(xs, default=1.0)
    return first, last if last > first else first + 1.0, 0.0, round_up(top)


def round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 · 10ⁿ that is not below a value; 1 for 0, and for what is so small
    that powers of ten have no number there.
    """
    if value < LEAST_HEIGHT:
        return 1.0
    base: float = 10.0 ** floor(log10(value))
    return next(step * base for step in (1, 2, 2.5, 5, 10) if step * base >= value * 0.999999)


def draw_text_chart(
    chart: Chart, columns: int, rows: int = 8, *, ascii_only: bool = False
) -> list[str]:
    """The lines of a chart, none wider than the columns."""
    _, _, _, top = find_frame(chart)
    marks = [format_amount(top, chart.unit), format_amount(0, chart.unit)]
    margin = max(map(len, marks)) + 1
    width = max(4, columns - margin - 1)
    body = draw_dots(chart, width, rows, ascii_only)
    left = [marks[0], *[""] * (rows - 2), marks[1]]
    bar = "|" if ascii_only else "│"
    lines = [
        f"{mark:>{margin - 1}}{bar}{line}".rstrip() for mark, line in zip(left, body, strict=True)
    ]
    room = max(1, width - len(chart.labels[0]) - len(chart.labels[1]))
    names = " · ".join(curve.name for curve in chart.curves if curve.name)
    under = f"{' ' * margin}{chart.labels[0]}{' ' * room}{chart.labels[1]}"
    return [chart.title, *lines, under[:columns], *([names] if names else [])]


def draw_dots(chart: Chart, width: int, rows: int, ascii_only: bool) -> list[str]:
    """The curves as characters, each of two by four dots."""
    first, last, _, top = find_frame(chart)
    cells = [[0] * width for _ in range(rows)]
    for curve in chart.curves:
        before: int | None = None
        for place in range(width * 2):
            x = first + (last - first) * place / (width * 2 - 1)
            y = height_at(curve.points, x)
            if y is None:
                before = None
                continue
            level = min(rows * 4 - 1, int(y / top * (rows * 4 - 1) + 0.5))
            low = level if before is None else min(level, before + (level > before))
            high = level if before is None else max(level, before - (level < before))
            for one in range(low, high + 1):
                down = rows * 4 - 1 - one
                cells[down // 4][place // 2] |= DOTS[down % 4][place % 2]
            before = level
    if ascii_only:
        return ["".join("*" if cell else " " for cell in row) for row in cells]
    return ["".join(chr(BRAILLE + cell) if cell else " " for cell in row) for row in cells]


def height_at(points: Sequence[tuple[float, float]], x: float) -> float | None:
    """The height of a curve, straight between its points; None before and behind them."""
    if not points or x < points[0][0] - 1e-9 or x > points[-1][0] + 1e-9:
        return None
    for (x0, y0), (x1, y1) in pairwise(points):
        if x <= x1:
            return y0 if x1 == x0 else y0 + (y1 - y0) * max(0.0, x - x0) / (x1 - x0)
    return points[-1][1]


def format_amount(value: float, unit: str) -> str:
    """A number at an axis."""
    if unit == "%":
        return f"{value:.0%}"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def draw_svg(charts: Sequence[Chart]) -> str:
    """The charts below each other as one SVG, which needs no style of elsewhere."""
    width, height = SVG_SIZE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height * len(charts)}" '
        'font-family="system-ui, sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height * len(charts)}" fill="#ffffff"/>',
    ]
    for place, chart in enumerate(charts):
        parts += [f'<g transform="translate(0 {place * height})">', *draw_svg_chart(chart), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def draw_svg_chart(chart: Chart) -> list[str]:
    """The elements of one chart."""
    width, height = SVG_SIZE
    left, above, right, below = SVG_MARGIN
    first, last, _, top = find_frame(chart)
    bottom = height - below
    title_room = 16

    def place(x: float, y: float) -> str:
        across = left + (width - left - right) * (x - first) / (last - first)
        up = bottom - (bottom - above - title_room) * y / top
        return f"{across:.1f},{up:.1f}"

    lines = [f'<text x="{left}" y="{above + 6}" font-weight="600">{escape(chart.title)}</text>']
    for share in (0.0, 0.5, 1.0):
        _, y = place(first, top * share).split(",")
        ends = f'x1="{left}" x2="{width - right}" y1="{y}" y2="{y}"'
        lines.append(f'<line {ends} stroke="#d4d4d8"/>')
        mark = format_amount(top * share, chart.unit)
        lines.append(
            f'<text x="{left - 6}" y="{y}" dy="4" text-anchor="end" fill="#52525b">{mark}</text>'
        )
    for at, anchor, label in zip(
        (left, width - right), ("start", "end"), chart.labels, strict=True
    ):
        lines.append(
            f'<text x="{at}" y="{bottom + 16}" text-anchor="{anchor}" fill="#52525b">'
            f"{escape(label)}</text>"
        )
    for number, curve in enumerate(chart.curves):
        colour = SVG_COLOURS[number % len(SVG_COLOURS)]
        points = " ".join(place(x, y) for x, y in curve.points)
        lines.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>'
        )
        lines.append(
            f'<text x="{left + 150 + 110 * number}" y="{above + 6}" fill="{colour}">'
            f"{escape(curve.name)}</text>"
        )
    return lines


def chart_growth(counted: Sequence[tuple[str, float, int]], now: float) -> Chart:
    """How many memories counted at the end of each day: (date, its time, how many)."""
    points = [(at, float(count)) for _, at, count in counted]
    if points:
        # A day before the first there were none, and since the last as many as then.
        points = [(points[0][0] - DAY, 0.0), *points, (max(now, points[-1][0]), points[-1][1])]
    start = format_day(points[0][0]) if points else ""
    return Chart("memories that count", [Curve("", points)], (start, format_day(now)))


def chart_decay(decays: Sequence[KindDecay], days: int = 90) -> Chart:
    """How much is left of a memory of some kinds that is never used, over so many days."""
    curves = [
        Curve(one.kind, [(float(day), one.left_after(day)) for day in range(days + 1)])
        for one in decays
    ]
    return Chart("left of a memory that nobody uses", curves, ("0 days", f"{days} days"), "%")
