"""A few files have changed: which edges can that alter, and what they are now.

The result is the same as if all files were resolved anew.

Every file's edges rest on what was asked while they were resolved (`LookupLog`): files, names, and
members that other files give to a class. What has changed is told by the same keys:

- a file, if what others see of it has changed (`select_visible_facts`), if it came or went, or if a
  module's name in it leads elsewhere now;
- only some names in a file, if all that it defined is what it was and definitions were added or
  taken out (`find_symbol_shift`);
- a name, if it tells something else (`summarize_definitions`).

Files that rest on none of that keep their edges, but for the numbers of symbols that have moved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.code.import_resolution import ModuleIndex
from reverie.code.languages import BY_NAME
from reverie.code.name_resolution import (
    ALL_TOP_NAMES,
    NameResolver,
    find_assigning_method,
    list_import_modules,
)
from reverie.code.parsed_facts import NO_SYMBOL, FileFacts, strip_qualifiers
from reverie.code.reference_resolution import (
    FILE_KEY,
    MEMBERS_KEY,
    NAME_IN_FILE_KEY,
    NAME_KEY,
    link_files,
    resolve_mention,
)
from reverie.code.symbol_tables import (
    FactSource,
    IndexedFacts,
    list_definitions,
    list_joining_members,
    summarize_definitions,
)
from reverie.storage.indexed_code import GONE, LinkedFile, Symbol, SymbolDefinition
from reverie.storage.sqlite.code_index import CodeIndex

# the facts of a file before and after the change
FactPair = tuple[FileFacts | None, FileFacts | None]


class EdgeAmendment(NamedTuple):
    """What is to be altered once some files have changed."""

    # the files whose edges may have changed, with their edges now
    linked: list[LinkedFile]
    # of files whose symbols have other numbers now: the old numbers to the new
    moved: Mapping[str, Mapping[int, int]]


class SymbolShift(NamedTuple):
    """A file in which definitions were added or taken out, and all others are what they were."""

    # names that may mean something else in the file
    names: set[str]
    # the old numbers of all symbols to the new; GONE for what was taken out
    moved: Mapping[int, int]


def amend_edges(
    index: CodeIndex,
    root: str,
    name: str,
    known: Collection[str],
    fresh: Mapping[str, FileFacts],
    gone: Collection[str],
    most: int,
) -> EdgeAmendment | None:
    """The edges that may have changed once some files are `fresh` and some `gone`.

    `name` is that of the repository's folder; `known` are the files in the index. None if more than
    `most` files would have to be resolved.
    """
    before = IndexedFacts(index, root, known, {}, ())
    after = IndexedFacts(index, root, known, fresh, gone)
    seen = {path: (before.facts(path), after.facts(path)) for path in {*fresh, *gone}}
    shifts: dict[str, SymbolShift] = {}
    for path, (old, new) in seen.items():
        shift = find_symbol_shift(old, new)
        if shift:
            shifts[path] = shift
    changes = set(list_changed_keys(before, after, seen, shifts))
    if before.paths() != after.paths():
        old_modules = ModuleIndex(name, before.paths())
        new_modules = ModuleIndex(name, after.paths())
        redirected = find_redirected_files(index.modules(root), old_modules, new_modules, seen)
        changes.update(map(FILE_KEY.format, redirected))
    touched = (index.files_resting_on(root, frozenset(changes)) | fresh.keys()).difference(gone)
    if len(touched) > most:
        return None
    resolver = NameResolver(name, after, resolve_mention)
    return EdgeAmendment(
        list(link_files(resolver, sorted(touched))),
        {path: shift.moved for path, shift in shifts.items()},
    )


def list_changed_keys(
    before: FactSource,
    after: FactSource,
    seen: Mapping[str, FactPair],
    shifts: Mapping[str, SymbolShift],
) -> Iterator[str]:
    """The dependency keys whose answer has changed, given the facts of files that may have."""
    visible = {
        path: (old, new)
        for path, (old, new) in seen.items()
        if select_visible_facts(old) != select_visible_facts(new)
    }
    for path in visible:
        if path in shifts:
            yield from (NAME_IN_FILE_KEY.format(path, one) for one in shifts[path].names)
        else:
            yield FILE_KEY.format(path)
    names: set[str] = set()
    for path, pair in visible.items():
        for facts in pair:
            if facts:
                names.update(one.name for one in list_definitions(path, facts))
    for name in sorted(names):
        renumbered = [renumber_definition(one, shifts) for one in before.definitions(name)]
        old = summarize_definitions(renumbered)
        new = summarize_definitions(after.definitions(name))
        if old != new:
            yield NAME_KEY.format(name)
        if old.classes != new.classes:
            yield MEMBERS_KEY.format(name)
    for path, pair in visible.items():
        old_members, new_members = (
            list(list_joining_members(path, facts)) if facts else [] for facts in pair
        )
        if old_members != new_members:
            for class_name, _ in (*old_members, *new_members):
                yield MEMBERS_KEY.format(class_name)


def renumber_definition(
    one: SymbolDefinition, shifts: Mapping[str, SymbolShift]
) -> SymbolDefinition:
    """A definition by the number that it has now."""
    return one._replace(num=shifts[one.path].moved[one.num]) if one.path in shifts else one


def select_visible_facts(facts: FileFacts | None) -> Any:
    """What other files can see of one, as a value to compare.

    That is all but what only stands in functions, heads, and line numbers. Lines count as far as
    they say which method assigns an attribute. Names within functions count where something else is
    defined: there another file's name may be looked for.
    """
    if facts is None:
        return None
    symbols = facts.symbols
    assigning = [
        find_assigning_method(symbols, one) if one.kind == "attribute" else -1 for one in symbols
    ]
    seen = set(assigning)
    for one in symbols:
        scope = one.parent
        while scope >= 0 and scope not in seen:
            seen.add(scope)
            scope = symbols[scope].parent
    return (
        facts.language,
        [symbol_signature(one) for one in symbols],
        assigning,
        [one._replace(line=0) for one in facts.imports],
        [one._replace(line=0) for one in facts.mentions if one.kind == "inherits"],
        [one for one in facts.bindings if one.scope in seen],
    )


def find_symbol_shift(old: FileFacts | None, new: FileFacts | None) -> SymbolShift | None:
    """What was added to a file or taken out, if nothing else that others see has changed."""
    if old is None or new is None:
        return None
    if len(old.symbols) < len(new.symbols):
        places = match_symbols(old, new)
        if places is not None:
            return SymbolShift(list_added_names(new, places), dict(enumerate(places)))
    if len(old.symbols) > len(new.symbols):
        places = match_symbols(new, old)
        if places is not None:
            moved = dict.fromkeys(range(len(old.symbols)), GONE)
            moved.update((was, now) for now, was in enumerate(places))
            return SymbolShift(list_added_names(old, places), moved)
    return None


def match_symbols(less: FileFacts, more: FileFacts) -> list[int] | None:
    """Where each symbol stands in facts that have more of them; None if anything else differs.

    What there is more stands by itself: nothing of it belongs to what is in both, or the other way
    round.
    """
    places: list[int] = []
    for num, one in enumerate(more.symbols):
        if len(places) == len(less.symbols):
            break
        if renumbered_signature(less.symbols[len(places)], places) == symbol_signature(one):
            places.append(num)
    if len(places) < len(less.symbols):
        return None
    # the numbers in `more` to those in `less`
    place = {NO_SYMBOL: NO_SYMBOL, **{new: old for old, new in enumerate(places)}}
    if not stands_alone(less, more, place):
        return None
    common = more._replace(
        symbols=[
            more.symbols[new]._replace(parent=less.symbols[old].parent)
            for old, new in enumerate(places)
        ],
        mentions=[
            one._replace(scope=place[one.scope]) for one in more.mentions if one.scope in place
        ],
        bindings=[
            one._replace(scope=place[one.scope]) for one in more.bindings if one.scope in place
        ],
    )
    return places if select_visible_facts(less) == select_visible_facts(common) else None


def stands_alone(less: FileFacts, more: FileFacts, place: Mapping[int, int]) -> bool:
    """True if what there is more has nothing to do with what is in both.

    `place` has the numbers in `more` of what is in both.
    """
    extra = [one for num, one in enumerate(more.symbols) if num not in place]
    extra_classes = {one.name for one in extra if one.kind == "class"}
    known_classes = {one.name for one in less.symbols if one.kind == "class"}
    known_classes |= {strip_qualifiers(one.owner) for one in less.symbols}
    if extra_classes & known_classes:
        return False
    for one in extra:
        if one.parent in place:
            if one.parent != NO_SYMBOL or one.owner:
                return False
        elif one.owner and strip_qualifiers(one.owner) not in extra_classes:
            return False
    return True


def renumbered_signature(one: Symbol, places: Sequence[int]) -> Any:
    """The signature of a symbol whose parent may have another number, as `places` says."""
    if NO_SYMBOL < one.parent < len(places):
        one = one._replace(parent=places[one.parent])
    return symbol_signature(one)


def symbol_signature(one: Symbol) -> Any:
    """What other files see of a symbol."""
    return one.name, one.qual, one.kind, one.parent, one.owner, one.type, one.value


def list_added_names(more: FileFacts, places: Collection[int]) -> set[str]:
    """The names that may mean something else for what there is more."""
    matched = set(places)
    added = {one.name for num, one in enumerate(more.symbols) if num not in matched}
    return {ALL_TOP_NAMES, *added}


def find_redirected_files(
    indexed: Mapping[str, tuple[str, list[str]]],
    old: ModuleIndex,
    new: ModuleIndex,
    seen: Mapping[str, FactPair],
) -> Iterator[str]:
    """Files in which a module's name means other files, now that files have come or gone.

    `indexed` has for each file its language and the modules that it looks for.
    """
    for path, (language_name, known_modules) in indexed.items():
        language = BY_NAME[language_name]
        wanted = known_modules
        if path in seen:
            fresh = seen[path][1]
            wanted = list_file_modules(fresh) if fresh else []
        if any(
            old.locate(one, path, language) != new.locate(one, path, language) for one in wanted
        ):
            yield path


def list_file_modules(facts: FileFacts) -> list[str]:
    """The names of modules that a file looks for, each once."""
    names = (name for one in facts.imports for name in list_import_modules(one, facts.language))
    return list(dict.fromkeys(names))
