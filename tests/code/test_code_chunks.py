"""Code cut into chunks by what it defines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.code.code_chunks import chunk_code, make_heading, read_heading_symbol
from reverie.code.file_parser import parse_file
from reverie.code.languages import BY_NAME
from reverie.notes.text_chunks import MAX_CHUNK_CHARS, split_lines
from tests.code.samples import SAMPLES

SHOP = '''"""Of a shop."""
import os

LIMIT = 3
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "dozen",
         "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "twenty-one")


# What one thing costs.
@cached
def price(n):
    def inner():
        return n

    return 3 * inner()


price.known = True


class Cart:
    """What is bought."""

    size = 0

    def total(self):
        return price(self.size)

    class Line:
        def cost(self):
            return 1
'''


def cut(text, language="python", path="src/shop/cart.py"):
    return chunk_code(path, text, parse_file(text.encode(), language).symbols)


@pytest.mark.proves("D16", "D18")
def test_one_chunk_for_each_definition():
    """Functions with what stands above them and in them, heads of classes, and what is around them."""
    found = {read_heading_symbol(one.text) or one.first: (one.first, one.last) for one in cut(SHOP)}
    assert found == {
        1: (1, 6),
        "price": (9, 18),
        "Cart": (21, 24),
        "Cart.total": (26, 27),
        "Cart.Line": (29, 29),
        "Cart.Line.cost": (30, 31),
    }


@pytest.mark.proves("D18")
def test_a_chunk_says_where_it_is_from():
    """The end of the path and the qualified name stand in front, the code after them as it is."""
    one = next(one for one in cut(SHOP) if read_heading_symbol(one.text) == "Cart.total")
    assert (
        one.text == "shop/cart.py Cart.total\n    def total(self):\n        return price(self.size)"
    )
    assert make_heading("cart.py", "") == "cart.py"


def test_the_same_function_elsewhere_is_the_same_text():
    """In another version and another checkout an unchanged function has the same hash, wherever it
    has moved.
    """
    old = {one.hash for one in cut(SHOP)}
    moved = cut(
        SHOP.replace("LIMIT = 3", "LIMIT = 3\n\n\ndef more():\n    return LIMIT"),
        path="v2/src/shop/cart.py",
    )
    assert [read_heading_symbol(one.text) for one in moved if one.hash not in old] == [
        "",
        "more",
        "",
    ]


def test_a_large_function_is_cut():
    """No chunk is longer than those of notes; each part tells what it is of."""
    body = "".join(f"    step_{n} = call_number_{n}(step_{n - 1})\n" for n in range(1, 200))
    parts = cut(f"def long(step_0):\n{body}")
    assert len(parts) > 3
    assert {read_heading_symbol(one.text) for one in parts} == {"long"}
    assert max(len(one.text.partition("\n")[2]) for one in parts) <= MAX_CHUNK_CHARS


@pytest.mark.parametrize("language", sorted(BY_NAME))
@pytest.mark.proves("D16")
def test_every_language_is_cut_by_what_it_defines(language):
    """In each language every function or method is in a chunk of its name, and no line is left out."""
    for path, text in SAMPLES[language].files.items():
        if not path.endswith(BY_NAME[language].suffixes):
            continue
        symbols = parse_file(text.encode(), language).symbols
        made = chunk_code(path, text, symbols)
        names = {read_heading_symbol(one.text) for one in made}
        ends = [one.last for one in symbols if one.kind in ("function", "method")]
        assert {
            one.qual
            for one in symbols
            if one.kind in ("function", "method")
            and ends.count(one.last) == 1
            and not inside(one, symbols)
        } <= names
        assert missing(text, made) == []


def inside(one, symbols):
    """Whether a symbol stands within a function, or begins on the line of another one."""
    return any(
        other is not one
        and other.kind in ("function", "method")
        and other.first <= one.first <= other.last
        for other in symbols
    )


def missing(text, made):
    shown = {line for one in made for line in range(one.first, one.last + 1)}
    return [n for n, line in enumerate(split_lines(text), 1) if line.strip() and n not in shown]


@given(
    st.lists(
        st.sampled_from(
            [*SHOP.split("\n"), "", "  def f(): pass", "class A:", "@", "def g(", "\t"]
        ),
        max_size=40,
    )
)
def test_every_line_stands_in_a_chunk(lines):
    """Whatever the lines are, none that is not blank is left out, and the text is what stands
    there.
    """
    text = "\n".join(lines)
    made = cut(text)
    assert missing(text, made) == []
    for one in made:
        if one.last > one.first:
            assert one.text.partition("\n")[2] == "\n".join(
                split_lines(text)[one.first - 1 : one.last]
            )
