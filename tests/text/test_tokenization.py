"""Tokenization: what was indexed can be found, whatever the text."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.text.tokenization import MAX_TERMS, fingerprint_text, to_index_text, tokenize_query


@pytest.fixture
def is_found() -> Iterator[object]:
    """A function that says whether a query finds a text in a real FTS5 table."""
    db = sqlite3.connect(":memory:")
    db.execute(
        "create virtual table t using fts5 (b, tokenize = 'porter unicode61 remove_diacritics 2')"
    )

    def finds(text: str, query: str) -> bool:
        db.execute("delete from t")
        db.execute("insert into t (b) values (?)", (to_index_text(text),))
        asked = " OR ".join(f'"{term}"' for term in tokenize_query(query))
        return (
            bool(asked)
            and db.execute("select count(*) from t where t match ?", (asked,)).fetchone()[0] == 1
        )

    yield finds
    db.close()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("call getUserName before login", "user name"),
        ("the table is called user_accounts", "user-accounts"),
        ("see src/heron/deploy.py", "deploy.py"),
        ("see src/heron/deploy.py", "heron"),
        ("staging-eu.heron.internal", "staging eu"),
        ("run the tests twice", "running test"),
        ("我们的服务器在北京", "服务器在哪里"),
        ("ステージングサーバーはヘロンです", "サーバー"),
        ("서버 이름은 헤론입니다", "헤론"),
        ("เซิร์ฟเวอร์ชื่อนกกระสา", "เซิร์ฟเวอร์"),
        ("café au lait", "cafe"),
        ("error E4021 on login", "what is E4021?"),
        ("don't use println!", "println!"),
        ("the user's editor", "user editor"),
        ("ﬁle system", "file"),
    ],
)
@pytest.mark.proves("CC-31")
def test_variants_of_writing_are_found(is_found, text, query):
    """Variants of writing, identifiers and scripts without spaces find the same memory."""
    assert is_found(text, query)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'",
        "a AND b",
        "(x OR",
        "NEAR(",
        "col:x",
        "*",
        "-",
        "^",
        "\x00",
        "\ud800",
        "🦊",
        "",
        'he said "no"',
        'a"b',
        "שלום עולם",
    ],
)
@pytest.mark.proves("CC-29")
def test_no_query_is_an_error(is_found, query):
    """Quotes, operators and odd characters are text, never syntax."""
    is_found("anything", query)


def test_stop_words_are_dropped_unless_nothing_else_is_left():
    """A question of stop words only still asks for something."""
    assert tokenize_query("Where is the staging server?") == ["staging", "server"]
    assert tokenize_query("who are you") != []


def test_ten_thousand_words_are_capped():
    """A pasted file is not a query of ten thousand terms."""
    assert len(tokenize_query(" ".join(f"word{i}" for i in range(10_000)))) <= MAX_TERMS


@given(st.text())
def test_a_term_is_always_safe_to_quote(text):
    """No term ever holds a double quote or a NUL, which would end the string in a
    MATCH expression.
    """
    assert not [term for term in tokenize_query(text) if '"' in term or "\x00" in term]


@given(st.text())
def test_indexing_never_fails_and_gives_text_that_sqlite_holds(text):
    """Any text can be indexed; the result is valid UTF-8 without NUL."""
    assert "\x00" not in to_index_text(text).encode("utf-8").decode()


@given(st.text(), st.text())
@pytest.mark.proves("C71")
def test_fingerprints_tell_texts_apart(one, other):
    """Equal texts share a fingerprint and different ones do not."""
    assert (fingerprint_text(one) == fingerprint_text(other)) == (one == other)
