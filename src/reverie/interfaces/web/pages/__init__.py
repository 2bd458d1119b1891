"""The pages, in no particular order: each says its own place in the menu. A new page is a module
here and a line in this list.
"""

from reverie.interfaces.web.page import Page
from reverie.interfaces.web.pages import ask, guards, health, memory, nights, now, review

PAGES: tuple[Page, ...] = (
    now.PAGE,
    ask.PAGE,
    review.PAGE,
    nights.PAGE,
    memory.PAGE,
    guards.PAGE,
    health.PAGE,
)
