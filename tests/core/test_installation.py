"""What a person is advised to type fits the installation that says it."""

import json
import sys
from importlib import metadata

import pytest

from reverie.core import installation
from reverie.core.installation import advise_install


class Distribution:
    """An installed distribution, by what its installer wrote down of its source."""

    def __init__(self, text):
        self.text = text

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.text


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Pretend to be installed from a source, in an environment with these files."""

    def pretend(source, *marks):
        text = json.dumps(source) if isinstance(source, dict) else source
        monkeypatch.setattr(metadata, "distribution", lambda name: Distribution(text))
        monkeypatch.setattr(installation, "find_pip", lambda: "pip")
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
        for mark in marks:
            (tmp_path / mark).write_text("")

    return pretend


CLONE = {"url": "file:///home/ann/my%20clone", "dir_info": {}}


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (None, "pip install 'reverie[web]'"),
        ("broken", "pip install 'reverie[web]'"),
        (CLONE, "pip install '/home/ann/my clone[web]'"),
        (CLONE | {"dir_info": {"editable": True}}, "pip install -e '/home/ann/my clone[web]'"),
        (
            {"url": "https://example.org/r.whl", "archive_info": {}},
            "pip install 'reverie[web] @ https://example.org/r.whl'",
        ),
    ],
)
def test_an_extra_is_installed_from_where_reverie_came(installed, source, advice):
    """Nobody who works in a clone is sent to the index, where another program may have the name."""
    installed(source)
    assert advise_install("web") == advice


def test_an_extra_is_installed_by_the_tool_that_installed_reverie(installed):
    """`pip` does not reach into the environments of pipx and uv."""
    installed(CLONE, "pipx_metadata.json")
    assert advise_install("web") == "pipx install --force '/home/ann/my clone[web]'"


def test_uv_is_named_where_it_was_used(installed):
    installed(None, "uv-receipt.toml")
    assert advise_install("web") == "uv tool install --force 'reverie[web]'"


def test_the_pip_of_another_python_is_not_advised(monkeypatch, tmp_path):
    """A shell in which this environment is not active would install elsewhere."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my env" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installation.find_pip() == f"'{tmp_path}/my env/python' -m pip"
    (tmp_path / "pip").write_text("")
    (tmp_path / "pip").chmod(0o755)
    assert installation.find_pip() == f"'{tmp_path}/my env/python' -m pip"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert installation.find_pip() == "pip"
