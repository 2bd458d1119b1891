"""The pages as one reader has them: everything that a site keeps is kept for that reader alone.

`interfaces/web` serves one mind; here each sign-in, with the rights that it has just now, gets a
site of its own. So nothing that a site counts, notes or tells can be another reader's. A mind lasts
for a request, as for the API: row security below it, the server's stamp on what is written, lines
in the audit.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from hmac import compare_digest
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from reverie import Mind
from reverie.access import Caller
from reverie.core.config import ME
from reverie.interfaces.server.caller_mind import open_caller_mind
from reverie.interfaces.server.caller_store import CallerStore, Oversight
from reverie.interfaces.server.page_live import ReaderLive, TenantBells
from reverie.interfaces.server.page_security import PageSecurity
from reverie.interfaces.server.reader_values import with_reader_spaces
from reverie.interfaces.server.space_names import to_server_space
from reverie.interfaces.web.page import Done, Page, WebRequest
from reverie.interfaces.web.rendering import DoneNotes, PageFrame, Reader, Renderer
from reverie.interfaces.web.security import sign
from reverie.interfaces.web.web_app import WebSite

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

ORIGIN = "browser"  # the program that the stamp of what is written names
LOOK = "look"  # what the audit calls reading a page
MAX_NOTE_CHARS = 4_000


def open_mind(deployment: Deployment, request: Request) -> AbstractContextManager[Mind]:
    """The mind of a request, whose caller is known by then."""
    return open_reader_mind(deployment, request.state.caller, name_verb(request))


@contextmanager
def open_reader_mind(deployment: Deployment, caller: Caller, verb: str) -> Iterator[Mind]:
    """A mind for as long as the block runs; what was looked at in it stands in the audit."""
    mind = open_caller_mind(deployment, caller, verb, ORIGIN)
    yield mind
    mind.close()
    store: object = mind.store
    if isinstance(store, CallerStore) and not store.changed:
        oversight = Oversight(deployment.access, deployment.now(), verb)
        oversight.record_reads(caller, store.looked_at)


def name_verb(request: Request) -> str:
    """What the audit calls a request: the last word of an action's address."""
    if request.method != "POST":
        return LOOK
    path = getattr(request.scope.get("route"), "path", "")
    words = [part for part in path.split("/") if part and "{" not in part]
    return words[-1] if words else LOOK


class ReaderSite(WebSite):
    """The pages of one sign-in."""

    def __init__(
        self,
        deployment: Deployment,
        caller: Caller,
        security: PageSecurity,
        bells: TenantBells,
        pages: tuple[Page, ...],
        secret: bytes,
    ) -> None:
        super().__init__(partial(open_mind, deployment), security, ME, pages)
        self._deployment = deployment
        self.renderer = ReaderRenderer(pages, caller)
        self.notes = SignedNotes(secret)
        self.live = ReaderLive(deployment, bells, security.session_token)

    async def run(self, work: Callable[..., Response], *arguments: Any) -> Response:
        """What `work` answers, in one of the server's threads and within its time."""
        return await self._deployment.pool.run(partial(work, *arguments))


class ReaderRenderer(Renderer):
    """The frame as a reader knows it: their names of spaces, and who they are."""

    def __init__(self, pages: tuple[Page, ...], caller: Caller) -> None:
        super().__init__(pages, ME)
        self._root = caller.private_root
        self._reader = Reader(caller.user, caller.tenant, caller.is_admin)

    def frame(self, mind: Mind, asked: WebRequest, page: Page | None) -> PageFrame:
        """As for every page, with the reader's names."""
        inner = asked._replace(space=to_server_space(asked.space, self._root))
        frame: PageFrame = with_reader_spaces(super().frame(mind, inner, page), self._root)
        return frame._replace(reader=self._reader)

    def list_elsewhere(self, _mind: Mind) -> list[str]:
        """Nothing: what is here is on the server."""
        return []

    def bare_frame(self, space: str) -> PageFrame:
        """As for every error."""
        return super().bare_frame(space)._replace(reader=self._reader)


class SignedNotes(DoneNotes):
    """What an action did stands in the address of the page that comes next, signed: whichever
    process answers there can show it, and nobody else can have it shown.
    """

    def __init__(self, secret: bytes) -> None:
        super().__init__()
        self._secret = secret

    def add_to(self, address: str, done: Done) -> str:
        """The address of a page that shows it."""
        plain = done._replace(
            details={},
            shown_once=None,
            also=list(done.also),
            back_fields=dict(done.back_fields),
        )
        said = urlsafe_b64encode(json.dumps(plain).encode()).decode().rstrip("=")
        key = f"{said}.{sign(self._secret, said)}"
        parts = urlsplit(address)
        query = [(name, value) for name, value in parse_qsl(parts.query) if name != "done"]
        if len(key) <= MAX_NOTE_CHARS:
            query.append(("done", key))
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        return f"{parts.path}{f'?{urlencode(query)}' if query else ''}{fragment}"

    def find(self, key: str) -> Done | None:
        """What was done; None for what we have not signed."""
        said, _, mark = key.partition(".")
        if not mark or not compare_digest(mark.encode(), sign(self._secret, said).encode()):
            return None
        return Done(*json.loads(urlsafe_b64decode(said + "=" * (-len(said) % 4))))
