"""A conversation condensed, by words or by a model, and what of it is written down (C100–C110).

`condensed` decides and changes nothing: a model that is away, or whose answer is not good enough,
leaves what was chosen without it (CC-71). `tell` writes down one episode that says in a few lines
what left, so that the day's log has it, each line with who said it, and none that addresses the
agent; the passages are kept by `leaving`. Facts, preferences and procedures are learned from the
turns, as always, and so only once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.context_window.condensing.condense_strategies import wanted
from reverie.context_window.condensing.condense_timing import too_early
from reverie.context_window.condensing.summary_draft import (
    Condensed,
    Draft,
    draft,
    finished,
    fitting,
    untouched,
)
from reverie.context_window.condensing.summary_lines import LONGEST, Line, is_summary
from reverie.context_window.provider_messages import Known, text_of, weight
from reverie.context_window.stub_lines import cut
from reverie.context_window.window_fitting import Wish, checked
from reverie.core import clock
from reverie.core.model import Add, Event, Filter
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import built
from reverie.pipeline.conversation_events import home_of
from reverie.privacy.prompt_injection import planted
from reverie.privacy.redacted_text import private
from reverie.text.host_messages import Said, said_by

if TYPE_CHECKING:
    from reverie.llm.language_model import Llm
    from reverie.storage import Store

BY_WORDS = "words"
TOLD = 12  # lines of an episode
KNOWN = 1_000  # newest episodes of a conversation among which the same one is looked for


class About(NamedTuple):
    """What is known of a conversation beside its messages."""

    space: str
    session: str = ""
    last: float | None = None  # when it was condensed last
    known: Callable[[int], Known] | None = None
    numbers: Sequence[int] = ()


class Told(NamedTuple):
    """An episode: what a stretch of a conversation was about."""

    lines: tuple[Line, ...]
    messages: tuple[int, int]
    by: str
    asked: str = ""  # the user's question that stands last before them


def condensed(
    messages: Sequence[Any], wish: Wish, about: About, now: float, llm: Llm | None = None
) -> Condensed:
    """The messages to go on with; the given ones, with the reason, where it is not time yet or
    nothing may leave.
    """
    wanted(wish.strategy, wish.limit)
    used = sum(weight(message, text_of(message), wish.tokenizer) for message in checked(messages))
    why = too_early(used, wish.limit, len(messages), about.last, now, wish.start)
    if why:
        return untouched(messages, wish, used, why)
    made = draft(
        messages, wish, now, known=about.known, numbers=about.numbers, session=about.session
    )
    return by_model(made, about, llm) or finished(made, fitting(made, made.lines), BY_WORDS)


def by_model(made: Draft, about: About, llm: Llm | None) -> Condensed | None:
    """The same with lines that a model wrote; None without one, or where its answer is
    no summary.
    """
    if llm is None or not made.lines or not made.placed:
        return None
    from reverie.llm import summary_task

    said = summary_task.shown([Said(line.who, line.text, line.number) for line in made.lines])
    answer = llm.ask(
        summary_task.request(said, made.room),
        lambda text: summary_task.read(text, said),
        space=about.space,
        session=about.session,
    )
    lines = fitting(made, [Line(one.place, one.role, one.text) for one in answer.value or ()])
    return finished(made, lines, llm.name) if lines else None


def told(made: Condensed, numbers: Sequence[int], policy: Policy) -> Told | None:
    """The episode of what left just now; None if nothing can be said of it."""
    now_gone = [numbers[place] for item in made.left for place in item.messages]
    lines = [line for line in made.lines if line.number in set(now_gone) and not planted(line.text)]
    return (
        Told(tuple(lines[:TOLD]), (min(now_gone), max(now_gone)), made.by, asked(made, policy))
        if lines
        else None
    )


def asked(made: Condensed, policy: Policy) -> str:
    """What the user had asked for when what left was said, not what a tool answered; empty if that
    is nowhere.
    """
    first = min(item.messages[0] for item in made.left)
    before = [
        one.text
        for place, message in zip(made.origin, made.messages, strict=True)
        if place < first
        for one in said_by(message, place)
        if one.role == "user"
    ]
    words = [text for text in before if not is_summary(text)]
    return cut(private(words[-1], policy), LONGEST) if words else ""


def tell(store: Store, one: Told, compact: Event, policy: Policy) -> bool:
    """Write an episode down, unless one of the same messages is known; whether it was. One
    transaction.

    `compact` is the event by which hosts say that they shorten a context: readers that wait for
    more take it as the end of a part. The episode belongs where the conversation's lessons go.
    """
    home, (first, last) = home_of(compact), one.messages
    with store.alone():
        known = store.browse(
            Filter(spaces=(home,), kinds=("event",), session=compact.session, limit=KNOWN)
        )
        if any(
            memory.messages == one.messages and memory.details.get("condensed") for memory in known
        ):
            return False
        text = "\n".join(f"{line.who}: {line.text}" for line in one.lines)
        what = f"{one.asked}\nMessages {first} to {last} of this conversation:\n{text}".strip()
        memory = built(
            clock.new_id(),
            compact.at,
            what,
            space=home,
            kind="event",
            at=compact.at,
            session=compact.session,
            messages=one.messages,
            provenance="observed",
            details={"condensed": one.by},
            policy=policy,
        )
        store.apply([Add(memory)], compact)
    return True
