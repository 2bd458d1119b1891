"""Commands for somebody at a terminal: find, now."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, Limit
from reverie.interfaces.cli.commands.search_commands import (
    MemoryFilter,
    SearchOptions,
    choose_search_mode,
    describe_nothing_found,
    recall_memories,
)
from reverie.interfaces.cli.terminal_output import print_json, print_view
from reverie.interfaces.terminal.inline_screen import find_terminal
from reverie.interfaces.terminal.turn_view import TURNS, tell_turns

if TYPE_CHECKING:
    from reverie.activity.turn_feed import FedTurn
    from reverie.injection.gate_report import GateVerdict

    JudgedTurn = tuple[FedTurn, Sequence[GateVerdict]]

top = CommandTable()
commands = CommandTable()  # those of the group `activity`
SECONDS_BETWEEN_LOOKS = 0.3
MAX_NEW_TURNS = 50  # that came between two looks


@top.add("find")
def find_memory(
    cli: CliContext,
    query: Annotated[list[str] | None, "QUERY", "What to begin with."] = None,
    id: Annotated[bool, "Print its id instead of its text."] = False,
) -> None:
    """Type, see what is remembered, take one.

    Tab looks further (the space, its project, everywhere), Ctrl-E explains, Enter prints the text,
    Esc leaves (exit code 1). Without a terminal it answers as recall does.
    """
    text = " ".join(query or ())
    if not cli.as_json and (out := find_terminal(text)):
        from reverie.interfaces.terminal.find_screen import run_find

        raise typer.Exit(run_find(cli.settings, cli.space, text, print_id=id, out=out))
    if not text.strip():
        raise BadInput("Without a terminal, say what to look for: reverie find QUERY")
    if id and not cli.as_json:
        with cli.open_mind() as mind:
            mode, _ = choose_search_mode(cli, mind, text, "auto")
            found = mind.recall(text, space=cli.space, mode=mode)
        cli.answer((), (hit.memory.id for hit in found), describe_nothing_found(cli))
        return
    recall_memories(cli, [text], which=MemoryFilter(), how=SearchOptions())


@top.add("now", hidden=True)
@commands.add("now")
def show_turns(
    cli: CliContext,
    limit: Limit = TURNS,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with each turn as it comes.")
    ] = False,
    gates: Annotated[
        bool, "Also what fits, and which gate would keep it back if that were said now."
    ] = False,
) -> None:
    """What memory is doing to agents, turn by turn.

    What was said, what was given (+) and why, what was withheld (-), how long the agent waited. Of
    all spaces, or of --space and below it. With --json --follow each turn is a line.
    """
    with cli.open_mind() as mind:
        turns = mind.activity.turns(space=cli.named_space, limit=limit)
        told = [judge_turn(mind, turn, gates) for turn in reversed(turns)]
        if not follow:
            values = {"turns": [turn_values(*one) for one in told]}
            cli.answer(values, tell_turns(told), "No turn of an agent is known so far.")
            return
        seen = turns[0].event if turns else mind.store.last_event()
        print_turns(cli, told)
        while True:
            clock.sleep(SECONDS_BETWEEN_LOOKS)
            if mind.store.last_event() == seen:
                continue
            newest = mind.activity.turns(space=cli.named_space, limit=MAX_NEW_TURNS)
            fresh = [turn for turn in newest if turn.event > seen]
            seen = max([seen, *(turn.event for turn in fresh)])
            print_turns(cli, [judge_turn(mind, turn, gates) for turn in reversed(fresh)])


def judge_turn(mind: Mind, turn: "FedTurn", gates: bool) -> "JudgedTurn":
    """A turn, with what a gate would stop of what fits, if that is asked for."""
    if not gates:
        return turn, []
    from reverie.interfaces.turn_gates import list_stopped

    return turn, list_stopped(mind, turn)


def turn_values(turn: "FedTurn", stopped: "Sequence[GateVerdict]") -> dict[str, Any]:
    """A turn as values of JSON."""
    return {**turn._asdict(), "stopped": stopped}


def print_turns(cli: CliContext, told: "Sequence[JudgedTurn]") -> None:
    """Print turns as they come."""
    for one in told:
        if cli.as_json:
            print_json(turn_values(*one), line=True)
        else:
            print_view(tell_turns([one]))
    sys.stdout.flush()
