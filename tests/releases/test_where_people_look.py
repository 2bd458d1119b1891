"""What catalogues and clients read of a release: in step with each other, and true."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.helpers import install_npm_packages
from tools import mcpb, release_versions

ROOT = Path(__file__).parents[2]
READ = (
    "src/reverie/__init__.py",
    "reverie-mcp/pyproject.toml",
    "reverie-mcp/server.json",
    "reverie-mcp/README.md",
    "plugins/claude-code/.claude-plugin/plugin.json",
)


@pytest.fixture
def tree(tmp_path):
    """A copy of the files that name a version."""
    for name in READ:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_file_names_the_same_version():
    """What is released together is one version, and the marker is the name in the registry."""
    assert list(release_versions.find_differences()) == []


@pytest.mark.parametrize("name", [name for name in READ if not name.endswith("README.md")])
def test_a_version_that_was_forgotten_is_named(tree, name):
    """A file that stayed behind, or went ahead alone, is named with both versions."""
    path = tree / name
    path.write_text(path.read_text("utf-8").replace("0.1.0", "0.1.9"), "utf-8")
    assert any("0.1.9" in found for found in release_versions.find_differences(tree))


def test_a_marker_of_another_name_is_told(tree):
    """The registry would refuse a package whose description is marked with another name."""
    page = tree / "reverie-mcp" / "README.md"
    page.write_text(page.read_text("utf-8").replace("mcp-name: io", "mcp-name: com"), "utf-8")
    (found,) = release_versions.find_differences(tree)
    assert "mcp-name: com.github" in found and "server.json" in found


def test_only_the_owner_of_the_name_publishes():
    """An account is told what to write before the registry refuses it."""
    assert release_versions.find_foreign_owner("Reverie-Contributors") is None
    assert "io.github.ann/" in str(release_versions.find_foreign_owner("ann"))


def test_the_entry_for_the_registry_keeps_its_rules():
    """Name in reverse order of a domain with one slash, at most 100 characters to describe, one
    exact version, the package that `uvx` runs.
    """
    server = json.loads((ROOT / "reverie-mcp" / "server.json").read_text("utf-8"))
    project = tomllib.loads((ROOT / "reverie-mcp" / "pyproject.toml").read_text("utf-8"))["project"]
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert len(server["description"]) <= 100
    assert re.fullmatch(r"\d+\.\d+\.\d+", server["version"])
    (package,) = server["packages"]
    assert package["identifier"] == project["name"] in project["scripts"]
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})


def test_the_thin_distribution_asks_for_extras_that_exist():
    """Its one dependency is ours, with extras that our own pyproject has."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    thin = tomllib.loads((ROOT / "reverie-mcp" / "pyproject.toml").read_text("utf-8"))["project"]
    (needed,) = thin["dependencies"]
    name, extras = re.split(r"\[|\]==", needed)[:2]
    assert name == ours["name"]
    assert set(extras.split(",")) <= ours["optional-dependencies"].keys()
    assert thin["requires-python"] == ours["requires-python"]


def test_the_thin_program_is_reverie_mcp(tmp_path):
    """It greets a client as `reverie mcp` does, and takes its options."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = subprocess.run(
        [sys.executable, "-c", "from reverie_mcp import main; main()", "--space", "me/demo"],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={
            "PYTHONPATH": str(ROOT / "reverie-mcp" / "src"),
            "REVERIE_HOME": str(tmp_path / "home"),
            "REVERIE_EMBEDDER": "none",
            "HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
        },
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "reverie", done.stderr


def test_the_bundle_holds_what_its_manifest_names(tmp_path):
    """Entry point, project of the same version and the tools that the server offers; the same
    source makes the same bytes.
    """
    bundle = mcpb.build_bundle(tmp_path / "one")
    with zipfile.ZipFile(bundle) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        project = tomllib.loads(archive.read("pyproject.toml").decode())["project"]
        assert manifest["server"]["entry_point"] in archive.namelist()
    version = release_versions.read_version()
    assert manifest["version"] == project["version"] == version
    assert project["dependencies"] == [f"reverie-mcp=={version}"]
    assert {"remember", "recall"} <= {tool["name"] for tool in manifest["tools"]}
    assert all(tool["description"] for tool in manifest["tools"])
    assert bundle.read_bytes() == mcpb.build_bundle(tmp_path / "two").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_the_bundle_passes_the_tool_of_the_format(tmp_path):
    """`mcpb validate`, of those who made the format, finds nothing wrong with the manifest."""
    install_npm_packages(tmp_path, "@anthropic-ai/mcpb@2.1.2")
    with zipfile.ZipFile(mcpb.build_bundle(tmp_path / "dist")) as archive:
        archive.extractall(tmp_path / "bundle")
    done = subprocess.run(
        [tmp_path / "node_modules" / ".bin" / "mcpb", "validate", tmp_path / "bundle"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_marketplace_offers_the_plugin_that_is_there():
    """Name and description of the plugin are the plugin's own."""
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    (offered,) = market["plugins"]
    about = json.loads(
        (ROOT / offered["source"] / ".claude-plugin" / "plugin.json").read_text("utf-8")
    )
    assert (offered["name"], offered["description"]) == (about["name"], about["description"])
