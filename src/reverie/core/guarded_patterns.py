"""Expressions of many alternatives, of which only those are tried whose letters stand in a text.

To look for a piece of text is far cheaper than to try an expression at every place, and nearly
always says no; which pieces are worth looking for, the three letters on end that a text has tell at
once. `list_required_pieces` reads from an expression of which pieces one must stand
in whatever it fits; an alternative that none of them calls for is left out, and compiled only when
it is first tried. What is found is what the whole expression would find, at the same place.

A piece that is missing in what an expression fits would hide a match: tests draw texts from the
expressions themselves and compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

# Letters that `re.IGNORECASE` takes for another one although they are not the same in lower case.
_ODD_LETTERS = re.compile("[\u0130\u0131\u017f\u1c80-\u1c88\ufb05\ufb06]")
# Of these alphabets, or of no alphabet, no piece is made: there are more such letters in Greek and
# in Latin with marks of its own.
_SAFE_LETTERS = re.compile(
    "[!-~ \u00a1-\u00b4\u00b6-\u012f\u0132-\u017e\u0401-\u045f\u0600-\u06ff]"
)
_UNCASED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_LOOK_AROUND = ("?=", "?!", "?<=", "?<!")
_GROUP_HEAD = re.compile(r"\?(?:P<\w+>|P=\w+|[aiLmsux-]*:|<?[=!]|>|\(\w+\))")
_REPEAT = re.compile(r"[*+?]|\{(?=[\d,])(\d*)(?:,\d*)?\}")
# Escapes that stand for no letter and take up no place.
_PLACES = "bBAZ"
# Escapes that name a letter by its number, and of how many digits.
_NUMBERED = {"x": 2, "u": 4, "U": 8}

Pieces = frozenset[str]
"""Pieces of text in lower case, of which one must stand there; without one, nothing must."""
NOTHING = Pieces()
# What fits no text.
NEVER = r"(?!)"
Triple = tuple[str, str, str]
TRIPLE = 3
# The commonest in most languages with Latin letters.
COMMON_LETTERS = " etaoinsr"


# Of all phrases of a language they are read twice: for each section, and for which may be met.
@lru_cache(maxsize=20_000)
def list_required_pieces(pattern: str) -> Pieces:
    """The pieces, in lower case, of which one stands in every text that an expression fits.

    Of several such sets the one whose shortest piece is longest; empty where no piece must be
    there, or where the expression holds something that is not looked into.

    >>> sorted(list_required_pieces(r"\\b(?:it|this) is (?:still )?(?:broken|red)\\b"))
    [' is ']
    """
    return _PieceReader(pattern).read_choice()


def split_alternatives(pattern: str) -> list[str]:
    """The alternatives of an expression: what stands between its outermost bars."""
    found, start, place, depth = [], 0, 0, 0
    while place < len(pattern):
        letter = pattern[place]
        if letter == "[":
            place = _find_class_end(pattern, place)
            continue
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            found.append(pattern[start:place])
            start = place + 1
        place += 2 if letter == "\\" else 1
    return [*found, pattern[start:]]


class Guards(NamedTuple):
    """What calls for the alternatives of an expression, by their numbers."""

    always: tuple[int, ...]
    short: tuple[tuple[str, int], ...]  # pieces of one or two letters
    long: dict[Triple, list[tuple[str, int]]]  # the others, by three of their letters
    triples: frozenset[Triple]  # the keys of `long`, for two sets are compared without hashing


class FoldedText(NamedTuple):
    """A text in lower case, and the three letters on end that occur there."""

    lower: str
    triples: frozenset[Triple]


# A sentence is held against one expression after another.
@lru_cache(maxsize=8)
def fold_letters(text: str) -> FoldedText | None:
    """What tells which pieces stand in a text; None for one with letters that deceive."""
    if not text.isascii() and _ODD_LETTERS.search(text):
        return None
    lower = text.lower()
    return FoldedText(lower, frozenset(zip(lower, lower[1:], lower[2:], strict=False)))


def choose_triple(piece: str) -> Triple:
    """Three letters on end of a piece that few texts have: those with the fewest common letters."""
    triples = zip(piece, piece[1:], piece[2:], strict=False)
    return min(triples, key=lambda letters: sum(letter in COMMON_LETTERS for letter in letters))


class PatternGuard:
    """Tells which of several expressions may fit a text, by the letters that they need.

    An expression that is given as its alternatives fits what one of them fits.
    """

    def __init__(self, patterns: Iterable[str | Sequence[str]]) -> None:
        self.patterns = tuple(patterns)

    def select(self, text: str) -> Sequence[int]:
        """The numbers of the expressions that may fit a text, in order; the others do not."""
        if not self.patterns:
            return ()
        folded = fold_letters(text)
        if folded is None:
            return range(len(self.patterns))
        always, short, long, triples = self._guards
        numbers = {number for piece, number in short if piece in folded.lower} if short else set()
        for letters in triples & folded.triples:
            for piece, number in long[letters]:
                if piece in folded.lower:
                    numbers.add(number)
        return sorted(numbers.union(always)) if numbers else always

    @cached_property
    def _guards(self) -> Guards:
        """What calls for the expressions."""
        always: list[int] = []
        short: list[tuple[str, int]] = []
        long: dict[Triple, list[tuple[str, int]]] = {}
        for number, pattern in enumerate(self.patterns):
            ways = [pattern] if isinstance(pattern, str) else pattern
            needed = [list_required_pieces(one) for one in ways]
            pieces = NOTHING.union(*needed) if all(needed) else NOTHING
            if not pieces:
                always.append(number)
            for piece in sorted(pieces):
                if len(piece) < TRIPLE:
                    short.append((piece, number))
                else:
                    long.setdefault(choose_triple(piece), []).append((piece, number))
        return Guards(tuple(always), tuple(short), long, frozenset(long))


class GuardedPattern:
    """The expression that is one of `alternatives`, with the methods of `re.Pattern` that are used.

    A match has the groups of its own alternative only.
    """

    def __init__(self, alternatives: Iterable[str], flags: int = re.IGNORECASE) -> None:
        self.alternatives = tuple(alternatives)
        self.flags = flags
        self._guard = PatternGuard(self.alternatives)
        self._compiled: dict[int, re.Pattern[str]] = {}

    @property
    def pattern(self) -> str:
        """All alternatives as one expression."""
        return "|".join(f"(?:{one})" for one in self.alternatives) or NEVER

    def search(self, text: str) -> re.Match[str] | None:
        """The first match in a text; of two at one place that of the earlier alternative."""
        first: re.Match[str] | None = None
        for number in self._guard.select(text):
            met = self._compile(number).search(text)
            if met and (first is None or met.start() < first.start()):
                first = met
        return first

    def match(self, text: str) -> re.Match[str] | None:
        """The match at the beginning of a text, of the first alternative that has one."""
        for number in self._guard.select(text):
            if met := self._compile(number).match(text):
                return met
        return None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of a whole text, of the first alternative that has one."""
        for number in self._guard.select(text):
            if met := self._compile(number).fullmatch(text):
                return met
        return None

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with all matches replaced."""
        return self._whole.sub(replacement, text) if self._guard.select(text) else text

    def _compile(self, number: int) -> re.Pattern[str]:
        """An alternative, compiled when it is first tried."""
        compiled = self._compiled.get(number)
        if compiled is None:
            compiled = re.compile(self.alternatives[number], self.flags)
            self._compiled[number] = compiled
        return compiled

    @cached_property
    def _whole(self) -> re.Pattern[str]:
        """All alternatives as one expression."""
        return re.compile(self.pattern, self.flags)


class _PieceReader:
    """Reads an expression from left to right, as far as its pieces need."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0

    def read_choice(self) -> Pieces:
        """The pieces of alternatives up to the bracket that ends them: one of each is needed."""
        ways = [self._read_sequence()]
        while self._next() == "|":
            self._place += 1
            ways.append(self._read_sequence())
        return Pieces().union(*ways) if all(ways) else NOTHING

    def _read_sequence(self) -> Pieces:
        """The best pieces of what stands one behind the other."""
        found: list[Pieces] = []
        run = ""
        while (letter := self._next()) and letter not in "|)":
            text, pieces, takes_place = self._read_item(letter)
            least = self._read_repeat()
            if text and least:
                run += text
            if takes_place and (not text or least != 1):
                found.append(Pieces({run}) if run.strip() else NOTHING)
                run = ""
            if least:
                found.append(pieces)
        found.append(Pieces({run}) if run.strip() else NOTHING)
        return max(found, key=_rate_pieces)

    def _read_item(self, letter: str) -> tuple[str, Pieces, bool]:
        """(a letter in lower case or "", the pieces of a group, whether it stands for a letter)."""
        if letter == "(":
            return self._read_group()
        if letter == "[":
            self._place = _find_class_end(self._pattern, self._place)
            return "", NOTHING, True
        self._place += 1
        if letter == "\\":
            letter = self._next()
            self._place += 1 + _NUMBERED.get(letter, 0)
            if letter in _PLACES:
                return "", NOTHING, False
            is_letter = not (letter.isascii() and letter.isalnum())
            return (_fold_letter(letter) if is_letter else ""), NOTHING, True
        if letter in "^$":
            return "", NOTHING, False
        return ("" if letter == "." else _fold_letter(letter)), NOTHING, True

    def _read_group(self) -> tuple[str, Pieces, bool]:
        """The pieces of a group; what only looks around takes no place, and asks for none."""
        self._place += 1
        head = _GROUP_HEAD.match(self._pattern, self._place)
        self._place = head.end() if head else self._place
        pieces = self.read_choice()
        self._place += 1
        if head and head[0] in _LOOK_AROUND:
            return "", NOTHING, False
        return "", pieces, True

    def _read_repeat(self) -> int:
        """How often the item before stands there at least: 0, 1, or 2 for "one or more"."""
        found = _REPEAT.match(self._pattern, self._place)
        if found is None:
            return 1
        self._place = found.end()
        if self._next() in ("?", "+"):
            self._place += 1
        if found[0] == "+":
            return 2
        return 2 if found[1] and int(found[1]) else 0

    def _next(self) -> str:
        """The letter that is read next; "" at the end."""
        return self._pattern[self._place : self._place + 1]


def _fold_letter(letter: str) -> str:
    """A letter in lower case as it must stand in a text in lower case; "" for one that need not."""
    is_safe = _SAFE_LETTERS.match(letter) or _UNCASED.match(letter)
    return letter.lower() if is_safe else ""


def _rate_pieces(pieces: Pieces) -> tuple[int, int]:
    """How much pieces tell: long ones more than short ones, few more than many."""
    return (min(map(len, pieces), default=0), -len(pieces))


def _find_class_end(pattern: str, start: int) -> int:
    """The place behind a class of letters that begins at `start`."""
    place = start + 1
    place += pattern[place : place + 1] == "^"
    # A bracket that comes first stands for itself.
    place += pattern[place : place + 1] == "]"
    while pattern[place : place + 1] not in ("]", ""):
        place += 2 if pattern[place] == "\\" else 1
    return place + 1
