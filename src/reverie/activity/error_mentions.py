"""Whether a text tells of the error that a tool failed with.

Somebody who keeps "ECONNREFUSED on 5433: the tunnel is down" quotes what the program wrote, in
whatever language the rest is. So the longest run of words that the text shares with the lines that
tell the error decides, by what is in it: a name, code or number of its own, or only such words as
most errors have. Those need a name besides, and another name in its place is another error.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reverie.activity.failure_signature import extract_error_lines

# Lines of an output that are looked at besides those that tell the error.
MAX_LINES = 6
MAX_WORDS = 120
# Words that most errors have; they say that there is one, and not which.
_COMMON_WORDS = """
a an and are as at be been but by can cannot can't code command connection could daemon denied did
directory does error errors exception exit expected fail failed failing fails failure fatal file
find for found from get got had has have if in invalid is it its line main message missing module
named need needs no not object of on open or out package permission property read refused response
resolve run running server status such symbol test tests that the there this to token traceback
type unable undefined unexpected unknown unresolved up use value version was when where while with
you your means says name import module modules access process host port warning already exists
timeout timed trying connect run unsupported try failed
"""
COMMON_WORDS = frozenset(_COMMON_WORDS.split())
# Names of errors that any program may have.
COMMON_NAMES = re.compile(
    r"(?:(?:module)?notfound|import|attribute|name|type|value|key|index|runtime|assertion|syntax|"
    r"reference|range|os|io|filenotfound|connection(?:refused)?|timeout|permission|zerodivision|"
    r"indentation|unicode\w*|nomethod|nullpointer|illegalargument|illegalstate|classnotfound|"
    r"stopiteration|notimplemented|recursion|overflow|memory|eof|fatal|internal|internalserver)"
    r"(?:error|exception)"
)
_WORD = re.compile(
    r"['\"`‘“„«]\s?([^\s'\"`‘“”’„«»]{2,80})\s?['\"`’”“»]|([^\W_][\w.+@-]*[^\W_]|[^\W_])", re.UNICODE
)
_NUMBER = re.compile(r"\d{2,}\Z")
_CODE = re.compile(
    r"[A-Z]{1,5}-?\d{2,}\Z|E[A-Z]{4,}\Z|\d{1,3}[A-Z]\d{2,}\Z|[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z"
)
_IDENTIFIER = re.compile(r"(?=.*[A-Za-z])(?:.*[_\d.@/-].*|[a-z]+[A-Z].*)\Z")


class Word(NamedTuple):
    """A word of a text, or a name that it quotes."""

    plain: str  # in lower case
    quoted: bool  # a name in quotes
    own: bool  # says which error it is
    code: bool  # alone says which error it is
    number: bool

    @property
    def is_name(self) -> bool:
        """True if another one in its place makes it another error."""
        return self.quoted or self.number


@lru_cache(maxsize=1_000)
def read_words(text: str) -> tuple[Word, ...]:
    """The words of a text in order."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        quoted = match[1] is not None
        for part in re.split(r"[:=/]+" if not quoted else r"\0", match[1] or match[2]):
            # An error's own name may have that of its package before it.
            last = part.rpartition(".")[2]
            if part and len(found) < MAX_WORDS:
                plain = last if _CODE.match(last) and not quoted else part.strip(".,;-")
                found.append(read_word(plain, quoted))
    return tuple(word for word in found if word.plain)


def read_word(text: str, quoted: bool) -> Word:
    """One word with what it says."""
    plain = text.lower()
    number = _NUMBER.match(text) is not None
    common = plain in COMMON_WORDS or COMMON_NAMES.fullmatch(plain) is not None
    code = not common and _CODE.match(text) is not None
    own = code or (not common and len(plain) > 2 and (number or not plain.isdigit()))
    return Word(plain, quoted and not common, own, code, number)


def find_error_mention(text: str, error: str, command: str = "") -> str:
    """The words by which a text tells of the error in a tool's output; empty if it does not."""
    lines = dict.fromkeys((*extract_error_lines(error), *list_last_lines(error)))
    told = read_words(text)
    for line in lines:
        words = read_words(line)
        if run := find_shared_run(told, words, command):
            return " ".join(word.plain for word in run)
    return ""


def list_last_lines(error: str) -> list[str]:
    """Lines of an output that has so few that each may tell the error."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return lines if len(lines) <= MAX_LINES else []


def find_shared_run(told: Sequence[Word], words: Sequence[Word], command: str) -> Sequence[Word]:
    """The run of words that a text shares with the line of an error, if it tells of that error."""
    run: Sequence[Word] = ()
    lengths: dict[int, int] = {}
    best = (0, 0)
    for place, word in enumerate(told):
        now: dict[int, int] = {}
        for other, one in enumerate(words):
            if one.plain == word.plain:
                length = now[other] = lengths.get(other - 1, 0) + 1
                if length > 1 and is_other_name(told, words, place, other):
                    return ()
                found = told[place - length + 1 : place + 1]
                weight = (sum(each.own for each in found) + 2 * any(e.code for e in found), length)
                if weight > best:
                    best, run = weight, found
        lengths = now
    return run if is_telling(run, told, words, command) else ()


def is_other_name(told: Sequence[Word], words: Sequence[Word], place: int, other: int) -> bool:
    """True if behind a shared word both have a name, and not the same."""
    behind, instead = told[place + 1 : place + 2], words[other + 1 : other + 2]
    return bool(
        behind
        and instead
        and behind[0].plain != instead[0].plain
        and ((behind[0].quoted and instead[0].quoted) or (behind[0].number and instead[0].number))
    )


def is_telling(
    run: Sequence[Word], told: Sequence[Word], words: Sequence[Word], command: str
) -> bool:
    """True if what a text shares with a line of an error says which error it is."""
    own = [word for word in run if word.own]
    ports = {word.plain for word in words if word.number and len(word.plain) > 3}
    named = {word.plain for word in told if word.number and len(word.plain) > 3}
    few = len(own) < 2
    if few and ports and named and ports.isdisjoint(named):
        return False
    if any(word.code for word in run):
        return True
    if own and (len(run) > 2 or (len(run) == 2 and any(is_particular(word) for word in own))):
        return True
    if len(run) < 2:
        return False
    # Only such words as most errors have: something besides has to be the same.
    besides = {word.plain for word in (*words, *read_words(command)) if is_particular(word)}
    besides |= {word.plain for word in read_words(command)[:1] if word.own}
    return any(word.own and word.plain in besides for word in told)


def is_particular(word: Word) -> bool:
    """True for what is a name by its form: in quotes, a number, an identifier, a path's part."""
    return word.own and (word.is_name or word.code or _IDENTIFIER.match(word.plain) is not None)
