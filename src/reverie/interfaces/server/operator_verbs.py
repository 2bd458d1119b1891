"""What whoever runs the server does about tenants: make, limit, suspend, export, erase them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from reverie.access import AccessControl, Limits
from reverie.access.tenant_export import export_tenant

if TYPE_CHECKING:
    from reverie.storage.postgres import PostgresDatabase


@dataclass(frozen=True)
class OperatorRequest:
    """Who may what, the database, and when."""

    control: AccessControl
    database: PostgresDatabase
    now: float


class LimitFields(TypedDict, total=False):
    """What a tenant may use; null is without limit."""

    requests_per_minute: int | None
    key_requests_per_minute: int | None
    memories: int | None
    bytes: int | None


def list_tenants(asked: OperatorRequest) -> Any:
    """All tenants of this server."""
    return asked.control.tenants.list()


def add_tenant(asked: OperatorRequest, name: str, admin: str, email: str = "") -> dict[str, Any]:
    """A new tenant with its first administrator, whose key is shown once."""
    new = asked.control.tenants.create(name, admin=admin, email=email, now=asked.now)
    return {"tenant": new.tenant.name, "admin": new.admin.name, "key": new.key.token}


def limit_tenant(asked: OperatorRequest, name: str, **limits: Unpack[LimitFields]) -> Any:
    """Other limits for a tenant; those that are not named stay."""
    present: Limits = asked.control.tenants.get(name).limits
    return asked.control.tenants.set_limits(name, replace(present, **limits), asked.now)


def suspend_tenant(asked: OperatorRequest, name: str) -> Any:
    """No key of the tenant works until it is resumed; nothing is lost."""
    return asked.control.tenants.suspend(name, asked.now)


def resume_tenant(asked: OperatorRequest, name: str) -> Any:
    """The tenant's keys work again."""
    return asked.control.tenants.resume(name, asked.now)


def set_founding(asked: OperatorRequest, name: str, everyone: bool) -> Any:
    """Whether every user may found shared spaces, or administrators alone."""
    return asked.control.tenants.set_founding(name, everyone, asked.now)


def export_tenant_rows(asked: OperatorRequest, name: str, file: str) -> dict[str, Any]:
    """Everything of a tenant as lines of JSON, in a file that appears whole or not at all."""
    from reverie.interfaces.cli.json_lines import write_rows_to_file

    asked.control.tenants.get(name)
    rows: Iterator[dict[str, Any]] = export_tenant(
        asked.control.tables, asked.database.store(name), name
    )
    return {"rows": write_rows_to_file(Path(file).expanduser(), rows), "file": file}


def erase_tenant(asked: OperatorRequest, name: str, confirm: str) -> dict[str, Any]:
    """Erase everything of a suspended tenant, for good; say its name twice."""
    from reverie.core.errors import BadInput

    if confirm != name:
        raise BadInput(f"To erase the tenant {name} say its name twice: nothing brings it back")
    return {"rows": asked.control.tenants.erase(name, asked.now)}
