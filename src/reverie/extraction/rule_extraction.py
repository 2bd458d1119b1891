"""Lessons found by rules: no model, no clock, no store; messages in, lessons out.

`own_sentences` tells a person's own sentences from what they paste; `extraction_rules` says which
of them ask to be kept, and `refusal_rules` which of those must not be; `text_signals` reads files,
tags and triggers off them; `error_lessons` learns from commands that failed. Only the user's own
sentences count, and injected blocks never do; the one thing learned from tools is what made an
error go away.

What is not kept although a rule asked for it is returned too, with the reason, so that the junk
rate can be shown. `python -m bench.extraction` measures how well this works.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reverie.activity.error_lessons import find_error_fixes, list_fix_files
from reverie.core.guarded_patterns import PatternGuard
from reverie.core.kinds import INTENTION, LEARNING, NEGATIVE
from reverie.extraction.agent_conclusions import BorneConclusion, find_borne_conclusions
from reverie.extraction.extraction_rules import RULES, ExtractionRule
from reverie.extraction.person_choices import (
    read_accepted_proposal,
    read_dialog_choices,
    read_picked_option,
    read_refusal_rule,
)
from reverie.extraction.refusal_rules import INTENTION_REFUSALS, REFUSALS
from reverie.extraction.tool_families import find_replaced_tool
from reverie.extraction.user_words import separate_user_sentences
from reverie.memory.reminder_phrases import ReminderPhrase, parse_reminder_phrase
from reverie.text.forbidden_acts import find_program_triggers
from reverie.text.injection_fence import remove_injections
from reverie.text.learned_phrases import (
    ASSERTS,
    PASSING,
    REASONS,
    denies_something,
    find_statement,
    fits_list,
)
from reverie.text.own_sentences import split_sentences
from reverie.text.text_signals import derive_tags, derive_triggers, find_file_names
from reverie.transcripts.message_passages import read_spoken_text

# Longer sentences are pasted text, not wishes.
MAX_LESSON_CHARS = 400
MIN_LESSON_CHARS = 8
# Characters of what was being discussed that are kept beside a lesson.
MAX_TOPIC_CHARS = 160
# Shorter conversations are not looked through for fixes.
MIN_CONVERSATION_CHARS = 200
# Characters before a comma that are kept with what follows it.
MAX_HEAD_CHARS = 120
# Rules within rules: "note that from now on …".
MAX_RULE_DEPTH = 2
PASSING_STATE = "passing state"
# A message of more sentences is a document: of it only what says "remember" is somebody's wish.
MAX_SPOKEN_SENTENCES = 24
# What the rules of these phrases are called: "spoken rule", "spoken decision".
SPOKEN = "spoken "
# Characters of a correction that leans on what it corrects.
MAX_LEANING_CHARS = 24
# Kind and provenance of what the phrases of the language files find.
STATEMENT_KINDS = {
    "correction": ("correction", "user_corrected"),
    "prohibition": (NEGATIVE, "user_stated"),
    "rule": ("preference", "user_stated"),
    "preference": ("preference", "user_stated"),
    "decision": ("decision", "user_stated"),
    "environment": ("fact", "user_stated"),
    "root_cause": ("fact", "user_stated"),
}

# Why something is believed as far as it is.
PROVENANCE_REASONS = {
    "user_corrected": "the user put the agent right",
    "user_stated": "the user said so",
    "observed": "seen in the session: the command failed, this was done, "
    "the same command went well",
    "inferred": "the agent concluded it, and it was borne out",
}


class CandidateLesson(NamedTuple):
    """Something said or seen that is worth keeping.

    `first` and `last` are positions in the list of messages.
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
    evidence: str = ""  # of what the agent concluded: what bore it out

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags that its files give it."""
        return derive_tags(self.files)

    @property
    def details(self) -> dict[str, Any]:
        """The rule, the reason for its provenance, and the topic, to be kept beside it."""
        details = {"rule": self.rule, "because": PROVENANCE_REASONS[self.provenance]}
        if self.about and self.about.rstrip(".!?") not in self.text:
            details["about"] = self.about
        if self.evidence:
            details["evidence"] = self.evidence
        return details


class RejectedCandidate(NamedTuple):
    """Something that a rule asked for and that is not kept, and why not."""

    text: str
    reason: str
    rule: str = ""
    place: int = 0


class ExtractionResult(NamedTuple):
    """What some messages teach, in order, and what was rejected."""

    lessons: tuple[CandidateLesson, ...]
    rejected: tuple[RejectedCandidate, ...]
    open_failures: tuple[int, ...] = ()  # places of failures that no success has followed yet


# What people say before they come to the point.
_FILLERS = re.compile(
    r"^(?:(?:ok(?:ay)?|k+|yeah|yep|yes|yup|also|btw|by the way|and|but|so|plus|hey|hi|oh|ah+|aha|"
    r"exactly|well|great|thanks|thx|cool|perfect|nice|good|sweet|lgtm|hm+|ugh|whoa|wait|look|again|"
    r"anyway|anyhow|one more thing|another thing|one thing|sure|alright|got it|works|lol|right|"
    r"please|pls|plz|cause|because)(?:[,:;.!–—-]+\s*|\s+))+",
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
    r"\b(?:is|are|has|have|it'?s|they'?re|that'?s|we'?re|we)\b(?!.*\?)",
    re.IGNORECASE,
)
# How a prompt begins that one agent writes for another, or a template for any.
_BRIEF = re.compile(
    r"\s*(?:you are an? (?!idiot|genius|star)|your (?:task|job|role|goal|mission) is\b|act as an? |"
    r"# (?:role|task|instructions?|objective|mission)\b|## your \w+)",
    re.IGNORECASE,
)
# What is asked for behind a statement: it would make a question of it.
_REQUEST_AFTER = re.compile(
    r"(?:,|;|\s[-–—])\s+(?:(?:and|but|so|now|then|also) )?(?:(?:can|could|would|will) you|"
    r"i'?m (?:wondering|"
    r"hoping|unsure|not sure|curious)|how (?:can|do|should) i|what do you)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_TICKED = re.compile(r"`([^`\n]{2,60})`")
_COMMAND = re.compile(r"\"command\": \"([^\"\\]{2,60})\"")
_BRACKETED = re.compile(r"\[\w{1,60} \{.{0,4000}?\}\]", re.DOTALL)

FLAGS = re.IGNORECASE | re.DOTALL
_RULES = tuple((rule, re.compile(rule.pattern, FLAGS)) for rule in RULES)
_RULE_GUARD = PatternGuard(rule.pattern for rule in RULES)
_REFUSALS = tuple((refusal, re.compile(refusal.pattern, FLAGS)) for refusal in REFUSALS)


class SentenceContext(NamedTuple):
    """What precedes a sentence: the agent's words, and whether the user has just said no."""

    before: str = ""
    about: str = ""  # the last thing that the agent said to the user
    place_before: int | None = None
    denied: bool = False


def extract_lessons(
    messages: Sequence[tuple[str, str]],
    *,
    fixes: bool = True,
    before: str = "",
) -> ExtractionResult:
    """The lessons of these messages (role, text); with `fixes`, of overcome errors too.

    `before` is what the agent said before them.
    """
    found: list[CandidateLesson] = []
    rejected: list[RejectedCandidate] = []
    context = SentenceContext(before, summarize_topic(before))
    for place, (role, text) in enumerate(messages):
        if role in ("user", "tool"):
            from_user = extract_spoken_lessons(role, text, place, context)
            found += from_user.lessons
            rejected += from_user.rejected
        elif role == "assistant" and text.strip():
            # An answer that is all code goes on with the topic; "Done." closes it.
            earlier = context.about if len(text.strip()) >= MIN_LESSON_CHARS else ""
            context = SentenceContext(text, summarize_topic(text) or earlier, place)
    open_failures: list[int] = []
    if fixes and sum(len(text) for _, text in messages) >= MIN_CONVERSATION_CHARS:
        overcome, open_failures = find_error_fixes(messages)
        for fix in overcome:
            if len(fix.text) > 2 * MAX_LESSON_CHARS:
                continue
            lesson = CandidateLesson(fix.text, LEARNING, "observed", "error and fix")
            files = list_fix_files(fix)
            found.append(
                lesson._replace(
                    first=fix.first,
                    last=fix.last,
                    files=files,
                )
            )
    if fixes:
        borne, waiting = find_borne_conclusions(messages)
        found += map(to_concluded_lesson, borne)
        open_failures = sorted({*open_failures, *waiting})
    found.sort(key=lambda lesson: lesson.last)
    return ExtractionResult(tuple(found), tuple(rejected), tuple(open_failures))


def to_concluded_lesson(borne: BorneConclusion) -> CandidateLesson:
    """What an agent concluded, as a lesson that rests on the conclusion and its evidence."""
    return CandidateLesson(
        capitalize_first(borne.text),
        LEARNING,
        "inferred",
        "concluded",
        borne.place,
        borne.evidence_place,
        files=find_file_names(borne.text),
        evidence=borne.evidence,
    )


def extract_spoken_lessons(
    role: str,
    text: str,
    place: int,
    context: SentenceContext,
) -> ExtractionResult:
    """The lessons of a user's message, or of a tool's result that hands on a person's words."""
    if role == "tool":
        choices, text = read_dialog_choices(text), read_refusal_rule(text)
    else:
        _, text = read_spoken_text(role, text)
        picked = read_picked_option(text, context.before) or read_accepted_proposal(
            text, context.before
        )
        choices = [picked] if picked else []
        text = "" if picked else text
    lessons = [
        CandidateLesson(choice.text, "decision", "user_stated", "choice", place, place)._replace(
            about=choice.question or context.about
        )
        for choice in choices
    ]
    spoken = extract_user_lessons(text, place, context)
    return spoken._replace(lessons=(*lessons, *spoken.lessons))


def extract_user_lessons(
    text: str,
    place: int,
    context: SentenceContext,
) -> ExtractionResult:
    """The lessons of one message of the user, sentence by sentence."""
    sentences = separate_user_sentences(text)
    own = sentences.own
    found: list[CandidateLesson] = []
    rejected: list[RejectedCandidate] = []
    about = context.about or (summarize_topic(own[0]) if len(own) > 1 else "")
    joined, last_kept, open_denial = -1, -2, False
    # A line that is said over and over, as in a log, says one thing.
    is_document = len(set(own)) > MAX_SPOKEN_SENTENCES or _BRIEF.match(text) is not None
    for number, sentence in enumerate(own):
        if number == joined:
            continue
        is_denial = _DENIAL.match(sentence) is not None or denies_something(sentence)
        judged = judge_sentence(sentence, context._replace(denied=is_denial or open_denial))
        if judged is None and not is_document:
            judged = judge_statement(sentence, denied=open_denial)
        if is_document and isinstance(judged, CandidateLesson) and not judged.explicit:
            judged = RejectedCandidate(judged.text, "document", judged.rule)
        # "no." and then, in the next sentence, what is right
        open_denial = judged is None and is_denial
        if isinstance(judged, RejectedCandidate):
            rejected.append(judged._replace(place=place))
        elif judged is not None:
            if number + 1 < len(own) and is_continuation(judged, own[number + 1]):
                joined = number + 1
                judged = join_sentences(judged, own[joined])
            if found and last_kept == number - 1 and goes_with(found[-1], judged):
                found[-1] = join_sentences(found[-1], judged.text)
                last_kept = number
                continue
            last_kept = number
            found.append(locate_lesson(judged, place, context, about))
    for quote in sentences.quoted:
        rule = match_quoted_rule(quote, context)
        if rule is not None:
            rejected.append(RejectedCandidate(quote[:MAX_LESSON_CHARS], "quoted", rule.name, place))
    return ExtractionResult(tuple(found), tuple(rejected))


def judge_sentence(
    sentence: str, context: SentenceContext
) -> CandidateLesson | RejectedCandidate | None:
    """A lesson, or why it is none although a rule asked for it; None where no rule did."""
    passing: RejectedCandidate | None = None
    # "we chose sqlite, can you set it up?"
    sentence = _REQUEST_AFTER.sub("", sentence)
    for clause in iter_clauses(sentence):
        fit = match_first_rule(clause, context, inner=clause is not sentence)
        if fit is None:
            continue
        rule, what = fit
        if rule.inner and clause == what:
            what = restore_clause_head(sentence, what)
        reason = find_refusal_reason(sentence, clause, rule, what)
        if not reason:
            return build_lesson(sentence, rule, what)
        rejected = RejectedCandidate(what[:MAX_LESSON_CHARS], reason, rule.name)
        if rule.kind == INTENTION:
            return rejected
        passing = passing or rejected
        # A question is one to its end; after "it is slow but" a fact may follow.
        if reason != PASSING_STATE:
            return passing
    return passing


def judge_statement(sentence: str, *, denied: bool = False) -> CandidateLesson | None:
    """The lesson that a sentence is by the phrases of the language files; None where it is none.

    After "no, that is wrong" it puts something right where it says how that is.
    """
    if denies_something(sentence):
        return None
    section, sentence = find_statement(sentence)
    if not section and denied and fits_list(sentence, ASSERTS):
        section = "correction"
    if section in ("", PASSING):
        return None
    kind, provenance = STATEMENT_KINDS[section]
    rule = f"{SPOKEN}{section}"
    lesson = CandidateLesson(capitalize_first(sentence), kind, provenance, rule)
    return lesson._replace(
        triggers=derive_lesson_triggers(kind, sentence), files=find_file_names(sentence)
    )


def build_lesson(
    sentence: str,
    rule: ExtractionRule,
    what: str,
) -> CandidateLesson:
    """The lesson that a rule finds in a sentence; an intention with its time."""
    later = ReminderPhrase("")
    if rule.kind == INTENTION:
        later = parse_reminder_phrase(what) or ReminderPhrase(what)
        what = later.text
    return CandidateLesson(
        capitalize_first(what),
        rule.kind,
        rule.provenance,
        rule.name,
        personal=rule.personal,
        explicit=rule.explicit,
        triggers=derive_lesson_triggers(rule.kind, what),
        files=find_file_names(sentence),
        later=later,
    )


def derive_lesson_triggers(kind: str, what: str) -> tuple[str, ...]:
    """Patterns that call a lesson up: what it forbids, or the program it sets aside for another."""
    if kind == NEGATIVE:
        return derive_triggers(what)
    return find_program_triggers(what) if kind in ("preference", "decision", "correction") else ()


def match_quoted_rule(sentence: str, context: SentenceContext) -> ExtractionRule | None:
    """The rule that a quoted sentence would fit if the user had said it."""
    if not MIN_LESSON_CHARS <= len(sentence) <= MAX_LESSON_CHARS:
        return None
    fit = match_first_rule(_FILLERS.sub("", sentence), context, inner=False)
    return fit[0] if fit else None


def iter_clauses(sentence: str) -> Iterator[str]:
    """The sentence, then without fillers in front, then what follows each comma and joint."""
    # So long a sentence is a paste, and its clauses would be many.
    if len(sentence) > 4 * MAX_LESSON_CHARS:
        return
    yield sentence
    bare = _FILLERS.sub("", sentence)
    if bare != sentence:
        yield bare
    for joint in _JOINT.finditer(sentence):
        rest = _FILLERS.sub("", sentence[joint.end() :])
        if rest:
            yield rest


def restore_clause_head(sentence: str, what: str) -> str:
    """A clause after a comma, with what stands before it where that says what it is about.

    "the name is personal data, don't ever print it" is kept whole.
    """
    start = sentence.find(what)
    head = _FILLERS.sub("", sentence[:start]) if start > 0 else ""
    if not MIN_LESSON_CHARS < len(head) <= MAX_HEAD_CHARS or not _STATES.search(head):
        return what
    bare = head.strip(" ,;:-")
    is_refused = any(pattern.fullmatch(bare) for _, pattern in _REFUSALS)
    return what if is_refused else head + what


def match_first_rule(
    text: str,
    context: SentenceContext,
    *,
    inner: bool,
    deep: int = 0,
) -> tuple[ExtractionRule, str] | None:
    """The first rule that a text fits, and the part of it to keep."""
    if len(text) < MIN_LESSON_CHARS:
        return None
    head = text[: 4 * MAX_LESSON_CHARS]
    # From the top: the order of the table decides.
    for number in _RULE_GUARD.select(head):
        rule, pattern = _RULES[number]
        if rule.after_denial and not (
            context.denied or (context.before and rule.name == "instead")
        ):
            continue
        match = pattern.fullmatch(head)
        if match is None:
            continue
        what = (match.groupdict().get("what") or text).strip()
        if rule.kind == INTENTION and parse_reminder_phrase(what) is None:
            continue
        closer = None
        if rule.nested and deep < MAX_RULE_DEPTH:
            closer = match_first_rule(
                _FILLERS.sub("", what),
                context,
                inner=inner,
                deep=deep + 1,
            )
        if closer is None:
            return rule, what
        inner_rule, inner_what = closer
        return inner_rule._replace(explicit=inner_rule.explicit or rule.explicit), inner_what
    return None


def find_refusal_reason(
    sentence: str,
    text: str,
    rule: ExtractionRule,
    what: str,
) -> str:
    """Why a sentence that fits a rule is not kept; empty if it is."""
    if len(what) > MAX_LESSON_CHARS:
        return "too long"
    if len(what) < MIN_LESSON_CHARS:
        return "too short"
    # Fillers in front would hide how the sentence begins.
    bare = _FILLERS.sub("", sentence)
    for refusal, pattern in _REFUSALS:
        if refusal.rules and rule.name not in refusal.rules:
            continue
        if rule.kind == INTENTION and refusal.reason not in INTENTION_REFUSALS:
            continue
        # A refusal of one rule concerns the clause; one of all rules the whole sentence too.
        texts = (text, what) if refusal.rules else (text, what, bare)
        if any(map(pattern.fullmatch, texts)):
            return refusal.reason
    return ""


def is_continuation(found: CandidateLesson, following: str) -> bool:
    """True if the next sentence says why a wish holds, or what to do instead."""
    if len(found.text) + len(following) >= MAX_LESSON_CHARS // 2:
        return False
    if found.rule.startswith(SPOKEN) and fits_list(following, REASONS):
        return True
    return found.kind in (NEGATIVE, "correction") and _GOES_ON.match(following) is not None


def goes_with(found: CandidateLesson, following: CandidateLesson) -> bool:
    """True if two sentences in a row, found by phrases, are one statement."""
    return (
        found.rule.startswith(SPOKEN)
        and following.rule.startswith(SPOKEN)
        and found.provenance == following.provenance
        and len(found.text) + len(following.text) < MAX_LESSON_CHARS // 2
    )


def join_sentences(found: CandidateLesson, following: str) -> CandidateLesson:
    """Both sentences as one lesson."""
    text = found.text.rstrip()
    end = "" if text[-1:] in ".!?。！？" else "."
    files = dict.fromkeys((*found.files, *find_file_names(following)))
    return found._replace(text=f"{text}{end} {following}", files=tuple(files))


def locate_lesson(
    found: CandidateLesson,
    place: int,
    context: SentenceContext,
    about: str,
) -> CandidateLesson:
    """The lesson with where it was said and about what.

    A correction names what it corrects, where that is plain.
    """
    if found.provenance != "user_corrected" or context.place_before is None:
        return found._replace(
            first=place,
            last=place,
            about=about,
        )
    if found.rule.startswith(SPOKEN):
        topic = summarize_topic(context.before) if len(found.text) <= MAX_LEANING_CHARS else ""
        text = f"{found.text} (about: “{topic}”)" if topic else found.text
    else:
        text = make_self_contained(found.text, context.before)
    return found._replace(
        text=text,
        first=context.place_before,
        last=place,
        about=about,
    )


def make_self_contained(text: str, before: str) -> str:
    """A correction that can be understood alone.

    What the agent did is added where exactly one thing can be meant.
    """
    if re.search(r"\b(?:not|instead of|rather than|dropped)\b", text, re.IGNORECASE):
        return text
    if re.match(r"use\b|.*\binstead[.!]?$", text, re.IGNORECASE):
        tool = find_replaced_tool(text, before)
        if tool:
            end = text[-1] if text[-1] in ".!" else ""
            head = re.sub(r"(?:\s+instead)?[\s.!]*$", "", text, flags=re.IGNORECASE)
            return prefer_if_short(f"{head} instead of {tool}{end}", text)
        commands = _TICKED.findall(before) or _COMMAND.findall(before)
        # Exactly one: of two commands nobody can tell which one was wrong.
        acts = list(dict.fromkeys(commands))
        if len(acts) == 1 and acts[0].lower() not in text.lower():
            head = re.sub(r"\s+instead[.!]?$", "", text).rstrip(" .")
            return prefer_if_short(f"{head} instead of {acts[0]}", text)
    if re.match(r"(?:it'?s|it is|they'?re|should be|it )", text, re.IGNORECASE):
        topic = summarize_topic(before)
        if topic:
            return prefer_if_short(f"{text.rstrip()} (about: “{topic}”)", text)
    return text


def prefer_if_short(longer: str, text: str) -> str:
    """The longer text, if it is not too long for a lesson."""
    return longer if len(longer) <= MAX_LESSON_CHARS else text


def summarize_topic(text: str) -> str:
    """The last thing somebody said, in at most MAX_TOPIC_CHARS: what was being discussed. Empty if
    it is a word or two, such as "Done.".
    """
    plain = remove_injections(_BRACKETED.sub(" ", text))
    sentences = [sentence for sentence in split_sentences(" ".join(plain.split())) if sentence]
    if not sentences:
        return ""
    # A last word such as "ok?" says nothing without the sentence before it.
    last = sentences[-1]
    if len(last) < MIN_LESSON_CHARS:
        if len(sentences) == 1:
            return ""  # "Done.": no topic at all
        last = f"{sentences[-2]} {last}"
    if len(last) <= MAX_TOPIC_CHARS:
        return last
    return last[: MAX_TOPIC_CHARS - 1].rsplit(" ", 1)[0].rstrip() + "…"


def capitalize_first(text: str) -> str:
    """The text with a capital first letter."""
    return text[0].upper() + text[1:]
