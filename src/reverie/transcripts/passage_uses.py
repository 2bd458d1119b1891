"""Which passages that an agent was given it then used: its next words hold theirs.

The event of a turn names what was given with it (`given`), and the events after it hold what the
agent said then. So a use is derived, like the passages: the log read again gives the same uses,
whatever the steps. That somebody was given a passage is no use of it, nor are words that were said
in the conversation before, or that nearly every session has.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.storage.indexed_transcripts import (
    IndexedConversation,
    PassageUse,
    TranscriptIndex,
    TranscriptPassage,
    make_passage_key,
)
from reverie.text.domain_stopwords import domain_stop_stems, stems_of
from reverie.text.prompt_phrases import PAIRED_SCRIPTS, detect_scripts
from reverie.transcripts.message_passages import SpokenMessage

# A passage is used if the answer has so many of the words that it alone brought, and this share of
# them. Of a script without spaces twice as many: they are pairs of letters. Answers of nothing but
# the asked for parts (`bench.transcripts.unseen`) are 53 uses of 101; the real next words in 400
# turns of 11 projects would be uses of .5 % of passages of another project that share words with
# the prompt, of 4 % of those of the same one. With a share of .3: 31 of 101, .3 % and 3 %.
USED_WORDS, USED_SHARE = 2, 0.2
# Characters of a message that are looked at.
MAX_CHARS = 8_000


class LoggedTurn(NamedTuple):
    """An event with messages, and the keys of the passages that were given with it."""

    event: int
    spoken: Sequence[SpokenMessage]
    given: Sequence[int]


class LoggedAnswer(NamedTuple):
    """A turn, and those before it in the same conversation, in order."""

    turn: LoggedTurn
    before: Sequence[LoggedTurn]


class KnownPassage(NamedTuple):
    """A passage and the event that it was said in."""

    event: int
    text: str
    context: str


def find_uses(
    index: TranscriptIndex,
    after: int,
    conversations: Iterable[IndexedConversation],
    answers: Iterable[LoggedAnswer],
) -> list[PassageUse]:
    """The uses in some answers; `conversations` are the passages of the same events, which the
    index does not hold yet as it does those up to `after`.
    """
    asked = [*answers]
    keys = {key for answer in asked for turn in answer.before for key in turn.given}
    if not keys:
        return []
    known = {
        found.key: to_known(found.event, found.passage)
        for found in index.passages_by_key([*keys])
        if found.event <= after
    }
    said = {one.event: one for one in conversations}
    uses: dict[tuple[int, int], PassageUse] = {}
    for answer in asked:
        if one := said.get(answer.turn.event):
            for key, passage in read_passages(one, keys):
                if key not in known or known[key][1:] != passage[1:]:
                    known[key] = passage
                    # Another text stands there now, and nobody has used that.
                    uses = {place: use for place, use in uses.items() if use.key != key}
        for use in find_uses_in_answer(answer, known):
            uses[use.key, use.given] = use
    return [*uses.values()]


def to_known(event: int, passage: TranscriptPassage) -> KnownPassage:
    """A passage of an event."""
    return KnownPassage(event, passage.text, passage.context)


def read_passages(one: IndexedConversation, keys: set[int]) -> Iterable[tuple[int, KnownPassage]]:
    """The passages of an event that have one of these keys."""
    for passage in one.passages:
        key = make_passage_key(one.space, one.session, passage.message, passage.part)
        if key in keys:
            yield key, to_known(one.event, passage)


def find_uses_in_answer(
    answer: LoggedAnswer, known: dict[int, KnownPassage]
) -> Iterable[PassageUse]:
    """The passages given lately that one answer uses: each as given the last time."""
    turn, before = answer
    spoken = [*turn.spoken]
    while spoken and spoken[-1].role == "user":
        spoken.pop()
    given = {key: one.event for one in before for key in one.given}
    if not spoken or not given:
        return
    said = "\n".join(one.text[:MAX_CHARS] for one in spoken if one.role != "user")
    for key, event in given.items():
        passage = known.get(key)
        if passage is None or passage.event >= event:
            continue
        # What the agent said since it was given the passage may come from there.
        heard = [
            message.text[:MAX_CHARS]
            for one in (*before, LoggedTurn(turn.event, spoken, ()))
            for message in one.spoken
            if message.role == "user" or one.event <= event
        ]
        if uses_passage(said, passage.text, heard):
            yield PassageUse(key, event, turn.event)


def uses_passage(answer: str, passage: str, heard: Iterable[str]) -> bool:
    """True if an answer holds enough of what only the passage says; `heard` is what was said in the
    conversation besides.
    """
    known = domain_stop_stems().union(*map(stems_of, heard))
    brought = stems_of(passage) - known
    used = brought & stems_of(answer)
    least = USED_WORDS * (2 if detect_scripts(passage) & PAIRED_SCRIPTS else 1)
    return bool(used) and len(used) >= max(min(least, len(brought)), USED_SHARE * len(brought))
