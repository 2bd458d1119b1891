"""What the pages of a server do not have, because it is on the machine where it happened."""

from __future__ import annotations

from typing import Any

from reverie import Mind
from reverie.core.errors import NotFound
from reverie.interfaces.web.page import Page, View, WebRequest
from reverie.interfaces.web.rendering import ERROR_TEMPLATE

AT_HOME = "`reverie web` shows it there."
WHY = {
    "sessions": f"Conversations stay on the machine where they were held. {AT_HOME}",
    "turn": f"Turns of an agent stay on the machine where they were. {AT_HOME}",
    "code": f"Code is read on the machine where it lies, never by the server. {AT_HOME}",
    "guards": "Guards stop tools on the machine where those run, and are chosen there: `reverie "
    "web` on it. What is forbidden in a shared space, and trusted, is told on every machine.",
    "nights": "The server sleeps over all spaces of a team at once, those that you cannot read "
    "too, so its nights are nobody's to look at. What they changed stands with each memory.",
    "changes": "Machines send what changed on them in batches of many memories, and nobody should "
    "take back such a batch as one. What was changed stands with each memory, with a way back; who "
    "changed and read what stands in the audit (Team).",
    "health": "How the server is tells whoever runs it: /readyz, /metrics, its log. How your own "
    "memory is: `reverie doctor` on your machine.",
}
PATHS = (
    "/sessions",
    "/sessions/{id}",
    "/sessions/{id}/{number}",
    "/turn/{event}",
    "/code",
    "/code/{root}/{path}",
    "/guards",
    "/nights",
    "/nights/{run}",
    "/changes",
    "/health",
    "/health/doctor",
    "/health/growth",
)


def say_where(_mind: Mind, asked: WebRequest) -> Any:
    """NotFound, with where it is."""
    name = asked.address.split("/")[1].partition("?")[0].partition(".")[0]
    raise NotFound(WHY[name])


ELSEWHERE = Page(
    "elsewhere",
    "Elsewhere",
    tuple(View(path, say_where, ERROR_TEMPLATE) for path in PATHS),
)
