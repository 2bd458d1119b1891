"""Commands about what is now: hold, held, release, feel, feelings, season."""

import json
from typing import Annotated

import typer

from reverie.core import clock
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, Limit
from reverie.interfaces.cli.commands.procedure_commands import parse_tool_arguments
from reverie.interfaces.cli.commands.search_commands import print_memories
from reverie.interfaces.cli.shell_completion import complete_ids
from reverie.interfaces.cli.terminal_output import (
    memory_to_json,
    one_line,
    print_json,
    print_line,
    print_note,
)
from reverie.interfaces.cli.user_input import parse_time_ahead, read_text_or_stdin
from reverie.memory.feelings import INTENSITIES
from reverie.memory.working_memory import DEFAULT_MINUTES

commands = CommandTable("Here and now")

Session = Annotated[str, typer.Argument(metavar="SESSION", help="The conversation.")]


@commands.add("hold")
def hold_content(
    cli: CliContext,
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
    with cli.open_mind() as mind:
        kept = mind.sessions.hold(
            parse_tool_arguments(read_text_or_stdin(content)),
            session=session,
            space=cli.space,
            minutes=minutes,
        )
    if cli.as_json:
        print_json({"memory": memory_to_json(kept)})
    else:
        print_line(f"Held for {session}, {minutes:g} minutes.")


@commands.add("held")
def show_held(cli: CliContext, session: Session) -> None:
    """What the working memory of a conversation holds."""
    with cli.open_mind() as mind:
        found = mind.sessions.held(session, space=cli.space)
    if cli.as_json:
        print_json({"session": session, "held": found._asdict() if found else None})
    elif found:
        content = found.content
        if not isinstance(content, str):
            content = json.dumps(content, ensure_ascii=False) if content else ""
        print_line(content)
        print_note(
            f"Last said: {one_line(found.turn, 200)}" if found.turn else "Nothing was said yet."
        )
    else:
        print_note(f"Nothing is held for {session}.")


@commands.add("release")
def release_held(cli: CliContext, session: Session) -> None:
    """The task is done: clear the working memory of a conversation."""
    with cli.open_mind() as mind:
        there = mind.sessions.release(session, space=cli.space)
    if cli.as_json:
        print_json({"session": session, "released": there})
    else:
        print_line("Cleared." if there else f"Nothing was held for {session}.")


@commands.add("feel")
def record_feeling(
    cli: CliContext,
    emotion: Annotated[str, typer.Argument(help="In a word: joy, relief, frustration, ….")],
    intensity: Annotated[
        str, typer.Option(help="low, medium or high.", autocompletion=lambda: list(INTENSITIES))
    ] = "medium",
    about: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            autocompletion=complete_ids,
            help="The memory that is felt so.",
        ),
    ] = None,
    why: Annotated[str, typer.Option(help="Why, in a few words.")] = "",
) -> None:
    """Note how something felt, on a memory or by itself."""
    with cli.open_mind() as mind:
        kept = mind.feelings.record(emotion, intensity, about=about, why=why, space=cli.space)
    if cli.as_json:
        print_json({"memory": memory_to_json(kept)})
    else:
        print_line(f"{kept.id}: {emotion} ({intensity}).")


@commands.add("feelings")
def list_feelings(
    cli: CliContext,
    minimum: Annotated[
        str, typer.Option(help="At least so strong.", autocompletion=lambda: list(INTENSITIES))
    ] = "low",
    emotion: Annotated[str, typer.Option(help="Only this one.")] = "",
    limit: Limit = 20,
) -> None:
    """List memories that carry a feeling, newest first."""
    with cli.open_mind() as mind:
        found = mind.feelings.browse(minimum=minimum, emotion=emotion, space=cli.space, limit=limit)
    print_memories(cli, found, f"No such feeling in {cli.space}.")


@commands.add("season")
def set_season(
    cli: CliContext,
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
    with cli.open_mind() as mind:
        now = mind.episodes.season(
            "" if end else label,
            until=parse_time_ahead(until, clock.now(), "--until"),
            space=cli.space,
        )
    if cli.as_json:
        print_json({"space": cli.space, "season": now.label or None, "until": now.until})
    else:
        print_line(f"It is {now.label} in {cli.space}." if now else f"No season in {cli.space}.")
