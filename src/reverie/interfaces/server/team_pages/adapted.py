"""The pages of one's own machine that make sense on a server, cut to what it has.

What a page of `interfaces/web` asks of files, of the working directory or of one home is left out
here: the server's own are nobody's to see. Where one reads a colleague's words as others' words,
they are not edited: the form would write down this reader's view of them.
"""

from __future__ import annotations

from typing import Any

from reverie import Mind
from reverie.core.errors import AccessDenied
from reverie.interfaces.server.space_names import to_caller_space, to_server_space
from reverie.interfaces.server.team_pages.call import find_caller, let_reader, show_reader
from reverie.interfaces.web.page import Action, Done, Page, View, WebRequest
from reverie.interfaces.web.pages import ask, map, memory, review

# A map is laid out anew for each reader: places that are kept in a file would tell of others.
MAX_MAP_NODES = 600
EDITED = ("text", "title", "kind", "tags", "edited")


def adapt(page: Page, *own: View | Action, keep: tuple[str, ...] = ()) -> Page:
    """A page for readers of a server: its routes in `own`, and those that are kept as they are. Any
    other, such as one that is new on one's own machine, is not there before it is named here.
    """
    kept = [one for one in page.routes if one.path in keep]
    return page._replace(
        styles=(*page.styles, "team.css"),
        routes=tuple(
            show_reader(one) if isinstance(one, View) else let_reader(one) for one in (*own, *kept)
        ),
    )


def ask_memories(mind: Mind, asked: WebRequest) -> Any:
    """Memories alone: talk, notes and code are on the machines where they are."""
    fields = {**asked.fields, "in": ["memories"]}
    answer = ask.answer_question(mind, asked._replace(fields=fields))
    return answer._replace(places={"memories": ask.PLACES["memories"]})


def show_queue(mind: Mind, asked: WebRequest) -> Any:
    """What waits in the spaces of the reader; of files a server has none."""
    return review.show_queue(mind, asked)._replace(mirror=())


def show_memory(mind: Mind, asked: WebRequest) -> Any:
    """As on one's own machine; sentences name the reader's spaces as the reader does."""
    shown = memory.show_memory(mind, asked)
    inner = shown.memory.space
    outer = to_caller_space(inner, find_caller(mind).private_root)
    return shown._replace(story=[line.replace(inner, outer) for line in shown.story])


def edit_memory(mind: Mind, asked: WebRequest) -> Done:
    """New words, for what one sees as it is kept."""
    id = asked.path["id"]
    seen = mind.get([id])
    with mind.store.transaction():
        kept = mind.store.get([id])
    if seen and kept and memory.mark_of(seen[0]) != memory.mark_of(kept[0]):
        raise AccessDenied(
            f"A colleague wrote this, and you read {seen[0].space} as others' words. Trust the "
            "space first (Team), or say it in words of your own. What you wrote stands below."
        )
    # Nothing that has the server read files, as of the code that a memory is about.
    fields = {name: asked.fields[name] for name in EDITED if name in asked.fields}
    return memory.edit_memory(mind, asked._replace(fields=fields))


def move_memory(mind: Mind, asked: WebRequest) -> Done:
    """Another space, by its name for the reader."""
    target, root = asked.text("to"), find_caller(mind).private_root
    fields = {**asked.fields, "to": [to_server_space(target, root)]}
    done = memory.move_memory(mind, asked._replace(fields=fields))
    return done._replace(message=f"Moved to {target}.")


def cut_map(view: View) -> View:
    """A view of the map, with fewer nodes."""

    def read(mind: Mind, asked: WebRequest) -> Any:
        most = asked.number("nodes", MAX_MAP_NODES, most=MAX_MAP_NODES)
        return view.read(mind, asked._replace(fields={**asked.fields, "nodes": [str(most)]}))

    return view._replace(read=read)


MAP_VIEWS = [cut_map(one) for one in map.PAGE.routes if isinstance(one, View)]
ADAPTED_PAGES = (
    adapt(ask.PAGE, View("/ask", ask_memories, "ask.html")),
    adapt(review.PAGE, View("/review", show_queue, "review.html"), keep=("/review/answer",)),
    adapt(map.PAGE, *MAP_VIEWS),
    adapt(
        memory.PAGE,
        View("/memory/{id}", show_memory, "memory.html"),
        Action("/memory/{id}/edit", edit_memory),
        Action("/memory/{id}/move", move_memory),
        keep=tuple(
            f"/memory/{{id}}/{action}" for action in ("forget", "restore", "judge", "approve")
        ),
    ),
)
