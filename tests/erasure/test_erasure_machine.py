# mypy: no-check-untyped-defs
"""Purges and scrubs among people who edit pages and shared files: what is not theirs to alter stays
as it is.

Two spaces, each with pages and a team's file; a few texts, so that memories repeat each other, in
whole and in part. Before every purge all is brought in step or not. Afterwards, and after
everything was brought in step again, every other memory says what it said, is believed as it was,
counts as it did; only records (kind event) were blanked, and say the same in the store and on their
page. No other memory ever says "[purged]".
"""

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reverie.storage.erased_texts import PURGED
from reverie.testing import Clock, memory
from tests.support.invariants import all_memories

SPACES = ("me/a", "me/b")
TEXTS = (
    "Use tabs.",
    "The vault word is Zanzibarquartz of the Plovergate.",
    "tabs",
    "Vault\n\nword  7",
    "金库密码是紫色香蕉皮",
    'He wrote "<!-- x -->" & `y` on the Xyloshelf, [a](b).',
    "The vault word is",
)
TOLD = ("{}", "Ann said: {} And more.", "first\n{}\n  last", "再说{}吧")

texts = st.sampled_from(TEXTS)
said = st.builds(str.format, st.sampled_from(TOLD), texts)
spaces = st.sampled_from(SPACES)
picks = st.integers(0, 50)


def told(m):
    """What nobody else's purge may alter."""
    return (m.space, m.text, m.title, m.tags, m.provenance, m.active, m.kind)


class LettingGo(RuleBasedStateMachine):
    """Purges, scrubs and edits in random order; only what must not happen is checked."""

    def __init__(self):
        super().__init__()
        self.clock, self.folder, self.buffers = Clock(), tempfile.TemporaryDirectory(), {}
        self.mind = memory(Path(self.folder.name) / "home", now=self.clock, embedder="none")
        for space in SPACES:
            self.mind.data.share(self.team(space), space=space)

    @initialize(
        first=st.lists(
            st.tuples(said, spaces, st.sampled_from(("fact", "event"))), min_size=4, max_size=8
        )
    )
    def begin(self, first):
        for text, space, kind in first:
            self.mind.remember(text, space=space, kind=kind)
        self.in_step()

    def teardown(self):
        self.mind.close()
        self.folder.cleanup()

    def team(self, space):
        return Path(self.folder.name) / f"{space[3:]}.jsonl"

    def pages(self):
        return sorted(self.mind.settings.mirror_root.rglob("*.md"))

    def living(self):
        return sorted(id for id, m in all_memories(self.mind.store).items() if m.active)

    def in_step(self):
        self.clock.tick(60)
        for _ in range(2):
            self.mind.data.mirror()
            for space in SPACES:
                self.mind.data.share(self.team(space), space=space)
        assert self.mind.data.verify() == []

    # What people and programs do

    @rule(
        text=said,
        space=spaces,
        kind=st.sampled_from(("fact", "event")),
        tag=st.sampled_from(("tabs", "vault")),
    )
    def remember(self, text, space, kind, tag):
        self.mind.remember(text, space=space, kind=kind, tags=[tag])

    @precondition(lambda self: self.living())
    @rule(pick=picks, text=said)
    def revise(self, pick, text):
        self.mind.revise(self.living()[pick % len(self.living())], text=text)

    @rule()
    def mirror(self):
        self.in_step()

    @precondition(lambda self: self.pages())
    @rule(
        pick=picks,
        line=picks,
        text=texts,
        how=st.sampled_from(("add", "alter", "no id", "prose", "load", "save")),
    )
    def edit(self, pick, line, text, how):
        """A person at a page, which they may save as they loaded it long ago."""
        page = self.pages()[pick % len(self.pages())]
        lines = page.read_text().splitlines(keepends=True)
        marked = [n for n, one in enumerate(lines) if re.search(r"^- .*<!-- mem_\w+ -->$", one)]
        if how == "load":
            self.buffers[page] = page.read_text()
        elif how == "save":
            page.write_text(self.buffers.get(page, page.read_text()))
            return
        elif how == "prose":
            lines.append(f"\nSomebody wrote: {' '.join(text.split())}\n")
        elif marked:
            at = marked[line % len(marked)]
            if how == "add":
                lines.insert(at, f"- {' '.join(text.split())}\n")
            elif how == "alter":
                lines[at] = lines[at].replace(
                    " <!-- mem_", f" or {' '.join(text.split())} <!-- mem_"
                )
            else:
                lines[at] = re.sub(r" <!-- mem_\w+ -->", "", lines[at])
        page.write_text("".join(lines))

    @rule(space=spaces, text=said, name=st.sampled_from(("m1", "m2")))
    def teammate(self, space, text, name):
        """A pull brings a line."""
        kept = [
            one
            for one in self.team(space).read_text().splitlines()
            if json.loads(one)["id"] != name
        ]
        self.team(space).write_text(
            "".join(f"{one}\n" for one in [*kept, json.dumps({"id": name, "content": text})])
        )

    # Letting go

    @precondition(lambda self: self.living())
    @rule(pick=picks, many=st.booleans(), waits=st.booleans())
    def purge(self, pick, many, waits):
        """`waits`: what people did is not taken in yet, so what they say afterwards is not known
        here.
        """
        if not waits:
            self.in_step()
        living = self.living()
        if not living:
            return
        ids = [living[pick % len(living)], *(living[:2] if many else ())]
        before = all_memories(self.mind.store)
        purged = self.mind.data.purge(ids)
        assert purged.unreached == ()
        after = all_memories(self.mind.store)
        assert not after.keys() & set(ids)
        self.in_step()
        later = all_memories(self.mind.store)
        assert {id: told(m) for id, m in later.items()} == {id: told(m) for id, m in after.items()}
        if not waits:
            rest = {id: m for id, m in before.items() if id in after}
            assert before.keys() - after.keys() <= {*ids} | {
                m.id for m in before.values() if m.retired_why == "merged"
            }
            assert {id: told(m) for id, m in rest.items() if m.kind != "event"} == {
                id: told(m) for id, m in after.items() if m.kind != "event"
            }
            assert {id: told(m._replace(text="")) for id, m in rest.items()} == {
                id: told(m._replace(text="")) for id, m in after.items()
            }

    @invariant()
    def no_blank_is_believed(self):
        assert not [
            m
            for m in all_memories(self.mind.store).values()
            if m.kind != "event" and PURGED in m.text
        ]


TestLettingGo = pytest.mark.proves("CC-4", "X20")(LettingGo.TestCase)
TestLettingGo.settings = settings(
    max_examples=max(10, settings().max_examples // 10),
    stateful_step_count=15,
    suppress_health_check=list(HealthCheck),
)
TestLettingGo.__doc__ = (
    "Whatever is let go of, nothing of anybody else's is altered, blanked or lost."
)
