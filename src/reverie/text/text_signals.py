"""Signals in a text.

The files it names, their language, and triggers that call it up again.

Modest and precise: a file is what looks like one beyond doubt, a tag comes from a file's name or
its place, a trigger from what a person forbade by name. Nothing found is the usual answer.
"""

import re
from collections.abc import Iterable

from reverie.text.forbidden_acts import find_act_triggers

MAX_FILES, MAX_TRIGGERS, MAX_TAGS = 8, 4, 6
MAX_TRIGGER_CHARS = 300  # a longer one names nothing that is typed


def read_tag_table(table: str) -> dict[str, str]:
    """Tags by name, of a table with a line for each tag: "tag: name name"."""
    tags: dict[str, str] = {}
    for line in table.strip().splitlines():
        tag, _, names = line.partition(": ")
        tags.update(dict.fromkeys(names.split(), tag))
    return tags


# Extension → language tag.
LANGUAGES = read_tag_table("""
python: py pyi
rust: rs
typescript: ts tsx
javascript: js jsx mjs cjs
go: go
ruby: rb
java: java
kotlin: kt kts
swift: swift
csharp: cs
cpp: cpp cc hpp
c: c h
php: php
elixir: ex exs
sql: sql
shell: sh bash
terraform: tf
css: css scss
latex: tex
lua: lua
dart: dart
scala: scala
haskell: hs
clojure: clj
r: r
julia: jl
vue: vue
svelte: svelte
zig: zig
""")

# Extensions of files in no language that has a tag.
_OTHER_FILES = """
md txt json jsonl yaml yml toml lock ini cfg conf env html xml csv proto gradle ipynb rst pdf plist
properties
"""

# A folder or file in a path → domain tag.
DOMAINS = read_tag_table("""
testing: test tests spec specs __tests__
database: migrations alembic
ci: workflows .github .gitlab-ci.yml jenkinsfile
docker: dockerfile docker-compose.yml docker-compose.yaml
kubernetes: k8s helm charts
infrastructure: terraform infra
deployment: deploy
documentation: docs doc
authentication: auth
billing: billing payments
api: api
frontend: components styles
translation: i18n locales
packaging: package.json pyproject.toml cargo.toml requirements.txt
""")

# What a forbidden act looks like when it is about to be done.
COMMAND_BY_VERB = {
    "push": "git push",
    "commit": "git commit",
    "rebase": "git rebase",
    "merge": "git merge",
    "deploy": "deploy",
}

_NAMED = re.compile(
    r"\b(?:Dockerfile|Makefile|Jenkinsfile|Gemfile|Procfile|Rakefile|Justfile|\.env(?:\.\w+)?|"
    r"\.gitignore|\.sdkmanrc|\.editorconfig)\b|(?<![\w/])\.env(?:\.\w+)?\b"
)
_PATH = re.compile(
    r"(?<![\w@:/.%$\\-])(?:\.{1,2}/)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.(?P<ending>[A-Za-z]{1,10})"
    r"\b(?![("
    r"\w/])"
)
_FOLDER = re.compile(r"(?<![\w@:/.%$\\-])(?:[\w.@+-]{2,}/)+(?=[\s,;:.)!?'\"`]|$)")
_ENDINGS = frozenset((*LANGUAGES, *_OTHER_FILES.split()))


# Names of things that look like files.
_NO_FILES = """
node.js vue.js next.js moment.js three.js d3.js react.js express.js nuxt.js asp.net chart.js
alpine.js
"""
NO_FILES = frozenset(_NO_FILES.split())


def find_file_names(text: str) -> tuple[str, ...]:
    """The files that a text names, in order."""
    matches = [match for match in _PATH.finditer(text) if is_file_name(match)]
    matches += [*_FOLDER.finditer(text), *_NAMED.finditer(text)]
    found = sorted((match.start(), match[0]) for match in matches)
    names = dict.fromkeys(name for _, name in found)
    return tuple(names)[:MAX_FILES]


def is_file_name(match: re.Match[str]) -> bool:
    """True for a file; "moment.js", "Vue.js" and "node.js" are names of things."""
    if match["ending"].lower() not in _ENDINGS:
        return False
    return "/" in match[0] or match[0].lower() not in NO_FILES


def derive_tags(files: Iterable[str]) -> tuple[str, ...]:
    """Language and domain tags that follow from files' names and places."""
    found: list[str] = []
    for name in files:
        parts = name.lower().strip("/").split("/")
        _, dot, ending = parts[-1].rpartition(".")
        if dot and ending in LANGUAGES:
            found.append(LANGUAGES[ending])
        found += [DOMAINS[part] for part in parts if part in DOMAINS]
        if re.search(r"(?:^|[._-])(?:test|spec)[._-]", parts[-1]):
            found.append("testing")
    return tuple(dict.fromkeys(found))[:MAX_TAGS]


_FIRST_CLAUSE = re.compile(
    r"[,;—!?](?:\s|$)|\.\s|\s(?:use|instead|because|since|cause|it|they|we|only|but|so|unless|"
    r"without|inside|outside|outside of|in|for|from|on|at|when|while|with|ever|anywhere|again|"
    r"during|and|or|to|into)\b"
)
_TICKED = re.compile(r"`([^`\n]{2,60})`")
_CODELIKE = re.compile(
    r"(?<!\w)(?:--?[a-zA-Z][\w-]+|[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)+|[A-Za-z_]\w*(?:!|\(\))|"
    r"[a-z]+_\w+|[a-z]+[A-Z]\w*|[\w]+-[\w-]+|[A-Z][a-z]+[A-Z]\w*|#[\w-]+)(?!\w)"
)
_ACT = re.compile(
    r"^(?:please )?(?:never|don'?t ever|do not ever|don'?t|do not|no|stop|avoid|we (?:never|don'?t"
    r"|do not))\s+"
    r"(?:ever |even )?(?P<verb>use|using|call|calling|import|importing|install|installing|add"
    r"|adding|write|print|run|"
    r"running|touch|edit|enable|push|commit|rebase|merge|deploy|force[- ]push|mock|mocking"
    r"|apply)?\s*(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
# Verbs of a prohibition whose object is a thing by its name.
_BY_NAME_VERBS = """
use using call calling import importing install installing run running enable no mock
"""
_BY_NAME = frozenset(_BY_NAME_VERBS.split())
# Words too common to call anything up.
_VAGUE_WORDS = """
any all the this that these those code tests test file files it them things stuff anything
something again new old real more other secrets data changes change comments main master
prod production global default raw hardcoded magic inline
"""
_VAGUE = frozenset(_VAGUE_WORDS.split())


def derive_triggers(text: str) -> tuple[str, ...]:
    """Trigger patterns for a prohibition: what it forbids as it is done, where that can be told,
    and the thing that it plainly names.
    """
    # Language files are read only where this is needed.
    from reverie.text.forbidden_commands import find_exact_triggers

    exact = find_exact_triggers(text)
    triggers = find_act_triggers(text) or find_named_triggers(text)
    if not triggers:
        from reverie.text.forbidden_words import find_spoken_triggers

        triggers = find_spoken_triggers(text)
    if exact:
        # What says the same less exactly; a word that is named calls it up in a conversation.
        triggers = [*exact, *(one for one in triggers if not one.startswith("tool:"))]
    return limit_triggers(triggers)


def find_named_triggers(text: str) -> list[str]:
    """Triggers for the thing that an English prohibition plainly names."""
    act = _ACT.match(text)
    if act is None:
        return []
    verb = (act["verb"] or "").lower()
    clause = first_clause(act["rest"])
    # What follows "use" is to be done instead.
    forbidden = act["rest"].split(", use")[0].split(" use ")[0]
    found = [match[1] for match in _TICKED.finditer(forbidden)]
    found = found or [match[0] for match in _CODELIKE.finditer(clause)]
    names_thing = verb in _BY_NAME if verb else text.lower().startswith("no ")
    if not found and names_thing:
        found = find_named_thing(clause)
    first_word = clause.partition(" ")[0].lower()
    for word in (verb, first_word):
        if not found and word in COMMAND_BY_VERB:
            found = [COMMAND_BY_VERB[word]]
    names = (name.strip(" .,'\"") for name in found)
    return [name for name in names if len(name) > 2]


def limit_triggers(triggers: Iterable[str]) -> tuple[str, ...]:
    """The first few distinct triggers that are not too long."""
    fitting = (trigger for trigger in triggers if len(trigger) <= MAX_TRIGGER_CHARS)
    return tuple(dict.fromkeys(fitting))[:MAX_TRIGGERS]


def first_clause(rest: str) -> str:
    """What a prohibition forbids, up to where a reason or another thing begins."""
    end = _FIRST_CLAUSE.search(rest)
    if end is None:
        return rest
    # An exclamation mark may belong to the name, as in `println!`.
    ends_with_mark = end[0].startswith("!") and not end[0].strip("! ")
    return rest[: end.start()] + ("!" if ends_with_mark else "")


def find_named_thing(clause: str) -> list[str]:
    """One or two words that name a thing, unless they are too common to call anything up."""
    words = clause.strip(" .!'\"").split()
    is_vague = any(word.lower() in _VAGUE for word in words)
    if not 1 <= len(words) <= 2 or is_vague:
        return []
    return [" ".join(words)]
