"""Commands that let go and bring back: forget, restore, purge, undo."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.errors import NotFound
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker, require_memory
from reverie.interfaces.cli.shell_completion import complete_forgotten_ids, complete_ids
from reverie.interfaces.cli.terminal_output import (
    memory_to_json,
    one_line,
    print_json,
    print_line,
    print_note,
)

commands = CommandTable("Keep and change")

MemoryIds = Annotated[
    list[str],
    typer.Argument(metavar="ID…", autocompletion=complete_ids, help="Ids of memories."),
]


@commands.add("forget", spaced=False)
def forget_memories(
    cli: CliContext,
    ids: MemoryIds,
    why: Annotated[str, typer.Option(help="Why, for its history.")] = "forgotten",
) -> None:
    """Let memories go. They can be brought back."""
    with cli.open_mind() as mind:
        count = mind.forget(ids, why)
        hand_to_worker(cli, mind)
    if cli.as_json:
        print_json({"forgotten": count, "ids": ids})
    elif count:
        print_line(f"Forgot {count}. Bring back with: reverie restore {' '.join(ids)}")
    else:
        print_line("They did not count any more; nothing was changed.")


@commands.add("restore", spaced=False)
def restore_memories(
    cli: CliContext,
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID…",
            autocompletion=complete_forgotten_ids,
            help="Ids of memories.",
        ),
    ],
) -> None:
    """Bring back what was forgotten or superseded."""
    with cli.open_mind() as mind:
        before = {
            id: require_memory(mind, id) for id in ids
        }  # all of them are known, or nothing happens
        back = [mind.restore(id) for id in ids]
        hand_to_worker(cli, mind)
    if cli.as_json:
        print_json({"memories": [memory_to_json(memory) for memory in back]})
        return
    for memory in back:
        print_line(
            f"{memory.id} counts already."
            if before[memory.id].active
            else f"{memory.id} counts again: {one_line(memory.text, 60)}"
        )


@commands.add("purge", spaced=False)
def erase_memories(
    cli: CliContext,
    ids: MemoryIds,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase memories for good: text, vectors, history, also in the backups. Cannot be undone."""
    with cli.open_mind() as mind:
        there = [require_memory(mind, id) for id in dict.fromkeys(ids)]
        more = len(mind.data.wordings([memory.id for memory in there]))
        if not yes and not typer.confirm(
            f"Erase {len(there)}{format_wordings(more)} for good? This cannot be undone.", err=True
        ):
            raise typer.Abort
        done = mind.data.purge([memory.id for memory in there])
    if cli.as_json:
        print_json(
            {
                "purged": done.erased,
                "unreached": list(map(str, done.unreached)),
                "repeated": list(done.repeated),
            }
        )
    else:
        print_line(f"Erased {done.erased} for good.")
    if done.repeated:
        print_note(
            f"Others say it too. To erase them as well: reverie purge {' '.join(done.repeated)}"
        )
    for left in done.unreached:
        print_note(describe_unreached(left, cli.settings.url))


def describe_unreached(left: Path, url: str) -> str:
    """What to do about a file that may still hold what was erased."""
    if url.endswith(str(left)):
        return (
            f"{left} is being read by another process, so its journal still holds it. Once "
            "that is done the worker "
            "clears it by itself, and so does: reverie scrub --yes"
        )
    return f"{left} could not be reached and may still hold it. Delete it if so."


def format_wordings(count: int) -> str:
    """What goes with what was named; nothing where nothing was merged into it."""
    what = "wording that was" if count == 1 else "wordings that were"
    return f" and {count:,} {what} merged into it" if count else ""


@commands.add("undo", spaced=False)
def undo_event(
    cli: CliContext,
    event: Annotated[
        int | None,
        typer.Argument(metavar="EVENT", help="The event's number; none lists the last ones."),
    ] = None,
    asleep: Annotated[
        bool,
        typer.Option("--sleep", help="A whole run of sleep: that of this number, or the last one."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Even if something was changed since.")
    ] = False,
) -> None:
    """Take back what an event changed; without a number, list what can be taken back."""
    with cli.open_mind() as mind:
        if asleep:
            event = require_sleep_run(mind, event)
        if event is not None:
            seq = mind.undo(event, force=force)
            hand_to_worker(cli, mind)
            if cli.as_json:
                print_json({"undone": event, "event": seq})
            elif mind.store.changes_of(seq):
                print_line(
                    f"Took back event {event}. That is event {seq}, which can be undone too."
                )
            else:
                print_line(f"Took back run {event} of sleep.")
            return
        from reverie.interfaces.cli import memory_view

        listed = list_undoable_events(mind)
        if cli.as_json:
            print_json(
                {
                    "events": [
                        {
                            "event": event_undone.seq,
                            "verb": event_undone.verb,
                            "at": event_undone.at,
                            "ids": ids,
                        }
                        for event_undone, ids, _ in listed
                    ]
                }
            )
        elif listed:
            memory_view.render_undoable(listed, clock.now())
        else:
            print_note("Nothing has been changed yet.")


def require_sleep_run(mind: Mind, event: int | None) -> int:
    """The run of sleep that an event belongs to; without one the last run that is not
    taken back.
    """
    from reverie.consolidation.undo_sleep import find_last_run, find_run_of_event

    if event is not None:
        if not (run := find_run_of_event(mind.store, event)):
            raise NotFound(
                f"Event {event} is no run of sleep. reverie log --verb sleeping lists the runs"
            )
        return run
    if not (run := find_last_run(mind.store)):
        raise NotFound(
            "There is no run of sleep to take back: nobody has slept yet, or all is taken back"
        )
    return run


def list_undoable_events(mind: Mind, most: int = 12) -> list[tuple[Any, list[str], str]]:
    """The last events that changed memories: (event, ids, what the first one says)."""
    listed: list[tuple[Any, list[str], str]] = []
    for event in mind.store.events(newest=True, limit=400):
        if event.verb != "hold" and (records := mind.store.changes_of(event.seq)):
            ids = list(dict.fromkeys(record.memory_id for record in records))
            memories = mind.get(ids[:1])
            listed.append((event, ids, memories[0].text if memories else ""))
        if len(listed) == most:
            break
    return listed
