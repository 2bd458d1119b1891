"""Commands that switch memory off and on, and the hidden one that is the detached worker."""

from typing import Annotated

import typer

from reverie import config
from reverie.errors import ReverieError
from reverie.surfaces import say
from reverie.surfaces.desk import Desk, command

PANEL = "Look after it"
Everywhere = Annotated[bool, typer.Option("--everywhere", help="In every space.")]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "off", panel=PANEL)(off)
    command(app, "on", panel=PANEL)(on)
    command(app, "worker", panel=PANEL, spaced=False, hidden=True)(worker)


def off(desk: Desk, everywhere: Everywhere = False) -> None:
    """Switch memory off in a space and all below it (default: this project)."""
    if everywhere:
        config.save(desk.settings, enabled=False)
    elif desk.space not in desk.settings.off:
        config.save(desk.settings, off=(*desk.settings.off, desk.space))
    answer(desk, everywhere)


def on(desk: Desk, everywhere: Everywhere = False) -> None:
    """Switch memory on again in a space (default: this project)."""
    if everywhere:
        config.save(desk.settings, enabled=True, off=())
    else:
        config.save(desk.settings, off=tuple(space for space in desk.settings.off if space != desk.space))
    answer(desk, everywhere)


def answer(desk: Desk, everywhere: bool) -> None:
    """Say how things stand now, read back from the file."""
    settings = config.load(desk.settings.home)
    where = "everywhere" if everywhere else f"in {desk.space}"
    is_off = not settings.enabled if everywhere else settings.is_off(desk.space)
    if desk.json:
        say.document(
            {
                "on": not is_off,
                "space": None if everywhere else desk.space,
                "enabled": settings.enabled,
                "off": list(settings.off),
            }
        )
    else:
        say.tell(f"Memory is {'off' if is_off else 'on'} {where}.")
    if is_off and not settings.enabled and not everywhere:
        say.note("It is off everywhere: by REVERIE_OFF, or by the settings (reverie on --everywhere).")
    elif is_off and not everywhere and desk.space not in settings.off:
        above = next(space for space in settings.off if desk.space.startswith(space + "/"))
        say.note(f"It is off in {above}, which this lies in. Switch that on with: reverie on --space {above}")


def worker(
    desk: Desk,
    holder: Annotated[str, typer.Option(help="The name under which the lease was taken.")] = "",
    lock: Annotated[int | None, typer.Option(help="The open file of the lock that is held for this worker.")] = None,
) -> None:
    """Settle what is waiting, stay a while for more, leave."""
    from reverie.surfaces.detached import rest
    from reverie.surfaces.hooks.places import Places
    from reverie.surfaces.worker import ready, run

    if lock is not None and not ready(desk.settings):
        desk.settings = desk.settings._replace(embedder="none")  # a hook asks for no download
    try:
        with desk.mind() as mind:
            done = run(mind, desk.settings.idle, holder, lock)
    except ReverieError:
        rest(Places(str(desk.settings.home)).lock, True)
        raise
    if desk.json:
        say.document(done._asdict())
