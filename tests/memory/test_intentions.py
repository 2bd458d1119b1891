# mypy: no-check-untyped-defs
"""Reminders as pure decisions: what is due, in which order, and that each occurrence fires once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput
from reverie.core.model import Retire, with_fields
from reverie.core.trigger_patterns import (
    context_of_conversation,
    context_of_tool_call,
    matches_trigger,
)
from reverie.memory.intention import (
    build_trigger_patterns,
    complete_intention_details,
    describe_due,
    display_pattern,
    end_reminder,
    find_due_reminders,
    is_same_occurrence,
    is_waiting,
    mark_fired,
    normalize_path_glob,
    read_reminder,
    snooze_reminder,
)
from reverie.testing import NOON, make_memory
from reverie.text.time_expressions import next_occurrence

ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
RULES = st.sampled_from(
    ["every 20 minutes", "0 9 * * *", "30 2 * * *", "every 2 weeks at 02:30", "*/5 * * * *"]
)


def reminder(text="Call Ann", triggers=(), **details):
    return make_memory(text, kind="intention", triggers=tuple(triggers), details=details)


def after(memory, change):
    return with_fields(memory, change.fields)


@pytest.mark.proves("CC-67", "C41")
def test_only_pending_reminders_whose_time_has_come_are_due():
    """Pending ones whose time has come; not done, cancelled, triggered, or still to come."""
    now = [
        reminder(when=NOON - 1, status=status)
        for status in ("pending", "triggered", "done", "cancelled")
    ]
    assert [
        hit.memory for hit in find_due_reminders([*now, reminder(when=NOON + 1), reminder()], NOON)
    ] == now[:1]
    assert find_due_reminders([now[0]._replace(retired_at=NOON)], NOON) == []
    assert find_due_reminders([make_memory("A fact", details={"when": NOON - 1})], NOON) == []


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 50)), max_size=12),
    st.randoms(),
)
@pytest.mark.proves("CC-67", "C42")
def test_by_priority_then_by_time(some, chance):
    """The order does not depend on the order in which they were kept."""
    all = [
        reminder(f"r{n}", when=NOON - seconds, priority=priority)
        for n, (priority, seconds) in enumerate(some)
    ]
    mixed = chance.sample(all, len(all))
    found = find_due_reminders(mixed, NOON)
    assert found == find_due_reminders(all, NOON) and len(found) == len(all)
    keys = [(-hit.memory.details["priority"], hit.memory.details["when"]) for hit in found]
    assert keys == sorted(keys)


@given(RULES, ZONES, st.lists(st.floats(-3 * 86_400, 40 * 86_400), min_size=1, max_size=12))
@pytest.mark.proves("C43")
def test_each_occurrence_fires_once_however_the_clock_runs(rule, zone, steps):
    """A machine that sleeps over many times fires once and goes on; a clock that jumps back repeats
    nothing.
    """
    memory = reminder(
        **complete_intention_details({"every": rule, "zone": zone}, NOON, lambda: "UTC")
    )
    now, occurrences = NOON, []
    for step in steps:
        now += step
        for hit in find_due_reminders([memory], now):
            occurrences.append(read_reminder(memory).when)
            memory = after(memory, mark_fired(hit.memory, now))
        assert find_due_reminders([memory], now) == []
        assert is_waiting(memory)
    assert occurrences == sorted(set(occurrences))


@given(st.floats(NOON, NOON + 1e6), st.floats(0, 1e6))
@pytest.mark.proves("C45")
def test_what_does_not_recur_fires_once_for_good(when, later):
    """It stays triggered until it is done or cancelled."""
    memory = reminder(when=when)
    given_ = after(memory, mark_fired(memory, when))
    assert (
        read_reminder(given_).status == "triggered"
        and find_due_reminders([given_], when + later) == []
    )
    assert is_same_occurrence(memory, memory) and not is_same_occurrence(given_, memory)


@pytest.mark.proves("C40")
def test_a_context_triggers_a_reminder():
    """A file, a command, a topic; the words that set the reminder do not."""
    one = reminder(
        "Rotate the keys",
        build_trigger_patterns(["src/**/auth.py"], ["git push"], ["staging server"]),
    )

    def reasons(*scenes):
        return [hit.why for hit in find_due_reminders([one], NOON, scenes)]

    assert reasons(context_of_conversation("I edit src/api/auth.py now")) == [
        ("trigger 'src/**/auth.py'",)
    ]
    assert reasons(context_of_tool_call("Bash", {"command": "cd x && git push origin"})) == [
        ("trigger 'tool:*(git push*)'",)
    ]
    assert reasons(context_of_conversation("Is the Staging  server up?")) == [
        ("trigger 'staging server'",)
    ]
    assert (
        reasons(
            context_of_conversation("src/oauth.py and staging serverless"),
            context_of_tool_call("Bash", "git status"),
        )
        == []
    )
    assert (
        reasons(context_of_conversation("when we touch src/auth.py, remind me to rotate the keys"))
        == []
    )
    assert reasons(context_of_conversation("we rotate the keys in src/api/auth.py")) == [
        ("trigger 'src/**/auth.py'",)
    ]


@pytest.mark.parametrize(
    ("glob", "meant_", "not_meant"),
    [
        (
            "auth.py",
            ["auth.py", "open src/auth.py.", "`auth.py`", "(src/auth.py:12)"],
            ["oauth.py", "auth.pyc", "my-auth.py"],
        ),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "src/a.pyi"]),
        ("src/**", ["src/x/a.py"], ["asrc/x"]),
        ("a?.md", ["a1.md"], ["a.md", "a/.md"]),
        ("docs/**", ["see docs/index.md", "docs/a/b.md", "rm -r docs/"], ["mydocs/a", "docs"]),
        ("src/[ab].py", ["src/a.py", "src/b.py"], ["src/c.py", "src/ab.py"]),
        ("v[0-9].md", ["v7.md"], ["vx.md"]),
        ("v[!0-9].md", ["vx.md"], ["v7.md", "v/.md", "v .md"]),
        ("app/[id]/page.tsx", ["app/[id]/page.tsx"], ["app/x/page.tsx"]),
        ("a[z-a].md", ["a[z-a].md"], ["ab.md"]),
        ("x[ab][c].py", ["xac.py"], ["xab.py"]),
        ("a[.md", ["a[.md"], ["a.md"]),
    ],
)
def test_globs_of_paths(glob, meant_, not_meant):
    (pattern,) = build_trigger_patterns([glob])
    assert all(matches_trigger(pattern, context_of_conversation(text)) for text in meant_)
    assert not any(matches_trigger(pattern, context_of_conversation(text)) for text in not_meant)
    assert display_pattern(pattern) == glob


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("./src/a.py", "src/a.py"),
        ("docs/", "docs/**"),
        (".env", ".env"),
        (" ././a/ ", "a/**"),
        ("/etc/hosts", "/etc/hosts"),
        ("../a", "../a"),
    ],
)
def test_paths_are_taken_as_they_are_written_in_a_project(written, plain):
    """A folder means what is in it; ./ means nothing."""
    assert build_trigger_patterns([written]) == build_trigger_patterns([plain])


@pytest.mark.parametrize("nothing", ["", " ", ".", "./"])
def test_a_trigger_that_nothing_can_match_is_refused(nothing):
    """A trigger that nothing can match is an error, rather than a reminder that never comes."""
    with pytest.raises(BadInput, match="names no file"):
        build_trigger_patterns([nothing])


def test_an_empty_trigger_is_refused():
    """An empty command or empty words as a trigger are an error."""
    for commands, topics in (([""], []), ([], [" "])):
        with pytest.raises(BadInput, match=r"names no command|are no words"):
            build_trigger_patterns(commands=commands, topics=topics)


@given(st.text(min_size=1, max_size=20).filter(lambda text: text.strip().strip("./")))
def test_any_glob_and_words_make_a_pattern_that_can_be_met(text):
    """No text breaks the pattern it becomes, and words meet themselves; brackets are told back as
    they were written.
    """
    assert "[" not in text or display_pattern(build_trigger_patterns([text])[0]).count(
        "["
    ) == normalize_path_glob(text).count("[")
    for pattern in build_trigger_patterns([text], [text], [text]):
        matches_trigger(pattern, context_of_tool_call("Bash", text))
    if text.isalnum() and text.isascii():
        assert matches_trigger(
            build_trigger_patterns(topics=[text])[0], context_of_conversation(f"so {text}, yes")
        )


@pytest.mark.proves("C44")
def test_done_ends_one_occurrence_and_cancel_all():
    """What is done counts no longer; of what recurs `done` ends one occurrence, `cancel` all."""
    once, often = reminder(when=NOON), reminder(when=NOON, zone="UTC", every="0 9 * * *")
    assert [type(change) for change in end_reminder(once, "done", NOON)][1:] == [Retire]
    assert end_reminder(once, "cancel", NOON)[0].fields["details"]["status"] == "cancelled"
    (skipped,) = end_reminder(often, "done", NOON)
    assert (
        skipped.fields["details"]["status"] == "pending"
        and skipped.fields["details"]["when"] > NOON
    )
    told = after(often, mark_fired(often, NOON))
    (finished,) = end_reminder(told, "done", NOON)
    assert finished.fields["details"]["when"] == told.details["when"]
    assert end_reminder(often, "cancel", NOON)[1].why == "cancelled"
    with pytest.raises(BadInput, match="not something to be reminded of"):
        end_reminder(make_memory("A fact"), "done", NOON)


def test_snoozing_moves_the_due_time():
    """A snoozed reminder is due again at the new time, whatever its state was."""
    given_ = after(one := reminder(when=NOON, zone="UTC"), mark_fired(one, NOON))
    later = after(given_, snooze_reminder(given_, "in 20 minutes", NOON))
    assert (
        find_due_reminders([later], NOON + 1_199),
        len(find_due_reminders([later], NOON + 1_200)),
    ) == ([], 1)
    with pytest.raises(BadInput, match="which has passed"):
        snooze_reminder(one, "yesterday", NOON)


@pytest.mark.proves("C44")
def test_snoozing_moves_one_time_of_a_series():
    """A stand-up every other Monday, put off to Wednesday, comes again on its Monday; so does it
    where it was

    put off twice, done meanwhile, or put off after it was given.
    """
    # Monday 2025-10-13 09:00
    every, first = (
        {"zone": "UTC", "every": "every 2 weeks at 09:00"},
        1_760_346_000.0,
    )
    fortnight, two_days = 14 * 86_400.0, 2 * 86_400.0
    one = reminder(when=first, **every)
    off = after(one, snooze_reminder(one, first + two_days, NOON))
    twice = after(off, snooze_reminder(off, first + two_days + 60, NOON))
    for late in (off, twice):
        assert (
            read_reminder(after(late, mark_fired(late, first + two_days + 60))).when
            == first + fortnight
        )
        assert (
            read_reminder(after(late, *end_reminder(late, "done", first + 60))).when
            == first + fortnight
        )
        assert (
            read_reminder(after(late, mark_fired(late, first + fortnight + two_days))).when
            == first + 2 * fortnight
        )
    given_ = after(one, mark_fired(one, first))
    again = after(given_, snooze_reminder(given_, "in 20 minutes", first))
    assert [read_reminder(again).when, read_reminder(again).status] == [first + 1_200, "pending"]
    on = after(again, mark_fired(again, first + 1_200))
    assert read_reminder(on).when == first + fortnight and "resumes" not in on.details


@given(RULES, ZONES, st.lists(st.tuples(st.booleans(), st.floats(60, 40 * 86_400)), max_size=8))
def test_a_series_keeps_its_rhythm_however_often_it_is_put_off(rule, zone, steps):
    """Whatever is put off in between, a reminder that was given is due next when its
    series says.
    """
    series = memory = reminder(
        **complete_intention_details({"every": rule, "zone": zone}, NOON, lambda: "UTC")
    )
    now, start = NOON, read_reminder(series).when
    for put_off, seconds in steps:
        if put_off:
            memory = after(memory, snooze_reminder(memory, now + seconds, now))
        now += seconds
        if find_due_reminders([memory], now):
            memory = after(memory, mark_fired(memory, now))
            assert read_reminder(memory).when == max(next_occurrence(rule, start, now, zone), start)


def test_invalid_details_are_ignored():
    """Invalid details, as in a line of an imported file, are ignored."""
    odd = reminder(when="soon", zone="Mars", every="x", priority="high", status="lost")
    assert read_reminder(odd) == read_reminder(reminder())
    assert find_due_reminders([odd, one := reminder(when=NOON)], NOON)[0].memory == one
    assert find_due_reminders(
        [reminder(when=1e18), reminder(when=-1e18), reminder(when=float("nan")), one], NOON
    ) == find_due_reminders([one], NOON)
    bad = reminder(when=NOON, zone="Mars/Olympus", every="banana")
    assert after(bad, mark_fired(bad, NOON)).details["status"] == "triggered"


@pytest.mark.parametrize(
    "every",
    [
        "every 5 days",
        "every 0 minutes",
        "every 0 days at 09:00",
        "every 3 weeks at 99:99",
        "every 99999999999 days at 09:00",
    ],
)
def test_an_odd_recurrence_is_given_once(every):
    """From a file that somebody else wrote: it is due, fires, and does not recur."""
    odd = reminder(when=NOON, zone="UTC", every=every)
    given_ = after(odd, mark_fired(odd, NOON))
    assert (len(find_due_reminders([odd], NOON)), find_due_reminders([given_], NOON + 1e8)) == (
        1,
        [],
    )


def test_one_that_cannot_come_again_is_given_once():
    """After the calendar's last day: it fires, stays in the list, and says how often
    it was meant.
    """
    last = reminder(when=NOON, zone="UTC", every="0 9 * * *")
    given_ = after(last, mark_fired(last, 253_402_290_000.0))
    assert not is_waiting(given_) and given_.details["status"] == "triggered"
    assert given_.details["was_every"] == "0 9 * * *" and "every" not in given_.details


@pytest.mark.parametrize(
    "details",
    [
        {"every": "every 99999999999 days"},
        {"when": 9.98e10, "every": "every 520 weeks"},
        {"priority": 2},
        {"priority": "high"},
        {"status": "lost"},
        {"when": "soon"},
        {"when": 1.7e12},
        {"when": "yesterday"},
        {"every": "banana"},
        {"when": 1.0, "zone": "Mars"},
    ],
)
def test_what_cannot_be_kept_is_refused(details):
    with pytest.raises(BadInput):
        complete_intention_details(details, NOON, lambda: "UTC")


def test_a_reminder_is_described_in_words():
    """In words: the time with its zone, how it recurs, what calls for it."""
    details = complete_intention_details(
        {"every": "every weekday at 8:30", "zone": "Europe/Berlin"}, NOON, lambda: "UTC"
    )
    assert describe_due(reminder(triggers=build_trigger_patterns(["auth.py"]), **details)) == (
        "Friday 2025-10-10 08:30 Europe/Berlin, then by cron 30 8 * * 1-5, when the context meets auth.py"
    )


@pytest.mark.parametrize(
    ("said", "understood"),
    [
        (
            {"every": "2 weeks", "when": "2025-10-17 14:00"},
            "Friday 2025-10-17 14:00 UTC, then every 2 weeks at 14:00",
        ),
        (
            {"every": "weekday", "when": "2025-10-13 14:30"},
            "Monday 2025-10-13 14:30 UTC, then by cron 30 14 * * 1-5",
        ),
        (
            {"every": "month", "when": "2025-12-03 10:00"},
            "Wednesday 2025-12-03 10:00 UTC, then by cron 0 10 3 * *",
        ),
        (
            {"every": "day at 8", "when": "2025-10-17 14:00"},
            "Friday 2025-10-17 14:00 UTC, then by cron 0 8 * * *",
        ),
        ({"every": "2 weeks"}, "Thursday 2025-10-09 09:00 UTC, then every 2 weeks at 09:00"),
    ],
)
@pytest.mark.proves("C39")
def test_what_the_words_for_how_often_leave_open_is_as_the_first_time(said, understood):
    """A first time at 14:00 means 14:00 each time, unless another hour is said."""
    details = complete_intention_details({**said, "zone": "UTC"}, NOON, lambda: "UTC")
    assert describe_due(reminder(**details)) == understood
    assert (
        describe_due(reminder(**complete_intention_details(details, NOON, lambda: "UTC")))
        == understood
    )


def test_that_shorter_months_are_passed_over_is_told():
    """For "on the 31st" the description says what happens in shorter months."""
    details = complete_intention_details(
        {"every": "every month on the 31st", "zone": "UTC"}, NOON, lambda: "UTC"
    )
    assert describe_due(reminder(**details)).endswith(
        "then by cron 0 9 31 * *, only in months that have this day"
    )
