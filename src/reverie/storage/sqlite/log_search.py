"""Searching the event log by verb, space, words and time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from reverie.core.model import Event, visible_spaces
from reverie.storage.sqlite.read_queries import EVENT_COLUMNS, sql_placeholders
from reverie.storage.sqlite.row_codec import to_event, to_json


def search_events(
    db: sqlite3.Connection,
    verbs: Sequence[str],
    space: str,
    containing: Sequence[str],
    since: float | None,
    until: float | None,
    limit: int,
) -> list[Event]:
    """Events of these verbs whose payload contains all of some texts, newest first.

    Texts are searched as JSON writes them. There is no index: 10,000 events take some 20 ms.
    """
    conditions, args = build_space_conditions(space)
    conditions.insert(0, f"verb in ({sql_placeholders(verbs)})")
    args[:0] = verbs
    for operator, at in ((">=", since), ("<=", until)):
        if at is not None:
            conditions.append(f"at {operator} ?")
            args.append(at)
    conditions += ["instr(lower(payload), ?) > 0"] * len(containing)
    args += [to_json(text)[1:-1].lower() for text in containing]
    sql = f"""
        select {EVENT_COLUMNS} from event
        where {" and ".join(conditions)}
        order by at desc, seq desc
        limit ?
    """
    return [to_event(row) for row in db.execute(sql, (*args, limit))]


def read_event_rows(
    db: sqlite3.Connection, verb: str, space: str, after: int, until: int, limit: int
) -> list[tuple[int, float, str, str, str]]:
    """Raw events of a verb: `after` < number <= `until`, oldest first."""
    conditions, args = build_space_conditions(space)
    sql = f"""
        select seq, at, space, session, payload from event
        where {" and ".join(("verb = ?", "seq > ?", "seq <= ?", *conditions))}
        order by seq
        limit ?
    """
    return db.execute(sql, (verb, after, until, *args, limit)).fetchall()


def build_space_conditions(space: str) -> tuple[list[str], list[object]]:
    """SQL conditions for a space, its parents and its children, and their values; "": none."""
    if not space:
        return [], []
    upward = visible_spaces(space)
    condition = f"(space in ({sql_placeholders(upward)}) or substr(space, 1, ?) = ?)"
    return [condition], [*upward, len(space) + 1, space + "/"]
