"""Commands that show Reverie at work: replay a conversation, look at a full window, condense it,
take the tour.
"""

from pathlib import Path
from typing import Annotated

import typer

from reverie.interfaces.cli.cli_context import CliContext, command

PANEL = "See it at work"

Transcript = Annotated[
    Path,
    typer.Argument(
        metavar="TRANSCRIPT",
        help="Messages as JSON or JSON Lines, a Claude Code transcript, or a corpus; “-” is stdin.",
    ),
]
WindowLimit = Annotated[
    int, typer.Option("--limit", "-n", min=1, help="Tokens that the window holds.")
]
Task = Annotated[
    str, typer.Option(help="The task at hand: messages that name it as their task stay longer.")
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "replay", panel=PANEL)(replay_conversation)
    command(app, "window", panel=PANEL, spaced=False)(show_window)
    command(app, "condense", panel=PANEL, spaced=False)(condense_conversation)
    command(app, "tour", panel=PANEL, spaced=False)(take_tour)


def replay_conversation(
    desk: CliContext,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Messages as JSON or JSON Lines, a Claude Code transcript, or a corpus; “-” is stdin.",
        ),
    ],
    keep: Annotated[
        bool, typer.Option("--keep", help="Learn into the real memory, not a throw-away one.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Do not wait for the background between turns.")
    ] = False,
    keep_turns: Annotated[
        bool | None,
        typer.Option(
            "--keep-turns/--no-keep-turns",
            help="Keep each message as an event (default: for corpora of several sessions).",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Stop after so many turns; 0 plays all.")
    ] = 0,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only turns on which something surfaced.")
    ] = False,
) -> None:
    """Play a recorded conversation turn by turn and see what surfaces, why, and how fast."""
    from reverie.interfaces.cli.replay_run import ReplayOptions, replay_file

    replay_file(
        desk,
        ReplayOptions(
            file=file,
            real=keep or desk.home is not None,
            fast=fast,
            keep_turns=keep_turns,
            limit=limit,
            quiet=quiet,
        ),
    )


def show_window(
    desk: CliContext,
    file: Transcript,
    limit: WindowLimit = 200_000,
    strategy: Annotated[
        str, typer.Option(help="How to choose: ours, aircher, importance, oldest, sliding.")
    ] = "ours",
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
        desk,
        file,
        FitRequest(
            limit,
            task,
            strategy,
            VocabularyTokenizer(tokenizer) if tokenizer else QuarterEstimate(),
        ),
    )


def condense_conversation(
    desk: CliContext,
    file: Transcript,
    limit: WindowLimit = 200_000,
    strategy: Annotated[
        str,
        typer.Option(help="hybrid, sliding-window, progressive-summary, importance-based."),
    ] = "hybrid",
    task: Task = "",
) -> None:
    """Show a conversation with its older part in few lines, as an agent would go on with it."""
    from reverie.context_window.window_fitting import FitRequest
    from reverie.interfaces.cli.condense_view import show_condensed

    show_condensed(desk, file, FitRequest(limit, task, strategy))


def take_tour(desk: CliContext) -> None:
    """See Reverie at work on this repository's history and a sample conversation, in a throw-away
    home.
    """
    from reverie.interfaces.cli.tour import run_tour

    run_tour(desk)
