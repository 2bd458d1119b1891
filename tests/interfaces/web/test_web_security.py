"""Who may look and change: DNS rebinding, forged forms, frames, a second user of the machine."""

import tomllib
from hashlib import sha256

import pytest

from reverie.interfaces.web import static_files
from reverie.interfaces.web.security import KEY_FILE, LocalSecurity, load_key, make_token
from reverie.interfaces.web.web_app import own_address
from tests.interfaces.web.web_client import KEY, ORIGIN, open_site, remember_everything


def test_nobody_looks_without_the_address_that_was_printed(mind):
    """A second user of the machine, or a program of theirs, has no cookie: 403, also as JSON."""
    remember_everything(mind)
    site = open_site(mind, entered=False)
    for path in ("/", "/ask", "/index.json", "/live", "/memory/mem_x", "/health"):
        answer = site.get(path)
        assert answer.status_code == 403 and "heron" not in answer.text
    assert site.post("/undo/1", data={}, headers=ORIGIN).status_code == 403


def test_a_token_lets_one_browser_in_once(mind, clock):
    """Used, foreign and old ones are refused; the cookie cannot be read or sent by other sites."""
    site = open_site(mind, entered=False)
    token = make_token(KEY, clock())
    answer = site.get(f"/ask?q=x&token={token}", follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == "/ask?q=x"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    site.cookies.clear()
    assert site.get(f"/?token={token}").status_code == 403
    assert site.get(f"/?token={make_token(bytes(32), clock())}").status_code == 403
    assert site.get(f"/?token={make_token(KEY, clock() - 600)}").status_code == 403
    assert site.get("/?token=1-2-3").status_code == 403
    assert site.get(f"/?token={make_token(KEY, clock())}").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8378", "127.0.0.1:9", "127.0.0.1.evil.example:8378", ""]
)
def test_another_name_for_this_machine_is_refused(mind, host):
    """DNS rebinding: a foreign name that leads here comes with its own Host."""
    site = open_site(mind)
    assert site.get("/", headers={"host": host}).status_code == 403
    assert site.get("/", headers={"host": "localhost:8378"}).status_code in (200, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://127.0.0.1:8378", "sec-fetch-site": "cross-site"},
        {"origin": "http://127.0.0.1:8378", "sec-fetch-site": "same-site"},
        {},
    ],
)
def test_a_change_comes_from_these_pages_alone(mind, headers):
    """A form of another origin changes nothing, even with the cookie."""
    made = remember_everything(mind)
    site = open_site(mind)
    answer = site.post_form(f"/memory/{made['heron'].id}/forget", headers=headers)
    assert answer.status_code == 403
    assert mind.get([made["heron"].id])[0].active


def test_a_form_needs_its_token(mind):
    """Without it, or with another, nothing is changed; nor by GET."""
    made = remember_everything(mind)
    site = open_site(mind)
    path = f"/memory/{made['heron'].id}/forget"
    assert site.post_form(path, csrf="").status_code == 403
    assert site.post_form(path, csrf="x" * 43).status_code == 403
    assert site.get(path).status_code in (404, 405)
    assert mind.get([made["heron"].id])[0].active


def test_every_answer_forbids_what_the_pages_do_not_need(mind):
    """Pages, files, JSON and refusals alike."""
    site = open_site(mind)
    paths = ("/", "/index.json", static_files.static_url("app.css"), "/nowhere", "/memory/x")
    answers = [*map(site.get, paths), open_site(mind, entered=False).get("/")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert site.get("/").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "address", ["//evil.example/", "https://evil.example", "/\\evil.example", "javascript:x", ""]
)
def test_nobody_is_sent_elsewhere_after_a_change(address):
    """Where to go on is an address of these pages."""
    assert own_address(address) == "/"
    assert own_address("/ask?q=x#y") == "/ask?q=x#y"


def test_files_are_kept_for_good_and_come_compressed(mind):
    """An address names the content; another content has another address."""
    site = open_site(mind, entered=False)
    answer = site.get(static_files.static_url("app.js"))
    assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip"
    assert site.get("/static/000000000000/app.js").status_code == 404
    assert site.get("/static/000000000000/..%2fpage.py").status_code == 404


def test_files_of_others_are_those_of_their_packages():
    """Each has its version, its licence and its hash in VENDORED.toml."""
    table = tomllib.loads((static_files.FOLDER / "VENDORED.toml").read_text("utf-8"))
    ours = {"app.css", "app.js", "cards.css", "cards.js", "icon.svg", "plots.js"}
    for name, row in table.items():
        assert sha256((static_files.FOLDER / name).read_bytes()).hexdigest() == row["sha256"]
        assert row["licence"] in ("0BSD", "MIT") and row["version"]
    minified = {path.name for path in static_files.FOLDER.glob("*.min.*")}
    assert minified == set(table) and not ours & set(table)


def test_a_page_is_light(mind):
    """Page, styles and scripts of a plain page: 25 KB compressed at most."""
    import gzip

    remember_everything(mind)
    site = open_site(mind)
    html = site.get(f"/memory/{mind.browse(space='me/demo')[0].id}").content
    files = static_files.load_static_files()
    total = sum(len(files[name].packed) for name in ("app.css", "app.js"))
    assert total + len(gzip.compress(html)) < 25_000
    assert total + len(files["htmx.min.js"].packed) < 25_000


def test_the_key_is_its_owners_alone(tmp_path):
    """Mode 0600, and the same for whoever starts later."""
    key = load_key(tmp_path / "home")
    assert (tmp_path / "home" / KEY_FILE).stat().st_mode & 0o077 == 0
    assert load_key(tmp_path / "home") == key and len(key) == 32
    assert LocalSecurity(key)
