"""The probability that a turn needs a memory unasked, from signals of both.

Most turns need no memory, and some words of nearly every turn stand in some memory. So the hits of
the automatic path are judged in two steps, each a small linear scorer. *Fits*: how well each memory
answers the turn, compared with the others. *Opens*: whether this turn needs any, from how well the
best one fits and from what kind of turn it is. "Run it again" needs nothing, whatever it resembles;
"where is staging?" asks for what only this project knows.

The coefficients lie readable in `relevance_gate.json`, made by `python -m bench.gate.train
--write`; `python -m bench.gate` says how well they do on sessions that they have not seen. Without
a vector, a second set judges by words alone; neither needs numpy or a language model.

Always true: a chance lies between 0 and 1 and is finite, whatever is missing; all else equal, a
higher cosine and a better match by words never lower it; equal chances stand in order of id; an
explicit `recall` is not judged.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reverie.core.kinds import (
    MAKING,
    QUESTION,
    TROUBLE,
    is_conversation_turn,
    is_unverified,
    kind_of,
)
from reverie.core.lazy_patterns import compile_once
from reverie.core.model import Hit, Memory
from reverie.text.domain_stopwords import domain_stop_stems, stems_of
from reverie.text.prompt_phrases import read_prompt_traits

# Characters of a turn or a memory whose words are compared.
MAX_COMPARED_CHARS = 4_000
# What a word counts that nearly every working session says.
COMMON_WORD_WEIGHT = 0.2
# Log-odds that the best may stand before the second; beyond, more says nothing more.
MAX_LEAD = 3.0
# In a store of so few memories a shared word counts as BM25 would count it among twenty.
TINY_STORE, RARE_WORD_BM25 = 3, 2.0
# How steeply the odds of the others fall below those of the best: where meaning puts one clearly
# ahead it comes alone. On the develop part precision rises from .47 to .51 at the same recall;
# where words alone judge, nothing is gained.
STEEPNESS_WITH_MEANING = 2.0
# So many of the strongest signals are named in `why`.
MAX_REASONS = 2
# Beyond these, a cosine in standard deviations and a rank in log-odds say nothing more.
MAX_Z, MAX_LOG_ODDS = 6.0, 8.0

Numbers = Mapping[str, float]
"""Signals or their weights, by name."""


class TurnForm(NamedTuple):
    """How turns of one kind are put, in lower case.

    To compile the expressions of all kinds takes a hook 5 ms: one is compiled for a turn that has
    one of `needs`, which every turn of the kind has.
    """

    pattern: str
    needs: tuple[str, ...] = ("",)
    begins: bool = False  # the turn begins with one of them

    def fits(self, lower: str) -> bool:
        """True if a turn is of this kind."""
        if self.begins:
            may_fit = lower.lstrip().startswith(self.needs)
        else:
            may_fit = any(need in lower for need in self.needs)
        return may_fit and self.compile().search(lower) is not None

    def compile(self) -> re.Pattern[str]:
        """The expression, compiled once."""
        return compile_once(self.pattern)


def turns_that_begin(openers: str, ways: str) -> TurnForm:
    """Turns that begin with one of these ways, after any of the openers."""
    pattern = rf"^\s*(?:{openers})*(?:{ways})\b"
    return TurnForm(pattern, literal_starts(f"{openers}|{ways}".lstrip("|")), begins=True)


def turns_that_hold(ways: str) -> TurnForm:
    """Turns in which one of these ways stands as whole words."""
    return TurnForm(rf"\b(?:{ways})\b", literal_starts(ways))


def literal_starts(ways: str) -> tuple[str, ...]:
    """How each way of an expression's outermost choice begins, as far as it is plain text."""
    starts, start, is_plain, depth = [], "", True, 0
    for letter in f"{ways}|":
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            starts.append(start)
            start, is_plain = "", True
        elif is_plain and (letter.isalpha() or letter in " '"):
            start += letter
        elif is_plain:
            # What stands before these may be missing.
            start, is_plain = start[:-1] if letter in "?*{" else start, False
    return tuple(starts)


@lru_cache(maxsize=1)
def turn_forms() -> dict[str, TurnForm]:
    """What kind of turn it is, told from how it is put. None of them names a project or a
    language.
    """
    return {
        "asks": TurnForm(
            r"\?\s*$|^\s*(?:and |so |but |ok |hey )*(?:what|where|when|who|whom|which|why|how|is"
            r"|are|can|may|should|do|does|did|will|would|could)\b"
        ),
        # Only somebody who was here before knows where, when, who, which, and whether one may.
        "asks here": turns_that_hold(
            r"where|when|who|whom|which|whose|can (?:i|we)|may (?:i|we)|should (?:i|we)|do (?:i|we)"
            r"|shall (?:i|we)|could (?:i|we)|at what|what (?:was|were|should|happens?|if|time)|our"
            r"|ours|we"
        ),
        # Something begins: a wish, a plan, a thing to make. Rules, preferences and decisions
        # matter.
        "plans": turns_that_begin(
            r"ok,? |now |and |so |please |then |also ",
            r"let'?s|let us|let me|we (?:want|need|have to|should)"
            r"|i (?:want|need|have to|am|changed|moved|added)|i'm|i'd like|can we|could we"
            r"|should we|start|begin|new",
        ),
        "makes": turns_that_begin(
            r"ok,? |now |and |so |please |then |also |let's |can you ",
            r"add|write|build|create|draft|set up|generate|implement|make (?:an?|me|the|some)\b"
            r"|design|draw|document|put|save|store|send|deploy|release|ship|publish|commit|test"
            r"|load|read|wire|inject|style|turn on|start|compute|review|regenerate|reset|rebuild"
            r"|upload|install|update",
        ),
        # Something goes wrong, told in somebody's own words; a lesson may be about it.
        "trouble": turns_that_hold(
            r"fail(?:s|ed|ing)?|crash\w*|broken?|breaks|wrong|missing|gone|vanish\w*|hangs?|stuck"
            r"|slow|stutter\w*|dies|died|down|empty|twice|double|undefined|nan|red|ugly|lost|off"
            r"|nothing|refused?|restarts?|isn't|doesn't|don't|can't|cannot|couldn't|not found|still"
            r"|again|since|only at|too (?:large|small|slow|long)|why (?:is|are|do|does)"
        ),
        # Anybody knows what a word means or how a thing is done in general.
        "asks anybody": TurnForm(
            r"\bwhat(?:'s| is| are| does| do) (?:an? |the (?:difference|syntax|meaning"
            r"|time complexity)|\S+ (?:mean|do)\b)|\bdifference between\b|\bhow (?:do|does|can)"
            r" (?:you|i) (?:spell|exit|say|list|grep)\b|\bexplain\b|\btranslate\b"
            r"|\bspell(?:ing)?\b|\bsynonym\b|\bregex\b|\bmean(?:s|ing)? (?:in|by)\b",
            (
                *("what", "difference between", "how ", "explain", "translate", "spell"),
                *("synonym", "regex", "mean"),
            ),
        ),
        # A small change to what is on the screen, or to what was just done.
        "edits": turns_that_begin(
            r"ok |now |and |please |then |also |no,? |yes,? ",
            r"rename|move|remove|delete|undo|revert|format|sort|inline|extract|cast|clone|crop"
            r"|shorter|shorten|bigger|smaller|make it|make the|fix it|use|show|print|count|replace"
            r"|merge|close|increase|scale|halve|round|convert",
        ),
        "goes on": turns_that_begin(
            "",
            r"ok(?:ay)?|yes|yep|yeah|no|nope|nice|cool|great|good|thanks?|thank you|thx|perfect"
            r"|super|go on|go ahead|next|lgtm|done|hm+|ah|aha|oh|haha|lol|wait|works?|looks|sounds"
            r"|fine|hi|hello|hey|bye|never ?mind|right|morning|do it|do that|again|retry",
        ),
        "pasted": TurnForm(
            r"\n.*\n|(?m:^\s*at \S+\(|^\S*(?:error|exception|warning)\b|^\S*(?:panic|fatal|error"
            r"|warning)\b ?[:\[(]|^(?:fail|pass|warn|info|e )|^--- |^=== |^\[(?:info|warn|error)"
            r"|:\d+:\d+)|[{};]\s*$"
        ),
    }


KINDS_OF_TRAITS = {
    "asks anybody": "general_question",
    "edits": "small_edit",
    "goes on": "small_talk",
    "asks here": "of_ours",
}
"""Kinds of turns that phrases of other languages tell too (`text.prompt_phrases`)."""


NEEDED_BY: Mapping[str, tuple[str, ...]] = {
    MAKING: ("plans", "makes"),
    TROUBLE: ("trouble", "pasted"),
    QUESTION: ("asks here",),
}
"""What a kind may be to a turn (`Kind.bears_on`) and the kinds of turns that need it."""


TALK_SIGNALS = (
    "best meaning",
    "best meaning here",
    "best words",
    "prospects",
    "asks",
    "asks here",
    "turn's words",
)
"""What is trusted more or less where memories are turns of talk: people tell of everything."""


class GateSignals(NamedTuple):
    """What search saw of one candidate beside its memory."""

    cosine: float = math.nan  # NaN where nothing has a vector to compare
    z: float = 0.0  # the cosine, in standard deviations above that of unrelated texts here
    bm25: float = 0.0
    likely: float = 0.0  # the ranking's score as log-odds
    few: float = 0.0  # 1 / (1 + memories here / 30): in a small store no word is rare


Signals = Sequence[GateSignals]


class TurnSignals(NamedTuple):
    """What a turn says, as the gate sees it."""

    stems: frozenset[str]
    kinds: Numbers  # 1 or 0 by the names of `turn_forms`


class GateCoefficients(NamedTuple):
    """The coefficients of both scorers, by the names of signals."""

    fits: Numbers  # of one candidate
    opens: Numbers  # of the turn and the best that was found, with a `constant`


def judge_hits(
    hits: Sequence[Hit],
    seen: Signals,
    text: str,
) -> list[Hit]:
    """The hits with the chance that this turn needs them as score, best first, ties by id.

    What others wrote is not in the way of the rest: that is judged as if it were not there.
    """
    if not hits:
        return []
    firm = [place for place, hit in enumerate(hits) if not is_unverified(hit.memory)]
    if len(firm) in (0, len(hits)):
        return weigh_hits(hits, seen, text)
    together = weigh_hits(hits, seen, text)
    found = weigh_hits(
        [hits[n] for n in firm],
        [seen[n] for n in firm],
        text,
    )
    found += [hit for hit in together if is_unverified(hit.memory)]
    return sorted(
        found,
        key=lambda hit: (-hit.score, hit.memory.id),
    )


def weigh_hits(
    hits: Sequence[Hit],
    seen: Signals,
    text: str,
) -> list[Hit]:
    """The same as `judge_hits` for hits that are judged together."""
    turn = read_turn(text)
    memories = [hit.memory for hit in hits]
    by_words_alone = all(math.isnan(one.cosine) for one in seen)
    model = load_gate_models()[by_words_alone]
    bounded = [one._replace(cosine=clip_symmetric(one.cosine, 1.0)) for one in seen]
    signals = correct_bm25_for_small_store(turn, hits, bounded)
    fits = [
        sum_weighted(model.fits, one)
        for one in compute_fit_signals(
            turn,
            memories,
            signals,
        )
    ]
    opens = compute_opening_signals(turn, memories, signals, fits)
    # The best hit's chance is that the turn needs anything; the others stand below it by their fit.
    margin, best = sum_weighted(model.opens, opens), max(fits)
    steepness = 1.0 if by_words_alone else STEEPNESS_WITH_MEANING
    reasons = describe_strongest(model.opens, opens)
    found = []
    for hit, fit in zip(hits, fits, strict=True):
        chance = logistic(margin + steepness * (fit - best))
        found.append(Hit(hit.memory, chance, (*hit.why, f"chance {chance:.2f}{reasons}")))
    return sorted(
        found,
        key=lambda hit: (-hit.score, hit.memory.id),
    )


def correct_bm25_for_small_store(
    turn: TurnSignals,
    hits: Sequence[Hit],
    seen: Signals,
) -> Signals:
    """The signals as if the store were not tiny.

    Where one or two memories are all there is, no word is rare and BM25 is next to nothing,
    whatever is said.
    """
    if len(hits) > TINY_STORE:
        return seen
    corrected = []
    for hit, one in zip(hits, seen, strict=True):
        shared = weigh_stems(turn.stems & stem_memory(hit.memory))
        corrected.append(one._replace(bm25=max(RARE_WORD_BM25 * shared / len(hits), one.bm25)))
    return corrected


def sum_weighted(weights: Numbers, signs: Numbers) -> float:
    """The sum of the signals by their weights; a number that is unknown (NaN) counts nothing."""
    value = sum([weight * signs[name] for name, weight in weights.items()])
    if math.isfinite(value):
        return value
    return sum(
        [weight * signs[name] for name, weight in weights.items() if math.isfinite(signs[name])]
    )


def describe_strongest(weights: Numbers, signs: Numbers) -> str:
    """The signals that spoke most for showing anything, in words; empty if none did."""
    parts = []
    for name, sign in signs.items():
        is_named = name != "constant" and "×" not in name
        if is_named and math.isfinite(sign) and weights[name] * sign > 0:
            parts.append((weights[name] * sign, name))
    parts.sort(reverse=True)
    return f": {', '.join(name for _, name in parts[:MAX_REASONS])}" if parts else ""


def logistic(margin: float) -> float:
    """A chance of 0..1 from its log-odds, which are clipped to ±30."""
    return 1.0 / (1.0 + math.exp(-min(max(margin, -30.0), 30.0)))


def read_turn(text: str) -> TurnSignals:
    """The stems of a turn and what kinds of turn it is."""
    head = text[:MAX_COMPARED_CHARS]
    lower, traits = head.lower(), read_prompt_traits(head)
    kinds = {
        kind: float(form.fits(lower) or KINDS_OF_TRAITS.get(kind) in traits)
        for kind, form in turn_forms().items()
    }
    return TurnSignals(stems_of(head), kinds)


def compute_fit_signals(
    turn: TurnSignals,
    memories: Sequence[Memory],
    seen: Signals,
) -> list[dict[str, float]]:
    """The signals of how well each memory fits a turn, by name."""
    turn_weight = max(weigh_stems(turn.stems), 1.0)
    needs = {name: any(turn.kinds[kind] for kind in kinds) for name, kinds in NEEDED_BY.items()}
    found = []
    for memory, one in zip(memories, seen, strict=True):
        signals = compute_likeness_signals(turn, turn_weight, memory, one)
        bears_on = kind_of(memory.kind).bears_on
        for name, is_needed in needs.items():
            signals[name] = float(is_needed and name in bears_on)
        found.append(signals)
    return found


def compute_likeness_signals(
    turn: TurnSignals,
    asked: float,
    memory: Memory,
    seen: GateSignals,
) -> dict[str, float]:
    """How alike a turn and a memory are, by name; `asked` is the weight of the turn's words."""
    known = stem_memory(memory)
    shared = weigh_stems(turn.stems & known)
    rank = clip_symmetric(seen.likely, MAX_LOG_ODDS)
    words = math.log1p(max(0.0, seen.bm25))
    # Cosine, words and rank mean less where memories are turns of talk: coefficients of their own.
    talk = float(is_conversation_turn(memory))
    fact = 1.0 - talk
    return {
        "meaning": seen.cosine * fact,
        "meaning in talk": seen.cosine * talk,
        "meaning here": clip_symmetric(seen.z, MAX_Z),
        "words": words * fact,
        "words in talk": words * talk,
        "rank": rank * fact,
        "rank in talk": rank * talk,
        "shared words": math.log1p(shared),
        "share of the turn": shared / asked,
        "share of the memory": shared / max(weigh_stems(known), 1.0),
        "length": math.log1p(len(known)),
    }


def compute_opening_signals(
    turn: TurnSignals,
    memories: Sequence[Memory],
    seen: Signals,
    fits: Sequence[float],
) -> dict[str, float]:
    """The signals of whether a turn needs any memory, by name; `fits` is how well each one fits."""
    best, second = (*sorted(fits, reverse=True)[:2], -math.inf)[:2]
    talk = sum(map(is_conversation_turn, memories)) / len(memories)
    signs = {
        "constant": 1.0,
        "best fit": best,
        "lead": min(best - second, MAX_LEAD),
        "best meaning": max(one.cosine for one in seen),
        "best meaning here": clip_symmetric(max(one.z for one in seen), MAX_Z),
        "best words": math.log1p(max(0.0, *(one.bm25 for one in seen), 0.0)),
        "prospects": clip_symmetric(max(one.likely for one in seen), MAX_LOG_ODDS),
        "few memories": seen[0].few,
        "talk": talk,
        "turn's words": math.log1p(weigh_stems(turn.stems)),
        **turn.kinds,
    }
    return {**signs, **{f"{name} × talk": signs[name] * talk for name in TALK_SIGNALS}}


def stem_memory(memory: Memory) -> frozenset[str]:
    """The stems of a memory's title and text."""
    return stems_of(f"{memory.title} {memory.text}".lstrip()[:MAX_COMPARED_CHARS])


def clip_symmetric(value: float, most: float) -> float:
    """The number within ±`most`; NaN stays."""
    return min(max(value, -most), most)


def weigh_stems(stems: frozenset[str]) -> float:
    """How much some stems say together: one each, less for what nearly every session says."""
    return len(stems) - (1.0 - COMMON_WORD_WEIGHT) * len(stems & domain_stop_stems())


@lru_cache(maxsize=1)
def load_gate_models() -> tuple[GateCoefficients, GateCoefficients]:
    """The coefficients that come with this package: (with embedding, by words alone)."""
    import json

    # A cold `recall` is not judged and does not wait for this.
    from pathlib import Path

    data = json.loads(Path(__file__).with_name("relevance_gate.json").read_text("utf-8"))
    return GateCoefficients(**data["with meaning"]), GateCoefficients(**data["by words"])
