"""Passages that somebody put between `<private>` and `</private>`: where they stand, and their tags
beyond a cut.

Tags count in any case, with attributes, and as JSON or HTML write them (`\\u003cprivate\\u003e`,
`&lt;private&gt;`). What is in doubt is hidden: an opening tag without an end hides to the end of
the text, an end without an opening from the beginning (the text may have been cut), and each that
is opened within a passage must be closed too. Spared is what only mentions a tag: one that follows
a letter directly (`List<private>`) or stands in quotes opens a passage only if an end comes next,
and an end in quotes ends only a passage that is open.

What takes them out is `privacy`; whoever cuts a text before that puts `tags_between` in the place
of what is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

QUOTES = frozenset("`'\"“”‘’«»")
MAX_TAG_CHARS = 400  # characters; attributes may take 200 of them
CUT_MARGIN = 20_000  # characters beyond a cut that are looked at for secrets; none is longer
CUT_MARK = "\n…\n"  # what stands where something was cut out


class PrivateTag(NamedTuple):
    """A tag, and what it can be."""

    start: int
    end: int
    closes: bool
    is_mention: bool  # perhaps only spoken of


@lru_cache(maxsize=1)
def tag_pattern() -> re.Pattern[str]:
    """A tag in any of its ways of writing; compiled where one may stand."""
    return re.compile(
        r"(?i)(?:<|\\u003c|&lt;)(?:\s{0,8}(?P<closes>\\?/\s{0,8})?private\s{0,8}|private\s[^<>&]{1,200})"
        r"(?:>|\\u003e|&gt;)"
    )


def find_tags(text: str) -> list[PrivateTag]:
    """The tags in a text, in order."""
    if "private" not in text.lower():
        return []
    return [
        PrivateTag(found.start(), found.end(), bool(found["closes"]), is_mention(text, found))
        for found in tag_pattern().finditer(text)
    ]


def is_mention(text: str, found: re.Match[str]) -> bool:
    """Whether a tag may be spoken of only: it is in quotes, or opens directly behind a letter."""
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    return (before in QUOTES and after in QUOTES) or (
        not found["closes"] and (before.isalnum() or before == "_")
    )


def find_private_passages(text: str) -> Iterator[tuple[int, int]]:
    """Where what is private begins and ends, tags included."""
    found = find_tags(text)
    depth = start = done = 0
    for one, after in zip_longest(found, found[1:]):
        if one.closes and depth:
            depth -= 1
            if not depth:
                done = one.end
                yield start, done
        elif one.closes and not one.is_mention:
            yield done, one.end
            done = one.end
        elif not one.closes and (not one.is_mention or (after is not None and after.closes)):
            start = start if depth else one.start
            depth += 1
    if depth:
        yield start, len(text)


def tags_in_cut(text: str, start: int, end: int) -> str:
    """The tags that a cut would take, wholly or in part, out of a text of which `start:end` is left
    out.
    """
    first = max(0, start - MAX_TAG_CHARS)
    middle = text[first : end + MAX_TAG_CHARS]
    return "".join(
        middle[one.start - 1 if one.start else 0 : one.end + 1]
        for one in find_tags(middle)
        if first + one.end > start and first + one.start < end
    )
