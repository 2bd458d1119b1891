"""Signing in at a provider: over real HTTP, and everything that a wrong provider may try."""

import pytest
from joserfc.jwk import RSAKey

from reverie.access.oidc_login import OidcLogin, OidcProvider
from reverie.core.errors import BadInput, LoginPending, LoginRefused
from tests.support.office import NOW
from tests.support.openid_provider import OpenidProvider

BACK = "http://127.0.0.1:1/back"


@pytest.fixture
def provider():
    with OpenidProvider() as provider:
        provider.now = NOW
        yield provider


def oidc_of(provider, **fields):
    return OidcLogin(
        OidcProvider(
            issuer=provider.issuer,
            client_id=provider.client_id,
            client_secret=provider.client_secret,
            **fields,
        )
    )


def identity_of(provider, oidc, now=NOW, verifier="v" * 50, used=None):
    address = oidc.authorization_url(
        redirect_uri=BACK, state="st", nonce="no", verifier=verifier, now=now
    )
    _, code = provider.visit(address)
    return oidc.identity_for_code(
        code, redirect_uri=BACK, verifier=used or verifier, nonce="no", now=now
    )


def test_a_browser_signs_in(provider):
    """By authorization code with PKCE: the identity is what the provider's signed token says."""
    found = identity_of(provider, oidc_of(provider))
    assert (found.issuer, found.subject) == (provider.issuer, "s-1")
    assert (found.email, found.is_email_verified) == ("ann@example.com", True)


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "http://127.0.0.1:2"},
        {"aud": "another"},
        {"aud": ["reverie", "another"]},
        {"azp": "another"},
        {"nonce": "of another attempt"},
        {"nonce": None},
        {"exp": int(NOW) - 61},
        {"exp": None},
        {"iat": int(NOW) + 600},
        {"sub": None},
        {"aud": None},
    ],
    ids=str,
)
def test_a_wrong_token_is_refused(provider, changed):
    """Another issuer, audience or nonce, an expired one, or one that lacks what it must have."""
    provider.changed = changed
    with pytest.raises(LoginRefused):
        identity_of(provider, oidc_of(provider))


def test_a_token_signed_by_another_key_is_refused(provider):
    """Also if it names a key of the provider's."""
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "first"})
    with pytest.raises(LoginRefused):
        identity_of(provider, oidc_of(provider))


def test_a_token_that_no_key_signed_is_refused(provider):
    """With the public key as a secret, or without a signature: whatever the header says."""
    provider.forged_with = provider.key.as_pem(private=False)
    with pytest.raises(LoginRefused):
        identity_of(provider, oidc_of(provider))
    provider.forged_with, provider.is_signed = b"", False
    with pytest.raises(LoginRefused):
        identity_of(provider, oidc_of(provider))


def test_another_verifier_is_refused(provider):
    """Who steals the code cannot use it: the provider compares the verifier (PKCE)."""
    with pytest.raises(LoginRefused):
        identity_of(provider, oidc_of(provider), used="w" * 50)


def test_new_keys_are_fetched_when_the_provider_changes_them(provider):
    """Once a minute at most, so that made-up tokens do not make us ask."""
    oidc = oidc_of(provider)
    identity_of(provider, oidc)
    provider.rotate()
    assert identity_of(provider, oidc, now=NOW + 61).subject == "s-1"
    assert provider.asked.count("keys") == 2
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "third"})
    for _ in range(3):
        with pytest.raises(LoginRefused):
            identity_of(provider, oidc, now=NOW + 62)
    assert provider.asked.count("keys") == 2


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "ann@elsewhere.com"},
        {"email_verified": False},
        {"email": "ann@example.com.evil.org"},
        {"email": None},
    ],
    ids=str,
)
def test_only_verified_addresses_of_the_domains(provider, claims):
    """Where domains are set, others are refused."""
    oidc = oidc_of(provider, email_domains=("Example.com",))
    assert identity_of(provider, oidc).email == "ann@example.com"
    provider.claims |= claims
    with pytest.raises(LoginRefused, match="domain"):
        identity_of(provider, oidc)


def test_a_provider_that_says_it_is_another_is_refused(provider):
    """Discovery must name the issuer that was configured."""
    provider.stated_issuer = "https://login.example.org"
    with pytest.raises(LoginRefused, match="another issuer"):
        identity_of(provider, oidc_of(provider))


def test_a_provider_that_is_away():
    """Refused with what to do, without the address or the error of the library."""
    provider = OpenidProvider()
    with pytest.raises(LoginRefused, match="Try again"):
        identity_of(provider, oidc_of(provider))


@pytest.mark.parametrize("issuer", ["http://login.example.com", "login.example.com", "file:///x"])
def test_only_https(issuer):
    """A provider over the network is asked over https alone."""
    with pytest.raises(BadInput):
        OidcLogin(OidcProvider(issuer=issuer, client_id="c"))


def test_a_terminal_signs_in_by_the_providers_device_flow(provider):
    """It waits while nobody has decided, comes in once, and hears a no."""
    oidc = oidc_of(provider)
    codes = oidc.start_device(NOW)
    assert codes.verification_uri.startswith(provider.issuer)
    with pytest.raises(LoginPending) as err:
        oidc.poll_device(codes.device_code, NOW)
    assert err.value.retry_after == 5
    provider.device_answer = "slow_down"
    with pytest.raises(LoginPending, match="less often"):
        oidc.poll_device(codes.device_code, NOW)
    provider.device_answer = "access_denied"
    with pytest.raises(LoginRefused, match="said no"):
        oidc.poll_device(codes.device_code, NOW)
    provider.device_answer = ""
    assert oidc.poll_device(codes.device_code, NOW).subject == "s-1"


def test_no_secret_is_shown(provider):
    """What is printed by accident."""
    oidc = oidc_of(provider)
    assert provider.client_secret not in repr(oidc.provider) + repr(oidc)
    assert "device-1" not in repr(oidc.start_device(NOW))


# With users behind it.


def sign_in(office, provider, oidc, now=NOW):
    address = office.control.logins.begin_sign_in(
        "acme", oidc, redirect_uri=BACK, now=now, return_to="/device"
    )
    state, code = provider.visit(address)
    return office.control.logins.finish_sign_in(
        oidc, state=state, code=code, redirect_uri=BACK, now=now
    )


def test_a_user_is_known_by_address_once_and_then_by_subject(office, provider):
    """The first sign-in links the provider's subject to the user with that verified address."""
    office.hire("ann", email="ann@example.com")
    oidc = oidc_of(provider)
    first = sign_in(office, provider, oidc)
    assert (first.user.name, first.return_to) == ("ann", "/device")
    caller = office.control.authenticate(first.key.token, NOW)
    assert (caller.user, caller.purpose) == ("ann", "browser")
    provider.claims = {"sub": "s-1", "email": "married@example.com", "email_verified": True}
    assert sign_in(office, provider, oidc).user.name == "ann"
    # Who later gets the old address at the provider is somebody else.
    provider.claims = {"sub": "s-2", "email": "ann@example.com", "email_verified": True}
    with pytest.raises(LoginRefused, match="invitation"):
        sign_in(office, provider, oidc)


def test_an_unverified_address_is_nobodys(office, provider):
    """Whoever types a colleague's address at the provider does not come in as them."""
    office.hire("ann", email="ann@example.com")
    provider.claims |= {"email_verified": False}
    with pytest.raises(LoginRefused, match="invitation"):
        sign_in(office, provider, oidc_of(provider))


def test_nobody_claims_a_colleagues_address(office, provider):
    """Whoever types another's address when they join does not get that person's sign-in."""
    logins = office.control.logins
    code = logins.invite(office.admin, now=NOW).code
    assert "" == logins.join(code, name="eve", now=NOW, email="ann@example.com").user.email
    with pytest.raises(LoginRefused, match="invitation"):
        sign_in(office, provider, oidc_of(provider))


def test_an_invitation_by_address(office, provider):
    """It is used by signing in with that address, once, with its teams."""
    office.control.people.create_team(office.admin, "web", now=NOW)
    office.control.logins.invite(office.admin, now=NOW, email="Ann@Example.com", teams=("web",))
    came = sign_in(office, provider, oidc_of(provider))
    assert came.user.name == "ann"
    [team] = office.control.people.teams(office.admin)
    assert team.members == ("ann",)
    assert office.control.logins.invitations(office.admin)[0].used_by == "ann"


def test_whoever_the_provider_vouches_for_may_join(office, provider):
    """Only where the operator says so; names that are taken get a number."""
    office.hire("ann")
    oidc = oidc_of(provider, may_join=True)
    assert sign_in(office, provider, oidc).user.name == "ann-2"
    provider.claims = {"sub": "s-9", "name": "Operator"}
    assert sign_in(office, provider, oidc).user.name == "user"


def test_an_attempt_is_used_once(office, provider):
    """Who brings the same state again is refused, and so is one that nobody began or that is old."""
    office.hire("ann", email="ann@example.com")
    oidc = oidc_of(provider)
    begin = office.control.logins.begin_sign_in
    finish = office.control.logins.finish_sign_in
    state, code = provider.visit(begin("acme", oidc, redirect_uri=BACK, now=NOW))
    finish(oidc, state=state, code=code, redirect_uri=BACK, now=NOW)
    for bad in (state, "acme.made-up", "", "nobody.x", "no such'; --"):
        with pytest.raises(LoginRefused):
            finish(oidc, state=bad, code=code, redirect_uri=BACK, now=NOW)
    state, code = provider.visit(begin("acme", oidc, redirect_uri=BACK, now=NOW))
    with pytest.raises(LoginRefused):
        finish(oidc, state=state, code=code, redirect_uri=BACK, now=NOW + 601)


def test_nobody_signs_in_where_there_is_no_tenant(office, provider):
    """Nor in a suspended one, nor as a user who is switched off: without telling which."""
    office.hire("ann", email="ann@example.com")
    oidc = oidc_of(provider, may_join=True)
    state, code = provider.visit(
        office.control.logins.begin_sign_in("nobody", oidc, redirect_uri=BACK, now=NOW)
    )
    with pytest.raises(LoginRefused):
        office.control.logins.finish_sign_in(
            oidc, state=state, code=code, redirect_uri=BACK, now=NOW
        )
    office.control.people.disable_user(office.admin, "ann", NOW)
    with pytest.raises(LoginRefused, match="switched off"):
        sign_in(office, provider, oidc)
    office.control.tenants.suspend("acme", NOW)
    with pytest.raises(LoginRefused):
        sign_in(office, provider, oidc)
