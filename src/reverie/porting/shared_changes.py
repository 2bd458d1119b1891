"""The changes that follow from the lines of a shared file: new, revised and retired memories.

What others wrote is `untrusted` here, other words for a memory of ours too: it describes and
commands nobody. Of a file that the user trusts, since people review what is committed there, it is
what it claims to be, at most `extracted`. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reverie.core.authorship import AUTHOR, CURATED_BY, REVIEWER, apply_curate_setting
from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_count
from reverie.core.kinds import CURATE, is_mature
from reverie.core.model import (
    TRUST_BY_PROVENANCE,
    UNTRUSTED,
    Add,
    Change,
    Fields,
    Memory,
    Retire,
    Revise,
    index_memories,
)
from reverie.memory.memory_validation import build_memory, build_revision
from reverie.mirror import shared_lines
from reverie.mirror.three_way_merge import is_doubtful_deletion
from reverie.pipeline.event_reader import WorkContext
from reverie.privacy.untrusted_text import PLANTED, screen_for_injection
from reverie.text.tokenization import shorten_line

if TYPE_CHECKING:
    from reverie.porting.shared_files import FileShare

# what a line says for itself
CLAIM_FIELDS = ("maturity", "confidence", CURATED_BY)
# in details: what is true of the words as they stand
WORDING_FIELDS = (AUTHOR, REVIEWER, CURATE, "maturity")


@dataclass(slots=True)
class TakenLines:
    """What a file says that is new to us."""

    changes: list[Change] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)  # names that leave the file: we let them go
    shy: set[str] = field(
        default_factory=set
    )  # names whose lines stay as they are: nothing of ours
    troubles: list[str] = field(default_factory=list)


class LineTaker:
    """Holds the lines of a file against what we say and what the file said before."""

    def __init__(
        self,
        work: WorkContext,
        share: FileShare,
        ours: Mapping[str, Memory],
        said: Mapping[str, str],
    ) -> None:
        """`ours` are our memories by the names they have there; `said` what records said before."""
        self.work, self.share, self.ours, self.said = work, share, ours, said
        self.zone = work.zone()
        self.taken = TakenLines()

    def take(self, page: shared_lines.SharedFile, is_absent: bool) -> TakenLines:
        """What the lines of a file come to; `is_absent` if there is no such file."""
        records = page.records
        ids = {}
        for name, record in records.items():
            if name not in self.ours:
                at = shared_lines.parse_local_time(record.get("timestamp"), self.zone)
                ids[name] = shared_lines.derive_shared_id(record, at or 0.0, self.share.space)
        known = index_memories(self.work.store.get(list(ids.values())))
        for name, record in records.items():
            try:
                if name in self.ours:
                    self._take_known(name, record)
                else:
                    self._take_unknown(
                        name,
                        record,
                        ids[name],
                        known.get(ids[name]),
                    )
            except BadInput as err:
                # its line stays as it is
                self.taken.shy.add(name)
                self.taken.troubles.append(f"{name} cannot be taken in: {err}")
        self._retire_dropped(records, is_absent)
        return self.taken

    def _take_known(self, name: str, record: Fields) -> None:
        """Take in what a line says of a memory of ours."""
        memory = self.ours[name]
        if self._is_altered(name, record):
            stated = shared_lines.from_shared_record(record, self.zone)
            fields = build_revised_fields(memory, stated, trusted=self.share.trusted)
        elif self.share.trusted and is_liftable(memory):
            fields = build_lifted_fields(shared_lines.from_shared_record(record, self.zone))
        else:
            return
        if fields:
            self.taken.changes.append(build_line_revision(memory, self.work, fields))

    def _is_altered(self, name: str, record: Fields) -> bool:
        """True if a line says neither what it said before nor what we say."""
        now_says = shared_lines.digest_record(record)
        if now_says == self.said.get(name):
            return False
        we_say = shared_lines.to_shared_record(self.ours[name], self.zone)
        return now_says != shared_lines.digest_record(we_say)

    def _take_unknown(
        self,
        name: str,
        record: Fields,
        id: str,
        known: Memory | None,
    ) -> None:
        """Take in a line that is of no memory that we share; `known` is one that we had."""
        now_says = shared_lines.digest_record(record)
        if known is not None and known.active and not is_mature(known):
            # it waits for a look here: the others keep it
            self.taken.shy.add(name)
        elif self.said.get(name) == now_says:
            self.taken.gone.add(name)
        elif known is not None or shared_lines.is_dismissed(record):
            # let go here, or put away there: it is not revived, and not taken from the others
            self.taken.shy.add(name)
        else:
            new = build_shared_memory(id, self.work, self.share, record, self.zone)
            self.taken.changes.append(new)

    def _retire_dropped(self, records: Fields, is_absent: bool) -> None:
        """Forget what somebody deleted there, unless it looks like an accident."""
        dropped = [name for name in self.said if name in self.ours and name not in records]
        # As on a page of the mirror: whatever empties a file is rarely a decision.
        if dropped and is_doubtful_deletion(len(dropped), len(self.said), is_absent):
            self.taken.troubles.append(
                f"{self.share.path}: {len(dropped):,} of {len(self.said):,} lines are gone. "
                "They are written anew; to forget them, delete them a few at a time, "
                "or use reverie forget"
            )
            return
        for name in dropped:
            self.taken.changes.append(Retire(id=self.ours[name].id, at=self.work.now))


def build_line_revision(
    memory: Memory,
    work: WorkContext,
    fields: Fields,
) -> Revise:
    """What a line says of a memory of ours.

    If it is another's word from now on, it is believed as that.
    """
    revision = build_revision(memory, work.now, fields, work.zone, work.policy)
    if revision.fields.get("provenance") in (None, UNTRUSTED):
        return revision
    confidence = revision.fields["trust"]
    return revision._replace(fields={**revision.fields, "confidence": confidence})


def build_revised_fields(
    memory: Memory,
    stated: Fields,
    *,
    trusted: bool,
) -> dict[str, Any]:
    """The fields to revise by what a line says of a memory of ours.

    Other words are not those of who said it first, nor those that somebody has looked at.
    """
    fields = {name: stated[name] for name in ("text", "title", "tags")}
    short_title = shorten_line(memory.text, shared_lines.MAX_DESCRIPTION_CHARS)
    if stated["text"] == memory.text and stated["title"] in (memory.title, short_title):
        return fields
    details = {name: value for name, value in memory.details.items() if name not in WORDING_FIELDS}
    # who wrote the line, as it says; who looked at it is not taken over with it
    if AUTHOR in stated["details"]:
        details[AUTHOR] = stated["details"][AUTHOR]
    details[shared_lines.HEARD] = shared_lines.SHARED
    reworded = memory._replace(
        text=stated["text"],
        title=stated["title"],
        details=details,
    )
    if not trusted:
        return {
            **fields,
            "provenance": UNTRUSTED,
            "details": reworded.details,
        }
    screened = screen_for_injection(reworded)
    return {
        **fields,
        "provenance": stated["provenance"],
        "details": screened.details,
    }


def is_liftable(memory: Memory) -> bool:
    """True if it came from a shared file before the user trusted that.

    What addresses the assistant is not lifted.
    """
    return (
        memory.provenance == UNTRUSTED
        and memory.details.get(shared_lines.HEARD) == shared_lines.SHARED
        and PLANTED not in memory.details
    )


def build_lifted_fields(stated: Fields) -> dict[str, Any]:
    """The fields to revise so that a memory becomes what its line claims; empty for no more."""
    if stated["provenance"] == UNTRUSTED:
        return {}
    return {"provenance": stated["provenance"], "trust": cap_line_trust(stated)}


def cap_line_trust(stated: Fields) -> float:
    """The trust of a line (0..1): as it says, at most that of its provenance."""
    most = TRUST_BY_PROVENANCE[stated["provenance"]]
    return most if stated["trust"] is None else min(stated["trust"], most)


def build_shared_memory(
    id: str,
    work: WorkContext,
    share: FileShare,
    record: Fields,
    zone: str,
) -> Add:
    """A record as a new memory, with the use that was made of it.

    If the share is not trusted, what it claims for itself is on record, no more. What addresses the
    assistant waits for a person in any case.
    """
    stated = shared_lines.from_shared_record(record, zone)
    details = {**stated["details"], shared_lines.HEARD: shared_lines.SHARED}
    if share.trusted:
        fields = {
            **stated,
            "details": details,
            "trust": cap_line_trust(stated),
        }
        memory = build_memory(
            id,
            work.now,
            space=share.space,
            policy=work.policy,
            **fields,
        )
        memory = apply_curate_setting(screen_for_injection(memory), work.settings.curate)
    else:
        details.pop(REVIEWER, None)
        claims = {name: record[name] for name in CLAIM_FIELDS if record.get(name) is not None}
        if claims:
            details["claims"] = claims
        fields = {
            **stated,
            "provenance": UNTRUSTED,
            "trust": None,
            "details": details,
        }
        memory = build_memory(
            id,
            work.now,
            space=share.space,
            policy=work.policy,
            **fields,
        )
    used = to_count(record.get("usage_count"))
    last = shared_lines.parse_local_time(record.get("last_accessed"), zone)
    return Add(memory=memory._replace(access_count=used, last_accessed_at=last))
