"""A team's server for histories of real homes: uvicorn on a socket, over a PostgreSQL of its own."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import uvicorn

from reverie.access import AccessControl, operator_of
from reverie.core import clock
from reverie.core.config import Settings
from reverie.interfaces.server.deployment import Deployment
from reverie.interfaces.server.server_app import build_app
from reverie.interfaces.server.server_database import ServerDatabase
from reverie.interfaces.server.server_run import server_settings
from reverie.storage.access_records import Limits
from reverie.storage.embedded_postgres import EmbeddedPostgres
from reverie.storage.postgres import PostgresDatabase
from reverie.storage.postgres.access_tables import AccessTables

TENANT = "acme"
SETTINGS = {"fsync": "off", "synchronous_commit": "off"}  # no machine is killed here
UNLIMITED = Limits(requests_per_minute=10_000_000)


class TeamServer:
    """A server that answers, and its users."""

    def __init__(self, url: str, control: AccessControl) -> None:
        self.url, self.control = url, control
        self._admin = control.tenants.create(TENANT, admin="boss", now=clock.now()).key.token
        control.tenants.set_limits(TENANT, UNLIMITED, clock.now())
        self._users = 0

    def hire(self) -> str:
        """The key of a user whose place is empty."""
        now = clock.now()
        self._users += 1
        name = f"user-{self._users}"
        admin = self.control.authenticate(self._admin, now)
        self.control.people.create_user(admin, name, now=now)
        return self.control.keys.issue(operator_of(TENANT), user=name, now=now).token


@contextmanager
def run_team_server() -> Iterator[TeamServer]:
    """A server until the block ends; nothing is left of it then."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)  # PostgreSQL runs as another user where we are root
    try:
        with EmbeddedPostgres(folder / "postgres", settings=SETTINGS) as postgres:
            database = PostgresDatabase(postgres.url)
            try:
                database.prepare()
                with serve(database, folder) as server:
                    yield server
            finally:
                database.close()
    finally:
        shutil.rmtree(folder)


@contextmanager
def serve(database: PostgresDatabase, home: Path) -> Iterator[TeamServer]:
    """Answer on a free port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        control = AccessControl(AccessTables(database.pool))
        settings = server_settings(Settings(home=home, embedder="none"))
        deployment = Deployment(ServerDatabase(database), control, None, settings, url)
        config = uvicorn.Config(build_app(deployment), log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield TeamServer(url, control)
        finally:
            server.should_exit = True
            thread.join()
