"""Memories, events and findings as a person likes to read them, from 40 columns up."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from reverie.context_window import SAID_BY, age
from reverie.core.code_anchors import ANCHORS, OUTDATED, anchors_of, outdated
from reverie.core.kinds import kind_of, retention
from reverie.core.model import Event, Hint, Hit, Memory, Record
from reverie.interfaces.cli import terminal_output
from reverie.interfaces.cli.terminal_output import one_line, safe
from reverie.memory.history_text import day
from reverie.reconciliation.review_questions import Case
from reverie.storage import Problem

if TYPE_CHECKING:
    from reverie.extraction.knowledge_gaps import Gap
    from reverie.memory.daily_journal import Day

EXCERPT = 360  # characters of a memory in a list; `reverie show ID` has the rest
NARROWEST = 10  # characters of a column that stands beside others

COLOURS = {
    "semantic": "cyan",
    "procedural": "magenta",
    "episodic": "blue",
    "prospective": "yellow",
    "emotional": "red",
    "working": "white",
}


def dotted(*parts: str) -> Text:
    """Small print: what there is, with dots in between."""
    return Text(" · ".join(part for part in parts if part), style="dim")


def coloured(kind: str) -> Text:
    """A kind in the colour of its memory type."""
    return Text(one_line(kind), style=COLOURS[kind_of(kind).type])


def excerpt(memory: Memory) -> Text:
    """What a memory says, shortened."""
    return Text(one_line(memory.text, EXCERPT), style="" if memory.active else "strike dim")


def when(memory: Memory, now: float) -> str:
    """How long ago."""
    return age(now - memory.at)


def rows() -> Table:
    """A list without lines: something narrow, then something that folds."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold", ratio=1)
    return table


def hits(found: Sequence[Hit], now: float, space: str, *, more: bool = False) -> None:
    """Search results, best first, each with its reason."""
    table = rows()
    for place, hit in enumerate(found, start=1):
        memory = hit.memory
        table.add_row(Text(str(place), style="bold"), excerpt(memory))
        table.add_row("", dotted(f"{hit.score:.2f}", *map(one_line, hit.why)))
        table.add_row("", about(memory, now, space))
        if more:
            table.add_row("", dotted(*reasons(memory, now)))
        table.add_row("", Text(memory.id, style="dim"))
    terminal_output.show(table)


def gaps(found: Sequence["Gap"], now: float) -> None:
    """Questions without an answer, newest first."""
    table = rows()
    for gap in found:
        table.add_row(Text("?", style="dim"), Text(one_line(gap.asked)))
        often = f"asked {gap.times} times" if gap.times > 1 else ""
        table.add_row("", dotted(age(now - gap.at), often, one_line(gap.space)))
    terminal_output.show(table)


def about(memory: Memory, now: float, space: str) -> Text:
    """Kind, age, source, and the space if it is not the one that was asked from."""
    speaker = one_line(memory.speaker, 30)
    return Text(" · ", style="dim").join(
        [
            coloured(memory.kind),
            Text(when(memory, now), style="dim"),
            Text(f"{speaker}, {source(memory)}" if speaker else source(memory), style="dim"),
            *([Text(one_line(memory.space), style="dim")] if memory.space != space else []),
            *(
                [Text(" ".join(f"#{one_line(t)}" for t in memory.tags), style="dim")]
                if memory.tags
                else []
            ),
        ]
    )


def source(memory: Memory) -> str:
    """Who says so, in words."""
    return SAID_BY.get(memory.provenance, one_line(memory.provenance))


def reasons(memory: Memory, now: float) -> list[str]:
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


def memories(found: Sequence[Memory], now: float, space: str) -> None:
    """A list of memories, newest first."""
    table = rows()
    for memory in found:
        table.add_row(Text("•", style="dim"), excerpt(memory))
        table.add_row("", about(memory, now, space))
        if mark := outdated(memory):
            table.add_row("", Text(one_line(mark), style="yellow"))
        table.add_row("", Text(memory.id, style="dim"))
    terminal_output.show(table)


def cases(found: Sequence[Case], now: float) -> None:
    """Pairs that wait for a decision, the older one first."""
    table = rows()
    for case in found:
        table.add_row(
            Text("!" if case.kind == "contradiction" else "≈", style="bold"),
            Text(f"{case.kind}: {one_line(case.why)}", style="bold"),
        )
        for place, memory in enumerate((case.one, case.other), start=1):
            table.add_row(Text(str(place)), excerpt(memory))
            table.add_row(
                "",
                dotted(
                    memory.id,
                    memory.kind,
                    when(memory, now),
                    source(memory),
                    f"believed {memory.confidence:.0%}",
                    f"strength {memory.strength}",
                ),
            )
    terminal_output.show(table)


def journal(found: Sequence["Day"]) -> None:
    """Days, the latest first; within a day, as it happened."""
    for one in found:
        terminal_output.show(Text(one.date, style="bold"))
        table = rows()
        told = [
            (memory.at, coloured(memory.kind), excerpt(memory))
            for memory in (*one.episodes, *one.tasks, *one.decisions, *one.feelings)
        ]
        told += [
            (
                chat.began,
                Text("talk", style="dim"),
                Text(
                    one_line(
                        f"{chat.opening or chat.session} ({chat.turns} messages, {chat.session})",
                        EXCERPT,
                    )
                ),
            )
            for chat in one.conversations
        ]
        for at, what, text in sorted(told, key=lambda row: row[0]):
            table.add_row(Text(clock_of(at), style="dim"), Text(" ").join((what, text)))
        terminal_output.show(table, *([dotted(f"{one.tools} tool runs")] if one.tools else []))


def clock_of(at: float) -> str:
    """The time of day, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M")


def hints(found: Sequence[Hint]) -> None:
    """Titles and ids only."""
    table = rows()
    for hint in found:
        table.add_row(coloured(hint.kind), Text(one_line(hint.title)))
        table.add_row("", dotted(hint.id, *(f"#{one_line(t)}" for t in hint.tags)))
    terminal_output.show(table)


def memory(one: Memory, now: float) -> None:
    """One memory with all that is known about it."""
    if one.title:
        terminal_output.show(Text(one_line(one.title), style="bold"))
    terminal_output.show(Text(safe(one.text)), Text(""))
    facts(fields(one, now))


def fields(one: Memory, now: float) -> dict[str, str]:
    """The fields that say something."""
    return {
        "id": one.id,
        "kind": f"{one.kind} ({kind_of(one.kind).type})",
        "space": one.space,
        "tags": " ".join(f"#{t}" for t in one.tags),
        "said": f"{day(one.at)} UTC ({when(one, now)})",
        "by": ", ".join(part for part in (one.speaker, source(one)) if part),
        "session": one.session,
        "files": ", ".join(one.files),
        "about": ", ".join(anchor.place for anchor in anchors_of(one)),
        "out of date": outdated(one),
        "triggers": ", ".join(one.triggers),
        "believed": f"{one.confidence:.0%} (trust {one.trust:.0%}), retention {retention(one, now):.0%}",
        "confirmed": f"{one.strength}×, used {one.access_count}×"
        if one.strength > 1 or one.access_count
        else "",
        "expires": f"{day(one.expires_at)} UTC" if one.expires_at is not None else "",
        "contradicted": ", ".join(one.conflicts_with),
        "details": ", ".join(
            f"{k}: {v}" for k, v in one.details.items() if k not in (ANCHORS, OUTDATED)
        ),
        "gone": f"{one.retired_why or 'retired'}, {day(one.retired_at)} UTC"
        if one.retired_at is not None
        else "",
        "replaced by": one.superseded_by or "",
    }


def facts(values: Mapping[str, str]) -> None:
    """Names and values; what is empty is left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for name, value in values.items():
        if value:
            table.add_row(name, Text(one_line(str(value))))
    terminal_output.show(table)


def records(found: Sequence[Record]) -> None:
    """The history of a memory."""
    table = rows()
    for record in found:
        table.add_row(
            Text(f"event {record.event.seq}", style="dim"),
            Text(f"{one_line(record.event.verb)} ({record.op}), {day(record.event.at)} UTC"),
        )
        for name, value in record.after.items():
            if name != "updated_at" and record.op != "add":
                old = one_line(str(record.before.get(name) or "nothing"), 160)
                table.add_row(
                    "",
                    Text(f"{name}: {old} → {one_line(str(value or 'nothing'), 160)}", style="dim"),
                )
    terminal_output.show(table)


def undoable(found: Sequence[tuple[Event, list[str], str]], now: float) -> None:
    """Events that can be taken back."""
    table = rows()
    for event, ids, text in found:
        count = f" {len(ids)} memories" if len(ids) > 1 else ""
        table.add_row(
            Text(str(event.seq), style="bold"),
            Text(f"{one_line(event.verb)}{count}, {age(now - event.at)}: {one_line(text, 160)}"),
        )
    terminal_output.show(table, dotted("Take one back with: reverie undo NUMBER"))


def events(found: Sequence[Event], now: float) -> None:
    """The log."""
    table = rows()
    for event in found:
        table.add_row(
            Text(str(event.seq), style="dim"),
            Text(f"{one_line(event.verb)}, {age(now - event.at)}, {one_line(event.space)}"),
        )
        if event.payload:
            table.add_row("", Text(one_line(str(dict(event.payload)), 240), style="dim"))
    terminal_output.show(table)


def answer(columns: Sequence[str], found: Sequence[Sequence[str]]) -> None:
    """Rows of columns, nothing of them cut: side by side where they fit, else one
    below the other.
    """
    if len(columns) * NARROWEST > terminal_output.terminal().width:
        for row in found:
            for column, value in zip(columns, row, strict=True):
                terminal_output.tell(f"{one_line(column)}: {value}")
            terminal_output.tell()
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(Text(one_line(column)), overflow="fold")
    for row in found:
        table.add_row(*(Text(terminal_output.safe(value)) for value in row))
    terminal_output.show(table)


def problems(found: Sequence[Problem]) -> None:
    """What `verify` found."""
    table = rows()
    for problem in found:
        table.add_row(
            Text(
                "repaired" if problem.repaired else "problem",
                style="green" if problem.repaired else "red",
            ),
            Text(f"{problem.what}: {one_line(problem.message)}"),
        )
    terminal_output.show(table)


def counted(values: Mapping[str, Any], heading: str) -> None:
    """Names with how many there are of each."""
    table = rows()
    for name, count in sorted(values.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(Text(f"{count:,}"), Text(one_line(name)))
    terminal_output.show(Text(heading, style="bold"), table)


def kinds(found: Sequence[Any]) -> None:
    """The table of kinds."""
    table = rows()
    for kind in found:
        fades = (
            "never fades"
            if kind.half_life == float("inf")
            else f"halves every {kind.half_life:.2g} days"
            if kind.half_life < 1
            else f"halves every {kind.half_life:g} days"
        )
        table.add_row(coloured(kind.name), Text(kind.meaning))
        table.add_row("", dotted(kind.type, fades))
    terminal_output.show(table)
