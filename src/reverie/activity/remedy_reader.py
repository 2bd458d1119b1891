"""The reader that learns what made an error go away, and workflows that wait for approval.

A run of a tool is compared with the last failure of the same command in its conversation
(`remedies`): a remedy that worked is kept, or counted once more; one that did not help is counted
too, and an error that went away by itself counts against all its remedies. When a task has ended,
sequences of commands that recur become procedures that wait in `pending`: they surface only once
somebody approves, unless `settings.curate` is "off".
"""

from reverie.activity import FILE, STARTED, TASK, TOOL, remedies
from reverie.activity.activity_events import get_run_command
from reverie.activity.episode_reader import get_event_project
from reverie.activity.workflows import SHAPE_DETAIL, CommandWorkflow, find_workflows
from reverie.core import clock
from reverie.core.authorship import apply_curate_setting
from reverie.core.model import Add, Event, Filter, Memory, visible_spaces
from reverie.memory import procedure
from reverie.memory.memory_validation import build_memory
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.privacy.untrusted_text import screen_for_injection

# Sequence numbers of the log that are looked back for a failure.
MAX_LOOKBACK = 20_000
# Newest runs of tools in which workflows are looked for.
MAX_WORKFLOW_RUNS = 2_000
# Remedies, and procedures, of a space.
MAX_KNOWN = 5_000
NAME, TURN = "remedy", "turn"
# Remedies of a conversation that a turn may explain.
MAX_UNEXPLAINED = 5


def learn_from_run(work: WorkContext, event: Event) -> ReaderDecision:
    """What one event teaches about errors or about how work goes."""
    home = get_event_project(event)
    if work.settings.is_off(home, event.session):
        return ReaderDecision()
    # A task that has ended is the moment to look for what recurs.
    if event.verb == TASK:
        has_ended = event.payload.get("outcome") != STARTED
        return find_new_workflows(work, event, home) if has_ended else ReaderDecision()
    if event.verb == TURN:
        return explain_new_remedies(work, event, home)
    if not get_run_command(event):
        return ReaderDecision()
    attempt = remedies.find_fix_attempt(list_earlier_events(work, event), event)
    if attempt is None:
        return ReaderDecision()
    if attempt.worked and not attempt.is_without_fix:
        attempt = with_explanation(work, attempt)
    known = work.store.browse(
        Filter(
            spaces=visible_spaces(home),
            kinds=(remedies.KIND,),
            having=remedies.REMEDY,
            active=None,
            limit=MAX_KNOWN,
        )
    )
    same = [memory for memory in known if remedies.concerns_remedy(memory, attempt)]
    return update_remedies(work, event, attempt, same)


def update_remedies(
    work: WorkContext,
    event: Event,
    attempt: remedies.FixAttempt,
    same: list[Memory],
) -> ReaderDecision:
    """What an attempt says of the remedies that it was one of, or a new remedy."""
    if attempt.is_without_fix:
        met = [memory for memory in same if memory.active]
        return ReaderDecision(
            [remedies.record_attempt(memory, attempt, work.now) for memory in met], rests_on=met
        )
    if any(not memory.active for memory in same) or (not same and not attempt.worked):
        # Somebody retired it, and that stands.
        return ReaderDecision()
    if same:
        return ReaderDecision(
            [
                remedies.record_attempt(
                    same[0],
                    attempt,
                    work.now,
                )
            ],
            rests_on=same[:1],
        )
    memory = build_memory(
        clock.new_id(),
        work.now,
        space=choose_space(get_event_project(event), attempt),
        at=event.at,
        session=event.session,
        **remedies.describe_remedy(attempt),
        policy=work.policy,
    )
    # The error is a tool's words, which may hold an injection.
    return ReaderDecision([Add(screen_for_injection(memory))])


def choose_space(project: str, attempt: remedies.FixAttempt) -> str:
    """Where a remedy is known: in the user's other projects too, if it is not about this one."""
    return project.rpartition("/")[0] or project if attempt.is_general else project


def with_explanation(work: WorkContext, attempt: remedies.FixAttempt) -> remedies.FixAttempt:
    """An attempt with what the agent said was wrong, before it went well."""
    from reverie.activity.remedy_wording import find_cause

    turns = work.store.events(
        after=attempt.failed.seq,
        before=attempt.rerun.seq,
        verbs=(TURN,),
        session=attempt.rerun.session,
        space=attempt.rerun.space,
        limit=remedies.MAX_EVENTS_BETWEEN,
    )
    said = [text for turn in turns for text in list_agent_words(turn)]
    fix = attempt.fix
    about = " ".join((attempt.error.key, *fix.ran, *fix.told, *fix.changed))
    cause = find_cause(said, about, between=True) if said else ""
    return attempt._replace(fix=fix._replace(cause=cause)) if cause else attempt


def explain_new_remedies(work: WorkContext, event: Event, home: str) -> ReaderDecision:
    """What the agent says at the end of a turn was wrong, for what it has just mended."""
    said = list_agent_words(event)
    if not said:
        return ReaderDecision()
    lately = work.store.browse(
        Filter(
            spaces=visible_spaces(home),
            kinds=(remedies.KIND,),
            having=remedies.REMEDY,
            session=event.session,
            limit=MAX_UNEXPLAINED,
        )
    )
    fresh = [one for one in lately if 0 <= event.at - one.at <= remedies.MAX_SECONDS_BETWEEN]
    revised = [(one, remedies.explain_remedy(one, said, between=False)) for one in fresh]
    changes = [change for _, change in revised if change is not None]
    return ReaderDecision(changes, rests_on=[one for one, change in revised if change is not None])


def list_agent_words(turn: Event) -> list[str]:
    """What the agent said in a turn."""
    messages = turn.payload.get("messages") or ()
    return [
        str(message.get("text") or "")
        for message in messages
        if isinstance(message, dict) and message.get("role") == "assistant"
    ]


def list_earlier_events(work: WorkContext, event: Event) -> list[Event]:
    """The events of the same conversation before this one, oldest first."""
    return work.store.events(
        after=max(0, event.seq - MAX_LOOKBACK),
        before=event.seq,
        verbs=(TOOL, FILE),
        session=event.session,
        space=event.space,
        newest=True,
        limit=remedies.MAX_EVENTS_BETWEEN,
    )[::-1]


def find_new_workflows(
    work: WorkContext,
    event: Event,
    home: str,
) -> ReaderDecision:
    """Workflows that have recurred often enough by the end of this task, as procedures."""
    runs = work.store.search_events(
        (TOOL,),
        space=home,
        until=event.at,
        limit=MAX_WORKFLOW_RUNS,
    )
    stored = work.store.browse(
        Filter(
            spaces=(home,),
            kinds=(procedure.KIND,),
            having=SHAPE_DETAIL,
            active=None,
            limit=MAX_KNOWN,
        )
    )
    known = {tuple(memory.details.get(SHAPE_DETAIL) or ()) for memory in stored}
    new = [workflow for workflow in find_workflows(runs) if workflow.shape not in known]
    pending = [to_pending_procedure(home, workflow, work) for workflow in new]
    return ReaderDecision(
        [Add(apply_curate_setting(memory, work.settings.curate)) for memory in pending]
    )


def to_pending_procedure(
    home: str,
    workflow: CommandWorkflow,
    work: WorkContext,
) -> Memory:
    """A workflow as a procedure that nobody has approved yet."""
    name = " → ".join(step if len(step) <= 40 else f"{step[:39]}…" for step in workflow.steps)
    told = procedure.describe_procedure(name[:200], workflow.steps, (), ())
    return build_memory(
        clock.new_id(),
        work.now,
        space=home,
        kind=procedure.KIND,
        provenance="inferred",
        at=workflow.last_at,
        text=told["text"],
        title=told["title"],
        details={
            **told["details"],
            SHAPE_DETAIL: list(workflow.shape),
            "occasions": workflow.occasions,
        },
        policy=work.policy,
    )


READER = EventReader(
    name=NAME,
    verbs=(TOOL, TASK, TURN),
    verb=NAME,
    decide=learn_from_run,
)
