"""When the ground of something changes, is what stood on it said to be in doubt? `python -m
bench.cascade [CACHE]`.

Episodes of made-up software projects in four languages, in the manner of MEME and STALE: things are
said with a reason that others are the reason for, a day later news changes the ground, and each
thing that followed is asked about. `develop.toml` was looked at while the rules were made,
`heldout.toml` was not. Everything goes the way of an agent's `remember` and `recall`, with the
shipped embedder and without a language model.

- cascade: of the things that stood on what changed, directly or by way of others, the share of
  which recall says that it is in doubt, or that no longer counts; by depth;
- restated: the same episodes, but the ground is said again in other words: nothing may be in doubt;
- besides: the same episodes with news about the same names that leaves the ground as it is: nothing
  may be in doubt;
- controls: what shares words with the ground, or rests on something else, may never be in doubt;
- baseline: the same store without dependencies (plain recall): the share of which recall says that
  it no longer counts, is contradicted or is out of date; and with the news among the first five
  answers, which leaves the conclusion to whoever reads.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import save, table
from reverie.core.doubt import is_in_doubt
from reverie.embedding import Embedder, open_embedder
from reverie.embedding.vector_cache import CachedEmbedder
from reverie.reconciliation import doubts, stated_dependencies
from reverie.runtime import settle
from reverie.runtime.mind import Mind
from reverie.testing import Clock, memory

FOLDER = Path(__file__).parent
SETS = ("develop", "heldout", "fresh")
SPACE = "me/demo"
DAY = 86_400.0
FIRST = 5  # answers in which news counts as seen
OURS = (stated_dependencies.READER, doubts.READER)


class Episode(NamedTuple):
    """One made-up story."""

    name: str
    language: str
    ground: str  # empty: it is said only as the reason of the first statement
    chain: tuple[str, ...]
    news: str
    restated: str
    besides: tuple[str, ...]
    controls: tuple[str, ...]


class Asked(NamedTuple):
    """What came of asking about one statement."""

    depth: int
    in_doubt: bool
    told: bool  # recall says that it counts no longer, or is contradicted, or in doubt
    sees_news: bool


class Told(NamedTuple):
    """One episode, told to the end."""

    chain: tuple[Asked, ...]
    wrong: tuple[str, ...]  # controls that are in doubt


def load_episodes(name: str) -> Iterator[Episode]:
    """The episodes of a file, each once for each row of slots."""
    rows = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))["episode"]
    for row in rows:
        for slots in row["slots"]:
            yield Episode(
                f"{row['language']} {row['domain']} {slots['a']}",
                row["language"],
                row["ground"].format(**slots),
                tuple(text.format(**slots) for text in row["chain"]),
                row["news"].format(**slots),
                row["restated"].format(**slots),
                tuple(text.format(**slots) for text in row["besides"]),
                tuple(text.format(**slots) for text in row["controls"]),
            )


def tell_episode(embedder: Embedder, episode: Episode, ending: str, *, tied: bool) -> Told:
    """Tell an episode with an ending; `tied`, with what memory knows of dependencies."""
    readers = settle.READERS
    settle.READERS = readers if tied else tuple(one for one in readers if one not in OURS)
    clock = Clock()
    try:
        with memory(now=clock, embedder=embedder) as mind:
            if episode.ground:
                keep(mind, clock, episode.ground)
            chain = [keep(mind, clock, text) for text in episode.chain]
            controls = [keep(mind, clock, text) for text in episode.controls]
            clock.tick(DAY)
            news = keep(mind, clock, ending)
            clock.tick(60.0)
            asked = tuple(ask(mind, id, depth, news) for depth, id in enumerate(chain, 1))
            wrong = tuple(one.text for one in mind.get(controls) if is_in_doubt(one))
    finally:
        settle.READERS = readers
    return Told(asked, wrong)


def keep(mind: Mind, clock: Clock, text: str) -> str:
    """The id of a statement that a user made, settled."""
    clock.tick(600.0)
    id = mind.remember(text, space=SPACE, provenance="user_stated").id
    mind.settle()
    return id


def ask(mind: Mind, id: str, depth: int, news: str) -> Asked:
    """What recall says of a statement."""
    one = mind.get([id])[0]
    hits = mind.recall(one.text, space=SPACE, limit=10)
    ids = [hit.memory.id for hit in hits]
    doubted = not one.active or any(
        hit.memory.id == id and any("in doubt" in why for why in hit.why) for hit in hits
    )
    contradicted = bool(one.conflicts_with)
    return Asked(depth, doubted, doubted or contradicted, news in ids[:FIRST])


def measure(embedder: Embedder, name: str, *, verbose: bool) -> dict[str, Any]:
    """All figures of one file."""
    counts: Counter[str] = Counter()
    missed: list[str] = []
    for episode in load_episodes(name):
        ours = tell_episode(embedder, episode, episode.news, tied=True)
        plain = tell_episode(embedder, episode, episode.news, tied=False)
        counts["episodes"] += 1
        for mine, theirs, text in zip(ours.chain, plain.chain, episode.chain, strict=True):
            for scope in ("all", f"depth {mine.depth}", episode.language):
                counts[f"{scope} asked"] += 1
                counts[f"{scope} in doubt"] += mine.in_doubt
                counts[f"{scope} baseline"] += theirs.told
            counts["sees news"] += theirs.sees_news
            if not mine.in_doubt:
                missed.append(f"missed: {episode.name}: {text} | {episode.news}")
        counts["controls"] += len(episode.controls)
        counts["controls in doubt"] += len(ours.wrong)
        missed += [f"wrong: {episode.name}: {text} | {episode.news}" for text in ours.wrong]
        for ending in (episode.restated, *episode.besides):
            calm = tell_episode(embedder, episode, ending, tied=True)
            which = "restated" if ending == episode.restated else "besides"
            marked = [
                text
                for asked, text in zip(calm.chain, episode.chain, strict=True)
                if asked.in_doubt
            ]
            counts[which] += len(episode.chain)
            counts[f"{which} in doubt"] += len(marked)
            counts["controls"] += len(episode.controls)
            counts["controls in doubt"] += len(calm.wrong)
            missed += [
                f"wrong: {episode.name}: {text} | {ending}" for text in (*marked, *calm.wrong)
            ]
    if verbose:
        print("\n".join(missed))
    scopes = [key.removesuffix(" asked") for key in counts if key.endswith(" asked")]
    return {
        "episodes": counts["episodes"],
        "asked": counts["all asked"],
        "cascade": {one: counts[f"{one} in doubt"] / counts[f"{one} asked"] for one in scopes},
        "baseline": {one: counts[f"{one} baseline"] / counts[f"{one} asked"] for one in scopes},
        "baseline sees news": counts["sees news"] / counts["all asked"],
        **{
            name: counts[name]
            for one in ("controls", "restated", "besides")
            for name in (one, f"{one} in doubt")
        },
    }


def main() -> None:
    """Measure both sets, or the one that is named; print what was missed with -v."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    names = [word for word in words if word in SETS]
    cache = next((Path(word) for word in words if word not in SETS), Path.home() / ".reverie/cache")
    model = open_embedder("minilm", cache=cache if (cache / "models").exists() else cache / "cache")
    embedder = CachedEmbedder(model, {})
    results = {name: measure(embedder, name, verbose="-v" in sys.argv) for name in names or SETS}
    for name, found in results.items():
        print(f"{name}: {found['episodes']} episodes, {found['asked']} things that stood on them")
        rows = [(one, found["cascade"][one], found["baseline"][one]) for one in found["cascade"]]
        table(rows, ("", "in doubt", "plain recall"))
        print(
            f"wrong: {found['controls in doubt']} of {found['controls']} controls, "
            f"{found['restated in doubt']} of {found['restated']} whose ground was said again, "
            f"{found['besides in doubt']} of {found['besides']} after news beside it; plain recall has the news among the first {FIRST}: {found['baseline sees news']:.2f}"
        )
    if not names:
        save("cascade", results)


if __name__ == "__main__":
    main()
