"""Parsing and resolving, without a store."""

from pathlib import PurePath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.code.expression_chains import parse_chain, parse_type_chain
from reverie.code.file_parser import parse_file
from reverie.code.languages import BY_NAME, BY_SUFFIX, LANGUAGES
from reverie.code.parsed_facts import facts_from_json, facts_to_json
from reverie.code.reference_resolution import resolve_repository
from tests.code.samples import SAMPLES

NAMES = sorted(BY_NAME)


def facts(files):
    return {
        path: parse_file(text.encode(), BY_SUFFIX[PurePath(path).suffix].name)
        for path, text in files.items()
    }


def edges(files, root="repo"):
    """(kind, within, name of what it leads to) of a repository's edges; of a file, its path."""
    known = facts(files)

    def name(path, num):
        return known[path].symbols[num].qual if num >= 0 else path

    return {
        (one.kind, name(one.path, one.scope) if one.scope >= 0 else "", name(one.to, one.symbol))
        for one in resolve_repository(root, known)
        if one.to
    }


@pytest.mark.parametrize("language", NAMES)
@pytest.mark.proves("D22", "D23", "D24", "D25", "D26", "D33", "CC-77")
def test_every_language_tells_what_it_defines(language):
    """Files, classes, functions, methods under their class, variables, in each language."""
    sample = SAMPLES[language]
    found = {(one.kind, one.qual) for some in facts(sample.files).values() for one in some.symbols}
    assert sample.symbols - found == set()


@pytest.mark.parametrize("language", NAMES)
@pytest.mark.proves("D28", "D29", "D30", "D31", "D32", "CC-77")
def test_every_language_tells_who_uses_what(language):
    """Calls, imports, base classes, uses and types across files, in each language."""
    sample = SAMPLES[language]
    assert sample.edges - edges(sample.files) == set()


def test_every_language_has_a_row_and_a_query_file():
    """A language is one row and one query file, and no query file is without a row."""
    from reverie.code.languages import QUERY_FOLDER

    assert sorted(path.stem for path in QUERY_FOLDER.glob("*.scm")) == NAMES
    suffixes = [suffix for language in LANGUAGES for suffix in language.suffixes]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.proves("D28", "D35", "CC-77")
def test_callers_of_a_function_in_a_file_of_two():
    """The calls of f, and no others, are those of f."""
    found = edges({"one.py": "def f():\n    return 1\n\n\ndef g():\n    return f()\n"})
    assert found == {("calls", "g", "f")}


@pytest.mark.proves("D29", "CC-77")
def test_an_import_under_another_name_is_followed():
    """`import a as b`, `from x import y as z`, and both through a re-export."""
    found = edges(
        {
            "a.py": "def f(): pass\n",
            "pkg/__init__.py": "from .inner import f as g\n",
            "pkg/inner.py": "def f(): pass\n",
            "main.py": "import a as b\nfrom pkg import g as h\n\ndef one():\n    b.f()\n\ndef two():\n    h()\n",
        }
    )
    assert {("calls", "one", "f"), ("calls", "two", "f"), ("imports", "", "a.py")} <= found
    calls = [
        one
        for one in resolve_repository(
            "repo",
            facts(
                {"a.py": "def f(): pass\n", "main.py": "import a as b\n\ndef one():\n    b.f()\n"}
            ),
        )
        if one.kind == "calls"
    ]
    assert [(one.to, one.line, one.how) for one in calls] == [("a.py", 4, "import")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(): pass\n\ndef g(f):\n    f()\n", "an argument"),
        ("def f(): pass\n\ndef g():\n    f = print\n    f()\n", "an assignment"),
        ("from elsewhere import f\n\ndef g():\n    f()\n", "an import from outside"),
        (
            "class A:\n    def f(self): pass\n\ndef g():\n    f()\n",
            "a method, which no bare name means",
        ),
        (
            "class A:\n    def get(self): pass\n\ndef g(x):\n    x.get()\n",
            "a name that everything has",
        ),
        (
            "class A:\n    def dip(self): pass\nclass B:\n    def dip(self): pass\n\ndef g(x):\n    x.dip()\n",
            "two of it",
        ),
    ],
)
def test_what_is_not_known_is_not_guessed(text, why):
    """A call that may mean something else has no edge to what happens to bear the name."""
    assert [
        found
        for found in edges({"one.py": text, "two.py": "def f(): pass\n"})
        if found[0] == "calls"
    ] == [], why


def test_what_is_only_likely_says_so():
    """The only method of a name is taken for an unknown object's, and `how` tells that this is all
    that is known.
    """
    text = "class A:\n    def dip_slowly(self): pass\n\ndef g(x):\n    x.dip_slowly()\n"
    calls = [
        one for one in resolve_repository("repo", facts({"one.py": text})) if one.kind == "calls"
    ]
    assert [(one.how, one.symbol >= 0) for one in calls] == [("only method of that name", True)]


@pytest.mark.proves("D28", "D29", "CC-77")
def test_a_module_is_known_by_its_whole_name():
    """`import a.b.c` and then `a.b.c.f()`, at the top and in a function."""
    found = edges(
        {
            "a/__init__.py": "",
            "a/b/__init__.py": "",
            "a/b/c.py": "class K:\n    def g(self): ...\ndef f(): ...\n",
            "m.py": "import a.b.c\na.b.c.f()\ndef z():\n    a.b.c.K().g()\n    a.b.c.f()\n",
        }
    )
    assert {
        ("calls", "", "f"),
        ("calls", "z", "f"),
        ("calls", "z", "K"),
        ("calls", "z", "K.g"),
    } <= found


@pytest.mark.proves("D28", "CC-77")
def test_classes_within_classes_and_properties_are_followed():
    """A nested class is a member of its class; a property leads to what it returns."""
    found = edges(
        {
            "m.py": "class Part:\n    def spin(self): ...\n    def stop(self): ...\n"
            "class Other:\n    def spin(self): ...\n"
            "class Outer:\n    class Inner:\n        def m(self): ...\n"
            "    @property\n    def part(self) -> Part: ...\n"
            "    def use(self):\n        self.Inner().m()\n        self.part.spin()\n"
            "def far():\n    Outer.Inner().m()\n    Outer().part.spin()\n"
        }
    )
    assert {
        ("calls", "Outer.use", "Outer.Inner"),
        ("calls", "Outer.use", "Outer.Inner.m"),
        ("calls", "Outer.use", "Part.spin"),
        ("calls", "far", "Outer.Inner"),
        ("calls", "far", "Outer.Inner.m"),
        ("calls", "far", "Part.spin"),
    } <= found
    assert not any(to == "Other.spin" for _, _, to in found)


@pytest.mark.proves("D28", "CC-77")
def test_super_leads_outside_where_the_base_is_outside():
    """`super()` of a class whose base lies outside leads outside, not to its own method of that
    name.
    """
    found = edges(
        {"m.py": "import lib\nclass A(lib.Base):\n    def f(self):\n        super().f()\n"}
    )
    assert not any(kind == "calls" for kind, _, _ in found)


@pytest.mark.proves("D29", "CC-77")
def test_a_declared_module_of_rust_is_known():
    """`mod store;` makes `store::open()` known without a `use`."""
    assert ("calls", "go", "open") in edges(
        {
            "src/lib.rs": "mod store;\npub fn go() { store::open(); }\n",
            "src/store.rs": "pub fn open() {}\n",
        }
    )


MODULES = {
    "src/lib/format.ts": "export function fmt() {}\nexport default class Formatter { go() { return fmt(); } }\n",
    "src/lib/index.ts": "export { fmt } from './format';\nexport { default as Fmt } from './format';\n"
    "export * as ns from './format';\nfunction own() {}\nexport { own as publicOwn };\n",
    "src/plain.js": "function made() {}\nfunction other() {}\nexport default made;\n",
}


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("import { fmt as f } from '../lib';\nf();", "fmt"),
        ("import { Fmt } from '../lib';\nnew Fmt();", "Formatter"),
        ("import { Fmt } from '../lib';\nnew Fmt().go();", "Formatter.go"),
        ("import D from '../lib/format.js';\nnew D().go();", "Formatter.go"),
        ("import { ns } from '../lib';\nns.fmt();", "fmt"),
        ("import { publicOwn } from '../lib';\npublicOwn();", "own"),
        ("import * as all from '../lib';\nall.publicOwn();", "own"),
        ("import any from '../plain';\nany();", "made"),
        ("import { fmt } from '@/lib/format';\nfmt();", "fmt"),
        ("import { publicOwn } from '~/lib';\npublicOwn();", "own"),
    ],
)
@pytest.mark.proves("D29")
def test_exports_of_javascript_are_followed(code, called):
    """Barrels, default exports, exports under another name, and the usual short names of the source
    folder.
    """
    assert ("calls", "", called) in edges({**MODULES, "src/app/main.ts": code})


@pytest.mark.proves("D35", "CC-77")
def test_a_call_through_a_configured_path_may_be_ours():
    """A module that a project's settings may lead to one of ours: calls of it are told as possible."""
    known = facts(
        {**MODULES, "src/main.ts": "import { fmt, map } from '@lib/format';\nfmt();\nmap();\n"}
    )
    assert [
        (one.line, one.name, one.to, one.how)
        for one in resolve_repository("repo", known)
        if one.path == "src/main.ts" and one.kind == "calls"
    ] == [(2, "fmt", "", "unresolved")]


@pytest.mark.proves("D29", "CC-77")
def test_modules_that_pass_on_all_names_of_each_other():
    """Twenty modules that re-export each other are looked through once each, not along every way."""
    count = 20
    files = {
        f"m{n}.ts": "".join(
            f"export * from './m{other}';\n" for other in range(count) if other != n
        )
        + "import * as all from './m0';\nnothing();\nother();\n"
        for n in range(count)
    }
    found = edges(
        {
            **files,
            "m7.ts": files["m7.ts"] + "export function deep() {}\n",
            "x.ts": "class nothing {}\n",
            "use.ts": "import { deep } from './m3';\ndeep();\n",
        }
    )
    assert ("calls", "", "deep") in found and ("calls", "", "nothing") not in found


def test_circular_bases_and_re_exports_end():
    """Resolution ends on circles of bases, re-exports and assignments."""
    text = (
        "from two import A\nclass A(A): pass\nclass B(C): pass\n"
        "class C(B):\n    x = x\n    def f(self): self.x.y()\n"
    )
    assert edges({"one.py": text, "two.py": "from one import A\n"})


@pytest.mark.proves("D33")
def test_broken_syntax_costs_only_what_stands_around_it():
    """A file that does not parse still tells its whole definitions."""
    text = "def f():\n    return 1\n\nclass (:\n   )))\n\ndef g():\n    return f()\n"
    assert ("calls", "g", "f") in edges({"one.py": text})


@pytest.mark.parametrize("language", NAMES)
@settings(max_examples=15)
@given(data=st.binary(max_size=300))
@pytest.mark.proves("D33")
def test_no_bytes_stop_the_parser(language, data):
    """Any bytes, whole or within a program, yield facts that can be written down and resolved."""
    text = next(iter(SAMPLES[language].files.values())).encode()
    suffix = BY_NAME[language].suffixes[0]
    known = {
        f"a{suffix}": parse_file(data, language),
        f"b{suffix}": parse_file(text[: len(data)] + data + text[len(data) :], language),
    }
    assert {
        path: facts_from_json(facts_to_json(some)) for path, some in known.items()
    }.keys() == known.keys()
    for edge in resolve_repository("repo", known):
        assert edge.symbol < len(known[edge.to].symbols) if edge.to else edge.symbol == -1


@given(st.text(max_size=60))
def test_a_chain_is_names_dots_and_calls(text):
    """Whatever an expression is, its chain holds nothing else, and the chain of a
    chain is itself.
    """
    found = parse_chain(text)
    assert all(step.removesuffix("()") for step in found.split(".")) or found == ""
    assert parse_chain(found) in (found, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Optional[Foo]", "Foo"),
        ("Foo | None", "Foo"),
        ("'Foo'", "Foo"),
        ("a.b.Foo[int]", "a.b.Foo"),
        ("&'a mut Foo", "Foo"),
        ("*Foo", "Foo"),
        ("Box<Foo>", "Foo"),
        (": Foo", "Foo"),
        ("Foo<T>", "Foo"),
        ("list[Foo] | dict", ""),
        ("[]Foo", ""),
        ("(*Foo, error)", "Foo"),
        ("Foo?", "Foo"),
        ("const Foo &", "Foo"),
        ("std::unique_ptr<water::Pump>", "water.Pump"),
    ],
)
def test_types_as_they_are_written(text, expected):
    """What a type's members are looked up in, in each language's way of writing it."""
    assert parse_type_chain(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.console.get(1, (2))", "self.console.get()"),
        ("await new Foo(x)", "Foo()"),
        ("$this->pump", "$this.pump"),
        ("a?.b()", "a.b()"),
        ("a[0].b", ""),
        ("a + b", ""),
        ("Pump::new()", "Pump.new()"),
        ("&Pump{1}", "Pump()"),
        ("super().fill", "super().fill"),
        ("3", ""),
        ("None", ""),
    ],
)
def test_expressions_as_chains(text, expected):
    """What can be followed by reading alone is, and nothing else."""
    assert parse_chain(text) == expected
