"""Which files are sensitive: their path may be known, what stands in them is never kept, whichever
way it comes.

By its name a file is sensitive if it is one of those that hold secrets and little else (`.env`,
private keys, credentials of cloud programs), or one that the setting `sensitive` names with
patterns as of `.gitignore`; by its text, if its front matter says `sensitive: true`. Examples and
templates (`.env.example`) and public keys are not.

A pattern is held against the path and every end of it: `notes/health.md` is meant wherever the
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
SECRET_FILE_NAMES = frozenset(
    (
        ".env",
        ".envrc",
        ".netrc",
        "_netrc",
        ".pgpass",
        "pgpass.conf",
        ".my.cnf",
        ".pypirc",
        ".npmrc",
        ".git-credentials",
        ".htpasswd",
        ".vault-token",
        ".boto",
        ".s3cfg",
        "application_default_credentials.json",
        "access_tokens.db",
        "credentials.db",
        "accesstokens.json",
        "credentials.tfrc.json",
        "secrets.yml",
        "secrets.yaml",
        "secrets.json",
        "secrets.toml",
    )
)
# and "id_rsa.bak"
SSH_KEY_NAMES = frozenset(
    ("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")
)
NAME_PREFIXES = (".env.", "msal_token_cache.")
NAME_SUFFIXES = (
    ".env",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".kdb",
    ".ppk",
    ".agekey",
    ".keychain-db",
)
ACCOUNT_PREFIXES = (
    "service-account",
    "service_account",
    "client_secret",
)  # of a name that ends with .json
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
# words of code, no files
CODE_WORDS = frozenset(("process.env", "import.meta.env", "meta.env", "deno.env", "bun.env"))
NOTE_SUFFIXES = (
    ".md",
    ".markdown",
    ".mdx",
    ".txt",
    ".rst",
    ".org",
    ".adoc",
)  # what may have front matter
FRONT_MATTER_CHARS = 4_096  # characters, or bytes of a file, in which front matter is looked for
MAX_OPENED_FILES = 50  # files that a tool is given which are opened, to look for front matter
_NUMBERED = r"(?:[ \t]*\d+(?:→|\t|\||:)[ \t]?)?"  # a line as tools show it, with its number
_FRONT = (
    rf"(?i)\A\ufeff?\s*(?:<[^>\n]{{1,80}}>\s*)?{_NUMBERED}---[ \t]*\r?\n(?:(?!{_NUMBERED}---)"
    rf".*\r?\n)*?"
    rf"{_NUMBERED}[\"']?sensitive[\"']?[ \t]*:[ \t]*[\"']?(?:true|yes|on|1)\b"
)
PATH_ARGUMENTS = (
    "file_path",
    "path",
    "paths",
    "notebook_path",
    "filePath",
    "filename",
    "file",
    "files",
    "uri",
    "target_file",
    "absolute_path",
    "relative_path",
    "source",
    "destination",
    "glob",
)  # what tools call a file
COMMAND_ARGUMENTS = ("command", "cmd", "script", "code")
CONTENT_FIELDS = (
    "result",
    "error",
    "output",
    "input",
    "content",
    "text",
    "stdout",
    "stderr",
    "diff",
    "old",
    "new",
)
_WORD = r"[^\s\"'`;|&<>(){}$=,:@]+"
_PATCHED = (
    r"(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |diff --git a/.* b/|\+\+\+ b/"
    r"|--- a/)"
    r"(?P<path>.{1,300})$"
)
# what git prints of a file
_HUNKS = r"(?ms)^diff --git a/(?P<path>[^\n]{1,300}) b/(?P=path)\n.*?(?=^diff --git |\Z)"
_PLAIN = r"[\w./~\- :@+,]*"  # a command that cannot hold a text: neither quotes nor redirection
# as grep prints lines of several
_NAMED_LINE = r"(?m)^(?:(?P<path>[^\s:]{1,300}):|(?P<near>[^\s:]{1,300}?)-\d+-).*$"
_HEADED = (
    r"(?m)^(?:(?P<path>\S{1,300})\n(?:\d+[:\-].*(?:\n|\Z))+"  # and rg --heading
    r"|==> (?P<head>.{1,300}) <==\n(?:(?!==> ).*(?:\n|\Z))+)"
)  # and head, of several files


def is_sensitive(path: str, policy: Policy) -> bool:
    """Whether a file of this name is sensitive."""
    steps = [step for step in path.replace("\\", "/").split("/") if step not in ("", ".")]
    if is_secret_file("/" + "/".join(steps).lower()):
        return True
    return bool(policy.sensitive) and any(
        compile_ignore_patterns(policy.sensitive).match_file("/".join(steps[place:]))
        for place in range(len(steps))
    )


def is_secret_file(path: str) -> bool:
    """Whether a path, in small letters, is of a file that holds secrets and little else."""
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
    """The patterns of the setting. BadInput for one that is none: it would guard nothing."""
    from pathspec import GitIgnoreSpec

    from reverie.core.errors import BadInput

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error) as err:
        raise BadInput(
            f"sensitive = {list(lines)!r} in config.toml holds a line that is no pattern: {err}"
        ) from err


def is_marked_sensitive(text: str) -> bool:
    """Whether a text begins with front matter that says it is sensitive."""
    start = text[:FRONT_MATTER_CHARS]
    return "ensitive" in start and bool(re.match(_FRONT, start))


def is_marked_file(path: str, folder: str = "") -> bool:
    """Whether there is such a text in a file."""
    if not path.lower().endswith(NOTE_SUFFIXES):
        return False
    whole = path if path.startswith("/") or not folder else f"{folder}/{path}"
    try:
        number = os.open(whole, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # no waiting for a pipe
    except (OSError, ValueError):
        return False
    try:
        return is_marked_sensitive(os.read(number, FRONT_MATTER_CHARS).decode("utf-8", "replace"))
    except OSError:
        return False
    finally:
        os.close(number)


class ToolExchange(NamedTuple):
    """A run of a tool: what it was given, and what it said."""

    given: Any
    result: Any = None
    error: Any = None


def guard_tool_run(deed: ToolExchange, policy: Policy, folder: str = "") -> ToolExchange:
    """What may be kept of a run: of one that reads or writes a sensitive file its path, and nothing
    that stood in it.

    `folder` is where relative paths begin.
    """
    touched = find_sensitive_files(deed.given, policy, folder)
    shown = any(
        is_marked_sensitive(text) for text in (deed.result, deed.error) if isinstance(text, str)
    )
    if not touched and not shown:
        return deed._replace(
            result=drop_sensitive_lines(deed.result, policy),
            error=drop_sensitive_lines(deed.error, policy),
        )
    return ToolExchange(
        strip_arguments(deed.given, touched),
        SENSITIVE_MARK if deed.result else deed.result,
        SENSITIVE_MARK if deed.error else deed.error,
    )


def drop_sensitive_contents(payload: Mapping[str, Any], policy: Policy) -> Mapping[str, Any]:
    """What the log may keep of a deed: of one done to a sensitive file that it was done, to which,
    and how it went.
    """
    parameters = payload.get("parameters")
    given = parameters if isinstance(parameters, Mapping) else {}
    told = {
        name: payload[name]
        for name in (*PATH_ARGUMENTS, *COMMAND_ARGUMENTS)
        if isinstance(payload.get(name), str)
    }
    touched = find_sensitive_files({**given, **told}, policy)
    shown = any(
        is_marked_sensitive(text)
        for name in CONTENT_FIELDS
        if isinstance(text := payload.get(name), str)
    )
    if not touched and not shown:
        lines = {
            name: drop_sensitive_lines(payload[name], policy)
            for name in CONTENT_FIELDS
            if name in payload
        }
        return (
            {**payload, **lines}
            if any(payload[name] is not line for name, line in lines.items())
            else payload
        )
    return {
        name: strip_arguments(value, touched)
        if name == "parameters"
        else SENSITIVE_MARK
        if name in CONTENT_FIELDS and value
        else strip_command(value, touched)
        if name in COMMAND_ARGUMENTS and isinstance(value, str)
        else value
        for name, value in payload.items()
    }


def find_sensitive_files(given: Any, policy: Policy, folder: str = "") -> list[str]:
    """The sensitive files that a tool is given, or that its command names."""
    paths = list(dict.fromkeys(find_paths(given)))
    found = [path for path in paths if is_sensitive(path, policy)]
    return (
        found
        or [path for path in paths[:MAX_OPENED_FILES] if is_marked_file(path, folder)]
        or ([""] if has_marked_argument(given) else [])
    )


def find_paths(given: Any) -> Iterator[str]:
    """What may be paths in what a tool is given: its files, the words of its command, the files of
    its patch.
    """
    if isinstance(given, str):
        yield from find_path_words(given)
    elif isinstance(given, (list, tuple)):
        yield from (path for one in given if isinstance(one, str) for path in find_path_words(one))
    elif isinstance(given, Mapping):
        for name, value in given.items():
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, str):
                    yield from (one.removeprefix("file://"),) if name in PATH_ARGUMENTS else ()
                    yield from find_path_words(one) if name in COMMAND_ARGUMENTS else ()
                    yield from find_patched_files(one)


def find_path_words(command: str) -> list[str]:
    """The words of a command that may be paths."""
    words = compile_ascii(_WORD).findall(command)
    return [word for word in words if is_pathlike(word)]


def is_pathlike(word: str) -> bool:
    """Whether a word may name a file: other words are not looked at more closely."""
    return "." in word or "/" in word or "_" in word


def find_patched_files(text: str) -> list[str]:
    """The files that a patch is of."""
    there = "*** " in text or "diff --git " in text or "+++ b/" in text
    return (
        [found["path"].strip() for found in compile_ascii(_PATCHED).finditer(text)] if there else []
    )


def has_marked_argument(given: Any) -> bool:
    """Whether a tool is given a text that says it is sensitive: a note that is being written."""
    return isinstance(given, Mapping) and any(
        is_marked_sensitive(text) for text in given.values() if isinstance(text, str)
    )


def strip_arguments(given: Any, touched: Iterable[str]) -> Any:
    """What a tool was given, without any text that may be a file's."""
    if isinstance(given, str):
        return strip_command(given, touched)
    if not isinstance(given, Mapping):
        return SENSITIVE_MARK if given else given
    return {
        name: value
        if name in PATH_ARGUMENTS or not isinstance(value, (str, list, tuple, Mapping))
        else strip_command(value, touched)
        if name in COMMAND_ARGUMENTS and isinstance(value, str)
        else SENSITIVE_MARK
        for name, value in given.items()
    }


def strip_command(command: str, touched: Iterable[str]) -> str:
    """A command that only names files as it is; of one that may write a text only the program and
    the files.
    """
    if compile_ascii(_PLAIN).fullmatch(command):
        return command
    program = command.split(maxsplit=1)[0] if compile_ascii(_WORD).match(command) else ""
    return " ".join(filter(None, (program, SENSITIVE_MARK, *dict.fromkeys(touched))))


def drop_sensitive_lines(text: Any, policy: Policy) -> Any:
    """An answer without lines that are from a sensitive file, as a search (`.env:3:…`) or a diff
    shows them.
    """
    if not isinstance(text, str):
        return text
    if "diff --git " in text:
        text = compile_ascii(_HUNKS).sub(
            lambda found: (
                f"{found['path']}: {SENSITIVE_MARK}\n"
                if is_sensitive(found["path"], policy)
                else found[0]
            ),
            text,
        )
    text = compile_ascii(_HEADED).sub(lambda found: drop_sensitive_block(found, policy), text)
    names = {matched_path(found) for found in compile_ascii(_NAMED_LINE).finditer(text)}
    guarded_names = {name for name in names if is_pathlike(name) and is_sensitive(name, policy)}
    if not guarded_names:
        return text
    return compile_ascii(_NAMED_LINE).sub(
        lambda found: (
            f"{matched_path(found)}:{SENSITIVE_MARK}"
            if matched_path(found) in guarded_names
            else found[0]
        ),
        text,
    )


def matched_path(found: re.Match[str]) -> str:
    """The file that a line, or a block, is of."""
    return str(found[1] or found[2])


def drop_sensitive_block(found: re.Match[str], policy: Policy) -> str:
    """The lines of one file without what they say if it is sensitive; what follows them stays
    apart.
    """
    name = matched_path(found)
    if not is_pathlike(name) or not is_sensitive(name, policy):
        return found[0]
    heading = found[0].partition("\n")[0]
    return f"{heading}\n{SENSITIVE_MARK}" + "\n" * found[0].endswith("\n")
