"""A team's server over an empty database, and homes that log in to it."""

from contextlib import contextmanager

import pytest

from reverie import Mind
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


@contextmanager
def devices_at(place, folder, clock):
    """`make(name, where=place)` opens homes in a folder, in step through a place; all are closed at
    the end.
    """
    minds = []

    def make(name, *, where=place):
        mind = memory(folder / name, now=clock, embedder="none")
        minds.append(mind)
        mind.devices.add(str(where), name=name)
        return mind

    yield make
    for mind in minds:
        mind.close()


@contextmanager
def paired_homes(folder, url, **options):
    """`open_home(name)` opens homes in a folder, sealed and paired through a place that is added
    with these options; all are closed at the end.
    """
    minds: dict[str, Mind] = {}

    def open_home(name):
        mind = memory(folder / name, now=now, embedder="none")
        added = mind.devices.add(url, name=name, **options)
        mind.devices.sync()
        if added.code:
            next(iter(minds.values())).devices.accept(added.code)
            for one in (*minds.values(), mind):
                one.devices.sync()
        minds[name] = mind
        return mind

    yield open_home
    for mind in minds.values():
        mind.close()
