"""Acts that are often forbidden, and what each looks like when a tool is about to do it.

"Never force-push" names no command, and there are four ways to type it. A row per act: how a
prohibition speaks of it, and the trigger patterns (see `reverie.patterns`) that meet it. Few and
precise: what is not here is called up by what the sentence names.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Act(NamedTuple):
    """Something that is often forbidden."""

    told: re.Pattern[str]  # how a prohibition names it
    triggers: Callable[[re.Match[str]], list[str]]  # what meets it


def act(told: str, triggers: Callable[[re.Match[str]], list[str]]) -> Act:
    """A row, in any case."""
    return Act(re.compile(told, re.IGNORECASE), triggers)


def edited(path: str) -> list[str]:
    """Files under a path are about to be changed: the tools that hosts have for it."""
    return [f"tool:*{tool}*(*{path.strip('/')}/*)" for tool in ("edit", "write", "patch")]


def removed(match: re.Match[str]) -> list[str]:
    """`rm -rf`, with what must stay if that is named."""
    flags = r"re:\brm\s+(?:-\w+\s+)*-\w*r"
    target = re.escape((match["target"] or "").rstrip(".,!?/"))
    if match["target"] in ("/", "~", "*"):
        target = re.escape(match["target"])
    return (
        [rf"{flags}\w*\s+(?:[^\s;&|]+\s+)*(?:[^\s;&|]*/)?{target}(?![\w.-])"] if target else [flags]
    )


PUSHED = ["tool:*(git push*--force*)", "tool:*(git push* +*)", r"re:\bforce[- ]push"]
_HERE = r"(?!(?:here|in|on|at|to|from|for|with|anything|anywhere|ever|again|and|or|as|the|any|this|these|outside)\b)"

FORCED = act(r"\bforce[- ]?push|\bpush(?:ing)?\b[^;.]{0,40}?\s(?:--force|-f)\b", lambda _: PUSHED)
ACTS = (
    act(rf"\brm\s+(?:-\w+\s+)*-\w*r\w*(?:\s+{_HERE}(?P<target>[\w./~*-]+))?", removed),
    act(
        r"\b(terraform|tofu|kubectl|helm|git)\s+(destroy|apply|delete|uninstall|reset|rebase|clean|stash)\b",
        lambda found: [
            f"tool:*({found[1]}* {found[2]}*)".lower(),
            f"{found[1]} {found[2]}".lower(),
        ],
    ),
    act(
        r"(?<![\w/])\.env(?!\w)",
        lambda _: [r"re:(?<![\w.])\.env(?!\w|\.(?:example|sample|template))"],
    ),
    act(
        r"\bmigrations?\b.{0,60}?\b(?:by hand|manually)\b|"
        r"\b(?:hand-?|manually )(?:writ|edit)\w*\b.{0,60}?\bmigrations?\b",
        lambda _: edited("migrations"),
    ),
    act(r"--no-verify\b", lambda _: ["--no-verify", "tool:*(git commit -n*)"]),
    act(
        r"\b(?:edit|touch|modify|change|write|alter|overwrite)\w*\b.{0,60}?\b(?:under|in|inside|below|within)\s+[`'\"]?"
        r"(?P<path>[\w.@-]+(?:/[\w.@-]+)*/[\w@-]*)",
        lambda found: edited(found["path"]),
    ),
)
_SPURNED = re.compile(
    r"\b(?:never|not|instead of|rather than|don'?t|do not|over|no longer)\s+(?:ever\s+)?"
    r"(?:use|using|run|install with)?\s*[`'\"]?(?P<name>[a-z][\w.+-]*)(?!\w)",
    re.IGNORECASE,
)
_PROGRAMS = """
ansible apt apt-get autopep8 aws az brew bun bundle cargo cmake composer conda curl deno docker docker-compose
easy_install eslint flake8 gcloud gem gradle grep hg jest jshint kubectl mamba maven mocha mvn mypy nano node
nodemon nose npm npx pdm pip pip3 pipenv pipx pnpm podman poetry prettier psql pylint pyright pytest python python2
python3 rake rsync sbt sed ssh svn terraform tofu tox tsc uv vagrant venv vim virtualenv vitest webpack wget yarn
"""
PROGRAMS = frozenset(_PROGRAMS.split())
BESIDE = {
    "pip": ("pip3 *", "python* -m pip*"),
    "pip3": ("pip *", "python* -m pip*"),
    "venv": ("python* -m venv*",),
}
"""Programs that a preference may set aside, and other ways to type them; none that is a verb or a
colour too.
"""
_FORBIDDEN = re.compile(r"\b(?:never|don'?t|do not|must not|not|no|stop|avoid)\b", re.IGNORECASE)
_ENDS = re.compile(
    r"[;—]|,\s*(?:use|but|only|prefer|run)\b|[.!?](?:\s|$)|\b(?:unless|instead|without)\b",
    re.IGNORECASE,
)


def acts_in(text: str) -> list[str]:
    """What meets the acts that a text forbids; what is named after "use" or "without" is not
    forbidden.
    """
    forbidden = list(clauses(text))
    found = [
        meets
        for clause in forbidden
        if (told := FORCED.told.search(clause))
        for meets in FORCED.triggers(told)
    ]
    if found or "`" in text:  # what stands between ticks says it exactly
        return found
    return [
        meets
        for clause in forbidden
        for row in ACTS
        if (told := row.told.search(clause))
        for meets in row.triggers(told)
    ]


def clauses(text: str) -> Iterator[str]:
    """What is forbidden: from the word that forbids to where something else begins."""
    place = 0
    while match := _FORBIDDEN.search(text, place):
        end = _ENDS.search(text, match.end())
        place = end.end() if end else len(text)
        yield text[match.end() : end.start() if end else None]


def spurned_in(text: str) -> tuple[str, ...]:
    """What meets the programs that a preference sets aside: "always use uv, never pip" when pip is
    about to run.
    """
    names = dict.fromkeys(match["name"].lower().rstrip(".") for match in _SPURNED.finditer(text))
    return tuple(
        f"tool:*({command})"
        for name in names
        if name in PROGRAMS
        for command in (f"{name} *", *BESIDE.get(name, ()))
    )
