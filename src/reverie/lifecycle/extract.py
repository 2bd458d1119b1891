"""What a person asks to be remembered, in so many words: a few rules of high precision.

Only the user's own sentences count, only explicit requests and standing wishes, and never text that Reverie itself put
into the conversation. Everything subtler needs more evidence than one sentence and is left to later passes.
"""

import re
from dataclasses import dataclass

from reverie.window import FENCE

LONGEST = 400     # characters of one sentence; longer ones are pasted text, not wishes
SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Found:
    """Something said that is worth keeping."""

    text: str
    kind: str
    provenance: str
    rule: str
    explicit: bool = False     # asked for, not only said: holds even after the same was forgotten


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence that fits `pattern` is kept as `kind`; group `what`, where there is one, is the part to keep."""

    name: str
    pattern: str
    kind: str
    provenance: str = "user_stated"
    explicit: bool = False


RULES = (
    Rule("remember", r"^(?:(?:please|and|also|so),? )*(?:remember|note|keep in mind|don'?t forget|do not forget)"
                     r"(?: that|:|,| this:)\s*(?P<what>.+)$", "fact", explicit=True),
    Rule("from now on", r"^(?:from now on|going forward|in (?:the )?future)[,:]?\s+(?P<what>.+)$", "preference",
         explicit=True),
    Rule("never", r"^(?:(?:please|and),? )*(?:never|don'?t ever|do not ever)\s+.+$", "negative"),
    Rule("always", r"^(?:(?:please|and),? )*always\s+.+$", "preference"),
    Rule("prefer", r"^(?:i|we)(?:'d| would)?(?: really| strongly)? (?:prefer|like to use|want you to use)\s+.+$",
         "preference"),
    Rule("correction", r"^(?:no|nope|wrong|actually)[,.:;!-]+\s+(?P<what>(?:use|it'?s|it is|we use|the)\s+.+)$",
         "correction", "user_corrected"),
)
_RULES = tuple((rule, re.compile(rule.pattern, re.IGNORECASE | re.DOTALL)) for rule in RULES)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|\n+")
_INJECTED = re.compile(rf"<{FENCE}>.*?(?:</{FENCE}>|\Z)", re.DOTALL)    # a long message may be cut inside the fence
_CODE = re.compile(r"```.*?```", re.DOTALL)


def without_injections(text: str) -> str:
    """The text without what Reverie put there: memory must not learn from its own echo (CC-62)."""
    return _INJECTED.sub(" ", text) if FENCE in text else text


def found_in(text: str) -> list[Found]:
    """Everything in a user's message that asks to be kept, in order."""
    own = _CODE.sub(" ", without_injections(text))
    return [hit for sentence in _SENTENCE.split(own) if (hit := judged(sentence.strip(" \t-*•>")))]


def judged(sentence: str) -> Found | None:
    """The first rule that a sentence fits. A question asks, it does not tell."""
    if not SHORTEST <= len(sentence) <= LONGEST or sentence.endswith("?"):
        return None
    for rule, pattern in _RULES:
        if match := pattern.match(sentence):
            what = match.groupdict().get("what") or sentence
            return Found(what[0].upper() + what[1:], rule.kind, rule.provenance, rule.name, rule.explicit)
    return None
