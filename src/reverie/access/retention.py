"""What is due to be purged, what a legal hold forbids to erase, and who wrote what. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reverie.access.rights import covers
from reverie.core.errors import HeldByLaw
from reverie.storage.access_records import DevicePlace, LegalHold, RetentionRule, StoredMemory

SECONDS_OF_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """Which memories are to be purged, and which a hold keeps; made before anything is done."""

    what: str  # "author ann", "source …", "retention"
    ids: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    held: tuple[str, ...] = ()  # ids that a legal hold keeps
    holds: tuple[LegalHold, ...] = ()
    device_files: int = 0  # sealed files of the author's devices, which go too

    def check(self) -> None:
        """HeldByLaw, with the reason, if a hold keeps any of the memories."""
        if self.holds:
            first = self.holds[0]
            held = f"{len(self.held)} memories" if self.held else "Files of devices"
            raise HeldByLaw(
                f"{held} may not be erased: a legal hold of the"
                f" {first.kind} {first.subject!r} is in force ({first.reason}). Ask"
                f" {first.placed_by} or another administrator."
            )


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """What an erasure would take, as an administrator may see it: of what lies in private spaces of
    others, how much it is and no more.
    """

    what: str
    ids: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    holds: tuple[LegalHold, ...] = ()
    private: int = 0  # memories in private spaces of others that would go
    private_held: int = 0  # and such as a hold keeps
    device_files: int = 0  # sealed files of the author's devices that would go


def preview_plan(
    plan: ErasurePlan,
    found: Iterable[StoredMemory],
    may_see: Callable[[str], bool],
) -> ErasurePreview:
    """What of a plan may be shown to somebody who may see some spaces."""
    seen = {memory.id for memory in found if may_see(memory.space)}
    ids = tuple(id for id in plan.ids if id in seen)
    held = tuple(id for id in plan.held if id in seen)
    return ErasurePreview(
        plan.what,
        ids,
        tuple(space for space in plan.spaces if may_see(space)),
        held,
        plan.holds,
        len(plan.ids) - len(ids),
        len(plan.held) - len(held),
        plan.device_files,
    )


def hold_on(memory: StoredMemory, holds: Iterable[LegalHold]) -> LegalHold | None:
    """The hold that forbids to erase a memory, if there is one."""
    for hold in holds:
        if hold.lifted_at is not None:
            continue
        if hold.kind == "space" and covers(hold.subject, memory.space):
            return hold
        # A user's private memories are theirs whoever stamped them.
        is_theirs = memory.writer == hold.subject or covers(f"~{hold.subject}", memory.space)
        if hold.kind == "user" and is_theirs:
            return hold
    return None


def hold_on_place(space: str, holds: Iterable[LegalHold]) -> LegalHold | None:
    """The hold that forbids to erase the files of devices in a user's private root."""
    return hold_on(StoredMemory(id="", space=space), holds)


def plan_erasure(
    what: str, memories: Iterable[StoredMemory], holds: Sequence[LegalHold]
) -> ErasurePlan:
    """The plan to purge these memories: those on hold are kept and named."""
    free: list[StoredMemory] = []
    held: list[str] = []
    reasons: dict[str, LegalHold] = {}
    for memory in memories:
        hold = hold_on(memory, holds)
        if hold is None:
            free.append(memory)
        else:
            held.append(memory.id)
            reasons[hold.id] = hold
    return ErasurePlan(
        what=what,
        ids=tuple(memory.id for memory in free),
        spaces=tuple(sorted({memory.space for memory in free})),
        held=tuple(held),
        holds=tuple(reasons.values()),
    )


def rule_for(space: str, rules: Iterable[RetentionRule]) -> RetentionRule | None:
    """The rule of the nearest space at or above this one."""
    fitting = [rule for rule in rules if covers(rule.space, space)]
    return max(fitting, key=lambda rule: (rule.space != "*", len(rule.space)), default=None)


def is_due(memory: StoredMemory, rules: Iterable[RetentionRule], now: float) -> bool:
    """True if the retention of the memory's space has passed."""
    rule = rule_for(memory.space, rules)
    return rule is not None and memory.used_at + rule.days * SECONDS_OF_DAY <= now


def is_place_due(place: DevicePlace, rules: Iterable[RetentionRule], now: float) -> bool:
    """True if no device has looked at its user's files for as long as the retention of the private
    root is: nothing of them was useful since.
    """
    rule = rule_for(place.space, rules)
    return rule is not None and place.seen_at + rule.days * SECONDS_OF_DAY <= now
