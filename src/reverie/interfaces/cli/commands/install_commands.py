"""Commands that wire Reverie into host agents: install, uninstall, doctor."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Annotated

import typer

from reverie.core import config
from reverie.core.errors import BadInput
from reverie.interfaces.cli import terminal_output
from reverie.interfaces.cli.cli_context import Desk, command
from reverie.interfaces.install.settings_entries import ours_in
from reverie.interfaces.install.settings_targets import NAMES, Place, Target, targets
from reverie.interfaces.install.settings_writer import Edit, Ledger

PANEL = "Wire it in"
AFTERWARDS = {
    "claude-code": "Start a new session of Claude Code. `reverie doctor` says whether all is well.",
    "codex": "Start Codex and trust the hooks when it asks (or by /hooks). `reverie doctor` says whether all is well.",
    "cursor": "Restart Cursor. `reverie doctor` says whether all is well.",
}

Host = Annotated[str, typer.Argument(metavar="HOST", help=f"One of: {', '.join(NAMES)}.")]
Project = Annotated[
    bool, typer.Option("--project/--user", help="For this project only, or for all (default).")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Whole = Annotated[bool, typer.Option("--diff", help="Show every line that changes.")]
Printed = Annotated[
    bool, typer.Option("--print", help="Write nothing: print the entries, for wiring by hand.")
]
Only = Annotated[bool, typer.Option("--no-mcp", help="Hooks only, without the MCP server.")]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "install", panel=PANEL, spaced=False)(install)
    command(app, "uninstall", panel=PANEL, spaced=False)(uninstall)
    command(app, "doctor", panel=PANEL)(doctor)


def install(
    desk: Desk,
    host: Host,
    project: Project = False,
    yes: Yes = False,
    no_mcp: Only = False,
    diff: Whole = False,
    by_hand: Printed = False,
) -> None:
    """Wire Reverie into an agent: its hooks and the MCP server. Shows what it would write, and
    asks.
    """
    found = [one for one in wanted(desk, host, project) if one.what == "hooks" or not no_mcp]
    if by_hand:
        printed(desk, found)
        return
    ledger = Ledger(desk.settings.home, host)
    edits = ledger.wiring(found)
    if agreed(desk, edits, yes=yes, diff=diff):
        ledger.wire(edits)
    answer(
        desk,
        host,
        edits,
        f"{NAMES[host]} is wired already.",
        f"{NAMES[host]} is wired. {AFTERWARDS[host]}",
    )
    from reverie.interfaces.worker import unfetched

    if desk.json:
        return
    if unfetched(desk.settings):
        terminal_output.note(
            "Until `reverie settle` has fetched the model, words decide what comes up."
        )
    if not no_mcp and find_spec("mcp") is None:
        terminal_output.note(
            "Its MCP server needs the package mcp, and does not start without: pip install 'reverie[mcp]'. "
            "Memory comes by the hooks all the same; --no-mcp leaves the server out."
        )
    if project and not no_mcp and not shutil.which("reverie"):
        terminal_output.note(
            "The project's MCP server is the command `reverie`, which is not on your path. Install Reverie with "
            "pipx or uv tool, or add its folder to PATH."
        )


def uninstall(
    desk: Desk, host: Host, project: Project = False, yes: Yes = False, diff: Whole = False
) -> None:
    """Take Reverie out of an agent's settings; they are as they were before. Memories stay."""
    ledger = Ledger(desk.settings.home, host)
    edits = ledger.unwiring(wanted(desk, host, project))
    if agreed(desk, edits, yes=yes, diff=diff):
        ledger.unwire(edits)
    answer(
        desk,
        host,
        edits,
        f"{NAMES[host]} is not wired.",
        f"{NAMES[host]} is not wired any more. Memories stay.",
    )


def printed(desk: Desk, found: Sequence[Target]) -> None:
    """What the files would hold if there were nothing else in them."""
    texts = {str(one.path): one.put("").text for one in found}
    if desk.json:
        terminal_output.document(texts)
        return
    for path, text in texts.items():
        terminal_output.tell(f"{path}:")
        terminal_output.tell(text)


def wanted(desk: Desk, host: str, project: bool) -> list[Target]:
    """The settings files of a host."""
    if host not in NAMES:
        raise BadInput(f"{host!r} is not one of {', '.join(NAMES)}")
    root = config.work_tree(config.here()) if project else None
    return targets(host, Place(desk.settings.home, root))


def agreed(desk: Desk, edits: Sequence[Edit], *, yes: bool, diff: bool) -> bool:
    """Show what would be written, and ask; whether to go on."""
    if not edits:
        return False
    if not yes and (desk.json or not sys.stdin.isatty()):
        raise BadInput("Nothing was written: there is nobody to ask. Add --yes")
    if not desk.json:
        for edit in edits:
            terminal_output.note(edit.diff if diff else "\n".join(told(edit)))
    if not yes and not typer.confirm("Write this?", err=True):
        raise typer.Abort
    return True


def told(edit: Edit) -> Iterator[str]:
    """What changes in a file, a line for each hook."""
    new = (
        " (a new file)" if edit.before is None else " (the file goes)" if edit.after is None else ""
    )
    yield f"{edit.path}{new}"
    before, after = ours_in(edit.before), ours_in(edit.after)
    yield from (f"  - {line}" for line in before if line not in after)
    yield from (f"  + {line}" for line in after if line not in before)


def answer(desk: Desk, host: str, edits: Sequence[Edit], already: str, done: str) -> None:
    """Say what was done."""
    if desk.json:
        terminal_output.document({"host": host, "written": [str(edit.path) for edit in edits]})
    else:
        terminal_output.tell(done if edits else already)


def doctor(desk: Desk) -> None:
    """Look whether all is well: what is wired, when memory last surfaced, what failed, and how to
    mend it.
    """
    from reverie.interfaces.install.doctor import examined
    from reverie.interfaces.install.settings_findings import Finding

    found = []
    try:
        settings = desk.settings
    except BadInput as err:
        found.append(
            Finding(
                False,
                f"The settings cannot be read; until they can, hooks say and learn nothing: {err}",
                "Mend that line. All else is looked at as if there were no settings.",
            )
        )
        settings = config.Settings(
            home=(desk.home or config.default_home()).expanduser().absolute()
        )
    found += examined(settings, desk.space, config.work_tree(config.here()))
    if desk.json:
        terminal_output.document(
            {"well": all(one.well for one in found), "findings": [one._asdict() for one in found]}
        )
    else:
        for one in found:
            terminal_output.tell(f"{'ok' if one.well else '!!'}  {one.text}")
            if one.mend:
                terminal_output.tell(f"      {one.mend}")
    if not all(one.well for one in found):
        raise typer.Exit(1)
