"""Somebody's words, shown where an agent or a terminal could take them for a host's or a speaker's.

`escape_line` puts a text on one line, for a place in a block: it closes nothing, opens nothing and
hides nothing. `escape_text` leaves lines as they are, for a whole text that was asked for: only
what would be obeyed as structure is altered. What is stored is never altered. Pure; either, done
twice, changes nothing more.
"""

from reverie.core.lazy_patterns import compile_once

# Printable by Unicode and yet invisible: fillers, joiners, and variation selectors, which can carry
# whole messages.
INVISIBLE_CHARS = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-"
    "\U000e01ef"
)
SPEAKER_NAMES = "Human|Assistant|System|User|Developer|HUMAN|ASSISTANT|SYSTEM|USER|DEVELOPER"
# What hosts and providers put around their own words.
_HOST_TAGS = """
reverie-memory memory memories system-reminder system assistant human user developer instructions?
antml:[a-z_]+ function_calls? function_results? invoke parameter tool tool_[a-z]+
thinking command-[a-z]+ local-command-[a-z]+ document context data-[0-9a-f]{12}
[a-z-]*hook[a-z_-]* additional[_-]?context user[_-][a-z_-]+ persisted-output
"""
HOST_TAGS = tuple(_HOST_TAGS.split())
# What closes or opens something wherever it stands, and what looks like it and does not.
LOOKALIKES = {
    "`" * 3: "'''",
    "~" * 3: "∼∼∼",
}
COLON_LOOKALIKE = "\u2236"  # a ratio looks like a colon and ends no speaker's name


_INVISIBLE = f"[{INVISIBLE_CHARS}]"
# An escape sequence, which steers a terminal.
_TERMINAL = (
    "\x1b(?:\\[[0-?]{0,40}[ -/]{0,4}[@-~]|\\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])?"
)
# A tag of a host or of ours, whole or broken off, or what closes one that is named like theirs. At
# the end of a text too, where the name may come with what is shown next.
# Other signs stay: a command with `2>&1` or `<branch>` must arrive as it was written.
_TAG = (
    rf"(?i)<(\s*(?:/\s*)?(?:{'|'.join(HOST_TAGS)})\b[^<>]{{0,300}}|\s*/\s*[a-z]+[_-][^<>]{{0,300}}"
    r"|\|[^<>|]{1,40}\||\s*(?:/\s*)?\Z)>?"
)


def escape_line(text: str) -> str:
    """One line of text that cannot close the fence, open another, speak as somebody, or hide."""
    line = " ".join(remove_invisible(text).split())
    for sign, plain in LOOKALIKES.items():
        line = line.replace(sign, plain)
    line = _break_tags(line)
    return break_speaker_labels(line, r"(?<![\w/-])")


def escape_text(text: str) -> str:
    """A whole text without what a host would take for its own.

    That is tags, a speaker's name at the beginning of a line, and invisible characters.
    """
    return _break_tags(break_speaker_labels(remove_invisible(text), r"(?m:^)[ \t]*"))


def _break_tags(text: str) -> str:
    """A text in which no host finds a tag of its own."""
    return compile_once(_TAG).sub(r"‹\1›", text) if "<" in text else text


def remove_invisible(text: str) -> str:
    """A text without characters that cannot be seen.

    Also without those that steer a terminal or turn the direction of writing.
    """
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = compile_once(_TERMINAL).sub("", text)
    text = text.replace("\r\n", "\n")
    printable = "".join(map(_printable, text))
    return compile_once(_INVISIBLE).sub("", printable)


def _printable(ch: str) -> str:
    """A character, a line end or space for one of that kind, or nothing."""
    if ch.isprintable() or ch in "\n\t":
        return ch
    if ch in "\r\x0b\x0c\x85\u2028\u2029":
        return "\n"
    return " " if ch.isspace() else ""


def break_speaker_labels(text: str, where: str) -> str:
    """A text in which no speaker's name, where `where` matches before it, ends with a colon."""
    if ":" not in text:
        return text
    speaker = compile_once(rf"({where}(?:{SPEAKER_NAMES})[ \t]*):")
    return speaker.sub(rf"\1{COLON_LOOKALIKE}", text)
