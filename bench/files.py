"""Indexing a folder of notes against reading all its bytes. `python -m bench.files`

The texts are READMEs, licences and the comments and docstrings of the installed Python packages,
put together anew for each file with words exchanged, so that no two are equal: 10,000 files, 100
MB. The first sync indexes words; the second finds nothing changed; then one line of one file is
altered. `--files`, `--mb` for other sizes. `--embed` so many chunks get vectors of the model in
`--cache` (0: none), and words of their first and last quarters are looked for: in vectors of whole
chunks, which the model cuts off at 256 tokens, in the means of two halves, and in the nearer of two
halves, which is what Reverie does.
"""

import argparse
import random
import re
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import reverie
from bench.common import percentile, save, table, timed
from reverie.core.config import Settings
from reverie.embedding import open_embedder
from reverie.notes.note_vectors import embed_chunks, split_in_halves
from reverie.pipeline.pending_vectors import EMBEDDING_BATCH
from reverie.testing import CountingEmbedder

SPACE = "me/bench"
SUFFIXES = (".md", ".rst", ".txt")


def paragraphs(most: int = 60_000) -> list[str]:
    """Real paragraphs of the installed packages' documents and docstrings."""
    found: dict[str, None] = {}
    folder = Path(sysconfig.get_paths()["purelib"])
    for path in sorted(folder.rglob("*")):
        if path.suffix in (*SUFFIXES, ".py") and path.is_file() and path.stat().st_size < 400_000:
            text = path.read_text("utf-8", "replace")
            parts = text.split('"""')[1::2] if path.suffix == ".py" else [text]
            found.update(
                (paragraph, None)
                for part in parts
                for paragraph in part.split("\n\n")
                if 80 < len(paragraph.strip()) < 2_000
            )
        if len(found) > most:
            break
    return list(found)


def written(folder: Path, files: int, size: int) -> int:
    """So many files of together about so many bytes, in folders of a hundred; how many bytes there
    are.
    """
    rng, source, total = random.Random(1), paragraphs(), 0
    words = sorted(
        {word for paragraph in source[:5_000] for word in paragraph.split() if word.isalpha()}
    )
    for number in range(files):
        place = folder / f"part-{number // 100:03}" / f"note-{number:05}{SUFFIXES[number % 3]}"
        place.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(text_of(rng, source, words, number, size / files * rng.uniform(0.2, 1.8)))
        total += place.write_bytes(text.encode("utf-8", "replace"))
    return total


def text_of(
    rng: random.Random, source: list[str], words: list[str], number: int, size: float
) -> Iterator[str]:
    """The paragraphs of one file, in each some words exchanged."""
    yield f"# Note {number}\n\n"
    done = 0
    while done < size:
        lines = rng.choice(source).split("\n")
        place = rng.randrange(len(lines))
        lines[place] += f" {rng.choice(words)} {rng.choice(words)} {rng.randrange(10_000)}"
        paragraph = "\n".join(lines) + "\n\n"
        done += len(paragraph)
        yield paragraph


def read_all(folder: Path) -> int:
    """The baseline: every byte, once."""
    return sum(len(path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def questions(folder: Path, count: int = 50) -> list[str]:
    """Words that stand together in some file."""
    rng = random.Random(2)
    files = sorted(folder.rglob("*.md"))
    return [" ".join(rng.choice(files).read_text("utf-8").split()[40:46]) for _ in range(count)]


def measured(files: int, megabytes: float) -> dict[str, Any]:
    """All figures of one folder."""
    with tempfile.TemporaryDirectory() as place:
        notes, home = Path(place, "notes"), Path(place, "home")
        size = written(notes, files, int(megabytes * 1e6))
        plain = min(timed(lambda: read_all(notes)) for _ in range(3))
        with reverie.open(settings=Settings(home=home, embedder="none")) as mind:
            mind.files.add_folder(notes, space=SPACE)
            first = timed(lambda: mind.files.sync(space=SPACE, progress=told))
            # what was written within the last two seconds is looked at once more
            mind.files.sync(space=SPACE)
            again = [timed(lambda: mind.files.sync(space=SPACE)) for _ in range(5)]
            asked = [
                timed(lambda: mind.files.search(q, space=SPACE, mode="words"))
                for q in questions(notes)
            ]
            indexed = mind.files.folders(space=SPACE)[0].indexed
        disk = sum(path.stat().st_size for path in (home / "cache").iterdir())
        altered = one_line(max(notes.rglob("*.md"), key=lambda path: path.stat().st_size))
    return {
        "files": files,
        "mb": size / 1e6,
        "chunks": indexed.chunks,
        "first_s": first,
        "first_mb_per_s": size / 1e6 / first,
        "plain_read_s": plain,
        "first_over_plain_read": first / plain,
        "unchanged_s": percentile(again, 0.5),
        "unchanged_times_faster": first / percentile(again, 0.5),
        "index_mb": disk / 1e6,
        "search_words_p50_ms": percentile(asked, 0.5) * 1e3,
        "search_words_p95_ms": percentile(asked, 0.95) * 1e3,
        **altered,
    }


def one_line(path: Path) -> dict[str, Any]:
    """A line is inserted at the top of a copy of one file, all of which has vectors: what is done
    again.
    """
    with tempfile.TemporaryDirectory() as place:
        copy, embedder = Path(place, "notes", "one.md"), CountingEmbedder()
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes())
        with reverie.open(settings=Settings(home=Path(place, "home")), embedder=embedder) as mind:
            mind.files.add_folder(copy.parent, space=SPACE)
            mind.files.sync(space=SPACE)
            mind.settle()
            embedder.asked.clear()
            copy.write_text("One new line.\n" + copy.read_text("utf-8"), "utf-8")
            start = time.perf_counter()
            done = mind.files.sync(space=SPACE).chunks
            seconds = time.perf_counter() - start
            embedded = mind.settle().embedded
    return {
        "one_line_s": seconds,
        "one_line_new_chunks": done.added,
        "one_line_kept_chunks": done.kept,
        "one_line_embedded": embedded,
    }


def embedding(cache: Path, count: int) -> dict[str, float]:
    """How many chunks a second get a vector from the real model."""
    with tempfile.TemporaryDirectory() as place:
        written(Path(place, "notes"), max(1, count // 8), count * 1_400)
        settings = Settings(home=Path(place, "home"), models=str(cache / "cache"))
        with reverie.open(settings=settings) as mind:
            mind.files.add_folder(Path(place, "notes"), space=SPACE)
            mind.files.sync(space=SPACE)
            assert mind.embedder is not None
            embedder = mind.embedder
            embedder.embed(["warm"])
            done: list[int] = []

            def some() -> None:
                while sum(done) < count and (
                    step := embed_chunks(mind.store, embedder, EMBEDDING_BATCH // 2)
                ):
                    done.append(step)

            seconds = timed(some)
    return {"embedded_chunks": sum(done), "embedded_per_s": sum(done) / seconds}


def halves(cache: Path, count: int) -> dict[str, float]:
    """How often seven words of a chunk's first or last quarter find it among the first five of so
    many long chunks.
    """
    from reverie.notes.text_chunks import MAX_CHUNK_CHARS, chunk_text

    rng, source = random.Random(3), paragraphs(20_000)
    rng.shuffle(source)
    texts = [
        chunk.text
        for chunk in chunk_text("\n\n".join(source))
        if len(chunk.text) > 0.85 * MAX_CHUNK_CHARS
    ][:count]
    embedder = open_embedder("minilm", cache=cache / "cache")
    parts = [split_in_halves(text) for text in texts]
    rows = embedder.embed([(some * 2)[place] for place in (0, 1) for some in parts])
    one, other = rows[: len(texts)], rows[len(texts) :]
    ways = {
        "cut_off": (embedder.embed(texts),),
        "mean": (unit(one + other),),
        "nearer": (one, other),
    }
    found = {}
    for part, place in (("early", slice(0, 400)), ("late", slice(-400, None))):
        asked = [" ".join(re.findall(r"[A-Za-z]{4,}", text[place])[1:15:2]) for text in texts]
        queries = embedder.embed(asked)
        for way, vectors in ways.items():
            alike = np.maximum.reduce([queries @ matrix.T for matrix in vectors])
            better = (alike > np.diag(alike)[:, None]).sum(axis=1)
            found[f"{part}_words_top5_{way}"] = float((better < 5).mean())
    return found


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length one."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def told(stage: str, done: int, total: int | None) -> None:
    """Progress on one line."""
    print(f"\r{stage}: {done / 1e6:.0f} of {(total or 0) / 1e6:.0f} MB ", end="", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--mb", type=float, default=100.0)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".reverie")
    parser.add_argument("--embed", type=int, default=500)
    args = parser.parse_args()
    result = measured(args.files, args.mb)
    if args.embed:
        result.update(embedding(args.cache, args.embed))
        result.update(halves(args.cache, args.embed))
    print()
    table([(name.replace("_", " "), value) for name, value in result.items()], ("figure", "value"))
    print("target: nothing changed at least 50 times faster than the first sync")
    save("files", result)


if __name__ == "__main__":
    main()
