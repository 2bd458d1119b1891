"""Every language file holds to its own examples, and a prompt is read by the script it is in."""

import random
import re
from pathlib import Path

import pytest

from reverie.text import prompt_phrases
from reverie.text.borrowed_voices import SECTION as BORROWED_VOICE
from reverie.text.borrowed_voices import find_borrowed_start
from reverie.text.learned_phrases import (
    CONCLUSION,
    CONFIRMS,
    OBJECTION,
    PASSING,
    PROPOSAL,
    STANDING,
    STATEMENTS,
    accepts_something,
    classify_statement,
    confirms_something,
    find_section,
    forbids_something,
    is_conclusion,
    is_objection,
    is_proposal,
    is_standing_wish,
    load_learned_phrases,
)
from reverie.text.personal_matters import SECTION, is_personal
from reverie.text.prompt_phrases import (
    SCRIPTS,
    SESSION_TRAITS,
    TRAITS,
    WHERE_WERE_WE,
    compile_phrase,
    has_parts,
    has_trait,
    list_languages,
    list_parts,
    load_language,
    load_phrases,
    matches_section,
    read_prompt_traits,
)
from reverie.text.stated_reasons import find_claim, find_stated_reasons
from tools.languages import FILES, read_language_file

CASES = [
    (code, trait, example, wanted)
    for code in list_languages()
    for trait in (*TRAITS, *SESSION_TRAITS)
    for field, wanted in (("examples", True), ("not_examples", False))
    for example in read_language_file(code)[trait][field]
]
STATEMENT_CASES = [
    (code, section, example, wanted)
    for code in list_languages()
    for section in (*STATEMENTS, PASSING)
    for field, wanted in (("examples", True), ("not_examples", False))
    for example in read_language_file(code)[section][field]
]


def test_ten_languages_have_a_file():
    assert {"de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"} <= set(list_languages())


@pytest.mark.parametrize("code", list_languages())
def test_a_file_names_its_scripts_and_an_example_for_every_trait(code):
    data = read_language_file(code)
    assert set(data["scripts"]) <= set(SCRIPTS)
    for trait in (*TRAITS, *SESSION_TRAITS):
        assert data[trait]["examples"] and data[trait]["not_examples"]


@pytest.mark.parametrize("name", FILES)
def test_what_is_read_is_what_the_files_say(name):
    path = Path(prompt_phrases.__file__).with_name("languages") / name
    assert path.read_text("utf-8") == FILES[name](), "run python -m tools.languages"


@pytest.mark.parametrize("code", list_languages())
def test_of_what_a_file_says_only_examples_are_not_read(code):
    said, read = read_language_file(code), load_language(code)
    left = {field for name in said if name in TRAITS for field in said[name].keys() - read[name]}
    assert (list(read), left) == (list(said), {"examples", "not_examples"})


@pytest.mark.parametrize(("code", "trait", "example", "wanted"), CASES)
def test_an_example_has_its_trait_and_a_counterexample_has_not(code, trait, example, wanted):
    section = load_phrases()[code][trait]
    assert matches_section(section, example, example.lower()) == wanted


@pytest.mark.parametrize("code", list_languages())
def test_no_phrase_is_passed_over_for_a_part_that_it_may_lack(code):
    """What is looked for before an expression is compiled stands in whatever the phrase allows."""
    chosen = random.Random(1)
    for trait in {*TRAITS, *SESSION_TRAITS} & load_phrases()[code].keys():
        section = load_phrases()[code][trait]
        for phrase, *parts in (*section.get("begins", ()), *section.get("contains", ())):
            texts = {put_phrase(phrase.lower(), chosen) for _ in range(60)}
            found = [one for one in texts if compile_phrase(phrase, begins=False).search(one)]
            assert found and all(has_parts(parts, one) for one in found), (phrase, parts)
    assert not has_parts(list_parts("(let's|we) not … (any more|,)"), "let's not do that")


def put_phrase(phrase, chosen):
    """A text that a phrase allows: one way of each choice; what may be missing is there or not."""
    while "(" in phrase:
        phrase = re.sub(
            r"\(([^()]*)\)(\??)",
            lambda way: (
                chosen.choice(way[1].split("|")) if not way[2] or chosen.random() < 0.5 else ""
            ),
            phrase,
        )
    phrase = re.sub(r".\?", lambda way: way[0][0] if chosen.random() < 0.5 else "", phrase)
    return phrase.replace("…", chosen.choice(["", "some"])).replace("_", "word").replace("$", "")


def test_a_prompt_is_read_in_its_own_script_only():
    assert "small_talk" in read_prompt_traits("谢谢")
    assert read_prompt_traits("") == frozenset()
    assert read_prompt_traits("12345") == frozenset()


@pytest.mark.parametrize(("code", "section", "example", "wanted"), STATEMENT_CASES)
def test_an_example_is_kept_and_a_counterexample_is_not(code, section, example, wanted):
    phrases = load_learned_phrases(code)
    found = find_section(phrases, example)
    if section == PASSING:
        assert (phrases[PASSING].search(example) is not None) == wanted
    elif wanted:
        assert phrases[section].search(example)
        assert found in STATEMENTS
    else:
        assert found in ("", PASSING)


def test_a_statement_is_read_in_the_language_that_it_is_in():
    assert classify_statement("We decided on the i18n library in the end, no hay problema") == (
        classify_statement("We decided on the i18n library in the end")
    )
    # Kana makes a sentence Japanese, whatever else is written in Han characters.
    assert classify_statement("必須の設定を使用する画面") == ""


def test_where_were_we_is_understood_in_any_language_and_a_long_prompt_asks_something_else():
    assert has_trait("Where were we?", WHERE_WERE_WE)
    assert has_trait("前回どこまでやったっけ？", WHERE_WERE_WE)
    assert not has_trait("", WHERE_WERE_WE)
    assert not has_trait(f"Where were we? {'And now fix the parser. ' * 9}", WHERE_WERE_WE)


@pytest.mark.parametrize(
    ("example", "wanted"),
    [
        (example, wanted)
        for code in list_languages()
        for field, wanted in (("examples", True), ("not_examples", False))
        for example in read_language_file(code)[STANDING][field]
    ],
)
def test_a_wish_for_how_things_are_done_is_told_from_a_command(example, wanted):
    assert is_standing_wish(example) == wanted


@pytest.mark.parametrize(
    ("judge", "example", "wanted"),
    [
        (judge, example, wanted)
        for code in list_languages()
        for section, judge in (
            (CONCLUSION, is_conclusion),
            (CONFIRMS, confirms_something),
            (PROPOSAL, is_proposal),
            (OBJECTION, is_objection),
        )
        for field, wanted in (("examples", True), ("not_examples", False))
        for example in read_language_file(code)[section][field]
    ],
)
def test_what_is_concluded_confirmed_proposed_or_refused_is_told_from_the_rest(
    judge, example, wanted
):
    assert judge(example) == wanted


@pytest.mark.parametrize(
    "message",
    [
        "ok",
        "yes, do that",
        "ja, mach das",
        "vas-y",
        "dale",
        "va bene",
        "pode ser",
        "давай",
        "好的",
        "就这么做吧",
        "はい",
        "はい、お願いします",
        "네",
        "그렇게 해줘",
    ],
)
def test_a_bare_approval_is_one_and_a_longer_message_is_not(message):
    assert accepts_something(message)
    assert not accepts_something(f"{message} 42 x y")


@pytest.mark.parametrize(
    ("wish", "wanted"),
    [("use redis", False), ("don't use redis", True), ("不要写注释", True), ("用中文", False)],
)
def test_a_wish_against_something_is_told_from_one_for_it(wish, wanted):
    assert forbids_something(wish) == wanted


ABOUT_PEOPLE = [
    (code, example, wanted)
    for code in list_languages()
    for field, wanted in (("examples", True), ("not_examples", False))
    for example in read_language_file(code).get(SECTION, {}).get(field, ())
]


@pytest.mark.parametrize(("code", "example", "wanted"), ABOUT_PEOPLE)
@pytest.mark.proves("E23")
def test_what_is_about_a_person_is_told_from_what_is_of_a_project(code, example, wanted):
    """By the words of any language, whichever the example stands under."""
    assert is_personal(example) is wanted, code


@pytest.mark.parametrize(
    ("example", "wanted"),
    [
        (example, wanted)
        for code in list_languages()
        for field, wanted in (("examples", True), ("not_examples", False))
        for example in read_language_file(code)["reason"][field]
    ],
)
def test_what_gives_a_reason_is_told_from_what_tells_when_or_to_what_end(example, wanted):
    found = find_stated_reasons(example)
    assert bool(found) == wanted
    assert all(reason.ground in example or reason.ground.split()[0] in example for reason in found)


@pytest.mark.parametrize(
    ("text", "claim", "by_clause"),
    [
        ("We pin Node 20 because the client is old.", "We pin Node 20", "We pin Node 20"),
        ("Jobs run at night due to load.", "Jobs run at night", "Jobs run at night due to load."),
        ("We use A because it is old. We use B because it is new.", None, None),
        ("We use pnpm.", None, None),
    ],
)
def test_a_claim_is_what_a_text_says_without_its_only_reason(text, claim, by_clause):
    """Of two reasons none is left out: two things are said."""
    assert find_claim(text) == (claim or text)
    assert find_claim(text, by_clause=True) == (by_clause or text)


@pytest.mark.parametrize("code", list_languages())
@pytest.mark.parametrize("wanted", [True, False])
def test_a_model_that_is_quoted_is_told_from_the_writer(code, wanted):
    """Each language says how an answer is quoted; labels of turns count in each."""
    section = read_language_file(code)[BORROWED_VOICE]
    for example in section["examples" if wanted else "not_examples"]:
        assert (find_borrowed_start([example]) is not None) == wanted, example
    for label in section["roles"]:
        assert find_borrowed_start(["?", "", f"{label}: x"]), label
        assert find_borrowed_start([f"**{label.capitalize()}:** x"]), label
    for label in section["asked"]:
        assert not find_borrowed_start(["?", "", f"{label}: x"]), label
        assert find_borrowed_start([f"{label}: x", f"{section['roles'][0]}: y"]), label
