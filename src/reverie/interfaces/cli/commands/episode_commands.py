"""Commands about what happened: recount, episodes, journal."""

from datetime import date, timedelta
from typing import Annotated

import typer

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, Limit, command
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker, print_remembered
from reverie.interfaces.cli.commands.search_commands import print_memories

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
    for name, function in (
        ("recount", recount_episode),
        ("episodes", list_episodes),
        ("journal", show_journal),
    ):
        command(app, name, panel=PANEL)(function)
    command(app, "chain", panel=PANEL, spaced=False)(show_chain)


def recount_episode(
    desk: CliContext,
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
            autocompletion=shell_completion.complete_ids,
        ),
    ] = None,
) -> None:
    """Keep what happened: who, what, when, where, why."""
    with desk.mind() as mind:
        kept = mind.recount(
            user_input.read_text_or_stdin(what),
            who=who,
            when=user_input.parse_time_ago(when, clock.now()),
            where=where,
            why=why,
            outcome=outcome,
            kind="task" if task else "event",
            space=desk.space,
            provenance="user_stated",
            because=because or (),
        )
        hand_to_worker(desk, mind)
    print_remembered(desk, [kept], many=False)


def show_chain(
    desk: CliContext,
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID", autocompletion=shell_completion.complete_ids, help="A memory, mem_…."
        ),
    ],
    limit: Limit = 20,
) -> None:
    """What led to a memory, and what came of it, in the order in which it happened."""
    with desk.mind() as mind:
        found = mind.chain(id, limit=limit)
    if desk.json:
        terminal_output.print_json(
            {"chain": [terminal_output.memory_to_json(one) for one in found]}
        )
        return
    for one in found:
        terminal_output.print_line(
            f"{'→' if one.id == id else ' '} {one.id}  {terminal_output.one_line(one.text, 100)}"
        )


def list_episodes(
    desk: CliContext,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS", help="Each must occur.")
    ] = None,
    since: Since = "",
    until: Until = "",
    session: Annotated[str, typer.Option(help="Only from this conversation.")] = "",
    limit: Limit = 20,
) -> None:
    """What happened, newest first, by time and by words in what, who, where and why."""
    first, last = parse_time_range(since, until)
    with desk.mind() as mind:
        found = mind.episodes(
            " ".join(words or ()),
            since=first,
            until=last,
            session=session,
            limit=limit,
            space=desk.space,
        )
    print_memories(desk, found, f"No such episode in {desk.space}.", "episodes")


def show_journal(
    desk: CliContext,
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
    first, last = (
        (parse_named_day(day), parse_named_day(day)) if day else parse_time_range(since, until)
    )
    if not (day or since or until):
        first = utc_today() - timedelta(days=WEEK - 1)
    with desk.mind() as mind:
        found = mind.journal(first, last, space=desk.space)
    if desk.json:
        terminal_output.print_json(
            {
                "space": desk.space,
                "days": [
                    {
                        **one._asdict(),
                        **{
                            name: [
                                terminal_output.memory_to_json(memory)
                                for memory in getattr(one, name)
                            ]
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

        memory_view.render_journal(found)
    else:
        terminal_output.print_note(f"Nothing happened in {desk.space} in that time.")


def parse_time_range(since: str, until: str) -> tuple[float | None, float | None]:
    """Two moments as people write them; a date means its beginning, and its end."""
    now = clock.now()
    return user_input.parse_time_ago(since, now, "--since"), user_input.parse_as_of_time(
        until, now, "--until"
    )


def utc_today() -> date:
    """The day that it is, in UTC."""
    from reverie.memory.daily_journal import utc_date

    return date.fromisoformat(utc_date(clock.now()))


def parse_named_day(text: str) -> date:
    """A day as people write it."""
    named = {"today": 0, "yesterday": 1}
    if text.lower() in named:
        return utc_today() - timedelta(days=named[text.lower()])
    try:
        return date.fromisoformat(text)
    except ValueError as err:
        raise BadInput(f"{text!r} is not a day. Write 2026-03-15, today or yesterday") from err
