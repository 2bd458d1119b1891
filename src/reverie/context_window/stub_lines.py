"""The words of a line that stands in the place of a long answer: what was there, and how to get it
again.
"""

import re

from reverie.context_window.context_items import ContextItem

# Characters of a call that a line shows.
MAX_CALL_CHARS = 120
# Characters of an assistant's answer that stay.
MAX_OPENING_CHARS = 200
MOVED, LEFT = "moved to memory", "left out"
RECALL = ": recall it by its words"
ANSWER = rf".{{0,{MAX_OPENING_CHARS + 2}}} \[[\d,]+ tokens of this answer were"
RESULT = rf"\[result( of .{{0,{MAX_CALL_CHARS + 2}}})?, [\d,]+ tokens in all, was"
LINE = re.compile(rf"({ANSWER}|{RESULT}) ({MOVED}|{LEFT})(, without \d+ pictures?)?({RECALL})?\]")


def render_stub(item: ContextItem, *, kept: bool = True) -> str:
    """The line that stands for an item's answers; `kept` if they are in memory from now on."""
    where = MOVED if kept else LEFT
    tokens = f"{item.answer_tokens:,} tokens"
    if not item.tool:
        return f"{cut_at_word(item.text, MAX_OPENING_CHARS)} [{tokens} of this answer were {where}]"
    what = "result"
    if item.answer_count == 1:
        what = f"result of {cut_at_word(item.tool[1:-1], MAX_CALL_CHARS)}"
    without = ""
    if item.picture_count:
        plural = "s" if item.picture_count > 1 else ""
        without = f", without {item.picture_count} picture{plural}"
    return f"[{what}, {tokens} in all, was {where}{without}{RECALL if kept else ''}]"


def cut_at_word(text: str, most: int) -> str:
    """The beginning of a text, on one line, up to the end of a word."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"


def is_stub(text: str) -> bool:
    """True if a text as a whole is what a line left of it: nothing is lost with it."""
    return text.endswith("]") and LINE.fullmatch(text) is not None
