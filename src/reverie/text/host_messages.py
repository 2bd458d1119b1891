"""A host's messages, read in the caller's path: who said what, and which of it is new.

Taken are lists of messages in OpenAI or Anthropic shape, as mappings or as objects with the same
names; among them may be items of OpenAI's Responses, which have a type instead of a role: calls,
outputs, what was thought. What a tool answered is never the user's word, whoever's message it
stands in: it becomes a message of the role "tool". Everything here is a matter of microseconds;
secrets are taken out later, in the background, so more is kept of a long message than will be
written down: no cut may go through a secret that is still to be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps, loads
from re import MULTILINE
from re import compile as compiled
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.private_passages import CUT_MARGIN, CUT_MARK, tags_in_cut

# characters of one message that are kept in the end: its beginning and its end
HEAD_CHARS, TAIL_CHARS = (
    8_000,
    16_000,
)
MAX_MESSAGE_CHARS = HEAD_CHARS + TAIL_CHARS
MAX_CONTENT_DEPTH = 4  # lists within lists in one message
COMPARED_MESSAGES, KEPT_PRINTS = (
    60,
    40,
)  # newest messages that are compared, and prints kept of the turn before
# characters of one argument of a tool's call that are shown, and how many arguments
MAX_ARGUMENT_CHARS, MAX_ARGUMENTS = (
    300,
    12,
)
COMMAND_ARGUMENTS = ("command", "cmd", "script")  # arguments that a shell is given
MAX_ROLE_CHARS = 200  # characters of a role that are looked at
TEXT_PARTS = (None, "", "text", "input_text")  # types of parts that are the speaker's own words
REASONING = "reasoning"
CALL_TYPES = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
)
OUTPUT_TYPES = tuple(f"{call}_output" for call in CALL_TYPES)
ROLE_BY_ITEM_TYPE = {
    REASONING: "assistant",
    **dict.fromkeys(CALL_TYPES, "assistant"),
    **dict.fromkeys(OUTPUT_TYPES, "tool"),
}

MessagePrint = int


@dataclass(frozen=True, slots=True)
class HostMessage:
    """One message of a conversation. `place` is its number there, where that is known. `ran` is
    never written down.

    `quoted` is what others wrote, where it was told apart from the speaker's own words.
    """

    role: str
    text: str
    place: int = 0
    # tools and commands that are too long to be shown in the text
    long_commands: tuple[tuple[str, str], ...] = ()
    quoted: str = ""


def trim_message(text: str) -> str:
    """A text without the middle that is never looked at, but for its `<private>` tags: they say
    what to hide.
    """
    if len(text) <= MAX_MESSAGE_CHARS + 2 * CUT_MARGIN:
        return text
    start, end = HEAD_CHARS + CUT_MARGIN, len(text) - (TAIL_CHARS + CUT_MARGIN)
    return text[:start] + CUT_MARK + tags_in_cut(text, start, end) + text[end:]


def content_to_text(content: Any, depth: int = MAX_CONTENT_DEPTH) -> str:
    """The text of a message's content: a string, or the text parts of OpenAI- and Anthropic-shaped
    lists.
    """
    if isinstance(content, str):
        return trim_message(content)
    if depth == 0 or not isinstance(content, (list, tuple)):
        return ""
    return trim_message("\n".join(text for part in content if (text := part_to_text(part, depth))))


def part_to_text(part: Any, depth: int = MAX_CONTENT_DEPTH) -> str:
    """The text of one part of a content."""
    if part is None or isinstance(part, str):
        return ""
    if get_field(part, "type") == "tool_use":
        return format_tool_call(get_field(part, "name"), get_field(part, "input"))
    inner = get_field(part, "text") or get_field(part, "content") or get_field(part, "output") or ""
    return content_to_text(inner, depth - 1)


def format_tool_call(tool: Any, given: Any) -> str:
    """One call of a tool as a line: `[Bash {"command": "pytest -q"}]`.

    What is long in it is left out as a whole: half of a secret would not be known for one.
    """
    values = flatten_arguments(given)
    kept = {
        name: value if is_short_argument(value) else "…"
        for name, value in list(values.items())[:MAX_ARGUMENTS]
        if isinstance(name, str) and is_short_argument(name)
    }
    return (
        f"[{tool if is_short_argument(tool) and tool else 'tool'} "
        f"{dumps(kept, ensure_ascii=False)}]"
    )


def flatten_arguments(given: Any) -> dict[Any, Any]:
    """What a tool was given, with words in a list, as Codex gives a command, in one line."""
    return {
        name: " ".join(value)
        if isinstance(value, (list, tuple))
        and len(value) <= COMPARED_MESSAGES
        and all(isinstance(one, str) for one in value)
        else value
        for name, value in parse_arguments(given).items()
    }


TOOL_CALL_LINE = compiled(r"^\[(\S{1,100}) (\{.*\})\]$", MULTILINE)


def find_tool_calls(text: str) -> list[tuple[str, Mapping[Any, Any]]]:
    """The calls of tools that stand in a message, as `called` writes them: names and what they are
    given.
    """
    return [(call[1], parse_arguments(call[2])) for call in TOOL_CALL_LINE.finditer(text)]


def is_short_argument(value: Any) -> bool:
    """Whether it is shown of a tool's call: a number, or a text that is no file."""
    return isinstance(value, (bool, int, float)) or (
        isinstance(value, str) and len(value) <= MAX_ARGUMENT_CHARS
    )


def parse_arguments(given: Any) -> Mapping[Any, Any]:
    """What a tool was given, by name; OpenAI's shape has it as JSON."""
    if isinstance(given, Mapping):
        return given
    try:
        values = loads(given) if isinstance(given, str) and len(given) <= CUT_MARGIN else None
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, Mapping) else {}


def format_openai_calls(message: Any) -> str:
    """What a message in OpenAI's shape asks of tools, a line for each call."""
    if (item := parse_item_call(message)) is not None:
        return format_tool_call(*item)
    return "\n".join(
        format_tool_call(get_field(f, "name"), get_field(f, "arguments"))
        for f in find_called_functions(message)
    )


def find_called_functions(message: Any) -> list[Any]:
    """The functions that a message in OpenAI's shape calls."""
    calls = get_field(message, "tool_calls")
    found = (
        [get_field(call, "function") for call in calls[:COMPARED_MESSAGES]]
        if isinstance(calls, (list, tuple))
        else []
    )
    return [function for function in found if function is not None]


def find_long_commands(message: Any) -> tuple[tuple[str, str], ...]:
    """The commands in a message that are too long to be shown, as a script with a file in it is:
    (tool, command).
    """
    content = get_field(message, "content")
    parts = content if isinstance(content, (list, tuple)) else ()
    asked = [
        (get_field(part, "name"), get_field(part, "input"))
        for part in parts
        if get_field(part, "type") == "tool_use"
    ]
    asked += [
        (get_field(f, "name"), get_field(f, "arguments")) for f in find_called_functions(message)
    ]
    return tuple(
        (tool, trim_message(value))
        for tool, given in asked
        if isinstance(tool, str)
        and tool
        and is_short_argument(tool)
        and not (isinstance(given, str) and is_short_argument(given))
        for name, value in flatten_arguments(given).items()
        if name in COMMAND_ARGUMENTS and isinstance(value, str) and not is_short_argument(value)
    )


def parse_item_call(message: Any) -> tuple[Any, Any] | None:
    """(tool, what it is given) of a call that is an item by itself, as in OpenAI's Responses."""
    if (kind := item_type_of(message)) not in CALL_TYPES:
        return None
    given = next(
        (
            value
            for name in ("arguments", "input", "action", "operation")
            if (value := get_field(message, name)) is not None
        ),
        None,
    )
    return get_field(message, "name") or kind.removesuffix("_call"), given


def item_type_of(message: Any) -> str | None:
    """The type of what has no role; None of a message."""
    kind = get_field(message, "type") if get_field(message, "role") is None else None
    return kind if isinstance(kind, str) and kind != "message" else None


def get_content(message: Any) -> Any:
    """The content of a message; of what a tool gave back as an item by itself, its output."""
    content = get_field(message, "content")
    return (
        get_field(message, "output")
        if content is None and item_type_of(message) in OUTPUT_TYPES
        else content
    )


def get_field(thing: Any, name: str) -> Any:
    """A value of a mapping or an attribute of an object; None where there is none."""
    # dict is quickest
    return thing.get(name) if isinstance(thing, (dict, Mapping)) else getattr(thing, name, None)


def split_message(message: Any, place: int) -> list[HostMessage]:
    """What one message says: its speaker's words, and in a user's message, apart from them, what
    tools answered.
    """
    role, content = role_of(message), get_content(message)
    if role != "user" or not isinstance(content, (list, tuple)):
        return [
            HostMessage(
                role,
                "\n".join(filter(None, (content_to_text(content), format_openai_calls(message)))),
                place,
                find_long_commands(message) if role == "assistant" else (),
            )
        ]
    own = [
        part
        for part in content
        if get_field(part, "type") in TEXT_PARTS and isinstance(get_field(part, "text"), str)
    ]
    tools = content_to_text([part for part in content if not any(part is mine for mine in own)])
    words = content_to_text(own)
    answered = [HostMessage("tool", tools, place)] if tools else []
    return [*answered, HostMessage(role, words, place)] if words or not answered else answered


def role_of(message: Any) -> str:
    """Who speaks; a message that does not say, and is of no other type, is the user's."""
    role = get_field(message, "role")
    if type(role) is str and len(role) <= MAX_ROLE_CHARS:  # the usual case
        return role
    if role is None:
        if kind := item_type_of(message):
            return ROLE_BY_ITEM_TYPE.get(kind, "other")
        return "user" if isinstance(message, (dict, Mapping)) and "role" not in message else "other"
    role = getattr(role, "value", role)
    return role if isinstance(role, str) and len(role) <= MAX_ROLE_CHARS else "other"


def check_messages(messages: Any) -> Sequence[Any]:
    """The messages as a list, or BadInput that says what is wanted."""
    if isinstance(messages, (str, bytes, bytearray, Mapping)) or not isinstance(messages, Sequence):
        raise BadInput(
            'turn() takes a list of messages such as [{"role": "user", "content": "…"}], not '
            f"{type(messages).__name__}"
        )
    found = messages if isinstance(messages, (list, tuple)) else list(messages)
    if set(map(type, found[-COMPARED_MESSAGES:])) <= {dict}:  # the usual case, in a microsecond
        return found
    for message in found[-COMPARED_MESSAGES:]:
        if not (
            isinstance(message, Mapping)
            or item_type_of(message) in ROLE_BY_ITEM_TYPE
            or (hasattr(message, "role") and hasattr(message, "content"))
        ):
            raise BadInput(
                'turn() takes a list of messages such as [{"role": "user", "content": "…"}]; one '
                "of these "
                f"is a {type(message).__name__}"
            )
    return found


def hash_message(message: Any) -> MessagePrint:
    """What tells a message from others, cheaply."""
    content = get_content(message)
    text = content if isinstance(content, str) else content_to_text(content)
    parts = len(content) if isinstance(content, (list, tuple)) else -1
    call = get_field(message, "call_id") if content is None else None
    return hash((role_of(message), parts, len(text), text[:200], text[-200:], call))


@dataclass(slots=True)
class SeenMessages:
    """What was there at the last turn."""

    total: int = 0  # messages in the host's list
    next_number: int = 0  # number of the next message of the conversation
    tail: tuple[MessagePrint, ...] = ()  # of the newest of them

    def take_new(self, messages: Any, most: int) -> tuple[tuple[HostMessage, ...], int]:
        """The messages that were not there at the last turn, at most so many, and the number of the
        first of them.
        """
        try:
            return self._take_new(check_messages(messages), most)
        except BadInput:
            raise
        except (
            Exception
        ) as err:  # a message is the host's object: anything may happen when it is looked at
            raise BadInput(f"These messages cannot be read: {type(err).__name__}: {err}") from err

    def _take_new(self, found: Sequence[Any], most: int) -> tuple[tuple[HostMessage, ...], int]:
        total = len(found)
        if self.has_grown(found):  # the usual case: only what is new need be looked at
            known, prints = (
                self.total,
                self.tail
                + tuple(
                    hash_message(message) for message in found[self.total :][-COMPARED_MESSAGES:]
                ),
            )
        else:
            prints = tuple(hash_message(message) for message in found[-COMPARED_MESSAGES:])
            offset = total - len(prints)
            known = offset + find_new_start(
                prints, self.tail, self.total - offset, longer=total > self.total
            )
        start = max(known, total - most, 0)
        first = max(start, self.next_number)
        said = tuple(
            s for n, message in enumerate(found[start:]) for s in split_message(message, first + n)
        )
        self.total, self.next_number, self.tail = (
            total,
            first + total - start,
            prints[-KEPT_PRINTS:] or self.tail,
        )
        return said, first

    def has_grown(self, found: Sequence[Any]) -> bool:
        """Whether the host's list is the one of the last turn with something added."""
        return (
            len(found) > self.total >= 2 <= len(self.tail)
            and hash_message(found[self.total - 1]) == self.tail[-1]
            and hash_message(found[self.total - 2]) == self.tail[-2]
        )


def find_new_start(
    prints: Sequence[MessagePrint], tail: Sequence[MessagePrint], known: int, *, longer: bool
) -> int:
    """Where in these prints begins what came after `tail`.

    `known` is where it begins if the host passes the whole conversation. A host that passes only
    its newest messages is told by the longest stretch that both share; its last message may have
    been altered since, as hosts do that put a block into it. Where nothing is shared, a longer list
    has grown and a shorter one is new after what is known.
    """
    if not tail:
        return 0
    if (
        longer
        and known >= 0
        and (
            count_shared_prints(prints, tail, known)
            or count_shared_prints(prints, tail[:-1], known - 1)
        )
    ):
        return known
    found = [(count_shared_prints(prints, tail, end), 0, -end) for end in range(1, len(prints) + 1)]
    found += [
        (count_shared_prints(prints, tail[:-1], end), -1, -end) for end in range(1, len(prints))
    ]
    length, altered, end = max(found, default=(0, 0, 0))
    once = end == -1 or (prints.count(tail[-1]) == tail.count(tail[-1]) == 1)
    if len(prints) > 1 and (length > 1 or (length == 1 and not altered and once)):
        return -end - altered
    if longer:
        return max(known, 0)
    old = set(tail)
    return max((place + 1 for place, one in enumerate(prints[:-1]) if one in old), default=0)


def count_shared_prints(
    prints: Sequence[MessagePrint], tail: Sequence[MessagePrint], end: int
) -> int:
    """How many prints before `end` are the last ones of `tail`."""
    count = 0
    for one, other in zip(reversed(prints[: max(end, 0)]), reversed(tail), strict=False):
        if one != other:
            break
        count += 1
    return count
