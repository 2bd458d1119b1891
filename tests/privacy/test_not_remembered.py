# mypy: no-check-untyped-defs
"""What is not to be remembered: private passages, personal data by policy, sensitive files,
sessions that are off.

Each way in is gone through with something planted; then every byte of the home is searched for it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.core import clock as real
from reverie.core import config
from reverie.core.errors import BadInput, Disabled
from reverie.core.private_passages import CUT_MARGIN
from reverie.interfaces.frameworks.agent_loop import Beside
from reverie.interfaces.hooks import hook_main
from reverie.interfaces.hooks.hook_consumer import HookConsumer
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.mcp.tool_context import ToolContext
from reverie.interfaces.worker_start import is_worker_alive
from reverie.pipeline.leases import SETTLE_LEASE, SETTLE_LEASE_SECONDS
from reverie.porting.export_validation import VERSION
from reverie.privacy.sensitive_files import SENSITIVE_MARK
from reverie.testing import CountingEmbedder, make_conversation, memory
from reverie.text.host_messages import MAX_MESSAGE_CHARS
from tests.support.helpers import run_command, toy_home, wait_until
from tests.support.scripted import scripted

SPACE = "me/demo"
PLANTED = "zyxquokka4711"
MAIL = "quokka4711@example.org"
PRIVATE = f"heron is staging <private>the bride is {PLANTED}\nof {PLANTED}</private> since May"
PERSONAL = f"heron is run by {MAIL} since May"


def holding(folder, planted=PLANTED):
    """The files that hold it."""
    return [
        str(part.relative_to(folder))
        for part in sorted(folder.rglob("*"))
        if part.is_file() and planted.encode() in part.read_bytes()
    ]


def remember(mind, text, _tmp):
    mind.remember(
        text, space=SPACE, title=text[:200], tags=["a"], details={"note": text, "list": [text]}
    )


def remember_many(mind, text, _tmp):
    mind.remember_many(
        [{"text": text, "space": SPACE}, {"text": "b", "details": {text: 1}}], space=SPACE
    )


def revise(mind, text, _tmp):
    mind.revise(mind.remember("It is adder.", space=SPACE).id, text=text)


def teach(mind, text, _tmp):
    mind.procedures.teach("deploy", [text, "push"], space=SPACE, warnings=[text])


def remind(mind, text, _tmp):
    mind.remind(text, when="in 20 minutes", space=SPACE)


def save_note(mind, text, _tmp):
    mind.files.save_note(text, space=SPACE)


def hold(mind, text, _tmp):
    mind.sessions.hold({"doing": text}, session="s1", space=SPACE)


def feel(mind, text, _tmp):
    mind.feelings.record("joy", why=text, space=SPACE)


def describe(mind, text, _tmp):
    mind.describe("heron", text, space=SPACE)


def update_file(mind, text, tmp):
    (tmp / "notes").mkdir()
    mind.files.add_folder(tmp / "notes", space=SPACE)
    mind.files.update(tmp / "notes" / "a.md", text, space=SPACE)


EXPLICIT = [
    remember,
    remember_many,
    revise,
    teach,
    remind,
    save_note,
    hold,
    feel,
    describe,
    update_file,
]


def record(mind, text, _tmp):
    mind.record("error", {"text": text, "inner": [text]}, space=SPACE)


def record_tool(mind, text, _tmp):
    mind.record_tool("Bash", {"command": f"echo '{text}'"}, text, space=SPACE, session="s1")
    mind.record_tool(
        "Bash", {"command": "pytest"}, error=f"{text}\nError: no", space=SPACE, session="s1"
    )
    mind.activity.record_task("release", "failure", summary=text, error=text, space=SPACE)
    mind.activity.events(limit=0)


def turns(mind, text, _tmp):
    with mind.companion(f"{SPACE}/s1") as companion:
        companion.turn(make_conversation(text, f"Remember that {text}."))
        companion.turn(
            [
                *make_conversation(text),
                {"role": "assistant", "content": f"Yes: {text}"},
                {"role": "tool", "content": text},
            ]
        )
        companion.wait(120)


def leaving(mind, text, _tmp):
    talk = [{"role": "user", "content": f"{n} {text} " + "word " * 300} for n in range(12)]
    talk = [
        one
        for pair in zip(talk, [{"role": "assistant", "content": text}] * 12, strict=True)
        for one in pair
    ]
    with mind.companion(f"{SPACE}/s2") as companion:
        assert companion.fit(talk, limit=2_000, task=text).leaving_items
        assert companion.condense(talk, limit=3_000).done
        companion.wait(120)


def learn(mind, text, _tmp):
    answered = [
        {"type": "tool_result", "content": [{"type": "text", "text": text}]},
        {"type": "text", "text": text},
    ]
    mind.learn(
        [*make_conversation(text, f"Remember that {text}."), {"role": "user", "content": answered}],
        space=SPACE,
    )


def import_rows(mind, text, _tmp):
    row = {
        "type": "memory",
        "id": "m1",
        "at": 1.0,
        "space": SPACE,
        "text": text,
        "details": {"a": text},
    }
    event = {
        "type": "event",
        "seq": 9_000,
        "at": 1.0,
        "verb": "tool",
        "space": SPACE,
        "payload": {"result": text},
        "changes": [["m2", 0, "add", None, json.dumps({"text": text})]],
    }
    mind.data.import_([{"type": "reverie", "version": VERSION}, row, event], skip_bad=True)


def import_from(mind, text, tmp):
    (tmp / "claude" / "memory").mkdir(parents=True)
    (tmp / "claude" / "memory" / "MEMORY.md").write_text(f"# Notes\n\n- one {text}\n- two\n")
    (tmp / "claude" / "memory" / "topic.md").write_text(
        f"---\ntype: user\n---\n{text}\n\n# More\n\n{text}\n"
    )
    mind.data.import_from(tmp / "claude", space=SPACE, trusted=True)


def share(mind, text, tmp):
    (tmp / "team.jsonl").write_text(
        json.dumps(
            {
                "id": "n1",
                "content": text,
                "description": "heron",
                "tags": ["a"],
                "timestamp": "2026-01-01T00:00:00",
            }
        )
        + "\n"
    )
    mind.data.share(tmp / "team.jsonl", space=SPACE)


def index_files(mind, text, tmp):
    (tmp / "texts").mkdir()
    (tmp / "texts" / "a.md").write_text(
        f"# Heron\n\n{text}\n\n## More\n\n" + "word " * 900 + f"\n{text}\n"
    )
    mind.files.add_folder(tmp / "texts", space=SPACE)
    mind.files.sync(space=SPACE)


def index_code(mind, text, tmp):
    (tmp / "repo" / ".git").mkdir(parents=True)
    commented = "\n".join(f"    # {line}" for line in text.splitlines())
    (tmp / "repo" / "a.py").write_text(
        f'MAIL = """{text}"""\n\n\ndef deploy(a="{text.splitlines()[0]}"):\n'
        f"{commented}\n    return 1\n"
    )
    mind.code.index(tmp / "repo")
    mind.remember("deploy runs it", space=SPACE, about=[str(tmp / "repo" / "a.py")])


PASSIVE = [
    record,
    record_tool,
    turns,
    leaving,
    learn,
    import_rows,
    import_from,
    share,
    index_files,
    index_code,
]


def through(way, text, tmp, clock, **settings):
    """Go one way in, and have everything done that follows; the folder of the home."""
    with memory(tmp / "home", now=clock, **settings) as mind:
        way(mind, text, tmp)
        mind.settle()
        mind.sleep()
        mind.data.mirror()
    return tmp / "home"


@pytest.mark.parametrize("way", [*EXPLICIT, *PASSIVE], ids=lambda way: way.__name__)
@pytest.mark.proves("A108", "A110", "B119", "CC-89")
def test_a_private_passage_reaches_no_byte_of_the_home(way, tmp_path, clock):
    """Memories, events, tools, notes, imports, indexes, what leaves a context, the mirror."""
    home = through(way, PRIVATE, tmp_path, clock)
    assert holding(home) == []
    assert holding(home, "heron") or way in (feel, index_code)


@pytest.mark.parametrize("way", [*EXPLICIT, *PASSIVE], ids=lambda way: way.__name__)
@pytest.mark.proves("A108", "B119")
def test_what_is_to_be_masked_reaches_no_byte_of_the_home(way, tmp_path, clock):
    """E-mail where `contact = "mask"`, by the same ways."""
    home = through(way, PERSONAL, tmp_path, clock, contact="mask")
    assert holding(home, MAIL) == []
    assert holding(home, "[REDACTED:email]")


@pytest.mark.parametrize("way", EXPLICIT, ids=lambda way: way.__name__)
@pytest.mark.proves("A108", "B119")
def test_who_writes_what_is_refused_is_told(way, tmp_path, clock):
    """The kind and the setting are named, and nothing of it is kept, not even half of it."""
    with pytest.raises(
        BadInput, match=r"\(email\), and contact = \"refuse\" in config.toml"
    ) as refusal:
        through(way, PERSONAL, tmp_path, clock, contact="refuse")
    assert MAIL not in str(refusal.value)
    assert holding(tmp_path / "home", MAIL) == []


@pytest.mark.parametrize("way", PASSIVE, ids=lambda way: way.__name__)
@pytest.mark.proves("A108", "B119")
def test_what_is_refused_and_comes_by_itself_is_dropped(way, tmp_path, clock):
    """Nobody's turn, tool or import fails for it."""
    home = through(way, PERSONAL, tmp_path, clock, contact="refuse")
    assert holding(home, MAIL) == []


@pytest.mark.proves("A108", "B119")
def test_what_reminds_is_cleaned_before_it_becomes_a_pattern(tmp_path, clock):
    """In a pattern dots are escaped, so no rule would know an address there any more."""
    with memory(tmp_path / "home", now=clock, contact="mask") as mind:
        mind.remind(
            "Ask for the keys.",
            context=PERSONAL,
            files=[f"{MAIL}/*.md"],
            commands=[f"mail {MAIL}"],
            space=SPACE,
        )
    assert holding(tmp_path / "home", MAIL.partition("@")[0]) == []
    with (
        memory(tmp_path / "other", now=clock, contact="refuse") as mind,
        pytest.raises(BadInput, match="email"),
    ):
        mind.remind("Ask for the keys.", context=PERSONAL, space=SPACE)


@pytest.mark.proves("A108")
def test_code_that_changed_since_it_was_indexed_is_shown_masked_too(tmp_path, clock):
    """It is read anew for the answer."""
    with memory(tmp_path / "home", now=clock, contact="mask") as mind:
        index_code(mind, PERSONAL, tmp_path)
        file = tmp_path / "repo" / "a.py"
        file.write_text(file.read_text() + f"# and {MAIL}\n")
        told = [one.text for one in mind.code.search_similar("deploy", root=tmp_path / "repo")]
    assert "[REDACTED:email]" in "".join(told) and MAIL not in "".join(told)


@pytest.mark.proves("A108")
def test_a_tag_is_found_and_taken_off_as_it_was_given(clock):
    """Though what is kept of it is a mark."""
    with memory(now=clock, contact="mask") as mind:
        note = mind.remember("The keys are in the safe.", tags=[MAIL, "safe"], space=SPACE)
        assert [one.id for one in mind.browse(tags=[MAIL], space=SPACE)] == [note.id]
        assert [hit.memory.id for hit in mind.recall("keys", tags=[MAIL], space=SPACE)] == [note.id]
        assert mind.tag(note.id, remove=[MAIL]).tags == ("safe",)


def test_a_refused_message_leaves_its_place(tmp_path, clock):
    """The log says that there was one and why it is gone; the others of the turn are
    learned from.
    """
    with memory(tmp_path, now=clock, embedder="none", contact="refuse") as mind:
        with mind.companion(f"{SPACE}/s1") as companion:
            companion.turn(
                make_conversation(f"Ask {MAIL} about it.", "Remember that heron is staging.")
            )
            companion.wait(120)
        mind.settle()
        messages = mind.store.events(verbs=["turn"])[0].payload["messages"]
        assert [one["text"] for one in messages][::2] == [
            "[REDACTED:email]",
            "Remember that heron is staging.",
        ]
        assert [one.text for one in mind.browse(space=SPACE)] == ["Heron is staging."]


@pytest.mark.proves("A108")
def test_imports_say_which_record_was_refused(tmp_path, clock):
    """Row by row and record by record; the others come in."""
    with memory(tmp_path / "home", now=clock, embedder="none", contact="refuse") as mind:
        rows = [
            {"type": "memory", "id": f"m{n}", "at": 1.0, "space": SPACE, "text": text}
            for n, text in enumerate((PERSONAL, "heron is staging"))
        ]
        done = mind.data.import_([{"type": "reverie", "version": VERSION}, *rows], skip_bad=True)
        assert (done.new["memory"], done.left_out) == (1, 1) and "email" in done.bad[0].why
        with pytest.raises(BadInput, match=r"row 2.*email"):
            mind.data.import_([{"type": "reverie", "version": VERSION}, rows[0]])

        (tmp_path / "memory").mkdir()
        (tmp_path / "memory" / "MEMORY.md").write_text(f"- {PERSONAL}\n- heron is staging\n")
        plan = mind.data.import_from(tmp_path / "memory", space=SPACE, trusted=True).plan
        assert ["email" in one.why for one in plan.bad] == [True] and len(plan.changes) == 1

        (tmp_path / "team.jsonl").write_text(
            "".join(
                json.dumps({"id": f"n{n}", "content": text, "description": "d"}) + "\n"
                for n, text in enumerate((PERSONAL, "kept"))
            )
        )
        shared = mind.data.share(tmp_path / "team.jsonl", space=SPACE)
        assert (
            shared.new == 1
            and "email" in shared.troubles[0]
            and MAIL in (tmp_path / "team.jsonl").read_text()
        )


def test_a_memory_of_nothing_but_private_text_is_not_kept(tmp_path, clock):
    """The caller is told; a note and a file line are no memory either."""
    with memory(tmp_path, now=clock, embedder="none") as mind:
        for text in (f"<private>{PLANTED}</private>", f" <private>{PLANTED}"):
            with pytest.raises(BadInput, match="all of the text is private"):
                mind.remember(text, space=SPACE)
            with pytest.raises(BadInput, match="all of the text is private"):
                mind.files.save_note(text, space=SPACE)
        with mind.companion(f"{SPACE}/s1") as companion:
            assert not companion.turn(
                make_conversation(f"<private>Remember that {PLANTED} is the bride.</private>")
            )
            companion.wait(120)
        mind.settle()
        assert mind.browse(space=SPACE) == [] and holding(tmp_path) == []


@pytest.mark.proves("CC-89")
def test_no_cut_of_a_long_message_lets_a_passage_out(tmp_path, clock):
    """Of a message of half a million characters only the ends are kept: the passage may stand in
    the middle.
    """
    with (
        memory(tmp_path, now=clock, embedder="none") as mind,
        mind.companion(f"{SPACE}/s1") as companion,
    ):
        for before in (0, 8_000, MAX_MESSAGE_CHARS, 8_000 + CUT_MARGIN, 200_000):
            companion.turn(
                make_conversation(
                    "word " * (before // 5) + f"<private>{PLANTED} " + f"{PLANTED} " * 20_000
                )
            )
            companion.turn(
                make_conversation(
                    "word " * (before // 5)
                    + f"<private> {PLANTED}" * 9_000
                    + "</private>" * 9_000
                    + " w"
                )
            )
        assert companion.wait(120)
        assert holding(tmp_path) == []


@pytest.mark.proves("A108")
def test_neither_a_model_nor_an_embedder_is_told(tmp_path, clock):
    """What is private or personal is in no request, whoever asks."""
    embedder = CountingEmbedder()
    with (
        scripted(*["[]"] * 20) as script,
        memory(
            tmp_path, now=clock, embedder=embedder, llm=script.openai, llm_key="k", contact="mask"
        ) as mind,
    ):
        with mind.companion(f"{SPACE}/s1") as companion:
            for text in (PRIVATE, PERSONAL, f"Which host is staging? <private>{PLANTED}"):
                companion.turn(make_conversation(text, text))
                companion.wait(120)
        talk = [
            one
            for n in range(8)
            for one in make_conversation(f"{n} {PRIVATE} {PERSONAL} " + "word " * 300, "And?")
        ]
        mind.sessions.condense(talk, limit=3_000, ask=True, space=SPACE)
        mind.recall(f"staging <private>{PLANTED}</private> {MAIL}", space=SPACE)
        mind.settle()
        asked = [str(one) for one in script.asked]

    assert embedder.asked and asked
    assert not any(PLANTED in text or MAIL in text for text in (*asked, *embedder.asked))


def test_a_page_of_the_mirror_keeps_what_its_owner_wrote(tmp_path, clock):
    """A passage of several lines stays in the page as it stands, and no line of it becomes a
    memory.
    """
    with memory(tmp_path, now=clock, embedder="none") as mind:
        mind.remember("Heron is staging.", space=SPACE)
        page = next(tmp_path.glob("spaces/**/MEMORY.md")) if mind.data.mirror(SPACE) else None
        private = f"<private>\n- The bride is {PLANTED}.\n- She is.\n</private>\n"
        page.write_text(f"{page.read_text()}\n- Adder is live.\n\n{private}")
        mind.data.mirror(SPACE)
        assert sorted(one.text for one in mind.browse(space=SPACE)) == [
            "Adder is live.",
            "Heron is staging.",
        ]
        assert PLANTED in page.read_text()
    assert holding(tmp_path) == [str(page.relative_to(tmp_path))]


# Choosing


def test_an_unknown_choice_is_refused_by_name(tmp_path):
    """In config.toml and in Settings."""
    (tmp_path / "config.toml").write_text('contact = "hide"\n')
    with pytest.raises(BadInput, match="contact = 'hide' is not one of off, mask, refuse"):
        config.load_settings(tmp_path)
    with pytest.raises(BadInput, match="personal = 'no' is not one of off, mask, refuse"):
        _ = config.Settings(tmp_path, personal="no").policy
    with (
        memory(tmp_path / "b", sensitive=("[z-a]",)) as mind,
        pytest.raises(BadInput, match="no pattern"),
    ):
        mind.record("tool", {"parameters": {"file_path": "a.md"}}, space=SPACE)


def test_a_choice_off_keeps_cards(tmp_path, clock):
    """`personal = "off"`: it is the owner's affair."""
    with memory(tmp_path, now=clock, embedder="none", personal="off") as mind:
        assert "4242" in mind.remember("The test card is 4242 4242 4242 4242.", space=SPACE).text
    with memory(tmp_path, now=clock, embedder="none") as mind:
        assert (
            "4242" not in mind.remember("The test card is 4242 4242 4242 4242.", space=SPACE).text
        )


# One session off


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


class Agent:
    """A host whose hooks run in this process, and a desk that takes in what they wrote."""

    def __init__(self, home, project):
        self.home, self.project = home, project
        self.room, self.space = HookFiles(str(home)), config.project_space_of(project)

    def tell(self, event, session="s1", now=1e9, **fields):
        payload = {
            "session_id": session,
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }
        return hook_main.answer_event("claude-code", json.dumps(payload).encode(), self.room, now)

    def tool(self, name, given, answered, session="s1", event="PostToolUse"):
        answer = (
            {"error": answered} if event == "PostToolUseFailure" else {"tool_response": answered}
        )
        return self.tell(event, session, tool_name=name, tool_input=given, **answer)

    def attended(self, mind):
        """Everything in the spool is taken in."""
        desk = HookConsumer(mind)
        while desk.consume_events():
            pass
        desk.close()
        mind.settle()


@pytest.fixture
def agent(tmp_path, project):
    return Agent(toy_home(tmp_path), project)


@pytest.mark.parametrize(
    ("text", "planted", "settings"),
    [
        (PRIVATE, PLANTED, {}),
        (f"heron <private>{PLANTED} " + "word " * 30_000 + f"{PLANTED}</private> owl", PLANTED, {}),
        (PERSONAL, MAIL, {"contact": "mask"}),
        (PERSONAL, MAIL, {"contact": "refuse"}),
        (PERSONAL + " word" * 30_000 + f" {MAIL} owl", MAIL, {"contact": "refuse"}),
    ],
    ids=range(5),
)
@pytest.mark.proves("A108", "B119")
def test_hooks_write_down_nothing_of_it(text, planted, settings, agent, clock):
    """What is said, what tools are given, answer and fail with: the spool, and what is made of it."""
    config.save_settings(config.load_settings(agent.home), **settings)
    agent.tell("SessionStart", source="startup")
    agent.tell("UserPromptSubmit", prompt=text)
    agent.tell("UserPromptSubmit", prompt=f"Remember that {text}.")
    agent.tool("Bash", {"command": f"echo '{text}'"}, {"stdout": text, "stderr": ""})
    agent.tool("Bash", {"command": "make"}, f"{text}\nError: no", event="PostToolUseFailure")
    agent.tool("Task", {"prompt": text}, [{"type": "text", "text": text}])
    agent.tell("Stop", last_assistant_message=f"Yes: {text}")
    assert len(agent.room.list_events()) == 7 and holding(agent.home, planted) == []
    with memory(agent.home, now=clock, **settings) as mind:
        agent.attended(mind)
        assert (
            len(mind.store.events(verbs=["tool"])) == 3
            and len(mind.store.events(verbs=["turn"])) == 3
        )
        mind.sleep()
    assert holding(agent.home, planted) == []


def worked(agent, session):
    """A session in which something is said and done."""
    agent.tell("SessionStart", session, source="startup")
    agent.tell(
        "UserPromptSubmit", session, prompt=f"Remember that {PLANTED}{session} is the bride."
    )
    agent.tool(
        "Bash", {"command": f"echo {PLANTED}{session}"}, {"stdout": f"{PLANTED}{session}"}, session
    )
    agent.tool(
        "Bash", {"command": "make"}, f"Error: {PLANTED}{session}", session, "PostToolUseFailure"
    )
    agent.tell("Stop", session, last_assistant_message=f"I know {PLANTED}{session}.")
    agent.tell("PreCompact", session, trigger="auto")


@pytest.mark.proves("A114")
def test_nothing_of_a_session_that_is_off_is_kept(agent, clock):
    """Nothing spooled, recorded, learned, laid ready or given there, on resume either; in another
    all of it.
    """
    with memory(agent.home, now=clock) as mind:
        mind.remember("The staging server is called heron.", space=agent.space)
        run_command("off", "--session", "s1", "--home", str(agent.home))
        worked(agent, "s1")
        assert agent.room.list_events() == []
        assert agent.tell("UserPromptSubmit", prompt="Which host is the staging server?") == {}
        agent.tell("SessionStart", source="resume")
        worked(agent, "s1")
        assert agent.room.list_events() == [] and holding(agent.home, f"{PLANTED}s1") == []

        worked(agent, "s2")
        assert (
            agent.tell("UserPromptSubmit", "s3", prompt="Which host is the staging server?") != {}
        )
        agent.attended(mind)
        assert {event.session for event in mind.store.events() if event.session} == {"s2", "s3"}
        assert holding(agent.home, f"{PLANTED}s2")

        run_command("on", "--session", "s1", "--home", str(agent.home))
        assert agent.tell("UserPromptSubmit", prompt="Which host is the staging server?") != {}


@pytest.mark.proves("A114")
def test_what_waits_when_a_session_is_switched_off_is_not_taken_in(agent, clock):
    """Events in the spool, and turns in the log that nobody has learned from yet."""
    with memory(agent.home, now=clock) as mind:
        worked(agent, "s1")
        desk = HookConsumer(mind)
        assert len(agent.room.list_events()) >= 4
        run_command("off", "--session", "s1", "--home", str(agent.home))
        while desk.consume_events():
            pass
        assert agent.room.list_events() == [] and mind.store.events() == []
        desk.close()

        run_command("on", "--session", "s1", "--home", str(agent.home))
        assert mind.store.acquire(
            SETTLE_LEASE, "somebody", SETTLE_LEASE_SECONDS, real.now()
        )  # so that nobody learns yet
        worked(agent, "s1")
        desk = HookConsumer(mind)
        while desk.consume_events():
            pass
        assert mind.store.events(session="s1", verbs=["turn"]) and mind.store.events(
            session="s1", verbs=["tool"]
        )
        run_command("off", "--session", "s1", "--home", str(agent.home))
        desk.consume_events()
        mind.store.release(SETTLE_LEASE, "somebody")
        mind.settle()
        desk.close()
        assert mind.browse(space=agent.space, limit=99) == []


@pytest.mark.proves("A114")
def test_a_running_worker_obeys(agent, monkeypatch):
    """A worker that was there before the session was switched off: a real process, real hooks."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    config.save_settings(config.load_settings(agent.home), idle=2.0)
    run = [
        sys.executable,
        "-I",
        "-S",
        str(Path(hook_main.__file__).with_name("run.py")),
        "claude-code",
    ]

    def tell(event, session, **fields):
        given = json.dumps(
            {"session_id": session, "cwd": str(agent.project), "hook_event_name": event, **fields}
        )
        subprocess.run(
            run,
            input=given.encode(),
            check=True,
            env={**os.environ, "REVERIE_HOME": str(agent.home)},
        )

    tell("UserPromptSubmit", "s2", prompt=f"Remember that {PLANTED}s2 is staging.")
    wait_until(lambda: is_worker_alive(agent.room.lock))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    switch = [sys.executable, "-m", "reverie", "off", "--session", "--home", str(agent.home)]
    assert (
        "off in the session s1"
        in subprocess.run(switch, check=True, capture_output=True, text=True).stdout
    )
    tell("UserPromptSubmit", "s1", prompt=f"Remember that {PLANTED}s1 is staging.")
    tell("UserPromptSubmit", "s3", prompt=f"Remember that {PLANTED}s3 is staging.")
    wait_until(lambda: not agent.room.list_events())
    wait_until(lambda: not is_worker_alive(agent.room.lock))
    with memory(agent.home, embedder="none") as mind:
        mind.settle()
        assert {one.session for one in mind.browse(space=agent.space)} == {"s2", "s3"}
    assert holding(agent.home, f"{PLANTED}s1") == []


@pytest.mark.proves("A114")
def test_a_companion_is_switched_off_and_on(tmp_path, clock):
    """Nothing given, nothing written down, what left is not kept; for good, where there is a home."""
    with memory(tmp_path, now=clock) as mind:
        mind.remember("The staging server is called heron.", space=SPACE)
        with mind.companion(SPACE, session="s1") as companion:
            companion.off()
            assert companion.is_off and not companion.turn(
                make_conversation("Which host is the staging server?")
            )
            companion.turn(make_conversation(f"Remember that {PLANTED} is the bride."))
            companion.heed(make_conversation(f"Remember that {PLANTED} is the bride."))
            long = [
                one
                for n in range(12)
                for one in make_conversation(f"{n} {PLANTED} " + "word " * 300, "And?")
            ]
            assert companion.fit(long, limit=2_000).leaving_items
            companion.wait(120)
        with pytest.raises(Disabled, match="reverie on --session s1"):
            mind.remember("Heron.", space=SPACE, session="s1")
        with pytest.raises(Disabled, match="reverie on --session s1"):
            mind.sessions.hold("Heron.", space=SPACE, session="s1")
        mind.record_tool("Bash", {"command": f"echo {PLANTED}"}, space=SPACE, session="s1")
        assert mind.activity.events(space=SPACE) == [] and mind.store.events(session="s1") == []
    with (
        memory(
            tmp_path, now=clock, off_sessions=config.load_settings(tmp_path).off_sessions
        ) as mind,
        mind.conversation(SPACE, limit=9_000, session="s1") as talk,
    ):
        assert talk.companion.is_off and not talk.start("staging").block
        talk.companion.on()
        assert talk.companion.turn(make_conversation("Which host is the staging server?"))
    assert holding(tmp_path) == []


def test_a_companion_in_memory_is_switched_off(clock, tmp_path, monkeypatch):
    """Without a home it holds for the mind, and no config.toml is written; what was not learned yet
    is not learned.
    """
    monkeypatch.chdir(tmp_path)
    with (
        memory(now=clock, embedder="none") as mind,
        mind.companion(SPACE, session="s1") as companion,
    ):
        with mind.store.transaction():  # nobody settles meanwhile
            companion.turn(make_conversation("Remember that heron is staging."))
            companion.off()
        mind.settle()
        assert not mind.browse(space=SPACE) and not mind.settings.home.exists()
        with mind.companion(SPACE, session="s2") as other:
            other.turn(make_conversation("Remember that adder is live."))
            other.wait(120)
        mind.settle()
        assert [one.text for one in mind.browse(space=SPACE)] == ["Adder is live."]


@pytest.mark.proves("A114")
def test_an_agent_of_a_framework_is_switched_off(clock):
    """No warning, no answer, no tool and no turn written down; a note of its own is refused in
    words.
    """
    with (
        memory(now=clock, embedder="none") as mind,
        Beside(mind, SPACE, session="s1") as beside,
        mind.companion(SPACE, session="s1") as companion,
    ):
        mind.remember("Never run make deploy on a Friday.", space=SPACE, triggers=["make deploy"])
        companion.off()
        assert beside.is_off and not beside.warned("Bash", {"command": "make deploy"})
        assert not beside.turn(
            make_conversation("make deploy")
        ) and "Nothing is known" in beside.recall("make deploy")
        beside.ran("Bash", {"command": "make deploy"}, PLANTED)
        beside.heed(make_conversation(f"Remember that {PLANTED} is the bride."))
        assert "It was not kept" in beside.remember(PLANTED)
        assert (
            companion.wait(120)
            and not mind.activity.events(space=SPACE)
            and len(mind.browse(space=SPACE)) == 1
        )
        companion.on()
        assert beside.warned("Bash", {"command": "make deploy"})


@pytest.mark.proves("A114")
def test_the_command_line_says_which_session_is_off(tmp_path, monkeypatch):
    """By name, or the one that the agent says; `status`, `doctor` tell; writes, by MCP too, are
    refused.
    """
    home = toy_home(tmp_path)
    for name in ("REVERIE_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"):
        monkeypatch.delenv(name, raising=False)
    assert (
        "Name it: reverie off --session ID"
        in run_command("off", "--session", "--home", str(home), code=2).stderr
    )
    assert "--session s9" in run_command("off", "s9", "--home", str(home), code=2).stderr
    monkeypatch.setenv("CODEX_THREAD_ID", "s7")
    assert "off in the session s7" in run_command("off", "--session", "--home", str(home)).stdout
    assert config.load_settings(home).off_sessions == ("s7",)
    status = json.loads(run_command("status", "--json", "--home", str(home)).stdout)
    assert status["on"] is False and status["off_sessions"] == ["s7"]
    assert "off in this session (s7)" in run_command("doctor", "--home", str(home), code=1).stdout
    assert (
        "reverie on --session"
        in run_command("remember", "heron", "--home", str(home), code=3).stderr
    )
    server = ToolContext(config.load_settings(home), SPACE)
    with pytest.raises(Disabled), server.mind as mind:
        mind.remember("heron", space=SPACE)
    monkeypatch.delenv("CODEX_THREAD_ID")
    assert ToolContext(config.load_settings(home), SPACE).settings.enabled
    assert "off in 1 sessions" in run_command("doctor", "--home", str(home), code=1).stdout
    answer = json.loads(run_command("on", "--session", "s7", "--json", "--home", str(home)).stdout)
    assert answer == {"on": True, "session": "s7", "off_sessions": []}


# Sensitive files

KEYS = [
    ".env",
    ".env.production",
    "config/app.env",
    "/home/ann/.aws/credentials",
    "id_rsa",
    "deploy/server.pem",
    "a.p12",
    "vault.kdbx",
    "/home/ann/.netrc",
    ".pgpass",
    "C:\\Users\\ann\\.kube\\config",
    "notes/health/week.md",
]
ORDINARY = [
    ".env.example",
    ".env.sample",
    ".env.template",
    "id_rsa.pub",
    "src/env.py",
    "environment.md",
    "keys.md",
    "notes/work/health.md",
    "src/process.env.ts",
    "known_hosts",
]
CHOSEN = {"sensitive": ("notes/health/",)}
SECRET = f"token of {PLANTED}"


@pytest.mark.parametrize("path", KEYS)
@pytest.mark.proves("A109", "A112", "B119")
def test_the_tool_log_keeps_the_path_and_no_content(path, tmp_path, clock):
    """Read, edit, write, search, shell command: what was done, to which file, and how it went."""
    with memory(tmp_path, now=clock, embedder="none", **CHOSEN) as mind:
        for tool, given in (
            ("Read", {"file_path": path}),
            ("Grep", {"pattern": "x", "path": path}),
            ("Edit", {"file_path": path, "old_string": SECRET, "new_string": SECRET}),
            ("Write", {"file_path": path, "content": SECRET}),
            ("Bash", {"command": f"cat {path}"}),
            ("Bash", {"command": f"echo '{SECRET}' > {path}"}),
        ):
            mind.record_tool(tool, given, SECRET, space=SPACE)
            mind.record_tool(tool, given, error=SECRET, space=SPACE)
        mind.record(
            "tool", {"tool": "Read", "path": path, "result": SECRET, "output": SECRET}, space=SPACE
        )
        deeds = mind.activity.events(space=SPACE, limit=99)
        mind.settle()
        mind.sleep()
        assert len(deeds) >= 12 and {event.payload.get("ok", True) for event in deeds} == {
            True,
            False,
        }
        assert all(
            path.replace("\\", "/").rpartition("/")[2] in str(event.payload) for event in deeds
        )
    assert holding(tmp_path) == []


PATCH = f"*** Begin Patch\n*** Update File: .env\n@@\n-a\n+{SECRET}\n*** End Patch\n"
CODE = "diff --git a/a.py b/a.py\n+TOKEN = 1\n"
DIFF = f"diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n+{SECRET}\n{CODE}"
CALLS = [
    ("shell", {"command": ["bash", "-lc", "cat .env"]}),
    ("Bash", {"command": "head -3 .env*"}),
    ("Bash", {"command": "ls " + "a/b.c " * 400 + "; cat .env"}),
    ("apply_patch", {"input": PATCH}),
    ("read_multiple_files", {"paths": ["a.py", "deploy/.env"]}),
    ("read", {"uri": "file:///srv/.env"}),
    ("Grep", {"pattern": "x", "glob": ".env*"}),
    ("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}),
]


@pytest.mark.parametrize(("tool", "given"), CALLS)
@pytest.mark.proves("A109", "A112")
def test_other_ways_to_name_a_file_are_known(tool, given, agent, clock):
    """Commands in parts, wildcards, long commands, patches, lists of files, addresses."""
    agent.tool(tool, given, {"stdout": SECRET})
    calls = [
        {"id": f"t{n}", "function": {"name": tool, "arguments": json.dumps(one)}}
        for n, one in enumerate((given, {}))
    ]
    talk = [
        *make_conversation("Why does it not start?"),
        *({"role": "assistant", "content": None, "tool_calls": [one]} for one in calls),
        *({"role": "tool", "tool_call_id": one["id"], "content": SECRET} for one in calls),
    ]
    with memory(agent.home, now=clock, embedder="none") as mind:
        mind.record_tool(tool, given, SECRET, space=SPACE)
        mind.learn(talk, space=SPACE)
        agent.attended(mind)
        assert len(mind.activity.events(space=SPACE, verbs=["tool"])) == 1
    assert holding(agent.home) == []


def test_a_diff_loses_only_what_is_of_sensitive_files(tmp_path, clock):
    """`git diff` and `git show` print every file."""
    with memory(tmp_path, now=clock, embedder="none") as mind:
        mind.record_tool("Bash", {"command": "git diff"}, DIFF, space=SPACE)
        kept = mind.activity.events(tool="Bash", space=SPACE)[0].payload["result"]
    assert kept == f".env:{SENSITIVE_MARK}\n{CODE}"


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_are_kept_as_before(path, tmp_path, clock):
    """Examples, templates, public keys, and names that only resemble one."""
    with memory(tmp_path, now=clock, embedder="none", **CHOSEN) as mind:
        mind.record_tool("Read", {"file_path": path}, SECRET, space=SPACE)
        mind.record_tool("Bash", {"command": f"cat {path}"}, SECRET, space=SPACE)
        assert [
            event.payload["result"] for event in mind.activity.events(verbs=["tool"], space=SPACE)
        ] == [SECRET] * 2


def test_a_search_loses_only_the_lines_of_sensitive_files(tmp_path, clock):
    """`grep -rn` prints the file before each line."""
    with memory(tmp_path, now=clock, embedder="none") as mind:
        mind.record_tool(
            "Bash",
            {"command": "grep -rn token ."},
            f"./.env:3:{SECRET}\na.py:1:token = 1",
            space=SPACE,
        )
        assert (
            mind.activity.events(tool="Bash", space=SPACE)[0].payload["result"]
            == f"./.env:{SENSITIVE_MARK}\na.py:1:token = 1"
        )


@pytest.mark.parametrize("path", KEYS)
@pytest.mark.proves("A109", "A112", "B119", "B120")
def test_hooks_spool_no_content_of_a_sensitive_file(path, agent, clock):
    """What a hook writes down is without it already; what comes of it too."""
    config.save_settings(config.load_settings(agent.home), **CHOSEN)
    agent.tool("Read", {"file_path": path}, {"file": {"content": SECRET}})
    agent.tool("Write", {"file_path": path, "content": SECRET}, {"content": SECRET})
    agent.tool(
        "Edit",
        {"file_path": path, "old_string": SECRET, "new_string": SECRET},
        {"newString": SECRET},
    )
    agent.tool("Bash", {"command": f"cat '{path}'"}, {"stdout": SECRET, "stderr": ""})
    agent.tool("Bash", {"command": f"cat {path}"}, SECRET, event="PostToolUseFailure")
    agent.tool(
        "Bash", {"command": f"cat > {path} <<EOF\n{SECRET}\nEOF"}, {"stdout": "", "stderr": ""}
    )
    assert len(agent.room.list_events()) == 6 and holding(agent.home) == []
    with memory(agent.home, now=clock) as mind:
        agent.attended(mind)
        assert len(mind.activity.events(space=agent.space, verbs=["tool"])) == 6
    assert holding(agent.home) == []


@pytest.mark.proves("A109")
def test_a_note_that_says_it_is_sensitive_is_never_looked_into(agent, project, clock):
    """Front matter: the files index, hooks by the file's head and by the text itself, transcripts,
    imports.
    """
    note = f"---\ntitle: Health\nsensitive: true\n---\n\n{SECRET}\n"
    (project / "health.md").write_text(note)
    (project / "plain.md").write_text("---\ntitle: Heron\n---\nHeron is staging.\n")
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(note.splitlines(), 1))
    agent.tool(
        "Edit",
        {"file_path": str(project / "health.md"), "old_string": SECRET, "new_string": SECRET},
        {},
    )
    agent.tool("Bash", {"command": "tail -1 health.md"}, {"stdout": SECRET, "stderr": ""})
    agent.tool("Bash", {"command": "cat $NOTE"}, {"stdout": note, "stderr": ""})
    agent.tool("Write", {"file_path": "new.md", "content": note}, {})
    agent.tool("mcp__fs__read", {"uri": "x"}, numbered)
    assert len(agent.room.list_events()) == 5 and holding(agent.home) == []
    with memory(agent.home, now=clock) as mind:
        agent.attended(mind)
        mind.files.add_folder(project, space=agent.space)
        assert mind.files.sync(space=agent.space).skipped["sensitive"] == 1
        assert mind.files.search("heron", space=agent.space) and not mind.files.search(
            "token", space=agent.space
        )
        with pytest.raises(BadInput, match="sensitive"):
            mind.files.read(project / "health.md", space=agent.space)
        mind.learn([{"role": "tool", "content": numbered}], space=agent.space)
        (project / "memory").mkdir()
        (project / "memory" / "MEMORY.md").write_text("- adder is live\n")
        (project / "memory" / "health.md").write_text(note)
        assert "health.md says that it is sensitive" in str(
            mind.data.import_from(project / "memory", trusted=True).plan.remarks
        )
    assert holding(agent.home) == []


def shapes(path):
    """A conversation in which a sensitive file is read and written, in Anthropic's and OpenAI's
    shape.
    """
    anthropic = [
        {"role": "user", "content": "Why does it not start?"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": path}},
                {
                    "type": "tool_use",
                    "id": "t2",
                    "name": "Write",
                    "input": {"file_path": path, "content": SECRET},
                },
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": SECRET}],
        },
        {"role": "assistant", "content": "It starts."},
    ]
    openai = [
        {"role": "user", "content": "Why does it not start?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "t1",
                    "function": {
                        "name": "shell",
                        "arguments": json.dumps({"command": f"cat {path}"}),
                    },
                }
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": SECRET},
        {"role": "assistant", "content": "It starts."},
    ]
    return anthropic, openai


@pytest.mark.parametrize("path", KEYS)
@pytest.mark.parametrize("shape", [0, 1])
@pytest.mark.proves("A109", "A112")
def test_transcripts_and_turns_keep_no_content_of_a_sensitive_file(path, shape, tmp_path, clock):
    """Learned from later, turn by turn (the answer in a turn of its own), condensed, and as it
    leaves.
    """
    talk = shapes(path)[shape]
    with memory(tmp_path, now=clock, **CHOSEN) as mind:
        mind.learn(talk, space=SPACE, session="over")
        with mind.companion(SPACE, session="s1") as companion:
            for end in (2, 3, 4):
                companion.turn(talk[:end])
                companion.wait(120 if end == 2 else 0)
            companion.wait(120)
        long = [
            *talk,
            *(one for n in range(12) for one in make_conversation(f"{n} " + "word " * 300, "And?")),
        ]
        with mind.companion(SPACE, session="s2") as companion:
            assert companion.fit(long, limit=2_000).leaving_items
            companion.wait(120)
        with mind.companion(SPACE, session="s3") as companion:
            assert companion.condense(long, limit=3_000).done
            companion.wait(120)
        mind.settle()
        mind.sleep()
        told = str([event.payload for event in mind.store.events(session="over")])
        assert SENSITIVE_MARK in told and "Why does it not start?" in told
    assert holding(tmp_path) == []


@pytest.mark.proves("A111", "A112", "B120")
def test_indexes_leave_sensitive_files_out(tmp_path, clock):
    """By name and by pattern, whatever ignore files say, in folders of texts and of code; chosen
    later, they go.
    """
    repo = tmp_path / "repo"
    for name in (
        ".env",
        "notes/health/week.md",
        "notes/work.md",
        "secret/a.py",
        "b.py",
        "id_rsa.md",
        "ignored.md",
    ):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(
            "NAME = 1\n" if name == "b.py" else f"# {SECRET}\nTOKEN_OF = '{PLANTED}'\n"
        )
    (repo / ".git").mkdir()
    (repo / "notes" / "work.md").write_text("Heron is staging.\n")
    (repo / ".secretsignore").write_text("ignored.md\n!.env\n!notes/health/\n")
    with memory(tmp_path / "home", now=clock, sensitive=("notes/health/", "secret/*.py")) as mind:
        mind.files.add_folder(repo, space=SPACE)
        done, mapped = mind.files.sync(space=SPACE), mind.code.index(repo)
        mind.settle()
        assert done.files == 1 and done.skipped["sensitive"] >= 2 and done.skipped["ignored"] == 1
        assert mapped.files == 1 and mapped.skipped["sensitive"] >= 1
        with pytest.raises(BadInput, match="sensitive"):
            mind.files.update(repo / "notes" / "health" / "week.md", "more", space=SPACE)
    assert holding(tmp_path / "home") == []

    (repo / "notes" / "work.md").write_text(f"{SECRET}\n")
    with memory(tmp_path / "home", now=clock) as mind:
        mind.files.sync(space=SPACE)
        assert mind.files.search("token", space=SPACE)
    with memory(tmp_path / "home", now=clock, sensitive=("notes/",)) as mind:
        mind.files.sync(space=SPACE)
        assert not mind.files.search("token", space=SPACE)
