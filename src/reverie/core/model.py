"""The nouns. Read this first.

A `Memory` is one thing worth knowing later; an `Event` is something that happened; an `Edge` says
that thinking of one memory may bring up another; a `Hit` is a memory that search found, with the
reason. A `Change` is the only way anything is altered: clever code returns changes, `store.apply`
makes them so.

All are frozen: a change makes a new value and the store keeps the history. Times are seconds since
1970 (UTC). A space is a path, `me/project/session`; whoever reads in a space sees it and its
ancestors, never a sibling.

They are named tuples rather than dataclasses because a hook or a command line waits for these
imports: `dataclasses` brings `inspect` with it, and thirteen classes cost as much again (18 of 70
ms to the first hit of a cold process). Give fields by name all the same.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

# Who said so, and how far we believe it at birth.
TRUST_BY_PROVENANCE: dict[str, float] = {
    "user_corrected": 1.0,  # the user put us right
    "user_stated": 0.95,  # the user said so
    "observed": 0.8,  # an agent saw it happen, or was told to keep it
    "extracted": 0.7,  # taken out of a finished conversation
    "inferred": 0.5,  # concluded; nobody said it
    "untrusted": 0.3,  # others wrote it: a tool's result, a page, a file, a line of a shared file
}
UNTRUSTED = "untrusted"
# Kind and provenance of a passage of a past conversation: it was said, nobody vouches for it.
SAID = "said"


# Values by name: of a record, an event's payload, a memory's details.
Fields = Mapping[str, Any]
EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType(
    {}
)  # one empty mapping for all who have no details


class Reinforcement(NamedTuple):
    """One more time that the same thing was said or proved useful: where and when."""

    session: str
    at: float
    message: int | None = None


class Memory(NamedTuple):
    """One thing worth knowing later. A change makes a new value; the store keeps the history."""

    id: str  # "mem_…", sorts by the moment it was made
    text: str
    space: str  # who may see it: "me/project"
    at: float  # when it happened or was said
    created_at: float  # when we first wrote it down
    updated_at: float
    kind: str = "fact"  # a row of kinds.KINDS, which knows its memory type
    title: str = ""  # a short description, shown in hints
    tags: tuple[str, ...] = ()

    session: str = ""  # the conversation it came from
    speaker: str = ""  # who said it
    # first and last message of that conversation it rests on
    messages: tuple[int, int] | None = None
    files: tuple[str, ...] = ()  # the files it is about
    provenance: str = "observed"  # a key of TRUST
    triggers: tuple[str, ...] = ()  # patterns that call it up when they meet the context
    details: Mapping[str, Any] = EMPTY_MAPPING  # what its kind needs beyond text; JSON

    trust: float = TRUST_BY_PROVENANCE[
        "observed"
    ]  # how far its source is believed, 0..1; never changes by use
    # how far it is believed now, 0..1; use raises it, rejection lowers it
    confidence: float = TRUST_BY_PROVENANCE["observed"]
    salience: float = 0.5  # how much it mattered at birth, 0..1
    strength: int = 1  # how often it was said or confirmed
    access_count: int = 0  # how often it was used
    reinforcements: tuple[Reinforcement, ...] = ()

    last_accessed_at: float | None = None  # when it last proved useful
    valid_from: float | None = None  # from when on it is true in the world; None: always was
    valid_to: float | None = None  # until when it was true; None: still is
    expires_at: float | None = None  # when it stops surfacing by itself; None: never

    retired_at: float | None = None  # None means it still counts
    retired_why: str = ""  # "forgotten", "superseded", "expired", "merged", …
    superseded_by: str | None = None
    conflicts_with: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """True if the memory still counts; a retired one is kept and can be brought back."""
        return self.retired_at is None

    @property
    def sources(self) -> tuple[str, ...]:
        """Every conversation that said it, in order, each once."""
        sessions = (self.session, *(again.session for again in self.reinforcements))
        return tuple(dict.fromkeys(session for session in sessions if session))


class Edge(NamedTuple):
    """A link: thinking of `src` may bring up `dst`. A pair has at most one edge per relation."""

    src: str
    rel: str  # a member of RELATIONS
    dst: str  # a memory's id, or "tag:…", "cluster:…", "file:…", "symbol:…"
    weight: float = 1.0  # above 0, at most 1


RELATIONS = (
    "has_tag",
    "in_cluster",
    "relates_to",
    "supersedes",
    "contradicts",
    "derived_from",
    "about",
    "resembles",
    "led_to",
    "depends_on",
)
# What holds as long as its end does.
DEPENDS_ON = "depends_on"
# Relations between two memories.
MEMORY_RELATIONS = (
    "relates_to",
    "supersedes",
    "contradicts",
    "derived_from",
    "resembles",
    "led_to",
    "depends_on",
)
# Pairs with these relations wait for a decision as long as both memories count; `resembles` says
# that two may mean the same.
UNDECIDED_RELATIONS = ("contradicts", "resembles")

# The verb of an event that says what a tag means; its payload has "tag" and "text".
DESCRIBE_VERB = "describe"


class Event(NamedTuple):
    """Something that happened. Append-only; `seq` is given by the store."""

    verb: str  # "remember", "turn", "prepared", "forget", "tool", …
    space: str
    at: float
    session: str = ""
    payload: Mapping[str, Any] = EMPTY_MAPPING  # JSON, already free of secrets
    seq: int = 0


_OWN_VERBS = """
remember import hinted shared synced pushed received retrieve revise tag describe link
supersede feedback outcome forget restore undo purge scrub review curate fired done cancel
snooze mirror folder heard used prepared feel season left learn gather summary extract answer
reconcile weigh maintain llm failed sleeping sleep slept commit remedy anchor trial depend
doubt guard tighten
"""
# Verbs of events by which Reverie records what it did and decided; nobody else may write them.
OWN_VERBS = frozenset(_OWN_VERBS.split())
# Of those the ones by which another version of a memory is taken in: that of a page of the mirror,
# and that of the team's server.
MIRRORED, PULLED = "mirror", "synced"


class Add(NamedTuple):
    """A memory that was not there before."""

    memory: Memory


class Revise(NamedTuple):
    """Other values for some fields of a memory; `fields` are names of Memory's fields."""

    id: str
    fields: Mapping[str, Any]


class Retire(NamedTuple):
    """The memory no longer counts. It is kept, can be read by id and brought back."""

    id: str
    at: float
    why: str = "forgotten"
    superseded_by: str | None = None


class Link(NamedTuple):
    """Set this edge; a weight of 0 removes it."""

    edge: Edge


Change = Add | Revise | Retire | Link


class Record(NamedTuple):
    """One line of a memory's history: what an event did to it, and what was there before."""

    event: Event
    op: str  # "add", "revise", "retire", "link"
    memory_id: str
    before: Mapping[str, Any]  # the old values of what changed; empty for "add"
    after: Mapping[str, Any]


class Hit(NamedTuple):
    """A memory that search found.

    `score` is 0..1, higher is better; `why` says how it was found.
    """

    memory: Memory
    score: float
    why: tuple[str, ...] = ()


class Hint(NamedTuple):
    """The light half of two-phase retrieval: enough to decide whether to read the memory."""

    id: str
    title: str
    kind: str
    tags: tuple[str, ...] = ()


class Retrieved(NamedTuple):
    """The heavy half: memories to read, and how many there are in all."""

    memories: list[Memory]
    matched: int

    @property
    def truncated(self) -> bool:
        """True if a limit left some out."""
        return self.matched > len(self.memories)


class Filter(NamedTuple):
    """Which memories to browse. Empty fields do not restrict; `spaces` are exact, no ancestors."""

    spaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    session: str = ""
    active: bool | None = True  # None: also what was retired
    limit: int = 100
    after: str = ""  # the last id of the page before
    without: tuple[str, ...] = ()  # kinds that are left out
    since: float | None = None  # said or happened then or later
    until: float | None = None  # said or happened by then; both ends belong to the range
    having: str = ""  # details that this name stands in
    naming: str = ""  # this text stands somewhere in the details, as a value or a name of its own
    by_time: bool = False  # newest by when it happened, not by when it was written; no pages
    paths: tuple[str, ...] = ()  # files an agent keeps: their `path` in the details is one of these
    below: str = ""  # or: it lies in this folder


def visible_spaces(space: str) -> tuple[str, ...]:
    """The space itself and its ancestors, nearest first: what a reader there may see."""
    parts = space.split("/")
    return tuple("/".join(parts[:count]) for count in range(len(parts), 0, -1))


def is_within(space: str, above: str) -> bool:
    """True if a space is another one or lies in it."""
    return space == above or space.startswith(f"{above}/")


def index_memories(memories: Iterable[Memory]) -> dict[str, Memory]:
    """The memories by their ids."""
    return {memory.id: memory for memory in memories}


def with_fields(memory: Memory, fields: Mapping[str, Any]) -> Memory:
    """The memory with other values in some fields."""
    return memory._replace(**fields)
