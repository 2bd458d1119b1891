"""Commands of know-how: teach, outcome, warnings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from reverie.runtime.mind.procedure_verbs import SkillReport

commands = CommandTable()

CHANGE_WORDS = {
    "edited": "edited",
    "removed": "removed",
    "renamed": "renamed",
    "both": "edited, and changed here too (--force takes the page's words)",
    "unreadable": "cannot be read",
}


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


@commands.add("publish")
def publish_skills(
    cli: CliContext,
    tree: Annotated[
        Path | None, typer.Argument(metavar="REPOSITORY", help="Default: the one here.")
    ] = None,
    branch: Annotated[str, "Branch to write on; default: reverie/skills."] = "",
    folder: Annotated[str, "Where skills lie in it; default: .claude/skills."] = "",
    force: Annotated[bool, "Also over pages that were altered there."] = False,
    dry_run: Annotated[bool, "Only tell what would be written."] = False,
) -> None:
    """Write proven procedures as skills on a branch.

    Those of the space that worked three times at least, as SKILL.md, for somebody to review. Your
    working tree is not touched.
    """
    with cli.open_mind() as mind:
        done = mind.procedures.publish(
            tree, space=cli.space, branch=branch, folder=folder, force=force, dry_run=dry_run
        )
    cli.answer(skills_to_json(done), describe_published(done, dry_run))


@commands.add("adopt")
def adopt_skills(
    cli: CliContext,
    tree: Annotated[
        Path | None, typer.Argument(metavar="REPOSITORY", help="Default: the one here.")
    ] = None,
    ref: Annotated[str, "Branch or commit to read; default: reverie/skills."] = "",
    reviewed: Annotated[bool, "It was reviewed: change the procedures."] = False,
    force: Annotated[bool, "The page wins where both have changed."] = False,
) -> None:
    """Read back what became of skills in review.

    An edited page revises its procedure, a removed one archives it.
    """
    with cli.open_mind() as mind:
        done = mind.procedures.adopt(tree, space=cli.space, ref=ref, reviewed=reviewed, force=force)
        if done.event:
            hand_to_worker(cli, mind)
    cli.answer(skills_to_json(done), describe_adopted(done))


def skills_to_json(done: "SkillReport") -> dict[str, Any]:
    """What was written, or became of it, as JSON values."""
    return {
        "branch": done.branch,
        "commit": done.commit,
        "event": done.event,
        "written": [{"memory": one.memory.id, "path": one.path} for one in done.written],
        "changes": [
            {"memory": one.memory.id, "path": one.path, "what": one.what, "why": one.why}
            for one in done.changes
        ],
    }


def describe_published(done: "SkillReport", dry_run: bool) -> Iterator[str]:
    """What was written, and what was left, for people."""
    for one in done.written:
        yield f"{one.path}: {one.memory.title}"
    for change in done.changes:
        yield (
            f"{change.path}: {CHANGE_WORDS[change.what]} on {done.branch}, and left as it is. "
            "To take it over: reverie procedure adopt --reviewed"
        )
    if done.written:
        would = "would be written on" if dry_run else "written on"
        at = f", commit {done.commit[:12]}" if done.commit else ""
        yield f"{len(done.written):,} {would} {done.branch}{at}."
    elif not done.changes:
        yield (
            "Nothing to write: a procedure has proved itself when it worked three times at least "
            "(reverie procedure outcome ID --worked), and what was written is not written again."
        )


def describe_adopted(done: "SkillReport") -> Iterator[str]:
    """What became of pages, and whether it was taken over, for people."""
    for one in done.changes:
        more = f": {one.why}" if one.why else ""
        yield f"{one.path} ({shorten_id(one.memory.id)}): {CHANGE_WORDS[one.what]}{more}"
    if not done.changes:
        yield f"Nothing on {done.branch} differs from what is known here."
    elif done.event:
        yield f"Taken over. Back: reverie undo {done.event}"
    else:
        yield "Nothing was changed here. If somebody has reviewed it: add --reviewed"


def parse_tool_arguments(text: str) -> dict[str, Any] | str:
    """What a tool is given: an object if the text is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
