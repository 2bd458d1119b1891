"""The floors of `make coverage`: every room has one, and a room below it is told."""

import json
from pathlib import Path

from tools import coverage_floors

SRC = Path(__file__).parents[2] / "src" / "reverie"


def report(**rooms):
    """What `coverage json` writes: room → (lines, lines that were run), a file each."""
    return {
        "files": {
            f"src/reverie/{room}/module.py": {
                "summary": {"num_statements": lines, "covered_lines": covered}
            }
            for room, (lines, covered) in rooms.items()
        }
    }


def test_every_room_has_a_floor():
    """A new room gets a row, and a row without a room goes."""
    rooms = {path.name for path in SRC.iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(coverage_floors.load_floors())


def test_a_room_below_its_floor_or_without_one_fails(tmp_path, capsys):
    """The exit code says it, and the line names the room."""
    good = dict.fromkeys(coverage_floors.load_floors(), (100, 95))
    place = tmp_path / "coverage.json"
    place.write_text(json.dumps(report(**good)))
    assert coverage_floors.main([str(place)]) == 0
    place.write_text(json.dumps(report(**{**good, "retrieval": (100, 10), "attic": (10, 10)})))
    assert coverage_floors.main([str(place)]) == 1
    low = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "below" in line]
    assert low == ["attic", "retrieval"]


def test_files_outside_of_a_room_are_not_counted(tmp_path):
    """`reverie/__init__.py` and what lies beside the package belong to no room."""
    assert coverage_floors.room_of("src/reverie/__init__.py") == ""
    assert coverage_floors.room_of("tests/core/test_model.py") == ""
    assert coverage_floors.room_of("/x/src/reverie/code/planning/file_ranker.py") == "code"
