"""Which files of a folder count, and reading one of them safely.

Text that people write counts (`TEXT_SUFFIXES`, `TEXT_NAMES`), up to 2 MB a file. What is hidden
does not, nor what `.gitignore`, `.secretsignore` or `.reverieignore` name, in the folder, below it,
or above it up to the repository it belongs to; a folder that somebody added counts even if the
repository ignores it. Symbolic links below the root are neither followed nor read: no file outside
the root can be reached through one. A linked working tree of a repository (`git worktree add`) is
left out, for it is a copy; submodules and other repositories within count.

What is left out is counted, with the reason, and so are lines of ignore files that are no pattern
(git skips them too). A folder that cannot be opened is reported, not taken for empty.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.errors import BadInput, NotFound
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.notes.watched_roots import MIRROR_FILES, WatchedRoot
from reverie.privacy import remove_personal_data
from reverie.privacy.sensitive_files import SENSITIVE, is_marked_sensitive, is_sensitive
from reverie.storage.indexed_files import UNSURE_STAMP, FileStamp
from reverie.text.tokenization import digest_bytes

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# No system opens a longer path, and looking at each of its folders would take minutes.
MAX_PATH_CHARS = 4_096
_SUFFIXES = """
.md .markdown .mdown .mdx .txt .text .rst .org .adoc .asciidoc .tex .textile .wiki .rmd .qmd
"""
TEXT_SUFFIXES = frozenset(_SUFFIXES.split())
_NAMES = "readme license licence changelog changes contributing authors notes todo news history"
TEXT_NAMES = frozenset(_NAMES.split())
IGNORE_FILES = (".gitignore", ".secretsignore", ".reverieignore")
# Nobody writes notes in these.
SKIPPED_FOLDERS = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages"))
# A larger file is data or a log.
MAX_FILE_BYTES = 2_000_000
# A NUL among the first bytes says that a file is no text.
BINARY_PROBE_BYTES = 8_192
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# Do not follow a link, do not wait for a pipe.
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
INVALID_PATTERNS = "lines of ignore files that are no pattern"
# characters of a `.git` file that are looked at
MAX_GIT_FILE_CHARS = 5_000
# A second change within so many seconds may leave the same stamp.
UNSETTLED_SECONDS = 2.0


class FileSkipped(BadInput):
    """That file is no text that memory reads."""

    def __init__(self, message: str | None = None, why: str = "") -> None:
        super().__init__(message)
        self.why = why


class ListedFile(NamedTuple):
    """A file that counts."""

    path: str  # from the root, with slashes
    stamp: FileStamp


class FolderListing(NamedTuple):
    """The files of a folder that count, and what was left out."""

    files: list[ListedFile]
    skipped: Counter[str]  # how many were left out, by reason
    unreadable: list[str]  # folders that could not be opened, from the root


class FileContent(NamedTuple):
    """A file as it was read."""

    text: str
    data: bytes
    stamp: FileStamp

    @property
    def hash(self) -> bytes:
        """What identifies its bytes."""
        return digest_bytes(self.data)


NameTest = Callable[[str], bool]


class IgnoreRule(NamedTuple):
    """What the ignore files in one folder say."""

    folder: str  # from the top
    spec: GitIgnoreSpec
    invalid_lines: int = 0  # lines that are no pattern


IgnoreRules = tuple[IgnoreRule, ...]  # outermost first


class RootFilter:
    """Which files of a root are indexed, by their names and by ignore files."""

    def __init__(
        self,
        root: WatchedRoot,
        counts: NameTest | None,
        policy: Policy,
    ) -> None:
        self.root = root
        self.policy = policy
        self._counts = counts or is_text_name
        # the folder that rules begin in, and where the root lies below it
        self._top = Path(root.path)
        self._within = ""
        # that apply at the root: its own, and those above it in its repository
        self.rules: IgnoreRules = ()
        if not root.own:
            self._load_rules()

    def _load_rules(self) -> None:
        """Read the ignore files from the top of the repository down to the root."""
        here = self._top
        above = (place for place in (here, *here.parents) if (place / ".git").exists())
        self._top = next(above, here)
        self._within = here.relative_to(self._top).as_posix().removeprefix(".")
        steps = self._within.split("/") if self._within else []
        for depth in range(len(steps)):
            self.rules += read_ignore_files(self._top, "/".join(steps[:depth]))
            # The repository ignores this folder, its owner wants it: then its rules do not apply.
            if is_ignored(
                "/".join(steps[: depth + 1]),
                True,
                self.rules,
            ):
                self.rules = ()
                break
        self.rules += read_ignore_files(self._top, self._within)

    def _from_top(self, path: str) -> str:
        """A path below the root as one below the folder that rules begin in."""
        return f"{self._within}/{path}" if self._within else path

    def rules_in(self, folder: str) -> IgnoreRules:
        """The rules of the ignore files in a folder below the root."""
        return read_ignore_files(self._top, self._from_top(folder))

    def explain_exclusion(
        self,
        path: str,
        is_folder: bool,
        rules: IgnoreRules,
    ) -> str:
        """Why a file or folder does not count, going by its name; empty if it does."""
        name = path.rpartition("/")[2]
        if self.root.own:
            wanted = path == "memory" if is_folder else MIRROR_FILES.fullmatch(path)
            return "" if wanted else "not of the mirror"
        if name.startswith(".") or (is_folder and name in SKIPPED_FOLDERS):
            return "hidden"
        if not is_folder and is_sensitive(path, self.policy):
            return SENSITIVE
        if not is_folder and not self._counts(name):
            return "another type"
        # Python reads bytes of a name that are not UTF-8 as lone surrogates (PEP 383).
        if not name.isascii() and any("\ud800" <= ch <= "\udfff" for ch in name):
            return "name is not UTF-8"
        return "ignored" if is_ignored(self._from_top(path), is_folder, rules) else ""


def walk_folder(
    root: WatchedRoot,
    counts: NameTest | None = None,
    policy: Policy = DEFAULT_POLICY,
) -> FolderListing:
    """Every file of a root that counts, by path. Raises NotFound if there is no such folder.

    `counts` says which names do, if it is not those of texts; `policy` which files are sensitive.
    """
    if os.path.realpath(root.path) != root.path:
        raise NotFound(f"The folder {root.path} is not there; a link is in its place")
    found = FolderListing([], Counter(), [])
    names = RootFilter(root, counts, policy)
    invalid_lines = sum(rule.invalid_lines for rule in names.rules)
    waiting = [("", names.rules)]
    while waiting:
        folder, rules = waiting.pop()
        try:
            with os.scandir(Path(root.path, folder)) as iterator:
                entries = sorted(iterator, key=lambda entry: entry.name)
        except OSError as err:
            if not folder:
                raise NotFound(f"The folder {root.path} cannot be read: {err.strerror}") from err
            found.unreadable.append(folder)
            continue
        if folder and is_linked_worktree(entries):
            found.skipped["another working tree"] += 1
            continue
        if folder and any(entry.name in IGNORE_FILES for entry in entries):
            own_rules = names.rules_in(folder)
            invalid_lines += sum(rule.invalid_lines for rule in own_rules)
            rules += own_rules
        inner = scan_entries(names, folder, entries, rules, found)
        # The last is taken first: folders are walked in the order of their names.
        waiting += [(path, rules) for path in sorted(inner, reverse=True)]
    found.files.sort()
    found.skipped[INVALID_PATTERNS] += invalid_lines
    return found


def scan_entries(
    names: RootFilter,
    folder: str,
    entries: Sequence[os.DirEntry[str]],
    rules: IgnoreRules,
    found: FolderListing,
) -> Iterator[str]:
    """Yield the folders to go into; put the files that count, and what is skipped, into `found`."""
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.is_symlink():
                why = "symbolic link"
            else:
                why = names.explain_exclusion(path, is_folder, rules)
            if why:
                found.skipped[why] += not is_folder
                continue
            if is_folder:
                yield path
                continue
            status = entry.stat(follow_symlinks=False)
            why = explain_unsuitable(status)
            if why:
                found.skipped[why] += 1
            else:
                found.files.append(ListedFile(path, to_stamp(status)))
        except FileNotFoundError:  # it has gone since we looked
            continue
        except OSError:
            found.skipped["unreadable"] += 1


def is_linked_worktree(listed: Sequence[os.DirEntry[str]]) -> bool:
    """True if the entries are those of a linked working tree (`git worktree add`), a copy."""
    for entry in listed:
        if entry.name == ".git" and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                text = Path(entry.path).read_text("utf-8", "replace")
                return "/worktrees/" in text[:MAX_GIT_FILE_CHARS].replace("\\", "/")
    return False


def is_text_name(name: str) -> bool:
    """True for names of files that people write text in."""
    _, dot, suffix = name.lower().rpartition(".")
    return f".{suffix}" in TEXT_SUFFIXES if dot else suffix in TEXT_NAMES


def explain_unsuitable(what: os.stat_result) -> str:
    """Why a file is not read, going by what the file system says."""
    if not stat.S_ISREG(what.st_mode):
        return "no ordinary file"
    return "too large" if what.st_size > MAX_FILE_BYTES else ""


def to_stamp(what: os.stat_result) -> FileStamp:
    """The stamp of a file."""
    return FileStamp(what.st_size, what.st_mtime_ns, what.st_ino)


def is_ignored(
    path: str,
    is_folder: bool,
    rules: IgnoreRules,
) -> bool:
    """True if ignore files name a path; as in git, the innermost that says anything decides."""
    for rule in reversed(rules):
        inner = path[len(rule.folder) + 1 :] if rule.folder else path
        verdict = rule.spec.check_file(f"{inner}/" if is_folder else inner).include
        if verdict is not None:
            return verdict
    return False


def read_ignore_files(top: Path, folder: str) -> IgnoreRules:
    """The ignore files in one folder as rules; none where there are none."""
    lines: list[str] = []
    for name in IGNORE_FILES:
        try:
            lines += (top / folder / name).read_text("utf-8-sig", "replace").splitlines()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        except OSError:
            # What an unreadable file would have kept from us is not known: it hides everything.
            lines.append("*")
    return (parse_ignore_lines(folder, lines),) if lines else ()


def parse_ignore_lines(folder: str, lines: Sequence[str]) -> IgnoreRule:
    """Lines as a rule; as in git, what is no pattern (`!`, `[z-a]`) matches nothing."""
    from pathspec import GitIgnoreSpec

    patterns: list[Any] = []
    invalid = 0
    for line in lines:
        try:
            patterns += GitIgnoreSpec.from_lines([line]).patterns
        except (ValueError, re.error):
            invalid += 1
    return IgnoreRule(folder, GitIgnoreSpec(patterns), invalid)


def relative_to_root(root: WatchedRoot, path: Path) -> str | None:
    """A path below its root with slashes, None if it lies elsewhere by its name.

    Whether it may be read is another question. Links above the root are the user's own affair
    (macOS's /tmp is one), so the root may be named through them.
    """
    plain = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    if len(str(plain)) > MAX_PATH_CHARS:
        return None
    tops = (top for top in plain.parents if os.path.realpath(top) == root.path)
    top = min(
        tops,
        key=lambda top: len(top.parts),
        default=None,
    )
    return None if top is None else plain.relative_to(top).as_posix()


def admit_path(
    root: WatchedRoot,
    path: str,
    counts: NameTest | None = None,
    policy: Policy = DEFAULT_POLICY,
) -> Path:
    """The place of a file that counts; it need not exist. Raises BadInput with the reason if not.

    Every step from the root is looked at: none may be a symbolic link, hidden or ignored. `counts`
    and `policy` are as in `walk_folder`.
    """
    names = RootFilter(root, counts, policy)
    rules = names.rules
    step = ""
    for name in path.split("/"):
        if step:
            rules += names.rules_in(step)
        step = f"{step}/{name}" if step else name
        place = Path(root.path, step)
        if place.is_symlink():
            why = "a symbolic link"
        else:
            why = names.explain_exclusion(step, step != path, rules)
        if why:
            raise BadInput(
                f"{Path(root.path, path)} is not among the files that memory may read or write: "
                f"{step} is {why}"
            )
    with suppress(FileNotFoundError):
        why = explain_unsuitable(place.stat())
        if why:
            raise FileSkipped(f"{place} is left out: {why}", why)
    return place


def read_text_file(
    place: Path,
    now: float,
    policy: Policy = DEFAULT_POLICY,
) -> FileContent:
    """A file's text with its stamp, without private passages and personal data.

    Secrets are taken out by whoever keeps some of the text. The stamp is UNSURE_STAMP if the file
    was written while or shortly before it was read. The file is opened without following a link.
    Raises OSError, or FileSkipped where it is no text, or says of itself that it is sensitive.
    """
    with os.fdopen(os.open(place, OPEN_FLAGS), "rb") as file:
        before = os.fstat(file.fileno())
        why = explain_unsuitable(before)
        if why:
            raise FileSkipped(f"{place} is left out: {why}", why)
        data = file.read(MAX_FILE_BYTES + 1)
        after = os.fstat(file.fileno())
    if len(data) > MAX_FILE_BYTES:
        raise FileSkipped(f"{place} is left out: too large", "too large")
    stamp = to_stamp(after)
    is_whole = to_stamp(before) == stamp and len(data) == stamp.size
    is_settled = is_whole and now - stamp.mtime / 1e9 > UNSETTLED_SECONDS
    text = decode_file_text(data, place)
    if is_marked_sensitive(text):
        raise FileSkipped(f"{place} is left out: {SENSITIVE}", SENSITIVE)
    text = remove_personal_data(text, policy)
    return FileContent(text, data, stamp if is_settled else UNSURE_STAMP)


def decode_file_text(data: bytes, place: Path) -> str:
    """Bytes as text: UTF-8, UTF-16 by its byte order mark, else Windows-1252."""
    if data[:2] in BYTE_ORDER_MARKS:
        return data.decode(BYTE_ORDER_MARKS[data[:2]], "replace").replace(
            "\0",
            " ",
        )
    if b"\0" in data[:BINARY_PROBE_BYTES]:
        raise FileSkipped(f"{place} is left out: binary", "binary")
    try:
        return data.decode("utf-8-sig").replace("\0", " ")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace").replace("\0", " ")
