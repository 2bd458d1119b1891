"""Which files are sensitive, and what is left of a run of a tool that names one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.privacy.sensitive_files import (
    SENSITIVE_MARK,
    ToolExchange,
    drop_sensitive_contents,
    drop_sensitive_lines,
    guard_tool_run,
    is_marked_sensitive,
    is_sensitive,
)

SECRET = "zyxquokka4711"
FOLDERS = st.lists(st.sampled_from(["a", "b c", ".", "src", "Ünï", "..", "notes"]), max_size=5).map(
    "/".join
)
NAMES = st.sampled_from(
    [".env", ".ENV.local", "id_ed25519", "x.pem", "prod.env", ".netrc", "server.key", "vault.kdbx"]
)
ORDINARY = st.sampled_from(
    [".env.example", "env.py", "id_rsa.pub", "a.md", "key.py", "environment.ts", ".environment"]
)


@given(FOLDERS, NAMES, st.sampled_from(["/", "\\"]))
@pytest.mark.proves("A112")
def test_a_name_is_known_wherever_the_file_lies(folder, name, between):
    """Of any folder, with either slash, in any case."""
    assert is_sensitive(f"{folder}/{name}".replace("/", between), DEFAULT_POLICY)


@given(FOLDERS, ORDINARY)
def test_what_only_resembles_one_is_ordinary(folder, name):
    """Examples, public keys, code; and no pattern that is not chosen."""
    assert not is_sensitive(f"{folder}/{name}", DEFAULT_POLICY)


@given(
    st.sampled_from(
        ["notes/health/a.md", "x/notes/health/b/c.md", "/srv/notes/health/a.md", "2025.tax.md"]
    )
)
def test_a_pattern_is_held_against_every_end_of_a_path(path):
    """As in .gitignore, wherever the project lies; a later line takes back."""
    chosen = Policy(sensitive=("notes/health/", "*.tax.md"))
    assert is_sensitive(path, chosen) and not is_sensitive("notes/work.md", chosen)
    assert not is_sensitive("2025.tax.md", Policy(sensitive=("*.tax.md", "!2025.tax.md")))


def test_a_line_that_is_no_pattern_is_refused():
    """It would guard nothing."""
    for line in ("!", "[z-a]"):
        with pytest.raises(BadInput, match="sensitive ="):
            is_sensitive("a", Policy(sensitive=("notes/", line)))


@given(
    st.dictionaries(
        st.sampled_from(["file_path", "content", "old_string", "edits", "command", "limit"]),
        st.one_of(st.just(SECRET), st.lists(st.just(SECRET), max_size=2), st.integers()),
    ),
    st.sampled_from(["path", "paths", "command", "file_path"]),
    st.sampled_from([".env", "a/id_rsa"]),
)
@pytest.mark.proves("A109", "A112")
def test_nothing_of_a_run_that_names_one_is_left(given, name, path):
    """Whatever a tool is given beside the path, and whatever it answers."""
    given = {
        **{key: value for key, value in given.items() if key not in ("file_path", "command")},
        name: path,
    }
    left = guard_tool_run(ToolExchange(given, SECRET, SECRET), DEFAULT_POLICY)
    assert SECRET not in str(left) and path in str(left.given)
    told = drop_sensitive_contents(
        {"tool": "Read", "parameters": given, "result": SECRET, "error": SECRET, "ok": True},
        DEFAULT_POLICY,
    )
    assert SECRET not in str(told) and told["ok"] is True and told["result"] == SENSITIVE_MARK


LINES = [
    ".env:1:x",
    "a.py:1:x",
    "x",
    "",
    "diff --git a/.env b/.env",
    "diff --git a/a b/a",
    "+x:y",
    "C:\\x:1",
    "id_rsa:key",
]


@given(st.lists(st.sampled_from(LINES), max_size=8).map("\n".join))
def test_lines_are_taken_once(text):
    """Twice is as once, and no line of another file is lost."""
    once = drop_sensitive_lines(text, DEFAULT_POLICY)
    assert drop_sensitive_lines(once, DEFAULT_POLICY) == once
    assert ".env:1:x" not in once and "key" not in once
    if "diff" not in text:
        assert once.count("a.py:1:x") == text.count("a.py:1:x") and once.count("\n") == text.count(
            "\n"
        )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "a/.env\n3:key\n4-key\n\nb.py\n1:x = 1",
            f"a/.env\n{SENSITIVE_MARK}\n\nb.py\n1:x = 1",
        ),  # rg --heading
        (
            "./.env-3-key\n./.env:4:key\n--\nb-1-c.py-3-x",
            f"./.env:{SENSITIVE_MARK}\n./.env:{SENSITIVE_MARK}\n--\nb-1-c.py-3-x",
        ),  # -C 1
        (
            "==> a.py <==\nx\n\n==> .env <==\nkey\n\nkey\n==> b <==\ny",
            f"==> a.py <==\nx\n\n==> .env <==\n{SENSITIVE_MARK}\n==> b <==\ny",
        ),
        (".env\na.py\nb.py", ".env\na.py\nb.py"),
        ("see .env\n1:x", "see .env\n1:x"),
    ],
)  # a list, and prose
@pytest.mark.proves("A109")
def test_searches_and_heads_of_several_files(text, left):
    """A search with headings, with lines around what it found, and `head` name the file in their
    own ways.
    """
    assert (
        drop_sensitive_lines(text, DEFAULT_POLICY) == left
        and drop_sensitive_lines(left, DEFAULT_POLICY) == left
    )


@pytest.mark.parametrize(
    "text",
    [
        "---\nsensitive: true\n---\nx",
        "---\r\na: 1\r\nSensitive: yes\r\n---\r\n",
        '     1\t---\n     2\tsensitive: "true"\n',
        "\ufeff---\n'sensitive': on\n---",
    ],
)
@pytest.mark.proves("A109")
def test_front_matter_says_it(text):
    """In the ways in which it is written, and as tools show it with line numbers."""
    assert is_marked_sensitive(text)


@pytest.mark.parametrize(
    "text",
    [
        "sensitive: true",
        "---\nsensitive: false\n---\n",
        "# a\n---\nsensitive: true\n---",
        "---\ninsensitive: true\n---",
        "---\ntitle: a\n---\nsensitive: true",
    ],
)
def test_other_texts_do_not(text):
    """Only the front matter counts, and only if it says so."""
    assert not is_marked_sensitive(text)
