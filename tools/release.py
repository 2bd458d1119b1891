"""Everything that a release consists of, made in one go into dist/.

python -m tools.release --dry-run                  build all, publish nothing; today's version
python -m tools.release --tag v0.1.0 [ADDRESS]     the same for a tag; ADDRESS serves its files

Wheels and sources of both distributions, the MCP bundle, the Debian package, the Homebrew formula,
the bill of materials, the text of the release and SHA256SUMS. Publishing is the workflow's work
(.github/workflows/release.yml). Needs `pip install 'reverie[release]'`.
"""

import datetime
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tools.debian_package import build_package
from tools.dependency_lock import resolve_packages
from tools.homebrew_formula import build_formula
from tools.mcpb import build_bundle
from tools.release_versions import ROOT, find_differences, read_version
from tools.software_bill import compose_bill

DIST = ROOT / "dist"
EXAMPLE_ADDRESS = "https://example.org/reverie"


def read_changes(changelog: str, version: str) -> str:
    """The section of a version in the changelog; of a version not dated yet, what is unreleased.

    Raises SystemExit where there is neither.
    """
    for heading in (version, "Unreleased"):
        found = re.search(
            rf"^## \[{re.escape(heading)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.M | re.S
        )
        if found and found.group(1).strip():
            return found.group(1).strip() + "\n"
    raise SystemExit(f"CHANGELOG.md says nothing of {version}: add a section ## [{version}]")


def check_tag(tag: str, changelog: str) -> None:
    """Raise SystemExit for a tag that is not this version's, or whose changes are not dated."""
    version = read_version()
    if tag != f"v{version}":
        raise SystemExit(f"The tag is {tag}, and src/reverie/__init__.py says {version}")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.M):
        raise SystemExit(
            f"CHANGELOG.md has no heading ## [{version}] - YYYY-MM-DD: date the release"
        )


def build_distributions(folder: Path) -> Path:
    """Sources and wheels of both distributions; returns our wheel."""
    if find_spec("build") is None:
        raise SystemExit("A release needs the program build: pip install 'reverie[release]'")
    for project in (ROOT, ROOT / "reverie-mcp"):
        command = [sys.executable, "-m", "build", "--outdir", str(folder), str(project)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"build failed: {(done.stderr or done.stdout).strip()[-600:]}")
    return folder / f"reverie-{read_version()}-py3-none-any.whl"


def list_checksums(folder: Path) -> str:
    """SHA256SUMS of the files of a folder, as `sha256sum --check` reads it."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != "SHA256SUMS"
    )


def make_release(folder: Path, address: str, changes: str, dry: bool) -> list[str]:
    """Make all files into an empty folder; returns what a dry run left out, and why.

    Without `dry`, SystemExit where anything cannot be made.
    """
    left_out = []
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "release-notes.md").write_text(changes, "utf-8")
    wheel = build_distributions(folder)
    made_at = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    bill = compose_bill(resolve_packages(wheel), made_at)
    name = f"reverie-{read_version()}.cdx.json"
    (folder / name).write_text(json.dumps(bill, indent=1) + "\n", "utf-8")
    build_bundle(folder)
    compression = "gzip" if dry else "xz"
    builders: dict[str, Callable[[], Path]] = {
        "the Debian package": lambda: build_package(wheel, folder, compression),
        "the Homebrew formula": lambda: write_formula(wheel, folder, address),
    }
    for what, build in builders.items():
        try:
            build()
        except SystemExit as reason:
            if not dry:
                raise
            left_out.append(f"{what}: {reason}")
    (folder / "SHA256SUMS").write_text(list_checksums(folder), "utf-8")
    return left_out


def write_formula(wheel: Path, folder: Path, address: str) -> Path:
    """Write the Homebrew formula of a wheel."""
    path = folder / "reverie.rb"
    path.write_text(build_formula(wheel, address), "utf-8")
    return path


def main(arguments: list[str]) -> None:
    """Check that all is in step, make the files and list them."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if arguments[:1] == ["--tag"] and len(arguments) in (2, 3):
        check_tag(arguments[1], changelog)
    elif arguments != ["--dry-run"]:
        raise SystemExit(__doc__)
    if differences := list(find_differences()):
        raise SystemExit("\n".join(differences))
    address = arguments[2] if arguments[2:] else EXAMPLE_ADDRESS
    changes = read_changes(changelog, read_version())
    left_out = make_release(DIST, address, changes, dry=arguments == ["--dry-run"])
    print((DIST / "SHA256SUMS").read_text("utf-8"), end="")
    for reason in left_out:
        print(f"Left out: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
