# mypy: no-check-untyped-defs
"""A team's server for tests: a real uvicorn on a real socket, over a real database."""

import socket
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.device_sync.team_server import TeamServer, serving
from reverie.access import Right
from reverie.core.clock import now
from reverie.core.config import Settings
from reverie.interfaces.server.server_app import build_app
from reverie.interfaces.server.server_run import accept_access_tokens
from reverie.storage.postgres import PostgresDatabase


class Team(TeamServer):
    """A server with the tenant `acme`, its administrator, and clients of whoever is hired."""

    def __init__(self, database, url, embedder):
        settings = Settings(home=Path("reverie-testing"), embedder="toy")
        super().__init__(database, url, settings, embedder)
        self.clients = []

    def hire(self, name, **scope):
        """A new user; their client."""
        self.control.people.create_user(self.admin, name, now=now())
        return self.client(self.issue(name, **scope))

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
        with (
            socket.create_server(("127.0.0.1", port)) as listening,
            serving(build_app(team.deployment), listening),
        ):
            yield team
            for client in team.clients:
                client.close()
    finally:
        database.close()
