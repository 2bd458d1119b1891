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

from reverie.code.definition_digest import excerpt, likeness, node_of, parsed_tree, shape, short
from reverie.code.file_parser import parsed
from reverie.code.languages import language_of
from reverie.code.parsed_facts import last_of
from reverie.core.code_anchors import CHANGED, GIVEN, GONE, Anchor
from reverie.core.errors import BadInput
from reverie.core.privacy_policy import USUAL, Policy
from reverie.notes.folder_walk import admitted, read, walked
from reverie.notes.watched_roots import Root
from reverie.storage.code_index_port import CodeIndex, Place, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

MOVED = 0.6  # likeness from which a definition of the same name elsewhere is the same one
RENAMED = 0.7  # …of another name in the same file
AHEAD = 0.1  # by which it must be liker than the next
SOME = 60  # characters that a text must have to be followed to another name
STEADY = 0.5  # share of a file's definitions by which it is known again, and still spoken of
FEW = 3  # definitions that a file must have for that
MARK = 4  # hexadecimal digits of a name or text that are kept of the surroundings
MOST_BESIDE, MOST_NAMESAKES, MOST_FILES = 400, 20, 2_000
GROUPS = (("function", "method"), ("variable", "attribute"), ("class",))


class Sight(NamedTuple):
    """A file as it is now."""

    hash: bytes
    mtime: float  # seconds since 1970
    data: bytes
    language: str  # empty: none that the code map reads
    symbols: Sequence[Symbol]


Defined = dict[str, list[Symbol]]


class Sights:
    """The files of a repository, each opened at most once, and what the index says of them."""

    def __init__(self, index: CodeIndex, root: str, now: float, policy: Policy = USUAL) -> None:
        self.index, self.root, self.now, self.policy = index, root, now, policy
        self.known = index.known(root)
        self._seen: dict[str, Sight | None] = {}
        self._indexed: dict[str, Defined] = {}
        self._trees: dict[str, Node] = {}

    def file(self, path: str) -> Sight | None:
        """A file that memory may read; None where there is none."""
        if path not in self._seen:
            self._seen[path] = None
            with suppress(OSError, BadInput):
                place = admitted(Root(self.root, ""), path, lambda _: True, self.policy)
                content, mtime = read(place, self.now, self.policy), place.stat().st_mtime
                language, data = language_of(path), content.text.encode("utf-8", "replace")
                symbols = parsed(data, language.name).symbols if language else ()
                self._seen[path] = Sight(
                    content.hash, mtime, data, language.name if language else "", symbols
                )
        return self._seen[path]

    def tree(self, path: str, sight: Sight) -> Node:
        """The syntax of a file."""
        if path not in self._trees:
            self._trees[path] = parsed_tree(sight.data, sight.language)
        return self._trees[path]

    def indexed(self, path: str) -> Defined:
        """What the index says that a file defines, by qualified name."""
        if path not in self._indexed:
            places = self.index.symbols(self.root, [path]) if path in self.known else []
            self._indexed[path] = by_name(place.symbol for place in places)
        return self._indexed[path]

    def behind(self, path: str) -> bool:
        """Whether a file is not what the index says."""
        sight = self.file(path)
        return sight is not None and path in self.known and sight.hash != self.known[path].hash


Eyes = dict[str, Sights]  # what is seen of each repository


def eye(index: CodeIndex, root: str, now: float, eyes: Eyes, policy: Policy = USUAL) -> Sights:
    """What is seen of one repository: the same for all who share `eyes`, so that each file is
    opened once for them.
    """
    if root not in eyes:
        eyes[root] = Sights(index, root, now, policy)
    return eyes[root]


def by_name(symbols: Iterable[Symbol]) -> Defined:
    """Symbols by qualified name. Several may have one: overloads, a property's getter
    and setter.
    """
    found: Defined = {}
    for symbol in symbols:
        found.setdefault(symbol.qual, []).append(symbol)
    return found


def body_of(same: Sequence[Symbol]) -> str:
    """One digest for all definitions of a name."""
    return same[0].body if len(same) == 1 else short("".join(one.body for one in same).encode())


def seen(sights: Sights, path: str, name: str = "", by: str = GIVEN) -> Anchor | None:
    """How a file, or a symbol of it by its qualified name, looks now; None where there is none."""
    sight = sights.file(path)
    if sight is None:
        return None
    if not name:
        return file_seen(sights, path, sight, by)
    same = by_name(sight.symbols).get(name, [])
    if not same:
        return None
    tree, digest = sights.tree(path, sight), body_of(same)
    nodes = [node_of(tree, sight.data, symbol) for symbol in same]
    shapes = [shape(node, same[0].name) for node in nodes]
    form = shapes[0] if len(shapes) == 1 else short("".join(shapes).encode())
    text = "\n\n".join((node.text or b"").decode("utf-8", "replace") for node in nodes)
    other = [
        one.path
        for one in sights.index.named(sights.root, name, MOST_NAMESAKES + 1)
        if one.symbol.qual == name and one.path != path
    ]
    twins = any(
        (one.path, one.symbol.qual) != (path, name)
        for one in sights.index.bodies(sights.root, digest)
    )
    return Anchor(
        sights.root,
        path,
        name,
        same[0].kind,
        digest,
        form,
        excerpt(text),
        marks(one.qual for one in sight.symbols),
        tuple(dict.fromkeys(other)),
        twins,
        sights.now,
        by,
    )


def file_seen(sights: Sights, path: str, sight: Sight, by: str) -> Anchor:
    """How a file looks now."""
    twins = sum(one.hash == sight.hash for one in sights.known.values()) > (path in sights.known)
    form = (
        shape(sights.tree(path, sight)) if sight.language else short(b" ".join(sight.data.split()))
    )
    parts = "".join(symbol.body[:MARK] for symbol in parts_of(sight.symbols)[:MOST_BESIDE])
    return Anchor(
        sights.root, path, "", "", sight.hash.hex()[:16], form, "", parts, (), twins, sights.now, by
    )


def parts_of(symbols: Iterable[Symbol]) -> list[Symbol]:
    """What a file consists of: its definitions, without what stands in them."""
    return [symbol for symbol in symbols if symbol.parent < 0]


def marks(names: Iterable[str]) -> str:
    """Digests of names, in a row."""
    return "".join(short(name.encode())[:MARK] for name in list(names)[:MOST_BESIDE])


def in_marks(mark: str, row: str) -> bool:
    """Whether a digest stands in a row of them."""
    return mark in split(row)


def split(row: str) -> set[str]:
    """The digests of a row."""
    return {row[start : start + MARK] for start in range(0, len(row), MARK)}


def looked_after(sights: Sights, anchor: Anchor) -> Anchor:
    """The anchor as it is to be kept from now on; the same one if nothing is known to
    have altered.
    """
    if unaltered(sights, anchor):
        return held(anchor)
    if sights.behind(anchor.path):
        return anchor
    present = seen(sights, anchor.path, anchor.symbol, anchor.by)
    if (present is None or present.shape != anchor.shape) and (home := returned(sights, anchor)):
        return home
    if present is None:
        return (followed_file if not anchor.symbol else followed)(
            sights, anchor
        ) or anchor._replace(state=GONE)
    if present.shape == anchor.shape:
        return held(anchor._replace(digest=present.digest))
    return anchor._replace(state="") if steady(anchor, present) else changed(anchor, present)


def unaltered(sights: Sights, anchor: Anchor) -> bool:
    """Whether the index says that the code is what it was, letter by letter."""
    if anchor.symbol:
        same = sights.indexed(anchor.path).get(anchor.symbol, [])
        return bool(same) and body_of(same) == anchor.digest
    return (
        anchor.path in sights.known and sights.known[anchor.path].hash.hex()[:16] == anchor.digest
    )


def held(anchor: Anchor) -> Anchor:
    """An anchor that holds."""
    return anchor._replace(state="", judged="", verdict="")


def changed(anchor: Anchor, present: Anchor) -> Anchor:
    """An anchor whose code looks otherwise now. What a model said of another text says nothing of
    this one.
    """
    known = anchor.judged == present.shape
    judged, verdict = (anchor.judged, anchor.verdict) if known else ("", "")
    return anchor._replace(state=CHANGED, judged=judged, verdict=verdict)


def steady(anchor: Anchor, present: Anchor) -> bool:
    """Whether a file that a text only names is still mostly what it was."""
    return (
        anchor.by != GIVEN
        and not anchor.symbol
        and (not anchor.beside or share(split(anchor.beside), split(present.beside)) >= STEADY)
    )


def share(before: set[str], now: set[str]) -> float:
    """How much of what was there is there now, 0..1."""
    return len(before & now) / max(1, len(before))


def followed(sights: Sights, anchor: Anchor) -> Anchor | None:
    """The anchor where its definition stands now; None if that is not known."""
    place = same_text(sights, anchor)
    if place is not None and (there := seen(sights, place.path, place.symbol.qual, anchor.by)):
        return there._replace(at=anchor.at, was=from_where(anchor, there.place))
    best = like_text(sights, anchor)
    if best is None:
        return None
    there = seen(sights, best.path, best.symbol, anchor.by)
    if there is None:
        return None
    moved = anchor._replace(
        path=there.path,
        symbol=there.symbol,
        kind=there.kind,
        beside=there.beside,
        namesakes=there.namesakes,
        was=from_where(anchor, there.place),
    )
    return (
        held(moved._replace(digest=there.digest))
        if there.shape == anchor.shape
        else changed(moved, there)
    )


def returned(sights: Sights, anchor: Anchor) -> Anchor | None:
    """The anchor where it was said to be, if it had been followed from there and all is as it was
    again.
    """
    path, _, symbol = anchor.was.rpartition(":") if anchor.symbol else (anchor.was, "", "")
    there = seen(sights, path, symbol, anchor.by) if path else None
    return (
        there._replace(at=anchor.at) if there is not None and there.shape == anchor.shape else None
    )


def from_where(anchor: Anchor, place: str) -> str:
    """Where what is at a place now was said to be; empty if it is there again."""
    before = anchor.was or anchor.place
    return "" if before == place else before


def same_text(sights: Sights, anchor: Anchor) -> Place | None:
    """The one place where the text of a definition stands now, that did not have it before."""
    if anchor.twins:
        return None
    found = [
        one
        for one in sights.index.bodies(sights.root, anchor.digest)
        if akin(one.symbol.kind, anchor.kind) and not was_there(anchor, one.path, one.symbol.qual)
    ]
    named = [one for one in found if one.symbol.name == last_of(anchor.symbol)]
    if not named and len(anchor.body) >= SOME:
        named = found
    return named[0] if len(named) == 1 else None


class Like(NamedTuple):
    """A definition that may be the one that is looked for."""

    likeness: float
    path: str
    symbol: str


def like_text(sights: Sights, anchor: Anchor) -> Like | None:
    """The definition that is most like the one that is not there any more, if it stands out."""
    index, root = sights.index, sights.root
    same_name = index.named(root, anchor.symbol, MOST_NAMESAKES + 1)
    away = list(
        {
            one.path: (one.path, one.symbol)
            for one in same_name
            if one.symbol.qual == anchor.symbol
        }.values()
    )
    if len(anchor.namesakes) > MOST_NAMESAKES:
        away = []
    elsewhere = measured(sights, anchor, away, MOVED)
    renamed = measured(
        sights,
        anchor,
        [(anchor.path, same[0]) for same in sights.indexed(anchor.path).values()],
        RENAMED,
    )
    return standing_out(elsewhere) or standing_out(renamed)


def measured(
    sights: Sights, anchor: Anchor, some: Iterable[tuple[str, Symbol]], least: float
) -> list[Like]:
    """How like these definitions are, as far as they were not there before; the likest first."""
    own = last_of(anchor.symbol)
    found = []
    for path, symbol in some:
        if (
            akin(symbol.kind, anchor.kind)
            and not was_there(anchor, path, symbol.qual)
            and not sights.behind(path)
        ):
            there = seen(sights, path, symbol.qual)
            if there is None:
                continue
            like = likeness(anchor.body.replace(own, "_"), there.body.replace(symbol.name, "_"))
            found.append(Like(like, path, symbol.qual))
    return sorted(
        (one for one in found if one.likeness >= least), key=lambda one: (-one.likeness, one[1:])
    )


def standing_out(found: Sequence[Like]) -> Like | None:
    """The likest, if no other one comes near."""
    alone = len(found) == 1 or (len(found) > 1 and found[0].likeness - found[1].likeness >= AHEAD)
    return found[0] if alone else None


def was_there(anchor: Anchor, path: str, symbol: str) -> bool:
    """Whether a definition stood there already when the anchor was made, as far as it knows."""
    if path == anchor.path:
        return in_marks(short(symbol.encode())[:MARK], anchor.beside)
    return symbol == anchor.symbol and path in anchor.namesakes


def akin(one: str, other: str) -> bool:
    """Whether one kind of symbol may become the other by moving."""
    return any(one in group and other in group for group in GROUPS)


def followed_file(sights: Sights, anchor: Anchor) -> Anchor | None:
    """The anchor of a file where that is now; None if that is not known."""
    path = "" if anchor.twins else same_content(sights, anchor)
    if path and (there := seen(sights, path, "", anchor.by)):
        return there._replace(at=anchor.at, was=from_where(anchor, path))
    path = same_parts(sights, anchor)
    there = seen(sights, path, "", anchor.by) if path else None
    if there is None:
        return None
    moved = anchor._replace(path=path, was=from_where(anchor, path))
    if there.shape == anchor.shape:
        return held(moved._replace(digest=there.digest))
    return moved._replace(state="") if steady(anchor, there) else changed(moved, there)


def same_content(sights: Sights, anchor: Anchor) -> str:
    """The one file that has the content that the anchored one had; empty if there is none, or
    several.
    """
    found = [path for path, file in sights.known.items() if file.hash.hex()[:16] == anchor.digest]
    if not found and language_of(anchor.path) is None:
        suffix = anchor.path.rpartition("/")[2].rpartition(".")[2]
        others = walked(
            Root(sights.root, ""), lambda name: name.endswith(suffix), sights.policy
        ).files[:MOST_FILES]
        found = [
            one.path
            for one in others
            if (sight := sights.file(one.path)) and sight.hash.hex()[:16] == anchor.digest
        ]
    return found[0] if len(found) == 1 else ""


def same_parts(sights: Sights, anchor: Anchor) -> str:
    """The one file that defines most of what the anchored one did; empty if there is none, or
    several.
    """
    before = split(anchor.beside)
    if len(before) < FEW:
        return ""
    parts: dict[str, set[str]] = {}
    for place in sights.index.symbols(sights.root):
        if place.symbol.parent < 0:
            parts.setdefault(place.path, set()).add(place.symbol.body[:MARK])
    found = [path for path, now in parts.items() if share(before, now) >= STEADY]
    return found[0] if len(found) == 1 else ""
