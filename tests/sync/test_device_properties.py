"""Random edits through the real verbs on three homes with a folder that is carried badly, against
plain dictionaries: in the end all are equal and nothing that was acknowledged is missing.
"""

import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from reverie.core.model import Filter
from reverie.testing import Clock, memory

EVERYTHING = Filter(active=None, limit=10_000)
WHICH, NUMBER = st.integers(0, 2), st.integers(0, 3)


class ThreeDevices(RuleBasedStateMachine):
    """Three homes, each with its own copy of the folder. The model: which text was put where, and
    which of them somebody revised who had seen it.
    """

    @initialize()
    def begin(self):
        self.root = Path(tempfile.mkdtemp())
        self.clocks = [Clock(), Clock(), Clock()]
        self.minds = []
        for number, clock in enumerate(self.clocks):
            clock.tick(days=number * 400 - 300)
            mind = memory(self.root / str(number), now=clock, embedder="none")
            (self.root / f"carried-{number}").mkdir()
            mind.devices.add(str(self.root / f"carried-{number}"), name=str(number))
            self.minds.append(mind)
        self.folders = [self.root / f"carried-{n}/reverie-log" for n in range(3)]
        self.texts, self.replaced, self.purged, self.count = {}, set(), set(), 0

    def new_text(self):
        self.count += 1
        return f"The number of the queue is {self.count}."

    def pick(self, which, number, active=None):
        self.clocks[which].tick()
        found = sorted(self.minds[which].store.browse(EVERYTHING._replace(active=active)))
        return found[number % len(found)] if found else None

    @rule(which=WHICH)
    def remember(self, which):
        self.clocks[which].tick()
        text = self.new_text()
        self.texts[text] = self.minds[which].remember(text, space="me/demo").id

    @rule(number=NUMBER)
    def revise_on_two(self, number):
        """The same memory, neither knowing the other, if it is on both."""
        self.revise_one(0, number)
        self.revise_one(1, number)

    @rule(which=WHICH, number=NUMBER)
    def revise(self, which, number):
        self.revise_one(which, number)

    def revise_one(self, which, number):
        if chosen := self.pick(which, number, True):
            text = self.new_text()
            self.minds[which].revise(chosen.id, text=text)
            self.texts[text] = chosen.id
            self.replaced.add(chosen.text)

    @rule(which=WHICH, number=NUMBER, tag=st.sampled_from(["a", "b"]))
    def tag(self, which, number, tag):
        if chosen := self.pick(which, number, True):
            if tag in chosen.tags:
                self.minds[which].tag(chosen.id, remove=[tag])
            else:
                self.minds[which].tag(chosen.id, add=[tag])

    @rule(which=WHICH, number=NUMBER)
    def forget_or_restore(self, which, number):
        if chosen := self.pick(which, number):
            verb = self.minds[which].forget if chosen.active else self.minds[which].restore
            verb(chosen.id)

    @rule(which=WHICH, number=NUMBER, other=NUMBER)
    def link(self, which, number, other):
        one, two = self.pick(which, number, True), self.pick(which, other, True)
        if one and two and one.id != two.id:
            self.minds[which].link(one.id, two.id)

    @rule(which=WHICH, number=NUMBER)
    def purge(self, which, number):
        if number % 4 == 0 and (chosen := self.pick(which, number)):
            self.minds[which].data.purge(chosen.id)
            self.purged.add(chosen.id)
            self.replaced.add(chosen.text)

    @rule(which=WHICH)
    def sync(self, which):
        self.clocks[which].tick()
        self.minds[which].devices.sync()

    @rule()
    def meet(self):
        """All that was written comes everywhere, so that the next edits are of the same things."""
        for mind in self.minds:
            mind.devices.sync()
        self.carry_all()
        for mind in self.minds:
            mind.devices.sync()

    @rule(which=WHICH, hours=st.sampled_from([-30, 1, 700]))
    def set_clock(self, which, hours):
        self.clocks[which].tick(minutes=hours * 60)

    @rule(start=WHICH, end=WHICH, seed=st.integers(0, 1_000))
    def carry(self, start, end, seed):
        """Some files, in any order, some of them by half."""
        chance = random.Random(seed)
        files = sorted(self.folders[start].iterdir())
        chance.shuffle(files)
        own = self.minds[end].devices.status().device
        for file in files[: chance.randint(1, 6)]:
            if start != end and not file.name.startswith(own):
                data = file.read_bytes()
                part = len(data) if chance.random() < 0.8 else chance.randrange(len(data))
                (self.folders[end] / file.name).write_bytes(data[:part])

    def teardown(self):
        if not hasattr(self, "minds"):
            return
        for _ in range(4):
            for mind in self.minds:
                mind.devices.sync()
            self.carry_all()
        assert not any(mind.devices.sync() for mind in self.minds)
        self.check()
        for mind in self.minds:
            mind.close()
        shutil.rmtree(self.root)

    def carry_all(self):
        """Each device's own files, as it has them, to all."""
        for mind, folder in zip(self.minds, self.folders, strict=True):
            status = mind.devices.status()
            assert status is not None
            own = status.device
            for other in self.folders:
                if other != folder:
                    for file in other.glob(f"{own}-*"):
                        file.unlink()
                    for file in folder.glob(f"{own}-*"):
                        shutil.copy(file, other)

    def check(self):
        """All equal, every text there that nobody replaced, no home damaged."""
        states = []
        for mind in self.minds:
            found = sorted(mind.store.browse(EVERYTHING))
            edges = mind.store.edges([one.id for one in found], ["relates_to", "contradicts"])
            states.append(([one._replace(conflicts_with=()) for one in found], sorted(edges)))
            assert mind.data.verify() == []
            status = mind.devices.status()
            assert status and not any(one.missing or one.troubles for one in status.others)
        assert states[0] == states[1] == states[2]
        texts = {one.text for one in states[0][0]}
        wanted = {
            text
            for text, id in self.texts.items()
            if id not in self.purged and text not in self.replaced
        }
        assert wanted <= texts
        assert not self.purged & {one.id for one in states[0][0]}


ThreeDevices.TestCase.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
TestThreeDevices = ThreeDevices.TestCase
