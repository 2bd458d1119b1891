"""A team's server over an empty database, and homes that log in to it."""

import pytest

from reverie.core.clock import now
from reverie.testing import memory
from tests.support.postgres import free_port
from tests.support.team_server import running_team


@pytest.fixture
def team(postgres_url):
    with running_team(postgres_url, free_port()) as team:
        yield team


@pytest.fixture
def log_in(team, tmp_path):
    """A home of a user, logged in; who is not known is hired. All are closed at the end."""
    minds, keys = [], {}

    def log_in(user, device="laptop"):
        if user not in keys:
            keys[user] = key_of(team, user)
        mind = memory(tmp_path / f"{user}-{device}", now=now)
        minds.append(mind)
        mind.team.login(team.url, keys[user])
        return mind

    yield log_in
    for mind in minds:
        mind.close()


def key_of(team, name):
    """The key of a new user, who joins by an invitation."""
    code = team.control.logins.invite(team.admin, now=now()).code
    return team.control.logins.join(code, name=name, now=now()).key.token
