"""`Mind`, whose verbs are the whole interface. Read this second, after `core.model`.

A `Mind` is a store, an embedder and settings. Its verbs stand in modules beside this one, by topic:
`remember_verbs`, `search_verbs`, `edit_verbs`, `deletion_verbs` and so on. Always true: a verb
decides with pure functions and applies its changes in one transaction; `space` is an argument of
every verb and defaults to that of the working directory. `remember` returns when the memory is
durable and found by its words; vectors follow in `settle`, which the companion runs by itself.
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
from reverie.runtime.mind.reminder_verbs import ReminderVerbs
from reverie.runtime.mind.retrieve_verbs import RetrieveVerbs
from reverie.runtime.mind.review_verbs import ReviewVerbs
from reverie.runtime.mind.search_verbs import SearchVerbs
from reverie.runtime.mind.session_verbs import SessionVerbs


class Mind(
    FileVerbs,
    PlanVerbs,
    AnchorVerbs,
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
    """Long-term memory, as `reverie.open()` returns it. Use it as a context manager, or call
    `close`.
    """

    def close(self) -> None:
        """Stop the background thread, unload the models and close the database."""
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
