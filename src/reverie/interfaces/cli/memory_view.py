"""Memories, events and findings as a person likes to read them, from 40 columns up."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from reverie.context_window import SAID_BY, format_time_ago
from reverie.core.code_anchors import ANCHORS, OUTDATED, anchors_of, outdated_notice
from reverie.core.kinds import kind_of, retention
from reverie.core.model import Event, Hint, Hit, Memory, Record
from reverie.interfaces.cli.terminal_output import (
    escape_controls,
    get_console,
    one_line,
    print_line,
    print_rich,
)
from reverie.memory.history_text import format_moment
from reverie.reconciliation.review_questions import ReviewCase
from reverie.storage import Problem

if TYPE_CHECKING:
    from reverie.extraction.knowledge_gaps import KnowledgeGap
    from reverie.memory.daily_journal import JournalDay

MAX_EXCERPT_CHARS = 360  # characters of a memory in a list; `reverie show ID` has the rest
MIN_COLUMN_CHARS = 10  # characters of a column that stands beside others

COLOURS = {
    "semantic": "cyan",
    "procedural": "magenta",
    "episodic": "blue",
    "prospective": "yellow",
    "emotional": "red",
    "working": "white",
}


def join_dotted(*parts: str) -> Text:
    """Small print: what there is, with dots in between."""
    return Text(" · ".join(part for part in parts if part), style="dim")


def colour_kind(kind: str) -> Text:
    """A kind in the colour of its memory type."""
    return Text(one_line(kind), style=COLOURS[kind_of(kind).type])


def render_excerpt(memory: Memory) -> Text:
    """What a memory says, shortened."""
    return Text(
        one_line(memory.text, MAX_EXCERPT_CHARS), style="" if memory.active else "strike dim"
    )


def describe_age(memory: Memory, now: float) -> str:
    """How long ago."""
    return format_time_ago(now - memory.at)


def make_list_table() -> Table:
    """A list without lines: something narrow, then something that folds."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold", ratio=1)
    return table


def render_hits(found: Sequence[Hit], now: float, space: str, *, more: bool = False) -> None:
    """Search results, best first, each with its reason."""
    table = make_list_table()
    for place, hit in enumerate(found, start=1):
        memory = hit.memory
        table.add_row(Text(str(place), style="bold"), render_excerpt(memory))
        table.add_row("", join_dotted(f"{hit.score:.2f}", *map(one_line, hit.why)))
        table.add_row("", render_origin(memory, now, space))
        if more:
            table.add_row("", join_dotted(*list_rank_reasons(memory, now)))
        table.add_row("", Text(memory.id, style="dim"))
    print_rich(table)


def render_gaps(found: Sequence["KnowledgeGap"], now: float) -> None:
    """Questions without an answer, newest first."""
    table = make_list_table()
    for gap in found:
        table.add_row(Text("?", style="dim"), Text(one_line(gap.asked)))
        often = f"asked {gap.times} times" if gap.times > 1 else ""
        table.add_row("", join_dotted(format_time_ago(now - gap.at), often, one_line(gap.space)))
    print_rich(table)


def render_origin(memory: Memory, now: float, space: str) -> Text:
    """Kind, age, source, and the space if it is not the one that was asked from."""
    speaker = one_line(memory.speaker, 30)
    return Text(" · ", style="dim").join(
        [
            colour_kind(memory.kind),
            Text(describe_age(memory, now), style="dim"),
            Text(
                f"{speaker}, {describe_source(memory)}" if speaker else describe_source(memory),
                style="dim",
            ),
            *([Text(one_line(memory.space), style="dim")] if memory.space != space else []),
            *(
                [Text(" ".join(f"#{one_line(t)}" for t in memory.tags), style="dim")]
                if memory.tags
                else []
            ),
        ]
    )


def describe_source(memory: Memory) -> str:
    """Who says so, in words."""
    return SAID_BY.get(memory.provenance, one_line(memory.provenance))


def list_rank_reasons(memory: Memory, now: float) -> list[str]:
    """What else bears on its rank."""
    return [
        f"believed {memory.confidence:.0%}",
        f"trust {memory.trust:.0%}",
        f"retention {retention(memory, now):.0%}",
        f"strength {memory.strength}",
        f"used {memory.access_count}×",
        f"session {one_line(memory.session, 30)}" if memory.session else "",
        "contradicted elsewhere" if memory.conflicts_with else "",
    ]


def render_memories(found: Sequence[Memory], now: float, space: str) -> None:
    """A list of memories, newest first."""
    table = make_list_table()
    for memory in found:
        table.add_row(Text("•", style="dim"), render_excerpt(memory))
        table.add_row("", render_origin(memory, now, space))
        if mark := outdated_notice(memory):
            table.add_row("", Text(one_line(mark), style="yellow"))
        table.add_row("", Text(memory.id, style="dim"))
    print_rich(table)


def render_cases(found: Sequence[ReviewCase], now: float) -> None:
    """Pairs that wait for a decision, the older one first."""
    table = make_list_table()
    for case in found:
        table.add_row(
            Text("!" if case.kind == "contradiction" else "≈", style="bold"),
            Text(f"{case.kind}: {one_line(case.why)}", style="bold"),
        )
        for place, memory in enumerate((case.one, case.other), start=1):
            table.add_row(Text(str(place)), render_excerpt(memory))
            table.add_row(
                "",
                join_dotted(
                    memory.id,
                    memory.kind,
                    describe_age(memory, now),
                    describe_source(memory),
                    f"believed {memory.confidence:.0%}",
                    f"strength {memory.strength}",
                ),
            )
    print_rich(table)


def render_journal(found: Sequence["JournalDay"]) -> None:
    """Days, the latest first; within a day, as it happened."""
    for one in found:
        print_rich(Text(one.date, style="bold"))
        table = make_list_table()
        told = [
            (memory.at, colour_kind(memory.kind), render_excerpt(memory))
            for memory in (*one.episodes, *one.tasks, *one.decisions, *one.feelings)
        ]
        told += [
            (
                chat.began,
                Text("talk", style="dim"),
                Text(
                    one_line(
                        f"{chat.opening or chat.session} ({chat.turns} messages, {chat.session})",
                        MAX_EXCERPT_CHARS,
                    )
                ),
            )
            for chat in one.conversations
        ]
        for at, what, text in sorted(told, key=lambda row: row[0]):
            table.add_row(Text(format_time_of_day(at), style="dim"), Text(" ").join((what, text)))
        print_rich(table, *([join_dotted(f"{one.tools} tool runs")] if one.tools else []))


def format_time_of_day(at: float) -> str:
    """The time of day, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M")


def render_hint_list(found: Sequence[Hint]) -> None:
    """Titles and ids only."""
    table = make_list_table()
    for hint in found:
        table.add_row(colour_kind(hint.kind), Text(one_line(hint.title)))
        table.add_row("", join_dotted(hint.id, *(f"#{one_line(t)}" for t in hint.tags)))
    print_rich(table)


def render_memory(one: Memory, now: float) -> None:
    """One memory with all that is known about it."""
    if one.title:
        print_rich(Text(one_line(one.title), style="bold"))
    print_rich(Text(escape_controls(one.text)), Text(""))
    render_facts(memory_fields(one, now))


def memory_fields(one: Memory, now: float) -> dict[str, str]:
    """The fields that say something."""
    return {
        "id": one.id,
        "kind": f"{one.kind} ({kind_of(one.kind).type})",
        "space": one.space,
        "tags": " ".join(f"#{t}" for t in one.tags),
        "said": f"{format_moment(one.at)} UTC ({describe_age(one, now)})",
        "by": ", ".join(part for part in (one.speaker, describe_source(one)) if part),
        "session": one.session,
        "files": ", ".join(one.files),
        "about": ", ".join(anchor.location for anchor in anchors_of(one)),
        "out of date": outdated_notice(one),
        "triggers": ", ".join(one.triggers),
        "believed": f"{one.confidence:.0%} (trust {one.trust:.0%}), retention {retention(one, now):.0%}",
        "confirmed": f"{one.strength}×, used {one.access_count}×"
        if one.strength > 1 or one.access_count
        else "",
        "expires": f"{format_moment(one.expires_at)} UTC" if one.expires_at is not None else "",
        "contradicted": ", ".join(one.conflicts_with),
        "details": ", ".join(
            f"{k}: {v}" for k, v in one.details.items() if k not in (ANCHORS, OUTDATED)
        ),
        "gone": f"{one.retired_why or 'retired'}, {format_moment(one.retired_at)} UTC"
        if one.retired_at is not None
        else "",
        "replaced by": one.superseded_by or "",
    }


def render_facts(values: Mapping[str, str]) -> None:
    """Names and values; what is empty is left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for name, value in values.items():
        if value:
            table.add_row(name, Text(one_line(str(value))))
    print_rich(table)


def render_records(found: Sequence[Record]) -> None:
    """The history of a memory."""
    table = make_list_table()
    for record in found:
        table.add_row(
            Text(f"event {record.event.seq}", style="dim"),
            Text(
                f"{one_line(record.event.verb)} ({record.op}), {format_moment(record.event.at)} UTC"
            ),
        )
        for name, value in record.after.items():
            if name != "updated_at" and record.op != "add":
                old = one_line(str(record.before.get(name) or "nothing"), 160)
                table.add_row(
                    "",
                    Text(f"{name}: {old} → {one_line(str(value or 'nothing'), 160)}", style="dim"),
                )
    print_rich(table)


def render_undoable(found: Sequence[tuple[Event, list[str], str]], now: float) -> None:
    """Events that can be taken back."""
    table = make_list_table()
    for event, ids, text in found:
        count = f" {len(ids)} memories" if len(ids) > 1 else ""
        table.add_row(
            Text(str(event.seq), style="bold"),
            Text(
                f"{one_line(event.verb)}{count}, {format_time_ago(now - event.at)}: {one_line(text, 160)}"
            ),
        )
    print_rich(table, join_dotted("Take one back with: reverie undo NUMBER"))


def render_events(found: Sequence[Event], now: float) -> None:
    """The log."""
    table = make_list_table()
    for event in found:
        table.add_row(
            Text(str(event.seq), style="dim"),
            Text(
                f"{one_line(event.verb)}, {format_time_ago(now - event.at)}, {one_line(event.space)}"
            ),
        )
        if event.payload:
            table.add_row("", Text(one_line(str(dict(event.payload)), 240), style="dim"))
    print_rich(table)


def render_answer(columns: Sequence[str], found: Sequence[Sequence[str]]) -> None:
    """Rows of columns, nothing of them cut: side by side where they fit, else one
    below the other.
    """
    if len(columns) * MIN_COLUMN_CHARS > get_console().width:
        for row in found:
            for column, value in zip(columns, row, strict=True):
                print_line(f"{one_line(column)}: {value}")
            print_line()
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(Text(one_line(column)), overflow="fold")
    for row in found:
        table.add_row(*(Text(escape_controls(value)) for value in row))
    print_rich(table)


def render_problems(found: Sequence[Problem]) -> None:
    """What `verify` found."""
    table = make_list_table()
    for problem in found:
        table.add_row(
            Text(
                "repaired" if problem.repaired else "problem",
                style="green" if problem.repaired else "red",
            ),
            Text(f"{problem.what}: {one_line(problem.message)}"),
        )
    print_rich(table)


def render_counts(values: Mapping[str, Any], heading: str) -> None:
    """Names with how many there are of each."""
    table = make_list_table()
    for name, count in sorted(values.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(Text(f"{count:,}"), Text(one_line(name)))
    print_rich(Text(heading, style="bold"), table)


def render_kinds(found: Sequence[Any]) -> None:
    """The table of kinds."""
    table = make_list_table()
    for kind in found:
        fades = (
            "never fades"
            if kind.half_life == float("inf")
            else f"halves every {kind.half_life:.2g} days"
            if kind.half_life < 1
            else f"halves every {kind.half_life:g} days"
        )
        table.add_row(colour_kind(kind.name), Text(kind.meaning))
        table.add_row("", join_dotted(kind.type, fades))
    print_rich(table)
