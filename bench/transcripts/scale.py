"""Recall from past conversations as they grow, against a plain NumPy scan of the same vectors in the
same run. `python -m bench.transcripts.scale`

Passages and vectors are made up; a question has half of a passage's words and a vector close to its
own. Its embedding is left out on both sides. `--rows 100000 1000000`
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import reverie
from bench.common import Given, Texts, percentile, save, table, timed, vectors
from bench.scale import exact, questions
from reverie.core.config import Settings
from reverie.storage.indexed_transcripts import (
    IndexedConversation,
    TranscriptIndex,
    TranscriptPassage,
)
from reverie.text.tokenization import tokenize_query

SPACE = "me/bench"
# Passages of a conversation, conversations of one write, words of a passage.
PASSAGES, CONVERSATIONS, WORDS = 50, 20, 25
# What recall takes from each channel, and how many questions are asked.
CANDIDATES, QUESTIONS = 200, 100
COLD = """
import sys, time
import numpy as np
import reverie
from bench.common import Given
from pathlib import Path
from reverie.core.config import Settings
home, question, vector = sys.argv[1:]
embedder = Given()
embedder.known[question] = np.load(vector)
with reverie.open(settings=Settings(home=Path(home), floor=0.0), embedder=embedder) as mind:
    start = time.perf_counter()
    assert mind.recall(question, space="me/bench")
    took = time.perf_counter() - start
status = Path("/proc/self/status").read_text()
print(took * 1e3, int(status.partition("VmHWM:")[2].split()[0]) / 1e3)
"""


def fill(index: TranscriptIndex, texts: list[str], made: np.ndarray) -> dict[str, float]:
    """Write passages, then vectors, then the packed file; what each took."""
    step = PASSAGES * CONVERSATIONS
    worded = packed = 0.0
    for start in range(0, len(texts), step):
        some = range(start, min(start + step, len(texts)))
        said = [
            IndexedConversation(
                SPACE,
                f"s{first // PASSAGES}",
                first + PASSAGES,
                [
                    TranscriptPassage(i - first, 0, "user", 1.7e9 + i * 60, texts[i])
                    for i in range(first, min(first + PASSAGES, len(texts)))
                ],
            )
            for first in some[::PASSAGES]
        ]
        begin = time.perf_counter()
        index.replace(said, (start, start + step), "", is_end=False)
        worded += time.perf_counter() - begin
    for start in range(0, len(texts), step):
        rows = range(start, min(start + step, len(texts)))
        index.put_vectors(Given.model, {i + 1: made[i] for i in rows})
    packed = timed(lambda: index.pack_vectors(Given.model))
    return {"words_per_second": len(texts) / worded, "packing_seconds": packed}


def measure_warm(
    mind: reverie.Mind, asked: list[str], made: np.ndarray, embedder: Given
) -> dict[str, float]:
    """Recall and the scan taken in turns, so that both meet the same machine."""
    index = mind.context.store.transcripts
    ours, scan, near, words, agree = [], [], [], [], []
    mind.recall(asked[0], space=SPACE)
    for question in asked[1:]:
        vector = embedder.known[question]
        ours.append(timed(lambda: mind.recall(question, space=SPACE)))
        scan.append(timed(lambda: exact(made, vector)))
        near.append(timed(lambda: index.nearest(Given.model, vector, (SPACE,), CANDIDATES)))
        terms = tokenize_query(question)
        words.append(timed(lambda: index.search_words(terms, (SPACE,), CANDIDATES)))
        found = index.nearest(Given.model, vector, (SPACE,), 10)
        best = set((exact(made, vector) + 1).tolist())
        agree.append(len(best & {num for num, _ in found}) / 10)
    return {
        "p50_ms": percentile(ours, 0.5) * 1e3,
        "p95_ms": percentile(ours, 0.95) * 1e3,
        **measure_processor(mind, asked[:30], made, embedder),
        "scan_p50_ms": percentile(scan, 0.5) * 1e3,
        "nearest_p50_ms": percentile(near, 0.5) * 1e3,
        "words_p50_ms": percentile(words, 0.5) * 1e3,
        "agreement_at_10": float(np.mean(agree)),
    }


def measure_processor(
    mind: reverie.Mind, asked: list[str], made: np.ndarray, embedder: Given
) -> dict[str, float]:
    """Processor time of recall and of the scan, all threads together: what a busy machine tells."""
    start = time.process_time()
    for question in asked:
        mind.recall(question, space=SPACE)
    middle = time.process_time()
    for question in asked:
        exact(made, embedder.known[question])
    end = time.process_time()
    each = 1e3 / len(asked)
    return {"cpu_ms": (middle - start) * each, "scan_cpu_ms": (end - middle) * each}


def measure_words(index: TranscriptIndex, asked: list[str], meant: list[int]) -> dict[str, float]:
    """How often words alone bring the passage that a question was made of."""
    ranks = []
    for question, num in zip(asked, meant, strict=True):
        found = index.search_words(tokenize_query(question), (SPACE,), CANDIDATES)
        nums = [one for one, _ in found]
        ranks.append(nums.index(num) if num in nums else CANDIDATES)
    return {
        "words_found_at_10": float(np.mean([rank < 10 for rank in ranks])),
        f"words_found_at_{CANDIDATES}": float(np.mean([rank < CANDIDATES for rank in ranks])),
    }


def measure_cold(home: Path, question: str, vector: np.ndarray, runs: int = 5) -> dict[str, float]:
    """The first recall of a process, and what it holds in memory at most."""
    np.save(home / "question.npy", vector)
    call = [sys.executable, "-c", COLD, str(home), question, str(home / "question.npy")]
    results = [
        [float(number) for number in subprocess.check_output(call, text=True).split()]
        for _ in range(runs)
    ]
    first, resident = zip(*results, strict=True)
    return {"first_ms": percentile(first, 0.5), "resident_mb": max(resident)}


def measure(rows: int) -> dict[str, Any]:
    texts, made = Texts(1).many(rows, WORDS), vectors(rows)
    embedder = Given()
    asked = questions(texts, made, QUESTIONS, embedder)
    meant = [int(i) + 1 for i in np.random.default_rng(7).integers(0, rows, QUESTIONS)]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with reverie.open(settings=Settings(home=home, floor=0.0), embedder=embedder) as mind:
            mind.remember("a memory beside the talk", space=SPACE)
            index = mind.context.store.transcripts
            result: dict[str, Any] = {"rows": rows, **fill(index, texts, made)}
            result |= measure_warm(mind, asked, made, embedder)
            result |= measure_words(index, asked, meant)
        files = (home / "cache").glob("*-transcripts-*")
        size = sum(file.stat().st_size for file in files) - sum(map(len, texts))
        result["bytes_beside_text"] = size / rows
        return result | measure_cold(home, asked[0], embedder.known[asked[0]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    args = parser.parse_args()
    results = [measure(rows) for rows in args.rows]
    shown = {
        "passages": "rows",
        "recall p50": "p50_ms",
        "scan p50": "scan_p50_ms",
        "recall cpu": "cpu_ms",
        "scan cpu": "scan_cpu_ms",
        "vectors": "nearest_p50_ms",
        "words": "words_p50_ms",
        "@10 = scan": "agreement_at_10",
        "words @10": "words_found_at_10",
        "words @200": "words_found_at_200",
        "first ms": "first_ms",
        "RAM MB": "resident_mb",
        "words/s": "words_per_second",
        "B a passage": "bytes_beside_text",
        "pack s": "packing_seconds",
    }
    rows = [
        [*(one[key] for key in shown.values()), one["p50_ms"] / one["scan_p50_ms"]]
        for one in results
    ]
    table(rows, [*shown, "recall / scan"])
    print("targets: recall / scan ≤ 1 at 100,000 and ≤ 0.2 at a million; @10 ≥ 0.98")
    save("transcripts_scale", {"sizes": json.loads(json.dumps(results))})


if __name__ == "__main__":
    main()
