"""The commands that a shell would run for a text, and whether one of them is what a pattern names.

    git push --force            git pushes by force, however that is typed
    git push * main             … to main: `*` stands for anything in between
    git push @main              … to the branch main, which may be the one that is checked out
    git push --force !--force-with-lease    … but not so

The words of a pattern stand in a command in this order, the flags anywhere; short flags may be
joined, and a flag that programs spell in two ways is the same flag. What is wrapped is seen:
`sudo`, `env A=b`, `timeout 5`, `xargs`, `bash -c "…"`, `$(…)`, here-documents of a shell.

What is not seen: a variable's value, an alias, what a script does that is called by its name.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

# Characters searched at a conversation's end, and at either end of a tool's arguments.
MAX_CONTEXT_CHARS = 20_000
MAX_COMMANDS = 300
# Shells within shells that are followed.
MAX_DEPTH = 4
SHELLS = frozenset(
    ("bash", "sh", "zsh", "dash", "ksh", "fish", "pwsh", "powershell", "su", "runuser", "script")
)
# Run what follows them, each with those of its flags that take the next word.
WRAPPERS = {
    "sudo": "-u -g -C -D -h -p -r -t -R -T -U --user --group --chdir --prompt",
    "doas": "-u -C",
    "env": "-u -C --unset --chdir",
    "nohup": "",
    "time": "-f -o",
    "command": "",
    "exec": "-a",
    "builtin": "",
    "nice": "-n",
    "timeout": "-k -s --kill-after --signal",
    "stdbuf": "-i -o -e",
    "setsid": "",
    "ionice": "-c -n",
    "xargs": "-a -d -E -I -L -n -P -s --max-args --max-procs --replace",
    "caffeinate": "-t",
    "unbuffer": "",
    "parallel": "-a -j --jobs",
    "watch": "-n --interval",
    "strace": "-e -o",
    "flock": "-E -w --timeout",
    "chronic": "",
    "coproc": "",
    "function": "",
}
# Behind these stands one more word: a time, a file, a name.
_TAKES_WORD = ("timeout", "flock", "function")
_KEYWORDS = "then do else elif if while until ! { } fi done case esac"
KEYWORDS = frozenset(_KEYWORDS.split())
# Git's, before its verb.
_GIT_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--attr-source")
# Two words that run the program behind them, beside what they are.
RUNNERS = {
    "npx": (),
    "bunx": (),
    "uvx": (),
    "uv": ("run",),
    "poetry": ("run",),
    "pdm": ("run",),
    "pipenv": ("run",),
    "pipx": ("run",),
    "pnpm": ("exec", "dlx"),
    "npm": ("exec",),
    "yarn": ("exec", "dlx"),
    "bundle": ("exec",),
    "mise": ("exec", "x"),
    "direnv": ("exec",),
}
# Run a program within one of what they name; the flags there that take the next word.
CONTAINERS = ("docker", "docker-compose", "podman", "kubectl")
_CONTAINER_FLAGS = "-e -u -w -n -c --env --user --workdir --index --namespace --container"
_CONTAINER_VALUED = frozenset(_CONTAINER_FLAGS.split())
# One spelling for what has several, by the program and, for some, its verb.
ALIASES: dict[tuple[str, ...], dict[str, str]] = {
    ("rm",): {"-R": "-r", "--recursive": "-r", "--force": "-f"},
    ("chmod",): {"-R": "--recursive"},
    ("chown",): {"-R": "--recursive"},
    ("git", "push"): {"-f": "--force", "-d": "--delete", "-n": "--dry-run"},
    ("git", "commit"): {"-n": "--no-verify", "-a": "--all"},
    ("git", "add"): {"-A": "--all", "-f": "--force"},
    ("git", "branch"): {"-D": "--delete", "-d": "--delete", "-f": "--force"},
    ("git", "tag"): {"-d": "--delete", "-f": "--force"},
    ("git", "clean"): {"-f": "--force"},
    ("git", "checkout"): {"-f": "--force"},
    ("git", "switch"): {"-f": "--force", "--discard-changes": "--force"},
    ("git", "rebase"): {"-i": "--interactive"},
    ("npm",): {"-g": "--global", "-f": "--force"},
    ("pnpm",): {"-g": "--global"},
    ("yarn",): {"-g": "--global"},
    ("docker",): {"-v": "--volumes", "-a": "--all", "-f": "--force"},
    ("docker-compose",): {"-v": "--volumes"},
    ("podman",): {"-v": "--volumes", "-a": "--all", "-f": "--force"},
    ("kubectl",): {"-n": "--namespace"},
    ("curl",): {"-k": "--insecure"},
}
# Verbs that are one.
SAME_VERBS = {
    ("npm", "i"): "install",
    ("npm", "add"): "install",
    ("pnpm", "i"): "install",
    ("npm", "uninstall"): "remove",
    ("npm", "rm"): "remove",
    ("git", "co"): "checkout",
    ("git", "ci"): "commit",
}
# Git's verbs that change the branch which is checked out.
_ON_BRANCH = "commit merge rebase reset cherry-pick revert am pull"
ON_BRANCH = frozenset(_ON_BRANCH.split())
_CONTINUED = r"\\\r?\n"
_PIECE = r"""(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\.|>&|&>|(?P<end>[;&|\n]+)|[^'"\\;&|\n>]+|."""
_ASSIGNMENT = r"\A[A-Za-z_]\w*\+?="


class ShellCommand(NamedTuple):
    """One program that would be run."""

    words: tuple[str, ...]  # as the program gets them; the program itself first, without its folder
    stdin: str = ""  # its here-document, or what is printed into it
    branch: str | None = None  # checked out before it in the same line


class CommandPattern(NamedTuple):
    """What is looked for among commands."""

    words: tuple[str, ...]
    flags: frozenset[str]
    without: frozenset[str]  # none of these flags


def split_commands(text: str) -> Iterator[str]:
    """The commands that a shell would run for a text, as far as can be seen from outside."""
    pieces: list[str] = []
    for piece in re.finditer(_PIECE, re.sub(_CONTINUED, " ", text)):
        if piece["end"] is None:
            pieces.append(piece[0])
        elif pieces:
            yield strip_grouping("".join(pieces))
            pieces = []
    yield strip_grouping("".join(pieces))


def strip_grouping(command: str) -> str:
    """A command without the brackets that group it with others."""
    return command.lstrip(" \t\r({").rstrip(" \t\r)}")


# Compiled when first used: most hooks look at no command.
@lru_cache
def token_pattern() -> re.Pattern[str]:
    """What a shell's text is made of."""
    return re.compile(
        r"""(?P<space>(?:[ \t\r]|\\\r?\n)+)
    |(?P<comment>(?:(?<=\s)|^)\#[^\n]*)
    |(?P<end>\n|;+|&&|\|\|?&?|&(?![>]))
    |(?P<here><<-?[ \t]*(?P<q>['"]?)(?P<delim>[A-Za-z_][\w.-]*)(?P=q))
    |(?P<redirect>\d*(?:<<<|&>>?|>>|>&|>\||<&|<>|>|<)&?)
    |(?P<single>\$?'[^']*')
    |(?P<double>\$?"(?:\\.|[^"\\])*")
    |(?P<sub>[$<>]\()
    |(?P<tick>`(?:\\.|[^`\\])*`)
    |(?P<group>[()])
    |(?P<escape>\\.)
    |(?P<plain>[^\s;&|<>'"`$()\\]+)
    |(?P<other>.)""",
        re.DOTALL | re.VERBOSE,
    )


def list_commands(text: str) -> list[ShellCommand]:
    """The commands of a text, those within others too, at most MAX_COMMANDS."""
    found: list[ShellCommand] = []
    branch: str | None = None
    for command in iter_commands(text, 0):
        if len(found) == MAX_COMMANDS:
            break
        found.append(command._replace(branch=branch))
        branch = switched_branch(command.words) or branch
    return found


def switched_branch(words: Sequence[str]) -> str:
    """The branch that a command checks out; empty if it does not."""
    if len(words) < 3 or words[0] != "git" or words[1] not in ("checkout", "switch"):
        return ""
    names = [word for word in words[2:] if not word.startswith("-")]
    return names[0] if names and "--" not in words else ""


def iter_commands(text: str, depth: int) -> Iterator[ShellCommand]:
    """The commands of a text in the order in which they stand."""
    if depth > MAX_DEPTH:
        return
    for words, stdin, inner in split_words(text):
        for part in inner:
            yield from iter_commands(part, depth + 1)
        if words:
            yield from unwrap_command(words, stdin, depth)


def split_words(text: str) -> Iterator[tuple[list[str], str, list[str]]]:
    """(words, what it is given to read, texts of `$(…)`) of each command of a text."""
    reader = WordReader()
    place = 0
    piped = ""
    while token := token_pattern().match(text, place):
        place = token.end()
        if token["end"] or token["group"]:
            reader.end_word()
            document, place = reader.take_documents(text, place, ends_line=token[0] == "\n")
            yield reader.words, document or reader.given or piped, reader.inner
            piped = printed_text(reader.words) if token[0] in ("|", "|&") else ""
            reader.words, reader.inner, reader.skips, reader.given = [], [], False, ""
        elif token["sub"]:
            end = find_closing(text, place)
            reader.inner.append(text[place:end])
            reader.word = (reader.word or "") + "$()"
            place = end + 1
        else:
            reader.add(token)
    reader.end_word()
    yield reader.words, reader.given or piped, reader.inner


def printed_text(words: Sequence[str]) -> str:
    """What a command prints that only prints its words."""
    return " ".join(words[1:]) if words and words[0] in ("echo", "printf") else ""


class WordReader:
    """The words of one command, as they are read."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.inner: list[str] = []  # texts of `$(…)` and of backticks
        self.word: str | None = None
        self.awaited: list[str] = []  # ends of here-documents that begin at the next line
        self.skips = False  # the next word is a file that something is redirected to
        self.reads = False  # … or, after `<<<`, the text that is read
        self.given = ""

    def end_word(self) -> None:
        """A word is over, if there was one."""
        if self.word is not None:
            if self.reads:
                self.given = self.word
            elif not self.skips:
                self.words.append(self.word)
            self.word, self.skips, self.reads = None, False, False

    def add(self, token: re.Match[str]) -> None:
        """Take a piece of a word, or what stands between words."""
        piece = token[0]
        if token["space"] or token["comment"] or token["redirect"] or token["here"]:
            self.end_word()
            self.skips = self.skips or bool(token["redirect"])
            self.reads = self.reads or piece.endswith("<<<")
            if token["here"]:
                self.awaited.append(token["delim"])
            return
        if token["single"]:
            piece = piece.lstrip("$")[1:-1]
        elif token["double"]:
            piece = piece.lstrip("$")[1:-1]
            found = re.findall(r"\$\(([^()]*)\)|`([^`]*)`", piece)
            self.inner += [one or two for one, two in found]
            piece = re.sub(r"\\([\"\\$`])", r"\1", piece)
        elif token["tick"]:
            self.inner.append(piece[1:-1])
            piece = "$()"
        elif token["escape"]:
            piece = piece[1:]
        self.word = (self.word or "") + piece

    def take_documents(self, text: str, place: int, *, ends_line: bool) -> tuple[str, int]:
        """(the here-documents of the command that ends at a place, where the text goes on)."""
        if not self.awaited:
            return "", place
        if not ends_line:  # the rest of the line comes before the document
            after_line = text.find("\n", place) + 1
            return read_document(text, after_line or len(text), self.awaited[0])[0], place
        stdin = ""
        for end in self.awaited:
            body, place = read_document(text, place, end)
            stdin += body
        self.awaited = []
        return stdin, place


def read_document(text: str, place: int, end: str) -> tuple[str, int]:
    """(a here-document that begins at a place, where the text goes on)."""
    found = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*$", re.MULTILINE).search(text, place)
    if found is None:
        return text[place:], len(text)
    return text[place : found.start()], min(len(text), found.end() + 1)


def find_closing(text: str, place: int) -> int:
    """Where a bracket that is open at a place is closed; the end of the text if nowhere."""
    depth = 1
    for found in re.finditer(r"'[^']*'|\\.|[()]", text[place:]):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not depth:
            return place + found.start()
    return len(text)


def unwrap_command(words: list[str], stdin: str, depth: int) -> Iterator[ShellCommand]:
    """A command without what merely runs it, and the commands that it runs."""
    if depth > MAX_DEPTH:
        return
    bare = strip_wrappers(words)
    stripped = words[: len(words) - len(bare)]
    yield from (ShellCommand((one, *bare)) for one in stripped if one in ("sudo", "doas"))
    words = bare
    if not words:
        return
    program = words[0].replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    words = [program, *words[1:]]
    if program.startswith("python") and words[1:2] == ["-m"]:
        words = words[2:]
        program = words[0] if words else ""
    if program in ("pip3", "python3"):
        words = [program.rstrip("3"), *words[1:]]
    if program == "git":
        words = strip_git_options(words)
    if not words:
        return
    verb = SAME_VERBS.get((program, words[1])) if len(words) > 1 else None
    yield ShellCommand((words[0], verb, *words[2:]) if verb else tuple(words), stdin)
    yield from iter_inner_commands(words, stdin, depth)


def iter_inner_commands(words: list[str], stdin: str, depth: int) -> Iterator[ShellCommand]:
    """The commands that a command runs by itself."""
    program = words[0]
    if program in ("eval", "trap"):
        yield from iter_commands(" ".join(words[1:]), depth + 1)
    elif program == "ssh":
        yield from iter_commands(" ".join(drop_options(words[1:])[1:]), depth + 1)
    elif program in SHELLS and stdin:
        yield from iter_commands(stdin, depth + 1)
    elif program == "find":
        executed: list[str] | None = None
        for word in (*words, ";"):
            if executed is None:
                executed = [] if word in ("-exec", "-execdir", "-ok", "-okdir") else None
            elif word in (";", "+"):
                yield from unwrap_command(executed, "", depth + 1)
                executed = None
            else:
                executed.append(word)
    verbs = RUNNERS.get(program)
    if verbs is not None and (not verbs or (words[1:2] and words[1] in verbs)):
        rest = drop_options(words[2 if verbs else 1 :])
        yield from unwrap_command(rest, stdin, depth + 1)
    if program in CONTAINERS and "exec" in words:
        rest = words[words.index("exec") + 1 :]
        # Behind the name of the container, or behind `--`.
        rest = rest[rest.index("--") :] if "--" in rest else drop_options(rest, _CONTAINER_VALUED)
        yield from unwrap_command(rest[1:], stdin, depth + 1)
    yield from iter_commands(find_script(words), depth + 1)


def find_script(words: Sequence[str]) -> str:
    """What a shell is told by `-c`, also one that another program starts, as `docker exec app sh`
    does; empty if nothing.
    """
    for place, word in enumerate(words):
        name = word.rpartition("/")[2]
        if name not in SHELLS:
            continue
        rest = words[place + 1 : place + 10]
        for number, flag in enumerate(rest[:-1]):
            if re.fullmatch(r"-[A-Za-z]*c|--?[Cc]ommand", flag):
                return rest[number + 1]
            # Some flags take a word, and `su` a name.
            follows = number and rest[number - 1].startswith(("-", "+"))
            if not (flag.startswith(("-", "+")) or follows or (name == "su" and not number)):
                break
    return ""


def drop_options(
    words: list[str],
    valued: Collection[str] = ("-p", "-i", "-l", "-o", "-F", "--package", "--with"),
) -> list[str]:
    """The words from the first that is no flag on, nor what follows one that takes a value."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in valued else 1
    return words[place:]


def strip_wrappers(words: list[str]) -> list[str]:
    """The words without assignments, keywords and programs that run what follows them."""
    place = 0
    while place < len(words):
        word = words[place].rpartition("/")[2]
        if re.match(_ASSIGNMENT, words[place]) or word in KEYWORDS:
            place += 1
        elif word in WRAPPERS:
            rest = drop_options(words[place + 1 :], WRAPPERS[word].split())
            place = len(words) - len(rest) + (word in _TAKES_WORD)
        else:
            break
    return words[place:]


def strip_git_options(words: list[str]) -> list[str]:
    """A git command without what stands before its verb."""
    return ["git", *drop_options(words[1:], _GIT_VALUED)]


# Patterns


@lru_cache(maxsize=2_000)
def parse_command_pattern(text: str) -> CommandPattern:
    """What a pattern looks for."""
    parts = text.split()
    words = tuple(part.lower() for part in parts if not part.startswith(("-", "!-")))
    key = words[:2]
    flags = (part for part in parts if part.startswith("-"))
    without = (part[1:] for part in parts if part.startswith("!-"))
    return CommandPattern(
        words,
        frozenset(flag for one in flags for flag in wanted_flags(one, key)),
        frozenset(flag for one in without for flag in wanted_flags(one, key)),
    )


def wanted_flags(flag: str, key: Sequence[str]) -> list[str]:
    """The flags that a pattern's flag stands for: `-rf` is two."""
    spelled = spell_flag(flag, key)
    return spelled[1:] if 2 <= len(flag.lstrip("-")) <= 3 and len(spelled) > 1 else spelled[:1]


def matches_command(text: str, command: ShellCommand, branch: str | None = None) -> bool:
    """True if a command is what a pattern names. `branch` is what is checked out, if known."""
    pattern = parse_command_pattern(text)
    if not pattern.words or not command.words:
        return False
    key = tuple(word.lower() for word in command.words[:2])
    flags, free = read_flags(command.words, key)
    # A push of all branches is one of whichever is meant.
    known = None if flags & {"--all", "--branches"} else command.branch or branch
    if not matches_words(pattern.words, free, key, known):
        return False
    return pattern.flags <= flags and flags.isdisjoint(pattern.without)


def read_flags(
    words: Sequence[str], key: tuple[str, ...]
) -> tuple[frozenset[str], list[tuple[str, bool]]]:
    """(the flags of a command, each other word and whether it follows a flag)."""
    flags: set[str] = set()
    free: list[tuple[str, bool]] = []
    after_flag = ended = False
    for word in words:
        if word == "--" and not ended:
            ended, after_flag = True, False
        elif word.startswith("-") and len(word) > 1 and not ended:
            flags.update(spell_flag(word, key))
            after_flag = "=" not in word
        else:
            free.append((word, after_flag))
            after_flag = False
    if key == ("git", "push"):
        specs = [word for word, _ in free[3:]]
        if any(spec.startswith("+") for spec in specs):
            flags.add("--force")
        if any(spec.startswith(":") and len(spec) > 1 for spec in specs):
            flags.add("--delete")
        if "--mirror" in flags:
            flags |= {"--force", "--all"}
    return frozenset(flags), free


def spell_flag(flag: str, key: Sequence[str]) -> list[str]:
    """A flag, first as it is spelled here; letters that are joined each by itself too."""
    name = flag.partition("=")[0]
    same = ALIASES.get(tuple(key[:2]), {}) | ALIASES.get(tuple(key[:1]), {})
    if tuple(key[:2]) in ALIASES:
        same = ALIASES[tuple(key[:2])]
    found = [same.get(name, name)]
    if re.fullmatch(r"-[A-Za-z0-9]{2,6}", name):
        found += [same.get(f"-{letter}", f"-{letter}") for letter in name[1:]]
    return found


def matches_words(
    wanted: Sequence[str],
    free: Sequence[tuple[str, bool]],
    key: tuple[str, ...],
    branch: str | None,
) -> bool:
    """True if the words of a pattern stand in this order among those of a command."""
    place, gap = 0, False
    for number, word in enumerate(wanted):
        if word == "*":
            gap = True
            continue
        if word.startswith("@"):
            if not is_on_branch(word[1:], [one for one, _ in free], key, branch):
                return False
            continue
        while place < len(free):
            text, after_flag = free[place]
            place += 1
            if fits_word(word, text):
                break
            # What a flag is given may stand before a verb.
            if number == 0 or not (gap or after_flag):
                return False
        else:
            return False
        gap = False
    return True


def fits_word(wanted: str, word: str) -> bool:
    """True if a word of a pattern, maybe a glob, is a word of a command."""
    lower = word.lower()
    if "*" in wanted or "?" in wanted:
        return compile_word(wanted).match(lower) is not None
    return wanted == lower or (wanted == lower.rstrip("/") and len(lower) > 1)


@lru_cache(maxsize=2_000)
def compile_word(glob: str) -> re.Pattern[str]:
    """A glob of one word as an expression."""
    return re.compile(translate(re.sub(r"\*+", "*", glob)))


def is_on_branch(
    wanted: str, words: Sequence[str], key: tuple[str, ...], branch: str | None
) -> bool:
    """True if a git command changes this branch, here or elsewhere; also if nobody knows which."""
    if key == ("git", "push"):
        specs = words[3:]
        targets: Iterable[str | None] = [
            branch if (end := spec.rpartition(":")[2].lstrip("+")) in ("HEAD", "@") else end
            for spec in specs
            if spec.rpartition(":")[2]
        ] or [branch]
    elif len(key) > 1 and key[1] in ON_BRANCH:
        targets = [branch]
    else:
        return False
    return any(
        target is None or fits_word(wanted, target.removeprefix("refs/heads/"))
        for target in targets
    )
