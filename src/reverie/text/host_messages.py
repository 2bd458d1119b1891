"""A host's messages, read in the caller's path: who said what, and which of it is new.

Read are lists of messages in OpenAI or Anthropic shape, as mappings or as objects with the same
names; among them may be items of OpenAI's Responses, which have a type instead of a role: calls,
outputs, reasoning. What a tool answered is never the user's word, whoever's message it stands in:
it becomes a message of the role "tool".

Everything here is a matter of microseconds. Secrets are taken out later, in the background, so more
is kept of a long message than will be written down: no cut may go through a secret that is still to
be found.
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

# Characters of one message that are written down in the end: of its beginning and of its end.
HEAD_CHARS, TAIL_CHARS = 8_000, 16_000
MAX_MESSAGE_CHARS = HEAD_CHARS + TAIL_CHARS
MAX_CONTENT_DEPTH = 4  # lists within lists in one message
# Newest messages that are compared, and fingerprints kept of the turn before.
COMPARED_MESSAGES, KEPT_PRINTS = 60, 40
# Characters of one argument of a tool call that are shown, and how many arguments.
MAX_ARGUMENT_CHARS, MAX_ARGUMENTS = 300, 12
COMMAND_ARGUMENTS = ("command", "cmd", "script")  # arguments that a shell is given
MAX_ROLE_CHARS = 200  # a longer role is none
# By which a host says that a "user" message is a summary, a note, or a sub-agent's prompt.
NOT_SAID_MARKS = ("isCompactSummary", "isSidechain", "isMeta", "parent_tool_use_id")
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
    """One message of a conversation; `place` is its number there, where that is known.

    `quoted` is what others wrote, where it was told apart from the speaker's own words.
    """

    role: str
    text: str
    place: int = 0
    # (tool, command) of commands too long to be shown in the text; never written down.
    long_commands: tuple[tuple[str, str], ...] = ()
    quoted: str = ""


def trim_message(text: str) -> str:
    """A text without the middle that is never read.

    Its `<private>` tags stay: they say what to hide.
    """
    if len(text) <= MAX_MESSAGE_CHARS + 2 * CUT_MARGIN:
        return text
    start, end = HEAD_CHARS + CUT_MARGIN, len(text) - (TAIL_CHARS + CUT_MARGIN)
    return text[:start] + CUT_MARK + tags_in_cut(text, start, end) + text[end:]


def content_to_text(content: Any, depth: int = MAX_CONTENT_DEPTH) -> str:
    """The text of a content: a string, or a list of parts in OpenAI or Anthropic shape."""
    if isinstance(content, str):
        return trim_message(content)
    if depth == 0 or not isinstance(content, (list, tuple)):
        return ""
    texts = (part_to_text(part, depth) for part in content)
    return trim_message("\n".join(filter(None, texts)))


def part_to_text(part: Any, depth: int = MAX_CONTENT_DEPTH) -> str:
    """The text of one part of a content; of a tool call, its line."""
    if part is None or isinstance(part, str):
        return ""
    if get_field(part, "type") == "tool_use":
        return format_tool_call(get_field(part, "name"), get_field(part, "input"))
    inner = (get_field(part, name) for name in ("text", "content", "output"))
    return content_to_text(next(filter(None, inner), ""), depth - 1)


def format_tool_call(tool: Any, given: Any) -> str:
    """A tool call as a line: `[Bash {"command": "pytest -q"}]`.

    A long argument is left out as a whole: half of a secret would not be recognised.
    """
    first = list(flatten_arguments(given).items())[:MAX_ARGUMENTS]
    shown = {
        name: value if is_short_argument(value) else "…"
        for name, value in first
        if isinstance(name, str) and is_short_argument(name)
    }
    name = tool if is_short_argument(tool) and tool else "tool"
    return f"[{name} {dumps(shown, ensure_ascii=False)}]"


def flatten_arguments(given: Any) -> dict[Any, Any]:
    """A tool's arguments, with a list of words, as Codex gives a command, in one line."""
    return {
        name: " ".join(value) if is_word_list(value) else value
        for name, value in parse_arguments(given).items()
    }


def is_word_list(value: Any) -> bool:
    """True for a short list of texts."""
    return (
        isinstance(value, (list, tuple))
        and len(value) <= COMPARED_MESSAGES
        and all(isinstance(word, str) for word in value)
    )


TOOL_CALL_LINE = compiled(r"^\[(\S{1,100}) (\{.*\})\]$", MULTILINE)


def find_tool_calls(text: str) -> list[tuple[str, Mapping[Any, Any]]]:
    """The tool calls in a message, written as by `format_tool_call`: (name, arguments)."""
    return [(call[1], parse_arguments(call[2])) for call in TOOL_CALL_LINE.finditer(text)]


def is_short_argument(value: Any) -> bool:
    """True for what is shown of a tool call: a number, or a text that is no file."""
    if isinstance(value, str):
        return len(value) <= MAX_ARGUMENT_CHARS
    return isinstance(value, (bool, int, float))


def parse_arguments(given: Any) -> Mapping[Any, Any]:
    """A tool's arguments by name; OpenAI's shape has them as JSON. {} if they cannot be read."""
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, str) or len(given) > CUT_MARGIN:
        return {}
    try:
        values = loads(given)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, Mapping) else {}


def format_openai_calls(message: Any) -> str:
    """What a message in OpenAI's shape asks of tools, a line for each call."""
    item = parse_item_call(message)
    if item is not None:
        return format_tool_call(*item)
    return "\n".join(format_tool_call(*call) for call in find_function_calls(message))


def find_function_calls(message: Any) -> list[tuple[Any, Any]]:
    """(name, arguments) of the functions that a message in OpenAI's shape calls."""
    calls = get_field(message, "tool_calls")
    if not isinstance(calls, (list, tuple)):
        return []
    functions = (get_field(call, "function") for call in calls[:COMPARED_MESSAGES])
    return [
        (get_field(function, "name"), get_field(function, "arguments"))
        for function in functions
        if function is not None
    ]


def find_long_commands(message: Any) -> tuple[tuple[str, str], ...]:
    """(tool, command) of commands too long to be shown, as a script with a file in it is."""
    content = get_field(message, "content")
    parts = content if isinstance(content, (list, tuple)) else ()
    calls = [
        (get_field(part, "name"), get_field(part, "input"))
        for part in parts
        if get_field(part, "type") == "tool_use"
    ]
    found: list[tuple[str, str]] = []
    for tool, given in (*calls, *find_function_calls(message)):
        is_named = isinstance(tool, str) and tool and is_short_argument(tool)
        # Short JSON holds no long command; reading it would cost more than anything else here.
        if not is_named or (isinstance(given, str) and is_short_argument(given)):
            continue
        for name, value in flatten_arguments(given).items():
            is_command = name in COMMAND_ARGUMENTS and isinstance(value, str)
            if is_command and not is_short_argument(value):
                found.append((tool, trim_message(value)))
    return tuple(found)


def parse_item_call(message: Any) -> tuple[Any, Any] | None:
    """(tool, arguments) of a call that is an item by itself, as in OpenAI's Responses."""
    kind = item_type_of(message)
    if kind not in CALL_TYPES:
        return None
    fields = (get_field(message, name) for name in ("arguments", "input", "action", "operation"))
    given = next((value for value in fields if value is not None), None)
    return get_field(message, "name") or kind.removesuffix("_call"), given


def item_type_of(message: Any) -> str | None:
    """The type of an item without a role; None for a message."""
    kind = get_field(message, "type") if get_field(message, "role") is None else None
    return kind if isinstance(kind, str) and kind != "message" else None


def get_content(message: Any) -> Any:
    """The content of a message; of an item with a tool's output, that."""
    content = get_field(message, "content")
    if content is None and item_type_of(message) in OUTPUT_TYPES:
        return get_field(message, "output")
    return content


def get_field(thing: Any, name: str) -> Any:
    """A value of a mapping or an attribute of an object; None where there is none."""
    # `dict` first: it is checked fastest, and nearly always right.
    if isinstance(thing, (dict, Mapping)):
        return thing.get(name)
    return getattr(thing, name, None)


def split_message(message: Any, place: int) -> list[HostMessage]:
    """What one message says: its speaker's words and, apart from them, what tools answered.

    Only a user's message in parts may hold both.
    """
    role, content = role_of(message), get_content(message)
    if role != "user" or not isinstance(content, (list, tuple)):
        said, calls = content_to_text(content), format_openai_calls(message)
        text = "\n".join(filter(None, (said, calls)))
        commands = find_long_commands(message) if role == "assistant" else ()
        return [HostMessage(role, text, place, commands)]
    own = [part for part in content if is_own_text(part)]
    own_ids = {id(part) for part in own}
    answers = content_to_text([part for part in content if id(part) not in own_ids])
    words = content_to_text(own)
    messages = [HostMessage("tool", answers, place)] if answers else []
    if words or not messages:
        messages.append(HostMessage(role, words, place))
    return messages


def is_own_text(part: Any) -> bool:
    """True for a part with the speaker's own words."""
    return get_field(part, "type") in TEXT_PARTS and isinstance(get_field(part, "text"), str)


def role_of(message: Any) -> str:
    """Who speaks; a mapping without a role or another type is the user's."""
    role = get_field(message, "role")
    if role == "user" and any(get_field(message, mark) for mark in NOT_SAID_MARKS):
        return "system"
    if type(role) is str and len(role) <= MAX_ROLE_CHARS:  # the usual case
        return role
    if role is None:
        if kind := item_type_of(message):
            return ROLE_BY_ITEM_TYPE.get(kind, "other")
        return "user" if isinstance(message, (dict, Mapping)) and "role" not in message else "other"
    role = getattr(role, "value", role)
    return role if isinstance(role, str) and len(role) <= MAX_ROLE_CHARS else "other"


def check_messages(messages: Any) -> Sequence[Any]:
    """The messages as a list; BadInput says what is wanted. Only the newest are looked at."""
    if isinstance(
        messages,
        (str, bytes, bytearray, Mapping),
    ) or not isinstance(messages, Sequence):
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
    """A fingerprint that tells a message from others, cheaply."""
    content = get_content(message)
    text = content if isinstance(content, str) else content_to_text(content)
    parts = len(content) if isinstance(content, (list, tuple)) else -1
    call = get_field(message, "call_id") if content is None else None
    # Reading a long text as a whole would take longer than all else here.
    excerpt = (len(text), text[:200], text[-200:])
    return hash((role_of(message), parts, excerpt, call))


@dataclass(slots=True)
class SeenMessages:
    """What was there at the last turn, to tell which messages are new."""

    total: int = 0  # messages in the host's list
    next_number: int = 0  # number of the next message of the conversation
    tail: tuple[MessagePrint, ...] = ()  # fingerprints of the newest of them

    def take_new(
        self,
        messages: Any,
        most: int,
    ) -> tuple[tuple[HostMessage, ...], int]:
        """The messages since the last turn, at most so many, and the number of the first."""
        try:
            return self._take_new(check_messages(messages), most)
        except BadInput:
            raise
        # A message is the host's object: anything may happen when it is looked at.
        except Exception as err:
            raise BadInput(f"These messages cannot be read: {type(err).__name__}: {err}") from err

    def _take_new(
        self,
        messages: Sequence[Any],
        most: int,
    ) -> tuple[tuple[HostMessage, ...], int]:
        total = len(messages)
        if self.has_grown(messages):  # the usual case: only what is new need be looked at
            known = self.total
            added = messages[self.total :][-COMPARED_MESSAGES:]
            prints = self.tail + tuple(map(hash_message, added))
        else:
            prints = tuple(map(hash_message, messages[-COMPARED_MESSAGES:]))
            offset = total - len(prints)
            known = offset + find_new_start(
                prints, self.tail, self.total - offset, longer=total > self.total
            )
        start = max(known, total - most, 0)
        first = max(start, self.next_number)
        found: list[HostMessage] = []
        for number, message in enumerate(messages[start:], first):
            found += split_message(message, number)
        self.total = total
        self.next_number = first + total - start
        self.tail = prints[-KEPT_PRINTS:] or self.tail
        return tuple(found), first

    def has_grown(self, found: Sequence[Any]) -> bool:
        """True if the host's list is the one of the last turn with something added."""
        return (
            len(found) > self.total >= 2 <= len(self.tail)
            and hash_message(found[self.total - 1]) == self.tail[-1]
            and hash_message(found[self.total - 2]) == self.tail[-2]
        )


def find_new_start(
    prints: Sequence[MessagePrint], tail: Sequence[MessagePrint], known: int, *, longer: bool
) -> int:
    """Where in these fingerprints begins what came after `tail`.

    `known` is where it begins if the host passes the whole conversation. For a host that passes
    only its newest messages, the longest stretch that both share decides; its last message may have
    been altered since, as hosts do that put a block into it. Where nothing is shared, a longer list
    has grown and a shorter one is new after what is known.
    """
    if not tail:
        return 0
    if longer and known >= 0:
        if count_shared_prints(prints, tail, known):
            return known
        if count_shared_prints(prints, tail[:-1], known - 1):
            return known
    # (length of the stretch, -1 if the last message was altered, -end): the longest wins, then an
    # unaltered one, then the earliest.
    found = [(count_shared_prints(prints, tail, end), 0, -end) for end in range(1, len(prints) + 1)]
    found += [
        (count_shared_prints(prints, tail[:-1], end), -1, -end) for end in range(1, len(prints))
    ]
    length, altered, end = max(found, default=(0, 0, 0))
    # One shared message proves little unless it comes first or only once.
    last = tail[-1]
    once = end == -1 or prints.count(last) == tail.count(last) == 1
    proves = length > 1 or (length == 1 and not altered and once)
    if len(prints) > 1 and proves:
        return -end - altered
    if longer:
        return max(known, 0)
    old = set(tail)
    known_ends = [number for number, print_ in enumerate(prints[:-1], 1) if print_ in old]
    return max(known_ends, default=0)


def count_shared_prints(
    prints: Sequence[MessagePrint],
    tail: Sequence[MessagePrint],
    end: int,
) -> int:
    """How many fingerprints before `end` are the last ones of `tail`."""
    count = 0
    before = reversed(prints[: max(end, 0)])
    for one, other in zip(before, reversed(tail), strict=False):
        if one != other:
            break
        count += 1
    return count
