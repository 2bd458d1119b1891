"""Commands of know-how: teach, outcome, warnings."""

import json
from typing import Annotated, Any

import typer

from reverie.core import clock
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, Limit, command
from reverie.interfaces.cli.commands.remember_commands import (
    MemoryId,
    hand_to_worker,
    note_likely_slips,
    print_remembered,
)
from reverie.interfaces.cli.commands.search_commands import hit_to_json

PANEL = "Know-how"


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    command(app, "teach", panel=PANEL)(teach_procedure)
    command(app, "outcome", panel=PANEL, spaced=False)(report_outcome)
    command(app, "warnings", panel=PANEL)(show_warnings)
    command(app, "procedures", panel=PANEL)(list_procedures)


def teach_procedure(
    desk: CliContext,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it does: “release a version”.")],
    step: Annotated[
        list[str], typer.Option("--step", help="A step; given several times, in order.")
    ],
    trigger: Annotated[
        list[str] | None, typer.Option(help="A pattern that calls it up when it is met.")
    ] = None,
    needs: Annotated[list[str] | None, typer.Option(help="What must be there first.")] = None,
    careful: Annotated[list[str] | None, typer.Option(help="What to beware of.")] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", autocompletion=shell_completion.complete_tags, help="A tag."),
    ] = None,
) -> None:
    """Keep how something is done: steps in order, what they need, what to beware of."""
    with desk.mind() as mind:
        kept = mind.teach(
            name,
            step,
            triggers=trigger or (),
            prerequisites=needs or (),
            warnings=careful or (),
            tags=tag or (),
            space=desk.space,
            provenance="user_stated",
        )
        hand_to_worker(desk, mind)
    print_remembered(desk, [kept], many=False)
    note_likely_slips(kept.kind, trigger or ())


def report_outcome(
    desk: CliContext,
    id: MemoryId,
    worked: Annotated[bool, typer.Option("--worked/--failed", help="How it went.")] = True,
) -> None:
    """Say how a procedure went: its rank follows its record."""
    from reverie.memory.procedure import read_practice_record

    with desk.mind() as mind:
        memory = mind.outcome(id, worked)
    record = read_practice_record(memory)
    if desk.json:
        terminal_output.print_json(
            {"memory": terminal_output.memory_to_json(memory), "chance": record.chance}
        )
    else:
        terminal_output.print_line(
            f"{id}: worked {record.worked} times, failed {record.failed}; lately {record.rate:.0%}."
        )


def show_warnings(
    desk: CliContext,
    tool: Annotated[
        str, typer.Argument(metavar="TOOL", help="The tool that is about to run: Bash, Edit, ….")
    ],
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT",
            help="What it is given: words, or a JSON object; “-” reads it from stdin.",
        ),
    ] = None,
    limit: Limit = 5,
) -> None:
    """What to know before a tool runs: memories whose trigger it meets, “never do” first."""
    text = user_input.read_text_or_stdin(given) if given else ""
    with desk.mind() as mind:
        found = mind.warnings(tool, parse_tool_arguments(text), space=desk.space, limit=limit)
    if desk.json:
        terminal_output.print_json(
            {"tool": tool, "hits": [hit_to_json(hit) for hit in found], "untried": found.untried}
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_hits(found, clock.now(), desk.space)
    else:
        terminal_output.print_line("Nothing to beware of is known.")
    if not given and " " in tool.strip():
        terminal_output.print_note(
            f"{tool!r} is taken for a tool's name: the first argument is the tool's name, "
            'what it is given comes after: reverie warnings Bash "git push --force"'
        )
    if found.untried:
        terminal_output.print_note(
            f"There was no time to try {found.untried} memories: too many slow regular expressions (re:…)."
        )


def list_procedures(
    desk: CliContext,
    context: Annotated[
        list[str], typer.Argument(metavar="CONTEXT", help="What is being done; “-” reads stdin.")
    ],
    limit: Limit = 5,
) -> None:
    """Procedures whose trigger the context meets: what lately worked best first."""
    from reverie.memory.procedure import read_practice_record

    with desk.mind() as mind:
        found = mind.procedures(
            user_input.read_text_or_stdin(context), space=desk.space, limit=limit
        )
    if desk.json:
        terminal_output.print_json(
            {
                "procedures": [
                    {
                        **terminal_output.memory_to_json(one),
                        "record": read_practice_record(one)._asdict(),
                    }
                    for one in found
                ]
            }
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_memories(found, clock.now(), desk.space)
    else:
        terminal_output.print_note(
            "No procedure's trigger is met. reverie recall --type procedural finds by meaning."
        )


def parse_tool_arguments(text: str) -> dict[str, Any] | str:
    """What a tool is given: an object if the text is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
