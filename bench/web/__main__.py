"""What the pages and the screens cost, in empty, small and large homes. `python -m bench.web
[--sizes 0 50 100000] [--embedder toy]`

Of every page: the first request that a new `reverie web` is asked, with all that is cold then, and
later ones, with something remembered by another process between them; on the clock until the first
byte, and of the server's processors. Beside them a bare 404 of the same server, so that a busy
moment of the machine meets both. Then search as one types, the map in Chromium, compressed bytes
with all files of a page, and the start of the screens beside `python -c pass`.

Targets at 100,000 memories: first byte of every page 150 ms, search as one types p95 100 ms, a map
of 2,000 nodes drawn within a second, 25 KB for plain pages, starts within 150 ms of processors.

`--keep FOLDER` fills homes there, and finds them filled the next time.
"""

import argparse
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.common import percentile, save, table
from bench.web.drawing import has_browser, measure_map, measure_typing, open_page
from bench.web.home import ROOT, SPACE, BenchHome
from bench.web.served import BARE, ServedHome
from bench.web.starts import measure_starts
from reverie.interfaces.web.rendering import name_part

FIRST_BYTE_MS, SEARCH_MS, MAP_MS, PLAIN_KB, START_MS = 150, 100, 1_000, 25, 150
# Pages that draw something have more to load; all others are plain.
DRAWING = ("/map", "/health/growth")


def list_pages(home: BenchHome) -> dict[str, str]:
    """The address of each page, by name."""
    pages = {
        "now": "/",
        "ask": "/ask",
        "ask words": f"/ask?q={'+'.join(home.words[:3])}",
        "review": "/review",
        "nights": "/nights",
        "map": "/map",
        "map table": "/map/table",
        "map picture": "/map/picture",
        "map data": "/map/graph.json",
        "sessions": "/sessions",
        "sessions words": f"/sessions?q={home.words[3]}",
        "code": "/code",
        "guards": "/guards",
        "guards try": "/guards?tool=Bash&command=git+push",
        "health": "/health",
        "health doctor": "/health/doctor",
        "health growth": "/health/growth",
    }
    if home.memory:
        pages["memory"] = f"/memory/{home.memory}"
        pages["turn"] = f"/turn/{home.turn}"
        pages["session"] = f"/sessions/{home.session}"
        pages["night"] = f"/nights/{home.night}"
        pages["code file"] = f"/code/{name_part(ROOT)}/{name_part(home.file)}"
    return pages


def measure_pages(home: BenchHome, colds: int, laters: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each page, cold and later, and of the bare answer."""
    pages = {"bare": BARE, **list_pages(home)}
    cold: dict[str, list[tuple[float, float]]] = {name: [] for name in pages}
    later: dict[str, list[tuple[float, float]]] = {name: [] for name in pages}
    for name, path in pages.items():
        for _ in range(colds):
            forget_map(home)
            with ServedHome(home.folder) as served:
                served.enter()
                cold[name].append(ask(served, path))
    with ServedHome(home.folder) as served, home.open() as mind:
        served.enter()
        for path in pages.values():
            served.get(path)
        for number in range(laters):
            mind.remember(f"Something new of round {number}.", space=SPACE)
            for name, path in pages.items():
                served.wait_until_quiet()
                later[name].append(ask(served, path))
    return {name: {**figures("cold", cold[name]), **figures("", later[name])} for name in pages}


def ask(served: ServedHome, path: str) -> tuple[float, float]:
    """(first byte, processors), in seconds, of a request that must be answered."""
    answer = served.get(path)
    assert answer.status == (404 if path == BARE else 200), (path, answer.status)
    return answer.first_byte, answer.processor


def forget_map(home: BenchHome) -> None:
    """Have the next map be the first one."""
    for path in (home.folder / "cache").glob("map-*.json"):
        path.unlink()


def figures(name: str, taken: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Milliseconds: p50 and p95 on the clock, p50 of processors."""
    before = f"{name}_" if name else ""
    return {
        f"{before}p50": 1e3 * percentile([one[0] for one in taken], 0.5),
        f"{before}p95": 1e3 * percentile([one[0] for one in taken], 0.95),
        f"{before}processor": 1e3 * percentile([one[1] for one in taken], 0.5),
    }


def measure_search(home: BenchHome, searches: int) -> dict[str, float]:
    """Milliseconds of the request for each letter of words that are typed."""
    rng, taken = random.Random(5), list[tuple[float, float]]()
    with ServedHome(home.folder) as served:
        served.enter()
        served.get(f"/ask?q={home.words[0]}")
        served.wait_until_quiet()
        for _ in range(searches):
            text = "+".join(rng.choices(home.words[:2_000], k=2))
            for end in range(1, len(text) + 1):
                taken.append(ask(served, f"/ask?q={text[:end]}"))
    return {"requests": len(taken), **figures("", taken)}


def measure_bytes(home: BenchHome) -> dict[str, dict[str, int]]:
    """Compressed bytes of each page and its files."""
    with ServedHome(home.folder) as served:
        served.enter()
        pages = {name: path for name, path in list_pages(home).items() if ".json" not in path}
        return {name: served.weigh(path) for name, path in pages.items()}


def measure_browser(home: BenchHome, runs: int) -> dict[str, Any]:
    """The map and search in Chromium; nothing without one."""
    if not has_browser():
        return {}
    with ServedHome(home.folder) as served, open_page(served) as page:
        measured: dict[str, Any] = {}
        if home.size:
            forget_map(home)
            measured["map_first"] = measure_map(page, served, 1)
            measured["map"] = measure_map(page, served, runs)
        typed = measure_typing(page, served, [" ".join(home.words[n : n + 2]) for n in range(4)])
        measured["typed_p50"] = percentile(typed, 0.5)
        measured["typed_p95"] = percentile(typed, 0.95)
        return measured


def measure(home: BenchHome, args: argparse.Namespace) -> dict[str, Any]:
    """All of one home."""
    home.look()
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "pages": lambda: measure_pages(home, args.colds, args.laters),
        "search": lambda: measure_search(home, args.searches),
        "bytes": lambda: measure_bytes(home),
        "browser": lambda: measure_browser(home, args.visits),
        "starts": lambda: measure_starts(home.folder, args.starts),
    }
    return {
        "size": home.size,
        "load": os.getloadavg(),
        **{name: part() for name, part in parts.items() if name in args.parts},
    }


def show(found: dict[str, Any]) -> None:
    """Print the figures of one home."""
    print(f"\n{found['size']:,} memories, load {found['load'][0]:.1f}")
    if pages := found.get("pages"):
        bare = pages["bare"]["processor"]
        rows = [
            (name, row["cold_p50"], row["cold_processor"], row["p50"], row["p95"],
             row["processor"], row["processor"] / bare)
            for name, row in pages.items()
        ]  # fmt: skip
        table(rows, ("page", "cold ms", "of cpu", "p50 ms", "p95", "of cpu", "× bare"))
    for name in ("search", "browser"):
        if name in found:
            print(name, found[name])
    if weights := found.get("bytes"):
        for name, row in weights.items():
            print(f"{name:16}{sum(row.values()) / 1e3:7.1f} KB  {row}")
    if starts := found.get("starts"):
        rows = [(name, *row.values()) for name, row in starts.items()]
        table(rows, ("start", "first screen, processor ms", "all", "on the clock", "first × pass"))


@contextmanager
def find_folder(kept: Path | None) -> Iterator[Path]:
    """Where homes are filled."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[0, 50, 100_000])
    parser.add_argument("--embedder", default="toy", help="toy, or a real one for the questions")
    parser.add_argument("--keep", type=Path, help="a folder in which filled homes stay")
    parser.add_argument("--parts", nargs="+",
                        default=["pages", "search", "bytes", "browser", "starts"])  # fmt: skip
    parser.add_argument("--colds", type=int, default=3, help="new servers for each page")
    parser.add_argument("--laters", type=int, default=5, help="later requests of each page")
    parser.add_argument("--searches", type=int, default=10, help="pairs of words that are typed")
    parser.add_argument("--visits", type=int, default=5, help="visits of the map")
    parser.add_argument("--starts", type=int, default=7, help="starts of each screen")
    parser.add_argument("--no-save", action="store_true", help="only print")
    args = parser.parse_args()
    sizes = []
    with find_folder(args.keep) as folder:
        for size in args.sizes:
            home = BenchHome(folder / f"{args.embedder}-{size}", size, args.embedder)
            if not home.folder.exists():
                home.fill()
            sizes.append(measure(home, args))
            show(sizes[-1])
    if not args.no_save:
        name = "web" if args.embedder == "toy" else "web-real"
        print(save(name, {"embedder": args.embedder, "targets": list_targets(), "sizes": sizes}))


def list_targets() -> dict[str, int]:
    """What is aimed at, at 100,000 memories."""
    return {
        "first_byte_ms": FIRST_BYTE_MS,
        "search_p95_ms": SEARCH_MS,
        "map_ms": MAP_MS,
        "plain_kb": PLAIN_KB,
        "start_processor_ms": START_MS,
    }


if __name__ == "__main__":
    main()
