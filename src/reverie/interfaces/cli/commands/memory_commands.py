"""The group `memory`: tags, links, feedback, feelings; a memory's neighbours and its history."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import Hit, Memory
from reverie.core import clock, config
from reverie.core.code_anchors import outdated_notice
from reverie.core.doubt import describe_doubt
from reverie.core.errors import BadInput, NotFound
from reverie.core.kinds import KINDS, MATURITIES, maturity_of
from reverie.core.model import MEMORY_RELATIONS, Record
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import (
    CliContext,
    CommandTable,
    Limit,
    MemoryId,
    OptionalMemoryId,
)
from reverie.interfaces.cli.commands.remember_commands import (
    MemoryIds,
    hand_to_worker,
    require_memory,
)
from reverie.interfaces.cli.commands.search_commands import (
    Depth,
    Tags,
    choose_search_mode,
    describe_nothing_found,
    print_memories,
)
from reverie.interfaces.cli.shell_completion import (
    complete_forgotten_ids,
    complete_ids,
    complete_tags,
)
from reverie.interfaces.cli.terminal_output import (
    one_line,
)
from reverie.interfaces.cli.user_input import (
    parse_time_ahead,
)
from reverie.memory.feelings import INTENSITIES
from reverie.memory.short_ids import shorten_id

commands = CommandTable()


@commands.add("tag", spaced=False)
def tag_memory(
    cli: CliContext,
    id: MemoryId,
    tags: Annotated[
        list[str],
        typer.Argument(
            metavar="TAG…",
            autocompletion=complete_tags,
            help="Tags to put on; -TAG after “--”, or --remove, takes off.",
        ),
    ] = [],  # noqa: B006
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove",
            "-r",
            autocompletion=complete_tags,
            help="A tag to take off.",
        ),
    ] = None,
) -> None:
    """Put tags on a memory and take tags off it."""
    off = [*(remove or ()), *(word[1:] for word in tags if word.startswith("-"))]
    on = [word for word in tags if not word.startswith("-")]
    with cli.open_mind() as mind:
        memory = mind.tag(
            id,
            add=on,
            remove=off,
        )
    cli.answer(
        {"memory": memory},
        f"{shorten_id(id)}: {', '.join(f'#{t}' for t in memory.tags) or 'no tags'}",
    )


@commands.add("move")
def move_memories(cli: CliContext, ids: MemoryIds) -> None:
    """Put memories into another space, by --space.

    --space me is all your projects. All of them move, or none if one is unknown. `reverie undo`
    lists what can be taken back.
    """
    if not cli.named_space:
        raise BadInput("Say where to: --space me for all your projects, or --space me/PROJECT")
    with cli.open_mind() as mind:
        here = [require_memory(mind, id) for id in ids]
        moved = [
            memory if memory.space == cli.space else mind.revise(memory.id, space=cli.space)
            for memory in here
        ]
        hand_to_worker(cli, mind)
    cli.answer(
        {"memories": moved},
        (
            f"{shorten_id(old.id)} was in {cli.space} already."
            if old.space == cli.space
            else f"Moved {shorten_id(old.id)} from {old.space} to {cli.space}."
            for old in here
        ),
    )


@commands.add("link", spaced=False)
def link_two_memories(
    cli: CliContext,
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
        "How strongly, 0 to 1; 0 removes the link. None: 0.5, and stronger each time.",
    ] = None,
) -> None:
    """Link two memories.

    Or say that one supersedes or contradicts the other.
    """
    with cli.open_mind() as mind:
        now = mind.link(src, dst, rel, weight)
    cli.answer(
        {
            "src": src,
            "rel": rel,
            "dst": dst,
            "weight": now,
        },
        f"{src} {rel.replace('_', ' ')} {dst} ({now:.2f})."
        if now
        else f"{src} and {dst} are no longer linked.",
    )


@commands.add("feedback", spaced=False)
def give_feedback(
    cli: CliContext,
    id: MemoryId,
    helpful: Annotated[bool, typer.Option("--helpful/--unhelpful", help="Did it help?")] = True,
    session: Annotated[str, "The conversation in which it did."] = "",
) -> None:
    """Say whether a memory helped.

    Use strengthens, rejection weakens, neither deletes.
    """
    with cli.open_mind() as mind:
        memory = mind.feedback(id, helpful, session=session)
    cli.answer(
        {"memory": memory},
        f"{shorten_id(id)} is now believed at {memory.confidence:.0%}, strength {memory.strength}.",
    )


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
    cli.answer(
        {"memories": back},
        (
            f"{shorten_id(memory.id)} was not forgotten."
            if before[memory.id].active
            else f"Restored {shorten_id(memory.id)}: {one_line(memory.text, 60)}"
            for memory in back
        ),
    )


@commands.add("curate")
def curate_or_list(
    cli: CliContext,
    id: OptionalMemoryId = None,
    state: Annotated[
        str,
        typer.Option(
            "--as",
            help=f"One of {', '.join(MATURITIES)}.",
            autocompletion=lambda: list(MATURITIES),
        ),
    ] = "validated",
    by: Annotated[str, "Who says so."] = "user",
    note: Annotated[str, "Why."] = "",
    limit: Limit = 20,
) -> None:
    """Approve a memory, pass it on, or put it away.

    It is passed on to a person. Without an id, list what waits for a look.
    """
    with cli.open_mind() as mind:
        if id:
            memory = mind.review.curate(
                id,
                state,
                by=by,
                note=note,
            )
            cli.answer({"memory": memory}, f"{shorten_id(id)} is {state}.")
            return
        waiting = mind.review.pending(space=cli.space, limit=limit)
    view = map(describe_waiting, waiting)
    cli.answer({"memories": waiting}, view if waiting else "Nothing waits for approval.")


def describe_waiting(memory: Memory) -> str:
    """What waits for a look, and how it stands."""
    standing = (maturity_of(memory), memory.provenance, *list_origin_notes(memory))
    why = outdated_notice(memory) or describe_doubt(memory) or ", ".join(standing)
    return f"{shorten_id(memory.id)}  {why}: {one_line(memory.text, 100)}"


def list_origin_notes(memory: Memory) -> list[str]:
    """Where what others wrote comes from, and why somebody should look first."""
    return [
        str(memory.details[name]) for name in ("heard_from", "planted") if name in memory.details
    ]


@commands.add("promote", spaced=False)
def promote_to_page(
    cli: CliContext,
    id: MemoryId,
    file: Annotated[Path, "FILE", "The new page, such as docs/decisions/cache.md."],
    by: Annotated[str, "Who says so."] = "user",
    note: Annotated[str, "Why."] = "",
) -> None:
    """Make a lasting page of Markdown of a memory.

    The page says what it says and where it comes from.
    """
    with cli.open_mind() as mind:
        memory = mind.review.promote(
            id,
            config.working_directory() / file.expanduser(),
            by=by,
            note=note,
        )
    cli.answer(
        {"memory": memory},
        f"Written: {memory.details['reference']}. {shorten_id(id)} is approved and names it.",
    )


@commands.add("hints")
def list_hints(
    cli: CliContext,
    prompt: Annotated[list[str], "PROMPT", "What is to be done."],
    limit: Limit = 5,
    session: Annotated[str, "The conversation: what was hinted in it before is left out."] = "",
) -> None:
    """Titles and ids of what may be worth reading.

    Give the prompt; `reverie memory retrieve ID` reads what is hinted.
    """
    text = " ".join(prompt)
    if not text.strip():
        raise BadInput("The prompt is empty: say what is to be done")
    with cli.open_mind() as mind:
        if choose_search_mode(cli, mind, text, "auto")[0] == "words":
            mind.context.embedder = None
        found = mind.hints(
            text,
            space=cli.space,
            limit=limit,
            session=session,
        )
    cli.answer(
        {"space": cli.space, "hints": found},
        memory_view.render_hint_list(found),
        describe_nothing_found(cli),
    )


@commands.add("retrieve")
def retrieve_memories(
    cli: CliContext,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID…",
            autocompletion=complete_ids,
            help="Ids, as hints name them.",
        ),
    ] = None,
    tag: Tags = None,
    limit: Limit = 3,
) -> None:
    """Read memories by ids or by tags; each counts as used."""
    with cli.open_mind() as mind:
        if unknown := {*(ids or ())} - {memory.id for memory in mind.get(ids or ())}:
            raise NotFound(f"There is no memory with the id {', '.join(sorted(unknown))}")
        found = mind.retrieve(
            ids or (),
            tags=tag or (),
            limit=limit,
            space=cli.space,
        )
    cli.answer(
        {
            "memories": found.memories,
            "matched": found.matched,
            "truncated": found.truncated,
        },
        (
            part
            for one in found.memories
            for part in memory_view.render_memory(
                one,
                clock.now(),
            )
        ),
        describe_nothing_found(cli),
    )
    if found.memories and found.truncated:
        cli.note(
            f"{found.matched:,} carry one of these tags; more of them: --limit {found.matched}"
        )


@commands.add("tags")
def list_tags(
    cli: CliContext,
    describe: Annotated[
        tuple[str, str],
        typer.Option(metavar="TAG TEXT", help="Say what a tag means; an empty text takes it back."),
    ] = ("", ""),
) -> None:
    """List the tags in use here.

    With what they mean where somebody said it.
    """
    with cli.open_mind() as mind:
        if any(describe):
            mind.describe(*describe, space=cli.space)
        found, meanings = mind.tags(cli.space), mind.meanings(cli.space)
    counts = {tag: found.get(tag, 0) for tag in {**found, **meanings}}
    said = (f"#{name}: {text}" for name, text in meanings.items())
    cli.answer(
        {
            "space": cli.space,
            "tags": found,
            "meanings": meanings,
        },
        chain(memory_view.render_counts(counts, "tags"), said) if counts else (),
        f"No tags in {cli.space}.",
    )


@commands.add("clusters")
def list_clusters(
    cli: CliContext,
    limit: Limit = 20,
    members: Annotated[int, typer.Option(min=0, help="Members of each to show.")] = 3,
) -> None:
    """List the groups that sleep found here.

    With how many memories are in each, and those nearest to its centre.
    """
    with cli.open_mind() as mind:
        found = mind.clusters(cli.space, members=members)[:limit]
    cli.answer(
        {"space": cli.space, "clusters": found},
        memory_view.render_clusters(found),
        f"No clusters in {cli.space}: `reverie sleep` finds them where five memories lie close.",
    )


@commands.add("gaps")
def list_gaps(cli: CliContext, limit: Limit = 20) -> None:
    """Questions that memory could not answer.

    Those asked here: what is worth remembering.
    """
    with cli.open_mind() as mind:
        found = mind.review.gaps(cli.space)[:limit]
    cli.answer(
        {"space": cli.space, "gaps": found},
        memory_view.render_gaps(found, clock.now()),
        f"No question in {cli.space} went unanswered.",
    )


@commands.add("history", spaced=False)
def show_history(cli: CliContext, id: MemoryId) -> None:
    """What was done to a memory, with what was there before."""
    with cli.open_mind() as mind:
        found = mind.history(id)
    cli.answer(
        {"id": id, "history": map(record_to_json, found)},
        memory_view.render_records(found),
    )


def record_to_json(record: Record) -> dict[str, object]:
    """A change of a memory as JSON values."""
    event = record.event
    return {
        "event": event.seq,
        "verb": event.verb,
        "at": event.at,
        "op": record.op,
        "before": fields_to_json(record.before),
        "after": fields_to_json(record.after),
    }


def fields_to_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a memory as a change has them: each reinforcement is a list there."""
    said = {"reinforcements": map(list, fields.get("reinforcements", ()))}
    return {name: said.get(name, value) for name, value in fields.items()}


@commands.add("similar", spaced=False)
def list_similar(
    cli: CliContext,
    id: MemoryId,
    limit: Limit = 10,
) -> None:
    """Find memories like this one.

    By meaning, and by the tags, clusters and links that they share.
    """
    with cli.open_mind() as mind:
        print_hits(cli, id, mind.similar(id, limit=limit), "Nothing is like it.")


@commands.add("graph", spaced=False)
def list_neighbours(
    cli: CliContext,
    id: MemoryId,
    limit: Limit = 20,
    depth: Depth = None,
) -> None:
    """Show what a memory is linked to, nearest first.

    By links, tags and clusters.
    """
    with cli.open_mind() as mind:
        print_hits(
            cli,
            id,
            mind.neighbours(
                id,
                depth=depth,
                limit=limit,
            ),
            "It is linked to nothing.",
        )


def print_hits(
    cli: CliContext,
    id: str,
    found: list[Hit],
    none: str,
) -> None:
    """Show what stands beside a memory."""
    cli.answer(
        {"id": id, "hits": found},
        memory_view.render_hits(found, clock.now(), ""),
        none,
    )


@commands.add("kinds", spaced=False)
def list_kinds(cli: CliContext) -> None:
    """List the kinds of memory and how they fade."""
    # JSON has no infinity: what never fades has no half-life.
    half_lives = {
        name: kind.half_life if kind.half_life < 1e9 else None for name, kind in KINDS.items()
    }
    rows = [{**kind._asdict(), "half_life": half_lives[name]} for name, kind in KINDS.items()]
    cli.answer(
        {"kinds": rows},
        memory_view.render_kinds(list(KINDS.values())),
    )


@commands.add("feel")
def record_feeling(
    cli: CliContext,
    emotion: Annotated[str, typer.Argument(help="In a word: joy, relief, frustration, ….")],
    intensity: Annotated[
        str, typer.Option(help="low, medium or high.", autocompletion=lambda: list(INTENSITIES))
    ] = "medium",
    about: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            autocompletion=complete_ids,
            help="The memory that is felt so.",
        ),
    ] = None,
    why: Annotated[str, "Why, in a few words."] = "",
) -> None:
    """Note how something felt, on a memory or by itself."""
    with cli.open_mind() as mind:
        kept = mind.feelings.record(
            emotion,
            intensity,
            about=about,
            why=why,
            space=cli.space,
        )
    cli.answer({"memory": kept}, f"{kept.id}: {emotion} ({intensity}).")


@commands.add("feelings")
def list_feelings(
    cli: CliContext,
    minimum: Annotated[
        str, typer.Option(help="At least so strong.", autocompletion=lambda: list(INTENSITIES))
    ] = "low",
    emotion: Annotated[str, "Only this one."] = "",
    limit: Limit = 20,
) -> None:
    """List memories that carry a feeling, newest first."""
    with cli.open_mind() as mind:
        found = mind.feelings.browse(
            minimum=minimum,
            emotion=emotion,
            space=cli.space,
            limit=limit,
        )
    print_memories(cli, found, f"No such feeling in {cli.space}.")


@commands.add("season")
def set_season(
    cli: CliContext,
    label: Annotated[str | None, "NAME", "release-week, end-of-sprint, …."] = None,
    until: Annotated[
        str, typer.Option(metavar="WHEN", help="When it ends: a time, or 5d from now.")
    ] = "",
    end: Annotated[bool, "It is over."] = False,
) -> None:
    """Name the present period, such as release-week.

    What was kept in a time of the same name is favoured.
    """
    with cli.open_mind() as mind:
        now = mind.episodes.season(
            "" if end else label,
            until=parse_time_ahead(until, clock.now(), "--until"),
            space=cli.space,
        )
    cli.answer(
        {
            "space": cli.space,
            "season": now.label or None,
            "until": now.until,
        },
        f"It is {now.label} in {cli.space}." if now else f"No season in {cli.space}.",
    )
