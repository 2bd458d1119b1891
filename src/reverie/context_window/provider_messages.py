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

from reverie.context_window.context_items import SYSTEM, ContextItem
from reverie.context_window.message_parts import (
    MESSAGE_OVERHEAD,
    SPEAKER_ROLES,
    SYSTEM_ROLES,
    TOOL_ROLES,
    as_sequence,
    count_message_tokens,
    count_nontext_tokens,
    count_pictures,
    get_content_text,
    get_message_text,
    has_known_shape,
)
from reverie.context_window.stub_lines import is_stub
from reverie.text.host_messages import (
    REASONING,
    format_tool_call,
    get_content,
    get_field,
    item_type_of,
    parse_item_call,
    role_of,
)
from reverie.text.token_counts import Tokenizer

__all__ = [
    "MESSAGE_OVERHEAD",
    "SPEAKER_ROLES",
    "SYSTEM_ROLES",
    "TOOL_ROLES",
    "MessageFacts",
    "ProviderToolCall",
    "as_sequence",
    "count_message_tokens",
    "describe_calls",
    "get_message_text",
    "group_messages",
    "has_strict_turns",
    "keep_alternation",
    "list_answered_ids",
    "list_call_ids",
    "split_context_items",
]

NEWEST_KEPT = 4  # newest messages that stay whatever they weigh
NO_ID = ""  # stands for the id of a call or an answer that has none
ANSWER_PART_TYPES = (
    "text",
    "output_text",
)  # types of parts that an assistant's plain answer is made of
TEXT_OUTPUT_TYPES = (
    "function_call_output",
    "custom_tool_call_output",
)  # outputs that may be any words
PLANNING_TOOL = re.compile(r"todo|plan|task", re.IGNORECASE)
READING_TOOL = re.compile(r"read|view|open|cat\b|get_file|file_content", re.IGNORECASE)
MAPPING_TOOL = re.compile(r"graph|symbol|callers|references|code_map", re.IGNORECASE)


class MessageFacts(NamedTuple):
    """What is known of a message beside what it says."""

    at: float
    task: str = ""
    sticky: bool = False


def split_context_items(
    messages: Sequence[Any], known: Callable[[int], MessageFacts], tokenizer: Tokenizer
) -> list[ContextItem]:
    """The conversation as items, in order; every message is in exactly one."""
    spans = list(group_messages(messages))
    stays = find_pinned_items(messages, [span for span, _ in spans])
    return [
        make_context_item(
            messages, span, known, tokenizer, stays.get(span[0], "" if complete else "no pair")
        )
        for span, complete in spans
    ]


def make_context_item(
    messages: Sequence[Any],
    span: range,
    known: Callable[[int], MessageFacts],
    tokenizer: Tokenizer,
    sticky: str,
) -> ContextItem:
    """The messages of a span as one item."""
    some = [messages[place] for place in span]
    facts = [known(place) for place in span]
    tool = (
        list(dict.fromkeys(line for message in some for line in describe_calls(message)))
        if len(some) > 1
        else []
    )
    texts = [get_message_text(message) for message in some]
    weights = [
        count_message_tokens(message, text, tokenizer)
        for message, text in zip(some, texts, strict=True)
    ]
    contents = (
        list_shortenable_contents(some)
        if tool
        else get_plain_answer(some[0])
        if len(some) == 1
        else []
    )
    answers = [get_content_text(content) for content in contents]
    name = str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}"
    stays = sticky or ("marked" if any(fact.sticky for fact in facts) else "")
    return ContextItem(
        name,
        tuple(span),
        classify_item(some, tool),
        "\n".join(texts),
        tokens=sum(weights),
        at=max(fact.at for fact in facts),
        task=facts[-1].task,
        sticky=stays,
        tool="; ".join(tool),
        answer_count=len(answers),
        picture_count=sum(map(count_pictures, contents)),
        answer_tokens=sum(map(tokenizer.count, answers))
        + sum(count_nontext_tokens(one, tokenizer) for one in contents),
        is_stub=bool(answers) and all(map(is_stub, answers)),
    )


# What belongs together


def group_messages(messages: Sequence[Any]) -> Iterator[tuple[range, bool]]:
    """(places that belong together, whether nothing is missing in them), in order.

    All answers that follow a call directly belong to it, also a second one to the same id: ids may
    be missing, or the same again.
    """
    place = 0
    while place < len(messages):
        end, came = find_output_end(messages, place), list[str]()
        made = [id for message in messages[place:end] for id in list_call_ids(message)]
        thought = item_type_of(messages[end - 1]) == REASONING  # and nothing came of it
        while (
            made
            and end < len(messages)
            and may_answer_calls(made, found := list_answered_ids(messages[end]))
        ):
            came += found
            end += 1
        whole = has_all_answers(made, came) if made else not list_answered_ids(messages[place])
        yield range(place, end), whole and not thought
        place = end


def find_output_end(messages: Sequence[Any], place: int) -> int:
    """Where what a model gave out at once ends: one message, or calls side by side with what was
    thought and said.
    """
    end, thought = place, False
    while (
        end < len(messages)
        and role_of(messages[end]) == "assistant"
        and (thought or item_type_of(messages[end]) is not None)
    ):
        thought = thought or item_type_of(messages[end]) == REASONING
        end += 1
    return max(end, place + 1)


def may_answer_calls(made: Sequence[str], came: Sequence[str]) -> bool:
    """Whether some of these answers may belong to these calls; one without an id belongs to
    whatever stands before.
    """
    return bool(came) and (NO_ID in made or NO_ID in came or not set(made).isdisjoint(came))


def has_all_answers(made: Sequence[str], came: Sequence[str]) -> bool:
    """Whether each call has its answer; where ids are missing, whether there are as many."""
    if NO_ID in made or NO_ID in came:
        return len(came) >= len(made)
    return Counter(made) <= Counter(came)


class ProviderToolCall(NamedTuple):
    """A call of a tool as it stands in a message."""

    id: str
    tool: Any
    given: Any  # a mapping, or its JSON


def list_tool_calls(message: Any) -> list[ProviderToolCall]:
    """What a message asks of tools."""
    if role_of(message) != "assistant":
        return []
    found = []
    for call in as_sequence(get_field(message, "tool_calls")):
        function = get_field(call, "function") or get_field(call, "custom")
        found.append(
            ProviderToolCall(
                get_call_id(call, "id"),
                get_field(function, "name"),
                get_field(function, "arguments"),
            )
        )
    found += [
        ProviderToolCall(get_call_id(part, "id"), get_field(part, "name"), get_field(part, "input"))
        for part in as_sequence(get_field(message, "content"))
        if get_field(part, "type") == "tool_use"
    ]
    if (function := get_field(message, "function_call")) is not None:
        found.append(
            ProviderToolCall(
                f"function {get_field(function, 'name')}",
                get_field(function, "name"),
                get_field(function, "arguments"),
            )
        )
    if (item := parse_item_call(message)) is not None:
        found.append(ProviderToolCall(get_call_id(message, "call_id"), *item))
    return found


def get_call_id(thing: Any, name: str) -> str:
    """The id of a call, NAMELESS where it has none."""
    return NO_ID if (found := get_field(thing, name)) is None else str(found)


def describe_calls(message: Any) -> list[str]:
    """What a message asks of tools, a line for each call."""
    return [format_tool_call(call.tool, call.given) for call in list_tool_calls(message)]


def list_call_ids(message: Any) -> list[str]:
    """The ids of the calls that a message makes."""
    return [call.id for call in list_tool_calls(message)]


def list_answered_ids(message: Any) -> list[str]:
    """The ids of the calls that a message answers."""
    role = role_of(message)
    if role == "tool":
        return [
            get_call_id(message, "tool_call_id" if item_type_of(message) is None else "call_id")
        ]
    if role == "function":
        return [f"function {get_field(message, 'name')}"]
    if role != "user":
        return []
    return [
        get_call_id(part, "tool_use_id")
        for part in as_sequence(get_field(message, "content"))
        if get_field(part, "type") == "tool_result"
    ]


def list_shortenable_contents(some: Sequence[Any]) -> list[Any]:
    """The contents that may be shortened in calls with their answers; none where the assistant's
    own answer is by.
    """
    if any(get_plain_answer(message) for message in some):
        return []
    return [content for message in some for content in list_tool_contents(message)]


def list_tool_contents(message: Any) -> list[Any]:
    """The contents with which tools answered in a message, as far as they can be shortened."""
    if not isinstance(message, Mapping):
        return []
    if role_of(message) in TOOL_ROLES:
        return [get_content(message)] if item_type_of(message) in (None, *TEXT_OUTPUT_TYPES) else []
    return [
        get_field(part, "content")
        for part in as_sequence(get_field(message, "content"))
        if isinstance(part, Mapping) and part.get("type") == "tool_result"
    ]


def get_plain_answer(message: Any) -> list[Any]:
    """What an assistant answered in words alone; nothing where there is more to its message than
    text.
    """
    content = get_field(message, "content")
    if (
        role_of(message) != "assistant"
        or not isinstance(message, Mapping)
        or list_tool_calls(message)
    ):
        return []
    plain = isinstance(content, str) or all(
        get_field(part, "type") in ANSWER_PART_TYPES for part in as_sequence(content)
    )
    return [content] if plain and get_content_text(content) else []


# What stays


def find_pinned_items(messages: Sequence[Any], spans: Sequence[range]) -> dict[int, str]:
    """Why items stay whatever they weigh, by the place of their first message."""
    why: dict[int, str] = {}
    asked = [span[0] for span in spans if len(span) == 1 and role_of(messages[span[0]]) == "user"]
    for span in spans:
        first = span[0]
        role = role_of(messages[first])
        if role in SYSTEM_ROLES:
            why[first] = "system"
        elif role not in SPEAKER_ROLES:
            why[first] = "no known shape" if role not in TOOL_ROLES else "no pair"
        elif not has_known_shape(messages[first]):
            why[first] = "no known shape"
        elif span[-1] >= len(messages) - NEWEST_KEPT:
            why[first] = "newest"
    for place, reason in ((asked[:1], "first question"), (asked[-1:], "last question")):
        for first in place:
            why.setdefault(first, reason)
    return why


def has_strict_turns(messages: Sequence[Any]) -> bool:
    """Whether user and assistant strictly alternate, system messages apart."""
    roles = [role for message in messages if (role := role_of(message)) not in SYSTEM_ROLES]
    return set(roles) <= set(SPEAKER_ROLES) and all(a != b for a, b in pairwise(roles))


def keep_alternation(
    items: Sequence[ContextItem], going: set[int], worth: Sequence[float]
) -> set[int]:
    """Which of the items `going` (by place in `items`) may go if the roles are still to alternate.

    A stretch that goes as a whole has to be of even length; of an odd one an item stays, the one of
    most worth among those that leave an even number of places before and after them.
    """
    kept: set[int] = set()
    for run in iterate_leaving_stretches(items, going):
        odd = [place for place in run if items[place].message_count % 2]
        if len(odd) % 2:
            kept.add(max(odd[::2], key=lambda place: (worth[place], place)))
    return going - kept


def iterate_leaving_stretches(items: Sequence[ContextItem], going: set[int]) -> Iterator[list[int]]:
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


def classify_item(some: Sequence[Any], tool: Sequence[str]) -> str:
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
    if any(has_own_words(message) for message in some[1:] if role_of(message) == "user"):
        return "user_message"
    names = [line[1:].split(" ", 1)[0].rstrip("]") for line in tool]
    for pattern, type in (
        (PLANNING_TOOL, "task_state"),
        (MAPPING_TOOL, "graph_result"),
        (READING_TOOL, "code_snippet"),
    ):
        if all(pattern.search(name) for name in names):
            return type
    return "tool_result"


def has_own_words(message: Any) -> bool:
    """Whether a message that answers tools holds words of the user as well."""
    return any(
        get_field(part, "type") == "text" and str(get_field(part, "text") or "").strip()
        for part in as_sequence(get_field(message, "content"))
    )
