"""What purging one memory of very many costs: `python -m bench.purge`.

Of two purges the second counts, since the first loads what the others have loaded. Meanwhile another
thread writes events through connections of its own: the longest that one had to wait. Afterwards
every byte of the home is searched for the telling words. `--sizes 10000 100000`.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import reverie
from bench.common import Texts, save, table
from reverie.core.config import Settings
from reverie.core.model import Add, Event
from reverie.testing import make_event, make_memory

STEP = 5_000
PURGED = (
    ("The vault word is Zanzibarquartz of the Plovergate.", b"zanzibarquartz", b"plovergate"),
    ("The lock word is Wombatmeridian of the Quailstone.", b"wombatmeridian", b"quailstone"),
)


def fill(mind: reverie.Mind, size: int) -> None:
    """Insert so many memories, each with a history, in a few transactions."""
    texts = Texts(1).many(size)
    for start in range(0, size, STEP):
        some = range(start, min(start + STEP, size))
        made = [Add(make_memory(texts[n], space=f"me/p{n % 20}")) for n in some]
        mind.store.apply(made, make_event())


class Writer(threading.Thread):
    """Appends events until told to stop; the longest that one took."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings, self.longest, self.done = settings, 0.0, threading.Event()

    def run(self) -> None:
        """Write, and note how long it took."""
        with reverie.open(settings=self.settings) as mind:
            while not self.done.wait(0.01):
                begun = time.perf_counter()
                mind.store.append([Event(verb="tool", space="me/p1", at=1.7e9)])
                self.longest = max(self.longest, time.perf_counter() - begun)


def measure(size: int) -> dict[str, Any]:
    """One store, two purges."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), embedder="none")
        with reverie.open(settings=settings) as mind:
            fill(mind, size)
            for text, *_ in PURGED:
                kept = mind.remember(text, space="me/p1")
                writer = Writer(settings)
                writer.start()
                begun, computing = time.perf_counter(), time.thread_time()
                mind.data.purge(kept.id)
                seconds = time.perf_counter() - begun
                computing = time.thread_time() - computing
                writer.done.set()
                writer.join()
        held = b"".join(one.read_bytes() for one in Path(folder).rglob("*") if one.is_file())
        left = [word.decode() for _, *words in PURGED for word in words if word in held.lower()]
    return {
        "memories": size,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(computing, 2),
        "longest_write": round(writer.longest, 2),
        "words_left": " ".join(left),
    }


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    found = [measure(size) for size in parser.parse_args().sizes]
    table([list(one.values()) for one in found], list(found[0]))
    save("purge", {"sizes": found})


if __name__ == "__main__":
    main()
