"""Commands that read: recall, hints, retrieve, similar, graph, gaps, list, show, history, explain,
tags, kinds.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Annotated

import typer

from reverie import Memory, Mind
from reverie.core import clock
from reverie.core.errors import NotFound, StoreError
from reverie.core.kinds import MEMORY_TYPES
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import CliContext, CommandTable, Limit, MemoryId
from reverie.interfaces.cli.shell_completion import complete_ids, complete_kinds, complete_tags
from reverie.interfaces.cli.terminal_output import (
    memory_to_json,
    one_line,
    print_json,
    print_line,
    print_note,
    print_view,
)
from reverie.interfaces.kind_check import require_used_kinds
from reverie.interfaces.recall_use import count_recall
from reverie.retrieval.search_query import MODES

commands = CommandTable()
MAX_MESSAGE_CHARS = 200  # of a message that are shown
MAX_SHOWN_INJECTIONS = 5  # times a memory was brought up that are told without --all
MAX_WAITING_TEXTS = (
    64  # texts that wait for a vector and are embedded before a recall, about a second's work
)

Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        "-k",
        autocompletion=complete_kinds,
        help="Only this kind.",
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
        "--tag",
        "-t",
        autocompletion=complete_tags,
        help="Only with this tag.",
    ),
]


Depth = Annotated[
    int | None,
    typer.Option(
        min=0, help="Links, tags or clusters to follow from what was found (setting depth: 2)."
    ),
]


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories `recall` and `list` look at."""

    kind: Kinds = None
    type: Types = None
    tag: Tags = None

    def to_arguments(self) -> dict[str, Sequence[str]]:
        """The same as the verbs of Mind name it."""
        return {
            "kinds": self.kind or (),
            "types": self.type or (),
            "tags": self.tag or (),
        }


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How `recall` searches."""

    mode: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(MODES)}. Words needs no model; judged asks yours.",
            autocompletion=lambda: list(MODES),
        ),
    ] = "auto"
    as_of: Annotated[
        str,
        typer.Option(
            "--as-of",
            metavar="WHEN",
            help="As it was then: a date or 1 March, yesterday (its end), a time, a span (3d).",
        ),
    ] = ""
    depth: Depth = None


@commands.add("recall")
def recall_memories(
    cli: CliContext,
    query: Annotated[list[str] | None, "QUERY", "A question; none gives the newest."] = None,
    limit: Limit = 10,
    *,
    which: MemoryFilter,
    how: SearchOptions,
    explain: Annotated[bool, "Say in more detail why."] = False,
) -> None:
    """Find memories for a question, best first."""
    text = " ".join(query or ())
    with cli.open_mind() as mind:
        require_used_kinds(mind, which.kind or (), cli.space)
        mode, note = choose_search_mode(cli, mind, text, how.mode)
        found = mind.recall(
            text,
            space=cli.space,
            limit=limit,
            **which.to_arguments(),
            mode=mode,
            as_of=parse_as_of(how.as_of),
            depth=how.depth,
        )
        if not how.as_of:
            count_recall(mind, text, found, cli.space)
        note_absent_server(cli, mind)
    cli.answer(
        {
            "query": text,
            "space": cli.space,
            "hits": found,
            **({"note": note} if note else {}),
        },
        memory_view.render_hits(found, clock.now(), cli.space, more=explain),
        describe_nothing_found(cli),
    )


def note_absent_server(cli: CliContext, mind: Mind) -> None:
    """Say so if the team's server is away: what colleagues said since is not known here."""
    from reverie.memory.history_text import format_moment
    from reverie.sync.sync_state import load_account, load_state

    if load_account(mind.store) and (state := load_state(mind.store)).fails:
        seen = f"{format_moment(state.seen_at)} UTC" if state.seen_at else "never"
        cli.note(f"The team's server is away; what it had was last fetched: {seen}")


def parse_as_of(when: str) -> float | None:
    """The moment that `--as-of` names, if it does."""
    if not when:
        return None
    from reverie.interfaces.cli.user_input import parse_as_of_time

    return parse_as_of_time(when, clock.now())


def choose_search_mode(
    cli: CliContext,
    mind: Mind,
    text: str,
    mode: str,
) -> tuple[str, str]:
    """The mode to search in: words, and a note that says so, where there is no model."""
    from reverie.pipeline.pending_vectors import NO_VECTOR_ERRORS

    needs_no_model = mode == "words" or not text.strip()
    if needs_no_model or mind.embedder is None or cli.settings.is_off(cli.space):
        return mode, ""
    if mode == "auto" and not mind.browse(space=cli.space, limit=1):
        # Where nothing is kept there is nothing to compare, and no model is fetched for it.
        return "words", ""
    try:
        # The embedder keeps the vector: recall does not work it out again.
        answering = mind.context.answering_embedder or mind.embedder
        answering.embed([text])
        # A new model that is not to be had keeps the old one's vectors from nobody.
        with nullcontext() if answering is mind.embedder else suppress(*NO_VECTOR_ERRORS):
            embed_few_waiting(mind)
    except NO_VECTOR_ERRORS as err:
        cli.progress.clear()
        note = f"Words alone were searched: {str(err).splitlines()[0]}"
        print_note(note)
        return "words", note
    cli.progress.clear()
    return mode, ""


def embed_few_waiting(mind: Mind) -> None:
    """Give vectors to what waits for one, if it is little, so that the answer is complete."""
    from reverie.pipeline.model_change import note_embedded
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
            note_embedded(mind.store, mind.embedder)


def describe_nothing_found(cli: CliContext) -> str:
    """That there is nothing, and why that may be."""
    if cli.settings.is_off(cli.space):
        return f"Memory is switched off in {cli.space}. Switch it on with: reverie on"
    return f"Nothing found in {cli.space}."


@commands.add("list")
def list_memories(
    cli: CliContext,
    limit: Limit = 20,
    *,
    which: MemoryFilter,
    session: Annotated[str, "Only from this conversation."] = "",
    after: Annotated[str, typer.Option(metavar="ID", help="Go on after this id.")] = "",
    forgotten: Annotated[bool, "Only what was forgotten or superseded."] = False,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also what was forgotten or superseded.")
    ] = False,
) -> None:
    """List what is remembered here, newest first."""
    active = None if everything else not forgotten
    with cli.open_mind() as mind:
        require_used_kinds(mind, which.kind or (), cli.space)
        if after and not mind.get([after]):
            raise NotFound(f"There is no memory with the id {after}")
        found = mind.browse(
            space=cli.space,
            **which.to_arguments(),
            session=session,
            active=active,
            limit=limit,
            after=after,
        )
        elsewhere = 0 if found or cli.as_json else mind.data.stats().memories
    more = ""
    if elsewhere:
        more = f" The whole store holds {elsewhere}: reverie status lists the spaces."
    print_memories(cli, found, f"Nothing in {cli.space}.{more}")
    if found and len(found) == limit:
        cli.note(f"The newest {limit}. Go on with: reverie list --after {found[-1].id}")


def print_memories(
    cli: CliContext,
    found: Sequence[Memory],
    nothing: str,
    name: str = "memories",
) -> None:
    """Tell a list of memories, for people or by that name as JSON; or, in these words, that there
    are none.
    """
    cli.answer(
        {"space": cli.space, name: found},
        memory_view.render_memories(found, clock.now(), cli.space),
        nothing,
    )


@commands.add("show", spaced=False)
def show_memories(
    cli: CliContext,
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID…",
            autocompletion=complete_ids,
            help="Ids of memories.",
        ),
    ],
) -> None:
    """Show memories with all that is known about them."""
    with cli.open_mind() as mind:
        found = mind.get(ids)
    missing = [id for id in ids if id not in {m.id for m in found}]
    if cli.as_json and found:
        print_json({"memories": found, "missing": missing})
        raise typer.Exit(1 if missing else 0)
    if not cli.as_json:
        for place, memory in enumerate(found):
            if place:
                print_line()
            print_view(memory_view.render_memory(memory, clock.now()))
    if missing:
        raise NotFound(f"There is no memory with the id {', '.join(missing)}")


@commands.add("explain", spaced=False)
def show_explanation(
    cli: CliContext,
    id: MemoryId,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Each wording, link and event by itself.")
    ] = False,
) -> None:
    """Where a memory came from, and when it was brought up."""
    with cli.open_mind() as mind:
        story = mind.explain(id, whole=everything)
        rests_on = mind.sessions.source(id, around=0)
    if cli.as_json:
        print_json(
            {
                "memory": memory_to_json(story.memory),
                "story": list(story.story),
                "retention": story.retention,
                "edges": [edge._asdict() for edge in story.edges],
                "brought_up": [one._asdict() for one in story.brought_up],
                "source": [line._asdict() for line in rests_on],
            }
        )
    else:
        print_line(one_line(story.memory.text))
        for line in story.story:
            print_line(f"  {one_line(line)}")
        if story.brought_up:
            shown = story.brought_up if everything else story.brought_up[:MAX_SHOWN_INJECTIONS]
            print_line("  Brought up:")
            for one in shown:
                print_line(f"    {one_line(one.sentence)}")
            if more := len(story.brought_up) - len(shown):
                print_line(f"    and {more:,} times before (--all)")
        for message in rests_on:
            print_line(
                f"  {message.number} {message.role}: {one_line(message.text, MAX_MESSAGE_CHARS)}"
            )
