"""`reverie web` and `reverie open` as processes: the address, Ctrl-C, one running already."""

import json
import os
import signal
import subprocess
import sys
from http.cookiejar import CookieJar
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from reverie.testing import memory


@pytest.fixture
def web(tmp_path):
    """`start(*words)` runs `reverie …` in a home with one memory, and the id of that."""
    home = tmp_path / "home"
    with memory(home) as mind:
        id = mind.remember("The staging server is called heron.", space="me").id
    environment = {
        **os.environ,
        "REVERIE_HOME": str(home),
        "REVERIE_EMBEDDER": "toy",
        "HOME": str(tmp_path),
    }
    running = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "reverie", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        running.append(process)
        return process

    yield start, id
    for process in running:
        process.kill()
        process.communicate()


def test_it_serves_until_it_is_interrupted_and_open_finds_it(web):
    """The printed address lets a browser in; `open` leads there from another process; after Ctrl-C
    both the server and its traces are gone.
    """
    start, id = web
    server = start("web", "--port", "0", "--no-open", "--json", "--space", "me")
    assert server.stdout
    address = json.loads(server.stdout.readline())["address"]
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    assert b"Reverie" in browser.open(address).read()
    opened = start("open", id, "--no-open", "--json")
    out, err = opened.communicate(timeout=120)
    assert opened.returncode == 0, err
    there = json.loads(out)["address"]
    assert there.startswith(f"{address.partition('/?')[0]}/memory/{id}?token=")
    assert b"called heron" in build_opener(HTTPCookieProcessor(CookieJar())).open(there).read()
    port = address.partition("/?")[0].rpartition(":")[2]
    second = start("web", "--port", port, "--no-open")
    _, err = second.communicate(timeout=120)
    assert second.returncode == 13 and "--port 0" in err
    server.send_signal(signal.SIGINT)
    assert server.wait(120) == 0


def test_open_of_what_is_not_there_fails_at_once(web):
    """It serves nothing for an id that nobody has."""
    process = web[0]("open", "mem_01aaaaaaaaaaaaaaaaaaaaaaaa", "--no-open")
    process.communicate(timeout=120)
    assert process.returncode == 1
