"""The records of who may what, as values: tenants, users, teams, grants, keys, logins, audit.

A tenant is one organisation and the first column of every key. A user has all rights below their
private root, `~<user>`; every other space is shared and needs a grant. Secrets are never in a
record: a key, an invitation or a device code is known by its prefix and the hash of its secret.

Times are seconds since 1970. The tables are `storage/postgres/access_schema.sql`; what follows from
the records is decided in the room `access`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

from reverie.core.errors import BadInput

GranteeKind = Literal["user", "team", "everyone"]
HoldKind = Literal["space", "user"]
DeviceState = Literal["pending", "approved", "denied", "collected"]

# A grant of this space is for every shared space, now and later; private roots are never meant.
ALL_SHARED = "*"


class Right(IntEnum):
    """What may be done in a space; each includes the ones below it."""

    READ = 1
    WRITE = 2
    ADMINISTER = 3  # grant to others, trust for all, retention, hold, erasure

    @property
    def word(self) -> str:
        """For people, and in the tables: "read", "write", "administer"."""
        return self.name.lower()

    @classmethod
    def from_word(cls, word: str) -> Right:
        """The right of that name; BadInput if there is none."""
        try:
            return cls[word.upper()]
        except KeyError:
            raise BadInput(
                f"{word!r} is not a right. Say one of read, write, administer."
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a tenant may use; None is without limit."""

    requests_per_minute: int | None = 6_000  # of the whole tenant, on each server process
    key_requests_per_minute: int | None = 600  # of each key, on each server process
    memories: int | None = None
    bytes: int | None = None  # of the texts of memories


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One organisation: nothing is seen across tenants."""

    name: str
    display_name: str = ""
    created_at: float = 0.0
    suspended_at: float | None = None  # no key works meanwhile, nothing is lost
    everyone_founds: bool = True  # every user may found shared spaces, or administrators alone
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person or a machine of a tenant, with the private root `~<name>`."""

    name: str
    display_name: str = ""
    email: str = ""
    is_admin: bool = False  # manages the tenant, and administers every shared space
    created_at: float = 0.0
    disabled_at: float | None = None  # no key or login of theirs works


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """Users who are granted spaces together."""

    name: str
    description: str = ""
    created_at: float = 0.0
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A right in a shared space and everything below it, for a user, a team or everyone."""

    space: str  # or ALL_SHARED
    kind: GranteeKind
    grantee: str = ""  # a user's or a team's name; "" for everyone
    right: Right = Right.READ
    granted_by: str = ""
    granted_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLink:
    """Who reads in this space of a user reads a shared one and its ancestors as well."""

    user: str
    space: str  # "~ann/demo"
    target: str  # "demo"
    linked_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceTrust:
    """Whether what colleagues wrote in a shared space counts as more than others' words."""

    space: str
    reader: str = ""  # "" for everyone: only who administers the space sets that
    is_trusted: bool = True
    set_by: str = ""
    set_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """Memories of a space, and below it, are purged so many days after they were last useful."""

    space: str
    days: int
    set_by: str = ""
    set_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LegalHold:
    """Nothing in a space, or nothing that a user wrote, may be erased until it is lifted."""

    id: str
    kind: HoldKind
    subject: str  # a space or a user's name
    reason: str
    placed_by: str = ""
    placed_at: float = 0.0
    lifted_by: str = ""
    lifted_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyScope:
    """What a key may do at most, of what its user may: empty tuples do not restrict."""

    spaces: tuple[str, ...] = ()  # these and below
    right: Right = Right.ADMINISTER
    verbs: tuple[str, ...] = ()  # names of verbs: "recall", "remember", …


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key of a user, without its secret."""

    prefix: str  # 8 characters, unique within the tenant
    user: str
    label: str = ""  # "hooks of ann's laptop"
    purpose: str = "key"  # "key", "device", "browser", "admin"
    scope: KeyScope = field(default_factory=KeyScope)
    created_by: str = ""
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None
    last_used_at: float | None = None  # to the nearest hour


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLookup:
    """Everything that a token's prefix leads to, read in one statement."""

    key: ApiKey
    hash: bytes
    user: User
    tenant: Tenant
    teams: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()  # those that reach the user
    links: tuple[SpaceLink, ...] = ()
    trusts: tuple[SpaceTrust, ...] = ()  # the user's, and everyone's


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A single-use code by which a new user joins, with teams and grants set before."""

    prefix: str
    email: str = ""  # only this address may use it; "" for whoever has the code
    is_admin: bool = False
    teams: tuple[str, ...] = ()
    grants: tuple[tuple[str, Right], ...] = ()
    created_by: str = ""
    created_at: float = 0.0
    expires_at: float = 0.0
    used_by: str = ""
    used_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """A program without a browser that waits for a person to let it in."""

    user_code: str  # what the person types: "WDJB-MJHT"
    client_name: str = ""  # "reverie on laptop"
    state: DeviceState = "pending"
    user: str = ""  # who approved it
    created_at: float = 0.0
    expires_at: float = 0.0
    interval: float = 5.0  # seconds between two polls
    polled_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginAttempt:
    """A sign-in that has gone to the organisation's provider and not come back yet."""

    state_hash: bytes
    nonce: str
    verifier: str  # of PKCE (RFC 7636)
    return_to: str = ""
    expires_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the audit: who did what where, to how many. Never a text."""

    id: str
    at: float
    actor: str  # a user's name, or "operator" at the server's own command line
    key: str = ""  # the prefix of the key
    verb: str = ""
    space: str = ""
    count: int = 0  # memories that were read or changed
    details: Mapping[str, Any] = field(default_factory=dict)  # names and numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which lines of the audit; empty fields do not restrict."""

    actor: str = ""
    key: str = ""
    verbs: tuple[str, ...] = ()
    space: str = ""  # this and below
    since: float | None = None
    until: float | None = None
    after: str = ""  # the last id of the page before
    before: str = ""  # the same where the newest come first
    is_newest_first: bool = False
    limit: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAmounts:
    """How much a tenant keeps."""

    memories: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFile:
    """A file that a device of a user left for the user's others, sealed."""

    space: str  # the user's private root
    name: str
    size: int
    digest: str  # SHA-256 of what it holds, in hexadecimal
    written_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlace:
    """All files that the devices of one user left."""

    space: str
    files: int
    hidden: int  # those of them that a legal hold keeps, and nobody is shown
    bytes: int
    seen_at: float  # when a device looked last, to a day


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """What retention, holds and erasure go by."""

    id: str
    space: str
    writer: str = ""  # the user who wrote it, as the server stamped it
    source: str = ""  # the session, file or import that it came from
    used_at: float = 0.0  # when it was last written, changed or proved useful
