# mypy: no-check-untyped-defs
"""The files in deploy/ name commands, options and settings that there are."""

import configparser
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from reverie.core.config import ENVIRONMENT_VARIABLES
from reverie.interfaces.cli.app import app
from reverie.interfaces.server.server_run import PORT

DEPLOY = Path(__file__).parents[3] / "deploy"
SETTINGS = {variable for _, variable in ENVIRONMENT_VARIABLES} | {"REVERIE_HOME"}


def read_compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def read_unit():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string((DEPLOY / "reverie-server.service").read_text("utf-8"))
    return unit


def container_command():
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    return json.loads(re.findall(r"^CMD (\[.*\])$", text, re.M)[-1])


def commands():
    """Every command line of ours in the files."""
    services = read_compose()["services"].values()
    lines = [service["command"] for service in services if "command" in service]
    unit = shlex.split(read_unit()["Service"]["ExecStart"])
    return [
        line
        for line in (*lines, container_command(), ["reverie", *unit[1:]])
        if line[0] == "reverie"
    ]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_and_option_exists(words):
    """A command line of a deployment is understood by this version."""
    command = get_command(app)
    rest = words[1:]
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    options = {name for option in command.params for name in option.opts}
    assert {word for word in rest if word.startswith("--")} <= options


def test_every_variable_is_a_setting():
    """What is set for the server is read by it."""
    environment = read_compose()["x-reverie"]["environment"]
    told = re.findall(r"REVERIE_\w+", (DEPLOY / "reverie-server.service").read_text("utf-8"))
    assert {*environment, *told} <= SETTINGS


def test_every_service_waits_for_the_schema_and_has_the_time_to_stop():
    """API and workers start after init, and are given as long as requests may take."""
    services = read_compose()["services"]
    for name in ("api", "worker"):
        assert services[name]["depends_on"]["init"]["condition"] == (
            "service_completed_successfully"
        )
        assert services[name]["stop_grace_period"] == "30s"
    assert read_unit()["Service"]["TimeoutStopSec"] == "30"


def test_the_port_is_the_usual_one():
    """What a proxy passes on to is where the server listens."""
    assert f"EXPOSE {PORT}" in (DEPLOY / "Containerfile").read_text("utf-8")
    assert read_compose()["services"]["proxy"]["command"][-1] == f"api:{PORT}"
