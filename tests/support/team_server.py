# mypy: no-check-untyped-defs
"""A team's server for tests: a real uvicorn on a real socket, over a real database."""

import threading
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

from reverie.access import AccessControl, Right, operator_of
from reverie.core.clock import now, sleep
from reverie.core.config import Settings
from reverie.interfaces.server.deployment import Deployment
from reverie.interfaces.server.server_app import build_app
from reverie.interfaces.server.server_database import ServerDatabase
from reverie.interfaces.server.server_run import accept_access_tokens, server_settings
from reverie.storage.postgres import PostgresDatabase
from reverie.storage.postgres.access_tables import AccessTables


class Team:
    """A server with the tenant `acme`, its administrator, and whoever is hired."""

    def __init__(self, database, url, embedder):
        self.database, self.url = database, url
        self.clients = []
        self.control = AccessControl(AccessTables(database.pool))
        self.found("acme")
        self.deployment = Deployment(
            ServerDatabase(database),
            self.control,
            embedder,
            server_settings(Settings(home=Path("reverie-testing"), embedder="toy")),
            url,
        )

    def found(self, tenant):
        """From now on another tenant, with an administrator of its own."""
        self.tenant = tenant
        self.founded = self.control.tenants.create(tenant, admin="boss", now=now())
        return self

    @property
    def admin(self):
        """The administrator as a caller."""
        return self.control.authenticate(self.founded.key.token, now())

    def hire(self, name, **scope):
        """A new user; their client."""
        self.control.people.create_user(self.admin, name, now=now())
        return self.client(self.issue(name, **scope))

    def issue(self, name, **scope):
        """A key of a user, as whoever runs the server makes it."""
        operator = operator_of(self.tenant)
        return self.control.keys.issue(operator, user=name, now=now(), **scope).token

    def client(self, token=""):
        """A client that bears a token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.clients.append(TeamClient(self.url, headers))
        return self.clients[-1]

    def grant(self, space, right=Right.WRITE, user=""):
        """A right in a shared space, for a user or everyone."""
        self.control.spaces.grant(self.admin, space, right, now=now(), user=user)


class TeamClient(httpx.Client):
    """An HTTP client that knows the form of requests and answers."""

    def __init__(self, url, headers):
        super().__init__(base_url=url, headers=headers, timeout=120)

    def ask(self, verb, **arguments):
        """The response to a verb."""
        return self.post(f"/v1/{verb}", json=arguments)

    def __call__(self, verb, **arguments):
        """What a verb answers."""
        response = self.ask(verb, **arguments)
        assert response.status_code == 200, response.text
        return response.json()["result"]


@contextmanager
def serving(app, port):
    """Serve an application on a port until the block ends."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        sleep(0.01)
    yield server
    server.should_exit = True
    thread.join()


@contextmanager
def running_team(postgres_url, port, embedder=None, oidc=None):
    """A team's server, up and running."""
    database = PostgresDatabase(postgres_url)
    try:
        database.prepare()
        team = Team(database, f"http://127.0.0.1:{port}", embedder)
        if oidc is not None:
            settings = team.deployment.settings._replace(oidc_tenant="acme")
            team.deployment.oidc, team.deployment.settings = oidc, settings
            accept_access_tokens(team.deployment)
        with serving(build_app(team.deployment), port):
            yield team
            for client in team.clients:
                client.close()
    finally:
        database.close()
