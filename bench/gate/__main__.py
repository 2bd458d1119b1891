"""How quiet memory keeps at turns that need none, and how much of what is needed it brings. `python
-m bench.gate`

    python -m bench.gate [--data PATH] [--cache PATH] [--held-out] [--borrowing]

Every gate judges the same hits on the same real path (`bench.gate.walk`): a cosine or BM25 above a
fixed floor; what stands out relative to the best (0.90 / 0.95) and nothing else; the gate before
this one, which asks the ranking's score to reach one half and to stand out; and the gate that
ships. Floors are set on the develop part so that nine of ten quiet turns stay clean there. Without
`--held-out` only the develop part is judged; each look at the rest is counted in
`bench/gate/looks.txt`. `--borrowing` also searches as before, when a short remark borrowed from the
one before it.

Targets, on held-out sessions, without a language model: 0.90 of quiet turns left clean, 0.60 of
needed memories surfaced.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from unittest import mock

from bench.common import save, table
from bench.gate import sessions
from bench.gate.cases import places
from bench.gate.walk import Gate, Shown, figures, walked
from bench.retrieval import data, stores
from reverie.core.model import Hit
from reverie.embedding import Embedder
from reverie.injection import prepare_block
from reverie.retrieval import relevance_gate
from reverie.retrieval.relevance_gate import GateSignals
from reverie.text.host_messages import HostMessage
from reverie.text.tokenization import tokenize_query

COSINES = (0.35, 0.40, 0.45)
BM25S = (3.0, 4.0, 5.0)
CLEAN = 0.90
FEW_TERMS = 4  # of a remark that used to borrow
GROUPS = ("sessions", "commits", "chat", "questions", "foreign questions")
HEAD = ("quiet", "clean", "needed", "surfaced", "helped", "precision")
Found = dict[str, list[Shown]]


def by_score(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))


def floor(path: str, least: float) -> Gate:
    """A fixed floor under the cosine, or under BM25 where there are only words."""

    def judged(hits: Sequence[Hit], seen: Sequence[GateSignals], _text: str) -> list[Hit]:
        values = [one.cosine if path == "meaning" else one.bm25 / (one.bm25 + 4.0) for one in seen]
        return by_score(
            [hit._replace(score=value) for hit, value in zip(hits, values, strict=True)]
        )

    bound = least if path == "meaning" else least / (least + 4.0)
    return Gate(
        f"fixed floor {least:g}",
        judged,
        lambda hits, limit: [h for h in hits if h.score >= bound][:limit],
    )


def unjudged(hits: Sequence[Hit], _seen: Sequence[GateSignals], _text: str) -> list[Hit]:
    """The ranking's own scores."""
    return by_score(hits)


def standing_out(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Hits within 0.90 of the best, up to the first that falls below 0.95 of the one before."""
    taken: list[Hit] = []
    for hit in hits[:limit]:
        if taken and (hit.score < 0.90 * hits[0].score or hit.score < 0.95 * taken[-1].score):
            break
        taken.append(hit)
    return taken


def echoed(hits: Sequence[Hit], seen: Sequence[GateSignals], text: str) -> list[Hit]:
    """The score of the gate before: by words alone, the share of the memory's words that the turn
    says counted too.
    """
    if any(not math.isnan(one.cosine) for one in seen):
        return by_score(hits)
    asked = text.lower()

    def echo(hit: Hit) -> float:
        terms = tokenize_query(hit.memory.text[:2_000])
        return sum(term[: max(4, len(term) - 2)] in asked for term in terms) / max(1, len(terms))

    return by_score(
        [
            hit._replace(score=hit.score + 0.5 * max(0.0, echo(hit) - one.bm25 / (one.bm25 + 4.0)))
            for hit, one in zip(hits, seen, strict=True)
        ]
    )


def half(hits: Sequence[Hit], limit: int) -> list[Hit]:
    return standing_out([hit for hit in hits if hit.score >= 0.5], limit)


def borrowing(
    focus: Callable[[Sequence[HostMessage]], prepare_block.ConversationFocus],
) -> Callable[[Sequence[HostMessage]], prepare_block.ConversationFocus]:
    """What was searched for before: a remark of few words, and the one before it."""

    def borrowed(window: Sequence[HostMessage]) -> prepare_block.ConversationFocus:
        about, asked = focus(window), [m.text for m in window if m.role == "user"]
        if len(asked) < 2 or len(tokenize_query(about.text)) >= FEW_TERMS:
            return about
        return prepare_block.ConversationFocus(f"{about.text}\n{asked[-2]}", about.context)

    return borrowed


def judge(
    embedder: Embedder, args: argparse.Namespace, gates: Sequence[Gate], path: str, *, held: bool
) -> Found:
    """Every turn of a part by every gate, on one path."""
    found: Found = {one.name: [] for one in gates}
    for place in places(embedder, args.cache.absolute(), args.data, held=held):
        for one in gates:
            found[one.name] += walked(place, embedder if path == "meaning" else None, one)
    return found


def floored(embedder: Embedder, args: argparse.Namespace, path: str) -> Gate:
    """The lowest fixed floor that leaves nine of ten quiet turns clean on the develop part."""
    gates = [floor(path, least) for least in (COSINES if path == "meaning" else BM25S)]
    found = judge(embedder, args, gates, path, held=False)
    clean = [one for one in gates if figures(of(found[one.name], "sessions")).clean >= CLEAN]
    return clean[0] if clean else gates[-1]


def of(shown: Sequence[Shown], group: str) -> list[Shown]:
    return [one for one in shown if one.case.group == group]


def report(found: Found, path: str, part: str) -> dict[str, dict[str, dict[str, float]]]:
    """Figures by group and gate, on the terminal and as values."""
    print(
        f"\n{part}, {'meaning and words' if path == 'meaning' else 'words alone (the first turn)'}"
    )
    result = {
        group: {name: asdict(figures(of(shown, group))) for name, shown in found.items()}
        for group in GROUPS
    }
    table(
        [
            (group, name, *(row[c] for c in HEAD))
            for group, gates in result.items()
            for name, row in gates.items()
        ],
        ("group", "gate", *HEAD),
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="judge what nothing was fitted on; say so in looks.txt",
    )
    parser.add_argument(
        "--borrowing", action="store_true", help="also with what short remarks used to borrow"
    )
    args = data.arguments(parser)
    embedder = stores.remembering(args.cache.absolute())
    part = "held out" if args.held_out else "develop"
    result: dict[str, object] = {
        "part": part,
        "agreement": sessions.agreement(),
        "held out": sorted(sessions.held_out()),
    }
    for path in ("meaning", "words"):
        gates = [
            floored(embedder, args, path),
            Gate("relative alone", unjudged, standing_out),
            Gate("one half, relative", echoed, half),
            Gate("learned"),
        ]
        found = judge(embedder, args, gates, path, held=args.held_out)
        if args.borrowing:
            with mock.patch.object(
                prepare_block, "find_focus", borrowing(prepare_block.find_focus)
            ):
                found |= judge(
                    embedder, args, [Gate("learned, borrowing")], path, held=args.held_out
                )
        result[path] = report(found, path, part)
    if args.held_out:
        sessions.look(
            f"coefficients with the constant {relevance_gate.load_gate_models()[0].opens['constant']}"
        )
        save("gate", result)
    print(
        "\ntargets on held-out sessions: quiet turns left clean 0.90, needed memories surfaced 0.60"
    )


if __name__ == "__main__":
    main()
