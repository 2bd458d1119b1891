"""Spaces: those that one has rights in, who else has, and how far one believes what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.access import ALL_SHARED, Caller, Grant, Right
from reverie.access.callers import is_trusted as is_trusted_by
from reverie.access.rights import covers, is_private
from reverie.core.errors import BadInput
from reverie.interfaces.server.space_names import to_caller_space
from reverie.interfaces.server.team_pages.call import call_member, find_caller
from reverie.interfaces.web.page import Action, Done, View, WebRequest

EVERYONE = "everyone"
RIGHTS = tuple(right.word for right in Right)
PATH = "/team"


class GrantRow(NamedTuple):
    """A right that somebody was given in a space."""

    grant: Grant
    who: str  # "user:ann", "team:core", "everyone": as forms name them
    name: str  # as it is shown
    is_own: bool  # the reader may give it up


class SpaceRow(NamedTuple):
    """A space in which the reader has a right."""

    space: str
    right: str
    is_private: bool
    memories: int
    may_grant: bool
    is_trusted: bool
    grants: Sequence[GrantRow]
    linked_from: Sequence[str]  # the reader's own spaces that read it too


class TeamSpaces(NamedTuple):
    """What one may where."""

    user: str
    tenant: str
    is_admin: bool
    spaces: Sequence[SpaceRow]
    people: Sequence[str]  # whom to grant to, for who may grant anywhere
    teams: Sequence[str]
    rights: Sequence[str] = RIGHTS
    all_shared: str = ALL_SHARED


def show_spaces(mind: Mind, _asked: WebRequest) -> TeamSpaces:
    """All that one has a right in, one's own first."""
    caller = find_caller(mind)
    grants: Sequence[Grant] = call_member(mind, "spaces/grants")
    counts = mind.data.stats().spaces
    names = list_space_names(caller, grants, counts)
    rows = [build_row(name, caller, grants, counts) for name in names]
    may_grant = any(row.may_grant for row in rows)
    return TeamSpaces(
        caller.user,
        caller.tenant,
        caller.is_admin,
        rows,
        [user.name for user in call_member(mind, "members")] if may_grant else (),
        [team.name for team in call_member(mind, "teams")] if may_grant else (),
    )


def list_space_names(
    caller: Caller, grants: Sequence[Grant], counts: Mapping[str, int]
) -> list[str]:
    """The highest spaces that rights are of, then what holds memories and lies below none."""
    named = {space for space, _right in caller.rights.held} | {grant.space for grant in grants}
    # An administrator's right is in every space, and names none.
    named |= set(caller.rights.readable(link.target for link in caller.links))
    known = {space for space in named if space != ALL_SHARED or any_grant_of_all(grants)}
    narrower = known - {ALL_SHARED}
    known |= {
        space.partition("/")[0]
        for space in counts
        if not any(covers(prefix, space) for prefix in narrower)
        and caller.rights.may(Right.READ, space.partition("/")[0])
    }
    return sorted(known, key=lambda space: (not is_private(space), space))


def any_grant_of_all(grants: Sequence[Grant]) -> bool:
    """True if somebody was given every shared space."""
    return any(grant.space == ALL_SHARED for grant in grants)


def build_row(
    space: str, caller: Caller, grants: Sequence[Grant], counts: Mapping[str, int]
) -> SpaceRow:
    """One space as the reader has it."""
    best = max(
        (right for prefix, right in caller.rights.held if covers(prefix, space)), default=None
    )
    return SpaceRow(
        space,
        best.word if best else "",
        is_private(space),
        sum(count for name, count in counts.items() if covers(space, name)),
        not is_private(space) and caller.rights.may(Right.ADMINISTER, space),
        caller.is_trusted(space),
        [name_grant(grant, caller.user) for grant in grants if grant.space == space],
        [
            to_caller_space(link.space, caller.private_root)
            for link in caller.links
            if link.target == space
        ],
    )


def name_grant(grant: Grant, reader: str) -> GrantRow:
    """A grant with its names."""
    who = EVERYONE if grant.kind == "everyone" else f"{grant.kind}:{grant.grantee}"
    name = {"everyone": "everyone", "team": f"team {grant.grantee}"}.get(grant.kind, grant.grantee)
    return GrantRow(grant, who, name, grant.kind == "user" and grant.grantee == reader)


def grant_right(mind: Mind, asked: WebRequest) -> Done:
    """Give a right, in place of what they had there."""
    space, right, who = asked.text("of"), asked.text("right"), name_grantee(asked.text("who"))
    before = find_right(mind, space, who)
    call_member(mind, "spaces/grant", space=space, right=right, **read_grantee(who))
    return Done(
        f"{say_who(who)} may {right} {space}.",
        location=PATH,
        back_path=f"{PATH}/grant" if before else f"{PATH}/revoke",
        back_fields={"of": space, "who": who, **({"right": before} if before else {})},
    )


def revoke_right(mind: Mind, asked: WebRequest) -> Done:
    """Take a right away."""
    space, who = asked.text("of"), name_grantee(asked.text("who"))
    before = find_right(mind, space, who)
    call_member(mind, "spaces/revoke", space=space, **read_grantee(who))
    caller = find_caller(mind)
    # Who has given up their own right can no longer give it back to themselves.
    may_return = before and (caller.is_admin or who != f"user:{caller.user}")
    return Done(
        f"{say_who(who)} no longer has that right in {space}.",
        location=PATH,
        back_path=f"{PATH}/grant" if may_return else "",
        back_fields={"of": space, "who": who, "right": before} if may_return else {},
    )


def find_right(mind: Mind, space: str, who: str) -> str:
    """What somebody was given in a space; empty if nothing was."""
    grants: Sequence[Grant] = call_member(mind, "spaces/grants", space=space)
    named = (name_grant(grant, "") for grant in grants if grant.space == space)
    return next((row.grant.right.word for row in named if row.who == who), "")


def name_grantee(given: str) -> str:
    """Whom a form names: "user:ann", "team:core", "everyone"; a name alone is a user's."""
    kind, colon, name = given.partition(":")
    who = given if colon or given == EVERYONE else f"user:{given}"
    if not given or (colon and (kind not in ("user", "team") or not name)):
        raise BadInput("Whom? Name a user, team:NAME for a team, or everyone")
    return who


def read_grantee(who: str) -> dict[str, str]:
    """The same as arguments."""
    kind, _, name = who.partition(":")
    return {} if who == EVERYONE else {kind: name}


def say_who(who: str) -> str:
    """Whom a form names, at the beginning of a sentence."""
    if who == EVERYONE:
        return "Everyone"
    kind, _, name = who.rpartition(":")
    return f"The team {name}" if kind == "team" else name


def trust_space(mind: Mind, asked: WebRequest) -> Done:
    """Take what colleagues write in a space for more than others' words, or no longer."""
    space, is_trusted = asked.text("of"), asked.text("trust") == "yes"
    for_all = asked.text("for") == "all"
    caller = find_caller(mind)
    was_trusted = is_trusted_by(space, "" if for_all else caller.user, caller.trusts)
    call_member(mind, "spaces/trust", space=space, is_trusted=is_trusted, for_all=for_all)
    whose = "for all who have not decided themselves" if for_all else "for you"
    said = "counts as the team's word" if is_trusted else "counts as others' words"
    return Done(
        f"What colleagues write in {space} {said} from now on, {whose}.",
        location=PATH,
        # Where it was so already there is nothing to take back.
        back_path=f"{PATH}/trust" if was_trusted != is_trusted else "",
        back_fields={
            "of": space,
            "trust": "no" if is_trusted else "yes",
            "for": "all" if for_all else "me",
        },
    )


def share_space(mind: Mind, asked: WebRequest) -> Done:
    """Found a shared space, or join one, read together with one's own of that name."""
    target, own = asked.text("of"), asked.text("own") or f"me/{asked.text('of')}"
    call_member(mind, "spaces/share", space=own, target=target)
    return Done(
        f"{target} is there: {own} reads it too. Give others a right in it below.",
        location=PATH,
        back_path=f"{PATH}/unlink",
        back_fields={"of": target, "own": own},
    )


def unlink_space(mind: Mind, asked: WebRequest) -> Done:
    """Read a shared space no longer together with one's own."""
    target, own = asked.text("of"), asked.text("own")
    call_member(mind, "spaces/unlink", space=own, target=target)
    return Done(
        f"{own} no longer reads {target}. What was shared stays.",
        location=PATH,
        back_path=f"{PATH}/link",
        back_fields={"of": target, "own": own},
    )


def link_space(mind: Mind, asked: WebRequest) -> Done:
    """Read a shared space together with one's own."""
    target, own = asked.text("of"), asked.text("own")
    call_member(mind, "spaces/link", space=own, target=target)
    return Done(
        f"{own} reads {target} too.",
        location=PATH,
        back_path=f"{PATH}/unlink",
        back_fields={"of": target, "own": own},
    )


ROUTES = (
    View(PATH, show_spaces, "team.html"),
    Action(f"{PATH}/grant", grant_right),
    Action(f"{PATH}/revoke", revoke_right),
    Action(f"{PATH}/trust", trust_space),
    Action(f"{PATH}/share", share_space),
    Action(f"{PATH}/link", link_space),
    Action(f"{PATH}/unlink", unlink_space),
)
