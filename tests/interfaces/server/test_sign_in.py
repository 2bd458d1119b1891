# mypy: no-check-untyped-defs
"""Ways in: a device that a person lets in, an invitation, the organisation's provider."""

import re

import httpx
import pytest

from reverie.access.oidc_login import OidcLogin, OidcProvider
from reverie.core.clock import now
from reverie.core.config import Settings
from reverie.core.errors import LoginRefused, Unauthenticated
from reverie.interfaces.server.access_tokens import ProviderTokens
from reverie.interfaces.server.server_run import open_oidc
from tests.interfaces.server.test_mcp_over_http import use_tools
from tests.support.openid_provider import OpenidProvider
from tests.support.page_client import PageClient
from tests.support.postgres import free_port
from tests.support.team_server import running_team


@pytest.fixture
def provider():
    with OpenidProvider() as provider:
        provider.now = now()
        yield provider


@pytest.fixture
def team_with_provider(postgres_url, provider):
    oidc = OidcLogin(
        OidcProvider(
            issuer=provider.issuer,
            client_id=provider.client_id,
            client_secret=provider.client_secret,
        )
    )
    with running_team(postgres_url, free_port(), oidc=oidc) as team:
        team.control.people.create_user(team.admin, "ann", now=now(), email="ann@example.com")
        yield team


def start_device(team):
    """What a terminal gets to show and to poll with."""
    return team.client()("login/device", tenant="acme", client_name="ann's laptop")


def test_a_device_comes_in_when_its_person_says_so(team):
    """Pending until then, with the time to wait; then a key, once."""
    early, waiting, ann = start_device(team), start_device(team), team.hire("ann")
    pending = team.client().ask("login/device/poll", device_code=early["device_code"])
    assert (pending.status_code, pending.json()["type"]) == (
        400,
        "urn:reverie:problem:login-pending",
    )
    assert int(pending.headers["retry-after"]) >= 1
    assert ann("devices/show", user_code=waiting["user_code"])["client_name"] == "ann's laptop"
    ann("devices/approve", user_code=waiting["user_code"])
    came = team.client()("login/device/poll", device_code=waiting["device_code"])
    assert came["user"] == "ann"
    assert team.client(came["token"])("whoami")["user"] == "ann"
    again = team.client().ask("login/device/poll", device_code=waiting["device_code"])
    assert again.status_code >= 400


def test_one_address_cannot_fill_up_who_waits_at_a_tenant(team):
    """It is told when to come back, and may go on to poll for what it began."""
    waiting = start_device(team)
    asked = [team.client().ask("login/device", tenant="acme") for _ in range(12)]
    assert {one.status_code for one in asked[-2:]} == {429}
    pending = team.client().ask("login/device/poll", device_code=waiting["device_code"])
    assert pending.json()["type"] == "urn:reverie:problem:login-pending"


def test_an_invitation_makes_a_user_once(team):
    """With the spaces that it was given; the code is worth nothing afterwards."""
    boss = team.client(team.founded.key.token)
    code = boss("members/invite", spaces=["demo"], right="write")["code"]
    joined = team.client()("join", code=code, name="cleo")
    cleo = team.client(joined["token"])
    assert {"space": "demo", "right": "write"} in cleo("whoami")["spaces"]
    assert team.client().ask("join", code=code, name="dora").status_code == 403


def test_a_person_lets_a_device_in_through_the_provider(team_with_provider):
    """The whole way of a browser: the device's page, the provider, back, a question, yes."""
    team, waiting = team_with_provider, start_device(team_with_provider)
    with httpx.Client(base_url=team.url, follow_redirects=True, timeout=120) as browser:
        page = browser.get(waiting["verification_uri_complete"])
        (link,) = re.findall(r'href="(/login[^"]*)"', page.text)
        back = browser.get(link.replace("&amp;", "&"))
        (on,) = re.findall(r'href="(/device[^"]*)"', back.text)
        asked = browser.get(on)
        assert "ann&#x27;s laptop" in asked.text and waiting["user_code"] in asked.text
        assert asked.headers["content-security-policy"].startswith("default-src 'none'")
        said = browser.post("/device", data={"user_code": waiting["user_code"], "answer": "yes"})
        assert "It is let in" in said.text
    came = team.client()("login/device/poll", device_code=waiting["device_code"])
    assert team.client(came["token"])("whoami")["user"] == "ann"


def test_a_sign_in_ends_in_the_browser_where_it_began(team_with_provider):
    """Whoever follows the address by which another comes back is not signed in as them."""
    team = team_with_provider
    with (
        httpx.Client(base_url=team.url, timeout=120) as mallory,
        httpx.Client(base_url=team.url, timeout=120) as victim,
    ):
        back = mallory.get(mallory.get("/login").headers["location"]).headers["location"]
        assert back.startswith(f"{team.url}/login/callback")
        followed = victim.get(back)
        assert (followed.status_code, dict(victim.cookies)) == (403, {})
        assert "You are signed in" in mallory.get(back).text


def test_a_person_comes_to_the_pages_through_the_provider(team_with_provider):
    """Back where they wanted to go, with a cookie that other sites' requests do not bring."""
    team = team_with_provider
    with PageClient(team.url) as browser:
        page = browser.get("/team/keys")
        (link,) = re.findall(r'href="(/login[^"]*)"', page.text)
        back = browser.get(link.replace("&amp;", "&"))
        assert 'content="0; url=/team/keys"' in back.text
        assert "SameSite=strict" in back.headers["set-cookie"]
        assert "signed in at" in browser.get("/team/keys").text
        for asked in ("next=https://evil.example/", "user_code=//evil.example/"):
            foreign = browser.get(f"/login?{asked}")
            assert 'content="0; url=/"' in foreign.text


def test_the_operator_names_the_domains_that_may_sign_in(provider, tmp_path):
    """By a setting; whose address is of another is refused."""
    settings = Settings(
        home=tmp_path, oidc_issuer=provider.issuer, oidc_client_id=provider.client_id
    )
    open_to_all, narrowed = (
        open_oidc(settings),
        open_oidc(settings._replace(oidc_domains=("example.org",))),
    )
    token = provider.id_token()
    assert open_to_all.read_identity(token, now()).email == "ann@example.com"
    with pytest.raises(LoginRefused):
        narrowed.read_identity(token, now())


def test_the_provider_opens_one_tenant_alone(team_with_provider):
    """That of its organisation, whatever an address names: others have users of the same name."""
    team = team_with_provider
    other = team.control.tenants.create("other", admin="ann", email="ann@example.com", now=now())
    with httpx.Client(base_url=team.url, follow_redirects=True, timeout=120) as browser:
        browser.get("/login", params={"tenant": "other"})
        caller = team.control.authenticate(browser.cookies["reverie_session"], now())
    assert (caller.tenant, other.tenant.name) == ("acme", "other")


def test_nobody_says_yes_who_is_not_signed_in(team):
    """A form that is posted without the cookie lets nothing in."""
    waiting = start_device(team)
    said = httpx.post(
        f"{team.url}/device", data={"user_code": waiting["user_code"], "answer": "yes"}, timeout=120
    )
    assert said.status_code == 401
    for path in ("/device", "/device/join"):
        said = httpx.post(team.url + path, headers={"Origin": "https://evil.example"}, timeout=120)
        assert said.status_code == 403
    pending = team.client().ask("login/device/poll", device_code=waiting["device_code"])
    assert pending.json()["type"] == "urn:reverie:problem:login-pending"


def test_what_a_page_is_given_stays_text(team):
    """A code in an address is shown as it was written, and is no part of the page."""
    page = httpx.get(
        f"{team.url}/device", params={"user_code": '"><script>alert(1)</script>'}, timeout=120
    )
    assert "<script" not in page.text


def test_an_access_token_counts_only_if_it_is_for_this_server(team_with_provider, provider):
    """MCP with a token of the provider (RFC 8707): of its audience it opens the user's memory; of
    another service's it opens nothing.
    """
    team = team_with_provider
    metadata = httpx.get(f"{team.url}/.well-known/oauth-protected-resource/mcp", timeout=120).json()
    assert metadata["authorization_servers"] == [provider.issuer]
    provider.changed = {"aud": metadata["resource"], "azp": "an-agent"}

    async def remember(session):
        return await session.call_tool("remember", {"text": "The staging server is heron."})

    for _ in range(2):
        assert not use_tools(metadata["resource"], provider.id_token(), remember).is_error
    users = {
        key.user for key in team.control.keys.list(team.admin, None) if key.purpose == "browser"
    }
    assert users == {"ann"}

    for changed in ({"aud": "another-service"}, {"aud": provider.client_id}, {"exp": 1}):
        provider.changed = changed
        refused = httpx.post(
            metadata["resource"],
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            headers={"Authorization": f"Bearer {provider.id_token()}"},
            timeout=120,
        )
        assert refused.status_code == 401, changed


def test_a_revoked_sign_in_by_access_token_stays_out(team_with_provider, provider):
    """In every process, until the provider issues another token; a user switched off, for good."""
    team, moment = team_with_provider, now()
    tokens = team.deployment.access_tokens
    provider.changed = {"aud": tokens.audiences[0]}
    first = provider.id_token()
    caller = tokens.find_caller(first, moment)
    assert tokens.find_caller(first, moment).key_id == caller.key_id
    team.control.keys.revoke(team.admin, caller.key_id, moment)
    another = ProviderTokens(team.deployment.oidc, team.control, "acme", tokens.audiences)
    for process in (tokens, another):
        with pytest.raises(Unauthenticated):
            process.find_caller(first, moment)
    provider.now = moment + 60
    later = provider.id_token()
    assert tokens.find_caller(later, moment + 60).user == caller.user
    team.control.people.disable_user(team.admin, caller.user, moment + 60)
    with pytest.raises(Unauthenticated):
        tokens.find_caller(later, moment + 61)
