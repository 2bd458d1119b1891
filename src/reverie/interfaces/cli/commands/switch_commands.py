"""Commands that switch memory off and on, and the hidden one that is the detached worker."""

from typing import Annotated

import typer

from reverie.core import config, environment
from reverie.core.errors import BadInput, ReverieError
from reverie.interfaces.cli import terminal_output
from reverie.interfaces.cli.cli_context import CliContext, command

PANEL = "Look after it"
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


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "off", panel=PANEL)(switch_off)
    command(app, "on", panel=PANEL)(switch_on)
    command(app, "worker", panel=PANEL, spaced=False, hidden=True)(work_until_idle)


def switch_off(
    desk: CliContext, name: Name = "", everywhere: Everywhere = False, session: Session = False
) -> None:
    """Switch memory off in a space and all below it (default: this project), or in one
    conversation.
    """
    if session or name:
        switch_and_print_session(desk, find_meant_session(name, session), on=False)
        return
    if everywhere:
        config.save_settings(desk.settings, enabled=False)
    elif desk.space not in desk.settings.off:
        config.save_settings(desk.settings, off=(*desk.settings.off, desk.space))
    print_memory_state(desk, everywhere)


def switch_on(
    desk: CliContext, name: Name = "", everywhere: Everywhere = False, session: Session = False
) -> None:
    """Switch memory on again in a space (default: this project), or in one conversation."""
    if session or name:
        switch_and_print_session(desk, find_meant_session(name, session), on=True)
        return
    if everywhere:
        config.save_settings(desk.settings, enabled=True, off=())
    else:
        config.save_settings(
            desk.settings, off=tuple(space for space in desk.settings.off if space != desk.space)
        )
    print_memory_state(desk, everywhere)


def find_meant_session(name: str, session: bool) -> str:
    """The conversation that is meant: the one named, or the one in which this runs."""
    if not session:
        raise BadInput(
            f"{name!r}: name a conversation with --session {name}, a space with --space {name}"
        )
    if not (found := name or environment.host_session()):
        raise BadInput(
            "Which session? No agent has said in which one this runs (Claude Code and Codex say so to the "
            "commands they run). Name it: reverie off --session ID; `reverie sessions` lists them"
        )
    return found


def switch_and_print_session(desk: CliContext, session: str, *, on: bool) -> None:
    """Switch memory on or off in a conversation, and say how things stand now, read back from the
    file.
    """
    settings = config.switch_session(desk.settings, session, on=on)
    is_off = settings.is_off(desk.space, session)
    if desk.json:
        terminal_output.print_json(
            {"on": not is_off, "session": session, "off_sessions": list(settings.off_sessions)}
        )
        return
    terminal_output.print_line(f"Memory is {'off' if is_off else 'on'} in the session {session}.")
    if is_off and on:
        terminal_output.print_note(
            f"It is off in {desk.space}, or everywhere: reverie on, or reverie on --everywhere"
        )
    elif is_off:
        terminal_output.print_note(
            "Nothing of it is kept, learned or brought up from now on, also once it is resumed. What was kept "
            f"before stays. Switch it on again with: reverie on --session {session}"
        )


def print_memory_state(desk: CliContext, everywhere: bool) -> None:
    """Say how things stand now, read back from the file."""
    settings = config.load_settings(desk.settings.home)
    where = "everywhere" if everywhere else f"in {desk.space}"
    is_off = not settings.enabled if everywhere else settings.is_off(desk.space)
    if desk.json:
        terminal_output.print_json(
            {
                "on": not is_off,
                "space": None if everywhere else desk.space,
                "enabled": settings.enabled,
                "off": list(settings.off),
            }
        )
    else:
        terminal_output.print_line(f"Memory is {'off' if is_off else 'on'} {where}.")
    if is_off and not settings.enabled and not everywhere:
        terminal_output.print_note(
            "It is off everywhere: by REVERIE_OFF, or by the settings (reverie on --everywhere)."
        )
    elif is_off and not everywhere and desk.space not in settings.off:
        above = next(space for space in settings.off if desk.space.startswith(space + "/"))
        terminal_output.print_note(
            f"It is off in {above}, which this lies in. Switch that on with: reverie on --space {above}"
        )


def work_until_idle(
    desk: CliContext,
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

    if lock is not None and not is_embedder_ready(desk.settings):
        desk.settings = desk.settings._replace(embedder="none")  # a hook asks for no download
    try:
        with desk.mind() as mind:
            done = run_worker(mind, desk.settings.idle, holder, lock)
    except ReverieError:
        note_worker_exit(HookFiles(str(desk.settings.home)).lock, True)
        raise
    if desk.json:
        terminal_output.print_json(done._asdict())
