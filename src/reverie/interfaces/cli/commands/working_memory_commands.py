"""Commands about what is now: hold, held, release, feel, feelings, season."""

import json
from typing import Annotated

import typer

from reverie.core import clock
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import Desk, Limit, command
from reverie.interfaces.cli.commands.procedure_commands import arguments_of
from reverie.interfaces.cli.commands.search_commands import answer_found
from reverie.memory.feelings import INTENSITIES
from reverie.memory.working_memory import MINUTES

PANEL = "Here and now"

Session = Annotated[str, typer.Argument(metavar="SESSION", help="The conversation.")]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (
        ("hold", hold),
        ("held", held),
        ("release", release),
        ("feel", feel),
        ("feelings", feelings),
        ("season", season),
    ):
        command(app, name, panel=PANEL)(function)


def hold(
    desk: Desk,
    session: Session,
    content: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONTENT", help="A text, or a JSON object; “-” reads it from stdin."
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(help="How long it is held, at most a day.")] = MINUTES,
) -> None:
    """Set the working memory of a conversation; replaces what it held."""
    with desk.mind() as mind:
        kept = mind.hold(
            arguments_of(user_input.given_or_stdin(content)),
            session=session,
            space=desk.space,
            minutes=minutes,
        )
    if desk.json:
        terminal_output.document({"memory": terminal_output.as_json(kept)})
    else:
        terminal_output.tell(f"Held for {session}, {minutes:g} minutes.")


def held(desk: Desk, session: Session) -> None:
    """What the working memory of a conversation holds."""
    with desk.mind() as mind:
        found = mind.held(session, space=desk.space)
    if desk.json:
        terminal_output.document({"session": session, "held": found._asdict() if found else None})
    elif found:
        content = found.content
        terminal_output.tell(
            content
            if isinstance(content, str)
            else json.dumps(content, ensure_ascii=False)
            if content
            else ""
        )
        terminal_output.note(
            f"Last said: {terminal_output.one_line(found.turn, 200)}"
            if found.turn
            else "Nothing was said yet."
        )
    else:
        terminal_output.note(f"Nothing is held for {session}.")


def release(desk: Desk, session: Session) -> None:
    """The task is done: clear the working memory of a conversation."""
    with desk.mind() as mind:
        there = mind.release(session, space=desk.space)
    if desk.json:
        terminal_output.document({"session": session, "released": there})
    else:
        terminal_output.tell("Cleared." if there else f"Nothing was held for {session}.")


def feel(
    desk: Desk,
    emotion: Annotated[str, typer.Argument(help="In a word: joy, relief, frustration, ….")],
    intensity: Annotated[
        str, typer.Option(help="low, medium or high.", autocompletion=lambda: list(INTENSITIES))
    ] = "medium",
    about: Annotated[
        str | None,
        typer.Option(
            metavar="ID", autocompletion=shell_completion.ids, help="The memory that is felt so."
        ),
    ] = None,
    why: Annotated[str, typer.Option(help="Why, in a few words.")] = "",
) -> None:
    """Note how something felt, on a memory or by itself."""
    with desk.mind() as mind:
        kept = mind.feel(emotion, intensity, about=about, why=why, space=desk.space)
    if desk.json:
        terminal_output.document({"memory": terminal_output.as_json(kept)})
    else:
        terminal_output.tell(f"{kept.id}: {emotion} ({intensity}).")


def feelings(
    desk: Desk,
    minimum: Annotated[
        str, typer.Option(help="At least so strong.", autocompletion=lambda: list(INTENSITIES))
    ] = "low",
    emotion: Annotated[str, typer.Option(help="Only this one.")] = "",
    limit: Limit = 20,
) -> None:
    """List memories that carry a feeling, newest first."""
    with desk.mind() as mind:
        found = mind.feelings(minimum=minimum, emotion=emotion, space=desk.space, limit=limit)
    answer_found(desk, found, f"No such feeling in {desk.space}.")


def season(
    desk: Desk,
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
            until=user_input.moment_after(until, clock.now(), "--until"),
            space=desk.space,
        )
    if desk.json:
        terminal_output.document(
            {"space": desk.space, "season": now.label or None, "until": now.until}
        )
    else:
        terminal_output.tell(
            f"It is {now.label} in {desk.space}." if now else f"No season in {desk.space}."
        )
