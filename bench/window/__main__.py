"""What a full window keeps, and what recall brings back. `python -m bench.window [--sets locomo
beam-100k agents]`

Each conversation is brought down to half of its tokens by each strategy. Later somebody asks what
needs a part of it: the question was not there when it was pruned. Counted is the share of the
evidence that is still in the window, and of what left it, the share that `recall(question)` brings
back among its first 5 or 10 within BUDGET tokens, from a memory that holds nothing but what left.
An answer of which a line is left counts as gone, unless the words that were needed stand in that
line (agents only). Where evidence is whole messages, a passage that comes back counts for its
message.

`prefix` is the share of the pruned prompt that stood at its beginning unchanged; `cached` that of
all tokens sent while the conversation grows to its end in a window of a third of it, one call a
message, that a provider's cache has read. Constants were chosen on one half of the conversations
("chosen"); what counts is the other.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import reverie
from bench.common import save, table
from bench.retrieval import data as retrieval
from bench.retrieval import stores
from bench.window.data import Need, Talk, agents, chats
from reverie.context_window.evicted_excerpts import ExcerptTarget, store_evicted_parts
from reverie.context_window.message_index import MessagePlace
from reverie.context_window.message_parts import get_message_text
from reverie.context_window.provider_messages import MessageFacts
from reverie.context_window.pruning_strategies import STRATEGIES
from reverie.context_window.window_fitting import FitRequest, FittedMessages, fit_messages
from reverie.core.config import Settings
from reverie.core.model import Hit
from reverie.embedding import Embedder
from reverie.runtime.companion import to_evicted_message
from reverie.text.token_counts import estimate_tokens

SETS = ("locomo", "beam-100k", "agents")
PARTS = ("chosen", "held out")
HALF = 0.5
BUDGET = 2_000  # tokens of what is recalled: five passages
DEPTHS = (5, 10)
GROWN = 3  # a growing conversation comes to so many windows
SPACE = "me/bench"
COLUMNS = ("kept", "window", *(f"+ recall@{depth}" for depth in DEPTHS), "prefix", "cached")


class Share(NamedTuple):
    """What became of the evidence of one conversation's needs, each a share of it."""

    window: float
    with_recall: tuple[float, ...]  # window or recalled, by DEPTHS


def measured(talk: Talk, strategy: str, embedder: Embedder, cache: Path) -> dict[str, float]:
    """One conversation under one strategy."""
    now = max((m["at"] for m in talk.messages if not isnan(m["at"])), default=0.0)
    total = fit_messages(talk.messages, FitRequest(10**9), now).plan.before
    fitted = fit_messages(
        talk.messages, FitRequest(total, strategy=strategy, start=HALF, down=HALF), now
    )
    share = shares(talk, fitted, now, embedder, cache)
    return {
        "kept": fitted.plan.after / total,
        "window": share.window,
        "prefix": fitted.plan.prefix / fitted.plan.after,
        **{
            f"+ recall@{depth}": value
            for depth, value in zip(DEPTHS, share.with_recall, strict=True)
        },
        "cached": cached(talk, strategy, total // GROWN, now),
    }


def shares(
    talk: Talk, fitted: FittedMessages, now: float, embedder: Embedder, cache: Path
) -> Share:
    """The means over the needs of a conversation."""
    places = [MessagePlace(n, MessageFacts(now)) for n in range(len(talk.messages))]
    gone = [to_evicted_message(item, places) for item in fitted.leaving_items]
    settings = Settings(home=cache, backups=0)
    with reverie.open(":memory:", settings=settings, embedder=embedder, now=lambda: now) as mind:
        store_evicted_parts(mind.store, gone, ExcerptTarget(SPACE, "bench"), now)
        mind.settle()
        rows = [
            of(need, talk, fitted, mind.recall(need.question, space=SPACE, limit=max(DEPTHS)))
            for need in talk.needs
        ]
    return Share(
        mean([row[0] for row in rows]),
        tuple(mean([row[1 + n] for row in rows]) for n in range(len(DEPTHS))),
    )


def of(need: Need, talk: Talk, fitted: FittedMessages, hits: Sequence[Hit]) -> tuple[float, ...]:
    """(share in the window, share in the window or recalled at each depth) of one need."""
    here = held(need, talk, fitted)
    back = [affordable(hits[:depth]) for depth in DEPTHS]
    if need.evidence:
        found = [
            {words for words in need.evidence if any(words in hit.memory.text for hit in some)}
            for some in back
        ]
        return (
            len(here) / len(need.evidence),
            *(len(here | some) / len(need.evidence) for some in found),
        )
    came = [
        {
            place
            for hit in some
            for place in need.places
            if hit.memory.messages and hit.memory.messages[0] <= place <= hit.memory.messages[1]
        }
        for some in back
    ]
    return (len(here) / len(need.places), *(len(here | some) / len(need.places) for some in came))


def held(need: Need, talk: Talk, fitted: FittedMessages) -> set[Any]:
    """The evidence that is in the window."""
    if need.evidence:
        text = "\n".join(get_message_text(message) for message in fitted.messages)
        return {
            words for words in need.evidence if words in text or json.dumps(words)[1:-1] in text
        }
    kept = {id(message) for message in fitted.messages}
    return {place for place in need.places if id(talk.messages[place]) in kept}


def affordable(hits: Sequence[Hit]) -> list[Hit]:
    """The first hits, as far as the budget goes."""
    taken: list[Hit] = []
    left = BUDGET
    for hit in hits:
        left -= estimate_tokens(hit.memory.text)
        if left >= 0:
            taken.append(hit)
    return taken


def cached(talk: Talk, strategy: str, limit: int, now: float) -> float:
    """The share of all tokens sent that stood at the same place in the call before."""
    wish = FitRequest(limit, strategy=strategy)
    weights = {id(m): fit_messages([m], FitRequest(10**9), now).plan.before for m in talk.messages}
    sent: list[Any] = []
    alive: list[Any] = []  # or another message could get the same id
    reused = whole = 0
    for message in talk.messages:
        before = sent
        fitted = fit_messages([*sent, message], wish, now)
        sent = fitted.messages
        alive += sent
        for one in sent:
            weights.setdefault(id(one), fit_messages([one], FitRequest(10**9), now).plan.before)
        whole += sum(weights[id(one)] for one in sent)
        for old, new in zip(before, sent, strict=False):
            if old is not new:
                break
            reused += weights[id(new)]
    return reused / max(1, whole)


def mean(values: Iterable[float]) -> float:
    """The mean; 0 of nothing."""
    return fmean(list(values) or [0.0])


class Bench(NamedTuple):
    """What is measured of each conversation, and how it is told."""

    doc: str
    ways: Sequence[str]
    columns: Sequence[str]
    # one conversation in one of the ways
    measured: Callable[[Talk, str, Embedder, Path], dict[str, float]]


def run(bench: Bench) -> tuple[dict[str, dict[str, float]], argparse.Namespace]:
    """The means of the conversations that are asked for, by set, part and way; told as a table."""
    parser = argparse.ArgumentParser(
        description=bench.doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--ways", nargs="+", default=list(bench.ways), choices=bench.ways)
    args = retrieval.arguments(parser)
    cache = args.cache.absolute()
    embedder = stores.remembering(cache)
    found: dict[tuple[str, str, str], list[dict[str, float]]] = defaultdict(list)
    for name in args.sets:
        for talk in agents() if name == "agents" else chats(args.data, name):
            part = PARTS[talk.held_out]
            for way in args.ways if part in args.parts else ():
                found[name, part, way].append(bench.measured(talk, way, embedder, cache))
    means = {
        key: {column: mean(one[column] for one in some) for column in bench.columns}
        for key, some in found.items()
    }
    ordered = sorted(means.items(), key=lambda one: one[0][:2])
    table(
        [(*key, *(row[column] for column in bench.columns)) for key, row in ordered],
        ("set", "part", "way", *bench.columns),
    )
    return {" · ".join(key): row for key, row in means.items()}, args


def main() -> None:
    means, args = run(Bench(str(__doc__), tuple(STRATEGIES), COLUMNS, measured))
    save("-".join(("window", *args.sets, *args.parts)).replace(" ", "-"), means)


if __name__ == "__main__":
    main()
