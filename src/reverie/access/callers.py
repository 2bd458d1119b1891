"""Who asks: the caller of a request, with all that decides what they may do and see.

A caller is a value: it holds for one request, and nothing is looked up from it later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reverie.access.rights import Rights, effective_rights, private_root, spaces_read_from
from reverie.core.errors import AccessDenied
from reverie.core.model import visible_spaces
from reverie.storage.access_records import (
    ALL_SHARED,
    KeyLookup,
    KeyScope,
    Limits,
    Right,
    SpaceLink,
    SpaceTrust,
)

OPERATOR = "operator"  # whoever has the server's own command line: no user can have that name
# Purposes of the keys that browsers hold; the second was signed in with a key that expires.
BROWSER, BROWSER_OF_KEY = "browser", "browser-of-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A user of a tenant by way of a key."""

    tenant: str
    user: str
    rights: Rights
    is_admin: bool = False
    key_id: str = ""  # the key's prefix: what the audit and rate limits go by
    purpose: str = "key"
    scope: KeyScope = field(default_factory=KeyScope)  # what the key may do at most
    expires_at: float | None = None
    display_name: str = ""
    email: str = ""
    limits: Limits = field(default_factory=Limits)
    links: tuple[SpaceLink, ...] = ()
    trusts: tuple[SpaceTrust, ...] = ()

    @property
    def is_in_browser(self) -> bool:
        """True of the key that a browser holds as its session."""
        return self.purpose in (BROWSER, BROWSER_OF_KEY)

    @property
    def ends_with_its_key(self) -> bool:
        """True of a key that expires, and of a browser signed in with one: what they make must not
        outlive them. Other sign-ins end by themselves and prove who is there.
        """
        return self.expires_at is not None and self.purpose in ("key", BROWSER_OF_KEY)

    @property
    def private_root(self) -> str:
        """The root of the caller's private spaces, "~ann": what `me` is on the server."""
        return private_root(self.user)

    def check(self, right: Right, space: str) -> None:
        """AccessDenied if the caller does not have the right in the space."""
        self.rights.check(right, space)

    def check_verb(self, verb: str) -> None:
        """AccessDenied if the key may not use this verb."""
        verbs = self.scope.verbs
        if verbs and verb not in verbs:
            raise AccessDenied(
                f"This key may not {verb}. It may: {', '.join(verbs)}. Use another key, or ask"
                " an administrator for one."
            )

    def check_admin(self) -> None:
        """AccessDenied if the caller does not administer the tenant."""
        if not self.is_admin:
            raise AccessDenied(
                "Only an administrator of your team's memory may do that. Ask one of them."
            )

    def spaces_read_from(self, space: str) -> list[str]:
        """The spaces that a recall in `space` reads for this caller: it and its ancestors, and what
        they are linked to, as far as the caller may read them.
        """
        return spaces_read_from(space, self.links, self.rights)

    def is_trusted(self, space: str) -> bool:
        """True if what others wrote in this space counts as more than others' words here."""
        return is_trusted(space, self.user, self.trusts)


def is_trusted(space: str, reader: str, trusts: Iterable[SpaceTrust]) -> bool:
    """The nearest decision for the space or an ancestor; of one space the reader's before that
    for everyone. Without any it is not trusted.
    """
    known = {(trust.space, trust.reader): trust.is_trusted for trust in trusts}
    for seen in (*visible_spaces(space), ALL_SHARED):
        for who in (reader, ""):
            if (seen, who) in known:
                return known[seen, who]
    return False


def caller_of(found: KeyLookup) -> Caller:
    """The caller that a key stands for. Whether the key may be used is `api_keys.refusal`'s."""
    user, key = found.user, found.key
    rights = effective_rights(user.name, found.grants, found.teams, is_admin=user.is_admin)
    # A key that is narrowed in any way does not manage the tenant.
    is_admin = user.is_admin and key.scope == KeyScope()
    return Caller(
        tenant=found.tenant.name,
        user=user.name,
        rights=rights.narrowed(key.scope),
        is_admin=is_admin,
        key_id=key.prefix,
        purpose=key.purpose,
        scope=key.scope,
        expires_at=key.expires_at,
        display_name=user.display_name,
        email=user.email,
        limits=found.tenant.limits,
        links=found.links,
        trusts=found.trusts,
    )


def operator_of(tenant: str) -> Caller:
    """Whoever runs the server's own command line beside the database: manages the tenant, and
    administers its shared spaces; private ones stay closed to them here too.
    """
    return Caller(
        tenant=tenant,
        user=OPERATOR,
        rights=Rights(((ALL_SHARED, Right.ADMINISTER),)),
        is_admin=True,
        purpose=OPERATOR,
    )
