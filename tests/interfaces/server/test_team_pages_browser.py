# mypy: no-check-untyped-defs
"""The team's pages in a real browser: two people, and what one sees of what the other does."""

import pytest

from reverie.access import Right
from tests.interfaces.web.browser_checks import (
    DRAWN,
    FITS,
    WHOLE,
    find_violations,
    wait_until_ready,
)
from tests.interfaces.web.conftest import (  # noqa: F401 - a fixture
    chromium,
    open_context,
    open_tab,
)
from tests.support.postgres import free_port, fresh_database
from tests.support.team_server import running_team

pytestmark = pytest.mark.e2e
PATHS = (
    *("/ask", "/ask?q=staging", "/review", "/map", "/map/table", "/map/picture"),
    *("/team", "/team/people", "/team/keys", "/team/audit", "/team/keeping"),
)
HOSTILE = "<img src=x onerror=alert(1)>"


class Visitor:
    """A browser of somebody's own, and what went wrong in it."""

    def __init__(self, chromium, url, **options):  # noqa: F811
        self.context, self.url = open_context(chromium, **options), url
        self.has_scripts = options.get("java_script_enabled", True)
        self.page, self.trouble = open_tab(self.context), []
        self.page.on("pageerror", lambda err: self.trouble.append(f"error: {err}"))
        self.page.on("dialog", lambda shown: self.trouble.append(f"dialog: {shown.message}"))
        self.page.on("console", self.hear)
        self.page.on("request", self.see_request)

    def hear(self, said):
        # Of a page that asks to sign in a browser says that it could not be loaded.
        # Nor is it a fault that somebody was quicker than the field which takes the focus.
        if not any(known in said.text for known in ("401", "GL Driver", "Autofocus processing")):
            self.trouble.append(f"{said.type}: {said.text}")

    def see_request(self, request):
        if not request.url.startswith(self.url):
            self.trouble.append(f"request to {request.url}")

    def go(self, path):
        self.page.goto(self.url + path)
        if self.has_scripts:
            wait_until_ready(self.page)
        return self.page

    def sign_in(self, token, path="/team"):
        page = self.go(path)
        page.get_by_label("Your key").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector("text=Signed in as")
        return self


@pytest.fixture(scope="module")
def house(postgres_server):
    """A server for all tests of this file."""
    with fresh_database(postgres_server) as url, running_team(url, free_port()) as team:
        yield team


@pytest.fixture
def visitor(house, chromium):  # noqa: F811
    """`visitor(**options)` is somebody before a browser of their own."""
    visitors = []

    def come(**options):
        visitors.append(Visitor(chromium, house.url, **options))
        return visitors[-1]

    yield come
    for one in visitors:
        one.context.close()
        assert one.trouble == []


def test_from_an_invitation_to_a_shared_memory_and_out_again(house, visitor):
    """The administrator invites, the new user joins, is given a space, sees what comes there while
    it comes, makes a key, loses it, and is out.
    """
    boss, cleo = visitor().sign_in(house.founded.key.token), visitor()
    page = boss.go("/team/people")
    page.get_by_role("button", name="Invite").click()
    address = page.locator(".secret code").first.inner_text()

    page = cleo.go(address.removeprefix(house.url))
    page.get_by_label("Your name here").fill("cleo")
    page.get_by_role("button", name="Join").click()
    page.wait_for_selector("text=Welcome, cleo")
    page.get_by_role("link", name="Go on").click()
    page.wait_for_url("**/team")
    assert "platform" not in page.locator("main ul.rows").inner_text()

    page = boss.go("/team")
    page.get_by_label("Its name").fill("platform")
    page.get_by_role("button", name="Share").click()
    row = page.locator("li.row", has_text="platform")
    row.locator("input[name=who]").fill("cleo")
    row.get_by_role("button", name="Give").click()
    page.wait_for_selector(".toast:has-text('cleo may write platform')")

    kept = house.client(house.founded.key.token)(
        "remember", text=f"The ptarmigan moved. {HOSTILE}", space="platform"
    )
    page = cleo.go(f"/memory/{kept['id']}")
    assert HOSTILE in page.locator("h1").inner_text()
    house.client(house.founded.key.token)("tag", id=kept["id"], add=["bird"])
    page.wait_for_selector("#changed:not([hidden])")

    page = cleo.go("/team/keys")
    page.get_by_role("row", name="this browser").get_by_text("Revoke", exact=True).click()
    page.get_by_role("row", name="this browser").get_by_role("button").click()
    page.wait_for_selector("h1:has-text('Sign in')")
    assert "ptarmigan" not in cleo.go(f"/memory/{kept['id']}").content()


def test_a_link_from_another_site_opens_for_who_is_signed_in(house, visitor):
    """Though the strict cookie does not come with it; nobody else's page can be framed or posted."""
    one = visitor().sign_in(house.founded.key.token)
    one.page.goto(f"data:text/html,<a href='{house.url}/team/audit'>there</a>")
    one.page.get_by_text("there").click()
    one.page.wait_for_selector("h1:has-text('Audit')")
    form = (
        f"<form method='post' action='{house.url}/team/share'>"
        "<input name='of' value='evil'><button>go</button></form>"
    )
    one.page.goto(f"data:text/html,{form}")
    one.page.get_by_text("go").click()
    one.page.wait_for_load_state()
    assert "evil" not in one.go("/team").content()
    one.trouble = [said for said in one.trouble if "data:" not in said and "403" not in said]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_page_of_a_team_is_whole_and_quiet(house, visitor, width, scheme):
    """Hostile names among them: nothing sticks out or is cut off at any width, every control is
    named, axe-core finds nothing.
    """
    boss = house.client(house.founded.key.token)
    house.grant("wide/" + "x" * 100, Right.READ)
    boss("holds/place", kind="space", subject=HOSTILE, reason=HOSTILE * 3)
    boss("keys/issue", label=HOSTILE)
    one = visitor(viewport={"width": width, "height": 800}, color_scheme=scheme)
    one.sign_in(house.founded.key.token)
    kept = boss("remember", text=f"The staging server is heron. {HOSTILE}", tags=["ops"])
    boss("remember", text="Concluded of staging.", provenance="inferred")
    wrong = []
    for path in (*PATHS, f"/memory/{kept['id']}"):
        page = one.go(path)
        page.wait_for_load_state()
        wrong += [f"{path}: {what}" for what in page.evaluate(WHOLE)]
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for narrower in {width, 820, 360} if width > 820 else {width, 320}:
            page.set_viewport_size({"width": narrower, "height": 800})
            page.evaluate(DRAWN)
            wrong += [f"{path} at {narrower}: {what}" for what in page.evaluate(FITS)]
        wrong += [f"{path}: {what}" for what in find_violations(page)]
        page.set_viewport_size({"width": width, "height": 800})
    assert wrong == []
    with_none = visitor(java_script_enabled=False)
    assert with_none.sign_in(house.founded.key.token).page.get_by_role("heading", level=1)
