"""How this Reverie was installed, so that advice on an extra names a command that works here.

It is looked up only where something is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

DISTRIBUTION = "reverie"
# The file by which a tool marks an environment as its own, and the command that installs anew.
TOOL_COMMANDS = {
    "pipx_metadata.json": "pipx install --force",
    "uv-receipt.toml": "uv tool install --force",
}


def advise_install(extra: str) -> str:
    """The command that adds an extra to this installation, such as pip install 'reverie[web]': from
    the clone or archive that it was installed from, by the tool that did it, into the Python that
    runs it.
    """
    source = read_source()
    wanted = f"{DISTRIBUTION}[{extra}]"
    if source.get("url"):
        folder = urlparse(source["url"])
        is_folder = folder.scheme == "file" and "dir_info" in source
        wanted = f"{unquote(folder.path)}[{extra}]" if is_folder else f"{wanted} @ {source['url']}"
    is_editable = bool((source.get("dir_info") or {}).get("editable"))
    option = "-e " if is_editable else ""
    for mark, command in TOOL_COMMANDS.items():
        if (Path(sys.prefix) / mark).is_file():
            return f"{command} {option}'{wanted}'"
    return f"{find_pip()} install {option}'{wanted}'"


def read_source() -> dict[str, Any]:
    """Where this distribution was installed from (PEP 610); empty for a package index."""
    import json
    from importlib import metadata

    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        found = json.loads(text or "{}")
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def find_pip() -> str:
    """`pip` where a shell would take that of this Python, else its whole name."""
    import shutil

    found = shutil.which("pip")
    if found and Path(found).parent == Path(sys.executable).parent:
        return "pip"
    python = f"'{sys.executable}'" if " " in sys.executable else sys.executable
    return f"{python} -m pip"
