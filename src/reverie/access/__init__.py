"""Who may what on a server: tenants, users, teams, spaces with grants, keys, logins, limits, audit.

    rights         what a user or key may do in which spaces; the patterns of row security
    callers        who asks: the value that a request is decided by
    api_keys       tokens, their hashes, and why one is refused
    rate_limits    requests per minute, quotas of a tenant
    device_login   letting in a program that has no browser
    oidc_login     signing in people at their organisation's provider
    authorship     the stamp of who wrote a memory, and how far a reader believes it
    retention      what is due to be purged, what a legal hold forbids, erasure and its proof
    tenant_export  everything of a tenant, as rows of JSON
    control        `AccessControl`: all of it over the tables

Decisions are pure; the tables are `storage/postgres/access_tables`. What a caller may not read is
not to be told from what does not exist, in errors, counts or lists: statements carry the tenant,
row security repeats it, and `tests/access` compares answers with a plain model.
"""

from reverie.access.callers import Caller, operator_of
from reverie.access.control import AccessControl
from reverie.access.rights import Rights
from reverie.storage.access_records import (
    ALL_SHARED,
    ApiKey,
    AuditEntry,
    AuditQuery,
    Grant,
    KeyScope,
    Limits,
    Right,
    Tenant,
    User,
)

__all__ = [
    "ALL_SHARED",
    "AccessControl",
    "ApiKey",
    "AuditEntry",
    "AuditQuery",
    "Caller",
    "Grant",
    "KeyScope",
    "Limits",
    "Right",
    "Rights",
    "Tenant",
    "User",
    "operator_of",
]
