"""What the rules are compared with: the six rules that came before them, and keeping every sentence
of the user.
"""

import re

from reverie.extraction.rule_extraction import CandidateLesson
from reverie.text.injection_fence import remove_injections
from reverie.text.own_sentences import split_sentences

SIX = (
    (
        "remember",
        r"^(?:(?:please|and|also|so),? )*(?:remember|note|keep in mind|don'?t forget|do not forget)"
        r"(?: that|:|,| this:)\s*(?P<what>.+)$",
        "fact",
    ),
    (
        "from now on",
        r"^(?:from now on|going forward|in (?:the )?future)[,:]?\s+(?P<what>.+)$",
        "preference",
    ),
    ("never", r"^(?:(?:please|and),? )*(?:never|don'?t ever|do not ever)\s+.+$", "negative"),
    ("always", r"^(?:(?:please|and),? )*always\s+.+$", "preference"),
    (
        "prefer",
        r"^(?:i|we)(?:'d| would)?(?: really| strongly)? (?:prefer|like to use|want you to use)\s+.+$",
        "preference",
    ),
    (
        "correction",
        r"^(?:no|nope|wrong|actually)[,.:;!-]+\s+(?P<what>(?:use|it'?s|it is|we use|the)\s+.+)$",
        "correction",
    ),
)
_SIX = tuple(
    (name, re.compile(pattern, re.IGNORECASE | re.DOTALL), kind) for name, pattern, kind in SIX
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|\n+")
_CODE = re.compile(r"```.*?```", re.DOTALL)

Messages = tuple[tuple[str, str], ...]


def six_rules(messages: Messages) -> list[CandidateLesson]:
    """As they were."""
    found = []
    for place, (role, text) in enumerate(messages):
        if role != "user":
            continue
        for sentence in _SENTENCE.split(_CODE.sub(" ", remove_injections(text))):
            said = sentence.strip(" \t-*•>")
            if not 8 <= len(said) <= 400 or said.endswith("?"):
                continue
            for name, pattern, kind in _SIX:
                if match := pattern.match(said):
                    provenance = "user_corrected" if kind == "correction" else "user_stated"
                    found.append(
                        CandidateLesson(
                            match.groupdict().get("what") or said,
                            kind,
                            provenance,
                            name,
                            place,
                            place,
                        )
                    )
                    break
    return found


def every_sentence(messages: Messages) -> list[CandidateLesson]:
    """Everything that the user says."""
    return [
        CandidateLesson(sentence, "fact", "user_stated", "all", place, place)
        for place, (role, text) in enumerate(messages)
        if role == "user"
        for line in text.split("\n")
        for sentence in split_sentences(line)
    ]
