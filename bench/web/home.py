"""A home of so many memories, as some years of work leave it: sessions, turns, tools, nights, code.

Vectors are made up for all but the toy embedder, and what readers of the log would do with the bulk
is left out: neither is what a page waits for.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import reverie
from bench.common import Texts
from reverie.core import clock, config
from reverie.core.code_anchors import ANCHORS
from reverie.core.config import Settings
from reverie.core.kinds import DAY
from reverie.core.model import Change, Edge, Event, Link, Memory, Retire
from reverie.embedding import Embedder
from reverie.embedding.toy import ToyEmbedder
from reverie.runtime.settle import READERS
from reverie.testing import Clock
from reverie.text.tokenization import fingerprint_text
from reverie.transcripts.transcript_indexing import embed_passages, index_conversations

SPACE, OTHER = "me/bench", "me/other"
STEP = 500  # each written on a day of its own
BATCH = 5_000
YEARS = 2
PER_SESSION = 20
# One memory in so many is of such a sort.
ANCHORED, INFERRED, NEGATIVE, PLACED_ELSEWHERE, RETIRED = 40, 50, 500, 5, 20
FILES = 400
ROOT = "/home/somebody/project"
PAIRS, NIGHTS, FAILURES, LINKS_OF_A_NIGHT = 40, 60, 30, 60


class MadeUpVectors:
    """An embedder that gives any text some vector, under the name of another model."""

    dims = 384

    def __init__(self, model: str) -> None:
        self.model, self._rng = model, np.random.default_rng(1)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, (n, 384) float32."""
        made = self._rng.standard_normal((len(texts), self.dims), np.float32)
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)

    def close(self) -> None:
        """Nothing to let go of."""


class BenchHome:
    """What was put into a home, for who asks about it."""

    def __init__(self, folder: Path, size: int, embedder: str) -> None:
        self.folder, self.size, self.embedder = folder, size, embedder
        self.words = Texts(1).words
        self.memory = self.session = self.file = ""
        self.turn = self.night = 0

    def open(self, now: Callable[[], float] = clock.now) -> reverie.Mind:
        """The mind of this home."""
        return reverie.open(settings=config.load_settings(self.folder), now=now)

    def fill(self) -> None:
        """Put everything in."""
        config.save_settings(
            Settings(home=self.folder), embedder=self.embedder, sleep="off", backups=0
        )
        then = Clock()
        with self.open(then) as mind:
            assert mind.context.embedder is not None
            model = mind.context.embedder.model
            embedder = ToyEmbedder() if self.embedder == "toy" else MadeUpVectors(model)
            mind.store.await_vectors(embedder.model)
            if self.size:
                memories = fill_memories(mind, self.size, embedder, then)
                fill_log(mind, memories)
                fill_questions(mind, memories)
                fill_nights(mind, memories)
            end_readers(mind, embedder)

    def look(self) -> None:
        """Find what single pages are asked for: something that has everything."""
        with self.open() as mind:
            newest = mind.browse(space=SPACE, limit=1_000)
            self.memory = next((one.id for one in newest if one.session), "")
            turns = mind.activity.turns(limit=1)
            self.turn = turns[0].event if turns else 0
            sessions = mind.sessions.browse(space=SPACE, limit=1)
            self.session = sessions[0].session if sessions else ""
            nights = mind.nights.browse(limit=1)
            self.night = nights[0].run if nights else 0
            files = mind.code.remembered(space=SPACE, limit=1)
            self.file = files[0].path if files else ""


def fill_memories(mind: reverie.Mind, size: int, embedder: Embedder, then: Clock) -> list[Memory]:
    """The memories, the oldest first, with tags, sessions and vectors."""
    texts, now = Texts(1).many(size), clock.now()
    kept: list[Memory] = []
    for start in range(0, size, STEP):
        some = range(start, min(start + STEP, size))
        items = [describe_memory(texts[n], n, size, now) for n in some]
        then.at = float(str(items[-1]["at"])) + 60
        added = mind.remember_many(items)
        made = embedder.embed([one.text for one in added])
        mind.store.put_vectors(
            embedder.model,
            {memory.id: np.asarray(row) for memory, row in zip(added, made, strict=True)},
            {memory.id: fingerprint_text(memory.text) for memory in added},
        )
        gone = [Retire(memory.id, then.at, why="forgotten") for memory in added[7::RETIRED]]
        mind.store.apply(gone, Event("forget", SPACE, then.at))
        kept += added
    then.at = now
    return kept


def describe_memory(text: str, number: int, size: int, now: float) -> dict[str, object]:
    """A memory as it is kept."""
    words = text.split()
    row: dict[str, object] = {
        "text": text,
        "space": OTHER if number % PLACED_ELSEWHERE == 1 else SPACE,
        "session": f"s{number // PER_SESSION}",
        "at": now - YEARS * 365 * DAY * (1 - number / size),
        "tags": sorted(words[:2]),
        "provenance": "user_stated",
    }
    if number % ANCHORED == 0:
        path = f"src/part_{number // ANCHORED % FILES}.py"
        state = "changed" if number % (5 * ANCHORED) == 0 else ""
        anchor = {"root": ROOT, "path": path, "symbol": words[0], "kind": "function"}
        row["details"] = {ANCHORS: [{**anchor, "state": state, "body": text, "at": now}]}
    if number % INFERRED == 2:
        row["provenance"] = "inferred"
    if number % NEGATIVE == 3:
        row |= {"kind": "negative", "triggers": [f"tool:Bash(git {words[0]}*)"]}
        row["text"] = f"Never {text}"
    return row


def fill_log(mind: reverie.Mind, memories: list[Memory]) -> None:
    """Turns with what was given, runs of tools, calls of a model, failures."""
    rng, events = random.Random(3), list[Event]()
    for number in range(0, len(memories), 2):
        memory = memories[number]
        where = (memory.space, memory.at, memory.session)
        given = [one.id for one in rng.sample(memories, min(3, len(memories)))]
        turn = {
            "messages": [
                {"role": "user", "text": f"What about {memory.text}?"},
                {"role": "assistant", "text": f"It is so: {memory.text}."},
            ],
            "first": number % PER_SESSION,
            "waited": 0.01,
            "given": given,
            "why": [["words 3.0"]] * len(given),
        }
        events.append(Event("turn", *where, turn))
        run = {
            "tool": "Bash",
            "command": "pytest",
            "parameters": {"command": "pytest"},
            "result": "12 passed in 0.31s\n" * 20,
            "ok": number % 14 != 0,
            "error": "" if number % 14 else f"src/part_{number % FILES}.py:3: KeyError",
            "duration": 0.3,
        }
        events.append(Event("tool", *where, run))
        if number % 20 == 0:
            cost = {"model": "m", "tokens_in": 900, "tokens_out": 80, "cost": 0.001}
            events.append(Event("llm", *where, cost))
    for number in range(min(FAILURES, len(memories))):
        trouble = {"event": 1, "reader": "learn", "error": f"ValueError: {number}"}
        events.append(Event("failed", SPACE, clock.now(), "", trouble))
    for start in range(0, len(events), BATCH):
        mind.store.append(events[start : start + BATCH])


def fill_questions(mind: reverie.Mind, memories: list[Memory]) -> None:
    """Pairs that contradict each other."""
    ours = [one for one in memories if one.space == SPACE and one.provenance == "user_stated"]
    for one, other in list(zip(ours[::9], ours[4::9], strict=False))[-PAIRS:]:
        mind.link(one.id, other.id, "contradicts")


def fill_nights(mind: reverie.Mind, memories: list[Memory]) -> None:
    """Runs of sleep that linked memories."""
    store, now = mind.store, clock.now()
    nights = min(NIGHTS, 1 + len(memories) // 100)
    for night in range(nights):
        at = now - (nights - night) * DAY
        run = store.append([Event("sleeping", "me", at, "", {"going_through": ["link"]})])[0]
        links = list(list_links(memories, night))
        payload = {"run": run, "by": "link", "steps": [[1, "used together"]] * len(links)}
        store.apply(links, Event("sleep", SPACE, at, "", payload))
        ended = {"run": run, "went_through": {"link": len(links), "fade": "nothing to do"}}
        store.append([Event("slept", "me", at + 60, "", ended)])


def list_links(memories: list[Memory], night: int) -> Iterator[Change]:
    """What a night ties."""
    rng = random.Random(night)
    for _ in range(min(LINKS_OF_A_NIGHT, len(memories) // 2)):
        one, other = rng.sample(memories, 2)
        yield Link(Edge(one.id, "relates_to", other.id, 0.5))


def end_readers(mind: reverie.Mind, embedder: Embedder) -> None:
    """Have nothing wait: readers of the log stand at its end, conversations are indexed."""
    last = mind.store.last_event()
    for reader in READERS:
        mind.store.advance(reader.name, last)
    while index_conversations(mind.context.work):
        pass
    while embed_passages(mind.store, embedder, BATCH):
        pass
