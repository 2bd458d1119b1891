"""What each stage of search is worth: cascade, priors, gate, diversity. `python -m bench.ablation`

Every stage is taken away by itself and the rest is the full path of `recall`; figures are of every
second question of each set. A cascade needs edges, and the sets have none, so they come from use:
the other half of the questions is asked, what came up is written down as `prepared` events, and
`settle` makes links and tags of them as it does for everybody. Twice: `given`, the block that
surfaces; `judged`, the evidence among the first twenty, which is what a judge that never
errs would have shown. Baseline of every row: the full path at depth 0 on the same edges. The gate's
rows are a block that nobody asked for: what is shown of the evidence, and how many memories that
is.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import reverie
from bench.common import save, table
from bench.retrieval import data, stores
from bench.retrieval.metrics import measure
from reverie.core.config import Settings
from reverie.core.model import Event, Hit, visible_spaces
from reverie.embedding import Embedder
from reverie.extraction.retrieval_feedback import make_query_snippet
from reverie.retrieval import rescoring, search_memories
from reverie.retrieval.search_query import SearchQuery

LIMIT, SHOWN = 10, 5
EDGES = ("none", "given", "judged")
AS_IT_IS: dict[str, dict[str, Any]] = {"full": {}}
CASCADES: dict[str, dict[str, Any]] = {
    "depth 0": {},
    "depth 1": {"depth": 1},
    "depth 2": {"depth": 2},
    "gate, depth 0": {"automatic": True},
    "gate, depth 1": {"automatic": True, "depth": 1},
    "gate, depth 2": {"automatic": True, "depth": 2},
}
STAGES = {
    "priors off": ("compute_prior", lambda *_: 1.0),
    "diversity off": ("drop_duplicate_texts", list),
}


def asked(mind: reverie.Mind, question: str, **how: Any) -> list[Hit]:
    """What a question finds, as `recall` asks it."""
    now = mind.context.now()
    return search_memories(
        mind.store,
        SearchQuery(
            **{
                "text": question,
                "context": question,
                "spaces": visible_spaces(stores.SPACE),
                "now": now,
                "limit": LIMIT,
                **mind.context.embed_query(question),
                **how,
            }
        ),
    )


@contextmanager
def copied(mind: reverie.Mind, embedder: Embedder) -> Iterator[reverie.Mind]:
    """The same memories in a home of their own, so that use leaves no trace in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        mind.data.backup(Path(folder) / "reverie.db")
        other = reverie.open(settings=Settings(home=Path(folder), backups=0), embedder=embedder)
        try:
            yield other
        finally:
            other.store.close()


def used(
    mind: reverie.Mind, questions: Sequence[data.Question], ids: dict[str, str], judged: bool
) -> None:
    """Ask these and let settle learn from what came up."""
    events = []
    for question in questions:
        if judged:
            gold = {ids[source] for source in question.gold if source in ids}
            shown = [
                hit.memory.id
                for hit in asked(mind, question.text, limit=20)
                if hit.memory.id in gold
            ]
        else:
            shown = [
                hit.memory.id for hit in asked(mind, question.text, limit=SHOWN, automatic=True)
            ]
        more = {"verified": shown} if judged else {}
        events.append(
            Event(
                verb="prepared",
                space=stores.SPACE,
                session=question.id,
                at=mind.context.now(),
                payload={"ids": shown, "asked": make_query_snippet(question.text), **more},
            )
        )
    mind.store.append(events)
    mind.settle()


def measured(
    mind: reverie.Mind, questions: Sequence[data.Question], ids: dict[str, str], **how: Any
) -> list[dict[str, float]]:
    """Every measure for every question."""
    published = {memory: source for source, memory in ids.items()}
    rows = []
    for question in questions:
        found = [published[hit.memory.id] for hit in asked(mind, question.text, **how)]
        rows.append(measure(found, question.gold) | {"shown": float(len(found))})
    return rows


def ablated(
    name: str, root: Path | None, embedder: Embedder, cache: Path, tell: Callable[[str], None]
) -> dict[str, dict[str, float]]:
    """Every row of one set: means over every second question."""
    dataset = data.load(name, root)
    rows: dict[str, list[dict[str, float]]] = {}
    counts: dict[str, float] = {}
    for corpus in dataset.corpora:
        questions = [question for question in dataset.questions if question.corpus == corpus]
        first, second = questions[0::2], questions[1::2]
        original, ids = stores.opened(dataset, corpus, embedder, cache)
        for edges in EDGES:
            with copied(original, embedder) as mind:
                if edges != "none":
                    used(mind, first, ids, edges == "judged")
                counts[edges] = counts.get(edges, 0) + mind.data.stats().edges
                for label, how in (CASCADES if edges != "none" else AS_IT_IS).items():
                    rows.setdefault(f"{edges}: {label}", []).extend(
                        measured(mind, second, ids, **how)
                    )
                for label, (stage, without) in STAGES.items():
                    with patch.object(rescoring, stage, without):
                        rows.setdefault(f"{edges}: {label}", []).extend(measured(mind, second, ids))
                if edges == "none":
                    rows.setdefault("none: gate", []).extend(
                        measured(mind, second, ids, automatic=True)
                    )
        original.store.close()
        tell(f"{name} {corpus}: {len(second)} questions")
    keys = ("recall@10", "mrr", "shown")
    return {
        label: {key: sum(one[key] for one in some) / len(some) for key in keys}
        | {"n": float(len(some)), "edges": counts[label.partition(":")[0]]}
        for label, some in rows.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(data.SETS))
    args = data.arguments(parser)
    embedder = stores.remembering(args.cache.absolute())
    results = {}
    for name in args.sets:
        results[name] = ablated(
            name, args.data, embedder, args.cache.absolute(), lambda line: print(line, flush=True)
        )
        table(
            [
                (label, row["recall@10"], row["mrr"], row["shown"], row["n"], row["edges"])
                for label, row in results[name].items()
            ],
            (name, "recall@10", "MRR", "shown", "questions", "edges"),
        )
    save("ablation", results)
    print(
        "\ntarget: at depth 0 and without edges not lower than before; a depth that gains nothing is not the default"
    )


if __name__ == "__main__":
    main()
