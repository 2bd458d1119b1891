"""What spoke for a file of a plan, in words: at most three reasons, the weightiest first, with evidence. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from reverie.code.terms import ABOUT_WORK, terms_of
from reverie.lifecycle.journal import date_of
from reverie.plan import Ranked
from reverie.plan.past import Past
from reverie.words import STOP

MOST = 3                 # reasons for one file
WORDS = 4                # told of one reason
SHORT = 60               # characters of a past task's text
FORMS = (" place", " log", " title", " three", " all", " best", " lately")

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("content", "chunk", "cover", "mentions", "rare", "quoted", "joined", "folder"), "says"),
    **dict.fromkeys(("names", "base", "folders", "path", "path grams", "name grams", "defines", "symbols",
                     "joined name"), "called"),
    **dict.fromkeys(("code",), "means"),
    **dict.fromkeys(("history", "tasks", "went with", "meant"), "done"),
    **dict.fromkeys(("lately", "changes", "last 1", "last 3", "last 10", "changes 20", "changes 100", "changes 1000"),
                    "busy"),
}


def why(found: Ranked, place: int) -> tuple[str, ...]:
    """The reasons for one file."""
    weights: dict[str, float] = defaultdict(float)
    for column, worth in found.coefficients.items():
        values = found.columns.get(column)
        if values is not None and values[place]:
            name = signal(column)
            weights[KINDS.get(name, name)] += worth * float(values[place] - values.mean())
    told: dict[str, None] = {}
    for kind, weight in sorted(weights.items(), key=lambda one: -one[1]):
        reason = reason_of(found, place, kind) if weight > 0 else ""
        if reason:
            told[reason] = None
    return tuple(told)[:MOST]


def signal(column: str) -> str:
    """The signal that a column is a form of."""
    while column not in KINDS and (form := next((form for form in FORMS if column.endswith(form)), "")):
        column = column.removesuffix(form)
    return column


def reason_of(found: Ranked, place: int, kind: str) -> str:
    """One reason in words; empty where there is nothing to show for it."""
    if kind in ("says", "called"):
        words = said(found, place, kind)
        return f"{'speaks of' if kind == 'says' else 'is named for'} {', '.join(words)}" if words else ""
    if kind == "means":
        return "its code is near to it by meaning"
    if kind == "done":
        return done_before(found, place)
    return busy(found.past, place) if kind == "busy" else ""


def said(found: Ranked, place: int, kind: str) -> list[str]:
    """Words of the task that a file has, in its text or in its names and path, the rarest first."""
    tree = found.tree
    fields = (tree.content,) if kind == "says" else (tree.named, tree.ways)
    worth: dict[str, float] = {}
    words = (word.lower() for word in (*found.task.words, *found.task.coded))
    for word in dict.fromkeys(word for word in words if word not in STOP and word not in ABOUT_WORK):
        for term in terms_of(word):
            for field in fields:
                docs, _ = field.having(term)
                if place in docs:
                    worth[word] = max(worth.get(word, 0.0), field.rarity(len(docs)))
    return sorted(worth, key=lambda word: (-worth[word], word))[:WORDS]


def done_before(found: Ranked, place: int) -> str:
    """The past task most like this one that changed a file."""
    past, scores = found.past, found.likeness
    mine = past.task[past.file == place]
    mine = mine[scores[mine] > 0]
    if not len(mine):
        return ""
    best = past.done[int(mine[np.argmax(scores[mine])])]
    title = best.text.partition("\n")[0]
    shown = title if len(title) <= SHORT else title[:SHORT - 1].rstrip() + "…"
    return f"was changed on {date_of(best.at)} for “{shown}”"


def busy(past: Past, place: int) -> str:
    """How often a file was changed, and when last."""
    times = int(past.changes[place])
    if times < 2:
        return ""
    last = past.done[int(past.task[past.file == place].max())]
    return f"was changed {times} times, last on {date_of(last.at)}"
