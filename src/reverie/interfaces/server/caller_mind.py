"""A `Mind` for one request: the verbs that everybody knows, from where the caller stands.

Always true: nothing of a request outlives it. The embedder, the pool of connections and the
settings are the server's; the store is the tenant's, cut to what the caller may read and write; and
`me` is the caller's private root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.access import Caller, Right
from reverie.access.authorship import stamp_writer
from reverie.core.config import ME
from reverie.core.model import Memory
from reverie.interfaces.server.caller_store import Oversight, open_caller_store
from reverie.interfaces.server.space_names import to_server_space
from reverie.memory.memory_validation import validate_space
from reverie.runtime.mind import Mind
from reverie.runtime.mind.mind_context import MindContext

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment


class CallerContext(MindContext):
    """What the verbs of one request share."""

    deployment: Deployment
    caller: Caller
    origin: str = ""

    def visible_spaces(self, space: str) -> tuple[str, ...]:
        """The space, its ancestors and what they are linked to, as far as the caller may read."""
        return tuple(self.caller.spaces_read_from(space))

    def resolve_space(self, space: str | None) -> str:
        """The space that a caller named, by default their own; AccessDenied if they may not
        read it.
        """
        named = to_server_space(validate_space(space or ME), self.caller.private_root)
        self.caller.check(Right.READ, named)
        return named

    def writable_space(self, space: str | None, session: str = "") -> str:
        """The space, to write in."""
        resolved = super().writable_space(space, session)
        self.caller.check(Right.WRITE, resolved)
        return resolved

    def sign_memory(self, memory: Memory) -> Memory:
        """The memory with the server's stamp of who wrote it."""
        return stamp_writer(memory, self.caller, self.origin)

    def close(self) -> None:
        """Nothing is this request's own but what it recorded."""
        self.flush()


def open_caller_mind(deployment: Deployment, caller: Caller, verb: str, origin: str = "") -> Mind:
    """A mind for one request, which the audit knows as `verb`; `origin` is the program that the
    caller uses.
    """
    tenant_store = deployment.database.store(
        caller.tenant,
        readable=caller.rights.readable_regex,
        writable=caller.rights.writable_regex,
    )
    oversight = Oversight(deployment.access, deployment.now(), verb)
    store = open_caller_store(tenant_store, caller, origin, oversight)
    context = CallerContext(store, deployment.embedder, deployment.settings, deployment.now)
    context.deployment, context.caller, context.origin = deployment, caller, origin
    return Mind.around(context)
