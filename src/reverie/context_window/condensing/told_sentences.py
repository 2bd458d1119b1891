"""What may stand in a summary without a model: sentences of what was asked, decided, found, changed
and what failed.

People and the agent are quoted, sentence by sentence, and only where they speak: lines of code, log
rows and tables say nothing out of their place. Of a tool's call it is said what was done, and of
its answer only an error, a count of tests, or an answer of one line; what was read is named in one
sentence for the whole stretch.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.context_window.context_items import ContextItem
from reverie.text.host_messages import find_tool_calls
from reverie.text.own_sentences import separate_sentences
from reverie.text.prompt_phrases import DECIDES, LEFT_OPEN, has_trait
from reverie.text.tokenization import shorten_line, tokenize_query
from reverie.transcripts.message_passages import read_spoken_text

# How much more, or less, than what is merely said counts …
ASKED, DECIDED, OPEN, FAILED, CHANGED = 1.5, 2.0, 1.5, 2.0, 1.5
# … of what the agent announces before a call, and of a call that tells no outcome.
ANNOUNCED, RAN, LOOKED_AT = 0.7, 0.5, 0.3
# Characters of a sentence, of a command, of what it answered; files named in one sentence.
MAX_SENTENCE_CHARS, MAX_COMMAND_CHARS, MAX_ANSWER_CHARS = 300, 100, 160
MAX_FILES = 12
# A shorter sentence says nothing.
MIN_SENTENCE_CHARS = 12
# Terms of what is announced before a call, at least.
MIN_ANNOUNCED_TERMS = 5
# Characters of one item that are read: from its beginning and its end.
MAX_READ_CHARS = 60_000
# Of a sentence, beside code that is marked as such: letters and spaces, at least.
MIN_LETTERS = 0.75
MIN_WORDS = 3
# Of what ends without a full stop.
MIN_OPEN_WORDS = 8
ENDS = frozenset(".!?…。！？")

_MARKED = re.compile(r"`[^`\n]+`")
_ROW = re.compile(
    r"[{};,=\\:：]\s*$"
    r"|^\s*(?:[-+|#@$%^&~</\\\]})]|\d+\s*[\t|:]|\[?\d{1,4}[-:/.]\d\d\b)"
    r"|^\s*(?:def|class|import|return|const|let|var|func|fn|public|private|export|elif|select|insert"
    r"|raise|assert|async|await|yield)\s+\S+(?:\s*[=({:.]|$)"
    r"|^\s*from \S+ import\b|^\S+(?: \S+)?\s+[:+*/-]?=+\s|=>|::\w|</?\w+[ >]"
    r"|^\s*\w+\([^)]*\)\s*:?\s*$|\w=\S+.*\s\w+=\S|^\s*\w+ \d+: "
)
_SPACED = re.compile(r"[^\W\d_]{2,}")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")

# By the names of arguments, whatever the host calls its tools.
_COMMANDS = ("command", "cmd", "script", "sql", "query", "pattern", "url", "code", "input")
_SEARCHES = re.compile(r"search|grep|find|fetch|lookup|browse|glob", re.I)
_PATHS = ("file_path", "path", "filename", "file", "notebook_path", "target_file")
_CHANGES = re.compile(r"edit|write|patch|replace|create|insert|update|delete|move|rename", re.I)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_LOOKS = re.compile(
    r"\s*(?:cd \S+ *&& *)?(?:cat|head|tail|less|sed -n|ls|find|grep|rg|tree|wc|pwd|which|type|file"
    r"|stat|git (?:-C \S+ )?(?:log|show|diff|status|blame|branch|grep)|get-content|dir)\b",
    re.I,
)
_ERROR = re.compile(
    r"(?m)^.*?\b([A-Z]\w*(?:Error|Exception|Failure)\b[:( ].{3,})$"
    r"|^\W*(?:[\w./:-]+: )?((?i:error|fatal|panic)(?:\[\w+\])?: .{3,})$"
    r"|^(.{0,80}\b(?i:command not found|no such file|permission denied|cannot|could not|timed out"
    r"|exited? (?:with )?(?:code|status)[ :=]*[1-9]).{0,120})$"
)
_TESTS = re.compile(r"(?m)^.*?(\d+ (?:passed|failed|errors|failures?)\b[^\n=]{0,80})")


class ToldLine(NamedTuple):
    """A sentence, who says or did it, and how much it counts beside what is merely said."""

    who: str
    text: str
    weight: float = 1.0


def tell_item(item: ContextItem, text: str, calls: str) -> Iterator[ToldLine]:
    """What may be said of an item; `text` is what it holds, `calls` its calls, without secrets."""
    if len(text) > MAX_READ_CHARS:
        text = f"{text[: MAX_READ_CHARS // 2]}\n{text[-MAX_READ_CHARS // 2 :]}"
    if not item.tool:
        role, words = read_spoken_text(item.type.partition("_")[0], text)
        yield from tell_speech(role, words)
        return
    made = find_tool_calls(calls.replace("]; [", "]\n["))
    said, answer = part_calls(text, [name for name, _ in made])
    # What the person chose in a dialog, or said when refusing, comes as an answer.
    who, words = read_spoken_text("tool", answer.strip())
    if words:
        yield from tell_speech(who, words)
        return
    # What is announced in a few words says less than the call itself.
    for line in tell_speech("assistant", said):
        if len(tokenize_query(line.text)) >= MIN_ANNOUNCED_TERMS:
            yield line._replace(weight=ANNOUNCED * line.weight)
    yield from tell_calls(made, answer)


def part_calls(text: str, names: Sequence[str]) -> tuple[str, str]:
    """What was said before the first call of these tools, and what stands behind the last."""
    lines = text.split("\n")
    starts = tuple(f"{name} {{" for name in names)
    first = next((place for place, line in enumerate(lines) if line.startswith(starts)), 0)
    end = first
    # Calls stand together; what looks like one further down was answered.
    while end < len(lines) and lines[end].startswith(starts):
        end += 1
    return "\n".join(lines[:first]), "\n".join(lines[end:])


def tell_speech(who: str, text: str) -> Iterator[ToldLine]:
    """The sentences in which somebody speaks, what was pasted apart."""
    sentences = [one for one in separate_sentences(text).own if is_spoken(one)]
    if who == "assistant":
        sentences = [one for one in sentences if is_whole(one)]
    for place, sentence in enumerate(sentences):
        weight = 1.0
        if who == "user":
            weight = DECIDED if has_trait(sentence, DECIDES) else 1.0 if place else ASKED
        elif who == "assistant" and place >= len(sentences) - 2 and has_trait(sentence, LEFT_OPEN):
            weight = OPEN
        yield ToldLine(who, sentence[:MAX_SENTENCE_CHARS], weight)


def is_spoken(sentence: str) -> bool:
    """True for a sentence that somebody speaks; not for a row of a log, a table or code."""
    bare = _MARKED.sub("it", sentence).strip()
    if len(sentence) < MIN_SENTENCE_CHARS or _ROW.search(bare):
        return False
    if unicodedata.category(bare[0]) == "So":  # what a terminal draws before what it prints
        return False
    if len(_UNSPACED.findall(bare)) > len(bare) // 3:
        return True
    letters = sum(char.isalpha() or char in " ,.'’?!" for char in bare)
    return len(_SPACED.findall(bare)) >= MIN_WORDS and letters >= MIN_LETTERS * len(bare)


def is_whole(sentence: str) -> bool:
    """True for what ends as a sentence does, or is too long for a label in a list."""
    return sentence.rstrip("\"'*_`)”’")[-1:] in ENDS or len(sentence.split()) >= MIN_OPEN_WORDS


def tell_calls(
    calls: Iterable[tuple[str, Mapping[Any, Any]]],
    answer: str,
) -> Iterator[ToldLine]:
    """What was done with some calls, and what they answered if a sentence can hold it."""
    told = quote_answer(answer)
    lines: list[ToldLine] = []
    for name, given in calls:
        command, path = first_argument(given, _COMMANDS), first_argument(given, _PATHS)
        patched = _PATCHED.findall(command) if "***" in command else []
        shown = shorten_line(" ".join(command.split()), MAX_COMMAND_CHARS)
        if patched or (path and _CHANGES.search(name)):
            lines.append(ToldLine("tool", f"changed {', '.join(patched or [path])}.", CHANGED))
        elif command and _SEARCHES.search(name):
            lines.append(ToldLine("tool", f"looked up “{shown}”.", RAN))
        elif command and not _LOOKS.match(command):
            lines.append(ToldLine("tool", f"ran `{shown}`.", RAN))
        elif path:
            lines.append(ToldLine("tool", path, LOOKED_AT))
    # Of several answers the last error or count stands for them all: it is the last command's.
    ran = [place for place, line in enumerate(lines) if line.text.startswith("ran ")]
    if ran and told:
        weight = FAILED if _ERROR.search(told) else 1.0
        text = f"{lines[ran[-1]].text[:-1]}: “{told}”."
        lines[ran[-1]] = ToldLine("tool", text, weight)
    yield from lines


def first_argument(given: Mapping[Any, Any], names: Iterable[str]) -> str:
    """The first of these arguments that a call was given; "" for none."""
    found = (given.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value.strip()), "")


def quote_answer(answer: str) -> str:
    """The line of an answer that says how it went: tests, an error, or the one line that it is."""
    if tests := _TESTS.findall(answer):
        return shorten_line(tests[-1].strip(), MAX_ANSWER_CHARS)
    if errors := _ERROR.findall(answer):
        return shorten_line(next(filter(None, errors[-1])).strip(), MAX_ANSWER_CHARS)
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    return lines[0] if len(lines) == 1 and len(lines[0]) <= MAX_ANSWER_CHARS else ""


def tell_looked_at(paths: Iterable[str]) -> str:
    """One sentence that names all files that were read; "" for none."""
    files = list(dict.fromkeys(paths))
    more = len(files) - MAX_FILES
    if not files:
        return ""
    return f"read {', '.join(files[:MAX_FILES])}{f' and {more} more' if more > 0 else ''}."
