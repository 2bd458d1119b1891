"""Commands of what is to be done later: remind, due, done, cancel, snooze, reminders."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from reverie import Mind
from reverie.core.errors import BadInput
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, command
from reverie.interfaces.cli.commands.remember_commands import MemoryId, hand_to_worker
from reverie.interfaces.cli.commands.search_commands import hit_to_json

if TYPE_CHECKING:
    from reverie.core.model import Memory

PANEL = "Remind"


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "remind", panel=PANEL)(add_reminder)
    command(app, "due", panel=PANEL)(list_due)
    command(app, "reminders", panel=PANEL)(list_reminders)
    command(app, "done", panel=PANEL, spaced=False)(finish_reminder)
    command(app, "cancel", panel=PANEL, spaced=False)(cancel_reminder)
    command(app, "snooze", panel=PANEL, spaced=False)(put_off_reminder)


def add_reminder(
    desk: CliContext,
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
        typer.Option("--tag", "-t", autocompletion=shell_completion.complete_tags, help="A tag."),
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
            user_input.read_text_or_stdin(text),
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
        hand_to_worker(desk, mind)
    print_reminder(desk, kept, f"Kept as {kept.id} in {desk.space}. Understood as: ")


def list_due(
    desk: CliContext,
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
    from reverie.interfaces.cli.commands.procedure_commands import parse_tool_arguments

    told = user_input.read_text_or_stdin([context]) if context else ""
    with desk.mind() as mind:
        found = mind.due(
            told, space=desk.space, tool=tool, arguments=parse_tool_arguments(arguments), fire=fire
        )
    if desk.json:
        terminal_output.print_json({"fired": fire, "hits": [hit_to_json(hit) for hit in found]})
    else:
        for hit in found:
            terminal_output.print_line(
                f"{hit.memory.id}  {terminal_output.one_line(hit.memory.text)}  ({'; '.join(hit.why)})"
            )
        if not found:
            terminal_output.print_line("Nothing is due.")


def list_reminders(
    desk: CliContext,
    every_one: Annotated[
        bool, typer.Option("--all", help="Also what is done or cancelled.")
    ] = False,
) -> None:
    """Everything to be done later, what is due next first."""
    from reverie.memory.intention import STATUSES, describe_due, reminder_status

    with desk.mind() as mind:
        found = mind.reminders(space=desk.space, **({"status": STATUSES} if every_one else {}))
    if desk.json:
        terminal_output.print_json(
            {"reminders": [terminal_output.memory_to_json(one) for one in found]}
        )
        return
    for one in found:
        terminal_output.print_line(
            f"{one.id}  {reminder_status(one):9}  {terminal_output.one_line(one.text)}  ({terminal_output.one_line(describe_due(one))})"
        )
    if not found:
        terminal_output.print_line(
            "There is nothing to be reminded of. Keep something: reverie remind “call Ann” --at “tomorrow at 9”"
        )


def finish_reminder(desk: CliContext, id: MemoryId) -> None:
    """Say that it is done. Of what recurs, this occurrence is."""
    change_reminder(desk, lambda mind: mind.done(id))


def cancel_reminder(desk: CliContext, id: MemoryId) -> None:
    """Say that it need not be done, not at its next time either."""
    change_reminder(desk, lambda mind: mind.cancel(id))


def put_off_reminder(
    desk: CliContext,
    id: MemoryId,
    until: Annotated[
        list[str], typer.Argument(metavar="WHEN", help="“in 20 minutes”, “tomorrow at 9”.")
    ],
) -> None:
    """Put it off."""
    change_reminder(desk, lambda mind: mind.snooze(id, " ".join(until)))


def change_reminder(desk: CliContext, verb: "Callable[[Mind], Memory]") -> None:
    """Do it and say how the reminder stands now."""
    from reverie.memory.intention import reminder_status

    with desk.mind() as mind:
        now = verb(mind)
    print_reminder(
        desk,
        now,
        f"{now.id} is {reminder_status(now)}"
        + (". Due: " if now.active else ". Undo: reverie restore "),
    )


def print_reminder(desk: CliContext, memory: "Memory", head: str) -> None:
    """How a reminder stands: what was understood is told back."""
    from reverie.memory.intention import describe_due

    if desk.json:
        terminal_output.print_json(
            {"memory": terminal_output.memory_to_json(memory), "understood": describe_due(memory)}
        )
    else:
        terminal_output.print_line(head + (describe_due(memory) if memory.active else memory.id))
        if redacted := memory.details.get("redacted"):
            terminal_output.print_note(f"Taken out before it was kept: {', '.join(redacted)}.")
