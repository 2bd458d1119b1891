"""How a replay looks: one line a turn, and under it what surfaced and what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from reverie import Memory
from reverie.interfaces.cli.memory_view import colour_kind, describe_age, describe_source
from reverie.interfaces.cli.terminal_output import one_line, print_note

if TYPE_CHECKING:
    from reverie.interfaces.cli.replay_run import ReplayOptions, ReplayStep
    from reverie.interfaces.cli.terminal_output import View
    from reverie.porting.transcript_formats import RecordedTranscript

FORMS = {
    "messages": "messages",
    "claude": "a Claude Code transcript",
    "corpus": "a corpus",
}
# Characters that are shown: of what the user said, of what others said, of a memory.
MAX_SAID_CHARS, MAX_OTHERS_CHARS, MAX_RECALLED_CHARS = 240, 100, 200


def render_opening(
    recording: RecordedTranscript,
    keeping: bool,
    options: ReplayOptions,
) -> View:
    """What is about to be played."""
    conversations = recording.conversations
    count = sum(len(conversation.messages) for conversation in conversations)
    where = "into the real memory" if options.real else "in a throw-away home"
    kept = (
        "every message is kept as an event"
        if keeping
        else "only what asks to be remembered is learned"
    )
    yield (
        Text(
            f"{options.file.name}: {FORMS[recording.form]}, {count} messages in "
            f"{len(conversations)} "
            f"session{'s' if len(conversations) != 1 else ''}, played {where}; {kept}.",
            style="dim",
        )
    )


def make_step_table() -> Table:
    """A table of three columns: number, words, time."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(
        width=4,
        justify="right",
        no_wrap=True,
    )
    table.add_column(ratio=1, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    return table


def render_step(
    step: ReplayStep,
    *,
    new_session: bool = False,
    quiet: bool = False,
    timed: bool = True,
) -> View:
    """One turn: what was said, what surfaced, what was learned."""
    if new_session:
        yield Text(f"\nsession {one_line(step.session)}", style="bold")
    if quiet and not step.block and not step.learned:
        return
    table = make_step_table()
    who = one_line(step.message.speaker or step.message.role, 20)
    is_user = step.message.role == "user"
    words = Text(f"{who}: ", style="bold" if is_user else "dim")
    text = one_line(step.message.text, MAX_SAID_CHARS if is_user else MAX_OTHERS_CHARS)
    words.append(text, style="not bold")
    timing = format_timing(step) if timed else ""
    table.add_row(
        Text(str(step.turn), style="dim"),
        words,
        Text(timing, style="dim"),
    )
    for memory, why in zip(
        step.block.memories,
        step.block.why,
        strict=True,
    ):
        table.add_row(
            Text("◀", style="green"),
            format_recalled(memory, why, step.at),
            "",
        )
    for memory in step.learned:
        text = one_line(memory.text, MAX_RECALLED_CHARS)
        learned = Text.assemble(
            ("learned ", "yellow"),
            colour_kind(memory.kind),
            ": ",
            text,
        )
        table.add_row(Text("+", style="yellow"), learned, "")
    yield table


def format_recalled(
    memory: Memory,
    why: tuple[str, ...],
    now: float,
) -> Text:
    """A memory that surfaced, and why."""
    text = Text(one_line(memory.text, MAX_RECALLED_CHARS), style="green")
    source = describe_source(memory)
    who = f"{one_line(memory.speaker, 20)}, {source}" if memory.speaker else source
    small = " · ".join((memory.kind, who, describe_age(memory, now), *map(one_line, why)))
    return Text.assemble(text, "\n", (one_line(small), "dim"))


def format_timing(step: ReplayStep) -> str:
    """How long turn() took, and how far behind the background was."""
    late = f"{step.behind} behind" if step.settled is None else f"+{step.settled * 1e3:,.0f} ms"
    return f"{step.seconds * 1e6:,.0f} µs {late}"


def render_replay_summary(figures: dict[str, Any]) -> View:
    """The figures at the end."""
    if not figures["turns"]:
        print_note("No turn was played.")
        return
    yield ""
    yield (
        f"{figures['turns']} turns in {figures['sessions']} "
        f"session{'s' if figures['sessions'] != 1 else ''}; "
        f"on {figures['surfaced']} of them something surfaced ({figures['memories']} memories); "
        f"{figures['learned']} things were learned."
    )
    if figures["turn_us_p50"] is not None:
        yield (
            f"turn() took {figures['turn_us_p50']:,.0f} µs (median), "
            f"{figures['turn_us_p99']:,.0f} µs (p99); "
            f"the first of a session, answered by words, {figures['first_turn_ms_max']:,.1f} "
            "ms at most."
        )
    if figures["settle_ms_p50"] is not None:
        yield (
            f"The background was done {figures['settle_ms_p50']:,.0f} ms after a turn (median), "
            f"{figures['settle_ms_p99']:,.0f} ms (p99)."
        )
    yield (
        f"At most {figures['behind_max']} turns and {figures['waiting_max']} texts were "
        "waiting. It took "
        f"{figures['seconds']:.1f} s."
    )
