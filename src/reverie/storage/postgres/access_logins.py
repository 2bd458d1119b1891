"""Rows of invitations, devices and sign-ins under way, within one transaction of a tenant.

What may happen once happens once: an invitation is used, a device decided and collected, an attempt
taken by a statement that finds the row only in the state before.
"""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from reverie.storage.access_records import DeviceRequest, Invitation, LoginAttempt, Right
from reverie.storage.postgres.connection import TenantConnection

INVITATION_COLUMNS = (
    "prefix, email, is_admin, teams, grants, created_by, created_at, expires_at, used_by, used_at"
)
DEVICE_COLUMNS = (
    "user_code, client_name, state, account, created_at, expires_at, poll_every, polled_at"
)
KEPT_SECONDS = 86_400.0  # that a request is kept after it has expired, so that its end can be told


def read_invitation(row: tuple[Any, ...]) -> Invitation:
    """An invitation of INVITATION_COLUMNS."""
    return Invitation(
        prefix=row[0],
        email=row[1],
        is_admin=row[2],
        teams=tuple(row[3]),
        grants=tuple((space, Right.from_word(level)) for space, level in row[4]),
        created_by=row[5],
        created_at=row[6],
        expires_at=row[7],
        used_by=row[8],
        used_at=row[9],
    )


def read_device(row: tuple[Any, ...]) -> DeviceRequest:
    """A device's request of DEVICE_COLUMNS."""
    return DeviceRequest(
        user_code=row[0],
        client_name=row[1],
        state=row[2],
        user=row[3],
        created_at=row[4],
        expires_at=row[5],
        interval=row[6],
        polled_at=row[7],
    )


class LoginRows:
    """Ways in."""

    db: TenantConnection

    def add_invitation(self, invitation: Invitation, digest: bytes) -> None:
        """Write a new invitation with the hash of its secret."""
        self.db.run(
            """
            insert into invitation (
                tenant, prefix, hash, email, is_admin, teams, grants, created_by, created_at,
                expires_at
            )
            values (
                %(tenant)s, %(prefix)s, %(hash)s, %(email)s, %(is_admin)s, %(teams)s, %(grants)s,
                %(created_by)s, %(created_at)s, %(expires_at)s
            )
            """,
            prefix=invitation.prefix,
            hash=digest,
            email=invitation.email,
            is_admin=invitation.is_admin,
            teams=list(invitation.teams),
            grants=Jsonb([[space, right.word] for space, right in invitation.grants]),
            created_by=invitation.created_by,
            created_at=invitation.created_at,
            expires_at=invitation.expires_at,
        )

    def invitation(self, prefix: str) -> tuple[Invitation, bytes] | None:
        """An invitation and the hash of its secret, or None."""
        rows = self.db.fetch_rows(
            f"""
            select {INVITATION_COLUMNS}, hash from invitation
            where tenant = %(tenant)s and prefix = %(prefix)s
            """,
            prefix=prefix,
        )
        return (read_invitation(rows[0]), bytes(rows[0][-1])) if rows else None

    def invitations(self) -> list[Invitation]:
        """All invitations, the newest first."""
        rows = self.db.fetch_rows(
            f"""
            select {INVITATION_COLUMNS} from invitation
            where tenant = %(tenant)s order by created_at desc, prefix
            """
        )
        return [read_invitation(row) for row in rows]

    def use_invitation(self, prefix: str, user: str, now: float) -> bool:
        """True for the first who uses it."""
        used = self.db.run(
            """
            update invitation set used_by = %(user)s, used_at = %(now)s
            where tenant = %(tenant)s and prefix = %(prefix)s and used_at is null
            """,
            prefix=prefix,
            user=user,
            now=now,
        )
        return used.rowcount == 1

    def delete_invitation(self, prefix: str) -> bool:
        """False if there is none that is open."""
        gone = self.db.run(
            """
            delete from invitation
            where tenant = %(tenant)s and prefix = %(prefix)s and used_at is null
            """,
            prefix=prefix,
        )
        return gone.rowcount == 1

    def add_device(self, request: DeviceRequest, digest: bytes) -> None:
        """Write a new request with the hash of its device code."""
        self.db.run(
            """
            insert into device_request (
                tenant, user_code, hash, client_name, state, created_at, expires_at, poll_every
            )
            values (
                %(tenant)s, %(user_code)s, %(hash)s, %(client_name)s, %(state)s, %(created_at)s,
                %(expires_at)s, %(poll_every)s
            )
            """,
            user_code=request.user_code,
            hash=digest,
            client_name=request.client_name,
            state=request.state,
            created_at=request.created_at,
            expires_at=request.expires_at,
            poll_every=request.interval,
        )

    def device(self, user_code: str) -> DeviceRequest | None:
        """The request with that user code, or None."""
        rows = self.db.fetch_rows(
            f"""
            select {DEVICE_COLUMNS} from device_request
            where tenant = %(tenant)s and user_code = %(user_code)s
            """,
            user_code=user_code,
        )
        return read_device(rows[0]) if rows else None

    def device_by_hash(self, digest: bytes) -> DeviceRequest | None:
        """The request with that device code, locked until the transaction ends, or None."""
        rows = self.db.fetch_rows(
            f"""
            select {DEVICE_COLUMNS} from device_request
            where tenant = %(tenant)s and hash = %(hash)s for update
            """,
            hash=digest,
        )
        return read_device(rows[0]) if rows else None

    def count_pending_devices(self, now: float) -> int:
        """How many devices wait to be let in."""
        count: int = self.db.fetch_value(
            """
            select count(*) from device_request
            where tenant = %(tenant)s and state = 'pending' and expires_at > %(now)s
            """,
            now=now,
        )
        return count

    def decide_device(
        self, user_code: str, state: str, user: str, now: float
    ) -> DeviceRequest | None:
        """Approve or deny a request that waits; None if none does with that code."""
        rows = self.db.fetch_rows(
            f"""
            update device_request set state = %(state)s, account = %(user)s
            where tenant = %(tenant)s and user_code = %(user_code)s and state = 'pending'
                and expires_at > %(now)s
            returning {DEVICE_COLUMNS}
            """,
            user_code=user_code,
            state=state,
            user=user,
            now=now,
        )
        return read_device(rows[0]) if rows else None

    def touch_device(self, digest: bytes, now: float) -> None:
        """Note when the program asked last."""
        self.db.run(
            """
            update device_request set polled_at = %(now)s
            where tenant = %(tenant)s and hash = %(hash)s
            """,
            hash=digest,
            now=now,
        )

    def collect_device(self, digest: bytes) -> None:
        """The key was given out."""
        self.db.run(
            """
            update device_request set state = 'collected'
            where tenant = %(tenant)s and hash = %(hash)s and state = 'approved'
            """,
            hash=digest,
        )

    def add_attempt(self, attempt: LoginAttempt) -> None:
        """Write down a sign-in that goes to the provider."""
        self.db.run(
            """
            insert into login_attempt (tenant, hash, nonce, verifier, return_to, expires_at)
            values (
                %(tenant)s, %(hash)s, %(nonce)s, %(verifier)s, %(return_to)s, %(expires_at)s
            )
            """,
            hash=attempt.state_hash,
            nonce=attempt.nonce,
            verifier=attempt.verifier,
            return_to=attempt.return_to,
            expires_at=attempt.expires_at,
        )

    def take_attempt(self, digest: bytes) -> LoginAttempt | None:
        """The sign-in that went out with that state, once; None for one who comes again."""
        rows = self.db.fetch_rows(
            """
            delete from login_attempt where tenant = %(tenant)s and hash = %(hash)s
            returning hash, nonce, verifier, return_to, expires_at
            """,
            hash=digest,
        )
        if not rows:
            return None
        return LoginAttempt(
            state_hash=bytes(rows[0][0]),
            nonce=rows[0][1],
            verifier=rows[0][2],
            return_to=rows[0][3],
            expires_at=rows[0][4],
        )

    def delete_expired_invitations(self, before: float) -> int:
        """Remove invitations that ran out before a moment and that nobody used; how many."""
        sql = """
            delete from invitation
            where tenant = %(tenant)s and used_at is null and expires_at < %(before)s
        """
        return self.db.run(sql, before=before).rowcount

    def delete_expired_logins(self, now: float) -> None:
        """Remove requests and attempts that nobody came back for."""
        for statement in (
            "delete from device_request where tenant = %(tenant)s and expires_at < %(before)s",
            "delete from login_attempt where tenant = %(tenant)s and expires_at < %(before)s",
        ):
            self.db.run(statement, before=now - KEPT_SECONDS)

    def delete_all_expired_logins(self, now: float) -> None:
        """The same for every name that was given as a tenant's; needs `all_tenants`."""
        for statement in (
            "delete from device_request where expires_at < %(before)s",
            "delete from login_attempt where expires_at < %(before)s",
        ):
            self.db.run(statement, before=now - KEPT_SECONDS)
