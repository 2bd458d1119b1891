"""What one conversation has been shown, and what may be shown next: plain state and pure rules.

Two sets with different lives. `surfaced` is what was prepared under the present topic: it is not
prepared again until the topic changes or every 50 turns. `injected` is what the agent really was
given: it is not given again for 45 minutes, whatever the topic. Nothing here grows without bound:
both forget with time, and hold MAX_IDS ids at most.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from reverie.context_window import Block
from reverie.core.model import Event, Filter, Record, visible_spaces
from reverie.storage import Store

# Cosine of two contexts below which they look like different topics …
TOPIC_COSINE = 0.3
# … on so many turns in a row: once fires at every short remark.
TOPIC_TURNS = 2
# Turns after which important memories may surface again.
RESET_TURNS = 50
# How long something given counts as still known to the agent.
INJECTED_SECONDS = 45 * 60.0
# How long a prepared block may wait for its turn.
FRESH_SECONDS = 10 * 60.0
# Within this time the same block is not given twice, …
SAME_SECONDS = 90.0
# … nor within this time one that shares SIMILAR_OVERLAP of its ids.
SIMILAR_SECONDS = 180.0
SIMILAR_OVERLAP = 0.8
# Within this time the same context is not looked at twice.
IDENTICAL_SECONDS = 30.0
# Ids remembered per set.
MAX_IDS = 2_000
# Newest memories above a project that are checked for echoes: a fraction of a millisecond.
MAX_ECHOES = 50


class InjectionHistory:
    """The state of one conversation. Only its companion's background thread and `take` touch it.

    No dataclass, as in `core.model`: a hook makes one at every prompt, and waits for its imports.
    """

    def __init__(
        self,
        session: str,
        spaces: tuple[str, ...] = (),
    ) -> None:
        self.session = session
        self.spaces = spaces  # its own and its project's: where its memories lie
        self.turns = 0
        self.judged: int | None = None  # the last turn on which the judge gave an answer
        self.drifting = 0  # turns in a row that looked like another topic
        self.surfaced: OrderedDict[str, float] = OrderedDict()
        self.injected: OrderedDict[str, float] = OrderedDict()
        self.last_given: tuple[frozenset[str], float] = (frozenset(), float("-inf"))
        self.last_context: tuple[str, float] = ("", float("-inf"))
        self.has_new_words = True  # the user has spoken since memory was last searched

    def note_user_words(self) -> None:
        """Note that the user said something: what memory has on it is to be looked for, also if it
        was said before.
        """
        self.has_new_words = True

    def count_turn(self) -> None:
        """Count a turn; every RESET_TURNS turns the ids that surfaced are cleared."""
        self.turns += 1
        if self.turns % RESET_TURNS == 0:
            self.surfaced.clear()

    def note_similarity(self, similarity: float | None) -> bool:
        """Note how similar this context is to the last one; True when the topic has changed."""
        is_other = similarity is not None and similarity < TOPIC_COSINE
        self.drifting = self.drifting + 1 if is_other else 0
        if self.drifting < TOPIC_TURNS:
            return False
        self.drifting = 0
        self.surfaced.clear()
        return True

    def is_repeated_context(self, context: str, now: float) -> bool:
        """True if this context was searched a moment ago, or since the user spoke last; if not, it
        is noted.
        """
        last, at = self.last_context
        is_recent = 0 <= now - at < IDENTICAL_SECONDS
        if context == last and (is_recent or not self.has_new_words):
            return True
        self.last_context, self.has_new_words = (context, now), False
        return False

    def list_blocked_ids(self, now: float) -> set[str]:
        """Ids that are not to be prepared now."""
        gone = [id for id, at in self.injected.items() if not 0 <= now - at < INJECTED_SECONDS]
        for id in gone:
            del self.injected[id]
            self.surfaced.pop(id, None)
        return self.surfaced.keys() | self.injected.keys()

    def mark_prepared(self, block: Block, now: float) -> None:
        """Note that a block waits for the next turn."""
        _remember_ids(self.surfaced, block.ids, now)

    def mark_dropped(self, block: Block) -> None:
        """Note that a block was never given: its memories may be prepared again."""
        for id in block.ids:
            if id not in self.injected:
                self.surfaced.pop(id, None)

    def may_inject(self, block: Block, now: float) -> bool:
        """True if a waiting block is still worth giving: fresh, not just given, and with something
        new in it. What is due is always new.
        """
        ids = frozenset(block.ids)
        if not ids or not 0 <= now - block.prepared_at < FRESH_SECONDS:
            return False
        if block.due:
            return True
        if ids <= self.injected.keys():
            return False
        last, at = self.last_given
        # Negative after the clock jumped back: then nothing was "just" given.
        since = now - at  # negative after the clock jumped back: then nothing was "just" given
        return not (
            (ids == last and 0 <= since < SAME_SECONDS)
            or (compute_overlap(ids, last) >= SIMILAR_OVERLAP and 0 <= since < SIMILAR_SECONDS)
        )

    def mark_injected(self, ids: Sequence[str], now: float) -> None:
        """Note that the agent was given these."""
        _remember_ids(self.injected, ids, now)
        _remember_ids(self.surfaced, ids, now)
        self.last_given = (frozenset(ids), now)


def find_own_memories(store: Store, attention: InjectionHistory) -> frozenset[str]:
    """Memories above a conversation's project that came out of it all the same: it must not hear
    them back.

    In its own spaces its name says enough; above them, a conversation of another project may have
    the same name. Of what was learned the event says where. What was kept by hand is taken for this
    one's if it was kept after its first turn.
    """
    above = visible_spaces(attention.spaces[-1])[1:] if attention.spaces else ()
    if not above:
        return frozenset()
    found = store.browse(
        Filter(
            spaces=above,
            session=attention.session,
            limit=MAX_ECHOES,
        )
    )
    if not found:
        return frozenset()
    begun = store.events(
        session=attention.session,
        space=attention.spaces[0],
        verbs=("turn",),
        limit=1,
    )
    histories = {memory.id: store.history(memory.id) for memory in found}
    own = attention.spaces
    return frozenset(id for id, one in histories.items() if is_from_conversation(one, own, begun))


def resume_history(
    store: Store,
    attention: InjectionHistory,
    space: str,
    now: float,
) -> None:
    """Continue a conversation in a new process: what it was given lately still counts as given."""
    lately = store.events(
        session=attention.session,
        space=space,
        verbs=("turn",),
        newest=True,
        limit=100,
    )
    for event in reversed(lately):
        if event.at <= now and (given := event.payload.get("given")):
            attention.mark_injected(given, event.at)


def is_from_conversation(
    history: Sequence[Record],
    spaces: Sequence[str],
    begun: Sequence[Event],
) -> bool:
    """True if a memory of this session's name came out of the conversation that lies in these
    spaces.
    """
    cause = next((record.event for record in history if record.op == "add"), None)
    if cause is None:
        return False
    if cause.verb == "learn":
        return cause.space in spaces
    return bool(begun) and cause.seq > begun[0].seq


def compute_overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of the smaller set that both hold; 0 if either is empty."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def replaces_waiting_block(
    newer: Block,
    waiting: Block,
    now: float,
) -> bool:
    """True if a newer block takes the place of one that still waits: a similar one does not, while
    that is fresh. One with another reminder does.
    """
    if {memory.id for memory in newer.due} - {memory.id for memory in waiting.due}:
        return True
    is_fresh = 0 <= now - waiting.prepared_at < FRESH_SECONDS
    overlap = compute_overlap(frozenset(newer.ids), frozenset(waiting.ids))
    return not (waiting and is_fresh and overlap >= SIMILAR_OVERLAP)


def _remember_ids(
    ids: OrderedDict[str, float],
    new: Iterable[str],
    now: float,
) -> None:
    for id in new:
        ids[id] = now
        ids.move_to_end(id)
    while len(ids) > MAX_IDS:
        ids.popitem(last=False)
