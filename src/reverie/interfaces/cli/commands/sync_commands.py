"""Commands that keep this memory the same on a user's machines: reverie sync, sync add, …"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie import Mind
from reverie.core.errors import BadInput, NotFound, Unauthenticated
from reverie.core.installation import advise_install
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.login_commands import (
    describe_status,
    describe_sync,
    log_in,
    obtain_key,
    sync_with_progress,
)
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker
from reverie.memory.history_text import format_moment
from reverie.memory.short_ids import shorten_id

if TYPE_CHECKING:
    from reverie.runtime.mind.team_verbs import TeamStatus
    from reverie.sync.device_logs.departure import DeviceFiles
    from reverie.sync.device_logs.device_setup import AddedPlace, DevicesStatus, OtherDevice
    from reverie.sync.device_logs.log_state import DepartingLog, LogPlace
    from reverie.sync.device_logs.log_step import DeviceReport
    from reverie.sync.device_logs.pairing import PairingState

commands = CommandTable()
DEFAULT_TENANT = "default"  # of a server that has one
MAX_NAMED = 10  # texts that were revised on two machines
NOT_SEALED = (
    "The logs of this memory are not sealed: nothing is to be paired. A sealed place is made by "
    "reverie sync add FOLDER, with the extra `sealed` installed"
)
NOTHING = (
    "This memory is in step with nothing. Name a folder that is carried to your other machines, "
    "or a git repository: reverie sync add FOLDER"
)


@commands.add("now", spaced=False)
def sync_now(
    cli: CliContext,
    status: Annotated[bool, typer.Option("--status", help="Only say how things stand.")] = False,
) -> None:
    """Write and fetch now what the background would.

    By all places that were added, and with the team's server if you are logged in to one. Texts
    that were revised on two machines are both kept: reverie review.
    """
    with cli.open_mind() as mind:
        team, devices = mind.team.status(), mind.devices.status()
        if team is None and devices is None:
            raise BadInput(NOTHING)
        if status:
            cli.answer(status_values(team, devices), describe_all(team, devices))
            return
        server = sync_with_progress(cli, mind) if team else None
        done = sync_devices(cli, mind) if devices else None
        hand_to_worker(cli, mind)
        team, devices = mind.team.status(), mind.devices.status()
    cli.answer(
        {"synced": server, "devices": done, "status": status_values(team, devices)},
        [
            *(describe_sync(server) if server is not None else ()),
            # One that did nothing is false, and may have met trouble.
            *(describe_devices(done) if done is not None else ()),
        ],
    )


@commands.add("add", spaced=False)
def add_place(
    cli: CliContext,
    where: Annotated[str, "FOLDER|GIT|SERVER", "A folder, a git repository, or https://server."],
    sealed: Annotated[
        bool, typer.Option("--sealed", help="A server keeps sealed files and can read none.")
    ] = False,
    key: Annotated[
        str, typer.Option("--key", help="Your key to the server; “-” reads it from stdin.")
    ] = "",
    name: Annotated[
        str, typer.Option("--as", help="What the others call this machine (default: its name).")
    ] = "",
    plain: Annotated[
        bool, typer.Option("--plain", help="Not sealed: who has the folder can read it.")
    ] = False,
    tenant: Annotated[
        str, typer.Option("--tenant", help="Your organisation at the server.")
    ] = DEFAULT_TENANT,
) -> None:
    """Have the same memory on your other machines.

    A folder is one that something else carries: Syncthing, iCloud, Dropbox, a mounted bucket. Say
    the same on each machine. Everything of `me` is shared; what came from a team is not. With the
    extra `sealed` installed, only machines that you paired can read what lies there. A server
    without --sealed is a team's: you log in to it.
    """
    if is_server(where) and not sealed:
        log_in(cli, where, key, tenant=tenant)
        return
    check_options(where, sealed=sealed, plain=plain, key=key)
    token = find_server_key(cli, where, key, tenant) if is_server(where) else ""
    with cli.open_mind() as mind:
        wanted = True if sealed else wants_sealed(plain=plain)
        place = mind.devices.add(where, name=name, sealed=wanted, key=token)
        done = sync_devices(cli, mind)
        hand_to_worker(cli, mind)
    for line in describe_added(place, plain=plain):
        cli.note(line)
    cli.answer({"place": place, "devices": done}, describe_devices(done))


def check_options(where: str, *, sealed: bool, plain: bool, key: str) -> None:
    """BadInput for options that do not go together."""
    if sealed and plain:
        raise BadInput("Say --sealed or --plain, not both")
    if key and not is_server(where):
        raise BadInput("--key is for a server: reverie sync add https://server --sealed --key -")


def find_server_key(cli: CliContext, where: str, key: str, tenant: str) -> str:
    """The key that was given, or that a person gets by a code; "" where the home has one."""
    from reverie.core.age_sealing import load_age
    from reverie.sync.credentials import load_place_key
    from reverie.sync.server_client import ServerClient, parse_server_url
    from reverie.sync.team_server import find_key

    load_age()
    url = parse_server_url(where).url
    if not key:
        # One that was revoked, or has run out, is replaced by a new one.
        with suppress(Unauthenticated):
            known = load_place_key(cli.settings.home, url) or find_key(cli.settings, url)
            with closing(ServerClient(url, known)) as client:
                client.whoami()
            return known
    return obtain_key(cli, url, key, "", "", tenant)


def wants_sealed(*, plain: bool) -> bool | None:
    """Whether a new place is to be sealed: if it can be, unless the user says otherwise."""
    from reverie.sync.device_logs.age_keys import has_age

    return False if plain else (has_age() or None)


def describe_added(place: "AddedPlace", *, plain: bool) -> Iterator[str]:
    """What to do next after a place was added."""
    if place.code:
        yield f"{place.where} is sealed. To pair this machine, on one that is paired:"
        yield f"  reverie sync pair --accept {place.code}"
        yield "With the recovery key instead, here: reverie sync pair --recover"
        return
    yield f"In step through {place.where}. On the other machines: reverie sync add …"
    if place.is_sealed:
        yield "It is sealed: another machine shows a code, accepted here by reverie sync pair"
    elif not plain:
        yield (
            "It is not sealed: whoever can read the folder can read the memories. To seal a new "
            f"one: {advise_install('sealed')}"
        )
    if place.recovery:
        yield "If you lose all machines, this key opens it. Write it down; it is not shown again:"
        yield f"  {place.recovery}"


@commands.add("pair", spaced=False)
def pair_machines(
    cli: CliContext,
    accept: Annotated[
        str, typer.Option("--accept", metavar="CODE", help="The code on the waiting screen.")
    ] = "",
    recover: Annotated[
        bool, typer.Option("--recover", help="Pair this machine by the recovery key.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Give up this machine's keys, ask for new ones.")
    ] = False,
) -> None:
    """Who can read the sealed logs, and who asks to.

    A machine that waits shows its code; on one that is paired the code is accepted.
    """
    with cli.open_mind() as mind:
        done: dict[str, Any] = {}
        if accept:
            device = mind.devices.accept(accept)
            cli.note(f"{device.name} is paired. It reads on as soon as the folder has arrived.")
            done["accepted"] = device
        if recover:
            cli.note(
                f"Paired: {mind.devices.recover(read_recovery_key()):,} machines hold the keys."
            )
        if again:
            mind.devices.ask_again()
        if mind.devices.pairing() is not None:
            sync_devices(cli, mind)
            hand_to_worker(cli, mind)
        state = mind.devices.pairing()
    cli.answer({**done, "pairing": state}, describe_pairing(state) if state else NOT_SEALED)


def read_recovery_key() -> str:
    """The recovery key, typed unseen or from stdin, so that no history of a shell keeps it."""
    if sys.stdin.isatty():
        return str(typer.prompt("The recovery key", hide_input=True, err=True))
    line = sys.stdin.readline().strip()
    if not line:
        raise BadInput("Nothing came on stdin. Try: reverie sync pair --recover < FILE")
    return line


@commands.add("remove-device", spaced=False)
def remove_device(
    cli: CliContext,
    name: Annotated[str, "NAME", "As reverie sync status names it, or its number."],
    files: Annotated[
        bool, typer.Option("--files", help="Take its files away from all places, too.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take a machine off those that can read the sealed logs.

    What is written from now on it cannot read, and what it writes is not read; what it had read
    it keeps.

    With --files its files are taken away as well, sealed or not, once this machine's own log tells
    all that they told: of a machine that is gone, or a log that nobody writes any more.
    """
    with cli.open_mind() as mind:
        if files:
            take_files_away(cli, mind, name, yes=yes)
            return
        gone = mind.devices.remove_device(name)
        done = sync_devices(cli, mind)
        hand_to_worker(cli, mind)
        state = mind.devices.pairing()
    cli.answer(
        {"removed": gone, "devices": done},
        [
            f"{gone.name} reads nothing new. What it had read, it has. Its files stay; to take "
            f"them away: reverie sync remove-device {gone.device} --files",
            *(describe_pairing(state) if state else ()),
            *describe_devices(done),
        ],
    )


def take_files_away(cli: CliContext, mind: Mind, name: str, *, yes: bool) -> None:
    """Take away the files of a machine, its keys first if it holds any, after asking."""
    found = mind.devices.find_files(name)
    for line in describe_files(found):
        cli.note(line)
    if not (yes and not found.unread) and not typer.confirm("Take them away?", err=True):
        cli.answer({"removed": None}, "Nothing was taken away.")
        return
    state = mind.devices.pairing()
    if state and found.device in {one.device for one in state.paired}:
        mind.devices.remove_device(found.device)
    # Of those that could not be read was told just now; others keep all from being taken away.
    mind.devices.remove_files(found, even_unread=bool(found.unread))
    done = sync_devices(cli, mind)
    hand_to_worker(cli, mind)
    status = mind.devices.status()
    waits = [one for one in status.departing if one.device == found.device] if status else []
    said = [f"{found.name}: its files are gone, and what they told this machine tells."]
    if waits:
        said = [describe_departing(one).strip() for one in waits]
    cli.answer({"removed": found.shown(), "devices": done}, [*said, *describe_devices(done)])


def describe_files(found: "DeviceFiles") -> Iterator[str]:
    """What lies of a machine where, and what would be lost."""
    for place, count, _ in found.shown().places:
        yield f"{found.name} ({found.device}): {count:,} files at {place.where}"
    if found.unread:
        yield f"{found.unread:,} of them could not be read here, and what they say is lost:"
    yield from (f"  {trouble}" for trouble in found.troubles[:MAX_NAMED])
    yield "What this machine has read of it stays, and its own log tells it from now on."
    yield "A machine that is in use puts its files there again: on it, reverie sync remove PLACE"


def describe_departing(log: "DepartingLog") -> str:
    """A line about files that are still to be taken away."""
    return (
        f"  {log.name}: its files are taken away from {log.where} as soon as what they "
        "told lies there in this machine's log (reverie sync)"
    )


def describe_pairing(state: "PairingState") -> Iterator[str]:
    """Lines about who can read the sealed logs, and who asks to."""
    if state.trouble:
        yield state.trouble
        return
    if state.code:
        yield f"Sealed; this machine waits to be paired. Its code: {state.code}"
        yield f"On a paired machine: reverie sync pair --accept {state.code}"
        return
    names = ", ".join(f"{one.name} ({one.device})" for one in state.paired)
    yield f"Sealed for: {names}"
    if state.removed:
        yield "Removed: " + ", ".join(one.name for one in state.removed)
    for device in state.waiting:
        yield f"{device} asks to be paired. With the code on its screen:"
        yield "  reverie sync pair --accept CODE"


def is_server(where: str) -> bool:
    """True for the address of a team's server, which no git repository has."""
    return where.startswith(("https://", "http://")) and not where.rstrip("/").endswith(".git")


@commands.add("remove", spaced=False)
def remove_place(
    cli: CliContext,
    where: Annotated[str, "FOLDER|GIT|SERVER", "As reverie sync status names it."],
) -> None:
    """Be in step through a place no longer.

    Nothing is erased, here or there.
    """
    with cli.open_mind() as mind:
        is_left = is_server(where) and not has_place(mind, where)
        gone = leave_server(mind, where) if is_left else mind.devices.remove(where).where
    cli.answer({"removed": gone}, f"No longer in step through {gone}.")


def has_place(mind: Mind, where: str) -> bool:
    """True if a server keeps sealed files of this memory."""
    from reverie.sync.server_client import parse_server_url

    found = mind.devices.status()
    return found is not None and parse_server_url(where).url in {one.where for one in found.places}


def leave_server(mind: Mind, where: str) -> str:
    """Log out of this server; its address. NotFound where one is logged in to another, or none."""
    from reverie.sync.server_client import parse_server_url

    team = mind.team.status()
    if team is None or parse_server_url(team.url) != parse_server_url(where):
        known = f"It is {team.url}" if team else "There is none"
        raise NotFound(f"You are not logged in to {where}. {known}; see: reverie sync status")
    mind.team.logout()
    return team.url


@commands.add("space")
def join_spaces(
    cli: CliContext,
    there: Annotated[str, "SPACE", "As it came from the other machine: me/demo-3f2a91."],
    include: Annotated[
        str, typer.Option("--with", metavar="talk|none", help="Tell the others its talk too.")
    ] = "",
) -> None:
    """Join two machines' spaces, or tell a space's talk.

    A project's space is named after the path of its folder. Where that differs between machines,
    say once, on one of them, which space of the other is taken for this project's, or --space.

    With --with talk, what was said in the space's sessions is told to your other machines too, and
    what is said from now on; --with none ends it. The index of code is not: each machine makes its
    own from the files.
    """
    if include:
        include_in_logs(cli, there, include)
        return
    with cli.open_mind() as mind:
        moved = mind.devices.join_spaces(there, cli.space)
        hand_to_worker(cli, mind)
    cli.answer(
        {"there": there, "here": cli.space, "moved": moved},
        f"{there} is {cli.space} here: {moved:,} memories moved.",
    )


def include_in_logs(cli: CliContext, space: str, include: str) -> None:
    """Have the talk of a space told too, or no longer."""
    what = [one.strip() for one in include.split(",") if one.strip() not in ("", "none")]
    with cli.open_mind() as mind:
        talk = mind.devices.include(space, what)
        hand_to_worker(cli, mind)
    cli.answer({"talk": talk}, describe_talk(talk))


def describe_talk(talk: Sequence[str]) -> str:
    """Which talk is told."""
    if not talk:
        return "told to the others: memories; no talk, no index of code"
    return f"told to the others: memories, and the talk of {', '.join(talk)}; no index of code"


@commands.add("status", spaced=False)
def show_status(cli: CliContext) -> None:
    """Which machines were seen when, and what waits."""
    with cli.open_mind() as mind:
        team, devices = mind.team.status(), mind.devices.status()
    cli.answer(status_values(team, devices), describe_all(team, devices), NOTHING)


def status_values(
    team: "TeamStatus | None",
    devices: "DevicesStatus | None",
) -> dict[str, Any]:
    """How things stand, as JSON values."""
    return {"server": team, "devices": devices}


def sync_devices(cli: CliContext, mind: Mind) -> "DeviceReport":
    """Bring in step with a bar; trouble is in the report."""
    done = mind.devices.sync(progress=cli.progress)
    cli.progress.clear()
    return done


def describe_devices(done: "DeviceReport") -> Iterator[str]:
    """What was written and taken in, and what needs a look."""
    yield (
        f"{done.written:,} written for the others; {done.new:,} new here, "
        f"{done.revised:,} changed, {done.purged:,} erased."
    )
    if done.conflicts:
        ids = ", ".join(shorten_id(one) for one, _ in done.conflicts[:MAX_NAMED])
        yield f"Revised on two machines: {ids}. Both texts are kept: reverie review"
    for trouble in done.troubles[:MAX_NAMED]:
        yield f"{trouble.rstrip('.')}. What waits goes later."


def describe_all(
    team: "TeamStatus | None",
    devices: "DevicesStatus | None",
) -> Iterator[str]:
    """How things stand with the server and the other machines."""
    if team is not None:
        yield from describe_status(team)
    if devices is not None:
        yield from describe_machines(devices)


def describe_machines(found: "DevicesStatus") -> Iterator[str]:
    """This machine, the places, the others, what two of them revised."""
    waits = f"{found.waiting:,} to write" if found.waiting else "nothing to write"
    yield f"{found.name} (this machine, {found.device}): {waits}"
    if found.pairing is not None:
        yield from (f"  {line}" for line in describe_pairing(found.pairing))
    if found.has_open_log:
        yield "  What this machine wrote before lies open until it is paired; then it is taken away"
    yield f"  {describe_talk(found.talk)}"
    for place in found.places:
        yield describe_place(place)
    for other in found.others:
        yield from describe_other(other)
    yield from map(describe_departing, found.departing)
    for there, here in found.namesakes:
        yield (
            f"  {there} and {here}: one project in two folders? Then: reverie sync space {there} "
            f"--space {here}"
        )
    for id, beside, at in found.conflicts[-MAX_NAMED:]:
        yield (
            f"  {shorten_id(id)} was revised on two machines, {format_moment(at)} UTC; "
            f"the other text: {shorten_id(beside)}"
        )


def describe_place(place: "LogPlace") -> str:
    """A line about a place."""
    seen = f"last seen {format_moment(place.seen_at)} UTC" if place.seen_at else "not seen yet"
    away = f". Not in step: {place.trouble}" if place.fails else ""
    return f"  through {place.where}: {seen}{away}"


def describe_other(other: "OtherDevice") -> Iterator[str]:
    """Lines about another machine."""
    seen = f"wrote {format_moment(other.wrote_at)} UTC" if other.wrote_at else "not read yet"
    files = f"{other.files:,} files read"
    missing = f", {other.missing:,} still to come" if other.missing else ""
    yield f"  {other.name or 'a machine'} ({other.device}): {seen}, {files}{missing}"
    if other.open_files:
        yield (
            f"    {other.open_files:,} of its files are not sealed: whoever has the place can read "
            "them. They are not read here, and go when that machine is paired: reverie sync add …"
        )
        yield f"    If it is none of your machines any more, remove them: {other.device}-*.log"
    for trouble in other.troubles[:MAX_NAMED]:
        yield f"    {trouble}"
