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
    OUTSIDE,
    UNRESOLVED,
    LookupLog,
    NameResolver,
    ResolvedName,
    as_instance,
    find_assigning_method,
)
from reverie.code.parsed_facts import NO_SYMBOL, THIS_FILE, FileFacts, Import, Mention
from reverie.code.symbol_tables import LoadedFacts, SymbolRef
from reverie.storage.indexed_code import CodeEdge, LinkedFile

# The keys of what edges rest on, as they are kept in the index.
FILE_KEY = "file {}"
NAME_IN_FILE_KEY = "in {}: {}"
NAME_KEY = "name {}"
MEMBERS_KEY = "members of {}"
# steps of a chain, bases of bases, re-exports: more than that is a circle
MAX_STEPS = 8
# a method name of fewer letters says nothing
MIN_METHOD_CHARS = 3
# return types that mean the object itself
SELF_TYPES = ("Self", "self", "static", "t.Self", "te.Self", "typing.Self")


def resolve_repository(root: str, files: Mapping[str, FileFacts]) -> Iterator[CodeEdge]:
    """The edges of a repository whose folder has that name, in the order of files and lines."""
    resolver = NameResolver(root, LoadedFacts(files), resolve_mention)
    for one in link_files(resolver, sorted(files)):
        yield from one.edges


def link_files(resolver: NameResolver, paths: Iterable[str]) -> Iterator[LinkedFile]:
    """The edges that begin in each of these files, and the keys of what they rest on."""
    for path in paths:
        resolver.asked = LookupLog()
        edges = tuple(find_file_edges(resolver, path))
        yield LinkedFile(path, edges, frozenset(list_dependency_keys(resolver.asked, path)))


def list_dependency_keys(asked: LookupLog, path: str) -> Iterator[str]:
    """The keys of all that the edges of a file can change with, besides the file itself."""
    yield from map(FILE_KEY.format, asked.files)
    for file, name in asked.names_in_files:
        if file != path:
            yield NAME_IN_FILE_KEY.format(file, name)
    yield from map(NAME_KEY.format, asked.names)
    yield from map(MEMBERS_KEY.format, asked.joined_classes)


def resolve_mention(resolver: NameResolver, path: str, mention: Mention) -> ResolvedName | None:
    """What a mention in a file means."""
    return MentionResolver(resolver, path).resolve(mention)


def find_file_edges(resolver: NameResolver, path: str) -> Iterator[CodeEdge]:
    """The edges that begin in a file."""
    mentions = MentionResolver(resolver, path)
    for one in mentions.file.facts.imports:
        yield from find_import_edges(resolver, path, one)
    for mention in mentions.file.facts.mentions:
        found = mentions.resolve(mention)
        edge = CodeEdge(path, mention.scope, mention.kind, mention.name, mention.line)
        if found is not None and found.path:
            # what uses itself is no use, but what calls itself is recursion
            is_itself = (found.path, found.num) == (path, mention.scope)
            if not is_itself or mention.kind == "calls":
                yield edge._replace(to=found.path, symbol=found.num, how=found.how)
        elif (
            (found is None or found.how == UNRESOLVED)
            and mention.kind != "uses"
            and resolver.is_defined(mention.name)
        ):
            yield edge._replace(how=UNRESOLVED)


def find_import_edges(resolver: NameResolver, path: str, one: Import) -> Iterator[CodeEdge]:
    """Where an import leads: to a symbol, to files, or outside."""
    if one.module == THIS_FILE:
        return
    written = f"{one.module}.{one.name}" if one.name not in ("", "default") else one.module
    edge = CodeEdge(path, NO_SYMBOL, "imports", written, one.line)
    found = resolver.resolve_import(path, one)
    if found is not None and found.path:
        yield edge._replace(to=found.path, symbol=found.num, how="import")
        return
    files = resolver.locate_module(path, one.module)
    if not files:
        yield edge._replace(how="outside")
    for file in files:
        if file != path:
            yield edge._replace(to=file, how="import")


def drop_local_object(found: ResolvedName | None) -> ResolvedName | None:
    """What a mention leads to: a local name for an object leads to nothing that is defined."""
    if found is not None and found.is_instance and found.is_local:
        return OUTSIDE
    return found


class MentionResolver:
    """Resolves the mentions of one file."""

    def __init__(self, resolver: NameResolver, path: str) -> None:
        self.resolver, self.path = resolver, path
        self.file = resolver.file(path)
        self.language = self.file.language

    def resolve(self, mention: Mention) -> ResolvedName | None:
        """What a mention means: None if unknown, a result without a path if it is outside."""
        name, scope = mention.name, mention.scope
        if not mention.receiver:
            is_base = mention.kind == "inherits"
            if is_base and scope >= 0:
                # a base class is named outside of the class
                scope = self.file.symbols[scope].parent
            return drop_local_object(self.resolve_bare(name, scope, skip_members=is_base))
        before = self.follow_chain(mention.receiver, scope)
        if before is not None:
            return drop_local_object(self.resolve_member(before, name))
        return self._resolve_only_method(name) if mention.kind == "calls" else None

    def _resolve_only_method(self, name: str) -> ResolvedName | None:
        """The only method of a name in the repository, unless everything has such a method."""
        if name in COMMON_METHODS or len(name) < MIN_METHOD_CHARS:
            return None
        place = self.resolver.find_only(name, self.language, lambda one: one.kind == "method")
        return ResolvedName(*place, how="only method of that name") if place else None

    def resolve_bare(
        self, name: str, scope: int, skip_members: bool = False, depth: int = 0
    ) -> ResolvedName | None:
        """What a name alone means within a symbol."""
        symbols = self.file.symbols
        here = scope
        while scope >= 0:
            one = symbols[scope]
            if one.kind in ("function", "method"):
                index = self.file.nested.get((scope, name))
                if index is not None:
                    return ResolvedName(self.path, index, how="same scope")
                bindings = self.file.bindings.get((scope, name))
                if bindings:
                    return self._resolve_binding(bindings, scope, name, depth)
            elif one.kind == "class" and (scope == here or self.language.implicit):
                found = self._find_class_name(scope, name)
                if found is not None and not skip_members:
                    return self._resolve_value(ResolvedName(*found, how="own class"), depth)
            scope = one.parent
        sibling = self._resolve_sibling(name, here, depth)
        return sibling or self.resolver.resolve_top(self.path, name, self.language, depth)

    def _find_class_name(self, scope: int, name: str) -> SymbolRef | None:
        """What a bare name means in the body of a class."""
        if self.language.implicit:
            return self.resolver.find_member(self.path, scope, name)
        index = self.file.nested.get((scope, name))
        return None if index is None else (self.path, index)

    def _resolve_sibling(self, name: str, scope: int, depth: int) -> ResolvedName | None:
        """A sibling of a method whose class stands in another file."""
        owner = self.find_owner(scope) if self.language.implicit else None
        found = self.resolver.find_member(*owner, name) if owner else None
        return self._resolve_value(ResolvedName(*found, how="own class"), depth) if found else None

    def _resolve_binding(
        self, bindings: list[tuple[str, str]], scope: int, name: str, depth: int
    ) -> ResolvedName | None:
        """What a local name stands for: the first of the things it is given that is known."""
        some_object = OUTSIDE._replace(is_instance=True, is_local=True)
        if depth > MAX_STEPS:
            return some_object
        for type, value in bindings:
            found = None
            if type:
                made = self.follow_chain(type, scope, depth + 1)
                found = as_instance(made) if made is not None and made.path else None
            elif value:
                # x = x.y means the x around the function
                is_own_name = value.partition(".")[0] == name
                around = self.file.symbols[scope].parent if is_own_name else scope
                found = self.follow_chain(value, around, depth + 1)
            if found is not None and found.path:
                return found._replace(is_local=True, how="type") if found.is_instance else found
        if name in self.language.own:
            owner = self.find_owner(scope)
            if owner:
                is_object = name != "cls"
                return ResolvedName(*owner, is_instance=is_object, how="own class", is_local=True)
        says_something = any(value or type for type, value in bindings)
        return None if says_something else some_object

    def find_owner(self, scope: int) -> SymbolRef | None:
        """The class that a symbol is within a method of."""
        symbols = self.file.symbols
        while scope >= 0:
            if symbols[scope].kind == "class":
                return self.path, scope
            if symbols[scope].owner:
                return self.resolver.find_class(self.path, symbols[scope].owner)
            scope = symbols[scope].parent
        return None

    def follow_chain(self, chain: str, scope: int, depth: int = 0) -> ResolvedName | None:
        """What a chain leads to; None if a step is not known."""
        # Python's super() is one step
        steps = chain.replace("super()", "super\0").split(".")
        if chain in ("?", "") or len(steps) > MAX_STEPS or depth > MAX_STEPS:
            return None
        found = self._follow_first_step(steps, scope, depth)
        for step in steps[1:]:
            if found is None or not found.path:
                return found
            member = self.resolve_member(found, step.removesuffix("()"), depth)
            found = self._resolve_value(member, depth)
            if step.endswith("()"):
                found = self.resolve_call(found, depth)
        return found

    def _follow_first_step(self, steps: list[str], scope: int, depth: int) -> ResolvedName | None:
        """What the first step of a chain leads to; steps that it takes in leave the list."""
        first = steps[0].replace("\0", "()")
        name = first.removesuffix("()")
        owner = self.find_owner(scope)
        if owner and first in self.language.above:
            return ResolvedName(*owner, is_instance=True, bases_only=True)
        if owner and name in self.language.own:
            is_object = name not in ("cls", "Self", "static")
            return ResolvedName(*owner, is_instance=is_object, how="own class")
        if owner and first.startswith("@"):
            place = self.resolver.find_member(*owner, first.lstrip("@"))
            return self._resolve_value(ResolvedName(*place), depth) if place else None
        found = self._follow_dotted_import(steps, depth)
        if found is None:
            found = self._resolve_value(self.resolve_bare(name, scope, depth=depth), depth)
            if found is not None and found.is_local and not found.path:
                # some object, nobody says of which class
                return None
        return self.resolve_call(found, depth) if first.endswith("()") else found

    def _follow_dotted_import(self, steps: list[str], depth: int) -> ResolvedName | None:
        """A module imported under its whole name, `import a.b`: the chain begins with all of it."""
        for count in range(len(steps), 1, -1):
            name = ".".join(steps[:count])
            if name in self.file.imports:
                found = self.resolver.resolve_top(self.path, name, self.language, depth)
                if found is not None:
                    del steps[1:count]
                    return found
        return None

    def resolve_member(
        self, before: ResolvedName, name: str, depth: int = 0
    ) -> ResolvedName | None:
        """What a name after a dot means."""
        if not before.path:
            return before
        if depth > MAX_STEPS:
            return None
        if before.num == NO_SYMBOL:
            language = self.resolver.file(before.path).language
            found = self.resolver.resolve_top(before.path, name, language)
            submodule = None if found else self.resolver.find_submodule(before.path, name)
            return found._replace(how="import") if found else submodule
        one = self.resolver.symbol(before.path, before.num)
        if one.kind == "method" and one.type:
            # a property: the member is one of what it returns
            value = self.resolve_call(before, depth + 1)
            if value is None or not value.is_instance:
                return None
            return self.resolve_member(value, name, depth + 1)
        return self._resolve_class_member(before, name) if one.kind == "class" else None

    def _resolve_class_member(self, before: ResolvedName, name: str) -> ResolvedName | None:
        """A member of a class, or a class within it."""
        resolver, path, num = self.resolver, before.path, before.num
        place = resolver.find_member(path, num, name, skip_own=before.bases_only)
        if place is None and not before.bases_only:
            place = resolver.find_nested_class(path, num, name)
        if place is not None:
            how = before.how if before.how in ("own class", "type") else "member"
            return ResolvedName(*place, how=how)
        if before.bases_only or resolver.has_outside_base(path, num):
            return OUTSIDE
        return None

    def _resolve_value(self, found: ResolvedName | None, depth: int) -> ResolvedName | None:
        """What a variable holds, or a property returns, if that is known; else what it was."""
        if found is None or not found.path or found.num < 0 or found.is_instance:
            return found
        one = self.resolver.symbol(found.path, found.num)
        if one.kind not in ("variable", "attribute") or depth > MAX_STEPS:
            return found
        there = MentionResolver(self.resolver, found.path)
        if one.type:
            value = there.follow_chain(one.type, one.parent, depth + 1)
            return as_instance(value) if value is not None and value.path else value
        # the names of the method that assigns an attribute are known there
        scope = find_assigning_method(there.file.symbols, one)
        return there.follow_chain(one.value, scope, depth + 1) if one.value else None

    def resolve_call(self, found: ResolvedName | None, depth: int) -> ResolvedName | None:
        """What a call returns: of a class, one of its objects."""
        if found is None or not found.path or found.num < 0:
            return found
        one = self.resolver.symbol(found.path, found.num)
        if one.kind == "class":
            return as_instance(found)
        if one.kind not in ("function", "method"):
            return None
        there = MentionResolver(self.resolver, found.path)
        # constructors of Rust and Ruby by their names
        if one.name in ("new", "default") and one.owner and not one.type:
            owner = self.resolver.find_class(found.path, one.owner)
        elif one.type in SELF_TYPES:
            owner = there.find_owner(found.num)
        else:
            made = there.follow_chain(one.type, one.parent, depth + 1) if one.type else None
            return as_instance(made) if made is not None and made.path else made
        return ResolvedName(*owner, is_instance=True) if owner else None
