"""Commands that write: remember, edit, tag, link, feedback."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.errors import BadInput, ReverieError
from reverie.core.kinds import KINDS
from reverie.core.model import MEMORY_RELATIONS, Memory
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, command

PANEL = "Keep and change"
LINES_PER_BATCH = 200  # lines of --each-line that are kept in one transaction
# of difflib's likeness: "negativ" and "fcat" are slips, "recipe" is a kind of one's own
MIN_LIKENESS = 0.75
TRIGGER_FORMS = {
    **dict.fromkeys(("command", "cmd", "bash", "shell"), "tool:Bash({})"),
    **dict.fromkeys(("regex", "regexp"), "re:{}"),
    "glob": "{}",
}  # what is written before a colon → what does it

MemoryId = Annotated[
    str,
    typer.Argument(
        metavar="ID", autocompletion=shell_completion.complete_ids, help="The memory's id, mem_…."
    ),
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (
        ("remember", remember_text),
        ("edit", edit_memory),
        ("tag", tag_memory),
        ("link", link_two_memories),
        ("feedback", give_feedback),
    ):
        command(app, name, panel=PANEL, spaced=name == "remember")(function)


def remember_text(
    desk: CliContext,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to keep; “-” or nothing reads it from stdin."),
    ] = None,
    *,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            autocompletion=shell_completion.complete_kinds,
            help="See: reverie kinds.",
        ),
    ] = "fact",
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            "-t",
            autocompletion=shell_completion.complete_tags,
            help="A tag; may be given several times.",
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="A short description, shown in hints.")] = "",
    file: Annotated[
        list[str] | None, typer.Option("--file", "-f", help="A file that it is about.")
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH[:SYMBOL]",
            help="Code of an indexed repository that it is about: followed, and told "
            "when it changes.",
        ),
    ] = None,
    trigger: Annotated[
        list[str] | None, typer.Option(help="A pattern that calls it up when it is met.")
    ] = None,
    at: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="When it happened: 2026-03-15, 2026-03-15T09:30, 3d (ago)."
        ),
    ] = "",
    expires: Annotated[
        str,
        typer.Option(metavar="WHEN", help="When it stops surfacing: a time, or 12h, 30d from now."),
    ] = "",
    session: Annotated[str, typer.Option(help="The conversation that it comes from.")] = "",
    speaker: Annotated[str, typer.Option(help="Who said it.")] = "",
    provenance: Annotated[
        str,
        typer.Option(
            help="Who says so: user_stated, user_corrected, observed, extracted, inferred."
        ),
    ] = "user_stated",
    each_line: Annotated[
        bool, typer.Option("--each-line", help="Every line of stdin is a memory of its own.")
    ] = False,
) -> None:
    """Keep something. Secrets are taken out first."""
    now = clock.now()
    item: dict[str, Any] = {
        "kind": kind,
        "tags": tag or (),
        "title": title,
        "files": file or (),
        "about": about or (),
        "triggers": trigger or (),
        "at": user_input.parse_time_ago(at, now),
        "expires_at": user_input.parse_time_ahead(expires, now),
        "session": session,
        "speaker": speaker,
        "provenance": provenance,
    }
    if each_line and text not in (None, [], ["-"]):
        raise BadInput("--each-line reads from stdin; leave the text out")
    words = "" if each_line else user_input.read_text_or_stdin(text)
    with desk.mind() as mind:
        kept = (
            remember_lines(mind, desk, item)
            if each_line
            else [mind.remember(words, space=desk.space, **item)]
        )
        hand_to_worker(desk, mind)
    print_remembered(desk, kept, each_line)
    note_likely_slips(kind, trigger or ())
    if not each_line and not trigger:
        note_triggers(kept[0])


def note_likely_slips(kind: str, triggers: Sequence[str]) -> None:
    """What was probably meant. It is kept as it was written: kinds and literals of one's own are
    welcome.
    """
    from difflib import get_close_matches

    if kind not in KINDS and (near := get_close_matches(kind, KINDS, 1, MIN_LIKENESS)):
        terminal_output.print_note(
            f"There is no kind {kind}; it is kept as one of your own. Did you mean --kind {near[0]}?"
        )
    for trigger in triggers:
        head, _, rest = trigger.strip().partition(":")
        if rest and head.lower() in TRIGGER_FORMS:
            meant = TRIGGER_FORMS[head.lower()].format(rest.strip())
            terminal_output.print_note(
                f"{head}: in a trigger is looked for as it is. Did you mean {meant}?"
            )


def note_triggers(memory: Memory) -> None:
    """What something forbidden was understood to be called up by, or how to say it."""
    from reverie.memory.memory_validation import DERIVED_TRIGGERS

    if memory.kind == "negative" and memory.details.get(DERIVED_TRIGGERS):
        terminal_output.print_note(f"It will warn before: {', '.join(memory.triggers)}")
    elif memory.kind == "negative" and not memory.triggers:
        terminal_output.print_note(
            "It will not warn before a tool runs: its text names nothing to watch for. "
            f'Say what to watch for: reverie edit {memory.id} --trigger "tool:Bash(git push*--force*)"'
        )


def remember_lines(mind: Mind, desk: CliContext, item: dict[str, Any]) -> list[Memory]:
    """Every line of stdin as a memory. What was read is kept, also when Ctrl-C ends the reading."""
    kept: list[Memory] = []
    batch: list[dict[str, Any]] = []

    def keep() -> None:
        kept.extend(mind.remember_many(batch, space=desk.space))
        batch.clear()
        desk.telling("keeping lines", len(kept), None)

    try:
        for line in user_input.read_stdin_lines():
            batch.append({"text": line, **item})
            if len(batch) == LINES_PER_BATCH:
                keep()
    except KeyboardInterrupt:
        keep()
        terminal_output.print_note(f"\n{len(kept)} lines were kept.")
        raise
    keep()
    if not kept:
        raise BadInput("There is nothing to remember: no line came from stdin")
    return kept


def print_remembered(desk: CliContext, kept: list[Memory], many: bool) -> None:
    """Say what was kept, and what was taken out of it."""
    redacted = sorted({kind for memory in kept for kind in memory.details.get("redacted", ())})
    if desk.json:
        terminal_output.print_json(
            {"memories": [terminal_output.memory_to_json(m) for m in kept], "redacted": redacted}
            if many
            else {"memory": terminal_output.memory_to_json(kept[0]), "redacted": redacted}
        )
    elif many:
        terminal_output.print_line(f"Kept {len(kept)} memories in {desk.space}.")
    else:
        terminal_output.print_line(f"Kept as {kept[0].id} in {desk.space} ({kept[0].kind}).")
    if redacted:
        terminal_output.print_note(f"Taken out before it was kept: {', '.join(redacted)}.")


def hand_to_worker(desk: CliContext, mind: Mind) -> None:
    """Let the detached worker settle it, if that needs no download; else it waits for whoever
    settles next.
    """
    from reverie.interfaces import worker

    with suppress(ReverieError, OSError):  # the memory is kept; vectors can wait
        worker.spawn_worker(desk.settings, mind.store)


def edit_memory(
    desk: CliContext,
    id: MemoryId,
    text: Annotated[str | None, typer.Option(help="The new text; “-” reads it from stdin.")] = None,
    title: Annotated[str | None, typer.Option(help="The new title.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", "-k", autocompletion=shell_completion.complete_kinds, help="The new kind."
        ),
    ] = None,
    trigger: Annotated[
        list[str] | None,
        typer.Option(help="A pattern that calls it up when it is met, instead of those it has."),
    ] = None,
) -> None:
    """Change a memory: in $EDITOR, or by options. What was there before stays in its history."""
    with desk.mind() as mind:
        old = require_memory(mind, id)
        fields: dict[str, Any] = {
            name: value for name, value in (("title", title), ("kind", kind)) if value is not None
        }
        if text is not None:
            fields["text"] = user_input.read_text_or_stdin([text])
        if trigger:
            fields["triggers"] = tuple(trigger)
        if not fields:
            fields = user_input.edit_fields(old)
        fields = {name: value for name, value in fields.items() if getattr(old, name) != value}
        new = mind.revise(id, **fields) if fields else old
        if "text" in fields:
            hand_to_worker(desk, mind)
    if desk.json:
        terminal_output.print_json(
            {"memory": terminal_output.memory_to_json(new), "changed": sorted(fields)}
        )
    else:
        terminal_output.print_line(
            f"Changed {', '.join(sorted(fields))} of {id}. Undo: reverie undo"
            if fields
            else "Nothing was changed."
        )
    if not {"text", "kind"}.isdisjoint(fields):
        note_triggers(new)
    if fields and (
        redacted := set(new.details.get("redacted", ())) - set(old.details.get("redacted", ()))
    ):
        terminal_output.print_note(f"Taken out before it was kept: {', '.join(sorted(redacted))}.")


def require_memory(mind: Mind, id: str) -> Memory:
    """The memory of that id; NotFound says that there is none."""
    return mind.explain(id).memory


def tag_memory(
    desk: CliContext,
    id: MemoryId,
    tags: Annotated[
        list[str],
        typer.Argument(
            metavar="TAG…",
            autocompletion=shell_completion.complete_tags,
            help="Tags to put on; -TAG after “--”, or --remove, takes off.",
        ),
    ] = [],  # noqa: B006
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove",
            "-r",
            autocompletion=shell_completion.complete_tags,
            help="A tag to take off.",
        ),
    ] = None,
) -> None:
    """Put tags on a memory and take tags off it."""
    off = [*(remove or ()), *(word[1:] for word in tags if word.startswith("-"))]
    on = [word for word in tags if not word.startswith("-")]
    with desk.mind() as mind:
        memory = mind.tag(id, add=on, remove=off)
    if desk.json:
        terminal_output.print_json({"memory": terminal_output.memory_to_json(memory)})
    else:
        terminal_output.print_line(f"{id}: {', '.join(f'#{t}' for t in memory.tags) or 'no tags'}")


def link_two_memories(
    desk: CliContext,
    src: MemoryId,
    dst: MemoryId,
    rel: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(MEMORY_RELATIONS)}.",
            autocompletion=lambda: list(MEMORY_RELATIONS),
        ),
    ] = "relates_to",
    weight: Annotated[
        float | None,
        typer.Option(help="How strongly, 0 to 1; 0 unties. None: 0.5, and stronger each time."),
    ] = None,
) -> None:
    """Tie two memories together, or say that one supersedes or contradicts the other."""
    with desk.mind() as mind:
        now = mind.link(src, dst, rel, weight)
    if desk.json:
        terminal_output.print_json({"src": src, "rel": rel, "dst": dst, "weight": now})
    else:
        terminal_output.print_line(
            f"{src} {rel.replace('_', ' ')} {dst} ({now:.2f})."
            if now
            else f"{src} and {dst} are untied."
        )


def give_feedback(
    desk: CliContext,
    id: MemoryId,
    helpful: Annotated[bool, typer.Option("--helpful/--unhelpful", help="Did it help?")] = True,
    session: Annotated[str, typer.Option(help="The conversation in which it did.")] = "",
) -> None:
    """Say whether a memory helped: use strengthens, rejection weakens, neither deletes."""
    with desk.mind() as mind:
        memory = mind.feedback(id, helpful, session=session)
    if desk.json:
        terminal_output.print_json({"memory": terminal_output.memory_to_json(memory)})
    else:
        terminal_output.print_line(
            f"{id} is now believed at {memory.confidence:.0%}, strength {memory.strength}."
        )
