"""How likely a prompt needs something that was said before, so that talk comes up unasked.

Most prompts need none: what anybody could answer, thanks, a small edit. A linear scorer weighs how
well the best passages fit and how the prompt is put (`text.prompt_phrases`). The coefficients lie
readable in `talk_gate.json`, made by `python -m bench.transcripts.train --write`, which leaves one
project out and says how well the rest does on it. Without vectors a second set judges by words.

Always true: a prompt of fewer than MIN_TERMS terms gets nothing; a chance lies between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from reverie.text.function_words import count_telling_words, tokenize_content
from reverie.text.prompt_phrases import TRAITS, read_prompt_traits

if TYPE_CHECKING:
    from reverie.transcripts.passage_search import RankedPassage

# Terms without which a prompt says too little to look for: "go on", "hi there".
MIN_TERMS = 3
# Characters of a prompt that may be small talk and nothing else.
MAX_SMALL_TALK = 40
# Best passages that are looked at.
TOP = 5
# Letters of a word beyond which it says no more.
MAX_TELLING = 12
# The chance from which talk may come up. Of the projects of `bench.transcripts.unseen`, each left
# out in turn, .84 of the prompts that need something get it, and .10 of the others in the same
# project, .02 elsewhere; by words alone .88, .10 and .03.
MIN_CHANCE = 0.35


def may_surface(prompt: str, best: Sequence[RankedPassage]) -> bool:
    """True if what was said before may come up at a prompt, given the best of it."""
    return judge_talk(prompt, best) >= MIN_CHANCE


def judge_talk(prompt: str, best: Sequence[RankedPassage]) -> float:
    """The chance, 0..1, that a prompt needs something of past conversations."""
    if not best or is_hopeless(prompt):
        return 0.0
    by_words = all(one.cosine is None for one in best)
    weights = load_coefficients()["by words" if by_words else "with meaning"]
    signals = compute_talk_signals(prompt, best)
    margin = sum(weight * signals[name] for name, weight in weights.items())
    return 1.0 / (1.0 + math.exp(-min(max(margin, -30.0), 30.0)))


def is_hopeless(prompt: str) -> bool:
    """True if nothing of past conversations can come up at a prompt, so that none is looked for."""
    if len(prompt) <= MAX_SMALL_TALK and "small_talk" in read_prompt_traits(prompt):
        return True
    return says_too_little(prompt)


def says_too_little(prompt: str) -> bool:
    """True if a prompt has too few words to look for; one fewer is enough where it asks for what
    was agreed here: "which cache did we choose?".
    """
    words = count_telling_words(prompt)
    return words < MIN_TERMS and not (
        words == MIN_TERMS - 1 and "of_ours" in read_prompt_traits(prompt)
    )


def compute_talk_signals(prompt: str, best: Sequence[RankedPassage]) -> dict[str, float]:
    """What speaks for or against, by name; each about 0..4."""
    terms = set(tokenize_content(prompt))
    shared = [terms.intersection(tokenize_content(one.found.passage.text)) for one in best[:TOP]]
    most = max((count_letters(some) for some in shared), default=0)
    bm25 = sorted((one.bm25 for one in best), reverse=True)[:TOP] or [0.0]
    cosines = [one.cosine for one in best if one.cosine is not None]
    near = sorted(cosines, reverse=True)[:TOP] or [0.0]
    traits = read_prompt_traits(prompt)
    return {
        "constant": 1.0,
        "best meaning": near[0],
        "good meaning": sum(near) / len(near),
        "best words": math.log1p(max(bm25[0], 0.0)),
        "good words": math.log1p(max(sum(bm25) / len(bm25), 0.0)),
        "words of each term": max(bm25[0], 0.0) / max(len(terms), 1) / 4.0,
        "share of the prompt": most / max(count_letters(terms), 1),
        "share in all": len(frozenset().union(*shared)) / max(len(terms), 1),
        "length": math.log1p(len(terms)),
        "asks": float(prompt.rstrip().endswith(("?", "？"))),
        **{trait: float(trait in traits) for trait in TRAITS},
    }


def count_letters(terms: Iterable[str]) -> int:
    """What some terms say together: the longer a word is, the rarer, up to MAX_TELLING letters."""
    return sum(min(len(term), MAX_TELLING) for term in terms)


@lru_cache(maxsize=1)
def load_coefficients() -> Mapping[str, Mapping[str, float]]:
    """The coefficients that come with this package: "with meaning" and "by words"."""
    import json
    from pathlib import Path

    path = Path(__file__).with_name("talk_gate.json")
    found: Mapping[str, Mapping[str, float]] = json.loads(path.read_text("utf-8"))
    return found
