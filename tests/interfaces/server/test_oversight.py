# mypy: no-check-untyped-defs
"""What a server watches: repeated requests, quotas, legal holds, the audit, its own log."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from reverie.access import AuditQuery, Limits
from reverie.access.actions import audit_entry
from reverie.access.read_audit import ReadAudit
from reverie.core.clock import now
from reverie.core.errors import StoreError
from reverie.sync.wire_format import FORMAT
from tests.support.helpers import wait_until


def repeat(client, verb, key, **arguments):
    return client.post(f"/v1/{verb}", json=arguments, headers={"Idempotency-Key": key})


def test_a_repeated_request_is_done_once(team):
    """Whoever lost the answer asks again, also twice at once, and gets the same; nothing is kept
    twice. Another request under the same key is refused.
    """
    ann = team.hire("ann")
    text = "The staging server is called heron."
    with ThreadPoolExecutor(4) as threads:
        answers = list(
            threads.map(lambda _: repeat(ann, "remember", "k1", text=text).json(), range(4))
        )
    ids = {answer["result"]["id"] for answer in answers}
    assert len(ids) == 1 == ann("stats")["memories"]
    assert repeat(ann, "remember", "k1", text="Another.").status_code == 409
    forgotten = [repeat(ann, "forget", "k2", ids=list(ids)).json()["result"] for _ in range(2)]
    assert forgotten == [1, 1]
    # Another user's keys are theirs.
    ben = team.hire("ben")
    assert repeat(ben, "remember", "k1", text="Mine.").status_code == 200


def test_what_is_noted_of_a_request_holds_no_text(team):
    """A memory that is erased leaves nothing behind in the note of the request that kept it."""
    ann = team.hire("ann")
    kept = repeat(ann, "remember", "k1", text="The codeword is sycamore.").json()["result"]
    ann("purge", ids=[kept["id"]])
    assert [] == team.control.tables.find_texts("acme", ["sycamore"])
    assert repeat(ann, "remember", "k1", text="The codeword is sycamore.").json() == {
        "result": None
    }


def test_the_audit_names_who_changed_and_who_read_what(team):
    """Every change, and reads of shared spaces: names and numbers, never a text."""
    ann, ben = team.hire("ann"), team.hire("ben")
    team.grant("demo")
    ann("remember", text="The staging server is called heron.", space="demo")
    ann("remember", text="My own: stork.", space="me/demo")
    ben("recall", query="staging server", space="demo")
    lines = team.client(team.founded.key.token)("audit")
    told = {(one["actor"], one["verb"], one["space"], one["count"]) for one in lines}
    assert {("ann", "remember", "demo", 1), ("ben", "recall", "demo", 1)} <= told
    assert not [one for one in lines if "heron" in str(one) or "stork" in str(one)]
    assert {one["actor"] for one in ben("audit")} <= {"ben"}


def test_a_page_of_the_audit_has_a_line_at_least(team):
    """A number that means nothing is refused as what it is."""
    boss = team.client(team.founded.key.token)
    for limit in (0, -1):
        assert boss.ask("audit", limit=limit).status_code == 400
    assert len(boss("audit", limit=1)) == 1


def test_learning_and_purging_again_under_one_key_is_done_once(team):
    """A conversation is learned from once and answered alike; a purge that was asked for twice says
    what it erased, also where its first answer was lost on the way.
    """
    ann = team.hire("ann")
    said = [
        {"role": "user", "content": "Remember: the staging server is called heron."},
        {"role": "assistant", "content": "I will."},
    ]
    learned = [
        repeat(ann, "learn", "k1", transcript=said, session="s1").json()["result"] for _ in range(2)
    ]
    assert learned[0] == learned[1] and not learned[1]["known"]
    assert ann("learn", transcript=said, session="s1")["known"]
    kept = ann("remember", text="The codeword is sycamore.")
    with ThreadPoolExecutor(3) as threads:
        answers = list(
            threads.map(lambda _: repeat(ann, "purge", "k2", ids=[kept["id"]]), range(3))
        )
    assert {answer.status_code for answer in answers} == {200}
    assert repeat(ann, "purge", "k2", ids=[kept["id"]]).json()["result"]["erased"] in (0, 1)
    assert sum(answer.json()["result"]["erased"] for answer in answers) >= 1
    assert [] == team.control.tables.find_texts("acme", ["sycamore"])
    # Of what was never there nothing is noted.
    for _ in range(2):
        assert repeat(ann, "purge", "k3", ids=["mem_none"]).status_code == 404
    assert repeat(ann, "purge", "k2", ids=["mem_other"]).status_code == 409


def test_a_line_about_a_change_stands_in_the_transaction_of_the_change(team, monkeypatch):
    """Where the line cannot be written nothing is changed."""
    ann = team.hire("ann")
    team.grant("demo")
    kept = ann("remember", text="The staging server is called heron.", space="demo")

    def fail(*_):
        raise StoreError("no room for another line")

    monkeypatch.setattr(team.control, "record_changes_in", fail)
    assert ann.ask("remember", text="Another.", space="demo").status_code == 503
    assert ann.ask("revise", id=kept["id"], text="Stork.").status_code == 503
    assert ann.ask("purge", ids=[kept["id"]]).status_code in (403, 503)
    monkeypatch.undo()
    assert [one["text"] for one in ann("browse", space="demo")] == [kept["text"]]


def test_lines_about_reads_are_written_soon_and_when_the_server_stops(team):
    """They wait a second at most, and until then who asks this process for the audit sees them."""
    ann, ben = team.hire("ann"), team.hire("ben")
    team.grant("demo")
    kept = ann("remember", text="The staging server is called heron.", space="demo")

    def count_lines():
        with team.control.tables.transaction("acme") as rows:
            return len(rows.audit_entries(AuditQuery(actor="ben", verbs=("get",))))

    timers = []

    def hold(seconds, work):
        timers.append((seconds, work))
        return SimpleNamespace(start=lambda: None)

    # The second is as long as twenty requests take on any machine.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reverie.access.read_audit.threading", SimpleNamespace(Timer=hold))
        for _ in range(20):
            ben("get", ids=[kept["id"]])
        [(seconds, write)] = timers
        assert (seconds, team.control.reads.waiting, count_lines()) == (1.0, 20, 0)
        assert len(ben("audit", verbs=["get"])) == 20 == count_lines()
        write()
    ben("get", ids=[kept["id"]])
    wait_until(lambda: count_lines() == 21)
    assert team.control.reads.waiting == 0
    ben("get", ids=[kept["id"]])
    team.control.close()
    assert count_lines() == 22


def test_lines_that_cannot_be_written_wait_on(team):
    """A database that is away for a while loses none."""
    lines = ReadAudit(team.control.tables, wait=60.0)
    entry = audit_entry(team.admin, "get", now(), space="demo", count=1)
    with pytest.MonkeyPatch.context() as patch:

        def fail(*_):
            raise StoreError("away")

        patch.setattr(team.control.tables, "transaction", fail)
        lines.add("acme", [entry])
        with pytest.raises(StoreError):
            lines.flush()
    assert lines.waiting == 1
    lines.close()
    assert lines.waiting == 0
    with team.control.tables.transaction("acme") as rows:
        assert [entry] == rows.audit_entries(AuditQuery(verbs=("get",)))


def test_an_author_is_erased_from_every_space_and_no_device_brings_it_back(team):
    """Also from private spaces, which no administrator reads: the answer proves that it is gone,
    and a device that still has it is told.
    """
    ann, boss = team.hire("ann"), team.client(team.founded.key.token)
    team.grant("demo")
    kept = [
        ann("remember", text="The codeword is sycamore.", space=space)["id"]
        for space in ("demo", "me/demo")
    ]
    page = ann.get("/v1/sync/pull", params={"space": "demo"}).json()
    boss("holds/place", kind="space", subject="demo", reason="case 7")
    assert boss.ask("erase", author="ann", dry_run=False).status_code == 409
    for hold in boss("holds"):
        boss("holds/lift", id=hold["id"])
    done = boss("erase", author="ann", dry_run=False)
    assert (done["erased"], done["remains"]) == (2, [])
    assert [] == ann("get", ids=kept)
    later = {"after": page["next"], "space": "demo"}
    gone = ann.get("/v1/sync/pull", params=later).json()["purged"]
    assert {one["id"] for one in gone} >= set(kept)


def test_a_legal_hold_binds_what_a_device_erases(team):
    """A purge that is pushed is refused, by id and with the reason's kind."""
    ann, boss = team.hire("ann"), team.client(team.founded.key.token)
    kept = ann("remember", text="The staging server is called heron.", space="me/demo")
    boss("holds/place", kind="user", subject="ann", reason="case 7")
    batch = {
        "format": FORMAT,
        "device": "laptop",
        "purged": [{"id": kept["id"], "space": "~ann/demo"}],
    }
    pushed = ann.post("/v1/sync/push", json=batch)
    assert pushed.status_code == 200, pushed.text
    assert [one["result"] for one in pushed.json()["results"]] == ["refused"]
    assert ann("get", ids=[kept["id"]])


def test_a_key_issued_to_somebody_else_opens_no_private_space(team):
    """What an administrator issues to a colleague is for shared spaces; their own is theirs."""
    ann, boss = team.hire("ann"), team.client(team.founded.key.token)
    team.grant("demo")
    mine = ann("remember", text="My own: stork.", space="me/demo")
    issued = team.client(boss("keys/issue", user="ann")["token"])
    assert [] == issued("get", ids=[mine["id"]])
    assert issued("remember", text="It is heron.", space="demo")


def test_prometheus_is_told_of_the_pool(team):
    """Connections, who waits for one, and what went wrong."""
    team.hire("ann")("stats")
    page = team.client().get("/metrics").text
    values = dict(line.rsplit(" ", 1) for line in page.splitlines() if line.startswith("reverie_"))
    assert float(values["reverie_database_connections"]) >= 1
    assert float(values["reverie_database_checkouts_total"]) >= 1
    assert float(values["reverie_database_waiting"]) == 0


def test_a_tenant_keeps_no_more_than_it_may(team):
    """Beyond the quota nothing is kept, and it is said who can raise it."""
    ann = team.hire("ann")
    team.control.tenants.set_limits("acme", Limits(memories=2), now())
    ann("remember_many", items=[{"text": "One."}, {"text": "Two."}])
    refused = ann.ask("remember", text="Three.")
    assert (refused.status_code, refused.json()["type"]) == (
        429,
        "urn:reverie:problem:quota-exceeded",
    )
    assert ann("stats")["memories"] == 2


def test_too_many_requests_are_told_when_to_come_back(team):
    """A key that runs wild is slowed down, with the seconds to wait."""
    ann = team.hire("ann")
    team.control.tenants.set_limits("acme", Limits(key_requests_per_minute=3), now())
    team.control.tables.forget_lookups("acme")
    answers = [ann.ask("tags") for _ in range(5)]
    assert 429 in [answer.status_code for answer in answers]
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_a_legal_hold_keeps_what_would_be_purged(team):
    """What a hold covers is not erased, by nobody's verb."""
    ann, boss = team.hire("ann"), team.client(team.founded.key.token)
    kept = ann("remember", text="The staging server is called heron.", space="me/demo")
    boss("holds/place", kind="user", subject="ann", reason="case 7")
    assert ann.ask("purge", ids=[kept["id"]]).status_code == 409
    assert [one["id"] for one in ann("get", ids=[kept["id"]])] == [kept["id"]]


def test_ready_says_what_is_wrong(team):
    """A database that is gone is told without its address; the process itself is up."""
    client = team.client()
    assert client.get("/readyz").json()["status"] == "ready"
    team.database.pool.close()
    unready = client.get("/readyz")
    assert (unready.status_code, unready.json()["status"]) == (503, "not ready")
    assert "127.0.0.1" not in unready.text
    assert client.get("/healthz").status_code == 200
