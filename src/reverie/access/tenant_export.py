"""Everything of a tenant as rows of JSON: who is in it, what they may, what happened, what is kept.

For moving a tenant, and for whoever has a right to all that is kept about them. Hashes of secrets
stay out: keys and invitations are told by prefix and date, and must be made anew elsewhere. Files
that devices left are told as they lie there, sealed: who has the devices' keys can read them. The
tenant's own rows come first, then those of `Store.dump`, which `Store.load` takes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from reverie.access.callers import operator_of
from reverie.access.governance import Governance
from reverie.storage.access_records import AuditQuery, Right

if TYPE_CHECKING:
    from reverie.storage import Store
    from reverie.storage.postgres.access_tables import AccessTables


def export_tenant(tables: AccessTables, store: Store, name: str) -> Iterator[dict[str, Any]]:
    """Rows like {"type": "user", "name": "ann", …}; `store` reads every space of the tenant.

    For the server's operator, who answers for it by law: private spaces are in it too.
    """
    with tables.transaction(name) as rows:
        tenant = rows.tenant()
        records: list[tuple[str, list[Any]]] = [
            ("tenant", [tenant] if tenant else []),
            ("user", rows.users()),
            ("team", rows.teams()),
            ("grant", rows.grants()),
            ("link", rows.links()),
            ("trust", rows.trusts()),
            ("retention", rows.retention_rules()),
            ("hold", rows.holds()),
            ("key", rows.keys(None)),
            ("invitation", rows.invitations()),
        ]
        identities = rows.identities()
    for kind, found in records:
        for record in found:
            yield {"type": kind, **to_plain(asdict(record))}
    for issuer, subject, user in identities:
        yield {"type": "identity", "issuer": issuer, "subject": subject, "user": user}
    with tables.governing(name) as rows:
        for place in rows.device_places():
            for file in rows.device_files(place.space):
                found_file = rows.device_file(place.space, file.name)
                if found_file:
                    data = base64.b64encode(found_file[1]).decode()
                    yield {"type": "device_file", **asdict(file), "data": data}
    for entry in Governance(tables).export_audit(operator_of(name), AuditQuery()):
        yield {"type": "audit", **to_plain(asdict(entry))}
    yield from store.dump()


def to_plain(value: Any) -> Any:
    """The value as JSON has it: rights by their word, tuples as lists."""
    if isinstance(value, Right):
        return value.word
    if isinstance(value, IntEnum):
        return int(value)
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return value
