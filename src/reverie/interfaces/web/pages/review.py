"""Review: what waits for a person, one card after the other, ten a minute without the mouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.core.errors import BadInput, Conflict, NotFound
from reverie.core.model import Memory
from reverie.interfaces.web.page import Action, Done, Page, View, WebRequest, quote
from reverie.interfaces.web.pages.memory import FieldChange, as_text
from reverie.mirror.mirror_sync import DeletionQuestion, list_deletion_questions
from reverie.runtime.both_sided_edits import list_differences
from reverie.runtime.review_queue import (
    ACCEPT,
    BOTH,
    EDIT,
    EDITED,
    GAP,
    MEMORY,
    MERGE,
    PAIR,
    REJECT,
    ReviewCard,
)
from reverie.text.word_diff import DiffPart, diff_words

PER_PAGE = 15
# What an answer did, about a pair and about anything else.
PAIR_SAID: Mapping[str, str] = {
    ACCEPT: "Kept",
    REJECT: "Kept",
    BOTH: "Kept both",
    MERGE: "Merged into",
    EDIT: "Merged into",
}
SAID: Mapping[str, str] = {ACCEPT: "It holds", REJECT: "Put away", EDIT: "Kept in your words"}
KEYS: Mapping[str, str] = {ACCEPT: "a", REJECT: "r", BOTH: "b", MERGE: "m", EDIT: "e"}


class ShownCard(NamedTuple):
    """A card, and what differs between the two texts of a pair."""

    card: ReviewCard
    diff: Sequence[DiffPart]
    draft: str  # what an edit begins with
    fields: Sequence[FieldChange] = ()  # of two versions: what differs beside the text


class Queue(NamedTuple):
    """What waits, as much as one page holds."""

    cards: Sequence[ShownCard]
    has_more: bool
    mirror: Sequence[DeletionQuestion]
    keys: Mapping[str, str] = KEYS


def show_queue(mind: Mind, asked: WebRequest) -> Queue:
    """The next cards."""
    limit = asked.number("limit", PER_PAGE)
    cards = mind.review.queue(space=asked.space, limit=limit + 1)
    mirror = list_deletion_questions(mind.settings, mind.store)
    return Queue(list(map(show_card, cards[:limit])), len(cards) > limit, mirror)


def show_card(card: ReviewCard) -> ShownCard:
    """A card as it is drawn."""
    texts = [memory.text for memory in card.memories]
    diff = diff_words(*texts) if len(texts) == 2 else []
    if card.sides:
        # Merged by hand, what holds is where one begins.
        return ShownCard(card, diff, texts[-1], compare_versions(*card.memories))
    return ShownCard(card, diff, texts[0] if texts else "")


def compare_versions(before: Memory, after: Memory) -> list[FieldChange]:
    """The fields in which two versions of a memory differ, without the text."""
    return [
        FieldChange(name, diff_words(as_text(old), as_text(new)))
        for name, old, new in list_differences(before, after)
        if name != "text"
    ]


def answer_cards(mind: Mind, asked: WebRequest) -> Done:
    """Answer one card or a selection; what somebody has decided meanwhile is left as it is."""
    keys = list(dict.fromkeys(asked.texts("cards")))
    answer, text = asked.text("answer"), asked.text("text").replace("\r\n", "\n")
    if not keys:
        raise BadInput("Nothing was chosen")
    if answer != EDIT:
        text = ""
    if len(keys) == 1:
        events = mind.review.answer(keys[0], answer, text=text, space=asked.space)
        return to_done(say_answer(mind, keys[0], answer), events)
    events, missed = [], 0
    for key in keys:
        try:
            events += mind.review.answer(key, answer, text=text, space=asked.space)
        except (Conflict, NotFound, BadInput):
            missed += 1
    left = f" {missed} were left: they take no such answer, or were decided." if missed else ""
    return to_done(f"Decided {len(keys) - missed}: {answer}.{left}", events)


def say_answer(mind: Mind, key: str, answer: str) -> str:
    """What an answer did, with the words that stand or were put away."""
    sort, _, rest = key.partition(":")
    ids = [id for id in rest.split(":") if id.startswith("mem_")]
    standing = [memory.id for memory in mind.get(ids) if memory.active]
    if sort == PAIR and answer != BOTH:
        ids = standing
    named = quote(mind, ids) if len(ids) == 1 else ""
    did = (SAID if sort in (MEMORY, GAP) else PAIR_SAID).get(answer, "Decided")
    if sort == EDITED and not standing:
        did = "Forgotten"  # of the two versions the one that was chosen says so
    return f"{did}: {named}." if named else f"{did}."


def to_done(message: str, events: Sequence[int]) -> Done:
    """What was decided, with all that an undo takes back."""
    return Done(message, events[-1] if events else 0, also=events[:-1])


def answer_mirror(mind: Mind, asked: WebRequest) -> Done:
    """Forget the lines that somebody took out of a page, or write them again."""
    forget = asked.text("answer") == "forget"
    reports = mind.data.mirror(asked.text("of"), forget=forget)
    events = [event for report in reports for event in report.events]
    said = "Forgotten." if forget else "Written again."
    return to_done(said, events)


PAGE = Page(
    "review",
    "Review",
    (
        View("/review", show_queue, "review.html"),
        Action("/review/answer", answer_cards),
        Action("/review/mirror", answer_mirror),
    ),
    place=3,
    key="r",
    scripts=("cards.js",),
    styles=("cards.css",),
)
