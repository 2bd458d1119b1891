"""What a command that destroys something is done to, as placeholders.

Such a command is told as what was done once. The container, branch, table or file that it was
done to is the case at hand: somebody else's has another name, and a name invites to repeat it.
What says what was done stays: verbs, options, kinds of things, and names that are the same
everywhere (`HEAD`, `node_modules`).
"""

import re

# Words of commands that say what is done, and to what kind of thing.
_COMMAND_WORDS = """
    docker podman nerdctl compose docker-compose container containers image images volume volumes
    network system builder rm rmi kill down stop prune
    push branch reset clean checkout restore stash drop clear tag worktree remove update-ref commit
    table database schema index user role if exists cascade delete from where truncate
    pod pods deployment deployments service services svc namespace ns secret secrets configmap job
    jobs cronjob nodes pvc pv ingress statefulset daemonset all uninstall destroy state force-unlock
    s3 s3api ec2 rds iam rb sql instances clusters repo release migrate downgrade
    db:drop db:reset db:rollback http.sslverify false find xargs sudo ssh kill pkill
    killall flushall flushdb dropdb
"""
COMMAND_WORDS = frozenset(_COMMAND_WORDS.split())
# Such words only directly behind the program; elsewhere they are names.
FIRST_WORDS = frozenset(("db", "config", "run", "cache", "group"))
_COMMON_NAMES = """
    origin upstream main master trunk node_modules bower_components __pycache__ site-packages .venv
    venv .tox .nox .mypy_cache .pytest_cache .ruff_cache .cache build dist target out .next .nuxt
    .gradle .terraform .git index.lock package-lock.json pnpm-lock.yaml yarn.lock poetry.lock
    uv.lock cargo.lock gemfile.lock composer.lock go.sum .terraform.lock.hcl
"""
COMMON_NAMES = frozenset(_COMMON_NAMES.split())
# Signs without a name of their own; a digit, a mode, a place in a history.
SAME_EVERYWHERE = re.compile(
    r"(?:\W+|HEAD(?:[~^]\d*)*|ORIG_HEAD|stash@\{\d+\}|\*\.\w+|\d|0?[0-7]{3}|\$\W*\w+\W*)\Z",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s;|&]+|[;|&]+")
_OPTION = re.compile(r"\A(?:-+\w[\w.-]*|\w[\w.]*)\Z")
_SWITCHED = frozenset(("0", "1", "no", "yes", "false", "true"))
_PORT = re.compile(r":?(\d{2,5})(/tcp|/udp)?\Z")
_REPEATED = re.compile(r"(<(?:name|path)>)(?: (?:<name>|<path>|=|'?<number>'?))+")


def hide_victims(command: str, error: str = "") -> str:
    """A destroying command with placeholders for what it is done to.

    `error` is what it was run after, in lower case: it tells which number is a port.
    """
    told, end, program, before = "", 0, "", ""
    for match in _TOKEN.finditer(command):
        token = match[0]
        if token[0] in ";|&":
            program = ""
        elif not program:
            is_before = token in ("sudo", "env", "doas", "xargs") or "=" in token
            program = "" if is_before else token
        elif before != program or token not in FIRST_WORDS:
            token = hide_victim(token, program, error)
        before = token
        told += command[end : match.start()] + token
        end = match.end()
    return _REPEATED.sub(r"\1", told + command[end:])


def hide_victim(token: str, program: str, error: str) -> str:
    """One word of a destroying command as it is told."""
    plain = token.strip("\"'")
    if " " in plain:
        is_command = plain.split()[0].lower() in COMMAND_WORDS
        return token.replace(plain, hide_victims(plain, error) if is_command else "<text>")
    option, equals, value = plain.partition("=")
    if equals and _OPTION.match(option):
        return token if value.lower() in _SWITCHED else f"{option}=<name>"
    if plain.startswith("-"):
        return token
    if program in ("kill", "pkill", "killall"):
        return "<process id>" if plain.isdigit() else "<process>"
    victim = name_victim(plain, error)
    # What looks like a path to git is a branch, unless it is a file or a folder.
    is_branch = program == "git" and victim == "<path>" and not plain.startswith((".", "/"))
    is_branch = is_branch and "." not in plain.rpartition("/")[2]
    return "<name>" if is_branch else victim or token


def name_victim(plain: str, error: str) -> str:
    """The placeholder of a name; empty where it is the same everywhere."""
    if port := _PORT.match(plain):
        is_port = port[2] or (plain in error and ("port" in error or "address" in error))
        if is_port:
            return f"<port>{port[2] or ''}"
    scheme, separator, _ = plain.partition("://")
    if separator:
        return f"{scheme}://<name>"
    parts = [part.lower() for part in plain.split("/") if part]
    common = COMMON_NAMES if "/" in plain else COMMON_NAMES | COMMAND_WORDS
    if all(part in common or SAME_EVERYWHERE.match(part) for part in parts):
        return ""
    if plain.isdigit():
        return "<number>"
    return "<path>" if "/" in plain or re.search(r"\w\.[a-z]\w{0,4}\Z", plain) else "<name>"
