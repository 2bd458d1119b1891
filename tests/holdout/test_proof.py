# mypy: no-check-untyped-defs
"""What memory is worth: some conversations go without it, and are compared with the others."""

import pytest

from reverie.core import clock as real_clock
from reverie.core.config import Settings, load_settings
from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.testing import memory
from tests.support.helpers import add_unrelated_memories, run_command, take_turn, toy_home

SPACE = "me/demo"
HERON = "The staging server is called heron and its deploys need a ticket."
ASK = "which staging server do deploys go to"
HALF = 0.5


def name_of(held_out, settings, skip=0):
    """The name of a conversation that is drawn so."""
    names = (f"s{n}" for n in range(skip, skip + 10_000))
    return next(name for name in names if settings.is_held_out(name) == held_out)


@pytest.fixture
def mind(clock):
    with memory(now=clock, embedder="none", holdout=HALF) as mind:
        add_unrelated_memories(mind, SPACE)
        mind.heron = mind.remember(HERON, space=SPACE)
        yield mind


def test_about_the_share_is_drawn_and_always_the_same(tmp_path):
    settings = Settings(home=tmp_path, holdout=0.1)
    drawn = [settings.is_held_out(f"session {n}") for n in range(5_000)]
    assert 0.08 < sum(drawn) / 5_000 < 0.12
    assert drawn == [settings.is_held_out(f"session {n}") for n in range(5_000)]
    more = settings._replace(holdout=0.3)
    # Whoever was silent stays so when the share grows.
    assert all(more.is_held_out(f"session {n}") for n, silent in enumerate(drawn) if silent)
    assert not settings._replace(holdout=0.0).is_held_out("session 1")
    assert not settings._replace(holdout=0.5).is_held_out("")


def test_memory_is_silent_in_a_conversation_that_is_held_out(mind, clock):
    """Not at the first turn, nor at a later one; what it would have said is written down."""
    given = {}
    for held_out in (True, False):
        name = name_of(held_out, mind.settings)
        with mind.companion(f"{SPACE}/{name}") as companion:
            blocks = [
                take_turn(companion, text, clock=clock) for text in (ASK, "thanks", "go on please")
            ]
            session = companion.session
        given[held_out] = [id for block in blocks for id in block.ids]
        events = mind.store.events(session=session)
        withheld = [id for event in events for id in event.payload.get("withheld", ())]
        assert (mind.heron.id in withheld) == held_out
        (trial,) = [event for event in events if event.verb == "trial"]
        assert trial.payload == {"held_out": held_out, "share": HALF}
        assert trial.seq < min(event.seq for event in events if event.verb == "turn")
    assert given == {True: [], False: [mind.heron.id]}


def test_what_meaning_finds_is_withheld_too(clock):
    with memory(now=clock, holdout=HALF) as mind:
        kept = mind.remember("Deploys go to the heron cluster on Tuesdays.", space=SPACE)
        name = name_of(True, mind.settings)
        with mind.companion(f"{SPACE}/{name}") as companion:
            take_turn(companion, "good morning", clock=clock)
            for _ in range(3):
                block = take_turn(companion, "When do deploys go to the cluster?", clock=clock)
                assert not block
            events = mind.store.events(session=companion.session)
        assert any(kept.id in event.payload.get("withheld", ()) for event in events)


def test_a_reminder_comes_all_the_same(mind, clock):
    """The user has asked for it."""
    mind.remind("Renew the certificate.", when=clock() + 30, space=SPACE)
    clock.tick(minutes=2)
    name = name_of(True, mind.settings)
    with mind.companion(f"{SPACE}/{name}") as companion:
        block = take_turn(companion, ASK, clock=clock)
    assert "Renew the certificate." in block.text
    assert "heron" not in block.text


def test_what_is_asked_for_is_answered(mind):
    assert mind.recall(ASK, space=SPACE)[0].memory.id == mind.heron.id


def test_nothing_is_noted_where_nothing_is_held_out(clock):
    with memory(now=clock, embedder="none") as mind:
        with mind.companion(f"{SPACE}/s1") as companion:
            take_turn(companion, ASK, clock=clock)
        assert mind.store.events(verbs=("trial",)) == []
        assert mind.data.proof().share == 0


def add_session(mind, clock, name, held_out, *, corrections=0, failures=0, ended=True):
    """A conversation as the log keeps it, in which heron was needed."""
    at, log = clock.tick(minutes=5), mind.store.append
    named = {"withheld" if held_out else "given": [mind.heron.id]}
    log([Event("trial", SPACE, at, name, {"held_out": held_out, "share": HALF})])
    prompts = ["Deploy it to staging.", *["No, that's the wrong server"] * corrections, "thanks"]
    for place, text in enumerate(prompts):
        payload = {"messages": [{"role": "user", "content": text, "text": text}], "first": place}
        log([Event("turn", SPACE, at, name, payload | (named if place == 0 else {}))])
    for _ in range(failures):
        log([Event("tool", SPACE, at, name, {"tool": "Bash", "command": "make", "ok": False})])
    if ended:
        log([Event("session_end", SPACE, at, name)])


def test_enough_conversations_show_what_it_is_worth(mind, clock):
    """With memory fewer corrections, and as many failures; each with its interval, by kind and
    memory.
    """
    for n in range(60):
        held_out = n % 2 == 0
        wrong = (1 + n % 3) if held_out else n % 7 == 1
        add_session(mind, clock, f"s{n}", held_out, corrections=int(wrong), failures=n % 4 // 2)
    proof = mind.data.proof()
    assert (proof.given, proof.silent, proof.needed_given, proof.needed_silent) == (30,) * 4
    found = proof.differences["corrections"]
    assert found.is_clear and found.low < found.by < found.high < 0
    assert not proof.differences["failures"].is_clear
    (kind,) = proof.kinds
    assert (kind.name, kind.given, kind.withheld) == (mind.heron.kind, 30, 30)
    (one,) = proof.memories
    assert (one.name, one.text) == (mind.heron.id, HERON)
    assert one.trouble.high < 0
    assert proof.tokens > 0


def test_too_few_conversations_show_nothing(mind, clock):
    """Whatever they are like."""
    for n in range(25):
        add_session(mind, clock, f"s{n}", n < 19, corrections=5 * (n < 19))
    proof = mind.data.proof()
    assert (proof.needed_given, proof.needed_silent) == (6, 19)
    assert not proof.is_enough
    assert (proof.differences, proof.kinds, proof.memories) == ({}, (), ())


def test_what_cannot_be_compared_is_left_out(mind, clock):
    """On both sides, begun before it was drawn, still going on, and where there was nothing to
    say.
    """
    add_session(mind, clock, "both", True)
    add_session(mind, clock, "both", False)
    message = {"messages": [{"role": "user", "text": "hi"}], "first": 0}
    mind.store.append([Event("turn", SPACE, clock(), "before", message)])
    add_session(mind, clock, "before", True)
    add_session(mind, clock, "now", True, ended=False)
    mind.store.append(
        [
            Event("trial", SPACE, clock(), "nothing", {"held_out": True, "share": HALF}),
            Event("turn", SPACE, clock(), "nothing", message),
            Event("session_end", SPACE, clock(), "nothing"),
        ]
    )
    proof = mind.data.proof()
    assert (proof.silent, proof.needed_silent) == (1, 0)
    clock.tick(minutes=61)
    # Nobody said that it is over, and nothing has come for an hour.
    assert mind.data.proof().needed_silent == 1


def test_a_tool_that_is_written_down_before_its_turn_leaves_nothing_out(mind, clock):
    """Runs of tools are written by a thread of their own."""
    mind.store.append([Event("tool", SPACE, clock(), "fast", {"tool": "Bash", "command": "ls"})])
    add_session(mind, clock, "fast", True)
    assert mind.data.proof().needed_silent == 1


def test_the_command_sets_the_share_and_says_how_far_it_is(tmp_path, monkeypatch):
    home = toy_home(tmp_path)
    monkeypatch.setenv("REVERIE_HOME", str(home))
    assert "Nothing is held out" in run_command("proof").stdout
    refused = run_command("proof", "--holdout", "0.8", code=2).stderr
    assert "give a share from 0 to 0.5" in refused
    set_ = run_command("proof", "--holdout", "0.1").stdout
    assert "Silent in 10% of new conversations" in set_
    assert "Not enough yet to say what it brings: 0 of 20" in set_
    assert '"enough": false' in run_command("--json", "proof").stdout
    run_command("proof", "--holdout", "0")
    assert "Nothing is held out" in run_command("proof").stdout


def test_the_command_prints_each_difference_with_its_interval(tmp_path, monkeypatch):
    home = toy_home(tmp_path)
    monkeypatch.setenv("REVERIE_HOME", str(home))
    with memory(home, now=real_clock.now) as mind:
        mind.heron = mind.remember(HERON, space=SPACE)

        class Past:
            at = real_clock.now() - 90_000

            def tick(self, minutes):
                self.at += minutes
                return self.at

        past = Past()
        for n in range(50):
            add_session(mind, past, f"s{n}", n % 2 == 0, corrections=(n % 2 == 0) * (1 + n % 3))
    printed = run_command("proof").stdout
    assert "corrections by the user" in printed
    assert "fewer" in printed and " to " in printed
    assert mind.heron.id in printed


def test_a_share_above_a_half_is_refused(tmp_path):
    home = toy_home(tmp_path)
    with (home / "config.toml").open("a") as file:
        file.write("holdout = 0.9\n")
    with pytest.raises(BadInput, match="holdout"):
        load_settings(home)
