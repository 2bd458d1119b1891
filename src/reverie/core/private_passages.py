"""Passages that somebody put between `<private>` and `</private>`, and tags that a cut would lose.

Tags count in any case, with attributes, and as JSON or HTML write them (`\\u003cprivate\\u003e`,
`&lt;private&gt;`). What is in doubt is hidden: an opening tag without an end hides to the end of
the text, an end without an opening hides from the beginning (the text may have been cut), and each
tag that is opened within a passage must be closed too. Spared is what only mentions a tag: one that
follows a letter directly (`List<private>`) or stands in quotes opens a passage only if an end comes
next, and an end in quotes ends only a passage that is open.

`privacy` takes the passages out; whoever cuts a text before that puts `tags_in_cut` in the place of
what is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from reverie.core.lazy_patterns import compile_once

QUOTES = frozenset("`'\"“”‘’«»")
MAX_TAG_CHARS = 400  # attributes may take 200 of them
CUT_MARGIN = 20_000  # characters beyond a cut that are looked at for secrets; none is longer
CUT_MARK = "\n…\n"  # what stands where something was cut out


class PrivateTag(NamedTuple):
    """An opening or closing tag, and where it stands."""

    start: int
    end: int
    closes: bool
    is_mention: bool  # perhaps only spoken of, see `is_mention`


# A tag in any of its ways of writing.
_TAG = (
    r"(?i)(?:<|\\u003c|&lt;)(?:\s{0,8}(?P<closes>\\?/\s{0,8})?private\s{0,8}"
    r"|private\s[^<>&]{1,200})"
    r"(?:>|\\u003e|&gt;)"
)


def find_tags(text: str) -> list[PrivateTag]:
    """The tags in a text, in order."""
    if "private" not in text.lower():
        return []
    return [
        PrivateTag(
            found.start(),
            found.end(),
            bool(found["closes"]),
            is_mention(text, found),
        )
        for found in compile_once(_TAG).finditer(text)
    ]


def is_mention(text: str, found: re.Match[str]) -> bool:
    """True if a tag may be spoken of only: it stands in quotes, or opens right after a letter."""
    before = text[found.start() - 1 : found.start()]
    after = text[found.end() : found.end() + 1]
    if before in QUOTES and after in QUOTES:
        return True
    return not found["closes"] and (before.isalnum() or before == "_")


def find_private_passages(text: str) -> Iterator[tuple[int, int]]:
    """Where each private passage begins and ends, tags included."""
    tags = find_tags(text)
    depth = start = done = 0
    for tag, following in zip_longest(tags, tags[1:]):
        if tag.closes and depth:
            depth -= 1
            if not depth:
                done = tag.end
                yield start, done
        elif tag.closes and not tag.is_mention:
            # Its opening was cut away, so all since the last passage may be private.
            yield done, tag.end
            done = tag.end
        elif not tag.closes and (
            not tag.is_mention or (following is not None and following.closes)
        ):
            start = start if depth else tag.start
            depth += 1
    if depth:
        yield start, len(text)


def tags_in_cut(
    text: str,
    start: int,
    end: int,
) -> str:
    """The tags of a text that lie, wholly or in part, in `start:end`, which is to be left out."""
    offset = max(0, start - MAX_TAG_CHARS)
    around = text[offset : end + MAX_TAG_CHARS]
    tags = [
        tag for tag in find_tags(around) if offset + tag.end > start and offset + tag.start < end
    ]
    # With the characters beside each tag, which tell whether it is only mentioned.
    return "".join(around[max(0, tag.start - 1) : tag.end + 1] for tag in tags)
