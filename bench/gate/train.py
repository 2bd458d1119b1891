"""Learn the gate's coefficients from the develop part, and say how well they do on stores they have
not seen.

    python -m bench.gate.train [--data PATH] [--cache PATH] [--write]

The hits and their numbers come from the real path (`settle.prepare` on real stores, the gate's own
functions), so what is learned is what runs. First *fits*: a listwise softmax over the hits of turns
that need something (Cao et al., 2007). Then *opens*: a logistic regression over all turns on
whether they need anything, given how well the best one fits. The priors of `search.shape` stand in
both as they will at run time. Signs of likeness may not count against a memory. Last, the constant
is moved so that `QUIET` of the quiet turns stay clean in sessions as they go on, each judged by
coefficients that have not seen its store; and the weight of "talk", so that as many of the
questions that a foreign conversation is asked find nothing.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from bench.common import table
from bench.gate.cases import NOW, Case, Place, places
from bench.gate.walk import Gate, put_in, share
from bench.retrieval import data, stores
from reverie.context_window.injection_history import InjectionHistory
from reverie.core.config import Settings
from reverie.core.model import Hit, Memory
from reverie.embedding import Embedder
from reverie.injection.first_turn import InjectionTurn
from reverie.injection.prepare_block import prepare_injection
from reverie.retrieval import relevance_gate, rescoring
from reverie.retrieval.relevance_gate import GateSignals
from reverie.retrieval.rescoring import compute_prior

# share of the sessions' quiet turns that are to stay clean, on stores that were not seen
QUIET = {"with meaning": 0.91, "by words": 0.92}
PENALTY = {"fits": 3e-2, "opens": 3e-3}
SHARES = {"sessions": 1.0, "commits": 0.1, "chat": 0.1, "questions": 0.1, "foreign questions": 0.1}
MOST = 5  # memories that a turn is given
FLOORS = np.arange(4.0, -6.0, -0.05)
ALIKE = frozenset(
    {
        "meaning",
        "meaning in talk",
        "meaning here",
        "words",
        "words in talk",
        "rank",
        "rank in talk",
        "shared words",
        "share of the turn",
        "share of the memory",
        "best fit",
        "best meaning",
        "best meaning here",
        "best words",
        "prospects",
        "lead",
    }
)
NOBODY = Memory(id="", text="", space="", at=0.0, created_at=0.0, updated_at=0.0)
TARGET = Path(relevance_gate.__file__).with_name("relevance_gate.json")


@dataclass(frozen=True, slots=True)
class Example:
    """One turn with all that was found for it, as numbers."""

    store: str
    case: Case
    ids: tuple[str, ...]  # of the hits; there may be none
    hits: np.ndarray  # [n, signs of fitting]
    turn: np.ndarray  # the signs of opening, but for the best fit
    needed: np.ndarray  # which hits are
    prior: np.ndarray  # log-odds that the priors add


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the columns."""

    fits: tuple[str, ...]
    opens: tuple[str, ...]


def examples(place: Place, embedder: Embedder | None, names: Names) -> list[Example]:
    """Every turn of a place as an example, each as if it were the first of its session."""
    found = []
    for case in place.cases:
        caught: list[tuple[Sequence[Hit], Sequence[GateSignals], str]] = []

        def catch(
            hits: Sequence[Hit],
            seen: Sequence[GateSignals],
            text: str,
            caught: list[tuple[Sequence[Hit], Sequence[GateSignals], str]] = caught,
        ) -> list[Hit]:
            caught.append((hits, seen, text))
            return list(hits)

        with put_in(Gate("catch", catch, lambda _hits, _limit: [])):
            prepare_injection(
                place.mind.store,
                embedder,
                Settings(home=place.mind.settings.home),
                InjectionTurn(InjectionHistory("x"), place.space, NOW),
                case.window,
            )
        found.append(example(place.name, case, *(caught[-1] if caught else ((), (), "")), names))
    return found


def example(
    store: str,
    case: Case,
    hits: Sequence[Hit],
    seen: Sequence[GateSignals],
    text: str,
    names: Names,
) -> Example:
    """The signs of one turn."""
    if not hits:
        nothing = np.zeros(0)
        return Example(
            store, case, (), np.zeros((0, len(names.fits))), nothing, nothing.astype(bool), nothing
        )
    turn = relevance_gate.read_turn(text)
    signs = relevance_gate.compute_fit_signals(turn, [hit.memory for hit in hits], seen)
    opens = relevance_gate.compute_opening_signals(
        turn, [hit.memory for hit in hits], seen, [0.0 for _ in hits]
    )
    return Example(
        store,
        case,
        tuple(hit.memory.id for hit in hits),
        np.array([[known(one[name]) for name in names.fits] for one in signs]),
        np.array([known(opens[name]) for name in names.opens]),
        np.array([hit.memory.id in case.needs for hit in hits]),
        np.array([math.log(compute_prior(hit.memory, NOW)) for hit in hits]),
    )


def known(value: float) -> float:
    """An unknown number counts nothing, as in `gate.total`."""
    return value if math.isfinite(value) else 0.0


def columns() -> Names:
    """The names of all signs."""
    turn = relevance_gate.read_turn("")
    return Names(
        tuple(relevance_gate.compute_fit_signals(turn, [NOBODY], [GateSignals()])[0]),
        tuple(relevance_gate.compute_opening_signals(turn, [NOBODY], [GateSignals()], [0.0])),
    )


def bounds(names: Iterable[str], spread: np.ndarray) -> list[tuple[float | None, float | None]]:
    """Signs of likeness count for a memory or not at all. The lead counts at most once: a better
    second never loses.
    """
    return [
        (0.0 if name in ALIKE else None, width if name == "lead" else None)
        for name, width in zip(names, spread.tolist(), strict=True)
    ]


def weighed(some: Sequence[Example]) -> np.ndarray:
    """What each example counts: each group its share, whatever its number of turns."""
    sizes = Counter(one.case.group for one in some)
    weights = np.array([SHARES[one.case.group] / sizes[one.case.group] for one in some])
    return np.asarray(weights / weights.sum())


def fit_fits(some: Sequence[Example], names: Names) -> np.ndarray:
    """Which of its hits a turn needs: listwise."""
    needing = [one for one in some if one.needed.any()]
    spread = np.concatenate([one.hits for one in needing]).std(axis=0) + 1e-6
    rows = [
        (one.hits / spread, one.needed / one.needed.sum(), one.prior, weight)
        for one, weight in zip(needing, weighed(needing), strict=True)
    ]

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = PENALTY["fits"] * float(w @ w), 2 * PENALTY["fits"] * w
        for x, wanted, before, weight in rows:
            s = x @ w + before
            p = np.exp(s - s.max())
            p /= p.sum()
            value -= weight * float(wanted @ np.log(p + 1e-12))
            slope = slope + weight * (x.T @ (p - wanted))
        return value, slope

    best = minimize(
        loss, np.zeros(len(spread)), jac=True, method="L-BFGS-B", bounds=bounds(names.fits, spread)
    )
    return np.asarray(best.x / spread)


def with_fit(one: Example, fits: np.ndarray, names: Names) -> tuple[np.ndarray, np.ndarray]:
    """(the signs of opening, how far each hit is below the best fit, its prior added)."""
    scores = one.hits @ fits
    turn = one.turn.copy()
    best, second = (*np.sort(scores)[::-1][:2].tolist(), -math.inf)[:2]
    turn[names.opens.index("best fit")] = best
    turn[names.opens.index("lead")] = min(best - second, relevance_gate.MAX_LEAD)
    has_meaning = one.hits[:, [name.startswith("meaning") for name in names.fits]].any()
    steepness = relevance_gate.STEEPNESS_WITH_MEANING if has_meaning else 1.0
    return turn, steepness * (scores - scores.max()) + one.prior


def fit_opens(some: Sequence[Example], fits: np.ndarray, names: Names) -> np.ndarray:
    """Whether a turn needs anything: logistic."""
    some = [one for one in some if one.ids]
    seen = [with_fit(one, fits, names) for one in some]
    x, before = np.array([turn for turn, _ in seen]), np.array([below.max() for _, below in seen])
    y, weights = np.array([float(bool(one.case.needs)) for one in some]), weighed(some)
    constant = names.opens.index("constant")
    spread = x.std(axis=0) + 1e-6
    spread[constant] = 1.0
    free = np.ones(len(spread))
    free[constant] = 0.0

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        p = 1 / (1 + np.exp(-np.clip((x / spread) @ w + before, -30, 30)))
        gain = weights * (y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))
        return (
            PENALTY["opens"] * float(free @ (w * w)) - float(gain.sum()),
            (x / spread).T @ (weights * (p - y)) + 2 * PENALTY["opens"] * free * w,
        )

    best = minimize(
        loss, np.zeros(len(spread)), jac=True, method="L-BFGS-B", bounds=bounds(names.opens, spread)
    )
    return np.asarray(best.x / spread)


def margins(one: Example, fits: np.ndarray, opens: np.ndarray, names: Names) -> np.ndarray:
    """The log-odds of each hit."""
    if not one.ids:
        return one.prior
    turn, below = with_fit(one, fits, names)
    return np.asarray(below + turn @ opens)


def unseen(some: Sequence[Example], names: Names) -> list[tuple[Example, np.ndarray]]:
    """Every example of a labelled session with its margins, by coefficients that have not seen its
    store.
    """
    found = []
    for store in sorted({one.store for one in some if one.case.group == "sessions"}):
        rest = [one for one in some if one.store != store]
        fits = fit_fits(rest, names)
        opens = fit_opens(rest, fits, names)
        found += [(one, margins(one, fits, opens, names)) for one in some if one.store == store]
    return found


def level(judged: Sequence[tuple[Example, np.ndarray]], quiet: float) -> float:
    """The lowest margin from which on things may surface with `quiet` of the sessions' quiet turns
    left clean.
    """
    lowest = FLOORS[0]
    for floor in FLOORS:
        if counted(judged, float(floor), "sessions")[1] < quiet:
            break
        lowest = floor
    return float(lowest)


def level_in_talk(judged: Sequence[tuple[Example, np.ndarray]], quiet: float) -> float:
    """The same for questions asked of a foreign conversation, on top of the floor;
    never below it.
    """
    foreign = [
        values.max(initial=FLOORS[-1])
        for one, values in judged
        if one.case.group == "foreign questions" and not one.store.startswith("cosqa")
    ]
    return max(0.0, float(np.quantile(foreign, quiet))) if foreign else 0.0


def counted(
    judged: Sequence[tuple[Example, np.ndarray]], floor: float, group: str
) -> tuple[int, float, float, float]:
    """Of one group, session by session: (turns, quiet turns left clean, needed memories the agent
    has, precision).
    """
    sessions: dict[str, set[str]] = {}
    quiet = clean = needed = known = given = right = 0
    for one, values in judged:
        if one.case.group != group:
            continue
        shown = sessions.setdefault(one.case.session, set())
        new = picked(one.ids, values, floor, shown)
        shown |= new
        given, right = given + len(new), right + len(new & one.case.needs)
        needed, known = needed + len(one.case.needs), known + len(shown & one.case.needs)
        quiet, clean = quiet + (not one.case.needs), clean + (not one.case.needs and not new)
    return (
        sum(one.case.group == group for one, _ in judged),
        share(clean, quiet),
        share(known, needed),
        share(right, given),
    )


def picked(ids: Sequence[str], values: np.ndarray, floor: float, shown: Set[str]) -> set[str]:
    """What would surface, as `shape.passed` decides it."""
    order = [
        place for place in np.argsort(-values, kind="stable").tolist() if ids[place] not in shown
    ]
    if not order or values[order[0]] < floor:
        return set()
    least = values[order[0]] + math.log(rescoring.BESIDE_ODDS)
    return {ids[place] for place in order[:MOST] if values[place] >= least}


def learnt(some: Sequence[Example], names: Names, head: str) -> dict[str, dict[str, float]]:
    """Coefficients for one path, and how they do on what they have not seen."""
    left_out = unseen(some, names)
    floor = level(left_out, QUIET[head])
    fits = fit_fits(some, names)
    opens = fit_opens(some, fits, names)
    opens[names.opens.index("constant")] -= floor
    opens[names.opens.index("talk")] -= level_in_talk(
        [(one, margins(one, fits, opens, names)) for one in some], QUIET[head]
    )
    here = [(one, margins(one, fits, opens, names)) for one in some]
    print(f"\n{head}: every session judged without its store; then all, in sample")
    table(
        [
            ("sessions, unseen", *counted(left_out, floor, "sessions")),
            *((group, *counted(here, 0.0, group)) for group in SHARES),
        ],
        ("group", "turns", "quiet left clean", "surfaced", "precision"),
    )
    return {"fits": named(names.fits, fits), "opens": named(names.opens, opens)}


def named(names: Sequence[str], weights: np.ndarray) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}


def develop(
    home: Path, root: Path | None, embedder: Embedder, names: Names
) -> Mapping[str, list[Example]]:
    """All examples of the develop part, by path."""
    found: dict[str, list[Example]] = {"with meaning": [], "by words": []}
    for place in places(embedder, home, root, held=False):
        found["with meaning"] += examples(place, embedder, names)
        found["by words"] += examples(place, None, names)
        print(f"{place.name}: {len(place.cases)} turns", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--write", action="store_true", help="replace retrieval/relevance_gate.json"
    )
    args = data.arguments(parser)
    home, names = args.cache.absolute(), columns()
    found = develop(home, args.data, stores.remembering(home), names)
    paths = {path: learnt(some, names, path) for path, some in found.items()}
    if args.write:
        TARGET.write_text(
            json.dumps({"how": "python -m bench.gate.train --write", **paths}, indent=1) + "\n",
            "utf-8",
        )
        print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
