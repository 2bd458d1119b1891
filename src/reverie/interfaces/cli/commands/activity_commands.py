"""Commands of experience: fix, coedited, touched, workflows, log; and what `stats --tools` and
`learn --git` do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.activity import VERBS
from reverie.context_window import format_time_ago
from reverie.core import clock
from reverie.core.model import Event
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, Limit
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker, print_remembered
from reverie.interfaces.cli.terminal_output import one_line
from reverie.interfaces.cli.user_input import read_text_or_stdin
from reverie.memory.history_text import format_moment

if TYPE_CHECKING:
    from reverie.activity.activity_events import WorkStatistics
    from reverie.activity.file_history import FileTouch
    from reverie.activity.remedies import FixSuggestion
    from reverie.activity.workflows import CommandWorkflow

commands = CommandTable()
MAX_LINE_CHARS = 200  # of a step, an error or a summary that are shown
LEARN_GIT = "reverie learn --git takes in a repository's history."


@commands.add("fix")
def show_fixes(
    cli: CliContext,
    error: Annotated[
        list[str] | None,
        "ERROR",
        "What a command printed; nothing or “-” reads it from stdin.",
    ] = None,
    limit: Limit = 3,
    known: Annotated[bool, "List what is known, of the commonest errors first."] = False,
) -> None:
    """What once made this error go away.

    And what speaks for it; nothing where that is not known.
    """
    text = "" if known else read_text_or_stdin(error)
    with cli.open_mind() as mind:
        if known:
            fixes = mind.activity.known_fixes(space=cli.space, limit=limit)
        else:
            fixes = mind.activity.suggest_fix(
                text,
                space=cli.space,
                limit=limit,
            )
    values = {"suggestions": map(fix_to_json, fixes)}
    view = (line for fix in fixes for line in describe_fix(fix, with_error=known))
    cli.answer(values, view, "No fix is known." if known else "No fix of this error is known.")


def fix_to_json(fix: "FixSuggestion") -> dict[str, Any]:
    """A fix as JSON values."""
    memory = fix.memory
    return {
        **fix._asdict(),
        "memory": memory.id,
        "text": memory.text,
        "why": fix.why,
    }


def describe_fix(fix: "FixSuggestion", *, with_error: bool) -> Iterator[str]:
    """What was run and changed, of which error, and what speaks for it."""
    ran = [f"run: {command}" for command in fix.ran]
    changed = [f"change: {path}" for path in fix.changed]
    for line in [*ran, *changed] or [fix.memory.text]:
        yield one_line(line, MAX_LINE_CHARS)
    if with_error:
        yield f"  {one_line(fix.memory.title, MAX_LINE_CHARS)}"
    yield f"  {fix.why}, last {describe_time_since(fix.last_at)} [{fix.memory.id}]"


@commands.add("coedited")
def list_coedited_files(
    cli: CliContext,
    path: Annotated[str, "PATH", "A file, as its repository names it."],
    limit: Limit = 10,
) -> None:
    """Files that change together with this one.

    In one commit, in one task, or within 300 seconds.
    """
    with cli.open_mind() as mind:
        found = mind.activity.coedited(
            path,
            space=cli.space,
            limit=limit,
        )
    cli.answer(
        {
            "path": path,
            "coedited": [{**change._asdict(), "share": change.share} for change in found],
        },
        (
            f"{one_line(change.path)}  {change.occasions} of {change.of} times, "
            f"last {describe_time_since(change.last_at)}"
            for change in found
        ),
        f"Nothing is known to change together with it. {LEARN_GIT}",
    )


@commands.add("touched")
def list_file_touches(
    cli: CliContext,
    path: Annotated[str, "PATH", "A file, as its repository names it."],
    limit: Limit = 20,
) -> None:
    """Who touched a file when, with what, and what broke."""
    with cli.open_mind() as mind:
        found = mind.activity.touched(
            path,
            space=cli.space,
            limit=limit,
        )
    cli.answer(
        {"path": path, "touched": found},
        (line for touch in found for line in describe_touch(touch)),
        f"Nothing is known to have touched it. {LEARN_GIT}",
    )


def describe_touch(touch: "FileTouch") -> Iterator[str]:
    """When a file was touched, how, in which work, and what came of it."""
    lines = f" lines {'-'.join(map(str, touch.lines))}" if touch.lines else ""
    failed = " FAILED" if touch.ok is False else ""
    work = (
        f"task {touch.task}" if touch.task else "",
        f"session {touch.session}" if touch.session else "",
        touch.context,
    )
    told = ", ".join(one_line(part, 120) for part in work if part)
    origin = f"  ({told})" if told else ""
    ago = describe_time_since(touch.at)
    yield f"{ago}  {touch.how}{failed} {one_line(touch.path)}{lines}{origin}"
    outcome = [("", touch.summary), ("error: ", touch.error)]
    outcome += [("broke: ", what) for what in touch.broke]
    for label, text in outcome:
        if text:
            yield f"    {label}{one_line(text, MAX_LINE_CHARS)}"


@commands.add("workflows")
def list_workflows(cli: CliContext, limit: Limit = 10) -> None:
    """Commands that recur in the same order.

    Run one after the other in at least three tasks; `reverie memory curate` lists and approves
    them.
    """
    with cli.open_mind() as mind:
        found = mind.activity.workflows(space=cli.space, limit=limit)
    cli.answer(
        {"workflows": found},
        (line for workflow in found for line in describe_workflow(workflow)),
        "No sequence of commands has recurred so far.",
    )


def describe_workflow(workflow: "CommandWorkflow") -> Iterator[str]:
    """How often commands recurred, and which."""
    yield f"{workflow.occasions} times, last {describe_time_since(workflow.last_at)}"
    for place, step in enumerate(workflow.steps, start=1):
        yield f"  {place}. {one_line(step, MAX_LINE_CHARS)}"


@dataclass(frozen=True, slots=True)
class EventOptions:
    """Which events `activity log` lists."""

    verb: Annotated[list[str] | None, "Only events of this verb."] = None
    tool: Annotated[str, "Only runs of this tool."] = ""
    file: Annotated[
        str,
        "Only what touched this file: a part of its path will do.",
    ] = ""
    task: Annotated[str, "Only what belongs to this task."] = ""
    grep: Annotated[
        list[str] | None, typer.Option("--grep", "-g", help="Only with this word; repeatable.")
    ] = None


@commands.add("log")
def show_log(
    cli: CliContext,
    text: Annotated[
        list[str] | None,
        "TEXT",
        "Something that happened, to be kept as an episode.",
    ] = None,
    limit: Limit = 20,
    *,
    which: EventOptions,
) -> None:
    """The last events; or keep something that happened.

    With a text, write it down. Without, the last events, of --space if one is named.
    """
    if text:
        with cli.open_mind() as mind:
            episode = mind.episodes.record(
                " ".join(text),
                space=cli.space,
                provenance="user_stated",
            )
            hand_to_worker(cli, mind)
        print_remembered(cli, [episode], many=False)
        return
    with cli.open_mind() as mind:
        if which.tool or which.file or which.task or which.grep:
            events: Sequence[Event] = mind.activity.events(
                which.grep or (),
                tool=which.tool,
                file=which.file,
                task=which.task,
                verbs=which.verb or VERBS,
                space=cli.space,
                limit=limit,
            )
        else:
            verbs = tuple(which.verb or ())
            events = (
                mind.store.events(
                    verbs=verbs,
                    space=cli.named_space,
                    newest=True,
                    limit=limit,
                )
                if limit
                else []
            )
    cli.answer(
        {"events": [event_to_json(event) for event in events]},
        memory_view.render_events(events, clock.now()),
        "No events.",
    )


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as JSON values."""
    values = event._asdict()
    return {"event": values.pop("seq"), **values}


def show_tool_stats(cli: CliContext, days: float) -> None:
    """How the tools of agents did."""
    with cli.open_mind() as mind:
        found = mind.activity.stats(days, space=cli.space)
    cli.answer({**found._asdict(), "days": days}, describe_tool_stats(found))
    if not found.tools:
        cli.note(f"No tool run was recorded in {cli.space} within {days:g} days.")


def describe_tool_stats(found: "WorkStatistics") -> Iterator[str]:
    """How each tool did, and what was read and met again."""
    for tool in found.tools:
        rate = "" if tool.success_rate is None else f", {tool.success_rate:.0%} went well"
        took = ""
        if tool.p50 is not None and tool.p95 is not None:
            took = f", median {tool.p50:.3g} s, 95% within {tool.p95:.3g} s"
        last = describe_time_since(tool.last_at)
        yield f"{one_line(tool.tool)}  {tool.runs:,} runs{rate}{took}, last {last}"
    yield (
        f"Files read: {found.reads:,}, of these again: {found.rereads:,}. "
        f"Errors: {found.errors:,}, of these met before: {found.repeated:,}."
    )
    for week in found.weeks:
        yield (
            f"Week from {format_moment(week.since)[:10]}: "
            f"read again {week.rereads:,} of {week.reads:,}, "
            f"met again {week.repeated:,} of {week.errors:,}"
        )


def learn_histories(cli: CliContext, repositories: Sequence[Path]) -> None:
    """Take in the histories of repositories."""
    done: dict[str, Any] = {}
    with cli.open_mind() as mind:
        for path in repositories:
            cli.progress("reading the history", len(done), len(repositories))
            done[str(path)] = mind.activity.learn_git(path, space=cli.space)
    cli.answer(
        {"space": cli.space, "repositories": done},
        (
            f"{one_line(path)}: {history.commits:,} new commits, "
            f"{history.files:,} changes of files, {history.fixes:,} fixes; {history.known:,} "
            "were known."
            for path, history in done.items()
        ),
    )


def describe_time_since(at: float) -> str:
    """How long ago, from now."""
    return format_time_ago(clock.now() - at)
