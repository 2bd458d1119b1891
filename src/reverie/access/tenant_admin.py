"""Tenants: made, limited, suspended and erased by whoever runs the server."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reverie.access.actions import AccessActions, audit_entry
from reverie.access.api_keys import IssuedKey, check_email, check_tenant_name, check_user_name
from reverie.access.callers import operator_of
from reverie.access.key_admin import make_key
from reverie.core.errors import Conflict, HeldByLaw, NotFound
from reverie.storage.access_records import AuditEntry, AuditQuery, Limits, Tenant, User

SERVER = "-server"  # the audit of the server itself: no tenant has that name


@dataclass(frozen=True, slots=True)
class NewTenant:
    """A tenant, its first administrator and their key, which is shown once."""

    tenant: Tenant
    admin: User
    key: IssuedKey


class TenantAdmin(AccessActions):
    """For the operator: the server's own command line, beside the database."""

    def create(
        self,
        name: str,
        *,
        admin: str,
        now: float,
        display_name: str = "",
        email: str = "",
        limits: Limits | None = None,
    ) -> NewTenant:
        """A new tenant with its first administrator; Conflict if the name is taken."""
        check_tenant_name(name)
        tenant = Tenant(
            name=name, display_name=display_name, created_at=now, limits=limits or Limits()
        )
        user = User(
            name=check_user_name(admin), email=check_email(email), is_admin=True, created_at=now
        )
        key, token = make_key(name, admin, now, label="first administrator", purpose="admin")
        with self.tables.transaction(name) as rows:
            if not rows.add_tenant(tenant):
                raise Conflict(f"There is a tenant {name!r} already. Choose another name.")
            rows.add_user(user)
            rows.add_key(key, token.hash)
            rows.audit(audit_entry(operator_of(name), "tenant-create", now, admin=admin))
        return NewTenant(tenant, user, IssuedKey(key, str(token)))

    def list(self) -> list[Tenant]:
        """All tenants of this server, by name."""
        with self.tables.all_tenants() as rows:
            return rows.tenants()

    def get(self, name: str) -> Tenant:
        """One tenant; NotFound if there is none of that name."""
        with self.tables.transaction(name) as rows:
            return _found(rows.tenant(), name)

    def set_limits(self, name: str, limits: Limits, now: float) -> Tenant:
        """Replace the limits of a tenant."""
        return self._save(name, "tenant-limits", now, limits=limits)

    def suspend(self, name: str, now: float) -> Tenant:
        """No key or login of the tenant works until `resume`; nothing is lost."""
        return self._save(name, "tenant-suspend", now, suspended_at=now)

    def resume(self, name: str, now: float) -> Tenant:
        """Keys and logins work again."""
        return self._save(name, "tenant-resume", now, suspended_at=None)

    def set_founding(self, name: str, is_for_everyone: bool, now: float) -> Tenant:
        """Whether every user may found shared spaces, or administrators alone."""
        return self._save(name, "tenant-founding", now, everyone_founds=is_for_everyone)

    def erase(self, name: str, now: float) -> int:
        """Erase everything of a tenant, audit included, for good. Returns how many rows went.

        Refused while any legal hold of the tenant is in force, and unless it was suspended first,
        so that nobody writes meanwhile. That it was erased stands in `erasures`.
        """
        with self.tables.transaction(name) as rows:
            tenant = _found(rows.tenant(), name)
            if tenant.suspended_at is None:
                raise Conflict(f"Suspend the tenant {name!r} first, so that nobody writes.")
            holds = [hold for hold in rows.holds() if hold.lifted_at is None]
            if holds:
                raise HeldByLaw(
                    f"{len(holds)} legal holds of {name!r} are in force, the first of"
                    f" {holds[0].kind} {holds[0].subject!r}: {holds[0].reason}. Lift them first."
                )
        count = self.tables.erase_tenant(name)
        with self.tables.transaction(SERVER) as rows:
            rows.audit(
                audit_entry(operator_of(SERVER), "tenant-erase", now, count=count, erased=name)
            )
        return count

    def erasures(self) -> tuple[AuditEntry, ...]:
        """Which tenants were erased, when and how many rows: all that is left of them."""
        with self.tables.transaction(SERVER) as rows:
            return tuple(rows.audit_entries(AuditQuery()))

    def _save(self, name: str, verb: str, now: float, **fields: object) -> Tenant:
        with self.tables.transaction(name) as rows:
            tenant = replace(_found(rows.tenant(), name), **fields)  # type: ignore[arg-type]
            rows.save_tenant(tenant)
            rows.audit(audit_entry(operator_of(name), verb, now))
        return tenant


def _found(tenant: Tenant | None, name: str) -> Tenant:
    if tenant is None:
        raise NotFound(f"There is no tenant {name!r}. `reverie server tenant list` lists them.")
    return tenant
