"""What a message says, and how much room it takes: its words, and what cannot be read as words.

Read are the shapes of OpenAI's chats and Responses and of Anthropic. A picture, or a document that
is no text, says that it was there; of what is of no known shape nothing is read, and it takes the
room that its JSON takes.
"""

from collections.abc import Sequence
from json import dumps
from typing import Any, TypeAlias

from reverie.text.host_messages import (
    CALL_TYPES,
    OUTPUT_TYPES,
    REASONING,
    get_content,
    get_field,
    item_type_of,
    parse_item_call,
    role_of,
)
from reverie.text.token_counts import Tokenizer

Messages: TypeAlias = Sequence[Any]
"""A conversation as a host passes it: mappings, or objects of the host's own classes."""

# Tokens that a message takes beside its text.
MESSAGE_OVERHEAD = 4
# Tokens of a picture or a document whose size is not known (Anthropic: 1,600 at most).
PICTURE_TOKENS = 1_500
MAX_DEPTH = 4
TOOL_ROLES = ("tool", "function")
SPEAKER_ROLES = ("user", "assistant")
SYSTEM_ROLES = ("system", "developer")
ITEM_TYPES = (REASONING, *CALL_TYPES, *OUTPUT_TYPES)
TEXT_PART_TYPES = (
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
OPAQUE_PARTS = {
    **dict.fromkeys(("image", "image_url", "input_image", "computer_screenshot"), "picture"),
    **dict.fromkeys(("input_audio", "audio"), "recording"),
    **dict.fromkeys(("document", "file", "input_file"), "document"),
}


def has_known_shape(message: Any) -> bool:
    """True if a message can be read: it has a role and a content, or calls tools, or is an item of
    known type.
    """
    if item_type_of(message) in ITEM_TYPES:
        return True
    if role_of(message) not in (*SPEAKER_ROLES, *SYSTEM_ROLES, *TOOL_ROLES):
        return False
    content = get_field(message, "content")
    if content is None:
        there = "content" in message if isinstance(message, dict) else hasattr(message, "content")
        return there or bool(
            get_field(message, "tool_calls") or get_field(message, "function_call")
        )
    return isinstance(content, (str, list, tuple))


def get_message_text(message: Any) -> str:
    """All that a message says, uncut: its words, its calls with all they are given, what tools
    answered.
    """
    content = get_content(message)
    if isinstance(content, str) and role_of(message) != "assistant":
        return content
    parts = [get_content_text(content)]
    kind = item_type_of(message)
    if kind == REASONING:
        parts.append(get_content_text(get_field(message, "summary")))
    elif kind is not None:
        parts.append(format_call_item(parse_item_call(message)))
    for call in as_sequence(get_field(message, "tool_calls")):
        function = get_field(call, "function") or get_field(call, "custom")
        given = get_field(function, "arguments") or get_field(function, "input") or ""
        parts.append(f"{get_field(function, 'name')} {given}")
    function = get_field(message, "function_call")
    if function is not None:
        parts.append(f"{get_field(function, 'name')} {get_field(function, 'arguments') or ''}")
    return "\n".join(part for part in parts if part)


def format_call_item(call: tuple[Any, Any] | None) -> str:
    """The text of a call that is an item by itself; empty of none."""
    if call is None:
        return ""
    tool, given = call
    return f"{tool} {given if isinstance(given, str) else to_counted_json(given)}"


def get_content_text(content: Any, depth: int = MAX_DEPTH) -> str:
    """The text of a content: a string, or what the parts of a list say."""
    if isinstance(content, str):
        return content
    if not depth:
        return ""
    texts = [get_part_text(part, depth - 1) for part in as_sequence(content)]
    return "\n".join(text for text in texts if text)


def get_part_text(part: Any, depth: int) -> str:
    """What one part of a content says."""
    if isinstance(part, str):
        return part
    kind = get_field(part, "type")
    if kind == "tool_use":
        return f"{get_field(part, 'name')} {to_counted_json(get_field(part, 'input'))}"
    if isinstance(kind, str) and kind in OPAQUE_PARTS:
        return describe_document(part, OPAQUE_PARTS[kind], depth)
    for name in ("text", "thinking", "refusal"):
        if isinstance(words := get_field(part, name), str):
            return words
    return get_content_text(get_field(part, "content") or get_field(part, "output"), depth)


def describe_document(
    part: Any,
    what: str,
    depth: int,
) -> str:
    """The title and the text of a document; else, as for a picture, a note that it was there."""
    file_name = get_field(get_field(part, "file"), "filename")
    names = (get_field(part, "title"), get_field(part, "filename"), file_name)
    title = next((name for name in names if isinstance(name, str)), "")
    source = get_document_source(part)
    if source is None:
        return f"[{what} {title}]" if title else f"[{what}]"
    context = get_field(part, "context")
    texts = (title, context if isinstance(context, str) else "", get_content_text(source, depth))
    return "\n".join(filter(None, texts))


def get_document_source(part: Any) -> Any:
    """The content of a document that holds its text itself (Anthropic); None of any other."""
    source = get_field(part, "source")
    return {"text": get_field(source, "data"), "content": get_field(source, "content")}.get(
        str(get_field(source, "type"))
    )


def count_message_tokens(
    message: Any,
    text: str,
    tokenizer: Tokenizer,
) -> int:
    """The tokens that a message takes, given all that it says."""
    content = get_field(message, "content")
    found = tokenizer.count(text) + MESSAGE_OVERHEAD
    if isinstance(content, str) and text:
        return found
    # Of no known shape: it takes the room that its JSON takes.
    if not text and not has_known_shape(message):
        return found + tokenizer.count(to_counted_json(message))
    # OpenAI's reasoning, sealed: no words to read, and yet sent each time.
    if isinstance(sealed := get_field(message, "encrypted_content"), str):
        found += tokenizer.count(sealed)
    return found + count_nontext_tokens(get_content(message), tokenizer)


def count_nontext_tokens(
    content: Any,
    tokenizer: Tokenizer,
    depth: int = MAX_DEPTH,
) -> int:
    """The tokens of a content beside its words: pictures, documents, parts of no known type."""
    if not depth:
        return 0
    return sum(
        count_part_tokens(part, tokenizer, depth - 1)
        for part in list_parts(content)
        if not isinstance(part, str)
    )


def count_part_tokens(
    part: Any,
    tokenizer: Tokenizer,
    depth: int,
) -> int:
    """The tokens of one part beside its words."""
    kind = get_field(part, "type")
    if isinstance(kind, str) and kind in OPAQUE_PARTS:
        inner = get_document_source(part)
        return PICTURE_TOKENS if inner is None else count_nontext_tokens(inner, tokenizer, depth)
    if isinstance(
        inner := get_field(part, "content") or get_field(part, "output"),
        (list, tuple),
    ):
        return count_nontext_tokens(inner, tokenizer, depth)
    if kind in TEXT_PART_TYPES or get_part_text(part, 1):
        return 0
    return tokenizer.count(to_counted_json(part))


def count_pictures(content: Any, depth: int = MAX_DEPTH) -> int:
    """How many pictures, recordings and documents a content holds that are no text."""
    count = 0
    for part in list_parts(content) if depth else ():
        if isinstance(part, str):
            continue
        if get_field(part, "type") in tuple(OPAQUE_PARTS):
            count += get_document_source(part) is None
        else:
            count += count_pictures(get_field(part, "content"), depth - 1)
    return count


def list_parts(content: Any) -> Sequence[Any]:
    """The parts of a content; what a tool gave back may be a single one."""
    return (content,) if isinstance(content, dict) else as_sequence(content)


def to_counted_json(value: Any) -> str:
    """A value as the JSON that a provider counts."""
    try:
        return dumps(
            value if value is not None else {},
            ensure_ascii=False,
            default=str,
        )
    # A host's own object may hold itself, or keys that JSON has not.
    except (ValueError, TypeError, RecursionError):
        return str(value)


def as_sequence(value: Any) -> Sequence[Any]:
    """The value if it is a list or tuple; else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()
