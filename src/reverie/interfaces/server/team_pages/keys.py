"""Keys: what programs and browsers come in with; made here, shown once, and made worthless."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.access import ApiKey
from reverie.access.callers import BROWSER, BROWSER_OF_KEY
from reverie.core.errors import BadInput
from reverie.interfaces.server.team_pages.call import call_member, find_caller
from reverie.interfaces.server.team_pages.spaces import RIGHTS
from reverie.interfaces.web.page import Action, Done, ShownOnce, View, WebRequest

PATH = "/team/keys"
DAYS = {"30": "30 days", "90": "90 days", "365": "a year", "0": "for good"}
MAX_KEYS = 200


class KeyRow(NamedTuple):
    """A key as it is listed."""

    key: ApiKey
    state: str  # "", "revoked", "expired"
    is_this: bool  # what this browser is signed in with
    is_session: bool  # of a browser


class KeyPage(NamedTuple):
    """Keys, those that work first."""

    keys: Sequence[KeyRow]
    more: int  # that are not shown
    is_admin: bool
    whose: str  # "" one's own, "everyone"
    state: str  # "" those that work, "all"
    people: Sequence[str]
    days: dict[str, str] = DAYS
    rights: Sequence[str] = RIGHTS


class NewKey(NamedTuple):
    """A key that was just made."""

    token: str
    key: ApiKey


def show_keys(mind: Mind, asked: WebRequest) -> KeyPage:
    """One's own keys, or, for administrators, everyone's."""
    caller = find_caller(mind)
    whose = "everyone" if asked.text("whose") == "everyone" and caller.is_admin else ""
    state = "all" if asked.text("state") == "all" else ""
    found: Sequence[ApiKey] = call_member(mind, "keys", everyone=bool(whose))
    rows = [build_row(key, caller.key_id, asked.now) for key in found]
    shown = [row for row in rows if state == "all" or not row.state]
    shown.sort(key=rank_row)
    return KeyPage(
        shown[:MAX_KEYS],
        len(shown[MAX_KEYS:]),
        caller.is_admin,
        whose,
        state,
        [user.name for user in call_member(mind, "members")] if caller.is_admin else (),
    )


def build_row(key: ApiKey, present: str, now: float) -> KeyRow:
    """A key with what became of it."""
    is_expired = key.expires_at is not None and key.expires_at <= now
    state = "revoked" if key.revoked_at is not None else "expired" if is_expired else ""
    return KeyRow(key, state, key.prefix == present, key.purpose in (BROWSER, BROWSER_OF_KEY))


def rank_row(row: KeyRow) -> tuple[bool, bool, bool, float]:
    """What works comes first, then what one is here with, then keys before sign-ins."""
    return bool(row.state), not row.is_this, row.is_session, -row.key.created_at


def issue_key(mind: Mind, asked: WebRequest) -> Done:
    """A new key, shown once."""
    days = asked.text("days", "90")
    if days not in DAYS:
        raise BadInput(f"days: give one of {', '.join(DAYS)}")
    spaces = [one for one in asked.text("spaces").replace(",", " ").split() if one]
    made = call_member(
        mind,
        "keys/issue",
        user=asked.text("user"),
        label=asked.text("label"),
        spaces=spaces,
        right=asked.text("right", "administer"),
        days=float(days),
    )
    key: ApiKey = made["key"]
    return Done(
        f"The key {key.prefix} is made.",
        details={"token": made["token"], "key": key},
        shown_once=ShownOnce("team_key.html", NewKey(made["token"], key)),
    )


def revoke_key(mind: Mind, asked: WebRequest) -> Done:
    """Worthless from the next request on."""
    prefix = asked.text("key")
    call_member(mind, "keys/revoke", prefix=prefix)
    return Done(
        f"The key {prefix} opens nothing any more, nor does a browser signed in with it.",
        location=asked.text("back") or PATH,
    )


ROUTES = (
    View(PATH, show_keys, "team_keys.html"),
    Action(f"{PATH}/issue", issue_key),
    Action(f"{PATH}/revoke", revoke_key),
)
