"""What stands in the place of a long answer: one line that says what was there and that it can be had again.

Shortened is only what tools and the assistant answered, never what the user said: the order of roles and the pairs of
calls and results stay as they were, at a few tokens each. An assistant's answer keeps its beginning, in its own words.
"""

from collections.abc import Mapping
from typing import Any

from reverie.messages import item_type, named, role_of
from reverie.window.items import Item
from reverie.window.parts import TOOLS, listed
from reverie.window.shapes import IN_WORDS, plain_answer

MOST_TOOL = 120          # characters of a call that a line shows
OPENING = 200            # characters of an assistant's answer that stay
MOVED, LEFT = "moved to memory", "left out"
RECALL = ": recall it by its words"


def stub(item: Item, *, kept: bool = True) -> str:
    """The line that stands for an item's answers; `kept` tells whether they are in memory from now on."""
    where = MOVED if kept else LEFT
    if not item.tool:
        return f"{cut(item.text, OPENING)} [{item.result:,} tokens of this answer were {where}]"
    what = f"result of {cut(item.tool[1:-1], MOST_TOOL)}" if item.answers == 1 else "result"
    whole = f", without {item.pictures} picture{'s' * (item.pictures > 1)}" if item.pictures else ""
    return f"[{what}, {item.result:,} tokens in all, was {where}{whole}{RECALL if kept else ''}]"


def cut(text: str, most: int) -> str:
    """The beginning of a text, on one line, up to the end of a word."""
    line = " ".join(text[:4 * most].split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"


def shortened(message: Any, line: str) -> Any:
    """The message with `line` in place of what was answered in it; all else in it is as it was.

    Only mappings can be altered: an object of a host's own class is returned as it is.
    """
    if not isinstance(message, Mapping):
        return message
    content = named(message, "content")
    if any(named(part, "type") == "tool_result" for part in listed(content)):
        return {**message, "content": [with_line(part, line) for part in content]}
    if role_of(message) in TOOLS:
        kind = item_type(message)
        return {**message, "content" if kind is None else "output": line} if kind in (None, *IN_WORDS) else message
    if not plain_answer(message):
        return message
    if isinstance(content, str) or named(content[0], "type") == "text":
        return {**message, "content": line}
    return {**message, "content": [{"type": "output_text", "text": line, "annotations": []}]}


def with_line(part: Any, line: str) -> Any:
    """A part of a content, a tool's answer shortened."""
    return {**part, "content": line} if isinstance(part, Mapping) and part.get("type") == "tool_result" else part


def is_stub(text: str) -> bool:
    """Whether a text is what a line left of it: nothing is lost with it."""
    return text.endswith("]") and MOVED in text[-60:]
