"""The tool set `jcode`: one tool, `memory`, with actions, as the jcode design names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NotRequired

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.interfaces.mcp.tool_answers import (
    MAX_QUERY_CHARS,
    NOTE,
    MemoryAnswer,
    describe_curation_wait,
    limit_listed_chars,
    to_memory_answer,
)
from reverie.interfaces.mcp.tool_context import ToolSet
from reverie.interfaces.mcp.tool_definition import DOES_ALL, ToolDefinition
from reverie.interfaces.recall_use import count_recall

SCOPES = ("project", "global")
DEFAULT_LIMIT = 10

Action = Literal["remember", "recall", "search", "list", "forget", "link", "tag"]
Category = Annotated[
    str, Field(description="fact, preference, correction, entity, or a word of your own.")
]
Scope = Annotated[
    str, Field(description="project or global.", json_schema_extra={"enum": list(SCOPES)})
]
Relation = Literal["relates_to", "supersedes", "contradicts", "derived_from", "depends_on"]


class JcodeAnswer(TypedDict):
    """What every action answers."""

    message: str
    id: NotRequired[str]
    note: NotRequired[str]
    memories: NotRequired[list[MemoryAnswer]]
    redacted: NotRequired[list[str]]  # kinds of secrets that were taken out


class MemoryAction(BaseModel):
    """What the tool is called with: an action, and what that action needs."""

    action: Action
    content: Annotated[str, Field(description="remember: what to keep.")] = ""
    category: Category = "fact"
    scope: Scope = "project"
    tags: Annotated[Sequence[str], Field(description="remember, tag: tags.")] = ()
    query: Annotated[
        str,
        Field(max_length=MAX_QUERY_CHARS, description="search: what to look for, by meaning."),
    ] = ""
    tag: Annotated[str, Field(description="list: only with this tag.")] = ""
    id: Annotated[str, Field(description="forget, tag: which memory.")] = ""
    from_: Annotated[str, Field(alias="from", description="link: the one memory.")] = ""
    to: Annotated[str, Field(description="link: the other.")] = ""
    relation: Annotated[Relation, Field(description="link: what ties them.")] = "relates_to"
    limit: Annotated[
        int,
        Field(
            ge=1,
            le=50,
            description="How many, at most.",
        ),
    ] = DEFAULT_LIMIT


class JcodeTools(ToolSet):
    """The tool set of one tool with actions."""

    def tools(self) -> list[ToolDefinition]:
        """The one tool."""
        return [ToolDefinition(self.memory, "Memory", DOES_ALL, always=True)]

    def memory(self, given: MemoryAction, ctx: Context | None = None) -> JcodeAnswer:
        """Long-term memory across sessions, by action:

        remember {content, category, scope, tags}: keep a preference, decision, correction or fact
        of the project. recall {}: what matters for the conversation at hand. search {query}: by
        meaning. list {tag}: the newest. forget {id}: it counts no longer; the user can restore it.
        link {from, to, relation}. tag {id, tags}: add tags. Keep what will matter in another
        session; not passing answers, not what the code plainly says.
        """
        # The only action that needs to know who asks.
        if given.action == "remember":
            return self._remember(given, ctx)
        return self._handlers()[given.action](given)

    def _handlers(self) -> dict[str, Callable[[MemoryAction], JcodeAnswer]]:
        return {
            "recall": self._recall,
            "search": self._search,
            "list": self._list,
            "forget": self._forget,
            "link": self._link,
            "tag": self._tag,
        }

    def _remember(self, given: MemoryAction, ctx: Context | None) -> JcodeAnswer:
        claim = self.context.vouch(given.content, given.category, ctx)
        kept = self.context.mind.remember(
            given.content,
            kind=given.category,
            tags=given.tags,
            session=self.context.session_of(ctx),
            space=self.context.space_of(given.scope, SCOPES),
            **claim.fields,
        )
        self.context.request_settling()
        other = f" as a {kept.kind}" if kept.kind != given.category else ""
        sentences = (
            f"Remembered in {given.scope}{other}",
            claim.why,
            describe_curation_wait(kept),
        )
        answer = JcodeAnswer(
            message=". ".join(filter(None, sentences)),
            id=kept.id,
        )
        return self.context.with_redactions(answer, given.content, given.tags)

    def _recall(self, given: MemoryAction) -> JcodeAnswer:
        """Search for the user's last words, as far as a host told them; else the newest."""
        return self._answer_search(self.context.last_user_words(), given.limit)

    def _search(self, given: MemoryAction) -> JcodeAnswer:
        return self._answer_search(require_argument(given, "query"), given.limit)

    def _answer_search(self, query: str, limit: int) -> JcodeAnswer:
        # Without a query the newest are wanted, and no model.
        mode = self.context.search_mode() if query else "auto"
        hits = self.context.mind.recall(
            query,
            space=self.context.space,
            limit=limit,
            mode=mode,
        )
        count_recall(self.context.mind, query, hits, self.context.space)
        found = [(hit.memory, hit.why[:4]) for hit in hits]
        return self._answer_memories(found, self.context.describe_search(mode))

    def _list(self, given: MemoryAction) -> JcodeAnswer:
        tags = [given.tag] if given.tag else ()
        found = self.context.mind.browse(
            space=self.context.space,
            tags=tags,
            limit=given.limit,
        )
        return self._answer_memories([(memory, ()) for memory in found])

    def _answer_memories(
        self,
        found: Sequence[tuple[Memory, Sequence[str]]],
        note: str = NOTE,
    ) -> JcodeAnswer:
        longest = limit_listed_chars(len(found))
        memories = [
            to_memory_answer(memory, self.context.scope_of(memory, *SCOPES), why, longest)
            for memory, why in found
        ]
        return JcodeAnswer(
            message=f"{len(memories)} memories" if memories else "Nothing found",
            note=note,
            memories=memories,
        )

    def _forget(self, given: MemoryAction) -> JcodeAnswer:
        (memory,) = self.context.get_visible([require_argument(given, "id")])
        self.context.mind.forget(memory.id)
        done = "Forgotten" if memory.active else "It had been forgotten before"
        return JcodeAnswer(message=f"{done}; `reverie memory restore` brings it back", id=memory.id)

    def _link(self, given: MemoryAction) -> JcodeAnswer:
        one, other = (
            self.context.get_visible([require_argument(given, name)])[0].id
            for name in ("from_", "to")
        )
        weight = self.context.mind.link(one, other, given.relation)
        return JcodeAnswer(message=f"{one} {given.relation} {other} ({weight:.2f})")

    def _tag(self, given: MemoryAction) -> JcodeAnswer:
        (named,) = self.context.get_visible([require_argument(given, "id")])
        if not given.tags:
            raise BadInput("tag needs tags")
        memory = self.context.mind.tag(named.id, add=given.tags)
        answer = JcodeAnswer(message=f"Tags: {', '.join(memory.tags)}", id=named.id)
        return self.context.with_redactions(answer, given.tags)


def require_argument(given: MemoryAction, name: str) -> str:
    """An argument that this action needs; BadInput if it is empty."""
    value = getattr(given, name)
    if not value:
        raise BadInput(f"This action needs {name.strip('_')}")
    return str(value)
