"""Commands about what a team sees: reverie share, unshare, spaces, trust."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie.core.errors import BadInput
from reverie.core.model import Filter
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.login_commands import describe_sync, sync_with_progress
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker

commands = CommandTable()
top = CommandTable()

LocalSpace = Annotated[str, "SPACE", "Yours, such as me/demo (default: this project's)."]


@top.add("share", hidden=True)
@commands.add("share")
def share_space(
    cli: CliContext,
    space: LocalSpace = "",
    shared: Annotated[
        str, typer.Option("--as", help="Its name there (default: of me/demo it is demo).")
    ] = "",
    to: Annotated[
        str, typer.Option("--with", metavar="TEAM|USER|everyone", help="Who may read there.")
    ] = "",
    write: Annotated[bool, "With --with: who may also write there."] = False,
) -> None:
    """Share a space with your team.

    The shared space is made, or joined. What a team may know of yours goes there: knowledge, not
    your preferences, not what happened, nothing about a person. What colleagues say there comes
    here, as others' words until you trust it: reverie trust SPACE.
    """
    home = named_space(cli, space)
    with cli.open_mind() as mind:
        if home != cli.space and not mind.store.browse(Filter(spaces=(home,), limit=1)):
            cli.note(f"{home} has nothing yet. The space of this folder's project is {cli.space}.")
        link = mind.team.share(home, shared=shared, to=to, write=write)
        done = sync_with_progress(cli, mind)
        hand_to_worker(cli, mind)
    cli.note(f"{link.space} is shared as {link.shared}. End it: reverie unshare {link.space}")
    cli.answer({"space": link.space, "shared": link.shared, "synced": done}, describe_sync(done))


@top.add("unshare", hidden=True)
@commands.add("unshare")
def unshare_space(
    cli: CliContext,
    space: LocalSpace = "",
    keep: Annotated[bool, "What you contributed stays there."] = False,
) -> None:
    """End the sharing of a space.

    What you contributed leaves it and is yours alone again; what others said there no longer counts
    here. `reverie share` brings back both.
    """
    home = named_space(cli, space)
    with cli.open_mind() as mind:
        link = mind.team.unshare(home, keep=keep)
        done = sync_with_progress(cli, mind)
        hand_to_worker(cli, mind)
    cli.note(f"{link.space} is not shared any longer.")
    cli.answer({"space": link.space, "shared": link.shared, "synced": done}, describe_sync(done))


@top.add("spaces", spaced=False, hidden=True)
@commands.add("spaces", spaced=False)
def list_spaces(cli: CliContext) -> None:
    """The team's spaces, and what of yours is linked to them."""
    with cli.open_mind() as mind:
        found = mind.team.spaces()
    cli.answer({"spaces": found}, (describe_space(one) for one in found))


def describe_space(space: dict[str, Any]) -> str:
    """One line: name, right, what is linked to it."""
    here = f"  shared from {space['here']}" if space["here"] else ""
    trusted = ", trusted" if space["trusted"] else ""
    return f"{space['space']:<30}  {space['right']:<10}{here}{trusted}"


@top.add("trust", hidden=True)
@commands.add("trust")
def trust_space(
    cli: CliContext,
    space: LocalSpace = "",
    stop: Annotated[bool, "Trust it no longer."] = False,
) -> None:
    """Believe what colleagues say in a shared space.

    It then is of its kind and surfaces as your own knowledge does. It never commands: no triggers.
    """
    home = named_space(cli, space)
    with cli.open_mind() as mind:
        link = mind.team.trust(home, trusted=not stop)
        done = sync_with_progress(cli, mind)
        hand_to_worker(cli, mind)
    cli.answer(
        {"space": link.space, "shared": link.shared, "trusted": link.trusted, "synced": done},
        describe_trust(link.shared, trusted=link.trusted),
    )


def describe_trust(shared: str, *, trusted: bool) -> Iterator[str]:
    """What is believed from now on."""
    if trusted:
        yield f"What colleagues say in {shared} is believed. Take it back: reverie trust --stop"
    else:
        yield f"What colleagues say in {shared} counts as others' words again."


def named_space(cli: CliContext, space: str) -> str:
    """The space that was named, or that of the working directory; a file is shared elsewhere."""
    if space.endswith((".jsonl", ".json")) or (space and Path(space).is_file()):
        raise BadInput(f"{space} is a file. Keep it in step with: reverie data share {space}")
    return space or cli.space
