"""Verbs that analyse long histories: SQL over the activity log, Parquet files of it, and all
patterns that work has taught.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.activity import COMMIT, FILE
from reverie.core.model import Filter, visible_spaces
from reverie.runtime.mind.activity_verbs import MAX_ACTIVITY_EVENTS, MAX_LESSONS, ActivityVerbs
from reverie.text.argument_checks import check_question

if TYPE_CHECKING:
    from reverie.activity.learned_patterns import LearnedPattern
    from reverie.storage.analytics import LogAnalysis, QueryResult


class AnalysisVerbs(ActivityVerbs):
    """The verbs for questions about all recorded activity."""

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        space: str | None = None,
    ) -> QueryResult:
        """The answer to one statement of SQL over recorded activity: `columns` and all `rows`.
        Needs the extra `analytics`.

        DuckDB's dialect, over the tables `tool_executions`, `file_interactions`, `tasks`, `commits`
        and `learned_patterns`, with the activity of the space, above it and below it; `describe
        tool_executions` tells the columns. `parameters` stand for `?`, `$1` or `$name`. The store
        is only read, and SQL has no way to files or the network. Raises BadInput for SQL that does
        not work.
        """
        with self.analysis(space=space) as log:
            return log.ask(check_question(query, "query"), parameters)

    def analysis(self, *, space: str | None = None) -> LogAnalysis:
        """A snapshot of the activity log for several questions: `with mind.analysis() as log:
        log.ask("select …")`, each as in `sql`.

        What a question needs is copied into memory once: a million tool runs take some ten seconds
        and 1 GB.
        """
        from reverie.storage.analytics import LogAnalysis

        self._flush()
        home = self._resolve_space(space)

        # Called by the analysis only if a question names the table.
        def list_pattern_rows() -> Iterator[tuple[str, str, float, int, float, float]]:
            return to_pattern_rows(self.learned_patterns(space=home))

        return LogAnalysis(self.store, home, list_pattern_rows)

    def export_parquet(self, folder: str | Path, *, space: str | None = None) -> dict[str, int]:
        """The tables of `sql` as Parquet files in a new folder, which appears with all of them or
        not at all.

        Returns how many rows each has. Raises BadInput if there is something of that name already.
        """
        with self.analysis(space=space) as log:
            return log.parquet(Path(folder).expanduser())

    def learned_patterns(self, *, space: str | None = None) -> list[LearnedPattern]:
        """What work has taught: fixes of errors, files that change together, workflows; those with
        the highest confidence first.
        """
        from reverie.activity import co_change, learned_patterns, remedies, workflows
        from reverie.memory import procedure

        self._flush()
        home = self._resolve_space(space)
        procedures = self.store.browse(
            Filter(
                spaces=visible_spaces(home),
                kinds=(procedure.KIND,),
                having=workflows.SHAPE_DETAIL,
                limit=MAX_LESSONS,
            )
        )
        # Each verb has its own limit: many edits must not crowd out the commits.
        changes = [
            event
            for verb in (COMMIT, FILE)
            for event in self.store.search_events((verb,), space=home, limit=MAX_ACTIVITY_EVENTS)
        ]
        touched = co_change.list_file_changes(changes, co_change.collect_renames(changes))
        return learned_patterns.list_learned_patterns(
            self._browse_lessons(home, remedies.REMEDY), procedures, touched, self._now()
        )


def to_pattern_rows(
    patterns: Sequence[LearnedPattern],
) -> Iterator[tuple[str, str, float, int, float, float]]:
    """Patterns as rows of the table `learned_patterns`."""
    import json

    for pattern in patterns:
        yield (pattern.type, json.dumps(dict(pattern.data), ensure_ascii=False), *pattern[2:])
