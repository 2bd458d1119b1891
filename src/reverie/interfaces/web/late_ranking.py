"""What ranks a large space is loaded once, which takes seconds: whoever looks at a page meanwhile
is shown the rest at once, and told so.
"""

from __future__ import annotations

import threading

from reverie import Mind
from reverie.core.model import visible_spaces
from reverie.interfaces.web.page import WebRequest
from reverie.interfaces.worker import is_embedder_ready

LOADING = threading.Lock()


def is_ranking_late(mind: Mind, asked: WebRequest, space: str) -> bool:
    """True if a page would wait until what ranks a space is loaded. Without a model, and where
    memory is switched off, nothing is.
    """
    return (
        asked.is_page
        and mind.embedder is not None
        and is_embedder_ready(mind.settings)
        and not mind.settings.is_off(space)
        and mind.store.must_load(visible_spaces(space))
    )


def load_ranking(mind: Mind, space: str) -> None:
    """Load what ranks a space, unless that is being done already."""
    if LOADING.acquire(blocking=False):
        try:
            mind.recall("what is known", space=space, limit=1)
        finally:
            LOADING.release()
