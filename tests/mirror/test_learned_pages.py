"""Fixes and workflows that were learned from work stand on the mirror's pages."""

import pytest

from reverie.testing import SPACE, memory
from tests.activity.test_learned_patterns import MISSING, overcome, run
from tests.mirror.test_mirror import edit, sync, text


@pytest.fixture
def mind(tmp_path, clock):
    with memory(tmp_path / "home", now=clock, embedder="none") as mind:
        # a page that lost all is taken for an accident
        mind.remember("Deploys go out on Tuesdays.", space=SPACE)
        yield mind


def line_with(page, words):
    [line] = [line for line in page.splitlines(keepends=True) if words in line]
    return line


@pytest.mark.proves("D60")
def test_fixes_of_errors_stand_on_a_page(mind, clock):
    """Written by themselves under Learnings; a line that is deleted is forgotten and not learned
    again.
    """
    remedy = "pip install -r requirements.txt"  # of this project
    overcome(mind, clock, remedy=remedy)
    sync(mind)
    line = line_with(text(mind).partition("# Learnings\n")[2], "No module named 'yaml'")
    assert remedy in line
    edit(mind, line, "")
    sync(mind)
    assert mind.activity.suggest_fix(MISSING, space=SPACE) == []
    overcome(mind, clock, remedy=remedy, session="again")
    sync(mind)
    assert "yaml" not in text(mind) and mind.activity.learned_patterns(space=SPACE) == []


@pytest.mark.proves("D59")
def test_command_sequences_stand_on_a_page(mind, clock):
    """A workflow is written as a procedure with its steps; deleted, it is forgotten and not learned
    again.
    """

    def worked(first):
        for n in range(first, first + 3):
            for command in ("make build", "make check"):
                run(mind, clock, command, session=f"w{n}", task=f"w{n}")
            mind.activity.record_task(f"w{n}", "success", space=SPACE)
            mind.settle()
        sync(mind)

    worked(0)
    line = line_with(text(mind), "make build → make check")
    assert [one.type for one in mind.activity.learned_patterns(space=SPACE)] == ["workflow"]
    edit(mind, line, "")
    sync(mind)
    worked(3)
    assert "make check" not in text(mind) and mind.activity.learned_patterns(space=SPACE) == []
