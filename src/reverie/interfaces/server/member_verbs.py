"""What members and administrators of a tenant do beside remembering: spaces, people, keys, audit.

Each verb is a function of a `MemberRequest` and its arguments by name; `member_routes` offers them
by HTTP to whoever has a key, `interfaces/cli/commands/server_commands` to the operator. Who may do
what is decided below, in the room `access`. Spaces are the server's (`~ann/demo`); those of a
request have been exchanged before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from reverie.access import AccessControl, AuditQuery, Caller, KeyScope, Right
from reverie.core.errors import BadInput
from reverie.memory.memory_validation import parse_moment, validate_space
from reverie.sync.push_intake import purge_everywhere

if TYPE_CHECKING:
    from reverie.storage import Store

DAY = 86_400.0
MAX_AUDIT_ROWS = 10_000


@dataclass(frozen=True)
class MemberRequest:
    """Who asks, when, and where it is all kept."""

    control: AccessControl
    caller: Caller
    now: float
    whole_store: Store  # of the tenant, whatever the caller may read: for what they may govern


# Oneself and one's spaces.


def whoami(asked: MemberRequest) -> dict[str, Any]:
    """Who the key stands for: tenant, user, rights in spaces, links."""
    caller = asked.caller
    return {
        "tenant": caller.tenant,
        "user": caller.user,
        "display_name": caller.display_name,
        "email": caller.email,
        "is_admin": caller.is_admin,
        "key": caller.key_id,
        "purpose": caller.purpose,
        "expires_at": caller.expires_at,
        "spaces": [
            {"space": space, "right": right.word}
            for space, right in asked.control.spaces.spaces(caller)
        ],
        "links": [{"space": link.space, "target": link.target} for link in caller.links],
        "limits": caller.limits,
    }


def list_spaces(asked: MemberRequest) -> list[dict[str, Any]]:
    """The shared spaces that one has a right in, and one's own."""
    found = asked.control.spaces.spaces(asked.caller)
    return [{"space": space, "right": right.word} for space, right in found]


def share_space(asked: MemberRequest, space: str, target: str) -> Any:
    """Link a space of one's own to a shared one, which is founded if there is none."""
    return asked.control.spaces.share(
        asked.caller, validate_space(space), validate_space(target), asked.now
    )


def link_space(asked: MemberRequest, space: str, target: str) -> Any:
    """Read a shared space that there is together with one of one's own."""
    return asked.control.spaces.link(asked.caller, validate_space(space), target, asked.now)


def unlink_space(asked: MemberRequest, space: str, target: str) -> None:
    """Take the link away; what was shared stays."""
    asked.control.spaces.unlink(asked.caller, space, target, asked.now)


def trust_space(
    asked: MemberRequest, space: str, is_trusted: bool = True, for_all: bool = False
) -> Any:
    """Say whether what colleagues wrote in a space counts as more than others' words: for oneself,
    or as who administers it for all.
    """
    return asked.control.spaces.trust(
        asked.caller, space, now=asked.now, is_trusted=is_trusted, for_all=for_all
    )


def grant_space(
    asked: MemberRequest, space: str, right: str, user: str = "", team: str = ""
) -> Any:
    """Give a user, a team, or with neither everyone a right in a space and all below it."""
    return asked.control.spaces.grant(
        asked.caller, space, Right.from_word(right), now=asked.now, user=user, team=team
    )


def revoke_space(asked: MemberRequest, space: str, user: str = "", team: str = "") -> None:
    """Take what was granted away again."""
    asked.control.spaces.revoke(asked.caller, space, now=asked.now, user=user, team=team)


def list_grants(asked: MemberRequest, space: str = "") -> Any:
    """Who may do what in shared spaces, as far as one may know."""
    return asked.control.spaces.grants(asked.caller, space)


# People.


def list_members(asked: MemberRequest) -> Any:
    """The users of the tenant."""
    return asked.control.people.users(asked.caller)


def add_member(
    asked: MemberRequest,
    name: str,
    display_name: str = "",
    email: str = "",
    is_admin: bool = False,
) -> Any:
    """Add a user to the tenant. They sign in, or let a device in; who is yet to come is better
    invited (`members/invite`), and gets a key with that. A key that an administrator issues to
    somebody else opens shared spaces alone.
    """
    return asked.control.people.create_user(
        asked.caller,
        name,
        now=asked.now,
        display_name=display_name,
        email=email,
        is_admin=is_admin,
    )


def disable_member(asked: MemberRequest, name: str) -> Any:
    """Switch a user off: no key or login of theirs works; nothing is lost."""
    return asked.control.people.disable_user(asked.caller, name, asked.now)


def enable_member(asked: MemberRequest, name: str) -> Any:
    """Switch a user on again."""
    return asked.control.people.enable_user(asked.caller, name, asked.now)


def invite_member(
    asked: MemberRequest,
    email: str = "",
    is_admin: bool = False,
    teams: Sequence[str] = (),
    spaces: Sequence[str] = (),
    right: str = "write",
    days: float = 7.0,
) -> dict[str, Any]:
    """A code with which one new user joins, with teams and a right in some spaces."""
    new = asked.control.logins.invite(
        asked.caller,
        now=asked.now,
        email=email,
        is_admin=is_admin,
        teams=tuple(teams),
        grants=tuple((space, Right.from_word(right)) for space in spaces),
        seconds=days * DAY,
    )
    return {"code": new.code, "invitation": new.invitation}


def list_invitations(asked: MemberRequest) -> Any:
    """Invitations, the newest first."""
    return asked.control.logins.invitations(asked.caller)


def withdraw_invitation(asked: MemberRequest, prefix: str) -> None:
    """Make an invitation's code worthless."""
    asked.control.logins.withdraw(asked.caller, prefix, asked.now)


def list_teams(asked: MemberRequest) -> Any:
    """The teams of the tenant, with their members."""
    return asked.control.people.teams(asked.caller)


def add_team(asked: MemberRequest, name: str, description: str = "") -> Any:
    """Make a team, which spaces can be granted to."""
    return asked.control.people.create_team(
        asked.caller, name, now=asked.now, description=description
    )


def remove_team(asked: MemberRequest, name: str) -> None:
    """Remove a team, with what it was granted."""
    asked.control.people.delete_team(asked.caller, name, asked.now)


def join_team(asked: MemberRequest, team: str, user: str) -> None:
    """Put a user into a team."""
    asked.control.people.add_member(asked.caller, team, user, asked.now)


def leave_team(asked: MemberRequest, team: str, user: str) -> None:
    """Take a user out of a team."""
    asked.control.people.remove_member(asked.caller, team, user, asked.now)


# Keys.


def list_keys(asked: MemberRequest, user: str = "", everyone: bool = False) -> Any:
    """Keys, without their secrets: one's own, those of a user, or of everyone."""
    return asked.control.keys.list(asked.caller, None if everyone else user)


def issue_key(
    asked: MemberRequest,
    user: str = "",
    label: str = "",
    spaces: Sequence[str] = (),
    right: str = "administer",
    verbs: Sequence[str] = (),
    days: float = 0.0,
) -> dict[str, Any]:
    """A new key, shown once: for some spaces, rights and verbs alone if they are given, and for so
    many days. One that an administrator issues to somebody else opens shared spaces alone: what is
    private is opened by who it belongs to.
    """
    scope = KeyScope(spaces=tuple(spaces), right=Right.from_word(right), verbs=tuple(verbs))
    new = asked.control.keys.issue(
        asked.caller,
        now=asked.now,
        user=user,
        label=label,
        scope=scope,
        expires_at=asked.now + days * DAY if days else None,
    )
    return {"token": new.token, "key": new.key}


def revoke_key(asked: MemberRequest, prefix: str) -> Any:
    """Make a key worthless, from the next request on."""
    return asked.control.keys.revoke(asked.caller, prefix, asked.now)


# Devices that wait to be let in.


def show_device(asked: MemberRequest, user_code: str) -> Any:
    """What waits behind the code that a device shows."""
    return asked.control.logins.pending_device(asked.caller, user_code, asked.now)


def approve_device(asked: MemberRequest, user_code: str) -> Any:
    """Let the device in as oneself."""
    return asked.control.logins.approve_device(asked.caller, user_code, asked.now)


def deny_device(asked: MemberRequest, user_code: str) -> Any:
    """Keep the device out."""
    return asked.control.logins.deny_device(asked.caller, user_code, asked.now)


# What an administrator answers for.


class AuditFields(TypedDict, total=False):
    """Which lines of the audit are asked for."""

    actor: str  # a user's name
    key: str  # the prefix of a key
    verbs: Sequence[str]
    space: str  # this and below
    since: str | float | None
    until: str | float | None
    after: str  # the last id of the page before


def read_audit(asked: MemberRequest, limit: int = 1000, **which: Unpack[AuditFields]) -> Any:
    """Who changed what, and who read shared spaces: names and numbers, never texts."""
    if limit < 1:
        raise BadInput("limit must be 1 or more")
    query = AuditQuery(
        actor=which.get("actor", ""),
        key=which.get("key", ""),
        verbs=tuple(which.get("verbs", ())),
        space=which.get("space", ""),
        since=parse_moment(which.get("since"), "since"),
        until=parse_moment(which.get("until"), "until"),
        after=which.get("after", ""),
        limit=min(limit, MAX_AUDIT_ROWS),
    )
    return asked.control.governance.audit(asked.caller, query)


def list_retention(asked: MemberRequest) -> Any:
    """How long spaces keep what is no longer useful."""
    return asked.control.governance.retention_rules(asked.caller)


def set_retention(asked: MemberRequest, space: str, days: int | None = None) -> Any:
    """Purge memories of a space so many days after they were last useful; without days, never."""
    return asked.control.governance.set_retention(asked.caller, space, days, asked.now)


def list_holds(asked: MemberRequest) -> Any:
    """Legal holds, also those that were lifted."""
    return asked.control.governance.holds(asked.caller)


def place_hold(asked: MemberRequest, kind: str, subject: str, reason: str) -> Any:
    """Forbid to erase what lies below a space, or what a user wrote, until it is lifted."""
    if kind not in ("space", "user"):
        raise BadInput(f"{kind!r} is not one of space, user")
    return asked.control.governance.place_hold(
        asked.caller,
        "space" if kind == "space" else "user",
        subject,
        reason,
        asked.now,
    )


def lift_hold(asked: MemberRequest, id: str) -> None:
    """Lift a legal hold."""
    asked.control.governance.lift_hold(asked.caller, id, asked.now)


def erase_memories(
    asked: MemberRequest, author: str = "", source: str = "", dry_run: bool = True
) -> Any:
    """Erase for good all that a user wrote, or that came from a source, and search for what is
    left. Without `dry_run=false` it is only told what would go; of what lies in private spaces of
    others, how much.
    """
    governance = asked.control.governance
    if dry_run:
        return governance.preview_erasure(asked.caller, author=author, source=source)
    plan = governance.plan_erasure(asked.caller, author=author, source=source)
    purge = partial(purge_everywhere, now=asked.now)
    return asked.control.governance.erase(asked.caller, plan, asked.whole_store, asked.now, purge)
