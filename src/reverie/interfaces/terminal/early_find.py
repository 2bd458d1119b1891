"""`reverie find` at a terminal without the command line, which takes longer to load than an answer.

Whatever is not plain (another option, no terminal, a mistake, an error) is left to the command
line, which says it all in its own way.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from reverie.interfaces.terminal.inline_screen import find_terminal

WITH_VALUE = {"--space": "space", "-s": "space", "--home": "home"}
FLAGS = {"--id": "print_id", "--sandbox": "sandbox"}


class FindWords(NamedTuple):
    """What the words of the command say."""

    query: str
    space: str | None = None
    home: str | None = None
    print_id: bool = False
    sandbox: bool = False


def read_words(words: Sequence[str]) -> FindWords | None:
    """What the words say; None if that is for the command line to find out."""
    query: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if word in FLAGS:
            given[FLAGS[word]] = True
        elif name in WITH_VALUE and (value or not has_value):
            value = value if has_value else next(rest, "")
            if not value:
                return None
            given[WITH_VALUE[name]] = value
        elif word.startswith("-"):
            return None
        else:
            query.append(word)
    return FindWords(" ".join(query), **given)


def find_early(words: Sequence[str]) -> None:
    """Run and leave, or return where the command line is needed."""
    asked = read_words(words)
    if asked is None or (out := find_terminal(asked.query)) is None:
        return
    from pathlib import Path

    from reverie.core import environment
    from reverie.core.config import load_settings
    from reverie.interfaces.terminal.find_screen import run_find
    from reverie.memory.memory_validation import resolve_space

    def run() -> int:
        home = Path(asked.home) if asked.home else None
        settings = load_settings(home, sandbox=asked.sandbox)
        if environment.host_session() in settings.off_sessions:
            settings = settings._replace(enabled=False)
        space = resolve_space(asked.space)
        return run_find(settings, space, asked.query, print_id=asked.print_id, out=out)

    try:
        code = run()
    except (Exception, KeyboardInterrupt) as err:
        code = report(err, ["find", *words])
    sys.exit(code)


def report(err: BaseException, words: list[str]) -> int:
    """Say what went wrong as the command line says it; the exit code."""
    from reverie.interfaces.cli.app import run_guarded

    def raise_again() -> None:
        raise err

    return run_guarded(raise_again, words)
