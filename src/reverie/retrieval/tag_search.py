"""Memories whose tags a prompt mentions: what hints are made of.

A tag is mentioned exactly where the whole of it stands in the prompt, however its parts are joined,
or where all its parts stand in one sentence; partly where they stand there with other endings.
Parts of one sentence belong together, words from all over a page do not, so a sentence of more than
MAX_SENTENCE_CHARS, and what a machine wrote (JSON, commands with options), count for whole tags
only.

Pure but for `search_tags`, which looks up who carries the tags that were met: exact ones before
partial ones, more tags before fewer, then the newest; ties by id.
"""

import re
from typing import NamedTuple

from reverie.core.model import Filter, Hit, Memory
from reverie.retrieval.search_query import SearchQuery, filter_admissible
from reverie.storage import Store
from reverie.text.function_words import find_function_words
from reverie.text.tokenization import MAX_QUERY, STOP_WORDS

MAX_SENTENCE_CHARS = 250  # a longer sentence is a dump
# A word that may match a tag in part has so many letters.
MIN_KEYWORD_CHARS = 4
# Of a part that is looked for: "v2" says nothing of "plan-v2".
MIN_PART_CHARS = 3
# A tag that is looked for at all has so many letters, but for one character that is a word.
MIN_TAG_CHARS = 2
# Share of letters from which a line is prose and not what a machine wrote.
MIN_LETTER_SHARE = 0.6
# Tags of one prompt that are looked up, the rarest first.
MAX_MET_TAGS = 32
# Newest memories with one tag that are looked at.
MAX_MEMORIES_PER_TAG = 100

EXACT, PARTLY, NOT = 2, 1, 0

_SEAM = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")
_END = re.compile(r"(?<=[.!?;])\s+|\n+|(?<=[。！？；])")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z][\w-]*")


_EVERYDAY = """
ask back bring call change check come day do end find fine get give go good help hold keep kind
know last leave less let like line long look make mean move need next open order people place
play point put read rest right run say see set show start state stop take talk tell thing think
time try turn use want way well word work world year
"""
# Words that everybody uses all the time. As a tag, such as `go`, one is meant only where it stands
# as a name.
EVERYDAY = frozenset(_EVERYDAY.split())

_NAME = re.compile(r"`[^`\n]+`|(?<=[^\W_] )[A-Z]\w*|(?<=, )[A-Z]\w*")


class TagPrompt(NamedTuple):
    """A prompt as tags are held against it."""

    whole: str  # its words, those that stand apart with a bar between them
    sentences: tuple[frozenset[str], ...]  # the words of each sentence of prose
    names: frozenset[str]  # words in backticks, or with a capital within a sentence
    idle: frozenset[str] = STOP_WORDS  # words that say nothing of what it is about


def parse_tag_prompt(prompt: str) -> TagPrompt:
    """A prompt in the form in which tags are looked for in it; only its first MAX_QUERY
    characters.
    """
    head = prompt[:MAX_QUERY]
    text = head.casefold()
    sentences = [part for part in _END.split(text) if len(part) <= MAX_SENTENCE_CHARS]
    words = [frozenset(_WORD.findall(part)) for part in sentences if is_prose(part)]
    return TagPrompt(
        f" {_SEAM.sub(replace_seam, text).strip()} ",
        tuple(words),
        find_standing_names(head),
        find_idle_words(frozenset().union(*words)),
    )


def find_idle_words(words: frozenset[str]) -> frozenset[str]:
    """The stop words of English, and those of the language of which there are more among these."""
    foreign = find_function_words(tuple(words))
    return STOP_WORDS | foreign if len(foreign) > len(words & STOP_WORDS) else STOP_WORDS


def find_standing_names(text: str) -> frozenset[str]:
    """Words that stand as names, case folded: in backticks, or with a capital that begins no
    sentence.
    """
    return frozenset(
        word.casefold() for found in _NAME.finditer(text) for word in _WORD.findall(found[0])
    )


def replace_seam(seam: re.Match[str]) -> str:
    """What stands between two words: a space where one character joins them, a bar where they stand
    apart, which they do on two lines.
    """
    between = seam[0]
    is_joint = len(between) == 1 or between.isspace()
    return " " if is_joint and "\n" not in between else " | "


def is_prose(text: str) -> bool:
    """True if a person said it: mostly letters, and not a command with several options."""
    solid = "".join(text.split())
    letters = sum(ch.isalpha() for ch in solid)
    if not solid or letters < MIN_LETTER_SHARE * len(solid):
        return False
    return len(_OPTION.findall(text)) < 2


def select_keywords(words: frozenset[str], idle: frozenset[str] = STOP_WORDS) -> list[str]:
    """The words of a sentence that may match a tag in part: long enough, and no stop words."""
    return [word for word in words if len(word) >= MIN_KEYWORD_CHARS and word not in idle]


def grade_tag(tag: str, prompt: TagPrompt) -> int:
    """How a prompt mentions a tag: EXACT, PARTLY or NOT."""
    plain = _SEAM.sub(" ", tag.casefold()).strip()
    if len(plain) < MIN_TAG_CHARS:
        return EXACT if is_word_alone(plain, prompt.whole) else NOT
    if plain in prompt.idle:
        return NOT
    if plain in EVERYDAY and plain not in prompt.names:
        return NOT
    # Scripts such as Chinese put no spaces between words, so there any place counts.
    wanted = f" {plain} " if plain.isascii() else plain
    if wanted in prompt.whole:
        return EXACT
    parts = [part for part in plain.split() if is_telling_part(part, prompt.idle)]
    if not parts:
        return NOT
    # In one sentence a tag is mentioned as weakly as the weakest of its parts.
    grades = (
        min(grade_tag_part(part, words, prompt.idle) for part in parts)
        for words in prompt.sentences
    )
    return max(grades, default=NOT)


def is_word_alone(tag: str, text: str) -> bool:
    """True if a tag of one Chinese character stands where no other one is beside it.

    Beside another it is mostly a part of some other word: 日 in 今日.
    """
    if not re.fullmatch(f"[{_HAN}]", tag):
        return False
    return re.search(f"(?<![{_HAN}]){tag}(?![{_HAN}])", text) is not None


def is_telling_part(part: str, idle: frozenset[str]) -> bool:
    """True if a part of a tag is looked for by itself."""
    return len(part) >= MIN_PART_CHARS and part not in idle and not part.isdigit()


def grade_tag_part(part: str, words: frozenset[str], idle: frozenset[str]) -> int:
    """How one part of a tag stands in a sentence: EXACT, PARTLY (another ending) or NOT."""
    if part in words:
        return EXACT
    return (
        PARTLY if any(is_inflection(part, word) for word in select_keywords(words, idle)) else NOT
    )


def is_inflection(part: str, word: str) -> bool:
    """True if two words are one with different endings: "subagent" and "subagents"."""
    short, long = sorted((part, word), key=len)
    return len(short) >= MIN_KEYWORD_CHARS and long.startswith(short)


def search_tags(store: Store, query: SearchQuery) -> list[Hit]:
    """Memories with a tag that the query's text mentions, best first, at most `query.limit`.

    `why` names the tags.
    """
    prompt = parse_tag_prompt(query.text)
    counts = store.tag_counts(query.spaces) if prompt.whole.strip() else {}
    grades = {tag: grade for tag in counts if (grade := grade_tag(tag, prompt))}
    # Rare tags first: of very many, they say most.
    chosen = sorted(
        grades,
        key=lambda tag: (-grades[tag], counts[tag], tag),
    )[:MAX_MET_TAGS]
    found = {memory.id: memory for tag in chosen for memory in browse_tag(store, query, tag)}
    hits = [to_tag_hit(memory, grades) for memory in found.values()]
    hits.sort(key=lambda hit: (-hit.score, -hit.memory.at, hit.memory.id))
    return filter_admissible(hits, query)[: query.limit]


def browse_tag(
    store: Store,
    query: SearchQuery,
    tag: str,
) -> list[Memory]:
    """The newest memories that carry a tag."""
    carrying = Filter(
        spaces=query.spaces,
        without=query.without,
        tags=(tag,),
        limit=MAX_MEMORIES_PER_TAG,
        by_time=True,
    )
    return store.browse(carrying)


def to_tag_hit(memory: Memory, grades: dict[str, int]) -> Hit:
    """A memory as a hit for the tags of it that were met, by grade.

    One exact tag weighs more than any number of partial ones.
    """
    mine = [tag for tag in memory.tags if tag in grades]
    exact = sum(grades[tag] == EXACT for tag in mine)
    share = 0.5 * (1 - 0.5 ** (exact or len(mine)))
    score = 0.5 + share if exact else share
    return Hit(memory, score, tuple(f"tag {tag}" for tag in mine))
