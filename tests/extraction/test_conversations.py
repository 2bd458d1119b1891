# mypy: no-check-untyped-defs
"""Lessons of whole conversations: live, over several turns, from transcripts; past sessions; what
was rejected and why.
"""

import json

import pytest
from typer.testing import CliRunner

from reverie.core.errors import BadInput, Disabled, NotFound
from reverie.core.model import Event
from reverie.extraction.multi_turn_lessons import TURN_INTERVAL
from reverie.extraction.past_conversations import fits_text
from reverie.interfaces.cli.app import app
from reverie.testing import make_conversation, memory

pytestmark = pytest.mark.words_only

SPACE = "me/demo"
TALK = [
    {"role": "user", "content": "load the sample please"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I'll use npm."},
            {"type": "tool_use", "name": "Bash", "input": {"command": "npm run load"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "content": "sh: vite: command not found"}],
    },
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "name": "Bash", "input": {"command": "npm ci"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "content": "added 812 packages"}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "name": "Bash", "input": {"command": "npm run load"}}],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "content": "loaded 1000 rows. Never trust it. " + 200 * "."}
        ],
    },
    {
        "role": "user",
        "content": "great. from now on always squash commits. should we always rebase? "
        "never use println! in src/ui.rs, we use tracing for now",
    },
    {"role": "assistant", "content": "I prefer rebasing. From now on I will."},
    {"role": "user", "content": "btw im on macos"},
]
FIX = "`npm run load` failed with “sh: vite: command not found”; fixed by running `npm ci`."


def texts(mind, space=SPACE):
    return sorted(m.text for m in mind.browse(space=space, limit=1_000))


def talk(mind, messages, session="s1", close=True):
    companion = mind.companion(f"{SPACE}/{session}")
    for end in range(1, len(messages) + 1):
        if messages[end - 1]["role"] == "user":
            companion.turn(messages[:end])
    assert companion.wait(120)
    if close:
        companion.close()
    mind.settle()
    return companion


# Live


@pytest.mark.proves("B103", "CC-61", "CC-62", "A62")
def test_a_conversation_teaches_turn_by_turn_and_at_its_end(mind):
    """Wishes at once, fixes of errors when it ends; tools and the agent are not obeyed."""
    companion = talk(mind, TALK, close=False)
    assert FIX not in texts(mind)
    assert "Always squash commits." in texts(mind)

    companion.close()
    mind.settle()
    fix = next(m for m in mind.browse(space=SPACE) if m.text == FIX)

    assert (fix.kind, fix.provenance, fix.messages, fix.session) == (
        "learning",
        "observed",
        (2, 6),
        "s1",
    )
    assert not any("trust this" in text or "rebas" in text.lower() for text in texts(mind))


def test_lessons_about_the_user_go_to_the_users_space(mind):
    """It is so in every project; where it was said stays with it."""
    talk(mind, TALK)
    mine = mind.browse(space="me")

    assert [(m.text, m.space, m.kind, m.tags) for m in mine] == [
        ("Im on macos", "me", "knowledge", ("project:demo",))
    ]


@pytest.mark.proves("A69", "B21", "B61", "B67", "B68")
def test_a_prohibition_carries_trigger_file_and_tags(mind):
    """“Never use X in FILE” is extracted with its trigger, its file and its tags."""
    talk(mind, [*TALK[:-3], {"role": "user", "content": "never use println! in src/ui.rs"}])
    found = next(m for m in mind.browse(space=SPACE) if m.kind == "negative")

    assert (found.triggers, found.files, found.tags) == (("println!",), ("src/ui.rs",), ("rust",))
    assert found.details["rule"] == "never"
    assert any(
        "by the rule “never”: the user said so" in line for line in mind.explain(found.id).story
    )


@pytest.mark.proves("X17")
def test_a_conversation_is_read_every_twelve_turns(mind):
    """Every twelve turns a conversation is read although it has not ended; nothing is read twice."""
    filler = make_conversation(
        *(f"please rename thing number {n} too" for n in range(TURN_INTERVAL))
    )
    talk(mind, [*TALK[:7], *filler], close=False)

    looks = mind.store.events(verbs=["gather"])
    assert [look.payload["kept"] for look in looks] == [1]
    assert FIX in texts(mind)


def test_an_error_between_two_stretches_is_not_lost(mind):
    """A failure that is still open is looked at again with the next stretch."""
    long = [
        {"role": "user", "content": "load the sample please, and take your time. " * 8},
        *TALK[1:],
    ]
    mind_talk = talk(mind, long[:3], close=False)
    mind.record("compact", space=f"{SPACE}/s1", session="s1")
    mind.settle()
    assert mind.store.events(verbs=["gather"])[0].payload["kept"] == 0
    for end in range(4, len(TALK) + 1):
        if TALK[end - 1]["role"] == "user":
            mind_talk.turn(long[:end])
    assert mind_talk.wait(120)
    mind_talk.close()
    mind.settle()

    assert texts(mind).count(FIX) == 1


def test_a_change_of_topic_ends_a_stretch(mind):
    """A change of topic has the turns before it read, after at least four turns."""
    same = make_conversation(
        *("rename the login button of the login page again please" for _ in range(5))
    )
    talk(mind, [*TALK[:7], *same], close=False)
    assert mind.store.events(verbs=["gather"]) == []

    talk(
        mind,
        [
            *TALK[:7],
            *same,
            *make_conversation("quarterly invoices migrate towards postgres partitions"),
        ],
        "s2",
        close=False,
    )
    assert [e.session for e in mind.store.events(verbs=["gather"])] == ["s2"]


@pytest.mark.proves("X16")
def test_known_and_forgotten_lessons_are_not_learned_again(mind):
    """A lesson that is known adds nothing, and one that was forgotten stays forgotten."""
    mind.remember("Always squash commits.", space=SPACE)
    gone = mind.remember("Never use println! in src/ui.rs", space=SPACE, kind="negative")
    mind.forget(gone.id)
    talk(mind, make_conversation("always squash commits.", "never use println! in src/ui.rs"))

    assert texts(mind) == ["Always squash commits."]
    assert mind.data.stats().rejected == {"known already": 2}


def test_rejected_candidates_are_counted_with_the_reason(mind):
    """Rejected candidates are counted with their reason, without secrets, so that the junk rate is
    known.
    """
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    talk(
        mind,
        make_conversation(
            "always use port 8081 for now",
            f"remember that the token is {token}",
            "we use pnpm, right?",
            "always sign commits",
        ),
    )
    stats = mind.data.stats()

    assert stats.junk == 3 / 4
    assert (stats.learned, stats.rejected) == (1, {"one-off": 1, "secret": 1, "question": 1})
    assert [one.reason for one in mind.sessions.rejected()] == ["question", "secret", "one-off"]
    assert [one.reason for one in mind.sessions.rejected(1)] == ["question"]
    assert token not in str(mind.sessions.rejected())
    assert mind.sessions.rejected(0) == []


def test_nothing_is_extracted_where_memory_is_off(clock):
    """Where memory is off nothing is extracted, neither at once nor at the end."""
    with memory(now=clock, embedder="none", off=(SPACE,)) as mind:
        mind.store.append(
            [
                Event(
                    "turn", SPACE, 1.0, "s", {"messages": [{"role": "user", "text": "never push"}]}
                ),
                Event("session_end", SPACE, 2.0, "s"),
            ]
        )
        mind.settle()
        assert texts(mind) == []
        with pytest.raises(Disabled):
            mind.learn(TALK, space=SPACE)


# From transcripts


@pytest.mark.proves("B103")
def test_learning_from_a_transcript(mind):
    """A transcript teaches in one go what the live conversation would have taught."""
    done = mind.learn(TALK, space=SPACE, session="old")

    assert [m.text for m in done.memories] == [FIX, "Always squash commits.", "Im on macos"]
    assert [(one.reason, one.place) for one in done.rejected] == [("one-off", 7)]
    assert {m.session for m in done.memories} == {"old"}
    assert mind.data.verify() == []


def test_a_word_such_as_done_is_no_topic(mind):
    """What was being discussed is told where something was; the answer before may say nothing, and
    the sentence itself is no topic of its own.
    """
    for answer, topic, told in (
        ("Done.", None, "The staging server is called heron now. Thanks."),
        ("The deploy is through.", "The deploy is through.", "The queue is called crane now."),
    ):
        talk = [{"role": "assistant", "content": answer}, {"role": "user", "content": told}]
        (kept,) = mind.learn(talk, space=SPACE).memories
        assert kept.details.get("about") == topic


def test_the_same_transcript_twice_adds_nothing(mind):
    """A transcript learned twice, or first live, adds nothing; one that has grown adds what is new."""
    first = mind.learn(TALK[:8], space=SPACE, session="old")
    events = len(mind.store.events())
    again = mind.learn(TALK[:8], space=SPACE, session="old")
    assert (again.known, again.memories, len(mind.store.events())) == (True, (), events)

    grown = mind.learn(TALK, space=SPACE, session="old")
    assert [m.text for m in grown.memories] == ["Im on macos"]
    assert len(mind.sessions.read("old", space=SPACE).lines) == len(TALK)
    assert first.memories


def test_an_unnamed_transcript_is_named_by_its_content(mind):
    """The same messages, the same name."""
    assert mind.learn(TALK, space=SPACE).session == mind.learn(TALK, space="me/other").session


def test_memories_are_as_old_as_their_messages(mind):
    """A memory has the time of the message that says it."""
    at = 1_700_000_000.0
    done = mind.learn(
        [
            {**m, "at": at + n}
            for n, m in enumerate(make_conversation("hi", "always squash commits"))
        ],
        space=SPACE,
    )
    assert [m.at for m in done.memories] == [at + 2]


@pytest.mark.parametrize("odd", [None, 5, "text", [5], {"role": "user"}])
def test_input_that_is_no_conversation_is_refused(mind, odd):
    """Nothing is written."""
    with pytest.raises(BadInput, match="list of messages"):
        mind.learn(odd, space=SPACE)
    assert mind.store.events() == []


def test_what_was_said_has_the_day_on_which_it_was_said(mind):
    """Each message of a transcript keeps its own time, also where they are written down together;
    one without a time has that of the message before it.
    """
    day = 86_400.0
    talk = [
        {"role": "user", "content": "Where do the invoices of the shop go?", "at": day},
        {"role": "assistant", "content": "They could go to a bucket in Frankfurt."},
        {"role": "user", "content": "ok the invoices go to the Frankfurt bucket", "at": 9 * day},
    ]
    mind.learn(talk, space=SPACE, session="long")
    mind.settle()
    read = mind.sessions.read("long", space=SPACE)
    assert [line.at for line in read.lines] == [day, day, 9 * day]
    assert (read.began, read.ended) == (day, 9 * day)
    hits = mind.recall("invoices bucket", space=SPACE, kinds=["said"])
    assert {hit.memory.at for hit in hits if hit.memory.speaker == "user"} == {9 * day}


def test_an_empty_conversation_teaches_nothing(mind):
    """An empty conversation gives an empty list and no error."""
    assert mind.learn([], space=SPACE).memories == ()


@pytest.mark.proves("CC-54")
def test_learning_can_be_undone(mind):
    """What one conversation taught is one event, and one undo takes it back."""
    mind.learn(TALK, space=SPACE)
    mind.undo(mind.store.events(verbs=["learn"])[0].seq)
    assert texts(mind) == []


# Past sessions


@pytest.mark.proves("X23", "A105")
def test_past_sessions_are_listed_read_and_searched(mind, clock):
    """Past sessions are listed, latest first, searched by their words, and read with what was
    learned.
    """
    talk(mind, TALK, "s1")
    clock.tick(60)
    mind.learn(make_conversation("where is the heron?", "thanks"), space=SPACE, session="s2")
    mind.learn(make_conversation("something else"), space="me/other", session="s3")

    assert [(p.session, p.opening) for p in mind.sessions.browse(space=SPACE)] == [
        ("s2", "where is the heron?"),
        ("s1", "load the sample please"),
    ]
    assert [p.session for p in mind.sessions.browse(space="me")] == ["s3", "s2", "s1"]
    assert [p.turns for p in mind.sessions.browse(space="me")] == [
        1,
        2,
        3,
    ]  # answers of tools are none
    assert mind.sessions.read("s2", space=SPACE).turns == 2
    assert [p.session for p in mind.sessions.browse(space=SPACE, words=["HERON", "thanks"])] == [
        "s2"
    ]
    assert (
        mind.sessions.browse(space=SPACE, words=["heron", "macos"])
        == mind.sessions.browse(space=SPACE, limit=0)
        == []
    )

    past = mind.sessions.read("s1", space=SPACE)
    assert FIX in [m.text for m in past.memories]
    assert [line.number for line in past.lines] == list(range(len(TALK)))
    assert [
        line.number for line in mind.sessions.read("s1", space=SPACE, words=["MACOS"]).lines
    ] == [9]


@pytest.mark.parametrize(("name", "space"), [("nope", SPACE), ("s1", "me/other"), ("", SPACE)])
@pytest.mark.proves("B88")
def test_a_session_is_seen_only_from_where_it_belongs(mind, name, space):
    """A session is listed for its project and those above, never for a sibling."""
    talk(mind, TALK, "s1")
    with pytest.raises(NotFound):
        mind.sessions.read(name, space=space)


@pytest.mark.proves("A105")
def test_a_memory_leads_to_the_messages_it_rests_on(mind):
    """`read_source` gives the messages that a memory rests on; one that nobody said has none."""
    talk(mind, TALK, "s1")
    mine = mind.browse(space="me")[0]

    assert [(line.number, line.role) for line in mind.sessions.source(mine.id, around=0)] == [
        (9, "user")
    ]
    assert [line.number for line in mind.sessions.source(mine.id)] == [8, 9]
    assert mind.sessions.source(mind.remember("x y z", space=SPACE).id) == []


# On the command line


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command with --json: its code and its one document."""
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")

    def run(*words):
        done = CliRunner().invoke(app, [*words, "--home", str(tmp_path / "home"), "--json"])
        return done.exit_code, json.loads(done.stdout)

    return run


@pytest.mark.proves("CC-63")
def test_the_command_learn(run, tmp_path):
    """A file that cannot be read does not disturb the others; the sessions can be read afterwards."""
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(
        "\n".join(
            map(json.dumps, make_conversation("always squash commits", "we use pnpm, right?"))
        ),
        "utf-8",
    )
    bad.write_text("{", "utf-8")

    code, done = run("learn", str(bad), str(good), "--space", SPACE)
    assert code == 2
    assert [bool(one["error"]) for one in done["sessions"]] == [True, False]
    assert [m["text"] for m in done["sessions"][1]["memories"]] == ["Always squash commits"]
    assert run("learn", str(good), "--space", SPACE)[1]["sessions"][0]["known"]

    assert [
        s["session"]
        for s in run("session", "list", "--space", SPACE, "--grep", "pnpm")[1]["sessions"]
    ] == ["good"]
    assert (
        len(run("session", "show", "good", "--space", SPACE, "--grep", "squash")[1]["lines"]) == 1
    )
    assert run("session", "show", "nope", "--space", SPACE)[0] == 1
    assert (
        run("session", "rejected")[1]["rejected"] == run("status")[1]["rejected"] == {"question": 1}
    )
    id = done["sessions"][1]["memories"][0]["id"]
    assert [line["text"] for line in run("explain", id)[1]["source"]] == ["always squash commits"]


@pytest.mark.proves("CC-63", "A106")
def test_learn_a_folder_and_what_a_crash_left(run, tmp_path):
    """Of a folder all recordings; an unfinished line is told, and the kinds of secrets taken out."""
    folder = tmp_path / "talks"
    folder.mkdir()
    assert "is a folder" in run("learn", str(folder), "--space", SPACE)[1]["sessions"][0]["error"]
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    (folder / "a.jsonl").write_text(
        "\n".join(map(json.dumps, make_conversation("always squash commits", f"my key is {key}")))
        + '\n{"role": "us',
        "utf-8",
    )
    (folder / "b.jsonl").write_text(
        "\n".join(map(json.dumps, make_conversation("never push on fridays"))), "utf-8"
    )
    code, done = run("learn", str(folder), "--space", SPACE)
    assert code == 0 and key not in json.dumps(done)
    assert [one["session"] for one in done["sessions"]] == ["a", "b"]
    assert [len(one["remarks"]) for one in done["sessions"]] == [1, 0]
    assert done["sessions"][0]["redacted"] and not done["sessions"][1]["redacted"]
    told = CliRunner().invoke(
        app, ["learn", str(folder), "--space", SPACE, "--home", str(tmp_path / "home2")]
    )
    assert "is unfinished" in told.stderr and "taken out" in told.stderr


@pytest.mark.parametrize(
    ("written", "text", "fits"),
    [
        ("as it was", " as it was\n", True),
        ("as it was", "as it is", False),
        ("[purged]", "anything", True),
        ("mail [REDACTED:email] and [purged]. Bye", "mail a@b.org and the rest. Bye", True),
        ("mail [REDACTED:email] and [purged]. Bye", "mail a@b.org or the rest. Bye", False),
        ("a [purged] a", "a", False),
    ],
)
def test_a_text_with_gaps_fits_what_it_was(written, text, fits):
    """What stands between the gaps is there, in order."""
    assert fits_text(written, text) is fits
