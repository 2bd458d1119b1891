"""Errors as problem documents (RFC 9457): what happened, what to do, and which argument it was.

Every error of `core.errors` has a row here, or its parent has. What nobody foresaw is answered with
the request's id and nothing else; the log has the rest.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from reverie.core import errors

MEDIA_TYPE = "application/problem+json"


class BadArgument(errors.BadInput):
    """An argument is not what the verb takes. `/openapi.json` lists what each takes."""

    def __init__(self, message: str | None = None, field: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field  # where it stands in the request


class TooLarge(errors.BadInput):
    """That request is too large. Send less at once."""


class OutOfTime(errors.ReverieError):
    """It took longer than this server lets a request take. Ask for less, or try again."""


class Overloaded(errors.TryLater):
    """The server has more requests than it can take just now. Try again in a moment."""


class Problem(NamedTuple):
    """What an error is called on the wire."""

    status: HTTPStatus
    name: str  # last part of the problem's type


# The first row that fits holds.
PROBLEMS: tuple[tuple[type[Exception], Problem], ...] = (
    (TooLarge, Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large")),
    (OutOfTime, Problem(HTTPStatus.GATEWAY_TIMEOUT, "out-of-time")),
    (Overloaded, Problem(HTTPStatus.SERVICE_UNAVAILABLE, "overloaded")),
    (errors.Unauthenticated, Problem(HTTPStatus.UNAUTHORIZED, "unauthenticated")),
    (errors.LoginPending, Problem(HTTPStatus.BAD_REQUEST, "login-pending")),
    (errors.LoginRefused, Problem(HTTPStatus.FORBIDDEN, "login-refused")),
    (errors.AccessDenied, Problem(HTTPStatus.FORBIDDEN, "access-denied")),
    (errors.Disabled, Problem(HTTPStatus.FORBIDDEN, "switched-off")),
    (errors.HeldByLaw, Problem(HTTPStatus.CONFLICT, "legal-hold")),
    (errors.RateLimited, Problem(HTTPStatus.TOO_MANY_REQUESTS, "rate-limited")),
    (errors.QuotaExceeded, Problem(HTTPStatus.TOO_MANY_REQUESTS, "quota-exceeded")),
    (errors.Refused, Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "refused")),
    (errors.BadInput, Problem(HTTPStatus.BAD_REQUEST, "bad-input")),
    (errors.NotFound, Problem(HTTPStatus.NOT_FOUND, "not-found")),
    (errors.Overwritten, Problem(HTTPStatus.PRECONDITION_FAILED, "overwritten")),
    (errors.Conflict, Problem(HTTPStatus.CONFLICT, "conflict")),
    (errors.StoreBusy, Problem(HTTPStatus.SERVICE_UNAVAILABLE, "store-busy")),
    (errors.StoreError, Problem(HTTPStatus.SERVICE_UNAVAILABLE, "store-unavailable")),
    (errors.ModelUnavailable, Problem(HTTPStatus.SERVICE_UNAVAILABLE, "model-unavailable")),
    (errors.EmbedderUnavailable, Problem(HTTPStatus.SERVICE_UNAVAILABLE, "model-unavailable")),
    (errors.ModelAway, Problem(HTTPStatus.SERVICE_UNAVAILABLE, "model-unavailable")),
    (errors.ReverieError, Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "trouble")),
)
UNFORESEEN = Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "unforeseen")
RETRY_SECONDS = 1.0  # where nobody knows better when to come back


def find_problem(err: BaseException) -> Problem:
    """The row of an error; UNFORESEEN for what is none of ours."""
    if isinstance(err, HTTPException):  # no route takes that address, or not by that method
        return Problem(HTTPStatus(err.status_code), "no-such-route")
    return next((row for kind, row in PROBLEMS if isinstance(err, kind)), UNFORESEEN)


def problem_document(problem: Problem, detail: str, request_id: str, field: str = "") -> Any:
    """The document of a problem, as JSON values."""
    return {
        "type": f"urn:reverie:problem:{problem.name}",
        "title": problem.status.phrase,
        "status": int(problem.status),
        "detail": detail,
        "instance": f"urn:reverie:request:{request_id}",
        **({"field": field} if field else {}),
    }


def describe_problem(err: BaseException, problem: Problem) -> str:
    """What a client is told. Of what nobody foresaw nothing: its text may be anybody's."""
    if isinstance(err, HTTPException):
        return "There is no such route, or not for this method. /openapi.json lists them all."
    if problem is UNFORESEEN:
        return "Something went wrong. The server's log says what, under this request's id."
    return str(err)


def answer_problem(err: BaseException, request_id: str, challenge: str = "") -> JSONResponse:
    """The response to a request that failed; `challenge` says how to sign in (RFC 9110, 11.6)."""
    problem = find_problem(err)
    detail = describe_problem(err, problem)
    headers = dict(getattr(err, "headers", None) or {})
    if problem.status == HTTPStatus.UNAUTHORIZED and challenge:
        headers["WWW-Authenticate"] = challenge
    if isinstance(err, (errors.TryLater, errors.StoreBusy)):
        wait = getattr(err, "retry_after", None)
        headers["Retry-After"] = str(max(1, round(RETRY_SECONDS if wait is None else wait)))
    return JSONResponse(
        problem_document(problem, detail, request_id, getattr(err, "field", "")),
        int(problem.status),
        headers,
        MEDIA_TYPE,
    )
