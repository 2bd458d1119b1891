"""What a language model would be sent, and how often: tokens a judged turn, over conversations of
the development sets.

    python -m bench.llm [--data FOLDER] --cache FOLDER

A stand-in for the client counts characters and names nothing; everything else is the real path of a
companion: search over the pool, cadence, change of topic, the request as it would go out. The last
two sessions of each LoCoMo conversation are replayed turn by turn against all that was said before.
Tokens are characters / 4, as in the budget. There is no baseline: the figures say what the budget's
default buys (target: a day of 200 turns within it).
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.common import percentile, save, table
from bench.retrieval.data import Row, default_root, load
from reverie.core.model import Add, Event
from reverie.embedding.minilm import MiniLM
from reverie.llm.judge_task import (
    MAX_CANDIDATE_CHARS,
    MAX_CANDIDATES,
    MAX_QUERY_CHARS,
    build_judge_request,
)
from reverie.llm.language_model import LanguageModel, LlmReply, LlmRequest, parse_llm_address
from reverie.llm.spending_limits import SpendingLimits, estimate_prompt_tokens
from reverie.storage import Store
from reverie.testing import Clock, make_memory, memory

SPACE = "me/bench"
BUDGET = 1_000_000  # the default of llm_tokens_per_day


class Counting:
    """A client that answers "nothing" and keeps how large each question was."""

    def __init__(self) -> None:
        self.sizes: list[tuple[str, int]] = []

    def ask(self, request: LlmRequest) -> LlmReply:
        self.sizes.append(
            (request.task, estimate_prompt_tokens(request.instructions + request.data))
        )
        return LlmReply('{"use": []}', None, None)

    def price(self, _tokens_in: int, _tokens_out: int) -> float | None:
        return None

    def close(self) -> None:
        """Nothing to let go of."""


def counted(client: Counting, store: Store, now: Callable[[], float]) -> LanguageModel:
    """A model whose client counts."""
    return LanguageModel(
        parse_llm_address("openai:counting"),
        lambda: client,
        store,
        SpendingLimits(),
        now,
        lambda text: text,
    )


def replayed(rows: Sequence[Row], cache: Path) -> tuple[int, Counting]:
    """(turns, what was asked) of the last two sessions after all the others."""
    clock, client = Clock(), Counting()
    sessions = list(dict.fromkeys(row.session for row in rows))
    before = [row for row in rows if row.session not in sessions[-2:]]
    with memory(now=clock, embedder=MiniLM(cache / "cache", offline=True)) as mind:
        mind.store.apply(
            [
                Add(make_memory(row.text, space=SPACE, session=row.session, speaker=row.speaker))
                for row in before
            ],
            Event("remember", SPACE, clock()),
        )
        mind.settle()
        mind.context.llm = counted(client, mind.store, clock)
        turns = 0
        for session in sessions[-2:]:
            said: list[dict[str, Any]] = []
            with mind.companion(SPACE, session=f"live-{session}") as companion:
                for place, row in enumerate(row for row in rows if row.session == session):
                    said.append({"role": "assistant" if place % 2 else "user", "content": row.text})
                    if place % 2 == 0:
                        companion.turn(said)
                        companion.wait()
                        turns += 1
                    clock.tick(40)
    return turns, client


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=default_root())
    options.add_argument("--cache", type=Path, required=True)
    given = options.parse_args()
    found = [replayed(rows, given.cache) for rows in load("locomo", given.data).corpora.values()]
    turns = sum(one for one, _ in found)
    asked = [size for _, client in found for task, size in client.sizes if task == "judge"]
    largest = build_judge_request(
        "q" * MAX_QUERY_CHARS, [make_memory("m" * MAX_CANDIDATE_CHARS)] * MAX_CANDIDATES, 5.0
    )
    result = {
        "turns": turns,
        "judged": len(asked),
        "tokens_mean": round(sum(asked) / len(asked)),
        "tokens_p95": percentile(asked, 0.95),
        "tokens_most": estimate_prompt_tokens(largest.instructions + largest.data),
        "tokens_a_turn": round(sum(asked) / turns),
        "turns_a_day_within_budget": round(BUDGET * turns / sum(asked)),
    }
    table([[name, value] for name, value in result.items()], ("what", "figure"))
    save("llm", result)


if __name__ == "__main__":
    main()
