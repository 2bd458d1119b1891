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

from reverie.activity.error_lessons import find_error_fixes, list_fix_files
from reverie.core.kinds import INTENTION
from reverie.extraction.extraction_rules import (
    INTENTION_REFUSALS,
    REFUSALS,
    RULES,
    ExtractionRule,
    RefusalRule,
)
from reverie.extraction.tool_families import find_replaced_tool
from reverie.memory.reminder_phrases import ReminderPhrase, parse_reminder_phrase
from reverie.text.forbidden_acts import find_program_triggers
from reverie.text.injection_fence import remove_injections
from reverie.text.own_sentences import separate_sentences, split_sentences
from reverie.text.text_signals import derive_tags, derive_triggers, find_file_names

MAX_LESSON_CHARS = 400  # characters of one lesson; longer sentences are pasted text, not wishes
MIN_LESSON_CHARS = 8
MAX_TOPIC_CHARS = 160  # characters of what was being discussed that are kept beside a lesson (B67)
MIN_CONVERSATION_CHARS = (
    200  # characters of a conversation below which it is not looked through for fixes (CC-62)
)
MAX_HEAD_CHARS = 120  # characters before a comma that are kept with what follows it
PASSING_STATE = "passing state"
MAX_RULE_DEPTH = 2  # rules within rules: "note that from now on …"

PROVENANCE_REASONS = {
    "user_corrected": "the user put the agent right",
    "user_stated": "the user said so",
    "observed": "seen in the session: the command failed, this was done, the same command went well",
}
"""Why something is believed as far as it is (B68)."""


class CandidateLesson(NamedTuple):
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
    later: ReminderPhrase = ReminderPhrase("")  # of what is to be done later: when

    @property
    def tags(self) -> tuple[str, ...]:
        """What its files say about it."""
        return derive_tags(self.files)

    @property
    def details(self) -> dict[str, Any]:
        """Why it was taken and what was being discussed, to be kept beside it."""
        said = {"rule": self.rule, "because": PROVENANCE_REASONS[self.provenance]}
        return {**said, "about": self.about} if self.about else said


class RejectedCandidate(NamedTuple):
    """Something that a rule asked for and that is not kept, and why not."""

    text: str
    reason: str
    rule: str = ""
    place: int = 0


class ExtractionResult(NamedTuple):
    """What some messages teach, in order, and what was looked at and left."""

    lessons: tuple[CandidateLesson, ...] = ()
    rejected: tuple[RejectedCandidate, ...] = ()
    open_failures: tuple[int, ...] = ()  # places of failures that no success has followed yet


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

_Compiled = tuple[tuple[ExtractionRule, re.Pattern[str]], ...]
_RULES: _Compiled = tuple(
    (rule, re.compile(rule.pattern, re.IGNORECASE | re.DOTALL)) for rule in RULES
)
_REFUSALS: tuple[tuple[RefusalRule, re.Pattern[str]], ...] = tuple(
    (refusal, re.compile(refusal.pattern, re.IGNORECASE | re.DOTALL)) for refusal in REFUSALS
)


class SentenceContext(NamedTuple):
    """What a sentence stands in: the agent's words before it, and whether the user has just said
    no.
    """

    before: str = ""
    about: str = ""  # the last thing that the agent said to the user
    place_before: int | None = None
    denied: bool = False


def extract_lessons(messages: Sequence[tuple[str, str]], *, fixes: bool = True) -> ExtractionResult:
    """What these messages (role, text) teach. With `fixes`, errors that were overcome too."""
    found: list[CandidateLesson] = []
    rejected: list[RejectedCandidate] = []
    turn = SentenceContext()
    for place, (role, text) in enumerate(messages):
        if role == "user":
            said = extract_user_lessons(text, place, turn)
            found += said.lessons
            rejected += said.rejected
        elif role == "assistant" and text.strip():
            turn = SentenceContext(text, summarize_topic(text) or turn.about, place)
    waiting: list[int] = []
    if fixes and sum(len(text) for _, text in messages) >= MIN_CONVERSATION_CHARS:
        fixed, waiting = find_error_fixes(messages)
        found += [
            lesson
            for fix in fixed
            if (
                lesson := CandidateLesson(
                    fix.text,
                    "learning",
                    "observed",
                    "error and fix",
                    fix.first,
                    fix.last,
                    files=list_fix_files(fix),
                )
            )
            and len(lesson.text) <= 2 * MAX_LESSON_CHARS
        ]
    return ExtractionResult(
        tuple(sorted(found, key=lambda f: f.last)), tuple(rejected), tuple(waiting)
    )


def extract_user_lessons(text: str, place: int, turn: SentenceContext) -> ExtractionResult:
    """What one message of the user teaches, sentence by sentence."""
    words = separate_sentences(text)
    found: list[CandidateLesson] = []
    rejected: list[RejectedCandidate] = []
    about = turn.about or (summarize_topic(words.own[0]) if len(words.own) > 1 else "")
    spent, open_denial = -1, False
    for n, sentence in enumerate(words.own):
        if n == spent:
            continue
        denied = _DENIAL.match(sentence) is not None or open_denial
        judged = judge_sentence(sentence, turn._replace(denied=denied))
        if isinstance(judged, RejectedCandidate):
            rejected.append(judged._replace(place=place))
        # "no." and then what is right
        open_denial = judged is None and _DENIAL.match(sentence) is not None
        if isinstance(judged, CandidateLesson):
            if n + 1 < len(words.own) and is_continuation(judged, words.own[n + 1]):
                judged, spent = join_sentences(judged, words.own[n + 1]), n + 1
            found.append(locate_lesson(judged, place, turn, about))
    rejected += [
        RejectedCandidate(one[:MAX_LESSON_CHARS], "quoted", rule.name, place)
        for one in words.quoted
        if (rule := match_quoted_rule(one, turn)) is not None
    ]
    return ExtractionResult(tuple(found), tuple(rejected))


def judge_sentence(
    sentence: str, turn: SentenceContext
) -> CandidateLesson | RejectedCandidate | None:
    """A lesson, or why it is none although a rule asked for it; None where no rule did."""
    passing: RejectedCandidate | None = None
    sentence = _REQUEST_AFTER.sub("", sentence)  # "we chose sqlite, can you set it up?"
    for text in iter_clauses(sentence):
        fit = match_first_rule(text, turn, inner=text is not sentence)
        if fit is None:
            continue
        rule, what = fit
        if rule.kind == INTENTION:
            return judge_intention(sentence, text, rule, what)
        if rule.inner and text == what:
            what = restore_clause_head(sentence, what)
        if reason := find_refusal_reason(sentence, text, rule, what):
            passing = passing or RejectedCandidate(what[:MAX_LESSON_CHARS], reason, rule.name)
            if (
                reason != PASSING_STATE
            ):  # a question is one to its end; after "it is slow but" a fact may follow
                return passing
            continue
        return CandidateLesson(
            capitalize_first(what),
            rule.kind,
            rule.provenance,
            rule.name,
            personal=rule.personal,
            explicit=rule.explicit,
            triggers=derive_lesson_triggers(rule.kind, what),
            files=find_file_names(sentence),
        )
    return passing


def derive_lesson_triggers(kind: str, what: str) -> tuple[str, ...]:
    """What calls a lesson up: what it forbids, or the program that it sets aside for another."""
    if kind == "negative":
        return derive_triggers(what)
    return find_program_triggers(what) if kind in ("preference", "decision", "correction") else ()


def judge_intention(
    sentence: str, text: str, rule: ExtractionRule, what: str
) -> CandidateLesson | RejectedCandidate:
    """What is to be done later, or why it is not kept."""
    if reason := find_refusal_reason(sentence, text, rule, what):
        return RejectedCandidate(what[:MAX_LESSON_CHARS], reason, rule.name)
    later = parse_reminder_phrase(what) or ReminderPhrase(what)
    return CandidateLesson(
        capitalize_first(later.text),
        rule.kind,
        rule.provenance,
        rule.name,
        explicit=rule.explicit,
        files=find_file_names(sentence),
        later=later,
    )


def match_quoted_rule(sentence: str, turn: SentenceContext) -> ExtractionRule | None:
    """The rule that a sentence would fit, had its writer said it."""
    fit = (
        match_first_rule(_FILLERS.sub("", sentence), turn, inner=False)
        if MIN_LESSON_CHARS <= len(sentence) <= MAX_LESSON_CHARS
        else None
    )
    return fit[0] if fit else None


def iter_clauses(sentence: str) -> Iterator[str]:
    """The sentence without fillers in front, then what follows each of its commas and joints."""
    if len(sentence) > 4 * MAX_LESSON_CHARS:
        return
    yield sentence
    if (rest := _FILLERS.sub("", sentence)) != sentence:
        yield rest
    for joint in _JOINT.finditer(sentence):
        if rest := _FILLERS.sub("", sentence[joint.end() :]):
            yield rest


def restore_clause_head(sentence: str, what: str) -> str:
    """What follows a comma, with what stands before it where that says what it is about: "the name
    is personal data, don't ever print it".
    """
    start = sentence.find(what)
    head = _FILLERS.sub("", sentence[:start]) if start > 0 else ""
    states = (
        MIN_LESSON_CHARS < len(head) <= MAX_HEAD_CHARS
        and _STATES.search(head)
        and not any(pattern.fullmatch(head.strip(" ,;:-")) for _, pattern in _REFUSALS)
    )
    return head + what if states else what


def match_first_rule(
    text: str, turn: SentenceContext, *, inner: bool, deep: int = 0
) -> tuple[ExtractionRule, str] | None:
    """The first rule that a text fits, and the part of it to keep."""
    if len(text) < MIN_LESSON_CHARS:
        return None
    for rule, pattern in _RULES:
        if rule.after_denial and not (turn.denied or (turn.before and rule.name == "instead")):
            continue
        if match := pattern.fullmatch(text[: 4 * MAX_LESSON_CHARS]):
            what = (match.groupdict().get("what") or text).strip()
            if rule.kind == INTENTION and parse_reminder_phrase(what) is None:
                continue
            if (
                rule.nested
                and deep < MAX_RULE_DEPTH
                and (
                    closer := match_first_rule(
                        _FILLERS.sub("", what), turn, inner=inner, deep=deep + 1
                    )
                )
            ):
                return closer[0]._replace(explicit=closer[0].explicit or rule.explicit), closer[1]
            return rule, what
    return None


def find_refusal_reason(sentence: str, text: str, rule: ExtractionRule, what: str) -> str:
    """Why a sentence that fits a rule is not kept; empty if it is."""
    if len(what) > MAX_LESSON_CHARS:
        return "too long"
    if len(what) < MIN_LESSON_CHARS:
        return "too short"
    bare = _FILLERS.sub("", sentence)
    for refusal, pattern in _REFUSALS:
        if refusal.rules and rule.name not in refusal.rules:
            continue
        if rule.kind == INTENTION and refusal.reason not in INTENTION_REFUSALS:
            continue
        if (
            pattern.fullmatch(text)
            or pattern.fullmatch(what)
            or (not refusal.rules and pattern.fullmatch(bare))
        ):
            return refusal.reason
    return ""


def is_continuation(found: CandidateLesson, following: str) -> bool:
    """Whether the next sentence belongs to a prohibition or correction: why, or what
    to do instead.
    """
    return (
        found.kind in ("negative", "correction")
        and _GOES_ON.match(following) is not None
        and len(found.text) + len(following) < MAX_LESSON_CHARS // 2
    )


def join_sentences(found: CandidateLesson, following: str) -> CandidateLesson:
    """Both sentences as one lesson."""
    return found._replace(
        text=f"{found.text.rstrip()}{'' if found.text.rstrip()[-1:] in '.!?' else '.'} {following}",
        files=tuple(dict.fromkeys((*found.files, *find_file_names(following)))),
    )


def locate_lesson(
    found: CandidateLesson, place: int, turn: SentenceContext, about: str
) -> CandidateLesson:
    """The lesson with where it was said and about what; a correction names what it corrects, where
    that is plain.
    """
    if found.provenance != "user_corrected" or turn.place_before is None:
        return found._replace(first=place, last=place, about=about)
    return found._replace(
        text=make_self_contained(found.text, turn.before),
        first=turn.place_before,
        last=place,
        about=about,
    )


def make_self_contained(text: str, before: str) -> str:
    """A correction that can be understood alone: what the agent did is added where exactly one
    thing can be meant.
    """
    if re.search(r"\b(?:not|instead of|rather than|dropped)\b", text, re.IGNORECASE):
        return text
    if re.match(r"use\b|.*\binstead[.!]?$", text, re.IGNORECASE):
        if other := find_replaced_tool(text, before):
            end = text[-1] if text[-1] in ".!" else ""
            head = re.sub(r"(?:\s+instead)?[\s.!]*$", "", text, flags=re.IGNORECASE)
            return prefer_if_short(f"{head} instead of {other}{end}", text)
        acts = list(
            dict.fromkeys(
                _TICKED.findall(before) or re.findall(r"\"command\": \"([^\"\\]{2,60})\"", before)
            )
        )
        if len(acts) == 1 and acts[0].lower() not in text.lower():
            head = re.sub(r"\s+instead[.!]?$", "", text).rstrip(" .")
            return prefer_if_short(f"{head} instead of {acts[0]}", text)
    if re.match(r"(?:it'?s|it is|they'?re|should be|it )", text, re.IGNORECASE) and (
        said := summarize_topic(before)
    ):
        return prefer_if_short(f"{text.rstrip()} (about: “{said}”)", text)
    return text


def prefer_if_short(longer: str, text: str) -> str:
    """The longer text, if it is not too long."""
    return longer if len(longer) <= MAX_LESSON_CHARS else text


def summarize_topic(text: str) -> str:
    """The last thing somebody said, in at most ABOUT characters: what was being discussed."""
    spoken = [
        one
        for one in split_sentences(" ".join(remove_injections(_BRACKETED.sub(" ", text)).split()))
        if one
    ]
    if not spoken:
        return ""
    last = (
        spoken[-1]
        if len(spoken[-1]) >= MIN_LESSON_CHARS or len(spoken) == 1
        else f"{spoken[-2]} {spoken[-1]}"
    )
    return (
        last
        if len(last) <= MAX_TOPIC_CHARS
        else last[: MAX_TOPIC_CHARS - 1].rsplit(" ", 1)[0].rstrip() + "…"
    )


def capitalize_first(text: str) -> str:
    """With a capital at the beginning, unless it begins with a name in small letters
    such as `npm`.
    """
    return text[0].upper() + text[1:]


__all__ = [
    "MAX_LESSON_CHARS",
    "MAX_TOPIC_CHARS",
    "MIN_CONVERSATION_CHARS",
    "MIN_LESSON_CHARS",
    "CandidateLesson",
    "ExtractionResult",
    "RejectedCandidate",
    "extract_lessons",
    "remove_injections",
]
