"""The routes by which developers' own memories keep in step with this one.

    POST /v1/sync/push     take in a batch of memories; what became of each
    GET  /v1/sync/pull     what changed since a place that the server gave before
    GET  /v1/sync/status   whose place this is, and how far its log goes

What becomes of a batch is decided by `sync.push_intake`, what is told by `sync.change_feed`; here
is who may ask. Row security holds beneath both. A body may be packed (`Content-Encoding: gzip`),
and an answer is if the client takes it.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reverie.access import Caller
from reverie.access.rights import is_private
from reverie.core.errors import HeldByLaw
from reverie.core.model import Memory, index_memories
from reverie.interfaces.server.problems import BadArgument, TooLarge
from reverie.interfaces.server.request_gate import read_body
from reverie.interfaces.server.sign_in import bearer_token, sign_in
from reverie.sync.change_feed import MAX_PAGE, Wanted, read_feed
from reverie.sync.push_intake import take_batch
from reverie.sync.wire_format import (
    Batch,
    PushResult,
    batch_from_wire,
    page_to_wire,
    results_to_wire,
)

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment
    from reverie.storage import Store

PUSH, PULL, STATUS = "sync/push", "sync/pull", "sync/status"
GZIP_FROM = 1_000  # bytes of an answer; what is shorter goes as it is
SMALL_NUMBER = re.compile(r"[0-9]{1,9}")
MAX_SPACES = 200  # shared spaces that a device may name
# What changed nothing is no change that an audit knows of.
UNCHANGED = ("same", "kept", "refused", "gone")

Answer = Callable[[str], dict[str, Any]]  # from the caller's token


def build_sync_routes(deployment: Deployment) -> list[Route]:
    """The three routes."""

    async def serve_push(request: Request) -> Response:
        most = deployment.limits.body_bytes
        data = await read_body(request, most)
        is_packed = request.headers.get("content-encoding", "") == "gzip"

        def push(token: str) -> dict[str, Any]:
            return answer_push(deployment, token, parse_body(data, most, is_packed=is_packed))

        return await answer(request, push)

    async def serve_pull(request: Request) -> Response:
        query = request.query_params
        asked = {name: query.get(name, "") for name in ("after", "device", "limit")}
        spaces = tuple(query.getlist("space")[:MAX_SPACES])
        return await answer(request, lambda token: answer_pull(deployment, token, asked, spaces))

    async def serve_status(request: Request) -> Response:
        return await answer(request, lambda token: answer_status(deployment, token))

    async def answer(request: Request, work: Answer) -> Response:
        token = bearer_token(request.headers)
        accepted = request.headers.get("accept-encoding", "")
        # Packing megabytes takes a tenth of a second, which all others would wait for.
        return await deployment.pool.run(lambda: pack_answer(work(token), accepted))

    return [
        Route("/v1/sync/push", serve_push, methods=["POST"], name=PUSH),
        Route("/v1/sync/pull", serve_pull, methods=["GET"], name=PULL),
        Route("/v1/sync/status", serve_status, methods=["GET"], name=STATUS),
    ]


def answer_push(deployment: Deployment, token: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Take in a batch."""
    caller = sign_in(deployment, token, PUSH)
    batch, now = batch_from_wire(values), deployment.now()
    store = open_store_of(deployment, caller)
    check_quota(deployment, caller, batch, now)
    held = refuse_held(deployment, caller, store, batch)
    allowed = batch._replace(
        memories=tuple(one for one in batch.memories if one.memory.id not in held),
        purged=tuple(one for one in batch.purged if one.id not in held),
    )
    results = take_batch(store, caller, allowed, now)
    results += [PushResult(id, "refused", why) for id, why in held.items()]
    record_changes(deployment, caller, batch, results, now)
    record_reads(deployment, caller, [one.was for one in results if one.was], PUSH)
    return results_to_wire(results, store.last_event())


def answer_pull(
    deployment: Deployment,
    token: str,
    asked: Mapping[str, str],
    spaces: tuple[str, ...],
) -> dict[str, Any]:
    """The next page of what changed."""
    caller = sign_in(deployment, token, PULL)
    wanted = Wanted(caller, frozenset(spaces))
    limit = int(asked["limit"]) if SMALL_NUMBER.fullmatch(asked["limit"]) else MAX_PAGE
    store = open_store_of(deployment, caller)
    page = read_feed(store, wanted, asked["after"], asked["device"], limit)
    record_reads(deployment, caller, page.memories, PULL)
    return page_to_wire(page)


def answer_status(deployment: Deployment, token: str) -> dict[str, Any]:
    """Whose place this is."""
    caller = sign_in(deployment, token, STATUS)
    return {
        "tenant": caller.tenant,
        "user": caller.user,
        "seq": open_store_of(deployment, caller).last_event(),
        "spaces": [{"space": space, "right": right.word} for space, right in caller.rights.held],
        "at": deployment.now(),
    }


def open_store_of(deployment: Deployment, caller: Caller) -> Store:
    """The tenant's store, cut to what the caller may read and write."""
    return deployment.database.store(
        caller.tenant,
        readable=caller.rights.readable_regex,
        writable=caller.rights.writable_regex,
    )


def check_quota(deployment: Deployment, caller: Caller, batch: Batch, now: float) -> None:
    """Raise QuotaExceeded if the tenant may not keep what a batch brings."""
    if batch.memories:
        size = sum(len(one.memory.text) for one in batch.memories)
        deployment.access.check_quota(caller, now, memories=len(batch.memories), size=size)


def refuse_held(
    deployment: Deployment, caller: Caller, store: Store, batch: Batch
) -> dict[str, str]:
    """What a batch would erase, or move to where it can be erased, and a legal hold forbids to:
    id → why. Of what the caller may not see nothing is told.
    """
    places = {one.memory.id: one.memory.space for one in batch.memories}
    known = index_memories(store.get([*places, *(one.id for one in batch.purged)]))
    wanted = [id for id, one in known.items() if places.get(id) != one.space]
    held = {}
    for id in wanted:
        try:
            deployment.access.governance.check_purge(caller, [id])
        except HeldByLaw as err:
            held[id] = str(err)
    return held


def record_changes(
    deployment: Deployment,
    caller: Caller,
    batch: Batch,
    results: list[PushResult],
    now: float,
) -> None:
    """Have the audit know what a batch changed, by space."""
    changed = {one.id for one in results if one.result not in UNCHANGED}
    spaces = {id: one.space for id, one in index_memories(m.memory for m in batch.memories).items()}
    spaces |= {one.id: one.space for one in batch.purged}
    for space, count in Counter(spaces[id] for id in changed if id in spaces).items():
        deployment.access.record_change(caller, PUSH, space, count, now)


def record_reads(
    deployment: Deployment, caller: Caller, memories: Iterable[Memory], verb: str
) -> None:
    """Have the audit know what of shared spaces was read."""
    spaces = Counter(one.space for one in memories if not is_private(one.space))
    if spaces:
        deployment.access.record_read(caller, verb, dict(spaces), deployment.now())


def parse_body(data: bytes, most: int, *, is_packed: bool) -> dict[str, Any]:
    """The object in a request's body, unpacked; TooLarge if that is too large."""
    plain = unpack(data, most) if is_packed else data
    try:
        values = json.loads(plain, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as err:
        raise BadArgument("The body is no JSON object. Send a batch.") from err
    if not isinstance(values, dict):
        raise BadArgument("The body is no JSON object. Send a batch.")
    return values


def unpack(data: bytes, most: int) -> bytes:
    """Packed bytes unpacked, not more than so many."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(data, most)
    except zlib.error as err:
        raise BadArgument("The body is not packed as it says.") from err
    if unpacker.unconsumed_tail:
        raise TooLarge(f"The request has more than {most:,} bytes. Send less at once.")
    return plain


def refuse_constant(name: str) -> Any:
    """Refuse NaN and the infinities, which are no JSON."""
    raise ValueError(name)


def pack_answer(values: dict[str, Any], accepted: str) -> Response:
    """The answer, packed if that is worth it and the client can unpack it."""
    data = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Vary": "Accept-Encoding", "Cache-Control": "no-store"}
    if "gzip" in accepted and len(data) > GZIP_FROM:
        data = gzip.compress(data, 6)
        headers["Content-Encoding"] = "gzip"
    return Response(data, headers=headers, media_type="application/json")
