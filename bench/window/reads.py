"""What comes back of files that left a full window: `python -m bench.window.reads`

An agent reads the files of `reads.toml`, in two sessions; then its window is brought down until no
read is left in it. Somebody asks for each file in three ways: in natural words, by what its
definition is called with the underscores taken out, and by its path in words. Counted is for how
many files one of the first 5 hits of `recall` is of that file, and for how many natural questions
the passage that answers is among them. `auto` is what `recall` does by default; `words`, `dense`,
`convex` and `rrf` stand beside it.

Before that, what stays: the same files page by page, one a minute, until the window has filled
three times; of the first and of the last 20 pages, how many stand there word for word, and how many
of 5 older ones of which the user spoke again every ten pages, and of 5 that were read between them.
"""

import argparse
import json
import re
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import reverie
from bench.common import ROOT, save, table
from bench.retrieval import stores
from reverie.context_window.evicted_excerpts import ExcerptTarget, store_evicted_parts
from reverie.context_window.message_index import MessagePlace
from reverie.context_window.provider_messages import MessageFacts
from reverie.context_window.pruning_strategies import STRATEGIES
from reverie.context_window.window_fitting import FitRequest, fit_messages
from reverie.core.config import Settings
from reverie.embedding import Embedder
from reverie.runtime.companion import to_evicted_message

READS = Path(__file__).with_name("reads.toml")
NOW = 1_790_000_000.0
SPACE = "me/bench"
DEPTH = 5
MAX_FILE_CHARS = 40_000  # an agent's tool answers no more at once
OTHERS = 300
PAGES, PAGE_CHARS, FILLINGS = 120, 2_000, 3
STAYING = ("first 20", "last 20", "5 named", "5 beside")
MODES = ("auto", "words", "dense", "convex", "rrf")
WAYS = ("natural", "named", "path", "answer")


class Read(NamedTuple):
    """A file, the line of it that answers, and the question."""

    path: str
    text: str
    holds: str
    question: str

    def ask(self, way: str) -> str:
        """The question in one of the ways."""
        if way == "named":
            words = re.sub(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", " ", self.holds).split()
            return " ".join(word.lower() for word in words if word not in ("def", "class", "self"))
        if way == "path":
            return "what was in " + " ".join(re.findall("[A-Za-z0-9]+", self.path[:-3])) + "?"
        return self.question


def read_files(part: str) -> Iterator[Read]:
    """The files of a part that are here and hold what they are asked for."""
    folder = Path(sysconfig.get_path("stdlib" if part == "chosen" else "purelib"))
    if part != "chosen":
        import httpx

        folder = Path(httpx.__file__).parents[1]
    for path, holds, question in tomllib.loads(READS.read_text("utf-8"))[part]["files"]:
        file = folder / path
        text = file.read_text("utf-8")[:MAX_FILE_CHARS] if file.is_file() else ""
        if holds in text:
            yield Read(path, text, holds, question)
        else:
            print(f"left out: {path} holds no {holds!r}")


def read_messages(reads: list[Read]) -> list[dict[str, Any]]:
    """The session in which they were read, one after the other."""
    messages = [{"role": "user", "content": "Have a look around, then tell me how it works."}]
    for number, one in enumerate(reads):
        messages += read_page(number, one.path, one.text, NOW)
    said = "I have seen the files.", "Good. Now we do something else.", "All right.", "Go on."
    return messages + [
        {"role": ("assistant", "user")[place % 2], "content": text}
        for place, text in enumerate(said)
    ]


def measure_staying(part: str, strategy: str) -> dict[str, float]:
    """How many pages stay of the first 20, of the last 20, and of 5 that were named again."""
    pages = [
        (f"{one.path[:-3]}_{place}.py", one.text[at : at + PAGE_CHARS])
        for one in read_files(part)
        for place, at in enumerate(range(0, len(one.text) - PAGE_CHARS, PAGE_CHARS))
    ][:PAGES]
    named, beside = ({path for path, _ in pages[-start:-30:2]} for start in (40, 39))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read it all.", "at": NOW}]
    for number, (path, text) in enumerate(pages):
        if number in range(PAGES - 30, PAGES, 10):
            words = f"Keep {', '.join(sorted(named))} in mind."
            messages.append({"role": "user", "content": words, "at": NOW + 60 * number})
        messages += read_page(number, path, text, NOW + 60 * number)
    sent: list[Any] = []
    for message in messages:
        limit = PAGES * PAGE_CHARS // 4 // FILLINGS
        request = FitRequest(limit, strategy=strategy)
        sent = fit_messages([*sent, message], request, message["at"]).messages
    whole = {one["tool_call_id"] for one in sent if len(one["content"]) >= PAGE_CHARS}
    kept = [path for number, (path, _) in enumerate(pages) if f"c{number}" in whole]
    first, last = [{path for path, _ in some} for some in (pages[:20], pages[-20:])]
    return {
        name: float(len(some.intersection(kept)))
        for name, some in zip(STAYING, (first, last, named, beside), strict=True)
    }


def read_page(number: int, path: str, text: str, at: float) -> list[dict[str, Any]]:
    """A call and its answer."""
    call = {"name": "Read", "arguments": json.dumps({"file_path": path})}
    calls = [{"id": f"c{number}", "type": "function", "function": call}]
    said = f"Next I look at {path}."
    return [
        {"role": "assistant", "content": said, "tool_calls": calls, "at": at},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text, "at": at},
    ]


def beside() -> Iterator[str]:
    """Short statements that stand in the memory beside the files: what this project changed."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    yield from re.findall(r"^- (.{40,200}?)[.:;] ", text, re.MULTILINE)[:OTHERS]


def measure(part: str, embedder: Embedder, cache: Path) -> dict[str, dict[str, float]]:
    """How many of the files come back, by mode and way of asking."""
    reads = list(read_files(part))
    settings = Settings(home=cache, backups=0)
    asked = {way: [(one, one.ask(way)) for one in reads] for way in WAYS}
    found: dict[str, dict[str, float]] = {}
    with reverie.open(":memory:", settings=settings, embedder=embedder, now=lambda: NOW) as mind:
        for line in beside():
            mind.remember(line, space=SPACE)
        for session, some in (("one", reads[::2]), ("two", reads[1::2])):
            messages = read_messages(some)
            fitted = fit_messages(messages, FitRequest(2_000), NOW)
            places = [MessagePlace(n, MessageFacts(NOW)) for n in range(len(messages))]
            gone = [to_evicted_message(item, places) for item in fitted.leaving_items]
            store_evicted_parts(mind.store, gone, ExcerptTarget(SPACE, session), NOW)
        mind.settle()
        for mode in MODES:
            row = found[mode] = {"files": float(len(reads))}
            for way, questions in asked.items():
                row[way] = 0.0
                for one, question in questions:
                    hits = mind.recall(question, space=SPACE, limit=DEPTH, mode=mode)
                    needle = one.holds if way == "answer" else one.path
                    row[way] += any(
                        needle in hit.memory.text and one.path in hit.memory.text for hit in hits
                    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", default=["chosen", "held out"])
    parser.add_argument("--cache", type=Path, default=Path(".cache/home"))
    args = parser.parse_args()
    cache = args.cache.absolute()
    stay = {
        f"{part} · {name}": measure_staying(part, name)
        for part in args.parts
        for name in STRATEGIES
    }
    table([(name, *row.values()) for name, row in stay.items()], ("stays", *STAYING))
    rows = {part: measure(part, stores.remembering(cache), cache) for part in args.parts}
    table(
        [
            (part, mode, *(row[name] for name in ("files", *WAYS)))
            for part, modes in rows.items()
            for mode, row in modes.items()
        ],
        ("part", "mode", "files", *WAYS),
    )
    back = {f"{part} · {mode}": row for part, some in rows.items() for mode, row in some.items()}
    save("window-reads", stay | back)


if __name__ == "__main__":
    main()
