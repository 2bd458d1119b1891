"""Making the index what a repository's files are: only what changed is parsed again, and resolved
what that may alter.

Which files count: those of a known language that no ignore file names, up to 2 MB (`files.walk`),
but for vendored folders and for what was generated, going by its name or by what its first lines
say. A file whose stamp is the same is not opened, one whose bytes are the same is not parsed. A
change in one file may give a name in another one another meaning: after few changes the files are
found for which that may be so (`amend`), after many all are resolved anew from the facts that are
kept.

Whoever is interrupted goes on there the next time; until then the index says that it is not
resolved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.code.file_parser import parsed
from reverie.code.incremental_resolution import amended, modules_of
from reverie.code.languages import language_of
from reverie.code.name_resolution import World
from reverie.code.parsed_facts import Facts, packed, unpacked
from reverie.code.reference_resolution import linked, meaning_of
from reverie.code.symbol_tables import Loaded
from reverie.core.privacy_policy import USUAL, Policy
from reverie.notes.folder_walk import Content, LeftOut, Seen, read, walked
from reverie.notes.note_indexing import Opened, Plan, Progress, batches, opened, planned
from reverie.notes.watched_roots import Root
from reverie.storage.code_index_port import CodeIndex, Parsed, Size
from reverie.storage.note_index_port import Indexed

VENDORED = frozenset(
    ("vendor", "vendored", "_vendor", "_vendored", "third_party", "thirdparty", "third-party")
)
GENERATED_NAME = re.compile(
    r"(?i)[._-]min\.[cm]?js$|\.bundle\.js$|_pb2(_grpc)?\.pyi?$|\.pb\.(go|cc|h)$"
    r"|[._](generated|g|designer)\.\w+$"
)
GENERATED_TEXT = re.compile(
    r"(?i)@generated|\bcode generated\b.*\bdo not edit\b|\b(this file (is|was)|"
    r"autom?atically|auto-?)\s?generated\b"
)
GO_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
FIRST = 1_000  # characters in which a file says that it was generated
LONG_LINE = 5_000  # characters of a line that nobody wrote
FEW = 20  # files that are always resolved by themselves, or
SHARE = 8  # one in so many of the repository; beyond, resolving all takes no longer


class Mapped(NamedTuple):
    """What indexing a repository found and did."""

    root: str
    files: int = 0  # that count now
    parsed: int = 0  # that were new or had changed
    gone: int = 0  # that are not there any more
    bytes: int = 0  # that were read
    skipped: Mapping[str, int] = {}  # files left out, by reason
    size: Size = Size()


def mapped(
    index: CodeIndex,
    root: str,
    now: Callable[[], float],
    progress: Progress,
    policy: Policy = USUAL,
) -> Mapped:
    """Bring the index of a repository up to date. Raises NotFound where there is no such folder."""
    there = walked(Root(root, ""), lambda name: language_of(name) is not None, policy)
    skipped = there.skipped.copy()
    mine = [file for file in there.files if not unwritten(file.path)]
    skipped.update(why for file in there.files if (why := unwritten(file.path)))
    known = index.known(root)
    plan = planned(known, there._replace(files=mine))
    name = Path(root).name
    total, done, count = sum(file.stamp.size for file in plan.changed), 0, 0
    progress(f"parsing {name}", 0, total)
    if known and index.resolved(root) and len(plan.changed) + len(plan.gone) <= many(known):
        if not (plan.changed or plan.gone):
            return Mapped(root, len(mine), 0, 0, 0, +skipped, index.size(root))
        if one := amend(index, root, plan, known, now, skipped, policy):
            return Mapped(
                root, len(mine), one.parsed, len(plan.gone), one.bytes, +skipped, index.size(root)
            )
    for batch in batches(plan.changed):
        found = looked_at(root, batch, known, now, skipped, policy)
        index.stamp(root, found.same)
        index.drop(root, found.left)
        index.put(root, [to_parsed(*pair) for pair in found.fresh])
        count, done = count + len(found.fresh), done + found.bytes
        progress(f"parsing {name}", done, total)
    index.drop(root, plan.gone)
    if not index.resolved(root) or root not in index.roots():
        progress(f"resolving {name}", 0, None)
        facts = {path: unpacked(text) for path, text in index.facts(root).items()}
        index.link(root, linked(World(called(root, now), Loaded(facts), meaning_of), sorted(facts)))
    return Mapped(root, len(mine), count, len(plan.gone), done, +skipped, index.size(root))


class Amended(NamedTuple):
    """What bringing a few files up to date took."""

    parsed: int
    bytes: int


def amend(
    index: CodeIndex,
    root: str,
    plan: Plan,
    known: Mapping[str, Indexed],
    now: Callable[[], float],
    skipped: Counter[str],
    policy: Policy,
) -> Amended | None:
    """Bring the index up to date after a few files changed, in one transaction; None if that alters
    too much.
    """
    tried = skipped.copy()
    found = looked_at(root, plan.changed, known, now, tried, policy)
    gone = [*plan.gone, *found.left]
    fresh = {file.path: facts for file, facts in found.fresh}
    made = amended(index, root, called(root, now), known, fresh, gone, many(known))
    if made is None:
        return None
    skipped.update(tried - skipped)
    index.stamp(root, found.same)
    if found.fresh or gone:
        index.amend(root, [to_parsed(*pair) for pair in found.fresh], gone, *made)
    return Amended(len(found.fresh), found.bytes)


def called(root: str, now: Callable[[], float]) -> str:
    """What a repository is called in its own imports: the end of what its go.mod says, else its
    folder's name.
    """
    try:
        said = GO_MODULE.search(read(Path(root, "go.mod"), now()).text)
    except (OSError, LeftOut):
        said = None
    return said[1].rpartition("/")[2] if said else Path(root).name


def many(known: Mapping[str, Indexed]) -> int:
    """Files of a repository beyond which all are resolved anew."""
    return max(FEW, len(known) // SHARE)


def looked_at(
    root: str,
    files: Iterable[Seen],
    known: Mapping[str, Indexed],
    now: Callable[[], float],
    skipped: Counter[str],
    policy: Policy,
) -> Opened[tuple[Indexed, Facts]]:
    """Parse some files that may have changed, if they have."""

    def made(file: Indexed, content: Content) -> tuple[Indexed, Facts]:
        skipped["generated"] += generated(content.text)
        return file, facts_of(file.path, content.text)

    return opened(root, files, known, now, skipped, made, policy)


def to_parsed(file: Indexed, facts: Facts) -> Parsed:
    """A file as it is indexed."""
    return Parsed(file, facts.language, facts.symbols, packed(facts), modules_of(facts))


def facts_of(path: str, text: str) -> Facts:
    """What stands in a file; of one that nobody wrote, nothing."""
    language = language_of(path)
    assert language is not None
    if generated(text):
        return Facts(language.name)
    return parsed(text.encode("utf-8", "replace"), language.name)


def unwritten(path: str) -> str:
    """Why a file is nobody's own work, going by its name; empty if it may be."""
    *folders, name = path.split("/")
    if not VENDORED.isdisjoint(folders):
        return "vendored"
    return "generated" if GENERATED_NAME.search(name) else ""


def generated(text: str) -> bool:
    """Whether a file says that it was generated, or has lines that nobody writes."""
    return (
        bool(GENERATED_TEXT.search(text[:FIRST]))
        or max(map(len, text.splitlines()), default=0) > LONG_LINE
    )
