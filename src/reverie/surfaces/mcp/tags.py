"""The tool set `tags`: `store_memory`, `retrieve_memories`, `list_memory_tags`, as jaato's document has them (E18–E30).

Answers have the fields of that document and of the versions after it: what cannot be done comes back as
`{"status": "error", "error": …}`, for agents made for these tools look there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from reverie.errors import ReverieError
from reverie.kinds import maturity
from reverie.mind.fetch import MOST_FETCHED
from reverie.mirror.jsonl import local
from reverie.model import TRUST, Memory
from reverie.surfaces.mcp.room import Room
from reverie.surfaces.mcp.tools import ADDS, READS, Tool
from reverie.window import harmless

SCOPES = ("project", "universal")
MOST_PENDING = 1_000


class Stored(TypedDict):
    """What store_memory answers."""

    status: str
    memory_id: NotRequired[str]
    message: NotRequired[str]
    tags: NotRequired[list[str]]
    maturity: NotRequired[str]
    confidence: NotRequired[float]
    scope: NotRequired[str]
    duplicate_of: NotRequired[str]
    duplicate_similarity: NotRequired[float]
    duplicate_source: NotRequired[str]
    error: NotRequired[str]
    allowed_scopes: NotRequired[list[str]]


class Record(TypedDict):
    """One memory of retrieve_memories."""

    id: str
    description: str
    content: str
    tags: list[str]
    stored: str
    usage_count: int
    maturity: str
    confidence: float
    scope: str


class Retrieved(TypedDict):
    """What retrieve_memories answers."""

    status: str
    count: int
    matched: int
    truncated: bool
    message: str
    memories: list[Record]
    error: NotRequired[str]


class Listed(TypedDict):
    """What list_memory_tags answers."""

    status: str
    tags: list[str]
    count: int
    memory_count: int
    pending_curation: int
    message: str


class Tags:
    """Three tools over one room."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def tools(self) -> list[Tool]:
        """All of them."""
        return [
            Tool(self.store_memory, "store_memory", "Store a memory", ADDS, always=True),
            Tool(self.retrieve_memories, "retrieve_memories", "Retrieve memories", READS, always=True),
            Tool(self.list_memory_tags, "list_memory_tags", "List memory tags", READS),
        ]

    def store_memory(
        self, content: Annotated[str, Field(description="The full explanation or insight, standing by itself.")],
        description: Annotated[str, Field(description="One clear line: OAuth2 flow with JWT refresh tokens in Redis; "
                                                      "not: authentication thing we discussed.")],
        tags: Annotated[Sequence[str], Field(description="Specific and searchable: oauth2, jwt_auth, token_refresh; "
                                                         "not auth, stuff.")],
        confidence: Annotated[float | None, Field(description="How sure you are, 0 to 1.")] = None,
        scope: Annotated[str, Field(description="project or universal.")] = "project",
        evidence: Annotated[str, Field(description="What it rests on.")] = "",
        ctx: Context | None = None,
    ) -> Stored:
        """Store information for future sessions.

        Store after giving a comprehensive explanation, documenting a pattern of this project, or analysing a complex
        architecture or a design decision that is not obvious. Do not store passing answers to simple questions,
        information about the user, or temporary troubleshooting steps.
        """
        if scope not in SCOPES:
            return Stored(status="rejected", error=f"{scope!r} is no scope", allowed_scopes=list(SCOPES))
        mind = self.room.mind
        try:
            given = (claim := self.room.vouch(content)).fields
            sure = None if confidence is None else min(TRUST[claim.provenance], max(0.0, confidence))
            kept = mind.remember(
                content, title=description, tags=tags, space=self.room.place(scope, SCOPES), trust=sure,
                provenance=given["provenance"],
                details={**given.get("details", {}), **({"evidence": evidence} if evidence else {})},
                session=self.room.conversation(ctx))
            twin = mind.twin(kept.id)
        except ReverieError as err:
            return Stored(status="error", error=str(err))
        self.room.kept()
        answer = Stored(status="success", memory_id=kept.id, message=f"Stored: {kept.title}", tags=list(kept.tags),
                        maturity=maturity(kept), confidence=round(kept.confidence, 4), scope=scope)
        if twin:
            answer["duplicate_of"] = twin.memory.id
            answer["duplicate_similarity"] = twin.likeness
            answer["duplicate_source"] = maturity(twin.memory)
        return answer

    def retrieve_memories(
        self, tags: Annotated[Sequence[str], Field(description="Tags, as hints and list_memory_tags name them.")] = (),
        limit: Annotated[int, Field(ge=1, le=50, description="How many, at most.")] = MOST_FETCHED,
        ids: Annotated[Sequence[str], Field(description="Ids, as hints name them; tags and limit are ignored.")] = (),
    ) -> Retrieved:
        """Retrieve stored memories by tags or ids: the full content, those with most of the tags first, then newest."""
        try:
            found = self.room.mind.retrieve(ids, tags=tags, limit=limit, space=self.room.space)
        except ReverieError as err:
            return Retrieved(status="error", count=0, matched=0, truncated=False, message=str(err), memories=[],
                             error=str(err))
        count = len(found.memories)
        message = f"{count} of {found.matched} memories" if count else "No memories match"
        return Retrieved(status="success" if count else "no_results", count=count, matched=found.matched,
                         truncated=found.truncated, message=message,
                         memories=[self._record(one) for one in found.memories])

    def list_memory_tags(self) -> Listed:
        """Discover what has been stored: every tag, and how many memories there are."""
        mind, space = self.room.mind, self.room.space
        tags = sorted(mind.tags(space))
        counts = mind.stats().spaces
        return Listed(status="success", tags=tags, count=len(tags),
                      memory_count=sum(counts.get(place, 0) for place in self.room.spaces),
                      pending_curation=len(mind.pending(space=space, limit=MOST_PENDING)),
                      message=f"{len(tags)} tags" if tags else "Nothing is stored yet")

    def _record(self, memory: Memory) -> Record:
        return Record(id=memory.id, description=harmless(memory.title), content=harmless(memory.text),
                      tags=list(memory.tags),
                      stored=local(memory.at, self.room.zone), usage_count=memory.access_count,
                      maturity=maturity(memory), confidence=round(memory.confidence, 4),
                      scope=self.room.scope(memory, *SCOPES))
