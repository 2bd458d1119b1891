"""Condensing a conversation, by words or by a model, and writing down an episode of what left.

`condense_messages` decides and changes nothing: a model that is away, or whose answer is not good
enough, leaves what was chosen without it. `record_episode` writes one episode that says in a few
lines what left, so that the day's log has it, each line with who said it, and none that addresses
the agent. Passages are kept by `evicted_excerpts`; facts, preferences and procedures are learned
from the turns, as always, and so only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie.context_window.condensing.condense_strategies import get_condense_strategy
from reverie.context_window.condensing.summary_draft import (
    CondensedMessages,
    CondenseDraft,
    draft_condensing,
    finish_condensing,
    fit_summary_lines,
    leave_unchanged,
)
from reverie.context_window.condensing.summary_lines import MAX_LINE_CHARS, SummaryLine, is_summary
from reverie.context_window.message_parts import Messages, count_message_tokens, get_message_text
from reverie.context_window.provider_messages import MessageLookup
from reverie.context_window.stub_lines import cut_at_word
from reverie.context_window.window_fitting import FitRequest, check_message_list
from reverie.core import clock
from reverie.core.kinds import EVENT
from reverie.core.model import Add, Event, Filter
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import build_memory
from reverie.pipeline.conversation_events import lesson_space_of
from reverie.privacy.prompt_injection import find_prompt_injection
from reverie.privacy.redacted_text import redact_short_text
from reverie.text.host_messages import HostMessage, split_message

if TYPE_CHECKING:
    from reverie.llm.language_model import LanguageModel
    from reverie.storage import Store

BY_WORDS = "words"
# Between two times that a conversation is condensed.
COOLDOWN_SECONDS = 300.0
# Below which nothing is condensed.
MIN_MESSAGES = 10
# Lines of an episode.
MAX_EPISODE_LINES = 12
# Newest episodes of a conversation among which the same one is looked for.
MAX_KNOWN_EPISODES = 1_000


class ConversationFacts(NamedTuple):
    """Facts about a conversation besides its messages."""

    space: str
    session: str = ""
    last: float | None = None  # when it was condensed last
    known: MessageLookup | None = None
    numbers: Sequence[int] = ()


class CondensedEpisode(NamedTuple):
    """An episode: what a stretch of a conversation was about."""

    lines: tuple[SummaryLine, ...]
    messages: tuple[int, int]
    by: str
    asked: str = ""  # the user's question that stands last before them


def condense_messages(
    messages: Messages,
    wish: FitRequest,
    about: ConversationFacts,
    now: float,
    llm: LanguageModel | None = None,
) -> CondensedMessages:
    """The messages to go on with; the given ones, with the reason, where it is not time yet or
    nothing may leave.
    """
    get_condense_strategy(wish.strategy, wish.limit)
    used = sum(
        count_message_tokens(message, get_message_text(message), wish.tokenizer)
        for message in check_message_list(messages)
    )
    why = explain_too_early(
        used,
        wish.limit,
        len(messages),
        about.last,
        now,
        wish.start,
    )
    if why:
        return leave_unchanged(messages, wish, used, why)
    # The draft by words comes first: a model that is away, or refused, leaves it as it is.
    made = draft_condensing(
        messages,
        wish,
        now,
        known=about.known,
        numbers=about.numbers,
        session=about.session,
    )
    return summarize_by_model(made, about, llm) or finish_condensing(
        made, fit_summary_lines(made, made.lines), BY_WORDS
    )


def explain_too_early(
    used: int,
    limit: int,
    messages: int,
    last: float | None,
    now: float,
    full: float,
) -> str:
    """Why it is not time yet, in a few words; empty if it is.

    `used` of `limit` tokens are taken by so many messages, and it was done `last`, if ever; it is
    time from the share `full` on (the setting `condense_at`).
    """
    if used < full * limit:
        return f"{used:,} of {limit:,} tokens are used; it is time from {full:.0%} on"
    if messages < MIN_MESSAGES:
        return f"{messages} messages; it is worth it from {MIN_MESSAGES} on"
    if last is not None and 0 <= now - last < COOLDOWN_SECONDS:
        return f"it was done {now - last:.0f} seconds ago; {COOLDOWN_SECONDS:.0f} have to pass"
    return ""


def summarize_by_model(
    made: CondenseDraft,
    about: ConversationFacts,
    llm: LanguageModel | None,
) -> CondensedMessages | None:
    """The draft with lines that a model wrote; None without one or without a useful answer."""
    if llm is None or not made.lines or not made.placed:
        return None
    from reverie.llm import summary_task

    said = summary_task.select_shown_messages(
        [HostMessage(line.who, line.text, line.number) for line in made.lines]
    )
    answer = llm.ask(
        summary_task.build_summary_request(said, made.room),
        lambda text: summary_task.read_summary(text, said),
        space=about.space,
        session=about.session,
    )
    lines = fit_summary_lines(
        made,
        [
            SummaryLine(
                one.place,
                one.role,
                one.text,
            )
            for one in answer.value or ()
        ],
    )
    return finish_condensing(made, lines, llm.name) if lines else None


def make_episode(
    made: CondensedMessages,
    numbers: Sequence[int],
    policy: Policy,
) -> CondensedEpisode | None:
    """The episode of what left just now; None if nothing can be said of it."""
    gone = {numbers[place] for item in made.left for place in item.messages}
    about = [line for line in made.lines if line.number in gone]
    lines = [line for line in about if not find_prompt_injection(line.text)]
    if not lines:
        return None
    span = (min(gone), max(gone))
    question = find_last_question(made, policy)
    return CondensedEpisode(tuple(lines[:MAX_EPISODE_LINES]), span, made.by, question)


def find_last_question(made: CondensedMessages, policy: Policy) -> str:
    """What the user had asked for when what left was said, not what a tool answered; else empty."""
    first = min(item.messages[0] for item in made.left)
    texts: list[str] = []
    for place, message in zip(made.origin, made.messages, strict=True):
        if place < first:
            said = split_message(message, place)
            texts += [one.text for one in said if one.role == "user"]
    questions = [text for text in texts if not is_summary(text)]
    if not questions:
        return ""
    return cut_at_word(redact_short_text(questions[-1], policy), MAX_LINE_CHARS)


def record_episode(
    store: Store,
    one: CondensedEpisode,
    compact: Event,
    policy: Policy,
) -> bool:
    """Write an episode down, unless one of the same messages is known; True if it was written. One
    transaction.

    `compact` is the event by which hosts say that they shorten a context: readers that wait for
    more take it as the end of a part. The episode belongs where the conversation's lessons go.
    """
    home, (first, last) = lesson_space_of(compact), one.messages
    with store.transaction():
        episodes = Filter(
            spaces=(home,),
            kinds=(EVENT,),
            session=compact.session,
            limit=MAX_KNOWN_EPISODES,
        )
        condensed = [memory for memory in store.browse(episodes) if memory.details.get("condensed")]
        if any(memory.messages == one.messages for memory in condensed):
            return False
        text = "\n".join(f"{line.who}: {line.text}" for line in one.lines)
        what = f"{one.asked}\nMessages {first} to {last} of this conversation:\n{text}".strip()
        memory = build_memory(
            clock.new_id(),
            compact.at,
            what,
            space=home,
            kind=EVENT,
            at=compact.at,
            session=compact.session,
            messages=one.messages,
            provenance="observed",
            details={"condensed": one.by},
            policy=policy,
        )
        store.apply([Add(memory)], compact)
    return True
