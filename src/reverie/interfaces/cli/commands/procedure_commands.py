"""Commands of know-how: teach, outcome, warnings."""

import json
from typing import Annotated, Any

import typer

from reverie.core import clock
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import (
    CliContext,
    CommandTable,
    Limit,
    MemoryId,
    NewTags,
    Triggers,
)
from reverie.interfaces.cli.commands.remember_commands import (
    hand_to_worker,
    note_likely_slips,
    print_remembered,
)
from reverie.interfaces.cli.terminal_output import (
    print_note,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin
from reverie.memory.short_ids import shorten_id

commands = CommandTable()


@commands.add("teach")
def teach_procedure(
    cli: CliContext,
    name: Annotated[str, "NAME", "What it does: “release a version”."],
    step: Annotated[list[str], "A step; given several times, in order."],
    trigger: Triggers = None,
    needs: Annotated[list[str] | None, "What must be there first."] = None,
    careful: Annotated[list[str] | None, "What to beware of."] = None,
    tag: NewTags = None,
) -> None:
    """Keep how something is done.

    Steps in order, what they need, what to beware of.
    """
    with cli.open_mind() as mind:
        kept = mind.procedures.teach(
            name,
            step,
            triggers=trigger or (),
            prerequisites=needs or (),
            warnings=careful or (),
            tags=tag or (),
            space=cli.space,
            provenance="user_stated",
        )
        hand_to_worker(cli, mind)
    print_remembered(cli, [kept], many=False)
    note_likely_slips(trigger or ())


@commands.add("outcome", spaced=False)
def report_outcome(
    cli: CliContext,
    id: MemoryId,
    worked: Annotated[bool, typer.Option("--worked/--failed", help="How it went.")] = True,
) -> None:
    """Say how a procedure went: its rank follows its record."""
    from reverie.memory.procedure import read_practice_record

    with cli.open_mind() as mind:
        memory = mind.procedures.outcome(id, worked)
    record = read_practice_record(memory)
    cli.answer(
        {"memory": memory, "chance": record.chance},
        f"{shorten_id(id)}: worked {record.worked} times, failed {record.failed}; "
        f"lately {record.rate:.0%}.",
    )


@commands.add("warnings")
def show_warnings(
    cli: CliContext,
    tool: Annotated[str, "TOOL", "The tool that is about to run: Bash, Edit, …."],
    given: Annotated[
        list[str] | None,
        "INPUT",
        "What it is given: words, or a JSON object; “-” reads it from stdin.",
    ] = None,
    limit: Limit = 5,
) -> None:
    """What to know before a tool runs.

    Memories whose trigger it meets, “never do” first.
    """
    text = read_text_or_stdin(given) if given else ""
    with cli.open_mind() as mind:
        found = mind.warnings(
            tool,
            parse_tool_arguments(text),
            space=cli.space,
            limit=limit,
        )
    cli.answer(
        {
            "tool": tool,
            "hits": found,
            "untried": found.untried,
        },
        memory_view.render_hits(found, clock.now(), cli.space)
        if found
        else "Nothing to beware of is known.",
    )
    if not given and " " in tool.strip():
        print_note(
            f"{tool!r} is taken for a tool's name: the first argument is the tool's name, "
            'what it is given comes after: reverie procedure warnings Bash "git push --force"'
        )
    if found.untried:
        print_note(
            f"There was no time to try {found.untried} memories: too many slow regular "
            "expressions (re:…)."
        )


@commands.add("list")
def list_procedures(
    cli: CliContext,
    context: Annotated[list[str], "CONTEXT", "What is being done; “-” reads stdin."],
    limit: Limit = 5,
) -> None:
    """Procedures whose trigger the context meets.

    What lately worked best comes first.
    """
    from reverie.memory.procedure import read_practice_record

    with cli.open_mind() as mind:
        found = mind.procedures.find(
            read_text_or_stdin(context),
            space=cli.space,
            limit=limit,
        )
    cli.answer(
        {"procedures": [{**one._asdict(), "record": read_practice_record(one)} for one in found]},
        memory_view.render_memories(found, clock.now(), cli.space),
        "No procedure's trigger is met. reverie recall --type procedural finds by meaning.",
    )


def parse_tool_arguments(text: str) -> dict[str, Any] | str:
    """What a tool is given: an object if the text is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
