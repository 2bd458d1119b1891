"""What a condensed conversation keeps, and what recall brings back: `python -m bench.condense`

Each conversation is brought down to half of its tokens, a summary included, by each strategy of
`companion.condense`, without a language model. Beside them what `companion.fit` does: "fit:
oldest", which cuts the oldest, and "fit: ours". Later somebody asks what needs a part of it; the
question was not there before. Counted is the share of the evidence

- `word for word`: whose message is in the list as it was;
- `+ summary`: or of whose message a line stands in the summary. For chats, where the evidence is
  whole messages, a line counts as the share of its message's characters that it holds; for agents
  the words that were needed must stand there;
- `+ recall@5`: or is brought back by `recall(question)`, within 2,000 tokens, from a memory that
  holds what left.

Constants (room of a summary, what a sentence is worth) were chosen on the "chosen" half; what
counts is the other. `seconds` is the time that condensing takes for each 1,000 messages.
"""

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from time import perf_counter
from typing import Any

import reverie
from bench.common import save
from bench.window.__main__ import HALF, SPACE, Bench, affordable, mean, run
from bench.window.data import Need, Talk
from reverie.context_window.condensing.condense_strategies import STRATEGIES
from reverie.context_window.condensing.summary_draft import (
    CondensedMessages,
    draft_condensing,
    finish_condensing,
    fit_summary_lines,
)
from reverie.context_window.evicted_excerpts import ExcerptTarget, store_evicted_parts
from reverie.context_window.message_index import MessagePlace
from reverie.context_window.message_parts import get_message_text
from reverie.context_window.provider_messages import MessageFacts
from reverie.context_window.window_fitting import FitRequest, fit_messages
from reverie.core.config import Settings
from reverie.embedding import Embedder
from reverie.runtime.companion import to_evicted_message

DEPTH = 5
FITS = ("oldest", "ours")
WAYS = (*(f"fit: {name}" for name in FITS), *STRATEGIES)
COLUMNS = ("kept", "word for word", "+ summary", f"+ recall@{DEPTH}", "seconds")


def measured(talk: Talk, way: str, embedder: Embedder, cache: Path) -> dict[str, float]:
    """One conversation condensed in one way."""
    now = max((m["at"] for m in talk.messages if not isnan(m["at"])), default=0.0)
    total = fit_messages(talk.messages, FitRequest(10**9), now).plan.before
    began = perf_counter()
    made = brought_down(talk, way, total, now)
    seconds = perf_counter() - began
    settings = Settings(home=cache, backups=0)
    places = [MessagePlace(n, MessageFacts(now)) for n in range(len(talk.messages))]
    with reverie.open(":memory:", settings=settings, embedder=embedder, now=lambda: now) as mind:
        store_evicted_parts(
            mind.store,
            [to_evicted_message(item, places) for item in made.left],
            ExcerptTarget(SPACE, "bench"),
            now,
        )
        mind.settle()
        rows = [
            of(need, talk, made, mind.recall(need.question, space=SPACE, limit=DEPTH))
            for need in talk.needs
        ]
    shares = [mean(row[n] for row in rows) for n in range(3)]
    return dict(
        zip(
            COLUMNS,
            (made.after / total, *shares, 1_000 * seconds / len(talk.messages)),
            strict=True,
        )
    )


def brought_down(talk: Talk, way: str, total: int, now: float) -> CondensedMessages:
    """The conversation at half of its tokens."""
    name = way.removeprefix("fit: ")
    wish = FitRequest(total, strategy=name, start=HALF, down=HALF)
    if name != way:
        fitted = fit_messages(talk.messages, wish, now)
        return CondensedMessages(
            fitted.messages, total, fitted.plan.after, total // 2, name, left=fitted.leaving_items
        )
    made = draft_condensing(talk.messages, wish, now)
    return finish_condensing(made, fit_summary_lines(made, made.lines), "words")


def of(
    need: Need, talk: Talk, made: CondensedMessages, hits: Sequence[Any]
) -> tuple[float, float, float]:
    """(share word for word, share there or in the summary, share there or recalled) of one need."""
    back = affordable(hits)
    if need.evidence:
        there = "\n".join(
            get_message_text(m) for m in made.messages if get_message_text(m) != made.summary
        )
        told = f"{there}\n{made.summary}"
        return (
            found(need, there),
            found(need, told),
            found(need, "\n".join((told, *(hit.memory.text for hit in back)))),
        )
    kept = {id(message) for message in made.messages}
    word, lined, came = [], [], []
    for place in need.places:
        here = float(id(talk.messages[place]) in kept)
        whole = max(1, len(get_message_text(talk.messages[place])))
        line = min(1.0, sum(len(line.text) for line in made.lines if line.number == place) / whole)
        recalled = any(
            hit.memory.messages and hit.memory.messages[0] <= place <= hit.memory.messages[1]
            for hit in back
        )
        word.append(here)
        lined.append(max(here, line))
        came.append(max(here, line, float(recalled)))
    return mean(word), mean(lined), mean(came)


def found(need: Need, text: str) -> float:
    """The share of the words that were needed which stand in a text."""
    return mean(
        float(any(form in text for form in (words, json.dumps(words)[1:-1])))
        for words in need.evidence
    )


def main() -> None:
    means, _ = run(Bench(str(__doc__), WAYS, COLUMNS, measured))
    save("condense", means)


if __name__ == "__main__":
    main()
