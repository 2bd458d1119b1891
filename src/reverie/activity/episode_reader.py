"""The reader that turns recorded goals, tasks, steps and tools into episodes, where they matter.

`episodes.EVENTFUL` says what matters. The same reported twice by one conversation is one episode: a
test that fails fifty times is not fifty memories.
"""

from reverie.core import clock
from reverie.core.model import Add, Event, Filter, Memory, visible_spaces
from reverie.memory import episodes
from reverie.memory.memory_validation import build_memory
from reverie.memory.named_period import find_season, stamp_season
from reverie.pipeline.conversation_events import lesson_space_of
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.text.tokenization import fold_text

# Newest episodes of a conversation among which the same one is looked for.
RECENT_EPISODES = 50
NAME = "experience"


def read_experience(work: WorkContext, event: Event) -> ReaderDecision:
    """The episode that a recorded event becomes, if it is one."""
    home = get_event_project(event)
    outcome = (
        None
        if work.settings.is_off(
            home,
            event.session,
        )
        else episodes.read_outcome(event)
    )
    if outcome is None:
        return ReaderDecision()
    memory = stamp_season(
        to_episode_memory(home, event, outcome, work),
        find_season(work.store, visible_spaces(home), work.now),
    )
    lately = work.store.browse(
        Filter(
            spaces=(home,),
            kinds=(outcome.kind,),
            session=event.session,
            limit=RECENT_EPISODES,
        )
    )
    # A test that fails fifty times is not fifty memories.
    known = fold_text(memory.text) in (fold_text(one.text) for one in lately)
    return ReaderDecision() if known else ReaderDecision([Add(memory)])


def get_event_project(event: Event) -> str:
    """The space of an event's project, which a conversation's own space lies in."""
    above, _, last = event.space.rpartition("/")
    return above if "/" in above and last == event.session else lesson_space_of(event)


def to_episode_memory(
    home: str,
    event: Event,
    outcome: episodes.EpisodeOutcome,
    work: WorkContext,
) -> Memory:
    """An outcome as a memory that names the event it comes from."""
    told = episodes.describe_episode(outcome.what, outcome.parts)
    details = {
        **told["details"],
        "worked": outcome.worked,
        "event": event.seq,
    }
    return build_memory(
        clock.new_id(),
        work.now,
        told["text"],
        space=home,
        kind=outcome.kind,
        at=event.at,
        session=event.session,
        salience=outcome.importance,
        details=details,
        provenance="observed",
        policy=work.policy,
    )


READER = EventReader(
    name=NAME,
    verbs=tuple(episodes.EVENT_IMPORTANCE),
    verb=NAME,
    decide=read_experience,
)
