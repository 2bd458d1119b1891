"""What parsing a file yields: values, without any notion of other files. `resolve` makes edges of
them.

An expression that a name is reached through is kept as a *chain*: names, dots, and `()` for every
call, such as `self.console.get()`; whatever cannot be followed by reading alone (an index, an
operator) is an empty chain.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from reverie.storage.code_index_port import Symbol

THIS_FILE = "<this file>"  # the module of another name that a file gives to something of its own
NO_SYMBOL = -1  # the index of no symbol: the file itself


class Import(NamedTuple):
    """A name that comes from somewhere else."""

    module: str  # as it is written; a path for languages that import files
    name: str  # in that module; empty: the module itself
    alias: str  # as which it is known here; empty: it is not
    line: int
    every: bool = False  # all names of the module are known here


class Mention(NamedTuple):
    """A place where a name is used."""

    kind: str  # calls, inherits, uses (a value), references (a type)
    name: str
    receiver: str  # the chain before the name; "?" where it cannot be followed; empty: a bare name
    scope: int  # the symbol it stands in
    line: int


class NameBinding(NamedTuple):
    """A name that a function gives something to: it hides what the name means outside."""

    scope: int
    name: str
    type: str  # the chain of its type, where it is declared
    value: str  # …of what is given to it, where that can be followed


class FileFacts(NamedTuple):
    """What stands in one file."""

    language: str
    symbols: Sequence[Symbol] = ()
    imports: Sequence[Import] = ()
    mentions: Sequence[Mention] = ()
    bindings: Sequence[NameBinding] = ()


def strip_qualifiers(qual: str) -> str:
    """A name without those around it."""
    return qual.rpartition(".")[2]


def facts_to_json(facts: FileFacts) -> str:
    """Facts as JSON."""
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def facts_from_json(text: str) -> FileFacts:
    """Facts from JSON."""
    language, symbols, imports, mentions, bindings = json.loads(text)
    return FileFacts(
        language,
        [Symbol(*row) for row in symbols],
        [Import(*row) for row in imports],
        [Mention(*row) for row in mentions],
        [NameBinding(*row) for row in bindings],
    )
