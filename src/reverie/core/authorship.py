"""Who wrote a memory, and who has reviewed it since: two stamps in its details.

Nobody is asked for them. The author's, `details["author"]`, is set by whoever knows: an MCP server
knows its client, hooks the host and its model, an adapter its framework, extraction the language
model that it asked. A memory without one was written by a person or by a rule. The conversation
stands in the memory's own `session`. The reviewer's, `details["curated"]`, is given by `curate`
alone: what a caller passes under that name is left out, and so is an approval that a caller gives
itself.

Where `settings.curate` is "model", a memory that has an author or was only inferred waits for a
review, unless its words are known to be the user's (`kinds.is_mature`). That is decided when it is
written. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reverie.core.kinds import CURATE, CURATE_INFERRED
from reverie.core.model import EMPTY_MAPPING, Memory

AUTHOR, REVIEWER = "author", "curated"  # names in the details
# The server's stamp (`access.authorship`); here for who compares versions without being a server.
WRITER = "writer"
# Names in a record in jaato's format.
GENERATED_BY, CURATED_BY, SOURCE_AGENT = "generated_by", "curated_by", "source_agent"
# Only a review may set or remove these, and only a person what a guard does.
PROTECTED_DETAILS = (REVIEWER, CURATE, "maturity", "guard")
PERSON = "user"


class Author(NamedTuple):
    """The program that wrote a memory, as far as it is known; what is not is ""."""

    # the host or framework: "claude-code", "pydantic-ai"; "reverie" for its own extraction
    agent: str = ""
    model: str = ""
    provider: str = ""  # "anthropic", "openai", …

    @property
    def details(self) -> dict[str, Any]:
        """The author as an entry of a memory's details; {} if nothing is known."""
        known = {name: value for name, value in self._asdict().items() if value}
        return {AUTHOR: known} if known else {}

    @property
    def label(self) -> str:
        """For people: "claude-code, opus (anthropic)"."""
        names = ", ".join(filter(None, (self.agent, self.model)))
        return f"{names} ({self.provider})" if self.provider else names


UNKNOWN_AUTHOR = Author()


def author_of(memory: Memory) -> Author:
    """The author of a memory; UNKNOWN_AUTHOR for a person or a rule."""
    return parse_author(memory.details.get(AUTHOR))


def parse_author(stamp: object) -> Author:
    """The author in a stamp as it is stored.

    Values that are no text, and other names, are passed over.
    """
    if not isinstance(stamp, Mapping):
        return UNKNOWN_AUTHOR
    values = (stamp.get(name) for name in Author._fields)
    return Author(*(value if isinstance(value, str) else "" for value in values))


def author_from_llm(name: str) -> Author:
    """Reverie as the author, by way of a language model.

    `name` is as in `Llm.name`: "anthropic:<model>".
    """
    provider, _, model = name.partition(":")
    return Author("reverie", model, provider)


def protect_details(
    details: Mapping[str, Any], before: Mapping[str, Any] = EMPTY_MAPPING
) -> dict[str, Any]:
    """Details that a caller passes, with PROTECTED_DETAILS as they were `before`.

    A caller may pass a memory on to a person ("escalated"), unless it has been reviewed before.
    """
    free = {name: value for name, value in details.items() if name not in PROTECTED_DETAILS}
    if details.get("maturity") == "escalated":
        free["maturity"] = "escalated"
    return free | {name: before[name] for name in PROTECTED_DETAILS if name in before}


def protect_revision(
    fields: Mapping[str, Any],
    old: Memory,
    curate: str,
) -> dict[str, Any]:
    """The fields of a revision, their details protected.

    When an author replaces the text or kind, the old review does not hold for the new words.
    """
    details = fields.get("details")
    if not isinstance(details, Mapping):
        return dict(fields)
    if AUTHOR not in details or fields.keys().isdisjoint(("text", "kind")):
        return {**fields, "details": protect_details(details, old.details)}
    protected = protect_details(details)
    provenance = fields.get("provenance", old.provenance)
    return {
        **fields,
        "details": protected | curate_details(protected, provenance, curate),
    }


def apply_curate_setting(memory: Memory, curate: str) -> Memory:
    """A new memory, marked as waiting for a review if the setting `curate` asks for one."""
    marks = curate_details(memory.details, memory.provenance, curate)
    return memory._replace(details={**memory.details, **marks}) if marks else memory


def curate_details(
    details: Mapping[str, Any],
    provenance: str,
    curate: str,
) -> dict[str, str]:
    """The setting `curate` as an entry of details, if the memory has to remember it.

    That is if the setting is not the usual one, and the memory was inferred or written by a model.
    """
    if curate == CURATE_INFERRED:
        return {}
    return {CURATE: curate} if AUTHOR in details or provenance == "inferred" else {}


def from_jaato_stamps(record: Mapping[str, Any]) -> dict[str, Any]:
    """Both stamps of a record in jaato's format, as details of a memory."""
    made = mapping_in(record, GENERATED_BY)
    reviewed = mapping_in(record, CURATED_BY)
    author = parse_author({**made, "agent": made.get("agent_id") or record.get(SOURCE_AGENT)})
    names = (reviewed.get(name) for name in ("agent_id", "model", "kind"))
    reviewer = next((str(name) for name in names if name), "")
    return {**author.details, **({REVIEWER: {"by": reviewer}} if reviewer else {})}


def mapping_in(
    record: Mapping[str, Any],
    name: str,
) -> Mapping[str, Any]:
    """The mapping under a name; an empty one where something else stands."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else EMPTY_MAPPING


def to_author_stamp(memory: Memory) -> dict[str, str]:
    """The author's stamp in jaato's format; {} where there is none."""
    author = author_of(memory)
    if author == UNKNOWN_AUTHOR:
        return {}
    stamp = {
        "kind": "ai",
        "provider": author.provider,
        "model": author.model,
        "session_id": memory.session,
        "agent_id": author.agent,
    }
    return {name: value for name, value in stamp.items() if value}


def to_reviewer_stamp(memory: Memory) -> dict[str, str]:
    """The reviewer's stamp in jaato's format; {} where there is none."""
    reviewer = str(mapping_in(memory.details, REVIEWER).get("by", ""))
    if not reviewer:
        return {}
    return {"kind": "human" if reviewer == PERSON else "ai", "agent_id": reviewer}


def to_jaato_stamps(memory: Memory) -> dict[str, dict[str, str]]:
    """Both stamps for a record in jaato's format, as far as there are any."""
    stamps = {GENERATED_BY: to_author_stamp(memory), CURATED_BY: to_reviewer_stamp(memory)}
    return {name: stamp for name, stamp in stamps.items() if stamp}
