"""Rows of keys, and everything that one leads to, within one transaction of a tenant."""

from __future__ import annotations

from typing import Any

from reverie.storage.access_records import (
    ApiKey,
    Grant,
    KeyLookup,
    KeyScope,
    Right,
    SpaceLink,
    SpaceTrust,
)
from reverie.storage.postgres.access_people import (
    TENANT_COLUMNS,
    USER_COLUMNS,
    read_tenant,
    read_user,
)
from reverie.storage.postgres.connection import TenantConnection

KEY_COLUMNS = (
    "api_key.prefix, api_key.account, api_key.label, api_key.purpose, api_key.spaces, "
    "api_key.level, api_key.verbs, api_key.created_by, api_key.created_at, api_key.expires_at, "
    "api_key.revoked_at, api_key.last_used_at"
)
KEY_COUNT, USER_COUNT, TENANT_COUNT = (
    columns.count(",") + 1 for columns in (KEY_COLUMNS, USER_COLUMNS, TENANT_COLUMNS)
)

# One round trip for each request that brings a key: every part of it names the tenant, so that
# Citus sends it whole to the node where the tenant is.
LOOKUP = f"""
    select {KEY_COLUMNS}, {USER_COLUMNS}, {TENANT_COLUMNS}, api_key.hash,
        (
            select array_agg(team_member.team order by team_member.team) from team_member
            where team_member.tenant = %(tenant)s and team_member.account = api_key.account
        ),
        (
            select jsonb_agg(jsonb_build_array(
                space_grant.space, space_grant.kind, space_grant.grantee, space_grant.level
            ))
            from space_grant
            where space_grant.tenant = %(tenant)s
                and (
                    space_grant.kind = 'everyone'
                    or (space_grant.kind = 'user' and space_grant.grantee = api_key.account)
                    or (
                        space_grant.kind = 'team'
                        and space_grant.grantee in (
                            select member.team from team_member as member
                            where member.tenant = %(tenant)s and member.account = api_key.account
                        )
                    )
                )
        ),
        (
            select jsonb_agg(jsonb_build_array(space_link.space, space_link.target))
            from space_link
            where space_link.tenant = %(tenant)s and space_link.account = api_key.account
        ),
        (
            select jsonb_agg(jsonb_build_array(
                space_trust.space, space_trust.reader, space_trust.is_trusted
            ))
            from space_trust
            where space_trust.tenant = %(tenant)s
                and space_trust.reader in ('', api_key.account)
        )
    from api_key
    join account on account.tenant = api_key.tenant and account.name = api_key.account
    join tenant on tenant.tenant = api_key.tenant
    where api_key.tenant = %(tenant)s and api_key.prefix = %(prefix)s
"""


def read_key(row: tuple[Any, ...]) -> ApiKey:
    """A key of KEY_COLUMNS."""
    return ApiKey(
        prefix=row[0],
        user=row[1],
        label=row[2],
        purpose=row[3],
        scope=KeyScope(spaces=tuple(row[4]), right=Right.from_word(row[5]), verbs=tuple(row[6])),
        created_by=row[7],
        created_at=row[8],
        expires_at=row[9],
        revoked_at=row[10],
        last_used_at=row[11],
    )


class KeyRows:
    """API keys."""

    db: TenantConnection

    def add_key(self, key: ApiKey, digest: bytes) -> None:
        """Write a new key with the hash of its secret."""
        self.db.run(
            """
            insert into api_key (
                tenant, prefix, hash, account, label, purpose, spaces, level, verbs, created_by,
                created_at, expires_at
            )
            values (
                %(tenant)s, %(prefix)s, %(hash)s, %(account)s, %(label)s, %(purpose)s, %(spaces)s,
                %(level)s, %(verbs)s, %(created_by)s, %(created_at)s, %(expires_at)s
            )
            """,
            prefix=key.prefix,
            hash=digest,
            account=key.user,
            label=key.label,
            purpose=key.purpose,
            spaces=list(key.scope.spaces),
            level=key.scope.right.word,
            verbs=list(key.scope.verbs),
            created_by=key.created_by,
            created_at=key.created_at,
            expires_at=key.expires_at,
        )

    def key_hash(self, prefix: str) -> bytes | None:
        """The hash of a key's secret, or None."""
        found = self.db.fetch_value(
            "select hash from api_key where tenant = %(tenant)s and prefix = %(prefix)s",
            prefix=prefix,
        )
        return None if found is None else bytes(found)

    def lookup_key(self, prefix: str) -> KeyLookup | None:
        """Everything that a key's prefix leads to, or None."""
        rows = self.db.fetch_rows(LOOKUP, prefix=prefix)
        if not rows:
            return None
        row = rows[0]
        user_at, tenant_at = KEY_COUNT, KEY_COUNT + USER_COUNT
        end = tenant_at + TENANT_COUNT
        key, user = read_key(row[:user_at]), read_user(row[user_at:tenant_at])
        digest, teams, grants, links, trusts = row[end:]
        return KeyLookup(
            key=key,
            hash=bytes(digest),
            user=user,
            tenant=read_tenant(row[tenant_at:end]),
            teams=tuple(teams or ()),
            grants=tuple(
                Grant(space=space, kind=kind, grantee=grantee, right=Right.from_word(level))
                for space, kind, grantee, level in grants or ()
            ),
            links=tuple(
                SpaceLink(user=user.name, space=space, target=target)
                for space, target in links or ()
            ),
            trusts=tuple(
                SpaceTrust(space=space, reader=reader, is_trusted=is_trusted)
                for space, reader, is_trusted in trusts or ()
            ),
        )

    def keys(self, user: str | None) -> list[ApiKey]:
        """The keys of a user, or with None all, oldest first."""
        rows = self.db.fetch_rows(
            f"""
            select {KEY_COLUMNS} from api_key
            where tenant = %(tenant)s and (%(account)s::text is null or account = %(account)s)
            order by account, created_at, prefix
            """,
            account=user,
        )
        return [read_key(row) for row in rows]

    def revoke_key(self, prefix: str, now: float) -> None:
        """The key is revoked from now on; one that was already keeps its moment."""
        self.db.run(
            """
            update api_key set revoked_at = coalesce(revoked_at, %(now)s)
            where tenant = %(tenant)s and prefix = %(prefix)s
            """,
            prefix=prefix,
            now=now,
        )

    def touch_key(self, prefix: str, now: float) -> None:
        """Note when the key was used last."""
        self.db.run(
            """
            update api_key set last_used_at = %(now)s
            where tenant = %(tenant)s and prefix = %(prefix)s
            """,
            prefix=prefix,
            now=now,
        )
