"""Our entries in hosts' settings: pure text in, text out."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput
from reverie.interfaces.hosts import HOST_MODULES, load_host
from reverie.interfaces.install import command_files, hook_line, settings_entries
from reverie.interfaces.install.json_edit import apply_cuts
from reverie.interfaces.install.settings_targets import WiringPlace, build_hook_command

COMMAND = build_hook_command("claude-code", WiringPlace(Path("/m")))
EVENTS = tuple(load_host("claude-code").events)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=8), one, max_size=3),
    max_leaves=8,
)
HANDLER = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["say done", "lint.sh"])}
)
GROUP = st.fixed_dictionaries(
    {"hooks": st.lists(HANDLER, min_size=1, max_size=2)}, optional={"matcher": st.just("*")}
)
HOOKS = st.dictionaries(
    st.sampled_from([*EVENTS, "Notification"]),
    st.lists(GROUP, min_size=1, max_size=2),
    min_size=1,
    max_size=3,
)
SETTINGS = st.fixed_dictionaries(
    {}, optional={"hooks": HOOKS, "model": VALUE, "permissions": VALUE}
)
ROOT = Path(__file__).parents[2]


SERVER = {"command": "reverie", "args": ["mcp"]}
THEIRS = [
    "~/bin/count-reverie-hook-calls.sh",
    "nice -n 19 reverie-hook claude-code >> ~/my.log",
    COMMAND + "; id",
    "touch /x; " + COMMAND,
    COMMAND.replace("|| true", "|| false"),
    f"{COMMAND} # reverie-hook",
    "echo reverie/surfaces/hooks/run.py",
    "touch /tmp/x; echo {} # reverie-hook",
    "reverie-hook claude-code",
    "reverie-hook emacs 2>/dev/null || true",
    "$(touch /x) -I -S /r/reverie/surfaces/hooks/run.py codex",
]


def hooked(text, line=COMMAND):
    return settings_entries.add_hooks(text, EVENTS, line, flat=False)


def served(text, server=SERVER):
    return settings_entries.add_server(text, server)


@given(SETTINGS, st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_what_is_put_in_comes_out_again(settings, indent, ascii_only):
    """Entries of others stay as they are, in order; twice changes nothing; ours taken out, every
    byte is as it was.
    """
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_only) + "\n"
    others = {name: value for name, value in settings.items() if name != "hooks"}
    for put, drop in (
        (hooked, settings_entries.remove_hooks),
        (served, settings_entries.remove_server),
    ):
        wired = put(text)
        assert put(wired.text) == settings_entries.WiredText(wired.text)
        assert others.items() <= json.loads(wired.text).items()
        assert apply_cuts(wired.text, wired.undo) == text
        assert json.loads(drop(wired.text, wired.made)) == settings
        assert drop(wired.text, wired.made) == text or not settings


@given(SETTINGS)
def test_what_the_host_wrote_anew_is_unwired_all_the_same(settings):
    """The host formats its file in its own way: without ours it means what was there, empty
    containers too.
    """
    emptied: dict[str, object] = {**settings, "hooks": {**settings.get("hooks", {}), "Stop": []}}
    starts: list[dict[str, object]] = [settings, emptied, {"mcpServers": {}}]
    for start in starts:
        for put, drop in (
            (hooked, settings_entries.remove_hooks),
            (served, settings_entries.remove_server),
        ):
            wired = put(json.dumps(start))
            anew = json.dumps(json.loads(wired.text), indent=3)
            assert json.loads(drop(anew, wired.made)) == start


@given(SETTINGS)
def test_hooks_of_others_run_as_before(settings):
    """Every handler that was there is there, in its group, under its event."""
    wired = json.loads(hooked(json.dumps(settings)).text)
    for event, groups in settings.get("hooks", {}).items():
        assert wired["hooks"][event][: len(groups)] == groups
    assert dict.fromkeys(EVENTS, 1) == {
        event: len(ours) for event, ours in settings_entries.group_our_handlers(wired).items()
    }


@pytest.mark.parametrize(
    "text",
    [
        '{\r\n\t"a": 1e5,\r\n\t"é": ["x", "y"],\r\n\t"u": "\\u00e9\\ud83d"\r\n}',
        '{"a":1e5,"a":2,"b":[ 1,2 ]}',
        '\ufeff{\n  "a": 0.10,\n\n  "hooks": { }\n}',
        '{ "hooks" : {"Stop" : [ {"hooks":[ ]} ]}, "n": NaN }',
        "{}",
        "  ",
        "",
    ],
)
def test_what_others_wrote_stays_to_the_byte(text):
    """Numbers, escapes, arrays on one line, line ends, doubled keys, a mark at the beginning: ours
    is cut in.
    """
    for put in (hooked, served):
        wired = put(text)
        left = iter(wired.text)
        assert all(ch in left for ch in text), "every character is there, in its order"
        assert apply_cuts(wired.text, wired.undo) == text
        assert "\r\n" not in text or "\n" not in wired.text.replace("\r\n", "")
    assert json.loads(hooked(text).text.removeprefix("\ufeff"))["hooks"]["SessionEnd"]


def test_it_is_written_as_its_neighbours_are():
    """Lines where the file has lines, as deep as they are; none where it has none."""
    wired = served('{\n    "a": 1\n}\n').text
    assert wired == (
        '{\n    "a": 1,\n    "mcpServers": {\n        "reverie": {\n            "command": "reverie",\n'
        '            "args": [\n                "mcp"\n            ]\n        }\n    }\n}\n'
    )
    assert (
        served('{"a":1}').text
        == '{"a":1,"mcpServers":{"reverie":{"command":"reverie","args":["mcp"]}}}'
    )


@pytest.mark.parametrize("line", THEIRS)
def test_a_command_that_mentions_ours_is_not_ours(line):
    """What Reverie did not write to the letter stays, when we are wired and when we are unwired
    again.
    """
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}})
    wired = hooked(text)
    assert json.loads(wired.text)["hooks"]["Stop"][0]["hooks"][0]["command"] == line
    assert settings_entries.remove_hooks(wired.text, None) == text
    flat = json.dumps({"version": 1, "hooks": {"stop": [{"command": line}]}})
    assert (
        settings_entries.remove_hooks(
            settings_entries.add_hooks(flat, ["stop"], COMMAND, flat=True).text, None
        )
        == flat
    )


PATH = st.text(st.characters(codec="utf-8", exclude_characters="\0\n"), max_size=12)


@given(PATH, PATH, st.sampled_from(sorted(HOST_MODULES)), PATH)
def test_a_line_of_ours_is_read_back(python, folder, host, home):
    """Whatever the folders are called, quotes and blanks too: every installation knows the lines of
    every other.
    """
    program = (f"/{python}", "-I", "-S", f"/{folder}/reverie/surfaces/hooks/run.py")
    hook = hook_line.HookCommand(program, host, home)
    assert hook_line.parse_hook_line(hook.line) == hook
    assert hook_line.parse_hook_line(
        hook_line.HookCommand(hook_line.BY_NAME, host).line
    ) == hook_line.HookCommand(hook_line.BY_NAME, host)
    assert hook_line.parse_hook_line(hook.line + " ") is None


def test_another_installation_gives_way():
    """After a move of Python or Reverie there is one hook for each event, the new one, and one
    server.
    """
    program = ("/old/python", "-I", "-S", "/old/reverie/surfaces/hooks/run.py")
    old = hooked("{}", hook_line.HookCommand(program, "claude-code").line)
    assert hooked(old.text).text == hooked("{}").text
    flat = settings_entries.add_hooks(
        "", ["stop"], hook_line.HookCommand(program, "cursor").line, flat=True
    ).text
    assert json.loads(settings_entries.add_hooks(flat, ["stop"], COMMAND, flat=True).text) == {
        "version": 1,
        "hooks": {"stop": [{"command": COMMAND, "timeout": settings_entries.HOOK_TIMEOUT}]},
    }
    there = {
        "command": "/old/python",
        "args": ["-m", "reverie", "mcp"],
        "type": "stdio",
        "env": {"REVERIE_HOME": "/o", "X": "1"},
    }
    text = json.dumps({"mcpServers": {"reverie": there}})
    assert json.loads(served(text).text)["mcpServers"]["reverie"] == {
        **SERVER,
        "type": "stdio",
        "env": {"X": "1"},
    }


def test_a_server_of_our_name_that_is_somebodys_own_stays():
    """It is not replaced, and not taken out."""
    text = json.dumps(
        {"mcpServers": {"reverie": {"command": "docker", "args": ["run", "reverie"]}}}
    )
    with pytest.raises(BadInput, match="did not write"):
        served(text)
    assert settings_entries.remove_server(text, None) == text


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "7",
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        "// c\n{}",
        '{"hooks": {}, "hooks": {}}',
        "[" * 100_000,
    ],
)
def test_what_cannot_be_merged_is_left(text):
    """A file that is odd is nobody's to mend but its owner's; how to wire by hand is said."""
    with pytest.raises(BadInput, match="reverie install HOST --print"):
        hooked(text)


TOML = [
    "",
    '# mine\nmodel = "x"  # best\n',
    "[features]\nweb = true",
    "a = 1\n\n\n",
    '[mcp_servers.other]\ncommand = "x"\n',
]


TABLED = {
    "command": "/py thon",
    "args": settings_entries.SERVE_ARGS,
    "env": {"REVERIE_HOME": '/h"o ü\x7f'},
}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("text", TOML)
def test_toml_keeps_its_comments(text, ends):
    """Ours is a block at the end; the rest stays as it is, to the letter, with its line ends."""
    text = text.replace("\n", ends)
    wired = settings_entries.add_toml_server(text, TABLED)
    assert tomllib.loads(wired.text) == {
        **(before := tomllib.loads(text)),
        "mcp_servers": {**before.get("mcp_servers", {}), "reverie": TABLED},
    }
    assert settings_entries.add_toml_server(wired.text, TABLED) == settings_entries.WiredText(
        wired.text
    )
    assert apply_cuts(wired.text, wired.undo) == text
    assert settings_entries.remove_toml_server(wired.text).rstrip() == text.rstrip()
    assert wired.text.startswith(text) and (
        ends == "\n" or not text or "\n" not in wired.text.replace(ends, "")
    )


def test_toml_keeps_what_came_after_ours():
    """Keys below our block, tables that the host put inside it, a file without our marks: only ours
    goes.
    """
    text = 'model = "x"\n'
    wired = settings_entries.add_toml_server(text, TABLED).text
    trust = '[projects."/p"]\ntrust_level = "trusted"\n'
    assert tomllib.loads(settings_entries.remove_toml_server(wired + 'effort = "high"\n')) == {
        "model": "x",
        "effort": "high",
    }
    for anew in (
        wired + trust,
        wired.replace(settings_entries.END, trust + settings_entries.END),
        wired.replace(settings_entries.BEGIN, "").replace(settings_entries.END, "") + trust,
    ):
        assert tomllib.loads(settings_entries.remove_toml_server(anew)) == {
            "model": "x"
        } | tomllib.loads(trust)
        assert "reverie" not in settings_entries.remove_toml_server(
            anew
        ) and trust in settings_entries.remove_toml_server(anew)
    long = (
        text + '[mcp_servers.reverie]\ncommand = "/p"\nargs = [\n    "-P",\n    "-m",\n'
        '    "reverie",\n    "mcp",\n]\n\n[mcp_servers.reverie.env]\nREVERIE_HOME = "/h"\n'
    )
    assert tomllib.loads(settings_entries.remove_toml_server(long)) == tomllib.loads(text)


@pytest.mark.parametrize("text", ['[mcp_servers.reverie]\ncommand = "mine"\n', "a = \n"])
def test_toml_that_cannot_take_ours_is_left(text):
    """A server of that name by hand, or a file that is broken."""
    with pytest.raises(BadInput):
        settings_entries.add_toml_server(text, {"command": "x", "args": []})


def test_a_hook_never_ends_with_two():
    """For Claude Code 2 means: block. A missing interpreter or file must not."""
    assert COMMAND.endswith("|| true") and "REVERIE_HOME=/m" in COMMAND
    assert "REVERIE_HOME='/a b'" in build_hook_command("codex", WiringPlace(Path("/a b")))


def test_the_plugin_is_what_install_writes():
    """The plugin's hooks are those of `reverie install claude-code`, by the command's name; the
    market names it.
    """
    plugin = ROOT / "plugins" / "claude-code"
    written = json.loads((plugin / "hooks" / "hooks.json").read_text())
    assert (
        written["hooks"]
        == json.loads(
            hooked("{}", hook_line.HookCommand(hook_line.BY_NAME, "claude-code").line).text
        )["hooks"]
    )
    assert json.loads((plugin / ".mcp.json").read_text())["mcpServers"] == {
        "reverie": {"command": "reverie", "args": ["mcp"]}
    }
    for name in command_files.COMMANDS:
        skill = plugin / "skills" / name / "SKILL.md"
        program = command_files.PLUGIN_PROGRAM
        assert skill.read_text() == command_files.compose_command(name, program)
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    about = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())
    assert [(one["name"], ROOT / one["source"]) for one in market["plugins"]] == [
        (about["name"], plugin)
    ]


@pytest.mark.parametrize("text", ["", 'a = "x"', 'a = "x"\n', "a = 1\r\nb = 2", "[a]\nb = 1\n\n\n"])
def test_toml_comes_back_to_the_byte_though_the_host_wrote_into_it(text):
    """Codex adds what it trusts below; the last line may have had no end."""
    wired = settings_entries.add_toml_server(text, TABLED)
    for before, below in (("", ""), ("", '\n[projects."/p"]\nx = "y"\n'), ("z = 1\n", "")):
        now = before + wired.text + below
        assert settings_entries.remove_toml_server(now, wired.made) == before + text + below
