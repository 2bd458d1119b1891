"""Team: who is here, who may what, with which keys, and what was done."""

from __future__ import annotations

from reverie.interfaces.server.team_pages import audit, keeping, keys, people, spaces
from reverie.interfaces.server.team_pages.call import let_reader, show_reader
from reverie.interfaces.web.page import Page, View

ROUTES = (
    *spaces.ROUTES,
    *people.ROUTES,
    *keys.ROUTES,
    *audit.ROUTES,
    *keeping.ROUTES,
)

TEAM = Page(
    "team",
    "Team",
    tuple(show_reader(one) if isinstance(one, View) else let_reader(one) for one in ROUTES),
    place=10,
    key="t",
    styles=("team.css",),
)
