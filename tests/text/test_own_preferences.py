"""Preferences that go with a person from project to project."""

import json

import pytest

from reverie.core.model import visible_spaces
from reverie.extraction.stated_kind import find_stated_space
from reverie.text.own_preferences import (
    EVERY_PROJECT,
    SECTION,
    is_for_every_project,
    is_own_preference,
)
from reverie.text.prompt_phrases import list_languages
from tests.support.helpers import run_command, toy_home
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


@pytest.mark.parametrize("code", list_languages())
@pytest.mark.proves("B85")
def test_what_is_said_of_all_projects(code):
    section = read_language_file(code)[EVERY_PROJECT]
    assert [one for one in section["examples"] if not is_for_every_project(one)] == []
    assert [one for one in section["not_examples"] if is_for_every_project(one)] == []


@pytest.mark.proves("B85")
def test_what_is_said_of_all_projects_is_known_in_the_next(mind):
    """Learned from a prompt or kept by hand; in a space that is no project's it stays."""
    said = [
        "In all my projects we use pnpm instead of npm.",
        "Never push to main in any repo of mine.",
    ]
    for text in (*said, "In this project we use yarn instead of npm."):
        mind.learn([{"role": "user", "content": text}], space="me/one")
    assert {memory.text for memory in mind.browse(space="me/two")} == set(said)
    assert find_stated_space(said[0], "me/one") == "me"
    assert find_stated_space(said[0], "me") == "me" != find_stated_space(said[0], "team/x")


@pytest.mark.proves("B85")
def test_the_command_line_keeps_it_for_all_projects(tmp_path):
    """Unless a space is named."""
    home = ("--home", str(toy_home(tmp_path)), "--json")
    said = "In every project of mine the tests come first."
    kept = json.loads(run_command("remember", said, *home).stdout)["memory"]
    assert kept["space"] == "me"
    kept = json.loads(run_command("remember", said, "--space", "me/one", *home).stdout)["memory"]
    assert kept["space"] == "me/one"
