# mypy: no-check-untyped-defs
"""Settings and files that make no sense: a sentence that says what to do, and nothing left behind."""

import os

import pytest

from reverie.core import clock
from reverie.storage.private_home import remove_leftovers
from tests.support.helpers import run_command, toy_home


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", " "]
)
def test_a_zone_that_is_none_is_named(tmp_path, zone):
    """Before anything is kept with a time that nobody meant."""
    home = toy_home(tmp_path, zone=zone)
    said = run_command("remember", "Call Bob tomorrow at 9.", "--home", str(home), code=2).stderr
    assert "zone" in said and "Europe/Berlin" in said and "bug" not in said


@pytest.mark.parametrize("name", ["mirror", "models", "store", "sensitive"])
def test_a_nul_in_a_setting_is_named(tmp_path, name):
    """It is the setting that is named, not a function of the system."""
    home = toy_home(tmp_path)
    value = '["a\\u0000b"]' if name == "sensitive" else '"a\\u0000b"'
    with (home / "config.toml").open("a") as file:
        file.write(f"{name} = {value}\n")
    said = run_command("recall", "cat", "--home", str(home), code=2).stderr
    assert name in said and "NUL" in said


def test_trouble_is_written_into_the_home_that_was_named(tmp_path, monkeypatch):
    """Also where another one is the usual home."""
    home = toy_home(tmp_path)
    usual = tmp_path / "usual"
    monkeypatch.setenv("REVERIE_HOME", str(usual))

    def broken(*_args, **_more):
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr("reverie.open", broken)
    said = run_command("recall", "cat", "--home", str(home), code=70).stderr
    place = home / "trouble.txt"
    assert str(place) in said and "nobody foresaw" in place.read_text()
    assert place.stat().st_mode & 0o777 == 0o600 and not (usual / "trouble.txt").exists()


def test_what_a_dead_process_left_half_written_is_removed(tmp_path):
    """After an hour; what somebody may still be writing stays, and so does what is not ours."""
    home = toy_home(tmp_path)
    left = [
        home / "hooks" / "spool" / ".hook_1.json.4711.part",
        home / "backups" / "reverie-20260101.db.part",
        home / "reverie.db.restoring-journal",
    ]
    kept = [home / "hooks" / "spool" / ".hook_2.json.4712.part", home / "notes.part"]
    for path in [*left, *kept]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    for path in [*left, kept[1]]:
        os.utime(path, (clock.now() - 7_200,) * 2)
    assert remove_leftovers(home, clock.now()) == len(left)
    assert not any(path.exists() for path in left) and all(path.exists() for path in kept)
