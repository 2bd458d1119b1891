"""Commands that bring this memory in step with a team's server: reverie login, logout, sync."""

import platform
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.errors import BadInput, ReverieError
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker
from reverie.interfaces.cli.terminal_output import print_note
from reverie.interfaces.cli.user_input import read_text_or_stdin
from reverie.memory.history_text import format_moment
from reverie.memory.short_ids import shorten_id

if TYPE_CHECKING:
    from reverie.runtime.mind.team_verbs import TeamStatus
    from reverie.sync.space_map import Account
    from reverie.sync.sync_step import SyncReport

commands = CommandTable()
top = CommandTable()
MAX_NAMED = 10  # refused memories and conflicts that are named


@top.add("login", spaced=False, hidden=True)
@commands.add("login", spaced=False)
def log_in(
    cli: CliContext,
    url: Annotated[str, "URL", "The server, such as https://memory.acme.org."],
    key: Annotated[str, typer.Option("--key", help="Your key; “-” reads it from stdin.")] = "",
    join: Annotated[str, typer.Option("--join", help="The code of an invitation.")] = "",
    name: Annotated[str, typer.Option("--as", help="With --join: your name there.")] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="Your organisation there.")] = "default",
    sync: Annotated[bool, typer.Option("--sync/--no-sync", help="Bring it in step now.")] = True,
) -> None:
    """Bring this memory in step with a team's server.

    Without --key or --join a code is shown, which you type where you are signed in already, on the
    server's page or with `reverie team approve CODE`. The key
    is kept in a file of the home that only you can read. Everything here goes to your private space
    there; others see only what you share: reverie share SPACE.
    """
    token = obtain_key(cli, url, key, join, name, tenant)
    with cli.open_mind() as mind:
        account = mind.team.login(url, token)
        devices = mind.devices.status()
        places = devices.places if devices else ()
        cli.note(
            describe_login(account, is_sealed=account.url in {place.where for place in places})
        )
        done = sync_with_progress(cli, mind) if sync else None
        hand_to_worker(cli, mind)
    values = {"url": account.url, "user": account.user, "tenant": account.tenant, "synced": done}
    cli.answer(values, describe_sync(done) if done else f"Logged in as {account.user}.")


def obtain_key(
    cli: CliContext,
    url: str,
    key: str,
    join: str,
    name: str,
    tenant: str,
) -> str:
    """The key that was given, or that the server gives for an invitation or a code."""
    from reverie.sync import team_server

    if join:
        if not name:
            raise BadInput("Say what you are called there: --as NAME")
        return team_server.use_invitation(url, join, name)
    if key:
        return read_key(key)
    if cli.settings.server_key:
        return cli.settings.server_key
    code = team_server.request_device_code(url, tenant, platform.node())
    # Where nobody reads the answer as JSON, and where somebody does: a person has to type it.
    print_note(
        f"Open {code.page}\nand type the code {code.user_code}; or, on a machine that is logged in "
        f"already: reverie team approve {code.user_code}\nWaiting; Ctrl-C stops."
    )
    return team_server.await_device_key(url, code, clock.sleep)


def read_key(key: str) -> str:
    """The key that was given; “-” reads it, from a person at a terminal without showing it."""
    if key == "-" and sys.stdin.isatty():
        key = str(typer.prompt("Your key", hide_input=True, err=True))
    elif key == "-":
        key = read_text_or_stdin(["-"])
    if not key.strip():
        raise BadInput("There is no key: nothing came on stdin")
    return key.strip()


def describe_login(account: "Account", *, is_sealed: bool = False) -> str:
    """What goes where from now on."""
    private = "sealed files there, which the server cannot read"
    if not is_sealed:
        private = f"~{account.user} there, which nobody else reads"
    return (
        f"This memory is in step with {account.url}, as {account.user}.\n"
        f"  private  me and all below it: {private}\n"
        "  shared   only spaces that you share: reverie share SPACE; never what is about a person\n"
        "A prompt never waits for the server: this memory stays whole."
    )


@commands.add("approve", spaced=False)
def approve_device(
    cli: CliContext,
    code: Annotated[str, "CODE", "What reverie login shows on the other machine."],
) -> None:
    """Let in another machine of yours, by its code.

    It gets a key of its own, as you. Say yes only to a code that you have made it show yourself.
    """
    with cli.open_mind() as mind:
        name = mind.team.let_in(code)
    cli.answer({"approved": name}, f"Let in: {name}. It goes on by itself within seconds.")


@top.add("logout", spaced=False, hidden=True)
@commands.add("logout", spaced=False)
def log_out(cli: CliContext) -> None:
    """Be in step with no server any more.

    The key is forgotten. Nothing is erased, here or there.
    """
    with cli.open_mind() as mind:
        account = mind.team.logout()
    said = [f"Logged out of {account.url}; the key is gone from this home."] if account else []
    cli.answer(
        {"url": account.url if account else ""},
        said,
        "This memory is in step with no server.",
    )


@commands.add("sync", spaced=False)
def sync_now(
    cli: CliContext,
    status: Annotated[bool, "Only say how things stand."] = False,
) -> None:
    """Send and fetch now what the background would.

    What was changed on both sides is named: the later holds, the other is in its history.
    """
    with cli.open_mind() as mind:
        if not status:
            done = sync_with_progress(cli, mind)
            hand_to_worker(cli, mind)
        found = mind.team.status()
    if found is None:
        raise BadInput("This memory is in step with no server. Log in first: reverie login URL")
    if status:
        cli.answer(found, describe_status(found))
    else:
        cli.answer({"synced": done, "status": found}, describe_sync(done))


def sync_with_progress(cli: CliContext, mind: Mind) -> "SyncReport":
    """Bring in step with a bar; trouble with the server is in the report."""
    done = mind.team.sync(progress=cli.progress)
    cli.progress.clear()
    return done


def describe_sync(done: "SyncReport") -> Iterator[str]:
    """What was sent and fetched, and what needs a look."""
    yield (
        f"{done.pushed:,} sent; {done.new:,} new here, {done.revised:,} changed, "
        f"{done.purged:,} erased."
    )
    if done.refused:
        yield f"{len(done.refused):,} were not taken: reverie sync --status says why."
    if done.conflicts:
        ids = ", ".join(map(shorten_id, done.conflicts[:MAX_NAMED]))
        yield (f"Changed on both sides: {ids}. The later holds; look at both: reverie review")
    if done.trouble:
        yield f"{done.trouble}. What waits is sent later."


def describe_status(found: "TeamStatus") -> Iterator[str]:
    """How things stand with the server."""
    yield describe_server(found)
    for here, there in sorted(found.shared.items()):
        trust = "trusted" if here in found.trusted else "others' words, unchecked"
        yield f"  {here} is shared as {there}  ({trust})"
    for id, why in list(found.refused.items())[:MAX_NAMED]:
        yield f"  {shorten_id(id)} was not taken: {why}"
    for id, at in found.conflicts[-MAX_NAMED:]:
        yield f"  {shorten_id(id)} was changed on both sides, {format_moment(at)} UTC"


def describe_server(found: "TeamStatus") -> str:
    """One line: whose, where, when it was seen, what waits."""
    seen = f"last seen {format_moment(found.seen_at)} UTC" if found.seen_at else "not seen yet"
    waits = f"{found.waiting:,} to send" if found.waiting else "nothing to send"
    line = f"{found.user} at {found.url}: {seen}, {waits}"
    if not found.is_away:
        return line
    since = format_moment(found.seen_at) + " UTC" if found.seen_at else "the beginning"
    return f"{line}. It is away ({found.trouble}); answers come from what was cached at {since}"


def team_status_values(mind: Mind) -> "tuple[dict[str, Any] | None, str]":
    """The status as JSON values and as a line, for `reverie status`; (None, "") without a
    server.
    """
    try:
        found = mind.team.status()
    except ReverieError as err:
        return {"trouble": str(err)}, str(err)
    return (found._asdict(), describe_server(found)) if found else (None, "")
