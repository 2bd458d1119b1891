# mypy: no-check-untyped-defs
"""docs/how-to/server.md, followed to the letter on a PostgreSQL of its own."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from reverie.storage.embedded_postgres import EmbeddedPostgres, find_installation
from tests.support.postgres import free_port

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "server.md").read_text("utf-8")
NOT_RUN = ("pip ",)
KEY = re.compile(r"rv_acme_([0-9a-z]{8})_")


SECURITY = (ROOT / "docs" / "server-security.md").read_text("utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


class Operator:
    """Somebody who types what the page says."""

    def __init__(self, server, home):
        self.place = f"127.0.0.1:{server.port}"
        self.home = home
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{find_installation() / 'bin'}:/usr/bin:/bin",
            "HOME": str(home),
            "REVERIE_HOME": str(home / "reverie"),
            "REVERIE_EMBEDDER": "toy",
        }
        # What the page stands for with capital letters, as it becomes known.
        self.known = {"PREFIX": "", "HOLD": ""}

    def type(self, line):
        """A line of a shell block, of this machine instead of the page's."""
        line = line.replace("db.example.com", self.place)
        for name, value in self.known.items():
            line = re.sub(rf"\b{name}\b", value, line)
        if line.startswith("export "):
            name, _, value = shlex.split(line)[1].partition("=")
            self.env[name] = value
        elif line.startswith("reverie server start"):
            self.start_and_stop(line)
        elif not line.startswith(NOT_RUN):
            said = self.run(["bash", "-c", line])
            if "key issue" in line:
                self.known["PREFIX"] = KEY.search(said)[1]
            elif "hold place" in line:
                self.known["HOLD"] = re.search(r"\bid=(\S+)", said)[1]

    def run(self, words, **options):
        done = subprocess.run(
            words,
            env=self.env,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **options,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}"
        return done.stdout

    def start_and_stop(self, line):
        """The server answers, and what it measures is what the page says it does."""
        words = shlex.split(line)
        words[words.index("--port") + 1] = "0"
        process = subprocess.Popen(
            words, env=self.env, cwd=self.home, stderr=subprocess.PIPE, text=True
        )
        try:
            address = None
            while not address:
                told = process.stderr.readline()
                assert told, "it ended"
                address = re.search(r"Serving at (\S+);", told)
            with urlopen(f"{address[1]}/readyz", timeout=120) as answer:
                assert answer.status == 200
            # By now a request has been counted.
            with urlopen(f"{address[1]}/metrics", timeout=120) as answer:
                measured = answer.read().decode()
        finally:
            process.terminate()
            # To the end: Python ends with 120 where nobody reads what it says last.
            last = process.communicate(timeout=120)[1]
            assert process.returncode == 0, last
        assert [] == [name for name in metrics_of_the_page() if name not in measured]


def metrics_of_the_page():
    """What the page's table and alerts name, without what has to be switched on."""
    named = set(re.findall(r"\breverie_(?:request|events|worker)\w*", PAGE))
    return sorted(named - {"reverie_requests"})


@pytest.mark.slow
def test_the_guide_can_be_followed(postgres_folder, tmp_path):
    """Every statement and command, in the order of the page; nothing else is needed."""
    port = free_port()
    with EmbeddedPostgres(postgres_folder, port=port) as server:
        operator = Operator(server, tmp_path)
        for script in blocks("sql"):
            operator.run(["psql", "-v", "ON_ERROR_STOP=1", server.url], input=script)
        for block in blocks("sh"):
            for line in block.splitlines():
                operator.type(line)
    assert (tmp_path / "acme.jsonl").stat().st_size > 0


def test_alerts_are_rules_of_prometheus():
    """They parse, and each says what to do."""
    (text,) = blocks("yaml")
    (group,) = yaml.safe_load(text)["groups"]
    for alert in group["rules"]:
        assert alert.keys() == {"alert", "expr", "for", "annotations"}
        assert alert["annotations"]["summary"]


def test_the_drill_is_called_as_it_is_written():
    """The page calls it with what it asks for."""
    usage = (ROOT / "deploy" / "restore_drill.sh").read_text("utf-8")
    assert "restore_drill.sh BACKUP ARCHIVE MOMENT FOLDER" in usage
    (call,) = re.findall(r"^\$ (deploy/restore_drill\.sh .*)$", PAGE, re.MULTILINE)
    assert len(shlex.split(call)) == 5


def test_every_promise_of_the_security_page_names_a_test_that_exists():
    """A promise stands in bold, and behind it the tests that fail without it."""
    promised = SECURITY.partition("## What is promised")[2].partition("\n## ")[0]
    promises = [part for part in promised.split("\n\n") if part.startswith("**")]
    assert len(promises) >= 15
    for promise in promises:
        named = NAMED.findall(promise)
        assert named, promise
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text("utf-8"))
            assert name in {getattr(node, "name", "") for node in tree.body}, f"{path}::{name}"
