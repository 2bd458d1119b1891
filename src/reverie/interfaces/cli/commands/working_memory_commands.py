"""Commands about what is now: hold, held, release, feel, feelings, season."""

import json
from typing import Annotated

import typer

from reverie.core import clock
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, Limit, command
from reverie.interfaces.cli.commands.procedure_commands import parse_tool_arguments
from reverie.interfaces.cli.commands.search_commands import print_memories
from reverie.memory.feelings import INTENSITIES
from reverie.memory.working_memory import DEFAULT_MINUTES

PANEL = "Here and now"

Session = Annotated[str, typer.Argument(metavar="SESSION", help="The conversation.")]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (
        ("hold", hold_content),
        ("held", show_held),
        ("release", release_held),
        ("feel", record_feeling),
        ("feelings", list_feelings),
        ("season", set_season),
    ):
        command(app, name, panel=PANEL)(function)


def hold_content(
    desk: CliContext,
    session: Session,
    content: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONTENT", help="A text, or a JSON object; “-” reads it from stdin."
        ),
    ] = None,
    minutes: Annotated[
        float, typer.Option(help="How long it is held, at most a day.")
    ] = DEFAULT_MINUTES,
) -> None:
    """Set the working memory of a conversation; replaces what it held."""
    with desk.mind() as mind:
        kept = mind.hold(
            parse_tool_arguments(user_input.read_text_or_stdin(content)),
            session=session,
            space=desk.space,
            minutes=minutes,
        )
    if desk.json:
        terminal_output.print_json({"memory": terminal_output.memory_to_json(kept)})
    else:
        terminal_output.print_line(f"Held for {session}, {minutes:g} minutes.")


def show_held(desk: CliContext, session: Session) -> None:
    """What the working memory of a conversation holds."""
    with desk.mind() as mind:
        found = mind.held(session, space=desk.space)
    if desk.json:
        terminal_output.print_json({"session": session, "held": found._asdict() if found else None})
    elif found:
        content = found.content
        terminal_output.print_line(
            content
            if isinstance(content, str)
            else json.dumps(content, ensure_ascii=False)
            if content
            else ""
        )
        terminal_output.print_note(
            f"Last said: {terminal_output.one_line(found.turn, 200)}"
            if found.turn
            else "Nothing was said yet."
        )
    else:
        terminal_output.print_note(f"Nothing is held for {session}.")


def release_held(desk: CliContext, session: Session) -> None:
    """The task is done: clear the working memory of a conversation."""
    with desk.mind() as mind:
        there = mind.release(session, space=desk.space)
    if desk.json:
        terminal_output.print_json({"session": session, "released": there})
    else:
        terminal_output.print_line("Cleared." if there else f"Nothing was held for {session}.")


def record_feeling(
    desk: CliContext,
    emotion: Annotated[str, typer.Argument(help="In a word: joy, relief, frustration, ….")],
    intensity: Annotated[
        str, typer.Option(help="low, medium or high.", autocompletion=lambda: list(INTENSITIES))
    ] = "medium",
    about: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            autocompletion=shell_completion.complete_ids,
            help="The memory that is felt so.",
        ),
    ] = None,
    why: Annotated[str, typer.Option(help="Why, in a few words.")] = "",
) -> None:
    """Note how something felt, on a memory or by itself."""
    with desk.mind() as mind:
        kept = mind.feel(emotion, intensity, about=about, why=why, space=desk.space)
    if desk.json:
        terminal_output.print_json({"memory": terminal_output.memory_to_json(kept)})
    else:
        terminal_output.print_line(f"{kept.id}: {emotion} ({intensity}).")


def list_feelings(
    desk: CliContext,
    minimum: Annotated[
        str, typer.Option(help="At least so strong.", autocompletion=lambda: list(INTENSITIES))
    ] = "low",
    emotion: Annotated[str, typer.Option(help="Only this one.")] = "",
    limit: Limit = 20,
) -> None:
    """List memories that carry a feeling, newest first."""
    with desk.mind() as mind:
        found = mind.feelings(minimum=minimum, emotion=emotion, space=desk.space, limit=limit)
    print_memories(desk, found, f"No such feeling in {desk.space}.")


def set_season(
    desk: CliContext,
    label: Annotated[
        str | None, typer.Argument(metavar="NAME", help="release-week, end-of-sprint, ….")
    ] = None,
    until: Annotated[
        str, typer.Option(metavar="WHEN", help="When it ends: a time, or 5d from now.")
    ] = "",
    end: Annotated[bool, typer.Option("--end", help="It is over.")] = False,
) -> None:
    """Say what the present time is called here: what was kept in a time of the same name is
    favoured.
    """
    with desk.mind() as mind:
        now = mind.season(
            "" if end else label,
            until=user_input.parse_time_ahead(until, clock.now(), "--until"),
            space=desk.space,
        )
    if desk.json:
        terminal_output.print_json(
            {"space": desk.space, "season": now.label or None, "until": now.until}
        )
    else:
        terminal_output.print_line(
            f"It is {now.label} in {desk.space}." if now else f"No season in {desk.space}."
        )
