"""Which parts of a message the context window reads and keeps together: Responses, documents,
pictures, odd shapes.
"""

import json

import pytest

from reverie.context_window.message_index import MessagePlace
from reverie.context_window.message_parts import PICTURE_TOKENS, get_content_text, get_message_text
from reverie.context_window.provider_messages import MessageFacts, split_context_items
from reverie.context_window.stub_lines import MOVED
from reverie.context_window.window_fitting import FitRequest, fit_messages
from reverie.runtime.companion import to_evicted_message
from reverie.testing import NOON
from reverie.text.host_messages import SeenMessages
from reverie.text.token_counts import QuarterEstimate, estimate_tokens

WIDE = FitRequest(10**9)


def said(role, content):
    return {"role": role, "content": content}


def call(id, **more):
    return {
        "type": "function_call",
        "call_id": id,
        "name": "sh",
        "arguments": '{"command": "make"}',
        **more,
    }


def output(id, text):
    return {"type": "function_call_output", "call_id": id, "output": text}


def thought(id, **more):
    return {
        "type": "reasoning",
        "id": id,
        "summary": [{"type": "summary_text", "text": f"perhaps {id}"}],
        **more,
    }


def answer(text):
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


def items(*messages):
    return split_context_items(messages, lambda _: MessageFacts(NOON), QuarterEstimate())


def rounds(count):
    """A conversation in the shape of OpenAI's Responses."""
    found = [said("user", "go")]
    for n in range(count):
        found += [
            said("user", f"step {n}"),
            thought(f"rs{n}"),
            call(f"a{n}"),
            call(f"b{n}"),
            output(f"b{n}", f"brown{n} " * 30),
            output(f"a{n}", f"amber{n} " * 30),
            answer(f"done {n} " * 10),
        ]
    return found


def test_calls_of_responses_leave_with_their_outputs_and_thoughts():
    """No call without its output or the reasoning that it rests on, nor the other
    way round.
    """
    messages = rounds(20)
    fitted = fit_messages(messages, FitRequest(1_200), NOON)
    kept = {id(message) for message in fitted.messages}
    assert fitted.plan.going
    for place, message in enumerate(messages):
        if message.get("type") == "reasoning":
            assert 1 == len({id(one) in kept for one in messages[place : place + 5]})


@pytest.mark.proves("CC-78")
def test_what_calls_of_responses_said_is_kept():
    """Arguments and outputs are read, weighed and handed on, under the call that they belong to."""
    one = items(said("user", "go"), call("a"), output("a", "amber " * 500), said("user", "next"))[1]
    gone = to_evicted_message(one, [MessagePlace(n, MessageFacts(NOON)) for n in range(4)])
    assert ("tool", '[sh {"command": "make"}]', (1, 2)) == (gone.role, gone.tool, gone.messages)
    assert "make" in gone.text and gone.text.endswith("amber " * 500) and one.tokens > 750


def test_a_long_output_of_responses_becomes_a_line():
    messages = [
        said("user", "go"),
        call("a"),
        output("a", "same line again\n" * 400),
        answer("Made."),
        said("user", "?"),
        *[answer("word " * 40), said("user", "word " * 40)] * 6,
    ]
    line = fit_messages(messages, FitRequest(2_200), NOON).messages[2]
    assert MOVED in line["output"] and ("function_call_output", "a") == (
        line["type"],
        line["call_id"],
    )
    assert messages[2]["output"].startswith("same")


def test_a_long_answer_of_responses_keeps_its_shape():
    messages = [
        said("user", "go"),
        answer("It is told at length. " * 300),
        said("user", "?"),
        *[answer("word " * 40), said("user", "word " * 40)] * 6,
    ]
    shorter = fit_messages(messages, FitRequest(2_200), NOON).messages[1]
    assert "message" == shorter["type"] and ["output_text"] == [
        part["type"] for part in shorter["content"]
    ]
    assert shorter["content"][0]["text"].startswith("It is told at length.") and MOVED in str(
        shorter
    )


def test_encrypted_reasoning_counts_tokens():
    """What a model thought is passed back sealed: it takes room though nobody can read it."""
    assert (
        1_000
        < items(said("user", "go"), thought("r", encrypted_content="x" * 4_000), answer("so"))[
            1
        ].tokens
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "model", "parts": [{"text": "word " * 400}]},
        {"role": "user", "parts": [{"text": "word " * 400}]},
        {"type": "web_search_call", "id": "ws1", "action": {"query": "word " * 400}},
        "word " * 400,
        ("user", "word " * 400),
    ],
)
def test_what_is_of_no_known_shape_weighs_as_its_json_and_stays(odd):
    """Nothing is taken out that cannot be read, and nothing is taken for empty."""
    messages = [said("user", "go"), odd, *[said("user", "word " * 20)] * 30]
    fitted = fit_messages(messages, FitRequest(1_000), NOON)
    assert 500 < items(odd)[0].tokens < 530
    assert any(m is odd for m in fitted.messages) and fitted.plan.going


def test_turns_hear_calls_of_responses():
    """What a tool gave back is never the user's word, also where it is an item by itself."""
    heard, _ = SeenMessages().take_new(
        [said("user", "go"), call("a"), output("a", "made"), answer("Done.")], 40
    )
    assert [
        ("user", "go"),
        ("assistant", '[sh {"command": "make"}]'),
        ("tool", "made"),
        ("assistant", "Done."),
    ] == [(one.role, one.text) for one in heard]


def test_calls_of_responses_are_told_apart():
    """A host that passes only its newest items is understood: two calls are not the same though
    neither has a text.
    """
    heard = SeenMessages()
    heard.take_new([said("user", "go"), call("a"), output("a", "ok"), call("b")], 40)
    news, first = heard.take_new([call("a"), output("a", "ok"), call("b"), output("b", "fine")], 40)
    assert (["fine"], 4) == ([one.text for one in news], first)


def document(source, **more):
    return {"type": "document", "source": source, **more}


def test_the_text_of_documents_is_read_and_counted():
    """A document that is text (Anthropic) is the user's words: counted, and kept
    when it leaves.
    """
    plain = document(
        {"type": "text", "media_type": "text/plain", "data": "heron " * 2_000}, title="Brokers"
    )
    inner = document({"type": "content", "content": [{"type": "text", "text": "mistral " * 2_000}]})
    words = get_message_text(said("user", [plain, inner, {"type": "text", "text": "read these"}]))
    assert (
        words.startswith("Brokers\nheron") and "mistral" in words and words.endswith("read these")
    )
    assert (
        estimate_tokens(words) + 4
        == fit_messages(
            [said("user", [plain, inner, {"type": "text", "text": "read these"}])], WIDE, NOON
        ).plan.before
    )


@pytest.mark.parametrize(
    ("part", "trace"),
    [
        ({"type": "image", "source": {"type": "base64", "data": "iVBO" * 9_000}}, "[picture]"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}, "[picture]"),
        ({"type": "input_image", "image_url": "https://example.org/a.png"}, "[picture]"),
        (document({"type": "base64", "data": "JVBE" * 9_000}, title="Tender"), "[document Tender]"),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBE" * 9_000}},
            "[document a.pdf]",
        ),
    ],
)
def test_pictures_are_counted_and_mentioned(part, trace):
    """What cannot be kept in words says at least that it was there, and takes the room of a
    picture.
    """
    message = said("user", [{"type": "text", "text": "look"}, part])
    assert f"look\n{trace}" == get_message_text(message)
    assert PICTURE_TOKENS < fit_messages([message], WIDE, NOON).plan.before < PICTURE_TOKENS + 20


def test_a_line_says_that_pictures_were_there():
    """A result with a picture that becomes a line sets the picture's room free too, and says so."""
    shot = [
        {"type": "text", "text": "line " * 300},
        {"type": "image", "source": {"type": "url", "url": "x"}},
    ]
    messages = [
        said("user", "go"),
        said("assistant", [{"type": "tool_use", "id": "t", "name": "Look", "input": {}}]),
        said("user", [{"type": "tool_result", "tool_use_id": "t", "content": shot}]),
        *[said("assistant", "word " * 40), said("user", "word " * 40)] * 6,
    ]
    fitted = fit_messages(messages, FitRequest(3_000), NOON)
    line = get_content_text(fitted.messages[2]["content"][0]["content"])
    assert "without 1 picture" in line and fitted.plan.going[0].tokens > PICTURE_TOKENS
    assert fitted.plan.after == fit_messages(fitted.messages, WIDE, NOON).plan.before


def test_parts_of_no_known_type_weigh_as_their_json():
    part = {"type": "search_hits", "hits": [{"url": "https://example.org/" + "x" * 4_000}]}
    assert estimate_tokens(json.dumps(part)) <= items(said("user", [part]))[0].tokens < 1_050
