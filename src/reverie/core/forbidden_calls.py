"""Whether a call of a tool does what a trigger names, so that it may be stopped.

Stricter than `trigger_patterns.matches_trigger`, by which a memory is told: a line that is searched
for, printed, committed as a message or talked about is not done, and a trigger of files is held
against paths and not against what stands in a file. To be told once too often costs a line; to be
stopped once too often costs the trust in it.
"""

from collections.abc import Sequence

from reverie.core.shell_commands import ShellCommand
from reverie.core.tool_calls import READ, RUN, TALK, WRITE, ToolCall
from reverie.core.touched_files import WRITING_TOOLS
from reverie.core.trigger_patterns import (
    EDIT_PREFIX,
    FILE_PREFIX,
    RUN_PREFIX,
    TOOL_PREFIX,
    TriggerContext,
    compile_glob,
    context_words,
    matches_trigger,
    simplify_command,
    split_tool_pattern,
    walk_texts,
)

# Programs whose words are only looked for, shown or sent.
_QUOTING = """
echo printf grep egrep fgrep rg ag ack man which type whereis apropos jq less more head tail wc
diff say figlet
"""
QUOTING = frozenset(_QUOTING.split())
QUOTING_VERBS = {
    "git": frozenset(("log", "grep", "show", "blame", "diff", "commit", "tag", "notes", "stash")),
    "gh": frozenset(("issue", "pr", "search", "api", "release")),
}


def stopping_triggers(triggers: Sequence[str]) -> Sequence[str]:
    """Those by which a tool may be stopped: where some say exactly what is done, words that are
    only named do not count.
    """
    exact = (RUN_PREFIX, FILE_PREFIX, EDIT_PREFIX)
    if not any(one.strip().startswith(exact) for one in triggers):
        return triggers
    return [one for one in triggers if one.strip().startswith((*exact, TOOL_PREFIX))]


def is_forbidden_call(pattern: str, scene: TriggerContext) -> bool:
    """True if the tool that is about to run does what a trigger names."""
    call, pattern = scene.call, pattern.strip()
    if call is None or call.kind == TALK:
        return False
    if pattern.startswith((RUN_PREFIX, FILE_PREFIX, EDIT_PREFIX)):
        return matches_trigger(pattern, scene)
    if pattern.startswith(TOOL_PREFIX):
        return is_such_call(pattern[len(TOOL_PREFIX) :], call)
    text = done_text(call).lower()
    return matches_trigger(pattern, TriggerContext(text, context_words(text)))


def is_such_call(pattern: str, call: ToolCall) -> bool:
    """True if a call is that of a pattern `name` or `name(glob)`."""
    name, wanted = split_tool_pattern(pattern)
    is_named = compile_glob(name).match(call.tool) is not None
    fits = None if wanted is None else compile_glob(wanted).match
    if fits is None:
        return is_named
    if call.kind == RUN:
        if is_named and any(fits(line_of(command)) for command in call.commands):
            return True
        # What a shell writes is changed as much as by the tool for it.
        is_of_writing = any(part in name.lower() for part in WRITING_TOOLS)
        return is_of_writing and any(fits(f"/{one.path}") for one in call.files if one.written)
    if not is_named:
        return False
    if call.kind in (WRITE, READ):
        lines = [f"/{one.path}" for one in call.files]
        if "/" not in (wanted or ""):
            lines += call.written_text.splitlines()
        return any(map(fits, lines))
    return any(map(fits, done_text(call).splitlines()))


def line_of(command: ShellCommand) -> str:
    """A command as one line in lower case, without what merely stands before it."""
    return simplify_command(" ".join(command.words).lower())


def done_text(call: ToolCall) -> str:
    """What is run, written or touched, without what is only mentioned."""
    if call.kind == RUN:
        return "\n".join(part for one in call.commands for part in done_parts(one))
    paths = [one.path for one in call.files]
    if call.kind in (WRITE, READ):
        return "\n".join((*paths, call.written_text))
    return call.given if isinstance(call.given, str) else "\n".join(walk_texts(call.given))


def done_parts(command: ShellCommand) -> tuple[str, ...]:
    """A command and what it is given to read; of one that only mentions its words, the flags."""
    words = command.words
    if words[0] in QUOTING or "".join(words[1:2]) in QUOTING_VERBS.get(words[0], ()):
        return (" ".join((*words[:2], *(one for one in words[2:] if one.startswith("-")))),)
    return (
        (" ".join(words), command.stdin) if words[0] not in ("cat", "tee") else (" ".join(words),)
    )
