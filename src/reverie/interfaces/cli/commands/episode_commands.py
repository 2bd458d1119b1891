"""Commands about what happened: recount, episodes, journal."""

from datetime import date, timedelta
from typing import Annotated

import typer

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import Desk, Limit, command
from reverie.interfaces.cli.commands.remember_commands import answer_kept, hand_over
from reverie.interfaces.cli.commands.search_commands import answer_found

PANEL = "What happened"
WEEK = 7

Since = Annotated[
    str, typer.Option(metavar="WHEN", help="From then on: a date, a time, a span (3d).")
]
Until = Annotated[
    str,
    typer.Option(metavar="WHEN", help="Up to then, included: a date (its end), a time, a span."),
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (("recount", recount), ("episodes", episodes), ("journal", journal)):
        command(app, name, panel=PANEL)(function)
    command(app, "chain", panel=PANEL, spaced=False)(chain)


def recount(
    desk: Desk,
    what: Annotated[
        list[str], typer.Argument(metavar="WHAT", help="What happened; “-” reads it from stdin.")
    ],
    who: Annotated[str, typer.Option(help="Who did it, or was there.")] = "",
    when: Annotated[
        str, typer.Option(metavar="WHEN", help="When: 2026-03-15, 2026-03-15T09:30, 3d (ago).")
    ] = "",
    where: Annotated[str, typer.Option(help="Where.")] = "",
    why: Annotated[str, typer.Option(help="Why.")] = "",
    outcome: Annotated[str, typer.Option(help="What came of it.")] = "",
    task: Annotated[bool, typer.Option("--task", help="It was a piece of work.")] = False,
    because: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="What led to it; may be repeated.",
            autocompletion=shell_completion.ids,
        ),
    ] = None,
) -> None:
    """Keep what happened: who, what, when, where, why."""
    with desk.mind() as mind:
        kept = mind.recount(
            user_input.given_or_stdin(what),
            who=who,
            when=user_input.moment_before(when, clock.now()),
            where=where,
            why=why,
            outcome=outcome,
            kind="task" if task else "event",
            space=desk.space,
            provenance="user_stated",
            because=because or (),
        )
        hand_over(desk, mind)
    answer_kept(desk, [kept], many=False)


def chain(
    desk: Desk,
    id: Annotated[
        str,
        typer.Argument(metavar="ID", autocompletion=shell_completion.ids, help="A memory, mem_…."),
    ],
    limit: Limit = 20,
) -> None:
    """What led to a memory, and what came of it, in the order in which it happened."""
    with desk.mind() as mind:
        found = mind.chain(id, limit=limit)
    if desk.json:
        terminal_output.document({"chain": [terminal_output.as_json(one) for one in found]})
        return
    for one in found:
        terminal_output.tell(
            f"{'→' if one.id == id else ' '} {one.id}  {terminal_output.one_line(one.text, 100)}"
        )


def episodes(
    desk: Desk,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS", help="Each must occur.")
    ] = None,
    since: Since = "",
    until: Until = "",
    session: Annotated[str, typer.Option(help="Only from this conversation.")] = "",
    limit: Limit = 20,
) -> None:
    """What happened, newest first, by time and by words in what, who, where and why."""
    first, last = range_of(since, until)
    with desk.mind() as mind:
        found = mind.episodes(
            " ".join(words or ()),
            since=first,
            until=last,
            session=session,
            limit=limit,
            space=desk.space,
        )
    answer_found(desk, found, f"No such episode in {desk.space}.", "episodes")


def journal(
    desk: Desk,
    day: Annotated[
        str, typer.Argument(metavar="DAY", help="2026-03-15, today or yesterday (UTC).")
    ] = "",
    since: Since = "",
    until: Until = "",
) -> None:
    """A timeline by day: episodes, tasks, decisions, feelings, conversations (default: the last
    seven days).
    """
    if day and (since or until):
        raise BadInput("Give a day, or --since and --until")
    first, last = (named_day(day), named_day(day)) if day else range_of(since, until)
    if not (day or since or until):
        first = today() - timedelta(days=WEEK - 1)
    with desk.mind() as mind:
        found = mind.journal(first, last, space=desk.space)
    if desk.json:
        terminal_output.document(
            {
                "space": desk.space,
                "days": [
                    {
                        **one._asdict(),
                        **{
                            name: [terminal_output.as_json(memory) for memory in getattr(one, name)]
                            for name in ("episodes", "tasks", "decisions", "feelings")
                        },
                        "conversations": [chat._asdict() for chat in one.conversations],
                    }
                    for one in found
                ],
            }
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.journal(found)
    else:
        terminal_output.note(f"Nothing happened in {desk.space} in that time.")


def range_of(since: str, until: str) -> tuple[float | None, float | None]:
    """Two moments as people write them; a date means its beginning, and its end."""
    now = clock.now()
    return user_input.moment_before(since, now, "--since"), user_input.moment_to_look_from(
        until, now, "--until"
    )


def today() -> date:
    """The day that it is, in UTC."""
    from reverie.memory.daily_journal import date_of

    return date.fromisoformat(date_of(clock.now()))


def named_day(text: str) -> date:
    """A day as people write it."""
    named = {"today": 0, "yesterday": 1}
    if text.lower() in named:
        return today() - timedelta(days=named[text.lower()])
    try:
        return date.fromisoformat(text)
    except ValueError as err:
        raise BadInput(f"{text!r} is not a day. Write 2026-03-15, today or yesterday") from err
