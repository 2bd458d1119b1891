"""The pages under `/` of the server: from a request to the site of whoever is signed in.

A request comes by the route of a page, so that log and metrics name it as they name those of the
API. It is refused under another host name, answered with the page to sign in where nobody is, and
else handed to the site of this sign-in with its present rights (`reader_site`). Sites are few
hundred bytes of routes and notes; the oldest goes when there are too many.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reverie.access import Caller
from reverie.core.errors import ReverieError, Unauthenticated
from reverie.interfaces.server.page_live import TenantBells
from reverie.interfaces.server.page_security import PageSecurity, derive
from reverie.interfaces.server.page_sign_in import SignInPages
from reverie.interfaces.server.reader_site import LOOK, ReaderSite
from reverie.interfaces.server.request_gate import note_caller
from reverie.interfaces.server.team_pages import TEAM_PAGES
from reverie.interfaces.web.page import Page
from reverie.interfaces.web.security import HEADERS, Refusal
from reverie.interfaces.web.static_files import serve_static
from reverie.interfaces.web.web_app import assemble_app

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

MAX_SITES = 512
STATIC = "/static/{hash}/{name}"
OF_ALL_PAGES = ("/live", "/undo/{events}")


class TeamPages:
    """The pages of all tenants of a server."""

    def __init__(self, deployment: Deployment, pages: tuple[Page, ...] = TEAM_PAGES) -> None:
        self._deployment, self._pages = deployment, pages
        self._security = PageSecurity(deployment)
        self._sign_in = SignInPages(deployment, self._security)
        self._bells = TenantBells(deployment)
        self._sites: OrderedDict[Caller, ASGIApp] = OrderedDict()

    def list_routes(self) -> list[Route]:
        """Every address of a page, and its twin in JSON."""
        door = PageDoor(self)
        paths = dict.fromkeys(OF_ALL_PAGES)
        for page in self._pages:
            for one in page.routes:
                paths[one.path] = None
                paths["/index.json" if one.path == "/" else f"{one.path}.json"] = None
        # "/memory/{id}" would take "/memory/x.json" for an id.
        ordered = sorted(paths, key=lambda path: not path.endswith(".json"))
        return [
            *self._sign_in.list_routes(),
            Route(STATIC, serve_static),
            Route("/", open_first_page, methods=["GET"]),
            *(Route(path, door) for path in ordered),
        ]

    def stop(self) -> None:
        """End all streams, so that the server can stop."""
        self._bells.stop()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a page."""
        request = Request(scope, receive)
        token = self._security.session_token(request)
        answer: ASGIApp
        try:
            self._security.check(request)
            caller = await self._deployment.pool.run(lambda: self._find_caller(token))
            scope.setdefault("state", {})["caller"] = caller
            answer = self._find_site(caller, token)
        except Unauthenticated:
            answer = self._sign_in.ask(request)
        except (Refusal, ReverieError) as err:
            answer = self._sign_in.refuse(request, err)
        await answer(scope, receive, send)

    def _find_caller(self, token: str) -> Caller:
        """Whoever has this session; Unauthenticated without one, RateLimited beyond its limit."""
        if not token:
            raise Unauthenticated
        access, now = self._deployment.access, self._deployment.now()
        caller = access.authenticate(token, now)
        note_caller(tenant=caller.tenant, user=caller.user, key=caller.key_id)
        if not caller.is_in_browser:
            raise Unauthenticated
        access.check_request(caller, LOOK, now)
        return caller

    def _find_site(self, caller: Caller, token: str) -> ASGIApp:
        """The site of a sign-in with these very rights: other rights have another one."""
        known = self._sites.get(caller)
        if known is None:
            secret = derive(token, "notes").encode()
            site = ReaderSite(
                self._deployment, caller, self._security, self._bells, self._pages, secret
            )
            known = self._sites[caller] = assemble_app(site)
            if len(self._sites) > MAX_SITES:
                self._sites.popitem(last=False)
        self._sites.move_to_end(caller)
        return known


async def open_first_page(request: Request) -> Response:
    """What is remembered, the newest first: a server has no turns to show."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/ask{query}", 303, {**HEADERS, "Cache-Control": "no-store"})


class PageDoor:
    """The pages as the ASGI application of a route."""

    def __init__(self, pages: TeamPages) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._pages.serve(scope, receive, send)
