"""Commands that write: remember, edit, tag, link, feedback."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.errors import BadInput, ReverieError
from reverie.core.kinds import KINDS
from reverie.core.model import BETWEEN, Memory
from reverie.interfaces.cli import shell_completion, terminal_output, user_input
from reverie.interfaces.cli.cli_context import Desk, command

PANEL = "Keep and change"
CHUNK = 200  # lines of --each-line that are kept in one transaction
# of difflib's likeness: "negativ" and "fcat" are slips, "recipe" is a kind of one's own
LIKE = 0.75
MEANT = {
    **dict.fromkeys(("command", "cmd", "bash", "shell"), "tool:Bash({})"),
    **dict.fromkeys(("regex", "regexp"), "re:{}"),
    "glob": "{}",
}  # what is written before a colon → what does it

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", autocompletion=shell_completion.ids, help="The memory's id, mem_…."
    ),
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (
        ("remember", remember),
        ("edit", edit),
        ("tag", tag),
        ("link", link),
        ("feedback", feedback),
    ):
        command(app, name, panel=PANEL, spaced=name == "remember")(function)


def remember(
    desk: Desk,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to keep; “-” or nothing reads it from stdin."),
    ] = None,
    *,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", "-k", autocompletion=shell_completion.kinds, help="See: reverie kinds."
        ),
    ] = "fact",
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            "-t",
            autocompletion=shell_completion.tags,
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
        "at": user_input.moment_before(at, now),
        "expires_at": user_input.moment_after(expires, now),
        "session": session,
        "speaker": speaker,
        "provenance": provenance,
    }
    if each_line and text not in (None, [], ["-"]):
        raise BadInput("--each-line reads from stdin; leave the text out")
    words = "" if each_line else user_input.given_or_stdin(text)
    with desk.mind() as mind:
        kept = (
            lines_kept(mind, desk, item)
            if each_line
            else [mind.remember(words, space=desk.space, **item)]
        )
        hand_over(desk, mind)
    answer_kept(desk, kept, each_line)
    note_slips(kind, trigger or ())
    if not each_line and not trigger:
        note_watched(kept[0])


def note_slips(kind: str, triggers: Sequence[str]) -> None:
    """What was probably meant. It is kept as it was written: kinds and literals of one's own are
    welcome.
    """
    from difflib import get_close_matches

    if kind not in KINDS and (near := get_close_matches(kind, KINDS, 1, LIKE)):
        terminal_output.note(
            f"There is no kind {kind}; it is kept as one of your own. Did you mean --kind {near[0]}?"
        )
    for trigger in triggers:
        head, _, rest = trigger.strip().partition(":")
        if rest and head.lower() in MEANT:
            meant = MEANT[head.lower()].format(rest.strip())
            terminal_output.note(
                f"{head}: in a trigger is looked for as it is. Did you mean {meant}?"
            )


def note_watched(memory: Memory) -> None:
    """What something forbidden was understood to be called up by, or how to say it."""
    from reverie.memory.memory_validation import DERIVED

    if memory.kind == "negative" and memory.details.get(DERIVED):
        terminal_output.note(f"It will warn before: {', '.join(memory.triggers)}")
    elif memory.kind == "negative" and not memory.triggers:
        terminal_output.note(
            "It will not warn before a tool runs: its text names nothing to watch for. "
            f'Say what to watch for: reverie edit {memory.id} --trigger "tool:Bash(git push*--force*)"'
        )


def lines_kept(mind: Mind, desk: Desk, item: dict[str, Any]) -> list[Memory]:
    """Every line of stdin as a memory. What was read is kept, also when Ctrl-C ends the reading."""
    kept: list[Memory] = []
    batch: list[dict[str, Any]] = []

    def keep() -> None:
        kept.extend(mind.remember_many(batch, space=desk.space))
        batch.clear()
        desk.telling("keeping lines", len(kept), None)

    try:
        for line in user_input.stdin_lines():
            batch.append({"text": line, **item})
            if len(batch) == CHUNK:
                keep()
    except KeyboardInterrupt:
        keep()
        terminal_output.note(f"\n{len(kept)} lines were kept.")
        raise
    keep()
    if not kept:
        raise BadInput("There is nothing to remember: no line came from stdin")
    return kept


def answer_kept(desk: Desk, kept: list[Memory], many: bool) -> None:
    """Say what was kept, and what was taken out of it."""
    redacted = sorted({kind for memory in kept for kind in memory.details.get("redacted", ())})
    if desk.json:
        terminal_output.document(
            {"memories": [terminal_output.as_json(m) for m in kept], "redacted": redacted}
            if many
            else {"memory": terminal_output.as_json(kept[0]), "redacted": redacted}
        )
    elif many:
        terminal_output.tell(f"Kept {len(kept)} memories in {desk.space}.")
    else:
        terminal_output.tell(f"Kept as {kept[0].id} in {desk.space} ({kept[0].kind}).")
    if redacted:
        terminal_output.note(f"Taken out before it was kept: {', '.join(redacted)}.")


def hand_over(desk: Desk, mind: Mind) -> None:
    """Let the detached worker settle it, if that needs no download; else it waits for whoever
    settles next.
    """
    from reverie.interfaces import worker

    with suppress(ReverieError, OSError):  # the memory is kept; vectors can wait
        worker.spawn(desk.settings, mind.store)


def edit(
    desk: Desk,
    id: Id,
    text: Annotated[str | None, typer.Option(help="The new text; “-” reads it from stdin.")] = None,
    title: Annotated[str | None, typer.Option(help="The new title.")] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", "-k", autocompletion=shell_completion.kinds, help="The new kind."),
    ] = None,
    trigger: Annotated[
        list[str] | None,
        typer.Option(help="A pattern that calls it up when it is met, instead of those it has."),
    ] = None,
) -> None:
    """Change a memory: in $EDITOR, or by options. What was there before stays in its history."""
    with desk.mind() as mind:
        old = found(mind, id)
        fields: dict[str, Any] = {
            name: value for name, value in (("title", title), ("kind", kind)) if value is not None
        }
        if text is not None:
            fields["text"] = user_input.given_or_stdin([text])
        if trigger:
            fields["triggers"] = tuple(trigger)
        if not fields:
            fields = user_input.edited(old)
        fields = {name: value for name, value in fields.items() if getattr(old, name) != value}
        new = mind.revise(id, **fields) if fields else old
        if "text" in fields:
            hand_over(desk, mind)
    if desk.json:
        terminal_output.document(
            {"memory": terminal_output.as_json(new), "changed": sorted(fields)}
        )
    else:
        terminal_output.tell(
            f"Changed {', '.join(sorted(fields))} of {id}. Undo: reverie undo"
            if fields
            else "Nothing was changed."
        )
    if not {"text", "kind"}.isdisjoint(fields):
        note_watched(new)
    if fields and (
        redacted := set(new.details.get("redacted", ())) - set(old.details.get("redacted", ()))
    ):
        terminal_output.note(f"Taken out before it was kept: {', '.join(sorted(redacted))}.")


def found(mind: Mind, id: str) -> Memory:
    """The memory of that id; NotFound says that there is none."""
    return mind.explain(id).memory


def tag(
    desk: Desk,
    id: Id,
    tags: Annotated[
        list[str],
        typer.Argument(
            metavar="TAG…",
            autocompletion=shell_completion.tags,
            help="Tags to put on; -TAG after “--”, or --remove, takes off.",
        ),
    ] = [],  # noqa: B006
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove", "-r", autocompletion=shell_completion.tags, help="A tag to take off."
        ),
    ] = None,
) -> None:
    """Put tags on a memory and take tags off it."""
    off = [*(remove or ()), *(word[1:] for word in tags if word.startswith("-"))]
    on = [word for word in tags if not word.startswith("-")]
    with desk.mind() as mind:
        memory = mind.tag(id, add=on, remove=off)
    if desk.json:
        terminal_output.document({"memory": terminal_output.as_json(memory)})
    else:
        terminal_output.tell(f"{id}: {', '.join(f'#{t}' for t in memory.tags) or 'no tags'}")


def link(
    desk: Desk,
    src: Id,
    dst: Id,
    rel: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(BETWEEN)}.", autocompletion=lambda: list(BETWEEN)),
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
        terminal_output.document({"src": src, "rel": rel, "dst": dst, "weight": now})
    else:
        terminal_output.tell(
            f"{src} {rel.replace('_', ' ')} {dst} ({now:.2f})."
            if now
            else f"{src} and {dst} are untied."
        )


def feedback(
    desk: Desk,
    id: Id,
    helpful: Annotated[bool, typer.Option("--helpful/--unhelpful", help="Did it help?")] = True,
    session: Annotated[str, typer.Option(help="The conversation in which it did.")] = "",
) -> None:
    """Say whether a memory helped: use strengthens, rejection weakens, neither deletes."""
    with desk.mind() as mind:
        memory = mind.feedback(id, helpful, session=session)
    if desk.json:
        terminal_output.document({"memory": terminal_output.as_json(memory)})
    else:
        terminal_output.tell(
            f"{id} is now believed at {memory.confidence:.0%}, strength {memory.strength}."
        )
