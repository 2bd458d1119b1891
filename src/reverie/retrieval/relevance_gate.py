"""Whether a memory that nobody asked for earns its place: how likely this turn needs it, from what
is seen of both.

Most turns need no memory, and some words of nearly every turn stand in some memory. So the hits of
the automatic path are judged in two steps, each a small linear scorer. *Fits*: how well each memory
answers the turn, compared with the others. *Opens*: whether this turn needs any, from how well the
best one fits and from what kind of turn it is. "Run it again" needs nothing, whatever it resembles;
"where is staging?" asks for what only this project knows.

The coefficients lie readable in `gate.json`, made by `python -m bench.gate.train --write`; `python
-m bench.gate` says how well they do on sessions that they have not seen. Without a vector, a second
set judges by words alone; neither needs numpy or a language model.

Always true: a chance lies between 0 and 1 and is finite, whatever is missing; all else equal, a
higher cosine and a better match by words never lower it; equal chances stand in order of id; an
explicit `recall` is not judged.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reverie.core.kinds import is_conversation_turn, is_unverified
from reverie.core.model import Hit, Memory
from reverie.text.domain_stopwords import domain_stop_stems, stems_of

MAX_COMPARED_CHARS = 4_000  # characters of a turn or a memory whose words are compared
COMMON_WORD_WEIGHT = 0.2  # what a word counts that nearly every working session says
# log-odds that the best may stand before the second; beyond, more says nothing more
MAX_LEAD = 3.0
# in a store of so few memories a shared word counts as BM25 would count it among twenty
TINY_STORE, RARE_WORD_BM25 = (
    3,
    2.0,
)
MAX_REASONS = 2  # how many of the strongest signs `why` names

# What kind of turn it is, told from how it is put. None of them names a project or a language.
_TURN_KINDS = {
    "asks": r"\?\s*$|^\s*(?:and |so |but |ok |hey )*(?:what|where|when|who|whom|which|why|how|is|are|can|may|should|do"
    r"|does|did|will|would|could)\b",
    # Only somebody who was here before knows where, when, who, which, and whether one may.
    "asks here": r"\b(?:where|when|who|whom|which|whose)\b|\b(?:can|may|should|do|shall|could) (?:i|we)\b|\bat what\b"
    r"|\bwhat (?:was|were|should|happens?|if|time)\b|\b(?:our|ours|we)\b",
    # Something begins: a wish, a plan, a thing to make. Rules, preferences and decisions bear on
    # it.
    "plans": r"^\s*(?:ok,? |now |and |so |please |then |also )*(?:let'?s|let us|let me|we (?:want|need|have to|should)"
    r"|i (?:want|need|have to|am|changed|moved|added)|i'm|i'd like|can we|could we|should we|start|begin"
    r"|new)\b",
    "makes": r"^\s*(?:ok,? |now |and |so |please |then |also |let's |can you )*(?:add|write|build|create|draft|set up"
    r"|generate|implement|make (?:an?|me|the|some)\b|design|draw|document"
    r"|put|save|store|send|deploy|release|ship|publish"
    r"|commit|test|load|read|wire|inject|style|turn on"
    r"|start|compute|review|regenerate|reset|rebuild|upload|install|update)\b",
    # Something goes wrong, told in somebody's own words; a lesson may be about it.
    "trouble": r"\b(?:fail(?:s|ed|ing)?|crash\w*|broken?|breaks|wrong|missing|gone|vanish\w*|hangs?|stuck|slow|stutter"
    r"\w*|dies|died|down|empty|twice|double|undefined|nan|red|ugly|lost|off|nothing|refused?|restarts?|isn't"
    r"|doesn't|don't|can't|cannot|couldn't|not found|still|again|since|only at|too (?:large|small|slow|long)"
    r"|why (?:is|are|do|does))\b",
    # Anybody knows what a word means or how a thing is done in general.
    "asks anybody": r"\bwhat(?:'s| is| are| does| do) (?:an? |the (?:difference|syntax|meaning|time complexity)"
    r"|\S+ (?:mean|do)\b)|\bdifference between\b|\bhow (?:do|does|can) (?:you|i) (?:spell|exit|say|list"
    r"|grep)\b|\bexplain\b|\btranslate\b|\bspell(?:ing)?\b|\bsynonym\b|\bregex\b"
    r"|\bmean(?:s|ing)? (?:in|by)\b",
    # A small change to what is on the screen, or to what was just done.
    "edits": r"^\s*(?:ok |now |and |please |then |also |no,? |yes,? )*(?:rename|move|remove|delete|undo|revert|format"
    r"|sort|inline|extract|cast|clone|crop|shorter|shorten|bigger|smaller|make it|make the|fix it|use|show"
    r"|print|count|replace|merge|close|increase|scale|halve|round|convert)\b",
    "goes on": r"^\s*(?:ok(?:ay)?|yes|yep|yeah|no|nope|nice|cool|great|good|thanks?|thank you|thx|perfect|super|go on"
    r"|go ahead|next|lgtm|done|hm+|ah|aha|oh|haha|lol|wait|works?|looks|sounds|fine|hi|hello|hey|bye"
    r"|never ?mind|right|morning|do it|do that|again|retry)\b",
    "pasted": r"\n.*\n|(?m:^\s*at \S+\(|^\S*(?:Error|Exception|Warning)\b|^\S*(?:panic|fatal|error|warning)\b ?[:\[(]"
    r"|^(?:FAIL|PASS|WARN|INFO|E )|^--- |^=== |^\[(?:INFO|WARN|ERROR)|:\d+:\d+)|[{};]\s*$",
}


KIND_FITS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "a rule for making": (
        ("plans", "makes"),
        ("preference", "decision", "correction", "negative", "procedure", "skill"),
    ),
    "a lesson for trouble": (("trouble", "pasted"), ("learning", "correction", "negative")),
    "a fact for a question": (
        ("asks here",),
        ("fact", "knowledge", "entity", "event", "task", "procedure", "decision", "intention"),
    ),
}
"""Kinds of turns and the kinds of memories that bear on them."""


TALK_SIGNALS = (
    "best meaning",
    "best meaning here",
    "best words",
    "prospects",
    "asks",
    "asks here",
    "turn's words",
)
"""What is to be trusted more or less where the memories are turns of talk and not facts: people
tell of everything.
"""


class GateSignals(NamedTuple):
    """What search saw of one candidate beside its memory."""

    cosine: float = math.nan  # NaN where nothing has a vector to compare
    z: float = 0.0  # the cosine in spreads above what means nothing here
    bm25: float = 0.0
    likely: float = 0.0  # the ranking's score as log-odds
    few: float = 0.0  # 1 / (1 + memories here / 30): in a small store no word is rare


class TurnSignals(NamedTuple):
    """What a turn says, as the gate sees it."""

    stems: frozenset[str]
    kinds: Mapping[str, float]  # 1 or 0 by the names of _KINDS


class GateCoefficients(NamedTuple):
    """Coefficients by the names of signs."""

    fits: Mapping[str, float]  # of one candidate
    opens: Mapping[str, float]  # of the turn and the best that was found, with a `constant`


def judge_hits(hits: Sequence[Hit], seen: Sequence[GateSignals], text: str) -> list[Hit]:
    """The hits with the chance that this turn needs them as score, best first, ties by id. What
    others wrote is not in the way of the rest: that is judged as if it were not there.
    """
    if not hits:
        return []
    firm = [place for place, hit in enumerate(hits) if not is_unverified(hit.memory)]
    if 0 < len(firm) < len(hits):
        found = [
            *weigh_hits([hits[n] for n in firm], [seen[n] for n in firm], text),
            *(hit for hit in weigh_hits(hits, seen, text) if is_unverified(hit.memory)),
        ]
        return sorted(found, key=lambda hit: (-hit.score, hit.memory.id))
    return weigh_hits(hits, seen, text)


def weigh_hits(hits: Sequence[Hit], seen: Sequence[GateSignals], text: str) -> list[Hit]:
    """The same, of hits that are judged together."""
    turn = read_turn(text)
    judge = load_gate_models()[all(math.isnan(one.cosine) for one in seen)]
    seen = correct_bm25_for_small_store(
        turn, hits, [one._replace(cosine=clip_symmetric(one.cosine, 1.0)) for one in seen]
    )
    signs = compute_fit_signals(turn, [hit.memory for hit in hits], seen)
    fits = [sum_weighted(judge.fits, one) for one in signs]
    opens = compute_opening_signals(turn, [hit.memory for hit in hits], seen, fits)
    margin = sum_weighted(judge.opens, opens) - max(fits)
    said = describe_strongest(judge.opens, opens)
    chances = [logistic(margin + fit) for fit in fits]
    found = [
        Hit(hit.memory, chance, (*hit.why, f"chance {chance:.2f}{said}"))
        for hit, chance in zip(hits, chances, strict=True)
    ]
    return sorted(found, key=lambda hit: (-hit.score, hit.memory.id))


def correct_bm25_for_small_store(
    turn: TurnSignals, hits: Sequence[Hit], seen: Sequence[GateSignals]
) -> Sequence[GateSignals]:
    """What was seen, as if the store were not tiny: where one or two memories are all there is, no
    word is rare and BM25 is nothing, whatever is said.
    """
    if len(hits) > TINY_STORE:
        return seen
    return [
        one._replace(
            bm25=max(
                RARE_WORD_BM25 * weigh_stems(turn.stems & stem_memory(hit.memory)) / len(hits),
                one.bm25,
            )
        )
        for hit, one in zip(hits, seen, strict=True)
    ]


def sum_weighted(weights: Mapping[str, float], signs: Mapping[str, float]) -> float:
    """The sum of the signs by their weights; a number that is unknown counts nothing."""
    value = sum([weight * signs[name] for name, weight in weights.items()])
    if math.isfinite(value):
        return value
    return sum(
        [weight * signs[name] for name, weight in weights.items() if math.isfinite(signs[name])]
    )


def describe_strongest(weights: Mapping[str, float], signs: Mapping[str, float]) -> str:
    """The signs that spoke most for showing anything, in words."""
    parts = sorted(
        (
            (weights[name] * sign, name)
            for name, sign in signs.items()
            if name != "constant"
            and "×" not in name
            and math.isfinite(sign)
            and weights[name] * sign > 0
        ),
        reverse=True,
    )
    return f": {', '.join(name for _, name in parts[:MAX_REASONS])}" if parts else ""


def logistic(margin: float) -> float:
    """A chance of 0..1 from its log-odds."""
    return 1.0 / (1.0 + math.exp(-min(max(margin, -30.0), 30.0)))


def read_turn(text: str) -> TurnSignals:
    """A turn as the gate sees it."""
    head = text[:MAX_COMPARED_CHARS]
    return TurnSignals(
        stems_of(head), {kind: float(bool(found(head))) for kind, found in _turn_kinds().items()}
    )


def compute_fit_signals(
    turn: TurnSignals, memories: Sequence[Memory], seen: Sequence[GateSignals]
) -> list[dict[str, float]]:
    """The signs of how well each memory fits a turn, by name."""
    asked = max(weigh_stems(turn.stems), 1.0)
    kinds = {
        name: frozenset(fits) if any(turn.kinds[kind] for kind in when) else frozenset()
        for name, (when, fits) in KIND_FITS.items()
    }
    return [
        {
            **compute_likeness_signals(turn, asked, memory, one),
            **{name: float(memory.kind in fits) for name, fits in kinds.items()},
        }
        for memory, one in zip(memories, seen, strict=True)
    ]


def compute_likeness_signals(
    turn: TurnSignals, asked: float, memory: Memory, seen: GateSignals
) -> dict[str, float]:
    """How alike a turn and a memory are, by name; `asked` is what the turn's words weigh."""
    known = stem_memory(memory)
    shared, talk = weigh_stems(turn.stems & known), float(is_conversation_turn(memory))
    rank, words = clip_symmetric(seen.likely, 8.0), math.log1p(max(0.0, seen.bm25))
    return {
        "meaning": seen.cosine * (1.0 - talk),
        "meaning in talk": seen.cosine * talk,
        "meaning here": clip_symmetric(seen.z, 6.0),
        "words": words * (1.0 - talk),
        "words in talk": words * talk,
        "rank": rank * (1.0 - talk),
        "rank in talk": rank * talk,
        "shared words": math.log1p(shared),
        "share of the turn": shared / asked,
        "share of the memory": shared / max(weigh_stems(known), 1.0),
        "length": math.log1p(len(known)),
    }


def compute_opening_signals(
    turn: TurnSignals,
    memories: Sequence[Memory],
    seen: Sequence[GateSignals],
    fits: Sequence[float],
) -> dict[str, float]:
    """The signs of whether a turn needs any memory, by name; `fits` is how well each one fits."""
    best, second = (*sorted(fits, reverse=True)[:2], -math.inf)[:2]
    talk = sum(map(is_conversation_turn, memories)) / len(memories)
    signs = {
        "constant": 1.0,
        "best fit": best,
        "lead": min(best - second, MAX_LEAD),
        "best meaning": max(one.cosine for one in seen),
        "best meaning here": clip_symmetric(max(one.z for one in seen), 6.0),
        "best words": math.log1p(max(0.0, *(one.bm25 for one in seen), 0.0)),
        "prospects": clip_symmetric(max(one.likely for one in seen), 8.0),
        "few memories": seen[0].few,
        "talk": talk,
        "turn's words": math.log1p(weigh_stems(turn.stems)),
        **turn.kinds,
    }
    return {**signs, **{f"{name} × talk": signs[name] * talk for name in TALK_SIGNALS}}


def stem_memory(memory: Memory) -> frozenset[str]:
    """The words of a memory without their endings."""
    return stems_of(f"{memory.title} {memory.text}".lstrip()[:MAX_COMPARED_CHARS])


def clip_symmetric(value: float, most: float) -> float:
    """A number within bounds; NaN stays."""
    return min(max(value, -most), most)


def weigh_stems(stems: frozenset[str]) -> float:
    """How much some words say together."""
    return len(stems) - (1.0 - COMMON_WORD_WEIGHT) * len(stems & domain_stop_stems())


@lru_cache(maxsize=1)
def _turn_kinds() -> dict[str, "re.Pattern[str].search"]:  # type: ignore[valid-type]
    return {
        kind: re.compile(pattern, re.IGNORECASE).search for kind, pattern in _TURN_KINDS.items()
    }


@lru_cache(maxsize=1)
def load_gate_models() -> tuple[GateCoefficients, GateCoefficients]:
    """The coefficients that come with this package: (with meaning, by words alone)."""
    import json
    from pathlib import Path  # a cold `recall`, which is not judged, does not wait for it

    data = json.loads(Path(__file__).with_name("relevance_gate.json").read_text("utf-8"))
    return GateCoefficients(**data["with meaning"]), GateCoefficients(**data["by words"])
