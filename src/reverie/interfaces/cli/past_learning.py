"""Taking in the sessions that lay on the disk before Reverie came: `reverie install` offers it,
`reverie learn --past` does it.

Newest first, each session in a transaction of its own, so that Ctrl-C loses nothing and the next
run goes on there. What has been taken in is found by its words at once; the worker gives it
vectors, with the lowest priority, when this command is over.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from reverie.core import clock, config
from reverie.core.errors import BadInput, Disabled, EmptyTranscript, ReverieError
from reverie.extraction.past_conversations import PastMessage, collect_messages, fits_text
from reverie.interfaces import worker
from reverie.interfaces.cli.terminal_output import count_noun, print_error, print_note
from reverie.interfaces.hosts import HOST_MODULES, load_host
from reverie.porting.past_sessions import (
    PAGE_PATTERNS,
    PastSession,
    is_taken_in,
    list_pages,
    list_past_sessions,
    note_taken_in,
    read_past_session,
    was_taken_in,
)
from reverie.transcripts.transcript_indexing import MESSAGE_VERBS, index_conversations

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.interfaces.cli.cli_context import CliContext
    from reverie.porting.transcript_formats import RecordedConversation, RecordedMessage

# Whose past sessions can be taken in.
RECORDERS = (*HOST_MODULES, *PAGE_PATTERNS)
# How long a run is estimated for: so many sessions are taken into a memory that is thrown away.
SAMPLED_SESSIONS, SAMPLING_SECONDS = 6, 1.5
MAX_SAMPLE_BYTES = 10_000_000
# Seconds between two times at which what was taken in is made findable.
INDEX_SECONDS = 2.0
# Turns of one session that are compared with its transcript.
MAX_EVENTS = 100_000


class PastSurvey(NamedTuple):
    """What lies on the disk: all of it, and what was not taken in yet."""

    found: Sequence[PastSession]
    waiting: Sequence[PastSession]

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return sum(one.size for one in self.waiting)

    @property
    def counts(self) -> Counter[str]:
        """Sessions that wait, by who recorded them."""
        return Counter(one.recorder for one in self.waiting)


@dataclass
class PastReport:
    """What came of a run."""

    sessions: int = 0
    messages: int = 0
    memories: int = 0
    known: int = 0
    empty: int = 0
    off: int = 0  # in projects where memory is off
    left_out: int = 0  # lines that cannot be read, in files of which the rest was taken in
    redacted: set[str] = field(default_factory=set)
    skipped: list[dict[str, str]] = field(default_factory=list)  # files that cannot be read
    stopped: bool = False
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {**vars(self), "redacted": sorted(self.redacted)}


def check_recorders(names: Sequence[str]) -> tuple[str, ...]:
    """The recorders of these names, all of them for none."""
    for name in names:
        if name not in RECORDERS:
            raise BadInput(f"{name!r} is not one of {', '.join(RECORDERS)}")
    return tuple(names) or RECORDERS


def find_past_sessions(recorders: Sequence[str], tree: Path | None = None) -> list[PastSession]:
    """The sessions on this machine, newest first, pages behind the hosts' own transcripts.

    With a `tree`, those of the project in it alone.
    """
    here = config.find_work_tree(config.working_directory())
    hosts = [
        one
        for name in recorders
        if name in HOST_MODULES
        for one in list_past_sessions(name, load_host(name).past_files())
    ]
    pages = [
        one
        for name in recorders
        if name in PAGE_PATTERNS
        for one in list_past_sessions(name, list_pages(here, name))
    ]
    found = [*sorted(hosts, key=lambda one: -one.at), *pages]
    if tree is None:
        return found
    space = config.project_space_of(tree)
    return [one for one in found if one.folder and project_of(one.folder, one) == space]


def project_of(folder: str, session: PastSession) -> str:
    """The space of the project that a session belongs to."""
    # Where nobody knows, it is apart from all projects: none sees what is another's.
    return config.project_space_of(Path(folder) if folder else session.path.parent)


class PastChoice(NamedTuple):
    """Whether to take them in (None: ask, where somebody may be asked)."""

    command: str  # takes them in without asking, also later
    chosen: bool | None = None
    may_ask: bool = True


class PastOutcome(NamedTuple):
    """What lies there and what came of it, as JSON values and for people."""

    values: dict[str, Any]
    view: Sequence[str]
    stopped: bool = False


def offer_past(
    cli: CliContext,
    found: Sequence[PastSession],
    choice: PastChoice,
) -> PastOutcome:
    """Say what lies there, ask, and take it in if that is wanted."""
    with cli.open_mind() as mind:
        waiting = [one for one in found if not is_taken_in(mind.store, one)]
        survey = PastSurvey(found, waiting)
        values: dict[str, Any] = {"found": len(found), "waiting": len(waiting)}
        if not waiting:
            return PastOutcome(values, [f"All {len(found):,} past sessions are known already."])
        seconds = estimate_seconds(cli, survey)
        values |= {"bytes": survey.size, "estimate": round(seconds, 1)}
        cli.note(describe_survey(survey, seconds))
        if not is_wanted(cli, choice):
            return PastOutcome(values, [f"To take them in: {choice.command}"])
        report = take_in(cli, mind, survey)
        # What was taken in stays without vectors until somebody settles.
        with suppress(ReverieError, OSError):
            worker.spawn_worker(cli.settings, mind.store)
    view = list(describe_report(report, choice.command))
    return PastOutcome({**values, "taken": report.to_json()}, view, report.stopped)


def is_wanted(cli: CliContext, choice: PastChoice) -> bool:
    """True if the sessions are to be taken in; asks where somebody is there."""
    if choice.chosen is not None:
        return choice.chosen
    if cli.as_json or not choice.may_ask or not sys.stdin.isatty():
        return False
    question = "Take them in? Ctrl-C stops it at any time, and the next run goes on there."
    return typer.confirm(question, default=True, err=True)


def estimate_seconds(cli: CliContext, survey: PastSurvey) -> float:
    """How long it takes, by a few of them, taken into a memory that is thrown away."""
    import reverie

    by_size = sorted(survey.waiting, key=lambda one: one.size)
    count = min(len(by_size), SAMPLED_SESSIONS)
    sample = [by_size[(2 * place + 1) * len(by_size) // (2 * count)] for place in range(count)]
    settings = cli.settings._replace(embedder="none", llm="", enabled=True, off=())
    seen = 0
    with reverie.open(":memory:", settings=settings) as mind:
        begun = clock.ticks()
        for session in sample:
            if seen and clock.ticks() - begun > SAMPLING_SECONDS:
                break
            if seen and session.size > MAX_SAMPLE_BYTES:
                continue
            learn_past_session(mind, session, "me", PastReport())
            seen += session.size
        index_waiting(mind)
        return (clock.ticks() - begun) * survey.size / max(1, seen)


def describe_survey(survey: PastSurvey, seconds: float) -> str:
    """How many sessions wait, what size they have, and how long they take."""
    counts = survey.counts
    kinds = ", ".join(
        f"{load_host(name).title if name in HOST_MODULES else name} {number:,}"
        for name, number in counts.items()
    )
    projects = len({one.folder for one in survey.waiting if one.folder})
    where = f" in {count_noun(projects, 'folder')}" if projects else ""
    return (
        f"{count_noun(len(survey.waiting), 'past session')}{where} on this machine ({kinds}): "
        f"{format_bytes(survey.size)}, about {format_duration(seconds)}."
    )


def take_in(
    cli: CliContext,
    mind: Mind,
    survey: PastSurvey,
) -> PastReport:
    """Take in what waits, until it is done or somebody stops it."""
    report, done, begun = PastReport(), 0, clock.ticks()
    report.known = len(survey.found) - len(survey.waiting)
    indexed = begun
    try:
        for session in survey.waiting:
            cli.progress("taking in past sessions", done, survey.size)
            learn_past_session(mind, session, cli.named_space, report)
            done += session.size
            if clock.ticks() - indexed > INDEX_SECONDS:
                index_waiting(mind)
                indexed = clock.ticks()
    except KeyboardInterrupt:
        report.stopped = True
    cli.progress.clear()
    index_waiting(mind)
    report.seconds = round(clock.ticks() - begun, 3)
    return report


def index_waiting(mind: Mind) -> None:
    """Make all messages that were written down findable by their words."""
    while index_conversations(mind.work):
        pass


def learn_past_session(
    mind: Mind,
    session: PastSession,
    named_space: str | None,
    report: PastReport,
) -> None:
    """Learn one session, all that it holds; what cannot be read is told and disturbs no other."""
    try:
        if session.folder:
            # Nothing is read where memory is off.
            mind.context.writable_space(named_space or project_of(session.folder, session))
        transcript = read_past_session(session)
        report.left_out += transcript.left_out
        space = named_space or project_of(transcript.folder, session)
        for conversation in transcript.conversations:
            learn_past_conversation(mind, session, conversation, space, report)
    except EmptyTranscript:
        report.empty += 1
    except Disabled:
        # It may be switched on again: then the session is taken in.
        report.off += 1
        return
    except ReverieError as err:
        report.skipped.append({"file": session.title, "error": str(err)})
        return
    except Exception as err:
        # Whatever stands in one file, the others are taken in.
        report.skipped.append({"file": session.title, "error": f"{type(err).__name__}: {err}"})
        return
    note_taken_in(mind.store, session)


def learn_past_conversation(
    mind: Mind,
    session: PastSession,
    conversation: RecordedConversation,
    space: str,
    report: PastReport,
) -> None:
    """Learn one conversation, as far as it was not recorded while it was held."""
    name, said = conversation.session, list(conversation.messages)
    mind.context.writable_space(space, name)
    recorded = mind.store.events(session=name, verbs=("turn",), limit=MAX_EVENTS)
    if recorded:
        said = blank_recorded(said, collect_messages(recorded))
        name = f"{name}-before"
    # A page may be what a program wrote of another's session, which has its own transcript.
    is_copy = session.recorder in PAGE_PATTERNS and not was_taken_in(mind.store, session)
    # One that has its name from its file is not what has that name in another project.
    where = space if session.path.stem in name else None
    heard = is_copy and mind.store.events(session=name, space=where, verbs=MESSAGE_VERBS, limit=1)
    if heard or not any(one.text for one in said):
        report.known += 1
        return
    messages = [{"role": one.role, "content": one.text, "at": one.at} for one in said]
    learned = mind.learn(messages, space=space, session=name, folder=session.folder)
    if learned.known:
        report.known += 1
        return
    report.sessions += 1
    report.messages += sum(bool(one.text) for one in said)
    report.memories += len(learned.memories)
    report.redacted |= {*learned.redacted}


def blank_recorded(
    said: Sequence[RecordedMessage],
    recorded: Sequence[PastMessage],
) -> list[RecordedMessage]:
    """The messages without the texts of those that hooks recorded while they were said.

    They keep their places, so that a message has the same number whenever this is done. Of a turn
    whose prompt was recorded, what the agent did goes with it: hooks keep no more than its answer.
    """
    held: set[int] = set()
    places: dict[str, list[int]] = {}
    for place, one in enumerate(said):
        places.setdefault(one.role, []).append(place)
    for line in recorded:
        fits = [
            place
            for place in places.get(line.role, ())
            if place not in held and fits_text(line.text, said[place].text)
        ]
        # What is said often, "go on", is the one that was said then.
        if fits:
            held.add(min(fits, key=lambda place: abs((said[place].at or line.at) - line.at)))
    left, is_held = [], False
    for place, one in enumerate(said):
        if one.role == "user":
            is_held = place in held
        left.append(replace(one, text="") if is_held or place in held else one)
    return left


def describe_report(report: PastReport, command: str) -> Iterator[str]:
    """What came of it, for people."""
    for file in report.skipped:
        print_error(f"{file['file']}: {file['error']}. The other sessions are not affected")
    if report.redacted:
        kinds = ", ".join(sorted(report.redacted))
        print_note(f"Taken out before anything was kept: {kinds}.")
    yield (
        f"{count_noun(report.sessions, 'past session')} taken in: "
        f"{count_noun(report.messages, 'message')}, {report.memories:,} kept as memories; "
        f"{report.known:,} known already, {report.empty:,} empty."
    )
    if report.left_out:
        yield f"{count_noun(report.left_out, 'line')} that cannot be read left out of them."
    if report.off:
        yield f"{report.off:,} left alone, because memory is off in their projects."
    if report.stopped:
        yield f"Stopped. To go on there: {command}"
    elif report.sessions:
        yield "They are found by their words now, and by their meaning as the worker gets to them."


def format_bytes(size: int) -> str:
    """A size for people."""
    if size < 1_000_000:
        return f"{max(1, size // 1_000):,} KB"
    return f"{size / 1e6:,.0f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


def format_duration(seconds: float) -> str:
    """A span for people."""
    if seconds < 90:
        return f"{max(1, round(seconds)):,} s"
    return f"{seconds / 60:,.0f} min" if seconds < 5_400 else f"{seconds / 3_600:,.1f} h"
