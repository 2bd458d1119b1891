"""A table taken out of a TOML text; every other byte stays as somebody wrote it.

`tomlkit` keeps comments, blanks, quotes and line ends of what it parses. What it takes out is
replaced by nothing, and what stands below our closing mark, though TOML counts it to our table, is
somebody else's and stays in its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reverie.core.errors import BadInput
from reverie.interfaces.install.json_edit import BOM

if TYPE_CHECKING:
    from tomlkit.container import Container
    from tomlkit.items import Item, Table


def remove_marked_table(
    text: str,
    path: tuple[str, str],
    begin: str,
    end: str,
) -> str:
    """The text without the table at a path, and without the comments that mark where it is.

    `begin` and `end` are the comments around it, which may have been moved or be gone. BadInput if
    the text cannot be read.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import Table, Whitespace

    # tomlkit refuses a byte order mark.
    plain = text.removeprefix(BOM)
    try:
        document = tomlkit.parse(plain)
    except TOMLKitError as err:
        raise BadInput(f"it is no TOML that can be altered ({err})") from err
    # The table above may be written several times, each with some of its tables.
    for key, above in document.body:
        if key is None or key.key != path[0] or not isinstance(above, Table):
            continue
        body = above.value.body
        for place, (name, item) in enumerate(body):
            if name is not None and name.key == path[1]:
                left = text_below_mark(item, end) if isinstance(item, Table) else ""
                body[place] = (None, Whitespace(left))
    drop_marks(document, begin, end)
    return text[: len(text) - len(plain)] + document.as_string()


def text_below_mark(table: Table, end: str) -> str:
    """What stands in a table, or in one within it, below the comment that closes it."""
    import tomlkit
    from tomlkit.items import Table

    body = table.value.body
    for place, (_, item) in enumerate(body):
        if is_mark(item, end):
            below = tomlkit.document()
            for key, value in body[place + 1 :]:
                below.append(key, value)
            return below.as_string()
        inside = text_below_mark(item, end) if isinstance(item, Table) else ""
        if inside:
            return inside
    return ""


def drop_marks(
    container: Container,
    begin: str,
    end: str,
) -> None:
    """Take the marks out, wherever they are, with the blank line before the first one."""
    from tomlkit.items import AoT, Table, Whitespace

    body = container.body
    for place, (_, item) in enumerate(body):
        if isinstance(item, Table):
            drop_marks(item.value, begin, end)
        elif isinstance(item, AoT):
            for table in item.body:
                drop_marks(table.value, begin, end)
        elif is_mark(item, begin) or is_mark(item, end):
            body[place] = (None, Whitespace(""))
            before = body[place - 1][1] if place else None
            if is_mark(item, begin) and isinstance(before, Whitespace):
                blank = re.sub(r"\r?\n\Z", "", before.as_string())
                body[place - 1] = (None, Whitespace(blank))


def is_mark(item: Item, mark: str) -> bool:
    """True if an item is this comment, alone on its line."""
    from tomlkit.items import Comment

    return isinstance(item, Comment) and item.as_string().strip() == mark
