"""What a text says about itself in passing: the files it names, their language, what would call it
up again.

Modest and precise: a file is what looks like one beyond doubt, a tag comes from a file's name or
its place, a trigger from what a person forbade by name. Nothing found is the usual answer.
"""

import re
from collections.abc import Iterable

from reverie.text.forbidden_acts import find_act_triggers

MAX_FILES, MAX_TRIGGERS, MAX_TAGS = 8, 4, 6
MAX_TRIGGER_CHARS = 300  # characters; a longer one names nothing that is typed

LANGUAGES = {
    "py": "python",
    "pyi": "python",
    "rs": "rust",
    "ts": "typescript",
    "tsx": "typescript",
    "js": "javascript",
    "jsx": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "go": "go",
    "rb": "ruby",
    "java": "java",
    "kt": "kotlin",
    "kts": "kotlin",
    "swift": "swift",
    "cs": "csharp",
    "cpp": "cpp",
    "cc": "cpp",
    "hpp": "cpp",
    "c": "c",
    "h": "c",
    "php": "php",
    "ex": "elixir",
    "exs": "elixir",
    "sql": "sql",
    "sh": "shell",
    "bash": "shell",
    "tf": "terraform",
    "css": "css",
    "scss": "css",
    "tex": "latex",
    "lua": "lua",
    "dart": "dart",
    "scala": "scala",
    "hs": "haskell",
    "clj": "clojure",
    "r": "r",
    "jl": "julia",
    "vue": "vue",
    "svelte": "svelte",
    "zig": "zig",
}
"""Extension → language tag (B21)."""

OTHER_FILES = (
    "md",
    "txt",
    "json",
    "jsonl",
    "yaml",
    "yml",
    "toml",
    "lock",
    "ini",
    "cfg",
    "conf",
    "env",
    "html",
    "xml",
    "csv",
    "proto",
    "gradle",
    "ipynb",
    "rst",
    "pdf",
    "plist",
    "properties",
)

DOMAINS = {
    "test": "testing",
    "tests": "testing",
    "spec": "testing",
    "specs": "testing",
    "__tests__": "testing",
    "migrations": "database",
    "alembic": "database",
    "workflows": "ci",
    ".github": "ci",
    ".gitlab-ci.yml": "ci",
    "jenkinsfile": "ci",
    "dockerfile": "docker",
    "docker-compose.yml": "docker",
    "docker-compose.yaml": "docker",
    "k8s": "kubernetes",
    "helm": "kubernetes",
    "charts": "kubernetes",
    "terraform": "infrastructure",
    "infra": "infrastructure",
    "deploy": "deployment",
    "docs": "documentation",
    "doc": "documentation",
    "auth": "authentication",
    "billing": "billing",
    "payments": "billing",
    "api": "api",
    "components": "frontend",
    "styles": "frontend",
    "i18n": "translation",
    "locales": "translation",
    "package.json": "packaging",
    "pyproject.toml": "packaging",
    "cargo.toml": "packaging",
    "requirements.txt": "packaging",
}
"""A folder or file in a path → domain tag (B22)."""

COMMAND_BY_VERB = {
    "push": "git push",
    "commit": "git commit",
    "rebase": "git rebase",
    "merge": "git merge",
    "deploy": "deploy",
}
"""What a forbidden act looks like when it is about to be done."""

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
_ENDINGS = frozenset((*LANGUAGES, *OTHER_FILES))


def find_file_names(text: str) -> tuple[str, ...]:
    """The files that a text names, in order (A69)."""
    found = [
        (m.start(), m[0])
        for m in _PATH.finditer(text)
        if m["ending"].lower() in _ENDINGS and is_file_name(m[0])
    ]
    found += [(m.start(), m[0]) for pattern in (_FOLDER, _NAMED) for m in pattern.finditer(text)]
    return tuple(dict.fromkeys(name for _, name in sorted(found)))[:MAX_FILES]


def is_file_name(name: str) -> bool:
    """Whether it is a file: "moment.js", "Vue.js" and "node.js" are names of things."""
    return "/" in name or name.lower() not in (
        "node.js",
        "vue.js",
        "next.js",
        "moment.js",
        "three.js",
        "d3.js",
        "react.js",
        "express.js",
        "nuxt.js",
        "asp.net",
        "chart.js",
        "alpine.js",
    )


def derive_tags(files: Iterable[str]) -> tuple[str, ...]:
    """Language and domain tags that follow from files' names and places (B18–B22)."""
    found: list[str] = []
    for name in files:
        parts = name.lower().strip("/").split("/")
        ending = parts[-1].rpartition(".")[2] if "." in parts[-1] else ""
        found += [LANGUAGES[ending]] if ending in LANGUAGES else []
        found += [DOMAINS[part] for part in parts if part in DOMAINS]
        found += ["testing"] if re.search(r"(?:^|[._-])(?:test|spec)[._-]", parts[-1]) else []
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
_BY_NAME = frozenset(
    (
        "use",
        "using",
        "call",
        "calling",
        "import",
        "importing",
        "install",
        "installing",
        "run",
        "running",
        "enable",
        "no",
        "mock",
    )
)
_VAGUE = frozenset(
    (
        "any",
        "all",
        "the",
        "this",
        "that",
        "these",
        "those",
        "code",
        "tests",
        "test",
        "file",
        "files",
        "it",
        "them",
        "things",
        "stuff",
        "anything",
        "something",
        "again",
        "new",
        "old",
        "real",
        "more",
        "other",
        "secrets",
        "data",
        "changes",
        "change",
        "comments",
        "main",
        "master",
        "prod",
        "production",
        "global",
        "default",
        "raw",
        "hardcoded",
        "magic",
        "inline",
    )
)


def derive_triggers(text: str) -> tuple[str, ...]:
    """What calls a prohibition up when it comes near: the thing it names, where it plainly names
    one (B61).
    """
    if typical := find_act_triggers(text):
        return tuple(dict.fromkeys(one for one in typical if len(one) <= MAX_TRIGGER_CHARS))[
            :MAX_TRIGGERS
        ]
    act = _ACT.match(text)
    if act is None:
        return ()
    verb, rest = (act["verb"] or "").lower(), act["rest"]
    end = _FIRST_CLAUSE.search(rest)
    clause = (
        rest[: end.start()]
        + ("!" if end and end[0].startswith("!") and not end[0].strip("! ") else "")
        if end
        else rest
    )
    found = [m[1] for m in _TICKED.finditer(rest.split(", use")[0].split(" use ")[0])]
    found = found or [m[0] for m in _CODELIKE.finditer(clause)]
    if not found and (verb in _BY_NAME or (not verb and text.lower().startswith("no "))):
        found = find_named_thing(clause)
    if not found and verb in COMMAND_BY_VERB:
        found = [COMMAND_BY_VERB[verb]]
    if not found and (first := clause.split(" ")[0].lower()) in COMMAND_BY_VERB:
        found = [COMMAND_BY_VERB[first]]
    bare = (one.strip(" .,'\"") for one in found)
    return tuple(dict.fromkeys(one for one in bare if 2 < len(one) <= MAX_TRIGGER_CHARS))[
        :MAX_TRIGGERS
    ]


def find_named_thing(clause: str) -> list[str]:
    """One or two words that name a thing, unless they are too common to call anything up."""
    words = clause.strip(" .!'\"").split()
    if not 1 <= len(words) <= 2 or _VAGUE & {word.lower() for word in words}:
        return []
    return [" ".join(words)]
