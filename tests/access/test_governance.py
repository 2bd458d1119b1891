"""Audit, retention, legal hold, erasure with its proof, export, the end of a tenant."""

import json
from contextlib import closing

import pytest

from reverie.access import AuditQuery, KeyScope, Limits, Right
from reverie.access.authorship import stamp_writer
from reverie.access.callers import operator_of
from reverie.access.tenant_export import export_tenant
from reverie.core.errors import (
    AccessDenied,
    BadInput,
    Conflict,
    HeldByLaw,
    NotFound,
    QuotaExceeded,
    StoreError,
)
from reverie.core.model import Add, Event, Memory, Revise
from tests.support.office import NOW

DAY = 86_400.0


def memory(name, space, text, at=NOW, **fields):
    return Memory(id=name, text=text, space=space, at=at, created_at=at, updated_at=at, **fields)


def write(office, *memories, tenant="acme"):
    store = office.database.store(tenant)
    store.apply([Add(one) for one in memories], Event("remember", memories[0].space, NOW))
    return store


# Audit.


def test_every_change_leaves_a_line(office):
    """Who, with which key, what, where: names and numbers; each in order, to be asked for."""
    ann = office.hire("ann")
    office.control.spaces.share(ann, "~ann/demo", "demo", NOW + 1)
    office.control.spaces.grant(office.caller("ann"), "demo", Right.READ, now=NOW + 2, user="boss")
    lines = office.control.governance.audit(office.admin, AuditQuery())
    assert [(line.actor, line.verb, line.space) for line in lines] == [
        ("operator", "tenant-create", ""),
        ("boss", "user-create", ""),
        ("ann", "space-found", "demo"),
        ("ann", "link", "demo"),
        ("ann", "grant", "demo"),
    ]
    assert lines[1].key == office.founded.key.key.prefix
    assert lines[-1].details == {"to": "user", "name": "boss", "right": "read"}


def test_lines_are_found_by_actor_space_verb_and_time(office):
    """And page by page; a space means what is below it too, and no space of a similar name."""
    ann = office.hire("ann")
    for number, space in enumerate(("demo", "demo/api", "demonstration", "~ann")):
        office.control.record_read(ann, "recall", {space: 3}, NOW + number)
    office.control.record_change(ann, "remember", "~ann", 1, NOW + 9)
    audit = office.control.governance.audit

    def asked(**query):
        return [(line.verb, line.space) for line in audit(office.admin, AuditQuery(**query))]

    reads = [("recall", "demo"), ("recall", "demo/api"), ("recall", "demonstration")]
    assert asked(verbs=("recall",)) == reads
    assert asked(space="demo") == reads[:2]
    assert asked(actor="ann", since=NOW + 1, until=NOW + 9) == reads[1:]
    assert asked(actor="ann", verbs=("remember",)) == [("remember", "~ann")]
    assert asked(actor="x' or '1'='1") == []
    [first] = audit(office.admin, AuditQuery(actor="ann", limit=1))
    assert first.count == 3
    assert len(audit(office.admin, AuditQuery(actor="ann", after=first.id))) == 3
    everything = list(office.control.governance.export_audit(office.admin, AuditQuery()))
    assert everything == audit(office.admin, AuditQuery())


def test_users_see_their_own_lines_alone(office):
    """What others did is for administrators."""
    ann = office.hire("ann")
    office.control.record_change(ann, "remember", "demo", 1, NOW)
    lines = office.control.governance.audit(ann, AuditQuery(actor="boss"))
    assert {line.actor for line in lines} == {"ann"}


def test_nobody_alters_the_audit(office):
    """Hand-written statements of the application's role are refused; an owner's touch no line."""
    import psycopg

    with closing(office.database.pool.connect()) as db:
        for statement in (
            "update audit set actor = 'eve'",
            "delete from audit",
            "truncate audit",
        ):
            db.execute("begin; set local role reverie_app; set local search_path = reverie")
            db.execute("set local reverie.tenant = 'acme'")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(statement)
            db.execute("rollback")
        db.execute("create role plain_owner")
        db.execute("grant usage on schema reverie to plain_owner")
        db.execute("alter table reverie.audit owner to plain_owner")
        db.execute("begin; set local role plain_owner; set local search_path = reverie")
        db.execute("set local reverie.tenant = 'acme'")
        assert db.execute("update audit set actor = 'eve'").rowcount == 0
        assert db.execute("delete from audit").rowcount == 0
        assert db.execute("select count(*) from audit").fetchone()[0] > 0
        db.execute("rollback")
        db.execute("drop owned by plain_owner; drop role plain_owner")


def test_a_forgotten_tenant_finds_nothing(office):
    """By hand-written SQL: without a tenant no row of any table; with one no other's."""
    office.control.tenants.create("other", admin="eve", now=NOW)
    with closing(office.database.pool.connect()) as db:
        tables = [
            name
            for (name,) in db.execute(
                "select table_name from information_schema.columns "
                "where table_schema = 'reverie' and column_name = 'tenant'"
            )
        ]
        assert {"tenant", "account", "api_key", "audit", "memory"} <= set(tables)
        for tenant in ("", "acme"):
            db.execute("begin; set local role reverie_app; set local search_path = reverie")
            if tenant:
                db.execute("set local reverie.tenant = 'acme'")
            seen = {
                name
                for table in tables
                for (name,) in db.execute(f"select distinct tenant from {table}")
            }
            assert seen == ({"acme"} if tenant else set())
            db.execute("rollback")


# Retention.


def test_retention_purges_what_is_due(office):
    """By the nearest rule, after the days since it was last useful; what is held stays."""
    rules = office.control.governance
    rules.set_retention(office.admin, "demo", 30, NOW)
    rules.set_retention(office.admin, "demo/keep", 365, NOW)
    store = write(
        office,
        memory("mem_1", "demo", "old and due"),
        memory("mem_2", "demo/api", "old and due, below"),
        memory("mem_3", "demo/keep", "has a longer rule"),
        memory("mem_4", "demo", "used again", last_accessed_at=NOW + 5 * DAY),
        memory("mem_5", "other", "without a rule"),
        memory("mem_6", "demo/held", "on hold"),
    )
    rules.place_hold(office.admin, "space", "demo/held", "case 7", NOW)
    later = NOW + 31 * DAY
    assert rules.plan_retention("acme", later).ids == ("mem_1", "mem_2")
    assert rules.apply_retention(operator_of("acme"), store, later) == 2
    assert [m.id for m in store.get([f"mem_{n}" for n in range(1, 7)])] == [
        "mem_3",
        "mem_4",
        "mem_5",
        "mem_6",
    ]
    assert rules.apply_retention(operator_of("acme"), store, later) == 0
    last = rules.audit(office.admin, AuditQuery())[-1]
    assert (last.verb, last.count) == ("retention-purge", 2)
    rules.set_retention(office.admin, "demo", None, NOW)
    assert [rule.space for rule in rules.retention_rules(office.admin)] == ["demo/keep"]


def test_who_sets_retention(office):
    """Who administers the space: users of their private ones, nobody of another's."""
    ann = office.hire("ann")
    governance = office.control.governance
    governance.set_retention(ann, "~ann/notes", 7, NOW)
    for space in ("~boss", "demo"):
        with pytest.raises(AccessDenied):
            governance.set_retention(ann, space, 7, NOW)
    with pytest.raises(BadInput):
        governance.set_retention(ann, "~ann", 0, NOW)
    assert governance.retention_rules(office.admin) == []


# Legal hold.


def test_a_hold_refuses_every_erasure_with_its_reason(office):
    """Purge by hand, erasure by author: nothing is erased, until it is lifted."""
    governance = office.control.governance
    ann = office.hire("ann")
    store = write(
        office,
        stamp_writer(memory("mem_1", "demo", "Ann wrote this in the shared space."), ann),
        memory("mem_2", "~ann", "Ann's private words, in her own space."),
        memory("mem_3", "demo", "Bob's words."),
    )
    hold = governance.place_hold(office.admin, "user", "ann", "case 7", NOW)
    with pytest.raises(HeldByLaw, match="case 7"):
        governance.check_purge(office.admin, ["mem_1"])
    with pytest.raises(HeldByLaw) as err:
        governance.check_purge(ann, ["mem_2"])
    assert "case 7" not in str(err.value)
    governance.check_purge(office.admin, ["mem_3"])
    plan = governance.plan_erasure(office.admin, author="ann")
    assert (plan.ids, set(plan.held)) == ((), {"mem_1", "mem_2"})
    with pytest.raises(HeldByLaw):
        governance.erase(office.admin, plan, store, NOW)
    assert len(store.get(["mem_1", "mem_2"])) == 2
    governance.lift_hold(office.admin, hold.id, NOW)
    with pytest.raises(NotFound):
        governance.lift_hold(office.admin, hold.id, NOW)
    plan = governance.plan_erasure(office.admin, author="ann")
    assert governance.erase(office.admin, plan, store, NOW).erased == 2
    assert governance.holds(office.admin)[0].lifted_by == "boss"
    with pytest.raises(AccessDenied):
        governance.place_hold(ann, "user", "boss", "spite", NOW)


# Erasure.


def test_erasure_by_author_is_proven(office):
    """Everything a user wrote and had in private is gone from every column of every table."""
    governance = office.control.governance
    ann, bob = office.hire("ann"), office.hire("bob")
    store = write(
        office,
        stamp_writer(memory("mem_1", "demo", "The vault's combination is on the fridge."), ann),
        stamp_writer(memory("mem_2", "demo", "Bob says the build takes nine minutes."), bob),
        memory("mem_3", "~ann/x", 'Ann\'s "private" note\nover two lines, in färbe.'),
    )
    store.apply(
        [Revise("mem_1", {"text": "The vault's combination is in the drawer."})],
        Event("revise", "demo", NOW, payload={"was": "The vault's combination is on the fridge."}),
    )
    governance.set_retention(ann, "~ann", 5, NOW)
    found = [
        "The vault's combination is on the fridge.",
        "The vault's combination is in the drawer.",
        'Ann\'s "private" note\nover two lines, in färbe.',
    ]
    before = {remains.text for remains in office.tables.find_texts("acme", found)}
    assert before == {0, 1, 2}
    plan = governance.plan_erasure(office.admin, author="ann")
    assert set(plan.ids) == {"mem_1", "mem_3"}
    report = governance.erase(office.admin, plan, store, NOW)
    assert (report.erased, report.texts, report.is_proven) == (2, 3, True)
    assert [] == office.tables.find_texts("acme", found)
    assert [m.id for m in store.get(["mem_1", "mem_2", "mem_3"])] == ["mem_2"]
    last = governance.audit(office.admin, AuditQuery())[-1]
    assert (last.verb, last.count, last.details) == ("erase", 2, {"is_proven": True})


def test_erasure_with_a_readers_store_is_refused(office):
    """It would purge what it can see, and find nothing of the rest: nothing is done instead."""
    governance = office.control.governance
    ann = office.hire("ann")
    store = write(office, memory("mem_1", "~ann", "Ann's private words."))
    plan = governance.plan_erasure(office.admin, author="ann")
    with pytest.raises(StoreError, match="every space"):
        governance.erase(office.admin, plan, office.store(office.admin), NOW)
    assert len(store.get(["mem_1"])) == 1
    with pytest.raises(AccessDenied):
        governance.erase(ann, plan, store, NOW)


def test_a_proof_fails_where_something_is_left(office):
    """In whatever table and form it stands: as text, in JSON, in bytes, compressed."""
    import zlib

    text = 'The "vault" combination is on the fridge.'
    forms = {
        "plain": (text, None),
        "json": (json.dumps({"said": [text]}), None),
        "bytes": ("", text.encode()),
        "packed": ("", zlib.compress(text.encode())),
    }
    with closing(office.database.pool.connect()) as db:
        db.execute("create table reverie.stray (tenant text, name text, body text, data bytea)")
        db.execute("grant select on reverie.stray to reverie_app")
        for name, (body, data) in forms.items():
            db.execute("insert into reverie.stray values ('acme', %s, %s, %s)", (name, body, data))
        db.execute("insert into reverie.stray values ('other', 'x', %s)", (text,))
    found = office.tables.find_texts("acme", ["not there at all", text])
    assert {(r.table, r.row, r.text) for r in found} == {("stray", name, 1) for name in forms}
    assert text not in repr(found)


def test_erasure_by_source(office):
    """What came from a session, or from a file that a memory's details name."""
    governance = office.control.governance
    store = write(
        office,
        memory("mem_1", "demo", "From that session.", session="s-1"),
        memory("mem_2", "demo", "From that page.", details={"from": ["https://example.org/p"]}),
        memory("mem_3", "demo", "Only mentions https://example.org/p in passing."),
        memory("mem_4", "demo", "Longer name.", details={"from": "https://example.org/p2"}),
    )
    plan = governance.plan_erasure
    assert plan(office.admin, source="s-1").ids == ("mem_1",)
    assert plan(office.admin, source="https://example.org/p").ids == ("mem_2",)
    assert plan(office.admin, source="' or true --").ids == ()
    for wrong in ({}, {"author": "a", "source": "b"}):
        with pytest.raises(BadInput):
            plan(office.admin, **wrong)
    with pytest.raises(AccessDenied):
        plan(office.hire("ann"), source="s-1")
    assert governance.erase(office.admin, plan(office.admin, source="s-1"), store, NOW).erased == 1


# Quotas, export, the end of a tenant.


def test_quotas_are_counted_in_the_database(office):
    """What is stored counts, whoever stored it; what this process adds counts at once."""
    control = office.control
    control.tenants.set_limits("acme", Limits(memories=3), NOW)
    admin = office.caller("boss")
    write(office, memory("mem_1", "demo", "one"), memory("mem_2", "demo", "two"))
    control.check_quota(admin, NOW, memories=1)
    with pytest.raises(QuotaExceeded, match="memories"):
        control.check_quota(admin, NOW, memories=1)
    control.check_quota(admin, NOW + 61, memories=1)


def test_an_export_has_everything_and_no_secret(office):
    """As rows of JSON; the memories' rows can be loaded elsewhere."""
    control = office.control
    ann = office.hire("ann")
    control.people.create_team(office.admin, "web", now=NOW)
    control.spaces.share(ann, "~ann/demo", "demo", NOW)
    control.spaces.trust(office.admin, "demo", now=NOW)
    control.governance.set_retention(office.admin, "demo", 9, NOW)
    control.governance.place_hold(office.admin, "space", "demo", "case", NOW)
    key = control.keys.issue(ann, now=NOW, scope=KeyScope(right=Right.READ))
    invited = control.logins.invite(office.admin, now=NOW, grants=(("demo", Right.WRITE),))
    store = write(office, memory("mem_1", "demo", "one thing"))
    rows = list(export_tenant(office.tables, store, "acme"))
    text = "\n".join(json.dumps(row) for row in rows)
    assert {row["type"] for row in rows} >= {
        *("tenant", "user", "team", "grant", "link", "trust", "retention", "hold", "key"),
        *("invitation", "audit", "memory", "event"),
    }
    assert any(row["type"] == "grant" and row["right"] == "administer" for row in rows)
    for token in (key.token, invited.code, office.founded.key.token):
        assert token.rpartition("_")[2] not in text
    assert "hash" not in {
        name for row in rows if row["type"] in ("key", "invitation") for name in row
    }


def test_a_tenant_is_erased_whole(office):
    """From every table, and nothing of another tenant; not while it is in use or on hold."""
    tenants = office.control.tenants
    tenants.create("other", admin="eve", now=NOW)
    write(office, memory("mem_1", "demo", "Something of acme."))
    write(office, memory("mem_1", "demo", "Something of the other."), tenant="other")
    hold = office.control.governance.place_hold(office.admin, "space", "demo", "case 7", NOW)
    with pytest.raises(Conflict, match="Suspend"):
        tenants.erase("acme", NOW)
    tenants.suspend("acme", NOW)
    with pytest.raises(HeldByLaw, match="case 7"):
        tenants.erase("acme", NOW)
    office.control.governance.lift_hold(office.admin, hold.id, NOW)
    assert tenants.erase("acme", NOW) > 5
    with closing(office.database.pool.connect()) as db:
        left = {
            table: db.execute(
                f"select count(*) from reverie.{table} where tenant = 'acme'"
            ).fetchone()[0]
            for (table,) in db.execute(
                "select table_name from information_schema.columns "
                "where table_schema = 'reverie' and column_name = 'tenant'"
            ).fetchall()
        }
    assert set(left.values()) == {0}
    assert [tenant.name for tenant in tenants.list()] == ["other"]
    [line] = tenants.erasures()
    assert (line.verb, line.details) == ("tenant-erase", {"erased": "acme"})
    assert len(office.database.store("other").get(["mem_1"])) == 1
    with pytest.raises(NotFound):
        tenants.erase("acme", NOW)


def test_names_of_tenants(office):
    """Taken once; only small letters, digits and hyphens."""
    tenants = office.control.tenants
    with pytest.raises(Conflict):
        tenants.create("acme", admin="boss", now=NOW)
    for bad in ("", "Acme", "a_b", "a b", "*", "-a", "a" * 40, "a'; drop table tenant; --"):
        with pytest.raises(BadInput):
            tenants.create(bad, admin="boss", now=NOW)
    with pytest.raises(NotFound):
        tenants.get("nobody")


def test_what_an_erasure_would_take_of_private_spaces_is_told_by_number(office):
    """An administrator sees no id and no name of a private space of others; those of their own."""
    governance = office.control.governance
    ann = office.hire("ann")
    write(
        office,
        stamp_writer(memory("mem_1", "demo", "Ann wrote this in the shared space."), ann),
        memory("mem_2", "~ann/secret-project", "Ann's private words, in her own space."),
        memory("mem_3", "~ann/kept", "Ann's words that a hold keeps."),
    )
    governance.place_hold(office.admin, "space", "~ann/kept", "case 7", NOW)
    seen = governance.preview_erasure(office.admin, author="ann")
    assert (seen.ids, seen.spaces, seen.held) == (("mem_1",), ("demo",), ())
    assert (seen.private, seen.private_held) == (1, 1)
    assert "secret-project" not in str(seen) and "mem_2" not in str(seen)
    plan = governance.plan_erasure(office.admin, author="ann")
    assert set(plan.ids) == {"mem_1", "mem_2"}
