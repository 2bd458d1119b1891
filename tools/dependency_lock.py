"""What an installation of a release consists of: every package with version, address and hash.

pip resolves it, as it would for a user, for this system or for another one; nothing is installed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

# What each way of installing that we build ourselves comes with.
EXTRAS = "mcp,code"


class Package(NamedTuple):
    """One package of an installation."""

    name: str
    version: str
    url: str  # where its file lies; file:… for one that was taken from this machine's disk
    sha256: str
    license: str  # an SPDX expression, or "" where its metadata have none


def resolve_packages(
    wheel: Path, platforms: tuple[str, ...] = (), python: str = ""
) -> list[Package]:
    """The packages that a wheel of ours needs, itself first.

    `platforms` are wheel tags (`macosx_14_0_arm64`), none: this system; `python` is "3.13". Raises
    SystemExit with what pip says where something has no wheel for them.
    """
    options = ["--ignore-installed", "--only-binary=:all:"]
    options += [f"--platform={platform}" for platform in platforms]
    options += [f"--python-version={python}"] if python else []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        if platforms:
            options += ["--target", folder]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--report", str(report), *options, f"{wheel}[{EXTRAS}]"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"pip could not resolve {wheel.name}: {done.stderr.strip()[-600:]}")
        return read_report(report.read_text("utf-8"))


def read_report(text: str) -> list[Package]:
    """The packages of a report of pip's, ours first, the others by name."""
    found = []
    for one in json.loads(text)["install"]:
        about, source = one["metadata"], one["download_info"]
        found.append(
            Package(
                about["name"].lower().replace("_", "-"),
                about["version"],
                source["url"],
                source["archive_info"]["hashes"]["sha256"],
                about.get("license_expression", ""),
            )
        )
    return sorted(found, key=lambda package: (package.name != "reverie", package.name))
