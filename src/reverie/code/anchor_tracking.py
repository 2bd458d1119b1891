"""Anchors made and looked after: how a place in the code looks now, and where it went if it is not
there.

`seen` says how a file or symbol looks. `looked_after` says of an anchor whether it holds, has
moved, changed or gone; it asks the index first, and opens only files whose definition is not what
it was. A definition is followed
- by its text, to wherever that stands now under whatever name, if it stood in one place only;
- by its name, to a file that had none of that name before, if it is still much alike;
- by likeness, to a new name in its own file, if nothing else there comes near. A file is followed
  by its content, or by most of what it consists of. Whoever was there before is never taken for
  what moved: so much of the surroundings an anchor keeps. What cannot be followed so is gone, until
  it comes back.

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
from reverie.storage.code_index_port import CodeIndex, Symbol, SymbolLocation

if TYPE_CHECKING:
    from tree_sitter import Node

MIN_MOVED_SIMILARITY = (
    0.6  # likeness from which a definition of the same name elsewhere is the same one
)
MIN_RENAMED_SIMILARITY = 0.7  # …of another name in the same file
MIN_LEAD = 0.1  # by which it must be liker than the next
MIN_RENAMED_CHARS = 60  # characters that a text must have to be followed to another name
MIN_SHARED_PARTS = (
    0.5  # share of a file's definitions by which it is known again, and still spoken of
)
MIN_PARTS = 3  # definitions that a file must have for that
MARK_DIGITS = 4  # hexadecimal digits of a name or text that are kept of the surroundings
MAX_MARKS, MAX_NAMESAKES, MAX_SEARCHED_FILES = 400, 20, 2_000
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
        self._seen: dict[str, FileView | None] = {}
        self._indexed: dict[str, SymbolsByName] = {}
        self._trees: dict[str, Node] = {}

    def file(self, path: str) -> FileView | None:
        """A file that memory may read; None where there is none."""
        if path not in self._seen:
            self._seen[path] = None
            with suppress(OSError, BadInput):
                place = admit_path(WatchedRoot(self.root, ""), path, lambda _: True, self.policy)
                content, mtime = read_text_file(place, self.now, self.policy), place.stat().st_mtime
                language, data = detect_language(path), content.text.encode("utf-8", "replace")
                symbols = parse_file(data, language.name).symbols if language else ()
                self._seen[path] = FileView(
                    content.hash, mtime, data, language.name if language else "", symbols
                )
        return self._seen[path]

    def tree(self, path: str, sight: FileView) -> Node:
        """The syntax of a file."""
        if path not in self._trees:
            self._trees[path] = parse_tree(sight.data, sight.language)
        return self._trees[path]

    def indexed(self, path: str) -> SymbolsByName:
        """What the index says that a file defines, by qualified name."""
        if path not in self._indexed:
            places = self.index.symbols(self.root, [path]) if path in self.known else []
            self._indexed[path] = group_by_qualified_name(place.symbol for place in places)
        return self._indexed[path]

    def behind(self, path: str) -> bool:
        """Whether a file is not what the index says."""
        sight = self.file(path)
        return sight is not None and path in self.known and sight.hash != self.known[path].hash


RepositoryViews = dict[str, RepositoryView]  # what is seen of each repository


def view_repository(
    index: CodeIndex, root: str, now: float, eyes: RepositoryViews, policy: Policy = DEFAULT_POLICY
) -> RepositoryView:
    """What is seen of one repository: the same for all who share `eyes`, so that each file is
    opened once for them.
    """
    if root not in eyes:
        eyes[root] = RepositoryView(index, root, now, policy)
    return eyes[root]


def group_by_qualified_name(symbols: Iterable[Symbol]) -> SymbolsByName:
    """Symbols by qualified name. Several may have one: overloads, a property's getter
    and setter.
    """
    found: SymbolsByName = {}
    for symbol in symbols:
        found.setdefault(symbol.qual, []).append(symbol)
    return found


def combine_body_digests(same: Sequence[Symbol]) -> str:
    """One digest for all definitions of a name."""
    return (
        same[0].body if len(same) == 1 else hash_bytes("".join(one.body for one in same).encode())
    )


def observe_anchor(
    sights: RepositoryView, path: str, name: str = "", by: str = GIVEN
) -> CodeAnchor | None:
    """How a file, or a symbol of it by its qualified name, looks now; None where there is none."""
    sight = sights.file(path)
    if sight is None:
        return None
    if not name:
        return observe_file_anchor(sights, path, sight, by)
    same = group_by_qualified_name(sight.symbols).get(name, [])
    if not same:
        return None
    tree, digest = sights.tree(path, sight), combine_body_digests(same)
    nodes = [find_definition_node(tree, sight.data, symbol) for symbol in same]
    shapes = [digest_syntax(node, same[0].name) for node in nodes]
    form = shapes[0] if len(shapes) == 1 else hash_bytes("".join(shapes).encode())
    text = "\n\n".join((node.text or b"").decode("utf-8", "replace") for node in nodes)
    other = [
        one.path
        for one in sights.index.find_symbols(sights.root, name, MAX_NAMESAKES + 1)
        if one.symbol.qual == name and one.path != path
    ]
    twins = any(
        (one.path, one.symbol.qual) != (path, name)
        for one in sights.index.symbols_with_body(sights.root, digest)
    )
    return CodeAnchor(
        sights.root,
        path,
        name,
        same[0].kind,
        digest,
        form,
        take_excerpt(text),
        digest_names(one.qual for one in sight.symbols),
        tuple(dict.fromkeys(other)),
        twins,
        sights.now,
        by,
    )


def observe_file_anchor(sights: RepositoryView, path: str, sight: FileView, by: str) -> CodeAnchor:
    """How a file looks now."""
    twins = sum(one.hash == sight.hash for one in sights.known.values()) > (path in sights.known)
    form = (
        digest_syntax(sights.tree(path, sight))
        if sight.language
        else hash_bytes(b" ".join(sight.data.split()))
    )
    parts = "".join(
        symbol.body[:MARK_DIGITS] for symbol in select_top_level(sight.symbols)[:MAX_MARKS]
    )
    return CodeAnchor(
        sights.root, path, "", "", sight.hash.hex()[:16], form, "", parts, (), twins, sights.now, by
    )


def select_top_level(symbols: Iterable[Symbol]) -> list[Symbol]:
    """What a file consists of: its definitions, without what stands in them."""
    return [symbol for symbol in symbols if symbol.parent < 0]


def digest_names(names: Iterable[str]) -> str:
    """Digests of names, in a row."""
    return "".join(hash_bytes(name.encode())[:MARK_DIGITS] for name in list(names)[:MAX_MARKS])


def has_digest(mark: str, row: str) -> bool:
    """Whether a digest stands in a row of them."""
    return mark in split_digests(row)


def split_digests(row: str) -> set[str]:
    """The digests of a row."""
    return {row[start : start + MARK_DIGITS] for start in range(0, len(row), MARK_DIGITS)}


def track_anchor(sights: RepositoryView, anchor: CodeAnchor) -> CodeAnchor:
    """The anchor as it is to be kept from now on; the same one if nothing is known to
    have altered.
    """
    if is_unaltered(sights, anchor):
        return mark_holding(anchor)
    if sights.behind(anchor.path):
        return anchor
    present = observe_anchor(sights, anchor.path, anchor.symbol, anchor.by)
    if (present is None or present.shape != anchor.shape) and (home := follow_back(sights, anchor)):
        return home
    if present is None:
        return (follow_file if not anchor.symbol else follow_definition)(
            sights, anchor
        ) or anchor._replace(state=GONE)
    if present.shape == anchor.shape:
        return mark_holding(anchor._replace(digest=present.digest))
    return (
        anchor._replace(state="")
        if is_mostly_unchanged(anchor, present)
        else mark_changed(anchor, present)
    )


def is_unaltered(sights: RepositoryView, anchor: CodeAnchor) -> bool:
    """Whether the index says that the code is what it was, letter by letter."""
    if anchor.symbol:
        same = sights.indexed(anchor.path).get(anchor.symbol, [])
        return bool(same) and combine_body_digests(same) == anchor.digest
    return (
        anchor.path in sights.known and sights.known[anchor.path].hash.hex()[:16] == anchor.digest
    )


def mark_holding(anchor: CodeAnchor) -> CodeAnchor:
    """An anchor that holds."""
    return anchor._replace(state="", judged="", verdict="")


def mark_changed(anchor: CodeAnchor, present: CodeAnchor) -> CodeAnchor:
    """An anchor whose code looks otherwise now. What a model said of another text says nothing of
    this one.
    """
    known = anchor.judged == present.shape
    judged, verdict = (anchor.judged, anchor.verdict) if known else ("", "")
    return anchor._replace(state=CHANGED, judged=judged, verdict=verdict)


def is_mostly_unchanged(anchor: CodeAnchor, present: CodeAnchor) -> bool:
    """Whether a file that a text only names is still mostly what it was."""
    return (
        anchor.by != GIVEN
        and not anchor.symbol
        and (
            not anchor.beside
            or measure_overlap(split_digests(anchor.beside), split_digests(present.beside))
            >= MIN_SHARED_PARTS
        )
    )


def measure_overlap(before: set[str], now: set[str]) -> float:
    """How much of what was there is there now, 0..1."""
    return len(before & now) / max(1, len(before))


def follow_definition(sights: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor where its definition stands now; None if that is not known."""
    place = find_same_text(sights, anchor)
    if place is not None and (
        there := observe_anchor(sights, place.path, place.symbol.qual, anchor.by)
    ):
        return there._replace(at=anchor.at, was=note_former_place(anchor, there.location))
    best = find_similar_text(sights, anchor)
    if best is None:
        return None
    there = observe_anchor(sights, best.path, best.symbol, anchor.by)
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
    return (
        mark_holding(moved._replace(digest=there.digest))
        if there.shape == anchor.shape
        else mark_changed(moved, there)
    )


def follow_back(sights: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor where it was said to be, if it had been followed from there and all is as it was
    again.
    """
    path, _, symbol = anchor.was.rpartition(":") if anchor.symbol else (anchor.was, "", "")
    there = observe_anchor(sights, path, symbol, anchor.by) if path else None
    return (
        there._replace(at=anchor.at) if there is not None and there.shape == anchor.shape else None
    )


def note_former_place(anchor: CodeAnchor, place: str) -> str:
    """Where what is at a place now was said to be; empty if it is there again."""
    before = anchor.was or anchor.location
    return "" if before == place else before


def find_same_text(sights: RepositoryView, anchor: CodeAnchor) -> SymbolLocation | None:
    """The one place where the text of a definition stands now, that did not have it before."""
    if anchor.twins:
        return None
    found = [
        one
        for one in sights.index.symbols_with_body(sights.root, anchor.digest)
        if can_become_kind(one.symbol.kind, anchor.kind)
        and not was_known_before(anchor, one.path, one.symbol.qual)
    ]
    named = [one for one in found if one.symbol.name == strip_qualifiers(anchor.symbol)]
    if not named and len(anchor.body) >= MIN_RENAMED_CHARS:
        named = found
    return named[0] if len(named) == 1 else None


class SimilarDefinition(NamedTuple):
    """A definition that may be the one that is looked for."""

    likeness: float
    path: str
    symbol: str


def find_similar_text(sights: RepositoryView, anchor: CodeAnchor) -> SimilarDefinition | None:
    """The definition that is most like the one that is not there any more, if it stands out."""
    index, root = sights.index, sights.root
    same_name = index.find_symbols(root, anchor.symbol, MAX_NAMESAKES + 1)
    away = list(
        {
            one.path: (one.path, one.symbol)
            for one in same_name
            if one.symbol.qual == anchor.symbol
        }.values()
    )
    if len(anchor.namesakes) > MAX_NAMESAKES:
        away = []
    elsewhere = rank_similar_definitions(sights, anchor, away, MIN_MOVED_SIMILARITY)
    renamed = rank_similar_definitions(
        sights,
        anchor,
        [(anchor.path, same[0]) for same in sights.indexed(anchor.path).values()],
        MIN_RENAMED_SIMILARITY,
    )
    return pick_standout(elsewhere) or pick_standout(renamed)


def rank_similar_definitions(
    sights: RepositoryView, anchor: CodeAnchor, some: Iterable[tuple[str, Symbol]], least: float
) -> list[SimilarDefinition]:
    """How like these definitions are, as far as they were not there before; the likest first."""
    own = strip_qualifiers(anchor.symbol)
    found = []
    for path, symbol in some:
        if (
            can_become_kind(symbol.kind, anchor.kind)
            and not was_known_before(anchor, path, symbol.qual)
            and not sights.behind(path)
        ):
            there = observe_anchor(sights, path, symbol.qual)
            if there is None:
                continue
            like = compare_definitions(
                anchor.body.replace(own, "_"), there.body.replace(symbol.name, "_")
            )
            found.append(SimilarDefinition(like, path, symbol.qual))
    return sorted(
        (one for one in found if one.likeness >= least), key=lambda one: (-one.likeness, one[1:])
    )


def pick_standout(found: Sequence[SimilarDefinition]) -> SimilarDefinition | None:
    """The likest, if no other one comes near."""
    alone = len(found) == 1 or (
        len(found) > 1 and found[0].likeness - found[1].likeness >= MIN_LEAD
    )
    return found[0] if alone else None


def was_known_before(anchor: CodeAnchor, path: str, symbol: str) -> bool:
    """Whether a definition stood there already when the anchor was made, as far as it knows."""
    if path == anchor.path:
        return has_digest(hash_bytes(symbol.encode())[:MARK_DIGITS], anchor.beside)
    return symbol == anchor.symbol and path in anchor.namesakes


def can_become_kind(one: str, other: str) -> bool:
    """Whether one kind of symbol may become the other by moving."""
    return any(one in group and other in group for group in KIND_GROUPS)


def follow_file(sights: RepositoryView, anchor: CodeAnchor) -> CodeAnchor | None:
    """The anchor of a file where that is now; None if that is not known."""
    path = "" if anchor.twins else find_same_content(sights, anchor)
    if path and (there := observe_anchor(sights, path, "", anchor.by)):
        return there._replace(at=anchor.at, was=note_former_place(anchor, path))
    path = find_same_parts(sights, anchor)
    there = observe_anchor(sights, path, "", anchor.by) if path else None
    if there is None:
        return None
    moved = anchor._replace(path=path, was=note_former_place(anchor, path))
    if there.shape == anchor.shape:
        return mark_holding(moved._replace(digest=there.digest))
    return (
        moved._replace(state="")
        if is_mostly_unchanged(anchor, there)
        else mark_changed(moved, there)
    )


def find_same_content(sights: RepositoryView, anchor: CodeAnchor) -> str:
    """The one file that has the content that the anchored one had; empty if there is none, or
    several.
    """
    found = [path for path, file in sights.known.items() if file.hash.hex()[:16] == anchor.digest]
    if not found and detect_language(anchor.path) is None:
        suffix = anchor.path.rpartition("/")[2].rpartition(".")[2]
        others = walk_folder(
            WatchedRoot(sights.root, ""), lambda name: name.endswith(suffix), sights.policy
        ).files[:MAX_SEARCHED_FILES]
        found = [
            one.path
            for one in others
            if (sight := sights.file(one.path)) and sight.hash.hex()[:16] == anchor.digest
        ]
    return found[0] if len(found) == 1 else ""


def find_same_parts(sights: RepositoryView, anchor: CodeAnchor) -> str:
    """The one file that defines most of what the anchored one did; empty if there is none, or
    several.
    """
    before = split_digests(anchor.beside)
    if len(before) < MIN_PARTS:
        return ""
    parts: dict[str, set[str]] = {}
    for place in sights.index.symbols(sights.root):
        if place.symbol.parent < 0:
            parts.setdefault(place.path, set()).add(place.symbol.body[:MARK_DIGITS])
    found = [
        path for path, now in parts.items() if measure_overlap(before, now) >= MIN_SHARED_PARTS
    ]
    return found[0] if len(found) == 1 else ""
