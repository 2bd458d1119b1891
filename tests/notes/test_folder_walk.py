"""Which files count, and reading one."""

import os
import sys

import pytest

from reverie.core import clock
from reverie.core.errors import BadInput, NotFound
from reverie.notes.folder_walk import (
    MAX_FILE_BYTES,
    admit_path,
    decode_file_text,
    read_text_file,
    relative_to_root,
    walk_folder,
)
from reverie.notes.watched_roots import WatchedRoot
from reverie.storage.indexed_files import UNSURE_STAMP

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs links and modes of POSIX")


def grown(folder, **files):
    """A root with these files, by path."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return WatchedRoot(os.path.realpath(folder), "me")


def paths(root):
    return [file.path for file in walk_folder(root).files]


@pytest.mark.proves("C59")
def test_text_that_people_write_counts(tmp_path):
    """Markdown, plain text and the like; neither code nor what is hidden nor what packages bring."""
    root = grown(
        tmp_path,
        **{
            "a.md": "",
            "b.TXT": "",
            "c/d.rst": "",
            "README": "",
            "code.py": "",
            ".hidden.md": "",
            ".git/x.md": "",
            "node_modules/p/README.md": "",
        },
    )
    assert ["README", "a.md", "b.TXT", "c/d.rst"] == paths(root)


@pytest.mark.proves("A111", "B120")
def test_ignore_files_are_obeyed(tmp_path):
    """.gitignore and .secretsignore, below too, the innermost wins, `!` brings back."""
    root = grown(
        tmp_path,
        **{
            ".gitignore": "*.txt\nbuild/\n",
            ".secretsignore": "passwords*\n",
            "a.txt": "",
            "b.md": "",
            "build/c.md": "",
            "passwords.md": "",
            "sub/.gitignore": "!keep.txt\n",
            "sub/keep.txt": "",
            "sub/passwords-2.md": "",
        },
    )
    found = walk_folder(root)
    assert ["b.md", "sub/keep.txt"] == [file.path for file in found.files]
    assert found.skipped["ignored"] == 3


@pytest.mark.proves("A111")
def test_the_repository_above_is_obeyed_unless_it_ignores_the_folder_itself(tmp_path):
    """Its rules reach into the folder; a folder that somebody chose counts all the same."""
    grown(
        tmp_path,
        **{
            ".git/HEAD": "",
            ".gitignore": "drafts/\n/notes/private.md\nown/\n",
            "notes/private.md": "",
            "notes/drafts/a.md": "",
            "notes/b.md": "",
            "own/c.md": "",
        },
    )
    assert ["b.md"] == paths(WatchedRoot(os.path.realpath(tmp_path / "notes"), "me"))
    assert ["c.md"] == paths(WatchedRoot(os.path.realpath(tmp_path / "own"), "me"))


@POSIX
@pytest.mark.proves("CC-73")
def test_links_are_not_followed(tmp_path):
    """Neither to files nor to folders, inside or outside."""
    outside = tmp_path / "outside"
    root = grown(tmp_path / "notes", **{"a.md": "here"})
    grown(outside, **{"secret.md": "there"})
    (tmp_path / "notes" / "link.md").symlink_to(outside / "secret.md")
    (tmp_path / "notes" / "folder").symlink_to(outside)
    (tmp_path / "notes" / "round").symlink_to(tmp_path / "notes")
    assert ["a.md"] == paths(root)
    for name in ("link.md", "folder/secret.md", "round/a.md"):
        with pytest.raises(BadInput, match="symbolic link"):
            admit_path(root, name)


@POSIX
@pytest.mark.proves("CC-73")
def test_a_link_put_in_a_files_place_is_not_read(tmp_path):
    """Between looking and reading, too."""
    (tmp_path / "secret").write_text("x")
    (tmp_path / "a.md").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError):
        read_text_file(tmp_path / "a.md", clock.now())


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_is_not_an_empty_one(tmp_path):
    """A folder that cannot be opened is reported, so that nothing of it is dropped."""
    root = grown(tmp_path, **{"a.md": "", "closed/b.md": ""})
    (tmp_path / "closed").chmod(0)
    try:
        found = walk_folder(root)
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert (["a.md"], ["closed"]) == ([file.path for file in found.files], found.unreadable)


def test_a_vanished_folder_says_so(tmp_path):
    """A missing folder is an error, not an empty folder."""
    with pytest.raises(NotFound):
        walk_folder(WatchedRoot(str(tmp_path / "gone"), "me"))


def test_large_files_and_pipes_are_left_out(tmp_path):
    """What is larger than 2 MB is data; a pipe would never end."""
    root = grown(tmp_path, **{"large.md": "x" * (MAX_FILE_BYTES + 1), "a.md": ""})
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.md")
    assert ["a.md"] == paths(root)
    with pytest.raises(BadInput, match="too large"):
        read_text_file(tmp_path / "large.md", clock.now())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xc3\xa9", "café"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
        (b"caf\xe9", "café"),
        ("café".encode("utf-16"), "café"),
        (b"", ""),
    ],
)
def test_text_of_any_encoding_is_read(tmp_path, data, text):
    """UTF-8 with and without its mark, UTF-16 with its mark, else Windows' western one."""
    assert text == decode_file_text(data, tmp_path)


def test_what_is_no_text_is_refused(tmp_path):
    """A NUL says so."""
    with pytest.raises(BadInput, match="binary"):
        decode_file_text(b"PNG\0\0", tmp_path)


def test_a_fresh_stamp_is_not_trusted(tmp_path):
    """Two writes within the file system's grain leave one stamp: what was written just now is
    looked at again.
    """
    place = tmp_path / "a.md"
    place.write_text("one")
    os.utime(place, (1_000_000_000, 1_000_000_000))
    assert read_text_file(place, 1_000_000_001.0).stamp == UNSURE_STAMP
    assert read_text_file(place, 1_000_000_003.0).stamp.mtime == 1_000_000_000 * 10**9


@pytest.mark.parametrize("path", ["../b.md", "/etc/passwd", "sub/../../b.md", ".", ""])
@pytest.mark.proves("CC-73")
def test_paths_outside_the_root_are_refused(tmp_path, path):
    """A path that leads out of the root is refused by name, before anything is opened."""
    root = grown(tmp_path / "notes", **{"a.md": ""})
    assert relative_to_root(root, tmp_path / "notes" / path) is None


@POSIX
def test_a_root_may_be_reached_through_a_link(tmp_path):
    """Above the root links are the user's own affair: macOS's /tmp is one."""
    root = grown(tmp_path / "real", **{"a.md": ""})
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    assert relative_to_root(root, tmp_path / "alias" / "a.md") == "a.md"
