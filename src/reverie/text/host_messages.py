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
from reverie.core.private_passages import GAP, SPARE, tags_between

# characters of one message that are kept in the end: its beginning and its end
HEAD, TAIL = (
    8_000,
    16_000,
)
MOST_CHARS = HEAD + TAIL
DEPTH = 4  # lists within lists in one message
LOOK, TAILS = 60, 40  # newest messages that are compared, and prints kept of the turn before
# characters of one argument of a tool's call that are shown, and how many arguments
SHOWN, ARGUMENTS = (
    300,
    12,
)
COMMANDS = ("command", "cmd", "script")  # arguments that a shell is given
ROLE = 200  # characters of a role that are looked at
TEXT_PARTS = (None, "", "text", "input_text")  # types of parts that are the speaker's own words
REASONING = "reasoning"
CALLS = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
)
OUTPUTS = tuple(f"{call}_output" for call in CALLS)
ITEMS = {
    REASONING: "assistant",
    **dict.fromkeys(CALLS, "assistant"),
    **dict.fromkeys(OUTPUTS, "tool"),
}

Print = int


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation. `place` is its number there, where that is known. `ran` is
    never written down.

    `quoted` is what others wrote, where it was told apart from the speaker's own words.
    """

    role: str
    text: str
    place: int = 0
    # tools and commands that are too long to be shown in the text
    ran: tuple[tuple[str, str], ...] = ()
    quoted: str = ""


def trimmed(text: str) -> str:
    """A text without the middle that is never looked at, but for its `<private>` tags: they say
    what to hide.
    """
    if len(text) <= MOST_CHARS + 2 * SPARE:
        return text
    start, end = HEAD + SPARE, len(text) - (TAIL + SPARE)
    return text[:start] + GAP + tags_between(text, start, end) + text[end:]


def text_of(content: Any, depth: int = DEPTH) -> str:
    """The text of a message's content: a string, or the text parts of OpenAI- and Anthropic-shaped
    lists.
    """
    if isinstance(content, str):
        return trimmed(content)
    if depth == 0 or not isinstance(content, (list, tuple)):
        return ""
    return trimmed("\n".join(text for part in content if (text := part_text(part, depth))))


def part_text(part: Any, depth: int = DEPTH) -> str:
    """The text of one part of a content."""
    if part is None or isinstance(part, str):
        return ""
    if named(part, "type") == "tool_use":
        return called(named(part, "name"), named(part, "input"))
    inner = named(part, "text") or named(part, "content") or named(part, "output") or ""
    return text_of(inner, depth - 1)


def called(tool: Any, given: Any) -> str:
    """One call of a tool as a line: `[Bash {"command": "pytest -q"}]`.

    What is long in it is left out as a whole: half of a secret would not be known for one.
    """
    values = shown(given)
    kept = {
        name: value if short(value) else "…"
        for name, value in list(values.items())[:ARGUMENTS]
        if isinstance(name, str) and short(name)
    }
    return f"[{tool if short(tool) and tool else 'tool'} {dumps(kept, ensure_ascii=False)}]"


def shown(given: Any) -> dict[Any, Any]:
    """What a tool was given, with words in a list, as Codex gives a command, in one line."""
    return {
        name: " ".join(value)
        if isinstance(value, (list, tuple))
        and len(value) <= LOOK
        and all(isinstance(one, str) for one in value)
        else value
        for name, value in arguments(given).items()
    }


CALL = compiled(r"^\[(\S{1,100}) (\{.*\})\]$", MULTILINE)


def tools_in(text: str) -> list[tuple[str, Mapping[Any, Any]]]:
    """The calls of tools that stand in a message, as `called` writes them: names and what they are
    given.
    """
    return [(call[1], arguments(call[2])) for call in CALL.finditer(text)]


def short(value: Any) -> bool:
    """Whether it is shown of a tool's call: a number, or a text that is no file."""
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= SHOWN)


def arguments(given: Any) -> Mapping[Any, Any]:
    """What a tool was given, by name; OpenAI's shape has it as JSON."""
    if isinstance(given, Mapping):
        return given
    try:
        values = loads(given) if isinstance(given, str) and len(given) <= SPARE else None
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, Mapping) else {}


def calls_of(message: Any) -> str:
    """What a message in OpenAI's shape asks of tools, a line for each call."""
    if (item := item_call(message)) is not None:
        return called(*item)
    return "\n".join(called(named(f, "name"), named(f, "arguments")) for f in functions_of(message))


def functions_of(message: Any) -> list[Any]:
    """The functions that a message in OpenAI's shape calls."""
    calls = named(message, "tool_calls")
    found = (
        [named(call, "function") for call in calls[:LOOK]]
        if isinstance(calls, (list, tuple))
        else []
    )
    return [function for function in found if function is not None]


def long_commands(message: Any) -> tuple[tuple[str, str], ...]:
    """The commands in a message that are too long to be shown, as a script with a file in it is:
    (tool, command).
    """
    content = named(message, "content")
    parts = content if isinstance(content, (list, tuple)) else ()
    asked = [
        (named(part, "name"), named(part, "input"))
        for part in parts
        if named(part, "type") == "tool_use"
    ]
    asked += [(named(f, "name"), named(f, "arguments")) for f in functions_of(message)]
    return tuple(
        (tool, trimmed(value))
        for tool, given in asked
        if isinstance(tool, str)
        and tool
        and short(tool)
        and not (isinstance(given, str) and short(given))
        for name, value in shown(given).items()
        if name in COMMANDS and isinstance(value, str) and not short(value)
    )


def item_call(message: Any) -> tuple[Any, Any] | None:
    """(tool, what it is given) of a call that is an item by itself, as in OpenAI's Responses."""
    if (kind := item_type(message)) not in CALLS:
        return None
    given = next(
        (
            value
            for name in ("arguments", "input", "action", "operation")
            if (value := named(message, name)) is not None
        ),
        None,
    )
    return named(message, "name") or kind.removesuffix("_call"), given


def item_type(message: Any) -> str | None:
    """The type of what has no role; None of a message."""
    kind = named(message, "type") if named(message, "role") is None else None
    return kind if isinstance(kind, str) and kind != "message" else None


def content_of(message: Any) -> Any:
    """The content of a message; of what a tool gave back as an item by itself, its output."""
    content = named(message, "content")
    return (
        named(message, "output") if content is None and item_type(message) in OUTPUTS else content
    )


def named(thing: Any, name: str) -> Any:
    """A value of a mapping or an attribute of an object; None where there is none."""
    # dict is quickest
    return thing.get(name) if isinstance(thing, (dict, Mapping)) else getattr(thing, name, None)


def said_by(message: Any, place: int) -> list[Said]:
    """What one message says: its speaker's words, and in a user's message, apart from them, what
    tools answered.
    """
    role, content = role_of(message), content_of(message)
    if role != "user" or not isinstance(content, (list, tuple)):
        return [
            Said(
                role,
                "\n".join(filter(None, (text_of(content), calls_of(message)))),
                place,
                long_commands(message) if role == "assistant" else (),
            )
        ]
    own = [
        part
        for part in content
        if named(part, "type") in TEXT_PARTS and isinstance(named(part, "text"), str)
    ]
    tools = text_of([part for part in content if not any(part is mine for mine in own)])
    words = text_of(own)
    answered = [Said("tool", tools, place)] if tools else []
    return [*answered, Said(role, words, place)] if words or not answered else answered


def role_of(message: Any) -> str:
    """Who speaks; a message that does not say, and is of no other type, is the user's."""
    role = named(message, "role")
    if type(role) is str and len(role) <= ROLE:  # the usual case
        return role
    if role is None:
        if kind := item_type(message):
            return ITEMS.get(kind, "other")
        return "user" if isinstance(message, (dict, Mapping)) and "role" not in message else "other"
    role = getattr(role, "value", role)
    return role if isinstance(role, str) and len(role) <= ROLE else "other"


def listed(messages: Any) -> Sequence[Any]:
    """The messages as a list, or BadInput that says what is wanted."""
    if isinstance(messages, (str, bytes, bytearray, Mapping)) or not isinstance(messages, Sequence):
        raise BadInput(
            'turn() takes a list of messages such as [{"role": "user", "content": "…"}], not '
            f"{type(messages).__name__}"
        )
    found = messages if isinstance(messages, (list, tuple)) else list(messages)
    if set(map(type, found[-LOOK:])) <= {dict}:  # the usual case, in a microsecond
        return found
    for message in found[-LOOK:]:
        if not (
            isinstance(message, Mapping)
            or item_type(message) in ITEMS
            or (hasattr(message, "role") and hasattr(message, "content"))
        ):
            raise BadInput(
                'turn() takes a list of messages such as [{"role": "user", "content": "…"}]; one of these '
                f"is a {type(message).__name__}"
            )
    return found


def print_of(message: Any) -> Print:
    """What tells a message from others, cheaply."""
    content = content_of(message)
    text = content if isinstance(content, str) else text_of(content)
    parts = len(content) if isinstance(content, (list, tuple)) else -1
    call = named(message, "call_id") if content is None else None
    return hash((role_of(message), parts, len(text), text[:200], text[-200:], call))


@dataclass(slots=True)
class Heard:
    """What was there at the last turn."""

    total: int = 0  # messages in the host's list
    end: int = 0  # number of the next message of the conversation
    tail: tuple[Print, ...] = ()  # of the newest of them

    def news(self, messages: Any, most: int) -> tuple[tuple[Said, ...], int]:
        """The messages that were not there at the last turn, at most so many, and the number of the
        first of them.
        """
        try:
            return self._news(listed(messages), most)
        except BadInput:
            raise
        except (
            Exception
        ) as err:  # a message is the host's object: anything may happen when it is looked at
            raise BadInput(f"These messages cannot be read: {type(err).__name__}: {err}") from err

    def _news(self, found: Sequence[Any], most: int) -> tuple[tuple[Said, ...], int]:
        total = len(found)
        if self.has_grown(found):  # the usual case: only what is new need be looked at
            known, prints = (
                self.total,
                self.tail + tuple(print_of(message) for message in found[self.total :][-LOOK:]),
            )
        else:
            prints = tuple(print_of(message) for message in found[-LOOK:])
            offset = total - len(prints)
            known = offset + fresh(
                prints, self.tail, self.total - offset, longer=total > self.total
            )
        start = max(known, total - most, 0)
        first = max(start, self.end)
        said = tuple(
            s for n, message in enumerate(found[start:]) for s in said_by(message, first + n)
        )
        self.total, self.end, self.tail = total, first + total - start, prints[-TAILS:] or self.tail
        return said, first

    def has_grown(self, found: Sequence[Any]) -> bool:
        """Whether the host's list is the one of the last turn with something added."""
        return (
            len(found) > self.total >= 2 <= len(self.tail)
            and print_of(found[self.total - 1]) == self.tail[-1]
            and print_of(found[self.total - 2]) == self.tail[-2]
        )


def fresh(prints: Sequence[Print], tail: Sequence[Print], known: int, *, longer: bool) -> int:
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
        and (shared(prints, tail, known) or shared(prints, tail[:-1], known - 1))
    ):
        return known
    found = [(shared(prints, tail, end), 0, -end) for end in range(1, len(prints) + 1)]
    found += [(shared(prints, tail[:-1], end), -1, -end) for end in range(1, len(prints))]
    length, altered, end = max(found, default=(0, 0, 0))
    once = end == -1 or (prints.count(tail[-1]) == tail.count(tail[-1]) == 1)
    if len(prints) > 1 and (length > 1 or (length == 1 and not altered and once)):
        return -end - altered
    if longer:
        return max(known, 0)
    old = set(tail)
    return max((place + 1 for place, one in enumerate(prints[:-1]) if one in old), default=0)


def shared(prints: Sequence[Print], tail: Sequence[Print], end: int) -> int:
    """How many prints before `end` are the last ones of `tail`."""
    count = 0
    for one, other in zip(reversed(prints[: max(end, 0)]), reversed(tail), strict=False):
        if one != other:
            break
        count += 1
    return count
