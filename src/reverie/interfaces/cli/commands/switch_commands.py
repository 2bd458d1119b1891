"""Commands that switch memory off and on, and the hidden one that is the detached worker."""

from typing import Annotated

import typer

from reverie.core import config, environment
from reverie.core.errors import BadInput, ReverieError
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.terminal_output import print_json, print_line, print_note

commands = CommandTable("Look after it")
Everywhere = Annotated[bool, typer.Option("--everywhere", help="In every space.")]
Session = Annotated[
    bool,
    typer.Option(
        "--session",
        help="In one conversation: the one named, or the one in which an agent runs this.",
    ),
]
Name = Annotated[
    str,
    typer.Argument(metavar="ID", help="With --session: its name, if it is not the present one."),
]


@commands.add("off")
def switch_off(
    cli: CliContext, name: Name = "", everywhere: Everywhere = False, session: Session = False
) -> None:
    """Switch memory off in a space and all below it (default: this project), or in one
    conversation.
    """
    if session or name:
        switch_and_print_session(cli, find_meant_session(name, session), on=False)
        return
    if everywhere:
        config.save_settings(cli.settings, enabled=False)
    elif cli.space not in cli.settings.off:
        config.save_settings(cli.settings, off=(*cli.settings.off, cli.space))
    print_memory_state(cli, everywhere)


@commands.add("on")
def switch_on(
    cli: CliContext, name: Name = "", everywhere: Everywhere = False, session: Session = False
) -> None:
    """Switch memory on again in a space (default: this project), or in one conversation."""
    if session or name:
        switch_and_print_session(cli, find_meant_session(name, session), on=True)
        return
    if everywhere:
        config.save_settings(cli.settings, enabled=True, off=())
    else:
        config.save_settings(
            cli.settings, off=tuple(space for space in cli.settings.off if space != cli.space)
        )
    print_memory_state(cli, everywhere)


def find_meant_session(name: str, session: bool) -> str:
    """The conversation that is meant: the one named, or the one in which this runs."""
    if not session:
        raise BadInput(
            f"{name!r}: name a conversation with --session {name}, a space with --space {name}"
        )
    found = name or environment.host_session()
    if not found:
        raise BadInput(
            "Which session? No agent has said in which one this runs (Claude Code and Codex "
            "say so to the "
            "commands they run). Name it: reverie off --session ID; `reverie sessions` lists them"
        )
    return found


def switch_and_print_session(cli: CliContext, session: str, *, on: bool) -> None:
    """Switch memory on or off in a conversation, and say how things stand now, read back from the
    file.
    """
    settings = config.switch_session(cli.settings, session, on=on)
    is_off = settings.is_off(cli.space, session)
    if cli.as_json:
        print_json(
            {"on": not is_off, "session": session, "off_sessions": list(settings.off_sessions)}
        )
        return
    print_line(f"Memory is {'off' if is_off else 'on'} in the session {session}.")
    if is_off and on:
        print_note(
            f"It is off in {cli.space}, or everywhere: reverie on, or reverie on --everywhere"
        )
    elif is_off:
        print_note(
            "Nothing of it is kept, learned or brought up from now on, also once it is "
            "resumed. What was kept "
            f"before stays. Switch it on again with: reverie on --session {session}"
        )


def print_memory_state(cli: CliContext, everywhere: bool) -> None:
    """Say how things stand now, read back from the file."""
    settings = config.load_settings(cli.settings.home)
    where = "everywhere" if everywhere else f"in {cli.space}"
    is_off = not settings.enabled if everywhere else settings.is_off(cli.space)
    if cli.as_json:
        print_json(
            {
                "on": not is_off,
                "space": None if everywhere else cli.space,
                "enabled": settings.enabled,
                "off": list(settings.off),
            }
        )
    else:
        print_line(f"Memory is {'off' if is_off else 'on'} {where}.")
    if is_off and not settings.enabled and not everywhere:
        print_note(
            "It is off everywhere: by REVERIE_OFF, or by the settings (reverie on --everywhere)."
        )
    elif is_off and not everywhere and cli.space not in settings.off:
        above = next(space for space in settings.off if cli.space.startswith(space + "/"))
        print_note(
            f"It is off in {above}, which this lies in. Switch that on with: reverie on "
            f"--space {above}"
        )


@commands.add("worker", spaced=False, hidden=True)
def work_until_idle(
    cli: CliContext,
    holder: Annotated[str, typer.Option(help="The name under which the lease was taken.")] = "",
    lock: Annotated[
        int | None,
        typer.Option(help="The open file of the lock that is held for this worker."),
    ] = None,
) -> None:
    """Settle what is waiting, stay a while for more, leave."""
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker import is_embedder_ready, run_worker
    from reverie.interfaces.worker_start import note_worker_exit

    if lock is not None and not is_embedder_ready(cli.settings):
        cli.settings = cli.settings._replace(embedder="none")  # a hook asks for no download
    try:
        with cli.open_mind() as mind:
            done = run_worker(mind, cli.settings.idle, holder, lock)
    except ReverieError:
        note_worker_exit(HookFiles(str(cli.settings.home)).lock, True)
        raise
    if cli.as_json:
        print_json(done._asdict())
