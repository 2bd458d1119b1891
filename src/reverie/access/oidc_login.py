"""Signing in people at their organisation's OpenID provider.

Authorization code with PKCE for a browser, and the provider's own device flow for a terminal. What
counts is the ID token: signed by a key of the provider's key set with an algorithm of ALGORITHMS,
from this issuer, for this client, not expired, with the nonce of this attempt. Its subject is who
signs in; an e-mail address counts only if the provider says that it is verified.

The provider is asked over https; plain http is for one on this machine, as in a test. Keys are
fetched again when a token names an unknown one, once a minute at most. Whatever the provider
answers wrongly is LoginRefused; nothing of a token is ever in a message.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from reverie.core.errors import BadInput, ExtraMissing, LoginPending, LoginRefused

ALGORITHMS = ("RS256", "PS256", "ES256", "RS384", "ES384", "RS512", "EdDSA", "Ed25519")
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "openid email profile"
TIMEOUT = 10.0
LEEWAY = 60  # seconds by which the provider's clock may differ from ours
METADATA_FOR, KEYS_AGAIN_AFTER = 3_600.0, 60.0
ON_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """The organisation's provider, as the operator configures it."""

    issuer: str  # "https://login.example.com"
    client_id: str
    client_secret: str = field(default="", repr=False)  # "" for a public client
    email_domains: tuple[str, ...] = ()  # only verified addresses of these; () does not restrict
    may_join: bool = False  # whoever the provider vouches for becomes a user


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcIdentity:
    """Who signed in, as the provider says."""

    issuer: str
    subject: str
    email: str = ""
    is_email_verified: bool = False
    name: str = ""
    issued_at: float = 0.0  # when the provider said so


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderDevice:
    """What the provider gives a terminal that wants in; `device_code` stays with the program."""

    device_code: str = field(repr=False)
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float = 600.0
    interval: float = 5.0


class OidcLogin:
    """Asks one provider. May be used from many threads; keeps its metadata and keys."""

    def __init__(self, provider: OidcProvider) -> None:
        check_address(provider.issuer)
        self.provider = provider
        self._lock = threading.Lock()
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, dict[str, Any]] | None = None

    def authorization_url(
        self, *, redirect_uri: str, state: str, nonce: str, verifier: str, now: float
    ) -> str:
        """Where to send the browser."""
        with self._client(redirect_uri) as client:
            address: str = client.create_authorization_url(
                self._endpoint("authorization_endpoint", now),
                state=state,
                nonce=nonce,
                code_verifier=verifier,
            )[0]
        return address

    def identity_for_code(
        self, code: str, *, redirect_uri: str, verifier: str, nonce: str, now: float
    ) -> OidcIdentity:
        """Who came back from the provider with this code."""
        answer = self._fetch_token(
            now,
            redirect_uri=redirect_uri,
            code=code,
            code_verifier=verifier,
            grant_type="authorization_code",
        )
        return self.read_identity(str(answer.get("id_token", "")), now, nonce=nonce)

    def start_device(self, now: float) -> ProviderDevice:
        """Codes of the provider's own device flow."""
        with self._client() as client:
            answer = self._send(
                client,
                "POST",
                self._endpoint("device_authorization_endpoint", now),
                data={"client_id": self.provider.client_id, "scope": SCOPE},
            )
        try:
            return ProviderDevice(
                device_code=str(answer["device_code"]),
                user_code=str(answer["user_code"]),
                verification_uri=str(answer["verification_uri"]),
                verification_uri_complete=str(answer.get("verification_uri_complete", "")),
                expires_in=float(answer.get("expires_in", 600)),
                interval=float(answer.get("interval", 5)),
            )
        except (KeyError, TypeError, ValueError) as err:
            raise LoginRefused(_WRONG_ANSWER) from err

    def poll_device(self, device_code: str, now: float) -> OidcIdentity:
        """Who let the terminal in; LoginPending, with `retry_after`, while nobody has."""
        answer = self._fetch_token(now, grant_type=DEVICE_GRANT, device_code=device_code)
        return self.read_identity(str(answer.get("id_token", "")), now)

    def read_identity(self, id_token: str, now: float, *, nonce: str | None = None) -> OidcIdentity:
        """The identity in an ID token; LoginRefused unless everything in it is right."""
        claims = self._read_claims(id_token, now)
        provider = self.provider
        audience = claims.get("aud")
        several = isinstance(audience, list) and len(audience) > 1
        if (several or "azp" in claims) and claims.get("azp") != provider.client_id:
            raise LoginRefused(_WRONG_ANSWER)
        if nonce is not None and claims.get("nonce") != nonce:
            raise LoginRefused(_WRONG_ANSWER)
        email = str(claims.get("email") or "").strip().lower()
        identity = OidcIdentity(
            issuer=provider.issuer,
            subject=str(claims["sub"]),
            email=email,
            is_email_verified=bool(email) and claims.get("email_verified") in (True, "true"),
            name=str(claims.get("name") or "")[:200],
        )
        check_domain(identity, provider.email_domains)
        return identity

    def identity_for_access_token(
        self, token: str, *, audiences: Sequence[str], now: float
    ) -> OidcIdentity:
        """The identity in an access token (RFC 9068); LoginRefused unless the provider signed it,
        for one of these audiences: what was issued for another service counts nothing here.
        """
        claims = self._read_claims(token, now, audiences)
        email = str(claims.get("email") or "").strip().lower()
        identity = OidcIdentity(
            issuer=self.provider.issuer,
            subject=str(claims["sub"]),
            email=email,
            is_email_verified=bool(email) and claims.get("email_verified") in (True, "true"),
            name=str(claims.get("name") or "")[:200],
            issued_at=float(claims["iat"]),
        )
        check_domain(identity, self.provider.email_domains)
        return identity

    def _read_claims(
        self, id_token: str, now: float, audiences: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        # joserfc types what a key set holds by the fields of each kind of key.
        for again in (False, True):
            keys: Any = self._key_set(now, again=again)
            try:
                token = jwt.decode(id_token, KeySet.import_key_set(keys), algorithms=ALGORITHMS)
                break
            except (JoseError, ValueError, TypeError) as err:
                # The provider may have changed its keys since they were fetched.
                if again:
                    raise LoginRefused(_WRONG_ANSWER) from err
        rules = jwt.JWTClaimsRegistry(
            now=int(now),
            leeway=LEEWAY,
            iss={"essential": True, "value": self.provider.issuer},
            aud={"essential": True, "values": list(audiences) or [self.provider.client_id]},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        try:
            rules.validate(token.claims)
        except JoseError as err:
            raise LoginRefused(_WRONG_ANSWER) from err
        return token.claims

    # The provider's addresses.

    def _endpoint(self, name: str, now: float) -> str:
        address = self._discover(now).get(name)
        if not isinstance(address, str):
            raise LoginRefused(
                f"The provider has no {name.replace('_', ' ')}. Sign in by another way."
            )
        return check_address(address)

    def _discover(self, now: float) -> dict[str, Any]:
        with self._lock:
            if self._metadata and 0 <= now - self._metadata[0] < METADATA_FOR:
                return self._metadata[1]
        address = self.provider.issuer.rstrip("/") + "/.well-known/openid-configuration"
        with self._client() as client:
            found = self._send(client, "GET", address)
        if found.get("issuer") != self.provider.issuer:
            raise LoginRefused(
                "The provider says that it is another issuer than the one configured here."
            )
        with self._lock:
            self._metadata = (now, found)
        return found

    def _key_set(self, now: float, *, again: bool) -> dict[str, Any]:
        with self._lock:
            known = self._keys
        fresh_for = KEYS_AGAIN_AFTER if again else METADATA_FOR
        if known and 0 <= now - known[0] < fresh_for:
            return known[1]
        with self._client() as client:
            found = self._send(client, "GET", self._endpoint("jwks_uri", now))
        with self._lock:
            self._keys = (now, found)
        return found

    def _client(self, redirect_uri: str = "") -> Any:
        try:
            from authlib.integrations.httpx_client import OAuth2Client
        except ImportError as err:
            raise ExtraMissing(
                "Signing in at a provider needs Authlib. Install it with: pip install"
                " 'reverie[server]'"
            ) from err
        provider = self.provider
        return OAuth2Client(
            client_id=provider.client_id,
            client_secret=provider.client_secret or None,
            token_endpoint_auth_method="client_secret_basic" if provider.client_secret else "none",
            scope=SCOPE,
            redirect_uri=redirect_uri or None,
            code_challenge_method="S256",
            timeout=TIMEOUT,
            follow_redirects=False,
        )

    def _send(self, client: Any, method: str, address: str, **options: Any) -> dict[str, Any]:
        import httpx2

        try:
            answer = client.request(method, address, withhold_token=True, **options)
            answer.raise_for_status()
            found = answer.json()
        except (httpx2.HTTPError, ValueError) as err:
            raise LoginRefused(_NO_ANSWER) from err
        if not isinstance(found, dict):
            raise LoginRefused(_NO_ANSWER)
        return found

    def _fetch_token(
        self, now: float, *, redirect_uri: str = "", **options: str
    ) -> Mapping[str, Any]:
        import httpx2
        from authlib.integrations.base_client import OAuthError

        try:
            with self._client(redirect_uri) as client:
                answer: Mapping[str, Any] = client.fetch_token(
                    self._endpoint("token_endpoint", now), **options
                )
        except OAuthError as err:
            raise refusal_of(str(err.error)) from None
        except (httpx2.HTTPError, ValueError) as err:
            raise LoginRefused(_NO_ANSWER) from err
        return answer


_NO_ANSWER = "Your organisation's provider does not answer as it should. Try again in a minute."
_WRONG_ANSWER = (
    "What your organisation's provider said cannot be trusted: it is not for here, or has expired."
    " Start again: reverie login URL"
)


def refusal_of(error: str) -> LoginPending | LoginRefused:
    """What an error of the token endpoint means (RFC 6749, 5.2 and RFC 8628, 3.5)."""
    if error == "authorization_pending":
        return LoginPending(retry_after=5.0)
    if error == "slow_down":
        return LoginPending("Ask less often.", retry_after=10.0)
    if error == "access_denied":
        return LoginRefused("You said no at your organisation's provider.")
    return LoginRefused()


def check_address(address: str) -> str:
    """The address, if it is https or on this machine; else BadInput."""
    parts = urlsplit(address)
    is_plain = parts.scheme == "http" and parts.hostname in ON_THIS_MACHINE
    if not parts.hostname or not (parts.scheme == "https" or is_plain):
        raise BadInput(f"{address!r} must begin with https:// (http is for this machine alone)")
    return address


def check_domain(identity: OidcIdentity, domains: tuple[str, ...]) -> None:
    """LoginRefused unless the verified address is in one of the domains, if there are any."""
    if not domains:
        return
    domain = identity.email.rpartition("@")[2]
    if not identity.is_email_verified or domain not in {one.lower() for one in domains}:
        raise LoginRefused(
            "Your e-mail address is not of a domain that may sign in here, or your provider has not"
            " verified it. Ask an administrator of your team's memory."
        )
