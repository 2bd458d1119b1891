"""`python -m bench.analytics`: what it costs to ask a million tool runs in SQL, by DuckDB and by
SQLite's own JSON.

The same aggregate (runs, failures and mean duration by tool) three ways in one run: SQLite over the
log with `json_extract`; DuckDB from nothing, which is to copy the log into memory and answer (what
`reverie activity sql` does); and DuckDB once more over the copy (`mind.activity.analysis`). Then a heavier question,
percentiles by tool and day, in DuckDB alone and in SQLite, which has no percentile, by sorting in
Python.
"""

import random
import resource
import sqlite3
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.common import save, table, timed
from reverie.activity.activity_events import ToolRunRecord, compute_percentile, make_tool_payload
from reverie.testing import NOON, SPACE, make_event, memory

RUNS, BATCH = 1_000_000, 10_000
TOOLS = ("bash", "Read", "Edit", "Grep", "Write", "Glob", "WebFetch", "Task")

BY_TOOL = """
    select tool, count(*), count(*) filter (not success), avg(duration) from tool_executions group by tool order by tool
"""
BY_TOOL_IN_SQLITE = """
    select payload ->> '$.tool', count(*), sum(payload ->> '$.ok' = 0), avg(payload ->> '$.duration')
    from event where verb = 'tool' and (space in ('me', 'me/demo') or substr(space, 1, 8) = 'me/demo/')
    group by 1 order by 1
"""
BY_DAY = """
    select tool, timestamp::date as day, quantile_disc(duration, 0.95)
    from tool_executions group by all order by all
"""
BY_DAY_IN_SQLITE = """
    select payload ->> '$.tool', date(at, 'unixepoch'), payload ->> '$.duration'
    from event where verb = 'tool' and (space in ('me', 'me/demo') or substr(space, 1, 8) = 'me/demo/')
"""


def a_run(rng: random.Random, n: int) -> Any:
    """A run of a tool as agents make them: a command, some lines of an answer."""
    ok = rng.random() < 0.9
    tool = rng.choice(TOOLS)
    given = (
        {"command": f"make target-{n % 997}", "timeout": 60}
        if tool == "bash"
        else {"file_path": f"src/m{n % 3_000}.py"}
    )
    return make_event(
        "tool",
        at=NOON + 10.0 * n,
        session=f"s{n // 200}",
        payload=make_tool_payload(
            ToolRunRecord(
                tool,
                given,
                "a line of the answer\n" * rng.randrange(1, 12),
                ok,
                None if ok else f"Error: bad row {n}",
                rng.expovariate(1.0),
                f"task {n // 50}",
            )
        ),
    )


def percentiles(db: sqlite3.Connection) -> list[tuple[str, str, float | None]]:
    """The 95th percentile by tool and day, the slow way."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for tool, day, duration in db.execute(BY_DAY_IN_SQLITE):
        found[tool, day].append(duration)
    return [(*key, compute_percentile(sorted(some), 0.95)) for key, some in sorted(found.items())]


def main() -> None:
    """Measure, print, keep."""
    runs = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else RUNS
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder, memory(folder, embedder="none") as mind:
        for first in range(0, runs, BATCH):
            mind.store.append([a_run(rng, n) for n in range(first, first + BATCH)])
        db = sqlite3.connect(Path(folder, "reverie.db"))
        answers: dict[str, Any] = {}

        def kept(name: str, ask: Any) -> float:
            return timed(lambda: answers.__setitem__(name, ask()))

        took = {
            "sqlite_s": min(
                kept("sqlite", lambda: db.execute(BY_TOOL_IN_SQLITE).fetchall()) for _ in range(3)
            )
        }
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        took["first_s"] = min(
            kept("first", lambda: mind.activity.sql(BY_TOOL, space=SPACE).rows) for _ in range(3)
        )
        with mind.activity.analysis(space=SPACE) as log:
            log.ask("select count(*) from tool_executions")
            took["further_s"] = min(
                kept("further", lambda: log.ask(BY_TOOL).rows) for _ in range(5)
            )
            took["by_day_s"] = min(kept("by_day", lambda: log.ask(BY_DAY).rows) for _ in range(3))
        took["by_day_sqlite_s"] = min(
            kept("by_day_sqlite", lambda: percentiles(db)) for _ in range(2)
        )
        took["parquet_s"] = timed(
            lambda: mind.activity.export_parquet(Path(folder, "parquet"), space=SPACE)
        )
        size = sum(path.stat().st_size for path in Path(folder, "parquet").iterdir())
        assert same(answers["sqlite"], answers["first"]) and same(
            answers["first"], answers["further"]
        )
        assert len(answers["by_day"]) == len(answers["by_day_sqlite"])
        told = {
            "runs": runs,
            **took,
            "database_mb": Path(folder, "reverie.db").stat().st_size / 1e6,
            "parquet_mb": size / 1e6,
            "memory_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3,
        }
    table([list(told.values())], list(told))
    save("analytics", told)


def same(ones: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> bool:
    """Whether two answers are the same but for the last digits of a mean."""
    return [row[:3] for row in ones] == [row[:3] for row in others] and all(
        abs(one[3] - other[3]) < 1e-9 for one, other in zip(ones, others, strict=True)
    )


if __name__ == "__main__":
    main()
