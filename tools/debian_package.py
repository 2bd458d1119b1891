"""A Debian package of a release: an environment of its own below /opt/reverie, commands in /usr/bin.

python -m tools.debian_package WHEEL [FOLDER]    write reverie_VERSION_ARCH.deb (default: dist)

Compiled wheels fit one version of Python: the package is for the Debian or Ubuntu on which it is
built, and depends on its `python3` as it is there. Needs dpkg-deb and /usr/bin/python3 with venv.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.dependency_lock import EXTRAS
from tools.release_versions import ROOT, read_version

PYTHON = "/usr/bin/python3"
HOME = "opt/reverie"
COMMANDS = ("reverie", "reverie-hook")
CONTROL = """\
Package: reverie
Version: {version}
Architecture: {architecture}
Maintainer: Reverie contributors <reverie@localhost>
Installed-Size: {kilobytes}
Depends: python3 (>= {python}), python3 (<< {next_python})
Section: devel
Priority: optional
Description: Long-term memory for AI agents
 What an agent needs to remember comes up at its next turn. Local, without a key.
 Memory lies in ~/.reverie and stays there when the package is removed.
"""


def build_package(wheel: Path, folder: Path, compression: str = "xz") -> Path:
    """Build the package of a wheel into a folder, which is made; returns the file.

    `compression` is one of dpkg-deb's: xz is smallest, gzip quick. Raises SystemExit where a program
    is missing.
    """
    if shutil.which("dpkg-deb") is None or not Path(PYTHON).exists():
        raise SystemExit(
            f"A Debian package needs dpkg-deb and {PYTHON}: build it on Debian or Ubuntu"
        )
    folder.mkdir(parents=True, exist_ok=True)
    architecture = ask("dpkg", "--print-architecture")
    package = folder / f"reverie_{read_version()}_{architecture}.deb"
    with tempfile.TemporaryDirectory() as made:
        stage = Path(made)
        stage.chmod(0o755)  # it becomes the package's root folder
        install_environment(wheel, stage)
        write_control(stage, architecture)
        options = ["--root-owner-group", f"-Z{compression}"]
        run("dpkg-deb", *options, "--build", str(stage), str(package))
    return package


def install_environment(wheel: Path, stage: Path) -> None:
    """Lay an environment with our wheel and its packages below a folder, as if it were the root."""
    home = stage / HOME
    run(PYTHON, "-m", "venv", "--without-pip", "--symlinks", str(home))
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", f"--python={python}", "install", "--quiet", "--no-compile"]
    run(*pip, f"{wheel}[{EXTRAS}]")
    for program in (home / "bin").iterdir():
        if program.name in COMMANDS:
            program.write_text(program.read_text("utf-8").replace(str(stage), ""), "utf-8")
        elif not program.name.startswith("python"):
            program.unlink()
    settings = home / "pyvenv.cfg"
    kept = [line for line in settings.read_text("utf-8").splitlines() if str(stage) not in line]
    settings.write_text("\n".join(kept) + "\n", "utf-8")
    run(str(python), "-m", "compileall", "-q", "-s", str(stage), "-p", "/", str(home / "lib"))
    (stage / "usr" / "bin").mkdir(parents=True)
    for command in COMMANDS:
        (stage / "usr" / "bin" / command).symlink_to(f"/{HOME}/bin/{command}")
    papers = stage / "usr" / "share" / "doc" / "reverie"
    papers.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", papers / "copyright")


def write_control(stage: Path, architecture: str) -> None:
    """Write what dpkg reads about the package."""
    major, minor = ask(PYTHON, "-c", "import sys; print(*sys.version_info[:2])").split()
    files = [path for path in stage.rglob("*") if path.is_file() and not path.is_symlink()]
    text = CONTROL.format(
        version=read_version(),
        architecture=architecture,
        kilobytes=sum(path.stat().st_size for path in files) // 1024,
        python=f"{major}.{minor}",
        next_python=f"{major}.{int(minor) + 1}",
    )
    (stage / "DEBIAN").mkdir()
    (stage / "DEBIAN" / "control").write_text(text, "utf-8")


def run(*command: str) -> None:
    """Run a program; SystemExit with what it said where it fails."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-600:]}")


def ask(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: list[str]) -> None:
    """Build the package and say where it lies."""
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        raise SystemExit(__doc__)
    folder = Path(arguments[1]) if arguments[1:] else ROOT / "dist"
    print(build_package(Path(arguments[0]), folder))


if __name__ == "__main__":
    main(sys.argv[1:])
