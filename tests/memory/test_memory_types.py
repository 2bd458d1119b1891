# mypy: no-check-untyped-defs
"""The memory types as pure functions: episodes, feelings, seasons, procedures, scratch pads, and
their capacities.
"""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.consolidation.archiving import USER_PROVENANCE, find_over_capacity, has_faded
from reverie.core.errors import BadInput
from reverie.core.kinds import (
    CAPACITY,
    DAY,
    EXPLICIT_KINDS,
    KINDS,
    MEMORY_TYPES,
    effective_confidence,
    memory_type_of,
    to_kind_filter,
)
from reverie.core.model import Event, Retire
from reverie.core.trigger_patterns import context_of_conversation, matches_trigger
from reverie.memory import episodes, feelings, named_period, procedure, working_memory
from reverie.memory.emotion_detection import detect_emotion
from reverie.retrieval.rescoring import (
    EMOTION_FACTORS,
    PRIOR_BOUND,
    SAME_SEASON_FACTOR,
    compute_prior,
)
from reverie.testing import NOON, make_memory
from reverie.text.learned_phrases import FEELING
from reverie.text.prompt_phrases import list_languages
from tools.languages import read_language_file

KIND = st.sampled_from([*KINDS, "recipe", "playbook"])


@given(st.lists(st.sampled_from(MEMORY_TYPES), unique=True), st.lists(KIND, unique=True), KIND)
@pytest.mark.proves("C58")
def test_types_and_kinds_ask_for_what_both_say(types, kinds, kind):
    """A kind is asked for if it is among the kinds and of one of the types; working memory only by
    name.
    """
    asked = to_kind_filter(types, kinds)
    found = (
        not asked.matches_none
        and (not asked.kinds or kind in asked.kinds)
        and kind not in asked.without
    )
    by_name = (not kinds or kind in kinds) and (not types or memory_type_of(kind) in types)
    assert found == (by_name and (bool(types or kinds) or kind not in EXPLICIT_KINDS))


@pytest.mark.proves("X34")
def test_every_type_has_a_capacity():
    """A capacity for each type."""
    assert set(CAPACITY) == set(MEMORY_TYPES)


@pytest.mark.proves("CC-65", "C17")
def test_an_episode_tells_all_of_it_in_words():
    """Who, what, when, where and why; nothing invented for what is not said."""
    told = episodes.describe_episode(
        "Deployed heron", {"who": "Ann", "where": "staging", "why": "release 2.1.", "outcome": ""}
    )
    assert "Deployed heron. Who: Ann. Where: staging. Why: release 2.1." == told["text"]
    assert {
        "what": "Deployed heron",
        "who": "Ann",
        "where": "staging",
        "why": "release 2.1.",
    } == told["details"]
    assert episodes.is_episode_about(make_memory(**told), ["ANN", "heron", "staging"])
    assert not episodes.is_episode_about(make_memory(**told), ["heron", "production"])
    for what, parts in (("  ", {}), (7, {}), ("a", {"who": 7}), ("a", {"why": "x" * 2_000})):
        with pytest.raises(BadInput):
            episodes.describe_episode(what, parts)


@pytest.mark.parametrize(
    ("payload", "worked"),
    [
        ({"ok": True}, True),
        ({"success": False}, False),
        ({"outcome": "Failed"}, False),
        ({"status": "done"}, True),
        ({"exit_code": 0}, True),
        ({"exit_code": 2}, False),
        ({"error": "no"}, False),
        ({}, None),
        ({"outcome": "purple"}, None),
        ({"exit_code": True}, None),
    ],
)
@pytest.mark.proves("X28")
def test_outcomes_are_read_from_what_hosts_write(payload, worked):
    """Success and failure as hosts write them; what does not say so says nothing."""
    assert worked is episodes.read_success(payload)


@pytest.mark.proves("X28")
def test_what_is_recorded_and_matters_is_an_episode():
    """Goals, tasks and steps either way; runs of tools only if somebody says that they matter."""

    def becomes(verb, **payload):
        return episodes.read_outcome(Event(verb, "me/demo", NOON, payload=payload))

    done = becomes("task", what="ship 2.1", ok=True)
    assert ("task", "Task done: ship 2.1", 0.6) == (done.kind, done.what, done.importance)
    assert 0.7 == becomes("task", what="ship", ok=False).importance
    assert becomes("tool", tool="Bash", command="make", exit_code=0) is None
    run = {"tool": "Bash", "command": "make test", "exit_code": 2, "error": "3 failed"}
    assert becomes("tool", **run) is None
    failed = becomes("tool", **run, importance=0.5)
    assert ("event", "Tool failed: Bash: make test") == failed[:2]
    assert {"outcome": "failed: 3 failed"} == failed.parts
    assert becomes("tool", tool="Bash", command="make", ok=True, importance=0.9) is not None
    assert becomes("task", what="ship") is None
    assert becomes("task", ok=True) is None
    assert becomes("read", what="a", ok=True) is None


@pytest.mark.proves("C47")
def test_a_feeling_is_named_and_measured():
    """An emotion in a word, one of three intensities; anything else is refused, and read as
    nothing.
    """
    assert feelings.Feeling("joy", "high", "it works") == feelings.validate_feeling(
        " Joy ", "high", "it  works"
    )
    for emotion, intensity in (
        ("", "low"),
        ("joy!", "low"),
        (None, "low"),
        ("joy", "huge"),
        ("joy", None),
    ):
        with pytest.raises(BadInput):
            feelings.validate_feeling(emotion, intensity)
    assert feelings.read_feeling(make_memory("a", details={"emotion": "joy"})) is None
    assert feelings.read_feeling(make_memory("a", details={"emotion": {"intensity": 7}})) is None


@given(st.sampled_from(feelings.INTENSITIES), st.sampled_from(feelings.INTENSITIES))
@pytest.mark.proves("CC-68")
def test_the_least_intensity_filters(intensity, minimum):
    """A memory passes whose emotion is at least as strong as was asked for."""
    order = feelings.INTENSITIES.index
    one = make_memory(
        "a", details={"emotion": feelings.feeling_to_details(feelings.Feeling("joy", intensity))}
    )
    assert feelings.is_felt(one, minimum) == (order(intensity) >= order(minimum))
    assert not feelings.is_felt(one, minimum, "fear")


@pytest.mark.proves("C51", "C85", "CC-68")
def test_a_feeling_boosts_within_bounds():
    """A feeling multiplies the score by 1.05, 1.15 or 1.25, and never by more."""
    plain = make_memory("a")
    for intensity, boost in (("low", 1.05), ("medium", 1.15), ("high", 1.25)):
        tagged = plain._replace(details={"emotion": {"name": "joy", "intensity": intensity}})
        assert compute_prior(tagged, NOON) == pytest.approx(boost * compute_prior(plain, NOON))
    assert max(EMOTION_FACTORS.values()) <= 1 + PRIOR_BOUND


@pytest.mark.proves("B56")
def test_a_season_boosts_within_bounds():
    """A memory from a period of the same name is boosted within bounds, and no other."""
    one = named_period.stamp_season(make_memory("a"), named_period.Season("release-week"))
    assert "release-week" == one.details["season"]
    assert compute_prior(one, NOON, "release-week") == pytest.approx(
        SAME_SEASON_FACTOR * compute_prior(one, NOON)
    )
    assert compute_prior(one, NOON, "audit") == compute_prior(one, NOON)
    assert SAME_SEASON_FACTOR <= 1 + PRIOR_BOUND
    assert "end-of-sprint" == named_period.validate_season_label("End of  Sprint")
    for odd in ("", "../x", "a/b", 7, "x" * 80):
        with pytest.raises(BadInput):
            named_period.validate_season_label(odd)


@pytest.mark.proves("B56")
def test_what_comes_from_before_a_season_is_not_of_it():
    """An old conversation that is imported in release week is not of release week."""
    now = named_period.Season("release-week", since=NOON)
    assert not named_period.stamp_season(make_memory("a", at=NOON - 1), now).details
    own = make_memory("a", details={"season": "audit"})
    assert own == named_period.stamp_season(own, now)


@pytest.mark.proves("CC-66")
def test_procedures_by_rate_then_by_use():
    """The better rate first, of equals the one that was tried more."""

    def made(name, worked, failed, rate):
        return make_memory(
            name, kind="procedure", details={"worked": worked, "failed": failed, "rate": rate}
        )

    often, seldom, bad = made("often", 5, 5, 0.6), made("seldom", 1, 0, 0.6), made("bad", 9, 0, 0.4)
    assert ["often", "seldom", "bad"] == [
        one.text for one in procedure.rank_procedures([bad, seldom, often])
    ]


@pytest.mark.proves("CC-66", "C33", "C35")
def test_the_rate_moves_by_a_tenth():
    """From 0.5 to 0.55 to 0.595 by success; to 0.45 by failure."""
    first = procedure.add_outcome(procedure.PracticeRecord(), worked=True)
    assert (0.55, 0.595) == (
        pytest.approx(first.rate),
        pytest.approx(procedure.add_outcome(first, worked=True).rate),
    )
    assert (
        pytest.approx(0.45) == procedure.add_outcome(procedure.PracticeRecord(), worked=False).rate
    )


@pytest.mark.proves("CC-66")
def test_an_empty_trigger_is_met_by_nothing():
    """An empty trigger, or one of blanks, is met by no text."""
    assert not any(
        matches_trigger(empty, context_of_conversation(text))
        for empty in ("", " ")
        for text in ("", "anything at all")
    )


@pytest.mark.proves("C13", "CC-64")
def test_a_scratch_pad_lies_in_its_conversation():
    """One space for each conversation, below the project; odd names are told apart."""
    assert (
        "me/demo/s1"
        == working_memory.conversation_space("me/demo", "s1")
        == working_memory.conversation_space("me/demo/s1", "s1")
    )
    assert "me/x/x" == working_memory.conversation_space(
        "me/x", "x"
    )  # the project is not the conversation's own
    odd = [
        working_memory.conversation_space("me/demo", name)
        for name in ("a b", "a/b", "..", "x" * 300)
    ]
    assert 4 == len(set(odd))
    assert all(one.startswith("me/demo/") and one.count("/") == 2 for one in odd)
    with pytest.raises(BadInput):
        working_memory.conversation_space("me/demo", " ")


@pytest.mark.parametrize("content", ["", "  ", {}, None, 7, ["a"], "x" * 9_000, {"a": "x" * 9_000}])
@pytest.mark.proves("C12")
def test_a_scratch_pad_is_small(content):
    """Limited capacity: a text or an object, not empty, not a file."""
    with pytest.raises(BadInput):
        working_memory.validate_held_content(content)


@pytest.mark.proves("C11")
def test_working_memory_goes_when_its_time_is_over():
    """Sleep does not keep it for a month."""
    pad = make_memory("a", kind="scratch", expires_at=NOON + 3_600)
    assert not has_faded(pad, NOON)
    assert has_faded(pad, NOON + 3_600)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["fact", "event", "negative", "procedure"]),
            st.integers(0, 400),
            st.sampled_from(["observed", "user_stated", "user_corrected"]),
        ),
        max_size=40,
    ),
    st.integers(0, 12),
)
@pytest.mark.proves("X34")
def test_what_is_beyond_the_capacity_is_the_least_retained(rows, most):
    """Never more than necessary, never the user's own words, never what is retained better than
    what stays.
    """
    now = NOON + 500 * DAY
    there = [
        make_memory(f"m{n}", kind=kind, provenance=who, at=now - days * DAY)
        for n, (kind, days, who) in enumerate(rows)
    ]
    gone = find_over_capacity(there, now, dict.fromkeys(MEMORY_TYPES, most))
    for type in MEMORY_TYPES:
        own = [one for one in there if memory_type_of(one.kind) == type]
        loose = [
            one for one in own if one.provenance not in USER_PROVENANCE and one.kind != "negative"
        ]
        left = [one for one in loose if one.id not in gone]
        assert len(loose) - len(left) == min(len(loose), max(0, len(own) - most))
        assert all(
            effective_confidence(a, now) <= effective_confidence(b, now)
            for a in loose
            if a.id in gone
            for b in left
        )
    assert all(
        one.provenance not in USER_PROVENANCE and one.kind != "negative"
        for one in there
        if one.id in gone
    )


@pytest.mark.parametrize(
    ("text", "emotion"),
    [
        ("Thanks!", "satisfaction"),
        ("It finally works, thank you!", "joy"),
        ("Phew, the data is back.", "relief"),
        ("I told you not to touch that file", "frustration"),
        ("it's still broken", "frustration"),
        ("WHY DO YOU KEEP DELETING MY COMMENTS", "frustration"),
        ("sigh.", "frustration"),
        ("Wow, that was fast", "joy"),
        ("how many times do I have to say it", "frustration"),
        ("the API is back at last", "joy"),
        ("I owe you one", "joy"),
        ("damn it, that branch is gone", "frustration"),
    ],
)
@pytest.mark.proves("C50")
def test_what_the_user_feels_is_told_from_their_words(text, emotion):
    """Frustration, joy and the like are detected in the user's words, and in calm words none."""
    assert emotion == detect_emotion(text).emotion


@pytest.mark.parametrize(
    "text",
    [
        "The server throws a fatal error",
        "kill the process on port 8000",
        "great, now add a test for the empty list",
        "Thanks! Could you also bump the version?",
        "the log says: CRITICAL ERROR: DISK FULL",
        "run the tests again",
        "Translate 'thank you very much' into German",
        "set MAX_RETRIES AND DEFAULT_TIMEOUT AND BASE_URL",
        "",
        "```\nfuck\n```",
        "is damn-vulnerable-app in the compose file?",
        "the finally clause works",
        "use try/finally, then the loop runs",
        "At last count the queue works",
        "Is the API back at last",
        "Yes, run it!",
        "yes! please do",
        "omg.py is the module name",
        "I'm happy with either",
        "make it much better",
        "Make the page so much faster",
        "wow, 5 errors",
        "How many times should I retry?",
        "how many times do I call init?",
        "DO NOT PUSH TO MAIN",
        "the worst case I have is n^2",
        "what the heck is a monad?",
        "Do you always run tests first?",
        "did you even know Rust has traits?",
        "It still fails when offline",
        "Seriously consider Rust",
        "sigh function (sigmoid)",
        "for once-only init",
        "I owe you a review",
    ],
)
@pytest.mark.proves("C50")
def test_what_only_looks_like_a_feeling_is_none(text):
    """Errors that are reported, openings of requests, quotations and constants."""
    assert detect_emotion(text) is None


def appraise_languages(field):
    """What is told of the sentences of one field of the bench's file, by language."""
    path = Path(__file__).parents[2] / "bench" / "appraisal" / "languages.toml"
    cases = tomllib.loads(path.read_text("utf-8"))
    found = [detect_emotion(text) for case in cases.values() for text in case[field]]
    return ["" if one is None else one.emotion for one in found]


@pytest.mark.proves("C50")
def test_feelings_are_told_in_nine_more_languages():
    """What is usually said is told from calm requests; in rare words most of it is missed, and
    nothing is taken for its opposite.
    """
    upset, pleased = appraise_languages("upset"), appraise_languages("pleased")
    assert upset.count("frustration") >= 0.95 * len(upset) and len(upset) == 54
    assert not any(appraise_languages("calm"))
    assert "frustration" not in pleased and pleased.count("") <= 0.05 * len(pleased)
    unseen = appraise_languages("pleased_unseen")
    assert "frustration" not in unseen and unseen.count("") <= len(unseen) / 2
    assert set(appraise_languages("upset_unseen")) <= {"", "frustration"}


@pytest.mark.parametrize(
    ("example", "wanted"),
    [
        (example, wanted)
        for code in list_languages()
        for field, wanted in (("upset", -1), ("pleased", 1), ("not", 0))
        for example in read_language_file(code).get(FEELING, {}).get(f"{field}_examples", ())
    ],
)
def test_a_language_holds_to_its_examples_of_feelings(example, wanted):
    feeling = detect_emotion(example)
    assert wanted == (0 if feeling is None else -1 if feeling.emotion == "frustration" else 1)


@given(st.text(max_size=300))
def test_any_text_can_be_appraised(text):
    """Whatever is said, an answer: one of the intensities, or none."""
    found = detect_emotion(text)
    assert found is None or (found.intensity in feelings.INTENSITIES and found.why)


@pytest.mark.proves("C35")
def test_a_procedure_that_is_tried_is_revised_and_not_retired():
    """The record improves, nothing is lost."""
    kept = make_memory("a", kind="procedure")
    assert not isinstance(procedure.record_outcome(kept, True, NOON), Retire)
