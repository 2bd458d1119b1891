"""What a person chose: an answer in a dialog of the host, "option 2" after options were named, or
"yes, do that" to a proposal.

None of them says anything by itself, so each is kept with what it answers. A host hands on the
answers of its dialogs, and what was said when a tool was refused, as a tool's result; the words are
the person's all the same.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from reverie.text.learned_phrases import (
    accepts_something,
    is_proposal,
    load_approvals,
    load_words,
)
from reverie.transcripts.message_passages import (
    iterate_sentences,
    read_dialog_answers,
    read_refusal_words,
    read_spoken_text,
)

MAX_CHOICE_CHARS = 400
# A longer answer is a document that somebody pasted into the dialog.
MAX_ANSWER_CHARS = 200
# Characters of a message that only names an option.
MAX_PICK_CHARS = 32
# What may stand beside the option's name and words that are known, in characters.
MAX_PICK_REST = 10
MIN_OPTIONS = 2
# Sentences at the end of a message among which a proposal is that is being answered.
LAST_SENTENCES = 2
MAX_OPTION_CHARS = 240

_ANSWER = re.compile(
    r"\"(?P<question>[^\n]{3,400}?)\"=\"(?P<answer>.{1,4000}?)\""
    r"(?=, \"|,? user notes:|,? selected markdown:|\s*\Z)",
    re.DOTALL,
)
_REFUSED_DIALOG = re.compile(r"\AThe user wants to clarify these questions")
_LABEL = re.compile(r"(?<![A-Za-z0-9.])(?P<label>[A-Da-d]|[1-9])(?![A-Za-z0-9.])")
_OPTION = re.compile(
    r"^[\s>#*|_•-]{0,12}(?P<words>[^\W\d]{2,12}\s?)?(?P<label>[A-D]|[1-9])(?:案|안|번)?\s?"
    r"(?:[\].):：）|—–-]|\*\*)+\s{0,4}(?P<what>\S.{3,400})$",
    re.MULTILINE,
)


class PersonChoice(NamedTuple):
    """A choice in words that can be understood alone."""

    text: str
    question: str = ""


def read_dialog_choices(text: str) -> list[PersonChoice]:
    """What a person answered in a dialog of the host, of a tool's result."""
    asks_to_go_on, decides_nothing = load_approvals()
    found: list[str] = []
    for answered in _ANSWER.finditer(read_dialog_answers(text)):
        question = " ".join(answered["question"].split())
        answer = " ".join(answered["answer"].split())
        if len(answer) > MAX_ANSWER_CHARS:
            continue
        if asks_to_go_on.search(question) or decides_nothing.match(answer):
            continue
        choice = f"{question} → {answer}"
        # The questions of one dialog are about one thing.
        if found and len(found[-1]) + len(choice) < MAX_CHOICE_CHARS:
            found[-1] += f"; {choice}"
        else:
            found.append(choice[:MAX_CHOICE_CHARS])
    return [PersonChoice(choice) for choice in found]


def read_refusal_rule(text: str) -> str:
    """What a person said when refusing a tool, of a tool's result; "" for a dialog put off."""
    said = read_refusal_words(text)
    return "" if _REFUSED_DIALOG.match(said) else said


def read_picked_option(text: str, before: str) -> PersonChoice | None:
    """The option of the message before that a short message picks: "option 2", "Aにしよう"."""
    said = " ".join(text.split())
    if not 0 < len(said) <= MAX_PICK_CHARS or said.endswith(("?", "？")):
        return None
    labels = [found["label"].upper() for found in _LABEL.finditer(said)]
    if len(labels) != 1 or not names_choice(said, labels[0]):
        return None
    # Any list is numbered: only what somebody calls an option is one.
    is_named = any(word in said.lower() for word in load_words("option_words"))
    options = list_options(before, only_named=labels[0].isdigit() and not is_named)
    same_series = [label for label in options if label.isdigit() == labels[0].isdigit()]
    if labels[0] not in options or len(same_series) < MIN_OPTIONS:
        return None
    picked = f"{labels[0]}: {options[labels[0]]} (“{said}”)"
    return PersonChoice(picked[:MAX_CHOICE_CHARS])


def read_accepted_proposal(text: str, before: str) -> PersonChoice | None:
    """What the message before proposed in one clear sentence, if a bare "yes, do that" accepts it.

    Nothing where it asked or proposed several things, or only whether to go on.
    """
    said = " ".join(text.split())
    if not 0 < len(said) <= MAX_PICK_CHARS or not accepts_something(said):
        return None
    _, spoken = read_spoken_text("assistant", before)
    sentences = [line.replace("*", "").strip(" #>-") for line in iterate_sentences(spoken)]
    proposed = [sentence for sentence in sentences if is_proposal(sentence)]
    asked = [sentence for sentence in sentences if sentence.endswith(("?", "？"))]
    if len(proposed) != 1 or proposed[0] not in sentences[-LAST_SENTENCES:]:
        return None
    # "I suggest a file cache. Shall I go on?" asks one thing.
    is_one = all(one == proposed[0] or asks_to_go_on(one) for one in asked)
    if not is_one or asks_to_go_on(proposed[0]) or list_options(before):
        return None
    return PersonChoice(f"{proposed[0]} → {said}"[:MAX_CHOICE_CHARS])


def asks_to_go_on(question: str) -> bool:
    """True for a question that only asks whether to go on."""
    return load_approvals()[0].search(question) is not None


def names_choice(said: str, label: str) -> bool:
    """True if a short message says nothing but which option is taken."""
    rest, known = said.lower(), False
    for word in load_words("choice_words"):
        if word in rest:
            known = True
            rest = rest.replace(word, " ")
    rest = re.sub(r"\W+", "", rest.replace(label.lower(), "", 1))
    return not rest or (known and len(rest) <= MAX_PICK_REST)


def list_options(text: str, *, only_named: bool = False) -> Mapping[str, str]:
    """The options that a message names, by letter or number; of several lists the last.

    With `only_named` only those that it calls options: "Option 1: …".
    """
    options: dict[str, str] = {}
    names = load_words("option_words")
    for found in _OPTION.finditer(text):
        if only_named and not (found["words"] or "").strip().lower().startswith(names):
            continue
        label = found["label"]
        what = " ".join(found["what"].replace("*", "").split())
        options[label] = what[:MAX_OPTION_CHARS]
    return options
