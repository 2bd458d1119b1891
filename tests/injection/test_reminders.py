# mypy: no-check-untyped-defs
"""Reminders through the verbs, the companion and the command line: given when due, once, and never
lost.
"""

import json

import pytest

from reverie.context_window.injection_history import FRESH_SECONDS
from reverie.core.errors import BadInput, Disabled
from reverie.core.model import Event
from reverie.injection.due_reminders import CLAIM_SECONDS
from reverie.memory.intention import change_details, read_reminder
from reverie.testing import SPACE, make_conversation, memory
from tests.support.helpers import run_command, take_turn, toy_home


@pytest.fixture
def mind(clock):
    with memory(now=clock, zone="Europe/Berlin") as mind:
        yield mind


def status(mind, one):
    return read_reminder(mind.get(one.id)[0]).status


def given(blocks):
    return [text for block in blocks for text in (m.text for m in block.due)]


def later(mind, companion, text, clock, seconds):
    """One turn after a long silence, during which the background looks out as it does by itself."""
    clock.tick(seconds)
    mind.context.background.prepare_due_reminders()
    return take_turn(companion, text)


# The verbs


@pytest.mark.proves("C39", "C41", "C42", "C43", "C44", "C45", "C56", "CC-67")
def test_a_reminder_is_due_at_its_time(mind, clock):
    """Pending, due by priority then time, triggered once, done."""
    late = mind.remind("Call Ann", when="in 20 minutes", space=SPACE)
    urgent = mind.remind("Renew the certificate", when="in 30 minutes", priority=0.8, space=SPACE)
    assert mind.reminders.due(space=SPACE) == []
    clock.tick(minutes=31)
    assert [hit.memory.id for hit in mind.reminders.due(space=SPACE)] == [urgent.id, late.id]
    assert mind.reminders.due(space=SPACE) == mind.reminders.due(
        space=SPACE
    )  # looking does not fire
    assert [hit.memory.id for hit in mind.reminders.due(space=SPACE, fire=True)] == [
        urgent.id,
        late.id,
    ]
    assert mind.reminders.due(space=SPACE, fire=True) == []
    assert status(mind, late) == "triggered"
    assert [one.id for one in mind.reminders.browse(space=SPACE)] == [late.id, urgent.id]
    mind.reminders.done(late.id)
    mind.reminders.cancel(urgent.id)
    assert mind.reminders.browse(space=SPACE) == []
    assert [one.id for one in mind.reminders.browse(space=SPACE, status=["done"])] == [late.id]
    assert [one.id for one in mind.reminders.browse(space=SPACE, status=["cancelled"])] == [
        urgent.id
    ]


@pytest.mark.proves("C45")
def test_an_open_reminder_stays(mind, clock):
    """A reminder that was not completed is still listed a year later."""
    some = [
        mind.remind(f"Call {name}", when="in 1 hour", space=SPACE, provenance=said_by)
        for name, said_by in (("Ann", "user_stated"), ("Bob", "inferred"))
    ]
    clock.tick(days=1)
    mind.reminders.due(space=SPACE, fire=True)
    clock.tick(days=365)
    mind.settle()
    mind.sleep()
    assert [(m.id, read_reminder(m).status) for m in mind.reminders.browse(space=SPACE)] == [
        (one.id, "triggered") for one in some
    ]


@pytest.mark.proves("C45", "C56")
def test_an_old_reminder_is_found_among_thousands(mind, clock):
    """Thousands that were kept after it hide none, nor do those that were given and not said to be
    done.
    """
    old = mind.remind("The old one", when="in 3 days", space=SPACE)
    mind.remember_many(
        [
            {"text": f"Later {n}", "kind": "intention", "details": {"when": "in 300 days"}}
            for n in range(1_500)
        ],
        space=SPACE,
    )
    gone = {"when": clock() - 60, "status": "triggered"}
    mind.remember_many(
        [{"text": f"Given {n}", "kind": "intention", "details": gone} for n in range(700)],
        space=SPACE,
    )
    clock.tick(days=4)
    assert [hit.memory.id for hit in mind.reminders.due(space=SPACE)] == [old.id]
    assert len(mind.reminders.browse(space=SPACE)) == 2_201
    assert mind.reminders.browse(space=SPACE, status=["pending"])[0].id == old.id
    mind.reminders.done(old.id)
    assert [one.id for one in mind.reminders.browse(space=SPACE, status=["done"])] == [old.id]


def test_every_step_can_be_undone(mind, clock):
    """Fired, done, snoozed: each is an event and can be taken back; what is restored
    waits again.
    """
    one = mind.remind("Call Ann", when="in 1 hour", space=SPACE)
    clock.tick(minutes=61)
    mind.reminders.due(space=SPACE, fire=True)
    mind.undo(mind.history(one.id)[-1].event.seq)
    assert [hit.memory.id for hit in mind.reminders.due(space=SPACE)] == [one.id]
    mind.reminders.snooze(one.id, "in 2 hours")
    assert mind.reminders.due(space=SPACE) == []
    mind.undo(mind.history(one.id)[-1].event.seq)
    assert len(mind.reminders.due(space=SPACE)) == 1
    mind.reminders.done(one.id)
    assert mind.reminders.due(space=SPACE) == []
    assert status(mind, mind.restore(one.id)) == "pending"
    assert len(mind.reminders.due(space=SPACE)) == 1


@pytest.mark.proves("C43")
def test_missed_occurrences_fire_once(mind, clock):
    """A machine that was off for fifty mornings is reminded once, and again the next morning."""
    one = mind.remind("Read the logs", every="every day at 9", space=SPACE)
    clock.tick(days=50)
    assert len(mind.reminders.due(space=SPACE, fire=True)) == 1
    assert mind.reminders.due(space=SPACE) == []
    clock.tick(days=1)
    assert len(mind.reminders.due(space=SPACE, fire=True)) == 1
    fired = [event for event in mind.store.events() if event.verb == "fired"]
    assert len({event.payload["occurrences"][one.id] for event in fired}) == len(fired) == 2


def test_a_clock_that_jumps_back_repeats_nothing(mind, clock):
    """What has fired has fired."""
    mind.remind("Once", when="in 10 minutes", space=SPACE)
    mind.remind("Often", every="every 20 minutes", space=SPACE)
    clock.tick(minutes=21)
    assert len(mind.reminders.due(space=SPACE, fire=True)) == 2
    clock.tick(days=-2)
    assert mind.reminders.due(space=SPACE, fire=True) == []
    clock.tick(days=2)
    assert mind.reminders.due(space=SPACE, fire=True) == []
    clock.tick(minutes=20)
    assert [hit.memory.text for hit in mind.reminders.due(space=SPACE, fire=True)] == ["Often"]


def test_a_reminder_keeps_the_zone_in_which_it_was_set(tmp_path, clock, monkeypatch):
    """A time zone is that of when it was said: 09:00 in Berlin stays that moment in New York, and
    fires once.
    """
    monkeypatch.setenv("TZ", "Europe/Berlin")
    with memory(tmp_path, now=clock) as mind:
        one = mind.remind("Stand-up", every="every day at 9", space=SPACE)
        assert read_reminder(one).zone == "Europe/Berlin"
    monkeypatch.setenv("TZ", "America/New_York")
    with memory(tmp_path, now=clock) as mind:
        clock.at = read_reminder(one).when - 1
        assert mind.reminders.due(space=SPACE) == []
        clock.tick()
        assert len(mind.reminders.due(space=SPACE, fire=True)) == 1
        clock.tick(minutes=6 * 60)  # nine in New York
        assert mind.reminders.due(space=SPACE) == []
        assert (
            read_reminder(mind.remind("Here", when="tomorrow at 9", space=SPACE)).zone
            == "America/New_York"
        )


@pytest.mark.proves("C46")
def test_an_intention_by_remember_is_a_reminder(mind, clock):
    """An intention that is remembered is understood and checked like one of `remind`."""
    one = mind.remember(
        "Call Ann", kind="intention", details={"when": "tomorrow at 9"}, space=SPACE
    )
    (two,) = mind.remember_many(
        [{"text": "Call Bob", "kind": "intention", "details": {"every": "daily"}}], space=SPACE
    )
    past = mind.remember("Call Cay", kind="intention", details={"when": clock() - 5}, space=SPACE)
    assert read_reminder(one).when == read_reminder(two).when
    assert [hit.memory.id for hit in mind.reminders.due(space=SPACE)] == [past.id]
    with pytest.raises(BadInput, match="soon"):
        mind.remember("Call Ann", kind="intention", details={"when": "soon"}, space=SPACE)
    with pytest.raises(BadInput, match="banana"):
        mind.revise(one.id, details={"when": "banana"})
    assert (
        read_reminder(mind.revise(one.id, details={"when": "in 2 days"})).when
        == clock() // 60 * 60 + 2 * 86_400
    )


def test_a_reminder_needs_a_when_and_a_place(mind):
    with pytest.raises(BadInput, match="Remind of it when"):
        mind.remind("Call Ann", space=SPACE)
    with pytest.raises(BadInput, match="not a status"):
        mind.reminders.browse(space=SPACE, status=["lost"])
    off = memory(off=(SPACE,))
    with pytest.raises(Disabled):
        off.remind("Call Ann", when="tomorrow", space=SPACE)
    assert off.reminders.due(space=SPACE) == []


def test_a_zone_is_a_name(mind):
    """Also in the details of what is remembered."""
    for zone in (5, 1.5, [1], "Mars"):
        with pytest.raises(BadInput, match="not a time zone"):
            mind.remind("Call Ann", when="tomorrow", zone=zone, space=SPACE)
    with pytest.raises(BadInput, match="not a time zone"):
        mind.remember(
            "Call Ann", kind="intention", details={"when": "tomorrow", "zone": 5}, space=SPACE
        )


@pytest.mark.proves("CC-11")
def test_reminders_are_of_their_space(mind, clock):
    """Those of a project and of the user; another project's are its own."""
    for space in ("me", SPACE, "me/other", f"{SPACE}/s1"):
        mind.remind(space, when="in 1 minute", space=space)
    clock.tick(minutes=2)
    assert {hit.memory.text for hit in mind.reminders.due(space=SPACE)} == {"me", SPACE}


def test_a_reminder_does_not_surface_before_its_time(mind, clock):
    """A reminder for Monday is not told on Saturday because somebody speaks of the report; who asks
    is told.
    """
    mind.remind("Send the zanzibar report to Ann", when="in 2 days", space=SPACE)
    mind.settle()
    assert mind.hints("the zanzibar report for Ann", space=SPACE) == []
    assert [hit.memory.kind for hit in mind.recall("the zanzibar report for Ann", space=SPACE)] == [
        "intention"
    ]


def test_secrets_do_not_become_reminders(mind):
    """Redacted like everything else."""
    one = mind.remind("Rotate ghp_" + "a1B2" * 9, when="tomorrow", space=SPACE)
    assert "ghp_" not in one.text and one.details["redacted"]


def test_a_reminder_that_is_purged_leaves_no_trace(mind, clock):
    """Its firing is blanked too; nothing is left to verify."""
    one = mind.remind("Call Ann about the zanzibar", when="in 1 minute", space=SPACE)
    clock.tick(120)
    mind.reminders.due(space=SPACE, fire=True)
    mind.data.purge(one.id)
    left = "".join(map(str, (*mind.store.events(), *mind.store.dump())))
    assert one.id not in left and "zanzibar" not in left
    assert mind.data.verify() == []


# Beside a conversation


@pytest.mark.proves("C43", "C79")
def test_a_due_reminder_is_injected_once(mind, clock):
    """Due between turns, prepared with one turn, given with the next, once; triggered when given."""
    one = mind.remind("Call Ann about the lease", when="in 5 minutes", space=SPACE)
    with mind.companion(f"{SPACE}/s1") as companion:
        assert not take_turn(companion, "hello", clock=clock)
        clock.tick(minutes=5)
        assert not take_turn(companion, "still here", clock=clock)  # this turn finds it due
        assert status(mind, one) == "pending"  # prepared is not given
        block = take_turn(companion, "and now", clock=clock)
        assert block.ids == (one.id,) and "To do:\n- Call Ann about the lease" in block.text
        assert status(mind, one) == "triggered"
        assert not any(take_turn(companion, f"more {n}", clock=clock) for n in range(4))
    (fired,) = mind.store.events(verbs=("fired",))
    assert (fired.session, list(fired.payload["occurrences"])) == ("s1", [one.id])


@pytest.mark.proves("C79", "C112")
def test_what_is_due_at_the_start_comes_with_the_first_turn(mind, clock):
    """What is due when a conversation begins comes first in the block of its first turn."""
    for n in range(5):
        mind.remind(f"Reminder {n}", when="in 1 minute", priority=n / 10, space=SPACE)
    clock.tick(minutes=5)
    with mind.companion(f"{SPACE}/s1") as companion:
        blocks = [take_turn(companion, f"hello {n}", clock=clock) for n in range(4)]
    assert given(blocks) == [f"Reminder {n}" for n in (4, 3, 2, 1, 0)]
    assert [len(block.due) for block in blocks] == [3, 2, 0, 0]


@pytest.mark.proves("C40")
def test_touching_a_file_triggers_a_reminder(mind, clock):
    """By what is said and by what a tool is given; not by what a tool answers."""
    one = mind.remind("Rotate the keys", files=["auth.py"], space=SPACE)
    two = mind.remind("Bump the tag", commands=["git push"], space=SPACE)
    listing = [
        {"role": "user", "content": "list it"},
        {"role": "tool", "content": "src/auth.py\nsrc/b.py"},
    ]
    edit, push = (
        {"role": "assistant", "content": [{"type": "tool_use", "name": tool, "input": given_}]}
        for tool, given_ in (
            ("Edit", {"file_path": "src/auth.py"}),
            ("Bash", {"command": "git push -u o"}),
        )
    )
    history, blocks = [], []
    with mind.companion(f"{SPACE}/s1") as companion:
        for message in (*listing, edit, push, *make_conversation("thanks")):
            history.append(message)
            clock.tick(60)
            blocks.append(companion.turn(list(history)))
            assert companion.wait(120)
    assert [block.ids for block in blocks] == [(), (), (), (one.id,), (two.id,)]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.proves("C40")
def test_a_long_command_triggers_a_reminder(mind, clock, shape):
    """A script with a file in it, as agents write them; its secrets are in no window and in no log."""
    one = mind.remind("Bump the tag", commands=["git push*"], space=SPACE)
    secret = "ghp_" + "a1B2" * 9
    command = (
        "cat > notes.txt <<'EOF'\n"
        + "a line of text\n" * 60
        + f"EOF\nexport T={secret}; git push -u origin main"
    )
    arguments = {"command": command, "timeout": 5}
    ask = (
        {"role": "assistant", "content": [{"type": "tool_use", "name": "Bash", "input": arguments}]}
        if shape == "anthropic"
        else {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "Bash", "arguments": json.dumps(arguments)},
                }
            ],
        }
    )
    history, blocks = [], []
    with mind.companion(f"{SPACE}/s1") as companion:
        for message in (*make_conversation("hello"), ask, *make_conversation("thanks")):
            history.append(message)
            clock.tick(60)
            blocks.append(companion.turn(list(history)))
            assert companion.wait(120)
        heard = str(companion.conversation.window)
    assert [block.ids for block in blocks] == [(), (), (one.id,)]
    assert "git push -u origin main" in heard and secret not in heard
    assert "a line of text" not in "".join(map(str, mind.store.events()))


def test_a_stale_block_does_not_fire_its_reminder(mind, clock):
    """Stale: it is not given, so it has not fired, and comes with the next one."""
    one = mind.remind("Call Ann", when="in 1 minute", space=SPACE)
    with mind.companion(f"{SPACE}/s1") as companion:
        take_turn(companion, "hello")
        take_turn(companion, "now it is due", clock=clock, tick=120)
        assert not take_turn(companion, "after lunch", clock=clock, tick=FRESH_SECONDS + 1)
        assert status(mind, one) == "pending"
        assert take_turn(companion, "go on", clock=clock).ids == (one.id,)


def test_a_block_prepared_while_the_last_one_was_given_does_not_repeat_it(mind, clock):
    """Two turns in a row can both find it due before the first has given it; it is given once all
    the same.
    """
    mind.remind("Call Ann", when="in 1 minute", space=SPACE)
    clock.tick(120)
    with mind.companion(f"{SPACE}/s1") as companion:
        first = take_turn(companion, "hello")
        companion.conversation.slot.append(first)
        assert given(
            [
                first,
                take_turn(companion, "again", clock=clock),
                take_turn(companion, "so", clock=clock),
            ]
        ) == ["Call Ann"]


@pytest.mark.proves("C43")
def test_a_reminder_that_comes_due_in_a_silence_is_in_the_next_turn(mind, clock):
    """What comes due in a silence, however long, is there with the next turn, not the one after."""
    mind.remind("Call Ann", when="in 5 minutes", space=SPACE)
    with mind.companion(f"{SPACE}/s1") as companion:
        take_turn(companion, "hello")
        for _ in range(20):
            clock.tick(500)
            mind.context.background.prepare_due_reminders()
        assert given([take_turn(companion, "back again")]) == ["Call Ann"]


def test_a_silent_conversation_does_not_keep_a_reminder(mind, clock):
    """While it is silent only the conversation that spoke last holds reminders; another one gets
    them in time.
    """
    mind.remind("Call Ann", when="in 30 minutes", space=SPACE)
    with mind.companion(f"{SPACE}/s1") as left, mind.companion(f"{SPACE}/s2") as used:
        take_turn(left, "hello")
        take_turn(used, "hello", clock=clock)
        clock.tick(minutes=31)
        mind.context.background.prepare_due_reminders()
        assert given([take_turn(used, "so"), take_turn(left, "so", clock=clock)]) == ["Call Ann"]
        assert [event.session for event in mind.store.events(verbs=("fired",))] == ["s2"]


def test_a_snoozed_or_done_reminder_is_withdrawn_from_its_block(mind, clock):
    """A block that waits is not given when its reminder was snoozed or done; the rest of it comes
    again.
    """
    one, two = (
        mind.remind(text, when="in 1 minute", space=SPACE) for text in ("Call Ann", "Call Bob")
    )
    with mind.companion(f"{SPACE}/s1") as companion:
        take_turn(companion, "hello")
        take_turn(companion, "now it is due", clock=clock, tick=120)
        mind.reminders.snooze(one.id, "in 3 hours")
        assert not take_turn(companion, "what now", clock=clock)
        assert take_turn(companion, "go on", clock=clock).ids == (two.id,)
        assert status(mind, one) == "pending"


def test_a_recurring_reminder_is_not_blocked_by_its_last_injection(mind, clock):
    """What is due is always new: that its text was given half an hour ago does not silence it."""
    mind.remind("Stretch", every="every 20 minutes", space=SPACE)
    with mind.companion(f"{SPACE}/s1") as companion:
        blocks = [later(mind, companion, f"work {n}", clock, 600) for n in range(13)]
    assert given(blocks) == ["Stretch"] * 6


def test_a_reminder_goes_to_one_of_two_conversations(mind, clock):
    """Whoever claims it gives it; the other one does not."""
    mind.remind("Call Ann", when="in 1 minute", space=SPACE)
    clock.tick(120)
    with mind.companion(f"{SPACE}/s1") as one, mind.companion(f"{SPACE}/s2") as two:
        blocks = [take_turn(who, f"hello {n}", clock=clock) for n in range(3) for who in (two, one)]
    assert given(blocks) == ["Call Ann"]


def test_a_conversation_that_ends_releases_its_claim(mind, clock):
    """A claimed reminder that was not injected is available to the next conversation at once."""
    mind.remind("Call Ann", when="in 1 minute", space=SPACE)
    clock.tick(120)
    mind.companion(f"{SPACE}/s1").close()
    assert mind.reminders.due(space=SPACE, fire=False) and given(
        [take_turn(mind.companion(f"{SPACE}/s2"), "hello")]
    ) == ["Call Ann"]


def test_what_a_conversation_is_about_to_give_is_left_to_it(mind, clock):
    """A hook that fires meanwhile gets nothing; when the conversation never speaks
    again, it does.
    """
    mind.remind("Call Ann", when="in 1 minute", space=SPACE)
    clock.tick(120)
    mind.companion(f"{SPACE}/s1")
    assert (len(mind.reminders.due(space=SPACE)), mind.reminders.due(space=SPACE, fire=True)) == (
        1,
        [],
    )
    clock.tick(CLAIM_SECONDS)
    assert len(mind.reminders.due(space=SPACE, fire=True)) == 1


def test_a_turn_does_not_wait_for_a_store_that_is_busy(tmp_path, clock):
    """Giving a reminder writes nothing in the caller's path."""
    with memory(tmp_path, now=clock) as mind:
        mind.remind("Call Ann", when="in 1 minute", space=SPACE)
        clock.tick(120)
        companion = mind.companion(f"{SPACE}/s1")
        with memory(tmp_path, now=clock) as other, other.store.transaction():
            other.store.append([Event("tool", SPACE, clock())])
            assert given([companion.turn(make_conversation("hello"))]) == ["Call Ann"]
            assert other.reminders.due(space=SPACE)
        assert companion.wait(120)
        assert mind.reminders.due(space=SPACE) == []


def test_an_invalid_recurrence_loses_no_turn(mind, clock):
    """From a file or an older version: the turn it is given with is kept, once is all, and others
    come.
    """
    odd = mind.remind("Odd", when="in 1 minute", space=SPACE)
    with mind.store.transaction():
        mind.store.apply(
            [change_details(odd, clock(), {"every": "every 99999999999 days at 09:00"})],
            Event("revise", SPACE, clock()),
        )
    mind.remind("Often", every="every 20 minutes", space=SPACE)
    with mind.companion(f"{SPACE}/s1") as companion:
        blocks = [later(mind, companion, f"work {n}", clock, 1_300) for n in range(4)]
    assert given(blocks) == ["Odd", "Often", "Often", "Often"]
    assert len(mind.store.events(verbs=("turn",))) == 4


def test_a_turn_is_not_lost_for_its_reminder(mind, clock, monkeypatch):
    """Whatever goes wrong in firing, what was said is written down, and the failure too."""
    mind.remind("Call Ann", when="in 1 minute", space=SPACE)
    clock.tick(120)

    def broken(*_):
        raise OverflowError("date value out of range")

    monkeypatch.setattr("reverie.runtime.turn_writing.fire_reminders", broken)
    with mind.companion(f"{SPACE}/s1") as companion:
        assert given([take_turn(companion, "hello")]) == ["Call Ann"]
    assert [
        event.payload["messages"][0]["text"] for event in mind.store.events(verbs=("turn",))
    ] == ["hello"]
    (failed,) = mind.store.events(verbs=("failed",))
    assert (
        failed.payload["error"]
        == "OverflowError: a reminder that was given could not be marked as given"
    )


# From what people say


def test_people_ask_to_be_reminded(mind, clock):
    """Said in a conversation: kept with its time, not for the words that asked; given when it
    comes.
    """
    with mind.companion(f"{SPACE}/s1") as companion:
        take_turn(companion, "hello")
        take_turn(companion, "ok. remind me in 20 minutes to check the build", clock=clock)
        take_turn(companion, "and when we touch auth.py, remind me to rotate the keys", clock=clock)
        mind.settle()
        assert {(m.text, m.provenance) for m in mind.reminders.browse(space=SPACE)} == {
            ("Check the build", "user_stated"),
            ("Rotate the keys", "user_stated"),
        }
        quiet = [take_turn(companion, f"something else {n}", clock=clock) for n in range(3)]
        blocks = [
            later(mind, companion, text, clock, 900)
            for text in ("and now", "edit src/auth.py please", "ok")
        ]
    assert (given(quiet), given(blocks)) == ([], ["Check the build", "Rotate the keys"])


def test_the_same_thing_at_another_time_is_another_reminder(mind, clock):
    """What was done last week can be asked for again; a transcript that is read twice asks once."""
    weekly = [
        {
            "role": "user",
            "content": "remind me tomorrow at 9 to call Ann",
            "at": clock() + week * 604_800,
        }
        for week in range(2)
    ]
    first = mind.learn(weekly[:1], space=SPACE, session="one")
    clock.tick(days=1)
    mind.reminders.due(space=SPACE, fire=True)
    assert mind.learn(weekly[:1], space=SPACE, session="again").memories == ()
    clock.tick(days=6)
    second = mind.learn(weekly[1:], space=SPACE, session="two")
    assert [len(one.memories) for one in (first, second)] == [1, 1]
    mind.settle()
    mind.sleep()
    assert len(mind.reminders.browse(space=SPACE)) == 2


def test_an_old_transcript_reminds_of_nothing(mind, clock):
    """ "Tomorrow" in a conversation of last year has passed; what is still to come is kept."""
    old, new = clock() - 300 * 86_400, clock() - 3_600
    texts = ["remind me tomorrow at 9 to call Ann", "remind me in 2 hours to call Bob"]
    learned = [
        mind.learn([{"role": "user", "content": text, "at": at}], space=SPACE)
        for text, at in ((texts[0], old), (texts[1], new))
    ]
    assert [[m.text for m in one.memories] for one in learned] == [[], ["Call Bob"]]


# The command line


def test_the_reminder_commands(tmp_path):
    """remind, due, reminders, snooze, done, cancel; what was understood is told back; --json has it
    all.
    """
    where = ("--home", str(toy_home(tmp_path)), "--space", "me/demo")
    out = run_command(
        *where, "remind", "Renew", "it", "--at", "2099-01-05 09:00", "--zone", "Europe/Berlin"
    ).output
    assert "Understood as: Monday 2099-01-05 09:00 Europe/Berlin" in out
    kept = json.loads(
        run_command(
            *where, "--json", "remind", "Rotate", "--when-file", "auth.py", "--priority", "1"
        ).output
    )
    id = kept["memory"]["id"]
    assert kept["understood"] == "when the context meets auth.py"
    assert "Nothing is due." in run_command(*where, "reminder", "due").output
    assert id in run_command(*where, "reminder", "due", "--context", "edit auth.py").output
    hits = json.loads(
        run_command(
            *where, "reminder", "due", "--context", "edit auth.py", "--fire", "--json"
        ).output
    )["hits"]
    assert [hit["id"] if "id" in hit else hit["memory"]["id"] for hit in hits] == [id]
    assert (
        "Nothing is due."
        in run_command(*where, "reminder", "due", "--context", "edit auth.py", "--fire").output
    )
    assert "triggered  Rotate" in run_command(*where, "reminder", "list").output
    assert (
        "is pending. Due: "
        in run_command("--home", where[1], "reminder", "snooze", id, "in", "20", "minutes").output
    )
    assert "is done" in run_command("--home", where[1], "reminder", "done", id).output
    assert id not in run_command(*where, "reminder", "list").output
    assert "done" in run_command(*where, "reminder", "list", "--all").output
    assert (
        "understood as Wednesday 2020-01-01"
        in run_command(*where, "remind", "x", "--at", "2020-01-01", code=2).stderr
    )
    run_command(*where, "remind", "x", "--at", "tomorrow", "--in", "2h", code=2)
