"""MCP over streamable HTTP at /mcp, as an OAuth resource server and without sessions.

The tool sets are those of `reverie mcp`; `?profile=files` chooses another one, `?space=me/demo` the
space they work in, by default the caller's own. Every request brings its token and is served by
whichever process gets it: nothing is kept between two of them. Tools that need the files of the
user's machine are not offered here.

Always true: a tool runs with the rights of the request that called it. The caller travels in a
context variable, which the SDK's tasks and threads inherit; a tool outside of a request fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import QueryParams
from starlette.types import Receive, Scope, Send

from reverie import Mind
from reverie.access import Caller
from reverie.core.authorship import Author
from reverie.core.config import ME, Settings
from reverie.core.model import Memory
from reverie.core.time_limit import limit_time
from reverie.extraction.provenance_check import Claim
from reverie.interfaces.mcp.server import PROFILES, build_server
from reverie.interfaces.mcp.tool_context import EmbedderWarmup, ToolContext
from reverie.interfaces.server.caller_mind import open_caller_mind
from reverie.interfaces.server.caller_store import CallerStore, Oversight
from reverie.interfaces.server.problems import BadArgument
from reverie.interfaces.server.sign_in import bearer_token, describe_origin, sign_in
from reverie.interfaces.server.space_names import to_server_space
from reverie.memory.memory_validation import validate_space

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from reverie.interfaces.server.deployment import Deployment

# Tools that look at files of the machine they run on: the user's own `reverie mcp` has them.
LOCAL_TOOLS = frozenset(("plan",))
SESSION_HEADER = "reverie-session"  # a host may name its conversation


class ToolRequest:
    """One request of an MCP client: who asks, in which space, and the mind that answers."""

    def __init__(self, deployment: Deployment, caller: Caller, space: str, origin: str) -> None:
        self.caller, self.space, self.origin = caller, space, origin
        self.mind = open_caller_mind(deployment, caller, "mcp", origin)

    @property
    def _store(self) -> CallerStore:
        store: object = self.mind.store
        assert isinstance(store, CallerStore)
        return store

    @property
    def has_worked(self) -> bool:
        """True if a tool read or changed memories in it."""
        return bool(self._store.changed or self._store.looked_at)

    def record(self, deployment: Deployment) -> None:
        """Note in the audit who looked at how many memories where; changes stand there already."""
        self.mind.context.flush()
        oversight = Oversight(deployment.access, deployment.now(), "mcp")
        oversight.record_reads(self.caller, self._store.looked_at)


REQUEST: ContextVar[ToolRequest] = ContextVar("tool_request")


class RequestToolContext(ToolContext):
    """What tools work with, of whichever request they were called by."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__(deployment.settings, ME)
        self._deployment = deployment

    @property
    def space(self) -> str:
        """The space of the request."""
        return REQUEST.get().space

    @property
    def spaces(self) -> tuple[str, ...]:
        """What can be seen from there."""
        return self.mind.context.visible_spaces(self.space)

    @property
    def mind(self) -> Mind:
        """The mind of the request."""
        return REQUEST.get().mind

    @property
    def settings(self) -> Settings:
        """The server's settings."""
        return self._deployment.settings

    def hide_known_secrets(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as they are: no conversation is known here that has given secrets away."""
        return arguments

    def scope_of(self, memory: Memory, narrow: str, wide: str) -> str:
        """The scope of a memory, as the tool set calls the two of them."""
        return wide if memory.space == REQUEST.get().caller.private_root else narrow

    def session_of(self, ctx: Context | None) -> str:
        """The conversation that the client names; "" for none."""
        headers = ctx.headers if ctx else None
        return str(headers.get(SESSION_HEADER, "")) if headers else ""

    def search_mode(self) -> str:
        """The search mode: "auto" where the model is ready, "words" while it is loaded."""
        if self._deployment.embedder is None:
            return "words"
        with self._lock:
            if self._warmup is None or self._warmup.may_retry:
                self._warmup = EmbedderWarmup(self._deployment.embedder)
        return "auto" if self._warmup.is_ready() else "words"

    def vouch(self, text: str, kind: str = "fact", ctx: Context | None = None) -> Claim:
        """The provenance and author of a text that a model asks to keep, judged by what the log has
        of this space.
        """
        claim = self.mind.review.vouch(text, kind, space=self.space)
        return claim._replace(author=self.author_of(ctx))

    def author_of(self, ctx: Context | None) -> Author:  # noqa: ARG002 - greetings are not kept
        """The program that asks, as it names itself in the request."""
        return Author(REQUEST.get().origin)

    def request_settling(self) -> None:
        """Workers hear of it from the database."""

    def close(self) -> None:
        """Nothing is this context's own."""


def build_session_manager(
    deployment: Deployment, context: ToolContext, profile: str
) -> StreamableHTTPSessionManager:
    """What serves the tools of a profile; it keeps nothing between two requests."""
    server = build_server(context, profile, LOCAL_TOOLS)
    # It makes the manager; its own routes and way of signing in are not used.
    server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        # A token is needed, which no page in a browser has: Host and Origin prove nothing.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=deployment.limits.body_bytes,
    )
    return server.session_manager


class McpMount:
    """The ASGI application at /mcp: one session manager a profile."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        context = RequestToolContext(deployment)
        self.managers: Mapping[str, StreamableHTTPSessionManager] = {
            profile: build_session_manager(deployment, context, profile) for profile in PROFILES
        }

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve until the block ends."""
        async with AsyncExitStack() as stack:
            for manager in self.managers.values():
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of an MCP client."""
        query = QueryParams(scope["query_string"])
        profile = query.get("profile", "unified")
        if profile not in self.managers:
            raise BadArgument(f"must be one of {', '.join(self.managers)}", "profile")
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        deployment, token = self._deployment, bearer_token(headers)

        def open_request() -> ToolRequest:
            caller = sign_in(deployment, token, "mcp")
            named = validate_space(query.get("space", ME))
            space = to_server_space(named, caller.private_root)
            return ToolRequest(deployment, caller, space, describe_origin(headers))

        request = await deployment.pool.run(open_request)
        REQUEST.set(request)
        with limit_time(deployment.limits.seconds):
            await self.managers[profile].handle_request(scope, receive, send)
        if request.has_worked:
            await deployment.pool.run(lambda: request.record(deployment))
