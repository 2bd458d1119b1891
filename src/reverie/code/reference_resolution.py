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
    FILE_KEY,
    NAME_IN_FILE_KEY,
    OUTSIDE,
    UNRESOLVED,
    Lookup,
    NameResolver,
    ResolvedName,
    as_instance,
    find_assigning_method,
    is_inside,
    is_symbol,
)
from reverie.code.parsed_facts import NO_SYMBOL, THIS_FILE, FileFacts, Import, Mention, NameBinding
from reverie.code.symbol_tables import LoadedFacts, SymbolRef
from reverie.storage.indexed_code import CodeEdge, LinkedFile

# steps of a chain, bases of bases, re-exports: more than that is a circle
MAX_STEPS = 8
# a method name of fewer letters says nothing
MIN_METHOD_CHARS = 3
# return types that mean the object itself
SELF_TYPES = ("Self", "self", "static", "t.Self", "te.Self", "typing.Self")
# what stands for the class itself within its methods, not for an object of it
CLASS_NAMES = ("cls", "Self", "static")


def resolve_repository(
    root: str,
    files: Mapping[str, FileFacts],
) -> Iterator[CodeEdge]:
    """The edges of a repository whose folder has that name, in the order of files and lines."""
    resolver = NameResolver(root, LoadedFacts(files), resolve_mention)
    for one in link_files(resolver, sorted(files)):
        yield from one.edges


def link_files(
    resolver: NameResolver,
    paths: Iterable[str],
) -> Iterator[LinkedFile]:
    """The edges that begin in each of these files, and the keys of what they rest on."""
    for path in paths:
        resolver.asked = set()
        edges = tuple(find_file_edges(resolver, path))
        # its own names go without saying: a file that changed is resolved anew
        keys = (key for key in resolver.asked if key[:2] != (NAME_IN_FILE_KEY, path))
        yield LinkedFile(path, edges, frozenset(map(to_dependency_key, keys)))


def to_dependency_key(lookup: Lookup) -> str:
    """A question that was asked, as the index keeps it."""
    if isinstance(lookup, str):
        return FILE_KEY.format(lookup)
    template, *parts = lookup
    return template.format(*parts)


def resolve_mention(
    resolver: NameResolver,
    path: str,
    mention: Mention,
) -> ResolvedName | None:
    """What a mention in a file means."""
    return MentionResolver(resolver, path).resolve(mention)


def find_file_edges(resolver: NameResolver, path: str) -> Iterator[CodeEdge]:
    """The edges that begin in a file."""
    mentions = MentionResolver(resolver, path)
    for one in mentions.file.facts.imports:
        yield from find_import_edges(resolver, path, one)
    for mention in mentions.file.facts.mentions:
        found = mentions.resolve(mention)
        site = (path, mention.scope, mention.kind, mention.name, mention.line)
        if is_inside(found):
            # what uses itself is no use, but what calls itself is recursion
            if mention.kind == "calls" or found.place != (path, mention.scope):
                yield CodeEdge(*site, found.path, found.num, found.how)
            continue
        is_unknown = found is None or found.how == UNRESOLVED
        if is_unknown and mention.kind != "uses" and resolver.is_defined(mention.name):
            yield CodeEdge(*site, how=UNRESOLVED)


def find_import_edges(
    resolver: NameResolver,
    path: str,
    one: Import,
) -> Iterator[CodeEdge]:
    """Where an import leads: to a symbol, to files, or outside."""
    if one.module == THIS_FILE:
        return
    written = f"{one.module}.{one.name}" if one.name not in ("", "default") else one.module
    edge = CodeEdge(path, NO_SYMBOL, "imports", written, one.line)
    found = resolver.resolve_import(path, one)
    if is_inside(found):
        yield edge._replace(
            to=found.path,
            symbol=found.num,
            how="import",
        )
        return
    files = resolver.locate_module(path, one.module)
    if not files:
        yield edge._replace(how="outside")
    for file in files:
        if file != path:
            yield edge._replace(to=file, how="import")


class MentionResolver:
    """Resolves the mentions of one file; `depth` is how many look-ups led here."""

    def __init__(
        self,
        resolver: NameResolver,
        path: str,
        depth: int = 0,
    ) -> None:
        self.resolver = resolver
        self.path = path
        self.depth = depth
        self.file = resolver.file(path)
        self.language = self.file.language

    def enter(self, path: str) -> MentionResolver:
        """The resolver of another file, or of this one, a step further down."""
        return MentionResolver(self.resolver, path, self.depth + 1)

    def resolve(self, mention: Mention) -> ResolvedName | None:
        """What a mention means: None if unknown, a result without a path if it is outside."""
        name, scope = mention.name, mention.scope
        if mention.receiver:
            before = self.follow_chain(mention.receiver, scope)
            if before is None:
                return self._resolve_only_method(name) if mention.kind == "calls" else None
            found = self.resolve_member(before, name)
        elif mention.kind == "inherits":
            # a base class is named outside of the class
            around = self.file.symbols[scope].parent if scope >= 0 else scope
            found = self.resolve_bare(name, around, skip_members=True)
        else:
            found = self.resolve_bare(name, scope)
        if found is not None and found.is_instance and found.is_local:
            # a local name for an object leads to nothing that is defined
            return OUTSIDE
        return found

    def _resolve_only_method(self, name: str) -> ResolvedName | None:
        """The only method of a name in the repository, unless everything has such a method."""
        if name in COMMON_METHODS or len(name) < MIN_METHOD_CHARS:
            return None
        found = self.resolver.find_only(
            name,
            self.language,
            lambda one: one.kind == "method",
        )
        return found._replace(how="only method of that name") if found else None

    def resolve_bare(
        self,
        name: str,
        scope: int,
        skip_members: bool = False,
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
                    return self._resolve_binding(bindings)
            elif one.kind == "class" and (scope == here or self.language.implicit):
                found = self._find_class_name(scope, name)
                if found is not None and not skip_members:
                    return self._resolve_value(ResolvedName(*found, how="own class"))
            scope = one.parent
        sibling = self._resolve_sibling(name, here)
        return sibling or self.resolver.resolve_top(
            self.path,
            name,
            self.language,
            self.depth,
        )

    def _find_class_name(self, scope: int, name: str) -> SymbolRef | None:
        """The definition that a bare name refers to in the body of a class."""
        if self.language.implicit:
            return self.resolver.find_member((self.path, scope), name)
        index = self.file.nested.get((scope, name))
        return None if index is None else (self.path, index)

    def _resolve_sibling(self, name: str, scope: int) -> ResolvedName | None:
        """A sibling of a method whose class stands in another file."""
        owner = self.find_owner(scope) if self.language.implicit else None
        found = self.resolver.find_member(owner, name) if owner else None
        return self._resolve_value(ResolvedName(*found, how="own class")) if found else None

    def _resolve_binding(self, bindings: list[NameBinding]) -> ResolvedName | None:
        """What a local name stands for: the first of the things it is given that is known."""
        some_object = OUTSIDE._replace(is_instance=True, is_local=True)
        if self.depth > MAX_STEPS:
            return some_object
        deeper = self.enter(self.path)
        for scope, name, type, value in bindings:
            found = None
            if type:
                found = as_instance(deeper.follow_chain(type, scope))
            elif value:
                # x = x.y means the x around the function
                is_own_name = value.partition(".")[0] == name
                around = self.file.symbols[scope].parent if is_own_name else scope
                found = deeper.follow_chain(value, around)
            if is_inside(found):
                return found._replace(is_local=True, how="type") if found.is_instance else found
        scope, name, *_ = bindings[0]
        owner = self.find_owner(scope) if name in self.language.own else None
        if owner:
            is_object = name != "cls"
            return ResolvedName(
                *owner,
                is_instance=is_object,
                how="own class",
                is_local=True,
            )
        says_something = any(one.value or one.type for one in bindings)
        return None if says_something else some_object

    def find_owner(self, scope: int) -> SymbolRef | None:
        """The class that a symbol is within a method of."""
        while scope >= 0:
            one = self.file.symbols[scope]
            if one.kind == "class":
                return self.path, scope
            if one.owner:
                return self.resolver.find_class(self.path, one.owner)
            scope = one.parent
        return None

    def follow_chain(self, chain: str, scope: int) -> ResolvedName | None:
        """What a chain leads to; None if a step is not known."""
        # Python's super() is one step
        steps = chain.replace("super()", "super\0").split(".")
        if chain in ("?", "") or len(steps) > MAX_STEPS or self.depth > MAX_STEPS:
            return None
        found = self._follow_first_step(steps, scope)
        for step in steps[1:]:
            if not is_inside(found):
                return found
            found = self._resolve_value(self.resolve_member(found, step.removesuffix("()")))
            if step.endswith("()"):
                found = self.resolve_call(found)
        return found

    def _follow_first_step(
        self,
        steps: list[str],
        scope: int,
    ) -> ResolvedName | None:
        """What the first step of a chain leads to; steps that it takes in leave the list."""
        first = steps[0].replace("\0", "()")
        name = first.removesuffix("()")
        owner = self.find_owner(scope)
        if owner and first in self.language.above:
            return ResolvedName(
                *owner,
                is_instance=True,
                bases_only=True,
            )
        if owner and name in self.language.own:
            return ResolvedName(
                *owner,
                is_instance=name not in CLASS_NAMES,
                how="own class",
            )
        if owner and first.startswith("@"):
            place = self.resolver.find_member(owner, first.lstrip("@"))
            return self._resolve_value(ResolvedName(*place)) if place else None
        found = self._follow_dotted_import(steps)
        if found is None:
            found = self._resolve_value(self.resolve_bare(name, scope))
            if found is not None and found.is_local and not found.path:
                # some object, nobody says of which class
                return None
        return self.resolve_call(found) if first.endswith("()") else found

    def _follow_dotted_import(self, steps: list[str]) -> ResolvedName | None:
        """A module imported under its whole name, `import a.b`: the chain begins with all of it."""
        for count in range(len(steps), 1, -1):
            name = ".".join(steps[:count])
            if name in self.file.imports:
                found = self.resolver.resolve_top(self.path, name, self.language, self.depth)
                if found is not None:
                    del steps[1:count]
                    return found
        return None

    def resolve_member(
        self,
        before: ResolvedName,
        name: str,
    ) -> ResolvedName | None:
        """The definition that a name after a dot refers to."""
        if not before.path:
            return before
        if self.depth > MAX_STEPS:
            return None
        if before.num == NO_SYMBOL:
            return self._resolve_module_name(before.path, name)
        one = self.resolver.symbol(before.place)
        if one.kind == "class":
            return self._resolve_class_member(before, name)
        if one.kind != "method" or not one.type:
            return None
        # a property: the member is one of what it returns
        deeper = self.enter(self.path)
        value = deeper.resolve_call(before)
        return deeper.resolve_member(value, name) if value and value.is_instance else None

    def _resolve_module_name(self, path: str, name: str) -> ResolvedName | None:
        """A name at the top of another file, or a module within that."""
        found = self.resolver.resolve_top(
            path,
            name,
            self.resolver.file(path).language,
        )
        submodule = None if found else self.resolver.find_submodule(path, name)
        return found._replace(how="import") if found else submodule

    def _resolve_class_member(
        self,
        before: ResolvedName,
        name: str,
    ) -> ResolvedName | None:
        """A member of a class, or a class within it."""
        resolver = self.resolver
        place = resolver.find_member(before.place, name, skip_own=before.bases_only)
        if place is None and not before.bases_only:
            place = resolver.find_nested_class(before.place, name)
        if place is not None:
            how = before.how if before.how in ("own class", "type") else "member"
            return ResolvedName(*place, how=how)
        if before.bases_only or resolver.has_outside_base(before.place):
            return OUTSIDE
        return None

    def _resolve_value(self, found: ResolvedName | None) -> ResolvedName | None:
        """What a variable holds, or a property returns, if that is known; else what it was."""
        if not is_symbol(found) or found.is_instance:
            return found
        one = self.resolver.symbol(found.place)
        if one.kind not in ("variable", "attribute") or self.depth > MAX_STEPS:
            return found
        there = self.enter(found.path)
        if one.type:
            return as_instance(there.follow_chain(one.type, one.parent))
        # the names of the method that assigns an attribute are known there
        scope = find_assigning_method(there.file.symbols, one)
        return there.follow_chain(one.value, scope)

    def resolve_call(self, found: ResolvedName | None) -> ResolvedName | None:
        """What a call returns: of a class, one of its objects."""
        if not is_symbol(found):
            return found
        one = self.resolver.symbol(found.place)
        if one.kind == "class":
            return as_instance(found)
        if one.kind not in ("function", "method"):
            return None
        there = self.enter(found.path)
        # constructors of Rust and Ruby by their names
        if one.name in ("new", "default") and one.owner and not one.type:
            owner = self.resolver.find_class(found.path, one.owner)
        elif one.type in SELF_TYPES:
            owner = there.find_owner(found.num)
        else:
            return as_instance(there.follow_chain(one.type, one.parent))
        return ResolvedName(*owner, is_instance=True) if owner else None
