"""A team's server: uvicorn on a socket of this machine, over a PostgreSQL database.

Histories of real homes are run by it, and the tests build on it.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from reverie.access import AccessControl, operator_of
from reverie.access.callers import Caller
from reverie.core import clock
from reverie.core.config import Settings
from reverie.embedding import Embedder
from reverie.interfaces.server.deployment import Deployment
from reverie.interfaces.server.server_app import build_app
from reverie.interfaces.server.server_database import ServerDatabase
from reverie.interfaces.server.server_run import server_settings
from reverie.storage.access_records import Limits
from reverie.storage.embedded_postgres import EmbeddedPostgres
from reverie.storage.postgres import PostgresDatabase
from reverie.storage.postgres.access_tables import AccessTables

TENANT, ADMIN = "acme", "boss"
SETTINGS = {"fsync": "off", "synchronous_commit": "off"}  # no machine is killed here
UNLIMITED = Limits(requests_per_minute=10_000_000)


class TeamServer:
    """A server with a tenant and its administrator, and whoever is hired; `settings` are those of
    the process that serves.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        url: str,
        settings: Settings,
        embedder: Embedder | None = None,
    ) -> None:
        self.database, self.url = database, url
        self.control = AccessControl(AccessTables(database.pool))
        self.found(TENANT)
        self.deployment = Deployment(
            ServerDatabase(database), self.control, embedder, server_settings(settings), url
        )
        self._users = 0

    def found(self, tenant: str) -> TeamServer:
        """From now on another tenant, with an administrator of its own."""
        self.tenant = tenant
        self.founded = self.control.tenants.create(tenant, admin=ADMIN, now=clock.now())
        return self

    @property
    def admin(self) -> Caller:
        """The administrator as a caller."""
        return self.control.authenticate(self.founded.key.token, clock.now())

    def issue(self, name: str, **scope: Any) -> str:
        """A key of a user, as whoever runs the server makes it."""
        operator = operator_of(self.tenant)
        return self.control.keys.issue(operator, user=name, now=clock.now(), **scope).token

    def hire_somebody(self) -> str:
        """The key of a user whose place is empty."""
        self._users += 1
        name = f"user-{self._users}"
        self.control.people.create_user(self.admin, name, now=clock.now())
        return self.issue(name)


@contextmanager
def run_team_server() -> Iterator[TeamServer]:
    """A server without limits until the block ends; nothing is left of it then."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)  # PostgreSQL runs as another user where we are root
    try:
        with EmbeddedPostgres(folder / "postgres", settings=SETTINGS) as postgres:
            database = PostgresDatabase(postgres.url)
            try:
                database.prepare()
                with socket.create_server(("127.0.0.1", 0)) as listening:
                    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
                    team = TeamServer(database, url, Settings(home=folder, embedder="none"))
                    team.control.tenants.set_limits(TENANT, UNLIMITED, clock.now())
                    with serving(build_app(team.deployment), listening):
                        yield team
            finally:
                database.close()
    finally:
        shutil.rmtree(folder)


@contextmanager
def serving(app: Any, listening: socket.socket) -> Iterator[None]:
    """Serve an application on a socket that listens, until the block ends."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        clock.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
