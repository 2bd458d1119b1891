"""What a later sentence does to an earlier one: `python -m bench.reconcile.retire [--cache DIR]
[--half develop] [--show]`.

`retire.txt` holds, in six languages, sentences after which the earlier one stays true (another one
does it too, a guess, another property, a question, a plan, another environment, the past, words of
somebody else, part of a list, another part, an example, another person) and such that end it. Each
pair goes through a real store with the real model: remembered, settled, a week, remembered, settled.
Counted: earlier ones that went though they are true, and such that stayed though they are not. The
labels were fixed before the first run; the half is what a hash of the earlier sentence says, so that
what shares it stays together. `--half develop` is what the rules may be mended by. Writes
bench/results/retire.json.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.common import save, table
from bench.reconcile.data import HALVES, HERE, half
from reverie.embedding import Embedder, open_embedder
from reverie.embedding.vector_cache import CachedEmbedder
from reverie.testing import Clock, memory


class Succession(NamedTuple):
    """Two sentences, and whether the later one ends the earlier ("keeps" or "retires")."""

    label: str
    kind: str
    language: str
    earlier: str
    later: str


def read_successions(of: str = "") -> list[Succession]:
    """The pairs of one half, or all."""
    found, label = [], ""
    for line in (HERE / "retire.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            label = line.strip("[]")
        elif line and not line.startswith("#"):
            kind, language, said = line.split(" | ", 2)
            earlier, later = said.split(" => ")
            found.append(Succession(label, kind, language, earlier, later))
    return [one for one in found if of in ("", half(one.earlier))]


def play(rows: Sequence[Succession], embedder: Embedder) -> list[str]:
    """What became of the earlier sentence of each pair: "stays", "asked: …", "merged", "replaced";
    "lost" if the later one went.
    """
    with TemporaryDirectory() as home:
        clock = Clock()
        with memory(home, now=clock, embedder=embedder) as mind:
            ids: list[list[str]] = [[] for _ in rows]
            for turn in range(2):
                for place, row in enumerate(rows):
                    clock.tick()
                    kept = mind.remember(
                        (row.earlier, row.later)[turn],
                        space=f"me/p{place}",
                        kind="fact",
                        provenance="user_stated",
                        session=f"s{turn}",
                    )
                    ids[place].append(kept.id)
                mind.settle()
                clock.tick(days=7)
            found = []
            for place, pair in enumerate(ids):
                one, other = mind.get(pair)
                waiting = mind.review.cases(space=f"me/p{place}")
                if one.active and other.active:
                    found.append(f"asked: {waiting[0].kind}" if waiting else "stays")
                else:
                    why = one.retired_why if not one.active else other.retired_why
                    lost = "merged" if why == "merged" else "lost"
                    found.append("replaced" if not one.active and why != "merged" else lost)
            return found


def is_wrong(row: Succession, result: str) -> bool:
    """True for something true that went, and for something that stayed and is not."""
    went = result in ("replaced", "merged", "lost")
    return went if row.label == "keeps" else result != "replaced"


def summarize(rows: Sequence[Succession], found: Sequence[str]) -> dict[str, Any]:
    """Shares that are wrong, by kind and by language."""
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    wrong: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row, result in zip(rows, found, strict=True):
        for group in ("all", row.kind, row.language):
            groups[row.label][group].append(result)
            wrong[row.label][group] += is_wrong(row, result)
    return {
        label: {
            group: {
                "pairs": len(results),
                "wrong": wrong[label][group] / len(results),
                "asked": sum(one.startswith("asked") for one in results) / len(results),
            }
            for group, results in by_group.items()
        }
        for label, by_group in groups.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "reverie-bench")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both")
    parser.add_argument("--show", action="store_true", help="print every pair that went wrong")
    args = parser.parse_args()
    cache = args.cache if (args.cache / "models").exists() else args.cache / "cache"
    embedder = CachedEmbedder(open_embedder("minilm", cache=cache), {})
    told: dict[str, Any] = {"target": {"keeps": "wrong <= 0.01"}}
    for name in HALVES if args.half == "both" else (args.half,):
        rows = read_successions(name)
        found = play(rows, embedder)
        told[name] = summarize(rows, found)
        for label, groups in told[name].items():
            print()
            table(
                [[group, *one.values()] for group, one in groups.items()],
                [f"{label}, {name}", "pairs", "wrong", "asked"],
            )
        if args.show:
            for row, result in zip(rows, found, strict=True):
                if is_wrong(row, result) or (row.label == "keeps" and result != "stays"):
                    print(f"  {result} | {' | '.join(row)}")
    embedder.close()
    if args.half == "both":
        save("retire", told)


if __name__ == "__main__":
    main()
