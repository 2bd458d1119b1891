# mypy: no-check-untyped-defs
"""Anchors as pure functions: what an anchor stores, what a text names, when two definitions are the
same.
"""

import pytest

from reverie.code.code_mentions import find_code_words
from reverie.code.definition_digest import (
    compare_definitions,
    digest_syntax,
    find_definition_node,
    parse_tree,
    take_excerpt,
)
from reverie.code.file_parser import parse_file
from reverie.core.code_anchors import (
    CHANGED,
    GONE,
    CodeAnchor,
    anchor_to_row,
    anchors_of,
    can_become_outdated,
    combine_states,
    details_with_anchors,
    outdated_notice,
    outdated_state,
    parse_anchor,
)
from reverie.testing import make_memory

HERE = CodeAnchor(
    "/repo",
    "shop/cart.py",
    "Cart.total",
    "method",
    "d",
    "s",
    "def total(self): ...",
    "abcd",
    ("x.py",),
)


def measures(text, language="python", symbol=0):
    """(digest, shape) of a definition in a file."""
    data = text.encode()
    one = parse_file(data, language).symbols[symbol]
    return one.body, digest_syntax(find_definition_node(parse_tree(data, language), data, one))


@pytest.mark.proves("B112")
def test_an_anchor_is_kept_as_it_is():
    """What is kept is JSON and reads back as the same anchor; what is no anchor is none."""
    assert HERE == parse_anchor(anchor_to_row(HERE))
    assert HERE == anchors_of(make_memory("x", details={"anchors": [anchor_to_row(HERE)]}))[0]
    for odd in ({}, {"root": 1, "path": "a"}, "text", None, {"root": "/r"}):
        assert parse_anchor(odd) is None
    for odd in ("text", {"a": 1}, 7, [3]):
        assert [] == anchors_of(make_memory("x", details={"anchors": odd, "outdated": odd}))
        assert "" == outdated_notice(make_memory("x", details={"anchors": odd, "outdated": odd}))


@pytest.mark.parametrize(
    ("states", "all_of_them"),
    [
        ([], ""),
        (["", ""], ""),
        ([GONE], GONE),
        ([GONE, GONE], GONE),
        ([GONE, ""], CHANGED),
        ([CHANGED, ""], CHANGED),
        ([CHANGED, GONE], CHANGED),
    ],
)
def test_the_state_of_a_memory_follows_from_its_anchors(states, all_of_them):
    """Gone once nothing is left; else any that does not hold makes the memory one
    about older code.
    """
    anchors = [HERE._replace(state=state) for state in states]
    memory = make_memory("x", details=details_with_anchors(make_memory("x"), anchors))
    assert (all_of_them, all_of_them, bool(all_of_them)) == (
        combine_states(anchors),
        outdated_state(memory),
        bool(outdated_notice(memory)),
    )


def test_a_mark_is_a_sentence():
    """A mark reads as a sentence that says what changed and where."""
    assert (
        "said about an older version of Cart.total in shop/cart.py"
        == HERE._replace(state=CHANGED).notice
    )
    assert (
        "said about shop/cart.py, which is not there any more"
        == HERE._replace(symbol="", state=GONE).notice
    )
    assert "" == HERE.notice


@pytest.mark.parametrize(
    ("kind", "ages"),
    [
        ("fact", True),
        ("procedure", True),
        ("decision", True),
        ("own-kind", True),
        ("event", False),
        ("task", False),
        ("feeling", False),
        ("scratch", False),
    ],
)
def test_records_of_events_do_not_go_stale(kind, ages):
    """Memories of how something is go stale with the code; memories of what happened do not."""
    assert ages == can_become_outdated(make_memory("x", kind=kind))


SAME = [
    (
        "def f(a, b):\n    return a + 'x'\n",
        'def f(\n    a,\n    b,\n):\n    # why\n    return (a + "x")\n',
    ),
    (
        "@cache\ndef f():\n    return [1, 2]\n",
        "@cache\n\ndef f():\n    return [\n        1, 2,\n    ]\n",
    ),
    ("LIMIT = {'a': 1}\n", "LIMIT = {\n    'a': 1,\n}\n"),
]
OTHER = [
    ("def f(a):\n    return a\n", "def f(a):\n    return -a\n"),
    (
        "def f(a):\n    for x in a:\n        g()\n        h()\n",
        "def f(a):\n    for x in a:\n        g()\n    h()\n",
    ),
    ("@cache\ndef f():\n    return 1\n", "def f():\n    return 1\n"),
    ("def f():\n    return 'a b'\n", "def f():\n    return 'a  b'\n"),
    ("def f():\n    return 'a\\nb'\n", "def f():\n    return 'a\\nc'\n"),
    ("def f():\n    return (1,)\n", "def f():\n    return (1)\n"),
    ("LIMIT = {\n 'a': 1,\n 'b': 2}\n", "LIMIT = {\n 'a': 1,\n 'b': 3}\n"),
    ("class C:\n    n: int = 1\n", "class C:\n    n: int = 2\n"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_layout_and_comments_are_not_code(one, other):
    """Comments, line breaks, quotes, last commas and redundant parentheses change the digest, not
    the shape.
    """
    first, second = measures(one), measures(other)
    assert (True, True) == (first[0] != second[0], first[1] == second[1])


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_whatever_can_matter_changes_the_shape(one, other):
    """Operators, indentation, decorators, white space and letters in strings, a tuple's comma,
    values.
    """
    first, second = measures(one), measures(other)
    assert (True, True) == (first[0] != second[0], first[1] != second[1])


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        (
            "javascript",
            "function f(a) { return `a ${a} b`; }",
            "function f(a) { return `a ${a} c`; }",
        ),
        ("c", "int f(int a) { for (a = 1; a; ) g(); }", "int f(int a) { for (a = 1; ; a) g(); }"),
        ("go", "package p\nfunc f() int { return 1 }", "package p\nfunc f() int { return 2 }"),
        ("rust", 'fn f() -> &\'static str { "a\\tb" }', 'fn f() -> &\'static str { "a\\tc" }'),
        ("java", "class A { int f() { return 1; } }", "class A { int f() { return 2; } }"),
        ("ruby", 'def f\n  "a#{x}b"\nend', 'def f\n  "a#{x}c"\nend'),
        ("bash", 'f() { echo "$x"; }', "f() { echo '$x'; }"),
    ],
)
def test_changes_are_seen_in_every_language(language, one, other):
    """In every language a change alters the digest; a comment and more space do not."""
    comment = "# note\n" if language in ("ruby", "bash") else "/* note */ "
    assert measures(one, language)[1] != measures(other, language)[1]
    assert measures(one, language)[1] == measures(f"{comment}{one}\n\n", language)[1]


def test_a_moved_definition_has_the_same_digest():
    """Neither its own name nor the indentation of all of it counts, but the rest does to the
    letter.
    """
    inside = "class C:\n    def total(self):\n        if self:\n            return 1\n"
    outside = "def amount(self):\n    if self:\n        return 1\n"
    assert measures(inside, symbol=1)[0] == measures(outside)[0]
    assert measures(inside, symbol=1)[0] != measures(outside.replace("1", "2"))[0]


def test_likeness():
    """Equal words in equal order: 1 for the same, 0 for what has nothing in common."""
    text = "def f(a, b):\n    total = a * b\n    return total + 1\n"
    assert 1.0 == compare_definitions(text, text)
    assert 0.8 < compare_definitions(text, text.replace("+ 1", "- 2")) < 1.0
    assert 0.5 > compare_definitions(text, "class Z: pass")


def test_an_anchor_holds_no_secret():
    """A definition's text is redacted before it is written down."""
    secret = "ghp_" + "a1B2" * 9
    assert secret not in take_excerpt(f'def f():\n    return "{secret}"\n')


@pytest.mark.parametrize(
    ("text", "paths", "names"),
    [
        ("`Console.print` in rich/console.py wraps.", {"rich/console.py"}, {"Console.print"}),
        ("shop/cart.py, and ./tools/run.sh.", {"shop/cart.py", "tools/run.sh"}, set()),
        ("Call price_of() before CartView renders", set(), {"price_of", "CartView"}),
        ("`total` rounds down", set(), {"total"}),
        ("the total is rounded down, always. Use it on Monday", set(), set()),
        ("Cart::total and Cart#total", set(), {"Cart.total"}),
        ("mail ann@example, see https://example/a/b", set(), set()),
        ("`__init__` and `x` say nothing", set(), set()),
        ("see build/Makefile", {"build/Makefile"}, set()),
    ],
)
def test_what_a_text_may_name(text, paths, names):
    """Paths, names in backticks, and names such as prose has not; nothing in plain sentences."""
    words = find_code_words(text)
    assert (paths, names) == ({path for path in words.paths if "/" in path}, set(words.names))
