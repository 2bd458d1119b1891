"""A home of its own for a server that code opens by its address: `reverie.open("https://…")`.

It is a folder below the usual home, named by the server's host, and whole as any home is: what is
read is read there, and what is kept goes to the server from there in the background. The key comes
from the environment or the settings, from the replica itself, or from the usual home if that is in
step with the same server.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core import config
from reverie.core.errors import Unauthenticated
from reverie.sync.credentials import load_credentials
from reverie.sync.server_client import parse_server_url
from reverie.sync.sync_state import load_account
from reverie.sync.team_server import log_in

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.runtime.mind import Mind

FOLDER = "servers"
OPENING_SECONDS = 10.0  # that opening waits for what is new on the server


def is_server_address(where: object) -> bool:
    """True for the address of a server."""
    return isinstance(where, str) and where.startswith(("https://", "http://"))


def replica_settings(url: str, settings: Settings | None) -> Settings:
    """The settings of a server's replica: those of the usual home, in a folder of its own."""
    chosen = settings or config.load_settings()
    where = parse_server_url(url)
    name = re.sub(r"[^a-z0-9.-]", "_", where.url.partition("://")[2])
    return chosen._replace(
        home=Path(chosen.home) / FOLDER / name, store="", models=str(chosen.cache)
    )


def follow_server(mind: Mind, url: str, usual_home: Path) -> None:
    """Bring a replica in step with its server, and keep it so until it is closed.

    The first time the server must answer, to say whose key it is; later it may be away: then what
    is here is as of when it was seen last (`mind.team.status()`).
    """
    account = load_account(mind.store)
    place = parse_server_url(url).url
    if account is None or account.url != place or mind.settings.server_key:
        key, kept = find_replica_key(mind.settings, place, usual_home)
        if account is None or account.url != place:
            log_in(mind.settings, mind.store, place, key, kept=kept)
    mind.team.sync(within=OPENING_SECONDS)
    mind.team.follow()


def find_replica_key(settings: Settings, url: str, usual_home: Path) -> tuple[str, bool]:
    """The key to a server, and whether the replica has to keep it."""
    if settings.server_key:
        return settings.server_key, False
    for home in (settings.home, usual_home):
        known = load_credentials(home)
        if known is not None and known.url == url:
            return known.key, True
    raise Unauthenticated(
        f"There is no key to {url}. Set REVERIE_SERVER_KEY, or log in: reverie login {url}"
    )
