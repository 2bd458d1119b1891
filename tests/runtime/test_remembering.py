# mypy: no-check-untyped-defs
"""The memory types through one mind: working, episodic, semantic, procedural, emotional, and all of
them together.
"""

import os
import subprocess
import sys

import pytest

from reverie.consolidation import pass_iteration
from reverie.core import kinds
from reverie.core.errors import BadInput, Disabled, NotFound
from reverie.extraction.rule_extraction import extract_lessons
from reverie.memory.procedure import read_practice_record
from reverie.testing import SPACE, make_conversation, memory
from tests.support.helpers import run_command, take_turn, toy_home

DAY = 86_400.0


# Working


@pytest.mark.proves("CC-64", "C10", "C12", "C14", "C52")
def test_working_memory_is_one_and_replaced(mind):
    """One for each conversation; setting it replaces it; text or JSON object."""
    first = mind.sessions.hold("look at parser.py first", session="s1", space=SPACE)
    second = mind.sessions.hold({"step": 2, "open": ["parser.py"]}, session="s1", space=SPACE)
    mind.sessions.hold("another task", session="s2", space=SPACE)
    assert first.id == second.id
    assert {"step": 2, "open": ["parser.py"]} == mind.sessions.held("s1", space=SPACE).content
    assert "another task" == mind.sessions.held("s2", space=SPACE).content
    assert not mind.sessions.held("s3", space=SPACE)


@pytest.mark.proves("CC-64", "C11")
def test_working_memory_ends_by_itself(mind, clock):
    """After an hour, or after the minutes that were said."""
    mind.sessions.hold("a", session="s1", space=SPACE)
    mind.sessions.hold("b", session="s2", space=SPACE, minutes=5)
    clock.tick(5 * 60)
    assert (True, False) == (
        bool(mind.sessions.held("s1", space=SPACE)),
        bool(mind.sessions.held("s2", space=SPACE)),
    )
    clock.tick(55 * 60)
    assert not mind.sessions.held("s1", space=SPACE)
    assert [] == mind.recall("a b", space=f"{SPACE}/s1", types=["working"])
    mind.sessions.hold("new", session="s1", space=SPACE)
    assert "new" == mind.sessions.held("s1", space=SPACE).content


@pytest.mark.proves("CC-64", "C15")
def test_working_memory_is_cleared_on_completion(mind):
    """By hand, when a task in it is recorded as done, and when the conversation ends; undo is
    right.
    """
    for session, end in (
        ("s1", lambda: mind.sessions.release("s1", space=SPACE)),
        ("s2", lambda: mind.record("task", {"what": "x", "ok": True}, space=SPACE, session="s2")),
        ("s3", lambda: mind.record("session_end", space=SPACE, session="s3")),
    ):
        mind.sessions.hold("a", session=session, space=SPACE)
        end()
        mind.settle()
        assert not mind.sessions.held(session, space=SPACE), session
    assert not mind.sessions.release("s1", space=SPACE)
    mind.undo(next(e.seq for e in mind.store.events(verbs=("hold",), session="s1", newest=True)))
    assert "a" == mind.sessions.held("s1", space=SPACE).content


@pytest.mark.proves("CC-64", "C13", "CC-11")
def test_working_memory_is_found_only_by_who_asks(mind):
    """Not by full text unless its type is asked for; never from another conversation."""
    mind.sessions.hold("the zeppelin is being refactored", session="s1", space=SPACE)
    own = f"{SPACE}/s1"
    assert [] == mind.recall("zeppelin", space=own)
    assert [] == mind.recall("zeppelin", space=own, mode="words")
    assert [] == mind.browse(space=own)
    assert [] == mind.recall("", space=own)
    assert ["scratch"] == [
        hit.memory.kind for hit in mind.recall("zeppelin", space=own, types=["working"])
    ]
    assert ["scratch"] == [one.kind for one in mind.browse(space=own, types=["working"])]
    for place in (SPACE, f"{SPACE}/s2"):
        assert [] == mind.recall("zeppelin", space=place, types=["working"])


@pytest.mark.proves("CC-9")
def test_working_memory_holds_no_secret_and_minds_the_switch(home):
    """Secrets are taken out; where memory is off nothing is held."""
    key = "sk-ant-api03-" + "a1B2c3D4e5" * 9 + "AA"
    kept = home.sessions.hold({"key": key}, session="s1", space=SPACE)
    assert key not in str(kept) + str(home.sessions.held("s1", space=SPACE))
    home.context.settings = home.settings._replace(off=("me/other",))
    with pytest.raises(Disabled):
        home.sessions.hold("a", session="s1", space="me/other")


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"content": ["a"]},
        {"session": ""},
        {"session": 7},
        {"minutes": 0},
        {"minutes": 10_000},
        {"content": "x" * 9_000},
    ],
)
@pytest.mark.proves("C12")
def test_working_memory_refuses_what_it_cannot_hold(mind, wrong):
    """Limited, and the error says what to do."""
    with pytest.raises(BadInput):
        mind.sessions.hold(**{"content": "a", "session": "s1", "space": SPACE, **wrong})


@pytest.mark.proves("C15", "C76")
def test_the_companion_sets_and_clears_working_memory(home, clock):
    """The user's last words, noted in the background beside what the agent put there; gone at the
    end.
    """
    with home.companion(SPACE, session="s1") as companion:
        take_turn(companion, "Please refactor the parser", clock=clock)
        home.settle()
        assert "Please refactor the parser" == home.sessions.held("s1", space=SPACE).turn
        home.sessions.hold({"step": 1}, session="s1", space=SPACE)
        take_turn(companion, "Please refactor the parser", "and then the lexer", clock=clock)
        home.settle()
        held = home.sessions.held("s1", space=SPACE)
        assert ({"step": 1}, True) == (held.content, "lexer" in held.turn)
        assert held.until == clock() + 3_600
    home.settle()
    assert not home.sessions.held("s1", space=SPACE)


@pytest.mark.proves("C10", "C11")
def test_a_conversation_that_is_named_like_its_project_shows_its_pad_to_nobody(mind):
    """Not to the project's other conversations; with and without the reader's part."""
    mind.sessions.hold("the zeppelin secret", session="x", space="me/x")
    mind.record(
        "turn",
        {"messages": [{"role": "user", "text": "go on with it"}], "first": 0},
        space="me/x",
        session="x",
    )
    mind.settle()
    assert mind.sessions.held("x", space="me/x").turn == "go on with it"
    assert mind.recall("zeppelin secret", space="me/x/other", types=["working"]) == []
    assert mind.recall("zeppelin secret", space="me/x", types=["working"]) == []
    assert len(mind.recall("zeppelin secret", space="me/x/x", types=["working"])) == 1


@pytest.mark.proves("C11")
def test_the_span_it_was_given_stays(clock):
    """Five minutes are five minutes after the last turn, a longer one stays longer."""
    for minutes in (5, 60, 600):
        with memory(now=clock) as mind:
            mind.sessions.hold("a", session="s1", space=SPACE, minutes=minutes)
            clock.tick(60)
            mind.record(
                "turn",
                {"messages": [{"role": "user", "text": "hello there"}], "first": 0},
                space=SPACE,
                session="s1",
            )
            mind.settle()
            held = mind.sessions.held("s1", space=SPACE)
            assert (held.content, held.turn, held.until) == (
                "a",
                "hello there",
                clock() + 60 * minutes,
            )
            clock.tick(60 * minutes)
            assert not mind.sessions.held("s1", space=SPACE)


@pytest.mark.proves("CC-64")
def test_two_scratch_pads_of_one_moment_become_one(mind):
    """One for each conversation, also after an agent and the reader made one each at the same
    moment.
    """
    own = f"{SPACE}/s1"
    mind.remember(
        "what the user said",
        kind="scratch",
        space=own,
        session="s1",
        details={"turn": "what the user said"},
        expires_at=mind.context.now() + 60,
    )
    held = mind.remember(
        "mine",
        kind="scratch",
        space=own,
        session="s1",
        details={"content": "mine"},
        expires_at=mind.context.now() + 60,
    )
    assert "mine" == mind.sessions.held("s1", space=SPACE).content
    assert held.id == mind.sessions.hold("next", session="s1", space=SPACE).id
    assert [held.id] == [one.id for one in mind.browse(space=own, types=["working"])]


@pytest.mark.proves("C11")
def test_a_backlog_of_old_turns_sets_nothing(mind, clock):
    """What was said longer than an hour ago is no longer being worked on."""
    mind.record(
        "turn",
        {"messages": [{"role": "user", "text": "hello there"}], "first": 0},
        space=SPACE,
        session="s",
    )
    clock.tick(3_601)
    mind.settle()
    assert [] == mind.browse(space=f"{SPACE}/s", types=["working"], active=None)


@pytest.mark.proves("CC-64", "C13")
def test_working_memory_survives_a_crash(tmp_path):
    """A process that dies at once leaves what it held."""
    folder = toy_home(tmp_path)
    code = (
        "import os, reverie\n"
        "mind = reverie.open()\n"
        "mind.sessions.hold('halfway through', session='s1', space='me/demo')\n"
        "os._exit(9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "REVERIE_HOME": str(folder)}, check=False
    )
    assert 9 == done.returncode
    result = run_command("--home", str(folder), "session", "held", "s1", "--space", "me/demo")
    assert "halfway through" in result.stdout


# Episodic


@pytest.mark.proves("CC-65", "C16", "C17", "C20", "C21", "C53")
def test_episodes_by_time_and_context(mind, clock):
    """Both ends included, words in what, who, where and why, newest first."""
    now = clock()
    for n, (what, parts) in enumerate(
        (
            ("Deployed heron", {"who": "Ann", "why": "release 2.1"}),
            ("Lost the connection", {"where": "staging"}),
            ("Deployed crane", {}),
        )
    ):
        assert mind.episodes.record(what, when=now - n * DAY, space=SPACE, **parts).id.startswith(
            "mem_"
        )
    told = lambda *words, **more: [
        one.details["what"] for one in mind.episodes.browse(*words, space=SPACE, **more)
    ]
    assert ["Deployed heron", "Lost the connection", "Deployed crane"] == told()
    assert ["Deployed heron", "Lost the connection"] == told(since=now - DAY, until=now)
    assert ["Deployed crane"] == told(until=now - 2 * DAY)
    assert ["Deployed heron", "Deployed crane"] == told("deployed")
    assert ["Deployed heron"] == told("ANN") == told("release")
    assert ["Lost the connection"] == told("staging")
    assert ["Deployed heron"] == told(limit=1)
    assert [] == told("ann staging")


@pytest.mark.proves("CC-65")
def test_a_date_means_all_of_that_day(mind):
    """Inclusive of the last second of a day that is given as a date."""
    for when in (
        "2026-03-14T23:59:59",
        "2026-03-15T00:00:00",
        "2026-03-15T23:59:59",
        "2026-03-16T00:00:00",
    ):
        mind.episodes.record(f"at {when}", when=when, space=SPACE)
    found = mind.episodes.browse(since="2026-03-15", until="2026-03-15", space=SPACE)
    assert ["at 2026-03-15T23:59:59", "at 2026-03-15T00:00:00"] == [one.text for one in found]


@pytest.mark.proves("C22", "C113", "CC-9")
def test_an_episode_is_found_by_meaning_too_and_holds_no_secret(mind):
    """Recall finds it by any part of it; parts are redacted like the text."""
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    kept = mind.episodes.record(
        "Rotated the key", why=f"it leaked: {token}", where="vault", space=SPACE
    )
    assert token not in str(kept)
    assert (
        kept.id
        == mind.recall("what happened in the vault?", space=SPACE, types=["episodic"])[0].memory.id
    )


@pytest.mark.proves("X28", "C22")
def test_recorded_outcomes_become_episodes(mind, clock):
    """Tasks and steps either way; a test that fails fifty times is no memory at all."""
    for _ in range(50):
        clock.tick()
        mind.record(
            "tool",
            {"tool": "Bash", "command": "make test", "exit_code": 1, "error": "3 failed"},
            space=SPACE,
            session="s1",
        )
    mind.record(
        "tool", {"tool": "Bash", "command": "ls", "exit_code": 0}, space=SPACE, session="s1"
    )
    mind.record(
        "step", {"what": "split the parser", "outcome": "success"}, space=SPACE, session="s1"
    )
    mind.record(
        "task",
        {"what": "release 2.1", "outcome": "failure", "error": "the tag was taken"},
        space=SPACE,
    )
    mind.record("task", {"what": "no outcome yet"}, space=SPACE)
    mind.settle()
    assert [
        "Task failed: release 2.1",
        "Step done: split the parser",
    ] == [one.details["what"] for one in mind.episodes.browse(space=SPACE)]
    failed = mind.episodes.browse("release", space=SPACE)[0]
    assert ("task", 0.7, False) == (failed.kind, failed.salience, failed.details["worked"])
    assert "the tag was taken" in failed.text
    mind.record("goal", {"what": "all of it", "ok": True}, space=f"{SPACE}/s1", session="s1")
    mind.settle()
    assert 3 == len(
        mind.episodes.browse(space=SPACE)
    )  # what a conversation achieved is the project's


@pytest.mark.proves("C18", "C25", "C32")
def test_an_episode_fades_in_weeks_and_a_skill_never(mind, clock):
    """Half of an episode is left after 14 days, all of a skill."""
    episode = mind.episodes.record("Deployed heron", space=SPACE)
    skill = mind.remember("can read Latin", kind="skill", space=SPACE)
    later = clock.tick(days=14)
    assert 0.5 == pytest.approx(kinds.retention(episode, later))
    assert 1.0 == kinds.retention(skill, later)


@pytest.mark.proves("C23")
def test_the_journal_tells_of_days(home, clock):
    """Every episode, decision, task and conversation stands under its day; both ends of a range
    belong to it.
    """
    home.episodes.record("Deployed heron", when="2025-10-01T08:00", space=SPACE)
    home.remember("We use Postgres", kind="decision", at="2025-10-01T09:00", space=SPACE)
    home.remember("The port is 5433", at="2025-10-01T09:00", space=SPACE)
    home.episodes.record("Release 2.1", kind="task", when="2025-10-02T10:00", space=SPACE)
    home.feelings.record("relief", space=SPACE)
    home.record("tool", {"tool": "Bash", "ok": True}, space=f"{SPACE}/s1", session="s1")
    with home.companion(SPACE, session="s1") as companion:
        take_turn(companion, "Which port has staging?", clock=clock)
    days = home.episodes.journal(space=SPACE)
    assert ["2025-10-09", "2025-10-02", "2025-10-01"] == [day.date for day in days]
    now, second, first = days
    assert (["s1"], ["Which port has staging?"], 1, 1) == (
        [chat.session for chat in now.conversations],
        [chat.opening for chat in now.conversations],
        now.tools,
        len(now.feelings),
    )
    assert ["Release 2.1"] == [one.text for one in second.tasks]
    assert (["Deployed heron"], ["We use Postgres"]) == (
        [one.text for one in first.episodes],
        [one.text for one in first.decisions],
    )
    assert [first] == home.episodes.journal("2025-10-01", "2025-10-01", space=SPACE)
    assert [] == home.episodes.journal("2025-10-03", "2025-10-04", space=SPACE)
    assert [] == home.episodes.journal(space="me/other")


# Semantic and procedural


@pytest.mark.proves("C24", "C27", "C28", "C29", "C30", "C54")
def test_facts_have_a_category_confidence_and_relations(mind):
    """Kinds are categories, trust is confidence, links relate, concepts are asked for."""
    port = mind.remember("Postgres listens on 5433", kind="entity", trust=0.6, space=SPACE)
    host = mind.remember("The database host is heron", kind="architecture", space=SPACE)
    mind.episodes.record("Postgres crashed", space=SPACE)
    mind.link(port.id, host.id)
    found = mind.recall("postgres", space=SPACE, types=["semantic"], depth=0)
    assert [port.id] == [hit.memory.id for hit in found if "ostgres" in hit.memory.text]
    assert {"entity", "architecture"} >= {hit.memory.kind for hit in found}
    assert 0.6 == port.confidence
    assert [host.id] == [hit.memory.id for hit in mind.neighbours(port.id)]
    assert "architecture" == mind.browse(space=SPACE, types=["semantic"])[0].kind


@pytest.mark.proves("CC-66", "C31", "C34", "C35", "C55", "C113")
def test_procedures_are_met_by_their_trigger_and_sorted(mind):
    """Trigger and action; the better rate first, of equals the more tried."""
    good, tried, bad = (
        mind.procedures.teach(name, ["make"], triggers=["deploy"], space=SPACE)
        for name in ("good", "tried", "bad")
    )
    mind.procedures.teach("elsewhere", ["make"], triggers=["lint"], space=SPACE)
    mind.procedures.teach("untriggered", ["make"], space=SPACE)
    mind.remember("Never deploy on Friday", kind="negative", triggers=["deploy"], space=SPACE)
    for _ in range(3):
        mind.procedures.outcome(good.id, True)
    mind.procedures.outcome(bad.id, False)
    assert [good.id, tried.id, bad.id] == [
        one.id for one in mind.procedures.find("how do I deploy it?", space=SPACE)
    ]
    assert (
        []
        == mind.procedures.find("", space=SPACE)
        == mind.procedures.find("unrelated", space=SPACE)
    )
    assert 0.6355 == pytest.approx(read_practice_record(mind.get(good.id)[0]).rate)


@pytest.mark.proves("CC-66")
def test_triggers_survive_save_and_load(tmp_path, clock):
    """A regular expression meets as before, after reopening and after export and import."""
    with memory(tmp_path / "a", now=clock) as mind:
        kept = mind.procedures.teach(
            "Roll back", ["git revert"], triggers=[r"re:roll(?:ing)? ?back v\d+"], space=SPACE
        )
    with memory(tmp_path / "a", now=clock) as mind:
        rows = list(mind.data.export())
        assert [kept.id] == [
            one.id for one in mind.procedures.find("rolling back v12", space=SPACE)
        ]
    with memory(tmp_path / "b", now=clock) as mind:
        mind.data.import_(rows)
        assert [kept.id] == [
            one.id for one in mind.procedures.find("rolling back v12", space=SPACE)
        ]
        assert [] == mind.procedures.find("rolling back", space=SPACE)


# Emotional


@pytest.mark.proves("CC-68", "C47", "C48", "C57")
def test_a_feeling_follows_its_memory(mind):
    """Forgotten, restored and purged with it; undo takes it off again."""
    kept = mind.remember("The flaky test in CI", space=SPACE)
    mind.feelings.record("frustration", "high", about=kept.id, why="the third time")
    event = mind.store.events(verbs=("feel",), newest=True)[0].seq
    felt = lambda: [one.id for one in mind.feelings.browse(space=SPACE)]
    assert [kept.id] == felt()
    mind.forget(kept.id)
    assert [] == felt()
    mind.restore(kept.id)
    assert [kept.id] == felt()
    mind.undo(event)
    assert [] == felt()
    mind.feelings.record("joy", about=kept.id)
    assert "emotion" not in mind.feelings.remove(kept.id).details
    mind.feelings.record("joy", about=kept.id, why="a rare wording")
    mind.data.purge(kept.id)
    assert [] == felt()
    assert "rare wording" not in str(list(mind.data.export()))


@pytest.mark.proves("CC-68")
def test_feelings_are_filtered_by_their_intensity(mind):
    """Emotions are filtered by name and by least intensity; newest first."""
    for emotion, intensity in (("joy", "low"), ("relief", "medium"), ("anger", "high")):
        mind.feelings.record(emotion, intensity, space=SPACE, why="the release")
    told = lambda **more: [
        one.details["emotion"]["name"] for one in mind.feelings.browse(space=SPACE, **more)
    ]
    assert ["anger", "relief", "joy"] == told()
    assert ["anger", "relief"] == told(minimum="medium")
    assert ["anger"] == told(minimum="high") == told(emotion="Anger") == told(limit=1)
    with pytest.raises(BadInput):
        mind.feelings.browse(minimum="huge")


@pytest.mark.proves("CC-68", "C51", "C85")
def test_a_feeling_raises_its_own_memory_alone(mind):
    """Of two that fit equally the tagged one comes first; the other keeps its score."""
    one = mind.remember("The parser handles tabs", space=SPACE)
    other = mind.remember("The parser handles dots", space=SPACE)
    scores = lambda: {
        hit.memory.id: hit.score
        for hit in mind.recall("what does the parser handle?", space=SPACE, mode="words")
    }
    before = scores()
    for last, first in ((one, other), (other, one)):
        mind.feelings.remove(last.id)
        mind.feelings.record("joy", "high", about=first.id)
        after = scores()
        assert first.id == next(iter(after))
        assert before[first.id] < after[first.id]
        assert before[last.id] == pytest.approx(after[last.id])


@pytest.mark.proves("C50", "C114")
def test_what_the_user_feels_goes_with_what_they_teach(mind):
    """The memory learned from an angry turn carries it; the one from a calm turn does not."""
    angry, calm = (
        "I told you, never use tabs in this project!",
        "Always run make lint before you commit.",
    )
    assert extract_lessons([("user", angry)]).lessons and extract_lessons([("user", calm)]).lessons
    mind.learn(make_conversation(angry), space=SPACE, session="s1")
    mind.learn(make_conversation(calm), space=SPACE, session="s2")
    told = {
        one.session: one.details.get("emotion", {}).get("name") for one in mind.browse(space=SPACE)
    }
    assert {"s1": "frustration", "s2": None} == told


# All together


@pytest.mark.proves("C58", "C84", "C86")
def test_recall_mixes_the_types(mind):
    """A question about the past finds what happened, what is known, how it is done: in one ranking."""
    there = {
        "semantic": mind.remember("Deploys of heron go through the staging gate", space=SPACE),
        "episodic": mind.episodes.record(
            "Deployed heron to staging, the gate was red", space=SPACE
        ),
        "procedural": mind.procedures.teach(
            "Deploy heron", ["open the gate", "push to staging"], space=SPACE
        ),
        "emotional": mind.feelings.record(
            "relief", why="the heron deploy went through staging", space=SPACE
        ),
    }
    mind.sessions.hold("deploy heron to staging", session="demo", space="me")
    found = mind.recall("how did the deploy of heron to staging go?", space=SPACE)
    assert {one.id for one in there.values()} == {hit.memory.id for hit in found}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    for type, one in there.items():
        assert [one.id] == [
            hit.memory.id for hit in mind.recall("deploy heron staging", space=SPACE, types=[type])
        ]
    two = mind.recall("deploy heron staging", space=SPACE, types=["episodic", "procedural"])
    assert {there["episodic"].id, there["procedural"].id} == {hit.memory.id for hit in two}
    with pytest.raises(BadInput, match="memory type"):
        mind.recall("a", types=["episodic", "nonsense"])
    assert [] == mind.recall("deploy", space=SPACE, types=["semantic"], kinds=["event"])


@pytest.mark.parametrize("mode", ["words", "auto", "dense"])
@pytest.mark.proves("C58")
def test_a_type_is_not_crowded_out(mind, mode):
    """A hundred and fifty episodes of the same words do not hide the one fact of them."""
    for n in range(150):
        mind.episodes.record(f"Deployed heron number {n}", space=SPACE)
    fact = mind.remember("heron is deployed by Ann, the deployer", space=SPACE)
    mind.settle()
    assert [fact.id] == [
        hit.memory.id
        for hit in mind.recall(
            "who deployed heron?", space=SPACE, types=["semantic"], mode=mode, limit=1
        )
    ]


@pytest.mark.proves("C86", "B55")
def test_of_equals_the_newer_comes_first(mind, clock):
    """Of memories of equal relevance the newer comes first."""
    old = mind.episodes.record("Deployed heron once", when=clock() - 60 * DAY, space=SPACE)
    new = mind.episodes.record("Deployed heron twice", space=SPACE)
    assert [new.id, old.id] == [
        hit.memory.id for hit in mind.recall("heron deployed", space=SPACE, mode="words")
    ]


@pytest.mark.proves("B56")
def test_a_season_is_carried_and_favoured(mind, clock):
    """What is kept in a season has its name; in the next one of that name it comes first; it ends
    by itself.
    """
    assert not mind.episodes.season(space=SPACE)
    mind.episodes.season("Release week", until=clock() + 5 * DAY, space="me")
    crunch = mind.remember("The checklist of heron is in the wiki", space=SPACE)
    assert "release-week" == crunch.details["season"] == mind.episodes.season(space=SPACE).label
    clock.tick(days=5)
    assert not mind.episodes.season(space=SPACE)
    calm = mind.remember("The checklist of heron is in the vault", space=SPACE)
    assert "season" not in calm.details
    first = lambda: (
        mind.recall("where is the checklist of heron?", space=SPACE, mode="words")[0].memory.id
    )
    mind.episodes.season("audit", space=SPACE)
    assert calm.id == first()
    mind.episodes.season("release-week", space=SPACE)
    clock.tick(days=1)
    assert crunch.id == first()
    mind.episodes.season("", space=SPACE)
    assert not mind.episodes.season(space=SPACE)
    assert calm.id == first()


@pytest.mark.proves("B56")
def test_bulk_writes_carry_the_season_of_their_space(mind):
    """Each memory of a bulk write carries the season of its own space."""
    mind.episodes.season("audit", space="me/a")
    kept = mind.remember_many([{"text": "one", "space": "me/a"}, {"text": "two", "space": "me/b"}])
    assert ["audit", None] == [one.details.get("season") for one in kept]
    assert kept == mind.get([one.id for one in kept])


@pytest.mark.proves("B54")
def test_a_conversation_has_memories_of_its_own(mind):
    """What is kept in a conversation's space is seen there and not beside it."""
    mind.remember("The branch is feature/heron", space=f"{SPACE}/s1")
    assert 1 == len(mind.recall("which branch?", space=f"{SPACE}/s1"))
    assert (
        []
        == mind.recall("which branch?", space=f"{SPACE}/s2")
        == mind.recall("which branch?", space=SPACE)
    )


@pytest.mark.proves("X34")
def test_a_full_type_loses_the_least_retained(mind, clock, monkeypatch):
    """Over capacity the least retained are archived in sleep, what the user said stays; restore
    brings back.
    """
    monkeypatch.setattr(
        pass_iteration, "CAPACITY", {**dict.fromkeys(kinds.MEMORY_TYPES, 5), "episodic": 3}
    )
    old, *others = (
        mind.episodes.record(f"Episode number {n}", when=clock() - (9 - n) * DAY, space=SPACE)
        for n in range(5)
    )
    stated = mind.episodes.record(
        "Episode of old", when=clock() - 90 * DAY, provenance="user_stated", space=SPACE
    )
    for n in range(5):
        mind.remember(f"A fact that is number {n}", space=SPACE)
    plan = mind.sleep(["capacity"], dry_run=True)
    assert 6 == len(mind.episodes.browse(space=SPACE))
    slept = mind.sleep(["capacity"])
    assert (3, 3) == (plan.steps, slept.steps)
    assert {old.id, others[0].id, others[1].id} == set(slept.retired)
    assert {stated.id, others[2].id, others[3].id} == {
        one.id for one in mind.episodes.browse(space=SPACE)
    }
    assert 5 == len(mind.browse(space=SPACE, types=["semantic"]))
    mind.restore(old.id)
    assert 0 == mind.sleep(["capacity"]).steps  # what a person has brought back stays
    assert mind.get(old.id)[0].active
    assert [] == mind.data.verify()


# On the command line


@pytest.mark.proves("CC-64", "CC-65", "CC-66", "CC-68", "C58")
def test_the_command_line_has_all_of_it(tmp_path):
    """Each kind of remembering by a command."""
    home = toy_home(tmp_path)
    run = lambda *words: run_command("--home", str(home), "--space", SPACE, *words).stdout
    run("session", "hold", "s1", '{"step": 2}')
    assert '{"step": 2}' in run("session", "held", "s1")
    run("session", "release", "s1")
    run(
        "episode",
        "add",
        "Deployed",
        "heron",
        "--who",
        "Ann",
        "--when",
        "2026-03-15T10:00",
        "--why",
        "release 2.1",
    )
    assert "Who: Ann" in run(
        "episode", "list", "heron", "--since", "2026-03-15", "--until", "2026-03-15"
    )
    assert "2026-03-15" in run("episode", "journal", "2026-03-15")
    assert '"date": "2026-03-15"' in run(
        "episode", "journal", "--since", "2026-03-01", "--until", "2026-03-31", "--json"
    )
    run("activity", "log", "The", "gate", "was", "red")
    assert "The gate was red" in run("episode", "journal", "today")
    assert "recount" not in run("activity", "log", "--verb", "tool") and "remember" in run(
        "activity", "log"
    )
    run("procedure", "teach", "Deploy", "--step", "open the gate", "--trigger", "deploy")
    assert "open the gate" in run("procedure", "list", "how", "to", "deploy")
    run("memory", "feel", "relief", "--intensity", "high", "--why", "heron is up")
    assert "heron is up" in run("memory", "feelings", "--minimum", "high")
    assert "release-week" in run("memory", "season", "release-week", "--until", "5d")
    assert "No season" in run("memory", "season", "--end")
    assert "Deployed heron" in run("recall", "heron", "--type", "episodic")
    assert "Deployed heron" not in run("list", "--type", "procedural")
    assert (
        "memory type"
        in run_command("--home", str(home), "recall", "a", "--type", "odd", code=2).stderr
    )
    assert (
        "not a day"
        in run_command("--home", str(home), "episode", "journal", "someday", code=2).stderr
    )


def test_invalid_outcomes_and_emotions_are_refused(mind):
    """An outcome is yes or no, an emotion a word; anything else is refused."""
    how = mind.procedures.teach("Roll back", ["git revert HEAD"], space=SPACE)
    for worked in ("no", 1, None):
        with pytest.raises(BadInput, match="True or False"):
            mind.procedures.outcome(how.id, worked=worked)
    for emotion in (None, 5):
        with pytest.raises(BadInput, match="emotion="):
            mind.feelings.browse(emotion=emotion, space=SPACE)


@pytest.mark.proves("X33")
def test_user_places_skills_and_goals_are_kinds(mind, clock):
    """Six types, and who the user is, where one works, what the agent can do, and what led to what;
    each asked for by its kind, and found.
    """
    kept = {
        "profile": "Ann is a data scientist who knows R well.",
        "environment": "This machine has CUDA 12.4.",
        "capability": "I cannot push to main here.",
    }
    for kind, text in kept.items():
        mind.remember(text, kind=kind, space=SPACE)
    for kind, text in kept.items():
        assert [hit.memory.text for hit in mind.recall(text, kinds=[kind], space=SPACE)] == [text]
        assert kinds.KINDS[kind].type == "semantic"


@pytest.mark.proves("X33")
def test_causes_are_listed_before_their_effects(mind, clock):
    """Causes come first, then what came of them; circles end, and another project's part of it is
    not told.
    """
    first = mind.episodes.record("The disk was full", space=SPACE)
    clock.tick(60)
    second = mind.episodes.record("The nightly backup failed", because=[first.id], space=SPACE)
    clock.tick(60)
    third = mind.episodes.record("The restore lacked a day", because=[second.id], space=SPACE)
    aside = mind.episodes.record("Nobody noticed", space=SPACE)
    elsewhere = mind.episodes.record(
        "Another project lost it too", because=[first.id], space="me/other"
    )
    for one in (first, second, third):
        assert [m.id for m in mind.episodes.chain(one.id)] == [first.id, second.id, third.id]
    assert [m.id for m in mind.episodes.chain(second.id, limit=0)] == [second.id]
    assert [m.id for m in mind.episodes.chain(aside.id)] == [aside.id] and elsewhere.id not in str(
        mind.episodes.chain(first.id)
    )
    mind.link(third.id, first.id, "led_to")
    assert len(mind.episodes.chain(first.id)) == 3
    assert "It led to" in str(mind.explain(first.id))
    with pytest.raises(NotFound):
        mind.episodes.record("x", because=["mem_none"], space=SPACE)
    assert mind.data.verify() == []
