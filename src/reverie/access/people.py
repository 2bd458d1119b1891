"""Users and teams of a tenant: managed by its administrators, listed by everyone in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reverie.access.actions import AccessActions, audit_entry
from reverie.access.api_keys import check_email, check_tenant_name, check_user_name
from reverie.access.callers import Caller
from reverie.core.errors import BadInput, Conflict, NotFound
from reverie.storage.access_records import Team, User


class People(AccessActions):
    """Users and teams."""

    def create_user(
        self,
        caller: Caller,
        name: str,
        *,
        now: float,
        display_name: str = "",
        email: str = "",
        is_admin: bool = False,
    ) -> User:
        """A new user; Conflict if the name is taken."""
        caller.check_admin()
        user = User(
            name=check_user_name(name),
            display_name=display_name,
            email=check_email(email),
            is_admin=is_admin,
            created_at=now,
        )
        with self.tables.transaction(caller.tenant) as rows:
            if not rows.add_user(user):
                raise Conflict(f"There is a user {name!r} already. Choose another name.")
            rows.audit(audit_entry(caller, "user-create", now, user=name, is_admin=is_admin))
        return user

    def users(self, caller: Caller) -> list[User]:
        """The users of the tenant, by name; e-mail addresses are for administrators alone."""
        with self.tables.transaction(caller.tenant) as rows:
            users = rows.users()
        if caller.is_admin:
            return users
        return [user if user.name == caller.user else replace(user, email="") for user in users]

    def change_user(
        self,
        caller: Caller,
        name: str,
        *,
        now: float,
        display_name: str | None = None,
        email: str | None = None,
        is_admin: bool | None = None,
    ) -> User:
        """Other values for some fields of a user; users may change their own display name.

        Who has the e-mail address signs in as the user where they have not signed in before: the
        audit tells who set it.
        """
        if name != caller.user or email is not None or is_admin is not None:
            caller.check_admin()
        address = None if email is None else check_email(email)
        wanted = {"display_name": display_name, "email": address, "is_admin": is_admin}
        fields = {field: value for field, value in wanted.items() if value is not None}
        return self._save(caller, name, "user-change", now, fields)

    def disable_user(self, caller: Caller, name: str, now: float) -> User:
        """No key or login of the user works until `enable_user`; what they wrote stays."""
        caller.check_admin()
        return self._save(caller, name, "user-disable", now, {"disabled_at": now})

    def enable_user(self, caller: Caller, name: str, now: float) -> User:
        """Keys and logins of the user work again."""
        caller.check_admin()
        return self._save(caller, name, "user-enable", now, {"disabled_at": None})

    def _save(
        self, caller: Caller, name: str, verb: str, now: float, fields: Mapping[str, object]
    ) -> User:
        with self.tables.transaction(caller.tenant) as rows:
            rows.lock_tenant()
            before = rows.user(name)
            if before is None:
                raise NotFound(f"There is no user {name!r}.")
            user = replace(before, **fields)  # type: ignore[arg-type]
            rows.save_user(user)
            if not any(one.is_admin and one.disabled_at is None for one in rows.users()):
                raise BadInput(f"{name!r} is the last administrator. Make somebody else one first.")
            rows.audit(audit_entry(caller, verb, now, user=name, fields=sorted(fields)))
        self.tables.forget_lookups(caller.tenant)
        return user

    def create_team(self, caller: Caller, name: str, *, now: float, description: str = "") -> Team:
        """A new team without members; Conflict if the name is taken."""
        caller.check_admin()
        team = Team(name=check_tenant_name(name), description=description, created_at=now)
        with self.tables.transaction(caller.tenant) as rows:
            if not rows.add_team(team):
                raise Conflict(f"There is a team {name!r} already. Choose another name.")
            rows.audit(audit_entry(caller, "team-create", now, team=name))
        return team

    def delete_team(self, caller: Caller, name: str, now: float) -> None:
        """The team is gone, and with it what it was granted."""
        caller.check_admin()
        with self.tables.transaction(caller.tenant) as rows:
            if not rows.delete_team(name):
                raise NotFound(f"There is no team {name!r}.")
            rows.audit(audit_entry(caller, "team-delete", now, team=name))
        self.tables.forget_lookups(caller.tenant)

    def teams(self, caller: Caller) -> list[Team]:
        """The teams of the tenant with their members, by name."""
        with self.tables.transaction(caller.tenant) as rows:
            return rows.teams()

    def add_member(self, caller: Caller, team: str, user: str, now: float) -> None:
        """The user has what the team is granted."""
        self._set_member(caller, team, user, now, is_member=True)

    def remove_member(self, caller: Caller, team: str, user: str, now: float) -> None:
        """The user no longer has what the team is granted."""
        self._set_member(caller, team, user, now, is_member=False)

    def _set_member(
        self, caller: Caller, team: str, user: str, now: float, *, is_member: bool
    ) -> None:
        caller.check_admin()
        verb = "team-add-member" if is_member else "team-remove-member"
        with self.tables.transaction(caller.tenant) as rows:
            if rows.user(user) is None:
                raise NotFound(f"There is no user {user!r}.")
            if team not in {one.name for one in rows.teams()}:
                raise NotFound(f"There is no team {team!r}.")
            rows.set_member(team, user, is_member)
            rows.audit(audit_entry(caller, verb, now, team=team, user=user))
        self.tables.forget_lookups(caller.tenant)
