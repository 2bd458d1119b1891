"""What of a message is its writer's own words, sentence by sentence.

People paste: logs, READMEs, commit messages, code, what somebody else said. A standing order in
there is nobody's wish, so it is kept apart: it can be counted as quoted, it is never learned from.
What a host or Reverie itself put into a message stands between tags and is left out altogether.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reverie.text.borrowed_voices import find_borrowed_start
from reverie.text.injection_fence import remove_injections

MAX_SENTENCES = 400  # of one message; beyond that somebody has pasted a file
MIN_QUOTE_WORDS = 3  # in double quotes; fewer are a name and not somebody's speech


class MessageSentences(NamedTuple):
    """A message's sentences in order: the writer's own, and those of what is quoted or pasted."""

    own: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()


_TAGGED = re.compile(r"<([a-z][\w-]{2,40})(?:\s[^<>\n]{0,200})?>.*?</\1>", re.DOTALL)
_CODE = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_QUOTE = re.compile(r"[\"“](?P<within>[^\"“”\n]{1,1000})[\"”]")
_HIDDEN = re.compile("\ue000(\\d+)\ue001")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
# Chinese and Japanese write no space behind a full stop.
# The mark comes first, so that places without one are passed over quickly.
_END = re.compile(r"[.!?…][\"')\]]*\s+(?=\S)|[。！？](?=[^\s。！？」』）”\"'])")
# Characters of the end of a sentence in which a shortened word would stand.
MAX_SHORTENED_CHARS = 16
_MACRO = re.compile(
    r"!\s+(?:in|for|on|at|from|with|inside|to|ever|anywhere|when|here|and|or|macro|calls?|because)"
    r"\b"
)
_SHORTENED = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|etc|approx|cf|incl|resp|ca|mr|ms|dr|st)|\.\s?\w)\.$|\s\d\.$",
    re.IGNORECASE,
)

# After a line like these everything else in the message is pasted: "here's the log:", "the readme
# says:".
_PASTE_FOLLOWS = re.compile(
    r"(?:\b(?:says?|said|reads|wrote|output|logs?|readme|runbook|errors?|trace(?:back)?|stack "
    r"?trace|content|contents|"
    r"docs?|diff|ticket|issue|e?mail|commit message|message|review|comment|paste[ds]?|got this|get "
    r"this|gives|"
    r"this is what|prints?|response|transcript|thread)\b[^:\n]{0,60}:|"
    r"\b(?:log|output|trace|error|content|message|see|pasted?|file|config) below\b.{0,40})\s*$",
    re.IGNORECASE,
)

# What stands alone in a line above a part of a ticket; the rest of the message is the ticket.
_FORM = re.compile(
    r"^\W{0,4}(?:steps to reproduce|to reproduce|reproduction|expected(?: behaviou?r| results?)?|"
    r"actual(?: behaviou?r| results?)?|additional (?:context|information|notes?)|environment|"
    r"acceptance criteria|what happened|screenshots?|possible (?:fix|solution)|workaround)\W{0,3}$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} \S")
_MARKUP_TAG = re.compile(
    r"</?(?:!doctype|html|head|body|div|span|p|ul|ol|li|table|tr|td|th|h[1-6]|section|article|main|"
    r"nav|header|footer|script|style|svg|item|entry|rss|feed|note|\?xml)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
MIN_DOCUMENT_MARKS = 2  # headings, or tags of a page, from which on a message holds a document

# Lines that programs wrote, wherever they stand.
_MACHINE = re.compile(
    r"^\s*(?:>|\||\$ |#{1,6} |@@ |diff --git|[-+]{3} |\[?\d{4}-\d\d-\d\d[T ]?\d|\[?\d\d:\d\d:\d\d|"
    r"\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE|NOTICE)\b[\]:\s]|[ewi]: |Traceback |at \S+\("
    r"|File \"|"
    r"(?:error|warning|fatal|hint|note)(?:\[\w+\])?: |npm (?:ERR|WARN)|FAIL(?:ED)?\b|E {2,}|={4,}"
    r"|-{4,}|\* What went|[A-Za-z_][\w.]*(?:Error|Exception): )"
)

# Lines that another person wrote: "Alice: never deploy on Fridays", under "from slack:" or where
# there are two or more of them in which somebody speaks.
_SPEAKER = re.compile(
    r"^\s*(?:[-*•]\s+)?\W?(?P<name>[A-Z][a-zà-ÿ'’-]+(?: [A-Z][\w.'’-]*)?)(?: \([^()\n]{1,40}\))?"
    r":\s+(?P<said>\S.*)"
)
_SPEECH = re.compile(
    r"\b(?:i|we|us|you|my|our|your|let's|please|never|always|don't|yes|no|ok|ich|wir|ihr|bitte|nie|"
    r"immer|ja|nein)\b|\?\s*$",
    re.IGNORECASE,
)
_TALK_FOLLOWS = re.compile(
    r"\b(?:slack|teams|discord|whatsapp|telegram|signal|irc|jira|chat|channel|standup|meeting|zoom|"
    r"colleagues?|team|kollegen|besprechung)\b[^:\n]{0,40}:\s*$",
    re.IGNORECASE,
)
# What stands before a colon and is nobody's name.
_LABEL = re.compile(
    r"(?:note|notes|rule|rules|ps|important|attention|warning|hint|tip|caution|remember|reminder|"
    r"todo|fyi|edit|update|also|correction|decision|decided|preference|question|questions|"
    r"answer|context|goal|goals|plan|problem|issue|fix|bug|task|first|second|third|finally|"
    r"example|reason|result|style|naming|format|language|tests|testing|test|database|cache|"
    r"backend|frontend|server|client|deploy|deployment|build|api|ui|design|security|"
    r"performance|code|docs|commits|git|wichtig|achtung|hinweis|merke|regel|regeln|frage|"
    r"fragen|antwort|ziel|grund|beispiel|aufgabe|fehler|korrektur|entscheidung|nochmal|"
    r"außerdem|zusatz|stil|sprache|datenbank|importante|nota|regla|aviso|regra|règle|remarque|"
    r"attenzione|regola)\Z",
    re.IGNORECASE,
)
MIN_SPEAKERS = 2
# "CONTRIBUTING: We never …": a line of a file among lines of a log.
_FILE_LINE = re.compile(r"^\s*(?P<name>[A-Z][A-Z_.-]{3,}): ")


def strip_markup(text: str) -> str:
    """A message without injections, blocks between tags and code."""
    text = remove_injections(text)
    if "</" in text:
        text = _TAGGED.sub("\n", text)
    return straighten_quotes(_CODE.sub("\n", text))


def straighten_quotes(text: str) -> str:
    """A text with apostrophes as they are typed."""
    return text.replace("’", "'").replace("‘", "'")


# Feelings and lessons are looked for in the same messages.
@lru_cache(maxsize=64)
def separate_sentences(text: str) -> MessageSentences:
    """A message's sentences, its writer's own apart from what is quoted."""
    own: list[str] = []
    quoted: list[str] = []
    pasting = False
    lines = strip_markup(text).rstrip().split("\n")
    borrowed: list[str] = []
    if start := find_borrowed_start(lines):
        borrowed = [lines[start.line][start.character :], *lines[start.line + 1 :]]
        lines = [*lines[: start.line], lines[start.line][: start.character]]
    first, last = find_document(lines)
    of_others = find_lines_of_others(lines)
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        in_document = first <= number <= last
        if in_document or _FORM.match(line):
            # A form's heading starts a ticket that lasts to the end; a document ends by itself.
            pasting = pasting or not in_document
            quoted += split_sentences(_MARKUP_TAG.sub(" ", line).lstrip("> |#"))
        elif pasting or number in of_others or _MACHINE.match(line):
            quoted += split_sentences(line.lstrip("> |#"))
        else:
            pasting = number < len(lines) - 1 and _PASTE_FOLLOWS.search(line) is not None
            mine, theirs = separate_quotes(line)
            own += mine
            quoted += theirs
    for line in borrowed:
        quoted += split_sentences(line.lstrip("> |#"))
    return MessageSentences(limit_sentences(own), limit_sentences(quoted))


def separate_lines(text: str) -> tuple[str, str]:
    """A message in two: the lines in which its writer speaks, and all others.

    Speech that somebody quotes within a line of their own stays in that line.
    """
    own = set(separate_sentences(text).own)
    mine: list[str] = []
    theirs: list[str] = []
    for line in remove_injections(text).split("\n"):
        sentences, _ = separate_quotes(straighten_quotes(line))
        (theirs if own.isdisjoint(sentences) else mine).append(line)
    return "\n".join(mine).strip(), "\n".join(theirs).strip()


def remove_quoted_speech(text: str) -> str:
    """A text without the speech of others in it."""

    def without(found: re.Match[str]) -> str:
        return found[0] if is_short_quote(found) else " "

    return _QUOTE.sub(without, text)


def is_short_quote(found: re.Match[str]) -> bool:
    """True for a quotation of so few words that it is a name, not speech."""
    return len(found["within"].split()) < MIN_QUOTE_WORDS


def find_document(lines: Sequence[str]) -> tuple[int, int]:
    """The first and the last line of a document in a message; (1, 0) where there is none.

    With several headings it lasts from the first to the end of the message, with tags of a page
    from the first to the last of them.
    """
    headings = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    if len(headings) >= MIN_DOCUMENT_MARKS:
        return headings[0], len(lines) - 1
    tags = [number for number, line in enumerate(lines) for _ in _MARKUP_TAG.finditer(line)]
    if len(tags) >= MIN_DOCUMENT_MARKS and tags[0] < tags[-1]:
        return tags[0], tags[-1]
    return 1, 0


def find_lines_of_others(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that begin with another person's name, or with a file's in a log.

    Where one line begins with a label, as "Note:", the others do, too.
    """
    spoken, announced, logged = set[int](), set[int](), set[int]()
    speaks = is_labelled = is_announced = is_log = False
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        speaker, file = _SPEAKER.match(line), _FILE_LINE.match(line)
        if speaker and _LABEL.match(speaker["name"]):
            speaker, is_labelled = None, True
        if speaker:
            spoken.add(number)
            speaks = speaks or _SPEECH.search(speaker["said"]) is not None
            if is_announced:
                announced.add(number)
        is_announced = _TALK_FOLLOWS.search(line) is not None or (is_announced and bool(speaker))
        is_file = file is not None and not _LABEL.match(file["name"])
        is_log = _MACHINE.match(line) is not None or (is_log and is_file)
        if is_log:
            logged.add(number)
    if speaks and not is_labelled and len(spoken) >= MIN_SPEAKERS:
        announced |= spoken
    return announced | logged


def limit_sentences(found: list[str]) -> tuple[str, ...]:
    """The first and the last of many: what is asked stands before or after what is pasted."""
    half = MAX_SENTENCES // 2
    if len(found) > MAX_SENTENCES:
        found = found[:half] + found[-half:]
    return tuple(found)


def separate_quotes(line: str) -> tuple[list[str], list[str]]:
    """A line's own sentences, and those within quotation marks."""
    quotes: list[str] = []

    # While the line is split, a number in private-use characters stands for each quotation: its
    # full stops end no sentence of the line.
    def hide(match: re.Match[str]) -> str:
        if is_short_quote(match):
            return match[0]
        quotes.append(match[0])
        return f"\ue000{len(quotes) - 1}\ue001"

    def restore(match: re.Match[str]) -> str:
        number = int(match[1])
        return quotes[number] if number < len(quotes) else ""

    sentences = split_sentences(_QUOTE.sub(hide, line))
    own = [_HIDDEN.sub(restore, sentence) for sentence in sentences]
    quoted: list[str] = []
    for quote in quotes:
        quoted += split_sentences(quote.strip('"“”'))
    return own, quoted


def split_sentences(line: str) -> list[str]:
    """The sentences of a line; "e.g. this" and file names stay whole.

    Lower case begins a sentence, too.
    """
    line = _BULLET.sub("", line).strip()
    found: list[str] = []
    start = 0
    for end in _END.finditer(line):
        behind_mark = end.start() + 1
        tail = line[max(start, behind_mark - MAX_SHORTENED_CHARS) : behind_mark]
        if _SHORTENED.search(tail) or _MACRO.match(line, end.start()):
            continue
        found.append(line[start : end.end()].strip())
        start = end.end()
    found.append(line[start:].strip())
    return [sentence for sentence in found if sentence]
