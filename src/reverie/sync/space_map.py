"""Which local space is which on the server, and what goes where.

`me` and all below it are `~user` on the server, which nobody else reads. A linked space
(`reverie share`) is a shared one there: what a team may know of it goes to the shared space, the
rest of it, such as what is about a person, to the private one, and so does every space below it: a
session's own is nobody else's. Other roots than `me` stay at home unless they are linked.

Others' words are never pushed back, and neither is what came with a team's file, which has its own
way. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from reverie.core.config import ME
from reverie.core.model import Memory, visible_spaces
from reverie.mirror.shared_lines import HEARD, SHARED, is_shareable

PRIVATE = "~"
SERVER = "the team's server"  # under HEARD, in the details of what others contributed there
# Retired for these reasons by the reader's own tidying: no word about what the team knows.
OWN_TIDYING = ("faded",)


class Account(NamedTuple):
    """Who one is on a server, and the name of this home there."""

    url: str
    user: str
    tenant: str = ""
    device: str = ""


class Link(NamedTuple):
    """A local space that is a shared one on the server."""

    space: str  # here: "me/demo"
    shared: str  # there: "demo"
    # what others say there is believed as what was extracted
    trusted: bool = False


class SpaceMap(NamedTuple):
    """What is which, for one user."""

    user: str
    links: tuple[Link, ...] = ()
    # shared spaces that were linked once: what went there may be there still
    former: tuple[str, ...] = ()
    # what is private lies there sealed (`device_logs`), so none of it is sent to be read
    keeps_private: bool = False

    @property
    def private_root(self) -> str:
        """The user's own root on the server."""
        return f"{PRIVATE}{self.user}"

    def to_private(self, space: str) -> str:
        """A space of `me` as the user's own one on the server; "" for another root."""
        root, slash, rest = space.partition("/")
        return f"{self.private_root}{slash}{rest}" if root == ME else ""

    def link_of(self, space: str) -> Link | None:
        """The link of a local space, itself and no other."""
        return next((link for link in self.links if link.space == space), None)

    def server_space(self, memory: Memory) -> str:
        """Where a memory goes on the server; "" if it stays here."""
        if not is_own(memory, self.user) or memory.details.get(HEARD) == SHARED:
            return ""
        link = self.link_of(memory.space)
        if link is not None and is_for_team(memory):
            return link.shared
        return "" if self.keeps_private else self.to_private(memory.space)

    def possible_spaces(self, space: str) -> tuple[str, ...]:
        """The spaces of the server that what lies in a local space may have been put into."""
        shared = (link.shared for link in self.links)
        found = (self.to_private(space), *shared, *self.former)
        return tuple(dict.fromkeys(filter(None, found)))

    def local_space(self, space: str) -> str:
        """Where what is in a space of the server lies here; "" if it is not wanted."""
        root, slash, rest = space.partition("/")
        if root == self.private_root:
            return f"{ME}{slash}{rest}"
        # What stands above a linked space is read there, as everywhere.
        readers = (link for link in self.links if space in visible_spaces(link.shared))
        return next((link.space for link in readers), "")

    def is_trusted(self, local: str) -> bool:
        """True if the user trusts what others say in a local space."""
        link = self.link_of(local)
        return link is not None and link.trusted

    def wanted_spaces(self) -> tuple[str, ...]:
        """The shared spaces whose memories are wanted here."""
        found = {space for link in self.links for space in visible_spaces(link.shared)}
        return tuple(sorted(found))


def is_own(memory: Memory, user: str) -> bool:
    """True unless somebody else contributed a memory, or put other words into it.

    What the server itself made in a shared space, as by its sleep, bears no writer's stamp and is
    nobody's own; elsewhere what bears none was written here.
    """
    # All of access comes with it, a tenth of a second, which who only reads a state is spared.
    from reverie.access.authorship import is_word_of, writer_of

    if not writer_of(memory):
        is_of_team = memory.space.partition("/")[0] != ME and not memory.space.startswith(PRIVATE)
        return not is_of_team and memory.details.get(HEARD) != SERVER
    return is_word_of(memory, user)


def is_for_team(memory: Memory) -> bool:
    """True if a memory may stand in a shared space, whether it counts or not.

    By the rule of shared files: knowledge that has proved itself and is about no person.
    """
    return is_shareable(memory._replace(retired_at=None))


def is_tidied_away(memory: Memory) -> bool:
    """True if a memory was only put away by the reader's own tidying."""
    return not memory.active and memory.retired_why in OWN_TIDYING
