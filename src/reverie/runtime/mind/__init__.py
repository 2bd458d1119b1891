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

from reverie.runtime.mind.altering import Altering
from reverie.runtime.mind.analysis import Analysing
from reverie.runtime.mind.anchoring import Anchoring
from reverie.runtime.mind.deletion import LettingGo
from reverie.runtime.mind.fetching import Fetching
from reverie.runtime.mind.files import Filing
from reverie.runtime.mind.finding import Finding
from reverie.runtime.mind.holding import Holding
from reverie.runtime.mind.keeping import Keeping
from reverie.runtime.mind.living import Living
from reverie.runtime.mind.planning import Planning
from reverie.runtime.mind.recounting import Recounting
from reverie.runtime.mind.reminding import Reminding
from reverie.runtime.mind.reviewing import Reviewing
from reverie.runtime.mind.trust import Trusting


class Mind(
    Filing,
    Planning,
    Anchoring,
    Keeping,
    Holding,
    Recounting,
    Finding,
    Fetching,
    Altering,
    Reviewing,
    Reminding,
    LettingGo,
    Living,
    Analysing,
    Trusting,
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
