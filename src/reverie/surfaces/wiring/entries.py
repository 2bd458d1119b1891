"""Our entries in the text of a host's settings: put in, taken out. Pure.

JSON keeps its indentation and the order of its keys. In TOML ours is a block between two marks at the end, so that
comments and formatting of the rest stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reverie.errors import BadInput

SERVER = "reverie"       # the name of our MCP server in every host
TIMEOUT = 3              # seconds that a host waits for a hook; ours answers within two. Codex allows 3 at the end
OURS = re.compile(r"reverie[/\\]surfaces[/\\]hooks[/\\]run\.py|\breverie-hook\b")
BEGIN, END = "# >>> reverie: taken out again by `reverie uninstall` >>>", "# <<< reverie <<<"
BLOCK = re.compile(rf"\n?{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", re.DOTALL)

Change = Callable[[dict[str, Any]], None]


def altered(text: str, change: Change) -> str:
    """The text of a JSON file with a change made; an empty text is an empty object."""
    try:
        data = json.loads(text) if text.strip() else {}
    except ValueError as err:
        raise BadInput(f"it is no JSON that can be read ({err}). Mend it, or wire Reverie by hand") from err
    if not isinstance(data, dict):
        raise BadInput("it holds no JSON object. Mend it, or wire Reverie by hand")
    before = json.dumps(data)
    change(data)
    if json.dumps(data) == before:
        return text
    found = re.search(r"\n([ \t]+)\S", text)
    made = json.dumps(data, indent=found[1] if found else 2, ensure_ascii=False)
    return made + ("\n" if not text.strip() or text.endswith("\n") else "")


def grouped(events: Iterable[str], command: str) -> Change:
    """Our hooks as Claude Code and Codex want them: groups of handlers for each event."""
    def change(data: dict[str, Any]) -> None:
        hooks = part(data, "hooks")
        for event in events:
            groups = list_in(hooks, event)
            ours = {"type": "command", "command": command, "timeout": TIMEOUT}
            if not any(handler == ours for group in groups for handler in handlers(group)):
                groups[:] = [*(kept for group in groups if (kept := without(group))), {"hooks": [ours]}]
    return change


def flat(events: Iterable[str], command: str) -> Change:
    """Our hooks as Cursor wants them: a list of commands for each event."""
    def change(data: dict[str, Any]) -> None:
        data.setdefault("version", 1)
        hooks = part(data, "hooks")
        for event in events:
            listed = list_in(hooks, event)
            ours = {"command": command, "timeout": TIMEOUT}
            if ours not in listed:
                listed[:] = [*(one for one in listed if not is_ours(one)), ours]
    return change


def unhooked(data: dict[str, Any]) -> None:
    """Take our hooks out, and what is empty without them."""
    hooks = data.get("hooks")
    if not isinstance(hooks, dict):
        return
    for event, listed in list(hooks.items()):
        if isinstance(listed, list):
            left = [kept for one in listed if not is_ours(one) and (kept := without(one))]
            if left != listed:
                hooks[event] = left
                if not left:
                    del hooks[event]
    if not hooks:
        del data["hooks"]


def serving(server: Mapping[str, Any]) -> Change:
    """Our MCP server among those of a host."""
    def change(data: dict[str, Any]) -> None:
        part(data, "mcpServers")[SERVER] = dict(server)
    return change


def unserved(data: dict[str, Any]) -> None:
    """Take our MCP server out."""
    servers = data.get("mcpServers")
    if isinstance(servers, dict) and SERVER in servers:
        del servers[SERVER]
        if not servers:
            del data["mcpServers"]


def toml_with(text: str, server: Mapping[str, Any]) -> str:
    """A TOML file with our MCP server at its end; BadInput if it has one by hand, or cannot be read."""
    import tomllib

    rest = toml_without(text)
    lines = [f"[mcp_servers.{SERVER}]", f"command = {json.dumps(server['command'])}",
             f"args = {json.dumps(list(server['args']))}"]  # fmt: skip
    if server.get("env"):
        lines.append("env = { " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
                     + " }")  # fmt: skip
    made = "\n".join((rest.rstrip("\n") + "\n" if rest.strip() else "", BEGIN, *lines, END, "")).lstrip("\n")
    try:
        tomllib.loads(made)
    except tomllib.TOMLDecodeError as err:
        raise BadInput(f"our MCP server cannot be added ({err}). Take out what is there of it, or mend it") from err
    return made


def toml_without(text: str) -> str:
    """A TOML file without our block."""
    return BLOCK.sub("", text)


def is_ours(handler: Any) -> bool:
    """Whether a handler runs our hook, whichever installation of Reverie it names."""
    command = handler.get("command") if isinstance(handler, Mapping) else None
    return isinstance(command, str) and OURS.search(command) is not None


def handlers(group: Any) -> list[Any]:
    """The handlers of a group."""
    found = group.get("hooks") if isinstance(group, Mapping) else None
    return found if isinstance(found, list) else []


def without(group: Any) -> Any:
    """A group without our handlers; None if nothing else was in it. What is no group is left as it is."""
    found = handlers(group)
    if not any(map(is_ours, found)):
        return group
    left = [handler for handler in found if not is_ours(handler)]
    return {**group, "hooks": left} if left else None


def part(data: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within an object, made if it is not there."""
    found = data.setdefault(name, {})
    if not isinstance(found, dict):
        raise BadInput(f"its {name!r} is no object. Mend it, or wire Reverie by hand")
    return found


def list_in(data: dict[str, Any], name: str) -> list[Any]:
    """A list within an object, made if it is not there."""
    found = data.setdefault(name, [])
    if not isinstance(found, list):
        raise BadInput(f"its hooks for {name!r} are no list. Mend it, or wire Reverie by hand")
    return found
