"""Trigger patterns: what calls a memory up when it matches a conversation or a tool call.

| written | matches |
|---|---|
| `println!` | these letters anywhere, in any case |
| `*.rs` | with `*` or `?` a glob that fits a whole word |
| `re:force[- ]push` | a regular expression, in any case |
| `tool:Bash` | a tool of that name is about to run; the name may be a glob |
| `tool:Bash(git push*--force*)` | … and the glob fits one line or command of its arguments |
| `run:git push --force` | a tool runs this, however it is typed (`shell_commands`); `a|b`: or b |
| `file:.env` | a tool reads or changes a file of that name, or in that folder; may be a glob |
| `edit:migrations/*` | … changes it |

A command is what stands between `&&`, `||`, `;`, `|` and line ends outside quotes, without what
merely stands before it (`sudo`, `env`, `time`, `VAR=value`), without git's options before its verb;
`git push -f` is `git push --force`.

Always true: an empty pattern matches nothing, and no pattern takes long: a regular expression that
has not finished within REGEX_TIMEOUT has not matched. Patterns come from anybody, and Python's `re`
cannot be interrupted, so `regex` is used, which can.
"""

from collections.abc import Iterator, Mapping
from fnmatch import translate
from functools import lru_cache
from itertools import islice
from re import IGNORECASE, Match, findall, fullmatch, match, sub
from re import Pattern as Compiled
from re import compile as compiled
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.shell_commands import MAX_CONTEXT_CHARS, matches_command, split_commands
from reverie.core.tool_calls import ToolCall

if TYPE_CHECKING:
    from regex import Pattern as Interruptible

MAX_PATTERN_CHARS = 500
REGEX_TIMEOUT = 0.01  # seconds; 1 ms is much for 20,000 characters
REGEX_PREFIX, TOOL_PREFIX = "re:", "tool:"
RUN_PREFIX, FILE_PREFIX, EDIT_PREFIX = "run:", "file:", "edit:"
# Commands of one text: a shell line has a few, and a long file that is written is no shell line.
MAX_COMMANDS = 500
MAX_ARGUMENT_DEPTH = 6  # levels of a tool's arguments that are searched


class TriggerContext(NamedTuple):
    """What patterns are matched against: the words of a conversation, or a tool call."""

    text: str  # in lower case
    words: frozenset[str]
    tool: str = ""
    # Lines of the texts among the tool's arguments, and the commands in them.
    argument_lines: tuple[str, ...] = ()
    call: ToolCall | None = None


def context_of_conversation(context: str) -> TriggerContext:
    """The context of a conversation; of a long one, of its end."""
    text = context[-MAX_CONTEXT_CHARS:].lower()
    return TriggerContext(text, context_words(text))


def context_words(text: str) -> frozenset[str]:
    """The words of a text as they are, and without quotes, brackets and marks around them."""
    bare_words = findall(r"[^\s'\"`()\[\]{}<>,;]+", text)
    return frozenset((*findall(r"\S+", text), *(word.rstrip(".:!?") for word in bare_words)))


def keep_both_ends(text: str) -> str:
    """Both ends of a long text, the whole of another."""
    if len(text) <= 2 * MAX_CONTEXT_CHARS:
        return text
    return f"{text[:MAX_CONTEXT_CHARS]}\n{text[-MAX_CONTEXT_CHARS:]}"


def context_of_tool_call(
    tool: str, arguments: Mapping[str, Any] | str, root: str = ""
) -> TriggerContext:
    """The context of a tool that is about to run in a work tree."""
    texts = (arguments,) if isinstance(arguments, str) else tuple(walk_texts(arguments))
    text = keep_both_ends("\n".join((tool, *map(keep_both_ends, texts)))).lower()
    lines: dict[str, None] = {}
    for argument in texts:
        lines.update(dict.fromkeys(lines_and_commands(keep_both_ends(argument).lower())))
    call = ToolCall(tool, arguments, root)
    return TriggerContext(text, context_words(text), tool.lower(), tuple(lines), call)


def lines_and_commands(text: str) -> Iterator[str]:
    """The lines of a text, then the commands in it, each as typed and simplified."""
    yield from (line.strip() for line in text.splitlines())
    for command in islice(split_commands(text), MAX_COMMANDS):
        yield command
        yield simplify_command(command)


# Compiled when first used: a cold recall runs no tool.
_VALUE = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+"""
_BEFORE = (
    rf"(?:then|do|else|if|while|until|time|nohup|command|exec|!)\s+|(?:sudo|doas|env)"
    rf"(?:\s+-[ugcdp]\s+\S+|\s+-\S+)*\s+|"
    rf"nice(?:\s+-n\s*\d+|\s+-\d+)?\s+|timeout(?:\s+-\S+)*\s+[\d.]+[smhd]?\s+"
    rf"|[a-z_]\w*=(?:{_VALUE})?\s+|"
    r"(?:/usr(?:/local)?|/opt/homebrew)?/s?bin/"
)
_GIT = (
    rf"^git(?:\s+-c\s+{_VALUE}|\s+--(?:git-dir|work-tree|namespace)[=\s]{_VALUE}|"
    r"\s+(?:-p|--no-pager|--paginate|--bare|--literal-pathspecs))+(?=\s)"
)
_FORCED = r"^(git push\b(?:.*\s)?)-[uvqnd]*f[uvqndf]*(?=\s|$)"


def simplify_command(command: str) -> str:
    """A command without what merely stands before it; git's without options before its verb.
    Expects lower case.
    """
    while before := match(_BEFORE, command):
        command = command[before.end() :].lstrip("({ ")
    return sub(
        _FORCED,
        r"\1--force",
        " ".join(sub(_GIT, "git", command).split()),
    )


def walk_texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text within JSON values, at most MAX_ARGUMENT_DEPTH deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < MAX_ARGUMENT_DEPTH:
        for inner in value.values():
            yield from walk_texts(inner, depth + 1)
    elif isinstance(value, (list, tuple)) and depth < MAX_ARGUMENT_DEPTH:
        for inner in value:
            yield from walk_texts(inner, depth + 1)
    elif value is not None and depth < MAX_ARGUMENT_DEPTH:
        yield str(value)


def matches_trigger(pattern: str, scene: TriggerContext) -> bool:
    """True if a pattern matches the context."""
    pattern = pattern.strip()
    if pattern.startswith(REGEX_PREFIX):
        return matches_regex(pattern[len(REGEX_PREFIX) :], scene.text)
    if pattern.startswith(RUN_PREFIX):
        return matches_run(pattern[len(RUN_PREFIX) :], scene)
    pattern = pattern.lower()
    if pattern.startswith((FILE_PREFIX, EDIT_PREFIX)):
        return matches_file(pattern, scene)
    if pattern.startswith(TOOL_PREFIX):
        return matches_tool_call(pattern[len(TOOL_PREFIX) :], scene)
    if "*" in pattern or "?" in pattern:
        fits = compile_glob(pattern)
        return any(fits.match(word) for word in scene.words)
    return bool(pattern) and pattern in scene.text


def matches_run(pattern: str, scene: TriggerContext) -> bool:
    """True if the tool that is about to run runs such a command."""
    call = scene.call
    if call is None:
        return False
    branch = call.branch if "@" in pattern else None
    one_of = pattern.split("|")
    return any(matches_command(one, command, branch) for command in call.commands for one in one_of)


def matches_file(pattern: str, scene: TriggerContext) -> bool:
    """True if the tool that is about to run reads, or changes, such a file."""
    if scene.call is None:
        return False
    how, _, name = pattern.partition(":")
    return scene.call.touches(name.strip(), written=f"{how}:" == EDIT_PREFIX)


def is_regex_trigger(pattern: str) -> bool:
    """True for a regular expression: of all patterns only these can be slow."""
    return pattern.strip().startswith(REGEX_PREFIX)


def matches_tool_call(pattern: str, scene: TriggerContext) -> bool:
    """True if the tool that is about to run is the pattern's, with such arguments."""
    name, arguments = split_tool_pattern(pattern)
    if not scene.tool or not compile_glob(name).match(scene.tool):
        return False
    return arguments is None or any(map(compile_glob(arguments).match, scene.argument_lines))


def split_tool_pattern(pattern: str) -> tuple[str, str | None]:
    """(tool name, glob of its arguments or None) of `name` or `name(glob)`."""
    both: Match[str] | None = fullmatch(r"([^()]+)\((.*)\)", pattern.strip())
    return (both[1].strip(), both[2].strip()) if both else (pattern.strip(), None)


def matches_regex(expression: str, text: str) -> bool:
    """True if a regular expression is found in time.

    One that cannot be read, as in an old file, is not found.
    """
    from regex import error

    try:
        return (
            bool(expression)
            and compile_regex(expression).search(text, timeout=REGEX_TIMEOUT) is not None
        )
    except (TimeoutError, error):
        return False


@lru_cache(maxsize=1_000)
def compile_regex(expression: str) -> "Interruptible[str]":
    """A regular expression whose search can be given up."""
    import regex

    return regex.compile(expression, regex.IGNORECASE)


@lru_cache(maxsize=10_000)
def compile_glob(pattern: str) -> Compiled[str]:
    """A glob as an expression; runs of stars become one, so that no pattern takes long."""
    return compiled(translate(sub(r"\*+", "*", pattern)), IGNORECASE)


def check_trigger(pattern: str) -> str:
    """The pattern, if it can match anything; else BadInput that says what is wrong."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise BadInput(
            f"The trigger {pattern[:40]!r}… has {len(pattern)} characters; at most "
            f"{MAX_PATTERN_CHARS}"
        )
    plain = pattern.strip()
    if plain.startswith(REGEX_PREFIX):
        from regex import error

        try:
            compile_regex(plain[len(REGEX_PREFIX) :])
        except error as err:
            raise BadInput(f"The trigger {pattern!r} is not a regular expression: {err}") from err
    if plain in (REGEX_PREFIX, TOOL_PREFIX, RUN_PREFIX, FILE_PREFIX, EDIT_PREFIX) or (
        plain.startswith(TOOL_PREFIX) and plain[len(TOOL_PREFIX)] == "("
    ):
        raise BadInput(
            f"The trigger {pattern!r} names nothing; write re:EXPRESSION, tool:NAME, "
            f"tool:NAME(GLOB), run:COMMAND, file:NAME or edit:NAME"
        )
    return pattern
