"""The language model's client, budget and breaker, against a real server on loopback that plays the
model.
"""

import json
import socket

import pytest

import reverie
from reverie.core.errors import BadInput
from reverie.llm import open_llm
from reverie.llm.language_model import (
    BUSY,
    DOWN,
    EMPTY,
    MALFORMED,
    OK,
    REFUSED,
    REJECTED,
    RESTING,
    SPENT,
    TIMEOUT,
    BadAnswer,
    LlmRequest,
    parse_llm_address,
)
from reverie.llm.prompt_format import fence_rows
from reverie.llm.spending_limits import META_NAME, SpendingLimits
from reverie.privacy import redact
from reverie.storage import open_store
from reverie.testing import Clock, memory
from tests.support.scripted import TOKENS, Raw, Slow, Status, scripted

KEY = "sk-scripted-key-1234567890abcdef"
ASK = LlmRequest(
    "judge", "Answer with a list.", fence_rows([{"n": 1}]), max_tokens=100, timeout_seconds=60.0
)
PROTOCOLS = ("openai", "anthropic")


def as_list(text):
    try:
        value = json.loads(text)
    except ValueError as err:
        raise BadAnswer("not JSON") from err
    if not isinstance(value, list):
        raise BadAnswer("no list")
    return value


@pytest.fixture
def store():
    found = open_store("sqlite://:memory:")
    yield found
    found.close()


@pytest.fixture
def open_model(store, clock):
    """A model behind a setting, and everything closed in the end."""
    models = []

    def opening(setting, *, key=KEY, tokens=0, dollars=0.0, price=(0.0, 0.0)):
        models.append(
            open_llm(
                setting,
                key=key,
                price=price,
                limits=SpendingLimits(tokens, dollars),
                books=store,
                now=clock,
                private=lambda text: redact(text)[0],
            )
        )
        return models[-1]

    yield opening
    for model in models:
        model.close()


def calls(store):
    return store.events(verbs=("llm",))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.proves("X7")
def test_a_good_answer_is_read_and_written_down(protocol, open_model, store):
    """Every call leaves an event with task, model, tokens, duration and outcome; the day's books
    add up.
    """
    with scripted("[3, 1]") as script:
        llm = open_model(getattr(script, protocol))
        answers = [llm.ask(ASK, as_list, space="me/demo", session="s1", about=7) for _ in range(2)]

    assert [(OK, [3, 1])] * 2 == [(a.outcome, a.value) for a in answers]
    event = calls(store)[0]
    assert ("me/demo", "s1") == (event.space, event.session)
    assert {
        "task": "judge",
        "outcome": OK,
        "tokens_in": TOKENS[0],
        "tokens_out": TOKENS[1],
        "event": 7,
        "model": llm.name,
        "cost": None,
    } == {k: v for k, v in event.payload.items() if k != "seconds"}
    assert event.payload["seconds"] >= 0
    day = llm.day()
    assert (2 * TOKENS[0], 2 * TOKENS[1], {"judge": {OK: 2}}) == (
        day.tokens_in,
        day.tokens_out,
        day.outcomes,
    )
    assert 2 == day.unpriced


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.proves("A6")
def test_a_request_has_instructions_apart_from_data(protocol, open_model):
    """Instructions apart from data, the model's name, a limit on the answer, the key in its own
    header.
    """
    with scripted("[]") as script:
        open_model(getattr(script, protocol)).ask(ASK, as_list, space="me")

    request, headers = script.asked[0], script.headers[0]
    assert ASK.data == script.data()
    assert (
        "Answer with a list." in json.dumps(request) and "Answer with a list." not in script.data()
    )
    if protocol == "openai":
        assert ("/v1/chat/completions", f"Bearer {KEY}") == (
            script.paths[0],
            headers["authorization"],
        )
        assert ("scripted", 100) == (
            request["model"],
            request.get("max_completion_tokens", request.get("max_tokens")),
        )
    else:
        assert "/v1/messages" == script.paths[0]
        assert headers.get("x-api-key", headers.get("authorization", "")).endswith(KEY)
        assert ("claude-scripted", 100) == (request["model"], request["max_tokens"])
    assert not {"tools", "tool_choice"} & set(request)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_other_key_reaches_a_configured_address(protocol, open_model, monkeypatch):
    """Keys and accounts that lie about in the environment stay there."""
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
    ):
        monkeypatch.setenv(name, f"stray-{name.lower()}")
    with scripted("[]") as script:
        assert (
            OK
            == open_model(getattr(script, protocol), key="").ask(ASK, as_list, space="me").outcome
        )

    assert "stray" not in json.dumps(script.headers)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("I would rather not say.", MALFORMED),
        ("", EMPTY),
        ("x" * 1_000_000, MALFORMED),
        (Status(400, "context length exceeded"), REJECTED),
        (Raw(b"<html>a proxy's page</html>"), MALFORMED),
        (Raw(b'{"id": "1", "choi', 4_000), DOWN),
        ("x" * 9_000_000, DOWN),
    ],
)
@pytest.mark.proves("CC-34")
def test_a_useless_answer_gives_no_value(protocol, answer, outcome, open_model, store):
    """No value, one outcome, one event; a bad answer is no reason to stop asking."""
    with scripted(answer, "[1]") as script:
        llm = open_model(getattr(script, protocol))
        got = llm.ask(ASK, as_list, space="me")
        assert (None, outcome) == (got.value, got.outcome)
        assert outcome == calls(store)[0].payload["outcome"]
        if outcome != DOWN:
            assert OK == llm.ask(ASK, as_list, space="me").outcome


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("answer", "outcome", "rest"),
    [
        (Status(429), BUSY, 30.0),
        (Status(429, retry_after="90"), BUSY, 90.0),
        (Status(500), DOWN, 30.0),
        (Status(503), DOWN, 30.0),
        (Status(529), BUSY, 30.0),
        (Status(401), REFUSED, 600.0),
        (Status(403), REFUSED, 600.0),
        (Status(404), REFUSED, 600.0),
        (Status(302), REFUSED, 600.0),
    ],
)
@pytest.mark.proves("CC-37")
def test_the_breaker_opens_and_closes(protocol, answer, outcome, rest, open_model, store, clock):
    """After trouble nobody asks for 30 s, or as long as the server wants; a refusal is reported
    once.
    """
    with scripted(answer, "[1]") as script:
        llm = open_model(getattr(script, protocol))
        assert outcome == llm.ask(ASK, as_list, space="me").outcome
        clock.tick(rest - 1)
        assert [RESTING] * 3 == [llm.ask(ASK, as_list, space="me").outcome for _ in range(3)]
        assert not llm.available()
        assert 1 == len(script.asked) == len(calls(store))
        clock.tick(1)
        assert llm.available()
        assert OK == llm.ask(ASK, as_list, space="me").outcome
    assert {outcome: 1, RESTING: 3, OK: 1} == dict(llm.day().outcomes["judge"])
    assert (0.0, "") == (llm.day().rest_until, llm.day().why)


def test_processes_share_rest_and_budget(open_model, clock):
    """A second process does not knock at a door that the first one found closed."""
    with scripted(Status(500), "[1]") as script:
        first, second = open_model(script.openai), open_model(script.openai)
        first.ask(ASK, as_list, space="me")
        assert RESTING == second.ask(ASK, as_list, space="me").outcome
        assert 1 == len(script.asked)


def test_another_model_may_be_asked_at_once(open_model):
    """A rest belongs to the model that earned it; the budget to the day."""
    with scripted(Status(404), "[1]") as script:
        open_model(script.openai).ask(ASK, as_list, space="me")
        other = open_model(script.anthropic)
        assert OK == other.ask(ASK, as_list, space="me").outcome
        assert {REFUSED: 1, OK: 1} == dict(other.day().outcomes["judge"])


def test_a_person_may_ask_a_model_that_rests(open_model):
    """`reverie data llm --check` does, after a key was put right; a good answer ends the rest."""
    with scripted(Status(401), "[1]") as script:
        llm = open_model(script.openai)
        llm.ask(ASK, as_list, space="me")
        assert OK == llm.ask(ASK, as_list, space="me", checking=True).outcome
        assert llm.available()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_slow_model_is_not_waited_for(protocol, open_model):
    """The deadline holds for the whole answer; what may have been billed is counted."""
    with scripted(Slow("[1]", 30.0)) as script:
        llm = open_model(getattr(script, protocol))
        got = llm.ask(ASK._replace(timeout_seconds=1.0), as_list, space="me")
    assert (TIMEOUT, True) == (got.outcome, got.unavailable)
    assert 0 < llm.day().tokens_in < 100


def test_a_refused_connection_counts_as_down(open_model):
    """A refused connection is a model that is down."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert (
        DOWN
        == open_model(f"openai:http://127.0.0.1:{port}/v1#m").ask(ASK, as_list, space="me").outcome
    )


def test_no_redirect_is_followed(open_model):
    """The key goes to the configured host only."""
    with (
        scripted("[1]") as elsewhere,
        scripted(Status(307, to=f"{elsewhere.url}/v1/messages")) as script,
    ):
        for setting in (script.anthropic, script.openai):
            assert REFUSED == open_model(setting).ask(ASK, as_list, space="me").outcome
        assert (2, []) == (len(script.asked), elsewhere.asked)


def test_the_budget_of_tokens(open_model, clock):
    """What does not fit into the day's tokens is not asked; a new day begins at midnight UTC."""
    with scripted("[1]") as script:
        llm = open_model(script.openai, tokens=2 * sum(TOKENS))
        outcomes = [llm.ask(ASK, as_list, space="me").outcome for _ in range(3)]
        assert [OK, OK, SPENT] == outcomes
        assert not llm.available(1)
        clock.tick(days=1)
        assert OK == llm.ask(ASK, as_list, space="me").outcome
        assert TOKENS == (llm.day().tokens_in, llm.day().tokens_out)


def test_the_budget_of_dollars(open_model):
    """Prices that were set count; a model without a known price is held by tokens alone."""
    with scripted("[1]") as script:
        cost = (TOKENS[0] * 3.0 + TOKENS[1] * 15.0) / 1e6
        priced = open_model(script.openai, dollars=1.2 * cost, price=(3.0, 15.0))
        assert [OK, SPENT] == [priced.ask(ASK, as_list, space="me").outcome for _ in range(2)]
        assert pytest.approx(cost) == priced.day().dollars
        assert (
            OK == open_model(script.openai, dollars=2 * cost).ask(ASK, as_list, space="me").outcome
        )


@pytest.mark.proves("A6")
def test_known_prices_come_with_the_client(open_model):
    """A model at its provider's usual address has a price without anybody setting one."""
    from reverie.llm.client import RemoteModel

    assert (
        RemoteModel(parse_llm_address("anthropic:claude-haiku-4-5"), "", (0.0, 0.0)).price(
            1_000_000, 0
        )
        or 0.0
    ) > 0
    assert (
        RemoteModel(parse_llm_address("openai:no-such-model-77"), "", (0.0, 0.0)).price(
            1_000_000, 0
        )
        is None
    )
    assert (
        RemoteModel(parse_llm_address("openai:http://127.0.0.1:1/v1#gpt-4o"), "", (0.0, 0.0)).price(
            1, 0
        )
        is None
    )


@pytest.mark.proves("CC-89")
def test_a_key_that_a_server_repeats_is_written_nowhere(open_model, store):
    """Neither the log nor the books hold the key."""
    with scripted(Status(401, f"Incorrect API key provided: {KEY}")) as script:
        got = open_model(script.openai).ask(ASK, as_list, space="me")
    kept = json.dumps([dict(event.payload) for event in store.events()]) + (
        store.meta(META_NAME) or ""
    )
    assert "401" in got.why and KEY not in kept + got.why


@pytest.mark.proves("CC-89")
def test_no_secret_is_sent(open_model):
    """Whatever the task forgot to redact is redacted on the way."""
    secret = "ghp_" + "a1B2" * 9
    with scripted("[]") as script:
        open_model(script.openai).ask(ASK._replace(data=f"token {secret}"), as_list, space="me")
    assert secret not in json.dumps(script.asked) and "token" in script.data()


def test_a_damaged_budget_file_counts_as_a_new_day(open_model, store):
    """A budget is no reason to stop working."""
    for damaged in (
        "{",
        "[]",
        '{"date": 3}',
        '{"date": "2025-10-09", "model": "m", "tokens_in": "many"}',
    ):
        store.set_meta(META_NAME, damaged)
        with scripted("[1]") as script:
            assert (
                OK == open_model(script.openai, tokens=10_000).ask(ASK, as_list, space="me").outcome
            )


@pytest.mark.parametrize(
    "setting", ["gpt-5", "openai:", "other:m", "openai:ftp://x#m", "openai:http://x#", ":m"]
)
def test_an_invalid_model_setting_says_what_to_write(setting):
    """The error for a setting that names no model says what to write."""
    with pytest.raises(BadInput, match="Use anthropic:<model>"):
        reverie.open(":memory:", settings=memory_settings(llm=setting))


def memory_settings(**values):
    from pathlib import Path

    from reverie.core.config import Settings

    return Settings(home=Path("reverie-testing"), embedder="toy", **values)


def test_offline_opens_no_model():
    """Where `offline` is set no model is opened."""
    with memory(now=Clock(), llm="openai:gpt-5", offline=True) as mind:
        assert mind.llm is None


def test_closing_breaks_off_a_call(open_model, store):
    """Who closes does not wait a minute for a model; the call is counted as stopped, and nobody
    rests for it.
    """
    import threading

    with scripted(Slow("[1]", 30.0)) as script:
        llm = open_model(script.openai)
        got = []
        thread = threading.Thread(
            target=lambda: got.append(
                llm.ask(ASK._replace(timeout_seconds=60.0), as_list, space="me")
            )
        )
        thread.start()
        while not script.asked:
            thread.join(0.01)
        llm.close()
        thread.join(120)
    assert ["stopped"] == [answer.outcome for answer in got]
    assert llm.available()
