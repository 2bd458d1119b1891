"""The optional language model: it judges, extracts, compares, merges and names; everything works
without it.

`LanguageModel.ask` makes one call and returns what was read from the reply, or nothing and the
reason. What a model says is data: each task reads it strictly, caps it, and drops what it was not
asked for. It is never given more than the task needs, without secrets, fenced (`prompt_format`). A
task is a pure pair: the request, and how its answer is read.

Always true: no call is made beyond the day's budget or while the model rests after trouble
(`spending_limits`); every call ends in one outcome, is written down as an event "llm" and counted.
The usage is kept in the store, so that all processes share one budget and one rest. Importing this
package loads no client; the first call does (docs/dependencies.md).

We would notice by `reverie data llm`: calls, outcomes, tokens and cost of the day, and why the
model rests.
"""

from collections.abc import Callable

from reverie.llm.language_model import PROGRAMS, LanguageModel, LlmClient, parse_llm_address
from reverie.llm.spending_limits import SpendingLimits
from reverie.storage import Store


def open_llm(
    setting: str,
    *,
    key: str,
    price: tuple[float, float],
    limits: SpendingLimits,
    books: Store,
    now: Callable[[], float],
    private: Callable[[str], str],
) -> LanguageModel:
    """The model that a setting names. Nothing is loaded and no call is made yet.

    `price` is dollars for a million tokens, (in, out); `private` takes secrets out of a text.
    """
    where = parse_llm_address(setting)

    def make() -> LlmClient:
        if where.provider in PROGRAMS:
            from reverie.llm.command_line import CommandLineModel

            return CommandLineModel(where, price)
        from reverie.llm.client import RemoteModel

        return RemoteModel(where, key, price)

    return LanguageModel(where, make, books, limits, now, private)
