"""Which files are sensitive: their path may be known, what stands in them is never kept, whichever way it comes.

By its name a file is sensitive if it is one of those that hold secrets and little else (`.env`, private keys,
credentials of cloud programs), or one that the setting `sensitive` names with patterns as of `.gitignore`; by its text,
if its front matter says `sensitive: true`. Examples and templates (`.env.example`) and public keys are not.

A pattern is held against the path and every end of it: `notes/health.md` is meant wherever the folder `notes` lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.errors import BadInput
from reverie.policy import Policy
from reverie.privacy.lookalikes import compiled

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SENSITIVE = "sensitive"
MARK = f"[REDACTED:{SENSITIVE}]"
NAMES = (
    ".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".pypirc", ".npmrc",
    ".git-credentials", ".htpasswd", ".vault-token", ".boto", ".s3cfg", "id_rsa*", "id_dsa*", "id_ecdsa*",
    "id_ed25519*",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.kdb", "*.ppk", "*.agekey", "*.keychain-db",
    "application_default_credentials.json", "access_tokens.db", "credentials.db", "service-account*.json",
    "service_account*.json", "client_secret*.json", "accesstokens.json", "msal_token_cache.*", "credentials.tfrc.json",
    "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml",
)  # fmt: skip
PLACES = (".aws/credentials", ".kube/config", ".docker/config.json", "gh/hosts.yml", ".config/hub", ".oci/config",
          ".gnupg/*", ".password-store/*")  # fmt: skip
SPARED = (".example", ".sample", ".template", ".tmpl", ".dist", ".pub")
TEXTS = (".md", ".markdown", ".mdx", ".txt", ".rst", ".org", ".adoc")    # what may have front matter
LOOK = 4_096             # characters, or bytes of a file, in which front matter is looked for
MOST_WORDS = 200         # of a command that are taken for paths
_NUMBERED = r"(?:[ \t]*\d+(?:→|\t|\||:)[ \t]?)?"    # a line as tools show it, with its number
_FRONT = (rf"(?i)\A\ufeff?\s*(?:<[^>\n]{{1,80}}>\s*)?{_NUMBERED}---[ \t]*\r?\n(?:(?!{_NUMBERED}---).*\r?\n)*?"
          rf"{_NUMBERED}[\"']?sensitive[\"']?[ \t]*:[ \t]*[\"']?(?:true|yes|on|1)\b")  # fmt: skip
PATHS = ("file_path", "path", "notebook_path", "filePath", "filename", "target_file")    # what tools call a file
COMMANDS = ("command", "cmd", "script", "code")
_WORD = r"[^\s\"'`;|&<>(){}$=,:@]+"
_PLAIN = r"[\w./~\- :@+,]*"                         # a command that cannot hold a text: neither quotes nor redirection
_NAMED_LINE = r"(?m)^(?P<path>[^\s:]{1,300}):.*$"   # what grep prints of several files


def is_sensitive(path: str, policy: Policy) -> bool:
    """Whether a file of this name is sensitive."""
    plain = path.replace("\\", "/").rstrip("/")
    lower = plain.lower()
    name = lower.rpartition("/")[2]
    if not name.endswith(SPARED) and (any(fnmatchcase(name, one) for one in NAMES)
                                      or any(fnmatchcase(f"/{lower}", f"*/{one}") for one in PLACES)):  # fmt: skip
        return True
    if not policy.sensitive:
        return False
    steps = plain.lstrip("/").split("/")
    return any(patterns(policy.sensitive).match_file("/".join(steps[place:])) for place in range(len(steps)))


@lru_cache(maxsize=8)
def patterns(lines: tuple[str, ...]) -> GitIgnoreSpec:
    """The patterns of the setting. BadInput for one that is none: it would guard nothing."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error) as err:
        raise BadInput(f"sensitive = {list(lines)!r} in config.toml holds a line that is no pattern: {err}") from err


def is_marked(text: str) -> bool:
    """Whether a text begins with front matter that says it is sensitive."""
    start = text[:LOOK]
    return "ensitive" in start and bool(re.match(_FRONT, start))


def is_marked_file(path: str, folder: str = "") -> bool:
    """Whether there is such a text in a file."""
    if not path.lower().endswith(TEXTS):
        return False
    with suppress(OSError, ValueError):
        whole = path if path.startswith("/") or not folder else f"{folder}/{path}"
        with open(whole, encoding="utf-8", errors="replace") as file:    # noqa: PTH123 - a hook has no time for pathlib
            return is_marked(file.read(LOOK))
    return False


class Deed(NamedTuple):
    """A run of a tool: what it was given, and what it said."""

    given: Any
    result: Any = None
    error: Any = None


def guarded(deed: Deed, policy: Policy, folder: str = "") -> Deed:
    """What may be kept of a run: of one that reads or writes a sensitive file the file's path, and nothing that stood

    in it. `folder` is where relative paths begin.
    """
    touched = touched_by(deed.given, policy, folder)
    shown = any(is_marked(text) for text in (deed.result, deed.error) if isinstance(text, str))
    if not touched and not shown:
        return deed._replace(result=without_lines(deed.result, policy), error=without_lines(deed.error, policy))
    return Deed(bare(deed.given, touched), MARK if deed.result else deed.result, MARK if deed.error else deed.error)


def touched_by(given: Any, policy: Policy, folder: str = "") -> list[str]:
    """The sensitive files that a tool is given, or that its command names."""
    return [path for path in paths_in(given) if is_sensitive(path, policy) or is_marked_file(path, folder)] or (
        [""] if written_in(given) else [])


def paths_in(given: Any) -> Iterable[str]:
    """What may be paths in what a tool is given: its files, and the words of its command."""
    if isinstance(given, str):
        return words_of(given)
    if not isinstance(given, Mapping):
        return ()
    files = [given[name] for name in PATHS if isinstance(given.get(name), str)]
    return (*files, *(word for name in COMMANDS if isinstance(given.get(name), str) for word in words_of(given[name])))


def words_of(command: str) -> list[str]:
    """The words of a command that may be paths."""
    words = compiled(_WORD).findall(command[:20_000])
    return [word for word in words if "." in word or "/" in word or "_" in word][:MOST_WORDS]


def written_in(given: Any) -> bool:
    """Whether a tool is given a text that says it is sensitive: a note that is being written."""
    return isinstance(given, Mapping) and any(is_marked(text) for text in given.values() if isinstance(text, str))


def bare(given: Any, touched: Iterable[str]) -> Any:
    """What a tool was given, without any text that may be a file's."""
    if isinstance(given, str):
        return bare_command(given, touched)
    if not isinstance(given, Mapping):
        return MARK if given else given
    return {name: value if name in PATHS or not isinstance(value, (str, list, tuple, Mapping))
            else bare_command(value, touched) if name in COMMANDS and isinstance(value, str) else MARK
            for name, value in given.items()}  # fmt: skip


def bare_command(command: str, touched: Iterable[str]) -> str:
    """A command that only names files as it is; of one that may write a text only the program and the files."""
    if compiled(_PLAIN).fullmatch(command):
        return command
    program = command.split(maxsplit=1)[0] if compiled(_WORD).match(command) else ""
    return " ".join(filter(None, (program, MARK, *dict.fromkeys(touched))))


def without_lines(text: Any, policy: Policy) -> Any:
    """An answer without lines that are from a sensitive file, as a search prints them: `.env:3:…`."""
    if not isinstance(text, str) or ":" not in text:
        return text
    names = {found["path"] for found in compiled(_NAMED_LINE).finditer(text)}
    guarded_names = {name for name in names if ("." in name or "/" in name) and is_sensitive(name, policy)}
    if not guarded_names:
        return text
    return compiled(_NAMED_LINE).sub(
        lambda found: f"{found['path']}:{MARK}" if found["path"] in guarded_names else found[0], text)
