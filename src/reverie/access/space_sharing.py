"""Shared spaces: founding, granting, linking a space of one's own to them, trusting them.

A shared space is there as soon as somebody has a grant in it. Who founds one administers it. To
found a space whose name somebody else has already is refused with the words of every other refusal,
yet who tries can conclude that the name is taken; where that is too much, `everyone_founds` of the
tenant is switched off and administrators found them.
"""

from __future__ import annotations

from reverie.access.actions import AccessActions, audit_entry
from reverie.access.callers import Caller
from reverie.access.rights import check_path, check_shared, covers, is_private
from reverie.core.errors import AccessDenied, BadInput, NotFound
from reverie.storage.access_records import (
    ALL_SHARED,
    Grant,
    GranteeKind,
    Right,
    SpaceLink,
    SpaceTrust,
)


class SpaceSharing(AccessActions):
    """Grants, links and trust."""

    def share(self, caller: Caller, own: str, target: str, now: float) -> SpaceLink:
        """Join or found the shared space `target`, and link the caller's `own` space to it.

        Who may write there joins; where nobody has a grant in or around it, the caller founds it
        and administers it. The caller's key must be able to make memories of its own and all
        shared spaces: a narrowed one is refused.
        """
        self._check_own(caller, own)
        if not caller.rights.may(Right.WRITE, check_shared(target)):
            self.found(caller, target, now)
        return self.link(caller, own, target, now, has_founded=True)

    def found(self, caller: Caller, space: str, now: float) -> Grant:
        """The caller administers a shared space that is nobody's yet, nor any above or below it.

        What lies there though nobody has a grant any more is not given to whoever comes first:
        only an administrator founds such a space.
        """
        check_shared(space)
        grant = Grant(
            space=space,
            kind="user",
            grantee=caller.user,
            right=Right.ADMINISTER,
            granted_by=caller.user,
            granted_at=now,
        )
        with self.tables.governing(caller.tenant) as rows:
            rows.lock_tenant()  # two who found the same space: one is first
            tenant = rows.tenant()
            is_taken = any(
                covers(other.space, space) or covers(space, other.space)
                for other in rows.grants()
                if other.space != ALL_SHARED
            ) or (not caller.is_admin and rows.has_memories(space))
            may_found = tenant is not None and (tenant.everyone_founds or caller.is_admin)
            if is_taken or not may_found or caller.scope.spaces or caller.scope.verbs:
                caller.check(Right.WRITE, space)
                raise AccessDenied
            if space == ALL_SHARED:
                raise BadInput("Name the space, such as demo or platform/api")
            rows.put_grant(grant)
            rows.audit(audit_entry(caller, "space-found", now, space=space))
        self.tables.forget_lookups(caller.tenant)
        return grant

    def grant(
        self,
        caller: Caller,
        space: str,
        right: Right,
        *,
        now: float,
        user: str = "",
        team: str = "",
    ) -> Grant:
        """Give a right in a space and below to a user, a team, or without either to everyone.

        It replaces what they had been granted there. For who administers the space.
        """
        caller.check(Right.ADMINISTER, check_shared(space))
        if user and team:
            raise BadInput("Grant to a user or to a team, one at a time.")
        kind: GranteeKind = "user" if user else "team" if team else "everyone"
        grant = Grant(
            space=space,
            kind=kind,
            grantee=user or team,
            right=right,
            granted_by=caller.user,
            granted_at=now,
        )
        with self.tables.transaction(caller.tenant) as rows:
            if user and rows.user(user) is None:
                raise NotFound(f"There is no user {user!r}.")
            if team and team not in {one.name for one in rows.teams()}:
                raise NotFound(f"There is no team {team!r}.")
            rows.put_grant(grant)
            rows.audit(
                audit_entry(
                    caller, "grant", now, space=space, to=kind, name=grant.grantee, right=right.word
                )
            )
        self.tables.forget_lookups(caller.tenant)
        return grant

    def revoke(
        self, caller: Caller, space: str, *, now: float, user: str = "", team: str = ""
    ) -> None:
        """Take back what was granted there to a user, a team, or without either to everyone.

        Users may give up their own.
        """
        if user != caller.user or team:
            caller.check(Right.ADMINISTER, check_shared(space))
        kind: GranteeKind = "user" if user else "team" if team else "everyone"
        with self.tables.transaction(caller.tenant) as rows:
            if not rows.delete_grant(space, kind, user or team):
                raise NotFound("Nothing was granted there to them.")
            rows.audit(audit_entry(caller, "revoke", now, space=space, to=kind, name=user or team))
        self.tables.forget_lookups(caller.tenant)

    def grants(self, caller: Caller, space: str = "") -> list[Grant]:
        """The grants in a space and below, or all: of the spaces that the caller administers, and
        the caller's own.
        """
        with self.tables.transaction(caller.tenant) as rows:
            found = rows.grants()
            teams = {team.name for team in rows.teams() if caller.user in team.members}
        return [
            grant
            for grant in found
            if (not space or covers(space, grant.space))
            and (
                caller.rights.may(Right.ADMINISTER, grant.space)
                or _is_for(grant, caller.user, teams)
            )
        ]

    def spaces(self, caller: Caller) -> list[tuple[str, Right]]:
        """The spaces that the caller has rights in, each with everything below it."""
        return list(caller.rights.held)

    def link(
        self, caller: Caller, own: str, target: str, now: float, *, has_founded: bool = False
    ) -> SpaceLink:
        """Who reads in `own` reads `target` and its ancestors as well, as far as they may."""
        self._check_own(caller, own)
        if not has_founded:
            caller.check(Right.READ, check_shared(target))
        link = SpaceLink(user=caller.user, space=own, target=target, linked_at=now)
        with self.tables.transaction(caller.tenant) as rows:
            rows.put_link(link)
            rows.audit(audit_entry(caller, "link", now, space=target, own=own))
        self.tables.forget_lookups(caller.tenant)
        return link

    def unlink(self, caller: Caller, own: str, target: str, now: float) -> None:
        """Who reads in `own` no longer reads `target`. What was written there stays."""
        self._check_own(caller, own)
        with self.tables.transaction(caller.tenant) as rows:
            if not rows.delete_link(caller.user, own, target):
                raise NotFound(f"{own!r} is not linked to {target!r}.")
            rows.audit(audit_entry(caller, "unlink", now, space=target, own=own))
        self.tables.forget_lookups(caller.tenant)

    def links(self, caller: Caller) -> list[SpaceLink]:
        """The caller's links."""
        with self.tables.transaction(caller.tenant) as rows:
            return rows.links(caller.user)

    def trust(
        self,
        caller: Caller,
        space: str,
        *,
        now: float,
        is_trusted: bool = True,
        for_all: bool = False,
    ) -> SpaceTrust:
        """Whether colleagues' memories there count as more than others' words, for the caller or,
        by who administers the space, for all who have not decided themselves.
        """
        caller.check(Right.ADMINISTER if for_all else Right.READ, check_shared(space))
        decided = SpaceTrust(
            space=space,
            reader="" if for_all else caller.user,
            is_trusted=is_trusted,
            set_by=caller.user,
            set_at=now,
        )
        with self.tables.transaction(caller.tenant) as rows:
            rows.put_trust(decided)
            rows.audit(
                audit_entry(
                    caller, "trust", now, space=space, is_trusted=is_trusted, for_all=for_all
                )
            )
        self.tables.forget_lookups(caller.tenant)
        return decided

    @staticmethod
    def _check_own(caller: Caller, own: str) -> None:
        if not is_private(own) or not covers(caller.private_root, own):
            raise BadInput(f"{own!r} is not a space of yours: yours are in {caller.private_root}")
        caller.check(Right.READ, check_path(own))


def _is_for(grant: Grant, user: str, teams: set[str]) -> bool:
    return (
        grant.kind == "everyone"
        or (grant.kind == "user" and grant.grantee == user)
        or (grant.kind == "team" and grant.grantee in teams)
    )
