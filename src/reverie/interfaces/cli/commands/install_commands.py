"""Commands that wire Reverie into host agents: install, uninstall, doctor."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core import config
from reverie.core.errors import BadInput
from reverie.core.installation import advise_install
from reverie.core.privacy_policy import describe_policy
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.terminal_output import print_json, print_line, print_note
from reverie.interfaces.hosts import HOST_MODULES, load_host
from reverie.interfaces.install.settings_entries import list_our_entries
from reverie.interfaces.install.settings_targets import (
    SettingsTarget,
    WiringPlace,
    list_targets,
)
from reverie.interfaces.install.settings_writer import SettingsEdit, WiringLedger

if TYPE_CHECKING:
    from reverie.interfaces.cli.past_learning import PastOutcome

commands = CommandTable()

Host = Annotated[str, "|".join(HOST_MODULES), "The agent."]
Project = Annotated[
    bool, typer.Option("--project/--user", help="For this project only, or for all (default).")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Whole = Annotated[bool, typer.Option("--diff", help="Show every line that changes.")]
Printed = Annotated[
    bool, typer.Option("--print", help="Write nothing: print the entries, for wiring by hand.")
]
Only = Annotated[bool, typer.Option("--no-mcp", help="Without the MCP server.")]
Past = Annotated[
    bool | None,
    typer.Option(
        "--past/--no-past",
        help="Take in the past sessions that lie on this machine, or leave them (default: ask).",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """How to wire."""

    yes: Yes = False
    no_mcp: Only = False
    diff: Whole = False
    by_hand: Printed = False
    past: Past = None


@commands.add("install", spaced=False)
def install_host(
    cli: CliContext,
    host: Host,
    options: InstallOptions,
    project: Project = False,
) -> None:
    """Set up Reverie in Claude Code, Codex or Cursor.

    Its hooks and the MCP server. Shows what it would write, and asks. Then it says what past
    sessions of that agent lie on this machine, and offers to take them in.
    """
    found = [
        target
        for target in find_targets(cli, host, project)
        if target.what != "server" or not options.no_mcp
    ]
    if options.by_hand:
        print_targets(cli, found)
        return
    ledger = WiringLedger(cli.settings.home, host)
    edits = ledger.plan_wiring(found)
    # What stood in the files before is kept by the ledger, for uninstall.
    if confirm_edits(
        cli,
        edits,
        yes=options.yes,
        diff=options.diff,
    ):
        ledger.wire(edits)
    done = f"{load_host(host).title} is wired. {load_host(host).next_step}"
    if not edits:
        done = f"{load_host(host).title} is wired already."
    if not cli.as_json:
        print_line(done)
        policy = cli.settings.policy.within(cli.space)
        print_note(
            f"Secrets are masked; {describe_policy(policy)}. Other choices: reverie data privacy"
        )
        note_shortcomings(cli, found, project=project, no_mcp=options.no_mcp)
    past = offer_past_sessions(cli, host, project, options)
    values = {"host": host, "written": [str(edit.path) for edit in edits]}
    cli.answer(values | ({"past": past.values} if past else {}), past.view if past else ())
    if past and past.stopped:
        raise typer.Exit(130)  # as Ctrl-C always leaves


def offer_past_sessions(
    cli: CliContext,
    host: str,
    project: bool,
    options: InstallOptions,
) -> "PastOutcome | None":
    """Offer to take in the host's past sessions and the pages in this working tree; None if there
    is nothing to offer, or memory is off.
    """
    if options.past is False or not cli.settings.enabled:
        return None
    from reverie.interfaces.cli import past_learning
    from reverie.porting.past_sessions import PAGE_PATTERNS

    recorders = (host, *PAGE_PATTERNS)
    tree = config.find_work_tree(config.working_directory()) if project else None
    found = past_learning.find_past_sessions(recorders, tree)
    if not found:
        return None
    there = sorted({one.recorder for one in found}, key=recorders.index)
    command = f"reverie learn --past {' '.join(there)}"
    if project:
        command = f"reverie install {host} --project --past"
    choice = past_learning.PastChoice(command, options.past, not options.yes)
    return past_learning.offer_past(cli, found, choice)


def note_shortcomings(
    cli: CliContext,
    found: Sequence[SettingsTarget],
    *,
    project: bool,
    no_mcp: bool,
) -> None:
    """Say what is missing for all that was wired to work."""
    from reverie.interfaces.worker import is_model_missing

    if is_model_missing(cli.settings):
        print_note("Until `reverie data settle` has fetched the model, search goes by words alone.")
    if not no_mcp and find_spec("mcp") is None:
        print_note(
            "Its MCP server needs the package mcp, and does not start without: "
            f"{advise_install('mcp')}. "
            "Memory comes by the hooks all the same; --no-mcp leaves the server out."
        )
    is_by_name = any(target.what != "hooks" for target in found)
    if project and is_by_name and not shutil.which("reverie"):
        print_note(
            "What the project's files start is the command `reverie`, which is not on your path. "
            "Install Reverie with "
            "pipx or uv tool, or add its folder to PATH."
        )


@commands.add("uninstall", spaced=False)
def uninstall_host(
    cli: CliContext,
    host: Host,
    project: Project = False,
    yes: Yes = False,
    diff: Whole = False,
) -> None:
    """Take Reverie out of an agent's settings.

    They are as they were before. Memories stay.
    """
    ledger = WiringLedger(cli.settings.home, host)
    edits = ledger.plan_unwiring(find_targets(cli, host, project))
    if confirm_edits(
        cli,
        edits,
        yes=yes,
        diff=diff,
    ):
        ledger.unwire(edits)
    print_install_result(
        cli,
        host,
        edits,
        f"{load_host(host).title} is not wired.",
        f"{load_host(host).title} is not wired any more. Memories stay.",
    )


def print_targets(cli: CliContext, found: Sequence[SettingsTarget]) -> None:
    """Show what the files would hold if there were nothing else in them."""
    texts = {str(target.path): target.add_entries("").text for target in found}
    cli.answer(texts, (f"{path}:\n{text}" for path, text in texts.items()))


def find_targets(
    cli: CliContext,
    host: str,
    project: bool,
) -> list[SettingsTarget]:
    """The settings files of a host."""
    if host not in HOST_MODULES:
        raise BadInput(f"{host!r} is not one of {', '.join(HOST_MODULES)}")
    root = config.find_work_tree(config.working_directory()) if project else None
    return list_targets(host, WiringPlace(cli.settings.home, root))


def confirm_edits(
    cli: CliContext,
    edits: Sequence[SettingsEdit],
    *,
    yes: bool,
    diff: bool,
) -> bool:
    """Show what would be written, and ask; True if it is to be written."""
    if not edits:
        return False
    if not yes and (cli.as_json or not sys.stdin.isatty()):
        raise BadInput("Nothing was written: there is no terminal to ask on. Confirm with --yes")
    if not cli.as_json:
        for edit in edits:
            print_note(edit.diff if diff else "\n".join(describe_edit(edit)))
    if not yes and not typer.confirm("Write this?", err=True):
        raise typer.Abort
    return True


def describe_edit(edit: SettingsEdit) -> Iterator[str]:
    """What changes in a file, a line for each hook."""
    what = ""
    if edit.before is None:
        what = " (a new file)"
    elif edit.after is None:
        what = " (the file is deleted)"
    yield f"{edit.path}{what}"
    if edit.path.suffix == ".md":
        yield f"  {'-' if edit.after is None else '+'} command /reverie:{edit.path.stem}"
        return
    before, after = list_our_entries(edit.before), list_our_entries(edit.after)
    yield from (f"  - {line}" for line in before if line not in after)
    yield from (f"  + {line}" for line in after if line not in before)


def print_install_result(
    cli: CliContext,
    host: str,
    edits: Sequence[SettingsEdit],
    already: str,
    done: str,
) -> None:
    """Say what was done: `already` where nothing had to be."""
    cli.answer(
        {"host": host, "written": [str(edit.path) for edit in edits]}, done if edits else already
    )


@commands.add("doctor")
def run_doctor(cli: CliContext) -> None:
    """Look whether all is well, and how to mend it.

    What is wired, when memory last surfaced, what failed.
    """
    from reverie.interfaces.install.doctor import examine_installation
    from reverie.interfaces.install.settings_findings import DoctorFinding

    found = []
    try:
        settings = cli.settings
    except BadInput as err:
        found.append(
            DoctorFinding(
                False,
                f"The settings cannot be read; until they can, hooks say and learn nothing: {err}",
                "Mend that line. All else is looked at as if there were no settings.",
            )
        )
        settings = config.Settings(home=(cli.home or config.default_home()).expanduser().absolute())
    found += examine_installation(
        settings, cli.space, config.find_work_tree(config.working_directory())
    )
    if cli.as_json:
        print_json(
            {
                "well": all(finding.well for finding in found),
                "findings": [finding._asdict() for finding in found],
            }
        )
    else:
        for finding in found:
            print_line(f"{'ok' if finding.well else '!!'}  {finding.text}")
            if finding.mend:
                print_line(f"      {finding.mend}")
    if not all(finding.well for finding in found):
        raise typer.Exit(1)


@commands.add("tour", spaced=False)
def take_tour(cli: CliContext) -> None:
    """See Reverie at work, in a temporary home.

    On this repository's history and a sample conversation.
    """
    from reverie.interfaces.cli.tour import run_tour

    run_tour(cli)
