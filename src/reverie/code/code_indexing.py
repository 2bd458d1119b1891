"""Making the index what a repository's files are: only what changed is parsed and resolved again.

Which files count: those of a known language that no ignore file names, up to 2 MB
(`notes.folder_walk`), but not vendored folders and not what was generated, going by its name or by
what its first lines say. A file whose stamp is the same is not opened, one whose bytes are the same
is not parsed. A change in one file may give a name in another one another meaning: after few
changes the files are found for which that may be so (`incremental_resolution`), after many all are
resolved anew from the facts that are kept.

Whoever is interrupted goes on there the next time; until then the index says that it is not
resolved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.code.file_parser import parse_file
from reverie.code.incremental_resolution import amend_edges, list_file_modules
from reverie.code.languages import detect_language
from reverie.code.name_resolution import NameResolver
from reverie.code.parsed_facts import FileFacts, facts_from_json, facts_to_json
from reverie.code.reference_resolution import link_files, resolve_mention
from reverie.code.symbol_tables import LoadedFacts
from reverie.core.privacy_policy import Policy
from reverie.notes.folder_walk import FileSkipped, ListedFile, read_text_file, walk_folder
from reverie.notes.note_indexing import (
    OpenedFiles,
    Progress,
    SyncPlan,
    SyncRun,
    group_by_bytes,
    open_changed_files,
    plan_sync,
)
from reverie.notes.watched_roots import WatchedRoot
from reverie.storage.indexed_code import CodeIndex, IndexSize, ParsedFile
from reverie.storage.indexed_files import IndexedFile

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
# characters in which a file says that it was generated
HEADER_CHARS = 1_000
# characters of a line beyond which nobody wrote it
MAX_LINE_CHARS = 5_000
# Beyond so many files, or one in so many of the repository, resolving all takes no longer.
ALWAYS_AMENDED = 20
AMENDED_SHARE = 8


class ParseCounts(NamedTuple):
    """How many files were parsed, and how many bytes were read."""

    parsed: int = 0
    bytes: int = 0


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
    policy: Policy,
) -> CodeIndexReport:
    """Bring the index of a repository up to date; NotFound if there is no such folder."""
    place = WatchedRoot(root, "")
    listing = walk_folder(place, lambda name: detect_language(name) is not None, policy)
    skipped = listing.skipped.copy()
    files: list[ListedFile] = []
    for file in listing.files:
        reason = find_skip_reason(file.path)
        if reason:
            skipped[reason] += 1
        else:
            files.append(file)
    run = SyncRun(root, index.indexed_files(root), now, skipped, policy)
    plan = plan_sync(run.known, listing._replace(files=files))
    counts = apply_plan(index, run, plan, progress)
    return CodeIndexReport(
        root,
        files=len(files),
        parsed=counts.parsed,
        gone=len(plan.gone),
        bytes=counts.bytes,
        skipped=+skipped,
        size=index.size(root),
    )


def apply_plan(
    index: CodeIndex,
    run: SyncRun,
    plan: SyncPlan,
    progress: Progress,
) -> ParseCounts:
    """Make the index what the plan says: by amending it if little has changed, else anew."""
    name = Path(run.root).name
    total = sum(file.stamp.size for file in plan.changed)
    progress(f"parsing {name}", 0, total)
    changed = len(plan.changed) + len(plan.gone)
    is_resolved = bool(run.known) and index.resolved(run.root)
    if is_resolved and changed <= max_amended_files(run.known):
        counts = amend_index(index, run, plan) if changed else ParseCounts()
        if counts is not None:
            return counts
    counts = ParseCounts()
    # A transaction a batch: what is interrupted goes on the next time.
    for batch in group_by_bytes(plan.changed):
        found = open_changed_files(run, batch)
        facts = parse_opened_files(run, found)
        index.update_stamps(run.root, found.same)
        index.drop(run.root, found.left)
        index.put(
            run.root,
            [to_parsed_file(*pair) for pair in facts.items()],
        )
        counts = ParseCounts(counts.parsed + len(facts), counts.bytes + found.bytes)
        progress(f"parsing {name}", counts.bytes, total)
    index.drop(run.root, plan.gone)
    if not index.resolved(run.root) or run.root not in index.roots():
        progress(f"resolving {name}", 0, None)
        resolve_all_files(index, run)
    return counts


def resolve_all_files(index: CodeIndex, run: SyncRun) -> None:
    """Resolve all names of a repository anew from the facts that are kept."""
    facts = {path: facts_from_json(text) for path, text in index.facts(run.root).items()}
    resolver = NameResolver(read_repository_name(run), LoadedFacts(facts), resolve_mention)
    index.link(run.root, link_files(resolver, sorted(facts)))


def amend_index(
    index: CodeIndex,
    run: SyncRun,
    plan: SyncPlan,
) -> ParseCounts | None:
    """Bring the index up to date after a few files changed, in one transaction.

    None, with nothing done, if that alters too much.
    """
    tried = run._replace(skipped=run.skipped.copy())
    found = open_changed_files(tried, plan.changed)
    facts = parse_opened_files(tried, found)
    gone = [*plan.gone, *found.left]
    fresh = {file.path: one for file, one in facts.items()}
    name = read_repository_name(run)
    most = max_amended_files(run.known)
    amendment = amend_edges(index, run.root, name, run.known, fresh, gone, most)
    if amendment is None:
        return None
    run.skipped.update(tried.skipped - run.skipped)
    index.update_stamps(run.root, found.same)
    if facts or gone:
        files = [to_parsed_file(*pair) for pair in facts.items()]
        index.amend(run.root, files, gone, *amendment)
    return ParseCounts(len(facts), found.bytes)


def read_repository_name(run: SyncRun) -> str:
    """What a repository is called in its own imports: as its go.mod says, else as its folder."""
    root = Path(run.root)
    try:
        module = GO_MODULE.search(read_text_file(root / "go.mod", run.now()).text)
    except (OSError, FileSkipped):
        module = None
    return module[1].rpartition("/")[2] if module else root.name


def max_amended_files(known: Mapping[str, IndexedFile]) -> int:
    """Files of a repository beyond which all are resolved anew."""
    return max(ALWAYS_AMENDED, len(known) // AMENDED_SHARE)


def parse_opened_files(
    run: SyncRun,
    found: OpenedFiles,
) -> dict[IndexedFile, FileFacts]:
    """The facts of those of some files that have changed."""
    facts: dict[IndexedFile, FileFacts] = {}
    for file, text in found.fresh:
        run.skipped["generated"] += is_generated(text)
        facts[file] = parse_facts(file.path, text)
    return facts


def to_parsed_file(file: IndexedFile, facts: FileFacts) -> ParsedFile:
    """A file as it is indexed."""
    return ParsedFile(
        file,
        facts.language,
        facts.symbols,
        facts_to_json(facts),
        list_file_modules(facts),
    )


def parse_facts(path: str, text: str) -> FileFacts:
    """The facts of a file; none of a generated one."""
    language = detect_language(path)
    assert language is not None
    if is_generated(text):
        return FileFacts(language.name)
    return parse_file(text.encode("utf-8", "replace"), language.name)


def find_skip_reason(path: str) -> str:
    """Why a file is left out by its path (vendored, generated); empty if it is indexed."""
    *folders, name = path.split("/")
    if not VENDORED_FOLDERS.isdisjoint(folders):
        return "vendored"
    return "generated" if GENERATED_NAME.search(name) else ""


def is_generated(text: str) -> bool:
    """True if a file says that it was generated, or has lines that nobody writes."""
    if GENERATED_TEXT.search(text[:HEADER_CHARS]):
        return True
    return max(map(len, text.splitlines()), default=0) > MAX_LINE_CHARS
