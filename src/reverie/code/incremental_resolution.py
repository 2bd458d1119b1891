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

from reverie.code.import_resolution import Modules
from reverie.code.languages import BY_NAME
from reverie.code.name_resolution import EVERY, World, maker, modules
from reverie.code.parsed_facts import OUTSIDE, Facts, last_of
from reverie.code.reference_resolution import (
    OF_FILE,
    OF_INSIDE,
    OF_JOINS,
    OF_NAME,
    linked,
    meaning_of,
)
from reverie.code.symbol_tables import Source, Stored, definitions, joiners, said
from reverie.storage.code_index_port import GONE, CodeIndex, Definition, Linked, Symbol


class Amendment(NamedTuple):
    """What is to be altered once some files have changed."""

    linked: list[Linked]  # the files whose edges may be others, with their edges then
    # of files whose symbols have other numbers now: the old to the new
    moved: Mapping[str, Mapping[int, int]]


class Shift(NamedTuple):
    """A file in which definitions were added or taken out, and all others are what they were."""

    names: set[str]  # that may mean something else in it
    # the old numbers of all symbols to the new; GONE for what was taken out
    moved: Mapping[int, int]


def amended(
    index: CodeIndex,
    root: str,
    name: str,
    known: Collection[str],
    fresh: Mapping[str, Facts],
    gone: Collection[str],
    most: int,
) -> Amendment | None:
    """The edges that may be others once some files are `fresh` and some `gone`, as they are then.

    `name` is that of the repository's folder; `known` are the files in the index. None where more
    than so many files would have to be resolved.
    """
    before, after = Stored(index, root, known, {}, ()), Stored(index, root, known, fresh, gone)
    seen = {path: (before.facts(path), after.facts(path)) for path in {*fresh, *gone}}
    shifts = {path: shift for path, pair in seen.items() if (shift := shifted(*pair))}
    changes = frozenset(changed(index, root, name, before, after, seen, shifts))
    touched = (index.resting(root, changes) | fresh.keys()).difference(gone)
    if len(touched) > most:
        return None
    return Amendment(
        list(linked(World(name, after, meaning_of), sorted(touched))),
        {path: shift.moved for path, shift in shifts.items()},
    )


def changed(
    index: CodeIndex,
    root: str,
    name: str,
    before: Source,
    after: Source,
    seen: Mapping[str, tuple[Facts | None, Facts | None]],
    shifts: Mapping[str, Shift],
) -> Iterator[str]:
    """All that edges may rest on and that is not what it was, given the files that may not be."""
    others = {path: pair for path, pair in seen.items() if outside(pair[0]) != outside(pair[1])}
    for path in others:
        yield from (
            (OF_INSIDE.format(path, one) for one in shifts[path].names)
            if path in shifts
            else (OF_FILE.format(path),)
        )
    names = {
        one.name
        for path, pair in others.items()
        for facts in pair
        if facts
        for one in definitions(path, facts)
    }
    for one in sorted(names):
        old, new = said([moved(each, shifts) for each in before.named(one)]), said(after.named(one))
        if old != new:
            yield OF_NAME.format(one)
        if old.classes != new.classes:
            yield OF_JOINS.format(one)
    for path, pair in others.items():
        old_ones, new_ones = (list(joiners(path, facts)) if facts else [] for facts in pair)
        if old_ones != new_ones:
            yield from (OF_JOINS.format(one) for one, _ in (*old_ones, *new_ones))
    if before.paths() != after.paths():
        yield from map(OF_FILE.format, led_elsewhere(index, root, name, before, after, seen))


def moved(one: Definition, shifts: Mapping[str, Shift]) -> Definition:
    """A definition by the number that it has now."""
    return one._replace(num=shifts[one.path].moved[one.num]) if one.path in shifts else one


def outside(facts: Facts | None) -> Any:
    """What other files can see of one: all but what only stands in functions, heads, and on which
    lines it is.

    Lines count as far as they say which method an attribute is given its value in. Names within
    functions count where something else is defined: there another file's name may be looked for.
    """
    if facts is None:
        return None
    symbols = facts.symbols
    makers = [maker(symbols, one) if one.kind == "attribute" else -1 for one in symbols]
    seen = set(makers)
    for one in symbols:
        scope = one.parent
        while scope >= 0 and scope not in seen:
            seen.add(scope)
            scope = symbols[scope].parent
    return (
        facts.language,
        [told(one) for one in symbols],
        makers,
        [one._replace(line=0) for one in facts.imports],
        [one._replace(line=0) for one in facts.mentions if one.kind == "inherits"],
        [one for one in facts.bindings if one.scope in seen],
    )


def shifted(old: Facts | None, new: Facts | None) -> Shift | None:
    """What was added to a file or taken out of it, if nothing else of what others see
    has changed.
    """
    if old is None or new is None:
        return None
    if len(old.symbols) < len(new.symbols) and (places := kept(old, new)) is not None:
        return Shift(added(new, places), dict(enumerate(places)))
    if len(old.symbols) > len(new.symbols) and (places := kept(new, old)) is not None:
        return Shift(
            added(old, places),
            {
                **dict.fromkeys(range(len(old.symbols)), GONE),
                **{was: now for now, was in enumerate(places)},
            },
        )
    return None


def kept(less: Facts, more: Facts) -> list[int] | None:
    """Where each symbol stands in facts that have more of them; None if anything else is not the
    same.

    What there is more stands by itself: nothing of it belongs to what is in both, or the other way
    round.
    """
    places: list[int] = []
    for num, one in enumerate(more.symbols):
        if len(places) < len(less.symbols) and like(less.symbols[len(places)], places) == told(one):
            places.append(num)
    if len(places) < len(less.symbols):
        return None
    place = {OUTSIDE: OUTSIDE, **{new: old for old, new in enumerate(places)}}
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
        last_of(one.owner) for one in less.symbols
    }
    classes = {one.name for one in rest if one.kind == "class"}
    alone = all(
        one.parent == OUTSIDE and not one.owner
        if one.parent in place
        else not one.owner or last_of(one.owner) in classes
        for one in rest
    )
    return places if alone and not classes & known and outside(less) == outside(common) else None


def like(one: Symbol, places: Sequence[int]) -> Any:
    """What is told of a symbol whose parent may have another number."""
    return told(
        one._replace(parent=places[one.parent]) if OUTSIDE < one.parent < len(places) else one
    )


def told(one: Symbol) -> Any:
    """What other files see of a symbol."""
    return one.name, one.qual, one.kind, one.parent, one.owner, one.type, one.value


def added(more: Facts, places: Collection[int]) -> set[str]:
    """The names that may mean something else for what there is more."""
    there = set(places)
    return {EVERY, *(one.name for num, one in enumerate(more.symbols) if num not in there)}


def led_elsewhere(
    index: CodeIndex,
    root: str,
    name: str,
    before: Source,
    after: Source,
    seen: Mapping[str, tuple[Facts | None, Facts | None]],
) -> Iterator[str]:
    """Files in which a module's name means other files, now that files have come or gone."""
    old, new = Modules(name, before.paths()), Modules(name, after.paths())
    for path, (name_of_language, known) in index.modules(root).items():
        language, fresh = BY_NAME[name_of_language], seen.get(path, (None, None))[1]
        wanted = known if path not in seen else modules_of(fresh) if fresh else ()
        if any(
            old.located(one, path, language) != new.located(one, path, language) for one in wanted
        ):
            yield path


def modules_of(facts: Facts) -> list[str]:
    """The names of modules that a file looks for, each once."""
    return list(
        dict.fromkeys(name for one in facts.imports for name in modules(one, facts.language))
    )
