# mypy: no-check-untyped-defs, allow-untyped-decorators
"""A password that is said in plain words is taken out; what is said of passwords stays."""

import pytest

from reverie.privacy import redact
from reverie.text.prompt_phrases import list_languages
from tools.languages import FOLDER, collect_passwords, read_language_file

CASES = [
    (code, example, wanted)
    for code in list_languages()
    for field, wanted in (("examples", True), ("not_examples", False))
    for example in read_language_file(code)["spoken_password"][field]
]


def test_what_is_read_is_what_the_files_say():
    assert (FOLDER / "passwords.json").read_text("utf-8") == collect_passwords()


@pytest.mark.parametrize(("code", "example", "wanted"), CASES)
@pytest.mark.proves("A107", "B119")
def test_an_example_is_hidden_and_a_counterexample_is_not(code, example, wanted):
    """In each language of the files."""
    kept, marks = redact(example)
    assert bool(marks) == wanted
    assert redact(kept)[0] == kept
