"""What a sentence forbids, in any of the languages that there is a file of, as trigger patterns.

The words that forbid (`standing.against`) and how the words for an act begin (`acts`) stand in
`languages/*.toml`; what each act looks like when it is done is the same everywhere, and stands
here. Programs and code are called the same in every language.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from reverie.text.forbidden_acts import PROGRAM_VARIANTS, PROGRAMS
from reverie.text.learned_phrases import AGAINST, STANDING
from reverie.text.prompt_phrases import detect_scripts, has_word_edge, list_languages, load_language

ACTS, INSTEAD = "acts", "instead"
# What is done, by its word in a language file.
COMMANDS = {
    "push": ("git push",),
    "commit": ("git commit",),
    "merge": ("git merge",),
    "rebase": ("git rebase",),
    "deploy": ("deploy",),
}
# What deleting looks like, by the word for what is deleted.
DELETIONS = {
    "database": ("drop database", "dropdb", "drop schema", "delete-db-"),
    "table": ("drop table", "truncate table"),
    "volume": ("docker volume rm", "docker volume prune", "compose down -v"),
    "branch": ("tool:*(git branch -d*)", "tool:*(git push*--delete*)"),
    "bucket": ("s3 rb", "gsutil rb", "delete-bucket"),
    "namespace": ("kubectl delete n",),
}
# "git add ." ends with what is added.
_CLAUSE_END = re.compile(r"[,;—。；，！？]\s*|(?:(?<!\s)\.|[!?:])(?:\s|$)")
_TICKED = re.compile(r"`([^`\n]{2,60})`")
_CODE = re.compile(
    r"(?<![\w-])(?:--[a-zA-Z][\w-]+|[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)+|[A-Za-z_]\w*(?:!|\(\))|"
    r"[a-z]+_\w+|[a-z]+[A-Z]\w*)(?![\w-])"
)
_WORD = re.compile(r"[a-z][\w+.-]*\w", re.ASCII)


def find_spoken_triggers(text: str) -> list[str]:
    """Triggers for what a sentence forbids in its own language; empty where it names nothing that
    could be seen in a tool call.
    """
    for clause in find_forbidding_clauses(text):
        named = [match[1] for match in _TICKED.finditer(clause)]
        found = named or [*find_done_acts(clause), *find_named_programs(clause)]
        # What is called is called with something.
        if found := found or [match[0].removesuffix(")") for match in _CODE.finditer(clause)]:
            return found
    return []


def find_forbidding_clauses(text: str) -> Iterator[str]:
    """The parts of a text in which a word forbids something, each without what is to be done
    instead of it.
    """
    codes = languages_of(text)
    for clause in split_clauses(text):
        if any(holds_word(clause.lower(), forbidding_words(code)) for code in codes):
            yield clause
            continue
        # "Take this instead of that": what is not wanted stands behind.
        for code in codes:
            for word in load_acts(code).get(INSTEAD, ()):
                if (place := find_word(clause.lower(), word)) >= 0 and word_stands_before(word):
                    yield clause[place + len(word) :]


def word_stands_before(word: str) -> bool:
    """True for words of languages in which what is set aside follows the word for it."""
    return has_word_edge(word[:1])


def split_clauses(text: str) -> Iterator[str]:
    """The parts of a text between commas and ends of sentences."""
    start = 0
    for match in _CLAUSE_END.finditer(text):
        # An exclamation mark may belong to the name, as in `println!`.
        yield text[start : match.start() + match[0].startswith("!")]
        start = match.end()
    yield text[start:]


def find_done_acts(clause: str) -> Iterator[str]:
    """Triggers for the acts that a clause names in any of its languages."""
    lower = clause.lower()
    for code in languages_of(clause):
        acts = load_acts(code)
        if holds_word(lower, acts.get("delete", ())):
            for thing, triggers in DELETIONS.items():
                if holds_word(lower, acts.get(thing, ()), inside=True):
                    yield from triggers
        for act, commands in COMMANDS.items():
            if holds_word(lower, acts.get(act, ())):
                yield from commands


def find_named_programs(clause: str) -> Iterator[str]:
    """Triggers for the programs that a clause names."""
    for match in _WORD.finditer(clause):
        if match[0] in PROGRAMS:
            yield f"tool:*({match[0]} *)"
            yield from (f"tool:*({form})" for form in PROGRAM_VARIANTS.get(match[0], ()))


def list_spoken_topics(text: str, names: Iterable[str]) -> list[str]:
    """Which of these `acts` of the language files a text names, in any of its languages."""
    lower, codes = text.lower(), languages_of(text)
    return [
        name
        for name in names
        if any(holds_word(lower, load_acts(code).get(name, ()), inside=True) for code in codes)
    ]


def holds_word(lower: str, words: Iterable[str], *, inside: bool = False) -> bool:
    """True if a word of a text in lower case begins with one of these; with `inside`, also if it
    holds a long one, as German compounds do.
    """
    return any(find_word(lower, word, inside=inside) >= 0 for word in words)


def find_word(lower: str, word: str, *, inside: bool = False) -> int:
    """Where a word begins so; -1 if none does."""
    if (inside and len(word) > 5) or not has_word_edge(word[:1]):
        return lower.find(word)
    for found in re.finditer(re.escape(word), lower):
        # In scripts without spaces a letter before it is another word's.
        before = lower[max(0, found.start() - 1) : found.start()]
        if not has_word_edge(before):
            return found.start()
    return -1


def languages_of(text: str) -> Sequence[str]:
    """The languages in whose script a text is written; a name in Latin letters makes no English."""
    scripts = detect_scripts(text)
    others = scripts - {"latin"}
    return [
        code
        for code in list_languages()
        if not set(load_scripts(code)).isdisjoint(others or scripts)
    ]


@lru_cache
def load_scripts(code: str) -> tuple[str, ...]:
    """The scripts of a language."""
    return tuple(load_language(code)["scripts"])


@lru_cache
def load_acts(code: str) -> Mapping[str, Sequence[str]]:
    """How the words for acts begin in a language."""
    acts: Mapping[str, Sequence[str]] = load_language(code).get(ACTS, {})
    return acts


@lru_cache
def forbidding_words(code: str) -> tuple[str, ...]:
    """The words that forbid in a language."""
    return tuple(load_language(code).get(STANDING, {}).get(AGAINST, ()))
