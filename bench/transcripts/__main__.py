"""Does what was said come back when it is needed, and does it keep quiet otherwise?

    python -m bench.transcripts --sessions DIR [--home DIR] [--cache DIR]

DIR holds labelled sessions (`bench.transcripts.labelled_sessions`); without it, nothing is measured.
All sessions are learned, each in its project's space. Every prompt is then asked with `recall`, and
given to a companion: what its first turn and the next one bring by themselves. The baseline, in the
same run, is plain BM25 over whole messages. Tokens are characters over four, bytes over four in
other scripts than Latin.
"""

import argparse
import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import reverie
from bench.common import save, table
from bench.transcripts.labelled_sessions import (
    LabelledSessions,
    Prompt,
    learn_sessions,
    load_sessions,
    space_of,
)
from reverie import Mind
from reverie.context_window.injection_block import render_line
from reverie.core.model import Memory

BUDGETS = (600, 1000)
Given = list[tuple[str, str]]
"""Texts with the sessions that they are from, in the order in which they are given."""


def count_tokens(text: str) -> int:
    """About how many tokens a text has."""
    return max(1, (len(text) if text.isascii() else len(text.encode())) // 4)


def within(given: Given, budget: int) -> Given:
    """What fits into so many tokens."""
    left, fitting = budget, []
    for text, session in given:
        left -= count_tokens(text)
        if left < 0:
            break
        fitting.append((text, session))
    return fitting


def as_given(memories: Sequence[Memory], now: float) -> Given:
    """Memories and passages as the lines in which they are shown."""
    return [(render_line(memory, now), memory.session) for memory in memories]


def ask_recall(mind: Mind, space: str, prompt: str) -> Given:
    """What `recall` answers."""
    hits = mind.recall(prompt, space=space, limit=30)
    return as_given([hit.memory for hit in hits], mind.work.now)


def ask_companion(mind: Mind, space: str, prompt: str) -> Given:
    """What comes by itself: at the prompt, and at the turn after it."""
    # A space of its own: no prompt is to find what an earlier one has asked.
    name = f"bench-{abs(hash(prompt))}"
    with mind.companion(space=f"{space}/{name}", session=name) as companion:
        said = [{"role": "user", "content": prompt}]
        first = companion.turn(said)
        companion.wait()
        said += [{"role": "assistant", "content": "…"}, {"role": "user", "content": "…"}]
        second = companion.turn(said)
    return as_given([*first.memories, *second.memories], mind.work.now)


def rank_messages(data: LabelledSessions) -> Callable[[Mind, str, str], Given]:
    """The baseline: BM25 over whole messages of the project."""
    import sqlite3

    from reverie.text.tokenization import to_index_text, tokenize_query

    stores: dict[str, sqlite3.Connection] = {}
    for project in data.projects:
        db = stores[space_of(project)] = sqlite3.connect(":memory:")
        db.execute("create virtual table m using fts5(body, tokenize = 'porter unicode61')")
        db.execute("create table t (num integer primary key, text text, session text)")
        for of, session, messages in data.sessions:
            for message in messages if of == project else ():
                if message["role"] in ("user", "assistant"):
                    text = message["content"]
                    row = (text, session)
                    num = db.execute("insert into t (text, session) values (?, ?)", row).lastrowid
                    body = (num, to_index_text(text))
                    db.execute("insert into m (rowid, body) values (?, ?)", body)

    def ask(_mind: Mind, space: str, prompt: str) -> Given:
        terms = " OR ".join(f'"{term}"' for term in tokenize_query(prompt))
        if not terms:
            return []
        sql = "select t.text, t.session from m join t on t.num = m.rowid where m match ?"
        return stores[space].execute(f"{sql} order by rank limit 30", (terms,)).fetchall()

    return ask


def share(part: int, whole: int) -> float:
    """A share, 0..1, with three digits."""
    return round(part / whole, 3) if whole else 0.0


def measure(
    mind: Mind, data: LabelledSessions, ask: Callable[[Mind, str, str], Given]
) -> dict[str, float]:
    """The figures of one way of asking."""
    full = [prompt for prompt in data.prompts if prompt.needs]
    answers = {prompt.text: ask(mind, space_of(prompt.project), prompt.text) for prompt in full}
    found: dict[str, float] = {}
    for budget in BUDGETS:
        met: dict[str, int] = defaultdict(int)
        language: dict[str, list[bool]] = defaultdict(list)
        for prompt in full:
            given = within(answers[prompt.text], budget)
            lenient, strict = count_met(data, prompt, given)
            met["needs"] += len(prompt.needs)
            met["lenient"] += lenient
            met["strict"] += strict
            language[prompt.language].append(lenient > 0)
        found[f"needs met within {budget}"] = share(met["lenient"], met["needs"])
        found[f"… that very session, {budget}"] = share(met["strict"], met["needs"])
        worst = min(sum(ones) / len(ones) for ones in language.values())
        found[f"… one met, worst language, {budget}"] = round(worst, 3)
    quiet = [prompt for prompt in data.prompts if not prompt.needs]
    here = [bool(ask(mind, space_of(p.project), p.text)) for p in quiet if p.project]
    away = [
        bool(ask(mind, space_of(project), prompt.text))
        for prompt in quiet
        if not prompt.project
        for project in data.projects[::4]
    ]
    found["given though nothing is needed, same project"] = share(sum(here), len(here))
    found["… elsewhere"] = share(sum(away), len(away))
    return found


def count_met(data: LabelledSessions, prompt: Prompt, given: Given) -> tuple[int, int]:
    """How many needs are met: by any text, and by one of the labelled session."""
    lenient = strict = 0
    for need in prompt.needs:
        meeting = [
            session == data.labels[id].session
            for id in need
            for text, session in given
            if data.labels[id].is_met_by(text)
        ]
        lenient += bool(meeting)
        strict += any(meeting)
    return lenient, strict


def main() -> int:
    """Measure, print, and keep the figures in bench/results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, default=os.environ.get("REVERIE_SESSIONS"))
    parser.add_argument("--home", type=Path, help="a home that has learned the sessions, or will")
    parser.add_argument("--cache", type=Path, help="a home that has the model")
    args = parser.parse_args()
    if not args.sessions:
        print("no labelled sessions: name their folder with --sessions or REVERIE_SESSIONS")
        return 0
    if args.cache:
        os.environ["REVERIE_MODELS"] = str(args.cache / "cache")
    data = load_sessions(Path(args.sessions))
    with TemporaryDirectory() as scratch:
        home = args.home or Path(scratch) / "learned"
        with reverie.open(home) as mind:
            if not mind.store.transcripts.count(None).passages:
                learn_sessions(mind, data)
        found = measure_copy(home, Path(scratch) / "asked", data)
    rows = [[name, *(figures[name] for figures in found.values())] for name in found["recall"]]
    table(rows, ["", *found])
    save("transcripts", found)
    return 0


def measure_copy(home: Path, copy: Path, data: LabelledSessions) -> dict[str, dict[str, float]]:
    """The figures of each way to ask, from a copy of a home: what is asked is said in it too."""
    shutil.copytree(home, copy)
    with reverie.open(copy) as mind:
        ways = {
            "BM25 over messages": rank_messages(data),
            "recall": ask_recall,
            "by itself": ask_companion,
        }
        return {name: measure(mind, data, ask) for name, ask in ways.items()}


if __name__ == "__main__":
    sys.exit(main())
