"""Which files a task is about: from their words, from past tasks and from how the code hangs together. Pure.

`ranked` gives every file of a repository its likelihood; `plan.why` says what spoke for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reverie.plan import links, past, tree
from reverie.plan.field import Column
from reverie.plan.links import Said
from reverie.plan.past import Past
from reverie.plan.ranker import Coefficients, forms, guessed, learned, linked
from reverie.plan.task import Task
from reverie.plan.tree import Tree


class Ranked(NamedTuple):
    """How likely a task is about each file of a tree, and what says so."""

    tree: Tree
    past: Past
    task: Task
    likely: Column                          # in the order of the tree's files; they sum to 1
    told: Said                              # what the likeliest say of the others
    columns: Mapping[str, Column]           # what was weighed
    coefficients: Coefficients              # …and with which weights
    alike: Mapping[str, float] = {}         # the past tasks most alike, by key, with how much

    def best(self, most: int) -> list[int]:
        """The places of the likeliest files, ties by path."""
        return [int(place) for place in links.top(self.likely, most)]


def ranked(files: Tree, done: Past, task: Task, meant: Mapping[str, float] | None = None,
           coefficients: Mapping[str, Coefficients] | None = None) -> Ranked:
    """Every file's likelihood. `meant`: the keys of the past tasks nearest by meaning, with their cosines."""
    by_set = coefficients or learned()
    which = "" if meant else " without meaning"
    columns = forms({**tree.signals(files, task), **past.signals(done, task, meant)})
    guess = guessed(columns, by_set[f"first{which}"], len(files))
    told = links.said(files, done, links.top(guess))
    columns |= linked(links.signals(told, guess), guess)
    second = by_set[f"second{which}"]
    return Ranked(files, done, task, guessed(columns, second, len(files)), told, columns, second, meant or {})
