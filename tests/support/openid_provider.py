"""An OpenID provider that does as it is told, over real HTTP on this machine."""

import base64
import hashlib
import hmac
import json
import threading
from urllib.parse import parse_qs, urlencode, urlsplit

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from tests.support.postgres import free_port


def forge(claims, secret):
    """A token that is signed with a secret everybody may know, or not at all."""
    header = {"alg": "HS256" if secret else "none", "kid": "first"}
    parts = [plain(json.dumps(part).encode()) for part in (header, claims)]
    signed = ".".join(parts)
    signature = hmac.digest(secret, signed.encode(), "sha256") if secret else b""
    return f"{signed}.{plain(signature)}"


def plain(data):
    """Base 64 as JWT writes it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class OpenidProvider:
    """Signs in whoever `claims` says. Every other attribute is a way to be wrong."""

    def __init__(self):
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.client_id, self.client_secret = "reverie", "made-up-secret"
        self.claims = {"sub": "s-1", "email": "ann@example.com", "email_verified": True}
        self.changed = {}  # claims of the token that are not as they should be
        self.now = 0.0
        self.forged_with = b""  # a secret to sign with instead of a key
        self.is_signed = True
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.published = [self.key]
        self.signs_with = self.key
        self.device_answer = "authorization_pending"
        self.codes = {}
        self.asked = []
        self.stated_issuer = self.issuer

    def rotate(self):
        """A new key instead of the old one."""
        self.key = RSAKey.generate_key(2048, {"kid": "second", "use": "sig"})
        self.published, self.signs_with = [self.key], self.key

    def id_token(self, nonce=None):
        claims = {
            "iss": self.issuer,
            "aud": self.client_id,
            "iat": int(self.now),
            "exp": int(self.now) + 300,
            **({"nonce": nonce} if nonce else {}),
            **self.claims,
            **self.changed,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.forged_with or not self.is_signed:
            return forge(claims, self.forged_with)
        return jwt.encode({"alg": "RS256", "kid": self.signs_with.kid}, claims, self.signs_with)

    async def metadata(self, request):
        self.asked.append("metadata")
        return JSONResponse(
            {
                "issuer": self.stated_issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "device_authorization_endpoint": f"{self.issuer}/device",
                "jwks_uri": f"{self.issuer}/keys",
            }
        )

    async def keys(self, request):
        self.asked.append("keys")
        return JSONResponse({"keys": [key.as_dict(private=False) for key in self.published]})

    async def authorize(self, request):
        """The person says yes at once."""
        asked = request.query_params
        code = f"code-{len(self.codes)}"
        self.codes[code] = dict(asked)
        back = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}")

    async def device(self, request):
        return JSONResponse(
            {
                "device_code": "device-1",
                "user_code": "ABCD-EFGH",
                "verification_uri": f"{self.issuer}/activate",
                "expires_in": 600,
                "interval": 1,
            }
        )

    async def token(self, request):
        form = {
            name: values[0] for name, values in parse_qs((await request.body()).decode()).items()
        }
        given = request.headers.get("authorization", "").removeprefix("Basic ")
        secret = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if given != secret:
            return JSONResponse({"error": "invalid_client"}, status_code=401)
        if "device_code" in form:
            if self.device_answer:
                return JSONResponse({"error": self.device_answer}, status_code=400)
            return self._answer(None)
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = plain(digest)
        if asked is None or asked["code_challenge"] != challenge:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        return self._answer(asked["nonce"])

    def _answer(self, nonce):
        return JSONResponse(
            {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(nonce)}
        )

    def visit(self, address):
        """What a browser does with the address: (state, code) that come back."""
        import httpx2

        answer = httpx2.get(address, timeout=120)
        back = parse_qs(urlsplit(answer.headers["location"]).query)
        return back["state"][0], back["code"][0]

    def __enter__(self):
        routes = [
            Route("/.well-known/openid-configuration", self.metadata),
            Route("/keys", self.keys),
            Route("/authorize", self.authorize),
            Route("/device", self.device, methods=["POST"]),
            Route("/token", self.token, methods=["POST"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), host="127.0.0.1", port=self.port, log_level="error"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            self.thread.join(0.01)
        return self

    def __exit__(self, *error):
        self.server.should_exit = True
        self.thread.join(120)
