"""What encryption at rest costs: `python -m bench.at_rest`.

The same work in a plain home and in an encrypted one, in turns, so that a busy moment of the machine
meets both: remembering one by one, importing many at once, opening a home and searching it, and
searching one that is open. Shown are medians of the processor time, which other programs of the
machine alter least, and of the time on the clock, and the median of the ratios of the pairs.
`--memories 3000 --pairs 5`.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import reverie
from bench.common import Texts, save, table
from reverie.core.config import Settings
from reverie.core.encryption_file import write_encryption
from reverie.core.home_key import describe_key, new_home_key
from reverie.core.key_ways import seal_with_key_file
from reverie.embedding.toy import ToyEmbedder

TARGET = 1.3  # times as long, at most
REMEMBERED, SEARCHES = 60, 30
SPACE = "me/bench"


class Taken(NamedTuple):
    """Seconds that something took."""

    cpu: float
    clock: float


def timed(work: Callable[[], object]) -> Taken:
    """Seconds that a call takes."""
    cpu, clock = time.process_time(), time.perf_counter()
    work()
    return Taken(time.process_time() - cpu, time.perf_counter() - clock)


class Home:
    """One home, and what is timed in it."""

    def __init__(self, folder: Path, texts: list[str], *, encrypted: bool) -> None:
        folder.mkdir()
        self.settings = Settings(home=folder, embedder="toy", mirror="off")
        self.texts, self.asked = texts, 0
        if encrypted:
            key = new_home_key()
            way = seal_with_key_file(key.files, folder.with_name(f"{folder.name}.key"), folder)
            write_encryption(folder, describe_key(key, (way,)))
        with self.open() as mind:
            mind.remember_many([{"text": text} for text in texts], space=SPACE)
            mind.settle()

    def open(self) -> reverie.Mind:
        """The memory of this home."""
        return reverie.open(settings=self.settings, embedder=ToyEmbedder())

    def questions(self, count: int) -> Iterator[str]:
        """Questions that were not asked before, the same ones for each home."""
        for _ in range(count):
            text = self.texts[self.asked * 37 % len(self.texts)]
            yield " ".join(text.split()[3:8])
            self.asked += 1

    def remember(self, fresh: list[str]) -> Taken:
        """Seconds to remember texts one by one, a commit each."""
        with self.open() as mind:
            return timed(lambda: [mind.remember(text, space=SPACE) for text in fresh])

    def import_many(self, fresh: list[str]) -> Taken:
        """Seconds to import rows of an export, in one transaction."""
        with self.open() as mind, reverie.open(":memory:", embedder=ToyEmbedder()) as source:
            source.remember_many([{"text": text} for text in fresh], space=SPACE)
            rows = list(source.data.export())
            return timed(lambda: mind.store.load(rows))

    def open_and_search(self, _: list[str]) -> Taken:
        """Seconds to open the home and search it once: nothing is in memory yet."""

        def search() -> None:
            with self.open() as mind:
                for question in self.questions(1):
                    mind.recall(question, space=SPACE)

        return timed(search)

    def search(self, _: list[str]) -> Taken:
        """Seconds for searches of a home that is open and was searched."""
        with self.open() as mind:
            mind.recall("anything", space=SPACE)
            return timed(
                lambda: [mind.recall(one, space=SPACE) for one in self.questions(SEARCHES)]
            )


def median_ms(seconds: Iterable[float]) -> float:
    """The median in milliseconds."""
    return round(1_000 * statistics.median(seconds), 1)


def median_ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """The median of the ratios of pairs."""
    return round(statistics.median(ours / theirs for ours, theirs in pairs), 2)


def measure(memories: int, pairs: int) -> dict[str, dict[str, float]]:
    """Medians of both homes and of their ratios, by what was done."""
    made = Texts(1)
    tasks: dict[str, tuple[Callable[[Home, list[str]], Taken], int]] = {
        "remember one by one": (Home.remember, REMEMBERED),
        "import": (Home.import_many, max(500, memories // 5)),
        "open and recall": (Home.open_and_search, 0),
        "recall": (Home.search, 0),
    }
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        texts = made.many(memories)
        open_home = Home(Path(folder) / "plain", texts, encrypted=False)
        sealed_home = Home(Path(folder) / "sealed", texts, encrypted=True)
        for name, (task, count) in tasks.items():
            times = []
            for pair in range(pairs):
                fresh = made.many(count)
                homes = (open_home, sealed_home)
                order = homes if pair % 2 else homes[::-1]
                by_home = {home is sealed_home: task(home, fresh) for home in order}
                times.append((by_home[False], by_home[True]))
            found[name] = {
                "plain_cpu_ms": median_ms(plain.cpu for plain, _ in times),
                "encrypted_cpu_ms": median_ms(sealed.cpu for _, sealed in times),
                "cpu_ratio": median_ratio((sealed.cpu, plain.cpu) for plain, sealed in times),
                "plain_ms": median_ms(plain.clock for plain, _ in times),
                "encrypted_ms": median_ms(sealed.clock for _, sealed in times),
                "ratio": median_ratio((sealed.clock, plain.clock) for plain, sealed in times),
            }
    return found


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=3_000)
    parser.add_argument("--pairs", type=int, default=5)
    chosen = parser.parse_args()
    found = measure(chosen.memories, chosen.pairs)
    rows = [[name, *figures.values()] for name, figures in found.items()]
    table(rows, ["what", *next(iter(found.values()))])
    result: dict[str, Any] = {"memories": chosen.memories, "pairs": chosen.pairs, "target": TARGET}
    save("at_rest", {**result, "tasks": found})


if __name__ == "__main__":
    main()
