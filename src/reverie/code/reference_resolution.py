"""What every name means, across files: facts into edges. Pure: the same facts give the same edges.

A bare name is looked for in this order, and the first place that knows it decides:

1. in the functions around it: what they define, then what they give to the name (an argument, an
   assignment);
2. where the language has it so, among the methods of its own class;
3. at the top of the file;
4. among imports, under the alias they have here, through re-exports, and in modules of which all
   names are imported;
5. where the language has it so, in the files of the same folder;
6. only in languages whose names reach everywhere: the one function or class of that name in the
   repository.

Before a dot stands a chain. It is followed step by step: a module's names, a class's members along
its bases, an object's attributes by the type that was declared or the class that was called. Where
a step is not known, the only method of that name in the repository is taken, unless it is a name
that things of the language itself have; `how` says so. All else stays unresolved, and is kept if
the repository has something of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reverie.code.name_resolution import COMMON, UNSURE, Asked, Meaning, World, an_object
from reverie.code.parsed_facts import HERE, OUTSIDE, Facts, Import, Mention
from reverie.code.symbol_tables import Loaded
from reverie.storage.code_index_port import Edge, Linked

# What edges rest on
OF_FILE, OF_INSIDE, OF_NAME, OF_JOINS = "file {}", "in {}: {}", "name {}", "members of {}"
FOLLOWED = 8  # steps of a chain, bases of bases, re-exports: more than that is a circle


def resolved(root: str, files: Mapping[str, Facts]) -> Iterator[Edge]:
    """The edges of a repository whose folder has that name, in the order of files and lines."""
    for one in linked(World(root, Loaded(files), meaning_of), sorted(files)):
        yield from one.edges


def linked(world: World, paths: Iterable[str]) -> Iterator[Linked]:
    """The edges that begin in each of these files, and what they rest on."""
    for path in paths:
        world.asked = Asked()
        edges = tuple(edges_of(world, path))
        yield Linked(path, edges, frozenset(rests_on(world.asked, path)))


def rests_on(asked: Asked, path: str) -> Iterator[str]:
    """What the edges of a file can only change with, besides itself, as texts."""
    yield from map(OF_FILE.format, asked.files)
    yield from (OF_INSIDE.format(file, name) for file, name in asked.inside if file != path)
    yield from map(OF_NAME.format, asked.names)
    yield from map(OF_JOINS.format, asked.joins)


def meaning_of(world: World, path: str, mention: Mention) -> Meaning | None:
    """What a mention in a file means."""
    return Reader(world, path).meaning_of(mention)


def edges_of(world: World, path: str) -> Iterator[Edge]:
    """The edges that begin in a file."""
    reader = Reader(world, path)
    for one in reader.file.facts.imports:
        yield from import_edges(world, path, one)
    for mention in reader.file.facts.mentions:
        found = reader.meaning_of(mention)
        if found is not None and found.path:
            if (found.path, found.num) != (path, mention.scope) or mention.kind == "calls":
                yield Edge(
                    path,
                    mention.scope,
                    mention.kind,
                    mention.name,
                    mention.line,
                    found.path,
                    found.num,
                    found.how,
                )
        elif (
            (found is None or found.how == UNSURE)
            and mention.kind != "uses"
            and world.any(mention.name)
        ):
            yield Edge(path, mention.scope, mention.kind, mention.name, mention.line, how=UNSURE)


def import_edges(world: World, path: str, one: Import) -> Iterator[Edge]:
    """Where an import leads: to a symbol, to files, or outside."""
    if one.module == HERE:
        return
    written = f"{one.module}.{one.name}" if one.name not in ("", "default") else one.module
    found = world.imported(path, one)
    if found is not None and found.path:
        yield Edge(path, OUTSIDE, "imports", written, one.line, found.path, found.num, "import")
    elif files := world.located(path, one.module):
        yield from (
            Edge(path, OUTSIDE, "imports", written, one.line, to, OUTSIDE, "import")
            for to in files
            if to != path
        )
    else:
        yield Edge(path, OUTSIDE, "imports", written, one.line, how="outside")


def named(found: Meaning | None) -> Meaning | None:
    """What a mention leads to. A local name for an object leads to nothing that is defined
    anywhere.
    """
    return Meaning("", OUTSIDE) if found is not None and found.object and found.local else found


class Reader:
    """Reads the mentions of one file."""

    def __init__(self, world: World, path: str) -> None:
        self.world, self.path = world, path
        self.file = world.of(path)
        self.language = self.file.language

    def meaning_of(self, mention: Mention) -> Meaning | None:
        """What a mention means; None where that is not known; a meaning without a path if it is
        outside.
        """
        name, scope = mention.name, mention.scope
        if not mention.receiver:
            around = (
                self.file.symbols[scope].parent
                if mention.kind == "inherits" and scope >= 0
                else scope
            )
            return named(self.bare(name, around, mention.kind == "inherits"))
        before = self.followed(mention.receiver, scope)
        if before is not None:
            return named(self.member(before, name))
        return self._only_method(name) if mention.kind == "calls" else None

    def _only_method(self, name: str) -> Meaning | None:
        """The only method of that name in the repository, if it is no name that everything has."""
        if name in COMMON or len(name) < 3:
            return None
        place = self.world.only(name, self.language, lambda one: one.kind == "method")
        return Meaning(*place, how="only method of that name") if place else None

    def bare(self, name: str, scope: int, above: bool = False, depth: int = 0) -> Meaning | None:
        """What a name alone means within a symbol."""
        symbols, here = self.file.symbols, scope
        while scope >= 0:
            one = symbols[scope]
            if one.kind in ("function", "method"):
                if (index := self.file.inner.get((scope, name))) is not None:
                    return Meaning(self.path, index, how="same scope")
                if bindings := self.file.bound.get((scope, name)):
                    return self._bound(bindings, scope, name, depth)
            elif one.kind == "class" and (scope == here or self.language.implicit):
                if self.language.implicit:
                    found = self.world.member(self.path, scope, name)
                else:
                    index = self.file.inner.get((scope, name))
                    found = None if index is None else (self.path, index)
                if found is not None and not above:
                    return self._value(Meaning(*found, how="own class"), depth)
            scope = one.parent
        return self._method_owner(name, here, depth) or self.world.top(
            self.path, name, self.language, depth
        )

    def _method_owner(self, name: str, scope: int, depth: int) -> Meaning | None:
        """A sibling of a method whose class stands in another file."""
        owner = self.owner(scope) if self.language.implicit else None
        found = self.world.member(*owner, name) if owner else None
        return self._value(Meaning(*found, how="own class"), depth) if found else None

    def _bound(
        self, bindings: list[tuple[str, str]], scope: int, name: str, depth: int
    ) -> Meaning | None:
        """What a local name stands for: the first of the things it is given that is known."""
        if depth > FOLLOWED:
            return Meaning("", OUTSIDE, object=True, local=True)
        for type, value in bindings:
            around = self.file.symbols[scope].parent if value.partition(".")[0] == name else scope
            found = None
            if type:
                made = self.followed(type, scope, depth + 1)
                found = an_object(made) if made is not None and made.path else None
            elif value:
                found = self.followed(value, around, depth + 1)
            if found is not None and found.path:
                return found._replace(local=True, how="type") if found.object else found
        if name in self.language.own and (owner := self.owner(scope)):
            return Meaning(*owner, object=name != "cls", how="own class", local=True)
        told = any(value or type for type, value in bindings)
        return None if told else Meaning("", OUTSIDE, object=True, local=True)

    def owner(self, scope: int) -> tuple[str, int] | None:
        """The class that a symbol is within a method of."""
        symbols = self.file.symbols
        while scope >= 0:
            if symbols[scope].kind == "class":
                return self.path, scope
            if symbols[scope].owner:
                return self.world.class_named(self.path, symbols[scope].owner)
            scope = symbols[scope].parent
        return None

    def followed(self, chain: str, scope: int, depth: int = 0) -> Meaning | None:
        """What a chain leads to; None where a step is not known."""
        steps = chain.replace("super()", "super\0").split(".")
        if chain in ("?", "") or len(steps) > FOLLOWED or depth > FOLLOWED:
            return None
        first = steps[0].replace("\0", "()")
        name = first.removesuffix("()")
        owner = self.owner(scope)
        if owner and first in self.language.above:
            found: Meaning | None = Meaning(*owner, object=True, above=True)
        elif owner and name in self.language.own:
            found = Meaning(*owner, object=name not in ("cls", "Self", "static"), how="own class")
        elif first.startswith("@") and owner:
            place = self.world.member(*owner, first.lstrip("@"))
            found = self._value(Meaning(*place), depth) if place else None
        else:
            found = self._dotted(steps, depth)
            if found is None:
                found = self._value(self.bare(name, scope, depth=depth), depth)
                if found is not None and found.local and not found.path:
                    return None  # some object, nobody says of which class
            if first.endswith("()"):
                found = self.given(found, depth)
        for step in steps[1:]:
            if found is None or not found.path:
                return found
            found = self._value(self.member(found, step.removesuffix("()"), depth), depth)
            if step.endswith("()"):
                found = self.given(found, depth)
        return found

    def _dotted(self, steps: list[str], depth: int) -> Meaning | None:
        """A module imported under its whole name, `import a.b`: the chain begins with all of it."""
        for count in range(len(steps), 1, -1):
            name = ".".join(steps[:count])
            if name in self.file.imports:
                found = self.world.top(self.path, name, self.language, depth)
                if found is not None:
                    del steps[1:count]
                    return found
        return None

    def member(self, before: Meaning, name: str, depth: int = 0) -> Meaning | None:
        """What a name after a dot means."""
        if not before.path or depth > FOLLOWED:
            return before if not before.path else None
        if before.num == OUTSIDE:
            found = self.world.top(before.path, name, self.world.of(before.path).language)
            return (
                found._replace(how="import") if found else self.world.submodule(before.path, name)
            )
        one = self.world.symbol(before.path, before.num)
        if one.kind == "method" and one.type:  # a property: of what it returns
            held = self.given(before, depth + 1)
            return self.member(held, name, depth + 1) if held is not None and held.object else None
        if one.kind != "class":
            return None
        place = self.world.member(before.path, before.num, name, skip_own=before.above)
        if (
            place is None
            and not before.above
            and (nested := self.world.nested(before.path, before.num, name))
        ):
            place = nested
        if place is not None:
            return Meaning(
                *place, how=before.how if before.how in ("own class", "type") else "member"
            )
        return (
            Meaning("", OUTSIDE)
            if before.above or self.world.reaches_outside(before.path, before.num)
            else None
        )

    def _value(self, found: Meaning | None, depth: int) -> Meaning | None:
        """What a variable holds, or a property returns, if that is known."""
        if found is None or not found.path or found.num < 0 or found.object:
            return found
        one = self.world.symbol(found.path, found.num)
        if one.kind not in ("variable", "attribute") or depth > FOLLOWED:
            return found
        there = Reader(self.world, found.path)
        chain = one.type or one.value
        scope = one.parent if one.type else self.world.maker(found.path, one)
        if not chain:
            return None
        held = there.followed(chain, scope, depth + 1)
        if held is None or not held.path:
            return held
        return an_object(held) if one.type else held

    def given(self, found: Meaning | None, depth: int) -> Meaning | None:
        """What a call returns: of a class, one of its objects."""
        if found is None or not found.path or found.num < 0:
            return found
        one = self.world.symbol(found.path, found.num)
        if one.kind == "class":
            return an_object(found)
        if one.kind not in ("function", "method"):
            return None
        if one.name in ("new", "default") and one.owner and not one.type:
            owner = self.world.class_named(found.path, one.owner)
            return Meaning(*owner, object=True) if owner else None
        if one.type in ("Self", "self", "static", "t.Self", "te.Self", "typing.Self"):
            owner = Reader(self.world, found.path).owner(found.num)
            return Meaning(*owner, object=True) if owner else None
        there = Reader(self.world, found.path)
        made = there.followed(one.type, one.parent, depth + 1) if one.type else None
        return an_object(made) if made is not None and made.path else made
