"""Sleep as a store grows, and taking it back. `python -m bench.sleep [--size 100000] [--sizes 10000
100000]`

Made-up memories as a few years leave them: facts, paraphrases and repetitions of them,
contradictions, weak old guesses, tags in several spellings, turns in which some were given
together. Vectors are made up too: those of one thing lie close, a topic lies together, as those of
texts do; embedding is no part of sleep.

Each run is in a process of its own, for its peak memory. Targets: 100,000 in minutes, growth from
10,000 to 100,000 near linear (at most 15 times the time), and the exported state after `undo` the
same to the byte as before.
"""

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import reverie
from bench.common import Given, Texts, save, table, timed
from reverie.core.config import Settings
from reverie.core.model import Event
from reverie.testing import Clock
from reverie.text.tokenization import fingerprint_text

NOW = 1_760_000_000.0
DAY = 86_400.0
SPACE = "me/bench"
STEP = 5_000

FACTS = (
    ("The {a} service listens on port {n}.", "The {a} service is listening on port {n}."),
    ("Deploys of {a} go to the {b} cluster.", "{a} deploys go to the {b} cluster."),
    ("The {a} tests need {b} to be running.", "The tests of {a} need {b} to be running."),
    ("Backups of {a} are kept for {n} days.", "{a} backups are kept for {n} days."),
    ("The {a} module was written by {b}.", "{b} wrote the {a} module."),
    ("{a} retries a request {n} times.", "{a} will retry a request {n} times."),
)
TAGS = (
    ("bug", "bugs", "Bugs"),
    ("unit-test", "unit_tests", "unit tests"),
    ("deploy",),
    ("database", "databases"),
    ("api",),
    ("css",),
)


class Made(NamedTuple):
    """A memory to be, and its vector."""

    item: dict[str, Any]
    vector: np.ndarray


def near(rng: np.random.Generator, vector: np.ndarray, cosine: float) -> np.ndarray:
    """A unit vector of about this cosine to another."""
    noise = rng.standard_normal(len(vector))
    noise -= (noise @ vector) * vector
    noise /= np.linalg.norm(noise)
    return np.asarray(cosine * vector + (1 - cosine**2) ** 0.5 * noise, np.float32)


def mixed(count: int, seed: int = 1, dims: int = 384) -> list[Made]:
    """So many memories: six in ten are facts, the others repeat, paraphrase or contradict one, or
    are old guesses.
    """
    rng, dice, words = np.random.default_rng(seed), random.Random(seed), Texts(seed).words
    topics = rng.standard_normal((max(4, count // 100), dims)).astype(np.float32)
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    made: list[Made] = []
    facts: list[tuple[Made, str, dict[str, str]]] = []
    while len(made) < count:
        what = dice.random() if facts else 0.0
        if what < 0.6:
            one, other = dice.choice(FACTS)
            said = {
                "a": dice.choice(words),
                "b": dice.choice(words),
                "n": str(dice.randint(2, 9_999)),
            }
            fact = Made(
                item(dice, one.format(**said)), near(rng, topics[dice.randrange(len(topics))], 0.72)
            )
            facts.append((fact, other, said))
            made.append(fact)
            continue
        known, other, said = dice.choice(facts[-500:])
        if what < 0.7:
            text, cosine = known.item["text"].rstrip("."), 0.99
        elif what < 0.8:
            text, cosine = other.format(**said), 0.965
        elif what < 0.88:
            text, cosine = known.item["text"].replace(said["n"], str(int(said["n"]) + 7)), 0.93
        else:
            text, cosine = f"Perhaps {other.format(**said)}", 0.75
        old = (
            {"provenance": "inferred", "at": NOW - dice.randint(90, 400) * DAY}
            if what >= 0.88
            else {}
        )
        made.append(Made({**item(dice, text), **old}, near(rng, known.vector, cosine)))
    return made


def item(dice: random.Random, text: str) -> dict[str, Any]:
    """What `remember_many` takes."""
    tags = [dice.choice(forms) for forms in dice.sample(TAGS, dice.randint(0, 2))]
    return {
        "text": text,
        "at": NOW - dice.randint(90, 105) * DAY,
        "session": f"s{dice.randrange(5_000)}",
        "tags": tags,
        "files": [f"src/f{dice.randrange(300)}.py"] if dice.random() < 0.2 else [],
    }


def filled(mind: reverie.Mind, made: list[Made], space: str = SPACE) -> list[str]:
    """Put them into a store, with their vectors, and some turns that were given memories. Their
    ids.
    """
    ids: list[str] = []
    for start in range(0, len(made), STEP):
        some = made[start : start + STEP]
        kept = mind.remember_many([one.item for one in some], space=space)
        mind.store.put_vectors(
            Given.model,
            {m.id: one.vector for m, one in zip(kept, some, strict=True)},
            {m.id: fingerprint_text(m.text) for m in kept},
        )
        ids += [memory.id for memory in kept]
    dice = random.Random(2)
    pairs = [dice.sample(ids, 3) for _ in range(len(ids) // 100)]
    mind.store.append(
        [
            Event("turn", space, NOW, f"t{i}", {"messages": [], "given": given})
            for given in pairs
            for i in range(3)
        ]
    )
    return ids


def state(mind: reverie.Mind) -> str:
    """What tells two states apart: a hash of the exported state."""
    digest = hashlib.blake2b(digest_size=16)
    for row in mind.data.export(log=False):
        digest.update(json.dumps(row, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def peak() -> float:
    """The most memory that this process has held, MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(size: int) -> dict[str, Any]:
    """One store of that size: fill, sleep, sleep again, take back."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder))
        clock = Clock(NOW - 90 * DAY)
        with reverie.open(settings=settings, embedder=Given(), now=clock) as mind:
            made = mixed(size)
            filled(mind, made)
            del made
            clock.at = NOW
            before, empty = state(mind), peak()
            slept: list[Any] = []
            busy = time.process_time()
            seconds = timed(lambda: slept.append(mind.sleep()))
            most, busy = peak(), time.process_time() - busy
            stats = mind.data.stats()
            again = timed(lambda: slept.append(mind.sleep()))
            asleep = state(mind)
            undoing = timed(lambda: [mind.undo(run.run) for run in reversed(slept) if run.steps])
            return {
                "size": size,
                "seconds": seconds,
                "cpu_seconds": busy,
                "again_seconds": again,
                "undo_seconds": undoing,
                "peak_mb": most,
                "before_mb": empty,
                "retired": stats.retired,
                "edges": stats.edges,
                "passes": {
                    d.name: {"seconds": d.seconds, "steps": d.steps, "skipped": d.skipped}
                    for d in slept[0].passes
                },
                "again_steps": slept[1].steps,
                "changed": asleep != before,
                "undone_is_identical": state(mind) == before,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, help="only this size")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        print(json.dumps(measured(args.alone)))
        return
    results = []
    for size in [args.size] if args.size else args.sizes:
        command = [sys.executable, "-m", "bench.sleep", "--alone", str(size)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        results.append(json.loads(done.stdout.splitlines()[-1]))
    for result in results:
        print(
            f"\n{result['size']:,} memories: {result['seconds']:.0f} s "
            f"({result['cpu_seconds']:.0f} s of processor), peak {result['peak_mb']:.0f} MB, "
            f"{result['retired']:,} retired; again {result['again_seconds']:.1f} s ({result['again_steps']} steps); "
            f"undo {result['undo_seconds']:.0f} s, identical: {result['undone_is_identical']}"
        )
        table(
            [
                (name, row["seconds"], row["steps"], row["skipped"])
                for name, row in result["passes"].items()
            ],
            ("pass", "seconds", "steps", ""),
        )
    print(
        "\ntargets: 100,000 in minutes; 10 times the memories in at most 15 times the time; undo identical"
    )
    save("sleep", {"sizes": results})


if __name__ == "__main__":
    main()
