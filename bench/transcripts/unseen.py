"""Does memory of talk work on talk that its rules have never seen?

    python -m bench.transcripts.unseen [--cache HOME] [--part dev|held] [--failures]

The data in `bench/transcripts/unseen` (see its README) was written and labelled before anything was
run. Of the half `dev` the failures may be printed and learned from; of `held` there are only
figures. Every session is learned as a host's past one, in the space of its project and once more
in a space where all projects lie together. Questions are then asked of `recall`; working prompts
are given to a companion, and what it brings at that turn and the next counts. Nothing here reads
anything but the public verbs.
"""

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import reverie
from bench.common import save, table
from bench.transcripts.__main__ import BUDGETS, count_tokens, share
from bench.transcripts.labelled_sessions import Label, LabelledSessions, Prompt
from reverie import Mind
from reverie.context_window.injection_block import render_line
from reverie.core.model import Memory
from reverie.testing import Clock

FOLDER = Path(__file__).with_suffix("")
PARTS = ("dev", "held")
CROWD = "me/unseen-crowd"  # where the sessions of all projects lie together
ASKED_AT = datetime.fromisoformat("2026-04-20T09:00:00Z").timestamp()
SECONDS_BETWEEN = 90.0  # from one message of a session to the next
REPLY = "Done, the tests pass."
LIMIT = 30

Row = dict[str, Any]


class UnseenData(NamedTuple):
    """The rows of one half."""

    sessions: list[Row]
    queries: list[Row]
    amendments: list[Row]
    quiet: list[Row]
    statements: list[Row]


class Answer(NamedTuple):
    """What was given, in its order, as memories and as the lines in which they are shown."""

    memories: list[Memory]
    lines: list[str]
    at_once: int = 0  # how many of them came at the first turn, which words alone decide

    def within(self, budget: int) -> "Answer":
        """What fits into so many tokens."""
        left = budget
        for count, line in enumerate(self.lines):
            left -= count_tokens(line)
            if left < 0:
                return Answer(self.memories[:count], self.lines[:count])
        return self

    @property
    def has_talk(self) -> bool:
        """True if a passage of a past conversation is among it."""
        return any(memory.kind == "said" for memory in self.memories)

    @property
    def has_talk_at_once(self) -> bool:
        """True if one is among what the first turn brought."""
        return any(memory.kind == "said" for memory in self.memories[: self.at_once])


def fold_space(text: str) -> str:
    """Lower case, white space as one blank: how strings are looked for in a text."""
    return " ".join(text.casefold().split())


def has_part(text: str, part: str) -> bool:
    """True if a text contains a string of a label."""
    return fold_space(part) in fold_space(text)


def load_unseen(part: str) -> UnseenData:
    """The rows of a half, in the order of the files; sessions in the order in which they began."""

    def load(name: str) -> list[Row]:
        lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
        return [row for row in map(json.loads, lines) if row["part"] == part]

    data = UnseenData(*map(load, UnseenData._fields))
    data.sessions.sort(key=lambda row: str(row["at"]))
    return data


def to_labelled(data: UnseenData) -> LabelledSessions:
    """The same with every quiet prompt asked in its project and, as one that belongs nowhere, in
    all of them.
    """
    queries = [
        Prompt(row["text"], row["lang"], row["project"], ((row["id"],),)) for row in data.queries
    ]
    quiet = [
        Prompt(row["text"], row["lang"], project, ())
        for row in data.quiet
        for project in (row["project"], "")
    ]
    sessions = [(row["project"], row["session"], row["messages"]) for row in data.sessions]
    labels = {row["id"]: Label(row["id"], row["session"], ()) for row in data.queries}
    return LabelledSessions(sessions, labels, [*queries, *quiet])


def space_of(name: str) -> str:
    """The space of a project, or of the statements in a language."""
    return f"me/unseen-{name}"


def learn_session(mind: Mind, session: Row, space: str, name: str) -> None:
    """Have a session learned, each message at its time."""
    start = datetime.fromisoformat(session["at"]).timestamp()
    messages = [
        {**message, "at": start + SECONDS_BETWEEN * number}
        for number, message in enumerate(session["messages"])
    ]
    mind.learn(messages, space=space, session=name)


def to_answer(memories: Sequence[Memory], now: float) -> Answer:
    """Memories and passages as they are shown; what came twice counts once."""
    once = list({memory.id: memory for memory in memories}.values())
    return Answer(once, [render_line(memory, now) for memory in once])


def ask_recall(mind: Mind, space: str, text: str) -> Answer:
    """What `recall` answers."""
    hits = mind.recall(text, space=space, limit=LIMIT)
    return to_answer([hit.memory for hit in hits], ASKED_AT)


def ask_companion(mind: Mind, space: str, text: str, name: str) -> Answer:
    """What comes by itself: at the prompt, and at the turn after it. Each prompt has a space of its
    own below the project's, or what was asked before would come up as said.
    """
    with mind.companion(space=f"{space}/{name}", session=f"later-{name}") as companion:
        said = [{"role": "user", "content": text}]
        first = companion.turn(said)
        companion.wait()
        said += [{"role": "assistant", "content": "…"}, {"role": "user", "content": "…"}]
        second = companion.turn(said)
    answer = to_answer([*first.memories, *second.memories], ASKED_AT)
    return answer._replace(at_once=len(first.memories))


def is_of(memory: Memory, session: str, numbers: Iterable[int]) -> bool:
    """True if a memory or passage stems from one of these messages."""
    if memory.session.removeprefix("crowd-") != session or not memory.messages:
        return False
    first, last = memory.messages[0], memory.messages[-1]
    return any(first <= number <= last for number in numbers)


def judge_answer(query: Row, answer: Answer) -> dict[str, float]:
    """How much of what a query needs is in an answer, by figure."""
    found: dict[str, float] = {}
    for budget in BUDGETS:
        given = answer.within(budget)
        has = [any(has_part(line, part) for line in given.lines) for part in query["parts"]]
        found[f"parts within {budget}"] = sum(has) / len(has)
        sessions = {memory.session.removeprefix("crowd-") for memory in given.memories}
        found[f"gold session within {budget}"] = float(query["session"] in sessions)
        found[f"gold message within {budget}"] = float(
            any(is_of(memory, query["session"], query["messages"]) for memory in given.memories)
        )
    return found


def judge_amendment(row: Row, answer: Answer) -> bool:
    """True if the newer statement is shown before the older one, or alone."""

    def place(side: str) -> float:
        told = row[side]
        for number, (memory, line) in enumerate(zip(answer.memories, answer.lines, strict=True)):
            if memory.session == told["session"] and has_part(line, told["says"]):
                return number
        return float("inf")

    return place("newer") < place("older")


def recall_row(mind: Mind, row: Row) -> Answer:
    """What `recall` answers to a query in its project."""
    return ask_recall(mind, space_of(row["project"]), row["text"])


def recall_in_crowd(mind: Mind, row: Row) -> Answer:
    """The same where all projects lie together."""
    return ask_recall(mind, CROWD, row["text"])


def accompany_row(mind: Mind, row: Row) -> Answer:
    """What comes by itself to a query in its project."""
    return ask_companion(mind, space_of(row["project"]), row["text"], row["id"])


WAYS: dict[str, tuple[str, Callable[[Mind, Row], Answer]]] = {
    "asked": ("asked", recall_row),
    "asked in a crowd": ("asked", recall_in_crowd),
    "by itself": ("unasked", accompany_row),
    "by itself, questions": ("asked", accompany_row),
}
"""Ways of asking, with the kind of query that each is for."""


class Bench:
    """A mind that has learned one half, what was found, and what failed."""

    def __init__(self, mind: Mind, data: UnseenData) -> None:
        self.mind, self.data = mind, data
        self.figures: dict[str, Any] = {}
        self.failures: list[str] = []
        self.learned: dict[str, tuple[Memory, ...]] = {}
        self._learn()

    def _learn(self) -> None:
        for session in self.data.sessions:
            learn_session(self.mind, session, space_of(session["project"]), session["session"])
            learn_session(self.mind, session, CROWD, f"crowd-{session['session']}")
        for row in self.data.statements:
            said = [{"role": "user", "content": row["text"]}]
            said += [{"role": "assistant", "content": REPLY}]
            report = self.mind.learn(said, space=space_of(row["lang"]), session=row["id"])
            self.learned[row["id"]] = report.memories
        self.mind.settle()

    def measure_queries(self) -> None:
        """What comes back, asked for and by itself, and asked for in a crowd."""
        for way, (kind, ask) in WAYS.items():
            figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for row in self.data.queries:
                if row["kind"] != kind:
                    continue
                answer = ask(self.mind, row)
                for name, value in judge_answer(row, answer).items():
                    figures[name][row["project"]].append(value)
                self._note_missing(way, row, answer)
            self.figures[way] = {name: summarise(found) for name, found in figures.items()}

    def _note_missing(self, way: str, row: Row, answer: Answer) -> None:
        given = answer.within(BUDGETS[0])
        missing = [
            part for part in row["parts"] if not any(has_part(line, part) for line in given.lines)
        ]
        if missing:
            shown = f"{len(given.lines)} lines of {len(answer.lines)}"
            self.failures.append(f"{way} {row['id']} “{row['text']}”: {missing} not in {shown}")

    def measure_amendments(self) -> None:
        """Whether the newer statement comes first."""
        good = 0
        for row in self.data.amendments:
            answer = ask_recall(self.mind, space_of(row["project"]), row["text"])
            is_good = judge_amendment(row, answer)
            good += is_good
            if not is_good:
                self.failures.append(f"amended {row['id']} “{row['text']}”: {row['newer']['says']}")
        self.figures["newer first"] = share(good, len(self.data.amendments))

    def measure_quiet(self) -> None:
        """How often something comes up although nothing is needed, by kind and by language."""
        kinds: dict[str, list[Answer]] = defaultdict(list)
        languages: dict[str, list[bool]] = defaultdict(list)
        for row in self.data.quiet:
            for kind, project in ((row["kind"], row["project"]), ("elsewhere", row["elsewhere"])):
                name = f"{row['id']}-{kind}"
                answer = ask_companion(self.mind, space_of(project), row["text"], name)
                kinds[kind].append(answer)
                languages[row["lang"]].append(answer.has_talk)
                if answer.memories:
                    told = f"quiet {kind} {row['id']} “{row['text']}” in {project}"
                    self.failures.append(f"{told}: {answer.lines[0][:110]}")
        projects = sorted({row["project"] for row in self.data.queries})
        for number, row in enumerate(self.data.queries):
            others = [project for project in projects if project != row["project"]]
            other = space_of(others[number % len(others)])
            answer = ask_companion(self.mind, other, row["text"], f"{row['id']}-elsewhere")
            kinds["a need of another project"].append(answer)
        self.figures["quiet"] = {kind: count_given(answers) for kind, answers in kinds.items()}
        self.figures["quiet, talk by language"] = {
            language: share(sum(given), len(given)) for language, given in languages.items()
        }

    def measure_statements(self) -> None:
        """What is learned of plain statements and of traps, and what comes back from talk alone."""
        found: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(STATEMENTS, 0))
        for row in self.data.statements:
            counts = found[row["lang"]]
            is_learned = any(
                all(has_part(memory.text, part) for part in row["parts"])
                for memory in self.learned[row["id"]]
            )
            counts["learned" if row["learn"] else "traps learned"] += is_learned
            if row["learn"]:
                texts = [memory.text for memory in self.learned[row["id"]]]
                counts["in part"] += any(
                    has_part(text, part) for text in texts for part in row["parts"]
                )
            if is_learned != row["learn"]:
                self.failures.append(
                    f"learned={is_learned} {row['id']} {row['kind']}: {row['text']}"
                )
            if row["learn"]:
                counts["of"] += 1
                counts["back from talk"] += self._comes_back(row)
            else:
                counts["traps"] += 1
        self.figures["statements"] = dict(found)

    def _comes_back(self, row: Row) -> bool:
        space = space_of(row["lang"])
        hits = self.mind.recall(row["ask"], space=space, limit=LIMIT, kinds=["said"])
        given = to_answer([hit.memory for hit in hits], ASKED_AT).within(BUDGETS[0])
        is_back = all(any(has_part(line, part) for line in given.lines) for part in row["parts"])
        if not is_back:
            self.failures.append(f"not back {row['id']} “{row['ask']}”: {row['parts']}")
        return is_back


def count_given(answers: Sequence[Answer]) -> dict[str, float]:
    """The shares of answers with talk, with talk at the first turn, and with anything at all."""
    return {
        "talk": share(sum(answer.has_talk for answer in answers), len(answers)),
        "at once": share(sum(answer.has_talk_at_once for answer in answers), len(answers)),
        "anything": share(sum(bool(answer.memories) for answer in answers), len(answers)),
    }


STATEMENTS = ("learned", "in part", "of", "traps learned", "traps", "back from talk")


def summarise(found: dict[str, list[float]]) -> dict[str, Any]:
    """The mean over all, and that of the worst project with its name."""
    every = [value for values in found.values() for value in values]
    means = {project: sum(values) / len(values) for project, values in found.items()}
    worst = min(means, key=lambda project: means[project])
    return {
        "all": round(sum(every) / len(every), 3),
        "worst": round(means[worst], 3),
        "worst project": worst,
    }


def measure_part(part: str) -> Bench:
    """Everything of one half."""
    with TemporaryDirectory() as home, reverie.open(home, now=Clock(ASKED_AT)) as mind:
        bench = Bench(mind, load_unseen(part))
        bench.measure_queries()
        bench.measure_amendments()
        bench.measure_quiet()
        bench.measure_statements()
    return bench


def print_part(part: str, figures: dict[str, Any]) -> None:
    """The figures of one half on the terminal."""
    print(f"\n{part}")
    rows = [
        [name, *(f"{figures[way][name]['all']} ({worst_of(figures[way][name])})" for way in WAYS)]
        for name in figures["asked"]
    ]
    table(rows, ["all (worst project)", *WAYS])
    print(f"\nnewer first: {figures['newer first']}\n")
    quiet = [[kind, *got.values()] for kind, got in figures["quiet"].items()]
    table(quiet, ["given though nothing is needed", *figures["quiet"]["elsewhere"]])
    languages = figures["quiet, talk by language"]
    print("talk by language:", ", ".join(f"{name} {got}" for name, got in languages.items()), "\n")
    statements = figures["statements"]
    total = {name: sum(counts[name] for counts in statements.values()) for name in STATEMENTS}
    counted = [[name, *counts.values()] for name, counts in {**statements, "all": total}.items()]
    table(counted, ["statements", *STATEMENTS])


def worst_of(figure: dict[str, Any]) -> str:
    """The worst project, as it is shown."""
    return f"{figure['worst']} {figure['worst project']}"


def main() -> int:
    """Measure, print, and keep the figures in bench/results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, help="a home that has the model")
    parser.add_argument("--part", choices=PARTS, help="one half only; nothing is kept then")
    parser.add_argument("--failures", action="store_true", help="print what failed in dev")
    args = parser.parse_args()
    if args.cache:
        os.environ["REVERIE_MODELS"] = str(args.cache / "cache")
    found = {}
    for part in [args.part] if args.part else PARTS:
        bench = measure_part(part)
        found[part] = bench.figures
        print_part(part, bench.figures)
        if args.failures and part == "dev":
            print("", *bench.failures, sep="\n")
    if not args.part:
        save("transcripts-unseen", found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
