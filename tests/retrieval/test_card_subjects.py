"""What a memory belongs to is told by its text, whatever kind it was kept as."""

import pytest

from reverie.retrieval.card_subjects import find_card_subjects
from reverie.testing import make_memory


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("Always write SQL keywords in upper case.", ("*.sql",)),
        ("Never select * in SQL.", ("*.sql",)),
        ("SQL-Schlüsselwörter schreiben wir immer groß.", ("*.sql",)),
        ("En SQL, usa siempre parámetros.", ("*.sql",)),
        ("Il faut toujours nommer les colonnes en SQL.", ("*.sql",)),
        ("The SQL server runs on heron.", ()),
        ("We use SQL for reports.", ()),
        ("The Python version is 3.12.", ()),
    ],
)
@pytest.mark.proves("A44")
def test_a_rule_about_a_kind_of_file_is_one_also_where_it_was_kept_as_a_fact(text, patterns):
    """As `reverie remember` keeps it; what only tells how things are comes up at no file."""
    memory = make_memory(text, kind="fact", provenance="user_stated")
    assert find_card_subjects(memory).writes == patterns
