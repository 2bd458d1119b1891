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

from reverie.code.file_parser import parse_file
from reverie.code.incremental_resolution import amend_edges, list_file_modules
from reverie.code.languages import detect_language
from reverie.code.name_resolution import NameResolver
from reverie.code.parsed_facts import FileFacts, facts_from_json, facts_to_json
from reverie.code.reference_resolution import link_files, resolve_mention
from reverie.code.symbol_tables import LoadedFacts
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.notes.folder_walk import (
    FileContent,
    FileSkipped,
    ListedFile,
    read_text_file,
    walk_folder,
)
from reverie.notes.note_indexing import (
    OpenedFiles,
    Progress,
    SyncPlan,
    group_by_bytes,
    open_changed_files,
    plan_sync,
)
from reverie.notes.watched_roots import WatchedRoot
from reverie.storage.code_index_port import CodeIndex, IndexSize, ParsedFile
from reverie.storage.note_index_port import IndexedFile

VENDORED_FOLDERS = frozenset(
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
HEADER_CHARS = 1_000  # characters in which a file says that it was generated
MAX_LINE_CHARS = 5_000  # characters of a line that nobody wrote
ALWAYS_AMENDED = 20  # files that are always resolved by themselves, or
AMENDED_SHARE = 8  # one in so many of the repository; beyond, resolving all takes no longer


class CodeIndexReport(NamedTuple):
    """What indexing a repository found and did."""

    root: str
    files: int = 0  # that count now
    parsed: int = 0  # that were new or had changed
    gone: int = 0  # that are not there any more
    bytes: int = 0  # that were read
    skipped: Mapping[str, int] = {}  # files left out, by reason
    size: IndexSize = IndexSize()


def update_code_index(
    index: CodeIndex,
    root: str,
    now: Callable[[], float],
    progress: Progress,
    policy: Policy = DEFAULT_POLICY,
) -> CodeIndexReport:
    """Bring the index of a repository up to date. Raises NotFound where there is no such folder."""
    there = walk_folder(
        WatchedRoot(root, ""), lambda name: detect_language(name) is not None, policy
    )
    skipped = there.skipped.copy()
    mine = [file for file in there.files if not find_skip_reason(file.path)]
    skipped.update(why for file in there.files if (why := find_skip_reason(file.path)))
    known = index.indexed_files(root)
    plan = plan_sync(known, there._replace(files=mine))
    name = Path(root).name
    total, done, count = sum(file.stamp.size for file in plan.changed), 0, 0
    progress(f"parsing {name}", 0, total)
    if (
        known
        and index.resolved(root)
        and len(plan.changed) + len(plan.gone) <= max_amended_files(known)
    ):
        if not (plan.changed or plan.gone):
            return CodeIndexReport(root, len(mine), 0, 0, 0, +skipped, index.size(root))
        if one := amend_index(index, root, plan, known, now, skipped, policy):
            return CodeIndexReport(
                root, len(mine), one.parsed, len(plan.gone), one.bytes, +skipped, index.size(root)
            )
    for batch in group_by_bytes(plan.changed):
        found = parse_changed_files(root, batch, known, now, skipped, policy)
        index.update_stamps(root, found.same)
        index.drop(root, found.left)
        index.put(root, [to_parsed_file(*pair) for pair in found.fresh])
        count, done = count + len(found.fresh), done + found.bytes
        progress(f"parsing {name}", done, total)
    index.drop(root, plan.gone)
    if not index.resolved(root) or root not in index.roots():
        progress(f"resolving {name}", 0, None)
        facts = {path: facts_from_json(text) for path, text in index.facts(root).items()}
        index.link(
            root,
            link_files(
                NameResolver(read_repository_name(root, now), LoadedFacts(facts), resolve_mention),
                sorted(facts),
            ),
        )
    return CodeIndexReport(root, len(mine), count, len(plan.gone), done, +skipped, index.size(root))


class AmendReport(NamedTuple):
    """What bringing a few files up to date took."""

    parsed: int
    bytes: int


def amend_index(
    index: CodeIndex,
    root: str,
    plan: SyncPlan,
    known: Mapping[str, IndexedFile],
    now: Callable[[], float],
    skipped: Counter[str],
    policy: Policy,
) -> AmendReport | None:
    """Bring the index up to date after a few files changed, in one transaction; None if that alters
    too much.
    """
    tried = skipped.copy()
    found = parse_changed_files(root, plan.changed, known, now, tried, policy)
    gone = [*plan.gone, *found.left]
    fresh = {file.path: facts for file, facts in found.fresh}
    made = amend_edges(
        index, root, read_repository_name(root, now), known, fresh, gone, max_amended_files(known)
    )
    if made is None:
        return None
    skipped.update(tried - skipped)
    index.update_stamps(root, found.same)
    if found.fresh or gone:
        index.amend(root, [to_parsed_file(*pair) for pair in found.fresh], gone, *made)
    return AmendReport(len(found.fresh), found.bytes)


def read_repository_name(root: str, now: Callable[[], float]) -> str:
    """What a repository is called in its own imports: the end of what its go.mod says, else its
    folder's name.
    """
    try:
        said = GO_MODULE.search(read_text_file(Path(root, "go.mod"), now()).text)
    except (OSError, FileSkipped):
        said = None
    return said[1].rpartition("/")[2] if said else Path(root).name


def max_amended_files(known: Mapping[str, IndexedFile]) -> int:
    """Files of a repository beyond which all are resolved anew."""
    return max(ALWAYS_AMENDED, len(known) // AMENDED_SHARE)


def parse_changed_files(
    root: str,
    files: Iterable[ListedFile],
    known: Mapping[str, IndexedFile],
    now: Callable[[], float],
    skipped: Counter[str],
    policy: Policy,
) -> OpenedFiles[tuple[IndexedFile, FileFacts]]:
    """Parse some files that may have changed, if they have."""

    def made(file: IndexedFile, content: FileContent) -> tuple[IndexedFile, FileFacts]:
        skipped["generated"] += is_generated(content.text)
        return file, parse_facts(file.path, content.text)

    return open_changed_files(root, files, known, now, skipped, made, policy)


def to_parsed_file(file: IndexedFile, facts: FileFacts) -> ParsedFile:
    """A file as it is indexed."""
    return ParsedFile(
        file, facts.language, facts.symbols, facts_to_json(facts), list_file_modules(facts)
    )


def parse_facts(path: str, text: str) -> FileFacts:
    """What stands in a file; of one that nobody wrote, nothing."""
    language = detect_language(path)
    assert language is not None
    if is_generated(text):
        return FileFacts(language.name)
    return parse_file(text.encode("utf-8", "replace"), language.name)


def find_skip_reason(path: str) -> str:
    """Why a file is nobody's own work, going by its name; empty if it may be."""
    *folders, name = path.split("/")
    if not VENDORED_FOLDERS.isdisjoint(folders):
        return "vendored"
    return "generated" if GENERATED_NAME.search(name) else ""


def is_generated(text: str) -> bool:
    """Whether a file says that it was generated, or has lines that nobody writes."""
    return (
        bool(GENERATED_TEXT.search(text[:HEADER_CHARS]))
        or max(map(len, text.splitlines()), default=0) > MAX_LINE_CHARS
    )
