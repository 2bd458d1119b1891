"""Looking over long histories: SQL over the log of what was done, Parquet files of it, everything
work has taught.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.activity import COMMIT, FILE
from reverie.core.model import Filter, lineage
from reverie.runtime.mind.activity import LOOKED_AT, MOST_LEARNED, Experiencing
from reverie.text.argument_checks import question

if TYPE_CHECKING:
    from reverie.activity.learned_patterns import Pattern
    from reverie.storage.analytics import Analysis, Answer


class Analysing(Experiencing):
    """The verbs for questions about everything that was done."""

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        space: str | None = None,
    ) -> Answer:
        """The answer to one statement of SQL over what was done: `columns` and all `rows`. Needs
        the extra `analytics`.

        DuckDB's dialect, over the tables `tool_executions`, `file_interactions`, `tasks`, `commits`
        and `learned_patterns`, with the deeds of the space, above it and below it; `describe
        tool_executions` tells the columns. `parameters` stand for `?`, `$1` or `$name`. The store
        is only read, and SQL has no way to files or the network. Raises BadInput for SQL that does
        not work.
        """
        with self.analysis(space=space) as log:
            return log.ask(question(query, "query"), parameters)

    def analysis(self, *, space: str | None = None) -> Analysis:
        """A snapshot for several questions: `with mind.analysis() as log: log.ask("select …")`,
        each as in `sql`.

        What a question needs is copied into memory once: a million tool runs take some ten seconds
        and 1 GB.
        """
        from reverie.storage.analytics import Analysis

        self._flush()
        home = self._space(space)
        return Analysis(self.store, home, lambda: rows_of(self.learned_patterns(space=home)))

    def export_parquet(self, folder: str | Path, *, space: str | None = None) -> dict[str, int]:
        """The tables of `sql` as Parquet files in a new folder, which appears with all of them or
        not at all.

        Returns how many rows each has. Raises BadInput if there is something of that name already.
        """
        with self.analysis(space=space) as log:
            return log.parquet(Path(folder).expanduser())

    def learned_patterns(self, *, space: str | None = None) -> list[Pattern]:
        """What work has taught: fixes of errors, files that change together, workflows; the surest
        first.
        """
        from reverie.activity import co_change, learned_patterns, remedies, workflows
        from reverie.memory import procedure

        self._flush()
        home = self._space(space)
        procedures = self.store.browse(
            Filter(
                spaces=lineage(home),
                kinds=(procedure.KIND,),
                having=workflows.SHAPE,
                limit=MOST_LEARNED,
            )
        )
        changes = [
            event
            for verb in (COMMIT, FILE)
            for event in self.store.happened((verb,), space=home, limit=LOOKED_AT)
        ]
        touched = co_change.touches(changes, co_change.renames(changes))
        return learned_patterns.patterns(
            self._learned(home, remedies.REMEDY), procedures, touched, self._now()
        )


def rows_of(patterns: Sequence[Pattern]) -> Iterator[tuple[str, str, float, int, float, float]]:
    """What work has taught, as rows."""
    import json

    for one in patterns:
        yield (one.type, json.dumps(dict(one.data), ensure_ascii=False), *one[2:])
