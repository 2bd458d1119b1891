"""Commands of what is to be done later: remind, due, done, cancel, snooze, reminders."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from reverie import Mind
from reverie.core.errors import BadInput
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import Desk, command
from reverie.interfaces.cli.commands.remember_commands import Id, hand_over
from reverie.interfaces.cli.commands.search_commands import as_json

if TYPE_CHECKING:
    from reverie.core.model import Memory

PANEL = "Remind"


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "remind", panel=PANEL)(remind)
    command(app, "due", panel=PANEL)(due)
    command(app, "reminders", panel=PANEL)(reminders)
    command(app, "done", panel=PANEL, spaced=False)(done)
    command(app, "cancel", panel=PANEL, spaced=False)(cancel)
    command(app, "snooze", panel=PANEL, spaced=False)(snooze)


def remind(
    desk: Desk,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to do; “-” or nothing reads it from stdin."),
    ] = None,
    *,
    at: Annotated[
        str, typer.Option(metavar="WHEN", help="“tomorrow at 9”, “Monday 14:00”, ISO 8601.")
    ] = "",
    within: Annotated[
        str, typer.Option("--in", metavar="TIME", help="“20 minutes”, “2h”, “3 days”.")
    ] = "",
    every: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="“weekday at 8:30”, “Monday and Thursday at 9”, “2 hours”, cron."
        ),
    ] = "",
    when_file: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="When such a file is touched or named.")
    ] = None,
    when_command: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="When such a command runs: “git push*”."),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="When these words, or a trigger pattern, come up."),
    ] = None,
    priority: Annotated[
        float, typer.Option(help="0 to 1: what is due comes in this order, then by time.")
    ] = 0.5,
    zone: Annotated[
        str, typer.Option(help="The time zone that is meant, as Europe/Berlin (default: here).")
    ] = "",
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", autocompletion=shell_completion.tags, help="A tag."),
    ] = None,
) -> None:
    """Keep something to be done later: at a time, again and again, or when the context calls for
    it.
    """
    if at and within:
        raise BadInput("Give --at or --in, not both")
    when = at or (f"in {within.removeprefix('in ')}" if within else None)
    with desk.mind() as mind:
        kept = mind.remind(
            user_input.given_or_stdin(text),
            when=when,
            every=every,
            files=when_file or (),
            commands=when_command or (),
            context=topic or (),
            priority=priority,
            zone=zone,
            tags=tag or (),
            space=desk.space,
            provenance="user_stated",
        )
        hand_over(desk, mind)
    answer(desk, kept, f"Kept as {kept.id} in {desk.space}. Understood as: ")


def due(
    desk: Desk,
    context: Annotated[
        str, typer.Option(metavar="TEXT", help="What is being talked about; “-” reads stdin.")
    ] = "",
    tool: Annotated[str, typer.Option(help="The tool that is about to run: Bash, Edit, ….")] = "",
    arguments: Annotated[
        str, typer.Option("--input", help="What it is given: words, or a JSON object.")
    ] = "",
    fire: Annotated[
        bool,
        typer.Option(
            "--fire", help="They count as given from now on, each to one caller only: for hooks."
        ),
    ] = False,
) -> None:
    """What is due now, by priority, then time. Looking does not fire."""
    from reverie.interfaces.cli.commands.procedure_commands import arguments_of

    told = user_input.given_or_stdin([context]) if context else ""
    with desk.mind() as mind:
        found = mind.due(
            told, space=desk.space, tool=tool, arguments=arguments_of(arguments), fire=fire
        )
    if desk.json:
        terminal_output.document({"fired": fire, "hits": [as_json(hit) for hit in found]})
    else:
        for hit in found:
            terminal_output.tell(
                f"{hit.memory.id}  {terminal_output.one_line(hit.memory.text)}  ({'; '.join(hit.why)})"
            )
        if not found:
            terminal_output.tell("Nothing is due.")


def reminders(
    desk: Desk,
    every_one: Annotated[
        bool, typer.Option("--all", help="Also what is done or cancelled.")
    ] = False,
) -> None:
    """Everything to be done later, what is due next first."""
    from reverie.memory.intention import STATUSES, meant, status_of

    with desk.mind() as mind:
        found = mind.reminders(space=desk.space, **({"status": STATUSES} if every_one else {}))
    if desk.json:
        terminal_output.document({"reminders": [terminal_output.as_json(one) for one in found]})
        return
    for one in found:
        terminal_output.tell(
            f"{one.id}  {status_of(one):9}  {terminal_output.one_line(one.text)}  ({terminal_output.one_line(meant(one))})"
        )
    if not found:
        terminal_output.tell(
            "There is nothing to be reminded of. Keep something: reverie remind “call Ann” --at “tomorrow at 9”"
        )


def done(desk: Desk, id: Id) -> None:
    """Say that it is done. Of what recurs, this occurrence is."""
    changed(desk, lambda mind: mind.done(id))


def cancel(desk: Desk, id: Id) -> None:
    """Say that it need not be done, not at its next time either."""
    changed(desk, lambda mind: mind.cancel(id))


def snooze(
    desk: Desk,
    id: Id,
    until: Annotated[
        list[str], typer.Argument(metavar="WHEN", help="“in 20 minutes”, “tomorrow at 9”.")
    ],
) -> None:
    """Put it off."""
    changed(desk, lambda mind: mind.snooze(id, " ".join(until)))


def changed(desk: Desk, verb: "Callable[[Mind], Memory]") -> None:
    """Do it and say how the reminder stands now."""
    from reverie.memory.intention import status_of

    with desk.mind() as mind:
        now = verb(mind)
    answer(
        desk,
        now,
        f"{now.id} is {status_of(now)}" + (". Due: " if now.active else ". Undo: reverie restore "),
    )


def answer(desk: Desk, memory: "Memory", head: str) -> None:
    """How a reminder stands: what was understood is told back."""
    from reverie.memory.intention import meant

    if desk.json:
        terminal_output.document(
            {"memory": terminal_output.as_json(memory), "understood": meant(memory)}
        )
    else:
        terminal_output.tell(head + (meant(memory) if memory.active else memory.id))
        if redacted := memory.details.get("redacted"):
            terminal_output.note(f"Taken out before it was kept: {', '.join(redacted)}.")
