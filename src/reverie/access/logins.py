"""Ways in for people: invitations, devices without a browser, the organisation's provider.

Each ends in a key that is shown once. Nothing here tells whether a tenant or a user exists: a
device may ask at any tenant's name, and a code that is wrong is refused like one that has expired.
Whoever serves these verbs to people who are not signed in counts their tries with
`RateLimiter.check_source`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reverie.access.actions import AccessActions, audit_entry
from reverie.access.api_keys import (
    INVITATION,
    USER_NAME,
    IssuedKey,
    check_email,
    check_tenant_name,
    check_user_name,
    hash_secret,
    is_secret_of,
    new_token,
    parse_token,
)
from reverie.access.callers import OPERATOR, Caller
from reverie.access.device_login import (
    POLL_INTERVAL,
    SECONDS_TO_APPROVE,
    DeviceCodes,
    check_poll,
    clean_user_code,
    new_device_code,
    new_user_code,
    split_device_code,
)
from reverie.access.key_admin import BROWSER_SECONDS, make_key
from reverie.access.rights import Rights, check_shared
from reverie.core import clock
from reverie.core.errors import (
    AccessDenied,
    BadInput,
    Conflict,
    LoginPending,
    LoginRefused,
    NotFound,
    RateLimited,
    Unauthenticated,
)
from reverie.storage.access_records import (
    ApiKey,
    DeviceRequest,
    Grant,
    Invitation,
    KeyScope,
    LoginAttempt,
    Right,
    User,
)

if TYPE_CHECKING:
    from reverie.access.oidc_login import OidcIdentity, OidcLogin
    from reverie.storage.postgres.access_tables import AccessTransaction

INVITATION_SECONDS = 7 * 86_400.0
INVITATIONS_KEPT = 30 * 86_400.0  # after they ran out unused, so that somebody sees that they did
DEVICE_KEY_SECONDS = 180 * 86_400.0
ATTEMPT_SECONDS = 600.0
MAX_PENDING_DEVICES = 500  # of a tenant: beyond, somebody plays with it


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """An invitation with the only sight of its code."""

    invitation: Invitation
    code: str  # "rvi_acme_…"

    def __repr__(self) -> str:
        return f"<new invitation {self.invitation.prefix}>"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A user who came in, with their key."""

    user: User
    key: IssuedKey
    return_to: str = ""


class Logins(AccessActions):
    """Invitations, device logins and sign-in at a provider."""

    def invite(
        self,
        caller: Caller,
        *,
        now: float,
        email: str = "",
        is_admin: bool = False,
        teams: tuple[str, ...] = (),
        grants: tuple[tuple[str, Right], ...] = (),
        seconds: float = INVITATION_SECONDS,
    ) -> NewInvitation:
        """A code with which one new user joins, with these teams and grants."""
        caller.check_admin()
        for space, _right in grants:
            check_shared(space)
        address = check_email(email)
        token = new_token(caller.tenant, INVITATION)
        invitation = Invitation(
            prefix=token.prefix,
            email=address,
            is_admin=is_admin,
            teams=teams,
            grants=grants,
            created_by=caller.user,
            created_at=now,
            expires_at=now + seconds,
        )
        with self.tables.transaction(caller.tenant) as rows:
            unknown = set(teams) - {team.name for team in rows.teams()}
            if unknown:
                raise NotFound(f"There is no team {min(unknown)!r}.")
            rows.add_invitation(invitation, token.hash)
            rows.audit(audit_entry(caller, "invite", now, invitation=token.prefix))
        return NewInvitation(invitation, str(token))

    def invitations(self, caller: Caller) -> list[Invitation]:
        """All invitations of the tenant, the newest first."""
        caller.check_admin()
        with self.tables.transaction(caller.tenant) as rows:
            return rows.invitations()

    def withdraw(self, caller: Caller, prefix: str, now: float) -> None:
        """The invitation's code does not work any more."""
        caller.check_admin()
        with self.tables.transaction(caller.tenant) as rows:
            if not rows.delete_invitation(prefix):
                raise NotFound(f"There is no open invitation {prefix!r}.")
            rows.audit(audit_entry(caller, "invite-withdraw", now, invitation=prefix))

    def join(
        self,
        code: str,
        *,
        name: str,
        now: float,
        display_name: str = "",
        email: str = "",
        label: str = "",
        user_code: str = "",
    ) -> SignedIn:
        """Use an invitation: a new user with a key. With `user_code` the device that waits for it
        is let in as well.

        `email` must be the address that the invitation is for, if it is for one. LoginRefused if
        the code is wrong, used or expired; Conflict if the name is taken, and the
        code can be used again.
        """
        try:
            token = parse_token(code, INVITATION)
        except Unauthenticated:
            raise LoginRefused("That is not an invitation. Copy its code whole.") from None
        check_user_name(name)
        with self.tables.transaction(token.tenant) as rows:
            found = rows.invitation(token.prefix)
            is_right = is_secret_of(token, found[1] if found else None)
            tenant = rows.tenant()
            if not found or not is_right or not tenant or tenant.suspended_at is not None:
                raise LoginRefused("This invitation is not valid. Ask for a new one.")
            self._check_open(found[0], email, now)
            user = self._add_invited(rows, found[0], name, display_name, now)
            key, secret = make_key(
                token.tenant, name, now, label=label or "joined by invitation", purpose="device"
            )
            rows.add_key(key, secret.hash)
            if user_code:
                self._decide(rows, user_code, "approved", name, now)
        return SignedIn(user, IssuedKey(key, str(secret)))

    @staticmethod
    def _check_open(invitation: Invitation, email: str, now: float) -> None:
        is_spent = invitation.used_at is not None or invitation.expires_at <= now
        is_for_another = invitation.email and invitation.email != email.strip().lower()
        if is_spent or is_for_another:
            raise LoginRefused("This invitation is not valid. Ask for a new one.")

    @staticmethod
    def _add_invited(
        rows: AccessTransaction,
        invitation: Invitation,
        name: str,
        display_name: str,
        now: float,
    ) -> User:
        if not rows.use_invitation(invitation.prefix, name, now):
            raise LoginRefused("This invitation is not valid. Ask for a new one.")
        user = User(
            name=name,
            display_name=display_name,
            # Never what the newcomer typed: whoever has that address at the provider would be
            # signed in as this user. Who invited them vouches for it.
            email=invitation.email,
            is_admin=invitation.is_admin,
            created_at=now,
        )
        if not rows.add_user(user):
            raise Conflict(f"There is a user {name!r} already. Choose another name.")
        for team in invitation.teams:
            rows.set_member(team, name, True)
        for space, right in invitation.grants:
            rows.put_grant(
                Grant(
                    space=space,
                    kind="user",
                    grantee=name,
                    right=right,
                    granted_by=invitation.created_by,
                    granted_at=now,
                )
            )
        newcomer = Caller(tenant="", user=name, rights=Rights())
        rows.audit(audit_entry(newcomer, "join", now, invitation=invitation.prefix))
        return user

    def tidy(self, tenant: str, now: float) -> int:
        """Remove logins that nobody came back for, and invitations that ran out unused a month ago;
        how many invitations. For the worker.
        """
        with self.tables.transaction(tenant) as rows:
            rows.delete_expired_logins(now)
            return rows.delete_expired_invitations(now - INVITATIONS_KEPT)

    def tidy_everywhere(self, now: float) -> None:
        """Remove logins that nobody came back for, also at names that are no tenant's."""
        with self.tables.all_tenants() as rows:
            rows.delete_all_expired_logins(now)

    # Devices.

    def start_device(self, tenant: str, now: float, *, client_name: str = "") -> DeviceCodes:
        """Codes for a program that wants in. Whether there is such a tenant is not told."""
        check_tenant_name(tenant)
        device_code = new_device_code(tenant)
        _, digest = split_device_code(device_code)
        with self.tables.transaction(tenant) as rows:
            rows.delete_expired_logins(now)
            if rows.count_pending_devices(now) >= MAX_PENDING_DEVICES:
                raise RateLimited(
                    "Too many devices wait to be let in. Try again in a few minutes.",
                    retry_after=SECONDS_TO_APPROVE / 3,
                )
            request = DeviceRequest(
                user_code=new_user_code(),
                client_name=client_name[:100],
                created_at=now,
                expires_at=now + SECONDS_TO_APPROVE,
                interval=POLL_INTERVAL,
            )
            rows.add_device(request, digest)
        return DeviceCodes(device_code, request.user_code, SECONDS_TO_APPROVE, POLL_INTERVAL)

    def pending_device(self, caller: Caller, user_code: str, now: float) -> DeviceRequest:
        """The request behind a code, to be shown before it is approved."""
        with self.tables.transaction(caller.tenant) as rows:
            found = rows.device(clean_user_code(user_code))
        if found is None or found.state != "pending" or found.expires_at <= now:
            raise NotFound("No device waits with that code. Look at the terminal again.")
        return found

    def approve_device(self, caller: Caller, user_code: str, now: float) -> DeviceRequest:
        """Let the device in as the caller: it gets a key with all of the caller's rights."""
        if caller.scope != KeyScope() or caller.user == OPERATOR:
            raise AccessDenied(
                "A narrowed key cannot let devices in. Sign in, and approve it there."
            )
        if caller.ends_with_its_key:
            # The device's key would outlive it; a sign-in ends by itself and proves who is there.
            raise AccessDenied(
                "A key that expires cannot let devices in. Sign in, and approve it there."
            )
        return self._decide_as(caller, user_code, "approved", now)

    def deny_device(self, caller: Caller, user_code: str, now: float) -> DeviceRequest:
        """Keep the device out."""
        return self._decide_as(caller, user_code, "denied", now)

    def _decide_as(self, caller: Caller, user_code: str, state: str, now: float) -> DeviceRequest:
        with self.tables.transaction(caller.tenant) as rows:
            request = self._decide(rows, user_code, state, caller.user, now)
            rows.audit(audit_entry(caller, f"device-{state}", now, client=request.client_name))
        return request

    @staticmethod
    def _decide(
        rows: AccessTransaction, user_code: str, state: str, user: str, now: float
    ) -> DeviceRequest:
        request = rows.decide_device(clean_user_code(user_code), state, user, now)
        if request is None:
            raise NotFound("No device waits with that code. Look at the terminal again.")
        return request

    def poll_device(self, device_code: str, now: float) -> SignedIn:
        """The key for a device that was let in, once.

        LoginPending, with `retry_after`, while nobody has decided; LoginRefused if it was denied or
        has expired.
        """
        tenant, digest = split_device_code(device_code)
        with self.tables.transaction(tenant) as rows:
            try:
                request = check_poll(rows.device_by_hash(digest), now)
            except LoginPending as err:
                # That it asked is kept: the error is raised after the transaction.
                rows.touch_device(digest, now)
                pending = err
            else:
                return self._collect(rows, tenant, request, digest, now)
        raise pending

    @staticmethod
    def _collect(
        rows: AccessTransaction, tenant: str, request: DeviceRequest, digest: bytes, now: float
    ) -> SignedIn:
        user = rows.user(request.user)
        if user is None or user.disabled_at is not None:
            raise LoginRefused
        key, token = make_key(
            tenant,
            user.name,
            now,
            label=request.client_name or "device",
            purpose="device",
            expires_at=now + DEVICE_KEY_SECONDS,
        )
        rows.collect_device(digest)
        rows.add_key(key, token.hash)
        who = Caller(tenant=tenant, user=user.name, rights=Rights(), key_id=key.prefix)
        rows.audit(audit_entry(who, "login", now, by="device"))
        return SignedIn(user, IssuedKey(key, str(token)))

    # The organisation's provider.

    def begin_sign_in(
        self,
        tenant: str,
        oidc: OidcLogin,
        *,
        redirect_uri: str,
        now: float,
        return_to: str = "",
    ) -> str:
        """The address at the provider to send the browser to."""
        check_tenant_name(tenant)
        state = f"{tenant}.{clock.new_secret()}"
        nonce, verifier = clock.new_secret(), clock.new_secret(64)
        attempt = LoginAttempt(
            state_hash=hash_secret(state),
            nonce=nonce,
            verifier=verifier,
            return_to=return_to,
            expires_at=now + ATTEMPT_SECONDS,
        )
        address = oidc.authorization_url(
            redirect_uri=redirect_uri, state=state, nonce=nonce, verifier=verifier, now=now
        )
        with self.tables.transaction(tenant) as rows:
            rows.delete_expired_logins(now)
            rows.add_attempt(attempt)
        return address

    def finish_sign_in(
        self, oidc: OidcLogin, *, state: str, code: str, redirect_uri: str, now: float
    ) -> SignedIn:
        """The user whom the provider names, with a key for the browser; LoginRefused otherwise.

        An attempt is used up by its first try.
        """
        tenant = state.partition(".")[0]
        try:
            check_tenant_name(tenant)
        except BadInput:
            raise LoginRefused from None
        with self.tables.transaction(tenant) as rows:
            attempt = rows.take_attempt(hash_secret(state))
        if attempt is None or attempt.expires_at <= now:
            raise LoginRefused
        identity = oidc.identity_for_code(
            code,
            redirect_uri=redirect_uri,
            verifier=attempt.verifier,
            nonce=attempt.nonce,
            now=now,
        )
        signed_in = self.sign_in(
            tenant, identity, now, may_join=oidc.provider.may_join, purpose="browser"
        )
        return replace(signed_in, return_to=attempt.return_to)

    def sign_in(
        self,
        tenant: str,
        identity: OidcIdentity,
        now: float,
        *,
        may_join: bool = False,
        purpose: str = "browser",
        label: str = "",
    ) -> SignedIn:
        """The user of an identity that the provider vouches for, with a key.

        Known by issuer and subject; the first time by their verified e-mail address, if it is that
        of a user who has not signed in before or of an open invitation. Others become new users
        where `may_join`, and are refused elsewhere. With a `label`, what was issued before the user
        revoked a key of that label lets nobody in any more.
        """
        seconds = BROWSER_SECONDS if purpose == "browser" else DEVICE_KEY_SECONDS
        with self.tables.transaction(tenant) as rows:
            rows.lock_tenant()
            found = rows.tenant()
            if found is None or found.suspended_at is not None:
                raise LoginRefused
            user = self._user_of(rows, identity, now, may_join)
            if user.disabled_at is not None:
                raise LoginRefused(
                    "This user is switched off. Ask an administrator of your team's memory."
                )
            if label and was_revoked(rows.keys(user.name), label, identity.issued_at):
                raise LoginRefused("This sign-in was revoked. Sign in again.")
            key, token = make_key(
                tenant,
                user.name,
                now,
                label=label or f"signed in at {identity.issuer}",
                purpose=purpose,
                expires_at=now + seconds,
            )
            rows.add_key(key, token.hash)
            who = Caller(tenant=tenant, user=user.name, rights=Rights(), key_id=key.prefix)
            rows.audit(audit_entry(who, "login", now, by="oidc"))
        return SignedIn(user, IssuedKey(key, str(token)))

    def _user_of(
        self, rows: AccessTransaction, identity: OidcIdentity, now: float, may_join: bool
    ) -> User:
        known = rows.user_by_identity(identity.issuer, identity.subject)
        if known is not None:
            return known
        user = self._user_by_email(rows, identity, now)
        if user is None and may_join:
            user = User(
                name=free_name(identity.email or identity.name, {u.name for u in rows.users()}),
                display_name=identity.name,
                email=identity.email if identity.is_email_verified else "",
                created_at=now,
            )
            rows.add_user(user)
            newcomer = Caller(tenant="", user=user.name, rights=Rights())
            rows.audit(audit_entry(newcomer, "join", now, by="oidc"))
        if user is None:
            raise LoginRefused(
                "Nobody has invited you to this team's memory. Ask an administrator for an"
                " invitation."
            )
        rows.add_identity(identity.issuer, identity.subject, user.name, now)
        return user

    def _user_by_email(
        self, rows: AccessTransaction, identity: OidcIdentity, now: float
    ) -> User | None:
        if not identity.email or not identity.is_email_verified:
            return None
        users = rows.users()
        for user in users:
            # An account that belongs to another identity is not taken over by an address.
            if user.email == identity.email and not rows.has_identity(user.name):
                return user
        for invitation in rows.invitations():
            is_open = invitation.used_at is None and invitation.expires_at > now
            if is_open and invitation.email == identity.email:
                name = free_name(identity.email, {user.name for user in users})
                return self._add_invited(rows, invitation, name, identity.name, now)
        return None


def was_revoked(keys: Iterable[ApiKey], label: str, issued_at: float) -> bool:
    """True if a key of that label was revoked at or after a moment."""
    moments = (key.revoked_at for key in keys if key.label == label)
    return any(moment is not None and moment >= issued_at for moment in moments)


def free_name(wish: str, taken: set[str]) -> str:
    """A user's name like the one wished for, such as the first part of an e-mail address."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", wish.partition("@")[0].lower()).strip("._-")[:50]
    name = plain if plain != OPERATOR and USER_NAME.fullmatch(plain) else "user"
    number = 1
    while name in taken:
        number += 1
        name = f"{plain or 'user'}-{number}"
    return name
