"""Trigger patterns: what calls a memory up when it is met in a conversation or in what a tool is
about to do.

| written | meets |
|---|---|
| `println!` | these letters anywhere, in any case |
| `*.rs` | with `*` or `?` a glob that fits a whole word |
| `re:force[- ]push` | a regular expression, in any case |
| `tool:Bash` | a tool of that name is about to run; the name may be a glob |
| `tool:Bash(git push*--force*)` | … and the glob fits one line, or one command, of what it is given |

A command is what stands between `&&`, `||`, `;`, `|` and line ends outside quotes, without what
merely stands before it (`sudo`, `env`, `time`, `VAR=value`), without git's options before its verb;
`git push -f` is `git push --force`.

Always true: an empty pattern meets nothing (CC-66), and no pattern can take long: a regular
expression that has not finished within a moment has not met. A regular expression comes from
anybody and Python's `re` cannot be interrupted, so `regex` is used, which can.
"""

from collections.abc import Iterator, Mapping
from fnmatch import translate
from functools import lru_cache
from itertools import islice
from re import IGNORECASE, Match, findall, finditer, fullmatch, match, sub
from re import Pattern as Compiled
from re import compile as compiled
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.errors import BadInput

if TYPE_CHECKING:
    from regex import Pattern as Interruptible

# characters that patterns are held against: the end of a conversation; of what a tool is
MOST_CONTEXT = 20_000
# given so many from either end
MOST_PATTERN = 500  # characters of one pattern
PATIENCE = 0.01  # seconds that one regular expression may take; 1 ms is much for 20,000 characters
EXPRESSION, TOOL = "re:", "tool:"
# commands of one text: a shell line has a few, a long file that is written is no shell line
MOST_COMMANDS = 500
DEPTH = 6  # levels of what a tool is given that are looked at


class Scene(NamedTuple):
    """What patterns are held against: the words of a conversation, or a tool and what it is about
    to be given.
    """

    text: str  # in small letters
    words: frozenset[str]
    tool: str = ""
    # the lines of the texts among the tool's arguments, and the commands in them
    given: tuple[str, ...] = ()


def spoken(context: str) -> Scene:
    """A conversation's window; of a long one the end."""
    text = context[-MOST_CONTEXT:].lower()
    return Scene(text, words_of(text))


def words_of(text: str) -> frozenset[str]:
    """The words as they stand there, and without the quotes, brackets and marks around them."""
    return frozenset(
        (
            *findall(r"\S+", text),
            *(word.rstrip(".:!?") for word in findall(r"[^\s'\"`()\[\]{}<>,;]+", text)),
        )
    )


def ends(text: str) -> str:
    """Both ends of a long text, the whole of another."""
    return (
        text if len(text) <= 2 * MOST_CONTEXT else f"{text[:MOST_CONTEXT]}\n{text[-MOST_CONTEXT:]}"
    )


def about_to_run(tool: str, arguments: Mapping[str, Any] | str) -> Scene:
    """A tool that is about to run."""
    given = (arguments,) if isinstance(arguments, str) else tuple(texts_in(arguments))
    text = ends("\n".join((tool, *map(ends, given)))).lower()
    return Scene(
        text,
        words_of(text),
        tool.lower(),
        tuple(dict.fromkeys(line for one in given for line in lines_of(ends(one).lower()))),
    )


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text as they are, then the commands in it, as typed and without what merely
    stands before.
    """
    yield from (line.strip() for line in text.splitlines())
    for command in islice(commands(text), MOST_COMMANDS):
        yield command
        yield bare(command)


_CONTINUED = r"\\\r?\n"  # these are compiled when first used: a cold recall runs no tool
_PIECE = r"""(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\.|>&|&>|(?P<end>[;&|\n]+)|[^'"\\;&|\n>]+|."""
_VALUE = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+"""
_BEFORE = (
    rf"(?:then|do|else|if|while|until|time|nohup|command|exec|!)\s+|(?:sudo|doas|env)(?:\s+-[ugcdp]\s+\S+|\s+-\S+)*\s+|"
    rf"nice(?:\s+-n\s*\d+|\s+-\d+)?\s+|timeout(?:\s+-\S+)*\s+[\d.]+[smhd]?\s+|[a-z_]\w*=(?:{_VALUE})?\s+|"
    r"(?:/usr(?:/local)?|/opt/homebrew)?/s?bin/"
)
_GIT = (
    rf"^git(?:\s+-c\s+{_VALUE}|\s+--(?:git-dir|work-tree|namespace)[=\s]{_VALUE}|"
    r"\s+(?:-p|--no-pager|--paginate|--bare|--literal-pathspecs))+(?=\s)"
)
_FORCED = r"^(git push\b(?:.*\s)?)-[uvqnd]*f[uvqndf]*(?=\s|$)"


def commands(text: str) -> Iterator[str]:
    """What a shell would run, one after the other, as far as that can be seen from outside. Any
    text will do.
    """
    pieces: list[str] = []
    for piece in finditer(_PIECE, sub(_CONTINUED, " ", text)):
        if piece["end"] is None:
            pieces.append(piece[0])
        elif pieces:
            yield ungrouped("".join(pieces))
            pieces = []
    yield ungrouped("".join(pieces))


def ungrouped(command: str) -> str:
    """A command without the brackets that group it with others."""
    return command.lstrip(" \t\r({").rstrip(" \t\r)}")


def bare(command: str) -> str:
    """A command without what merely stands before it; git's without options before its verb. In
    small letters.
    """
    while before := match(_BEFORE, command):
        command = command[before.end() :].lstrip("({ ")
    return sub(_FORCED, r"\1--force", " ".join(sub(_GIT, "git", command).split()))


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
        return found(pattern[len(EXPRESSION) :], scene.text)
    pattern = pattern.lower()
    if pattern.startswith(TOOL):
        return runs(pattern[len(TOOL) :], scene)
    if "*" in pattern or "?" in pattern:
        fits = glob(pattern)
        return any(fits.match(word) for word in scene.words)
    return bool(pattern) and pattern in scene.text


def is_expression(pattern: str) -> bool:
    """Whether it is a regular expression: of all patterns only these can be slow."""
    return pattern.strip().startswith(EXPRESSION)


def runs(pattern: str, scene: Scene) -> bool:
    """Whether the tool that is about to run is the one, and is given what the pattern says."""
    name, arguments = parts(pattern)
    if not scene.tool or not glob(name).match(scene.tool):
        return False
    return arguments is None or any(map(glob(arguments).match, scene.given))


def parts(pattern: str) -> tuple[str, str | None]:
    """(the tool's name, what it is given) of `name` or `name(what)`."""
    both: Match[str] | None = fullmatch(r"([^()]+)\((.*)\)", pattern.strip())
    return (both[1].strip(), both[2].strip()) if both else (pattern.strip(), None)


def found(expression: str, text: str) -> bool:
    """Whether a regular expression is found in time. One that cannot be read, in an old file say,
    meets nothing.
    """
    from regex import error

    try:
        return (
            bool(expression)
            and interruptible(expression).search(text, timeout=PATIENCE) is not None
        )
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
        raise BadInput(
            f"The trigger {pattern[:40]!r}… has {len(pattern)} characters; at most {MOST_PATTERN}"
        )
    plain = pattern.strip()
    if plain.startswith(EXPRESSION):
        from regex import error

        try:
            interruptible(plain[len(EXPRESSION) :])
        except error as err:
            raise BadInput(f"The trigger {pattern!r} is not a regular expression: {err}") from err
    if plain in (EXPRESSION, TOOL) or (plain.startswith(TOOL) and plain[len(TOOL)] == "("):
        raise BadInput(
            f"The trigger {pattern!r} names nothing; write re:EXPRESSION, tool:NAME or tool:NAME(GLOB)"
        )
    return pattern
