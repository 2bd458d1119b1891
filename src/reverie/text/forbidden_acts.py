"""Acts that are often forbidden, and what each looks like when a tool is about to do it.

"Never force-push" names no command, and there are four ways to type it. A row per act: how a
prohibition speaks of it, and the trigger patterns (`core.trigger_patterns`) that match it. Few and
precise: what is not here is called up by what the sentence names.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

TriggerMaker: TypeAlias = Callable[[re.Match[str]], list[str]]


class ForbiddenAct(NamedTuple):
    """An act that is often forbidden, as it is worded and as it is done."""

    wording: re.Pattern[str]  # how a prohibition speaks of it
    triggers: TriggerMaker  # what matches it


def forbidden_act(told: str, triggers: TriggerMaker) -> ForbiddenAct:
    """A row whose wording is matched in any case."""
    return ForbiddenAct(re.compile(told, re.IGNORECASE), triggers)


def edit_triggers(path: str) -> list[str]:
    """Triggers for changing files below a path, by the tools that hosts have for it."""
    return [f"tool:*{tool}*(*{path.strip('/')}/*)" for tool in ("edit", "write", "patch")]


def removal_triggers(match: re.Match[str]) -> list[str]:
    """Triggers for `rm -r`, of the target alone if one is named."""
    flags = r"re:\brm\s+(?:-\w+\s+)*-\w*r"
    named = match["target"] or ""
    if named not in ("/", "~", "*"):
        named = named.rstrip(".,!?/")
    target = re.escape(named)
    if not target:
        return [flags]
    return [rf"{flags}\w*\s+(?:[^\s;&|]+\s+)*(?:[^\s;&|]*/)?{target}(?![\w.-])"]


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
# Programs that a preference may set aside; none whose name is a verb or a colour too.
_PROGRAMS = """
ansible apt apt-get autopep8 aws az brew bun bundle cargo cmake composer conda curl deno docker
docker-compose easy_install eslint flake8 gcloud gem gradle grep hg jest jshint kubectl mamba maven
mocha mvn mypy nano node nodemon nose npm npx pdm pip pip3 pipenv pipx pnpm podman poetry prettier
psql pylint pyright pytest python python2 python3 rake rsync sbt sed ssh svn terraform tofu tox tsc
uv vagrant venv vim virtualenv vitest webpack wget yarn
"""
PROGRAMS = frozenset(_PROGRAMS.split())
# Other ways to run one of them.
PROGRAM_VARIANTS = {
    "pip": ("pip3 *", "python* -m pip*"),
    "pip3": ("pip *", "python* -m pip*"),
    "venv": ("python* -m venv*",),
}
_FORBIDDEN = re.compile(r"\b(?:never|don'?t|do not|must not|not|no|stop|avoid)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"[;—]|,\s*(?:use|but|only|prefer|run)\b|[.!?](?:\s|$)|\b(?:unless|instead|without)\b",
    re.IGNORECASE,
)


def find_act_triggers(text: str) -> list[str]:
    """Triggers for the acts that a text forbids.

    What is named after "use" or "without" is not forbidden.
    """
    clauses = list(find_forbidden_clauses(text))
    triggers = triggers_of_act(FORCE_PUSH, clauses)
    # What stands between backticks says exactly what is meant, so the table does not guess.
    if triggers or "`" in text:
        return triggers
    return [trigger for clause in clauses for trigger in triggers_in_clause(clause)]


def triggers_of_act(act: ForbiddenAct, clauses: Iterable[str]) -> list[str]:
    """The triggers of one act, once for each clause that speaks of it."""
    matches = (act.wording.search(clause) for clause in clauses)
    return [trigger for match in matches if match for trigger in act.triggers(match)]


def triggers_in_clause(clause: str) -> Iterator[str]:
    """The triggers of all acts that a clause speaks of."""
    for act in ACTS:
        yield from triggers_of_act(act, (clause,))


def find_forbidden_clauses(text: str) -> Iterator[str]:
    """What is forbidden: from the word that forbids to where something else begins."""
    start = 0
    while match := _FORBIDDEN.search(text, start):
        end = _CLAUSE_END.search(text, match.end())
        yield text[match.end() : end.start() if end else None]
        start = end.end() if end else len(text)


def find_program_triggers(text: str) -> tuple[str, ...]:
    """Triggers for the programs that a preference sets aside, as in "always use uv, never pip"."""
    names = (match["name"].lower().rstrip(".") for match in _REJECTED_PROGRAM.finditer(text))
    programs = [name for name in dict.fromkeys(names) if name in PROGRAMS]
    commands: list[str] = []
    for name in programs:
        commands += (f"{name} *", *PROGRAM_VARIANTS.get(name, ()))
    return tuple(f"tool:*({command})" for command in commands)
