"""A few files have changed: which edges can that alter, and what they are now. The same as if all were resolved anew.

Every file's edges rest on what was asked while they were resolved (`meaning.Asked`): files, names, and members that
other files give to a class. What has changed is told in the same words: a file, if what others see of it is another
(`outside`), if it came or went, or if a module's name in it leads elsewhere now; only some names in it, if all that it
defined is what it was and definitions were added after it, or taken from its end (`appended`); a name, if it tells
something else (`sources.said`). Files that rest on none of that keep their edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from reverie.code.facts import OUTSIDE, Facts
from reverie.code.imports import Modules
from reverie.code.languages import BY_NAME
from reverie.code.meaning import EVERY, World, maker, modules
from reverie.code.resolve import OF_FILE, OF_INSIDE, OF_JOINS, OF_NAME, linked, meaning_of
from reverie.code.sources import Source, Stored, definitions, joiners, said
from reverie.store.code import CodeIndex, Linked


def amended(index: CodeIndex, root: str, name: str, known: Collection[str], fresh: Mapping[str, Facts],
            gone: Collection[str], most: int) -> list[Linked] | None:
    """The files whose edges may be others once some are `fresh` and some `gone`, with their edges then.

    `name` is that of the repository's folder; `known` are the files in the index. None where that would be more than so
    many files.
    """
    before, after = Stored(index, root, known, {}, ()), Stored(index, root, known, fresh, gone)
    changes = frozenset(changed(index, root, name, before, after, {*fresh, *gone}))
    touched = (index.resting(root, changes) | fresh.keys()).difference(gone)
    return list(linked(World(name, after, meaning_of), sorted(touched))) if len(touched) <= most else None


def changed(index: CodeIndex, root: str, name: str, before: Source, after: Source,
            paths: Collection[str]) -> Iterator[str]:
    """All that edges may rest on and that is not what it was, given the files that may not be."""
    seen = {path: (before.facts(path), after.facts(path)) for path in paths}
    others = {path: pair for path, pair in seen.items() if outside(pair[0]) != outside(pair[1])}
    for path, (old_facts, new_facts) in others.items():
        inside = appended(old_facts, new_facts) or appended(new_facts, old_facts)
        yield from (OF_INSIDE.format(path, name) for name in inside) if inside else (OF_FILE.format(path),)
    names = {one.name for path, pair in others.items() for facts in pair if facts for one in definitions(path, facts)}
    for one in sorted(names):
        old, new = said(before.named(one)), said(after.named(one))
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


def outside(facts: Facts | None) -> Any:
    """What other files can see of one: all but what only stands in functions, heads, and on which lines it is.

    Lines count as far as they say which method an attribute is given its value in. Names within functions count where
    something else is defined: there another file's name may be looked for.
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
    told = [(one.name, one.qual, one.kind, one.parent, one.owner, one.type, one.value) for one in symbols]
    return (facts.language, told, makers, [one._replace(line=0) for one in facts.imports],
            [one._replace(line=0) for one in facts.mentions if one.kind == "inherits"],
            [one for one in facts.bindings if one.scope in seen])


def appended(less: Facts | None, more: Facts | None) -> set[str]:
    """The names that may mean something else in a file for what was added at its end; empty if anything else changed.

    Nothing that was there may alter: neither the places of symbols nor what belongs to which class.
    """
    if less is None or more is None or not len(less.symbols) < len(more.symbols):
        return set()
    count, added = len(less.symbols), more.symbols[len(less.symbols):]
    known = {one.name for one in less.symbols if one.kind == "class"} | {last(one.owner) for one in less.symbols}
    classes = {one.name for one in added if one.kind == "class"}
    before = more._replace(symbols=more.symbols[:count], mentions=[one for one in more.mentions if one.scope < count],
                           bindings=[one for one in more.bindings if one.scope < count])
    alone = all(not one.owner or last(one.owner) in classes if one.parent >= count else
                one.parent == OUTSIDE and not one.owner for one in added)
    return {EVERY, *(one.name for one in added)} if (
        alone and not classes & known and outside(less) == outside(before)) else set()


def last(qual: str) -> str:
    """A name without those around it."""
    return qual.rpartition(".")[2]


def led_elsewhere(index: CodeIndex, root: str, name: str, before: Source, after: Source,
                  seen: Mapping[str, tuple[Facts | None, Facts | None]]) -> Iterator[str]:
    """Files in which a module's name means other files, now that files have come or gone."""
    old, new = Modules(name, before.paths()), Modules(name, after.paths())
    for path, (name_of_language, known) in index.modules(root).items():
        language, fresh = BY_NAME[name_of_language], seen.get(path, (None, None))[1]
        wanted = known if path not in seen else modules_of(fresh) if fresh else ()
        if any(old.located(one, path, language) != new.located(one, path, language) for one in wanted):
            yield path


def modules_of(facts: Facts) -> list[str]:
    """The names of modules that a file looks for, each once."""
    return list(dict.fromkeys(name for one in facts.imports for name in modules(one, facts.language)))
