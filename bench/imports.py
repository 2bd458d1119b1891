"""What taking along another program's memories costs: `python -m bench.imports [--conversations 2000]
[--memories 5000]`

Made-up files as the programs write them: ChatGPT's export of conversations of twelve messages, a
palace of MemPalace, a database of claude-mem. Each is imported into an empty home on disk; the
conversations once more from the same file, where all are known. Texts come from word lists, and some
of what the user says teaches something.

Time is the processor's, so that a busy machine does not alter it, and messages (or memories) a
second of it. What stands beside it is the floor: the same messages read from the same file and
written to a SQLite file with a full-text index, a transaction each conversation, without redaction,
without learning. How many times the floor an import takes is what may be compared between machines.
"""

import argparse
import json
import random
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import reverie
from bench.common import Texts, save, table
from reverie.core.config import Settings
from reverie.testing import Clock

SPACE = "me/bench"
START = 1_700_000_000.0
MESSAGES = 12
TAUGHT = (
    "I prefer {a} over {b} for this.",
    "Remember: the {a} server is called {b}.",
    "We decided to move {a} to {b}.",
    "Always run the {a} checks before {b}.",
    "My {a} is called {b}.",
    "Never deploy {a} on Fridays.",
    "No, that is wrong: {a} listens on {b}.",
)
# Half of what people write; without them no language is recognised.
SMALL_WORDS = [
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "it",
    "you",
    "that",
    "for",
    "on",
    "with",
    "as",
    "are",
    "this",
    "be",
    "at",
    "or",
    "have",
    "from",
    "one",
    "had",
    "by",
    "word",
    "but",
    "not",
    "what",
    "all",
    "were",
    "we",
    "when",
    "your",
    "can",
    "there",
    "use",
    "each",
    "which",
    "do",
    "how",
    "their",
    "if",
    "will",
    "up",
    "other",
    "about",
    "out",
    "many",
    "then",
    "them",
    "these",
    "so",
    "some",
    "her",
    "would",
    "make",
    "like",
    "him",
    "into",
    "time",
    "has",
    "look",
    "two",
    "more",
    "write",
    "go",
    "see",
    "number",
    "no",
    "way",
    "could",
    "people",
    "my",
    "than",
    "first",
    "been",
    "call",
    "who",
    "its",
    "now",
    "find",
    "long",
    "down",
    "day",
    "did",
    "get",
    "come",
    "made",
    "may",
    "part",
    "over",
    "new",
    "sound",
    "take",
    "only",
    "little",
    "work",
    "know",
    "place",
    "year",
    "live",
    "me",
    "back",
    "give",
    "most",
    "very",
    "after",
    "thing",
    "our",
    "just",
    "name",
    "good",
    "man",
    "think",
    "say",
    "great",
    "where",
    "help",
    "through",
    "much",
    "before",
    "line",
    "right",
    "too",
    "mean",
    "old",
    "any",
    "same",
    "tell",
    "follow",
    "came",
    "want",
    "show",
    "also",
    "around",
    "form",
    "three",
    "small",
    "set",
    "put",
    "end",
    "does",
    "another",
    "well",
    "large",
    "must",
    "big",
    "even",
    "such",
    "because",
    "turn",
    "here",
    "why",
    "ask",
    "went",
    "men",
    "read",
    "need",
    "different",
    "move",
    "try",
    "kind",
    "hand",
    "picture",
    "again",
    "change",
    "off",
    "play",
    "spell",
    "air",
    "away",
    "house",
    "point",
    "page",
    "answer",
    "found",
]
CODE = "```python\ndef {a}({b}):\n    return {b}.{c}({b}, 42)\n```"


class TalkWriter:
    """Messages as people and assistants write them, of made-up words."""

    def __init__(self, seed: int = 1) -> None:
        self.dice = random.Random(seed)
        texts = Texts(seed)
        self.words = texts.words
        # Drawn at once: weights of so many words are slow to look through for each sentence.
        rare = self.dice.choices(texts.words, texts.weights, k=100_000)
        small = self.dice.choices(SMALL_WORDS, k=100_000)
        self.common = [word for pair in zip(rare, small, strict=True) for word in pair]
        self.dice.shuffle(self.common)

    def sentence(self, length: int) -> str:
        """So many words with a capital and a full stop."""
        start = self.dice.randrange(len(self.common) - length)
        said = " ".join(self.common[start : start + length])
        return f"{said[0].upper()}{said[1:]}."

    def user_message(self) -> str:
        """A question; in one of five there is something to learn."""
        dice = self.dice
        parts = [f"How do I get {self.sentence(dice.randint(5, 14))[:-1].lower()}?"]
        parts += [self.sentence(dice.randint(5, 16)) for _ in range(dice.randint(0, 3))]
        if dice.random() < 0.2:
            words = dice.sample(self.words, 2)
            parts.append(dice.choice(TAUGHT).format(a=words[0], b=words[1]))
        return " ".join(parts)

    def assistant_message(self) -> str:
        """Paragraphs, a list now and then, and code in one of three."""
        dice = self.dice
        parts = [
            " ".join(self.sentence(dice.randint(8, 20)) for _ in range(dice.randint(2, 5)))
            for _ in range(dice.randint(1, 4))
        ]
        if dice.random() < 0.4:
            items = [f"- {self.sentence(dice.randint(4, 10))}" for _ in range(dice.randint(2, 5))]
            parts.append("\n".join(items))
        if dice.random() < 0.33:
            a, b, c = dice.sample(self.words, 3)
            parts.append(CODE.format(a=a, b=b, c=c))
        return "\n\n".join(parts)


def make_conversation(writer: TalkWriter, number: int, messages: int) -> dict[str, Any]:
    """A conversation as ChatGPT exports it: a tree, here of one branch."""
    begun = START + number * 3_600.0
    nodes: dict[str, Any] = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["m0"]}
    }
    for place in range(messages):
        role = ("user", "assistant")[place % 2]
        text = writer.user_message() if role == "user" else writer.assistant_message()
        nodes[f"m{place}"] = {
            "id": f"m{place}",
            "message": {
                "id": f"{number}-{place}",
                "author": {"role": role, "name": None, "metadata": {}},
                "create_time": begun + place * 45.0,
                "content": {"content_type": "text", "parts": [text]},
                "status": "finished_successfully",
                "weight": 1.0,
                "metadata": {},
                "recipient": "all",
            },
            "parent": f"m{place - 1}" if place else "root",
            "children": [f"m{place + 1}"] if place + 1 < messages else [],
        }
    id = f"67c0ffee-0000-4000-8000-{number:012d}"
    return {
        "title": writer.sentence(4)[:-1],
        "create_time": begun,
        "update_time": begun + messages * 45.0,
        "mapping": nodes,
        "current_node": f"m{messages - 1}",
        "conversation_id": id,
        "id": id,
    }


def write_chatgpt_export(folder: Path, conversations: int, messages: int = MESSAGES) -> Path:
    """ChatGPT's archive with so many conversations."""
    writer = TalkWriter()
    talks = [make_conversation(writer, number, messages) for number in range(conversations)]
    path = folder / "chatgpt.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(talks))
    return path


def write_palace(folder: Path, drawers: int) -> Path:
    """A palace of MemPalace with so many drawers."""
    writer = TalkWriter(2)
    place = folder / "mempalace"
    place.mkdir()
    with closing(sqlite3.connect(place / "sqlite_exact.sqlite3")) as db, db:
        db.execute("create table collections (id text primary key, name text)")
        db.execute(
            "create table documents (id text primary key, collection_id text, document text,"
            " metadata_json text)"
        )
        db.execute("insert into collections values ('c', 'mempalace_drawers')")
        for number in range(drawers):
            meta = {
                "wing": f"wing-{number % 7}",
                "room": f"room-{number % 41}",
                "source_file": f"notes/{number // 10}.md",
                "chunk_index": number % 10,
                "added_by": "mempalace",
                "filed_at": f"2026-0{1 + number % 9}-11T09:{number % 60:02d}:00",
            }
            text = writer.assistant_message()
            db.execute(
                "insert into documents values (?, 'c', ?, ?)",
                (f"drawer_{number}", text, json.dumps(meta)),
            )
    return place


def write_claude_mem(folder: Path, observations: int) -> Path:
    """A database of claude-mem with so many observations."""
    writer = TalkWriter(3)
    place = folder / "claude-mem"
    place.mkdir()
    with closing(sqlite3.connect(place / "claude-mem.db")) as db, db:
        db.execute(
            "create table sdk_sessions (id integer primary key, memory_session_id text,"
            " content_session_id text, project text)"
        )
        db.execute(
            "create table observations (id integer primary key, memory_session_id text,"
            " project text, text text, type text, title text, subtitle text, facts text,"
            " narrative text, concepts text, files_read text, files_modified text,"
            " created_at text, created_at_epoch integer)"
        )
        for session in range(observations // 20 + 1):
            db.execute(
                "insert into sdk_sessions values (?, ?, ?, 'shop')",
                (session, f"memory-{session}", f"content-{session}"),
            )
        for number in range(observations):
            epoch = int(START + number * 300) * 1_000
            row = (
                number,
                f"memory-{number // 20}",
                "shop",
                None,
                ("decision", "bugfix", "discovery", "change")[number % 4],
                writer.sentence(6),
                writer.sentence(10),
                json.dumps([writer.sentence(9) for _ in range(3)]),
                " ".join(writer.sentence(14) for _ in range(3)),
                json.dumps(["how-it-works", "gotcha"][: number % 3]),
                json.dumps([f"src/{number % 50}.py"]),
                json.dumps([]),
                "2026-01-01T00:00:00Z",
                epoch,
            )
            db.execute(f"insert into observations values ({', '.join('?' * len(row))})", row)
    return place


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of this process, of all its threads, that a call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def write_floor(path: Path, folder: Path) -> None:
    """The messages of an export into SQLite with a full-text index, and nothing else."""
    with closing(sqlite3.connect(folder / "floor.db")) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("create virtual table said using fts5 (text)")
        with zipfile.ZipFile(path) as archive:
            talks = json.loads(archive.read("conversations.json"))
        for talk in talks:
            nodes = [one["message"] for one in talk["mapping"].values() if one["message"]]
            with db:
                db.executemany(
                    "insert into said values (?)",
                    [("\n".join(one["content"]["parts"]),) for one in nodes],
                )


def import_file(path: Path, home: Path) -> tuple[float, Any]:
    """Processor seconds of importing a file into a home, and the outcome."""
    with reverie.open(settings=Settings(home=home, embedder="none"), now=Clock()) as mind:
        outcomes: list[Any] = []
        taken = processor_seconds(
            lambda: outcomes.append(mind.data.import_from(path, space=SPACE, trusted=True))
        )
    return taken, outcomes[0]


def measure_conversations(count: int) -> dict[str, Any]:
    """ChatGPT's export: the floor, the first import, and the same file once more."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        path = write_chatgpt_export(folder, count)
        floor = processor_seconds(lambda: write_floor(path, folder))
        first, done = import_file(path, folder / "home")
        again, _ = import_file(path, folder / "home")
    said = done.talk.messages
    return {
        "conversations": done.talk.conversations,
        "messages": said,
        "memories": done.talk.memories,
        "floor_s": floor,
        "import_s": first,
        "again_s": again,
        "messages_per_s": said / first,
        "times_floor": first / floor,
    }


def measure_memories(write: Callable[[Path, int], Path], count: int) -> dict[str, Any]:
    """Memories of another program, as one event."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        taken, done = import_file(write(folder, count), folder / "home")
    kept = sum(done.plan.kinds.values())
    return {"memories": kept, "import_s": taken, "memories_per_s": kept / taken}


def main() -> None:
    """All three, as a table and as a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=2_000)
    parser.add_argument("--memories", type=int, default=5_000)
    chosen = parser.parse_args()
    talk = measure_conversations(chosen.conversations)
    palace = measure_memories(write_palace, chosen.memories)
    observed = measure_memories(write_claude_mem, chosen.memories)
    table(
        [
            ["ChatGPT, messages", talk["messages"], talk["import_s"], talk["messages_per_s"]],
            ["ChatGPT, once more", talk["messages"], talk["again_s"], ""],
            ["floor: SQLite alone", talk["messages"], talk["floor_s"], ""],
            ["MemPalace", palace["memories"], palace["import_s"], palace["memories_per_s"]],
            ["claude-mem", observed["memories"], observed["import_s"], observed["memories_per_s"]],
        ],
        ("what", "count", "processor s", "a second"),
    )
    print(f"An import of conversations takes {talk['times_floor']:.1f} times what the floor does.")
    save("imports", {"chatgpt": talk, "mempalace": palace, "claude_mem": observed})


if __name__ == "__main__":
    main()
