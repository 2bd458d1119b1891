"""Homes in step with a real server: uvicorn on a socket, PostgreSQL beneath."""

import gzip
import json

import pytest

from reverie.core.clock import now
from reverie.core.errors import AccessDenied, BadInput, Unauthenticated
from reverie.sync.credentials import credentials_file
from reverie.sync.server_client import ServerClient, parse_server_url
from reverie.sync.team_server import find_key
from tests.sync.conftest import key_of


@pytest.mark.proves("X64")
def test_what_is_shared_reaches_a_colleague(log_in):
    """Ann shares a space, Bob joins it: what she kept is found by his recall, as others' words."""
    ann, bob = log_in("ann"), log_in("bob")
    note = ann.remember("Deploys run from the branch release.", space="me/demo", kind="decision")
    ann.remember("Ann lives in Leipzig.", space="me/demo")
    ann.team.share("me/demo", to="bob", write=True)
    assert ann.team.sync().trouble == ""
    bob.team.share("me/work", shared="demo")
    report = bob.team.sync()
    assert (report.new, report.trouble) == (1, "")
    (hit,) = bob.recall("which branch do deploys run from?", space="me/work")
    assert (hit.memory.id, hit.memory.provenance) == (note.id, "untrusted")
    assert hit.memory.details["writer"]["user"] == "ann"
    bob.team.trust("me/work")
    bob.team.sync()
    (there,) = bob.get([note.id])
    assert (there.kind, there.provenance) == ("decision", "extracted")


def test_two_devices_of_a_user_come_to_the_same(log_in):
    """Everything of `me` is on both, edits and forgetting too; the links of one are the other's."""
    laptop = log_in("ann")
    note = laptop.remember("The port is 4100.", space="me/demo")
    gone = laptop.remember("The queue is slow.", space="me/demo")
    laptop.team.share("me/demo")
    laptop.team.sync()
    desktop = log_in("ann", "desktop")
    assert desktop.team.status().shared == {"me/demo": "demo"}
    assert desktop.team.sync().new == 2
    desktop.revise(note.id, text="The port is 4200.")
    desktop.forget(gone.id)
    desktop.team.sync(), laptop.team.sync()
    assert laptop.get([note.id])[0].text == "The port is 4200."
    assert not laptop.get([gone.id])[0].active
    assert not laptop.team.sync() and not desktop.team.sync()


def test_what_is_said_on_the_server_reaches_the_home(log_in, team):
    """A memory that a program keeps by the HTTP API comes with the next pull."""
    ann = log_in("ann")
    ann.team.sync()
    key = json.loads(credentials_file(ann.settings.home).read_text())["key"]
    kept = team.client(key)("remember", text="The port is 4100.", space="me/demo")
    assert ann.team.sync().new == 1
    (there,) = ann.get([kept["id"]])
    assert (there.space, there.text) == ("me/demo", "The port is 4100.")


def test_what_leaves_a_space_on_the_server_is_put_away_by_colleagues(log_in, team):
    """Moved by the HTTP API too: their copies no longer count."""
    ann, bob = log_in("ann"), log_in("bob")
    note = ann.remember("Deploys run from the branch release.", space="me/demo", kind="decision")
    ann.team.share("me/demo", to="bob", write=True)
    ann.team.sync()
    bob.team.share("me/demo")
    assert bob.team.sync().new == 1
    key = json.loads(credentials_file(ann.settings.home).read_text())["key"]
    team.client(key)("revise", id=note.id, space="me/private")
    bob.team.sync()
    (copy,) = bob.get([note.id])
    assert (copy.active, copy.retired_why) == (False, "unshared")


@pytest.mark.proves("X69")
def test_a_purge_reaches_the_raw_database(log_in, team):
    """What is purged here is gone there, from history and events too, and from a colleague's."""
    ann, bob = log_in("ann"), log_in("bob")
    note = ann.remember("The codename is bluebird seven.", space="me/demo")
    ann.team.share("me/demo", to="everyone", write=True)
    bob.team.share("me/demo")
    ann.team.sync(), bob.team.sync()
    assert bob.get([note.id])
    ann.data.purge(note.id)
    ann.team.sync(), bob.team.sync()
    dumped = list(team.database.store("acme").dump())
    assert "bluebird" not in repr(dumped)
    assert "bluebird" not in repr(list(bob.store.dump()))


@pytest.mark.proves("X69")
def test_what_is_purged_on_the_server_is_purged_on_devices(log_in, team):
    """A program purges by the HTTP API: every device's copy is erased at its next sync, a
    colleague's too, and none brings it back.
    """
    ann, bob = log_in("ann"), log_in("bob")
    note = ann.remember("The codename is bluebird seven.", space="me/demo")
    ann.team.share("me/demo", to="everyone", write=True)
    bob.team.share("me/demo")
    ann.team.sync(), bob.team.sync()
    assert bob.get([note.id])
    key = json.loads(credentials_file(ann.settings.home).read_text())["key"]
    team.client(key)("purge", ids=[note.id])
    for mind in (bob, ann):
        assert mind.team.sync().purged == 1
        assert not mind.get([note.id])
        assert "bluebird" not in repr(list(mind.store.dump()))
    assert not team.client(key)("get", ids=[note.id])


def test_unshared_is_ones_own_again(log_in, team):
    """What one contributed leaves the space; colleagues have it no more, and share brings it back."""
    ann, bob = log_in("ann"), log_in("bob")
    note = ann.remember("The queue has two workers.", space="me/demo")
    ann.team.share("me/demo", to="everyone", write=True)
    bob.team.share("me/demo")
    ann.team.sync(), bob.team.sync()
    ann.team.unshare("me/demo")
    ann.team.sync(), bob.team.sync()
    who = team.control.authenticate(find_key(ann.settings, team.url), now())
    assert () == who.links
    assert ann.get([note.id])[0].active
    assert not bob.get([note.id])[0].active
    ann.team.share("me/demo")
    ann.team.sync(), bob.team.sync()
    assert bob.get([note.id])[0].active


def test_unshared_and_kept_stays_with_the_team(log_in):
    """With `keep` what one contributed stays there, and what one keeps from then on does not go."""
    ann, bob = log_in("ann"), log_in("bob")
    note = ann.remember("The queue has two workers.", space="me/demo")
    ann.team.share("me/demo", to="everyone", write=True)
    bob.team.share("me/demo")
    ann.team.sync(), bob.team.sync()
    ann.team.unshare("me/demo", keep=True)
    later = ann.remember("The cache is on disk.", space="me/demo")
    ann.team.sync(), bob.team.sync()
    assert bob.get([note.id])[0].active and not bob.get([later.id])


def test_what_is_on_hold_does_not_leave_its_space(log_in, team):
    """Unshared, it would be its writer's own, and could be erased: it stays, and the reason is told."""
    ann = log_in("ann")
    note = ann.remember("The queue has two workers.", space="me/demo")
    ann.team.share("me/demo", to="everyone", write=True)
    ann.team.sync()
    team.control.governance.place_hold(team.admin, "space", "demo", "case 7", now())
    ann.team.unshare("me/demo")
    assert ann.team.sync().refused == (note.id,)
    assert [one.space for one in team.database.store("acme").get([note.id])] == ["demo"]


def test_what_an_administrator_erases_is_gone_from_devices(log_in, team):
    """By source, and by retention: no copy stays behind, and none comes back with a later sync."""
    ann, bob = log_in("ann"), log_in("bob")
    note = ann.remember("The codename is bluebird seven.", space="me/demo", session="s-7")
    ann.team.share("me/demo", to="everyone", write=True)
    bob.team.share("me/demo")
    ann.team.sync(), bob.team.sync()
    assert bob.get([note.id])
    boss = team.client(team.founded.key.token)
    assert boss("erase", source="s-7", dry_run=False)["erased"] == 1
    ann.team.sync(), bob.team.sync()
    ann.team.share("me/demo")  # all is gone through again
    ann.team.sync(), bob.team.sync()
    for home in (ann.store, bob.store, team.database.store("acme")):
        assert "bluebird" not in repr(list(home.dump()))


@pytest.mark.proves("X65")
def test_nobody_sees_another_users_private_memories(log_in, team):
    """A pull gives the caller's own and the shared spaces that they may read, whatever it asks."""
    ann, eve = log_in("ann"), log_in("eve")
    ann.remember("The codename is bluebird seven.", space="me/demo")
    ann.team.share("me/shop", to="ann")
    ann.team.sync(), eve.team.sync()
    key = json.loads(credentials_file(eve.settings.home).read_text())["key"]
    asked = {"after": "", "space": ["~ann", "~ann/demo", "shop", "me"], "device": "x"}
    answer = team.client(key).get("/v1/sync/pull", params=asked)
    assert answer.status_code == 200 and answer.json()["memories"] == []


def test_without_write_right_items_are_refused_and_the_rest_goes_on(log_in):
    """Bob may only read: his own goes to his private space, what he shares is refused by name."""
    ann, bob = log_in("ann"), log_in("bob")
    ann.team.share("me/demo", to="bob")
    with pytest.raises(AccessDenied):
        bob.team.share("me/demo")


def test_a_wrong_key_is_said_to_be_wrong(team, home):
    """Nothing is kept of a key that the server does not know, and it is not repeated."""
    with pytest.raises(Unauthenticated) as told:
        home.team.login(team.url, "rv_acme_abcdefgh_" + "x" * 40)
    assert "x" * 40 not in str(told.value)
    assert home.team.status() is None
    assert not credentials_file(home.settings.home).exists()


@pytest.mark.proves("X70")
def test_the_key_is_in_a_private_file_and_in_no_export(log_in):
    """Mode 0600; neither the database nor an export nor what is printed holds it."""
    ann = log_in("ann")
    path = credentials_file(ann.settings.home)
    key = json.loads(path.read_text())["key"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert key not in repr(list(ann.data.export())) and key not in repr(ann.team.status())
    database = ann.settings.home / "reverie.db"
    assert key.encode() not in database.read_bytes()
    ann.team.logout()
    assert not path.exists() and ann.team.status() is None


def test_bodies_that_are_no_batch_are_refused(team):
    """Packed wrongly, too deep, no object, another format: 400, and the server goes on."""
    client = team.hire("ann")
    packed = {"Content-Encoding": "gzip"}
    bomb = gzip.compress(b" " * 50_000_000)
    for body, headers, status in (
        (b"[]", {}, 400),
        (b"{", {}, 400),
        (b'{"format": 99}', {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"no gzip", packed, 400),
        (bomb, packed, 413),
        (b'{"format": 1, "memories": [1, {"memory": {"id": NaN}}]}', {}, 400),
    ):
        answer = client.post("/v1/sync/push", content=body, headers=headers)
        assert answer.status_code == status, (body[:40], answer.text)
    answer = client.post("/v1/sync/push", json={"format": 1, "memories": [1, {"memory": {}}]})
    assert [one["result"] for one in answer.json()["results"]] == ["refused", "refused"]


@pytest.mark.parametrize("url", ["http://memory.acme.org", "ftp://x", "https://u:p@x", "https://"])
def test_an_address_that_would_give_the_key_away_is_refused(url):
    """No unencrypted address but this machine, no name and password in it, no other scheme."""
    with pytest.raises(BadInput):
        parse_server_url(url)


def test_the_client_follows_no_redirect(team):
    """Another address is named and not gone to: the key stays with the host that was given."""
    client = ServerClient(team.url, key_of(team, "ann"))
    assert client.status()["user"] == "ann"
    client.close()
