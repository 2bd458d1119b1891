"""Ask: what is known about something, in memories, past talk, notes and code; or the newest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie import Mind
from reverie.core.errors import BadInput, NotFound
from reverie.core.model import SAID, Hit, Memory, visible_spaces
from reverie.interfaces.cli.user_input import parse_as_of_time
from reverie.interfaces.terminal.typed_search import Question, find_by_words
from reverie.interfaces.web.late_ranking import is_ranking_late, load_ranking
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
# Of the cosine of a memory and a question that share no word: below it everything is alike.
NEAR_MEANING = 0.3
# Where nothing here fits, so many other spaces are looked through, by words.
MAX_SPACES_ELSEWHERE = 12
MAX_ELSEWHERE = 5
# Where memories are looked for, which words find at once.
HASTY_PLACES = ("", "memories")
FIGURE = re.compile(r"(words|meaning) (-?[\d.]+)")


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
    problem: str = ""  # why nothing was looked for
    far: Sequence[Hit] = ()  # memories that hardly fit
    then: float | None = None  # the moment that is looked back from
    is_alone: bool = False  # nothing here fits, so that other spaces may be worth a look
    is_hasty: bool = False  # found by words alone, while what ranks is being loaded
    places: dict[str, str] = PLACES


def answer_question(mind: Mind, asked: WebRequest) -> Answer:
    """Hits of each place that is asked."""
    query, place, day = asked.text("q"), asked.text("in"), asked.text("as_of")
    if not query:
        return list_newest(mind, asked)
    limit = asked.number("limit", PER_PAGE)
    mode = "auto" if is_embedder_ready(mind.settings) else "words"
    try:
        then = parse_as_of_time(day, asked.now, "as of") if day else None
    except BadInput as err:
        # Somebody is still typing it: said beside the field, not on a page of its own.
        if asked.address.partition("?")[0].endswith(".json"):
            raise
        return Answer(query, place, day, problem=str(err))
    if then is None and place in HASTY_PLACES and is_ranking_late(mind, asked, asked.space):
        return answer_by_words(mind, asked, query, limit)
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
    if not place:
        talk = [hit for hit in talk if fits_question(hit)]
    near = [hit for hit in memories if fits_question(hit)]
    far = [hit for hit in memories if not fits_question(hit)]
    return Answer(
        query,
        place,
        day,
        near,
        talk,
        notes,
        code,
        far=far,
        then=then,
        is_alone=not near and place in ("", "memories") and then is None,
    )


def answer_by_words(mind: Mind, asked: WebRequest, query: str, limit: int) -> Answer:
    """What the index of words finds at once."""
    question = Question(query, limit=limit)
    hits = find_by_words(mind.store, question, visible_spaces(asked.space), (), asked.now)
    return Answer(query, asked.text("in"), "", hits, is_hasty=True)


def load_for_answer(mind: Mind, asked: WebRequest, answer: Answer) -> None:
    """Have the next question find all that ranks."""
    if answer.is_hasty:
        load_ranking(mind, asked.space)


def fits_question(hit: Hit) -> bool:
    """True if a hit shares a word with the question, or comes near it in meaning."""
    figures = dict(FIGURE.findall(" · ".join(hit.why)))
    by_words = float(figures.get("words", 0.0)) > 0.0
    return by_words or float(figures.get("meaning", 1.0)) >= NEAR_MEANING


class Elsewhere(NamedTuple):
    """What other spaces hold of a question."""

    query: str
    memories: Sequence[Hit]


def find_elsewhere(mind: Mind, asked: WebRequest) -> Elsewhere:
    """Memories that hold the words of a question, in spaces that are not seen from here. Asked for
    by itself: to count all spaces takes a tenth of a second in a large home.
    """
    here = visible_spaces(asked.space)
    spaces = [space for space in mind.store.stats().spaces if space not in here]
    found: list[Hit] = []
    for space in spaces[:MAX_SPACES_ELSEWHERE]:
        hits = mind.recall(asked.text("q"), space=space, limit=MAX_ELSEWHERE, mode="words")
        found += [hit for hit in hits if hit.memory.space == space and fits_question(hit)]
    best = sorted(found, key=lambda hit: (-hit.score, hit.memory.id))[:MAX_ELSEWHERE]
    return Elsewhere(asked.text("q"), best)


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
    (
        View("/ask", answer_question, "ask.html", after=load_for_answer),
        View("/ask/elsewhere", find_elsewhere, "elsewhere.html"),
    ),
    place=2,
    key="a",
    scripts=("htmx.min.js",),
)
