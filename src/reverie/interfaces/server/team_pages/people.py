"""People: users, invitations and teams. Administrators change them; others see who is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.access import User
from reverie.core.errors import BadInput
from reverie.interfaces.server.team_pages.call import call_member, find_caller, find_context
from reverie.interfaces.server.team_pages.spaces import RIGHTS
from reverie.interfaces.web.page import Action, Done, ShownOnce, View, WebRequest
from reverie.storage.access_records import Invitation, Team

PATH = "/team/people"
MAX_DAYS = 60


class PeoplePage(NamedTuple):
    """Who is here and who is expected; of non-administrators only they themselves and their
    teams.
    """

    is_admin: bool
    user: str
    users: Sequence[User]
    invitations: Sequence[Invitation]
    teams: Sequence[Team]
    rights: Sequence[str] = RIGHTS


class NewInvitation(NamedTuple):
    """An invitation that was just made."""

    code: str
    invitation: Invitation
    address: str  # a page on which the code is filled in


def show_people(mind: Mind, asked: WebRequest) -> PeoplePage:
    """Users, open invitations, teams."""
    caller = find_caller(mind)
    users: Sequence[User] = call_member(mind, "members")
    teams: Sequence[Team] = call_member(mind, "teams")
    if not caller.is_admin:
        own = [user for user in users if user.name == caller.user]
        return PeoplePage(
            False, caller.user, own, (), [team for team in teams if caller.user in team.members]
        )
    found: Sequence[Invitation] = call_member(mind, "members/invitations")
    waiting = [one for one in found if one.used_at is None and one.expires_at > asked.now]
    return PeoplePage(True, caller.user, users, waiting, teams)


def invite(mind: Mind, asked: WebRequest) -> Done:
    """A code for one new user, shown once."""
    days = asked.number("days", 7, most=MAX_DAYS)
    if not days:
        raise BadInput("days: one at least")
    made = call_member(
        mind,
        "members/invite",
        email=asked.text("email"),
        is_admin=asked.text("is_admin") == "yes",
        teams=asked.texts("teams"),
        spaces=asked.text("spaces").replace(",", " ").split(),
        right=asked.text("right", "write"),
        days=float(days),
    )
    address = f"{find_context(mind).deployment.public_url}/sign-in#{made['code']}"
    shown = NewInvitation(made["code"], made["invitation"], address)
    return Done(
        "The invitation is made.",
        details={"code": shown.code, "invitation": shown.invitation},
        shown_once=ShownOnce("team_invitation.html", shown),
    )


def withdraw(mind: Mind, asked: WebRequest) -> Done:
    """The code is worth nothing any more."""
    call_member(mind, "members/withdraw", prefix=asked.text("invitation"))
    return Done("The invitation is withdrawn.", location=PATH)


def disable(mind: Mind, asked: WebRequest) -> Done:
    """No key or sign-in of theirs works."""
    name = asked.text("user")
    call_member(mind, "members/disable", name=name)
    return Done(
        f"{name} is switched off: no key or sign-in of theirs works. What they wrote stays.",
        location=PATH,
        back_path=f"{PATH}/enable",
        back_fields={"user": name},
    )


def enable(mind: Mind, asked: WebRequest) -> Done:
    """Their keys and sign-ins work again."""
    name = asked.text("user")
    call_member(mind, "members/enable", name=name)
    return Done(
        f"{name} is switched on again.",
        location=PATH,
        back_path=f"{PATH}/disable",
        back_fields={"user": name},
    )


def add_team(mind: Mind, asked: WebRequest) -> Done:
    """A team without members."""
    name = asked.text("team")
    call_member(mind, "teams/add", name=name, description=asked.text("description"))
    return Done(
        f"The team {name} is there. Add who belongs to it.",
        location=PATH,
        back_path=f"{PATH}/teams/remove",
        back_fields={"team": name},
    )


def remove_team(mind: Mind, asked: WebRequest) -> Done:
    """With what it was granted."""
    name = asked.text("team")
    call_member(mind, "teams/remove", name=name)
    return Done(f"The team {name} is gone, with what it was granted.", location=PATH)


def join_team(mind: Mind, asked: WebRequest) -> Done:
    """They have what the team is granted."""
    team, user = asked.text("team"), asked.text("user")
    call_member(mind, "teams/join", team=team, user=user)
    return Done(
        f"{user} is in the team {team}.",
        location=PATH,
        back_path=f"{PATH}/teams/leave",
        back_fields={"team": team, "user": user},
    )


def leave_team(mind: Mind, asked: WebRequest) -> Done:
    """They no longer have what the team is granted."""
    team, user = asked.text("team"), asked.text("user")
    call_member(mind, "teams/leave", team=team, user=user)
    return Done(
        f"{user} is no longer in the team {team}.",
        location=PATH,
        back_path=f"{PATH}/teams/join",
        back_fields={"team": team, "user": user},
    )


ROUTES = (
    View(PATH, show_people, "team_people.html"),
    Action(f"{PATH}/invite", invite),
    Action(f"{PATH}/withdraw", withdraw),
    Action(f"{PATH}/disable", disable),
    Action(f"{PATH}/enable", enable),
    Action(f"{PATH}/teams/add", add_team),
    Action(f"{PATH}/teams/remove", remove_team),
    Action(f"{PATH}/teams/join", join_team),
    Action(f"{PATH}/teams/leave", leave_team),
)
