"""The command plan: what a task is about, before it begins."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core import config
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import (
    CliContext,
    CommandTable,
    LimitFromOne,
    RepositoryFolder,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin

if TYPE_CHECKING:
    from reverie.code.planning.plan_answer import TaskPlan

commands = CommandTable()


@commands.add("plan")
def plan_task(
    cli: CliContext,
    task: Annotated[
        list[str] | None,
        "TASK",
        "What is to be done; “-” reads it from stdin.",
    ] = None,
    limit: LimitFromOne = 10,
    tokens: Annotated[
        int,
        typer.Option(
            "--tokens",
            "-t",
            min=1,
            help="How long it may be.",
        ),
    ] = 1_000,
    root: RepositoryFolder = None,
    as_it_is: Annotated[
        bool,
        typer.Option("--no-index", help="Take the index as it is, without a look at the files."),
    ] = False,
) -> None:
    """Which files and symbols a task is about.

    Likeliest first and each with why; then what is known of the like.

    What has changed in the repository is indexed first. `reverie learn --git` gives it a past
    to go by.
    """
    with cli.open_mind() as mind:
        text = read_text_or_stdin(task)
        if not text.strip():
            raise BadInput("The task is empty: say what is to be done")
        if not as_it_is:
            mind.code.index(
                config.find_work_tree((root or config.working_directory()).resolve()), cli.progress
            )
            cli.progress.clear()
        space = (
            cli.space
            if cli.named_space or root is None
            else config.project_space_of(root.resolve())
        )
        plan = mind.plan(
            text,
            root=root,
            space=space,
            limit=limit,
            tokens=tokens,
        )
    cli.answer(plan_to_json(plan), plan.text or "Nothing that is known matches this task.")
    if plan.files and not plan.known:
        cli.note("No past tasks are known. Take in the history: reverie learn --git")


def plan_to_json(plan: "TaskPlan") -> dict[str, Any]:
    """A plan as JSON values."""
    return {
        **plan._asdict(),
        "past": [
            {
                "at": past.at,
                "text": past.text,
                "files": past.files,
            }
            for past in plan.past
        ],
        "fixes": [{"text": fix.memory.text, "why": fix.why} for fix in plan.fixes],
        "memories": [
            {
                "id": hit.memory.id,
                "text": hit.memory.text,
                "why": hit.why,
            }
            for hit in plan.memories
        ],
        "said": [
            {
                "id": hit.memory.id,
                "text": hit.memory.text,
                "by": hit.memory.speaker,
                "at": hit.memory.at,
            }
            for hit in plan.said
        ],
    }
