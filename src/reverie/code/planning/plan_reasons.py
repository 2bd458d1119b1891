"""What spoke for a file of a plan, in words: at most three reasons, the weightiest first.

Every reason has its evidence. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

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
FORM_SUFFIX = re.compile(" (place|log|title|three|all|best|lately)$")
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
    kinds = sorted(weights, key=lambda kind: -weights[kind])
    reasons = [describe_reason(found, place, kind) for kind in kinds if weights[kind] > 0]
    return tuple(filter(None, reasons))[:MAX_REASONS]


def to_signal_name(column: str) -> str:
    """The signal that a column is a form of."""
    # "tasks title lately place" is one of "tasks"; but "changes 20" is a signal itself
    while column not in REASON_KINDS and FORM_SUFFIX.search(column):
        column = FORM_SUFFIX.sub("", column)
    return column


def describe_reason(
    found: RankedFiles,
    place: int,
    kind: str,
) -> str:
    """One reason in words; empty if there is nothing to show for it."""
    match kind:
        case "means":
            return "its code is near to it by meaning" if is_code_near(found, place) else ""
        case "done":
            return describe_past_task(found, place)
        case "busy":
            return describe_file_activity(found.past, place)
        case "defines":
            words = list_defined_names(found, place)
        case "says" | "called":
            words = list_shared_words(found, place, kind)
        case _:
            # how old a file is, how large, how deep: it counts, but says nothing to a reader
            return ""
    return f"{REASON_PREFIXES[kind]} {', '.join(words)}" if words else ""


def is_code_near(found: RankedFiles, place: int) -> bool:
    """True if a file's code is nearer than what tasks about something else find.

    Of 25 such tasks three found nearer code in a repository, of its own 150 last commits all but
    one in twenty.
    """
    cosines = (found.meant.code or {}).get(
        found.tree.paths[place],
        (),
    )
    return max(cosines, default=0.0) >= MIN_COSINE


def list_shared_words(
    found: RankedFiles,
    place: int,
    kind: str,
) -> list[str]:
    """Words of the task that a file has, in its text or in its path, the rarest first."""
    field = found.tree.content if kind == "says" else found.tree.ways
    terms = {word: tokenize_identifier(word) for word in list_telling_words(found.task)}
    return pick_rarest(field, place, terms)


def list_defined_names(found: RankedFiles, place: int) -> list[str]:
    """Names that a file defines and the task speaks of, in whole or in part, the rarest first."""
    asked: set[str] = set()
    asked.update(*map(tokenize_identifier, list_telling_words(found.task)))
    names = found.tree.names[found.tree.paths[place]]
    terms = {name: asked.intersection(tokenize_identifier(name)) for name in names}
    return pick_rarest(found.tree.named, place, terms)


def list_telling_words(task: TaskQuery) -> list[str]:
    """The words of a task that tell it from others, in lower case, once each."""
    words = dict.fromkeys(word.lower() for word in (*task.words, *task.coded))
    return [word for word in words if word not in STOP_WORDS and word not in TASK_STOP_WORDS]


def pick_rarest(
    field: Bm25Field,
    place: int,
    terms: Mapping[str, Iterable[str]],
) -> list[str]:
    """The few of these words, given with their terms, whose terms in a file are worth most."""
    rarities: dict[str, float] = {}
    for word, own in terms.items():
        for term in own:
            docs, _ = field.having(term)
            if place in docs:
                rarities[word] = max(
                    field.rarity(len(docs)),
                    rarities.get(word, 0.0),
                )
    # ties by the word: the same plan gives the same reasons
    return sorted(
        rarities,
        key=lambda word: (-rarities[word], word),
    )[:MAX_REASON_WORDS]


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
