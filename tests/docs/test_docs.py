"""The documentation is true: snippets run, pages from the code are up to date, links lead
somewhere.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import reference, rows

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


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
    ("row", "page"),
    [
        ("A116", "why-sharing"),
        ("A117", "why-sharing"),
        ("A118", "why-sharing"),
        ("B138", "why-sharing"),
        ("B139", "why-sharing"),
        ("B137", "why-sleep"),
        ("B141", "why-sleep"),
    ],
)
def test_open_questions_have_an_answer(row, page):
    """What the documents left open is decided, and a page says how (A116–A118, B137–B139, B141)."""
    told = [
        part
        for part in (ROOT / "docs" / f"{page}.md").read_text("utf-8").split("\n\n")
        if row in part
    ]
    assert len(told[-1].split()) > 30


def test_rows_are_read_from_what_tests_say(tmp_path):
    """`tools.rows` knows ranges and conformance cases, and tells what nobody proves."""
    assert list(rows.rows("A1, B5–B7 (CC-2–CC-3), X1-2; A22's, mem_1, CC 9")) == [
        "A1",
        "B5",
        "B6",
        "B7",
        "CC-2",
        "CC-3",
        "X1",
        "X2",
        "A22",
    ]
    (tmp_path / "test_x.py").write_text(
        'def test_it():\n    """It holds (A1)."""\n\n\ndef helper():\n    """A2."""\n'
    )
    wanted = rows.asked("| A1 | first | I |\n| A2 | second | I |\n3. third\n")
    found = list(rows.table(wanted, rows.claims(tmp_path)))
    assert found[0] == "| A1 | first | test_x.py::test_it |"
    assert found[1:] == [
        "\n1 of 3 rows are named. 2 are not:",
        "| A2 | second |",
        "| CC-3 | third |",
    ]
