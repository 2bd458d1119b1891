"""Which files are sensitive: their path may be known, but no text of theirs is kept.

By its name a file is sensitive if it is one of those that hold secrets and little else (`.env`,
private keys, credentials of cloud programs), or one that the setting `sensitive` names with
patterns as of `.gitignore`; by its text, if its front matter says `sensitive: true`. Examples and
templates (`.env.example`) and public keys are not.

A pattern is matched against the path and every end of it: `notes/health.md` is meant wherever the
folder `notes` lies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.privacy_policy import Policy
from reverie.privacy.secret_lookalikes import compile_ascii

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SENSITIVE = "sensitive"
SENSITIVE_MARK = f"[REDACTED:{SENSITIVE}]"
_SECRET_FILE_NAMES = """
.env .envrc .netrc _netrc .pgpass pgpass.conf .my.cnf .pypirc .npmrc .git-credentials .htpasswd
.vault-token .boto .s3cfg application_default_credentials.json access_tokens.db credentials.db
accesstokens.json credentials.tfrc.json secrets.yml secrets.yaml secrets.json secrets.toml
"""
SECRET_FILE_NAMES = frozenset(_SECRET_FILE_NAMES.split())
# The part before the first full stop, so "id_rsa.bak" too.
_SSH_KEY_NAMES = "id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk"
SSH_KEY_NAMES = frozenset(_SSH_KEY_NAMES.split())
NAME_PREFIXES = (".env.", "msal_token_cache.")
_NAME_SUFFIXES = ".env .pem .key .p12 .pfx .jks .keystore .kdbx .kdb .ppk .agekey .keychain-db"
NAME_SUFFIXES = tuple(_NAME_SUFFIXES.split())
# Of a name that ends with .json.
ACCOUNT_PREFIXES = ("service-account", "service_account", "client_secret")
PATH_SUFFIXES = (
    "/.aws/credentials",
    "/.kube/config",
    "/.docker/config.json",
    "/gh/hosts.yml",
    "/.config/hub",
    "/.oci/config",
)
SECRET_FOLDERS = ("/.gnupg/", "/.password-store/")
SPARED_SUFFIXES = (".example", ".sample", ".template", ".tmpl", ".dist", ".pub")
# Words of code, no files.
CODE_WORDS = frozenset(("process.env", "import.meta.env", "meta.env", "deno.env", "bun.env"))
# What may have front matter.
_NOTE_SUFFIXES = ".md .markdown .mdx .txt .rst .org .adoc"
NOTE_SUFFIXES = tuple(_NOTE_SUFFIXES.split())
FRONT_MATTER_CHARS = 4_096  # characters, or bytes of a file, that are read for front matter
MAX_OPENED_FILES = 50  # of one tool call, to read their front matter
_NUMBERED = r"(?:[ \t]*\d+(?:→|\t|\||:)[ \t]?)?"  # a line as tools show it, with its number
_FRONT = (
    rf"(?i)\A\ufeff?\s*(?:<[^>\n]{{1,80}}>\s*)?{_NUMBERED}---[ \t]*\r?\n(?:(?!{_NUMBERED}---)"
    rf".*\r?\n)*?"
    rf"{_NUMBERED}[\"']?sensitive[\"']?[ \t]*:[ \t]*[\"']?(?:true|yes|on|1)\b"
)
_PATH_ARGUMENTS = """
file_path path paths notebook_path filePath filename file files uri target_file absolute_path
relative_path source destination glob
"""
PATH_ARGUMENTS = tuple(_PATH_ARGUMENTS.split())  # what tools call a file
COMMAND_ARGUMENTS = ("command", "cmd", "script", "code")
_CONTENT_FIELDS = "result error output input content text stdout stderr diff old new"
CONTENT_FIELDS = tuple(_CONTENT_FIELDS.split())
# A word of a shell command, as far as it may be a path.
_WORD = r"[^\s\"'`;|&<>(){}$=,:@]+"
_PATCHED = (
    r"(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |diff --git a/.* b/|\+\+\+ b/"
    r"|--- a/)"
    r"(?P<path>.{1,300})$"
)
# What git prints of a file.
_HUNKS = r"(?ms)^diff --git a/(?P<path>[^\n]{1,300}) b/(?P=path)\n.*?(?=^diff --git |\Z)"
_PLAIN = r"[\w./~\- :@+,]*"  # a command that cannot hold a text: neither quotes nor redirection
# Lines of several files as grep prints them.
_NAMED_LINE = r"(?m)^(?:(?P<path>[^\s:]{1,300}):|(?P<near>[^\s:]{1,300}?)-\d+-).*$"
_HEADED = (
    r"(?m)^(?:(?P<path>\S{1,300})\n(?:\d+[:\-].*(?:\n|\Z))+"  # and rg --heading
    r"|==> (?P<head>.{1,300}) <==\n(?:(?!==> ).*(?:\n|\Z))+)"
)  # and head, of several files


def is_sensitive(path: str, policy: Policy) -> bool:
    """True if a file of this name is sensitive."""
    written = path.replace("\\", "/").split("/")
    steps = [step for step in written if step not in ("", ".")]
    if is_secret_file("/" + "/".join(steps).lower()):
        return True
    return bool(policy.sensitive) and any(
        compile_ignore_patterns(policy.sensitive).match_file("/".join(steps[place:]))
        for place in range(len(steps))
    )


def is_secret_file(path: str) -> bool:
    """True if a path, in lower case, is of a file that holds secrets and little else."""
    name = path.rpartition("/")[2].rstrip("*?")  # a shell's ".env*"
    if name.endswith(SPARED_SUFFIXES) or name in CODE_WORDS:
        return False
    return (
        name in SECRET_FILE_NAMES
        or name.partition(".")[0] in SSH_KEY_NAMES
        or name.startswith(NAME_PREFIXES)
        or (name.endswith(NAME_SUFFIXES) and name not in NAME_SUFFIXES)
        or (name.startswith(ACCOUNT_PREFIXES) and name.endswith(".json"))
        or path.endswith(PATH_SUFFIXES)
        or any(folder in path for folder in SECRET_FOLDERS)
    )


@lru_cache(maxsize=8)
def compile_ignore_patterns(lines: tuple[str, ...]) -> GitIgnoreSpec:
    """The patterns of the setting `sensitive`. BadInput for a bad one: it would guard nothing."""
    from pathspec import GitIgnoreSpec

    from reverie.core.errors import BadInput

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error) as err:
        raise BadInput(
            f"sensitive = {list(lines)!r} in config.toml holds a line that is no pattern: {err}"
        ) from err


def is_marked_sensitive(text: str) -> bool:
    """True if a text begins with front matter that says it is sensitive."""
    start = text[:FRONT_MATTER_CHARS]
    return "ensitive" in start and bool(re.match(_FRONT, start))


def is_marked_file(path: str, folder: str = "") -> bool:
    """True if a file begins with such front matter; relative paths begin in `folder`."""
    if not path.lower().endswith(NOTE_SUFFIXES):
        return False
    whole = path if path.startswith("/") or not folder else f"{folder}/{path}"
    try:
        # A named pipe without a writer must not keep us waiting.
        number = os.open(whole, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return False
    try:
        return is_marked_sensitive(os.read(number, FRONT_MATTER_CHARS).decode("utf-8", "replace"))
    except OSError:
        return False
    finally:
        os.close(number)


class ToolExchange(NamedTuple):
    """A tool call: what it was given, and what it answered."""

    given: Any
    result: Any = None
    error: Any = None


def guard_tool_run(
    deed: ToolExchange,
    policy: Policy,
    folder: str = "",
) -> ToolExchange:
    """What may be kept of a tool call: of one with a sensitive file its path, but no text of it.

    `folder` is where relative paths begin.
    """
    policy = policy._replace(folder=folder or policy.folder)
    # The answer is not searched for what might be harmless in it: nobody could tell.
    touched = find_sensitive_files(deed.given, policy, folder)
    answers = (deed.result, deed.error)
    if touched or any(isinstance(text, str) and is_marked_sensitive(text) for text in answers):
        return ToolExchange(
            strip_arguments(deed.given, touched),
            SENSITIVE_MARK if deed.result else deed.result,
            SENSITIVE_MARK if deed.error else deed.error,
        )
    return deed._replace(
        result=drop_sensitive_lines(deed.result, policy),
        error=drop_sensitive_lines(deed.error, policy),
    )


def drop_sensitive_contents(
    payload: Mapping[str, Any],
    policy: Policy,
) -> Mapping[str, Any]:
    """What the log may keep of a tool's event.

    Of one with a sensitive file, which file and how it went. The same object if nothing is left
    out.
    """
    parameters = payload.get("parameters")
    arguments = dict(parameters) if isinstance(parameters, Mapping) else {}
    for name in (*PATH_ARGUMENTS, *COMMAND_ARGUMENTS):
        if isinstance(payload.get(name), str):
            arguments[name] = payload[name]
    touched = find_sensitive_files(arguments, policy)
    contents = {name: payload[name] for name in CONTENT_FIELDS if name in payload}
    texts = [value for value in contents.values() if isinstance(value, str)]
    if touched or any(map(is_marked_sensitive, texts)):
        return {name: _guarded_field(name, value, touched) for name, value in payload.items()}
    open_contents = {name: drop_sensitive_lines(value, policy) for name, value in contents.items()}
    if all(contents[name] is value for name, value in open_contents.items()):
        return payload
    return {**payload, **open_contents}


def _guarded_field(
    name: str,
    value: Any,
    touched: Iterable[str],
) -> Any:
    """A field of a tool's event without any text that may be a sensitive file's."""
    if name == "parameters":
        return strip_arguments(value, touched)
    if name in CONTENT_FIELDS and value:
        return SENSITIVE_MARK
    if name in COMMAND_ARGUMENTS and isinstance(value, str):
        return strip_command(value, touched)
    return value


def find_sensitive_files(
    given: Any,
    policy: Policy,
    folder: str = "",
) -> list[str]:
    """The sensitive files that a tool is given, or that its command names.

    [""] stands for a text that says by itself that it is sensitive.
    """
    folder = folder or policy.folder
    paths = list(dict.fromkeys(find_paths(given)))
    # Names first: a file is opened only where no name tells.
    found = [path for path in paths if is_sensitive(path, policy)]
    if not found:
        found = [path for path in paths[:MAX_OPENED_FILES] if is_marked_file(path, folder)]
    if not found and has_marked_argument(given):
        found = [""]
    if not found and folder and paths:
        from reverie.privacy.ignored_files import find_ignored_files

        named = given if isinstance(given, Mapping) else {}
        files = {name: value for name, value in named.items() if name in PATH_ARGUMENTS}
        found = find_ignored_files(given, files, folder, paths[:MAX_OPENED_FILES])
    return found


def is_withheld(path: str, policy: Policy) -> bool:
    """True if no line of a file may be kept: it is sensitive, or ignored where the agent works."""
    if is_sensitive(path, policy):
        return True
    if not policy.folder:
        return False
    from reverie.privacy.ignored_files import IgnoredFiles

    return IgnoredFiles(policy.folder).is_ignored(path)


def find_paths(given: Any) -> Iterator[str]:
    """What may be paths in a tool's arguments: its files, and those of its command and patch."""
    if isinstance(given, str):
        yield from find_path_words(given)
    elif isinstance(given, (list, tuple)):
        for item in given:
            if isinstance(item, str):
                yield from find_path_words(item)
    elif isinstance(given, Mapping):
        for name, value in given.items():
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, str):
                    yield from _paths_in_argument(name, item)


def _paths_in_argument(name: str, text: str) -> Iterator[str]:
    if name in PATH_ARGUMENTS:
        yield text.removeprefix("file://")
    if name in COMMAND_ARGUMENTS:
        yield from find_path_words(text)
    yield from find_patched_files(text)


def find_path_words(command: str) -> list[str]:
    """The words of a command that may be paths."""
    words = compile_ascii(_WORD).findall(command)
    return [word for word in words if is_pathlike(word)]


def is_pathlike(word: str) -> bool:
    """True if a word may name a file; other words are not looked at more closely."""
    return "." in word or "/" in word or "_" in word


def find_patched_files(text: str) -> list[str]:
    """The files that a patch is of."""
    # Cheap, and nearly always no.
    if not ("*** " in text or "diff --git " in text or "+++ b/" in text):
        return []
    return [found["path"].strip() for found in compile_ascii(_PATCHED).finditer(text)]


def has_marked_argument(given: Any) -> bool:
    """True if a tool is given a text that says it is sensitive: a note that is being written."""
    return isinstance(given, Mapping) and any(
        is_marked_sensitive(text) for text in given.values() if isinstance(text, str)
    )


def strip_arguments(given: Any, touched: Iterable[str]) -> Any:
    """A tool's arguments without any text that may be a file's."""
    if isinstance(given, str):
        return strip_command(given, touched)
    if not isinstance(given, Mapping):
        return SENSITIVE_MARK if given else given
    return {
        name: _stripped_argument(
            name,
            value,
            touched,
        )
        for name, value in given.items()
    }


def _stripped_argument(
    name: str,
    value: Any,
    touched: Iterable[str],
) -> Any:
    if name in PATH_ARGUMENTS or not isinstance(value, (str, list, tuple, Mapping)):
        return value
    if name in COMMAND_ARGUMENTS and isinstance(value, str):
        return strip_command(value, touched)
    return SENSITIVE_MARK


def strip_command(command: str, touched: Iterable[str]) -> str:
    """A command that only names files as it is; of another one only its program and the files."""
    if compile_ascii(_PLAIN).fullmatch(command):
        return command
    words = [SENSITIVE_MARK, *filter(None, dict.fromkeys(touched))]
    if compile_ascii(_WORD).match(command):
        words.insert(0, command.split(maxsplit=1)[0])
    return " ".join(words)


def drop_sensitive_lines(text: Any, policy: Policy) -> Any:
    """An answer without lines of a sensitive file, as a search (`.env:3:…`) or diff shows them."""
    if not isinstance(text, str):
        return text
    # Patches and headed blocks before single lines: their lines bear no file's name.
    if "diff --git " in text:
        text = compile_ascii(_HUNKS).sub(
            lambda found: (
                f"{found['path']}: {SENSITIVE_MARK}\n"
                if is_withheld(found["path"], policy)
                else found[0]
            ),
            text,
        )
    text = compile_ascii(_HEADED).sub(lambda found: drop_sensitive_block(found, policy), text)
    named_line = compile_ascii(_NAMED_LINE)
    names = {matched_path(found) for found in named_line.finditer(text)}
    guarded = {name for name in names if is_pathlike(name) and is_withheld(name, policy)}
    if not guarded:
        return text

    def mask(found: re.Match[str]) -> str:
        name = matched_path(found)
        return f"{name}:{SENSITIVE_MARK}" if name in guarded else found[0]

    return named_line.sub(mask, text)


def matched_path(found: re.Match[str]) -> str:
    """The file that a line, or a block, is of."""
    return str(found[1] or found[2])


def drop_sensitive_block(found: re.Match[str], policy: Policy) -> str:
    """The lines of one file, or its name and a mark if it is sensitive.

    A line end at their end stays.
    """
    name = matched_path(found)
    if not is_pathlike(name) or not is_withheld(name, policy):
        return found[0]
    heading = found[0].partition("\n")[0]
    return f"{heading}\n{SENSITIVE_MARK}" + "\n" * found[0].endswith("\n")
