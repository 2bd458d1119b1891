"""Turns with the store they are typed beside: the labelled sessions, and turns made from the public
sets at run time.

From the public sets, which are never copied: a question beside the conversation that answers it
(needed: its evidence), the same question beside another conversation (quiet), a line of plain chat
beside a developer's memories (quiet), and a commit's title from a repository's history, as a
developer would put a task, beside memories of another project (quiet). Every case has its own small
or large store; a `Place` opens it.
"""

import json
import lzma
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import reverie
from bench.gate import sessions
from bench.gate.sessions import DAY, Desk
from bench.retrieval import data, stores
from reverie.core.config import Settings
from reverie.embedding import Embedder
from reverie.text.host_messages import HostMessage

NOW = 1_760_000_000.0
CHATS = {"locomo": 5, "beam-100k": 4, "cosqa": 1}  # conversations of each set that are used
QUESTIONS = 40  # of each conversation
COMMITS = 12  # titles of each repository beside each store
LINES = 12  # lines of chat beside each store
APART = 60.0  # seconds between two turns


@dataclass(frozen=True, slots=True)
class Case:
    """One turn: what was said up to it, and the ids of the memories that it needs."""

    id: str
    group: str  # which part of the set it belongs to
    store: str  # the store's name
    session: str  # turns of one session share what was already shown
    window: tuple[HostMessage, ...]
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """A store with the turns that are typed beside it, in order."""

    name: str
    mind: reverie.Mind
    space: str
    cases: tuple[Case, ...]


@contextmanager
def desk_place(desk: Desk, embedder: Embedder, home: Path, root: Path | None) -> Iterator[Place]:
    """A developer's store, in memory, with its own turns and strangers' ones."""
    space = f"me/{desk.name}"
    with reverie.open(
        ":memory:", settings=Settings(home=home), embedder=embedder, now=lambda: NOW
    ) as mind:
        mind.remember_many(
            [
                {
                    "text": note.text,
                    "kind": note.kind,
                    "provenance": note.by,
                    "at": NOW - note.days * DAY,
                    "space": "me" if note.everywhere else space,
                    "triggers": note.triggers,
                    "details": {"source": note.key},
                }
                for note in desk.notes
            ],
            space=space,
        )
        mind.settle()
        found = mind.browse(space=space, limit=1_000)
        # A reason that a memory gives becomes one of its own, which no turn is labelled with.
        ids = {
            memory.details["source"]: memory.id for memory in found if "source" in memory.details
        }
        yield Place(desk.name, mind, space, (*own(desk, ids), *strangers(desk, root)))


def own(desk: Desk, ids: dict[str, str]) -> Iterator[Case]:
    """The labelled turns of a store, each with what was said before it in the same session."""
    window: list[HostMessage] = []
    session = -1
    for turn in desk.turns:
        if turn.session != session:
            window, session = [], turn.session
        window.append(HostMessage("user", turn.text))
        yield Case(
            turn.id,
            "sessions",
            desk.name,
            f"{desk.name}-{session}",
            tuple(window),
            frozenset(ids[key] for key in turn.needs),
        )
        if turn.answer:
            window.append(HostMessage("assistant", turn.answer))


def strangers(desk: Desk, root: Path | None) -> Iterator[Case]:
    """Turns of other people that need none of this store's memories: tasks of public projects, and
    chat.
    """
    rng = random.Random(desk.name)
    folder = root or data.default_root()
    for path in sorted(folder.glob("replay/*.json.xz")):
        for place, title in enumerate(rng.sample(titles(path), COMMITS)):
            name = f"{desk.name}-{path.name.split('.')[0]}-{place}"
            yield Case(name, "commits", desk.name, name, (HostMessage("user", title),), frozenset())
    for place, line in enumerate(rng.sample(chat(root), LINES)):
        name = f"{desk.name}-chat-{place}"
        yield Case(name, "chat", desk.name, name, (HostMessage("user", line),), frozenset())


@lru_cache
def chat(root: Path | None) -> list[str]:
    """What people say to each other."""
    return [row.text for rows in data.load("locomo", root).corpora.values() for row in rows]


@lru_cache
def titles(path: Path) -> list[str]:
    """What a repository's commits say they do."""
    return [
        task["title"]
        for task in json.loads(lzma.open(path).read())["tasks"]
        if task["title"].strip()
    ]


@contextmanager
def chat_place(
    dataset: data.Dataset, corpus: str, embedder: Embedder, cache: Path
) -> Iterator[Place]:
    """A public conversation with questions about it and about another one."""
    mind, ids = stores.opened(dataset, corpus, embedder, cache)
    rng = random.Random(corpus)
    mine = [q for q in dataset.questions if q.corpus == corpus]
    others = [q for q in dataset.questions if q.corpus != corpus] or data.load("locomo").questions
    name = f"{dataset.name}-{corpus}"
    cases = [
        *(asked(name, "questions", q, ids) for q in rng.sample(mine, min(QUESTIONS, len(mine)))),
        *(
            asked(name, "foreign questions", q, {})
            for q in rng.sample(others, min(QUESTIONS, len(others)))
        ),
    ]
    try:
        yield Place(name, mind, stores.SPACE, tuple(cases))
    finally:
        mind.store.close()


def asked(store: str, group: str, question: data.Question, ids: dict[str, str]) -> Case:
    name = f"{store}-{group}-{question.id}"
    return Case(
        name,
        group,
        store,
        name,
        (HostMessage("user", question.text),),
        frozenset(ids[one] for one in question.gold if one in ids),
    )


def held_out(place: str, part: Sequence[str]) -> bool:
    """Whether a store is held out: the labelled ones by their names' hash, of each public set the
    last two fifths.
    """
    if place in {desk.name for desk in sessions.desks()}:
        return place in sessions.held_out()
    return place in part[-max(1, round(0.4 * len(part))) :] if len(part) > 1 else False


def places(
    embedder: Embedder, home: Path, root: Path | None, *, held: bool | None
) -> Iterator[Place]:
    """Every store of one part of the set; `held` None means all of them. One is open at a time."""
    for desk in sessions.desks():
        if held is None or held_out(desk.name, ()) == held:
            with desk_place(desk, embedder, home, root) as place:
                yield place
    for name, count in CHATS.items():
        dataset = data.load(name, root)
        corpora = list(dataset.corpora)[:count]
        for corpus in corpora:
            if held is None or held_out(corpus, corpora) == held:
                with chat_place(dataset, corpus, embedder, home) as place:
                    yield place
