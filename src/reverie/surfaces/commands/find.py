"""Commands that read: recall, hints, retrieve, similar, graph, gaps, list, show, history, explain,
tags, kinds.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from reverie import Hit, Memory, Mind, clock
from reverie.errors import EmbedderUnavailable, ExtraMissing, ModelUnavailable, NotFound, StoreError
from reverie.kinds import TYPES
from reverie.search import MODES
from reverie.surfaces import complete, say
from reverie.surfaces.commands.keep import Id
from reverie.surfaces.desk import Desk, Limit, Verb, command

PANEL = "Find and read"
SNIPPET = 200  # characters of a message that are shown
LITTLE = 64  # texts that wait for a vector and are embedded before a recall, about a second's work

Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", "-k", autocompletion=complete.kinds, help="Only this kind."),
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
    typer.Option("--tag", "-t", autocompletion=complete.tags, help="Only with this tag."),
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
        say.document({"query": text, "space": desk.space, "hits": [as_json(hit) for hit in found]})
    elif found:
        from reverie.surfaces import show

        show.hits(found, now, desk.space, more=explain)
    else:
        nothing(desk)


def looked_from(when: str) -> float | None:
    """The moment that `--as-of` names, if it does."""
    if not when:
        return None
    from reverie.surfaces.reading import moment_to_look_from  # a cold recall needs none of it

    return moment_to_look_from(when, clock.now())


def as_json(hit: Hit) -> dict[str, object]:
    """A hit as JSON values."""
    return {
        "id": hit.memory.id,
        "score": hit.score,
        "why": list(hit.why),
        "memory": say.as_json(hit.memory),
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
        say.note(f"Searching by words alone: {str(err).splitlines()[0]}")
        return "words"
    desk.telling.rest()
    return mode


def catch_up(mind: Mind) -> None:
    """Give vectors to what waits for one, if it is little, so that the answer is complete."""
    from reverie.settle.embedding import adopt, embed_waiting

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
        say.note(f"Memory is switched off in {desk.space}. Switch it on with: reverie on")
    else:
        say.note(f"Nothing found in {desk.space}.")


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
        say.document({"space": desk.space, "hints": [hint._asdict() for hint in found]})
    elif found:
        from reverie.surfaces import show

        show.hints(found)
    else:
        nothing(desk)


def retrieve(
    desk: Desk,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…", autocompletion=complete.ids, help="Ids, as hints name them."),
    ] = None,
    tag: Tags = None,
    limit: Limit = 3,
) -> None:
    """Read memories by ids or by tags; each counts as used."""
    with desk.mind() as mind:
        found = mind.retrieve(ids or (), tags=tag or (), limit=limit, space=desk.space)
    if desk.json:
        told = [say.as_json(memory) for memory in found.memories]
        say.document({"memories": told, "matched": found.matched, "truncated": found.truncated})
    elif found.memories:
        from reverie.surfaces import show

        for memory in found.memories:
            show.memory(memory, clock.now())
        if found.truncated:
            say.note(
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
        say.note(f"The newest {limit}. Go on with: reverie list --after {found[-1].id}")


def answer_found(desk: Desk, found: Sequence[Memory], nothing: str, name: str = "memories") -> None:
    """Tell a list of memories, for people or by that name as JSON; or, in these words, that there
    are none.
    """
    if desk.json:
        say.document({"space": desk.space, name: [say.as_json(one) for one in found]})
    elif found:
        from reverie.surfaces import show

        show.memories(found, clock.now(), desk.space)
    else:
        say.note(nothing)


def show(
    desk: Desk,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID…", autocompletion=complete.ids, help="Ids of memories."),
    ],
) -> None:
    """Show memories with all that is known about them."""
    with desk.mind() as mind:
        found = mind.get(ids)
    missing = [id for id in ids if id not in {m.id for m in found}]
    if desk.json and found:
        say.document({"memories": [say.as_json(m) for m in found], "missing": missing})
        raise typer.Exit(1 if missing else 0)
    if not desk.json:
        from reverie.surfaces import show as views

        for place, memory in enumerate(found):
            if place:
                say.tell()
            views.memory(memory, clock.now())
    if missing:
        raise NotFound(f"There is no memory with the id {', '.join(missing)}")


def history(desk: Desk, id: Id) -> None:
    """What was done to a memory, with what was there before."""
    with desk.mind() as mind:
        found = mind.history(id)
    if desk.json:
        say.document(
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
        from reverie.surfaces import show

        show.records(found)


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
        say.document(
            {
                "memory": say.as_json(story.memory),
                "story": list(story.story),
                "retention": story.retention,
                "edges": [edge._asdict() for edge in story.edges],
                "source": [line._asdict() for line in rests_on],
            }
        )
    else:
        say.tell(say.one_line(story.memory.text))
        for line in story.story:
            say.tell(f"  {say.one_line(line)}")
        for message in rests_on:
            say.tell(f"  {message.number} {message.role}: {say.one_line(message.text, SNIPPET)}")


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
        say.document({"id": id, "hits": [as_json(hit) for hit in found]})
    elif found:
        from reverie.surfaces import show

        show.hits(found, clock.now(), "")
    else:
        say.note(none)


def gaps(desk: Desk, limit: Limit = 20) -> None:
    """Questions asked here that memory could not answer: what is worth remembering."""
    with desk.mind() as mind:
        found = mind.gaps(desk.space)[:limit]
    if desk.json:
        say.document({"space": desk.space, "gaps": [gap._asdict() for gap in found]})
    elif found:
        from reverie.surfaces import show

        show.gaps(found, clock.now())
    else:
        say.note(f"No question in {desk.space} went unanswered.")


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
        say.document({"space": desk.space, "tags": found, "meanings": meanings})
    elif found or meanings:
        from reverie.surfaces import show

        show.counted({tag: found.get(tag, 0) for tag in {**found, **meanings}}, "tags")
        for name, text in meanings.items():
            say.tell(f"#{name}: {text}")
    else:
        say.note(f"No tags in {desk.space}.")


def kinds(desk: Desk) -> None:
    """List the kinds of memory and how they fade."""
    from reverie.kinds import KINDS

    if desk.json:
        say.document(
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
        from reverie.surfaces import show

        show.kinds(list(KINDS.values()))
