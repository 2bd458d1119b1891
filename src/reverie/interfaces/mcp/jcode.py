"""The tool set `jcode`: one tool, `memory`, with actions, as the jcode design names them (A57–A61,
B96–B102).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NotRequired

from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.interfaces.mcp.tool_answers import NOTE, QUERY, Told, looked_for, share_of, told
from reverie.interfaces.mcp.tool_context import Room
from reverie.interfaces.mcp.tool_definition import DOES_ALL, Tool

SCOPES = ("project", "global")
MOST = 10

Action = Literal["remember", "recall", "search", "list", "forget", "link", "tag"]
Category = Annotated[
    str, Field(description="fact, preference, correction, entity, or a word of your own.")
]
Scope = Annotated[
    str, Field(description="project or global.", json_schema_extra={"enum": list(SCOPES)})
]
Relation = Literal["relates_to", "supersedes", "contradicts", "derived_from"]


class Done(TypedDict):
    """What every action answers."""

    message: str
    id: NotRequired[str]
    note: NotRequired[str]
    memories: NotRequired[list[Told]]
    redacted: NotRequired[list[str]]  # kinds of secrets that were taken out


class Jcode:
    """One tool over one room."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def tools(self) -> list[Tool]:
        """The one."""
        return [Tool(self.memory, "memory", "Memory", DOES_ALL, always=True)]

    def memory(
        self,
        *,
        action: Action,
        content: Annotated[str, Field(description="remember: what to keep.")] = "",
        category: Category = "fact",
        scope: Scope = "project",
        tags: Annotated[Sequence[str], Field(description="remember, tag: tags.")] = (),
        query: Annotated[
            str, Field(max_length=QUERY, description="search: what to look for, by meaning.")
        ] = "",
        tag: Annotated[str, Field(description="list: only with this tag.")] = "",
        id: Annotated[str, Field(description="forget, tag: which memory.")] = "",
        from_: Annotated[str, Field(alias="from", description="link: the one memory.")] = "",
        to: Annotated[str, Field(description="link: the other.")] = "",
        relation: Annotated[Relation, Field(description="link: what ties them.")] = "relates_to",
        limit: Annotated[int, Field(ge=1, le=50, description="How many, at most.")] = MOST,
        ctx: Context | None = None,
    ) -> Done:
        """Long-term memory across sessions, by action:

        remember {content, category, scope, tags}: keep a preference, decision, correction or fact
        of the project. recall {}: what matters for the conversation at hand. search {query}: by
        meaning. list {tag}: the newest. forget {id}: it counts no longer; the user can restore it.
        link {from, to, relation}. tag {id, tags}: add tags. Keep what will matter in another
        session; not passing answers, not what the code plainly says.
        """
        given: dict[str, Any] = {
            "content": content,
            "category": category,
            "scope": scope,
            "tags": tags,
            "query": query,
            "tag": tag,
            "id": id,
            "from": from_,
            "to": to,
            "relation": relation,
            "limit": limit,
            "session": self.room.conversation(ctx),
            "ctx": ctx,
        }
        return self._actions()[action](given)

    def _actions(self) -> dict[str, Callable[[dict[str, Any]], Done]]:
        return {
            "remember": self._remember,
            "recall": self._recall,
            "search": self._search,
            "list": self._list,
            "forget": self._forget,
            "link": self._link,
            "tag": self._tag,
        }

    def _remember(self, given: dict[str, Any]) -> Done:
        claim = self.room.vouch(given["content"], given["category"], given["ctx"])
        kept = self.room.mind.remember(
            given["content"],
            kind=given["category"],
            tags=given["tags"],
            session=given["session"],
            space=self.room.place(given["scope"], SCOPES),
            **claim.fields,
        )
        self.room.kept()
        other = f" as a {kept.kind}" if kept.kind != given["category"] else ""
        said = (f"Remembered in {given['scope']}{other}", claim.why, looked_for(kept))
        answer = Done(message=". ".join(filter(None, said)), id=kept.id)
        if redacted := self.room.taken_out(given["content"], given["tags"]):
            answer["redacted"] = redacted
        return answer

    def _recall(self, given: dict[str, Any]) -> Done:
        """For the last thing that was said here, as far as a host told it; else the newest."""
        spoken = self.room.lately()
        return self._found(spoken, given["limit"])

    def _search(self, given: dict[str, Any]) -> Done:
        return self._found(need(given, "query"), given["limit"])

    def _found(self, query: str, limit: int) -> Done:
        hits = self.room.mind.recall(
            query, space=self.room.space, limit=limit, mode=self.room.mode() if query else "auto"
        )
        return self._told([(hit.memory, hit.why[:4]) for hit in hits])

    def _list(self, given: dict[str, Any]) -> Done:
        found = self.room.mind.browse(
            space=self.room.space, tags=[given["tag"]] if given["tag"] else (), limit=given["limit"]
        )
        return self._told([(memory, ()) for memory in found])

    def _told(self, found: Sequence[tuple[Memory, Sequence[str]]]) -> Done:
        longest = share_of(len(found))
        memories = [
            told(memory, self.room.scope(memory, *SCOPES), why, longest) for memory, why in found
        ]
        return Done(
            message=f"{len(memories)} memories" if memories else "Nothing found",
            note=NOTE,
            memories=memories,
        )

    def _forget(self, given: dict[str, Any]) -> Done:
        (memory,) = self.room.seen([need(given, "id")])
        self.room.mind.forget(memory.id)
        done = "Forgotten" if memory.active else "It had been forgotten before"
        return Done(message=f"{done}; `reverie restore` brings it back", id=memory.id)

    def _link(self, given: dict[str, Any]) -> Done:
        one, other = need(given, "from"), need(given, "to")
        self.room.seen([one, other])
        weight = self.room.mind.link(one, other, given["relation"])
        return Done(message=f"{one} {given['relation']} {other} ({weight:.2f})")

    def _tag(self, given: dict[str, Any]) -> Done:
        self.room.seen([need(given, "id")])
        if not given["tags"]:
            raise BadInput("tag needs tags")
        memory = self.room.mind.tag(given["id"], add=given["tags"])
        answer = Done(message=f"Tags: {', '.join(memory.tags)}", id=memory.id)
        if redacted := self.room.taken_out(given["tags"]):
            answer["redacted"] = redacted
        return answer


def need(given: dict[str, Any], name: str) -> str:
    """An argument that this action cannot do without."""
    if not given[name]:
        raise BadInput(f"This action needs {name}")
    return str(given[name])
