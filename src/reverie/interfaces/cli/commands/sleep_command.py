"""The command that tidies up: sleep, and what it would do as a diff."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.shell_completion import complete_passes
from reverie.interfaces.cli.terminal_output import one_line, print_note
from reverie.memory.short_ids import shorten_id

commands = CommandTable()
WHOLE_ID = re.compile("mem_[0-9a-z]{26}")


@commands.add("sleep", spaced=False)
def sleep_now(
    cli: CliContext,
    dry_run: Annotated[bool, "Only show what would be done, as a diff."] = False,
    passes: Annotated[
        list[str] | None,
        typer.Option(
            "--pass",
            metavar="NAME",
            autocompletion=complete_passes,
            help="Only this pass; may be repeated.",
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            "--within",
            metavar="SECONDS",
            min=0,
            help="Stop then; the next call goes on there.",
        ),
    ] = None,
    afresh: Annotated[
        bool,
        "Look at all pairs again, not only at what is new since the last time.",
    ] = False,
    no_model: Annotated[
        bool,
        "Do not ask the language model for merged texts, names and links.",
    ] = False,
) -> None:
    """Tidy up now: merge, flag, archive, link, group.

    All of it can be taken back.
    """
    with cli.open_mind() as mind:
        cli.progress("sleeping", 0, None)
        slept = mind.sleep(
            passes or (),
            dry_run,
            within,
            afresh=afresh,
            ask=not no_model,
        )
        waiting = mind.data.stats().waiting
        offline = cli.settings.offline and bool(mind.store.meta("trouble"))
    cli.answer(sleep_to_json(slept), describe_plan(slept) if dry_run else describe_sleep(slept))
    if waiting:
        cli.note(
            f"{waiting:,} memories have no vector yet and were not compared by meaning. "
            f"{advise_on_vectors(offline)}"
        )


def advise_on_vectors(offline: bool) -> str:
    """What to do about texts without vectors: where no model can be had, settling does not help."""
    if offline:
        return (
            "The model cannot be fetched offline, so words alone are compared. "
            "Once with a connection: reverie data settle"
        )
    return "First: reverie data settle"


def sleep_to_json(slept: Any) -> dict[str, Any]:
    """What was done, or would be, as JSON values."""
    return {
        "run": slept.run,
        "stopped": slept.stopped,
        "passes": slept.passes,
        "plan": [
            {
                "pass": change.name,
                "why": change.step.why,
                "diff": step_diff_lines(change),
                "ids": change.step.rests_on,
            }
            for change in slept.plan
        ],
    }


def describe_plan(slept: Any) -> Iterator[str]:
    """What would be done, pass by pass."""
    for sleep_pass in slept.passes:
        steps = [change for change in slept.plan if change.name == sleep_pass.name]
        if not steps and not sleep_pass.steps and not sleep_pass.skipped:
            continue
        yield f"{sleep_pass.name}: {sleep_pass.skipped or f'{sleep_pass.steps:,} to do'}"
        for change in steps:
            yield f"  {change.step.why}"
            for line in step_diff_lines(change):
                yield f"    {WHOLE_ID.sub(lambda found: shorten_id(found[0]), line)}"
    if not any(sleep_pass.steps for sleep_pass in slept.passes):
        print_note("There is nothing to tidy up.")


def describe_sleep(slept: Any) -> Iterator[str]:
    """What was done."""
    for sleep_pass in slept.passes:
        if sleep_pass.steps or sleep_pass.skipped:
            yield f"{sleep_pass.name:<16}{sleep_pass.skipped or f'{sleep_pass.steps:,}'}"
    if slept.steps:
        yield f"Take all of it back with: reverie undo --sleep {slept.run}"
    elif not slept.stopped:
        yield "There was nothing to tidy up."
    if slept.stopped:
        begun = "Stopped before the end" if slept.run else "Did not begin"
        goes_on = (
            "The next reverie sleep goes on there"
            if slept.run
            else "If that process has crashed, try again in a minute"
        )
        print_note(f"{begun}: {slept.stopped}. {goes_on}.")


def step_diff_lines(change: Any) -> list[str]:
    """One step as a diff: − what goes, + what stays or comes, ~ what is altered."""
    from reverie.reconciliation.pass_view import render_step_diff

    return [one_line(line, 120) for line in render_step_diff(change.step, change.texts)]
