"""What memory believes after news, corrections and better sources: `python -m bench.reconcile.news
[--cache DIR] [--half develop] [--all] [--show]`.

Through a real store with the real model: each case of `news_data` in a project of its own, what was
believed first, and later what was said. Counted: how often the newer one alone is left, how often it
comes first when both are asked for by the words that they share, how often something that is still
true was retired or asked about. Then a home of HOME_SIZE memories that grows over WEEKS weeks,
with planted contradictions and repetitions: how many pairs wait for a person, and how many of these
a person would want to see. Beside it, in the same run, the comparison without reading subject,
relation and value. Of the filled frames SAMPLE are played, chosen by SEED, unless `--all` is given:
all take ten minutes and more. The held-out half was written before what it measures, and looked at
when that was done. Writes bench/results/news.json.
"""

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

from bench.common import save, table
from bench.reconcile.data import pairs
from bench.reconcile.news_data import FRAMES, HALVES, NewsCase, fill_frames, read_cases
from reverie.core.model import Memory
from reverie.embedding import Embedder, open_embedder
from reverie.embedding.vector_cache import CachedEmbedder
from reverie.reconciliation.paraphrase import statement_comparison
from reverie.reconciliation.paraphrase.claim_reading import read_claim
from reverie.runtime.mind import Mind
from reverie.testing import Clock, memory

HOME_SIZE, WEEKS = 500, 10
# Memories of the home that contradict or repeat another one.
PLANTED = 60
NEWS = ("news", "correction", "trust")
SEED = 9
# Filled frames that are played unless all are asked for.
SAMPLE = 160


class Outcome(NamedTuple):
    """What became of a case: "replaced", "asked: …", "merged", "lost" or "both"."""

    case: NewsCase
    result: str
    newer_first: bool


def main() -> None:
    args = _arguments()
    cache = args.cache if (args.cache / "models").exists() else args.cache / "cache"
    embedder = CachedEmbedder(open_embedder("minilm", cache=cache), {})
    frames = fill_frames(args.half)
    if not args.all and len(frames) > SAMPLE:
        frames = random.Random(SEED).sample(frames, SAMPLE)
    found: dict[str, Any] = {"half": args.half, "frames": len(frames)}
    for name, run in (("with claims", _plainly), ("baseline", _without_claims)):
        by_hand = run(lambda: play(read_cases(args.half), embedder))
        filled = run(lambda: play(frames, embedder))
        found[name] = {
            "by hand": summarize(by_hand),
            "filled": summarize(filled),
            "home": run(lambda: grow_home(args.half, embedder, show=args.show)),
        }
        if args.show and name == "with claims":
            for one in (*by_hand, *filled):
                if not is_right(one):
                    print(f"  {one.result} | {' | '.join(one.case)}")
    embedder.close()
    _report(found)
    save("news", found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "reverie-bench")
    parser.add_argument("--half", choices=HALVES, default="held out")
    parser.add_argument("--all", action="store_true", help="every filled frame, not a sample")
    parser.add_argument("--show", action="store_true", help="print every case that went wrong")
    return parser.parse_args()


def _plainly(run: Callable[[], Any]) -> Any:
    return run()


def _without_claims(run: Callable[[], Any]) -> Any:
    """The comparison by the learnt scorer and its guard alone."""
    with patch.object(statement_comparison, "weigh_claims", lambda _old, _new, seen, _said: seen):
        return run()


def play(cases: Sequence[NewsCase], embedder: Embedder) -> list[Outcome]:
    """Each case in a project of its own: believed, settled, said, settled."""
    with TemporaryDirectory() as home:
        clock = Clock()
        with memory(home, now=clock, embedder=embedder) as mind:
            old = [_keep(mind, clock, place, case, 0) for place, case in enumerate(cases)]
            mind.settle()
            clock.tick(days=7)
            new = [_keep(mind, clock, place, case, 1) for place, case in enumerate(cases)]
            mind.settle()
            return [
                Outcome(case, _tell_result(mind, place, *ids), _is_first(mind, place, case, *ids))
                for place, (case, *ids) in enumerate(zip(cases, old, new, strict=True))
            ]


def _keep(mind: Mind, clock: Clock, place: int, case: NewsCase, turn: int) -> str:
    """The id of the first or the second text of a case, kept in its project."""
    provenance = "user_stated"
    if case.case == "trust" and turn == 0:
        provenance = "inferred"
    if case.case == "correction" and turn == 1:
        provenance = "user_corrected"
    clock.tick()
    return mind.remember(
        (case.old, case.new)[turn],
        space=f"me/p{place}",
        kind="correction" if provenance == "user_corrected" else "fact",
        provenance=provenance,
        session=f"s{turn}",
    ).id


def _tell_result(mind: Mind, place: int, old: str, new: str) -> str:
    one, other = mind.get([old, new])
    if one.active and other.active:
        waiting = mind.review.cases(space=f"me/p{place}")
        return f"asked: {waiting[0].kind}" if waiting else "both"
    gone = one if not one.active else other
    if gone.retired_why == "merged":
        return "merged"
    return "replaced" if gone is one else "lost"


def _is_first(mind: Mind, place: int, case: NewsCase, old: str, new: str) -> bool:
    """True if the newer one comes first when both are asked for by what they share."""
    words = [claim.words if claim else () for claim in map(read_claim, (case.old, case.new))]
    later = {word.key for word in words[1]}
    asked = " ".join(word.text for word in words[0] if word.key in later)
    hits = mind.recall(asked or case.old, space=f"me/p{place}", limit=5)
    ranked = [hit.memory.id for hit in hits if hit.memory.id in (old, new)]
    return ranked[:1] == [new]


def is_right(one: Outcome) -> bool:
    """True if what became of a case is what had to."""
    match one.case.case:
        case "news" | "correction" | "trust":
            return one.result == "replaced"
        case "both":
            return one.result == "both"
        case "fuller":
            return one.result in ("both", "asked: near-duplicate")
        case _:
            return one.result in ("both", "merged", "asked: near-duplicate")


def summarize(found: Sequence[Outcome]) -> dict[str, Any]:
    """Shares by case and, for what is replaced, by language."""
    by_case: dict[str, list[Outcome]] = defaultdict(list)
    for one in found:
        by_case[one.case.case].append(one)
        if one.case.case in NEWS:
            by_case[f"newer wins, {one.case.language}"].append(one)
            by_case["newer wins"].append(one)
    both = by_case["both"]
    return {
        "right": {
            name: {"cases": len(rows), "share": sum(map(is_right, rows)) / len(rows)}
            for name, rows in sorted(by_case.items())
            if rows
        },
        "newer first": _share(by_case["newer wins"], lambda one: one.newer_first),
        "wrong retirements": _share(both, lambda one: one.result in ("replaced", "lost", "merged")),
        "asked for nothing": _share(both, lambda one: one.result.startswith("asked")),
    }


def _share(rows: Sequence[Outcome], test: Callable[[Outcome], bool]) -> float:
    return sum(map(test, rows)) / max(1, len(rows))


# A home


class Statement(NamedTuple):
    """A text of the home, and the subject within which others may contradict or repeat it."""

    text: str
    subject: str
    label: str  # "" where it stands for its subject, else what it is to the one that does


def collect_home(half: str) -> list[Statement]:
    """Statements of which each has a subject of its own, and PLANTED others that contradict or
    repeat one: cases by hand, labelled pairs, one value of each subject of the frames, what installed
    packages say of themselves. In an order that leaves what contradicts behind what it contradicts.
    """
    rng = random.Random(SEED)
    plain: dict[str, Statement] = {}
    planted: list[Statement] = []
    for case in read_cases(half):
        claim = read_claim(case.new)
        # In other languages many cases say the same again; "no, it is …" may be about anything.
        if case.language != "en" or (claim and claim.refers):
            continue
        if case.case == "both":
            for text in (case.old, case.new):
                plain.setdefault(text, Statement(text, text, ""))
        elif case.case != "trust":
            plain.setdefault(case.old, Statement(case.old, case.old, ""))
            planted.append(Statement(case.new, case.old, case.case))
    for row in pairs(half):
        plain.setdefault(row.old, Statement(row.old, row.group, ""))
        if row.label in ("contradicts", "updates", "near"):
            planted.append(Statement(row.new, row.group, row.label))
    for frame in FRAMES[half]:
        for subject in frame.subjects:
            text = frame.text.format(s=subject, v=rng.choice(frame.values))
            plain.setdefault(text, Statement(text, f"{frame.kind_of_relation} {subject}", ""))
    for name, summary in _list_packages():
        if len(plain) < HOME_SIZE - PLANTED:
            text = f"{name}: {summary}"
            plain[text] = Statement(text, text, "")
    chosen = rng.sample(planted, min(PLANTED, len(planted)))
    early = list(plain.values())
    rng.shuffle(early)
    return _spread(early, chosen)


def _list_packages() -> list[tuple[str, str]]:
    """(name, what it says of itself) of the packages that are installed, by name."""
    found = {
        dist.metadata["Name"]: dist.metadata["Summary"] or "" for dist in metadata.distributions()
    }
    return sorted((name, said) for name, said in found.items() if name and len(said) > 10)


def _spread(early: Sequence[Statement], planted: Sequence[Statement]) -> list[Statement]:
    """All in one order: each planted one some time after the one that it speaks of."""
    rng = random.Random(SEED)
    said = list(early)
    for one in planted:
        behind = next(
            (i for i, other in enumerate(said) if other.subject == one.subject), len(said) - 1
        )
        said.insert(rng.randint(behind + 1, len(said)), one)
    return said


def grow_home(half: str, embedder: Embedder, *, show: bool) -> dict[str, Any]:
    """How many pairs wait after each week, and how many of these are rightly asked about."""
    said = collect_home(half)
    with TemporaryDirectory() as folder:
        clock = Clock()
        with memory(folder, now=clock, embedder=embedder) as mind:
            by_id: dict[str, Statement] = {}
            new_pairs, right, wrong = [], 0, Counter[str]()
            seen: set[frozenset[str]] = set()
            for week in range(WEEKS):
                for one in said[_week(said, week)]:
                    clock.tick(minutes=10)
                    is_correction = one.label == "correction"
                    kept = mind.remember(
                        one.text,
                        space="me/demo",
                        kind="correction" if is_correction else "fact",
                        provenance="user_corrected" if is_correction else "user_stated",
                    )
                    by_id[kept.id] = one
                mind.settle()
                clock.tick(days=6)
                cases = [
                    (case.one, case.other)
                    for case in mind.review.cases(space="me/demo")
                    if frozenset((case.one.id, case.other.id)) not in seen
                ]
                seen |= {frozenset((this.id, that.id)) for this, that in cases}
                new_pairs.append(len(cases))
                for this, that in cases:
                    if is_worth_asking(by_id[this.id], by_id[that.id]):
                        right += 1
                    else:
                        wrong[f"{this.text} | {that.text}"] += 1
            retired = [_tell_retired(memory, by_id) for memory in mind.get(list(by_id))]
    if show:
        for line in (*wrong, *filter(None, retired)):
            print("  ", line)
    return {
        "memories": len(said),
        "pairs": sum(new_pairs),
        "pairs a week": sum(new_pairs) / WEEKS,
        "pairs in the last week": new_pairs[-1],
        "precision": right / max(1, sum(new_pairs)),
        "wrongly retired": sum(map(bool, retired)) / len(said),
    }


def _week(said: Sequence[Statement], week: int) -> slice:
    return slice(len(said) * week // WEEKS, len(said) * (week + 1) // WEEKS)


def is_worth_asking(one: Statement, other: Statement) -> bool:
    """True if two statements are of one subject, of which they say the same or what differs."""
    return one.subject == other.subject


def _tell_retired(memory: Memory, by_id: dict[str, Statement]) -> str:
    """A memory that went for one of another subject, in words; "" if it did not."""
    heir = by_id.get(memory.superseded_by or "")
    if memory.active or heir is None or heir.subject == by_id[memory.id].subject:
        return ""
    return f"{memory.retired_why}: {memory.text} -> {heir.text}"


def _report(found: dict[str, Any]) -> None:
    names = ("with claims", "baseline")
    for part in ("by hand", "filled"):
        rows = []
        for case, told in found["with claims"][part]["right"].items():
            theirs = found["baseline"][part]["right"][case]
            rows.append([case, told["cases"], told["share"], theirs["share"]])
        for what in ("newer first", "wrong retirements", "asked for nothing"):
            rows.append([what, "", *(found[name][part][what] for name in names)])
        print()
        table(rows, [f"{part}, {found['half']}", "cases", *names])
    print()
    homes = [found[name]["home"] for name in names]
    table([[what, *(home[what] for home in homes)] for what in homes[0]], ["a home", *names])


if __name__ == "__main__":
    main()
