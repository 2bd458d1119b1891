"""Rows of grants, links, trust, retention and legal holds, within one transaction of a tenant."""

from __future__ import annotations

from reverie.storage.access_records import (
    Grant,
    GranteeKind,
    LegalHold,
    RetentionRule,
    Right,
    SpaceLink,
    SpaceTrust,
)
from reverie.storage.postgres.connection import TenantConnection


class SpaceRows:
    """What holds in which space."""

    db: TenantConnection

    def put_grant(self, grant: Grant) -> None:
        """Add a grant, or replace that of the same space and grantee."""
        self.db.run(
            """
            insert into space_grant (
                tenant, space, kind, grantee, level, granted_by, granted_at
            )
            values (
                %(tenant)s, %(space)s, %(kind)s, %(grantee)s, %(level)s, %(granted_by)s,
                %(granted_at)s
            )
            on conflict (tenant, space, kind, grantee) do update
            set level = excluded.level, granted_by = excluded.granted_by,
                granted_at = excluded.granted_at
            """,
            space=grant.space,
            kind=grant.kind,
            grantee=grant.grantee,
            level=grant.right.word,
            granted_by=grant.granted_by,
            granted_at=grant.granted_at,
        )

    def delete_grant(self, space: str, kind: GranteeKind, grantee: str) -> bool:
        """False if there was none."""
        gone = self.db.run(
            """
            delete from space_grant
            where tenant = %(tenant)s and space = %(space)s and kind = %(kind)s
                and grantee = %(grantee)s
            """,
            space=space,
            kind=kind,
            grantee=grantee,
        )
        return gone.rowcount == 1

    def grants(self) -> list[Grant]:
        """All grants, by space."""
        rows = self.db.fetch_rows(
            """
            select space, kind, grantee, level, granted_by, granted_at
            from space_grant where tenant = %(tenant)s order by space, kind, grantee
            """
        )
        return [
            Grant(
                space=space,
                kind=kind,
                grantee=grantee,
                right=Right.from_word(level),
                granted_by=granted_by,
                granted_at=granted_at,
            )
            for space, kind, grantee, level, granted_by, granted_at in rows
        ]

    def put_link(self, link: SpaceLink) -> None:
        """Add a link; one that is there already stays."""
        self.db.run(
            """
            insert into space_link (tenant, account, space, target, linked_at)
            values (%(tenant)s, %(account)s, %(space)s, %(target)s, %(linked_at)s)
            on conflict do nothing
            """,
            account=link.user,
            space=link.space,
            target=link.target,
            linked_at=link.linked_at,
        )

    def delete_link(self, user: str, space: str, target: str) -> bool:
        """False if there was none."""
        gone = self.db.run(
            """
            delete from space_link
            where tenant = %(tenant)s and account = %(account)s and space = %(space)s
                and target = %(target)s
            """,
            account=user,
            space=space,
            target=target,
        )
        return gone.rowcount == 1

    def links(self, user: str | None = None) -> list[SpaceLink]:
        """The links of a user, or all, by space."""
        rows = self.db.fetch_rows(
            """
            select account, space, target, linked_at from space_link
            where tenant = %(tenant)s and (%(account)s::text is null or account = %(account)s)
            order by account, space, target
            """,
            account=user,
        )
        return [
            SpaceLink(user=account, space=space, target=target, linked_at=linked_at)
            for account, space, target, linked_at in rows
        ]

    def put_trust(self, trust: SpaceTrust) -> None:
        """Add a decision, or replace that of the same space and reader."""
        self.db.run(
            """
            insert into space_trust (tenant, reader, space, is_trusted, set_by, set_at)
            values (%(tenant)s, %(reader)s, %(space)s, %(is_trusted)s, %(set_by)s, %(set_at)s)
            on conflict (tenant, reader, space) do update
            set is_trusted = excluded.is_trusted, set_by = excluded.set_by,
                set_at = excluded.set_at
            """,
            reader=trust.reader,
            space=trust.space,
            is_trusted=trust.is_trusted,
            set_by=trust.set_by,
            set_at=trust.set_at,
        )

    def trusts(self) -> list[SpaceTrust]:
        """All decisions, by space."""
        rows = self.db.fetch_rows(
            """
            select space, reader, is_trusted, set_by, set_at from space_trust
            where tenant = %(tenant)s order by space, reader
            """
        )
        return [
            SpaceTrust(
                space=space, reader=reader, is_trusted=is_trusted, set_by=set_by, set_at=set_at
            )
            for space, reader, is_trusted, set_by, set_at in rows
        ]

    def put_retention(self, rule: RetentionRule) -> None:
        """Add a rule, or replace that of the same space."""
        self.db.run(
            """
            insert into retention_rule (tenant, space, days, set_by, set_at)
            values (%(tenant)s, %(space)s, %(days)s, %(set_by)s, %(set_at)s)
            on conflict (tenant, space) do update
            set days = excluded.days, set_by = excluded.set_by, set_at = excluded.set_at
            """,
            space=rule.space,
            days=rule.days,
            set_by=rule.set_by,
            set_at=rule.set_at,
        )

    def delete_retention(self, space: str) -> bool:
        """False if there was no rule."""
        gone = self.db.run(
            "delete from retention_rule where tenant = %(tenant)s and space = %(space)s",
            space=space,
        )
        return gone.rowcount == 1

    def retention_rules(self) -> list[RetentionRule]:
        """All rules, by space."""
        rows = self.db.fetch_rows(
            """
            select space, days, set_by, set_at from retention_rule
            where tenant = %(tenant)s order by space
            """
        )
        return [
            RetentionRule(space=space, days=days, set_by=set_by, set_at=set_at)
            for space, days, set_by, set_at in rows
        ]

    def add_hold(self, hold: LegalHold) -> None:
        """Write a new hold."""
        self.db.run(
            """
            insert into legal_hold (tenant, id, kind, subject, reason, placed_by, placed_at)
            values (
                %(tenant)s, %(id)s, %(kind)s, %(subject)s, %(reason)s, %(placed_by)s,
                %(placed_at)s
            )
            """,
            id=hold.id,
            kind=hold.kind,
            subject=hold.subject,
            reason=hold.reason,
            placed_by=hold.placed_by,
            placed_at=hold.placed_at,
        )

    def lift_hold(self, hold_id: str, user: str, now: float) -> bool:
        """False if no such hold is in force."""
        lifted = self.db.run(
            """
            update legal_hold set lifted_by = %(user)s, lifted_at = %(now)s
            where tenant = %(tenant)s and id = %(id)s and lifted_at is null
            """,
            id=hold_id,
            user=user,
            now=now,
        )
        return lifted.rowcount == 1

    def holds(self) -> list[LegalHold]:
        """All holds, lifted ones too, the newest first."""
        rows = self.db.fetch_rows(
            """
            select id, kind, subject, reason, placed_by, placed_at, lifted_by, lifted_at
            from legal_hold where tenant = %(tenant)s order by id desc
            """
        )
        return [
            LegalHold(
                id=row[0],
                kind=row[1],
                subject=row[2],
                reason=row[3],
                placed_by=row[4],
                placed_at=row[5],
                lifted_by=row[6],
                lifted_at=row[7],
            )
            for row in rows
        ]
