"""What the shell offers after Tab: ids with their beginning, kinds, spaces, tags.

Trouble of any kind offers nothing, and pressing Tab creates nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from reverie import Mind
from reverie.core import config
from reverie.core.errors import ReverieError
from reverie.core.kinds import KINDS
from reverie.interfaces.cli.terminal_output import one_line

Completions = list[tuple[str, str]]
MAX_OFFERS = 50


def find_option(ctx: typer.Context, name: str) -> Any:
    """An option that stands behind the command or before it."""
    # A command in a group has the group for its parent: the program's own options are at the root.
    return ctx.params.get(name) or ctx.find_root().params.get(name)


@contextmanager
def open_existing_mind(ctx: typer.Context) -> Iterator[Mind | None]:
    """The memory that the words so far speak of, if it is there: pressing Tab creates nothing."""
    import reverie

    home = find_option(ctx, "home")
    settings = config.load_settings(
        Path(home) if home else None, sandbox=bool(find_option(ctx, "sandbox"))
    )
    # Another store than the file in the home has to be asked: from here nobody can tell if it is
    # empty.
    if not settings.store and not (settings.home / "reverie.db").is_file():
        yield None
        return
    with reverie.open(settings=settings) as mind:
        yield mind


def complete_ids(ctx: typer.Context, incomplete: str) -> Completions:
    """The newest memories here, with what they say."""
    return _complete_ids(ctx, incomplete, active=True)


def complete_forgotten_ids(ctx: typer.Context, incomplete: str) -> Completions:
    """Memories that no longer count."""
    return _complete_ids(ctx, incomplete, active=False)


def _complete_ids(
    ctx: typer.Context,
    incomplete: str,
    *,
    active: bool,
) -> Completions:
    try:
        with open_existing_mind(ctx) as mind:
            found = (
                mind.browse(
                    space=find_option(ctx, "place"),
                    active=active,
                    limit=MAX_OFFERS,
                )
                if mind
                else []
            )
    except (ReverieError, OSError):
        return []
    return [(m.id, one_line(m.title or m.text, 60)) for m in found if m.id.startswith(incomplete)]


def complete_spaces(ctx: typer.Context, incomplete: str) -> Completions:
    """Spaces that hold something, and this folder's."""
    try:
        with open_existing_mind(ctx) as mind:
            found = dict(mind.data.stats().spaces) if mind else {}
        found.setdefault(config.default_space(), 0)
    except (ReverieError, OSError):
        return []
    return [
        (space, f"{n} memories")
        for space, n in sorted(found.items())
        if space.startswith(incomplete)
    ]


def complete_passes(incomplete: str) -> Completions:
    """The passes of sleep."""
    from reverie.consolidation.sleep_passes import PASSES

    return [(row.name, row.meaning) for row in PASSES.values() if row.name.startswith(incomplete)]


def complete_kinds(incomplete: str) -> Completions:
    """The kinds of memory."""
    return [
        (kind.name, kind.meaning) for kind in KINDS.values() if kind.name.startswith(incomplete)
    ]


def complete_tags(ctx: typer.Context, incomplete: str) -> Completions:
    """Tags that are in use here."""
    try:
        with open_existing_mind(ctx) as mind:
            found = mind.tags(find_option(ctx, "place")) if mind else {}
    except (ReverieError, OSError):
        return []
    return [
        (tag, f"{n} memories") for tag, n in sorted(found.items()) if tag.startswith(incomplete)
    ]
