"""A model's vocabulary: the numbers of a text's tokens, read from its `tokenizer.json`.

The file says what a model was trained with: how text is cleaned and split, which pieces there are,
and which numbers stand around a text. `kitoken` reads it; a test compares its numbers with those of
the library that writes such files.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput

# What a file says of each added token besides.
ADDED_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


class Vocabulary:
    """The vocabulary of a `tokenizer.json`; BadInput where the file is none. Thread-safe."""

    def __init__(self, path: Path | str) -> None:
        load_library()
        from kitoken import Kitoken

        try:
            content = Path(path).read_bytes()
            settings = json.loads(content)
            # Padding and length are the caller's: the file has those of whoever saved it.
            settings.update(padding=None, truncation=None)
            settings["added_tokens"] = add_unknown_token(settings)
            self._encoder = Kitoken.from_tokenizers(json.dumps(settings).encode())
            self.before, self.after = read_template(settings.get("post_processor") or {})
        except Exception as err:  # the library raises nothing more special
            raise BadInput(f"{path} is no tokenizer.json that can be used: {err}") from err

    def count(self, text: str) -> int:
        """The tokens of a text, without those that a model puts around it."""
        return len(self._encoder.encode(text, True))

    def encode(self, text: str, limit: int) -> list[int]:
        """The numbers of a text's tokens and of those around it, at most `limit` together."""
        inner = limit - len(self.before) - len(self.after)
        return [*self.before, *self._encoder.encode(text, True)[:inner], *self.after]


@cache
def load_library() -> None:
    """Have `kitoken` in memory, loaded by a thread that lives as long as the process."""
    if threading.current_thread() is threading.main_thread():
        import_module("kitoken")
        return
    # Its allocator takes the thread that loads it for the main one and gives up what that has when
    # it ends: kitoken 0.11.1 then ends the process with SIGSEGV in the next thread that encodes.
    # The worker's threads come and go with the sessions.
    loaded = threading.Event()
    threading.Thread(target=hold_library, args=(loaded,), name="kitoken", daemon=True).start()
    loaded.wait()


def hold_library(loaded: threading.Event) -> None:
    """Load `kitoken`, say so, and stay until the process ends."""
    try:
        # Where it is missing, whoever imports it next is told.
        with suppress(ImportError):
            import_module("kitoken")
    finally:
        loaded.set()
    threading.Event().wait()


def add_unknown_token(settings: Mapping[str, Any]) -> list[Any]:
    """The file's added tokens with that for what is unknown, which `kitoken` looks for there."""
    added, model = [*(settings.get("added_tokens") or ())], settings["model"]
    unknown, numbers = model.get("unk_token"), model.get("vocab")
    if not isinstance(unknown, str | None) or len(numbers) < 2:
        raise ValueError("it has no pieces")  # the library would end the process
    has_it = any(one["content"] == unknown for one in added)
    if isinstance(numbers, dict) and unknown in numbers and not has_it:
        token = {"id": numbers[unknown], "content": unknown, "special": True}
        added.append(token | dict.fromkeys(ADDED_FLAGS, False))
    return added


def read_template(processor: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """The numbers that stand before and after a text, by the `post_processor` of the file."""
    kind = processor.get("type")
    if kind == "Sequence":
        before, after = zip(*map(read_template, processor["processors"]), strict=True)
        return [*chain.from_iterable(before)], [*chain.from_iterable(after)]
    if kind in ("BertProcessing", "RobertaProcessing"):
        return [processor["cls"][1]], [processor["sep"][1]]
    if kind != "TemplateProcessing":
        return [], []
    steps, numbers = processor["single"], processor["special_tokens"]
    at = next(place for place, step in enumerate(steps) if "Sequence" in step)
    return list(list_specials(steps[:at], numbers)), list(list_specials(steps[at + 1 :], numbers))


def list_specials(
    steps: Sequence[Mapping[str, Any]],
    numbers: Mapping[str, Any],
) -> Iterator[int]:
    """The numbers of the special tokens of a template's steps."""
    for step in steps:
        yield from numbers[step["SpecialToken"]["id"]]["ids"]
