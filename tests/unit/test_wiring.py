"""Our entries in hosts' settings: pure text in, text out."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.errors import BadInput
from reverie.surfaces.hooks.hosts import HOSTS
from reverie.surfaces.wiring import entries
from reverie.surfaces.wiring.targets import Place, hook_command

COMMAND = hook_command("claude-code", Place(Path("/m")))
EVENTS = HOSTS["claude-code"].events
VALUE = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
                     lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=8), one, max_size=3),
                     max_leaves=8)
HANDLER = st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(["say done", "lint.sh"])})
GROUP = st.fixed_dictionaries({"hooks": st.lists(HANDLER, min_size=1, max_size=2)}, optional={"matcher": st.just("*")})
HOOKS = st.dictionaries(st.sampled_from([*EVENTS, "Notification"]), st.lists(GROUP, min_size=1, max_size=2), min_size=1,
                        max_size=3)
SETTINGS = st.fixed_dictionaries({}, optional={"hooks": HOOKS, "model": VALUE, "permissions": VALUE})
ROOT = Path(__file__).parents[2]


def put(text, change):
    return entries.altered(text, change)


@given(SETTINGS)
def test_what_is_put_in_comes_out_again(settings):
    """Entries of others stay as they are, in order; twice changes nothing; without ours it is what it was."""
    text = json.dumps(settings, indent=4, ensure_ascii=False) + "\n"
    others = {name: value for name, value in settings.items() if name != "hooks"}
    for change, drop in ((entries.grouped(EVENTS, COMMAND), entries.unhooked),
                         (entries.serving({"command": "reverie", "args": ["mcp"]}), entries.unserved)):
        wired = put(text, change)
        assert put(wired, change) == wired
        assert others.items() <= json.loads(wired).items()
        assert json.loads(put(wired, drop)) == settings
        assert put(wired, drop) == text or not settings


@given(SETTINGS)
def test_hooks_of_others_run_as_before(settings):
    """Every handler that was there is there, in its group, under its event."""
    wired = json.loads(put(json.dumps(settings), entries.grouped(EVENTS, COMMAND)))
    for event, groups in settings.get("hooks", {}).items():
        assert wired["hooks"][event][:len(groups)] == groups
    for event in EVENTS:
        assert 1 == sum(entries.is_ours(one) for group in wired["hooks"][event] for one in entries.handlers(group))


def test_another_installation_gives_way():
    """After a move of Python or Reverie there is one hook for each event, the new one."""
    old = put("{}", entries.grouped(EVENTS, COMMAND.replace("run.py claude", "run.py  claude")))
    new = put(old, entries.grouped(EVENTS, COMMAND))
    assert new == put("{}", entries.grouped(EVENTS, COMMAND))
    flat = put(put("", entries.flat(["stop"], COMMAND + " ")), entries.flat(["stop"], COMMAND))
    assert json.loads(flat) == {"version": 1, "hooks": {"stop": [{"command": COMMAND, "timeout": entries.TIMEOUT}]}}


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// c\n{}"])
def test_what_cannot_be_merged_is_left(text):
    """A file that is odd is nobody's to mend but its owner's."""
    with pytest.raises(BadInput):
        put(text, entries.grouped(EVENTS, COMMAND))
    assert entries.OURS.search(COMMAND)


TOML = ["", '# mine\nmodel = "x"  # best\n', '[features]\nweb = true', 'a = 1\n\n\n',
        '[mcp_servers.other]\ncommand = "x"\n']


@pytest.mark.parametrize("text", TOML)
def test_toml_keeps_its_comments(text):
    """Ours is a block at the end; the rest stays as it is, to the letter but for blank lines at the end."""
    server = {"command": "/py thon", "args": ["-m", "reverie", "mcp"], "env": {"REVERIE_HOME": "/h\"o"}}
    wired = entries.toml_with(text, server)
    assert tomllib.loads(wired) == {**(before := tomllib.loads(text)), "mcp_servers": {
        **before.get("mcp_servers", {}), "reverie": server}}
    assert entries.toml_with(wired, server) == wired
    assert entries.toml_without(wired).rstrip("\n") == text.rstrip("\n")
    assert wired.startswith(text.rstrip("\n"))


@pytest.mark.parametrize("text", ['[mcp_servers.reverie]\ncommand = "mine"\n', "a = \n"])
def test_toml_that_cannot_take_ours_is_left(text):
    """A server of that name by hand, or a file that is broken."""
    with pytest.raises(BadInput):
        entries.toml_with(text, {"command": "x", "args": []})


def test_a_hook_never_ends_with_two():
    """For Claude Code 2 means: block. A missing interpreter or file must not (INTEGRATIONS §1.7)."""
    assert COMMAND.endswith("|| true") and "REVERIE_HOME=/m" in COMMAND
    assert "REVERIE_HOME='/a b'" in hook_command("codex", Place(Path("/a b")))


def test_the_plugin_is_what_install_writes():
    """The plugin's hooks are those of `reverie install claude-code`, by the command's name; the market names it."""
    plugin = ROOT / "plugins" / "claude-code"
    written = json.loads((plugin / "hooks" / "hooks.json").read_text())
    assert written["hooks"] == json.loads(put("{}", entries.grouped(
        EVENTS, "reverie-hook claude-code 2>/dev/null || true")))["hooks"]
    assert json.loads((plugin / ".mcp.json").read_text())["mcpServers"] == {
        "reverie": {"command": "reverie", "args": ["mcp"]}}
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    about = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())
    assert [(one["name"], ROOT / one["source"]) for one in market["plugins"]] == [(about["name"], plugin)]
