# mypy: no-check-untyped-defs
"""The whole memory against a simple oracle: any order of verbs, crashes among them, `verify()`
after every step.

The oracle knows what most verbs do and predicts it. What settling, sleep and learning do is not
predicted: then it is held against what must be so whatever they decide (`reconciled_well`), and the
oracle learns from the store. Some texts repeat or contradict one another and some do not, so that
memories merge, step back, are flagged or stay.

`REVERIE_HYPOTHESIS=long pytest tests/runtime/test_state_machine.py` looks at 2,000 other lives instead of
the same few.
"""

import json
import re
import tempfile
from collections import deque
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from reverie.consolidation.sleep_schedule import find_unfinished_run
from reverie.core.errors import BadInput, Conflict, NotFound
from reverie.core.model import SAID, visible_spaces
from reverie.erasure import unfinished
from reverie.mirror.apply_page_edits import list_past_texts
from reverie.pipeline.event_reader import RETRY_CURSOR
from reverie.runtime import background_thread
from reverie.storage.candidates import CandidateRequest
from reverie.storage.erased_texts import PassageEraser
from reverie.testing import Clock, make_conversation, memory
from tests.support.crash_at_statement import CRASHES, FAILURES, failing_at_statement
from tests.support.invariants import all_memories, assert_nothing_lost
from tests.support.vocabulary import NIGHT, TEXTS

SPACES = ("me/a", "me/a", "me/a", "me/b", "me", "me/a/s")
WORDS = ("heron", "crane", "stork", "tabs", "deploys")
TAGS = ("red", "blue", "a b", "ä")
KINDS = ("fact", "note", "preference", "correction", "negative", "event")
TOKEN = re.compile(r"zq\d+x")

texts = st.sampled_from(TEXTS) | st.just("")  # "": one that nobody else says
tags = st.lists(st.sampled_from(TAGS), max_size=3, unique=True)
spaces = st.sampled_from(SPACES)
crashes = st.tuples(
    st.integers(1, 12) | st.integers(1, 100),
    st.sampled_from(FAILURES),
    st.booleans(),
    st.booleans(),
)


def leave_out_talk(memories, space):
    """The memories without passages of past conversations, which must lie where one may look."""
    said = [one for one in memories if one.provenance == SAID]
    assert {one.space for one in said} <= set(visible_spaces(space))
    return [one for one in memories if one.provenance != SAID]


def told(m):
    """What the oracle knows of a memory."""
    return {
        "space": m.space,
        "text": m.text,
        "tags": m.tags,
        "active": m.active,
        "strength": m.strength,
        "newer": m.superseded_by,
        "why": m.retired_why,
        "kind": m.kind,
        "provenance": m.provenance,
        "expires_at": m.expires_at,
        "valid_from": m.valid_from,
        "valid_to": m.valid_to,
        "record": (m.details.get("worked", 0), m.details.get("failed", 0)),
    }


def new(text, space, **more):
    """A memory as the oracle expects it."""
    return {
        "space": space,
        "text": text,
        "tags": (),
        "active": True,
        "strength": 1,
        "newer": None,
        "why": "",
        "kind": "fact",
        "provenance": "observed",
        "expires_at": None,
        "valid_from": None,
        "valid_to": None,
        "record": (0, 0),
        **more,
    }


def successors(kept, id):
    """The memory and those that it stepped back for, one after the other; never in a circle."""
    found = [id]
    while not kept[id]["active"] and kept[id]["newer"]:
        id = kept[id]["newer"]
        assert id not in found, f"successors in a circle: {found}"
        found.append(id)
    return found


def heir_of(kept, id):
    """What a merged memory leads to, if that counts."""
    while not kept[id]["active"] and kept[id]["why"] == "merged" and kept[id]["newer"]:
        id = kept[id]["newer"]
    return id if kept[id]["active"] else None


class Reverie(RuleBasedStateMachine):
    """`kept` is what should be there, by id; `past` is what was there, by time."""

    ids = Bundle("ids")

    @initialize(
        target=ids,
        private=st.booleans(),
        first=st.lists(texts, max_size=6),
        fuses=st.lists(st.none() | crashes, max_size=8),
    )
    def begin(self, private, first, fuses):
        """`fuses` say of one verb after the other at which statement it crashes, and
        in which way.
        """
        self.clock, self.kept, self.ties, self.past = Clock(), {}, {}, []
        self.last = self.companion = None
        self.fuses = deque(fuses)
        self.undoing, self.decided, self.said, self.counter = {}, set(), [], 0
        # On a slow machine too, the background settles after a turn only.
        self.patience = mock.patch.object(background_thread, "SETTLE_RETRY_SECONDS", 3_600.0)
        self.patience.start()
        self.folder = None if private else tempfile.TemporaryDirectory()
        self.mind = memory(Path(self.folder.name) if self.folder else ":memory:", now=self.clock)
        self.mind.remember_many([{"text": self.worded(text)} for text in first], space="me/a")
        self.resync()
        return multiple(*self.kept)

    def teardown(self):
        self.patience.stop()
        self.mind.close()
        if self.folder:
            self.folder.cleanup()

    # What the rules are made of

    def there(self):
        """All memories of the store but scratch pads, which come and go with what a conversation is
        at.
        """
        return {id: m for id, m in all_memories(self.mind.store).items() if m.kind != "scratch"}

    def state(self, *types):
        """Everything canonical without the log, or only rows of some types."""
        return [
            row for row in self.mind.data.export(log=False) if not types or row["type"] in types
        ]

    def resync(self):
        """The oracle learns from the store."""
        self.kept = {id: told(m) for id, m in self.there().items()}
        self.relearn_ties()

    def relearn_ties(self):
        self.ties = {
            frozenset((row["src"], row["dst"])): row["weight"]
            for row in self.state("edge")
            if row["rel"] == "relates_to"
        }

    def open_afresh(self):
        self.leave()
        self.mind.close()
        self.mind = memory(Path(self.folder.name), now=self.clock)

    def leave(self):
        """The conversation that goes on, if there is one, ends, and with it the thread in the
        background. What it leaves to be read is read, so that no verb meets it half done.
        """
        if self.companion is None:
            return
        self.companion.close()
        self.companion = None
        self.said = []
        before = self.there()
        self.mind.settle()
        assert_nothing_lost(before, self.there())
        self.resync()
        self.last = None

    def crashing(self, verb):
        """Do it, with a crash if one was asked for: (the result, whether it crashed)."""
        self.fuses.rotate(-1)
        fuse = self.fuses[0] if self.fuses else None
        if fuse is None:
            return verb(), False
        *where, again = fuse
        assert self.companion is None
        crashed, result = False, None
        with failing_at_statement(self.mind.store, *where):
            try:
                result = verb()
            except CRASHES as err:
                assert "asked for" in str(err)
                crashed = True
                self.clock.tick(100)  # the lease of who crashed ends
        if again and self.folder:
            self.open_afresh()
        # An erasure that was stopped is told, and nothing else; who erased has it finished.
        assert {problem.what for problem in self.mind.data.verify()} <= {"erasure"}
        return result, crashed

    def does(self, verb, changed=None, added=(), removed=()):
        """A verb whose outcome is known: all of it happens, or, if it crashes, all or nothing.
        Whether it did.
        """
        was = self.kept
        result, crashed = self.crashing(verb)
        there = {id: told(m) for id, m in self.there().items()}
        fresh = [id for id in sorted(there) if id not in was]
        will = {
            id: {**values, **(changed or {}).get(id, {})}
            for id, values in was.items()
            if id not in removed
        }
        will |= dict(zip(fresh, added, strict=False))
        if crashed and there == was:
            self.last = None
            return None
        assert there == will and len(fresh) == len(added)
        self.undoing = {id: was[id] for id in changed or {}} | dict.fromkeys(fresh)
        self.kept, self.last = (
            there,
            next((e.seq for e in self.mind.store.events(newest=True, limit=1)), None),
        )
        return result, fresh

    def unpredicted(self, verb, well=assert_nothing_lost):
        """A verb of which only the invariants are known; what it returns, None after a crash."""
        before = self.there()
        result, crashed = self.crashing(verb)
        well(before, self.there())
        self.resync()
        self.last = None
        return None if crashed else result

    def worded(self, text):
        """This text, or one that nobody else says."""
        self.counter += 1
        return (
            text or f"The key zq{self.counter}x hangs on the board beside the harbour office door."
        )

    def visible(self, space):
        return {
            id for id, m in self.kept.items() if m["active"] and m["space"] in visible_spaces(space)
        }

    # Keeping

    @rule(
        target=ids,
        text=texts,
        space=spaces,
        tags=tags,
        kind=st.sampled_from(("fact", "fact", "note", "event")),
        provenance=st.sampled_from(
            ("observed", "observed", "user_stated", "user_corrected", "inferred")
        ),
    )
    def remember(self, text, space, tags, kind, provenance):
        text = self.worded(text)
        done = self.does(
            lambda: self.mind.remember(
                text, space=space, tags=tags, kind=kind, provenance=provenance
            ),
            added=[new(text, space, tags=tuple(tags), kind=kind, provenance=provenance)],
        )
        return done[1][0] if done else None

    @rule(text=texts, other=texts, space=spaces)
    def remember_two(self, text, other, space):
        two = [self.worded(text), self.worded(other)]
        self.does(
            lambda: self.mind.remember_many([{"text": text} for text in two], space=space),
            added=[new(text, space) for text in two],
        )

    @rule(target=ids, space=spaces, step=st.sampled_from(("Call heron.", "Wake the crane.")))
    def teach(self, space, step):
        """Taught anew, it takes the place of what was taught by that name in the space, and of
        nothing else.
        """
        old = {
            id
            for id, values in self.kept.items()
            if values["kind"] == "procedure"
            and values["active"]
            and values["space"] == space
            and values["text"] != f"Release: 1. {step}"
        }
        if old:

            def replaced(before, after):
                assert {id for id, m in before.items() if m.active and not after[id].active} in (
                    old,
                    set(),
                )

            taught = self.unpredicted(
                lambda: self.mind.procedures.teach(
                    "Release", [step], triggers=["release"], space=space
                ),
                well=replaced,
            )
            assert taught is None or {self.there()[id].superseded_by for id in old} == {taught.id}
            return taught.id if taught else None
        done = self.does(
            lambda: self.mind.procedures.teach(
                "Release", [step], triggers=["release"], space=space
            ),
            added=[new(f"Release: 1. {step}", space, kind="procedure")],
        )
        return done[1][0] if done else None

    @rule(text=texts, space=spaces)
    def learn(self, text, space):
        """What a transcript teaches is added or, said before, stronger; the same transcript again
        adds nothing.
        """
        self.leave()
        transcript = make_conversation(f"Please remember that {self.worded(text)}")
        before = self.there()
        learned, crashed = self.crashing(lambda: self.mind.learn(transcript, space=space))
        after = self.there()
        assert all(
            (m.text, m.active) == (after[id].text, after[id].active)
            and m.strength <= after[id].strength
            for id, m in before.items()
        )
        if not crashed:
            assert {m.id for m in learned.memories} == after.keys() - before.keys()
            assert self.mind.learn(transcript, space=space).known
        self.resync()
        self.last = None

    @rule(word=st.sampled_from(WORDS), space=spaces)
    def record(self, word, space):
        done = self.does(lambda: self.mind.record("tool", {"name": word}, space=space, session="s"))
        if done:
            assert self.mind.store.event(done[0]).payload == {"name": word}
        self.last = None

    # Altering

    @rule(id=ids, text=texts)
    def revise(self, id, text):
        if id in self.kept:
            text = self.worded(text)
            self.does(lambda: self.mind.revise(id, text=text), {id: {"text": text}})

    @rule(id=ids, space=spaces, kind=st.sampled_from(KINDS))
    def move(self, id, space, kind):
        if id in self.kept and self.kept[id]["kind"] != "procedure":
            self.does(
                lambda: self.mind.revise(id, space=space, kind=kind),
                {id: {"space": space, "kind": kind}},
            )

    @rule(
        id=ids,
        name=st.sampled_from(("expires_at", "valid_from", "valid_to")),
        after=st.sampled_from((None, -100.0, 3.0, 100_000.0)),
    )
    def time(self, id, name, after):
        if id in self.kept:
            at = None if after is None else self.clock() + after
            self.does(lambda: self.mind.revise(id, **{name: at}), {id: {name: at}})

    @rule(id=ids, add=tags, remove=tags)
    def tag(self, id, add, remove):
        if id in self.kept:
            old = self.kept[id]["tags"]
            tags = tuple(t for t in dict.fromkeys((*old, *add)) if t not in remove)
            self.does(lambda: self.mind.tag(id, add=add, remove=remove), {id: {"tags": tags}})
            if tags == old:
                self.last = None  # nothing, or only whose tags they are

    @rule(old=ids, newer=ids)
    def supersede(self, old, newer):
        if old in self.kept and newer in self.kept and old != newer:
            changed = {old: {"active": False, "newer": newer, "why": "superseded"}}
            try:
                self.does(lambda: self.mind.supersede(old, newer), changed)
            except Conflict:
                assert old in successors(self.kept, newer)
            except BadInput:
                assert (
                    not self.kept[old]["active"]
                    or not self.kept[newer]["active"]
                    or self.kept[newer]["space"] not in visible_spaces(self.kept[old]["space"])
                )

    @rule(id=ids, helpful=st.booleans())
    def feedback(self, id, helpful):
        if id in self.kept:
            self.does(
                lambda: self.mind.feedback(id, helpful, session="s"),
                {id: {"strength": self.kept[id]["strength"] + helpful}},
            )

    @rule(id=ids, worked=st.booleans())
    def outcome(self, id, worked):
        if id in self.kept and self.kept[id]["kind"] == "procedure":
            well, badly = self.kept[id]["record"]
            self.does(
                lambda: self.mind.procedures.outcome(id, worked),
                {id: {"record": (well + worked, badly + (not worked))}},
            )

    @rule(one=ids, other=ids)
    def link(self, one, other):
        """Linked again, from either end, it is the same link, stronger."""
        if one in self.kept and other in self.kept and one != other:
            ends = frozenset((one, other))
            weight = min(0.95, self.ties[ends] + 0.05) if ends in self.ties else 0.5
            if self.does(lambda: self.mind.link(one, other)):
                self.ties[ends] = max(weight, self.ties.get(ends, 0.0))
            else:  # a crash
                self.relearn_ties()
            self.last = None

    @rule(one=ids, other=ids)
    def contradict(self, one, other):
        if one in self.kept and other in self.kept and one != other:
            self.does(lambda: self.mind.link(one, other, "contradicts"))
            self.decided.discard(frozenset((one, other)))
            self.last = None

    # Reviewing

    @rule(
        space=spaces,
        place=st.integers(0, 5),
        decision=st.sampled_from(("one", "other", "both", "merge", "edit")),
    )
    def resolve(self, space, place, decision):
        """A decision does what it says, and the pair is not asked about again."""
        before = self.state()
        cases = self.mind.review.cases(space=space, limit=100)
        assert self.state() == before
        if not cases:
            return
        one, other = (
            m.id for m in (cases[place % len(cases)].one, cases[place % len(cases)].other)
        )
        text = self.worded("") if decision == "edit" else ""
        strength = self.kept[one]["strength"] + self.kept[other]["strength"]
        try:
            self.mind.review.resolve(one, other, decision, text=text)
        except BadInput:  # who stays could not be seen where the other was
            stays, goes = (other, one) if decision == "other" else (one, other)
            assert self.kept[stays]["space"] not in visible_spaces(self.kept[goes]["space"])
            return
        was, there = self.kept, self.there()
        assert {id: told(m) for id, m in there.items() if id not in (one, other)} == {
            id: values for id, values in was.items() if id not in (one, other)
        }
        gone = {"one": other, "other": one, "merge": other, "edit": other}.get(decision)
        assert [id for id in (one, other) if not there[id].active] == [id for id in (gone,) if id]
        if gone:
            assert there[gone].superseded_by == (other if gone == one else one)
        if decision in ("merge", "edit"):
            assert (there[one].strength, there[one].text) == (strength, text or was[one]["text"])
        self.resync()
        self.decided.add(frozenset((one, other)))
        self.last = None

    @rule(space=spaces)
    def review(self, space):
        for case in self.mind.review.cases(space=space, limit=100):
            assert {case.one.id, case.other.id} <= self.visible(space)
            assert frozenset((case.one.id, case.other.id)) not in self.decided, "asked about again"

    # Letting go, and back

    @rule(id=ids)
    def forget(self, id):
        if id in self.kept:
            counts = self.kept[id]["active"]
            changed = {id: {"active": False, "why": "forgotten"}} if counts else {}
            done = self.does(lambda: self.mind.forget(id), changed)
            assert done is None or done[0] in (None, int(counts))
            if not counts:
                self.last = None

    @rule(id=ids)
    def restore(self, id):
        if id in self.kept:
            was, changed = self.kept[id], {}
            if not was["active"]:
                heir = heir_of(self.kept, id) if was["why"] == "merged" else None
                changed = {id: {"active": True, "newer": None, "why": ""}}
                if heir:
                    changed[heir] = {
                        "strength": max(1, self.kept[heir]["strength"] - was["strength"])
                    }
            self.does(lambda: self.mind.restore(id), changed)
            if was["active"] or not was["newer"]:
                self.last = self.last if changed else None

    @precondition(lambda self: self.last is not None)
    @rule()
    def undo(self):
        """The last event can always be taken back, wholly; something added is retired."""
        event, before = self.last, self.undoing
        if not set(before) <= set(self.kept):
            return
        undone = {"active": False, "why": "undone"}
        changed = {id: undone if values is None else values for id, values in before.items()}
        try:
            self.does(lambda: self.mind.undo(event), changed)
        except NotFound:
            assert not before, "the last event could not be taken back"
        self.decided.clear()
        self.relearn_ties()
        self.last = None

    @rule(place=st.integers(0, 30))
    def undo_any(self, place):
        """Any event is taken back or refused; taking that back gives the very state before."""
        store = self.mind.store
        events = [e.seq for e in store.events(newest=True, limit=31) if store.changes_of(e.seq)]
        if not events:
            return
        before = self.there()
        state = self.state("memory", "edge")
        try:
            done = self.mind.undo(events[place % len(events)])
        except (NotFound, Conflict):
            assert self.state("memory", "edge") == state
            return
        assert self.there().keys() == before.keys()
        if place % 2:
            self.mind.undo(done)
            assert self.state("memory", "edge") == state
        self.resync()
        self.decided.clear()
        self.last = None

    @rule(id=consumes(ids))
    def purge(self, id):
        """Erased for good, with what was merged into it: what only they said stands nowhere any
        more, neither in an

        export nor in a file.
        """
        if id not in self.kept:
            return
        gone = {id, *(memory.id for memory in self.mind.data.wordings(id))} & self.kept.keys()
        rest = set().union(*(self.ever_said(other) for other in self.kept if other not in gone))
        said = set().union(*map(self.ever_said, gone)) - rest
        texts = PassageEraser(list_past_texts(self.mind.store, self.mind.get(sorted(gone))))
        others = {
            other: {"newer": None}
            for other, m in self.kept.items()
            if m["newer"] in gone and other not in gone
        }
        for other, m in self.kept.items():
            if (
                other not in gone and m["kind"] == "event"
            ):  # a record of what was said is blanked as the log is
                others[other] = {**others.get(other, {}), "text": texts.scrub_text(m["text"])[0]}
        done = self.does(lambda: self.mind.data.purge(id), others, removed=tuple(sorted(gone)))
        self.relearn_ties()
        self.last = None
        if done:
            # Stopped between the store and the files: it is finished later.
            assert unfinished.finish_erasure(self.mind.work)
            self.purged(id, said)

    def purged(self, id, said):
        exported = json.dumps(list(self.mind.data.export()))
        assert id not in exported
        assert not [word for word in said if word in exported]
        if self.folder:
            stored = b"".join(
                part.read_bytes() for part in Path(self.folder.name).rglob("*") if part.is_file()
            )
            assert not [word for word in said if word.encode() in stored]

    def ever_said(self, id):
        """Words of a memory, now and in its history, that were made for it alone."""
        return set(TOKEN.findall(repr(self.mind.history(id)) + self.kept[id]["text"]))

    # Living

    @rule()
    def settle(self):
        if self.unpredicted(self.mind.settle):
            assert self.mind.data.stats().waiting == 0

    @rule(space=st.sampled_from(("me/a", "me/b")), text=texts, asks=st.booleans())
    def turn(self, space, text, asks):
        """A turn is given what counts and can be seen, and nothing else; then it is
        learned from.
        """
        if self.companion and self.companion.space != space:
            self.leave()
        if not self.companion:
            self.companion = self.mind.companion(space, session="s")
        text = self.worded(text)
        self.said.append(f"What about this: {text}" if asks else f"Please remember that {text}")
        before = self.there()
        block = self.companion.turn(make_conversation(*self.said))
        assert {m.id for m in leave_out_talk(block.memories, space)} <= self.visible(space)
        assert self.companion.wait(120)
        self.mind.settle()
        assert not self.companion.trouble
        assert_nothing_lost(before, self.there())
        self.resync()
        self.last = None

    @rule(afresh=st.booleans(), back=st.booleans())
    def sleep(self, afresh, back):
        """Whatever a night did, taking it back gives the very state before it.

        But for events that a reader had failed on, as at a crash while it read: what a night
        catches up on is no more undone than what was read in time.
        """
        self.leave()
        store = self.mind.store
        failed = store.events(after=store.cursor(RETRY_CURSOR), verbs=("failed",), limit=1)
        before, whole = self.state(), not failed and not find_unfinished_run(store)
        slept = self.unpredicted(lambda: self.mind.sleep(NIGHT, afresh=afresh))
        if slept is None or not back:
            return
        try:
            if self.crashing(lambda: self.mind.undo(slept.run))[1]:
                self.mind.undo(slept.run)
        except NotFound:
            pass
        assert not whole or self.state() == before
        self.resync()
        self.decided.clear()

    @rule(days=st.sampled_from((0.1, 1.0, 40.0)))
    def later(self, days):
        # A session that has fallen silent is summed up, in the background too.
        self.leave()
        self.clock.tick(days=days)

    @rule()
    def import_its_own(self):
        """Taking in one's own export changes nothing."""
        self.does(lambda: self.mind.data.import_(list(self.mind.data.export())))
        self.last = None

    @rule()
    def export_to_another(self):
        """Everything out and into an empty store is the same."""
        with memory(now=self.clock) as other:
            other.data.import_(json.loads(json.dumps(list(self.mind.data.export()))))
            assert other.data.verify() == []
            assert list(map(json.dumps, other.data.export())) == list(
                map(json.dumps, self.mind.data.export())
            )
            assert {m.id for m in self.there().values()} == {
                m.id for m in other.get(list(self.kept))
            }

    @precondition(lambda self: self.folder is not None)
    @rule()
    def open_again(self):
        self.open_afresh()

    # Finding

    @rule(
        word=st.sampled_from((*WORDS, "staging server name", "")),
        space=spaces,
        mode=st.sampled_from(("auto", "words", "dense", "rrf")),
        depth=st.integers(0, 2),
    )
    def recall(self, word, space, mode, depth):
        """Nothing of another space, nothing that counts no longer or has expired."""
        hits = self.mind.recall(word, space=space, mode=mode, depth=depth, limit=99)
        found = leave_out_talk([hit.memory for hit in hits], space)
        assert {one.id for one in found} <= self.unexpired(self.visible(space))
        assert all(told(one) == self.kept[one.id] for one in found)

    def unexpired(self, ids):
        return {
            id for id in ids if (end := self.kept[id]["expires_at"]) is None or end > self.clock()
        }

    @rule(id=ids, space=st.none() | spaces)
    def similar(self, id, space):
        if id in self.kept:
            seen = self.unexpired(self.visible(space or self.kept[id]["space"])) - {id}
            assert {hit.memory.id for hit in self.mind.similar(id, space=space, limit=99)} <= seen
            assert {
                hit.memory.id for hit in self.mind.neighbours(id, space=space, limit=99, depth=2)
            } <= seen

    @precondition(lambda self: self.past)
    @rule(place=st.integers(0, 1_000), space=spaces, word=st.sampled_from(("", *WORDS)))
    def recall_as_of(self, place, space, word):
        """What is found as of a moment counted then, in the words it had then; with no question,
        all of it.
        """
        at, then = self.past[place % len(self.past)]
        counted = {
            id: m
            for id, m in then.items()
            if id in self.kept
            and m["active"]
            and m["kind"] != "session"  # comes up where somebody asks for sessions
            and m["space"] in visible_spaces(space)
            and (m["expires_at"] is None or m["expires_at"] > at)
            and (m["valid_from"] is None or m["valid_from"] <= at)
            and (m["valid_to"] is None or m["valid_to"] > at)
        }
        hits = self.mind.recall(word, space=space, limit=999, as_of=at)
        memories = leave_out_talk([hit.memory for hit in hits], space)
        found = {one.id: one for one in memories}
        for id, m in found.items():
            assert id in counted, "it did not count then"
            assert m.text == counted[id]["text"]
        if not word:  # what has moved elsewhere since is not told of
            assert found.keys() == {
                id for id in counted if self.kept[id]["space"] in visible_spaces(space)
            }

    # Always

    @invariant()
    def is_as_the_oracle_says(self):
        if not hasattr(self, "mind"):
            return
        assert self.mind.data.verify() == []
        assert {id: told(m) for id, m in self.there().items()} == self.kept
        for id in self.kept:
            successors(self.kept, id)
        ties, known = self.ties, self.kept
        self.relearn_ties()
        assert self.ties == {ends: weight for ends, weight in ties.items() if ends <= known.keys()}
        self.past.append((self.clock(), self.kept))
        self.clock.tick()
        if self.fuses and self.fuses[1 % len(self.fuses)] is not None:
            self.leave()  # only one thread at a time crashes where it was asked to

    @invariant()
    def finds_what_it_should(self):
        if not hasattr(self, "mind"):
            return
        pads = all_memories(self.mind.store).keys() - self.kept.keys()
        for space in ("me/a", "me/a/s"):
            seen, visible = visible_spaces(space), self.visible(space)
            word = WORDS[len(self.past) % len(WORDS)]
            hits = {id for id, _ in self.mind.store.search_words([word], seen, 999)} - pads
            assert hits == {
                id for id in visible if word in re.findall(r"\w+", self.kept[id]["text"].lower())
            }
            counted: dict[str, int] = {}
            for id in visible:
                for tag in self.kept[id]["tags"]:
                    counted[tag] = counted.get(tag, 0) + 1
            assert self.mind.tags(space) == counted
            self.assert_candidates_are(visible, pads, seen)

    def assert_candidates_are(self, visible, pads, seen):
        """All that has a vector or one of these words can be an answer, and nothing that is not
        visible.
        """
        store = self.mind.store
        request = CandidateRequest(
            "toy/1", self.mind.context.embedder.embed(["heron"])[0], tuple(seen), WORDS, each=999
        )
        pool = store.candidates(request)
        worded = {id for id, _ in store.search_words(WORDS, seen, 999)}
        findable = (worded | store.vectors("toy/1", sorted(visible)).keys()) - pads
        assert pool is None or findable <= set(pool.ids) - pads <= visible


Reverie.TestCase.settings = settings(
    max_examples=settings().max_examples,
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
)
TestReverie = pytest.mark.proves(
    *("CC-1", "CC-2", "CC-3", "CC-4", "CC-5", "CC-10", "CC-11", "CC-14", "CC-19", "CC-25", "CC-58"),
    *("CC-90", "X20", "X21", "X22", "X43"),
)(Reverie.TestCase)
TestReverie.__doc__ = (
    "Any order of verbs and crashes leaves what the oracle says, findable and clean."
)
