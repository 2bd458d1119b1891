"""The group `session`: past conversations, working memory, replay, a full context window."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core import clock
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, Limit
from reverie.interfaces.cli.commands.procedure_commands import parse_tool_arguments
from reverie.interfaces.cli.terminal_output import (
    one_line,
    print_note,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin
from reverie.memory.short_ids import shorten_id
from reverie.memory.working_memory import DEFAULT_MINUTES

if TYPE_CHECKING:
    from reverie.extraction.past_conversations import PastConversation
    from reverie.memory.working_memory import HeldContent

commands = CommandTable()
MAX_MESSAGE_CHARS = 400  # of one message that are shown

Words = Annotated[
    list[str] | None,
    typer.Option("--grep", "-g", help="Only with this word in it; may be repeated."),
]


@commands.add("list")
def list_sessions(
    cli: CliContext,
    grep: Words = None,
    limit: Limit = 20,
) -> None:
    """Past conversations of this space, the latest first."""
    from reverie.memory.history_text import format_moment

    with cli.open_mind() as mind:
        found = mind.sessions.browse(
            space=cli.space,
            words=grep or (),
            limit=limit,
        )
    cli.answer(
        {"space": cli.space, "sessions": map(session_to_json, found)},
        (
            f"{one_line(session.session)}  {format_moment(session.ended)} UTC, "
            f"turns: {session.turns}, memories: {len(session.memories)}\n"
            f"  {one_line(session.opening)}"
            for session in found
        ),
        f"No conversation in {cli.space}.",
    )


def session_to_json(session: Any) -> dict[str, Any]:
    """A past conversation as JSON values, without its messages."""
    values = {name: value for name, value in session._asdict().items() if name != "lines"}
    return {**values, "memories": [memory.id for memory in session.memories]}


@commands.add("show")
def show_session(
    cli: CliContext,
    id: Annotated[str, "SESSION", "Its name, or the id of a passage: said_…"],
    grep: Words = None,
    at: Annotated[int | None, "Only this message and those around it."] = None,
    around: Annotated[int, "How many messages before and after it."] = 3,
) -> None:
    """Read one past conversation, and what came of it."""
    with cli.open_mind() as mind:
        found = mind.sessions.read(
            id,
            space=cli.space,
            words=grep or (),
            at=at,
            around=around,
        )
    cli.answer(
        {**session_to_json(found), "lines": found.lines},
        describe_session(found),
    )
    if not found.lines:
        cli.note("No message has all of these words.")


def describe_session(found: "PastConversation") -> Iterator[str]:
    """Each message of a past conversation, and what came of it."""
    for line in found.lines:
        yield f"{line.number:>4} {line.role}: {one_line(line.text, MAX_MESSAGE_CHARS)}"
    for memory in found.memories:
        state = "" if memory.active else f" ({memory.retired_why or 'retired'})"
        text = one_line(memory.text, MAX_MESSAGE_CHARS)
        yield f"   + {memory.kind}: {text} [{shorten_id(memory.id)}]{state}"


@commands.add("rejected", spaced=False)
def list_rejected(cli: CliContext, limit: Limit = 20) -> None:
    """What was not kept, and why.

    It looked like something that should be kept; `reverie status` counts it.
    """
    with cli.open_mind() as mind:
        found, stats = mind.sessions.rejected(limit), mind.data.stats()
    cli.answer(
        {
            "kept": stats.learned,
            "rejected": stats.rejected,
            "last": found,
            "at": clock.now(),
        },
        (f"{one.reason}: {one_line(one.text, MAX_MESSAGE_CHARS)}" for one in found),
        "Nothing was rejected so far.",
    )


Session = Annotated[str, "SESSION", "The conversation."]


@commands.add("hold")
def hold_content(
    cli: CliContext,
    session: Session,
    content: Annotated[
        list[str] | None,
        "CONTENT",
        "A text, or a JSON object; “-” reads it from stdin.",
    ] = None,
    minutes: Annotated[float, "How long it is held, at most a day."] = DEFAULT_MINUTES,
) -> None:
    """Set the working memory of a conversation.

    Replaces what it held.
    """
    with cli.open_mind() as mind:
        kept = mind.sessions.hold(
            parse_tool_arguments(read_text_or_stdin(content)),
            session=session,
            space=cli.space,
            minutes=minutes,
        )
    cli.answer({"memory": kept}, f"Held for {session}, {minutes:g} minutes.")


@commands.add("held")
def show_held(cli: CliContext, session: Session) -> None:
    """What the working memory of a conversation holds."""
    with cli.open_mind() as mind:
        found = mind.sessions.held(session, space=cli.space)
    cli.answer(
        {"session": session, "held": found or None},
        describe_held(found) if found else (),
        f"Nothing is held for {session}.",
    )


def describe_held(found: "HeldContent") -> Iterator[str]:
    """What is held, and what was said last."""
    content = found.content
    if not isinstance(content, str):
        content = json.dumps(content, ensure_ascii=False) if content else ""
    yield content
    print_note(f"Last said: {one_line(found.turn, 200)}" if found.turn else "Nothing was said yet.")


@commands.add("release")
def release_held(cli: CliContext, session: Session) -> None:
    """Clear the working memory of a conversation.

    The task is done.
    """
    with cli.open_mind() as mind:
        there = mind.sessions.release(session, space=cli.space)
    cli.answer(
        {"session": session, "released": there},
        "Cleared." if there else f"Nothing was held for {session}.",
    )


Transcript = Annotated[
    Path,
    "TRANSCRIPT",
    "Messages as JSON or JSON Lines, a Claude Code transcript, or a corpus; “-” is stdin.",
]


WindowLimit = Annotated[
    int,
    typer.Option(
        "--limit",
        "-n",
        min=1,
        help="Tokens that the window holds.",
    ),
]


Task = Annotated[
    str, typer.Option(help="The task at hand: messages that name it as their task stay longer.")
]


@commands.add("replay")
def replay_conversation(
    cli: CliContext,
    file: Transcript,
    keep: Annotated[bool, "Learn into the real memory, not a throw-away one."] = False,
    fast: Annotated[bool, "Do not wait for the background between turns."] = False,
    keep_turns: Annotated[
        bool | None,
        typer.Option(
            "--keep-turns/--no-keep-turns",
            help="Keep each message as an event (default: for corpora of several sessions).",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            "-n",
            min=0,
            help="Stop after so many turns; 0 plays all.",
        ),
    ] = 0,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only turns on which something surfaced.")
    ] = False,
) -> None:
    """Play a recorded conversation turn by turn.

    See what surfaces, why, and how fast.
    """
    from reverie.interfaces.cli.replay_run import ReplayOptions, replay_file

    replay_file(
        cli,
        ReplayOptions(
            file=file,
            # Whoever names a home means that memory, and not a throw-away one.
            real=keep or cli.home is not None,
            fast=fast,
            keep_turns=keep_turns,
            limit=limit,
            quiet=quiet,
        ),
    )


@commands.add("window", spaced=False)
def show_window(
    cli: CliContext,
    file: Transcript,
    limit: WindowLimit = 200_000,
    strategy: Annotated[str, "How to choose: ours, aircher, importance, oldest, sliding."] = "ours",
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A tokenizer.json to count by (default: characters / 4)."
        ),
    ] = None,
    task: Task = "",
) -> None:
    """Show what would leave a full context window, and why."""
    from reverie.context_window.window_fitting import FitRequest
    from reverie.interfaces.cli.window_view import show_window_plan
    from reverie.text.token_counts import QuarterEstimate, VocabularyTokenizer

    show_window_plan(
        cli,
        file,
        FitRequest(
            limit,
            task,
            strategy,
            VocabularyTokenizer(tokenizer) if tokenizer else QuarterEstimate(),
        ),
    )


@commands.add("condense", spaced=False)
def condense_conversation(
    cli: CliContext,
    file: Transcript,
    limit: WindowLimit = 200_000,
    strategy: Annotated[
        str,
        "hybrid, sliding-window, progressive-summary, importance-based.",
    ] = "hybrid",
    task: Task = "",
) -> None:
    """Show a conversation with its older part in few lines.

    As an agent would go on with it.
    """
    from reverie.context_window.window_fitting import FitRequest
    from reverie.interfaces.cli.condense_view import show_condensed

    show_condensed(cli, file, FitRequest(limit, task, strategy))
