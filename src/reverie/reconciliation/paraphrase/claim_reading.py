"""What a statement says of what: its subject, its relation and its value, in several languages.

`read_claim` splits a text at the word of its relation and notes what each side speaks of, whose it
is, what it denies, and whether it says of itself that something has changed or puts somebody right.
The words are those of `[claim]` in the language files; a text is read in the language of which most
of these occur in it. Of a script written without spaces each sign is a word.

Always true: any text can be read; the same text reads the same; a longer one than MAX_CLAIM_CHARS
has no claim (None), as it is more than one statement.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from reverie.reconciliation.paraphrase.concept_vocabulary import to_concept
from reverie.text.function_words import load_function_words
from reverie.text.prompt_phrases import detect_scripts, list_languages, load_language
from reverie.text.tokenization import STOP_WORDS

MAX_CLAIM_CHARS = 240
CACHE_SIZE = 8_192
# The classes of relations, the plainest last: the first that occurs is the relation of a sentence.
RELATIONS = ("held_by", "single", "tools", "several", "is")
# What other words do, the longest phrases first.
ROLES = ("opens", "instead", "not", "but", "switched", "now", "theirs", "mine", "it", "small")
PLAIN = "plain"
# Fewer letters than these in common at the beginning do not make two forms of one word.
MIN_STEM = 5
MAX_ENDING = 5

_TOPIC = re.compile(r"\s*\(about: [“\"](?P<topic>.+?)[”\"]\)\s*$")
_CLITIC = re.compile(r"\b([ljdnmtsc]|qu|j)['’](?=\w)", re.IGNORECASE)
_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)
_CLOCK = re.compile(r"(\d)\s+(am|pm|uhr)\b", re.IGNORECASE)
_DATED = re.compile(r"\d[\d.,:/-]*[a-z%]{0,3}$|[零〇一二两三四五六七八九十百千万]{2,}$")
_IS = re.compile(r"\b(it|that|he|she|there|what)['’]s\b", re.IGNORECASE)
_TOKEN = re.compile(
    r"[a-z]+://\S+|[~/.%][\w./%-]*\w%?|\d+(?:[.,:/-]\d+)*[a-zA-Z%]{0,3}(?!\w)|"
    r"[^\W_](?:[\w-]|[./:@+#](?=\w))*['’]?[+#]*|[%€$]|[,;:.!?()—–\n。，；！？、：]",
)
# Each Han character is a word, but for those that write one number.
_HAN = re.compile(r"[零〇一二两三四五六七八九十百千万]{2,}|[\u3400-\u9fff]")
_BREAKS = frozenset(",;:.!?()—–\n。，；！？、：")


class Vocabulary(NamedTuple):
    """The words of one language that build statements."""

    code: str
    phrases: Mapping[tuple[str, ...], str]  # what each does: a member of ROLES
    relations: Mapping[str, tuple[str, str]]  # word → (class, group)
    stems: tuple[str, ...]  # beginnings of words of `several`
    dates: tuple[str, ...]
    homes: frozenset[str]
    at_home: frozenset[str]
    the: frozenset[str]
    articles: frozenset[str]
    adds: frozenset[str]
    beside: frozenset[tuple[str, ...]]  # what it says holds beside what was said
    unsure: frozenset[tuple[str, ...]]  # whoever says it is not sure
    later: frozenset[tuple[str, ...]]  # it will be so, and is not yet
    past: frozenset[tuple[str, ...]]  # it was so
    quoted: frozenset[tuple[str, ...]]  # somebody else says so
    supposed: frozenset[tuple[str, ...]]  # it is an example, or thought up
    ended: frozenset[tuple[str, ...]]  # it was so until now
    taken: frozenset[tuple[str, ...]]  # somebody holds now what another one held
    agents: frozenset[str]  # what stands before whoever does it, where that is not in front
    has_capital_nouns: bool
    longest: int  # words of the longest phrase


class ClaimWord(NamedTuple):
    """A word that says what a statement is about."""

    text: str
    key: str  # in lower case
    place: int  # among such words
    side: str  # "subject", "object"; "" where the relation is not known
    named: bool  # a name, an identifier or a number
    dated: bool  # a number, or a part of a date
    limb: int = 0  # which limb of the sentence it stands in
    lead: str = ""  # the small word in front of it
    adds: bool = False  # whether "and", "before", "without" or the like stands before it


class Claim(NamedTuple):
    """One text, read."""

    language: str
    words: tuple[ClaimWord, ...]
    relation: str  # a member of RELATIONS, or ""
    group: str  # which relation of that class
    is_at_home: bool  # where somebody lives
    limb: int  # the limb of its relation
    is_definite: bool  # what follows "is" is the one, not one of its kind
    owner: str  # "mine", "theirs" or ""
    refers: bool  # its subject is a pronoun, or there is none
    denied: tuple[ClaimWord, ...]  # what it says does not hold
    denies: bool
    corrects: bool
    changes: bool
    switched: str  # the word by which something was changed for another, or ""
    moved_home: bool
    home_words: tuple[str, ...]  # how this language says where one lives
    is_beside: bool  # it says itself that it holds beside what was said
    is_unsure: bool  # it says itself that it may not be so
    is_later: bool  # it says itself that it will be so
    is_past: bool  # it says itself that it was so
    is_quoted: bool  # it says itself that somebody else says so
    is_supposed: bool  # it says itself that it is an example, or thought up
    ends: bool  # what it denies was so until now
    takes: bool  # it says that somebody took over what another one held
    is_bare: bool  # its subject is one word and has neither article nor owner
    topic: str  # what was spoken of, where that was noted with it


@cache
def load_vocabulary(code: str) -> Vocabulary | None:
    """The words of one language; None if its file does not tell them."""
    data = load_language(code)
    claim = data.get("claim")
    if claim is None:
        return None
    phrases: dict[tuple[str, ...], str] = {}
    for role in ROLES:
        for phrase in claim[role]:
            phrases.setdefault(_split_phrase(phrase), role)
    relations: dict[str, tuple[str, str]] = {}
    for kind in RELATIONS:
        for group in claim[kind]:
            for word in group.split("|"):
                relations.setdefault("".join(_split_phrase(word)), (kind, group))
                phrases.setdefault(_split_phrase(word), kind)
    return Vocabulary(
        code,
        phrases,
        relations,
        tuple(word[:-1] for word in claim["several"] if word.endswith("*")),
        tuple(claim["dates"]),
        frozenset(claim["homes"]),
        frozenset(claim["at_home"]),
        frozenset(claim["the"]),
        frozenset((*claim["the"], *claim["a"])),
        frozenset(claim["adds"]),
        frozenset(map(_split_phrase, claim["beside"])),
        frozenset(map(_split_phrase, claim["unsure"])),
        frozenset(map(_split_phrase, claim["later"])),
        frozenset(map(_split_phrase, claim["past"])),
        frozenset(map(_split_phrase, claim["quoted"])),
        frozenset(map(_split_phrase, claim["supposed"])),
        frozenset(map(_split_phrase, claim["ended"])),
        frozenset(map(_split_phrase, claim["taken"])),
        frozenset(claim.get("agents", ())),
        bool(data.get("capital_nouns")),
        max(map(len, phrases)),
    )


def _split_phrase(phrase: str) -> tuple[str, ...]:
    return tuple(token.lower() for token in split_tokens(phrase))


def split_tokens(text: str) -> list[str]:
    """The words and the signs of a text, in order; each Han character is one.

    >>> split_tokens("Don't use npm; l'API")
    ['Do', 'not', 'use', 'npm', ';', "l'", 'API']
    """
    text = _IS.sub(r"\1 is", _CONTRACTED.sub(" not", text).replace("ca not", "can not"))
    text = _CLOCK.sub(r"\1\2", _CLITIC.sub(r"\1' ", text))
    found: list[str] = []
    for token in _TOKEN.findall(_HAN.sub(r" \g<0> ", text)):
        plain = token if token.endswith("'") and len(token) <= 3 else token.rstrip("'’")
        if plain.endswith(("'s", "’s")):
            plain = plain[:-2]
        found.append(plain)
    return found


def refers_back(text: str) -> bool:
    """True if a text begins with what only the text before it explains: "it", "their"."""
    tokens = split_tokens(text)
    vocabulary = choose_vocabulary(tokens, text) if tokens else None
    if vocabulary is None:
        return False
    claim = load_language(vocabulary.code)["claim"]
    return tokens[0].lower() in {*claim["it"], *claim["theirs"]}


@lru_cache(maxsize=CACHE_SIZE)
def read_claim(text: str) -> Claim | None:
    """What a text says of what; None for a long one, a question, or one that says nothing."""
    topic = ""
    if noted := _TOPIC.search(text):
        topic, text = noted["topic"], text[: noted.start()]
    if len(text) > MAX_CLAIM_CHARS or text.rstrip().endswith(("?", "？")):
        return None
    tokens = split_tokens(text)
    vocabulary = choose_vocabulary(tokens, text)
    if vocabulary is None:
        return None
    parts = list(_mark_roles(tokens, vocabulary))
    claim = _build_claim(parts, vocabulary, topic)
    return claim and claim._replace(
        is_beside=_has_phrase(tokens, vocabulary.beside),
        is_unsure=_has_phrase(tokens, vocabulary.unsure),
        is_later=_has_phrase(tokens, vocabulary.later),
        is_past=_is_past(parts, vocabulary),
        is_quoted=_is_quoted(tokens, vocabulary),
        is_supposed=_has_phrase(tokens, vocabulary.supposed),
        ends=_has_phrase(tokens, vocabulary.ended),
        takes=_has_phrase(tokens, vocabulary.taken),
    )


def _has_phrase(tokens: Sequence[str], phrases: frozenset[tuple[str, ...]]) -> bool:
    return next(_iterate_places(_lower(tokens), phrases), None) is not None


def _iterate_places(
    lows: tuple[str, ...],
    phrases: frozenset[tuple[str, ...]],
) -> Iterator[int]:
    """Where any of these phrases begins, the shortest first."""
    for n in _list_lengths(phrases):
        for i in range(len(lows)):
            if lows[i : i + n] in phrases:
                yield i


def _lower(tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(token.lower() for token in tokens)


@cache
def _list_lengths(phrases: frozenset[tuple[str, ...]]) -> tuple[int, ...]:
    """How many words these phrases have."""
    return tuple(sorted({len(phrase) for phrase in phrases}))


def _is_quoted(tokens: Sequence[str], vocabulary: Vocabulary) -> bool:
    """True if a text tells what somebody says who is not the user: "Tom claims that …"."""
    lows = _lower(tokens)
    place = next(_iterate_places(lows, vocabulary.quoted), None)
    if place is None:
        return False
    before = (lows[j : j + k] for k in (1, 2) for j in range(place + 1 - k))
    return all(vocabulary.phrases.get(said) != "mine" for said in before)


def _is_past(parts: Sequence["_Part"], vocabulary: Vocabulary) -> bool:
    """True if a text says in front of what it claims, or with its verb, that it was so: "the port
    was …", "before the merger …"; not for "8081, formerly 8080".
    """
    verb = _find_verb(parts, vocabulary)
    before = [part for part in parts[: verb + 1] or parts if part.role != "opens"]
    return _has_phrase(
        [low for part in before for low in _split_phrase(part.text)], vocabulary.past
    )


def choose_vocabulary(tokens: Sequence[str], text: str) -> Vocabulary | None:
    """The words of the language of which most occur among these; of equals the one that has
    more of their function words, then English.
    """
    scripts = detect_scripts(text)
    lows = [token.lower() for token in tokens]
    functions = load_function_words()
    best: tuple[tuple[int, int], Vocabulary] | None = None
    for code in ("en", *(code for code in list_languages() if code != "en")):
        # Of other scripts no vocabulary is loaded: that takes a while.
        if not _is_written_in(load_language(code)["scripts"], scripts):
            continue
        known = load_vocabulary(code)
        if known is None:
            continue
        own = STOP_WORDS if code == "en" else functions.get(code, frozenset())
        count = (
            sum((low,) in known.phrases for low in lows),
            sum(low.rstrip("'") in own for low in lows),
        )
        if best is None or count > best[0]:
            best = count, known
    return best[1] if best else None


def _is_written_in(scripts: Sequence[str], found: set[str]) -> bool:
    """True if a language of these scripts may be that of a text: Han characters are no English."""
    return ("han" in found) == ("han" in scripts) and not found.isdisjoint(scripts)


class _Part(NamedTuple):
    """A word or phrase with what it does."""

    text: str
    role: str  # a member of ROLES or RELATIONS, PLAIN, or "break"
    starts: bool  # at the beginning of a limb


def _mark_roles(tokens: Sequence[str], vocabulary: Vocabulary) -> Iterator[_Part]:
    i, starts = 0, True
    while i < len(tokens):
        if tokens[i] in _BREAKS:
            yield _Part(tokens[i], "break", starts)
            i, starts = i + 1, True
            continue
        count, role = _find_phrase(tokens, i, vocabulary)
        if role == "opens":
            ends = i + count >= len(tokens) or tokens[i + count] in _BREAKS
            # "No tests" denies; "no, …" puts somebody right.
            if not starts or (not ends and tokens[i].lower() in ("no", "falso", "faux", "non")):
                denies = (tokens[i].lower(),) in vocabulary.phrases and tokens[i].lower() == "no"
                role = "not" if denies else "small"
        space = "" if _HAN.match(tokens[i]) else " "
        yield _Part(space.join(tokens[i : i + count]), role, starts)
        # What opens a limb leaves the rest at its beginning.
        starts = starts and role in ("opens", "small", "not", "but")
        i += count


def _find_phrase(tokens: Sequence[str], i: int, vocabulary: Vocabulary) -> tuple[int, str]:
    """(how many tokens from here are one phrase, what it does)."""
    lows = tuple(token.lower() for token in tokens[i : i + vocabulary.longest])
    for count in range(len(lows), 0, -1):
        if role := vocabulary.phrases.get(lows[:count]):
            return count, role
    return 1, "several" if lows[0].startswith(vocabulary.stems or ("\0",)) else PLAIN


def _build_claim(parts: Sequence[_Part], vocabulary: Vocabulary, topic: str) -> Claim | None:
    verb = _find_verb(parts, vocabulary)
    relation, group, place = _choose_relation(parts, verb, vocabulary)
    agents = vocabulary.agents if relation == "held_by" else ()
    # "X 由 Ann 负责": whoever does it stands before the verb, and what it is done to before that.
    agent = next((i for i, part in enumerate(parts[: max(verb, 0)]) if part.text in agents), -1)
    words: list[ClaimWord] = []
    denied: list[ClaimWord] = []
    is_denying, limb, adds = False, 0, False
    for i, part in enumerate(parts):
        is_joint = part.text.lower() in vocabulary.adds
        adds = adds or is_joint
        if part.role in ("break", "but"):
            is_denying, limb = False, limb + (i != verb)
        elif part.role == "not" and _ends_limb(i, parts) and words and words[-1].limb == limb:
            denied += _take_denied(words, limb)
        elif part.role in ("not", "instead"):
            is_denying = True
            limb += part.role == "instead"
        elif i != agent and _tells_something(i, (verb, place), parts):
            side = "" if verb < 0 else "subject" if agent < i < verb else "object"
            before = parts[i - 1].text.lower() if i else "."
            word = _to_word(part, len(words) + len(denied), side, vocabulary, before)
            (denied if is_denying else words).append(
                word._replace(limb=limb, lead=_lead_of(parts[:i]), adds=adds and not is_joint)
            )
            adds = is_joint
    roles = [part.role for part in parts]
    if not words and not denied:
        return None
    own = next((part.role for part in parts if part.role in ("mine", "theirs")), "")
    switched = next((part.text.lower() for part in parts if part.role == "switched"), "")
    subject = [word for word in words if word.side == "subject"]
    return Claim(
        language=vocabulary.code,
        words=tuple(words),
        relation=relation,
        group=group,
        is_at_home=place >= 0 and parts[place].text.lower() in vocabulary.at_home,
        limb=sum(part.role in ("break", "but") for part in parts[: max(verb, 0)]),
        is_definite=verb >= 0
        and parts[verb].role != "break"
        and _is_definite(parts[verb + 1 :], vocabulary),
        owner=own,
        refers=verb >= 0 and not subject and own != "mine" and relation != "tools",
        denied=tuple(denied),
        denies="not" in roles or "instead" in roles,
        corrects="opens" in roles,
        changes="now" in roles or bool(switched) or "instead" in roles,
        switched=switched,
        moved_home=switched in vocabulary.homes,
        home_words=tuple(sorted(vocabulary.at_home)),
        is_beside=False,
        is_unsure=False,
        is_later=False,
        is_past=False,
        is_quoted=False,
        is_supposed=False,
        ends=False,
        takes=False,
        is_bare=len(subject) == 1 and not subject[0].lead and not own,
        topic=topic,
    )


def _ends_limb(i: int, parts: Sequence[_Part]) -> bool:
    """True if nothing follows in the limb of this part but small words."""
    after = next((part for part in parts[i + 1 :] if part.role not in ("small", "now")), None)
    return after is None or after.role in ("break", "but")


def _take_denied(words: list[ClaimWord], limb: int) -> list[ClaimWord]:
    """What a "not" at the end of a limb denies, taken from its words, as in German: "das
    Team nutzt Jira nicht".
    """
    denied = [word for word in words if word.limb == limb and word.side == "object"]
    words[:] = [word for word in words if word not in denied]
    return denied


def _lead_of(before: Sequence[_Part]) -> str:
    """The first of the small words that stand directly in front of a word: "in" of "in the"."""
    lead = ""
    for part in reversed(before):
        if part.role == "now":
            continue
        if part.role != "small":
            break
        lead = part.text.lower()
    return lead


def _find_verb(parts: Sequence[_Part], vocabulary: Vocabulary) -> int:
    """Where what a statement speaks of ends and what it says of it begins; -1 if that is not known.

    "Is" before all, for what stands before it is named and does nothing.
    """
    for i, part in enumerate(parts):
        # "Port of the server: 8081"
        is_titled = part.text in (":", "：") and any(one.role == PLAIN for one in parts[:i])
        if part.role == "is" or is_titled:
            return i
    for i, part in enumerate(parts):
        is_home = part.text.lower() in vocabulary.at_home
        if part.role in RELATIONS and (
            is_home or part.role != "single" or not _is_order(parts[:i])
        ):
            # A name may begin with such a word where none is marked: "管理后台监听 …".
            later = [j for j in range(i + 1, len(parts)) if parts[j].role in ("single", "held_by")]
            return later[0] if later and i == 0 and _HAN.match(part.text) else i
    return -1


def _is_order(before: Sequence[_Part]) -> bool:
    """True if nothing that could do a thing stands before it: then somebody is told to do it."""
    return {part.role for part in before} <= {"small", "break", "opens", "not", "now"}


def _choose_relation(
    parts: Sequence[_Part],
    verb: int,
    vocabulary: Vocabulary,
) -> tuple[str, str, int]:
    """(class, group and place of the relation): what was done rather than "is"."""
    if verb < 0:
        return "", "", -1
    if parts[verb].role == "break":
        return "is", "is", verb
    told = [i for i in range(verb, len(parts)) if parts[i].role in RELATIONS]
    place = next((i for i in told if parts[i].role != "is"), verb)
    key = "".join(_split_phrase(parts[place].text))
    kind, group = vocabulary.relations.get(key, ("several", parts[place].text.lower()))
    return kind, group, place


def _tells_something(i: int, relation: tuple[int, int], parts: Sequence[_Part]) -> bool:
    """True for a word that says what the sentence is about."""
    role = parts[i].role
    return role == PLAIN or (role in RELATIONS and _is_content(i, relation, parts))


def _is_content(i: int, relation: tuple[int, int], parts: Sequence[_Part]) -> bool:
    """True for a word of a relation that is not that of the sentence: "the name of the client"."""
    told = parts[relation[1]].role
    return i not in relation and parts[i].role not in ("is", told if told == "tools" else "")


def _to_word(
    part: _Part,
    place: int,
    side: str,
    vocabulary: Vocabulary,
    before: str,
) -> ClaimWord:
    text, low = part.text, part.text.lower()
    listed = any(
        low == date or (date.endswith("*") and low.startswith(date[:-1]))
        for date in vocabulary.dates
    )
    is_marked = not low.replace("-", "").isalpha() or text[1:] != low[1:]
    is_capital = text[0].isupper() and before not in (".", "!", "?")
    # Where each noun has a capital, a name is what stands there without an article.
    if vocabulary.has_capital_nouns:
        is_capital = is_capital and before not in vocabulary.articles
    return ClaimWord(
        text,
        low,
        place,
        side,
        is_marked or is_capital,
        listed or bool(_DATED.match(low)),
    )


def _is_definite(after: Sequence[_Part], vocabulary: Vocabulary) -> bool:
    """True if "the …", "my …" follows: the one that it is, and not one of its kind."""
    for part in after:
        if part.role == "mine" or part.text.lower() in vocabulary.the:
            return True
        if part.role not in ("now", "not"):
            return False
    return False


def is_same_word(one: ClaimWord, other: ClaimWord) -> bool:
    """True if two words are forms of one: "license" and "licensed"; names only to the letter."""
    if one.key == other.key or to_concept(one.key) == to_concept(other.key):
        return True
    if one.dated or other.dated or (one.named and other.named):
        return False
    # An identifier has no other forms.
    if not (one.key.isalpha() and other.key.isalpha()):
        return False
    short, long = sorted((one.key, other.key), key=len)
    common = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b),
        len(short),
    )
    if common == len(short) >= 3 and long[common:] in ("s", "es", "n", "en", "e"):
        return True
    return common >= MIN_STEM and len(long) - common <= min(MAX_ENDING, common - 2)


def match_words(
    old: Iterable[ClaimWord],
    new: Iterable[ClaimWord],
) -> tuple[list[ClaimWord], list[ClaimWord], list[ClaimWord]]:
    """(what only the old has, what only the new has, what both have, as the old has it)."""
    left = list(new)
    missing, shared = [], []
    for word in old:
        place = next((i for i, other in enumerate(left) if is_same_word(word, other)), -1)
        if place < 0:
            missing.append(word)
        else:
            shared.append(word)
            del left[place]
    return missing, left, shared


def split_spans(words: Sequence[ClaimWord]) -> list[list[ClaimWord]]:
    """These words in stretches that stand side by side on one side of their relation."""
    spans: list[list[ClaimWord]] = []
    for word in words:
        last = spans[-1][-1] if spans else None
        if last and word.place == last.place + 1 and word.side == last.side:
            spans[-1].append(word)
        else:
            spans.append([word])
    return spans
