"""Daily copies: what is erased for good is erased there too, and what cannot be reached is said (X20, CC-4, A106)."""

import sqlite3
from contextlib import closing

import reverie
from reverie import backups
from reverie.config import Settings
from reverie.testing import NOON, SPACE, memory


def filled(home):
    """A mind with two memories of which a daily copy was made."""
    ids = [home.remember(text, space=SPACE).id for text in ("xylophone quartz", "it stays")]
    copy = backups.daily(home.store, home.settings, NOON)
    assert copy is not None
    return copy, *ids


def holding(folder, word):
    """The files that hold a word."""
    return {path.name for path in folder.rglob("*") if path.is_file() and word in path.read_bytes()}


def test_purging_reaches_the_daily_copies(home):
    """The verb itself leaves the text in no file of the home, and the copy stays whole (CC-4)."""
    copy, gone, stays = filled(home)
    assert copy.name in holding(home.settings.home, b"xylophone")

    assert home.purge(gone) == (1, ())
    assert holding(home.settings.home, b"xylophone") == set()
    with reverie.open(copy, settings=Settings(home=home.settings.home, embedder="none")) as earlier:
        assert [m.id for m in earlier.browse(space=SPACE)] == [stays]


def test_what_purging_could_not_reach_is_said(home):
    """A copy of a newer Reverie is left alone and named, so is a damaged file that was kept; a broken copy goes."""
    copy, gone, _ = filled(home)
    broken = copy.with_name("reverie-20200101.db")
    broken.write_bytes(b"xylophone, and no database " * 300)
    kept = home.settings.home / "reverie.db.damaged-20200101"
    kept.write_bytes(b"xylophone")
    with closing(sqlite3.connect(copy)) as db:
        db.execute("pragma user_version = 999")

    assert home.purge(gone) == (1, (copy, kept))
    assert holding(home.settings.home, b"xylophone") == {copy.name, kept.name}
    assert not broken.exists()


def test_a_mind_elsewhere_leaves_the_copies_of_the_home_alone(home, clock):
    """A mind in memory, or in a file of its own, has nothing to do with the home's copies."""
    copy, *_ = filled(home)
    before = copy.read_bytes()
    with memory(now=clock) as other:
        other.settings = home.settings
        id = other.remember("xylophone quartz", space=SPACE).id
        assert other.purge(id) == (1, ())
    assert copy.read_bytes() == before


def test_purging_takes_the_wordings_along(home):
    """What was merged into a memory says the same: it goes as well, at every remove, in the copies too (CC-4)."""
    ids = [home.remember(f"My home address is 12 Quokkastreet{end}", space=SPACE).id for end in (".", "!", "")]
    stays = home.remember("it stays", space=SPACE).id
    home.settle()
    first = next(m for m in home.get(ids) if m.active)
    assert backups.daily(home.store, home.settings, NOON)
    assert {first.id, *(m.id for m in home.wordings(first.id))} == set(ids)

    assert home.purge(first.id) == (3, ())
    assert [m.id for m in home.get([*ids, stays])] == [stays]
    assert holding(home.settings.home, b"Quokkastreet") == set()


def test_purging_leaves_what_is_no_wording(home):
    """A memory that was superseded, or from which another one was only derived, is a thing of its own."""
    old, new, note = (home.remember(text, space=SPACE).id for text in ("The port is 80", "It is 8080", "About ports"))
    home.supersede(old, new)
    home.link(note, old, "derived_from")
    assert home.purge([new, note]) == (2, ())
    assert [m.id for m in home.get([old])] == [old]
