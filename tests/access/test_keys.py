"""Keys: who they stand for, what they may do, and how they are refused."""

import pytest

from reverie.access import ALL_SHARED, KeyScope, Right, operator_of
from reverie.access.key_admin import READ_ONLY
from reverie.core.errors import AccessDenied, BadInput, NotFound, Unauthenticated
from tests.support.office import NOW


def test_the_first_administrator_has_a_key(office):
    """A new tenant's key stands for its administrator, who administers what is shared alone."""
    admin = office.admin
    assert (admin.tenant, admin.user, admin.is_admin) == ("acme", "boss", True)
    assert admin.rights.may(Right.ADMINISTER, "demo")
    assert admin.rights.may(Right.ADMINISTER, "~boss/x")
    assert not admin.rights.may(Right.READ, "~ann")


def test_only_a_hash_is_kept(office):
    """No column of any row of the tenant holds the secret."""
    secret = office.founded.key.token.rpartition("_")[2]
    assert [] == office.tables.find_texts("acme", [secret])
    assert office.tables.find_texts("acme", [office.founded.key.key.prefix])


def test_wrong_keys_are_refused_alike(office):
    """A wrong secret, prefix, tenant or shape: one text, which names none of them."""
    token = office.founded.key.token
    wrong = [
        token[:-1] + ("0" if token[-1] != "0" else "1"),
        token.replace("_acme_", "_other_"),
        f"rv_acme_00000000_{token.rpartition('_')[2]}",
        "rv_acme",
        "",
        "x" * 5000,
        token.replace("rv_", "rvi_"),
        f"rv_acme'; drop table tenant; --_{token[-41:]}",
    ]
    told = set()
    for one in wrong:
        with pytest.raises(Unauthenticated) as err:
            office.control.authenticate(one, NOW)
        told.add(str(err.value))
    assert len(told) == 1
    assert "acme" not in told.pop()


def test_wrong_keys_cost_the_same_work(office, monkeypatch):
    """A wrong secret, an unknown key and an unknown tenant are refused after equal statements."""
    import psycopg

    token = office.founded.key.token
    wrong = (
        token[:-1] + ("0" if token[-1] != "0" else "1"),
        f"rv_acme_00000000_{token.rpartition('_')[2]}",
        token.replace("_acme_", "_nope_"),
    )
    original, sent = psycopg.Cursor.execute, list[list[str]]()

    def recorded(self, query, *values, **options):
        sent[-1].append(str(query).replace("nope", "acme"))
        return original(self, query, *values, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", recorded)
    for one in wrong:
        sent.append([])
        with pytest.raises(Unauthenticated):
            office.control.authenticate(one, NOW)
    assert sent[0] == sent[1] == sent[2]
    assert any("api_key" in query for query in sent[0])


def test_a_revoked_key_stops_at_once(office):
    """Revoking counts from the next request on; whoever holds it is told why."""
    ann = office.hire("ann")
    issued = office.control.keys.issue(ann, now=NOW, label="laptop")
    assert office.control.authenticate(issued.token, NOW).user == "ann"
    office.control.keys.revoke(ann, issued.key.prefix, NOW)
    with pytest.raises(Unauthenticated, match="revoked"):
        office.control.authenticate(issued.token, NOW)
    revoked = {key.prefix: key.revoked_at for key in office.control.keys.list(ann)}
    assert revoked[issued.key.prefix] == NOW


def test_a_key_expires(office):
    """At its moment and not before."""
    issued = office.control.keys.issue(office.admin, now=NOW, expires_at=NOW + 10)
    assert office.control.authenticate(issued.token, NOW + 9)
    with pytest.raises(Unauthenticated, match="expired"):
        office.control.authenticate(issued.token, NOW + 10)


def test_switched_off_users_and_tenants(office):
    """Keys of a disabled user and of a suspended tenant are refused until they are back."""
    ann = office.hire("ann")
    issued = office.control.keys.issue(ann, now=NOW)
    office.control.people.disable_user(office.admin, "ann", NOW)
    with pytest.raises(Unauthenticated, match="switched off"):
        office.control.authenticate(issued.token, NOW)
    office.control.people.enable_user(office.admin, "ann", NOW)
    assert office.control.authenticate(issued.token, NOW).user == "ann"
    office.control.tenants.suspend("acme", NOW)
    office.tables.forget_lookups("acme")
    with pytest.raises(Unauthenticated, match="suspended"):
        office.control.authenticate(issued.token, NOW)
    office.control.tenants.resume("acme", NOW)
    office.tables.forget_lookups("acme")
    assert office.control.authenticate(issued.token, NOW)


def test_a_narrow_key_stays_narrow(office):
    """It reads only its spaces, uses only its verbs, and makes no wider key."""
    issued = office.control.keys.issue(
        office.admin,
        now=NOW,
        scope=KeyScope(spaces=("demo",), right=Right.READ, verbs=("recall",)),
    )
    ci = office.control.authenticate(issued.token, NOW)
    assert ci.rights.may(Right.READ, "demo/x")
    assert not ci.rights.may(Right.WRITE, "demo")
    assert not ci.rights.may(Right.READ, "other")
    assert not ci.is_admin
    office.control.check_request(ci, "recall", NOW)
    with pytest.raises(AccessDenied, match="may not purge"):
        office.control.check_request(ci, "purge", NOW)
    with pytest.raises(BadInput):
        office.control.keys.issue(ci, now=NOW, scope=KeyScope(verbs=("purge",)))
    with pytest.raises(AccessDenied):
        office.control.keys.issue(ci, now=NOW, scope=KeyScope(spaces=("other",)))
    wide = office.control.authenticate(office.control.keys.issue(ci, now=NOW).token, NOW)
    assert (wide.rights, wide.scope) == (ci.rights, ci.scope)


def test_a_read_only_key(office):
    """`READ_ONLY` writes nowhere, not even in its user's own space."""
    issued = office.control.keys.issue(office.admin, now=NOW, scope=READ_ONLY)
    reader = office.control.authenticate(issued.token, NOW)
    assert reader.rights.prefixes(Right.WRITE) == ()
    assert set(reader.rights.prefixes(Right.READ)) == {ALL_SHARED, "~boss"}


def test_keys_of_others_are_unknown(office):
    """Who is no administrator neither sees nor revokes another's key, nor learns that it exists."""
    ann, bob = office.hire("ann"), office.hire("bob")
    issued = office.control.keys.issue(ann, now=NOW)
    told = []
    for prefix in (issued.key.prefix, "00000000"):
        with pytest.raises(NotFound) as err:
            office.control.keys.revoke(bob, prefix, NOW)
        told.append(str(err.value).replace(prefix, "…"))
    assert told[0] == told[1]
    with pytest.raises(AccessDenied):
        office.control.keys.list(bob, "ann")
    assert issued.key.prefix in {key.prefix for key in office.control.keys.list(office.admin, None)}


def test_an_administrator_makes_no_key_to_private_spaces(office):
    """A key for somebody else opens shared spaces alone; the operator's opens what its user may."""
    ann = office.hire("ann")
    issue, authenticate = office.control.keys.issue, office.control.authenticate
    made = authenticate(issue(office.admin, user="ann", now=NOW).token, NOW)
    assert (made.user, made.rights.may(Right.READ, "~ann")) == ("ann", False)
    with pytest.raises(AccessDenied):
        issue(office.admin, user="ann", now=NOW, scope=KeyScope(spaces=("~ann/x",)))
    with pytest.raises(AccessDenied):
        issue(ann, user="boss", now=NOW)
    with pytest.raises(NotFound):
        issue(office.admin, user="nobody", now=NOW)
    whole = authenticate(issue(operator_of("acme"), user="ann", now=NOW).token, NOW)
    assert whole.rights.may(Right.WRITE, "~ann")


def test_the_last_use_is_kept_coarsely(office):
    """Once an hour, not with each request."""
    issued = office.control.keys.issue(office.admin, now=NOW)

    def used():
        return {key.prefix: key.last_used_at for key in office.control.keys.list(office.admin)}[
            issued.key.prefix
        ]

    office.control.authenticate(issued.token, NOW)
    office.control.authenticate(issued.token, NOW + 60)
    assert used() == NOW
    office.control.authenticate(issued.token, NOW + 3700)
    assert used() == NOW + 3700


def test_a_key_shows_itself_only_once(office):
    """What is printed of a key by accident holds no secret."""
    issued = office.control.keys.issue(office.admin, now=NOW)
    secret = issued.token.rpartition("_")[2]
    assert secret not in repr(issued) + repr(office.founded) + str(issued.key)


def test_a_browser_is_signed_in_with_a_key_for_half_a_day(office):
    """As wide as the key and no longer lived; it ends when that key is revoked, and no program's
    key nor another browser's opens one.
    """
    ann, keys = office.hire("ann"), office.control.keys
    scope = KeyScope(spaces=("~ann/demo",), right=Right.READ)
    given = keys.issue(ann, now=NOW, scope=scope, expires_at=NOW + 3_600)
    session = keys.sign_in(office.control.authenticate(given.token, NOW), NOW)
    caller = office.control.authenticate(session.token, NOW)
    assert (caller.user, caller.scope, caller.expires_at) == ("ann", scope, NOW + 3_600)
    whole = office.control.authenticate(keys.sign_in(ann, NOW).token, NOW)
    assert whole.expires_at == NOW + 12 * 3_600
    with pytest.raises(AccessDenied, match="browser"):
        keys.sign_in(whole, NOW)
    program = keys.issue(ann, now=NOW, scope=KeyScope(verbs=("recall",)))
    with pytest.raises(AccessDenied, match="recall"):
        keys.sign_in(office.control.authenticate(program.token, NOW), NOW)
    keys.revoke(ann, given.key.prefix, NOW)
    with pytest.raises(Unauthenticated, match="revoked"):
        office.control.authenticate(session.token, NOW)
    assert office.control.authenticate(keys.sign_in(ann, NOW).token, NOW).user == "ann"


def test_a_key_that_expires_makes_nothing_that_outlives_it_in_a_browser_either(office):
    """Neither a key nor a device's."""
    ann, control = office.hire("ann"), office.control
    given = control.keys.issue(ann, now=NOW, expires_at=NOW + 86_400)
    session = control.keys.sign_in(control.authenticate(given.token, NOW), NOW)
    caller = control.authenticate(session.token, NOW)
    made = control.keys.issue(caller, now=NOW)
    assert made.key.expires_at is not None and made.key.expires_at <= NOW + 86_400
    waiting = control.logins.start_device("acme", NOW)
    with pytest.raises(AccessDenied, match="expires"):
        control.logins.approve_device(caller, waiting.user_code, NOW)
