"""Commands that wire Reverie into host agents: install, uninstall, doctor."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from reverie import config
from reverie.errors import BadInput
from reverie.surfaces import say
from reverie.surfaces.desk import Desk, command
from reverie.surfaces.wiring.ledger import Edit, Ledger
from reverie.surfaces.wiring.targets import NAMES, Place, Target, targets

PANEL = "Wire it in"
AFTERWARDS = {
    "claude-code": "Start a new session of Claude Code. `reverie doctor` says whether all is well.",
    "codex": "Start Codex and trust the hooks when it asks (or by /hooks). `reverie doctor` says whether all is well.",
    "cursor": "Restart Cursor. `reverie doctor` says whether all is well.",
}

Host = Annotated[str, typer.Argument(metavar="HOST", help=f"One of: {', '.join(NAMES)}.")]
Project = Annotated[bool, typer.Option("--project/--user", help="For this project only, or for all (default).")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Only = Annotated[bool, typer.Option("--no-mcp", help="Hooks only, without the MCP server.")]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "install", panel=PANEL, spaced=False)(install)
    command(app, "uninstall", panel=PANEL, spaced=False)(uninstall)
    command(app, "doctor", panel=PANEL)(doctor)


def install(desk: Desk, host: Host, project: Project = False, yes: Yes = False, no_mcp: Only = False) -> None:
    """Wire Reverie into an agent: its hooks and the MCP server. Shows what it would write, and asks."""
    found = [one for one in wanted(desk, host, project) if one.what == "hooks" or not no_mcp]
    ledger = Ledger(desk.settings.home, host)
    edits = ledger.wiring(found)
    if agreed(desk, edits, "Write this?", yes=yes):
        ledger.wire(edits, found)
    answer(desk, host, edits, f"{NAMES[host]} is wired already.", f"{NAMES[host]} is wired. {AFTERWARDS[host]}")
    from reverie.surfaces.worker import ready

    if not desk.json and not ready(desk.settings):
        say.note("Until `reverie settle` has fetched the model, words decide what comes up.")


def uninstall(desk: Desk, host: Host, project: Project = False, yes: Yes = False) -> None:
    """Take Reverie out of an agent's settings; they are as they were before. Memories stay."""
    ledger = Ledger(desk.settings.home, host)
    edits = ledger.unwiring(wanted(desk, host, project))
    if agreed(desk, edits, "Write this?", yes=yes):
        ledger.unwire(edits)
    answer(desk, host, edits, f"{NAMES[host]} is not wired.", f"{NAMES[host]} is not wired any more. Memories stay.")


def wanted(desk: Desk, host: str, project: bool) -> list[Target]:
    """The settings files of a host."""
    if host not in NAMES:
        raise BadInput(f"{host!r} is not one of {', '.join(NAMES)}")
    root = config.work_tree(config.here()) if project else None
    return targets(host, Place(desk.settings.home, root))


def agreed(desk: Desk, edits: Sequence[Edit], question: str, *, yes: bool) -> bool:
    """Show what would be written, and ask; whether to go on."""
    if not edits:
        return False
    if not desk.json:
        for edit in edits:
            say.note(edit.diff)
    if yes:
        return True
    if desk.json or not sys.stdin.isatty():
        raise BadInput("Nothing was written: there is nobody to ask. Add --yes")
    if not typer.confirm(question, err=True):
        raise typer.Abort
    return True


def answer(desk: Desk, host: str, edits: Sequence[Edit], already: str, done: str) -> None:
    """Say what was done."""
    if desk.json:
        say.document({"host": host, "written": [str(edit.path) for edit in edits]})
    else:
        say.tell(done if edits else already)


def doctor(desk: Desk) -> None:
    """Look whether all is well: what is wired, when memory last surfaced, what failed, and how to mend it."""
    from reverie.surfaces.wiring.doctor import examined

    found = examined(desk.settings, desk.space, config.work_tree(config.here()))
    if desk.json:
        say.document({"well": all(one.well for one in found), "findings": [one._asdict() for one in found]})
    else:
        for one in found:
            say.tell(f"{'ok' if one.well else '!!'}  {one.text}")
            if one.mend:
                say.tell(f"      {one.mend}")
    if not all(one.well for one in found):
        raise typer.Exit(1)
