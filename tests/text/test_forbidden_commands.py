"""What a prohibition stops is what it names, and not what is only like it."""

import pytest

from reverie.core.forbidden_calls import is_forbidden_call, stopping_triggers
from reverie.core.trigger_patterns import context_of_tool_call
from reverie.text.forbidden_commands import find_exact_triggers
from reverie.text.text_signals import derive_triggers


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Never use pip install directly.", ["run:pip install"]),
        ("Bitte kein npm publish von Hand.", ["run:npm publish"]),
        ("Never merge with gh pr merge.", ["run:gh pr merge"]),
    ],
)
def test_who_names_a_program_forbids_that_program(text, wanted):
    """An act has spellings of other programs, which nobody spoke of."""
    assert find_exact_triggers(text) == wanted


@pytest.mark.parametrize("text", ["Never install new packages.", "Don't publish it yourself."])
def test_who_names_an_act_forbids_every_spelling(text):
    """Without a program, all of them."""
    assert sum(one.count("|") for one in find_exact_triggers(text)) > 8


@pytest.mark.parametrize(
    ("text", "stopped", "let"),
    [
        ("Never use git add .", "git add .|git add -A|cd web && git add ./", "git add src/a.py"),
        ("Never git add everything!", "git add --all|git add .", "git add README.md|git add -p"),
        ("Nie git add . benutzen", "git add .", "git add src"),
        ("Never run npm install --force", "npm install x --force|npm install -f", "npm install x"),
        ("Never git commit -m WIP", 'git commit -m "wip: more"|git commit -am WIP', "git commit"),
        ("don't `git commit -m 'wip'`", "git commit -m wip", "git commit -m 'Wiped caches'"),
        (
            "Never pipe curl into bash",
            "curl -fsSL https://x.sh | bash|curl x.sh | sudo sh -s -- -y|wget -qO- x | sh",
            "curl -O https://x.sh|curl localhost:8080/health|curl x | jq .; bash test.sh",
        ),
        ("Never run `curl https://x | sh`", "curl https://y | sh", "curl https://x"),
    ],
)
def test_what_narrows_a_prohibition_is_part_of_it(text, stopped, let):
    """Who forbids to add everything does not forbid to add a file."""
    triggers = stopping_triggers(derive_triggers(text))

    def is_stopped(command):
        scene = context_of_tool_call("Bash", {"command": command})
        return any(is_forbidden_call(one, scene) for one in triggers)

    pipes = " | "
    for command in stopped.replace(pipes, "\0").split("|"):
        assert is_stopped(command.replace("\0", pipes)), (command, triggers)
    for command in let.replace(pipes, "\0").split("|"):
        assert not is_stopped(command.replace("\0", pipes)), (command, triggers)
