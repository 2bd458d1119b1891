"""What spoke for a file of a plan, in words: at most three reasons, the weightiest first, with
evidence. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from reverie.code.code_terms import TASK_STOP_WORDS, tokenize_identifier
from reverie.code.planning import RankedFiles
from reverie.code.planning.bm25_field import Bm25Field
from reverie.code.planning.past_tasks import TaskHistory
from reverie.code.planning.task_query import TaskQuery
from reverie.memory.daily_journal import utc_date
from reverie.retrieval.note_search import MIN_COSINE
from reverie.text.tokenization import STOP_WORDS, shorten_line

MAX_REASONS = 3  # reasons for one file
MAX_REASON_WORDS = 4  # told of one reason
MAX_TITLE_CHARS = 60  # characters of a past task's text
REASON_PREFIXES: Mapping[str, str] = {
    "says": "speaks of",
    "called": "its path says",
    "defines": "defines",
}
FORM_SUFFIXES = (" place", " log", " title", " three", " all", " best", " lately")

REASON_KINDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("content", "chunk", "cover", "mentions", "rare", "quoted", "joined", "folder"), "says"
    ),
    **dict.fromkeys(("base", "folders", "path", "path grams"), "called"),
    **dict.fromkeys(("names", "name grams", "defines", "symbols", "joined name"), "defines"),
    **dict.fromkeys(("code",), "means"),
    **dict.fromkeys(("history", "tasks", "went with", "meant"), "done"),
    **dict.fromkeys(
        (
            "lately",
            "changes",
            "last 1",
            "last 3",
            "last 10",
            "changes 20",
            "changes 100",
            "changes 1000",
        ),
        "busy",
    ),
}


def explain_file(found: RankedFiles, place: int) -> tuple[str, ...]:
    """The reasons for one file."""
    weights: dict[str, float] = defaultdict(float)
    for column, worth in found.coefficients.items():
        values = found.columns.get(column)
        if values is not None and values[place]:
            name = to_signal_name(column)
            weights[REASON_KINDS.get(name, name)] += worth * float(values[place] - values.mean())
    told: dict[str, None] = {}
    for kind, weight in sorted(weights.items(), key=lambda one: -one[1]):
        reason = describe_reason(found, place, kind) if weight > 0 else ""
        if reason:
            told[reason] = None
    return tuple(told)[:MAX_REASONS]


def to_signal_name(column: str) -> str:
    """The signal that a column is a form of."""
    while column not in REASON_KINDS and (
        form := next((form for form in FORM_SUFFIXES if column.endswith(form)), "")
    ):
        column = column.removesuffix(form)
    return column


def describe_reason(found: RankedFiles, place: int, kind: str) -> str:
    """One reason in words; empty where there is nothing to show for it."""
    if kind in REASON_PREFIXES:
        words = (
            list_defined_names(found, place)
            if kind == "defines"
            else list_shared_words(found, place, kind)
        )
        return f"{REASON_PREFIXES[kind]} {', '.join(words)}" if words else ""
    if kind == "means":
        return "its code is near to it by meaning" if is_code_near(found, place) else ""
    if kind == "done":
        return describe_past_task(found, place)
    return describe_file_activity(found.past, place) if kind == "busy" else ""


def is_code_near(found: RankedFiles, place: int) -> bool:
    """Whether a file's code means the like: nearer than what tasks about something else find.

    Of 25 such tasks three found nearer code in a repository, of its own 150 last commits all but
    one in twenty.
    """
    return max((found.meant.code or {}).get(found.tree.paths[place], ()), default=0.0) >= MIN_COSINE


def list_shared_words(found: RankedFiles, place: int, kind: str) -> list[str]:
    """Words of the task that a file has, in its text or in its path, the rarest first."""
    field = found.tree.content if kind == "says" else found.tree.ways
    worth = {
        word: max(
            (measure_rarity(field, place, term) for term in tokenize_identifier(word)), default=0.0
        )
        for word in list_telling_words(found.task)
    }
    return pick_rarest(worth)


def list_defined_names(found: RankedFiles, place: int) -> list[str]:
    """Names that a file defines and the task speaks of, in whole or in part, the rarest first."""
    field = found.tree.named
    asked = {term for word in list_telling_words(found.task) for term in tokenize_identifier(word)}
    worth = {
        name: max(
            (
                measure_rarity(field, place, term)
                for term in tokenize_identifier(name)
                if term in asked
            ),
            default=0.0,
        )
        for name in found.tree.names[found.tree.paths[place]]
    }
    return pick_rarest(worth)


def list_telling_words(task: TaskQuery) -> list[str]:
    """The words of a task that may be told, in lower case, once each."""
    words = (word.lower() for word in (*task.words, *task.coded))
    return list(
        dict.fromkeys(
            word for word in words if word not in STOP_WORDS and word not in TASK_STOP_WORDS
        )
    )


def measure_rarity(field: Bm25Field, place: int, term: str) -> float:
    """What a term is worth that a file has; 0 if it has not."""
    docs, _ = field.having(term)
    return field.rarity(len(docs)) if place in docs else 0.0


def pick_rarest(worth: Mapping[str, float]) -> list[str]:
    """The few words that are worth most, ties by the word."""
    return sorted(
        (word for word, value in worth.items() if value > 0), key=lambda word: (-worth[word], word)
    )[:MAX_REASON_WORDS]


def describe_past_task(found: RankedFiles, place: int) -> str:
    """The past task most like this one that changed a file."""
    past, scores = found.past, found.likeness
    mine = past.task[past.file == place]
    mine = mine[scores[mine] > 0]
    if not len(mine):
        return ""
    best = past.done[int(mine[np.argmax(scores[mine])])]
    title = best.text.partition("\n")[0]
    return f"was changed on {utc_date(best.at)} for “{shorten_line(title, MAX_TITLE_CHARS)}”"


def describe_file_activity(past: TaskHistory, place: int) -> str:
    """How often a file was changed, and when last."""
    times = int(past.changes[place])
    if times < 2:
        return ""
    last = past.done[int(past.task[past.file == place].max())]
    return f"was changed {times} times, last on {utc_date(last.at)}"
