# mypy: no-check-untyped-defs
"""`reverie server` as an operator runs it: real processes, real signals."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import psycopg
import pytest

from reverie.core.clock import sleep, ticks
from tests.support.helpers import wait_until

# Only here: other tests have their databases on the same server.
HELD = (
    "select count(*) from pg_stat_activity"
    " where wait_event_type = 'Lock' and datname = current_database()"
)


def environment(home, postgres_url):
    """What an operator sets."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "REVERIE_HOME": str(home),
        "REVERIE_EMBEDDER": "toy",
        "REVERIE_SERVER_DATABASE": postgres_url,
    }


def reverie(env, *words, code=0):
    """What a command says, as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "reverie", *words, "--json"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@contextmanager
def started(env, *words, command=("server", "start")):
    """A server process and its address; it has ended after the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reverie", *command, "--port", "0", *words],
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = []
    try:
        address = ""
        while not address:
            line = process.stderr.readline()
            lines.append(line)
            assert line, "".join(lines)
            if found := re.search(r"Serving at (\S+);", line):
                address = found[1]
        yield process, address, lines
    finally:
        process.terminate()
        lines += process.stderr.readlines()
        process.wait(120)
        process.stderr.close()


def test_a_team_is_set_up_from_the_command_line(postgres_url, tmp_path):
    """init, user, key, space: then two people share what they know, and SIGTERM ends it all."""
    env = environment(tmp_path, postgres_url)
    boss = reverie(env, "server", "init", "--tenant", "acme", "--admin", "boss")["key"]
    assert reverie(env, "server", "init", "--tenant", "acme")["key"] is None
    for name in ("ann", "ben"):
        reverie(env, "server", "user", "add", name, "--tenant", "acme")
    ann, ben = (
        reverie(env, "server", "key", "issue", name, "label=laptop", "--tenant", "acme")["token"]
        for name in ("ann", "ben")
    )
    reverie(env, "server", "space", "grant", "demo", "write", "--tenant", "acme")
    names = [user["name"] for user in reverie(env, "server", "user", "list", "--tenant", "acme")]
    assert names == ["ann", "ben", "boss"]
    with started(env) as (process, address, lines):

        def ask(token, verb, **arguments):
            headers = {"Authorization": f"Bearer {token}"}
            answer = httpx.post(
                f"{address}/v1/{verb}", json=arguments, headers=headers, timeout=120
            )
            assert answer.status_code == 200, answer.text
            return answer.json()["result"]

        text = "The staging server is called heron."
        ask(ann, "remember", text=text, space="demo")
        assert ask(ben, "recall", query="staging server", space="demo")[0]["memory"]["text"] == text
        assert ask(boss, "whoami")["is_admin"]
        ready = httpx.get(f"{address}/readyz", timeout=120)
        assert (ready.status_code, ready.json()["checks"]["schema"]) == (200, "ok")
        metrics = httpx.get(f"{address}/metrics", timeout=120).text
        assert (
            'reverie_requests_total{method="POST",route="/v1/recall",status="200"} 1.0' in metrics
        )
    assert process.returncode == 0
    log = "".join(lines)
    assert "heron" not in log and "staging" not in log and ann not in log
    logged = [json.loads(line) for line in lines if '"request"' in line]
    assert {"route": "/v1/recall", "status": 200, "user": "ben"}.items() <= next(
        line for line in logged if line.get("route") == "/v1/recall"
    ).items()
    audit = reverie(env, "server", "audit", "--tenant", "acme")
    assert {"key-issue", "grant"} <= {line["verb"] for line in audit}


def test_a_request_under_way_is_answered_after_sigterm(postgres_url, tmp_path):
    """Who asked before the signal gets an answer; who asks after it finds nobody."""
    env = environment(tmp_path, postgres_url)
    key = reverie(env, "server", "init")["key"]
    with started(env, "--workers-inside", "0") as (process, address, _):
        answers = []

        def ask():
            with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=120) as client:
                items = [{"text": f"Fact number {number}."} for number in range(300)]
                answers.append(client.post(f"{address}/v1/remember_many", json={"items": items}))

        thread = threading.Thread(target=ask)
        # Held there by a lock, so that it is under way when the signal comes, on any machine.
        with psycopg.connect(postgres_url) as holding:
            holding.execute("lock table reverie.memory in exclusive mode")
            with psycopg.connect(postgres_url, autocommit=True) as looking:
                thread.start()
                wait_until(lambda: looking.execute(HELD).fetchone()[0])
            process.send_signal(signal.SIGTERM)
            sleep(0.5)
            holding.rollback()
        thread.join()
        process.wait(120)
    (answer,) = answers
    assert (answer.status_code, len(answer.json()["result"])) == (200, 300)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz", timeout=120)


def test_a_worker_process_serves_what_a_server_without_workers_left(postgres_url, tmp_path):
    """`reverie server worker` adds workers, on this machine or another."""
    from reverie.embedding.toy import ToyEmbedder
    from reverie.storage.postgres import PostgresDatabase

    env = environment(tmp_path, postgres_url)
    key = reverie(env, "server", "init")["key"]
    with started(env, "--workers-inside", "0") as (_, address, _):
        headers = {"Authorization": f"Bearer {key}"}
        httpx.post(
            f"{address}/v1/remember", json={"text": "It is heron."}, headers=headers, timeout=120
        )
        worker = subprocess.Popen(
            [sys.executable, "-m", "reverie", "server", "worker"],
            env=env,
            stderr=subprocess.DEVNULL,
        )
        database = PostgresDatabase(postgres_url)
        store, end = database.store("default"), ticks() + 120
        while store.stats(ToyEmbedder().model).vectors == 0 and ticks() < end:
            sleep(0.05)
        assert store.stats(ToyEmbedder().model).vectors == 1
        database.close()
        worker.terminate()
        assert worker.wait(120) == 0


def test_server_alone_is_api_and_a_worker_and_worker_adds_more(postgres_url, tmp_path):
    """`reverie server` starts both; `reverie worker` is the worker of a server's database, and says
    which one is meant for a memory of one's own.
    """
    from reverie.embedding.toy import ToyEmbedder
    from reverie.storage.postgres import PostgresDatabase

    env = environment(tmp_path, postgres_url)
    key = reverie(env, "server", "init")["key"]
    database = PostgresDatabase(postgres_url)
    store = database.store("default")

    def await_vectors(count):
        end = ticks() + 120
        while store.stats(ToyEmbedder().model).vectors < count and ticks() < end:
            sleep(0.05)
        assert store.stats(ToyEmbedder().model).vectors == count

    headers = {"Authorization": f"Bearer {key}"}
    with started(env, command=("server",)) as (_, address, _):
        httpx.post(
            f"{address}/v1/remember", json={"text": "It is heron."}, headers=headers, timeout=120
        )
        await_vectors(1)
    with started(env, "--workers-inside", "0", command=("server",)) as (_, address, _):
        worker = subprocess.Popen(
            [sys.executable, "-m", "reverie", "worker"], env=env, stderr=subprocess.DEVNULL
        )
        httpx.post(
            f"{address}/v1/remember", json={"text": "It is stork."}, headers=headers, timeout=120
        )
        await_vectors(2)
        worker.terminate()
        assert worker.wait(120) == 0
    database.close()
    assert not (tmp_path / "backups").exists()
    # Without a server it is the worker of the machine's own memory, which leaves when all is done.
    alone = {**env, "REVERIE_SERVER_DATABASE": "", "REVERIE_HOME": str(tmp_path / "own")}
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.toml").write_text('embedder = "none"\nidle = 0.0\n')
    subprocess.run([sys.executable, "-m", "reverie", "worker"], env=alone, check=True, timeout=120)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "in the clear"),
        (("--tls-cert", "cert.pem"), "both --tls-cert and --tls-key"),
    ],
)
def test_keys_never_cross_a_network_in_the_clear(tmp_path, words, said):
    """An address that others reach needs certificates, or a proxy before it."""
    env = environment(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    refused = reverie(env, "server", "start", *words, code=2)
    assert said in refused["error"]["message"]


def test_a_database_that_nobody_has_prepared_is_told(postgres_url, tmp_path):
    """The server alters no schema when it starts: it says which command does."""
    env = environment(tmp_path, postgres_url)
    refused = reverie(env, "server", "start", "--port", "0", code=10)
    assert "reverie server" in refused["error"]["message"]
