"""The documentation is true: snippets run, pages from the code are up to date, links lead
somewhere.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tools import reference

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# What is made from the code shows declarations, which are no snippets to run.
WRITTEN = [page for page in PAGES if page.parent.name != "reference"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.mark.parametrize(
    "page", [page for page in WRITTEN if blocks(page, "python")], ids=lambda p: p.name
)
def test_python_snippets_run(page, tmp_path):
    """Every Python block of a page runs, one after the other, in a fresh home."""
    code = "\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={
            "REVERIE_HOME": str(tmp_path / "home"),
            "REVERIE_EMBEDDER": "toy",
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
        },
    )
    assert done.returncode == 0, done.stderr


class ConsoleStep(NamedTuple):
    """A command of a console block, and the lines that the page shows below it."""

    command: str
    shown: list[str]


def console_steps(page: Path) -> list[ConsoleStep]:
    """The commands of a page in their order; "> " goes on with a command, "…" stands for lines."""
    steps: list[ConsoleStep] = []
    for line in "\n".join(blocks(page, "console")).splitlines():
        if line.startswith("$ "):
            steps.append(ConsoleStep(line[2:], []))
        elif line.startswith("> ") and steps and not steps[-1].shown:
            steps[-1] = steps[-1]._replace(command=f"{steps[-1].command}\n{line[2:]}")
        elif line.strip() not in ("", "…") and steps:
            steps[-1].shown.append(line)
    return steps


ID = "mem_[0-9a-z]{6,26}"  # whole, or its end
UNDO = "(?<=reverie undo )[0-9]+"  # the number of an event
# What differs from run to run or between embedders, and what may stand in its place.
CHANGING = {
    ID: f"({ID})",
    UNDO: "([0-9]+)",
    "(?<=[a-z]-)[0-9a-f]{6}(?![0-9a-z])": "[0-9a-f]{6}",  # of the folder, in the name of a space
    "just now|[0-9]+min ago": "(?:just now|[0-9]+min ago)",
    "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day": "[A-Z][a-z]+day",
    r"(?:(?<!\w)-)?\d+(?:[.,:]\d+)*": r"-?\d+(?:[.,:]\d+)*",
    "…": ".*",
    r"\s+": r"\s+",
}
CHANGING_PARTS = re.compile("|".join(f"({part})" for part in CHANGING))


def as_pattern(shown: str) -> re.Pattern[str]:
    """What a line of output has to look like to be the line that a page shows."""
    substitutes = list(CHANGING.values())
    pattern, end = "", 0
    for found in CHANGING_PARTS.finditer(shown):
        pattern += re.escape(shown[end : found.start()])
        pattern += substitutes[(found.lastindex or 1) - 1]
        end = found.end()
    return re.compile(pattern + re.escape(shown[end:]))


def match_shown(shown: list[str], output: str, ids: dict[str, str]) -> list[str]:
    """The lines that are not in the output, in their order; `ids` learns which id stands for which."""
    missing, lines = [], iter([line.strip() for line in output.splitlines()])
    for line in shown:
        pattern = as_pattern(line.strip())
        found = next((match for other in lines if (match := pattern.fullmatch(other))), None)
        if found is None:
            missing.append(line)
            continue
        real = [group for group in found.groups() if group]
        ids.update(zip(re.findall(f"{ID}|{UNDO}", line), real, strict=True))
    return missing


SETTING_UP = ("make ", "pip ", "pipx ", "git ", "export ", "python3 -m venv", "reverie install")
HOOK = """#!/bin/sh
exec '{python}' -I -S '{root}/tests/support/patient_hook.py' '{root}/src/reverie/interfaces/hooks/run.py' "$@"
"""
# No worker, which would be quicker or slower another time, and a search that a busy machine ends too.
STEADY = "idle = 0.0\ndeadline = 10.0\n"
HELD_TO_WHAT_THEY_SHOW = ("README.md", "tutorial.md")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "console")], ids=lambda p: p.name
)
def test_console_snippets_run(page, tmp_path):
    """Every command of a console block exits with 0, in one home, one after the other; what the
    tutorial shows below a command comes out, but for ids, dates and numbers.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    # As a host starts it, and of this source tree.
    (programs / "reverie-hook").write_text(HOOK.format(python=sys.executable, root=ROOT))
    (programs / "reverie-hook").chmod(0o755)
    env = {
        "REVERIE_HOME": str(tmp_path / "home"),
        "REVERIE_EMBEDDER": "toy",
        "HOME": str(tmp_path),
        "PATH": f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin",
        "COLUMNS": "100",
        "TZ": "Etc/UTC",
    }
    ids: dict[str, str] = {}
    newest, folder = "mem_none", tmp_path
    if page.name in HELD_TO_WHAT_THEY_SHOW:
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "config.toml").write_text(STEADY)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command, shown in console_steps(page):
        if command.startswith(SETTING_UP):
            continue
        if (moved := re.fullmatch(r"cd (\S+)", command)) and (folder / moved[1]).is_dir():
            folder = folder / moved[1]
            continue
        if command.startswith("cd "):
            continue
        asked = re.sub("mem_[0-9a-z]+", lambda found: ids.get(found[0], newest), command)  # noqa: B023
        asked = re.sub(UNDO, lambda found: ids.get(found[0], found[0]), asked)
        done = subprocess.run(
            ["bash", "-c", asked],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=env,
        )
        assert done.returncode == 0, f"{asked}\n{done.stdout}"
        if page.name in HELD_TO_WHAT_THEY_SHOW:
            assert [] == match_shown(shown, done.stdout, ids), f"{asked}\n{done.stdout}"
        newest = (re.findall(ID, done.stdout) or [newest])[0]


def test_the_readme_works_for_somebody_new(tmp_path):
    """All its commands but pip's, as they stand there, in a fresh project and a fresh home, with the
    agent's settings written; then the prompt that it shows, and one that needs nothing.
    """
    readme = ROOT / "README.md"
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home / ".reverie", project):
        folder.mkdir(parents=True)
    (home / ".reverie" / "config.toml").write_text(STEADY)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "examples").symlink_to(ROOT / "examples")  # it stands in a clone
    env = {
        "HOME": str(home),
        "REVERIE_EMBEDDER": "toy",
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "COLUMNS": "100",
        "TZ": "Etc/UTC",
    }

    def run(command: str, typed: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=project,
            env=env,
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    ids: dict[str, str] = {}
    for command, shown in console_steps(readme):
        if command.startswith("pip "):
            continue
        asked = re.sub("mem_[0-9a-z]+", lambda found: ids.get(found[0], found[0]), command)
        # Here is nobody who could be asked.
        out = run(asked.replace("install claude-code", "install claude-code --yes"))
        assert [] == match_shown(shown, out, ids), f"{asked}\n{out}"
    settings = json.loads((home / ".claude" / "settings.json").read_text())
    hook = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    said = re.search(r"^> (.+)$", readme.read_text("utf-8"), re.MULTILINE)
    assert said
    for prompt, brought_up in ((said[1], True), ("What is 17% of 240?", False)):
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": prompt[:4],
            "cwd": str(project),
            "prompt": prompt,
        }
        answer = run(hook, json.dumps(event))
        (block,) = blocks(readme, "text")
        given = json.loads(answer).get("hookSpecificOutput", {}).get("additionalContext", "")
        words = [line.partition(" (user")[0] for line in block.splitlines()]
        assert all((line in given) == brought_up for line in words), answer


def test_the_comparison_of_shown_lines_works():
    """The check itself: ids, dates and numbers may differ, words may not, and the order counts."""
    old, new = "mem_01m7y6p3rbmyfv7kv5sw8zw5kc", "mem_01m82kp13gvpvvf001bfhw1b4h"
    ids: dict[str, str] = {}
    shown = [f"Kept as {old} in me/shop-9fedfb (fact).", "  0.63 · words 7.0 · just now"]
    output = f"Kept as {new} in me/shop-099888 (fact).\n  0.61  ·  words 1.8 · 2min ago  \n"
    assert match_shown(shown, output, ids) == [] and ids == {old: new}
    assert match_shown(["0 forgotten"], "0 kept", {}) == ["0 forgotten"]
    assert match_shown(["b", "a"], "a\nb", {}) == ["a"]
    assert match_shown(["took … s, all in all"], "took 0.2 s, all in all", {}) == []


@pytest.mark.parametrize("name", reference.PAGES)
def test_reference_is_up_to_date(name):
    """The reference pages are what the code says: run `python -m tools.reference`."""
    assert (reference.FOLDER / name).read_text("utf-8") == reference.HEAD + reference.PAGES[name]()


def test_every_setting_is_documented():
    """A setting needs a sentence."""
    from reverie.core.config import Settings

    explained = {name for name, _, words in reference.setting_rows() if words}
    assert [] == [name for name in Settings._fields if name not in explained]


def test_links_lead_somewhere():
    """Relative links between pages and into the code resolve."""
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append((page.name, target))
    assert [] == broken


def test_pages_name_no_machine():
    """Nothing in the repository's texts names a path of somebody's machine."""
    assert [] == [
        page.name
        for page in PAGES
        if re.search(r"(/home/|/root/|/work/|/tmp/\w)", page.read_text("utf-8"))
    ]


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("Several machines of one person", "why-sharing"),
        ("Several people of one team", "why-sharing"),
        ("Deeper tools for the memory agent", "why-sharing"),
        ("Tidy, or keep everything?", "why-sleep"),
        ("JSON or SQLite for the graph?", "why-sleep"),
    ],
)
@pytest.mark.proves("A116", "A117", "A118", "B137", "B138", "B139", "B141")
def test_open_questions_have_an_answer(question, page):
    """Questions that could have gone either way are decided, and a page says how."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    answer = text.partition(f"**{question}")[2].partition("\n\n")[0]
    assert "." in answer
