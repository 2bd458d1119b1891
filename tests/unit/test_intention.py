# mypy: no-check-untyped-defs
"""Reminders as pure decisions: what is due, in which order, and that each occurrence fires once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput
from reverie.core.model import Retire, revised
from reverie.core.trigger_patterns import about_to_run, meets, spoken
from reverie.memory.intention import (
    completed,
    due,
    ended,
    fired,
    meant,
    patterns_for,
    plain_path,
    reminder_of,
    shown,
    snoozed,
    still,
    waits,
)
from reverie.testing import NOON, a_memory
from reverie.text.time_expressions import following

ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
RULES = st.sampled_from(
    ["every 20 minutes", "0 9 * * *", "30 2 * * *", "every 2 weeks at 02:30", "*/5 * * * *"]
)


def reminder(text="Call Ann", triggers=(), **details):
    return a_memory(text, kind="intention", triggers=tuple(triggers), details=details)


def after(memory, change):
    return revised(memory, change.fields)


def test_only_what_waits_and_has_come_is_due():
    """CC-67, C41: pending ones whose time has come; not done, cancelled, triggered, or still to
    come.
    """
    now = [
        reminder(when=NOON - 1, status=status)
        for status in ("pending", "triggered", "done", "cancelled")
    ]
    assert [hit.memory for hit in due([*now, reminder(when=NOON + 1), reminder()], NOON)] == now[:1]
    assert due([now[0]._replace(retired_at=NOON)], NOON) == []
    assert due([a_memory("A fact", details={"when": NOON - 1})], NOON) == []


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 50)), max_size=12),
    st.randoms(),
)
def test_by_priority_then_by_time(some, chance):
    """CC-67, C42: the order does not depend on the order in which they were kept."""
    all = [
        reminder(f"r{n}", when=NOON - seconds, priority=priority)
        for n, (priority, seconds) in enumerate(some)
    ]
    mixed = chance.sample(all, len(all))
    found = due(mixed, NOON)
    assert found == due(all, NOON) and len(found) == len(all)
    keys = [(-hit.memory.details["priority"], hit.memory.details["when"]) for hit in found]
    assert keys == sorted(keys)


@given(RULES, ZONES, st.lists(st.floats(-3 * 86_400, 40 * 86_400), min_size=1, max_size=12))
def test_each_occurrence_fires_once_however_the_clock_runs(rule, zone, steps):
    """C43: a machine that sleeps over many times fires once and goes on; a clock that jumps back
    repeats nothing.
    """
    memory = reminder(**completed({"every": rule, "zone": zone}, NOON, lambda: "UTC"))
    now, occurrences = NOON, []
    for step in steps:
        now += step
        for hit in due([memory], now):
            occurrences.append(reminder_of(memory).when)
            memory = after(memory, fired(hit.memory, now))
        assert due([memory], now) == []
        assert waits(memory)
    assert occurrences == sorted(set(occurrences))


@given(st.floats(NOON, NOON + 1e6), st.floats(0, 1e6))
def test_what_does_not_recur_fires_once_for_good(when, later):
    """C45: it stays triggered until it is done or cancelled."""
    memory = reminder(when=when)
    given_ = after(memory, fired(memory, when))
    assert reminder_of(given_).status == "triggered" and due([given_], when + later) == []
    assert still(memory, memory) and not still(given_, memory)


def test_a_context_calls_for_it():
    """C40: a file, a command, a topic; the words that set the reminder do not."""
    one = reminder(
        "Rotate the keys", patterns_for(["src/**/auth.py"], ["git push"], ["staging server"])
    )

    def reasons(*scenes):
        return [hit.why for hit in due([one], NOON, scenes)]

    assert reasons(spoken("I edit src/api/auth.py now")) == [("trigger 'src/**/auth.py'",)]
    assert reasons(about_to_run("Bash", {"command": "cd x && git push origin"})) == [
        ("trigger 'tool:*(git push*)'",)
    ]
    assert reasons(spoken("Is the Staging  server up?")) == [("trigger 'staging server'",)]
    assert (
        reasons(spoken("src/oauth.py and staging serverless"), about_to_run("Bash", "git status"))
        == []
    )
    assert reasons(spoken("when we touch src/auth.py, remind me to rotate the keys")) == []
    assert reasons(spoken("we rotate the keys in src/api/auth.py")) == [
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
    (pattern,) = patterns_for([glob])
    assert all(meets(pattern, spoken(text)) for text in meant_)
    assert not any(meets(pattern, spoken(text)) for text in not_meant)
    assert shown(pattern) == glob


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
    assert patterns_for([written]) == patterns_for([plain])


@pytest.mark.parametrize("nothing", ["", " ", ".", "./"])
def test_what_nothing_can_meet_is_refused(nothing):
    """Rather than a reminder that never comes."""
    with pytest.raises(BadInput, match="names no file"):
        patterns_for([nothing])


def test_no_command_and_no_words_are_refused():
    """Nothing could call for it."""
    for commands, topics in (([""], []), ([], [" "])):
        with pytest.raises(BadInput, match=r"names no command|are no words"):
            patterns_for(commands=commands, topics=topics)


@given(st.text(min_size=1, max_size=20).filter(lambda text: text.strip().strip("./")))
def test_any_glob_and_words_make_a_pattern_that_can_be_met(text):
    """No text breaks the pattern it becomes, and words meet themselves; brackets are told back as
    they were written.
    """
    assert "[" not in text or shown(patterns_for([text])[0]).count("[") == plain_path(text).count(
        "["
    )
    for pattern in patterns_for([text], [text], [text]):
        meets(pattern, about_to_run("Bash", text))
    if text.isalnum() and text.isascii():
        assert meets(patterns_for(topics=[text])[0], spoken(f"so {text}, yes"))


def test_done_and_cancelled():
    """C44: what is done counts no longer; of what recurs `done` ends one occurrence,
    `cancel` all.
    """
    once, often = reminder(when=NOON), reminder(when=NOON, zone="UTC", every="0 9 * * *")
    assert [type(change) for change in ended(once, "done", NOON)][1:] == [Retire]
    assert ended(once, "cancel", NOON)[0].fields["details"]["status"] == "cancelled"
    (skipped,) = ended(often, "done", NOON)
    assert (
        skipped.fields["details"]["status"] == "pending"
        and skipped.fields["details"]["when"] > NOON
    )
    told = after(often, fired(often, NOON))
    (finished,) = ended(told, "done", NOON)
    assert finished.fields["details"]["when"] == told.details["when"]
    assert ended(often, "cancel", NOON)[1].why == "cancelled"
    with pytest.raises(BadInput, match="not something to be reminded of"):
        ended(a_memory("A fact"), "done", NOON)


def test_snoozed():
    """It is due again at another time, whatever it was."""
    given_ = after(one := reminder(when=NOON, zone="UTC"), fired(one, NOON))
    later = after(given_, snoozed(given_, "in 20 minutes", NOON))
    assert (due([later], NOON + 1_199), len(due([later], NOON + 1_200))) == ([], 1)
    with pytest.raises(BadInput, match="which has passed"):
        snoozed(one, "yesterday", NOON)


def test_snoozing_moves_one_time_of_a_series():
    """C44: a stand-up every other Monday, put off to Wednesday, comes again on its Monday; so does
    it where it was

    put off twice, done meanwhile, or put off after it was given.
    """
    # Monday 2025-10-13 09:00
    every, first = (
        {"zone": "UTC", "every": "every 2 weeks at 09:00"},
        1_760_346_000.0,
    )
    fortnight, two_days = 14 * 86_400.0, 2 * 86_400.0
    one = reminder(when=first, **every)
    off = after(one, snoozed(one, first + two_days, NOON))
    twice = after(off, snoozed(off, first + two_days + 60, NOON))
    for late in (off, twice):
        assert (
            reminder_of(after(late, fired(late, first + two_days + 60))).when == first + fortnight
        )
        assert reminder_of(after(late, *ended(late, "done", first + 60))).when == first + fortnight
        assert (
            reminder_of(after(late, fired(late, first + fortnight + two_days))).when
            == first + 2 * fortnight
        )
    given_ = after(one, fired(one, first))
    again = after(given_, snoozed(given_, "in 20 minutes", first))
    assert [reminder_of(again).when, reminder_of(again).status] == [first + 1_200, "pending"]
    on = after(again, fired(again, first + 1_200))
    assert reminder_of(on).when == first + fortnight and "resumes" not in on.details


@given(RULES, ZONES, st.lists(st.tuples(st.booleans(), st.floats(60, 40 * 86_400)), max_size=8))
def test_a_series_keeps_its_rhythm_however_often_it_is_put_off(rule, zone, steps):
    """Whatever is put off in between, a reminder that was given is due next when its
    series says.
    """
    series = memory = reminder(**completed({"every": rule, "zone": zone}, NOON, lambda: "UTC"))
    now, start = NOON, reminder_of(series).when
    for put_off, seconds in steps:
        if put_off:
            memory = after(memory, snoozed(memory, now + seconds, now))
        now += seconds
        if due([memory], now):
            memory = after(memory, fired(memory, now))
            assert reminder_of(memory).when == max(following(rule, start, now, zone), start)


def test_details_that_make_no_sense_are_as_if_not_said():
    """A bad line of an imported file stops nothing."""
    odd = reminder(when="soon", zone="Mars", every="x", priority="high", status="lost")
    assert reminder_of(odd) == reminder_of(reminder())
    assert due([odd, one := reminder(when=NOON)], NOON)[0].memory == one
    assert due(
        [reminder(when=1e18), reminder(when=-1e18), reminder(when=float("nan")), one], NOON
    ) == due([one], NOON)
    bad = reminder(when=NOON, zone="Mars/Olympus", every="banana")
    assert after(bad, fired(bad, NOON)).details["status"] == "triggered"


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
    given_ = after(odd, fired(odd, NOON))
    assert (len(due([odd], NOON)), due([given_], NOON + 1e8)) == (1, [])


def test_one_that_cannot_come_again_is_given_once():
    """After the calendar's last day: it fires, stays in the list, and says how often
    it was meant.
    """
    last = reminder(when=NOON, zone="UTC", every="0 9 * * *")
    given_ = after(last, fired(last, 253_402_290_000.0))
    assert not waits(given_) and given_.details["status"] == "triggered"
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
        completed(details, NOON, lambda: "UTC")


def test_what_was_understood_is_told_back():
    """In words: the time with its zone, how it recurs, what calls for it."""
    details = completed(
        {"every": "every weekday at 8:30", "zone": "Europe/Berlin"}, NOON, lambda: "UTC"
    )
    assert meant(reminder(triggers=patterns_for(["auth.py"]), **details)) == (
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
def test_what_the_words_for_how_often_leave_open_is_as_the_first_time(said, understood):
    """C39: a first time at 14:00 means 14:00 each time, unless another hour is said."""
    details = completed({**said, "zone": "UTC"}, NOON, lambda: "UTC")
    assert meant(reminder(**details)) == understood
    assert meant(reminder(**completed(details, NOON, lambda: "UTC"))) == understood


def test_that_shorter_months_are_passed_over_is_told():
    """Whoever says "on the 31st" hears what that means."""
    details = completed({"every": "every month on the 31st", "zone": "UTC"}, NOON, lambda: "UTC")
    assert meant(reminder(**details)).endswith(
        "then by cron 0 9 31 * *, only in months that have this day"
    )
