# mypy: no-check-untyped-defs, allow-untyped-decorators
"""Secrets of every issuer of the benchmark through every way in, and not one of them in a byte of
the home.
"""

import json
import random
import re

import pytest

from bench.privacy.cases import SHAPES, draw
from reverie.core import config
from reverie.core.errors import BadInput
from reverie.interfaces.frameworks.agent_loop import Beside
from reverie.testing import SPACE, make_conversation, memory
from tests.activity.test_learned_patterns import commit, git
from tests.interfaces.test_hook_processes import Host
from tests.support import other_programs as others
from tests.support.helpers import open_mind, toy_home


def made(seed=31):
    """One secret of each type, as it is shown and the part of it that must not be kept."""
    rng = random.Random(seed)
    for kind, pieces in SHAPES.items():
        shown = "".join(piece if isinstance(piece, str) else draw(rng, *piece) for piece in pieces)
        shown = f"https://{shown}@o1.ingest.sentry.io/42" if kind == "sentry-dsn" else shown
        yield (
            kind,
            shown,
            max(re.findall(r"[A-Za-z0-9]{12,}", shown.replace("hooks.slack.com", "")), key=len),
        )


MADE = list(made())
ALL = " and then ".join(f"{kind} is {shown}" for kind, shown, _ in MADE)
LINES = "\n".join(f"{kind} is {shown}" for kind, shown, _ in MADE)


def kept(home):
    """The types of which something stands in a file of the home, in any letter case."""
    data = b"\n".join(path.read_bytes().lower() for path in home.rglob("*") if path.is_file())
    return [kind for kind, _, part in MADE if part.lower().encode() in data]


def every(verb):
    for _, shown, _ in MADE:
        verb(f"it is {shown}")


def remembered(mind, tmp_path):
    """Texts, titles, details, tags, speakers, sessions, triggers; one by one, many at once, and
    revised.
    """
    every(
        lambda text: mind.remember(
            text,
            title=text,
            details={text: [text], "token": text.split()[-1]},
            space=SPACE,
            speaker=text,
            session=text,
            triggers=[text],
            files=[text],
        )
    )
    mind.remember_many([{"text": text, "title": text} for text in LINES.split("\n")], space=SPACE)
    one = mind.remember("To be revised.", space=SPACE)
    mind.revise(one.id, text=LINES, title=ALL[:2_000], details={"x": LINES})
    for _, shown, _ in MADE:
        mind.tag(one.id, [shown])
        mind.tag(one.id, remove=list(mind.get([one.id])[0].tags))
    mind.describe("relay", LINES, space=SPACE)
    mind.feedback(one.id, helpful=True, session=ALL)
    mind.forget(one.id, why=ALL)


def recorded(mind, tmp_path):
    """The log: runs of tools, files, tasks, whatever a program records, with and without the
    recorder's thread.
    """
    for _, shown, _ in MADE:
        mind.record_tool(
            f"bash {shown}",
            {"command": shown, "env": {"X": shown}},
            {"out": [shown]},
            ok=False,
            error=f"no {shown}",
            task=f"use {shown}",
            session=shown,
            space=SPACE,
        )
        mind.activity.record_file(
            f"/x/{shown}.py", "edit", summary=shown, context=shown, space=SPACE
        )
        mind.activity.record_task(f"use {shown}", "success", summary=shown, space=SPACE)
        mind.record("note", {"said": shown, shown: shown}, space=SPACE)
    with mind.recording("deploy", {"with": LINES}, task=ALL, space=SPACE):
        pass


def talked(mind, tmp_path):
    """Conversations: turns, what is learned from them, transcripts, condensing,
    frameworks' loops.
    """
    with mind.companion(f"{SPACE}/s1", session="s1") as companion:
        companion.turn(make_conversation(f"Remember that {ALL}.", f"Never use {ALL[:900]}!"))
        assert companion.wait(120)
        companion.turn(
            [
                {"role": "user", "content": [{"type": "text", "text": LINES}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": LINES}}
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": LINES}],
                },
            ]
        )
        assert companion.wait(120)
    mind.learn(
        make_conversation(*[f"Remember that {line}." for line in LINES.split("\n")]),
        space=SPACE,
        session="s2",
    )
    mind.sessions.condense(
        make_conversation(*[f"{LINES} {n} " + "word " * 300 for n in range(6)]), limit=2_000
    )
    with Beside(mind, SPACE, session="s3") as beside:
        beside(lambda messages: f"Answer: {ALL}")([{"role": "user", "content": LINES}])
    mind.recall(ALL, space=SPACE)
    mind.hints(ALL, space=SPACE)


def intended(mind, tmp_path):
    """Reminders, procedures, feelings, seasons, the scratch pad, episodes, links' ends."""
    every(
        lambda text: mind.remind(
            text, when="tomorrow at 9", context=[text], commands=[text], files=[text], space=SPACE
        )
    )
    mind.procedures.teach("deploy", LINES.split("\n"), triggers=[ALL[:500]], space=SPACE)
    mind.feelings.record("joy", why=LINES, space=SPACE)
    mind.sessions.hold({"content": LINES, "x": {ALL: 1}}, session="s1", space=SPACE)
    every(lambda text: mind.episodes.record(text, who=text, where=text, why=text, space=SPACE))


def filed(mind, tmp_path):
    """Folders, notes, files that are written, code with its history, plans."""
    notes, repo = tmp_path / "notes", tmp_path / "repo"
    for folder in (notes, repo):
        folder.mkdir()
    (notes / "a.md").write_text(f"# Notes\n\n{LINES}\n")
    mind.files.add_folder(notes, space=SPACE)
    mind.files.save_note(LINES, space=SPACE)
    mind.files.update("b.md", LINES, space=SPACE)
    mind.files.sync(space=SPACE)
    git(repo, "init", "-q", "-b", "main")
    rows = "\n".join(
        f'K{n} = "{shown}"\n\ndef f{n}(key="{shown}"):\n    """{shown}"""\n    return "{shown}"'
        for n, (_, shown, _) in enumerate(MADE)
    )
    commit(repo, f"Use keys\n\n{LINES}", 1_700_000_000, keys__py=rows)
    mind.code.index(repo)
    mind.activity.learn_git(repo, space=SPACE)
    mind.plan(ALL, root=repo, space=SPACE)
    mind.data.mirror(SPACE)


def imported(mind, tmp_path):
    """Exports of Reverie's own, with every field and history, of an older version that knew no
    secret.
    """
    with memory(tmp_path / "other", embedder="none") as other:
        one = other.remember(
            "A fact.", space=SPACE, tags=["tag"], details={"x": "y"}, title="A title"
        )
        other.revise(one.id, text="Another fact.")
        rows = [
            json.loads(
                json.dumps(row).replace("fact", json.dumps(LINES)[1:-1]).replace("title", ALL[:900])
            )
            for row in other.data.export()
        ]
    mind.data.import_(rows, skip_bad=True)


def edited(mind, tmp_path):
    """What people write into pages of the mirror and into a shared file."""
    mind.remember("The staging server is called heron.", space=SPACE)
    mind.data.mirror(SPACE)
    [page] = (mind.settings.mirror_root).rglob("MEMORY.md")
    page.write_text(
        page.read_text().replace("heron.", f"heron, {ALL}.")
        + "".join(f"- {line}\n" for line in LINES.split("\n"))
    )
    mind.data.mirror(SPACE)
    shared = tmp_path / "shared.jsonl"
    rows = [
        {
            "id": f"mem_2026030{n % 9}_09150{n % 6}_{n:04}",
            "content": line,
            "description": line,
            "tags": ["x"],
            "timestamp": "2026-03-01T09:15:00",
        }
        for n, line in enumerate(LINES.split("\n"))
    ]
    shared.write_text("".join(json.dumps(row) + "\n" for row in rows))
    mind.data.share(shared, space=SPACE)


WAYS = (remembered, recorded, talked, intended, filed, imported, edited)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.proves("A106", "A107", "A110", "B119", "CC-89")
def test_no_way_in_keeps_a_secret(tmp_path, clock, way):
    """Every issuer's shape, through the verbs; nothing in database, journal, indexes, pages or
    caches, not even its longest part in lower case.
    """
    with memory(tmp_path / "home", now=clock) as mind:
        way(mind, tmp_path)
        mind.settle()
        mind.data.backup(tmp_path / "home/backups/reverie-20251009.db")
    assert len(MADE) >= 40
    assert kept(tmp_path / "home") == []


@pytest.mark.proves("A106")
def test_a_space_is_not_named_after_a_secret(mind):
    """Others would not find it again, so it is refused, and the message does not repeat it."""
    for kind, shown, part in MADE:
        name = shown.replace("/", "-").replace("https:--", "")
        if kind not in ("sentry-dsn", "slack-webhook", "discord-webhook"):
            with pytest.raises(BadInput) as refused:
                mind.remember("x", space=f"me/{name}")
            assert part not in str(refused.value)


@pytest.mark.parametrize("name", others.MAKERS)
@pytest.mark.proves("A106", "B108")
def test_no_importer_keeps_a_secret(tmp_path, clock, monkeypatch, name):
    """The files of every program that is known, with secrets of every type in their texts."""
    monkeypatch.setattr(others, "SECRET", ALL)
    path = others.MAKERS[name](tmp_path / "theirs")
    with memory(tmp_path / "home", now=clock) as mind:
        mind.data.import_from(path, space=SPACE, trusted=True)
        mind.settle()
    assert kept(tmp_path / "home") == []


@pytest.mark.proves("A106", "B119")
def test_no_hook_keeps_a_secret(tmp_path):
    """Every event of a host; before the desk has taken it in, the spool, and after it the store."""
    from reverie.interfaces.hooks.hook_consumer import HookConsumer

    home, project = toy_home(tmp_path), tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    host = Host(home, project)
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text(
        "".join(
            json.dumps({"type": "user", "message": {"role": "user", "content": line}}) + "\n"
            for line in LINES.split("\n")
        )
    )
    tool = {"tool_name": "Bash", "tool_input": {"command": LINES}, "tool_use_id": "t1"}
    for event, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": LINES}),
        ("PreToolUse", tool),
        ("PostToolUse", {**tool, "tool_response": {"stdout": LINES}}),
        ("PostToolUseFailure", {**tool, "error": LINES}),
        ("PreCompact", {"trigger": "auto"}),
        ("Stop", {"last_assistant_message": ALL}),
        ("SessionEnd", {"reason": ALL}),
    ):
        host.raw(
            json.dumps(
                {
                    "session_id": "s1",
                    "cwd": str(project),
                    "hook_event_name": event,
                    "transcript_path": str(transcript),
                    **more,
                }
            ).encode()
        )
    assert host.room.list_events()
    assert kept(home) == []
    with open_mind(home) as mind:
        desk = HookConsumer(mind)
        while desk.has_work() and desk.consume_events():
            pass
        desk.close()
        mind.settle()
    assert kept(home) == []


CALLS = {
    "unified": [
        ("remember", {"text": LINES, "title": ALL[:300]}),
        ("recall", {"query": ALL}),
        ("hints", {"prompt": ALL}),
        ("remind", {"text": LINES, "when": "tomorrow at 9", "context": [ALL[:300]]}),
    ],
    "jcode": [
        ("memory", {"action": "remember", "content": LINES}),
        ("memory", {"action": "recall", "query": ALL}),
    ],
    "files": [
        ("memory_save", {"content": LINES}),
        ("memory_update", {"content": LINES}),
        ("memory_search", {"query": ALL}),
    ],
    "tags": [("store_memory", {"content": LINES, "description": ALL[:300], "tags": ["deploy"]})],
    "anthropic": [
        ("memory", {"command": "create", "path": "/memories/a.md", "file_text": LINES}),
        (
            "memory",
            {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": LINES},
        ),
    ],
}


@pytest.mark.parametrize("profile", CALLS)
@pytest.mark.proves("A106", "B119")
def test_no_tool_set_keeps_a_secret(tmp_path, profile):
    """The tools of every MCP profile, over the SDK's own client."""
    pytest.importorskip("mcp.server.mcpserver", reason="the extra reverie[mcp] is not installed")
    from reverie.interfaces.mcp.server import build_server
    from reverie.interfaces.mcp.tool_context import ToolContext
    from tests.interfaces.test_mcp import answers

    home = toy_home(tmp_path)
    room = ToolContext(config.load_settings(home), SPACE)
    try:
        answers(build_server(room, profile), *CALLS[profile])
        room.mind.settle()
        assert room.mind.data.stats().memories or profile == "files"
    finally:
        room.close()
    assert kept(home) == []
