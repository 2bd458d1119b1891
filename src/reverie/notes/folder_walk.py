"""Which files of a folder count, and reading one of them safely.

Text that people write counts (`SUFFIXES`, `NAMES`), up to 2 MB a file. What is hidden does not, nor
what `.gitignore`, `.secretsignore` or `.reverieignore` name (A111, B120), in the folder, below it,
or above it up to the repository it belongs to; a folder that somebody added counts even if the
repository ignores it. Symbolic links below the root are neither followed nor read: no file outside
the root can be reached through one (CC-73). A further working tree of a repository (`git worktree
add`) is left out: it is a copy; submodules and other repositories within count.

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
from reverie.storage.note_index_port import UNSURE_STAMP, FileStamp
from reverie.text.tokenization import digest_bytes

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_PATH_CHARS = 4_096  # characters; what no system opens
TEXT_SUFFIXES = frozenset(
    (
        ".md",
        ".markdown",
        ".mdown",
        ".mdx",
        ".txt",
        ".text",
        ".rst",
        ".org",
        ".adoc",
        ".asciidoc",
        ".tex",
        ".textile",
        ".wiki",
        ".rmd",
        ".qmd",
    )
)
TEXT_NAMES = frozenset(
    (
        "readme",
        "license",
        "licence",
        "changelog",
        "changes",
        "contributing",
        "authors",
        "notes",
        "todo",
        "news",
        "history",
    )
)
IGNORE_FILES = (".gitignore", ".secretsignore", ".reverieignore")
# nobody writes notes there
SKIPPED_FOLDERS = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages"))
MAX_FILE_BYTES = 2_000_000  # of one file: what is larger is data or a log
BINARY_PROBE_BYTES = 8_192  # bytes in which a NUL says that it is no text
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# no link, no waiting for a pipe
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
INVALID_PATTERNS = "lines of ignore files that are no pattern"
MAX_GIT_FILE_CHARS = 5_000  # characters of a `.git` file that are looked at
UNSETTLED_SECONDS = 2.0  # seconds in which a second change may leave the same stamp


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
    """What there is in a folder."""

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


class NameFilter(NamedTuple):
    """What counts and what does not, going by its name."""

    counts: NameTest
    policy: Policy


class IgnoreRule(NamedTuple):
    """What the ignore files in one folder say."""

    folder: str  # from the top
    spec: GitIgnoreSpec
    invalid_lines: int = 0  # lines that are no pattern


IgnoreRules = tuple[IgnoreRule, ...]  # outermost first


class RootRules(NamedTuple):
    """A root within the folder from which ignore rules reach into it."""

    within: str  # the root from there; empty where they are the same
    rules: IgnoreRules


def walk_folder(
    root: WatchedRoot, counts: NameTest | None = None, policy: Policy = DEFAULT_POLICY
) -> FolderListing:
    """Every file of a root that counts, by path. Raises NotFound if there is no such folder.

    `counts` says which names do, if it is not those of texts; `policy` which files are sensitive.
    """
    if os.path.realpath(root.path) != root.path:
        raise NotFound(f"The folder {root.path} is not there; a link is in its place")
    found = FolderListing([], Counter(), [])
    ground, names = load_root_rules(root), NameFilter(counts or is_text_name, policy)
    waiting = [("", ground.rules)]
    odd = sum(rule.invalid_lines for rule in ground.rules)
    while waiting:
        folder, rules = waiting.pop()
        try:
            with os.scandir(Path(root.path, folder)) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as err:
            if not folder:
                raise NotFound(f"The folder {root.path} cannot be read: {err.strerror}") from err
            found.unreadable.append(folder)
            continue
        if folder and is_linked_worktree(listed):
            found.skipped["another working tree"] += 1
            continue
        if folder and any(entry.name in IGNORE_FILES for entry in listed):
            more = load_folder_rules(root, folder, ground)
            rules, odd = (*rules, *more), odd + sum(rule.invalid_lines for rule in more)
        inner = scan_entries(root, folder, listed, ground.within, rules, found, names)
        waiting += [(path, rules) for path in sorted(inner, reverse=True)]
    found.files.sort()
    found.skipped[INVALID_PATTERNS] += odd
    return found


def scan_entries(
    root: WatchedRoot,
    folder: str,
    entries: Sequence[os.DirEntry[str]],
    within: str,
    rules: IgnoreRules,
    found: FolderListing,
    names: NameFilter,
) -> Iterator[str]:
    """The folders in a folder that are to be gone into; its files go into `found`."""
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        try:
            is_folder, link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
            why = (
                "symbolic link"
                if link
                else explain_exclusion(root, path, is_folder, within, rules, names)
            )
            if why:
                found.skipped[why] += not is_folder
            elif is_folder:
                yield path
            else:
                what = entry.stat(follow_symlinks=False)
                if why := explain_unsuitable(what):
                    found.skipped[why] += 1
                else:
                    found.files.append(ListedFile(path, to_stamp(what)))
        except FileNotFoundError:  # it has gone since we looked
            continue
        except OSError:
            found.skipped["unreadable"] += 1


def is_linked_worktree(listed: Sequence[os.DirEntry[str]]) -> bool:
    """Whether a folder is a further working tree (`git worktree add`): a copy of what is known
    already.
    """
    for entry in listed:
        if entry.name == ".git" and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                return "/worktrees/" in Path(entry.path).read_text("utf-8", "replace")[
                    :MAX_GIT_FILE_CHARS
                ].replace("\\", "/")
    return False


def explain_exclusion(
    root: WatchedRoot,
    path: str,
    is_folder: bool,
    within: str,
    rules: IgnoreRules,
    names: NameFilter,
) -> str:
    """Why a file or folder does not count, going by its name; empty if it does."""
    name = path.rpartition("/")[2]
    if root.own:
        wanted = path == "memory" if is_folder else MIRROR_FILES.fullmatch(path)
        return "" if wanted else "not of the mirror"
    if name.startswith(".") or (is_folder and name in SKIPPED_FOLDERS):
        return "hidden"
    if not is_folder and is_sensitive(path, names.policy):
        return SENSITIVE
    if not is_folder and not names.counts(name):
        return "another type"
    if not name.isascii() and any("\ud800" <= ch <= "\udfff" for ch in name):
        return "name is not UTF-8"
    return "ignored" if is_ignored(f"{within}/{path}" if within else path, is_folder, rules) else ""


def is_text_name(name: str) -> bool:
    """Whether a file is text that people write, going by its name."""
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


def is_ignored(path: str, is_folder: bool, rules: IgnoreRules) -> bool:
    """Whether ignore files name a path; the innermost one that says anything decides, as in git."""
    for rule in reversed(rules):
        inner = path[len(rule.folder) + 1 :] if rule.folder else path
        said = rule.spec.check_file(f"{inner}/" if is_folder else inner).include
        if said is not None:
            return said
    return False


def load_root_rules(root: WatchedRoot) -> RootRules:
    """What applies at a root: its own ignore files, and those above it in its repository."""
    if root.own:
        return RootRules("", ())
    here = Path(root.path)
    top = next((place for place in (here, *here.parents) if (place / ".git").exists()), here)
    within = here.relative_to(top).as_posix().removeprefix(".")
    steps = within.split("/") if within else []
    rules: IgnoreRules = ()
    for depth in range(len(steps)):
        rules = (*rules, *read_ignore_files(top, "/".join(steps[:depth])))
        if is_ignored(
            "/".join(steps[: depth + 1]), True, rules
        ):  # the repository ignores it, its owner wants it
            rules = ()
            break
    return RootRules(within, (*rules, *read_ignore_files(top, within)))


def load_folder_rules(root: WatchedRoot, folder: str, ground: RootRules) -> IgnoreRules:
    """What the ignore files in a folder below a root say."""
    top = Path(root.path[: len(root.path) - len(ground.within)] if ground.within else root.path)
    return read_ignore_files(top, f"{ground.within}/{folder}" if ground.within else folder)


def read_ignore_files(top: Path, folder: str) -> IgnoreRules:
    """The ignore files in one folder as rules; none where there are none. One that cannot be read
    hides everything:

    what it would have kept from us is not known.
    """
    lines: list[str] = []
    for name in IGNORE_FILES:
        try:
            lines += (top / folder / name).read_text("utf-8-sig", "replace").splitlines()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        except OSError:
            lines.append("*")
    return (parse_ignore_lines(folder, lines),) if lines else ()


def parse_ignore_lines(folder: str, lines: Sequence[str]) -> IgnoreRule:
    """Lines as a rule; those that are no pattern (`!`, `name\\`, `[z-a]`) name
    nothing, as in git.
    """
    from pathspec import GitIgnoreSpec

    patterns: list[Any] = []
    odd = 0
    for line in lines:
        try:
            patterns += GitIgnoreSpec.from_lines([line]).patterns
        except (ValueError, re.error):
            odd += 1
    return IgnoreRule(folder, GitIgnoreSpec(patterns), odd)


def relative_to_root(root: WatchedRoot, path: Path) -> str | None:
    """A path from its root, if it lies there by name; whether it may be read is another question.

    Links above the root are the user's own affair (macOS's /tmp is one), so the root may be named
    through them.
    """
    plain = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    if len(str(plain)) > MAX_PATH_CHARS:
        return None  # there is no such place, and looking at each of its folders takes minutes
    tops = (top for top in plain.parents if os.path.realpath(top) == root.path)
    top = min(tops, key=lambda top: len(top.parts), default=None)
    return None if top is None else plain.relative_to(top).as_posix()


def admit_path(
    root: WatchedRoot, path: str, counts: NameTest | None = None, policy: Policy = DEFAULT_POLICY
) -> Path:
    """The place of a file that counts; it need not exist. Raises BadInput, with the reason, for one
    that does not.

    Every step from the root is looked at: none may be a symbolic link, hidden or ignored (CC-73).
    `counts` and `policy` as of `walked`.
    """
    ground = load_root_rules(root)
    rules, steps, names = ground.rules, path.split("/"), NameFilter(counts or is_text_name, policy)
    for depth in range(1, len(steps) + 1):
        step, last = "/".join(steps[:depth]), depth == len(steps)
        place = Path(root.path, step)
        why = (
            "a symbolic link"
            if place.is_symlink()
            else explain_exclusion(root, step, not last, ground.within, rules, names)
        )
        if why:
            raise BadInput(
                f"{Path(root.path, path)} is not among the files that memory may read or write: "
                f"{step} is {why}"
            )
        if not last:
            rules = (*rules, *load_folder_rules(root, step, ground))
    with suppress(FileNotFoundError):
        if why := explain_unsuitable(place.stat()):
            raise FileSkipped(f"{place} is left out: {why}", why)
    return place


def read_text_file(place: Path, now: float, policy: Policy = DEFAULT_POLICY) -> FileContent:
    """A file's text with its stamp; UNSURE if it was written while or shortly before we read it.

    Without what is private or personal in it; secrets are taken out by whoever keeps some of it.
    Raises OSError, or LeftOut where it is no text, or says of itself that it is sensitive. The file
    is opened without following a link.
    """
    with os.fdopen(os.open(place, OPEN_FLAGS), "rb") as file:
        before = os.fstat(file.fileno())
        if why := explain_unsuitable(before):
            raise FileSkipped(f"{place} is left out: {why}", why)
        data = file.read(MAX_FILE_BYTES + 1)
        after = os.fstat(file.fileno())
    if len(data) > MAX_FILE_BYTES:
        raise FileSkipped(f"{place} is left out: too large", "too large")
    stamp = to_stamp(after)
    settled = (
        to_stamp(before) == stamp
        and len(data) == stamp.size
        and now - stamp.mtime / 1e9 > UNSETTLED_SECONDS
    )
    text = decode_file_text(data, place)
    if is_marked_sensitive(text):
        raise FileSkipped(f"{place} is left out: {SENSITIVE}", SENSITIVE)
    return FileContent(remove_personal_data(text, policy), data, stamp if settled else UNSURE_STAMP)


def decode_file_text(data: bytes, place: Path) -> str:
    """Bytes as text: UTF-8 or UTF-16 with its mark, else as Windows writes western languages."""
    if data[:2] in BYTE_ORDER_MARKS:
        return data.decode(BYTE_ORDER_MARKS[data[:2]], "replace").replace("\0", " ")
    if b"\0" in data[:BINARY_PROBE_BYTES]:
        raise FileSkipped(f"{place} is left out: binary", "binary")
    try:
        return data.decode("utf-8-sig").replace("\0", " ")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace").replace("\0", " ")
