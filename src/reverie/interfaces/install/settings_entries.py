"""Our entries in the text of a host's settings: put in, taken out. Pure.

What others wrote stays to the byte (`json_edit`, `toml_edit`). Ours are told from theirs to the
letter (`hook_line`): a handler that Reverie did not write is never taken out, whatever it mentions.
In TOML ours is a block between two marks at the end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.config import to_toml
from reverie.core.errors import BadInput
from reverie.interfaces.install import hook_line
from reverie.interfaces.install.json_edit import BOM, BY_HAND, JsonDraft, JsonPath, TextCut
from reverie.interfaces.install.toml_edit import remove_marked_table

# The name of our MCP server in every host.
SERVER = "reverie"
# -P: hosts start it in a project that may hold a `json.py`.
SERVE_ARGS = ["-P", "-m", "reverie", "mcp"]
# Seconds that a host waits for a hook; ours answers within two. Codex allows 3 at the end of a
# session.
HOOK_TIMEOUT = 3
HOME = "REVERIE_HOME"
# Of what was made for ours: the end of the file's last line, which had none.
LAST_LINE_END = "line end"
BEGIN, END = "# >>> reverie: taken out again by `reverie uninstall` >>>", "# <<< reverie <<<"


class WiredText(NamedTuple):
    """A text with our entries, what takes them out again exactly, and which containers were made
    for them.
    """

    text: str
    undo: tuple[TextCut, ...] = ()
    made: tuple[str, ...] = ()


def add_hooks(
    text: str,
    events: Sequence[str],
    line: str,
    *,
    flat: bool,
) -> WiredText:
    """A file with our hook for each of the events.

    For Cursor (`flat`) that is a list of commands for each event, for others groups of handlers.
    """
    here = {
        event: [handler["command"] for _, handler in handlers]
        for event, handlers in group_our_handlers(JsonDraft(text).data).items()
    }
    # Wired already, to the letter: nothing is altered, not even the order.
    if here == {event: [line] for event in events}:
        return WiredText(text)
    draft = JsonDraft(remove_hooks(text, None))
    command: dict[str, Any] = {"command": line, "timeout": HOOK_TIMEOUT}
    entry = command if flat else {"hooks": [{"type": "command", **command}]}
    made = []
    # Cursor's files begin with one.
    if flat and "version" not in draft.data:
        made.append("version")
        draft.add((), "version", 1)
    if "hooks" not in draft.data:
        draft.add((), "hooks", {event: [entry] for event in events})
        return WiredText(
            draft.finish(),
            tuple(draft.undo),
            (*made, "hooks"),
        )
    hooks = get_object(draft.data, "hooks")
    for event in events:
        if event not in hooks:
            made.append(f"hooks/{event}")
            draft.add(("hooks",), event, [entry])
        elif not isinstance(hooks[event], list):
            raise BadInput(f"its hooks for {event!r} are no list. {BY_HAND}")
        else:
            draft.add(("hooks", event), None, entry)
    return WiredText(draft.finish(), tuple(draft.undo), tuple(made))


def remove_hooks(text: str, made: Collection[str] | None) -> str:
    """A text without our hooks, and without what was made for them (None: nobody knows what)."""
    if not text.strip():
        return text
    draft = JsonDraft(text)
    drop_hooks(draft, made)
    if "version" in (made or ()) and list(draft.data) == ["version"]:
        draft.remove(("version",))
    return draft.finish()


def drop_hooks(draft: JsonDraft, made: Collection[str] | None) -> None:
    """Take our handlers out, and what is empty without them if we made it, or may have."""
    for event, handlers in group_our_handlers(draft.data).items():
        # From the last to the first: places before one that is taken out stay what they are.
        for path, _ in reversed(handlers):
            draft.remove(path)
            # A group whose only handler it was goes with it.
            if len(path) > 3 and not draft.value(path[:4]):
                draft.remove(path[:3])
        is_made = made is None or bool({"hooks", f"hooks/{event}"} & set(made))
        if is_made and not draft.data["hooks"][event]:
            draft.remove(("hooks", event))
            if not draft.data["hooks"] and (made is None or "hooks" in made):
                draft.remove(("hooks",))


def add_server(text: str, server: Mapping[str, Any]) -> WiredText:
    """A file with our MCP server among those of a host; BadInput if one of its name is somebody
    else's.
    """
    draft = JsonDraft(text)
    servers = get_object(draft.data, "mcpServers")
    made = () if "mcpServers" in draft.data else ("mcpServers",)
    if SERVER in servers:
        old = servers[SERVER]
        if not is_our_server(old):
            raise BadInput(
                f"it has an MCP server {SERVER!r} that Reverie did not write. Take it out, or "
                "leave ours out: --no-mcp"
            )
        server = merge_server(old, server)
        if server == old:
            return WiredText(text)
        draft = JsonDraft(remove_server(text, ()))
    if made:
        draft.add((), "mcpServers", {SERVER: dict(server)})
    else:
        draft.add(("mcpServers",), SERVER, dict(server))
    return WiredText(draft.finish(), tuple(draft.undo), made)


def remove_server(text: str, made: Collection[str] | None) -> str:
    """A text without our MCP server, and without what was made for it."""
    if not text.strip():
        return text
    draft = JsonDraft(text)
    servers = draft.data.get("mcpServers")
    if not isinstance(servers, dict) or not is_our_server(servers.get(SERVER)):
        return text
    draft.remove(("mcpServers", SERVER))
    if not draft.data["mcpServers"] and (made is None or "mcpServers" in made):
        draft.remove(("mcpServers",))
    return draft.finish()


def is_our_server(server: Any) -> bool:
    """True if a server is `reverie mcp`, whichever installation it names."""
    found = server.get("command") if isinstance(server, Mapping) else None
    if not isinstance(found, str):
        return False
    name = re.split(r"[/\\]", found)[-1].removesuffix(".exe")
    args = server.get("args")
    # Earlier versions wrote it without -P.
    return args == ["mcp"] if name == "reverie" else args in (SERVE_ARGS, SERVE_ARGS[1:])


def merge_server(
    old: Mapping[str, Any],
    server: Mapping[str, Any],
) -> dict[str, Any]:
    """Our server as it is to be, with what somebody, or the host, noted beside it."""
    noted = old.get("env")
    env: dict[str, Any] = dict(noted) if isinstance(noted, Mapping) else {}
    # Ours to say: the memory may have moved back to its usual home.
    env.pop(HOME, None)
    env |= server.get("env", {})
    merged = {name: value for name, value in old.items() if name != "env"}
    merged |= {name: value for name, value in server.items() if name != "env"}
    return {**merged, "env": env} if env else merged


def add_toml_server(text: str, server: Mapping[str, Any]) -> WiredText:
    """A TOML file with our MCP server at its end.

    BadInput if somebody wrote a server of that name by hand, or if the file cannot be read.
    """
    rest = remove_toml_server(text)
    line_end = "\r\n" if "\r\n" in text else "\n"
    table = format_toml_server(server).replace("\n", line_end)
    block = line_end.join((BEGIN, table, END, ""))
    if block in text:
        return WiredText(text)
    gap = ""
    if rest.strip():
        gap = line_end if rest.endswith("\n") else 2 * line_end
    cut = TextCut(len(rest), len(rest), gap + block)
    made = cut.apply_to(rest)
    # A table at the end may clash with one that somebody wrote; then it is refused here.
    parse_toml(made)
    return WiredText(made, (cut.inverse(rest),), (LAST_LINE_END,) if gap == 2 * line_end else ())


def format_toml_server(server: Mapping[str, Any]) -> str:
    """Our MCP server as a table of TOML."""
    lines = [
        f"[mcp_servers.{SERVER}]",
        f"command = {to_toml(server['command'])}",
        f"args = {to_toml(tuple(server['args']))}",
    ]
    env = ", ".join(f"{name} = {to_toml(value)}" for name, value in server.get("env", {}).items())
    if env:
        lines.append(f"env = {{ {env} }}")
    return "\n".join(lines)


def remove_toml_server(text: str, made: Collection[str] | None = None) -> str:
    """A TOML file without our server, also where the host wrote its file anew since then.

    What the host put between our marks stays, and so does what somebody wrote below them. The line
    end that a last line lacked goes with ours.
    """
    servers = parse_toml(text).get("mcp_servers")
    ours = servers.get(SERVER) if isinstance(servers, dict) else None
    if not is_our_server(ours):
        return text
    rest = remove_marked_table(text, ("mcp_servers", SERVER), BEGIN, END)
    left = parse_toml(rest).get("mcp_servers", {})
    if SERVER in left:
        raise BadInput(
            f"our MCP server cannot be told from the rest of it. Take out mcp_servers.{SERVER} by "
            "hand"
        )
    line_end = "\r\n" if "\r\n" in text else "\n"
    before = text.partition(BEGIN)[0].removesuffix(line_end)
    below = rest.removeprefix(before)
    if LAST_LINE_END in (made or ()) and rest.startswith(before) and below[:1] in ("", *"\r\n"):
        return before.removesuffix(line_end) + below
    return rest


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text holds; BadInput if it cannot be read."""
    import tomllib

    try:
        return tomllib.loads(text.removeprefix(BOM))
    except tomllib.TOMLDecodeError as err:
        raise BadInput(
            f"it is no TOML that can be read, or would be none with our MCP server ({err}). Take "
            "out what is there of it, or mend it, or wire by hand: reverie install HOST --print"
        ) from err


def list_our_entries(text: str | None) -> list[str]:
    """What a file of JSON or TOML holds of ours, a line each; none where there is no file."""
    try:
        data: Mapping[str, Any] = JsonDraft(text or "").data
    except BadInput:
        data = parse_toml(text or "")
    found = [
        f"{event}: {handler['command']}"
        for event, ours in group_our_handlers(data).items()
        for _, handler in ours
    ]
    for servers in (data.get("mcpServers"), data.get("mcp_servers")):
        server = servers.get(SERVER) if isinstance(servers, Mapping) else None
        if server is not None and is_our_server(server):
            found += [f"MCP server {SERVER}: {' '.join((server['command'], *server['args']))}"]
    return found


def group_our_handlers(
    data: Mapping[str, Any],
) -> dict[str, list[tuple[JsonPath, Mapping[str, Any]]]]:
    """Our handlers by event, with their places, in the order of the file."""
    found: dict[str, list[tuple[JsonPath, Mapping[str, Any]]]] = {}
    for path, handler in iter_handlers(data):
        if is_our_handler(handler):
            found.setdefault(str(path[1]), []).append((path, handler))
    return found


def iter_handlers(data: Mapping[str, Any]) -> Iterator[tuple[JsonPath, Mapping[str, Any]]]:
    """All handlers that hosts would run, with their places: in groups, and as Cursor has them."""
    hooks = data.get("hooks")
    for event, listed in hooks.items() if isinstance(hooks, Mapping) else ():
        for at, entry in enumerate(listed if isinstance(listed, list) else ()):
            if not isinstance(entry, Mapping):
                continue
            inside = entry.get("hooks")
            if inside is None:
                yield ("hooks", event, at), entry
            for place, handler in enumerate(inside if isinstance(inside, list) else ()):
                if isinstance(handler, Mapping):
                    yield ("hooks", event, at, "hooks", place), handler


def is_our_handler(handler: Mapping[str, Any]) -> bool:
    """True if Reverie wrote a handler, to the letter of its command, whichever installation it
    names.
    """
    line = handler.get("command")
    return isinstance(line, str) and hook_line.parse_hook_line(line) is not None


def get_object(
    data: Mapping[str, Any],
    name: str,
) -> Mapping[str, Any]:
    """An object within an object; an empty one if it is not there, BadInput if it is none."""
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise BadInput(f"its {name!r} is no object. {BY_HAND}")
    return found
