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
from reverie.core.privacy_policy import USUAL, Policy
from reverie.notes.watched_roots import OWN, Root
from reverie.privacy import impersonal
from reverie.privacy.sensitive_files import SENSITIVE, is_marked, is_sensitive
from reverie.storage.note_index_port import UNSURE, Stamp
from reverie.text.tokenization import digest

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LONGEST_PATH = 4_096  # characters; what no system opens
SUFFIXES = frozenset(
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
NAMES = frozenset(
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
IGNORES = (".gitignore", ".secretsignore", ".reverieignore")
# nobody writes notes there
LEFT = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages"))
MOST_BYTES = 2_000_000  # of one file: what is larger is data or a log
BINARY = 8_192  # bytes in which a NUL says that it is no text
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# no link, no waiting for a pipe
READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
ODD = "lines of ignore files that are no pattern"
LONGEST_LINK = 5_000  # characters of a `.git` file that are looked at
FRESH = 2.0  # seconds in which a second change may leave the same stamp


class LeftOut(BadInput):
    """That file is no text that memory reads."""

    def __init__(self, message: str | None = None, why: str = "") -> None:
        super().__init__(message)
        self.why = why


class Seen(NamedTuple):
    """A file that counts."""

    path: str  # from the root, with slashes
    stamp: Stamp


class Walked(NamedTuple):
    """What there is in a folder."""

    files: list[Seen]
    skipped: Counter[str]  # how many were left out, by reason
    unreadable: list[str]  # folders that could not be opened, from the root


class Content(NamedTuple):
    """A file as it was read."""

    text: str
    data: bytes
    stamp: Stamp

    @property
    def hash(self) -> bytes:
        """What identifies its bytes."""
        return digest(self.data)


Counts = Callable[[str], bool]


class Names(NamedTuple):
    """What counts and what does not, going by its name."""

    counts: Counts
    policy: Policy


class Rule(NamedTuple):
    """What the ignore files in one folder say."""

    folder: str  # from the top
    spec: GitIgnoreSpec
    odd: int = 0  # lines that are no pattern


Rules = tuple[Rule, ...]  # outermost first


class Ground(NamedTuple):
    """A root within the folder from which ignore rules reach into it."""

    within: str  # the root from there; empty where they are the same
    rules: Rules


def walked(root: Root, counts: Counts | None = None, policy: Policy = USUAL) -> Walked:
    """Every file of a root that counts, by path. Raises NotFound if there is no such folder.

    `counts` says which names do, if it is not those of texts; `policy` which files are sensitive.
    """
    if os.path.realpath(root.path) != root.path:
        raise NotFound(f"The folder {root.path} is not there; a link is in its place")
    found = Walked([], Counter(), [])
    ground, names = ground_of(root), Names(counts or is_text, policy)
    waiting = [("", ground.rules)]
    odd = sum(rule.odd for rule in ground.rules)
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
        if folder and another_tree(listed):
            found.skipped["another working tree"] += 1
            continue
        if folder and any(entry.name in IGNORES for entry in listed):
            more = rules_of(root, folder, ground)
            rules, odd = (*rules, *more), odd + sum(rule.odd for rule in more)
        inner = looked_at(root, folder, listed, ground.within, rules, found, names)
        waiting += [(path, rules) for path in sorted(inner, reverse=True)]
    found.files.sort()
    found.skipped[ODD] += odd
    return found


def looked_at(
    root: Root,
    folder: str,
    entries: Sequence[os.DirEntry[str]],
    within: str,
    rules: Rules,
    found: Walked,
    names: Names,
) -> Iterator[str]:
    """The folders in a folder that are to be gone into; its files go into `found`."""
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        try:
            is_folder, link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
            why = "symbolic link" if link else why_not(root, path, is_folder, within, rules, names)
            if why:
                found.skipped[why] += not is_folder
            elif is_folder:
                yield path
            else:
                what = entry.stat(follow_symlinks=False)
                if why := oddity(what):
                    found.skipped[why] += 1
                else:
                    found.files.append(Seen(path, stamp_of(what)))
        except FileNotFoundError:  # it has gone since we looked
            continue
        except OSError:
            found.skipped["unreadable"] += 1


def another_tree(listed: Sequence[os.DirEntry[str]]) -> bool:
    """Whether a folder is a further working tree (`git worktree add`): a copy of what is known
    already.
    """
    for entry in listed:
        if entry.name == ".git" and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                return "/worktrees/" in Path(entry.path).read_text("utf-8", "replace")[
                    :LONGEST_LINK
                ].replace("\\", "/")
    return False


def why_not(root: Root, path: str, is_folder: bool, within: str, rules: Rules, names: Names) -> str:
    """Why a file or folder does not count, going by its name; empty if it does."""
    name = path.rpartition("/")[2]
    if root.own:
        wanted = path == "memory" if is_folder else OWN.fullmatch(path)
        return "" if wanted else "not of the mirror"
    if name.startswith(".") or (is_folder and name in LEFT):
        return "hidden"
    if not is_folder and is_sensitive(path, names.policy):
        return SENSITIVE
    if not is_folder and not names.counts(name):
        return "another type"
    if not name.isascii() and any("\ud800" <= ch <= "\udfff" for ch in name):
        return "name is not UTF-8"
    return "ignored" if ignored(f"{within}/{path}" if within else path, is_folder, rules) else ""


def is_text(name: str) -> bool:
    """Whether a file is text that people write, going by its name."""
    _, dot, suffix = name.lower().rpartition(".")
    return f".{suffix}" in SUFFIXES if dot else suffix in NAMES


def oddity(what: os.stat_result) -> str:
    """Why a file is not read, going by what the file system says."""
    if not stat.S_ISREG(what.st_mode):
        return "no ordinary file"
    return "too large" if what.st_size > MOST_BYTES else ""


def stamp_of(what: os.stat_result) -> Stamp:
    """The stamp of a file."""
    return Stamp(what.st_size, what.st_mtime_ns, what.st_ino)


def ignored(path: str, is_folder: bool, rules: Rules) -> bool:
    """Whether ignore files name a path; the innermost one that says anything decides, as in git."""
    for rule in reversed(rules):
        inner = path[len(rule.folder) + 1 :] if rule.folder else path
        said = rule.spec.check_file(f"{inner}/" if is_folder else inner).include
        if said is not None:
            return said
    return False


def ground_of(root: Root) -> Ground:
    """What applies at a root: its own ignore files, and those above it in its repository."""
    if root.own:
        return Ground("", ())
    here = Path(root.path)
    top = next((place for place in (here, *here.parents) if (place / ".git").exists()), here)
    within = here.relative_to(top).as_posix().removeprefix(".")
    steps = within.split("/") if within else []
    rules: Rules = ()
    for depth in range(len(steps)):
        rules = (*rules, *read_rules(top, "/".join(steps[:depth])))
        if ignored(
            "/".join(steps[: depth + 1]), True, rules
        ):  # the repository ignores it, its owner wants it
            rules = ()
            break
    return Ground(within, (*rules, *read_rules(top, within)))


def rules_of(root: Root, folder: str, ground: Ground) -> Rules:
    """What the ignore files in a folder below a root say."""
    top = Path(root.path[: len(root.path) - len(ground.within)] if ground.within else root.path)
    return read_rules(top, f"{ground.within}/{folder}" if ground.within else folder)


def read_rules(top: Path, folder: str) -> Rules:
    """The ignore files in one folder as rules; none where there are none. One that cannot be read
    hides everything:

    what it would have kept from us is not known.
    """
    lines: list[str] = []
    for name in IGNORES:
        try:
            lines += (top / folder / name).read_text("utf-8-sig", "replace").splitlines()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        except OSError:
            lines.append("*")
    return (rule_of(folder, lines),) if lines else ()


def rule_of(folder: str, lines: Sequence[str]) -> Rule:
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
    return Rule(folder, GitIgnoreSpec(patterns), odd)


def inside(root: Root, path: Path) -> str | None:
    """A path from its root, if it lies there by name; whether it may be read is another question.

    Links above the root are the user's own affair (macOS's /tmp is one), so the root may be named
    through them.
    """
    plain = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    if len(str(plain)) > LONGEST_PATH:
        return None  # there is no such place, and looking at each of its folders takes minutes
    tops = (top for top in plain.parents if os.path.realpath(top) == root.path)
    top = min(tops, key=lambda top: len(top.parts), default=None)
    return None if top is None else plain.relative_to(top).as_posix()


def admitted(root: Root, path: str, counts: Counts | None = None, policy: Policy = USUAL) -> Path:
    """The place of a file that counts; it need not exist. Raises BadInput, with the reason, for one
    that does not.

    Every step from the root is looked at: none may be a symbolic link, hidden or ignored (CC-73).
    `counts` and `policy` as of `walked`.
    """
    ground = ground_of(root)
    rules, steps, names = ground.rules, path.split("/"), Names(counts or is_text, policy)
    for depth in range(1, len(steps) + 1):
        step, last = "/".join(steps[:depth]), depth == len(steps)
        place = Path(root.path, step)
        why = (
            "a symbolic link"
            if place.is_symlink()
            else why_not(root, step, not last, ground.within, rules, names)
        )
        if why:
            raise BadInput(
                f"{Path(root.path, path)} is not among the files that memory may read or write: "
                f"{step} is {why}"
            )
        if not last:
            rules = (*rules, *rules_of(root, step, ground))
    with suppress(FileNotFoundError):
        if why := oddity(place.stat()):
            raise LeftOut(f"{place} is left out: {why}", why)
    return place


def read(place: Path, now: float, policy: Policy = USUAL) -> Content:
    """A file's text with its stamp; UNSURE if it was written while or shortly before we read it.

    Without what is private or personal in it; secrets are taken out by whoever keeps some of it.
    Raises OSError, or LeftOut where it is no text, or says of itself that it is sensitive. The file
    is opened without following a link.
    """
    with os.fdopen(os.open(place, READING), "rb") as file:
        before = os.fstat(file.fileno())
        if why := oddity(before):
            raise LeftOut(f"{place} is left out: {why}", why)
        data = file.read(MOST_BYTES + 1)
        after = os.fstat(file.fileno())
    if len(data) > MOST_BYTES:
        raise LeftOut(f"{place} is left out: too large", "too large")
    stamp = stamp_of(after)
    settled = (
        stamp_of(before) == stamp and len(data) == stamp.size and now - stamp.mtime / 1e9 > FRESH
    )
    text = decoded(data, place)
    if is_marked(text):
        raise LeftOut(f"{place} is left out: {SENSITIVE}", SENSITIVE)
    return Content(impersonal(text, policy), data, stamp if settled else UNSURE)


def decoded(data: bytes, place: Path) -> str:
    """Bytes as text: UTF-8 or UTF-16 with its mark, else as Windows writes western languages."""
    if data[:2] in MARKS:
        return data.decode(MARKS[data[:2]], "replace").replace("\0", " ")
    if b"\0" in data[:BINARY]:
        raise LeftOut(f"{place} is left out: binary", "binary")
    try:
        return data.decode("utf-8-sig").replace("\0", " ")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace").replace("\0", " ")
