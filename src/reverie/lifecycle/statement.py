"""What a sentence states, as far as one can tell without understanding it.

`read` turns a text into a `Statement`: its words in a common form, each with what sort of word it is (content, value,
name, light), whether it is affirmed or denied, and where it stands (what is spoken of, what is said of it, where that
holds); what comes before what; and marks for hedges, limits, questions and announcements of change.

Always true: any text can be read, only its first MOST_CHARS count, the same text reads the same. Readings are cached,
as a memory is compared with many others.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from reverie.lifecycle import wording
from reverie.words import STOP

MOST_CHARS = 2_000     # a longer memory is not one statement; its beginning decides
MOST_TOKENS = 160
READ = 4_096           # readings kept

CONTENT, VALUE, NAME, LIGHT, MARK = "content", "value", "name", "light", "mark"
SUBJECT, SAID, SCOPE = "subject", "said", "scope"


class Word(NamedTuple):
    """One word of a statement that carries something."""

    concept: str       # its common form: what means the same is the same
    sort: str          # CONTENT, VALUE, NAME or LIGHT
    affirmed: bool     # False: denied, avoided, given up
    place: str         # SUBJECT, SAID or SCOPE
    before: str        # the words on both sides, in common form: its slot
    after: str
    capital: bool = False
    measure: str = ""  # what a value measures: "time", "bytes", "version"; "" for a plain number


class Statement(NamedTuple):
    """One text, read."""

    plain: tuple[str, ...]               # all its words in lower case
    words: tuple[Word, ...]
    pro: frozenset[str]                  # content, values and names that are affirmed
    con: frozenset[str]                  # those that are denied
    light: frozenset[str]
    first: frozenset[str]                # what comes before …
    then: frozenset[str]                 # … what comes after
    given: frozenset[str]                # what has to be the case …
    follows: frozenset[str]              # … for this to hold: if, when
    places: frozenset[str]               # environments and systems that it names
    sited: frozenset[str]                # those where it says that something holds
    hedges: frozenset[str]
    limits: frozenset[str]
    changes: frozenset[str]              # words by which it says that something changed
    soft: frozenset[str]                 # words by which it may say so
    bound: frozenset[frozenset[str]]     # content words that stand side by side
    given_up: frozenset[str]             # what it says is no more: after "from", "instead of", "no longer"
    when: frozenset[str]                 # today, last week
    whose: frozenset[str]                # other people's matters: her, my sister's
    asks: bool
    will: bool                           # told of the future
    bars: bool                           # whether its main clause is denied
    parts: int                           # sentences
    verb: str                            # the concept of its main verb; "" if there is none that one could tell
    agent: bool                          # whether it is told in the passive, by somebody


class _Token(NamedTuple):
    text: str          # as it stands there
    lower: str
    starts: bool       # a sentence begins here


_TOKEN = re.compile(r"\d+(?:[.,:]\d+)+(?:-\w+)*|\d+[a-zA-Z]{1,3}\b|[^\W_][\w]*(?:[-_./:@+#]+\w+)*(?:\(\))?[+#]*|_\w+"
                    r"|[/~.]?[\w.-]*/[\w./-]*\w|[.,;:!?()–—|\n]")
_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)([a-z]{0,3})$")
_CLOCK = re.compile(r"\d{1,2}:\d{2}$")
_IDENTIFIER = re.compile(r"[A-Za-z].*\d|\d.*[A-Za-z]|\w_\w|[a-z][A-Z]|[/@#]\w|\w\.\w|\(\)$|\w:\w|^[A-Z]{2,}$")
_PERSON = frozenset("she he they her his their hers him them".split())
_BOUND = frozenset(",;:.!?()–—|\n")
_JOINTS = frozenset("that which who but because so unless except when if while although though until as BEFORE AFTER since".split())
_NOT = frozenset("not never no nor nobody none neither".split())
_AUX = frozenset("do does did is are was were be can could may might must should shall will would has have had am i we "
                 "you user please".split())
_AVOID = frozenset("avoid avoids hate hates dislike dislikes stop stops without INSTEADOF NOLONGER NONEED USEDTO forbid prohibit against refuse split "
                   "skip ditch drop replace replaced dropped lost".split())
_AFTERWARDS = frozenset("FORBIDDEN GONE".split())     # what they are said of stands before them
_WHEN = frozenset("today yesterday tomorrow tonight last next ago".split())
_VERBS = frozenset("""
is are was were be been am has have had run runs ran live lives use uses used listen listens stay stays need needs
call calls called own owns belong belongs take takes took come comes came go goes went contain contains store stores
return returns raise raises require requires get gets return like likes prefer prefers love loves want wants must should
may can will would do does did allow allows target targets process processes end ends fail fails report reports
start starts happen happens keep keeps kept made moved renamed
send sends depend depends maintain maintains lead leads read reads write writes talk talks connect connects handle handles
trigger triggers manage manages expose exposes support supports load loads import imports deploy deploys build builds
create creates delete deletes check checks validate validates cause causes publish publishes consume consumes crashed
""".split())
_SMALL = frozenset("the a an to on from for with in its their all every no by".split())
_SCOPES = frozenset("for in on at of within during with when if while per under inside across into onto by to".split())


@lru_cache(maxsize=READ)
def read(text: str) -> Statement:
    """The statement that a text makes."""
    tokens = list(_tokens(_phrased(text[:MOST_CHARS])))[:MOST_TOKENS]
    lows = [token.lower for token in tokens]
    concepts = _concepts(lows)
    words = tuple(_words(tokens, concepts))
    heavy = [word for word in words if word.sort != LIGHT]
    first, then = _order(lows, concepts)
    given, follows = _condition(lows, concepts)
    said = frozenset(lows)
    return Statement(
        plain=tuple(low for low in lows if low not in _BOUND),
        words=words,
        pro=frozenset(w.concept for w in heavy if w.affirmed),
        con=frozenset(w.concept for w in heavy if not w.affirmed) - {w.concept for w in heavy if w.affirmed},
        light=frozenset(w.concept for w in words if w.sort == LIGHT),
        first=first, then=then, given=given, follows=follows,
        places=frozenset(w.concept for w in words if w.concept in _places()),
        sited=frozenset(w.concept for w in words if w.concept in _places() and w.place != SAID),
        hedges=said & _set("HEDGES"), limits=said & _set("LIMITS"),
        changes=said & _set("CHANGES"), soft=said & _set("SOFT_CHANGES"),
        bound=_bound(lows, concepts), given_up=_given_up(lows, concepts), whose=said & _PERSON,
        when=said & _WHEN,
        asks=text.rstrip().endswith("?"), will="will" in said,
        bars=any(_bars(lows, i) for i in range(len(lows))),
        parts=1 + sum(1 for a in lows[:-1] if a in ".!?\n"),
        verb=next((concept(lows[i]) for i in [_main_verb(lows, concepts)] if i >= 0), ""),
        agent="by" in said,
    )


def concept(word: str) -> str:
    """The common form of a word: its synonyms and its other forms have the same."""
    known = _synonyms()
    return known.get(word) or known.get(stem(word)) or stem(word)


@lru_cache(maxsize=READ)
def stem(word: str) -> str:
    """A word without its ending: a light hand, as only two texts of one author are compared.

    >>> stem("committing"), stem("commits"), stem("migrations")
    ('commit', 'commit', 'migrat')
    """
    if len(word) <= 3 or not word.isalpha() or not word.islower():
        return word
    for ending, least in (("ations", 4), ("ation", 4), ("ments", 4), ("ment", 4), ("ings", 3), ("ing", 3), ("ied", 2),
                          ("ies", 2), ("ed", 3), ("ions", 4), ("ion", 4),
                          ("iness", 3), ("ness", 4), ("sses", 2), ("es", 3), ("s", 3), ("ly", 4), ("e", 3)):
        if word.endswith(ending) and len(word) - len(ending) >= least and not (ending == "s" and word.endswith("ss")):
            return _trimmed(word[:-len(ending)], ending)
    return word


def _trimmed(root: str, ending: str) -> str:
    if ending in ("ied", "ies", "iness"):
        return root + "y"
    if ending in ("ation", "ations"):
        return root + "at" if root[-1] in "grltc" else root
    if ending == "sses":
        return root + "ss"
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "sl":
        return root[:-1]
    return root[:-1] if len(root) > 3 and root[-1] == "e" else root


@cache
def _synonyms() -> dict[str, str]:
    """Word or stem → what it is read as."""
    known: dict[str, str] = {}
    for line in wording.SYNONYMS.strip().splitlines():
        head, *others = line.split()
        for word in (head, *others):
            known.setdefault(word, stem(head))
            known.setdefault(stem(word), stem(head))
    return known


@cache
def contrasts() -> dict[str, frozenset[int]]:
    """Concept → the lines of alternatives that it stands in."""
    lines: dict[str, set[int]] = {}
    for row, line in enumerate((wording.CONTRASTS + wording.OPPOSITES).strip().splitlines()):
        for word in line.split():
            lines.setdefault(concept(word), set()).add(row)
    return {word: frozenset(rows) for word, rows in lines.items()}


@cache
def opposites() -> frozenset[frozenset[str]]:
    """Pairs of concepts that cannot both hold."""
    return frozenset(frozenset(map(concept, line.split())) for line in wording.OPPOSITES.strip().splitlines())


@cache
def _places() -> frozenset[str]:
    return frozenset(map(concept, wording.PLACES.split()))


@cache
def weak() -> frozenset[str]:
    """Concepts that one may say or leave out."""
    return frozenset(map(concept, wording.WEAK.split()))


@cache
def _light() -> frozenset[str]:
    return frozenset(map(concept, (wording.LIGHT + wording.STEERS).split()))


@cache
def _set(name: str) -> frozenset[str]:
    return frozenset(getattr(wording, name).split())


@cache
def _phrases() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE), says) for pattern, says in wording.PHRASES]


def _phrased(text: str) -> str:
    """The text with phrases as single words."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("`", " ")
    for pattern, says in _phrases():
        text = pattern.sub(says, text)
    return text


def _tokens(text: str) -> Iterator[_Token]:
    starts = True
    for match in _TOKEN.finditer(text):
        word = match[0]
        mark = word.isupper() and word in _marks()
        yield _Token(word, word if mark else word.lower(), starts)
        starts = word in ".!?:\n" or (starts and word in _BOUND)


@cache
def _marks() -> frozenset[str]:
    """The marks that stand for phrases."""
    return frozenset(re.findall(r"[A-Z]{4,}", " ".join(says for _, says in wording.PHRASES)))


# Words


def _words(tokens: list[_Token], concepts: list[str]) -> Iterator[Word]:
    lows = [token.lower for token in tokens]
    signs, places = _signs(lows), _sections(lows, concepts)
    skip = -1
    for i, token in enumerate(tokens):
        if token.lower in _BOUND or i <= skip or token.lower in _marks():
            continue
        before = concept(lows[i - 1]) if i else ""
        after = concept(lows[i + 1]) if i + 1 < len(lows) else ""
        value, used = _value(lows, i)
        if value:
            skip = i + used
            name, measure = value
            yield Word(name, VALUE, signs[i], places[i], before, after, measure=measure)
        elif len(token.lower) > 1 or not token.lower.isascii():
            yield Word(*_sorted(token), signs[i], places[i], before, after, token.text[0].isupper())


def _sorted(token: _Token) -> tuple[str, str]:
    """The common form of a word and what sort of word it is."""
    low = token.lower
    plain = concept(low)
    named = token.text[0].isupper() and not token.starts and len(token.text) > 1
    if not named and (plain in _light() or low in _PERSON or low in STOP):
        return plain, LIGHT
    if low not in _synonyms() and plain not in contrasts() and _IDENTIFIER.search(token.text):
        return low.rstrip("."), NAME
    return plain, NAME if named else CONTENT


def _value(lows: list[str], i: int) -> tuple[tuple[str, str] | None, int]:
    """A number with what it measures, and how many further words belong to it."""
    low = lows[i]
    if _CLOCK.match(low):
        return (f"{low}{_next(lows, i).replace('am', '') if _next(lows, i) in ('am', 'pm') else ''}", "clock"), 0
    match = _NUMBER.match(low)
    if not match and (low not in wording.NUMBERS or (low == "one" and _pronoun(lows, i))):
        return None, 0
    if match and match[2] in ("st", "nd", "rd", "th"):
        return (match[1], "ordinal"), 0
    if match and "." in match[1]:
        number, unit = match[1], match[2]
        if not unit and _next(lows, i) not in wording.UNITS and _unit(_next(lows, i)) is None:
            return (number, "version"), 0
    amount = float(match[1].replace(",", "") if match and match[1].count(".") < 2 else wording.NUMBERS.get(low, 0))
    unit = match[2] if match else ""
    measured = _unit(unit) or _unit(_next(lows, i))
    if measured:
        return (f"{amount * measured[1]:g} {measured[0]}", measured[0]), 0 if unit else 1
    return (f"{amount:g}{unit}", ""), 0


def _pronoun(lows: list[str], i: int) -> bool:
    """Whether "one" stands for a thing: the one, an old one."""
    after = _next(lows, i)
    return (i > 0 and lows[i - 1] not in ("needs", "need", "only", "has", "have", "exactly", "with")) or after in _BOUND


def _next(lows: list[str], i: int) -> str:
    return lows[i + 1] if i + 1 < len(lows) else ""


def _unit(word: str) -> tuple[str, float] | None:
    return wording.UNITS.get(word) or (wording.UNITS.get(word[:-1]) if word.endswith("s") else None)


# Affirmed or denied


def _signs(lows: list[str]) -> list[bool]:
    """For each word whether it is affirmed."""
    signs = [True] * len(lows)
    for start, end in _clauses(lows):
        _clause_signs(lows, signs, start, end)
    return signs


def _clauses(lows: list[str]) -> Iterator[tuple[int, int]]:
    """Where clauses begin and end."""
    start = 0
    for i, low in enumerate(lows):
        joins = low in _JOINTS or low in _BOUND or (low == "and" and _next(lows, i) in (*_NOT, "use", "always", "then"))
        if joins and i > start:
            yield start, i
            start = i
    yield start, len(lows)


def _clause_signs(lows: list[str], signs: list[bool], start: int, end: int) -> None:
    """Deny what a clause denies: what follows "not", "never", "instead of"; what stands around "is forbidden"."""
    for i in range(start, end):
        for j in _denied(lows, i, start, end):
            signs[j] = not signs[j]


def _denied(lows: list[str], i: int, start: int, end: int) -> range:
    """Which places of its clause a word denies."""
    low = lows[i]
    if low in _AFTERWARDS:
        return range(start, end)
    if low == "worse":
        return range(start, i)
    if low == "without" and any(_denies(lows, j) for j in range(i)):
        return range(0)    # never this without that: that is wanted
    if _denies(lows, i):
        if _requires(lows, i, end):
            return range(0)
        alone = all(lows[j] in _AUX for j in range(i + 1, end))
        return range(start, i) if alone else range(i + 1, end)
    denies = low in _NOT or low in _AVOID or (low in ("over", "than", "to") and _compares(lows, start, i))
    return range(i + 1, _reach(lows, i, end)) if denies else range(0)


def _reach(lows: list[str], i: int, end: int) -> int:
    """How far "instead of this" goes: not into "in Go code"."""
    return next((j for j in range(i + 2, end) if lows[j] in ("in", "into", "for", "during")), end)


_PREFERS = frozenset("prefer prefers like likes rather better favor preference want more".split())


def _compares(lows: list[str], start: int, i: int) -> bool:
    """Whether "over", "than" or "to" set one thing before another."""
    if lows[i] == "to":
        return any(low in ("prefer", "prefers") for low in lows[start:i - 1])
    return any(low in _PREFERS for low in lows[start:i])


def _denies(lows: list[str], i: int) -> bool:
    """Whether a "not" denies its whole clause: don't, never, is not; and not the other half of "this, not that"."""
    low = lows[i]
    if low == "never":
        return i + 1 < len(lows) and lows[i + 1] not in ("with", "mind")
    if low not in ("not", "no", "nobody"):
        return False
    before = lows[i - 1] if i else "."
    if low == "nobody":
        return before in _BOUND
    if low == "no":
        return before in (".", "!", "?", "\n", "has", "have", "is", "are", "there", "with")
    return before in (".", "!", "?", "\n", "please", "but") or before in _AUX


def _bars(lows: list[str], i: int) -> bool:
    """Whether something is forbidden or avoided here."""
    starts = not i or lows[i - 1] in _BOUND or lows[i - 1] in _AUX
    return _denies(lows, i) or lows[i] == "FORBIDDEN" or (lows[i] in _AVOID and lows[i].islower() and starts)


def _requires(lows: list[str], i: int, end: int) -> bool:
    """Whether a denial is one of doing a thing too early: "never commit without tests" asks for tests."""
    rest = lows[i + 1:]
    stop = next((j for j, low in enumerate(rest) if low in ",.;!?\n"), len(rest))
    return any(low in ("without", "unless", "until", "BEFORE") for low in rest[:stop]) and (end > i + 1)


# Where a word stands


def _main_verb(lows: list[str], concepts: list[str]) -> int:
    """Where the main verb stands, as far as one can tell; -1 if nowhere."""
    known = next((i for i, low in enumerate(lows) if low in _VERBS), -1)
    if known >= 0:
        return known    # else: sends, depends; something with an s before a small word
    return next((i for i in range(1, len(lows) - 1) if lows[i].endswith("s") and not lows[i].endswith("ss")
                 and lows[i + 1] in _SMALL and lows[i] not in STOP and concepts[i - 1]), -1)


def _sections(lows: list[str], concepts: list[str]) -> list[str]:
    """For each word whether it belongs to what is spoken of, to what is said of it, or to where that holds."""
    verb = _main_verb(lows, concepts)
    sections: list[str] = []
    heavy_since = False
    where = SCOPE if lows and lows[0] in _SCOPES else (SUBJECT if verb > 0 else SAID)
    for i, low in enumerate(lows):
        if i == verb:
            where, heavy_since = SAID, False
        elif low in _SCOPES and where == SAID and heavy_since:
            where = SCOPE
        elif low in _BOUND:
            where, heavy_since = (SUBJECT if i < verb else SAID), False
        acts = verb < 0 and (i == 0 or lows[i - 1] in _AUX or lows[i - 1] in _NOT or lows[i - 1] in _BOUND)
        heavy_since = heavy_since or (i > verb and not acts and bool(concepts[i]))
        sections.append(where)
    return sections


# What comes first


def _order(lows: list[str], concepts: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """What has to come before what: (first, then), both empty where nothing is said of it. "Faster than" counts too."""
    for i, low in enumerate(lows):
        if low in ("BEFORE", "AFTER"):
            return _around(lows, concepts, i, low == "BEFORE")
        if low in ("without", "unless", "until") and any(_denies(lows, j) for j in range(i)):
            return _around(lows, concepts, i, True, flipped=True)
    if "than" in lows and not _compares(lows, 0, lows.index("than")):
        return _around(lows, concepts, lows.index("than"), True)
    return _numbered(lows, concepts)


def _condition(lows: list[str], concepts: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """If this, that: (this, that)."""
    mark = next((i for i, low in enumerate(lows) if low in ("if", "when", "whenever")), None)
    if mark is None:
        return frozenset(), frozenset()
    follows, given = _around(lows, concepts, mark, True)
    return given, follows


def _around(lows: list[str], concepts: list[str], i: int, before: bool, flipped: bool = False
            ) -> tuple[frozenset[str], frozenset[str]]:
    """The two sides of a "before" or "after", wherever it stands."""
    start = max((j + 1 for j in range(i) if lows[j] in ".!?;\n"), default=0)
    end = next((j for j in range(i + 1, len(lows)) if lows[j] in ".!?;\n"), len(lows))
    head, tail = _some(concepts[start:i]), _some(concepts[i + 1:end])
    if not head and "," in lows[i:end]:
        comma = lows.index(",", i)
        head, tail = _some(concepts[comma:end]), _some(concepts[i + 1:comma])
    if before and any(_denies(lows, j) for j in range(start, i)) and "NONEED" not in lows:
        flipped = True
    return (head, tail) if before != flipped else (tail, head)


def _numbered(lows: list[str], concepts: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Tests first, then code; first the tests, then the code; tests first, code second."""
    if "first" not in lows and "then" not in lows:
        return frozenset(), frozenset()
    for mark in ("then", "second", "AFTER", "later"):
        if mark in lows:
            cut = next((j for j in range(lows.index(mark), -1, -1) if lows[j] in ",;."), lows.index(mark))
            return _some(concepts[:cut]), _some(concepts[cut:])
    return frozenset(), frozenset()


def _concepts(lows: list[str]) -> list[str]:
    """For each place the concept that stands there; "" for what carries nothing."""
    found: list[str] = []
    for i, low in enumerate(lows):
        value, _ = _value(lows, i)
        if value:
            found.append(value[0])
        else:
            bare = low in _BOUND or low in _marks() or low in STOP or concept(low) in _light()
            found.append("" if bare else concept(low))
    return found


def _some(concepts: list[str]) -> frozenset[str]:
    return frozenset(filter(None, concepts))


def _bound(lows: list[str], concepts: list[str]) -> frozenset[frozenset[str]]:
    """Pairs of content words with nothing but small words between them, within one limb of the sentence."""
    pairs: set[frozenset[str]] = set()
    last = ""
    for low, found in zip(lows, concepts, strict=True):
        if low in _BOUND or low == "and":
            last = ""
        elif found:
            if last and last != found:
                pairs.add(frozenset((last, found)))
            last = found
    return frozenset(pairs)


_LEAVES = frozenset("INSTEADOF NOLONGER USEDTO stop stopped replaced replace dropped drop not lost removed ditched "
                    "abandoned left".split())
_GOES = frozenset("replaced dropped removed retired renamed GONE abandoned left".split())


def _given_up(lows: list[str], concepts: list[str]) -> frozenset[str]:
    """What is said to be no more: what follows "instead of" or "no longer", what stands before "was replaced"."""
    gone: set[str] = set()
    changed = bool(_set("CHANGES") & set(lows))
    for i, low in enumerate(lows):
        if low in _LEAVES or (low == "from" and changed):
            gone.update(concepts[i + 1:_limb(lows, i)])
        if low in _GOES and (low in ("GONE", "left") or (i and lows[i - 1] in ("was", "were", "is", "are", "been", "got"))):
            gone.update(concepts[max(0, i - 5):i])
    return frozenset(filter(None, gone))


def _limb(lows: list[str], i: int) -> int:
    """Where the limb that begins after i ends."""
    stops = ("to", "by", "with", "but", "INSTEADOF", "now")
    return next((j for j in range(i + 1, min(i + 8, len(lows))) if lows[j] in _BOUND or lows[j] in stops),
                min(i + 8, len(lows)))
