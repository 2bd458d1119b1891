"""Access tokens of the organisation's provider, as MCP clients bring them (RFC 9068, RFC 8707).

A token counts only if the provider signed it for this server: one that was issued for another
service opens nothing here. Its user is signed in once by each process, under a key of their own
that stands in their list of keys; the token itself is never kept. Once such a key is revoked, its
process lets in only tokens that the provider issued later, and so does every process that has no
other key of the user yet. A user who is switched off stays out whatever they bring.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from reverie.core.errors import LoginRefused, Unauthenticated

if TYPE_CHECKING:
    from reverie.access import AccessControl, Caller
    from reverie.access.oidc_login import OidcIdentity, OidcLogin

PURPOSE = "browser"  # of the keys: they end by themselves after half a day
MAX_KEYS = 10_000  # users whose key a process remembers


class ProviderTokens:
    """Access tokens that one provider issued for this server."""

    def __init__(
        self, oidc: OidcLogin, access: AccessControl, tenant: str, audiences: Sequence[str]
    ) -> None:
        self.oidc, self.access, self.tenant = oidc, access, tenant
        self.audiences = tuple(audiences)
        self._keys: OrderedDict[str, str] = (
            OrderedDict()
        )  # a user's subject → the key they were signed in with
        self._lock = threading.Lock()

    def find_caller(self, token: str, now: float) -> Caller:
        """Who a token stands for; Unauthenticated if it may not be used here."""
        try:
            identity = self.oidc.identity_for_access_token(token, audiences=self.audiences, now=now)
            return self._sign_in(identity, now)
        except LoginRefused as err:
            raise Unauthenticated(
                "This access token is not valid here. Sign in again, and ask for a token for "
                f"{self.audiences[0]}"
            ) from err

    def _sign_in(self, identity: OidcIdentity, now: float) -> Caller:
        key = self._known_key(identity.subject)
        if key:
            # Where it has ended by now, the user is signed in anew, unless it was revoked.
            with suppress(Unauthenticated):
                return self.access.authenticate(key, now)
        signed_in = self.access.logins.sign_in(
            self.tenant,
            identity,
            now,
            may_join=self.oidc.provider.may_join,
            purpose=PURPOSE,
            label=f"access token of {identity.issuer}",
        )
        self._remember_key(identity.subject, signed_in.key.token)
        return self.access.authenticate(signed_in.key.token, now)

    def _known_key(self, subject: str) -> str:
        with self._lock:
            if subject not in self._keys:
                return ""
            self._keys.move_to_end(subject)
            return self._keys[subject]

    def _remember_key(self, subject: str, key: str) -> None:
        with self._lock:
            self._keys[subject] = key
            self._keys.move_to_end(subject)
            while len(self._keys) > MAX_KEYS:
                self._keys.popitem(last=False)
