"""The commands of Anthropic's memory tool over memories, held against Anthropic's own handler on
real files.
"""

from typing import Any

import pytest

from reverie.core.errors import BadInput, ReverieError
from reverie.interfaces.memory_folder import MemoryFolder
from reverie.testing import SPACE

pytestmark = pytest.mark.words_only

STORY: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/plan.md", "file_text": "one\ntwo\nthree\n"},
    {"command": "create", "path": "/memories/plan.md", "file_text": "again"},
    {"command": "create", "path": "/memories/deep/er/est/notes.txt", "file_text": "x" * 1536},
    {"command": "create", "path": "/memories/empty", "file_text": ""},
    {"command": "create", "path": "/memories/.hidden", "file_text": "secret plans"},
    {"command": "view", "path": "/memories/plan.md"},
    {"command": "view", "path": "/memories/plan.md", "view_range": [2, 3]},
    {"command": "view", "path": "/memories/plan.md", "view_range": [2, -1]},
    {"command": "view", "path": "/memories/empty"},
    {"command": "view", "path": "/memories/none"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {
        "command": "str_replace",
        "path": "/memories/plan.md",
        "old_str": "two",
        "new_str": "two and a half",
    },
    {"command": "str_replace", "path": "/memories/plan.md", "old_str": "four", "new_str": "five"},
    {"command": "str_replace", "path": "/memories/plan.md", "old_str": "e\n", "new_str": "five"},
    {"command": "str_replace", "path": "/memories/deep", "old_str": "four", "new_str": "five"},
    {"command": "str_replace", "path": "/memories/none", "old_str": "four", "new_str": "five"},
    {"command": "insert", "path": "/memories/plan.md", "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": "/memories/plan.md", "insert_line": 2, "insert_text": "between"},
    {"command": "insert", "path": "/memories/plan.md", "insert_line": 99, "insert_text": "x"},
    {"command": "view", "path": "/memories/plan.md"},
    {"command": "rename", "old_path": "/memories/plan.md", "new_path": "/memories/old/plan.md"},
    {"command": "rename", "old_path": "/memories/plan.md", "new_path": "/memories/x"},
    {"command": "rename", "old_path": "/memories/empty", "new_path": "/memories/old/plan.md"},
    {"command": "rename", "old_path": "/memories/deep", "new_path": "/memories/deeper"},
    {"command": "view", "path": "/memories/old/plan.md"},
    {"command": "delete", "path": "/memories/deeper"},
    {"command": "delete", "path": "/memories/deeper"},
    {"command": "delete", "path": "/memories"},
]


def answer(run, command):
    """(whether it went wrong, what was said)"""
    try:
        return False, run(command)
    except ReverieError as err:
        return True, str(err)


def test_every_command_answers_as_anthropics_own_handler(mind, tmp_path):
    """Every command answers in the words of the SDK's handler, errors too; of lists only sizes of
    folders differ.
    """
    tool = pytest.importorskip(
        "anthropic.tools.memory", reason="the Anthropic SDK is not installed"
    )
    from anthropic._models import construct_type_unchecked
    from anthropic.lib.tools import ToolError
    from anthropic.types.beta import BetaMemoryTool20250818Command

    union: Any = BetaMemoryTool20250818Command
    real = tool.BetaLocalFilesystemMemoryTool(str(tmp_path))

    def theirs(command):
        try:
            typed: Any = construct_type_unchecked(value=command, type_=union)
            return False, getattr(real, command["command"])(typed)
        except ToolError as err:
            return True, str(err)

    notebook = MemoryFolder(mind, SPACE)
    for command in STORY:
        listing = command == STORY[0] or command.get("path") == "/memories/none"
        if not listing or command["command"] != "view" or command["path"] != "/memories":
            assert theirs(command) == answer(notebook.run, command), command


def test_a_folder_is_listed_two_levels_deep(mind):
    """Sizes, a tab, paths; nothing hidden, nothing deeper."""
    notebook = MemoryFolder(mind, SPACE)
    for command in STORY[1:6]:
        answer(notebook.run, command)
    assert notebook.run(STORY[0]).splitlines() == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "1.5K\t/memories",
        "1.5K\t/memories/deep/",
        "1.5K\t/memories/deep/er/",
        "0B\t/memories/empty",
        "14B\t/memories/plan.md",
    ]


def test_files_are_memories(mind):
    """They are recalled, hold no secrets, are of one space, and every change can be taken back."""
    notebook = MemoryFolder(mind, SPACE)
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    notebook.run(
        {
            "command": "create",
            "path": "/memories/a.md",
            "file_text": f"The heron nests.\ntoken {token}\n",
        }
    )
    (memory,) = mind.browse(space=SPACE, kinds=["file"])
    assert token not in memory.text and mind.recall("heron", space=SPACE)[0].memory.id == memory.id
    assert mind.hints("heron nests token", space=SPACE) == []
    notebook.run(
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "heron", "new_str": "crane"}
    )
    mind.undo(mind.history(memory.id)[-1].event.seq)
    assert "heron" in notebook.run({"command": "view", "path": "/memories/a.md"})
    notebook.run({"command": "delete", "path": "/memories/a.md"})
    mind.restore(memory.id)
    assert "heron" in notebook.run({"command": "view", "path": "/memories/a.md"})
    assert "heron" not in MemoryFolder(mind, "me/other").run(
        {"command": "view", "path": "/memories"}
    )


def test_files_stay_as_they_are(mind):
    """Two files that say the same stay two, through settling and sleep, and stand on no page of the
    mirror.
    """
    notebook = MemoryFolder(mind, SPACE)
    for name in "ab":
        notebook.run(
            {
                "command": "create",
                "path": f"/memories/{name}",
                "file_text": "The staging server is heron.",
            }
        )
    mind.context.now.tick(days=900)
    mind.settle()
    mind.sleep()
    assert notebook.run(STORY[0]).count("/memories/") == 2


@pytest.mark.parametrize(
    "command",
    [
        {"command": "rm"},
        {"command": "view"},
        {"command": "create", "path": "/memories/a"},
        {"command": "create", "path": "/memories/a\x00b", "file_text": "x"},
        {"command": "create", "path": "/memories", "file_text": "x"},
        {"command": "create", "path": "/memories/f/below", "file_text": "x"},
        {"command": "rename", "old_path": "/memories/f", "new_path": "/memories/f/in/itself"},
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
        {"command": "insert", "path": "/memories/f", "insert_line": None, "insert_text": "x"},
    ],
)
def test_invalid_commands_are_refused(mind, command):
    """An invalid command gets a message, and nothing is changed."""
    notebook = MemoryFolder(mind, SPACE)
    notebook.run({"command": "create", "path": "/memories/f", "file_text": "x"})
    seq = mind.store.last_event()
    wrong, said = answer(notebook.run, command)
    assert wrong and said and mind.store.last_event() == seq


def test_a_command_reads_only_the_files_that_it_names(mind, monkeypatch):
    """However many files there are: looked up by path, and a folder only as far as somebody asks
    for it.
    """
    notebook = MemoryFolder(mind, SPACE)
    for number in range(30):
        notebook.run({"command": "create", "path": f"/memories/many/{number}", "file_text": "x\n"})
    read, browse = [], mind.store.browse

    def counted(where):
        found = browse(where)
        read.extend(found)
        return found

    monkeypatch.setattr(mind.store, "browse", counted)
    for command in (
        {"command": "create", "path": "/memories/many/new", "file_text": "x\n"},
        {"command": "view", "path": "/memories/many/7"},
        {"command": "str_replace", "path": "/memories/many/7", "old_str": "x", "new_str": "y"},
        {"command": "rename", "old_path": "/memories/many/7", "new_path": "/memories/seven"},
        {"command": "delete", "path": "/memories/seven"},
    ):
        read.clear()
        notebook.run(command)
        assert len(read) <= 2, command
    with pytest.raises(BadInput, match="a file, not a directory"):
        notebook.run({"command": "create", "path": "/memories/many/8/below", "file_text": "x"})
    with pytest.raises(BadInput, match="at most 1,000 characters"):
        notebook.run({"command": "view", "path": f"/memories/{'x' * 2_000}"})
