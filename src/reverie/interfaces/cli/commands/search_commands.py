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
from reverie.core.kinds import TYPES
from reverie.interfaces.cli import shell_completion, terminal_output
from reverie.interfaces.cli.cli_context import Desk, Limit, Verb, command
from reverie.interfaces.cli.commands.remember_commands import Id
from reverie.retrieval.search_query import MODES

PANEL = "Find and read"
SNIPPET = 200  # characters of a message that are shown
LITTLE = 64  # texts that wait for a vector and are embedded before a recall, about a second's work

Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", "-k", autocompletion=shell_completion.kinds, help="Only this kind."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        autocompletion=lambda: list(TYPES),
        help=f"Only of this memory type: {', '.join(TYPES)}.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", "-t", autocompletion=shell_completion.tags, help="Only with this tag."),
]


Depth = Annotated[
    int | None,
    typer.Option(
        min=0, help="Links, tags or clusters to follow from what was found (setting depth: 2)."
    ),
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    here: tuple[tuple[str, Verb], ...] = (
        ("recall", recall),
        ("hints", hints),
        ("retrieve", retrieve),
        ("list", browse),
        ("tags", tags),
        ("gaps", gaps),
    )
    anywhere: tuple[tuple[str, Verb], ...] = (
        ("show", show),
        ("history", history),
        ("explain", explain),
        ("similar", similar),
        ("graph", graph),
        ("kinds", kinds),
    )
    for name, function in (*here, *anywhere):
        command(app, name, panel=PANEL, spaced=(name, function) in here)(function)


def recall(
    desk: Desk,
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
            mode=usable(desk, mind, text, mode),
            as_of=looked_from(as_of),
            depth=depth,
        )
    now = clock.now()
    if desk.json:
        terminal_output.document(
            {"query": text, "space": desk.space, "hits": [as_json(hit) for hit in found]}
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.hits(found, now, desk.space, more=explain)
    else:
        nothing(desk)


def looked_from(when: str) -> float | None:
    """The moment that `--as-of` names, if it does."""
    if not when:
        return None
    from reverie.interfaces.cli.user_input import (
        moment_to_look_from,  # a cold recall needs none of it
    )

    return moment_to_look_from(when, clock.now())


def as_json(hit: Hit) -> dict[str, object]:
    """A hit as JSON values."""
    return {
        "id": hit.memory.id,
        "score": hit.score,
        "why": list(hit.why),
        "memory": terminal_output.as_json(hit.memory),
    }


def usable(desk: Desk, mind: Mind, text: str, mode: str) -> str:
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
        catch_up(mind)
    except (ModelUnavailable, EmbedderUnavailable, ExtraMissing) as err:
        desk.telling.rest()
        terminal_output.note(f"Searching by words alone: {str(err).splitlines()[0]}")
        return "words"
    desk.telling.rest()
    return mode


def catch_up(mind: Mind) -> None:
    """Give vectors to what waits for one, if it is little, so that the answer is complete."""
    from reverie.pipeline.pending_vectors import adopt, embed_waiting

    if (
        mind.embedder is not None
        and 0 < len(mind.store.waiting(LITTLE + 1, mind.embedder.model)) <= LITTLE
    ):
        with suppress(StoreError):  # a home that cannot be written can still be asked
            adopt(mind.store, mind.embedder)
            embed_waiting(mind.store, mind.embedder, LITTLE)


def nothing(desk: Desk) -> None:
    """Say that there is nothing, and why that may be."""
    if desk.settings.is_off(desk.space):
        terminal_output.note(
            f"Memory is switched off in {desk.space}. Switch it on with: reverie on"
        )
    else:
        terminal_output.note(f"Nothing found in {desk.space}.")


def hints(
    desk: Desk,
    prompt: Annotated[list[str], typer.Argument(metavar="PROMPT", help="What is to be done.")],
    limit: Limit = 5,
    session: Annotated[
        str, typer.Option(help="The conversation: what was hinted in it before is left out.")
    ] = "",
) -> None:
    """Titles and ids of what may be worth reading for a prompt; retrieve ID reads it."""
    text = " ".join(prompt)
    with desk.mind() as mind:
        if usable(desk, mind, text, "auto") == "words":
            mind.embedder = None
        found = mind.hints(text, space=desk.space, limit=limit, session=session)
    if desk.json:
        terminal_output.document({"space": desk.space, "hints": [hint._asdict() for hint in found]})
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.hints(found)
    else:
        nothing(desk)


def retrieve(
    desk: Desk,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID…", autocompletion=shell_completion.ids, help="Ids, as hints name them."
        ),
    ] = None,
    tag: Tags = None,
    limit: Limit = 3,
) -> None:
    """Read memories by ids or by tags; each counts as used."""
    with desk.mind() as mind:
        found = mind.retrieve(ids or (), tags=tag or (), limit=limit, space=desk.space)
    if desk.json:
        told = [terminal_output.as_json(memory) for memory in found.memories]
        terminal_output.document(
            {"memories": told, "matched": found.matched, "truncated": found.truncated}
        )
    elif found.memories:
        from reverie.interfaces.cli import memory_view

        for memory in found.memories:
            memory_view.memory(memory, clock.now())
        if found.truncated:
            terminal_output.note(
                f"{found.matched:,} carry one of these tags; more of them: --limit {found.matched}"
            )
    else:
        nothing(desk)


def browse(
    desk: Desk,
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
    answer_found(desk, found, f"Nothing in {desk.space}.{more}")
    if found and len(found) == limit and not desk.json:
        terminal_output.note(f"The newest {limit}. Go on with: reverie list --after {found[-1].id}")


def answer_found(desk: Desk, found: Sequence[Memory], nothing: str, name: str = "memories") -> None:
    """Tell a list of memories, for people or by that name as JSON; or, in these words, that there
    are none.
    """
    if desk.json:
        terminal_output.document(
            {"space": desk.space, name: [terminal_output.as_json(one) for one in found]}
        )
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.memories(found, clock.now(), desk.space)
    else:
        terminal_output.note(nothing)


def show(
    desk: Desk,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID…", autocompletion=shell_completion.ids, help="Ids of memories."),
    ],
) -> None:
    """Show memories with all that is known about them."""
    with desk.mind() as mind:
        found = mind.get(ids)
    missing = [id for id in ids if id not in {m.id for m in found}]
    if desk.json and found:
        terminal_output.document(
            {"memories": [terminal_output.as_json(m) for m in found], "missing": missing}
        )
        raise typer.Exit(1 if missing else 0)
    if not desk.json:
        from reverie.interfaces.cli import memory_view as views

        for place, memory in enumerate(found):
            if place:
                terminal_output.tell()
            views.memory(memory, clock.now())
    if missing:
        raise NotFound(f"There is no memory with the id {', '.join(missing)}")


def history(desk: Desk, id: Id) -> None:
    """What was done to a memory, with what was there before."""
    with desk.mind() as mind:
        found = mind.history(id)
    if desk.json:
        terminal_output.document(
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

        memory_view.records(found)


def explain(
    desk: Desk,
    id: Id,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Each wording, tie and event by itself.")
    ] = False,
) -> None:
    """Where a memory came from and why it is believed."""
    with desk.mind() as mind:
        story = mind.explain(id, whole=everything)
        rests_on = mind.source(id, around=0)
    if desk.json:
        terminal_output.document(
            {
                "memory": terminal_output.as_json(story.memory),
                "story": list(story.story),
                "retention": story.retention,
                "edges": [edge._asdict() for edge in story.edges],
                "source": [line._asdict() for line in rests_on],
            }
        )
    else:
        terminal_output.tell(terminal_output.one_line(story.memory.text))
        for line in story.story:
            terminal_output.tell(f"  {terminal_output.one_line(line)}")
        for message in rests_on:
            terminal_output.tell(
                f"  {message.number} {message.role}: {terminal_output.one_line(message.text, SNIPPET)}"
            )


def similar(desk: Desk, id: Id, limit: Limit = 10) -> None:
    """Find memories like this one: by meaning, and by the tags, clusters and links
    that they share.
    """
    with desk.mind() as mind:
        beside(desk, id, mind.similar(id, limit=limit), "Nothing is like it.")


def graph(desk: Desk, id: Id, limit: Limit = 20, depth: Depth = None) -> None:
    """Show what a memory is tied to by links, tags and clusters, nearest first."""
    with desk.mind() as mind:
        beside(desk, id, mind.neighbours(id, depth=depth, limit=limit), "It is tied to nothing.")


def beside(desk: Desk, id: str, found: list[Hit], none: str) -> None:
    """What stands beside a memory."""
    if desk.json:
        terminal_output.document({"id": id, "hits": [as_json(hit) for hit in found]})
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.hits(found, clock.now(), "")
    else:
        terminal_output.note(none)


def gaps(desk: Desk, limit: Limit = 20) -> None:
    """Questions asked here that memory could not answer: what is worth remembering."""
    with desk.mind() as mind:
        found = mind.gaps(desk.space)[:limit]
    if desk.json:
        terminal_output.document({"space": desk.space, "gaps": [gap._asdict() for gap in found]})
    elif found:
        from reverie.interfaces.cli import memory_view

        memory_view.gaps(found, clock.now())
    else:
        terminal_output.note(f"No question in {desk.space} went unanswered.")


def tags(
    desk: Desk,
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
        terminal_output.document({"space": desk.space, "tags": found, "meanings": meanings})
    elif found or meanings:
        from reverie.interfaces.cli import memory_view

        memory_view.counted({tag: found.get(tag, 0) for tag in {**found, **meanings}}, "tags")
        for name, text in meanings.items():
            terminal_output.tell(f"#{name}: {text}")
    else:
        terminal_output.note(f"No tags in {desk.space}.")


def kinds(desk: Desk) -> None:
    """List the kinds of memory and how they fade."""
    from reverie.core.kinds import KINDS

    if desk.json:
        terminal_output.document(
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

        memory_view.kinds(list(KINDS.values()))
