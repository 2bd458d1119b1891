"""The pages, in no particular order: each says its own place in the menu. A new page is a module
here and a line in this list.
"""

from reverie.interfaces.web.page import Page
from reverie.interfaces.web.pages import (
    ask,
    changes,
    code,
    guards,
    health,
    map,
    memory,
    nights,
    now,
    review,
    sessions,
)

PAGES: tuple[Page, ...] = (
    now.PAGE,
    ask.PAGE,
    review.PAGE,
    nights.PAGE,
    map.PAGE,
    sessions.PAGE,
    code.PAGE,
    memory.PAGE,
    guards.PAGE,
    health.PAGE,
    changes.PAGE,
)
