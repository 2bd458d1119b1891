"""Commands of experience: fix, coedited, touched, workflows, log; and what `stats --tools` and
`learn --git` do.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie.activity import VERBS
from reverie.core import clock
from reverie.core.model import Event
from reverie.interfaces.cli import terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, Limit, command
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker, print_remembered

PANEL = "Experience"


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (
        ("fix", show_fixes),
        ("coedited", list_coedited_files),
        ("touched", list_file_touches),
        ("workflows", list_workflows),
        ("log", show_log),
    ):
        command(app, name, panel=PANEL)(function)


def show_fixes(
    desk: CliContext,
    error: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ERROR", help="What a command printed; nothing or “-” reads it from stdin."
        ),
    ] = None,
    limit: Limit = 3,
    known: Annotated[
        bool, typer.Option("--known", help="List what is known, of the commonest errors first.")
    ] = False,
) -> None:
    """What once made this error go away, and what speaks for it; nothing where that is
    not known.
    """
    text = "" if known else user_input.read_text_or_stdin(error)
    with desk.mind() as mind:
        found = (
            mind.known_fixes(space=desk.space, limit=limit)
            if known
            else mind.suggest_fix(text, space=desk.space, limit=limit)
        )
    if desk.json:
        terminal_output.print_json(
            {
                "suggestions": [
                    {
                        **one._asdict(),
                        "memory": one.memory.id,
                        "text": one.memory.text,
                        "why": one.why,
                    }
                    for one in found
                ]
            }
        )
        return
    for one in found:
        done = [
            *(f"run: {command}" for command in one.ran),
            *(f"change: {path}" for path in one.changed),
        ]
        for line in done or [one.memory.text]:
            terminal_output.print_line(terminal_output.one_line(line, 200))
        if known:
            terminal_output.print_line(f"  {terminal_output.one_line(one.memory.title, 200)}")
        terminal_output.print_line(
            f"  {one.why}, last {describe_time_since(one.last_at)} [{one.memory.id}]"
        )
    if not found:
        terminal_output.print_note(
            "No fix is known." if known else "No fix of this error is known."
        )


def list_coedited_files(
    desk: CliContext,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A file, as its repository names it.")
    ],
    limit: Limit = 10,
) -> None:
    """Files that change together with this one: in one commit, in one task, or within
    300 seconds.
    """
    with desk.mind() as mind:
        found = mind.coedited(path, space=desk.space, limit=limit)
    if desk.json:
        terminal_output.print_json(
            {"path": path, "coedited": [{**one._asdict(), "share": one.share} for one in found]}
        )
        return
    for one in found:
        terminal_output.print_line(
            f"{terminal_output.one_line(one.path)}  {one.occasions} of {one.of} times, last {describe_time_since(one.last_at)}"
        )
    if not found:
        terminal_output.print_note(
            "Nothing is known to change together with it. reverie learn --git takes in a repository's history."
        )


def list_file_touches(
    desk: CliContext,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A file, as its repository names it.")
    ],
    limit: Limit = 20,
) -> None:
    """The history of a file: who touched it when, with what, and what broke."""
    with desk.mind() as mind:
        found = mind.touched(path, space=desk.space, limit=limit)
    if desk.json:
        terminal_output.print_json({"path": path, "touched": [one._asdict() for one in found]})
        return
    for one in found:
        where = f" lines {'-'.join(map(str, one.lines))}" if one.lines else ""
        by = [
            f"task {one.task}" if one.task else "",
            f"session {one.session}" if one.session else "",
            one.context,
        ]
        failed = " FAILED" if one.ok is False else ""
        told = ", ".join(terminal_output.one_line(part, 120) for part in by if part)
        terminal_output.print_line(
            f"{describe_time_since(one.at)}  {one.how}{failed} {terminal_output.one_line(one.path)}{where}{f'  ({told})' if told else ''}"
        )
        for label, said in (
            ("", one.summary),
            ("error: ", one.error),
            *(("broke: ", what) for what in one.broke),
        ):
            if said:
                terminal_output.print_line(f"    {label}{terminal_output.one_line(said, 200)}")
    if not found:
        terminal_output.print_note(
            "Nothing is known to have touched it. reverie learn --git takes in a repository's history."
        )


def list_workflows(desk: CliContext, limit: Limit = 10) -> None:
    """Commands that were run one after the other in at least three tasks; `pending` and `curate`
    approve one.
    """
    with desk.mind() as mind:
        found = mind.workflows(space=desk.space, limit=limit)
    if desk.json:
        terminal_output.print_json({"workflows": [one._asdict() for one in found]})
        return
    for one in found:
        terminal_output.print_line(
            f"{one.occasions} times, last {describe_time_since(one.last_at)}"
        )
        for place, step in enumerate(one.steps, start=1):
            terminal_output.print_line(f"  {place}. {terminal_output.one_line(step, 200)}")
    if not found:
        terminal_output.print_note("No sequence of commands has recurred so far.")


def show_log(
    desk: CliContext,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Something that happened, to be kept as an episode."),
    ] = None,
    limit: Limit = 20,
    verb: Annotated[list[str] | None, typer.Option(help="Only events of this verb.")] = None,
    tool: Annotated[str, typer.Option("--tool", help="Only runs of this tool.")] = "",
    file: Annotated[
        str,
        typer.Option("--file", help="Only what touched this file: a part of its path will do."),
    ] = "",
    task: Annotated[str, typer.Option("--task", help="Only what belongs to this task.")] = "",
    grep: Annotated[
        list[str] | None, typer.Option("--grep", "-g", help="Only with this word; repeatable.")
    ] = None,
) -> None:
    """Write down something that happened; without a text, the last events, of --space if one is
    named.
    """
    if text:
        with desk.mind() as mind:
            kept = mind.recount(" ".join(text), space=desk.space, provenance="user_stated")
            hand_to_worker(desk, mind)
        print_remembered(desk, [kept], many=False)
        return
    with desk.mind() as mind:
        if tool or file or task or grep:
            found: Sequence[Event] = mind.deeds(
                grep or (),
                tool=tool,
                file=file,
                task=task,
                verbs=verb or VERBS,
                space=desk.space,
                limit=limit,
            )
        else:
            verbs = tuple(verb or ())
            found = (
                mind.store.events(verbs=verbs, space=desk.place, newest=True, limit=limit)
                if limit
                else []
            )
    if desk.json:
        terminal_output.print_json({"events": [event_to_json(event) for event in found]})
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_events(found, clock.now())
    else:
        terminal_output.print_note("No events.")


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as JSON values."""
    return {
        "event": event.seq,
        **{name: value for name, value in event._asdict().items() if name != "seq"},
    }


def show_tool_stats(desk: CliContext, days: float) -> None:
    """How the tools of agents did."""
    with desk.mind() as mind:
        found = mind.tool_stats(days, space=desk.space)
    if desk.json:
        terminal_output.print_json(
            {**found._asdict(), "tools": [one._asdict() for one in found.tools], "days": days}
        )
        return
    for one in found.tools:
        rate = "" if one.success_rate is None else f", {one.success_rate:.0%} went well"
        took = (
            ""
            if one.p50 is None or one.p95 is None
            else f", median {one.p50:.3g} s, 95% within {one.p95:.3g} s"
        )
        terminal_output.print_line(
            f"{terminal_output.one_line(one.tool)}  {one.runs:,} runs{rate}{took}, last {describe_time_since(one.last_at)}"
        )
    terminal_output.print_line(
        f"Files read: {found.reads:,}, of these again: {found.rereads:,}. "
        f"Errors: {found.errors:,}, of these met before: {found.repeated:,}."
    )
    if not found.tools:
        terminal_output.print_note(
            f"No tool run was recorded in {desk.space} within {days:g} days."
        )


def learn_histories(desk: CliContext, repositories: Sequence[Path]) -> None:
    """Take in the histories of repositories."""
    with desk.mind() as mind:
        done = {str(path): mind.learn_git(path, space=desk.space) for path in repositories}
    if desk.json:
        terminal_output.print_json(
            {
                "space": desk.space,
                "repositories": {path: one._asdict() for path, one in done.items()},
            }
        )
        return
    for path, one in done.items():
        terminal_output.print_line(
            f"{terminal_output.one_line(path)}: {one.commits:,} new commits, {one.files:,} changes of files, "
            f"{one.fixes:,} fixes; {one.known:,} were known."
        )


def describe_time_since(at: float) -> str:
    """How long ago."""
    from reverie.context_window import format_time_ago

    return format_time_ago(clock.now() - at)
