"""A memory of the server as it lies in this home.

One's own comes as it is. What somebody else contributed is another's word, as a line of a team's
file is (`porting.shared_changes`): `untrusted`, describing and commanding nobody, until the user
trusts the space; then it is what it claims to be, at most `extracted`, and calls up nothing by
itself. What addresses the assistant waits for a person in either case. Pure.
"""

from __future__ import annotations

from typing import Any

from reverie.access.authorship import writer_of
from reverie.core.authorship import REVIEWER, WRITER, apply_curate_setting
from reverie.core.config import Settings
from reverie.core.model import TRUST_BY_PROVENANCE, UNTRUSTED, Memory
from reverie.memory.memory_validation import build_memory
from reverie.mirror.shared_lines import HEARD
from reverie.porting.shared_changes import CLAIM_FIELDS, cap_line_trust
from reverie.privacy.untrusted_text import screen_for_injection
from reverie.sync.space_map import SERVER, is_own

# Of others' words these hold as they are; the rest is built anew and screened.
STATE_FIELDS = ("created_at", "updated_at", "retired_at", "retired_why", "superseded_by")


def to_local(
    memory: Memory,
    user: str,
    space: str,
    settings: Settings,
    *,
    trusted: bool,
) -> Memory:
    """A memory of the server, in this space; BadInput if the policy here refuses it."""
    if is_own(memory, user):
        details = {name: one for name, one in memory.details.items() if name != WRITER}
        return memory._replace(space=space, details=details)
    stated: dict[str, Any] = {
        "space": space,
        "kind": memory.kind,
        "title": memory.title,
        "tags": memory.tags,
        "files": memory.files,
        "at": memory.at,
        "speaker": memory.speaker or writer_of(memory),
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "expires_at": memory.expires_at,
        "policy": settings.policy,
    }
    claims: dict[str, Any] = {"provenance": claimed_provenance(memory), "trust": memory.trust}
    details = build_details(memory, trusted=trusted)
    if trusted:
        fields: dict[str, Any] = {**claims, "trust": cap_line_trust(claims), "details": details}
        built = build_memory(memory.id, memory.created_at, memory.text, **stated, **fields)
        built = apply_curate_setting(screen_for_injection(built), settings.curate)
    else:
        fields = {"provenance": UNTRUSTED, "trust": None, "details": details}
        built = build_memory(memory.id, memory.created_at, memory.text, **stated, **fields)
    return built._replace(**{name: getattr(memory, name) for name in STATE_FIELDS})


def claimed_provenance(memory: Memory) -> str:
    """What another's memory may be here: what was extracted, or less if it says so."""
    most = TRUST_BY_PROVENANCE["extracted"]
    return memory.provenance if TRUST_BY_PROVENANCE[memory.provenance] < most else "extracted"


def build_details(memory: Memory, *, trusted: bool) -> dict[str, Any]:
    """The details of another's memory: what it claims for itself is on record, no more."""
    details = {**memory.details, HEARD: SERVER}
    if not trusted:
        claims = {name: details.pop(name) for name in (*CLAIM_FIELDS, REVIEWER) if name in details}
        claims |= {"provenance": memory.provenance, "trust": memory.trust}
        details["claims"] = claims
    return details
