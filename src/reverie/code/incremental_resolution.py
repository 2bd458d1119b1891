"""A few files have changed: which edges can that alter, and what they are now. The same as if all
were resolved anew.

Every file's edges rest on what was asked while they were resolved (`meaning.Asked`): files, names,
and members that other files give to a class. What has changed is told in the same words: a file, if
what others see of it is another (`outside`), if it came or went, or if a module's name in it leads
elsewhere now; only some names in it, if all that it defined is what it was and definitions were
added, or taken out (`shifted`); a name, if it tells something else (`sources.said`). Files that
rest on none of that keep their edges, but for the numbers of symbols that have moved.
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
from reverie.storage.code_index_port import GONE, CodeIndex, LinkedFile, Symbol, SymbolDefinition


class EdgeAmendment(NamedTuple):
    """What is to be altered once some files have changed."""

    linked: list[LinkedFile]  # the files whose edges may be others, with their edges then
    # of files whose symbols have other numbers now: the old to the new
    moved: Mapping[str, Mapping[int, int]]


class SymbolShift(NamedTuple):
    """A file in which definitions were added or taken out, and all others are what they were."""

    names: set[str]  # that may mean something else in it
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
    """The edges that may be others once some files are `fresh` and some `gone`, as they are then.

    `name` is that of the repository's folder; `known` are the files in the index. None where more
    than so many files would have to be resolved.
    """
    before, after = (
        IndexedFacts(index, root, known, {}, ()),
        IndexedFacts(index, root, known, fresh, gone),
    )
    seen = {path: (before.facts(path), after.facts(path)) for path in {*fresh, *gone}}
    shifts = {path: shift for path, pair in seen.items() if (shift := find_symbol_shift(*pair))}
    changes = frozenset(list_changed_keys(index, root, name, before, after, seen, shifts))
    touched = (index.files_resting_on(root, changes) | fresh.keys()).difference(gone)
    if len(touched) > most:
        return None
    return EdgeAmendment(
        list(link_files(NameResolver(name, after, resolve_mention), sorted(touched))),
        {path: shift.moved for path, shift in shifts.items()},
    )


def list_changed_keys(
    index: CodeIndex,
    root: str,
    name: str,
    before: FactSource,
    after: FactSource,
    seen: Mapping[str, tuple[FileFacts | None, FileFacts | None]],
    shifts: Mapping[str, SymbolShift],
) -> Iterator[str]:
    """All that edges may rest on and that is not what it was, given the files that may not be."""
    others = {
        path: pair
        for path, pair in seen.items()
        if select_visible_facts(pair[0]) != select_visible_facts(pair[1])
    }
    for path in others:
        yield from (
            (NAME_IN_FILE_KEY.format(path, one) for one in shifts[path].names)
            if path in shifts
            else (FILE_KEY.format(path),)
        )
    names = {
        one.name
        for path, pair in others.items()
        for facts in pair
        if facts
        for one in list_definitions(path, facts)
    }
    for one in sorted(names):
        old, new = (
            summarize_definitions(
                [renumber_definition(each, shifts) for each in before.named(one)]
            ),
            summarize_definitions(after.named(one)),
        )
        if old != new:
            yield NAME_KEY.format(one)
        if old.classes != new.classes:
            yield MEMBERS_KEY.format(one)
    for path, pair in others.items():
        old_ones, new_ones = (
            list(list_joining_members(path, facts)) if facts else [] for facts in pair
        )
        if old_ones != new_ones:
            yield from (MEMBERS_KEY.format(one) for one, _ in (*old_ones, *new_ones))
    if before.paths() != after.paths():
        yield from map(
            FILE_KEY.format, find_redirected_files(index, root, name, before, after, seen)
        )


def renumber_definition(
    one: SymbolDefinition, shifts: Mapping[str, SymbolShift]
) -> SymbolDefinition:
    """A definition by the number that it has now."""
    return one._replace(num=shifts[one.path].moved[one.num]) if one.path in shifts else one


def select_visible_facts(facts: FileFacts | None) -> Any:
    """What other files can see of one: all but what only stands in functions, heads, and on which
    lines it is.

    Lines count as far as they say which method an attribute is given its value in. Names within
    functions count where something else is defined: there another file's name may be looked for.
    """
    if facts is None:
        return None
    symbols = facts.symbols
    makers = [
        find_assigning_method(symbols, one) if one.kind == "attribute" else -1 for one in symbols
    ]
    seen = set(makers)
    for one in symbols:
        scope = one.parent
        while scope >= 0 and scope not in seen:
            seen.add(scope)
            scope = symbols[scope].parent
    return (
        facts.language,
        [symbol_signature(one) for one in symbols],
        makers,
        [one._replace(line=0) for one in facts.imports],
        [one._replace(line=0) for one in facts.mentions if one.kind == "inherits"],
        [one for one in facts.bindings if one.scope in seen],
    )


def find_symbol_shift(old: FileFacts | None, new: FileFacts | None) -> SymbolShift | None:
    """What was added to a file or taken out of it, if nothing else of what others see
    has changed.
    """
    if old is None or new is None:
        return None
    if len(old.symbols) < len(new.symbols) and (places := match_symbols(old, new)) is not None:
        return SymbolShift(list_added_names(new, places), dict(enumerate(places)))
    if len(old.symbols) > len(new.symbols) and (places := match_symbols(new, old)) is not None:
        return SymbolShift(
            list_added_names(old, places),
            {
                **dict.fromkeys(range(len(old.symbols)), GONE),
                **{was: now for now, was in enumerate(places)},
            },
        )
    return None


def match_symbols(less: FileFacts, more: FileFacts) -> list[int] | None:
    """Where each symbol stands in facts that have more of them; None if anything else is not the
    same.

    What there is more stands by itself: nothing of it belongs to what is in both, or the other way
    round.
    """
    places: list[int] = []
    for num, one in enumerate(more.symbols):
        if len(places) < len(less.symbols) and renumbered_signature(
            less.symbols[len(places)], places
        ) == symbol_signature(one):
            places.append(num)
    if len(places) < len(less.symbols):
        return None
    place = {NO_SYMBOL: NO_SYMBOL, **{new: old for old, new in enumerate(places)}}
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
    rest = [one for num, one in enumerate(more.symbols) if num not in place]
    known = {one.name for one in less.symbols if one.kind == "class"} | {
        strip_qualifiers(one.owner) for one in less.symbols
    }
    classes = {one.name for one in rest if one.kind == "class"}
    alone = all(
        one.parent == NO_SYMBOL and not one.owner
        if one.parent in place
        else not one.owner or strip_qualifiers(one.owner) in classes
        for one in rest
    )
    return (
        places
        if alone
        and not classes & known
        and select_visible_facts(less) == select_visible_facts(common)
        else None
    )


def renumbered_signature(one: Symbol, places: Sequence[int]) -> Any:
    """What is told of a symbol whose parent may have another number."""
    return symbol_signature(
        one._replace(parent=places[one.parent]) if NO_SYMBOL < one.parent < len(places) else one
    )


def symbol_signature(one: Symbol) -> Any:
    """What other files see of a symbol."""
    return one.name, one.qual, one.kind, one.parent, one.owner, one.type, one.value


def list_added_names(more: FileFacts, places: Collection[int]) -> set[str]:
    """The names that may mean something else for what there is more."""
    there = set(places)
    return {ALL_TOP_NAMES, *(one.name for num, one in enumerate(more.symbols) if num not in there)}


def find_redirected_files(
    index: CodeIndex,
    root: str,
    name: str,
    before: FactSource,
    after: FactSource,
    seen: Mapping[str, tuple[FileFacts | None, FileFacts | None]],
) -> Iterator[str]:
    """Files in which a module's name means other files, now that files have come or gone."""
    old, new = ModuleIndex(name, before.paths()), ModuleIndex(name, after.paths())
    for path, (name_of_language, known) in index.modules(root).items():
        language, fresh = BY_NAME[name_of_language], seen.get(path, (None, None))[1]
        wanted = known if path not in seen else list_file_modules(fresh) if fresh else ()
        if any(
            old.located(one, path, language) != new.located(one, path, language) for one in wanted
        ):
            yield path


def list_file_modules(facts: FileFacts) -> list[str]:
    """The names of modules that a file looks for, each once."""
    return list(
        dict.fromkeys(
            name for one in facts.imports for name in list_import_modules(one, facts.language)
        )
    )
