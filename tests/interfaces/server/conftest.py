"""A team's server over an empty database."""

import pytest

from reverie.embedding.toy import ToyEmbedder
from tests.support.postgres import free_port
from tests.support.team_server import running_team


@pytest.fixture
def team(postgres_url):
    with running_team(postgres_url, free_port(), ToyEmbedder()) as team:
        yield team
