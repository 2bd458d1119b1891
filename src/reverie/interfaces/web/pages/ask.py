"""Ask: what is known about something, in memories, past talk, notes and code; or the newest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie import Mind
from reverie.core.errors import NotFound
from reverie.core.model import SAID, Hit, Memory
from reverie.interfaces.cli.user_input import parse_as_of_time
from reverie.interfaces.web.page import Page, View, WebRequest
from reverie.interfaces.worker import is_embedder_ready

if TYPE_CHECKING:
    from reverie.code.similar_code import SimilarChunk
    from reverie.retrieval.note_search import Passage

PLACES = {
    "": "Everything",
    "memories": "Memories",
    "talk": "Past talk",
    "notes": "Notes",
    "code": "Code",
}
PER_PAGE = 20
# Of each place, where all are asked together.
PER_PLACE = 5


class Answer(NamedTuple):
    """What a question found, by place; or, without one, a page of the newest memories."""

    query: str
    place: str
    as_of: str
    memories: Sequence[Hit] = ()
    talk: Sequence[Hit] = ()
    notes: Sequence[Passage] = ()
    code: Sequence[SimilarChunk] = ()
    newest: Sequence[Memory] = ()
    tag: str = ""
    kind: str = ""
    state: str = ""  # "gone" lists what no longer counts
    after: str = ""  # the last id of the page before
    next: str = ""  # of this page, if there are more
    places: dict[str, str] = PLACES


def answer_question(mind: Mind, asked: WebRequest) -> Answer:
    """Hits of each place that is asked."""
    query, place, day = asked.text("q"), asked.text("in"), asked.text("as_of")
    if not query:
        return list_newest(mind, asked)
    limit = asked.number("limit", PER_PAGE)
    mode = "auto" if is_embedder_ready(mind.settings) else "words"
    then = parse_as_of_time(day, asked.now, "as_of") if day else None
    memories: list[Hit] = []
    talk: list[Hit] = []
    if place in ("", "memories", "talk"):
        found = mind.recall(query, space=asked.space, limit=limit, mode=mode, as_of=then)
        memories = [hit for hit in found if hit.memory.kind != SAID]
        talk = [hit for hit in found if hit.memory.kind == SAID]
    if place == "talk":
        memories = []
        talk = mind.recall(
            query, space=asked.space, limit=limit, mode=mode, kinds=[SAID], as_of=then
        )
    if place == "memories":
        talk = []
    most = PER_PLACE if not place else limit
    notes: Sequence[Passage] = ()
    code: Sequence[SimilarChunk] = ()
    # Notes and code are known as they are now alone.
    if then is None and place in ("", "notes"):
        notes = mind.files.search(query, space=asked.space, limit=most, mode=mode)
    if then is None and place in ("", "code"):
        code = search_code(mind, query, most, mode)
    return Answer(query, place, day, memories, talk, notes, code)


def search_code(mind: Mind, query: str, most: int, mode: str) -> Sequence[SimilarChunk]:
    """Code of the repository that one stands in; nothing where none is indexed."""
    try:
        return mind.code.search_similar(query, k=most, mode=mode)
    except NotFound:
        return ()


def list_newest(mind: Mind, asked: WebRequest) -> Answer:
    """A page of memories, newest first."""
    tag, kind, state = asked.text("tag"), asked.text("kind"), asked.text("state")
    after, limit = asked.text("after"), asked.number("limit", PER_PAGE)
    found = mind.browse(
        space=asked.space,
        tags=[tag] if tag else (),
        kinds=[kind] if kind else (),
        active=state != "gone",
        limit=limit + 1,
        after=after,
    )
    more = found[limit - 1].id if 0 < limit < len(found) else ""
    return Answer(
        "",
        asked.text("in"),
        "",
        newest=found[:limit],
        tag=tag,
        kind=kind,
        state=state,
        after=after,
        next=more,
    )


PAGE = Page(
    "ask",
    "Ask",
    (View("/ask", answer_question, "ask.html"),),
    place=2,
    key="a",
    scripts=("htmx.min.js",),
)
