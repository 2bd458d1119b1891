"""Resolving only what a change may alter is the same as resolving all."""

from collections import Counter
from hashlib import blake2b
from pathlib import PurePath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reverie.code import incremental_resolution
from reverie.code.code_indexing import to_parsed_file
from reverie.code.file_parser import parse_file
from reverie.code.languages import BY_SUFFIX
from reverie.code.name_resolution import NameResolver
from reverie.code.parsed_facts import facts_from_json
from reverie.code.reference_resolution import link_files, resolve_mention, resolve_repository
from reverie.code.repository_map import EDGE_WEIGHTS
from reverie.code.symbol_tables import LoadedFacts
from reverie.storage.indexed_files import UNSURE_STAMP, IndexedFile
from reverie.storage.sqlite.code_index import SqliteCodeIndex
from tests.code.samples import SAMPLES

pytestmark = pytest.mark.proves(
    "D22", "D23", "D24", "D25", "D26", "D27", "D28", "D29", "D30", "D31", "D32", "D33", "CC-77"
)


ROOT = "/work/repo"
NAMES = ("ff", "gg", "Hh", "Kk", "mm")
PATHS = (
    "ff.py",
    "gg.py",
    "pkg/__init__.py",
    "pkg/mm.py",
    "pkg/ff.py",
    "pkg/sub/__init__.py",
    "pkg/sub/gg.py",
    "src/ff.py",
    "a.go",
    "d/b.go",
    "d/c.go",
    "d/Hh.java",
    "d/Kk.java",
    "e/Hh.java",
    "src/lib.rs",
    "src/ff.rs",
    "src/mm/mod.rs",
    "x.cpp",
    "y.hpp",
    "z/y.hpp",
    "i.ts",
    "mm.ts",
    "l/index.ts",
    "l/mm.js",
    "r.rb",
    "s/q.rb",
    "p.php",
    "o/p.php",
    "w.cs",
    "v/w.cs",
    "b.sh",
    "ff.sh",
)
SNIPPETS = {
    "python": (
        "def {0}():\n    return {1}().{2}()\n",
        "def {0}() -> {1}:\n    return {2}()\n",
        "def {0}(a):\n    {1} = a\n    def {2}():\n        return {1}.{3}()\n    return {2}\n",
        "{0} = {1}()\n",
        "{0}: {1} = {2}()\n",
        "{0}.{1}()\n",
        "x = {0}\nx.{1}()\n",
        "\n\n# {0}\n",
        "class {0}: pass\n",
        "class {0}({1}):\n    {2} = {3}\n",
        "class {0}({1}.{2}): pass\n",
        "class {0}(mm.{1}()): pass\n",
        "class {0}({1}):\n    class {2}({0}): pass\n",
        "class {0}({1}):\n    def __init__(self):\n        loc = {2}()\n        self.{3} = loc\n"
        "    def {2}(self):\n        return self.{3}.{1}()\n",
        "class {0}:\n    def {1}(self, x: {2}):\n        x.{3}()\n        self.{2}()\n        super().{3}()\n",
        "import {0}\n",
        "import pkg.{0}\n",
        "import pkg.sub.{0} as {1}\n",
        "import pkg\npkg.{0}.{1}()\n",
        "from pkg import {0}\n",
        "from pkg.{0} import {1} as {2}\n",
        "from .{0} import *\n",
        "from . import {0}\n",
        "from .. import {0}\n",
        "from {0} import {1}\n",
    ),
    "go": (
        "package d\n",
        'import "repo/d"\n',
        "func {0}() *{1} {{ return {2}() }}\n",
        "type {0} struct {{ {1} {2} }}\n",
        "func (h *{0}) {1}() {{ h.{2}(); d.{3}() }}\n",
    ),
    "java": (
        "import d.{0};\n",
        "import e.{0};\n",
        "class {0} extends {1} {{ {2} mm; void {3}() {{ mm.{1}(); {2}(); }} }}\n",
    ),
    "rust": (
        "mod {0};\n",
        "use crate::{0}::{1};\n",
        "use super::{0};\n",
        "pub struct {0} {{ {1}: {2} }}\n",
        "impl {0} {{ fn {1}(&self) {{ self.{2}(); {3}(); }} fn new() -> Self {{ {0}{{}} }} }}\n",
        "fn {0}() -> {1} {{ {2}::new().{3}() }}\n",
    ),
    "cpp": (
        '#include "y.hpp"\n',
        "class {0} : public {1} {{ {2} mm; void {3}(); }};\n",
        "void {0}::{1}() {{ mm.{2}(); {3}(); }}\n",
        "int {0}() {{ return {1}(); }}\n",
    ),
    "typescript": (
        "import {{ {0} }} from './{1}';\n",
        "import {0} from './l';\n",
        "import * as {0} from './mm';\n",
        "export class {0} extends {1} {{ {2}: {3}; ff() {{ this.{2}.{1}(); }} }}\n",
        "export default function {0}() {{ return {1}(); }}\n",
        "export const {0} = () => {1}.{2}();\n",
    ),
    "ruby": (
        "require_relative 's/q'\n",
        "class {0} < {1}\n  def {2}\n    {3}()\n  end\nend\n",
        "def {0}\n  {1}.new.{2}\nend\n",
    ),
    "php": (
        "<?php\n",
        "use A\\{0};\n",
        "class {0} extends {1} {{ function {2}() {{ $this->{3}(); {1}(); }} }}\n",
        "function {0}() {{ return (new {1}())->{2}(); }}\n",
    ),
    "c_sharp": (
        "using {0};\n",
        "class {0} : {1} {{ {2} mm; void {3}() {{ mm.{1}(); {2}(); }} }}\n",
    ),
    "bash": (
        "source ./ff.sh\n",
        "{0}() {{\n  {1}\n}}\n",
        "{0}\n",
    ),
}
SNIPPETS["javascript"] = SNIPPETS["typescript"]


@st.composite
def edits(draw):
    """(path, text or nothing) of a file that is written anew or removed."""
    path = draw(st.sampled_from(PATHS))
    if draw(st.integers(0, 5)) == 0:
        return path, None
    return path, draw(texts(path))


def texts(path):
    """A program of a few definitions, of names that others use."""
    snippets = SNIPPETS[BY_SUFFIX[PurePath(path).suffix].name]
    names = st.tuples(*[st.sampled_from(NAMES)] * 4)
    return st.lists(st.tuples(st.sampled_from(snippets), names), max_size=5).map(
        lambda some: "".join(snippet.format(*names) for snippet, names in some)
    )


def facts_of(path, text):
    return parse_file(text.encode(), BY_SUFFIX[PurePath(path).suffix].name)


def row(path, text):
    """A file as it is indexed."""
    facts = facts_of(path, text)
    return to_parsed_file(
        IndexedFile(path, UNSURE_STAMP, blake2b(text.encode(), digest_size=16).digest()), facts
    ), facts


def begun(files):
    """An index of these files, all resolved."""
    index = SqliteCodeIndex(":memory:")
    rows = [row(path, text) for path, text in files.items()]
    index.put(ROOT, [one for one, _ in rows])
    source = LoadedFacts({one.file.path: facts for one, facts in rows})
    index.link(ROOT, link_files(NameResolver("repo", source, resolve_mention), sorted(files)))
    return index


def altered(index, files, changes):
    """Make some changes as `index_code` does; how many files were resolved."""
    fresh = {
        path: text for path, text in changes.items() if text is not None and files.get(path) != text
    }
    gone = [path for path, text in changes.items() if text is None and path in files]
    rows = [row(path, text) for path, text in fresh.items()]
    facts = {one.file.path: some for one, some in rows}
    made = incremental_resolution.amend_edges(
        index, ROOT, "repo", index.indexed_files(ROOT), facts, gone, 1_000
    )
    assert made is not None
    index.amend(ROOT, [one for one, _ in rows], gone, *made)
    files.update(fresh)
    for path in gone:
        del files[path]
    return len(made.linked)


def assert_whole(index, files):
    """What the index says is what resolving everything says, edge by edge."""
    known = {path: facts_from_json(text) for path, text in index.facts(ROOT).items()}
    assert known.keys() == files.keys()
    edges = Counter(
        edge
        for path in files
        for kind in EDGE_WEIGHTS
        for edge in index.edges_of_file(ROOT, path, kind)
    )
    assert edges == Counter(set(resolve_repository("repo", known)))
    assert index.verify() == ""


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    start=st.lists(edits(), max_size=8),
    steps=st.lists(st.lists(edits(), min_size=1, max_size=3), max_size=6),
)
@pytest.mark.slow
def test_after_any_edits_the_edges_are_those_of_resolving_all(start, steps):
    """Functions added, removed, renamed, imports changed, files added and deleted,
    several at once.
    """
    files = {path: text for path, text in start if text is not None}
    index = begun(files)
    assert_whole(index, files)
    for step in steps:
        altered(index, files, dict(step))
        assert_whole(index, files)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    start=st.lists(edits(), min_size=3, max_size=8),
    steps=st.lists(
        st.tuples(
            *[st.integers(0, 99)] * 2,
            st.tuples(*[st.sampled_from(NAMES)] * 4),
            st.sampled_from(("first", "last", "out")),
        ),
        min_size=1,
        max_size=8,
    ),
)
@pytest.mark.slow
def test_after_definitions_came_and_went_the_edges_are_those_of_resolving_all(start, steps):
    """One after the other, before and after all that stands in a file: what was there has other
    numbers then.
    """
    files = {path: text for path, text in start if text is not None}
    parts = {path: [text] for path, text in files.items()}
    index = begun(files)
    for which, number, names, how in steps if files else ():
        path = sorted(parts)[which % len(parts)]
        snippets = SNIPPETS[BY_SUFFIX[PurePath(path).suffix].name]
        text = snippets[number % len(snippets)].format(*names)
        old = parts[path]
        parts[path] = [text, *old] if how == "first" else [*old, text] if how == "last" else old[1:]
        altered(index, files, {path: "".join(parts[path])})
        assert_whole(index, files)


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_removing_and_restoring_parts_gives_the_same_edges(language):
    """Each file removed and put back, each line left out and put back: always as if all were
    resolved anew.
    """
    whole = dict(SAMPLES[language].files)
    files = dict(whole)
    index = begun(files)
    for path, text in whole.items():
        lines = text.split("\n")
        for change in (None, *("\n".join(lines[:n] + lines[n + 1 :]) for n in range(len(lines)))):
            altered(index, files, {path: change})
            assert_whole(index, files)
        altered(index, files, {path: text})
        assert_whole(index, files)


def test_what_is_not_touched_is_not_resolved():
    """A change within a function costs its own file; a new name costs those that use the file or
    the name.
    """
    files = {f"user{n}.py": f"from core import hub\n\ndef user{n}(): hub()\n" for n in range(5)}
    files |= {f"other{n}.py": f"import os\n\ndef other{n}(x): x.beside{n}()\n" for n in range(50)}
    files["core.py"] = "def hub():\n    return 1\n"
    index = begun(files)
    assert altered(index, files, {"core.py": "def hub():\n    # more\n    return len([1])\n"}) == 1
    assert altered(index, files, {"core.py": "def late(): pass\n\ndef hub():\n    return 1\n"}) == 1
    assert (
        altered(
            index, files, {"core.py": files["core.py"] + "class C:\n    def beside7(self): pass\n"}
        )
        == 2
    )
    assert altered(index, files, {"core.py": files["core.py"].partition("class C")[0]}) == 2
    assert altered(index, files, {"core.py": files["core.py"] + "def hub(): pass\n"}) == 6
    assert altered(index, files, {"fresh.py": "def beside8(): pass\n"}) == 2
    assert_whole(index, files)
