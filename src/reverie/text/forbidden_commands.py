"""What a prohibition looks like when it is done, exactly enough to stop it: triggers of the forms
`run:`, `file:` and `edit:` (`core.trigger_patterns`).

Acts are told by words of the language files (`acts`); programs, branches, files and flags are
called the same in every language. What is narrower comes first: who forbids a push to main does not
forbid to push. A prohibition of which nothing here speaks is told by `forbidden_acts` and
`forbidden_words`, and stops by what it names.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from reverie.text.forbidden_acts import ACTS, PROGRAMS
from reverie.text.forbidden_words import (
    forbidding_words,
    holds_word,
    languages_of,
    load_acts,
    split_clauses,
)

FORCE_FLAGS = ("--force", "--force-with-lease", "--force-if-includes")
PUBLISH = (
    "npm publish|pnpm publish|yarn publish|yarn npm publish|bun publish|twine upload|"
    "poetry publish|uv publish|flit publish|hatch publish|cargo publish|gem push|mvn deploy|"
    "dotnet nuget push|goreleaser release|semantic-release"
)
DEPLOY = (
    "fly deploy|flyctl deploy|vercel|netlify deploy|firebase deploy|gcloud * deploy|sls deploy|"
    "serverless deploy|cdk deploy|sam deploy|eb deploy|wrangler deploy|docker stack deploy|"
    "kubectl apply|kubectl rollout|helm upgrade|helm install|terraform apply|git push heroku",
    "ansible-playbook|cap * deploy|make *deploy*|just *deploy*|npm run *deploy*|yarn *deploy*|"
    "pnpm *deploy*|*deploy*.sh|deploy",
)
INSTALL = (
    "npm install *|pnpm add|yarn add|bun add|pip install|uv add|uv pip install|poetry add|"
    "cargo add|go get|gem install|brew install|apt install|apt-get install"
)
INSTALL_GLOBALLY = (
    "npm install --global|pnpm add --global|pnpm install --global|yarn global add|bun add -g|"
    "brew install|pipx install|uv tool install"
)
SKIP_HOOKS = "git commit --no-verify|git push --no-verify|git merge --no-verify"
MERGE_REQUEST = "gh pr merge|glab mr merge|hub merge"
# What deleting runs, by the word for what is deleted.
DELETIONS = {
    "volume": "docker volume rm|docker volume prune|docker compose down --volumes|"
    "docker-compose down --volumes|docker system prune --volumes",
    "bucket": "aws s3 rb|aws s3api delete-bucket|gsutil rb|gcloud storage buckets delete",
    "namespace": "kubectl delete namespace|kubectl delete ns|kubectl delete namespaces",
    "branch": "git branch --delete|git push --delete",
}
# Verbs behind a program that make a command of what a sentence says.
_VERBS = """
add amend apply bisect build checkout clean clone commit compose config create delete deploy destroy
down drop exec fetch gc import init install kill login merge migrate mv pr prune publish pull push
rebase reflog release reset restart restore revert rm rmi rollback rollout run scale secrets stash
state stop submodule switch sync system tag taint test uninstall untaint up update upgrade volume
workspace drain cordon issue repo clear remove audit fix image container network s3 ec2 rds
"""
VERBS = frozenset(_VERBS.split())
# Beside PROGRAMS, what is only a program where a verb or flags follow, or where nothing else does.
COMMANDS = PROGRAMS | frozenset(("git", "gh", "rm", "sudo", "doas", "chmod", "chown", "kill", "dd"))
NEEDS_MORE = frozenset(("git", "gh", "rm", "kill", "dd", "chmod", "chown"))
# Beside spaces, letters of scripts without spaces end a word.
_TOKEN = re.compile(r"[!-~]+")
_FLAG = re.compile(r"-{1,2}[\w-]+")
_BRANCH = re.compile(
    r"(?<![\w/-])(?:origin/)?(main|master|develop|trunk|staging|production|release/[\w.*-]+)"
    r"(?![\w/-])",
    re.ASCII,  # a letter of a script without spaces ends a name
)
_PATH = re.compile(r"(?<![\w/.-])((?:[\w@.-]+/)+(?:[\w@*.-]*[\w*])?|\.env(?:\.\w+)?)(?![\w/])")
_FILE = re.compile(
    r"(?<![\w/.-])([\w@-][\w@.-]*\.[a-z]{1,5}|Dockerfile|Makefile|Jenkinsfile)(?!\w)"
)
_TICKED = re.compile(r"`([^`\n]{2,60})`")
_LEASE = re.compile(r"force[- ]with[- ]lease|with-lease", re.IGNORECASE)
# English says what to do instead in the same clause.
_INSTEAD = re.compile(
    r"\b(?:but|use|unless|instead|without|rather|only|except|sondern|mais|sino|ma|mas)\b",
    re.IGNORECASE,
)
# What is fetched and run unseen: the next command is a shell that reads what comes.
_PIPED = re.compile(
    r"\b(?:curl|wget)\b.{0,80}?(?:\||\bpip(?:e|ing|en)\b).{0,80}?\b(?:ba|z|da)?sh\b", re.I
)
_PIPING = re.compile(
    r"\bpip(?:e|es|ing|en)\b.{0,40}?\b(?:curl|wget)\b.{0,80}?\b(?:ba|z|da)?sh\b", re.I
)
PIPED_SHELL = (
    r"re:\b(?:curl|wget)\b[^\n]*\n+(?:sudo\s+(?:-\S+\s+)*)?(?:ba|z|da)?sh(?:\s+-\S*)*\s*(?:\n|$)"
)
# Forms of a command that say the same.
ADD_ALL = "git add .|git add --all"
_ALL = frozenset((".", "-A", "--all", "all", "everything"))
_GIVEN = re.compile(r"[\"']?([A-Z]{2,}|(?<=[\"'])[\w.-]+)")  # to a flag, and meant to the letter
ENV_FILES = ("file:.env", "file:.env.local", "file:.env.production")


def find_exact_triggers(text: str) -> list[str]:
    """Triggers of the exact forms for what a text forbids; empty where none is known."""
    found: list[str] = []
    for clause in forbidden_clauses(text):
        found += clause_triggers(clause, text)
    # "Never rewrite what was pushed: no force pushes" forbids no other push.
    broad = {one for one in found if any(other.startswith(f"{one} -") for other in found)}
    return [one for one in dict.fromkeys(found) if one not in broad]


def forbidden_clauses(text: str) -> Iterator[str]:
    """The clauses in which something is forbidden, without what is to be done instead."""
    codes = languages_of(text)
    for clause in split_clauses(text):
        lower = clause.lower().replace("’", "'")
        if not any(
            holds_word(lower, (*forbidding_words(code), *load_acts(code).get("forbid", ())))
            for code in codes
        ):
            continue
        # Not at the beginning: "only I merge", "without asking".
        ends = [match.start() for match in _INSTEAD.finditer(clause)]
        said = [end for end in ends if end > 0 and speaks_of_act(clause[:end])]
        yield clause[: said[0]] if said else clause


def speaks_of_act(start: str) -> bool:
    """True if something that can be done is named already."""
    return any(find_commands(start)) or any(make_triggers(start, start))


def clause_triggers(clause: str, text: str) -> list[str]:
    """The triggers of one clause: of commands that it spells out, else of acts that it names."""
    if _PIPED.search(clause) or _PIPING.search(clause):
        return [PIPED_SHELL]
    if ticked := [match[1].strip() for match in _TICKED.finditer(clause)]:
        commands = [one for typed in ticked for one in find_commands(typed, whole=True)]
        if commands:
            return [f"run:{one}" for one in commands]
        return list(path_triggers(clause.replace("`", " "), lambda act: names_act(clause, act)))
    spelled = [f"run:{one}" for one in find_commands(clause)]
    # "git push --force" is an act that has more than one spelling.
    acts = [one for one in make_triggers(clause, text) if one]
    programs = {one.removeprefix("run:").split()[0] for one in spelled}
    named = [name_programs(one, programs) for one in acts]
    # With flags or words of its own it is narrower than the act: `npm install --force`.
    ways = [way.removesuffix(" *") for one in named for way in one.removeprefix("run:").split("|")]
    narrower = [
        one
        for one in spelled
        if any(one.startswith(f"run:{way} ") for way in ways)
        and not any(one.split("|")[0] == f"run:{way}" for way in ways)
    ]
    return narrower or named or spelled


def name_programs(act: str, programs: Collection[str]) -> str:
    """The trigger of an act, of these programs alone if it has a spelling of theirs.

    Who forbids `pip install` does not forbid `brew install`.
    """
    ways = act.removeprefix("run:").split("|")
    named = [one for one in ways if one.split()[0] in programs]
    return f"run:{'|'.join(named)}" if act.startswith("run:") and named else act


def find_commands(clause: str, *, whole: bool = False) -> Iterator[str]:
    """The commands that a clause spells out: a program, its verbs, its flags, and what is given
    with them where that is plain. With `whole` the clause is a command.
    """
    tokens = _TOKEN.findall(clause)
    words = [word.rstrip(".,!?:;)\"'”»") or word[:1] for word in tokens]
    if whole:
        if words and words[0] in COMMANDS:
            yield spell_command(clause.split())
        return
    for place, program in enumerate(words):
        if program not in COMMANDS:
            continue
        taken = [program]
        for number, word in enumerate(words[place + 1 :], place + 1):
            if taken == ["git", "add"] and word in _ALL:
                taken.append(word)
            elif taken[-1].startswith("-") and (given := _GIVEN.match(tokens[number])):
                taken.append(given[1])
            elif _FLAG.fullmatch(word) or word in VERBS:
                taken.append(word)
            else:
                break
        if taken[1:] or program not in NEEDS_MORE:
            yield spell_command(taken)


def spell_command(words: Sequence[str]) -> str:
    """A command as a trigger has it: what is given to a flag may go on."""
    if words[:2] == ["git", "add"] and not _ALL.isdisjoint(words[2:]):
        return ADD_ALL
    if words[:2] == ["git", "commit"] and "-m" in words:
        said = [word.strip("\"'").lower() for word in words[2:] if not word.startswith("-")]
        # "wip" and "wip: more", not "wiped"
        if said:
            return f"git commit * {said[0]}|git commit * {said[0]}[!a-z]*"
    return " ".join(words)


def names_act(clause: str, act: str) -> bool:
    """True if a word for an act, or for what it is done to, stands in a clause."""
    lower = clause.lower()
    return any(
        holds_word(lower, load_acts(code).get(act, ()), inside=act == "hook")
        for code in languages_of(clause)
    )


def make_triggers(clause: str, text: str) -> Iterator[str]:
    """The triggers of the acts that a clause names in any of its languages."""
    lower = clause.lower()

    def names(act: str) -> bool:
        return names_act(clause, act)

    branches = [f"@{match[1].lower()}" for match in _BRANCH.finditer(clause)]
    for rule in (push_triggers, history_triggers, release_triggers, delete_triggers):
        if found := list(rule(lower, names, branches, text)):
            yield from found
            return
    yield from path_triggers(clause, names)


Names = Callable[[str], bool]


def push_triggers(lower: str, names: Names, branches: Iterable[str], text: str) -> Iterator[str]:
    """Pushing: by force, to a branch, past the hooks, or at all."""
    if (names("hook") and names("skip")) or "--no-verify" in lower:
        yield f"run:{SKIP_HOOKS}"
    elif names("push") and (names("force") or re.search(r"\s-f\b|--force", lower)):
        flags = FORCE_FLAGS[:1] if _LEASE.search(text) else FORCE_FLAGS
        yield "run:" + "|".join(f"git push {flag}" for flag in flags)
    elif names("push"):
        yield "run:" + "|".join(f"git push {one}".strip() for one in (list(branches) or [""]))


def history_triggers(
    lower: str, names: Names, branches: Iterable[str], _text: str
) -> Iterator[str]:
    """Merging, committing, rebasing, amending."""
    on = list(branches) or [""]
    if names("amend"):
        yield "run:git commit --amend"
    elif names("merge") and (names("request") or re.search(r"\b(?:prs?|mrs?)\b", lower)):
        yield f"run:{MERGE_REQUEST}"
    elif names("merge"):
        yield "run:" + "|".join((*(f"git merge {one}".strip() for one in on), MERGE_REQUEST))
    elif names("rebase"):
        yield "run:" + "|".join(f"git rebase {one}".strip() for one in on)
    elif names("commit"):
        files = [match[1] for match in (*_PATH.finditer(lower), *_FILE.finditer(lower))]
        if files:
            yield from (f"run:git add * {one}|git commit * {one}" for one in files)
        else:
            yield "run:" + "|".join(f"git commit {one}".strip() for one in on)


def release_triggers(
    _lower: str, names: Names, _branches: Iterable[str], _text: str
) -> Iterator[str]:
    """Publishing, deploying, installing."""
    if names("publish"):
        yield f"run:{PUBLISH}"
    elif names("deploy"):
        yield from (f"run:{one}" for one in DEPLOY)
    elif names("install"):
        yield f"run:{INSTALL_GLOBALLY if names('global') else INSTALL}"


def delete_triggers(
    lower: str, names: Names, _branches: Iterable[str], _text: str
) -> Iterator[str]:
    """Deleting what a command deletes; a file or a folder by `rm`."""
    if said := ACTS[0].wording.search(lower):
        target = (said["target"] or "").rstrip(".,!?")
        flags = "-r -f" if "f" in said[0].split()[1] else "-r"
        one = target if target in ("", "/", "~", "*") else f"*{target.rstrip('/')}"
        yield f"run:rm * {one} {flags}" if one else f"run:rm {flags}"
    elif names("delete"):
        for thing, commands in DELETIONS.items():
            if names(thing):
                yield f"run:{commands}"


def path_triggers(clause: str, names: Names) -> Iterator[str]:
    """Files and folders that are not to be read, changed or deleted."""
    paths = [match[1] for match in _PATH.finditer(clause)]
    paths += [match[1] for match in _FILE.finditer(clause) if match[1] not in paths]
    for path in paths:
        if path == ".env":
            if names("read") or names("edit"):
                yield from ENV_FILES
        elif names("read"):
            yield f"file:{path}"
        elif names("edit") or names("delete"):
            yield f"edit:{path}"
            if names("delete"):
                yield f"run:rm * *{path.rstrip('/')}*|git rm * *{path.rstrip('/')}*"
