"""A database with the tables of who may what, and one organisation in it."""

import pytest

from tests.support.office import Office


@pytest.fixture
def database(postgres_url):
    """An empty database of Reverie's."""
    from reverie.storage.postgres import PostgresDatabase

    database = PostgresDatabase(postgres_url)
    database.prepare()
    yield database
    database.close()


@pytest.fixture
def office(database):
    """The tenant `acme`."""
    return Office(database)
