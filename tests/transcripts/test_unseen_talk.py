"""The talk that no rule has seen (`bench.transcripts.unseen`): its labels are true of its texts."""

from collections import Counter
from itertools import pairwise

import pytest

from bench.transcripts.unseen import (
    PARTS,
    Answer,
    UnseenData,
    has_part,
    judge_amendment,
    load_unseen,
)
from reverie.testing import make_memory

LANGUAGES = {"de", "fr", "es", "pt", "it", "ru", "zh", "ja", "ko"}


@pytest.fixture(params=PARTS)
def data(request) -> UnseenData:
    """The rows of a half."""
    return load_unseen(request.param)


def message_texts(data: UnseenData) -> dict[tuple[str, int], str]:
    """The messages by session and number."""
    return {
        (session["session"], number): message["content"]
        for session in data.sessions
        for number, message in enumerate(session["messages"])
    }


def test_ids_are_unique():
    """No session, query or statement of either half has the name of another one."""
    for rows in zip(*map(load_unseen, PARTS), strict=True):
        ids = Counter(row.get("id", row.get("session")) for half in rows for row in half)
        assert [id for id, count in ids.items() if count > 1] == []


def test_people_and_agents_take_turns(data):
    """Six projects of four sessions; each begins with the person, none has an empty message."""
    assert set(Counter(row["project"] for row in data.sessions).values()) == {4}
    for session in data.sessions:
        roles = [message["role"] for message in session["messages"]]
        assert roles[0] == "user"
        assert all(role != following for role, following in pairwise(roles))
        assert all(message["content"].strip() for message in session["messages"])


def test_gold_messages_contain_what_is_claimed(data):
    """Every part of a full answer stands in a gold message, and the query does not give it away."""
    texts = message_texts(data)
    assert set(Counter(row["project"] for row in data.queries).values()) == {6}
    for row in data.queries:
        gold = " ".join(texts[row["session"], number] for number in row["messages"])
        assert [part for part in row["parts"] if not has_part(gold, part)] == []
        assert not any(has_part(row["text"], part) for part in row["parts"])


def test_what_amends_is_newer(data):
    """Both sides of an amendment say what is claimed, and the newer one in a later session."""
    texts, starts = message_texts(data), {row["session"]: row["at"] for row in data.sessions}
    for row in data.amendments:
        for told in (row["older"], row["newer"]):
            assert has_part(texts[told["session"], told["message"]], told["says"])
        assert starts[row["older"]["session"]] < starts[row["newer"]["session"]]


def test_quiet_prompts_and_statements_are_complete(data):
    """Sixty prompts that need nothing, asked in two projects; eight statements, five traps."""
    projects = {row["project"] for row in data.sessions}
    assert len(data.quiet) == 60
    assert all(row["project"] != row["elsewhere"] for row in data.quiet)
    assert {row[at] for row in data.quiet for at in ("project", "elsewhere")} == projects
    counts = Counter((row["lang"], row["learn"]) for row in data.statements)
    wanted = {
        (language, learn): 8 if learn else 5 for language in LANGUAGES for learn in (True, False)
    }
    assert counts == wanted
    assert all(has_part(row["text"], part) for row in data.statements for part in row["parts"])
    assert all(row["ask"] for row in data.statements if row["learn"])


def test_the_newer_statement_must_come_first_or_alone():
    """Neither shown is no answer."""
    older = make_memory("The limit is 512")._replace(session="a")
    newer = make_memory("The limit is 768")._replace(session="b")
    row = {
        "older": {"session": "a", "message": 0, "says": "512"},
        "newer": {"session": "b", "message": 0, "says": "768"},
    }

    def judge(*memories):
        return judge_amendment(row, Answer([*memories], [memory.text for memory in memories]))

    assert judge(newer) and judge(newer, older)
    assert not judge(older, newer) and not judge()
