"""Trigger patterns: what calls a memory up when it is met in a conversation or in what a tool is about to do.

| written | meets |
|---|---|
| `println!` | these letters anywhere, in any case |
| `*.rs` | with `*` or `?` a glob that fits a whole word |
| `re:force[- ]push` | a regular expression, in any case |
| `tool:Bash` | a tool of that name is about to run; the name may be a glob |
| `tool:Bash(git push*--force*)` | … and the glob fits one line of what it is given |

Always true: an empty pattern meets nothing (CC-66), and no pattern can take long: a regular expression that has not
finished within a moment has not met. A regular expression comes from anybody and Python's `re` cannot be interrupted,
so `regex` is used, which can.
"""

from collections.abc import Iterator, Mapping
from fnmatch import translate
from functools import lru_cache
from re import IGNORECASE, Match, findall, fullmatch, sub
from re import Pattern as Compiled
from re import compile as compiled
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.errors import BadInput

if TYPE_CHECKING:
    from regex import Pattern as Interruptible

MOST_CONTEXT = 20_000    # characters that patterns are held against
MOST_PATTERN = 500       # characters of one pattern
PATIENCE = 0.01          # seconds that one regular expression may take; 1 ms is much for 20,000 characters
EXPRESSION, TOOL = "re:", "tool:"
DEPTH = 6                # levels of what a tool is given that are looked at


class Scene(NamedTuple):
    """What patterns are held against: the words of a conversation, or a tool and what it is about to be given."""

    text: str                          # in small letters
    words: frozenset[str]
    tool: str = ""
    given: tuple[str, ...] = ()        # the texts among the tool's arguments, one line each


def spoken(context: str) -> Scene:
    """A conversation's window; of a long one the end."""
    text = context[-MOST_CONTEXT:].lower()
    return Scene(text, frozenset(findall(r"\S+", text)))


def about_to_run(tool: str, arguments: Mapping[str, Any] | str) -> Scene:
    """A tool that is about to run."""
    given = (arguments,) if isinstance(arguments, str) else tuple(texts_in(arguments))
    return spoken("\n".join((tool, *given)))._replace(
        tool=tool.lower(), given=tuple(line for text in given for line in text[:MOST_CONTEXT].lower().splitlines()))


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text within JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < DEPTH:
        for inner in value.values():
            yield from texts_in(inner, depth + 1)
    elif isinstance(value, (list, tuple)) and depth < DEPTH:
        for inner in value:
            yield from texts_in(inner, depth + 1)
    elif value is not None and depth < DEPTH:
        yield str(value)


def meets(pattern: str, scene: Scene) -> bool:
    """Whether a pattern is met."""
    pattern = pattern.strip()
    if pattern.startswith(EXPRESSION):
        return found(pattern[len(EXPRESSION):], scene.text)
    pattern = pattern.lower()
    if pattern.startswith(TOOL):
        return runs(pattern[len(TOOL):], scene)
    if "*" in pattern or "?" in pattern:
        fits = glob(pattern)
        return any(fits.match(word) for word in scene.words)
    return bool(pattern) and pattern in scene.text


def runs(pattern: str, scene: Scene) -> bool:
    """Whether the tool that is about to run is the one, and is given what the pattern says."""
    name, arguments = parts(pattern)
    if not scene.tool or not glob(name).match(scene.tool):
        return False
    return arguments is None or any(glob(arguments).match(line.strip()) for line in scene.given)


def parts(pattern: str) -> tuple[str, str | None]:
    """(the tool's name, what it is given) of `name` or `name(what)`."""
    match: Match[str] | None = fullmatch(r"([^()]+)\((.*)\)", pattern.strip())
    return (match[1].strip(), match[2].strip()) if match else (pattern.strip(), None)


def found(expression: str, text: str) -> bool:
    """Whether a regular expression is found in time. One that cannot be read, in an old file say, meets nothing."""
    from regex import error
    try:
        return bool(expression) and interruptible(expression).search(text, timeout=PATIENCE) is not None
    except (TimeoutError, error):
        return False


@lru_cache(maxsize=1_000)
def interruptible(expression: str) -> "Interruptible[str]":
    """An expression that can be given up."""
    import regex
    return regex.compile(expression, regex.IGNORECASE)


@lru_cache(maxsize=10_000)
def glob(pattern: str) -> Compiled[str]:
    """A glob as an expression; runs of stars are one, so that no pattern can take long."""
    return compiled(translate(sub(r"\*+", "*", pattern)), IGNORECASE)


def checked(pattern: str) -> str:
    """A pattern that can be met; BadInput says what is wrong with it."""
    if len(pattern) > MOST_PATTERN:
        raise BadInput(f"The trigger {pattern[:40]!r}… has {len(pattern)} characters; at most {MOST_PATTERN}")
    plain = pattern.strip()
    if plain.startswith(EXPRESSION):
        from regex import error
        try:
            interruptible(plain[len(EXPRESSION):])
        except error as err:
            raise BadInput(f"The trigger {pattern!r} is not a regular expression: {err}") from err
    if plain in (EXPRESSION, TOOL) or (plain.startswith(TOOL) and plain[len(TOOL)] == "("):
        raise BadInput(f"The trigger {pattern!r} names nothing; write re:EXPRESSION, tool:NAME or tool:NAME(GLOB)")
    return pattern
