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
from posixpath import basename
from typing import TYPE_CHECKING, NamedTuple, TypeVar

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
from reverie.code.symbol_tables import group_by_key
from reverie.core.code_anchors import CHANGED, GIVEN, GONE, CodeAnchor
from reverie.core.errors import BadInput
from reverie.core.privacy_policy import Policy
from reverie.notes.folder_walk import admit_path, read_text_file, walk_folder
from reverie.notes.watched_roots import WatchedRoot
from reverie.storage.indexed_code import CodeIndex, Symbol
from reverie.storage.indexed_files import IndexedFile

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
# a file, and the qualified name of a symbol in it; empty: the file itself
CodePlace = tuple[str, str]
T = TypeVar("T")


class RepositoryView:
    """The files of a repository, each opened at most once, and what the index says of them."""

    def __init__(
        self,
        index: CodeIndex,
        root: str,
        now: float,
        policy: Policy,
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
        place = admit_path(
            WatchedRoot(self.root, ""),
            path,
            lambda _: True,
            self.policy,
        )
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
            self._indexed[path] = group_by_key((one.symbol.qual, one.symbol) for one in places)
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
    policy: Policy,
) -> RepositoryView:
    """The view of one repository: the same for all who share `views`.

    So each file is opened once for them all.
    """
    if root not in views:
        views[root] = RepositoryView(index, root, now, policy)
    return views[root]


def combine_digests(digests: Sequence[str]) -> str:
    """One digest for all definitions of a name."""
    return digests[0] if len(digests) == 1 else hash_bytes("".join(digests).encode())


def observe_anchor(
    view: RepositoryView,
    path: str,
    name: str = "",
    by: str = GIVEN,
) -> CodeAnchor | None:
    """An anchor at a file, or at a symbol by its qualified name, as it looks now; None if gone."""
    file = view.file(path)
    if file is None:
        return None
    if not name:
        return observe_file_anchor(view, path, file, by)
    # overloads share a name, and a property's getter and setter
    same = [one for one in file.symbols if one.qual == name]
    if not same:
        return None
    digest = combine_digests([one.body for one in same])
    tree = view.tree(path, file)
    nodes = [find_definition_node(tree, file.data, symbol) for symbol in same]
    text = "\n\n".join((node.text or b"").decode("utf-8", "replace") for node in nodes)
    names = [digest_name(one.qual) for one in file.symbols[:MAX_MARKS]]
    found = view.index.find_symbols(view.root, name, MAX_NAMESAKES + 1)
    namesakes = [one.path for one in found if one.symbol.qual == name and one.path != path]
    with_text = view.index.symbols_with_body(view.root, digest)
    return CodeAnchor(
        view.root,
        path,
        name,
        kind=same[0].kind,
        digest=digest,
        shape=combine_digests([digest_syntax(node, same[0].name) for node in nodes]),
        body=take_excerpt(text),
        beside="".join(names),
        namesakes=tuple(dict.fromkeys(namesakes)),
        twins=any((one.path, one.symbol.qual) != (path, name) for one in with_text),
        at=view.now,
        by=by,
    )


def observe_file_anchor(
    view: RepositoryView,
    path: str,
    file: FileView,
    by: str,
) -> CodeAnchor:
    """An anchor at a file as it looks now."""
    same_content = sum(one.hash == file.hash for one in view.known.values())
    if file.language:
        shape = digest_syntax(view.tree(path, file))
    else:
        shape = hash_bytes(b" ".join(file.data.split()))
    # what it consists of: its definitions, without what stands in them
    parts = [one.body[:MARK_DIGITS] for one in file.symbols if one.parent < 0]
    return CodeAnchor(
        view.root,
        path,
        digest=shorten_hash(file.hash),
        shape=shape,
        beside="".join(parts[:MAX_MARKS]),
        twins=same_content > (path in view.known),
        at=view.now,
        by=by,
    )


def shorten_hash(hash: bytes) -> str:
    """The digest of a file's content, as an anchor keeps it."""
    return hash.hex()[:16]


def digest_name(name: str) -> str:
    """The few digits by which a name is known again."""
    return hash_bytes(name.encode())[:MARK_DIGITS]


def split_digests(row: str) -> set[str]:
    """The digests of a row."""
    return {row[start : start + MARK_DIGITS] for start in range(0, len(row), MARK_DIGITS)}


def track_anchor(view: RepositoryView, anchor: CodeAnchor) -> CodeAnchor:
    """The anchor with its present place and state; the same object if nothing changed."""
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
        return follow_anchor(view, anchor) or anchor._replace(state=GONE)
    return update_state(anchor, present)


def update_state(anchor: CodeAnchor, present: CodeAnchor) -> CodeAnchor:
    """The anchor with what has become of its code, which is at the anchor's place."""
    if present.shape == anchor.shape:
        return mark_holding(anchor._replace(digest=present.digest))
    if is_mostly_unchanged(anchor, present):
        return anchor._replace(state="")
    if anchor.judged == present.shape:
        return anchor._replace(state=CHANGED)
    # what a model said of another text does not count
    return anchor._replace(
        state=CHANGED,
        judged="",
        verdict="",
    )


def is_unaltered(view: RepositoryView, anchor: CodeAnchor) -> bool:
    """True if the index says that the code is what it was, letter by letter."""
    if anchor.symbol:
        same = view.indexed_symbols(anchor.path).get(anchor.symbol, [])
        return bool(same) and combine_digests([one.body for one in same]) == anchor.digest
    known = view.known.get(anchor.path)
    return known is not None and has_content(known, anchor)


def has_content(file: FileView | IndexedFile, anchor: CodeAnchor) -> bool:
    """True if a file has the content that the anchored one had."""
    return shorten_hash(file.hash) == anchor.digest


def mark_holding(anchor: CodeAnchor) -> CodeAnchor:
    """An anchor that holds."""
    return anchor._replace(
        state="",
        judged="",
        verdict="",
    )


def is_mostly_unchanged(anchor: CodeAnchor, present: CodeAnchor) -> bool:
    """True for a file that a text only names and that is still mostly what it was."""
    if anchor.by == GIVEN or anchor.symbol:
        return False
    before, now = split_digests(anchor.beside), split_digests(present.beside)
    return not before or has_most_of(before, now)


def follow_anchor(view: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor where its file or definition stands now; None if that is not known."""
    # what stood in two places may have gone from one and come to the other
    if not anchor.twins:
        find_same = find_same_text if anchor.symbol else find_same_content
        there = observe_found(view, find_same(view, anchor), anchor)
        if there:
            return there._replace(at=anchor.at, was=note_former_place(anchor, there.location))
    find_similar = find_similar_text if anchor.symbol else find_same_parts
    there = observe_found(view, find_similar(view, anchor), anchor)
    if there is None:
        return None
    moved = anchor._replace(
        path=there.path,
        was=note_former_place(anchor, there.location),
    )
    if anchor.symbol:
        moved = moved._replace(
            symbol=there.symbol,
            kind=there.kind,
            beside=there.beside,
            namesakes=there.namesakes,
        )
    return update_state(moved, there)


def observe_found(
    view: RepositoryView,
    place: CodePlace | None,
    anchor: CodeAnchor,
) -> CodeAnchor | None:
    """An anchor at what was found for another one; None if nothing was."""
    return observe_anchor(view, *place, anchor.by) if place else None


def follow_back(view: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor at its former place, if it was followed from there and the code is restored."""
    path, _, symbol = anchor.was.rpartition(":") if anchor.symbol else (anchor.was, "", "")
    there = observe_anchor(view, path, symbol, anchor.by) if path else None
    if there is None or there.shape != anchor.shape:
        return None
    return there._replace(at=anchor.at)


def note_former_place(anchor: CodeAnchor, location: str) -> str:
    """Where what is at a location now once was; empty if it is there again."""
    former = anchor.was or anchor.location
    return "" if former == location else former


def pick_only(found: Sequence[T]) -> T | None:
    """The only one; None if there are none or several: a wrong anchor is worse than none."""
    return found[0] if len(found) == 1 else None


def find_same_text(view: RepositoryView, anchor: CodeAnchor) -> CodePlace | None:
    """The one place where the text of a definition stands now, that did not have it before."""
    candidates = [
        one
        for one in view.index.symbols_with_body(view.root, anchor.digest)
        if can_have_moved_to(anchor, one.path, one.symbol)
    ]
    named = [one for one in candidates if one.symbol.name == strip_qualifiers(anchor.symbol)]
    # a short text such as `pass` says nothing under another name
    if not named and len(anchor.body) >= MIN_RENAMED_CHARS:
        named = candidates
    only = pick_only(named)
    return (only.path, only.symbol.qual) if only else None


def find_similar_text(
    view: RepositoryView,
    anchor: CodeAnchor,
) -> CodePlace | None:
    """The definition most similar to the one that is gone, if it stands out."""
    elsewhere: dict[str, Symbol] = {}
    # of a name that many files have, it is not known who was there before
    if len(anchor.namesakes) <= MAX_NAMESAKES:
        for one in view.index.find_symbols(view.root, anchor.symbol, MAX_NAMESAKES + 1):
            if one.symbol.qual == anchor.symbol:
                elsewhere[one.path] = one.symbol
    here = [(anchor.path, same[0]) for same in view.indexed_symbols(anchor.path).values()]
    return find_standout(view, anchor, elsewhere.items(), MIN_MOVED_SIMILARITY) or find_standout(
        view, anchor, here, MIN_RENAMED_SIMILARITY
    )


def find_standout(
    view: RepositoryView,
    anchor: CodeAnchor,
    candidates: Iterable[tuple[str, Symbol]],
    least: float,
) -> CodePlace | None:
    """The definition most similar to the anchored one, if no other one comes near."""
    own_name = strip_qualifiers(anchor.symbol)
    found: list[tuple[float, str, str]] = []
    for path, symbol in candidates:
        if not can_have_moved_to(anchor, path, symbol) or view.is_behind(path):
            continue
        there = observe_anchor(view, path, symbol.qual)
        if there is None:
            continue
        # a definition names itself, in recursion for instance: that is no difference
        similarity = compare_definitions(
            anchor.body.replace(own_name, "_"), there.body.replace(symbol.name, "_")
        )
        if similarity >= least:
            found.append((-similarity, path, symbol.qual))
    found.sort()
    if not found or (len(found) > 1 and found[1][0] - found[0][0] < MIN_LEAD):
        return None
    return found[0][1:]


def can_have_moved_to(
    anchor: CodeAnchor,
    path: str,
    symbol: Symbol,
) -> bool:
    """True if a definition may be the anchored one: of a like kind, and not there before."""
    if was_known_before(anchor, path, symbol.qual):
        return False
    return any(symbol.kind in group and anchor.kind in group for group in KIND_GROUPS)


def was_known_before(
    anchor: CodeAnchor,
    path: str,
    symbol: str,
) -> bool:
    """True if a definition stood there when the anchor was made, as far as the anchor knows."""
    if path == anchor.path:
        return digest_name(symbol) in split_digests(anchor.beside)
    return symbol == anchor.symbol and path in anchor.namesakes


def find_same_content(
    view: RepositoryView,
    anchor: CodeAnchor,
) -> CodePlace | None:
    """The one file with the content of the anchored one; None if there is none, or several."""
    found = [path for path, file in view.known.items() if has_content(file, anchor)]
    # what is no code is in no index: it is looked for in the folder
    if not found and detect_language(anchor.path) is None:
        suffix = basename(anchor.path).rpartition(".")[2]
        root = WatchedRoot(view.root, "")
        listing = walk_folder(root, lambda name: name.endswith(suffix), view.policy)
        for one in listing.files[:MAX_SEARCHED_FILES]:
            file = view.file(one.path)
            if file and has_content(file, anchor):
                found.append(one.path)
    only = pick_only(found)
    return (only, "") if only else None


def find_same_parts(view: RepositoryView, anchor: CodeAnchor) -> CodePlace | None:
    """The one file with most definitions of the anchored one; None if none or several."""
    before = split_digests(anchor.beside)
    if len(before) < MIN_PARTS:
        return None
    top_level = [one for one in view.index.symbols(view.root) if one.symbol.parent < 0]
    parts = group_by_key((one.path, one.symbol.body[:MARK_DIGITS]) for one in top_level)
    only = pick_only([path for path, now in parts.items() if has_most_of(before, set(now))])
    return (only, "") if only else None


def has_most_of(before: set[str], now: set[str]) -> bool:
    """True if enough of what was there is there now."""
    return len(before & now) / max(1, len(before)) >= MIN_SHARED_PARTS
