"""Memories, events and findings as a person likes to read them, from 40 columns up.

Every `render_…` yields what is to be shown, for `print_view`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from reverie.context_window import SAID_BY, format_time_ago
from reverie.core.code_anchors import ANCHORS, OUTDATED, anchors_of, outdated_notice
from reverie.core.doubt import DOUBT, describe_doubt
from reverie.core.kinds import kind_of, retention
from reverie.core.model import Event, Hint, Hit, Memory, Record
from reverie.core.validity import format_validity
from reverie.interfaces.cli.terminal_output import (
    escape_controls,
    get_console,
    list_view,
    make_list,
    one_line,
    style_text,
)
from reverie.memory.history_text import format_moment
from reverie.memory.short_ids import shorten_id
from reverie.reconciliation.review_questions import ReviewCase
from reverie.storage import Problem

if TYPE_CHECKING:
    from rich.text import Text

    from reverie.consolidation.cluster_list import MemoryCluster
    from reverie.extraction.knowledge_gaps import KnowledgeGap
    from reverie.interfaces.cli.terminal_output import Row, View
    from reverie.memory.daily_journal import JournalDay

MAX_EXCERPT_CHARS = 360  # characters of a memory in a list; `reverie show ID` has the rest
MAX_VALUE_CHARS = 160  # of a value in a history
MIN_COLUMN_CHARS = 10  # characters of a column that stands beside others

# Fields of a memory that hold seconds since 1970.
MOMENT_FIELDS = frozenset(
    (
        "at",
        "created_at",
        "updated_at",
        "last_accessed_at",
        "valid_from",
        "valid_to",
        "expires_at",
        "retired_at",
    )
)

COLOURS = {
    "semantic": "cyan",
    "procedural": "magenta",
    "episodic": "blue",
    "prospective": "yellow",
    "emotional": "red",
    "working": "white",
}


def join_dotted(*parts: str) -> Text:
    """Small print: those of the parts that say something, with dots in between."""
    return style_text(" · ".join(part for part in parts if part), "dim")


def colour_kind(kind: str) -> Text:
    """A kind in the colour of its memory type."""
    return style_text(one_line(kind), COLOURS[kind_of(kind).type])


def render_excerpt(memory: Memory) -> Text:
    """What a memory says, shortened."""
    return style_text(
        one_line(memory.text, MAX_EXCERPT_CHARS), "" if memory.active else "strike dim"
    )


def describe_age(memory: Memory, now: float) -> str:
    """How long ago it was said or happened."""
    return format_time_ago(now - memory.at)


@list_view
def render_hits(
    hits: Sequence[Hit],
    now: float,
    space: str,
    *,
    more: bool = False,
) -> Iterator[Row]:
    """Search results, best first, each with its reason."""
    for place, hit in enumerate(hits, start=1):
        memory = hit.memory
        yield style_text(str(place), "bold"), render_excerpt(memory)
        yield "", join_dotted(f"{hit.score:.2f}", *map(one_line, hit.why))
        yield "", render_origin(memory, now, space)
        if more:
            yield "", join_dotted(*list_rank_reasons(memory, now))
        yield "", style_text(shorten_id(memory.id), "dim")


@list_view
def render_gaps(gaps: Sequence[KnowledgeGap], now: float) -> Iterator[Row]:
    """Questions without an answer, newest first."""
    for gap in gaps:
        yield style_text("?", "dim"), style_text(one_line(gap.asked))
        often = f"asked {gap.times} times" if gap.times > 1 else ""
        yield (
            "",
            join_dotted(
                format_time_ago(now - gap.at),
                often,
                one_line(gap.space),
            ),
        )


@list_view
def render_clusters(clusters: Sequence[MemoryCluster]) -> Iterator[Row]:
    """Clusters with their size, and some of their members."""
    for cluster in clusters:
        yield style_text(f"{cluster.size:,}"), style_text(one_line(cluster.name), "bold")
        yield "", join_dotted(one_line(cluster.space))
        for memory in cluster.members:
            yield "", render_excerpt(memory)


def render_origin(
    memory: Memory,
    now: float,
    space: str,
) -> Text:
    """Kind, age, source, and the space if it is not the one that was asked from."""
    speaker, source = one_line(memory.speaker, 30), describe_source(memory)
    parts = [
        describe_age(memory, now),
        f"{speaker}, {source}" if speaker else source,
        one_line(memory.space) if memory.space != space else "",
        format_tags(memory.tags),
    ]
    texts = [style_text(part, "dim") for part in parts if part]
    return style_text(" · ", "dim").join([colour_kind(memory.kind), *texts])


def format_tags(tags: Iterable[str]) -> str:
    """Tags as they are shown everywhere."""
    return " ".join(f"#{one_line(tag)}" for tag in tags)


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


@list_view
def render_memories(
    memories: Sequence[Memory],
    now: float,
    space: str,
) -> Iterator[Row]:
    """A list of memories, newest first."""
    for memory in memories:
        yield style_text("•", "dim"), render_excerpt(memory)
        yield "", render_origin(memory, now, space)
        for mark in filter(None, (outdated_notice(memory), describe_doubt(memory))):
            yield "", style_text(one_line(mark), "yellow")
        yield "", style_text(shorten_id(memory.id), "dim")


@list_view
def render_cases(cases: Sequence[ReviewCase], now: float) -> Iterator[Row]:
    """Pairs that wait for a decision, the older one first."""
    for case in cases:
        yield (
            style_text("!" if case.kind == "contradiction" else "≈", "bold"),
            style_text(f"{case.kind}: {one_line(case.why)}", "bold"),
        )
        for place, memory in enumerate((case.one, case.other), start=1):
            facts = join_dotted(
                shorten_id(memory.id),
                memory.kind,
                describe_age(memory, now),
                describe_source(memory),
                f"believed {memory.confidence:.0%}",
                f"strength {memory.strength}",
            )
            yield style_text(str(place)), render_excerpt(memory)
            yield "", facts


@list_view
def render_doubts(memories: Sequence[Memory], now: float) -> Iterator[Row]:
    """Memories whose reason has changed, with what it was."""
    for memory in memories:
        yield style_text("?", "bold"), style_text(one_line(describe_doubt(memory), 300), "bold")
        yield "", render_excerpt(memory)
        yield "", join_dotted(shorten_id(memory.id), memory.kind, describe_age(memory, now))


def render_journal(days: Sequence[JournalDay]) -> View:
    """Days, the latest first; within a day, as it happened."""
    for day in days:
        yield style_text(day.date, "bold")
        yield make_list(
            (
                style_text(
                    format_time_of_day(at),
                    "dim",
                ),
                style_text(" ").join((what, text)),
            )
            for at, what, text in sorted(
                list_day_rows(day),
                key=lambda row: row[0],
            )
        )
        if day.tools:
            yield join_dotted(f"{day.tools} tool runs")


def list_day_rows(day: JournalDay) -> list[tuple[float, Text, Text]]:
    """What happened on a day: when, of which sort, what."""
    memories = (*day.episodes, *day.tasks, *day.decisions, *day.feelings)
    rows = [(memory.at, colour_kind(memory.kind), render_excerpt(memory)) for memory in memories]
    for conversation in day.conversations:
        opening = conversation.opening or conversation.session
        text = f"{opening} ({conversation.turns} messages, {conversation.session})"
        talk = style_text("talk", "dim")
        rows.append((conversation.began, talk, style_text(one_line(text, MAX_EXCERPT_CHARS))))
    return rows


def format_time_of_day(at: float) -> str:
    """The time of day, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M")


@list_view
def render_hint_list(hints: Sequence[Hint]) -> Iterator[Row]:
    """Titles and ids only."""
    for hint in hints:
        yield colour_kind(hint.kind), style_text(one_line(hint.title))
        yield "", join_dotted(shorten_id(hint.id), *(f"#{one_line(tag)}" for tag in hint.tags))


def render_memory(memory: Memory, now: float) -> View:
    """One memory with all that is known about it."""
    if memory.title:
        yield style_text(one_line(memory.title), "bold")
    yield style_text(escape_controls(memory.text))
    yield ""
    yield from render_facts(memory_fields(memory, now))


def memory_fields(memory: Memory, now: float) -> dict[str, str]:
    """The fields of a memory as people read them; one that says nothing is empty."""
    details = {
        name: value
        for name, value in memory.details.items()
        if name not in (ANCHORS, OUTDATED, DOUBT)
    }
    was_used = memory.strength > 1 or memory.access_count
    expires, gone = memory.expires_at, memory.retired_at
    return {
        "id": memory.id,
        "kind": f"{memory.kind} ({kind_of(memory.kind).type})",
        "space": memory.space,
        "tags": " ".join(f"#{tag}" for tag in memory.tags),
        "said": f"{format_moment(memory.at)} UTC ({describe_age(memory, now)})",
        "by": ", ".join(filter(None, (memory.speaker, describe_source(memory)))),
        "session": memory.session,
        "files": ", ".join(memory.files),
        "about": ", ".join(anchor.location for anchor in anchors_of(memory)),
        "out of date": outdated_notice(memory),
        "in doubt": describe_doubt(memory).removeprefix("in doubt "),
        "triggers": ", ".join(memory.triggers),
        "believed": f"{memory.confidence:.0%} (trust {memory.trust:.0%}), "
        f"retention {retention(memory, now):.0%}",
        "confirmed": f"{memory.strength}×, used {memory.access_count}×" if was_used else "",
        "true": format_validity(memory),
        "expires": "" if expires is None else f"{format_moment(expires)} UTC",
        "contradicted": ", ".join(memory.conflicts_with),
        "details": ", ".join(f"{name}: {value}" for name, value in details.items()),
        "gone": ""
        if gone is None
        else f"{memory.retired_why or 'retired'}, {format_moment(gone)} UTC",
        "replaced by": memory.superseded_by or "",
    }


def render_facts(values: Mapping[str, str]) -> View:
    """Names and values; what is empty is left out."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for name, value in values.items():
        if value:
            table.add_row(name, style_text(one_line(str(value))))
    yield table


@list_view
def render_records(records: Sequence[Record]) -> Iterator[Row]:
    """The history of a memory."""
    for record in records:
        event = record.event
        what = f"{one_line(event.verb)} ({record.op}), {format_moment(event.at)} UTC"
        yield style_text(f"event {event.seq}", "dim"), style_text(what)
        for line in list_altered_fields(record):
            yield "", style_text(line, "dim")


def list_altered_fields(record: Record) -> list[str]:
    """Each field that a change altered, before and after; none for what was added."""
    if record.op == "add":
        return []
    lines = []
    for name, value in record.after.items():
        if name != "updated_at":
            old, new = format_field(name, record.before.get(name)), format_field(name, value)
            lines.append(f"{name}: {old} → {new}")
    return lines


def format_field(name: str, value: Any) -> str:
    """A field of a memory on one line: a moment as a date, what is empty as "nothing"."""
    if name in MOMENT_FIELDS and isinstance(value, (int, float)):
        return f"{format_moment(value)} UTC"
    is_empty = value in (None, "") or (isinstance(value, (Sequence, Mapping)) and not value)
    return "nothing" if is_empty else one_line(str(value), MAX_VALUE_CHARS)


def render_undoable(
    events: Sequence[tuple[Event, list[str], str]],
    now: float,
) -> View:
    """Events that can be taken back."""
    if not events:
        return
    rows = []
    for event, ids, text in events:
        count = f" {len(ids)} memories" if len(ids) > 1 else ""
        ago = format_time_ago(now - event.at)
        what = f"{one_line(event.verb)}{count}, {ago}: {one_line(text, MAX_VALUE_CHARS)}"
        rows.append((style_text(str(event.seq), "bold"), style_text(what)))
    yield make_list(rows)
    yield join_dotted("Take one back with: reverie undo NUMBER")


@list_view
def render_events(events: Sequence[Event], now: float) -> Iterator[Row]:
    """The log."""
    for event in events:
        ago = format_time_ago(now - event.at)
        yield (
            style_text(str(event.seq), "dim"),
            style_text(f"{one_line(event.verb)}, {ago}, {one_line(event.space)}"),
        )
        if event.payload:
            yield "", style_text(one_line(str(dict(event.payload)), 240), "dim")


def render_answer(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
) -> View:
    """Rows of columns, nothing of them cut: side by side where they fit, else one
    below the other.
    """
    from rich.table import Table

    if len(columns) * MIN_COLUMN_CHARS > get_console().width:
        for row in rows:
            for column, value in zip(columns, row, strict=True):
                yield f"{one_line(column)}: {value}"
            yield ""
        return
    table = Table(
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    for column in columns:
        table.add_column(style_text(one_line(column)), overflow="fold")
    for row in rows:
        table.add_row(*(style_text(escape_controls(value)) for value in row))
    yield table


@list_view
def render_problems(problems: Sequence[Problem]) -> Iterator[Row]:
    """What `verify` found."""
    for problem in problems:
        state, colour = ("repaired", "green") if problem.repaired else ("problem", "red")
        yield style_text(state, colour), style_text(f"{problem.what}: {one_line(problem.message)}")


def render_counts(values: Mapping[str, Any], heading: str) -> View:
    """Names with how many there are of each."""
    yield style_text(heading, "bold")
    yield make_list(
        (style_text(f"{count:,}"), style_text(one_line(name)))
        for name, count in sorted(
            values.items(),
            key=lambda item: (-item[1], item[0]),
        )
    )


def describe_half_life(days: float) -> str:
    """How fast memories of a kind fade."""
    if days == float("inf"):
        return "never fades"
    return f"halves every {days:.2g} days" if days < 1 else f"halves every {days:g} days"


@list_view
def render_kinds(kinds: Sequence[Any]) -> Iterator[Row]:
    """The table of kinds."""
    for kind in kinds:
        yield colour_kind(kind.name), style_text(kind.meaning)
        yield "", join_dotted(kind.type, describe_half_life(kind.half_life))
