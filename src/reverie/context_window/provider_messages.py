"""Messages of OpenAI's or Anthropic's shape as items, and which of them may go without breaking
their order.

A tool's call and everything that answers it are one item: several calls at once, several answers in
one message, OpenAI's role "tool", Anthropic's parts `tool_use` and `tool_result`, the older
`function_call`. In OpenAI's Responses each call stands by itself, and what was thought before it:
without that the call is refused.

Always true: what is of no known shape, a call that nobody has answered and an answer that nobody
asked for stay where they are. The first message of the user stays, so that no conversation begins
with the assistant; where user and assistant take turns strictly, they do so afterwards
(`keep_alternation`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from reverie.context_window.context_items import SYSTEM, ContextItem
from reverie.context_window.message_parts import (
    SPEAKER_ROLES,
    SYSTEM_ROLES,
    TOOL_ROLES,
    Messages,
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

# Newest messages that stay whatever they weigh.
NEWEST_KEPT = 4
# Stands for the id of a call or an answer that has none.
NO_ID = ""
# Types of parts that an assistant's plain answer is made of.
ANSWER_PART_TYPES = ("text", "output_text")
# Outputs that may be any words.
TEXT_OUTPUT_TYPES = ("function_call_output", "custom_tool_call_output")
# Types by the names of the tools that were called, whatever their case; the first that fits.
TOOL_TYPES = {
    "task_state": r"todo|plan|task",
    "graph_result": r"graph|symbol|callers|references|code_map",
    "code_snippet": r"read|view|open|cat\b|get_file|file_content",
}
ROLE_TYPES = {
    "system": SYSTEM,
    "developer": SYSTEM,
    "user": "user_message",
    "assistant": "assistant_message",
    "tool": "tool_result",
    "function": "tool_result",
}


class MessageFacts(NamedTuple):
    """Facts about a message besides its text."""

    at: float
    task: str = ""
    sticky: bool = False


MessageLookup: TypeAlias = Callable[[int], MessageFacts]
"""What is known of the message at a place."""


def split_context_items(
    messages: Messages,
    known: MessageLookup,
    tokenizer: Tokenizer,
) -> list[ContextItem]:
    """The conversation as items, in order; every message is in exactly one."""
    spans = list(group_messages(messages))
    stays = find_pinned_items(messages, [span for span, _ in spans])
    return [
        make_context_item(
            messages,
            span,
            known,
            tokenizer,
            stays.get(
                span[0],
                "" if complete else "no pair",
            ),
        )
        for span, complete in spans
    ]


def make_context_item(
    messages: Messages,
    span: range,
    known: MessageLookup,
    tokenizer: Tokenizer,
    sticky: str,
) -> ContextItem:
    """The messages of a span as one item."""
    members = [messages[place] for place in span]
    facts = [known(place) for place in span]
    texts = [get_message_text(message) for message in members]
    weights = [
        count_message_tokens(message, text, tokenizer)
        for message, text in zip(members, texts, strict=True)
    ]
    tool: list[str] = []
    if len(members) == 1:
        contents = get_plain_answer(members[0])
    else:
        for message in members:
            tool += describe_calls(message)
        tool = list(dict.fromkeys(tool))
        contents = list_shortenable_contents(members) if tool else []
    answers = [get_content_text(content) for content in contents]
    beside_text = sum(count_nontext_tokens(content, tokenizer) for content in contents)
    if not sticky and any(fact.sticky for fact in facts):
        sticky = "marked"
    return ContextItem(
        str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}",
        tuple(span),
        classify_item(members, tool),
        "\n".join(texts),
        tokens=sum(weights),
        at=max(fact.at for fact in facts),
        task=facts[-1].task,
        sticky=sticky,
        tool="; ".join(tool),
        answer_count=len(answers),
        picture_count=sum(map(count_pictures, contents)),
        answer_tokens=sum(map(tokenizer.count, answers)) + beside_text,
        is_stub=bool(answers) and all(map(is_stub, answers)),
    )


# What belongs together


def group_messages(messages: Messages) -> Iterator[tuple[range, bool]]:
    """(places that belong together, True if nothing is missing in them), in order.

    All answers that follow a call directly belong to it, also a second one to the same id: ids may
    be missing, or the same again.
    """
    place = 0
    while place < len(messages):
        end, came = find_output_end(messages, place), list[str]()
        made = [id for message in messages[place:end] for id in list_call_ids(message)]
        # OpenAI refuses a call without the reasoning before it, so the two are one item.
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


def find_output_end(messages: Messages, place: int) -> int:
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
    """True if some of these answers may belong to these calls; one without an id belongs to
    whatever stands before.
    """
    return bool(came) and (NO_ID in made or NO_ID in came or not set(made).isdisjoint(came))


def has_all_answers(made: Sequence[str], came: Sequence[str]) -> bool:
    """True if each call has its answer; where ids are missing, if there are as many."""
    if NO_ID in made or NO_ID in came:
        return len(came) >= len(made)
    return Counter(made) <= Counter(came)


class ProviderToolCall(NamedTuple):
    """A call of a tool as it stands in a message."""

    id: str
    tool: Any
    given: Any  # a mapping, or its JSON


def list_tool_calls(message: Any) -> list[ProviderToolCall]:
    """The tool calls that a message makes."""
    if role_of(message) != "assistant":
        return []
    calls = []
    for call in as_sequence(get_field(message, "tool_calls")):
        function = get_field(call, "function") or get_field(call, "custom")
        calls.append(read_tool_call(get_call_id(call, "id"), function, "arguments"))
    parts = as_sequence(get_field(message, "content"))
    uses = [part for part in parts if get_field(part, "type") == "tool_use"]
    calls += [read_tool_call(get_call_id(part, "id"), part, "input") for part in uses]
    function = get_field(message, "function_call")
    if function is not None:
        # The older shape has no ids: a function's answer names the function.
        id = f"function {get_field(function, 'name')}"
        calls.append(read_tool_call(id, function, "arguments"))
    item = parse_item_call(message)
    if item is not None:
        calls.append(ProviderToolCall(get_call_id(message, "call_id"), *item))
    return calls


def read_tool_call(
    id: str,
    call: Any,
    arguments: str,
) -> ProviderToolCall:
    """A call with its name and what stands under `arguments`."""
    return ProviderToolCall(id, get_field(call, "name"), get_field(call, arguments))


def get_call_id(thing: Any, name: str) -> str:
    """The id of a call, NO_ID where it has none."""
    found = get_field(thing, name)
    return NO_ID if found is None else str(found)


def describe_calls(message: Any) -> list[str]:
    """A line for each tool call that a message makes."""
    return [format_tool_call(call.tool, call.given) for call in list_tool_calls(message)]


def list_call_ids(message: Any) -> list[str]:
    """The ids of the calls that a message makes."""
    return [call.id for call in list_tool_calls(message)]


def list_answered_ids(message: Any) -> list[str]:
    """The ids of the calls that a message answers."""
    role = role_of(message)
    if role == "tool":
        is_item = item_type_of(message) is not None
        return [get_call_id(message, "call_id" if is_item else "tool_call_id")]
    if role == "function":
        return [f"function {get_field(message, 'name')}"]
    if role != "user":
        return []
    return [
        get_call_id(part, "tool_use_id")
        for part in as_sequence(get_field(message, "content"))
        if get_field(part, "type") == "tool_result"
    ]


def list_shortenable_contents(some: Messages) -> list[Any]:
    """The contents that may be shortened in calls with their answers; none beside the assistant's
    own answer.
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
    """The content that an assistant answered in words alone; none where there is more than text."""
    if role_of(message) != "assistant" or not isinstance(message, Mapping):
        return []
    content = get_field(message, "content")
    types = [get_field(part, "type") for part in as_sequence(content)]
    is_text = isinstance(content, str) or all(kind in ANSWER_PART_TYPES for kind in types)
    if not is_text or list_tool_calls(message):
        return []
    return [content] if get_content_text(content) else []


# What stays


def find_pinned_items(messages: Messages, spans: Sequence[range]) -> dict[int, str]:
    """Why items stay whatever they weigh, by the place of their first message."""
    pinned: dict[int, str] = {}
    questions = []
    for span in spans:
        first = span[0]
        if len(span) == 1 and role_of(messages[first]) == "user":
            questions.append(first)
        reason = explain_shape(messages[first])
        if not reason and span[-1] >= len(messages) - NEWEST_KEPT:
            reason = "newest"
        if reason:
            pinned[first] = reason
    if questions:
        # Without the first, a conversation would begin with the assistant, which Anthropic refuses.
        pinned.setdefault(questions[0], "first question")
        pinned.setdefault(questions[-1], "last question")
    return pinned


def explain_shape(message: Any) -> str:
    """Why a message stays for its role or shape; empty if it may go."""
    role = role_of(message)
    if role in SYSTEM_ROLES:
        return "system"
    if role in TOOL_ROLES:
        return "no pair"
    return "" if role in SPEAKER_ROLES and has_known_shape(message) else "no known shape"


def has_strict_turns(messages: Messages) -> bool:
    """True if user and assistant strictly alternate, system messages apart."""
    roles = [role_of(message) for message in messages]
    speakers = [role for role in roles if role not in SYSTEM_ROLES]
    return set(speakers) <= set(SPEAKER_ROLES) and all(a != b for a, b in pairwise(speakers))


def keep_alternation(
    items: Sequence[ContextItem],
    going: set[int],
    worth: Sequence[float],
) -> set[int]:
    """Which of the items `going` (by place in `items`) may go if the roles are still to alternate.

    A stretch that goes as a whole has to be of even length; of an odd one an item stays, the one of
    most worth among those that leave an even number of messages before and after them.
    """
    kept: set[int] = set()
    for stretch in iterate_leaving_stretches(items, going):
        odd = [place for place in stretch if items[place].message_count % 2]
        if len(odd) % 2:
            # Every second of the odd ones leaves an even number before and behind it.
            kept.add(max(odd[::2], key=lambda place: (worth[place], place)))
    return going - kept


def iterate_leaving_stretches(
    items: Sequence[ContextItem],
    going: set[int],
) -> Iterator[list[int]]:
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


def classify_item(members: Messages, tool: Sequence[str]) -> str:
    """A key of TYPE_WEIGHTS, or "unknown"; `tool` are the item's calls, a line each."""
    if not tool:
        return ROLE_TYPES.get(role_of(members[0]), "unknown")
    if any(role_of(message) == "user" and has_own_words(message) for message in members[1:]):
        return "user_message"
    names = [line[1:].split(" ", 1)[0].rstrip("]") for line in tool]
    for type, pattern in TOOL_TYPES.items():
        if all(re.search(pattern, name, re.IGNORECASE) for name in names):
            return type
    return "tool_result"


def has_own_words(message: Any) -> bool:
    """True if a message that answers tools holds words of the user as well."""
    return any(
        get_field(part, "type") == "text" and str(get_field(part, "text") or "").strip()
        for part in as_sequence(get_field(message, "content"))
    )
