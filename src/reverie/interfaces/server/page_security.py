"""Who may use the server's pages: whoever has the cookie of a sign-in, from the pages themselves.

The cookie holds a key of its own for half a day (`access.key_admin`). It is `SameSite=Strict`, no
script reads it, and over https it is bound to this very host. A request is refused unless its
`Host` is the server's public address, which stops DNS rebinding; a change besides needs the
`Origin` of that address and the token that stands in the forms of this one sign-in.

API and MCP take no cookie, and pages no bearer token: neither opens the other by accident.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from reverie.interfaces.web.security import LOOPBACK, Refusal, sign

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

COOKIE = "reverie_session"
COOKIE_SECONDS = 12 * 3_600
DEFAULT_PORTS = {"http": 80, "https": 443}


class PageSecurity:
    """The checks, for all who are signed in; nothing is kept here."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def admit(self, _request: Request) -> Response | None:
        """Nobody by an address alone."""
        return None

    def check(self, request: Request) -> None:
        """Refusal under another name than the server's own. Who is signed in is known before."""
        if request.headers.get("host", "").strip().lower() not in self._hosts():
            raise Refusal(
                f"These pages are at {self._deployment.public_url}. Whoever runs the server names "
                "the address that people use as REVERIE_SERVER_URL."
            )

    def check_origin(self, request: Request) -> None:
        """Refusal for what does not come from these pages."""
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site")
        own = {f"{self._scheme()}://{host}" for host in self._hosts()}
        is_own = origin.lower() in own if origin else site == "same-origin"
        if not is_own or site not in (None, "same-origin"):
            raise Refusal("A change must come from these pages themselves.")

    def check_change(self, request: Request, token: str) -> None:
        """Only from a page of this address, with the token of the forms of this sign-in."""
        self.check_origin(request)
        if not hmac.compare_digest(token.encode(), self.csrf_token(request).encode()):
            raise Refusal("This form is of another sign-in: reload the page and try again.")

    def csrf_token(self, request: Request) -> str:
        """What forms of this sign-in bear."""
        return derive(self.session_token(request), "csrf")

    @property
    def cookie_name(self) -> str:
        """Over https a name that browsers take from this very host alone."""
        return f"__Host-{COOKIE}" if self._scheme() == "https" else COOKIE

    def session_token(self, request: Request) -> str:
        """The key in the cookie; empty without one."""
        return request.cookies.get(self.cookie_name, "")

    def set_cookie(self, response: Response, token: str) -> None:
        """Have the browser keep a sign-in."""
        response.set_cookie(
            self.cookie_name,
            token,
            max_age=COOKIE_SECONDS,
            httponly=True,
            secure=self._scheme() == "https",
            samesite="strict",
            path="/",
        )

    def clear_cookie(self, response: Response) -> None:
        """Have the browser forget it."""
        response.delete_cookie(
            self.cookie_name, path="/", secure=self._scheme() == "https", samesite="strict"
        )

    def _scheme(self) -> str:
        return urlsplit(self._deployment.public_url).scheme

    def _hosts(self) -> set[str]:
        """The names and ports that the public address has; on loopback all its names."""
        parts = urlsplit(self._deployment.public_url)
        default = DEFAULT_PORTS.get(parts.scheme)
        port = parts.port or default
        own = parts.netloc.rpartition("@")[2].removesuffix(f":{parts.port}").lower()
        names = LOOPBACK if own in LOOPBACK else (own,)
        plain = set(names) if port == default else set()
        return plain | {f"{name}:{port}" for name in names}


def derive(token: str, purpose: str) -> str:
    """What only who has a sign-in's key can know, and what does not tell the key."""
    return sign(sha256(token.encode()).digest(), purpose)
