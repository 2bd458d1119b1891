"""What a user does with a team's server by hand: log in and out, share, unshare, trust.

Whatever is said there is done on the server first and noted here after it: who is cut off between
the two does it again, and it comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import Any, NamedTuple

from reverie.access.rights import check_shared
from reverie.core import clock
from reverie.core.config import ME, Settings
from reverie.core.errors import BadInput, LoginPending, NotFound, ServerAway, Unauthenticated
from reverie.core.model import PULLED, Event, Filter, Retire
from reverie.storage import Store
from reverie.sync.credentials import (
    Credentials,
    load_credentials,
    load_place_keys,
    remove_credentials,
    save_credentials,
)
from reverie.sync.inbox import LEFT_WHY
from reverie.sync.server_client import USUAL_WAITS, ServerClient, Waits, parse_server_url
from reverie.sync.space_map import Account, Link, is_own
from reverie.sync.sync_state import (
    load_account,
    load_kept,
    load_links,
    save_account,
    save_kept,
    save_links,
)
from reverie.text.tokenization import fingerprint_text

EVERYONE = "everyone"
OWNER_META = "server-key-owner"  # the digest of a key that is known to be the account's
NO_ACCOUNT = "This memory is in step with no server. Log in first: reverie login URL"
DEFAULT_TENANT = "default"
MAX_SPACE_MEMORIES = 1_000_000


class DeviceCode(NamedTuple):
    """What a person types where they are signed in already, to let this machine in."""

    user_code: str
    page: str
    device_code: str
    interval: float
    expires_in: float


def open_client(
    settings: Settings,
    store: Store,
    waits: Waits = USUAL_WAITS,
) -> ServerClient:
    """A client of the server that a home is in step with; Unauthenticated without its key, or with
    one of the environment's that is another user's.
    """
    account = load_account(store)
    if account is None:
        raise Unauthenticated(NO_ACCOUNT)
    client = ServerClient(account.url, find_key(settings, account.url), waits)
    if settings.server_key:
        try:
            check_key_owner(client, store, account, settings.server_key)
        except BaseException:
            client.close()
            raise
    return client


def check_key_owner(client: ServerClient, store: Store, account: Account, key: str) -> None:
    """Unauthenticated if a key is not that of the account: what is private here would go into
    somebody else's private space. The server is asked once for each key.
    """
    digest = fingerprint_text(key).hex()
    if store.meta(OWNER_META) == digest:
        return
    who = client.whoami()
    owner = (str(who.get("user") or ""), str(who.get("tenant") or ""))
    if owner != (account.user, account.tenant):
        raise Unauthenticated(
            f"REVERIE_SERVER_KEY is the key of {owner[0] or 'nobody'}, and this memory is in step "
            f"with {account.url} as {account.user}. Unset it, or give another home: REVERIE_HOME"
        )
    store.set_meta(OWNER_META, digest)


def find_key(settings: Settings, url: str) -> str:
    """The key to a server: the configured one, else the home's, which is for its own server."""
    if settings.server_key:
        return settings.server_key
    known = load_credentials(settings.home)
    if known is None or known.url != parse_server_url(url).url:
        raise Unauthenticated(f"There is no key to {url} here. Log in: reverie login {url}")
    return known.key


def request_device_code(
    url: str,
    tenant: str,
    name: str,
) -> DeviceCode:
    """A code for this machine, for a person to let it in."""
    client = ServerClient(url, "")
    try:
        given = client.call("/login/device", {"tenant": tenant, "client_name": name})
    finally:
        client.close()
    return DeviceCode(
        str(given["user_code"]),
        str(given.get("verification_uri_complete") or given["verification_uri"]),
        str(given["device_code"]),
        float(given.get("interval") or 5.0),
        float(given.get("expires_in") or 600.0),
    )


def await_device_key(url: str, code: DeviceCode, pause: Callable[[float], None]) -> str:
    """The key of this machine, once somebody has let it in; LoginRefused if nobody does in time."""
    client = ServerClient(url, "")
    end = clock.ticks() + code.expires_in
    try:
        while True:
            try:
                given = client.call("/login/device/poll", {"device_code": code.device_code})
                return str(given["token"])
            except LoginPending as err:
                if clock.ticks() > end:
                    raise
                pause(max(code.interval, err.retry_after or 0.0))
    finally:
        client.close()


def let_in(settings: Settings, store: Store, user_code: str) -> str:
    """Let in the device that shows a code, as the user of this home at the server that it is
    logged in to, or at one that keeps its sealed files; what it calls itself.
    """
    places = {} if load_account(store) else load_place_keys(settings.home)
    if not places:
        with closing(open_client(settings, store)) as client:
            return approve_device(client, user_code)
    *others, last = places.items()
    for url, key in others:
        with suppress(NotFound), closing(ServerClient(url, key)) as client:
            return approve_device(client, user_code)
    with closing(ServerClient(*last)) as client:
        return approve_device(client, user_code)


def approve_device(client: ServerClient, user_code: str) -> str:
    """Let the device in that shows a code, as the user of this home; what it calls itself."""
    found = client.call("/devices/approve", {"user_code": user_code})
    return str(found.get("client_name") or "a device")


def use_invitation(url: str, code: str, name: str) -> str:
    """Become a user by an invitation's code; the key."""
    client = ServerClient(url, "")
    try:
        return str(client.call("/join", {"code": code, "name": name})["token"])
    finally:
        client.close()


def log_in(
    settings: Settings,
    store: Store,
    url: str,
    key: str,
    *,
    kept: bool = True,
) -> Account:
    """Be in step with a server from now on; what is linked there is linked here.

    The key is checked first. With `kept`, it is written into the home.
    """
    client = ServerClient(url, key.strip())
    try:
        who = client.whoami()
    finally:
        client.close()
    user = str(who.get("user") or "")
    if not user:
        raise ServerAway(f"{url} does not say whose key this is: it is no server of this version")
    place, before = client.address.url, load_account(store)
    is_same = before is not None and (before.url, before.user) == (place, user)
    device = before.device if before and is_same else clock.new_id("dev")
    account = Account(place, user, str(who.get("tenant") or ""), device)
    if kept:
        save_credentials(settings.home, Credentials(place, key.strip()))
    save_account(store, account)
    store.set_meta(OWNER_META, fingerprint_text(key.strip()).hex())
    known = {link.space: link for link in load_links(store)}
    for link in read_links(who):
        known.setdefault(link.space, link)
    save_links(store, known.values())
    return account


def read_links(who: Mapping[str, Any]) -> list[Link]:
    """The links that a user has on the server, which other devices made."""
    listed = who.get("links")
    return [
        Link(str(one["space"]), str(one["target"]))
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, Mapping) and str(one.get("space", "")).split("/")[0] == ME
    ]


def log_out(settings: Settings, store: Store) -> Account | None:
    """Be in step with no server any more, and forget the key. What is here stays; so does what is
    there.
    """
    account = load_account(store)
    remove_credentials(settings.home)
    save_account(store, None)
    return account


def share_space(
    client: ServerClient,
    store: Store,
    space: str,
    shared: str,
) -> Link:
    """Make or join a shared space on the server, and link a local one to it."""
    check_shared(shared)
    known = next((link for link in load_links(store) if link.space == space), None)
    if known is not None and known.shared != shared:
        raise BadInput(
            f"{space} is shared as {known.shared} already. "
            f"To share it as another one, first: reverie unshare {space}"
        )
    client.call("/spaces/share", {"space": space, "target": shared})
    link = known or Link(space, shared)
    others = [one for one in load_links(store) if one.space != space]
    save_kept(store, [one for one in load_kept(store) if one != shared])
    save_links(store, [*others, link])
    return link


def grant_access(
    client: ServerClient,
    shared: str,
    name: str,
    right: str,
) -> str:
    """Give a team, a user or everyone a right in a shared space; which of them it was."""
    asked = {"space": shared, "right": right}
    if name == EVERYONE:
        client.call("/spaces/grant", asked)
        return EVERYONE
    with suppress(NotFound):
        client.call("/spaces/grant", {**asked, "team": name})
        return f"the team {name}"
    try:
        client.call("/spaces/grant", {**asked, "user": name})
    except NotFound as err:
        raise NotFound(f"There is neither a team nor a user {name!r} on the server") from err
    return name


def unshare_space(
    client: ServerClient,
    store: Store,
    user: str,
    space: str,
    now: float,
    *,
    keep: bool = False,
) -> Link:
    """End the link of a local space. What is ours leaves the shared space with the next push,
    unless it is to be kept there; what others said there no longer counts here.
    """
    link = find_link(store, space)
    # Another device of ours may have said so already.
    with suppress(NotFound):
        client.call("/spaces/unlink", {"space": space, "target": link.shared})
    with store.transaction():
        kept = [one for one in load_kept(store) if one != link.shared]
        save_kept(store, [*kept, link.shared] if keep else kept)
        save_links(store, [one for one in load_links(store) if one.space != space])
        found = store.browse(Filter(spaces=(space,), limit=MAX_SPACE_MEMORIES))
        theirs = [Retire(one.id, now, LEFT_WHY) for one in found if not is_own(one, user)]
        if theirs:
            store.apply(theirs, Event(PULLED, space, now, payload={"unshared": link.shared}))
    return link


def trust_space(
    client: ServerClient,
    store: Store,
    space: str,
    *,
    trusted: bool,
) -> Link:
    """Say whether what others say in a shared space is believed; it is told anew, and comes so."""
    link = find_link(store, space)
    client.call("/spaces/trust", {"space": link.shared, "is_trusted": trusted})
    others = [one for one in load_links(store) if one.space != link.space]
    save_links(store, [*others, link._replace(trusted=trusted)])
    return link._replace(trusted=trusted)


def find_link(store: Store, space: str) -> Link:
    """The link of a local space, or that to a shared one of this name; NotFound for neither."""
    links = load_links(store)
    for link in links:
        if space in (link.space, link.shared):
            return link
    listed = ", ".join(link.space for link in links) or "none is"
    raise NotFound(f"{space} is not shared. Of your spaces are: {listed}")
