"""Whether devices agree after random histories, and how long being in step takes:
`python -m bench.device_sync --histories 10000 --memories 100000 --real-seconds 300 --server-seconds 120`.

The first sync is that of an empty home with a folder into which another has written so many
memories; what one change takes is from the moment that its file lies in the folder until the other
home, whose background thread looks by itself, has it.
"""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import reverie
from bench.common import RESULTS, Texts, percentile, save, table, timed
from bench.device_sync.histories import run_histories
from bench.device_sync.home_machine import run_homes_by_server, run_real_homes
from reverie.core.config import Settings
from reverie.core.model import Add, Filter
from reverie.testing import make_event, make_memory

STEP = 5_000
CHANGES = 10
PATIENCE = 30.0


def open_home(folder: Path, name: str) -> reverie.Mind:
    """A home in a folder, without a model."""
    return reverie.open(settings=Settings(home=folder / name, embedder="none"))


def fill(mind: reverie.Mind, size: int) -> None:
    """Insert so many memories."""
    texts = Texts(1).many(size)
    for start in range(0, size, STEP):
        some = range(start, min(start + STEP, size))
        made = [Add(make_memory(texts[n], space=f"me/p{n % 20}")) for n in some]
        mind.store.apply(made, make_event())


def measure_speed(size: int) -> dict[str, Any]:
    """How long two homes need that are in step through a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        carried = folder / "carried"
        carried.mkdir()
        with open_home(folder, "laptop") as laptop, open_home(folder, "desk") as desk:
            fill(laptop, size)
            laptop.devices.add(str(carried), name="laptop")
            desk.devices.add(str(carried), name="desk")
            wrote = timed(laptop.devices.sync)
            held = sum(one.stat().st_size for one in carried.rglob("*.log"))
            read = timed(desk.devices.sync)
            found = desk.store.stats().memories
            assert found == size, f"{found} of {size} memories have come"
            again = timed(desk.devices.sync)
            delays = measure_delays(laptop, desk)
    return {
        "memories": size,
        "first_write_seconds": round(wrote, 1),
        "first_read_seconds": round(read, 1),
        "folder_bytes": held,
        "nothing_new_seconds": round(again, 3),
        "change_seconds_median": round(percentile(delays, 0.5), 2),
        "change_seconds_longest": round(max(delays), 2),
    }


def measure_delays(laptop: reverie.Mind, desk: reverie.Mind) -> list[float]:
    """Seconds from a change's file in the folder to the change in the other home."""
    desk.team.follow()
    delays = []
    for number in range(CHANGES):
        note = laptop.remember(f"The port of the queue is {4100 + number}.", space="me/p1")
        laptop.devices.sync()
        begun = time.perf_counter()
        while desk.store.browse(Filter(spaces=("me/p1",), limit=1))[0].id != note.id:
            assert time.perf_counter() - begun < PATIENCE, "a change has not come"
            threading.Event().wait(0.02)
        delays.append(time.perf_counter() - begun)
    return delays


def main() -> None:
    """Measure, print, keep."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--histories", type=int, default=10_000)
    asked.add_argument("--memories", type=int, default=100_000)
    asked.add_argument("--first", type=int, default=0, help="the seed of the first history")
    asked.add_argument(
        "--real-seconds", type=float, default=300, help="of histories of real homes alone, last"
    )
    asked.add_argument(
        "--only-real",
        action="store_true",
        help="leave the other figures as they were, and those of 0 seconds",
    )
    asked.add_argument(
        "--server-seconds", type=float, default=120, help="of those by a team's server"
    )
    given = asked.parse_args()
    found: dict[str, Any] = {}
    if given.only_real:
        found = json.loads((RESULTS / "device_sync.json").read_text())
    else:
        found |= {"agreement": measure_agreement(given.first, given.histories)}
        found |= {"speed": measure_speed(given.memories)}
    if given.real_seconds:
        found["real_homes"] = with_seconds(run_real_homes, given.real_seconds)
    if given.server_seconds:
        found["homes_by_server"] = with_seconds(run_homes_by_server, given.server_seconds)
    parts = [part for part in found.values() if isinstance(part, dict)]
    figures = {name: value for part in parts for name, value in part.items()}
    table([[name, value] for name, value in figures.items()], ("what", "figure"))
    save("device_sync", found)


def with_seconds(run: Callable[[float], dict[str, int]], seconds: float) -> dict[str, Any]:
    """What histories came to, and how long they took."""
    begun = time.perf_counter()
    held = run(seconds)
    return {**held, "seconds": round(time.perf_counter() - begun, 1)}


def measure_agreement(first: int, histories: int) -> dict[str, Any]:
    """Whether devices that are dictionaries agree, which so many histories are made of."""
    begun = time.perf_counter()
    held = run_histories(iter(range(first, first + histories)))
    return {**held, "seconds": round(time.perf_counter() - begun, 1)}


if __name__ == "__main__":
    main()
