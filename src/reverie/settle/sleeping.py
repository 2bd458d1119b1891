"""The loop of sleep: reads, asks the passes of `lifecycle.sleep`, makes it so batch by batch, and takes runs back.

A run begins with an event `sleeping` (its number names the run), goes on with one event `sleep` for each batch of at
most MOST changes, and ends with `slept`. Each batch is one transaction, in which what it rests on is read once more; if
somebody has altered that, the pass decides anew. Between batches the lease is renewed and the run may stop: when its
time is over, when somebody is at work, when it is interrupted. A note in the same transaction says how far it has come:
the next run goes on there. So a run may be killed at any moment, and what it did until then can be taken back.

Pairs are looked for among what is new since a pass went through last (`ground.Watermark`), so that a second night is
a short one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from reverie import clock
from reverie.errors import BadInput
from reverie.lifecycle.sleep import PASSES, pairs
from reverie.lifecycle.sleep.plan import Pair, Step, View, told
from reverie.model import RELATIONS, Add, Edge, Event, Filter, Memory, Retire, Revise
from reverie.settle import LEASE, work_left
from reverie.settle.bedtime import NOTE, SLEPT_AT, SLEPT_COUNT
from reverie.settle.decided import settled_pairs
from reverie.settle.ground import Ground, Watermark, surveyed
from reverie.settle.mending import backfill, retried
from reverie.settle.reading import ANEW, Work
from reverie.settle.reconciling import wordings_of

LEASE_SECONDS = 60.0     # a space's clusters are found without a look at the clock
RENEW = 5.0              # seconds after which the lease is renewed
PATIENCE = 30.0          # seconds that somebody else at work is waited for
MOST = 500               # changes of one transaction
PAIRS, PAGE = 400, 500   # pairs, and memories, that a pass is shown at once
SPACELESS = "me"         # where a run's own events stand
OTHERS = tuple(rel for rel in RELATIONS if rel != "has_tag")


class Done(NamedTuple):
    """What one pass did."""

    name: str
    steps: int = 0           # things that were changed, or would be
    seconds: float = 0.0
    skipped: str = ""        # why it did nothing, if it could not


class Planned(NamedTuple):
    """One step of a plan, for a person to read."""

    name: str                # of the pass
    step: Step
    texts: Mapping[str, str]


class Slept(NamedTuple):
    """What one run of sleep did; of a dry run, what it would do."""

    run: int = 0             # number of the event that began it; 0: nothing was written
    passes: tuple[Done, ...] = ()
    stopped: str = ""        # why it ended early; the next run goes on there
    plan: tuple[Planned, ...] = ()
    retired: tuple[str, ...] = ()    # memories that count no longer

    @property
    def steps(self) -> int:
        """How many things were changed."""
        return sum(done.steps for done in self.passes)


class Note(NamedTuple):
    """Where an unfinished run stopped."""

    run: int = 0
    reached: str = ""        # the pass
    space: str = ""
    after: str = ""          # the last id


class Wish(NamedTuple):
    """What a run is asked to do."""

    passes: tuple[str, ...]
    dry: bool = False
    within: float | None = None          # seconds
    afresh: bool = False                 # look at all pairs again, not only at what is new
    yielding: bool = False               # stop as soon as somebody takes a turn
    patience: float = PATIENCE           # seconds that somebody else who settles is waited for
    merge_text: pairs.MergeText | None = None
    going: Callable[[], bool] = lambda: True


@dataclass(slots=True)
class Run:
    """A run at work."""

    work: Work
    wish: Wish
    holder: str
    now: Callable[[], float]
    number: int = 0
    begun: float = field(default_factory=clock.ticks)
    renewed: float = field(default_factory=clock.ticks)
    stopped: str = ""
    reached: tuple[str, str, str] = ("", "", "")    # pass, space, id
    plan: list[Planned] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    grounds: dict[tuple[str, bool], Ground] = field(default_factory=dict)
    settled: frozenset[frozenset[str]] = frozenset()

    def going(self) -> bool:
        """Whether to go on; keeps the lease."""
        if not self.stopped:
            self.stopped = self.hindrance()
        return not self.stopped

    def hindrance(self) -> str:
        """What forbids to go on, "" if nothing does."""
        if not self.wish.going():
            return "it was told to stop"
        ticks = clock.ticks()
        if self.wish.within is not None and ticks - self.begun > self.wish.within:
            return "its time was over"
        if self.wish.dry or (ticks - self.renewed < RENEW and not self.wish.yielding):
            return ""
        if self.wish.yielding and self.work.store.events(after=self.number, verbs=("turn",), limit=1):
            return "somebody is at work"
        if ticks - self.renewed >= RENEW:
            self.renewed = ticks
            note(self)
            if not self.work.store.acquire(LEASE, self.holder, LEASE_SECONDS, self.now()):
                return "somebody else is settling"
        return ""


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """Passes by name, in their order; all of them for none."""
    wanted = tuple(names)
    if unknown := [name for name in wanted if name not in PASSES]:
        raise BadInput(f"There is no pass {unknown[0]!r} of sleep; there are {', '.join(PASSES)}")
    return tuple(name for name in PASSES if name in wanted) if wanted else tuple(PASSES)


def sleep(work: Work, wish: Wish, holder: str, now: Callable[[], float]) -> Slept:
    """Go through the passes, or, with `dry`, tell what they would do. Waits a while for somebody else at work."""
    run = Run(work, wish, holder, now)
    if wish.dry:
        return Slept(passes=tuple(through(run, name, ("", "")) for name in wish.passes), plan=tuple(run.plan))
    if not taken(run):
        return Slept(stopped="somebody else is settling")
    try:
        return night(run)
    finally:
        work.store.release(LEASE, holder)


def taken(run: Run) -> bool:
    """Take the lease, waiting a while for whoever has it. A worker that only waits for work gives way.

    It keeps the lease so that no second worker is started; when it finds it taken, it leaves.
    """
    store, end = run.work.store, clock.ticks() + run.wish.patience
    while not store.acquire(LEASE, run.holder, LEASE_SECONDS, run.now()):
        if clock.ticks() > end:
            return False
        if not work_left(run.work) and (other := store.holder(LEASE, run.now())):
            store.release(LEASE, other)
        else:
            clock.sleep(0.1)
    return True


def night(run: Run) -> Slept:
    """One run from its beginning, or from where the last one stopped, to its end."""
    store = run.work.store
    old = noted(run)
    run.number = old.run or store.append([Event(
        "sleeping", SPACELESS, run.work.now, payload={"passes": list(run.wish.passes)})])[0]
    done: list[Done] = []
    for name in run.wish.passes[run.wish.passes.index(old.reached) if old.reached else 0:]:
        if not run.going():
            break
        done.append(through(run, name, (old.space, old.after) if name == old.reached else ("", "")))
    slept = Slept(run.number, tuple(done), run.stopped, retired=tuple(run.retired))
    if run.stopped:
        note(run)
    else:
        end(run, slept)
    return slept


def end(run: Run, slept: Slept) -> None:
    """Write down that the run is over."""
    store = run.work.store
    stats = store.stats()
    with store.alone():
        store.append([Event("slept", SPACELESS, run.now(), payload={
            "run": run.number, "passes": {done.name: done.skipped or done.steps for done in slept.passes}})])
        store.set_meta(NOTE, "")
        store.set_meta(SLEPT_AT, repr(run.work.now))
        store.set_meta(SLEPT_COUNT, str(stats.memories + stats.retired))


def noted(run: Run) -> Note:
    """Where the last run stopped, if it was asked for the same."""
    kept = json.loads(run.work.store.meta(NOTE) or "null")
    return Note(*kept["at"]) if kept and kept["passes"] == list(run.wish.passes) else Note()


def note(run: Run) -> None:
    """Keep how far the run has come."""
    run.work.store.set_meta(NOTE, json.dumps({"passes": run.wish.passes, "at": [run.number, *run.reached]}))


def through(run: Run, name: str, at: tuple[str, str]) -> Done:
    """One pass over everything that it concerns, from where it stopped."""
    begin = clock.ticks()
    run.reached = (name, *at)
    steps, skipped = OVER[PASSES[name].over](run, name, at)
    return Done(name, steps, clock.ticks() - begin, skipped)


def spaces(run: Run, since: str) -> Iterator[str]:
    """The spaces in which memory is on, from this one on."""
    for space in sorted(run.work.store.stats().spaces):
        if space >= since and not run.work.settings.is_off(space):
            if not run.going():
                return
            yield space


# Batches


def commit(run: Run, name: str, space: str, items: Sequence[Pair] | Sequence[str],
           show: Callable[[Run, Sequence[Pair] | Sequence[str]], View],
           decide: Callable[[View], list[Step]]) -> int:
    """Show a pass these items and make its steps so; in halves, if that is too much for one transaction."""
    for _ in range(ANEW):
        view = show(run, items)
        steps = allowed(run, decide(view))
        if sum(len(step.changes) for step in steps) > MOST and len(items) > 1:
            half = len(items) // 2
            return (commit(run, name, space, items[:half], show, decide)
                    + commit(run, name, space, items[half:], show, decide))
        run.reached = (name, space, last_of(items[-1]))
        if made(run, name, space, steps, view):
            return len(steps)
    return 0    # somebody alters these all the time: the next run will see


def last_of(item: Pair | str) -> str:
    """What an item is found again by when the run goes on: pairs are in the order of their newer memory."""
    return item.other if isinstance(item, Pair) else item


def allowed(run: Run, steps: list[Step]) -> list[Step]:
    """Without what a person has brought back from the archive: it stays."""
    return [step for step in steps if not any(
        isinstance(change, Retire) and change.why == "faded" and brought_back(run, change.id)
        for change in step.changes)]


def brought_back(run: Run, id: str) -> bool:
    """Whether it was in the archive before."""
    return any(record.op == "revise" and record.before.get("retired_why") == "faded"
               for record in run.work.store.history(id))


def made(run: Run, name: str, space: str, steps: Sequence[Step], view: View) -> bool:
    """Make the steps so in one transaction; False if what they rest on was altered."""
    if run.wish.dry:
        run.plan += [Planned(name, step, texts_of(view, step)) for step in steps]
        return True
    if not steps:
        return True
    store, ids = run.work.store, sorted({id for step in steps for id in step.rests_on})
    with store.alone():
        there = {memory.id: memory for memory in store.get(ids)}
        if any(view.memories.get(id, memory) != memory for id, memory in there.items()):
            return False
        if not same_edges(run, view, ids):
            return False
        whole = [step for step in steps if all(id in there for id in step.rests_on)]    # the others were erased
        store.apply([change for step in whole for change in step.changes], Event("sleep", space, run.work.now, payload={
            "run": run.number, "pass": name, "pairs": [list(step.ruling) for step in whole if step.ruling]}))
        note(run)
    run.retired += [change.id for step in whole for change in step.changes if isinstance(change, Retire)]
    return True


def same_edges(run: Run, view: View, ids: Sequence[str]) -> bool:
    """Whether the edges of these memories are as the pass saw them."""
    asked = set(ids)
    rels = tuple({rel for _, rel, _ in view.edges}) or ("none",)
    seen = {ends: weight for ends, weight in view.edges.items() if not asked.isdisjoint(ends[::2])}
    return seen == told(run.work.store.edges(ids, rels))


def texts_of(view: View, step: Step) -> dict[str, str]:
    """What the memories of a step say."""
    added = {change.memory.id: change.memory.text for change in step.changes if isinstance(change, Add)}
    ids = {*step.rests_on, *(change.id for change in step.changes if isinstance(change, (Revise, Retire)))}
    return {id: view.memories[id].text for id in ids if id in view.memories} | added


def in_steps(run: Run, name: str, space: str, steps: Iterable[Step], view: View) -> int:
    """Make steps so that do not bear on one another, MOST at a time."""
    done, rest = 0, iter(steps)
    run.reached = (name, space, "")
    while run.going() and (some := list(islice(rest, MOST))):
        if made(run, name, space, some, view):
            done += len(some)
    return done


# What passes go over


def view_of(run: Run, ids: Iterable[str], rels: Sequence[str] = OTHERS) -> View:
    """Memories that count, where memory is on, with their edges, for a pass to see."""
    wanted = sorted(set(ids))
    there = {memory.id: memory for memory in run.work.store.get(wanted)
             if memory.active and not run.work.settings.is_off(memory.space)}
    return View(run.work.now, there, told(run.work.store.edges(list(there), rels)), settled=run.settled)


def over_pairs(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over pairs that lie close, of which one at least is new to it."""
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    row, mark = PASSES[name], Watermark.read(run.work, name, run.wish.afresh)
    run.settled = settled_pairs(run.work.store)
    decide = row.decide or merging_with(run.wish.merge_text)
    steps, newest = 0, dict(mark.newest)
    for space in spaces(run, at[0]):
        ground = surveyed(run.work, space, mark, run.grounds, run.going)
        newest[space] = ground.newest
        rest = iter(ground.pairs(row.floor, at[1] if space == at[0] else ""))
        while run.going() and (some := list(islice(rest, PAIRS))):
            steps += commit(run, name, space, some, pair_view, decide)
    if not run.wish.dry and not run.stopped:
        Watermark(run.work.model, run.work.now, newest).write(run.work, name)
    return steps, ""


def merging_with(merge_text: pairs.MergeText | None) -> Callable[[View], list[Step]]:
    """The pass that merges, with what may write a text that holds two."""
    return lambda view: pairs.merge(view, merge_text, clock.new_id)


def pair_view(run: Run, some: Sequence[Pair] | Sequence[str]) -> View:
    """Pairs with all that judging them takes."""
    close = [pair for pair in some if isinstance(pair, Pair)]
    view = view_of(run, (id for pair in close for id in (pair.one, pair.other)))
    return view._replace(pairs=close, wordings=wordings_of(run.work.store, set(view.memories)))


def over_memories(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """A pass over single memories, newest first."""
    steps, decide = 0, PASSES[name].decide
    assert decide is not None
    for space in spaces(run, at[0]):
        for page in pages(run, Filter(spaces=(space,), limit=PAGE, after=at[1] if space == at[0] else "")):
            if run.going():
                steps += commit(run, name, space, [memory.id for memory in page], memory_view, decide)
    return steps, ""


def memory_view(run: Run, some: Sequence[Pair] | Sequence[str]) -> View:
    """Memories without their edges: fading asks for none."""
    there = run.work.store.get([id for id in some if isinstance(id, str)])
    return View(run.work.now, {memory.id: memory for memory in there if memory.active})


def pages(run: Run, where: Filter) -> Iterator[list[Memory]]:
    """Everything that fits, page by page."""
    while page := run.work.store.browse(where):
        yield page
        where = where._replace(after=page[-1].id)


def over_tags(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Tags of a space that mean the same; then edges of tags that nobody carries."""
    from reverie.lifecycle.sleep import tags
    steps = 0
    for space in spaces(run, at[0]):
        instead = tags.variants(run.work.store.tags((space,)))
        for tag in instead:
            for page in pages(run, Filter(spaces=(space,), tags=(tag,), limit=PAGE)):
                steps += commit(run, name, space, [memory.id for memory in page], tag_view,
                                lambda view, instead=instead: tags.retagged(view, instead))    # type: ignore[misc]
    return steps + orphans(run, name), ""


def tag_view(run: Run, some: Sequence[Pair] | Sequence[str]) -> View:
    """Memories with the edges of their tags."""
    return view_of(run, (id for id in some if isinstance(id, str)), ("has_tag",))


def orphans(run: Run, name: str) -> int:
    """Edges of tags that no memory carries, whether it counts or not."""
    from reverie.lifecycle.sleep import tags
    store, steps = run.work.store, 0
    for page in every_edge(run):
        edges = told(edge for edge in page if any(end.startswith(tags.TAG) for end in (edge.src, edge.dst)))
        ids = sorted({end for src, _, dst in edges for end in (src, dst) if not end.startswith(tags.TAG)})
        there = {memory.id: memory for memory in store.get(ids)}
        dead = tags.orphans(there, edges, lambda node: bool(store.edges([node], ("has_tag",))))
        steps += in_steps(run, name, SPACELESS, dead, View(run.work.now, there))
    return steps


def every_edge(run: Run) -> Iterator[list[Edge]]:
    """All edges, page by page."""
    after = ("", "", "")
    while run.going() and (page := run.work.store.every_edge(after, PAGE)):
        yield page
        after = page[-1][:3]


def over_events(run: Run, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """What turns were given together since the last run."""
    from reverie.lifecycle.sleep import links
    store, reader = run.work.store, "sleep.links"
    after = 0 if run.wish.afresh else store.cursor(reader)
    events = list(turns(run, after))
    met = links.together(events)
    view = view_of(run, (id for pair in met for id in pair), ("relates_to", "supersedes", "contradicts"))
    steps = in_steps(run, name, SPACELESS, links.strengthened(view, met), view)
    if events and not run.wish.dry and not run.stopped:
        store.advance(reader, events[-1].seq)
    return steps, ""


def turns(run: Run, after: int) -> Iterator[Event]:
    """Turns that were given something, without their messages."""
    while page := run.work.store.events(after=after, verbs=("turn",), limit=PAGE):
        after = page[-1].seq
        yield from (event._replace(payload={"given": event.payload.get("given", ())}) for event in page)


def over_clusters(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Clusters of each space: found anew, or the small ones joined to others."""
    from reverie.lifecycle.sleep import clusters
    from reverie.settle.grouping import regrouped, tidied
    if not run.work.embedder:
        return 0, "there is no embedder, and so nothing lies close"
    if name == "recluster" and not clusters.available():
        return 0, "scikit-learn is not installed; get it with: pip install 'reverie[sleep]'"
    steps = 0
    for space in spaces(run, at[0]):
        view, wanted = (regrouped if name == "recluster" else tidied)(run.work, space, run.going)
        steps += in_steps(run, name, space, wanted, view)
    return steps, ""


def over_log(run: Run, name: str, _at: tuple[str, str]) -> tuple[int, str]:
    """What was left undone: events that could not be learned from, texts without a vector."""
    return (retried if name == "retro" else backfill)(run.work, run.wish.dry), ""


OVER: dict[str, Callable[[Run, str, tuple[str, str]], tuple[int, str]]] = {
    "pairs": over_pairs, "memories": over_memories, "tags": over_tags, "events": over_events,
    "clusters": over_clusters, "log": over_log,
}
