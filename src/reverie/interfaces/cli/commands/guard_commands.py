"""The command of guards: what stops a tool, tried and changed."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from reverie import Mind
from reverie.core import config
from reverie.core.errors import BadInput, HomeLockedError, ReverieError
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.remember_commands import require_memory
from reverie.interfaces.cli.terminal_output import one_line
from reverie.interfaces.hooks.locked_guards import OPEN, SEALED, close_guards
from reverie.interfaces.hooks.spool import MAX_ALLOWANCE_SECONDS, HookFiles
from reverie.memory.guards import ASK, DECISIONS, DENY, DOES, STOPPING, TELL, may_stop
from reverie.memory.short_ids import expand_id, shorten_id

if TYPE_CHECKING:
    from reverie.runtime.mind.guard_verbs import Guard

commands = CommandTable()
DOES_LOCKED = {
    SEALED: "guards stop nothing, and you are asked once in a session",
    OPEN: "guards stop as ever; their triggers lie in its home in the clear",
}
LOCKED_CHOICES = config.ALLOWED_VALUES["locked_guards"]
TRY, SET, ALLOW, DEFAULT, LOCKED = "try", "set", "allow", "default", "locked"
USAGE = (
    'reverie guards; reverie guards try "git push -f"; reverie guards set ID '
    f"{'|'.join((*DECISIONS, DEFAULT))}; reverie guards allow ID; reverie guards default "
    f"{'|'.join(DECISIONS)}; reverie guards locked {'|'.join(LOCKED_CHOICES)}"
)


@commands.add("guards")
def manage_guards(
    cli: CliContext,
    words: Annotated[
        list[str] | None,
        "ACTION",
        "Nothing lists them; “try COMMAND”, “set ID ask|deny|tell|off|default”, “allow ID”, "
        "“default ask|deny|tell|off”, “locked sealed|open”.",
    ] = None,
    tool: Annotated[str, "For “try”: the tool that runs it, such as Bash or Edit."] = "Bash",
) -> None:
    """List, try and set what stops a forbidden tool call.

    List it, try a command against it, choose whether you are asked, it is denied or only told.
    """
    action, *rest = words or ["list"]
    if action == "list" and not rest:
        list_guards(cli)
    elif action == TRY and rest:
        try_call(cli, tool, " ".join(rest))
    elif action == SET and len(rest) == 2:
        set_decision(cli, *rest)
    elif action == ALLOW and len(rest) == 1:
        allow_once(cli, rest[0])
    elif action == DEFAULT and len(rest) == 1:
        set_default(cli, rest[0])
    elif action == LOCKED and len(rest) == 1:
        set_locked(cli, rest[0])
    else:
        raise BadInput(f"Not understood: {' '.join(words or ())}. There are: {USAGE}")


def list_guards(cli: CliContext) -> None:
    """Everything with a trigger, what stops most first."""
    with cli.open_mind() as mind:
        found = mind.guards.browse(space=cli.space)
    cli.answer(
        {"default": cli.settings.guards, "guards": [guard_to_json(one) for one in found]},
        describe_guards(found),
        'Nothing is guarded here. Forbid something: reverie remember "Never force-push" '
        "--kind negative",
    )


def guard_to_json(guard: "Guard") -> dict[str, Any]:
    """A guard as JSON values."""
    return {
        "id": guard.memory.id,
        "text": guard.memory.text,
        "decision": guard.decision,
        "trigger": guard.trigger,
        "triggers": list(guard.memory.triggers),
        "may_stop": may_stop(guard.memory),
    }


def describe_guards(guards: Sequence["Guard"]) -> Iterator[str]:
    """A line for each: its id, what it does, its text, and what calls it up."""
    for guard in guards:
        memory = guard.memory
        yield f"{shorten_id(memory.id)}  {guard.decision:4}  {one_line(memory.text, 60)}"
        yield f"    before: {one_line(', '.join(memory.triggers), 90)}"
        if not may_stop(memory):
            yield f"    only told: it is not your own word ({memory.provenance})"


def try_call(cli: CliContext, tool: str, command: str) -> None:
    """What would happen if a tool were given this; nothing is run."""
    root = str(config.find_work_tree(config.working_directory()))
    with cli.open_mind() as mind:
        found = mind.guards.check(tool, {"command": command}, space=cli.space, root=root)
    decisions = {guard.decision for guard in found}
    outcome = next((one for one in (DENY, ASK, TELL) if one in decisions), "")
    values = {"decision": outcome, "guards": [guard_to_json(one) for one in found]}
    cli.answer(values, describe_outcome(outcome, found))


def describe_outcome(outcome: str, found: Sequence["Guard"]) -> Iterator[str]:
    """What would happen, and which memories say so."""
    if not outcome:
        yield "It runs: no guard meets it."
        return
    yield f"{outcome}: {DOES[outcome]}."
    for guard in found:
        id, text = shorten_id(guard.memory.id), one_line(guard.memory.text, 60)
        yield f"{id}  {guard.decision:4}  {text}  (trigger {guard.trigger!r})"


def set_decision(cli: CliContext, id: str, decision: str) -> None:
    """Choose what one guard does."""
    with cli.open_mind() as mind:
        id = expand_id(mind.store, id)
        memory = mind.guards.set(id, decision)
        refresh_tables(cli, mind)
        now_does = next(
            (one.decision for one in mind.guards.browse(space=memory.space) if one.memory.id == id),
            decision,
        )
    cli.answer(
        {"memory": memory, "decision": now_does},
        f"{shorten_id(id)}: {DOES.get(now_does, now_does)}. Take it back: reverie undo",
    )


def allow_once(cli: CliContext, id: str) -> None:
    """Let what a guard stops happen once, within ten minutes."""
    with cli.open_mind() as mind:
        memory = require_memory(mind, expand_id(mind.store, id))
        HookFiles(str(cli.settings.home)).add_allowance(memory.id)
    minutes = int(MAX_ALLOWANCE_SECONDS // 60)
    cli.answer(
        {"memory": memory.id, "minutes": minutes},
        f"Allowed once within {minutes} minutes: {one_line(memory.text, 60)}",
    )


def set_default(cli: CliContext, decision: str) -> None:
    """Choose what guards do for which nothing else was chosen."""
    with cli.open_mind() as mind:
        mind.guards.set_default(decision)
        refresh_tables(cli, mind)
    stops = "" if decision in STOPPING else " Only a guard set by itself still stops."
    cli.answer({"default": decision}, f"Before what you forbade: {DOES[decision]}.{stops}")


def set_locked(cli: CliContext, choice: str) -> None:
    """Choose what an encrypted memory has in the clear of guards while it is locked."""
    if choice not in LOCKED_CHOICES:
        raise BadInput(f"{choice!r}: give one of {', '.join(LOCKED_CHOICES)}")
    choose_locked_guards(cli, choice)
    line = f"While an encrypted memory is locked: {DOES_LOCKED[choice]}."
    cli.answer({"locked_guards": choice}, line)


def choose_locked_guards(cli: CliContext, choice: str) -> None:
    """Write the setting `locked_guards`, and have hooks know at once.

    Taking triggers out of what lies in the clear needs no key; putting them there does.
    """
    config.save_settings(cli.settings, locked_guards=choice)
    vars(cli).pop("settings")  # to be read anew
    try:
        tell_of_locked_guards(cli)
    except HomeLockedError:
        if choice == OPEN:
            cli.note("It is chosen, and guards stop from the next locking on, once it is unlocked")
            raise
        close_guards(HookFiles(str(cli.settings.home)))


def try_to_tell_of_locked_guards(cli: CliContext) -> None:
    """Do that where the memory can be opened and written just now; else the worker does it."""
    with suppress(ReverieError, OSError):
        tell_of_locked_guards(cli)


def tell_of_locked_guards(cli: CliContext) -> None:
    """Write what hooks are to know of guards while an encrypted memory is locked."""
    from reverie.interfaces.hooks.warning_table import write_locked_guards

    with cli.open_mind(watched=False) as mind:
        write_locked_guards(mind.store, mind.settings, mind.context.now())


def refresh_tables(cli: CliContext, mind: Mind) -> None:
    """Have hooks know at once."""
    from reverie.interfaces.hooks.warning_table import refresh_warning_tables

    refresh_warning_tables(mind.store, mind.settings, cli.space, mind.context.now())
