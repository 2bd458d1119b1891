"""A team's server: be in step with it, share spaces, say what is trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.errors import ServerAway, Unauthenticated
from reverie.core.model import EMPTY_MAPPING
from reverie.runtime.mind.data_verbs import DataVerbs
from reverie.runtime.mind.mind_context import MindContext, VerbGroup

if TYPE_CHECKING:
    from reverie.sync.space_map import Account, Link
    from reverie.sync.sync_step import SyncReport

SyncProgress = Callable[[str, int, int | None], None]
TRIES = 3  # of whoever waits for it


class TeamStatus(NamedTuple):
    """How a home stands with its server."""

    url: str
    user: str
    tenant: str = ""
    seen_at: float = 0.0  # when the server answered last; 0: not yet
    is_away: bool = False
    waiting: int = 0  # memories that wait to be sent
    trouble: str = ""
    refused: Mapping[str, str] = EMPTY_MAPPING  # id → why the server did not take it
    conflicts: tuple[tuple[str, float], ...] = ()  # ids changed on both sides, and when
    shared: Mapping[str, str] = EMPTY_MAPPING  # space here → shared space there
    trusted: tuple[str, ...] = ()  # spaces here whose colleagues are believed


class TeamVerbs(VerbGroup):
    """`mind.team`: what is kept in step with a server, and what of it others see."""

    def __init__(self, context: MindContext, data: DataVerbs) -> None:
        super().__init__(context)
        self._data = data

    def login(self, url: str, key: str) -> Account:
        """Be in step with a server from now on: everything of `me` goes to your private space
        there, what you share to others.

        The key is checked, and kept in a file of the home that only you can read.
        """
        from reverie.sync.team_server import log_in

        return log_in(self._settings, self._store, url, key)

    def let_in(self, user_code: str) -> str:
        """Let another machine in as yourself, by the code that `reverie login`, or `reverie sync
        add URL --sealed`, shows there; what it calls itself.
        """
        from reverie.sync.team_server import let_in

        return let_in(self._settings, self._store, user_code)

    def logout(self) -> Account | None:
        """Be in step with no server any more, and forget the key. Nothing is erased on either
        side.
        """
        from reverie.sync.team_server import log_out

        return log_out(self._settings, self._store)

    def sync(
        self,
        *,
        within: float = float("inf"),
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Send what was changed here and take in what others changed, now.

        What could not be done is in `trouble`; what waits is sent later, once, whatever happens.
        """
        from reverie.sync.server_client import Waits
        from reverie.sync.sync_step import SyncReport, note_trouble, sync_all
        from reverie.sync.team_server import open_client

        self._flush()
        try:
            client = open_client(self._settings, self._store, Waits(tries=TRIES))
        except ServerAway as err:  # a configured key is shown to the server before anything else
            note_trouble(self._work, str(err))
            return SyncReport(trouble=str(err))
        try:
            return sync_all(
                lambda: self._work, client, self._data.purge, within=within, tell=progress
            )
        finally:
            client.close()

    def share(
        self,
        space: str | None = None,
        *,
        shared: str = "",
        to: str = "",
        write: bool = False,
    ) -> Link:
        """Share a space with the team: what it may know of it goes to the shared space there, and
        what others say there comes here.

        The shared space is made, or joined, under the name `shared`, by default that of the space
        without `me/` and without the digits of a project's folder. `to` is a team, a user or
        "everyone" who may read there, with `write` also write. What is about a person stays
        private, and so does every space below.
        """
        from reverie.core.config import name_of_project_space
        from reverie.sync.team_server import grant_access, open_client, share_space

        home = self._writable_space(space)
        name = shared or name_of_project_space(home)
        client = open_client(self._settings, self._store)
        try:
            link = share_space(client, self._store, home, name)
            if to:
                grant_access(client, link.shared, to, "write" if write else "read")
        finally:
            client.close()
        return link

    def unshare(self, space: str | None = None, *, keep: bool = False) -> Link:
        """End the sharing of a space: what you contributed leaves the shared space and is yours
        alone again; `keep`: it stays there.

        What others said there no longer counts here. `share` brings back both.
        """
        from reverie.sync.team_server import open_client, unshare_space

        client = open_client(self._settings, self._store)
        try:
            return unshare_space(
                client,
                self._store,
                self._account().user,
                self._resolve_space(space),
                self._now(),
                keep=keep,
            )
        finally:
            client.close()

    def trust(self, space: str | None = None, *, trusted: bool = True) -> Link:
        """Believe what others say in a shared space, as what was extracted; with `trusted=False`
        no longer.
        """
        from reverie.sync.team_server import open_client, trust_space

        client = open_client(self._settings, self._store)
        try:
            return trust_space(client, self._store, self._resolve_space(space), trusted=trusted)
        finally:
            client.close()

    def spaces(self) -> list[dict[str, Any]]:
        """The shared spaces of the server that you have rights in, each with the local space that
        is linked to it.
        """
        from reverie.sync.sync_state import load_links
        from reverie.sync.team_server import open_client

        client = open_client(self._settings, self._store)
        try:
            listed = client.call("/spaces", {}).get("items", [])
        finally:
            client.close()
        linked = {link.shared: link for link in load_links(self._store)}
        return [
            {
                "space": one["space"],
                "right": one["right"],
                "here": linked[one["space"]].space if one["space"] in linked else "",
                "trusted": one["space"] in linked and linked[one["space"]].trusted,
            }
            for one in listed
        ]

    def status(self) -> TeamStatus | None:
        """How this home stands with its server, without asking it; None without one."""
        from reverie.sync.sync_state import load_account, load_links, load_state
        from reverie.sync.sync_step import build_outbox

        account = load_account(self._store)
        if account is None:
            return None
        state, links = load_state(self._store), load_links(self._store)
        return TeamStatus(
            account.url,
            account.user,
            account.tenant,
            state.seen_at,
            state.fails > 0,
            build_outbox(self._work, account).count_waiting(state),
            state.trouble,
            dict(state.refused),
            state.conflicts,
            {link.space: link.shared for link in links},
            tuple(link.space for link in links if link.trusted),
        )

    def follow(self) -> None:
        """Keep in step in the background until the mind is closed."""
        from reverie.runtime.sync_thread import SyncThread

        if self._context.sync_thread is None:
            self._context.sync_thread = SyncThread(lambda: self._work, self._data.purge)
            self._context.sync_thread.start()

    def _account(self) -> Account:
        from reverie.sync.sync_state import load_account
        from reverie.sync.team_server import NO_ACCOUNT

        account = load_account(self._store)
        if account is None:
            raise Unauthenticated(NO_ACCOUNT)
        return account
