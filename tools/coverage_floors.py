"""Compare what the tests ran with the floor of each room: `python -m tools.coverage_floors FILE`.

FILE is what `coverage json` writes. Prints a line for each room and exits with 1 if one is below its
floor in `coverage_floors.toml` or has none. Rooms named after FILE are the only ones looked at: for a
run of their tests alone.
"""

import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FLOORS = Path(__file__).with_name("coverage_floors.toml")
PACKAGE = ("src", "reverie")


class RoomCoverage(NamedTuple):
    """How many lines of a room can run, and how many of them the tests ran."""

    room: str
    lines: int
    covered: int
    floor: float | None  # None where the table has no row

    @property
    def percent(self) -> float:
        """The share that was run, 0 to 100; 100 for a room without a line."""
        return 100.0 * self.covered / self.lines if self.lines else 100.0

    @property
    def is_low(self) -> bool:
        """True if the room is below its floor, or has none."""
        return self.floor is None or self.percent < self.floor


def load_floors(path: Path = FLOORS) -> dict[str, float]:
    """Room → percent."""
    floors: dict[str, float] = tomllib.loads(path.read_text("utf-8"))["floors"]
    return floors


def room_of(file: str) -> str:
    """The room that a file of the package lies in; empty for one that lies in none."""
    parts = Path(file).parts
    for place in range(len(parts) - 3):
        if parts[place : place + 2] == PACKAGE:
            return parts[place + 2]
    return ""


def measure_rooms(report: Mapping[str, Any], floors: Mapping[str, float]) -> Iterator[RoomCoverage]:
    """Each room of a report by `coverage json`, and each that has a floor, by name."""
    lines: dict[str, int] = defaultdict(int)
    covered: dict[str, int] = defaultdict(int)
    for file, row in report["files"].items():
        if room := room_of(file):
            lines[room] += row["summary"]["num_statements"]
            covered[room] += row["summary"]["covered_lines"]
    for room in sorted({*lines, *floors}):
        yield RoomCoverage(room, lines[room], covered[room], floors.get(room))


def main(words: Sequence[str]) -> int:
    """Print the table; 1 if a room is below its floor."""
    report = json.loads(Path(words[0]).read_text("utf-8"))
    rooms = list(measure_rooms(report, load_floors()))
    if words[1:]:
        rooms = [room for room in rooms if room.room in words[1:]]
    for room in rooms:
        floor = "none" if room.floor is None else f"{room.floor:.0f}"
        mark = "  below its floor" if room.is_low else ""
        print(f"{room.room:16} {room.percent:5.1f} %  floor {floor}{mark}")
    return int(any(room.is_low for room in rooms))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
