"""The host agents that Reverie is wired into: one module and one row for each."""

from importlib import import_module

from reverie.interfaces.hosts.host_agent import HostAgent

HOST_MODULES = {
    "claude-code": "claude_code",
    "codex": "codex",
    "cursor": "cursor",
}


def load_host(name: str) -> HostAgent:
    """A host by its name on the command line; KeyError for one that there is not."""
    module = import_module(f"reverie.interfaces.hosts.{HOST_MODULES[name]}")
    host: HostAgent = module.HOST
    return host


def load_hosts() -> dict[str, HostAgent]:
    """All hosts by their names. A hook loads only its own."""
    return {name: load_host(name) for name in HOST_MODULES}
