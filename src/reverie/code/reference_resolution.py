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

from reverie.code.name_resolution import (
    COMMON_METHODS,
    UNRESOLVED,
    LookupLog,
    NameResolver,
    ResolvedName,
    as_instance,
)
from reverie.code.parsed_facts import NO_SYMBOL, THIS_FILE, FileFacts, Import, Mention
from reverie.code.symbol_tables import LoadedFacts
from reverie.storage.code_index_port import CodeEdge, LinkedFile

# What edges rest on
FILE_KEY, NAME_IN_FILE_KEY, NAME_KEY, MEMBERS_KEY = (
    "file {}",
    "in {}: {}",
    "name {}",
    "members of {}",
)
MAX_STEPS = 8  # steps of a chain, bases of bases, re-exports: more than that is a circle


def resolve_repository(root: str, files: Mapping[str, FileFacts]) -> Iterator[CodeEdge]:
    """The edges of a repository whose folder has that name, in the order of files and lines."""
    for one in link_files(NameResolver(root, LoadedFacts(files), resolve_mention), sorted(files)):
        yield from one.edges


def link_files(world: NameResolver, paths: Iterable[str]) -> Iterator[LinkedFile]:
    """The edges that begin in each of these files, and what they rest on."""
    for path in paths:
        world.asked = LookupLog()
        edges = tuple(find_file_edges(world, path))
        yield LinkedFile(path, edges, frozenset(list_dependency_keys(world.asked, path)))


def list_dependency_keys(asked: LookupLog, path: str) -> Iterator[str]:
    """What the edges of a file can only change with, besides itself, as texts."""
    yield from map(FILE_KEY.format, asked.files)
    yield from (NAME_IN_FILE_KEY.format(file, name) for file, name in asked.inside if file != path)
    yield from map(NAME_KEY.format, asked.names)
    yield from map(MEMBERS_KEY.format, asked.joins)


def resolve_mention(world: NameResolver, path: str, mention: Mention) -> ResolvedName | None:
    """What a mention in a file means."""
    return MentionResolver(world, path).meaning_of(mention)


def find_file_edges(world: NameResolver, path: str) -> Iterator[CodeEdge]:
    """The edges that begin in a file."""
    reader = MentionResolver(world, path)
    for one in reader.file.facts.imports:
        yield from find_import_edges(world, path, one)
    for mention in reader.file.facts.mentions:
        found = reader.meaning_of(mention)
        if found is not None and found.path:
            if (found.path, found.num) != (path, mention.scope) or mention.kind == "calls":
                yield CodeEdge(
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
            (found is None or found.how == UNRESOLVED)
            and mention.kind != "uses"
            and world.any(mention.name)
        ):
            yield CodeEdge(
                path, mention.scope, mention.kind, mention.name, mention.line, how=UNRESOLVED
            )


def find_import_edges(world: NameResolver, path: str, one: Import) -> Iterator[CodeEdge]:
    """Where an import leads: to a symbol, to files, or outside."""
    if one.module == THIS_FILE:
        return
    written = f"{one.module}.{one.name}" if one.name not in ("", "default") else one.module
    found = world.imported(path, one)
    if found is not None and found.path:
        yield CodeEdge(
            path, NO_SYMBOL, "imports", written, one.line, found.path, found.num, "import"
        )
    elif files := world.located(path, one.module):
        yield from (
            CodeEdge(path, NO_SYMBOL, "imports", written, one.line, to, NO_SYMBOL, "import")
            for to in files
            if to != path
        )
    else:
        yield CodeEdge(path, NO_SYMBOL, "imports", written, one.line, how="outside")


def drop_local_object(found: ResolvedName | None) -> ResolvedName | None:
    """What a mention leads to. A local name for an object leads to nothing that is defined
    anywhere.
    """
    return (
        ResolvedName("", NO_SYMBOL) if found is not None and found.object and found.local else found
    )


class MentionResolver:
    """Reads the mentions of one file."""

    def __init__(self, world: NameResolver, path: str) -> None:
        self.world, self.path = world, path
        self.file = world.of(path)
        self.language = self.file.language

    def meaning_of(self, mention: Mention) -> ResolvedName | None:
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
            return drop_local_object(self.bare(name, around, mention.kind == "inherits"))
        before = self.followed(mention.receiver, scope)
        if before is not None:
            return drop_local_object(self.member(before, name))
        return self._only_method(name) if mention.kind == "calls" else None

    def _only_method(self, name: str) -> ResolvedName | None:
        """The only method of that name in the repository, if it is no name that everything has."""
        if name in COMMON_METHODS or len(name) < 3:
            return None
        place = self.world.only(name, self.language, lambda one: one.kind == "method")
        return ResolvedName(*place, how="only method of that name") if place else None

    def bare(
        self, name: str, scope: int, above: bool = False, depth: int = 0
    ) -> ResolvedName | None:
        """What a name alone means within a symbol."""
        symbols, here = self.file.symbols, scope
        while scope >= 0:
            one = symbols[scope]
            if one.kind in ("function", "method"):
                if (index := self.file.inner.get((scope, name))) is not None:
                    return ResolvedName(self.path, index, how="same scope")
                if bindings := self.file.bound.get((scope, name)):
                    return self._bound(bindings, scope, name, depth)
            elif one.kind == "class" and (scope == here or self.language.implicit):
                if self.language.implicit:
                    found = self.world.member(self.path, scope, name)
                else:
                    index = self.file.inner.get((scope, name))
                    found = None if index is None else (self.path, index)
                if found is not None and not above:
                    return self._value(ResolvedName(*found, how="own class"), depth)
            scope = one.parent
        return self._method_owner(name, here, depth) or self.world.top(
            self.path, name, self.language, depth
        )

    def _method_owner(self, name: str, scope: int, depth: int) -> ResolvedName | None:
        """A sibling of a method whose class stands in another file."""
        owner = self.owner(scope) if self.language.implicit else None
        found = self.world.member(*owner, name) if owner else None
        return self._value(ResolvedName(*found, how="own class"), depth) if found else None

    def _bound(
        self, bindings: list[tuple[str, str]], scope: int, name: str, depth: int
    ) -> ResolvedName | None:
        """What a local name stands for: the first of the things it is given that is known."""
        if depth > MAX_STEPS:
            return ResolvedName("", NO_SYMBOL, object=True, local=True)
        for type, value in bindings:
            around = self.file.symbols[scope].parent if value.partition(".")[0] == name else scope
            found = None
            if type:
                made = self.followed(type, scope, depth + 1)
                found = as_instance(made) if made is not None and made.path else None
            elif value:
                found = self.followed(value, around, depth + 1)
            if found is not None and found.path:
                return found._replace(local=True, how="type") if found.object else found
        if name in self.language.own and (owner := self.owner(scope)):
            return ResolvedName(*owner, object=name != "cls", how="own class", local=True)
        told = any(value or type for type, value in bindings)
        return None if told else ResolvedName("", NO_SYMBOL, object=True, local=True)

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

    def followed(self, chain: str, scope: int, depth: int = 0) -> ResolvedName | None:
        """What a chain leads to; None where a step is not known."""
        steps = chain.replace("super()", "super\0").split(".")
        if chain in ("?", "") or len(steps) > MAX_STEPS or depth > MAX_STEPS:
            return None
        first = steps[0].replace("\0", "()")
        name = first.removesuffix("()")
        owner = self.owner(scope)
        if owner and first in self.language.above:
            found: ResolvedName | None = ResolvedName(*owner, object=True, above=True)
        elif owner and name in self.language.own:
            found = ResolvedName(
                *owner, object=name not in ("cls", "Self", "static"), how="own class"
            )
        elif first.startswith("@") and owner:
            place = self.world.member(*owner, first.lstrip("@"))
            found = self._value(ResolvedName(*place), depth) if place else None
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

    def _dotted(self, steps: list[str], depth: int) -> ResolvedName | None:
        """A module imported under its whole name, `import a.b`: the chain begins with all of it."""
        for count in range(len(steps), 1, -1):
            name = ".".join(steps[:count])
            if name in self.file.imports:
                found = self.world.top(self.path, name, self.language, depth)
                if found is not None:
                    del steps[1:count]
                    return found
        return None

    def member(self, before: ResolvedName, name: str, depth: int = 0) -> ResolvedName | None:
        """What a name after a dot means."""
        if not before.path or depth > MAX_STEPS:
            return before if not before.path else None
        if before.num == NO_SYMBOL:
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
            return ResolvedName(
                *place, how=before.how if before.how in ("own class", "type") else "member"
            )
        return (
            ResolvedName("", NO_SYMBOL)
            if before.above or self.world.reaches_outside(before.path, before.num)
            else None
        )

    def _value(self, found: ResolvedName | None, depth: int) -> ResolvedName | None:
        """What a variable holds, or a property returns, if that is known."""
        if found is None or not found.path or found.num < 0 or found.object:
            return found
        one = self.world.symbol(found.path, found.num)
        if one.kind not in ("variable", "attribute") or depth > MAX_STEPS:
            return found
        there = MentionResolver(self.world, found.path)
        chain = one.type or one.value
        scope = one.parent if one.type else self.world.maker(found.path, one)
        if not chain:
            return None
        held = there.followed(chain, scope, depth + 1)
        if held is None or not held.path:
            return held
        return as_instance(held) if one.type else held

    def given(self, found: ResolvedName | None, depth: int) -> ResolvedName | None:
        """What a call returns: of a class, one of its objects."""
        if found is None or not found.path or found.num < 0:
            return found
        one = self.world.symbol(found.path, found.num)
        if one.kind == "class":
            return as_instance(found)
        if one.kind not in ("function", "method"):
            return None
        if one.name in ("new", "default") and one.owner and not one.type:
            owner = self.world.class_named(found.path, one.owner)
            return ResolvedName(*owner, object=True) if owner else None
        if one.type in ("Self", "self", "static", "t.Self", "te.Self", "typing.Self"):
            owner = MentionResolver(self.world, found.path).owner(found.num)
            return ResolvedName(*owner, object=True) if owner else None
        there = MentionResolver(self.world, found.path)
        made = there.followed(one.type, one.parent, depth + 1) if one.type else None
        return as_instance(made) if made is not None and made.path else made
