"""Which version each file of a release names, and whether they are in step.

python -m tools.release_versions            print each file and the version it names
python -m tools.release_versions --check    fail if they differ
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OWN_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
MCP_NAME = re.compile(r"mcp-name:\s*(\S+)")


def read_version(root: Path = ROOT) -> str:
    """The version of Reverie itself, to which everything else is held."""
    found = OWN_VERSION.search((root / "src" / "reverie" / "__init__.py").read_text("utf-8"))
    if found is None:
        raise SystemExit('src/reverie/__init__.py names no version: write __version__ = "…"')
    return found.group(1)


def list_versions(root: Path = ROOT) -> dict[str, str]:
    """Every place that names the version of a release, and what it names there."""
    project = tomllib.loads((root / "reverie-mcp" / "pyproject.toml").read_text("utf-8"))["project"]
    (pinned,) = project["dependencies"]
    server = read_json(root / "reverie-mcp" / "server.json")
    plugin = read_json(root / "plugins" / "claude-code" / ".claude-plugin" / "plugin.json")
    return {
        "src/reverie/__init__.py": read_version(root),
        "reverie-mcp/pyproject.toml": project["version"],
        "reverie-mcp/pyproject.toml, the dependency on reverie": pinned.partition("==")[2],
        "reverie-mcp/server.json": server["version"],
        "reverie-mcp/server.json, its package": server["packages"][0]["version"],
        "plugins/claude-code/.claude-plugin/plugin.json": plugin["version"],
    }


def find_differences(root: Path = ROOT) -> Iterator[str]:
    """What keeps a release from going out, one sentence each."""
    expected = read_version(root)
    for place, version in list_versions(root).items():
        if version != expected:
            yield f"{place} says {version or 'no version'}, src/reverie/__init__.py {expected}"
    server = read_json(root / "reverie-mcp" / "server.json")
    marked = MCP_NAME.findall((root / "reverie-mcp" / "README.md").read_text("utf-8"))
    if marked != [server["name"]]:
        yield (
            f"reverie-mcp/README.md is marked mcp-name: {', '.join(marked) or 'nothing'}, "
            f"server.json is named {server['name']}"
        )


def find_foreign_owner(owner: str, root: Path = ROOT) -> str | None:
    """Why an account may not publish the server: its name in the MCP registry is another's."""
    name = read_json(root / "reverie-mcp" / "server.json")["name"]
    if name.partition("/")[0].lower() == f"io.github.{owner}".lower():
        return None
    return (
        f"reverie-mcp/server.json is named {name}, and {owner} may publish io.github.{owner}/… only: "
        "write that name in server.json and behind mcp-name in reverie-mcp/README.md"
    )


def read_json(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def main(arguments: list[str]) -> None:
    """Print the versions, or check them."""
    if arguments not in ([], ["--check"]):
        raise SystemExit(__doc__)
    if arguments and (differences := list(find_differences())):
        raise SystemExit("\n".join(differences))
    for place, version in list_versions().items():
        print(f"{version:10} {place}")


if __name__ == "__main__":
    main(sys.argv[1:])
