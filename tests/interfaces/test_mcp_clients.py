"""The MCP server as clients of others see it: the inspector's command line and the official
conformance suite.

Both come from npm, once a machine: they are kept in the user's cache folder. Skipped where there is
no npm or they cannot be fetched.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="the extra reverie[mcp] is not installed")

from reverie.testing import SPACE
from tests.interfaces.test_mcp import served
from tests.support.helpers import install_npm_packages, open_mind, toy_home

pytestmark = pytest.mark.e2e

PACKAGES = {
    "@modelcontextprotocol/inspector": "0.15.0",
    "@modelcontextprotocol/conformance": "0.1.13",
}
"""The newest that run on Node 20; the conformance suite goes through the revisions from 2025-06-18
on.
"""

# What the suite asks of every server. Its other scenarios call tools, prompts and resources of its
# own example server (`test_simple_text`, …), and logging, sampling, elicitation and subscriptions,
# which we do not claim.
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


@pytest.fixture(scope="module")
def npm(tmp_path_factory):
    """The folder in which the packages' programs are."""
    if not shutil.which("npm") or not shutil.which("npx"):
        pytest.skip("npm is not installed")
    kept = os.environ.get("REVERIE_TEST_CACHE")
    folder = Path(kept) / "npm" if kept else tmp_path_factory.mktemp("npm")
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    if not all((folder / "node_modules" / name).is_dir() for name in PACKAGES):
        install_npm_packages(folder, *wanted)
    return folder / "node_modules" / ".bin"


@pytest.fixture
def home(tmp_path):
    return toy_home(tmp_path)


def test_the_inspector_over_stdio(npm, home):
    """It lists tools, resources and prompts, keeps a memory and recalls it, each time with a new
    process.
    """

    def inspected(*words):
        done = subprocess.run(
            [
                npm / "mcp-inspector",
                "--cli",
                "-e",
                f"REVERIE_HOME={home}",
                "-e",
                f"PYTHONPATH={os.pathsep.join(sys.path)}",
                "--",
                sys.executable,
                "-m",
                "reverie",
                "mcp",
                "--space",
                SPACE,
                *words,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert [tool["name"] for tool in inspected("--method", "tools/list")["tools"]][:2] == [
        "recall",
        "remember",
    ]
    assert len(inspected("--method", "resources/list")["resources"]) == 2
    assert [prompt["name"] for prompt in inspected("--method", "prompts/list")["prompts"]] == [
        "recall",
        "wrap_up",
    ]
    inspected(
        "--method",
        "tools/call",
        "--tool-name",
        "remember",
        "--tool-arg",
        "text=Staging is called heron.",
    )
    found = inspected(
        "--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=staging"
    )
    assert found["structuredContent"]["memories"][0]["text"] == "Staging is called heron."
    with open_mind(home) as mind:
        assert len(mind.browse(space=SPACE)) == 1


def test_the_conformance_suite(npm, home):
    """Every scenario that is asked of every server passes, DNS rebinding among them."""
    with served(home, "--no-token") as address:
        for scenario in SCENARIOS:
            done = subprocess.run(
                [npm / "conformance", "server", "--url", address, "--scenario", scenario],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                cwd=home,
            )
            assert done.returncode == 0, f"{scenario}\n{done.stdout}{done.stderr}"
