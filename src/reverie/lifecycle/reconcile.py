"""A new memory meets those that are there: what is merged, what steps back, what is shown to a person.

Pure: a `Ledger` takes memories as they are and says what they become; `Ledger.changes` is all that differs.

- The same said again makes the older memory stronger; the new wording steps back ("merged") and stays readable by id.
- Of two that contradict each other a correction by the user wins, then the better source, then what was said later
  (A83–A85); where that is not sure, or the newer one comes from a weaker source, both stay and are flagged (A86).
- What is nearly the same is tied to its nearest relative by `resembles`, for a person, a model or sleep to decide.

Always true: nothing is lost (every wording and every loser is kept and can be restored); a memory that no longer
counts, has expired or is not yet true takes no part; a merged one points to one that counts, so there are no circles;
what a person has decided about a pair is not decided again (`settled`); doing it twice changes nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reverie.kinds import KINDS, kind_of
from reverie.lifecycle.agreement import WELL_KNOWN
from reverie.lifecycle.change import HELPFUL, MOST_REINFORCEMENTS, contradicting, crumbs
from reverie.lifecycle.compare import RELATIONS, Verdict, compare
from reverie.lifecycle.statement import read
from reverie.model import NOTHING, Change, Edge, Link, Memory, Retire, Revise

TALK = ("fact", "note")          # kinds that turns of a conversation are kept as, with a speaker
RAW = ("observation", "event")   # kinds that are raw material as soon as they come out of a session
LONG = 600            # characters; what is longer is a document, and only the same words are the same
NEAR_DOCUMENT = 0.95  # cosine from which two documents are told to be nearly the same (CONSTANTS: duplicate deep)
SURE_UPDATE = 0.5     # where the new one says itself that it replaces something ("no longer", "instead of")
SURE_CORRECTED = 0.7
"""How sure a plain contradiction must be to let one step back. Only a correction by the user can: it is about something
that was believed. Without one, even verdicts above 0.9 are wrong in one case of seven (bench/reconcile), so they are
flagged."""
TEN = 10              # relatives that a new memory is held against (CONSTANTS: contradiction probe)
SURE_BRIDGE = 0.7     # that a new wording says the same as two memories, to make one of these
MOST_RIVALS = 3       # that one memory is held against: a loop of "attempt 5", "attempt 6" must not flood the queue
MOST_ASKED = 8        # wordings of a memory that are held against those of another
MOST_AGREE = 0.75     # share of these that must say the same to make one memory of two
FEW_AGAINST = 0.25    # share that may say otherwise, as readings fail, without keeping two apart that a wording bridges
LEAST_AKIN = 0.5      # share that must be akin at least
MOST_CASES = 3        # open questions that name one memory, but for the first about what is new (CC-87)
NEAR = 0.80           # cosine from which a near-duplicate is shown to a person (CONSTANTS: duplicate on write) …
ALIKE = 0.75          # … or this part of the words of both in common (CONSTANTS row 7: tokens, report)
OPPOSED = ("contradicts", "updates")
DOUBTED = Verdict("contradicts", 0.0, "a correction puts one thing right: what else it contradicts is only flagged")
PARTS = ("steps", "prerequisites", "warnings")    # what is in the details of a procedure besides how it went
OWN = ("triggers", "files", "tags")    # what a memory has of its own, which nobody in another space is told
RETIRED = ("retired_at", "retired_why", "superseded_by")

Pair = frozenset[str]


class Near(NamedTuple):
    """A memory that a new one is held against, and the cosine of the two; None where one has no vector."""

    id: str
    cosine: float | None


class View(NamedTuple):
    """What a new memory is to an older one that counts."""

    old: Memory
    verdict: Verdict
    cosine: float | None


class Ruling(NamedTuple):
    """What was found out about a pair: "same", "near", "contradicts" or "updates"."""

    new: str
    old: str
    relation: str


# Who takes part


def takes_part(memory: Memory, now: float) -> bool:
    """Whether a memory is held against others: lasting knowledge, and how things are done, that counts and is true now.

    Turns of talk do not: two people who say "thanks" are two events. Nor does what happened, what is to be done, how
    something felt.
    """
    return (memory.active and kind_of(memory.kind).type in ("semantic", "procedural") and not is_talk(memory)
            and (memory.expires_at is None or memory.expires_at > now)
            and (memory.valid_from is None or memory.valid_from <= now)
            and (memory.valid_to is None or memory.valid_to > now))


def is_talk(memory: Memory) -> bool:
    """Whether it is a turn of a conversation, or what was seen in one: nothing that somebody chose to keep."""
    return bool(memory.session and memory.provenance == "observed"
                and ((memory.speaker and memory.kind in TALK) or memory.kind in RAW))


def above(old: Memory, new: Memory) -> bool:
    """Whether the old one lies in a space that contains the new one's."""
    return new.space.startswith(f"{old.space}/")


def may_merge(old: Memory, new: Memory) -> bool:
    """Whether the new one, if it says the same, may become one with the old.

    Within a space, kinds that both hold lasting knowledge may meet; else kinds must be equal. A memory of a project may
    strengthen one of the user's own that is believed as firmly and has all that it has; never the other way round, for
    whoever asks in another project could not see it any more (CC-55, X15).
    """
    if old.space != new.space and not (above(old, new) and old.trust >= new.trust and old.kind == new.kind
                                       and covers(old, new)):
        return False
    if (old.valid_from, old.valid_to) != (new.valid_from, new.valid_to) or not same_steps(old, new):
        return False
    return old.kind == new.kind or all(m.kind in KINDS and kind_of(m.kind).type == "semantic" for m in (old, new))


def covers(old: Memory, new: Memory) -> bool:
    """Whether a memory elsewhere is called up by all that calls the new one up, and for as long."""
    return old.expires_at == new.expires_at and all(set(getattr(new, name)) <= set(getattr(old, name)) for name in OWN)


def same_steps(old: Memory, new: Memory) -> bool:
    """Whether two procedures do the same; of other memories the text says it all, whatever is told about them."""
    return meaning(old) == meaning(new)


def meaning(memory: Memory) -> dict[str, object]:
    """The details that bear on what is meant: the parts of a procedure, as far as it has some."""
    found = {name: memory.details.get(name) for name in PARTS} if memory.kind == "procedure" else {}
    return {name: value for name, value in found.items() if value}


def worth_a_look(old: Memory, new: Memory, cosine: float | None) -> bool:
    """Whether a person is asked about two that nearly say the same: close, about the same, and of one type.

    How to do something and what never to do are never the same, however much alike they sound.
    """
    if kind_of(old.kind).type != kind_of(new.kind).type or {old.kind, new.kind} == {"procedure", "negative"}:
        return False
    mine, theirs = ((said := read(memory.text)).pro | said.con for memory in (old, new))
    shared = len(mine & theirs)
    return shared > 0 and ((cosine or 0.0) >= NEAR or shared >= ALIKE * len(mine | theirs))


# What becomes of two


def absorbed(kept: Memory, gone: Memory, now: float) -> Memory:
    """The memory that stays when another one said the same: stronger, believed as the better of both (A78–A81).

    Of a memory of a narrower space only that it was said is taken over, and not in which session: the rest is nobody
    else's business.
    """
    own = kept.space == gone.space
    better = gone if own and gone.trust > kept.trust else kept
    lasting = gone.kind if own and kind_of(gone.kind).half_life > kind_of(kept.kind).half_life else kept.kind
    stronger = kept._replace(
        strength=kept.strength + gone.strength,
        reinforcements=(*kept.reinforcements, *crumbs(gone, kept.space))[-MOST_REINFORCEMENTS:],
        confidence=min(1.0, max(kept.confidence, gone.confidence if own else 0.0) + HELPFUL),
        last_accessed_at=max(kept.last_accessed_at or kept.at, gone.at), updated_at=now)
    if not own:
        return stronger
    return stronger._replace(
        trust=better.trust, provenance=better.provenance, kind=lasting, salience=max(kept.salience, gone.salience),
        access_count=kept.access_count + gone.access_count, title=kept.title or gone.title,
        tags=both(kept.tags, gone.tags), files=both(kept.files, gone.files),
        triggers=both(kept.triggers, gone.triggers), details={**gone.details, **kept.details},
        expires_at=None if kept.expires_at is None or gone.expires_at is None
        else max(kept.expires_at, gone.expires_at))


def both(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """All of both lists, each once."""
    return tuple(dict.fromkeys((*one, *other)))


def retired(memory: Memory, now: float, why: str, newer: str) -> Memory:
    """The memory when another one stands for it."""
    return memory._replace(retired_at=now, retired_why=why, superseded_by=newer)


def judged(old: Memory, new: Memory, cosine: float | None, wordings: Sequence[str]) -> Verdict:
    """What the new one is to the old. Statements are compared; of a document only a repetition can be told."""
    if max(len(old.text), len(new.text)) <= LONG:
        return compare(old, new, cosine, wordings=[text for text in wordings if len(text) <= LONG])
    if plain(new.text) in map(plain, (old.text, *wordings)):
        return Verdict("same", 1.0, "the same words")
    return Verdict("near" if (cosine or 0.0) >= NEAR_DOCUMENT else "apart", cosine or 0.0, "nearly the same document")


def stronger(old: Memory, new: Memory, at: float) -> Memory | None:
    """Which of two that contradict each other is believed; None where the newer one comes from a weaker source.

    A correction by the user wins over anything else, then the source that is believed more; of equals what was said
    later, where `at` is when the new one was said (last) (A83–A86, CC-57).
    """
    ranks = [(m.provenance == "user_corrected", m.trust) for m in (old, new)]
    if ranks[0] != ranks[1]:
        return new if ranks[1] > ranks[0] else None
    return new if at >= old.at else old


def sure(verdict: Verdict, winner: Memory) -> bool:
    """Whether a contradiction is plain enough to let one step back unasked."""
    if verdict.relation == "updates":
        return verdict.confidence >= SURE_UPDATE
    return winner.provenance == "user_corrected" and verdict.confidence >= SURE_CORRECTED


def may_yield(loser: Memory, winner: Memory) -> bool:
    """Whether one may take the other's place: rules and skills never yield, nor anything to what will expire."""
    ends = min((end for end in (winner.expires_at, winner.valid_to) if end is not None), default=None)
    return (kind_of(loser.kind).contradictable and kind_of(winner.kind).contradictable
            and (ends is None or loser.expires_at is not None))


def standing(memories: Mapping[str, Memory], id: str) -> Memory | None:
    """The memory that stands for this one: itself, or what it was merged into, to the end; None if that counts not."""
    seen: set[str] = set()
    memory = memories.get(id)
    while memory and not memory.active and memory.retired_why == "merged" and memory.id not in seen:
        seen.add(memory.id)
        memory = memories.get(memory.superseded_by or "")
    return memory if memory and memory.active else None


class Ledger:
    """Memories as they were and as they become, while one new memory after the other is held against them."""

    def __init__(self, memories: Iterable[Memory], wordings: Mapping[str, Sequence[str]], settled: frozenset[Pair],
                 now: float, cases: Mapping[str, int] = NOTHING) -> None:
        self.before = {memory.id: memory for memory in memories}
        self.after = dict(self.before)
        self.wordings = {id: tuple(texts) for id, texts in wordings.items()}    # further texts of a memory
        self.settled, self.now = settled, now
        self.cases = Counter(cases)       # how many open questions name a memory
        self.rulings: list[Ruling] = []
        self.links: list[Change] = []

    def place(self, id: str, near: Sequence[Near]) -> None:
        """Hold a new memory against its neighbours and note what follows."""
        new = self.after[id]
        if not takes_part(new, self.now):
            return
        nearest = self.nearest(new, near)
        views = self.views(new, nearest)
        same = [view for view in views if view.verdict.relation == "same" and may_merge(view.old, new)]
        akin, stands = {view.old.id for view in views}, new
        if same:
            best = min(same, key=lambda v: (v.old.space != new.space, -v.old.strength, v.old.id))
            stands = self.merge(best.old, new)
            for view in same:
                stands = self.join(stands, view)
            stands = self.look_again(stands, {id: cosine for id, cosine in nearest.items()
                                              if id in akin or self.wordings.get(id)})
        against = [view for view in views if view.verdict.relation in OPPOSED and view.old.id != stands.id]
        against.sort(key=lambda v: -v.verdict.confidence)
        free = [v for v in against[1:] if v.verdict.relation == "updates" or not self.crowded(v.old)]
        rivals = [*against[:1], *free][:MOST_RIVALS]
        for view in sorted(rivals, key=lambda v: self.crowded(v.old)):
            verdict = view.verdict if view is rivals[0] or view.verdict.relation == "updates" else DOUBTED
            self.oppose(self.after[view.old.id], self.after[stands.id], verdict, new.at)
        if not same and self.after[id].active:
            self.report(new, views)

    def nearest(self, new: Memory, near: Sequence[Near]) -> dict[str, float | None]:
        """The neighbours that count, or what they were merged into, and the highest cosine of each."""
        nearest: dict[str, float | None] = {}
        for one in near:
            old = standing(self.after, one.id)
            if old and old.id != new.id and self.comparable(old, new):
                known = nearest.get(old.id)
                nearest[old.id] = one.cosine if known is None else max(known, one.cosine or 0.0)
        return nearest

    def views(self, new: Memory, nearest: Mapping[str, float | None]) -> list[View]:
        """What the new one is to each of these; nearest first."""
        found = []
        for other, cosine in nearest.items():
            old = self.after[other]
            here = old._replace(space=new.space)     # what may follow across spaces is decided here, not there
            verdict = judged(here, new, cosine, self.wordings.get(other, ()))
            if verdict.relation != "apart":
                found.append(View(old, verdict, cosine))
        return sorted(found, key=lambda view: (-(view.cosine or 0.0), view.old.id))

    def comparable(self, old: Memory, new: Memory) -> bool:
        """Whether a pair is worth a look: nobody has decided about it, and the new one sees the old one."""
        return (takes_part(old, self.now) and frozenset((old.id, new.id)) not in self.settled
                and (old.space == new.space or above(old, new)))

    def merge(self, kept: Memory, gone: Memory) -> Memory:
        """The older one takes over what the new one says; the new wording stays readable."""
        stays = self.after[kept.id] = absorbed(kept, gone, self.now)
        self.after[gone.id] = retired(gone, self.now, "merged", kept.id)
        self.rulings.append(Ruling(gone.id, kept.id, "same"))
        said = {plain(text) for text in (kept.text, *self.wordings.get(kept.id, ()))}
        if plain(gone.text) not in said:      # ten thousand times the same words are one wording
            self.links.append(Link(edge=Edge(src=kept.id, rel="derived_from", dst=gone.id)))
        self.wordings[kept.id] = (*self.wordings.get(kept.id, ()), gone.text, *self.wordings.get(gone.id, ()))
        return stays

    def join(self, kept: Memory, view: View) -> Memory:
        """Two that were kept apart become one when a new wording says the same as both, and surely so."""
        other = self.after[view.old.id]
        if (other.id == kept.id or not other.active or view.verdict.confidence < SURE_BRIDGE
                or kept.space != other.space or not may_merge(kept, other) or not self.comparable(kept, other)
                or self.disagree(kept, other, view.cosine)):
            return kept
        return self.merge(kept, other)

    def disagree(self, one: Memory, other: Memory, cosine: float | None) -> bool:
        """Whether two memories, one of them of several wordings, have little to do with each other or contradict each
        other, whoever says the same as both.
        """
        ones, others = self.wordings.get(one.id, ()), self.wordings.get(other.id, ())
        if not ones and not others:
            return False
        said = family_says(one, ones, other, others, cosine)
        return said["same"] + said["near"] < LEAST_AKIN or sum(said[r] for r in OPPOSED) > FEW_AGAINST

    def look_again(self, kept: Memory, nearest: Mapping[str, float | None]) -> Memory:
        """A memory that has just been said once more is known better: what was left beside it may be the same."""
        for id, cosine in nearest.items():
            other = self.after[id]
            if (other.id != kept.id and other.active and kept.space == other.space and may_merge(kept, other)
                    and self.comparable(kept, other) and other.id not in kept.conflicts_with
                    and one_family(kept, self.wordings.get(kept.id, ()), other, self.wordings.get(id, ()), cosine)):
                bigger, smaller = (kept, other) if kept.strength >= other.strength else (other, kept)
                kept = self.merge(bigger, smaller)
        return kept

    def oppose(self, old: Memory, new: Memory, verdict: Verdict, at: float) -> None:
        """One of two that contradict each other steps back, or both are flagged. Elsewhere than here both may be true:

        what holds in one project overrides what the user said for all, and takes nothing from it.
        """
        if old.space != new.space:
            return
        winner = stronger(old, new, at)
        if winner is not None:
            loser = old if winner is new else new
            if sure(verdict, winner) and may_yield(loser, winner):
                self.supersede(loser, winner, verdict)
                return
        self.flag(old, new, verdict)

    def supersede(self, loser: Memory, winner: Memory, verdict: Verdict) -> None:
        """The loser no longer counts; it can be asked about and brought back (A87–A89)."""
        self.after[loser.id] = retired(loser, self.now, "superseded", winner.id)
        self.links.append(Link(edge=Edge(src=winner.id, rel="supersedes", dst=loser.id)))
        self.rulings.append(Ruling(winner.id, loser.id, verdict.relation))

    def flag(self, old: Memory, new: Memory, verdict: Verdict) -> None:
        """Both are kept, and each knows of the other."""
        if (new.id in old.conflicts_with and old.id in new.conflicts_with) or self.enough(old, new):
            return
        self.cases.update((old.id, new.id))
        for change in contradicting(old, new, self.now):
            if isinstance(change, Revise):
                self.after[change.id] = self.after[change.id]._replace(**change.fields)
            else:
                self.links.append(change)
        self.rulings.append(Ruling(new.id, old.id, verdict.relation))

    def report(self, new: Memory, views: Sequence[View]) -> None:
        """Tie it to the nearest of those that say nearly the same (X42, CC-86)."""
        near = [view for view in views if view.verdict.relation in ("near", "same") and view.old.space == new.space
                and self.after[view.old.id].active and worth_a_look(view.old, new, view.cosine)
                and not self.enough(view.old, new)]
        near.sort(key=lambda view: self.crowded(view.old))
        if near:
            self.cases.update((near[0].old.id, new.id))
            weight = near[0].cosine if near[0].cosine is not None else near[0].verdict.confidence
            self.links.append(Link(edge=Edge(src=new.id, rel="resembles", dst=near[0].old.id,
                                             weight=min(1.0, max(0.01, weight)))))
            self.rulings.append(Ruling(new.id, near[0].old.id, "near"))

    def crowded(self, memory: Memory) -> bool:
        """Whether there are questions enough about it."""
        return self.cases[memory.id] >= MOST_CASES

    def enough(self, old: Memory, new: Memory) -> bool:
        """Whether a question about both is one too many. The first about a new memory never is: it must be told."""
        return self.crowded(new) or (self.crowded(old) and self.cases[new.id] > 0)

    def changes(self) -> list[Change]:
        """Everything that has become different, memories first."""
        made = [change for id, after in self.after.items() for change in altered(self.before[id], after)]
        return [*made, *self.links]

    def rests_on(self) -> list[Memory]:
        """The memories, as they were read, that these changes rest on."""
        named = {id for ruling in self.rulings for id in (ruling.new, ruling.old)}
        return [memory for id, memory in self.before.items() if id in named or memory != self.after[id]]


def one_family(one: Memory, ones: Sequence[str], other: Memory, others: Sequence[str], cosine: float | None) -> bool:
    """Whether of two memories the one of fewer wordings says what the other says, in nearly all of them.

    Only where that other is known well enough for its wordings to vote; else the pair was compared as it is.
    """
    known = max(len(ones), len(others)) + 1 >= WELL_KNOWN
    return known and family_says(one, ones, other, others, cosine)["same"] >= MOST_AGREE


def family_says(one: Memory, ones: Sequence[str], other: Memory, others: Sequence[str],
                cosine: float | None) -> dict[str, float]:
    """What share of the wordings of the lesser known of two memories is what to the better known."""
    if len(others) > len(ones):
        one, ones, other, others = other, others, one, ones
    said = (other.text, *others)[:MOST_ASKED]
    count = Counter(judged(one, other._replace(text=text), cosine, ones).relation for text in said)
    return {relation: count[relation] / len(said) for relation in RELATIONS}


def plain(text: str) -> str:
    """A text without letter case and white space."""
    return " ".join(text.lower().split())


def merging(kept: Memory, gone: Memory, now: float) -> list[Change]:
    """The changes that make one memory of two, when a person says so (B134)."""
    return [*altered(kept, absorbed(kept, gone, now)), *altered(gone, retired(gone, now, "merged", kept.id)),
            Link(edge=Edge(src=kept.id, rel="derived_from", dst=gone.id))]


def altered(before: Memory, after: Memory) -> list[Change]:
    """The changes that make one value of a memory into the other."""
    fields = {name: new for name, old, new in zip(Memory._fields, before, after, strict=True) if old != new}
    changes: list[Change] = []
    if before.active and after.retired_at is not None:
        changes.append(Retire(id=after.id, at=after.retired_at, why=after.retired_why,
                              superseded_by=after.superseded_by))
        fields = {name: value for name, value in fields.items() if name not in RETIRED}
    return [Revise(id=after.id, fields=fields), *changes] if fields else changes
