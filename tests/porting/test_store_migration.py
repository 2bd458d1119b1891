"""A home moved to PostgreSQL and back: nothing is lost, and done twice it adds nothing."""

import reverie
from reverie.storage import open_store
from reverie.testing import memory


def fill(mind):
    """A memory with history, links, forgotten things and vectors."""
    first = mind.remember("The staging server is called heron.", space="me/demo", tags=["staging"])
    second = mind.remember("Deploys run from the branch release.", space="me/demo")
    mind.link(first.id, second.id)
    mind.revise(first.id, text="The staging server is called egret.")
    mind.forget(second.id)
    mind.remember(
        "A café — naïve, 東京, 1e5 and 0.1.", space="me/x", details={"n": 1.0, "m": [1, 2.5]}
    )
    mind.settle()


def test_there_and_back_is_the_same(home, tmp_path, clock, postgres_url):
    """From SQLite to PostgreSQL and into a new home: memories, links, history and vectors."""
    fill(home)
    there = home.data.migrate(f"{postgres_url}?tenant=acme", user="ann")
    assert there.is_complete and there.compared["event"] > 5 and there.compared["vector"] == 3
    again = home.data.migrate(f"{postgres_url}?tenant=acme", user="ann")
    assert again.is_complete and not any(again.new.get(name) for name in again.compared)
    store = open_store(f"{postgres_url}?tenant=acme")
    spaces = {row["space"] for row in store.dump() if row["type"] in ("memory", "event")}
    store.close()
    assert spaces and all(space.split("/")[0] == "~ann" for space in spaces)
    back_home = tmp_path / "back"
    with reverie.open(f"{postgres_url}?tenant=acme", settings=home.settings) as tenant:
        assert tenant.data.migrate(back_home, user="ann", back=True).is_complete
    with memory(back_home, now=clock) as copied:
        kept = {row["id"]: row for row in home.store.dump() if row["type"] == "memory"}
        found = {row["id"]: row for row in copied.store.dump() if row["type"] == "memory"}
        assert kept == found
        for id in kept:
            assert copied.history(id) == home.history(id)
