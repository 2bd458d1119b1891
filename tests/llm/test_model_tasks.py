"""The language model's tasks as pure functions: what is asked, and how little an answer can do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput
from reverie.core.kinds import EXTRACTED_KINDS
from reverie.llm import extraction_task as extraction
from reverie.llm import group_naming_task, judge_task, pair_task
from reverie.llm.language_model import BadAnswer, parse_llm_address
from reverie.llm.prompt_format import fence_rows, iter_json_values
from reverie.llm.spending_limits import SpendingLimits, UsageDay, load_usage_day
from reverie.testing import NOON, make_memory
from reverie.text.host_messages import HostMessage

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
KNOWN_KEYS = st.sampled_from(
    [
        "use",
        "related",
        "keep",
        "reject",
        "text",
        "kind",
        "from",
        "to",
        "files",
        "relation",
        "confidence",
        "why",
        "name",
        "trust",
        "id",
    ]
)
NEARLY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KNOWN_KEYS, inner, max_size=4),
    max_leaves=20,
)
ANSWERS = (
    st.text()
    | NEARLY.map(json.dumps)
    | ANY_JSON.map(json.dumps)
    | st.tuples(st.text(), NEARLY.map(json.dumps), st.text()).map("".join)
)
WINDOW = tuple(HostMessage("user", f"message {n} about src/app.py", n) for n in range(10, 20))


# The judge


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("[3,1,7]", (3, 1, 7)),
        ("Surely [3, 1, 7] fit.", (3, 1, 7)),
        ("[3,3,1]", (3, 1)),
        ("[0, 2, 99]", (2,)),
        ("[]", ()),
        ('{"use": [2]}', (2,)),
        ('```json\n{"use": []}\n```', ()),
        ("[1] is near, yet the answer is\n[2]", (2,)),
        ('{"use": [1], "delete": ["mem_1"], "trust": 1}', (1,)),
    ],
)
@pytest.mark.proves("CC-33", "CC-34")
def test_the_judges_answer_is_read(text, use):
    """The judge's list is read from prose; duplicates, empty lists and numbers out of range are
    handled.
    """
    assert use == judge_task.read_judgement(text, 10).use


@pytest.mark.parametrize(
    "text",
    [
        "all of them",
        "3, 1",
        "[99]",
        "[0]",
        "[1.5]",
        '["1"]',
        "[true]",
        '{"use": "1"}',
        "[1] or rather [2] I think",
        "[[1]]",
        "{",
    ],
)
@pytest.mark.proves("CC-34")
def test_an_unreadable_verdict_is_a_failure(text):
    """A verdict that cannot be parsed is a failure, not a guess."""
    with pytest.raises(BadAnswer):
        judge_task.read_judgement(text, 10)


@given(ANSWERS, st.integers(1, 50))
def test_a_verdict_names_only_candidates(text, count):
    """Whatever the answer: numbers in range, each once, or BadAnswer."""
    try:
        found = judge_task.read_judgement(text, count)
    except BadAnswer:
        return
    assert len(set(found.use)) == len(found.use)
    assert all(
        1 <= n <= count for n in (*found.use, *(n for a, b, _ in found.related for n in (a, b)))
    )


@pytest.mark.proves("X3", "CC-35")
def test_ballots():
    """By votes, then best place; failed ballots are neutral; all failed is nothing."""

    def use(agree, *ballots):
        found = judge_task.count_ballots(
            [None if ballot is None else judge_task.Judgement(ballot) for ballot in ballots], agree
        )
        return found and found.use

    assert None is use(1, None, None) is use(2)
    assert (2, 1, 3) == use(1, (1, 2), (2, 3))
    assert (2,) == use(2, (1, 2), None, (2, 3))
    assert () == use(2, (1,), None)
    assert (4, 5) == use(2, (5, 4), (4, 5))


@pytest.mark.proves("CC-38")
def test_the_judge_runs_on_its_cadence():
    """First turn runs; last at 3: 4 and 5 skip, 6 runs; a new topic always."""
    runs = [judge_task.is_judge_due(turn, 3, changed=False) for turn in (4, 5, 6)]
    assert [False, False, True] == runs
    assert judge_task.is_judge_due(1, None, changed=False) and judge_task.is_judge_due(
        4, 3, changed=True
    )


@pytest.mark.proves("A55", "A49")
def test_the_judge_is_asked_for_what_can_be_acted_upon():
    """Not for trivia, nor for all that is about the same topic; the candidates come numbered."""
    asked = judge_task.build_judge_request("where?", [make_memory("one"), make_memory("two")], 5.0)
    assert all(
        words in asked.instructions for words in ("can be acted upon", "trivia", "is not enough")
    )
    assert [None, 1, 2] == [json.loads(line).get("n") for line in asked.data.splitlines()[1:-1]]


@pytest.mark.proves("CC-39")
def test_the_focused_query():
    """Reminders, tool lines and tool errors are left out; the last user line comes first."""
    window = [
        HostMessage("user", "Deploy it.\n<system-reminder>be nice\nalways</system-reminder>"),
        HostMessage(
            "assistant",
            'I will.\n[tool: bash] ls -la\nTraceback (most recent call last):\n  File "a.py"\n'
            "ValueError: no\nIt failed.",
        ),
        HostMessage("tool", "secret output"),
        HostMessage("system", "you are an agent"),
        HostMessage("user", "Why?\n<reverie-memory>\nold\n</reverie-memory>"),
        HostMessage("assistant", "Let me see."),
    ]
    assert (
        "user: Why?\nuser: Deploy it.\nassistant: I will.\nIt failed.\nassistant: Let me see."
        == judge_task.focus_conversation(window)
    )
    assert "only tools" == judge_task.focus_conversation([HostMessage("tool", "only tools")])
    assert "<system-reminder>x" == judge_task.focus_conversation(
        [HostMessage("user", "<system-reminder>x")]
    )
    assert "" == judge_task.focus_conversation([])


@given(
    st.lists(
        st.builds(
            HostMessage,
            st.sampled_from(["user", "assistant", "tool", "system"]),
            st.text(max_size=300),
        ),
        max_size=8,
    ),
    st.integers(20, 500),
)
def test_the_query_is_never_too_long(window, most):
    """4000 characters of the tail."""
    assert len(judge_task.focus_conversation(window, most)) <= most


def test_candidates_are_cut():
    """50 candidates of 600 characters."""
    request = judge_task.build_judge_request("q", [make_memory("x" * 5_000)] * 70, 5.0)
    rows = [json.loads(line) for line in request.data.splitlines()[1:-1]]
    assert 51 == len(rows) and 600 == max(len(row.get("note", "")) for row in rows)


# Data and answers


@given(st.lists(st.dictionaries(st.text(), st.text()), max_size=5))
def test_rows_of_data_cannot_close_their_marks(rows):
    """One line a row, and marks that the rows do not hold, whatever they hold."""
    first, *body, last = fence_rows(rows).split("\n")
    mark = first.strip("<>")
    assert f"</{mark}>" == last and not any(mark in line for line in body)
    assert rows == [json.loads(line) for line in body if line]


@given(ANSWERS)
def test_finding_json_in_any_text_ends(text):
    """Any text: no error, and what is found is JSON."""
    for value, _ in iter_json_values(text):
        json.dumps(value)


@given(ANSWERS)
def test_any_answer_is_a_value_or_bad(text):
    """No task raises anything but BadAnswer, and what it accepts is within its bounds."""
    readers = (
        lambda t: extraction.read_extraction(t, WINDOW),
        pair_task.read_comparison,
        pair_task.read_relation,
        group_naming_task.read_group_name,
        lambda t: pair_task.read_merged_text(t, ["a 1", "b 2"]),
        lambda t: group_naming_task.read_gap_answers(t, WINDOW),
    )
    for reading in readers:
        try:
            found = reading(text)
        except BadAnswer:
            continue
        if isinstance(found, extraction.ExtractionAnswer):
            assert len(found.items) <= extraction.MAX_ITEMS
            for item in found.items:
                assert (
                    10 <= item.messages[0] <= item.messages[1] < 20 and item.kind in EXTRACTED_KINDS
                )
                assert 0 < len(item.text) <= extraction.MAX_TEXT_CHARS and set(item.files) <= {
                    "src/app.py"
                }
        if isinstance(found, pair_task.PairOpinion):
            assert (
                found.relation in (*pair_task.RELATIONS, *pair_task.LINKS)
                and 0 <= found.confidence <= 1
            )


# Extraction


@given(
    st.lists(
        st.builds(HostMessage, st.just("user"), st.text(max_size=3_000), st.integers(0, 99)),
        max_size=90,
    )
)
def test_windows_cover_everything_within_bounds(said):
    """40 messages, 24,000 characters; nothing is lost, and of each window the next one has at most
    the last four messages.
    """
    parts = list(extraction.split_windows(said))
    seen: list[object] = []
    for part in parts:
        most = min(len(seen), len(part), extraction.OVERLAP_MESSAGES)
        shared = next(n for n in range(most, -1, -1) if seen[len(seen) - n :] == list(part[:n]))
        seen += part[shared:]
    assert len(seen) <= len(said) and set(seen) == set(said)
    assert all(0 < len(part) <= 40 and sum(len(m.text) for m in part) <= 24_000 for part in parts)


@pytest.mark.proves("X16")
def test_the_known_list_is_cut():
    """A model is shown at most 80 known memories of 150 characters."""
    data = extraction.build_extraction_request(WINDOW, ["x" * 500] * 100).data
    known = [json.loads(line)["known"] for line in data.splitlines()[1:-1] if '"known"' in line]
    assert (80, 150) == (len(known), max(map(len, known)))


def test_one_bad_note_drops_that_note_alone():
    """The others are kept, what was dropped is on record; where all are bad, nothing is believed."""
    good = {"text": "Redis holds the queue.", "kind": "fact", "from": 10}
    bad = {"text": "It rests on nothing.", "from": 900}
    found = extraction.read_extraction(json.dumps({"keep": [bad, good, 7]}), WINDOW)
    assert ["Redis holds the queue."] == [item.text for item in found.items]
    assert ["It rests on nothing.", "7"] == [item.text for item in found.rejected_items]
    with pytest.raises(BadAnswer):
        extraction.read_extraction(json.dumps({"keep": [bad]}), WINDOW)


def test_a_window_begins_with_the_end_of_the_one_before():
    """What is decided in one often answers what was asked in the one before."""
    said = [HostMessage("user", f"message {n}", n) for n in range(60)]
    first, second = extraction.split_windows(said)
    assert [one.place for one in first] == list(range(40))
    assert [one.place for one in second] == list(range(36, 60))


@pytest.mark.proves("CC-61")
def test_an_unknown_kind_is_a_fact():
    """Unknown category becomes fact, entity stays entity."""

    def kinds(kind):
        row = {"text": "t", "kind": kind, "from": 10}
        return extraction.read_extraction(json.dumps({"keep": [row]}), WINDOW).items[0].kind

    assert ["fact", "fact", "entity"] == [kinds("king"), kinds(7), kinds("entity")]


# Pairs and groups


def test_a_comparison():
    """One relation of five, with a reason."""
    found = pair_task.read_comparison(
        'It is: {"relation": "updates", "confidence": 0.8, "why": "a new port"}'
    )
    assert ("updates", 0.8, "a new port") == found
    for bad in (
        '{"relation": "delete"}',
        '{"relation": "same", "confidence": 7}',
        '{"relation": "same"} {"relation": "apart"}',
        '{"relation": null}',
    ):
        with pytest.raises(BadAnswer):
            pair_task.read_comparison(bad)


@pytest.mark.parametrize(
    ("relation", "confidence", "asked"),
    [
        ("near", 0.5, True),
        ("contradicts", 0.89, True),
        ("contradicts", 0.95, False),
        ("near", 0.2, True),
        ("same", 0.5, False),
        ("apart", 0.5, False),
    ],
)
def test_only_unsure_pairs_are_asked_about(relation, confidence, asked):
    """Rules that are sure need no model."""
    assert asked is pair_task.is_unsure(relation, confidence)


TEXTS = [
    "The API of Billing listens on port 8080.",
    "billing's API is started by bin/api.sh as userId 7.",
]
GOOD = (
    "The API of Billing listens on port 8080; billing's API is started by bin/api.sh as userId 7."
)


@pytest.mark.proves("CC-71")
def test_a_merged_text_keeps_everything():
    """Every number, identifier, name and path, or it is refused."""

    def merged(text):
        return pair_task.read_merged_text(json.dumps({"text": text}), TEXTS)

    assert GOOD == merged(GOOD)
    for lost in ("8080", "bin/api.sh", "userId", "Billing listens", "7."):
        with pytest.raises(BadAnswer, match="lost"):
            merged(GOOD.replace("billing's ", "").replace(lost, "it"))
    with pytest.raises(BadAnswer, match="made up"):
        merged(GOOD + " It needs Redis 5.")
    for bad in ("", " ", GOOD + " and so on" * 100):
        with pytest.raises(BadAnswer):
            merged(bad)


@given(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), min_size=1, max_size=3))
def test_a_merged_text_may_join_both(texts):
    """What only stands side by side has lost nothing."""
    together = "\n".join(texts)
    assert together.strip() == pair_task.read_merged_text(json.dumps({"text": together}), texts)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Release process", "release process"),
        ('"Login tests."', "login tests"),
        ("CI/CD", "ci/cd"),
        ("This is a group of notes about releases", None),
        ("", None),
        ("<b>x</b>", None),
        ("../../etc", None),
        ("x" * 100, None),
    ],
)
def test_cluster_names_have_one_to_four_words(name, found):
    """One to four words; anything else is refused."""
    answer = json.dumps({"name": name})
    if found is None:
        with pytest.raises(BadAnswer):
            group_naming_task.read_group_name(answer)
    else:
        assert found == group_naming_task.read_group_name(answer)


@pytest.mark.proves("B82")
def test_gaps_are_answered_from_what_was_said():
    """A note that answers a question rests on messages that were shown."""
    request = group_naming_task.build_gaps_request(["where is staging?"], WINDOW)
    assert "where is staging?" in request.data and '"message":10' in request.data
    answer = '{"keep": [{"text": "Staging is heron.", "kind": "fact", "from": %d, "to": 12}]}'
    assert (11, 12) == group_naming_task.read_gap_answers(answer % 11, WINDOW).items[0].messages
    with pytest.raises(BadAnswer):
        group_naming_task.read_gap_answers(answer % 3, WINDOW)


# Settings and books


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("anthropic:claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
        ("openai:http://127.0.0.1:8080/v1#qwen:7b", "openai:qwen:7b@127.0.0.1:8080"),
        ("openai:https://user:pw@host.example/v1#m", "openai:m@host.example"),
    ],
)
def test_the_name_shows_no_password(setting, name):
    """The name stands in logs."""
    assert name == parse_llm_address(setting).name


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://h:99999/v1", "http://x:abc/v1", "http:///v1", "ftp://h/v1"]
)
def test_an_address_that_is_none_is_named(url):
    """Not the first call finds out, and it is no bug of ours."""
    with pytest.raises(BadInput, match="names no model"):
        parse_llm_address(f"openai:{url}#m")


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.floats(0, 10),
    st.floats(0, 10),
)
def test_the_budget_is_never_exceeded(limit, spent, more, dollars, cost):
    """What is allowed fits; 0 is no limit."""
    day = UsageDay("2025-10-09", "m", tokens_in=spent, dollars=dollars)
    assert SpendingLimits().allows(day, more, cost)
    if SpendingLimits(limit, 1.0).allows(day, more, cost):
        assert (not limit or spent + more <= limit) and dollars + cost <= 1.0


@given(st.text() | ANY_JSON.map(json.dumps))
def test_any_budget_file_can_be_read(kept):
    """Damaged books are a new day's; those that were written come back as they were."""
    day = (
        load_usage_day(kept, "m", NOON)
        .with_call("judge", "ok", 5, 3, None)
        .with_rest(NOON, 30.0, "why")
    )
    assert day == load_usage_day(day.to_json(), "m", NOON)
    assert 0.0 == load_usage_day(day.to_json(), "other", NOON).rest_until
    assert (0, NOON + 30) == (
        (tomorrow := load_usage_day(day.to_json(), "m", NOON + 86_400)).tokens_in,
        tomorrow.rest_until,
    )


@pytest.mark.proves("X27")
def test_a_note_has_importance_data_and_a_feeling():
    """How much it matters, what can be looked up by name, what the user feels; another form says
    nothing.
    """

    def read(**more):
        row = {"text": "a", "kind": "fact", "from": 10, **more}
        return extraction.read_extraction(json.dumps({"keep": [row]}), WINDOW).items[0]

    good = read(
        importance=0.9,
        data={"port": 5433, "who": " Ann "},
        emotion={"name": "joy", "intensity": "high"},
    )
    assert (0.9, {"port": "5433", "who": "Ann"}, {"name": "joy", "intensity": "high"}) == (
        good.importance,
        good.data,
        good.emotion,
    )
    for odd in (
        {},
        {"importance": 7, "data": [1], "emotion": "joy"},
        {"importance": True, "data": {"A B!": "x"}},
        {"emotion": {"name": "joy", "intensity": "huge"}},
        {"data": {"a": {"b": 1}}, "emotion": {}},
    ):
        plain = read(**odd)
        assert (0.5, {}, {}) == (plain.importance, plain.data, plain.emotion)
    assert extraction.MAX_NAMED_VALUES == len(read(data={f"name{n}": "x" for n in range(50)}).data)


@pytest.mark.proves("B19")
def test_a_note_has_tags():
    """Single words in lower case, three at most, each once; what is no word is dropped."""

    def read(tags):
        row = {"text": "a", "kind": "fact", "from": 10, "tags": tags}
        return extraction.read_extraction(json.dumps({"keep": [row]}), WINDOW).items[0].tags

    assert ("deploy", "ci-cd", "größe") == read(["Deploy", "#deploy", " ci-cd", "Größe", "fourth"])
    assert () == read("deploy") == read([7, None, "two words", "a/b", "@ann", "", "x" * 33])
    assert () == read(None) == read({"deploy": 1})


@pytest.mark.parametrize(
    ("role", "text", "sort"),
    [
        ("user", "my editor is helix", "message"),
        ("assistant", "I could look at the parser", "thought"),
        ("assistant", "Let me read the parser first.", "thought"),
        ("assistant", "The lock file is written by two processes at once.", "conclusion"),
        ("assistant", "I added a test for it", "action"),
        ("user", "we decided to use Postgres", "decision"),
        ("assistant", "The cause was a stale lock", "experience"),
        ("user", "it turned out that CI was down", "experience"),
    ],
)
@pytest.mark.proves("X29")
def test_a_row_says_what_it_is(role, text, sort):
    """Guidance for each sort of message, and each row of the request names its sort."""
    asked = extraction.build_extraction_request((HostMessage(role, text, 3),), ())
    assert sort == extraction.classify_message(HostMessage(role, text, 3))
    assert f'"is":"{sort}"' in asked.data
    assert all(
        f'"{name}": {what}' in asked.instructions for name, what in extraction.GUIDANCE.items()
    )
