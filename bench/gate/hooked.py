"""When what is needed comes, through hooks: at the turn that needs it, or one later. `python -m bench.gate.hooked`

Hooks cannot wait for the model: what meaning finds for a turn is ready at the next one. Two ways to give it, on the
labelled sessions of the develop part, by the real path (`opening`, `prepare`) and the hooks' own rules (`hooks.topic`):

    one turn later   words at the first prompt of a session; then what the last turn prepared, whatever is said now
    every prompt     words at each prompt that says something of its own; what was prepared waits for one that goes on

A turn counts as helped if it had what it needs by then; a quiet turn as clean if it was given nothing.
"""

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from bench.common import save, table
from bench.gate import sessions
from bench.gate.cases import APART, NOW, Place, desk_place
from bench.gate.walk import Shown, figures
from bench.retrieval import data, stores
from reverie.attention import FRESH_FOR, Attention, replaces
from reverie.config import Settings
from reverie.embed import Embedder
from reverie.model import Hit
from reverie.opening import opening
from reverie.settle.preparing import prepare
from reverie.surfaces.hooks.topic import about, goes_on, worth_looking
from reverie.window import EMPTY

HEAD = ("quiet", "clean", "needed", "surfaced", "helped", "precision")


def hooked(place: Place, embedder: Embedder, *, every: bool) -> Iterator[Shown]:
    """The labelled turns of a place, in order, and what hooks give with each."""
    store, settings, space = place.mind.store, Settings(home=place.mind.settings.home, deadline=1.0), place.space
    session, attention, now, last, ready, fits, known = "", Attention(""), NOW, None, EMPTY, [""], set[str]()
    for case in place.cases:
        if case.group != "sessions":
            continue
        begins = case.session != session
        if begins:
            session, attention, now, last, ready, known = case.session, Attention(case.session), NOW, None, EMPTY, set()
        now += APART
        text = case.window[-1].text
        fresh = bool(ready) and now - ready.prepared_at < FRESH_FOR
        if not every:
            block, ready = (ready if fresh else EMPTY), EMPTY
            if begins:
                block = opening(store, settings, attention, space, text, text, now)
        else:
            taken = ready if fresh and goes_on(text, fits) else EMPTY
            ready = EMPTY if taken else ready
            block = taken
            if begins or worth_looking(text, None):
                besides = [Hit(memory, 0.0, ("prepared",)) for memory in taken.memories]
                block = opening(store, settings, attention, space, text, text, now, (), besides)
        attention.turn()
        attention.given(block.ids, now)
        attention.dropped(ready if (some := set(ready.ids) & set(block.ids)) else EMPTY)
        ready = EMPTY if some else ready
        made = prepare(store, embedder, settings, attention, space, case.window, now, last)
        last = made.vector
        if made.block and replaces(made.block, ready, now):
            attention.dropped(ready)
            attention.prepared(made.block, now)
            ready, fits = made.block, about(text, *(memory.text for memory in made.block.memories))
        known |= set(block.ids)
        yield Shown(case, block.ids, frozenset(known) & case.needs)


def main() -> None:
    """Measure, print, keep."""
    args = data.arguments(argparse.ArgumentParser(description=__doc__,
                                                  formatter_class=argparse.RawDescriptionHelpFormatter))
    embedder = stores.remembering(args.cache.absolute())
    rows: dict[str, list[Shown]] = {"one turn later": [], "every prompt": []}
    for desk in sessions.desks():
        if desk.name in sessions.held_out():
            continue
        with desk_place(desk, embedder, args.cache.absolute(), args.data) as place:
            for name, shown in rows.items():
                shown.extend(hooked(place, embedder, every=name == "every prompt"))
    result = {name: asdict(figures(shown)) for name, shown in rows.items()}
    table([(name, *(row[c] for c in HEAD)) for name, row in result.items()], ("hooks", *HEAD))
    print(save("gate-hooked", {"part": "develop", **result}))


if __name__ == "__main__":
    main()
