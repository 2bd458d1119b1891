"""Commands that read: recall, hints, retrieve, similar, graph, gaps, list, show, history, explain,
tags, kinds.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from reverie import Hit, Memory, Mind
from reverie.core import clock
from reverie.core.errors import (
    EmbedderUnavailable,
    ExtraMissing,
    ModelUnavailable,
    NotFound,
    StoreError,
)
from reverie.core.kinds import MEMORY_TYPES
from reverie.interfaces.cli import shell_completion, terminal_output
from reverie.interfaces.cli.cli_context import CliContext, CommandFunction, Limit, command
from reverie.interfaces.cli.commands.remember_commands import MemoryId
from reverie.retrieval.search_query import MODES

PANEL = "Find and read"
MAX_MESSAGE_CHARS = 200  # characters of a message that are shown
MAX_WAITING_TEXTS = (
    64  # texts that wait for a vector and are embedded before a recall, about a second's work
)

Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", "-k", autocompletion=shell_completion.complete_kinds, help="Only this kind."
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        autocompletion=lambda: list(MEMORY_TYPES),
        help=f"Only of this memory type: {', '.join(MEMORY_TYPES)}.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", "-t", autocompletion=shell_completion.complete_tags, help="Only with this tag."
    ),
]


Depth = Annotated[
    int | None,
    typer.Option(
        min=0, help="Links, tags or clusters to follow from what was found (setting depth: 2)."
    ),
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    here: tuple[tuple[str, CommandFunction], ...] = (
        ("recall", recall_memories),
        ("hints", list_hints),
        ("retrieve", retrieve_memories),
        ("list", list_memories),
        ("tags", list_tags),
        ("gaps", list_gaps),
    )
    anywhere: tuple[tuple[str, CommandFunction], ...] = (
        ("show", show_memories),
        ("history", show_history),
        ("explain", show_explanation),
        ("similar", list_similar),
        ("graph", list_neighbours),
        ("kinds", list_kinds),
    )
    for name, function in (*here, *anywhere):
        command(app, name, panel=PANEL, spaced=(name, function) in here)(function)


def recall_memories(
    desk: CliContext,
    query: Annotated[
        list[str] | None, typer.Argument(metavar="QUERY", help="A question; none gives the newest.")
    ] = None,
    limit: Limit = 10,
    kind: Kinds = None,
    type: Types = None,
    tag: Tags = None,
    mode: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(MODES)}. Words needs no model; judged asks yours.",
            autocompletion=lambda: list(MODES),
        ),
    ] = "auto",
    as_of: Annotated[
        str,
        typer.Option(
            "--as-of", metavar="WHEN", help="As it was then: a date (its end), a time, a span (3d)."
        ),
    ] = "",
    depth: Depth = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say more about why.")] = False,
) -> None:
    """Find memories for a question, best first."""
    text = " ".join(query or ())
    with desk.mind() as mind:
        found = mind.recall(
            text,
            space=desk.space,
            limit=limit,
            kinds=kind or (),
            types=type or (),
            tags=tag or (),
            mode=choose_search_mode(desk, mind, text, mode),
            as_of=parse_as_of(as_of),
            depth=depth,
        )
    now = clock.now()
    if desk.json:
        terminal_output.print_json(
            {"query": text, "space": desk.space, "hits": [hit_to_json(hit) for hit in found]}
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_hits(found, now, desk.space, more=explain)
    else:
        note_nothing_found(desk)


def parse_as_of(when: str) -> float | None:
    """The moment that `--as-of` names, if it does."""
    if not when:
        return None
    from reverie.interfaces.cli.user_input import parse_as_of_time

    return parse_as_of_time(when, clock.now())


def hit_to_json(hit: Hit) -> dict[str, object]:
    """A hit as JSON values."""
    return {
        "id": hit.memory.id,
        "score": hit.score,
        "why": list(hit.why),
        "memory": terminal_output.memory_to_json(hit.memory),
    }


def choose_search_mode(desk: CliContext, mind: Mind, text: str, mode: str) -> str:
    """The mode to search in: words, and one line about it, where there is no model."""
    if (
        mode == "words"
        or mind.embedder is None
        or not text.strip()
        or desk.settings.is_off(desk.space)
    ):
        return mode
    if mode == "auto" and not mind.browse(space=desk.space, limit=1):
        # where nothing is kept there is nothing to compare, and no model is fetched for it
        return "words"
    try:
        mind.embedder.embed([text])  # kept by the embedder: recall does not work it out again
        embed_few_waiting(mind)
    except (ModelUnavailable, EmbedderUnavailable, ExtraMissing) as err:
        desk.telling.rest()
        terminal_output.print_note(f"Searching by words alone: {str(err).splitlines()[0]}")
        return "words"
    desk.telling.rest()
    return mode


def embed_few_waiting(mind: Mind) -> None:
    """Give vectors to what waits for one, if it is little, so that the answer is complete."""
    from reverie.pipeline.pending_vectors import adopt_embedder, embed_pending

    if (
        mind.embedder is not None
        and 0
        < len(mind.store.unembedded_texts(MAX_WAITING_TEXTS + 1, mind.embedder.model))
        <= MAX_WAITING_TEXTS
    ):
        with suppress(StoreError):  # a home that cannot be written can still be asked
            adopt_embedder(mind.store, mind.embedder)
            embed_pending(mind.store, mind.embedder, MAX_WAITING_TEXTS)


def note_nothing_found(desk: CliContext) -> None:
    """Say that there is nothing, and why that may be."""
    if desk.settings.is_off(desk.space):
        terminal_output.print_note(
            f"Memory is switched off in {desk.space}. Switch it on with: reverie on"
        )
    else:
        terminal_output.print_note(f"Nothing found in {desk.space}.")


def list_hints(
    desk: CliContext,
    prompt: Annotated[list[str], typer.Argument(metavar="PROMPT", help="What is to be done.")],
    limit: Limit = 5,
    session: Annotated[
        str, typer.Option(help="The conversation: what was hinted in it before is left out.")
    ] = "",
) -> None:
    """Titles and ids of what may be worth reading for a prompt; retrieve ID reads it."""
    text = " ".join(prompt)
    with desk.mind() as mind:
        if choose_search_mode(desk, mind, text, "auto") == "words":
            mind.embedder = None
        found = mind.hints(text, space=desk.space, limit=limit, session=session)
    if desk.json:
        terminal_output.print_json(
            {"space": desk.space, "hints": [hint._asdict() for hint in found]}
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_hint_list(found)
    else:
        note_nothing_found(desk)


def retrieve_memories(
    desk: CliContext,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID…",
            autocompletion=shell_completion.complete_ids,
            help="Ids, as hints name them.",
        ),
    ] = None,
    tag: Tags = None,
    limit: Limit = 3,
) -> None:
    """Read memories by ids or by tags; each counts as used."""
    with desk.mind() as mind:
        found = mind.retrieve(ids or (), tags=tag or (), limit=limit, space=desk.space)
    if desk.json:
        told = [terminal_output.memory_to_json(memory) for memory in found.memories]
        terminal_output.print_json(
            {"memories": told, "matched": found.matched, "truncated": found.truncated}
        )
    elif found.memories:
        from reverie.interfaces.cli import memory_view

        for memory in found.memories:
            memory_view.render_memory(memory, clock.now())
        if found.truncated:
            terminal_output.print_note(
                f"{found.matched:,} carry one of these tags; more of them: --limit {found.matched}"
            )
    else:
        note_nothing_found(desk)


def list_memories(
    desk: CliContext,
    limit: Limit = 20,
    kind: Kinds = None,
    type: Types = None,
    tag: Tags = None,
    session: Annotated[str, typer.Option(help="Only from this conversation.")] = "",
    after: Annotated[str, typer.Option(metavar="ID", help="Go on after this id.")] = "",
    forgotten: Annotated[
        bool, typer.Option("--forgotten", help="What no longer counts, instead.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also what no longer counts.")
    ] = False,
) -> None:
    """List what is remembered here, newest first."""
    active = None if everything else not forgotten
    with desk.mind() as mind:
        found = mind.browse(
            space=desk.space,
            kinds=kind or (),
            types=type or (),
            tags=tag or (),
            session=session,
            active=active,
            limit=limit,
            after=after,
        )
        elsewhere = 0 if found or desk.json else mind.stats().memories
    more = (
        f" The whole store holds {elsewhere}: reverie status lists the spaces." if elsewhere else ""
    )
    print_memories(desk, found, f"Nothing in {desk.space}.{more}")
    if found and len(found) == limit and not desk.json:
        terminal_output.print_note(
            f"The newest {limit}. Go on with: reverie list --after {found[-1].id}"
        )


def print_memories(
    desk: CliContext, found: Sequence[Memory], nothing: str, name: str = "memories"
) -> None:
    """Tell a list of memories, for people or by that name as JSON; or, in these words, that there
    are none.
    """
    if desk.json:
        terminal_output.print_json(
            {"space": desk.space, name: [terminal_output.memory_to_json(one) for one in found]}
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_memories(found, clock.now(), desk.space)
    else:
        terminal_output.print_note(nothing)


def show_memories(
    desk: CliContext,
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID…", autocompletion=shell_completion.complete_ids, help="Ids of memories."
        ),
    ],
) -> None:
    """Show memories with all that is known about them."""
    with desk.mind() as mind:
        found = mind.get(ids)
    missing = [id for id in ids if id not in {m.id for m in found}]
    if desk.json and found:
        terminal_output.print_json(
            {"memories": [terminal_output.memory_to_json(m) for m in found], "missing": missing}
        )
        raise typer.Exit(1 if missing else 0)
    if not desk.json:
        from reverie.interfaces.cli import memory_view as views

        for place, memory in enumerate(found):
            if place:
                terminal_output.print_line()
            views.render_memory(memory, clock.now())
    if missing:
        raise NotFound(f"There is no memory with the id {', '.join(missing)}")


def show_history(desk: CliContext, id: MemoryId) -> None:
    """What was done to a memory, with what was there before."""
    with desk.mind() as mind:
        found = mind.history(id)
    if desk.json:
        terminal_output.print_json(
            {
                "id": id,
                "history": [
                    {
                        "event": r.event.seq,
                        "verb": r.event.verb,
                        "at": r.event.at,
                        "op": r.op,
                        "before": r.before,
                        "after": r.after,
                    }
                    for r in found
                ],
            }
        )
    else:
        from reverie.interfaces.cli import memory_view

        memory_view.render_records(found)


def show_explanation(
    desk: CliContext,
    id: MemoryId,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Each wording, tie and event by itself.")
    ] = False,
) -> None:
    """Where a memory came from and why it is believed."""
    with desk.mind() as mind:
        story = mind.explain(id, whole=everything)
        rests_on = mind.source(id, around=0)
    if desk.json:
        terminal_output.print_json(
            {
                "memory": terminal_output.memory_to_json(story.memory),
                "story": list(story.story),
                "retention": story.retention,
                "edges": [edge._asdict() for edge in story.edges],
                "source": [line._asdict() for line in rests_on],
            }
        )
    else:
        terminal_output.print_line(terminal_output.one_line(story.memory.text))
        for line in story.story:
            terminal_output.print_line(f"  {terminal_output.one_line(line)}")
        for message in rests_on:
            terminal_output.print_line(
                f"  {message.number} {message.role}: {terminal_output.one_line(message.text, MAX_MESSAGE_CHARS)}"
            )


def list_similar(desk: CliContext, id: MemoryId, limit: Limit = 10) -> None:
    """Find memories like this one: by meaning, and by the tags, clusters and links
    that they share.
    """
    with desk.mind() as mind:
        print_hits(desk, id, mind.similar(id, limit=limit), "Nothing is like it.")


def list_neighbours(desk: CliContext, id: MemoryId, limit: Limit = 20, depth: Depth = None) -> None:
    """Show what a memory is tied to by links, tags and clusters, nearest first."""
    with desk.mind() as mind:
        print_hits(
            desk, id, mind.neighbours(id, depth=depth, limit=limit), "It is tied to nothing."
        )


def print_hits(desk: CliContext, id: str, found: list[Hit], none: str) -> None:
    """What stands beside a memory."""
    if desk.json:
        terminal_output.print_json({"id": id, "hits": [hit_to_json(hit) for hit in found]})
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_hits(found, clock.now(), "")
    else:
        terminal_output.print_note(none)


def list_gaps(desk: CliContext, limit: Limit = 20) -> None:
    """Questions asked here that memory could not answer: what is worth remembering."""
    with desk.mind() as mind:
        found = mind.gaps(desk.space)[:limit]
    if desk.json:
        terminal_output.print_json({"space": desk.space, "gaps": [gap._asdict() for gap in found]})
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.render_gaps(found, clock.now())
    else:
        terminal_output.print_note(f"No question in {desk.space} went unanswered.")


def list_tags(
    desk: CliContext,
    describe: Annotated[
        tuple[str, str],
        typer.Option(metavar="TAG TEXT", help="Say what a tag means; an empty text takes it back."),
    ] = ("", ""),
) -> None:
    """List the tags in use here, with what they mean where somebody said it."""
    with desk.mind() as mind:
        if any(describe):
            mind.describe(*describe, space=desk.space)
        found, meanings = mind.tags(desk.space), mind.meanings(desk.space)
    if desk.json:
        terminal_output.print_json({"space": desk.space, "tags": found, "meanings": meanings})
    elif found or meanings:
        from reverie.interfaces.cli import memory_view

        memory_view.render_counts({tag: found.get(tag, 0) for tag in {**found, **meanings}}, "tags")
        for name, text in meanings.items():
            terminal_output.print_line(f"#{name}: {text}")
    else:
        terminal_output.print_note(f"No tags in {desk.space}.")


def list_kinds(desk: CliContext) -> None:
    """List the kinds of memory and how they fade."""
    from reverie.core.kinds import KINDS

    if desk.json:
        terminal_output.print_json(
            {
                "kinds": [
                    {
                        **kind._asdict(),
                        "half_life": kind.half_life if kind.half_life < 1e9 else None,
                    }
                    for kind in KINDS.values()
                ]
            }
        )
    else:
        from reverie.interfaces.cli import memory_view

        memory_view.render_kinds(list(KINDS.values()))
