"""What spoke for a file of a plan, in words: at most three reasons, the weightiest first.

Every reason has its evidence. Pure.
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

# reasons for one file
MAX_REASONS = 3
# words that one reason shows
MAX_REASON_WORDS = 4
# characters of a past task's text
MAX_TITLE_CHARS = 60
REASON_PREFIXES: Mapping[str, str] = {
    "says": "speaks of",
    "called": "its path says",
    "defines": "defines",
}
# what a column's name adds to that of its signal
FORM_SUFFIXES = (" place", " log", " title", " three", " all", " best", " lately")
SIGNALS_BY_REASON = {
    "says": "content, chunk, cover, mentions, rare, quoted, joined, folder",
    "called": "base, folders, path, path grams",
    "defines": "names, name grams, defines, symbols, joined name",
    "means": "code",
    "done": "history, tasks, went with, meant",
    "busy": "lately, changes, last 1, last 3, last 10, changes 20, changes 100, changes 1000",
}
# signal → the kind of reason that it gives
REASON_KINDS: Mapping[str, str] = {
    signal: kind for kind, signals in SIGNALS_BY_REASON.items() for signal in signals.split(", ")
}


def explain_file(found: RankedFiles, place: int) -> tuple[str, ...]:
    """The reasons for one file."""
    weights: dict[str, float] = defaultdict(float)
    for column, weight in found.coefficients.items():
        values = found.columns.get(column)
        if values is not None and values[place]:
            signal = to_signal_name(column)
            kind = REASON_KINDS.get(signal, signal)
            weights[kind] += weight * float(values[place] - values.mean())
    reasons: dict[str, None] = {}
    for kind, weight in sorted(weights.items(), key=lambda one: -one[1]):
        reason = describe_reason(found, place, kind) if weight > 0 else ""
        if reason:
            reasons[reason] = None
    return tuple(reasons)[:MAX_REASONS]


def to_signal_name(column: str) -> str:
    """The signal that a column is a form of."""
    while column not in REASON_KINDS:
        suffix = next((one for one in FORM_SUFFIXES if column.endswith(one)), "")
        if not suffix:
            break
        column = column.removesuffix(suffix)
    return column


def describe_reason(found: RankedFiles, place: int, kind: str) -> str:
    """One reason in words; empty if there is nothing to show for it."""
    if kind == "means":
        return "its code is near to it by meaning" if is_code_near(found, place) else ""
    if kind == "done":
        return describe_past_task(found, place)
    if kind == "busy":
        return describe_file_activity(found.past, place)
    if kind not in REASON_PREFIXES:
        return ""
    if kind == "defines":
        words = list_defined_names(found, place)
    else:
        words = list_shared_words(found, place, kind)
    return f"{REASON_PREFIXES[kind]} {', '.join(words)}" if words else ""


def is_code_near(found: RankedFiles, place: int) -> bool:
    """True if a file's code is nearer than what tasks about something else find.

    Of 25 such tasks three found nearer code in a repository, of its own 150 last commits all but
    one in twenty.
    """
    cosines = (found.meant.code or {}).get(found.tree.paths[place], ())
    return max(cosines, default=0.0) >= MIN_COSINE


def list_shared_words(found: RankedFiles, place: int, kind: str) -> list[str]:
    """Words of the task that a file has, in its text or in its path, the rarest first."""
    field = found.tree.content if kind == "says" else found.tree.ways
    rarities: dict[str, float] = {}
    for word in list_telling_words(found.task):
        terms = tokenize_identifier(word)
        rarities[word] = max((measure_rarity(field, place, term) for term in terms), default=0.0)
    return pick_rarest(rarities)


def list_defined_names(found: RankedFiles, place: int) -> list[str]:
    """Names that a file defines and the task speaks of, in whole or in part, the rarest first."""
    field = found.tree.named
    words = list_telling_words(found.task)
    asked = {term for word in words for term in tokenize_identifier(word)}
    rarities: dict[str, float] = {}
    for name in found.tree.names[found.tree.paths[place]]:
        terms = asked.intersection(tokenize_identifier(name))
        rarities[name] = max((measure_rarity(field, place, term) for term in terms), default=0.0)
    return pick_rarest(rarities)


def list_telling_words(task: TaskQuery) -> list[str]:
    """The words of a task that tell it from others, in lower case, once each."""
    words = dict.fromkeys(word.lower() for word in (*task.words, *task.coded))
    return [word for word in words if word not in STOP_WORDS and word not in TASK_STOP_WORDS]


def measure_rarity(field: Bm25Field, place: int, term: str) -> float:
    """What a term is worth that a file has; 0 if it has not."""
    docs, _ = field.having(term)
    return field.rarity(len(docs)) if place in docs else 0.0


def pick_rarest(rarities: Mapping[str, float]) -> list[str]:
    """The few words that are worth most, ties by the word."""
    words = (word for word, rarity in rarities.items() if rarity > 0)
    return sorted(words, key=lambda word: (-rarities[word], word))[:MAX_REASON_WORDS]


def describe_past_task(found: RankedFiles, place: int) -> str:
    """The past task most like this one that changed a file."""
    past, scores = found.past, found.likeness
    tasks = past.task[past.file == place]
    tasks = tasks[scores[tasks] > 0]
    if not len(tasks):
        return ""
    best = past.done[int(tasks[np.argmax(scores[tasks])])]
    title = best.text.partition("\n")[0]
    return f"was changed on {utc_date(best.at)} for “{shorten_line(title, MAX_TITLE_CHARS)}”"


def describe_file_activity(past: TaskHistory, place: int) -> str:
    """How often a file was changed, and when last; empty if less than twice."""
    times = int(past.changes[place])
    if times < 2:
        return ""
    last = past.done[int(past.task[past.file == place].max())]
    return f"was changed {times} times, last on {utc_date(last.at)}"
