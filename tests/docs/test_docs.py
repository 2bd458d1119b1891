"""The documentation is true: snippets run, pages from the code are up to date, links lead
somewhere.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import reference

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda p: p.name
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


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "console")], ids=lambda p: p.name
)
def test_console_snippets_run(page, tmp_path):
    """Every line of a console block that begins with `$ reverie` exits with 0 (ids stand for the
    newest memory).
    """
    env = {
        "REVERIE_HOME": str(tmp_path / "home"),
        "REVERIE_EMBEDDER": "toy",
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "COLUMNS": "100",
    }
    newest = "mem_none"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for line in re.findall(r"^\$ (.+)$", "\n".join(blocks(page, "console")), re.MULTILINE):
        if line.startswith(("make ", "pip ", "git ", "cd ", "python3 -m venv")):
            continue
        command = re.sub(r"mem_[0-9a-z]+", newest, line)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env=env,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        newest = (re.findall(r"mem_[0-9a-z]{26}", done.stdout) or [newest])[0]


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
