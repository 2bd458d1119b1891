"""The tool set `tags`: `store_memory`, `retrieve_memories`, `list_memory_tags`, as jaato has them.

Answers have the fields of jaato's document and of the versions after it: what cannot be done comes
back as `{"status": "error", "error": …}`, for agents made for these tools look there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from reverie.core.authorship import to_author_stamp, to_reviewer_stamp
from reverie.core.errors import BadInput, ReverieError
from reverie.core.kinds import maturity_of
from reverie.core.model import TRUST_BY_PROVENANCE, Memory
from reverie.interfaces.mcp.tool_answers import cut_memory_text, limit_read_chars
from reverie.interfaces.mcp.tool_context import ToolSet
from reverie.interfaces.mcp.tool_definition import ADDS, COUNTS, READS, ToolDefinition
from reverie.mirror.shared_lines import to_local_iso
from reverie.retrieval.tag_search import MIN_TAG_CHARS
from reverie.runtime.mind.retrieve_verbs import MAX_RETRIEVED
from reverie.text.escaping import escape_text

SCOPES = ("project", "universal")
MAX_CURATION_SCAN = 10_000
# Not approved yet.
PENDING_MATURITIES = ("raw", "escalated")
# Newest memories among which those are counted.


class StoreAnswer(TypedDict):
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
    redacted: NotRequired[list[str]]  # kinds of secrets that were taken out
    error: NotRequired[str]
    allowed_scopes: NotRequired[list[str]]


class TaggedMemory(TypedDict):
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
    generated_by: NotRequired[dict[str, str]]
    curated_by: NotRequired[dict[str, str]]


class TaggedAnswer(TypedDict):
    """What retrieve_memories answers."""

    status: str
    count: int
    matched: int
    truncated: bool
    message: str
    memories: list[TaggedMemory]
    error: NotRequired[str]


class TagListAnswer(TypedDict):
    """What list_memory_tags answers."""

    status: str
    tags: list[str]
    count: int
    memory_count: int
    pending_curation: int
    message: str


class NewMemory(BaseModel):
    """What `store_memory` is called with."""

    content: Annotated[
        str, Field(description="The full explanation or insight, standing by itself.")
    ]
    description: Annotated[
        str,
        Field(
            description="One clear line: OAuth2 flow with JWT refresh tokens in Redis; "
            "not: authentication thing we discussed."
        ),
    ]
    tags: Annotated[
        Sequence[str],
        Field(
            description="Specific and searchable: oauth2, jwt_auth, token_refresh; not auth, stuff."
        ),
    ]
    confidence: Annotated[float | None, Field(description="How sure you are, 0 to 1.")] = None
    scope: Annotated[str, Field(description="project or universal.")] = "project"
    evidence: Annotated[str, Field(description="What it rests on.")] = ""


class TagTools(ToolSet):
    """The tool set of three tools."""

    def tools(self) -> list[ToolDefinition]:
        """All three tools."""
        return [
            ToolDefinition(self.store_memory, "Store a memory", ADDS, always=True),
            ToolDefinition(
                self.retrieve_memories,
                "Retrieve memories",
                COUNTS,
                always=True,
            ),
            ToolDefinition(self.list_memory_tags, "List memory tags", READS),
        ]

    def store_memory(self, given: NewMemory, ctx: Context | None = None) -> StoreAnswer:
        """Store information for future sessions.

        Store after giving a comprehensive explanation, documenting a pattern of this project, or
        analysing a complex architecture or a design decision that is not obvious. Do not store
        passing answers to simple questions, information about the user, or temporary
        troubleshooting steps.
        """
        if given.scope not in SCOPES:
            return StoreAnswer(
                status="rejected", error=f"{given.scope!r} is no scope", allowed_scopes=list(SCOPES)
            )
        if not given.description.strip():
            return StoreAnswer(
                status="error",
                error="description is needed: one clear line that says what it is about",
            )
        mind = self.context.mind
        try:
            searchable_tags = check_searchable_tags(given.tags)
            claim = self.context.vouch(given.content, ctx=ctx)
            trust = None
            if given.confidence is not None:
                # Who claims to be sure is believed no more than where it comes from.
                trust = min(TRUST_BY_PROVENANCE[claim.provenance], max(0.0, given.confidence))
            details = dict(claim.fields.get("details", {}))
            if given.evidence:
                details["evidence"] = given.evidence
            kept = mind.remember(
                given.content,
                title=given.description,
                tags=searchable_tags,
                space=self.context.space_of(given.scope, SCOPES),
                trust=trust,
                provenance=claim.fields["provenance"],
                details=details,
                session=self.context.session_of(ctx),
            )
            # Told, not refused: settling decides whether to merge the two.
            twin = mind.review.near_duplicate(kept.id)
        # jaato's agents look for an error in the answer, not for a failed call.
        except ReverieError as err:
            return StoreAnswer(status="error", error=str(err))
        self.context.request_settling()
        answer = StoreAnswer(
            status="success",
            memory_id=kept.id,
            message=f"Stored: {kept.title}",
            tags=list(kept.tags),
            maturity=maturity_of(kept),
            confidence=round(kept.confidence, 4),
            scope=given.scope,
        )
        if twin:
            answer["duplicate_of"] = twin.memory.id
            answer["duplicate_similarity"] = twin.likeness
            answer["duplicate_source"] = maturity_of(twin.memory)
        return self.context.with_redactions(
            answer, given.content, given.description, given.tags, given.evidence
        )

    def retrieve_memories(
        self,
        tags: Annotated[
            Sequence[str], Field(description="Tags, as hints and list_memory_tags name them.")
        ] = (),
        limit: Annotated[
            int,
            Field(
                ge=1,
                le=50,
                description="How many, at most.",
            ),
        ] = MAX_RETRIEVED,
        ids: Annotated[
            Sequence[str], Field(description="Ids, as hints name them; tags and limit are ignored.")
        ] = (),
        offset: Annotated[
            int,
            Field(ge=0, description="From which character on, for contents that were cut."),
        ] = 0,
    ) -> TaggedAnswer:
        """Retrieve stored memories by tags or ids: the full content, those with most of the tags
        first, then newest.
        """
        try:
            found = self.context.mind.retrieve(
                ids,
                tags=tags,
                limit=limit,
                space=self.context.space,
            )
        except ReverieError as err:
            return TaggedAnswer(
                status="error",
                count=0,
                matched=0,
                truncated=False,
                message=str(err),
                memories=[],
                error=str(err),
            )
        # By id also those that count no longer are found; they are named, not shown.
        active = [memory for memory in found.memories if memory.active]
        retired = [memory for memory in found.memories if not memory.active]
        count = len(active)
        matched = found.matched - len(retired)
        message = f"{count} of {matched} memories" if count else "No memories match"
        if retired:
            message += f"; no longer counts: {', '.join(map(describe_retirement, retired))}"
        longest = limit_read_chars(count)
        return TaggedAnswer(
            status="success" if count else "no_results",
            count=count,
            matched=matched,
            truncated=found.truncated,
            message=message,
            memories=[self._to_tagged(memory, longest, offset) for memory in active],
        )

    def list_memory_tags(self) -> TagListAnswer:
        """Discover what has been stored: every tag, and how many memories there are."""
        mind, space = self.context.mind, self.context.space
        tags = sorted(mind.tags(space))
        counts = mind.data.stats().spaces
        newest = mind.browse(space=space, limit=MAX_CURATION_SCAN)
        return TagListAnswer(
            status="success",
            tags=tags,
            count=len(tags),
            memory_count=sum(counts.get(visible, 0) for visible in self.context.spaces),
            pending_curation=sum(maturity_of(memory) in PENDING_MATURITIES for memory in newest),
            message=f"{len(tags)} tags" if tags else "Nothing is stored yet",
        )

    def _to_tagged(
        self,
        memory: Memory,
        longest: int,
        offset: int,
    ) -> TaggedMemory:
        answer = TaggedMemory(
            id=memory.id,
            description=escape_text(memory.title),
            content=cut_memory_text(memory, longest, offset),
            tags=list(memory.tags),
            stored=to_local_iso(memory.at, self.context.zone),
            usage_count=memory.access_count,
            maturity=maturity_of(memory),
            confidence=round(memory.confidence, 4),
            scope=self.context.scope_of(memory, *SCOPES),
        )
        if author := to_author_stamp(memory):
            answer["generated_by"] = author
        if reviewer := to_reviewer_stamp(memory):
            answer["curated_by"] = reviewer
        return answer


def check_searchable_tags(tags: Sequence[str]) -> list[str]:
    """The tags that can be searched for: of two characters or more. BadInput if none is left."""
    found = [tag for tag in tags if len(tag.strip()) >= MIN_TAG_CHARS]
    if not found:
        raise BadInput(
            f"tags are needed, of {MIN_TAG_CHARS} characters or more, such as oauth2 or jwt_auth"
        )
    return found


def describe_retirement(memory: Memory) -> str:
    """A retired memory with why, and by what it was replaced."""
    by = f", replaced by {memory.superseded_by}" if memory.superseded_by else ""
    return f"{memory.id} ({memory.retired_why}{by})"
