"""The keys that a terminal sends, from its bytes. Pure."""

from __future__ import annotations

from typing import NamedTuple

ESCAPE = "escape"
# Sequences behind the escape character, as xterm and those who follow it send them.
SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "[H": "home",
    "[F": "end",
    "[1~": "home",
    "[4~": "end",
    "[3~": "delete",
    "[5~": "page up",
    "[6~": "page down",
    "[Z": "shift tab",
    "OA": "up",
    "OB": "down",
    "OC": "right",
    "OD": "left",
    "OH": "home",
    "OF": "end",
}
CONTROLS = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace"}
PASTE_STARTS, PASTE_ENDS = "[200~", "\x1b[201~"


class Key(NamedTuple):
    """A key: a character that was typed, or the name of another key (`up`, `ctrl c`)."""

    name: str
    text: str = ""  # what it writes; of a paste all of it


def read_keys(data: str) -> tuple[list[Key], str]:
    """The keys of what came, and the rest that is the beginning of one.

    An escape character with nothing behind it is such a rest: whoever reads waits a moment, and
    takes it for the key Esc if nothing follows.
    """
    keys: list[Key] = []
    while data:
        if data[0] != "\x1b":
            keys.append(read_plain_key(data[0]))
            data = data[1:]
            continue
        length = measure_sequence(data)
        if not length:
            break
        keys += read_sequence(data[1:length])
        data = data[length:]
    return keys, data


def read_plain_key(char: str) -> Key:
    """The key that sends one character."""
    if char in CONTROLS:
        return Key(CONTROLS[char])
    if char < " ":
        return Key(f"ctrl {chr(ord(char) + 96)}" if "\x01" <= char <= "\x1a" else "unknown")
    return Key("text", char) if char.isprintable() else Key("unknown")


def measure_sequence(data: str) -> int:
    """How long the sequence is with which the data begins; 0 if its end has not come yet."""
    if data.startswith("\x1b" + PASTE_STARTS):
        end = data.find(PASTE_ENDS)
        return end + len(PASTE_ENDS) if end > 0 else 0
    if len(data) < 2:
        return 0
    if data[1] == "O":
        return 3 if len(data) > 2 else 0
    if data[1] != "[":
        return 1 if data[1] == "\x1b" else 2
    ends = (place for place in range(2, len(data)) if "@" <= data[place] <= "~")
    return next(ends, -1) + 1


def read_sequence(body: str) -> list[Key]:
    """The key of a sequence, without its escape character."""
    if not body:
        return [Key(ESCAPE)]
    if body.startswith(PASTE_STARTS):
        pasted = body.removeprefix(PASTE_STARTS).removesuffix(PASTE_ENDS)
        text = "".join(char if char.isprintable() else " " for char in pasted)
        return [Key("text", text)]
    return [Key(SEQUENCES.get(body, "unknown"))]
