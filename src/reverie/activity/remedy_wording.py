"""How a remedy is told: what was wrong in the agent's own words, what was changed in a line, and
commands with what varies from case to case named as placeholders.

What only looks is no mending. What destroys something is told as what was done, never as advice:
it fitted the case at hand, and nobody knows whether it fits the next one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from reverie.activity.destroyed_names import hide_victims
from reverie.activity.failure_signature import compute_failure_signature
from reverie.core.shell_commands import split_commands
from reverie.text.learned_phrases import HEDGES, INTENDS, fits_section, is_conclusion
from reverie.text.own_sentences import split_sentences
from reverie.text.text_signals import find_file_names
from reverie.text.tokenization import shorten_line, tokenize_query

# Characters of the agent's explanation, and of either side of a change.
MAX_CAUSE_CHARS, MAX_CHANGE_CHARS = 240, 80
MIN_CAUSE_WORDS = 4
# Words of the error and of what was done that a sentence has which was said afterwards.
MIN_SHARED_TERMS = 2

BEFORE_COMMAND = re.compile(
    r"^(?:(?:sudo|doas|env|time|nohup|exec|command)(?:\s+-\S+)*\s+|[A-Za-z_]\w*=\S*\s+|"
    r"(?:timeout|nice)(?:\s+-\S+)*\s+\S+\s+)+"
)
# Programs that only look, and words behind a program that do.
_LOOKING_PROGRAMS = """
    ls cat head tail less more grep egrep rg ag find fd pwd cd echo which whereis wc diff cmp file
    stat tree printenv ps pgrep top htop df du free uptime lsblk lscpu lsmod dmesg nvidia-smi man
    type whoami id groups date jq awk sleep true open code ss netstat lsof ip ifconfig ping dig
    nslookup host traceroute journalctl uname hostname history locate ldd nm objdump strings md5sum
    sha256sum readlink realpath basename dirname vmstat iostat w who last apt-cache test [
"""
LOOKING_PROGRAMS = frozenset(_LOOKING_PROGRAMS.split())
_LOOKING_WORDS = """
    status list ls show get describe logs log inspect info version view search top ps stats images
    history blame diff rev-parse ls-files ls-remote reflog show-ref whoami explain
    is-active is-enabled list-units cat freeze outdated why doctor help
"""
LOOKING_WORDS = frozenset(_LOOKING_WORDS.split())
WRITES_FILE = re.compile(r"(?<![\d&])>>?\s*(?!/dev/null|[&>])\S")
FINDS_TO_ACT = re.compile(
    r"(?:\S*/)?(?:find|fd)\s.*\s-(?:delete|(?:exec|execdir|ok|x|X)\s+(?:rm|mv|ch\w+|sed|touch))\b"
)
LOOKING_START = ("describe-", "list-", "get-")
# Words of the same commands that change something after all.
_CHANGING_WORDS = "add set set-url rm remove delete install update upgrade start"
CHANGING_WORDS = frozenset(_CHANGING_WORDS.split())
LOOKING_FLAGS = re.compile(r"(?:^|\s)(?:--version|--help|--dry-run|-V|--list|--get)(?:\s|$)")
_LOOKING_FORMS = re.compile(
    r"^(?:git remote(?: -v| --verbose| show\b.*)?$|git branch(?: -[avlr]+| --list.*)?$|"
    r"git (?:stash list|tag(?: -l.*)?$|config --?(?:get|l)\b)|"
    r"sed -n\b|ssh -T\b|ssh-add -[lL]\b|crontab -l\b|mount$|dpkg -[lLsS]\b|rpm -q|fuser (?!.*-k)|"
    r"psql .*-c ['\"]?\s*(?:select|\\d)|sqlite3 \S+ ['\"]?\s*(?:select|\.)|"
    r"curl (?!.*(?:\s-[XdoOFT]\b|--data|--output|--request|\|\s*(?:sudo )?(?:ba)?sh))|nc -z)",
    re.IGNORECASE,
)
DESTROYING = re.compile(
    r"\b(?:rm|rmdir|shred|unlink)\s|\bkill(?:all)?\b|\bpkill\b|\bfuser\b.*-k|\bgit\s+push\b.*(?:\s-f\b|--force|\s\+)|"
    r"\bgit\s+(?:reset\s+--hard|clean\b|checkout\s+(?:--\s|\.)|restore\b|stash\s+(?:drop|clear)|branch\s+-D)|"
    r"\b(?:drop|truncate)\s+(?:table|database|schema|index|user|role)\b|\bdelete\s+from\b|\bdropdb\b|"
    r"\b(?:docker|podman)\b.*\b(?:rm|rmi|prune|kill|down\b.*\s-v)\b|\bkubectl\s+delete\b|\bhelm\s+uninstall\b|"
    r"\b(?:terraform|tofu)\s+(?:destroy|state\s+rm)\b|\bdd\s.*\bof=|\bmkfs|--no-verify\b|"
    r"\bdb:(?:drop|reset)\b|\bmigrate\s+reset\b|\bflush(?:all|db)\b|"
    r"\baws\b.*\b(?:delete-|rb\b|rm\b)|\bchmod\s+(?:-R\s+)?777\b|"
    r"\bfind\s.*\s-delete\b|\brsync\s.*\s--delete|\btruncate\s+-|\b(?:gcloud|az|gh)\s.*\bdelete\b|"
    r"\b(?:alembic|flask\s+db)\s+downgrade\b|\bdb:rollback\b|\bforce-unlock\b|\bgit\s+update-ref\s+-d\b|"
    r"\bgit\s+worktree\s+remove\b.*(?:\s-f|--force)|\bsslverify[\s=]+(?:false|0)\b|"
    r"\bStrictHostKeyChecking=no\b|\bTLS_REJECT_UNAUTHORIZED=0|\bsetenforce\s+0\b",
    re.IGNORECASE,
)
# What runs a project's own tasks, so that the same words do something else in another project.
PROJECT_RUNNERS = re.compile(
    r"^(?:make|just|task|rake|ninja|cmake|gradle\w*|mvn|ant|tox|nox|docker[- ]compose|docker build|"
    r"(?:npm|pnpm|yarn|bun)\s+(?:run|exec|test|start|-r|build)|(?:cargo|go)\s+(?:run|build|test|generate)|"
    r"(?:python3?|node|ruby|perl|bash|sh|php|java|deno)\s+(?!-m\s+(?:pip|venv|ensurepip)\b)|"
    r"touch|mkdir|cp|mv|ln|export|source)\b|(?:^|\s)\.{1,2}(?:/|\s|$)|\s-[er]\s"
)
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
_PERSONAL_PATH = re.compile(r"(?:/(?:home|Users|root|tmp|private|var/folders|srv|work)/)\S*")
_LONG_ID = re.compile(r"(?=[0-9a-f]*\d)[0-9a-f]{10,64}\Z|[0-9a-f]{8}-[0-9a-f-]{27}\Z")


def only_looks(command: str) -> bool:
    """True if all parts of a command only look at something: it fixes nothing."""
    parts = [part for part in split_commands(command) if part.strip()]
    return bool(parts) and all(map(looks, parts))


def looks(part: str) -> bool:
    """True if one simple command only looks."""
    plain = BEFORE_COMMAND.sub("", part.strip())
    if WRITES_FILE.search(plain) or FINDS_TO_ACT.match(plain):
        return False
    words = [word for word in plain.split() if not word.startswith("-")][:4]
    if not words or _LOOKING_FORMS.match(plain) or LOOKING_FLAGS.search(plain):
        return True
    return looks_by_words(words[0].rpartition("/")[2], words)


def looks_by_words(program: str, words: Sequence[str]) -> bool:
    """True if the words of a command, without its options, say that it only looks."""
    if program in LOOKING_PROGRAMS:
        return True
    if program in ("env", "service"):
        return len(words) == 1 or words[-1] == "status"
    # `go get` and `npm version patch` change something.
    verbs = words[1:3] if program not in ("python", "python3", "node", "make", "npx", "go") else []
    if any(verb in CHANGING_WORDS for verb in verbs) or ("version" in verbs[:1] and words[2:]):
        return False
    return any(verb in LOOKING_WORDS or verb.startswith(LOOKING_START) for verb in verbs)


def destroys(command: str) -> bool:
    """True if a command does away with something, or gets around what guards it."""
    return DESTROYING.search(command) is not None


def generalize_command(command: str, error: str) -> str:
    """A command with placeholders for what varies from case to case.

    That is what the error told too and its signature leaves out (a path, a number, an address),
    ids, and files in somebody's own folders. What the signature names stays: it is the same each
    time. Where something is destroyed, everything that it is done to is left open.
    """
    told = error.lower()
    if destroys(command):
        return hide_victims(command, told)
    key = compute_failure_signature(error).key
    program = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal program
        token = match[0]
        plain = token.strip("'\"")
        if not program:
            program = "" if token in ("sudo", "env", "doas") or "=" in token else plain
            return token
        return name_variable(plain, told, key) or token

    return _TOKEN.sub(replace, command)


def hide_personal_paths(text: str) -> str:
    """A text without the folders of the one who met it."""
    return re.sub(
        r"(?:/(?:home|Users|root|tmp|private|srv|work)/)(?:[\w.@+-]+/)*(?=[\w.@+-])",
        "<path>/",
        text,
    )


def name_variable(token: str, told: str, key: str) -> str:
    """The placeholder for a part of a command that varies; empty where it stays."""
    lower = token.lower()
    if _LONG_ID.match(token):
        return "<id>"
    bare = lower.lstrip(":").partition("/tcp")[0]
    if bare.isdigit() and (bare != lower or (len(bare) > 1 and re.search(rf"\b{bare}\b", told))):
        return token.replace(bare, "<port>" if "port" in told or "address" in told else "<number>")
    if "/" in token and (
        _PERSONAL_PATH.match(token) or (lower in told and lower not in key and "://" not in lower)
    ):
        name = token.rstrip("/").rpartition("/")[2]
        return f"<path>/{name}" if "." in name else "<path>"
    return ""


def describe_change(old: str, new: str) -> str:
    """What an edit changed, in a line; empty where that cannot be told in one."""
    olds, news = old.splitlines(), new.splitlines()
    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if not changed:
        return ""
    _, first, last, start, end = changed[0]
    before, after = (
        " ".join(" ".join(lines).split()) for lines in (olds[first:last], news[start:end])
    )
    before, after = (shorten_line(text, MAX_CHANGE_CHARS) for text in (before, after))
    more = f" and {len(changed) - 1} more places" if len(changed) > 1 else ""
    if before and after:
        return f"`{before}` became `{after}`{more}"
    return f"added `{after}`{more}" if after else f"removed `{before}`{more}"


def describe_patch(patch: str) -> Iterator[tuple[str, str]]:
    """(file, what changed in it) of a patch in the form of Codex."""
    path, old, new = "", list[str](), list[str]()
    for line in [*patch.splitlines(), "*** Update File: "]:
        if line.startswith(("*** Update File: ", "*** Add File: ")):
            if path:
                yield path, describe_change("\n".join(old), "\n".join(new))
            path, old, new = line.partition(": ")[2].strip(), [], []
        elif line[:1] == "-":
            old.append(line[1:])
        elif line[:1] == "+":
            new.append(line[1:])


def find_cause(messages: Iterable[str], about: str, *, between: bool) -> str:
    """The sentence in which an agent says what was wrong; empty if none does.

    `about` is the error with what was done. What was said `between` failure and success is about
    it; what was said later has to name something of it, or to conclude something.
    """
    terms = set(tokenize_query(about))
    candidates: list[tuple[int, str]] = []
    for message in messages:
        for line in message.splitlines():
            for sentence in split_sentences(line.strip(" *-#>")):
                plain = " ".join(sentence.split())
                candidates += [(rank_explanation(plain, terms, between=between), plain)]
    rank, best = max(candidates, key=lambda one: one[0], default=(0, ""))
    return best if rank else ""


def rank_explanation(sentence: str, terms: set[str], *, between: bool) -> int:
    """How well a sentence explains an error: 3 concludes about it, 2 concludes, 1 tells a state of
    things; 0 does not.
    """
    plain = sentence.strip()
    if len(plain) > MAX_CAUSE_CHARS or plain.endswith((":", "?", "？", "：", "…")):
        return 0
    shared = len(terms & set(tokenize_query(plain)))
    if is_conclusion(plain):
        return 3 if shared or between else 2
    if plain.isascii() and len(plain.split()) < MIN_CAUSE_WORDS:
        return 0
    if fits_section(plain, HEDGES) or fits_section(plain, INTENDS):
        return 0
    return int(between or shared >= MIN_SHARED_TERMS)


def concerns_project(commands: Sequence[str], error: str) -> bool:
    """True if a remedy is about this project: a file of its own, its own tasks."""
    for command in commands:
        parts = [BEFORE_COMMAND.sub("", part.strip()) for part in split_commands(command)]
        if any(PROJECT_RUNNERS.search(f"{part} ") for part in parts):
            return True
    return is_about_files(" ".join((*commands, error)))


def is_about_files(text: str) -> bool:
    """True if a text names a file that may be a project's."""
    return any(map(is_own_file, find_file_names(text)))


def is_own_file(name: str) -> bool:
    """True for a file that may be a project's, not the system's or a tool's."""
    return not name.startswith(("/usr", "/etc", "/var", "/opt", "~", "<path>", ".git/", "bin/ld"))
