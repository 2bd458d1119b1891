"""What the tools make of a release: texts, bill of materials, formula, Debian package."""

import hashlib
import json
import shutil
import subprocess

import pytest
import yaml

from tests.releases.test_where_people_look import ROOT
from tools import release, release_versions
from tools.dependency_lock import read_report
from tools.homebrew_formula import compose_formula
from tools.software_bill import compose_bill

CHANGES = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [0.1.0] - 2026-01-01\n\n### Added\n\n- a\n\n## [0.0.1]\n\nold\n"
REPORT = json.dumps(
    {
        "install": [
            {
                "metadata": {"name": name, "version": "1.2", **more},
                "download_info": {
                    "url": url,
                    "archive_info": {"hashes": {"sha256": letter * 64}},
                },
            }
            for name, url, letter, more in (
                ("Typer_X", "https://example.org/typer_x-1.2-py3-none-any.whl", "a", {}),
                ("reverie", "file:///dist/reverie.whl", "b", {"license_expression": "Apache-2.0"}),
            )
        ]
    }
)
PACKAGES = sorted((ROOT / "dist").glob("reverie_*.deb"))


def test_a_release_is_told_with_its_section_of_the_changelog():
    """The section of the version; of one that is not dated yet, what is unreleased."""
    assert release.read_changes(CHANGES, "0.1.0") == "### Added\n\n- a\n"
    assert release.read_changes(CHANGES, "9.9.9") == "new\n"
    with pytest.raises(SystemExit, match=r"add a section ## \[9.9.9\]"):
        release.read_changes("# Changelog\n", "9.9.9")


def test_a_tag_of_another_version_or_without_a_date_is_refused():
    """Nothing is built for a tag that does not say what the source says."""
    release.check_tag("v0.1.0", CHANGES)
    with pytest.raises(SystemExit, match="The tag is v0"):
        release.check_tag("v0.2.0", CHANGES)
    with pytest.raises(SystemExit, match="date the release"):
        release.check_tag("v0.1.0", "## [Unreleased]\n\nnew\n")


def test_checksums_are_those_that_sha256sum_reads(tmp_path):
    """One line for each file but the list itself."""
    (tmp_path / "a.whl").write_bytes(b"one")
    (tmp_path / "SHA256SUMS").write_bytes(b"old")
    assert release.list_checksums(tmp_path) == f"{hashlib.sha256(b'one').hexdigest()}  a.whl\n"


def test_the_bill_names_every_package_by_version_and_hash():
    """Ours is what is described, the others its components; a license is named where one is."""
    bill = compose_bill(read_report(REPORT), "2026-01-01T00:00:00Z")
    assert bill["metadata"]["component"]["name"] == "reverie"
    assert bill["metadata"]["component"]["licenses"] == [{"expression": "Apache-2.0"}]
    (other,) = bill["components"]
    assert other["purl"] == "pkg:pypi/typer-x@1.2"
    assert other["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]


def test_the_formula_names_each_package_by_its_hash():
    """Our wheel from the release's address, the others as resources of their system."""
    packages = {("macos", "arm"): read_report(REPORT)}
    formula = compose_formula("https://example.org/v1/", "reverie-1.2.whl", packages)
    assert 'url "https://example.org/v1/reverie-1.2.whl"' in formula
    assert f'sha256 "{"b" * 64}"' in formula
    assert 'resource "typer-x" do\n        url "https://example.org/typer_x' in formula
    if ruby := shutil.which("ruby"):
        subprocess.run([ruby, "-c"], input=formula, text=True, check=True, capture_output=True)


def test_a_formula_of_packages_from_this_disk_is_refused():
    """Nobody else could fetch them: they are named, with what to do."""
    packages = {("macos", "arm"): read_report(REPORT.replace("https://", "file:///"))}
    with pytest.raises(SystemExit, match="typer-x: taken from this machine's disk"):
        compose_formula("https://example.org", "reverie-1.2.whl", packages)


def test_the_workflow_uses_what_is_there():
    """It is a workflow of tags, publishes without a stored key and only after trying each way."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` as yes
    jobs = workflow["jobs"]
    assert "install" in jobs["publish"]["needs"]
    assert "secrets." not in str(workflow)
    assert "tools.release --tag" in str(jobs["build"])


@pytest.mark.slow
@pytest.mark.skipif(
    not PACKAGES or shutil.which("dpkg-deb") is None,
    reason="no dist/*.deb: python -m tools.release --dry-run makes one",
)
def test_the_debian_package_runs(tmp_path):
    """What it lays down remembers and recalls with the system's Python; the commands are links to
    it, and nothing names the folder in which it was built.
    """
    package = PACKAGES[-1]
    subprocess.run(["dpkg-deb", "-x", package, tmp_path], check=True)
    home = tmp_path / "opt" / "reverie"
    for command in ("reverie", "reverie-hook"):
        link = tmp_path / "usr" / "bin" / command
        assert str(link.readlink()) == f"/opt/reverie/bin/{command}"
        first = (home / "bin" / command).read_text("utf-8").splitlines()[0]
        assert first == "#!/opt/reverie/bin/python"
    env = {
        "REVERIE_HOME": str(tmp_path / "home"),
        "REVERIE_EMBEDDER": "none",
        "PATH": "/usr/bin:/bin",
    }

    def run(*words):
        return subprocess.run(
            [home / "bin" / "python", "-I", "-m", "reverie", *words],
            capture_output=True,
            text=True,
            check=True,
            env=env,
        ).stdout

    assert release_versions.read_version() in run("--version")
    run("remember", "The staging server is called heron.")
    assert "heron" in run("recall", "which host is staging?")
