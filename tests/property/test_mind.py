# mypy: no-check-untyped-defs
"""The whole memory against a dict: any order of verbs, `verify()` after every step."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from reverie.errors import Conflict, NotFound
from reverie.testing import Clock, memory

SPACES = ("me/a", "me/b", "me", "me/a/s")
WORDS = ("heron", "crane", "stork", "ibis")
TAGS = ("red", "blue", "a b", "ä")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
tags = st.lists(st.sampled_from(TAGS), max_size=3, unique=True)


class Reverie(RuleBasedStateMachine):
    """`kept` is what should be there: id → space, text, tags, active, strength, successor."""

    ids = Bundle("ids")

    @initialize(private=st.booleans())
    def begin(self, private):
        self.clock, self.kept, self.last = Clock(), {}, None
        self.folder = None if private else tempfile.TemporaryDirectory()
        self.mind = memory(Path(self.folder.name) if self.folder else ":memory:", now=self.clock)

    def teardown(self):
        self.mind.close()
        if self.folder:
            self.folder.cleanup()

    def done(self):
        """The last event is the one to undo."""
        self.clock.tick()
        self.last = self.mind.store.events(newest=True, limit=1)[0].seq

    @rule(target=ids, text=texts, space=st.sampled_from(SPACES), tags=tags)
    def remember(self, text, space, tags):
        id = self.mind.remember(text, space=space, tags=tags).id
        self.kept[id] = {"space": space, "text": text, "tags": tuple(tags), "active": True, "strength": 1,
                         "newer": None}
        self.done()
        self.before = {id: None}
        return id

    def change(self, id, **values):
        self.before = {id: dict(self.kept[id])}
        self.kept[id].update(values)

    @rule(id=ids, text=texts)
    def revise(self, id, text):
        if id in self.kept:
            self.mind.revise(id, text=text)
            self.change(id, text=text)
            self.done()

    @rule(id=ids, space=st.sampled_from(SPACES))
    def move(self, id, space):
        if id in self.kept:
            self.mind.revise(id, space=space)
            self.change(id, space=space)
            self.done()

    @rule(id=ids, add=tags, remove=tags)
    def tag(self, id, add, remove):
        if id in self.kept:
            old = self.kept[id]["tags"]
            new = tuple(t for t in dict.fromkeys((*old, *add)) if t not in remove)
            self.mind.tag(id, add=add, remove=remove)
            if new != old:
                self.change(id, tags=new)
                self.done()

    @rule(id=ids)
    def forget(self, id):
        if id in self.kept:
            counted = self.mind.forget(id)
            assert counted == int(self.kept[id]["active"])
            if counted:
                self.change(id, active=False)
                self.done()

    @rule(id=ids)
    def restore(self, id):
        if id in self.kept:
            was = self.kept[id]["active"]
            self.mind.restore(id)
            if not was:
                self.change(id, active=True, newer=None)
                self.done()

    @rule(old=ids, new=ids)
    def supersede(self, old, new):
        if old in self.kept and new in self.kept and old != new:
            self.mind.supersede(old, new)
            self.change(old, active=False, newer=new)
            self.done()

    @rule(id=ids, helpful=st.booleans())
    def feedback(self, id, helpful):
        if id in self.kept:
            self.mind.feedback(id, helpful, session="s")
            self.change(id, strength=self.kept[id]["strength"] + helpful)
            self.done()

    @rule(one=ids, other=ids, rel=st.sampled_from(["relates_to", "contradicts", "derived_from"]))
    def link(self, one, other, rel):
        if one in self.kept and other in self.kept and one != other:
            self.mind.link(one, other, rel)
            self.done()
            self.last = None

    @precondition(lambda self: self.last is not None)
    @rule()
    def undo(self):
        """The last event can always be taken back, wholly; something added is retired."""
        try:
            self.mind.undo(self.last)
        except (NotFound, Conflict):
            assert not set(self.before) <= set(self.kept), "the last event could not be taken back"
        else:
            for id, values in self.before.items():
                if values is None:
                    self.kept[id]["active"] = False
                else:
                    self.kept[id] = values
        self.last = None
        self.clock.tick()

    @rule(id=consumes(ids))
    def purge(self, id):
        if id in self.kept:
            assert self.mind.purge(id) == (1, ())
            del self.kept[id]
            for values in self.kept.values():
                if values["newer"] == id:
                    values["newer"] = None
            self.last = None

    @rule()
    def settle(self):
        self.mind.settle()
        assert self.mind.stats().waiting == 0

    @rule()
    def export_and_import(self):
        """Taking in one's own export changes nothing."""
        self.mind.store.load(list(self.mind.store.dump()))

    @precondition(lambda self: self.folder is not None)
    @rule()
    def open_again(self):
        self.mind.close()
        self.mind = memory(Path(self.folder.name), now=self.clock)

    @invariant()
    def is_as_the_oracle_says(self):
        if not hasattr(self, "mind"):
            return
        assert self.mind.verify() == []
        there = {m.id: {"space": m.space, "text": m.text, "tags": m.tags, "active": m.active, "strength": m.strength,
                        "newer": m.superseded_by} for m in self.mind.get(list(self.kept))}
        assert there == self.kept

    @invariant()
    def finds_what_it_should(self):
        if not hasattr(self, "mind"):
            return
        for space in ("me/a", "me/a/s"):
            seen = {space, space.rpartition("/")[0], "me"}
            visible = {id for id, m in self.kept.items() if m["active"] and m["space"] in seen}
            word = WORDS[len(self.kept) % len(WORDS)]
            hits = {id for id, _ in self.mind.store.words([word], seen_of(space), 999)}
            assert hits == {id for id in visible if word in self.kept[id]["text"].split()}
            counted: dict[str, int] = {}
            for id in visible:
                for tag in self.kept[id]["tags"]:
                    counted[tag] = counted.get(tag, 0) + 1
            assert self.mind.tags(space) == counted
            shards = self.mind.store.corpus("toy/1", seen_of(space)).shards
            assert {shard.ids[row] for shard in shards for row in range(shard.n) if shard.counts[row]} == visible


def seen_of(space):
    parts = space.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]


Reverie.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None, derandomize=True,
                                     suppress_health_check=list(HealthCheck))
TestReverie = Reverie.TestCase
TestReverie.__doc__ = "Any order of verbs leaves what the oracle says, findable and clean (CC-1–CC-5, CC-11, CC-25)."
