"""Rows of tenants, users and teams, within one transaction of a tenant."""

from __future__ import annotations

from typing import Any

from reverie.storage.access_records import Limits, Team, Tenant, User
from reverie.storage.postgres.connection import TenantConnection

TENANT_COLUMNS = (
    "tenant.tenant, tenant.display_name, tenant.created_at, tenant.suspended_at, "
    "tenant.everyone_founds, tenant.requests_per_minute, tenant.key_requests_per_minute, "
    "tenant.memories, tenant.bytes"
)
USER_COLUMNS = (
    "account.name, account.display_name, account.email, account.is_admin, account.created_at, "
    "account.disabled_at"
)


def read_tenant(row: tuple[Any, ...]) -> Tenant:
    """A tenant of TENANT_COLUMNS."""
    name, display_name, created_at, suspended_at, everyone_founds, *limits = row
    return Tenant(
        name=name,
        display_name=display_name,
        created_at=created_at,
        suspended_at=suspended_at,
        everyone_founds=everyone_founds,
        limits=Limits(
            requests_per_minute=limits[0],
            key_requests_per_minute=limits[1],
            memories=limits[2],
            bytes=limits[3],
        ),
    )


def read_user(row: tuple[Any, ...]) -> User:
    """A user of USER_COLUMNS."""
    name, display_name, email, is_admin, created_at, disabled_at = row
    return User(
        name=name,
        display_name=display_name,
        email=email,
        is_admin=is_admin,
        created_at=created_at,
        disabled_at=disabled_at,
    )


def tenant_values(tenant: Tenant) -> dict[str, Any]:
    """The values of a tenant's columns, by name."""
    limits = tenant.limits
    return {
        "display_name": tenant.display_name,
        "created_at": tenant.created_at,
        "suspended_at": tenant.suspended_at,
        "everyone_founds": tenant.everyone_founds,
        "requests_per_minute": limits.requests_per_minute,
        "key_requests_per_minute": limits.key_requests_per_minute,
        "memories": limits.memories,
        "bytes": limits.bytes,
    }


class PeopleRows:
    """Tenants, users and teams."""

    db: TenantConnection

    def add_tenant(self, tenant: Tenant) -> bool:
        """False if there is one of that name already."""
        added = self.db.run(
            """
            insert into tenant (
                tenant, display_name, created_at, suspended_at, everyone_founds,
                requests_per_minute, key_requests_per_minute, memories, bytes
            )
            values (
                %(tenant)s, %(display_name)s, %(created_at)s, %(suspended_at)s, %(everyone_founds)s,
                %(requests_per_minute)s, %(key_requests_per_minute)s, %(memories)s, %(bytes)s
            )
            on conflict do nothing
            """,
            **tenant_values(tenant),
        )
        return added.rowcount == 1

    def tenant(self) -> Tenant | None:
        """The transaction's tenant; None if there is no such one."""
        rows = self.db.fetch_rows(f"select {TENANT_COLUMNS} from tenant where tenant = %(tenant)s")
        return read_tenant(rows[0]) if rows else None

    def tenants(self) -> list[Tenant]:
        """Every tenant, by name; needs a transaction of all tenants."""
        rows = self.db.fetch_rows(f"select {TENANT_COLUMNS} from tenant order by tenant")
        return [read_tenant(row) for row in rows]

    def save_tenant(self, tenant: Tenant) -> None:
        """Write a tenant's values anew."""
        self.db.run(
            """
            update tenant
            set display_name = %(display_name)s, suspended_at = %(suspended_at)s,
                everyone_founds = %(everyone_founds)s,
                requests_per_minute = %(requests_per_minute)s,
                key_requests_per_minute = %(key_requests_per_minute)s,
                memories = %(memories)s, bytes = %(bytes)s
            where tenant = %(tenant)s
            """,
            **tenant_values(tenant),
        )

    def lock_tenant(self) -> None:
        """Whoever else locks the tenant waits for the end of this transaction."""
        self.db.run("select tenant from tenant where tenant = %(tenant)s for update")

    def add_user(self, user: User) -> bool:
        """False if there is one of that name already."""
        added = self.db.run(
            """
            insert into account (
                tenant, name, display_name, email, is_admin, created_at, disabled_at
            )
            values (
                %(tenant)s, %(name)s, %(display_name)s, %(email)s, %(is_admin)s, %(created_at)s,
                %(disabled_at)s
            )
            on conflict do nothing
            """,
            **user_values(user),
        )
        return added.rowcount == 1

    def save_user(self, user: User) -> None:
        """Write a user's values anew."""
        self.db.run(
            """
            update account
            set display_name = %(display_name)s, email = %(email)s, is_admin = %(is_admin)s,
                disabled_at = %(disabled_at)s
            where tenant = %(tenant)s and name = %(name)s
            """,
            **user_values(user),
        )

    def user(self, name: str) -> User | None:
        """The user of that name, or None."""
        rows = self.db.fetch_rows(
            f"select {USER_COLUMNS} from account where tenant = %(tenant)s and name = %(name)s",
            name=name,
        )
        return read_user(rows[0]) if rows else None

    def users(self) -> list[User]:
        """All users, by name."""
        rows = self.db.fetch_rows(
            f"select {USER_COLUMNS} from account where tenant = %(tenant)s order by name"
        )
        return [read_user(row) for row in rows]

    def add_identity(self, issuer: str, subject: str, user: str, now: float) -> None:
        """From now on the provider's subject is this user."""
        self.db.run(
            """
            insert into account_identity (tenant, issuer, subject, account, linked_at)
            values (%(tenant)s, %(issuer)s, %(subject)s, %(account)s, %(now)s)
            """,
            issuer=issuer,
            subject=subject,
            account=user,
            now=now,
        )

    def has_identity(self, user: str) -> bool:
        """True if the user has signed in at a provider before."""
        return bool(
            self.db.fetch_rows(
                """
                select 1 from account_identity
                where tenant = %(tenant)s and account = %(account)s limit 1
                """,
                account=user,
            )
        )

    def user_by_identity(self, issuer: str, subject: str) -> User | None:
        """The user whom a provider calls so, or None."""
        rows = self.db.fetch_rows(
            f"""
            select {USER_COLUMNS}
            from account_identity
            join account
                on account.tenant = account_identity.tenant
                and account.name = account_identity.account
            where account_identity.tenant = %(tenant)s
                and issuer = %(issuer)s and subject = %(subject)s
            """,
            issuer=issuer,
            subject=subject,
        )
        return read_user(rows[0]) if rows else None

    def identities(self) -> list[tuple[str, str, str]]:
        """(issuer, subject, user) of all who have signed in at a provider."""
        return self.db.fetch_rows(
            """
            select issuer, subject, account from account_identity
            where tenant = %(tenant)s order by issuer, subject
            """
        )

    def add_team(self, team: Team) -> bool:
        """False if there is one of that name already."""
        added = self.db.run(
            """
            insert into team (tenant, name, description, created_at)
            values (%(tenant)s, %(name)s, %(description)s, %(created_at)s)
            on conflict do nothing
            """,
            name=team.name,
            description=team.description,
            created_at=team.created_at,
        )
        return added.rowcount == 1

    def delete_team(self, name: str) -> bool:
        """Take away a team, its members and what it was granted; False if there is none."""
        for statement in (
            "delete from team_member where tenant = %(tenant)s and team = %(name)s",
            """
            delete from space_grant
            where tenant = %(tenant)s and kind = 'team' and grantee = %(name)s
            """,
        ):
            self.db.run(statement, name=name)
        gone = self.db.run(
            "delete from team where tenant = %(tenant)s and name = %(name)s", name=name
        )
        return gone.rowcount == 1

    def teams(self) -> list[Team]:
        """All teams with their members, by name."""
        members: dict[str, list[str]] = {}
        for team, user in self.db.fetch_rows(
            """
            select team, account from team_member
            where tenant = %(tenant)s order by team, account
            """
        ):
            members.setdefault(team, []).append(user)
        rows = self.db.fetch_rows(
            """
            select name, description, created_at from team
            where tenant = %(tenant)s order by name
            """
        )
        return [
            Team(
                name=name,
                description=description,
                created_at=created_at,
                members=tuple(members.get(name, ())),
            )
            for name, description, created_at in rows
        ]

    def set_member(self, team: str, user: str, is_member: bool) -> None:
        """Make a user a member of a team, or no longer one."""
        statement = (
            """
            insert into team_member (tenant, team, account)
            values (%(tenant)s, %(team)s, %(account)s)
            on conflict do nothing
            """
            if is_member
            else """
            delete from team_member
            where tenant = %(tenant)s and team = %(team)s and account = %(account)s
            """
        )
        self.db.run(statement, team=team, account=user)


def user_values(user: User) -> dict[str, Any]:
    """The values of a user's columns, by name."""
    return {
        "name": user.name,
        "display_name": user.display_name,
        "email": user.email,
        "is_admin": user.is_admin,
        "created_at": user.created_at,
        "disabled_at": user.disabled_at,
    }
