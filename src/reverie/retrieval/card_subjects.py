"""What a memory belongs to without a trigger that somebody set: files that it names, kinds of files
that it is a rule about, an error that it tells of.

Derived from the text when a table for hooks is built, and kept nowhere else.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from reverie.core.kinds import MAKING, OBSERVED, is_unverified, kind_of
from reverie.core.model import Memory
from reverie.text.forbidden_words import list_spoken_topics
from reverie.text.learned_phrases import begins_as_wish, classify_statement
from reverie.text.text_signals import find_file_names

# Memory types that tell how things are or are done; an episode that names a file is history.
LASTING_TYPES = ("semantic", "procedural")
# Statements (`learned_phrases`) by which something is to be done or left.
RULE_STATEMENTS = ("rule", "prohibition", "preference")
# Characters of a memory that tells of an error: a longer one is a report.
MAX_ERROR_CHARS = 600

# Names of what is written, which are the same in every language, and the files in which it is.
# Those that are also common words count only as they are properly written.
TOPIC_FILES = {
    r"(?i:\bsql\b)": "*.sql",
    r"(?i:\bdocker(?:file|-?images?)?\b|\bdocker[- ]compose\b)": (
        "dockerfile dockerfile.* *.dockerfile compose.y*ml docker-compose*.y*ml"
    ),
    r"(?i:\bterraform\b)": "*.tf *.tfvars",
    r"(?i:\bgithub[- ]actions?\b)": ".github/workflows/*",
    r"(?i:\bkubernetes\b|\bk8s\b)": "k8s/* kubernetes/* manifests/*",
    r"(?i:\bhelm\b)": "charts/* helm/*",
    r"(?i:\bmakefiles?\b)": "makefile *.mk",
    r"(?i:\bjenkinsfile\b)": "jenkinsfile",
    r"(?i:\bs?css\b)": "*.css *.scss *.sass *.less",
    r"(?i:\bhtml\b)": "*.html *.htm",
    r"(?i:\bgraphql\b)": "*.graphql *.gql",
    r"(?i:\bprotobuf\b|\bproto files?\b)": "*.proto",
    r"(?i:\bya?ml\b)": "*.yml *.yaml",
    r"(?i:\btoml\b)": "*.toml",
    r"(?i:\bmarkdown\b)": "*.md",
    r"(?i:\blatex\b)": "*.tex",
    r"(?i:\bjupyter\b)": "*.ipynb",
    r"(?i:\bpython\b)": "*.py *.pyi",
    r"(?i:\btypescript\b)": "*.ts *.tsx",
    r"(?i:\bjavascript\b)": "*.js *.jsx *.mjs *.cjs",
    r"(?i:\btsx\b)": "*.tsx",
    r"(?i:\bgolang\b)|\bGo (?:code|files?|packages?)\b": "*.go",
    r"(?i:\bc\+\+(?!\w))": "*.cpp *.cc *.hpp",
    r"(?i:\bc#(?!\w))": "*.cs",
    r"(?i:\bphp\b)": "*.php",
    r"(?i:\bkotlin\b)": "*.kt *.kts",
    r"(?i:\bhaskell\b)": "*.hs",
    r"\bRust\b": "*.rs",
    r"\bRuby\b": "*.rb",
    r"\bJava\b": "*.java",
    r"\bSwift\b": "*.swift",
    r"\bScala\b": "*.scala",
    r"\bElixir\b": "*.ex *.exs",
    r"\bLua\b": "*.lua",
    r"\bDart\b": "*.dart",
    r"\bVue\b": "*.vue",
    r"\bSvelte\b": "*.svelte",
}
# The same for what each language calls by a word of its own (`acts` in its file).
SPOKEN_TOPICS = {
    "migration": "migrations/* migrate/* alembic/versions/*",
    "script": "*.sh *.bash",
}
# A word that tells of errors as programs write them: in English, whatever is spoken around it.
TELLS_ERROR = re.compile(
    r"\b[A-Z]{1,5}-?\d{2,}\b|\bE[A-Z]{4,}\b|\b\d{1,3}[A-Z]\d{2,}\b|\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b|"
    r"(?i:\berror|\bexception|\bfail(?:s|ed|ure)\b|\bcannot\b|\bcould not\b|\bnot found\b|"
    r"\brefused\b|\bdenied\b|\bundefined\b|\bunresolved\b|\bfatal\b|\bpanic|\binvalid\b|\bunsupported\b|"
    r"\bexpired\b|\btimed? ?out\b|\bno such\b|\bcrash)|[“”„\"«»‘’`']\S+\s+\S+"
)


class CardSubjects(NamedTuple):
    """What calls a memory up at a tool call."""

    files: tuple[str, ...] = ()  # that are read or changed
    writes: tuple[str, ...] = ()  # patterns of files that are changed
    error: bool = False  # the text tells of an error which a tool may fail with


NO_SUBJECTS = CardSubjects()


def find_card_subjects(memory: Memory) -> CardSubjects:
    """What a memory belongs to by its files and its text; nothing for what others wrote."""
    if is_unverified(memory):
        return CardSubjects()
    kind = kind_of(memory.kind)
    is_lasting = kind.type in LASTING_TYPES and kind.unchosen != OBSERVED and kind.surfaces
    if not is_lasting:
        return CardSubjects(memory.files)
    files = memory.files or find_file_names(memory.text)
    tells_error = len(memory.text) <= MAX_ERROR_CHARS and TELLS_ERROR.search(memory.text)
    # What has a trigger is about what calls it up.
    is_called = bool(memory.triggers or memory.files)
    writes = () if is_called else list_topic_files(without_paths(memory.text, files))
    if writes and MAKING not in kind.bears_on and not states_rule(memory.text):
        writes = ()
    return CardSubjects(tuple(files), writes, bool(tells_error))


@lru_cache(maxsize=4_000)
def states_rule(text: str) -> bool:
    """True if a text says how something is to be done, whatever kind it was kept as."""
    return begins_as_wish(text) or classify_statement(text) in RULE_STATEMENTS


def without_paths(text: str, files: Iterable[str]) -> str:
    """A text without the files that it names: `routes.yaml` makes no rule about YAML."""
    for name in files:
        if "." in name:
            text = text.replace(name, "")
    return text


# A table is built anew whenever a memory changed.
@lru_cache(maxsize=4_000)
def list_topic_files(text: str) -> tuple[str, ...]:
    """Patterns of the files in which what a text is about is written."""
    return tuple(dict.fromkeys(find_topic_files(text)))


def find_topic_files(text: str) -> Iterator[str]:
    """Patterns of the files in which what a text is about is written."""
    for topic, patterns in TOPIC_FILES.items():
        if re.search(topic, text):
            yield from patterns.split()
    for name in list_spoken_topics(text, SPOKEN_TOPICS):
        yield from SPOKEN_TOPICS[name].split()
