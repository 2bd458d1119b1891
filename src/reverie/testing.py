"""For tests of Reverie and of what is built on it: a clock that stands still, a mind of its own,
special embedders.

    from reverie.testing import Clock, memory

    clock = Clock()
    with memory(now=clock) as mind:
        mind.remember("The staging server is called heron.", space="me/demo")
        clock.tick(days=30)

Nothing here reads a model, the network, the user's home or the time. Everything is deterministic
but ids, which are always new; they still sort by the order in which they were made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import reverie
from reverie.core.clock import new_id
from reverie.core.config import Settings
from reverie.core.errors import ModelUnavailable
from reverie.core.model import Event, Memory
from reverie.core.privacy_policy import DEFAULT_POLICY
from reverie.embedding.toy import ToyEmbedder
from reverie.memory.memory_validation import build_memory
from reverie.runtime.mind import Mind

if TYPE_CHECKING:
    from reverie.embedding import Embedder, Vectors

NOON = 1_760_000_000.0  # 9 October 2025, 08:53:20 UTC
SPACE = "me/demo"
PATIENT_SECONDS = 10.0
PATIENT_JUDGE_SECONDS = 60.0


class Clock:
    """A clock that moves only when it is told to; call it to read it."""

    def __init__(self, at: float = NOON) -> None:
        self.at = at

    def __call__(self) -> float:  # noqa: D102
        return self.at

    def tick(
        self,
        seconds: float = 1.0,
        *,
        minutes: float = 0.0,
        days: float = 0.0,
    ) -> float:
        """Move on, or back by a negative time. Returns the new time."""
        self.at += seconds * (not (minutes or days)) + minutes * 60.0 + days * 86_400.0
        return self.at


def memory(
    where: str | Path = ":memory:",
    *,
    now: Callable[[], float] | None = None,
    embedder: Embedder | Literal["none"] | None = None,
    **settings: Any,
) -> Mind:
    """A mind of its own: in memory unless `where` is a folder, with the toy embedder and a clock
    that stands still.

    Further names are those of `Settings`. `embedder="none"` gives a mind that knows only words. A
    first turn is searched for as long as 10 seconds, and a model may judge for a minute, so that a
    busy machine finds the same as an idle one; name `deadline` or `llm_judge_seconds` to test what
    comes of short ones.
    """
    home = Path("reverie-testing") if str(where) == ":memory:" else Path(where)
    wordless = embedder == "none"
    usual: dict[str, Any] = {
        "embedder": "none" if wordless else "toy",
        "deadline": PATIENT_SECONDS,
        "llm_judge_seconds": PATIENT_JUDGE_SECONDS,
    }
    chosen = Settings(home=home, **{**usual, **settings})
    model = None if isinstance(embedder, str) else embedder or ToyEmbedder()
    return reverie.open(
        where,
        settings=chosen,
        embedder=model,
        now=now or Clock(),
    )


def make_memory(text: str, *, now: float = NOON, **fields: Any) -> Memory:
    """A memory as `remember` would build it, not written anywhere."""
    return build_memory(
        fields.pop("id", None) or new_id(),
        now,
        text,
        **{
            "space": SPACE,
            "policy": DEFAULT_POLICY,
            **fields,
        },
    )


def make_event(verb: str = "remember", *, at: float = NOON, **fields: Any) -> Event:
    """An event that is not written anywhere."""
    return Event(
        **{
            "verb": verb,
            "space": SPACE,
            "at": at,
            **fields,
        }
    )


def make_conversation(*texts: str) -> list[dict[str, str]]:
    """A conversation in which the user says these things and the assistant agrees in between."""
    messages: list[dict[str, str]] = []
    for text in texts:
        if messages:
            messages.append({"role": "assistant", "content": "All right."})
        messages.append({"role": "user", "content": text})
    return messages


class BlockedEmbedder(ToyEmbedder):
    """An embedder that waits until `release` is called. `busy` is set while somebody waits."""

    def __init__(self) -> None:
        self.busy = threading.Event()
        self._free = threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed as the toy embedder does, once released."""
        self.busy.set()
        self._free.wait()
        return super().embed(texts)

    def release(self) -> None:
        """Answer from now on."""
        self._free.set()


class AbsentEmbedder(ToyEmbedder):
    """An embedder whose model is unavailable."""

    def embed(self, texts: Sequence[str]) -> Vectors:  # noqa: ARG002 - the same shape as the others
        """Raises ModelUnavailable."""
        raise ModelUnavailable


class CountingEmbedder(ToyEmbedder):
    """A toy embedder that records the texts it was given, in `asked`."""

    def __init__(self, model: str = ToyEmbedder.model) -> None:
        self.model = model
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed as the toy embedder does, and record the texts."""
        self.asked += texts
        return super().embed(texts)
