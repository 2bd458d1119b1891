"""What a conversation teaches, found by rules: no model, no clock, no store; messages in, lessons
out.

Three tables and one look at errors. `words` tells a person's own sentences from what they paste;
`rules` says which of them ask to be kept, and which of those must not be; `signs` reads files, tags
and triggers off them; `fixes` learns from commands that failed. Only the user's own sentences
count; what Reverie itself put into the conversation never does (CC-61, CC-62); the one thing
learned from tools is what made an error go away.

What is not kept although a rule asked for it is returned too, with the reason, so that the junk
rate can be shown. How well this works is measured: `python -m bench.extraction`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reverie.activity.error_lessons import files_of, fixes_in
from reverie.core.kinds import INTENTION
from reverie.extraction.extraction_rules import REFUSALS, RULES, STAND, Refusal, Rule
from reverie.extraction.tool_families import replaced_in
from reverie.memory.reminder_phrases import Later, later_in
from reverie.text.forbidden_acts import spurned_in
from reverie.text.injection_fence import without_injections
from reverie.text.own_sentences import sentences, words_of
from reverie.text.text_signals import files_in, tags_for, triggers_in

LONGEST = 400  # characters of one lesson; longer sentences are pasted text, not wishes
SHORTEST = 8
ABOUT = 160  # characters of what was being discussed that are kept beside a lesson (B67)
WORTH = 200  # characters of a conversation below which it is not looked through for fixes (CC-62)
MOST_HEAD = 120  # characters before a comma that are kept with what follows it
PASSING = "passing state"
DEEP = 2  # rules within rules: "note that from now on …"

BECAUSE = {
    "user_corrected": "the user put the agent right",
    "user_stated": "the user said so",
    "observed": "seen in the session: the command failed, this was done, the same command went well",
}
"""Why something is believed as far as it is (B68)."""


class Found(NamedTuple):
    """Something said or seen that is worth keeping. `first` and `last` are places in the list of
    messages.
    """

    text: str
    kind: str
    provenance: str
    rule: str
    first: int = 0
    last: int = 0
    about: str = ""  # what was being discussed
    files: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    personal: bool = False  # about the user, wherever they work
    explicit: bool = False  # asked for, not only said: holds even after the same was forgotten
    later: Later = Later("")  # of what is to be done later: when

    @property
    def tags(self) -> tuple[str, ...]:
        """What its files say about it."""
        return tags_for(self.files)

    @property
    def details(self) -> dict[str, Any]:
        """Why it was taken and what was being discussed, to be kept beside it."""
        said = {"rule": self.rule, "because": BECAUSE[self.provenance]}
        return {**said, "about": self.about} if self.about else said


class Rejected(NamedTuple):
    """Something that a rule asked for and that is not kept, and why not."""

    text: str
    reason: str
    rule: str = ""
    place: int = 0


class Gleaned(NamedTuple):
    """What some messages teach, in order, and what was looked at and left."""

    found: tuple[Found, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    waiting: tuple[int, ...] = ()  # places of failures that no success has followed yet


_FILLERS = re.compile(
    r"^(?:(?:ok(?:ay)?|k+|yeah|yep|yes|yup|also|btw|by the way|and|but|so|plus|hey|hi|oh|ah+|aha|exactly|well|great|"
    r"thanks|"
    r"thx|cool|perfect|nice|good|sweet|lgtm|hm+|ugh|whoa|wait|look|again|anyway|anyhow|one more thing|another thing|"
    r"one "
    r"thing|sure|alright|got it|works|lol|right|please|pls|plz|cause|because)(?:[,:;.!–—-]+\s*|\s+))+",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"(?:[,;]|\s[-–—]|:)\s+(?:(?:and|but|so|also|btw|please|pls)\s+)*|\s+(?:and|but|so|cause|"
    r"because)\s+",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"^(?:no|nope|nah|wrong|not quite|incorrect|that'?s (?:wrong|not right|incorrect|not true))"
    r"(?:\W*$|[,.:;!]|\s+(?:not|we|it|it'?s|use|that|the|you|please|don'?t)\b)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"^(?:use|it|they|because|since|that|only|models?)\b(?!.*\?)", re.IGNORECASE)
_STATES = re.compile(
    r"\b(?:is|are|has|have|it'?s|they'?re|that'?s|we'?re|we)\b(?!.*\?)", re.IGNORECASE
)
_REQUEST_AFTER = re.compile(
    r"(?:,|;|\s[-–—])\s+(?:(?:and|but|so|now|then|also) )?(?:(?:can|could|would|will) you|"
    r"i'?m (?:wondering|"
    r"hoping|unsure|not sure|curious)|how (?:can|do|should) i|what do you)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_TICKED = re.compile(r"`([^`\n]{2,60})`")
_BRACKETED = re.compile(r"\[\w{1,60} \{.{0,4000}?\}\]", re.DOTALL)

_Compiled = tuple[tuple[Rule, re.Pattern[str]], ...]
_RULES: _Compiled = tuple(
    (rule, re.compile(rule.pattern, re.IGNORECASE | re.DOTALL)) for rule in RULES
)
_REFUSALS: tuple[tuple[Refusal, re.Pattern[str]], ...] = tuple(
    (refusal, re.compile(refusal.pattern, re.IGNORECASE | re.DOTALL)) for refusal in REFUSALS
)


class Turn(NamedTuple):
    """What a sentence stands in: the agent's words before it, and whether the user has just said
    no.
    """

    before: str = ""
    about: str = ""  # the last thing that the agent said to the user
    place_before: int | None = None
    denied: bool = False


def gleaned(messages: Sequence[tuple[str, str]], *, fixes: bool = True) -> Gleaned:
    """What these messages (role, text) teach. With `fixes`, errors that were overcome too."""
    found: list[Found] = []
    rejected: list[Rejected] = []
    turn = Turn()
    for place, (role, text) in enumerate(messages):
        if role == "user":
            said = from_user(text, place, turn)
            found += said.found
            rejected += said.rejected
        elif role == "assistant" and text.strip():
            turn = Turn(text, topic(text) or turn.about, place)
    waiting: list[int] = []
    if fixes and sum(len(text) for _, text in messages) >= WORTH:
        fixed, waiting = fixes_in(messages)
        found += [
            lesson
            for fix in fixed
            if (
                lesson := Found(
                    fix.text,
                    "learning",
                    "observed",
                    "error and fix",
                    fix.first,
                    fix.last,
                    files=files_of(fix),
                )
            )
            and len(lesson.text) <= 2 * LONGEST
        ]
    return Gleaned(tuple(sorted(found, key=lambda f: f.last)), tuple(rejected), tuple(waiting))


def from_user(text: str, place: int, turn: Turn) -> Gleaned:
    """What one message of the user teaches, sentence by sentence."""
    words = words_of(text)
    found: list[Found] = []
    rejected: list[Rejected] = []
    about = turn.about or (topic(words.own[0]) if len(words.own) > 1 else "")
    spent, open_denial = -1, False
    for n, sentence in enumerate(words.own):
        if n == spent:
            continue
        denied = _DENIAL.match(sentence) is not None or open_denial
        judged = judge(sentence, turn._replace(denied=denied))
        if isinstance(judged, Rejected):
            rejected.append(judged._replace(place=place))
        # "no." and then what is right
        open_denial = judged is None and _DENIAL.match(sentence) is not None
        if isinstance(judged, Found):
            if n + 1 < len(words.own) and goes_on(judged, words.own[n + 1]):
                judged, spent = joined(judged, words.own[n + 1]), n + 1
            found.append(placed(judged, place, turn, about))
    rejected += [
        Rejected(one[:LONGEST], "quoted", rule.name, place)
        for one in words.quoted
        if (rule := fitting(one, turn)) is not None
    ]
    return Gleaned(tuple(found), tuple(rejected))


def judge(sentence: str, turn: Turn) -> Found | Rejected | None:
    """A lesson, or why it is none although a rule asked for it; None where no rule did."""
    passing: Rejected | None = None
    sentence = _REQUEST_AFTER.sub("", sentence)  # "we chose sqlite, can you set it up?"
    for text in candidates(sentence):
        fit = first_fit(text, turn, inner=text is not sentence)
        if fit is None:
            continue
        rule, what = fit
        if rule.kind == INTENTION:
            return postponed(sentence, text, rule, what)
        if rule.inner and text == what:
            what = with_head(sentence, what)
        if reason := refused(sentence, text, rule, what):
            passing = passing or Rejected(what[:LONGEST], reason, rule.name)
            if (
                reason != PASSING
            ):  # a question is one to its end; after "it is slow but" a fact may follow
                return passing
            continue
        return Found(
            capital(what),
            rule.kind,
            rule.provenance,
            rule.name,
            personal=rule.personal,
            explicit=rule.explicit,
            triggers=called_by(rule.kind, what),
            files=files_in(sentence),
        )
    return passing


def called_by(kind: str, what: str) -> tuple[str, ...]:
    """What calls a lesson up: what it forbids, or the program that it sets aside for another."""
    if kind == "negative":
        return triggers_in(what)
    return spurned_in(what) if kind in ("preference", "decision", "correction") else ()


def postponed(sentence: str, text: str, rule: Rule, what: str) -> Found | Rejected:
    """What is to be done later, or why it is not kept."""
    if reason := refused(sentence, text, rule, what):
        return Rejected(what[:LONGEST], reason, rule.name)
    later = later_in(what) or Later(what)
    return Found(
        capital(later.text),
        rule.kind,
        rule.provenance,
        rule.name,
        explicit=rule.explicit,
        files=files_in(sentence),
        later=later,
    )


def fitting(sentence: str, turn: Turn) -> Rule | None:
    """The rule that a sentence would fit, had its writer said it."""
    fit = (
        first_fit(_FILLERS.sub("", sentence), turn, inner=False)
        if SHORTEST <= len(sentence) <= LONGEST
        else None
    )
    return fit[0] if fit else None


def candidates(sentence: str) -> Iterator[str]:
    """The sentence without fillers in front, then what follows each of its commas and joints."""
    if len(sentence) > 4 * LONGEST:
        return
    yield sentence
    if (rest := _FILLERS.sub("", sentence)) != sentence:
        yield rest
    for joint in _JOINT.finditer(sentence):
        if rest := _FILLERS.sub("", sentence[joint.end() :]):
            yield rest


def with_head(sentence: str, what: str) -> str:
    """What follows a comma, with what stands before it where that says what it is about: "the name
    is personal data, don't ever print it".
    """
    start = sentence.find(what)
    head = _FILLERS.sub("", sentence[:start]) if start > 0 else ""
    states = (
        SHORTEST < len(head) <= MOST_HEAD
        and _STATES.search(head)
        and not any(pattern.fullmatch(head.strip(" ,;:-")) for _, pattern in _REFUSALS)
    )
    return head + what if states else what


def first_fit(text: str, turn: Turn, *, inner: bool, deep: int = 0) -> tuple[Rule, str] | None:
    """The first rule that a text fits, and the part of it to keep."""
    if len(text) < SHORTEST:
        return None
    for rule, pattern in _RULES:
        if rule.denied and not (turn.denied or (turn.before and rule.name == "instead")):
            continue
        if match := pattern.fullmatch(text[: 4 * LONGEST]):
            what = (match.groupdict().get("what") or text).strip()
            if rule.kind == INTENTION and later_in(what) is None:
                continue
            if (
                rule.again
                and deep < DEEP
                and (closer := first_fit(_FILLERS.sub("", what), turn, inner=inner, deep=deep + 1))
            ):
                return closer[0]._replace(explicit=closer[0].explicit or rule.explicit), closer[1]
            return rule, what
    return None


def refused(sentence: str, text: str, rule: Rule, what: str) -> str:
    """Why a sentence that fits a rule is not kept; empty if it is."""
    if len(what) > LONGEST:
        return "too long"
    if len(what) < SHORTEST:
        return "too short"
    bare = _FILLERS.sub("", sentence)
    for refusal, pattern in _REFUSALS:
        if refusal.rules and rule.name not in refusal.rules:
            continue
        if rule.kind == INTENTION and refusal.reason not in STAND:
            continue
        if (
            pattern.fullmatch(text)
            or pattern.fullmatch(what)
            or (not refusal.rules and pattern.fullmatch(bare))
        ):
            return refusal.reason
    return ""


def goes_on(found: Found, following: str) -> bool:
    """Whether the next sentence belongs to a prohibition or correction: why, or what
    to do instead.
    """
    return (
        found.kind in ("negative", "correction")
        and _GOES_ON.match(following) is not None
        and len(found.text) + len(following) < LONGEST // 2
    )


def joined(found: Found, following: str) -> Found:
    """Both sentences as one lesson."""
    return found._replace(
        text=f"{found.text.rstrip()}{'' if found.text.rstrip()[-1:] in '.!?' else '.'} {following}",
        files=tuple(dict.fromkeys((*found.files, *files_in(following)))),
    )


def placed(found: Found, place: int, turn: Turn, about: str) -> Found:
    """The lesson with where it was said and about what; a correction names what it corrects, where
    that is plain.
    """
    if found.provenance != "user_corrected" or turn.place_before is None:
        return found._replace(first=place, last=place, about=about)
    return found._replace(
        text=self_contained(found.text, turn.before),
        first=turn.place_before,
        last=place,
        about=about,
    )


def self_contained(text: str, before: str) -> str:
    """A correction that can be understood alone: what the agent did is added where exactly one
    thing can be meant.
    """
    if re.search(r"\b(?:not|instead of|rather than|dropped)\b", text, re.IGNORECASE):
        return text
    if re.match(r"use\b|.*\binstead[.!]?$", text, re.IGNORECASE):
        if other := replaced_in(text, before):
            end = text[-1] if text[-1] in ".!" else ""
            head = re.sub(r"(?:\s+instead)?[\s.!]*$", "", text, flags=re.IGNORECASE)
            return fitted(f"{head} instead of {other}{end}", text)
        acts = list(
            dict.fromkeys(
                _TICKED.findall(before) or re.findall(r"\"command\": \"([^\"\\]{2,60})\"", before)
            )
        )
        if len(acts) == 1 and acts[0].lower() not in text.lower():
            head = re.sub(r"\s+instead[.!]?$", "", text).rstrip(" .")
            return fitted(f"{head} instead of {acts[0]}", text)
    if re.match(r"(?:it'?s|it is|they'?re|should be|it )", text, re.IGNORECASE) and (
        said := topic(before)
    ):
        return fitted(f"{text.rstrip()} (about: “{said}”)", text)
    return text


def fitted(longer: str, text: str) -> str:
    """The longer text, if it is not too long."""
    return longer if len(longer) <= LONGEST else text


def topic(text: str) -> str:
    """The last thing somebody said, in at most ABOUT characters: what was being discussed."""
    spoken = [
        one
        for one in sentences(" ".join(without_injections(_BRACKETED.sub(" ", text)).split()))
        if one
    ]
    if not spoken:
        return ""
    last = (
        spoken[-1]
        if len(spoken[-1]) >= SHORTEST or len(spoken) == 1
        else f"{spoken[-2]} {spoken[-1]}"
    )
    return last if len(last) <= ABOUT else last[: ABOUT - 1].rsplit(" ", 1)[0].rstrip() + "…"


def capital(text: str) -> str:
    """With a capital at the beginning, unless it begins with a name in small letters
    such as `npm`.
    """
    return text[0].upper() + text[1:]


__all__ = [
    "ABOUT",
    "LONGEST",
    "SHORTEST",
    "WORTH",
    "Found",
    "Gleaned",
    "Rejected",
    "gleaned",
    "without_injections",
]
