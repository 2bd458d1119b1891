"""The kinds of memory, one row each, and how a memory fades.

A kind names its memory type (working, episodic, semantic, procedural, prospective or emotional),
its half-life, and in what it differs from others. No class per type and no store per type: adding a
kind is adding a row, and no other module lists kinds by a trait that they share. A kind that is not
in the table is welcome too: it is custom, behaves like the row CUSTOM_KIND, and keeps its name.

Half-lives are true half-lives: 2^(−age/h), not e^(−age/h).
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.core.model import UNTRUSTED, Memory

DAY = 86_400.0
FOREVER = math.inf
# Kinds that some code is about by themselves.
EXCERPT, FILE, EVENT, NEGATIVE, LEARNING = "excerpt", "file", "event", "negative", "learning"
SESSION = "session"
INTENTION, PENDING, GROUND = "intention", "pending", "ground"
# Whose word a kind takes, each including those behind it.
ANYBODY, AGENT, USER = "anybody", "agent", "user"
# What a kind may be to a turn, by the names of the relevance gate's signals.
MAKING, TROUBLE, QUESTION = "a rule for making", "a lesson for trouble", "a fact for a question"
# The parts of a day in the journal that tell of memories.
JOURNAL_PARTS = ("episodes", "tasks", "decisions", "feelings")
# With what a memory becomes one that says the same.
ANY_KIND, OWN_KIND, NOTHING = "any kind", "its own kind", "nothing"
# What nobody chose to keep: turns as they were said, what a session observed.
SAID, OBSERVED = "said", "observed"


class Kind(NamedTuple):
    """How memories of one kind behave.

    The defaults make an ordinary kind: it fades, surfaces, takes anybody's word, has its line on
    the space's page, goes into a team's file if it is knowledge, and is compared with others.
    """

    name: str
    type: str  # one of MEMORY_TYPES
    half_life: float  # days until its retention halves; FOREVER never fades
    meaning: str  # for people and for models that choose a kind
    contradictable: bool = True  # a newer one about the same subject may replace it
    group: str = "Notes"  # the heading it is rendered under; a new one may be named
    place: float = FOREVER  # of that heading among the others, lowest first; one row of it says so
    surfaces: bool = True  # may pop up by itself
    by_request: bool = False  # is found only by who asks for this kind
    voice: str = ANYBODY  # whose word it takes: what others wrote may describe, and command nobody
    bears_on: tuple[str, ...] = ()  # what it may be to a turn: MAKING, TROUBLE, QUESTION
    urgency: int = 0  # before a tool runs, its triggers call up what is more urgent first
    journal: str = ""  # the member of JOURNAL_PARTS that tells of it; "": none does
    merges_with: str = ANY_KIND  # NOTHING: it is not compared with others at all
    unchosen: str = ""  # raw material, which is not compared: SAID or OBSERVED; "": all was chosen
    capped: bool = True  # archived when a space has more of its type than CAPACITY
    extracted: bool = False  # a language model may give it to what a conversation teaches
    on_pages: bool = True  # has a line in the mirror, if it is not of the moment
    shared: bool = True  # a team's file has it, if it is semantic or procedural


# Of the rows of a group the first is what a line on a page becomes that a person writes under that
# heading. The order is that of the list that a language model chooses from; headings have their own
# (`place`).
KINDS: dict[str, Kind] = {
    row.name: row
    for row in (
        Kind(
            "preference",
            "semantic",
            90,
            "how the user likes things",
            group="Preferences",
            place=5,
            voice=USER,
            bears_on=(MAKING,),
            extracted=True,
            shared=False,
        ),
        Kind(
            "correction",
            "semantic",
            365,
            "the user put us right: what to do or believe instead",
            group="Corrections",
            place=1,
            voice=USER,
            bears_on=(MAKING, TROUBLE),
            urgency=1,
            extracted=True,
        ),
        Kind(
            NEGATIVE,
            "procedural",
            365,
            "something never to do, called up by its trigger patterns",
            contradictable=False,
            group="Never do",
            place=2,
            voice=USER,
            bears_on=(MAKING, TROUBLE),
            urgency=2,
            capped=False,
            extracted=True,
        ),
        Kind(
            "fact",
            "semantic",
            30,
            "how something in this codebase or project is",
            group="Facts",
            place=4,
            bears_on=(QUESTION,),
            unchosen=SAID,
            extracted=True,
        ),
        Kind(
            "knowledge",
            "semantic",
            180,
            "a fact about the user or the world, not about code",
            group="Facts",
            bears_on=(QUESTION,),
            extracted=True,
        ),
        Kind(
            "profile",
            "semantic",
            365,
            "who the user is: role, experience, how they work",
            group="Facts",
            voice=AGENT,
        ),
        Kind(
            "environment",
            "semantic",
            60,
            "the machine and what runs on it: tools, versions, services",
            group="Facts",
        ),
        Kind(
            "decision",
            "semantic",
            180,
            "what was decided, and why",
            group="Decisions",
            place=6,
            voice=AGENT,
            bears_on=(MAKING, QUESTION),
            journal="decisions",
            extracted=True,
        ),
        Kind(
            "entity",
            "semantic",
            60,
            "a person, service, machine or thing, and what it is",
            group="Entities",
            place=7,
            bears_on=(QUESTION,),
            extracted=True,
        ),
        Kind(
            LEARNING,
            "semantic",
            60,
            "a lesson from a mistake or a debugging session",
            group="Learnings",
            place=9,
            voice=AGENT,
            bears_on=(TROUBLE,),
            extracted=True,
        ),
        Kind(
            "capability",
            "semantic",
            180,
            "what the agent itself can and cannot do here, as far as it has found out",
            group="Learnings",
            voice=AGENT,
        ),
        Kind(
            "note",
            "semantic",
            45,
            "anything else worth keeping",
            unchosen=SAID,
        ),
        Kind(
            "observation",
            "semantic",
            7,
            "something concluded, with little certainty",
            unchosen=OBSERVED,
        ),
        Kind(
            FILE,
            "semantic",
            FOREVER,
            "a file that an agent keeps under /memories, whole",
            contradictable=False,
            surfaces=False,
            merges_with=NOTHING,
            on_pages=False,
            shared=False,
        ),
        Kind(
            "procedure",
            "procedural",
            60,
            "how to do something: trigger and ordered steps",
            group="Procedures",
            place=8,
            voice=AGENT,
            bears_on=(MAKING, QUESTION),
            extracted=True,
        ),
        Kind(
            "skill",
            "procedural",
            FOREVER,
            "something the agent can do",
            contradictable=False,
            group="Procedures",
            voice=AGENT,
            bears_on=(MAKING,),
            merges_with=OWN_KIND,
        ),
        Kind(
            EVENT,
            "episodic",
            14,
            "something that happened: who, what, when, where, why",
            contradictable=False,
            group="What happened",
            place=11,
            bears_on=(QUESTION,),
            journal="episodes",
            unchosen=OBSERVED,
            extracted=True,
        ),
        Kind(
            SESSION,
            "episodic",
            30,
            "a session in short: what was asked, done, decided and left open",
            contradictable=False,
            group="Sessions",
            surfaces=False,
            # What was said in it is found word for word; its summary would say it twice.
            by_request=True,
            journal="episodes",
            merges_with=NOTHING,
            unchosen=OBSERVED,
            on_pages=False,
        ),
        Kind(
            GROUND,
            "semantic",
            FOREVER,
            "what another memory names as its reason, too short to say anything by itself",
            contradictable=False,
            surfaces=False,
            # Who finds the memory that gives the reason reads it there.
            by_request=True,
            merges_with=OWN_KIND,
            on_pages=False,
            shared=False,
        ),
        Kind(
            EXCERPT,
            "episodic",
            14,
            "a passage of a conversation that left the context window, word for word",
            contradictable=False,
            group="Earlier in this conversation",
            place=10,
            unchosen=OBSERVED,
            on_pages=False,
        ),
        Kind(
            "task",
            "episodic",
            14,
            "a piece of work and its outcome",
            contradictable=False,
            group="What happened",
            voice=AGENT,
            bears_on=(QUESTION,),
            journal="tasks",
        ),
        Kind(
            INTENTION,
            "prospective",
            FOREVER,
            "something to do later, at a time or in a context",
            contradictable=False,
            group="To do",
            place=3,
            voice=AGENT,
            bears_on=(QUESTION,),
        ),
        Kind(
            "goal",
            "prospective",
            FOREVER,
            "what is being worked towards",
            contradictable=False,
            group="To do",
            voice=AGENT,
        ),
        Kind(
            "feeling",
            "emotional",
            30,
            "how something felt, and how strongly",
            contradictable=False,
            group="Feelings",
            place=12,
            voice=AGENT,
            journal="feelings",
        ),
        Kind(
            "scratch",
            "working",
            1 / 24,
            "the current task's scratch pad: expires within the hour",
            contradictable=False,
            group="Now",
            place=13,
            surfaces=False,
            voice=AGENT,
        ),
    )
}

CUSTOM_KIND = Kind("custom", "semantic", 45, "a kind of somebody's own", voice=AGENT)

MEMORY_TYPES = ("working", "episodic", "semantic", "procedural", "prospective", "emotional")

# How many memories of a type one space holds; of more, sleep archives those with the least
# retention. Room for years of work; a conversation has one working memory anyway.
CAPACITY: dict[str, int] = {
    "working": 100,
    "episodic": 20_000,
    "semantic": 50_000,
    "procedural": 5_000,
    "prospective": 5_000,
    "emotional": 5_000,
}

# Found only by who asks for them: one conversation's scratch pad is no answer to anybody else.
EXPLICIT_KINDS = tuple(
    row.name for row in KINDS.values() if row.type == "working" or row.by_request
)

# These only record what was said and done: a purge blanks in them what it erases, as in the log.
RECORD_KINDS = tuple(row.name for row in KINDS.values() if row.type in ("working", "episodic"))

JOURNAL_KINDS = tuple(row.name for row in KINDS.values() if row.journal)
# What somebody tells as something that happened, as opposed to passages of a conversation.
EPISODE_KINDS = tuple(name for name in JOURNAL_KINDS if KINDS[name].type == "episodic")

# Warnings by profession: their triggers call them up, not the files that they are about.
WARNING_KINDS = tuple(row.name for row in KINDS.values() if row.urgency)

EXTRACTED_KINDS = tuple(row.name for row in KINDS.values() if row.extracted)

# Read by people top-down: what must not be overlooked comes first, what is anything else last.
GROUPS = (
    *sorted(
        dict.fromkeys(row.group for row in KINDS.values() if row.group != CUSTOM_KIND.group),
        key=lambda group: min(row.place for row in KINDS.values() if row.group == group),
    ),
    CUSTOM_KIND.group,
)

MATURITIES = ("raw", "validated", "escalated", "dismissed")
CURATE = "curate"  # in details: the setting that it was written under, if not CURATE_INFERRED
SAID_AGAIN = "said_again"  # in details: a wish that several sessions said, in its own words
# What waits for a review: nothing, what was inferred, whatever a model wrote.
CURATE_NOTHING, CURATE_INFERRED, CURATE_MODEL = "off", "inferred", "model"

INFERRED_HALF_LIFE = 7.0  # days: an inference fades within days whatever its kind says
ACCESS_GAIN = 0.1  # retention gained per e-fold of uses


def kind_of(name: str) -> Kind:
    """The row of that kind; CUSTOM_KIND for one that is not in the table."""
    return KINDS.get(name, CUSTOM_KIND)


def memory_type_of(name: str) -> str:
    """The memory type of a kind."""
    return kind_of(name).type


class KindFilter(NamedTuple):
    """Kinds to search: these or, if there are none, all but those `without`."""

    kinds: tuple[str, ...] = ()
    without: tuple[str, ...] = EXPLICIT_KINDS
    matches_none: bool = False  # no kind is of the wanted types


def to_kind_filter(types: Sequence[str], kinds: Iterable[str]) -> KindFilter:
    """What types and kinds together ask for; without either, everything but what is found
    only by request.
    """
    named = tuple(kinds)
    if not types:
        return KindFilter(named, () if named else EXPLICIT_KINDS)
    if named:
        matching = tuple(kind for kind in named if memory_type_of(kind) in types)
        return KindFilter(matching, (), matches_none=not matching)
    # Custom kinds are semantic and cannot be listed, so then the other types are left out instead.
    if CUSTOM_KIND.type in types:
        return KindFilter(
            (),
            tuple(row.name for row in KINDS.values() if row.type not in types),
        )
    return KindFilter(
        tuple(row.name for row in KINDS.values() if row.type in types),
        (),
    )


def maturity_of(memory: Memory) -> str:
    """How far somebody has reviewed the memory: a member of MATURITIES."""
    if memory.retired_why == "dismissed":
        return "dismissed"
    state = memory.details.get("maturity")
    return state if state in MATURITIES else "raw"


def is_mature(memory: Memory) -> bool:
    """True if the memory may surface without a further review.

    An inference may not until it is met again or approved, and what was passed on to a person waits
    for them. Under CURATE_MODEL only a review helps, unless the user has said the same.
    """
    maturity = maturity_of(memory)
    curate = memory.details.get(CURATE, CURATE_INFERRED)
    if maturity != "raw" or curate == CURATE_NOTHING:
        return maturity in ("raw", "validated")
    if curate == CURATE_MODEL:
        return memory.provenance in ("user_stated", "user_corrected")
    return memory.provenance != "inferred" or memory.strength > 1


def is_pending_intention(memory: Memory) -> bool:
    """True for an intention whose moment has not come: it does not surface by resemblance."""
    return (
        memory.kind == INTENTION
        and memory.details.get("status", PENDING) == PENDING
        and bool(memory.triggers or memory.details.get("when") is not None)
    )


def is_conversation_turn(memory: Memory) -> bool:
    """True for a turn as it was said, as opposed to something that somebody chose to keep."""
    return bool(memory.session and memory.speaker and memory.provenance in ("observed", UNTRUSTED))


def is_unverified(memory: Memory) -> bool:
    """True if others wrote it and nobody has approved it since.

    Excerpts do not count: one comes up only in its own conversation, where it was read already.
    """
    return (
        memory.provenance == UNTRUSTED
        and maturity_of(memory) != "validated"
        and memory.kind != EXCERPT
    )


def half_life_of_kind(name: str) -> float:
    """Days after which a memory of this kind that nobody uses has lost half of its retention."""
    return kind_of(name).half_life


def half_life(memory: Memory) -> float:
    """Days after which the memory's retention halves."""
    days = kind_of(memory.kind).half_life
    if memory.kind == "fact" and "/" not in memory.space:
        days = KINDS["knowledge"].half_life  # a fact about the user, not about one project's code
    # An intention lives until it is done, even one that was inferred.
    if memory.provenance == "inferred" and memory.kind != INTENTION:
        return min(days, INFERRED_HALF_LIFE)
    return days


def retention(memory: Memory, now: float) -> float:
    """How much of the memory is left, 0..1: 2^(−age/half-life) · (1 + 0.1·ln(uses + 1)), at most 1.

    Age counts from when it was said or, later, proved useful. Retention lowers rank; it never
    deletes.
    """
    age = (
        max(
            0.0,
            now - max(memory.at, memory.last_accessed_at or memory.at),
        )
        / DAY
    )
    gain = 1 + ACCESS_GAIN * math.log(memory.access_count + 1)
    left: float = 2.0 ** (-age / half_life(memory)) * gain
    return min(1.0, left)


def effective_confidence(memory: Memory, now: float) -> float:
    """How far the memory is believed at `now`, 0..1: its confidence times its retention.

    Lowers rank and, far down, leads to the archive; the stored confidence stays what it is.
    """
    return memory.confidence * retention(memory, now)
