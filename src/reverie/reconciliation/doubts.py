"""What stood on something that has changed is in doubt, and sound again when that is back.

A memory rests on others by edges `depends_on`. A reader of the log looks at each event that changed
memories: if one of them is the ground of others and was replaced, taken back, reworded, is over,
contradicted by something newer, or speaks of code that has changed, those are marked in their
details (`core.doubt`), and what rests on them, to the end. What a memory rests on decides, not what
was noted before: so a mark goes when the ground comes back, and two processes at it do the same.

Always true: what rests on nothing that changed is never marked. Who looks at a memory and keeps it
(`settle_doubt`) unties it from what has changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.code_anchors import outdated_notice
from reverie.core.doubt import DOUBT, doubt_of, is_in_doubt
from reverie.core.kinds import is_unverified
from reverie.core.model import (
    DEPENDS_ON,
    Change,
    Edge,
    Event,
    Link,
    Memory,
    Record,
    index_memories,
    with_fields,
)
from reverie.memory.detail_changes import drop_details, revise_details
from reverie.pipeline.decided_pairs import UNASKED_VERBS
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.reconciliation.merge_rules import judge_pair, resolve_merged
from reverie.reconciliation.reconcile_reader import load_merge_families
from reverie.reconciliation.shaken_grounds import shakes_ground
from reverie.storage import Store
from reverie.text.stated_reasons import find_claim, find_names, gives_up
from reverie.text.tokenization import shorten_line, tokenize_query

_CHANGING_VERBS = """
remember import shared revise link supersede forget restore undo review curate mirror folder learn
gather extract answer reconcile weigh sleep maintain anchor depend purge outcome
"""
# Verbs of events that may change what others rest on.
CHANGING_VERBS = tuple(_CHANGING_VERBS.split())
# Reasons that went for want of room or use: nothing was said against them.
SILENT_RETIREMENTS = ("merged", "faded", "completed", "replaced")
RETIREMENTS = {
    "forgotten": "was forgotten",
    "dismissed": "was judged wrong",
    "undone": "was taken back",
    "expired": "is over",
}
MAX_QUOTED_CHARS = 80
# More than this share of a ground's words stands in what replaced it unasked.
MIN_SHARED_WORDS = 0.5
# Memories that one change may put in doubt: far more than anybody says reasons for.
MAX_DEPENDENTS = 2_000
# Edges that the search for what is over looks at, and seconds between two such searches.
MAX_TIES = 10_000
CHECK_INTERVAL = 600.0
LAST_CHECK_META = "doubts_looked"


class GroundChange(NamedTuple):
    """What became of a memory that others rest on."""

    at: float
    was: str  # what it said
    became: str  # in words that follow "which"
    quoted: str = ""  # the memory that these words quote


class DependencyView:
    """Memories, edges and histories as they are needed to tell what is in doubt, read once each."""

    def __init__(self, store: Store, now: float) -> None:
        self.store, self.now = store, now
        self.read: dict[str, Memory] = {}  # as they are in the store
        self.memories: dict[str, Memory] = {}  # as they become
        self._histories: dict[str, list[Record]] = {}

    def get(self, ids: Iterable[str]) -> list[Memory]:
        """These memories, as they become; unknown ones are left out."""
        wanted = list(dict.fromkeys(ids))
        missing = [id for id in wanted if id not in self.memories]
        found = index_memories(self.store.get(missing)) if missing else {}
        self.read.update(found)
        self.memories.update(found)
        return [self.memories[id] for id in wanted if id in self.memories]

    def history(self, id: str) -> list[Record]:
        """The changes of a memory, oldest first."""
        if id not in self._histories:
            self._histories[id] = self.store.history(id)
        return self._histories[id]

    def find_change(self, ground: Memory, dependent: str) -> GroundChange | None:
        """What became of a ground since another memory came to rest on it; None if it holds."""
        if not ground.active:
            return self._find_retirement(ground)
        over = next(
            (at for at in (ground.valid_to, ground.expires_at) if at and at <= self.now), None
        )
        if over is not None:
            return GroundChange(over, ground.text, "is over")
        if notice := outdated_notice(ground):
            marks = [one for one in self.history(ground.id) if one.event.verb == "anchor"]
            at = marks[-1].event.at if marks else ground.updated_at
            return GroundChange(at, ground.text, f"was {notice}")
        return self._find_rewording(ground, dependent) or self._find_contradiction(ground)

    def _find_retirement(self, ground: Memory) -> GroundChange | None:
        why = ground.retired_why
        if ground.retired_at is None or why in SILENT_RETIREMENTS:
            return None
        heirs = self.get([ground.superseded_by]) if ground.superseded_by else []
        became = RETIREMENTS.get(why, "no longer counts")
        if heirs:
            if self._was_unasked(ground) and not bears_out(heirs[0], ground):
                return None
            became = f"changed to {quote(heirs[0].text)}"
        quoted = heirs[0].id if heirs else ""
        return GroundChange(ground.retired_at, ground.text, became, quoted)

    def _was_unasked(self, ground: Memory) -> bool:
        """True if nobody decided that a ground counts no longer."""
        retired = [one for one in self.history(ground.id) if one.op == "retire"]
        return bool(retired) and retired[-1].event.verb in UNASKED_VERBS

    def _find_rewording(self, ground: Memory, dependent: str) -> GroundChange | None:
        """The change of a ground's text since it was one, unless it says the same."""
        revisions = [one for one in self.history(ground.id) if "text" in one.before]
        if not revisions:
            return None
        laid = [
            one.event.seq
            for one in self.history(dependent)
            if one.op == "link"
            and one.after.get("rel") == DEPENDS_ON
            and one.after.get("dst") == ground.id
        ]
        since = [one for one in revisions if laid and one.event.seq > laid[-1]]
        if not since:
            return None
        was = str(since[0].before["text"])
        # Another reason for the same is no change of it.
        before, after = (ground._replace(text=find_claim(text)) for text in (was, ground.text))
        if judge_pair(before, after, None, ()).relation == "same" or before == after:
            return None
        return GroundChange(since[-1].event.at, was, f"changed to {quote(ground.text)}")

    def _find_contradiction(self, ground: Memory) -> GroundChange | None:
        """The newer memory that contradicts a ground, as long as nobody has decided."""
        for other in self.get(ground.conflicts_with):
            is_newer = (other.at, other.id) > (ground.at, ground.id)
            if not (other.active and is_newer) or is_unverified(other):
                continue
            # Whether two contradict each other is asked about more often than they do.
            if shakes_ground(other, ground):
                at = max(other.at, other.created_at)
                became = f"is contradicted by {quote(other.text)}"
                return GroundChange(at, ground.text, became, other.id)
        return None

    def find_doubt(self, memory: Memory) -> dict[str, Any] | None:
        """The doubt that a memory is in by what it rests on; None if that holds."""
        edges = [
            edge for edge in self.store.edges([memory.id], (DEPENDS_ON,)) if edge.src == memory.id
        ]
        grounds = self.get(sorted(edge.dst for edge in edges))
        for ground in grounds:
            if change := self.find_change(ground, memory.id):
                return {
                    "since": change.at,
                    "root": ground.id,
                    "by": memory.id,
                    "quotes": sorted({ground.id, change.quoted} - {""}),
                    "change": f"{quote(change.was)} {change.became}",
                    "words": f"its reason was {quote(change.was)}, which {change.became}",
                }
        for ground in grounds:
            doubt = doubt_of(ground)
            if ground.active and doubt and self.is_rooted(doubt, memory.id):
                words = f"its reason was {quote(ground.text)}, in doubt itself: {doubt['change']}"
                quotes = sorted({ground.id, *doubt.get("quotes", ())})
                return {**doubt, "quotes": quotes, "words": words}
        return None

    def is_rooted(self, doubt: Mapping[str, Any], asker: str) -> bool:
        """True if a doubt rests on something that is changed now, and not on the asker itself."""
        root, by = doubt.get("root"), doubt.get("by")
        found = self.get([str(root)])
        if (
            not found
            or by == asker
            or Edge(str(by), DEPENDS_ON, str(root))
            not in {
                edge._replace(weight=1.0) for edge in self.store.edges([str(by)], (DEPENDS_ON,))
            }
        ):
            return False
        return self.find_change(found[0], str(by)) is not None


def bears_out(heir: Memory, ground: Memory) -> bool:
    """True if what took the place of a ground unasked speaks against it, or of the same at least:
    reconciling may be wrong, and what it retired is then one memory; what stood on it are many.
    """
    words, others = set(tokenize_query(ground.text)), set(tokenize_query(heir.text))
    shared = len(words & others) / max(1, len(words))
    if shared > MIN_SHARED_WORDS or shakes_ground(heir, ground):
        return True
    # Of what gives its own reason, too: that is what fell.
    return gives_up(heir.text, find_names(ground.text))


def quote(text: str) -> str:
    """A text as it is quoted: one short line."""
    return f"“{shorten_line(text.strip().rstrip('.。'), MAX_QUOTED_CHARS)}”"


def doubt_what_stood_on(work: WorkContext, event: Event) -> ReaderDecision:
    """The marks of what rests on the memories that an event changed."""
    records = work.store.changes_of(event.seq)
    tied = {
        one.memory_id
        for one in records
        if (one.op == "link" and DEPENDS_ON in (one.after.get("rel"), one.before.get("rel")))
        or (one.op == "revise" and "retired_at" in one.after)
    }
    changed = {one.memory_id for one in records}
    # News that is taken back contradicts nothing any more.
    against = {id for one in work.store.get(sorted(changed)) for id in one.conflicts_with}
    return plan_doubts(work, changed | against, tied)


def plan_doubts(
    work: WorkContext, changed: Iterable[str], tied: Iterable[str] = ()
) -> ReaderDecision:
    """The marks of what rests on memories that changed, and of those that were `tied` anew."""
    view = DependencyView(work.store, work.now)
    moved = tie_to_heirs(view, changed)
    again = set(tied) | {change.edge.src for change in moved}
    waiting = deque(sorted({*changed, *(change.edge.dst for change in moved)}))
    seen: dict[str, None] = {}
    while (waiting or again) and len(seen) < MAX_DEPENDENTS:
        dependents = again
        if waiting:
            grounds = set(waiting)
            waiting.clear()
            edges = work.store.edges(sorted(grounds), (DEPENDS_ON,))
            dependents = again | {edge.src for edge in edges if edge.dst in grounds}
        again = set()
        asked = view.get(sorted(dependents))
        waiting.extend(one.id for one in asked if one.active and mark_memory(view, one))
        seen.update((one.id, None) for one in asked)
    marked = [id for id in seen if view.memories[id] != view.read[id]]
    changes: list[Change] = [*moved]
    changes += [revise_details(view.read[id], view.memories[id].details, work.now) for id in marked]
    # What was only read may change meanwhile: then its own event is looked at as well.
    return ReaderDecision(changes, [view.read[id] for id in marked])


def tie_to_heirs(view: DependencyView, changed: Iterable[str]) -> list[Link]:
    """What rests on a memory that was merged rests on the one that stands for it, too."""
    merged = [memory for memory in view.get(sorted(changed)) if memory.retired_why == "merged"]
    if not merged:
        return []
    known = load_merge_families(view.store, merged)
    links = []
    for edge in view.store.edges([memory.id for memory in merged], (DEPENDS_ON,)):
        ends = [resolve_merged(known, id) if id in known else None for id in (edge.src, edge.dst)]
        src, dst = (
            heir.id if heir else id for heir, id in zip(ends, (edge.src, edge.dst), strict=True)
        )
        if src != dst and (src, dst) != (edge.src, edge.dst):
            links.append(Link(edge._replace(src=src, dst=dst)))
    present = set(view.store.edges([link.edge.src for link in links], (DEPENDS_ON,)))
    return [link for link in dict.fromkeys(links) if link.edge not in present]


def mark_memory(view: DependencyView, memory: Memory) -> bool:
    """Note in the view what doubt a memory is in; True if that was otherwise before."""
    doubt = view.find_doubt(memory)
    if doubt == (dict(doubt_of(memory)) or None):
        return False
    details = drop_details(memory.details, DOUBT)
    if doubt is not None:
        details[DOUBT] = doubt
    view.memories[memory.id] = with_fields(memory, {"details": details})
    return True


def settle_doubt(store: Store, memory: Memory, now: float) -> tuple[Memory, list[Change]]:
    """A memory that somebody has looked at and keeps, and the changes: it rests no longer on what
    has changed.
    """
    if not is_in_doubt(memory):
        return memory, []
    view = DependencyView(store, now)
    changes: list[Change] = [
        Link(edge._replace(weight=0.0))
        for edge in store.edges([memory.id], (DEPENDS_ON,))
        if edge.src == memory.id
        for ground in view.get([edge.dst])
        if is_in_doubt(ground) or view.find_change(ground, memory.id)
    ]
    kept = memory._replace(details=drop_details(memory.details, DOUBT))
    return kept, [revise_details(memory, kept.details, now), *changes]


def check_grounds_if_due(work: WorkContext) -> None:
    """Look for grounds whose time is over since the last look: no event tells of that."""
    last = float(work.store.meta(LAST_CHECK_META) or 0.0)
    if 0 <= work.now - last < CHECK_INTERVAL:
        return
    edges = work.store.edges_between((DEPENDS_ON,), (), MAX_TIES)
    grounds = work.store.get(sorted({edge.dst for edge in edges}))
    over = [
        ground
        for ground in grounds
        if any(at and last < at <= work.now for at in (ground.valid_to, ground.expires_at))
    ]
    if over:
        with work.store.transaction():
            decision = plan_doubts(work, [ground.id for ground in over])
            if decision.changes:
                cause = Event("doubt", over[0].space, work.now)
                work.store.apply(decision.changes, cause)
    # Also where there are no edges: to look for them reads all relations.
    work.store.set_meta(LAST_CHECK_META, repr(work.now))


READER = EventReader(
    name="doubt",
    verbs=CHANGING_VERBS,
    verb="doubt",
    decide=doubt_what_stood_on,
)
