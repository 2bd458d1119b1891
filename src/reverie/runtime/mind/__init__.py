"""The verbs. Read this second.

A `Mind` is a store, an embedder and settings. Its verbs stand in seventeen files, by what one
wants: `keep`, `hold`, `recount`, `find`, `fetch`, `alter`, `review`, `remind`, `letgo`, `live`,
`experience`, `analysis`, `files`, `code`, `plan`, `anchor`, `trust`. Every verb decides with pure
functions from `lifecycle` and `search`, and makes it so with one `store.apply`. Scope is an
argument of every verb: `space` defaults to the one that the working directory is of. `remember`
returns when the memory is durable and can be found by its words; vectors follow in `settle`, which
the companion runs by itself.
"""

from __future__ import annotations

from typing import Self

from reverie.runtime.mind.analysis_verbs import AnalysisVerbs
from reverie.runtime.mind.anchor_verbs import AnchorVerbs
from reverie.runtime.mind.deletion_verbs import DeletionVerbs
from reverie.runtime.mind.edit_verbs import EditVerbs
from reverie.runtime.mind.episode_verbs import EpisodeVerbs
from reverie.runtime.mind.file_verbs import FileVerbs
from reverie.runtime.mind.owner_verbs import OwnerVerbs
from reverie.runtime.mind.plan_verbs import PlanVerbs
from reverie.runtime.mind.present_verbs import PresentVerbs
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.runtime.mind.reminder_verbs import ReminderVerbs
from reverie.runtime.mind.retrieve_verbs import RetrieveVerbs
from reverie.runtime.mind.review_verbs import ReviewVerbs
from reverie.runtime.mind.search_verbs import SearchVerbs
from reverie.runtime.mind.session_verbs import SessionVerbs


class Mind(
    FileVerbs,
    PlanVerbs,
    AnchorVerbs,
    RememberVerbs,
    PresentVerbs,
    EpisodeVerbs,
    SearchVerbs,
    RetrieveVerbs,
    EditVerbs,
    ReviewVerbs,
    ReminderVerbs,
    DeletionVerbs,
    SessionVerbs,
    AnalysisVerbs,
    OwnerVerbs,
):
    """Long-term memory: what `reverie.open()` returns. Use it as a context manager, or call
    `close`.
    """

    def close(self) -> None:
        """Stop the background, let go of the model and the database."""
        self._flush()
        if self._background is not None:
            self._background.stop()
        if self.embedder is not None:
            self.embedder.close()
        if self.llm is not None:
            self.llm.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
