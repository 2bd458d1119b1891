# mypy: no-check-untyped-defs
"""A secret that was recognised once is hidden wherever it stands again."""

import time

import pytest

from bench.privacy.cases import ALNUM, draw
from reverie.core.privacy_policy import Policy
from reverie.privacy import redact, redact_value
from reverie.privacy.known_secrets import KnownSecrets
from tests.support.growth import is_linear

SECRET = "q7" + "Zx9Lw2Kd8Tn4Rb"
KEY = b"k" * 32


@pytest.mark.proves("A106", "A107", "CC-89")
def test_a_secret_is_hidden_in_every_place_of_the_text():
    """What tells it stands in one of them only, the last."""
    kept, marks = redact(f"GET https://host/{SECRET}/me\nsaw '{SECRET}'\nx_token={SECRET}\n")

    assert SECRET not in kept
    assert len(marks) == 3
    assert {mark.kind for mark in marks} == {"assignment"}
    assert all(kept[m.start : m.end] == f"[REDACTED:{m.kind}]" for m in marks)


@pytest.mark.proves("CC-89")
def test_a_password_that_is_a_word_stays_a_word_elsewhere():
    """`postgres` is also an image's name; a part of a longer word is something else too."""
    text = "POSTGRES_PASSWORD=postgres\nimage: postgres\n"
    assert redact(text)[0] == "POSTGRES_PASSWORD=[REDACTED:password-assignment]\nimage: postgres\n"

    kept = redact(f"x_token={SECRET}\nsee {SECRET}Factory")[0]
    assert kept.endswith(f"see {SECRET}Factory")


@pytest.mark.proves("A110")
def test_a_secret_of_one_string_is_hidden_in_all_of_a_value():
    """Also in those before it, and in keys."""
    value = {"url": f"https://h/{SECRET}", "list": [{SECRET: 1}], "api_key": SECRET}
    kept, marks = redact_value(value)

    assert SECRET not in str(kept)
    assert len(marks) == 3


@pytest.mark.proves("A110", "CC-89")
def test_later_texts_hide_what_an_earlier_one_gave_away():
    """Without a key in memory; with one as digests, which are kept and taken in again."""
    for key in (b"", KEY):
        known = KnownSecrets(key)
        redact(f"export ACME_TOKEN={SECRET}", known=known)
        if key:
            rows = known.to_rows()
            assert SECRET[:6] not in str(rows)
            known = KnownSecrets(key)
            known.add_rows(rows)

        assert redact(f"curl https://host/{SECRET}/x", known=known)[0] == (
            "curl https://host/[REDACTED:assignment]/x"
        )


@pytest.mark.proves("CC-89")
def test_rows_that_are_damaged_are_left_out():
    known = KnownSecrets(KEY)
    known.add_rows([["assignment"], ["a", "b", "c", "d", "e", "f"], []])
    assert len(known) == 0


@pytest.mark.proves("CC-89")
def test_what_is_personal_or_private_does_not_become_known():
    """An address is masked by policy, a private passage by its tags: neither by what it says."""
    known = KnownSecrets()
    redact("ann@example.com <private>room 4711b</private>", Policy(contact="mask"), known=known)
    assert len(known) == 0


@pytest.mark.proves("A110")
def test_many_known_secrets_take_linear_time():
    """Each is looked up, not searched for."""

    def seconds(count: int) -> float:
        import random

        rng = random.Random(1)
        secrets = [draw(rng, ALNUM, 20) for _ in range(count)]
        text = "".join(f"a_token={one}\n see {one}\n" for one in secrets)
        start = time.process_time()
        assert not any(one in redact(text)[0] for one in secrets[:5])
        return time.process_time() - start

    assert is_linear(seconds, 200)
