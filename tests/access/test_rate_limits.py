"""Rates and quotas: refusals that say when to come back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.access.callers import Caller
from reverie.access.rate_limits import RateLimiter, check_quotas
from reverie.access.rights import Rights
from reverie.core.errors import QuotaExceeded, RateLimited
from reverie.storage.access_records import Limits, StoredAmounts

DAY = 86_400.0


def caller(key, per_key=60, per_tenant=100, tenant="acme"):
    limits = Limits(requests_per_minute=per_tenant, key_requests_per_minute=per_key)
    return Caller(tenant=tenant, user="u", rights=Rights(), key_id=key, limits=limits)


def test_a_key_has_a_minutes_worth_and_then_its_rate():
    """After the burst, one a second at sixty a minute; `retry_after` is exactly enough."""
    rates = RateLimiter()
    for _ in range(60):
        rates.check(caller("k"), 0.0)
    with pytest.raises(RateLimited) as err:
        rates.check(caller("k"), 0.0)
    assert err.value.retry_after == pytest.approx(1.0)
    rates.check(caller("k"), 1.0)
    with pytest.raises(RateLimited):
        rates.check(caller("k"), 1.5)


def test_a_tenant_has_a_rate_for_all_its_keys_and_none_for_others():
    """One tenant's loop takes nothing from another."""
    rates = RateLimiter()
    for key in ("a", "b"):
        for _ in range(50):
            rates.check(caller(key), 0.0)
    with pytest.raises(RateLimited):
        rates.check(caller("c"), 0.0)
    rates.check(caller("c", tenant="other"), 0.0)


def test_what_is_refused_is_not_counted():
    """A key that asks in a loop does not use up its tenant's rate."""
    rates = RateLimiter()
    for _ in range(60):
        rates.check(caller("a"), 0.0)
    for _ in range(100):
        with pytest.raises(RateLimited):
            rates.check(caller("a"), 0.0)
    rates.check(caller("b"), 0.0)


def test_strangers_are_counted_by_where_they_come_from():
    """Tries at a code by somebody who is not signed in."""
    rates = RateLimiter()
    for _ in range(5):
        rates.check_source("192.0.2.1", 5, 0.0)
    with pytest.raises(RateLimited):
        rates.check_source("192.0.2.1", 5, 0.0)
    rates.check_source("192.0.2.2", 5, 0.0)


@given(
    times=st.lists(st.floats(-100, 1000, allow_nan=False), max_size=60),
    per_minute=st.integers(1, 100),
)
def test_never_more_than_burst_and_rate(times, per_minute):
    """In any order of moments, a clock that jumps back included."""
    rates, passed, latest, earned = RateLimiter(), 0, times[0] if times else 0.0, 0.0
    for now in times:
        earned += max(0.0, now - latest)
        latest = now
        try:
            rates.check(caller("k", per_minute, None), now)
        except RateLimited as err:
            assert err.retry_after and err.retry_after > 0
        else:
            passed += 1
    assert passed <= per_minute + earned * per_minute / 60 + 1e-6


def test_no_limit_is_no_limit():
    """None refuses nothing."""
    rates = RateLimiter()
    for _ in range(1000):
        rates.check(caller("k", None, None), 0.0)
    check_quotas(Limits(), StoredAmounts(memories=10**9, bytes=10**12), memories=1, size=1)


def test_quotas_say_what_is_full():
    """What is kept does not go by itself."""
    limits = Limits(memories=10, bytes=100)
    with pytest.raises(QuotaExceeded, match="memories") as err:
        check_quotas(limits, StoredAmounts(memories=10), memories=1)
    assert err.value.retry_after is None
    with pytest.raises(QuotaExceeded, match="bytes"):
        check_quotas(limits, StoredAmounts(memories=1, bytes=90), memories=1, size=11)
    check_quotas(limits, StoredAmounts(memories=11, bytes=200))
    check_quotas(limits, StoredAmounts(memories=9, bytes=90), memories=1)
