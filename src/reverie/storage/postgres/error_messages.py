"""What a person is told when PostgreSQL refuses: errors in plain words, without a memory's text."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

from reverie.core.errors import (
    StoreBusy,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
)

MAY_NOT_WRITE = "You may not do that there: ask whoever administers the space or the database"
ERROR_CLASSES: tuple[tuple[type[psycopg.Error], type[StoreError], str], ...] = (
    (errors.LockNotAvailable, StoreBusy, ""),
    (errors.DeadlockDetected, StoreBusy, ""),
    (errors.SerializationFailure, StoreBusy, ""),
    (errors.QueryCanceled, StoreBusy, "The database took too long. Nothing was changed: try again"),
    (errors.TooManyConnections, StoreBusy, "The server has no connection left: try again later"),
    (
        errors.DiskFull,
        StoreFull,
        "The database server's disk is full: nothing was changed. Free some space on the server",
    ),
    (
        errors.InsufficientPrivilege,
        StoreReadOnly,
        MAY_NOT_WRITE,
    ),
    (
        errors.ReadOnlySqlTransaction,
        StoreReadOnly,
        "The database server takes no writes, as a standby does: use the primary's address",
    ),
    (
        errors.UndefinedTable,
        StoreError,
        "The database has no tables of Reverie's: `reverie server migrate` creates them",
    ),
    (
        errors.InvalidPassword,
        StoreError,
        "The database server refused the user or the password: correct the URL",
    ),
    (
        errors.InvalidAuthorizationSpecification,
        StoreError,
        "The database server refused the user: correct the URL",
    ),
    (
        errors.InvalidCatalogName,
        StoreError,
        "There is no such database on the server: create it, or correct the URL",
    ),
)


def translate_error(err: psycopg.Error, where: str) -> StoreError:
    """The error that a person can act on. Never with what a statement was about: that may be a
    memory's text.
    """
    for known, error_class, message in ERROR_CLASSES:
        if isinstance(err, known):
            return error_class(f"{message} ({where})" if message else None)
    if isinstance(err, PoolTimeout):
        return StoreGone(
            f"The database server at {where} does not answer. Nothing was changed: look whether it "
            "runs, then try again"
        )
    if isinstance(err, errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow):
        return StoreGone(
            f"The database server at {where} was stopped. Nothing was changed: try again"
        )
    if isinstance(err, psycopg.OperationalError) and not err.sqlstate:
        return StoreGone(
            f"The connection to the database server at {where} was lost, or there was none. "
            "Look whether it runs, then try again"
        )
    name = re.sub(r"(?<!^)(?=[A-Z])", " ", type(err).__name__).lower()
    return StoreError(
        f"The memory store could not do that: {name} ({where}, code {err.sqlstate or 'none'})"
    )


def describe_server(conninfo: str) -> str:
    """The host and database of a connection, for messages: without user and password."""
    given = conninfo_to_dict(conninfo)
    host = given.get("host") or given.get("hostaddr") or "the local socket"
    port = f":{given['port']}" if given.get("port") else ""
    return f"{host}{port}/{given.get('dbname') or ''}"
