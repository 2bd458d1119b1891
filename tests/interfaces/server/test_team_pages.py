# mypy: no-check-untyped-defs
"""The pages in the team's server: who comes in, who sees what, who may do what."""

import json
import re
import threading
from contextlib import contextmanager, suppress

import httpx
import pytest

from reverie.access import KeyScope, Right
from reverie.core.clock import new_key, now
from reverie.interfaces.server.page_mount import TeamPages
from reverie.interfaces.server.server_app import build_app
from reverie.interfaces.server.team_pages import TEAM_PAGES
from reverie.interfaces.web.page import View
from tests.support.helpers import wait_until
from tests.support.page_client import PageClient
from tests.support.postgres import free_port, fresh_database
from tests.support.team_server import running_team

SECRET = "The ptarmigan is our staging server."
VIEWS = [one.path for page in TEAM_PAGES for one in page.routes if isinstance(one, View)]


@pytest.fixture(scope="module")
def house(postgres_server):
    """A server for all tests of this file."""
    with fresh_database(postgres_server) as url, running_team(url, free_port()) as team:
        yield team


@pytest.fixture
def team(house):
    """A tenant of one's own on it."""
    house.deployment.public_url = house.url
    return house.found(f"t{new_key()[:4].hex()}")


@pytest.fixture
def visit(team):
    """`visit(token)`: somebody's browser, signed in with that key; without one, a stranger's."""
    clients = []

    def open_pages(token=""):
        clients.append(PageClient(team.url))
        return clients[-1].sign_in(token) if token else clients[-1]

    yield open_pages
    for client in clients:
        client.close()


def fill(path, memory):
    """An address of a view, with something in its place that there is."""
    return path.replace("{id}", memory).replace("{number}", "1").replace("{run}", "1")


def twin(path):
    """Where the same stands as JSON."""
    address, mark, query = path.partition("?")
    return f"{address}.json{mark}{query}"


# Coming in.


def test_nobody_sees_a_page_who_is_not_signed_in(team, visit):
    """They get the page to sign in, under the address that they wanted; a key in a header opens no
    page, and the cookie of a page opens nothing of the API.
    """
    stranger, ann = visit(), team.hire("ann")
    page = stranger.get("/memory/mem_1?space=me/x")
    assert page.status_code == 401 and 'name="next" value="/memory/mem_1?space=me/x"' in page.text
    assert stranger.get("/team.json").json()["error"]["type"] == "Unauthenticated"
    assert ann.get("/team").status_code == 401
    signed_in = visit(team.issue("ann"))
    assert signed_in.get("/v1/whoami").status_code == 401
    stranger.cookies.set("reverie_session", team.issue("ann"))
    assert stranger.get("/team").status_code == 401


def test_the_cookie_is_a_key_of_its_own_for_half_a_day(team, visit):
    """No script reads it, no other site's request brings it; the key that was pasted stands in it
    nowhere, and the new one is as narrow.
    """
    team.hire("ann")
    token = team.issue("ann", scope=KeyScope(spaces=("demo",), right=Right.READ))
    client = visit()
    said = client.post(
        "/sign-in", data={"key": token, "next": "/ask"}, headers=client.own, follow_redirects=False
    )
    cookie = said.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Max-Age=43200" in cookie
    assert token.rpartition("_")[2] not in cookie
    caller = team.control.authenticate(client.cookies["reverie_session"], now())
    assert (caller.scope.spaces, caller.scope.right) == (("demo",), Right.READ)
    assert 0 < (caller.expires_at or 0) - now() <= 12 * 3600


def test_over_https_the_cookie_is_bound_to_the_host(team, visit):
    """By its name, which browsers take from this very host over https alone."""
    team.hire("ann")
    token, client = team.issue("ann"), visit()
    team.deployment.public_url = "https://memory.example.com"
    headers = {"Host": "memory.example.com", "Origin": "https://memory.example.com"}
    said = client.post("/sign-in", data={"key": token}, headers=headers, follow_redirects=False)
    assert said.headers["set-cookie"].startswith("__Host-reverie_session=")
    assert "Secure" in said.headers["set-cookie"]


def test_a_key_that_is_no_good_is_told_what_it_is(team, visit):
    """A half one, an invitation, one for a program."""
    boss = team.client(team.founded.key.token)
    team.hire("ann")
    wrong = {
        "rv_half": "copied whole",
        "hello": "begins with rv_",
        boss("members/invite")["code"]: "an invitation",
        team.issue("ann", scope=KeyScope(verbs=("recall",))): "for a program",
    }
    client = visit()
    for key, said in wrong.items():
        page = client.post("/sign-in", data={"key": key}, headers=client.own)
        assert page.status_code in (401, 403) and said in page.text
    assert not client.cookies


def test_a_revoked_key_ends_the_sessions_that_were_begun_with_it(team, visit):
    """At once; other sessions of the same user go on."""
    ann, used, other = team.hire("ann"), team.issue("ann"), team.issue("ann")
    first, second = visit(used), visit(other)
    ann("keys/revoke", prefix=used.split("_")[2])
    assert (first.get("/ask").status_code, second.get("/ask").status_code) == (401, 200)


def test_signing_out_ends_the_session_and_not_the_cookie_alone(team, visit):
    """A copy of the cookie is worth nothing afterwards; the key that was pasted still works."""
    ann, token = team.hire("ann"), team.issue("ann")
    browser = visit(token)
    copy = browser.cookies["reverie_session"]
    page = browser.post_form("/sign-out")
    assert "You are signed out" in page.text and not browser.cookies
    assert team.client(copy).ask("whoami").status_code == 401
    assert team.client(token)("whoami")["user"] == ann("whoami")["user"]


def test_an_invitation_is_used_in_the_browser(team, visit):
    """The new user is signed in, and shown their key once."""
    boss, client = team.client(team.founded.key.token), visit()
    code = boss("members/invite", spaces=["demo"], right="write")["code"]
    page = client.post(
        "/sign-in/join", data={"code": code, "name": "cleo", "next": "/team"}, headers=client.own
    )
    (token,) = re.findall(r"rv_t\w+", page.text)
    assert team.client(token)("whoami")["user"] == "cleo"
    assert "cleo" in client.get("/team").text
    again = client.post("/sign-in/join", data={"code": code, "name": "d"}, headers=client.own)
    assert again.status_code == 403 and "not valid" in again.text


# Hostile requests.


@pytest.mark.parametrize(
    ("path", "fields"),
    [("/sign-in", {"key": "own"}), ("/team/share", {"of": "demo"}), ("/sign-out", {})],
)
def test_no_other_site_has_anything_done(team, visit, path, fields):
    """Another origin, none at all, a sandboxed frame, no token or another's: refused."""
    team.hire("ann"), team.hire("ben")
    ann, ben = visit(team.issue("ann")), visit(team.issue("ben"))
    fields = {"csrf": ann.csrf(), **fields}
    if path == "/sign-in":
        fields["key"] = team.issue("ben")
    tried = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"{team.url}.evil.example"},
        {"Origin": team.url, "Sec-Fetch-Site": "same-site"},
        {},
    ]
    for headers in tried:
        assert ann.post(path, data=fields, headers=headers).status_code == 403, headers
    if path != "/sign-in":
        for token in ("", "x", ben.csrf()):
            assert (
                ann.post(path, data={**fields, "csrf": token}, headers=ann.own).status_code == 403
            )
    assert "<b><bdi>ann</bdi></b>" in ann.get("/team").text
    assert not team.control.spaces.grants(team.admin)


def test_another_name_of_the_server_is_refused(team, visit):
    """What DNS rebinding needs; on this machine its names are all the same."""
    team.hire("ann")
    browser = visit(team.issue("ann"))
    port = team.url.rpartition(":")[2]
    for host in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{int(port) + 1}", "localhost:80"):
        for path in ("/ask", "/sign-in", "/team.json", "/live"):
            answer = browser.get(path, headers={"Host": host})
            assert (answer.status_code, SECRET in answer.text) == (403, False)
    assert browser.get("/ask", headers={"Host": f"localhost:{port}"}).status_code == 200


def test_every_page_forbids_what_it_does_not_need(team, visit):
    """Also those that are shown to nobody in particular, and refusals."""
    team.hire("ann")
    browser, stranger = visit(team.issue("ann")), visit()
    answers = [stranger.get(path) for path in ("/", "/sign-in", "/team", "/live")]
    answers += [browser.get(path) for path in ("/ask", "/team", "/code", "/team/keys.json")]
    answers.append(browser.get("/ask", headers={"Host": "evil.example"}))
    for answer in answers:
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script")
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store", answer.url


def test_a_link_from_elsewhere_opens_the_page_once_more(team, visit):
    """A strict cookie does not come with it: it is asked for again from here, and only once."""
    stranger = visit()
    page = stranger.get("/memory/mem_1", headers={"Sec-Fetch-Site": "cross-site"})
    assert '<meta http-equiv="refresh" content="0; url=/memory/mem_1">' in page.text
    assert (
        "Sign in" in stranger.get("/memory/mem_1", headers={"Sec-Fetch-Site": "same-origin"}).text
    )
    assert 'value="/"' in stranger.get("/sign-in?next=https://evil.example/").text


def test_pages_and_api_have_no_address_in_common(team):
    """No page stands in the way of the API, or the other way round."""
    pages = {route.path for route in TeamPages(team.deployment).list_routes()}
    others = [route.path for route in build_app(team.deployment).app.routes]
    assert pages <= set(others) and len(others) == len({(p, n) for n, p in enumerate(others)})
    assert not {path for path in others if others.count(path) > 1} & pages - {"/sign-in"}


# What one sees.


def test_no_page_shows_what_its_reader_may_not_read(team, visit):
    """Neither a text nor a tag, a title, a space, a count of it, in HTML or JSON; who may read is
    shown it by the same pages.
    """
    ann, ben = team.hire("ann"), visit(team.hire("ben") and team.issue("ben"))
    team.grant("ptarmigans", Right.WRITE, "ann")
    for space in ("me/nest", "ptarmigans"):
        kept = ann(
            "remember", text=SECRET, title="ptarmiganry", tags=["grouse"], space=space, kind="fact"
        )
        ann("remember", text=f"Concluded: {SECRET}", space=space, provenance="inferred")
        ann("revise", id=kept["id"], text=f"{SECRET} Still.")
    hidden = re.compile("ptarmigan|grouse|nest|ann\\b|mem_", re.IGNORECASE)
    looks = [*VIEWS, "/ask?q=staging", "/ask?state=gone", "/ask?q=staging&as_of=2020-01-01"]
    seen = 0
    owner = visit(team.issue("ann"))
    for path in looks:
        for address in (fill(path, kept["id"]), twin(fill(path, kept["id"]))):
            text = ben.get(address).text.replace(kept["id"], "")
            assert not hidden.search(text), (address, hidden.findall(text))
            seen += "ptarmigan" in owner.get(address).text
    assert seen >= 12
    for space in ("ptarmigans", "ptarmigans/x", "~ann", "~ann/nest", "nothing"):
        answer = ben.get("/ask.json", params={"space": space, "q": "ptarmigan"})
        expected = f"You may not read {space!r}, or there is no such space."
        assert (answer.status_code, expected in answer.text) == (403, True)
    assert "1 memory" not in ben.get("/team").text


def test_one_sees_ones_own_spaces_by_their_names(team, visit):
    """`me/demo`, as on one's machine, in what is shown and in what is asked."""
    ann = team.hire("ann")
    kept = ann("remember", text=SECRET, space="me/demo")
    browser = visit(team.issue("ann"))
    for path in (
        "/ask?space=me/demo",
        f"/memory/{kept['id']}",
        "/team",
        "/map/table?space=me/demo",
    ):
        page = browser.get(path)
        assert "me/demo" in page.text or path == "/team"
        assert "~ann" not in page.text, page.text
    assert browser.get(f"/memory/{kept['id']}.json").json()["memory"]["space"] == "me/demo"
    moved = browser.act(f"/memory/{kept['id']}/move", to="me/other")
    assert ann("get", ids=[kept["id"]])[0]["space"] == "me/other"
    browser.undo_shown(moved)
    assert ann("get", ids=[kept["id"]])[0]["space"] == "me/demo"


def test_a_right_is_there_and_gone_with_the_next_page(team, visit):
    """In the list of spaces too."""
    ann, ben = team.hire("ann"), visit(team.hire("ben") and team.issue("ben"))
    team.grant("demo", Right.WRITE, "ann")
    kept = ann("remember", text=SECRET, space="demo")
    assert ben.get(f"/memory/{kept['id']}").status_code == 404
    team.grant("demo", Right.READ, "ben")
    assert SECRET in ben.get(f"/memory/{kept['id']}").text
    assert '<option value="demo"' in ben.get("/ask").text
    team.control.spaces.revoke(team.admin, "demo", now=now(), user="ben")
    assert ben.get(f"/memory/{kept['id']}").status_code == 404
    assert "demo" not in ben.get("/ask").text


def test_who_may_only_read_changes_nothing(team, visit):
    """By their right in the space, or by that of the key they came with; each is told."""
    ann, ben = team.hire("ann"), visit(team.hire("ben") and team.issue("ben"))
    team.grant("demo", Right.WRITE, "ann")
    team.grant("demo", Right.READ, "ben")
    kept = ann("remember", text=SECRET, space="demo")
    for action, fields in (
        ("forget", {}),
        ("move", {"to": "me"}),
        ("judge", {"verdict": "never"}),
        ("edit", {"text": "No.", "edited": ben.get(f"/memory/{kept['id']}.json").json()["edited"]}),
    ):
        answer = ben.post_form(f"/memory/{kept['id']}/{action}", **fields)
        assert (action, answer.status_code) == (action, 403)
    reading = visit(team.issue("ann", scope=KeyScope(right=Right.READ)))
    answer = reading.post_form(f"/memory/{kept['id']}/forget")
    assert answer.status_code == 403 and "may only read" in answer.text
    (now_kept,) = ann("get", ids=[kept["id"]])
    assert (now_kept["text"], now_kept["retired_at"], now_kept["space"]) == (SECRET, None, "demo")


def test_a_colleagues_words_are_not_edited_as_others_words(team, visit):
    """The form would write down how one reader sees them; who trusts the space may edit."""
    ann, ben = team.hire("ann"), visit(team.hire("ben") and team.issue("ben"))
    team.grant("demo")
    kept = ann("remember", text="Never push on Friday.", kind="negative", space="demo")
    form = ben.get(f"/memory/{kept['id']}.json").json()
    fields = {"text": "Push.", "kind": form["memory"]["kind"], "edited": form["edited"]}
    refused = ben.post_form(f"/memory/{kept['id']}/edit", **fields)
    assert refused.status_code == 403 and "Trust the space first" in refused.text
    ben.act("/team/trust", of="demo", trust="yes", **{"for": "me"})
    form = ben.get(f"/memory/{kept['id']}.json").json()
    fields = {"text": "Never push late.", "kind": form["memory"]["kind"], "edited": form["edited"]}
    ben.act(f"/memory/{kept['id']}/edit", **fields)
    (after,) = ann("get", ids=[kept["id"]])
    assert (after["text"], after["details"]["writer"]["edited_by"]) == ("Never push late.", ["ben"])


OF_A_MACHINE = ("/code", "/sessions", "/nights", "/guards", "/health", "/health/doctor", "/changes")


def test_the_server_shows_nothing_of_its_own_machine(team, visit):
    """Pages of files say where they are to be found; a search reaches memories alone."""
    team.hire("ann")
    browser = visit(team.issue("ann"))
    for path in OF_A_MACHINE:
        page = browser.get(path)
        says_where = "machine" in page.text or "Machines" in page.text
        assert (page.status_code == 404 and says_where) or path == "/nights"
        assert f'href="{path}"' not in browser.get("/ask").text
    found = browser.get("/ask.json?q=reverie&in=code").json()
    assert (found["place"], found["code"], found["notes"]) == ("memories", [], [])
    for path in ("/guards/default", "/review/mirror", "/nights/1/undo"):
        assert browser.post_form(path).status_code in (404, 405)


# Live.


@contextmanager
def listening(browser):
    """What a page is told, as it comes; the stream is open when the block begins."""
    told, opened = [], threading.Event()

    def read():
        with (
            suppress(httpx.HTTPError, httpx.StreamError),
            browser.stream("GET", "/live?after=0", timeout=120) as stream,
        ):
            for line in stream.iter_lines():
                opened.set()
                if line.startswith("data: "):
                    told.append(json.loads(line.removeprefix("data: ")))
        told.append("over")

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    assert opened.wait(120)
    yield told
    thread.join(120)
    assert not thread.is_alive()


def test_one_is_told_of_what_one_may_read_and_of_nothing_else(team, visit):
    """While others write elsewhere; a revoked key ends the stream."""
    ann, ben_key = team.hire("ann"), team.hire("ben") and team.issue("ben")
    team.grant("shared", Right.WRITE)
    with listening(visit(ben_key)) as ben, listening(visit(team.issue("ann"))) as anns:
        hidden = ann("remember", text=SECRET, space="me")
        wait_until(lambda: any(hidden["id"] in one["memories"] for one in anns))
        assert ben == []
        seen = ann("remember", text="For all of us.", space="shared")
        wait_until(lambda: ben)
        (told,) = ben
        assert told == {"last": told["last"], "memories": [seen["id"]], "verbs": ["remember"]}
        for key in team.control.keys.list(team.admin, None):
            if key.user != "boss":
                team.control.keys.revoke(team.admin, key.prefix, now())
        ann_again = team.client(team.issue("ann"))
        ann_again("remember", text="Nobody hears of this.", space="shared")
        wait_until(lambda: ben[-1] == "over" == anns[-1])
    assert len(ben) == 2


def test_open_streams_do_not_keep_the_server_from_stopping(postgres_server):
    """They end as soon as it is told to."""
    with (
        fresh_database(postgres_server) as url,
        running_team(url, free_port()) as team,
        PageClient(team.url) as browser,
        listening(browser.sign_in(team.founded.key.token)),
    ):
        for stop in team.deployment.when_stopping:
            stop()


# Team.


def test_trust_is_taken_back_only_where_it_was_changed(team, visit):
    """Said again what holds already, there is nothing to undo; undo never sets the opposite then."""
    team.hire("ann")
    boss = visit(team.founded.key.token)
    headers = {**boss.own, "Accept": "application/json"}

    def say(whom, word):
        fields = {"of": "demo", "for": whom, "trust": word}
        return json.loads(boss.post_form("/team/trust", headers=headers, **fields).text)

    for whom in ("me", "all"):
        assert not say(whom, "no").get("undo_path")
        done = say(whom, "yes")
        assert (done["undo_path"], done["undo_fields"]["trust"]) == ("/team/trust", "no")
        assert not say(whom, "yes").get("undo_path")
        assert say(whom, "no")["undo_fields"]["trust"] == "yes"


def test_rights_are_given_and_taken_with_a_way_back(team, visit):
    """To a user, a team, everyone; undo gives what was there before."""
    team.hire("ann")
    boss = visit(team.founded.key.token)
    first = boss.act("/team/grant", of="demo", who="ann", right="read")
    second = boss.act("/team/grant", of="demo", who="ann", right="administer")

    def held():
        return [(g.kind, g.grantee, g.right.word) for g in team.control.spaces.grants(team.admin)]

    assert held() == [("user", "ann", "administer")]
    boss.undo_shown(second)
    assert held() == [("user", "ann", "read")]
    boss.undo_shown(first)
    assert held() == []
    boss.act("/team/people/teams/add", team="core")
    boss.act("/team/people/teams/join", team="core", user="ann")
    boss.act("/team/grant", of="demo", who="team:core", right="write")
    boss.act("/team/grant", of="demo", who="everyone", right="read")
    assert len(held()) == 2
    taken = boss.act("/team/revoke", of="demo", who="team:core")
    boss.undo_shown(taken)
    assert ("team", "core", "write") in held()
    assert boss.post_form("/team/grant", of="demo", who="nobody", right="read").status_code == 404


def test_who_founds_a_space_lets_others_in(team, visit):
    """Without being an administrator; whom they let in sees it, with what stands in it."""
    ann, ben = (
        visit(team.hire("ann") and team.issue("ann")),
        visit(team.hire("ben") and team.issue("ben")),
    )
    ann.act("/team/share", of="ptarmigans")
    team.client(team.issue("ann"))("remember", text=SECRET, space="ptarmigans")
    assert "ptarmigans" not in ben.get("/team").text
    ann.act("/team/grant", of="ptarmigans", who="ben", right="read")
    assert SECRET in ben.get("/ask?space=ptarmigans").text
    assert "ptarmigans" in ben.get("/team").text and "Take away" not in ben.get("/team").text
    assert (
        ben.post_form("/team/grant", of="ptarmigans", who="ben", right="write").status_code == 403
    )
    ben.act("/team/revoke", of="ptarmigans", who="user:ben")
    assert "ptarmigans" not in ben.get("/team").text


def test_people_are_invited_switched_off_and_on(team, visit):
    """An invitation is shown once, and withdrawn; who is switched off is out at once."""
    ann = visit(team.hire("ann") and team.issue("ann"))
    boss = visit(team.founded.key.token)
    page = boss.act("/team/people/invite", email="cy@example.com", spaces="demo, api", right="read")
    (code,) = set(re.findall(r"rvi_t\w+", page.text))
    assert code not in boss.get("/team/people").text
    assert "cy@example.com" in boss.get("/team/people").text
    boss.act("/team/people/withdraw", invitation=code.split("_")[2])
    assert "cy@example.com" not in boss.get("/team/people").text
    off = boss.act("/team/people/disable", user="ann")
    assert ann.get("/ask").status_code == 401
    boss.undo_shown(off)
    assert ann.get("/ask").status_code == 200
    refused = boss.post_form("/team/people/disable", user="boss")
    assert refused.status_code == 400 and "last administrator" in refused.text


def test_keys_are_made_shown_once_and_revoked(team, visit):
    """One's own; an administrator sees everyone's, and nobody a secret again."""
    ann = visit(team.hire("ann") and team.issue("ann"))
    made = ann.act("/team/keys/issue", label="hooks", right="read", spaces="me/demo", days="30")
    (token,) = re.findall(r"rv_t\w+", made.text)
    caller = team.control.authenticate(token, now())
    assert (caller.scope.spaces, caller.scope.right) == (("~ann/demo",), Right.READ)
    assert token not in ann.get("/team/keys").text
    boss = visit(team.founded.key.token)
    everyones = boss.get("/team/keys?whose=everyone").text
    assert caller.key_id in everyones and caller.key_id not in boss.get("/team/keys").text
    boss.act("/team/keys/revoke", key=caller.key_id)
    assert team.client(token).ask("whoami").status_code == 401
    assert caller.key_id in ann.get("/team/keys?state=all").text


def test_others_are_shown_to_administrators_alone(team, visit):
    """A member sees their own keys, lines of the audit, teams, and may manage nobody."""
    ann, boss = team.hire("ann"), visit(team.founded.key.token)
    team.grant("grouse", Right.WRITE, "ann")
    ann("remember", text=SECRET, space="grouse")
    ben = visit(team.hire("ben") and team.issue("ben"))
    for path in (
        "/team",
        "/team/people",
        "/team/keys?whose=everyone",
        "/team/audit?actor=ann",
        "/team/keeping",
    ):
        for address in (path, twin(path)):
            assert not re.search(
                r"\bann\b|boss|grouse", ben.get(address).text.replace("actor=ann", "")
            ), address
    assert "remember" in boss.get("/team/audit?actor=ann").text
    for path, fields in (
        ("/team/people/invite", {}),
        ("/team/people/disable", {"user": "ann"}),
        ("/team/people/teams/add", {"team": "x"}),
        ("/team/keys/issue", {"user": "ann", "label": "x"}),
        ("/team/keeping/hold", {"subject": "grouse", "reason": "x"}),
        ("/team/keeping/retention", {"of": "grouse", "days": "1"}),
        ("/team/trust", {"of": "grouse", "trust": "yes", "for": "all"}),
    ):
        assert (path, ben.post_form(path, **fields).status_code) == (path, 403)


def test_the_audit_is_paged_and_filtered(team, visit):
    """The newest first; what is done on a page leaves the line that the API leaves."""
    ann = team.hire("ann")
    team.grant("demo", Right.WRITE, "ann")
    kept = [ann("remember", text=f"Number {n}.", space="demo") for n in range(3)]
    browser = visit(team.issue("ann"))
    browser.get(f"/memory/{kept[1]['id']}")
    browser.act(f"/memory/{kept[0]['id']}/forget")
    first = browser.get("/team/audit.json?limit=2").json()
    rest = browser.get("/team/audit.json", params={"before": first["next"]}).json()
    lines = [*first["entries"], *rest["entries"]]
    assert [line["id"] for line in lines] == sorted((line["id"] for line in lines), reverse=True)
    assert [line["verb"] for line in lines].count("remember") == 3
    found = browser.get("/team/audit.json?verb=forget&of=demo").json()["entries"]
    assert [(line["verb"], line["space"], line["count"]) for line in found] == [
        ("forget", "demo", 1)
    ]
    looked = browser.get("/team/audit.json?verb=look").json()["entries"]
    assert {line["space"] for line in looked} == {"demo"}
    assert browser.get("/team/audit.json?since=2099-01-01").json()["entries"] == []
    assert browser.get("/team/audit?since=soon").status_code == 400


def test_rules_and_holds_are_set_and_taken_back(team, visit):
    """Retention by who administers the space, holds by administrators."""
    boss = visit(team.founded.key.token)
    rule = boss.act("/team/keeping/retention", of="demo", days="365")
    assert "365" in boss.get("/team/keeping").text
    boss.undo_shown(rule)
    assert team.control.governance.retention_rules(team.admin) == []
    boss.act("/team/keeping/hold", kind="user", subject="ann", reason="case 17")
    (hold,) = team.control.governance.holds(team.admin)
    boss.act("/team/keeping/lift", hold=hold.id)
    assert team.control.governance.holds(team.admin)[0].lifted_by == "boss"


def test_pages_answer_programs_too(team, visit):
    """Their values as JSON, and what an action did, with its way back."""
    team.hire("ann")
    browser = visit(team.issue("ann"))
    for path in ("/team", "/team/people", "/team/keys", "/team/audit", "/team/keeping"):
        assert isinstance(browser.get(twin(path)).json(), dict)
    headers = {**browser.own, "Accept": "application/json"}
    done = json.loads(browser.post_form("/team/share", of="demo", headers=headers).text)
    assert (done["undo_path"], done["undo_fields"]["of"]) == ("/team/unlink", "demo")
    assert "demo is there" in done["message"]
