"""Who wrote a memory down, and who has looked at it since: two stamps in its details that nobody is
asked for (X37).

The author's, `details["author"]`, is put there by whoever knows: an MCP server knows its client,
hooks the host and its model, an adapter its framework, extraction the language model that it asked.
What has none was written by a person or by a rule. The conversation stands in the memory's own
`session`. The reviewer's, `details["curated"]`, is given by `curate` alone: what a caller says
under that name is left out, and so is an approval that a caller gives itself.

Where `settings.curate` is "model", what has an author, or was only concluded, waits until somebody
has looked at it, unless its words are known to be the user's (`kinds.is_ripe`). That is decided
when it is written. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reverie.core.kinds import CURATE, CURATE_INFERRED
from reverie.core.model import EMPTY_MAPPING, Memory

AUTHOR, REVIEWER = "author", "curated"  # names in the details
# of a record in jaato's format
GENERATED_BY, CURATED_BY, SOURCE_AGENT = (
    "generated_by",
    "curated_by",
    "source_agent",
)
PROTECTED_DETAILS = (REVIEWER, CURATE, "maturity")
PERSON = "user"


class Author(NamedTuple):
    """The program that wrote something down, as far as that is known; empty texts are not."""

    # the host or framework: "claude-code", "pydantic-ai"; "reverie" for its own extraction
    agent: str = ""
    model: str = ""
    provider: str = ""  # "anthropic", "openai", …

    @property
    def details(self) -> dict[str, Any]:
        """What a memory by this author has in its details."""
        known = {name: value for name, value in self._asdict().items() if value}
        return {AUTHOR: known} if known else {}

    @property
    def label(self) -> str:
        """For people: "claude-code, opus (anthropic)"."""
        return ", ".join(filter(None, (self.agent, self.model))) + (
            f" ({self.provider})" if self.provider else ""
        )


UNKNOWN_AUTHOR = Author()


def author_of(memory: Memory) -> Author:
    """Who wrote a memory; UNKNOWN for a person or a rule."""
    return parse_author(memory.details.get(AUTHOR))


def parse_author(stamp: object) -> Author:
    """An author as it is kept; what is no text, or another name, is passed over."""
    said = stamp if isinstance(stamp, Mapping) else EMPTY_MAPPING
    return Author(
        *(value if isinstance(value := said.get(name), str) else "" for name in Author._fields)
    )


def author_from_llm(name: str) -> Author:
    """Reverie's own reading by a language model, by the name that `Llm.name` has:
    "anthropic:<model>".
    """
    provider, _, model = name.partition(":")
    return Author("reverie", model, provider)


def protect_details(
    details: Mapping[str, Any], before: Mapping[str, Any] = EMPTY_MAPPING
) -> dict[str, Any]:
    """Details that a caller passes, with what only a look may give or take as it was `before`. A
    caller may pass something on to a person ("escalated").
    """
    asked = {"maturity": "escalated"} if details.get("maturity") == "escalated" else {}
    return {
        **{name: value for name, value in details.items() if name not in PROTECTED_DETAILS},
        **asked,
        **{name: before[name] for name in PROTECTED_DETAILS if name in before},
    }


def protect_revision(fields: Mapping[str, Any], old: Memory, curate: str) -> dict[str, Any]:
    """What to revise, guarded. Words that an author puts in the place of others are not those that
    were looked at.
    """
    if not isinstance(details := fields.get("details"), Mapping):
        return dict(fields)
    anew = AUTHOR in details and not fields.keys().isdisjoint(("text", "kind"))
    plain = protect_details(details, EMPTY_MAPPING if anew else old.details)
    provenance = fields.get("provenance", old.provenance)
    return {
        **fields,
        "details": {**plain, **curate_details(plain, provenance, curate)} if anew else plain,
    }


def apply_curate_setting(memory: Memory, curate: str) -> Memory:
    """A new memory, waiting for a look or not, as the setting has it."""
    more = curate_details(memory.details, memory.provenance, curate)
    return memory._replace(details={**memory.details, **more}) if more else memory


def curate_details(details: Mapping[str, Any], provenance: str, curate: str) -> dict[str, str]:
    """What the details of something that a model wrote or concluded say besides, where the setting
    is not the usual.
    """
    return (
        {CURATE: curate}
        if curate != CURATE_INFERRED and (AUTHOR in details or provenance == "inferred")
        else {}
    )


def from_jaato_stamps(record: Mapping[str, Any]) -> dict[str, Any]:
    """Both stamps of a record in jaato's format, as details."""
    made, looked = (
        one if isinstance(one := record.get(name), Mapping) else EMPTY_MAPPING
        for name in (GENERATED_BY, CURATED_BY)
    )
    author = parse_author({**made, "agent": made.get("agent_id") or record.get(SOURCE_AGENT)})
    by = next((str(looked[name]) for name in ("agent_id", "model", "kind") if looked.get(name)), "")
    return {**author.details, **({REVIEWER: {"by": by}} if by else {})}


def to_author_stamp(memory: Memory) -> dict[str, str]:
    """The author's stamp as jaato's format has it; empty where there is none."""
    author = author_of(memory)
    made = {
        "kind": "ai",
        "provider": author.provider,
        "model": author.model,
        "session_id": memory.session,
        "agent_id": author.agent,
    }
    return (
        {name: value for name, value in made.items() if value} if author != UNKNOWN_AUTHOR else {}
    )


def to_reviewer_stamp(memory: Memory) -> dict[str, str]:
    """The reviewer's stamp as jaato's format has it; empty where there is none."""
    looked = memory.details.get(REVIEWER)
    by = str(looked.get("by", "")) if isinstance(looked, Mapping) else ""
    return {"kind": "human" if by == PERSON else "ai", "agent_id": by} if by else {}


def to_jaato_stamps(memory: Memory) -> dict[str, dict[str, str]]:
    """Both stamps for a record in jaato's format, as far as there are any."""
    stamps = {GENERATED_BY: to_author_stamp(memory), CURATED_BY: to_reviewer_stamp(memory)}
    return {name: stamp for name, stamp in stamps.items() if stamp}
