"""Readers of recorded conversations: every format, every encoding, and junk with the number of its
line.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadTranscript
from reverie.porting.transcript_formats import read_provider_messages, read_transcript

OPENAI = [
    {"role": "system", "content": "be kind"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "hello"},
            {"type": "image_url", "image_url": {"url": "x"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "ls", "arguments": '{"a": 1}'}}],
    },
    {"role": "tool", "content": "file.py", "tool_call_id": "1"},
]


def said(data):
    return [(m.role, m.text) for talk in read_transcript(data).conversations for m in talk.messages]


def jsonl(rows, newline="\n"):
    return newline.join(json.dumps(row) for row in rows).encode()


EXPECTED = [
    ("system", "be kind"),
    ("user", "hello"),
    ("assistant", '[ls {"a": 1}]'),
    ("tool", "file.py"),
]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(OPENAI).encode(),
        json.dumps(OPENAI, indent=2).encode(),
        json.dumps({"messages": OPENAI}).encode(),
        json.dumps({"model": "x", "messages": OPENAI}, indent=4).encode(),
        jsonl(OPENAI),
        jsonl(OPENAI, "\r\n"),
        b"\xef\xbb\xbf" + jsonl(OPENAI) + b"\n\n",
        json.dumps(OPENAI).encode("utf-16"),
    ],
)
def test_openai_messages(data):
    """A list, an object with messages, one message a line; BOM, CRLF and UTF-16 too."""
    assert (read_transcript(data).form, said(data)) == ("messages", EXPECTED)


def test_claude_code():
    """Lines of user and assistant count; summaries, notes of the program and side conversations do
    not.
    """
    rows = [
        {"type": "summary", "summary": "x", "leafUuid": "1"},
        {
            "type": "user",
            "isMeta": True,
            "message": {"role": "user", "content": "Caveat"},
            "sessionId": "s",
        },
        {
            "type": "user",
            "message": {"role": "user", "content": "fix it"},
            "sessionId": "s",
            "timestamp": "2026-01-02T03:04:05.678Z",
        },
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "looking"},
                    {"type": "tool_use", "id": "t", "name": "Read", "input": {"file": "a.py"}},
                ],
            },
            "sessionId": "s",
        },
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": [{"type": "text", "text": "x = 1"}],
                    }
                ],
            },
            "sessionId": "s",
        },
        {
            "type": "user",
            "isSidechain": True,
            "message": {"role": "user", "content": "side"},
            "sessionId": "s",
        },
        {"type": "file-history-snapshot", "snapshot": {}},
    ]
    recording = read_transcript(jsonl(rows))
    assert (recording.form, [talk.session for talk in recording.conversations]) == ("claude", ["s"])
    spoken = [
        ("user", "fix it"),
        ("assistant", 'looking\n[Read {"file": "a.py"}]'),
        ("tool", "x = 1"),
    ]
    assert spoken == said(jsonl(rows))
    assert recording.conversations[0].messages[0].at == pytest.approx(1767323045.678)


def test_a_corpus():
    """Sessions in order, speakers as users, assistants as such; sets without time or
    speaker too.
    """
    rows = [
        {
            "id": "1",
            "text": "hi",
            "timestamp": "2024-01-01T00:00:00",
            "session_id": "S1",
            "speaker": "Ann",
        },
        {"id": "2", "text": "ho", "timestamp": None, "session_id": "S2", "speaker": "assistant"},
        {"id": "3", "text": "he", "timestamp": "2024-01-01", "session_id": "S1", "speaker": "Bob"},
    ]
    recording = read_transcript(jsonl(rows))
    assert recording.form == "corpus"
    assert [("S1", ["Ann", "Bob"]), ("S2", ["assistant"])] == [
        (talk.session, [m.speaker for m in talk.messages]) for talk in recording.conversations
    ]
    assert said(jsonl(rows)) == [("user", "hi"), ("user", "he"), ("assistant", "ho")]
    assert said(jsonl([{"id": "f0", "text": "def f(): ..."}])) == [("user", "def f(): ...")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "nothing in that file"),
        (b"  \n ", "nothing in that file"),
        (b"hello", "Line 1 is not JSON"),
        (b'{"role":', "Line 1 is not JSON"),
        (b'{"role":"wizard","content":"x"}', "role 'wizard'"),
        (b'{"a": 1}', "Line 1 is no message: it has a"),
        (b"[1]", "Item 1"),
        (b"[", "Line 1 is not JSON"),
        (b'[\n{"role": "user", "content": "x"},\n{]', "Line 3 is not JSON"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "Line 1"),
        (b'{"type":"user","isMeta":true,"message":{"content":"x"}}', "no message in that file"),
    ],
)
def test_junk_is_named_by_its_line(data, says):
    with pytest.raises(BadTranscript) as caught:
        read_transcript(data)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("data", "texts", "remarks"),
    [
        (b'{"role":"user","content":"x"}\n{"role":"user","cont', ["x"], ["Line 2 is unfinished"]),
        (
            b'{"role":"user","content":"x"}\n\n{"role":"user","content":"y"}\n{"ro\n',
            ["x", "y"],
            ["Line 4 is unfinished"],
        ),
        (
            b'{"role":"user","content":"caf\xe9"}\n{"role":"user","content":"y"}',
            ["caf\ufffd", "y"],
            ["Line 1 is not UTF-8"],
        ),
        (
            b'{"role":"user","content":"x"}\n{"role":"user","content":"\xc3',
            ["x"],
            ["Line 2 is not UTF-8", "Line 2 is unf"],
        ),
        (b'{"role":"user","content":"x"}\n', ["x"], []),
    ],
)
@pytest.mark.proves("CC-63")
def test_a_truncated_transcript_is_read(data, texts, remarks):
    """A line that was cut off is left out, a byte that is no text is replaced, and both are said."""
    recording = read_transcript(data)
    assert [m.text for talk in recording.conversations for m in talk.messages] == texts
    assert len(recording.remarks) == len(remarks)
    assert all(one.startswith(start) for one, start in zip(recording.remarks, remarks, strict=True))


GOOD = b'{"role":"user","content":"x"}\n'


@pytest.mark.parametrize(
    ("data", "texts", "remark"),
    [
        (GOOD + b'{"role":\n{"role":"user","content":"y"}', ["x", "y"], "Line 2 is not JSON"),
        (GOOD + b"hello", ["x"], "Line 2 is not JSON"),
        (b'{"role":\n' + GOOD, ["x"], "Line 1 is not JSON"),
        (GOOD + b"\n17\n", ["x"], "Line 3 is not a JSON object"),
        (GOOD + b'{"a":1}', ["x"], "Line 2 is no message"),
        (GOOD + b'{"role":"wizard","content":"y"}', ["x"], "role 'wizard'"),
        (b"[17, " + GOOD + b"]", ["x"], "Item 1"),
        (b'{"text":"x","id":"1"}\n{"text":5,"id":"2"}', ["x"], "Line 2 has no text"),
    ],
)
def test_a_bad_line_costs_that_line(data, texts, remark):
    """It is left out, counted, and named; all others are read, also as a provider takes them."""
    recording = read_transcript(data)
    assert [m.text for talk in recording.conversations for m in talk.messages] == texts
    assert recording.left_out == 1
    (told,) = recording.remarks
    assert remark in told and "left out" in told
    messages, remarks = read_provider_messages(data)
    assert [one["content"] for one in messages] == texts and remarks == (told,)


def test_many_bad_lines_are_counted_in_one_remark():
    (told,) = read_transcript(GOOD + b"x\n" * 9 + GOOD).remarks
    assert told.startswith("9 lines were left out; the first: Line 2 is not JSON")


def test_a_time_that_is_none_costs_the_time():
    """What was said is not lost with it."""
    recording = read_transcript(b'{"text":"x","id":"1","timestamp":"soon"}')
    ((message,),) = [talk.messages for talk in recording.conversations]
    assert (message.text, message.at, recording.left_out) == ("x", None, 0)
    assert "Line 1: timestamp='soon' is not a time" in recording.remarks[0]


NAMES = st.sampled_from(
    [
        "role",
        "content",
        "text",
        "type",
        "message",
        "messages",
        "id",
        "timestamp",
        "tool_calls",
        "function",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(JSON, max_size=4).map(lambda rows: jsonl(rows)),
        JSON.map(lambda value: json.dumps(value).encode()),
    )
)
def test_any_bytes_are_read_or_refused(data):
    """Whatever the file: conversations, or BadTranscript; never another error."""
    try:
        assert all(talk.messages for talk in read_transcript(data).conversations)
    except BadTranscript as err:
        assert str(err)
