"""A memory in somebody's editor.

The memory is closed meanwhile: an editor may stay open for days. Whatever ends it too early, or
makes what it left unusable, leaves the file where it is, and a note says where.
"""

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.interfaces.cli.terminal_output import print_note
from reverie.text.text_cleaning import clean_text

SEPARATOR = "-" * 20 + " text below this line " + "-" * 20
# Signals whose default would end the program before it could say where the file is.
ENDING_SIGNALS = ("SIGTERM", "SIGHUP")
SECONDS_TO_END = 2.0  # for an editor that is asked to end: vim saves what is not saved


@contextmanager
def edit_fields(memory: Memory) -> Iterator[dict[str, Any]]:
    """The fields of a memory after somebody had it in an editor; empty where nothing changed.

    What is typed is kept in its file if the editor is interrupted or the block within fails.
    """
    page = f"title: {memory.title}\ntags: {', '.join(memory.tags)}\n{SEPARATOR}\n{memory.text}\n"
    folder = Path(tempfile.mkdtemp(prefix="reverie-"))
    path = folder / "memory.md"
    try:
        path.write_text(page, "utf-8")
        run_editor(path)
        edited = path.read_text("utf-8", "replace")
        yield {} if edited == page else parse_edited_page(edited)
    except BaseException:
        others = [file.name for file in folder.iterdir() if file != path]
        if others:
            print_note(f"The editor's file of what was not saved: {folder / others[0]}")
        if path.read_text("utf-8", "replace") != page:
            print_note(
                f"What was typed is in {path}. "
                f"Keep it with: reverie edit {memory.id} --text - < {path}"
            )
        elif not others:
            shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)


def parse_edited_page(page: str) -> dict[str, Any]:
    """Title, tags and text of an edited page."""
    head, line, text = page.partition(SEPARATOR)
    if not line:
        raise BadInput("The line between the fields and the text is gone; nothing was changed")
    fields: dict[str, Any] = {"text": clean_text(text.strip("\r\n"))}
    for row in head.splitlines():
        name, _, value = row.partition(":")
        if name.strip() == "title":
            fields["title"] = value.strip()
        elif name.strip() == "tags":
            fields["tags"] = tuple(value.replace(",", " ").split())
    return fields


def run_editor(path: Path) -> None:
    """Wait until somebody has edited the file; BadInput, KeyboardInterrupt or SystemExit if not."""
    # The editor may be several words (`code --wait`): the shell, which knows the default too, takes
    # them apart. With `exec` a signal meets the editor itself.
    program = (
        ["notepad", str(path)]
        if sys.platform == "win32"
        else ["sh", "-c", 'exec ${VISUAL:-${EDITOR:-vi}} "$1"', "edit", str(path)]
    )
    with end_on_signals(), subprocess.Popen(program) as process:
        try:
            with pass_interrupts(process):
                code = process.wait()
        except BaseException:
            end_editor(process)
            raise
    if code in (-signal.SIGINT, 128 + signal.SIGINT):
        raise KeyboardInterrupt
    if code:
        raise BadInput(
            f"The editor ended with code {code}; nothing was changed. Set EDITOR, or use --text"
        )


@contextmanager
def pass_interrupts(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Within it, Ctrl-C is the editor's, for which it may be a key.

    Nothing is raised here: an exception just when the editor ends would lose the code with which
    it did, and what it left unfinished would be taken for saved.
    """

    def pass_on(number: int, _frame: object) -> None:
        # Only a terminal tells both; `kill -INT` tells one.
        process.send_signal(number)

    before = signal.signal(signal.SIGINT, pass_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_editor(process: subprocess.Popen[bytes]) -> None:
    """End an editor: first so that it can save."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(SECONDS_TO_END)
    process.kill()


@contextmanager
def end_on_signals() -> Iterator[None]:
    """Within it, the signals that would end the program at once raise SystemExit."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ENDING_SIGNALS if hasattr(signal, name)]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
