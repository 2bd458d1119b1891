"""What the items of a conversation are about, by their words alone: how telling each is, what rests
on what.

A word is worth its rarity in this conversation (inverse document frequency). A name is a word that
looks like one: an identifier, a path, a number, or a rare word with a capital. Whatever first
brings a name up is what later items that use it rest on. What says or calls such a name touches
all that hold it; what a tool answered touches nothing, for it names whatever there is. Nothing here
knows a language.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.context_window.context_items import ContextItem
from reverie.text.tokenization import STOP_WORDS

WORD = re.compile(r"\w(?:[\w./:@-]*\w)?")
# Characters of an item that are read: two thirds from its beginning, one from its end.
MAX_SCANNED_CHARS = 3_000
# Share of the items in which a word may occur and still be a name that one rests on another by, …
MAX_NAME_SHARE = 0.05
# … or so many of them, in a short conversation.
MIN_NAME_ITEMS = 8
# What everything rests on is no more worth than that.
MAX_DEPENDANTS = 5


class ItemTopics(NamedTuple):
    """What the words of one item are worth: rarity, focus, and later items that depend on it."""

    rarity: float  # sum of the rarities of its words, in nats
    focus_share: float  # share of what the newest items are about that it speaks of too, 0..1
    dependant_count: int  # later items that use a name it brought up
    last_touch: int  # place of the last item that read, edited or named what it is about


def compute_item_topics(
    items: Sequence[ContextItem],
    newest: Iterable[int],
) -> list[ItemTopics]:
    """The topics of every item; `newest` are the places of those that say what is worked on."""
    said = [find_words(item.text) for item in items]
    often = Counter(word for words in said for word in words)
    total = math.log(len(items) + 1)
    rarity = {word: total - math.log(count) for word, count in often.items()}
    focus = frozenset[str]().union(*(said[place] for place in newest))
    # 1.0 where nothing is known of what is worked on: then nothing is near it.
    whole = sum(rarity[word] for word in focus) or 1.0
    # Whatever first brings a name up is what later items that use it rest on.
    rests = count_dependants(said, often)
    touched = find_last_touches(items, said, often)
    return [
        ItemTopics(
            sum(rarity[word] for word in words),
            sum(rarity[word] for word in words & focus) / whole,
            min(MAX_DEPENDANTS, rests[place]),
            touched[place],
        )
        for place, words in enumerate(said)
    ]


def find_words(text: str) -> frozenset[str]:
    """The words of a text that say what it is about."""
    return frozenset(WORD.findall(keep_scanned_text(text))) - STOP_WORDS


def keep_scanned_text(text: str) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= MAX_SCANNED_CHARS:
        return text
    return text[: 2 * MAX_SCANNED_CHARS // 3] + " " + text[-MAX_SCANNED_CHARS // 3 :]


def count_dependants(
    said: Sequence[frozenset[str]],
    often: Counter[str],
) -> list[int]:
    """How many later items use a name that each item brought up."""
    most = max(MIN_NAME_ITEMS, MAX_NAME_SHARE * len(said))
    names = {word for word, count in often.items() if 1 < count <= most and is_name(word)}
    first: dict[str, int] = {}
    resting: list[set[int]] = [set() for _ in said]
    for place, words in enumerate(said):
        for name in words & names:
            resting[first.setdefault(name, place)].add(place)
    return [len(places - {place}) for place, places in enumerate(resting)]


def find_last_touches(
    items: Sequence[ContextItem],
    said: Sequence[frozenset[str]],
    often: Counter[str],
) -> list[int]:
    """The place of the last item that touched each; its own where none did.

    A file counts by its whole path and by its last part, in a call or in what somebody says.
    """
    most = max(MIN_NAME_ITEMS, MAX_NAME_SHARE * len(said))
    last_said: dict[str, int] = {}
    for place, item in enumerate(items):
        words = find_words(item.tool) if item.tool else said[place]
        for word in words:
            if often[word] <= most and is_name(word):
                last_said[word] = place
                last_said[word.rpartition("/")[2]] = place
    touched = []
    for place, item in enumerate(items):
        own = find_words(item.tool) if item.tool else frozenset[str]()
        files = {word.rpartition("/")[2] for word in own if "/" in word}
        names = (said[place] | files) & last_said.keys()
        touched.append(max((last_said[name] for name in names), default=place))
    return [max(place, last) for place, last in enumerate(touched)]


def is_name(word: str) -> bool:
    """True if a word looks like a name: an identifier, a path, a number, a word with a capital."""
    return not word.isalpha() or not word.islower()
