"""The mirror's folder: pages that people read, and beside them, hidden, what was last written.

    <root>/<space>/MEMORY.md
    <root>/<space>/memory/2026-03-14.md
    <root>/<space>/.mirror/state.json              how far it follows the store, how the files
                                                   looked, what waits for an answer
    <root>/<space>/.mirror/MEMORY.md.json          the copy of a page (`base_copy`)

A page is replaced at once, and only while it still holds what was read (`file_exchange`). Never
touched, nor written through: a page without our first line or with that of another space, one that
is not UTF-8, a link, whatever lies beyond a link that leads out of the root.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.model import EMPTY_MAPPING
from reverie.mirror import base_copy
from reverie.mirror.base_copy import BaseCopy
from reverie.mirror.file_exchange import NO_LOOK, FileLook, replace_whole_file, stat_look, swap_file
from reverie.mirror.page_blocks import (
    MirrorPage,
    find_memory_ids,
    parse_mirror_page,
    render_claiming_mark,
)
from reverie.mirror.page_placement import parse_page_day

HIDDEN = ".mirror"
BOM = "\ufeff"
# bytes of a folder's name; file systems end at 255
MAX_NAME_BYTES = 200
# the mirror's own names, and devices on Windows
RESERVED = ("memory", "memory.md", "con", "nul", "aux", "prn")

_HALF = re.compile(r"\.\d+\.part$")
# fields of a state that are tables by page
STATE_TABLES = ("looks", "questions", "troubles")


class PageTrouble(Exception):
    """Why a page is left alone, and what to do about it."""


class FoundPage(NamedTuple):
    """A page as it was found; `data` is None if there is no file."""

    page: MirrorPage
    data: bytes | None = None
    bom: bool = False
    look: FileLook = NO_LOOK

    @property
    def blank(self) -> bool:
        """True if there is nothing on it."""
        return self.data is None or not self.page.text.strip()


class MirrorState(NamedTuple):
    """How a space's mirror stood after it was last written."""

    seq: int = -1  # the last event that its pages know of; -1: it was never written
    looks: Mapping[str, FileLook] = EMPTY_MAPPING  # of its pages, by path
    # pages of which many lines are gone: (how many, of how many)
    questions: Mapping[str, tuple[int, int]] = EMPTY_MAPPING
    troubles: Mapping[str, str] = EMPTY_MAPPING  # pages that are left alone, and why

    @property
    def held(self) -> set[str]:
        """Pages that do not follow the store for the time being."""
        return {*self.questions, *self.troubles}


class MirrorFolder(NamedTuple):
    """The folder of one space."""

    root: Path
    space: str

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.root.joinpath(*map(to_folder_name, self.space.split("/")))

    @property
    def hidden(self) -> Path:
        """The folder of the state and the copies."""
        return self.path / HIDDEN

    def state(self) -> MirrorState:
        """The state that was kept; an empty one if it cannot be read."""
        try:
            return parse_mirror_state((self.hidden / "state.json").read_text("utf-8"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return MirrorState()

    def keep_state(self, state: MirrorState) -> None:
        """Write the state down. Raises PageTrouble where that would lead out of the root."""
        path = self.hidden / "state.json"
        self.check_inside(path)
        tables = {name: dict(getattr(state, name)) for name in STATE_TABLES}
        whole = {
            "space": self.space,
            "seq": state.seq,
            **tables,
        }
        replace_whole_file(path, json.dumps(whole, ensure_ascii=True).encode())

    def looks(self, names: Iterable[str]) -> dict[str, FileLook]:
        """How these pages look now."""
        return {name: stat_look(self.path / name) for name in names}

    def altered_looks(self, state: MirrorState) -> dict[str, FileLook]:
        """The pages that look otherwise than in this state, and those that are new."""
        looks = self.looks({*state.looks, *self.day_pages()})
        return {name: look for name, look in looks.items() if look != state.looks.get(name)}

    def day_pages(self) -> set[str]:
        """The pages of days that are there, also those that somebody has made."""
        try:
            names = [f"memory/{file.name}" for file in (self.path / "memory").iterdir()]
        except OSError:
            return set()
        return set(filter(parse_page_day, names))

    def ids(self, name: str) -> set[str]:
        """The memories whose ids stand on a page, also on one that is left alone."""
        try:
            return find_memory_ids((self.path / name).read_bytes().decode("utf-8", "replace"))
        except OSError:
            return set()

    def copy(self, name: str) -> BaseCopy:
        """What was last written on a page."""
        try:
            return base_copy.parse_base_copy(self._copy_of(name).read_text("utf-8"))
        except (OSError, UnicodeDecodeError):
            return BaseCopy()

    def keep_copy(self, name: str, copy: BaseCopy) -> None:
        """Keep what is written on a page. Raises PageTrouble where that leads out of the root."""
        path = self._copy_of(name)
        self.check_inside(path)
        replace_whole_file(path, base_copy.dump_base_copy(copy).encode())

    def _copy_of(self, name: str) -> Path:
        return self.hidden / f"{name.replace('/', '-')}.json"

    def read(self, name: str) -> FoundPage:
        """A page. Raises PageTrouble if it must be left alone."""
        path = self.path / name
        self.check_inside(path)
        try:
            # In this order: what is saved in between looks otherwise than noted, and is read again.
            look, data = stat_look(path), path.read_bytes()
        except FileNotFoundError:
            return FoundPage(MirrorPage(name))
        except OSError as err:
            raise PageTrouble(
                f"{path} cannot be read: {err.strerror or err}. Nothing of it was taken in"
            ) from err
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as err:
            raise PageTrouble(
                f"{path} is not UTF-8 (byte {err.start:,}): it is left alone. "
                "Save it as UTF-8, or delete it and run: reverie data mirror --no"
            ) from err
        page = parse_mirror_page(text.removeprefix(BOM), name)
        self.check_ours(page)
        return FoundPage(page, data, text.startswith(BOM), look)

    def check_ours(self, page: MirrorPage) -> None:
        """Raise PageTrouble if something stands on a page that has not our first line."""
        mark = page.mark
        if not page.text.strip() or self.is_marked(page):
            return
        whose = (
            f"is the page {mark.page} of {mark.space}"
            if mark
            else "has not been written by Reverie"
        )
        raise PageTrouble(
            f"{self.path / page.name} {whose}: it is left alone. Give it another name, or, if it "
            f"is to be taken in, this first line: {render_claiming_mark(self.space, page.name)}"
        )

    def is_marked(self, page: MirrorPage) -> bool:
        """True if a page has our first line, of this space and of its own name."""
        mark = page.mark
        return mark is not None and (mark.space, mark.page) == (self.space, page.name)

    def owns(self, name: str) -> bool:
        """True if a page has our first line and is no link, whatever it holds besides."""
        path = self.path / name
        try:
            if path.is_symlink():
                return False
            text = path.read_bytes().decode("utf-8-sig", "replace")
        except OSError:
            return False
        return self.is_marked(parse_mirror_page(text, name))

    def write(self, found: FoundPage, page: MirrorPage) -> FileLook | None:
        """Replace a page by another; None, and nothing is done, if it is no longer as found."""
        path = self.path / page.name
        self.check_inside(path)
        if path.exists() and not os.access(path, os.W_OK):
            raise PageTrouble(f"{path} may not be written: it is left as it is")
        data = ((BOM if found.bom else "") + page.text).encode("utf-8")
        try:
            return swap_file(path, data, found.data)
        except OSError as err:
            raise PageTrouble(
                f"{path} cannot be written: {err.strerror or err}. Check who may write there"
            ) from err

    def temporary_files(self, names: Iterable[str]) -> list[Path]:
        """What a process that died has left of these pages and of the hidden files, by name."""
        found: list[Path] = []
        for name in names:
            page = self.path / name
            found += page.parent.glob(f".{page.name}.*.part")
        found += self.hidden.glob(".*.json.*.part")
        return [half for half in found if _HALF.search(half.name)]

    def check_inside(self, path: Path) -> None:
        """Raise PageTrouble if a file is a link, or lies beyond one that leads out of the root."""
        root = self.root.resolve()
        if path.is_symlink() or not path.parent.resolve().is_relative_to(root):
            raise PageTrouble(
                f"{path} is a link, or lies beyond one that leads out of {self.root}: "
                "it is left alone"
            )


def to_file_look(
    ns: Any,
    size: Any,
    inode: Any,
) -> FileLook:
    """A look of a file as it was written down. Raises ValueError or TypeError."""
    return int(ns), int(size), int(inode)


def parse_mirror_state(text: str) -> MirrorState:
    """A state as it was written down. Raises the errors of what is not one."""
    value = json.loads(text)
    looks = value["looks"].items()
    questions = value["questions"].items()
    return MirrorState(
        int(value["seq"]),
        {name: to_file_look(*look) for name, look in looks},
        {name: (int(gone), int(of)) for name, (gone, of) in questions},
        {str(name): str(why) for name, why in value["troubles"].items()},
    )


def to_folder_name(segment: str) -> str:
    """A part of a space as a folder's name on every system, and none of the mirror's own names."""
    name = re.sub(r'[<>:"\\|?*%]|^\.|\.$', _percent_encode, segment)
    if name.casefold() in RESERVED:
        name = f"%{ord(name[0]):02x}{name[1:]}"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        from reverie.text.tokenization import fingerprint_text

        name = f"{name[: MAX_NAME_BYTES // 4]}%{fingerprint_text(segment).hex()[:16]}"
    return name


def _percent_encode(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02x}"
