"""The command that tidies up: sleep, and what it would do as a diff."""

from typing import Annotated, Any

import typer

from reverie.interfaces.cli import shell_completion, terminal_output
from reverie.interfaces.cli.cli_context import Desk, command

PANEL = "Look after it"


def register(app: typer.Typer) -> None:
    """Put this command on the command line."""
    command(app, "sleep", panel=PANEL, spaced=False)(sleep)


def sleep(
    desk: Desk,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done, as a diff.")
    ] = False,
    passes: Annotated[
        list[str] | None,
        typer.Option(
            "--pass",
            metavar="NAME",
            autocompletion=shell_completion.passes,
            help="Only this pass; may be repeated.",
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            "--within", metavar="SECONDS", min=0, help="Stop then; the next call goes on there."
        ),
    ] = None,
    afresh: Annotated[
        bool,
        typer.Option(
            "--afresh", help="Look at all pairs again, not only at what is new since the last time."
        ),
    ] = False,
    no_model: Annotated[
        bool,
        typer.Option(
            "--no-model", help="Do not ask the language model for merged texts, names and ties."
        ),
    ] = False,
) -> None:
    """Tidy up now: merge, flag, archive, tie, group. All of it can be taken back."""
    with desk.mind() as mind:
        desk.telling("sleeping", 0, None)
        slept = mind.sleep(passes or (), dry_run, within, afresh=afresh, ask=not no_model)
        waiting, offline = (
            mind.stats().waiting,
            desk.settings.offline and bool(mind.store.meta("trouble")),
        )
    if desk.json:
        terminal_output.document(as_json(slept))
    elif dry_run:
        plan(slept)
    else:
        report(slept)
    if waiting and not desk.json:
        terminal_output.note(
            f"{waiting:,} memories have no vector yet and were not compared by meaning. {remedy(offline)}"
        )


def remedy(offline: bool) -> str:
    """What to do about texts without vectors: where no model can be had, settling does not help."""
    if offline:
        return (
            "Offline no model can be fetched: words decide. Once with a connection: reverie settle"
        )
    return "First: reverie settle"


def as_json(slept: Any) -> dict[str, Any]:
    """What was done, or would be, as JSON values."""
    return {
        "run": slept.run,
        "stopped": slept.stopped,
        "passes": [done._asdict() for done in slept.passes],
        "plan": [
            {
                "pass": one.name,
                "why": one.step.why,
                "diff": lines_of(one),
                "ids": list(one.step.rests_on),
            }
            for one in slept.plan
        ],
    }


def plan(slept: Any) -> None:
    """What would be done, pass by pass."""
    for done in slept.passes:
        steps = [one for one in slept.plan if one.name == done.name]
        if not steps and not done.steps and not done.skipped:
            continue
        terminal_output.tell(f"{done.name}: {done.skipped or f'{done.steps:,} to do'}")
        for one in steps:
            terminal_output.tell(f"  {one.step.why}")
            for line in lines_of(one):
                terminal_output.tell(f"    {line}")
    if not any(done.steps for done in slept.passes):
        terminal_output.note("There is nothing to tidy up.")


def report(slept: Any) -> None:
    """What was done."""
    for done in slept.passes:
        if done.steps or done.skipped:
            terminal_output.tell(f"{done.name:<16}{done.skipped or f'{done.steps:,}'}")
    if slept.steps:
        terminal_output.tell(f"Take all of it back with: reverie undo --sleep {slept.run}")
    elif not slept.stopped:
        terminal_output.tell("There was nothing to tidy up.")
    if slept.stopped:
        begun = "Stopped before the end" if slept.run else "Did not begin"
        goes_on = (
            "The next reverie sleep goes on there"
            if slept.run
            else "If it died at it, try again in a minute"
        )
        terminal_output.note(f"{begun}: {slept.stopped}. {goes_on}.")


def lines_of(one: Any) -> list[str]:
    """One step as a diff: − what goes, + what stays or comes, ~ what is altered."""
    from reverie.reconciliation.pass_view import difference

    return [terminal_output.one_line(line, 120) for line in difference(one.step, one.texts)]
