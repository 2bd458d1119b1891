"""Guards: what stops a tool, what is told before it, and trying a command against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.core import config
from reverie.interfaces.hooks.spool import MAX_ALLOWANCE_SECONDS, HookFiles
from reverie.interfaces.hooks.warning_table import refresh_warning_tables
from reverie.interfaces.web.page import Action, Done, Page, View, WebRequest, last_change
from reverie.memory.guards import ASK, DECISIONS, DENY, DOES, TELL, may_stop
from reverie.memory.short_ids import expand_id
from reverie.runtime.mind.guard_verbs import Guard

DEFAULT = "default"
TOOLS = ("Bash", "Edit", "Write", "Read", "WebFetch")
PER_PAGE = 50


class ShownGuard(NamedTuple):
    """A guard, and whether it may stop anything."""

    guard: Guard
    may_stop: bool
    is_chosen: bool  # somebody chose for it alone what it does


class GuardPage(NamedTuple):
    """All guards, and what a call would meet."""

    guards: Sequence[ShownGuard]
    total: int
    default: str
    tool: str
    command: str
    outcome: str  # ask, deny, tell; empty: it runs
    met: Sequence[Guard]
    does: Mapping[str, str] = DOES
    decisions: Sequence[str] = DECISIONS
    tools: Sequence[str] = TOOLS


def show_guards(mind: Mind, asked: WebRequest) -> GuardPage:
    """The guards of a space, and the answer to a try."""
    found = mind.guards.browse(space=asked.space)
    limit = asked.number("limit", PER_PAGE)
    tool, command = asked.text("tool") or TOOLS[0], asked.text("command")
    met: Sequence[Guard] = ()
    if command:
        root = str(config.find_work_tree(config.working_directory()))
        name = "command" if tool == TOOLS[0] else "url" if tool == "WebFetch" else "file_path"
        met = mind.guards.check(tool, {name: command}, space=asked.space, root=root)
    decisions = {guard.decision for guard in met}
    outcome = next((one for one in (DENY, ASK, TELL) if one in decisions), "")
    shown = [
        ShownGuard(guard, may_stop(guard.memory), "guard" in guard.memory.details)
        for guard in found[:limit]
    ]
    return GuardPage(shown, len(found), mind.settings.guards, tool, command, outcome, met)


def set_decision(mind: Mind, asked: WebRequest) -> Done:
    """Have one guard ask, deny, tell, or stay off."""
    id, decision = expand_id(mind.store, asked.path["id"]), asked.text("decision")
    mind.guards.set(id, decision)
    tell_hooks(mind, asked)
    said = DOES.get(decision, "as all others do")
    return Done(f"From now on: {said}.", last_change(mind, id), details={"id": id})


def set_default(mind: Mind, asked: WebRequest) -> Done:
    """What guards do for which nothing else was chosen."""
    before, decision = mind.settings.guards, asked.text("decision")
    mind.guards.set_default(decision)
    tell_hooks(mind, asked)
    said = f"Before what you forbade: {DOES[decision]}. Until now: {DOES[before]}."
    if before == decision:
        return Done(said)
    return Done(said, back_path=asked.path_here, back_fields={"decision": before})


def allow_once(mind: Mind, asked: WebRequest) -> Done:
    """Let what a guard stops happen once, or take that back."""
    id = expand_id(mind.store, asked.path["id"])
    memory = mind.explain(id).memory
    files = HookFiles(str(mind.settings.home))
    if asked.text("back_again"):
        was_open = files.take_allowance(memory.id, asked.now)
        return Done("No longer allowed." if was_open else "It was used already, or is over.")
    files.add_allowance(memory.id)
    said = f"Allowed once within {int(MAX_ALLOWANCE_SECONDS // 60)} minutes."
    return Done(said, back_path=asked.path_here, back_fields={"back_again": "yes"})


def forbid(mind: Mind, asked: WebRequest) -> Done:
    """A new prohibition, in the words of whoever sits there."""
    triggers = [line for line in asked.text("triggers").splitlines() if line.strip()]
    memory = mind.remember(
        asked.text("text"),
        space=asked.space,
        kind="negative",
        provenance="user_stated",
        triggers=triggers,
    )
    tell_hooks(mind, asked)
    met = ", ".join(memory.triggers)
    said = f"Forbidden, before: {met}." if met else "Kept, but nothing calls it up: give a trigger."
    return Done(said, last_change(mind, memory.id), details={"id": memory.id})


def tell_hooks(mind: Mind, asked: WebRequest) -> None:
    """Have hooks know at once."""
    refresh_warning_tables(mind.store, mind.settings, asked.space, asked.now)


PAGE = Page(
    "guards",
    "Guards",
    (
        View("/guards", show_guards, "guards.html"),
        Action("/guards/default", set_default),
        Action("/guards/new", forbid),
        Action("/guards/{id}/set", set_decision),
        Action("/guards/{id}/allow", allow_once),
    ),
    place=8,
    key="d",
)
