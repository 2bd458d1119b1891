"""Who may what on a cluster: the same tables spread by tenant, each statement on one shard."""

from contextlib import closing

import pytest

from reverie.access import AuditQuery, Right
from reverie.access.tenant_export import export_tenant
from reverie.core.errors import LoginPending, Unauthenticated
from reverie.core.model import Add, Event, Memory
from reverie.storage.postgres import PostgresDatabase
from tests.support.office import NOW, Office
from tests.support.postgres import setting_up_cluster
from tests.support.statement_plans import PlanReader, reading_plans


def memory(name, space, text):
    return Memory(id=name, text=text, space=space, at=NOW, created_at=NOW, updated_at=NOW)


@pytest.mark.slow
def test_a_team_on_a_cluster(citus_database):
    """Keys, grants, logins, audit, quotas, erasure and the end of a tenant, as on one machine, and
    no statement about a tenant goes to two shards.
    """
    plans = PlanReader()
    with closing(PostgresDatabase(citus_database)) as database, reading_plans(plans):
        with setting_up_cluster():
            database.prepare()
            database.distribute(shard_count=4)
        office = Office(database)
        control = office.control
        ann = office.hire("ann")
        control.people.create_team(office.admin, "web", now=NOW)
        control.people.add_member(office.admin, "web", "ann", NOW)
        control.spaces.grant(office.admin, "demo", Right.WRITE, now=NOW, team="web")
        ann = office.caller("ann")
        control.spaces.share(ann, "~ann/demo", "demo", NOW)
        control.spaces.trust(ann, "demo", now=NOW)
        assert office.caller("ann").spaces_read_from("~ann/demo") == ["~ann/demo", "~ann", "demo"]
        codes = control.logins.start_device("acme", NOW)
        with pytest.raises(LoginPending):
            control.logins.poll_device(codes.device_code, NOW)
        control.logins.approve_device(ann, codes.user_code, NOW)
        came = control.logins.poll_device(codes.device_code, NOW + 6)
        assert control.authenticate(came.key.token, NOW + 6).user == "ann"
        invited = control.logins.invite(office.admin, now=NOW, teams=("web",))
        assert control.logins.join(invited.code, name="bob", now=NOW).user.name == "bob"
        control.keys.revoke(ann, came.key.key.prefix, NOW + 7)
        with pytest.raises(Unauthenticated):
            control.authenticate(came.key.token, NOW + 7)
        store = database.store("acme")
        store.apply(
            [Add(memory("mem_1", "~ann", "Ann's private words are here."))],
            Event("remember", "~ann", NOW),
        )
        store.apply([Add(memory("mem_2", "demo", "Shared."))], Event("remember", "demo", NOW))
        assert [m.id for m in office.store(office.caller("bob")).get(["mem_1", "mem_2"])] == [
            "mem_2"
        ]
        with office.tables.governing("acme") as rows:
            amounts = rows.stored_amounts()
        assert amounts.memories == 2
        governance = control.governance
        governance.set_retention(office.admin, "demo", 1, NOW)
        assert governance.plan_retention("acme", NOW + 2 * 86_400.0).ids == ("mem_2",)
        plan = governance.plan_erasure(office.admin, author="ann")
        assert governance.erase(office.admin, plan, store, NOW).is_proven
        assert governance.audit(office.admin, AuditQuery())[-1].verb == "erase"
        assert {"memory", "audit"} <= {
            row["type"] for row in export_tenant(office.tables, store, "acme")
        }
        control.tenants.create("other", admin="eve", now=NOW)
        assert [tenant.name for tenant in control.tenants.list()] == ["acme", "other"]
        control.tenants.suspend("acme", NOW)
        assert control.tenants.erase("acme", NOW) > 10
        assert [tenant.name for tenant in control.tenants.list()] == ["other"]
    assert {} == plans.wrong
    assert len(plans.spread) > 50
