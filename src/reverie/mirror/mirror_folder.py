"""The mirror's folder: pages that people read, and beside them, hidden, what was last written.

    <root>/<space>/MEMORY.md
    <root>/<space>/memory/2026-03-14.md
    <root>/<space>/.mirror/state.json              where the store stood, how the files looked, what waits for an answer
    <root>/<space>/.mirror/MEMORY.md.json          the copy of a page (`written`)

A page is replaced at once, and only while it still holds what was read (`swapping`). Never touched,
nor written through: a page without our first line or with that of another space, one that is not
UTF-8, a link, whatever lies beyond a link that leads out of the root.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.core.model import NOTHING
from reverie.mirror import base_copy
from reverie.mirror.base_copy import Copy
from reverie.mirror.file_exchange import ABSENT, Look, look_of, replace, swapped
from reverie.mirror.page_blocks import Page, claimed, ids_in, parse
from reverie.mirror.page_placement import day_of

HIDDEN = ".mirror"
BOM = "\ufeff"
LONGEST = 200  # bytes of a folder's name; file systems end at 255
RESERVED = ("memory", "memory.md", "con", "nul", "aux", "prn")

_HALF = re.compile(r"\.\d+\.part$")
KEPT = ("looks", "questions", "troubles")  # of a state, by page


class Trouble(Exception):
    """Why a page is left alone, and what to do about it."""


class Found(NamedTuple):
    """A page as it was found. `data` None: there is no file."""

    page: Page
    data: bytes | None = None
    bom: bool = False
    look: Look = ABSENT

    @property
    def blank(self) -> bool:
        """Whether there is nothing on it."""
        return self.data is None or not self.page.text.strip()


class State(NamedTuple):
    """How a space's mirror stood after it was last written."""

    seq: int = -1  # the last event that its pages know of; -1: it was never written
    looks: Mapping[str, Look] = NOTHING  # of its pages, by path
    # pages of which many lines are gone: (how many, of how many)
    questions: Mapping[str, tuple[int, int]] = NOTHING
    troubles: Mapping[str, str] = NOTHING  # pages that are left alone, and why

    @property
    def held(self) -> set[str]:
        """Pages that do not follow the store for the time being."""
        return {*self.questions, *self.troubles}


class Folder(NamedTuple):
    """The folder of one space."""

    root: Path
    space: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.root.joinpath(*map(folder_name, self.space.split("/")))

    @property
    def hidden(self) -> Path:
        """Where the copies are."""
        return self.path / HIDDEN

    def state(self) -> State:
        """How it stood; a state that cannot be read is none."""
        try:
            value = json.loads((self.hidden / "state.json").read_text("utf-8"))
            return State(
                int(value["seq"]),
                {
                    name: (int(ns), int(size), int(inode))
                    for name, (ns, size, inode) in value["looks"].items()
                },
                {name: (int(gone), int(of)) for name, (gone, of) in value["questions"].items()},
                {str(name): str(why) for name, why in value["troubles"].items()},
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return State()

    def keep_state(self, state: State) -> None:
        """Write down how it stands; Trouble where that would lead out of the root."""
        whole = {
            "space": self.space,
            "seq": state.seq,
            **{name: dict(getattr(state, name)) for name in KEPT},
        }
        self.inside(self.hidden / "state.json")
        replace(self.hidden / "state.json", json.dumps(whole, ensure_ascii=True).encode())

    def looks(self, names: Iterable[str]) -> dict[str, Look]:
        """How these pages look now."""
        return {name: look_of(self.path / name) for name in names}

    def altered(self, state: State) -> dict[str, Look]:
        """How those pages look that look otherwise than in this state, and those that are new."""
        looks = self.looks({*state.looks, *self.days()})
        return {name: look for name, look in looks.items() if look != state.looks.get(name)}

    def days(self) -> set[str]:
        """The pages of days that are there, also those that somebody has made."""
        try:
            return {
                name
                for file in (self.path / "memory").iterdir()
                if day_of(name := f"memory/{file.name}")
            }
        except OSError:
            return set()

    def ids(self, name: str) -> set[str]:
        """The memories whose ids stand on a page, also on one that is left alone."""
        try:
            return ids_in((self.path / name).read_bytes().decode("utf-8", "replace"))
        except OSError:
            return set()

    def copy(self, name: str) -> Copy:
        """What was last written on a page."""
        try:
            return base_copy.read(self._copy_of(name).read_text("utf-8"))
        except (OSError, UnicodeDecodeError):
            return Copy()

    def keep_copy(self, name: str, copy: Copy) -> None:
        """Write down what is written on a page; Trouble where that would lead out of the root."""
        self.inside(self._copy_of(name))
        replace(self._copy_of(name), base_copy.told(copy).encode())

    def _copy_of(self, name: str) -> Path:
        return self.hidden / f"{name.replace('/', '-')}.json"

    def read(self, name: str) -> Found:
        """A page; Trouble if it must be left alone."""
        path = self.path / name
        self.inside(path)
        try:
            look, data = look_of(path), path.read_bytes()
        except FileNotFoundError:
            return Found(Page(name))
        except OSError as err:
            raise Trouble(
                f"{path} cannot be read: {err.strerror or err}. Nothing of it was taken in"
            ) from err
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as err:
            raise Trouble(
                f"{path} is not UTF-8 (byte {err.start:,}): it is left alone. Save it as UTF-8, or delete it "
                "and run: reverie mirror --no"
            ) from err
        bom = text.startswith(BOM)
        page = parse(text.removeprefix(BOM), name)
        mark = page.mark
        if text.removeprefix(BOM).strip() and (
            mark is None or (mark.space, mark.page) != (self.space, name)
        ):
            whose = (
                "has not been written by Reverie"
                if mark is None
                else f"is the page {mark.page} of {mark.space}"
            )
            raise Trouble(
                f"{path} {whose}: it is left alone. Give it another name, or, if it is to be taken in, this "
                f"first line: {claimed(self.space, name)}"
            )
        return Found(page, data, bom, look)

    def owns(self, name: str) -> bool:
        """Whether a page is ours: it has our first line, and is no link. Of what it holds besides
        nothing is asked.
        """
        path = self.path / name
        try:
            mark = (
                None
                if path.is_symlink()
                else parse(path.read_bytes().decode("utf-8-sig", "replace"), name).mark
            )
        except OSError:
            return False
        return mark is not None and (mark.space, mark.page) == (self.space, name)

    def write(self, found: Found, page: Page) -> Look | None:
        """Replace a page by another; None, and nothing is done, if it is not any longer what was
        found.
        """
        path = self.path / page.name
        self.inside(path)
        if path.exists() and not os.access(path, os.W_OK):
            raise Trouble(f"{path} may not be written: it is left as it is")
        data = ((BOM if found.bom else "") + page.text).encode("utf-8")
        try:
            return swapped(path, data, found.data)
        except OSError as err:
            raise Trouble(
                f"{path} cannot be written: {err.strerror or err}. Check who may write there"
            ) from err

    def halves(self, names: Iterable[str]) -> list[Path]:
        """What a process that died has left of these pages and of the hidden files:
        ours by name.
        """
        beside = [
            half
            for name in names
            for half in (self.path / name).parent.glob(f".{Path(name).name}.*.part")
        ]
        return [
            half
            for half in (*beside, *self.hidden.glob(".*.json.*.part"))
            if _HALF.search(half.name)
        ]

    def inside(self, path: Path) -> None:
        """Trouble if a file is a link, or lies beyond one that leads out of the root."""
        root = self.root.resolve()
        if path.is_symlink() or not path.parent.resolve().is_relative_to(root):
            raise Trouble(
                f"{path} is a link, or lies beyond one that leads out of {self.root}: it is left alone"
            )


def folder_name(segment: str) -> str:
    """A part of a space as the name of a folder on every system, and none of the mirror's own
    names.
    """
    odd = re.sub(r'[<>:"\\|?*%]|^\.|\.$', _percent, segment)
    if odd.casefold() in RESERVED:
        odd = f"%{ord(odd[0]):02x}{odd[1:]}"
    if len(odd.encode("utf-8", "surrogatepass")) > LONGEST:
        from reverie.text.tokenization import fingerprint

        odd = f"{odd[: LONGEST // 4]}%{fingerprint(segment).hex()[:16]}"
    return odd


def _percent(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02x}"
