"""Secrets are taken out before anything is kept, and nothing else is."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.privacy import borrowed, cases, heldout, second
from bench.privacy.cases import Case
from reverie.core.privacy_policy import Policy
from reverie.privacy import JSON, MARK_PATTERN, redact, redact_value
from tests.support.growth import is_linear

# what is known not to be found: nothing in it says that it is a secret
OPEN = {"password: vpn: ann / {}"}
SETS = (cases, heldout, second)
CASES = [case for some in SETS for case in some.secrets() if case.kind not in OPEN]
FRIENDS = [text for some in SETS for text in some.lookalikes()]
FEW = settings(max_examples=60, deadline=None)  # how fast it is, is for the benchmark to say
CLEAN = st.text(
    alphabet=st.characters(codec="utf-8", categories=["Lu", "Ll", "Lo", "Zs"]), max_size=60
)
# Pieces that the rules are made of, thrown together: what a fuzzer needs to find a rule that undoes
# another.
PIECES = st.lists(
    st.sampled_from(
        [
            "password",
            "token",
            "api_key",
            "=",
            ": ",
            '"',
            "'",
            "\\",
            " is ",
            "hunter2x",
            "a1b2c3d4e5f6g7h8",
            "\n",
            "[",
            "]",
            "://",
            "@",
            ",",
            "(",
            "-----BEGIN PRIVATE" + " KEY-----",
            "-----END PRIVATE" + " KEY-----",
            "gh" + "p_",
            "Bearer ",
            "Cookie: ",
            "[REDACTED:x]",
            "[REDACTED:",
            "4111 1111 1111 1111",
            "\0",
            "\ud800",
            "密码",
            "İ",
            "x" * 20,
            "Ab3" * 12,
        ]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind[:40])
@pytest.mark.proves("A106", "A107", "A110", "CC-89")
def test_a_secret_of_every_shape_is_taken_out(case: Case):
    """No listed shape survives, whatever stands around it; the rest of the text does."""
    kept, marks = redact(case.text)

    assert case.secret not in kept
    assert marks
    assert all(kept[m.start : m.end] == f"[REDACTED:{m.kind}]" for m in marks)
    assert redact(kept) == (kept, ())


@pytest.mark.parametrize("text", FRIENDS)
@pytest.mark.proves("CC-89")
def test_what_only_looks_like_a_secret_stays(text: str):
    """Hashes, placeholders, code and talk about passwords come back as the same object."""
    kept, marks = redact(text)

    assert kept is text
    assert marks == ()


@pytest.mark.proves("A107")
def test_the_name_in_front_is_kept():
    """One can still read which secret was there."""
    assert (
        redact("API_KEY=" + "q7Zx" * 6 + "\nPORT=1")[0] == "API_KEY=[REDACTED:assignment]\nPORT=1"
    )


@pytest.mark.proves("A106", "A107")
def test_secrets_are_found_in_the_ways_that_other_suites_write_them():
    """Ten in all languages and formats of settings; in logs, credential stores and code, nine."""
    found: dict[str, list[bool]] = {"ways": [], "stories": []}
    for case in borrowed.secrets():
        found[case.kind.partition(":")[0]].append(case.secret not in redact(case.text)[0])

    assert sum(found["ways"]) >= 0.99 * len(found["ways"])
    assert sum(found["stories"]) >= 0.95 * len(found["stories"])


@pytest.mark.parametrize("text", borrowed.lookalikes())
@pytest.mark.proves("CC-89")
def test_random_strings_under_names_of_no_secrets_stay(text: str):
    """Digests, commits, ids, cache keys and images."""
    assert redact(text)[0] is text


@FEW
@given(PIECES)
@pytest.mark.proves("A110")
def test_redacting_twice_changes_nothing_more(text: str):
    """The mark itself is never taken for a secret, nor does it turn its neighbours into one."""
    kept, _ = redact(text)

    assert redact(kept) == (kept, ())


@FEW
@given(PIECES)
def test_every_mark_stands_where_it_is_said_to(text: str):
    kept, marks = redact(text)

    assert all(MARK_PATTERN.fullmatch(kept, m.start, m.end) for m in marks)


@FEW
@given(CLEAN)
@pytest.mark.proves("A110")
def test_text_without_anything_telling_is_untouched(text: str):
    """Letters and spaces alone are never redacted, and are not even copied."""
    assert redact(text)[0] is text


@FEW
@given(
    CLEAN,
    CLEAN,
    st.sampled_from([c for c in CASES if not c.kind.startswith(("token:", "password:", "pem"))]),
)
@pytest.mark.proves("A106")
def test_text_around_a_secret_is_kept(before: str, after: str, case: Case):
    """Only the secret is cut out of its text."""
    kept, _ = redact(f"{before}\n{case.text}\n{after}")

    assert case.secret not in kept
    assert kept.startswith(before + "\n")
    assert kept.endswith("\n" + after)


@FEW
@given(st.text())
def test_any_string_is_safe(text: str):
    redact(text, Policy(contact="mask"))
    redact("password=" + text)


@pytest.mark.proves("A106")
def test_values_are_walked_with_keys_and_names():
    """What stands under a telling key is redacted by the key; keys and depth hide nothing."""
    token = "gh" + "p_" + "aB3dE6gH9" * 4
    value: JSON = {
        "password": "letmein",
        "n": [{"api_key": "q7Zx" * 5, token: 1}],
        "env": {"name": "DB_PASSWORD", "value": "abcd"},
        "ok": True,
    }
    kept, marks = redact_value(value)

    assert kept == {
        "password": "[REDACTED:password-assignment]",
        "n": [{"api_key": "[REDACTED:assignment]", "[REDACTED:github-token]": 1}],
        "env": {"name": "DB_PASSWORD", "value": "[REDACTED:password-assignment]"},
        "ok": True,
    }
    assert len(marks) == 4
    assert redact_value(kept) == (kept, ())


def test_a_clean_value_comes_back_as_itself():
    value: JSON = {"a": [1, 2.5, None, "text", {"token_count": 3}]}

    assert redact_value(value)[0] is value


@pytest.mark.proves("A110")
def test_depth_is_no_hiding_place():
    """Fifty thousand levels are walked without a deep call stack."""
    value: JSON = "password=hunter2x"
    for _ in range(50_000):
        value = [value]
    kept, marks = redact_value(value)
    for _ in range(50_000):
        assert isinstance(kept, list)
        kept = kept[0]

    assert kept == "password=[REDACTED:password-assignment]"
    assert len(marks) == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("card 4111 1111 1111 1111 please", "payment-card"),
        ("amex 3782-822463-10005", "payment-card"),
        ("pay to DE89 3704 0044 0532 0130 00 TODAY", "iban"),
        ("pay to GB29NWBK60161331926819.", "iban"),
        ("ssn 219-09-9999", "us-ssn"),
    ],
)
@pytest.mark.proves("A108")
def test_numbers_that_identify_are_masked_unless_switched_off(text: str, kind: str):
    """Cards, IBANs and social security numbers go by default."""
    assert [m.kind for m in redact(text)[1]] == [kind]
    assert redact(text, Policy(personal="off"))[0] is text


@pytest.mark.parametrize(
    "text",
    ["card 4111 1111 1111 1112", "DE88 3704 0044 0532 0130 00", "1234567890123456", "000-12-3456"],
)
@pytest.mark.proves("A108")
def test_a_wrong_checksum_is_just_a_number(text: str):
    """Numbers that cannot be what they resemble stay."""
    assert redact(text)[0] is text


@pytest.mark.proves("A108")
def test_addresses_and_phones_are_kept_until_asked():
    """An address is often the very fact to remember."""
    text = "Ann: ann@example.com, +49 30 1234567"

    assert redact(text)[0] is text
    assert redact(text, Policy(contact="mask"))[0] == "Ann: [REDACTED:email], [REDACTED:phone]"


@pytest.mark.parametrize(
    "unit",
    [
        "password ",
        "token=",
        "-----BEGIN PRIVATE" + " KEY-----",
        "eyJ",
        "://a:",
        "1 ",
        "a@",
        "x",
        "'",
        'password="',
        "DE89 ",
        "Cookie: a=b",
        "mysql -",
        "curl -u ",
        "sk-",
        "key-",
        "pass\\",
        "[REDACTED:x]",
        "login a password ",
        "abandon ",
        "mnemonic abandon ",
        "a.",
        "AKIA",
        "Using Key=",
        "Key=a1b2c3d4e5f6g7h8 ",
        "<secret>",
        "<secret>a</secret>",
        "kind: secret\n a: ",
        "secret 'a1B2c3D4e5F6g7H8i9J0' ",
        "token=a1B2c3D4e5F6g7H8i9J0 ",
        "api a1B2c3D4e5F6g7H8i9J0 key ",
        "code=a",
        "authorization code is ",
    ],
)
@pytest.mark.proves("A110")
def test_no_text_takes_more_than_linear_time(unit: str):
    """Eight times the text takes about eight times as long; a quadratic rule would take sixty-four."""
    assert is_linear(lambda count: seconds(unit * count), 6_000 // len(unit))


def seconds(text: str) -> float:
    """What this process itself worked on it, whatever else the machine had to do."""
    start = time.process_time()
    redact(text, Policy(contact="mask"))
    return time.process_time() - start


def test_many_threads_may_call_it():
    results: list[bool] = []
    workers = [
        threading.Thread(
            target=lambda: results.extend(c.secret not in redact(c.text)[0] for c in CASES)
        )
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(results) == 4 * len(CASES)
    assert all(results)


def test_line_numbers_can_be_kept():
    """A secret of several lines leaves its line breaks behind, where that is asked for."""
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "MIIEpAIBAAKCAQEA7\n" * 5
        + "-----END RSA PRIVATE KEY-----"
    )
    text = f"before\n{key}\nafter\n"
    assert redact(text)[0].count("\n") < text.count("\n")
    clean, marks = redact(text, keep_lines=True)
    assert clean.count("\n") == text.count("\n")
    assert (clean.split("\n")[8], "MIIE" in clean) == ("after", False)
    assert [clean[mark.start : mark.end] for mark in marks] == [clean.split("\n")[1]]
