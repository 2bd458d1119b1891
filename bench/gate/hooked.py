"""When what is needed comes, through hooks: at the turn that needs it, or one later. `python -m
bench.gate.hooked`

Hooks cannot wait for the model: what meaning finds for a prompt is ready soon after it. Three ways
to give it, on the labelled sessions, by the real path (`opening`, `prepare`) and the hooks' own
rules (`hooks.topic`):

    one turn later   words at the first prompt of a session; then what the last turn prepared, whatever is said now
    every prompt     words at each prompt that says something of its own; what was prepared waits for one that goes on
    and at work      the same, and what was prepared for a prompt comes with the first tool that runs for it: the most
                     that can be had, for here every turn runs one, and none before it is ready

A turn counts as helped if it had what it needs by then; a quiet turn as clean if it was given
nothing.
"""

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from bench.common import save, table
from bench.gate import sessions
from bench.gate.cases import APART, NOW, Place, desk_place
from bench.gate.walk import Shown, figures
from bench.retrieval import data, stores
from reverie.context_window import EMPTY_BLOCK
from reverie.context_window.injection_history import (
    FRESH_SECONDS,
    InjectionHistory,
    replaces_waiting_block,
)
from reverie.core.config import Settings
from reverie.core.model import Hit
from reverie.embedding import Embedder
from reverie.injection.first_turn import InjectionTurn, prepare_by_words
from reverie.injection.prepare_block import prepare_injection
from reverie.interfaces.hooks.prompt_topic import (
    collect_topic_words,
    continues_topic,
    is_worth_searching,
)

HEAD = ("quiet", "clean", "needed", "surfaced", "helped", "precision")


def hooked(
    place: Place, embedder: Embedder, *, every: bool, at_work: bool = False
) -> Iterator[Shown]:
    """The labelled turns of a place, in order, and what hooks give with each."""
    store, settings, space = (
        place.mind.store,
        Settings(home=place.mind.settings.home, deadline=1.0),
        place.space,
    )
    session, attention, now, last, ready, fits, known = (
        "",
        InjectionHistory(""),
        NOW,
        None,
        EMPTY_BLOCK,
        [""],
        set[str](),
    )
    for case in place.cases:
        if case.group != "sessions":
            continue
        begins = case.session != session
        if begins:
            session, attention, now, last, ready, known = (
                case.session,
                InjectionHistory(case.session),
                NOW,
                None,
                EMPTY_BLOCK,
                set(),
            )
        now += APART
        text = case.window[-1].text
        fresh = bool(ready) and now - ready.prepared_at < FRESH_SECONDS
        if not every:
            block, ready = (ready if fresh else EMPTY_BLOCK), EMPTY_BLOCK
            if begins:
                block = prepare_by_words(
                    store, settings, InjectionTurn(attention, space, now), text, text
                )
        else:
            taken = ready if fresh and continues_topic(text, fits) else EMPTY_BLOCK
            ready = EMPTY_BLOCK if taken else ready
            block = taken
            if begins or is_worth_searching(text, ()):
                besides = [Hit(memory, 0.0, ("prepared",)) for memory in taken.memories]
                block = prepare_by_words(
                    store, settings, InjectionTurn(attention, space, now), text, text, besides
                )
        attention.count_turn()
        attention.mark_injected(block.ids, now)
        attention.mark_dropped(ready if (some := set(ready.ids) & set(block.ids)) else EMPTY_BLOCK)
        ready = EMPTY_BLOCK if some else ready
        made = prepare_injection(
            store, embedder, settings, InjectionTurn(attention, space, now), case.window, last
        )
        last = made.embedded
        given = block.ids
        if made.block and replaces_waiting_block(made.block, ready, now):
            attention.mark_dropped(ready)
            attention.mark_prepared(made.block, now)
            ready, fits = (
                made.block,
                collect_topic_words(text, *(memory.text for memory in made.block.memories)),
            )
            if at_work:
                attention.mark_injected(ready.ids, now)
                given, ready = (*given, *ready.ids), EMPTY_BLOCK
        known |= set(given)
        yield Shown(case, given, frozenset(known) & case.needs)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--held-out", action="store_true", help="the other stores; say so in looks.txt"
    )
    args = data.arguments(parser)
    embedder = stores.remembering(args.cache.absolute())
    rows: dict[str, list[Shown]] = {"one turn later": [], "every prompt": [], "and at work": []}
    for desk in sessions.desks():
        if (desk.name in sessions.held_out()) != args.held_out:
            continue
        with desk_place(desk, embedder, args.cache.absolute(), args.data) as place:
            for name, shown in rows.items():
                shown.extend(
                    hooked(
                        place,
                        embedder,
                        every=name != "one turn later",
                        at_work=name == "and at work",
                    )
                )
    result = {name: asdict(figures(shown)) for name, shown in rows.items()}
    table([(name, *(row[c] for c in HEAD)) for name, row in result.items()], ("hooks", *HEAD))
    if args.held_out:
        sessions.look("through hooks")
    print(save("gate-hooked-held-out" if args.held_out else "gate-hooked", result))


if __name__ == "__main__":
    main()
