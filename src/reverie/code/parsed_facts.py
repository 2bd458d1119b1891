"""What parsing a file yields: values, without any notion of other files.

An expression that a name is reached through is kept as a *chain*: names, dots, and `()` for every
call, such as `self.console.get()`. Whatever cannot be followed by reading alone (an index, an
operator) is an empty chain. `reference_resolution` makes edges of these facts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from reverie.storage.indexed_code import Symbol

# the module of an import by which a file gives another name to something of its own
THIS_FILE = "<this file>"
# stands for the file itself where the index of a symbol is expected
NO_SYMBOL = -1


class Import(NamedTuple):
    """A name that comes from somewhere else."""

    # as it is written; a path for languages that import files
    module: str
    # in that module; empty: the module itself
    name: str
    # what it is called here; empty: nothing
    alias: str
    line: int
    # all names of the module are known here
    every: bool = False


class Mention(NamedTuple):
    """A place where a name is used."""

    # calls, inherits, uses (a value), references (a type)
    kind: str
    name: str
    # the chain before the name; "?" if it cannot be followed; empty: a bare name
    receiver: str
    # the symbol that it stands in
    scope: int
    line: int


class NameBinding(NamedTuple):
    """A name that a function assigns: it hides what the name means outside."""

    scope: int
    name: str
    # the chain of its declared type
    type: str
    # the chain of the assigned value, if that can be followed
    value: str


class FileFacts(NamedTuple):
    """What one file defines, imports and mentions."""

    language: str
    symbols: Sequence[Symbol] = ()
    imports: Sequence[Import] = ()
    mentions: Sequence[Mention] = ()
    bindings: Sequence[NameBinding] = ()


def strip_qualifiers(qual: str) -> str:
    """The last part of a qualified name."""
    return qual.rpartition(".")[2]


def facts_to_json(facts: FileFacts) -> str:
    """Facts as JSON lists without field names, as the index keeps them."""
    return json.dumps(
        facts,
        ensure_ascii=False,
        separators=(",", ":"),
    )


def facts_from_json(text: str) -> FileFacts:
    """Facts from what `facts_to_json` made of them."""
    language, symbols, imports, mentions, bindings = json.loads(text)
    return FileFacts(
        language,
        [Symbol(*row) for row in symbols],
        [Import(*row) for row in imports],
        [Mention(*row) for row in mentions],
        [NameBinding(*row) for row in bindings],
    )
