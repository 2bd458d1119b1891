# mypy: no-check-untyped-defs, allow-untyped-decorators
"""Numbers of persons, addresses, birth dates and health go where the policy says so."""

import pytest

from reverie.core.privacy_policy import Policy
from reverie.privacy import redact
from reverie.text.prompt_phrases import list_languages
from tools.languages import FOLDER, collect_personal_facts, read_language_file

ALL = Policy(personal="mask", contact="mask", intimate="mask")
CASES = [
    (code, example, wanted)
    for code in list_languages()
    for field, wanted in (("examples", True), ("not_examples", False))
    for example in read_language_file(code)["personal_facts"][field]
]


def test_what_is_read_is_what_the_files_say():
    assert (FOLDER / "personal.json").read_text("utf-8") == collect_personal_facts()


@pytest.mark.parametrize(("code", "example", "wanted"), CASES)
@pytest.mark.proves("A108", "B119")
def test_an_example_is_masked_and_a_counterexample_is_not(code, example, wanted):
    kept, marks = redact(example, ALL)
    assert bool(marks) == wanted
    assert redact(kept, ALL)[0] == kept


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("1 84 12 76 451 089 46", "1 84 12 76 451 089 47"),
        ("12345678Z", "12345678A"),
        ("X1234567L", "X1234567M"),
        ("RSSMRA85T10A562S", "RSSMRA85T10A562T"),
        ("529.982.247-25", "529.982.247-24"),
        ("11010519491231002X", "110105194912310021"),
        ("900101-1234568", "900101-1234567"),
    ],
)
@pytest.mark.proves("A108")
def test_national_numbers_are_known_by_their_check_digits(right, wrong):
    """France, Spain, Italy, Brazil, China, Korea: masked by default, without a word beside."""
    assert "[REDACTED:national-id]" in redact(f"It is {right}.")[0]
    assert redact(f"It is {wrong}.")[0] == f"It is {wrong}."


@pytest.mark.proves("A108", "B119")
def test_what_a_person_says_of_themselves_is_kept_until_the_policy_says_otherwise():
    text = "I was born on 12 March 1984, suffer from migraine, 12 Elm Street, Springfield."
    assert redact(text)[0] == text

    kept = redact(text, ALL)[0]
    assert kept == (
        "I was born on [REDACTED:birth-date], suffer from [REDACTED:health], [REDACTED:address]."
    )
    assert redact(text, Policy(intimate="refuse"))[0] in (
        "[REDACTED:birth-date]",
        "[REDACTED:health]",
    )
