"""What a message says, and how much room it takes: its words, and what cannot be read as words.

Read are the shapes of OpenAI's chats and Responses and of Anthropic. A picture, or a document that
is no text, says that it was there; of what is of no known shape nothing is read, and it takes the
room that its JSON takes.
"""

from collections.abc import Sequence
from json import dumps
from typing import Any

from reverie.text.host_messages import (
    CALLS,
    OUTPUTS,
    REASONING,
    content_of,
    item_call,
    item_type,
    named,
    role_of,
)
from reverie.text.token_counts import Tokenizer

OVERHEAD = 4  # tokens that a message takes beside its text
# tokens of a picture or a document whose size is not known (Anthropic: 1,600 at most)
PICTURE = 1_500
DEPTH = 4
TOOLS = ("tool", "function")
SPEAKERS = ("user", "assistant")
SYSTEMS = ("system", "developer")
ITEMS = (REASONING, *CALLS, *OUTPUTS)
READ = (
    "text",
    "input_text",
    "output_text",
    "thinking",
    "refusal",
    "tool_use",
    "tool_result",
    "summary_text",
    "reasoning_text",
)  # types of parts whose words are all that is in them
OPAQUE = {
    **dict.fromkeys(("image", "image_url", "input_image", "computer_screenshot"), "picture"),
    **dict.fromkeys(("input_audio", "audio"), "recording"),
    **dict.fromkeys(("document", "file", "input_file"), "document"),
}


def known_shape(message: Any) -> bool:
    """Whether a message can be read: it has a role and a content, or calls tools, or is an item of
    known type.
    """
    if item_type(message) in ITEMS:
        return True
    if role_of(message) not in (*SPEAKERS, *SYSTEMS, *TOOLS):
        return False
    content = named(message, "content")
    if content is None:
        there = "content" in message if isinstance(message, dict) else hasattr(message, "content")
        return there or bool(named(message, "tool_calls") or named(message, "function_call"))
    return isinstance(content, (str, list, tuple))


def text_of(message: Any) -> str:
    """All that a message says, uncut: its words, its calls with all they are given, what tools
    answered.
    """
    content = content_of(message)
    if isinstance(content, str) and role_of(message) != "assistant":
        return content
    parts = [content_text(content)]
    if (kind := item_type(message)) is not None:
        parts.append(
            content_text(named(message, "summary"))
            if kind == REASONING
            else call_text(item_call(message))
        )
    for call in listed(named(message, "tool_calls")):
        function = named(call, "function") or named(call, "custom")
        parts.append(
            f"{named(function, 'name')} {named(function, 'arguments') or named(function, 'input') or ''}"
        )
    if (function := named(message, "function_call")) is not None:
        parts.append(f"{named(function, 'name')} {named(function, 'arguments') or ''}")
    return "\n".join(part for part in parts if part)


def call_text(call: tuple[Any, Any] | None) -> str:
    """A call that is an item by itself."""
    if call is None:
        return ""
    tool, given = call
    return f"{tool} {given if isinstance(given, str) else json_of(given)}"


def content_text(content: Any, depth: int = DEPTH) -> str:
    """The text of a content: a string, or what the parts of a list say."""
    if isinstance(content, str):
        return content
    if not depth:
        return ""
    return "\n".join(text for part in listed(content) if (text := part_text(part, depth - 1)))


def part_text(part: Any, depth: int) -> str:
    """What one part says."""
    if isinstance(part, str):
        return part
    kind = named(part, "type")
    if kind == "tool_use":
        return f"{named(part, 'name')} {json_of(named(part, 'input'))}"
    if isinstance(kind, str) and kind in OPAQUE:
        return document_text(part, OPAQUE[kind], depth)
    for name in ("text", "thinking", "refusal"):
        if isinstance(words := named(part, name), str):
            return words
    return content_text(named(part, "content") or named(part, "output"), depth)


def document_text(part: Any, what: str, depth: int) -> str:
    """The title and the text of a document; of one that is no text, and of a picture, that it was
    there.
    """
    names = (named(part, "title"), named(part, "filename"), named(named(part, "file"), "filename"))
    title = next((name for name in names if isinstance(name, str)), "")
    if (inner := source_of(part)) is None:
        return f"[{what} {title}]" if title else f"[{what}]"
    context = named(part, "context")
    return "\n".join(
        filter(
            None, (title, context if isinstance(context, str) else "", content_text(inner, depth))
        )
    )


def source_of(part: Any) -> Any:
    """The content of a document that holds its text itself (Anthropic); None of any other."""
    source = named(part, "source")
    return {"text": named(source, "data"), "content": named(source, "content")}.get(
        str(named(source, "type"))
    )


def weight(message: Any, text: str, tokenizer: Tokenizer) -> int:
    """The tokens that a message takes, given all that it says."""
    content = named(message, "content")
    found = tokenizer.count(text) + OVERHEAD
    if isinstance(content, str) and text:
        return found
    if not text and not known_shape(message):
        return found + tokenizer.count(json_of(message))
    if isinstance(sealed := named(message, "encrypted_content"), str):
        found += tokenizer.count(sealed)
    return found + besides(content_of(message), tokenizer)


def besides(content: Any, tokenizer: Tokenizer, depth: int = DEPTH) -> int:
    """The tokens of what is in a content beside its words: pictures, documents, parts of no known
    type.
    """
    if not depth:
        return 0
    return sum(
        beside(part, tokenizer, depth - 1)
        for part in parts_of(content)
        if not isinstance(part, str)
    )


def beside(part: Any, tokenizer: Tokenizer, depth: int) -> int:
    """The tokens of one part beside its words."""
    kind = named(part, "type")
    if isinstance(kind, str) and kind in OPAQUE:
        inner = source_of(part)
        return PICTURE if inner is None else besides(inner, tokenizer, depth)
    if isinstance(inner := named(part, "content") or named(part, "output"), (list, tuple)):
        return besides(inner, tokenizer, depth)
    return 0 if kind in READ or part_text(part, 1) else tokenizer.count(json_of(part))


def pictures(content: Any, depth: int = DEPTH) -> int:
    """How many pictures, recordings and documents a content holds that are no text."""
    if not depth:
        return 0
    return sum(
        source_of(part) is None
        if named(part, "type") in tuple(OPAQUE)
        else pictures(named(part, "content"), depth - 1)
        for part in parts_of(content)
        if not isinstance(part, str)
    )


def parts_of(content: Any) -> Sequence[Any]:
    """The parts of a content; what a tool gave back may be a single one."""
    return (content,) if isinstance(content, dict) else listed(content)


def json_of(value: Any) -> str:
    """A value as a provider counts it."""
    try:
        return dumps(value if value is not None else {}, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return str(value)


def listed(value: Any) -> Sequence[Any]:
    """A list, or nothing."""
    return value if isinstance(value, (list, tuple)) else ()
