"""How a device proves to another that a ring is its own, though the two share no latest epoch.

That is so after each of them removed a machine without having heard of the other's removal: what
both hold, a machine that was removed holds too. So each asks every other device for a proof by a
key that it seals to that device alone, and every ring carries a MAC under each key that its writer
was asked by. Who was removed can open no such key, so can pose as nobody; a key that somebody else
put there in a device's name only shows that other one what it can read anyway. Pure but for what
age draws.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping

from reverie.core.age_sealing import open_with, public_of, seal_to
from reverie.core.errors import CannotOpen
from reverie.sync.device_logs.age_keys import is_public_key

KEY_BYTES = 32


def proof_key(secret: str, public: str) -> bytes:
    """The key by which a device asks another one for proofs: the same each time, known to nobody
    who lacks its secret, until it is sealed to the other.
    """
    own = hashlib.sha256(b"reverie device proofs\0" + secret.encode()).digest()
    return hmac.digest(own, public.encode(), "sha256")


def ask_proofs(secret: str, publics: Iterable[str]) -> dict[str, str]:
    """By public key what asks its owner for proofs, in base64."""
    own = public_of(secret)
    return {
        public: base64.b64encode(seal_to([public], proof_key(secret, public))).decode()
        for public in sorted(set(publics) - {own})
    }


def open_ask(secret: str, asks: Mapping[str, str]) -> str:
    """The key by which somebody asks this device for proofs, in hexadecimal; "" for none."""
    sealed = asks.get(public_of(secret), "")
    try:
        key = open_with(secret, base64.b64decode(sealed)) if sealed else b""
    except (CannotOpen, ValueError):
        return ""
    return key.hex() if len(key) == KEY_BYTES else ""


def prove(key: str, text: bytes) -> str:
    """The proof that whoever was asked by a key wrote a text."""
    return hmac.digest(bytes.fromhex(key), text, "sha256").hex()


def is_proved(secret: str, public: str, text: bytes, proofs: Iterable[str]) -> bool:
    """True if the owner of a public key proves to the owner of `secret` that a text is its own."""
    if not is_public_key(public):
        return False
    wanted = prove(proof_key(secret, public).hex(), text)
    return any(hmac.compare_digest(wanted, proof) for proof in proofs if proof.isascii())
