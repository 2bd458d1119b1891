"""A real browser on real pages: Debian's Chromium, by Playwright."""

import os
import re
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from reverie.interfaces.web.security import LocalSecurity, make_token
from reverie.interfaces.web.web_app import LocalMinds, build_web_app
from reverie.testing import SPACE
from tests.interfaces.web.browser_checks import wait_until_ready
from tests.interfaces.web.web_client import KEY
from tests.support.helpers import wait_until

# Debian's, then what other systems call theirs.
BROWSERS = tuple(
    Path("/usr/bin", name) for name in ("chromium", "chromium-browser", "google-chrome")
)
# Milliseconds until something that a page does by itself is given up, on however busy a machine.
PATIENCE = 120_000
# So many times slower than it is the browser runs, for who looks for tests that depend on its pace.
SLOWNESS = float(os.environ.get("REVERIE_BROWSER_SLOWNESS", "1"))


@contextmanager
def serving(mind, space=SPACE):
    """The pages of a mind on a free port; their address."""
    import uvicorn

    app = build_web_app(LocalMinds(mind), LocalSecurity(KEY, mind.context.now), space=space)
    chosen = uvicorn.Config(
        app, port=0, log_level="critical", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(chosen)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    """The doctor's page looks at the home of the settings, which is a folder beside the tests."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def chromium():
    """The browser, started once for a module."""
    program = next((path for path in BROWSERS if path.exists()), None)
    if program is None:
        missing = "no Chromium here: apt-get install chromium"
        # Where a browser is promised, nobody should take its absence for success.
        (pytest.fail if os.environ.get("REVERIE_NEEDS_BROWSER") else pytest.skip)(missing)
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    # For who tries DNS rebinding: a foreign name that leads here.
    options = ["--host-resolver-rules=MAP *.example 127.0.0.1"]
    options += ["--no-sandbox"] if os.getuid() == 0 else []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(program), args=options)
        yield browser
        browser.close()


def open_context(chromium, **options):
    """A browser of somebody's own."""
    context = chromium.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context


def open_tab(context):
    """A page in a browser, as slow as it is wanted."""
    page = context.new_page()
    if SLOWNESS > 1:
        rate = {"rate": SLOWNESS}
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", rate)
    return page


class Visit:
    """A page of a browser that has entered, and what went wrong on it."""

    def __init__(self, page, address, mind, *, has_scripts=True):
        self.page, self.address, self.mind = page, address, mind
        self.has_scripts = has_scripts
        self.trouble: list[str] = []
        page.on("console", self.hear_console)
        page.on("pageerror", lambda err: self.trouble.append(f"error: {err}"))
        page.on("dialog", lambda shown: self.trouble.append(f"dialog: {shown.message}"))
        page.on("request", self.see_request)

    def hear_console(self, said):
        # A driver's remark on how fast it reads pixels is none of ours, nor that somebody was
        # quicker than the field which takes the focus.
        if not re.search("GL Driver Message|Autofocus processing was blocked", said.text):
            self.trouble.append(f"{said.type}: {said.text} at {self.page.url}")

    def see_request(self, request):
        if not request.url.startswith(self.address):
            self.trouble.append(f"request to {request.url}")

    def go(self, path):
        self.page.goto(f"{self.address}{path}")
        if self.has_scripts:
            wait_until_ready(self.page)
        return self.page


@contextmanager
def visiting(chromium, mind):
    """`open(**context)` opens a page of a mind's pages in a browser of its own, entered already."""
    with serving(mind) as address:
        contexts = []

        def open_page(**options):
            context = open_context(chromium, **options)
            contexts.append(context)
            has_scripts = options.get("java_script_enabled", True)
            one = Visit(open_tab(context), address, mind, has_scripts=has_scripts)
            one.go(f"/?token={make_token(KEY, mind.context.now())}")
            return one

        yield open_page
        for context in contexts:
            context.close()


@pytest.fixture
def visit(chromium, home):
    """`visit(**context)` opens a page of the home's pages, entered already."""
    with visiting(chromium, home) as open_page:
        yield open_page
