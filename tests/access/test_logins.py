"""Invitations and devices without a browser."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from reverie.access import KeyScope, Right
from reverie.access.device_login import clean_user_code
from reverie.core.errors import (
    AccessDenied,
    BadInput,
    Conflict,
    LoginPending,
    LoginRefused,
    NotFound,
    RateLimited,
)
from tests.support.office import NOW


@pytest.fixture
def logins(office):
    return office.control.logins


def test_a_device_is_let_in_once(office, logins):
    """It waits, a signed-in person approves its code, it gets a key of theirs; not a second one."""
    ann = office.hire("ann")
    codes = logins.start_device("acme", NOW, client_name="reverie on laptop")
    assert re.fullmatch("[A-Z]{4}-[A-Z]{4}", codes.user_code)
    with pytest.raises(LoginPending) as err:
        logins.poll_device(codes.device_code, NOW + 5)
    assert err.value.retry_after == codes.interval
    typed = codes.user_code.lower().replace("-", " ")
    assert logins.pending_device(ann, typed, NOW + 6).client_name == "reverie on laptop"
    logins.approve_device(ann, typed, NOW + 7)
    signed_in = logins.poll_device(codes.device_code, NOW + 11)
    assert signed_in.user.name == "ann"
    caller = office.control.authenticate(signed_in.key.token, NOW + 11)
    assert (caller.user, caller.purpose, caller.scope) == ("ann", "device", KeyScope())
    with pytest.raises(LoginRefused):
        logins.poll_device(codes.device_code, NOW + 20)


def test_a_device_that_asks_too_often_waits(office, logins):
    """Approved or not: between two polls lies the interval."""
    ann = office.hire("ann")
    codes = logins.start_device("acme", NOW)
    with pytest.raises(LoginPending):
        logins.poll_device(codes.device_code, NOW + 5)
    logins.approve_device(ann, codes.user_code, NOW + 6)
    with pytest.raises(LoginPending, match="not more often"):
        logins.poll_device(codes.device_code, NOW + 7)
    assert logins.poll_device(codes.device_code, NOW + 12).user.name == "ann"


def test_a_device_is_kept_out(office, logins):
    """Denied, expired, unknown: refused, and a code that is spent cannot be decided again."""
    ann = office.hire("ann")
    codes = logins.start_device("acme", NOW)
    logins.deny_device(ann, codes.user_code, NOW)
    with pytest.raises(LoginRefused, match="refused"):
        logins.poll_device(codes.device_code, NOW + 5)
    with pytest.raises(NotFound):
        logins.approve_device(ann, codes.user_code, NOW)
    late = logins.start_device("acme", NOW)
    with pytest.raises(NotFound):
        logins.approve_device(ann, late.user_code, NOW + 900)
    with pytest.raises(LoginRefused, match="expired"):
        logins.poll_device(late.device_code, NOW + 900)
    for code in ("", "acme", "acme.x", f"acme.{'0' * 32}", f"other.{'0' * 32}", "A B.c"):
        with pytest.raises(LoginRefused):
            logins.poll_device(code, NOW)
    with pytest.raises(BadInput):
        clean_user_code("ABC")


def test_a_device_of_another_tenant_is_unknown(office, logins):
    """Its code cannot be approved here; and at a name that is no tenant's, it just waits."""
    office.control.tenants.create("other", admin="ann", now=NOW)
    codes = logins.start_device("other", NOW)
    with pytest.raises(NotFound):
        logins.approve_device(office.hire("ann"), codes.user_code, NOW)
    for tenant in ("acme", "nobody"):
        waiting = logins.start_device(tenant, NOW)
        with pytest.raises(LoginPending):
            logins.poll_device(waiting.device_code, NOW + 5)


def test_a_narrow_key_lets_nobody_in(office, logins):
    """The device would get more than the key has."""
    issued = office.control.keys.issue(office.admin, now=NOW, scope=KeyScope(right=Right.READ))
    narrow = office.control.authenticate(issued.token, NOW)
    codes = logins.start_device("acme", NOW)
    with pytest.raises(AccessDenied):
        logins.approve_device(narrow, codes.user_code, NOW)


def test_a_key_that_expires_lets_nobody_in(office, logins):
    """The device's key would outlive it."""
    issued = office.control.keys.issue(office.admin, now=NOW, expires_at=NOW + 60)
    short = office.control.authenticate(issued.token, NOW)
    codes = logins.start_device("acme", NOW)
    with pytest.raises(AccessDenied, match="expires"):
        logins.approve_device(short, codes.user_code, NOW)


def test_only_so_many_devices_wait(logins, monkeypatch):
    """Beyond it the answer says when to come back."""
    monkeypatch.setattr("reverie.access.logins.MAX_PENDING_DEVICES", 2)
    for _ in range(2):
        logins.start_device("acme", NOW)
    with pytest.raises(RateLimited) as err:
        logins.start_device("acme", NOW)
    assert err.value.retry_after
    logins.start_device("acme", NOW + 900)


def test_an_invitation_is_used_once(office, logins):
    """By the first of many who try at once: one new user with the teams and grants set before."""
    office.control.people.create_team(office.admin, "web", now=NOW)
    invited = logins.invite(office.admin, now=NOW, teams=("web",), grants=(("demo", Right.WRITE),))

    def join(name):
        try:
            return logins.join(invited.code, name=name, now=NOW + 1)
        except LoginRefused as err:
            return err

    with ThreadPoolExecutor(4) as pool:
        came = list(pool.map(join, ["ann", "bob", "cid", "dan"]))
    [one] = [each for each in came if not isinstance(each, LoginRefused)]
    caller = office.control.authenticate(one.key.token, NOW)
    assert caller.rights.may(Right.WRITE, "demo")
    assert not caller.is_admin
    assert office.control.people.teams(office.admin)[0].members == (one.user.name,)
    assert {user.name for user in office.control.people.users(office.admin)} == {
        "boss",
        one.user.name,
    }


def test_an_invitation_lets_in_the_device_that_waits(office, logins):
    """One step for a newcomer at a terminal: join, and the terminal has its key."""
    invited = logins.invite(office.admin, now=NOW)
    codes = logins.start_device("acme", NOW)
    logins.join(invited.code, name="ann", now=NOW, user_code=codes.user_code)
    assert logins.poll_device(codes.device_code, NOW + 5).user.name == "ann"


def test_a_name_that_is_taken_leaves_the_invitation_open(office, logins):
    """Who chose it chooses another."""
    invited = logins.invite(office.admin, now=NOW)
    with pytest.raises(Conflict):
        logins.join(invited.code, name="boss", now=NOW)
    assert logins.join(invited.code, name="ann", now=NOW).user.name == "ann"


def test_invitations_that_do_not_work(office, logins):
    """Wrong, expired, withdrawn, for another address: all with the same text."""
    for_ann = logins.invite(office.admin, now=NOW, email="ann@example.com")
    short = logins.invite(office.admin, now=NOW, seconds=10)
    gone = logins.invite(office.admin, now=NOW)
    logins.withdraw(office.admin, gone.invitation.prefix, NOW)
    told = set()
    for code, email in (
        (for_ann.code, "bob@example.com"),
        (for_ann.code[:-1] + ("0" if for_ann.code[-1] != "0" else "1"), "ann@example.com"),
        (for_ann.code.replace("_acme_", "_other_"), "ann@example.com"),
        (short.code, ""),
        (gone.code, ""),
    ):
        with pytest.raises(LoginRefused) as err:
            logins.join(code, name="ann", now=NOW + 10, email=email)
        told.add(str(err.value))
    assert len(told) == 1
    assert logins.join(for_ann.code, name="ann", now=NOW, email="Ann@example.com")


def test_only_administrators_invite(office, logins):
    """Nor may others see who is invited, and an invitation is no key."""
    ann = office.hire("ann")
    for verb in (
        lambda: logins.invite(ann, now=NOW),
        lambda: logins.invitations(ann),
        lambda: logins.withdraw(ann, "x", NOW),
    ):
        with pytest.raises(AccessDenied):
            verb()
    invited = logins.invite(office.admin, now=NOW)
    assert invited.code.rpartition("_")[2] not in repr(invited)


@pytest.mark.parametrize(
    "text",
    [
        "ann",
        "@example.com",
        "ann@",
        "ann@@example.com",
        "ann b@example.com",
        "ann@example.com, b@c",
        "ann@-example.com",
        "<ann@example.com>",
        "ann@exa mple.com",
        "ann\n@example.com",
        "a" * 300 + "@x.org",
    ],
)
def test_what_is_no_address_is_not_invited(office, text):
    """Nor kept with a user, or the first administrator of a tenant."""
    with pytest.raises(BadInput, match="is not an e-mail address"):
        office.control.logins.invite(office.admin, now=NOW, email=text)
    with pytest.raises(BadInput, match="is not an e-mail address"):
        office.control.people.create_user(office.admin, "cy", now=NOW, email=text)
    with pytest.raises(BadInput, match="is not an e-mail address"):
        office.control.people.change_user(office.admin, "boss", now=NOW, email=text)
    assert office.control.logins.invitations(office.admin) == []


@pytest.mark.parametrize(
    "text", ["", " Ann@Example.com ", "a.b+c@mail.example.co.uk", "ann@intranet", "jörg@müller.de"]
)
def test_an_address_is_kept_in_small_letters(office, text):
    """Of any alphabet, with or without a dot; none is one too."""
    made = office.control.logins.invite(office.admin, now=NOW, email=text)
    assert made.invitation.email == text.strip().lower()
