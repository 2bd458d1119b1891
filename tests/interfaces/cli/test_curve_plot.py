"""Curves in the terminal and as SVG, and the keys and lines below all screens."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.interfaces.terminal.curve_plot import (
    Chart,
    Curve,
    chart_decay,
    draw_svg,
    draw_text_chart,
    round_up,
)
from reverie.interfaces.terminal.key_reading import Key, read_keys
from reverie.interfaces.terminal.line_edit import (
    LineEdit,
    cut_columns,
    fold_columns,
    measure_columns,
    type_key,
)
from reverie.memory.growth import KindDecay
from tests.support.helpers import open_mind, run_command, toy_home


def test_a_rising_line_is_drawn_from_corner_to_corner():
    """The first dot is at the left below, the last at the right above."""
    chart = Chart("t", [Curve("", [(0.0, 0.0), (10.0, 10.0)])], ("a", "b"))
    lines = draw_text_chart(chart, 24, 4)
    assert lines[0] == "t" and lines[1].startswith("10│") and lines[1][-1] not in " │"
    assert lines[4].startswith(" 0│") and lines[4][3] != " "
    assert max(map(len, lines)) <= 24
    assert all(line.isascii() for line in draw_text_chart(chart, 24, 4, ascii_only=True))


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.integers(20, 90), st.integers(3, 12)
)
def test_any_curve_fits(heights, columns, rows):
    """Whatever the numbers, no line is wider than asked, and the SVG can be read."""
    chart = Chart("<&>", [Curve("<b>", list(enumerate(heights)))], ("a", "b"))
    assert max(map(len, draw_text_chart(chart, columns, rows))) <= columns
    ElementTree.fromstring(draw_svg([chart]))


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (5e-324, 1), (1, 1), (7, 10), (21, 25), (1001, 2000)]
)
def test_axes_end_at_round_numbers(value, top):
    """1, 2, 2.5 or 5, and zeros."""
    assert round_up(value) == top


def test_decay_halves_after_a_half_life():
    """As `retention` has it for a memory that nobody uses."""
    (curve,) = chart_decay([KindDecay("fact", 2, 30.0)]).curves
    assert dict(curve.points)[30.0] == 0.5


def test_stats_plots_growth_and_decay(tmp_path):
    """On the screen, as JSON, or into a file."""
    where = ("--home", str(toy_home(tmp_path)))
    assert "no curve" in run_command("data", "stats", "--plot", *where).stderr
    with open_mind(tmp_path / "home") as mind:
        mind.remember_many([{"text": f"Thing {n} is kept."} for n in range(5)], space="me")
    told = run_command("data", "stats", "--plot", *where).stdout
    assert "memories that count" in told and "100%" in told and "\x1b" not in told
    picture = tmp_path / "curves.svg"
    run_command("data", "stats", "--svg", str(picture), *where)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_keys_come_whole_or_wait():
    """Sequences are one key, also in pieces; a lone escape waits; a paste is one text."""
    assert read_keys("a\x1b[A\r") == ([Key("text", "a"), Key("up"), Key("enter")], "")
    assert read_keys("\x1b[") == ([], "\x1b[") and read_keys("\x1b") == ([], "\x1b")
    assert read_keys("\x1b[200~a\nb\x1b[201~") == ([Key("text", "a b")], "")
    assert read_keys("\x1bOB\x03") == ([Key("down"), Key("ctrl c")], "")


@given(st.text(max_size=200))
def test_any_bytes_are_keys(data):
    """Nothing that a terminal may send breaks the reader, and it never gets stuck on plain text."""
    keys, rest = read_keys(data)
    assert data.endswith(rest) and (rest.startswith("\x1b") or not rest)
    assert all(not key.text or key.text.isprintable() for key in keys)


@given(st.text(max_size=80), st.integers(2, 40))
def test_lines_are_cut_and_folded_to_columns(text, columns):
    """Wide letters count twice."""
    assert measure_columns(cut_columns(text, columns)) <= columns
    assert all(measure_columns(line) <= columns for line in fold_columns(text, columns))


def test_a_line_is_edited():
    """As in any shell."""
    line = LineEdit("take two words", 14)
    assert type_key(line, Key("ctrl w")).text == "take two "
    assert type_key(line, Key("ctrl u")) == LineEdit()
    back = type_key(type_key(line, Key("home")), Key("text", "I "))
    assert back == LineEdit("I take two words", 2)
    assert type_key(back, Key("delete")).text == "I ake two words"
