# mypy: no-check-untyped-defs
"""The tables of secrets: each form stands once, and the shortest secret of every row is found."""

import random
import string
from collections import Counter
from functools import cache
from importlib import import_module

import pytest

from reverie.privacy.secret_lookalikes import holds_private_key
from reverie.privacy.secret_shapes import (
    MIN_TOKEN_CHARS,
    SHAPES,
    find_shape_spans,
    select_shape_rows,
)

# What a row asks for beyond its expression is left to chance, so often.
TRIES = 30
SIGNS = string.ascii_letters + string.digits + "-_+/=.,:;@?& $'\""


class ShortestText:
    """Writes a shortest text that an expression matches; what chance decides differs each time."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def write_all(self, tokens):
        tokens = list(tokens)
        # What must come behind belongs to the text, what must not is left to chance.
        return "".join(
            self.write_one(str(name), value)
            for place, (name, value) in enumerate(tokens)
            if str(name) != "ASSERT" or (place == len(tokens) - 1 and value[0] == 1)
        )

    def write_one(self, name, value):  # noqa: PLR0911
        match name:
            case "LITERAL":
                return chr(value)
            case "ANY" | "NOT_LITERAL":
                return self.chance.choice(string.ascii_letters)
            case "IN":
                return self.chance.choice(list_signs(tuple(value)) or "\n")
            case "BRANCH":
                return self.write_all(self.chance.choice(value[1]))
            case "SUBPATTERN":
                return self.write_all(value[-1])
            case "ATOMIC_GROUP":
                return self.write_all(value)
            case "ASSERT":
                return self.write_all(value[1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return "".join(self.write_all(value[2]) for _ in range(value[0]))
        return ""  # where it may stand, which is left to chance


@cache
def list_signs(tokens):
    return [sign for sign in SIGNS if is_in_set(sign, tokens)]


def is_in_set(sign, tokens):
    kinds = {
        "CATEGORY_DIGIT": sign.isdigit(),
        "CATEGORY_SPACE": sign.isspace(),
        "CATEGORY_NOT_SPACE": not sign.isspace(),
        "CATEGORY_WORD": sign.isalnum() or sign == "_",
    }
    found = any(
        (str(name) == "LITERAL" and chr(value) == sign)
        or (str(name) == "RANGE" and value[0] <= ord(sign) <= value[1])
        or (str(name) == "CATEGORY" and kinds[str(value)])
        for name, value in tokens
    )
    return found is not any(str(name) == "NEGATE" for name, _ in tokens)


UNSPOKEN = [row for row, shape in enumerate(SHAPES) if not shape.spoken]


@pytest.mark.parametrize("row", UNSPOKEN, ids=lambda row: f"{row}-{SHAPES[row].kind}")
def test_the_shortest_secret_of_every_row_is_looked_for(row):
    """A row that may match a word shorter than those that are looked at would miss it."""
    shape = SHAPES[row]
    tree = import_module("re._parser").parse(shape.pattern)
    assert tree.getwidth()[0] >= MIN_TOKEN_CHARS
    texts = [ShortestText(seed).write_all(tree) for seed in range(TRIES)]
    found = [text for text in texts if any(find_shape_spans(text, shape, 0))]
    assert [text for text in found if row not in select_shape_rows(text, text.lower())] == []
    assert found or shape.check is holds_private_key  # nobody guesses base64 of one


def test_no_prefix_stands_twice():
    """One row for each form: a second one is overlooked when the form changes."""
    rows = [(SHAPES[row].kind, anchor) for row in UNSPOKEN for anchor in SHAPES[row].anchors]
    assert [row for row, times in Counter(rows).items() if times > 1] == []
    prefixes = Counter(anchor for _, anchor in rows)
    # With its secret beside it, and alone.
    assert {prefix for prefix, times in prefixes.items() if times > 1} == {"AKIA", "ASIA"}
