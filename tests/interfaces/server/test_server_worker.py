# mypy: no-check-untyped-defs
"""Workers: each event's work once, whoever does it, and whatever happens to one of them."""

import threading

import pytest

from reverie.access import operator_of
from reverie.core import clock
from reverie.core.errors import EmbedderUnavailable
from reverie.embedding.toy import ToyEmbedder
from reverie.interfaces.server.server_worker import CLAIM_SECONDS, ServerWorker
from reverie.sync.push_intake import purged_among
from tests.support.team_server import Team


@pytest.fixture
def office(postgres_url):
    """A team without a web server."""
    from reverie.storage.postgres import PostgresDatabase

    database = PostgresDatabase(postgres_url)
    database.prepare()
    yield Team(database, "http://127.0.0.1", ToyEmbedder())
    database.close()


def make_worker(office, now=clock.now):
    deployment = office.deployment
    return ServerWorker(
        office.database, office.control, deployment.embedder, deployment.settings, now
    )


def remember(office, *texts, tenant="acme"):
    """Memories of a tenant, kept by its administrator's verbs."""
    from reverie import Mind

    deployment = office.deployment
    mind = Mind(office.database.store(tenant), None, deployment.settings)
    return [mind.remember(text, space="~boss/demo") for text in texts]


def work_until_idle(worker):
    while worker.work_once():
        pass


def test_what_was_kept_gets_its_vector_and_is_not_looked_at_again(office):
    """A worker embeds what waits, and the tenant is dealt with until something new comes."""
    kept = remember(office, "The staging server is called heron.")
    worker = make_worker(office)
    work_until_idle(worker)
    store = office.database.store("acme")
    assert store.vectors(ToyEmbedder().model, [kept[0].id]).keys() == {kept[0].id}
    assert (office.database.list_waiting(), worker.work_once()) == ([], False)
    assert office.deployment.database.worker_lag(clock.now()) == 0.0


def test_two_workers_read_each_event_once(office):
    """Of two that look at once one gets the tenant; what they did is what one would have done."""
    for tenant in ("acme", "beta", "gamma"):
        remember(office, *(f"Fact {number} of {tenant}." for number in range(20)), tenant=tenant)
    workers = [make_worker(office), make_worker(office)]
    threads = [threading.Thread(target=work_until_idle, args=[worker]) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == office.database.list_waiting()
    for tenant in ("acme", "beta", "gamma"):
        store = office.database.store(tenant)
        assert (store.stats(ToyEmbedder().model).waiting, store.stats().memories) == (0, 20)
        done = [event.payload["event"] for event in store.events(verbs=("reconcile",))]
        assert len(done) == len(set(done))


def test_the_next_worker_takes_over_from_one_that_died(office):
    """A claim of somebody who is gone runs out; until then nobody else touches the tenant."""
    remember(office, "The staging server is called heron.")
    assert office.database.claim_tenant("dead", CLAIM_SECONDS, clock.now()) == "acme"
    assert office.database.claim_tenant("other", CLAIM_SECONDS, clock.now()) is None
    later = make_worker(office, lambda: clock.now() + CLAIM_SECONDS + 1)
    work_until_idle(later)
    assert [] == office.database.list_waiting()


def test_a_stopped_worker_leaves_the_rest_to_the_next(office):
    """`stop` ends it between two steps; nothing counts as done that was not."""
    remember(office, "The staging server is called heron.")
    stopped = make_worker(office)
    stopped.stop()
    stopped.work_once()
    assert [one.tenant for one in office.database.list_waiting()] == ["acme"]
    work_until_idle(make_worker(office))
    assert [] == office.database.list_waiting()


def test_retention_is_applied_once_a_day(office):
    """What was not useful for so long is purged on a visit, by whichever worker comes first."""
    now = clock.now()
    kept = remember(office, "The staging server is called heron.")
    store = office.database.store("acme")
    mind_store = office.database.store("acme")
    from reverie.core.model import Event, Revise

    move = [Revise(kept[0].id, {"space": "demo", "at": now - 40 * 86_400.0})]
    mind_store.apply(move, Event("revise", "demo", now))
    office.grant("demo")
    office.control.governance.set_retention(operator_of("acme"), "demo", 30, now)
    worker = make_worker(office, lambda: now + 60 * 86_400.0)
    work_until_idle(worker)
    assert [] == store.get([kept[0].id])


def test_a_tenant_with_trouble_keeps_no_other_from_its_visit(office, monkeypatch):
    """What goes wrong with one is its own: the next in order has its retention applied."""
    now = clock.now()
    remember(office, "The staging server is called heron.", tenant="aaa")
    (kept,) = remember(office, "The staging server is called stork.")
    governance = office.control.governance
    governance.set_retention(office.admin, "~boss", 30, now)
    plan = governance.apply_retention

    def fail_for_one(caller, *given):
        if caller.tenant == "aaa":
            raise EmbedderUnavailable
        return plan(caller, *given)

    monkeypatch.setattr(governance, "apply_retention", fail_for_one)
    work_until_idle(make_worker(office, lambda: now + 60 * 86_400.0))
    assert [] == office.database.store("acme").get([kept.id])


def test_ways_in_that_nobody_used_are_tidied_up_once_a_day(office):
    """Logins a day after they ran out, invitations a month after; what is open stays."""
    control, now = office.control, clock.now()
    control.logins.start_device("acme", now)
    control.logins.invite(office.admin, now=now, seconds=60.0)
    open_still = control.logins.invite(office.admin, now=now, seconds=90 * 86_400.0)
    remember(office, "The staging server is called heron.")
    work_until_idle(make_worker(office, lambda: now + 2 * 86_400.0))
    with control.tables.transaction("acme") as rows:
        assert rows.count_pending_devices(0.0) == 0
    assert len(control.logins.invitations(office.admin)) == 2
    work_until_idle(make_worker(office, lambda: now + 40 * 86_400.0))
    left = [one.prefix for one in control.logins.invitations(office.admin)]
    assert left == [open_still.invitation.prefix]


def test_logins_at_names_that_are_no_tenants_are_tidied_up_too(office):
    """A day after they ran out; what is open stays, wherever it was begun."""
    control, now = office.control, clock.now()
    control.logins.start_device("made-up", now)
    work_until_idle(make_worker(office, lambda: now + 3_600.0))
    with control.tables.transaction("made-up") as rows:
        assert rows.count_pending_devices(0.0) == 1
    work_until_idle(make_worker(office, lambda: now + 2 * 86_400.0))
    with control.tables.transaction("made-up") as rows:
        assert rows.count_pending_devices(0.0) == 0


def test_what_retention_erases_no_device_brings_back(office):
    """It is noted as gone, in the transaction that erases it; a legal hold keeps it."""
    now = clock.now()
    kept = remember(office, "The staging server is called heron.", "The port is 8080.")
    store = office.database.store("acme")
    operator = operator_of("acme")
    office.control.governance.set_retention(office.admin, "~boss/demo", 30, now)
    hold = office.control.governance.place_hold(operator, "user", "boss", "case 7", now)
    work_until_idle(make_worker(office, lambda: now + 60 * 86_400.0))
    assert len(store.get([one.id for one in kept])) == 2
    office.control.governance.lift_hold(operator, hold.id, now)
    work_until_idle(make_worker(office, lambda: now + 62 * 86_400.0))
    ids = [one.id for one in kept]
    assert (store.get(ids), purged_among(store, ids)) == ([], set(ids))
