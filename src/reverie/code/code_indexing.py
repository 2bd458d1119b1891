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
from reverie.storage.indexed_code import IndexSize, ParsedFile
from reverie.storage.indexed_files import IndexedFile
from reverie.storage.sqlite.code_index import CodeIndex

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


class IndexRun(NamedTuple):
    """One indexing of a repository: what it works on and what it may read."""

    code_index: CodeIndex
    root: str
    # the files in the index when it began
    known: Mapping[str, IndexedFile]
    now: Callable[[], float]
    # files left out, by reason
    skipped: Counter[str]
    policy: Policy


class ParseCounts(NamedTuple):
    """How many files were parsed, and how many bytes were read."""

    parsed: int
    bytes: int


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
    """Bring the index of a repository up to date; NotFound if there is no such folder."""
    listing = walk_folder(
        WatchedRoot(root, ""), lambda name: detect_language(name) is not None, policy
    )
    skipped = listing.skipped.copy()
    files: list[ListedFile] = []
    for file in listing.files:
        reason = find_skip_reason(file.path)
        if reason:
            skipped[reason] += 1
        else:
            files.append(file)
    run = IndexRun(index, root, index.indexed_files(root), now, skipped, policy)
    plan = plan_sync(run.known, listing._replace(files=files))
    counts = apply_plan(run, plan, progress)
    return CodeIndexReport(
        root,
        len(files),
        counts.parsed,
        len(plan.gone),
        counts.bytes,
        +skipped,
        index.size(root),
    )


def apply_plan(run: IndexRun, plan: SyncPlan, progress: Progress) -> ParseCounts:
    """Make the index what the plan says: by amending it if little has changed, else anew."""
    total = sum(file.stamp.size for file in plan.changed)
    progress(f"parsing {Path(run.root).name}", 0, total)
    changed = len(plan.changed) + len(plan.gone)
    is_resolved = bool(run.known) and run.code_index.resolved(run.root)
    if is_resolved and changed <= max_amended_files(run.known):
        counts = amend_index(run, plan) if changed else ParseCounts(0, 0)
        if counts is not None:
            return counts
    counts = reparse_files(run, plan, progress)
    if not run.code_index.resolved(run.root) or run.root not in run.code_index.roots():
        progress(f"resolving {Path(run.root).name}", 0, None)
        resolve_all_files(run)
    return counts


def reparse_files(run: IndexRun, plan: SyncPlan, progress: Progress) -> ParseCounts:
    """Parse what has changed, a transaction a batch; what is interrupted goes on the next time."""
    total = sum(file.stamp.size for file in plan.changed)
    parsed, size = 0, 0
    for batch in group_by_bytes(plan.changed):
        found = parse_changed_files(run, batch)
        run.code_index.update_stamps(run.root, found.same)
        run.code_index.drop(run.root, found.left)
        run.code_index.put(run.root, [to_parsed_file(*pair) for pair in found.fresh])
        parsed += len(found.fresh)
        size += found.bytes
        progress(f"parsing {Path(run.root).name}", size, total)
    run.code_index.drop(run.root, plan.gone)
    return ParseCounts(parsed, size)


def resolve_all_files(run: IndexRun) -> None:
    """Resolve all names of a repository anew from the facts that are kept."""
    texts = run.code_index.facts(run.root)
    facts = {path: facts_from_json(text) for path, text in texts.items()}
    name = read_repository_name(run.root, run.now)
    resolver = NameResolver(name, LoadedFacts(facts), resolve_mention)
    run.code_index.link(run.root, link_files(resolver, sorted(facts)))


def amend_index(run: IndexRun, plan: SyncPlan) -> ParseCounts | None:
    """Bring the index up to date after a few files changed, in one transaction.

    None, with nothing done, if that alters too much.
    """
    tried = run._replace(skipped=run.skipped.copy())
    found = parse_changed_files(tried, plan.changed)
    gone = [*plan.gone, *found.left]
    fresh = {file.path: facts for file, facts in found.fresh}
    name = read_repository_name(run.root, run.now)
    most = max_amended_files(run.known)
    amendment = amend_edges(run.code_index, run.root, name, run.known, fresh, gone, most)
    if amendment is None:
        return None
    run.skipped.update(tried.skipped - run.skipped)
    run.code_index.update_stamps(run.root, found.same)
    if found.fresh or gone:
        files = [to_parsed_file(*pair) for pair in found.fresh]
        run.code_index.amend(run.root, files, gone, *amendment)
    return ParseCounts(len(found.fresh), found.bytes)


def read_repository_name(root: str, now: Callable[[], float]) -> str:
    """What a repository is called in its own imports: as its go.mod says, else as its folder."""
    try:
        module = GO_MODULE.search(read_text_file(Path(root, "go.mod"), now()).text)
    except (OSError, FileSkipped):
        module = None
    return module[1].rpartition("/")[2] if module else Path(root).name


def max_amended_files(known: Mapping[str, IndexedFile]) -> int:
    """Files of a repository beyond which all are resolved anew."""
    return max(ALWAYS_AMENDED, len(known) // AMENDED_SHARE)


def parse_changed_files(
    run: IndexRun, files: Iterable[ListedFile]
) -> OpenedFiles[tuple[IndexedFile, FileFacts]]:
    """Parse those of some files that have changed."""

    def parse_content(file: IndexedFile, content: FileContent) -> tuple[IndexedFile, FileFacts]:
        run.skipped["generated"] += is_generated(content.text)
        return file, parse_facts(file.path, content.text)

    return open_changed_files(
        run.root, files, run.known, run.now, run.skipped, parse_content, run.policy
    )


def to_parsed_file(file: IndexedFile, facts: FileFacts) -> ParsedFile:
    """A file as it is indexed."""
    return ParsedFile(
        file, facts.language, facts.symbols, facts_to_json(facts), list_file_modules(facts)
    )


def parse_facts(path: str, text: str) -> FileFacts:
    """The facts of a file; none of a generated one."""
    language = detect_language(path)
    assert language is not None
    if is_generated(text):
        return FileFacts(language.name)
    return parse_file(text.encode("utf-8", "replace"), language.name)


def find_skip_reason(path: str) -> str:
    """Why a file is nobody's own work, going by its path; empty if it may be."""
    *folders, name = path.split("/")
    if not VENDORED_FOLDERS.isdisjoint(folders):
        return "vendored"
    return "generated" if GENERATED_NAME.search(name) else ""


def is_generated(text: str) -> bool:
    """True if a file says that it was generated, or has lines that nobody writes."""
    if GENERATED_TEXT.search(text[:HEADER_CHARS]):
        return True
    return max(map(len, text.splitlines()), default=0) > MAX_LINE_CHARS
