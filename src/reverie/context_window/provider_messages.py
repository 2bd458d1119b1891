"""Messages of OpenAI's or Anthropic's shape as items, and which of them may go without breaking
their order.

A tool's call and everything that answers it are one item: several calls at once, several answers in
one message, OpenAI's role "tool", Anthropic's parts `tool_use` and `tool_result`, the older
`function_call`. In OpenAI's Responses each call stands by itself, and what was thought before it:
without that the call is refused. What is of no known shape, a call that nobody has answered and an
answer that nobody asked for stay where they are. The first message of the user stays, so that no
conversation begins with the assistant; where user and assistant take turns strictly, they do so
afterwards (`mended`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from reverie.context_window.context_items import SYSTEM, Item
from reverie.context_window.message_parts import (
    OVERHEAD,
    SPEAKERS,
    SYSTEMS,
    TOOLS,
    besides,
    content_text,
    known_shape,
    listed,
    pictures,
    text_of,
    weight,
)
from reverie.context_window.stub_lines import is_line
from reverie.text.host_messages import (
    REASONING,
    called,
    content_of,
    item_call,
    item_type,
    named,
    role_of,
)
from reverie.text.token_counts import Tokenizer

__all__ = [
    "OVERHEAD",
    "SPEAKERS",
    "SYSTEMS",
    "TOOLS",
    "Call",
    "Known",
    "answers_to",
    "call_ids",
    "calls",
    "groups",
    "items_of",
    "listed",
    "mended",
    "takes_turns",
    "text_of",
    "weight",
]

LATEST = 4  # newest messages that stay whatever they weigh
NAMELESS = ""  # stands for the id of a call or an answer that has none
WORDS = ("text", "output_text")  # types of parts that an assistant's plain answer is made of
IN_WORDS = ("function_call_output", "custom_tool_call_output")  # outputs that may be any words
PLANNING = re.compile(r"todo|plan|task", re.IGNORECASE)
READING = re.compile(r"read|view|open|cat\b|get_file|file_content", re.IGNORECASE)
MAPPING = re.compile(r"graph|symbol|callers|references|code_map", re.IGNORECASE)


class Known(NamedTuple):
    """What is known of a message beside what it says."""

    at: float
    task: str = ""
    sticky: bool = False


def items_of(
    messages: Sequence[Any], known: Callable[[int], Known], tokenizer: Tokenizer
) -> list[Item]:
    """The conversation as items, in order; every message is in exactly one."""
    spans = list(groups(messages))
    stays = pinned(messages, [span for span, _ in spans])
    return [
        item_of(messages, span, known, tokenizer, stays.get(span[0], "" if complete else "no pair"))
        for span, complete in spans
    ]


def item_of(
    messages: Sequence[Any],
    span: range,
    known: Callable[[int], Known],
    tokenizer: Tokenizer,
    sticky: str,
) -> Item:
    """The messages of a span as one item."""
    some = [messages[place] for place in span]
    facts = [known(place) for place in span]
    tool = (
        list(dict.fromkeys(line for message in some for line in calls(message)))
        if len(some) > 1
        else []
    )
    texts = [text_of(message) for message in some]
    weights = [weight(message, text, tokenizer) for message, text in zip(some, texts, strict=True)]
    contents = answers_in(some) if tool else plain_answer(some[0]) if len(some) == 1 else []
    answers = [content_text(content) for content in contents]
    name = str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}"
    stays = sticky or ("marked" if any(fact.sticky for fact in facts) else "")
    return Item(
        name,
        tuple(span),
        type_of(some, tool),
        "\n".join(texts),
        tokens=sum(weights),
        at=max(fact.at for fact in facts),
        task=facts[-1].task,
        sticky=stays,
        tool="; ".join(tool),
        answers=len(answers),
        pictures=sum(map(pictures, contents)),
        result=sum(map(tokenizer.count, answers))
        + sum(besides(one, tokenizer) for one in contents),
        line=bool(answers) and all(map(is_line, answers)),
    )


# What belongs together


def groups(messages: Sequence[Any]) -> Iterator[tuple[range, bool]]:
    """(places that belong together, whether nothing is missing in them), in order.

    All answers that follow a call directly belong to it, also a second one to the same id: ids may
    be missing, or the same again.
    """
    place = 0
    while place < len(messages):
        end, came = end_of_output(messages, place), list[str]()
        made = [id for message in messages[place:end] for id in call_ids(message)]
        thought = item_type(messages[end - 1]) == REASONING  # and nothing came of it
        while made and end < len(messages) and pairs(made, found := answers_to(messages[end])):
            came += found
            end += 1
        whole = answers_all(made, came) if made else not answers_to(messages[place])
        yield range(place, end), whole and not thought
        place = end


def end_of_output(messages: Sequence[Any], place: int) -> int:
    """Where what a model gave out at once ends: one message, or calls side by side with what was
    thought and said.
    """
    end, thought = place, False
    while (
        end < len(messages)
        and role_of(messages[end]) == "assistant"
        and (thought or item_type(messages[end]) is not None)
    ):
        thought = thought or item_type(messages[end]) == REASONING
        end += 1
    return max(end, place + 1)


def pairs(made: Sequence[str], came: Sequence[str]) -> bool:
    """Whether some of these answers may belong to these calls; one without an id belongs to
    whatever stands before.
    """
    return bool(came) and (NAMELESS in made or NAMELESS in came or not set(made).isdisjoint(came))


def answers_all(made: Sequence[str], came: Sequence[str]) -> bool:
    """Whether each call has its answer; where ids are missing, whether there are as many."""
    if NAMELESS in made or NAMELESS in came:
        return len(came) >= len(made)
    return Counter(made) <= Counter(came)


class Call(NamedTuple):
    """A call of a tool as it stands in a message."""

    id: str
    tool: Any
    given: Any  # a mapping, or its JSON


def asked(message: Any) -> list[Call]:
    """What a message asks of tools."""
    if role_of(message) != "assistant":
        return []
    found = []
    for call in listed(named(message, "tool_calls")):
        function = named(call, "function") or named(call, "custom")
        found.append(Call(id_of(call, "id"), named(function, "name"), named(function, "arguments")))
    found += [
        Call(id_of(part, "id"), named(part, "name"), named(part, "input"))
        for part in listed(named(message, "content"))
        if named(part, "type") == "tool_use"
    ]
    if (function := named(message, "function_call")) is not None:
        found.append(
            Call(
                f"function {named(function, 'name')}",
                named(function, "name"),
                named(function, "arguments"),
            )
        )
    if (item := item_call(message)) is not None:
        found.append(Call(id_of(message, "call_id"), *item))
    return found


def id_of(thing: Any, name: str) -> str:
    """The id of a call, NAMELESS where it has none."""
    return NAMELESS if (found := named(thing, name)) is None else str(found)


def calls(message: Any) -> list[str]:
    """What a message asks of tools, a line for each call."""
    return [called(call.tool, call.given) for call in asked(message)]


def call_ids(message: Any) -> list[str]:
    """The ids of the calls that a message makes."""
    return [call.id for call in asked(message)]


def answers_to(message: Any) -> list[str]:
    """The ids of the calls that a message answers."""
    role = role_of(message)
    if role == "tool":
        return [id_of(message, "tool_call_id" if item_type(message) is None else "call_id")]
    if role == "function":
        return [f"function {named(message, 'name')}"]
    if role != "user":
        return []
    return [
        id_of(part, "tool_use_id")
        for part in listed(named(message, "content"))
        if named(part, "type") == "tool_result"
    ]


def answers_in(some: Sequence[Any]) -> list[Any]:
    """The contents that may be shortened in calls with their answers; none where the assistant's
    own answer is by.
    """
    if any(plain_answer(message) for message in some):
        return []
    return [content for message in some for content in answered(message)]


def answered(message: Any) -> list[Any]:
    """The contents with which tools answered in a message, as far as they can be shortened."""
    if not isinstance(message, Mapping):
        return []
    if role_of(message) in TOOLS:
        return [content_of(message)] if item_type(message) in (None, *IN_WORDS) else []
    return [
        named(part, "content")
        for part in listed(named(message, "content"))
        if isinstance(part, Mapping) and part.get("type") == "tool_result"
    ]


def plain_answer(message: Any) -> list[Any]:
    """What an assistant answered in words alone; nothing where there is more to its message than
    text.
    """
    content = named(message, "content")
    if role_of(message) != "assistant" or not isinstance(message, Mapping) or asked(message):
        return []
    plain = isinstance(content, str) or all(
        named(part, "type") in WORDS for part in listed(content)
    )
    return [content] if plain and content_text(content) else []


# What stays


def pinned(messages: Sequence[Any], spans: Sequence[range]) -> dict[int, str]:
    """Why items stay whatever they weigh, by the place of their first message."""
    why: dict[int, str] = {}
    asked = [span[0] for span in spans if len(span) == 1 and role_of(messages[span[0]]) == "user"]
    for span in spans:
        first = span[0]
        role = role_of(messages[first])
        if role in SYSTEMS:
            why[first] = "system"
        elif role not in SPEAKERS:
            why[first] = "no known shape" if role not in TOOLS else "no pair"
        elif not known_shape(messages[first]):
            why[first] = "no known shape"
        elif span[-1] >= len(messages) - LATEST:
            why[first] = "newest"
    for place, reason in ((asked[:1], "first question"), (asked[-1:], "last question")):
        for first in place:
            why.setdefault(first, reason)
    return why


def takes_turns(messages: Sequence[Any]) -> bool:
    """Whether user and assistant strictly alternate, system messages apart."""
    roles = [role for message in messages if (role := role_of(message)) not in SYSTEMS]
    return set(roles) <= set(SPEAKERS) and all(a != b for a, b in pairwise(roles))


def mended(items: Sequence[Item], going: set[int], worth: Sequence[float]) -> set[int]:
    """Which of the items `going` (by place in `items`) may go if the roles are still to alternate.

    A stretch that goes as a whole has to be of even length; of an odd one an item stays, the one of
    most worth among those that leave an even number of places before and after them.
    """
    kept: set[int] = set()
    for run in runs(items, going):
        odd = [place for place in run if items[place].places % 2]
        if len(odd) % 2:
            kept.add(max(odd[::2], key=lambda place: (worth[place], place)))
    return going - kept


def runs(items: Sequence[Item], going: set[int]) -> Iterator[list[int]]:
    """The stretches of neighbours that go; system messages between them do not part them."""
    run: list[int] = []
    for place, item in enumerate(items):
        if place in going:
            run.append(place)
        elif item.type != SYSTEM and run:
            yield run
            run = []
    if run:
        yield run


# What is said


def type_of(some: Sequence[Any], tool: Sequence[str]) -> str:
    """A key of TYPES, or what stands for it."""
    role = role_of(some[0])
    if not tool:
        return {
            "system": SYSTEM,
            "developer": SYSTEM,
            "user": "user_message",
            "assistant": "assistant_message",
            "tool": "tool_result",
            "function": "tool_result",
        }.get(role, "unknown")
    if any(own_words(message) for message in some[1:] if role_of(message) == "user"):
        return "user_message"
    names = [line[1:].split(" ", 1)[0].rstrip("]") for line in tool]
    for pattern, type in (
        (PLANNING, "task_state"),
        (MAPPING, "graph_result"),
        (READING, "code_snippet"),
    ):
        if all(pattern.search(name) for name in names):
            return type
    return "tool_result"


def own_words(message: Any) -> bool:
    """Whether a message that answers tools holds words of the user as well."""
    return any(
        named(part, "type") == "text" and str(named(part, "text") or "").strip()
        for part in listed(named(message, "content"))
    )
