"""Commands that write: remember, edit, tag, link, feedback."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.errors import BadInput, Conflict, NotFound, ReverieError
from reverie.core.kinds import NEGATIVE
from reverie.core.model import Memory
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import (
    CliContext,
    CommandTable,
    MemoryId,
    NewTags,
    Triggers,
)
from reverie.interfaces.cli.shell_completion import complete_ids, complete_kinds
from reverie.interfaces.cli.terminal_output import (
    memory_to_json,
    print_json,
    print_line,
    print_note,
)
from reverie.interfaces.cli.text_editor import SEPARATOR, edit_fields, parse_edited_page
from reverie.interfaces.cli.user_input import (
    parse_time_ago,
    parse_time_ahead,
    read_stdin_lines,
    read_text_or_stdin,
)
from reverie.interfaces.kind_check import require_new_kind
from reverie.memory.short_ids import shorten_id

commands = CommandTable()
# Lines of --each-line that are kept in one transaction.
LINES_PER_BATCH = 200
# Verbs of events that `undo` does not list: a working note, and that a memory was read.
NO_CHANGES = ("hold", "retrieve")
# What is written for an end of a memory's validity that there is not.
ALWAYS = "always"
TRIGGER_FORMS = {
    **dict.fromkeys(("command", "cmd", "bash", "shell"), "tool:Bash({})"),
    **dict.fromkeys(("regex", "regexp"), "re:{}"),
    "glob": "{}",
}  # what is written before a colon → what does it


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """What is told of a memory, besides its text."""

    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            autocompletion=complete_kinds,
            help="See: reverie memory kinds. Without it what the words say; as a rule fact.",
        ),
    ] = ""
    tag: NewTags = None
    title: Annotated[str, "A short description, shown in hints."] = ""
    file: Annotated[
        list[str] | None, typer.Option("--file", "-f", help="A file that it is about.")
    ] = None
    about: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH[:SYMBOL]",
            help="Code of an indexed repository that it is about: followed, and told "
            "when it changes.",
        ),
    ] = None
    trigger: Triggers = None
    at: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="When it happened: 2026-03-15, 2026-03-15T09:30, 3d (ago)."
        ),
    ] = ""
    expires: Annotated[
        str,
        typer.Option(metavar="WHEN", help="When it stops surfacing: a time, or 12h, 30d from now."),
    ] = ""
    valid_from: Annotated[
        str, typer.Option(metavar="WHEN", help="From when it is true: a time, or 3d (ago).")
    ] = ""
    valid_to: Annotated[
        str,
        typer.Option(metavar="WHEN", help="Until when it is true: a time, or 12h, 30d from now."),
    ] = ""
    session: Annotated[str, "The conversation that it comes from."] = ""
    speaker: Annotated[str, "Who said it."] = ""
    provenance: Annotated[
        str,
        "Who says so: user_stated, user_corrected, observed, extracted, inferred.",
    ] = "user_stated"

    def to_fields(self, now: float) -> dict[str, Any]:
        """The same as `Mind.remember` names it."""
        return {
            "kind": self.kind,
            "tags": self.tag or (),
            "title": self.title,
            "files": self.file or (),
            "about": self.about or (),
            "triggers": self.trigger or (),
            "at": parse_time_ago(self.at, now),
            "expires_at": parse_time_ahead(self.expires, now),
            "valid_from": parse_time_ago(self.valid_from, now, "--valid-from"),
            "valid_to": parse_time_ahead(self.valid_to, now, "--valid-to"),
            "session": self.session,
            "speaker": self.speaker,
            "provenance": self.provenance,
        }


@commands.add("remember")
def remember_text(
    cli: CliContext,
    text: Annotated[
        list[str] | None,
        "TEXT",
        "What to keep; “-” or nothing reads it from stdin.",
    ] = None,
    *,
    options: MemoryOptions,
    each_line: Annotated[bool, "Every line of stdin is a memory of its own."] = False,
) -> None:
    """Keep something. Secrets are taken out first."""
    from reverie.extraction.stated_kind import find_stated_kind, find_stated_space

    item = options.to_fields(clock.now())
    if each_line and text not in (None, [], ["-"]):
        raise BadInput("--each-line reads from stdin; leave the text out")
    words = "" if each_line else read_text_or_stdin(text)
    with cli.open_mind() as mind:
        require_new_kind(mind, options.kind, cli.space)
        if each_line:
            kept = remember_lines(mind, cli, item)
        else:
            item["kind"] = options.kind or find_stated_kind(words)
            # A space that is named is meant.
            space = cli.space if cli.named_space else find_stated_space(words, cli.space)
            kept = [mind.remember(words, space=space, **item)]
        hand_to_worker(cli, mind)
    print_remembered(cli, kept, each_line)
    note_likely_slips(options.trigger or ())
    if not each_line and not options.trigger:
        note_triggers(kept[0], cli.settings.guards)


def note_likely_slips(triggers: Sequence[str]) -> None:
    """What was probably meant. It is kept as it was written."""
    for trigger in triggers:
        head, _, rest = trigger.strip().partition(":")
        if rest and head.lower() in TRIGGER_FORMS:
            meant = TRIGGER_FORMS[head.lower()].format(rest.strip())
            print_note(f"{head}: in a trigger is looked for as it is. Did you mean {meant}?")


def note_triggers(memory: Memory, guards: str) -> None:
    """What happens when a tool is about to do something forbidden, or how to say what it is."""
    from reverie.core.forbidden_calls import stopping_triggers
    from reverie.memory.guards import DOES, decide_guard
    from reverie.memory.memory_validation import DERIVED_TRIGGERS

    if memory.kind == NEGATIVE and memory.details.get(DERIVED_TRIGGERS):
        watched = ", ".join(stopping_triggers(memory.triggers))
        print_note(f"Before a tool does it, {DOES[decide_guard(memory, guards)]}: {watched}")
    elif memory.kind == NEGATIVE and not memory.triggers:
        print_note(
            "Nothing happens before a tool does it: the text names nothing to watch for. "
            f'Say what to watch for: reverie edit {shorten_id(memory.id)} --trigger "tool:Bash(git '
            'push*--force*)"'
        )


def remember_lines(
    mind: Mind,
    cli: CliContext,
    item: dict[str, Any],
) -> list[Memory]:
    """Every line of stdin as a memory. What was read is kept, also when Ctrl-C ends the reading."""
    from reverie.extraction.stated_kind import find_stated_kind

    kept: list[Memory] = []
    batch: list[dict[str, Any]] = []

    def keep() -> None:
        kept.extend(mind.remember_many(batch, space=cli.space))
        batch.clear()
        cli.progress("keeping lines", len(kept), None)

    try:
        for line in read_stdin_lines():
            kind = item["kind"] or find_stated_kind(line)
            batch.append({"text": line, **item, "kind": kind})
            if len(batch) == LINES_PER_BATCH:
                keep()
    # Ctrl-C ends `tail -f log | reverie remember --each-line`: what came so far is kept.
    except KeyboardInterrupt:
        keep()
        print_note(f"\n{len(kept)} lines were kept.")
        raise
    keep()
    if not kept:
        raise BadInput("There is nothing to remember: no line came from stdin")
    return kept


def print_remembered(
    cli: CliContext,
    kept: list[Memory],
    many: bool,
) -> None:
    """Say what was kept, and what was taken out of it."""
    redacted = sorted({kind for memory in kept for kind in memory.details.get("redacted", ())})
    values = {"memories": kept} if many else {"memory": kept[0]}
    cli.answer(
        {**values, "redacted": redacted},
        f"Kept {len(kept)} memories in {cli.space}."
        if many
        else f"Kept as {shorten_id(kept[0].id)} in {kept[0].space} ({kept[0].kind}).",
    )
    if redacted:
        print_note(f"Taken out before it was kept: {', '.join(redacted)}.")


def hand_to_worker(cli: CliContext, mind: Mind) -> None:
    """Let the detached worker settle it, if that needs no download; else it waits for whoever
    settles next.
    """
    from reverie.interfaces import worker

    with suppress(ReverieError, OSError):  # the memory is kept; vectors can wait
        worker.spawn_worker(cli.settings, mind.store)


@dataclass(frozen=True, slots=True)
class EditOptions:
    """What may be said anew of a memory, besides its text."""

    title: Annotated[str | None, typer.Option(help="The new title.")] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            "-k",
            autocompletion=complete_kinds,
            help="The new kind.",
        ),
    ] = None
    trigger: Annotated[
        list[str] | None,
        typer.Option(help="What brings it up, instead of what it has."),
    ] = None
    valid_from: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="From when it is true: a time, 3d (ago), or always."),
    ] = None
    valid_to: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Until when it is true: a time, 30d from now, always."),
    ] = None

    def to_fields(self, now: float) -> dict[str, Any]:
        """What was given, as `Mind.revise` names it; "always" takes an end of its validity away."""
        options = {"title": self.title, "kind": self.kind}
        fields: dict[str, Any] = {
            name: value for name, value in options.items() if value is not None
        }
        if self.trigger:
            fields["triggers"] = tuple(self.trigger)
        if self.valid_from is not None:
            start = self.valid_from.strip().removeprefix(ALWAYS)
            fields["valid_from"] = parse_time_ago(start, now, "--valid-from")
        if self.valid_to is not None:
            end = self.valid_to.strip().removeprefix(ALWAYS)
            fields["valid_to"] = parse_time_ahead(end, now, "--valid-to")
        return fields


@commands.add("edit", spaced=False)
def edit_memory(
    cli: CliContext,
    id: MemoryId,
    text: Annotated[str | None, typer.Option(help="The new text; “-” reads it from stdin.")] = None,
    *,
    options: EditOptions,
) -> None:
    """Change a memory, in $EDITOR or by options.

    What was there before stays in its history.
    """
    fields = options.to_fields(clock.now())
    if text is not None:
        given = read_text_or_stdin([text])
        # A page that an interrupted editor left has the other fields too.
        fields |= parse_edited_page(given) if SEPARATOR in given else {"text": given}
    if fields:
        change_memory(cli, id, fields)
        return
    with cli.open_mind() as mind:
        old = require_memory(mind, id)
    with edit_fields(old) as fields:
        change_memory(cli, id, fields, old)


def change_memory(
    cli: CliContext,
    id: str,
    fields: dict[str, Any],
    seen: Memory | None = None,
) -> None:
    """Change what differs, and say so; Conflict if somebody else has changed what was `seen`."""
    with cli.open_mind() as mind:
        old = require_memory(mind, id)
        fields = {name: value for name, value in fields.items() if getattr(old, name) != value}
        if seen and any(getattr(old, name) != getattr(seen, name) for name in fields):
            raise Conflict(f"{shorten_id(id)} was changed by somebody else while you edited it")
        require_new_kind(mind, fields.get("kind", ""), old.space)
        new = mind.revise(id, **fields) if fields else old
        if "text" in fields:
            hand_to_worker(cli, mind)
    if cli.as_json:
        print_json({"memory": memory_to_json(new), "changed": sorted(fields)})
    elif fields:
        print_line(f"Changed {', '.join(sorted(fields))} of {shorten_id(id)}. Undo: reverie undo")
    else:
        print_line("Nothing was changed.")
    if not {"text", "kind"}.isdisjoint(fields):
        note_triggers(new, cli.settings.guards)
    before, after = (set(memory.details.get("redacted", ())) for memory in (old, new))
    redacted = after - before
    if redacted:
        print_note(f"Taken out before it was kept: {', '.join(sorted(redacted))}.")


def require_memory(mind: Mind, id: str) -> Memory:
    """The memory of that id; NotFound says that there is none."""
    return mind.explain(id).memory


MemoryIds = Annotated[
    list[str],
    typer.Argument(
        metavar="ID…",
        autocompletion=complete_ids,
        help="Ids of memories.",
    ),
]


@commands.add("forget", spaced=False)
def forget_memories(
    cli: CliContext,
    ids: MemoryIds,
    why: Annotated[str, "Why, for its history."] = "forgotten",
) -> None:
    """Forget memories. They can be brought back."""
    with cli.open_mind() as mind:
        count = mind.forget(ids, why)
        hand_to_worker(cli, mind)
    cli.answer(
        {"forgotten": count, "ids": ids},
        f"Forgot {count}. Bring back with: reverie memory restore {' '.join(map(shorten_id, ids))}"
        if count
        else "They were forgotten already; nothing was changed.",
    )


@commands.add("undo", spaced=False)
def undo_event(
    cli: CliContext,
    event: Annotated[
        int | None,
        "EVENT",
        "The event's number; none lists the last ones.",
    ] = None,
    asleep: Annotated[
        bool,
        typer.Option("--sleep", help="A whole run of sleep: that of this number, or the last one."),
    ] = False,
    force: Annotated[bool, "Even if something was changed since."] = False,
) -> None:
    """Take back what an event changed.

    Without a number, list what can be taken back.
    """
    with cli.open_mind() as mind:
        if asleep:
            event = require_sleep_run(mind, event)
        if event is not None:
            seq = mind.undo(event, force=force)
            hand_to_worker(cli, mind)
            cli.answer(
                {"undone": event, "event": seq},
                f"Took back event {event}. That is event {seq}, which can be undone too."
                if mind.store.changes_of(seq)
                else f"Took back run {event} of sleep.",
            )
            return
        listed = list_undoable_events(mind)
    cli.answer(
        {
            "events": [
                {
                    "event": one.seq,
                    "verb": one.verb,
                    "at": one.at,
                    "ids": ids,
                }
                for one, ids, _ in listed
            ]
        },
        memory_view.render_undoable(listed, clock.now()),
        "Nothing has been changed yet.",
    )


def require_sleep_run(mind: Mind, event: int | None) -> int:
    """The run of sleep that an event belongs to; without one the last run that is not
    taken back.
    """
    from reverie.consolidation.undo_sleep import find_last_run, find_run_of_event

    if event is not None:
        if not (run := find_run_of_event(mind.store, event)):
            raise NotFound(
                f"Event {event} is not a run of sleep. "
                "reverie activity log --verb sleeping lists the runs"
            )
        return run
    if not (run := find_last_run(mind.store)):
        raise NotFound(
            "There is no run of sleep to take back: none has been made, or all are taken back"
        )
    return run


def list_undoable_events(
    mind: Mind,
    most: int = 12,
) -> list[tuple[Any, list[str], str]]:
    """The last events that changed memories: (event, ids, what the first one says)."""
    listed: list[tuple[Any, list[str], str]] = []
    for event in mind.store.events(newest=True, limit=400):
        if event.verb not in NO_CHANGES and (records := mind.store.changes_of(event.seq)):
            ids = list(dict.fromkeys(record.memory_id for record in records))
            memories = mind.get(ids[:1])
            listed.append((event, ids, memories[0].text if memories else ""))
        if len(listed) == most:
            break
    return listed
