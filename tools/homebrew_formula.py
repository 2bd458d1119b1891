"""A Homebrew formula of a release, for a tap: our wheel, and each package that it needs by its hash.

python -m tools.homebrew_formula WHEEL ADDRESS    print it; ADDRESS is the folder that serves WHEEL

Wheels, not sources: onnxruntime publishes none. Nobody has tried the formula on macOS yet.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from tools.dependency_lock import Package, resolve_packages

PYTHON = "3.13"
# By Homebrew's conditions. onnxruntime has no wheels for Macs with Intel's processors any more.
PLATFORMS = {
    ("macos", "arm"): ("macosx_14_0_arm64",),
    ("linux", "intel"): ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
}
FORMULA = """\
# Made by tools/homebrew_formula.py. Not tried on macOS yet.
class Reverie < Formula
  desc "Long-term memory for AI agents"
  homepage "https://pypi.org/project/reverie/"
  url "{url}", using: :nounzip
  version "{version}"
  sha256 "{sha256}"
  license "Apache-2.0"

  depends_on "python@{python}"

{resources}
  def install
    system "python{python}", "-m", "venv", libexec
    pip = [libexec/"bin/python", "-m", "pip", "install", "--no-deps", "--no-index"]
    resources.each {{ |package| package.stage {{ system(*pip, *Dir["*.whl"]) }} }}
    system(*pip, "#{{Dir["*.whl"].first}}")
    bin.install_symlink libexec/"bin/reverie", libexec/"bin/reverie-hook"
  end

  test do
    ENV["REVERIE_HOME"] = testpath/"home"
    ENV["REVERIE_EMBEDDER"] = "none"
    system bin/"reverie", "remember", "The staging server is called heron."
    assert_match "heron", shell_output("#{{bin}}/reverie recall 'which host is staging?'")
  end
end
"""


def compose_formula(
    address: str, wheel: str, packages: dict[tuple[str, str], list[Package]]
) -> str:
    """The formula, of the packages for each system (ours first); `address` serves our wheel.

    Raises SystemExit for packages that were taken from this machine's disk: a formula names public
    addresses.
    """
    local = {
        package.name
        for resolved in packages.values()
        for package in resolved[1:]
        if not package.url.startswith("https://")
    }
    if local:
        raise SystemExit(
            f"{', '.join(sorted(local))}: taken from this machine's disk, and a formula must name "
            "public addresses: run this where the index serves them"
        )
    ours = next(iter(packages.values()))[0]
    return FORMULA.format(
        url=f"{address.rstrip('/')}/{wheel}",
        version=ours.version,
        sha256=ours.sha256,
        python=PYTHON,
        resources="\n".join(
            compose_platform(*system, resolved[1:]) for system, resolved in packages.items()
        ),
    )


def compose_platform(system: str, processor: str, packages: Iterable[Package]) -> str:
    """The resources of one system."""
    lines = [f"  on_{system} do", f"    on_{processor} do"]
    for package in packages:
        lines += [
            f'      resource "{package.name}" do',
            f'        url "{package.url}", using: :nounzip',
            f'        sha256 "{package.sha256}"',
            "      end",
        ]
    return "\n".join([*lines, "    end", "  end", ""])


def build_formula(wheel: Path, address: str) -> str:
    """The formula of a wheel, its packages resolved for every system that it serves."""
    resolved = {
        system: resolve_packages(wheel, platforms, PYTHON)
        for system, platforms in PLATFORMS.items()
    }
    return compose_formula(address, wheel.name, resolved)


def main(arguments: list[str]) -> None:
    """Print the formula."""
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    print(build_formula(Path(arguments[0]), arguments[1]), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
