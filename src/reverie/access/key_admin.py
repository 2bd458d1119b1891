"""Keys: issued, listed and revoked by their user, or by an administrator of the tenant."""

from __future__ import annotations

from dataclasses import replace

from reverie.access.actions import AccessActions, audit_entry
from reverie.access.api_keys import IssuedKey, Token, new_token
from reverie.access.callers import BROWSER, BROWSER_OF_KEY, OPERATOR, Caller
from reverie.access.rights import is_private
from reverie.core.errors import AccessDenied, BadInput, NotFound
from reverie.storage.access_records import ALL_SHARED, ApiKey, KeyScope, Right

READ_ONLY = KeyScope(right=Right.READ)
BROWSER_SECONDS = 12 * 3_600.0


def make_key(  # noqa: PLR0913 - the columns of a key
    tenant: str,
    user: str,
    now: float,
    *,
    label: str = "",
    purpose: str = "key",
    scope: KeyScope | None = None,
    expires_at: float | None = None,
    created_by: str = "",
) -> tuple[ApiKey, Token]:
    """A new key and its token; nothing is stored yet."""
    token = new_token(tenant)
    key = ApiKey(
        prefix=token.prefix,
        user=user,
        label=label,
        purpose=purpose,
        scope=scope or KeyScope(),
        created_by=created_by or user,
        created_at=now,
        expires_at=expires_at,
    )
    return key, token


class KeyAdmin(AccessActions):
    """Keys of a tenant."""

    def issue(
        self,
        caller: Caller,
        *,
        now: float,
        user: str = "",
        label: str = "",
        scope: KeyScope | None = None,
        expires_at: float | None = None,
    ) -> IssuedKey:
        """A new key for the caller, or by an administrator for another user.

        It never reaches further than the key that asks for it: a narrowed key makes only keys at
        most as wide. One that an administrator makes for somebody else is for shared spaces alone:
        private ones are opened by their user, who joins by an invitation or signs in.
        """
        user = user or caller.user
        scope = within_scope(caller, scope or KeyScope())
        if user != caller.user:
            caller.check_admin()
            scope = without_private(caller, scope)
        if expires_at is not None and expires_at <= now:
            raise BadInput("That key would have expired already. Give a later time.")
        # A sign-in by a browser or device ends sooner than the key it makes; a key's key does not.
        if caller.ends_with_its_key and caller.expires_at is not None:
            expires_at = min(expires_at or caller.expires_at, caller.expires_at)
        key, token = make_key(
            caller.tenant,
            user,
            now,
            label=label,
            scope=scope,
            expires_at=expires_at,
            created_by=caller.user,
        )
        with self.tables.transaction(caller.tenant) as rows:
            if rows.user(user) is None:
                raise NotFound(f"There is no user {user!r}.")
            rows.add_key(key, token.hash)
            rows.audit(audit_entry(caller, "key-issue", now, issued=key.prefix, user=user))
        return IssuedKey(key, str(token))

    def sign_in(self, caller: Caller, now: float) -> IssuedKey:
        """A key for a browser in which a person has given the key that they are known by: for half
        a day, as wide as that key and no longer lived. It ends when that key is revoked.

        AccessDenied for a key that is narrowed to some verbs, for a page uses many, and for that of
        another browser.
        """
        if caller.is_in_browser:
            raise AccessDenied("That is the key of a browser. Sign in with one of your own.")
        if caller.scope.verbs:
            raise AccessDenied(
                f"That key is for a program: it may only {', '.join(caller.scope.verbs)}. Sign in "
                "with one that is not narrowed to verbs."
            )
        ends = now + BROWSER_SECONDS
        key, token = make_key(
            caller.tenant,
            caller.user,
            now,
            label=session_label(caller.key_id),
            purpose=BROWSER_OF_KEY if caller.ends_with_its_key else BROWSER,
            scope=caller.scope,
            expires_at=min(ends, caller.expires_at or ends),
        )
        with self.tables.transaction(caller.tenant) as rows:
            rows.add_key(key, token.hash)
            rows.audit(audit_entry(caller, "login", now, by="key", issued=key.prefix))
        return IssuedKey(key, str(token))

    def list(self, caller: Caller, user: str | None = "") -> list[ApiKey]:
        """The keys of the caller; of another `user`, or with None of all, for administrators."""
        user = caller.user if user == "" else user
        if user != caller.user:
            caller.check_admin()
        with self.tables.transaction(caller.tenant) as rows:
            return rows.keys(user)

    def revoke(self, caller: Caller, prefix: str, now: float) -> ApiKey:
        """The key does not work any more, from the next request on, nor does a browser that was
        signed in with it.
        """
        with self.tables.transaction(caller.tenant) as rows:
            found = [key for key in rows.keys(None) if key.prefix == prefix]
            # Of somebody else's key is not told that it exists.
            if not found or (found[0].user != caller.user and not caller.is_admin):
                raise NotFound(f"There is no key {prefix!r} of yours.")
            rows.revoke_key(prefix, now)
            for key in rows.keys(found[0].user):
                if is_session_of(key, prefix) and key.revoked_at is None:
                    rows.revoke_key(key.prefix, now)
            rows.audit(audit_entry(caller, "key-revoke", now, revoked=prefix))
        self.tables.forget_lookups(caller.tenant)
        return found[0]


def session_label(prefix: str) -> str:
    """What the key of a browser is called that was signed in with the key of that prefix."""
    return f"browser, signed in with key {prefix}"


def is_session_of(key: ApiKey, prefix: str) -> bool:
    """True of the key of a browser that was signed in with the key of that prefix."""
    return key.purpose in (BROWSER, BROWSER_OF_KEY) and key.label == session_label(prefix)


def without_private(caller: Caller, scope: KeyScope) -> KeyScope:
    """The scope of a key for somebody else: whoever has the database itself may open everything."""
    if caller.user == OPERATOR:
        return scope
    if any(is_private(space) for space in scope.spaces):
        raise AccessDenied("A key for somebody else's private spaces is made by them alone.")
    return replace(scope, spaces=scope.spaces or (ALL_SHARED,))


def within_scope(caller: Caller, scope: KeyScope) -> KeyScope:
    """The scope, cut to what the caller's own key may do."""
    held = caller.scope
    verbs = scope.verbs or held.verbs
    if held.verbs:
        verbs = tuple(verb for verb in verbs if verb in held.verbs)
        if not verbs:
            raise BadInput(f"Your key may only {', '.join(held.verbs)}: so may those it makes.")
    spaces = scope.spaces or held.spaces
    if held.spaces and scope.spaces:
        for space in scope.spaces:
            caller.check(Right.READ, space)
    return KeyScope(spaces=spaces, right=min(scope.right, held.right), verbs=verbs)
