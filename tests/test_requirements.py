"""Every promise has a test, every marker a promise, and docs/requirements.md tells both."""

import pytest

from tools import requirements

TOML = """
["Coming up"]
A1 = "It comes up."
A2 = "It comes up in time."
["Not promised"]
D4 = "Nobody measured it."
["Does not hold yet"]
A2 = "Not on Mondays."
"""

TESTS = '''
import pytest

pytestmark = pytest.mark.proves("A2")


@pytest.mark.proves("A1", "A2")
@pytest.mark.slow
def test_it():
    """It holds."""


class Machine: ...


TestMachine = pytest.mark.proves(*("A1", "CC-3"))(Machine)
'''


@pytest.mark.proves("E17")
def test_promises_tests_and_page_agree():
    """No promise lacks a test, no marker names an unknown id, no prose an id, and the page is
    up to date: run `make docs`.
    """
    assert [] == list(requirements.find_faults())


def test_markers_are_read_from_functions_files_and_machines(tmp_path):
    """A marker counts above a test, as a file's `pytestmark` and around a state machine's case."""
    (tmp_path / "test_x.py").write_text(TESTS)
    found = requirements.find_proofs(tmp_path, tmp_path)
    assert {id: [proof.test for proof in proofs] for id, proofs in found.items()} == {
        "A1": ["test_it", "TestMachine"],
        "A2": ["", "test_it"],
        "CC-3": ["TestMachine"],
    }


def test_the_page_tells_what_does_not_hold(tmp_path):
    """A promise that was tried by hand in vain is marked, with what was seen, and what is not
    promised stands apart with its reason.
    """
    (tmp_path / "test_x.py").write_text(TESTS)
    page = requirements.render_page(
        requirements.load_promises(TOML), requirements.find_proofs(tmp_path, tmp_path)
    )
    assert "| A1 | It comes up. | [it](../test_x.py), [TestMachine](../test_x.py) |" in page
    assert "| A2 | It comes up in time. ⚠ *Not on Mondays.* |" in page
    assert "| D4 | Nobody measured it. |" in page


def test_an_id_in_prose_is_found():
    """Ids in docstrings and comments are found; error codes, paths and texts of a program are not."""
    text = 'def f():\n    """It holds (A1)."""\n    return "A2"  # as A2 says, not E4021\n'
    assert ["A1", "A2"] == requirements.ids_in_prose(text, ["A1", "A2", "E4"])


def test_an_id_in_a_page_is_found():
    """Ids in a page are found, ranges too; code in backticks and other names are not."""
    page = "**Who decides?** (A1–A2) Nobody. See `E4`, the C1 characters and S3."
    assert ["A1", "A2"] == requirements.ids_in_page(page, ["A1", "A2", "E4", "C1"])


def test_an_id_stands_in_one_section():
    """An id in two sections is an error that names it."""
    with pytest.raises(ValueError, match="A1"):
        requirements.load_promises('[a]\nA1 = "x"\n[b]\nA1 = "y"\n')
