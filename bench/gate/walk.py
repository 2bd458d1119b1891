"""Turns through the real path: `settle.prepare` on a real store with the real model, and what would
have been injected.

A session keeps its `Attention`, as in life: what was given is not given again, and counts as known
to the agent from then on. Other gates are put in the place of ours (`Gate`), so that all of them
judge the same hits on the same path.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

from bench.gate.cases import APART, NOW, Case, Place
from reverie.context_window.injection_history import InjectionHistory
from reverie.core.config import Settings
from reverie.core.model import Hit
from reverie.embedding import Embedder
from reverie.injection.first_turn import InjectionTurn
from reverie.injection.prepare_block import prepare_injection
from reverie.retrieval import relevance_gate, rescoring
from reverie.retrieval.relevance_gate import GateSignals

Judging = Callable[[Sequence[Hit], Sequence[GateSignals], str], list[Hit]]
Passing = Callable[[Sequence[Hit], int], list[Hit]]


@dataclass(frozen=True, slots=True)
class Gate:
    """A way to decide what surfaces by itself."""

    name: str
    judged: Judging = relevance_gate.judge_hits
    passed: Passing = rescoring.select_surfacing


@dataclass(frozen=True, slots=True)
class Shown:
    """What a turn was given: what of it was needed, and what of the needed the agent has by now."""

    case: Case
    given: tuple[str, ...]
    known: frozenset[str]


@contextmanager
def put_in(one: Gate) -> Iterator[None]:
    """Let another gate decide for a while."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(relevance_gate, "judge_hits", one.judged))
        stack.enter_context(mock.patch.object(rescoring, "select_surfacing", one.passed))
        yield


def walked(place: Place, embedder: Embedder | None, one: Gate) -> Iterator[Shown]:
    """Every turn of a place, in order; without an embedder, by words alone."""
    settings = Settings(home=place.mind.settings.home)
    attention, session, now, last = InjectionHistory(""), "", NOW, None
    known: set[str] = set()
    with put_in(one):
        for case in place.cases:
            if case.session != session:
                attention, session, now, last, known = (
                    InjectionHistory(case.session),
                    case.session,
                    NOW,
                    None,
                    set(),
                )
            now += APART
            attention.count_turn()
            made = prepare_injection(
                place.mind.store,
                embedder,
                settings,
                InjectionTurn(attention, place.space, now),
                case.window,
                last,
            )
            block, last = made.block, made.embedded
            attention.mark_prepared(block, now)
            attention.mark_injected(block.ids, now)
            known |= set(block.ids)
            yield Shown(case, block.ids, frozenset(known) & case.needs)


@dataclass(frozen=True, slots=True)
class Figures:
    """How a gate did on some turns; shares of 0..1, NaN where there is nothing to count."""

    quiet: int  # turns that need nothing
    clean: float  # … of them, how many were left alone
    needed: int  # memories that are needed, counted at each turn that needs them
    surfaced: float  # … of them, how many the agent had at that turn
    helped: float  # turns that need something and had at least one of it
    precision: float  # memories given that this turn needs


def figures(shown: Sequence[Shown]) -> Figures:
    """The figures of some turns."""
    quiet = [one for one in shown if not one.case.needs]
    needing = [one for one in shown if one.case.needs]
    needed, given = (
        sum(len(one.case.needs) for one in needing),
        sum(len(one.given) for one in shown),
    )
    right = sum(len(set(one.given) & one.case.needs) for one in shown)
    return Figures(
        len(quiet),
        share(sum(not one.given for one in quiet), len(quiet)),
        needed,
        share(sum(len(one.known) for one in needing), needed),
        share(sum(bool(one.known) for one in needing), len(needing)),
        share(right, given),
    )


def share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
