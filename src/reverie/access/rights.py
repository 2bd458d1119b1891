"""What a user, or a key of theirs, may do in which spaces.

A right in a space holds for everything below it and for nothing above it: who may read
`platform/api` may not read `platform`. A user has all rights below `~<user>`, and nobody else has
any there, not even an administrator. `read` < `write` < `administer`.

`Rights` is pure: the database is told by `readable_regex` and `writable_regex`, which its row
security matches with whole spaces. `tests/access/test_rights.py` holds both to a plain model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reverie.core.errors import AccessDenied, BadInput
from reverie.core.model import visible_spaces
from reverie.storage.access_records import ALL_SHARED, Grant, KeyScope, Right, SpaceLink

PRIVATE = "~"
NOTHING = "(?!)"  # matches no space, not even the empty one, which a few events have
EVERYTHING = "."  # what a worker reads
_SEGMENT = re.compile(r"[^\s/\x00-\x1f\x7f]{1,128}")  # as for memories
MAX_DEPTH = 32
# Only these mean something in a regular expression of PostgreSQL outside of brackets.
_SPECIAL = frozenset("\\.^$*+?()[]{}|")


def private_root(user: str) -> str:
    """The root of a user's private spaces: "~ann"."""
    return PRIVATE + user


def is_private(space: str) -> bool:
    """True if a space lies below some user's private root."""
    return space.startswith(PRIVATE)


def check_shared(space: str) -> str:
    """The space, if it is one that can be shared; else BadInput."""
    if is_private(space) or space == "me" or space.startswith("me/"):
        raise BadInput(f"{space!r} is private. Grant a shared space, such as demo or platform/api.")
    return space if space == ALL_SHARED else check_path(space)


def check_path(space: str) -> str:
    """The space, if it is a path of names; else BadInput."""
    parts = space.split("/")
    is_path = all(_SEGMENT.fullmatch(part) and part not in (".", "..") for part in parts)
    if not is_path or len(parts) > MAX_DEPTH or ALL_SHARED in parts:
        raise BadInput(f"{space!r} is not a space like demo or platform/api")
    return space


def covers(prefix: str, space: str) -> bool:
    """True if the space is this one or below it; ALL_SHARED covers every shared space."""
    if prefix == ALL_SHARED:
        return not is_private(space)
    return space == prefix or space.startswith(prefix + "/")


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of one caller: (space, right), each for that space and below."""

    held: tuple[tuple[str, Right], ...] = ()

    def may(self, right: Right, space: str) -> bool:
        """True if the caller has this right, or a higher one, in the space."""
        return any(has >= right and covers(prefix, space) for prefix, has in self.held)

    def check(self, right: Right, space: str) -> None:
        """AccessDenied if not `may`: whether there is such a space is not told."""
        if not self.may(right, space):
            raise AccessDenied(
                f"You may not {right.word} {space!r}, or there is no such space. Ask whoever"
                " administers it, or an administrator of your team's memory."
            )

    def readable(self, spaces: Iterable[str]) -> list[str]:
        """Those of the spaces that the caller may read, in their order."""
        return [space for space in spaces if self.may(Right.READ, space)]

    def prefixes(self, right: Right) -> tuple[str, ...]:
        """The highest spaces in which the caller has this right, sorted."""
        having = {prefix for prefix, has in self.held if has >= right}
        return tuple(
            sorted(
                prefix
                for prefix in having
                if not any(other != prefix and covers(other, prefix) for other in having)
            )
        )

    @property
    def readable_regex(self) -> str:
        """A regular expression that matches the spaces the caller may read."""
        return spaces_regex(self.prefixes(Right.READ))

    @property
    def writable_regex(self) -> str:
        """A regular expression that matches the spaces the caller may write in."""
        return spaces_regex(self.prefixes(Right.WRITE))

    def narrowed(self, scope: KeyScope) -> Rights:
        """The part of these rights that a key with this scope has."""
        held = tuple((prefix, min(has, scope.right)) for prefix, has in self.held)
        if not scope.spaces:
            return Rights(held)
        return Rights(
            tuple(
                (lower, has)
                for prefix, has in held
                for wanted in scope.spaces
                if (lower := _lower_of(prefix, wanted))
            )
        )


def _lower_of(one: str, other: str) -> str:
    """The lower of two spaces of which one covers the other; "" if neither does."""
    if covers(one, other):
        return other
    return one if covers(other, one) else ""


def spaces_regex(prefixes: Iterable[str]) -> str:
    """A regular expression for these spaces and everything below: `^(~ann|demo)(/|$)`.

    It means the same to PostgreSQL and to Python's `re`.
    """
    names = sorted(set(prefixes))
    paths = "|".join(escape_regex(name) for name in names if name != ALL_SHARED)
    below = f"({paths})(/|$)" if paths else ""
    if ALL_SHARED in names:
        return f"^([^{PRIVATE}]|{below})" if below else f"^[^{PRIVATE}]"
    return f"^{below}" if below else NOTHING


def escape_regex(text: str) -> str:
    """The text, to be matched as it stands by a regular expression of PostgreSQL."""
    return "".join("\\" + char if char in _SPECIAL else char for char in text)


def effective_rights(
    user: str,
    grants: Iterable[Grant],
    teams: Iterable[str] = (),
    *,
    is_admin: bool = False,
) -> Rights:
    """What a user may do: all in `~<user>`, and what grants give them, their teams or everyone."""
    own, teams = private_root(user), set(teams)
    best: dict[str, Right] = {own: Right.ADMINISTER}
    if is_admin:
        best[ALL_SHARED] = Right.ADMINISTER
    for grant in grants:
        is_meant = (
            grant.kind == "everyone"
            or (grant.kind == "user" and grant.grantee == user)
            or (grant.kind == "team" and grant.grantee in teams)
        )
        if is_meant and not is_private(grant.space):
            best[grant.space] = max(grant.right, best.get(grant.space, Right.READ))
    return Rights(tuple(sorted(best.items())))


def spaces_read_from(space: str, links: Iterable[SpaceLink], rights: Rights) -> list[str]:
    """The spaces that a recall in `space` reads: it and its ancestors, then those that they are
    linked to with their ancestors; each once, and only what may be read.
    """
    own = visible_spaces(space)
    linked = [seen for link in links if link.space in own for seen in visible_spaces(link.target)]
    return rights.readable(dict.fromkeys((*own, *linked)))
