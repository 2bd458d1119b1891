"""The files of our commands that a person types in a host: `/reverie:off`, `/reverie:on`.

The plugin brings the same (a test holds them alike). A file is ours if it reads as one that Reverie
wrote, to the letter, whichever installation it names; any other stays as it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from reverie.interfaces.install.json_edit import TextCut
from reverie.interfaces.install.settings_entries import WiredText

PLUGIN_PROGRAM = ("reverie",)
MODULE_ARGS = ["-P", "-m", "reverie"]  # -P: hosts work in a project that may hold a `json.py`
# By name: what the host lists it with, and what the model is told beside the answer.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "off": (
        "Switch Reverie's memory off in this session; nothing of it is kept, learned or brought "
        "up any more.",
        " Memory comes back here with `/reverie:on`.",
    ),
    "on": ("Switch Reverie's memory on again in this session.", ""),
}
PERMISSION = re.compile(r"^allowed-tools: Bash\((.+) (\w+):\*\)$", re.MULTILINE)


def compose_command(name: str, program: Sequence[str]) -> str:
    """The text of a command's file; `program` is what starts Reverie."""
    about, closing = COMMANDS[name]
    line = f"{shlex.join(program)} {name}"
    return (
        f"---\nname: {name}\ndescription: {about}\ndisable-model-invocation: true\n"
        f"allowed-tools: Bash({line}:*)\n---\n\n!`{line} --session ${{CLAUDE_SESSION_ID}}`\n\n"
        f"Tell the user in one sentence what this answered.{closing}\n"
    )


def parse_command(text: str) -> tuple[str, list[str]] | None:
    """(name, program) of a command's file that Reverie wrote; None for any other."""
    found = PERMISSION.search(text)
    if found is None or found[2] not in COMMANDS:
        return None
    try:
        program = shlex.split(found[1])
    except ValueError:
        return None
    is_ours = program == [*PLUGIN_PROGRAM] or program[1:4] == MODULE_ARGS
    return (found[2], program) if is_ours and text == compose_command(found[2], program) else None


def add_command(text: str, name: str, program: Sequence[str]) -> WiredText:
    """A file with our command; one that somebody else wrote as it is."""
    if text and parse_command(text) is None:
        return WiredText(text)
    ours = compose_command(name, program)
    return WiredText(ours, (TextCut(0, len(ours), ""),))


def remove_command(text: str, _made: Collection[str] | None = None) -> str:
    """Nothing where a file is ours; else what it is."""
    return text if parse_command(text) is None else ""
