"""`reverie find`, `review` and `now` without the command line, which takes longer to load than an
answer.

Whatever is not plain (another option, no terminal, a mistake, an error) is left to the command
line, which says it all in its own way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from reverie.interfaces.terminal.inline_screen import can_draw, find_terminal

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.runtime.mind import Mind

WITH_VALUE = {"--space": "space", "-s": "space", "--home": "home"}
FLAGS = {"--id": "print_id", "--sandbox": "sandbox"}


class ScreenWords(NamedTuple):
    """What the words of the command say."""

    query: str
    space: str | None = None
    home: str | None = None
    print_id: bool = False
    sandbox: bool = False


def read_words(words: Sequence[str]) -> ScreenWords | None:
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
    return ScreenWords(" ".join(query), **given)


def find_early(words: Sequence[str]) -> None:
    """Run and leave, or return where the command line is needed."""
    asked = read_words(words)
    if asked is None or (out := find_terminal(asked.query)) is None:
        return
    from reverie.interfaces.terminal.find_screen import run_find
    from reverie.memory.memory_validation import resolve_space

    def run() -> int:
        settings, space = load_named_settings(asked), resolve_space(asked.space)
        return run_find(settings, space, asked.query, print_id=asked.print_id, out=out)

    leave_with(run, ["find", *words])


def show_turns_early(words: Sequence[str]) -> None:
    """`reverie now` without an option of its own: the last turns. Otherwise return."""
    asked = read_words(words)
    if asked is None or asked.query or asked.print_id:
        return
    from reverie.interfaces.cli.terminal_output import print_note, print_view
    from reverie.interfaces.terminal.turn_view import TURNS, tell_turns

    def run() -> int:
        with open_named_mind(asked) as mind:
            turns = mind.activity.turns(space=asked.space, limit=TURNS)
            if not print_view(tell_turns([(turn, ()) for turn in reversed(turns)])):
                print_note("No turn of an agent is known so far.")
            sys.stdout.flush()
        return 0

    leave_with(run, ["now", *words])


def review_early(words: Sequence[str]) -> None:
    """`reverie review` at a terminal, without an option of its own. Otherwise return."""
    asked = read_words(words)
    if asked is None or asked.query or asked.print_id or not can_draw(sys.stdout):
        return
    from reverie.interfaces.cli.mirror_status import list_mirror_questions
    from reverie.interfaces.cli.terminal_output import print_line, print_note
    from reverie.interfaces.terminal.review_screen import CARDS, run_review
    from reverie.memory.memory_validation import resolve_space

    def run() -> int:
        with open_named_mind(asked) as mind:
            before = mind.store.last_event()
            decided = run_review(mind, resolve_space(asked.space), CARDS)
            print_line(f"Decided {decided}. Each decision can be taken back: reverie undo")
            # Who only looked has left nothing to settle; to start a worker takes a tenth of a
            # second.
            if mind.store.last_event() != before:
                settle_in_background(mind)
            for line in list_mirror_questions(mind):
                print_note(line)
            sys.stdout.flush()
        return 0

    leave_with(run, ["review", *words])


def load_named_settings(asked: ScreenWords) -> Settings:
    """The settings of the home that was named; off where an agent's session asks that is off."""
    from pathlib import Path

    from reverie.core import environment
    from reverie.core.config import load_settings

    home = Path(asked.home) if asked.home else None
    settings = load_settings(home, sandbox=asked.sandbox)
    if environment.host_session() in settings.off_sessions:
        settings = settings._replace(enabled=False)
    return settings


@contextmanager
def open_named_mind(asked: ScreenWords) -> Iterator[Mind]:
    """The memory, open, with what its user is told once."""
    import reverie
    from reverie.interfaces.cli.terminal_output import print_note
    from reverie.storage.private_home import take_notice

    with reverie.open(settings=load_named_settings(asked)) as mind:
        if notice := take_notice(mind.store):
            print_note(notice)
        yield mind


def settle_in_background(mind: Mind) -> None:
    """Have the detached worker settle what was decided, if it can."""
    from contextlib import suppress

    from reverie.core.errors import ReverieError
    from reverie.interfaces.worker import spawn_worker

    with suppress(ReverieError, OSError):  # what was decided is kept; vectors can wait
        spawn_worker(mind.settings, mind.store)


def leave_with(run: Callable[[], int], words: list[str]) -> NoReturn:
    """Run, and leave with its code; what goes wrong is said as the command line says it."""
    try:
        code = run()
    except (Exception, KeyboardInterrupt) as err:
        code = report(err, words)
    sys.exit(code)


def report(err: BaseException, words: list[str]) -> int:
    """Say what went wrong as the command line says it; the exit code."""
    from reverie.interfaces.cli.app import run_guarded

    def raise_again() -> None:
        raise err

    return run_guarded(raise_again, words)


SCREENS: dict[str, Callable[[Sequence[str]], None]] = {
    "find": find_early,
    "review": review_early,
    "now": show_turns_early,
}
