"""Signing in and out in a browser: `/sign-in`, with a key, an invitation, or at the provider.

Whoever is not signed in is shown this page under the address that they wanted, and goes on there.
A link from elsewhere brings no `SameSite=Strict` cookie along: the page then opens the same address
once more from here, so that who is signed in is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from reverie.access.api_keys import API_KEY, INVITATION
from reverie.core.config import ME
from reverie.core.errors import ReverieError, Unauthenticated
from reverie.interfaces.server.login_routes import TRIES_PER_MINUTE
from reverie.interfaces.server.page_security import PageSecurity
from reverie.interfaces.server.problems import find_problem
from reverie.interfaces.server.request_gate import note_caller
from reverie.interfaces.web.rendering import Renderer
from reverie.interfaces.web.security import CSRF_FIELD, HEADERS, Refusal
from reverie.interfaces.web.web_app import accepts_json_alone, own_address, read_form

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

SIGN_IN, SIGN_OUT, JOIN = "/sign-in", "/sign-out", "/sign-in/join"
HTML = "text/html; charset=utf-8"
PLAIN_HEADERS = {**HEADERS, "Cache-Control": "no-store"}


class SignInPage(NamedTuple):
    """What the page shows."""

    next: str  # where one goes on
    issuer: str  # of the organisation's provider; empty without one
    provider_path: str  # where one is sent there
    message: str = ""  # what went wrong
    code: str = ""  # an invitation's
    name: str = ""
    email: str = ""
    is_over: bool = False  # one has just signed out


class Welcome(NamedTuple):
    """Who has joined by an invitation, with the key that is shown this once."""

    user: str
    token: str
    address: str  # of the server
    next: str


class GoOn(NamedTuple):
    """Where a page opens by itself."""

    address: str


class SignInPages:
    """The pages and what they do."""

    def __init__(self, deployment: Deployment, security: PageSecurity) -> None:
        self._deployment, self._security = deployment, security
        self._renderer = Renderer((), ME)

    def list_routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route(SIGN_IN, self.show, methods=["GET"]),
            Route(SIGN_IN, self.sign_in, methods=["POST"]),
            Route(JOIN, self.join, methods=["POST"]),
            Route(SIGN_OUT, self.sign_out, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """The page."""
        if refused := self._refuse(request, self._security.check):
            return refused
        query = request.query_params
        shown = self._page(query.get("next", "/"))
        return self._render("sign_in.html", shown._replace(is_over="over" in query))

    def ask(self, request: Request) -> Response:
        """The answer to who is not signed in."""
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        if accepts_json_alone(request):
            said = {"type": "Unauthenticated", "message": f"Sign in at {SIGN_IN}"}
            return JSONResponse({"error": said}, 401, PLAIN_HEADERS)
        # Once: what is opened from here is of this site, and brings the cookie if there is one.
        if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
            return self._render("go_on.html", GoOn(own_address(path)))
        is_get = request.method == "GET"
        return self._render("sign_in.html", self._page(path if is_get else "/"), 401)

    async def sign_in(self, request: Request) -> Response:
        """With a key: the browser gets one of its own for half a day."""
        if refused := self._refuse(request, self._security.check, self._security.check_origin):
            return refused
        try:
            form = await read_form(request)
        except ReverieError as err:
            return self._render("sign_in.html", self._page("/", str(err)), 400)
        next, given = own_address(last(form, "next")), last(form, "key")

        def begin() -> str:
            self._count(request)
            access, now = self._deployment.access, self._deployment.now()
            caller = access.authenticate(given, now)
            note_caller(tenant=caller.tenant, user=caller.user, key=caller.key_id)
            return access.keys.sign_in(caller, now).token

        try:
            token = await self._deployment.pool.run(begin)
        except ReverieError as err:
            page = self._page(next, explain_key(given, err))
            return self._render("sign_in.html", page, int(find_problem(err).status))
        answer = RedirectResponse(next, 303, PLAIN_HEADERS)
        self._security.set_cookie(answer, token)
        return answer

    async def join(self, request: Request) -> Response:
        """With an invitation: a new user, whose key is shown once, signed in."""
        if refused := self._refuse(request, self._security.check, self._security.check_origin):
            return refused
        try:
            form = await read_form(request)
        except ReverieError as err:
            return self._render("sign_in.html", self._page("/", str(err)), 400)
        code, name, email = last(form, "code"), last(form, "name"), last(form, "email")
        next = own_address(last(form, "next"))

        def begin() -> tuple[str, str, str]:
            self._count(request)
            access, now = self._deployment.access, self._deployment.now()
            joined = access.logins.join(
                code, name=name, email=email, display_name=last(form, "display_name"), now=now
            )
            caller = access.authenticate(joined.key.token, now)
            return joined.user.name, joined.key.token, access.keys.sign_in(caller, now).token

        try:
            user, token, session = await self._deployment.pool.run(begin)
        except ReverieError as err:
            page = self._page(next, str(err))._replace(code=code, name=name, email=email)
            return self._render("sign_in.html", page, int(find_problem(err).status))
        # Who is new sees first what they may.
        onward = "/team" if next == "/" else next
        welcome = Welcome(user, token, self._deployment.public_url, onward)
        answer = self._render("welcome.html", welcome)
        self._security.set_cookie(answer, session)
        return answer

    async def sign_out(self, request: Request) -> Response:
        """The browser's key is worth nothing any more."""
        try:
            self._security.check(request)
            form = await read_form(request)
            self._security.check_change(request, last(form, CSRF_FIELD))
        except (Refusal, ReverieError) as err:
            return self.refuse(request, err)
        token = self._security.session_token(request)

        def end() -> None:
            access, now = self._deployment.access, self._deployment.now()
            caller = access.authenticate(token, now)
            access.keys.revoke(caller, caller.key_id, now)

        try:
            await self._deployment.pool.run(end)
        except Unauthenticated:
            pass  # it was over already
        except ReverieError as err:
            return self.refuse(request, err)
        answer = RedirectResponse(f"{SIGN_IN}?over=1", 303, PLAIN_HEADERS)
        self._security.clear_cookie(answer)
        return answer

    def refuse(self, request: Request, err: Exception) -> Response:
        """Why a request is not answered."""
        status = 403 if isinstance(err, Refusal) else int(find_problem(err).status)
        if accepts_json_alone(request):
            said = {"type": type(err).__name__, "message": str(err)}
            return JSONResponse({"error": said}, status, PLAIN_HEADERS)
        return self._render("refused.html", {"message": str(err), "again": ""}, status)

    def _refuse(self, request: Request, *checks: Callable[[Request], None]) -> Response | None:
        try:
            for check in checks:
                check(request)
        except Refusal as err:
            return self.refuse(request, err)
        return None

    def _page(self, next: str, message: str = "") -> SignInPage:
        oidc = self._deployment.oidc
        path = f"/login?{urlencode({'next': own_address(next)})}" if oidc else ""
        issuer = oidc.provider.issuer if oidc else ""
        return SignInPage(own_address(next), issuer, path, message)

    def _render(self, template: str, values: Any, status: int = 200) -> Response:
        html = self._renderer.render(template, self._renderer.bare_frame(ME), values)
        return Response(html, status, PLAIN_HEADERS, HTML)

    def _count(self, request: Request) -> None:
        """RateLimited if an address tries too often."""
        source = request.client.host if request.client else ""
        self._deployment.access.rates.check_source(source, TRIES_PER_MINUTE, self._deployment.now())


def explain_key(given: str, err: ReverieError) -> str:
    """Why a key does not open the pages, for whoever pasted something else."""
    if given.startswith(f"{INVITATION}_"):
        return "That is an invitation. Use it below: it makes you a user, and shows you your key."
    if not isinstance(err, Unauthenticated):
        return str(err)
    if not given.startswith(f"{API_KEY}_"):
        return f"A key begins with {API_KEY}_. Copy it whole."
    if "revoked" in str(err) or "expired" in str(err) or "switched" in str(err):
        return str(err)
    return "That key is not valid here. Check that it was copied whole, or ask for a new one."


def last(form: dict[str, list[str]], name: str) -> str:
    """The last value of a field; empty without one."""
    return form.get(name, [""])[-1].strip()
