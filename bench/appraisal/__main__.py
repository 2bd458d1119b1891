"""`python -m bench.appraisal`: precision and recall of the offline appraisal, also on sentences it
was not written for.

VADER (Hutto & Gilbert, 2014) is a lexicon of moods for social media, at the usual threshold of
±0.05 and at ±0.4; the keyword list is what one writes in five minutes. `--list` prints what ours
gets wrong where the rules were written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec

from bench.appraisal.cases import AFRESH, HELD_OUT, SEEN, TRICKY
from bench.common import save, table
from reverie.memory.emotion_detection import detect_emotion

Teller = Callable[[str], str]
PLEASING = ("joy", "relief", "satisfaction")
GOOD = re.compile(
    r"\b(?:thanks|thank you|great|awesome|perfect|love|excellent|amazing|nice|finally|works)\b",
    re.I,
)
BAD = re.compile(
    r"\b(?:again|still|wrong|broken|hate|terrible|stupid|annoying|damn|wtf|useless|fails?|error)\b",
    re.I,
)


def ours(text: str) -> str:
    """By the rules of `reverie.memory.emotion_detection`."""
    feeling = detect_emotion(text)
    return (
        "neither" if feeling is None else "pleased" if feeling.emotion in PLEASING else "displeased"
    )


def keywords(text: str) -> str:
    """By words of a mood."""
    return "displeased" if BAD.search(text) else "pleased" if GOOD.search(text) else "neither"


def vader(least: float) -> Teller:
    """By VADER's compound score."""
    analyzer = import_module("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()

    def tell(text: str) -> str:
        compound = analyzer.polarity_scores(text)["compound"]
        return "pleased" if compound >= least else "displeased" if compound <= -least else "neither"

    return tell


def measured(tell: Teller, cases: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Precision and recall of both feelings together (the right one must be told), and false alarms
    among the rest.
    """
    told = [(tell(text), label) for text, label in cases]
    claimed = [pair for pair in told if pair[0] != "neither"]
    felt = [pair for pair in told if pair[1] != "neither"]
    calm = [pair for pair in told if pair[1] == "neither"]
    right = sum(one == label for one, label in claimed)
    return {
        "precision": right / max(1, len(claimed)),
        "recall": right / max(1, len(felt)),
        "false_alarms": sum(one != "neither" for one, _ in calm) / max(1, len(calm)),
    }


def main() -> None:
    """Measure, print, keep."""
    tellers: dict[str, Teller] = {"reverie": ours, "keywords": keywords}
    if find_spec("vaderSentiment"):
        tellers |= {"VADER ±0.05": vader(0.05), "VADER ±0.4": vader(0.4)}
    parts = {"held out": HELD_OUT, "seen": SEEN, "tricky": TRICKY, "afresh": AFRESH}
    result = {
        part: {name: measured(tell, cases) for name, tell in tellers.items()}
        for part, cases in parts.items()
    }
    for part, figures in result.items():
        print(f"\n{part}: {len(parts[part])} sentences")
        table(
            [[name, *values.values()] for name, values in figures.items()],
            ["", "precision", "recall", "false alarms"],
        )
    if "--list" in sys.argv:
        missed = [(text, label) for text, label in (*SEEN, *TRICKY) if ours(text) != label]
        print(*(f"{label} but {ours(text)}: {text}" for text, label in missed), sep="\n")
    save("appraisal", {"sentences": {part: len(cases) for part, cases in parts.items()}, **result})


if __name__ == "__main__":
    main()
