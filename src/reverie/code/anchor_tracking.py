"""Anchors: how a place in the code looks now, and where it went if it is not there.

`observe_anchor` says how a file or symbol looks. `track_anchor` says of an anchor whether it holds,
has moved, changed or gone; it asks the index first, and opens only files whose definition is not
what it was. A definition is followed

- by its text, to wherever that stands now under whatever name, if it stood in one place only;
- by its name, to a file that had none of that name before, if it is still much alike;
- by similarity, to a new name in its own file, if nothing else there comes near.

A file is followed by its content, or by most of what it consists of. Whoever was there before is
never taken for what moved: so much of the surroundings an anchor keeps. What cannot be followed so
is gone, until it comes back.

Nothing is decided from an index that is behind the files: then the anchor stays as it is, for the
next time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from reverie.code.definition_digest import (
    compare_definitions,
    digest_syntax,
    find_definition_node,
    hash_bytes,
    parse_tree,
    take_excerpt,
)
from reverie.code.file_parser import parse_file
from reverie.code.languages import detect_language
from reverie.code.parsed_facts import strip_qualifiers
from reverie.core.code_anchors import CHANGED, GIVEN, GONE, CodeAnchor
from reverie.core.errors import BadInput
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.notes.folder_walk import admit_path, read_text_file, walk_folder
from reverie.notes.watched_roots import WatchedRoot
from reverie.storage.indexed_code import Symbol, SymbolLocation
from reverie.storage.indexed_files import IndexedFile
from reverie.storage.sqlite.code_index import CodeIndex

if TYPE_CHECKING:
    from tree_sitter import Node

# similarity from which a definition of the same name elsewhere is the same one
MIN_MOVED_SIMILARITY = 0.6
# …and one of another name in the same file, which says less
MIN_RENAMED_SIMILARITY = 0.7
# by which the most similar must be ahead of the next
MIN_LEAD = 0.1
# characters that a text must have to be followed to another name
MIN_RENAMED_CHARS = 60
# share of a file's definitions by which it is known again, and still spoken of
MIN_SHARED_PARTS = 0.5
# definitions that a file must have for that
MIN_PARTS = 3
# hexadecimal digits of a name or text that are kept of the surroundings
MARK_DIGITS = 4
MAX_MARKS = 400
MAX_NAMESAKES = 20
MAX_SEARCHED_FILES = 2_000
# kinds of symbols that may become each other by moving
KIND_GROUPS = (("function", "method"), ("variable", "attribute"), ("class",))


class FileView(NamedTuple):
    """A file as it is now."""

    hash: bytes
    mtime: float  # seconds since 1970
    data: bytes
    language: str  # empty: none that the code map reads
    symbols: Sequence[Symbol]


SymbolsByName = dict[str, list[Symbol]]


class RepositoryView:
    """The files of a repository, each opened at most once, and what the index says of them."""

    def __init__(
        self, index: CodeIndex, root: str, now: float, policy: Policy = DEFAULT_POLICY
    ) -> None:
        self.index, self.root, self.now, self.policy = index, root, now, policy
        self.known = index.indexed_files(root)
        self._files: dict[str, FileView | None] = {}
        self._indexed: dict[str, SymbolsByName] = {}
        self._trees: dict[str, Node] = {}

    def file(self, path: str) -> FileView | None:
        """A file that memory may read; None if there is no such file."""
        if path not in self._files:
            self._files[path] = None
            with suppress(OSError, BadInput):
                self._files[path] = self._read_file(path)
        return self._files[path]

    def _read_file(self, path: str) -> FileView:
        """Open and parse a file."""
        place = admit_path(WatchedRoot(self.root, ""), path, lambda _: True, self.policy)
        content = read_text_file(place, self.now, self.policy)
        mtime = place.stat().st_mtime
        data = content.text.encode("utf-8", "replace")
        language = detect_language(path)
        if language is None:
            return FileView(content.hash, mtime, data, "", ())
        symbols = parse_file(data, language.name).symbols
        return FileView(content.hash, mtime, data, language.name, symbols)

    def tree(self, path: str, file: FileView) -> Node:
        """The syntax tree of a file."""
        if path not in self._trees:
            self._trees[path] = parse_tree(file.data, file.language)
        return self._trees[path]

    def indexed_symbols(self, path: str) -> SymbolsByName:
        """What the index says that a file defines, by qualified name."""
        if path not in self._indexed:
            places = self.index.symbols(self.root, [path]) if path in self.known else []
            self._indexed[path] = group_by_qualified_name(place.symbol for place in places)
        return self._indexed[path]

    def is_behind(self, path: str) -> bool:
        """True if a file is not what the index says."""
        file = self.file(path)
        return file is not None and path in self.known and file.hash != self.known[path].hash


# what is seen of each repository, by its root
RepositoryViews = dict[str, RepositoryView]


def view_repository(
    index: CodeIndex,
    root: str,
    now: float,
    views: RepositoryViews,
    policy: Policy = DEFAULT_POLICY,
) -> RepositoryView:
    """The view of one repository: the same for all who share `views`.

    So each file is opened once for them all.
    """
    if root not in views:
        views[root] = RepositoryView(index, root, now, policy)
    return views[root]


def group_by_qualified_name(symbols: Iterable[Symbol]) -> SymbolsByName:
    """Symbols by qualified name: overloads share one, and a property's getter and setter."""
    groups: SymbolsByName = {}
    for symbol in symbols:
        groups.setdefault(symbol.qual, []).append(symbol)
    return groups


def combine_body_digests(same: Sequence[Symbol]) -> str:
    """One digest for all definitions of a name."""
    if len(same) == 1:
        return same[0].body
    return hash_bytes("".join(one.body for one in same).encode())


def observe_anchor(
    view: RepositoryView, path: str, name: str = "", by: str = GIVEN
) -> CodeAnchor | None:
    """An anchor at a file, or at a symbol by its qualified name, as it looks now; None if gone."""
    file = view.file(path)
    if file is None:
        return None
    if not name:
        return observe_file_anchor(view, path, file, by)
    same = group_by_qualified_name(file.symbols).get(name, [])
    if not same:
        return None
    digest = combine_body_digests(same)
    tree = view.tree(path, file)
    nodes = [find_definition_node(tree, file.data, symbol) for symbol in same]
    shapes = [digest_syntax(node, same[0].name) for node in nodes]
    text = "\n\n".join((node.text or b"").decode("utf-8", "replace") for node in nodes)
    namesakes = [
        one.path
        for one in view.index.find_symbols(view.root, name, MAX_NAMESAKES + 1)
        if one.symbol.qual == name and one.path != path
    ]
    has_twins = any(
        (one.path, one.symbol.qual) != (path, name)
        for one in view.index.symbols_with_body(view.root, digest)
    )
    return CodeAnchor(
        view.root,
        path,
        name,
        same[0].kind,
        digest,
        shapes[0] if len(shapes) == 1 else hash_bytes("".join(shapes).encode()),
        take_excerpt(text),
        digest_names(one.qual for one in file.symbols),
        tuple(dict.fromkeys(namesakes)),
        has_twins,
        view.now,
        by,
    )


def observe_file_anchor(view: RepositoryView, path: str, file: FileView, by: str) -> CodeAnchor:
    """An anchor at a file as it looks now."""
    same_content = sum(one.hash == file.hash for one in view.known.values())
    has_twins = same_content > (path in view.known)
    if file.language:
        shape = digest_syntax(view.tree(path, file))
    else:
        shape = hash_bytes(b" ".join(file.data.split()))
    top_level = select_top_level(file.symbols)[:MAX_MARKS]
    parts = "".join(symbol.body[:MARK_DIGITS] for symbol in top_level)
    digest = shorten_hash(file.hash)
    return CodeAnchor(
        view.root, path, "", "", digest, shape, "", parts, (), has_twins, view.now, by
    )


def shorten_hash(hash: bytes) -> str:
    """The digest of a file's content, as an anchor keeps it."""
    return hash.hex()[:16]


def select_top_level(symbols: Iterable[Symbol]) -> list[Symbol]:
    """What a file consists of: its definitions, without what stands in them."""
    return [symbol for symbol in symbols if symbol.parent < 0]


def digest_names(names: Iterable[str]) -> str:
    """Digests of names, in a row."""
    return "".join(digest_name(name) for name in list(names)[:MAX_MARKS])


def digest_name(name: str) -> str:
    """The few digits by which a name is known again."""
    return hash_bytes(name.encode())[:MARK_DIGITS]


def has_digest(mark: str, row: str) -> bool:
    """True if a digest stands in a row of them."""
    return mark in split_digests(row)


def split_digests(row: str) -> set[str]:
    """The digests of a row."""
    return {row[start : start + MARK_DIGITS] for start in range(0, len(row), MARK_DIGITS)}


def track_anchor(view: RepositoryView, anchor: CodeAnchor) -> CodeAnchor:
    """The anchor as it is to be kept from now on; the same one if nothing has altered."""
    if is_unaltered(view, anchor):
        return mark_holding(anchor)
    if view.is_behind(anchor.path):
        return anchor
    present = observe_anchor(view, anchor.path, anchor.symbol, anchor.by)
    if present is None or present.shape != anchor.shape:
        former = follow_back(view, anchor)
        if former:
            return former
    if present is None:
        follow = follow_definition if anchor.symbol else follow_file
        return follow(view, anchor) or anchor._replace(state=GONE)
    if present.shape == anchor.shape:
        return mark_holding(anchor._replace(digest=present.digest))
    is_same = is_mostly_unchanged(anchor, present)
    return anchor._replace(state="") if is_same else mark_changed(anchor, present)


def is_unaltered(view: RepositoryView, anchor: CodeAnchor) -> bool:
    """True if the index says that the code is what it was, letter by letter."""
    if anchor.symbol:
        same = view.indexed_symbols(anchor.path).get(anchor.symbol, [])
        return bool(same) and combine_body_digests(same) == anchor.digest
    known = view.known.get(anchor.path)
    return known is not None and has_content(known, anchor)


def has_content(file: FileView | IndexedFile, anchor: CodeAnchor) -> bool:
    """True if a file has the content that the anchored one had."""
    return shorten_hash(file.hash) == anchor.digest


def mark_holding(anchor: CodeAnchor) -> CodeAnchor:
    """An anchor that holds."""
    return anchor._replace(state="", judged="", verdict="")


def mark_changed(anchor: CodeAnchor, present: CodeAnchor) -> CodeAnchor:
    """An anchor whose code has changed; what a model said of another text does not count."""
    if anchor.judged == present.shape:
        return anchor._replace(state=CHANGED)
    return anchor._replace(state=CHANGED, judged="", verdict="")


def is_mostly_unchanged(anchor: CodeAnchor, present: CodeAnchor) -> bool:
    """True for a file that a text only names and that is still mostly what it was."""
    if anchor.by == GIVEN or anchor.symbol:
        return False
    before, now = split_digests(anchor.beside), split_digests(present.beside)
    return not anchor.beside or measure_overlap(before, now) >= MIN_SHARED_PARTS


def measure_overlap(before: set[str], now: set[str]) -> float:
    """How much of what was there is there now, 0..1."""
    return len(before & now) / max(1, len(before))


def follow_definition(view: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor where its definition stands now; None if that is not known."""
    place = find_same_text(view, anchor)
    if place is not None:
        there = observe_anchor(view, place.path, place.symbol.qual, anchor.by)
        if there:
            return there._replace(at=anchor.at, was=note_former_place(anchor, there.location))
    similar = find_similar_text(view, anchor)
    if similar is None:
        return None
    there = observe_anchor(view, similar.path, similar.symbol, anchor.by)
    if there is None:
        return None
    moved = anchor._replace(
        path=there.path,
        symbol=there.symbol,
        kind=there.kind,
        beside=there.beside,
        namesakes=there.namesakes,
        was=note_former_place(anchor, there.location),
    )
    if there.shape == anchor.shape:
        return mark_holding(moved._replace(digest=there.digest))
    return mark_changed(moved, there)


def follow_back(view: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor where it once was, if it was followed from there and all is as it was again."""
    path, _, symbol = anchor.was.rpartition(":") if anchor.symbol else (anchor.was, "", "")
    there = observe_anchor(view, path, symbol, anchor.by) if path else None
    if there is None or there.shape != anchor.shape:
        return None
    return there._replace(at=anchor.at)


def note_former_place(anchor: CodeAnchor, location: str) -> str:
    """Where what is at a location now once was; empty if it is there again."""
    former = anchor.was or anchor.location
    return "" if former == location else former


def find_same_text(view: RepositoryView, anchor: CodeAnchor) -> SymbolLocation | None:
    """The one place where the text of a definition stands now, that did not have it before."""
    if anchor.twins:
        return None
    candidates = [
        one
        for one in view.index.symbols_with_body(view.root, anchor.digest)
        if can_become_kind(one.symbol.kind, anchor.kind)
        and not was_known_before(anchor, one.path, one.symbol.qual)
    ]
    named = [one for one in candidates if one.symbol.name == strip_qualifiers(anchor.symbol)]
    # a short text such as `pass` says nothing under another name
    if not named and len(anchor.body) >= MIN_RENAMED_CHARS:
        named = candidates
    return named[0] if len(named) == 1 else None


class SimilarDefinition(NamedTuple):
    """A definition that may be the one that is looked for."""

    similarity: float
    path: str
    symbol: str


def find_similar_text(view: RepositoryView, anchor: CodeAnchor) -> SimilarDefinition | None:
    """The definition most similar to the one that is gone, if it stands out."""
    elsewhere: dict[str, tuple[str, Symbol]] = {}
    # of a name that many files have, it is not known who was there before
    if len(anchor.namesakes) <= MAX_NAMESAKES:
        for one in view.index.find_symbols(view.root, anchor.symbol, MAX_NAMESAKES + 1):
            if one.symbol.qual == anchor.symbol:
                elsewhere[one.path] = (one.path, one.symbol)
    here = [(anchor.path, same[0]) for same in view.indexed_symbols(anchor.path).values()]
    moved = rank_similar_definitions(view, anchor, elsewhere.values(), MIN_MOVED_SIMILARITY)
    renamed = rank_similar_definitions(view, anchor, here, MIN_RENAMED_SIMILARITY)
    return pick_standout(moved) or pick_standout(renamed)


def rank_similar_definitions(
    view: RepositoryView,
    anchor: CodeAnchor,
    candidates: Iterable[tuple[str, Symbol]],
    least: float,
) -> list[SimilarDefinition]:
    """The definitions that were not there before, with their similarity; most similar first."""
    own_name = strip_qualifiers(anchor.symbol)
    found = []
    for path, symbol in candidates:
        if not can_become_kind(symbol.kind, anchor.kind):
            continue
        if was_known_before(anchor, path, symbol.qual) or view.is_behind(path):
            continue
        there = observe_anchor(view, path, symbol.qual)
        if there is None:
            continue
        # a definition names itself, in recursion for instance: that is no difference
        similarity = compare_definitions(
            anchor.body.replace(own_name, "_"), there.body.replace(symbol.name, "_")
        )
        if similarity >= least:
            found.append(SimilarDefinition(similarity, path, symbol.qual))
    return sorted(found, key=lambda one: (-one.similarity, one.path, one.symbol))


def pick_standout(found: Sequence[SimilarDefinition]) -> SimilarDefinition | None:
    """The most similar, if no other one comes near."""
    if not found:
        return None
    is_ahead = len(found) == 1 or found[0].similarity - found[1].similarity >= MIN_LEAD
    return found[0] if is_ahead else None


def was_known_before(anchor: CodeAnchor, path: str, symbol: str) -> bool:
    """True if a definition stood there when the anchor was made, as far as the anchor knows."""
    if path == anchor.path:
        return has_digest(digest_name(symbol), anchor.beside)
    return symbol == anchor.symbol and path in anchor.namesakes


def can_become_kind(kind: str, other: str) -> bool:
    """True if one kind of symbol may become the other by moving."""
    return any(kind in group and other in group for group in KIND_GROUPS)


def follow_file(view: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor of a file where that is now; None if that is not known."""
    path = "" if anchor.twins else find_same_content(view, anchor)
    if path:
        there = observe_anchor(view, path, "", anchor.by)
        if there:
            return there._replace(at=anchor.at, was=note_former_place(anchor, path))
    path = find_same_parts(view, anchor)
    there = observe_anchor(view, path, "", anchor.by) if path else None
    if there is None:
        return None
    moved = anchor._replace(path=path, was=note_former_place(anchor, path))
    if there.shape == anchor.shape:
        return mark_holding(moved._replace(digest=there.digest))
    if is_mostly_unchanged(anchor, there):
        return moved._replace(state="")
    return mark_changed(moved, there)


def find_same_content(view: RepositoryView, anchor: CodeAnchor) -> str:
    """The one file with the content of the anchored one; empty if there is none, or several."""
    found = [path for path, file in view.known.items() if has_content(file, anchor)]
    # what is no code is in no index: it is looked for in the folder
    if not found and detect_language(anchor.path) is None:
        suffix = anchor.path.rpartition("/")[2].rpartition(".")[2]
        root = WatchedRoot(view.root, "")
        listing = walk_folder(root, lambda name: name.endswith(suffix), view.policy)
        for one in listing.files[:MAX_SEARCHED_FILES]:
            file = view.file(one.path)
            if file and has_content(file, anchor):
                found.append(one.path)
    return found[0] if len(found) == 1 else ""


def find_same_parts(view: RepositoryView, anchor: CodeAnchor) -> str:
    """The one file with most definitions of the anchored one; empty if none or several."""
    before = split_digests(anchor.beside)
    if len(before) < MIN_PARTS:
        return ""
    parts: dict[str, set[str]] = {}
    for place in view.index.symbols(view.root):
        if place.symbol.parent < 0:
            parts.setdefault(place.path, set()).add(place.symbol.body[:MARK_DIGITS])
    found = [
        path for path, now in parts.items() if measure_overlap(before, now) >= MIN_SHARED_PARTS
    ]
    return found[0] if len(found) == 1 else ""
