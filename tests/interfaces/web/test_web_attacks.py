"""What others try against the pages, in a real browser that has entered: another name for this
machine, forged forms, frames, scripts of another origin; a second browser, and a second user.
"""

import os
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reverie.interfaces.web.security import KEY_FILE, load_key, make_token
from tests.interfaces.web.web_client import KEY, remember_everything

pytestmark = pytest.mark.e2e
NOBODY = 65_534


@contextmanager
def other_site(html):
    """A page of somebody else's on this machine; its port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_another_name_for_this_machine_shows_nothing(visit):
    """DNS rebinding: a foreign name leads here, and its page asks as if it were ours."""
    browser = visit()
    remember_everything(browser.mind)
    port = urlsplit(browser.address).port
    page = browser.page.context.new_page()
    answer = page.goto(f"http://rebound.example:{port}/ask")
    assert answer.status == 403 and "heron" not in page.content()
    token = make_token(KEY, browser.mind.context.now())
    answer = page.goto(f"http://rebound.example:{port}/?token={token}")
    assert answer.status == 403 and "set-cookie" not in answer.headers
    # As a script of that page does.
    status = page.evaluate(
        "fetch('/index.json', {credentials: 'include'}).then((got) => got.status)"
    )
    assert status == 403
    posted = "fetch('/guards/new', {method: 'POST', body: 'text=x'}).then((got) => got.status)"
    assert page.evaluate(posted) == 403


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1"])
def test_another_site_changes_and_reads_nothing(visit, name):
    """Another site, or another program's page on this machine, to which the browser sends the cookie:
    forms, requests, pictures and scripts of it come to nothing.
    """
    browser = visit()
    mind = browser.mind
    made = remember_everything(mind)
    browser.go(f"/memory/{made['heron'].id}")
    csrf = browser.page.locator("[name=csrf]").first.input_value()
    at, id = browser.address, made["heron"].id
    before = mind.store.last_event()
    html = f"""<form id=a method=post action="{at}/memory/{id}/forget"><input name=csrf value="{csrf}"></form>
      <img src="{at}/memory/{id}"><script src="{at}/index.json"></script><link rel=stylesheet href="{at}/ask">
      <p id=told></p>"""
    with other_site(html) as port:
        page = browser.page.context.new_page()
        page.goto(f"http://{name}:{port}/")
        tried = page.evaluate(
            """async ([at, id, csrf]) => {
              const body = new URLSearchParams({ csrf });
              const ways = [
                [`${at}/index.json`, { credentials: 'include' }],
                [`${at}/memory/${id}/forget`, { method: 'POST', body, credentials: 'include' }],
                [`${at}/memory/${id}/forget`, { method: 'POST', body, credentials: 'include', mode: 'no-cors' }],
                [`${at}/memory/${id}/forget`, { method: 'POST', body, credentials: 'include', headers: { 'x-reverie-csrf': csrf } }],
              ];
              const told = [];
              for (const [where, how] of ways) told.push(await fetch(where, how).then((got) => got.type + got.status, () => 'failed'));
              const events = new EventSource(`${at}/live?after=0`, { withCredentials: true });
              told.push(await new Promise((done) => { events.onmessage = () => done('heard'); events.onerror = () => done('failed'); }));
              events.close();
              const opened = window.open(`${at}/`);
              await new Promise((done) => setTimeout(done, 300));
              let text = '';
              try { text = opened?.document?.body?.innerText ?? ''; } catch { text = ''; }
              told.push(text.includes('heron') ? 'read' : 'failed');
              return told;
            }""",
            [at, id, csrf],
        )
        assert set(tried) <= {"failed", "opaque0"}
        with page.expect_navigation() as moved:
            page.evaluate("document.getElementById('a').submit()")
        assert moved.value.status == 403
        assert "heron" not in page.content()
    assert mind.store.last_event() == before and mind.get([id])[0].active


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1"])
def test_no_other_page_holds_these_in_a_frame(visit, name):
    """Clickjacking: the browser shows nothing of ours in a frame, an object or an embed of others."""
    browser = visit()
    remember_everything(browser.mind)
    at = browser.address
    tags = (
        f'<iframe src="{at}/review"></iframe><object data="{at}/ask"></object><embed src="{at}/">'
    )
    with other_site(tags) as port:
        page = browser.page.context.new_page()
        page.goto(f"http://{name}:{port}/", wait_until="load")
        page.wait_for_timeout(200)
        inside = [frame for frame in page.frames if frame != page.main_frame]
        assert inside, "the frames are there, and empty"
        for frame in inside:
            assert frame.locator("main, form, a").count() == 0
            assert "heron" not in frame.content() and "Fridays" not in frame.content()


def test_a_printed_address_opens_one_browser_once_and_soon(visit, chromium, clock):
    """A second browser has no cookie; an address that was used, or is old, lets nobody in."""
    browser = visit()
    remember_everything(browser.mind)
    other = chromium.new_context()
    page = other.new_page()

    def status(address):
        answer = page.goto(f"{browser.address}{address}")
        assert "heron" not in page.content()
        return answer.status

    try:
        assert status("/ask") == status("/ask.json") == status("/live") == 403
        token = make_token(KEY, clock())
        browser.go(f"/?token={token}")
        assert status(f"/?token={token}") == 403
        late = make_token(KEY, clock())
        clock.tick(121)
        assert status(f"/?token={late}") == 403
        assert status(f"/?token={make_token(KEY, clock())[:-1]}x") == 403
        assert other.cookies() == []
        page.goto(f"{browser.address}/ask?token={make_token(KEY, clock())}")
        assert "heron" in page.content() and "token" not in page.url
        # No script of a page can read it, no other site gets it sent.
        (cookie,) = other.cookies()
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        assert page.evaluate("document.cookie") == ""
    finally:
        other.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_second_user_of_the_machine_gets_neither_key_nor_page(visit):
    """A process of another user reads no file of the home, and is refused where it asks."""
    browser = visit()
    program = (
        "import sys, urllib.request, urllib.error\n"
        "try: print(len(open(sys.argv[1]).read()))\n"
        "except OSError as err: print(type(err).__name__)\n"
        "try: print(urllib.request.urlopen(sys.argv[2]).status)\n"
        "except urllib.error.HTTPError as err: print(err.code)\n"
    )
    # Not in the folder of the tests, which nobody else may enter at all.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        load_key(Path(folder, "home"))
        asked = [str(Path(folder, "home", KEY_FILE)), f"{browser.address}/index.json"]
        done = subprocess.run(
            ["python3", "-c", program, *asked],
            capture_output=True,
            text=True,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            check=False,
            timeout=120,
            env={"PATH": "/usr/bin:/bin"},
            cwd="/",
        )
    assert done.stdout.split() == ["PermissionError", "403"], done.stderr
