"""float32 or int8, one thread or two, head or chunks of a long text: the figures of
docs/why-embedding.md.

    python -m bench.embedding.run [--data ../shared/bench-data] [--cache ~/.cache/reverie-bench]
        [--beam 5] [--parts speed kernels recall long]

Prints tables and writes bench/results/embedding.json. Speed depends on the machine, recall does
not.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bench.retrieval.data import SETS, Dataset, Row, default_root, load
from bench.retrieval.metrics import recall_at
from reverie.embedding.bert_graph import MAX_TOKENS
from reverie.embedding.minilm import PRECISIONS, MiniLM, _run_session, ensure_graph_file

Vectors = NDArray[np.float32]
Table = dict[str, dict[str, float | None]]  # row → column → figure, None where it was not measured
# (chunk vectors of one text, queries) → score per query
Score = Callable[[Vectors, Vectors], Vectors]
RESULTS = Path(__file__).resolve().parents[1] / "results" / "embedding.json"
SHORT = 60  # characters at least and 200 at most: what a remembered fact looks like


def main() -> None:
    args = _arguments()
    sets = {name: load(name, args.data) for name in SETS}
    sets["beam-100k"] = first_corpora(sets["beam-100k"], args.beam)
    found: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for part in args.parts:
        found |= PARTS[part](args.cache, sets)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(
        json.dumps(found | {"machine": machine(), "beam chats": args.beam}, indent=1) + "\n"
    )


def speed_part(cache: Path, sets: dict[str, Dataset]) -> dict[str, Any]:
    return {"speed": show("speed", speed(cache, short_texts(sets["locomo"])))}


def recall_part(cache: Path, sets: dict[str, Dataset]) -> dict[str, Any]:
    heads, table = recall(cache, sets)
    show("recall@10, plain dense", table)
    close = show("agreement (cosine)", agreement(cache, heads, short_texts(sets["locomo"])))
    return {"recall": table, "agreement": close}


def long_part(cache: Path, sets: dict[str, Dataset]) -> dict[str, Any]:
    return {"long texts": show("long texts, beam-100k", long_texts(cache, sets["beam-100k"]))}


def kernels_part(cache: Path, sets: dict[str, Dataset]) -> dict[str, Any]:
    return {"kernels": show("other kernels", kernels(cache, short_texts(sets["locomo"], 64)))}


PARTS = {"speed": speed_part, "kernels": kernels_part, "recall": recall_part, "long": long_part}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=default_root())
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "reverie-bench")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument(
        "--beam", type=int, default=5, help="how many of the ten BEAM chats: each takes minutes"
    )
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="renew only these figures"
    )
    return parser.parse_args()


def machine() -> dict[str, Any]:
    import onnxruntime

    return {
        "cpu": platform.machine(),
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
    }


def first_corpora(one: Dataset, count: int) -> Dataset:
    corpora = dict(list(one.corpora.items())[:count])
    return Dataset(one.name, corpora, [q for q in one.questions if q.corpus in corpora])


def short_texts(one: Dataset, count: int = 256) -> list[str]:
    texts = [row.text for rows in one.corpora.values() for row in rows]
    return [text for text in texts if SHORT <= len(text) <= 200][:count]


def speed(cache: Path, texts: Sequence[str]) -> Table:
    """Milliseconds a text: alone (and what it costs all cores), in a call of many, at full length.

    Medians, and the variants take turns text by text, so that a busy machine slows all of them
    alike.
    """
    variants = {(p, n): MiniLM(cache, precision=p, threads=n) for p in PRECISIONS for n in (1, 2)}
    loading = {key: timed(one, ["warm"])[0] for key, one in variants.items()}
    alone = by_turns(variants, [[text] for text in texts[:150]])
    many = by_turns(variants, [texts[i : i + 64] for i in range(0, len(texts), 64)])
    full = by_turns(variants, [[" ".join(texts[i : i + 40])] for i in range(0, 40, 4)])
    return {
        f"{precision}, threads: {threads}": {
            "alone ms": alone[precision, threads][0],
            "alone CPU ms": alone[precision, threads][1],
            "of 64 ms": many[precision, threads][0] / 64,
            "256 tokens ms": full[precision, threads][0],
            "256 tokens CPU ms": full[precision, threads][1],
            "load ms": loading[precision, threads],
        }
        for precision, threads in variants
    }


Variant = tuple[str, int]


def by_turns(
    variants: dict[Variant, MiniLM], calls: Sequence[Sequence[str]]
) -> dict[Variant, tuple[float, float]]:
    """The median call of each variant: wall clock and processor time."""
    taken: dict[Variant, list[tuple[float, float]]] = {key: [] for key in variants}
    for call in calls:
        for key, one in variants.items():
            taken[key].append(timed(one, call))
    return {
        key: (median(w for w, _ in found), median(c for _, c in found))
        for key, found in taken.items()
    }


def timed(embedder: MiniLM, texts: Sequence[str]) -> tuple[float, float]:
    began, cpu = time.perf_counter(), time.process_time()
    embedder.embed(texts)
    return (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3


def recall(cache: Path, sets: dict[str, Dataset]) -> tuple[dict[str, dict[str, Vectors]], Table]:
    """Recall@10 of each precision on each set; and the memories' vectors, for comparing."""
    heads: dict[str, dict[str, Vectors]] = {}
    table: Table = {}
    for precision in PRECISIONS:
        embedder = MiniLM(cache, precision=precision)
        heads[precision], table[precision] = {}, {}
        for name, one in sets.items():
            heads[precision][name], table[precision][name] = dense(embedder, one, said)
    _, plain = dense(MiniLM(cache), sets["locomo"], lambda row: row.text)
    table["float32, without the speaker's name"] = {
        name: plain if name == "locomo" else None for name in sets
    }
    return heads, table


def said(row: Row) -> str:
    return f"{row.speaker}: {row.text}" if row.speaker else row.text


def dense(embedder: MiniLM, one: Dataset, text: Callable[[Row], str]) -> tuple[Vectors, float]:
    vectors = {
        corpus: embedder.embed([text(row) for row in rows]) for corpus, rows in one.corpora.items()
    }
    questions = embedder.embed([q.text for q in one.questions])
    scores = (vectors[q.corpus] @ v for q, v in zip(one.questions, questions, strict=True))
    return np.concatenate(list(vectors.values())), mean_recall(one, scores)


def mean_recall(one: Dataset, scores: Iterator[Vectors]) -> float:
    found = []
    for question, score in zip(one.questions, scores, strict=True):
        ids = [row.id for row in one.corpora[question.corpus]]
        ranked = [ids[i] for i in np.argsort(-score, kind="stable")[:10]]
        found.append(recall_at(10, ranked, question.gold))
    return float(np.mean(found))


def agreement(cache: Path, heads: dict[str, dict[str, Vectors]], texts: Sequence[str]) -> Table:
    """Cosines of int8 and float32 for the same text; and, by precision, of a text alone and in a
    batch.
    """
    table: Table = {}
    for name, exact in heads["float32"].items():
        table[f"int8 : float32, {name}"] = spread((exact * heads["int8"][name]).sum(axis=1))
    for precision in PRECISIONS:
        loaded = MiniLM(cache, precision=precision)._load()
        tokens = [loaded.vocabulary.encode(text, MAX_TOKENS) for text in texts[:32]]
        alone = np.concatenate([_run_session(loaded.session, [one]) for one in tokens])
        table[f"alone : in a batch, {precision}"] = spread(
            (alone * _run_session(loaded.session, tokens)).sum(axis=1)
        )
    return table


def kernels(cache: Path, texts: Sequence[str]) -> Table:
    """The same graph in other kernels (no fusion), as another processor or version would choose
    them.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    table: Table = {}
    for precision in PRECISIONS:
        embedder = MiniLM(cache, precision=precision)
        ours = np.concatenate([embedder.embed([text]) for text in texts])
        path = ensure_graph_file(cache / "models" / "all-MiniLM-L6-v2", precision)
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        tokens = [embedder._load().vocabulary.encode(text, MAX_TOKENS) for text in texts]
        theirs = np.concatenate([_run_session(session, [one]) for one in tokens])
        table[precision] = {"largest difference": float(np.abs(ours - theirs).max())}
        table[precision] |= spread((ours * theirs).sum(axis=1))
    return table


def spread(cosines: Vectors) -> dict[str, float | None]:
    return {
        "mean": float(cosines.mean()),
        "1st percentile": float(np.quantile(cosines, 0.01)),
        "min": float(cosines.min()),
    }


WAYS: dict[str, Score] = {
    "head (first 256 tokens)": lambda chunks, q: q @ chunks[0],
    "best chunk": lambda chunks, q: (q @ chunks.T).max(axis=1),
    "mean of chunks": lambda chunks, q: q @ unit(chunks.mean(axis=0)),
    "half head, half best chunk": lambda chunks, q: (
        (q @ chunks[0] + (q @ chunks.T).max(axis=1)) / 2
    ),
    "half mean, half best chunk": lambda chunks, q: (
        (q @ unit(chunks.mean(axis=0)) + (q @ chunks.T).max(axis=1)) / 2
    ),
}


def unit(vector: Vectors) -> Vectors:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def long_texts(cache: Path, one: Dataset) -> Table:
    """Recall@10 by what stands for a long text. Chunks are the model's own windows, end to end."""
    embedder = MiniLM(cache)
    cut = Tokenizer.from_file(str(cache / "models" / "all-MiniLM-L6-v2" / "tokenizer.json"))
    cut.no_padding()
    cut.enable_truncation(MAX_TOKENS)
    scores: dict[str, dict[str, Vectors]] = {way: {} for way in WAYS}
    stored = 0
    for corpus, rows in one.corpora.items():
        pieces = [windows(cut, said(row)) for row in rows]
        vectors = embedder.embed([piece for group in pieces for piece in group])
        groups = np.split(vectors, np.cumsum([len(group) for group in pieces])[:-1])
        questions = embedder.embed([q.text for q in one.questions if q.corpus == corpus])
        stored += len(vectors)
        for way, score in WAYS.items():
            columns = np.stack([score(group, questions) for group in groups], axis=1)
            names = [q.id for q in one.questions if q.corpus == corpus]
            scores[way].update(zip(names, columns, strict=True))
    texts = sum(map(len, one.corpora.values()))
    per_text = {way: stored / texts if "head (" not in way else 1.0 for way in WAYS}
    return {
        way: {
            "recall@10": mean_recall(one, (scores[way][q.id] for q in one.questions)),
            "vectors a text": per_text[way],
        }
        for way in WAYS
    }


def windows(cut: Tokenizer, text: str) -> list[str]:
    """The text cut wherever the model's window is full."""
    encoded = cut.encode(text)
    starts = [0, *(more.offsets[1][0] for more in encoded.overflowing)]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def show(title: str, table: Table) -> Table:
    columns = list(next(iter(table.values())))
    print(f"\n### {title}\n\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, row in table.items():
        cells = ("–" if row[column] is None else f"{row[column]:.4g}" for column in columns)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return table


if __name__ == "__main__":
    main()
