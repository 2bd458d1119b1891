"""The only module that reads time or makes ids.

Ids sort by the moment they were made, also within one millisecond, and also when the machine's
clock jumps back: then they count on from the last id of this process.
`tests/test_architecture.py` fails if another module reads time or makes ids.
"""

import os
import threading
import time

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
# The last day that the standard library's calendar knows: seconds of any size are valid moments.
LAST_DAY = 253_402_214_400.0

_lock = threading.Lock()
_last = 0


def now() -> float:
    """Seconds since 1970, UTC."""
    return time.time()


def ticks() -> float:
    """Seconds on a clock that never jumps; only differences mean something."""
    return time.perf_counter()


def sleep(seconds: float) -> None:
    """Wait. Never called in a caller's path, only by background threads and retries."""
    time.sleep(seconds)


def format_day(at: float) -> str:
    """The day of a moment, in UTC: 2026-11-12; the nearest of 1970 to 9999 for any other."""
    # `datetime` would take a hook 2 ms to load.
    return time.strftime("%Y-%m-%d", time.gmtime(min(max(at, 0.0), LAST_DAY)))


def new_id(prefix: str = "mem") -> str:
    """A new id: `<prefix>_` and 26 characters, like a ULID (48 bits of time, 80 of chance)."""
    global _last
    with _lock:
        chance = int.from_bytes(os.urandom(10), "big")
        fresh = (int(time.time() * 1000) << 80) | chance
        # A later id must sort later, so within a millisecond, or after a clock that jumped back,
        # the last one is counted on.
        _last = fresh if fresh > _last else _last + 1
        number = _last
    return f"{prefix}_{_to_base32(number)}"


def new_key() -> bytes:
    """32 bytes of chance, to key digests with."""
    return os.urandom(32)


def new_secret(length: int = 32) -> str:
    """So many letters and digits of chance, 5 bits each; 32 of them cannot be guessed."""
    return "".join(ALPHABET[byte & 31] for byte in os.urandom(length))


def derive_id(
    name: str,
    at: float,
    prefix: str = "mem",
) -> str:
    """The id of something that has a name elsewhere.

    It is the same for the same name and moment, and it sorts by the moment.
    """
    from hashlib import sha256

    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    milliseconds = max(
        0,
        min(int(at * 1000), (1 << 48) - 1),
    )
    number = (milliseconds << 80) | int.from_bytes(digest[:10], "big")
    return f"{prefix}_{_to_base32(number)}"


def _to_base32(number: int) -> str:
    digits = []
    for _ in range(26):
        digits.append(ALPHABET[number & 31])
        number >>= 5
    return "".join(reversed(digits))
