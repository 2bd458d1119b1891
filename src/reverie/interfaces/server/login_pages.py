"""The pages on which a person lets a device in: `/device`, and `/login` by way of the provider.

Whoever typed `reverie login URL` on a machine opens `/device`, signs in at the organisation's
provider or uses an invitation, sees what asks to be let in, and says yes. A page is plain HTML
without scripts. Signed in is who has the cookie, which is a key of its own for half a day; it is
sent with requests of this site alone, so another site's page cannot say yes in somebody's name.
Who comes back from the provider must be the browser that went there (RFC 6749, 10.12): nobody is
signed in as somebody else by following an address.
"""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from reverie.access.logins import ATTEMPT_SECONDS
from reverie.core.errors import LoginRefused, NotFound, ReverieError, Unauthenticated
from reverie.interfaces.server.login_routes import DEVICE_PAGE, MAX_BODY_BYTES, TRIES_PER_MINUTE
from reverie.interfaces.server.page_security import PageSecurity
from reverie.interfaces.server.problems import TooLarge, find_problem
from reverie.interfaces.web.security import Refusal
from reverie.interfaces.web.web_app import own_address

if TYPE_CHECKING:
    from reverie.access import Caller
    from reverie.interfaces.server.deployment import Deployment

STATE_COOKIE = "reverie_sign_in"  # of a browser that has gone to the provider
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reverie</title>
<meta name="viewport" content="width=device-width"></head>
<body><main><h1>Reverie</h1>
{body}
</main></body></html>
"""
CONFIRM = """<p>Signed in as <strong>{user}</strong>. <strong>{client}</strong> asks to be let in
with the code <strong>{code}</strong>.</p>
<p>Say yes only if you have just typed <code>reverie login</code> yourself, and it shows this code.
</p>
<form method="post" action="/device"><input type="hidden" name="user_code" value="{code}">
<button name="answer" value="yes">Let it in</button>
<button name="answer" value="no">No</button></form>"""
GO_ON = """<meta http-equiv="refresh" content="0; url={address}">
<p>You are signed in. <a href="{address}">Go on</a></p>"""
FOREIGN = "<p>That was sent by another page. Open this one yourself, and answer there.</p>"
SIGN_IN = """<form method="get" action="/device">
<p><label>The code that your terminal shows:
<input name="user_code" value="{code}" required autocomplete="off"></label></p>
<button>Go on</button></form>
<p>On a machine that is logged in already, this lets it in:
<code>reverie team approve {code_or_word}</code></p>
{provider}
<h2>With an invitation</h2>
<form method="post" action="/device/join">
<p><label>Invitation: <input name="code" required autocomplete="off"></label></p>
<p><label>Your name here, in small letters: <input name="name" required></label></p>
<p><label>Your e-mail address: <input name="email" type="email"></label></p>
<input type="hidden" name="user_code" value="{code}">
<button>Join</button></form>"""


def build_login_pages(deployment: Deployment) -> list[Route]:
    """The pages as routes."""
    pages = LoginPages(deployment)
    routes = [
        Route(DEVICE_PAGE, pages.show_device, methods=["GET"]),
        Route(DEVICE_PAGE, pages.answer_device, methods=["POST"]),
        Route(f"{DEVICE_PAGE}/join", pages.join, methods=["POST"]),
    ]
    if deployment.oidc is None:
        return routes
    return [
        *routes,
        Route("/login", pages.begin_sign_in, methods=["GET"]),
        Route("/login/callback", pages.finish_sign_in, methods=["GET"]),
    ]


class LoginPages:
    """What the pages do; each blocking step runs in the pool."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._access = deployment.access
        self._security = PageSecurity(deployment)

    @property
    def callback(self) -> str:
        """Where the provider sends people back to."""
        return f"{self._deployment.public_url}/login/callback"

    async def show_device(self, request: Request) -> Response:
        """Ask to sign in, or whether the device may come in."""
        code, token = (
            request.query_params.get("user_code", ""),
            self._security.session_token(request),
        )

        def look() -> str:
            caller = self._signed_in(token)
            if caller is None or not code:
                return self._ask_to_sign_in(code)
            found = self._access.logins.pending_device(caller, code, self._deployment.now())
            return CONFIRM.format(
                user=escape(caller.user),
                client=escape(found.client_name or "A device"),
                code=escape(found.user_code),
            )

        return await self._answer(request, look)

    async def answer_device(self, request: Request) -> Response:
        """Let the device in, or keep it out."""
        if self._is_foreign(request):
            return show_page(FOREIGN, 403)
        form, token = await read_form(request), self._security.session_token(request)

        def decide() -> str:
            caller = self._signed_in(token)
            if caller is None:
                raise Unauthenticated("You are not signed in any more. Open the page again.")
            code, now = form.get("user_code", ""), self._deployment.now()
            if form.get("answer") != "yes":
                self._access.logins.deny_device(caller, code, now)
                return "<p>It was kept out.</p>"
            self._access.logins.approve_device(caller, code, now)
            return "<p>It is let in. Go back to your terminal.</p>"

        return await self._answer(request, decide)

    async def join(self, request: Request) -> Response:
        """Become a user by an invitation, and let the device in that asked for it."""
        if self._is_foreign(request):
            return show_page(FOREIGN, 403)
        form = await read_form(request)

        def become() -> str:
            signed_in = self._access.logins.join(
                form.get("code", ""),
                name=form.get("name", ""),
                email=form.get("email", ""),
                now=self._deployment.now(),
                user_code=form.get("user_code", ""),
            )
            return f"<p>Welcome, {escape(signed_in.user.name)}. Go back to your terminal.</p>"

        return await self._answer(request, become)

    async def begin_sign_in(self, request: Request) -> Response:
        """Send the browser to the provider."""
        deployment, query = self._deployment, request.query_params

        def begin() -> str:
            assert deployment.oidc is not None
            self._count(request)
            return self._access.logins.begin_sign_in(
                # Of other tenants the provider knows nobody, whatever an address says.
                deployment.settings.oidc_tenant,
                deployment.oidc,
                redirect_uri=self.callback,
                now=deployment.now(),
                return_to=own_address(query["next"])
                if "next" in query
                else query.get("user_code", ""),
            )

        address = await deployment.pool.run(begin)
        response = RedirectResponse(address, 302, HEADERS)
        (state,) = parse_qs(urlsplit(address).query)["state"]
        response.set_cookie(
            STATE_COOKIE,
            state,
            max_age=int(ATTEMPT_SECONDS),
            httponly=True,
            secure=deployment.public_url.startswith("https:"),
            # The provider's page sends the browser back: under "strict" it would come without.
            samesite="lax",
        )
        return response

    async def finish_sign_in(self, request: Request) -> Response:
        """Back from the provider: signed in, and on to the device that waits."""
        deployment, query = self._deployment, request.query_params
        state, began = query.get("state", ""), request.cookies.get(STATE_COOKIE, "")
        if not state or not compare_digest(state.encode(), began.encode()):
            return show_page("<p>This sign-in began in another browser. Start again.</p>", 403)

        def finish() -> tuple[str, str]:
            assert deployment.oidc is not None
            self._count(request)
            signed_in = self._access.logins.finish_sign_in(
                deployment.oidc,
                state=state,
                code=query.get("code", ""),
                redirect_uri=self.callback,
                now=deployment.now(),
            )
            return signed_in.key.token, signed_in.return_to

        try:
            token, code = await deployment.pool.run(finish)
        except LoginRefused as err:
            return show_page(f"<p>{escape(str(err))}</p>", 403)
        device = f"{DEVICE_PAGE}?{urlencode({'user_code': code})}"
        own = own_address(code) if code.startswith("/") else device
        # Not sent on: what another site began brings no strict cookie along. This page begins anew.
        response = show_page(GO_ON.format(address=escape(own)))
        self._security.set_cookie(response, token)
        response.delete_cookie(STATE_COOKIE)
        return response

    async def _answer(self, request: Request, work: Callable[[], str]) -> Response:
        """The page that `work` writes; an error as a page."""

        def counted() -> str:
            self._count(request)
            return work()

        try:
            return show_page(await self._deployment.pool.run(counted))
        except ReverieError as err:
            return show_page(f"<p>{escape(str(err))}</p>", int(find_problem(err).status))

    def _is_foreign(self, request: Request) -> bool:
        """True of a form that another site's page sent: browsers say from where one comes."""
        try:
            if "origin" in request.headers:
                self._security.check_origin(request)
        except Refusal:
            return True
        return False

    def _count(self, request: Request) -> None:
        """Count a try, by the address that it comes from."""
        source = request.client.host if request.client else ""
        self._access.rates.check_source(source, TRIES_PER_MINUTE, self._deployment.now())

    def _signed_in(self, token: str) -> Caller | None:
        """Whoever has the cookie's key; None without one that holds."""
        if not token:
            return None
        try:
            return self._access.authenticate(token, self._deployment.now())
        except (Unauthenticated, NotFound):
            return None

    def _ask_to_sign_in(self, code: str) -> str:
        oidc = self._deployment.oidc
        link = ""
        if oidc is not None:
            address = escape(f"/login?{urlencode({'user_code': code})}")
            link = f'<p><a href="{address}">Sign in at {escape(oidc.provider.issuer)}</a></p>'
        return SIGN_IN.format(code=escape(code), code_or_word=escape(code) or "CODE", provider=link)


def show_page(body: str, status: int = 200) -> HTMLResponse:
    """A page."""
    return HTMLResponse(PAGE.format(body=body), status, HEADERS)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a posted form; TooLarge for one that no person fills in."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise TooLarge
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}
