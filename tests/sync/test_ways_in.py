# mypy: no-check-untyped-defs
"""How a machine comes to be in step with a team's server: a code that is let in, or an address and
a key in a program's environment.
"""

import os
import re
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

import reverie
from reverie.access.oidc_login import OidcLogin, OidcProvider
from reverie.core.clock import now
from reverie.core.errors import Unauthenticated
from reverie.sync.credentials import credentials_file
from reverie.sync.server_client import parse_server_url
from tests.support.helpers import PATIENCE, wait_until
from tests.support.openid_provider import OpenidProvider
from tests.support.postgres import free_port
from tests.support.team_server import running_team
from tests.sync.conftest import key_of


def run_words(home, *words):
    """What a command says on a machine, on stdout and stderr, once it has ended."""
    done = subprocess.run(
        [sys.executable, "-m", "reverie", *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment(home),
    )
    return done.returncode, done.stdout + done.stderr


def environment(home):
    """A machine of its own."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('embedder = "toy"\nidle = 0.0\n')
    return {"PATH": os.environ["PATH"], "HOME": str(home), "REVERIE_HOME": str(home)}


@contextmanager
def asking(home, url, *words):
    """`reverie login URL` as it waits, or another command: the page and code that it shows, and the
    process.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "reverie", *(words or ("login", url)), "--tenant", "acme"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
    )
    shown = ""
    try:
        while "Waiting" not in shown:
            line = process.stderr.readline()
            assert line, shown
            shown += line
        yield re.findall(r"Open (\S+)", shown)[0], re.findall(r"approve (\S+)", shown)[0], process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.proves("X70")
@pytest.mark.slow
def test_a_machine_is_let_in_from_another(team, tmp_path):
    """`reverie login` shows a code, `reverie team approve` on the first machine lets it in: it has
    a key of its own, as the same user. A wrong code is said to be one.
    """
    first, second = tmp_path / "first", tmp_path / "second"
    run_words(first, "login", team.url, "--key", key_of(team, "ann"), "--no-sync")
    with asking(second, team.url) as (_, code, process):
        assert process.poll() is None and not credentials_file(second).exists()
        assert "No device waits" in run_words(first, "team", "approve", "ZZZZ-ZZZZ")[1]
        status, said = run_words(first, "team", "approve", code)
        assert status == 0 and said.startswith("Let in: ")
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and "as ann" in err, out + err
    keys = {credentials_file(home).read_text() for home in (first, second)}
    assert len(keys) == 2


@pytest.mark.proves("X70")
@pytest.mark.slow
def test_a_machine_is_let_in_on_the_page(team, tmp_path):
    """Whoever opens the page that the terminal shows, and has an invitation, becomes a user there,
    and the terminal goes on by itself.
    """
    invitation = team.client(team.founded.key.token)("members/invite")["code"]
    with asking(tmp_path / "home", team.url) as (page, code, process):
        shown = httpx.get(page, timeout=120).text
        assert code in shown and f"reverie team approve {code}" in shown
        form = {"code": invitation, "name": "bob", "email": "", "user_code": code}
        assert "Welcome, bob" in httpx.post(f"{team.url}/device/join", data=form, timeout=120).text
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and "as bob" in err, out + err


@pytest.fixture
def with_provider(postgres_url):
    """A team's server whose people sign in at their organisation's provider."""
    with OpenidProvider() as provider:
        provider.now = now()
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


@pytest.mark.slow
def test_sealed_machines_come_in_by_a_code_alone(with_provider, tmp_path):
    """The first on the page, signed in at the provider; the second by `reverie team approve` on the
    first, which is logged in to no server. What is private goes there sealed only.
    """
    team, laptop, desk = with_provider, tmp_path / "laptop", tmp_path / "desk"
    add = ("sync", "add", team.url, "--sealed", "--as")
    with asking(laptop, team.url, *add, "laptop") as (page, code, process):
        with httpx.Client(base_url=team.url, follow_redirects=True, timeout=PATIENCE) as browser:
            (link,) = re.findall(r'href="(/login[^"]*)"', browser.get(page).text)
            back = browser.get(link.replace("&amp;", "&"))
            (on,) = re.findall(r'href="(/device[^"]*)"', back.text)
            browser.get(on)
            said = browser.post("/device", data={"user_code": code, "answer": "yes"})
            assert "It is let in" in said.text
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "AGE-SECRET-KEY-1" in err, out + err
    run_words(laptop, "remember", "Brunhilde has the wolfram.", "--space", "me/demo")
    run_words(laptop, "sync")
    with asking(desk, team.url, *add, "desk") as (_, code, process):
        assert "No device waits" in run_words(laptop, "team", "approve", "ZZZZ-ZZZZ")[1]
        status, said = run_words(laptop, "team", "approve", code)
        assert status == 0 and said.startswith("Let in: "), said
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + err
    (code,) = set(re.findall(r"--accept (\S+)", err))
    assert "desk is paired" in run_words(laptop, "sync", "pair", "--accept", code)[1]
    assert "1 new here" in run_words(desk, "sync")[1]
    assert not credentials_file(laptop).exists()
    assert team.database.store("acme").stats().memories == 0


@pytest.mark.slow
def test_ctrl_c_ends_the_waiting(team, tmp_path):
    """Nobody lets it in: the machine keeps nothing and says that it was stopped."""
    with asking(tmp_path / "home", team.url) as (_, _, process):
        process.send_signal(2)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "Interrupted" in err
    assert not credentials_file(tmp_path / "home").exists()


def test_a_program_opens_a_server_by_its_address(team, tmp_path, monkeypatch):
    """With the key in its environment: what the user knows is there at once, what it keeps arrives,
    the key is written nowhere, and the usual home is not touched.
    """
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REVERIE_EMBEDDER", "toy")
    with pytest.raises(Unauthenticated, match="REVERIE_SERVER_KEY"):
        reverie.open(team.url)
    key = key_of(team, "ann")
    client = team.client(key)
    client("remember", text="The staging server is called heron.", space="me/demo")
    monkeypatch.setenv("REVERIE_SERVER_KEY", key)
    with reverie.open(team.url) as mind:
        assert "heron" in mind.recall("what is staging called?", space="me/demo")[0].memory.text
        kept = mind.remember("The port of staging is 7443.", space="me/demo")
        assert mind.team.status().user == "ann"
        wait_until(lambda: client.ask("get", ids=[kept.id]).json()["result"])
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert all("servers" in path.parts for path in files if path.suffix == ".db")
    assert not [path for path in files if key.encode() in path.read_bytes()]


def test_a_key_of_somebody_else_sends_nothing(team, tmp_path, monkeypatch):
    """What is private in Ann's memory does not go into Bob's private space, whosever key is in the
    environment.
    """
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REVERIE_EMBEDDER", "toy")
    monkeypatch.setenv("REVERIE_SERVER_KEY", key_of(team, "ann"))
    with reverie.open(team.url) as mind:
        assert mind.team.status().user == "ann"
    key = key_of(team, "bob")
    monkeypatch.setenv("REVERIE_SERVER_KEY", key)
    with pytest.raises(Unauthenticated, match="the key of bob"):
        reverie.open(team.url)
    assert not team.client(key).ask("browse", space="me").json()["result"]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1:8378", "http://127.0.0.1:8378"),
        ("localhost:8378/", "http://localhost:8378"),
        ("[::1]:8378", "http://[::1]:8378"),
        ("memory.acme.org", "https://memory.acme.org"),
        ("localhost.acme.org:8378", "https://localhost.acme.org:8378"),
    ],
)
def test_an_address_without_its_scheme(given, address):
    """It is encrypted, unless it is on this machine."""
    assert parse_server_url(given).url == address
