"""Files that are replaced as a whole."""

import os
from pathlib import Path

import pytest

from reverie.core.atomic_file import write_atomically


def mode_of(path):
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("durable", [True, False])
def test_the_new_content_takes_the_place_of_the_old(tmp_path, durable):
    """The new content replaces the old, and no other file is left in the folder."""
    path = tmp_path / "a.txt"
    path.write_text("much longer than before")
    write_atomically(path, [b"one ", b"two"], durable=durable)

    assert path.read_bytes() == b"one two"
    assert [path] == list(tmp_path.iterdir())


def test_a_file_keeps_its_mode(tmp_path):
    """A new one gets `new_mode`; `mode` is for both."""
    path = tmp_path / "a.txt"
    write_atomically(path, b"1")
    assert mode_of(path) == 0o600
    path.chmod(0o640)
    write_atomically(path, b"2", new_mode=0o644)
    assert mode_of(path) == 0o640
    write_atomically(path, b"3", mode=0o600)
    assert mode_of(path) == 0o600


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    """An interrupted write leaves the old file whole and no half of the new one."""
    path = tmp_path / "a.txt"
    path.write_text("old")

    def pieces():
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, pieces())
    assert path.read_text() == "old"
    assert [path] == list(tmp_path.iterdir())


def test_it_is_flushed_before_it_is_renamed(tmp_path, monkeypatch):
    """First the file, then its name, then its folder: a crash leaves the old file or the new."""
    done = []

    def record(name):
        call = getattr(os, name)

        def recorded(*args):
            done.append(name)
            return call(*args)

        monkeypatch.setattr(os, name, recorded)

    record("fsync")
    record("replace")
    write_atomically(tmp_path / "a.txt", b"x")
    write_atomically(tmp_path / "b.txt", b"x", durable=False)

    assert done == ["fsync", "replace", "fsync", "replace"]


def test_a_link_in_the_temporary_file_s_place_is_not_followed(tmp_path):
    """Whoever may write to the folder cannot have another file overwritten."""
    from reverie.core.atomic_file import temporary_path

    path, victim = tmp_path / "a.txt", tmp_path / "victim"
    victim.write_text("mine")
    Path(temporary_path(path)).symlink_to(victim)
    write_atomically(path, b"x")

    assert (path.read_text(), victim.read_text()) == ("x", "mine")
    assert not path.is_symlink()
