"""What waits for a person's decision, from texts that nobody of this project wrote: `python -m
bench.reconcile.review [--cache DIR] [--half develop] [--show]`.

Two sources in the folder of data sets (`default_root`; nothing is done where they are missing): what
people say of themselves and their work in ten long chats (BEAM: statements of the user of 25 to 200
characters, each chat a home, each session a week later), and what was noted of sessions with coding
agents (the gists of `sessions/labels.jsonl`, all in one home). All are remembered in order and
settled. Counted: the pairs that wait, in how many memories, and how many of them a person would want
to decide, by labels given by hand before anything was changed. `review_labels.txt` holds these as
hashes, as the texts may not be given on: the SHA-256 of the two texts, and 1 where a person wants to
be asked: the same said twice, or two that cannot both hold, and named as what it is. Pairs without
a label are counted apart. Odd chats are for developing, even ones are held out, and the gists are
known. Writes bench/results/review.json.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.common import save, table
from bench.reconcile.data import HALVES, HERE
from bench.retrieval.data import default_root
from reverie.embedding import Embedder, open_embedder
from reverie.embedding.vector_cache import CachedEmbedder
from reverie.testing import Clock, memory

SHORTEST, LONGEST = 25, 200
OWN = re.compile(r"\b(I|I'm|I've|my|we|our|we're|we've)\b")
REQUEST = re.compile(r"(?i)(can|could|how|what|should|would|is|are|do|does|please|help)\b")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|, (?=can you|could you|how |what |should )")
CODE = re.compile(r"```.*?(```|$)", re.DOTALL)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def list_statements(chat: Path) -> Iterator[tuple[str, str]]:
    """(session, what the user states of themselves) of a chat, each once."""
    seen: set[str] = set()
    for row in read_lines(chat):
        if row["speaker"] != "user":
            continue
        for part in SENTENCE.split(CODE.sub(" ", row["text"])):
            said = (part or "").strip(" -*")
            is_statement = OWN.search(said) and not said.endswith("?") and not REQUEST.match(said)
            if SHORTEST <= len(said) <= LONGEST and is_statement and said not in seen:
                seen.add(said)
                yield row["session_id"], said


def collect_homes(root: Path, half: str) -> dict[str, list[tuple[str, str]]]:
    """Home → (session, text) in order."""
    chats = sorted((root / "beam-100k" / "corpus").glob("*.jsonl"))
    odd = half == "develop"
    homes = {
        chat.stem: list(list_statements(chat))
        for chat in chats
        if int(chat.stem.rpartition("-")[2]) % 2 == odd
    }
    gists = root / "sessions" / "labels.jsonl"
    if odd and gists.exists():
        homes["gists"] = [(row["session"], row["gist"]) for row in read_lines(gists)]
    return homes


def hash_pair(one: str, other: str) -> str:
    """What stands for a pair in the file of labels."""
    return sha256("\n".join(sorted((one, other))).encode()).hexdigest()[:16]


def read_labels() -> dict[str, bool]:
    """Hash and kind of a pair → whether a person wants to be asked."""
    rows = (line.split() for line in (HERE / "review_labels.txt").read_text("utf-8").splitlines())
    return {row[0]: row[1] == "1" for row in rows if row and row[0] != "#"}


def grow_home(said: Sequence[tuple[str, str]], embedder: Embedder) -> list[tuple[str, str, str]]:
    """(kind, older text, newer text) of what waits at the end."""
    with TemporaryDirectory() as folder:
        clock = Clock()
        with memory(folder, now=clock, embedder=embedder) as mind:
            last = ""
            for session, text in said:
                if session != last:
                    mind.settle()
                    clock.tick(days=7)
                last = session
                clock.tick(minutes=3)
                mind.remember(
                    text, space="me/demo", kind="fact", provenance="user_stated", session=session
                )
            mind.settle()
            cases = mind.review.cases(space="me/demo")
            return [(case.kind, case.one.text, case.other.text) for case in cases]


def measure(half: str, root: Path, embedder: Embedder, *, show: bool) -> dict[str, Any]:
    """Pairs, those that are wanted, and those that nobody labelled, by source."""
    labels = read_labels()
    found: dict[str, dict[str, int]] = defaultdict(
        lambda: {"memories": 0, "pairs": 0, "wanted": 0, "not labelled": 0}
    )
    for home, said in collect_homes(root, half).items():
        row = found["gists" if home == "gists" else "chats"]
        row["memories"] += len(said)
        for kind, one, other in grow_home(said, embedder):
            wanted = labels.get(hash_pair(one, other))
            row["pairs"] += 1
            row["wanted"] += wanted is True
            row["not labelled"] += wanted is None
            if show and not wanted:
                print(f"  {kind} {wanted} | {one} | {other}")
    return {
        name: row | {"precision": row["wanted"] / max(1, row["pairs"] - row["not labelled"])}
        for name, row in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "reverie-bench")
    parser.add_argument("--data", type=Path, default=default_root())
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both")
    parser.add_argument("--show", action="store_true", help="print what nobody wants to decide")
    args = parser.parse_args()
    if not (args.data / "beam-100k").exists():
        print("no data: nothing measured")
        return
    cache = args.cache if (args.cache / "models").exists() else args.cache / "cache"
    embedder = CachedEmbedder(open_embedder("minilm", cache=cache), {})
    told: dict[str, Any] = {"target": {"precision": ">= 0.8"}}
    for half in HALVES if args.half == "both" else (args.half,):
        told[half] = measure(half, args.data, embedder, show=args.show)
        print()
        table(
            [[name, *row.values()] for name, row in told[half].items()],
            [half, *next(iter(told[half].values()))],
        )
    embedder.close()
    if args.half == "both":
        save("review", told)


if __name__ == "__main__":
    main()
