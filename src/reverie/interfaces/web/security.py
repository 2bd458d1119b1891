"""Who may use the pages of a local home: whoever started them, in their own browser.

A request is refused unless its `Host` is a name of this machine (which stops DNS rebinding) and it
bears the cookie. The cookie is given for a one-time token in the address, which `reverie web` and
`reverie open` make from a key that the user alone can read: a second user of the machine has
neither. It is `SameSite=Strict`, so no other site's page can use it; a change needs the `Origin` of
the page itself and a token of its own besides. Every answer forbids what the pages do not need:
scripts and styles inline or of others, frames, any other origin.

`build_web_app` takes any object with these methods: a server for several users has its own.
"""

from __future__ import annotations

import base64
import hmac
import os
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reverie.core import clock
from reverie.core.atomic_file import make_private_folder, write_beside

KEY_FILE = "web.key"
TOKEN_FIELD = "token"
CSRF_FIELD = "csrf"
CSRF_HEADER = "x-reverie-csrf"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
TOKEN_SECONDS = 120.0
MAX_USED_TOKENS = 1_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Nothing leaves for another origin. Under "no-referrer" browsers send `Origin: null` with a
    # form, and a form of our own could not be told from one of a sandboxed frame.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Refusal(Exception):
    """Why a request is not answered."""

    def __init__(self, message: str, *, is_stranger: bool = False) -> None:
        super().__init__(message)
        self.is_stranger = is_stranger  # it may only lack the cookie


class WebSecurity(Protocol):
    """Who may ask, and who may change something."""

    def admit(self, request: Request) -> Response | None:
        """The answer that gives somebody with a one-time token the cookie; None for all others."""

    def check(self, request: Request) -> None:
        """Raise Refusal unless the request may be answered."""

    def check_change(self, request: Request, token: str) -> None:
        """Raise Refusal unless the request may change something; `token` is that of its form."""

    def csrf_token(self, _request: Request, /) -> str:
        """The token that forms of this browser need."""


class LocalSecurity:
    """For one user on the loopback of their own machine."""

    def __init__(self, key: bytes, now: Callable[[], float] = clock.now) -> None:
        self._key = key
        self._now = now
        self._started = now()
        self._used: OrderedDict[str, None] = OrderedDict()

    def admit(self, request: Request) -> Response | None:
        """A redirect to the same address without the token, with the cookie."""
        token = request.query_params.get(TOKEN_FIELD)
        if token is None or request.method not in ("GET", "HEAD"):
            return None
        self._check_host(request)
        if not self._redeem(token):
            if self._has_cookie(request):
                return _without_token(request)
            raise Refusal(
                "This address was used already, or is too old. `reverie web` prints a new one."
            )
        answer = _without_token(request)
        answer.set_cookie(
            _cookie_name(request),
            sign(self._key, "session"),
            httponly=True,
            samesite="strict",
            path="/",
        )
        return answer

    def check(self, request: Request) -> None:
        """Only this machine's names, and only with the cookie."""
        self._check_host(request)
        if not self._has_cookie(request):
            raise Refusal(
                "Open this page with the address that `reverie web` prints, or with "
                "`reverie open`: nobody else may look here.",
                is_stranger=True,
            )

    def check_change(self, request: Request, token: str) -> None:
        """Only from a page of this very address, with the token of its forms."""
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site")
        own = f"{request.url.scheme}://{request.headers.get('host', '')}"
        if origin != own and not (origin is None and site == "same-origin"):
            raise Refusal("A change must come from these pages themselves.")
        if site not in (None, "same-origin"):
            raise Refusal("A change must come from these pages themselves.")
        if not hmac.compare_digest(token.encode(), self.csrf_token(request).encode()):
            raise Refusal("This form is of another session: reload the page and try again.")

    def csrf_token(self, _request: Request) -> str:
        """The same for all forms of this home."""
        return sign(self._key, "csrf")

    def _check_host(self, request: Request) -> None:
        name, port = _split_host(request.headers.get("host", ""))
        server = request.scope.get("server") or ("", None)
        if name not in LOOPBACK or (server[1] is not None and port != server[1]):
            raise Refusal("These pages answer to 127.0.0.1 and localhost alone.")

    def _has_cookie(self, request: Request) -> bool:
        given = request.cookies.get(_cookie_name(request), "")
        return hmac.compare_digest(given.encode(), sign(self._key, "session").encode())

    def _redeem(self, token: str) -> bool:
        """True once for a token that was made since this began and not long ago."""
        made, _, rest = token.partition("-")
        chance, _, mark = rest.partition("-")
        is_ours = hmac.compare_digest(mark.encode(), _mark(self._key, made, chance).encode())
        if not is_ours or not made.isdigit() or token in self._used:
            return False
        at = int(made) / 1_000
        if not max(self._started - 1.0, self._now() - TOKEN_SECONDS) <= at <= self._now() + 1.0:
            return False
        self._used[token] = None
        if len(self._used) > MAX_USED_TOKENS:
            self._used.popitem(last=False)
        return True


def make_token(key: bytes, now: float) -> str:
    """A token that lets one browser in, once, within TOKEN_SECONDS."""
    made, chance = str(int(now * 1_000)), clock.new_key()[:8].hex()
    return f"{made}-{chance}-{_mark(key, made, chance)}"


def load_key(home: Path) -> bytes:
    """The key of a home's pages, made when it is first needed; its owner alone can read it."""
    path = home / KEY_FILE
    make_private_folder(home)
    # Of two that start at once, one makes it.
    with suppress(FileExistsError), write_beside(path, clock.new_key().hex().encode()) as half:
        os.link(half, path)
    return bytes.fromhex(path.read_text("ascii").strip())


def sign(key: bytes, text: str) -> str:
    """What only who has the key can say of a text."""
    digest = hmac.new(key, text.encode(), sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _mark(key: bytes, made: str, chance: str) -> str:
    return sign(key, f"token {made} {chance}").replace("-", "_")


def _without_token(request: Request) -> RedirectResponse:
    return RedirectResponse(
        # Relative, so that nothing of the request's own host comes back.
        str(request.url.remove_query_params(TOKEN_FIELD).replace(scheme="", netloc="")),
        303,
    )


def _cookie_name(request: Request) -> str:
    """Cookies are those of a host, whatever the port: two homes need two names."""
    port = (request.scope.get("server") or ("", 0))[1]
    return f"reverie_{port}"


def _split_host(host: str) -> tuple[str, int]:
    """Name and port of a Host header."""
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        return host.lower(), 80
    return name.lower(), int(port) if port.isascii() and port.isdigit() else -1
