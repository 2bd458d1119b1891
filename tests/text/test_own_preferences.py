"""Preferences that go with a person from project to project."""

import pytest

from reverie.core.model import visible_spaces
from reverie.text.own_preferences import SECTION, is_own_preference
from reverie.text.prompt_phrases import list_languages
from tools.languages import read_language_file

SECTIONS = {
    code: read_language_file(code)[SECTION]
    for code in list_languages()
    if SECTION in read_language_file(code)
}


@pytest.mark.parametrize("code", SECTIONS)
@pytest.mark.proves("B85")
def test_the_examples_of_a_language(code):
    section = SECTIONS[code]
    assert [one for one in section["examples"] if not is_own_preference(one)] == []
    assert [one for one in section["not_examples"] if is_own_preference(one)] == []


@pytest.mark.proves("B85")
def test_what_somebody_likes_is_known_in_their_next_project(mind):
    """Said in one project, it lies in the user's own space and comes up in another; what names a
    thing of the project, and what "we" prefer, stays where it was said.
    """
    said = [
        "I prefer tabs over spaces.",
        "Keep your answers brief.",
        "Ich bevorzuge kurze Antworten.",
        "I prefer the heron host for staging.",
        "We prefer squash merges.",
    ]
    for text in said:
        mind.learn([{"role": "user", "content": text}], space="me/one")
    seen = mind.browse(space="me/two")
    assert {memory.text for memory in seen} == set(said[:3])
    assert {tag for memory in seen for tag in memory.tags} == {"project:one"}
    assert {hit.memory.text for hit in mind.recall("tabs or spaces?", space="me/two")} >= {said[0]}
    assert {memory.text for memory in mind.browse(space="me/one")} == set(said)
    assert visible_spaces("me/two") == ("me/two", "me")
