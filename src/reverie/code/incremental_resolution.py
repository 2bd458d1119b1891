"""A few files have changed: which edges can that alter, and what they are now.

The result is the same as if all files were resolved anew.

Every file's edges rest on what was asked while they were resolved (`NameResolver.asked`): files,
names, and members that other files give to a class. What has changed is told by the same keys:

- a file, if what others see of it has changed (`select_visible_facts`), if it came or went, or if a
  module's name in it leads elsewhere now;
- only some names in a file, if all that it defined is what it was and definitions were added or
  taken out (`find_symbol_shift`);
- a name, if it tells something else (`summarize_definitions`).

Files that rest on none of that keep their edges, but for the numbers of symbols that have moved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from reverie.code.import_resolution import ModuleIndex
from reverie.code.languages import BY_NAME
from reverie.code.name_resolution import (
    ALL_TOP_NAMES,
    FILE_KEY,
    MEMBERS_KEY,
    NAME_IN_FILE_KEY,
    NAME_KEY,
    NameResolver,
    find_assigning_method,
    list_import_modules,
)
from reverie.code.parsed_facts import NO_SYMBOL, FileFacts, strip_qualifiers
from reverie.code.reference_resolution import link_files, resolve_mention
from reverie.code.symbol_tables import (
    IndexedFacts,
    LoadedFacts,
    list_definitions,
    list_joining_members,
    summarize_definitions,
)
from reverie.storage.indexed_code import GONE, CodeIndex, LinkedFile, Symbol, SymbolDefinition

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
    for path, pair in seen.items():
        shift = find_symbol_shift(*pair)
        if shift:
            shifts[path] = shift
    changes = set(list_changed_keys(before, after, seen, shifts))
    if before.paths() != after.paths():
        # a module's name may lead elsewhere in files that nobody touched
        modules = index.modules(root)
        for path, (_, facts) in seen.items():
            modules[path] = (facts.language, list_file_modules(facts)) if facts else ("", [])
        old_modules = ModuleIndex(name, before.paths())
        new_modules = ModuleIndex(name, after.paths())
        redirected = find_redirected_files(modules, old_modules, new_modules)
        changes.update(map(FILE_KEY.format, redirected))
    touched = (index.files_resting_on(root, frozenset(changes)) | fresh.keys()).difference(gone)
    if len(touched) > most:
        return None
    resolver = NameResolver(name, after, resolve_mention)
    moved = {path: shift.moved for path, shift in shifts.items()}
    return EdgeAmendment(list(link_files(resolver, sorted(touched))), moved)


def list_changed_keys(
    before: LoadedFacts,
    after: LoadedFacts,
    seen: Mapping[str, FactPair],
    shifts: Mapping[str, SymbolShift],
) -> Iterator[str]:
    """The dependency keys whose answer has changed, given the facts of files that may have."""
    names: set[str] = set()
    for path, pair in seen.items():
        old, new = map(select_visible_facts, pair)
        if old == new:
            continue
        if path in shifts:
            yield from (NAME_IN_FILE_KEY.format(path, one) for one in shifts[path].names)
        else:
            yield FILE_KEY.format(path)
        for facts in filter(None, pair):
            names.update(one.name for one in list_definitions(path, facts))
        old_members, new_members = (
            list(list_joining_members(path, facts)) if facts else [] for facts in pair
        )
        if old_members != new_members:
            for class_name, _ in (*old_members, *new_members):
                yield MEMBERS_KEY.format(class_name)
    for name in names:
        renumbered: list[SymbolDefinition] = []
        for one in before.definitions(name):
            shift = shifts.get(one.path)
            renumbered.append(one._replace(num=shift.moved[one.num]) if shift else one)
        was = summarize_definitions(renumbered)
        now = summarize_definitions(after.definitions(name))
        if was != now:
            yield NAME_KEY.format(name)
        if was.classes != now.classes:
            yield MEMBERS_KEY.format(name)


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
        list(map(symbol_signature, symbols)),
        assigning,
        [one._replace(line=0) for one in facts.imports],
        [one._replace(line=0) for one in facts.mentions if one.kind == "inherits"],
        [one for one in facts.bindings if one.scope in seen],
    )


def find_symbol_shift(
    old: FileFacts | None,
    new: FileFacts | None,
) -> SymbolShift | None:
    """What was added to a file or taken out, if nothing else that others see has changed."""
    if old is None or new is None or len(old.symbols) == len(new.symbols):
        return None
    less, more = sorted(
        (old, new),
        key=lambda facts: len(facts.symbols),
    )
    places = match_symbols(less, more)
    if places is None:
        return None
    matched = set(places)
    names = {one.name for num, one in enumerate(more.symbols) if num not in matched}
    if less is old:
        moved = dict(enumerate(places))
    else:
        moved = dict.fromkeys(range(len(old.symbols)), GONE)
        moved.update((was, now) for now, was in enumerate(places))
    return SymbolShift({ALL_TOP_NAMES, *names}, moved)


def match_symbols(less: FileFacts, more: FileFacts) -> list[int] | None:
    """Where each symbol stands in facts that have more of them; None if anything else differs.

    What there is more stands by itself: nothing of it belongs to what is in both, or the other way
    round.
    """
    places: list[int] = []
    for num, one in enumerate(more.symbols):
        if len(places) == len(less.symbols):
            break
        known = less.symbols[len(places)]
        if NO_SYMBOL < known.parent < len(places):
            known = known._replace(parent=places[known.parent])
        if symbol_signature(known) == symbol_signature(one):
            places.append(num)
    # the numbers in `more` to those in `less`
    place = {NO_SYMBOL: NO_SYMBOL, **{new: old for old, new in enumerate(places)}}
    if len(places) < len(less.symbols) or not stands_alone(less, more, place):
        return None
    symbols = [
        more.symbols[new]._replace(parent=one.parent)
        for new, one in zip(places, less.symbols, strict=True)
    ]
    common = more._replace(
        symbols=symbols,
        mentions=[
            one._replace(scope=place[one.scope]) for one in more.mentions if one.scope in place
        ],
        bindings=[
            one._replace(scope=place[one.scope]) for one in more.bindings if one.scope in place
        ],
    )
    return places if select_visible_facts(less) == select_visible_facts(common) else None


def stands_alone(
    less: FileFacts,
    more: FileFacts,
    place: Mapping[int, int],
) -> bool:
    """True if what there is more has nothing to do with what is in both.

    `place` has the numbers in `more` of what is in both.
    """
    extra = [one for num, one in enumerate(more.symbols) if num not in place]
    extra_classes = {one.name for one in extra if one.kind == "class"}
    for one in less.symbols:
        own_class = one.name if one.kind == "class" else ""
        if not extra_classes.isdisjoint((own_class, strip_qualifiers(one.owner))):
            return False
    for one in extra:
        if one.parent not in place:
            is_apart = not one.owner or strip_qualifiers(one.owner) in extra_classes
        else:
            is_apart = one.parent == NO_SYMBOL and not one.owner
        if not is_apart:
            return False
    return True


def symbol_signature(one: Symbol) -> Any:
    """What other files see of a symbol."""
    return one.name, one.qual, one.kind, one.parent, one.owner, one.type, one.value


def find_redirected_files(
    modules: Mapping[str, tuple[str, list[str]]],
    old: ModuleIndex,
    new: ModuleIndex,
) -> Iterator[str]:
    """Files in which a module's name means other files, now that files have come or gone.

    `modules` has for each file its language and the modules that it looks for.
    """
    for path, (language_name, wanted) in modules.items():
        for module in wanted:
            language = BY_NAME[language_name]
            if old.locate(module, path, language) != new.locate(module, path, language):
                yield path
                break


def list_file_modules(facts: FileFacts) -> list[str]:
    """The names of modules that a file looks for, each once."""
    names = (name for one in facts.imports for name in list_import_modules(one, facts.language))
    return list(dict.fromkeys(names))
