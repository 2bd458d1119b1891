"""The bundle with which a desktop client installs the MCP server by a double click.

python -m tools.mcpb [FOLDER]    write reverie-VERSION.mcpb into FOLDER (default: dist)

A `.mcpb` is a zip of a manifest and the server. Ours is of the type `uv`: the client brings Python
and installs what `pyproject.toml` asks for, on each system what fits it; so one file of a few
kilobytes serves all of them.
"""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from tools.release_versions import ROOT, read_json, read_version

# One time for all entries, the earliest a zip knows: the same source makes the same bytes.
ENTRY_TIME = (1980, 1, 1, 0, 0, 0)
PROJECT = """\
[project]
name = "reverie-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["reverie-mcp=={version}"]

[tool.uv]
package = false
"""
SERVER = '''\
"""What the bundle starts: `reverie mcp`."""

from reverie_mcp import main

main()
'''
# A desktop client works in no project of the user's: memory is the person's.
SPACE = "me"


def compose_manifest() -> dict[str, Any]:
    """The manifest, as version 0.4 of the format wants it."""
    version = read_version()
    plugin = read_json(ROOT / "plugins" / "claude-code" / ".claude-plugin" / "plugin.json")
    return {
        "manifest_version": "0.4",
        "name": "reverie",
        "display_name": "Reverie",
        "version": version,
        "description": plugin["description"],
        "author": plugin["author"],
        "license": plugin["license"],
        "keywords": ["memory", "agents"],
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server/main.py", "--space", SPACE],
                "env": {"REVERIE_HOME": "${user_config.home}"},
            },
        },
        "tools": list_tools(),
        "compatibility": {
            "platforms": ["darwin", "linux"],
            "runtimes": {"python": ">=3.11"},
        },
        "user_config": {
            "home": {
                "type": "directory",
                "title": "Where the memory lives",
                "description": "A folder of this machine; the command line uses the same one.",
                "required": False,
                "default": "${HOME}/.reverie",
            }
        },
    }


def list_tools() -> list[dict[str, str]]:
    """Name and first sentence of each tool that the server offers."""
    answers = read_json(ROOT / "src" / "reverie" / "interfaces" / "mcp" / "early_answers.json")
    tools = answers["profiles"]["unified"]["tools/list"]["tools"]
    return [
        {"name": tool["name"], "description": tool["description"].partition(". ")[0].rstrip(".")}
        for tool in tools
    ]


def build_bundle(folder: Path) -> Path:
    """Write the bundle into a folder, which is made; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle = folder / f"reverie-{read_version()}.mcpb"
    entries = {
        "manifest.json": json.dumps(compose_manifest(), indent=2) + "\n",
        "pyproject.toml": PROJECT.format(version=read_version()),
        "server/main.py": SERVER,
        "LICENSE": (ROOT / "LICENSE").read_text("utf-8"),
    }
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(zipfile.ZipInfo(name, ENTRY_TIME), text)
    return bundle


def main(arguments: list[str]) -> None:
    """Write the bundle and say where it lies."""
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        raise SystemExit(__doc__)
    print(build_bundle(Path(arguments[0]) if arguments else ROOT / "dist"))


if __name__ == "__main__":
    main(sys.argv[1:])
