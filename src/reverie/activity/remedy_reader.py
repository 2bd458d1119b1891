"""What made an error go away is learned as the log is read: remedies, and workflows that wait for
approval (D10, D12).

A run of a tool is held against the last failure of the same command in its conversation
(`experience.remedies`): a remedy that worked is kept, or counted once more; one that did not help
is counted too, and an error that went away by itself counts against all its remedies. When a piece
of work has ended, sequences of commands that recur become procedures that wait in `pending`: they
surface only once somebody approves, unless `settings.curate` is "off".
"""

from __future__ import annotations

from reverie.activity import FILE, TASK, TOOL, remedies
from reverie.activity.activity_events import command_of
from reverie.activity.episode_reader import project_of
from reverie.activity.workflows import SHAPE, Workflow, workflows
from reverie.core import clock
from reverie.core.authorship import under
from reverie.core.model import Add, Event, Filter, Memory, lineage
from reverie.memory import procedure
from reverie.memory.episodes import went
from reverie.memory.memory_validation import built
from reverie.pipeline.event_reader import Decision, Reader, Work
from reverie.privacy.untrusted_text import screened

REACH = 20_000  # numbers of the log that are looked back for a failure
LOOKED_AT = 2_000  # newest runs of tools in which workflows are looked for
MOST_KNOWN = 5_000  # remedies, and procedures, of a space
NAME = "remedy"


def remedied(work: Work, event: Event) -> Decision:
    """What one event teaches about errors or about how work goes."""
    home = project_of(event)
    if work.settings.is_off(home, event.session):
        return Decision()
    if event.verb == TASK:
        return recurring(work, event, home) if went(event.payload) is not None else Decision()
    if not command_of(event) or (attempt := remedies.attempt(before(work, event), event)) is None:
        return Decision()
    known = work.store.browse(
        Filter(
            spaces=lineage(home),
            kinds=(remedies.KIND,),
            having=remedies.REMEDY,
            active=None,
            limit=MOST_KNOWN,
        )
    )
    return counted(
        work, event, attempt, [memory for memory in known if remedies.same(memory, attempt)]
    )


def counted(work: Work, event: Event, attempt: remedies.Attempt, same: list[Memory]) -> Decision:
    """What an attempt says of the remedies that it was one of, or a new remedy."""
    if attempt.alone:
        met = [memory for memory in same if memory.active]
        return Decision(
            [remedies.counted(memory, attempt, work.now) for memory in met], rests_on=met
        )
    if any(not memory.active for memory in same) or (not same and not attempt.worked):
        return Decision()  # somebody let go of it, and that stands
    if same:
        return Decision([remedies.counted(same[0], attempt, work.now)], rests_on=same[:1])
    memory = built(
        clock.new_id(),
        work.now,
        space=project_of(event),
        at=event.at,
        session=event.session,
        **remedies.told(attempt),
        policy=work.policy,
    )
    return Decision([Add(screened(memory))])  # the error is a tool's words


def before(work: Work, event: Event) -> list[Event]:
    """The deeds of the same conversation before this one, oldest first."""
    return work.store.events(
        after=max(0, event.seq - REACH),
        before=event.seq,
        verbs=(TOOL, FILE),
        session=event.session,
        space=event.space,
        newest=True,
        limit=remedies.MOST_DEEDS,
    )[::-1]


def recurring(work: Work, event: Event, home: str) -> Decision:
    """Workflows that have become three occasions by the end of this piece of work."""
    runs = work.store.happened((TOOL,), space=home, until=event.at, limit=LOOKED_AT)
    known = {
        tuple(memory.details.get(SHAPE) or ())
        for memory in work.store.browse(
            Filter(
                spaces=(home,), kinds=(procedure.KIND,), having=SHAPE, active=None, limit=MOST_KNOWN
            )
        )
    }
    new = [candidate(home, one, work) for one in workflows(runs) if one.shape not in known]
    return Decision([Add(under(one, work.settings.curate)) for one in new])


def candidate(home: str, workflow: Workflow, work: Work) -> Memory:
    """A workflow as a procedure that nobody has approved yet."""
    name = " → ".join(step if len(step) <= 40 else f"{step[:39]}…" for step in workflow.steps)
    told = procedure.described(name[:200], workflow.steps, (), ())
    return built(
        clock.new_id(),
        work.now,
        space=home,
        kind=procedure.KIND,
        provenance="inferred",
        at=workflow.last_at,
        text=told["text"],
        title=told["title"],
        details={**told["details"], SHAPE: list(workflow.shape), "occasions": workflow.occasions},
        policy=work.policy,
    )


READER = Reader(name=NAME, verbs=(TOOL, TASK), verb=NAME, decide=remedied)
