"""What two memories are to each other, as a model sees it, and one text for two that say the same.

A `PairOpinion` has the fields of the verdict of the rules in `reconciliation.paraphrase`. It is
asked for only where rules are unsure. A merged text must keep every number, identifier, name and
path of both, and be about as long; otherwise it is refused and nothing is merged. The relation
between two memories that came up together is a suggestion.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reverie.core.model import Memory
from reverie.llm.language_model import BadAnswer, LlmRequest
from reverie.llm.prompt_format import (
    FENCE_RULES,
    fence_rows,
    read_json_object,
    read_line,
    require_choice,
    require_share,
    require_text,
)
from reverie.text.tokenization import shorten_line

RELATIONS = ("same", "near", "contradicts", "updates", "apart")  # those that the rules know
LINKS = ("relates_to", "contradicts", "none")
MAX_SHOWN_CHARS, MAX_WHY_CHARS, MAX_MERGED_CHARS = 2_000, 300, 4_000
# Confidence of the rules from which no model is asked.
CERTAIN_CONFIDENCE = 0.9
UNSURE_RELATIONS = ("near", "contradicts")

COMPARE = (
    "You compare two notes about the same project or person; the second is newer. Say what the "
    'newer is to the older: "same" (says nothing else), "near" (nearly the same; neither makes the '
    'other wrong), "updates" (the newer is true now and the older was true before), "contradicts" '
    '(both cannot be true, and it is not plain that the newer replaces the older), "apart" (about '
    "different things, or both true side by side). Two values of different things, "
    f"versions, environments or people are apart. When unsure say near or apart. {FENCE_RULES}\n"
    'Form: {"relation": "…", "confidence": 0 to 1, "why": "one sentence"}'
)
MERGE = (
    "You write one note that says everything that the notes below say, and nothing else. Keep "
    "every number, name, "
    f"identifier and path letter by letter. If they disagree, say both. {FENCE_RULES}\n"
    'Form: {"text": "…"}'
)
RELATE = (
    "You say whether two notes that came up together belong together: thinking of one should bring "
    "up the other "
    f'("relates_to"), both cannot be true ("contradicts"), or "none". {FENCE_RULES}\n'
    'Form: {"relation": "…", "confidence": 0 to 1, "why": "one sentence"}'
)


class PairOpinion(NamedTuple):
    """The relation of the newer memory to the older one, its confidence (0..1), and the reason."""

    relation: str
    confidence: float
    why: str


def is_unsure(relation: str, confidence: float) -> bool:
    """True if the rules' own verdict is worth a question: near or contradicting, and not certain.

    However low the confidence is: "near" with little of it is what rules say where they had no
    better word.
    """
    return relation in UNSURE_RELATIONS and confidence < CERTAIN_CONFIDENCE


def build_comparison_request(old: Memory, new: Memory) -> LlmRequest:
    """The question what `new` is to `old`."""
    return build_pair_request("reconcile", COMPARE, {"older": old, "newer": new})


def read_comparison(text: str) -> PairOpinion:
    """The opinion of an answer."""
    return read_opinion(text, RELATIONS)


def build_relation_request(first: Memory, second: Memory) -> LlmRequest:
    """The question how two memories belong together."""
    return build_pair_request("relate", RELATE, {"first": first, "second": second})


def read_relation(text: str) -> PairOpinion:
    """The relation of an answer; "none" is one."""
    return read_opinion(text, LINKS)


def build_pair_request(
    task: str,
    instructions: str,
    pair: Mapping[str, Memory],
) -> LlmRequest:
    """A question about two memories, each shown under its name."""
    rows = [
        {
            "which": name,
            "kind": memory.kind,
            "note": shorten_line(memory.text, MAX_SHOWN_CHARS),
        }
        for name, memory in pair.items()
    ]
    return LlmRequest(task, instructions, fence_rows(rows), max_tokens=500)


def read_opinion(text: str, allowed: Sequence[str]) -> PairOpinion:
    """The opinion of an answer; its relation is one of `allowed`, else BadAnswer."""
    found = read_json_object(text, "relation")
    return PairOpinion(
        require_choice(found["relation"], allowed, "relation"),
        require_share(found.get("confidence", 0.5)),
        read_line(found.get("why"), MAX_WHY_CHARS),
    )


def build_merge_request(texts: Sequence[str]) -> LlmRequest:
    """The question for one text that says what all of these say."""
    return LlmRequest(
        "merge",
        MERGE,
        fence_rows({"note": text} for text in texts),
        max_tokens=2_000,
    )


def read_merged_text(text: str, texts: Sequence[str]) -> str:
    """The merged text, if it lost and added nothing that can be checked; else BadAnswer."""
    merged = require_text(read_json_object(text, "text")["text"], MAX_MERGED_CHARS)
    before = frozenset().union(*map(extract_particulars, texts))
    after = extract_particulars(merged)
    # Numbers, names and paths can be checked; whether the rest says the same, nobody can tell here.
    lost, added = sorted(before - after), sorted(after - before)
    if lost:
        raise BadAnswer(f"the merged text lost {shorten_line(', '.join(lost), 100)}")
    if added:
        raise BadAnswer(f"the merged text made up {shorten_line(', '.join(added), 100)}")
    # What says the same need not be longer than both; 40 characters join two short ones.
    if len(merged) > 2 * sum(map(len, texts)) + 40:
        raise BadAnswer("the merged text is much longer than what it replaces")
    return merged


_PARTICULAR = re.compile(
    r"`[^`\n]+`|[\w./:@#-]*(?:\d|[_/@:.#-](?=\w))[\w./:@#-]*|\w+[A-Z]\w*|[A-Z]\w+"
)
_FIRST_WORD = re.compile(r"(?:^|[.!?:]\s+|[\"'(\n])\s*([A-Z][a-z]+)\b")


def extract_particulars(text: str) -> frozenset[str]:
    """The numbers, identifiers, paths and names of a text, lower-case.

    A capital that begins a sentence makes no name.
    """
    opening = {match.start(1) for match in _FIRST_WORD.finditer(text)}
    found = set()
    for match in _PARTICULAR.finditer(text):
        word = match.group().strip("`").strip(".,:;-#")
        # A capital that begins a sentence makes no name of a plain word.
        plain_start = match.start() in opening and re.fullmatch(r"[A-Z][a-z]+", word)
        if word and not plain_start and any(ch.isalnum() for ch in word):
            found.add(word.lower())
    return frozenset(found)
