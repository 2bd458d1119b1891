"""Random edits on two devices, with outages, lost answers and replayed batches, against a plain
dictionary: in the end all are equal, and nothing that was acknowledged is missing.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reverie.core.model import Filter
from reverie.storage import open_store
from reverie.sync.wire_format import digest_content
from reverie.testing import Clock, memory
from tests.support.sync_sides import StoreServer, SyncedHome, caller_of

EVERYTHING = Filter(active=None, limit=10_000)


class TwoDevices(RuleBasedStateMachine):
    """Two homes of one user and a server. The model: the texts that each memory ever had."""

    @initialize()
    def begin(self):
        self.clock = Clock()
        self.there = open_store("sqlite://:memory:")
        self.homes = [self.make_home("one"), self.make_home("two")]
        self.texts = {}  # id → the texts that it was given, in order
        self.purged = set()
        self.count = 0

    def make_home(self, device):
        server = StoreServer(self.there, caller_of("ann", {}), self.clock)
        return SyncedHome(memory(now=self.clock, embedder="none"), server, device)

    def new_text(self):
        self.count += 1
        return f"The number of the queue is {self.count}."

    def pick(self, home, number, active):
        found = home.mind.store.browse(EVERYTHING._replace(active=active))
        return found[number % len(found)] if found else None

    @rule(which=st.integers(0, 1))
    def remember(self, which):
        self.clock.tick()
        text = self.new_text()
        self.texts[self.homes[which].mind.remember(text, space="me/demo").id] = [text]

    @rule(which=st.integers(0, 1), number=st.integers(0, 99), back=st.booleans())
    def revise(self, which, number, back):
        # A clock that jumps back must lose nothing either.
        self.clock.tick(-90.0 if back else 1.0)
        home = self.homes[which]
        if chosen := self.pick(home, number, True):
            text = self.new_text()
            home.mind.revise(chosen.id, text=text)
            self.texts[chosen.id].append(text)

    @rule(which=st.integers(0, 1), number=st.integers(0, 99))
    def forget(self, which, number):
        self.clock.tick()
        home = self.homes[which]
        if chosen := self.pick(home, number, True):
            home.mind.forget(chosen.id)

    @rule(which=st.integers(0, 1), number=st.integers(0, 99))
    def restore(self, which, number):
        self.clock.tick()
        home = self.homes[which]
        if chosen := self.pick(home, number, False):
            home.mind.restore(chosen.id)

    @rule(which=st.integers(0, 1), number=st.integers(0, 99))
    def purge(self, which, number):
        home = self.homes[which]
        if number % 5 == 0 and (chosen := self.pick(home, number, None)):
            home.mind.data.purge(chosen.id)
            self.purged.add(chosen.id)

    @rule(which=st.integers(0, 1), rounds=st.integers(1, 3))
    def sync(self, which, rounds):
        self.homes[which].sync(rounds)

    @rule(which=st.integers(0, 1), away=st.booleans(), mute=st.booleans())
    def cut(self, which, away, mute):
        self.homes[which].server.is_away, self.homes[which].server.is_mute = away, mute

    @precondition(lambda self: any(home.server.batches for home in self.homes))
    @rule(which=st.integers(0, 1), number=st.integers(0, 99))
    def replay(self, which, number):
        server = self.homes[which].server
        server.is_mute = False
        if server.batches:
            server.receive(server.batches[number % len(server.batches)])

    @invariant()
    def what_is_in_both_is_whole(self):
        for id, texts in getattr(self, "texts", {}).items():
            held = [one for home in self.homes for one in home.mind.store.get([id])]
            assert held or id in self.purged
            assert all(one.text in texts for one in held)

    def teardown(self):
        if not hasattr(self, "homes"):
            return
        for home in self.homes:
            home.server.is_away = home.server.is_mute = False
        for _ in range(3):
            for home in self.homes:
                assert not home.sync().trouble
        assert not any(home.sync() for home in self.homes)
        self.check_equal()
        self.check_complete()
        for home in self.homes:
            home.mind.close()
        self.there.close()

    def check_equal(self):
        """Both devices and the server say the same."""
        held = [
            {one.id: digest_content(one._replace(space="")) for one in store.browse(EVERYTHING)}
            for store in (*(home.mind.store for home in self.homes), self.there)
        ]
        assert held[0] == held[1] == held[2]

    def check_complete(self):
        """What was not purged is there; what was, is nowhere; no text of an edit is lost."""
        stores = [*(home.mind.store for home in self.homes), self.there]
        found = {one.id for one in self.there.browse(EVERYTHING)}
        assert found == self.texts.keys() - self.purged
        for id in found:
            history = [record for store in stores for record in store.history(id)]
            known = {store.get([id])[0].text for store in stores}
            known |= {record.before.get("text") for record in history}
            assert {*self.texts[id]} <= known
        for id in self.purged:
            assert not any(
                text in repr(list(store.dump())) for store in stores for text in self.texts[id]
            )


TwoDevices.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestTwoDevices = TwoDevices.TestCase
