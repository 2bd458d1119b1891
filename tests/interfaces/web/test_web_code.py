"""Code in the browser: files by what is remembered of them, and what is no longer so."""

import pytest

from reverie.interfaces.web.rendering import name_part
from reverie.testing import SPACE
from tests.interfaces.web.web_client import NASTY, open_site

pytest.importorskip("tree_sitter", reason="pip install 'reverie[code]'")


@pytest.fixture
def known(mind, tmp_path):
    """(mind, repository, memory of a function that has changed since)."""
    repo = tmp_path / "repo"
    (repo / "src").mkdir(parents=True)
    file = repo / "src" / "cache.py"
    file.write_text("def get(key):\n    return data[key]\n")
    mind.code.index(repo)
    memory = mind.remember(f"get raises KeyError. {NASTY}", space=SPACE, kind="learning")
    mind.code.anchor(memory.id, [f"{file}:get"])
    file.write_text("def get(key):\n    return data.get(key)\n")
    mind.code.index(repo)
    error = "src/cache.py:2: KeyError"
    mind.activity.record_tool("Bash", {"command": "pytest"}, ok=False, error=error, space=SPACE)
    mind.activity.record_file("src/cache.py", "edit", space=SPACE, summary=NASTY)
    mind.activity.events(space=SPACE)  # waits for what is being recorded
    return mind, repo, memory


def test_files_are_listed_with_what_is_remembered_and_what_failed(known):
    """How many memories, how many of them outdated, how many failures."""
    mind, repo, _ = known
    (file,) = mind.code.remembered(space=SPACE)
    assert (file.root, file.path) == (str(repo.resolve()), "src/cache.py")
    assert (file.memories, file.outdated, file.failures) == (1, 1, 1)
    assert mind.code.remembered(space=SPACE, skip=1) == []
    assert "src/cache.py" in open_site(mind).get("/code").text


def test_a_file_shows_its_memories_its_history_and_the_code_of_then_and_now(known):
    """Nothing of it is markup."""
    mind, repo, _ = known
    path = f"/code/{name_part(str(repo.resolve()))}/{name_part('src/cache.py')}"
    site = open_site(mind)
    page = site.get(path)
    assert page.status_code == 200 and "<img" not in page.text
    values = site.get(f"{path}.json").json()
    (stale,) = values["memories"][0]["stale"]
    assert any(part["what"] == "new" and ".get" in part["text"] for part in stale["parts"])
    assert {touch["how"] for touch in values["touches"]} >= {"edit", "error"}
    assert site.get(f"/code/{name_part('/x')}/{name_part('unknown.py')}").status_code == 404


def test_what_is_still_true_is_confirmed_and_that_is_taken_back(known):
    """The button sets the anchor anew; the toast takes it back."""
    mind, _, memory = known
    site = open_site(mind)
    page = site.post_form(f"/code/confirm/{memory.id}", back="/code")
    assert mind.code.outdated(space=SPACE) == []
    site.undo_shown(page)
    assert [one.id for one in mind.code.outdated(space=SPACE)] == [memory.id]
