"""Facts among talk: a developer's memories and a long conversation in one store, asked about both.

Somebody who imports conversations has such a store. What stands by itself and what was said in
between other turns are to be ranked on one scale, and no public set asks for that: the facts and
the turns that need them come from the labelled sessions of `bench/gate`, the talk from LoCoMo, at
run time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import reverie
from bench.gate.sessions import Desk, Note, desks
from bench.retrieval import data, stores
from reverie.core.config import Settings
from reverie.embedding import Embedder

EVERY = 6  # every how manieth question of the conversation is asked
LESSONS = 2  # every how manieth fact looks as if learned in a session: named, with a speaker
FACTS, TALK = "facts among talk", "talk among facts"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question beside a mixed store, and the ids of the memories that answer it."""

    name: str
    corpus: str  # the conversation: whoever leaves it out leaves this out
    text: str
    gold: frozenset[str]


@contextmanager
def store_of(
    desk: Desk, rows: list[data.Row], embedder: Embedder, cache: Path
) -> Iterator[tuple[reverie.Mind, dict[str, str]]]:
    """A store in memory, and which memory is which row or note."""
    with reverie.open(":memory:", settings=Settings(home=cache), embedder=embedder) as mind:
        mind.remember_many([stores.item(row) for row in rows], space=stores.SPACE)
        mind.remember_many(
            [fact(note, place) for place, note in enumerate(desk.notes)], space=stores.SPACE
        )
        mind.settle()
        yield mind, stores.find_sources(mind)


def fact(note: Note, place: int) -> dict[str, object]:
    """A fact that somebody wrote down, or one that was learned in a session."""
    learned = {"session": f"lesson-{place // 4}", "speaker": "user"} if place % LESSONS else {}
    return {"text": note.text, "kind": note.kind, "details": {"source": note.key}, **learned}


def asked(
    root: Path | None,
    cache: Path,
    chosen: Callable[[Desk], bool],
    each: Callable[[reverie.Mind, Asked], None],
) -> None:
    """Open every mixed store of the chosen desks and hand over its questions."""
    embedder, dataset = stores.remembering(cache), data.load("locomo", root)
    some = [desk for desk in desks() if chosen(desk)]
    for place, (corpus, rows) in enumerate(dataset.corpora.items()):
        desk = some[place % len(some)]
        with store_of(desk, rows, embedder, cache) as (mind, ids):
            for turn in desk.turns:
                if turn.needs:
                    each(
                        mind,
                        Asked(FACTS, corpus, turn.text, frozenset(ids[key] for key in turn.needs)),
                    )
            for question in [q for q in dataset.questions if q.corpus == corpus][::EVERY]:
                gold = frozenset(ids[key] for key in question.gold if key in ids)
                each(mind, Asked(TALK, corpus, question.text, gold))
