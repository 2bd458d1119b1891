"""How long a caller waits: `turn`, `remember`, the first hit of a cold process, the import. `python
-m bench.latency`

Every figure is a ratio to a baseline of the same run; the targets are in the last column.
"""

import argparse
import compileall
import gc
import resource
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import reverie
from bench.common import Texts, percentile, process_seconds, save, table, timed
from bench.retrieval.stores import model
from reverie.core.config import Settings

COLD = """
import sys, reverie
with reverie.open(sys.argv[1]) as mind:
    hits = mind.recall(sys.argv[2], space="me/bench", mode="words", limit=5)
    assert hits, "nothing found"
"""


def opened(home: Path, embedder: str = "minilm") -> reverie.Mind:
    return reverie.open(settings=Settings(home=home, embedder=embedder, deadline=0.03))


def remember(home: Path, count: int = 400) -> dict[str, float]:
    """One memory a call against a bare insert-and-commit with the same pragmas, taken in turns."""
    texts = Texts().many(count)
    bare = sqlite3.connect(home / "bare.db", isolation_level=None)
    for pragma in ("journal_mode = wal", "synchronous = full", "secure_delete = on"):
        bare.execute(f"pragma {pragma}")
    bare.execute("create table t (a integer primary key, b text)")

    def insert(text: str) -> None:
        bare.execute("begin immediate")
        bare.execute("insert into t (b) values (?)", (text,))
        bare.execute("commit")

    ours, theirs = [], []
    with opened(home / "remember", "none") as mind:
        for text in texts:
            theirs.append(timed(lambda: insert(text)))
            ours.append(timed(lambda: mind.remember(text, space="me/bench")))
    bare.close()
    return {
        "ours": percentile(ours, 0.5),
        "bare": percentile(theirs, 0.5),
        "ours_p95": percentile(ours, 0.95),
        "bare_p95": percentile(theirs, 0.95),
    }


def bulk(home: Path, count: int = 20_000) -> float:
    """Memories a second through `remember_many`, embedding left out."""
    items = [{"text": text, "session": f"s{i // 20}"} for i, text in enumerate(Texts().many(count))]
    with opened(home / "bulk", "none") as mind:
        return count / timed(lambda: mind.remember_many(items, space="me/bench"))


def turns(home: Path, cache: Path, queued: int = 300) -> dict[str, float]:
    """`turn` while 300 turns are queued and the background embeds, against one short text embedded
    alone.
    """
    with reverie.open(settings=Settings(home=home / "turn", embedder="minilm")) as mind:
        embedder = mind.context.embedder = model(cache)
        mind.remember_many([{"text": text} for text in Texts().many(500)], space="me/bench")
        embedder.embed(["warm up"])
        texts = Texts(2).many(40)
        alone = percentile([timed(lambda: embedder.embed([text])) for text in texts], 0.5)
        taken: list[float] = []
        with mind.companion(space="me/bench/session") as companion:
            messages: list[dict[str, str]] = [{"role": "user", "content": "the first one"}]
            companion.turn(messages)
            for text in Texts(3).many(queued):
                messages += [
                    {"role": "assistant", "content": text},
                    {"role": "user", "content": text[::-1]},
                ]
                taken.append(timed(lambda: companion.turn(messages)))
            behind = companion.behind
            spaced = []
            for text in Texts(4).many(200):
                messages += [{"role": "user", "content": text}]
                spaced.append(timed(lambda: companion.turn(messages)))
                time.sleep(0.01)
        return {
            "embed": alone,
            "p50": percentile(taken, 0.5),
            "p99": percentile(taken, 0.99),
            "max": max(taken),
            "behind": behind,
            "spaced_p99": percentile(spaced, 0.99),
            "dropped": companion.dropped,
        }


def memory(home: Path, count: int = 100_000) -> dict[str, Any]:
    """Resident memory while 100,000 turns go by (toy embedder, so that it is our own state that is
    seen).
    """
    marks: list[float] = []
    with (
        opened(home / "flat", "toy") as mind,
        mind.companion(space="me/bench/session") as companion,
    ):
        mind.remember_many([{"text": text} for text in Texts().many(200)], space="me/bench")
        for i in range(count):
            companion.turn([{"role": "user", "content": f"turn number {i} about topic {i % 97}"}])
            if i % 100 == 0:
                companion.wait()
            if i % (count // 10) == count // 10 - 1:
                gc.collect()
                marks.append(rss())
        companion.wait()
        events = mind.data.stats().events
        dropped, threads = companion.dropped, threading.active_count()
    return {
        "mb": [round(m, 1) for m in marks],
        "growth": marks[-1] - marks[1],
        "events": events,
        "dropped": dropped,
        "threads": threads,
    }


def rss() -> float:
    """Megabytes resident now."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def cold(home: Path) -> dict[str, float]:
    """A new process to its first hit by words, against `import sqlite3`; and the import alone."""
    # as an installed package is
    compileall.compile_dir(str(Path(reverie.__file__).parent), quiet=2)
    with opened(home / "cold", "none") as mind:
        texts = Texts().many(2_000)
        mind.remember_many([{"text": text} for text in texts], space="me/bench")
    question = " ".join(texts[7].split()[:5])
    runs = {
        "bare": ("pass",),
        "sqlite3": ("import sqlite3",),
        "import": ("import reverie",),
        "first_hit": (COLD, str(home / "cold"), question),
    }
    return process_seconds(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cache", type=Path, default=Path(".cache/home"), help="a home whose model files are used"
    )
    parser.add_argument("--turns", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kept, speed, waits = remember(home), bulk(home), turns(home, args.cache.absolute())
        started, flat = cold(home), memory(home, args.turns)
    rows = [
        (
            "turn() p99, 300 queued",
            waits["p99"] * 1e3,
            "embed one text",
            waits["embed"] * 1e3,
            waits["p99"] / waits["embed"],
            "≤ 0.02",
        ),
        (
            "turn() p99, one in 10 ms",
            waits["spaced_p99"] * 1e3,
            "embed one text",
            waits["embed"] * 1e3,
            waits["spaced_p99"] / waits["embed"],
            "",
        ),
        (
            "remember() p50",
            kept["ours"] * 1e3,
            "bare insert",
            kept["bare"] * 1e3,
            kept["ours"] / kept["bare"],
            "≤ 5",
        ),
        (
            "cold first hit",
            started["first_hit"] * 1e3,
            "import sqlite3",
            started["sqlite3"] * 1e3,
            started["first_hit"] / started["sqlite3"],
            "≤ 3",
        ),
        (
            "import reverie",
            started["import"] * 1e3,
            "bare python",
            started["bare"] * 1e3,
            (started["import"] - started["bare"]) * 1e3,
            "≤ 50 ms more",
        ),
    ]
    table(rows, ("what", "ms", "baseline", "ms", "ratio", "target"))
    print(f"bulk: {speed:,.0f} memories/s (target 5,000)")
    print(
        f"100,000 turns: resident MB {flat['mb']}, growth after the first fifth {flat['growth']:.1f}, "
        f"{flat['events']:,} events, {flat['dropped']} dropped"
    )
    save(
        "latency",
        {"turn": waits, "remember": kept, "bulk_per_second": speed, "cold": started, "flat": flat},
    )


if __name__ == "__main__":
    main()
