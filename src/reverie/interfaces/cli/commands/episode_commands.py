"""Commands about what happened: recount, episodes, journal."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, Limit, MemoryId
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker, print_remembered
from reverie.interfaces.cli.commands.search_commands import print_memories
from reverie.interfaces.cli.shell_completion import complete_ids
from reverie.interfaces.cli.terminal_output import (
    one_line,
)
from reverie.interfaces.cli.user_input import parse_as_of_time, parse_time_ago, read_text_or_stdin
from reverie.memory.short_ids import shorten_id

if TYPE_CHECKING:
    pass

commands = CommandTable()
WEEK = 7

Since = Annotated[
    str, typer.Option(metavar="WHEN", help="From then on: a date, a time, a span (3d).")
]
Until = Annotated[
    str,
    typer.Option(metavar="WHEN", help="Up to then, included: a date (its end), a time, a span."),
]


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """What is told of an episode, besides what happened."""

    who: Annotated[str, "Who did it, or was there."] = ""
    when: Annotated[
        str, typer.Option(metavar="WHEN", help="When: 2026-03-15, 2026-03-15T09:30, 3d (ago).")
    ] = ""
    where: Annotated[str, "Where."] = ""
    why: Annotated[str, "Why."] = ""
    outcome: Annotated[str, "What came of it."] = ""


@commands.add("add")
def recount_episode(
    cli: CliContext,
    what: Annotated[list[str], "WHAT", "What happened; “-” reads it from stdin."],
    *,
    facts: EpisodeFacts,
    task: Annotated[bool, "It was a piece of work."] = False,
    because: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="What led to it; may be repeated.",
            autocompletion=complete_ids,
        ),
    ] = None,
) -> None:
    """Keep what happened: who, what, when, where, why."""
    with cli.open_mind() as mind:
        kept = mind.episodes.record(
            read_text_or_stdin(what),
            who=facts.who,
            when=parse_time_ago(facts.when, clock.now()),
            where=facts.where,
            why=facts.why,
            outcome=facts.outcome,
            kind="task" if task else "event",
            space=cli.space,
            provenance="user_stated",
            because=because or (),
        )
        hand_to_worker(cli, mind)
    print_remembered(cli, [kept], many=False)


@commands.add("list")
def list_episodes(
    cli: CliContext,
    words: Annotated[list[str] | None, "WORDS", "Each must occur."] = None,
    since: Since = "",
    until: Until = "",
    session: Annotated[str, "Only from this conversation."] = "",
    limit: Limit = 20,
) -> None:
    """List what happened, newest first.

    By time, and by words in what, who, where and why.
    """
    first, last = parse_time_range(since, until)
    with cli.open_mind() as mind:
        found = mind.episodes.browse(
            " ".join(words or ()),
            since=first,
            until=last,
            session=session,
            limit=limit,
            space=cli.space,
        )
    print_memories(cli, found, f"No such episode in {cli.space}.", "episodes")


@commands.add("journal")
def show_journal(
    cli: CliContext,
    day: Annotated[str, "DAY", "2026-03-15, today or yesterday (UTC)."] = "",
    since: Since = "",
    until: Until = "",
) -> None:
    """A timeline by day.

    Episodes, tasks, decisions, feelings, conversations (default: the last seven days).
    """
    if day and (since or until):
        raise BadInput("Give a day, or --since and --until")
    first, last = (
        (parse_named_day(day), parse_named_day(day)) if day else parse_time_range(since, until)
    )
    if not (day or since or until):
        first = utc_today() - timedelta(days=WEEK - 1)
    with cli.open_mind() as mind:
        found = mind.episodes.journal(first, last, space=cli.space)
    cli.answer(
        {"space": cli.space, "days": found},
        memory_view.render_journal(found),
        f"Nothing happened in {cli.space} in that time.",
    )


@commands.add("chain", spaced=False)
def show_chain(
    cli: CliContext,
    id: MemoryId,
    limit: Limit = 20,
) -> None:
    """What led to a memory, and what came of it.

    In the order in which it happened.
    """
    with cli.open_mind() as mind:
        found = mind.episodes.chain(id, limit=limit)
    cli.answer(
        {"chain": found},
        (
            f"{'→' if one.id == id else ' '} {shorten_id(one.id)}  {one_line(one.text, 100)}"
            for one in found
        ),
    )


def parse_time_range(
    since: str,
    until: str,
) -> tuple[float | None, float | None]:
    """Two moments as people write them; a date means its beginning, and its end."""
    now = clock.now()
    return parse_time_ago(since, now, "--since"), parse_as_of_time(until, now, "--until")


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
