"""Commands of what is to be done later: remind, due, done, cancel, snooze, reminders."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from reverie import Mind
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import (
    CliContext,
    CommandTable,
    MemoryId,
    NewTags,
)
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker
from reverie.interfaces.cli.terminal_output import (
    one_line,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin
from reverie.memory.short_ids import shorten_id

if TYPE_CHECKING:
    from reverie.core.model import Memory

commands = CommandTable()
top = CommandTable()


@dataclass(frozen=True, slots=True)
class ReminderOptions:
    """When somebody is reminded, and how urgently."""

    at: Annotated[
        str, typer.Option(metavar="WHEN", help="“tomorrow at 9”, “Monday 14:00”, ISO 8601.")
    ] = ""
    within: Annotated[
        str,
        typer.Option(
            "--in",
            metavar="TIME",
            help="“20 minutes”, “2h”, “3 days”.",
        ),
    ] = ""
    every: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="“weekday at 8:30”, “Monday and Thursday at 9”, “2 hours”, cron."
        ),
    ] = ""
    when_file: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="When such a file is touched or named.")
    ] = None
    when_command: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="When such a command runs: “git push*”."),
    ] = None
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="When these words, or a trigger pattern, come up."),
    ] = None
    priority: Annotated[float, "0 to 1: what is due comes in this order, then by time."] = 0.5
    zone: Annotated[str, "The time zone that is meant, as Europe/Berlin (default: here)."] = ""
    tag: NewTags = None


@top.add("remind")
def add_reminder(
    cli: CliContext,
    text: Annotated[
        list[str] | None,
        "TEXT",
        "What to do; “-” or nothing reads it from stdin.",
    ] = None,
    *,
    options: ReminderOptions,
) -> None:
    """Keep something to be done later.

    At a time, again and again, or when the context calls for it.
    """
    if options.at and options.within:
        raise BadInput("Give --at or --in, not both")
    called_up = (options.every, options.topic, options.when_file, options.when_command)
    if not (options.at or options.within or any(called_up)):
        raise BadInput(
            "Say when to remind of it: --at, --in or --every for a time; --topic, --when-file or "
            "--when-command for an occasion"
        )
    within = f"in {options.within.removeprefix('in ')}" if options.within else None
    with cli.open_mind() as mind:
        memory = mind.remind(
            read_text_or_stdin(text),
            when=options.at or within,
            every=options.every,
            files=options.when_file or (),
            commands=options.when_command or (),
            context=options.topic or (),
            priority=options.priority,
            zone=options.zone,
            tags=options.tag or (),
            space=cli.space,
            provenance="user_stated",
        )
        hand_to_worker(cli, mind)
    print_reminder(cli, memory, f"Kept as {shorten_id(memory.id)} in {cli.space}. Understood as: ")


@commands.add("due")
def list_due(
    cli: CliContext,
    context: Annotated[
        str, typer.Option(metavar="TEXT", help="What is being talked about; “-” reads stdin.")
    ] = "",
    tool: Annotated[str, "The tool that is about to run: Bash, Edit, …."] = "",
    arguments: Annotated[
        str, typer.Option("--input", help="What it is given: words, or a JSON object.")
    ] = "",
    fire: Annotated[
        bool,
        "They count as given from now on, each to one caller only: for hooks.",
    ] = False,
) -> None:
    """What is due now, by priority, then time.

    Looking does not fire.
    """
    from reverie.interfaces.cli.commands.procedure_commands import parse_tool_arguments

    said = read_text_or_stdin([context]) if context else ""
    with cli.open_mind() as mind:
        found = mind.reminders.due(
            said,
            space=cli.space,
            tool=tool,
            arguments=parse_tool_arguments(arguments),
            fire=fire,
        )
    view = (
        f"{hit.memory.id}  {one_line(hit.memory.text)}  ({'; '.join(hit.why)})" for hit in found
    )
    cli.answer({"fired": fire, "hits": found}, view if found else "Nothing is due.")


@commands.add("list")
def list_reminders(
    cli: CliContext,
    every_one: Annotated[
        bool, typer.Option("--all", help="Also what is done or cancelled.")
    ] = False,
) -> None:
    """Everything to be done later, what is due next first."""
    from reverie.memory.intention import STATUSES, describe_due, reminder_status

    with cli.open_mind() as mind:
        found = mind.reminders.browse(
            space=cli.space, **({"status": STATUSES} if every_one else {})
        )
    view = (
        f"{shorten_id(memory.id)}  {reminder_status(memory):9}  {one_line(memory.text)}  "
        f"({one_line(describe_due(memory))})"
        for memory in found
    )
    nothing = (
        "There is nothing to be reminded of. Keep something: reverie remind “call Ann” "
        "--at “tomorrow at 9”"
    )
    cli.answer({"reminders": found}, view if found else nothing)


@commands.add("done", spaced=False)
def finish_reminder(cli: CliContext, id: MemoryId) -> None:
    """Say that it is done.

    Of what recurs, this occurrence is.
    """
    change_reminder(cli, lambda mind: mind.reminders.done(id))


@commands.add("cancel", spaced=False)
def cancel_reminder(cli: CliContext, id: MemoryId) -> None:
    """Say that it need not be done.

    Not at its next time either.
    """
    change_reminder(cli, lambda mind: mind.reminders.cancel(id))


@commands.add("snooze", spaced=False)
def put_off_reminder(
    cli: CliContext,
    id: MemoryId,
    until: Annotated[list[str], "WHEN", "“in 20 minutes”, “tomorrow at 9”."],
) -> None:
    """Put it off."""
    change_reminder(
        cli,
        lambda mind: mind.reminders.snooze(id, " ".join(until)),
    )


def change_reminder(cli: CliContext, verb: "Callable[[Mind], Memory]") -> None:
    """Do it and say how the reminder stands now."""
    from reverie.memory.intention import reminder_status

    with cli.open_mind() as mind:
        memory = verb(mind)
    print_reminder(
        cli,
        memory,
        f"{shorten_id(memory.id)} is {reminder_status(memory)}"
        + (". Due: " if memory.active else ". Undo: reverie memory restore "),
    )


def print_reminder(
    cli: CliContext,
    memory: "Memory",
    head: str,
) -> None:
    """How a reminder stands: what was understood is told back."""
    from reverie.memory.intention import describe_due

    cli.answer(
        {"memory": memory, "understood": describe_due(memory)},
        head + (describe_due(memory) if memory.active else memory.id),
    )
    redacted = memory.details.get("redacted")
    if redacted:
        cli.note(f"Taken out before it was kept: {', '.join(redacted)}.")
