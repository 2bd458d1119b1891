"""How the command line is divided: one screen of help, old names, and names that texts mention."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from reverie.interfaces.cli.app import COMMAND_NAMES, TABLES, TOP_LEVEL, app, find_command_name
from reverie.interfaces.cli.command_names import GROUPS, LISTING_COMMANDS, MOVED_COMMANDS, SECTIONS
from tests.support.helpers import run_command, toy_home

ROOT = Path(__file__).parents[2]
PROGRAM: Any = get_command(app)
TEXTS = [
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "plugins").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
    ROOT / "README.md",
]
SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
# Options that stand between the program's name and the command's take a value, or none.
COMMAND = re.compile(
    r"(?<!from )(?<!<!-- )(?<![\w./-])reverie\s+(?:--(?:home|space)\s+\S+\s+|--(?:json|sandbox)\s+)*"
    r"([a-z]+)(?![\w=(.])(?:\s+([a-z]+))?"
)
# Where `reverie` is followed by a word and is not the program; and what marks a page of the mirror.
PAGE_MARK = "reverie mirror"
OTHER_USES = {"with", "remembers", "help"}  # `help` stands for the --help of what follows


def find_path(command, words):
    """The command that words name below a group, or None."""
    for word in words:
        command = getattr(command, "commands", {}).get(word)
    return command


@pytest.mark.parametrize("size", [(80, 24), (80, 40), (100, 24), (100, 40)])
def test_help_is_one_screen(size, monkeypatch):
    """Room for the prompt below it too; every command is named, at most 30 by themselves."""
    monkeypatch.setenv("COLUMNS", str(size[0]))
    monkeypatch.setenv("LINES", str(size[1]))
    lines = run_command("--help").stdout.splitlines()
    assert len(lines) < size[1] and max(map(len, lines)) <= size[0]
    listed = " ".join(SECTIONS.values()).split()
    assert len(listed) <= 30
    shown = {name for name, command in PROGRAM.commands.items() if not command.hidden}
    assert shown == {*listed, *GROUPS} <= set(" ".join(lines).split())


def test_help_of_all_commands(monkeypatch):
    """`reverie help` says of each command what it does, in a line of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = run_command("help").stdout.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert {line.split()[0] for line in lines if line.startswith("  ")} == {
        name for name, command in PROGRAM.commands.items() if not command.hidden
    }
    for group in (PROGRAM, *(PROGRAM.commands[name] for name in GROUPS)):
        for command in group.commands.values():
            assert command.hidden or len(command.get_short_help_str(200)) <= 56, command.name


@pytest.mark.parametrize("words", [("recall",), ("memory",), ("memory", "tag"), ("history",)])
def test_help_of_one_command(words):
    """`reverie help COMMAND` is `reverie COMMAND --help`."""
    assert run_command("help", *words).stdout == run_command(*words, "--help").stdout
    assert run_command("help", "nix", code=2).stderr.startswith("reverie: No such command 'nix'.")


def iter_commands(group):
    """Every command of a group, and of the groups in it, with the words that call it."""
    for name, command in group.commands.items():
        yield (name,), command
        if hasattr(command, "commands"):
            yield from (((name, *words), inner) for words, inner in iter_commands(command))


def test_help_shows_every_word_that_is_written():
    """Rich takes `[word]` for markup and leaves it out: "reverie[sealed]" was shown as "reverie"."""
    lost = [
        (words, text)
        for words, command in iter_commands(PROGRAM)
        for text in (command.help, *(getattr(one, "help", "") for one in command.params))
        if re.search(r"(?<!\\)\[[a-z/]", text or "")
    ]
    assert lost == []


def test_no_two_commands_have_one_name():
    """The later one would take the earlier one's place without a word."""
    for tables in (TOP_LEVEL, *TABLES.values()):
        names = [row.name for table in tables for row in table.registered_commands]
        assert len(names) == len(set(names))
    assert TABLES.keys() == GROUPS.keys() and not GROUPS.keys() & set(MOVED_COMMANDS) - {"session"}


@pytest.mark.parametrize("old", MOVED_COMMANDS)
def test_old_names_run_the_new_commands(old, capsys):
    """They say so on stderr; words that stand behind are handed on."""
    context = PROGRAM.make_context("reverie", ["status"])
    group, new = MOVED_COMMANDS[old].split()
    name, command, rest = PROGRAM.resolve_command(context, [old, "word", "--json"])
    assert (name, rest) == (group, [new, "word", "--json"])
    assert new in command.commands
    assert capsys.readouterr().err == f"`reverie {old}` is now `reverie {group} {new}`\n"


def test_an_old_name_leaves_stdout_alone(tmp_path):
    """With --json there is one document on stdout, and the hint on stderr."""
    where = ("--home", str(toy_home(tmp_path)), "--space", "me/demo")
    old = run_command(*where, "tags", "--json")
    new = run_command(*where, "memory", "tags", "--json")
    assert (old.stdout, new.stderr) == (new.stdout, "")
    assert old.stderr == "`reverie tags` is now `reverie memory tags`\n"


def test_session_with_an_id_shows_a_conversation(tmp_path):
    """`session ID` shows a conversation; `session list` lists them, whatever options come first."""
    where = ("--home", str(toy_home(tmp_path)), "--space", "me/demo")
    assert "is now `reverie session show`" in run_command(*where, "session", "s1", code=1).stderr
    assert "is now" in run_command(*where, "session", "--grep", "word", "s1", code=1).stderr
    assert "is now" not in run_command(*where, "session", "list").stderr
    assert "is now" not in run_command("session", "--space", "me/x", "list").stderr
    assert "rejected" in run_command("session", "--help").stdout


def test_completion_offers_new_names_only():
    """Tab offers neither old names nor a hint about them."""
    context = PROGRAM.make_context("reverie", ["status"])
    offered = {item.value for item in PROGRAM.shell_complete(context, "")}
    assert offered >= {"remember", "memory"} and not offered & MOVED_COMMANDS.keys() - {"session"}
    context.resilient_parsing = True
    assert PROGRAM.resolve_command(context, ["map"])[0] == "code"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--home", "x", "code", "map"], "code map"),
        (["map", "--tokens", "x"], "code map"),
        (["session", "s1"], "session show"),
        (["session", "lits"], "session show"),
        (["code"], "code"),
        (["recall", "code"], "recall"),
        (["nonsense"], ""),
    ],
)
def test_an_error_names_the_command_with_its_group(words, found):
    """An error message names the command by its new name, with its group."""
    assert find_command_name(words) == found


def texts():
    """Every text that may tell people what to run: (file, text)."""
    for file in TEXTS:
        parts = re.split(r"```.*?```", text := file.read_text("utf-8"), flags=re.DOTALL)
        for line in re.findall(r"^(?:\$ |.*\| )?(reverie .*)", text, re.MULTILINE):
            yield file, line
        for code in re.findall(r"`([^`]+)`", " ".join(parts)):
            yield file, code
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
                ]
                yield file, "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield file, node.value


def test_every_command_that_a_text_names_exists():
    """In messages, docstrings, documentation, plugins and examples, by its new name."""
    wrong = set()
    for file, text in texts():
        for match in COMMAND.finditer(text):
            name, second = match[1], match[2] or ""
            if name in OTHER_USES or text == PAGE_MARK:
                continue
            known = find_path(PROGRAM, [name])
            if known is None or (second and name in GROUPS and not find_path(known, [second])):
                wrong.add(f"{file.relative_to(ROOT)}: {' '.join(match[0].split())}")
    assert not wrong
    named = {*LISTING_COMMANDS, *LISTING_COMMANDS.values(), *MOVED_COMMANDS.values()}
    assert all(find_path(PROGRAM, words.split()) for words in named)
    assert {name for name, inner in COMMAND_NAMES.items() if inner} == set(GROUPS)


def test_a_flag_has_no_opposite_and_every_option_its_help():
    """Also in modules whose annotations are kept as text: no `--no-no-open`."""
    for words in (("web",), ("memory", "open"), ("memory", "map")):
        assert "--no-no" not in run_command(*words, "--help").output
    assert "Only print the address" in run_command("web", "--help").output
