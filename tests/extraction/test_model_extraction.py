"""Extraction from conversations by a language model, which a real server on loopback plays."""

import json
import threading

import pytest

from reverie.core.model import TRUST_BY_PROVENANCE
from reverie.extraction import model_extraction
from reverie.llm.language_model import MALFORMED, RESTING
from reverie.runtime.settle import LLM_LEASE, load_llm_readers
from reverie.testing import SPACE, memory
from tests.support.helpers import wait_until
from tests.support.scripted import Raw, Slow, Status, scripted

TALK = (
    "We looked at the release script together and found that it has to run after the changelog is closed, "
    "because bin/release.sh reads the version from CHANGELOG.md, part number {}."
)
LESSON = (
    "bin/release.sh reads the version from CHANGELOG.md, so close the changelog before a release."
)


def lesson(request, **more):
    """A good answer that rests on the first message it was shown."""
    content = request["messages"][-1]["content"]
    content = content if isinstance(content, str) else content[0]["text"]
    shown = [row for row in map(json.loads, content.splitlines()[1:-1]) if "message" in row]
    item = {
        "text": LESSON,
        "kind": "learning",
        "title": "Release order",
        "from": shown[0]["message"],
        "to": shown[-1]["message"],
        "files": ["bin/release.sh", "made/up.py"],
        "reason": "it broke once",
        **more,
    }
    return json.dumps(
        {"keep": [item], "reject": [{"text": "They said hello.", "reason": "politeness"}]}
    )


@pytest.fixture
def open_reading_mind(clock):
    """A function that opens a mind with a scripted model that reads."""
    minds = []

    def opening(script, **settings):
        minds.append(memory(now=clock, llm=script.openai, **settings))
        return minds[-1]

    yield opening
    for mind in minds:
        mind.close()


def talk(mind, clock, turns=12, session="s1", text=TALK):
    """A conversation of so many turns, written down without anybody preparing for it."""
    for number in range(turns):
        messages = [
            {"role": "user", "text": text.format(number)},
            {"role": "assistant", "text": "Understood."},
        ]
        mind.record(
            "turn", {"messages": messages, "first": 2 * number}, space=SPACE, session=session
        )
        clock.tick(60)


def learned(mind):
    return [m for m in mind.browse(space=SPACE) if m.details.get("rule") == "extract"]


def waits(mind):
    return mind.store.cursor(model_extraction.NAME)


@pytest.mark.proves("X17", "CC-61")
def test_twelve_turns_are_read(open_reading_mind, clock):
    """Kind, message range, files, reason; trust of what is extracted; what was rejected is on
    record.
    """
    with scripted(lesson) as script:
        mind = open_reading_mind(script)
        talk(mind, clock)
        mind.settle()
    (found,) = learned(mind)
    assert (LESSON, "learning", "Release order", (0, 23), ("bin/release.sh",), "s1") == (
        found.text,
        found.kind,
        found.title,
        found.messages,
        found.files,
        found.session,
    )
    assert ("extracted", TRUST_BY_PROVENANCE["extracted"]) == (
        found.provenance,
        found.trust,
    ) and found.confidence == found.trust
    assert ("it broke once", mind.llm.name) == (found.details["reason"], found.details["model"])
    (event,) = mind.store.events(verbs=["extract"])
    assert (1, {"left by the model": 1}) == (event.payload["kept"], event.payload["rejected"])
    assert [
        {"text": "They said hello.", "reason": "politeness", "rule": "extract", "message": 23}
    ] == event.payload["examples"]
    assert 1 == len(script.asked)


def test_it_is_read_once(open_reading_mind, clock):
    """Eleven turns are not enough; twelve are, and the next eleven are not again."""
    with scripted(lesson) as script:
        mind = open_reading_mind(script)
        talk(mind, clock, 11)
        mind.settle()
        assert [] == script.asked
        talk(mind, clock, 12)
        mind.settle()
        assert 1 == len(script.asked) == len(learned(mind))


@pytest.mark.proves("CC-62", "A62")
def test_the_end_of_a_session_is_read(open_reading_mind, clock):
    """A host that says it is over, or shortens its context, has the rest read now; too little is
    not.
    """
    with scripted(lesson) as script:
        mind = open_reading_mind(script)
        talk(mind, clock, 3)
        mind.record("session_end", space=SPACE, session="s1")
        talk(mind, clock, 1, session="s2", text="Hi.")
        mind.record("compact", space=SPACE, session="s2")
        mind.settle()
        assert 1 == len(script.asked) == len(learned(mind))


@pytest.mark.proves("CC-62")
def test_injected_text_and_tool_results_are_not_shown_to_the_model(open_reading_mind, clock):
    """What Reverie injected, and what tools answered, is not shown to be learned from."""
    with scripted('{"keep": []}') as script:
        mind = open_reading_mind(script)
        talk(
            mind,
            clock,
            12,
            text="<reverie-memory>\nold belief {}\n</reverie-memory>\n" + TALK.replace("{}", "n"),
        )
        mind.settle()
    assert "old belief" not in script.data(0) and "bin/release.sh" in script.data(0)


@pytest.mark.proves("X16")
def test_known_memories_are_shown_to_the_model(open_reading_mind, clock):
    """Known memories are part of the request, so that they are not extracted again."""
    with scripted('{"keep": []}') as script:
        mind = open_reading_mind(script)
        mind.remember(
            "The release script bin/release.sh reads the version from CHANGELOG.md", space=SPACE
        )
        mind.remember("Bananas are yellow", space=SPACE)
        talk(mind, clock)
        mind.settle()
    known = [row["known"] for row in script.rows(0) if "known" in row]
    assert ["The release script bin/release.sh reads the version from CHANGELOG.md"] == known


def test_a_long_conversation_is_read_in_parts(open_reading_mind, clock):
    """At most 40 messages and 24,000 characters at once."""
    with scripted(lesson) as script:
        mind = open_reading_mind(script)
        talk(mind, clock, 12, text=TALK + "x" * 6_000)
        mind.settle()
    assert 4 == len(script.asked)
    assert all(len(script.data(n)) < 30_000 for n in range(4))
    assert 1 == len(learned(mind))


HOSTILE = (
    {
        "trust": 1.0,
        "confidence": 1.0,
        "provenance": "user_corrected",
        "space": "me",
        "id": "mem_1",
        "strength": 99,
    },
    {"kind": "superuser"},
    {"delete": ["mem_1"], "supersedes": ["mem_1"], "retire": True},
)


@pytest.mark.parametrize("more", HOSTILE)
def test_an_answer_cannot_choose_trust_or_space(open_reading_mind, clock, more):
    """Trust, provenance, place and other memories are not the model's to choose: its output is
    data.
    """
    with scripted(lambda request: lesson(request, **more)) as script:
        mind = open_reading_mind(script)
        mine = mind.remember("Never push on Fridays, whatever a model says.", space=SPACE)
        talk(mind, clock)
        mind.settle()
    (found,) = learned(mind)
    assert (
        "extracted",
        TRUST_BY_PROVENANCE["extracted"],
        TRUST_BY_PROVENANCE["extracted"],
        SPACE,
        1,
    ) == (
        found.provenance,
        found.trust,
        found.confidence,
        found.space,
        found.strength,
    )
    assert found.kind in ("learning", "fact")
    assert [mine] == mind.get([mine.id])


@pytest.mark.parametrize(
    "answer",
    [
        "I have deleted everything.",
        "",
        "[]",
        "{}",
        '{"keep": "all"}',
        '{"keep": [{"text": ""}]}',
        lambda request: lesson(request, **{"from": 900, "to": 901}),
        lambda request: lesson(request, text="x" * 5_000),
        json.dumps({"keep": [{"text": "a", "from": 0}] * 500}),
        Raw(b"not even HTTP's JSON"),
        Status(400),
        '{"keep": [' + "[" * 50_000,
    ],
)
@pytest.mark.proves("CC-34", "CC-63", "CC-71")
def test_a_useless_answer_changes_nothing(open_reading_mind, clock, answer):
    """It is a failure of that event, is listed, and the next events are read."""
    with scripted(answer) as script:
        mind = open_reading_mind(script)
        kept = mind.remember("Never push on Fridays.", space=SPACE)
        mind.settle()
        talk(mind, clock)
        mind.settle()
        assert [kept] == mind.browse(space=SPACE)
        (failed,) = mind.store.events(verbs=["failed"])
        assert model_extraction.NAME == failed.payload["reader"]
        assert waits(mind) == failed.payload["event"]
        assert [] == mind.data.verify()
        script.answers = [lesson]
        talk(mind, clock, 5)
        mind.settle()
        assert 1 == len(script.asked), "a failed stretch is not asked about again at each turn"
        talk(mind, clock, 7)
        mind.settle()
        assert 1 == len(learned(mind))


@pytest.mark.parametrize("answer", [Status(500), Status(429), Status(401), Raw(b'{"id', 900)])
@pytest.mark.proves("CC-63")
def test_a_model_that_is_down_loses_nothing(open_reading_mind, clock, answer):
    """The cursor stays, nobody asks while the model rests, and later the same event is read."""
    with scripted(answer, lesson) as script:
        mind = open_reading_mind(script)
        talk(mind, clock)
        before = waits(mind)
        done = mind.settle()
        assert mind.llm.name in done.trouble and "waits" in done.trouble
        mind.settle()
        assert (1, [], []) == (
            len(script.asked),
            learned(mind),
            mind.store.events(verbs=["failed"]),
        )
        assert before <= waits(mind) < max(e.seq for e in mind.store.events(verbs=["turn"]))
        clock.tick(600)
        mind.settle()
        assert (2, 1) == (len(script.asked), len(learned(mind)))


def test_three_times_too_slow_is_a_failure(open_reading_mind, clock, monkeypatch):
    """An event that the model never finishes must not hold up all others."""
    from reverie.llm import extraction_task

    short = extraction_task.build_extraction_request
    monkeypatch.setattr(
        extraction_task,
        "build_extraction_request",
        lambda *args: short(*args)._replace(timeout_seconds=1.0),
    )
    with scripted(Slow("{}", 20.0)) as script:
        mind = open_reading_mind(script)
        talk(mind, clock)
        for _ in range(3):
            assert [] == mind.store.events(verbs=["failed"])
            mind.settle()
            clock.tick(31)
        (failed,) = mind.store.events(verbs=["failed"])
        assert "3 times" in failed.payload["error"]
        wait_until(lambda: len(script.asked) == 3)  # what was sent may still be on its way


def test_an_empty_budget_waits_for_the_next_day(open_reading_mind, clock):
    """What does not fit into today's tokens is read tomorrow."""
    with scripted(lesson) as script:
        mind = open_reading_mind(script, llm_tokens_per_day=20_000)
        talk(mind, clock)
        mind.settle()
        talk(mind, clock, 12, session="s2")
        with mind.store.transaction():
            mind.store.set_meta(
                "llm", mind.llm.day().with_call("extract", "ok", 19_000, 0, None).to_json()
            )
        mind.settle()
        assert 1 == len(script.asked)
        clock.tick(days=1)
        mind.settle()
        assert 2 == len(script.asked)


def test_a_new_model_reads_the_last_week_only(clock, tmp_path):
    """Only what was said in the last week is read."""
    with memory(tmp_path, now=clock) as mind:
        talk(mind, clock)
        mind.settle()
        assert 0 == waits(mind)
    clock.tick(days=30)
    with scripted(lesson) as script, memory(tmp_path, now=clock, llm=script.openai) as mind:
        mind.settle()
        assert [] == script.asked
        talk(mind, clock, session="s2")
        mind.settle()
        assert 1 == len(script.asked)


@pytest.mark.proves("CC-89")
def test_what_was_said_reaches_the_model_without_secrets(open_reading_mind, clock):
    """Transcripts are redacted when they are written down, and again on the way out."""
    secret = "ghp_" + "a1B2" * 9
    with scripted('{"keep": []}') as script:
        mind = open_reading_mind(script)
        talk(mind, clock, 12, text=f"use the token {secret} please, " + TALK)
        mind.settle()
    assert secret not in json.dumps(script.asked)


def test_a_companion_has_it_read_beside_its_turns(open_reading_mind, clock):
    """In a thread of its own: turns are prepared while the model reads, and a stop does not wait
    for it.
    """
    asked = threading.Event()

    def slowly(request):
        asked.set()
        return Slow(lesson(request), 300.0)

    with scripted(slowly) as script:
        mind = open_reading_mind(script)
        talk(mind, clock)
        with mind.companion(SPACE, session="s2") as companion:
            companion.turn([{"role": "user", "content": "Hello, what do we do today?"}])
            assert asked.wait(120)
            companion.turn([{"role": "user", "content": "Something else entirely, please."}])
            assert companion.wait(120)
        assert [] == mind.store.events(verbs=["failed"])
        # the thread lets go when its call is broken off
        wait_until(lambda: mind.store.holder(LLM_LEASE, clock()) is None)
        script.answers = [lesson]
        mind.settle()
        assert 1 == len(learned(mind))


def test_without_a_model_nothing_waits_for_one(mind, clock):
    """The slow readers are not followed: no cursor moves, nothing is left to do."""
    from reverie.runtime.settle import has_llm_work, has_work_left

    talk(mind, clock)
    mind.settle()
    assert not has_llm_work(mind.work) and not has_work_left(mind.work)
    assert {0} == {mind.store.cursor(reader.name) for reader in load_llm_readers()}


@pytest.mark.proves("X7")
def test_outcomes_are_counted(open_reading_mind, clock):
    """Each call counts under one outcome, such as `malformed`; a failed call is no pause."""
    with scripted("nonsense") as script:
        mind = open_reading_mind(script)
        talk(mind, clock)
        mind.settle()
    assert {"extract": {MALFORMED: 1}} == {k: dict(v) for k, v in mind.llm.day().outcomes.items()}
    assert RESTING not in json.dumps(mind.llm.day().to_json())


@pytest.mark.proves("X27", "C50", "C114")
def test_importance_data_and_feeling_are_kept(open_reading_mind, clock):
    """With a model, by the model: they stand in the memory, and secrets among them do not."""
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    felt = {"name": "frustration", "intensity": "high"}
    with scripted(
        lambda request: lesson(
            request, importance=0.9, data={"file": "CHANGELOG.md", "key": token}, emotion=felt
        )
    ) as script:
        mind = open_reading_mind(script)
        talk(mind, clock)
        mind.settle()
    (found,) = learned(mind)
    assert (0.9, "CHANGELOG.md", felt) == (
        found.salience,
        found.details["data"]["file"],
        found.details["emotion"],
    )
    assert token not in str(found)
    assert [found.id] == [one.id for one in mind.feelings.browse(minimum="high", space=SPACE)]


@pytest.mark.proves("B19")
def test_tags_of_the_model_can_be_asked_for(open_reading_mind, clock):
    """What a session taught carries the tags that the model gave it, and is found by them; one that
    holds a secret is no tag.
    """
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    given = ["Changelog", token]
    with scripted(lambda request: lesson(request, tags=given)) as script:
        mind = open_reading_mind(script)
        talk(mind, clock, 3)
        clock.tick(3_600)
        mind.settle()
        assert '"tags": [' in json.dumps(script.asked[0]).replace('\\"', '"')
    (found,) = learned(mind)
    assert found.tags == ("changelog",)
    assert [found.id] == [memory.id for memory in mind.browse(space=SPACE, tags=["changelog"])]


def test_a_session_that_dies_early_is_read_once_it_is_silent(open_reading_mind, clock):
    """Three turns and no end: nothing is lost, and nothing is asked twice."""
    with scripted(lesson) as script:
        mind = open_reading_mind(script)
        talk(mind, clock, 3)
        mind.settle()
        assert [] == script.asked
        clock.tick(3_600)
        mind.settle()
        mind.settle()
        assert 1 == len(script.asked) == len(learned(mind))
        talk(mind, clock, 2)
        clock.tick(3_600)
        mind.settle()
        assert 2 == len(script.asked)


def test_a_transcript_that_is_learned_is_read_by_the_model_too(open_reading_mind, clock):
    """However old it is: somebody has asked for it now. What it teaches was said then."""
    then = clock() - 90 * 86_400
    messages = [
        {"role": role, "content": TALK.format(number), "at": then}
        for number in range(2)
        for role in ("user", "assistant")
    ]
    with scripted(lesson) as script:
        mind = open_reading_mind(script)
        mind.learn(messages, space=SPACE, session="old")
        mind.settle()
        mind.learn(messages, space=SPACE, session="old")
        mind.settle()
        assert 1 == len(script.asked)
    (found,) = learned(mind)
    assert (found.session, found.at) == ("old", then)


def tied(does, text=LESSON):
    """An answer that names the first known row and what it does to it."""

    def answer(request):
        content = request["messages"][-1]["content"]
        content = content if isinstance(content, str) else content[0]["text"]
        rows = [json.loads(line) for line in content.splitlines()[1:-1]]
        known = next(row["id"] for row in rows if "known" in row)
        return lesson(request, text=text, kind="fact", does=does, about=known)

    return answer


KNOWN = "The release script bin/release.sh reads the version from CHANGELOG.md"
CHANGED = (
    "The release script bin/release.sh reads the version from pyproject.toml, not CHANGELOG.md."
)


@pytest.mark.parametrize(
    ("does", "provenance", "stays"),
    [
        ("amends", "inferred", False),
        ("retracts", "inferred", False),
        ("amends", "user_stated", True),
        ("retracts", "user_corrected", True),
    ],
)
def test_a_note_that_amends_takes_the_place_of_what_is_believed_no_more(
    open_reading_mind, clock, does, provenance, stays
):
    """What the user said stays, and both are flagged."""
    with scripted(tied(does, CHANGED)) as script:
        mind = open_reading_mind(script)
        old = mind.remember(KNOWN, kind="fact", space=SPACE, provenance=provenance)
        talk(mind, clock)
        mind.settle()
    (new,) = learned(mind)
    (now,) = mind.get([old.id])
    assert now.active == stays
    if stays:
        assert new.id in now.conflicts_with and old.id in new.conflicts_with
    else:
        assert (now.retired_why, now.superseded_by) == ("superseded", new.id)


def test_a_note_that_confirms_strengthens_and_adds_nothing(open_reading_mind, clock):
    """The same said again in another session."""
    with scripted(tied("confirms")) as script:
        mind = open_reading_mind(script)
        old = mind.remember(KNOWN, kind="fact", space=SPACE)
        talk(mind, clock)
        mind.settle()
    assert [] == learned(mind)
    (now,) = mind.get([old.id])
    assert (now.text, now.provenance) == (old.text, old.provenance)
    assert now.strength == old.strength + 1


@pytest.mark.parametrize("more", [{"about": "k99"}, {"about": "mem_1"}, {"does": "deletes"}])
def test_a_note_about_what_was_not_shown_is_a_note_like_any_other(open_reading_mind, clock, more):
    """No other memory can be named, and nothing else be done to one."""
    tie = {"does": "amends", "about": "k0", **more}
    with scripted(lambda request: lesson(request, **tie)) as script:
        mind = open_reading_mind(script)
        old = mind.remember("Never push on Fridays.", space=SPACE)
        talk(mind, clock)
        mind.settle()
    assert 1 == len(learned(mind)) and mind.get([old.id])[0].active
