"""The same questions to SQLite and to PostgreSQL: recall@10 on the development sets. `python -m
bench.postgres.same_answers`

Both hold the same memories and vectors, and rank them with the same code: what differs is how each
finds its candidates. They may differ by 0.005.
"""

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import reverie
from bench.common import save, table
from bench.postgres.servers import copy_memories, running_server
from bench.retrieval import data, stores
from bench.retrieval.metrics import measure
from reverie.core.config import Settings
from reverie.core.model import Filter
from reverie.embedding import Embedder
from reverie.storage.postgres import PostgresDatabase

LIMIT, STEP = 20, 1_000
MEASURES = ("recall@5", "recall@10", "recall@20", "mrr")


def copy_corpus(url: str, tenant: str, mind: reverie.Mind, model: str) -> None:
    """The memories of a mind in a tenant of a server."""
    memories = mind.store.browse(Filter(active=None, limit=1_000_000))[::-1]
    ids = [memory.id for memory in memories]
    vectors: dict[str, np.ndarray] = {}
    for start in range(0, len(ids), STEP):
        vectors |= mind.store.vectors(model, ids[start : start + STEP])
    with closing(PostgresDatabase(url)) as database:
        database.prepare()
        copy_memories(database, tenant, memories, vectors, model)


def compared(
    dataset: data.Dataset, embedder: Embedder, cache: Path, url: str, most: int
) -> dict[str, Any]:
    """Every measure by backend, and the share of questions with the same ten answers."""
    found: dict[str, list[dict[str, float]]] = {"sqlite": [], "postgres": []}
    same = []
    for number, corpus in enumerate(dataset.corpora):
        questions = [one for one in dataset.questions if one.corpus == corpus][:most]
        if not questions:
            continue
        local, ids = stores.opened(dataset, corpus, embedder, cache)
        published = {memory: source for source, memory in ids.items()}
        tenant = f"{dataset.name}-{number}"
        copy_corpus(url, tenant, local, embedder.model)
        settings = Settings(home=local.settings.home, store=f"{url}&tenant={tenant}", backups=0)
        with reverie.open(settings=settings, embedder=embedder) as remote:
            for question in questions:
                answers = {
                    name: ask(mind, question.text, published)
                    for name, mind in (("sqlite", local), ("postgres", remote))
                }
                for name, ranked in answers.items():
                    found[name].append(measure(ranked, question.gold))
                same.append(set(answers["sqlite"][:10]) == set(answers["postgres"][:10]))
        local.store.close()
    result: dict[str, Any] = {
        name: {one: float(np.mean([row[one] for row in rows])) for one in MEASURES}
        for name, rows in found.items()
    }
    return {**result, "same_ten": float(np.mean(same)), "questions": len(same)}


def ask(mind: reverie.Mind, question: str, published: dict[str, str]) -> Sequence[str]:
    """The published ids of the best memories."""
    hits = mind.recall(question, space=stores.SPACE, limit=LIMIT)
    return [published.get(hit.memory.id, "") for hit in hits]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(data.SETS))
    parser.add_argument("--most", type=int, default=1_000_000, help="questions of a corpus")
    args = data.arguments(parser)
    embedder = stores.remembering(args.cache.absolute())
    results = {}
    with running_server() as url:
        for name in args.sets:
            results[name] = compared(
                data.load(name, args.data), embedder, args.cache.absolute(), url, args.most
            )
            row = results[name]
            table(
                [
                    (backend, *(row[backend][one] for one in MEASURES))
                    for backend in ("sqlite", "postgres")
                ],
                (name, *MEASURES),
            )
            gap = row["postgres"]["recall@10"] - row["sqlite"]["recall@10"]
            print(
                f"{row['questions']:,} questions, recall@10 differs by {gap:+.4f}, "
                f"the same ten in {row['same_ten']:.3f}\n"
            )
    save("postgres-answers", results)


if __name__ == "__main__":
    main()
