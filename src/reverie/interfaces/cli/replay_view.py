"""How a replay looks: one line a turn, and under it what surfaced and what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from reverie import Memory
from reverie.interfaces.cli.memory_view import colour_kind, describe_age, describe_source
from reverie.interfaces.cli.terminal_output import one_line, print_line, print_note, print_rich

if TYPE_CHECKING:
    from reverie.interfaces.cli.replay_run import ReplayOptions, ReplayStep
    from reverie.porting.transcript_formats import RecordedTranscript

FORMS = {"messages": "messages", "claude": "a Claude Code transcript", "corpus": "a corpus"}
MAX_SAID_CHARS, MAX_RECALLED_CHARS = 240, 200  # characters that are shown


def render_opening(recording: RecordedTranscript, keeping: bool, options: ReplayOptions) -> None:
    """What is about to be played."""
    conversations = recording.conversations
    count = sum(len(conversation.messages) for conversation in conversations)
    where = "into the real memory" if options.real else "in a throw-away home"
    kept = (
        "every message is kept as an event"
        if keeping
        else "only what asks to be remembered is learned"
    )
    print_rich(
        Text(
            f"{options.file.name}: {FORMS[recording.form]}, {count} messages in {len(conversations)} "
            f"session{'s' if len(conversations) != 1 else ''}, played {where}; {kept}.",
            style="dim",
        )
    )


def make_step_table() -> Table:
    """Number, words, time."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=4, justify="right", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    return table


def render_step(
    turn: ReplayStep, *, new_session: bool = False, quiet: bool = False, timed: bool = True
) -> None:
    """One turn."""
    if new_session:
        print_rich(Text(f"\nsession {one_line(turn.session)}", style="bold"))
    if quiet and not turn.block and not turn.learned:
        return
    table = make_step_table()
    who = one_line(turn.message.speaker or turn.message.role, 20)
    words = Text(f"{who}: ", style="bold" if turn.message.role == "user" else "dim")
    words.append(
        one_line(turn.message.text, MAX_SAID_CHARS if turn.message.role == "user" else 100),
        style="not bold",
    )
    table.add_row(
        Text(str(turn.turn), style="dim"),
        words,
        Text(format_timing(turn) if timed else "", style="dim"),
    )
    for memory, why in zip(turn.block.memories, turn.block.why, strict=True):
        table.add_row(Text("◀", style="green"), format_recalled(memory, why, turn.at), "")
    for memory in turn.learned:
        table.add_row(
            Text("+", style="yellow"),
            Text.assemble(
                ("learned ", "yellow"),
                colour_kind(memory.kind),
                ": ",
                one_line(memory.text, MAX_RECALLED_CHARS),
            ),
            "",
        )
    print_rich(table)


def format_recalled(memory: Memory, why: tuple[str, ...], now: float) -> Text:
    """A memory that surfaced, and why."""
    text = Text(one_line(memory.text, MAX_RECALLED_CHARS), style="green")
    who = (
        f"{one_line(memory.speaker, 20)}, {describe_source(memory)}"
        if memory.speaker
        else describe_source(memory)
    )
    small = " · ".join((memory.kind, who, describe_age(memory, now), *map(one_line, why)))
    return Text.assemble(text, "\n", (one_line(small), "dim"))


def format_timing(step: ReplayStep) -> str:
    """How long turn() took, and how far behind the background was."""
    late = (
        f" +{step.settled * 1e3:,.0f} ms" if step.settled is not None else f" {step.behind} behind"
    )
    return f"{step.seconds * 1e6:,.0f} µs{late}"


def render_replay_summary(f: dict[str, Any]) -> None:
    """The figures at the end."""
    if not f["turns"]:
        print_note("No turn was played.")
        return
    print_line()
    print_line(
        f"{f['turns']} turns in {f['sessions']} session{'s' if f['sessions'] != 1 else ''}; "
        f"on {f['surfaced']} of them something surfaced ({f['memories']} memories); "
        f"{f['learned']} things were learned."
    )
    if f["turn_us_p50"] is not None:
        print_line(
            f"turn() took {f['turn_us_p50']:,.0f} µs (median), {f['turn_us_p99']:,.0f} µs (p99); "
            f"the first of a session, answered by words, {f['first_turn_ms_max']:,.1f} ms at most."
        )
    if f["settle_ms_p50"] is not None:
        print_line(
            f"The background was done {f['settle_ms_p50']:,.0f} ms after a turn (median), "
            f"{f['settle_ms_p99']:,.0f} ms (p99)."
        )
    print_line(
        f"At most {f['behind_max']} turns and {f['waiting_max']} texts were waiting. It took "
        f"{f['seconds']:.1f} s."
    )
