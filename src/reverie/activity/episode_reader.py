"""What hosts record of goals, tasks, steps and tools becomes episodes, where it matters (C22, X28).

`lifecycle.episode.EVENTFUL` says what matters. The same told twice by one conversation is one
episode: a test that fails fifty times is not fifty memories.
"""

from __future__ import annotations

from reverie.core import clock
from reverie.core.model import Add, Event, Filter, Memory, lineage
from reverie.memory import episodes
from reverie.memory.memory_validation import built
from reverie.memory.named_period import season_of, stamped
from reverie.pipeline.conversation_events import home_of
from reverie.pipeline.event_reader import Decision, Reader, Work
from reverie.text.tokenization import folded

LATELY = 50  # newest episodes of a conversation among which the same is looked for
NAME = "experience"


def experienced(work: Work, event: Event) -> Decision:
    """The episode that a recorded event becomes, if it is one."""
    home = project_of(event)
    outcome = None if work.settings.is_off(home, event.session) else episodes.outcome_of(event)
    if outcome is None:
        return Decision()
    memory = stamped(
        as_memory(home, event, outcome, work), season_of(work.store, lineage(home), work.now)
    )
    lately = work.store.browse(
        Filter(spaces=(home,), kinds=(outcome.kind,), session=event.session, limit=LATELY)
    )
    known = folded(memory.text) in (folded(one.text) for one in lately)
    return Decision() if known else Decision([Add(memory)])


def project_of(event: Event) -> str:
    """Where it belongs: what happened in a conversation's own space happened to its project."""
    above, _, last = event.space.rpartition("/")
    return above if "/" in above and last == event.session else home_of(event)


def as_memory(home: str, event: Event, outcome: episodes.Outcome, work: Work) -> Memory:
    """An outcome as a memory that names the event it comes from."""
    told = episodes.told(outcome.what, outcome.parts)
    details = {**told["details"], "worked": outcome.worked, "event": event.seq}
    return built(
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


READER = Reader(name=NAME, verbs=tuple(episodes.EVENTFUL), verb=NAME, decide=experienced)
