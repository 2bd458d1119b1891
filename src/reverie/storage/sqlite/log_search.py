"""Looking through the log of what was done: by space, words in it, and time."""

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
    """Events of these verbs, the newest first, whose payload holds every one of some texts.

    A payload is JSON: a text is looked for as JSON writes it. There is no index: 10,000 events take
    some 20 ms.
    """
    tests, args = [f"verb in ({sql_placeholders(verbs)})"], [*verbs]
    near, places = build_space_conditions(space)
    tests += near
    args += places  # type: ignore[arg-type]
    for operator, moment in ((">=", since), ("<=", until)):
        if moment is not None:
            tests.append(f"at {operator} ?")
            args.append(moment)  # type: ignore[arg-type]
    tests += ["instr(lower(payload), ?) > 0"] * len(containing)
    args += [to_json(text)[1:-1].lower() for text in containing]
    sql = f"select {EVENT_COLUMNS} from event where {' and '.join(tests)} order by at desc, seq desc limit ?"
    return [to_event(row) for row in db.execute(sql, (*args, limit))]


def read_event_rows(
    db: sqlite3.Connection, verb: str, space: str, after: int, until: int, limit: int
) -> list[tuple[int, float, str, str, str]]:
    """Events of a verb between two numbers, the oldest first, as they are kept."""
    near, places = build_space_conditions(space)
    sql = (
        f"select seq, at, space, session, payload from event where {' and '.join((*LOGGED_CONDITIONS, *near))} "
        "order by seq limit ?"
    )
    return db.execute(sql, (verb, after, until, *places, limit)).fetchall()


LOGGED_CONDITIONS = ("verb = ?", "seq > ?", "seq <= ?")


def build_space_conditions(space: str) -> tuple[list[str], list[object]]:
    """What SQL tests for a space, those above it and those below it, and the values for that; "" is
    everywhere.
    """
    if not space:
        return [], []
    here = visible_spaces(space)
    return [f"(space in ({sql_placeholders(here)}) or substr(space, 1, ?) = ?)"], [
        *here,
        len(space) + 1,
        space + "/",
    ]
