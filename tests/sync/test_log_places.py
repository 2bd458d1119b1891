# mypy: no-check-untyped-defs
"""A folder, a git repository and a team's server as places of device logs: one contract for all,
and what only a server promises.
"""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace

import pytest

from reverie.access import KeyScope, Limits, Right
from reverie.access.callers import operator_of
from reverie.access.tenant_export import export_tenant
from reverie.core.age_sealing import new_secret, public_of, seal_to
from reverie.core.clock import now
from reverie.core.errors import BadInput, HeldByLaw, NotFound
from reverie.core.model import Filter
from reverie.sync.credentials import load_place_keys, save_place_key
from reverie.sync.device_logs.batch_file import HEAD, MAGIC, RING, key_file_name
from reverie.sync.device_logs.git_place import GitPlace
from reverie.sync.device_logs.log_folder import LogFolder, PlaceAway
from reverie.sync.device_logs.server_place import ServerPlace
from reverie.sync.server_client import ServerClient
from reverie.testing import memory
from tests.support.helpers import run_command, toy_home
from tests.sync.conftest import key_of, paired_homes

EVERYTHING = Filter(active=None, limit=10_000)
ONE, OTHER = "0" * 11 + "1", "0" * 11 + "2"  # numbers of devices
DAY = 86_400.0


def sealed_batch(text):
    """A file as a device would leave it, as far as whoever keeps it can tell."""
    sealed = seal_to([public_of(new_secret())], text.encode())
    return HEAD.pack(MAGIC, len(sealed), hashlib.sha256(sealed).digest()) + sealed


@pytest.fixture(params=["folder", "git", "server"])
def kind(request):
    return request.param


@pytest.fixture
def ann(request):
    """The key of a user of a team's server."""
    team = request.getfixturevalue("team")
    return SimpleNamespace(team=team, key=key_of(team, "ann"), url=team.url)


@pytest.fixture
def where(kind, request, tmp_path):
    """(the place as a user names it, the key to it)."""
    if kind == "server":
        ann = request.getfixturevalue("ann")
        return ann.url, ann.key
    path = tmp_path / "place"
    if kind == "git":
        subprocess.run(["git", "init", "--bare", "--quiet", str(path)], check=True)
    else:
        path.mkdir()
    return str(path), ""


@pytest.fixture
def open_place(kind, where, tmp_path):
    """The place as a device sees it; all are closed at the end."""
    opened = []

    def open_place(device):
        home = tmp_path / f"home-{device}"
        home.mkdir(exist_ok=True)
        url, key = where
        if kind == "server":
            save_place_key(home, url, key)
            place = ServerPlace(url, home)
        else:
            place = GitPlace(url, device, home) if kind == "git" else LogFolder(Path(url))
        opened.append(place)
        place.open()
        return place

    yield open_place
    for place in opened:
        place.close()


@pytest.fixture
def homes(where, tmp_path):
    """Homes by name, sealed and paired through the place; all are closed at the end."""
    url, key = where
    with paired_homes(tmp_path, url, key=key, sealed=True) as open_home:
        yield open_home


def texts_of(mind):
    return sorted(one.text for one in mind.store.browse(EVERYTHING))


def sync(*minds, rounds=2):
    """Bring devices in step; none has trouble."""
    for _ in range(rounds):
        for mind in minds:
            assert () == mind.devices.sync().troubles


def test_what_one_device_writes_the_other_lists_and_reads(open_place):
    """Whole, under its name and with its size; written again it is the same; removed it is gone."""
    mine, theirs = open_place(ONE), open_place(OTHER)
    files = {f"{ONE}-0000000{n}.log": sealed_batch(f"{n}") for n in (1, 2)}
    files[key_file_name(ONE)] = RING + seal_to([public_of(new_secret())], b"ring")
    for name, data in files.items():
        mine.write(name, data)
        mine.write(name, data)
    mine.finish()
    for place in (mine, theirs):
        place.open()
        assert {name: len(data) for name, data in files.items()} == place.sizes()
        assert all(place.read(name) == data for name, data in files.items())
    gone = f"{ONE}-00000001.log"
    mine.remove(gone)
    mine.finish()
    theirs.open()
    assert gone not in theirs.sizes() and len(theirs.sizes()) == 2


def test_a_file_of_keys_is_replaced_by_its_device(open_place):
    """It changes as devices come and go; who looks later reads the later one."""
    mine, theirs = open_place(ONE), open_place(OTHER)
    name = key_file_name(ONE)
    for text in (b"ring", b"a larger ring"):
        data = RING + seal_to([public_of(new_secret())], text)
        mine.open()
        mine.write(name, data)
        mine.finish()
        theirs.open()
        assert theirs.read(name) == data


def test_three_homes_come_to_the_same(homes):
    """Memories, edits and forgetting; and once they are in step nothing more happens."""
    laptop, desk, phone = homes("laptop"), homes("desk"), homes("phone")
    note = laptop.remember("The port is 4100.", space="me/demo")
    desk.remember("The queue is slow.", space="me/demo")
    sync(laptop, desk, phone)
    phone.revise(note.id, text="The port is 4200.")
    sync(phone, laptop, desk)
    for mind in (laptop, desk, phone):
        assert texts_of(mind) == ["The port is 4200.", "The queue is slow."]
        assert not mind.devices.sync()


def test_a_purge_reaches_every_home_and_the_place(homes, open_place):
    """It is erased on the others, and no file that was written before it is left."""
    laptop, desk = homes("laptop"), homes("desk")
    note = laptop.remember("The codename is bluebird seven.", space="me/demo")
    sync(laptop, desk)
    place = open_place(OTHER)
    before = {name for name in place.sizes() if name.endswith(".log")}
    laptop.data.purge(note.id)
    sync(laptop, desk)
    place.open()
    assert not texts_of(desk) and before.isdisjoint(place.sizes())
    assert "bluebird" not in repr(list(desk.store.dump()))


WRITER = """
import sys
from reverie.testing import memory
with memory(sys.argv[1], embedder="none") as mind:
    for number in range(10_000):
        mind.remember(f"Fact number {number}.", space="me/demo")
        if not mind.devices.sync().troubles:
            print(number, flush=True)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing_and_sends_nothing_twice(homes, tmp_path):
    """Killed while it sends, three times: the other home has all that was sent, each once."""
    desk, laptop = homes("desk"), homes("laptop")
    home = laptop.settings.home
    laptop.close()
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(3):
                assert process.stdout.readline()
            process.send_signal(signal.SIGKILL)
    with memory(home, embedder="none") as again:
        # The lease of the one that was killed is given back by whoever finds it dead.
        sync(again)
        desk.devices.sync()
        assert texts_of(desk) == texts_of(again)
        assert [one.missing for one in desk.devices.status().others] == [0]


# What only a server promises.


@pytest.fixture
def server_homes(ann, tmp_path):
    """Homes of Ann, sealed and paired through the server."""
    with paired_homes(tmp_path, ann.url, key=ann.key) as open_home:
        yield open_home


def dump_rows(team):
    """Every row of every table of the tenant, as a dump has it, binary columns as bytes too."""
    from reverie.storage.postgres.access_dump import dump_table, readable_forms, tenant_tables

    with team.control.tables.governing("acme") as rows:
        for table in tenant_tables(rows.db):
            for row in dump_table(rows.db, table):
                for value in filter(None, row):
                    yield table, readable_forms(value)


@pytest.mark.proves("X76")
def test_the_server_has_no_word_of_what_it_keeps(server_homes, ann):
    """Of texts, titles, spaces and names of machines none stands in a raw dump of its database."""
    laptop, desk = server_homes("laptop-of-ann"), server_homes("desk-of-ann")
    laptop.remember(
        "Ask Brunhilde for the wolfram budget.", space="me/skunkworks", title="Tungsten"
    )
    sync(laptop, desk)
    assert len(texts_of(desk)) == 1
    rows = list(dump_rows(ann.team))
    assert sum(table == "device_file" for table, _ in rows)
    words = ("Brunhilde", "wolfram", "Tungsten", "skunkworks", "laptop-of-ann", "desk-of-ann")
    for word in words:
        assert not [table for table, forms in rows if any(word in one for one in forms)], word
    assert ann.team.database.store("acme").stats().memories == 0
    assert not laptop.team.status()


@pytest.mark.proves("X76")
def test_nobody_else_can_list_read_write_or_remove(server_homes, ann):
    """Not a colleague, not the administrator, nor by a key that may not; row security says so too."""
    laptop = server_homes("laptop")
    laptop.remember("The port is 4100.", space="me/demo")
    sync(laptop)
    mine = ann.team.client(ann.key)
    listed = mine.get("/v1/sync/files").json()["files"]
    name = next(one["name"] for one in listed if one["name"].endswith(".log"))
    data = mine.get(f"/v1/sync/files/{name}").content
    assert hashlib.sha256(data).hexdigest() in {one["digest"] for one in listed}
    fresh = {"If-None-Match": "*"}
    for key in (key_of(ann.team, "bob"), ann.team.founded.key.token):
        other = ann.team.client(key)
        assert other.get("/v1/sync/files").json() == {"files": []}
        assert other.get(f"/v1/sync/files/{name}").status_code == 404
        assert other.delete(f"/v1/sync/files/{name}").json() == {"removed": False}
        # Under the same name it is a file of their own.
        put = other.put(f"/v1/sync/files/{name}", content=sealed_batch("x"), headers=fresh)
        assert put.status_code == 200
        seized = {"If-Match": next(one["digest"] for one in listed if one["name"] == name)}
        put = other.put(f"/v1/sync/files/{name}", content=sealed_batch("y"), headers=seized)
        assert put.status_code == 412 and put.json()["type"].endswith(":overwritten")
    assert mine.get(f"/v1/sync/files/{name}").content == data
    nobody = ann.team.client()
    assert nobody.get("/v1/sync/files").status_code == 401
    reader = ann.team.client(ann.team.issue("ann", scope=KeyScope(right=Right.READ)))
    assert reader.get(f"/v1/sync/files/{name}").content == data
    assert reader.delete(f"/v1/sync/files/{name}").status_code == 403
    bob = ann.team.control.authenticate(key_of(ann.team, "carl"), now())
    with ann.team.control.tables.keeping_files(
        "acme", readable=bob.rights.readable_regex, writable=bob.rights.writable_regex
    ) as rows:
        assert rows.device_files("~ann") == [] and not rows.remove_device_file("~ann", name)
    ann.team.found("other")
    with ann.team.control.tables.keeping_files("other", readable=".", writable=".") as rows:
        assert rows.device_places() == []


def test_a_file_is_written_once_and_only_sealed(ann):
    """The same again is fine, another one is refused; so is what is not sealed, or has no name."""
    client = ann.team.client(ann.key)
    path, fresh = f"/v1/sync/files/{ONE}-00000001.log", {"If-None-Match": "*"}
    data = sealed_batch("One.")
    for _ in range(2):
        put = client.put(path, content=data, headers=fresh)
        assert put.status_code == 200
        assert put.headers["etag"] == f'"{hashlib.sha256(data).hexdigest()}"'
    assert client.put(path, content=sealed_batch("Two."), headers=fresh).status_code == 412
    assert client.get(path).content == data
    open_log = HEAD.pack(MAGIC, 5, hashlib.sha256(b"plain").digest()) + b"plain"
    other = f"/v1/sync/files/{ONE}-00000002.log"
    refused = client.put(other, content=open_log, headers=fresh)
    assert refused.status_code == 400 and "not sealed" in refused.json()["detail"]
    assert client.put(other, content=data).status_code == 400
    for name in ("notes.txt", f"{ONE}-٠٠٠٠٠٠٠١.log"):
        put = client.put(f"/v1/sync/files/{name}", content=data, headers=fresh)
        assert put.status_code == 400
    large = MAGIC + bytes(9_000_000)
    assert client.put(other, content=large, headers=fresh).status_code == 413


def test_a_quota_holds_and_is_told(server_homes, ann):
    """What does not fit is refused with the reason, stays here, and goes when there is room."""
    laptop = server_homes("laptop")
    sync(laptop)
    ann.team.control.tenants.set_limits("acme", Limits(bytes=1_000), now())
    ann.team.control.tables.forget_lookups("acme")
    laptop.remember("The port is 4100.", space="me/demo")
    (trouble,) = laptop.devices.sync().troubles
    assert "as it may" in trouble
    assert laptop.devices.status().places[0].trouble == trouble
    ann.team.control.tenants.set_limits("acme", Limits(bytes=10_000_000), now())
    ann.team.control.tables.forget_lookups("acme")
    sync(laptop)


def bytes_kept(control):
    with control.tables.governing("acme") as rows:
        return rows.stored_amounts().bytes


def test_in_a_full_place_a_device_makes_room_and_goes_on(server_homes, ann):
    """A log that says a thing over and over is written anew, smaller, in place of itself; where
    that is not enough what others write is read all the same.
    """
    laptop, desk = server_homes("laptop"), server_homes("desk")
    note = laptop.remember("The port is 4100.", space="me/demo")
    for number in range(12):
        laptop.revise(note.id, text=f"The port is {4200 + number}. " + random_words(number))
        sync(laptop, rounds=1)
    desk.devices.sync()
    tenants, tables = ann.team.control.tenants, ann.team.control.tables
    tenants.set_limits("acme", Limits(bytes=bytes_kept(ann.team.control) + 100), now())
    tables.forget_lookups("acme")
    last = "The port is 4300. " + random_words(99)
    laptop.revise(note.id, text=last)
    sync(laptop, rounds=1)
    desk.devices.sync()
    assert texts_of(desk) == [last]
    desk.remember("Desk has room still.", space="me/demo")
    sync(desk, rounds=1)
    tenants.set_limits("acme", Limits(bytes=1_000), now())
    tables.forget_lookups("acme")
    laptop.remember("It does not fit.", space="me/demo")
    (trouble,) = laptop.devices.sync().troubles
    assert "as it may" in trouble and "reverie sync remove-device NAME --files" in trouble
    assert "Desk has room still." in texts_of(laptop)


def test_in_a_full_place_a_machine_that_is_gone_makes_room(server_homes, ann):
    """By what the trouble advises: its files go, and what they told this machine's log tells."""
    laptop, desk = server_homes("laptop"), server_homes("desk")
    note = desk.remember("The port is 4100.", space="me/demo")
    for number in range(12):
        desk.revise(note.id, text=f"The port is {4200 + number}. " + random_words(number))
        sync(desk, rounds=1)
    sync(laptop, rounds=1)
    tenants, tables = ann.team.control.tenants, ann.team.control.tables
    tenants.set_limits("acme", Limits(bytes=bytes_kept(ann.team.control) + 100), now())
    tables.forget_lookups("acme")
    laptop.remember(random_words("laptop"), space="me/demo")
    (trouble,) = laptop.devices.sync().troubles
    assert "reverie sync remove-device NAME --files" in trouble
    run_command(
        "sync", "remove-device", "desk", "--files", "--yes", "--home", str(laptop.settings.home)
    )
    assert not laptop.devices.sync().troubles
    status = laptop.devices.status()
    assert not status.others and not status.departing
    tenants.set_limits("acme", Limits(bytes=10_000_000), now())
    tables.forget_lookups("acme")
    phone = server_homes("phone")
    sync(laptop, phone)
    assert texts_of(phone) == texts_of(laptop) and len(texts_of(phone)) == 2


def random_words(seed):
    """Some 2,000 letters that cannot be compressed by much, the same for a seed."""
    return " ".join(hashlib.sha256(f"{seed} {n}".encode()).hexdigest() for n in range(30))


def test_a_server_that_is_away_is_noted_and_tried_again(server_homes, ann, monkeypatch):
    """Nothing is lost meanwhile, and what waited goes by itself."""
    laptop, desk = server_homes("laptop"), server_homes("desk")
    monkeypatch.setattr(HTTPConnection, "connect", refuse_connection)
    laptop.remember("The port is 4100.", space="me/demo")
    (trouble,) = laptop.devices.sync().troubles
    assert "does not answer" in trouble and ann.url in trouble
    (place,) = laptop.devices.status().places
    assert (place.kind, place.fails, place.trouble) == ("server", 1, trouble)
    monkeypatch.undo()
    sync(laptop, desk)
    assert texts_of(desk) == ["The port is 4100."]


def refuse_connection(_client):
    raise ConnectionRefusedError("Connection refused")


def test_an_answer_that_is_lost_is_asked_for_again(server_homes, monkeypatch):
    """Cut off after the server has taken a file: it is sent again, and comes to the same."""
    laptop, desk = server_homes("laptop"), server_homes("desk")
    whole = ServerClient.write_file

    def cut_off(client, name, data, **more):
        whole(client, name, data, **more)
        raise PlaceAway("The connection was cut off")

    monkeypatch.setattr(ServerClient, "write_file", cut_off)
    laptop.remember("The port is 4100.", space="me/demo")
    assert laptop.devices.sync().troubles
    monkeypatch.undo()
    sync(laptop, desk)
    assert texts_of(desk) == ["The port is 4100."]


def test_two_homes_of_one_number_are_told_apart(server_homes, ann, tmp_path):
    """A copied home writes the same file: the second of them is refused, and takes another."""
    laptop, desk = server_homes("laptop"), server_homes("desk")
    laptop.remember("One.", space="me/demo")
    sync(laptop, desk)
    home = Path(laptop.settings.home)
    laptop.close()
    shutil.copytree(home, tmp_path / "copied")
    with (
        memory(home, now=now, embedder="none") as first,
        memory(tmp_path / "copied", now=now, embedder="none") as second,
    ):
        first.remember("Two.", space="me/demo")
        second.remember("Three.", space="me/demo")
        sync(first)
        for _ in range(3):
            second.devices.sync()
        assert first.devices.status().device != second.devices.status().device
        sync(first, desk)
        assert texts_of(desk) == texts_of(first) == ["One.", "Three.", "Two."]


def test_a_file_that_somebody_put_under_this_devices_number_is_replaced(server_homes, ann):
    """Whoever had the key to the server for a while has put files there that no device can open, in
    place of the next ones of a log: they hold up nothing.
    """
    laptop, desk = server_homes("laptop"), server_homes("desk")
    laptop.remember("One.", space="me/demo")
    sync(laptop, desk)
    thief, device = ann.team.client(ann.key), laptop.devices.status().device
    last = max(one["name"] for one in list_of(ann) if one["name"].startswith(f"{device}-0"))
    for number in range(int(last[13:21]) + 1, int(last[13:21]) + 4):
        put = thief.put(
            f"/v1/sync/files/{device}-{number:08}.log",
            content=sealed_batch("none of yours"),
            headers={"If-None-Match": "*"},
        )
        assert put.status_code == 200
    laptop.remember("Two.", space="me/demo")
    sync(laptop)
    (trouble, _) = desk.devices.sync().troubles  # what is still there of it is named
    assert "cannot be opened" in trouble
    assert texts_of(desk) == ["One.", "Two."]
    assert laptop.devices.status().device == device


def test_a_name_is_free_again_after_a_removal_under_a_hold(ann):
    """Nobody can tell that there is a hold: the name can be given anew, to the same and to others,
    as often as one likes, and what was removed is kept each time.
    """
    client, control, boss = ann.team.client(ann.key), ann.team.control, ann.team.admin
    path, fresh = f"/v1/sync/files/{ONE}-00000001.log", {"If-None-Match": "*"}
    hold = control.governance.place_hold(boss, "user", "ann", "A lawsuit", now())
    one, two = sealed_batch("One."), sealed_batch("Two.")
    for data in (one, one, two):
        assert client.put(path, content=data, headers=fresh).status_code == 200
        assert client.get(path).content == data
        assert client.delete(path).json() == {"removed": True}
        assert client.get(path).status_code == 404
        assert client.delete(path).json() == {"removed": False}
    (place,) = places_of(control)
    assert (place.files, place.hidden) == (2, 2)
    assert client.put(path, content=two, headers=fresh).status_code == 200
    control.governance.lift_hold(boss, hold.id, now())
    assert 2 == control.governance.apply_file_retention(operator_of("acme"), now())
    assert [f"{ONE}-00000001.log"] == [one["name"] for one in list_of(ann)]


def test_a_hold_keeps_files_out_of_sight(server_homes, ann):
    """What a device removes under a legal hold is kept and shown to nobody; then it is erased."""
    laptop = server_homes("laptop")
    note = laptop.remember("The codename is bluebird.", space="me/demo")
    sync(laptop)
    control, boss = ann.team.control, ann.team.admin
    hold = control.governance.place_hold(boss, "user", "ann", "A lawsuit", now())
    laptop.data.purge(note.id)
    sync(laptop)
    (place,) = places_of(control)
    assert place.hidden == 1 and place.files == place.hidden + len(list_of(ann))
    with pytest.raises(HeldByLaw, match="Files of devices"):
        control.governance.plan_erasure(boss, author="ann").check()
    assert 0 == control.governance.apply_file_retention(operator_of("acme"), now())
    control.governance.lift_hold(boss, hold.id, now())
    assert 1 == control.governance.apply_file_retention(operator_of("acme"), now())
    assert places_of(control)[0].hidden == 0


def places_of(control):
    with control.tables.governing("acme") as rows:
        return rows.device_places()


def list_of(ann):
    return ann.team.client(ann.key).get("/v1/sync/files").json()["files"]


def test_retention_erasure_and_export_know_them(server_homes, ann):
    """Files that no device looked at for the retention go; an erasure of the user takes all; an
    export has them as they lie there.
    """
    laptop = server_homes("laptop")
    laptop.remember("The port is 4100.", space="me/demo")
    sync(laptop)
    control, boss = ann.team.control, ann.team.admin
    exported = export_tenant(control.tables, ann.team.database.store("acme"), "acme")
    files = [row for row in exported if row["type"] == "device_file"]
    assert {row["name"] for row in files} == {one["name"] for one in list_of(ann)}
    assert json.dumps(files)
    caller = control.authenticate(ann.key, now())
    control.governance.set_retention(caller, "~ann", 30, now())
    operator = operator_of("acme")
    assert 0 == control.governance.apply_file_retention(operator, now() + 29 * DAY)
    assert len(files) == control.governance.apply_file_retention(operator, now() + 32 * DAY)
    assert list_of(ann) == []
    # A device that comes back shows its own again.
    sync(laptop)
    assert len(list_of(ann)) == len(files)
    plan = control.governance.plan_erasure(boss, author="ann")
    assert plan.device_files == len(files)
    store = ann.team.database.store("acme")
    report = control.governance.erase(boss, plan, store, now())
    assert report.device_files == len(files) and list_of(ann) == []


def test_one_may_be_logged_in_too_and_what_is_private_stays_sealed(ann, tmp_path):
    """What is shared goes to the team to be read; all else lies there sealed alone."""
    with memory(tmp_path / "laptop", now=now, embedder="none") as laptop:
        laptop.devices.add(ann.url, name="laptop", key=ann.key)
        laptop.team.login(ann.url, ann.key)
        laptop.remember("Deploys run from release.", space="me/demo", kind="decision")
        laptop.remember("Brunhilde is ill.", space="me/other")
        laptop.team.share("me/demo")
        laptop.team.sync()
        sync(laptop)
        texts = [one.text for one in ann.team.database.store("acme").browse(EVERYTHING)]
        assert texts == ["Deploys run from release."]
        with pytest.raises(BadInput, match="unsealed"):
            laptop.devices.remove(ann.url)
        laptop.team.logout()
        laptop.devices.remove(ann.url)
        assert load_place_keys(laptop.settings.home) == {}
        with pytest.raises(NotFound):
            laptop.devices.remove(ann.url)


def test_open_logs_do_not_go_to_a_server(ann, tmp_path):
    """A home that is in step through an open folder is told what to do first."""
    (tmp_path / "carried").mkdir()
    with memory(tmp_path / "laptop", now=now, embedder="none") as laptop:
        laptop.devices.add(str(tmp_path / "carried"), name="laptop", sealed=False)
        with pytest.raises(BadInput, match="reverie sync remove PLACE"):
            laptop.devices.add(ann.url, key=ann.key)
        with pytest.raises(BadInput, match="only keeps what is sealed"):
            laptop.devices.add(ann.url, sealed=False, key=ann.key)
        assert list_of(ann) == []


def test_commands_add_a_server_and_leave_it(ann, tmp_path):
    """`sync add URL --sealed` with a key on stdin; the second machine is paired; then it is left."""

    def run(home, *words, **more):
        done = run_command(*words, "--home", str(tmp_path / home / "home"), **more)
        return done.stdout + done.stderr

    for name in ("laptop", "desk"):
        toy_home(tmp_path / name)
    add = ("sync", "add", ann.url, "--sealed", "--key", "-", "--as")
    assert "not both" in run("laptop", *add, "laptop", "--plain", stdin=ann.key, code=2)
    refused = run("laptop", *add, "laptop", stdin="rv_acme_no", code=16)
    assert "does not accept this key" in refused and "--sealed" in refused
    said = run("laptop", *add, "laptop", stdin=ann.key)
    assert "It is sealed" in said and "AGE-SECRET-KEY-1" in said and ann.url in said
    run("laptop", "remember", "The port is 4100.", "--space", "me/demo")
    code = run("desk", *add, "desk", stdin=ann.key).partition("--accept ")[2].split()[0]
    assert "desk is paired" in run("laptop", "sync", "pair", "--accept", code)
    assert "1 new here" in run("desk", "sync")
    status = run("desk", "sync", "status")
    assert f"through {ann.url}" in status and "no talk, no index of code" in status
    assert "the talk of me/demo" in run("laptop", "sync", "space", "me/demo", "--with", "talk")
    assert "the talk of me/demo" in run("laptop", "sync", "status")
    assert "each machine" in run("laptop", "sync", "space", "me", "--with", "code", code=2)
    assert "no talk" in run("laptop", "sync", "space", "me/demo", "--with", "none")
    for name in ("place-keys", "device-keys"):
        assert (tmp_path / "desk/home" / name).stat().st_mode & 0o777 == 0o600
    # Added again, the key that is known does.
    assert "In step through" in run("desk", "sync", "add", ann.url, "--sealed")
    assert f"No longer in step through {ann.url}" in run("desk", "sync", "remove", ann.url)
    assert not (tmp_path / "desk/home/place-keys").exists()


def test_a_key_that_was_revoked_is_told_and_what_to_do(server_homes, ann):
    """Nothing is lost; with another key it goes on."""
    laptop = server_homes("laptop")
    key = ann.team.issue("ann")
    laptop.devices.add(ann.url, name="laptop", key=key)
    sync(laptop)
    control = ann.team.control
    control.keys.revoke(operator_of("acme"), key.split("_")[2], now())
    laptop.remember("The port is 4100.", space="me/demo")
    (trouble,) = laptop.devices.sync().troubles
    assert "does not accept this machine's key" in trouble and "--sealed" in trouble
    laptop.devices.add(ann.url, name="laptop", key=ann.key)
    sync(laptop)
