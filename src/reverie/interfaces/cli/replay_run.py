"""A recorded conversation, played turn by turn through a real companion: what surfaces, why, and
how fast.

`ConversationPlayer.play` yields one `ReplayStep` for each turn: each time that a host would ask its
model, which is after a user's message and after a tool's answer. A block that comes with a turn was
prepared from the turns before it. Where messages say when they were said, a throw-away memory's
clock follows them, so that what was said a month ago has faded by a month.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reverie import Block, Companion, Memory, Mind
from reverie.core import clock, config
from reverie.core.errors import BadInput
from reverie.interfaces.cli import replay_view
from reverie.interfaces.cli.cli_context import CliContext
from reverie.interfaces.cli.terminal_output import print_json, print_note, print_view
from reverie.interfaces.cli.throwaway_home import (
    REPLAY_SPACE,
    ReplayClock,
    load_embedder,
    open_throwaway_mind,
)
from reverie.porting.transcript_formats import (
    RecordedConversation,
    RecordedMessage,
    RecordedTranscript,
    read_provider_messages,
    read_transcript,
)
from reverie.runtime.settle import has_work_left

# After messages of these a host asks its model.
ASKING_ROLES = ("user", "tool")
MAX_WAIT_SECONDS = 20.0  # for the background, after a turn


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class ReplayOptions:
    """How to play."""

    file: Path
    real: bool = False  # into the real memory
    fast: bool = False  # without waiting for the background
    keep_turns: bool | None = None  # every message as an event
    limit: int = 0
    quiet: bool = False


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class ReplayStep:
    """One turn, and what came of it."""

    message: RecordedMessage
    block: Block
    at: float
    seconds: float  # that turn() took
    behind: int  # turns not yet prepared for when it returned
    waiting: int  # texts without a vector when it returned
    settled: float | None  # seconds until the background was done; None: not waited for
    learned: tuple[Memory, ...] = ()
    session: str = ""
    turn: int = 0


@dataclass(slots=True)
class ConversationPlayer:
    """Plays conversations into a mind."""

    mind: Mind
    space: str
    then: ReplayClock | None = None  # set where time may be turned back
    fast: bool = False
    keep_turns: bool = False
    seen: int = 0  # the last event that was looked at for what was learned

    def play(self, conversations: Sequence[RecordedConversation]) -> Iterator[ReplayStep]:
        """Every turn of every conversation, in the order in which they began."""
        for conversation in sorted(conversations, key=first_time_in):
            yield from self.play_session(conversation)

    def play_session(self, conversation: RecordedConversation) -> Iterator[ReplayStep]:
        """One conversation with a companion of its own."""
        self.seen = self.mind.store.last_event()
        with self.mind.companion(space=self.space, session=conversation.session) as companion:
            messages: list[dict[str, str]] = []
            turn = 0
            for message in conversation.messages:
                messages.append({"role": message.role, "content": message.text})
                self.set_clock_and_keep(conversation.session, message)
                if message.role in ASKING_ROLES:
                    turn += 1
                    step = self.take_turn(companion, message, messages)
                    yield replace(
                        step,
                        session=conversation.session,
                        turn=turn,
                    )
        if not self.fast:
            self.mind.settle()

    def set_clock_and_keep(self, session: str, message: RecordedMessage) -> None:
        """Set the clock, and keep the message if all are to be kept."""
        if self.then is not None and message.at is not None:
            self.then.set(message.at)
        if self.keep_turns:
            self.mind.remember(
                message.text,
                space=self.space,
                kind="event",
                session=session,
                at=self.said_at(message),
                speaker=message.speaker or message.role,
            )

    def said_at(self, message: RecordedMessage) -> float:
        """When it was said."""
        return message.at if message.at is not None else (self.then or clock.now)()

    def take_turn(
        self,
        companion: Companion,
        message: RecordedMessage,
        messages: list[dict[str, str]],
    ) -> ReplayStep:
        """One call of `turn`, timed, and the wait for the background."""
        start = clock.ticks()
        block = companion.turn(messages)
        took = clock.ticks() - start
        behind, waiting = companion.behind, len(self.mind.store.unembedded_texts(1_000))
        settled = None if self.fast else self.wait_for_background(companion)
        return ReplayStep(
            message=message,
            block=block,
            at=(self.then or clock.now)(),
            seconds=took,
            behind=behind,
            waiting=waiting,
            settled=settled,
            learned=() if self.fast else self.collect_learned(),
        )

    def wait_for_background(self, companion: Companion) -> float:
        """Wait until the background has nothing left to do, or for MAX_WAIT_SECONDS; how long that
        was.
        """
        start = clock.ticks()
        # The companion's own thread first; then whatever the store says is still waiting.
        companion.wait(MAX_WAIT_SECONDS)
        while has_work_left(self.mind.work) and clock.ticks() - start < MAX_WAIT_SECONDS:
            clock.sleep(0.002)
        return clock.ticks() - start

    def collect_learned(self) -> tuple[Memory, ...]:
        """What was learned since we looked last."""
        events = self.mind.store.events(after=self.seen)
        if events:
            self.seen = events[-1].seq
        ids: dict[str, None] = {}
        for event in events:
            if event.verb in ("learn", "gather"):
                changes = self.mind.store.changes_of(event.seq)
                ids.update((change.memory_id, None) for change in changes if change.op == "add")
        return tuple(self.mind.get(list(ids)))


def first_time_in(conversation: RecordedConversation) -> float:
    """When the first message was said for which that is known; 0 if it is known of none."""
    return min(
        (message.at for message in conversation.messages if message.at),
        default=0.0,
    )


def replay_file(cli: CliContext, options: ReplayOptions) -> None:
    """`reverie session replay FILE`."""
    name = options.file.stem if str(options.file) != "-" else "stdin"
    recording = read_transcript(read_content(options.file), name)
    for remark in recording.remarks:
        print_note(f"{options.file}: {remark}.")
    # A corpus of several sessions is asked about what was said, which nobody asked to remember.
    is_corpus = recording.form == "corpus" and len(recording.conversations) > 1
    keep_turns = is_corpus if options.keep_turns is None else options.keep_turns
    if options.real:
        with cli.open_mind() as mind:
            load_embedder(cli, mind)
            player = ConversationPlayer(mind, cli.space, None, options.fast, keep_turns)
            play_and_show(cli, options, recording, player)
        return
    messages = [message for talk in recording.conversations for message in talk.messages]
    times = [message.at for message in messages if message.at is not None]
    then = ReplayClock(min(times)) if times else ReplayClock()
    with open_throwaway_mind(cli, then) as mind:
        load_embedder(cli, mind)
        space = cli.named_space or REPLAY_SPACE
        player = ConversationPlayer(mind, space, then, options.fast, keep_turns)
        play_and_show(cli, options, recording, player)


def read_content(file: Path) -> bytes:
    """The bytes of a file, or of stdin."""
    if str(file) == "-":
        return sys.stdin.buffer.read()
    path = config.working_directory() / file.expanduser()
    if path.is_dir():
        raise BadInput(f"{file} is a folder; give a file in it")
    if not path.is_file():
        raise BadInput(f"There is no file {file}")
    return path.read_bytes()


def read_messages(file: Path) -> tuple[list[dict[str, Any]], float]:
    """The messages of a recording, tools' among them, and when the last was said; what was left out
    is told.
    """
    messages, remarks = read_provider_messages(read_content(file))
    for remark in remarks:
        print_note(f"{file}: {remark}.")
    times = [message["at"] for message in messages if "at" in message]
    return messages, max(times, default=clock.now())


def play_and_show(
    cli: CliContext,
    options: ReplayOptions,
    recording: RecordedTranscript,
    player: ConversationPlayer,
) -> None:
    """Play and show every step as it happens."""
    start = clock.ticks()
    steps: list[ReplayStep] = []
    if not cli.as_json:
        print_view(replay_view.render_opening(recording, player.keep_turns, options))
    for step in player.play(recording.conversations):
        if cli.as_json:
            print_json(step_to_json(step), line=True)
        else:
            is_new = not steps or steps[-1].session != step.session
            print_view(
                replay_view.render_step(
                    step,
                    new_session=is_new,
                    quiet=options.quiet,
                )
            )
        steps.append(step)
        if len(steps) == options.limit:
            break
    figures = summarize_steps(steps, clock.ticks() - start)
    if cli.as_json:
        print_json({"summary": figures}, line=True)
    else:
        print_view(replay_view.render_replay_summary(figures))


def step_to_json(step: ReplayStep) -> dict[str, Any]:
    """A step as JSON values."""
    return {
        "session": step.session,
        "turn": step.turn,
        "role": step.message.role,
        "speaker": step.message.speaker,
        "text": step.message.text,
        "at": step.at,
        "turn_us": round(step.seconds * 1e6, 1),
        "behind": step.behind,
        "waiting": step.waiting,
        "settled_ms": None if step.settled is None else round(step.settled * 1e3, 1),
        "surfaced": [
            {
                "id": memory.id,
                "kind": memory.kind,
                "text": memory.text,
                "session": memory.session,
                "at": memory.at,
                "why": list(why),
            }
            for memory, why in zip(
                step.block.memories,
                step.block.why,
                strict=True,
            )
        ],
        "learned": [
            {
                "id": memory.id,
                "kind": memory.kind,
                "text": memory.text,
            }
            for memory in step.learned
        ],
    }


def summarize_steps(steps: Sequence[ReplayStep], took: float) -> dict[str, Any]:
    """The figures of a replay, as JSON values."""
    times = sorted(step.seconds * 1e6 for step in steps if step.turn > 1)
    # First turns are answered by words, within a deadline: they have a figure of their own.
    firsts = [step.seconds * 1e3 for step in steps if step.turn == 1]
    waits = sorted(step.settled * 1e3 for step in steps if step.settled is not None)
    return {
        "turns": len(steps),
        "sessions": len({step.session for step in steps}),
        "surfaced": sum(1 for step in steps if step.block),
        "memories": sum(len(step.block.ids) for step in steps),
        "learned": sum(len(step.learned) for step in steps),
        "turn_us_p50": quantile(times, 0.5),
        "turn_us_p99": quantile(times, 0.99),
        "turn_us_max": quantile(times, 1.0),
        "first_turn_ms_max": round(max(firsts, default=0.0), 1),
        "settle_ms_p50": quantile(waits, 0.5),
        "settle_ms_p99": quantile(waits, 0.99),
        "behind_max": max((step.behind for step in steps), default=0),
        "waiting_max": max((step.waiting for step in steps), default=0),
        "seconds": round(took, 2),
    }


def quantile(values: Sequence[float], q: float) -> float | None:
    """The value that a share `q` of them does not exceed; None of nothing."""
    return (
        round(
            values[min(len(values) - 1, int(q * len(values)))],
            1,
        )
        if values
        else None
    )
