# mypy: no-check-untyped-defs
"""What a server watches: repeated requests, quotas, legal holds, the audit, its own log."""

from concurrent.futures import ThreadPoolExecutor

from reverie.access import Limits
from reverie.core.clock import now


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
