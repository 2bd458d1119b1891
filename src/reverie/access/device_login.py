"""Letting in a program that has no browser (the device flow of RFC 8628), and its codes.

The program asks for a device code, which it keeps, and a user code, which a person types on the
server's page after signing in, or confirms with an invitation. The program polls meanwhile. States:
pending → approved → collected, or denied; a pending one expires. A key is made when an approved
request is collected, once: who reads the table never sees one.
"""

from __future__ import annotations

from dataclasses import dataclass

from reverie.access.api_keys import SECRET_LENGTH, check_tenant_name, hash_secret
from reverie.core import clock
from reverie.core.errors import BadInput, LoginPending, LoginRefused
from reverie.storage.access_records import DeviceRequest

SECONDS_TO_APPROVE = 900.0
POLL_INTERVAL = 5.0
# Letters that are not mistaken for each other and spell no word (RFC 8628, 6.1).
CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
CODE_LENGTH = 8


@dataclass(frozen=True, slots=True)
class DeviceCodes:
    """What a program that wants in is given."""

    device_code: str  # kept by the program: "acme.…"
    user_code: str  # typed by a person: "WDJB-MJHT"
    expires_in: float
    interval: float

    def __repr__(self) -> str:
        return f"<device codes {self.user_code}>"


def new_user_code() -> str:
    """A code of eight letters, to be typed by a person: some 34 bits, good for 15 minutes."""
    # 8 letters of 5 bits make a number; its digits to the base 20 are the code.
    number = int.from_bytes(clock.new_key()[:16], "big")
    letters = []
    for _ in range(CODE_LENGTH):
        number, place = divmod(number, len(CODE_LETTERS))
        letters.append(CODE_LETTERS[place])
    code = "".join(letters)
    return f"{code[:4]}-{code[4:]}"


def clean_user_code(typed: str) -> str:
    """The code as it is kept, however it was typed: small letters, without the dash."""
    letters = "".join(char for char in typed.upper() if char.isalnum())
    if len(letters) != CODE_LENGTH:
        raise BadInput("That is not a code like WDJB-MJHT. Type it as the terminal shows it.")
    return f"{letters[:4]}-{letters[4:]}"


def new_device_code(tenant: str) -> str:
    """A code that a program keeps; the tenant in it lets every statement carry it."""
    return f"{tenant}.{clock.new_secret(SECRET_LENGTH)}"


def split_device_code(code: str) -> tuple[str, bytes]:
    """Tenant and hash of a device code; LoginRefused if it is none."""
    tenant, dot, secret = code.partition(".")
    try:
        check_tenant_name(tenant)
    except BadInput:
        raise LoginRefused from None
    if not dot or len(secret) != SECRET_LENGTH:
        raise LoginRefused
    return tenant, hash_secret(secret)


def check_poll(request: DeviceRequest | None, now: float) -> DeviceRequest:
    """The request, if a key may be collected for it now.

    LoginPending, with `retry_after`, while nobody has approved it or if the program polls too
    often; LoginRefused if it was denied, has expired, was collected before or is unknown.
    """
    if request is None or request.state == "collected":
        raise LoginRefused
    if request.state == "denied":
        raise LoginRefused("Somebody refused to let this device in. Start again: reverie login URL")
    if request.expires_at <= now:
        raise LoginRefused("The code has expired. Start again: reverie login URL")
    if request.polled_at is not None and now - request.polled_at < request.interval:
        raise LoginPending(
            f"Ask every {request.interval:g} seconds, not more often.",
            retry_after=request.interval,
        )
    if request.state == "pending":
        raise LoginPending(retry_after=request.interval)
    return request
