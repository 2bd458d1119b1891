"""The pages of a local home, served on loopback until Ctrl-C.

A file of the home, which its owner alone can read, says where they are served; a lock on it says
whether they still are. So `reverie open` finds them from another process.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn

from reverie import Mind
from reverie.core import clock
from reverie.core.atomic_file import make_private_folder, write_atomically
from reverie.core.errors import PortTaken, ReverieError
from reverie.core.file_lock import take_lock
from reverie.interfaces.cli.cli_context import CliContext
from reverie.interfaces.cli.terminal_output import print_json, print_line
from reverie.interfaces.web.pages.map import LAYING_OUT
from reverie.interfaces.web.rendering import Renderer
from reverie.interfaces.web.security import TOKEN_FIELD, LocalSecurity, load_key, make_token
from reverie.interfaces.web.web_app import LocalMinds, WebSite, build_web_app
from reverie.interfaces.worker import is_embedder_ready

HOST = "127.0.0.1"
EVERYWHERE = ("layout.html", "macros.html")  # what every page is made of
# How long a thread may hold Python while another one waits for it.
SWITCH_SECONDS = 0.0005
# How long a step of the warm-up waits for pages before it goes on beside them.
MOST_WAIT_SECONDS = 5.0
ADDRESS_FILE, LOCK_FILE = "web.address", "web.lock"


def serve_locally(
    mind: Mind, space: str, port: int, path: str, started: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C; `started` is called with the address of the first page.

    Raises PortTaken for a port that somebody else listens on.
    """
    home = mind.settings.home
    key = load_key(home)
    minds = LocalMinds(mind)
    app = build_web_app(minds, LocalSecurity(key), space=space)
    chosen = uvicorn.Config(
        app,
        host=HOST,
        port=port,
        log_level="critical",
        access_log=False,
        server_header=False,
        ws="none",
        # Pages keep a stream open for as long as they are shown, and would hold up Ctrl-C.
        timeout_graceful_shutdown=1,
    )
    # What is warmed up meanwhile must not hold up a page: with Python's five milliseconds, each
    # statement that a page waits for costs so much more.
    sys.setswitchinterval(SWITCH_SECONDS)
    # The first page is not to wait for what all pages show.
    renderer = app.state.site.renderer
    renderer.recount(mind)
    renderer.load_templates(EVERYWHERE)
    held = take_lock(str(home / LOCK_FILE))

    def announce(address: str) -> None:
        if held is not None:
            make_private_folder(home)
            write_atomically(home / ADDRESS_FILE, address.encode(), mode=0o600, durable=False)
        started(with_token(f"{address}{path}", key))
        threading.Thread(target=prepare, args=(mind, space, app.state.site), daemon=True).start()

    try:
        with suppress(KeyboardInterrupt):
            AnnouncingServer(chosen, announce).run()
    # Uvicorn exits when it cannot listen.
    except SystemExit as err:
        raise PortTaken(
            f"Port {port} of {HOST} cannot be listened on: somebody else does, perhaps another "
            "`reverie web`. Choose another one, --port 0 takes a free one"
        ) from err
    finally:
        minds.close()
        if held is not None:
            with suppress(OSError):
                (home / ADDRESS_FILE).unlink()
            os.close(held)


def prepare(mind: Mind, space: str, site: WebSite) -> None:
    """Warm up, and then keep what stays for good out of every collection of garbage."""
    warm_up(mind, space, site)
    # A page of the map makes thousands of objects, at which Python goes through all there are:
    # with modules, templates and what ranks, 75 ms in every other request of a large home.
    gc.collect()
    gc.freeze()


def warm_up(mind: Mind, space: str, site: WebSite) -> None:
    """Compile the templates, load what the first question and the first cards need, lay out the
    map, so that nobody waits for it: up to a second each in a large home. While somebody waits for
    a page, the next step waits.
    """
    for step in list_warm_up_steps(mind, space, site.renderer):
        site.open_requests.wait_for_none(MOST_WAIT_SECONDS)
        # Whoever asks meets the same trouble and is told of it.
        with suppress(ReverieError):
            step()


def list_warm_up_steps(mind: Mind, space: str, renderer: Renderer) -> list[Callable[[], object]]:
    """What is done before anybody asks for it, what is asked for first before the rest."""

    def lay_out_map() -> None:
        with LAYING_OUT:
            mind.data.map(space=space)

    mode = "auto" if is_embedder_ready(mind.settings) else "words"
    return [
        *(partial(renderer.load_templates, [name]) for name in renderer.list_templates()),
        partial(mind.recall, "warm up", space=space, limit=1, mode=mode),
        # Of what judges pairs much is compiled by the first of them.
        partial(mind.review.queue, space=space, limit=1),
        lay_out_map,
    ]


def find_running(home: Path, path: str) -> str:
    """The address of a page in what is being served already; empty if nothing is."""
    held = take_lock(str(home / LOCK_FILE))
    if held is not None:
        os.close(held)
        return ""
    try:
        address = (home / ADDRESS_FILE).read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
    return with_token(f"{address}{path}", load_key(home)) if address else ""


def with_token(address: str, key: bytes) -> str:
    """An address that lets one browser in, once."""
    return f"{address}?{urlencode({TOKEN_FIELD: make_token(key, clock.now())})}"


def show_address(cli: CliContext, address: str, no_open: bool) -> None:
    """Print the address, and open a browser there unless that is not wanted."""
    if cli.as_json:
        print_json({"address": address}, line=True)
    else:
        print_line(address)
    if not no_open:
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(address)


class AnnouncingServer(uvicorn.Server):
    """A web server that tells its address once it listens."""

    def __init__(self, chosen: uvicorn.Config, started: Callable[[str], None]) -> None:
        super().__init__(chosen)
        self._started = started

    async def startup(self, sockets: Any = None) -> None:
        """Listen, then call `started` with the address."""
        await super().startup(sockets)
        # Only now is it known which port 0 has become.
        for listening in self.servers[:1]:
            self._started(f"http://{HOST}:{listening.sockets[0].getsockname()[1]}")
