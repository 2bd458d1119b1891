"""Text to index terms: one rule for what is indexed and for what is asked.

`to_index_text` prepares a memory for the FTS5 column (`porter unicode61`), `tokenize_query` a
question. Both fold compatibility forms (NFKC), open up identifiers (`getUserName` is also *get*,
*User*, *Name*) and turn scripts that are written without spaces into overlapping pairs of
characters. Always true: what one of them keeps, the other can find; any `str` is accepted (quotes,
NUL, lone surrogates, a megabyte); the work is linear in the length; a term never contains a double
quote, so `"term"` is safe in MATCH.

`tests/text/test_tokenization.py` indexes and finds odd texts in a real FTS5 table.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from operator import add

from reverie.core.lazy_patterns import compile_once

# Distinct terms of one query. Each costs a walk through its postings, and more of them say less.
MAX_TERMS = 64
# Identifiers opened up in one text; in a megabyte of nothing else the rest stay whole.
MAX_SPLITS = 20_000
# What is longer, or falls into more parts, is a hash or base64 and not a name.
MAX_IDENTIFIER, MAX_PARTS = 80, 8
# A longer compound is asked for only in its parts: a phrase of dozens of tokens finds nothing.
MAX_COMPOUND = 120
# Characters of a query that are read; beyond that somebody has pasted a file.
MAX_QUERY = 20_000

_ENGLISH = """
a about after again all also am an and any are aren as at be because been before being between both
but by can could couldn did didn do does doesn doing don during each few for from further had has
have haven having he her here hers him his how i if in into is isn it its itself just let me might
more most much must my myself no nor not of off on once only or other ought our ours out over own
please same shall she should so some such than that the their theirs them themselves then there
these they this those through to too under until up upon us very was wasn we were weren what when
where whether which while who whom whose why will with would wouldn you your yours yourself
"""

# Words that say how a thing is asked, not what about. Dropped from queries, never from the index.
STOP_WORDS = frozenset(_ENGLISH.split())

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u200c"
    "\u200d"
)
_LETTER = f"(?:[^\\W_]|[{_MARKS}])"

_JOINED = "(?:[-_./:@+#]{1,3}%s+)*"

# Expressions, compiled when a text first needs them.
# Where an identifier comes apart.
_SEAM = r"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]{3}[0-9]"
# A word in ASCII, and the same joined with others.
_IDENTIFIER = "[A-Za-z0-9]+"
_ASCII_TERM = _IDENTIFIER + _JOINED % "[A-Za-z0-9]"
# A word within an identifier.
_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
# What an apostrophe adds to a word.
_APOSTROPHE = r"(?i)(?<=\w)['’](?:s|t|re|ve|ll|d|m)\b"
# A stretch of a script without spaces.
_UNSPACED_RUN = f"[{UNSPACED}]+"
# What is not a word by itself, as a Han character or a Hangul syllable may be.
_NO_WORD = "[^\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
# A word of any script, and the same joined with others.
_WIDE_PIECE = f"{_LETTER}+"
_WIDE_TERM = _WIDE_PIECE + _JOINED % _LETTER
# What may be a name in code: in ASCII, and of any script, where an unspaced stretch is one.
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_WIDE_NAME = f"(?!\\d)(?:(?![{UNSPACED}])[\\w{_MARKS}])+|[{UNSPACED}]+"
# Marks on a Latin letter.
_ACCENT = "([A-Za-z])[\u0300-\u036f]+"


def _split_compound(text: str) -> list[str]:
    """The words in a compound."""
    return compile_once(_IDENTIFIER if text.isascii() else _WIDE_PIECE).findall(text)


def to_index_text(text: str) -> str:
    """The text for the full-text column.

    The text, with identifiers opened and pairs of characters for unspaced scripts.

    >>> to_index_text("call getUserName now")
    'call getUserName get User Name now'
    """
    text = _normalize_text(text)
    words = text.split()
    # Plain words have no seam; this test is cheaper than the expression.
    odd = [word for word in set(words) if not (word.isalpha() and word[1:].islower())]
    seamed = list(filter(compile_once(_SEAM).search, odd))
    if seamed:
        opened = {
            word: compile_once(_IDENTIFIER).sub(_open_identifier, word, count=MAX_SPLITS)
            for word in seamed[:MAX_SPLITS]
        }
        text = " ".join(map(opened.get, words, words))
    if not text.isascii():
        text = compile_once(_UNSPACED_RUN).sub(_indexed_run, text)
    return text


def find_code_names(text: str) -> list[str]:
    """The words of a text that may be names in code, as written; an unspaced stretch is one word.

    >>> find_code_names("fix getUser() of 用户 in utf_8")
    ['fix', 'getUser', 'of', '用户', 'in', 'utf_8']
    """
    if text.isascii():
        return compile_once(_NAME).findall(text)
    return compile_once(_WIDE_NAME).findall(remove_accents(text))


def remove_accents(text: str) -> str:
    """The text in compatibility forms, without accents on Latin letters, as search sees it."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", _normalize_text(text))
    return unicodedata.normalize("NFC", compile_once(_ACCENT).sub(r"\1", decomposed))


def split_scripts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in stretches, in order, each with True if its script is written without spaces."""
    end = 0
    for run in compile_once(_UNSPACED_RUN).finditer(text):
        yield text[end : run.start()], False
        yield run[0], True
        end = run.end()
    yield text[end:], False


def character_pairs(run: str) -> Iterable[str]:
    """Overlapping pairs of characters, which stand for the words of a stretch without spaces."""
    if len(run) < 2:
        return (run,)
    return map(add, run, run[1:])


def shorten_line(text: str, most: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    return line[: most - 1].rstrip() + "…"


def fold_text(text: str) -> str:
    """The text in lower case with single spaces.

    The same for texts that say the same word for word.
    """
    return " ".join(text.lower().split())


def fingerprint_text(text: str) -> bytes:
    """The key of a text in the embedding cache: the digest of its bytes."""
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


def digest_bytes(data: bytes) -> bytes:
    """16 bytes of BLAKE2b over some bytes."""
    from hashlib import blake2b  # OpenSSL takes 4 ms to load, and no question needs it

    return blake2b(data, digest_size=16).digest()


def tokenize_query(text: str) -> list[str]:
    """The distinct terms to search for, in the order of the question; the store joins them by OR.

    A compound such as `src/heron.py` is a term as a whole (FTS5 reads it as a phrase) and in its
    parts. Stop words are dropped unless nothing else is left. Beyond MAX_TERMS the
    longest stay: they are the rarest.

    >>> tokenize_query("Where is the staging server?")
    ['staging', 'server']
    """
    plain = _strip_apostrophes(_normalize_text(text[:MAX_QUERY]))
    found = list(dict.fromkeys(_iterate_terms(plain)))
    # Most terms are words, and calling a function for each would take as long as the rest.
    terms = [
        term
        for term in found
        if term not in STOP_WORDS and (term.isalnum() or not _joins_stop_words(term))
    ] or found
    if len(terms) <= MAX_TERMS:
        return terms
    longest = sorted(terms, key=lambda term: (-len(term), term))
    best = set(longest[:MAX_TERMS])
    return [term for term in terms if term in best]


def _strip_apostrophes(text: str) -> str:
    """The text without what apostrophes add: "the user's" becomes "the user"."""
    if "'" not in text and "’" not in text:
        return text
    return compile_once(_APOSTROPHE).sub("", text)


def _normalize_text(text: str) -> str:
    """Compatibility forms folded; no NUL (it ends a C string), no lone surrogates (no UTF-8)."""
    if "\0" in text:
        text = text.replace("\0", " ")
    if text.isascii():
        return text
    text = text.encode("utf-8", "ignore").decode()
    if unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", text)


def _open_identifier(match: re.Match[str]) -> str:
    word = match[0]
    parts = _identifier_parts(word)
    return f"{word} {' '.join(parts)} " if parts else word


def _identifier_parts(word: str) -> list[str]:
    """The words in an identifier; none in what only looks like one, as a hash or base64."""
    if len(word) > MAX_IDENTIFIER or not compile_once(_SEAM).search(word):
        return []
    found = compile_once(_PART).findall(word)
    parts = [part for part in found if len(part) > 1]
    return parts if len(parts) <= MAX_PARTS else []


def _indexed_run(match: re.Match[str]) -> str:
    """Pairs for phrases of the script, and single characters where one alone may be a word."""
    run = match[0]
    pairs = " ".join(character_pairs(run))
    singles = compile_once(_NO_WORD).sub("", run) if len(run) > 1 else ""
    return f" {pairs} {' '.join(singles)} "


def _iterate_terms(text: str) -> Iterator[str]:
    if not text.isascii() and _holds_only_signs(text):
        text = text.encode("ascii", "replace").decode()
    pattern = _ASCII_TERM if text.isascii() else _WIDE_TERM
    for whole in compile_once(pattern).findall(text):
        # Most words are plain, without a seam, and need no expression.
        if whole.isascii() and whole.isalpha() and whole[1:].islower():
            if len(whole) <= MAX_COMPOUND:
                yield whole.lower()
        elif not whole.isascii() and compile_once(_UNSPACED_RUN).search(whole):
            yield from _mixed_script_terms(whole)
        else:
            if len(whole) <= MAX_COMPOUND:
                yield whole.lower()
            yield from _compound_terms(whole)


def _holds_only_signs(text: str) -> bool:
    """True if what is not ASCII in a text is dashes, arrows and the like: expressions for words of
    any script take 3 ms to compile, and such signs only part words, as a question mark does.
    """
    return all(
        letter < "\x80" or ("\u2010" <= letter < "\u2e80" and not letter.isalnum())
        for letter in set(text)
    )


def _compound_terms(whole: str) -> Iterator[str]:
    """The parts of a compound and of the identifiers in it."""
    pieces = _split_compound(whole)
    for piece in pieces:
        if len(pieces) > 1 and len(piece) > 1:
            yield piece.lower()
        yield from (part.lower() for part in _identifier_parts(piece))


def _mixed_script_terms(whole: str) -> Iterator[str]:
    """A stretch in which scripts without spaces and others meet, such as `第3章` or `LINEで`."""
    for stretch, unspaced in split_scripts(whole):
        if unspaced:
            yield from character_pairs(stretch)
        else:
            yield from (piece.lower() for piece in _split_compound(stretch))


def _joins_stop_words(term: str) -> bool:
    return all(piece in STOP_WORDS for piece in _split_compound(term))
