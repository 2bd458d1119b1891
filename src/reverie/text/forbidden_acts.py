"""Acts that are often forbidden, and what each looks like when a tool is about to do it.

"Never force-push" names no command, and there are four ways to type it. A row per act: how a
prohibition speaks of it, and the trigger patterns (see `reverie.patterns`) that meet it. Few and
precise: what is not here is called up by what the sentence names.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class ForbiddenAct(NamedTuple):
    """Something that is often forbidden."""

    wording: re.Pattern[str]  # how a prohibition names it
    triggers: Callable[[re.Match[str]], list[str]]  # what meets it


def forbidden_act(told: str, triggers: Callable[[re.Match[str]], list[str]]) -> ForbiddenAct:
    """A row, in any case."""
    return ForbiddenAct(re.compile(told, re.IGNORECASE), triggers)


def edit_triggers(path: str) -> list[str]:
    """Files under a path are about to be changed: the tools that hosts have for it."""
    return [f"tool:*{tool}*(*{path.strip('/')}/*)" for tool in ("edit", "write", "patch")]


def removal_triggers(match: re.Match[str]) -> list[str]:
    """`rm -rf`, with what must stay if that is named."""
    flags = r"re:\brm\s+(?:-\w+\s+)*-\w*r"
    target = re.escape((match["target"] or "").rstrip(".,!?/"))
    if match["target"] in ("/", "~", "*"):
        target = re.escape(match["target"])
    return (
        [rf"{flags}\w*\s+(?:[^\s;&|]+\s+)*(?:[^\s;&|]*/)?{target}(?![\w.-])"] if target else [flags]
    )


FORCE_PUSH_TRIGGERS = ["tool:*(git push*--force*)", "tool:*(git push* +*)", r"re:\bforce[- ]push"]
_HERE = (
    r"(?!(?:here|in|on|at|to|from|for|with|anything|anywhere|ever|again|and|or|as|the|any|this"
    r"|these|outside)\b)"
)

FORCE_PUSH = forbidden_act(
    r"\bforce[- ]?push|\bpush(?:ing)?\b[^;.]{0,40}?\s(?:--force|-f)\b",
    lambda _: FORCE_PUSH_TRIGGERS,
)
ACTS = (
    forbidden_act(
        rf"\brm\s+(?:-\w+\s+)*-\w*r\w*(?:\s+{_HERE}(?P<target>[\w./~*-]+))?", removal_triggers
    ),
    forbidden_act(
        r"\b(terraform|tofu|kubectl|helm|git)\s+(destroy|apply|delete|uninstall|reset|rebase|clean"
        r"|stash)\b",
        lambda found: [
            f"tool:*({found[1]}* {found[2]}*)".lower(),
            f"{found[1]} {found[2]}".lower(),
        ],
    ),
    forbidden_act(
        r"(?<![\w/])\.env(?!\w)",
        lambda _: [r"re:(?<![\w.])\.env(?!\w|\.(?:example|sample|template))"],
    ),
    forbidden_act(
        r"\bmigrations?\b.{0,60}?\b(?:by hand|manually)\b|"
        r"\b(?:hand-?|manually )(?:writ|edit)\w*\b.{0,60}?\bmigrations?\b",
        lambda _: edit_triggers("migrations"),
    ),
    forbidden_act(r"--no-verify\b", lambda _: ["--no-verify", "tool:*(git commit -n*)"]),
    forbidden_act(
        r"\b(?:edit|touch|modify|change|write|alter|overwrite)\w*\b.{0,60}?\b(?:under|in|inside"
        r"|below|within)\s+[`'\"]?"
        r"(?P<path>[\w.@-]+(?:/[\w.@-]+)*/[\w@-]*)",
        lambda found: edit_triggers(found["path"]),
    ),
)
_REJECTED_PROGRAM = re.compile(
    r"\b(?:never|not|instead of|rather than|don'?t|do not|over|no longer)\s+(?:ever\s+)?"
    r"(?:use|using|run|install with)?\s*[`'\"]?(?P<name>[a-z][\w.+-]*)(?!\w)",
    re.IGNORECASE,
)
_PROGRAMS = """
ansible apt apt-get autopep8 aws az brew bun bundle cargo cmake composer conda curl deno docker
docker-compose easy_install eslint flake8 gcloud gem gradle grep hg jest jshint kubectl mamba maven
mocha mvn mypy nano node nodemon nose npm npx pdm pip pip3 pipenv pipx pnpm podman poetry prettier
psql pylint pyright pytest python python2 python3 rake rsync sbt sed ssh svn terraform tofu tox tsc
uv vagrant venv vim virtualenv vitest webpack wget yarn
"""
PROGRAMS = frozenset(_PROGRAMS.split())
PROGRAM_VARIANTS = {
    "pip": ("pip3 *", "python* -m pip*"),
    "pip3": ("pip *", "python* -m pip*"),
    "venv": ("python* -m venv*",),
}
"""Programs that a preference may set aside, and other ways to type them; none that is a verb or a
colour too.
"""
_FORBIDDEN = re.compile(r"\b(?:never|don'?t|do not|must not|not|no|stop|avoid)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"[;—]|,\s*(?:use|but|only|prefer|run)\b|[.!?](?:\s|$)|\b(?:unless|instead|without)\b",
    re.IGNORECASE,
)


def find_act_triggers(text: str) -> list[str]:
    """What meets the acts that a text forbids; what is named after "use" or "without" is not
    forbidden.
    """
    forbidden = list(find_forbidden_clauses(text))
    found = [
        meets
        for clause in forbidden
        if (told := FORCE_PUSH.wording.search(clause))
        for meets in FORCE_PUSH.triggers(told)
    ]
    if found or "`" in text:  # what stands between ticks says it exactly
        return found
    return [
        meets
        for clause in forbidden
        for row in ACTS
        if (told := row.wording.search(clause))
        for meets in row.triggers(told)
    ]


def find_forbidden_clauses(text: str) -> Iterator[str]:
    """What is forbidden: from the word that forbids to where something else begins."""
    place = 0
    while match := _FORBIDDEN.search(text, place):
        end = _CLAUSE_END.search(text, match.end())
        place = end.end() if end else len(text)
        yield text[match.end() : end.start() if end else None]


def find_program_triggers(text: str) -> tuple[str, ...]:
    """What meets the programs that a preference sets aside: "always use uv, never pip" when pip is
    about to run.
    """
    names = dict.fromkeys(
        match["name"].lower().rstrip(".") for match in _REJECTED_PROGRAM.finditer(text)
    )
    return tuple(
        f"tool:*({command})"
        for name in names
        if name in PROGRAMS
        for command in (f"{name} *", *PROGRAM_VARIANTS.get(name, ()))
    )
